"""Pictures before they are drawn: panels with axes, lines and images; drawn by matplotlib."""

from __future__ import annotations

import base64
import csv
import html
import io
import re
import textwrap
from dataclasses import dataclass, field

import numpy as np

LETTER = 17                   # pixels, of a picture of default size
PANEL, HEAD = 94, 20          # pixels of a share of a panel's height; above all panels
LEFT, RIGHT = 6.5, 7.0        # letters beside the axes: labels; colour bar or legend
COLOURS = {"blue": "#0072b2", "orange": "#d55e00", "green": "#009e73", "pink": "#cc79a7",
           "sky": "#56b4e9", "yellow": "#e69f00", "grey": "#8c8c8c", "black": "#222222"}
CYCLE = ("blue", "orange", "green", "pink", "sky", "yellow", "grey", "black")
BLANK = "#c8c8c8"
MOST_ACROSS, MOST_DOWN = 8192, 2048  # pixels of an image
NUMBERS = ("panel", "title", "line", "x", "y", "value")
STYLES = {"line": {"linewidth": 1.2}, "faint": {"linewidth": 0.8, "alpha": 0.8},
          "dashed": {"linewidth": 1.2, "linestyle": "--", "marker": "o", "markersize": 4},
          "marked": {"linewidth": 1.2, "marker": "o", "markersize": 4},
          "points": {"linestyle": "", "marker": "o", "markersize": 3},
          "crosses": {"linestyle": "", "marker": "x", "markersize": 6},
          "steps": {"linewidth": 1.2, "drawstyle": "steps-mid"}}


@dataclass
class Line:
    """Points of a line; of circles, `size` is what their areas show."""

    x: np.ndarray
    y: np.ndarray
    title: str = ""
    look: str = "line"
    colour: str = "blue"
    size: np.ndarray | None = None


@dataclass
class Axis:
    """Label, limits (None: those of the numbers), base of a logarithmic axis (None: linear)."""

    label: str = ""
    limits: tuple | None = None
    base: float | None = None


@dataclass
class Panel:
    """One pair of axes.

    Parameters
    ----------
    name : str
        What --kind calls it.
    image : ndarray, optional
        [y][x] between the limits of both axes; NaN has a colour of its own.
    about : float, optional
        The middle of colours that go from blue over white to red.
    blank : str
        The colour of NaN; a note tells of grey.
    column, share
        The figure's column, and the part of its height relative to other panels.
    """

    name: str
    title: str
    x: Axis
    y: Axis
    z: Axis | None = None
    image: np.ndarray | None = None
    about: float | None = None
    blank: str = BLANK
    lines: list = field(default_factory=list)
    column: int = 0
    share: float = 2


@dataclass
class Figure:
    """Panels under a title of some lines; `said` is a summary for the user."""

    title: str = ""
    panels: list = field(default_factory=list)
    said: list = field(default_factory=list)

    @property
    def columns(self):
        return max(panel.column for panel in self.panels) + 1


def default_width(columns):
    """Pixels of a picture."""
    return 1000 if columns <= 1 else columns * (660 if columns == 2 else 520)


def pixels_across(choice, columns):
    """How many pixels an image has from left to right."""
    if choice.get("pixels"):
        return choice["pixels"]
    width = choice.get("width") or default_width(columns)
    letter = letter_of(width, columns)
    return int(min(max(width / columns - (LEFT + RIGHT) * letter, 50), MOST_ACROSS))


def pixels_down(choice):
    """How many pixels an image has from top to bottom."""
    if choice.get("pixels"):
        return choice["pixels"]
    height = choice.get("height")
    return min(max(height // 3, 50), MOST_DOWN) if height else 320


def letter_of(width, columns):
    """Letters of large pictures are larger, so that they can be read when they are shown small."""
    return LETTER * min(max(width / default_width(columns), 0.75), 4) ** 0.6


def colour_limits(image, least):
    """Limits that all but the least 1 % and the largest 0.5 % fill, at least `least` apart."""
    finite = image[np.isfinite(image)]
    if finite.size == 0:
        return 0.0, 1.0
    low, high = np.percentile(finite, (1, 99.5))
    middle = (low + high) / 2
    return min(low, middle - least / 2), max(high, middle + least / 2)


def farthest(values, starts, about, axis):
    """The number of each group along an axis that is farthest from `about`; NaN is ignored."""
    high = np.fmax.reduceat(values, starts, axis=axis)
    low = np.fmin.reduceat(values, starts, axis=axis)
    with np.errstate(invalid="ignore"):
        return np.where(about - low > high - about, low, high)


def _shrink(image, rows, columns, about):
    """An image of at most that many pixels: the ones that stand out stay."""
    for axis, most in ((0, max(int(rows), 1)), (1, max(int(columns), 1))):
        count = image.shape[axis]
        if count > most:
            image = farthest(image, np.arange(most) * count // most, about, axis)
    return image


# ---- By matplotlib

def plain(text):
    """A text in which no dollar begins mathematics, nor a byte steers anything."""
    shown = "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
    return shown.replace("$", r"\$")


def _wrap(text, letters):
    lines = text.split("\n")
    width = max(int(letters), 12)
    return "\n".join(part for line in lines
                     for part in textwrap.wrap(line, width, break_on_hyphens=False))


def _scale(axis, which, name):
    from matplotlib.ticker import FuncFormatter, NullFormatter, ScalarFormatter
    if axis.base:
        getattr(which, f"set_{name}scale")("log", base=axis.base)
        formatter = FuncFormatter(lambda value, _: f"{value:g}")
        low, high = getattr(which, f"get_{name}lim")()
        if high < 10 * low and axis.base == 10:
            getattr(which, f"{name}axis").set_minor_formatter(formatter)
        else:
            getattr(which, f"{name}axis").set_minor_formatter(NullFormatter())
    else:
        formatter = ScalarFormatter(useOffset=False)
        formatter.set_powerlimits((-4, 7))
    getattr(which, f"{name}axis").set_major_formatter(formatter)
    if axis.limits and axis.limits[1] > axis.limits[0]:
        getattr(which, f"set_{name}lim")(*axis.limits)
    getattr(which, f"set_{name}label")(plain(axis.label))


def draw_lines(panel, axes):
    for line in panel.lines:
        colour = COLOURS.get(line.colour, line.colour)
        label = {"label": plain(line.title)} if line.title else {}
        if line.size is not None:
            axes.scatter(line.x, line.y, s=line.size, facecolors="none", edgecolors=colour,
                         linewidths=1.1, **label)
        else:
            look = STYLES[line.look]
            if np.isfinite(line.y).sum() == 1:  # which is no line
                look = {**look, "marker": "o", "markersize": 4}
            axes.plot(line.x, line.y, color=colour, **look, **label)


def draw_image(panel, axes, image):
    import matplotlib
    name = "RdBu_r" if panel.about is not None else "viridis"
    name = "viridis_r" if panel.blank == "white" else name  # yellow would not show
    colours = matplotlib.colormaps[name].copy()
    colours.set_bad(panel.blank)
    return axes.imshow(np.ma.masked_invalid(image), aspect="auto", origin="lower", cmap=colours,
                       vmin=panel.z.limits[0], vmax=panel.z.limits[1], interpolation="none",
                       extent=(*panel.x.limits, *panel.y.limits))


def draw_panel(panel, axes, most=None):
    """Draws into axes of matplotlib; an image of at most `most` (rows, columns). Returns it."""
    image = None
    if panel.image is not None:
        about = 0.0 if panel.about is None else panel.about
        shown = panel.image if most is None else _shrink(panel.image, *most, about)
        image = draw_image(panel, axes, shown)
    else:
        axes.grid(color="#dddddd", linewidth=0.7)
        axes.set_axisbelow(True)
    draw_lines(panel, axes)
    _scale(panel.x, axes, "x")
    _scale(panel.y, axes, "y")
    return image


def _longest(axis):
    labels = axis.get_major_formatter().format_ticks(axis.get_majorticklocs())
    return max((len(label) for label in labels), default=1)


def _shorten(label, letters):
    """A label that is too long for its axis: its unit alone, or its last word."""
    if len(label) <= letters + 2 or not label:
        return label
    return label.split()[-1].strip("()")


class _Layout:
    """Places panels below each other, in pixels from the picture's upper left corner."""

    def __init__(self, figure, width, height):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
        self.figure, self.columns = figure, figure.columns
        self.width = width or default_width(self.columns)
        self.letter = letter_of(self.width, self.columns)
        self.title = _wrap(figure.title, (self.width - 2 * self.letter) / (0.58 * self.letter))
        self.head = HEAD + 1.35 * self.letter * (len(self.title.split("\n")) if self.title else 0)
        self.height = height or int(self._default_height())
        self.canvas = Canvas(figsize=(self.width / 72, self.height / 72), dpi=72,
                             facecolor="white")
        FigureCanvasAgg(self.canvas)

    def _of(self, column):
        return [panel for panel in self.figure.panels if panel.column == column]

    def _caption(self, panel):
        axes = self.width / self.columns - (LEFT + 2) * self.letter
        return _wrap(panel.title, axes / (0.55 * self.letter)) if panel.title else ""

    def _around(self, panel):
        """Letters above and below a panel's axes: its caption; ticks and their label."""
        lines = len(self._caption(panel).split("\n")) if panel.title else 0
        return 0.9 + 1.25 * lines, 3.4 if panel.x.label else 1.8

    def _default_height(self):
        scale = self.letter / LETTER
        return self.head + max(sum(PANEL * scale * panel.share + self.letter *
                                   sum(self._around(panel)) for panel in self._of(column))
                               for column in range(self.columns))

    def draw(self):
        letter = self.letter
        self.canvas.text(letter / self.width, 1 - 0.7 * letter / self.height, plain(self.title),
                         fontsize=1.05 * letter, va="top", linespacing=1.3)
        for column in range(self.columns):
            panels = self._of(column)
            around = letter * sum(sum(self._around(panel)) for panel in panels)
            free = max(self.height - self.head - around, 20 * len(panels))
            shares = sum(panel.share for panel in panels)
            top, placed = self.head, []
            for panel in panels:
                above, below = (letter * part for part in self._around(panel))
                high = free * panel.share / shares
                placed.append((panel, top + above, high))
                top += above + high + below
            self._draw_column(column, placed)

    def _draw_column(self, column, placed):
        letter, wide = self.letter, self.width / self.columns
        drawn = []
        for panel, top, high in placed:
            across = max(wide - (LEFT + RIGHT) * letter, 30)
            axes = self.canvas.add_axes([0.1, 0.1, across / self.width, high / self.height])
            image = draw_panel(panel, axes, (high, across))
            axes.tick_params(labelsize=0.87 * letter, length=0.3 * letter)
            axes.tick_params(which="minor", labelsize=0.7 * letter)
            drawn.append((panel, axes, image, top, high))
        for panel, axes, *_ in drawn:
            self._set_ticks(panel, axes, wide - (LEFT + RIGHT) * letter)
        labels = max(_longest(axes.yaxis) for _, axes, *_ in drawn)
        left = letter * max(2.9 + 0.55 * labels, 5)
        across = max(wide - left - RIGHT * letter, 30)
        for panel, axes, image, top, high in drawn:
            place = [(column * wide + left) / self.width, 1 - (top + high) / self.height,
                     across / self.width, high / self.height]
            axes.set_position(place)
            self._finish(panel, axes, image, place, left)

    def _set_ticks(self, panel, axes, across):
        from matplotlib.ticker import MaxNLocator
        if panel.name == "histogram":
            axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        if not panel.x.base:
            for _ in range(2):
                letters = max(_longest(axes.xaxis), 3) + 2.5
                count = min(max(int(across / (0.55 * self.letter * letters)), 2), 10)
                axes.xaxis.set_major_locator(MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]))

    def _finish(self, panel, axes, image, place, left):
        letter = self.letter
        for axis, label, size in ((axes.xaxis, panel.x.label, place[2] * self.width),
                                  (axes.yaxis, panel.y.label, place[3] * self.height)):
            _longest(axis)  # settles the power of ten
            power = axis.get_major_formatter().get_offset()
            axis.offsetText.set_visible(False)
            label = _shorten(label, size / (0.55 * letter)) + (f" / {power}" if power else "")
            axis.set_label_text(plain(label), fontsize=0.95 * letter)
        if panel.title:
            axes.annotate(plain(self._caption(panel)), (0, 1), (-left + letter, 0.45 * letter),
                          xycoords="axes fraction", textcoords="offset points", va="bottom",
                          fontsize=0.95 * letter, linespacing=1.2, annotation_clip=False)
        if image is not None:
            self._add_bar(panel, image, place)
        elif any(line.title for line in panel.lines):
            long = max(len(line.title) for line in panel.lines) > 12
            where = {"loc": "best"} if long else {"loc": "upper left", "bbox_to_anchor": (1, 1.03)}
            axes.legend(fontsize=0.82 * letter, frameon=long, framealpha=0.85, handlelength=1.2,
                        handletextpad=0.5, borderaxespad=0.4, **where)
        for side in ("top", "right"):
            axes.spines[side].set_visible(panel.image is not None)

    def _add_bar(self, panel, image, place):
        letter = self.letter
        x = place[0] + place[2] + 0.6 * letter / self.width
        bar = self.canvas.add_axes([x, place[1], 0.8 * letter / self.width, place[3]])
        self.canvas.colorbar(image, cax=bar)
        bar.tick_params(labelsize=0.82 * letter, length=0.25 * letter)
        label = _shorten(panel.z.label, place[3] * self.height / (0.55 * letter))
        bar.set_ylabel(plain(label), fontsize=0.9 * letter)
        if panel.blank == BLANK and np.isnan(panel.image).any():
            bar.annotate("grey: NaN", (0, 1), (-0.6 * letter, 0.45 * letter),
                         xycoords="axes fraction", textcoords="offset points",
                         fontsize=0.82 * letter, annotation_clip=False)


def render(figure, form, width=0, height=0):
    """A figure as the bytes of a PNG or SVG, and its size in pixels."""
    import matplotlib
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "voltmill",
                                    "path.simplify_threshold": 0.3, "axes.linewidth": 0.8,
                                    "axes.edgecolor": "#444444", "agg.path.chunksize": 20000})
        layout = _Layout(figure, width, height)
        layout.draw()
        out = io.BytesIO()
        about = ({"Software": "voltmill plot"} if form == "png" else
                 {"Creator": "voltmill plot", "Date": None})
        layout.canvas.savefig(out, format=form, dpi=72, facecolor="white", metadata=about)
    data = out.getvalue()
    if form == "svg":  # in pixels; the first bytes say whose it is
        size = rb'(<svg [^>]*width="[0-9.]+)pt(" height="[0-9.]+)pt'
        data = re.sub(size, rb"\1\2", data, count=1)
        data = data.replace(b"?>\n", b"?>\n<!-- voltmill plot -->\n", 1)
    return data, (layout.width, layout.height)


def fragment(figure, most_columns=2):
    """An element of HTML: the title, and each panel as a picture of its own."""
    parts = [f"<p>{html.escape(figure.title)}</p>\n<div class=\"pictures\">\n"]
    for panel in figure.panels:
        if panel.column < most_columns:
            alone = Panel(**{**panel.__dict__, "column": 0})
            data, _ = render(Figure("", [alone]), "svg", 640, 400)
            text = base64.b64encode(data).decode()
            parts.append(f"<img alt=\"{html.escape(panel.title or panel.name)}\" "
                         f"src=\"data:image/svg+xml;base64,{text}\">\n")
    parts.append("</div>\n")
    if figure.columns > most_columns:
        parts.append("<p>The first two: voltmill plot draws the others.</p>\n")
    return "".join(parts).encode()


def table(figure):
    """The numbers drawn, as comma-separated values."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(NUMBERS)
    for panel in figure.panels:
        if panel.image is not None:
            rows, columns = panel.image.shape
            x = _middles(panel.x.limits, columns)
            for y, row in zip(_middles(panel.y.limits, rows), panel.image):
                writer.writerows((panel.name, panel.title, "", f"{a:.12g}", f"{y:.12g}",
                                  f"{value:.9g}") for a, value in zip(x, row))
        for line in panel.lines:
            third = [""] * len(line.x) if line.size is None else [f"{v:.12g}" for v in line.y]
            value = line.y if line.size is None else line.size
            writer.writerows((panel.name, panel.title, line.title, f"{a:.12g}", b, f"{v:.12g}")
                             for a, b, v in zip(line.x, third, value))
    return out.getvalue().encode()


def _middles(limits, count):
    return limits[0] + (np.arange(count) + 0.5) * (limits[1] - limits[0]) / count


# ---- Words

def digits(value, count=4):
    return f"{value:.{count}g}"


def seconds(value):
    """A duration with its unit: "1.5 ms"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= size:
            return f"{digits(value / size)} {unit}"
    return f"{digits(value / 1e-9)} ns"


def hertz(value):
    for unit, size in (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3)):
        if abs(value) >= size:
            return f"{digits(value / size)} {unit}"
    return f"{digits(value)} Hz"


def heading(path, source, telescope):
    """The first line above pictures of a file."""
    words = path.rsplit("/", 1)[-1]
    words += f":  {source}" if source else ""
    words += f"  ({telescope})" if telescope else ""
    return words.replace("\n", "\\n")

