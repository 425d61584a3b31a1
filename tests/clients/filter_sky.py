#!/usr/bin/env python3
"""Filters by frequencies on the sky, and of files: tones that a design passes and stops, whichever way
frequencies run among the samples; coefficients of text and HDF5 against numpy's convolution."""
from common import *

CENTRE, RATE, COUNT = 1e9, 1e6, 20000


def power(name, archive, design):
    job = {"input": {"files": archive}, "filter": {"design": design, "backend": "cpu"},
           "channelise": {"channels": 20, "taps": 4, "normalise": "peak"},
           "products": [{"kind": "power", "file": scratch(name + ".out.h5"), "integrate": 100}]}
    voltmill("run", "--force", write_yaml(name + ".yaml", job))
    with h5py.File(scratch(name + ".out.h5")) as file:
        return file["frequency"][:] - CENTRE, file["data"][:].mean(axis=(0, 1)) / 100


def tone(real, sideband, offset):
    """Returns a tone of amplitude 50, `offset` above the middle of the band on the sky, among samples as stored."""
    t = np.arange(COUNT)
    turns = sideband * offset / RATE * t + (t / 4 if real else 0)
    return 50 * (np.cos(2 * np.pi * turns) if real else np.exp(2j * np.pi * turns))


def archive_of(name, samples, sideband):
    real = samples.dtype.kind == "f"
    stored = samples if real else np.stack([samples.real, samples.imag], -1)
    with h5py.File(scratch(name), "w") as file:
        file.attrs.update({"format": np.bytes_("voltage"), "format_version": np.int32(1)})
        file["freq_hz"] = [CENTRE]
        data = file.create_dataset("voltages", data=stored.astype("f4")[:, None])
        data.attrs.update({"axes": np.bytes_("time,pol" if real else "time,pol,reim"), "sample_rate_hz": RATE,
                           "sideband": np.int32(sideband), "domain": np.bytes_("real" if real else "complex")})
    return scratch(name)


def tones():
    above = {"kind": "bandpass", "edges": [5e4, 8e4, 1.2e5, 1.5e5], "offset": "true"}
    sky = {"kind": "bandstop", "edges": [CENTRE + f for f in above["edges"]]}
    for real in False, True:
        for sideband in 1, -1:
            words = f"{'real' if real else 'complex'} samples of sideband {sideband}"
            archive = archive_of("tones.h5", tone(real, sideband, 1e5) + tone(real, sideband, -1.5e5), sideband)
            full = 2500 / (4 if real else 1)
            for kind, design in ("passed", above), ("stopped", sky):
                f, p = power(kind, archive, design)
                high, low = p[np.argmin(abs(f - 1e5))] / full, p[np.argmin(abs(f + 1.5e5))] / full
                kept, lost = (high, low) if kind == "passed" else (low, high)
                ok(abs(kept - 1) < 0.012 and lost < 1e-6, f"{words}: what lies 100 kHz above the middle is {kind}",
                   f"kept {kept}, lost {lost}")


def kept():
    """Voltages that a complex filter leaves are an archive whose frequencies are right: its one sideband is that
    of real samples, whose 0 Hz lies in the middle now, or +1."""
    coefficients = scratch("one-sided.txt")
    n = np.arange(401) - 200
    np.savetxt(coefficients, 0.1 * np.sinc(0.1 * n) * np.hamming(401) * np.exp(2j * np.pi * 0.1 * n))
    for real in False, True:
        for sideband in 1, -1:
            # 100 kHz from 0 Hz, to the side that the filter passes.
            offset = sideband * (0.1 - 0.25) * RATE if real else 0.1 * RATE
            archive = archive_of("one.h5", tone(real, sideband, offset), sideband)
            job = {"input": {"files": archive}, "filter": {"coefficients": coefficients, "decimate": 2},
                   "products": [{"kind": "voltages", "file": scratch("kept.h5"), "bits": 32}]}
            voltmill("run", "--force", write_yaml("kept.yaml", job))
            again = {"input": {"files": scratch("kept.h5")}, "channelise": {"channels": 100, "backend": "cpu"},
                     "products": [{"kind": "power", "file": scratch("again.h5"), "integrate": 10}]}
            voltmill("run", "--force", write_yaml("again.yaml", again))
            with h5py.File(scratch("again.h5")) as file:
                found = file["frequency"][np.argmax(file["data"][:].mean(axis=(0, 1)))] - CENTRE
            close(found, offset, 1, f"{'real' if real else 'complex'} samples of sideband {sideband}, a complex "
                  "filter, voltages: the tone stays where it was")


def spectra(name, archive, coefficients=None):
    job = {"input": {"files": archive}, "channelise": {"channels": 16, "taps": 4, "backend": "cpu"},
           "products": [{"kind": "spectra", "file": scratch(name + ".out.h5")}]}
    if coefficients:
        job["filter"] = {"coefficients": coefficients, "delay": "keep"}
    voltmill("run", "--force", write_yaml(name + ".yaml", job))
    with h5py.File(scratch(name + ".out.h5")) as file:
        data = file["spectra"][:]
        return data["r"] + 1j * data["i"] if data.dtype.fields else data[..., 0] + 1j * data[..., 1]


def files():
    rng = np.random.default_rng(16)
    samples = rng.normal(0, 20, COUNT) + 1j * rng.normal(0, 20, COUNT)
    samples = samples.astype("c8")
    for kind, c in ("real", rng.normal(size=31)), ("complex", rng.normal(size=31) + 1j * rng.normal(size=31)):
        np.savetxt(scratch(kind + ".txt"), c)
        with h5py.File(scratch(kind + ".h5"), "w") as file:
            file["coefficients"] = c
        filtered = np.convolve(samples.astype("c16"), c, "valid")
        expected = spectra("numpy", archive_of("filtered.h5", filtered, 1))
        for end in ".txt", ".h5":
            found = spectra("given", archive_of("samples.h5", samples, 1), scratch(kind + end))
            error = np.sqrt(np.mean(abs(found - expected) ** 2) / np.mean(abs(expected) ** 2))
            ok(found.shape == expected.shape and error < 1e-6, f"{kind} coefficients in {end}: as numpy convolves", error)


tones()
kept()
files()
finish()
