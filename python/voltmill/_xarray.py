"""Products as xarray has them; rows are read when they are used."""

import numpy as np
import xarray
from xarray.backends import BackendArray
from xarray.core import indexing

UNITS = {"frequency": "Hz", "chan": "Hz", "dm": "pc cm-3"}


class _Lazy(BackendArray):
    def __init__(self, rows):
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER_1VECTOR,
                                                  lambda k: self.rows[k])


def make(product):
    coords = {}
    for name in product.dims:
        if name == "time" and product.start is not None:
            coords[name] = (name, product.time, {"long_name": "UTC"})
        else:
            unit = "s" if name == "time" else UNITS.get(name)
            coords[name] = (name, product.axes[name], {"units": unit} if unit else {})
    data = indexing.LazilyIndexedArray(_Lazy(product._rows))
    attributes = {k: v for k, v in product.attributes.items() if not isinstance(v, np.ndarray)}
    return xarray.DataArray(data, dims=product.dims, coords=coords, name=product.kind, attrs=attributes)
