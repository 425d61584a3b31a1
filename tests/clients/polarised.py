"""Stokes parameters, coherencies and sums of stations and beams: those of waves that are known, whatever the feed
and the sideband; exactly what the separate polarisations make; the same bytes in groups of streams, in other
chunks and on several ranks; where one polarisation lacks samples, as if neither did; verified and dedispersed."""
import hashlib

import h5py
import numpy as np

from common import Failed, finish, ok, same, scratch, synth, voltmill, write_archive, write_yaml

CHANNELS, TAPS, INTEGRATE = 32, 4, 16


def run(name, archive, products, ranks=None, run=None, **job):
    made = [dict({"kind": "power", "integrate": INTEGRATE}, **product, file=f"{name}-{i}.h5")
            for i, product in enumerate(products)]
    job = {"input": {"files": archive}, "channelise": {"channels": CHANNELS, "taps": TAPS}, "products": made, **job,
           **({"run": run} if run else {})}
    return voltmill("run", "--force", write_yaml(f"{name}.yaml", job), ranks=ranks)


def words(text):
    return text.decode() if isinstance(text, bytes) else str(text)


def load(name):
    with h5py.File(scratch(name)) as file:
        return file["data"][...], dict(file["data"].attrs), [pol.decode() for pol in file["pol"][...]]


def digests(name, count):
    return [hashlib.sha256(open(scratch(f"{name}-{i}.h5"), "rb").read()).hexdigest() for i in range(count)]


# Waves: the field is Re [(x, y) exp(i omega t)], x north, y east; V > 0 where y lags (right-handed by IEEE).
WAVES = {"x": (1, 0), "45 degrees": (0.6, 0.6), "right": (0.7, -0.7j), "left": (0.7, 0.7j),
         "some": (0.6 * np.exp(0.3j), 0.8 * np.exp(-0.9j))}
RATE, SAMPLES, CENTRE = 1e6, 5000, 1e8


def receive(circular, real, sideband, swapped):
    """Samples [time][wave][pol] (or [time][wave][pol][reim]) of waves 0.15 of the band above the coarse channel's
    centre, each a station of its own."""
    offset, t = 0.15 * RATE * (0.5 if real else 1), np.arange(SAMPLES) / RATE
    hz = sideband * offset + (RATE / 4 if real else 0)  # above the edge that is mixed to 0 Hz, or below it
    volts = np.empty((SAMPLES, len(WAVES), 2), "c8")
    for i, (x, y) in enumerate(WAVES.values()):
        fields = [(x + 1j * y) / 2**0.5, (x - 1j * y) / 2**0.5] if circular else [x, y]
        for pol, field in enumerate(fields[::-1] if swapped else fields):
            volts[:, i, pol] = (field if sideband > 0 else np.conj(field)) * np.exp(2j * np.pi * hz * t)
    return volts.real.astype("f4") if real else volts.view("f4").reshape(*volts.shape, 2)


worst, signs = 0, True
for number in range(8):
    circular, real, sideband = number & 1, number & 2, -1 if number & 4 else 1
    swapped = number in (0, 3, 5, 6)
    names = ["R", "L"] if circular else ["X", "Y"]
    path = write_archive(f"wave{number}", receive(circular, real, sideband, swapped),
                         "time,station,pol" if real else "time,station,pol,reim", RATE,
                         "real" if real else "complex", centres=[CENTRE],
                         names={"pol": names[::-1] if swapped else names},
                         attributes={"sideband": np.int32(sideband)})
    run("wave", path, [{"polarisation": "IQUV", "stokes_v": "psr" if number % 3 == 0 else "iau"}])
    iquv, header, ifs = load("wave-0.h5")
    iquv = iquv.astype("f8").sum(0).reshape(len(WAVES), 4, CHANNELS)
    iquv[:, 3] *= -1 if number % 3 == 0 else 1
    for found, (x, y) in zip(iquv, WAVES.values()):
        at = found[0].argmax()
        cross = x * np.conj(y)
        expected = np.array([abs(x)**2 + abs(y)**2, abs(x)**2 - abs(y)**2, 2 * np.real(cross), 2 * np.imag(cross)])
        worst = max(worst, np.abs(found[:, at] / found[0, at] - expected / expected[0]).max())
    signs &= ifs[:4] == ["0/I", "0/Q", "0/U", "0/V"] and words(header["pol_type"]) == "IQUV"
    signs &= words(header["stokes_v"]) == ("psr" if number % 3 == 0 else "iau")
    signs &= words(header["feed"]) == ("circular" if circular else "linear")
ok(worst < 1e-5, "Stokes parameters of polarised waves, of both feeds and sidebands", worst)
ok(signs, "the file says which is which")

# Products made of the separate polarisations.
obs = synth("obs", samples=40000, streams={"stations": 3, "beams": 2, "pols": 2, "chans": 3}, bits=8,
            sample_rate_hz=1e6, freq_hz=100e6, noise=20, tones=[{"freq_hz": 100.2e6, "amplitude": 300}], seed=7)
with open(scratch("stations.txt"), "w") as file:
    file.write("1 # the first\n0.5\n0.25\n")
with open(scratch("all.txt"), "w") as file:
    file.write(" ".join(str(i + 1) for i in range(6)))
LINEAR = {"polarisation": "IQUV", "feed": "linear"}
PRODUCTS = [{}, {"polarisation": "I"}, LINEAR, {"polarisation": "coherency"},
            dict(LINEAR, sum="stations", sum_weights="stations.txt"), {"sum": "beams"},
            {"polarisation": "I", "sum": ["stations", "beams"], "sum_weights": "all.txt"},
            dict(LINEAR, channels=[10, 89], average=4)]
COUNT = len(PRODUCTS)
run("one", obs, PRODUCTS)
separate, header, ifs = load("one-0.h5")
shape = (len(separate), 3, 2, 2, 3 * CHANNELS)
a, b = (separate.reshape(shape)[:, :, :, i].astype("f8") for i in range(2))
total = load("one-1.h5")[0].reshape(-1, 3, 2, 3 * CHANNELS)
iquv = load("one-2.h5")[0].reshape(-1, 3, 2, 4, 3 * CHANNELS)
coherency, coherency_header, coherency_ifs = load("one-3.h5")
coherency = coherency.reshape(-1, 3, 2, 4, 3 * CHANNELS)
same(total, (a + b).astype("f4"), "I is the sum of both")
same(coherency[:, :, :, :2], np.stack([a, b], 3).astype("f4"), "the powers of a coherency are those of power")
same(iquv[:, :, :, 0], total, "I of IQUV is I")
same(iquv[:, :, :, 1], a.astype("f4") - b.astype("f4"), "Q is their difference")
same(iquv[:, :, :, 2:], 2 * coherency[:, :, :, 2:], "U and V are twice the cross terms")
ok((a * b - (coherency[:, :, :, 2:].astype("f8")**2).sum(3)).min() > -1e-6 * (a * b).max(),
   "no more is in common than there is")
weights = np.array([1, 0.5, 0.25])
found = load("one-4.h5")[0].reshape(-1, 2, 4, 3 * CHANNELS)
expected = np.einsum("tsbpf,s->tbpf", iquv.astype("f8"), weights)
ok(np.abs(found / expected - 1).max() < 1e-6, "stations are added up by their weights")
found, _, sum_ifs = load("one-5.h5")
ok(np.array_equal(found.reshape(-1, 3, 2, 3 * CHANNELS),
                  separate.reshape(shape).astype("f8").sum(2).astype("f4")), "beams, each polarisation by itself")
expected = np.einsum("tsbf,sb->tf", total.astype("f8"), np.arange(1.0, 7).reshape(3, 2))
ok(np.abs(load("one-6.h5")[0][:, 0] / expected - 1).max() < 1e-6, "both")
expected = iquv[..., 10:90].astype("f8").reshape(*iquv.shape[:-1], 20, 4).mean(-1)
ok(np.abs(load("one-7.h5")[0].reshape(expected.shape) - expected).max() < 1e-6 * expected.max(), "means of channels")
with h5py.File(scratch("one-4.h5")) as file:
    same(file["provenance/sum_weights"][...], weights, "with the weights that were taken")
text = [words(head["pol_type"]) for head in (header, coherency_header)]
ok(text == ["AABB", "AABBCRCI"] and len(ifs) == 12 and len(sum_ifs) == 6, "ifs have types and names",
   text, ifs, coherency_ifs)

one = digests("one", COUNT)
run("two", obs, PRODUCTS, ranks=2, run={"chunk": 96})
same(digests("two", COUNT), one, "the same bytes in other chunks, on two ranks")
run("three", obs, PRODUCTS, ranks=3, run={"chunk": 240})
same(digests("three", COUNT), one, "on three")
for i in range(1, COUNT):
    voltmill("verify", "--all", scratch(f"one-{i}.h5"))
ok(True, "verify agrees")
with h5py.File(scratch("two-2.h5"), "r+") as file:
    file["data"][5, 3, 7] += 1e-3 * file["data"][5, 0, 7]
try:
    voltmill("verify", "--all", scratch("two-2.h5"))
    ok(False, "verify finds a V that is not right")
except Failed as failed:
    ok("exit 4" in str(failed), "verify finds a V that is not right", failed)
ok("IQUV of linear feeds" in voltmill("info", scratch("one-2.h5")), "info says what they are")

# Groups of streams: whole antennas, of all coarse channels.
wide = synth("wide", samples=1 << 17, streams={"stations": 8, "pols": 2, "chans": 3}, bits=8, sample_rate_hz=1e6,
             freq_hz=100e6, noise=20, seed=4)
some = [LINEAR, {"polarisation": "I"}]
large = {"channelise": {"channels": 1024, "taps": 16}}
run("many", wide, some, run={"memory": "2GiB"}, **large)
run("few", wide, some, run={"memory": "100MiB"}, **large)
plan = voltmill("plan", scratch("few.yaml"))
groups = [int(word) for line in plan.splitlines() if " chunks " in line and " of " in line and "stream" in line
          for word in line.split(" of ")[2].split()[:1]]
ok(groups and groups[0] < 48 and groups[0] % 6 == 0, "little memory: groups of whole antennas", groups, plan)
same(digests("few", 2), digests("many", 2), "the same bytes in groups")
total = [{"polarisation": "I", "sum": "stations"}]
run("whole", wide, total, run={"memory": "2GiB"}, **large)
run("parts", wide, total, run={"memory": "128MiB"}, **large)
same(digests("parts", 1), digests("whole", 1), "a sum of all stations: the same bytes in groups of coarse channels")
try:
    run("none", wide, total, run={"memory": "64MiB"}, **large)
    ok(False, "a sum of all stations needs all of them")
except Failed as failed:
    ok("exit 2" in str(failed) and "16 streams that a product takes together" in str(failed),
       "a sum of all stations needs all of them", failed)

# One polarisation lacks samples: each power is divided by its own weight, cross terms by the joint one.
random = np.random.default_rng(11)
common_part = random.normal(0, 1, (40000, 1)) + 1j * random.normal(0, 1, (40000, 1))
own = random.normal(0, 1, (40000, 2)) + 1j * random.normal(0, 1, (40000, 2))
volts = (common_part * np.array([1, 0.8j]) + 0.3 * own).astype("c8")
whole = volts.view("f4").reshape(-1, 2, 2).copy()
holed = whole.copy()
for first in range(300, 40000, 700):
    holed[first:first + 150, 0] = np.nan  # of the first polarisation alone
for first in range(500, 40000, 700):
    holed[first:first + 40, 1] = np.nan
paths = [write_archive(name, data, "time,pol,reim", RATE, "complex", centres=[CENTRE], names={"pol": ["X", "Y"]})
         for name, data in (("whole", whole), ("holed", holed))]
for path, name in zip(paths, ("whole", "holed")):
    run(name, path, [{"polarisation": "IQUV"}, {"polarisation": "coherency"}, {}, {"polarisation": "I"}])
header, ifs = load("whole-3.h5")[1:]
ok(header["nifs"] == 1 and ifs == ["I"], "I of two polarisations is one if, as turbo_seti takes it", header, ifs)
full, lacking = (load(f"{name}-0.h5")[0].astype("f8").mean((0, 2)) for name in ("whole", "holed"))
ok(np.abs(lacking / full[0] - full / full[0]).max() < 0.03, "no bias of what is left", full, lacking)
with h5py.File(scratch("holed-0.h5")) as file, h5py.File(scratch("holed-2.h5")) as other:
    joint, single = file["weights"][...], other["weights"][...]
    ok((joint[:, 0] <= single.min(1) + 1e-6).all() and (joint[:, 0] < single.min(1) - 0.01).any() and
       all(np.array_equal(joint[:, i], joint[:, 0]) for i in range(4)), "the weight is of samples good in both")
    # Holes of both overlap nowhere, so that losses add up.
    ok(np.abs((1 - joint[:, 0]) - (2 - single.sum(1))).max() < 1e-5, "exactly")
with h5py.File(scratch("holed-1.h5")) as file, h5py.File(scratch("holed-2.h5")) as other:
    same(file["data"][:, :2], other["data"][...], "powers are those of the separate ones")
for i in range(4):
    voltmill("verify", "--all", scratch(f"holed-{i}.h5"))
run("cut", paths[1], [{"polarisation": "IQUV"}, {"polarisation": "coherency"}, {}, {"polarisation": "I"}], ranks=3,
    run={"chunk": 48})
same(digests("cut", 4), digests("holed", 4), "the same bytes on three ranks")

# One polarisation is silent at first: behind filters cross terms are rounding beside the other's strength.
half = 100 * whole
half[:15000, 1] = 0
silent = write_archive("half", half, "time,pol,reim", RATE, "complex", centres=[CENTRE], names={"pol": ["X", "Y"]})
run("half", silent, [{"polarisation": "coherency", "integrate": 2}], filter=[{"dispersion": {"dm": 0.3}}])
ok("agrees" in voltmill("verify", "--all", scratch("half-0.h5")), "and verify takes it as such")

# Raw sums: a station that lacks too much is left out, and nothing is multiplied in its place.
three = np.repeat(whole[:, None], 3, axis=1)
three[6000:20000, 0] = np.nan
three[15000:30000:50, 1] = np.nan
antennas = write_archive("antennas", three, "time,station,pol,reim", RATE, "complex", centres=[CENTRE],
                         names={"pol": ["X", "Y"], "station": ["A", "B", "C"]})
sums = [dict(one, weights=kind) for kind in ("raw", "renormalise")
        for one in ({"min_weight": 0}, {"sum": "stations", "sum_weights": "stations.txt", "min_weight": 0.3})]
run("sums", antennas, sums)
factors = weights[None, :, None, None]
for i, kind in ((0, "raw"), (2, "renormalise")):
    with h5py.File(scratch(f"sums-{i}.h5")) as file, h5py.File(scratch(f"sums-{i + 1}.h5")) as other:
        each, w = (file[key][...].astype("f8").reshape(len(file["data"]), 3, 2, -1) for key in ("data", "weights"))
        there = w >= 0.3
        expected = (np.where(there, each, 0) * factors).sum(1)
        weight = (np.where(there, w, 0) * factors).sum(1) / factors.sum()
        with np.errstate(all="ignore"):
            expected *= 1 if kind == "raw" else factors.sum() / (there * factors).sum(1)
        expected[np.broadcast_to(weight < 0.3, expected.shape)] = np.nan
        found = other["data"][...]
        ok(not there.all() and np.array_equal(np.isnan(found), np.isnan(expected)) and
           np.nanmax(np.abs(found / expected - 1)) < 1e-6 and
           np.abs(other["weights"][...] - weight).max() < 1e-6, f"weights: {kind} of a sum", found[9], expected[9])
        said = words(other["data"].attrs["sum_convention"])
        ok(("nothing was multiplied" in said) == (kind == "raw") and ("was multiplied by" in said) == (kind != "raw"),
           f"weights: {kind}, and what the file says", said)

# Dedispersion takes I, and of a coherency both powers.
dm = {"start": 0, "step": 0.1, "count": 3}
series = []
for i in (1, 2, 3):
    voltmill("run", "--force", write_yaml("series.yaml", {"input": {"files": scratch(f"one-{i}.h5")},
                                                          "dedisperse": {"dm": dm, "file": f"series-{i}.h5"}}))
    with h5py.File(scratch(f"series-{i}.h5")) as file:
        series.append(file["dedispersed"][...])
same(series[1], series[0], "I of IQUV is dedispersed as I is")
ok(np.abs(series[2] / series[0] - 1).max() < 1e-6, "and the powers of a coherency")

# Impossible jobs.
single = synth("single", samples=20000, streams={"chans": 2}, bits=8, sample_rate_hz=1e6, freq_hz=100e6, noise=20)
for archive, change, words in (
        (single, {"polarisation": "I"}, "takes two polarisations, but there is one selected: without it"),
        (single, {"sum": "beams"}, "none that it tells apart"),
        (obs, {"kind": "spectra", "integrate": 1, "polarisation": "I"}, "is for products of kind power"),
        (obs, {"polarisation": "I", "stokes_v": "psr"}, "is for polarisation: IQUV"),
        (obs, {"sum_weights": "all.txt"}, "is for sums"),
        (obs, {"sum": "stations", "sum_weights": "all.txt"}, "has 6 weights, but 3 stations are added up"),
        (paths[0], {"polarisation": "IQUV", "feed": "circular"}, "those of linear feeds")):
    try:
        run("bad", archive, [change])
        ok(False, f"{change} is refused")
    except Failed as failed:
        ok(("exit 2" in str(failed) or "exit 4" in str(failed)) and words in str(failed), f"{change} is refused",
           failed)
finish()
