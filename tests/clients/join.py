"""`voltmill join`: parts of an observation that were made apart, in time and in frequency, are what one run makes of all;
gaps between them are missing; what does not fit is refused."""
import hashlib
import os
import re
import subprocess

import h5py
import numpy as np

from common import ENVIRONMENT, SCRATCH, VOLTMILL, finish, ok, same, scratch, voltmill, write_archive, write_yaml

random = np.random.default_rng(44)
CHANNELS, TAPS, INTEGRATE = 32, 4, 4
stored = random.normal(0, 20, (60000, 2, 3, 2)).round().clip(-127, 127).astype("i1")
ROOT = {"start_mjd_day": np.int32(60370), "start_second": 86399.25, "source": "B0329+54", "telescope": "GBT"}


archive = write_archive("obs", stored, "time,pol,chan,reim", 1e6, "complex", centres=[3e8, 3.01e8, 3.02e8], root=ROOT)
with h5py.File(archive, "r+") as with_gaps:
    with_gaps["pol"] = ["X", "Y"]
    with_gaps["gaps"] = np.array([[21000, 3000]], "u8")


def make(name, select=None, source=archive, kind="power", bank=(CHANNELS, TAPS), **keys):
    product = {"kind": kind, "file": name, **({"integrate": INTEGRATE} if kind == "power" else {}), **keys}
    voltmill("run", "--force", write_yaml("job.yaml", {
        "input": {"files": source, **({"select": select} if select else {})},
        "channelise": {"channels": bank[0], "taps": bank[1]}, "products": [product]}))
    return name


def everything(name):
    found = {}
    with h5py.File(scratch(name)) as file:
        file.visititems(lambda path, item: found.__setitem__(path, item[()]) if isinstance(item, h5py.Dataset) else None)
    return found


def equal(a, b):
    return a.dtype == b.dtype and np.shape(a) == np.shape(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def digest(name):
    with open(scratch(name), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def fails(status, words, *command):
    done = subprocess.run([VOLTMILL, *command], cwd=SCRATCH, env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    said = done.stdout.decode()
    return ok(done.returncode == status and re.search(words, said) and said.count("error:") == 1,
              f"status {status}: {words}", done.returncode, said)


# ---- frequency: coarse channels, and ranges of channels
for kind, rows in ("power", "data"), ("spectra", "spectra"):
    whole = make("whole.h5", kind=kind)
    parts = [make(f"chan{i}.h5", {"chans": [i]}, kind=kind) for i in (2, 0, 1)]
    said = voltmill("join", "-o", "joined.h5", "--force", *parts)
    ok("3 parts in frequency" in said, f"{kind}: says what it did", said)
    a, b = everything("joined.h5"), everything("whole.h5")
    same(sorted(a), sorted(b), f"{kind}: the objects of one run")
    for name in b:
        if name not in ("provenance/objects", "provenance/missing_samples"):
            ok(equal(a[name], b[name]), f"{kind}, frequency: /{name} is that of one run")
    voltmill("verify", "--crc", "joined.h5")
ranges = [make("low.h5", channels=[0, 39]), make("high.h5", channels=[40, 95])]
make("whole.h5")
voltmill("join", "-o", "joined.h5", "--force", *ranges)
a, b = everything("joined.h5"), everything("whole.h5")
for name in "data", "frequency", "weights", "coarse_frequency", "time":
    ok(equal(a[name], b[name]), f"ranges of channels: /{name} is that of one run")
with h5py.File(scratch("joined.h5")) as file, h5py.File(scratch("whole.h5")) as whole:
    for word in "fch1", "foff", "nchans", "nifs", "tsamp", "tstart", "pol_type":
        same(file["data"].attrs[word], whole["data"].attrs[word], f"ranges of channels: {word}")
    same([scale[0].name for scale in file["weights"].dims], [scale[0].name for scale in whole["weights"].dims],
         "scales are attached")

# ---- time: parts on the grid of dumps, with what their filters need left out between them
step = CHANNELS * INTEGRATE
cuts = [(0, 100 * step), (150 * step, 260 * step), (260 * step, 60000)]
whole = everything(make("whole.h5"))
parts = [make(f"time{i}.h5", {"samples": list(cut)}) for i, cut in enumerate(cuts)]
voltmill("join", "-o", "joined.h5", "--force", parts[2], parts[0], parts[1])
joined = everything("joined.h5")
same(joined["data"].shape, whole["data"].shape, "time: as many rows as one run makes")
covered = np.zeros(len(whole["data"]), bool)
for (first, _), name in zip(cuts, parts):
    part = everything(name)
    # a part without gaps has no weights: all are 1
    part.setdefault("weights", np.ones((len(part["data"]), 2, 3), "f4"))
    at = slice(first // step, first // step + len(part["data"]))
    covered[at] = True
    for key in "data", "weights", "provenance/holes":
        ok(equal(joined[key][at], part[key]), f"{name}: its /{key} byte for byte")
ok(equal(joined["data"][covered], whole["data"][covered]), "rows are those of one run")
ok(np.isnan(joined["data"][~covered]).all() and not joined["weights"][~covered].any() and not covered.all(),
   f"the {np.sum(~covered)} rows between them are NaN of weight 0")
ok(equal(joined["time"], whole["time"]), "time stamps are those of one run, byte for byte")
with h5py.File(scratch("joined.h5")) as file:
    job = file["provenance"].attrs["job"].decode()
    ok(job.startswith("join: time\nparts:\n  - file: time0.h5\n    rows: [0, ") and job.count("select:") == 3,
       "the result says of which parts it is", job)
voltmill("verify", "--crc", "joined.h5")
ok("rows" in voltmill("info", "joined.h5"), "info reads it")
fine = [make(f"fine{i}.h5", {"samples": samples}, bank=(4, 4), integrate=1) for i, samples in enumerate(([0, 1612], [1600, 4000]))]
voltmill("join", "-o", "fine.h5", *fine)
voltmill("verify", "--crc", "fine.h5")  # half a row before the first time stamp and back is another number
fails(2, "was joined from parts", "verify", "joined.h5")
before = digest("joined.h5")
voltmill("join", "-o", "joined.h5", "--force", *parts)
same(digest("joined.h5"), before, "the same bytes in any order")
voltmill("run", write_yaml("dm.yaml", {"input": {"files": scratch("joined.h5")}, "dedisperse": {
    "dm": {"start": 0, "step": 1, "count": 3}, "pols": 0, "file": "series.h5"}}))

# ---- only parts with missing samples have weights, and the axes of these
beam = write_archive("beam", stored[:, None], "time,beam,pol,chan,reim", 1e6, "complex", centres=[3e8, 3.01e8, 3.02e8],
                     root=ROOT, gaps=[[21000, 3000]])
whole = everything(make("beam-whole.h5", source=beam, kind="spectra"))
halves = [make(f"beam{i}.h5", {"samples": samples}, source=beam, kind="spectra")
          for i, samples in enumerate(([0, 30000], [30000 // CHANNELS * CHANNELS - (TAPS - 1) * CHANNELS, 60000]))]
voltmill("join", "-o", "beam-joined.h5", *halves)
both, without = everything("beam-joined.h5"), everything(halves[1])
ok("if" in both and not {"weights", "if"} & set(without), "parts without weights have no /if")
for name in "spectra", "weights", "if", "beam", "pol", "coarse_frequency":
    ok(equal(both[name], whole[name]), f"spectra of a beam: /{name} is that of one run")
voltmill("verify", "--crc", "beam-joined.h5")
lossy = write_archive("lossy", stored, "time,pol,chan,reim", 1e6, "complex", centres=[3e8, 3.01e8, 3.02e8], root=ROOT,
                      gaps=[[21000, 3000, 2], [40000, 77, 5]])  # of the highest coarse channel alone
for kind in "power", "spectra":
    whole = everything(make("lossy-whole.h5", source=lossy, kind=kind))
    nodes = [make(f"node{i}.h5", {"chans": chans}, source=lossy, kind=kind) for i, chans in enumerate(([2], [0, 1]))]
    ok(["weights" in everything(name) for name in nodes] == [True, False], f"{kind}: one node has lost something")
    voltmill("join", "-o", "nodes.h5", "--force", *nodes)
    both = everything("nodes.h5")
    same(sorted(both), sorted(whole), f"{kind} of nodes: the objects of one run")
    for name in "spectra" if kind == "spectra" else "data", "weights", "coarse_frequency", "frequency", "time":
        ok(equal(both[name], whole[name]), f"{kind} of nodes: /{name} is that of one run")
    voltmill("verify", "--crc", "nodes.h5")
# Raw sums tell by their weights how they were made; those without are the same.
summed = {"source": write_archive("lossy-beam", stored[:, None], "time,beam,pol,chan,reim", 1e6, "complex", root=ROOT,
                                  centres=[3e8, 3.01e8, 3.02e8], gaps=[[21000, 3000, 2], [40000, 77, 5]]),
          "sum": ["beams"], "weights": "raw"}
make("summed-whole.h5", **summed)
voltmill("join", "-o", "summed.h5", *(make(f"summed{i}.h5", {"chans": chans}, **summed) for i, chans in enumerate(([0, 1], [2]))))
for name in "data", "weights":
    ok(equal(everything("summed.h5")[name], everything("summed-whole.h5")[name]), f"raw sums: /{name} is that of one run")
with h5py.File(scratch("summed.h5")) as one, h5py.File(scratch("summed-whole.h5")) as other:
    same(one["data"].attrs["sum_convention"], other["data"].attrs["sum_convention"], "raw sums: how they were made")
summed["select"] = {"samples": [0, 30048]}
divided = make("divided.h5", **{**summed, "weights": "renormalise"})
fails(2, "sum_convention of data is", "join", "-o", "x.h5", divided, make("raw-end.h5", **{**summed, "select": {"samples": [29952, 60000]}}))
kept = [make("kept0.h5", {"chans": [2]}, source=lossy, channels=[0, 15]), make("kept1.h5", {"chans": [0]}, source=lossy, channels=[16, 31])]
fails(2, "has /weights, but .* has not", "join", "-o", "kept.h5", *kept)

# ---- compressed parts, flagged ones, another start
squeezed = [make(f"squeezed{i}.h5", {"samples": list(cut)}, compress="deflate") for i, cut in enumerate(cuts)]
voltmill("join", "-o", "again.h5", "--force", *squeezed)
ok(equal(everything("again.h5")["data"], joined["data"]), "rows of compressed parts")
flagged = [make(f"flagged{i}.h5", {"samples": list(cut)}, integrate=16, flag={"kurtosis": 3, "spectra": 8})
           for i, cut in enumerate([(0, 100 * step), (152 * step, 60000)])]
voltmill("join", "-o", "flagged.h5", "--force", *flagged)
a, part = everything("flagged.h5"), everything("flagged1.h5")
first = 152 * step // (4 * step)
for key, ratio in ("data", 1), ("weights", 1), ("flags", 2), ("kurtosis", 2):
    ok(equal(a[key][first * ratio:first * ratio + len(part[key])], part[key]), f"flagged parts: /{key}")
np.testing.assert_allclose(np.diff(a["cell_time"]), 2 * step / 1e6, rtol=1e-9)
voltmill("verify", "--crc", "flagged.h5")
for kind in "power", "spectra":
    unit = step if kind == "power" else CHANNELS
    few = [make(f"few{i}.h5", {"samples": list(cut)}, kind=kind, bits=8, scale_rows=10)
           for i, cut in enumerate([(0, 100 * unit), (150 * unit, 260 * unit)])]
    voltmill("join", "-o", "few.h5", "--force", *few)
    a, part = everything("few.h5"), everything("few1.h5")
    rows = "data" if kind == "power" else "spectra"
    ok(equal(a[rows][150:], part[rows]) and equal(a["scale"][15:], part["scale"]) and
       equal(a["offset"][15:], part["offset"]) and np.array_equal(a["block"], 10.0 * np.arange(len(a["scale"]))),
       f"{kind} in 8 bits: numbers, and scales of their blocks")
    blank = a[rows][100:150]
    ok((blank == 0).all() if kind == "power" else (blank["r"] == -128).all() and (blank["i"] == -128).all(),
       f"{kind} in 8 bits: what is between them is no number")
    voltmill("verify", "--crc", "few.h5")
make("askew.h5", {"samples": [155 * step, 260 * step]}, bits=8, scale_rows=10)
make("few0.h5", {"samples": [0, 100 * step]}, bits=8, scale_rows=10)
fails(2, "scales for blocks of 10 rows", "join", "-o", "x.h5", "few0.h5", "askew.h5")
with h5py.File(scratch("time2.h5"), "r+") as file:
    shifted = 3 * step / 1e6
    file.attrs["start_second"] = file.attrs["start_second"] + shifted
voltmill("join", "-o", "later.h5", *parts)
a = everything("later.h5")
ok(equal(a["data"][263:263 + 10], everything("time2.h5")["data"][:10]) and np.isnan(a["data"][260:263]).all(),
   "a start of its own counts")

# ---- refused
fails(2, "-o is missing", "join", "a.h5", "b.h5")
fails(2, "two products or more", "join", "-o", "x.h5", "time0.h5")
fails(2, "are one file", "join", "-o", "x.h5", "time0.h5", "./time0.h5")
fails(2, "the part", "join", "--force", "-o", "time0.h5", "time0.h5", "time1.h5")
fails(2, "exists already", "join", "-o", "joined.h5", "time0.h5", "time1.h5")
make("overlap.h5", {"samples": [90 * step, 200 * step]})
fails(2, "they overlap", "join", "-o", "x.h5", "time0.h5", "overlap.h5")
make("off.h5", {"samples": [150 * step + 32, 200 * step]})
fails(2, "rows do not lie on one grid", "join", "-o", "x.h5", "time0.h5", "off.h5")
make("longer.h5", {"samples": [150 * step, 200 * step]}, integrate=8)
fails(2, "seconds from row to row", "join", "-o", "x.h5", "time0.h5", "longer.h5")
make("stokes.h5", {"samples": [150 * step, 200 * step]}, polarisation="coherency")
fails(2, "streams or pols", "join", "-o", "x.h5", "time0.h5", "stokes.h5")
make("spectra.h5", kind="spectra")
fails(2, "contains spectra, but", "join", "-o", "x.h5", "time0.h5", "spectra.h5")
make("raw.h5", {"chans": [1]}, weights="raw")
make("chan2.h5", {"chans": [2]})
fails(2, "is_renormalised of weights is 1 in chan2.h5, but 0 in raw.h5", "join", "-o", "x.h5", "chan2.h5", "raw.h5")
# A result that is there is compared number by number.
voltmill("join", "-o", "twice.h5", "time0.h5", "time1.h5")
ok("complete before" in voltmill("join", "-o", "twice.h5", "time0.h5", "time1.h5"), "a join that is complete")
with h5py.File(scratch("twice.h5"), "r+") as file:
    file["data"][1, 0, 2] += 1
fails(2, "twice.h5 exists already: --force replaces it", "join", "-o", "twice.h5", "time0.h5", "time1.h5")
for mark, said in ((b"of another program", "was not left by a run of this program: --force replaces it"),
                   (b"\x89VMPARTj of a join", "was left by a run that did not end: it is written anew")):
    with open(scratch("left.h5.part"), "wb") as file:
        file.write(mark)
    ok(f"warning: left.h5.part {said}" in voltmill("join", "--force", "-o", "left.h5", "time0.h5", "time1.h5"), said)
    os.remove(scratch("left.h5"))
fails(2, "different channels, and different times", "join", "-o", "x.h5", "time0.h5", "chan2.h5")
fails(2, "series.h5 contains dedispersed", "join", "-o", "x.h5", "series.h5", "time0.h5")
fails(4, "nowhere.h5", "join", "-o", "x.h5", "nowhere.h5", "time0.h5")
same([name for name in os.listdir(SCRATCH) if name.endswith(".part") or name.startswith("x.h5")], [], "nothing is left")
finish()
