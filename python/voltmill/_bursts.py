"""Pictures of bursts: filterbanks dedispersed around one, and the candidates of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _bank, _figure
from ._bank import BLOCK, Refused, wants
from ._figure import Axis, Figure, Line, Panel
from ._series import DM, NO_NOISE, SNR, DmTime, Pulse, Series, SeriesFigure, best_sums, count_dms

CONSTANT = 1 / 2.41e-4         # s MHz^2 / (pc cm^-3), as TEMPO and PRESTO have it
MOST_BANDS = 128               # groups of channels that are shifted against each other
LEAST_AROUND, AROUND, BINS = 48, 12, 4  # samples and widths before and after; bins of a width
TRIALS = 65                    # DMs of a plane
LEAST_QUIET = 12               # bins that give the noise of a channel
MOST_SAMPLES = 1 << 22         # of a filterbank that is dedispersed whole
RMS = "power (rms)"            # above the mean
BURST_KINDS = ("pulse", "waterfall", "dm-time", "snr")


def delays(frequency, dm, reference_hz, constant=CONSTANT):
    """Seconds by which each channel is late."""
    if (np.asarray(frequency) <= 0).any():
        raise Refused("a band that is not above 0 Hz cannot be dedispersed", 4)
    return constant * dm * ((np.asarray(frequency) / 1e6) ** -2.0 - (reference_hz / 1e6) ** -2.0)


def powers_of(bank):
    """The polarisations whose sum is the total power."""
    return [at for at, is_power in enumerate(bank.powers) if is_power] or [0]


class Burst:
    """The power around a burst: channels moved back by their delays, in groups, normalised.

    Parameters
    ----------
    bank : Bank
    pols : list of int
        Polarisations that are added.
    pulse : Pulse
        `time`: of its middle, seconds after `origin`.
    origin : float
        Seconds of the leading edge of the bank's first row.
    reference_hz, constant : float
        Frequency at which times are told, and the dispersion constant.
    channels : tuple of int
        First and end of those that are used.
    """

    def __init__(self, bank, pols, pulse, origin, reference_hz, constant=CONSTANT, channels=None,
                 sample_s=None):
        self.bank, self.pols, self.pulse, self.origin = bank, pols, pulse, origin
        self.chan, self.end = channels or (0, bank.data.chans)
        hz = bank.frequency[self.chan:self.end]
        self.delay = delays(hz, pulse.dm, reference_hz, constant)
        self.slope = delays(hz, 1.0, reference_hz, constant)  # seconds for a DM of 1
        wide = max(pulse.width * (sample_s or bank.step) / bank.step, 1)
        self.group = max(int(wide / BINS), 1)
        side = -(-int(max(AROUND * wide, LEAST_AROUND)) // self.group)
        self.width_s = wide * bank.step
        self.range = self._dm_range()
        # Rows of pixels beside those that are shown, for other DMs.
        self.margin = int(np.ceil(self.range * np.ptp(self.slope) / (self.group * bank.step))) + 1
        self.bins = 2 * (side + self.margin)
        self.first = int(np.floor((pulse.time - origin) / bank.step)) - self.bins // 2 * self.group
        self.bands = min(self.end - self.chan, MOST_BANDS)
        self._read()

    def _dm_range(self):
        """DMs to both sides that smear the burst over eight of its widths, or eight samples."""
        spread = np.ptp(self.slope)
        return 8 * max(self.width_s, self.bank.step) / spread if spread > 0 else 1.0

    def _read(self):
        chans, bins = self.end - self.chan, self.bins
        self.edges = np.arange(self.bands + 1) * chans // self.bands
        self.rows = np.full((self.bands, bins), np.nan)
        at_once = max(BLOCK // (bins * self.group), 1)
        for band in range(self.bands):
            total, count = np.zeros(bins), np.zeros(bins)
            for low in range(self.edges[band], self.edges[band + 1], at_once):
                high = min(low + at_once, self.edges[band + 1])
                self._add_channels(low, high, total, count)
            with np.errstate(divide="ignore", invalid="ignore"):
                self.rows[band] = np.where(count > 0, total / np.sqrt(count), np.nan)
        centre = [self.slope[a:b].mean() for a, b in zip(self.edges, self.edges[1:])]
        self.band_slope = np.array(centre)

    def _add_channels(self, low, high, total, count):
        """Adds channels, each above its mean in units of its rms, to bins."""
        late = np.floor(self.delay[low:high] / self.bank.step + 0.5).astype("i8")
        length = self.bins * self.group
        begin = self.first + late.min()
        block = self._take(begin, length + int(np.ptp(late)), low, high)
        for c, shift in enumerate(late - late.min()):
            series = block[shift:shift + length, c].reshape(self.bins, self.group)
            there = np.isfinite(series)
            binned = _bank.divide(np.where(there, series, 0).sum(axis=1), there.sum(axis=1))
            quiet = binned[self._is_quiet()]
            quiet = quiet[np.isfinite(quiet)]
            if len(quiet) < min(self.bins // 4, LEAST_QUIET) or quiet.std() == 0:
                continue
            value = (binned - quiet.mean()) / quiet.std()
            is_there = np.isfinite(value)
            total += np.where(is_there, value, 0)
            count += is_there

    def _take(self, row, rows, low, high):
        """Rows of channels, NaN before and after the file's; polarisations added."""
        out = np.full((rows, high - low), np.nan, "f4")
        first, end = max(row, 0), min(row + rows, self.bank.data.rows)
        pol, pols = min(self.pols), max(self.pols) + 1 - min(self.pols)
        kept = [p - pol for p in self.pols]
        each = max(BLOCK // (pols * (high - low)), 1)
        for at in range(first, end, each):
            count = min(each, end - at)
            block = self.bank.data.read(at, count, pol, pols, self.chan + low, high - low)
            out[at - row:at - row + count] = block[:, kept].sum(axis=1)
        return out

    def _is_quiet(self):
        """Bins without the burst."""
        return abs(self.seconds - self.pulse.time) > 1.5 * self.width_s

    @property
    def seconds(self):
        """Middles of all bins."""
        step = self.group * self.bank.step
        return self.origin + self.first * self.bank.step + (np.arange(self.bins) + 0.5) * step

    @property
    def shown(self):
        return slice(self.margin, self.bins - self.margin)

    @property
    def limits(self):
        step = self.group * self.bank.step
        times = self.seconds[self.shown]
        return times[0] - step / 2, times[-1] + step / 2

    def series(self, dm):
        """All bands at another DM, in units of their rms away from the burst."""
        step = self.group * self.bank.step
        shifts = np.round((dm - self.pulse.dm) * self.band_slope / step).astype("i8")
        width = self.bins - 2 * self.margin
        total, count = np.zeros((2, width))
        for band, row in enumerate(self.rows):
            at = min(max(self.margin + shifts[band], 0), 2 * self.margin)
            total += np.nan_to_num(row[at:at + width])
            count += np.isfinite(row[at:at + width])
        return _bank.divide(total, np.sqrt(count))

    def plane(self):
        """DMs, and S/N [DM][time] of single bins."""
        dms = self.pulse.dm + np.linspace(-self.range, self.range, TRIALS)
        dms = dms[dms >= 0] if self.pulse.dm > 0 else dms[TRIALS // 2:]
        image = np.array([self.series(dm) for dm in dms])
        quiet = self._is_quiet()[self.shown]
        centre = self.series(self.pulse.dm)[quiet]
        centre = centre[np.isfinite(centre)]
        if len(centre) == 0:
            return dms, image
        return dms, (image - centre.mean()) / (centre.std() or 1)

    def panels(self, choice, marks=None, columns=(0, 1)):
        """Pulse, waterfall, DM over time, S/N against DM. `marks`: lines of the last."""
        out = []
        of = "" if marks else ", bands of the filterbank"
        if (~np.isnan(self.rows)).any():
            dms, plane = self.plane()
            at = int(np.argmin(abs(dms - self.pulse.dm)))
            x = self.seconds[self.shown]
            if wants(choice, "pulse"):
                bins = _figure.seconds(self.group * self.bank.step)
                out.append(Panel("pulse", f"pulse, bins of {bins}",
                                 Axis("time (s)", self.limits), Axis(RMS), column=columns[0],
                                 lines=[Line(x, plane[at], look="steps")]))
            if wants(choice, "waterfall"):
                out.append(self._waterfall(choice, columns[0]))
            if wants(choice, "dm-time"):
                size = dms[1] - dms[0] if len(dms) > 1 else 1.0
                out.append(Panel("dm-time", "DM over time", Axis("time (s)", self.limits),
                                 Axis(DM, (dms[0] - size / 2, dms[-1] + size / 2)),
                                 Axis(RMS, (_figure.colour_limits(plane, 1)[0], np.nanmax(plane))),
                                 plane, share=4, column=columns[1]))
            if wants(choice, "snr"):
                wide = max(int(round(self.width_s / (self.group * self.bank.step))), 1)
                snr = [np.fmax.reduce(best_sums(row, (0.0, 1.0), 2 * wide)[0]) for row in plane]
                marks = [Line(dms, np.array(snr), "filterbank" if marks else "", "line",
                              "grey" if marks else "blue")] + (marks or [])
        if wants(choice, "snr") and marks:
            out.append(Panel("snr", f"S/N against DM{of}", Axis(DM), Axis(SNR), lines=marks,
                             column=columns[1]))
        return out

    def _waterfall(self, choice, column):
        most = min(_figure.pixels_down(choice), 64)
        group = -(-self.bands // most)
        starts = np.arange(0, self.bands, group)
        there = np.isfinite(self.rows)
        total = np.add.reduceat(np.where(there, self.rows, 0), starts, axis=0)
        count = np.add.reduceat(there.astype("f8"), starts, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            image = np.where(count > 0, total / np.sqrt(count), np.nan)[:, self.shown]
        hz = self.bank.frequency[self.chan:self.end] / 1e6
        width = abs(hz[-1] - hz[0]) / max(len(hz) - 1, 1)
        if hz[-1] < hz[0]:
            image = image[::-1]
        limits = hz.min() - width / 2, hz.max() + width / 2
        low, high = _figure.colour_limits(image, 1)
        title = f"dedispersed to DM {self.pulse.dm:.7g} pc cm⁻³"
        time, frequency = Axis("time (s)", self.limits), Axis("frequency (MHz)", limits)
        axes = {"x": time, "y": frequency, "image": image}
        if choice.get("turn"):
            axes = {"x": frequency, "y": time, "image": image.T}
        return Panel("waterfall", title, **axes, z=Axis(RMS, (low, high)), share=4,
                     column=column)


class Whole:
    """A filterbank as series: all of its rows, at one DM or at some between two."""

    def __init__(self, bank, choice):
        self.bank, self.choice = bank, choice
        low, high = choice["dm"]
        self.dms = np.array([low]) if low == high else np.linspace(low, high, TRIALS - 1)
        self.pols = _bank.choose_pols(bank, choice) if choice.get("pols") else powers_of(bank)
        grid = _bank.Grid(bank, choice.get("freq"), 1 << 30)
        self.chan, self.end = grid.chan, grid.chan + grid.chans
        hz = bank.frequency[self.chan:self.end]
        self.reference = hz.max()
        self.first, self.last = _bank.choose_rows(bank.path, choice, bank.data.rows, bank.step)
        most = MOST_SAMPLES if len(self.dms) == 1 else MOST_SAMPLES // 16
        self.group = -(-(self.last - self.first) // most)
        self.step = self.group * bank.step
        self.samples = (self.last - self.first) // self.group
        if self.group > 1:
            bank.note(f"{bank.path}: searched in samples of {self.group} rows")
        middle = self.dms.mean()
        self.delay = delays(hz, middle, self.reference)
        self.slope = delays(hz, 1.0, self.reference)
        self.bands = 1 if len(self.dms) == 1 else min(len(hz), 64)
        self.of = np.arange(len(hz)) * self.bands // len(hz)
        # Samples after the last are read for what is late in them.
        late = int(np.ceil(self.slope.max() * high / self.step))
        self.length = min(self.samples + late, (bank.data.rows - self.first) // self.group)
        self._read()

    def _read(self):
        """Adds channels, moved back by their delays at the middle DM, to bands."""
        self.rows = np.zeros((self.bands, self.length), "f4")
        shift = np.round(self.delay / self.step).astype("i8")
        pol, pols = min(self.pols), max(self.pols) + 1 - min(self.pols)
        kept = [p - pol for p in self.pols]
        chans = self.end - self.chan
        each = max(BLOCK // (pols * chans * self.group), 1) * self.group
        scale = None
        for row in range(0, self.length * self.group, each):
            rows = min(each, self.length * self.group - row)
            block = self.bank.data.read(self.first + row, rows, pol, pols, self.chan, chans)
            block = block[:, kept].sum(axis=1) if len(kept) > 1 or pols > 1 else block[:, 0]
            block = block.reshape(-1, self.group, chans).mean(axis=1, dtype="f8")
            if scale is None:
                scale = self._scale(block)
            block = np.nan_to_num((block - scale[0]) * scale[1]).T
            at = row // self.group
            for c in range(chans):
                to = at - shift[c]
                low, high = max(-to, 0), min(self.length - to, block.shape[1])
                if low < high:
                    self.rows[self.of[c], to + low:to + high] += block[c, low:high]

    @staticmethod
    def _scale(block):
        """Mean of each channel, and one over its rms: 0 where it has none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            rms = np.nanstd(block, axis=0)
            return (np.nan_to_num(np.nanmean(block, axis=0)),
                    np.where(np.isfinite(rms) & (rms > 0), 1 / rms, 0))

    def read(self, dm, first, count):
        """Samples at one of the DMs; those that lack channels at the end are NaN."""
        out = np.zeros(count, "f4")
        shift = np.round((self.dms[dm] - self.dms.mean()) * self._band_slope() / self.step)
        for band, late in enumerate(shift.astype("i8")):
            low, high = max(first + late, 0), min(first + late + count, self.length)
            if low < high:
                out[low - late - first:high - late - first] += self.rows[band, low:high]
        if self._whole(self.dms[0]) > 0:
            out[max(self._whole(self.dms[dm]) - first, 0):] = np.nan
        return out

    def _whole(self, dm):
        """Samples that have all channels."""
        return self.length - int(np.ceil(self.slope.max() * dm / self.step))

    def _band_slope(self):
        return np.array([self.slope[self.of == band].mean() for band in range(self.bands)])


def draw_dedispersed(bank, choice):
    """A filterbank at a DM, or between two: its strongest pulse."""
    _bank.check_kinds(bank.path, choice, BURST_KINDS + ("series",))
    whole = Whole(bank, choice)
    series = Series(bank.path, whole.dms, whole.samples, whole.step, whole.read,
                    whole.first * bank.step)
    found = SeriesFigure(series, {"width": choice.get("width"), "height": choice.get("height"),
                                  "kinds": choice.get("kinds")})
    best = found.best[found.strongest]
    if not np.isfinite(best.snr):
        raise Refused(NO_NOISE.format(bank.path), 4)
    burst = Burst(bank, whole.pols, best, 0.0, whole.reference, channels=(whole.chan, whole.end),
                  sample_s=whole.step)
    panels = burst.panels(choice)
    if len(whole.dms) > 1:  # all DMs in place of those around it
        panels = [panel for panel in panels if panel.name in ("pulse", "waterfall")]
        panels += [Panel(**{**panel.__dict__, "column": 1}) for panel in found.maps()]
    if choice.get("kinds") and "series" in choice["kinds"]:
        panels.append(found.samples("series", f"at DM {best.dm:.7g} pc cm⁻³", found.kept[
            found.strongest], found.first, found.end))
    if not panels:
        raise Refused(f"{bank.path}: too few rows around its strongest pulse to measure their "
                      "noise", 4)
    words = best.words(whole.step, " of all channels")
    title = (f"{_figure.heading(bank.path, bank.source, bank.telescope)}\n{words}\n"
             f"{_figure.began(bank.start)};  times at "
             f"{whole.reference / 1e6:.9g} MHz")
    return Figure(title, _close_up(panels), [f"the best: {words}"])


def _close_up(panels):
    """Columns without a gap."""
    columns = sorted({panel.column for panel in panels})
    for panel in panels:
        panel.column = columns.index(panel.column)
    return panels


# ---- Candidates of a search

@dataclass
class Search:
    """The result of a search.

    Parameters
    ----------
    found : list of dict
        snr, dm, time_s, width, dm_least, dm_most, time_first_s, time_last_s.
    peaks : callable
        peaks(dm, cell, cells): the best box of each cell, a structured array of snr, width, offset.
    bank : Bank or None
        The filterbank that was searched.
    """

    path: str
    dms: np.ndarray
    found: list
    peaks: object
    cells: int
    cell: int
    step: float
    first_s: float
    threshold: float
    widths: int
    reference_hz: float
    constant: float
    start: str | None = None
    source: str | None = None
    telescope: str | None = None
    bank: object = None
    searched: str | None = None


class SearchFigure:
    """An overview of all candidates, or one of them and what is around it."""

    def __init__(self, search, choice):
        self.search, self.choice = search, choice
        number = choice.get("candidate")
        overview = () if number is not None else ("histogram",)
        _bank.check_kinds(search.path, choice, BURST_KINDS + overview)
        if choice.get("pols") or choice.get("sum") or choice.get("flatten") or choice.get("freq"):
            raise Refused(f"{search.path}: candidates have neither pols nor frequencies to choose "
                          "from")
        if number is not None and number >= len(search.found):
            raise Refused(f"{search.path} has no candidate {number}: it has {len(search.found)}, "
                          "counted from 0")
        self.is_one = number is not None
        self.one = (search.found[number] if self.is_one else
                    max(search.found, key=lambda one: one["snr"], default=None))
        self._choose_cells()
        self._choose_dms()
        self._read()

    def _choose_cells(self):
        s, step = self.search, self.search.cell * self.search.step
        low, high = s.first_s, s.first_s + s.cells * step
        if self.choice.get("time"):
            low, high = self.choice["time"]
        elif self.is_one:
            margin = max(self.one["time_last_s"] - self.one["time_first_s"], 2 * step)
            low, high = self.one["time_first_s"] - margin, self.one["time_last_s"] + margin
        self.cell = int(max(0, np.floor((low - s.first_s) / step + 1e-9)))
        end = int(min(s.cells, np.ceil((high - s.first_s) / step - 1e-9)))
        if self.cell >= end:
            raise Refused(f"{s.path} has no cells from {low:.9g} to {high:.9g} s")
        self.cells = end - self.cell

    def _choose_dms(self):
        s = self.search
        low, high = s.dms[0], s.dms[-1]
        if self.choice.get("dm"):
            low, high = self.choice["dm"]
        elif self.is_one:
            margin = max(self.one["dm_most"] - self.one["dm_least"], (high - low) / 100)
            low, high = self.one["dm_least"] - margin, self.one["dm_most"] + margin
        self.kept = np.flatnonzero((s.dms >= low) & (s.dms <= high))
        if len(self.kept) == 0:
            raise Refused(f"{s.path} has no DMs from {low:g} to {high:g}: it has {s.dms[0]:g} .. "
                          f"{s.dms[-1]:g}")

    def _read(self):
        s = self.search
        self.map = DmTime(s.dms[self.kept], s.first_s + self.cell * s.cell * s.step, s.step,
                          self.cells * s.cell,
                          _figure.pixels_across(self.choice, 1 + bool(self.one)),
                          _figure.pixels_down(self.choice), 0.0)
        self.best = np.full(len(self.kept), np.nan)
        for i, dm in enumerate(self.kept):
            peaks = s.peaks(dm, self.cell, self.cells)
            there = np.flatnonzero(peaks["snr"] > 0)
            first = there * s.cell + peaks["offset"][there]
            snr = peaks["snr"][there].astype("f8")
            self._put(i, first, peaks["width"][there], snr)
            if self.one:
                time = s.first_s + (self.cell * s.cell + first) * s.step
                near = ((time >= self.one["time_first_s"] - s.step / 2) &
                        (time <= self.one["time_last_s"] + s.step / 2))
                if near.any():
                    self.best[i] = np.fmax.reduce(snr[near])

    def _put(self, i, first, width, snr):
        """Boxes in the pixels that they reach over."""
        last_pixel = self.map.image.shape[1] - 1
        low = first // self.map.group
        high = np.minimum((first + width - 1) // self.map.group, last_pixel)
        for reach in range(int((high - low).max(initial=0)) + 1):
            inside = low + reach <= high
            columns, values = (low + reach)[inside], snr[inside]
            order = np.argsort(columns, kind="stable")
            self.map.put(i, columns[order], values[order])

    def figure(self):
        s = self.search
        panels = [] if self.is_one else self._overview()
        if self.one:
            panels += self._around()
        if not panels:
            raise Refused(f"{s.path} has no candidate to draw")
        return Figure(self._title(), _close_up(panels))

    def _title(self):
        s = self.search
        line = (f"{_figure.began(s.start)};  {count_dms(s.dms)}, samples of "
                f"{_figure.seconds(s.step)}")
        if 0 < s.reference_hz < np.inf:
            line += f"; times at {s.reference_hz / 1e6:.9g} MHz"
        words = ""
        if self.one:
            one = Pulse(self.one["snr"], self.one["time_s"], self.one["width"], self.one["dm"])
            words = ("\n" if self.is_one else "\nthe strongest: ") + one.words(s.step, " of the search")
        return f"{_figure.heading(s.path, s.source, s.telescope)}{words}\n{line}"

    def _boxes(self, title):
        """Boxes on white."""
        least, most = self.search.threshold, self.map.image.max()
        panel = self.map.panel(title, (least, max(most, least + 1)))
        panel.image, panel.blank = np.where(panel.image > 0, panel.image, np.nan), "white"
        return panel

    def _overview(self):
        s, out = self.search, []
        found = [one for one in s.found if one["dm_most"] >= self.map.limits[0] and
                 one["dm_least"] <= self.map.limits[1]]
        count = f"{len(s.found)} candidate{'s' * (len(s.found) != 1)}"
        if wants(self.choice, "dm-time"):
            panel = self._boxes(f"{count} of S/N {s.threshold:g} or more (circles), boxes of all "
                                "peaks")
            values = np.array([[one["time_s"], one["dm"], one["snr"]] for one in found])
            if len(found):
                panel.lines.append(Line(values[:, 0], values[:, 1], "", "points", "orange",
                                        values[:, 2]))
            out.append(panel)
        if wants(self.choice, "histogram") and found:
            out.append(_histogram("candidates by DM", DM, np.array([one["dm"] for one in found]),
                                  self.map.limits))
            snr = np.array([one["snr"] for one in found])
            out.append(_histogram("candidates by S/N", SNR, snr, (snr.min() - 0.5, snr.max() + 0.5)))
        return out

    def _around(self):
        s, one = self.search, self.one
        marks = Line(s.dms[self.kept], self.best, "search", "marked", "blue")
        there = ~np.isnan(self.best)
        marks.x, marks.y = marks.x[there], marks.y[there]
        columns = (0, 1) if self.is_one else (1, 1)
        choice = dict(self.choice)
        if not self.is_one:
            choice["kinds"] = ",".join(k for k in ("pulse", "waterfall", "snr") if
                                       wants(self.choice, k)) or "none"
        if s.bank is None:
            return self._without_bank(choice, marks)
        pulse = Pulse(one["snr"], one["time_s"], one["width"], one["dm"])
        burst = Burst(s.bank, powers_of(s.bank), pulse, s.bank.first_s - s.bank.step / 2,
                      s.reference_hz, s.constant, sample_s=s.step)
        return burst.panels(choice, [marks], columns)

    def _without_bank(self, choice, marks):
        s, out = self.search, []
        asked = [k for k in ("pulse", "waterfall") if self.choice.get("kinds") and
                 wants(self.choice, k)]
        if asked and not any(wants(self.choice, k) for k in ("dm-time", "snr", "histogram")):
            raise Refused(f"{s.searched or 'the filterbank'} cannot be read: there is no "
                          f"{asked[0]} to draw", 4)
        if self.is_one and wants(choice, "dm-time"):
            out.append(self._boxes(f"best boxes of 1 to {s.widths} samples"))
        if wants(choice, "snr"):
            out.append(Panel("snr", "S/N against DM", Axis(DM), Axis(SNR), lines=[marks]))
        return out


def _histogram(title, label, values, limits):
    count, edges = np.histogram(values, bins=min(max(int(np.sqrt(len(values)) * 2), 8), 60),
                                range=limits)
    line = Line((edges[1:] + edges[:-1]) / 2, count.astype("f8"), look="bars")
    return Panel("histogram", title, Axis(label, limits), Axis("candidates"), lines=[line],
                 share=1.5)


def draw_search(search, choice):
    return SearchFigure(search, choice).figure()
