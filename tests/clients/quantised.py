"""Products in 8 and 16 bits: every number stands for the float product's within half a step, what was clipped is
counted exactly, lost dumps stay lost; scales are those of the documented formula; the same bytes on several ranks,
in other chunks, in groups of streams and after kills; verified, exported, dedispersed as the numbers they stand for."""
import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import h5py
import numpy as np

from common import (ENVIRONMENT, ROOT, SCRATCH, VOLTMILL, Failed, finish, ok, same, scratch, voltmill, write_archive,
                    write_yaml)

CHANNELS, TAPS, INTEGRATE, CHANS = 16, 4, 4, 3
SAMPLES = CHANNELS * (4 * 333 + 3)
rng = np.random.default_rng(7)
volts = rng.normal(0, 20, (SAMPLES, 2, CHANS, 2)).astype("f4")
volts[:, 1] *= np.linspace(0.5, 4, SAMPLES)[:, None, None]  # drifts away from the first block
volts[9000:9040, 0, 1] += 3000  # a burst of interference, which is clipped
volts[:, 1, 2] = 0  # a channel without anything
volts[4000:5200, 0, 0] = np.nan  # lost dumps
volts[15000:17000, 1, 1] = np.nan
obs = write_archive("obs", volts, "time,pol,chan,reim", 1e6, "complex", 100e6 + 1e6 * np.arange(CHANS),
                    {"pol": ["X", "Y"]})
BLOCK = 64
PRODUCTS = [dict(product, **few) for product, few in [
    ({"kind": "power", "integrate": INTEGRATE}, {}),
    ({"kind": "power", "integrate": INTEGRATE}, {"bits": 8, "scale_rows": BLOCK}),
    ({"kind": "power", "integrate": INTEGRATE}, {"bits": 16, "scale_rows": BLOCK, "scales": "first"}),
    ({"kind": "spectra"}, {}),
    ({"kind": "spectra"}, {"bits": 8, "scale_rows": BLOCK}),
    ({"kind": "spectra"}, {"bits": 16, "scale_rows": BLOCK}),
    ({"kind": "spectra", "channels": [5, 30]}, {"bits": 8, "scales": "first", "scale_rows": 128}),
    ({"kind": "power", "integrate": INTEGRATE, "polarisation": "IQUV", "average": 4}, {}),
    ({"kind": "power", "integrate": INTEGRATE, "polarisation": "IQUV", "average": 4},
     {"bits": 8, "scale_rows": 32, "compress": "deflate"}),
    ({"kind": "power", "integrate": INTEGRATE}, {"bits": 8})]]
FEED = {"feed": "linear"}
WHOLE = {1: 0, 2: 0, 4: 3, 5: 3, 6: 3, 8: 7, 9: 0}  # which float product each is of


def job(name, products, run=None, **more):
    made = [dict(product, file=f"{name}-{i}.h5") for i, product in enumerate(products)]
    return write_yaml(f"{name}.yaml", {"input": {"files": obs}, "channelise": {"channels": CHANNELS, "taps": TAPS},
                                       "products": made, **more, **({"run": run} if run else {})})


def digests(name):
    return [hashlib.sha256(open(scratch(f"{name}-{i}.h5"), "rb").read()).hexdigest() for i in range(len(PRODUCTS))]


def floats(path):
    with h5py.File(path) as file:
        rows = file["data"] if "data" in file else file["spectra"]
        values = rows[...]
        return values.view("f4").reshape(*values.shape, 2) if values.dtype.kind == "c" else values


def quantised(path):
    """q [block rows ...][line][parts] as whole numbers, and what is said of them."""
    with h5py.File(path) as file:
        rows = file["data"] if "data" in file else file["spectra"]
        said = {key: value.decode() if isinstance(value, bytes) else value for key, value in rows.attrs.items()}
        q = rows[...] if "data" in file else None
        if q is None:
            pairs = rows[...]
            q = np.stack([pairs["r"], pairs["i"]], -1)
        said["first"] = file["block"][...]
        return q, said, file["scale"][...], file["offset"][...], file["clipped_low"][...], file["clipped_high"][...]


def shape(values, parts):
    """[row][if][channel][parts]"""
    return values.reshape(values.shape[0], -1, values.shape[-1 - (parts > 1)], parts)


def check(name, bits, path, whole, kept=slice(None)):
    """One product against the floats that it is made of."""
    q, said, scale, offset, low, high = quantised(path)
    parts = 2 if q.dtype.kind == "i" else 1
    values = shape(floats(whole), parts)[:, :, kept]
    q = shape(q, parts).astype("i8")
    rows = int(said["scale_rows"])
    least, most = ((-1 << bits - 1) + 1, (1 << bits - 1) - 1) if parts == 2 else (1, (1 << bits) - 1)
    same(int(said["blank_value"]), least - 1, f"{name}: what stands for no number")
    blocks = -(-len(q) // rows)
    same((low.shape[0], high.shape[0], scale.shape[0]),
         (blocks, blocks, 1 if said["scales"] == "first" else blocks), f"{name}: so many blocks")
    same(np.isnan(values), q == least - 1, f"{name}: no number is none, and only that")
    steps, centre, problems, clipped = float(said["steps_a_rms"]), float(said.get("centre", 0)), [], 0
    for b in range(blocks):
        at = slice(b * rows, (b + 1) * rows)
        v, n = values[at], q[at]
        own = 0 if scale.shape[0] == 1 else b
        s, o = scale[own].astype("f4")[..., None], offset[own].astype("f4")[..., None]
        t = ((v - o).astype("f4")).astype("f8") * (np.float32(1) / s).astype("f8")
        expected = np.rint(t)
        there = ~np.isnan(v)
        is_low, is_high = (expected < least) & there, (expected > most) & there
        inside = there & ~is_low & ~is_high
        clipped += is_low.sum() + is_high.sum()
        if not np.array_equal(low[b], is_low.sum((0, 3))) or not np.array_equal(high[b], is_high.sum((0, 3))):
            problems.append(f"block {b}: counts of clipped numbers")
        if not np.array_equal(n[there], np.clip(expected, least, most)[there]):
            problems.append(f"block {b}: {np.sum(n[there] != np.clip(expected, least, most)[there])} numbers")
        back = s.astype("f8") * n + o.astype("f8")
        if np.any(np.abs(back - v)[inside] > (s.astype("f8") * np.ones(n.shape) * (0.5 + abs(n) * 2**-22))[inside]):
            problems.append(f"block {b}: more than half a step")
        if b > 0 and scale.shape[0] == 1:
            continue
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = v.astype("f8")
            if parts == 2:
                rms, mean = np.sqrt(np.nanmean(w**2, (0, 3))), 0
            else:
                mean = np.nanmean(w[..., 0], 0)
                rms = np.nanstd(w[..., 0], 0)
        step = np.maximum(rms / steps, np.abs(mean) * 2.0**-23)
        is_first = said["scales"] == "first"
        known = (there & (v != 0)).any((0, 3)) if is_first else there.any((0, 3))
        step = np.where(step > 0, step, 1)
        means = [x[own][i][~known[i]] - x[own][i][known[i]].mean(dtype="f8")
                 for x in (scale, offset) for i in range(len(known)) if known[i].any()]
        if is_first and np.abs(np.concatenate(means)).max(initial=0) > 1e-5 * abs(offset[own]).max():
            problems.append("lines that tell nothing do not have the mean of the others of their polarisation")
        if not np.allclose(step[known], scale[own][known], rtol=1e-6):
            problems.append(f"block {b}: scales")
        if not np.allclose((mean - centre * step)[known] if parts == 1 else 0, offset[own][known], rtol=1e-5,
                           atol=1e-5 * np.nanmax(step) * centre):
            problems.append(f"block {b}: offsets")
        if not known.all() and scale.shape[0] > 1 and not np.all(scale[own][~known] == 1):
            problems.append(f"block {b}: scale of a channel without numbers")
    ok(not problems, f"{name}: numbers, scales and counts", *problems)
    return clipped


PRODUCTS[7].update(FEED)
PRODUCTS[8].update(FEED)
out = voltmill("run", "--force", job("one", PRODUCTS))
ok(out.count("clipped low") == 7 and "8 bits, each channel with a scale for each 64 rows" in out,
   "the run tells what was clipped", out)
total = 0
for i, whole in WHOLE.items():
    total += check(f"product {i}", PRODUCTS[i]["bits"], scratch(f"one-{i}.h5"), scratch(f"one-{whole}.h5"),
                   slice(5, 31) if "channels" in PRODUCTS[i] else slice(None))
ok(total > 1000, "some are clipped", total)
with h5py.File(scratch("one-9.h5")) as file:
    same(int(file["data"].attrs["scale_rows"]), 64, "the automatic blocks are a sixteenth of few rows, at least 64")
    same((int(file["data"].attrs["nbits"]), file["data"].dtype.str, int(file["data"].attrs["_FillValue"])),
         (8, "|u1", 0), "a filterbank of 8 bits")

flagged = [{"kind": "power", "integrate": 32, "flag": {"kurtosis": 3, "spectra": 16, "channels": [[20, 20]]}, **few}
           for few in ({}, {"bits": 8, "scale_rows": 4}, {"bits": 16, "scale_rows": 4, "scales": "first"})]
voltmill("run", job("flagged", flagged))
for i in (1, 2):
    check(f"flagged {i}", flagged[i]["bits"], scratch(f"flagged-{i}.h5"), scratch("flagged-0.h5"))
    out = voltmill("verify", "--all", scratch(f"flagged-{i}.h5"))
    ok("agrees with the reference" in out, f"flagged {i} is verified", out)
    with h5py.File(scratch("flagged-0.h5")) as whole, h5py.File(scratch(f"flagged-{i}.h5")) as few:
        ok(all(np.array_equal(whole[name], few[name], equal_nan=True) for name in ("flags", "kurtosis", "weights", "time")),
           f"flagged {i}: what stands beside the rows is the same")

expected = digests("one")
ok("6 of 256 spectra" in voltmill("plan", job("planned", PRODUCTS, {"chunk": 256})), "chunks begin with blocks")
for name, ranks, more in [("two", 2, {"chunk": 256}), ("three", 3, {"chunk": 512, "threads": 1}),
                          ("wide", None, {"chunk": 6400, "threads": 2})]:
    voltmill("run", "--force", job(name, PRODUCTS, more), ranks=ranks)
    ok(digests(name) == expected, f"the same bytes: {name}")

shim = os.path.join(os.path.dirname(VOLTMILL), "tests/faults/io_shim.so")
if os.path.exists(shim):
    slow, kills = dict(ENVIRONMENT, LD_PRELOAD=shim, SHIM_NAP="3"), 0
    path = job("killed", PRODUCTS, {"chunk": 256, "sync": 0.01, "threads": 1})
    for seconds in (0.5, 0.9, 1.3, 1.7):
        with subprocess.Popen([VOLTMILL, "run", path], cwd=SCRATCH, env=slow, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            time.sleep(seconds)
            kills += process.poll() is None
            process.send_signal(signal.SIGKILL)
    if not all(os.path.exists(scratch(f"killed-{i}.h5")) for i in range(len(PRODUCTS))):
        voltmill("run", path)
    ok(kills > 1 and digests("killed") == expected, "the same bytes after kills", kills)
else:
    print(f"# not killed: {shim} is not built")

for i in (1, 2, 4, 5, 6, 8):
    try:
        out = voltmill("verify", "--all", scratch(f"one-{i}.h5"))
        out += voltmill("verify", "--crc", scratch(f"one-{i}.h5"))
        ok("agrees with the reference" in out and "0 damaged" in out, f"product {i} is verified", out)
    except Failed as failed:
        ok(False, f"product {i} is verified", failed)
for i, name in ((1, "scale"), (4, "clipped_high"), (2, "clipped_low"), (6, "clipped_high"), (1, "data"), (4, "spectra"), (6, "offset")):
    shutil.copy(scratch(f"one-{i}.h5"), scratch("bad.h5"))
    is_count = name.startswith("clipped")
    with h5py.File(scratch("bad.h5"), "r+") as file:
        place, size = file[name].id.get_offset(), file[name].id.get_storage_size()
        if is_count:  # one more was clipped, of one channel in one block
            file[name][1, -1, 2] += 1
    with open(scratch("bad.h5"), "r+b") as file:
        file.seek(place)
        data = np.frombuffer(file.read(size), {"scale": "f4", "offset": "f4"}.get(name, "u1"))
        file.seek(place)
        file.write((data + np.array(0 if is_count else 2, data.dtype)).tobytes())
    try:
        ok(False, f"verify finds other {name}", voltmill("verify", *(["--all"] if is_count else []), scratch("bad.h5")))
    except Failed as failed:
        ok("bad.h5" in str(failed).split("error: ")[-1] and (not is_count or f"/{name} of block 1, channel" in str(failed)),
           f"verify finds other {name}", failed)


def values(i):
    """Returns the values of a product's numbers."""
    q, said, scale, offset, _, _ = quantised(scratch(f"one-{i}.h5"))
    parts = 2 if q.dtype.kind == "i" else 1
    block = np.minimum(np.arange(len(q)) // int(said["scale_rows"]), len(scale) - 1)
    shaped = shape(q, parts)
    out = (shaped * scale[block].astype("f8")[..., None] + offset[block].astype("f8")[..., None]).astype("f4")
    out[shaped == int(said["blank_value"])] = np.nan
    out = out.reshape(q.shape)
    return out.view("c8")[..., 0] if parts == 2 else out


sys.path.insert(0, os.path.join(ROOT, "python"))
import voltmill as module  # noqa: E402

bad = []
for i in WHOLE:
    with module.open(scratch(f"one-{i}.h5")) as product:
        found, all_of_it = product[...], values(i)
        part = product[60:70, ..., 3:9]
        if found.dtype != all_of_it.dtype or not np.array_equal(found, all_of_it, equal_nan=True) or \
                not np.array_equal(part, all_of_it[60:70, ..., 3:9], equal_nan=True):
            bad.append(i)
ok(not bad, "the Python module gives what numbers stand for", bad)

power = values(1)
voltmill("export", "--format", "fil", "--out", scratch("one.fil"), scratch("one-1.h5"))
with open(scratch("one.fil"), "rb") as file:
    raw = file.read()
found = np.frombuffer(raw[raw.index(b"HEADER_END") + 10:], "f4").reshape(power.shape)
ok(np.array_equal(found, power[..., ::-1], equal_nan=True), "so does a filterbank, in floats")
voltmill("export", "--format", "fil", "--bits", "8", "--scale", "channels", "--out", scratch("eight.fil"),
         scratch("one-1.h5"))
ok(os.path.getsize(scratch("eight.fil")) < len(raw) / 3, "or in few bits")

with open(job("direct", [{"kind": "power", "integrate": INTEGRATE, "bits": 8}])) as file:
    text = file.read()
for ending in ("fil", "fits"):
    with open(scratch("direct.yaml"), "w") as file:
        file.write(text.replace("direct-0.h5", f"direct.{ending}"))
    out = voltmill("run", scratch("direct.yaml"))
    ok("clipped low" in out, f"a run that writes {ending} tells what was clipped", out)
with open(scratch("direct.fil"), "rb") as file:
    raw = file.read()
q = quantised(scratch("one-9.h5"))[0]
same(np.frombuffer(raw[raw.index(b"HEADER_END") + 10:], "u1").reshape(q.shape), q[..., ::-1],
     "a filterbank of 8 bits has the numbers as they are stored")
try:
    from astropy.io import fits
    with fits.open(scratch("direct.fits")) as file:
        table = file["SUBINT"].data
        bits = file["SUBINT"].header["NBITS"]
        data = np.asarray(table["DATA"], "f8").reshape(len(table), -1, *q.shape[1:])
        found = data * table["DAT_SCL"].reshape(len(table), 1, *q.shape[1:]) + \
            table["DAT_OFFS"].reshape(len(table), 1, *q.shape[1:])
    expected_power = values(9)
    found = found.reshape(-1, *q.shape[1:])[:len(q)]
    there = ~np.isnan(expected_power)
    ok(bits == 8, "search-mode PSRFITS of 8 bits")
except ImportError:
    print("# astropy is not here: the PSRFITS file is not opened")

series = []
for bits in (8, 32):
    voltmill("run", "--force", job(f"series{bits}", [{"kind": "power", "integrate": INTEGRATE, "bits": bits}],
                                   dedisperse={"dm": [0, 1], "file": f"series{bits}.h5", "edges": "pad"}))
    voltmill("verify", scratch(f"series{bits}.h5"))
    with h5py.File(scratch(f"series{bits}.h5")) as file:
        series.append(file["dedispersed"][0])
total = values(9).astype("f8").sum((1, 2))
there = ~np.isnan(total)
ok(np.max(np.abs(series[0] / total - 1)[there]) < 1e-5 and np.max(np.abs(series[0] / series[1] - 1)[~there]) < 0.1,
   "the numbers that it stands for are dedispersed", series, total)
out = voltmill("info", scratch("one-1.h5"))
low, high = (int(quantised(scratch("one-1.h5"))[at].sum()) for at in (4, 5))
ok(f"clipped low {low:,} (" in out and f"high {high:,} (" in out, "info tells what was clipped", out)
said = json.loads(voltmill("info", "--json", scratch("one-1.h5")))
same((said["bits"], said["scale_rows"], said["clipped_low"], said["clipped_high"]), (8, 64, low, high),
     "and as JSON")

# ---- scales of the first block: of all streams, whatever their groups
rng = np.random.default_rng(8)
late = rng.normal(0, 20, (1 << 19, 2, 2, 2)).astype("f4")  # time, station, pol, reim
late[:1 << 18, 0] = np.nan  # a station that is missing at the beginning,
late[:1 << 18, 1, 0] = 0  # and a polarisation that is not there yet
TWO = {"station": ["A", "B"], "pol": ["X", "Y"]}
late_obs = write_archive("late", late, "time,station,pol,reim", 1e6, "complex", [100e6], TWO)
FIRST = [{"kind": "power", "integrate": 4, "bits": bits, "scales": "first", "scale_rows": 8} for bits in (8, 16)]


def first_scales(name, archive, channels=4096, run=None, products=None, **more):
    made = [dict(product, file=f"{name}-{i}.h5") for i, product in enumerate(products or FIRST)]
    return write_yaml(f"{name}.yaml", {"input": {"files": archive}, "channelise": {"channels": channels, "taps": 2},
                                       "products": made, "run": run or {}, **more})


def hashes(name):
    return [hashlib.sha256(open(scratch(f"{name}-{i}.h5"), "rb").read()).hexdigest() for i in range(2)]


few = first_scales("few", late_obs, run={"memory": "100MiB"})
plan = voltmill("plan", few)
ok("spectra of 1 stream," in plan or "spectra of 2 streams" in plan, "little memory: groups of streams", plan)
for name in ("few", "much"):
    out = voltmill("run", "--force", few if name == "few" else first_scales(name, late_obs))
ok(hashes("few") == hashes("much"), "the same scales in groups of streams")
for i in range(2):
    _, _, scale, offset, low, high = quantised(scratch(f"much-{i}.h5"))
    for found in (scale[0], offset[0]):
        ok(np.allclose(found[:3], found[3].mean(dtype="f8"), rtol=1e-5),
           "who is missing or silent in the first block has the mean of the others", found)
    for name in ("few", "much"):
        voltmill("verify", "--all", scratch(f"{name}-{i}.h5"))
ok(low.sum() + high.sum() < 0.01 * late.size / 8, "and what comes later is not clipped", low.sum(), high.sum())
ok("warning" not in out, "which nobody is warned of", out)
# A coarse channel, and a polarisation, that begin after the first block: each Stokes parameter has scales of its own.
begins = rng.normal(0, 20, (1 << 17, 2, 2, 2, 2)).astype("f4")  # time, station, pol, chan, reim
begins[:, 1] *= 5  # the second station is stronger
begins[:1 << 16, :, :, 1] = 0
alike = begins[:, 0].copy()
alike[:1 << 16, 1] = alike[:1 << 16, 0]  # Q is 0
CENTRES = [100e6, 101e6]
begins_obs = write_archive("begins", begins, "time,station,pol,chan,reim", 1e6, "complex", CENTRES, TWO)
alike_obs = write_archive("alike", alike, "time,pol,chan,reim", 1e6, "complex", CENTRES, {"pol": ["X", "Y"]})
STOKES = [{"kind": "power", "integrate": 64, "bits": 8, "scales": "first", "scale_rows": 16, "polarisation": name}
          for name in ("IQUV", "coherency")]
for name, archive in (("begins", begins_obs), ("alike", alike_obs)):
    voltmill("run", first_scales(name, archive, 32, products=[dict(one, **FEED) if one["polarisation"] == "IQUV" else one
                                                              for one in STOKES]))
for i, name in enumerate(("IQUV", "coherency")):
    q, _, scale, offset, low, high = quantised(scratch(f"begins-{i}.h5"))
    for found in (scale[0].astype("f8"), offset[0].astype("f8")):
        mean = found[:, :32].mean(1, keepdims=True)
        ok(np.abs(found[:, 32:] - mean).max() < 1e-6 * np.abs(mean).max() and abs(np.diff(mean[:, 0])).min() > 0,
           f"{name}: a channel that begins later has the mean of its own Stokes parameter and station", found)
    ok(low[3:].sum() + high.sum() < 1e-3 * q.size, f"{name}: and is not clipped", low[3:].sum((0, 2)), high.sum((0, 2)))
    _, _, scale, offset, low, high = quantised(scratch(f"alike-{i}.h5"))
    if name == "IQUV":
        ok(np.allclose(scale[0, 1], scale[0, 0].mean(dtype="f8"), rtol=1e-5) and
           np.allclose(offset[0, 1], -64 * scale[0, 1], rtol=1e-5), "Q of 0 has the scale of I, about 0", scale, offset)
        ok(low[:, 1].sum() + high[:, 1].sum() < 1e-3 * q.size, "and is not clipped", low[:, 1].sum(), high[:, 1].sum())
    for archive in ("begins", "alike"):
        voltmill("verify", "--all", scratch(f"{archive}-{i}.h5"))
# The scale of one row is a step of floats: Stokes parameters have the errors of the powers whose difference they are.
one = rng.normal(0, 20, (30000, 2, 2)).astype("f4")  # time, pol, reim
one_obs = write_archive("one", one, "time,pol,reim", 1e6, "complex", [100e6], {"pol": ["X", "Y"]})
voltmill("run", write_yaml("one-row.yaml", {
    "input": {"files": one_obs}, "channelise": {"channels": 512, "taps": 4},
    "products": [dict(FEED, kind="power", file="one-row.h5", integrate=55, bits=8, polarisation="IQUV")]}))
ok("agrees" in voltmill("verify", scratch("one-row.h5")), "IQUV of one row: verify agrees")
late[:1 << 18, 1] *= np.float32(0.01)
late_obs = write_archive("louder", late, "time,station,pol,reim", 1e6, "complex", [100e6], TWO)
out = voltmill("run", "--force", first_scales("louder", late_obs))
ok("warning: louder-0.h5" in out and "of its numbers did not fit 8 bits" in out, "of much that was clipped they are", out)
late[:1 << 18] = 0
late_obs = write_archive("silent", late, "time,station,pol,reim", 1e6, "complex", [100e6], TWO)
try:
    ok(False, "refused: nothing in the first block", voltmill("run", "--force", first_scales("silent", late_obs)))
except Failed as failed:
    ok("exit 4" in str(failed) and "use scales: block" in str(failed), "refused: nothing in the first block", failed)

# ---- a run that goes on has the scales of that which began
if os.path.exists(shim):
    with h5py.File(obs) as file:
        begin = file["voltages"].id.get_offset()
    # The first stops at its third write to a journal: each product's has the first chunk by then, however late
    # the rest comes. The second cannot read what that chunk, and the scales, were made of.
    runs = {"straight": [{}],
            "resumed": [{"SHIM_RECORDS": f"3:{errno.EIO}"}, {"SHIM_BAD": f"{begin}-{begin + 64}"}]}
    for name, faults in runs.items():
        path = job(name, [PRODUCTS[2], PRODUCTS[6]], {"chunk": 128, "on_bad": "nan"})
        for k, fault in enumerate(faults):
            more = dict(fault, LD_PRELOAD=shim) if fault else {}
            done = subprocess.run([VOLTMILL, "run", path], cwd=SCRATCH, env=dict(ENVIRONMENT, **more),
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            ok(done.returncode == (4 if k + 1 < len(faults) else 0), f"{name}: run {k + 1}", done.returncode,
               done.stdout.decode())
    same(hashes("resumed"), hashes("straight"), "the same bytes where the first block cannot be read any more")
else:
    print(f"# not resumed: {shim} is not built")

for product, words in (({"kind": "power", "scales": "first"}, "8 or 16 bits"),
                       ({"kind": "spectra", "bits": 8, "scale": 2}, "of kind voltages"),
                       ({"kind": "power", "bits": 8, "scale_rows": 0}, "scale_rows"),
                       ({"kind": "voltages", "bits": 8, "scale": 1, "scales": "first"}, "power and spectra")):
    try:
        ok(False, f"refused: {product}", voltmill("plan", job("refused", [product])))
    except Failed as failed:
        ok(words in str(failed), f"refused: {product}", failed)
finish()
