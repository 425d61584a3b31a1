"""The burst in a real recording of ASKAP, found with jobs/frb.yaml: DM 474 to 476, 2.03 s after the
start. S/N is the largest, over boxcars of 1, 2, 4 and 8 samples, of a sum's distance from the median
of all such sums of its series, in units of their standard deviation."""
import os

import h5py
import numpy as np

from common import DATA, ROOT, close, finish, note, ok, same, scratch, skip_all, voltmill

RECORDING = os.path.join(DATA, "frb/askap_frb_dm475_fbh5.h5")
if not os.path.exists(RECORDING):
    skip_all("frb/askap_frb_dm475_fbh5.h5 is not here (it is not part of the project)")


def run(name, *sets):
    product = scratch(name + ".h5")
    words = [word for text in (f"dedisperse.0.file={product}", *sets) for word in ("--set", text)]
    voltmill("run", os.path.join(ROOT, "jobs/frb.yaml"), *words)
    with h5py.File(product, "r") as file:
        return file["dedispersed"][()], file["dm"][()], file["time"][()]


def brute(data, mhz, dms, tsamp):
    """In double: sum_c data[t + round(delay)][c]."""
    delays = np.floor(np.outer(dms, (mhz ** -2 - mhz.max() ** -2) / 2.41e-4) / tsamp + 0.5).astype(int)
    count = len(data) - delays.max()
    columns = np.ascontiguousarray(data.T.astype(np.float64))
    out = np.zeros((len(dms), count))
    for d, row in enumerate(delays):
        for c, delay in enumerate(row):
            out[d] += columns[c, delay:delay + count]
    return out


def signal_to_noise(series):
    """[dm][time]; a sum stands at the middle of its boxcar."""
    best = np.full(series.shape, -np.inf)
    running = np.cumsum(np.pad(series.astype(np.float64), ((0, 0), (1, 0))), axis=1)
    for width in (1, 2, 4, 8):
        sums = running[:, width:] - running[:, :-width]
        ratio = (sums - np.median(sums, axis=1, keepdims=True)) / sums.std(axis=1, keepdims=True)
        first = (width - 1) // 2
        there = best[:, first:first + ratio.shape[1]]
        np.maximum(there, ratio, out=there)
    return best


with h5py.File(RECORDING, "r") as recording:
    header = recording["data"].attrs
    data = recording["data"][:, 0]
    tsamp = float(header["tsamp"])
    mhz = header["fch1"] + header["foff"] * np.arange(data.shape[1])

series, dms, times = run("cpu", f"input.files={RECORDING}", "dedisperse.0.backend=cpu")
ratio = signal_to_noise(series)
dm, at = np.unravel_index(ratio.argmax(), ratio.shape)
note(f"S/N {ratio[dm, at]:.2f} at DM {dms[dm]:g} and {times[at]:.4f} s; at DM 0: {ratio[0].max():.2f}")
ok(474 <= dms[dm] <= 476, "the burst's DM", dms[dm])
ok(abs(times[at] - 2.03) < 0.005, "when it came", times[at])
ok(ratio[dm, at] >= 14, "its signal-to-noise ratio", ratio[dm, at])
ok(2.5 <= ratio[0].max() <= 4, "nothing at DM 0", ratio[0].max())
step = 1 if os.environ.get("VOLTMILL_TEST_ALL") else 7
expected = brute(data, mhz, dms[::-step], tsamp)
same(series[::-step], expected.astype("f4"), "the series of a brute force of our own, exactly")

# The same burst in numbers that are no integers.
scaled = scratch("recording-of-floats.h5")
floats = (data * np.linspace(0.3, 1.7, data.shape[1])).astype("f4")
with h5py.File(RECORDING, "r") as recording, h5py.File(scaled, "w") as file:
    file.attrs.update(recording.attrs)
    file.create_dataset("data", data=floats[:, None]).attrs.update(
        {**recording["data"].attrs, "nbits": 32})
dms_of_all, wanted_dms = dms, "dedisperse.0.dm={start: 462, step: 1, count: 20}"
wanted = [wanted_dms, f"input.files={scaled}"]
some, dms, _ = run("scaled", *wanted, "dedisperse.0.backend=cpu")
expected = brute(floats, mhz, dms, tsamp)
close(some, expected, 1e-6 * np.sqrt(np.mean(expected ** 2)), "floats: to 1e-6")

try:
    has_device = "\n0:" in "\n" + voltmill("info", "--devices")
except Exception:  # built without OpenCL
    has_device = False
if has_device:
    on_device, its, _ = run("opencl", f"input.files={RECORDING}", wanted_dms, "dedisperse.0.backend=opencl")
    same(on_device[:, :series.shape[1]], series[np.isin(dms_of_all, its)], "OpenCL: the same integers")
    on_device, _, _ = run("floats", *wanted, "dedisperse.0.backend=opencl")
    close(on_device, some, 1e-6 * np.sqrt(np.mean(expected ** 2)), "OpenCL: floats to 1e-6")
else:
    note("no OpenCL device")
finish()
