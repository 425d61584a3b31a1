"""A first look: samples at places spread over an observation. The text needs nothing but Python, the picture numpy and
matplotlib."""

import math
import operator
from array import array

MOST, PLACES = 1 << 21, 64  # numbers that are read; places
MOST_LINES, MOST_COLUMNS, MOST_POINTS = 64, 4, 4096
FEW = 32  # values of which each has a mark in the histogram
AXES = ("station", "beam", "pol")


class Looked:
    """Numbers [ifs][chans] of some rows at each place. A group is a polarisation of a station and beam."""

    def __init__(self, program, task):
        self.volts, self.bank = task.get("volts"), task.get("bank")
        about = self.volts or self.bank
        self.set = "volts" if self.volts else "bank"
        self.groups = self._names()
        self.chans = 1
        if self.volts:
            self.all, self.step = about["samples"], 1 / about["rate_hz"]
            self.chans = len(about["chan"])
            self.width = 2 if about["is_complex"] else 1
        else:
            self.all, self.step, self.width = about["rows"], about["step_s"], about["chans"]
        self.ifs = len(self.groups) * self.chans
        line = self.ifs * self.width
        least = 64 if self.volts else 1
        self.rows = self.all
        if self.all * line > MOST:
            self.rows = min(self.all, max(min(max(MOST // PLACES // line, least), MOST // line), 1))
        count = max(min(MOST // (self.rows * line), PLACES, self.all // self.rows), 1)
        self.places = [(self.all - self.rows) * i // max(count - 1, 1) for i in range(count)]
        self.blocks = [program.numbers(self.set, row, self.rows, 0, self.ifs, 0, self.width)
                       for row in self.places]

    def _names(self):
        if self.bank:
            return [pol["name"] or f"pol {i}" for i, pol in enumerate(self.bank["pols"])]
        names = [""]
        for axis in AXES:
            words = [word or f"{axis} {i}" for i, word in enumerate(self.volts[axis])]
            if len(words) > 1 or self.volts[axis][0]:
                names = [f"{name} {word}".strip() for name in names for word in words]
        return [name or "all" for name in names]

    def group(self, at):
        """The numbers of a group, of all places."""
        size = self.chans * self.width
        line = self.ifs * self.width
        out = array("f")
        for block in self.blocks:
            if len(self.groups) == 1:
                out += block
            else:
                for row in range(self.rows):
                    out += block[row * line + at * size:row * line + (at + 1) * size]
        return out


def statistics(numbers):
    """rms about the mean, mean, smallest, largest, shares at these two and missing; None: all are missing."""
    there = numbers if math.isfinite(sum(numbers)) else array("f", filter(math.isfinite, numbers))
    if not there:
        return None
    mean = sum(there) / len(there)
    square = sum(map(operator.mul, there, there)) / len(there)
    low, high = min(there), max(there)
    clipped = there.count(low) + (there.count(high) if high > low else 0)
    return (math.sqrt(max(square - mean * mean, 0)), mean, low, high, 100 * clipped / len(there),
            100 * (1 - len(there) / len(numbers)))


def text(looked, path):
    """Lines for the user."""
    what = looked.volts["layout"] if looked.volts else "filterbank"
    unit = "samples" if looked.volts else "rows"
    read = looked.rows * len(looked.places)
    yield f"{path}: {what}"
    yield (f"  read {read:,} of {looked.all:,} {unit} ({100 * read / looked.all:.3g}% of {looked.all * looked.step:.6g} s)"
           + (f", {looked.rows:,} at each of {len(looked.places)} places" if len(looked.places) > 1 else ""))
    if looked.volts and looked.volts["gap_samples"]:
        gap = looked.volts["gap_samples"]
        yield f"  gaps of all streams: {gap:,} samples ({100 * gap / looked.all:.3g}%)"
    yield "  {:<16} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9}".format("", "rms", "mean", "smallest", "largest", "clipped",
                                                                    "missing")
    for at, name in enumerate(looked.groups[:MOST_LINES]):
        found = statistics(looked.group(at))
        yield (f"  {name:<16} nothing but missing samples" if found is None else
               "  {:<16} {:>10.5g} {:>10.4g} {:>10.6g} {:>10.6g} {:>8.3g}% {:>8.3g}%".format(name, *found))
    if len(looked.groups) > MOST_LINES:
        yield f"  and {len(looked.groups) - MOST_LINES} more"


# ---- The picture

def _decibels(values):
    import numpy as np
    with np.errstate(divide="ignore", invalid="ignore"):
        return 10 * np.log10(np.where(values > 0, values, np.nan))


def _spectra(looked, blocks):
    """MHz and mean power of a group's coarse channels, one after the other; [place][row][chan][parts]."""
    import numpy as np
    about = looked.volts
    rate = about["rate_hz"]
    points = 1 << int(math.log2(max(min(looked.rows, max(MOST_POINTS // looked.chans, 64)), 1)))
    values = blocks[..., 0] + 1j * blocks[..., 1] if about["is_complex"] else blocks[..., 0]
    values = values[:, :looked.rows // points * points].reshape(-1, points, looked.chans)
    values = values * np.hanning(points)[:, None] if points > 2 else values
    if about["is_complex"]:
        power = np.abs(np.fft.fftshift(np.fft.fft(values, axis=1), axes=1)) ** 2
        hertz = np.fft.fftshift(np.fft.fftfreq(points)) * rate
    else:
        power = np.abs(np.fft.rfft(values, axis=1)) ** 2
        hertz = np.linspace(-rate / 4, rate / 4, power.shape[1]) * (-1 if about["is_lower"] else 1)
    power = np.nanmean(power, axis=0)
    order = np.argsort(about["chan"])
    mhz = np.concatenate([np.append((about["chan"][c] + hertz) / 1e6, np.nan) for c in order])
    return mhz, np.concatenate([np.append(power[:, c], np.nan) for c in order])


def _histogram(numbers):
    """Values, their shares, and how they look: bins, or single values where there are few."""
    import numpy as np
    few, counts = np.unique(numbers, return_counts=True)
    if len(few) <= FEW:
        return few, counts / len(numbers), "marked"
    low, high = numbers.min(), numbers.max()
    if high - low < 600 and (numbers == np.rint(numbers)).all():
        edges = np.arange(low - 0.5, high + 1)
    else:
        edges = np.linspace(low, high if high > low else low + 1, 201)
    counts, edges = np.histogram(numbers, edges)
    return (edges[:-1] + edges[1:]) / 2, counts / len(numbers), "steps"


def _panels(looked, frequency, at):
    import numpy as np

    from ._figure import Axis, Line, Panel
    name = looked.groups[at]
    blocks = np.array(looked.blocks, "f4").reshape(len(looked.places), looked.rows, len(looked.groups), looked.chans,
                                                   looked.width)[:, :, at]
    parts = max(min(-(-PLACES // len(looked.places)), looked.rows), 1)  # points in time, of each place
    rows = looked.rows // parts
    line = blocks[:, :rows * parts].reshape(len(looked.places) * parts, -1)
    if looked.volts:
        mhz, power = _spectra(looked, blocks)
        label, level = "power (dB)", np.sqrt(np.nanmean(line.astype("f8") ** 2, axis=1))
    else:
        mhz, power = frequency / 1e6, np.nanmean(blocks, axis=(0, 1, 2))
        label, level = "mean (dB)", np.nanmean(line, axis=1, dtype="f8")
    seconds = (np.add.outer(looked.places, (np.arange(parts) + 0.5) * rows) * looked.step).ravel()
    missing = np.isnan(line).mean(axis=1)
    time = Axis("time (s)", (0, looked.all * looked.step))
    numbers = blocks[np.isfinite(blocks)]
    values, shares, kind = _histogram(numbers) if numbers.size else (np.zeros(1), np.zeros(1), "steps")
    yield Panel("bandpass", f"{name}, bandpass", Axis("frequency (MHz)", (np.nanmin(mhz), np.nanmax(mhz))), Axis(label),
                lines=[Line(mhz, _decibels(power))], column=at)
    yield Panel("time", "level in time", time, Axis("rms" if looked.volts else "mean"),
                lines=[Line(seconds, level, look="points")], column=at)
    if missing.any():
        yield Panel("gaps", "share missing", time, Axis("share", (-0.05, 1.05)),
                    lines=[Line(seconds, missing, look="points", colour="orange")], column=at, share=1)
    yield Panel("levels", "histogram of stored numbers", Axis("stored number"), Axis("share", base=10),
                lines=[Line(values, np.where(shares > 0, shares, np.nan), look=kind)], column=at)


def figure(looked, program, task, said):
    """The picture of the first groups."""
    import warnings

    from ._figure import Figure, heading
    about = looked.volts or looked.bank
    frequency = None if looked.volts else program.rows("frequency", "f8", 0, 1, 0, 1, 0, looked.width)[0, 0]
    if len(looked.groups) > MOST_COLUMNS:
        program.say("note", f"{len(looked.groups)} polarisations: the first {MOST_COLUMNS} are drawn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # means of nothing are NaN
        panels = [panel for at in range(min(len(looked.groups), MOST_COLUMNS))
                  for panel in _panels(looked, frequency, at)]
    return Figure(heading(task["files"][0], about["source"], about["telescope"]) + "\n" + said[1].strip(), panels, said)
