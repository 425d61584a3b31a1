"""Samples that are missing become weights: exactly the share of the filter's energy that came from good ones,
as numpy counts it; dumps that lack some are renormalised without bias, and nothing rings into whole spectra. The
same bytes however the work is cut, on any number of ranks, on a device, and after a kill."""
import hashlib
import os
import re

import h5py
import numpy as np

from common import (Failed, finish, note, ok, same, scratch, voltmill,
                    write_archive, write_yaml)

RATE, CHANNELS, TAPS, INTEGRATE, SAMPLES = 1e6, 16, 4, 12, 60000
random = np.random.default_rng(17)
noise = random.normal(0, 20, (SAMPLES, 2, 2, 2)).round().clip(-127, 127)  # [time][pol][chan][reim]
GAPS = np.array([[0, 40], [1000, 3], [1010, 700], [20000, 900], [59990, 10]], "u8")


def good_of(gaps):
    good = np.ones((SAMPLES, 2, 2), bool)
    for first, count in gaps:
        good[int(first):int(first + count)] = False
    return good


def expect(good, b, spectra):
    """[spectrum][if][coarse channel]: shares of the energy of b [tap][sample]."""
    length, step = b.size, b.shape[1]
    energy = (b.astype("f8") ** 2).ravel() / (b.astype("f8") ** 2).sum()
    windows = np.lib.stride_tricks.sliding_window_view(good, length, axis=0)[::step][:spectra]
    return windows.astype("f8") @ energy


def run(name, archive, run=None, ranks=None, sets=(), **job):
    job = {"input": {"files": archive, **job.pop("input", {})},
           "channelise": {"channels": CHANNELS, "taps": TAPS, **job.pop("channelise", {})},
           "products": [{"kind": "spectra", "file": f"{name}-spectra.h5"},
                        {"kind": "power", "file": f"{name}-power.h5", "integrate": INTEGRATE},
                        {"kind": "power", "file": f"{name}-raw.h5", "integrate": INTEGRATE, "weights": "raw",
                         "min_weight": 0}],
           **job, **({"run": run} if run else {})}
    voltmill("run", "--force", *sets, write_yaml(f"{name}.yaml", job), ranks=ranks)
    return digest(name)


def digest(name):
    return [hashlib.sha256(open(scratch(f"{name}-{kind}.h5"), "rb").read()).hexdigest()
            for kind in ("spectra", "power", "raw")]


def dumps(weights):
    rows = len(weights) // INTEGRATE
    return weights[:rows * INTEGRATE].reshape(rows, INTEGRATE, *weights.shape[1:]).mean(1)


def close_weights(found, expected, name):
    worst = np.abs(found.astype("f8") - expected).max()
    ok(worst < 1.5 * 2.0 ** -24, name, f"off by {worst:.3g}")


def check(name, archive, good):
    """Checks that every case must pass."""
    run(name, archive)
    with h5py.File(scratch(f"{name}-spectra.h5")) as file:
        spectra, stored = file["spectra"][...], file["weights"][...]
        weights = expect(good, file["coefficients"][...], len(spectra))
        same([scale.name for scale in file["weights"].dims[2].values()], ["/coarse_frequency"],
             f"{name}: coarse channels have a scale")
    close_weights(stored, weights, f"{name}: weights of spectra")
    blank = np.repeat(stored < 0.1, CHANNELS, axis=2)
    same(np.isnan(spectra), blank, f"{name}: spectra are NaN below min_weight, and nowhere else")
    same((stored == 1).sum(), (weights > 1 - 1e-12).sum(), f"{name}: what lacks nothing has weight 1")
    with h5py.File(scratch(f"{name}-power.h5")) as file, h5py.File(scratch(f"{name}-raw.h5")) as other:
        power, stored, raw = file["data"][...], file["weights"][...], other["data"][...]
        same(other["weights"][...], stored, f"{name}: raw power has the same weights")
        same(file["provenance/holes"][...].sum(), 0, f"{name}: nothing is marked as unreadable")
    close_weights(stored, dumps(weights), f"{name}: weights of dumps")
    each = np.repeat(stored, CHANNELS, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where(each < 1, raw / each, raw)
    expected[each < np.float32(0.1)] = np.nan
    same(np.array_equal(power, expected, equal_nan=True), True, f"{name}: power is renormalised, to the last bit")
    verified = voltmill("verify", "--all", scratch(f"{name}-power.h5"))
    ok("agrees with the reference" in verified, f"{name}: verify", verified)
    voltmill("verify", "--all", scratch(f"{name}-spectra.h5"))
    voltmill("verify", "--crc", scratch(f"{name}-power.h5"))
    return stored, power, raw


whole = write_archive("whole", noise.astype("i1"), "time,pol,chan,reim", RATE, "complex", centres=[1e8, 1.01e8])
run("whole", whole)
with h5py.File(scratch("whole-power.h5")) as file:
    sound = file["data"][...]
    ok("weights" not in file, "where nothing can be missing there are no weights")
with h5py.File(scratch("whole-spectra.h5")) as file:
    sound_spectra = file["spectra"][...]

# Gaps of all streams.
gaps = write_archive("gaps", noise.astype("i1"), "time,pol,chan,reim", RATE, "complex", centres=[1e8, 1.01e8])
with h5py.File(gaps, "r+") as file:
    file["gaps"] = GAPS
weights, power, raw = check("gaps", gaps, good_of(GAPS))
full = np.repeat(weights == 1, CHANNELS, axis=2)
same(power[full], sound[full], "nothing rings into dumps that lack nothing")
with h5py.File(scratch("gaps-spectra.h5")) as file:
    full = np.repeat(file["weights"][...] == 1, CHANNELS, axis=2)
    same(file["spectra"][...][full], sound_spectra[full], "nor into such spectra")

# Noise: power is unbiased where a quarter is there, and scatters as the weights say.
large = 1 << 20
lack = np.zeros(large, bool)
for first in range(0, large - 400, 1000):
    lack[first + 37:first + 37 + first // 1000 % 90 * 2] = True
runs = np.flatnonzero(np.diff(np.concatenate([[0], lack.astype("i1"), [0]]))).reshape(-1, 2)
many = write_archive("many", random.normal(0, 20, (large, 4, 2)).round().clip(-127, 127).astype("i1"), "time,pol,reim",
                     RATE, "complex", centres=[1e8], gaps=np.column_stack([runs[:, 0], runs[:, 1] - runs[:, 0]]))
run("many", many)
with h5py.File(scratch("many-power.h5")) as file, h5py.File(scratch("many-spectra.h5")) as each:
    power, weights = file["data"][...].astype("f8"), file["weights"][:, 0, 0]
    spectra, weight = np.abs(each["spectra"][...]) ** 2, each["weights"][:, 0, 0].astype("f8")
level = power[weights == 1].mean()
for low, high in ((0.25, 0.5), (0.5, 0.8), (0.8, 1)):
    at = (weights >= low) & (weights < high)
    ok(at.any() and abs(power[at].mean() / level - 1) < 0.01, f"power of weight {low} to {high} is unbiased",
       f"{at.sum()} dumps, {power[at].mean() / level}")
whole = spectra[weight == 1].mean()
for low, high in ((0.2, 0.5), (0.5, 0.8), (0.8, 1)):
    at = (weight >= low) & (weight < high)
    found, expected = spectra[at].mean() / whole, weight[at].mean()
    ok(abs(found / expected - 1) < 0.02, f"the variance of spectra of weight {low} to {high} is as it says", found, expected)

# Numbers that are none, of each stream by itself, in gaps, too.
values = noise.astype("f4")
good = good_of(GAPS)
for pol, chan, first, count in ((0, 0, 5000, 300), (1, 0, 5100, 2000), (0, 1, 1500, 900), (1, 1, 59000, 1000)):
    values[first:first + count, pol, chan, first % 2] = [np.nan, np.inf][pol]
    good[first:first + count, pol, chan] = False
sprinkled = random.integers(0, SAMPLES, 500)
values[sprinkled, 1, 0, 0] = np.nan
good[sprinkled, 1, 0] = False
float_file = write_archive("floats", values, "time,pol,chan,reim", RATE, "complex", centres=[1e8, 1.01e8])
with h5py.File(float_file, "r+") as file:
    file["gaps"] = GAPS
check("floats", float_file, good)
with h5py.File(scratch("floats-power.h5")) as file:
    missing = (~good & good_of(GAPS)).sum()
    used = SAMPLES // CHANNELS * CHANNELS
    missing = (~good & good_of(GAPS))[:used].sum()
    same(int(file["provenance/missing_samples"][()]), missing, "what only numbers show is counted once, beside gaps")

# A missing value, and one that zero volts look like: a block of streams as it lies side by side.
for value in (-128, 0):
    stored = noise.astype("i1")
    stored[stored == value] = 1
    good = good_of(GAPS)
    lacks = random.random((SAMPLES, 2, 2)) < [[0.002, 0.3], [0, 0.001]]
    stored[lacks] = value
    good &= ~lacks
    name = f"missing {value}"
    path = write_archive(f"missing{value}", stored, "time,pol,chan,reim", RATE, "complex", centres=[1e8, 1.01e8])
    with h5py.File(path, "r+") as file:
        file["gaps"] = GAPS
        file["voltages"].attrs["missing_value"] = value
    check(name, path, good)
    with h5py.File(scratch(f"{name}-power.h5")) as file:
        same(int(file["provenance/missing_samples"][()]), (lacks & good_of(GAPS))[:used].sum(),
             f"{name}: counted once")

# Behind filters: what is lost of a row is the share of the energy of the filter's coefficients.
def filtered(good, coeff, decimate, first):
    """Returns the good share of rows m, made of samples m decimate - i, from the first whole one on; and its
    number."""
    energy = np.abs(coeff) ** 2 / (np.abs(coeff) ** 2).sum()
    begin = -(-(first + len(coeff) - 1) // decimate)
    return shares(good, energy)[begin * decimate - first - len(coeff) + 1::decimate], begin


def shares(good, energy):
    streams = good.reshape(len(good), -1).T.astype("f8")
    return np.stack([np.convolve(stream, energy, "valid") for stream in streams], 1).reshape(-1, *good.shape[1:])


long = np.sinc((np.arange(301) - 150) / 3) * np.hanning(301)
short = random.normal(0, 1, 40) + 1j * random.normal(0, 1, 40)
for number, chain in enumerate(([(long, 2)], [(short, 1), (long, 2)], [(long, 1), (short, 1)])):
    filters = []
    weigh, first = good_of(GAPS).astype("f8"), 0
    for i, (coeff, decimate) in enumerate(chain):
        path = scratch(f"coeff{number}{i}.txt")
        np.savetxt(path, np.column_stack([coeff.real, coeff.imag]) if np.iscomplexobj(coeff) else coeff)
        filters.append({"coefficients": path, "decimate": decimate, "aliasing": "allow"})
        weigh, first = filtered(weigh, coeff, decimate, first)
    name = f"filters {number}"
    run(name, gaps, filter=filters)
    with h5py.File(scratch(f"{name}-spectra.h5")) as file:
        found = file["weights"][...]
        expected = expect(weigh, file["coefficients"][...], len(found))
    worst = np.abs(found - expected).max()
    ok(found.min() < 0.01 and worst < 2e-6, f"{name}: weights", f"off by {worst:.3g}")
    first = digest(name)
    same(run(name, gaps, {"chunk": 36}, 2, filter=filters), first, f"{name}: the same bytes in other chunks")
    voltmill("verify", "--all", scratch(f"{name}-power.h5"))

# Coherent dedispersion: all taps alike.
run("dispersed", gaps, filter={"dispersion": {"dm": 0.05}})
with h5py.File(scratch("dispersed-spectra.h5")) as file:
    found, words = file["weights"][...], file["provenance"].attrs["filters"].decode()
    note(words)
    taps = int(re.search(r"([0-9]+) samples", words).group(1))
    weigh = shares(good_of(GAPS), np.full(taps, 1 / taps))
    expected = expect(weigh, file["coefficients"][...], len(found))
worst = np.abs(found - expected).max()
ok(worst < 2e-6, f"dispersion over {taps} samples: weights", f"off by {worst:.3g}")

# The same bytes.
for name, path in (("gaps", gaps), ("floats", float_file), ("missing 0", scratch("missing0.h5"))):
    first = digest(name)
    for how, ranks, settings in (("chunks of 36 spectra", None, {"chunk": 36}), ("2 ranks", 2, {"chunk": 120}),
                                 ("3 ranks", 3, {"chunk": 60, "threads": 1}), ("4 ranks", 4, {"chunk": 240})):
        if name == "floats" and (ranks in (None, 3) or os.environ.get("VOLTMILL_TEST_ALL")) or ranks == 3:
            same(run(name, path, settings, ranks), first, f"{name}: the same bytes, {how}")
# On a device, if there is one: the same weights.
try:
    run("device", float_file, channelise={"backend": "opencl", "kernel": "cache", "fft": "vkfft"})
    with h5py.File(scratch("device-power.h5")) as file, h5py.File(scratch("floats-power.h5")) as other:
        same(file["weights"][...], other["weights"][...], "OpenCL: the same weights")
        same(np.isnan(file["data"][...]), np.isnan(other["data"][...]), "OpenCL: NaN at the same places")
        same(int(file["provenance/missing_samples"][()]), int(other["provenance/missing_samples"][()]),
             "OpenCL: as many are missing")
except Failed as failure:
    ok("error: no OpenCL " in str(failure), "OpenCL: # SKIP there is no device", failure)

# Dedispersed: sums leave out what is NaN, and are scaled; gaps are no holes.
voltmill("run", "--force", write_yaml("series.yaml", {
    "input": {"files": scratch("gaps-power.h5")}, "dedisperse": {"dm": [0, 1, 2], "file": "series.h5"}}))
with h5py.File(scratch("series.h5")) as file, h5py.File(scratch("gaps-power.h5")) as of:
    delays, found = file["provenance/delays"][...].astype(int), file["dedispersed"][...]
    data = of["data"][...].astype("f8").sum(1)  # both polarisations
    cut = np.array([[data[row + t, np.arange(data.shape[1])] for t in range(found.shape[1])] for row in delays])
    there = np.isfinite(cut).sum(2)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.nansum(cut, 2) * data.shape[1] / there
    expected[there * 10 < data.shape[1]] = np.nan
    same(np.isnan(found), np.isnan(expected), "series are NaN where hardly any channel is left")
    worst = np.nanmax(np.abs(found / expected - 1))
    ok(worst < 1e-6, "and scaled elsewhere", worst)
    same(file["provenance/holes"][...].sum(), 0, "gaps are no holes of series")
voltmill("verify", "--all", scratch("series.h5"))
finish()
