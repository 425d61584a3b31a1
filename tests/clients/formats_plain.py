"""Files without a container: raw numbers, .npy, SigMF, WAV and RF64. Every number as numpy has it, and as the public
packages sigmf and soundfile have it where they are installed; what is assumed, and damaged files: one error line each."""
import io
import json
import os
import tarfile

import h5py
import numpy as np

from common import Failed, canonical, finish, note, ok, same, scratch, voltmill, write_yaml
from mocks import plain

try:
    import sigmf
except ImportError:
    sigmf = None
try:
    import soundfile
except ImportError:
    soundfile = None

random = np.random.default_rng(23)
HERTZ = {"sample_rate_hz": 1e6}


def read(files, **layout):
    """All samples by voltmill, [station][beam][pol][chan][time], what it prints, its attributes and gaps."""
    job = {"input": {"files": files, **({"layout": layout} if layout else {})}, "products": [{"kind": "voltages", "file": "out.h5"}]}
    said = voltmill("run", "--force", write_yaml("job.yaml", job), threads=1)
    with h5py.File(scratch("out.h5")) as file:
        stored, about = file["voltages"], {**file.attrs, **file["voltages"].attrs, "freq_hz": file["freq_hz"][...]}
        volts = canonical(stored[...] * about.get("scale", 1.0), stored.attrs["axes"].decode().split(","))
        return volts, said, about, file["gaps"][...].astype(int).tolist() if "gaps" in file else []


def check(name, expected, files, words="", **layout):
    """The samples of file(s) are these, [pol][time] (or [station][beam][pol][chan][time]); what is printed has the words."""
    found, said, about, gaps = read(files, **layout)
    expected = np.asarray(expected)
    expected = expected.reshape((1,) * 4 + expected.shape) if expected.ndim == 1 else expected
    expected = expected.reshape(1, 1, expected.shape[0], 1, -1) if expected.ndim == 2 else expected
    same(found.shape, expected.shape, f"{name}: shape")
    ok(np.array_equal(found, expected.astype(found.dtype)), f"{name}: every sample", found.ravel()[:4], expected.ravel()[:4])
    for word in [words] if isinstance(words, str) else words:
        ok(word in said if word else "assumed: " not in said, f"{name}: prints {word or 'no assumption'}", said)
    return about, gaps, said


def refused(name, files, words, status=4, **layout):
    try:
        job = {"input": {"files": files, **({"layout": layout} if layout else {})}, "products": [{"kind": "voltages", "file": "out.h5"}]}
        said = voltmill("run", "--force", write_yaml("job.yaml", job), threads=1, status=status)
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        ok(len(errors) == 1 and words in errors[0], f"{name}: one error with \"{words}\"", said)
    except Failed as error:
        ok(False, name, error)


def noise(shape, dtype, size=100):
    return np.rint(random.standard_normal(shape) * size).astype(dtype)


def pairs(x):
    return x[..., 0] + 1j * x[..., 1]


# ---- raw numbers

def raw():
    x = noise((400, 2, 3, 2), "<i2", 3000)
    put = lambda *pieces: plain.write(scratch("a.bin"), *pieces)
    volts = np.moveaxis(pairs(x.astype("f8")), 0, -1)[None, None]
    about, _, _ = check("raw ci16_le behind 100 bytes", volts, put(bytes(100), x), format="raw", type="ci16_le", skip=100,
                        axes="time,pol:2,chan:3", freq_hz=[3e9, 1e9, 2e9][::1] and [1e9, 2e9, 3e9], start="2024-05-01T06:07:08.5",
                        telescope="X", **HERTZ)
    ok(about["start_second"] == 22028.5 and about["telescope"] == b"X" and about["freq_hz"][2] == 3e9, "raw: start, frequencies", about)
    check("raw i16, axis reim", volts, put(x), format="raw", type="i16", axes="time,pol:2,chan:3,reim",
          freq_hz={"start": 1e9, "step": 1e9}, **HERTZ)
    check("raw, axes joined", volts, put(np.swapaxes(x, 1, 2)), format="raw", type="ci16", axes="time,chan:3*pol:2",
          freq_hz={"start": 1e9, "step": 1e9}, **HERTZ)
    check("raw, time innermost", volts, put(np.moveaxis(x, 0, 2)), format="raw", type="ci16", axes="pol:2,chan:3,time",
          freq_hz={"start": 1e9, "step": 1e9}, **HERTZ)
    heaps = np.moveaxis(x.reshape(5, 80, 2, 3, 2), 1, 3)
    check("raw, blocks of time", volts, put(heaps), format="raw", type="ci16", axes="time,pol:2,chan:3,time:80",
          freq_hz={"start": 1e9, "step": 1e9}, **HERTZ)
    check("raw, a torn end", volts, put(x, b"torn"), "ends within a time step: the last 4 bytes", format="raw", type="ci16",
          axes="time,pol:2,chan:3", freq_hz={"start": 1e9, "step": 1e9}, **HERTZ)
    for kind, dtype in (("ri8", "i1"), ("ri16_be", ">i2"), ("i32", "<i4"), ("ri64_be", ">i8"), ("u16", "<u2"), ("f16", "<f2"),
                        ("rf32_le", "<f4"), ("rf64_be", ">f8")):
        y = np.abs(noise(3000, "f8")).astype(dtype) if "u" in kind else noise(3000, "f8").astype(dtype)
        check(f"raw {kind}", y, put(y), "axes time: one stream", format="raw", type=kind, **HERTZ)
    y = noise(3000, "<i4", 2e6)
    check("raw i24", y, put(plain.pack24(y)), format="raw", type="i24", words="axes", **HERTZ)
    y = noise((3000, 2), "<f4") / np.float32(3)
    check("raw f32, domain complex", pairs(y), put(y), "axes", format="raw", type="f32", domain="complex", **HERTZ)
    y = random.integers(0, 256, (3000, 2)).astype("u1")
    check("raw cu8 less 127.5", pairs(y - 127.5), put(y), "axes", format="raw", type="cu8", offset=127.5, **HERTZ)
    check("raw cu8", pairs(y.astype("f8")), put(y), "offset 0 of unsigned numbers", format="raw", type="cu8", **HERTZ)
    check("raw, two bits", np.array([-3.3359, -1, 1, 3.3359], "f4")[y.reshape(-1)[:, None] >> [0, 2, 4, 6] & 3].reshape(-1),
          put(y), "axes", format="raw", packing="2 bit offset", **HERTZ)
    check("raw, 4+4 bits", ((y >> 4).astype(int) - 8 + 1j * ((y & 15).astype(int) - 8)).T, put(y), "", format="raw",
          packing="4+4 offset hi=re", axes="time,pol:2", **HERTZ)
    parts = [plain.write(scratch(f"{part}.bin"), y[:, i].view("i1")) for i, part in enumerate(("re", "im"))]
    check("raw, parts in files of their own", pairs(y.view("i1").astype("f8")), parts, format="raw", type="i8", files_along="reim",
          words="axes", **HERTZ)
    check("raw, files follow each other", np.concatenate([y[:, 0], y[:, 1]]).view("i1"), parts, "axes", format="raw", type="i8", **HERTZ)
    path = put(y)
    refused("raw without a type", path, "input.layout.type is missing", 2, format="raw", **HERTZ)
    refused("raw of a type that is none", path, "input.layout.type: is i12", 2, format="raw", type="i12", **HERTZ)
    refused("raw without a rate", path, "input.layout.sample_rate_hz is missing", 2, format="raw", type="i8")
    refused("raw, skip beyond the file", path, "skip is 6000, but the file has 6000 bytes", format="raw", type="i8", skip=6000, **HERTZ)
    refused("raw without a size", path, "state no size of pol", 2, format="raw", type="i8", axes="time,pol", **HERTZ)
    refused("raw, time innermost, odd size", path, "(axes pol:7,time) takes a multiple of 7 bytes", format="raw", type="i8", axes="pol:7,time", **HERTZ)
    refused("raw, less than axes say", path, "(axes pol:2,time:4000) takes 8000 bytes", format="raw", type="i8", axes="pol:2,time:4000", **HERTZ)
    refused("raw, less than a time step", path, "not one time step of 64000 bits", format="raw", type="i8", axes="time,pol:8000", **HERTZ)
    refused("raw, complex twice", path, "elements of complex numbers", 2, format="raw", type="ci8", axes="time,reim", **HERTZ)
    refused("raw, domain of another type", path, "domain says real, but its samples are complex", 2, format="raw", type="ci8",
            domain="real", **HERTZ)
    refused("raw, offset of floats", path, "have no offset", 2, format="raw", type="f32", offset=1, **HERTZ)
    refused("axes of another format", path, "input.layout.axes is of formats raw", 2, format="dada", axes="time", **HERTZ)
    refused("an unknown file", path, "`layout: {format: raw, type: ci16_le, skip: BYTES, axes:")
    text = voltmill("info", "--layout", "{format: raw, type: ci8, sample_rate_hz: 1e6}", path)
    ok("8 bit complex, 3,000 at 1 MHz" in text, "info of raw numbers", text)


def candidates():
    """rms and clipped numbers of each candidate, a tone in its sixteenth of the band; nothing is chosen."""
    n = np.arange(40000)
    x = np.rint(8000 * np.exp(2j * np.pi * 3.5 / 16 * n)).view("f8") + noise(80000, "f8", 30)
    path = plain.write(scratch("tone.bin"), bytes(64), x.astype("<i2"))
    text = voltmill("info", "--layout", "{format: raw, skip: 64}", path)
    found = json.loads(voltmill("info", "--json", "--layout", "{format: raw, skip: 64}", path))["types"]
    ok(all(line in text.splitlines() for line in found), "types: as text and as JSON", text)
    at = next(i for i, line in enumerate(found) if line.startswith("i16_le"))
    ok(f"rms {x.std():.5g}, " in found[at] and "clipped 0.0000%" in found[at], "types: rms of i16_le", text)
    decibels = [int(word) for word in found[at + 2].split()[2:]]
    ok(found[at + 2].split()[:2] == ["complex", "dB"] and decibels.index(max(decibels)) in (11, 12) and min(decibels) < -30,
       "types: the tone of complex i16_le", found[at + 2])
    clipped = plain.write(scratch("clipped.bin"), np.clip(noise(40000, "f8", 127), -128, 127).astype("i1"))
    share = float(voltmill("info", "--layout", "{format: raw}", clipped).split("clipped ")[1].split("%")[0])
    ok(abs(share - 31.7) < 2, "types: clipped share", share)


# ---- numpy

def npy():
    def save(x, name="a.npy"):
        np.save(scratch(name), x)
        return scratch(name)
    x = noise((3000, 2), "f4") / np.float32(7)
    check("npy c8, 1-D", pairs(x), save(x.view("c8")[:, 0]), "", **HERTZ)
    check("npy c16, 1-D", pairs(x), save(x.view("c8")[:, 0].astype("c16")), "", **HERTZ)
    check("npy >f4, 2-D", x.T, save(x.astype(">f4")), "axes time,pol by their sizes", **HERTZ)
    check("npy f4, axes time,reim", pairs(x), save(x), "", format="npy", axes="time,reim", **HERTZ)
    y = noise((2, 3, 900, 2), "i2", 3000)
    layout = {"freq_hz": {"start": 1e9, "step": 1e9}, **HERTZ}
    volts = pairs(y.astype("f8"))[None, None]
    check("npy i2, 4-D", volts, save(y), "axes pol,chan,time,reim", **layout)
    check("npy i2, Fortran order", volts, save(np.asfortranarray(y)), "axes pol,chan,time,reim", **layout)
    check("npy i2, 3-D, big-endian, Fortran order", volts[:, :, :1].real, save(np.asfortranarray(y[:1, :, :, 0].astype(">i2"))),
          "axes pol,chan,time", **layout)
    check("npy of pairs", pairs(y[0, 0].astype("f8")), save(y[0, 0].copy().view([("re", "<i2"), ("im", "<i2")])[:, 0]), "", **HERTZ)
    refused("npy of two members that are no real and imaginary part",
            save(y[0, 0].copy().view([("im", "<i2"), ("re", "<i2")])[:, 0]), "two equal ones named re, im", **HERTZ)
    z = y[0, 0].astype("u1").reshape(-1)
    check("npy u1, packed", (z >> 4) - 8.0 + 1j * ((z & 15) - 8.0), save(z), "", packing="4+4 offset hi=re", **HERTZ)
    refused("npy u1, several numbers in a byte", save(z), "packing needs real integers of 4 bits, found real u8", 2, packing="4 bit offset", **HERTZ)
    check("npy, joined axes", volts[:, :, :, :1], save(np.moveaxis(y[:, 0], 0, 1).reshape(900, 4)), "", format="npy", axes="time,pol:2*reim:2",
          **HERTZ)
    for kind in ("i1", "u1", "i4", "u4", "i8", "f2", "f8"):
        z = np.abs(noise(3000, "f8")).astype(kind)
        check(f"npy {kind}", z, save(z), "", **HERTZ)
    paths = [save(y[0, 0, :, i], f"part{i}.npy") for i in range(2)]
    check("npy files side by side", y[0, 0].T, paths, "", format="npy", files_along="pol", **HERTZ)
    data = open(save(y[0, 0]), "rb").read()
    check("npy, two arrays", y[0, 0].T, plain.write(scratch("b.npy"), data + data), f"the last {len(data)} bytes of the file, after the array",
          **HERTZ)
    check("npy that ends early", y[0, 0, :700].T, plain.write(scratch("b.npy"), data[:len(data) - 200 * 4 + 1 - 1]),
          "ends early: 700 of 900 time steps", **HERTZ)
    put = lambda *pieces, **words: plain.write_npy(scratch("b.npy"), b"".join(pieces), **{"shape": (100,), **words})
    body = bytes(200)
    refused("npy, time innermost, that ends early", put(body[:90], shape=(2, 50)), "read only if time is its outermost axis", **HERTZ)
    refused("npy of objects", put(body, descr="'|O'"), "its dtype is |O, expected integers", **HERTZ)
    refused("npy of texts", put(body, descr="'<U3'"), "its dtype is <U3", **HERTZ)
    refused("npy of three members", put(body, descr="[('a', '<i2'), ('b', '<i2'), ('c', '<i2')]"), "its dtype is a structure", **HERTZ)
    refused("npy without a shape", put(body, shape="()"), "its shape has 0 sizes, expected 1 to", **HERTZ)
    refused("npy of an absurd shape", put(body, shape=(2 ** 63, 2 ** 63)), "its shape is absurd", **HERTZ)
    refused("npy of an empty shape", put(body, shape=(0, 2)), "of its shape has 0 elements", **HERTZ)
    refused("npy that is cut off, Fortran order", plain.write(scratch("f.npy"), open(save(np.asfortranarray(y)), "rb").read()[:-9]),
            "; Fortran order: the last is outermost) takes", format="npy", axes="time,chan,pol,reim", **HERTZ)
    refused("npy of no order", put(body, fortran_order=1), "its fortran_order is 1", **HERTZ)
    refused("npy of version 9", plain.write(scratch("b.npy"), b"\x93NUMPY\x09\0", bytes(100)), "version is 9, expected 1, 2 or 3", **HERTZ)
    refused("npy, a short header", plain.write(scratch("b.npy"), data[:30]), "ends after 30 bytes, expected 128", **HERTZ)
    refused("npy without numbers", plain.write(scratch("b.npy"), data[:128]), "has 0 bytes of samples", **HERTZ)
    refused("npy, other axes", save(y), "has 4 dimensions, but input.layout.axes name 2", 2, format="npy", axes="time,pol", **HERTZ)


# ---- SigMF

def by_sigmf(path, expected, name):
    if not sigmf:
        return note(f"{name}: the package sigmf is not installed, not compared")
    found = sigmf.sigmffile.fromfile(path, autoscale=False)[:]
    return ok(np.array_equal(np.asarray(found).T, expected), f"{name}: as sigmf reads it")


def sigmf_files():
    x = noise((3000, 2), "<i2", 3000)
    volts = pairs(x.astype("f8"))
    words = [{"core:sample_start": 100, "core:sample_count": 5, "core:label": "a \U0001F600 / \\ \" \u00e9",
              "core:comment": "half \ud83d alone"}, {"core:sample_start": 300, "core:freq_lower_edge": 1e9, "x:list": [1, [2, {}], None, True]}]
    capture = {"core:sample_start": 0, "core:frequency": 1.42e9, "core:datetime": "2024-05-01T06:07:08.25Z"}
    plain.write_sigmf(scratch("obs"), x.tobytes(), plain.sigmf_meta(captures=[capture], annotations=words, author="\U0001F600\u00e9"))
    about, gaps, _ = check("SigMF ci16", volts, scratch("obs.sigmf-meta"), "")
    ok(about["freq_hz"][0] == 1.42e9 and about["start_second"] == 22028.25 and about["sample_rate_hz"] == 1e6 and gaps == [],
       "SigMF: frequency, start, rate", about)
    ok("SigMF (2 annotations, ignored)" in voltmill("info", scratch("obs.sigmf-meta")), "SigMF: info counts annotations")
    refused("SigMF, samples instead of metadata", scratch("obs.sigmf-data"), "has the samples of a SigMF recording, expected its metadata: ")
    by_sigmf(scratch("obs.sigmf-meta"), volts, "SigMF ci16")
    plain.write_sigmf(scratch("wide"), x.tobytes(), plain.sigmf_meta(captures=[capture], num_channels=8))
    refused("SigMF, a centre for four coarse channels", scratch("wide.sigmf-meta"), "states one centre frequency, but input.layout.axes make 4",
            2, format="sigmf", axes="time,chan:4*pol:2")
    later = [{**capture, "core:sample_start": 700}, {"core:sample_start": 1700, "core:header_bytes": 16}]
    plain.write_sigmf(scratch("obs"), x[:1000].tobytes() + bytes(16) + x[1000:].tobytes(), plain.sigmf_meta(captures=later, offset=700))
    about, gaps, _ = check("SigMF, core:offset", volts, scratch("obs.sigmf-meta"), "")
    ok(about["start_second"] == 22028.25 and gaps == [], "SigMF, core:offset: samples are numbered from there", about)
    plain.write_sigmf(scratch("obs"), x.tobytes(), plain.sigmf_meta(captures=[capture], offset=700))
    refused("SigMF, a capture before core:offset", scratch("obs.sigmf-meta"), "core:sample_start is 0, before the first sample of the file, core:offset 700")
    f = (noise((3000, 2), "f8") / 7).astype("<f4")
    plain.write_sigmf(scratch("obs"), f.tobytes(), plain.sigmf_meta("cf32_le", captures=[]))
    check("SigMF cf32", pairs(f), scratch("obs.sigmf-meta"), "centre frequency 0 Hz")
    by_sigmf(scratch("obs.sigmf-meta"), pairs(f), "SigMF cf32")
    index = [{"core:sample_start": 0, "core:global_index": 50, "core:datetime": "2024-05-01T06:07:08Z"},
             {"core:sample_start": 1000, "core:global_index": 1050},
             {"core:sample_start": 2000, "core:global_index": 2350, "core:header_bytes": 16}]
    real = noise(3000, "<i2", 3000)
    bare = [{**index[0], "core:frequency": 1e9}, {"core:sample_start": 1000}, {**index[2], "core:header_bytes": 0, "core:frequency": 1e9}]
    plain.write_sigmf(scratch("obs"), real.tobytes(), plain.sigmf_meta("ri16_le", captures=bare))
    _, gaps, _ = check("SigMF ri16, a capture that says nothing", np.concatenate([real[:2000], np.zeros(300), real[2000:]]),
                       scratch("obs.sigmf-meta"), "")
    same(gaps, [[2000, 300]], "SigMF ri16, a capture that says nothing: the gap")
    plain.write_sigmf(scratch("obs"), real[:2000].tobytes() + b"h" * 16 + real[2000:].tobytes() + b"tail", plain.sigmf_meta(
        "ri16_le", captures=index, annotations=words, trailing_bytes=4))
    _, gaps, _ = check("SigMF ri16, captures, a gap, headers", np.concatenate([real[:2000], np.zeros(300), real[2000:]]),
                       scratch("obs.sigmf-meta"), "")
    same(gaps, [[2000, 300]], "SigMF ri16: the gap")
    plain.write_sigmf(scratch("obs"), real.tobytes(), plain.sigmf_meta("ri16_le", captures=[
        {"core:sample_start": 0}, {"core:sample_start": 1000}], annotations=words))
    by_sigmf(scratch("obs.sigmf-meta"), real, "SigMF ri16, captures, annotations")
    y = random.integers(0, 256, (1500, 2, 2)).astype("u1")
    plain.write_sigmf(scratch("obs"), y.tobytes(), plain.sigmf_meta("cu8", num_channels=2))
    check("SigMF cu8, two channels", pairs(y - 128.0).T, scratch("obs.sigmf-meta"), "axes time,pol: its 2 channels are polarisations")
    plain.write_sigmf(scratch("obs"), x.tobytes(), plain.sigmf_meta("ri16_be", num_channels=2, sample_rate=None))
    check("SigMF, channels are parts, no rate", pairs(x.view(">i2").astype("f8")), scratch("obs.sigmf-meta"), "centre frequency 0 Hz", format="sigmf",
          axes="time,reim", **HERTZ)
    plain.write_sigmf_archive(scratch("obs.sigmf"), x.tobytes(), plain.sigmf_meta(captures=[capture]))
    check("SigMF archive", volts, scratch("obs.sigmf"), "")
    by_sigmf(scratch("obs.sigmf"), volts, "SigMF archive")
    with tarfile.open(scratch("pax.sigmf"), "w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in (("obs.sigmf-meta", json.dumps(plain.sigmf_meta(captures=[capture])).encode()), ("obs.sigmf-data", x.tobytes())):
            member = tarfile.TarInfo("obs/" + name)
            member.size, member.pax_headers = len(data), {"mtime": "1.5"}
            tar.addfile(member, io.BytesIO(data))
    check("SigMF archive with pax headers", volts, scratch("pax.sigmf"), "")
    # A size in a pax header alone, as Python writes it from 8 GiB on: 9 GiB of zeros, sparse.
    meta = json.dumps(plain.sigmf_meta("ci16_le", captures=[capture])).encode()
    large, small = tarfile.TarInfo("obs.sigmf-data"), tarfile.TarInfo("obs.sigmf-meta")
    large.size, small.size = 9 << 30, len(meta)
    head = small.tobuf(tarfile.PAX_FORMAT) + meta + bytes(-len(meta) % 512) + large.tobuf(tarfile.PAX_FORMAT)
    plain.write(scratch("large.sigmf"), head)
    os.truncate(scratch("large.sigmf"), len(head) + (9 << 30) + 1024)
    ok(json.loads(voltmill("info", "--json", scratch("large.sigmf")))["samples"] == 9 << 28, "SigMF archive: a pax size of 9 GiB")
    os.remove(scratch("large.sigmf"))
    plain.write_sigmf(scratch("many"), x.tobytes(), plain.sigmf_meta(annotations=140000 * [{"core:sample_start": 1}]))
    ok("SigMF (140,000 annotations, ignored)" in voltmill("info", scratch("many.sigmf-meta")), "SigMF: 140,000 annotations")
    plain.write_sigmf(scratch("bare"), x.tobytes(), {k: v for k, v in plain.sigmf_meta().items() if k != "captures"})
    check("SigMF without captures", volts, scratch("bare.sigmf-meta"), "centre frequency 0 Hz")
    os.rename(scratch("obs.sigmf-data"), scratch("\U0001F600.bin"))
    plain.write(scratch("obs.sigmf-meta"), json.dumps(plain.sigmf_meta(dataset="\U0001F600.bin")).replace("/", "\\/").encode())
    check("SigMF, another name of the samples", volts, scratch("obs.sigmf-meta"), "centre frequency 0 Hz")
    for path in [plain.write_sigmf(scratch(f"part{i}"), x[1500 * i:1500 * i + 1500].tobytes(), plain.sigmf_meta(captures=[
        {**capture, "core:datetime": f"2024-05-01T06:07:08.{2517 - 17 * i}+00:00"}])) for i in range(2)]:
        ok(os.path.exists(path), "SigMF, a part")
    _, gaps, _ = check("SigMF, files by their times", np.concatenate([volts[1500:], np.zeros(200), volts[:1500]]), scratch("part*.sigmf-meta"), "")
    same(gaps, [[1500, 200]], "SigMF, files by their times: the gap")
    late = [capture, {"core:sample_start": 1000, "core:datetime": "2024-05-01T06:07:08.5Z"}]
    plain.write_sigmf(scratch("obs"), x.tobytes(), plain.sigmf_meta(captures=late))
    check("SigMF, times of captures that differ", volts, scratch("obs.sigmf-meta"), "core:datetime of capture 1 is 0.25 s after")

    def meta(**words):
        plain.write_sigmf(scratch("obs"), x.tobytes(), plain.sigmf_meta(**words))
        return scratch("obs.sigmf-meta")

    def text(words):
        meta()
        return plain.write(scratch("obs.sigmf-meta"), words)
    for empty in "", None:
        about, _, _ = check(f"SigMF, a time that is {empty!r}", volts, meta(captures=[{**capture, "core:datetime": empty}]), "")
        ok("start_second" not in about, f"SigMF, a time that is {empty!r} is unknown", about)
    refused("SigMF, a broken time", meta(captures=[{**capture, "core:datetime": "noon"}]), "expected a UTC date and time")
    refused("SigMF, broken JSON", text(b'{"global": {"core:datatype": "ci16_le", '), "(SigMF metadata, expected JSON)")
    refused("SigMF, a list", text(b'{"global": []}'), "(SigMF metadata)")
    refused("SigMF, deep JSON", text(b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}"), "expected JSON")
    refused("SigMF, aliases", text(b'{"a": &a [1, 2, 3], "b": ' + b"&b [" + b"*a, " * 60000 + b"*a], " + b'"c": [' + b"*b, " * 60 + b"*b]}"),
            "expected JSON")
    refused("SigMF of a type that is none", meta(datatype="ci12"), "core:datatype: is ci12, expected a type such as cf32_le")
    refused("SigMF of a size that is none", meta(num_channels=-1), "core:num_channels: is -1, expected a whole number")
    refused("SigMF of no channel", meta(num_channels=0), "core:num_channels: is 0")
    refused("SigMF of no rate", meta(sample_rate=0), "core:sample_rate: is 0")
    refused("SigMF, a tuning", meta(captures=[capture, {"core:sample_start": 100, "core:frequency": 1e9}]),
            "core:frequency is 1000000000 Hz from sample 100 on, 1420000000 Hz before it")
    refused("SigMF, a tuning after none", meta(captures=[{"core:sample_start": 0}, {"core:sample_start": 100, "core:frequency": 1e9}]),
            "core:frequency is 1000000000 Hz from sample 100 on, none before it")
    check("SigMF that ends within its captures", volts, meta(captures=[capture, {"core:sample_start": 1000}, {"core:sample_start": 4000}]),
          "ends early: captures from sample 4000 on are missing")
    refused("SigMF, a first capture beyond the next", meta(captures=[{"core:sample_start": 2 ** 31}, {"core:sample_start": 1000}]), "expected ascending ones")
    refused("SigMF, captures out of order", meta(captures=[capture, capture]), "expected ascending ones")
    refused("SigMF, an index that falls", meta(captures=[{**index[0]}, {"core:sample_start": 1000, "core:global_index": 70}]),
            "core:global_index is 50, then 70, but 1000 samples are between them")
    refused("SigMF of a time that is none", meta(captures=[{"core:datetime": "yesterday"}]), "core:datetime: is yesterday")
    refused("SigMF, more trailing bytes than there are", meta(trailing_bytes=20000), "expected more than the 20000 of core:header_bytes")
    refused("SigMF, samples elsewhere", meta(dataset="/etc/passwd"), "expected the name of a file in the same folder")
    refused("SigMF collection", plain.write(scratch("a.sigmf-collection"), b'{"collection": {"core:version": "1.0.0"}}'), "global: is missing")
    os.remove(scratch("obs.sigmf-data"))
    refused("SigMF without samples", meta() and os.remove(scratch("obs.sigmf-data")) or scratch("obs.sigmf-meta"), "obs.sigmf-data")
    archive = open(scratch("obs.sigmf"), "rb").read()
    refused("SigMF archive without samples", plain.write(scratch("b.sigmf"), archive[:1024]), "no samples (.sigmf-data)")
    check("SigMF archive that ends early", volts[:100], plain.write(scratch("b.sigmf"), archive[:1536 + 402]), ["ends early: 11598 bytes of its samples are missing", "the last 2 bytes are left out"])


# ---- WAV

def by_soundfile(path, expected, bits, name):
    if not soundfile:
        return note(f"{name}: the package soundfile is not installed, not compared")
    found = soundfile.read(path, dtype="float64", always_2d=True)[0] * (2.0 ** (bits - 1) if bits else 1)
    return ok(np.array_equal(found, expected), f"{name}: as soundfile reads it")


def wav():
    form = plain.wav_format
    x = noise((3000, 2), "f8", 30)
    kinds = (("8 bit", 1, 8, (x + 128).astype("u1").tobytes(), x), ("16 bit", 1, 16, (x * 100).astype("<i2").tobytes(), x * 100),
             ("24 bit", 1, 24, plain.pack24(x * 20000), x * 20000), ("32 bit", 1, 32, (x * 1e6).astype("<i4").tobytes(), x * 1e6),
             ("float", 3, 32, (x / 7).astype("<f4").tobytes(), (x / 7).astype("f4")), ("double", 3, 64, (x / 8).astype("<f8").tobytes(), x / 8))
    for name, code, bits, payload, volts in kinds:
        path = plain.write_wav(scratch("a.wav"), payload, form(code, 2, bits, extensible=bits == 24))
        about, _, _ = check(f"WAV, {name}", pairs(volts), path, "complex samples: the two channels are I and Q")
        check(f"WAV, {name}, two streams", volts.T, path, "", domain="real")
        by_soundfile(path, volts, 0 if code == 3 else bits, f"WAV, {name}")
        path = plain.write_wav(scratch("a.wav"), payload, form(code, 1, bits, 48001))
        about, _, _ = check(f"WAV, {name}, one channel", volts.reshape(-1), path, "")
    ok(about["sample_rate_hz"] == 48001, "WAV: rate", about)
    payload = (x * 100).astype("<i2").tobytes()
    about, _, _ = check("WAV, auxi", pairs(x * 100), plain.write_wav(scratch("a.wav"), payload, form(1, 2, 16), before=plain.auxi()), "I and Q")
    ok(about["freq_hz"][0] == 7.1e6 and about["start_second"] == 25689.25 + 0 * 1, "WAV, auxi: frequency and start", about)
    for encoding in "utf-16-le", "utf-16", "utf-8":
        path = plain.write_wav(scratch("x.wav"), payload, form(1, 2, 16), before=plain.auxi_xml(encoding=encoding, hertz=10489550000))
        about, _, _ = check(f"WAV, auxi in XML, {encoding}", pairs(x * 100), path, "auxi states the second of the start")
        ok(about["freq_hz"][0] == 10489550000 and about["start_second"] == 22028, f"WAV, auxi in XML, {encoding}: frequency and start", about)
    path = plain.write_wav(scratch("x.wav"), payload, form(1, 2, 16), before=plain.auxi_xml("", ""))
    about, _, _ = check("WAV, auxi in XML without numbers", pairs(x * 100), path, "I and Q")
    ok(about["freq_hz"][0] == 0 and "start_second" not in about, "WAV, auxi in XML without numbers: nothing is known", about)
    parts = [plain.write_wav(scratch(f"part{i}.wav"), payload, form(1, 2, 16, 3000), before=head)
             for i, head in enumerate((plain.auxi_xml(), plain.auxi_xml(1714543629), plain.auxi((2024, 5, 1, 6, 7, 8, 9, 250)),
                                       plain.auxi((2024, 5, 1, 6, 7, 8, 10, 247)), plain.auxi((2024, 5, 1, 6, 7, 8, 11, 247))))]
    check("WAV, a sequence with starts in XML", pairs(np.tile(x * 100, (2, 1))), parts[:2], "UTCSeconds")
    check("WAV, a sequence with starts by a clock", pairs(np.tile(x * 100, (2, 1))), parts[2:4],
          "starts by auxi are up to 0.003 s from those that the samples before them give")
    refused("WAV, a part of a sequence is missing", [parts[2], parts[4]], "auxi states a start 1.997 s after that of")
    none = plain.auxi((0, 0, 0, 0, 0, 0, 0, 0))
    about, _, _ = check("WAV, auxi without a time", pairs(x * 100), plain.write_wav(scratch("b.wav"), payload, form(1, 2, 16), before=none), "I and Q")
    ok(about["freq_hz"][0] == 7.1e6 and "start_second" not in about, "WAV, auxi without a time: the frequency", about)
    for name, after, word in (("data", plain.chunk(b"data", b"more"), "a further data chunk, of 4 bytes from byte"),
                              ("bytes", b"\1\2\3\4" * 5, "the last 20 bytes of the file, after its data chunk, are no chunk")):
        path = plain.write_wav(scratch("b.wav"), payload, form(1, 2, 16), after=after)
        check(f"WAV, {name} after its data", pairs(x * 100), path, word)
    check("WAV, auxi of real samples", (x * 100).reshape(-1, 2).T, scratch("a.wav"), "auxi states a centre of 7100000 Hz", domain="real", format="wav")
    four = plain.write_wav(scratch("a.wav"), payload, form(1, 4, 16), before=plain.chunk(b"LIST", b"odd"), after=plain.chunk(b"LIST", b"more"))
    check("WAV, four channels", (x * 100).reshape(-1, 4).T[:, None, None, None].reshape(4, 1, 1, 1, -1), four, "axes time,station: its 4 channels are stations")
    check("WAV, two complex streams", pairs((x * 100).reshape(-1, 2, 2)).T, four, "centre frequency 0 Hz: the file states none", format="wav", axes="time,pol:2*reim:2")
    for riff in (b"RF64", b"BW64"):
        path = plain.write_wav(scratch("a.rf64"), payload, form(1, 2, 16), riff=riff, before=plain.auxi(), after=plain.chunk(b"LIST", b"end"))
        check(f"{riff.decode()}", pairs(x * 100), path, "I and Q")
        if riff == b"RF64":  # libsndfile knows no BW64
            by_soundfile(path, x * 100, 16, "RF64")
    check("WAV that was cut off", pairs(x[:1000] * 100), plain.write_wav(scratch("a.wav"), payload[:4001], form(1, 2, 16), size=12000),
          ["the size of its data chunk is 12000 and 4002 bytes follow: the recording was cut off", "the last 2 bytes are left out"])
    for size in (0, 2 ** 32 - 1):
        check(f"WAV of a killed recorder, {size}", pairs(x * 100), plain.write_wav(scratch("a.wav"), payload, form(1, 2, 16), size=size),
              f"the size of its data chunk is {size} and 12000 bytes follow: all are samples")
    check("RF64 of a killed recorder", pairs(x * 100), plain.write_wav(scratch("a.wav"), payload, form(1, 2, 16), size=0, riff=b"RF64"),
          "all are samples")
    put = lambda *words, **more: plain.write_wav(scratch("b.wav"), payload, form(*words), **more)
    refused("WAV, compressed", put(2, 2, 16), "format code is 2, of 16 bits, expected 1 (integers) of 8, 16, 24 or 32, or 3")
    refused("WAV of 12 bits", put(1, 2, 12), "format code is 1, of 12 bits")
    refused("WAV of no channel", put(1, 0, 16), "a frame has 0 bytes, but 0 channels of 16 bits")
    refused("WAV of no rate", put(1, 2, 16, 0), "its sample rate is 0 Hz")
    refused("WAV, a short header", plain.write(scratch("b.wav"), open(put(1, 2, 16), "rb").read()[:30]), "its fmt chunk has 10 bytes")
    refused("WAV without data", plain.write(scratch("b.wav"), open(put(1, 2, 16), "rb").read()[:36]), "has no data chunk before byte 36")
    refused("WAV without a format", plain.write_wav(scratch("b.wav"), payload, b""), "has no fmt chunk")
    refused("WAV, less than a frame", plain.write_wav(scratch("b.wav"), payload[:2], form(1, 2, 16)), "not one time step of 32 bits")
    refused("WAV, axes without time first", four, "expected time, then those of a frame", 2, format="wav", axes="pol,time")
    refused("a file that is not WAV", scratch("a.bin"), "is not WAV: expected RIFF", format="wav")


def far():
    """Beyond 4 GiB, in files with holes: RF64 by ds64, a RIFF whose sizes wrapped, raw numbers behind a skip."""
    payload, rest = noise(2000, "<i2").tobytes(), 2 ** 32 + 400000
    for name, riff, words in (("RF64", b"RF64", "I and Q"), ("RIFF", b"RIFF", f"and {rest} bytes follow: all are samples")):
        path = plain.write_wav(scratch("far.wav"), b"", plain.wav_format(1, 2, 16), riff=riff, size=rest if riff == b"RF64" else rest % 2 ** 32)
        head = os.path.getsize(path)
        os.truncate(path, head + rest)
        with open(path, "r+b") as file:
            file.seek(head + rest - len(payload))
            file.write(payload)
        job = {"input": {"files": path, "select": {"samples": [rest // 4 - 1000, rest // 4]}}, "products": [{"kind": "voltages", "file": "out.h5"}]}
        said = voltmill("run", "--force", write_yaml("job.yaml", job), threads=1)
        with h5py.File(scratch("out.h5")) as file:
            found = file["voltages"][...]
        same(found.reshape(-1)[:2000].tolist(), np.frombuffer(payload, "<i2").tolist(), f"{name} beyond 4 GiB")
        ok(words in said, f"{name} beyond 4 GiB: prints {words}", said)
        os.remove(path)


for part in (raw, candidates, npy, sigmf_files, wav, far):
    try:
        part()
    except Failed as error:
        ok(False, f"{part.__name__}", error)
finish()
