"""Checksums beside a product's rows: every CRC of /provenance/objects is computed once more, as docs/products.md
says; then each dataset and attribute is changed in turn, and `voltmill verify --crc` names it. A sample of
these, or (VOLTMILL_TEST_ALL=1) all."""
import os
import shutil
import subprocess
import zlib

import h5py
import numpy as np

from common import ENVIRONMENT, ROOT, SCRATCH, VOLTMILL, finish, note, ok, same, scratch, synth, voltmill, write_yaml

TABLE = "/provenance/objects"
ROWS = {"spectra.h5": "/spectra", "power.h5": "/data", "series.h5": "/dedispersed"}
SAMPLE = {
    "spectra.h5": ["/@start_second", "/coefficients", "/provenance/missing_samples"],
    "power.h5": ["/frequency", "/time", "/data@fch1", "/data@tsamp", "/data@source_name", "/provenance@job",
                 "/provenance/holes", "/provenance/crc32", TABLE],
    "series.h5": ["/dm", "/provenance/delays", "/provenance/mask", "/dedispersed@tstart"],
}


def type_words(kind):
    """Describes a low-level type."""
    if isinstance(kind, h5py.h5t.TypeReferenceID):
        return "ref"
    if isinstance(kind, h5py.h5t.TypeVlenID):
        return f"vlen({type_words(kind.get_super())})"
    if isinstance(kind, h5py.h5t.TypeStringID):
        return "str" if kind.is_variable_str() else f"|S{kind.get_size()}"
    if isinstance(kind, h5py.h5t.TypeCompoundID):
        members = (f"{kind.get_member_name(i).decode()}: {type_words(kind.get_member_type(i))}"
                   for i in range(kind.get_nmembers()))
        return "{" + ", ".join(members) + "}"
    return kind.dtype.str


def line(low):
    return f"{type_words(low.get_type())} {list(low.shape)}\n".encode()


def attribute_bytes(file, target, name):
    low = h5py.h5a.open(target.id, name.encode())
    if name == "DIMENSION_LIST":
        values = b"".join(file[ref].name.encode() + b"\0" for refs in target.attrs[name] for ref in refs)
    elif name == "REFERENCE_LIST":
        values = b"".join(file[ref].name.encode() + b"\0" + np.int32(dim).tobytes()
                          for ref, dim in target.attrs[name])
    elif name == "DIMENSION_LABELS":
        values = b"".join((label or b"") + b"\0" if isinstance(label, bytes) else (label or "").encode() + b"\0"
                          for label in target.attrs[name])
    else:
        kind = low.get_type()
        values = np.zeros(low.shape, dtype=f"S{kind.get_size()}" if isinstance(kind, h5py.h5t.TypeStringID)
                          else kind.dtype)
        low.read(values, mtype=kind)
        values = values.tobytes()
    return line(low) + values


def dataset_bytes(path, dataset, rows):
    values = b""
    if dataset.name not in (rows, TABLE):
        with open(path, "rb") as file:
            file.seek(dataset.id.get_offset())
            values = file.read(dataset.id.get_storage_size())
    return line(dataset.id) + values


def contents_of(path, rows):
    out = {}
    with h5py.File(path) as file:
        def take(name, target):
            if isinstance(target, h5py.Dataset):
                out[name] = zlib.crc32(dataset_bytes(path, target, rows))
            for attribute in target.attrs:
                out[f"{name}@{attribute}"] = zlib.crc32(attribute_bytes(file, target, attribute))
        take("/", file)
        file.visititems(lambda name, target: take("/" + name, target))
    return out


def table_of(path):
    with h5py.File(path) as file:
        return {row["name"].decode(): int(row["crc32"]) for row in file[TABLE][()]}


def verify(path):
    done = subprocess.run([VOLTMILL, "verify", "--crc", path], cwd=SCRATCH, env=ENVIRONMENT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def change(path, name):
    """One bit of a dataset, or one value of an attribute; what is a link is lost."""
    where, _, attribute = name.partition("@")
    with h5py.File(path, "r+") as file:
        if not attribute:
            at = file[where].id.get_offset()
        elif attribute in ("DIMENSION_LIST", "REFERENCE_LIST"):
            del file[where].attrs[attribute]
            return
        else:
            low = h5py.h5a.open(file[where].id, attribute.encode())
            value = file[where].attrs[attribute]
            if isinstance(value, np.ndarray):
                labels = list(value)
                labels[0] = "other"
                file[where].attrs.modify(attribute, labels)
            elif isinstance(value, (bytes, str)):
                raw = np.zeros((), dtype=f"S{low.get_type().get_size()}")
                low.read(raw, mtype=low.get_type())
                raw[()] = (b"Z" if raw[()][:1] != b"Z" else b"Y") + raw[()][1:]
                low.write(raw, mtype=low.get_type())
            else:
                file[where].attrs.modify(attribute, value.dtype.type(value + 1))
            return
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def changed(product, name):
    path = scratch("changed.h5")
    shutil.copy(scratch(product), path)
    change(path, name)
    status, out, err = verify(path)
    lines = [text for text in out.splitlines() if text.startswith(name + ":")]
    good = status == 4 and err.count("error: ") == 1
    # Without some it is not taken for a product of its kind; a name in the table vouches for nothing else.
    good = good and (bool(lines) or name.partition("@")[2] in REFUSED or name == TABLE)
    if not good:
        note(f"{product} {name}: exit {status}\n{out}{err}")
    return good


REFUSED = {"format", "format_version", "span_rows", "channels"}

archive = synth("archive", samples=20000, bits=8, sample_rate_hz=1e6, freq_hz=1.4e9, noise=20,
                streams={"pols": 2})
job = {"input": {"files": archive}, "channelise": {"channels": 64, "taps": 4, "backend": "cpu"},
       "products": [{"kind": "spectra", "file": "spectra.h5"},
                    {"kind": "power", "file": "power.h5", "integrate": 4}],
       "dedisperse": {"dm": [0, 5, 10], "file": "series.h5"}, "run": {"chunk": 100}}
voltmill("run", write_yaml("job.yaml", job), ranks=2)
for product, rows in ROWS.items():
    same(table_of(scratch(product)), contents_of(scratch(product), rows), f"{product}: every CRC is as documented")
    status, out, err = verify(product)
    ok(status == 0 and "datasets and attributes read, 0 damaged" in out, f"{product}: verify --crc", out, err)
    names = [name for name in table_of(scratch(product)) if os.environ.get("VOLTMILL_TEST_ALL") or
             name in SAMPLE[product]]
    bad = [name for name in names if name != rows and not changed(product, name)]
    same(bad, [], f"{product}: {len(names)} changes are found, and named")

# Datasets of several pieces, which threads read.
wide = {"input": {"files": synth("long", samples=400000, bits=8, sample_rate_hz=1e6, freq_hz=1.4e9, noise=20)},
        "channelise": {"channels": 50000, "taps": 4, "backend": "cpu"},
        "products": [{"kind": "power", "file": "wide.h5"}]}
voltmill("run", write_yaml("wide.yaml", wide))
same(table_of(scratch("wide.h5")), contents_of(scratch("wide.h5"), "/data"), "long axes: every CRC is as documented")

shutil.copy(scratch("power.h5"), scratch("changed.h5"))
with h5py.File(scratch("changed.h5"), "r+") as file:
    file["data"].attrs["comment"] = "seen"
    del file["data"].attrs["rawdatafile"]
status, out, err = verify("changed.h5")
ok(status == 4 and "/data@rawdatafile: missing" in out and "/data@comment: came later" in out,
   "an attribute that is gone, and one that has come", out, err)

shutil.copy(scratch("power.h5"), scratch("changed.h5"))
with h5py.File(scratch("changed.h5"), "r+") as file:
    file["data"].attrs["comment"] = "seen"
    file["note"] = 5
status, out, err = verify("changed.h5")
ok(status == 4 and "/data@comment: came later" in out and "/note: came later" in out and err.count("error: ") == 1,
   "what was only added", out, err)

for product in ROWS:
    shutil.copy(scratch(product), scratch("changed.h5"))
    with h5py.File(scratch("changed.h5"), "r+") as file:
        del file[TABLE]
    status, out, err = verify("changed.h5")
    ok(status == 4 and "error: " in err and f"{TABLE}: missing" in err, f"{product}: the table itself is gone", out, err)
    done = subprocess.run([VOLTMILL, "verify", "changed.h5"], cwd=SCRATCH, env=ENVIRONMENT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    ok(done.returncode == 4 and f"has no {TABLE}" in done.stderr.decode(), f"{product}: verify says so, too",
       done.stderr.decode())

shutil.copy(os.path.join(ROOT, "tests/clients/version2/power.h5"), scratch("older.h5"))
status, out, err = verify("older.h5")
ok(status == 0 and "note: older.h5 contains CRCs of its rows alone" in err, "an older product: what is not checked is said",
   out, err)
finish()
