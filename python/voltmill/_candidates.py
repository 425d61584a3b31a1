"""Candidates of a search in the columns that other programs read."""

import math
import os
import sys

import h5py
import numpy as np

from ._kerchunk import text


class _Search:
    """Candidates and the numbers that their columns are made of."""

    def __init__(self, path):
        with h5py.File(path, "r") as file:
            self.rows = file["candidates"][()]
            peaks, made = file["peaks"].attrs, file["provenance"].attrs
            self.tsamp, self.first_time = float(peaks["tsamp_s"]), float(peaks["first_time"])
            self.constant = float(made["constant"])
            self.reference = float(made["reference_hz"]) / 1e6
            self.highest = float(np.max(file["provenance/frequency"][()], initial=0)) / 1e6
            self.filterbank = text(made.get("filterbank", ""))
            self.dms = file["dm"][()]

    def seconds(self, row):
        """Time at the highest channel, in s after the start of the observation."""
        later = 0.0
        if self.highest > 0 and self.reference > 0:
            later = (self.constant * float(row["dm"])
                     * (1 / (self.highest * self.highest) - 1 / (self.reference * self.reference)))
        return float(row["time_s"]) + later

    def sample(self, seconds):
        return (seconds - self.first_time) / self.tsamp

    def trial(self, dm):
        """Number of the first DM that is not below `dm`, else of the last one."""
        found = np.flatnonzero(self.dms >= dm)
        return found[0] if len(found) else len(self.dms) - 1


def _width(row):
    """Logarithm of the power of two nearest to the width, as heimdall and FETCH have it."""
    return round(math.log2(row["width"]))


def _write(lines):
    sys.stdout.buffer.write(os.fsencode("".join(line + "\n" for line in lines)))


def heimdall(path):
    """Write S/N, sample, seconds, filter, DM trial, DM, members, first and last sample."""
    search = _Search(path)
    _write("%.6g\t%d\t%.9f\t%d\t%d\t%.12g\t%d\t%.0f\t%.0f" % (
        row["snr"], int(row["sample"]) + int(row["width"]) // 2, search.seconds(row), _width(row),
        search.trial(row["dm"]), row["dm"], row["members"], search.sample(row["time_first_s"]),
        search.sample(row["time_last_s"])) for row in search.rows)


def fetch(path):
    """Write the table from which FETCH and `your` make their pictures."""
    search = _Search(path)
    _write(["file,snr,stime,width,dm,label,chan_mask_path,num_files"] + [
        "%s,%.6g,%.9f,%d,%.12g,0,,1" % (search.filterbank, row["snr"], search.seconds(row),
                                        _width(row), row["dm"]) for row in search.rows])
