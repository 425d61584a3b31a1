"""Writes observations [time][pol][re, im] in chunks that went through many filters, and tells what must become of
each:

    as BASE NAME [SETTING...]   the same rows as BASE.h5, which lies in one piece
    broken NAME FROM TO PATTERN an error that has the pattern; with on_bad: nan only what needs samples FROM .. TO - 1
                                becomes NaN
    wrong NAME PATTERN          an error that has the pattern, whatever on_bad is

What h5py cannot write is made by hand, chunk by chunk (clients/mocks/chunks.py).
"""
import os
import sys

import h5py
import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../clients"))
from mocks.chunks import BITSHUFFLE, DEFLATE, FLETCHER, LZ4, SCALE, SHUFFLE, ZSTD, apply, write_chunks

N, STEP = 4096, 1000  # the last chunk is not full
rng = np.random.default_rng(17)
x = np.rint(rng.standard_normal((N, 2, 2)) * 6).astype("i1")
x[1024:2048] = 0


def put(name, data, **how):
    with h5py.File(name + ".h5", "w") as f:
        f.create_dataset("v", data=data, **how)


def raw(name, *words, **more):
    write_chunks(name + ".h5", *words, **more)


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

# The error of a chunk is reported; others stay good.
bits = [(BITSHUFFLE, (0, 4, 1, 0, 2))]
bad = {"bad-deflate": ([(DEFLATE, (1,))], lambda b: b[:40], "deflate: its 40 bytes are no whole zlib stream"),
       "bad-long": ([(DEFLATE, (1,))], lambda b: apply([(DEFLATE, (1,))], bytes(5000)),
                    "deflate: it contains more than the 4000 bytes of a chunk"),
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
