"""Several filter banks in one reading: each makes the bytes that it makes alone, whatever the others are, in
whatever chunks, groups and blocks, on any number of ranks, on devices, after a kill, behind filters, with gaps."""
import hashlib
import os
import re
import signal
import subprocess
import time

import h5py
import numpy as np

from common import ENVIRONMENT, SCRATCH, VOLTMILL, Failed, finish, ok, same, scratch, synth, voltmill, write_archive, write_yaml

BANKS = [{"name": "fine", "channels": 1000, "taps": 3},
         {"name": "coarse", "channels": 1024, "taps": 8, "window": "hamming"},
         {"name": "few", "channels": 16, "taps": 2}]
PRODUCTS = [{"kind": "power", "integrate": 5, "bank": "fine"},
            {"kind": "power", "integrate": 7, "bank": "coarse", "channels": [100, 899], "average": 8},
            {"kind": "spectra", "bank": "coarse"},
            {"kind": "power", "integrate": 48, "bank": "few"},
            {"kind": "spectra"}]


def job(name, archive, banks=None, products=None, run=None, **more):
    made = [dict(product, file=f"{name}-{i}.h5") for i, product in enumerate(products or PRODUCTS)]
    return write_yaml(f"{name}.yaml", {"input": {"files": archive, **more.pop("input", {})},
                                       "channelise": banks or BANKS, "products": made, **more,
                                       **({"run": run} if run else {})})


def digest(name):
    return hashlib.sha256(open(scratch(name), "rb").read()).hexdigest()


def digests(name, count=len(PRODUCTS)):
    return [digest(f"{name}-{i}.h5") for i in range(count)]


def alone(name, archive, products=None, status=0, **more):
    """Each bank in a job of its own, its products in the order of the common job."""
    products, found = products or PRODUCTS, {}
    for bank in BANKS:
        mine = [i for i, product in enumerate(products) if product.get("bank", "fine") == bank["name"]]
        own = {key: value for key, value in bank.items() if key != "name"}
        own.update(more.get("bank", {}))
        if mine:
            voltmill("run", "--force", job(f"{name}-{bank['name']}", archive, own,
                                           [{k: v for k, v in products[i].items() if k != "bank"} for i in mine],
                                           **{k: v for k, v in more.items() if k != "bank"}), status=status)
        found.update({i: digest(f"{name}-{bank['name']}-{at}.h5") for at, i in enumerate(mine)})
    return [found[i] for i in range(len(products))]


obs = synth("obs", samples=700001, streams={"pols": 2, "chans": 2}, bits=8, sample_rate_hz=1e6, freq_hz=100e6,
            noise=20, tones=[{"freq_hz": 100.2e6, "amplitude": 300}], seed=3)
single = alone("single", obs)
out = voltmill("run", job("all", obs))
same(digests("all"), single, "three banks at once make what each makes alone")
plan = voltmill("plan", "--force", scratch("all.yaml"))
ok("filter bank fine" in plan and "filter bank few" in plan and "128,000 samples" in plan, "plan says what they are", plan)
for ranks, run in ((2, {"chunk": 1}), (3, {"memory": "320MiB", "chunk": 4000})):
    voltmill("run", "--force", job("all", obs, run=run), ranks=ranks)
    same(digests("all"), single, f"the same bytes on {ranks} ranks, {run}")
for i in range(len(PRODUCTS)):
    voltmill("verify", scratch(f"all-{i}.h5"))
    voltmill("verify", "--crc", scratch(f"all-{i}.h5"))
ok(True, "verify knows each by its own bank")

# Little memory: groups of streams, many blocks.
wide = synth("wide", samples=700001, streams={"stations": 6, "pols": 2}, bits=8, sample_rate_hz=1e6,
             freq_hz=100e6, noise=20, seed=4)
two = [PRODUCTS[0], PRODUCTS[1]]
voltmill("run", job("much", wide, BANKS[:2], two, run={"memory": "4GiB"}))
voltmill("run", job("little", wide, BANKS[:2], two, run={"memory": "130MiB"}))
plan = voltmill("plan", "--force", scratch("little.yaml"))
groups = re.search(r"samples of (\d+) stream", plan)
ok(groups and int(groups[1]) < 12, "little memory: groups of streams", plan)
same(digests("little", 2), digests("much", 2), "the same bytes in groups")

# A kill, and on with it, each bank as it was begun.
path = job("killed", wide, BANKS[:2], two, run={"chunk": 1, "sync": 0.01})
done = 0
for delay in (0.3, 0.6, 1.0):
    process = subprocess.Popen([VOLTMILL, "run", path], cwd=SCRATCH, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done += os.path.exists(scratch("killed-0.h5.journal"))
voltmill("run", path)
same(digests("killed", 2), digests("much", 2), "the same bytes after kills")

# Real samples; gaps and numbers that are none, which each bank weighs and counts by itself.
random = np.random.default_rng(7)
values = random.normal(0, 1, (300007, 2)).astype("f4")
values[5000:5600, 0] = np.nan
values[random.integers(0, len(values), 300), 1] = np.nan
values[299990:299995] = np.nan  # some banks drop these
real = write_archive("real", values, "time,pol", 1e6, "real", centres=[1e8], gaps=[[40000, 9000], [300000, 7]])
voltmill("run", job("lacks", real))
same(digests("lacks"), alone("lacking", real), "real samples that lack some")
counts = []
for i in range(len(PRODUCTS)):
    with h5py.File(scratch(f"lacks-{i}.h5")) as file:
        counts.append((int(file["provenance/missing_samples"][()]), int(file["provenance"].attrs["gap_samples"])))
    voltmill("verify", "--all", scratch(f"lacks-{i}.h5"))
ok(len(set(counts)) > 1, "each bank counts what it takes", counts)
voltmill("run", "--force", job("lacks", real, run={"chunk": 1}), ranks=2)
same(digests("lacks"), [digest(f"lacking-{n}") for n in ("fine-0.h5", "coarse-0.h5", "coarse-1.h5", "few-0.h5", "fine-1.h5")],
     "and in other chunks")

# Some of the input is unreadable: two chunks that begin and end within spectra.
few = np.random.default_rng(8).integers(-90, 90, (300007, 2, 2), "i1")
torn = write_archive("torn", few, "time,pol,reim", 1e6, "complex", centres=[1e8], chunks=(7001, 2, 2), compression="gzip")
with h5py.File(torn) as file:
    chunks = [file["voltages"].id.get_chunk_info(i) for i in (10, 30)]
with open(torn, "r+b") as file:
    for chunk in chunks:
        file.seek(chunk.byte_offset + chunk.size // 2)
        file.write(b"torn" * 8)
nan = {"on_bad": "nan"}
voltmill("run", job("torn-all", torn, run=nan), status=6)
expected = alone("torn-one", torn, run=nan, status=6)
same(digests("torn-all"), expected, "input of which some cannot be read")
voltmill("run", "--force", job("torn-all", torn, run=dict(nan, chunk=1)), ranks=2, status=6)
same(digests("torn-all"), expected, "the same in other chunks, on two ranks")
with h5py.File(scratch("torn-all-3.h5")) as file:
    weights = file["weights"][:, 0, 0]
    steps, span = np.arange(len(weights)) * 48 * 16, 49 * 16  # samples of a dump, and of the filter behind it
    needs = sum((steps < at + 7001) & (steps + span > at) for at in (70010, 210030)) > 0
    same((weights < 1), needs, "just the dumps that need a torn chunk weigh less")
    ok(file["provenance/holes"][()].sum() > 10 and np.isnan(file["data"][95, 0]).all(), "those inside are NaN, and marked")

# Behind a filter.
np.savetxt(scratch("taps.txt"), np.sinc((np.arange(101) - 50) / 3) * np.hanning(101))
chain = {"coefficients": scratch("taps.txt"), "decimate": 2, "aliasing": "allow"}
voltmill("run", job("behind", obs, filter=chain))
same(digests("behind"), alone("behind1", obs, filter=chain), "behind a filter")

# Dedispersed: the power of the second bank.
dm = {"dm": {"start": 0, "step": 0.01, "count": 3}}
voltmill("run", job("series", obs, dedisperse=dict(dm, input=3, file="series.h5")))
own = {key: value for key, value in BANKS[2].items() if key != "name"}
voltmill("run", job("one", obs, own, [{"kind": "power", "integrate": 48}], dedisperse=dict(dm, file="one-series.h5")))
with h5py.File(scratch("series.h5")) as file, h5py.File(scratch("one-series.h5")) as other:
    same(file["dedispersed"][...], other["dedispersed"][...], "one bank's power is dedispersed")

# On an OpenCL device, and by the reference.
small = synth("small", samples=70001, streams={"pols": 2}, bits=8, sample_rate_hz=1e6, freq_hz=100e6, noise=20, seed=5)
pairs = [{"name": "fine", "channels": 256, "taps": 3}, {"name": "coarse", "channels": 64, "taps": 9}]
makes = [{"kind": "power", "integrate": 5}, {"kind": "power", "integrate": 7, "bank": "coarse"},
         {"kind": "spectra", "bank": "coarse"}]
for backend in ("opencl", "reference"):
    # Named: a processor takes long to compare kernels.
    how = {"kernel": "cache", "fft": "vkfft"} if backend == "opencl" else {}
    banks = [dict(bank, backend=backend, **how) for bank in pairs]
    try:
        voltmill("run", "--force", job("device", small, banks, makes))
    except Failed as failed:
        if backend == "opencl" and "exit 5" in str(failed):
            ok(True, "no OpenCL device # SKIP")
            continue
        raise
    found = digests("device", 3)
    expected = []
    for bank, which in ((banks[0], makes[:1]), (banks[1], makes[1:])):
        voltmill("run", "--force", job("device1", small, {k: v for k, v in bank.items() if k != "name"},
                                       [{k: v for k, v in product.items() if k != "bank"} for product in which]))
        expected += digests("device1", len(which))
    same(found, expected, f"by {backend}")

# Impossible jobs.
for change, words in (({"products": [{"kind": "power", "bank": "none"}]}, "the name of an entry of channelise"),
                      ({"products": PRODUCTS[:1]}, "no product says that"),
                      ({"banks": [dict(BANKS[0], channels=999998), dict(BANKS[1], channels=1 << 20),
                                 dict(BANKS[2], channels=262)]},
                       "smaller common multiple")):
    try:
        voltmill("run", "--force", job("bad", obs, **change))
        ok(False, f"{words}: refused")
    except Failed as failed:
        ok("exit 2" in str(failed) and words in str(failed), f"{words}: refused", failed)
finish()
