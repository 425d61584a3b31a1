"""A dispersed pulsar made by `voltmill synth` as voltages, ground and dedispersed by jobs/pulsar.yaml in
one run: its DM and its period come back. And what other programs get of it."""
import os

import h5py
import numpy as np

from common import ROOT, close, finish, note, ok, same, scratch, voltmill

DM, PERIOD = 26.77, 0.0213

archive, power, product = scratch("pulsar.h5"), scratch("power.h5"), scratch("series.h5")
voltmill("synth", os.path.join(ROOT, "data/samples/pulsar.yaml"), "--set", f"file={archive}")
said = voltmill("run", os.path.join(ROOT, "jobs/pulsar.yaml"), "--set", f"input.files={archive}",
                "--set", f"products.0.file={power}", "--set", f"dedisperse.0.file={product}",
                "--set", "run.chunk=1000", ranks=2)
with h5py.File(product, "r") as file:
    series, dms, times = (file[name][()] for name in ("dedispersed", "dm", "time"))
with h5py.File(power, "r") as file:
    rows, hertz, row_times = (file[name][()] for name in ("data", "frequency", "time"))
step = times[1] - times[0]


def harmonics(one):
    """Powers of four harmonics together, for each fundamental; in units of the median."""
    spectrum = np.abs(np.fft.rfft(one - one.mean(), 4 * len(one))) ** 2
    count = len(spectrum) // 4
    sums = sum(spectrum[np.arange(count) * k] for k in (1, 2, 3, 4))
    sums[:4 * 4] = 0  # slower than a quarter of the series
    return sums / np.median(sums)


def folded(one, period, bins=32):
    """How much the bins of a profile differ, in units of what noise gives."""
    place = (np.arange(len(one)) * step / period % 1 * bins).astype(int)
    count = np.bincount(place, minlength=bins)
    profile = np.bincount(place, one, bins) / count
    return np.sum((profile - one.mean()) ** 2 * count) / one.var() / (bins - 1)


# Few harmonics find the period, sharp profiles the DM.
strength = np.array([harmonics(one).max() for one in series])
first = strength.argmax()
fundamental = harmonics(series[first]).argmax() / (4 * len(times) * step)
trials = np.linspace(0.97, 1.03, 601) / fundamental
period = trials[np.argmax([folded(series[first], trial) for trial in trials])]
contrast = np.array([folded(one, period) for one in series])
best = contrast.argmax()
ok(abs(dms[best] - DM) <= 0.5, "the pulsar's DM", f"{dms[best]} of {DM}")
ok(strength[best] > 20 * strength[0], "it stands out", strength)
note(f"DM {dms[best]:g} of {DM}, period {period * 1e3:.4f} ms of {PERIOD * 1e3:g}, "
     f"{strength[best]:.0f} times the median, {strength[0]:.0f} at DM 0")
ok(abs(period / PERIOD - 1) < 2e-3, "its period", f"{period} s, expected {PERIOD}")

# Against the power that the same run has made: delays of our own.
mhz = hertz / 1e6
delays = np.floor(np.outer(dms, (mhz ** -2 - mhz.max() ** -2) / 2.41e-4) / step + 0.5).astype(int)
expected = np.zeros(series.shape)
for d, row in enumerate(delays):
    for c, delay in enumerate(row):
        expected[d] += rows[delay:delay + series.shape[1], :, c].sum(1)
close(series, expected, 1e-6 * np.sqrt(np.mean(expected ** 2)), "the series of the power")
same(series.shape[1], len(rows) - delays.max(), "all valid outputs")
close(times, row_times[:len(times)], 1e-12, "times are those of the highest frequency")

# To PRESTO and SIGPROC.
voltmill("export", "--format", "dat", "--dm", f"{dms[best]:g}", product)
voltmill("export", "--format", "fil", power)
stem = f"{product[:-len('.h5')]}_DM{dms[best]:.2f}"
dat = np.fromfile(stem + ".dat", "<f4")  # PRESTO wants an even number
ok(len(dat) == len(times) // 2 * 2 and np.array_equal(dat, series[best, :len(dat)]), "export: .dat")
with open(stem + ".inf") as file:
    inf = dict(line.split("=", 1) for line in file.read().splitlines() if "=" in line)
inf = {key.strip(): value.strip() for key, value in inf.items()}
ok(abs(float(inf["Width of each time series bin (sec)"]) - step) < 1e-12 and
   inf["Object being observed"] == "pulsar" and int(inf["Number of channels"]) == 128 and
   abs(float(inf["Central freq of low channel (MHz)"]) - mhz.min()) < 1e-6, "export: .inf", inf)
bank = np.fromfile(power[:-len(".h5")] + ".fil", "u1")
same(bank[-rows.nbytes:].view("<f4").reshape(rows.shape), rows[:, :, ::-1], "export: .fil")

voltmill("verify", product)
voltmill("verify", power)
ok(True, "verify of both")
finish()
