"""The archives of use.sh, in the current folder."""
import itertools
import os

from archives import *

text = h5py.string_dtype()
x = noise((4096, 2, 3, 2))
names = {"pol": np.array(["X", "Y"], dtype=text)}
axes = "time,pol,chan,reim"
frequencies = 1e9 + RATE * np.arange(3)


def freq(*which):
    return {"freq_hz": frequencies[list(which)]}


# One number a sample.
plain("plain.h5", x)
native("native.h5", x, axes, scales=names)
plain("chunked.h5", x, chunks=(512, 2, 3, 2))
plain("filtered.h5", x, chunks=(512, 1, 3, 2), compression=4, shuffle=True, fletcher32=True)
plain("odd-chunks.h5", x, chunks=(37, 2, 2, 1), compression=1)
plain("resizable.h5", x, chunks=(1000, 2, 3, 2), maxshape=(None, 2, 3, 2))
native("scaled.h5", x, axes, root={"format_version": np.int32(2)}, attrs={"scale": 0.25}, scales=names)
native("version-2.h5", x, axes, root={"format_version": np.int32(2)}, scales=names)
native("quarter.h5", (0.25 * x).astype("<f4"), axes, scales=names)
for name, dtype in {"int16": "<i2", "int16-big": ">i2", "float32": "<f4", "float32-big": ">f4"}.items():
    plain(f"{name}.h5", x.astype(dtype))
raw = x.tobytes()
for i, end in enumerate((1001, 20000, len(raw))):
    open(f"raw-{i}", "wb").write(b"head" * i + raw[(0, 1001, 20000)[i]:end])
open("raw", "wb").write(b"header" + raw)
plain("external.h5", None, shape=x.shape, dtype="i1", external=[("raw", 6, len(raw))])
plain("two-external.h5", None, shape=x.shape, dtype="i1", external=[
    ("raw-0", 0, 1001), ("raw-1", 4, 18999), ("raw-2", 8, h5py.h5f.UNLIMITED)])
for name, pieces in {"whole": (raw[:1008], raw[1008:20004], raw[20004:]), "pol": [x[:, i].tobytes() for i in (0, 1)]}.items():
    for i, piece in enumerate(pieces):
        open(f"raw-{name}-{i}", "wb").write(piece)
    plain(f"{name}-external.h5", None, shape=(2, 4096, 3, 2) if name == "pol" else x.shape, dtype="i1", external=[
        (f"raw-{name}-{i}", 0, len(piece)) for i, piece in enumerate(pieces)])
plain("unwritten.h5", None, shape=x.shape, dtype="i1")
plain("zeros.h5", np.zeros_like(x))

# Pairs.
def pairs(number, names=("r", "i"), values=x, **how):
    out = np.zeros(values.shape[:-1], np.dtype({"names": names, "formats": [number] * 2, **how}))
    for i in (0, 1):
        out[names[i]] = values[..., i]
    return out
plain("pairs.h5", pairs("i1"))
plain("pairs-odd-names.h5", pairs("i1", ("the cosine", "0")))
plain("pairs-int16.h5", pairs("<i2", ("re", "im")))
plain("pairs-big.h5", pairs(">i2"))
plain("pairs-float32.h5", pairs("<f4", ("real", "imag")))
plain("pairs-padded.h5", pairs("<i2", offsets=[2, 8], itemsize=12))
plain("pairs-filtered.h5", pairs(">f4", ("I", "Q")), chunks=(100, 2, 3), compression=1, shuffle=True)
reversed_ = h5py.h5t.create(h5py.h5t.COMPOUND, 4)
reversed_.insert(b"re", 2, h5py.h5t.STD_I16LE)
reversed_.insert(b"im", 0, h5py.h5t.STD_I16LE)
with h5py.File("pairs-reversed.h5", "w") as file:
    dataset = h5py.h5d.create(file.id, b"x", reversed_, h5py.h5s.create_simple(x.shape[:-1]))
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, pairs("<i2", ("re", "im")))

# Every order of axes.
with open("orders", "w") as orders:
    for order in itertools.permutations(range(4)):
        name = ",".join(axes.split(",")[i] for i in order)
        turned = np.ascontiguousarray(x.transpose(order))
        with h5py.File(f"order-{name}.h5", "w") as file:
            file["x"] = turned
            shape = [1000 if i == 0 else 2 if i == 2 else x.shape[i] for i in order]
            file.create_dataset("chunked", data=turned, chunks=tuple(shape))
        print(name, file=orders)
plain("joined.h5", x.reshape(4096, 6, 2))
plain("joined-all.h5", x.reshape(4096, 12))
with h5py.File("joined-back.h5", "w") as file:
    file["x"] = x.transpose(2, 1, 3, 0).reshape(6, 2, 4096)
    file.create_dataset("chunked", data=file["x"], chunks=(4, 1, 333))

# 4 bits.
four = np.random.default_rng(4).integers(-8, 8, x.shape).astype("i1")
plain("unpacked.h5", four)
def packed(values, offset, high):
    stored = (values + 8 if offset else values & 15).astype("u1")
    re, im = stored[..., 0], stored[..., 1]
    return re << 4 | im if high else im << 4 | re
for offset in (True, False):
    for high in (True, False):
        name = f"{'offset' if offset else 'twos-complement'}-{'hi' if high else 'lo'}=re"
        plain(f"{name}.h5", packed(four, offset, high))
plain("packed-chunked.h5", packed(four, True, True), chunks=(129, 2, 2), compression=1)

# Real.
real = noise((4096, 2))
plain("real.h5", real)
plain("real-int16.h5", real.astype("<i2"))
plain("real-big.h5", real.astype(">i2"))
plain("real-float32.h5", real.astype("<f4"))
plain("real-filtered.h5", real, chunks=(100, 1), compression=1, fletcher32=True)
plain("real-turned.h5", np.ascontiguousarray(real.T))

# Several files.
os.mkdir("far")
for i, (low, high) in enumerate(itertools.pairwise((0, 1001, 1002, 3000, 4096))):
    plain(f"part-{i + 1}.h5", x[low:high], **({"chunks": (100, 2, 3, 2)} if i == 2 else {}))
for i, (low, high) in enumerate(itertools.pairwise((0, 1001, 3000, 4096))):
    native(f"native-{i + 1}.h5", x[low:high], axes, root={"start_second": 100 + low / RATE}, scales=names)
for i in range(2):
    plain(f"pol-{i}.h5", x[:, i])
    plain(f"pols-{i}.h5", x[:, i:i + 1])
for i in range(3):
    plain(f"chan-{i}.h5", x[:, :, i])
    plain(f"chan-turned-{i}.h5", np.ascontiguousarray(x[:, :, i].transpose(2, 1, 0)), **(
        {"chunks": (1, 2, 1000)} if i == 1 else {}))

# Parts of them.
native("cut.h5", x[100:2100], axes, scales=names)
native("stream.h5", x[:, 1:, 2:], axes, scales=freq(2))
native("stream-cut.h5", x[100:2100, 1:, 2:], axes, scales=freq(2))
many = noise((1024, 64, 2), seed=9)
native("many.h5", many, "time,chan,reim")
native("many-chunked.h5", many, "time,chan,reim", chunks=(100, 5, 2))
native("three.h5", many[:, [7, 8, 40]], "time,chan,reim", scales={"freq_hz": 1e9 + RATE * np.array([7., 8., 40.])})

# Missing samples: of a stream each, at the first, at the last, within.
places = [(0, 0, 0, 0), (0, 0, 0, 1), (5, 0, 1, 1), (700, 1, 2, 0), (701, 1, 2, 1), (701, 0, 2, 1), (1000, 1, 0, 0),
          (2000, 1, 1, 1), (4000, 0, 0, 0), (4095, 1, 2, 0)]  # 9 samples: the first two are one
def with_holes(values, hole, other):
    """`hole` at the places; or, with `hole` None, zeros for the whole samples there."""
    out = values.copy()
    for i, place in enumerate(places):
        if hole is None:
            out[place[:3]] = 0
        else:
            out[place] = other if i % 2 else hole
    return out
floats = x.astype("f4") / 7
native("holes-zeros.h5", with_holes(floats, None, 0), axes)
native("holes-nan.h5", with_holes(floats, np.nan, -np.inf), axes)
native("holes-clean.h5", floats, axes)
native("holes-minus.h5", with_holes(x, None, 0), axes)
native("holes-value.h5", with_holes(x, -128, -128), axes, attrs={"missing_value": -128.0})
bytes_ = packed(np.where(four == -8, -7, four), True, True)
bytes_zero = bytes_.copy()
for place in ((0, 0, 0), (77, 1, 1), (4095, 1, 2)):
    bytes_[place] = 0
    bytes_zero[place] = 0x88
words = {"packing": "4+4 offset hi=re"}
native("holes-packed-zeros.h5", bytes_zero, "time,pol,chan", attrs=words)
native("holes-packed.h5", bytes_, "time,pol,chan", attrs={"missing_value": 0.0, **words})
real_nan = real.astype("f4")
real_zero = real_nan.copy()
for place in ((0, 0), (31, 1), (32, 1), (4095, 0)):
    real_nan[place] = np.inf if place[0] == 31 else np.nan
    real_zero[place] = 0
native("holes-real-nan.h5", real_nan, "time,pol")
native("holes-real-zeros.h5", real_zero, "time,pol")
gaps = np.array([[10, 12], [2000, 18]], "u8")
gap_zero = real.copy()
for first, count in gaps:
    gap_zero[first:first + count] = 0
native("gaps.h5", real, "time,pol", scales={"gaps": gaps})
native("gaps-zeros.h5", gap_zero, "time,pol")

# Tones 0.2 of the rate above (complex) the stored zero frequency; real ones at 0.2 of the rate.
t = np.arange(4096)
z = 50 * np.exp(2j * np.pi * 0.2 * t)
for name, sideband in (("up", 1), ("down", -1)):
    words = {"sideband": np.int32(sideband)}
    native(f"tone-{name}.h5", np.stack([z.real, z.imag], -1).astype("f4"), "time,reim", attrs=words)
    native(f"tone-real-{name}.h5", z.real.astype("f4"), "time", attrs=words)
native("oversampled.h5", noise((4096, 3, 2)), "time,chan,reim", scales={"freq_hz": 1e9 + RATE * 27 / 32 * np.arange(3)},
       attrs={"oversampling_num": np.int32(32), "oversampling_den": np.int32(27)})
