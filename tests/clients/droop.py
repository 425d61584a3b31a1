"""Droop: products are divided by the gain of what was before the filter bank, the job's own filters (as numpy has it
from their coefficients) and a table's, across each coarse channel, in both sidebands, of real and complex samples;
noise becomes flat; what hardly gets through becomes NaN; verified."""
import h5py
import numpy as np

from common import Failed, finish, ok, same, scratch, synth, voltmill, write_yaml

RATE, CENTRE, CHANNELS, INTEGRATE = 1e6, 100e6, 32, 40


def windowed_sinc(taps, cut):
    n = np.arange(taps) - (taps - 1) / 2
    c = np.sinc(2 * cut * n) * np.hamming(taps)
    return c / c.sum()


def write_coefficients(name, c):
    with open(scratch(name), "w") as file:
        for value in c:
            file.write(f"{value.real:.17g} {value.imag:.17g}\n" if np.iscomplexobj(c) else f"{value:.17g}\n")
    return scratch(name)


def run(name, archive, filters, products, **sets):
    made = [dict({"kind": "power", "integrate": 1 if product.get("kind") else INTEGRATE}, **product,
                 file=f"{name}-{i}.h5") for i, product in enumerate(products)]
    job = {"input": {"files": archive}, "filter": filters, "channelise": {"channels": CHANNELS, "taps": 4},
           "products": made}
    if not filters:
        del job["filter"]
    return voltmill("run", "--force", write_yaml(f"{name}.yaml", job))


def load(name):
    with h5py.File(scratch(name)) as file:
        rows = file["data"] if "data" in file else file["spectra"]
        gains = file["provenance/droop"][...] if "provenance/droop" in file else None
        return rows[...], file["frequency"][...], gains


def gain(c, hz, rate):
    """|H|^2 at frequencies of the samples that the filter gets."""
    return np.abs(np.exp(-2j * np.pi * np.outer(hz, np.arange(len(c))) / rate) @ c) ** 2


low, band = windowed_sinc(9, 0.2), windowed_sinc(7, 0.3)
turned = windowed_sinc(11, 0.2) * np.exp(2j * np.pi * 0.05 * np.arange(11))
for name, words, chain in (("complex", {}, [(low, 2)]), ("reversed", {"sideband": -1}, [(turned, 1)]),
                           ("real", {"domain": "real"}, [(windowed_sinc(15, 0.22), 1)]),
                           ("real reversed", {"domain": "real", "sideband": -1}, [(windowed_sinc(15, 0.22), 1)]),
                           ("both", {}, [(band, 2), (low, 2)]), ("made complex", {"domain": "real"}, [(turned, 2)])):
    at = name.replace(" ", "-")
    archive = synth(at, samples=160000, streams={"pols": 2, "chans": 2}, bits=8, sample_rate_hz=RATE, freq_hz=CENTRE,
                    noise=20, seed=3, polarisations=["X", "Y"], **words)
    with h5py.File(archive) as file:
        middles = np.sort(file.attrs["freq_hz"][...] if "freq_hz" in file.attrs else file["freq_hz"][...])
    filters = [{"coefficients": write_coefficients(f"{at}{i}.txt", c), "decimate": d, "aliasing": "allow"}
               for i, (c, d) in enumerate(chain)]
    run(at, archive, filters, [{}, {"droop": "correct"}, {"kind": "spectra"}, {"kind": "spectra", "droop": "correct"}])
    plain, sky, none = load(f"{at}-0.h5")
    found, _, gains = load(f"{at}-1.h5")
    ok(none is None and gains.shape == sky.shape, f"{name}: the product says by what")
    expected, rate = np.ones(len(sky)), RATE
    centres = middles[np.arange(len(sky)) * 2 // len(sky)]
    is_real, sideband = words.get("domain") == "real", words.get("sideband", 1)
    for c, d in chain:
        side = sideband if is_real else 1
        hz = side * (sky - centres) + (rate / 4 if is_real else 0)
        expected *= gain(c, hz, rate)
        rate /= d
    ok(np.abs(gains / expected - 1).max() < 1e-6, f"{name}: the filters' gain", np.abs(gains / expected - 1).max())
    there = expected >= 0.01 * expected.max()
    with np.errstate(invalid="ignore"):
        ratio = found / plain * expected
    same(np.isnan(found), np.broadcast_to(~there, found.shape), f"{name}: NaN where hardly anything gets through")
    ok(np.nanmax(np.abs(ratio - 1)) < 1e-6, f"{name}: power", np.nanmax(np.abs(ratio - 1)))
    a, b = load(f"{at}-2.h5")[0], load(f"{at}-3.h5")[0]
    a, b = ((x["r"] + 1j * x["i"]) if x.dtype.names else x for x in (a, b))
    worst = np.nanmax(np.abs(b * np.sqrt(expected) / a - 1))
    ok(worst < 1e-6, f"{name}: spectra", worst)
    if chain[0][1] == 1:  # nothing is aliased
        level = found[..., there].mean(axis=(0, 1))
        level = level / level.mean()
        ok(level.std() < 0.08 < np.ptp(plain.mean(axis=(0, 1)) / plain.mean()), f"{name}: noise is flat",
           level.std(), np.ptp(plain.mean(axis=(0, 1)) / plain.mean()))
    voltmill("verify", "--all", scratch(f"{at}-{1 if is_real else 3}.h5"))
ok(True, "verify agrees")

# A table, beside the filters or alone; with what else becomes of rows.
with open(scratch("table.txt"), "w") as file:
    file.write("# Hz, gain\n-4e5 0.5\n0 1.0\n2e5, 0.8 # here\n")
table = "file:" + scratch("table.txt")
archive = synth("pair", samples=200000, streams={"pols": 2, "chans": 2}, bits=8, sample_rate_hz=RATE, freq_hz=CENTRE,
                noise=20, seed=3, polarisations=["X", "Y"])
products = [{}, {"droop": table}, {"droop": table, "average": 4, "channels": [2, 33], "polarisation": "I"},
            {"droop": table, "flag": {"kurtosis": 3, "spectra": 40}}]
run("pair", archive, None, products)
plain, sky, _ = load("pair-0.h5")
found, _, gains = load("pair-1.h5")
spacing = sky[1] - sky[0]
offset = (np.arange(CHANNELS) - CHANNELS / 2) * spacing
expected = np.tile(np.interp(offset, [-4e5, 0, 2e5], [0.5, 1, 0.8]), 2)
ok(np.abs(gains / expected - 1).max() < 1e-12, "a table's gain")
ok(np.abs(found / plain * expected - 1).max() < 1e-6, "divides power")
both = (plain / expected).sum(1, keepdims=True)[..., 2:34].reshape(len(plain), 1, 8, 4).mean(-1)
ok(np.abs(load("pair-2.h5")[0] / both - 1).max() < 1e-6, "before neighbours become one")
found = load("pair-3.h5")[0]
ok(np.nanmax(np.abs(found / plain * expected - 1)) < 1e-6, "and what is flagged")
for i in (1, 2, 3):
    voltmill("verify", "--all", scratch(f"pair-{i}.h5"))
run("again", archive, [{"coefficients": write_coefficients("low.txt", low), "aliasing": "allow"}],
    [{"droop": ["correct", table]}])
alone = gain(low, np.tile(offset, 2), RATE) * expected
ok(np.abs(load("again-0.h5")[2] / alone - 1).max() < 1e-6, "both together")
for droop, words, text in (("correct", "has no filter", None), ("file:none.txt", "cannot read the droop", None),
                           ("flat", "expected correct, file:PATH", None), ([table, table], "two files", None),
                           ("file:" + scratch("bad.txt"), "line 2: expected Hz", "1 1\n0 1\n"),
                           ("file:" + scratch("bad.txt"), "at least two", "1 1\n"),
                           ("file:" + scratch("bad.txt"), "line 1: expected Hz", "0 -1\n1 1\n")):
    if text:
        with open(scratch("bad.txt"), "w") as file:
            file.write(text)
    try:
        run("bad", archive, None, [{"droop": droop}])
        ok(False, f"refused: {words}")
    except Failed as failed:
        ok(words in str(failed) and "error: " in str(failed), f"refused: {words}", failed)
finish()
