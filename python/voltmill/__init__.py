"""Products of voltmill as numpy arrays with their axes, and its jobs run from Python.

    import voltmill

    with voltmill.open("power.h5") as power:
        print(power)                                 # kind, shape, axes
        mean = power[:1000].mean(axis=0)             # only these rows are read
        hertz, times = power.frequency, power.time   # Hz, datetime64[ns]

    voltmill.run("job.yaml", ranks=4)
    voltmill.info("obs.dada")["sample_rate_hz"]
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._job import Error as Error, info as info, plan as plan, program as program, run as run
    from ._job import synth as synth, verify as verify
    from ._product import Product as Product, open as open

__version__ = "1.0.0"
__all__ = ["Error", "Product", "info", "open", "plan", "program", "run", "synth", "verify"]
_HOMES = {"Product": "_product", "open": "_product"}  # all others are in _job


def __getattr__(name):
    """Loads a module when one of its names is used: pictures of the program need no h5py."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib
    value = getattr(importlib.import_module(f".{_HOMES.get(name, '_job')}", __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
