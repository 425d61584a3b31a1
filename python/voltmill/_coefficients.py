"""Coefficients of filters in MATLAB files of version 5, made into HDF5 that jobs read.

An element is a tag (type and bytes, or both in 4 bytes and the data in the 4 after them) and data,
which end at a multiple of 8 bytes. A variable is an element that contains others: flags with its
class, dimensions, name, numbers, and the numbers of its imaginary part; or such a one compressed.
MathWorks, MAT-File Format.
"""

import math
import os
import struct
import zlib

import h5py
import numpy as np

from ._job import Error

NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8",
           13: "u8"}
MATRIX, COMPRESSED = 14, 15
NUMERIC = range(6, 16)  # classes of variables: double to uint64
OPAQUE = 17  # a string or table: no dimensions follow its flags


def _elements(data, order):
    """Yield (type, data) of the elements in some bytes."""
    at = 0
    while at < len(data):
        kind, count = struct.unpack_from(order + "II", data, at)
        start = at + 8
        if kind >> 16:
            kind, count, start = kind & 0xffff, kind >> 16, at + 4
        if start + count > len(data) or (start == at + 4 and count > 4):
            raise ValueError("an element that ends after its file")
        yield kind, data[start:start + count]
        size = start + count - at
        at += size if kind == COMPRESSED else size + -size % 8


class _Variable:
    """A variable: name, class, shape, and its numbers as elements."""

    def __init__(self, data, order):
        (_, flags), *parts = _elements(data, order)
        word, = struct.unpack_from(order + "I", flags)
        self.kind, self.is_complex, self.order = word & 0xff, bool(word & 0x800), order
        self.name, self.shape = "", ()
        if self.kind != OPAQUE:
            (_, shape), (_, name), *parts = parts
            self.shape = tuple(np.frombuffer(shape, order + "i4").tolist())
            self.name = name.decode()
        self.parts = parts
        self.is_numeric = self.kind in NUMERIC
        self.count = math.prod(self.shape)

    def numbers(self):
        """Return its numbers along one axis, as float64 or complex128."""
        found = [np.frombuffer(data, self.order + NUMBERS[kind]).astype("f8")
                 for kind, data in self.parts][:1 + self.is_complex]
        if len(found) != 1 + self.is_complex or any(len(f) != self.count for f in found):
            raise ValueError(f"variable {self.name} is cut off")
        return found[0] + 1j * found[1] if self.is_complex else found[0]


def _variables(path):
    """Yield the variables of a file."""
    with open(path, "rb") as file:
        head, data = file.read(128), file.read()
    orders = {b"\0\1IM": "<", b"\1\0MI": ">"}
    if head[124:] not in orders:
        raise Error(f"{path}: not a MATLAB file of version 5 (those of 7.3 are HDF5, which jobs "
                    "read as they are)", 4)
    order = orders[head[124:]]
    for kind, content in _elements(data, order):
        if kind == COMPRESSED:
            (kind, content), = _elements(zlib.decompress(content), order)
        if kind == MATRIX and content:
            yield _Variable(content, order)


def _read(path, name):
    """Return the numbers of a variable; without a name of the only one that is an array."""
    try:
        variables = list(_variables(path))
        found = [v for v in variables
                 if (v.name == name if name else v.is_numeric and v.count > 1)]
        if len(found) != 1:
            what = (f"no variable {name}" if name else "more than one array of numbers, expected "
                    f"{path}:NAME" if found else "no array of numbers")
            names = ", ".join(v.name for v in variables) or "nothing"
            raise Error(f"{path} contains {what}; it contains {names}", 4)
        variable, = found
        if not variable.is_numeric:
            raise Error(f"{path}: variable {variable.name} is not an array of numbers", 4)
        if sum(n != 1 for n in variable.shape) > 1:
            shape = " x ".join(map(str, variable.shape))
            raise Error(f"{path}: variable {variable.name} is {shape}, expected a row or a column",
                        4)
        return variable.numbers()
    except (KeyError, ValueError, struct.error, zlib.error) as error:
        raise Error(f"{path}: a damaged MATLAB file of version 5: {error}", 4) from error


def coefficients(named, out):
    """Write the coefficients in FILE or FILE:NAME to the dataset /coefficients of a new file."""
    path, name = named, None
    if not os.path.exists(named) and ":" in named:
        path, name = named.rsplit(":", 1)
    numbers = _read(path, name)
    if os.path.lexists(out):
        raise Error(f"{out} exists already", 2)
    with h5py.File(out + ".part", "x") as file:
        file["coefficients"] = numbers
    os.rename(out + ".part", out)
    print(f"{out}: {len(numbers)} {'complex' if np.iscomplexobj(numbers) else 'real'} coefficients")
