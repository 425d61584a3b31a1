#!/usr/bin/env python3
"""How complete a search is: 200 bursts of `synth` (S/N 6 to 50, widths 1 to 64 samples, DM 10 to 2,000) through filter bank
and dedisperse.search, some of them across the borders of chunks and of blocks of noise. With a folder as argument, which
`make figures` gives it: completeness.csv, what was put in and what was found, and completeness.png, drawn by matplotlib."""
import csv
import math
import os
import sys

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../clients"))
from common import finish, note, ok, scratch, synth, voltmill, write_yaml

BURSTS, SEED, LEAST, MOST, THRESHOLD = 200, 7, 6.0, 50.0, 6.0
RATE, CENTRE, CHANNELS, INTEGRATE = 8e6, 1.4e9, 256, 8
TSAMP = CHANNELS * INTEGRATE / RATE
TOP = CENTRE + RATE / 2
BLOCK = 4096        # samples that measure the noise of 64: the search's own
SPACING = 0.16      # seconds, more than the delay across the band at DM 2,000
FIRST = 0.5
NOISE = 20.0


def profile(width_s, dm, at_s):
    """Returns what a burst of unit amplitude adds to each sample of the series of its DM, in units of the rms of
    the sum over channels: its Gaussian, smeared within channels, in samples from the first that it can reach."""
    fine = TSAMP / 32
    smear = 2 * dm / 2.41e-4 * RATE / CHANNELS * 1e12 / CENTRE ** 3
    reach = 2 * width_s + smear + 2 * TSAMP
    count = int(2 * reach / fine)
    time = (np.arange(count) + 0.5) * fine - reach
    power = 2.0 ** (-4 * (time / width_s) ** 2)
    box = np.ones(max(1, int(round(smear / fine))))
    power = np.convolve(power, box / len(box), "same")
    first = math.floor((at_s - reach) / TSAMP)
    place = np.floor((at_s + time) / TSAMP).astype(int) - first
    return np.bincount(place, power) * fine / TSAMP * math.sqrt(CHANNELS * INTEGRATE)


def best(added):
    """The S/N of the best box."""
    sums = np.concatenate([[0], np.cumsum(added)])
    return max((sums[w:] - sums[:-w]).max() / math.sqrt(w) for w in range(1, len(added) + 1))


def choose():
    rng = np.random.default_rng(SEED)
    bursts = []
    for i in range(BURSTS):
        width = 2.0 ** rng.uniform(0, 6) * TSAMP
        dm = rng.uniform(10, 2000)
        snr = LEAST * (MOST / LEAST) ** rng.uniform()
        time = FIRST + i * SPACING + rng.uniform(0, TSAMP)
        border = round(time / (BLOCK * TSAMP)) * BLOCK * TSAMP
        # Boxes begin in one block and end in the next, where a chunk may end, too.
        is_across = abs(border - time) < 0.45 * SPACING
        time = border + rng.uniform(-0.4, 0.4) * width if is_across else time
        amplitude = NOISE * math.sqrt(snr / best(profile(width, dm, time)))
        bursts.append({"time_s": time, "dm": dm, "width_s": width, "snr": snr, "across": is_across, "amplitude": amplitude})
    return bursts


def candidates(path):
    with h5py.File(path, "r") as file:
        return file["candidates"][()], int(file["peaks"].attrs["block"])


def match(bursts, found):
    """The strongest candidate of each burst: near its time, as far as a wrong DM moves it, and near its DM."""
    used = set()
    for burst in bursts:
        slack = 1.5 * burst["width_s"] + 4 * TSAMP
        per_dm = 1 / 2.41e-4 * 1e12 * ((CENTRE - RATE / 2) ** -2 - TOP ** -2)
        far = (np.abs(found["dm"] - burst["dm"]) < 60 + 3 * burst["width_s"] / per_dm) & \
              (np.abs(found["time_s"] - burst["time_s"]) < slack + 60 * per_dm)
        near = [i for i in np.flatnonzero(far) if i not in used]
        top = max(near, key=lambda i: found["snr"][i], default=None)
        burst["found"] = float(found["snr"][top]) if top is not None else 0.0
        burst["found_dm"] = float(found["dm"][top]) if top is not None else 0.0
        used.update([top] if top is not None else [])
    return len(found) - len(used)


def best_of_series(x, time_s, first_time):
    """The S/N of the best of all boxes about a time, in the noise of the 4096 samples around it: their quiet parts."""
    centre = int(round((time_s - first_time) / TSAMP))
    x = x[centre - 2048:centre + 2048].astype(float)
    parts = x.reshape(-1, 64)
    is_quiet = np.ones(len(parts), bool)
    for numbers in (parts.mean(axis=1), parts.var(axis=1)):
        off = np.abs(numbers - np.median(numbers))
        is_quiet &= off < 4 * 1.4826 * np.median(off)
    quiet = parts[is_quiet].ravel()
    sums = np.concatenate([[0], np.cumsum(x - quiet.mean())])
    starts = np.arange(2048 - 128, 2048 + 128)
    return max((sums[starts + w] - sums[starts]).max() / math.sqrt(w) for w in range(1, 65)) / quiet.std()


def write_table(out, bursts):
    with open(os.path.join(out, "completeness.csv"), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["across_a_border", "width_samples", "dm", "snr", "snr_found", "dm_found", "time_s"])
        for b in bursts:
            table.writerow([int(b["across"]), f"{b['width_s'] / TSAMP:.3f}", f"{b['dm']:.3f}", f"{b['snr']:.3f}",
                            f"{b['found']:.3f}", f"{b['found_dm']:.3f}", f"{b['time_s']:.6f}"])


def draw(out, bursts):
    """Without matplotlib: no picture."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(9, 4.2), constrained_layout=True)
    FigureCanvasAgg(figure)
    snr, share = figure.subplots(1, 2)
    ends = [5.5, 56]
    snr.plot(ends, ends, color="#999999", label="the same")
    for across, words, look in ((False, "within a block", {"marker": "o", "markersize": 3, "color": "#3b6fb0"}),
                                (True, "across a border of blocks and chunks", {"marker": "o", "fillstyle": "none", "color": "#c44e52"})):
        kept = [b for b in bursts if bool(b["across"]) == across and b["found"] > 0]
        snr.plot([b["snr"] for b in kept], [b["found"] for b in kept], linestyle="", label=words, **look)
    edges = LEAST * (MOST / LEAST) ** np.linspace(0, 1, 9)
    bins = [(math.sqrt(low * high), [b["found"] > 0 for b in bursts if low <= b["snr"] < high]) for low, high in zip(edges, edges[1:])]
    share.plot([x for x, found in bins if found], [100 * np.mean(found) for _, found in bins if found], "o-", color="#3b6fb0",
               label=f"{len(bursts)} bursts, threshold {THRESHOLD:g}")
    snr.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="S/N put in", ylabel="S/N found")
    share.set(xscale="log", xlim=ends, ylim=(0, 105), xlabel="S/N put in", ylabel="found (%)")
    ticks = [6, 8, 10, 15, 20, 30, 50]
    for axis in (snr.xaxis, snr.yaxis, share.xaxis):
        axis.set_ticks(ticks, [str(tick) for tick in ticks])
        axis.set_ticks([], minor=True)
    for axes in (snr, share):
        axes.grid(color="#dddddd")
        axes.legend(frameon=False, fontsize=9)
    figure.savefig(os.path.join(out, "completeness.png"), dpi=100)


bursts = choose()
across = [b for b in bursts if b["across"]]
seconds = bursts[-1]["time_s"] + 0.4
archive = synth("sky", sample_rate_hz=RATE, samples=int(seconds * RATE), freq_hz=CENTRE, bits=8, noise=NOISE, seed=SEED,
                burst=[{key: float(b[key]) for key in ("time_s", "dm", "amplitude", "width_s")} for b in bursts])
voltmill("run", write_yaml("bank.yaml", {"input": {"files": archive}, "channelise": {"channels": CHANNELS, "taps": 4},
                                         "products": [{"kind": "power", "file": "power.h5", "integrate": INTEGRATE}]}))
os.remove(archive)
voltmill("run", write_yaml("search.yaml", {"input": {"files": "power.h5"}, "dedisperse": {
    "dm": {"start": 0, "end": 2050, "tolerance": 1.05}, "reference": TOP, "search": {"file": "found.h5", "threshold": THRESHOLD}}}),
    ranks=2)
found, block = candidates(scratch("found.h5"))
spare = match(bursts, found)
strong = [b for b in bursts if b["snr"] > 10]
missed = [b for b in strong if b["found"] == 0]
ok(block == BLOCK and len(across) >= 15, f"{len(bursts)} bursts, {len(across)} of them across borders", block)
note(f"{len(strong) - len(missed)} of {len(strong)} above S/N 10 found, {sum(b['found'] > 0 for b in bursts)} of all")
ok(len(missed) <= 0.01 * len(strong), "at least 99 % of those above S/N 10 are found", missed)


def ratios(some):
    """Returns the share of S/N found, of bursts that no threshold selects."""
    return np.array([b["found"] / b["snr"] for b in some if b["snr"] > 10 and b["found"] > 0])


inside, over = ratios([b for b in bursts if not b["across"]]), ratios(across)
note(f"S/N found over S/N put in: within blocks {inside.mean():.3f} +- {inside.std() / math.sqrt(len(inside)):.3f}, "
     f"across borders {over.mean():.3f} +- {over.std() / math.sqrt(len(over)):.3f}")
ok(0.93 < inside.mean() < 1.1, "as strong as they were put in", inside.mean())
# For each burst across a border: the best of all boxes as numpy sums them, which knows no borders.
some = [b for b in across if b["found"] > 0]
voltmill("run", write_yaml("series.yaml", {"input": {"files": "power.h5"}, "dedisperse": {
    "dm": sorted({b["found_dm"] for b in some}), "reference": TOP, "file": "series.h5"}}))
with h5py.File(scratch("series.h5"), "r") as file:
    dms, times = list(file["dm"][()]), file["time"][:1]
    shares = np.array([b["found"] / best_of_series(file["dedispersed"][dms.index(b["found_dm"])], b["time_s"], times[0])
                       for b in some])
note(f"found across borders over the best of all boxes: {shares.min():.3f} to {shares.max():.3f}")
ok(len(some) >= 0.9 * len(across) and shares.min() > 0.95 and abs(shares.mean() - 1) < 0.05, "and no S/N is lost across borders", shares)
note(f"{spare} candidates are none of the bursts")
expected = open(scratch("found.h5"), "rb").read()
for how, words in (("in chunks of one block", [f"run.chunk={BLOCK}"]), ("in one chunk", ["run.chunk=1e9"])):
    voltmill("run", "search.yaml", "--force", *[w for word in words for w in ("--set", word)])
    ok(open(scratch("found.h5"), "rb").read() == expected, f"the same candidates {how}")
if len(sys.argv) > 1:
    os.makedirs(sys.argv[1], exist_ok=True)
    write_table(sys.argv[1], bursts)
    draw(os.path.abspath(sys.argv[1]), bursts)
finish()
