"""A product of voltmill (or an archive in its native layout, or any FBH5 file) with its axes."""

from __future__ import annotations

import io
import os
import re
from types import MappingProxyType
from typing import Any, Mapping, Sequence, Union

import h5py
import numpy as np

from . import _rows, _times

try:
    import hdf5plugin # noqa: F401 pylint: disable=unused-import
except ImportError:
    pass # filters that h5py has not itself (LZ4, bitshuffle, Zstandard) come with it

# The dataset that holds the rows of each kind, and its dimensions where the file does not name them.
KINDS = {"spectra": ("spectra", None), "power": ("data", ("time", "pol", "frequency")),
         "dedispersed": ("dedispersed", ("dm", "time")), "candidates": ("peaks", ("dm", "time")),
         "voltage": ("voltages", None), "visibilities": ("Data/visdata", ("blt", "frequency", "pol"))}
MARKS = {b"r": "voltmill run JOB", b"s": "voltmill synth SPEC", b"i": "voltmill import -o FILE INPUT...",
         b"j": "voltmill join -o FILE PRODUCT PRODUCT...", b"e": "voltmill export --format FORMAT PRODUCT", b"p": "voltmill plot PRODUCT"}
UNITS = {"time": "s", "frequency": "Hz", "chan": "Hz", "dm": "pc cm^-3"}


def _plain(value):
    """A text as str, a single number as Python has it, an array as it is."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "SO":
            return [_plain(v) for v in value.ravel()]
        return value.reshape(-1)[0].item() if value.size == 1 else value
    return value.item() if isinstance(value, np.generic) else value


def _attributes(item):
    hidden = ("DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "CLASS", "NAME")
    return {name: _plain(value) for name, value in item.attrs.items() if name not in hidden}


def _texts(dataset):
    return np.array([_plain(v) for v in dataset[()]], dtype=str)


def _refuse_unfinished(path):
    """A file that is being written begins with a mark until it is complete: seven bytes and one for the command."""
    try:
        with io.open(path, "rb") as file:
            start = file.read(8)
    except OSError:
        return
    command = MARKS.get(start[7:8]) if start[:7] == b"\211VMPART" else None
    if command:
        raise OSError(f"{os.fsdecode(path)} is not complete: it is being written, or was left, by `{command}`; the same "
                      "command again completes it")


def _pol_names(pol_type, count):
    """The names in a pol_type of FBH5: a list (XX,YY), letters (IQUV) or pairs of them (AABBCRCI); [] if it names
    another number of polarisations."""
    listed = [name.upper() for name in re.split("[,;/| ]+", pol_type) if name]
    if len(listed) == 1 < count and len(listed[0]) in (count, 2 * count):
        each = len(listed[0]) // count
        listed = [listed[0][i:i + each] for i in range(0, len(listed[0]), each)]
    return listed if len(listed) == count else []


class Product:
    """Made by voltmill.open(). Indexing reads what is asked for, as numpy arrays: product[:100, 0] are the first 100
    rows of one if. Closing it, or leaving its `with`, closes the file.

    kind        "spectra", "power", "dedispersed", "candidates", "voltages" or "visibilities"
    dims        names of the axes: time, station, beam, pol, if, frequency, chan, dm, blt
    axes        {name: values along it}: seconds after `start`, Hz, pc cm^-3, or names
    attributes  what the file says of itself: those of its root, then of its rows
    """

    path: str
    kind: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    ndim: int
    attributes: Mapping[str, Any]
    _start: tuple[int, float] | None

    def __init__(self, path: str) -> None:
        self.path = os.fspath(path)
        _refuse_unfinished(self.path)
        if not os.path.exists(self.path) and os.path.exists(self.path + ".part"):
            raise FileNotFoundError(f"{self.path} is not complete, there is only {os.path.basename(self.path)}.part")
        try:
            self._file = h5py.File(self.path, "r")
        except OSError as error:
            raise type(error)(f"{self.path}: {error}") from None
        try:
            self._open()
        except BaseException:
            self._file.close()
            raise

    def _open(self):
        file = self._file
        self.kind = self._find_kind()
        name, dims = KINDS[self.kind]
        rows = file[name]
        said = _plain(rows.attrs["axes"]) if "axes" in rows.attrs else None
        self.attributes = MappingProxyType({**_attributes(file), **_attributes(rows)})
        self._rows = self._make_rows(rows, said or ",".join(dims))
        self.dims, self.shape, self.dtype = self._rows.dims, self._rows.shape, self._rows.dtype
        self.ndim = len(self.shape)
        if self.kind == "voltage":
            self.kind = "voltages"
        self._find_start()
        self._axes = {}

    def _find_kind(self):
        said = _plain(self._file.attrs.get("format", b""))
        if said in KINDS and KINDS[said][0] in self._file:
            return said
        if "data" in self._file and "fch1" in self._file["data"].attrs:
            return "power"
        raise ValueError(f"{self.path} is no product of voltmill: its root says format = {said!r}, expected one of "
                         f"{', '.join(KINDS)}, or /data of an FBH5 file")

    def _make_rows(self, rows, axes):
        file, said = self._file, self.attributes
        if self.kind == "voltage":
            levels = file["levels"][()] if "levels" in file else None
            packing = _rows.Packing(said.get("packing", ""), levels, said.get("offset", 0), self.path)
            return _rows.Voltages(rows, axes, packing, said.get("scale", 1))
        dims = axes.split(",")
        if len(dims) != rows.ndim:
            raise ValueError(f"{self.path}: {rows.name} has {rows.ndim} dimensions, expected {axes}")
        if "scale" in file and "offset" in file and (rows.dtype.kind in "iu" or rows.dtype.names):
            per_block = _plain(rows.attrs.get("scale_rows", rows.shape[0]))
            return _rows.Scaled(rows, dims, file["scale"], file["offset"], per_block, said.get("blank_value"))
        return _rows.Rows(rows, dims)

    def _find_start(self):
        """UTC that seconds count from: (day, second); None when the file does not say. FBH5 has the leading edge of
        its first row alone."""
        said = self.attributes
        self._start = None
        if "start_mjd_day" in said and "start_second" in said:
            self._start = (int(said["start_mjd_day"]), float(said["start_second"]))
        elif self.kind == "power" and float(said.get("tstart", 0)) > 0:
            day = int(float(said["tstart"]))
            self._start = (day, (float(said["tstart"]) - day) * 86400)

    # What is asked of it

    def __getitem__(self, key: Any) -> np.ndarray:
        if not self._file:
            raise ValueError(f"{self.path} is closed")
        return self._rows[key]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        out = self._rows[...]
        return out if dtype is None else out.astype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __enter__(self) -> Product:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def __repr__(self):
        if not self._file:
            return f"<voltmill {self.kind} {self.path}, closed>"
        lines = [f"<voltmill {self.kind} {self.path}>", f"  {self.dtype} " +
                 " x ".join(f"{name} {size}" for name, size in zip(self.dims, self.shape))]
        for name, values in self.axes.items():
            unit = UNITS.get(name, "")
            ends = f"{values[0]} .. {values[-1]}" if len(values) > 2 else ", ".join(str(v) for v in values)
            lines.append(f"  {name:<10} {ends} {unit}".rstrip())
        return "\n".join(lines)

    @property
    def axes(self) -> Mapping[str, np.ndarray]:
        return MappingProxyType({name: self._axis(name) for name in self.dims})

    def _place(self, name):
        if name not in self.dims:
            raise KeyError(f"{self.path}: no axis {name!r}, only {', '.join(self.dims)}")
        return self.dims.index(name)

    def _axis(self, name):
        if name not in self._axes:
            self._axes[name] = self._make_axis(name, self.shape[self._place(name)])
        return self._axes[name]

    def _make_axis(self, name, count):
        stored = {"chan": "freq_hz"}.get(name, name)
        if stored in self._file and self._file[stored].shape == (count,):
            values = self._file[stored]
            return values[()] if values.dtype.kind in "iuf" else _texts(values)
        said = self.attributes
        if name == "pol" and _pol_names(str(said.get("pol_type", "")), count):
            return np.array(_pol_names(said["pol_type"], count))
        if name == "time" and self.kind == "voltages":
            return np.arange(count) / float(said["sample_rate_hz"])
        if name == "time" and "tsamp" in said: # of FBH5: centres, after the first leading edge
            return (np.arange(count) + 0.5) * float(said["tsamp"])
        if name == "frequency" and "fch1" in said:
            return (float(said["fch1"]) + np.arange(count) * float(said["foff"])) * 1e6
        return np.arange(count)

    @property
    def seconds(self) -> np.ndarray:
        """Seconds after `start` of each row (of dedispersed series: of each time)."""
        return self._axis("time") if "time" in self.dims else self._file["time"][()]

    @property
    def start(self) -> np.datetime64 | None:
        """UTC from which `seconds` count, as datetime64[ns]; None when the file does not say."""
        return None if self._start is None else _times.datetimes(*self._start, 0)

    @property
    def time(self) -> np.ndarray:
        """datetime64[ns], UTC, of each row: the centre of the samples that made it."""
        return _times.datetimes(*self._known_start(), self.seconds)

    @property
    def mjd(self) -> np.ndarray:
        """The same as Modified Julian Days."""
        return _times.days(*self._known_start(), self.seconds)

    def _known_start(self) -> tuple[int, float]:
        if self._start is None:
            raise ValueError(f"{self.path} does not say when it starts: only .seconds are known")
        return self._start

    @property
    def frequency(self) -> np.ndarray:
        """Hz: the centre of each channel, of voltages of each coarse channel."""
        return self._axis("chan" if "chan" in self.dims else "frequency")

    @property
    def candidates(self) -> np.ndarray:
        """The table of what a search has found: a structured array, for pandas.DataFrame()."""
        if self.kind != "candidates":
            raise KeyError(f"{self.path}: no candidates: its kind is {self.kind}")
        return self._file["candidates"][()]

    @property
    def dm(self) -> np.ndarray:
        """pc cm^-3, of dedispersed series."""
        return self._axis("dm")

    @property
    def names(self) -> dict[str, list[str]]:
        """What the stream axes are called: {"pol": ["X", "Y"], ...}; of power of several stations or beams "CS001/X"."""
        return {n: list(map(str, self._axis(n))) for n in self.dims if n in ("station", "beam", "pol")}

    @property
    def stored(self) -> Any:
        """The rows as they are stored (an h5py.Dataset), without scale or offset."""
        return self._rows.dataset

    @property
    def weights(self) -> Any:
        """Shares of each dump that were there, [time][pol][coarse channel], read as they are indexed; None: nothing
        could be missing."""
        return self._file["weights"] if "weights" in self._file else None

    @property
    def coarse_frequency(self) -> np.ndarray | None:
        """Hz, of the last axis of `weights`; None without them."""
        return self._file["coarse_frequency"][()] if "coarse_frequency" in self._file else None

    @property
    def gaps(self) -> np.ndarray | None:
        """Of voltages: [n][2] or [n][3], first sample, count (and stream) of what is missing; None: nothing is."""
        return self._file["gaps"][()] if "gaps" in self._file else None

    @property
    def others(self) -> dict[str, Any]:
        """{name: h5py.Dataset} of what else lies beside the rows: coefficients, weights, kurtosis, flags, delays."""
        rows = self._rows.dataset.name
        found = {}
        self._file.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) and
                              item.name != rows and not name.startswith("provenance/") else None)
        return found

    @property
    def provenance(self) -> dict[str, Any]:
        """What made it: job, inputs, versions, conventions in words."""
        return _attributes(self._file["provenance"]) if "provenance" in self._file else {}

    @property
    def job(self) -> str | None:
        """The job, as YAML."""
        return self.provenance.get("job")

    def index(self, **ranges: Any) -> tuple[Any, ...]:
        """A key for [] from ranges of axes: index(frequency=(1.4e9, 1.41e9), time=(0, 10), pol="X"). A range is (low,
        high) in the axis' units, both included, None for no limit; times may be seconds or datetime64; a single number
        is the nearest, a name the one that is called so. KeyError: no such name, or a number beyond the axis."""
        key = [slice(None)] * self.ndim
        for name, asked in ranges.items():
            name = "pol" if name == "if" else name # as it was called before
            key[self._place(name)] = self._find(name, asked)
        return tuple(key)

    def _find(self, name, asked):
        values = self._axis(name)
        if values.dtype.kind == "U" or isinstance(asked, str) and name != "time":
            found = np.flatnonzero(values.astype("U") == str(asked))
            if len(found) == 0:
                more = f" and {len(values) - 20} more" if len(values) > 20 else ""
                raise KeyError(f"no {name} {asked!r}, only {', '.join(map(str, values[:20]))}{more}")
            return int(found[0])
        if isinstance(asked, tuple):
            low, high = (self._seconds(v) if name == "time" else v for v in asked)
            inside = (values >= (-np.inf if low is None else low)) & (values <= (np.inf if high is None else high))
            found = np.flatnonzero(inside)
            whole = slice(int(found[0]), int(found[-1]) + 1) if len(found) else slice(0, 0)
            return whole if len(found) == whole.stop - whole.start else found # channels in another order
        value = self._seconds(asked) if name == "time" else asked
        if not np.isscalar(value):
            raise TypeError(f"{name}: expected a number, or a tuple (low, high), not {asked!r}")
        low, high = float(values.min()), float(values.max())
        half = (high - low) / max(len(values) - 1, 1) / 2
        if len(values) > 1 and not low - half <= value <= high + half:
            raise KeyError(f"no {name} near {value}, only {low} .. {high} {UNITS.get(name, '')}".rstrip())
        return int(np.argmin(np.abs(values - value)))

    def _seconds(self, value):
        if isinstance(value, (np.datetime64, str)):
            return (np.datetime64(value, "ns") - _times.datetimes(*self._known_start(), 0)) / np.timedelta64(1, "s")
        return value

    # For others

    def to_xarray(self) -> Any:
        """An xarray.DataArray: coordinates time (datetime64 where the start is known, else s), frequency (Hz), dm and
        names; lazily read (the file stays open as long as it is)."""
        from . import _xarray
        return _xarray.make(self)

    def plot(self, axes: Any = None, **which: Any) -> Any:
        """A picture by matplotlib: power and |spectra|^2 over time and frequency, series over time and DM, the spectrum
        of voltages. `which` is of index(): plot(pol="X", time=(0, 1)). Returns the matplotlib axes."""
        from . import _plot
        return _plot.draw(self, axes, which)


def open(path: Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]]]) -> Product: # pylint: disable=redefined-builtin
    """Opens a product, an archive in the native layout or FBH5, by h5py; any other file that voltmill reads (SIGPROC,
    PSRFITS, recorder files, archives of telescopes; a pattern, or a list of files of one observation; a job.yaml:
    its input), through the program. OSError: it cannot be read, and why;
    ValueError: HDF5 that voltmill does not know."""
    reason: Exception | None = None
    if isinstance(path, (str, os.PathLike)):
        name = os.fspath(path)
        is_there = os.path.exists(name)
        if h5py.is_hdf5(name) if is_there else not set(name) & set("*?["):
            try:
                return Product(name)
            except ValueError as error: # perhaps HDF5 of a telescope
                reason = error
    from . import _job, _served
    try:
        return _served.Served(path)
    except _job.Error as error:
        raise (ValueError if reason else OSError)(str(error)) from error
    except FileNotFoundError as error:
        raise (reason or OSError(str(error))) from error
