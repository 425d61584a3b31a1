"""Products with compressed rows: h5py reads what is not compressed, the same bytes from any number of ranks and
threads, voltmill's own readers, what readers are told, kills, damage, room."""
import hashlib
import os
import shutil
import subprocess

import h5py
import numpy as np

from common import ENVIRONMENT, SCRATCH, VOLTMILL, finish, has_pictures, note, ok, same, scratch, voltmill, warm_pictures, write_archive, write_yaml

try:
    import hdf5plugin
except ImportError:
    hdf5plugin = None
    note("SKIP h5py reads lz4, bitshuffle, zstd: no hdf5plugin")

random = np.random.default_rng(18)
stored = random.normal(0, 20, (200000, 2, 3, 2)).round().clip(-128, 127).astype("i1")
stored[20000:24000] = 0
archive = write_archive("obs", stored, "time,pol,chan,reim", 1e6, "complex", centres=[3e8, 3.01e8, 3.02e8],
                        root={"start_mjd_day": np.int32(60370), "start_second": 100.0})
with h5py.File(archive, "r+") as file:
    file["gaps"] = np.array([[100000, 5000]], "u8")
PRODUCTS = [{"kind": "power", "integrate": 3, "file": "power.h5"}, {"kind": "spectra", "file": "spectra.h5"}]
ROWS = {"power": "data", "spectra": "spectra", "series": "dedispersed"}


def job(compress, **more):
    keys = {"compress": compress} if compress else {}
    return write_yaml("job.yaml", {
        "input": {"files": archive}, "channelise": {"channels": 64, "taps": 4},
        "products": [{**product, **keys} for product in PRODUCTS],
        "dedisperse": {"dm": {"start": 0, "step": 0.5, "count": 5}, "edges": "pad", "pols": 1, "file": "series.h5",
                       **keys}, **more})


def digest(name):
    with open(scratch(f"{name}.h5"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def fails(status, words, *command):
    done = subprocess.run([VOLTMILL, *command], cwd=SCRATCH, env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    said = done.stdout.decode()
    return ok(done.returncode == status and words in said, f"status {status}: {words}", done.returncode, said)


def clear():
    for name in ROWS:
        for ending in "", ".part", ".journal", ".packed.part":
            if os.path.exists(scratch(f"{name}.h5{ending}")):
                os.remove(scratch(f"{name}.h5{ending}"))


voltmill("run", job(None))
plain = {}
for name, rows in ROWS.items():
    with h5py.File(scratch(f"{name}.h5")) as file:
        plain[name] = {key: file[key][...] for key in (rows, "time", "provenance/crc32", "provenance/holes")}
        if "weights" in file:
            plain[name]["weights"] = file["weights"][...]
    os.rename(scratch(f"{name}.h5"), scratch(f"plain-{name}.h5"))
ok("weights" in plain["power"], "there are weights")

if has_pictures():
    warm_pictures()
FILTERS = {"deflate": ["2", "1"], "lz4": ["2", "32004"], "bitshuffle": ["32008"], "zstd": ["2", "32015"]}
for compress in FILTERS:
    clear()
    voltmill("run", job(compress), ranks=3)
    first = {name: digest(name) for name in ROWS}
    left = [name for name in os.listdir(SCRATCH) if name.endswith((".part", ".journal"))]
    same(left, [], f"{compress}: nothing is left beside the products")
    for name, rows in ROWS.items():
        with h5py.File(scratch(f"{name}.h5")) as file:
            data = file[rows]
            filters = list(data._filters)
            ok(data.chunks is not None and len(filters) == len(FILTERS[compress]), f"{compress}: {name}: filters",
               data.chunks, filters)
            ok(data.chunks[-1] == data.shape[-1] and set(data.chunks[1:-1]) <= {1}, f"{compress}: {name}: whole rows "
               "of one if", data.chunks)
            ok(b"hdf5plugin" in data.attrs["compression"] or compress == "deflate",
               f"{compress}: {name}: what readers need", data.attrs["compression"])
            ok(data.id.get_storage_size() < data.size * data.dtype.itemsize, f"{compress}: {name}: is smaller",
               data.id.get_storage_size(), data.size * data.dtype.itemsize)
            for key, values in plain[name].items():
                if key == rows and compress != "deflate" and not hdf5plugin:
                    continue
                found = file[key][...]
                ok(found.tobytes() == values.tobytes(), f"{compress}: {name}: {key} is that of the plain product")
        says = voltmill("info", f"{name}.h5")
        ok("compress" in says, f"{compress}: info says so", says)
        voltmill("verify", "--crc", f"{name}.h5")
        if compress == "bitshuffle":
            voltmill("verify", f"{name}.h5")
    ok(True, f"{compress}: verify --crc, and of bitshuffle verify")
    said = voltmill("export", "--format", "fil", "--force", "-o", "packed.fil", "power.h5")
    voltmill("export", "--format", "fil", "--force", "-o", "plain.fil", "plain-power.h5")
    with open(scratch("packed.fil"), "rb") as a, open(scratch("plain.fil"), "rb") as b:
        ok(a.read()[-100000:] == b.read()[-100000:], f"{compress}: export reads it")
    if has_pictures():
        voltmill("plot", "--force", "--kind", "bandpass", "-o", "packed.svg", "spectra.h5")
        voltmill("plot", "--force", "--kind", "bandpass", "-o", "plain.svg", "plain-spectra.h5")
        pictures = [open(scratch(f"{name}.svg")).read().replace("plain-", "") for name in ("packed", "plain")]
        same(pictures[0], pictures[1], f"{compress}: plot reads it")
    clear()
    voltmill("run", job(compress), threads=1)
    same({name: digest(name) for name in ROWS}, first, f"{compress}: the same bytes from one rank and thread")
    if compress == "lz4":
        fails(0, "", "run", job(compress))

# Damage is found; a product that is repacked by others is none of ours.
with h5py.File(scratch("power.h5")) as file:
    info = file["data"].id.get_chunk_info(0)
with open(scratch("power.h5"), "r+b") as file:
    file.seek(info.byte_offset + info.size // 2)
    old = file.read(1)
    file.seek(info.byte_offset + info.size // 2)
    file.write(bytes([old[0] ^ 255]))
fails(4, "", "verify", "--crc", "power.h5")

# Killed while it compresses, at many moments: the same command ends with the same bytes.
expected = first
for wait in (0.15, 0.3):
    clear()
    run = subprocess.Popen([VOLTMILL, "run", job("zstd")], cwd=SCRATCH, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    try:
        run.wait(float(wait))
    except subprocess.TimeoutExpired:
        run.kill()
    run.wait()
    voltmill("run", job("zstd"))
    same({name: digest(name) for name in ROWS}, expected, f"killed after {wait:.2f} s")

# A file left under the name of the packed file is replaced.
clear()
voltmill("run", job("zstd"))
shutil.copy(scratch("power.h5"), scratch("power.h5.packed.part"))
with open(scratch("power.h5.packed.part"), "r+b") as file:
    file.truncate(100000)
    file.write(b"\211VMPARTr")
for name in ROWS:
    os.remove(scratch(f"{name}.h5"))
voltmill("run", job("zstd"))
same({name: digest(name) for name in ROWS}, expected, "a packed file that was left is made anew")

# Words.
said = voltmill("plan", "--force", job("lz4"))
need = voltmill("plan", "--force", job(None))


def needed(text):
    line = next(line for line in text.splitlines() if "needed" in line)
    return int(line.split("(")[1].split(" bytes")[0].replace(",", ""))


ok(needed(said) > 2 * needed(need), "plan counts the room of both files", said)
bad = write_yaml("bad.yaml", {"input": {"files": archive},
                              "products": [{"kind": "voltages", "file": "v.h5", "bits": 32, "compress": "lz4"}]})
fails(2, "products.0.compress", "run", bad)
bad = write_yaml("bad.yaml", {"input": {"files": archive}, "channelise": {"channels": 64, "taps": 4},
                              "products": [{"kind": "power", "file": "v.h5", "compress": "gzip"}]})
fails(2, "expected one of none, deflate, lz4, bitshuffle, zstd", "run", bad)
finish()
