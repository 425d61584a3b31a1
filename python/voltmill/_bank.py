"""Pictures of filterbanks and spectra: rows read once, in pieces, that become pixels.

A pixel is the mean of its times and, of its channels, the one that stands out: a line of one
channel is seen however many channels share a pixel."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from . import _figure
from ._figure import Axis, Figure, Line, Panel, Refused

BLOCK = 1 << 22        # numbers that are read at once
MOST_COLUMNS = 4       # polarisations of a picture
PANELS = ("bandpass", "waterfall", "weights", "kurtosis", "flags", "time")
# Title, label and limits of the colours, the value that stands for "as it should be".
BESIDE = {"weights": ("weight", "weight", (0, 1), 1.0),
          "kurtosis": ("spectral kurtosis", "kurtosis", (0.5, 1.5), 1.0),
          "flags": ("share omitted", "share", (0, 1), 0.0)}


@dataclass
class Sheet:
    """Numbers [rows][ifs][chans]: read(row, rows, first_if, ifs, chan, chans)."""

    rows: int
    ifs: int
    chans: int
    read: object
    coarse_hz: np.ndarray | None = None


@dataclass
class Bank:
    """A filterbank, or spectra as powers.

    Parameters
    ----------
    data : Sheet
    frequency : ndarray
        Hz, the channels' centres in the file's order.
    step, first_s : float
        Seconds from row to row; of the first row's centre, after the observation's start.
    origin : float
        Seconds of the leading edge of the first row, as they are drawn.
    start : str or None
        UTC of the leading edge of the first row.
    channel_hz : float
        Width of a channel; 0: unknown.
    names, types : list of str or None
        Of the polarisations: those for users, those of `pol_type`.
    powers : list of bool
    beside : dict of Sheet
        weights, kurtosis, flags, bandpass: those that the file has.
    """

    path: str
    data: Sheet
    frequency: np.ndarray
    step: float
    first_s: float = 0.0
    start: str | None = None
    source: str | None = None
    telescope: str | None = None
    channel_hz: float = 0.0
    names: list = field(default_factory=list)
    types: list = field(default_factory=list)
    powers: list = field(default_factory=list)
    beside: dict = field(default_factory=dict)
    note: object = print
    origin: float = 0.0

    def pol_name(self, at):
        return f"pol {self.names[at] or at}"

    def find_pol(self, word):
        """The number of a polarisation by number or name."""
        if word.isdigit() and int(word) < self.data.ifs:
            return int(word)
        for at, names in enumerate(zip(self.names, self.types)):
            if word in (name for name in names if name):
                return at
        known = [name for name in self.names or self.types if name]
        raise Refused(f"{self.path} has no pol {word}: it has {self.data.ifs}, counted from 0"
                      + (f": {', '.join(known[:8])}" + ", ..." * (len(known) > 8) if known else ""))


def check_kinds(path, choice, there):
    """Refuses panels that a file does not have."""
    for kind in (choice.get("kinds") or "").split(","):
        if kind and kind not in there:
            raise Refused(f"{path} has no {kind} to draw, expected some of {'|'.join(there)}")


def wants(choice, kind):
    return not choice.get("kinds") or kind in choice["kinds"].split(",")


def choose_pols(bank, choice):
    """Numbers of the polarisations that are drawn."""
    if choice.get("sum"):
        if bank.data.ifs == 4 and not any(bank.names + bank.types):
            raise Refused(f"{bank.path} does not say what its 4 pols are (pol_type), and Stokes "
                          "parameters or products of polarisations have no meaningful sum: choose "
                          "with --pol")
        for at, is_power in enumerate(bank.powers):
            if not is_power:
                raise Refused(f"{bank.path}: {bank.pol_name(at)} is no power, and cannot be added "
                              "to others: choose with --pol")
        return list(range(bank.data.ifs))
    if choice.get("pols") is not None:
        words = [word for word in choice["pols"].split(",") if word]
        if not words:
            raise Refused(f"{bank.path}: no pol is named")
        if len(words) > MOST_COLUMNS:
            raise Refused(f"{bank.path}: more than {MOST_COLUMNS} pols in one picture")
        return [bank.find_pol(word) for word in words]
    if bank.data.ifs > MOST_COLUMNS:
        bank.note(f"{bank.path} has {bank.data.ifs} pols: the first {MOST_COLUMNS} are drawn "
                  "(--pol, or --sum)")
    return list(range(min(bank.data.ifs, MOST_COLUMNS)))


def choose_rows(path, choice, rows, step, what="rows"):
    """First and end of the rows, or samples, that --time names."""
    if not choice.get("time"):
        return 0, rows
    low, high = choice["time"]
    first = int(max(0, np.floor(low / step + 1e-9)))
    end = int(min(rows, np.ceil(high / step - 1e-9)))
    if first >= end:
        raise Refused(f"{path} has no {what} from {low:.9g} to {high:.9g} s: it has 0 .. "
                      f"{rows * step:.9g} s")
    return first, end


class Grid:
    """Pixels over channels, which may lie unevenly: `at` is the pixel of each channel, -1: none."""

    def __init__(self, bank, limits_mhz, most):
        hz = bank.frequency
        low, high = (-np.inf, np.inf) if limits_mhz is None else np.asarray(limits_mhz) * 1e6
        inside = (hz >= low) & (hz <= high)
        if not inside.any():
            raise Refused(f"{bank.path} has no channel from {limits_mhz[0]:.9g} to "
                          f"{limits_mhz[1]:.9g} MHz: it has {hz[0] / 1e6:.9g} .. "
                          f"{hz[-1] / 1e6:.9g}")
        kept = np.sort(hz[inside])
        steps = np.diff(kept)
        steps = steps[steps > 1e-12 * max(abs(kept[0]), abs(kept[-1]))]
        # Spectra do not state it: a channel is as wide as they are frequent.
        step = steps.min() if len(steps) else abs(bank.channel_hz) or 1 / bank.step
        cells = int(min(round((kept[-1] - kept[0]) / step) + 1, 10 ** 15))
        group = -(-cells // most)
        self.count, self.step = -(-cells // group), step * group
        self.first = kept[0] - step / 2
        at = np.clip((hz - self.first) / self.step, 0, self.count - 1).astype("i8")
        self.at = np.where(inside, at, -1)
        chosen = np.flatnonzero(inside)
        self.chan, self.chans = int(chosen[0]), int(chosen[-1]) + 1 - int(chosen[0])

    @property
    def limits(self):
        """MHz."""
        return self.first / 1e6, (self.first + self.count * self.step) / 1e6

    @property
    def middles(self):
        return (self.first + (np.arange(self.count) + 0.5) * self.step) / 1e6


class Pixels:
    """Pixels of rows: `image` [if][channel][time], NaN where there is nothing; for each channel
    of a grid of its own `mean`, `least`, `most`; for each time `level`, the mean of all."""

    def __init__(self, grid, rows, most_times, ifs, about=0.0, lines=None):
        self.grid, self.lines, self.about = grid, lines or grid, about
        self.group = -(-max(rows, 1) // most_times)
        self.times = -(-max(rows, 1) // self.group)
        self.rows = rows
        self.image = np.full((ifs, grid.count, self.times), np.nan, "f4")
        self.mean, self.least, self.most = np.full((3, ifs, self.lines.count), np.nan)
        self._sums = np.zeros((2, ifs, self.times))

    def fill(self, read, chans_at_once):
        """read(row, rows, chan, chans) gives [rows][if][chans], rows counted from the first."""
        ifs = len(self.image)
        for chan in range(self.grid.chan, self.grid.chan + self.grid.chans, chans_at_once):
            chans = min(chans_at_once, self.grid.chan + self.grid.chans - chan)
            self._fill_chans(read, chan, chans, max(BLOCK // (chans * ifs), 1))

    def _fill_chans(self, read, chan, chans, rows_at_once):
        sums = np.zeros((2, len(self.image), chans))  # of the pixel at hand: sum, count
        whole = np.zeros_like(sums)
        image = _Ends(self.grid, self.about, chan, chans)
        lines = _Ends(self.lines, self.about, chan, chans)
        least, most = np.full((2, *whole.shape[1:]), np.nan)
        for row in range(0, self.rows, rows_at_once):
            block = read(row, min(rows_at_once, self.rows - row), chan, chans)
            finite = _finite(block)
            there = block if finite is None else np.where(finite, block, np.float32("nan"))
            least = np.fmin(least, np.fmin.reduce(there, axis=0))
            most = np.fmax(most, np.fmax.reduce(there, axis=0))
            at = 0
            while at < len(block):
                j = (row + at) // self.group
                end = min((j + 1) * self.group - row, len(block))
                sums += _add_up(block[at:end], None if finite is None else finite[at:end])
                at = end
                if row + at == min((j + 1) * self.group, self.rows):
                    image.put(self.image[:, :, j], divide(*sums))
                    self._sums[:, :, j] += sums.sum(axis=2)
                    whole += sums
                    sums[:] = 0
        lines.put(self.mean, divide(*whole))
        lines.put(self.least, least, np.fmin)
        lines.put(self.most, most, np.fmax)

    @property
    def level(self):
        return divide(*self._sums)


def _finite(block):
    """Which numbers are finite; None: all."""
    with np.errstate(all="ignore"):
        if np.isfinite(block.sum(dtype="f8")):
            return None
    return np.isfinite(block)


def _add_up(part, finite):
    if finite is None:
        return np.stack([part.sum(axis=0, dtype="f8"), np.full(part.shape[1:], float(len(part)))])
    return np.stack([np.where(finite, part, 0).sum(axis=0, dtype="f8"), finite.sum(axis=0)])


def divide(total, count):
    """Means of sums; NaN where nothing was counted."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0, total / count, np.nan)


class _Ends:
    """How the channels of one piece of a file become pixels of a grid."""

    def __init__(self, grid, about, chan, chans):
        self.about = about
        at = grid.at[chan:chan + chans]
        order = np.argsort(at, kind="stable")
        self.order = order[at[order] >= 0]
        ordered = at[self.order]
        self.starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        self.columns = ordered[self.starts]

    def put(self, out, values, pick=None):
        """Merges values [if][chans] into pixels [if][channel]: by `pick`, or what stands out."""
        values, old = values[:, self.order], out[:, self.columns]
        if pick:
            out[:, self.columns] = pick(old, pick.reduceat(values, self.starts, axis=1))
            return
        new = _figure.farthest(values, self.starts, self.about, 1)
        with np.errstate(invalid="ignore"):
            stands_out = np.isnan(old) | (abs(new - self.about) > abs(old - self.about))
        out[:, self.columns] = np.where(stands_out, new, old)


# ---- Panels

class BankFigure:
    """The panels of a filterbank: a column for each polarisation.

    Parameters
    ----------
    bank : Bank
    choice : dict
        kinds, pols, sum, flatten, turn, time, freq, width, height: those of `voltmill plot`.
    """

    def __init__(self, bank, choice):
        self.bank, self.choice = bank, choice
        there = [kind for kind in PANELS if kind not in BESIDE or kind in bank.beside]
        there.sort(key=lambda kind: (kind in BESIDE, kind != "waterfall"))
        check_kinds(bank.path, choice, there)
        self.pols = choose_pols(bank, choice)
        columns = 1 if choice.get("sum") else len(self.pols)
        self.first, self.end = choose_rows(bank.path, choice, bank.data.rows, bank.step)
        across, down = _figure.pixels_across(choice, columns), _figure.pixels_down(choice)
        self.most_times = down if choice.get("turn") else across
        self.grid = Grid(bank, choice.get("freq"), across if choice.get("turn") else down)
        self.lines = Grid(bank, choice.get("freq"), across)
        self.pixels = Pixels(self.grid, self.end - self.first, self.most_times, columns,
                             lines=self.lines)

    def read(self):
        low, high = min(self.pols), max(self.pols) + 1
        kept = [pol - low for pol in self.pols]

        def read(row, rows, chan, chans):
            block = self.bank.data.read(self.first + row, rows, low, high - low, chan, chans)
            if self.choice.get("sum"):
                return block.sum(axis=1, keepdims=True)
            return block if kept == list(range(block.shape[1])) else block[:, kept]

        self.pixels.fill(read, max(BLOCK // (high - low), 1))
        return self

    @property
    def seconds(self):
        start = self.bank.origin + self.first * self.bank.step
        return start, start + self.pixels.times * self.pixels.group * self.bank.step

    def figure(self):
        out = Figure(self._title())
        for column, pol in enumerate([None] if self.choice.get("sum") else self.pols):
            out.panels += self._column(column, pol)
        return out

    def _title(self):
        bank, pixels = self.bank, self.pixels
        rows = "row" if pixels.group == 1 else "rows"
        return (f"{_figure.heading(bank.path, bank.source, bank.telescope)}\n"
                f"{_figure.began(bank.start)};  a pixel: "
                f"{_figure.hertz(self.grid.step)} x {_figure.seconds(pixels.group * bank.step)} "
                f"({pixels.group} {rows})")

    def _column(self, column, pol):
        bank = self.bank
        if pol is None:
            name = f"sum of {bank.data.ifs} pols" if bank.data.ifs > 1 else bank.pol_name(0)
        else:
            name = bank.pol_name(pol)
        is_power = (pol is None or bank.powers[pol]) and not (self.pixels.least[column] < 0).any()
        panels = [("bandpass", lambda: self._bandpass(column, pol, is_power)),
                  ("waterfall", lambda: self.waterfall(column, is_power))]
        panels += [(kind, lambda kind=kind: self._beside(kind, pol)) for kind in BESIDE
                   if kind in bank.beside and pol is not None]
        panels += [("time", lambda: self._time(column, is_power))]
        made = [make() for kind, make in panels if wants(self.choice, kind)]
        for panel in made:
            panel.title, panel.column = f"{name}, {panel.title}", column
        return made

    def _level(self, values, is_power):
        with np.errstate(divide="ignore", invalid="ignore"):
            return 10 * np.log10(values) if is_power else values

    def _axes(self, image, times=None):
        """An image [channel][time] with its axes as the choice turns them."""
        time = Axis("time (s)", times or self.seconds)
        frequency = Axis("frequency (MHz)", self.grid.limits)
        if self.choice.get("turn"):
            return {"x": frequency, "y": time, "image": image.T}
        return {"x": time, "y": frequency, "image": image}

    def waterfall(self, column, is_power):
        image = self.pixels.image[column].astype("f8")
        title = "waterfall"
        if self.choice.get("flatten"):
            title = "above each channel's median"
            middle = _figure.medians(image, 1)
            with np.errstate(divide="ignore", invalid="ignore"):
                image = image / middle if is_power else image - middle
        image = self._level(image, is_power)
        low, high = _figure.colour_limits(image, 0.2 if is_power else 1e-38, not is_power)
        return Panel("waterfall", title, **self._axes(image), share=4,
                     z=Axis("power (dB)" if is_power else "value", (low, high)),
                     about=None if is_power else 0.0)

    def _bandpass(self, column, pol, is_power):
        pixels, x = self.pixels, self.lines.middles
        lines = [Line(x, self._level(values[column], is_power), title, look, colour)
                 for values, title, look, colour in
                 ((pixels.most, "largest", "faint", "sky"), (pixels.mean, "mean", "line", "blue"),
                  (pixels.least, "smallest", "faint", "grey"))]
        medians = self.bank.beside.get("bandpass")
        if (medians and pol is not None and medians.chans == self.bank.data.chans and
                medians.rows == self.bank.data.ifs):
            values = medians.read(pol, 1, 0, 1, 0, medians.chans)
            own = Pixels(self.lines, 1, 1, 1)
            own.fill(lambda row, rows, chan, chans: values[:, :, chan:chan + chans], BLOCK)
            lines.append(Line(x, self._level(own.mean[0], is_power), "median", "line", "green"))
        return Panel("bandpass", "bandpass", Axis("frequency (MHz)", self.lines.limits),
                     Axis("power (dB)" if is_power else "value"), lines=lines)

    def _time(self, column, is_power):
        first, end = self.seconds
        count = self.pixels.times
        x = first + (np.arange(count) + 0.5) * (end - first) / count
        return Panel("time", "mean of all channels", Axis("time (s)", (first, end)),
                     Axis("power (dB)" if is_power else "value"), share=1.5,
                     lines=[Line(x, self._level(self.pixels.level[column], is_power))])

    def _beside(self, kind, pol):
        """A sheet at the picture's times; its rows may be longer than the bank's."""
        bank, sheet = self.bank, self.bank.beside[kind]
        title, label, limits, about = BESIDE[kind]
        step = bank.data.rows / sheet.rows * bank.step
        low, high = np.array(self.seconds) - bank.origin
        first = int(np.floor(low / step + 1e-6))
        end = max(int(min(sheet.rows, np.ceil(high / step - 1e-6))), first + 1)
        at_if = pol * sheet.ifs // bank.data.ifs
        of, each = _match_channels(bank, sheet)
        pixels = Pixels(self.grid, end - first, self.most_times, 1, about)

        def read(row, rows, chan, chans):
            values = sheet.read(first + row, rows, at_if, 1, 0, sheet.chans)
            if kind == "flags":
                values = np.where(np.isnan(values), values, values != 0).astype("f4")
            if each > 1:
                return _nan_mean(values.reshape(rows, 1, -1, each))[:, :, chan:chan + chans]
            return values[:, :, of[chan:chan + chans]]

        pixels.fill(read, max(BLOCK // each, 1))
        part = ", of one that it was made of" if sheet.ifs != bank.data.ifs else ""
        times = first * step, (first + pixels.times * pixels.group) * step
        return Panel(kind, title + part, **self._axes(pixels.image[0], times), share=4 / 3,
                     z=Axis(label, limits), about=about if kind == "kurtosis" else None)


def _nan_mean(values):
    there = ~np.isnan(values)
    return divide(np.where(there, values, 0).sum(axis=-1, dtype="f8"), there.sum(axis=-1))


def _match_channels(bank, sheet):
    """The sheet's channel of each of the file's, and how many of it become one.

    A product may have kept a part of its coarse channels: then the nearest one."""
    chans = bank.data.chans
    if sheet.coarse_hz is not None:
        coarse = np.asarray(sheet.coarse_hz)
        order = np.argsort(coarse, kind="stable")
        middles = (coarse[order][1:] + coarse[order][:-1]) / 2
        return order[np.searchsorted(middles, bank.frequency)], 1
    if chans % sheet.chans and sheet.chans % chans:
        raise Refused(f"{bank.path}: {chans} channels and those of its weights, {sheet.chans}, do "
                      "not fit each other", 4)
    return np.arange(chans) * sheet.chans // chans, max(sheet.chans // chans, 1)


def draw_bank(bank, choice):
    return BankFigure(bank, choice).read().figure()
