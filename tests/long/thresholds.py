#!/usr/bin/env python3
"""Random jobs whose sizes and threads are on both sides of the thresholds of src/: long filters, synthesis, groups of
coarse channels and of streams, several banks and products, dedispersion, arrays, and layouts of one observation. Each
job runs with other threads, ranks, memory and chunks, to the same bytes; `verify` agrees; all layouts have equal rows.

    COUNT=120 SEED=1 tests/long/thresholds.py    # jobs of the seeds 1 to 120, kinds in turn
    COUNT=1 SEED=17 BACKEND=opencl tests/long/thresholds.py
    LARGEST=1e8 tests/long/thresholds.py         # observations of up to 10^8 samples, for machines of many cores"""
import hashlib
import os
import random
import re
import sys

import h5py
import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../clients"))
from common import ENVIRONMENT, Failed, finish, note, ok, scratch, voltmill, write_yaml
from mocks.filterbanks import write_fil
from mocks.recorders import write_guppi

COUNT, SEED, BACKEND = int(os.environ.get("COUNT", "120")), int(os.environ.get("SEED", "1")), os.environ.get("BACKEND", "cpu")
LARGEST = float(os.environ.get("LARGEST", "4e6" if BACKEND == "cpu" else "2e5"))  # samples of all streams
CHANNELS = 2, 6, 16, 64, 100, 256, 1000, 1024, 4096, 12288, 16384, 24576, 32768, 65536, 131072, 196608


def observe(dice, pols=(1, 2, 3), chans=(1, 2, 3, 8), stations=(1, 1, 2), least=6000):
    """Writes an observation; returns its specification, its path and the samples of a raw stream."""
    streams = {"stations": dice.choice(stations), "pols": dice.choice(pols), "chans": dice.choice(chans)}
    count = int(np.prod(list(streams.values())))
    samples = max(int(LARGEST * dice.choice([0.05, 0.3, 1]) / count), least) + dice.randrange(97)
    spec = {"file": scratch("obs.h5"), "samples": samples, "streams": streams, "bits": dice.choice([4, 8, 8, 16, 32]),
            "sample_rate_hz": 1e6, "freq_hz": 4e8, "noise": 2.5, "seed": dice.randrange(1000), "domain": "complex"}
    if spec["bits"] != 4 and dice.random() < 0.25:
        spec["domain"] = "real"
    if dice.random() < 0.35:
        first = dice.randrange(samples // 2)
        spec["gaps"] = [{"first": first, "count": samples // 9}, {"first": first, "count": samples // 5, "stream": count - 1}]
    voltmill("synth", "--force", write_yaml("obs.yaml", spec))
    return spec, spec["file"], samples // (2 if spec["domain"] == "real" else 1)


def choose_bank(dice, raws):
    channels = dice.choice([c for c in CHANNELS if c <= max(raws // 8, 2)])
    return {"channels": channels, "taps": max(min(dice.choice([1, 2, 4, 8]), raws // channels // 2), 1), "backend": BACKEND}


def choose_product(dice, name, bank, spectra, pols):
    product = {"kind": "spectra", "file": name}
    if dice.random() < 0.75:
        product.update({"kind": "power", "integrate": min(dice.choice([1, 2, 7, 16, 17, 100]), max(spectra, 1))})
        if pols == 2:
            product["polarisation"] = dice.choice(["separate", "I", "IQUV", "coherency"])
            product.update({"feed": "linear"} if product["polarisation"] == "IQUV" else {})
        if dice.random() < 0.3:
            cells = product["integrate"] == 16 and dice.random() < 0.7
            product["flag"] = {"kurtosis": 3, "spectra": 16} if cells else {"channels": [[0, dice.randrange(bank["channels"])]]}
        product.update({"average": dice.choice([2, bank["channels"] // 2])} if dice.random() < 0.3 else {})
    if "average" not in product and dice.random() < 0.3:
        product["channels"] = sorted(dice.choices(range(bank["channels"]), k=2))
    product.update({"bits": dice.choice([8, 16]), "scale_rows": dice.choice([1, 20, 64])} if dice.random() < 0.35 else {})
    return {**product, "compress": dice.choice(["none", "none", "none", "deflate", "lz4", "bitshuffle", "zstd"])}


# ---- kinds of jobs: each returns a job, or several that must have equal rows

def filters(dice):
    spec, path, raws = observe(dice, least=20000)
    if spec["domain"] == "complex" and dice.random() < 0.3:
        chain = [{"dispersion": {"dm": raws / 400000 * dice.choice([0.3, 10, 100, 300])}, "backend": BACKEND}]
    else:
        taps = min(dice.choice([2, 5, 64, 65, 128, 129, 257, 513, 1000, 4097, 16383, 65536, 131072]), raws // 8)
        np.savetxt(scratch("c.txt"), np.random.default_rng(taps).standard_normal((taps, dice.choice([1, 2]))) / taps ** 0.5)
        method = dice.choice(["auto", "overlap-save"] + (["direct"] if taps < 1100 else []))
        chain = [{"coefficients": scratch("c.txt"), "method": method, "decimate": dice.choice([1, 1, 2, 3, 7, 16]),
                  "aliasing": "allow", "edges": dice.choice(["valid", "valid", "pad"]), "backend": BACKEND}]
    job = {"input": {"files": path}, "filter": chain + chain * dice.choice([0, "coefficients" in chain[0]])}
    if dice.random() < 0.5:
        return [{**job, "products": [{"kind": "voltages", "file": "a.h5", "bits": dice.choice([8, 16, 32]), "scale": 0.1}]}]
    return [{**job, "channelise": choose_bank(dice, raws // 64),
             "products": [{"kind": "power", "file": "a.h5", "integrate": dice.choice([1, 5])}]}]


def synthesis(dice):
    num, den = dice.choice([(32, 27), (4, 3), (8, 7), (2, 1), (1, 1)])
    channels = num * dice.choice([4, 6, 22, 100, 512, 2048])
    _, path, _ = observe(dice, chans=(1, 2), least=60 * channels)
    bank = {"channels": channels, "taps": 8, **({"oversample": {"num": num, "den": den}} if num > den else {})}
    made = {"kind": "spectra", "file": scratch("bank.h5"), "bits": dice.choice([8, 16, 32])}
    voltmill("run", "--force", write_yaml("bank.yaml", {"input": {"files": path}, "channelise": bank, "products": [made]}))
    return [{"input": {"files": scratch("bank.h5")}, "synthesise": {"taps": dice.choice([1, 4, 8, 16]), "backend": BACKEND},
             "products": [{"kind": "voltages", "file": "a.h5", "bits": dice.choice([8, 16, 32]), "scale": 0.1}]}]


def products(dice):
    spec, path, raws = observe(dice, chans=(1, 2, 6, 16, 64), pols=(1, 2, 2), stations=(1, 1, 5))
    banks, made = [{"name": "bank0", **choose_bank(dice, raws)}], []
    for i in range(dice.choice([0, 0, 1, 2])):
        banks.append({**banks[0], "name": f"bank{i + 1}", "channels": max(banks[0]["channels"] >> dice.randrange(1, 5) & -2, 2)})
    for i in range(max(len(banks), dice.choice([1, 2, 3]))):
        bank = banks[i % len(banks)]
        one = choose_product(dice, f"{'abc'[i]}.h5", bank, raws // bank["channels"] - 8, spec["streams"]["pols"])
        made.append({**one, "bank": bank["name"]})
    return [{"input": {"files": path}, "channelise": banks, "products": made}]


def dedispersion(dice):
    channels, bits = dice.choice([8, 32, 40, 64, 256, 264, 520, 1000, 2048]), dice.choice([1, 2, 4, 8, 16, 32])
    times, deep = max(min(int(LARGEST / channels), 60000), 1500) + dice.randrange(70), (1 << min(bits, 12)) - 1
    power = np.random.default_rng(channels).normal(deep / 2, deep / 6, (times, 1, channels)).clip(0, deep)
    path = write_fil(scratch("power.fil"), power if bits == 32 else np.rint(power).astype("i8"), bits, fch1=1500.0,
                     foff=-200.0 / channels, tsamp=1e-3)
    count = min(dice.choice([1, 3, 17, 64, 257, 600]), int(2e7 / times))
    most = dice.choice([1, 30, 300, times // 3]) * 1e-3 / (8300 * 200 / 1300 ** 3)
    job = {"dm": {"start": 0, "step": most / count, "count": count}, "file": "a.h5", "backend": BACKEND,
           "zero_dm": dice.choice(["false", "true"]),
           "mode": dice.choice(["brute", "tree", "two-step"]), "downsample": dice.choice([1, 1, 2, 7])}
    job.update({"search": {"file": "peaks.h5", "threshold": 5}} if times > 12000 and dice.random() < 0.5 else {})
    return [{"input": {"files": path}, "dedisperse": job}]


def arrays(dice):
    spec, path, raws = observe(dice, pols=(1, 2), chans=(1, 2), stations=(3, 5, 17, 70, 190) if LARGEST > 1e6 else (3, 5))
    places = [{"name": f"S{i:03}", "enu_m": [dice.uniform(-9e3, 9e3), dice.uniform(-9e3, 9e3), 0]}
              for i in range(spec["streams"]["stations"])]
    table = write_yaml("array.yaml", {"reference": {"lon_deg": 21.4, "lat_deg": -30.7}, "stations": places})
    bank, made = choose_bank(dice, raws // 2), []
    spectra = raws // bank["channels"] - 18
    job = {"input": {"files": path}, "channelise": bank, "products": made,
           "array": {"table": table, "centre": {"ra_deg": 83.6, "dec_deg": -22}, "ut1_utc": 0}}
    if spectra * bank["channels"] > 400:
        rows = min(max(400 // bank["channels"] + 1, dice.choice([1, 17, 1009, 1024, 2100])), spectra)
        made.append({"kind": "visibilities", "file": "a.h5", "feed": "linear", "average": dice.choice([1, 2]), "integrate": rows})
    if not made or dice.random() < 0.5:
        job["beams"] = [{"ra_deg": 83.6 + i / 100, "dec_deg": -22} for i in range(dice.choice([1, 3, 16, 33]))]
        made.append(choose_product(dice, "b.h5", bank, spectra, spec["streams"]["pols"]))
    return [job]


def layouts(dice):
    pols, chans, steps = dice.choice([1, 2]), dice.choice([1, 1, 2, 33]), dice.choice([64, 1000, 1024])
    blocks = max(int(LARGEST / pols / chans / steps), 8)
    x = np.random.default_rng(steps).integers(-90, 90, (blocks * steps, pols, chans, 2), dtype="i1")
    facts, inputs = {"freq_hz": [4e8 + 1e6 * i for i in range(chans)], "scale": 1}, []
    for i, order in enumerate(((0, 1, 2, 3), (1, 0, 2, 3), (0, 2, 1, 3), (2, 1, 0, 3))):
        stored, path = x.transpose(order), scratch(f"{i}.h5")
        with h5py.File(path, "w") as file:
            file.create_dataset("v", data=stored, **({"compression": dice.choice(["gzip", "lzf"])} if i % 2 else {}))
        axes = ",".join(("time", "pol", "chan", "reim")[k] for k in order)
        inputs.append({"files": path, "layout": {**facts, "sample_rate_hz": 1e6, "dataset": "/v", "axes": axes}})
    volts = (x[..., 0] + 1j * x[..., 1]).transpose(2, 0, 1)[None]
    path = write_guppi(scratch("a.raw"), volts, 8, steps, layout=dice.choice(["chan", "time"]))
    job = {"channelise": choose_bank(dice, len(x)), "products": [{"kind": "power", "file": "a.h5", "integrate": 3}]}
    return [{**job, "input": one} for one in inputs + [{"files": path, "layout": {"format": "guppi", **facts}}]]


def run(path, how, ranks):
    """Returns whether the run is possible; where the memory is too small, it takes what is needed."""
    try:
        voltmill("run", "--force", path, *(f"--set=run.{key}={value}" for key, value in how.items()), ranks=ranks)
    except Failed as failed:
        least = re.search(r"need at least ([\d.]+) (MiB|GiB)", str(failed))
        if not str(failed).startswith("exit 2"):
            raise
        return bool(least) and run(path, {**how, "memory": f"{float(least[1]) * 1.01:.2f}{least[2]}"}, ranks)
    return True


def try_job(dice, job, rows):
    """Returns what differs; adds the rows of power to those of the other layouts."""
    path, found = write_yaml("job.yaml", job), {}
    for i in range(4):
        ranks = dice.choice([1, 2, 3, 5]) if i == 2 else None
        how = {"threads": dice.choice([1, 2, 7] if ranks else [2, 3, 3, 5, 5, 9, 33]), "memory": dice.choice(["2GiB", "2GiB", "300MiB", "110MiB", "64MiB"])}
        how.update({"chunk": dice.choice([16, 20, 300]) * (999 if "voltages" in repr(job) else 1)} if i % 2 else {})
        if run(path, {"threads": 1, "memory": "2GiB"} if i == 0 else how, ranks):
            for file in re.findall(r"'file': '(\w+\.h5)'", repr(job)):
                with open(scratch(file), "rb") as stored:
                    digest = hashlib.sha256(stored.read()).hexdigest()
                found.setdefault(file, {}).setdefault(digest, []).append((how, ranks))
    for file in found.keys() - {"peaks.h5"}:
        voltmill("verify", "--chunks", "5", scratch(file))
        with h5py.File(scratch(file)) as opened:
            rows.update([opened["data"][...].tobytes()] if "layout" in job["input"] else [])
    note("" if found else "no such job")
    return [f"{file} differs: {others}" for file, others in found.items() if len(others) > 1]


KINDS = filters, synthesis, products, dedispersion, arrays, layouts
for seed in range(SEED, SEED + COUNT):
    generator, kind, of_layouts, wrong, jobs = random.Random(seed), KINDS[seed % len(KINDS)], set(), [], []
    ENVIRONMENT["VOLTMILL_CACHE"] = scratch(f"cache-{seed}")  # FFTW's plans decide last bits
    try:
        jobs = kind(generator)
        for one in jobs:
            wrong += try_job(generator, one, of_layouts)
    except Failed as error:
        wrong.append(error)
    ok(not wrong and len(of_layouts) < 2, f"SEED={seed}: {kind.__name__}", *wrong, f"{len(of_layouts)} sets of rows", *jobs)
finish()
