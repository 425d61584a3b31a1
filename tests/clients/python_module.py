"""The Python module: its numbers are h5py's own, only what is asked for is read, and jobs run or say why not."""
import glob
import os
import pathlib
import shutil
import subprocess
import sys

import h5py
import numpy as np

from common import ENVIRONMENT, ROOT, SCRATCH, VOLTMILL, close, finish, ok, same, scratch, write_archive

sys.path.insert(0, os.path.join(ROOT, "python"))
sys.dont_write_bytecode = True
import voltmill # pylint: disable=wrong-import-position

os.environ.update(ENVIRONMENT, VOLTMILL=VOLTMILL)
os.chdir(SCRATCH)

RATE, DAY, SECOND = 1e6, 60370, 86390.25
random = np.random.default_rng(6)
stored = random.normal(0, 40, (20000, 2, 2, 2)).round().clip(-128, 127).astype("i1")
archive = write_archive("obs", stored, "time,pol,chan,reim", RATE, "complex", centres=[2e8, 1e8],
                        root={"start_mjd_day": np.int32(DAY), "start_second": SECOND, "telescope": "Dish"})
with h5py.File(archive, "r+") as file:
    file["pol"] = np.array(["X", "Y"], dtype=h5py.string_dtype())
    file["gaps"] = np.array([[15000, 40]], "u8")
job = {"input": {"files": archive}, "channelise": {"channels": 64, "taps": 4, "backend": "cpu"}, "run": {"threads": 1},
       "products": [{"kind": "spectra", "file": "out/s.h5"}, {"kind": "power", "file": "out/p.h5", "integrate": 7}],
       "dedisperse": {"input": 1, "file": "out/d.h5", "dm": {"start": 0, "step": 0.001, "count": 5}}}



def equal(found, expected, name):
    ok(found == expected, name, f"found    {found!r}", f"expected {expected!r}")


def skip(why):
    ok(True, f"# SKIP {why}")


# ---- Jobs

equal(voltmill.__version__, open(os.path.join(ROOT, "VERSION"), encoding="utf-8").read().strip(), "the version is the program's")
said = voltmill.run(job, ranks=2)
ok("out/p.h5: power" in said and os.path.exists("out/d.h5"), "a job from a dict, on 2 ranks, in a folder that was made", said)
with open("job.yaml", "w", encoding="utf-8") as file:
    file.write(f"input: {{files: {archive}}}\nfilter: {{design: {{kind: lowpass, edges: [1e5, 2e5], offset: true}}}}\n"
               "products: [{kind: voltages, file: v.h5, bits: 8, scale: 0.5}]\n")
voltmill.run("job.yaml", sets={"products.0.bits": 16, "run.threads": 1})
with h5py.File("v.h5") as file:
    ok(file["voltages"].dtype == "i2", "a job from a file, and a key of it set")
typed = {"input": {"files": pathlib.Path(archive)}, "channelise": {"channels": np.int64(64)},
         "products": [{"kind": "power", "file": pathlib.Path("typed.h5"), "freq_hz": np.array([0.9e8, 1.1e8])}]}
equal(voltmill.plan(typed, sets={"channelise.taps": np.int32(4)})["filter_banks"][0]["taps"], 4, "paths, and numbers of numpy, in a job")
for ranks in 0, -1:
    try:
        voltmill.run(job, ranks=ranks)
        ok(False, f"{ranks} ranks")
    except ValueError as error:
        ok("expected 1 or more" in str(error), f"{ranks} ranks", error)
os.rename("job.yaml", "--job.yaml")
for ranks in 1, 2:
    os.remove("v.h5")
    voltmill.run("--job.yaml", ranks=ranks, sets={"products.0.bits": 16, "run.threads": 1})
    ok(os.path.exists("v.h5"), f"a job whose name looks like an option, {ranks} rank{'s' * (ranks > 1)}")
for change, status, message in (({"channelise": {"channels": 7}}, 2, "channelise.channels"),
                                ({"input": {"files": "nowhere.h5"}}, 4, "nowhere.h5: No such file"),
                                ({"input": {"files": archive, "selekt": 1}, "chanelise": {}}, 2, "unknown key")):
    try:
        voltmill.run({**job, **change})
        ok(False, f"refused: {message}")
    except voltmill.Error as error:
        ok(error.status == status and message in str(error) and not str(error).startswith("error"), f"refused: {message}",
           error, error.status)
os.environ["VOLTMILL"] = scratch("nothing")
try:
    voltmill.run(job)
    ok(False, "no program")
except FileNotFoundError as error:
    ok("nothing" in str(error), "no program", error)
os.environ["VOLTMILL"] = VOLTMILL

# ---- Spectra, power, series: h5py's numbers

KEYS = [(), 3, -1, slice(5, 9), (slice(None), 1), (Ellipsis, 17), (slice(0, 50, 7), slice(None), slice(3, 60)), (2, Ellipsis),
        (slice(4, 4),), (slice(None), [0, 1])]
for name, dataset, dims in (("s", "spectra", ("time", "pol", "frequency")), ("p", "data", ("time", "pol", "frequency")),
                            ("d", "dedispersed", ("dm", "time"))):
    with voltmill.open(f"out/{name}.h5") as product, h5py.File(f"out/{name}.h5") as file:
        whole = file[dataset][()]
        equal((product.dims, product.shape, product.dtype, len(product)), (dims, whole.shape, whole.dtype, len(whole)),
             f"{name}: dimensions")
        keys = [k for k in KEYS if not isinstance(k, tuple) or len(k) <= whole.ndim]
        keys = [k for k in keys if name != "d" or k != (Ellipsis, 17)]
        bad = [k for k in keys if not np.array_equal(product[k], whole[k if k != () else Ellipsis])]
        ok(not bad, f"{name}: any key reads what numpy takes", bad)
        ok(np.array_equal(np.asarray(product), whole), f"{name}: as an array")
        same(product.seconds, file["time"][()], f"{name}: seconds")
        if name != "d":
            same(product.frequency, file["frequency"][()], f"{name}: frequency")
            ok(np.array_equal(product.weights[3:5], file["weights"][3:5]) and product.weights[()].min() < 1, f"{name}: weights")
            equal(list(product.coarse_frequency), [1e8, 2e8], f"{name}: frequencies of weights")
        else:
            same(product.dm, np.arange(5) * 0.001, "d: DMs")
            ok(product.weights is None, "d: no weights")
        ok(product.attributes["telescope"] == "Dish" and product.kind in repr(product), f"{name}: attributes")
        ok("provenance/crc32" not in product.others and "time" in product.others and dataset not in product.others,
           f"{name}: what else lies beside the rows")
        ok("channels: 64" in product.job and product.provenance["software"] == "voltmill", f"{name}: job")
with voltmill.open("out/s.h5") as product:
    equal(product.names, {"pol": ["X", "Y"]}, "names of polarisations")
    # The start lies 9.75 s before midnight; row r is stamped with (4 * 64 - 1) / 2 + 64 r samples.
    first = np.datetime64("2024-03-01T23:59:50.25") + np.timedelta64(127500, "ns")
    equal((product.time[0], product.time[100] - product.time[0]), (first, np.timedelta64(6400000, "ns")), "times, to the nanosecond")
    close(product.mjd[0], DAY + (SECOND + 127.5e-6) / 86400, 1e-11, "Modified Julian Days")
    key = product.index(frequency=(1.9999e8, 2.0001e8), time=(np.datetime64("2024-03-01T23:59:50.255"), None), pol="Y")
    here = product[key]
    ok(here.shape == (int((product.seconds >= 0.005).sum()), int((np.abs(product.frequency - 2e8) <= 1e4).sum())) and key[1] == 1,
       "an index by values", key)
    equal(product.index(frequency=1.00001e8)[2], int(np.argmin(np.abs(product.frequency - 1.00001e8))), "the nearest")
    for wrong, kind in ((lambda: product.index(pol="Z"), KeyError), (lambda: product.index(beam=1), KeyError),
                        (lambda: product.index(pol=2), KeyError), (lambda: product.index(frequency="X"), KeyError),
                        (lambda: product.index(frequency=100.0), KeyError), # MHz for Hz
                        (lambda: product.index(time=1e3), KeyError), (lambda: product.index(time=np.nan), KeyError),
                        (lambda: product[0, 0, 0, 0], IndexError), (lambda: product[None], IndexError)):
        try:
            wrong()
            ok(False, "a wrong index is an error")
        except kind as error:
            ok(True, f"a wrong index is an error: {error}")
    for wrong, kind, said in ((lambda: product.dm, KeyError, "no axis 'dm', only time, pol, frequency"),
                              (lambda: product.candidates, KeyError, "no candidates: its kind is spectra"),
                              (lambda: product.index(frequency="X"), KeyError, "and 108 more"),
                              (lambda: product.index(frequency=[1e8]), TypeError, "expected a number, or a tuple (low, high)")):
        try:
            wrong()
            ok(False, f"refused in words: {said}")
        except kind as error:
            ok(said in str(error), f"refused in words: {said}", error)
    product.close()
    ok("closed" in repr(product), "closed")
    try:
        product[0]
        ok(False, "closed: no numbers")
    except ValueError as error:
        equal(str(error), "out/s.h5 is closed", "closed: no numbers")

voltmill.run({"input": job["input"], "channelise": {**job["channelise"], "order": "fft"},
              "products": [{"kind": "spectra", "file": "out/f.h5"}]})
with voltmill.open("out/f.h5") as product:
    key = product.index(frequency=(0.99995e8, 1.00005e8)) # the middle of a coarse channel, its first and last channels
    found, whole = product.frequency[key[-1]], product[:3]
    ok(0 < len(found) < 64 and np.abs(found - 1e8).max() <= 5e3, "a range of channels in the order of the FFT", found)
    ok(np.array_equal(product[(slice(3), *key[1:])], whole[..., np.abs(product.frequency - 1e8) <= 5e3]), "its numbers")

# ---- Only what is asked for is read

with h5py.File("huge.h5", "w") as file: # 8 TiB, of which little is there
    huge = file.create_dataset("data", (1 << 22, 2, 1 << 20), "u1", chunks=(1, 1, 4096))
    huge.attrs.update({"fch1": 1500.0, "foff": -0.25, "tsamp": 1e-3, "tstart": 60000.5, "nchans": 1 << 20})
    huge[5, :, :9] = 7
with voltmill.open("huge.h5") as product:
    ok(product[5, 1, :3].tolist() == [7, 7, 7], "a slice of what fits no memory")
    equal((product.kind, product.frequency[0], product.frequency[1]), ("power", 1.5e9, 1.49975e9), "FBH5 of others: frequency")
    same(product.seconds[:3], np.array([0.5e-3, 1.5e-3, 2.5e-3]), "FBH5 of others: centres of rows")
    equal(product.start, np.datetime64("2023-02-25T12:00:00"), "FBH5 of others: start")

# ---- Voltages: volts

def volts(path):
    with h5py.File(path) as file:
        numbers = file["voltages"][()].astype("f4")
        return (numbers[..., 0] + 1j * numbers[..., 1]).astype("c8") * np.float32(file["voltages"].attrs.get("scale", 1))

for path in (archive, "v.h5"):
    with voltmill.open(path) as product:
        expected = volts(path)
        ok(np.array_equal(product[...], expected) and np.array_equal(product[7:900:3, 1], expected[7:900:3, 1]) and
           product[3, 0, 1] == expected[3, 0, 1] and product.dtype == "c8", f"volts of {os.path.basename(path)}")
        equal((product.dims, product.seconds[3], product.stored.dtype.kind), (("time", "pol", "chan"), 3 / RATE, "i"),
             f"axes of {os.path.basename(path)}")
with voltmill.open(archive) as product:
    equal(product.gaps.tolist(), [[15000, 40]], "gaps")
    equal(list(product.frequency), [2e8, 1e8], "frequencies of coarse channels")
for packing, to in (("offset", lambda n: n - 8), ("two's complement", lambda n: np.where(n > 7, n - 16, n))):
    for first in ("hi", "lo"):
        packed = random.integers(0, 256, (100, 2), dtype="u1")
        path = write_archive("packed", packed, "time,pol", RATE, "complex", centres=[1e8],
                             attributes={"packing": f"4+4 {packing} {first}=re"})
        high, low = to((packed >> 4).astype(int)), to((packed & 15).astype(int))
        with voltmill.open(path) as product:
            same(product[...], (high + 1j * low if first == "hi" else low + 1j * high).astype("c8"), f"4+4 {packing} {first}=re")
bits = random.integers(0, 4, (300, 3, 4, 2), dtype="u1") # time, chan, pol, reim
level = np.array([-3.3359, -1, 1, 3.3359], "f4")
values = level[bits[..., 0]] + 1j * level[bits[..., 1]]
joined = bits.reshape(300, 3, 2, 4)
for first, shifts in (("", (0, 2, 4, 6)), (" high first", (6, 4, 2, 0))):
    packed = sum(joined[..., i].astype("u4") << s for i, s in enumerate(shifts)).astype("u1")
    path = write_archive("few", packed, "time,chan,pol:4*reim:2", RATE, "complex", centres=[1e8, 2e8, 3e8],
                         attributes={"packing": "2 bit offset" + first})
    with voltmill.open(path) as product:
        bad = [k for k in ((...,), (7,), (slice(3, 50, 7), 1), (..., 3), (-1, 2, 1), (slice(9), slice(None), [0, 2]))
               if not np.array_equal(product[k], values[k])]
        ok(not bad and product.dims == ("time", "chan", "pol") and product.shape == (300, 3, 4), f"2 bits{first}, axes joined", bad)
time_inner = np.moveaxis(bits[:, 0, 0], 0, -1) # reim, time
packed = sum(time_inner.reshape(2, 75, 4)[..., i].astype("u4") << 2 * i for i in range(4)).astype("u1")
path = write_archive("inner", packed, "reim,time", RATE, "complex", centres=[1e8], attributes={"packing": "2 bit offset"})
with h5py.File(path, "r+") as file:
    file["levels"] = np.array([9.0, 3, -3, -9])
turned = np.array([9.0, 3, -3, -9], "f4")
expected = turned[bits[:, 0, 0, 0]] + 1j * turned[bits[:, 0, 0, 1]]
with voltmill.open(path) as product:
    bad = [k for k in (..., 5, -1, slice(3, 9), slice(7, 290, 3), slice(4, 4), [1, 8, 200]) if not np.array_equal(product[k], expected[k])]
    ok(not bad and product.dims == ("time",), "2 bits along time, with levels", bad)
stored = random.integers(0, 256, (50, 2, 2), dtype="u1")
wide = stored.astype("f8")
for attributes, offset in (({"offset": 127.5, "scale": 2.0}, 127.5), ({"packing": "8 bit offset", "scale": 2.0}, 128)):
    path = write_archive("unsigned", stored, "time,pol,reim", RATE, "complex", centres=[1e8], attributes=attributes)
    with voltmill.open(path) as product:
        same(product[...], (((wide[..., 0] - offset) + 1j * (wide[..., 1] - offset)) * 2).astype("c8"), f"unsigned, {offset}")
path = write_archive("real", random.normal(0, 1, (100, 2)).astype("f4"), "time,pol", RATE, "real", centres=[1e8])
with voltmill.open(path) as product, h5py.File(path) as file:
    same(product[10:20], file["voltages"][10:20], "real samples")

# ---- Whole numbers with scales and offsets for blocks of rows

with h5py.File("q.h5", "w") as file:
    q = random.integers(0, 256, (50, 2, 8), dtype="u1")
    file["data"] = q
    file["data"].attrs.update({"fch1": 100.0, "foff": 1.0, "tsamp": 1.0, "tstart": 60000.0})
    scale, offset = random.random((4, 2, 8)).astype("f4"), random.random((4, 2, 8)).astype("f4")
    file["scale"], file["offset"] = scale, offset
    file["data"].attrs["scale_rows"] = 16
    values = (np.repeat(scale, 16, axis=0)[:50].astype("f8") * q + np.repeat(offset, 16, axis=0)[:50]).astype("f4")
with voltmill.open("q.h5") as product:
    ok(product.dtype == "f4" and np.array_equal(product[...], values), "value = scale q + offset")
    bad = [k for k in ((15,), (slice(14, 18), 1), (slice(3, 40, 5), slice(None), 3), ([1, 17, 49], 1), (slice(0), 0), (-1, Ellipsis),
                       (slice(5, 9), slice(None), [2, 5])) if not np.array_equal(product[k], values[k])]
    ok(not bad, "of any part", bad)
    same(product.stored[3, 1, 2], q[3, 1, 2], "as it is stored")

# ---- Polarisations of others' filterbanks, as pictures and --pol name them

for pol_type, names in (("xx,YY,XY,YX", ["XX", "YY", "XY", "YX"]), ("IQUV", list("IQUV")), ("AABBCRCI", ["AA", "BB", "CR", "CI"]),
                        ("I", None), ("I", ["I"]), ("", None)):
    names_there = names or ["0", "1", "2"]
    with h5py.File("foreign.h5", "w") as file:
        file["data"] = np.ones((3, len(names_there), 8), "f4")
        file["data"].attrs.update({"fch1": 100.0, "foff": 1.0, "tsamp": 1.0, "pol_type": pol_type})
    with voltmill.open("foreign.h5") as product:
        equal(product.names, {"pol": names_there}, f"polarisations of pol_type {pol_type!r}")

# ---- Files that are no product

with open("text.h5", "w", encoding="utf-8") as file:
    file.write("no HDF5\n")
with h5py.File("other.h5", "w") as file:
    file["x"] = [1]
for path, kind, said in (("nowhere.h5", OSError, "nowhere.h5"), ("text.h5", OSError, "text.h5"),
                         ("other.h5", ValueError, "describe it under input.layout"), ([], ValueError, "no files")):
    try:
        voltmill.open(path)
        ok(False, f"{path} is no product")
    except kind as error:
        ok(said in str(error), f"{path} is no product", error)
with open("begun.h5.part", "wb") as file:
    file.write(b"\211VMPARTr" + bytes(100))
for path in "begun.h5", "begun.h5.part":
    try:
        voltmill.open(path)
        ok(False, f"{path} is not complete")
    except OSError as error:
        ok(f"{path} is not complete" in str(error), f"{path} is not complete", error)
os.mkdir("crate-there")
there = subprocess.run([sys.executable, "-m", "voltmill", "provenance", "out/p.h5", "crate-there"], capture_output=True, text=True, check=False,
                       env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})
equal((there.returncode, there.stderr), (4, "error: crate-there: File exists\n"), "a folder of provenance that is there")
without = subprocess.run([sys.executable, "-c", "import sys; sys.modules['h5py'] = None; sys.argv[1:] = ['provenance', 'out/p.h5', 'crate']\n"
                          "import runpy; runpy.run_module('voltmill', run_name='__main__')"], capture_output=True, text=True, check=False,
                         env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})
ok(without.returncode == 5 and without.stderr.count("\n") == 1 and "python3-h5py" in without.stderr and not os.path.exists("crate"),
   "commands of the module say that h5py is missing", without.stderr)

# ---- xarray, pictures, installation

try:
    import xarray
except ImportError:
    skip("xarray is not here")
else:
    with voltmill.open("out/p.h5") as product:
        array = product.to_xarray()
        equal((array.dims, array.time.values[3], float(array.frequency[5])), (product.dims, product.time[3], product.frequency[5]),
             f"xarray {xarray.__version__}: coordinates")
        ok(np.array_equal(array.sel({"pol": "X"})[3:9].values, product[3:9, 0]) and
           np.array_equal(array.isel(frequency=[1, 5, 7], time=slice(2, 8)).values, product[2:8][:, :, [1, 5, 7]]) and
           np.allclose(array.mean("time").values, np.asarray(product).mean(axis=0)), "xarray: numbers")
    with voltmill.open("huge.h5") as product:
        ok(product.to_xarray()[5, 0, 0].values == 7, "xarray reads when it is asked")
try:
    import matplotlib
    matplotlib.use("Agg")
except ImportError:
    skip("matplotlib is not here")
else:
    for name in ("out/s.h5", "out/p.h5", "out/d.h5", "v.h5"):
        with voltmill.open(name) as product:
            axes = product.plot(**({"frequency": (1.5e8, 2.5e8)} if name == "out/p.h5" else {}))
            labels = (axes.get_xlabel(), axes.get_ylabel())
            expected = {"s": ("seconds after 2024-03-01T23:59:50 UTC", "frequency (MHz)"), "v": ("frequency (MHz)", "power (dB)"),
                        "d": ("seconds after 2024-03-01T23:59:50 UTC", "DM (pc cm⁻³)")}
            expected["p"] = expected["s"]
            equal(labels, expected[os.path.basename(name)[0]], f"a picture of {name}")
            if name == "out/p.h5":
                drawn = axes.images[0].get_array()
                close(drawn, 10 * np.log10(product[:, 0, 64:].T.astype("f8")), 1e-5, "which shows its numbers")
                left, right = axes.get_xlim()
                step = product.seconds[1] - product.seconds[0]
                close([left, right], [product.seconds[0] - step / 2, product.seconds[-1] + step / 2], 1e-9, "from edge to edge")
            matplotlib.pyplot.close(axes.figure)
    voltmill.run({key: job[key] for key in ("input", "channelise", "run")} |
                 {"products": [{"kind": "power", "file": "row.h5", "integrate": 300, "channels": [5, 5]}]})
    with voltmill.open("row.h5") as product:
        axes = product.plot()
        close(axes.get_xlim(), product.seconds[0] + np.array([-0.5, 0.5]) * 300 * 64 / RATE, 1e-9, "a picture of one row: as long as it is")
        close(sorted(axes.get_ylim()), product.frequency[0] / 1e6 + np.array([-0.5, 0.5]) / 64, 1e-9, "of one channel: as wide as it is")
    voltmill.run({key: job[key] for key in ("input", "channelise", "run")} |
                 {"products": [{"kind": "spectra", "file": "line.h5", "channels": [5, 5]}]})
    with voltmill.open("line.h5") as product:
        close(sorted(product.plot().get_ylim()), product.frequency[0] / 1e6 + np.array([-0.5, 0.5]) / 64, 1e-9, "spectra of one channel, too")
    with h5py.File("vis.h5", "w") as file:
        file.attrs["format"] = b"visibilities"
        file["Data/visdata"] = np.zeros((2, 3, 1), "c8")
    with voltmill.open("vis.h5") as product:
        try:
            product.plot()
            ok(False, "visibilities are not drawn")
        except ValueError as error:
            ok("pyuvdata" in str(error), "visibilities are not drawn", error)
    shutil.copy("out/p.h5", "signed.h5")
    with h5py.File("signed.h5", "r+") as file:
        file["data"][...] -= np.median(file["data"])
    with voltmill.open("signed.h5") as product:
        image = product.plot(frequency=(1.5e8, 2.5e8), time=(None, 0.01)).images[0]
        key = product.index(frequency=(1.5e8, 2.5e8), time=(None, 0.01))
        equal((np.array_equal(image.get_array(), product[key[0], 0, key[2]].T), -image.norm.vmin), (True, image.norm.vmax),
              "what is below 0 is drawn as it is, about 0; a part alone")
    # Reduced by hand: means of times, of channels the one that stands out.
    from voltmill import _bank, _series
    numbers = random.normal(0, 1, (103, 2, 37)).astype("f4")
    numbers[5, 1, 3] = np.nan
    numbers[:, 0, 30] = np.inf
    bank = _bank.Bank("numbers", _bank.Sheet(103, 2, 37, lambda r, n, i, m, c, k: numbers[r:r + n, i:i + m, c:c + k]),
                      4e8 - 1e6 * np.arange(37), 1e-3, names=["X", "Y"], types=[None] * 2, powers=[True] * 2)
    there = np.where(np.isfinite(numbers), numbers, np.nan)
    for at_once in 1 << 22, 300:
        _bank.BLOCK = at_once
        grid = _bank.Grid(bank, None, 10)  # 4 channels each
        pixels = _bank.Pixels(grid, 103, 20, 2)  # 6 rows each
        pixels.fill(lambda row, rows, chan, chans: numbers[row:row + rows, :, chan:chan + chans], 16)
        columns = [[c for c in range(37) if (36 - c) // 4 == p] for p in range(10)]
        with np.errstate(all="ignore"):
            means = np.array([[np.nanmean(there[6 * t:6 * t + 6, :, :], axis=0) for t in range(18)]])[0]  # [time][if][chan]
        wanted = np.array([[[max(means[t, i, columns[p]], key=lambda v: -1 if np.isnan(v) else abs(v)) for t in range(18)]
                            for p in range(10)] for i in range(2)])
        ok(np.allclose(pixels.image, wanted, 1e-5, 1e-7, equal_nan=True), f"pixels are those of a plain loop, {at_once} numbers at once")
        ok(np.allclose(pixels.most, [[np.nanmax(there[:, i, columns[p]]) for p in range(10)] for i in range(2)]),
           "and the largest of each")
    _bank.BLOCK = 1 << 22
    series = random.normal(10, 2, 400)
    snr, widths = _series.best_sums(series, (10.0, 2.0))
    sums = [[((series[i:i + w] - 10).sum() / (2 * w ** 0.5), w) if i + w <= 400 else (-np.inf, w) for w in 2 ** np.arange(9)]
            for i in range(400)]
    close(snr, [max(s)[0] for s in sums], 1e-9, "the best sums are those of a plain loop")

folder = scratch("venv")
python = os.path.join(folder, "bin/python")
alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def inside(*words):
    return subprocess.run([python, *words], capture_output=True, text=True, cwd=SCRATCH, check=False, env=alone)


def make_venv(*options):
    """Whether it is there, and has what installs."""
    if subprocess.run([sys.executable, "-m", "venv", *options, folder], capture_output=True, check=False).returncode:
        return False
    for site in glob.glob(os.path.join(folder, "lib/python*/site-packages")):  # what this Python has is there, too, behind its own
        with open(os.path.join(site, "around.pth"), "w", encoding="utf-8") as file:
            file.write("".join({os.path.dirname(os.path.dirname(module.__file__)) + "\n" for module in (np, h5py)}))
    return inside("-c", "import setuptools as s, pip\nif int(s.__version__.split('.')[0]) < 71: import wheel").returncode == 0


# To unpack a pip of its own takes longest.
if not make_venv("--without-pip") and not make_venv():
    skip("no venv with pip, setuptools and wheel")
else:
    shutil.copytree(os.path.join(ROOT, "python"), scratch("tree"), ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    done = inside("-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps", "./tree")
    ok(done.returncode == 0, "pip install, without a network", done.stdout, done.stderr)
    done = inside("-c", "import voltmill; print(voltmill.__file__); print(voltmill.open('out/p.h5').shape)")
    ok(done.stdout.startswith(os.path.join(folder, "lib")) and "(" in done.stdout, "what was installed works", done.stdout, done.stderr)
    found = glob.glob(os.path.join(folder, "lib/python*/site-packages/voltmill/py.typed"))
    equal(len(found), 1, "with the mark of its type hints")
    os.mkdir("bin")
    os.symlink(VOLTMILL, "bin/voltmill")
    for name, place in (("VOLTMILL", {"VOLTMILL": VOLTMILL}), ("PATH", {"PATH": scratch("bin") + os.pathsep + os.environ["PATH"]})):
        alone = {key: value for key, value in alone.items() if key != "VOLTMILL"} | place
        done = inside("-c", "import voltmill; print(voltmill.program(), voltmill.info('out/p.h5')['kind'])")
        ok(done.stdout.split()[-1:] == ["product"], f"it finds the program by {name}", done.stdout, done.stderr)
finish()
