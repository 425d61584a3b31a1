"""The Python module on files that the program reads for it (SIGPROC, PSRFITS, recorder files, telescopes' HDF5), and what the
program says of files and jobs as dicts."""
import importlib.util
import os
import sys

import numpy as np

from common import ENVIRONMENT, ROOT, SCRATCH, VOLTMILL, close, finish, ok, scratch, write_archive
from mocks import every, filterbanks, recorders

sys.path.insert(0, os.path.join(ROOT, "python"))
sys.dont_write_bytecode = True
import voltmill # pylint: disable=wrong-import-position

os.environ.update(ENVIRONMENT, VOLTMILL=VOLTMILL)
os.chdir(SCRATCH)
random = np.random.default_rng(8)


def equal(found, expected, name):
    ok(found == expected, name, f"found    {found!r}", f"expected {expected!r}")


KEYS = [slice(None), 3, -1, slice(5, 9), (slice(None), 1), (Ellipsis, 1), (slice(0, 50, 7), 0, slice(1, 3)), [4, 9, 5], slice(4, 4), [],
        (slice(None, None, 90), Ellipsis)]


def compare(name, opened, numbers):
    for key in KEYS:
        found = opened[key]
        ok(found.shape == numbers[key].shape and np.array_equal(found, numbers[key], equal_nan=True), f"{name}: {key}")


values = random.integers(0, 256, (300, 2, 5))
filterbanks.write_fil("power.fil", values, 8, nifs=2)
with voltmill.open("power.fil") as power:
    equal((power.kind, power.dims, power.shape), ("power", ("time", "pol", "frequency"), (300, 2, 5)), "SIGPROC: axes")
    compare("SIGPROC", power, values.astype("f4"))
    info = voltmill.info("power.fil")
    close(power.frequency[[0, -1]], [info["first_channel_hz"], info["last_channel_hz"]], 1e-12, "frequencies are those of info")
    close(power.seconds[:2] / info["time_step_s"], [0.5, 1.5], 1e-9, "times are centres")
    ok("300" in repr(power), "a repr", repr(power))
    equal(str(power.start)[:22], info["start_utc"][:22], "start")
    if importlib.util.find_spec("xarray"):
        array = power.to_xarray()
        ok(list(array.coords["pol"].values) == list(power.axes["pol"]) and
           np.array_equal(array.isel(time=slice(3, 6)).values, values[3:6]), "xarray: coordinate pol, slices are lazy")
ok("closed" in repr(power), "closed")

volts = every.complex_noise(random, (1, 2, 20 * 512, 2))
recorders.write_guppi("obs.0000.raw", volts[:, :, :10 * 512], 8, 512, 0)
recorders.write_guppi("obs.0001.raw", volts[:, :, 10 * 512:], 8, 512, 0, first=10 * 512, lost=(2,))
with voltmill.open("obs.*.raw") as both, voltmill.open(["obs.0000.raw", "obs.0001.raw"]) as listed:
    equal((both.kind, both.dims, both.shape, both.dtype), ("voltages", ("time", "pol", "chan"), (20 * 512, 2, 2), np.dtype("c8")),
          "GUPPI RAW: a sequence by its pattern")
    voltmill.run({"input": {"files": "obs.*.raw"}, "products": [{"kind": "voltages", "file": "copy.h5"}]})
    with voltmill.open("copy.h5") as copy:
        expected = copy[:]
    there = np.isfinite(both[:])
    equal(int((~there[:, 0, 0]).sum()), 512, "a lost block is NaN")
    ok(np.array_equal(both[:][there], expected[there]), "volts are those of a copy in HDF5")
    compare("GUPPI RAW", listed, both[:])
    equal(both[:9, :, []].shape, (9, 2, 0), "no channels")
    equal([both.attributes[name] for name in ("sample_rate_hz", "sideband")], [voltmill.info("obs.*.raw")["sample_rate_hz"], 1],
          "rate and sideband by the names of products")
    if importlib.util.find_spec("matplotlib"):
        import matplotlib
        matplotlib.use("Agg")
        samples = both[:, 0, 0].reshape(-1, 1024)
        samples = samples[np.isfinite(samples).all(axis=1)]
        wanted = np.abs(np.fft.fftshift(np.fft.fft(samples * np.hanning(1024)), axes=1)) ** 2
        mhz, power = both.plot().lines[0].get_data()
        close(power, 10 * np.log10(wanted.mean(axis=0)), 1e-5, "a picture: without the blocks in which samples are missing")
        close(mhz, both.frequency[0] / 1e6 + np.arange(-512, 512) / 1024, 1e-9, "over the frequencies of its channel")
        times = np.arange(8 * 512)
        for band in 1.0, -1.0:
            name = f"tone{band:+.0f}.raw"
            recorders.write_guppi(name, 50 * np.exp(2j * np.pi * 0.25 * times)[None, None, :, None] * np.ones((1, 1, 1, 2)), 8, 512, 0, OBSBW=band)
            with voltmill.open(name) as tone:
                mhz, power = tone.plot().lines[0].get_data()
                close(mhz[np.nanargmax(power)], 1400 + 0.25 * band, 1e-9, f"a tone of bandwidth {band:+} MHz is at its place")
os.mkdir("lofar")
name = every.lofar_bf(lambda *names: os.path.join("lofar", *names), random)
with voltmill.open(os.path.join("lofar", name)) as beam:
    equal((beam.kind, beam.names["pol"], beam.shape), ("voltages", ["X", "Y"], (6000, 2, 3)), "LOFAR: HDF5 that is no product")
with open("words.txt", "w", encoding="utf-8") as file:
    file.write("words")
for path, kind in (("words.txt", OSError), ("no.fil", OSError), ("no*.raw", OSError)):
    try:
        voltmill.open(path)
        ok(False, f"refused: {path}")
    except kind as error:
        ok(path in str(error), f"refused: {path}", error)

# ---- Facts as dicts

archive = write_archive("plain", random.integers(-9, 9, (4000, 2, 1, 2)).astype("i1"), "time,pol,chan,reim", 1e6, "complex", centres=[1e8])
job = {"input": {"files": archive}, "channelise": {"channels": 64, "taps": 4, "backend": "cpu"},
       "products": [{"kind": "power", "file": "p.h5", "integrate": 5}]}
equal(voltmill.info(archive)["samples"], 4000, "info of an archive")
plan = voltmill.plan(job, sets={"products.0.integrate": 10})
equal([os.path.basename(file["path"]) for file in plan["files_to_write"]], ["p.h5"], "plan of a job")
ok(not os.path.exists("p.h5"), "which writes nothing")
voltmill.run(job)
equal(voltmill.info("p.h5")["kind"], "product", "info of a product")
found = voltmill.verify("p.h5", chunks=1)
ok(isinstance(found, dict) and found, "verify", found)
voltmill.verify("p.h5", crc=True)
with open("p.h5", "r+b") as file:
    file.seek(-100, 2)
    file.write(b"\xff" * 50)
for call, status in ((lambda: voltmill.verify("p.h5", crc=True), 4), (lambda: voltmill.info("nothing.h5"), 4),
                     (lambda: voltmill.plan({**job, "chanelise": {}}), 2)):
    try:
        call()
        ok(False, f"an error of status {status}")
    except voltmill.Error as error:
        ok(error.status == status and "\n" not in str(error).strip()[:20], f"an error of status {status}", error)
os.environ["VOLTMILL"] = scratch("nothing")
try:
    voltmill.open("power.fil")
    ok(False, "no program")
except OSError as error:
    ok("nothing" in str(error), "no program: says so", error)
finish()
