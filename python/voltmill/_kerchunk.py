"""References of kerchunk (version 1): a JSON by which fsspec shows a product as zarr (format 2),
whose chunks are byte ranges of the product's own file."""

import base64
import itertools
import math
import os
import re
import sys

import h5py
import numpy as np

from ._job import Error

CHUNK_BYTES, MOST_CHUNKS = 4 << 20, 1 << 16  # of a dataset that is stored in one piece
HIDDEN = ("DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "NAME")  # links of HDF5's scales
CODECS = {1: "zlib", 2: "shuffle", 32015: "zstd"}  # numcodecs' names of HDF5's filters


# JSON as the program writes it

def _escape(match):
    letter = match.group()
    known = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}.get(letter)
    return known or "\\ufffd" if known or letter >= "\ud800" else f"\\u{ord(letter):04x}"


def _quote(value):
    """Quote a str; bytes that are not UTF-8 (surrogates in it) become U+FFFD."""
    return '"' + re.sub('["\\\\\x00-\x1f\x7f-\x9f\ud800-\udfff]', _escape, value) + '"'


def _json(value, line="\n"):
    """Return a dict, list, str, number or None as indented JSON."""
    if isinstance(value, (dict, list)):
        inner, ends = line + "  ", "{}" if isinstance(value, dict) else "[]"
        items = ([f"{_quote(key)}: {_json(item, inner)}" for key, item in value.items()]
                 if isinstance(value, dict) else [_json(item, inner) for item in value])
        return ends[0] + ",".join(inner + i for i in items) + line * bool(items) + ends[1]
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, float):
        return "%.17g" % value if math.isfinite(value) else "null"
    return "null" if value is None else str(value)


# Attributes

def text(value):
    """Return an attribute's text as str, without the blanks or zeros that pad it."""
    raw = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    return raw.split(b"\0")[0].rstrip(b" ").decode("utf-8", "surrogateescape")


def _attributes(item):
    """Return the texts and numbers among the attributes, of arrays the first element."""
    found = {}
    is_scale = isinstance(item, h5py.Dataset) and h5py.h5ds.is_scale(item.id)
    for name in sorted(item.attrs):
        kind = h5py.h5a.open(item.id, os.fsencode(name)).get_type().get_class()
        if (name in HIDDEN or (is_scale and name == "CLASS")
                or kind not in (h5py.h5t.STRING, h5py.h5t.INTEGER, h5py.h5t.FLOAT)):
            continue
        value = item.attrs[name]
        first = value.ravel()[0] if isinstance(value, np.ndarray) else value
        found[name] = (text(first) if kind == h5py.h5t.STRING else float(first)
                       if kind == h5py.h5t.FLOAT else min(int(first), 2**63 - 1))
    return found


# Arrays

def _divisor(count, most):
    """Return the largest divisor of `count` that is at most `most`, at least 1."""
    small = [i for i in range(1, math.isqrt(count) + 1) if count % i == 0]
    return max([i for i in small + [count // i for i in small] if i <= most], default=1)


def _even(count, most):
    """Return how many of `count` go into a chunk, at most `most`, so that the last lacks little."""
    whole = _divisor(count, most)
    if count <= most or whole >= most // 2:
        return count if count <= most else whole
    return min(range(most, most // 2, -1), key=lambda each: -count % each)


def _cut(shape, element_bytes):
    """Return chunks, each in one piece, of an array in one piece: along the first axis whose step
    is small enough, single elements of the axes before it."""
    chunk = list(shape)
    step = math.prod(shape) * element_bytes
    most = max(CHUNK_BYTES, -(-step // MOST_CHUNKS))
    for i, size in enumerate(max(n, 1) for n in shape):
        step //= size
        if step > most:
            chunk[i] = 1
            continue
        fit = min(max(most // max(step, 1), 1), size)
        # After the first axis an incomplete last chunk would be one of many.
        chunk[i:] = [(_divisor if i else _even)(size, fit)] + [max(n, 1) for n in shape[i + 1:]]
        break
    return chunk


class _Array:
    """A dataset of the root in zarr's terms."""

    def __init__(self, dataset, name):
        self.dataset, self.name = dataset, name
        self.path, self.shape = dataset.file.filename, dataset.shape
        self.element_bytes = dataset.id.get_type().get_size()
        self.chunk = list(dataset.chunks or _cut(self.shape, self.element_bytes))
        self._find_type()

    def _find_type(self):
        """Set `type`, such as "<f4", and `pair`: [2] where whole numbers are pairs, else []."""
        kind = self.dataset.dtype
        parts = [kind[i] for i in range(len(kind.names or ()))]
        self.pair = []
        if (len(parts) == 2 and parts[0] == parts[1] and parts[0].kind in "iuf"
                and kind.fields[kind.names[0]][1] == 0 and 2 * parts[0].itemsize == kind.itemsize):
            self.pair = [2] * (parts[0].kind != "f")
            self.type = parts[0].str if self.pair else f"{parts[0].str[0]}c{kind.itemsize}"
        elif kind.kind in "iufcS":
            self.type = kind.str
        else:
            raise Error(f"export: {self.path}: xarray has no type for what its {self.name} holds; "
                        "tables of candidates: --format csv", 2)

    def _codecs(self):
        """Return filters and compressor: zarr calls the last filter the compressor."""
        plist, codecs = self.dataset.id.get_create_plist(), []
        for i in range(plist.get_nfilters() if self.dataset.chunks else 0):
            number, _, values, name = plist.get_filter(i)
            if number not in CODECS:
                raise Error(f"export: {self.path}: no codec of zarr undoes how its {self.name} is "
                            f"compressed (HDF5's filter {number}, {text(name)}): compress: deflate "
                            "and zstd can be read by references", 2)
            codecs.append({"id": CODECS[number], **({"elementsize": self.element_bytes}
                                                   if number == 2 else {"level": (*values, 0)[0]})})
        if not codecs:
            return {"compressor": None, "filters": None}
        return {"filters": codecs[:-1] or None, "compressor": codecs[-1]}

    def _dimension(self, i):
        """Return the name of a dimension: its first scale's, else its own."""
        scales = self.dataset.dims[i]
        if h5py.h5ds.is_scale(self.dataset.id):
            return self.name
        return scales[0].name.rsplit("/", 1)[-1] if len(scales) else f"{self.name}_{i}"

    def _chunk(self, at, key):
        """Return the reference to the chunk whose first element is `at`."""
        if self.dataset.chunks:
            found = self.dataset.id.get_chunk_info_by_coord(at)
            if found.byte_offset is None or found.filter_mask:
                raise Error(f"{self.path}: chunk {key} is not there, or was stored otherwise than "
                            "the others", 4)
            return ["{{u}}", found.byte_offset, found.size]
        size = math.prod(self.chunk) * self.element_bytes
        there = self.element_bytes
        first = 0
        for length, each, index in zip(self.shape, self.chunk, at):
            there *= min(each, length - index)
            first = first * length + index
        offset = self.dataset.id.get_offset() + first * self.element_bytes
        if there == size:
            return ["{{u}}", offset, size]
        # The last chunk lacks what zarr expects: its bytes are in the reference, filled up with 0.
        with open(self.path, "rb") as file:
            file.seek(offset)
            return "base64:" + base64.b64encode(file.read(there).ljust(size, b"\0")).decode()

    def references(self):
        """Return {key: reference} of the array's two descriptions and of its chunks."""
        if not self.dataset.chunks and self.dataset.id.get_offset() is None:
            raise Error(f"{self.path}: {self.name} has no place in the file", 4)
        described = {
            "zarr_format": 2, "shape": list(self.shape) + self.pair,
            "chunks": self.chunk + self.pair, "dtype": self.type, "order": "C",
            "fill_value": None, **self._codecs()}
        dims = [self._dimension(i) for i in range(len(self.shape))] + ["reim"] * len(self.pair)
        refs = {f"{self.name}/.zarray": _json(described),
                f"{self.name}/.zattrs": _json({"_ARRAY_DIMENSIONS": dims,
                                              **_attributes(self.dataset)})}
        if self.dataset.size:
            steps = (range(0, n, each) for n, each in zip(self.shape, self.chunk))
            for at in itertools.product(*steps):
                numbers = [i // each for i, each in zip(at, self.chunk)] + [0] * len(self.pair)
                key = f"{self.name}/{'.'.join(map(str, numbers or [0]))}"
                refs[key] = self._chunk(at, key)
        return refs


def kerchunk(path, url):
    """Write a line with the number of chunks, then the references to a product at `url`."""
    with h5py.File(path, "r") as file:
        refs = {".zgroup": _json({"zarr_format": 2}), ".zattrs": _json(_attributes(file))}
        for name in sorted(file):
            if isinstance(file[name], h5py.Dataset):
                refs.update(_Array(file[name], name).references())
    count = sum(not key.rsplit("/", 1)[-1].startswith(".z") for key in refs)
    content = {"version": 1, "templates": {"u": url}, "refs": refs}
    sys.stdout.buffer.write(f"{count}\n{_json(content)}\n".encode())
