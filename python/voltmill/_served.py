"""Files that the program reads for this module: SIGPROC, PSRFITS, recorder files, archives of telescopes."""

import os
import socket
import subprocess
from types import MappingProxyType

import numpy as np

from . import _job, _program, _rows, _times
from ._product import Product

STREAMS = ("station", "beam", "pol", "chan")


class _Server(_program.Program):
    """`voltmill look --serve` at the other end of a socket."""

    def __init__(self, paths):
        own, other = socket.socketpair()
        with other:
            self.process = subprocess.Popen([_job.program(), "look", "--serve", "--", *paths], stdin=other,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        super().__init__(own.detach())

    def task(self):
        line = self.file.readline()
        if not line:
            self.ended()
        import json
        return json.loads(self.file.read(int(line)))

    def ended(self):
        status = self.process.wait()
        raise _job.Error(_job.cause(self.process.stderr.read().decode("utf-8", "replace"), status), status)

    def __bool__(self):
        return not self.file.closed

    def close(self):
        self.file.close()
        self.socket.close()
        self.process.wait()
        self.process.stderr.close()


class _Rows:
    """Numbers along `dims`, of which a request reads only the times that it names."""

    dataset = None

    def __init__(self, server, about, dims, shape, dtype):
        self.server, self.dims, self.shape, self.dtype = server, dims, shape, np.dtype(dtype)
        self.parts = 2 if self.dtype.kind == "c" else 1
        self.is_bank = "frequency" in dims
        self.scale = np.float32(about.get("scale", 1))

    def __getitem__(self, key):
        key = list(_rows.expand(key, len(self.shape)))
        time = key[0]
        if isinstance(time, (int, np.integer)):
            first = range(self.shape[0])[time]
            times, key[0] = range(first, first + 1), 0
        elif isinstance(time, slice):
            times = range(self.shape[0])[time]
            if times.step < 0:
                raise IndexError("expected a positive step")
            key[0] = slice(None, None, times.step)
        else:
            wanted = np.arange(self.shape[0])[np.asarray(time)] if len(time) else np.zeros(0, int)
            times = range(int(wanted.min()), int(wanted.max()) + 1) if len(wanted) else range(0)
            key[0] = wanted - times.start
        count = times[-1] + 1 - times.start if len(times) else 0
        numbers = self.read(times.start, count)
        for axis in reversed(range(len(self.shape))):
            numbers = _rows.pick(numbers, axis, key[axis])
        return numbers

    def read(self, first, count):
        if self.is_bank:
            _, pols, chans = self.shape
            return self.server.rows("bank", "f4", first, count, 0, pols, 0, chans)
        numbers = self.server.rows("volts", "f4", first, count, 0, int(np.prod(self.shape[1:])), 0, self.parts)
        numbers *= self.scale
        return (numbers.view("c8") if self.parts == 2 else numbers).reshape((count, *self.shape[1:]))


class Served(Product):
    """What voltmill.open() gives of files that the program reads: all of Product, but there is no h5py dataset."""

    def __init__(self, path):
        paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
        if not paths:
            raise ValueError("no files: expected one or more")
        self.path = os.fspath(paths[0])
        self._file = _Server([os.fspath(one) for one in paths])
        task = self._file.task()
        about = task.get("volts") or task["bank"]
        self.kind = "voltages" if "volts" in task else "power"
        self._axes = {}
        if self.kind == "voltages":
            self._describe_volts(about)
        else:
            self._describe_bank(about)
        said = {k: v for k, v in about.items() if not isinstance(v, list)}
        if self.kind == "voltages": # by the names of products
            said["sample_rate_hz"] = said.pop("rate_hz")
            said["sideband"] = -1 if said.pop("is_lower") and not said["is_complex"] else 1
        self.attributes = MappingProxyType(said)
        self.dims, self.shape, self.dtype = self._rows.dims, self._rows.shape, self._rows.dtype
        self.ndim = len(self.shape)
        self._start = None
        if about["start"]:
            day = np.datetime64(about["start"][:10], "D")
            second = (np.datetime64(about["start"], "ns") - day) / np.timedelta64(1, "s")
            self._start = (int(day.astype("i8")) + _times.MJD_OF_1970, float(second))

    def _describe_volts(self, about):
        dims, shape = ["time"], [about["samples"]]
        for name in STREAMS:
            if len(about[name]) > 1 or name in ("pol", "chan"):
                dims.append(name)
                shape.append(len(about[name]))
                self._axes[name] = (np.array(about[name], "f8") if name == "chan" else
                                    np.array([word or str(i) for i, word in enumerate(about[name])]))
        self._rows = _Rows(self._file, about, tuple(dims), tuple(shape), "c8" if about["is_complex"] else "f4")

    def _describe_bank(self, about):
        shape = (about["rows"], len(about["pols"]), about["chans"])
        self._axes["pol"] = np.array([pol["name"] or str(i) for i, pol in enumerate(about["pols"])])
        self._axes["frequency"] = self._file.rows("frequency", "f8", 0, 1, 0, 1, 0, about["chans"])[0, 0]
        self._rows = _Rows(self._file, about, ("time", "pol", "frequency"), shape, "f4")

    def _make_axis(self, name, count):
        about = self.attributes  # of time alone: the others are known
        if self.kind == "voltages":
            return about["first_s"] + np.arange(count) / about["sample_rate_hz"]
        return (np.arange(count) + 0.5) * about["step_s"]

    weights = coarse_frequency = gaps = property(lambda self: None)
    others = provenance = property(lambda self: {})
