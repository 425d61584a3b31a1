"""Oversampled filter banks as products: spectra, power, Stokes parameters and few bits computed once more in numpy,
times, frequencies and widths, equal bytes on any number of ranks, in any chunks and after a kill, with samples that
are missing, behind a filter, and what is refused."""
import hashlib
import os
import shutil
import signal
import subprocess
import time

import h5py
import numpy as np

from common import (ENVIRONMENT, SCRATCH, VOLTMILL, Failed, agrees, close, coefficients, finish, frequencies_of, ok,
                    power_of, same, scratch, stitched, synth, voltages_of, voltmill, write_archive, write_yaml)

RATE = 1e6


def bank_of(volts, b, hop, real=False):
    """Spectra [..., spectrum][channel]: the samples from s hop on, weighted and folded; the transform counts its
    exponents from there, and is turned to count them from sample 0."""
    taps, period = b.shape
    count = (volts.shape[-1] - taps * period) // hop + 1
    m = np.arange(period)
    rows = []
    for s in range(count):
        window = volts[..., s * hop:s * hop + taps * period] * b.ravel()
        folded = window.reshape(*window.shape[:-1], taps, period).sum(-2)
        rows.append(np.fft.fft(folded) * np.exp(-2j * np.pi * (s * hop * m % period) / period))
    spectra = np.stack(rows, -2)
    return spectra[..., :period // 2] if real else np.roll(spectra, period // 2, axis=-1)


def kaiser(num, den, taps):
    """Kaiser's formulas for a transition of num/den - 1 channels."""
    attenuation = 7.95 + 2.285 * 2 * np.pi * (num / den - 1) * taps
    if attenuation > 50:
        return 0.1102 * (attenuation - 8.7)
    return 0.5842 * (attenuation - 21) ** 0.4 + 0.07886 * (attenuation - 21) if attenuation > 21 else 0


def digest(name):
    return hashlib.sha256(open(scratch(name), "rb").read()).hexdigest()


def job(name, archive, channelise, products, **more):
    made = [dict(product, file=f"{name}-{i}.h5") for i, product in enumerate(products)]
    return write_yaml(f"{name}.yaml", {"input": {"files": archive}, "channelise": channelise, "products": made, **more})


obs = synth("obs", samples=40007, streams={"pols": 2, "chans": 2}, bits=8, sample_rate_hz=RATE, freq_hz=100e6,
            noise=20, tones=[{"freq_hz": 100.123e6, "amplitude": 60}], seed=3)
volts = voltages_of(obs)
with h5py.File(obs) as file:
    CENTRES = file["freq_hz"][...]
PRODUCTS = [{"kind": "spectra"}, {"kind": "power", "integrate": 7}, {"kind": "power", "integrate": 5, "polarisation": "IQUV"},
            {"kind": "power", "integrate": 3, "bits": 8}, {"kind": "spectra", "bits": 8, "scales": "first"}]
for num, den, channels, taps in ((32, 27, 96, 5), (4, 3, 64, 20), (8, 7, 256, 3), (2, 1, 30, 4)):
    name, hop = f"bank-{num}-{den}", channels * den // num
    bank = {"channels": channels, "taps": taps, "oversample": {"num": num, "den": den}}
    b = coefficients(channels, taps, False, f"kaiser:{kaiser(num, den, taps)}", num / den)
    expected = stitched(bank_of(volts, b, hop))
    voltmill("run", job(name, obs, bank, PRODUCTS))
    with h5py.File(scratch(name + "-0.h5")) as file:
        found = file["spectra"][...]
        found = found["r"] + 1j * found["i"] if found.dtype.names else found
        agrees(found.reshape(expected.shape), expected, f"{num}/{den}: spectra", spectra=2)
        close(file["coefficients"][...], b, 1e-12, "the coefficients")
        seconds = ((taps * channels - 1) / 2 + np.arange(len(expected)) * hop) / RATE
        close(file["time"][...], seconds, 1e-12, "times of spectra")
        close(file["frequency"][...], frequencies_of(CENTRES, RATE, channels, False), 1e-6, "frequencies")
        close([file.attrs[key] for key in ("oversampling_num", "oversampling_den", "samples_between_spectra",
                                           "channel_spacing_hz", "channel_width_hz", "time_step")],
              [num, den, hop, RATE / channels, RATE / hop, hop / RATE], 1e-6, "what it says of itself")
    with h5py.File(scratch(name + "-1.h5")) as file:
        agrees(file["data"][...], power_of(expected, 7), "power", spectra=2)
        close(file["time"][1] - file["time"][0], 7 * hop / RATE, 1e-12, "rows are that far apart")
        close([file["data"].attrs["tsamp"], 1e6 * file["data"].attrs["foff"]], [7 * hop / RATE, RATE / channels], 1e-6,
              "and its header says so")
    a, c = expected[:, 0, 0, 0], expected[:, 0, 0, 1]
    stokes = np.stack([abs(a) ** 2 + abs(c) ** 2, abs(a) ** 2 - abs(c) ** 2, 2 * (a * c.conj()).real, -2 * (a * c.conj()).imag], 1)
    rows = len(stokes) // 5
    with h5py.File(scratch(name + "-2.h5")) as file:
        summed = stokes[:rows * 5].reshape(rows, 5, 4, -1).sum(1)
        found = file["data"][...]
        found[:, 3] *= np.sign((found[:, 3] * summed[:, 3]).sum())  # which hand is positive is told elsewhere
        close(found / summed[:, :1].mean(), summed / summed[:, :1].mean(), 5e-5, "Stokes parameters")
    for i in range(len(PRODUCTS)):
        voltmill("verify", scratch(f"{name}-{i}.h5"))

first = [digest(f"bank-32-27-{i}.h5") for i in range(len(PRODUCTS))]
bank = {"channels": 96, "taps": 5, "oversample": {"num": 32, "den": 27}}
for ranks, run in ((2, {"chunk": 1}), (3, {"chunk": 90, "memory": "128MiB"})):
    path = job("again", obs, bank, PRODUCTS, run=run)
    voltmill("run", "--force", path, ranks=ranks)
    same([digest(f"again-{i}.h5") for i in range(len(PRODUCTS))], first, f"the same bytes on {ranks} ranks, {run}")

# A kill, and on with it.
path = job("killed", obs, bank, PRODUCTS, run={"chunk": 1, "sync": 0.01})
for delay in (0.2, 0.4):
    process = subprocess.Popen([VOLTMILL, "run", path], cwd=SCRATCH, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
voltmill("run", path)
same([digest(f"killed-{i}.h5") for i in range(len(PRODUCTS))], first, "the same bytes after kills")

# Beside a bank that is not oversampled, which makes what it makes alone.
both = [dict(bank, name="wide"), {"name": "plain", "channels": 64, "taps": 4}]
voltmill("run", job("both", obs, both, [{"kind": "power", "integrate": 7, "bank": "wide"}, {"kind": "power", "bank": "plain"}]))
voltmill("run", job("plain", obs, {"channels": 64, "taps": 4}, [{"kind": "power"}]))
same([digest("both-0.h5"), digest("both-1.h5")], [first[1], digest("plain-0.h5")], "two banks, one of them oversampled")

# Real samples, some of which are missing: a spectrum weighs what is there of its own samples.
random = np.random.default_rng(7)
values = random.normal(0, 1, (20011, 1)).astype("f4")
values[5000:5600] = np.nan
values[random.integers(0, len(values), 30)] = np.nan
real = write_archive("real", values, "time,pol", RATE, "real", centres=[1e8], gaps=[[9000, 2000], [20000, 7]])
bank = {"channels": 48, "taps": 6, "oversample": {"num": 4, "den": 3}}
voltmill("run", job("real", real, bank, [{"kind": "spectra"}, {"kind": "power", "integrate": 4, "weights": "raw"}]))
good = np.isfinite(values[:, 0])
good_of_gaps = np.ones(len(values), bool)
good_of_gaps[9000:11000] = good_of_gaps[20000:20007] = False
good &= good_of_gaps
b = coefficients(48, 6, True, f"kaiser:{kaiser(4, 3, 6)}", 4 / 3)
expected = bank_of(np.where(good, np.nan_to_num(values[:, 0]), 0).astype("f8")[None], b, 72, real=True)[0]
used = (len(expected) - 1) * 72 + b.size
share = np.array([(b.ravel() ** 2)[good[s * 72:s * 72 + b.size]].sum() for s in range(len(expected))]) / (b ** 2).sum()
with h5py.File(scratch("real-0.h5")) as file:
    found = file["spectra"][:, 0, 0, 0] if file["spectra"].ndim == 5 else file["spectra"][...].reshape(expected.shape)
    seen = share >= 0.1
    agrees(found[seen], expected[seen], "real samples, of which some are missing")
    close(file["weights"][:, 0, 0], share, 1e-6, "weights")
    same(int(file["provenance/missing_samples"][()]), int((~np.isfinite(values[:used, 0]) & good_of_gaps[:used]).sum()),
         "missing samples are counted once")
voltmill("run", "--force", job("real2", real, bank, [{"kind": "spectra"}, {"kind": "power", "integrate": 4, "weights": "raw"}],
                               run={"chunk": 1}), ranks=3)
same([digest("real2-0.h5"), digest("real2-1.h5")], [digest("real-0.h5"), digest("real-1.h5")], "and on 3 ranks")

# Behind a filter that decimates; dedispersed.
np.savetxt(scratch("taps.txt"), np.sinc((np.arange(101) - 50) / 3) * np.hanning(101))
chain = {"coefficients": scratch("taps.txt"), "decimate": 2, "aliasing": "allow"}
bank = {"channels": 64, "taps": 12, "oversample": {"num": 4, "den": 3}}
made = [{"kind": "power", "integrate": 4}]
series = {"dm": {"start": 0, "step": 0.05, "count": 3}, "file": "behind.series.h5"}
voltmill("run", job("behind", obs, bank, made, filter=chain, dedisperse=series))
voltmill("run", job("behind3", obs, bank, made, filter=chain, run={"chunk": 16}), ranks=3)
same(digest("behind-0.h5"), digest("behind3-0.h5"), "behind a filter, on 3 ranks")
voltmill("verify", "--all", scratch("behind-0.h5"))
voltmill("verify", "--all", scratch("behind.series.h5"))
with h5py.File(scratch("behind.series.h5")) as file, h5py.File(scratch("behind-0.h5")) as power:
    close(file.attrs["time_step"], 4 * 48 * 2 / RATE, 1e-12, "its series have its times")

# The requested attenuation is reached, and reported.
plan = voltmill("plan", job("asked", obs, {"channels": 64, "attenuation": 100, "oversample": {"num": 32, "den": 27}}, made))
ok("oversampled   32/27: a spectrum every 54 samples" in plan and "taps          35, window kaiser" in plan and
   "aliasing      101" in plan, "plan says what attenuation takes and reaches", plan)

for change, words in (({"channels": 1000}, "the nearest that will do is 992"),
                      ({"oversample": {"num": 27, "den": 32}}, "expected num to be greater than den"),
                      ({"oversample": {"num": 4}}, "channelise.oversample.den"),
                      ({"cutoff": "flat"}, "flat as they are"),
                      ({"attenuation": 60}, "expected one of them")):
    bad = {"channels": 64, "taps": 4, "oversample": {"num": 32, "den": 27}, **change}
    try:
        voltmill("plan", job("bad", obs, bad, made))
        ok(False, f"{words}: refused")
    except Failed as failed:
        ok("exit 2" in str(failed) and words in str(failed), f"{words}: refused", failed)
for bad, made_bad, words in (({"channels": 64, "attenuation": 60}, made, "expected oversample beside it"),
                             (bank, [dict(made[0], integrate=16, flag={"kurtosis": 5})], "share samples")):
    try:
        voltmill("plan", job("bad", obs, bad, made_bad))
        ok(False, f"{words}: refused")
    except Failed as failed:
        ok("exit 2" in str(failed) and words in str(failed), f"{words}: refused", failed)

# A ratio is one, however it is written; info says it.
for name, ratio in (("terms", {"num": 4, "den": 3}), ("multiples", {"num": 8, "den": 6})):
    voltmill("run", job(name, obs, {"channels": 64, "taps": 12, "oversample": ratio}, made))
same(digest("multiples-0.h5"), digest("terms-0.h5"), "8/6 is 4/3")
info = voltmill("info", scratch("multiples-0.h5"))
ok("oversampled   4/3: a spectrum every 48 samples" in info, "info says that channels are oversampled", info)
for name, value, words in (("oversampling_num", -4, "oversampling_num is negative or too large"), ("taps", -1, "taps is negative"),
                           ("samples_between_spectra", 0, "oversampled by 4/3, spectra 0 samples apart")):
    shutil.copy(scratch("multiples-0.h5"), scratch("attribute.h5"))
    with h5py.File(scratch("attribute.h5"), "r+") as file:
        file.attrs.modify(name, value)
    said = voltmill("info", scratch("attribute.h5"), status=4)
    ok(words in said and said.count("error:") == 1, f"{name} = {value} of a product is refused", said)
ok("damp what folds" not in voltmill("plan", scratch("terms.yaml")), "enough taps need no note")
plan = voltmill("plan", job("few", obs, {"channels": 64, "taps": 8, "oversample": {"num": 32, "den": 27}}, made))
ok("8 taps damp what folds into a channel's kept part by 2" in plan, "few taps are noted", plan)
np.savetxt(scratch("window.txt"), np.hanning(512))
plan = voltmill("plan", job("window", obs, {"channels": 64, "taps": 8, "window": "file:" + scratch("window.txt")}, made))
ok("window file:" in plan and "cutoff" not in plan, "a file of coefficients has no cutoff", plan)
finish()
