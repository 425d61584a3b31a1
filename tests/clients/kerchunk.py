"""`voltmill export --format kerchunk`: references by which a product is read as zarr. A reader of our own (json, numpy,
zlib) makes the arrays of them; fsspec, zarr and xarray do where they are."""
import base64
import json
import os
import re
import subprocess
import sys
import zlib

sys.path.pop(0)  # this file is called as the package is
from importlib import import_module, util

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
common = import_module("common")
import h5py
import numpy as np

ok, same, note, scratch, voltmill = common.ok, common.same, common.note, common.scratch, common.voltmill
random = np.random.default_rng(5)
# 9,371 spectra, a prime number: no chunks divide them
stored = random.normal(0, 20, (299968, 2, 2, 2)).round().astype("i1")
archive = common.write_archive("obs", stored, "time,pol,chan,reim", 1e6, "complex", centres=[3e8, 3.01e8],
                               root={"start_mjd_day": np.int32(60370), "start_second": 86399.25})
with h5py.File(archive, "r+") as file:
    file["pol"] = ["X", "Y"]
    file["gaps"] = np.array([[5000, 3000]], "u8")
if common.has_pictures():
    common.warm_pictures()
ROWS = {"power": "data", "spectra": "spectra", "series": "dedispersed"}


def job(compress, **more):
    return common.write_yaml("job.yaml", {
        "input": {"files": archive}, "channelise": {"channels": 32, "taps": 4},
        "products": [{"kind": "power", "integrate": 4, "file": "power.h5", "compress": compress},
                     {"kind": "spectra", "file": "spectra.h5", "compress": compress}],
        "dedisperse": {"dm": {"start": 0, "step": 1, "count": 3}, "file": "series.h5", "compress": compress}, **more})


def read_array(refs, url, name):
    """An array, as zarr's format 2 describes it."""
    shape = json.loads(refs[f"{name}/.zarray"])
    chunks, dims = shape["chunks"], shape["shape"]
    out = np.zeros(dims, shape["dtype"])
    pieces = 0
    for key, reference in refs.items():
        if not re.fullmatch(re.escape(name) + r"/[\d.]+", key):
            continue
        if isinstance(reference, str):
            raw = base64.b64decode(reference[len("base64:"):], validate=True)
        else:
            with open(reference[0].replace("{{u}}", url), "rb") as file:
                file.seek(reference[1])
                raw = file.read(reference[2])
        if shape["compressor"]:
            raw = zlib.decompress(raw)
        if shape["filters"]:
            size = shape["filters"][0]["elementsize"]
            raw = np.frombuffer(raw, "u1").reshape(size, -1).T.tobytes()
        piece = np.frombuffer(raw, shape["dtype"]).reshape(chunks)
        at = [int(i) * n for i, n in zip(key.split("/")[1].split("."), chunks)] if dims else []
        here = tuple(slice(i, min(i + n, d)) for i, n, d in zip(at, chunks, dims))
        out[here] = piece[tuple(slice(0, s.stop - s.start) for s in here)]
        pieces += 1
    return out, json.loads(refs[f"{name}/.zattrs"]), pieces


def fails(status, words, *command):
    done = subprocess.run([common.VOLTMILL, *command], cwd=common.SCRATCH, env=common.ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    said = done.stdout.decode()
    return ok(done.returncode == status and re.search(words, said) and said.count("error:") == 1,
              f"status {status}: {words}", done.returncode, said)


def equal(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


have = [name for name in ("fsspec", "zarr", "xarray") if util.find_spec(name)]
if len(have) < 3:
    note(f"SKIP zarr through fsspec, xarray: only {', '.join(have) or 'none'} of fsspec, zarr, xarray installed")
for compress in "none", "deflate", "zstd":
    voltmill("run", "--force", job(compress))
    for name, rows in ROWS.items():
        voltmill("export", "--format", "kerchunk", "--force", f"{name}.h5")
        with open(scratch(f"{name}.json")) as file:
            content = json.load(file)
        refs, url = content["refs"], content["templates"]["u"]
        same(url, os.path.realpath(scratch(f"{name}.h5")), f"{name}, {compress}: refers to the product")
        with h5py.File(scratch(f"{name}.h5")) as file:
            names = [key for key in file if isinstance(file[key], h5py.Dataset)]
            same(sorted(key[:-8] for key in refs if key.endswith("/.zarray")), sorted(names), "all arrays of the root")
            for key in names if compress != "zstd" else [one for one in names if one != rows]:
                found, words, pieces = read_array(refs, url, key)
                ok(equal(found, file[key][:]), f"/{key}: the same bytes, from {pieces} chunks")
                labels = [scale[0].name.strip("/") if len(scale) else key for scale in file[key].dims]
                same(words["_ARRAY_DIMENSIONS"], labels, f"/{key}: its axes")
            whole = file[rows][:] if compress != "zstd" else None
        if len(have) == 3:
            import xarray
            data = xarray.open_dataset("reference://", engine="zarr", backend_kwargs={
                "consolidated": False, "storage_options": {"fo": scratch(f"{name}.json")}})
            if compress == "none":
                ok(equal(data[rows].values, whole), f"{name}: xarray reads the same through fsspec and zarr")
                with h5py.File(scratch(f"{name}.h5")) as file:
                    start = np.datetime64("2024-03-01T23:59:59.25")
                    stamp = (data.time.values[5] - start) / np.timedelta64(1, "ns")
                    common.close(stamp, file["time"][5] * 1e9, 1, "and times")
                if name != "series":
                    same(list(data.pol.values), ["X", "Y"], "and names as str")
                kept = {name: whole} if name == "power" else {**kept, name: whole}
            else:
                ok(equal(data[rows].values, kept[name]), f"{name}, {compress}: xarray reads it through numcodecs")

# ---- rows that are larger than a chunk are cut, too
from mocks.filterbanks import write_fil

long = write_fil(scratch("long.fil"), random.integers(0, 255, (1100000, 1, 2)).astype("u1"), 8, fch1=1500.0, foff=-1.0, tsamp=1e-3)
voltmill("run", common.write_yaml("long.yaml", {"input": {"files": long}, "dedisperse": {"file": "long.h5", "dm": {"list": [0, 5]}}}))
voltmill("export", "--format", "kerchunk", "long.h5")
with open(scratch("long.json")) as file:
    content = json.load(file)
found, words, pieces = read_array(content["refs"], content["templates"]["u"], "dedispersed")
with h5py.File(scratch("long.h5")) as file:
    ok(pieces > len(found) and equal(found, file["dedispersed"][:]), f"long series: the same bytes, from {pieces} chunks", found.shape)

# ---- where the last chunk lacks something, it is in the references itself
voltmill("run", "--force", job("none"))
voltmill("export", "--format", "kerchunk", "--force", "--url", "s3://bucket/spectra.h5", "spectra.h5")
with open(scratch("spectra.json")) as file:
    after = json.load(file)
same(after["templates"]["u"], "s3://bucket/spectra.h5", "--url says where readers find it")
inside = [key for key, value in after["refs"].items() if isinstance(value, str) and value.startswith("base64:")]
same(inside, [max(key for key in after["refs"] if key.startswith("spectra/"))], "the last chunk of a prime number of rows is inside")

fails(2, "spectra.json exists already", "export", "--format", "kerchunk", "spectra.h5")
fails(2, "the product which it refers to", "export", "--format", "kerchunk", "--force", "-o", "spectra.h5", "spectra.h5")
fails(2, "--url is for", "export", "--format", "fil", "--url", "x", "power.h5")
for compress in "lz4", "bitshuffle":
    voltmill("run", "--force", job(compress))
    fails(2, "no codec of zarr undoes .*deflate and zstd", "export", "--format", "kerchunk", "-o", "no.json", "power.h5")
# ---- pairs of whole numbers have an axis of their own
for bits in 8, 16:
    for compress in "none", "deflate":
        voltmill("run", "--force", common.write_yaml("job.yaml", {
            "input": {"files": archive}, "channelise": {"channels": 32, "taps": 4},
            "products": [{"kind": "spectra", "file": "few.h5", "bits": bits, "compress": compress}]}))
        voltmill("export", "--format", "kerchunk", "--force", "few.h5")
        with open(scratch("few.json")) as file:
            content = json.load(file)
        found, words, pieces = read_array(content["refs"], content["templates"]["u"], "spectra")
        with h5py.File(scratch("few.h5")) as file:
            pairs = file["spectra"][:]
        expected = np.stack([pairs["r"], pairs["i"]], axis=-1)
        ok(equal(found, expected), f"spectra of {bits} bits, {compress}: the same numbers, from {pieces} chunks", found.dtype)
        same(words["_ARRAY_DIMENSIONS"][-1:] + words["_ARRAY_DIMENSIONS"][:1], ["reim", "time"], "their axes")
        if len(have) == 3:
            data = xarray.open_dataset("reference://", engine="zarr", mask_and_scale=False, backend_kwargs={
                "consolidated": False, "storage_options": {"fo": scratch("few.json")}})
            ok(equal(data.spectra.values, expected), "xarray reads them")
voltmill("run", common.write_yaml("job.yaml", {
    "input": {"files": scratch("power.h5")}, "dedisperse": {
        "dm": {"start": 0, "step": 1, "count": 8}, "search": {"file": "found.h5", "threshold": 5}}}))
fails(2, "no type for what its candidates holds", "export", "--format", "kerchunk", "found.h5")
with h5py.File(scratch("other.h5"), "w") as file:
    file["data"] = np.ones((3, 1, 3), "f4")
fails(4, "not a product of voltmill", "export", "--format", "kerchunk", "other.h5")


# ---- the interpreter: what is missing is named, what it says is the cause; comma-separated values need none
def interpreter(script):
    """One that is this script."""
    with open(scratch("python"), "w") as file:
        file.write("#!/bin/sh\n" + script)
    os.chmod(scratch("python"), 0o755)
    return scratch("python")


for chosen, status, words in (
        ("/nowhere/python", 5, "/nowhere/python is not installed: .* apt-get install python3-h5py; VOLTMILL_PYTHON names another"),
        (interpreter(f'exec {sys.executable} -S "$@"'), 5, "has no (h5py|numpy), which heimdall needs .* apt-get install python3-(h5py|numpy);"),
        ("kill -SEGV $$", 5, "was ended by signal 11"), ("echo 'error: here' >&2; exit 4", 4, "^error: here$"),
        ("echo; echo Trace >&2; echo 'TypeError: x' >&2; exit 1", 5, "failed: TypeError: x"), ("exit 77", 5, "failed: it says nothing")):
    common.ENVIRONMENT["VOLTMILL_PYTHON"] = chosen if chosen.startswith("/") else interpreter(chosen)
    fails(status, words, "export", "--format", "heimdall", "-o", "never.cand", "found.h5")
    ok(not any(name.startswith("never") for name in os.listdir(common.SCRATCH)), "and nothing is left")
interpreter("exit 0")
fails(5, "the Python module wrote nothing", "export", "--format", "kerchunk", "-o", "never.json", "power.h5")
common.ENVIRONMENT["VOLTMILL_PYTHON"] = "/nowhere/python"
voltmill("export", "--format", "csv", "found.h5")
del common.ENVIRONMENT["VOLTMILL_PYTHON"]
said = subprocess.run([common.VOLTMILL, "export", "--format", "fetch", "found.h5"], cwd=common.SCRATCH, stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, env={**common.ENVIRONMENT, "VOLTMILL_PYTHON": interpreter(
                          f'echo "note: odd" >&2; exec {sys.executable} "$@"'), "PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere"})
ok(said.returncode == 0 and said.stdout.startswith(b"note: odd\n"), "a note of its own; Python is isolated", said.stdout)
common.finish()
