"""The median of each channel over all rows, stored as /bandpass: exactly numpy's (the lower of two in the middle, NaN
left out), of numbers below 0, too, of few and of many channels, behind compression; the same bytes on any number of
ranks and after a kill; verified, and found by verify when it is not right."""
import hashlib
import os
import signal
import subprocess
import time

import h5py
import numpy as np

from common import ENVIRONMENT, SCRATCH, VOLTMILL, Failed, finish, note, ok, same, scratch, synth, voltmill, write_yaml

PRODUCTS = [{}, {"polarisation": "IQUV", "integrate": 5}, {"flag": {"kurtosis": 2}, "integrate": 16, "compress": "lz4"},
            {"integrate": 4, "average": 2}]


def run(name, archive, products, channels=32, ranks=None, only=False, **job):
    made = [dict({"kind": "power", "bandpass": "median"}, **product, file=f"{name}-{i}.h5")
            for i, product in enumerate(products)]
    path = write_yaml(f"{name}.yaml", {"input": {"files": archive}, "channelise": {"channels": channels, "taps": 2},
                                       "products": made, **job})
    return path if only else voltmill("run", "--force", path, ranks=ranks)


def digests(name, count):
    return [hashlib.sha256(open(scratch(f"{name}-{i}.h5"), "rb").read()).hexdigest() for i in range(count)]


def median(rows):
    """The median of [row][if][channel]: NaN sorts last."""
    rows = np.sort(rows, axis=0)
    count = (~np.isnan(rows)).sum(0)
    found = np.take_along_axis(rows, np.maximum(count - 1, 0)[None] // 2, axis=0)[0]
    return np.where(count > 0, found, np.nan).astype("f4")


obs = synth("obs", samples=32 * 1001, streams={"pols": 2, "chans": 2}, bits=8, sample_rate_hz=1e6, freq_hz=100e6,
            noise=20, seed=4, polarisations=["X", "Y"], tones=[{"freq_hz": 100.2e6, "amplitude": 60}])
run("one", obs, PRODUCTS)
run("plain", obs, [dict(PRODUCTS[2], compress="none")])
for i in range(len(PRODUCTS)):
    with h5py.File(scratch(f"one-{i}.h5")) as file:
        found = file["bandpass"][...]
    with h5py.File(scratch("plain-0.h5" if i == 2 else f"one-{i}.h5")) as file:  # rows before they were compressed
        rows = file["data"][...]
    ok(np.isnan(rows).any() == (i == 2), f"product {i}: what is flagged is NaN")
    ok(np.array_equal(found, median(rows), equal_nan=True), f"product {i}: the median of {len(rows)} rows",
       found[0, :8], median(rows)[0, :8])
with h5py.File(scratch("one-1.h5")) as file:
    ok(file["bandpass"][1].min() < 0, "of numbers below 0, too")
one = digests("one", len(PRODUCTS))
for ranks in (2, 5):
    run("more", obs, PRODUCTS, ranks=ranks)
    same(digests("more", len(PRODUCTS)), one, f"the same bytes on {ranks} ranks")

# Many channels: columns are worked on some at a time, and rows are not read as a whole.
wide = synth("wide", samples=8192 * 9, streams={"stations": 2, "pols": 2}, bits=8, sample_rate_hz=1e6, freq_hz=100e6,
             noise=20, seed=5)
run("wide", wide, [{}], channels=8192)
with h5py.File(scratch("wide-0.h5")) as file:
    rows = file["data"][...]
    ok(rows[0].nbytes > 65536 and np.array_equal(file["bandpass"][...], median(rows)), "of many channels")
run("wider", wide, [{}], channels=8192, ranks=3)
same(digests("wider", 1), digests("wide", 1), "the same bytes on 3 ranks")

for name in ["wide-0.h5"] + [f"one-{i}.h5" for i in range(len(PRODUCTS))]:
    voltmill("verify", "--all", scratch(name))
    voltmill("verify", "--crc", scratch(name))
ok(True, "verify agrees")
with h5py.File(scratch("wider-0.h5"), "r+") as file:
    file["bandpass"][3, 5000] = np.nextafter(file["bandpass"][3, 5000], np.float32(0))
try:
    voltmill("verify", "--all", scratch("wider-0.h5"))
    ok(False, "verify finds a median that is not right")
except Failed as failed:
    ok("exit 4" in str(failed) and "the median of channel 5000 of pol 3" in str(failed),
       "verify finds a median that is not right", failed)

# After kills: as long as medians are looked for, the product is not there.
long = synth("long", samples=64 * 60000, streams={"pols": 2}, bits=8, sample_rate_hz=1e6, freq_hz=100e6, noise=20, seed=2)
run("whole", long, [{}], channels=64)
path = run("killed", long, [{}], channels=64, only=True)
kills = 0
for delay in (0.12, 0.18, 0.24, 0.3, 0.36):
    process = subprocess.Popen([VOLTMILL, "run", path], cwd=SCRATCH, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(delay)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        kills += 1
    process.wait()
    if os.path.exists(scratch("killed-0.h5")):
        break
note(f"killed {kills} times")
if not os.path.exists(scratch("killed-0.h5")):
    voltmill("run", path)
same(digests("killed", 1), digests("whole", 1), "the same bytes after kills")

for product, words in (({"kind": "spectra"}, "kind power"), ({"bits": 8}, "bits: 32"), ({"file": "x.fil"}, "products in HDF5")):
    try:
        voltmill("plan", write_yaml("bad.yaml", {
            "input": {"files": obs}, "channelise": {"channels": 32},
            "products": [{"kind": "power", "file": "x.h5", "bandpass": "median", **product}]}))
        ok(False, f"refused: {words}")
    except Failed as failed:
        ok(words in str(failed), f"refused: {words}", failed)
finish()
