"""Coarse channels whose telescope's ripple is undone: channels that our own oversampled bank has made, flat to
1e-3 dB behind `deripple`, by itself and within coherent dedispersion; prototypes as text, HDF5 and by name, at other
numbers of points. Nothing here comes from voltmill's C code."""
import hashlib
import math

import h5py
import numpy as np

from common import Failed, finish, ok, same, scratch, voltages_of, voltmill, write_archive, write_yaml

NUM, DEN, CHANNELS, TAPS = 32, 27, 96, 8
HOP = CHANNELS * DEN // NUM
RATE = 9.6e6
SPACING, COARSE = RATE / CHANNELS, RATE / HOP
random = np.random.default_rng(21)


def digest(name):
    return hashlib.sha256(open(scratch(name), "rb").read()).hexdigest()


def gains(b, points, f):
    """|H| of a prototype, 1 at the centre of a channel; f in channel spacings."""
    h = np.abs(np.exp(-2j * np.pi * np.outer(f, np.arange(len(b))) / points) @ b)
    return h / abs(b.sum())


def response(b, points, width, size=1 << 13):
    """Returns the factors of deripple at the frequencies of an FFT, as its page says."""
    f = np.fft.fftfreq(size) * width
    edge = width / 2
    left = np.array([1.0 if abs(x) <= 0.5 else 0.5 * math.erfc(3.9 * (2 * (abs(x) - 0.5) / (edge - 0.5) - 1)) for x in f])
    half = gains(b, points, np.abs(f[:size // 2 + 1]))
    h = np.concatenate([half, half[-2:0:-1]])
    return 1 + (1 / np.maximum(h, 0.1) - 1) * left


def job(name, files, filters, products=None, **more):
    products = products or [{"kind": "voltages", "bits": 32}]
    made = [dict(product, file=f"{name}-{i}.h5") for i, product in enumerate(products)]
    return write_yaml(f"{name}.yaml", {"input": {"files": files}, "filter": filters, "products": made, **more})


def refused(words, path):
    try:
        voltmill("plan", path)
        ok(False, f"{words}: refused")
    except Failed as failed:
        ok("exit 2" in str(failed) and words in str(failed), f"{words}: refused", failed)


# A tone in every channel, each at another place of its kept part, through our own bank of 8 taps.
spectra = 4200
n = np.arange(spectra * HOP + TAPS * CHANNELS)
offset = (random.permutation(CHANNELS) + 0.5) / CHANNELS - 0.5
offset[0] = 0.02  # its neighbour is at the other end of the band
volts = np.exp(2j * np.pi * (((offset[0] - CHANNELS // 2) / CHANNELS * n) % 1))
period = n[:2 * CHANNELS ** 2]  # of all others
volts += np.resize(sum(np.exp(2j * np.pi * (((m - CHANNELS // 2 + offset[m]) / CHANNELS * period) % 1))
                       for m in range(1, CHANNELS)), len(n))
sky = write_archive("sky", np.stack([volts.real, volts.imag], -1).astype("f4"), "time,reim", RATE, "complex", centres=[1e8])
voltmill("run", write_yaml("bank.yaml", {
    "input": {"files": sky}, "channelise": {"channels": CHANNELS, "taps": TAPS, "oversample": {"num": NUM, "den": DEN}},
    "products": [{"kind": "spectra", "file": "bank.h5"}]}))
with h5py.File(scratch("bank.h5")) as file:
    made = file["spectra"][...].reshape(-1, CHANNELS)
    b = file["coefficients"][...].ravel()
    centres = file["frequency"][...]
text = scratch("b.txt")
np.savetxt(text, b)
stored = np.stack([made.real, made.imag], -1).astype("f4")
coarse = write_archive("coarse", stored, "time,chan,reim", COARSE, "complex", centres=centres,
                       attributes={"oversampling_num": np.int32(NUM), "oversampling_den": np.int32(DEN)})


def tones(streams):
    """The level of each channel's tone, in dB of the one at a centre, [channel]."""
    count = streams.shape[-1]
    t = 2 * np.pi * (np.arange(count) + 0.5) / count
    window = 0.35875 - 0.48829 * np.cos(t) + 0.14128 * np.cos(2 * t) - 0.01168 * np.cos(3 * t)
    at = offset * DEN / NUM  # turns a coarse sample
    level = np.array([abs((window * streams[m] * np.exp(-2j * np.pi * ((at[m] * np.arange(count)) % 1))).sum()) for m in range(CHANNELS)])
    return 20 * np.log10(level / level[0])


before = tones(voltages_of(coarse)[0, 0, 0])
deripple = {"deripple": {"prototype": text, "points": CHANNELS}}
said = voltmill("plan", job("flat", coarse, deripple))
ok("151 real coefficients, deripple of up to 0.364 dB, 75 samples to either side (-10" in said, "plan says how long it is and what it does", said)
voltmill("run", scratch("flat.yaml"))
flat = voltages_of(scratch("flat-0.h5"))[0, 0, 0]
after = tones(flat)
truth = 20 * np.log10(gains(b, CHANNELS, offset) / gains(b, CHANNELS, offset[:1]))
alone = np.abs(before - truth) < 1e-4  # no other channel's tone folds onto theirs
ok(alone.sum() >= CHANNELS - 4 and np.ptp(before) > 0.3 and np.ptp(after[alone]) < 1e-3, "tones are flat to 1e-3 dB",
   f"{np.ptp(before):.3g} dB before, {np.ptp(after[alone]):.3g} behind, {alone.sum()} of them")
voltmill("verify", "--all", scratch("flat-0.h5"))

# Against numpy, sample by sample.
streams = voltages_of(coarse)[0, 0, 0]
impulse = np.fft.fftshift(np.fft.ifft(response(b, CHANNELS, NUM / DEN)).real)
middle = len(impulse) // 2
impulse = impulse[middle - 400:middle + 401]
expected = np.array([np.convolve(stream, impulse, "valid") for stream in streams])
found = flat[:, 400 - 75:400 - 75 + expected.shape[-1]]
error = np.sqrt(np.mean(np.abs(found - expected) ** 2) / np.mean(np.abs(expected) ** 2))
ok(error < 2e-5, "as numpy has it", f"rms error {error:.3g}")

# The same bytes at any cut.
for ranks, run in ((1, {"chunk": 100}), (3, {"chunk": 577, "memory": "128MiB"})):
    voltmill("run", job("cut", coarse, deripple, run=run), ranks=ranks)
    same(digest("cut-0.h5"), digest("flat-0.h5"), f"the same bytes on {ranks} ranks, {run}")
    voltmill("run", "--force", job("cut", coarse, deripple, run=run), ranks=ranks)

# Within coherent dedispersion: as one after the other.
chirp = {"dm": 0.003}
voltmill("run", job("two", coarse, [deripple, {"dispersion": chirp}]))
path = job("one", coarse, {"dispersion": dict(chirp, **deripple)})
ok("deripple of up to 0.364 dB" in voltmill("plan", path), "plan says it of dispersion, too")
voltmill("run", path)
voltmill("verify", "--all", scratch("one-0.h5"))
one, two = (voltages_of(scratch(name))[0, 0, 0] for name in ("one-0.h5", "two-0.h5"))
same(one.shape, two.shape, "as many samples of either")
best = np.sqrt(np.mean(np.abs(one - two) ** 2) / np.mean(np.abs(two) ** 2))
ok(best < 1e-5, "one response or two filters", f"rms difference {best:.3g}")

# The prototype in HDF5: the very same samples.
with h5py.File(scratch("b.h5"), "w") as file:
    file["other"] = np.arange(3.0)
    file["group/b"] = b[None, :]
named = scratch("b.h5") + ":/group/b"
voltmill("run", "--force", job("kind", coarse, {"deripple": {"prototype": named, "points": CHANNELS}}))
same(float(np.abs(voltages_of(scratch("kind-0.h5"))[0, 0, 0] - flat).max()), 0.0, "from HDF5")

# A bank of other channels with the same prototype: as the one designed for them.
for channels in (64, 160):
    sets = ["--set", f"channelise.channels={channels}", "--set", "channelise.taps=8", "--force"]
    voltmill("run", scratch("bank.yaml"), *sets, "--set", f"products.0.file=own-{channels}.h5")
    voltmill("run", scratch("bank.yaml"), *sets, "--set", f"products.0.file=theirs-{channels}.h5", "--set",
             f"channelise.window=file:{named}", "--set", f"channelise.window_points={CHANNELS}")
    with h5py.File(scratch(f"own-{channels}.h5")) as own, h5py.File(scratch(f"theirs-{channels}.h5")) as theirs:
        difference = np.abs(own["coefficients"][...] - theirs["coefficients"][...]).max() / own["coefficients"][...].max()
    ok(difference < 1e-3, f"a prototype of 96 points at {channels}", f"{difference:.3g}")
try:
    voltmill("plan", scratch("bank.yaml"), "--force", "--set", "channelise.channels=64", "--set", f"channelise.window=file:{named}")
    ok(False, "another length is refused")
except Failed as failed:
    ok("768 filter coefficients; 512 expected (8 taps times 64 samples per spectrum)" in str(failed), "another length is refused", failed)

# By name, critically sampled.
impulse = np.zeros((9000, 2, 2), "f4")
impulse[4500, :, 0] = 1
single = write_archive("single", impulse, "time,chan,reim", 390625.0, "complex", centres=[600e6, 600390625.0])
voltmill("run", job("chime", single, {"deripple": {"prototype": "chime"}, "edges": "pad"}))
found = np.abs(np.fft.fft(voltages_of(scratch("chime-0.h5"))[0, 0, 0, 1]))
n = np.arange(8192)
chime = np.sinc((n - 4096) / 2048) * (0.08 + 0.92 * np.hanning(8192))
f = np.fft.fftfreq(len(found))
inner = np.flatnonzero(np.abs(f) < 0.48)[::32]
ripple = np.ptp(20 * np.log10(found[inner] * gains(chime, 2048, f[inner])))
ok(ripple < 2e-3, "CHIME's channels are flat", f"{ripple:.3g} dB")

# Refused jobs.
real = write_archive("real", random.normal(0, 1, (5000, 1)).astype("f4"), "time,chan", 1e6, "real", centres=[1e8])
refused("deripple.points is missing", job("bad", coarse, {"deripple": {"prototype": text}}))
refused("has it 40 points a channel?", job("bad", coarse, {"deripple": {"prototype": text, "points": 40}}))
refused("these are real", job("bad", real, {"deripple": {"prototype": text, "points": CHANNELS}}))
refused("filter.0 decimates them", job("bad", coarse, [{"design": {"kind": "lowpass", "edges": [2e4, 3e4], "offset": "true"}, "decimate": 2}, deripple]))
refused("aliases the band, which deripple passes whole", job("bad", coarse, dict(deripple, decimate=2)))
refused("expected exactly one", job("bad", coarse, dict(deripple, coefficients=text)))
finish()
