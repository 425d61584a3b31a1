"""Power that is flagged: the kurtosis of each cell as numpy has it from the spectra, what is beyond the limits, in a
mask or among the job's channels left out of the sums; weights that are exactly what is left; polarisations flagged
together, stations and neighbours made of what is left; the same bytes however the work is cut, on any number of
ranks and after a kill; verified; of receivers' noise the few cells that it must be."""
import hashlib
import os
import shutil
import signal
import subprocess
import time

import h5py
import numpy as np

from common import (DATA, ENVIRONMENT, SCRATCH, VOLTMILL, Failed, close, finish, note, ok, same, scratch, synth,
                    voltmill, write_yaml)

CHANNELS, CHANS, M, CELLS = 16, 2, 64, 4
BAND, INTEGRATE = CHANNELS * CHANS, M * CELLS
FLAG = {"kurtosis": 3, "spectra": M}
with open(scratch("mask.txt"), "w") as file:
    file.write("# two bands, one for a while\nfreq_hz 99.2e6 99.3e6\nchannels 20 21 seconds 0.01 0.02 # a radar\n\n")
PRODUCTS = [{"kind": "spectra"},
            {"flag": FLAG},
            {"flag": FLAG, "polarisation": "I"},
            {"flag": FLAG, "polarisation": "IQUV"},
            {"flag": FLAG, "sum": "stations"},
            {"flag": FLAG, "channels": [3, 26], "average": 4},
            {"flag": {"mask": scratch("mask.txt"), "channels": [[0, 1], [9, 9]], "spectra": M}},
            {}]
MORE = [{"flag": {"kurtosis": 0, "spectra": M}}, {"flag": dict(FLAG, channels=[[5, 6]]), "weights": "raw"},
        {"flag": dict(FLAG, channels=[[5, 6]]), "weights": "raw", "min_weight": 0},
        {"flag": dict(FLAG, channels=[[5, 6]]), "weights": "raw", "min_weight": 0, "sum": "stations"},
        {"flag": dict(FLAG, channels=[[5, 6]]), "weights": "raw", "min_weight": 0, "average": 8}]


def run(name, archive, products=PRODUCTS, ranks=None, run=None, only=None, **job):
    made = [dict({"kind": "power", "integrate": 1 if product.get("kind") else INTEGRATE}, **product,
                 file=f"{name}-{i}.h5") for i, product in enumerate(products)]
    job = {"input": {"files": archive}, "channelise": {"channels": CHANNELS, "taps": 4, **job.pop("channelise", {})},
           "products": made, **job, **({"run": run} if run else {})}
    path = write_yaml(f"{name}.yaml", job)
    return path if only else voltmill("run", "--force", path, ranks=ranks)


def load(name, *extra):
    with h5py.File(scratch(name)) as file:
        return [file[key][...] if key in file else None for key in ("data", "weights", "flags", "kurtosis", *extra)]


def digests(name, count):
    return [hashlib.sha256(open(scratch(f"{name}-{i}.h5"), "rb").read()).hexdigest() for i in range(count)]


def limits(name):
    with h5py.File(scratch(name)) as file:
        return file["kurtosis"].attrs["low"], file["kurtosis"].attrs["high"]


def cut(x, count):
    """Sums of `count` rows."""
    rows = len(x) // count
    return x[:rows * count].reshape(rows, count, *x.shape[1:]).sum(1)


def kurtosis(power):
    s1, s2 = cut(power, M), cut(power**2, M)
    return (M + 1) / (M - 1) * (M * s2 / s1**2 - 1)


def dumps(x, good):
    return cut(x * good, CELLS)


def judge(found, expected, name, tolerance=1e-5):
    """NaN at the same places, numbers that are nearly the same."""
    ok(found.shape == expected.shape and np.array_equal(np.isnan(found), np.isnan(expected)), f"{name}: NaN",
       np.isnan(found).sum(), np.isnan(expected).sum())
    scale = np.nanmax(np.abs(expected), axis=-1, keepdims=True)
    worst = np.nanmax(np.abs(found - expected) / scale)
    ok(worst < tolerance, name, f"off by {worst:.3g}")


RATE = 1e6
obs = synth("obs", samples=CHANNELS * (INTEGRATE * 6 + 40), streams={"stations": 3, "pols": 2, "chans": CHANS},
            polarisations=["X", "Y"], bits=32, sample_rate_hz=RATE, freq_hz=99.5e6, noise=20, seed=6,
            tones=[{"freq_hz": 99.1875e6, "amplitude": 400},
                   {"freq_hz": 100.25e6, "amplitude": 300, "pulsed": {"period_s": 7.0e-3, "duty": 0.05}}])
out = run("one", obs)
ok("cells are flagged" in out, "the run says which share is flagged", out)
with h5py.File(scratch("one-0.h5")) as file:
    spectra = file["spectra"][...]
    frequency = file["frequency"][...]
spectra = (spectra["r"] + 1j * spectra["i"]) if spectra.dtype.names else spectra
spectra = spectra.reshape(len(spectra), 3, 2, BAND).astype("c16")
power = np.abs(spectra)**2
ROWS = len(power) // INTEGRATE
power = power[:ROWS * INTEGRATE]
K = kurtosis(power)

# ---- separate polarisations
data, weights, flags, found = load("one-1.h5")
low, high = limits("one-1.h5")
same(found.shape, (ROWS * CELLS, 6, BAND), "a kurtosis for each cell")
near = np.abs(found.reshape(K.shape) - K) / (1 + K)
tone = int(np.argmin(np.abs(frequency - 99.1875e6)))
quiet = np.setdiff1d(np.arange(BAND), np.arange(tone - 3, tone + 4))
ok(near[..., quiet].max() < 2e-5 and near.max() < 1e-2, "which is numpy's", near.max(axis=(0, 1, 2)))
good = (found >= low) & (found <= high)
same(flags, np.where(good, 0, 1).astype("u1"), "beyond the limits it is flagged")
radar = int(np.argmin(np.abs(frequency - 100.25e6)))
ok(found[..., tone].max() < 0.1 and (flags[..., tone] == 1).all(), "a tone lies below", found[..., tone].max())
ok(found[..., radar].max() > 2 and flags[..., radar].any(), "pulses above")
rest = np.setdiff1d(quiet, np.arange(radar - 3, radar + 4))
ok(flags[..., rest].mean() < 0.01, "and noise between", flags[..., rest].mean())
kept = good.reshape(K.shape)
weight = cut(kept.astype("f8"), CELLS) / CELLS
same(weights, weight.reshape(weights.shape).astype("f4"), "weights are exactly what is left")
blank = weight < 0.1
with np.errstate(all="ignore"):
    expected = np.where(blank, np.nan, dumps(cut(power, M), kept) / weight)
judge(data, expected.reshape(data.shape), "dumps of what is left")
ok(np.isnan(data[..., tone]).all() and (weights[..., tone] == 0).all(), "what is flagged altogether is NaN and weighs 0")
plain = load("one-7.h5")[0]
whole = weights == 1
ok(np.abs(data[whole] / plain[whole] - 1).max() < 1e-6, "what is not flagged is as it was")

# ---- polarisations together
low, high = limits("one-2.h5")
joint = kept.all(axis=2, keepdims=True)
for number, name in ((2, "I"), (3, "IQUV")):
    data, weights, flags, _ = load(f"one-{number}.h5")
    flags = flags.reshape(K.shape)
    ok((flags[:, :, 0] == flags[:, :, 1]).all(), f"{name}: both polarisations are flagged alike")
    same(flags[:, :, :1] == 0, joint, f"{name}: where either is out")
    weight = cut(joint.astype("f8"), CELLS) / CELLS
    count = data.shape[1] // 3
    same(weights, np.repeat(weight, count, axis=2).reshape(weights.shape).astype("f4"), f"{name}: weights")
    x, y = spectra[:ROWS * INTEGRATE, :, 0], spectra[:ROWS * INTEGRATE, :, 1]
    cross = x * np.conj(y)
    xx, yy = np.abs(x)**2, np.abs(y)**2
    stokes = np.stack([xx + yy, xx - yy, 2 * cross.real, 2 * cross.imag], axis=2)[:, :, :count]
    with np.errstate(all="ignore"):
        expected = np.where(weight < 0.1, np.nan, dumps(cut(stokes, M), joint) / weight)
    if count == 4:  # V as the IAU has it is settled elsewhere
        sign = np.sign(np.nansum(expected[:, :, 3] * data.reshape(expected.shape)[:, :, 3]))
        expected[:, :, 3] *= sign
        scale = expected[:, :, :1]
        worst = np.nanmax(np.abs(data.reshape(expected.shape) - expected) / scale)
        ok(worst < 1e-5 and np.array_equal(np.isnan(data.reshape(expected.shape)), np.isnan(expected)),
           "IQUV: of what is left", worst)
    else:
        judge(data, expected.reshape(data.shape), "I: of what is left")

# ---- sums of stations leave out those that are flagged
data, weights = load("one-4.h5")[:2]
weight = cut(kept.astype("f8"), CELLS) / CELLS
there = weight >= 0.1
with np.errstate(all="ignore"):
    each = np.where(there, dumps(cut(power, M), kept) / weight, 0)
    expected = each.sum(1) * 3 / there.sum(1)
left = (weight * there).sum(1) / 3
expected[left < 0.1] = np.nan
judge(data, expected.reshape(data.shape), "sums of stations")
close(weights, left.reshape(weights.shape), 1e-7, "and what weighs them")

# ---- means of neighbours
data, weights, flags, _ = load("one-5.h5")
same(flags.shape[2], 24, "flags are of the channels before")
part = np.where(there, dumps(cut(power, M), kept) / np.where(there, weight, 1), np.nan)[..., 3:27]
part = part.reshape(*part.shape[:-1], 6, 4)
its = np.where(there, weight, 0)[..., 3:27].reshape(part.shape)
with np.errstate(all="ignore"):
    expected = np.nansum(part, -1) / (~np.isnan(part)).sum(-1)
judge(data, expected.reshape(data.shape), "means of neighbours that are left")
close(weights, its.mean(-1).reshape(weights.shape), 1e-7, "and what weighs them")

# ---- masks
data, weights, flags, found, times = load("one-6.h5", "cell_time")
ok(found is None, "without kurtosis there is none")
expected = np.zeros((ROWS * CELLS, 6, BAND), "u1")
expected[..., [0, 1, 9]] = 4
spacing = frequency[1] - frequency[0]
expected[..., (frequency + spacing / 2 >= 99.2e6) & (frequency - spacing / 2 <= 99.3e6)] += 2
step = times[1] - times[0]
during = (times - step / 2 < 0.02) & (times + step / 2 > 0.01)
expected[during, :, 20:22] |= 2
ok(during.any() and not during.all(), "some cells are in the mask's times")
same(flags, expected, "a mask and the job's channels")
same(weights, (cut((expected == 0).astype("f8"), CELLS) / CELLS).astype("f4"), "weigh what they leave")
run("more", obs, products=MORE)
data, weights, flags, found = load("more-0.h5")
ok((flags == 0).all() and (weights == 1).all() and np.abs(data / plain - 1).max() < 1e-6,
   "kurtosis: 0 stores it and leaves nothing out")
data, weights, flags, _ = load("more-1.h5")
ok((flags[..., 5:7] >= 4).all(), "reasons add up")
raw = dumps(cut(power, M), (flags == 0).reshape(K.shape)).reshape(data.shape)
raw[weights < 0.1] = np.nan
judge(data, raw, "weights: raw only leaves out")
raw = dumps(cut(power, M), (flags == 0).reshape(K.shape))
raw[weights.reshape(raw.shape) == 0] = np.nan
ok(np.isnan(raw[..., 5:7]).all(), "all of a channel is flagged")
judge(load("more-2.h5")[0], raw.reshape(data.shape), "with min_weight: 0, too, what is flagged altogether is NaN")
with np.errstate(all="ignore"):
    total = np.where(np.isnan(raw).all(1), np.nan, np.nansum(raw, 1))
    judge(load("more-3.h5")[0], total.reshape(load("more-3.h5")[0].shape), "so it is in raw sums, which are not made up for")
    mean = np.nanmean(raw.reshape(*raw.shape[:-1], BAND // 8, 8), -1)
judge(load("more-4.h5")[0], mean.reshape(load("more-4.h5")[0].shape), "and means leave it out")
run("masked", obs, products=[{"flag": {"mask": scratch("one-1.h5"), "spectra": M}},
                             {"flag": {"mask": scratch("one-5.h5"), "spectra": M}, "polarisation": "I"}])
flags = load("one-1.h5")[2]
same(load("masked-0.h5")[2], 2 * flags, "the flags of an earlier product as a mask")
expected = np.zeros((ROWS * CELLS, 3, 2, BAND), "u1")
expected[..., 3:27] = 2 * flags.reshape(expected.shape)[..., 3:27]
same(load("masked-1.h5")[2].reshape(expected.shape), expected.max(axis=2, keepdims=True).repeat(2, axis=2),
     "and of one that kept a part")


def overlap(found, first, theirs, second):
    """[cell][channel]: which flagged cells of another grid each cell overlaps, in time and frequency."""
    touches = []
    for at, width, its, its_width in zip(found, first, theirs, second):
        reach = (width + its_width) / 2 - 2e-3 * min(width, its_width)
        touches.append(np.abs(at[:, None] - its[None, :]) < reach)
    return touches


def grid(name):
    """Centres and widths of cells in time, and of channels."""
    with h5py.File(scratch(name)) as file:
        times, hz = file["cell_time"][...], file["frequency"][...]
        return (times, hz), (times[1] - times[0], hz[1] - hz[0])


# Flags of other cells and channels: all that overlap, in time and frequency.
for channels, spectra in ((10, 32), (40, 8)):
    run("other", obs, products=[{"flag": {"kurtosis": 2, "spectra": spectra}, "integrate": spectra * 4}],
        channelise={"channels": channels})
    run("overlap", obs, products=[{"flag": {"mask": scratch("other-0.h5"), "spectra": M}}])
    touched = overlap(*grid("overlap-0.h5"), *grid("other-0.h5"))
    theirs = load("other-0.h5")[2] != 0
    expected = np.einsum("rt,tik,ck->ric", *(x.astype("f4") for x in (touched[0], theirs, touched[1]))) > 0
    found = load("overlap-0.h5")[2]
    ok(expected.any() and not expected.all() and np.array_equal(found, 2 * expected),
       f"a mask of {channels} channels and {spectra} spectra: what overlaps", (found != 2 * expected).sum(), expected.mean())
    voltmill("verify", "--all", scratch("overlap-0.h5"))
starts = {"later": lambda attributes: attributes.modify("start_second", attributes["start_second"] + 3 * step),
          "startless": lambda attributes: [attributes.pop(key) for key in ("start_mjd_day", "start_second")]}
for name, change in starts.items():
    shutil.copy(obs, scratch(f"{name}.h5"))
    with h5py.File(scratch(f"{name}.h5"), "r+") as file:
        change(file.attrs)
run("late", scratch("later.h5"), products=[{"flag": {"mask": scratch("one-1.h5"), "spectra": M}}])
expected = np.concatenate([2 * flags[3:], np.zeros_like(flags[:3])])
same(load("late-0.h5")[2], expected, "at the same UTC where the archive starts later than the mask")
voltmill("verify", "--all", scratch("late-0.h5"))
run("plain", scratch("startless.h5"), products=[{"flag": FLAG}])
for archive, mask, words in (("startless.h5", "one-1.h5", "the archive does not"),
                             ("obs.h5", "plain-0.h5", "but the archive does")):
    try:
        run("bad", scratch(archive), products=[{"flag": {"mask": scratch(mask), "spectra": M}}])
        ok(False, f"refused: {words}")
    except Failed as failed:
        ok(words in str(failed) and "error: " in str(failed), f"refused: {words}", failed)
run("unknown", scratch("startless.h5"), products=[{"flag": {"mask": scratch("plain-0.h5"), "spectra": M}}])
same(load("unknown-0.h5")[2], 2 * flags, "and at the same seconds where neither says when it starts")

# ---- the same bytes
one = digests("one", len(PRODUCTS))
run("two", obs, ranks=3, run={"chunk": 512})
same(digests("two", len(PRODUCTS)), one, "the same bytes in other chunks, on three ranks")
run("blocks", obs, run={"chunk": 1 << 20, "memory": "128MiB"})
same(digests("blocks", len(PRODUCTS)), one, "and in one chunk")
packed = [dict(PRODUCTS[1], compress="lz4")]
run("packed", obs, products=packed)
with h5py.File(scratch("packed-0.h5")) as file:
    same(hashlib.sha256(file["kurtosis"][...].tobytes()).hexdigest(),
         hashlib.sha256(load("one-1.h5")[3].tobytes()).hexdigest(), "beside compressed rows, too")
for name in [f"one-{i}.h5" for i in range(1, len(PRODUCTS))] + [f"more-{i}.h5" for i in range(len(MORE))]:
    voltmill("verify", "--all", scratch(name))
voltmill("verify", "--crc", scratch("one-2.h5"))
voltmill("verify", "--all", scratch("packed-0.h5"))
ok(True, "verify agrees")
for key, change in (("flags", 1), ("kurtosis", 0.25), ("weights", 0.25)):
    with h5py.File(scratch("two-2.h5"), "r+") as file:
        before = file[key][3, 1, 7]
        file[key][3, 1, 7] = before + change if before < 1 else before - change
    try:
        voltmill("verify", "--all", scratch("two-2.h5"))
        ok(False, f"verify finds /{key} that are not right")
    except Failed as failed:
        ok("exit 4" in str(failed) and "not what" in str(failed), f"verify finds /{key} that are not right", failed)
    with h5py.File(scratch("two-2.h5"), "r+") as file:
        file[key][3, 1, 7] = before
said = voltmill("info", scratch("one-1.h5"))
ok("cells of 64 spectra are left out" in said, "info says which share", said)

# ---- after a kill
long = synth("long", samples=1 << 22, streams={"pols": 2}, bits=8, sample_rate_hz=RATE, freq_hz=100e6, noise=20, seed=2,
             polarisations=["X", "Y"])
two = [{"flag": FLAG}, {"flag": FLAG, "polarisation": "IQUV"}]
run("whole", long, products=two)
path = run("killed", long, products=two, run={"chunk": 256, "sync": 0.01, "threads": 1}, only=True)
kills = 0
for delay in (0.25, 0.3, 0.35, 0.4):
    process = subprocess.Popen([VOLTMILL, "run", path], cwd=SCRATCH, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(delay)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        kills += 1
    process.wait()
if not os.path.exists(scratch("killed-0.h5")) or not os.path.exists(scratch("killed-1.h5")) or kills == 0:
    voltmill("run", path)
note(f"killed {kills} times")
same(digests("killed", 2), digests("whole", 2), "the same bytes after kills")

# ---- missing samples
gappy = synth("gappy", samples=CHANNELS * (INTEGRATE * 6 + 40), streams={"pols": 2}, bits=8, sample_rate_hz=RATE,
              freq_hz=100e6, noise=20, seed=5)
with h5py.File(gappy, "r+") as file:
    file["gaps"] = np.array([[CHANNELS * 100, CHANNELS * 10], [CHANNELS * 700, CHANNELS * 500]], "u8")
run("gaps", gappy, products=[{"flag": FLAG}, {"integrate": M}, {"flag": FLAG, "polarisation": "I"}])
_, weights, flags, found = load("gaps-0.h5")
cells = load("gaps-1.h5")[1][:len(flags)]
ok((np.isnan(found) == (cells < 1)).all() and (cells < 1).any(), "cells that lack samples have no kurtosis")
expected = cut(np.where(flags == 0, cells.astype("f8"), 0), CELLS) / CELLS
close(weights, expected, 1e-7, "and weigh what they have")
for i in (0, 2):
    voltmill("verify", "--all", scratch(f"gaps-{i}.h5"))
ok(True, "verify agrees")

# ---- noise
def judge_noise(name, files, channels, leave_out=()):
    voltmill("run", "--force", write_yaml(f"{name}.yaml", {
        "input": {"files": files}, "channelise": {"channels": channels, "taps": 8},
        "products": [{"kind": "power", "file": f"{name}.h5", "integrate": 1024, "flag": {"kurtosis": 3}}]}))
    _, _, flags, found, frequency = load(f"{name}.h5", "frequency")
    clean = np.ones(len(frequency), bool)
    for hz in leave_out:
        clean &= np.abs(frequency - hz) > 2 * (frequency[1] - frequency[0])
    median, share = np.median(found[..., clean]), (flags[..., clean] != 0).mean()
    ok(abs(median - 1) <= 0.005 and share <= 0.01, f"{name}: median {median:.4f}, {100 * share:.2f} % flagged")


judge_noise("noise", synth("clean", samples=1 << 21, streams={"pols": 2}, bits=8, sample_rate_hz=RATE, freq_hz=100e6,
                           noise=20, seed=8), 64)
for sideband in (1, -1):  # the first channel is a real number, whose noise has another kurtosis
    name = f"real{sideband}"
    judge_noise(name, synth(f"{name}-volts", samples=1 << 22, streams={"pols": 2}, bits=8, sample_rate_hz=RATE, freq_hz=100e6,
                            domain="real", sideband=sideband, noise=20, seed=9), 64)
    _, _, flags, found, hz = load(f"{name}.h5", "frequency")
    bare = found[..., 0].mean(), flags[..., 0].any(), flags[..., 1:].any()
    ok(abs(bare[0] - 2) < 0.1 and not bare[1] and bare[2], f"{name}: which is stored and not flagged", bare)
    voltmill("verify", "--chunks", "4", scratch(f"{name}.h5"))
westford = os.path.join(DATA, "digital_rf/westford")
if os.path.isdir(westford):
    judge_noise("westford", westford, 128, [1024.625e6, 1024.5017e6, 1024.6e6])
else:
    note("SKIP westford: no such data here")

# ---- what cannot be
for change, words in (({"integrate": 100}, "divides integrate"), ({"kind": "spectra", "integrate": 1}, "kind power"),
                      ({"flag": {"kurtosis": 3, "spectra": 4}}, "at least 8"), ({"flag": {"spectra": M}}, "expected kurtosis"),
                      ({"flag": {"channels": [[3, 99]]}}, "there are 32"),
                      ({"flag": {"channels": [[3, 2]]}}, "where it begins"),
                      ({"flag": {"mask": scratch("none.txt")}}, "cannot read the mask"),
                      ({"flag": {"mask": obs}}, "a product with /flags"),
                      ({"flag": {"mask": scratch("bad.txt")}}, "line 2: expected freq_hz")):
    with open(scratch("bad.txt"), "w") as file:
        file.write("channels 1 2\nchannels 3 2\n")
    try:
        run("bad", obs, products=[dict({"flag": FLAG}, **change)])
        ok(False, f"refused: {words}")
    except Failed as failed:
        ok(words in str(failed) and "error: " in str(failed), f"refused: {words}", failed)
finish()
