"""The numbers of a product, read when they are asked for: as they are stored, or made of what is stored."""

import numpy as np


def expand(key, ndim):
    """A key of basic indexing as a tuple of `ndim` integers and slices."""
    key = key if isinstance(key, tuple) else (key,)
    if any(k is None for k in key):
        raise IndexError("no new axes here: numpy.newaxis works on what is read")
    dots = [i for i, k in enumerate(key) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("more than one '...'")
    at = dots[0] if dots else len(key)
    head, tail = key[:at], key[at + 1:]
    if len(head) + len(tail) > ndim:
        raise IndexError(f"{len(head) + len(tail)} indices for {ndim} axes")
    return head + (slice(None),) * (ndim - len(head) - len(tail)) + tail


class Rows:
    """Numbers of one HDF5 dataset along `dims`. Integers, slices and one list or mask go to h5py as they are, so that
    only what they name is read."""

    def __init__(self, dataset, dims):
        self.dataset, self.dims = dataset, tuple(dims)
        self.shape = dataset.shape[:len(self.dims)]
        self.dtype = self.dtype_of(dataset.dtype)

    def dtype_of(self, stored):
        return stored

    def __getitem__(self, key):
        return self.dataset[expand(key, len(self.shape))]


LEVELS = {"1 bit": (-1, 1), "2 bit offset": (-3.3359, -1, 1, 3.3359), "2 bit two's complement": (0, 1, -2, -1)}


class Packing:
    """What a stored number of some bits means: `value()` of whole numbers; `unpack()` takes bytes apart."""

    def __init__(self, name, levels, offset, where):
        self.name, self.high_first = name.removesuffix(" high first"), name.endswith(" high first")
        self.bits, self.offset, self.levels = 0, offset, None
        self.is_pair = name.startswith("4+4 ") # both parts of a sample
        words = self.name.split(" ", 2)
        if self.is_pair:
            self.bits = 4
        elif name:
            if len(words) < 2 or words[1] != "bit" or words[0] not in ("1", "2", "4", "8", "16"):
                raise ValueError(f"{where}: packing \"{name}\" is none that this module knows")
            self.bits = int(words[0])
        if levels is not None:
            self.levels = np.asarray(levels, "f4")
        elif self.name in LEVELS:
            self.levels = np.array(LEVELS[self.name], "f4")
        elif self.bits == 4 and not (self.is_pair and "offset" in name):
            is_offset = "offset" in name
            self.levels = np.array([n - 8 if is_offset else n if n < 8 else n - 16 for n in range(16)], "f4")
        elif self.is_pair:
            self.levels = np.arange(16, dtype="f4") - 8
        elif self.bits:
            self.offset = 128 if self.bits == 8 else 32768
        self.each = 8 // self.bits if 0 < self.bits < 8 and not self.is_pair else 1 # numbers of a byte, along an axis

    def value(self, stored, real):
        if self.levels is not None:
            return self.levels[stored].astype(real)
        return stored.astype(real) - real.type(self.offset) if self.offset else stored.astype(real)

    def unpack(self, stored):
        """Numbers along the last axis, of which each byte holds some."""
        if self.each == 1:
            return stored
        shifts = np.arange(self.each) * self.bits
        parts = stored[..., None] >> (shifts[::-1] if self.high_first else shifts).astype("u1") & (1 << self.bits) - 1
        return parts.reshape(stored.shape[:-1] + (-1,))


def pick(numbers, axis, key):
    """numbers[..., key, ...]: an integer takes the axis away."""
    if isinstance(key, (int, np.integer)):
        return np.take(numbers, key, axis)
    if isinstance(key, slice):
        return numbers[(slice(None),) * axis + (key,)]
    return numbers[(slice(None),) * axis + (np.asarray(key, None if len(key) else int),)]


class Voltages(Rows):
    """Samples of the native layout in volts. Its `axes` may join several in one dimension, with their sizes
    ("time,chan:4*pol:2*reim:2"); numbers of a few bits lie along the innermost."""

    def __init__(self, dataset, axes, packing, scale):
        self.packing, self.scale = packing, scale
        self.groups = [[part.strip().partition(":") for part in group.split("*")] for group in axes.split(",")]
        self.groups = [[(name, int(size) if size else None) for name, _, size in group] for group in self.groups]
        if len(self.groups) != dataset.ndim:
            raise ValueError(f"{dataset.file.filename}: /voltages has {dataset.ndim} dimensions, expected {axes}")
        self.sizes, self.names = [], []
        for d, group in enumerate(self.groups):
            whole = dataset.shape[d] * (packing.each if d == dataset.ndim - 1 else 1)
            known = int(np.prod([size for _, size in group if size]))
            self.sizes += [size or whole // known for _, size in group]
            self.names += [name for name, _ in group]
        self.reim = self.names.index("reim") if "reim" in self.names else None
        super().__init__(dataset, [name for name in self.names if name != "reim"])
        self.shape = tuple(size for size, name in zip(self.sizes, self.names) if name != "reim")

    def dtype_of(self, stored):
        is_complex = "reim" in self.names or self.packing.is_pair or stored.names or stored.kind == "c"
        is_double = stored.base.itemsize > 4 and not stored.names
        return np.dtype(("c16" if is_double else "c8") if is_complex else ("f8" if is_double else "f4"))

    def __getitem__(self, key):
        key = list(expand(key, len(self.shape)))
        if self.reim is not None:
            key.insert(self.reim, slice(None))
        stored_key, later, at = [], [], 0
        for d, group in enumerate(self.groups):
            keys, sizes = key[at:at + len(group)], self.sizes[at:at + len(group)]
            at += len(group)
            is_packed = d == len(self.groups) - 1 and self.packing.each > 1
            first, after = self.outside(keys[0], sizes[0], is_packed) if len(group) == 1 else (slice(None), keys)
            stored_key.append(first)
            later += after
        numbers = self.packing.unpack(np.asarray(self.dataset[tuple(stored_key)]))
        lengths, at = [], 0
        for d, group in enumerate(self.groups):
            lengths += [numbers.shape[d]] if len(group) == 1 else self.sizes[at:at + len(group)]
            at += len(group)
        numbers = numbers.reshape(lengths)
        for axis in reversed(range(len(later))):
            numbers = pick(numbers, axis, later[axis])
        return self.volts(numbers, sum(not isinstance(k, (int, np.integer)) for k in key[:self.reim or 0]))

    def outside(self, key, size, is_packed):
        """What of a dimension is read, and what of that is taken: [key]."""
        each = self.packing.each if is_packed else 1
        if isinstance(key, (int, np.integer)):
            index = range(size)[key] // each
            return slice(index, index + 1), [range(size)[key] % each]
        if not is_packed:
            return key, [slice(None)]
        if not isinstance(key, slice):
            return slice(None), [key]
        first, end, step = key.indices(size)
        low, high = first // each, max(first // each, -(-end // each))
        return slice(low, high), [slice(first - low * each, max(end, first) - low * each, step)]

    def volts(self, numbers, reim):
        real = np.dtype("f8" if self.dtype.itemsize // (2 if self.dtype.kind == "c" else 1) == 8 else "f4")
        if self.reim is not None:
            parts = [pick(numbers, reim, i) for i in (0, 1)]
        elif self.packing.is_pair:
            parts = [numbers >> 4, numbers & 15]
            parts = parts if self.packing.name.endswith("hi=re") else parts[::-1]
        elif numbers.dtype.names:
            parts = [numbers[name] for name in numbers.dtype.names]
        elif numbers.dtype.kind == "c":
            parts = [numbers.real, numbers.imag]
        else:
            return self.packing.value(numbers, real) * real.type(self.scale)
        out = np.empty(np.shape(parts[0]), self.dtype)
        out.real, out.imag = (self.packing.value(part, real) * real.type(self.scale) for part in parts)
        return out[()]


class Scaled(Rows):
    """Whole numbers q with a scale and an offset for each block of rows, if and channel: value = scale q + offset;
    `blank` (None: nothing) stands for no number."""

    def __init__(self, dataset, dims, scale, offset, rows_per_block, blank=None):
        self.scale, self.offset, self.rows, self.blank = scale, offset, int(rows_per_block), blank
        super().__init__(dataset, dims)

    def dtype_of(self, stored):
        return np.dtype("c8" if stored.names or stored.kind == "c" else "f4")

    def __getitem__(self, key):
        key = expand(key, len(self.shape))
        stored = self.dataset[key]
        first = np.arange(self.shape[0])[key[0]]
        block = np.minimum(first // self.rows, self.scale.shape[0] - 1)
        low = int(np.min(block)) if np.size(block) else 0
        high = int(np.max(block)) + 1 if np.size(block) else 0
        scale, offset = (self.of_rows(table, low, high, block)[self.behind(key)] for table in (self.scale, self.offset))
        if self.dataset.dtype.names:
            out = np.empty(np.shape(stored), "c8")
            out.real, out.imag = (self.value(stored[name], scale, offset) for name in self.dataset.dtype.names)
            return out
        return self.value(stored, scale, offset)

    def value(self, stored, scale, offset):
        """In double, as the nearest float."""
        value = (stored * scale.astype("f8") + offset).astype("f4")
        return value if self.blank is None else np.where(stored == self.blank, np.float32("nan"), value)

    def of_rows(self, table, low, high, block):
        """Of each row asked for; only blocks at hand are read. Stations, beams and polarisations are one axis there."""
        return np.asarray(table[low:high], "f4").reshape((-1,) + self.shape[1:])[block - low]

    @staticmethod
    def behind(key):
        return key[1:] if isinstance(key[0], (int, np.integer)) else (slice(None),) + key[1:]
