"""Products of voltmill as numpy arrays with their axes, and its jobs run from Python.

    import voltmill

    with voltmill.open("power.h5") as power:
        print(power)                                 # kind, shape, axes
        mean = power[:1000].mean(axis=0)             # only these rows are read
        hertz, times = power.frequency, power.time   # Hz, datetime64[ns]

    voltmill.run("job.yaml", ranks=4)
"""

from ._job import Error, program, run
from ._product import Product, open

__version__ = "0.2.0"
__all__ = ["Error", "Product", "open", "program", "run"]
