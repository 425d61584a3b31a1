"""SIGPROC and search-mode PSRFITS as filterbanks: mocks of every width, real files beside the same burst in
FBH5."""
import os
import struct
import subprocess

import h5py
import numpy as np

from common import DATA, ENVIRONMENT, SCRATCH, VOLTMILL, finish, note, ok, same, scratch, voltmill, write_yaml

random = np.random.default_rng(28)
ROWS, CHANS, TSAMP = 300, 16, 1e-3


def series(name, files, dm=0.0, **more):
    run = more.pop("run", None)
    what = {"dm": [dm], "file": f"{name}.h5", **more}
    job = {"input": {"files": files}, "dedisperse": what, **({"run": run} if run else {})}
    voltmill("run", "--force", write_yaml(f"{name}.yaml", job))
    with h5py.File(scratch(f"{name}.h5")) as file:
        return file["dedispersed"][0], file["time"][...], float(file.attrs["start_second"])


def pack(numbers, bits, low_first):
    """uint8 or less, packed from the low (SIGPROC) or the high (FITS) bits of a byte on."""
    each = 8 // bits
    shifts = np.arange(each) * bits
    groups = numbers.astype("u1").reshape(-1, each) << (shifts if low_first else shifts[::-1]).astype("u1")
    return groups.sum(axis=1).astype("u1").tobytes()


def word(name, value=None):
    text = struct.pack("<i", len(name)) + name.encode()
    if isinstance(value, int):
        return text + struct.pack("<i", value)
    if isinstance(value, str):
        return text + struct.pack("<i", len(value)) + value.encode()
    return text + (struct.pack("<d", value) if value is not None else b"")


def write_fil(name, values, bits, foff=-1.0, **words):
    """values [time][if][chan]"""
    words = {"telescope_id": 4, "nbits": bits, "nchans": values.shape[2], "nifs": values.shape[1], "fch1": 1400.0,
             "foff": foff, "tsamp": TSAMP, "tstart": 58000.25, "source_name": "B1", "src_raj": 123456.7, **words}
    kind = {8: "u1", 16: "<u2", 32: "<f4"}.get(bits)
    with open(scratch(name), "wb") as file:
        file.write(word("HEADER_START") + b"".join(word(*item) for item in words.items()) + word("HEADER_END"))
        file.write(values.astype(kind).tobytes() if kind else pack(values, bits, True))
    return scratch(name)


def make(bits, *shape):
    return random.normal(3, 2, shape).astype("f4") if bits == 32 else random.integers(0, 2 ** bits, shape)


def check(name, path, values):
    """values [time][if][chan], double: sums of all channels, and of some, of each if."""
    for k in range(values.shape[1]):
        for masked in [], [[0, 4]], [[9, 15]]:
            left = [c for c in range(CHANS) if not any(low <= c <= high for low, high in masked)]
            found, *_ = series("sum", path, ifs=[k], **({"mask": [f"{low}-{high}" for low, high in masked]}
                                                        if masked else {}))
            expected = values[:, k, left].sum(axis=1)
            ok(found.shape == expected.shape and np.allclose(found, expected, rtol=1e-5, atol=1e-4),
               f"{name}: if {k} without channels {masked}", found[:4], expected[:4])


def card(key, value):
    value = f"'{value:<8}'" if isinstance(value, str) else f"{value:>20}"
    return f"{key:<8}= {value:<70}".encode()


def unit(cards, data=b""):
    head = b"".join(card(*item) for item in cards) + b"END".ljust(80)
    return head.ljust(-(-len(head) // 2880) * 2880) + data.ljust(-(-len(data) // 2880) * 2880, b"\0")


def write_fits(name, stored, bits, scale, offset, weight, starts, signed=0, zero=0.0):
    """stored [row][nsblk][pol][chan]; scale, offset [row][pol][chan]; weight [row][chan]; starts: spectra."""
    rows, nsblk, pols, chans = stored.shape
    kind = {8: "i1" if signed else "u1", 16: ">i2"}.get(bits)
    freqs = (1400.0 - np.arange(chans)).astype(">f4").tobytes()
    table = b""
    for i in range(rows):
        table += struct.pack(">d", (starts[i] + nsblk / 2) * TSAMP) + b"x" + freqs + weight[i].astype(">f4").tobytes()
        table += offset[i].astype(">f4").tobytes() + scale[i].astype(">f4").tobytes()
        table += stored[i].astype(kind).tobytes() if kind else pack(stored[i], bits, False)
    columns = [("OFFS_SUB", "1D"), ("OTHER", "1B"), ("DAT_FREQ", f"{chans}E"), ("DAT_WTS", f"{chans}E"),
               ("DAT_OFFS", f"{chans * pols}E"), ("DAT_SCL", f"{chans * pols}E"),
               ("DATA", f"{nsblk * pols * chans}I" if bits == 16 else f"{nsblk * pols * chans * bits // 8}B")]
    cards = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", len(table) // rows), ("NAXIS2", rows),
             ("PCOUNT", 0), ("GCOUNT", 1), ("TFIELDS", len(columns)), ("EXTNAME", "SUBINT"), ("NBITS", bits),
             ("NCHAN", chans), ("NPOL", pols), ("NSBLK", nsblk), ("TBIN", TSAMP), ("CHAN_BW", -1.0),
             ("SIGNINT", signed), ("ZERO_OFF", zero), ("POL_TYPE", {1: "AA+BB", 2: "AABB", 4: "IQUV"}[pols])]
    for i, (column, form) in enumerate(columns):
        cards += [(f"TTYPE{i + 1}", column), (f"TFORM{i + 1}", form)]
    other = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 100), ("NAXIS2", 30), ("PCOUNT", 0),
             ("GCOUNT", 1), ("TFIELDS", 1), ("TTYPE1", "X"), ("TFORM1", "100B"), ("EXTNAME", "HISTORY")]
    first = [("SIMPLE", "T"), ("BITPIX", 8), ("NAXIS", 0), ("FITSTYPE", "PSRFITS"), ("OBS_MODE", "SEARCH"),
             ("STT_IMJD", 58000), ("STT_SMJD", 4000), ("STT_OFFS", 0.125)]
    with open(scratch(name), "wb") as file:
        file.write(unit(first) + unit(other, bytes(3000)) + unit(cards, table))
    return scratch(name)


def mock_sigproc():
    for bits, ifs, foff in (1, 1, -1.0), (2, 2, 1.0), (4, 1, 1.0), (8, 2, -1.0), (16, 1, 1.0), (32, 2, -1.0):
        values = make(bits, ROWS, ifs, CHANS)
        check(f"SIGPROC, {bits} bit", write_fil("mock.fil", values, bits, foff), values.astype("f8"))
    values = make(8, ROWS, 1, CHANS)
    spread = write_fil("down.fil", values, 8)
    found, time, start = series("down", spread, dm=3.0)
    rising, *_ = series("up", write_fil("up.fil", values[:, :, ::-1], 8, 1.0, fch1=1385.0), dm=3.0)
    same(found, rising, "channels in either order disperse alike")
    ok(abs(start + time[0] - 21600 - TSAMP / 2) < 1e-5, "SIGPROC's tstart is the first edge")


def mock_psrfits():
    for bits, pols, signed, zero in (1, 1, 0, 0.5), (2, 2, 0, 1.5), (4, 1, 0, 0.0), (8, 4, 0, 0.0), (8, 1, 1, 0.0), \
            (16, 1, 0, 0.0):
        low = -2 ** (bits - 1) if signed or bits == 16 else 0
        stored = random.integers(low, low + 2 ** bits, (5, 40, pols, CHANS))
        scale, offset = random.uniform(0.5, 2, (5, pols, CHANS)), random.normal(0, 3, (5, pols, CHANS))
        weight = random.uniform(0.5, 1, (5, CHANS))
        path = write_fits("mock.fits", stored, bits, scale, offset, weight, 40 * np.arange(5), signed, zero)
        values = ((stored - zero) * scale.astype("f4")[:, None] + offset.astype("f4")[:, None]) * \
            weight.astype("f4")[:, None, None]
        check(f"PSRFITS, {bits} bit, {pols} pol", path, values.reshape(200, pols, CHANS))
    one, none = np.ones((5, 1, CHANS)), np.zeros((5, 1, CHANS))
    path = write_fits("gap.fits", random.integers(0, 256, (5, 40, 1, CHANS)), 8, one, none, one[:, 0],
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


mock_sigproc()
mock_psrfits()
if os.path.isdir(os.path.join(DATA, "sigproc")):
    real_files()
else:
    note(f"SKIP {DATA}/sigproc is absent")
finish()
