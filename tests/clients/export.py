"""`voltmill export`: .fil, .tim, .dat and .inf are read with a reader of our own (struct and numpy,
from the descriptions of SIGPROC and PRESTO) and compared with the HDF5 that they were made of.

blimpy and your, where they are installed, read them too."""
import os
import re
import struct

import h5py
import numpy as np

from common import (DATA, Failed, close, finish, ok, same, scratch, voltmill, write_archive,
                    write_yaml)

ASKAP = os.path.join(DATA, "frb/askap_frb_dm475_fbh5.h5")
INTEGERS = ("machine_id", "telescope_id", "data_type", "nchans", "nbits", "nifs", "nbeams", "ibeam")
NUMBERS = ("fch1", "foff", "tstart", "tsamp", "src_raj", "src_dej", "az_start", "za_start", "refdm")
TEXTS = ("source_name", "rawdatafile")
TYPES = {8: "u1", 16: "<u2", 32: "<f4"}
random = np.random.default_rng(6)


# ---- readers

def read_sigproc(path):
    """Header and samples [time][if][chan]."""
    with open(path, "rb") as file:
        content = file.read()
    at = 0

    def word():
        nonlocal at
        length, = struct.unpack_from("<i", content, at)
        if not 1 <= length < 80:
            raise Failed(f"a text of {length} letters at byte {at}")
        at += 4 + length
        return content[at - length:at].decode()

    def number(kind, size):
        nonlocal at
        at += size
        return struct.unpack_from(kind, content, at - size)[0]

    header = {}
    if word() != "HEADER_START":
        raise Failed("no HEADER_START")
    for key in iter(word, "HEADER_END"):
        header[key] = (word() if key in TEXTS else number("<i", 4) if key in INTEGERS
                       else number("<d", 8) if key in NUMBERS else Failed(f"unknown {key}"))
        if isinstance(header[key], Failed):
            raise header[key]
    samples = np.frombuffer(content, TYPES[header["nbits"]], offset=at)
    return header, samples.reshape(-1, header["nifs"], header["nchans"])


def read_inf(path):
    """Values by key; every key must be 40 letters wide."""
    found = {}
    with open(path) as file:
        lines, _, notes = file.read().partition(" Any additional notes:\n")
    for line in lines.splitlines():
        if line[40:43] != "=  " or len(line) > 199:
            raise Failed(f"no line of a .inf: {line!r}")
        found[line[:40].strip()] = line[43:].strip()
    return found, notes


INF_KEYS = [
    "Data file name without suffix", "Telescope used", "Instrument used", "Object being observed",
    "J2000 Right Ascension (hh:mm:ss.ssss)", "J2000 Declination     (dd:mm:ss.ssss)",
    "Data observed by", "Epoch of observation (MJD)", "Barycentered?           (1 yes, 0 no)",
    "Number of bins in the time series", "Width of each time series bin (sec)",
    "Any breaks in the data? (1 yes, 0 no)", "Type of observation (EM band)",
    "Beam diameter (arcsec)", "Dispersion measure (cm-3 pc)", "Central freq of low channel (MHz)",
    "Total bandwidth (MHz)", "Number of channels", "Channel bandwidth (MHz)", "Data analyzed by"]


# ---- filterbanks

def filterbank(name, data, foff=-0.5, without=(), attributes=None, **options):
    path = scratch(name + ".h5")
    header = {"fch1": 1400.0, "foff": foff, "tsamp": 1e-3, "tstart": 58000.25, "nchans":
              data.shape[2], "nifs": data.shape[1], "nbits": 8 * data.dtype.itemsize,
              "source_name": "B0329+54", "telescope_id": 4, "src_raj": 3.5497, "src_dej": -54.5788,
              **(attributes or {})}
    with h5py.File(path, "w") as file:
        file.attrs.update({"CLASS": "FILTERBANK", "VERSION": "1.0"})
        dataset = file.create_dataset("data", data=data, **options)
        dataset.attrs.update({key: item for key, item in header.items() if key not in without})
    return path


def noise(dtype, nifs=1, rows=300, chans=24):
    shape = (rows, nifs, chans)
    if dtype == "f4":
        return random.normal(1000, 30, shape).astype("f4")
    return random.integers(0, np.iinfo(dtype).max + 1, shape).astype(dtype)


def export(name, product, *words):
    out = scratch(name)
    said = voltmill("export", "--format", "fil", "-o", out, *words, product)
    return (*read_sigproc(out), said)


def as_stored():
    for dtype in ("u1", "u2", "f4"):
        for foff in (-0.5, 0.5):
            for nifs in (1, 2):
                data = noise(dtype, nifs)
                name = f"{dtype}, foff {foff}, {nifs} ifs"
                header, found, _ = export(f"{name}.fil", filterbank("plain", data, foff))
                same(found, data if foff < 0 else data[:, :, ::-1], f"{name}: samples")
                same(found.dtype, data.dtype, f"{name}: nbits")
                close([header["fch1"], header["foff"]], [1400 if foff < 0 else 1411.5, -0.5], 1e-9,
                      f"{name}: highest frequency first")
    same([header[key] for key in ("data_type", "telescope_id", "nifs", "nchans", "source_name")],
         [1, 4, 2, 24, "B0329+54"], "the header's other words")
    close([header["tsamp"], header["tstart"]], [1e-3, 58000.25], 0, "times")
    close([header["src_raj"], header["src_dej"]], [33258.92, -543443.68], 1e-5,
          "the position is in hhmmss.s and ddmmss.s")


def storage():
    data = noise("f4", 2, 700, 30)
    for name, options in {"chunks": {"chunks": (64, 1, 7)}, "gzip": {"chunks": (300, 2, 30),
                                                                 "compression": 3}, "long chunks": {"chunks": (700, 1, 1)},
                          "big-endian": {}}.items():
        stored = data.astype(">f4") if name == "big-endian" else data
        _, found, _ = export(f"{name}.fil", filterbank("stored", stored, 0.25, **options))
        same(found, data[:, :, ::-1], f"stored as {name}")


def ifs():
    for dtype, bits in ("u1", 16), ("u2", 32), ("f4", 32):
        data = noise(dtype, 3)
        product = filterbank("ifs", data, 0.5)
        header, found, _ = export(f"if-{dtype}.fil", product, "--pol", "1")
        same(found, data[:, 1:2, ::-1], f"--pol of {dtype}")
        header, found, _ = export(f"sum-{dtype}.fil", product, "--sum")
        total = data.sum(axis=1, keepdims=True, dtype="f8")[:, :, ::-1]
        same(found.astype("f4"), total.astype("f4"), f"--sum of {dtype}")
        same((header["nifs"], header["nbits"]), (1, bits), f"--sum of {dtype}: nbits hold it")


def bits():
    data = noise("u1")
    for wide in 16, 32:
        _, found, said = export(f"wide-{wide}.fil", filterbank("wide", data, 1.0), "--bits",
                                str(wide))
        same(found.astype("u1"), data[:, :, ::-1], f"8 to {wide} bits is exact")
        ok("scaling" not in said, "and needs no scaling", said)
    data = noise("f4", 2) * np.linspace(1, 3, 24, dtype="f4")
    data[10:12] = np.nan
    data[20, 0, 3] = np.inf
    product = filterbank("narrow", data, 0.5)
    top, finite = data[:, :, ::-1], data[np.isfinite(data)].astype("f8")
    for width, dtype in (8, "u1"), (16, "u2"):
        most = 2 ** width - 1
        low, high = float(finite.min()), float(finite.max())
        for how, least, greatest in ("range", low, high), ("900..2500", 900, 2500):
            _, found, said = export(f"narrow-{how}-{width}.fil", product, "--bits", str(width),
                                    "--scale", how)
            expected = np.clip(np.rint((top.astype("f8") - least) * (most / (greatest - least))), 0,
                               most)
            expected[np.isnan(top)] = 0
            same(found, expected.astype(dtype), f"{width} bits, --scale {how}")
            ok(re.search(rf"scaling: 0 stands for [\d.]+, {most} for [\d.]+", said), "it is said",
               said)
        _, found, said = export(f"narrow-{width}.fil", product, "--bits", str(width), "--scale",
                                "channels")
        kept = np.ma.masked_invalid(top.astype("f8"))
        mean, rms = kept.mean(axis=0).data, kept.std(axis=0).data
        centre, steps = (64, 16) if width == 8 else (8192, 256)
        exact = centre + (top.astype("f8") - mean) * steps / rms
        exact[np.isnan(top)] = centre
        worst = np.max(np.abs(found - np.clip(exact, 0, most)))
        ok(worst <= 0.5001, f"{width} bits, --scale channels", f"off by {worst}")
        ok("1 sample lay outside" in said, "clipped samples are counted", said)
        ok("96 samples" in said and "are NaN" in said, "NaN is noted", said)
    _, found, said = export("nan.fil", product)
    same(found.view("u4"), top.view("u4"), "NaN stays in floats")
    ok("96 samples" in said and "they stay NaN" in said, "and is noted", said)


def tolerant():
    data = noise("u1")
    path = filterbank("poor", data, without=("nchans", "nifs", "nbits", "source_name", "tstart",
                                             "src_raj", "src_dej", "telescope_id"))
    header, found, said = export("poor.fil", path)
    same(found, data, "a header of fch1, foff and tsamp is enough")
    same((header["tstart"], header["source_name"], header["nchans"]), (0.0, "unknown", 24),
         "what is not known")
    ok("does not say when it starts" in said, "it is noted", said)
    path = filterbank("wrong", data, attributes={"nchans": 7, "src_raj": 33258.92, "source_name":
                                                 "x" * 300})
    header, found, said = export("wrong.fil", path)
    same(found, data, "counts are those of /data")
    ok("assumed: " in said and "nchans is 7, but /data has 24" in said, "others are told", said)
    close(header["src_raj"], 33258.92, 1e-5, "hhmmss.s where hours belong")
    same(header["source_name"], "x" * 79, "long names are cut")


def large():
    """More than a block, and spectra wider than one."""
    data = noise("u1", 1, 9000, 1000)
    _, found, _ = export("large.fil", filterbank("large", data, 0.1))
    same(found, data[:, :, ::-1], "several blocks")
    data = random.integers(0, 256, (3, 2, 2500000), dtype="u1")
    path = filterbank("broad", data, 1e-4)
    _, found, _ = export("broad.fil", path)
    same(found, data[:, :, ::-1], "spectra wider than a block")
    _, found, _ = export("broad-sum.fil", path, "--sum")
    same(found[:, 0], data.sum(axis=1, dtype="u2")[:, ::-1], "their sum")


def doubles():
    """Numbers of 64 bits that 32-bit floats hold, and one that they do not."""
    data = noise("f4").astype("f8")
    data[7, 0, 3], data[8, 0, 4] = np.inf, 3.4e38
    _, found, _ = export("doubles.fil", filterbank("doubles", data))
    same(found, data.astype("f4"), "64 bits: the nearest floats")
    data[9, 0, 5] = 1e39
    said = voltmill("export", "--format", "fil", "-o", scratch("far.fil"), filterbank("far", data), status=4)
    ok("far.h5: /data contains 1e+39, beyond 32-bit floats" in said, "and what is beyond them is an error", said)


def turns():
    """A right ascension that rounds to 24 hours."""
    path = filterbank("turns", noise("f4"), attributes={"src_raj": 24 - 1e-12, "src_dej": -59 / 3600 - 0.99999999999 / 3600})
    header, _, _ = export("turns.fil", path)
    same((header["src_raj"], header["src_dej"]), (0, -100), "24 hours are 0 in SIGPROC, 60 seconds a minute")
    voltmill("export", "--format", "psrfits", "-o", scratch("turns.fits"), path)
    with open(scratch("turns.fits"), "rb") as file:
        head = file.read(2880 * 4).decode("latin-1")
    ok("'00:00:00.0000'" in head and "'-00:01:00.0000'" in head, "and in PSRFITS", head)
    path, _ = dedispersed("turned", [0])
    with h5py.File(path, "r+") as file:
        file.attrs.update({"ra_deg": 360 - 1e-10, "dec_deg": 90 - 1e-10})
    voltmill("export", "--format", "dat", "--dm", "0", "-o", "turned", path)
    inf, _ = read_inf(scratch("turned_DM0.00.inf"))
    same([inf[key] for key in INF_KEYS[4:6]], ["00:00:00.0000", "90:00:00.0000"], "and in PRESTO's .inf")


def ours():
    """A product of `run`."""
    volts = random.normal(scale=20, size=(6000, 2, 2, 2))
    root = {"start_mjd_day": np.int32(57991), "start_second": 43210.5, "time_scale": "UTC",
            "telescope": "Effelsberg", "source": "3C 286", "ra_deg": 202.7845, "dec_deg": 30.5092}
    archive = write_archive("archive", volts.astype("i1"), "time,pol,chan,reim", 1e6, "complex",
                            centres=(1.4e9, 1.401e9), names={"pol": ["X", "Y"]}, root=root)
    job = {"input": {"files": archive}, "channelise": {"channels": 32, "taps": 4},
           "products": [{"kind": "power", "file": scratch("ours.h5"), "integrate": 4}]}
    voltmill("run", write_yaml("ours.yaml", job))
    voltmill("export", "--format", "fil", "ours.h5")
    header, found = read_sigproc(scratch("ours.fil"))
    with h5py.File(scratch("ours.h5")) as file:
        same(found, file["data"][()][:, :, ::-1], "a product of run: samples")
        mhz = header["fch1"] + header["foff"] * np.arange(header["nchans"])
        close(mhz, file["frequency"][()][::-1] / 1e6, 1e-9, "a product of run: frequencies")
        close(header["tstart"], file["data"].attrs["tstart"], 0, "a product of run: start")
        same(file["data"].attrs["telescope_id"], 8, "a product of run: its own telescope_id")
    same((header["telescope_id"], header["source_name"]), (8, "3C 286"),
         "a product of run: telescope and source")
    close([header["src_raj"], header["src_dej"]], [133108.28, 303033.12], 1e-5,
          "a product of run: position")


def askap():
    if not os.path.exists(ASKAP):
        ok(True, "# SKIP the ASKAP burst is not here (it is not part of the project)")
        return
    header, found, _ = export("askap.fil", ASKAP)
    with h5py.File(ASKAP) as file:
        same(found, file["data"][()], "ASKAP: samples")
        attributes = file["data"].attrs
        same([header[key] for key in ("fch1", "foff", "tsamp", "tstart", "nchans", "telescope_id")],
             [attributes[key] for key in ("fch1", "foff", "tsamp", "tstart", "nchans",
                                          "telescope_id")], "ASKAP: header")
        hours = attributes["src_raj"]
    raj = header["src_raj"]
    close(raj // 10000 + raj // 100 % 100 / 60 + raj % 100 / 3600, hours, 1e-9, "ASKAP: position")


# ---- series

def dedispersed(name, dms, samples=1001, without=(), **options):
    data = random.normal(size=(len(dms), samples)).astype("f4")
    path = scratch(name + ".h5")
    attributes = {"tsamp_s": 0.00126646875, "tstart": 58682.620316710374, "fch1": 1465.0,
                  "foff": -1.0, "nchans": np.int32(336), "source_name": "FRB 190711",
                  "telescope": "Parkes"}
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("dedispersed", data=data, **options)
        file["dm"] = np.array(dms, dtype="f8")
        file["time"] = np.arange(samples) * 0.00126646875
        for place, scale in enumerate(("dm", "time")):
            file[scale].make_scale(scale)
            dataset.dims[place].attach_scale(file[scale])
        dataset.attrs.update({key: item for key, item in attributes.items() if key not in without})
        if "position" not in without:
            file.attrs.update({"ra_deg": 329.0, "dec_deg": -80.358})
    return path, data


def presto():
    path, data = dedispersed("series", np.arange(470, 480.5, 0.5))
    said = voltmill("export", "--format", "dat", "--dm", "475,477.4,470", "-o", "burst", path)
    for dm, row in (475, 10), (477.5, 15), (470, 0):
        found = np.fromfile(scratch(f"burst_DM{dm:.2f}.dat"), "<f4")
        same(found, data[row, :1000], f"DM {dm}: an even number of samples")
    ok("DM 477.4 is not stored: the nearest is 477.5" in said, "what is not exact is said", said)
    ok("the last of 1001 samples is left out" in said, "what is left out is said", said)
    inf, notes = read_inf(scratch("burst_DM477.50.inf"))
    same(list(inf), INF_KEYS, "the keys of a .inf, in order")
    expected = {"Data file name without suffix": "burst_DM477.50", "Telescope used": "Parkes",
                "Object being observed": "FRB 190711",
                "J2000 Right Ascension (hh:mm:ss.ssss)": "21:56:00.0000",
                "J2000 Declination     (dd:mm:ss.ssss)": "-80:21:28.8000",
                "Number of bins in the time series": "1000",
                "Width of each time series bin (sec)": "0.00126646875",
                "Dispersion measure (cm-3 pc)": "477.5", "Total bandwidth (MHz)": "336",
                "Central freq of low channel (MHz)": "1130", "Number of channels": "336",
                "Channel bandwidth (MHz)": "1"}
    same({key: inf.get(key) for key in expected}, expected, "their values")
    ok(re.fullmatch(r"58682\.\d{15}", inf["Epoch of observation (MJD)"]), "15 decimals of the epoch")
    close(float(inf["Epoch of observation (MJD)"]), 58682.620316710374, 0, "the epoch")
    ok("Unknown" not in notes, "nothing is missing", notes)


def tim():
    path, data = dedispersed("tims", [3.001, 3.002, 3.5, 10], chunks=(2, 100), compression=1)
    voltmill("export", "--format", "tim", "--dms", "3.0015..3.5", path)
    for dm, row in ("3.00", 1), ("3.50", 2):
        header, found = read_sigproc(scratch(f"tims_DM{dm}.tim"))
        same(found[:, 0, 0], data[row], f"DM {dm}: samples")
    expected = {"data_type": 2, "nchans": 1, "nifs": 1, "nbits": 32, "refdm": 3.5, "fch1": 1465.0,
                "foff": -1.0, "tsamp": 0.00126646875, "tstart": 58682.620316710374,
                "source_name": "FRB 190711", "telescope_id": 4}
    same({key: header.get(key) for key in expected}, expected, "the header of a .tim")
    voltmill("export", "--format", "tim", "--dms", "0..4", "-o", "fine", path)
    same([os.path.exists(scratch(f"fine_DM{dm}.tim")) for dm in ("3.001", "3.002", "3.500")],
         [True] * 3, "as many decimals as tell DMs apart")


def describe(path, hertz, **attributes):
    """Adds the attributes of the band that products of `run` have."""
    with h5py.File(path, "r+") as file:
        file["provenance/frequency"] = np.asarray(hertz, "f8")
        file["provenance"].attrs.update(attributes)


def gaps():
    """Channels that do not follow each other: the lowest and the highest lie where they do."""
    even = 1e6 * (1465 - np.arange(336.0))
    cases = {"even": (even, 336, 1.0, 1130.0, ""),
             "ascending": (even[::-1], 336, 1.0, 1130.0, ""),
             "a gap": (np.r_[even[:100], even[100:] - 50e6], 386, 1.0, 1080.0, "gaps count"),
             "order": (np.r_[even[168:], even[:168]], 336, 1.0, 1130.0, "not evenly"),
             "odd gaps": (np.r_[even[:100], even[100:] - 50.3e6], 386, 385.3 / 385, 1079.7,
                          "gaps count")}
    for name, (hertz, channels, width, low, words) in cases.items():
        path, _ = dedispersed("gaps", [50.0])
        describe(path, hertz, reference_hz=1465e6, constant=1 / 2.41e-4)
        said = voltmill("export", "--format", "dat", "--dm", "50", "--force", path)
        inf, notes = read_inf(scratch("gaps_DM50.00.inf"))
        close([float(inf[key]) for key in ("Number of channels", "Channel bandwidth (MHz)",
                                           "Central freq of low channel (MHz)",
                                           "Total bandwidth (MHz)")],
              [channels, width, low, channels * width], 1e-8, f"{name}: the band of a .inf")
        close(float(inf["Epoch of observation (MJD)"]), 58682.620316710374, 0, f"{name}: epoch")
        ok((words in notes) if words else ("channels" not in notes), f"{name}: notes", notes)
        same(said.count("warning"), 1 if words else 0, f"{name}: said once, or not at all")
        voltmill("export", "--format", "tim", "--dm", "50", "--force", path)
        header, _ = read_sigproc(scratch("gaps_DM50.00.tim"))
        close([header["fch1"], header["foff"]], [1465, -width], 1e-8, f"{name}: a .tim's frequency")


def references():
    """Times of another frequency are counted to the highest channel, as PRESTO has them."""
    for mhz in 1000.0, 1465.0, 3000.0, np.inf:
        path, _ = dedispersed("far", [0.0, 475.0])
        describe(path, 1e6 * (1130 + np.arange(336.0)), reference_hz=1e6 * mhz, constant=4148.808)
        said = voltmill("export", "--format", "dat", "--dms", "0..475", "--force", path)
        same(said.count("note: the times of"), int(mhz != 1465), f"{mhz} MHz: said once")
        for dm in 0, 475:
            later = 4148.808 * dm * (1465.0 ** -2 - mhz ** -2) / 86400
            inf, notes = read_inf(scratch(f"far_DM{dm:.2f}.inf"))
            close(float(inf["Epoch of observation (MJD)"]), 58682.620316710374 + later, 1e-11,
                  f"{mhz} MHz, DM {dm}: the epoch")
            ok(("highest channel" in notes) == (mhz != 1465), "a note", notes)
        voltmill("export", "--format", "tim", "--dm", "475", "--force", path)
        header, _ = read_sigproc(scratch("far_DM475.00.tim"))
        close(header["tstart"], 58682.620316710374 + later, 1e-11, f"{mhz} MHz: tstart of a .tim")


def pulse():
    """The same pulse has the same time, whatever the reference of the dedispersion was."""
    mhz = np.r_[400 + 0.5 * np.arange(32), 430 + 0.5 * np.arange(32)]
    tsamp, dm = 1e-3, 100.0
    delays = np.rint(dm / 2.41e-4 * (mhz ** -2 - mhz[-1] ** -2) / tsamp).astype(int)
    data = random.normal(1000, 1, (4000, 1, 64)).astype("f4")
    data[1500 + delays, 0, np.arange(64)] += 100
    path = scratch("pulse.h5")
    with h5py.File(path, "w") as file:
        file.attrs.update({"format": "power", "format_version": 3, "first_time": 0.25,
                           "start_mjd_day": 58000, "start_second": 43200.0})
        file.create_dataset("data", data=data).attrs.update(
            {"fch1": 400.0, "foff": 0.5, "tsamp": tsamp, "tstart": 58000.5 + 0.2495 / 86400})
        file["frequency"] = 1e6 * mhz
    for reference in None, 300e6, 1e9:
        what = {"dm": [90, dm], "file": scratch("pulsed.h5")}
        what.update({"reference": reference} if reference else {})
        voltmill("run", "--force", write_yaml("pulse.yaml", {"input": {"files": path},
                                                            "dedisperse": what}))
        voltmill("export", "--format", "dat", "--dm", "100", "--force", "pulsed.h5")
        inf, _ = read_inf(scratch("pulsed_DM100.00.inf"))
        found = np.fromfile(scratch("pulsed_DM100.00.dat"), "<f4")
        day = float(inf["Epoch of observation (MJD)"]) - 58000.5
        close(day * 86400 + tsamp * (np.argmax(found) + 0.5), 0.25 + 1.5, 0.51 * tsamp,
              f"reference {reference}: the pulse's time")
        same((inf["Number of channels"], inf["Central freq of low channel (MHz)"],
              inf["Channel bandwidth (MHz)"]), ("92", "400", "0.5"),
             f"reference {reference}: its band")


def poor_series():
    path, data = dedispersed("bare", [5.0, 6.0], 100, without=(
        "tsamp_s", "tstart", "fch1", "foff", "nchans", "source_name", "telescope", "position"))
    said = voltmill("export", "--format", "dat", "--dm", "6", path)
    words = "tstart, fch1, foff, nchans, position, source_name, telescope"
    ok(words in said, "what is missing is said", said)
    inf, notes = read_inf(scratch("bare_DM6.00.inf"))
    ok(words in notes and all(len(line) < 99 for line in notes.splitlines()),
       "and stands in the .inf", notes)
    same([inf[key] for key in ("Epoch of observation (MJD)", "Telescope used", "Number of channels",
                               "Width of each time series bin (sec)")],
         ["0.000000000000000", "Unknown", "1", "0.00126646875"], "defaults")
    same(np.fromfile(scratch("bare_DM6.00.dat"), "<f4"), data[1], "samples")
    voltmill("export", "--format", "tim", "--dm", "6", path)
    header, found = read_sigproc(scratch("bare_DM6.00.tim"))
    same((header["tstart"], header["fch1"], header["source_name"], len(found)),
         (0.0, 0.0, "unknown", 100), "a .tim of the same")


# ---- others' readers

def others():
    product = filterbank("others", noise("f4", 1, 64, 16), 0.5)
    _, expected, _ = export("others.fil", product)
    try:
        import blimpy
        found = blimpy.Waterfall(scratch("others.fil"))
        same(found.data, expected, "blimpy reads the same samples")
        close(found.header["fch1"], 1407.5, 1e-9, "and frequencies")
    except ImportError:
        ok(True, "# SKIP blimpy is not installed")
    try:
        import your
        found = your.Your(scratch("others.fil"))
        same(found.get_data(0, 64), expected[:, 0], "your reads the same samples")
        same((found.your_header.fch1, found.your_header.nchans), (1407.5, 16), "and frequencies")
    except ImportError:
        ok(True, "# SKIP your is not installed")


def main():
    for part in (as_stored, storage, ifs, bits, tolerant, large, doubles, turns, ours, askap, presto, tim, gaps,
                 references, pulse, poor_series, others):
        try:
            part()
        except Failed as failure:
            ok(False, f"{part.__name__} runs", failure)
    finish()


main()
