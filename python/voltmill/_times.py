"""Times of samples: seconds after a start in UTC become datetime64 and Modified Julian Days."""

import numpy as np

MJD_OF_1970 = 40587


def datetimes(day, second, after):
    """datetime64[ns] of seconds `after` day (MJD) + second. Each part is rounded by itself, so that nanoseconds are
    exact for ten years. Leap seconds are not counted: of a time behind one it is as if the day had none."""
    start = np.datetime64(int(day) - MJD_OF_1970, "D").astype("datetime64[ns]")
    nanoseconds = np.rint(np.asarray(after, "f8") * 1e9).astype("i8") + int(round(float(second) * 1e9))
    return start + nanoseconds.astype("timedelta64[ns]")


def days(day, second, after):
    """Modified Julian Days, as 64-bit floating point: to some microseconds."""
    return int(day) + (float(second) + np.asarray(after, "f8")) / 86400
