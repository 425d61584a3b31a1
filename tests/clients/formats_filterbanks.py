"""SIGPROC and search-mode PSRFITS as filterbanks: mocks of every width, real files beside the same burst in
FBH5."""
import os
import subprocess

import h5py
import numpy as np

from common import DATA, ENVIRONMENT, SCRATCH, VOLTMILL, finish, note, ok, same, scratch, voltmill, write_yaml
from mocks.filterbanks import TSAMP, write_fil, write_fits

random = np.random.default_rng(28)
ROWS, CHANS = 300, 16


def series(name, files, dm=0.0, **more):
    run = more.pop("run", None)
    what = {"dm": [dm], "file": f"{name}.h5", **more}
    job = {"input": {"files": files}, "dedisperse": what, **({"run": run} if run else {})}
    voltmill("run", "--force", write_yaml(f"{name}.yaml", job))
    with h5py.File(scratch(f"{name}.h5")) as file:
        return file["dedispersed"][0], file["time"][...], float(file.attrs["start_second"])


def make(bits, *shape):
    return random.normal(3, 2, shape).astype("f4") if bits == 32 else random.integers(0, 2 ** bits, shape)


def check(name, path, values):
    """values [time][if][chan], double: sums of all channels, and of some, of each if."""
    for k in range(values.shape[1]):
        for masked in [], [[0, 4]], [[9, 15]]:
            left = [c for c in range(CHANS) if not any(low <= c <= high for low, high in masked)]
            found, *_ = series("sum", path, pols=[k], **({"mask": [f"{low}-{high}" for low, high in masked]}
                                                        if masked else {}))
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


mock_sigproc()
mock_psrfits()
if os.path.isdir(os.path.join(DATA, "sigproc")):
    real_files()
else:
    note(f"SKIP {DATA}/sigproc is absent")
finish()
