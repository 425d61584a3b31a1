"""Sources of synthetic observations: a tone that drifts is found at its drift, across coarse channels and in both
sidebands, by a plain search (and by turbo_seti, where it can be imported); polarised ones have their Stokes
parameters in a product, whatever the feeds, within noise; pulsed ones have their duty, band and power; the same bytes
come from any number of ranks."""
import hashlib

import h5py
import numpy as np

from common import finish, note, ok, same, scratch, synth, voltmill, write_yaml


def run(name, archive, channels, **product):
    product = {"kind": "power", "file": scratch(f"{name}.power.h5"), **product}
    job = {"input": {"files": archive}, "channelise": {"channels": channels, "taps": 4, "window": "hann"}, "products": [product]}
    voltmill("run", "--force", write_yaml(f"{name}.yaml", job))
    with h5py.File(product["file"]) as file:
        return file["data"][...].astype("f8"), file["frequency"][...], file["time"][...]


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


# ---- drift

def search(power, frequency, times, drifts):
    """S/N, drift, and frequency at time 0 of the best straight line: power [time][channel] is moved back by each
    drift and added up."""
    power = power / np.median(power, axis=0) - 1
    spacing = frequency[1] - frequency[0]
    best = (0, 0, 0)
    for drift in drifts:
        back = np.rint(drift * times / spacing).astype(int)
        total = sum(np.roll(row, -shift) for row, shift in zip(power, back))
        scatter = 1.4826 * np.median(np.abs(total - np.median(total)))
        at = total.argmax()
        best = max(best, (total[at] / scatter, drift, frequency[at]))
    return best


RATE, DUMPS, FINE = 65536, 64, 8192
SECONDS = (DUMPS + 3) * FINE / RATE
DRIFTS = np.arange(-16, 16.01, 0.25)


def drifting(name, real, sideband, drift, chans):
    """A weak tone that drifts over the border between the coarse channels, if there are two."""
    step, middle = RATE / (2 if real else 1), 1420.4e6
    fine = FINE // 2 if real else FINE
    start = middle - drift * SECONDS / 2 + (0 if chans == 2 else 0.2 * step)
    archive = synth(name, samples=(DUMPS + 3) * FINE, streams={"pols": 2, "chans": chans}, bits=8,
                    domain="real" if real else "complex", sideband=sideband, sample_rate_hz=float(RATE),
                    freq_hz=middle, noise=20.0, seed=9,
                    tones=[{"freq_hz": float(start), "amplitude": 1.2, "drift_hz_per_s": drift}])
    power, frequency, times = run(name, archive, fine, polarisation="I")
    return start, search(power[:, 0], frequency, times, DRIFTS)


def check_drifts():
    spacing = RATE / FINE
    for number, drift in enumerate((-7.25, 11.5, 3.75, -14.0, 5.0, -9.5)):
        real, sideband, chans = number % 2 == 1, -1 if number in (1, 2, 5) else 1, 1 if number == 4 else 2
        start, (ratio, found, at) = drifting(f"drift{number}", real, sideband, drift, chans)
        what = f"{drift} Hz/s, {'real' if real else 'complex'}, sideband {sideband}, coarse channels: {chans}"
        ok(ratio > 15 and abs(found - drift) <= 0.5 and abs(at - start) <= 2 * spacing, f"a tone that drifts: {what}",
           ratio, found, at, start)
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        return note("SKIP turbo_seti does not find it too: it needs numpy below 2.4")
    try:
        import turbo_seti.find_doppler.find_doppler as doppler
    except ImportError as failure:
        return note(f"SKIP turbo_seti does not find it too: {failure}")
    doppler.FindDoppler(scratch("drift4.power.h5"), max_drift=10.0, snr=10.0, out_dir=scratch("")).search()
    with open(scratch("drift4.power.dat")) as file:
        hits = [line.split() for line in file if not line.startswith("#")]
    note(hits)
    ok(len(hits) == 1 and abs(float(hits[0][1]) - 5) < 0.5, "turbo_seti finds it at its drift, and nothing else", hits)


# ---- polarisation

STOKES = [{"q": 1.0}, {"q": -1.0}, {"u": -1.0}, {"v": 1.0}, {"i": 2.0, "q": 1.2, "v": -1.6}, {"linear_deg": 120.0},
          {"circular": "right"}, {"circular": "left"}]


def fractions(polarisation):
    """Q, U, V as shares of I."""
    if "linear_deg" in polarisation:
        angle = np.radians(2 * polarisation["linear_deg"])
        return np.array([np.cos(angle), np.sin(angle), 0])
    if "circular" in polarisation:
        return np.array([0, 0, 1 if polarisation["circular"] == "right" else -1])
    return np.array([polarisation.get(key, 0) for key in "quv"]) / polarisation.get("i", 1)


FEEDS = [(["X", "Y"], False, 1), (["Y", "X"], True, -1), (["R", "L"], False, -1), (["L", "R"], True, 1),
         (["R", "L"], True, 1), (["X", "Y"], False, -1)]


def check_tones():
    """Tones of 32-bit samples without noise: nothing but the filter bank's own rounding is between."""
    rate, channels = 1e6, 64
    for number, (names, real, sideband) in enumerate(FEEDS):
        width = rate / (2 if real else 1)
        tones = [{"freq_hz": 1e8 + width * ((8 * k + 4) / channels - 0.5), "amplitude": 3.0, "phase": 0.1 * k,
                  "polarisation": polarisation} for k, polarisation in enumerate(STOKES)]
        archive = synth(f"tones{number}", samples=20000, streams={"pols": 2}, polarisations=names, bits=32,
                        domain="real" if real else "complex", sideband=sideband, sample_rate_hz=rate, freq_hz=1e8,
                        tones=tones)
        power, frequency, _ = run(f"tones{number}", archive, channels, polarisation="IQUV", integrate=16)
        total = power.sum(0)
        at = [np.abs(frequency - tone["freq_hz"]).argmin() for tone in tones]
        found = (total[1:, at] / total[0, at]).T
        expected = np.array([fractions(polarisation) for polarisation in STOKES])
        ok(np.abs(found - expected).max() < 1e-5 and np.ptp(total[0, at]) < 1e-4 * total[0, at[0]],
           f"Stokes parameters of polarised tones: {names}, {'real' if real else 'complex'}, sideband {sideband}",
           np.abs(found - expected).max(), found)


def check_noise():
    """Noise sources behind receiver noise of 8 bits: shares of the power that is not the receiver's."""
    rate, channels, noise, amplitude = 1e6, 16, 12.0, 9.0
    for number, (names, real, sideband) in enumerate(FEEDS[:4]):
        polarisation = [{"q": 0.4, "u": -0.3, "v": 0.5}, {"i": 2.0, "q": -1.4, "v": 1.0}, {"i": 1.0},
                        {"v": -0.7}][number]
        archive = synth(f"noise{number}", samples=1 << 20, streams={"pols": 2}, polarisations=names, bits=8,
                        domain="real" if real else "complex", sideband=sideband, sample_rate_hz=rate, freq_hz=1e8,
                        noise=noise, noise_sources=[{"amplitude": amplitude, "polarisation": polarisation}], seed=2)
        power, _, _ = run(f"noise{number}", archive, channels, polarisation="IQUV", integrate=1024)
        spectra = power.shape[0] * 1024
        total = power[:, :, 1:].sum(0).mean(1) / spectra
        share = total[1:] / total[0] * (noise**2 + amplitude**2 + 1 / 12) / amplitude**2
        # The standard error of a mean of `spectra * (channels - 1)` independent powers, times the receiver's noise.
        allowed = 5 * 1.5 * (noise**2 + amplitude**2) / amplitude**2 / np.sqrt(spectra * (channels - 1))
        ok(np.abs(share - fractions(polarisation)).max() < allowed,
           f"Stokes parameters of polarised noise: {names}, {'real' if real else 'complex'}, sideband {sideband}",
           share, fractions(polarisation), allowed)


def check_pulsar():
    """A dispersed pulsar without receiver noise: its Stokes parameters are those of its own noise."""
    for number, (names, real, sideband) in enumerate(FEEDS[:4]):
        polarisation = [{"q": 0.6, "u": -0.3, "v": 0.5}, {"circular": "left"}, {"u": 0.9},
                        {"i": 2.0, "q": -1.0, "v": 1.2}][number]
        archive = synth(f"pulsar{number}", samples=400000, streams={"pols": 2}, polarisations=names, bits=32,
                        domain="real" if real else "complex", sideband=sideband, sample_rate_hz=1e6, freq_hz=3e8,
                        seed=8, pulsar={"period": 0.01, "dm": 5.0, "amplitude": 4.0, "width": 0.2,
                                        "polarisation": polarisation})
        power, _, _ = run(f"pulsar{number}", archive, 32, polarisation="IQUV", integrate=16)
        total = power[:, :, 2:].sum((0, 2))
        found = total[1:] / total[0]
        # A fifth of the samples count; of a wholly polarised source nothing is left to chance.
        ok(np.abs(found - fractions(polarisation)).max() < (1e-4 if number == 1 else 0.03),
           f"Stokes parameters of a polarised pulsar: {names}, {'real' if real else 'complex'}, sideband {sideband}",
           found, fractions(polarisation))


# ---- interference

def check_pulsed():
    """A pulsed band, a pulsed tone and impulses: on for their share of the time, where they should be."""
    rate, channels, noise = 1e6, 100, 10.0
    archive = synth("pulsed", samples=2000000, bits=8, sample_rate_hz=rate, freq_hz=1e8, noise=noise, seed=6,
                    noise_sources=[{"amplitude": 20.0, "band_hz": [100.1e6, 100.3e6],
                                    "pulsed": {"period_s": 0.08, "duty": 0.25, "phase": 0.125}}],
                    tones=[{"freq_hz": 99.7e6, "amplitude": 30.0, "pulsed": {"period_s": 0.05, "duty": 0.4}}])
    power, frequency, times = run("pulsed", archive, channels, integrate=10)
    power = power[:, 0] / np.median(power[:, 0], axis=0)
    for name, low, high, period, duty, phase in (("band", 100.12e6, 100.28e6, 0.08, 0.25, 0.125),
                                                 ("tone", 99.699e6, 99.701e6, 0.05, 0.4, 0)):
        inside = (frequency > low) & (frequency < high)
        row = power[:, inside].mean(1)
        on = row > (row.min() * row.max())**0.5
        turns = np.remainder(times / period - phase, 1)
        edge = 1.5e-3 / period  # a dump and the filter's taps
        sure = (np.minimum(turns, 1 - turns) > edge) & (np.abs(turns - duty) > edge)
        ok(abs(on.mean() - duty) < 0.02, f"a pulsed {name} has its duty", on.mean())
        ok(np.array_equal(on[sure], turns[sure] < duty), f"a pulsed {name} is on when it should be",
           np.flatnonzero(on[sure] != (turns[sure] < duty))[:9])
    height = power[:, (frequency > 100.12e6) & (frequency < 100.28e6)].mean(1)
    ratio = np.sort(height)[-len(height) // 5:].mean() / np.median(height)
    ok(abs(ratio / (1 + 20.0**2 / noise**2) - 1) < 0.05, "and its power", ratio)
    outside = power[:, (frequency > 100.32e6) | ((frequency > 99.8e6) & (frequency < 100.08e6))].mean(1)
    ok(np.std(outside) < 0.1, "in its band alone", np.std(outside))


def check_bytes():
    """The same file from any number of ranks."""
    spec = dict(samples=300001, streams={"stations": 2, "pols": 2, "chans": 3}, polarisations=["L", "R"], bits=8,
                sample_rate_hz=1e6, freq_hz=1.4e9, noise=5.0, seed=11,
                tones=[{"freq_hz": 1.3997e9, "amplitude": 9.0, "drift_hz_per_s": 3e6, "polarisation": {"v": -1.0},
                        "pulsed": {"period_s": 0.001}}],
                noise_sources=[{"amplitude": 3.0, "band_hz": [1.3999e9, 1.4006e9], "polarisation": {"q": 0.5}}],
                impulses=[{"amplitude": 90.0, "period_s": 0.01, "times": "random"}])
    first = digest(synth("bytes1", ranks=None, threads=1, **spec))
    for ranks in (2, 3):
        same(digest(synth(f"bytes{ranks}", ranks=ranks, threads=2, **spec)), first,
             f"the same file from {ranks} ranks")


check_drifts()
check_tones()
check_noise()
check_pulsar()
check_pulsed()
check_bytes()
finish()
