"""Synthetic observations hold what their specification says: tones at their sky frequencies, with
their amplitudes and phases, noise of the stated variance, a pulsar with its period, phase, width
and dispersion; and the same bytes come out whatever the number of ranks and threads."""
import concurrent.futures
import hashlib

import h5py
import numpy as np

from common import (Failed, close, finish, note, ok, same, scratch, synth, voltages_of, voltmill,
                    write_yaml)

KINDS = [(4, "complex"), (8, "complex"), (16, "complex"), (32, "complex"), (8, "real"),
         (16, "real"), (32, "real")]
DISPERSION = 1e12 / 2.41e-4  # s Hz^2 per pc cm^-3


def run(name, archive, channels, kind, taps=4, normalise="energy", **product):
    product = {"kind": kind, "file": scratch(f"{name}.{kind}.h5"), **product}
    job = {"input": {"files": archive}, "products": [product],
           "channelise": {"channels": channels, "taps": taps, "normalise": normalise}}
    voltmill("run", write_yaml(f"{name}.{kind}.yaml", job))
    return product["file"]


# ---- tones and noise

RATE = 1e6
SAMPLES = 60000
CHANNELS = 50


class Sky:
    """Three coarse channels with two tones: one somewhere in the lowest, one at the centre of a
    channel of the highest."""

    def __init__(self, bits, domain):
        self.name, self.bits, self.real = f"{bits} bit {domain}", bits, domain == "real"
        self.step = RATE / 2 if self.real else RATE
        self.centres = 1.42e9 + self.step * np.arange(-1, 2)
        self.spacing = self.step / CHANNELS
        self.noise = {4: 1.4, 8: 9.0, 16: 700.0, 32: 0.375}[bits]
        self.low = dict(freq_hz=self.centres[0] + 0.3141592 * self.step,
                        amplitude=1.5 * self.noise, phase=0.2)
        self.high = dict(freq_hz=self.centres[2] - 17 * self.spacing, amplitude=1.25 * self.noise,
                         phase=-0.4)
        self.tones = [{key: float(value) for key, value in tone.items()}
                      for tone in (self.low, self.high)]

    def make(self):
        self.archive = synth(f"sky-{self.bits}-{self.real}", samples=SAMPLES,
                             streams={"pols": 2, "chans": 3}, bits=self.bits,
                             domain="real" if self.real else "complex", sample_rate_hz=RATE,
                             freq_hz=1.42e9, noise=self.noise, tones=self.tones, seed=3)
        self.product = run(f"sky-{self.bits}-{self.real}", self.archive, CHANNELS, "spectra",
                           normalise="peak")

    def phasor(self, tone):
        return tone["amplitude"] * np.exp(2j * np.pi * tone["phase"]) / (2 if self.real else 1)

    def check_archive(self):
        volts = voltages_of(self.archive)[0, 0]  # [pol][chan][time]
        same(volts.shape, (2, 3, SAMPLES), f"{self.name}: shape")
        ok(np.iscomplexobj(volts) != self.real, f"{self.name}: domain")
        with h5py.File(self.archive, "r") as file:
            close(file["freq_hz"][()], self.centres, 1e-6, f"{self.name}: coarse channels")

        # Integers add the variance of rounding, 1/12, to each component.
        parts = 1 if self.real else 2
        variance = self.noise ** 2 + (0 if self.bits == 32 else 1 / 12)
        middle = volts[:, 1]
        found = np.mean(np.abs(middle) ** 2, axis=-1) / parts
        close(found / variance, np.ones(2), 6 * np.sqrt(2 / parts / SAMPLES),
              f"{self.name}: variance of the noise")
        scatter = np.sqrt(variance * parts / SAMPLES)
        close(np.mean(middle, axis=-1), np.zeros(2), 6 * scatter, f"{self.name}: no offset")
        streams = np.vstack([middle, volts[:, 2] - np.mean(volts[:, 2])])[:3]
        cross = streams @ np.conj(streams.T) / SAMPLES
        close(np.tril(cross, -1), np.zeros((3, 3)), 8 * np.sqrt(3) * variance * parts
              / np.sqrt(SAMPLES), f"{self.name}: noise of streams is independent")

        # The least-squares amplitude of a tone, from the sky frequency alone.
        n = np.arange(SAMPLES)
        for chan, tone in ((0, self.low), (2, self.high)):
            lower = self.centres - self.step / 2 if self.real else self.centres
            turning = np.exp(-2j * np.pi * np.remainder((tone["freq_hz"] - lower[:, None]) / RATE
                                                        * n, 1))
            for c in range(3):
                expected = self.phasor(tone) if c == chan else 0
                # Not in the others: there, at the alias, it would be the same number.
                close(np.mean(volts[:, c] * turning[c], axis=-1), np.full(2, expected),
                      6 * scatter, f"{self.name}: tone {chan} in coarse channel {c}")

    def check_product(self):
        with h5py.File(self.product, "r") as product:
            spectra, frequency = product["spectra"][()], product["frequency"][()]
        power = np.mean(np.abs(spectra) ** 2, axis=0)  # [pol][frequency]
        half = len(frequency) // 2
        for part, tone, name in ((slice(0, half), self.low, "low"),
                                 (slice(half, None), self.high, "high")):
            top = np.argmax(power[:, part], axis=-1)
            away = np.abs(frequency[part][top] - tone["freq_hz"])
            ok((away <= self.spacing / 2 + 1e-6).all(), f"{self.name}: the {name} tone's channel",
               f"away by {away} Hz of {self.spacing:g}")
        # A tone at a channel's centre keeps amplitude and phase: whole turns from row to row.
        at = np.argmin(np.abs(frequency - self.high["freq_hz"]))
        rows = spectra[:, :, at].astype(np.complex128)
        scatter = np.std(rows, axis=0).max() * np.sqrt(4 / len(rows))
        close(np.mean(rows, axis=0), np.full(2, self.phasor(self.high)), 6 * scatter,
              f"{self.name}: amplitude and phase after the filter bank")
        ok(scatter < 0.05 * abs(self.phasor(self.high)), f"{self.name}: with little scatter")


def check_skies():
    skies = [Sky(*kind) for kind in KINDS]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for sky, made in zip(skies, [pool.submit(sky.make) for sky in skies]):
            try:
                made.result()
            except Failed as failure:
                ok(False, f"{sky.name}: is made", failure)
                continue
            sky.check_archive()
            sky.check_product()


# ---- the same bytes

def digest(name, ranks, threads, **changes):
    spec = dict(samples=70001, streams={"stations": 2, "pols": 2, "chans": 3}, bits=8,
                sample_rate_hz=1e6, freq_hz=1.4e9, noise=5.0, seed=11, source="nothing",
                tones=[{"freq_hz": 1.4e9 + 123456.7, "amplitude": 3.0}],
                pulsar={"period": 0.011, "dm": 40.0, "amplitude": 6.0})
    spec.update(changes)
    with open(synth(name, ranks=ranks, threads=threads, **spec), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def check_bytes():
    ways = [(None, 1)] + [(ranks, threads) for ranks in (1, 2, 3) for threads in (1, 2)]
    changes = {"seed": {"seed": 12}, "pulsar": {"pulsar": {"period": 0.012, "amplitude": 6.0}}}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        same_ones = [pool.submit(digest, f"bytes-{ranks}-{threads}", ranks, threads)
                     for ranks, threads in ways]
        other_ones = {name: pool.submit(digest, f"bytes-{name}", None, 1, **change)
                      for name, change in changes.items()}
    first = same_ones[0].result()
    for (ranks, threads), found in zip(ways[1:], same_ones[1:]):
        same(found.result(), first, f"the same file from {ranks} ranks of {threads} threads")
    for name, found in other_ones.items():
        ok(found.result() != first, f"another file with another {name}")


# ---- a pulsar

PULSAR = dict(period=0.08, dm=10.0, amplitude=5.0, width=0.05, phase=0.3)
NOISE = 12.0
BINS = 160


def profile(power, times, delays, period):
    """Mean power over all channels against phase, each channel moved ahead by its delay."""
    phase = np.remainder((times[:, None] - delays) / period, 1)
    which = np.minimum((phase * BINS).astype(int), BINS - 1).ravel()
    return (np.bincount(which, power.ravel(), BINS) / np.bincount(which, minlength=BINS))


def pulse(shape, width=BINS // 20):
    """S/N of the highest boxcar as wide as the pulse, and the phase of its centre."""
    turned = np.concatenate([shape, shape[:width - 1]])
    means = np.convolve(turned, np.ones(width) / width, "valid")
    floor = np.median(shape)
    scatter = 1.4826 * np.median(np.abs(shape - floor)) / np.sqrt(width)
    top = np.argmax(means)
    return (means[top] - floor) / scatter, (top + width / 2) / BINS % 1


def check_pulsar():
    rate, chans, middle = 0.5e6, 4, 150e6
    archive = synth("pulsar", samples=1000000, streams={"chans": chans}, bits=8,
                    sample_rate_hz=rate, freq_hz=middle, noise=NOISE, pulsar=PULSAR, seed=5)
    product = run("pulsar", archive, 32, "power", integrate=8)
    with h5py.File(product, "r") as file:
        power = file["data"][:, 0].astype(np.float64)
        times, frequency = file["time"][()], file["frequency"][()]
    power /= np.median(power, axis=0)
    top_hz = middle + chans / 2 * rate
    delay = DISPERSION * (frequency ** -2 - top_hz ** -2)  # s per pc cm^-3
    ok(delay[0] * PULSAR["dm"] > 0.5 * PULSAR["period"], "the band delays by half a period")

    trials = np.arange(0, 20.01, 0.5)
    ratios = np.array([pulse(profile(power, times, delay * dm, PULSAR["period"]))[0]
                       for dm in trials])
    best = trials[np.argmax(ratios)]
    high = ratios > 0.6 * ratios.max()
    centre = np.sum(trials[high] * ratios[high]) / np.sum(ratios[high])
    at_truth, at_zero = ratios[trials == PULSAR["dm"]][0], ratios[0]
    note(f"S/N {at_truth:.1f} at DM 10, {at_zero:.1f} at DM 0; highest at {best}, centre "
         f"{centre:.2f}")
    # Half a pulse (2 ms) is the delay across the band of a DM of 0.4.
    ok(abs(best - PULSAR["dm"]) <= 0.5, "S/N is highest at the pulsar's DM", best)
    ok(abs(centre - PULSAR["dm"]) <= 0.25, "and falls alike on both sides", centre)
    ok(at_truth > 20, "the pulse is found", at_truth)
    ok(at_zero < 0.3 * at_truth, "not so without dedispersion", at_zero)

    delays = delay * PULSAR["dm"]
    periods = PULSAR["period"] * (1 + np.arange(-20, 21) * 5e-4)
    ratios = [pulse(profile(power, times, delays, period))[0] for period in periods]
    found = periods[np.argmax(ratios)]
    # Half a pulse over the whole observation.
    turns = 2 / PULSAR["period"]  # in the 2 s of the observation
    close(found, PULSAR["period"], PULSAR["period"] * PULSAR["width"] / 2 / turns,
          "folding finds the period")
    shape = profile(power, times, delays, PULSAR["period"])
    _, phase = pulse(shape)
    close(phase, PULSAR["phase"], 0.25 * PULSAR["width"], "the pulse peaks at its phase")

    # The pulse adds power with a Gaussian profile: its height from its area.
    bins = (np.arange(BINS) + 0.5) / BINS - PULSAR["phase"]
    off = np.abs(bins) > 2 * PULSAR["width"]
    excess = shape / np.mean(shape[off]) - 1
    area = np.sum(excess[~off]) / BINS
    expected = (PULSAR["amplitude"] / NOISE) ** 2
    spread = np.sqrt(np.sum(excess[~off] * bins[~off] ** 2) / np.sum(excess[~off]))
    note(f"area / (amplitude^2 width) = {area / expected / PULSAR['width']:.3f}, spread / width = "
         f"{spread / PULSAR['width']:.3f}; of a Gaussian 1.064, 0.425")
    close(area / expected / PULSAR["width"], 1.064, 0.11, "the pulse has its power")
    close(spread / PULSAR["width"], 0.425, 0.06, "the pulse has its width")


def main():
    for part in (check_skies, check_bytes, check_pulsar):
        try:
            part()
        except Failed as failure:
            ok(False, f"{part.__name__}: runs", failure)
    finish()


main()
