"""Writes observations [time][pol][re, im] in chunks that went through many filters, and tells what must become of
each:

    as BASE NAME [SETTING...]   the same rows as BASE.h5, which lies in one piece
    broken NAME FROM TO PATTERN an error that has the pattern; with on_bad: nan only what needs samples FROM .. TO - 1
                                becomes NaN
    wrong NAME PATTERN          an error that has the pattern, whatever on_bad is

What h5py cannot write is made here by hand, chunk by chunk.
"""
import struct
import h5py
import numpy as np

try:
    import lz4.block as lz4
except ImportError:
    lz4 = None

N, STEP = 4096, 1000  # the last chunk is not full
rng = np.random.default_rng(17)
x = np.rint(rng.standard_normal((N, 2, 2)) * 6).astype("i1")
x[1024:2048] = 0
DEFLATE, SHUFFLE, FLETCHER, SCALE, LZF, LZ4, BITSHUFFLE, ZSTD = 1, 2, 3, 6, 32000, 32004, 32008, 32015


def put(name, data, **how):
    with h5py.File(name + ".h5", "w") as f:
        f.create_dataset("v", data=data, **how)


def lz4_block(data):
    """By the library, or literals alone, which every decompressor must take, too."""
    if lz4:
        return lz4.compress(data, store_size=False)
    rest = len(data) - 15
    return b"\xf0" + b"\xff" * (rest // 255) + bytes([rest % 255]) + data if rest >= 0 else bytes([len(data) << 4]) + data


def zstd_frame(data):
    """One frame of blocks that are stored as they are."""
    out = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))  # single segment, four bytes of size
    for at in range(0, len(data), 65536):
        piece = data[at:at + 65536]
        out += struct.pack("<I", len(piece) << 3 | (at + 65536 >= len(data)))[:3] + piece
    return out


def lz4_filter(data, block=10000):
    out = struct.pack(">QI", len(data), block)
    for at in range(0, len(data), block):
        piece = data[at:at + block]
        packed = lz4_block(piece)
        packed = piece if len(packed) >= len(piece) else packed
        out += struct.pack(">I", len(packed)) + packed
    return out


def planes(data, size):
    bits = np.unpackbits(np.frombuffer(data, "u1").reshape(-1, size), axis=1, bitorder="little")
    return np.packbits(bits.T.copy(), axis=1, bitorder="little").tobytes()


def bitshuffle(data, size, block, pack):
    """block: elements; pack: None for bits alone"""
    n = len(data) // size
    out = struct.pack(">QI", len(data), block * size) if pack else b""
    at = 0
    while at < n // 8 * 8:
        count = min(block, (n - at) // 8 * 8)
        piece = planes(data[at * size:(at + count) * size], size)
        piece = pack(piece) if pack else piece
        out += struct.pack(">I", len(piece)) + piece if pack else piece
        at += count
    return out + data[at * size:]


def shuffled(data, size):
    n = len(data) // size
    return np.frombuffer(data[:n * size], "u1").reshape(n, size).T.tobytes() + data[n * size:]


def fletcher(data):
    a = b = 0
    for word in struct.unpack(">%dH" % (len(data) // 2), data[:len(data) // 2 * 2]):
        a = (a + word) % 65535
        b = (b + a) % 65535
    if len(data) % 2:
        a = (a + (data[-1] << 8)) % 65535
        b = (b + a) % 65535
    return data + struct.pack("<I", b << 16 | a)


def apply(filters, data):
    import zlib
    for number, values in filters:
        if number == DEFLATE:
            data = zlib.compress(data, values[0])
        elif number == SHUFFLE:
            data = shuffled(data, values[0])
        elif number == FLETCHER:
            data = fletcher(data)
        elif number == LZ4:
            data = lz4_filter(data)
        elif number == ZSTD:
            data = zstd_frame(data)
        elif number == BITSHUFFLE:
            size, block = values[2], values[3] or max(8192 // values[2] // 8 * 8, 128)
            data = bitshuffle(data, size, block, {0: None, 2: lz4_block, 3: zstd_frame}[values[4]])
    return data


def raw(name, data, chunk, filters, masks={}, change=None):
    """masks: {chunk along time: mask}. change(number, bytes): what is written instead."""
    with h5py.File(name + ".h5", "w") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(chunk)
        for number, values in filters:
            if number == SHUFFLE:
                plist.set_shuffle()
            elif number == FLETCHER:
                plist.set_fletcher32()
            else:
                plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL, tuple(values))
        space = h5py.h5s.create_simple(data.shape)
        v = h5py.h5d.create(f.id, b"v", h5py.h5t.py_create(data.dtype, logical=True), space, plist)
        for i, at in enumerate(np.ndindex(*[-(-n // c) for n, c in zip(data.shape, chunk)])):
            start = [a * c for a, c in zip(at, chunk)]
            part = data[tuple(slice(s, s + c) for s, c in zip(start, chunk))]
            whole = np.zeros(chunk, data.dtype)
            whole[tuple(slice(0, n) for n in part.shape)] = part
            mask = masks.get(i, 0)
            said = apply([f for k, f in enumerate(filters) if not mask >> k & 1], whole.tobytes())
            v.write_direct_chunk(tuple(start), change(i, said) if change else said, mask)


def same(base, name, *settings):
    print("as", base, name, *settings)


# By h5py: deflate, shuffle, LZF, checksums; chunks that cut polarisations and parts, too.
pair = np.dtype([("r", "i2"), ("i", "i2")])
kinds = {"i1": x, "i2": x.astype("<i2") * 300, "b2": x.astype(">i2") * 300, "f4": x.astype("<f4") / 3,
         "b4": x.astype(">f4") / 3, "pair": (x.astype("<i2") * 300).view(pair)[..., 0]}
for kind, data in kinds.items():
    put(kind, data)
    full = (STEP,) + data.shape[1:]
    for name, how in {"gzip": dict(compression="gzip", shuffle=True, fletcher32=True), "plain": {}}.items():
        put(f"{kind}-{name}", data, chunks=full, **how)
        same(kind, f"{kind}-{name}")
    put(f"{kind}-cut", data, chunks=(333, 1, 1)[:data.ndim], compression="gzip", compression_opts=1)
    same(kind, f"{kind}-cut", "run.threads=3")
put("lzf", x, chunks=(STEP, 2, 2), compression="lzf", shuffle=True, fletcher32=True)
same("i1", "lzf")
put("scale", x.astype("i2"), chunks=(STEP, 2, 2), scaleoffset=0)  # HDF5 alone undoes it
put("scale-plain", x.astype("i2"))
same("scale-plain", "scale")
put("sparse", x, chunks=(1, 2, 2), compression="gzip")
same("i1", "sparse")
put("turned", np.ascontiguousarray(x.transpose(1, 0, 2)), chunks=(2, 100, 2), compression="gzip")
same("i1", "turned", 'input.layout.axes="pol,time,reim"')
put("last", np.ascontiguousarray(x.transpose(1, 2, 0)), chunks=(1, 2, 500), compression="gzip")
same("i1", "last", 'input.layout.axes="pol,reim,time"')

# By hand.
with h5py.File("user.h5", "w", userblock_size=1024) as f:
    f.create_dataset("v", data=x, chunks=(STEP, 2, 2), compression="gzip")
same("i1", "user")
with h5py.File("virtual.h5", "w") as f:
    layout = h5py.VirtualLayout(x.shape, "i1")
    layout[:2048] = h5py.VirtualSource("i1-gzip.h5", "v", x.shape)[:2048]
    layout[2048:] = h5py.VirtualSource("bits-lz4-1.h5", "v", x.shape)[2048:]
    f.create_virtual_dataset("v", layout)
same("i1", "virtual")
for kind, size in ("i1", 1), ("i2", 2), ("f4", 4), ("pair", 4):
    full = (STEP,) + kinds[kind].shape[1:]
    for code, pack in (0, "bits"), (2, "bits-lz4"), (3, "bits-zstd"):
        for block in 0, 1024:
            name = f"{pack}-{size}" if not block and kind != "pair" else f"{pack}-{kind}-{block}"
            raw(name, kinds[kind], full, [(BITSHUFFLE, (0, 4, size, block, code))])
            same(kind, name)
odd = x[:, :, 0].astype("f8")  # elements of 8 bytes; 999 in a chunk, of which 7 have no planes
pipelines = {"lz4": [(LZ4, (0,))], "zstd": [(ZSTD, (3,))], "shuffle-lz4": [(SHUFFLE, (2,)), (LZ4, (0,))],
             "sum-zstd": [(FLETCHER, ()), (ZSTD, (3,))], "zstd-sum": [(ZSTD, (3,)), (FLETCHER, ())],
             "all": [(SHUFFLE, (2,)), (BITSHUFFLE, (0, 4, 2, 0, 0)), (FLETCHER, ()), (DEFLATE, (1,)), (LZ4, (0,)),
                     (ZSTD, (1,)), (FLETCHER, ())]}
for name, filters in pipelines.items():
    raw(name, kinds["i2"], (999, 2, 2), filters, masks={1: 1, 2: 2 ** len(filters) - 1} if len(filters) > 1 else {2: 1})
    same("i2", name)

# What is wrong with a chunk is said; others stay good.
bits = [(BITSHUFFLE, (0, 4, 1, 0, 2))]
bad = {"bad-deflate": ([(DEFLATE, (1,))], lambda b: b[:40], "deflate: its 40 bytes are no whole zlib stream"),
       "bad-long": ([(DEFLATE, (1,))], lambda b: apply([(DEFLATE, (1,))], bytes(5000)),
                    "deflate: it holds more than the 4000 bytes of a chunk"),
       "bad-short": ([(DEFLATE, (1,))], lambda b: apply([(DEFLATE, (1,))], bytes(3999)),
                     "it becomes 3999 bytes where a chunk has 4000"),
       "bad-sum": ([(FLETCHER, ())], lambda b: b[:9] + b"\x55" + b[10:], "fletcher32: its checksum is"),
       "bad-lz4": ([(LZ4, (0,))], lambda b: b[:-20], "LZ4: it ends in a block"),
       "bad-zstd": ([(ZSTD, (3,))], lambda b: b"\0" + b[1:], "Zstandard: "),
       "bad-bits": (bits, lambda b: b[:8] + b"\0\0\0\0" + b[12:], "bitshuffle: a chunk says that its blocks are empty"),
       "bad-block": (bits, lambda b: b[:30], "bitshuffle: it ends in a block"),
       "bad-total": (bits, lambda b: b"\xff" * 8 + b[8:], "bitshuffle: 18446744073709551615 bytes"),
       "bad-far": ([(ZSTD, (3,))], lambda b: bytes(200000), "far more than a chunk has")}
for name, (filters, change, pattern) in bad.items():
    raw(name, x, (STEP, 2, 2), filters, change=lambda i, b, change=change: change(b) if i == 1 else b)
    print("broken", name, STEP, 2 * STEP, rf"/?v: the chunk that begins at \(1000, 0, 0\): .*{pattern}")
raw("nobody", x, (STEP, 2, 2), [(32001, (2, 2, 1, 4000))])
print("wrong", "nobody", r"filter 32001 \(Blosc\), which neither voltmill nor HDF5 has here: hdf5plugin .* has it")
raw("mixed", x, (STEP, 2, 2), [(SCALE, (2, 0)), (ZSTD, (3,))])
print("wrong", "mixed", "filters that HDF5 does not all have here, beside one that only HDF5 can undo")
