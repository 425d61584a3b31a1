"""Products as xarray (h5netcdf) shows them: names of polarisations as text, times as dates, units, CF's words; and by
h5py alone what these rest on."""
import warnings

import h5py
import numpy as np

from common import close, finish, note, ok, same, scratch, voltmill, write_archive, write_yaml

WORDS = {"time": {"standard_name": "time", "axis": "T", "type": "time", "scale": "utc"},
         "frequency": {"standard_name": "radiation_frequency", "type": "spectral_coord", "observer": "TOPO",
                       "units": "Hz"}}
random = np.random.default_rng(77)
stored = random.normal(0, 20, (20000, 2, 2, 2)).round().astype("i1")
archive = write_archive("obs", stored, "time,pol,chan,reim", 1e6, "complex", centres=[3e8, 3.01e8],
                        root={"start_mjd_day": np.int32(60370), "start_second": 86399.25})
with h5py.File(archive, "r+") as file:
    file["pol"] = ["X", "Y"]
    file["gaps"] = np.array([[5000, 3000]], "u8")
ROWS = {"power": "data", "stokes": "data", "spectra": "spectra", "series": "dedispersed"}
NAMES = {"power": ["X", "Y"], "stokes": ["I", "Q", "U", "V"], "spectra": ["X", "Y"]}
UNITS = {"power": "V2", "stokes": "V2", "spectra": "V", "series": "V2"}
voltmill("run", write_yaml("job.yaml", {
    "input": {"files": archive}, "channelise": {"channels": 32, "taps": 4},
    "products": [{"kind": "power", "integrate": 4, "file": "power.h5"},
                 {"kind": "power", "polarisation": "IQUV", "integrate": 4, "file": "stokes.h5"},
                 {"kind": "spectra", "file": "spectra.h5"}],
    "dedisperse": {"dm": {"start": 0, "step": 1, "count": 3}, "file": "series.h5"}}))


def word(dataset, key):
    return dataset.attrs[key].decode()


for name, rows in ROWS.items():
    with h5py.File(scratch(f"{name}.h5")) as file:
        same(word(file[rows], "units"), UNITS[name], f"{name}: units of the rows")
        for scale, words in WORDS.items():
            if scale in file:
                same({key: word(file[scale], key) for key in words}, words, f"{name}: words of /{scale}")
        if name in NAMES:
            same([text.decode() for text in file["pol"][:]], NAMES[name], f"{name}: /pol")
            same((word(file["pol"], "_Encoding"), word(file[rows], "ancillary_variables")), ("utf-8", "weights"),
                 f"{name}: texts are UTF-8, weights belong to the rows")
    voltmill("verify", f"{name}.h5") if name != "series" else voltmill("verify", "--crc", f"{name}.h5")

try:
    import h5netcdf  # noqa: F401
    import xarray
except ImportError:
    note("SKIP xarray: xarray or h5netcdf is not installed")
else:
    for name, rows in ROWS.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            data = xarray.open_dataset(scratch(f"{name}.h5"), engine="h5netcdf")
        same([str(one.message) for one in said], [], f"{name}: xarray opens it without a warning")
        ok(np.issubdtype(data.time.dtype, np.datetime64), f"{name}: times are dates")
        if name in NAMES:
            same([type(one) for one in data.pol.values], [str] * len(NAMES[name]), f"{name}: names are str")
            first = data[rows].sel(pol=NAMES[name][-1])
            with h5py.File(scratch(f"{name}.h5")) as file:
                ok(np.array_equal(first.values, file[rows][:, -1], equal_nan=True), f"{name}: a name selects its rows")
    with h5py.File(scratch("power.h5")) as file:
        stamp = (data.time.values[0] - np.datetime64("2024-03-01T23:59:59.25")) / np.timedelta64(1, "ns")
    with h5py.File(scratch("series.h5")) as file:
        close(stamp, file["time"][0] * 1e9, 1, "and are those of /time")
finish()
