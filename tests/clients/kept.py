"""Products that keep a part of the channels, or means of neighbours: exactly what the whole product holds there,
with its frequencies; the same bytes in groups of streams, in other chunks, on several ranks; verified, and
dedispersed like any other filterbank."""
import hashlib
import warnings

import h5py
import numpy as np

from common import Failed, finish, ok, same, scratch, synth, voltmill, write_archive, write_yaml

CHANNELS, CHANS, INTEGRATE = 20, 6, 4
BAND = CHANNELS * CHANS
obs = synth("obs", samples=30000, streams={"stations": 2, "pols": 2, "chans": CHANS}, bits=8, sample_rate_hz=1e6,
            freq_hz=100e6, noise=20, tones=[{"freq_hz": 100.2e6, "amplitude": 1000}], seed=3)
PRODUCTS = [{"kind": "power", "integrate": INTEGRATE},
            {"kind": "spectra"},
            {"kind": "power", "integrate": INTEGRATE, "channels": [7, 70]},
            {"kind": "power", "integrate": INTEGRATE, "channels": [7, 70], "average": 16},
            {"kind": "power", "integrate": INTEGRATE, "freq_hz": [100.5e6, 102.51e6], "average": 4},
            {"kind": "power", "integrate": 3, "average": 8},
            {"kind": "spectra", "channels": [33, 33]}]


def run(name, ranks=None, archive=obs, products=PRODUCTS, run=None, **job):
    made = [dict(product, file=f"{name}-{i}.h5") for i, product in enumerate(products)]
    job = {"input": {"files": archive}, "channelise": {"channels": CHANNELS, "taps": 4}, "products": made, **job,
           **({"run": run} if run else {})}
    return voltmill("run", "--force", write_yaml(f"{name}.yaml", job), ranks=ranks)


def digests(name, count=len(PRODUCTS)):
    return [hashlib.sha256(open(scratch(f"{name}-{i}.h5"), "rb").read()).hexdigest() for i in range(count)]


def load(name):
    with h5py.File(scratch(name)) as file:
        rows = file["data"] if "data" in file else file["spectra"]
        return rows[...], file["frequency"][...], dict(rows.attrs)


def mean(power, count):
    parts = power.astype("f8").reshape(*power.shape[:-1], -1, count)
    total = np.zeros(parts.shape[:-1])
    for i in range(count):  # in the channels' order
        total += parts[..., i]
    return (total / count).astype("f4")


out = run("one")
ok("6 pols" not in out and "4 pols x 64 channels" in out, "the run says what is kept", out)
power, frequency, header = load("one-0.h5")
spectra = load("one-1.h5")[0]
found, found_hz, found_header = load("one-2.h5")
same(found, power[..., 7:71], "channels are kept")
same(found_hz, frequency[7:71], "with their frequencies")
same((found_header["nchans"], found_header["fch1"], found_header["foff"]),
     (64, frequency[7] / 1e6, header["foff"]), "and header")
found, found_hz, found_header = load("one-3.h5")
same(found, mean(power[..., 7:71], 16), "their means")
expected = frequency[7:71].reshape(-1, 16).mean(1)
ok(np.abs(found_hz / expected - 1).max() < 1e-14, "at the mean frequency")
ok(abs(found_header["foff"] / (16 * header["foff"]) - 1) < 1e-14 and found_header["nchans"] == 4, "as the header says")
at = np.flatnonzero((frequency >= 100.5e6) & (frequency <= 102.51e6))
at = np.arange(at[0], at[0] + -(-len(at) // 4) * 4)
same(load("one-4.h5")[0], mean(power[..., at], 4), "a band, and what makes its means whole")
same(load("one-5.h5")[0].shape[1:], (4, BAND // 8), "means of all channels")
same(load("one-6.h5")[0], spectra[..., 33:34], "one channel of spectra")
with h5py.File(scratch("one-3.h5")) as file:
    same((int(file.attrs["first_channel"]), int(file.attrs["average"])), (7, 16), "the root says which")
    ok("first_channel" not in h5py.File(scratch("one-0.h5")).attrs, "but not of all channels")

one = digests("one")
run("two", ranks=3, run={"chunk": 24})
same(digests("two"), one, "the same bytes in other chunks, on three ranks")
plan = voltmill("plan", scratch("one.yaml"))
ok("4 pols x 4 channels" in plan, "plan says what is kept", plan)
for i in (2, 3, 4, 5, 6):
    voltmill("verify", "--all", scratch(f"one-{i}.h5"))
    voltmill("verify", "--crc", scratch(f"one-{i}.h5"))
ok(True, "verify agrees, beside a strong line that was left out, too")
with h5py.File(scratch("two-3.h5"), "r+") as file:
    file["data"][5, 1, 2] *= 1.001
try:
    voltmill("verify", "--all", scratch("two-3.h5"))
    ok(False, "verify finds a mean that is not right")
except Failed as failed:
    ok("exit 4" in str(failed), "verify finds a mean that is not right", failed)
ok("each the mean of 16" in voltmill("info", scratch("one-3.h5")), "info says so")

# Groups of streams: those of all coarse channels stay together.
wide = synth("wide", samples=1 << 17, streams={"stations": 8, "pols": 2, "chans": 3}, bits=8, sample_rate_hz=1e6,
             freq_hz=100e6, noise=20, seed=4)
some = [{"kind": "power", "integrate": INTEGRATE, "channels": [1000, 2999], "average": 10},
        {"kind": "power", "integrate": INTEGRATE, "file": "x"}]
large = {"channelise": {"channels": 1024, "taps": 16}}
run("many", archive=wide, products=some, run={"memory": "2GiB"}, **large)
run("few", archive=wide, products=some, run={"memory": "108MiB"}, **large)
plan = voltmill("plan", scratch("few.yaml"))
groups = [int(word) for line in plan.splitlines() if " chunks " in line and " of " in line and "stream" in line
          for word in line.split(" of ")[2].split()[:1]]
ok(groups and groups[0] < 48 and groups[0] % 3 == 0, "little memory: groups of whole ifs", groups, plan)
same(digests("few", 2), digests("many", 2), "the same bytes in groups")
voltmill("verify", "--chunks", "4", scratch("few-0.h5"))

# Missing samples: weights, NaN beside numbers.
gaps = synth("gaps", samples=30000, streams={"pols": 2, "chans": CHANS}, bits=8, sample_rate_hz=1e6, freq_hz=100e6,
             noise=20, seed=5)
with h5py.File(gaps, "r+") as file:
    file["gaps"] = np.array([[4000, 3000], [9000, 30]], "u8")
run("gaps", archive=gaps)
power, found = load("gaps-0.h5")[0], load("gaps-3.h5")[0]
ok(np.array_equal(found, mean(power[..., 7:71], 16), equal_nan=True) and np.isnan(found).any(), "means of NaN are NaN")
voltmill("verify", "--all", scratch("gaps-3.h5"))

# Dedispersed as any filterbank.
dm = {"dm": {"start": 0, "step": 0.1, "count": 4}, "input": 4}
run("series", dedisperse=dict(dm, file="series.h5"))
voltmill("run", "--force", write_yaml("again.yaml", {"input": {"files": scratch("one-4.h5")},
                                                    "dedisperse": {"dm": dm["dm"], "file": "again.h5"}}))
with h5py.File(scratch("series.h5")) as file, h5py.File(scratch("again.h5")) as other:
    same(file["dedispersed"][...], other["dedispersed"][...], "what is kept is dedispersed")

# Impossible jobs.
for change, words in (({"channels": [7, BAND]}, f"ends at {BAND}, but there are {BAND} channels"),
                      ({"channels": [9, 8]}, "ends at 8, before the 9"),
                      ({"channels": [0, 8], "average": 2}, "divides the 9 channels that are kept"),
                      ({"freq_hz": [1, 2]}, "no channel lies there"),
                      ({"channels": [0, 8], "freq_hz": [1e8, 2e8]}, "says which channels, too"),
                      ({"kind": "spectra", "average": 2}, "is for products of kind power")):
    try:
        run("bad", products=[dict({"kind": "power"}, **change)])
        ok(False, f"{change} is refused")
    except Failed as failed:
        ok("exit 2" in str(failed) and words in str(failed), f"{change} is refused", failed)

# Means of neighbours some of which are NaN: of those that are not.
volts = np.random.default_rng(4).normal(0, 9, (12000, 2, CHANS, 2)).astype("f4")
volts[2000:5000, 0, 1] = volts[4000:9000, 1, 2] = volts[4000:9000, 1, 1] = np.nan
holed = write_archive("holed", volts, "time,pol,chan,reim", 1e6, "complex", 100e6 + 1e6 * np.arange(CHANS),
                      {"pol": ["X", "Y"]})
run("holed", archive=holed, products=[{"kind": "power", "integrate": 4, **more} for more in (
    {}, {"channels": [7, 70], "average": 16}, {"average": 24})])
power = load("holed-0.h5")[0].astype("f8")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for i, kept, count in ((1, power[..., 7:71], 16), (2, power, 24)):
        parts = kept.reshape(*kept.shape[:-1], -1, count)
        found, expected = load(f"holed-{i}.h5")[0], np.nanmean(parts, -1)
        some = np.isnan(parts).any(-1) & ~np.isnan(parts).all(-1)
        ok(some.any() and np.array_equal(np.isnan(found), np.isnan(expected)) and
           np.nanmax(np.abs(found / expected - 1)) < 1e-6, f"means of {count}, some NaN", some.sum())
        voltmill("verify", "--all", scratch(f"holed-{i}.h5"))
finish()
