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


class Voltages(Rows):
    """Samples of the native layout in volts: real or complex, whole or packed two to a byte, times the scale."""

    def __init__(self, dataset, dims, packing, scale):
        self.packing, self.scale = packing, scale
        self.has_parts = len(dims) > 0 and dims[-1] == "reim"
        if packing and (not packing.startswith("4+4 ") or not packing.endswith(("hi=re", "lo=re"))):
            raise ValueError(f"{dataset.file.filename}: packing \"{packing}\" is none that this module reads; "
                             "`voltmill import` writes numbers of 8 bits")
        super().__init__(dataset, dims[:-1] if self.has_parts else dims)

    def dtype_of(self, stored):
        is_complex = self.has_parts or self.packing or stored.names or stored.kind == "c"
        is_double = stored.base.itemsize > 4 and not stored.names
        return np.dtype(("c16" if is_double else "c8") if is_complex else ("f8" if is_double else "f4"))

    def nibbles(self, stored):
        high, low = (stored >> 4).astype("i1"), (stored & 15).astype("i1")
        if "offset" in self.packing:
            high, low = high - 8, low - 8
        else:
            high, low = (high ^ 8) - 8, (low ^ 8) - 8
        return (high, low) if self.packing.endswith("hi=re") else (low, high)

    def __getitem__(self, key):
        key = expand(key, len(self.shape))
        if self.has_parts:
            stored = self.dataset[key + (slice(None),)]
            re, im = stored[..., 0], stored[..., 1]
        elif self.packing:
            re, im = self.nibbles(np.asarray(self.dataset[key]))
        elif self.dataset.dtype.names:
            stored = self.dataset[key]
            re, im = (stored[name] for name in self.dataset.dtype.names)
        else:
            return np.asarray(self.dataset[key]).astype(self.dtype) * self.dtype.type(self.scale)
        out = np.empty(np.shape(re), self.dtype)
        out.real, out.imag = re, im
        return out * out.real.dtype.type(self.scale) if self.scale != 1 else out


class Scaled(Rows):
    """Whole numbers q with a scale and an offset for each block of rows, if and channel: value = scale q + offset."""

    def __init__(self, dataset, dims, scale, offset, rows_per_block):
        self.scale, self.offset, self.rows = scale, offset, int(rows_per_block)
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
            re, im = (stored[name].astype("f4") for name in self.dataset.dtype.names)
            stored = np.empty(np.shape(re), "c8")
            stored.real, stored.imag = re, im
        return (stored * scale + offset).astype(self.dtype)

    def of_rows(self, table, low, high, block):
        """Of each row asked for; only blocks at hand are read. Stations, beams and polarisations are one axis there."""
        return np.asarray(table[low:high], "f4").reshape((-1,) + self.shape[1:])[block - low]

    @staticmethod
    def behind(key):
        return key[1:] if isinstance(key[0], (int, np.integer)) else (slice(None),) + key[1:]
