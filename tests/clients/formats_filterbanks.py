"""SIGPROC and search-mode PSRFITS as filterbanks: mocks of every width, real files beside the same burst in
FBH5."""
import bz2
import gzip
import lzma
import os
import struct
import subprocess

import h5py
import numpy as np

from common import DATA, ENVIRONMENT, SCRATCH, VOLTMILL, finish, note, ok, same, scratch, voltmill, write_yaml
from mocks.filterbanks import TSAMP, word, write_fil, write_fits

random = np.random.default_rng(28)
ROWS, CHANS = 300, 16


def series(name, files, dm=0.0, **more):
    run = more.pop("run", None)
    what = {"dm": [dm], "file": f"{name}.h5", **more}
    job = {"input": {"files": files}, "dedisperse": what, **({"run": run} if run else {})}
    voltmill("run", "--force", write_yaml(f"{name}.yaml", job))
    with h5py.File(scratch(f"{name}.h5")) as file:
        return file["dedispersed"][0], file["time"][...], file.attrs.get("start_second")


def make(bits, *shape):
    return random.normal(3, 2, shape).astype("f4") if bits == 32 else random.integers(0, 2 ** bits, shape)


def check(name, path, values, run=None):
    """values [time][if][chan], double: sums of all channels, and of some, of each if, made by one job."""
    chans = values.shape[2]
    sums = [(k, masked) for k in range(values.shape[1])
            for masked in ([], [0, chans // 3], [chans // 2 + 1, chans - 1])]
    stages = [{"dm": [0.0], "file": f"sum-{i}.h5", "pols": [k], **({"mask": [f"{masked[0]}-{masked[1]}"]} if masked else {})}
              for i, (k, masked) in enumerate(sums)]
    voltmill("run", "--force", write_yaml("sum.yaml", {"input": {"files": path}, "dedisperse": stages,
                                                       **({"run": run} if run else {})}))
    for i, (k, masked) in enumerate(sums):
        left = [c for c in range(chans) if not (masked and masked[0] <= c <= masked[1])]
        with h5py.File(scratch(f"sum-{i}.h5")) as file:
            found = file["dedispersed"][0]
        expected = values[:, k, left].sum(axis=1)
        ok(found.shape == expected.shape and np.allclose(found, expected, rtol=1e-5, atol=1e-4),
           f"{name}: if {k} without channels {masked}", found[:4], expected[:4])


def mock_sigproc():
    for bits, ifs, foff in (1, 1, -1.0), (2, 2, 1.0), (4, 1, 1.0), (8, 2, -1.0), (16, 1, 1.0), (32, 2, -1.0):
        values = make(bits, ROWS, ifs, CHANS)
        check(f"SIGPROC, {bits} bit", write_fil(scratch("mock.fil"), values, bits, foff), values.astype("f8"))
    values = make(8, ROWS, 1, CHANS)
    spread = write_fil(scratch("down.fil"), values, 8)
    found, time, start = series("down", spread, dm=3.0)
    rising, *_ = series("up", write_fil(scratch("up.fil"), values[:, :, ::-1], 8, 1.0, fch1=1385.0), dm=3.0)
    same(found, rising, "channels in either order disperse alike")
    ok(abs(start + time[0] - 21600 - TSAMP / 2) < 1e-5, "SIGPROC's tstart is the first edge")


def assumed(path):
    """Lines of `info` that begin with assumed."""
    return [line.split(":", 1)[1].strip() for line in voltmill("info", path).splitlines()
            if line.strip().startswith("assumed:")]


def refuses(name, path, *words):
    out = voltmill("info", path, status=4)
    ok(all(text in out for text in words), f"{name}: refused, with both facts", out)


def sigproc_within_bytes():
    """Spectra that begin within a byte, at any cut; what fills the last byte is told by nsamples."""
    for bits, ifs, chans, rows in (1, 1, 5, 301), (1, 3, 7, 300), (2, 2, 3, 299), (4, 1, 3, 300), (4, 3, 5, 303):
        values = make(bits, rows, ifs, chans)
        path = write_fil(scratch("bits.fil"), values, bits, nsamples=rows)
        for chunk in None, 37, 8:
            check(f"SIGPROC, {bits} bit, {ifs} x {chans}, chunks {chunk}", path, values.astype("f8"),
                  **({"run": {"chunk": chunk}} if chunk else {}))
    values = make(2, 101, 1, 1)
    for nsamples, rows in (101, 101), (None, 104), (90, 104):
        path = write_fil(scratch("one.fil"), values, 2, **({"nsamples": nsamples} if nsamples else {}))
        ok(f", {rows} rows" in voltmill("info", path), f"nsamples {nsamples}: {rows} rows", voltmill("info", path))
        same(len(assumed(path)), int(nsamples != 101), f"nsamples {nsamples}: an assumption unless it fits")


def sigproc_header():
    values = make(8, 64, 1, CHANS)
    long_int = struct.pack("<q", 5)
    for name, said, lines in (
            ("8-byte numbers", {"npuls": long_int, "nsamples": struct.pack("<q", 64)}, []),
            ("4-byte npuls and signed", {"npuls": 5, "signed": 0, "period": 0.25}, []),
            ("empty texts", {"source_name": "", "rawdatafile": ""}, []),
            ("long texts", {"source_name": "B" * 4096}, []),
            ("nsamples", {"nsamples": 32}, ["nsamples is 32, the file holds 64 spectra: all of these are read"]),
            ("refdm", {"refdm": 26.5}, ["refdm is 26.5: channels are read as if they were not shifted to it"]),
            ("barycentric", {"barycentric": 1}, ["barycentric is 1: its times are used as if they were the telescope's"]),
            ("data_type", {"data_type": 6}, ["data_type is 6, not that of a filterbank (1): read as one"]),
            ("signed", {"signed": b"\xff"}, ["signed is -1, nbits 8: numbers are read as unsigned"]),
            ("tstart", {"tstart": 0.0}, ["tstart is 0: the start is unknown"]),
            ("tstart 1e-300", {"tstart": 1e-300}, ["a start at MJD 0 (1858-11-17T00:00:00.000000) is outside 1950 to 2100: the start is unknown"]),
            ("tstart 33281.75", {"tstart": 33281.75},
             ["a start at MJD 33281 (1949-12-31T18:00:00.000000) is outside 1950 to 2100: the start is unknown"]),
            ("tstart 33282", {"tstart": 33282.0}, []),
            ("tstart before a leap second", {"tstart": 57753.999995}, []),
            ("tstart of a leap second", {"tstart": 57754.000005},
             ["tstart is 57754.000005, a number of both a leap second and the second after it: 2017-01-01T00:00:00.432000 is used"]),
            ("position", {"src_dej": 996000.0}, ["position unknown: src_raj 123456.7, src_dej 996000 are not hhmmss.s and ddmmss.s"]),
            ("unknown", {"start_sample": 123456, "MJD_hour": 12.5, "tsamp": TSAMP, "observer": "Bell", "flag": None},
             ["unknown keywords of the header are skipped, 68 bytes: start_sample, MJD_hour, observer, flag"]),
            ("a text like a keyword", {"comment": "nchans"},
             ["unknown keywords of the header are skipped, 21 bytes: comment"])):
        path = write_fil(scratch("words.fil"), values, 8, **said)
        same(assumed(path), lines, f"SIGPROC, {name}: what is assumed")
        found, _, start = series("words", path)
        same(found, values[:, 0].sum(axis=1).astype("f4"), f"SIGPROC, {name}: its numbers")
        same(start is None, "start is unknown" in str(lines), f"SIGPROC, {name}: its start")
    for gone, said, words in (
            ("nchans", {}, ["no nchans"]), ("nbits", {}, ["no nbits"]), ("tsamp", {}, ["no tsamp"]), ("fch1", {}, ["no fch1"]),
            ("foff", {}, ["no foff"]), ("", {"foff": 0.0}, ["foff = 0"]), ("", {"tsamp": -1.0}, ["-1 s (tsamp)"]),
            ("", {"x": word("nchans", 8)[4:]}, ["nchans twice: 16 and 8"]),
            ("", {"table": [1400.0 - i for i in range(15)]}, ["nchans is 16", "15 channels"]),
            ("", {"table": [1401.0 - i for i in range(16)]}, ["fch1 is 1400 MHz", "1401 MHz"]),
            ("", {"table": [1400.0 + i for i in range(16)]}, ["foff is -1 MHz", "steps of 1 MHz"])):
        if "x" in said:  # twice, in a header that is otherwise good
            said = {"nchans": struct.pack("<i", 16) + word("nchans", 8)}
        refuses(f"SIGPROC without {gone}, with {list(said)}",
                write_fil(scratch("bad.fil"), values, 8, without=(gone,), **said), "bad.fil", *words)
    out = assumed(write_fil(scratch("bare.fil"), values, 8, without=("nifs", "tstart")))
    same(out, ["nifs is not said: 1 is used", "tstart is not said: the start is unknown"], "SIGPROC: guesses are told")


def sigproc_floats():
    """Numbers of 32 bits that are no floats of this order of bytes are told."""
    values = make(8, ROWS, 1, CHANS)
    path = scratch("floats.fil")
    for kind, is_told in ("<f4", 0), (">f4", 1), ("<i4", 1), (">i4", 1):
        write_fil(path, values.astype(kind).view("<f4"), 32)
        same([line.startswith("numbers of 32 bits such as") for line in assumed(path)], [True] * is_told,
             f"SIGPROC, 32 bits of {kind}: told")
    write_fil(path, 0 * values, 32)
    same(assumed(path), [], "SIGPROC, 32 bits of zeros: nothing is assumed")


def sigproc_meanings():
    """Numbers that are of another sign or order of bytes than they are read are told; no usual ones are."""
    noise = random.standard_normal((ROWS, 1, CHANS))
    path = scratch("meanings.fil")
    for name, bits, values, is_told, words in (
            ("around 0", 8, 30 * noise, 1, {}), ("around 0, signed", 8, 30 * noise, 0, {"signed": b"\1"}),
            ("around 128", 8, 128 + 30 * noise, 0, {}), ("around 128, signed", 8, 128 + 30 * noise, 1, {"signed": b"\1"}),
            ("exponential", 8, np.minimum(255, 40 * random.exponential(1, noise.shape)), 0, {}), ("few", 8, np.abs(noise), 0, {}),
            ("any", 8, random.integers(0, 256, noise.shape), 0, {}), ("zeros", 8, 0 * noise, 0, {}),
            ("around 0", 16, 900 * noise, 1, {}), ("around 2^15", 16, 32768 + 4000 * noise, 0, {}),
            ("small", 16, 100 + 20 * noise, 0, {}), ("any", 16, random.integers(0, 65536, noise.shape), 0, {}),
            ("around 2000, swapped", 16, (2000 + 100 * noise).astype("<u2").byteswap(), 1, {}),
            ("around 0, swapped", 16, (900 * noise).astype("<i2").byteswap(), 1, {})):
        write_fil(path, np.rint(values).astype("i4"), bits, **words)
        same([f"numbers of {bits} bits jump about" in line for line in assumed(path)], [True] * is_told, f"SIGPROC, {bits} bits {name}: told")


def unnamed_four():
    """Four polarisations without names are not added up unseen."""
    path = write_fil(scratch("four.fil"), make(8, ROWS, 4, CHANS), 8)
    job = write_yaml("four.yaml", {"input": {"files": path}, "dedisperse": {"dm": [1.0], "file": "four.h5"}})
    for name, command in (("run", ["run", job]), ("export", ["export", "--format", "fil", "--sum", "-o", scratch("sum.fil"), path]),
                          ("plot", ["plot", "--sum", "-o", scratch("sum.png"), path])):
        out = voltmill(*command, status=2)
        ok("does not say what its 4 pols are" in out, f"{name} of 4 nameless pols: refused", out)


def sigproc_joined():
    """Files one after the other in one: where nsamples ends, or where two or more are of the same length."""
    for bits in 1, 8, 32:
        parts = [open(write_fil(scratch("part.fil"), make(bits, rows, 1, CHANS), bits, **said), "rb").read()
                 for rows, said in ((64, {}), (64, {}), (64, {"nsamples": 64}), (20, {"nsamples": 20}))]
        for name, joined in (("two alike", parts[:2]), ("five alike", parts[:1] * 5), ("of nsamples", parts[2:])):
            with open(scratch("joined.fil"), "wb") as file:
                file.write(b"".join(joined))
            refuses(f"SIGPROC, joined, {bits} bits: {name}", scratch("joined.fil"), "joined.fil",
                    f"another SIGPROC header (HEADER_START) begins at byte {len(joined[0])}:")


def sigproc_hostile():
    """Headers of nothing but unknown keywords end within a second."""
    for name, text in (("keywords", word("surprise", 1) * 200000), ("filling", word("surprise", bytes(8 << 20)))):
        with open(scratch("hostile.fil"), "wb") as file:
            file.write(word("HEADER_START") + text)
        refuses(f"SIGPROC, hostile {name}", scratch("hostile.fil"), "no keyword that is known follows surprise")


def foreign():
    """Files that are compressed, of another byte order, or damaged in their first bytes: what they are."""
    with open(write_fil(scratch("good.fil"), make(8, 64, 1, CHANS), 8), "rb") as file:
        good = file.read()
    one = np.ones((2, 1, CHANS))
    with open(write_fits(scratch("good.fits"), make(8, 2, 32, 1, CHANS), 8, one, 0 * one, one[:, 0], [0, 32]), "rb") as file:
        fits = file.read()
    for name, data, words in (
            ("gzip", gzip.compress(good), ["compressed with gzip", "gunzip"]),
            ("bzip2", bz2.compress(fits), ["compressed with bzip2", "bunzip2"]),
            ("xz", lzma.compress(fits), ["compressed with xz", "unxz"]),
            ("zstd", b"\x28\xb5\x2f\xfd" + good, ["compressed with zstd"]),
            ("lz4", b"\x04\x22\x4d\x18" + good, ["compressed with lz4"]),
            ("zip", b"PK\3\4" + good, ["a zip archive"]),
            ("big-endian SIGPROC", good[3::-1] + good[4:], ["SIGPROC file of a big-endian machine", "0 0 0 12"]),
            ("SIGPROC without its first length", good[4:], ["damaged SIGPROC", "byte 0", "expected at byte 4"]),
            ("SIGPROC with another first length", b"\x0d" + good[1:], ["damaged SIGPROC", "the length 13", "the length 12"]),
            ("SIGPROC behind other bytes", b"junk" + good, ["damaged SIGPROC", "byte 8"]),
            ("FITS", fits.replace(b"'PSRFITS '", b"'SDFITS  '", 1), ["FITSTYPE is SDFITS", "expected PSRFITS"]),
            ("FITS without FITSTYPE", fits.replace(b"FITSTYPE", b"OTHERKEY", 1), ["FITSTYPE is missing"]),
            ("HDF5 as text", b"\x89HDF\n\x1a\n" + bytes(2000), ["a damaged signature of HDF5"])):
        with open(scratch("foreign.x"), "wb") as file:
            file.write(data)
        refuses(name, scratch("foreign.x"), *words)
        job = write_yaml("foreign.yaml", {"input": {"files": "foreign.x"}, "dedisperse": {"dm": [1.0], "file": "no.h5"}})
        out = voltmill("run", job, status=4)
        ok(words[0] in out and out.count("error:") == 1, f"{name}: a run says so, too", out)


def sigproc_table():
    """Tables of frequencies: even ones as fch1 and foff, others channel by channel."""
    values = make(8, 400, 1, CHANS)
    even = [1400.0 - i for i in range(CHANS)]
    plain = series("even", write_fil(scratch("even.fil"), values, 8), dm=30.0)[0]
    table = write_fil(scratch("table.fil"), values, 8, without=("fch1", "foff"), table=even)
    same(assumed(table), [], "a table of frequencies says all")
    same(series("table", table, dm=30.0)[0], plain, "a table of frequencies disperses like fch1 and foff")
    uneven = np.array([1400.0 - i - 20 * (i > 7) for i in range(CHANS)])
    path = write_fil(scratch("uneven.fil"), values, 8, without=("fch1", "foff"), table=list(uneven))
    delays = np.rint(30.0 / 2.41e-4 * (uneven ** -2 - uneven[0] ** -2) / TSAMP).astype(int)
    times = 400 - delays.max()
    expected = sum(values[d:d + times, 0, c].astype("f8") for c, d in enumerate(delays))
    found = series("uneven", path, dm=30.0)[0]
    ok(np.array_equal(found[:times], expected), "uneven channels disperse by their own frequencies", found[:5], expected[:5])
    out = voltmill("export", "--format", "fil", "-o", scratch("not.fil"), path, status=4)
    ok("not evenly spaced" in out, "which SIGPROC's fch1 and foff cannot say", out)
    # 4,096 channels: a header of more than 64 KiB.
    many = make(8, 8, 1, 4096)
    path = write_fil(scratch("many.fil"), many, 8, without=("fch1", "foff"), table=[1500.0 - i / 16 for i in range(4096)])
    same(series("many", path)[0], many[:, 0].sum(axis=1).astype("f4"), "a long table of frequencies")


def mock_psrfits():
    for bits, pols, signed, zero in (1, 1, 0, 0.5), (2, 2, 0, 1.5), (4, 1, 0, 0.0), (8, 4, 0, 0.0), (8, 1, 1, 0.0), \
            (16, 1, 0, 0.0):
        low = -2 ** (bits - 1) if signed or bits == 16 else 0
        stored = random.integers(low, low + 2 ** bits, (5, 40, pols, CHANS))
        scale, offset = random.uniform(0.5, 2, (5, pols, CHANS)), random.normal(0, 3, (5, pols, CHANS))
        weight = random.uniform(0.5, 1, (5, CHANS))
        path = write_fits(scratch("mock.fits"), stored, bits, scale, offset, weight, 40 * np.arange(5), signed, zero)
        values = ((stored - zero) * scale.astype("f4")[:, None] + offset.astype("f4")[:, None]) * \
            weight.astype("f4")[:, None, None]
        check(f"PSRFITS, {bits} bit, {pols} pol", path, values.reshape(200, pols, CHANS))
    one, none = np.ones((5, 1, CHANS)), np.zeros((5, 1, CHANS))
    path = write_fits(scratch("gap.fits"), random.integers(0, 256, (5, 40, 1, CHANS)), 8, one, none, one[:, 0],
                      [0, 40, 100, 140, 180])
    job = write_yaml("gap.yaml", {"input": {"files": path}, "dedisperse": {"dm": [0.0], "file": "gap.h5"}})
    done = subprocess.run([VOLTMILL, "run", "--force", job], cwd=SCRATCH, env=ENVIRONMENT, capture_output=True, text=True)
    ok(done.returncode == 4 and "rows of SUBINT are missing" in done.stderr, "rows that are missing are an error",
       done.stderr)
    done = subprocess.run([VOLTMILL, "run", "--force", job, "--set", "run.on_bad=nan"], cwd=SCRATCH, env=ENVIRONMENT,
                          capture_output=True, text=True)
    with h5py.File(scratch("gap.h5")) as file:
        lost = np.isnan(file["dedispersed"][0])
    ok(done.returncode == 6 and lost[80:100].all() and not lost[:40].any() and not lost[140:].any(),
       "or NaN with on_bad: nan", done.stderr, np.nonzero(lost)[0])


def real_files():
    names = "frb/askap_frb_dm475_fbh5.h5", "sigproc/28.fil", "psrfits/28.fits"
    found = [series("burst", os.path.join(DATA, name), dm=475.0) for name in names]
    for name, (sums, time, start) in zip(names, found):
        peak = sums[:4000].argmax()
        ok(abs(time[peak] - 2.029) < 2e-3, f"{name}: the burst at 2.029 s", time[peak])
        same(sums[:len(found[0][0])], found[0][0], f"{name}: sums as of FBH5")
        ok(abs(start - found[0][2]) < 1e-6, f"{name}: its start")
    sums, *_ = series("tutorial", os.path.join(DATA, "sigproc/tutorial.fil"), dm=30.5)
    fold = np.bincount((np.arange(len(sums)) * 3.2e-4 / 0.250004 % 1 * 64).astype(int), sums)
    fold /= np.bincount((np.arange(len(sums)) * 3.2e-4 / 0.250004 % 1 * 64).astype(int))
    ok(fold.max() - np.median(fold) > 8 * np.std(np.sort(fold)[:48]), "tutorial.fil: its pulsar, folded", fold)
    out = voltmill("info", os.path.join(DATA, "psrfits/test_4pol.fits"))
    ok("IQUV" in out and "B0950+08" in out and "8 bit unsigned with scales" in out, "test_4pol.fits: info", out)
    out = voltmill("verify", scratch("burst.h5"))
    ok("agrees with the reference" in out, "verify knows PSRFITS", out)


def write_fbh5(path, values, datasets=(), how=None, root=(), **words):
    """/data with h5py alone; a word of None is not there; `datasets`: others beside it; `root`: its attributes."""
    words = {"fch1": 1400.0, "foff": -1.0, "tsamp": TSAMP, "tstart": 58000.25, "nchans": values.shape[-1],
             "nifs": values.shape[1] if values.ndim == 3 else 1, "nbits": 8 * values.dtype.itemsize, **words}
    with h5py.File(path, "w") as file:
        file.attrs.update({"CLASS": "FILTERBANK", "VERSION": "1.0", **dict(root)})
        data = file.create_dataset("data", data=values, **(how or {}))
        data.attrs.update({name: value for name, value in words.items() if value is not None})
        for name, axis in dict(datasets).items():
            file[name] = axis
    return path


def fbh5_numbers():
    """All kinds of numbers, in both orders of bytes, of 2 and 3 dimensions, in one piece and in chunks."""
    for kind in "i1", "<i2", ">i2", "<f2", ">f2", "<f8", ">f8", "u1", ">u2", ">f4":
        for ifs, is_cut in (0, kind > "f"), (2, kind < "f"):
            shape = (ROWS, ifs, CHANS) if ifs else (ROWS, CHANS)
            values = random.normal(3, 20, shape) if "f" in kind else random.integers(-100 if "i" in kind else 0, 100, shape)
            values = values.astype(kind)
            expected = values.reshape(ROWS, -1, CHANS).astype("f8")
            how = {"chunks": (70, *shape[1:-1], 5), "compression": "lzf" if "f8" in kind else 1} if is_cut else {}
            path = write_fbh5(scratch("kind.h5"), values, how=how)
            same(assumed(path), [], f"FBH5, {kind}: nothing is assumed")
            check(f"FBH5, {kind}, {len(shape)} dimensions, {'chunks' if how else 'one piece'}", path, expected,
                  run={"chunk": 37})
    out = voltmill("info", write_fbh5(scratch("half.h5"), np.ones((9, CHANS), "f2")))
    ok("16 bit floating point" in out, "FBH5: info knows 16-bit floats", out)
    out = voltmill("info", write_fbh5(scratch("signed.h5"), np.ones((9, CHANS), "i1")))
    ok("8 bit signed" in out, "FBH5: info knows signed numbers", out)
    special = np.array([[0, -0.0, 6e-8, -65504, 65504, 6.1e-5, 1, -1]], "f2").repeat(4, 0)
    special[1, 4], special[2, 5] = np.inf, np.nan
    path = write_fbh5(scratch("special.h5"), special)
    out = voltmill("export", "--format", "fil", "-o", scratch("special.fil"), path)
    found = np.frombuffer(open(scratch("special.fil"), "rb").read()[-128:], "<f4").reshape(4, 8)
    ok(np.array_equal(found, special.astype("f4"), equal_nan=True) and np.array_equal(np.signbit(found[0]), np.signbit(special[0])),
       "FBH5: halves become floats exactly", found)
    kind = h5py.h5t.IEEE_F32LE.copy()  # made bfloat16: sign at 15, 8 bits of exponent, 7 of mantissa
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_size(2)
    for order in h5py.h5t.ORDER_LE, h5py.h5t.ORDER_BE:
        kind.set_order(order)
        wide = np.array([[0, -0.0, 1e5, -3e30, 1e-30, 1.5, np.inf, np.nan]], "f4").repeat(4, 0)
        wide = (wide.view("u4") & 0xffff0000).view("f4")
        path = write_fbh5(scratch("wide.h5"), wide, nbits=16)
        with h5py.File(path, "r+") as file:
            words = dict(file["data"].attrs)
            del file["data"]
            h5py.h5d.create(file.id, b"data", kind, h5py.h5s.create_simple(wide.shape)).write(h5py.h5s.ALL, h5py.h5s.ALL, wide)
            file["data"].attrs.update(words)
        same(assumed(path), [], "FBH5, bfloat16: nothing is assumed")
        voltmill("export", "--format", "fil", "--force", "-o", scratch("wide.fil"), path)
        found = np.frombuffer(open(scratch("wide.fil"), "rb").read()[-128:], "<f4").reshape(4, 8)
        ok(np.array_equal(found, wide, equal_nan=True), "FBH5: bfloat16 becomes floats exactly", found)


def fbh5_root(values):
    """Attributes of the root, texts for numbers, labels of dimensions."""
    expected = values[:, 0].sum(axis=1).astype("f4")
    day = 21600.0  # seconds of MJD 58000.25
    same_root = {"fch1": 1400.0, "foff": "-1.0", "tsamp": TSAMP, "tstart": "2017-09-04T06:00:00", "nchans": CHANS,
                 "nifs": 1, "nbits": 8, "nsamples": 64, "data_type": 1, "src_raj": 0.0}
    labels = {"DIMENSION_LABELS": np.array([b"time", b"feed_id", b"frequency"])}
    for root, said, start, lines in (
            (same_root, labels, day, []),
            ({}, {"DIMENSION_LABELS": np.array([b"frequency", b"feed_id", b"time"])}, day, []),  # blimpy's
            ({}, {"tstart": "58000.5 ", "fch1": "1400"}, 2 * day, []),
            ({}, {"tstart": "2017-09-04T12:00:00", "data_type": "filterbank", "nsamples": 0}, 2 * day, []),
            ({"tstart": 58000.5}, {"tstart": None}, 2 * day, ["/data has no tstart: that of the root is used, 58000.5"]),
            ({"foff": -1.0}, {"foff": None}, day, ["/data has no foff: that of the root is used, -1"]),
            ({}, {"tstart": 2458000.5}, None, ["tstart is 2458000.5: the start is unknown"]),
            ({}, {"tstart": 99999.0}, None,
             ["a start at MJD 99999 (2132-08-31T00:00:00.000000) is outside 1950 to 2100: the start is unknown"]),
            ({}, {"barycentric": 1, "refdm": 26.5, "pulsarcentric": 0}, day,
             ["refdm is 26.5: channels are read as if they were not shifted to it", "barycentric is 1: its times are used as if they were the telescope's"]),
            ({}, {"nsamples": 100}, day, ["nsamples is 100, but /data has 64: this is used"]),
            ({}, {"data_type": 2}, day, ["data_type is 2, not that of a filterbank (1): read as one"]),
            ({"nsamples": 100}, {}, day, ["nsamples of the root is 100, but /data has 64: this is used"]),
            ({"nchans": 17}, {}, day, [f"nchans of the root is 17, but /data has {CHANS}: this is used"]),
            ({"nifs": 2}, {}, day, ["nifs of the root is 2, but /data has 1: this is used"]),
            ({"nbits": "32"}, {}, day, ["nbits of the root is 32, but /data has 8: this is used"]),
            ({"data_type": 6}, {}, day, ["data_type of the root is 6, not that of a filterbank (1): read as one"]),
            ({"src_raj": "12:30:00"}, {"src_raj": 12.25}, day,
             ["src_raj of /data is 12.25, of the root 12.5: that of /data is used"])):
        path = write_fbh5(scratch("root.h5"), values, root=root, **said)
        same(assumed(path), lines, f"FBH5 with {said}, at the root {root}")
        found, _, second = series("rooted", path)
        same(found, expected, "its numbers")
        ok(second is None if start is None else abs(second - start) < 1e-5, "its start", second, start)
    for root, said, words in (
            ({"fch1": 1500.0}, {}, ["fch1 of /data is 1400", "of the root 1500"]),
            ({"foff": 1.0}, {}, ["foff of /data is -1", "of the root 1"]),
            ({"tsamp": 1.01 * TSAMP}, {}, ["tsamp of /data is 0.001", "of the root 0.00101"]),
            ({"tstart": 58001.25}, {}, ["tstart of /data is 58000.25", "of the root 58001.25"]),
            ({}, {"tstart": "yesterday"}, ['tstart is "yesterday"']),
            ({}, {"foff": "-1.0 MHz"}, ['foff is "-1.0 MHz"']),
            ({}, {"nchans": 64}, ["nchans is 64", f"64 spectra of 1 polarisations and {CHANS} channels"]),
            ({}, {"DIMENSION_LABELS": np.array([b"frequency", b"feed_id", b"time"]), "nchans": None},
             ["frequency, feed_id, time", "expected time, feed_id, frequency"]),
            ({}, {"DIMENSION_LABELS": ["time", "frequency", ""]}, ["time, frequency, ,"])):
        refuses(f"FBH5 with {said}, at the root {root}", write_fbh5(scratch("root.h5"), values, root=root, **said), *words)


def fbh5_empty_mask():
    """blimpy makes a /mask that it never writes."""
    path = write_fbh5(scratch("empty.h5"), make(8, 64, 1, CHANS).astype("u1"))
    with h5py.File(path, "r+") as file:
        file.create_dataset("mask", (64, 1, CHANS), "u1", chunks=(8, 1, CHANS))
    same(assumed(path), [], "FBH5 with a /mask that was never written")


def fbh5_stated():
    """Positions as text, and facts that are there twice."""
    values = make(8, 64, 1, CHANS).astype("u1")
    for raj, dej in ("12:34:56.7", "-12:34:56.7"), ("12h34m56.7s", "-12d34m56.7s"), ("12 34 56.7", "-12 34 56.7"):
        path = write_fbh5(scratch("text.h5"), values, src_raj=raj, src_dej=dej)
        ok("(12:34:56.70 -12:34:56.7)" in voltmill("info", path), f"FBH5: a position such as {raj}", voltmill("info", path))
        same(assumed(path), [], "FBH5: nothing is assumed of it")
    evenly = {"frequency": 1e6 * (1400.0 - np.arange(CHANS)), "time": TSAMP * np.arange(64)}
    for said, datasets, lines in (
            ({"nchans": 17}, {}, [f"nchans is 17, but /data has {CHANS}: this is used"]),
            ({"nifs": 2}, {}, ["nifs is 2, but /data has 1: this is used"]),
            ({"nbits": 32}, {}, ["nbits is 32, but /data has 8: this is used"]),
            ({"tstart": None}, {}, ["tstart is 0 or not said: the start is unknown"]),
            ({"src_raj": "east"}, {}, ['src_raj is "east", not hours: the position is unknown']),
            ({"src_dej": -123456.7}, {}, ["src_dej is -123456.7, not degrees: read as sixtieths (ddmmss.s)"]),
            ({}, evenly, []), ({}, {"frequency": evenly["frequency"] / 1e6}, []),
            ({"foff": -2.0}, evenly, ["foff is -2, /frequency says -1: foff is used"]),
            ({"fch1": 1500.0}, evenly, ["fch1 is 1500, /frequency says 1400: fch1 is used"]),
            ({"tsamp": 2e-3}, evenly, ["tsamp is 0.002, /time says 0.001: tsamp is used"]),
            ({}, {"frequency": evenly["frequency"] - 20e6 * (np.arange(CHANS) > 7)},
             ["foff is -1, /frequency says -2.33333333333: foff is used"]),
            ({"scale_factor": 1.0, "add_offset": 0, "_FillValue": np.nan}, {}, []),
            ({"scale_factor": 0.5, "add_offset": 10}, {},
             ["scale_factor 0.5 of /data is not used: numbers are read as they are stored",
              "add_offset 10 of /data is not used: numbers are read as they are stored"]),
            ({"_FillValue": 255, "missing_value": 0}, {}, ["_FillValue 255 of /data is not used: such numbers are values",
                                                           "missing_value 0 of /data is not used: such numbers are values"]),
            ({}, {"mask": values}, ["/mask is not used: numbers that it marks are values"])):
        path = write_fbh5(scratch("stated.h5"), values, datasets, **said)
        same(assumed(path), lines, f"FBH5 with {said}, {list(datasets)}")
        found, *_ = series("sums", path)
        same(found, values[:, 0].sum(axis=1).astype("f4"), "its numbers")
    fbh5_root(values)
    fbh5_empty_mask()
    # A power product of our own has all of these twice.
    job = {"input": {"files": "noise.h5", "layout": {"dataset": "/x", "axes": "time,reim", "sample_rate_hz": 1e6,
                                                     "freq_hz": [1.4e9], "start": "2020-01-01"}},
           "channelise": {"channels": 16, "taps": 4}, "products": [{"kind": "power", "file": "power.h5", "integrate": 4}]}
    with h5py.File(scratch("noise.h5"), "w") as file:
        file["x"] = random.integers(-50, 50, (9000, 2)).astype("i1")
    voltmill("run", write_yaml("power.yaml", job))
    same(assumed(scratch("power.h5"))[1:], [], "a power product agrees with itself")
    with h5py.File(scratch("power.h5")) as file, h5py.File(scratch("later.h5"), "w") as later:
        later.attrs.update(file.attrs)
        for name in "data", "time", "frequency":
            later[name] = file[name][5:] if name != "frequency" else file[name][...]
        later["data"].attrs.update({name: value for name, value in file["data"].attrs.items()
                                    if name not in ("DIMENSION_LIST", "CLASS", "NAME")})
    out = voltmill("export", "--format", "fil", "-o", scratch("not.fil"), scratch("later.h5"), status=4)
    ok("first_time is" in out and "but /time says" in out, "a copy of the later rows of a power product: refused", out)
    for name in "fch1", "foff", "tsamp":
        with h5py.File(scratch("power.h5"), "r+") as file:
            good = file["data"].attrs[name]
            file["data"].attrs[name] = 2 * good
        out = voltmill("export", "--format", "fil", "-o", scratch("not.fil"), scratch("power.h5"), status=4)
        ok(f"{name} is" in out and "but /" in out, f"a power product with another {name}: refused", out)
        with h5py.File(scratch("power.h5"), "r+") as file:
            file["data"].attrs[name] = good


def bands_at_zero():
    """Channels at 0 Hz and below are told, and not dedispersed; those that are said in Hz are told."""
    values = make(8, 64, 1, CHANS).astype("u1")
    path = write_fil(scratch("hertz.fil"), values, 8, fch1=1.5e9, foff=-1e6)
    ok(any("MHz by fch1 and foff, are these in Hz?" in line for line in assumed(path)), "SIGPROC in Hz: told", assumed(path))
    path = write_fil(scratch("ghz.fil"), make(8, 64, 1, CHANS), 8, -1e-3, fch1=1.4)
    ok(any("1.385 to 1.4 MHz by fch1 and foff, are these in GHz?" in line for line in assumed(path)), "SIGPROC in GHz: told", assumed(path))
    path = write_fil(scratch("khz.fil"), values, 8, 1000.0, fch1=1385.0)
    ok(any("1385 to 16385 MHz by fch1 and foff, are their steps in kHz?" in line for line in assumed(path)),
       "SIGPROC, foff in kHz: told", assumed(path))
    one = np.ones((2, 1, CHANS))
    table = {"table": [float(i) for i in range(CHANS)], "fch1": 0.0, "foff": 1.0}
    mhz = np.tile(10.0 - np.arange(CHANS), (2, 1)).astype(">f4")
    for name, path, low, high, facts in (
            ("SIGPROC", write_fil(scratch("zero.fil"), values, 8, fch1=10.0), -5, 10, "fch1 and foff"),
            ("a table of SIGPROC", write_fil(scratch("table0.fil"), values, 8, **table), 0, 15, "FREQUENCY_START"),
            ("FBH5", write_fbh5(scratch("zero.h5"), values, fch1=10.0), -5, 10, "fch1 and foff"),
            ("PSRFITS", write_fits(scratch("zero.fits"), values.reshape(2, 32, 1, CHANS), 8, one, 0 * one, one[:, 0],
                                   [0, 32], columns={"DAT_FREQ": (f"{CHANS}E", mhz)}), -5, 10, "DAT_FREQ")):
        line = f"channels lie at {low} to {high} MHz by {facts}, not all above 0 Hz: they are read so"
        ok(line in assumed(path), f"{name} through 0 Hz: told", assumed(path))
        job = write_yaml("zero.yaml", {"input": {"files": path}, "dedisperse": {"dm": [1.0], "file": "zero-dm.h5"}})
        out = voltmill("run", job, status=4)
        ok("is at 0 Hz, expected a frequency above 0" in out, f"{name} through 0 Hz: not dedispersed", out)
        voltmill("export", "--force", "--format", "fil", "-o", scratch("out0.fil"), path)
        with open(scratch("out0.fil"), "rb") as file:
            data = file.read()
        rows = np.frombuffer(data[-64 * CHANS * (4 if name == "PSRFITS" else 1):], "<f4" if name == "PSRFITS" else "u1")
        expected = values[:, 0, ::-1] if "table" in name else values[:, 0]
        ok(np.array_equal(rows.reshape(64, CHANS), expected) and word("fch1", float(high)) in data,
           f"{name} through 0 Hz: exported as it is", rows[:4], expected[0, :4])


mock_sigproc()
mock_psrfits()
bands_at_zero()
sigproc_within_bytes()
sigproc_header()
sigproc_floats()
sigproc_meanings()
unnamed_four()
sigproc_joined()
sigproc_hostile()
foreign()
sigproc_table()
fbh5_numbers()
fbh5_stated()
if os.path.isdir(os.path.join(DATA, "sigproc")):
    real_files()
else:
    note(f"SKIP {DATA}/sigproc is absent")
finish()
