"""Pictures of dedispersed series: S/N over DM and time, against DM, and the strongest pulse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _bank, _figure
from ._bank import BLOCK, Refused, wants
from ._figure import Axis, Figure, Line, Panel

DM = "DM (pc cm⁻³)"
SNR = "S/N"
NO_NOISE = "{}: no S/N, because most of its samples are equal or NaN"
MOST_WIDTH = 256               # samples of a sum
NOISE, PIECES = 1 << 14, 16    # samples that give a series' noise, and where they are from
SERIES_KINDS = ("dm-time", "snr", "series", "pulse")


@dataclass
class Pulse:
    """A burst: time of its middle, in seconds; width in samples."""

    snr: float
    time: float
    width: int
    dm: float

    def words(self, step, of=""):
        """`of`: how its S/N was found, where a picture has those of two methods."""
        samples = "sample" if self.width == 1 else "samples"
        return (f"S/N {self.snr:.3g}{of} at {self.time:.9g} s, {self.width} {samples} "
                f"({_figure.seconds(self.width * step)}) wide, DM {self.dm:.7g} pc cm⁻³")


def count_dms(dms):
    return "1 DM" if len(dms) == 1 else f"{len(dms)} DMs"


def noise_of(samples):
    """Median, and 1.4826 times the median distance from it."""
    finite = samples[np.isfinite(samples)].astype("f8")
    if finite.size == 0:
        return np.nan, 0.0
    middle = np.median(finite)
    return middle, 1.4826 * np.median(abs(finite - middle))


def best_sums(samples, noise, most_width=MOST_WIDTH):
    """S/N of the best sum of 1, 2, 4, ... samples that begins with each, and its width."""
    middle, sigma = noise
    sums = samples.astype("f8") - middle
    best, widths = np.full(len(sums), np.nan), np.ones(len(sums), "i8")
    width = 1
    while width <= most_width and len(sums):
        with np.errstate(divide="ignore", invalid="ignore"):
            snr = sums / (sigma * np.sqrt(width))
            is_better = (snr > best[:len(snr)]) | np.isnan(best[:len(snr)])
        best[:len(snr)] = np.where(is_better, snr, best[:len(snr)])
        widths[:len(snr)] = np.where(is_better, width, widths[:len(snr)])
        sums = sums[:-width] + sums[width:] if len(sums) > width else sums[:0]
        width *= 2
    return best, widths


@dataclass
class Series:
    """Dedispersed series: read(dm, first, count) gives samples of one."""

    path: str
    dms: np.ndarray
    samples: int
    step: float
    read: object
    origin: float = 0.0  # seconds of the first sample's leading edge
    start: str | None = None
    source: str | None = None
    telescope: str | None = None


def rows_of_dms(dms, low, step, count):
    """First and end of the pixel rows of each DM: to half-way to its neighbours, one at least."""
    order = np.argsort(dms, kind="stable")
    middles = (dms[order][1:] + dms[order][:-1]) / 2
    lower = np.append(dms[order][:1], middles)
    upper = np.append(middles, dms[order][-1:])
    own = np.floor((dms[order] - low) / step)
    first = np.minimum(np.floor((lower - low) / step + 0.5), own).clip(0, count - 1)
    end = np.maximum(np.ceil((upper - low) / step - 0.5), own + 1).clip(1, count)
    out = np.empty((len(dms), 2), "i8")
    out[order] = np.stack([first, end], axis=1)
    return out


class DmTime:
    """An image over DM and time, filled row by row with the largest of what falls into a pixel."""

    def __init__(self, dms, first_s, step, samples, most_times, most_rows, nothing=np.nan):
        span = dms.max() - dms.min()
        size = span / (len(dms) - 1) if span > 0 else 1.0
        group = -(-len(dms) // most_rows)
        self.low, self.size, self.rows = dms.min() - size / 2, size * group, -(-len(dms) // group)
        self.group = -(-samples // most_times)
        self.first_s, self.step = first_s, step
        self.image = np.full((self.rows, -(-samples // self.group)), nothing)
        self.of = rows_of_dms(dms, self.low, self.size, self.rows)

    @property
    def times(self):
        return self.first_s, self.first_s + self.image.shape[1] * self.group * self.step

    @property
    def limits(self):
        return self.low, self.low + self.rows * self.size

    def put(self, dm, columns, values):
        """Values at pixels from left to right, ascending, into the rows of one DM."""
        starts = np.flatnonzero(np.diff(columns, prepend=-1))
        if len(starts):
            part = np.fmax.reduceat(values, starts)
            first, end = self.of[dm]
            at = columns[starts]
            self.image[first:end, at] = np.fmax(self.image[first:end, at], part)

    def panel(self, title, limits, share=4):
        return Panel("dm-time", title, Axis("time (s)", self.times), Axis(DM, self.limits),
                     Axis(SNR, limits), self.image, share=share)


class SeriesFigure:
    """S/N over DM and time, its best against DM, and the series where it is best."""

    def __init__(self, series, choice):
        self.series, self.choice = series, choice
        self.first, self.end = _bank.choose_rows(series.path, choice, series.samples, series.step,
                                                 "samples")
        self.kept = np.arange(len(series.dms))
        if choice.get("dm"):
            low, high = choice["dm"]
            self.kept = np.flatnonzero((series.dms >= low) & (series.dms <= high))
            if len(self.kept) == 0:
                raise Refused(f"{series.path} has no DMs from {low:g} to {high:g}: it has "
                              f"{series.dms[0]:g} .. {series.dms[-1]:g}")
        self.across = _figure.pixels_across(choice, 1)
        self.map = DmTime(series.dms[self.kept], self._seconds(self.first), series.step,
                          self.end - self.first, self.across, _figure.pixels_down(choice))
        self.best = [self._search(i, dm) for i, dm in enumerate(self.kept)]
        self.strongest = max(range(len(self.best)), key=lambda i: np.nan_to_num(
            self.best[i].snr, nan=-np.inf))

    def _seconds(self, sample):
        return self.series.origin + sample * self.series.step

    def _noise(self, dm):
        count = self.end - self.first
        if count <= NOISE:
            return noise_of(self.series.read(dm, self.first, count))
        each = NOISE // PIECES
        return noise_of(np.concatenate([
            self.series.read(dm, self.first + (count - each) // (PIECES - 1) * i, each)
            for i in range(PIECES)]))

    def _search(self, i, dm):
        noise = self._noise(dm)
        best = Pulse(-np.inf, np.nan, 1, self.series.dms[dm])
        for at in range(self.first, self.end, BLOCK // 4):
            count = min(BLOCK // 4, self.end - at)
            samples = self.series.read(dm, at, min(count + MOST_WIDTH, self.end - at))
            snr, widths = (part[:count] for part in best_sums(samples, noise))
            self.map.put(i, (at - self.first + np.arange(count)) // self.map.group, snr)
            if np.isfinite(snr).any():
                top = int(np.nanargmax(snr))
                if snr[top] > best.snr:
                    best = Pulse(float(snr[top]), self._seconds(at + top + widths[top] / 2),
                                 int(widths[top]), best.dm)
        return best

    def figure(self):
        _bank.check_kinds(self.series.path, self.choice, SERIES_KINDS)
        out = Figure(self._title(), self.maps())
        best, dm = self.best[self.strongest], self.kept[self.strongest]
        if wants(self.choice, "series"):
            title = f"at DM {best.dm:.7g} pc cm⁻³"
            out.panels.append(self.samples("series", title, dm, self.first, self.end))
        if wants(self.choice, "pulse") and np.isfinite(best.snr):
            middle = int((best.time - self.series.origin) / self.series.step + 1e-3)
            first = max(self.first, middle - 60 * best.width)
            title = f"the best: {best.words(self.series.step)}"
            out.panels.append(self.samples("pulse", title, dm, first,
                                           min(self.end, middle + 60 * best.width)))
            out.said.append(title)
        if not out.panels:
            raise Refused(NO_NOISE.format(self.series.path), 4)
        return out

    def maps(self):
        panels = []
        if wants(self.choice, "dm-time"):
            low, high = _figure.colour_limits(self.map.image, 1)
            peak = self.best[self.strongest].snr
            panels.append(self.map.panel("best of sums of 1 to 256 samples",
                                         (low, max(high, peak) if np.isfinite(peak) else high)))
        if wants(self.choice, "snr"):
            there = [pulse for pulse in self.best if np.isfinite(pulse.snr)]
            there.sort(key=lambda pulse: pulse.dm)
            line = Line(np.array([pulse.dm for pulse in there]),
                        np.array([pulse.snr for pulse in there]), look="marked")
            panels.append(Panel("snr", "the best of each DM", Axis(DM, self.map.limits), Axis(SNR),
                                lines=[line]))
        return panels

    def samples(self, name, title, dm, first, end):
        """Samples of one DM, in groups: their mean, the least and the largest."""
        count = end - first
        group = -(-count // self.across)
        groups = -(-count // group)
        values = np.full((3, groups), np.nan)
        at_once = max(BLOCK // 4 // group, 1) * group
        for at in range(first, end, at_once):
            part = self.series.read(dm, at, min(at_once, end - at)).astype("f8")
            starts = np.arange(0, len(part), group)
            to = slice((at - first) // group, (at - first) // group + len(starts))
            there = np.isfinite(part)
            values[0, to] = np.fmax.reduceat(part, starts)
            values[1, to] = _bank.divide(np.add.reduceat(np.where(there, part, 0), starts),
                                          np.add.reduceat(there.astype("f8"), starts))
            values[2, to] = np.fmin.reduceat(part, starts)
        step = group * self.series.step
        x = self._seconds(first) + (np.arange(groups) + 0.5) * step
        lines = [Line(x, values[0], "largest", "faint", "sky"),
                 Line(x, values[1], "mean", "line", "blue"),
                 Line(x, values[2], "smallest", "faint", "grey")]
        if group == 1:
            lines = [Line(x, values[1])]
        return Panel(name, title, Axis("time (s)", (x[0] - step / 2, x[-1] + step / 2)),
                     Axis("power"), lines=lines)

    def _title(self):
        s = self.series
        return (f"{_figure.heading(s.path, s.source, s.telescope)}\n"
                f"{_figure.began(s.start)};  {count_dms(s.dms)}, samples of "
                f"{_figure.seconds(s.step)}")


def draw_series(series, choice):
    if choice.get("pols") or choice.get("sum") or choice.get("flatten") or choice.get("freq"):
        raise Refused(f"{series.path}: dedispersed series have neither pols nor frequencies to "
                      "choose from")
    _bank.check_kinds(series.path, choice, SERIES_KINDS)
    return SeriesFigure(series, choice).figure()
