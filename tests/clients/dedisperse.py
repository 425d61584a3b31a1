"""Dedispersed series of small made-up filterbanks against a brute force of our own in numpy: every
kind of sample and storage, every option, every backend, any number of ranks."""
import hashlib
import os
import sys

import h5py
import numpy as np

from common import Failed, close, finish, note, ok, same, scratch, voltmill, write_yaml

TEMPO = 1 / 2.41e-4
CONSTANTS = {"tempo": TEMPO, "handbook": 4148.808, "sigproc": 4148.741601, "codata": 4148.8064239}
TSAMP = 1e-3
RANDOM = np.random.default_rng(6)
ALL = os.environ.get("VOLTMILL_TEST_ALL")


def filterbank(name, data, fch1=400.0, foff=-2.0, root=None, **options):
    """[time][if][channel] as FBH5, with h5py alone."""
    path = scratch(name + ".h5")
    with h5py.File(path, "w") as file:
        file.attrs.update({"CLASS": "FILTERBANK", "VERSION": "1.0", **(root or {})})
        file.create_dataset("data", data=data, **options).attrs.update(
            {"fch1": fch1, "foff": foff, "tsamp": TSAMP, "tstart": 58849.25, "nchans": data.shape[2],
             "nifs": data.shape[1], "nbits": 8 * data.dtype.itemsize, "source_name": "made up",
             "src_raj": 5.5, "src_dej": -22.0, "telescope_id": 6})
    return path


def delays_of(frequencies, dms, constant=TEMPO, reference=None, tsamp=TSAMP):
    """[dm][channel] in samples; frequencies in MHz."""
    reference = max(frequencies) if reference is None else reference
    delays = np.outer(dms, constant * (frequencies ** -2.0 - reference ** -2.0)) / tsamp
    return (np.sign(delays) * np.floor(np.abs(delays) + 0.5)).astype(int)


def brute(data, delays, edges="valid", mask=()):
    """out[d][t] = sum_c data[t + delays[d][c]][c]; and the time of the first, in samples."""
    data = data.astype(np.float64)
    samples, channels = data.shape
    first = -delays.min() if edges == "valid" else 0
    count = samples - (delays.max() - delays.min()) if edges == "valid" else samples
    out = np.zeros((len(delays), count))
    for d, row in enumerate(delays):
        for c in set(range(channels)) - set(mask):
            at = first + row[c] + np.arange(count)
            inside = (at >= 0) & (at < samples)
            out[d, inside] += data[at[inside], c]
    return out, first


def dedisperse(name, path, dm, ranks=None, sets=(), run=None, **keys):
    """Runs a job of one dedispersion; gives the path of its product."""
    product = scratch(name + ".product.h5")
    job = {"input": {"files": path}, "dedisperse": {"dm": dm, "file": product, **keys}}
    if run:
        job["run"] = run
    voltmill("run", "--force", write_yaml(name + ".yaml", job), *sets, ranks=ranks)
    return product


def agrees(found, expected, name, is_exact):
    unit = np.sqrt(np.mean(expected ** 2))
    return close(found, expected, 0 if is_exact else 1e-6 * unit, name)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def frequencies(channels, fch1=400.0, foff=-2.0):
    return fch1 + foff * np.arange(channels)


# ---- samples and storage

def kinds():
    dms = [0.0, 3.0, 11.5, 30.0]
    raw = RANDOM.integers(0, 256, (900, 1, 24))
    for name, data, options in (
            ("uint8", raw.astype("u1"), {}),
            ("uint16", (raw * 257).astype("u2"), {}),
            ("float", RANDOM.normal(10, 3, raw.shape).astype("f4"), {}),
            ("big-endian", (raw * 200).astype(">u2"), {}),
            ("chunks", raw.astype("u1"), {"chunks": (70, 1, 9)}),
            ("deflated", RANDOM.normal(0, 1, raw.shape).astype("f4"),
             {"chunks": (64, 1, 24), "compression": "gzip", "shuffle": True})):
        for foff in (-2.0, 2.0) if ALL or name in ("uint8", "float", "chunks") else (-2.0,):
            fch1 = 400.0 if foff < 0 else 354.0
            path = filterbank("kind", data, fch1, foff, **options)
            mhz = frequencies(24, fch1, foff)
            expected, first = brute(data[:, 0], delays_of(mhz, dms))
            with h5py.File(dedisperse("kind", path, {"list": dms}), "r") as file:
                agrees(file["dedispersed"][()], expected, f"{name}, foff {foff}: series",
                       data.dtype.kind == "u")
                same(file["dm"][()], np.array(dms), f"{name}, foff {foff}: DMs")
                same(file["provenance/delays"][()].astype(int), delays_of(mhz, dms),
                     f"{name}, foff {foff}: delays")
                close(file["provenance/frequency"][()], mhz * 1e6, 1e-3, f"{name}: frequencies")
                close(file["time"][()], (first + 0.5 + np.arange(expected.shape[1])) * TSAMP, 1e-12,
                      f"{name}, foff {foff}: times")


def linked():
    """/data is a link to another file: its place there says nothing of this one."""
    data = RANDOM.integers(0, 256, (300, 1, 16)).astype("u1")
    there = filterbank("linked-to", data)
    path = scratch("linked.h5")
    with h5py.File(path, "w") as file:
        file["padding"] = np.full(40000, 200, "u1")
        file["data"] = h5py.ExternalLink(there, "/data")
    expected, _ = brute(data[:, 0], delays_of(frequencies(16), [0.0, 5.0]))
    with h5py.File(dedisperse("linked", path, [0, 5]), "r") as file:
        same(file["dedispersed"][()], expected, "an external link")
    # The same rows in other files' hands: HDF5 takes those that are not there, or end early, for zeros.
    os.makedirs(scratch("raw"), exist_ok=True)
    half = data.nbytes // 2
    for part, name in ((data[:150], "first.raw"), (data[150:], "second.raw")):
        part.tofile(scratch("raw/" + name))
    data.tofile(scratch("raw/whole.raw"))

    def holders():
        layout = h5py.VirtualLayout(data.shape, "u1")
        layout[:] = h5py.VirtualSource(there, "data", data.shape)
        yield "a virtual dataset", "raw/virtual.h5", lambda file: file.create_virtual_dataset("data", layout), there
        for name, pieces in (("a raw file", [("whole.raw", 0, 2 * half)]),
                             ("raw files", [("first.raw", 0, half), ("second.raw", 0, half)])):
            yield name, f"raw/{len(pieces)}.h5", lambda file, pieces=pieces: file.create_dataset(
                "data", data.shape, "u1", external=pieces), scratch("raw/" + pieces[-1][0])

    for name, path, make, source in holders():
        path = scratch(path)
        with h5py.File(path, "w") as file:
            make(file)
            with h5py.File(there, "r") as other:
                file["data"].attrs.update(dict(other["data"].attrs))
        for ranks in (None, 2):
            with h5py.File(dedisperse("held", path, [0, 5], ranks=ranks), "r") as file:
                same(file["dedispersed"][()], expected, f"{name}, {ranks or 1} ranks")
        with h5py.File(dedisperse("held", path, [0, 5], mask=["3"]), "r") as file:
            masked, _ = brute(data[:, 0], delays_of(frequencies(16), [0.0, 5.0]), mask=[3])
            same(file["dedispersed"][()], masked, f"{name}, a mask")
        os.rename(source, source + ".away")
        refused(path, f"{name} that is not there", os.path.basename(source))
        if source.endswith(".raw"):
            data[:10].tofile(source)
            refused(path, f"{name} that ends early", "is truncated")
        os.rename(source + ".away", source)


def refused(path, name, words):
    try:
        dedisperse("refused", path, [0, 5])
        same("went on", "refused", name)
    except Failed as failure:
        ok("exit 4" in str(failure) and words in str(failure), name, str(failure))


def plain(value):
    return value.decode() if isinstance(value, bytes) else value


def description():
    data = RANDOM.integers(0, 9, (300, 1, 8)).astype("u1")
    path = filterbank("description", data, root={"telescope": "Arecibo"})
    with h5py.File(dedisperse("description", path, {"start": 1, "step": 2, "count": 3}), "r") as file:
        series = file["dedispersed"]
        same(str(series.dtype), "float32", "series are float32")
        for key, value in (("tsamp_s", TSAMP), ("tstart", 58849.25), ("fch1", 400.0), ("foff", -2.0),
                           ("nchans", 8), ("source_name", "made up"), ("telescope", "Arecibo")):
            same(plain(series.attrs[key]), value, f"attribute {key}")
        same([series.dims[i][0].name for i in range(2)], ["/dm", "/time"], "scales are attached")
        close(file.attrs["ra_deg"], 82.5, 1e-9, "right ascension")
        provenance = file["provenance"].attrs
        same([plain(provenance[key]) for key in ("mode", "edges", "error_samples")],
             ["exact", "valid", 0], "mode, edges, error")
        close(provenance["constant"], TEMPO, 1e-9, "constant")
        same(provenance["reference_hz"], 400e6, "reference")
    said = voltmill("info", scratch("description.product.h5"))
    ok("DMs           3, from 1 to 5" in said, "info", said)


# ---- options

def options():
    data = RANDOM.integers(0, 256, (700, 3, 16)).astype("u1")
    path = filterbank("options", data)
    mhz = frequencies(16)
    dms = 4.0 * np.arange(5)
    plain = {"start": 0, "step": 4, "count": 5}
    whole = data.sum(1, dtype=int)

    def check(name, summed, delays, keys, edges="valid", mask=(), tsamp=TSAMP):
        expected, first = brute(summed, delays, edges, mask)
        with h5py.File(dedisperse("options", path, plain, edges=edges, **keys), "r") as file:
            agrees(file["dedispersed"][()], expected, name, True)
            close(file["time"][()], (first + 0.5 + np.arange(expected.shape[1])) * tsamp, 1e-9,
                  name + ": times are centres")
            close(file["dedispersed"].attrs["tstart"], 58849.25 + first * tsamp / 86400, 2e-11,
                  name + ": tstart is the leading edge")

    check("all ifs", whole, delays_of(mhz, dms), {})
    check("two ifs", data[:, [0, 2]].sum(1, dtype=int), delays_of(mhz, dms), {"pols": [2, 0]})
    check("one polarisation", data[:, 1], delays_of(mhz, dms), {"pols": 1})
    check("mask", whole, delays_of(mhz, dms), {"mask": ["3-5", "0", "15"]}, mask=(0, 3, 4, 5, 15))
    check("edges: pad", whole, delays_of(mhz, dms), {}, edges="pad")
    check("a reference in the middle", whole, delays_of(mhz, dms, reference=380.0),
          {"reference": 380e6})
    check("and padded", whole, delays_of(mhz, dms, reference=380.0), {"reference": 380e6},
          edges="pad")
    check("a reference below", whole, delays_of(mhz, dms, reference=300.0), {"reference": 300e6})
    for text, constant in {**CONSTANTS, "4000": 4000.0}.items():
        check(f"constant {text}", whole, delays_of(mhz, dms, constant), {"constant": text})
    for factor in (3, 50):
        rows = len(whole) // factor
        summed = whole[:rows * factor].reshape(rows, factor, -1).sum(1)
        check(f"downsample {factor}", summed, delays_of(mhz, dms, tsamp=factor * TSAMP),
              {"downsample": factor}, tsamp=factor * TSAMP)


def tolerance():
    """Neighbours are as far apart as smearing by the tolerance allows (Levin; dedisp)."""
    data = RANDOM.integers(0, 9, (3000, 1, 64)).astype("u1")
    path = filterbank("tolerance", data, 1500.0, -1.0)
    product = dedisperse("tolerance", path, {"start": 10, "end": 900, "tolerance": 1.25,
                                             "width": 2e-3})
    with h5py.File(product, "r") as file:
        dms = file["dm"][()]
    centre = 1500.0 - 31.5
    a = 2 * TEMPO / centre ** 3
    b = a * 64 / 4
    width = TSAMP ** 2 + 2e-3 ** 2 + (a * dms[:-1]) ** 2
    smeared = TSAMP ** 2 + 2e-3 ** 2 + (a * dms[1:]) ** 2 + (b * np.diff(dms)) ** 2
    ok(dms[0] == 10 and dms[-1] >= 900 and dms[-2] < 900, "tolerance: from start to end", dms)
    close(np.sqrt(smeared / width), np.full(len(dms) - 1, 1.25), 0.02, "tolerance: smearing")


# ---- two steps

def two_step():
    """Channel c holds a single 2^c, so that the bits of a sum tell which channel came when."""
    channels, at = 24, 500
    data = np.zeros((900, 1, channels), "f4")
    data[at, 0] = 2.0 ** np.arange(channels)
    path = filterbank("two", data)
    dms = 0.25 * np.arange(200)
    exact = delays_of(frequencies(channels), dms)
    for mode, keys in (("brute", {}), ("tree", {}), ("two-step", {"group": 4}), ("two-step", {})):
        product = dedisperse("two", path, {"start": 0, "step": 0.25, "count": 200}, mode=mode,
                             edges="pad", **keys)
        with h5py.File(product, "r") as file:
            series = file["dedispersed"][()].astype(np.int64)
            bound = int(file["provenance"].attrs["error_samples"])
        found = np.full(exact.shape, 10 ** 6)
        for c in range(channels):
            d, t = np.nonzero(series >> c & 1)
            found[d, c] = at - t
        same(series.sum(1), np.full(len(dms), 2 ** channels - 1), f"{mode}: every sample once")
        off = np.abs(found - exact).max()
        ok(off <= bound and bound == (mode == "two-step"),
           f"{mode} {keys}: at most {bound} samples beside", f"off by {off}")
        ok(mode != "two-step" or off == 1, f"{mode} {keys}: adds up groups", off)


# ---- backends, ranks, memory

def backends():
    raw = RANDOM.integers(0, 256, (2500, 2, 40))
    float_data = RANDOM.normal(3, 1, raw.shape).astype("f4")
    dm = {"start": 0, "step": 0.5, "count": 60}
    names = ["cpu", "reference"] + (["opencl"] if "\n0:" in "\n" + devices() else [])
    if "opencl" not in names:
        note("no OpenCL device")
    for kind, data in (("integers", raw.astype("u1")), ("floats", float_data)):
        path = filterbank(kind, data)
        expected, _ = brute(data.sum(1, dtype=np.float64),
                            delays_of(frequencies(40), 0.5 * np.arange(60)))
        for backend in names:
            with h5py.File(dedisperse(kind, path, dm, backend=backend), "r") as file:
                agrees(file["dedispersed"][()], expected, f"{kind}: {backend}", kind == "integers")
        stepped = []
        for backend in names:
            with h5py.File(dedisperse(kind, path, dm, backend=backend, mode="two-step"),
                           "r") as file:
                stepped.append(file["dedispersed"][()].astype(np.float64))
        for backend, series in zip(names[1:], stepped[1:]):
            agrees(series, stepped[0], f"{kind}: {backend} in two steps", kind == "integers")


def devices():
    try:
        return voltmill("info", "--devices")
    except Exception:  # built without OpenCL
        return ""


def ranks():
    data = RANDOM.normal(0, 1, (6000, 1, 32)).astype("f4")
    path = filterbank("ranks", data)
    dm = {"start": 0, "step": 0.5, "count": 90}
    exact = set()
    for mode in ("brute", "tree", "auto", "two-step"):
        digests = set()
        for size in (1, 2, 3, 4) if ALL else (1, 3):
            digests.add(digest(dedisperse("ranks", path, dm, ranks=size, mode=mode)))
        for chunk in (7, 1000, 6000) if ALL or mode == "tree" else (1000,):
            digests.add(digest(dedisperse("ranks", path, dm, mode=mode, run={"chunk": chunk})))
        same(len(digests), 1, f"{mode}: the same bytes at any number of ranks, whatever the chunks")
        exact |= digests if mode != "two-step" else set()
    same(len(exact), 1, "brute force and trees make the same file")


def budget():
    """Little memory and much to do: groups of DMs, each with its own reads."""
    data = RANDOM.integers(0, 256, (8000, 1, 512)).astype("u1")
    path = filterbank("budget", data, 1500.0, -0.5)
    dm = {"start": 0, "step": 1, "count": 1500}
    said = {}
    digests = set()
    for memory in ("95MiB", "1GiB"):
        product = dedisperse("budget", path, dm, ranks=2, run={"memory": memory})
        said[memory] = voltmill("plan", "--force", scratch("budget.yaml"))
        digests.add(digest(product))
        with h5py.File(product, "r") as file:
            found = file["dedispersed"][::500]
            delays = file["provenance/delays"][::500].astype(int)
    same(len(digests), 1, "the same bytes with little memory")
    expected, _ = brute(data[:, 0], delays_of(frequencies(512, 1500.0, -0.5), 500.0 * np.arange(3)))
    same(delays, delays_of(frequencies(512, 1500.0, -0.5), 500.0 * np.arange(3)), "delays")
    same(found, expected[:, :found.shape[1]], "series")
    ok("of 1,500 DMs" not in said["95MiB"] and "of 1,500 DMs" in said["1GiB"],
       "DMs go in groups where memory is short", said["95MiB"])


def many_channels():
    """More bright samples than packed sums on a device hold."""
    data = np.full((40, 1, 70000), 250, "u1")
    data[::3] = 1
    path = filterbank("many", data, foff=-0.001)
    expected = np.tile(data.sum((1, 2), dtype=np.float64), (2, 1))
    for backend in ["cpu"] + (["opencl"] if "\n0:" in "\n" + devices() else []):
        with h5py.File(dedisperse("many", path, [0, 1e-6], backend=backend), "r") as file:
            agrees(file["dedispersed"][()], expected.astype("f4"), f"many channels: {backend}", True)


def export():
    data = RANDOM.integers(0, 256, (800, 1, 16)).astype("u1")
    product = dedisperse("export", filterbank("export", data), {"start": 0, "step": 5, "count": 4})
    voltmill("export", "--format", "dat", "--dm", "10", product)
    voltmill("export", "--format", "tim", "--dm", "10", product)
    with h5py.File(product, "r") as file:
        expected = file["dedispersed"][2]
    stem = product[:-len(".h5")] + "_DM10.00"
    dat = np.fromfile(stem + ".dat", "<f4")
    same(dat[:len(expected)], expected, "export: .dat")
    with open(stem + ".inf") as file:
        inf = file.read()
    for line in ("Epoch of observation (MJD)             =  58849.25", "Number of channels                     =  16",
                 "Dispersion measure (cm-3 pc)           =  10"):
        ok(line in inf, f"export: {line.split('=')[0].strip()}", inf)
    with open(stem + ".tim", "rb") as file:
        tim = file.read()
    same(np.frombuffer(tim[-4 * len(expected):], "<f4"), expected, "export: .tim")


chosen = sys.argv[1:]
for test in (kinds, linked, description, options, tolerance, two_step, backends, many_channels, ranks, budget, export):
    if not chosen or test.__name__ in chosen:
        test()
finish()
