"""dedisperse.dm.downsample: auto: each range of DMs becomes what the same range written by hand becomes, byte by byte, of a
filterbank and of voltages, on any number of ranks, after kills; plan, verify, search, export and run --each know the ranges. dedisperse.search.csv: the table beside the product."""
import json
import os
import re
import signal
import subprocess
import time

import h5py
import numpy as np

from common import ENVIRONMENT, SCRATCH, VOLTMILL, Failed, finish, ok, same, scratch, synth, voltmill, write_yaml
from mocks.filterbanks import write_fil

TSAMP, CHANNELS, TIMES, TOP = 1e-3, 32, 60000, 1500.0
MHZ = TOP - 4.0 * np.arange(CHANNELS)


def contents(name):
    with open(scratch(name), "rb") as file:
        return file.read()


def refuses(text, *words):
    try:
        said = voltmill(*words)
    except Failed as failed:
        return ok(text in str(failed) and str(failed).startswith("exit 2"), f"refused: {text}", failed)
    return ok(False, f"refused: {text}", said)


# ---- A filterbank with a burst in the second range of DMs.
rng = np.random.default_rng(19)
power = rng.normal(120, 8, (TIMES, CHANNELS))
late = np.floor(900 * (MHZ ** -2 - TOP ** -2) / 2.41e-4 / TSAMP + 0.5).astype(int)
for c, delay in enumerate(late):
    power[30000 + delay:30012 + delay, c] += 12
source = write_fil(scratch("source.fil"), np.clip(np.rint(power), 0, 255)[:, None, :], 8, fch1=TOP, foff=-4.0, tsamp=TSAMP)
AUTO = {"input": {"files": source}, "dedisperse": {"dm": {"start": 0, "end": 4000, "tolerance": 1.25, "downsample": "auto"},
                                                   "file": "series-{range}.h5", "search": {"file": "found-{range}.h5"}}}
ENVIRONMENT["VOLTMILL_PYTHON"] = "/nowhere/python"  # neither a run nor comma-separated values need one
job = write_yaml("auto.yaml", AUTO)
said = voltmill("run", job)
by_hand = voltmill("ddplan", "--dms", "0..4000", "--job", source)
ranges = re.findall(r"dm: \{start: ([^,]*), end: ([^,]*), tolerance: 1.25\}\n  downsample: (\d+)", by_hand)
ok(len(ranges) >= 3 and [int(r[2]) for r in ranges] == [2 ** i for i in range(len(ranges))], "there are several ranges", ranges)
ok(not os.path.exists(scratch(f"series-{len(ranges)}.h5")), "a file for each")
for number, (start, end, factor) in enumerate(ranges):
    write_yaml("hand.yaml", {"input": {"files": source}, "dedisperse": {
        "dm": {"start": start, "end": end, "tolerance": 1.25}, "downsample": int(factor),
        "file": "hand.h5", "search": {"file": "hand-found.h5"}}})
    voltmill("run", "hand.yaml", "--force")
    for name, hand in ((f"series-{number}.h5", "hand.h5"), (f"found-{number}.h5", "hand-found.h5")):
        ok(contents(name) == contents(hand), f"{name} is what the range by hand makes", start, end, factor)
with h5py.File(scratch("series-1.h5"), "r") as file:
    samples, dms = file["dedispersed"].shape[1], file["dm"][()]
ok(samples <= TIMES // 2 and float(ranges[1][0]) == dms[0] and dms[-2] < float(ranges[1][1]) <= dms[-1],
   "the second of half as many samples, and its DMs", samples, dms[0], dms[-1])
best = []
for number in range(len(ranges)):
    with h5py.File(scratch(f"found-{number}.h5"), "r") as file:
        best.append(max([(row["snr"], row["dm"], row["time_s"]) for row in file["candidates"][()]], default=(0, 0, 0)))
found = max(range(len(best)), key=lambda i: best[i][0])
ok(float(ranges[found][0]) - 50 < 900 < float(ranges[found][1]) + 50 and abs(best[found][1] - 900) < 60 and
   abs(best[found][2] - 30.006) < 0.01, "the burst is found in its range", best)
ok("complete before" in voltmill("run", job), "the same command again has nothing to do")
ok(all("agrees" in voltmill("verify", f"series-{i}.h5") for i in range(len(ranges))), "verify recomputes each")
ok("candidates" in voltmill("info", "found-0.h5"), "info knows them")
voltmill("export", "--format", "csv", "-o", "found.csv", f"found-{found}.h5")
ok(open(scratch("found.csv")).readline().startswith("snr"), "export writes a range's candidates")

# ---- The same on any number of ranks, and after kills.
expected = {name: contents(name) for name in (f"{kind}-{i}.h5" for kind in ("series", "found") for i in range(len(ranges)))}
for ranks in (1, 2, 3):
    voltmill("run", job, "--force", "--set", "run.chunk=9000", ranks=ranks)
    ok(all(contents(name) == bytes_ for name, bytes_ in expected.items()), f"the same bytes on {ranks} ranks")
for name in expected:
    os.remove(scratch(name))
kills = 0
for attempt in range(4):
    sets = ["--set", "run.chunk=4096", "--set", "run.sync=0.01", "--set", "run.threads=1"]
    run = subprocess.Popen([VOLTMILL, "run", job, *sets], cwd=SCRATCH, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while run.poll() is None and not any(name.endswith(".journal") for name in os.listdir(SCRATCH)):
        time.sleep(0.002)
    time.sleep(0.05 * attempt)
    if run.poll() is None:
        run.send_signal(signal.SIGKILL)
        kills += 1
    run.wait()
voltmill("run", job)
ok(kills >= 1 and all(contents(name) == bytes_ for name, bytes_ in expected.items()), f"the same after {kills} kills")

# ---- plan says all of it.
planned = voltmill("plan", job, "--force")
ok(all(f"found-{i}.h5" in planned for i in range(len(ranges))), "plan lists every file", planned)
numbers = json.loads(voltmill("plan", job, "--force", "--json"))
same(len(numbers["dedispersions"]), len(ranges), "and so does its JSON")

# ---- Ranges whose series are too short for a search.
wide = ["--set", "dedisperse.0.search.widths=4096", "--set", "dedisperse.0.search.threshold=9"]
planned = voltmill("plan", job, "--force", *wide)
ok("series-3.h5" in planned and "found-2.h5" in planned and "found-3.h5" not in planned and
   "are not searched: each has only 7417 times, of 8 samples: to measure noise, " in planned and "need at least 8192" in planned,
   "the others are searched, and plan says which are not", planned)
with h5py.File(scratch("series-3.h5"), "r") as file:
    dms = file["dm"][()]
ok(f"DMs {dms[0]:g} to {dms[-1]:g} are not searched" in planned, "by the DMs of their series", dms[0], dms[-1], planned)
said = voltmill("run", write_yaml("searched.yaml", {"input": {"files": source}, "dedisperse": {
    "dm": {"start": 0, "end": 4000, "tolerance": 1.25, "downsample": "auto"},
    "search": {"file": "wide-{range}.h5", "widths": 4096, "threshold": 9}}}))
ok(os.path.exists(scratch("wide-2.h5")) and not os.path.exists(scratch("wide-3.h5")) and "are not searched: " in said,
   "run searches what can be searched", said)
short = write_fil(scratch("short.fil"), np.clip(np.rint(power[:500]), 0, 255)[:, None, :], 8, fch1=TOP, foff=-4.0, tsamp=TSAMP)
FIRST = {"dm": {"start": 0, "end": 20, "tolerance": 1.25, "downsample": "auto"}, "search": {"file": "first-{range}.h5"}}
refuses("to measure noise", "run", write_yaml("first.yaml", {"input": {"files": short}, "dedisperse": FIRST}))
said = voltmill("run", write_yaml("first.yaml", {"input": {"files": short}, "dedisperse": {**FIRST, "file": "only-{range}.h5"}}))
ok("are not searched: " in said and os.path.exists(scratch("only-0.h5")) and not os.path.exists(scratch("first-0.h5")),
   "nor the first range, whose series are written", said)

# ---- The candidates as text, by the run itself.
SEARCH = {"input": {"files": source}, "dedisperse": {"dm": {"start": 0, "end": 1500, "tolerance": 1.25, "downsample": "auto"},
                                                     "search": {"file": "table-{range}.h5", "csv": "tables/{range}.csv"}}}
job = write_yaml("tables.yaml", SEARCH)
ok("tables/1.csv: the same candidates" in voltmill("plan", job), "plan says so")
said = voltmill("run", job, ranks=2)
for i in range(2):
    voltmill("export", "--format", "csv", "-o", "exported.csv", "--force", f"table-{i}.h5")
    ok(contents(f"tables/{i}.csv") == contents("exported.csv") and f"tables/{i}.csv: " in said, f"table {i} is what export writes")
ok(max(contents(f"tables/{i}.csv").count(b"\n") for i in range(2)) > 1, "and one has rows")
table = contents("tables/1.csv")
os.remove(scratch("tables/1.csv"))
said = voltmill("run", job)
ok("complete before" in said and contents("tables/1.csv") == table, "one that a kill has left out comes with the next run", said)
same(voltmill("run", job).count("tables/"), 0, "and is not written again")
with open(scratch("tables/1.csv"), "w") as file:
    file.write("mine\n")
refuses("tables/1.csv exists already", "run", job)
refuses("tables/1.csv exists already", "plan", job)
refuses(".csv exists already", "run", job, "--set", "dedisperse.0.search.file=other-{range}.h5")
ok(not os.path.exists(scratch("other-0.h5")), "before any work")
voltmill("run", job, "--force")
ok(contents("tables/1.csv") == table, "--force replaces another file")
refuses("is the input file", "plan", job, "--force", "--set", "dedisperse.0.search.csv=sourc{range}.fil", "--set",
        f"input.files={os.path.join(SCRATCH, 'sourc0.fil')}") if os.link(source, scratch("sourc0.fil")) is None else None
refuses("is the same as", "plan", write_yaml("bad.yaml", {"input": {"files": source}, "dedisperse": {
    "dm": [1.0], "search": {"file": "a.h5", "csv": "a.h5"}}}))

# ---- Invalid ranges.
dedisperse = AUTO["dedisperse"]
for text, change in (("expected {range} in it", {"file": "series.h5"}),
                     ("expected {range} in it", {"search": {"file": "found.h5"}}),
                     ("start, end and tolerance", {"dm": {"start": 0, "step": 1, "count": 9, "downsample": "auto"}}),
                     ("which says it for each range", {"downsample": 2}),
                     ("stands for the ranges", {"dm": {"start": 0, "end": 50, "tolerance": 1.25}}),
                     ("expected one of none, auto", {"dm": {"start": 0, "end": 50, "tolerance": 1.25, "downsample": "yes"}})):
    refuses(text, "plan", write_yaml("bad.yaml", {**AUTO, "dedisperse": {**dedisperse, **change}}))
refuses("at most 16", "plan", write_yaml("bad.yaml", {**AUTO, "dedisperse": [
    {**dedisperse, "file": f"series-{i}-{{range}}.h5", "search": {"file": f"found-{i}-{{range}}.h5"}} for i in range(8)]}))

# ---- Between dedispersions as they are; and of voltages, the same of what the job itself makes.
archive = synth("sky-voltages", sample_rate_hz=1e6, samples=2600000, freq_hz=4e8, streams={"chans": 2}, bits=32, noise=10, seed=5,
                burst=[{"time_s": 1.2, "dm": 60, "amplitude": 8, "width_s": 0.002, "reference_hz": 4e8}])
BANK = {"input": {"files": archive}, "channelise": {"channels": 64, "taps": 4}}
ONE = {"dm": [60.0], "file": "one.h5"}
voltmill("run", write_yaml("sky.yaml", {
    **BANK, "products": [{"kind": "power", "file": "sky-power.h5", "integrate": 4}],
    "dedisperse": [ONE, {"dm": {"start": 0, "end": 400, "tolerance": 1.2, "downsample": "auto"}, "file": "sky-{range}.h5"}]}),
    ranks=2)
by_hand = voltmill("ddplan", "--dms", "0..400", "--tolerance", "1.2", "--job", "sky-power.h5")
ranges = re.findall(r"dm: \{start: ([^,]*), end: ([^,]*), tolerance: 1.2\}\n  downsample: (\d+)", by_hand)
ok(len(ranges) >= 2 and os.path.exists(scratch("one.h5")), "of voltages there are several ranges", ranges)
voltmill("run", write_yaml("sky-hand.yaml", {
    **BANK, "products": [{"kind": "power", "file": "sky-hand-power.h5", "integrate": 4}],
    "dedisperse": [ONE | {"file": "one-hand.h5"}] + [
        {"dm": {"start": start, "end": end, "tolerance": 1.2}, "downsample": int(factor), "file": f"sky-hand-{i}.h5"}
        for i, (start, end, factor) in enumerate(ranges)]}))
for i in range(len(ranges)):
    with h5py.File(scratch(f"sky-{i}.h5"), "r") as a, h5py.File(scratch(f"sky-hand-{i}.h5"), "r") as b:
        ok(a["dedispersed"].shape == b["dedispersed"].shape and np.array_equal(a["dedispersed"][()], b["dedispersed"][()]) and
           np.array_equal(a["dm"][()], b["dm"][()]), f"range {i} of voltages is what it is by hand")

# ---- Many files, each with its own ranges.
voltmill("run", write_yaml("each.yaml", {**AUTO, "dedisperse": {**dedisperse, "file": "{name}-r{range}.h5", "search": {
    "file": "{name}-f{range}.h5"}}}), "--each", source)
ok(os.path.exists(scratch("source-r0.h5")) and os.path.exists(scratch("source-f2.h5")), "run --each")
finish()
