"""dedisperse.search: bursts put into a filterbank are found where and as strong as they are, the same bytes whatever
the cut, threads, ranks and kills; noise makes as many peaks as it should; real recordings have the bursts that others
found in them; voltages from `synth` all the way."""
import math
import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np

from common import DATA, ENVIRONMENT, ROOT, SCRATCH, VOLTMILL, Failed, finish, has_pictures, note, ok, same, scratch, synth, voltmill, warm_pictures, write_yaml
from mocks.filterbanks import write_fil
from mocks.halfway import halfway

TSAMP, CHANNELS, TIMES, TOP = 1e-3, 32, 60000, 1500.0
MHZ = TOP - 4.0 * np.arange(CHANNELS)
DMS = 10.0 * np.arange(100)


def delays(dm):
    return np.floor(dm * (MHZ ** -2 - TOP ** -2) / 2.41e-4 / TSAMP + 0.5).astype(int)


def table(path):
    with h5py.File(path, "r") as file:
        return file["candidates"][()], dict(file["candidates"].attrs)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


# ---- Bursts of all widths and strengths, some at the borders of cells and blocks, in noise of rms 8 a channel.
rng = np.random.default_rng(17)
power = rng.normal(120, 8, (TIMES, CHANNELS))
bursts = []
for i, first in enumerate(range(1024, TIMES - 1024, 896)):
    width = int(2 ** rng.uniform(0, 6))
    snr = 8 + 32 * rng.uniform()
    dm = DMS[rng.integers(1, len(DMS))]
    first = (first + 511) // 1024 * 1024 - width // 2 if i % 2 else first + int(rng.integers(0, 64))
    if not bursts or first > bursts[-1][0] + 600:
        bursts.append((first, width, dm, snr))
bursts = [b for b in bursts if b[0] + delays(b[2]).max() + b[1] < TIMES]
for first, width, dm, snr in bursts:
    for c, delay in enumerate(delays(dm)):
        power[first + delay:first + delay + width, c] += 8 * snr / math.sqrt(width * CHANNELS)
source = write_fil(scratch("bursts.fil"), np.clip(np.rint(power), 0, 255)[:, None, :], 8, fch1=TOP, foff=-4.0, tsamp=TSAMP)
JOB = {"input": {"files": source}, "dedisperse": {"dm": {"start": 0, "step": 10, "count": len(DMS)},
                                                  "search": {"file": "found.h5", "threshold": 6.5}}}
job = write_yaml("search.yaml", JOB)
said = voltmill("run", job)
found, _ = table(scratch("found.h5"))
missed, ratios = [], []
for first, width, dm, snr in bursts:
    middle = (first + (width - 1) / 2) * TSAMP
    near = found[np.abs(found["time_s"] - middle) <= (width / 2 + 2) * TSAMP]
    near = near[np.abs(near["dm"] - dm) <= 60]
    if len(near) == 0:
        missed.append((first, width, dm, snr))
    else:
        ratios.append((near["snr"].max(), snr))
measured, wanted = np.array(ratios).T
ok(len(bursts) >= 50, f"{len(bursts)} bursts were put in")
ok(not [b for b in missed if b[3] > 10], "all above S/N 10 are found", missed)
ok(len(missed) <= 1, "and those below", missed)
ok(np.abs(measured - wanted).max() < 4.5, "as strong as they are", np.abs(measured - wanted).max())
ok(abs((measured / wanted).mean() - 1) < 0.06, "on the average, too", (measured / wanted).mean())
strong = found[found["snr"] > 10]
ok(len(strong) <= len(bursts), "each is one candidate", len(strong), len(bursts))
ok(f"{len(found)} candidates" in said, "the run says how many", said)

# ---- The best boxcars of the series are those of plain sums.
voltmill("run", write_yaml("series.yaml", {**JOB, "dedisperse": {**JOB["dedisperse"], "file": "series.h5",
                                                                  "search": {"file": "both.h5", "threshold": 6.5}}}))
ok(contents(scratch("both.h5")) == contents(scratch("found.h5")), "with the series beside it, the same")
with h5py.File(scratch("series.h5"), "r") as file:
    series = file["dedispersed"][()].astype(float)
rms = math.sqrt((8 ** 2 + 1 / 12) * CHANNELS)  # numbers are rounded
worst = 0
for row in strong[:40]:
    x = series[int(round(row["dm"] / 10))]
    total = np.concatenate([[0], np.cumsum(x - 120 * CHANNELS)])
    best = 0
    for w in range(1, 65):
        at = np.arange(max(0, int(row["sample"]) - 64), min(len(x) - w, int(row["sample"]) + 64))
        best = max(best, ((total[at + w] - total[at]) / (rms * math.sqrt(w))).max())
    worst = max(worst, abs(row["snr"] / best - 1))
ok(worst < 0.05, "S/N within 5 % of the best of all boxcars", worst)

# ---- The same bytes.
expected = contents(scratch("found.h5"))
beginning = write_fil(scratch("beginning.fil"), np.clip(np.rint(power[:25000]), 0, 255)[:, None, :], 8, fch1=TOP, foff=-4.0, tsamp=TSAMP)
dense = ["--force", "--set", f"input.files={beginning}",
         *[w for word in ("dm.step=0.3", "dm.count=3000", "backend=cpu") for w in ("--set", "dedisperse.0." + word)]]
long = [*dense, "--set", "run.chunk=65536"]
ok(" in blocks of 8,192" in voltmill("plan", job, *long), "no more series are made at a time than stay in the cache")
voltmill("run", job, *long)
dense_bytes = contents(scratch("found.h5"))
voltmill("run", job, *dense, "--set", "run.chunk=4096")
ok(contents(scratch("found.h5")) == dense_bytes, "the same bytes as of chunks of one block")
for name, words, how in (("in chunks of one block", ["run.chunk=4096"], {}),
                         ("in uneven chunks, by one thread", ["run.chunk=9000", "run.threads=1"], {}),
                         ("on three ranks", ["run.chunk=8192"], {"ranks": 3})):
    voltmill("run", job, "--force", *[w for word in words for w in ("--set", word)], **how)
    ok(contents(scratch("found.h5")) == expected, f"the same bytes {name}")
try:
    has_device = "\n0:" in "\n" + voltmill("info", "--devices")
except Failed:  # built without OpenCL
    has_device = False
# A processor as a device is slow: some of the DMs.
some = ["--force", "--set", "dedisperse.0.dm.step=100", "--set", "dedisperse.0.dm.count=10"]
voltmill("run", job, *some)
some_bytes, some_found = contents(scratch("found.h5")), table(scratch("found.h5"))[0]
for name, words, how in ((("on a device", ["dedisperse.0.file=device.h5"], {}), ("there, in chunks of one block", ["run.chunk=4096"], {}),
                          ("there, on three ranks", ["run.chunk=8192"], {"ranks": 3}),
                          ("there, in less memory than a block of noise needs", ["run.device_memory=6M"], {})) if has_device else ()):
    voltmill("run", job, *some, "--set", "dedisperse.0.backend=opencl", *[w for word in words for w in ("--set", word)], **how)
    ok(contents(scratch("found.h5")) == some_bytes, f"the same bytes {name}")
if has_device:
    with h5py.File(scratch("device.h5"), "r") as file:
        ok(np.array_equal(file["dedispersed"][:, :series.shape[1]], series[::10]), "and the same series beside them")
    os.remove(scratch("device.h5"))
else:
    note("no OpenCL device")
voltmill("run", job, *some, "--set", "dedisperse.0.backend=reference", "--set", "dedisperse.0.search.file=reference.h5")
ok(len(some_found) > 20, "a tenth of the DMs has candidates, too", len(some_found))
same(table(scratch("reference.h5"))[0], some_found, "of the reference's series, the same candidates")
for attempt in range(3):
    os.remove(scratch("found.h5"))
    sets = ["--set", "run.chunk=4096", "--set", "run.sync=0.01", "--set", "run.threads=1"]
    run = subprocess.Popen([VOLTMILL, "run", job, *sets], cwd=SCRATCH, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    while run.poll() is None and not any(name.endswith(".journal") for name in os.listdir(SCRATCH)):
        time.sleep(0.002)
    time.sleep(0.03 * attempt)
    run.send_signal(signal.SIGKILL)
    run.wait()
    voltmill("run", job, *(sets if attempt < 2 else ()))
    ok(contents(scratch("found.h5")) == expected, f"the same bytes after kill {attempt + 1}")
ok(not [name for name in os.listdir(SCRATCH) if name.endswith((".part", ".journal"))], "nothing is left behind")
ok("damaged" in voltmill("verify", "--crc", "found.h5"), "verify --crc reads it")
voltmill("run", job)
ok("candidates    " in voltmill("info", "found.h5"), "info tells how many")

sys.path.insert(0, os.path.join(ROOT, "python"))
import voltmill as module  # noqa: E402

with module.open(scratch("found.h5")) as product:
    ok(product.kind == "candidates" and product.dims == ("dm", "time") and np.array_equal(product.candidates, found) and
       np.array_equal(product.dm, DMS) and (product[:]["snr"] > 0).sum() == table(scratch("found.h5"))[1]["peaks"],
       "the Python module reads it", product.kind, product.dims)

# ---- As text.
if has_pictures():
    warm_pictures()
for form in ("csv", "heimdall", "fetch"):
    voltmill("export", "--format", form, "found.h5")
lines = open(scratch("found.csv")).read().splitlines()
same(lines[0].split(","), list(found.dtype.names), "csv names the columns")
ok(np.allclose([[float(word) for word in line.split(",")] for line in lines[1:]], [list(row) for row in found], rtol=1e-5,
               atol=1e-8), "and has them all")
heimdall = np.loadtxt(scratch("found.cand"))
same(heimdall.shape, (len(found), 9), "heimdall has nine columns")
ok(np.allclose(heimdall[:, 2], found["time_s"]) and np.array_equal(heimdall[:, 4], np.round(found["dm"] / 10)) and
   np.array_equal(heimdall[:, 3], np.rint(np.log2(found["width"]))) and
   np.array_equal(heimdall[:, 1], found["sample"] + found["width"] // 2), "of which these are right")
lines = open(scratch("found.fetch.csv")).read().splitlines()
same(lines[0], "file,snr,stime,width,dm,label,chan_mask_path,num_files", "FETCH's columns")
ok(len(lines) == len(found) + 1 and lines[1].startswith(source + ","), "and lines")

# ---- As pictures.
if "WARM_DRAW" in ENVIRONMENT:
    n = int(np.argmax(found["snr"]))
    voltmill("plot", "--candidate", str(n), "-o", "candidate.png", "--data", "candidate.csv", "found.h5")
    drawn = [line.rsplit(",", 4) for line in open(scratch("candidate.csv")).read().splitlines()[1:]]
    snr = {float(x): float(value) for name, line, x, _, value in drawn if name.startswith("snr,") and line == "search"}
    around = max((float(value), float(x)) for name, line, x, _, value in drawn
                 if name.startswith("snr,") and line == "filterbank")
    dm = found["dm"][n]
    ok(max(snr, key=snr.get) == dm and abs(snr[dm] - found["snr"][n]) < 1e-3, "plot: S/N is largest at its DM", snr)
    ok(abs(around[0] / found["snr"][n] - 1) < 0.3 and abs(around[1] - dm) < 20, "so is that of the filterbank around it", around, dm)
    pixels = [(float(x), float(v)) for name, _, x, _, v in drawn if name.startswith("waterfall,")]
    columns = {}
    for x, v in pixels:
        columns.setdefault(x, []).append(v)
    best = max(columns, key=lambda x: np.mean(columns[x]))
    ok(abs(best - found["time_s"][n]) < 2 * TSAMP + found["width"][n] * TSAMP / 2, "its waterfall is upright, and there", best)
    plane = [(float(v), float(y)) for name, _, _, y, v in drawn if name.startswith("dm-time,")]
    ok(abs(max(plane)[1] - dm) < 20, "its plane of DM and time is brightest at its DM", max(plane), dm)
    os.mkdir(scratch("other"))
    voltmill("run", job, "--set", "input.files=bursts.fil", "--set", "dedisperse.search.file=near.h5")
    done = subprocess.run([VOLTMILL, "plot", "--candidate", str(n), "-o", "other.png", "--data", "other.csv", "../near.h5"],
                          cwd=scratch("other"), env=ENVIRONMENT, capture_output=True, text=True)
    ok(done.returncode == 0, "plot --candidate in another directory", done.stderr)
    same(contents(scratch("other/other.csv")), contents(scratch("candidate.csv")), "draws the same numbers")
    voltmill("plot", "-o", "all.svg", "--kind", "dm-time,histogram", "--data", "all.csv", "found.h5")
    drawn = [line.rsplit(",", 4) for line in open(scratch("all.csv")).read().splitlines()[1:]]
    circles = [float(v) for name, _, x, y, v in drawn if name.startswith("dm-time,") and v != "nan"]
    histograms = {}
    for name, _, _, _, count in drawn:
        if name.startswith("histogram,"):
            histograms[name] = histograms.get(name, 0) + float(count)
    same(set(histograms.values()), {float(len(found))}, "an overview counts all candidates by DM and by S/N")
    ok({round(row["snr"], 3) for row in found} <= {round(v, 3) for v in circles}, "and has a circle for each")
    for words, text in ((["--candidate", "9999"], "has no candidate"), (["--kind", "series"], "no series to draw")):
        try:
            voltmill("plot", "found.h5", "-o", "none.png", *words)
            ok(False, f"plot {words[0]} is refused")
        except Failed as failed:
            ok(text in str(failed), f"plot {words[0]} is refused", failed)
else:
    ok(True, "# SKIP matplotlib is not here")

# ---- Noise alone, and more peaks than are wanted.
noise = rng.normal(1000, 30, (300000, 1, 2))
path = write_fil(scratch("noise.fil"), noise, 32, fch1=TOP, foff=-4.0, tsamp=TSAMP)
said = voltmill("run", write_yaml("noise.yaml", {"input": {"files": path}, "dedisperse": {
    "dm": [0], "search": {"file": "noise.h5", "threshold": 2.5, "widths": 1, "most": 500}}}))
few, attributes = table(scratch("noise.h5"))
trials = len(noise) * 0.5 * math.erfc(2.5 / math.sqrt(2))
ok(abs(attributes["samples_above"] - trials) < 3 * math.sqrt(trials), "noise lifts as many samples as it should",
   attributes["samples_above"], trials)
ok("noise alone" in said, "a low threshold is warned of", said)
ok(few["members"].sum() == 500 and few["snr"].min() >= attributes["kept_above"] * (1 - 1 / 256) and
   (few["snr"] >= attributes["kept_above"]).sum() > 400,
   "only the strongest are grouped when there are too many", few["members"].sum(), attributes)
ok("more than search.most" in said, "and that is said", said)

# ---- Impossible jobs.
for words, text in ((["dedisperse.0.search.widths=48"], "a power of two"), (["dedisperse.0.search.threshold=0"], "threshold"),
                    (["dedisperse.0.search.file=noise.fil"], "noise.fil"), (["dedisperse.0.file=noise.h5"], "file of its own"),
                    (["dedisperse.0.edges=pad"], "zeros beyond the input would be found as bursts"),
                    (["dedisperse.0.search.widths=16384", "dedisperse.0.downsample=20", "dedisperse.0.search.file=x.h5"],
                     "to measure noise")):
    try:
        voltmill("run", "noise.yaml", *[w for word in words for w in ("--set", word)])
        ok(False, f"{words[0]} is refused")
    except Failed as failed:
        ok(text in str(failed) and "exit 2" in str(failed), f"{words[0]} is refused", failed)

# ---- Interference at all frequencies at once, and in two channels that are masked.
loud = np.rint(power)
loud[500::3000] += 40
loud[:, 5] += 60 * (rng.random(TIMES) < 0.01)
loud[:, 6] = rng.normal(120, 60, TIMES)
path = write_fil(scratch("loud.fil"), np.clip(np.rint(loud), 0, 255)[:, None, :], 8, fch1=TOP, foff=-4.0, tsamp=TSAMP)
quiet = {"input": {"files": path}, "dedisperse": {**JOB["dedisperse"], "search": {"file": "loud.h5", "threshold": 8}}}
voltmill("run", write_yaml("loud.yaml", quiet))
comes = 0.0005 + TSAMP * np.arange(500, TIMES, 3000)
at_once = lambda rows: sum(np.any((rows["dm"] < 100) & (rows["snr"] > 12) & (np.abs(rows["time_s"] - t) < 0.03)) for t in comes)
ok(at_once(table(scratch("loud.h5"))[0]) >= 15, "impulses at all frequencies are candidates")
quiet["dedisperse"].update({"zero_dm": "true", "mask": ["5-6"], "file": "quiet-series.h5"})
quiet["dedisperse"]["search"]["file"] = "quiet.h5"
voltmill("run", write_yaml("quiet.yaml", quiet))
rows, _ = table(scratch("quiet.h5"))
ok(at_once(rows) == 0, "with zero_dm they are none", rows)
far = [(b, rows[(np.abs(rows["time_s"] - (b[0] + (b[1] - 1) / 2) * TSAMP) <= (b[1] / 2 + 3) * TSAMP) & (np.abs(rows["dm"] - b[2]) <= 60)])
       for b in bursts if b[3] > 12 and delays(b[2]).max() > 4 * b[1]]
ok(len(far) > 15 and all(len(near) > 0 for _, near in far), "and bursts stay", [b for b, near in far if len(near) == 0])
levels = np.clip(np.rint(loud), 0, 255)
used = np.array([c not in (5, 6) for c in range(CHANNELS)])
levels = (levels - levels[:, used].mean(axis=1, keepdims=True)).astype("f4").astype(float)
with h5py.File(scratch("quiet-series.h5"), "r") as file:
    series = file["dedispersed"][37]
expected_series = sum(levels[d:d + len(series), c] for c, d in enumerate(delays(DMS[37])) if used[c])
ok(np.abs(series - expected_series).max() < 1e-3, "the series are those of levelled samples", np.abs(series - expected_series).max())
ok("agrees" in voltmill("verify", "quiet-series.h5"), "which the reference recomputes")

# ---- Gaps: sums of few channels are noisier, and no bursts; channels that are never there change nothing.
gaps = rng.normal(120, 8, (20000, 1, 128))
gaps[15000:15004] += 4
for first in (3000, 9000, 12250):
    gaps[first:first + 75, :, :112] = np.nan
for name, lost in (("short", 0), ("constant", 32)):
    gaps[:, :, :lost] = np.nan
    path = write_fil(scratch("gaps.fil"), gaps, 32, fch1=TOP, foff=-0.1, tsamp=TSAMP)
    voltmill("run", write_yaml("gaps.yaml", {"input": {"files": path}, "dedisperse": {
        "dm": {"start": 0, "step": 10, "count": 20}, "file": "gaps-series.h5", "search": {"file": "gaps.h5", "threshold": 6.5}}}), "--force")
    rows, _ = table(scratch("gaps.h5"))
    ok(len(rows) == 1 and abs(rows[0]["sample"] - 15000) <= 2, f"{name} gaps: the burst, and nothing else", rows)
    expected = contents(scratch("gaps.h5"))
    voltmill("run", "gaps.yaml", "--force", "--set", "run.chunk=4096", "--set", "run.threads=1")
    ok(contents(scratch("gaps.h5")) == expected, "the same bytes in other chunks")
    if has_device:
        its = []
        for backend in ("cpu", "opencl"):
            voltmill("run", "gaps.yaml", "--force", "--set", "dedisperse.0.dm.count=4", "--set", f"dedisperse.0.backend={backend}",
                     "--set", "dedisperse.0.file=gaps-device.h5")
            its.append(contents(scratch("gaps.h5")))
        ok(its[0] == its[1], "and on a device")
with h5py.File(scratch("gaps-series.h5"), "r") as file:
    series = file["dedispersed"][0]
ok(np.isfinite(series).all() and series[3000:3075].std() > 1.5 * series[:3000].std(), "the series keep such sums")
del gaps, series

# ---- With zero_dm, DMs that delay no channel are rounding alone.
NARROW = 1308.0 - 0.25 * np.arange(60)
late = np.array([np.floor(dm * (NARROW ** -2 - NARROW[0] ** -2) / 2.41e-4 / 2e-4 + 0.5) for dm in range(0, 60, 3)])
level = rng.normal(120, 8, (20000, 1, 60))
level[100::250] *= 100
path = write_fil(scratch("level.fil"), level, 32, fch1=NARROW[0], foff=-0.25, tsamp=2e-4)
JOBS = {"input": {"files": path}, "dedisperse": {"dm": {"start": 0, "step": 3, "count": 20}, "zero_dm": "true",
                                                 "file": "level-series.h5", "search": {"file": "level.h5", "threshold": 6.5}}}
for mask, name in (([], "of all channels"), (["0-40"], "but for those of the mask")):
    JOBS["dedisperse"].update({"mask": mask} if mask else {})
    voltmill("run", write_yaml("level.yaml", JOBS), "--force")
    flat = np.ptp(late[:, 41 if mask else 0:], axis=1) == 0
    with h5py.File(scratch("level.h5"), "r") as file:
        ok(flat.sum() >= 1 and np.all(file["peaks"]["snr"][flat] == 0), f"zero_dm: equal delays {name} are not searched", flat)
    ok("agrees" in voltmill("verify", "level-series.h5"), "and verify passes them over")
ok(np.any(flat & (np.ptp(late, axis=1) > 0)), "channels of the mask have other delays")

# Sums of an uneven band with few delays cancel nearly all that they add up.
uneven = rng.normal(800, 4, (1500, 1, 400)) * rng.uniform(0.2, 1, 400)
path = write_fil(scratch("uneven.fil"), uneven, 32, fch1=1400.0, foff=-0.05, tsamp=1e-3)
voltmill("run", write_yaml("uneven.yaml", {"input": {"files": path}, "dedisperse": {
    "dm": {"start": 2, "step": 3, "count": 8}, "zero_dm": "true", "file": "uneven.h5"}}))
with h5py.File(scratch("uneven.h5"), "r") as file:
    numbers = [len(set(line)) for line in file["provenance/delays"][()]]
ok(min(numbers) == 1 and max(numbers) in (2, 3), "few delays", numbers)
ok("agrees" in voltmill("verify", scratch("uneven.h5")), "zero_dm of an uneven band and few delays: verify agrees")

# All channels of a sample then have the same fraction, and would round alike.
power = np.clip(np.rint(rng.normal(120, 30, (300, 10000))), 0, 255)
many = write_fil(scratch("many.fil"), power[:, None], 8, fch1=1500.0, foff=-0.02, tsamp=1e-3)
power -= power.mean(axis=1, keepdims=True)
bytes_of_many = set()
for backend in ["cpu"] + has_device * ["opencl"]:
    for mode in ("brute", "tree"):
        voltmill("run", write_yaml("many.yaml", {"input": {"files": many}, "dedisperse": {
            "dm": [1.5, 6, 20], "zero_dm": "true", "file": "many.h5", "backend": backend, "mode": mode}}), "--force")
        with h5py.File(scratch("many.h5"), "r") as file:
            series = file["dedispersed"][:]
            delays = file["provenance/delays"][:]
        bytes_of_many.add(series.tobytes())
        for found, late in zip(series, delays):
            exact = sum(power[at:at + len(found), c] for c, at in enumerate(late))
            error = np.sqrt(np.mean((found - exact) ** 2) / np.mean(exact ** 2))
            ok(error < 5e-7, f"zero_dm of 10,000 channels: numpy's sums, {backend}, {mode}", error)
ok(len(bytes_of_many) == 1, "the same bytes from all")
ok("agrees" in voltmill("verify", scratch("many.h5")), "zero_dm of 10,000 channels: verify agrees")

# ---- Ranges of DMs.
said = voltmill("ddplan", "--dms", "0..5000", source)
lines = [line.split() for line in said.splitlines()[2:-1]]
factors = [int(line[3]) for line in lines]
ok(len(lines) >= 3 and factors == [2 ** i for i in range(len(factors))], "ddplan: each range is sampled half as often", said)
ok(all(float(a[2]) == float(b[1]) for a, b in zip(lines, lines[1:])) and float(lines[0][1]) == 0 and
   float(lines[-1][2]) == 5000, "ranges follow each other")
a = 2 / 2.41e-4 * 4 / ((MHZ[0] + MHZ[-1]) / 2) ** 3
for line in lines[1:]:
    dm, dt = float(line[1]), TSAMP * int(line[3])
    ok(abs(math.sqrt((dt ** 2 + (a * dm) ** 2) / (TSAMP ** 2 + (a * dm) ** 2)) - 1.25) < 1e-4, f"a pulse grows by 1.25 at DM {dm}")
losses = halfway("halfway", MHZ, TSAMP, 400)
ok(len(losses) == 2 and all(abs(printed - measured) < 3 for printed, measured in losses),
   "bursts half-way between its DMs lose as much as it says, within 3 percentage points", losses)
odd = scratch("it's, #1: {odd}.fil")
os.symlink(source, odd)
with open(scratch("ranges.yaml"), "w") as file:
    file.write(voltmill("ddplan", "--dms", "0..2000", "--tolerance", "1.3", "--job", odd))
voltmill("run", "ranges.yaml")
best = max((row for i in range(2) for row in table(scratch(f"found-{i}.h5"))[0]), key=lambda row: row["snr"])
top = max(bursts, key=lambda b: b[3])
ok(abs(best["snr"] - top[3]) < 5, "its job finds the bursts", best, top)
for words, text in ((["--dms", "10..2"], "ddplan"), ([], "--dms is missing"), (["--dms", "0..9", "--tolerance", "1"], "more than 1")):
    try:
        voltmill("ddplan", *words, source)
        ok(False, "ddplan refuses")
    except Failed as failed:
        ok(text in str(failed) and "exit 2" in str(failed), f"ddplan {' '.join(words)} is refused", failed)

# ---- Voltages with bursts.
SKY = [(0.5, 20.0, 10.0, 0.0005), (1.2, 60.0, 8.0, 0.002), (1.9, 35.0, 300.0, 0.0)]
archive = synth("sky", sample_rate_hz=1e6, samples=2600000, freq_hz=4e8, streams={"chans": 2}, bits=32, noise=10, seed=5,
                burst=[{"time_s": t, "dm": dm, "amplitude": a, "width_s": w, "reference_hz": 4e8} for t, dm, a, w in SKY])
voltmill("run", write_yaml("sky.yaml", {
    "input": {"files": archive}, "channelise": {"channels": 64, "taps": 4},
    "products": [{"kind": "power", "file": "sky-power.h5", "integrate": 4}],
    "dedisperse": {"dm": {"start": 0, "step": 0.5, "count": 161}, "reference": 4e8, "search": {"file": "sky-found.h5", "threshold": 8}}}))
sky, _ = table(scratch("sky-found.h5"))
for t, dm, _, width in SKY:
    best = max(sky, key=lambda row: row["snr"] if abs(row["time_s"] - t) < 0.003 else 0)
    ok(abs(best["time_s"] - t) < 0.001 + width / 2 and abs(best["dm"] - dm) < 1.5, f"a burst of synth at {t} s, DM {dm}", best)
same(len(sky), len(SKY), "and no other")

# ---- Real ones.
for name in ("frb/askap_frb_dm475_fbh5.h5", "sigproc/28.fil", "psrfits/28.fits"):
    if not os.path.exists(os.path.join(DATA, name)):
        ok(True, f"# SKIP {name} is not here (it is not part of the project)")
        continue
    voltmill("run", write_yaml("real.yaml", {"input": {"files": os.path.join(DATA, name)}, "dedisperse": {
        "dm": {"start": 0, "step": 1, "count": 1001}, "search": {"file": "real.h5"}}}), "--force")
    rows, _ = table(scratch("real.h5"))
    rows = rows[rows["snr"] > 10]
    ok(len(rows) == 1 and 474 <= rows[0]["dm"] <= 476 and abs(rows[0]["time_s"] - 2.029) < 2e-3 and
       abs(rows[0]["snr"] / 16.2 - 1) < 0.05, f"{name}: one burst, DM 474 to 476, 2.029 s", rows)
name = os.path.join(DATA, "sigproc/tutorial.fil")
if os.path.exists(name):
    voltmill("run", write_yaml("real.yaml", {"input": {"files": name}, "dedisperse": {
        "dm": [29.5, 30, 30.5], "search": {"file": "pulses.h5", "threshold": 6}}}))
    rows, _ = table(scratch("pulses.h5"))
    phase = rows["time_s"] / 0.250004 % 1
    middle = np.angle(np.exp(2j * np.pi * phase).mean()) / 2 / np.pi
    off = np.abs((phase - middle + 0.5) % 1 - 0.5)
    ok(len(rows) > 100 and (off < 0.05).mean() > 0.95, "sigproc/tutorial.fil: pulses of its period", len(rows), off.max())
else:
    ok(True, "# SKIP sigproc/tutorial.fil is not here (it is not part of the project)")
finish()
