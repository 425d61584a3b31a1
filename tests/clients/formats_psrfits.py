"""PSRFITS as FITS allows it, and headers that leave things open or contradict themselves: numbers, starts and
frequencies beside numpy, what is stated as assumed, and what is refused."""
import gzip
import json
import shutil
import subprocess

import h5py
import numpy as np

from common import VOLTMILL, finish, note, ok, same, scratch, voltmill, write_yaml
from mocks.filterbanks import TSAMP, fits_columns, write_fits

random = np.random.default_rng(41)
ROWS, NSBLK, CHANS = 4, 40, 16
LENGTH = NSBLK * TSAMP
START = 4000.125
STEPS = NSBLK * np.arange(ROWS)


def numbers(bits, signed, pols):
    low = -2 ** (bits - 1) if signed else 0
    return random.integers(low, low + 2 ** bits, (ROWS, NSBLK, pols, CHANS))


class File:
    """A mock with its numbers; what a test changes of it goes to write_fits()."""

    def __init__(self, bits=8, signed=0, pols=1, starts=STEPS, **words):
        self.stored = numbers(bits, signed or bits == 16, pols)
        self.bits, self.signed, self.zero = bits, signed, words.pop("zero", 0.0)
        self.scale = random.uniform(0.5, 2, (ROWS, pols, CHANS)).astype("f4").astype("f8")
        self.offset = random.normal(0, 3, (ROWS, pols, CHANS)).astype("f4").astype("f8")
        self.weight = random.uniform(0.5, 1, (ROWS, CHANS)).astype("f4").astype("f8")
        self.starts, self.words = starts, words

    def columns(self):
        return fits_columns(self.stored, self.bits, self.scale, self.offset, self.weight, self.starts, self.signed)

    def write(self, name="t.fits"):
        return write_fits(scratch(name), self.stored, self.bits, self.scale, self.offset, self.weight, self.starts,
                          self.signed, self.zero, **self.words)

    def values(self, scale=None, offset=None, weight=None, stored=None):
        """[time][pol][chan]"""
        stored = self.stored if stored is None else stored
        scale, offset = (old if new is None else new for old, new in ((self.scale, scale), (self.offset, offset)))
        weight = self.weight if weight is None else weight
        found = ((stored - self.zero) * scale[:, None] + offset[:, None]) * weight[:, None, None]
        return found.reshape(-1, *found.shape[2:])


def info(path):
    told = voltmill("info", "--json", path)
    return json.loads(told[told.index("{"):])


def reads(name, file, expected=None, assumed=(), path=None, second=START, first=1400.0, last=1385.0, **what):
    """The sum of all channels is that of `expected` (none: what the file stores), `info` tells start and frequencies,
    and as many assumptions as `assumed` has words, each with its word."""
    path = path or file.write()
    job = {"input": {"files": path}, "dedisperse": {"dm": [0.0], "file": "out.h5", **what}}
    said = voltmill("run", "--force", write_yaml("job.yaml", job))
    with h5py.File(scratch("out.h5")) as out:
        sums = out["dedispersed"][0]
        kept = out["provenance"].attrs.get("assumed", b"")
    wanted = (file.values() if expected is None else expected).sum(axis=(1, 2))
    ok(sums.shape == wanted.shape and abs(sums - wanted).max() <= 1e-6 * abs(wanted).max(), f"{name}: its numbers",
       sums[:4], wanted[:4])
    told = info(path)
    ok(abs(told["start_second_s"] - second) < 1e-9, f"{name}: its start", told["start_second_s"], second)
    ok(abs(told["first_channel_hz"] - 1e6 * first) < 1 and abs(told["last_channel_hz"] - 1e6 * last) < 1,
       f"{name}: its band", told["first_channel_hz"], told["last_channel_hz"])
    lines = told["assumed"]
    ok(len(lines) == len(assumed) and all(any(word in line for line in lines) for word in assumed),
       f"{name}: what is assumed", lines)
    kept = kept.decode() if isinstance(kept, bytes) else kept
    same(kept.split("\n") if kept else [], lines, f"{name}: the product keeps it")
    ok(all(f"assumed: {path}: {line}" in said for line in lines), f"{name}: run prints it", said)


def refuses(name, file, *words):
    said = voltmill("info", file if isinstance(file, str) else file.write(), status=4)
    ok(said.startswith("error:") and said.count("\n") == 1 and all(word in said for word in words),
       f"{name}: refused", said)


def scaled(kind, letter, values, scale, zero):
    """A column that stores values by TSCAL and TZERO, and the values that it then has."""
    stored = np.rint((values - zero) / scale).astype(kind)
    return (f"{stored[0].size}{letter}", stored), stored.astype("f8") * scale + zero


def columns_with_scales():
    file = File(bits=16, table={"TZERO7": 32768, "TSCAL7": 1})
    reads("16 bits unsigned by TZERO", file, file.values(stored=file.stored + 32768.0), ["SIGNINT 1"])
    ok("16 bit unsigned" in voltmill("info", file.write()), "info calls them unsigned")
    file = File(table={"TZERO7": -128})
    reads("bytes signed by TZERO", file, file.values(stored=file.stored - 128.0), ["SIGNINT 0"])
    ok("8 bit signed" in voltmill("info", file.write()), "info calls them signed")
    file = File(bits=16, table={"TZERO7": "1.5D2", "TSCAL7": -0.25}, zero=3.0)
    file.words["table"]["TZERO7"] = b"=                1.5D2"
    reads("DATA with TSCAL, TZERO and ZERO_OFF", file, file.values(stored=-0.25 * file.stored + 150))
    file = File(bits=32, table={"TSCAL7": 2.0, "TZERO7": -1.0})
    file.stored = random.normal(3, 2, file.stored.shape).astype("f4").astype("f8")
    reads("floats with TSCAL", file, file.values(stored=2 * file.stored - 1))
    refuses("TZERO of packed samples", File(bits=4, table={"TZERO7": -8}), "NBITS is 4", "TZERO7 -8")
    refuses("TSCAL of 0", File(table={"TSCAL6": 0.0}), "TSCAL6 = 0", "DAT_SCL")

    names = "DAT_FREQ", "DAT_WTS", "DAT_OFFS", "DAT_SCL"
    for kind, letter, scale in (">i4", "J", 2.0 ** -20), (">i2", "I", 2.0 ** -9), (">f8", "D", 0.5), (">i8", "K", 1e-9), \
            (">f4", "E", 2.0):
        file = File()
        found, columns, table = {}, {}, {}
        for i, (name, values) in enumerate(zip(names, (np.tile(1400.0 - np.arange(CHANS), (ROWS, 1)), file.weight,
                                                       file.offset, file.scale))):
            zero = 1400 if name == "DAT_FREQ" else -1.0
            columns[name], found[name] = scaled(kind, letter, values, scale if i else 0.5, zero)
            table.update({f"TSCAL{i + 3}": scale if i else 0.5, f"TZERO{i + 3}": zero})
        if letter in "ED":  # these store any number
            columns["DAT_SCL"] = (columns["DAT_SCL"][0], ((file.scale + 1) / scale).astype(kind))
            found["DAT_SCL"] = columns["DAT_SCL"][1].astype("f8") * scale - 1
        file.words = {"columns": columns, "table": table}
        reads(f"scales stored as {letter} with TSCAL and TZERO", file,
              file.values(found["DAT_SCL"], found["DAT_OFFS"], found["DAT_WTS"]))
    milliseconds = np.rint((STEPS + NSBLK / 2) * TSAMP * 1e3)
    for letter, kind in ("J", ">i4"), ("E", ">f4"):
        reads(f"OFFS_SUB in milliseconds ({letter})", File(columns={"OFFS_SUB": (f"1{letter}", milliseconds.astype(kind))},
                                                           table={"TSCAL1": 1e-3}))
    refuses("a column of texts", File(columns={"DAT_WTS": ("64A", np.full((ROWS, 64), 65, "u1"))}), "DAT_WTS", "type A")


def cards():
    for key, value in ("ZERO_OFF", 0.0), ("SIGNINT", 0):
        for unset in "*", "", None, b"=":
            file = File(table={key: unset})
            reads(f"{key} = {unset}", file, None, [f"no {key}"])
    for unset in "*", "", None:
        reads(f"STT_OFFS = {unset}", File(first={"STT_OFFS": unset}), None, ["no STT_OFFS"], second=4000.0)
        reads(f"OBS_MODE = {unset}", File(first={"OBS_MODE": unset}), None, ["no OBS_MODE"])
        reads(f"CHAN_BW = {unset}", File(table={"CHAN_BW": unset}), None, ["no CHAN_BW"])
        reads(f"NSUBOFFS = {unset}", File(table={"NSUBOFFS": unset}))
        refuses(f"NCHAN = {unset}", File(table={"NCHAN": unset}), "has no NCHAN")
        reads(f"STT_IMJD = {unset}", File(first={"STT_IMJD": unset, "DATE-OBS": "2017-09-04T01:06:40.125"}), None,
              ["no STT_IMJD", ] if unset is None else ["STT_IMJD"])
    told = info(File(first={"STT_IMJD": 99999}).write())
    ok(told["start_utc"] is None and "MJD 99999" in str(told["assumed"]), "STT_IMJD 99999: the start is unknown", told)
    told = info(File(first={"STT_SMJD": "*"}).write())
    ok(told["start_utc"] is None and "start is unknown" in str(told["assumed"]), "no STT_SMJD, no DATE-OBS", told)
    file = File(pols=2, table={"POL_TYPE": "*"})
    reads("POL_TYPE = *", file, file.values()[:, :1], ["no POL_TYPE"], pols=[0])
    long = b"= 'a source with &'", b"  'a long &'", b"  'name'"
    file = File(first={"SRC_NAME": long[0]})
    path = file.write()
    with open(path, "r+b") as bytes_of:
        text = bytes_of.read(2880)
        at = text.index(b"SRC_NAME")
        more = b"".join(b"CONTINUE" + line.ljust(72) for line in long[1:])
        bytes_of.seek(0)
        bytes_of.write((text[:at + 80] + more + text[at + 80:])[:2880])
    reads("a text in several cards", file, path=path)
    same(info(path)["source"], "a source with a long name", "CONTINUE")
    reads("Fortran's exponent", File(table={"TBIN": b"=                 1.0D-3"}))
    twice = File().write("twice.fits")
    with open(twice, "r+b") as bytes_of:
        text = bytes_of.read()
        bytes_of.seek(text.index(b"ZERO_OFF"))
        bytes_of.write(b"NCHAN   = 8".ljust(80))
    refuses("NCHAN twice", twice, "NCHAN = 16", "NCHAN = 8")
    refuses("NBITS is a word", File(table={"NBITS": "eight"}), "NBITS = eight")
    refuses("more columns than FITS allows", File(table={"TFIELDS": 2147483647}), "TFIELDS", "2147483647", "999")


def missing_columns():
    one, none = np.ones((ROWS, 1, CHANS)), np.zeros((ROWS, 1, CHANS))
    file = File(columns={"DAT_SCL": None, "DAT_OFFS": None, "DAT_WTS": None})
    reads("no DAT_SCL, DAT_OFFS, DAT_WTS", file, file.values(one, none, one[:, 0]), ["DAT_SCL", "DAT_OFFS", "DAT_WTS"])
    file = File()
    file.weight[2, 5], file.weight[1, 3] = -1, -0.25
    reads("weights below 0", file, None, ["DAT_WTS goes down to -1: values are multiplied by weights below 0"])
    file = File(pols=2, columns={"DAT_SCL": None})
    reads("no DAT_SCL", file, file.values(np.ones((ROWS, 2, CHANS))), ["no column DAT_SCL: 1"])
    file = File(columns={"DAT_OFFS": None})
    reads("no DAT_OFFS", file, file.values(offset=none), ["no column DAT_OFFS: 0"])
    file = File()
    file.scale = none
    reads("DAT_SCL of zeros", file, file.values(one), ["DAT_SCL is 0"])
    file.scale = np.concatenate([none[:1], one[1:]])
    reads("DAT_SCL of zeros in one row", file)
    refuses("no DATA", File(columns={"DATA": None}), "no column DATA")
    refuses("DAT_SCL of other length", File(columns={"DAT_SCL": ("8E", np.ones((ROWS, 8), ">f4"))}), "DAT_SCL", "8 elements",
            "NCHAN is 16")


def bands():
    zero = {"DAT_FREQ": (f"{CHANS}E", np.zeros((ROWS, CHANS), ">f4"))}
    about = {"OBSFREQ": 1392.5, "OBSBW": -16.0, "OBSNCHAN": 16}
    reads("good facts of the band", File(first=about))
    reads("DAT_FREQ of zeros", File(first=about, columns=zero), None, ["CHAN_BW, -1 MHz"])
    reads("no DAT_FREQ", File(first=about, columns={"DAT_FREQ": None}), None, ["no column DAT_FREQ"])
    reads("no DAT_FREQ, no CHAN_BW", File(first=about, columns=zero, table={"CHAN_BW": "*"}), None, ["OBSBW / NCHAN"])
    reads("OBSBW without its sign", File(first={**about, "OBSBW": 16.0}, columns=zero), None,
          ["CHAN_BW", "different signs"])
    refuses("neither", File(columns=zero), "OBSFREQ", "CHAN_BW")
    refuses("two widths", File(first={**about, "OBSBW": -32.0}, columns=zero), "CHAN_BW -1", "OBSBW -32")
    refuses("no width of NCHAN", File(first={**about, "OBSNCHAN": 32}, columns=zero, table={"CHAN_BW": 0.0}),
            "OBSNCHAN 32", "NCHAN is 16")
    for key, value in ("OBSFREQ", 1500.0), ("OBSBW", 16.0), ("OBSBW", -64.0), ("OBSNCHAN", 64):
        reads(f"{key} {value}", File(first={**about, key: value}), None, [f"{key} {value:g}"])
    reads("CHAN_BW of other sign", File(first=about, table={"CHAN_BW": 1.0}), None, ["CHAN_BW 1 MHz"])
    reads("CHAN_BW that was cut", File(first=about, table={"CHAN_BW": -0.99}), None, ["CHAN_BW -0.99 MHz"])
    for width in -2.0, -0.5:
        refuses(f"CHAN_BW {width}", File(table={"CHAN_BW": width}), f"CHAN_BW is {width:g}", "grows by -1")
    mhz = np.tile(1400.0 - np.arange(CHANS), (ROWS, 1)).astype(">f4")
    drifts = (mhz + 0.01 * np.arange(ROWS)[:, None]).astype(">f4")
    reads("DAT_FREQ that drifts", File(columns={"DAT_FREQ": (f"{CHANS}E", drifts)}))
    mhz[ROWS - 1] += 1
    refuses("DAT_FREQ of the last row", File(columns={"DAT_FREQ": (f"{CHANS}E", mhz)}), "row 3", "1401 MHz")


def times():
    length = {"TSUBINT": ("1D", np.full(ROWS, LENGTH, ">f8"))}
    zero = {"OFFS_SUB": ("1D", np.zeros(ROWS, ">f8"))}
    reads("OFFS_SUB 0, NSUBOFFS", File(columns={**zero, **length}, table={"NSUBOFFS": 10}), None, ["NSUBOFFS"],
          second=START + 10 * LENGTH)
    reads("OFFS_SUB 0, no NSUBOFFS", File(columns=zero), None, ["no NSUBOFFS"])
    reads("no OFFS_SUB", File(columns={"OFFS_SUB": None}, table={"NSUBOFFS": 2.0}), None, ["no column OFFS_SUB"],
          second=START + 2 * LENGTH)
    later = STEPS + 3 * NSBLK
    reads("OFFS_SUB that goes on", File(starts=later, table={"NSUBOFFS": 3}, columns=length), second=START + 3 * LENGTH)
    reads("NSUBOFFS that does not", File(starts=later, table={"NSUBOFFS": 0}), None, ["NSUBOFFS 0 and OFFS_SUB"],
          second=START + 3 * LENGTH)
    reads("OFFS_SUB of begins", File(starts=STEPS - NSBLK / 2), None, ["less than half"])
    holes = STEPS + NSBLK / 2
    reads("OFFS_SUB of one row is 0", File(columns={"OFFS_SUB": ("1D", (holes * TSAMP * [1, 1, 0, 1]).astype(">f8"))}), None,
          ["OFFS_SUB of 1 rows"])
    for start, before in (START, 0), (START + 3 * LENGTH, 3 * NSBLK):
        centres = (holes + before) * TSAMP * [0, 1, 1, 1]
        reads("OFFS_SUB of the first row is 0", File(columns={"OFFS_SUB": ("1D", centres.astype(">f8"))}), None,
              ["OFFS_SUB of the first row is 0, that of the second"], second=start)
    refuses("OFFS_SUB that falls", File(starts=STEPS[::-1] + 5), "OFFS_SUB grows by -0.04 s")
    refuses("rows that overlap", File(starts=[0, 40, 60, 120]), "row 2", "60 spectra", "expected 80", "OFFS_SUB")
    file = File(table={"NAXIS2": 2 * ROWS})
    reads("NAXIS2 of twice the rows", file, None, [f"NAXIS2 says {2 * ROWS} rows of SUBINT, but the file ends after {ROWS}"])
    file = File()
    path = file.write("rest.fits")
    with open(path, "ab") as rest:
        rest.write(b"\1" * 5760)
    reads("bytes after the table", file, None, [f"NAXIS2 says {ROWS} rows of SUBINT, and the file has 5760 bytes after"], path=path)
    killed = [f"NAXIS2 says 0 rows of SUBINT, as if its writer was killed, and the file has {ROWS} whole ones"]
    file = File(table={"NAXIS2": 0})
    reads("NAXIS2 of 0", file, None, killed)
    with open(file.write(), "rb") as written:
        content = written.read()
    head = content[:content.rindex(b"END" + b" " * 77) // 2880 * 2880 + 2880]
    row = int(head[head.rindex(b"NAXIS1  ="):][10:30])
    for name, bytes_of in (("torn", content[:len(head) + 3 * row + row // 2]), ("none", head),
                           ("next", head + b"XTENSION= 'BINTABLE'".ljust(2 * row))):
        with open(scratch(f"{name}.fits"), "wb") as out:
            out.write(bytes_of)
    reads("NAXIS2 of 0, a torn row", file, file.values()[:3 * NSBLK], [killed[0].replace(f"{ROWS} whole", "3 whole")],
          path=scratch("torn.fits"))
    for name in "none", "next":
        refuses(f"NAXIS2 of 0, {name}", scratch(f"{name}.fits"), "NAXIS2 says 0 rows of SUBINT, and the file has none")
    for factor in 0.5, 2:
        refuses(f"TBIN times {factor}", File(table={"TBIN": TSAMP * factor}), "TBIN", "OFFS_SUB")
        refuses(f"TBIN times {factor}, TSUBINT", File(table={"TBIN": TSAMP * factor}, columns={**length, **zero}), "TBIN",
                "TSUBINT")
        other = {"TSUBINT": ("1D", np.full(ROWS, factor * LENGTH, ">f8"))}
        reads(f"TSUBINT times {factor}", File(columns=other), None, ["TSUBINT of 4 rows"])
    cut = {"TSUBINT": ("1D", (LENGTH * np.array([1, 1, 1, 0.5])).astype(">f8"))}
    reads("TSUBINT of the last row", File(columns={**cut, **zero}), None, ["TSUBINT of 1 rows", "OFFS_SUB does not grow"])
    reads("TSUBINT 0", File(columns={"TSUBINT": ("1D", np.zeros(ROWS, ">f8"))}), None, ["TSUBINT of 4 rows"])
    date = {"DATE-OBS": "2017-09-04T01:06:40"}
    reads("DATE-OBS of whole seconds", File(first=date))
    reads("DATE-OBS of milliseconds", File(first={"DATE-OBS": "2017-09-04T01:06:40.125"}))
    reads("DATE-OBS, the day", File(first={"DATE-OBS": "2017-09-04"}))
    for text in "2017-09-04T01:06:43", "2017-09-04T01:06:40.500", "2017-09-06", "2018-09-04T01:06:40":
        reads(f"DATE-OBS {text}", File(first={"DATE-OBS": text}), None, [f"DATE-OBS {text}"])
    for key in "STT_IMJD", "STT_SMJD":
        reads(f"no {key}", File(first={key: None, **date}), None, ["DATE-OBS 2017"], second=4000.0)
    reads("STT_IMJD 0", File(first={"STT_IMJD": 0, **date}), None, ["DATE-OBS 2017"], second=4000.0)
    total = ROWS * NSBLK
    file = File(table={"NSTOT": total - 7})
    reads("NSTOT leaves filling", file, file.values()[:-7])
    reads("NSTOT", File(table={"NSTOT": total}))
    for factor in 0.5, 2:
        reads(f"NSTOT times {factor}", File(table={"NSTOT": int(factor * total)}), None, ["NSTOT"])


def shapes():
    for bits, text in (8, "(16,2,40)"), (8, "(1, 16, 2, 40)"), (8, "(1280)"), (4, "(16,2,40)"), (4, "(8,2,40)"), \
            (4, "(1,16,2,20)"):
        file = File(bits=bits, pols=2, table={"TDIM7": text})
        reads(f"{bits} bits, TDIM {text}", file, file.values()[:, :1], pols=[0])
    for bits, text in (1, "(16,2,40)"), (1, "(1280)"), (1, None), (2, None):
        file = File(bits=bits, pols=2, table={"TDIM7": text})
        file.words["columns"] = {"DATA": (f"{1280 * bits}X", file.columns()["DATA"][1])}
        reads(f"{bits} bits in a column of bits, TDIM {text}", file, file.values()[:, :1], pols=[0])
    refuses("weights of bits", File(columns={"DAT_WTS": ("16X", np.full((ROWS, 2), 255, "u1"))}), "DAT_WTS", "type X")
    file = File(pols=2, table={"TDIM7": "(16,2,20)"})
    reads("TDIM of fewer elements", file, file.values()[:, :1], ["TDIM7 (16,2,20)"], pols=[0])
    refuses("TDIM of other order", File(pols=2, table={"TDIM7": "(2,16,40)"}), "TDIM7", "(2,16,40)", "NCHAN is 16")
    for key, value in ("NCHAN", 8), ("NCHAN", 32), ("NPOL", 2), ("NSBLK", 20), ("NSBLK", 80), ("NBITS", 4):
        refuses(f"{key} {value}", File(table={key: value}), f"{key} {value}", "TFORM7")
    refuses("NBITS 16 of bytes", File(table={"NBITS": 16}), "NBITS is 16", "type B")
    refuses("NAXIS1", File(table={"NAXIS1": 1000}), "NAXIS1 = 1000 is not equal to the sum of column widths")
    file = File(table={"POL_TYPE": "AABB"})
    reads("NPOL 1 and POL_TYPE AABB", file, None, ["POL_TYPE AABB"])
    same(info(file.write())["polarisations"], None, "its name is not used")
    refuses("NPOL 2 and POL_TYPE IQUV", File(pols=2, table={"POL_TYPE": "IQUV"}), "NPOL is 2", "IQUV")
    file = File(pols=4, table={"POL_TYPE": "STOKE"})
    reads("POL_TYPE STOKE", file, file.values()[:, 3:], pols=[3])
    same(info(file.write())["polarisations"], "IQUV", "STOKE names all four")
    job = write_yaml("job.yaml", {"input": {"files": file.write()}, "dedisperse": {"dm": [0.0], "file": "out.h5"}})
    ok("a sum with number 1 means nothing" in voltmill("run", "--force", job, status=2), "STOKE is not summed")
    for table, zero, bits, is_signed in (({}, 0.0, 8, 1), ({}, 0.0, 4, 1), ({}, 0.0, 2, 1), ({}, 0.0, 1, 0), ({}, 127.5, 8, 0),
                                         ({"SIGNINT": 1}, 0.0, 16, 0), ({"POL_TYPE": "AABBCRCI"}, 0.0, 8, 1)):
        file = File(bits=bits, pols=4, zero=zero, table=table)
        file.offset *= 0
        wrapped = file.stored - 2 ** bits * (file.stored >= 2 ** (bits - 1)) if is_signed else file.stored
        powers = 2 if "POL_TYPE" in table else 1
        for pol in range(4):
            reads(f"{table.get('POL_TYPE', 'IQUV')} of {bits} bits without offsets, ZERO_OFF {zero}, pol {pol}", file,
                  file.values(stored=file.stored if pol < powers else wrapped)[:, pol:pol + 1],
                  ["are read as signed, as GUPPI"] * is_signed, pols=[pol])
    reads("SIGNINT of 16 bits", File(bits=16, table={"SIGNINT": 0}), None, ["SIGNINT 0"])
    refuses("a compressed table", File(table={"ZTABLE": True}), "ZTABLE", "funpack")


def names():
    file = File()
    made = file.write()
    for name in "a[1].fits", "a.fits[SUBINT]", "a.fits+1", "!a.fits", "~a.fits", " a.fits", "-", "mem:a.fits", "a(b).fits", \
            "a.fits|cat", "b" * 250 + ".fits":
        path = shutil.copy(made, scratch(name))
        reads(f"a file of the name {name[:20]}", file, path=path)
        ok("PSRFITS" in voltmill("info", "./" + name), f"{name[:20]} in this folder")
    with open(made, "rb") as plain, gzip.open(scratch("only.fits.gz"), "wb") as packed:
        packed.write(plain.read())
    for name, word in ("only.fits", "No such file"), ("only.fits.gz", "only.fits.gz"):
        said = voltmill("info", name, status=4)
        ok(said.startswith("error:") and word in said, f"{name} is not uncompressed", said)
    shutil.copy(scratch("only.fits.gz"), scratch("named.fits"))
    said = voltmill("info", "named.fits", status=4)
    ok("named.fits" in said and "PSRFITS" not in said.split("expected")[0], "nor under another name", said)


def symbols():
    """A function that the program exports under a name of cfitsio's is called in its place."""
    def exported(path):
        told = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True).stdout
        return {line.split()[-1] for line in told.splitlines()}
    libraries = subprocess.run(["ldd", VOLTMILL], capture_output=True, text=True).stdout.split()
    path = next((word for word in libraries if word.startswith("/") and "libcfitsio" in word), None)
    if not path or not shutil.which("nm"):
        note("SKIP no nm, or no shared cfitsio")
        return
    theirs = {name.split("@")[0] for name in exported(path)}
    ok("file_read" in theirs and not theirs & exported(VOLTMILL), "no function of cfitsio is one of ours",
       theirs & exported(VOLTMILL))


columns_with_scales()
cards()
missing_columns()
bands()
times()
shapes()
names()
symbols()
finish()
