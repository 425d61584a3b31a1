"""When products begin: `tstart` is the leading edge of the first dump, in every header, and /time its
centre; also of what a program made that put the centre into both (format_version 2)."""
import os
import shutil
from fractions import Fraction

import h5py
import numpy as np

from common import ROOT, Failed, close, finish, ok, same, scratch, voltmill, write_archive, write_yaml

DAY, SECOND, RATE = 60370, 86399.999, 1e6
CHANNELS, TAPS, INTEGRATE = 16, 4, 64
ULP = np.spacing(float(DAY))
random = np.random.default_rng(14)


def keyword(path, name):
    """A double of a header of SIGPROC."""
    with open(path, "rb") as file:
        head = file.read(2000)
    at = head.index(name.encode()) + len(name)
    return float(np.frombuffer(head[at:at + 8], "<f8")[0])


def epoch(path):
    with open(path) as file:
        line = next(line for line in file if "Epoch" in line)
    return Fraction(line.split("=")[1].strip())


def edges_of(name, power, series, day, edge, step):
    """`edge`: seconds of the day, as a fraction; of the first dump, to which DM 0 counts, too."""
    mjd = day + edge / 86400
    for form, ending, product in ("fil", ".fil", power), ("tim", "_DM0.00.tim", series):
        words = ["--dm", "0"] if form == "tim" else []
        voltmill("export", "--force", "--format", form, *words, product)
        close(keyword(scratch(product[:-3] + ending), "tstart"), float(mjd), ULP, f"{name}: {ending}")
    voltmill("export", "--force", "--format", "dat", "--dm", "0", product)
    found = epoch(scratch(series[:-3] + "_DM0.00.inf"))
    ok(abs(found - mjd) < Fraction(2, 10 ** 15), f"{name}: .inf, to all of its decimals",
       f"{float((found - mjd) * 86400 * 10 ** 9):.3f} ns beside")
    with h5py.File(scratch(series)) as file:
        start = file.attrs["start_second"] + file["time"][0] - step / 2
        close((file.attrs["start_mjd_day"] - day) * 86400 + start, float(edge), 1e-9,
              f"{name}: /time of the series")


def voltages():
    stored = random.normal(0, 20, (20000, 2)).astype("i1")
    archive = write_archive("volts", stored, "time,reim", RATE, "complex", centres=[1.4e9],
                            root={"start_mjd_day": np.int32(DAY), "start_second": SECOND})
    job = {"input": {"files": archive}, "channelise": {"channels": CHANNELS, "taps": TAPS},
           "products": [{"kind": "power", "file": "power.h5", "integrate": INTEGRATE}],
           "dedisperse": {"dm": [0, 10], "file": "series.h5", "downsample": 3}}
    voltmill("run", write_yaml("volts.yaml", job))
    # Sample n is taken at n / RATE. All samples of a dump weigh as one dump long around their mean.
    centre = Fraction(TAPS * CHANNELS - 1, 2) + Fraction((INTEGRATE - 1) * CHANNELS, 2)
    edge = Fraction(SECOND) + (centre - Fraction(INTEGRATE * CHANNELS, 2)) / 10 ** 6
    with h5py.File(scratch("power.h5")) as file:
        same(file.attrs["format_version"], 3, "format_version of power")
        header = file["data"].attrs
        close(header["tstart"], float(DAY + edge / 86400), ULP, "FBH5")
        close(file["time"][0], float(centre) / RATE, 1e-15, "/time holds the dump's centre")
        tsamp = header["tsamp"]
    with h5py.File(scratch("series.h5")) as file:
        same(file.attrs["format_version"], 3, "format_version of series")
        close(file["dedispersed"].attrs["tstart"], float(DAY + edge / 86400), ULP,
              "series: added up in time, the leading edge stays")
    edges_of("ours", "power.h5", "series.h5", DAY, edge, 3 * tsamp)


def foreign():
    """SETI's dumps are long: half of one is 9 s."""
    path, tsamp, mjd = scratch("foreign.h5"), 18.253611008, 57650.78209490741
    with h5py.File(path, "w") as file:
        file.attrs.update({"CLASS": "FILTERBANK", "VERSION": "1.0"})
        file.create_dataset("data", data=random.normal(5, 1, (40, 1, 8)).astype("f4")).attrs.update(
            {"fch1": 8421.0, "foff": -0.5, "tsamp": tsamp, "tstart": mjd})
    day = int(mjd)
    edge = (Fraction(mjd) - day) * 86400
    for downsample in 1, 4:
        job = {"input": {"files": path}, "dedisperse": {"dm": [0], "file": scratch("far.h5"),
                                                        "downsample": downsample}}
        voltmill("run", "--force", write_yaml("far.yaml", job))
        with h5py.File(scratch("far.h5")) as file:
            same(file["dedispersed"].attrs["tstart"], mjd, f"downsample {downsample}: tstart stays")
            close(file["time"][0], downsample * tsamp / 2, 1e-12, "its centre is in /time")
        edges_of(f"downsample {downsample}", "foreign.h5", "far.h5", day, edge, downsample * tsamp)


def older():
    """Made by version 0.1.0: every header has the centre."""
    there = os.path.join(ROOT, "tests/clients/version2")
    for name in "archive.h5", "power.h5", "series.h5":
        shutil.copy(os.path.join(there, name), scratch(name))
    with h5py.File(scratch("power.h5")) as file:
        same(file.attrs["format_version"], 2, "an older product")
        tsamp, centre = file["data"].attrs["tsamp"], file["time"][0]
        edge = Fraction(SECOND) + Fraction(centre) - Fraction(tsamp) / 2
        close(file["data"].attrs["tstart"], DAY + (SECOND + centre) / 86400, ULP, "it has the centre")
    edges_of("older", "power.h5", "series.h5", DAY, edge, tsamp)
    ok("tstart" not in voltmill("export", "--force", "--format", "fil", "power.h5"), "no warning")
    job = {"input": {"files": "power.h5"}, "dedisperse": {"dm": [0, 20, 40], "file": "again.h5"}}
    voltmill("run", write_yaml("again.yaml", job))
    with h5py.File(scratch("again.h5")) as again, h5py.File(scratch("series.h5")) as series:
        same(again["time"][()], series["time"][()], "dedispersed once more: the same times")
        # Floats are added in another order since.
        rows = series["dedispersed"][()]
        close(again["dedispersed"][()], rows, 1e-6 * np.abs(rows).max(), "and rows")
    for product in "power.h5", "series.h5":
        for words in ("info",), ("verify", "--all"), ("verify", "--crc"):
            voltmill(*words, product)
        ok(True, f"{product}: info, verify, verify --crc")
    with h5py.File(scratch("power.h5"), "r+") as file:
        file.attrs["format_version"] = np.int32(4)
    try:
        voltmill("info", "power.h5")
        ok(False, "a format of the future is refused")
    except Failed as failure:
        ok("format_version is 4, this program knows products up to 3" in str(failure),
           "a format of the future is refused", failure)


voltages()
foreign()
older()
finish()
