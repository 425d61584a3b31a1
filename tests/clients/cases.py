"""Files whose headers are wrong, contradict themselves or say less than they should, from public bug reports: each is read
as CASES.tsv beside it says, or refused by an error that names the facts. numpy decodes every file once more, here,
without voltmill: samples, rate, frequencies, start, what is missing, and what an `assumed:` line must speak of.

VOLTMILL_DATA names the folder of recordings (default ../shared/data), which has them in `cases`; without it, all is skipped."""
import csv
import json
import os
import re
import struct
import subprocess

import h5py
import numpy as np

from common import DATA, ENVIRONMENT, ROOT, VOLTMILL, finish, note, ok, scratch, skip_all, yaml

CASES = os.path.join(DATA, "cases")
CHECKS = {}
LEVELS2 = np.array([-3.3359, -1, 1, 3.3359])
EPOCH_2014 = 56658  # MJD of VDIF's reference epoch 28
MOCK_RATE = 1024e3  # of VDIF files of which no header says it: 1000 frames of 1024 samples a second


def case(*names):
    def take(check):
        for name in names:
            CHECKS[name] = check
        return check
    return take


def at(*names):
    return os.path.join(CASES, *names)


def content(name):
    with open(at(name), "rb") as file:
        return file.read()


# ---- what voltmill makes of them

def voltmill(*words):
    """(status, what it said)"""
    done = subprocess.run([VOLTMILL, *words], cwd=CASES, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                          env={**ENVIRONMENT, "OCL_ICD_VENDORS": os.path.join(ROOT, "tests/tools/")})
    return done.returncode, done.stdout.decode(errors="replace")


def imported(name, files, layout):
    """(status, what it said, path of the voltages in the native layout)"""
    product = scratch(name + ".h5")
    words = ["--layout", yaml(layout)] if layout else []
    return *voltmill("import", "-o", product, *words, *([files] if isinstance(files, str) else files)), product


def lines(said, *words):
    return [line for line in said.splitlines() if line.startswith(tuple(word + ":" for word in words))]


def native(path):
    """An archive in the native layout, as docs/archives.md has it: volts and what is missing, [stream][chan][time]."""
    with h5py.File(path, "r") as file:
        data = file["voltages"]
        said = {key: value.decode() if isinstance(value, bytes) else value for key, value in data.attrs.items()}
        stored, axes, packing = data[()], said["axes"].split(","), said.get("packing", "")
        if stored.dtype.names:
            stored, axes = np.stack([stored[one] for one in stored.dtype.names], axis=-1), axes + ["reim"]
        bits = re.match(r"(\d+) bit ?(.*?)( high first)?$", packing)
        if packing.startswith("4+4"):
            parts = np.stack([stored >> 4, stored & 15], axis=-1).astype("i4")
            parts = parts - 8 if "offset" in packing else (parts ^ 8) - 8
            volts, axes = parts if "hi=re" in packing else parts[..., ::-1], axes + ["reim"]
        elif bits and int(bits[1]) < 8:
            n = int(bits[1])
            shifts = np.arange(0, 8, n)[::-1 if bits[3] else 1]
            codes = ((stored[..., None] >> shifts) & ((1 << n) - 1)).reshape(*stored.shape[:-1], -1)
            levels = {("1", ""): np.array([-1, 1]), ("2", "offset"): LEVELS2, ("4", "offset"): np.arange(16) - 8}
            table = file["levels"][()] if "levels" in file else levels.get((bits[1], bits[2]))
            table = (np.arange(1 << n) ^ 1 << (n - 1)) - (1 << (n - 1)) if table is None else table
            volts = table[codes]
        else:
            volts = stored.astype("f8") - (1 << int(bits[1]) - 1 if bits else 0)
        volts = (volts - said.get("offset", 0)) * said.get("scale", 1)
        absent = np.isnan(volts) | (stored == said["missing_value"] if "missing_value" in said and not packing else False)
        if "reim" in axes:
            volts = np.moveaxis(volts, axes.index("reim"), -1)
            volts = volts[..., 0] + 1j * volts[..., 1]
            absent = np.moveaxis(absent, axes.index("reim"), -1).any(axis=-1)
            axes = [axis for axis in axes if axis != "reim"]
        order = [axes.index(axis) for axis in ("station", "beam", "pol", "chan", "time") if axis in axes]
        volts, absent = volts.transpose(order), absent.transpose(order)
        chans = volts.shape[-2] if "chan" in axes else 1
        volts, absent = (one.reshape(-1, chans, one.shape[-1]) for one in (volts, absent))
        flat = absent.reshape(-1, absent.shape[-1])
        for first, count, *stream in file["gaps"][()] if "gaps" in file else ():
            flat[stream[0] if stream else slice(None), int(first):int(first + count)] = True
        start = (file.attrs.get("start_mjd_day"), file.attrs.get("start_second"))
        return {"volts": volts, "missing": flat.reshape(volts.shape), "rate": said["sample_rate_hz"], "start": start,
                "freq": file["freq_hz"][()] if "freq_hz" in file else None, "sideband": said["sideband"]}


def voltages(name, files, volts, rate, start, missing=None, freq=None, assumed="", said="", layout=None, within=0.0,
             sideband=1, tolerance=2e-6):
    """The files hold these volts [stream][chan][time], at this rate, from this start (MJD, second) on; `missing` of their
    shape. assumed: a pattern of an `assumed:` line; said: one of any line."""
    status, text, product = imported(name, files, layout)
    if not ok(status == 0, f"{name}: read", f"exit {status}: {text}"):
        return
    found = native(product)
    missing = np.zeros(volts.shape, bool) if missing is None else missing
    shape = found["volts"].shape
    if ok(shape == volts.shape, f"{name}: its streams and samples", f"found {shape}, expected {volts.shape}"):
        wrong = found["missing"] != missing
        ok(not wrong.any(), f"{name}: {np.count_nonzero(missing)} samples are missing",
           f"found {np.count_nonzero(found['missing'])}; the first other one is {np.argwhere(wrong)[:1]}")
        error = np.where(missing | found["missing"], 0, np.abs(found["volts"] - volts))
        ok(error.max() <= tolerance * max(1, np.abs(volts).max()), f"{name}: the samples that numpy decodes",
           f"differ by {error.max()} at {np.unravel_index(error.argmax(), error.shape)}")
    ok(np.isclose(found["rate"], rate, rtol=1e-12), f"{name}: {rate} samples a second", f"found {found['rate']}")
    ok(found["start"][0] == start[0] and abs(found["start"][1] - start[1]) <= within + 1e-9, f"{name}: start {start}",
       f"found {found['start']}")
    ok(found["sideband"] == sideband, f"{name}: sideband {sideband:+}", f"found {found['sideband']}")
    if freq is not None:
        ok(found["freq"] is not None and np.allclose(found["freq"], freq, rtol=1e-12), f"{name}: frequencies",
           f"found {found['freq']}, expected {freq}")
    speaks(name, text, assumed, said)


def speaks(name, text, assumed, said=""):
    if assumed:
        some = lines(text, "assumed")
        ok(any(re.search(assumed, line) for line in some), f"{name}: an assumed: line speaks of {assumed}", *some)
    if said:
        some = lines(text, "assumed", "warning", "note")
        ok(any(re.search(said, line) for line in some), f"{name}: a line speaks of {said}", *some)


def refused(name, files, *patterns, layout=None):
    """One error that names these facts."""
    status, text, _ = imported(name, files, layout)
    errors = lines(text, "error")
    ok(status in (2, 4) and len(errors) == 1, f"{name}: refused", f"exit {status}: {text}")
    for pattern in patterns:
        ok(any(re.search(pattern, line) for line in errors), f"{name}: the error names {pattern}", *errors)


def filterbank(name, file, values, freq, start, tsamp=1e-3, assumed="", several=()):
    """A filterbank of these values [time][chan] at MJD start[0], second start[1]: series of DM 0, of all channels, and of
    those in whose number a bit is set. several: numbers of spectra that there may be instead."""
    chans = values.shape[1]
    subsets = [range(chans)] + [[c for c in range(chans) if c >> bit & 1] for bit in range((chans - 1).bit_length())]
    job = {"input": {"files": file}, "dedisperse": [
        {"dm": {"list": [0]}, "backend": "cpu", "mask": [c for c in range(chans) if c not in subset],
         "file": scratch(f"{name}.{i}.h5")} for i, subset in enumerate(subsets)]}
    for entry in job["dedisperse"]:
        if not entry["mask"]:
            del entry["mask"]
    with open(scratch(name + ".yaml"), "w") as file:
        file.writelines(f"{key}: {yaml(value)}\n" for key, value in job.items())
    status, said = voltmill("run", scratch(name + ".yaml"))
    if not ok(status == 0, f"{name}: read", f"exit {status}: {said}"):
        return
    for i, (subset, entry) in enumerate(zip(subsets, job["dedisperse"])):
        with h5py.File(entry["file"], "r") as found:
            series = found["dedispersed"][0]
            if i == 0:
                rows = [len(values), *several]
                ok(len(series) in rows, f"{name}: spectra", f"found {len(series)}, expected {rows}")
                ok(np.isclose(found.attrs["time_step"], tsamp, rtol=1e-9), f"{name}: one every {tsamp} s",
                   f"found {found.attrs['time_step']}")
                ok(np.allclose(found["provenance/frequency"][()], freq, rtol=1e-12), f"{name}: frequencies",
                   f"found {found['provenance/frequency'][()]}, expected {freq}")
                began = (found.attrs.get("start_mjd_day"), found.attrs.get("start_second"))
                if start:
                    second = began[1] + found.attrs["first_time"] - tsamp / 2
                    ok(began[0] == start[0] and abs(second - start[1]) < 1e-6, f"{name}: start {start}",
                       f"found {began[0]}, {second}")
                else:
                    ok(began == (None, None), f"{name}: no start, since none is said", f"found {began}")
            expected = values[:, subset].sum(axis=1)[:len(series)]
            ok(np.allclose(series, expected, rtol=2e-6, atol=2e-6 * max(1, np.abs(values).max()) * len(subset)),
               f"{name}: the sums of {len(subset)} of its channels", f"found {series[:4]}, expected {expected[:4]}")
    speaks(name, said, assumed)


# ---- GUPPI RAW: [chan][time][pol][re, im] of int8

def cards(text):
    found = {}
    for i in range(0, len(text), 80):
        value = text[i + 10:i + 80].decode().split("/")[0].strip()
        found[text[i:i + 8].decode().strip()] = value.strip("' ") if value.startswith("'") else value
    return found


def guppi(*names, sizes=None):
    """Headers and samples [pol][chan][time] of all blocks."""
    heads, blocks = [], []
    for name in names:
        data, where = content(name), 0
        while data[where:where + 7] == b"BACKEND":
            end = re.compile(rb"END {77}").search(data, where)
            head = cards(data[where:end.start()])
            size = int(head["BLOCSIZE"])
            stored = np.frombuffer(data[end.end():end.end() + size], "i1").astype("f8").reshape(4, -1, 2, 2)
            heads.append(head)
            blocks.append((stored[..., 0] + 1j * stored[..., 1]).transpose(2, 0, 1))
            where = end.end() + size
    return heads, np.concatenate(blocks, axis=2)


GUPPI = {"rate": 1e6, "start": (58000, 1000.0), "freq": 1e6 * np.array([1398.5, 1399.5, 1400.5, 1401.5])}


@case("G03", "G05", "G17")
def guppi_plain(name):
    """Junk behind the last block, Fortran's exponents, a shorter last block."""
    heads, volts = guppi(name + ".raw")
    count = {"G03": 3 * 256, "G05": 3 * 256, "G17": 3 * 256 + 100}[name]
    assert volts.shape == (2, 4, count), volts.shape
    voltages(name, name + ".raw", volts, **GUPPI, said="junk|bytes|3000" if name == "G03" else "")


@case("G30_2")
def guppi_counts_samples(name):
    voltages(name, name + ".raw", guppi(name + ".raw")[1], **GUPPI)


@case("G31")
def guppi_sequence(name):
    files = [f"{name}.0000.raw", f"{name}.0001.raw"]
    voltages(name, files, guppi(*files)[1], **GUPPI)


@case("G37")
def guppi_without_count(name):
    voltages(name, name + ".raw", guppi(name + ".raw")[1], **GUPPI, assumed="PKTIDX")


@case("G38")
def guppi_lost_block(name):
    heads, volts = guppi(name + ".raw")
    missing = np.zeros(volts.shape, bool)
    for i, head in enumerate(heads):
        missing[:, :, 256 * i:256 * (i + 1)] = int(head["NDROP"]) > 0
    assert np.count_nonzero(missing[0, 0]) == 256
    voltages(name, name + ".raw", volts, missing=missing, **GUPPI)


@case("G40")
def guppi_early(name):
    heads, volts = guppi(name + ".raw")
    before = (int(heads[0]["PKTSTART"]) - int(heads[0]["PKTIDX"])) * 16
    voltages(name, name + ".raw", volts, **{**GUPPI, "start": (58000, 1000.0 - before / 1e6)})


# ---- PSRDADA

def dada(name, size=None):
    data = content(name)[4096:]
    data = data[:size] if size else data[:len(data) // 4 * 4]
    stored = np.frombuffer(data, "i1").astype("f8").reshape(-1, 2, 2)
    return (stored[..., 0] + 1j * stored[..., 1]).T[:, None]


DADA = {"rate": 16e6, "start": (56475, 5860.0), "freq": [320e6]}


@case("D02")
def dada_filling(name):
    voltages(name, name + ".dada", dada(name + ".dada", 4000), **DADA, assumed="FILE_SIZE")


@case("D03")
def dada_detected(name):
    refused(name, "stokes_ef.dada", "TSAMP|BW|NDIM|NPOL|detected")


@case("D04b")
def dada_undersampled(name):
    refused(name, name + ".dada", "TSAMP", "BW")


@case("D20_9")
def dada_finer_start(name):
    voltages(name, name + ".dada", dada(name + ".dada"), **{**DADA, "start": (56475, 5860.625)}, within=9e-5)


@case("D21")
def dada_overlap(name):
    first, second = dada(name + "_0.dada"), dada(name + "_1.dada")
    assert np.array_equal(first[..., -200:], second[..., :200]) or first.shape[-1] == 2000
    volts = np.concatenate([first[..., :1800], second], axis=2)
    assert volts.shape[-1] == 3000
    voltages(name, [name + "_0.dada", name + "_1.dada"], volts, **DADA)


@case("D22_0")
def dada_edge(name):
    """0 Hz is the band's edge: what is stored is turned by half of the rate, and its tone lies at 323 MHz."""
    stored = dada(name + ".dada")
    volts = stored * (-1.0) ** np.arange(stored.shape[-1])
    power = np.abs(np.fft.fftshift(np.fft.fft(volts[0, 0]))) ** 2
    hertz = 320e6 + (np.arange(len(power)) - len(power) // 2) * 16e6 / len(power)
    assert abs(hertz[power.argmax()] - 323e6) < 16e6 / len(power)
    voltages(name, name + ".dada", volts, **DADA)


# ---- VDIF: words of 32 bits, numbers from the low bits on

def vdif(name, size, channels=1, bits=2, invalid=lambda words: words[0] >> 31, masked=False):
    """[thread][chan][time] by the frames' own numbers from the first valid one of second 100 on, and what is missing."""
    data, frames = content(name), {}
    for i in range(0, len(data), size):
        words = struct.unpack_from("<8I", data, i)
        if not invalid(words):
            frames[words[3] >> 16 & 1023, words[0] & 0x3fffffff, words[1] & 0xffffff] = (words, data[i + 32:i + size])
    threads = sorted({thread for thread, _, _ in frames})
    a_second = 1 + max(number for _, _, number in frames)
    places = {key: (key[1] - 100) * a_second + key[2] for key in frames}
    first, last = min(places.values()), max(places.values())
    each = (size - 32) * 8 // bits // channels
    volts = np.zeros((len(threads), channels, (last - first + 1) * each))
    missing = np.ones(volts.shape, bool)
    for key, (words, body) in frames.items():
        where = slice((places[key] - first) * each, (places[key] - first + 1) * each)
        if bits == 2:
            codes = (np.frombuffer(body, "u1")[:, None] >> np.array([0, 2, 4, 6])) & 3
            numbers = LEVELS2[codes].reshape(-1, channels)
        else:
            numbers = np.frombuffer(body, "<u4").astype("f8").reshape(-1, channels) - 2.0 ** 31
        volts[key[0], :, where] = numbers.T
        missing[key[0], :, where] = [[masked and not words[6] >> channel & 1] for channel in range(channels)]
    return {"volts": volts, "missing": missing}, first


@case("V03b")
def vdif_invalid_first(name):
    """The first frames are invalid, with wrong seconds."""
    found, first = vdif(name + ".vdif", 288)
    assert first == 1 and found["volts"].shape[-1] == 31 * 1024
    voltages(name, name + ".vdif", **found, rate=MOCK_RATE, start=(EPOCH_2014, 100.001), layout={"sample_rate_hz": MOCK_RATE})


@case("V06", "V06b")
def vdif_mask(name):
    """A mask of valid channels, and a rate that the file alone tells."""
    found, _ = vdif("V06.vdif", 1056, channels=4, masked=True)
    channel, when = np.nonzero(found["missing"][0])
    assert set(channel) == {2} and when[0] == 40960 and len(when) == 10240
    layout = {"freq_hz": [1e6, 2e6, 3e6, 4e6], **({"sample_rate_hz": 102400} if name == "V06" else {})}
    voltages(name, "V06.vdif", **found, rate=102400, start=(EPOCH_2014, 100.0), layout=layout, freq=layout["freq_hz"])


@case("V10")
def vdif_of_32_bits(name):
    found, _ = vdif(name + ".vdif", 288, bits=32)
    voltages(name, name + ".vdif", **found, rate=64e3, start=(EPOCH_2014, 100.0), layout={"sample_rate_hz": 64e3},
             tolerance=2 ** -23)


@case("V12", "V28b")
def vdif_junk_headers(name):
    """Frames flagged invalid whose other words are 0 or junk: what they stand for is missing."""
    found, _ = vdif(name + ".vdif", 288)
    assert np.count_nonzero(found["missing"][0]) == {"V12": 4, "V28b": 2}[name] * 1024
    voltages(name, name + ".vdif", **found, rate=MOCK_RATE, start=(EPOCH_2014, 100.0), layout={"sample_rate_hz": MOCK_RATE})


@case("V32")
def vdif_counted(name):
    """The last frame of each second is lost: what was counted is said."""
    found, _ = vdif(name + ".vdif", 288)
    voltages(name, name + ".vdif", **found, rate=9 * 1024, start=(EPOCH_2014, 100.0), assumed="count")


# ---- LWA DRX: 4 + 4 bits, the first the real part

@case("X06")
def drx(name):
    """100 bytes of zeros between two packets."""
    data = content(name + ".dat")
    packets, places = {}, []
    for found in re.finditer(rb"\xde\xc0\xde\x5c", data):
        ident, tag = data[found.start() + 4], struct.unpack_from(">Q", data, found.start() + 16)[0]
        packets[(ident >> 7, (ident >> 3 & 7) - 1, tag)] = data[found.start() + 32:found.start() + 4128]
        places.append(found.start())
    assert len(packets) == 32 and sum(np.diff(places) != 4128) == 1
    tags = sorted({tag for _, _, tag in packets})
    volts = np.zeros((2, 2, len(tags) * 4096), complex)
    missing = np.ones(volts.shape, bool)
    for (pol, tuning, tag), body in packets.items():
        parts = np.frombuffer(body, "u1").astype("i4")
        where = slice(tags.index(tag) * 4096, (tags.index(tag) + 1) * 4096)
        volts[pol, tuning, where] = ((parts >> 4 ^ 8) - 8) + 1j * ((parts & 15 ^ 8) - 8)
        missing[pol, tuning, where] = False
    ticks = tags[0] - 6440
    seconds, rest = divmod(ticks, 196000000)
    voltages(name, name + ".dat", volts, missing=missing, rate=19.6e6, freq=[40e6, 70e6],
             start=(40587 + seconds // 86400, seconds % 86400 + rest / 196e6), layout={"freq_hz": [40e6, 70e6]}, said="100 bytes")


# ---- SIGPROC

def fil(name, chans=16, bits=8):
    data = content(name)
    data = np.frombuffer(data[data.index(b"HEADER_END") + 10:], "u1")
    if bits == 4:
        data = np.stack([data & 15, data >> 4], axis=-1).ravel()
    return data.reshape(-1, chans).astype("f8")


BAND = 1e6 * (1500.0 - np.arange(16))


def tstart(name):
    data = content(name)
    found = re.search(rb"\x06\0\0\0tstart", data)
    return (int((value := struct.unpack_from("<d", data, found.end())[0])), value % 1 * 86400) if found else None


@case("S01b")
def fil_cut(name):
    filterbank(name, name + ".fil", fil(name + ".fil"), BAND, tstart(name + ".fil"), assumed="nsamples", several=[32])


@case("S04", "S05", "S11b")
def fil_words(name):
    """Keywords of others, a table of frequencies, an empty name."""
    filterbank(name, name + ".fil", fil(name + ".fil"), BAND, tstart(name + ".fil"))


@case("S08x")
def fil_half_bytes(name):
    """One channel, of which there is nothing to dedisperse: what `info` says of it."""
    status, said = voltmill("info", "--json", name + ".fil")
    if ok(status == 0, f"{name}: read", f"exit {status}: {said}"):
        found = json.loads(said[said.index("{"):])
        start = tstart(name + ".fil")
        for key, value in {"rows": fil(name + ".fil", 1, 4).size, "channels": 1, "first_channel_hz": 1500e6, "bits": 4,
                           "time_step_s": 1e-3, "start_mjd_day": start[0], "start_second_s": start[1]}.items():
            ok(found[key] == value, f"{name}: {key} {value}", f"found {found[key]}")


# ---- PSRFITS: the FITS standard, 7.3: values are stored x TSCAL + TZERO

def fits(name):
    """Values [time][chan] and the offset of the first row's centre, s."""
    data, where, units = content(name), 0, []
    while where < len(data):
        end = next(i for i in range(where, len(data), 80) if data[i:i + 8] == b"END     ")
        keys = cards(data[where:end])
        where += -(-(end + 80 - where) // 2880) * 2880
        size = int(keys.get("NAXIS1", 0)) * int(keys.get("NAXIS2", 0))
        units.append((keys, data[where:where + size]))
        where += -(-size // 2880) * 2880
    keys, table = units[1]
    rows = np.frombuffer(table, "u1").reshape(int(keys["NAXIS2"]), int(keys["NAXIS1"]))
    place, columns = 0, {}
    for i in range(1, int(keys["TFIELDS"]) + 1):
        count, kind = re.match(r"(\d+)([A-Z])", keys[f"TFORM{i}"]).groups()
        kind = {"D": ">f8", "E": ">f4", "I": ">i2", "B": "u1"}[kind]
        size = int(count) * np.dtype(kind).itemsize
        stored = np.ascontiguousarray(rows[:, place:place + size]).view(kind).astype("f8")
        columns[keys[f"TTYPE{i}"]] = stored * float(keys.get(f"TSCAL{i}", 1)) + float(keys.get(f"TZERO{i}", 0))
        place += size
    each = columns["DATA"].reshape(len(rows), 16, 16)
    scale, offset, weight = (columns.get(word, np.full((len(rows), 16), usual))[:, None]
                             for word, usual in (("DAT_SCL", 1), ("DAT_OFFS", 0), ("DAT_WTS", 1)))
    return ((each * scale + offset) * weight).reshape(-1, 16), columns["OFFS_SUB"][0, 0]


@case("P01", "P01d", "P07b", "P09", "P09c", "P10")
def psrfits(name):
    """Cards that are unset, offsets that are all 0, TZERO, TSCAL, missing columns."""
    values, centre = fits(name + ".fits")
    second = 1000 + (0 if name == "P01d" else 0.25) + (10 * 0.016 if name == "P07b" else centre - 0.008)
    assumed = {"P01d": "STT_OFFS", "P07b": "NSUBOFFS", "P10": "DAT_SCL|DAT_WTS|DAT_OFFS"}
    filterbank(name, name + ".fits", values, BAND, (58000, second), assumed=assumed.get(name, ""))


# ---- HDF5

@case("F04", "F06")
def fbh5(name):
    with h5py.File(at(name + ".h5"), "r") as file:
        values = file["data"][()].astype("f8").reshape(64, 32)
        start = file["data"].attrs["tstart"]
    filterbank(name, name + ".h5", values, 1e6 * (1500.0 - np.arange(32)), (int(start), start % 1 * 86400))


@case("H03d")
def digital_rf_filled(name):
    """A continuous writer fills what it lacks."""
    folder = at("drf_cont", "ch0", "2023-11-14T22-00-00")
    stored, index = [], []
    for file_name in sorted(os.listdir(folder)):
        with h5py.File(os.path.join(folder, file_name), "r") as file:
            stored.append(file["rf_data"][()][:, 0])
            index.append(int(file["rf_data_index"][0, 0]))
    stored = np.concatenate(stored)
    volts = (stored["r"] + 1j * stored["i"].astype("f8"))[None, None]
    missing = ((stored["r"] == -32768) & (stored["i"] == -32768))[None, None]
    assert np.count_nonzero(missing) == 4000
    first = index[0] * 3 / 100000
    voltages(name, "drf_cont", volts, missing=missing, rate=100000 / 3, start=(40587 + int(first) // 86400, first % 86400),
             within=1e-6, assumed="fill|missing|continuous|-32768")


@case("M03")
def meerkat_late(name):
    """The first heap never came: its time stamps are 0."""
    with h5py.File(at(name + ".h5"), "r") as file:
        stored, stamps = file["Data/bf_raw"][()].astype("f8"), file["Data/timestamps"][()]
    volts = (stored[..., 0] + 1j * stored[..., 1])[None]
    missing = np.broadcast_to(stamps == 0, volts.shape)
    assert np.count_nonzero(missing[0, 0]) == 256
    layout = {"format": "meerkat", "sample_rate_hz": 208984.375, "start": "2023-11-14T22:13:20",
              "freq_hz": {"start": 856e6, "step": 208984.375}}
    voltages(name, name + ".h5", volts, missing=missing, rate=208984.375, start=(60262, 80000.0), layout=layout,
             freq=856e6 + 208984.375 * np.arange(16))


def main():
    if not os.path.exists(at("CASES.tsv")):
        skip_all(f"{CASES} is not here (it is not part of the project)")
    with open(at("CASES.tsv"), newline="") as file:
        rows = [row["id"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    for name in rows:
        if name not in CHECKS:
            ok(False, f"{name}: a row of CASES.tsv without a check")
            continue
        try:
            CHECKS[name](name)
        except Exception as failure:  # the next is tried all the same
            ok(False, f"{name}: looked at", f"{type(failure).__name__}: {failure}")
    note(f"{len(rows)} rows")
    finish()


main()
