"""Writes one observation [time][pol][re, im] in many storages, and tells what must become of each:

    sound NAME           the same rows as plain.h5
    lost NAME FROM TO PATTERN   samples FROM .. TO - 1 are unreadable, an error that has the pattern; with on_bad: nan
                         all others are those of plain.h5
    wrong NAME PATTERN   an error that has the pattern, whatever on_bad is
"""
import os
import h5py
import numpy as np

N = 4096
x = np.random.default_rng(14).integers(-100, 101, (N, 2, 2), dtype="i1")


def sound(name):
    print("sound", name)


def lost(name, low, high, pattern):
    print("lost", name, low, high, pattern)


def wrong(name, pattern):
    print("wrong", name, pattern)


def put(name, data=x, **how):
    with h5py.File(name + ".h5", "w") as f:
        return f.create_dataset("v", data=data, **how)


def virtual(name, parts, shape=x.shape, maxshape=None, kind="i1"):
    """parts: (where, file, dataset, shape of it, elements of it)"""
    layout = h5py.VirtualLayout(shape=shape, dtype=kind, maxshape=maxshape)
    for where, file, dataset, there, which in parts:
        layout[where] = h5py.VirtualSource(file, dataset, shape=there, dtype=kind)[which]
    with h5py.File(name + ".h5", "w", libver="latest") as f:
        f.create_virtual_dataset("v", layout)


def halves(name, first, second, dataset="v"):
    half = (N // 2, 2, 2)
    virtual(name, [(np.s_[:N // 2], first, dataset, half, np.s_[:]),
                   (np.s_[N // 2:], second, dataset, half, np.s_[:])])
    return N // 2


put("plain")
put("chunked", chunks=(100, 1, 2))
put("packed", chunks=(300, 2, 2), compression="gzip", fletcher32=True)
put("wide-int", data=x.astype("i2"))
for name in ("chunked", "packed"):
    sound(name)

put("a", x[:N // 2])
put("b", x[N // 2:], chunks=(70, 2, 1), compression="gzip")

# --- virtual datasets
halves("virtual", "a.h5", "b.h5")
sound("virtual")
virtual("by-pol", [(np.s_[:, p], "plain.h5", "v", x.shape, np.s_[:, p]) for p in (1, 0)])
sound("by-pol")
virtual("strided", [(np.s_[k::3], f"third-{k}.h5", "v", x[k::3].shape, np.s_[:]) for k in range(3)])
for k in range(3):
    put(f"third-{k}", x[k::3], chunks=(50, 1, 2) if k else None)
sound("strided")
virtual("turned", [(np.s_[:, p, i], "turned-source.h5", "v", (2, 2, N), np.s_[i, p]) for p in (0, 1) for i in (0, 1)])
put("turned-source", np.ascontiguousarray(x.transpose(2, 1, 0)))
sound("turned")
halves("nested", "virtual-a.h5", "b.h5")
virtual("virtual-a", [(np.s_[:], "a.h5", "v", (N // 2, 2, 2), np.s_[:])], shape=(N // 2, 2, 2))
sound("nested")
with h5py.File("same.h5", "w", libver="latest") as f:
    f["deep/a"] = x[:1000]
    f["b"] = x[1000:]
    layout = h5py.VirtualLayout(shape=x.shape, dtype="i1")
    layout[:1000] = h5py.VirtualSource(".", "deep/a", shape=(1000, 2, 2))
    layout[1000:] = h5py.VirtualSource(".", "b", shape=(N - 1000, 2, 2))
    f.create_virtual_dataset("v", layout)
sound("same")
with h5py.File("raw.h5", "w") as f:
    open("raw.bin", "wb").write(b"123456" + x[:N // 2].tobytes())
    f.create_dataset("v", (N // 2, 2, 2), "i1", external=[("raw.bin", 6, N * 2)])
halves("to-raw", "raw.h5", "b.h5")
sound("to-raw")

# Names with a number, and sources that grow.
for k in range(4):
    put(f"block-{k}", x[k * (N // 4):(k + 1) * (N // 4)])


def unlimited(name, path, source_shape, grown, block):
    """All of time from as many files as there are, or from one that goes on."""
    with h5py.File(name + ".h5", "w", libver="latest") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        here = h5py.h5s.create_simple((N, 2, 2), (h5py.h5s.UNLIMITED, 2, 2))
        there = h5py.h5s.create_simple(source_shape, (h5py.h5s.UNLIMITED, 2, 2) if grown else None)
        if grown:
            here.select_hyperslab((0, 0, 0), (1, 1, 1), None, (h5py.h5s.UNLIMITED, 2, 2))
            there.select_hyperslab((0, 0, 0), (1, 1, 1), None, (h5py.h5s.UNLIMITED, 2, 2))
        else:
            here.select_hyperslab((0, 0, 0), (h5py.h5s.UNLIMITED, 1, 1), (block, 1, 1), (block, 2, 2))
        plist.set_virtual(here, path.encode(), b"v", there)
        h5py.h5d.create(f.id, b"v", h5py.h5t.STD_I8LE, here, plist)


unlimited("numbered", "block-%b.h5", (N // 4, 2, 2), False, N // 4)
sound("numbered")
put("grown", x, chunks=(64, 2, 2), maxshape=(None, 2, 2))
unlimited("growing", "grown.h5", x.shape, True, 0)
sound("growing")

# --- links
with h5py.File("linked.h5", "w") as f:
    f["g/soft"] = h5py.SoftLink("/far")
    f["far"] = h5py.ExternalLink("links/b.h5", "/over/there")
    f["v"] = h5py.SoftLink("g/soft")
os.mkdir("links")
with h5py.File("links/b.h5", "w") as f:
    f["over/there"] = h5py.ExternalLink("c.h5", "v")
put("links/c")
sound("linked")
with h5py.File("round.h5", "w") as f:
    f["v"] = h5py.ExternalLink("round.h5", "v")
wrong("round", "leads from link to link")
os.mkfifo("fifo.h5")
with h5py.File("to-fifo.h5", "w") as f:
    f["v"] = h5py.ExternalLink("fifo.h5", "v")
wrong("to-fifo", "fifo.h5 is not an ordinary file")
with h5py.File("to-zero.h5", "w") as f:
    f["v"] = h5py.ExternalLink("/dev/zero", "v")
wrong("to-zero", "/dev/zero is not an ordinary file")
with h5py.File("raw-fifo.h5", "w") as f:
    f.create_dataset("v", x.shape, "i1", external=[("fifo.h5", 0, x.size)])
wrong("raw-fifo", "external file fifo.h5 is not an ordinary file")

# --- sources that cannot be read
for kind, pattern in (("missing", "source missing.h5 .*No such file"), ("text", "source text.h5 .*not an HDF5 file"),
                      ("cut", "source cut.h5 .*truncated"), ("other", "source other.h5 .*contains no dataset v"),
                      ("short", "source short.h5 .*ends before the mapping"), ("flat", "source flat.h5 .*2 dimensions"),
                      ("floats", "source floats.h5 .*another type"), ("self-missing", "source self-missing.h5 .*refers to itself"),
                      ("fifo", "source fifo.h5 .*not an ordinary file"),
                      ("empty", "empty.h5: /v was never written"), ("blank", "blank.h5: /v was never written"),
                      ("user", "user.h5: /v was never written")):
    name = "self-missing" if kind == "self-missing" else "with-" + kind
    half = halves(name, kind + ".h5", "b.h5")
    lost(name, 0, half, pattern)
half = halves("with-raw-cut", "raw-cut.h5", "b.h5")
lost("with-raw-cut", half - 1, half, "raw-cut.bin is truncated")
open("text.h5", "w").write("no HDF5\n")
put("cut", x[:N // 2])
os.truncate("cut.h5", os.path.getsize("cut.h5") - 100)
with h5py.File("other.h5", "w") as f:
    f["w"] = x[:N // 2]
put("short", x[:N // 2 - 1])
put("flat", x[:N // 2].reshape(N, 2))
put("floats", x[:N // 2].astype("f4"))
with h5py.File("raw-cut.h5", "w") as f:
    open("raw-cut.bin", "wb").write(x[:N // 2].tobytes()[:-1])
    f.create_dataset("v", (N // 2, 2, 2), "i1", external=[("raw-cut.bin", 0, N * 2)])
with h5py.File("empty.h5", "w") as f:
    f.create_dataset("v", (N // 2, 2, 2), "i1", chunks=(100, 2, 2))
with h5py.File("blank.h5", "w") as f:
    f.create_dataset("v", (N // 2, 2, 2), "i1")
with h5py.File("user.h5", "w", userblock_size=512) as f:
    f.create_dataset("v", (N // 2, 2, 2), "i1")
put("shorter", x[:3000], chunks=(64, 2, 2), maxshape=(None, 2, 2))
unlimited("growing-short", "shorter.h5", x.shape, True, 0)
virtual("mutual-1", [(np.s_[:], "mutual-2.h5", "v", x.shape, np.s_[:])])
virtual("mutual-2", [(np.s_[:], "mutual-1.h5", "v", x.shape, np.s_[:])])
lost("mutual-1", 0, N, "refers to itself")
with h5py.File("one-pol.h5", "w", libver="latest") as f:
    layout = h5py.VirtualLayout(shape=x.shape, dtype="i1")
    layout[:, 0] = h5py.VirtualSource("plain.h5", "v", shape=x.shape)[:, 0]
    layout[1000:2000, 1] = h5py.VirtualSource("plain.h5", "v", shape=x.shape)[1000:2000, 1]
    layout[2500:, 1] = h5py.VirtualSource("missing.h5", "v", shape=x.shape)[2500:, 1]
    f.create_virtual_dataset("v", layout)
sound("one-pol input.select.pols=0")

# --- elements that were never written
with h5py.File("holes.h5", "w") as f:
    v = f.create_dataset("v", x.shape, "i1", chunks=(256, 2, 2))
    v[:1024] = x[:1024]
    v[1536:] = x[1536:]
lost("holes", 1024, 1536, "holes.h5: chunks of /v were never written")
halves("far-holes", "a.h5", "b-holes.h5")
with h5py.File("b-holes.h5", "w") as f:
    v = f.create_dataset("v", (N // 2, 2, 2), "i1", chunks=(256, 2, 2), compression="gzip")
    v[:1024] = x[N // 2:N // 2 + 1024]
lost("far-holes", N // 2 + 1024, N, "b-holes.h5: chunks of /v were never written")
virtual("gaps", [(np.s_[:1000], "plain.h5", "v", x.shape, np.s_[:1000]),
                 (np.s_[1500:], "plain.h5", "v", x.shape, np.s_[1500:])])
lost("gaps", 1000, 1500, "no source for them")
with h5py.File("never.h5", "w") as f:
    f.create_dataset("v", x.shape, "i1")
lost("never", 0, N, "never.h5: /v was never written")
with h5py.File("user-never.h5", "w", userblock_size=4096) as f:
    f.create_dataset("v", x.shape, "i1")
lost("user-never", 0, N, "user-never.h5: /v was never written")
with h5py.File("user-whole.h5", "w", userblock_size=1024) as f:
    f["v"] = x
sound("user-whole")
# Zeros that were put there are data.
with h5py.File("zeros.h5", "w") as f:
    f["v"] = np.zeros_like(x)
plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
plist.set_chunk((512, 2, 2))
plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
with h5py.File("early.h5", "w") as f:
    h5py.h5d.create(f.id, b"v", h5py.h5t.STD_I8LE, h5py.h5s.create_simple(x.shape), plist)

# --- more sources than a process may open
many = 300
step = N // many
parts = [(np.s_[k * step:(k + 1) * step], f"many/{k}.h5", "v", (step, 2, 2), np.s_[:]) for k in range(many)]
parts.append((np.s_[many * step:], "plain.h5", "v", x.shape, np.s_[many * step:]))
virtual("many", parts)
os.mkdir("many")
for k in range(many):
    put(f"many/{k}", x[k * step:(k + 1) * step])

# 40 files side by side, as telescopes write one for each beam.
wide = np.random.default_rng(15).integers(-100, 101, (2048, 40, 2), dtype="i1")
put("wide-plain", wide)
virtual("wide", [(np.s_[:, k], f"many/wide-{k}.h5", "v", (2048, 2), np.s_[:]) for k in range(40)], wide.shape)
for k in range(40):
    put(f"many/wide-{k}", wide[:, k], chunks=(256, 2), compression="gzip")
