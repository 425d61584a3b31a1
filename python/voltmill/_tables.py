"""Pictures of filter banks, of tables of `voltmill bench`, and of the tuner's logs."""

import csv

import numpy as np

from ._bank import Refused
from ._figure import CYCLE, Axis, Figure, Line, Panel

WIDE, FLOOR, NEIGHBOURS = 6, -120.0, 3  # channels to each side; dB; channels that are added
MOST_POINTS = 1 << 24                   # of the transform that gives a response
COEFFICIENTS = 2000                     # that are drawn
LINES, TABLES, PROBLEMS = 8, 16, 7      # of a picture, at most


# ---- Filter banks

def _decibels(gain):
    return 20 * np.log10(np.maximum(np.abs(gain), 1e-12))


class _Response:
    """Gain of a prototype filter at tones in steps of 1 / `each` channels."""

    def __init__(self, coefficients, samples):
        self.samples = samples
        self.each = next(n for n in (600, 300, 200, 100, 60, 20, 10, 4, 2, 1)
                         if n * samples <= MOST_POINTS or n == 1)
        length = self.each * samples
        rows = -(-len(coefficients) // length)
        folded = np.zeros(rows * length)
        folded[:len(coefficients)] = coefficients
        self.gain = np.abs(np.fft.rfft(folded.reshape(rows, length).sum(axis=0)))
        self.gain /= self.gain[0]

    def at(self, steps):
        """Gain at tones that are `steps` away; periodic in the sample rate."""
        steps = np.abs(steps) % (self.each * self.samples)
        return self.gain[np.minimum(steps, self.each * self.samples - steps)]

    def bare(self, steps):
        """The same of a Fourier transform of `samples` samples alone."""
        f = np.asarray(steps) / self.each
        below = self.samples * np.sin(np.pi * f / self.samples)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.abs(np.sin(np.pi * f) / below)
        return np.where(np.abs(below) < 1e-9, 1.0, gain)


def _coefficients(bank, values):
    count = min(len(values), COEFFICIENTS)
    at = len(values) * (2 * np.arange(count) + 1) // (2 * count)
    return Panel("coefficients", "coefficients over the largest one, the oldest sample first",
                 Axis("tap (the samples of one spectrum)", (0, bank["taps"])),
                 Axis("coefficient"),
                 lines=[Line((at + 0.5) / bank["samples"], values[at] / np.abs(values).max())])


def _response(response):
    steps = np.arange(-WIDE * response.each, WIDE * response.each + 1)
    steps = steps[::max(response.each // 100, 1)]
    f = steps / response.each
    lines = [Line(f, np.maximum(_decibels(response.bare(steps)), FLOOR), "FFT alone", "faint",
                  "grey"),
             Line(f, np.maximum(_decibels(response.at(steps)), FLOOR), "filter bank")]
    return Panel("response", "response to tones beside a channel",
                 Axis("tone, from the channel's centre (channels)", (-WIDE, WIDE)),
                 Axis("power (dB)", (FLOOR, 5)), lines=lines, share=3)


def _scalloping(response):
    steps = np.arange(-response.each, response.each + 1)
    near = [steps - k * response.each for k in range(-NEIGHBOURS, NEIGHBOURS + 1)]
    gains = [response.at(tone) for tone in near]
    each = gains[NEIGHBOURS - 1:NEIGHBOURS + 2]
    drawn = [(_decibels(gain), "each" if i == 0 else "", "faint", "yellow")
             for i, gain in enumerate(each)]
    drawn += [(_decibels(np.max(gains, axis=0)), "strongest", "line", "blue"),
              (10 * np.log10(np.sum(np.square(gains), axis=0)), "all together", "line", "orange"),
              (_decibels(np.max([response.bare(tone) for tone in near], axis=0)), "FFT alone",
               "faint", "grey")]
    lines = [Line(steps / response.each, np.where(level < -12, np.nan, level), title, look, colour)
             for level, title, look, colour in drawn]
    return Panel("scalloping", "scalloping: tones between channels",
                 Axis("tone (channels)", (-1, 1)), Axis("power (dB)", (-12, 3)), lines=lines,
                 share=3)


def draw_filter(task):
    """A column for each filter bank of a job."""
    out, titles = Figure(), []
    for column, bank in enumerate(task["filters"]):
        values = np.array(bank["coefficients"], "f8")
        response = _Response(values, bank["samples"])
        for panel in (_coefficients(bank, values), _response(response), _scalloping(response)):
            panel.column = column
            panel.title = f"{bank['name']}, {panel.title}" if bank["name"] else panel.title
            out.panels.append(panel)
        titles.append(bank["title"])
    out.title = "\n".join(titles)
    if task["files"]:
        out.title = task["files"][0].rsplit("/", 1)[-1] + ":  " + out.title
    return out


# ---- Tables

def _read(path):
    """Rows of a table as dicts, and its columns."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: {getattr(error, 'strerror', None) or 'is no text'}", 4) from error
    if not text.strip() or "\0" in text:
        raise Refused(f"{path}: is no text, expected a table of comma-separated values", 4)
    lines = csv.reader(text.splitlines())
    names = next(lines)
    if len(names) < 2:
        raise Refused(f"{path}:1: {len(names)} columns, expected a table of comma-separated values",
                      4)
    rows = []
    for fields in lines:
        if fields and len(fields) != len(names):
            raise Refused(f"{path}:{lines.line_num}: {len(fields)} fields, expected {len(names)}",
                          4)
        rows += [dict(zip(names, fields))] if fields else []
    if not rows:
        raise Refused(f"{path}: the table has no rows", 4)
    return rows, names


def _number(row, name):
    try:
        return float(row.get(name, ""))
    except ValueError:
        return float("nan")


# By a column that no other kind has: what may be varied, values with their names, label, base of
# their axis, title, and a second axis.
BENCHES = {
    "gsamples_per_s": (("taps", "channels", "bits", "streams", "complex"), {"gsamples_per_s": ""},
                       "10⁹ samples/s", None, "filter bank, input samples", None),
    "times_plain": (("taps", "points", "complex"),
                    {"times_plain": "", "moved_times_plain": "with transfers"}, "speed-up",
                    10, "long filter, speed-up over a plain loop", "points"),
    "ratio_to_bound": (("ranks", "samples"), {"total_s": "whole", "read_s": "read",
                                              "compute_s": "compute", "write_s": "write"},
                       "time (s)", None, "run", None),
    "gadd_per_s": (("dms", "bits", "group", "dm_step", "mode", "setup"), {"gadd_per_s": ""},
                   "10⁹ additions/s", None, "dedispersion", None)}


NAMES = {"dms": "DMs", "dm_step": "DM step"}


def _word(key, value):
    """A column with its value: "taps 8", "real"."""
    if key == "complex":
        return {"0": "real", "1": "complex"}.get(value, value)
    return f"{NAMES.get(key, key)} {value}"


class _Bench:
    """Tables of one kind as one."""

    def __init__(self, files, say):
        self.files, self.say, self.rows, mark = files, say, [], None
        if len(files) > TABLES:
            raise Refused(f"{len(files)} tables, at most {TABLES} in one picture")
        for path in files:
            rows, names = _read(path)
            here = next((m for m in BENCHES if m in names), None)
            if not here:
                raise Refused(f"{path}: is no table of voltmill bench", 4)
            if mark not in (None, here):
                raise Refused(f"{files[0]} and {path} are tables of two kinds")
            mark = here
            self.rows += [{**row, "": path.rsplit("/", 1)[-1]} for row in rows]
        self.keys, self.values, self.label, self.base, self.title, self.also = BENCHES[mark]
        self._choose_rows()

    def _choose_rows(self):
        good = [row for row in self.rows if row.get("result", "ok") in ("", "ok")]
        bad = len(self.rows) - len(good)
        if bad:
            are = "row is" if bad == 1 else "rows are"
            self.say("warning", f"{self.files[0]}: {bad} {are} not ok: left out")
        if not good:
            raise Refused(f"{self.files[0]}: none of its rows is ok", 4)
        automatic = [row for row in good if row.get("method") == "auto"]
        self.rows = automatic or good

    def count(self, key):
        return len({row.get(key, "") for row in self.rows})

    def axis(self):
        """The key with most values, among those with numbers."""
        if self.also:
            return self.keys[0]
        numbers = [k for k in self.keys if not np.isnan(_number(self.rows[0], k))]
        return max(numbers or self.keys[:1], key=self.count)

    def name(self, row, axis):
        """The name of a row's line: "taps 8, bits 16"."""
        words = [_word(k, row.get(k, "")) for k in self.keys if k != axis and self.count(k) > 1]
        return ", ".join(words + [row[""]] * (len(self.files) > 1))

    def panel(self, axis):
        names = list(dict.fromkeys(self.name(row, axis) for row in self.rows))
        if len(names) > LINES:
            self.say("note", f"{len(names)} lines over {axis}: {LINES} of them are drawn")
            names = [names[i * (len(names) - 1) // (LINES - 1)] for i in range(LINES)]
        lines = []
        for number, name in enumerate(names):
            for k, value in enumerate(self.values):
                lines += self._line(axis, name, number, k, value)
        if not lines:
            raise Refused(f"{self.files[0]}: contains no numbers above 0 in column "
                          f"{next(iter(self.values))}", 4)
        fixed = [_word(k, self.rows[0][k]) for k in self.keys
                 if k != axis and self.count(k) == 1 and self.rows[0].get(k)]
        return Panel(axis, ": ".join([self.title] + [", ".join(fixed)] * bool(fixed)),
                     self._axis(axis),
                     Axis(self.label, base=self.base), lines=lines, share=5)

    def _axis(self, key):
        numbers = tuple(sorted({_number(row, key) for row in self.rows}))
        return (Axis(NAMES.get(key, key), base=2) if len(numbers) > 2 else
                Axis(NAMES.get(key, key), ticks=numbers))

    def _line(self, axis, name, number, k, value):
        points = sorted((_number(row, axis), _number(row, value)) for row in self.rows
                        if self.name(row, axis) == name and _number(row, value) > 0)
        if not points:
            return []
        title = ", ".join(word for word in (name, self.values[value]) if word)
        is_second = k > 0 and self.also
        colour = CYCLE[(number if self.also else number + k) % len(CYCLE)]
        x, y = np.array(points).T
        return [Line(x, y, title, "dashed" if is_second else "marked", colour)]


def draw_bench(files, say):
    bench = _Bench(files, say)
    axes = [bench.axis()] + [bench.also] * bool(bench.also)
    return Figure("", [bench.panel(axis) for axis in axes])


def draw_tuner(path):
    """Trials in order with the best so far, and their times against the model's."""
    rows, names = _read(path)
    if names[0] != "problem" or not {"model_ms", "how", "ms", "result"} <= set(names):
        raise Refused(f"{path}: is no log of voltmill tune", 4)
    trials = Panel("trials", "trials, and the best so far", Axis("trial"),
                   Axis("time (ms)", base=10), share=5)
    model = Panel("model", "times against the model's", Axis("by the model (ms)", base=10),
                  Axis("timed (ms)", base=10), share=4)
    problems = list(dict.fromkeys(row["problem"] for row in rows))[:PROBLEMS]
    for number, problem in enumerate(problems):
        good = [row for row in rows if row["problem"] == problem and row["result"] == "ok" and
                _number(row, "ms") > 0]
        if good:
            ms = np.array([_number(row, "ms") for row in good])
            x, colour = np.arange(len(ms)) + 1.0, CYCLE[number]
            best = min(good, key=lambda row: _number(row, "ms"))["how"]
            trials.lines += [Line(x, ms, best[:39], "points", colour),
                             Line(x, np.minimum.accumulate(ms), "", "line", colour)]
            guess = np.array([_number(row, "model_ms") for row in good])
            if (guess > 0).any():
                model.lines.append(Line(guess[guess > 0], ms[guess > 0], "", "points", colour))
    if not trials.lines:
        raise Refused(f"{path}: no configuration is ok", 4)
    return Figure(path.rsplit("/", 1)[-1], [trials] + [model] * bool(model.lines))
