"""Products of voltages: what is stored is what numpy stores, and voltmill reads it as an archive."""
import os
import shutil
import subprocess

import h5py
import numpy as np

from common import ENVIRONMENT, SCRATCH, VOLTMILL, Failed, finish, ok, same, scratch, voltmill, write_archive, write_yaml

RATE, DAY, SECOND = 1e6, 60370, 100.0
FIRST, END = 1003, 31007
random = np.random.default_rng(16)
stored = random.normal(0, 40, (40000, 2, 3, 2)).round().clip(-128, 127).astype("i1")
archive = write_archive("obs", stored, "time,pol,chan,reim", RATE, "complex", centres=[3e8, 1e8, 2e8],
                        root={"start_mjd_day": np.int32(DAY), "start_second": SECOND, "telescope": "Dish"})
with h5py.File(archive, "r+") as file:
    file["pol"] = np.array(["X", "Y"], dtype=h5py.string_dtype())
order = [1, 2, 0]  # coarse channels ascend
cut = stored[FIRST:END][:, :, order].astype("f8")


def write(name, run=None, select=None, **how):
    product = {"kind": "voltages", "file": f"{name}.h5", **how}
    job = {"input": {"files": archive, "select": {"samples": [FIRST, END], **(select or {})}},
           "products": [product], **({"run": run} if run else {})}
    voltmill("run", "--force", write_yaml(f"{name}.yaml", job))
    return scratch(f"{name}.h5")


def rows(name, files):
    """Spectra of voltages."""
    job = {"input": {"files": files}, "channelise": {"channels": 16, "taps": 4},
           "products": [{"kind": "spectra", "file": f"{name}.h5"}]}
    if files == archive:
        job["input"]["select"] = {"samples": [FIRST, END]}
    voltmill("run", "--force", write_yaml(f"{name}.yaml", job))
    with h5py.File(scratch(f"{name}.h5")) as file:
        return file["spectra"][...], file["time"][...], file["frequency"][...], file.attrs["start_second"]


def expect(bits, scale):
    """Returns the stored numbers, and how many did not fit."""
    if bits == 32:
        return (cut / scale).astype("f4"), 0
    whole = np.rint(cut / scale)
    least, most = -2 ** (bits - 1), 2 ** (bits - 1) - 1
    return whole.clip(least, most).astype(f"i{bits // 8}"), np.count_nonzero((whole < least) | (whole > most))


for bits, scale in (8, 1), (8, 0.25), (8, 3), (16, 0.1), (16, 1e-3), (32, 1), (32, 0.125):
    name = f"{bits} bits, scale {scale}"
    how = {"bits": bits} if (bits, scale) == (32, 1) else {"bits": bits, "scale": scale}
    path = write(f"v{bits}-{scale}", **how)
    values, clipped = expect(bits, scale)
    with h5py.File(path) as file:
        data = file["voltages"]
        ok(data.dtype == values.dtype and np.array_equal(data[...], values), f"{name}: samples")
        same(int(file["provenance/clipped_samples"][()]), clipped, f"{name}: clipped numbers")
        same(int(file.attrs["format_version"]), 1 if scale == 1 else 2, f"{name}: format_version")
        same(data.attrs.get("scale", 1.0), scale, f"{name}: its scale")
        same(data.attrs["axes"], b"time,pol,chan,reim", f"{name}: axes")
        ok(np.array_equal(file["freq_hz"], [1e8, 2e8, 3e8]), f"{name}: frequencies")
        same([text.decode() for text in file["pol"]], ["X", "Y"], f"{name}: names")
        ok(abs(file.attrs["start_second"] - SECOND - FIRST / RATE) < 1e-9, f"{name}: start")
    ok(subprocess.run([VOLTMILL, "verify", "--crc", path], env=ENVIRONMENT, capture_output=True).returncode == 0,
       f"{name}: CRCs")

shutil.copy(scratch("v8-0.25.h5"), scratch("more.h5"))
with h5py.File(scratch("more.h5"), "r+") as file:
    file["provenance/clipped_samples"][()] += 5
try:
    ok(False, "verify finds another count of clipped numbers", voltmill("verify", "--all", scratch("more.h5")))
except Failed as failed:
    ok("/provenance/clipped_samples is" in str(failed), "verify finds another count of clipped numbers", failed)

# Read again: the same spectra, at the same times.
expected = rows("of-archive", archive)
for name in "v8-1", "v32-1", "v32-0.125":
    found = rows(f"of-{name}", scratch(f"{name}.h5"))
    ok(np.array_equal(found[0], expected[0]), f"{name}: its spectra are the archive's")
    ok(np.allclose(found[1] + found[3], expected[1] + expected[3], rtol=0, atol=1e-9), f"{name}: their times")
    ok(np.array_equal(found[2], expected[2]), f"{name}: their frequencies")

# The same bytes, counts of clipped numbers among them, however the work is cut, and after a kill.
whole = open(scratch("v8-0.25.h5"), "rb").read()
for run in {"chunk": 100}, {"threads": 1}, {"chunk": 4097, "threads": 2}:
    again = open(write("again", run, bits=8, scale=0.25), "rb").read()
    ok(again == whole, f"the same bytes with {run}")
os.remove(scratch("again.h5"))
command = [VOLTMILL, "run", scratch("again.yaml"), "--set", "run={chunk: 50, sync: 0.01, threads: 1}"]
shim = os.path.join(os.path.dirname(VOLTMILL), "tests/faults/io_shim.so")  # writes take a while
killed = subprocess.Popen(command, env=dict(ENVIRONMENT, LD_PRELOAD=shim, SHIM_NAP="4"), cwd=SCRATCH,
                          stdout=subprocess.DEVNULL)
journal = scratch("again.h5.journal")
while killed.poll() is None:
    if os.path.exists(journal) and os.path.getsize(journal) > 3000:
        killed.kill()
killed.wait()
ok(os.path.exists(journal), "killed on the way")
ok(subprocess.run(command, env=ENVIRONMENT, cwd=SCRATCH, capture_output=True).returncode == 0, "after a kill it goes on")
ok(open(scratch("again.h5"), "rb").read() == whole, "the same bytes after a kill")

# Gaps stay gaps.
with h5py.File(archive, "r+") as file:
    file["gaps"] = np.array([[10, 20], [1000, 7], [20000, 100], [31000, 5000]], "u8")
with h5py.File(write("gaps", bits=16, scale=1)) as file:
    ok(np.array_equal(file["gaps"], [[0, 4], [20000 - FIRST, 100], [31000 - FIRST, 7]]), "gaps stay gaps")
    ok(not file["voltages"][20000 - FIRST:20100 - FIRST].any(), "of zero volts")
    same(int(file["provenance"].attrs["gap_samples"]), 6 * (4 + 100 + 7), "and are counted")
with h5py.File(archive, "r+") as file:
    del file["gaps"]

one = write("one", select={"pols": "Y", "chans": [2]}, bits=16, scale=1)
with h5py.File(one) as file:
    ok(np.array_equal(file["voltages"][...], stored[FIRST:END, 1:, 2:].astype("i2")), "one stream")
    same([text.decode() for text in file["pol"]], ["Y"], "its name")
    same(list(file["freq_hz"]), [2e8], "its frequency")

# A changed sample is found.
with open(one, "r+b") as file:
    file.seek(-40000, os.SEEK_END)
    file.write(b"\x5a")
ok(subprocess.run([VOLTMILL, "verify", "--crc", one], env=ENVIRONMENT, capture_output=True).returncode == 4,
   "a changed byte is found")
info = subprocess.run([VOLTMILL, "info", scratch("v8-0.25.h5")], env=ENVIRONMENT, capture_output=True, text=True).stdout
for word in "kind          voltages", "8 bit complex", "0.25 V for each 1", "6, of 3 coarse channels", "clipped":
    ok(word in info, f"info says {word}", info)
finish()
