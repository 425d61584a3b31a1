"""Pictures before they are drawn: panels with axes, lines and images; drawn by matplotlib."""

from __future__ import annotations

import base64
import csv
import html
import io
import math
import re
import warnings
from dataclasses import dataclass, field, replace

import numpy as np

LETTER = 17                   # pixels, of a picture of default size
LEAST_LETTER, LEAST_ACROSS, LEAST_DOWN = 9, 6.5, 5  # pixels; letters of the smallest axes
PANEL, HEAD = 94, 20          # pixels of a share of a panel's height; above all panels
LEFT, RIGHT = 6.5, 7.0        # letters beside the axes: labels; colour bar or legend
COLOURS = {"blue": "#0072b2", "orange": "#d55e00", "green": "#009e73", "pink": "#cc79a7",
           "sky": "#56b4e9", "yellow": "#e69f00", "grey": "#8c8c8c", "black": "#222222"}
CYCLE = ("blue", "orange", "green", "pink", "sky", "yellow", "grey", "black")
BLANK = "#c8c8c8"
MOST_ACROSS, MOST_DOWN = 8192, 2048  # pixels of an image
PHONE = 480, 320, 15, 1.5     # width, height, letters of pictures that are read on a phone, too
MOST_MARKS, MOST_SOURCE = 100, 80    # points of a line that are marked; letters of a source
NUMBERS = ("panel", "title", "line", "x", "y", "value")
STYLES = {"line": {"linewidth": 1.2}, "faint": {"linewidth": 0.8, "alpha": 0.8},
          "dashed": {"linewidth": 1.2, "linestyle": "--", "marker": "o", "markersize": 4},
          "marked": {"linewidth": 1.2, "marker": "o", "markersize": 4},
          "points": {"linestyle": "", "marker": "o", "markersize": 3},
          "crosses": {"linestyle": "", "marker": "x", "markersize": 6},
          "steps": {"linewidth": 1.2, "drawstyle": "steps-mid"}}


@dataclass
class Line:
    """Points of a line; of circles, areas grow with the square of `size`, from the least colour."""

    x: np.ndarray
    y: np.ndarray
    title: str = ""
    look: str = "line"
    colour: str = "blue"
    size: np.ndarray | None = None


@dataclass
class Axis:
    """Label, limits (None: those of the numbers), base of a logarithmic axis (None: linear), the
    numbers at it (None: as suits)."""

    label: str = ""
    limits: tuple | None = None
    base: int | None = None
    ticks: tuple | None = None


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


class Refused(ValueError):
    """A picture that cannot be drawn: `status` is that of the program."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status


def default_width(columns):
    """Pixels of a picture."""
    return 1000 if columns <= 1 else columns * (660 if columns == 2 else 520)


def columns_beside(width, columns):
    """How many columns are side by side; a picture too narrow for all has some below others."""
    most = int((width or default_width(columns)) / (LEAST_LETTER * (LEFT + RIGHT + LEAST_ACROSS)))
    return -(-columns // -(-columns // min(max(most, 1), columns)))


def pixels_across(choice, columns):
    """How many pixels an image has from left to right."""
    if choice.get("pixels"):
        return choice["pixels"]
    columns = columns_beside(choice.get("width"), columns)
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
    return LETTER * min(max(width / default_width(columns), 0.5), 4) ** 0.6


def medians(image, axis):
    """Medians along an axis, which stays; NaN where there is no number, which others ignore."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a row without numbers
        return np.nanmedian(image, axis=axis, keepdims=True)


def colour_limits(image, least, is_signed=False):
    """Limits that all but the least 1 % and the largest 0.5 % fill, at least `least` apart.

    A line that lasts reaches beyond, by twice that range at most: else it would have the colour of
    the strongest noise. `is_signed`: limits on both sides of 0."""
    levels = np.where(np.isfinite(image), abs(image) if is_signed else image, np.nan)
    if np.isnan(levels).all():
        return -float(is_signed), 1.0
    low, high = np.nanpercentile(levels, (1, 99.5))
    low = 0.0 if is_signed else low
    lasting = max(np.nanmax(medians(levels, axis)) for axis in (0, 1))
    high = max(high, min(lasting, high + 2 * (high - low)))
    if is_signed:
        return -max(high, least), max(high, least)
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


def _wrap(text, fits):
    """Lines that fit: broken between words, or within one that is too long."""
    out = []
    for line in text.split("\n"):
        shown = ""
        for word in re.findall(r"\s*\S+", line):
            if shown and not fits(shown + word):
                out.append(shown)
                shown, word = "", word.lstrip()
            while len(word) > 1 and not fits(word):
                count = next((n for n in range(len(word) - 1, 1, -1) if fits(word[:n])), 1)
                out.append(word[:count])
                word = word[count:]
            shown += word
        out.append(shown)
    return "\n".join(out)


def _power(value, base):
    """A number of a logarithmic axis: 8192, 10⁻⁵, 2¹⁸."""
    exponent = round(math.log(value, base)) if value > 0 else 0
    if (1e-3 <= value < 1e5) or not math.isclose(value, base ** exponent):
        return f"{value:g}"
    return str(base) + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _scale(axis, which, name):
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, ScalarFormatter
    ticks = getattr(which, f"{name}axis")
    if axis.base:
        getattr(which, f"set_{name}scale")("log", base=axis.base)
        formatter = FuncFormatter(lambda value, _: _power(value, axis.base))
        low, high = getattr(which, f"get_{name}lim")()
        is_short = high < 10 * low and axis.base == 10
        if is_short:
            ticks.set_minor_locator(LogLocator(base=10, subs=(2, 3, 5)))
        ticks.set_minor_formatter(formatter if is_short else NullFormatter())
    else:
        formatter = ScalarFormatter(useOffset=False)
        formatter.set_powerlimits((-4, 7))
    ticks.set_major_formatter(formatter)
    if axis.ticks:
        ticks.set_ticks(axis.ticks)
    if axis.limits and axis.limits[1] > axis.limits[0]:
        getattr(which, f"set_{name}lim")(*axis.limits)
    getattr(which, f"set_{name}label")(plain(axis.label))


def draw_lines(panel, axes, letter):
    for line in panel.lines:
        colour = COLOURS.get(line.colour, line.colour)
        label = {"label": plain(line.title)} if line.title else {}
        if line.size is not None:
            ratio = line.size / max(panel.z.limits[0], 1)
            area = (0.5 * letter) ** 2 * np.clip(ratio ** 2, 1, 40)
            axes.scatter(line.x, line.y, s=area, facecolors="none", edgecolors=colour,
                         linewidths=1.3, **label)
        elif line.look == "bars":
            axes.bar(line.x, line.y, line.x[1] - line.x[0], color=colour, **label)
        else:
            look = STYLES[line.look]
            if np.isfinite(line.y).sum() == 1:  # which is no line
                look = {**look, "marker": "o", "markersize": 4}
            if look.get("linestyle") != "" and len(line.x) > MOST_MARKS:
                look = {**look, "marker": ""}
            axes.plot(line.x, line.y, color=colour, **look, **label)
    if panel.image is None and not any(np.isfinite(line.y).any() for line in panel.lines):
        axes.text(0.5, 0.5, "no numbers", ha="center", va="center", color=COLOURS["grey"],
                  transform=axes.transAxes, fontsize=letter)
        axes.set_yticks([])


def draw_image(panel, axes, image):
    import matplotlib
    from matplotlib.colors import ListedColormap
    colours = matplotlib.colormaps["RdBu_r" if panel.about is not None else "viridis"].copy()
    if panel.blank == "white":  # on which yellow does not show
        colours = ListedColormap(colours(np.linspace(0.8, 0, 256)))
    colours.set_bad(panel.blank)
    return axes.imshow(np.ma.masked_invalid(image), aspect="auto", origin="lower", cmap=colours,
                       vmin=panel.z.limits[0], vmax=panel.z.limits[1], interpolation="none",
                       extent=(*panel.x.limits, *panel.y.limits))


def draw_panel(panel, axes, most=None, letter=10):
    """Draws into axes of matplotlib; an image of at most `most` (rows, columns). Returns it."""
    image = None
    if panel.image is not None:
        about = 0.0 if panel.about is None else panel.about
        shown = panel.image if most is None else _shrink(panel.image, *most, about)
        image = draw_image(panel, axes, shown)
    else:
        axes.grid(color="#dddddd", linewidth=0.7)
        axes.set_axisbelow(True)
    draw_lines(panel, axes, letter)
    _scale(panel.x, axes, "x")
    _scale(panel.y, axes, "y")
    return image


def _labels(axis):
    return axis.get_major_formatter().format_ticks(axis.get_majorticklocs())


def _shorten(label, power, fits):
    """A label with the power of ten of its numbers, or its unit with it, if that alone fits."""
    full = label + (f" / {power}" if power else "")
    unit = re.search(r"\((.*)\)$", label)
    return unit[1] + full[len(label):] if unit and not fits(full) else full


def _with_unit(axis):
    """A short axis of seconds in a smaller unit, and how many of it a second has."""
    most = max(map(abs, axis.limits or (0, 0)))
    for unit, below, count in (("ns", 1e-7, 1e9), ("µs", 1e-4, 1e6), ("ms", 0.1, 1e3)):
        if axis.label.endswith("(s)") and 0 < most < below:
            limits = tuple(limit * count for limit in axis.limits)
            return replace(axis, label=axis.label[:-2] + unit + ")", limits=limits), count
    return axis, 1


def _in_units(panel):
    """A panel as it is drawn."""
    (x, across), (y, up) = _with_unit(panel.x), _with_unit(panel.y)
    lines = [replace(line, x=line.x * across, y=line.y * up) for line in panel.lines]
    return replace(panel, x=x, y=y, lines=lines)


class _Layout:
    """Places panels below each other, in pixels from the picture's upper left corner."""

    def __init__(self, figure, width, height, letter=0, fine=1):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
        self.columns, self.fine = columns_beside(width, figure.columns), fine
        self.panels = [_in_units(panel) for panel in figure.panels]
        self.width = width or default_width(self.columns)
        self.canvas = Canvas(figsize=(self.width / 72, 1), dpi=72, facecolor="white")
        self.renderer = FigureCanvasAgg(self.canvas).get_renderer()
        self.letter = letter or letter_of(self.width, self.columns)
        self._wrap_title(figure.title)
        while height and self._least_height() > height and self.letter > LEAST_LETTER:
            self.letter = max(self.letter - 1, LEAST_LETTER)
            self._wrap_title(figure.title)
        if height and self._least_height() > height:
            least = math.ceil(self._least_height())
            raise Refused(f"--size {self.width}x{height} is too small for {len(self.panels)} "
                          f"panels: expected {self.width}x{least} or more, or fewer panels "
                          "(--kind, --pol)")
        self.height = height or int(self._default_height())
        self.canvas.set_size_inches(self.width / 72, self.height / 72)

    def _wide(self, text, size=1.0):
        """Pixels of a text whose letters have this part of the picture's size."""
        from matplotlib.font_manager import FontProperties
        font = FontProperties(size=size * self.letter)
        return self.renderer.get_text_width_height_descent(plain(text), font, False)[0]

    def _wrap_title(self, title):
        most = self.width - 2 * self.letter
        self.title = _wrap(title, lambda line: self._wide(line, 1.05) <= most)
        lines = len(self.title.split("\n")) if self.title else 0
        self.head = HEAD + 1.35 * self.letter * lines

    def _of(self, column):
        """Panels of a column, those of another column below them where there is no width for it."""
        panels = [panel for panel in self.panels if panel.column % self.columns == column]
        return sorted(panels, key=lambda panel: panel.column)

    def _caption(self, panel):
        """Its width leaves space for a note above the colour bar."""
        most = self.width / self.columns - (7 if panel.image is not None else 2) * self.letter
        return _wrap(panel.title, lambda line: self._wide(line, 0.95) <= most)

    def _around(self, panel):
        """Letters above and below a panel's axes: its caption; ticks and their label."""
        lines = len(self._caption(panel).split("\n")) if panel.title else 0
        return 0.9 + 1.25 * lines, 3.4 if panel.x.label else 1.8

    def _least(self, panel):
        """Letters of its axes, from top to bottom."""
        return max(LEAST_DOWN, 1.2 * sum(bool(line.title) for line in panel.lines))

    def _least_height(self):
        return self.head + self.letter * max(
            sum(self._least(panel) + sum(self._around(panel)) for panel in self._of(column))
            for column in range(self.columns))

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
            least = [letter * self._least(panel) for panel in panels]
            around = letter * sum(sum(self._around(panel)) for panel in panels)
            free = self.height - self.head - around - sum(least)
            shares = [panel.share for panel in panels]
            # Shares of all, but for panels that need more.
            wanted = [share * (free + sum(least)) / sum(shares) for share in shares]
            beyond = [max(high - low, 0) for high, low in zip(wanted, least)]
            top, placed = self.head, []
            for panel, low, part in zip(panels, least, beyond):
                above, below = (letter * size for size in self._around(panel))
                high = low + free * part / (sum(beyond) or 1)
                placed.append((panel, top + above, high))
                top += above + high + below
            self._draw_column(column, placed)

    def _right(self, panels):
        """Pixels to the right of a column's axes: a colour bar, a legend."""
        legend = max((self._wide(line.title, 0.82) for panel in panels if panel.image is None
                      for line in panel.lines if line.title), default=0)
        legend += 2.8 * self.letter if legend else 1.5 * self.letter
        return max(legend, RIGHT * self.letter * any(panel.image is not None for panel in panels))

    def _draw_column(self, column, placed):
        letter, wide = self.letter, self.width / self.columns
        right = self._right([panel for panel, *_ in placed])
        is_beside = right <= 0.5 * wide
        right = right if is_beside else RIGHT * letter
        drawn = []
        for panel, top, high in placed:
            across = max(wide - LEFT * letter - right, 30)
            axes = self.canvas.add_axes([0.1, 0.1, across / self.width, high / self.height])
            image = draw_panel(panel, axes, (high * self.fine, across * self.fine), letter)
            axes.tick_params(labelsize=0.87 * letter, length=0.3 * letter, pad=0.25 * letter)
            axes.tick_params(which="minor", labelsize=0.7 * letter)
            drawn.append((panel, axes, image, top, high))
        for panel, axes, *_ in drawn:
            self._set_ticks(panel, axes, wide - LEFT * letter - right)
        labels = max(self._wide(label, 0.87) for _, axes, *_ in drawn
                     for label in _labels(axes.yaxis) or [""])
        left = max(labels + 2.9 * letter, 5 * letter)
        across = max(wide - left - right, 30)
        for panel, axes, image, top, high in drawn:
            place = [(column * wide + left) / self.width, 1 - (top + high) / self.height,
                     across / self.width, high / self.height]
            axes.set_position(place)
            axes.yaxis.set_label_coords(-(labels + 0.9 * letter) / across, 0.5)
            self._finish(panel, axes, image, place, left, is_beside)

    def _fit(self, label, size):
        """Pixels of the letters of a label beside an axis of this size."""
        return 0.95 * self.letter * min(1, (size + self.letter) / max(self._wide(label, 0.95), 1))

    def _set_ticks(self, panel, axes, across):
        from matplotlib.ticker import MaxNLocator
        if panel.name == "histogram":
            axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        if not panel.x.base and not panel.x.ticks:
            for _ in range(2):
                label = max((self._wide(label, 0.87) for label in _labels(axes.xaxis)), default=0)
                count = min(max(int(across / (label + 1.4 * self.letter)), 2), 10)
                axes.xaxis.set_major_locator(MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]))

    def _finish(self, panel, axes, image, place, left, is_beside):
        letter = self.letter
        for axis, label, size in ((axes.xaxis, panel.x.label, place[2] * self.width),
                                  (axes.yaxis, panel.y.label, place[3] * self.height)):
            _labels(axis)  # settles the power of ten
            power = axis.get_major_formatter().get_offset()
            axis.offsetText.set_visible(False)
            label = _shorten(label, power, lambda text: self._wide(text, 0.95) <= size + letter)
            axis.set_label_text(plain(label), fontsize=self._fit(label, size))
        if panel.title:
            axes.annotate(plain(self._caption(panel)), (0, 1), (-left + letter, 0.45 * letter),
                          xycoords="axes fraction", textcoords="offset points", va="bottom",
                          fontsize=0.95 * letter, linespacing=1.2, annotation_clip=False)
        if image is not None:
            self._add_bar(panel, image, place)
        elif any(line.title for line in panel.lines):
            where = ({"loc": "upper left", "bbox_to_anchor": (1, 1.03)} if is_beside else
                     {"loc": "best"})
            axes.legend(fontsize=0.82 * letter, frameon=not is_beside, framealpha=0.85,
                        handlelength=1.2, handletextpad=0.5, borderaxespad=0.4, **where)
        for side in ("top", "right"):
            axes.spines[side].set_visible(panel.image is not None)

    def _add_bar(self, panel, image, place):
        letter = self.letter
        x = place[0] + place[2] + 0.6 * letter / self.width
        bar = self.canvas.add_axes([x, place[1], 0.8 * letter / self.width, place[3]])
        self.canvas.colorbar(image, cax=bar)
        bar.tick_params(labelsize=0.82 * letter, length=0.25 * letter)
        _labels(bar.yaxis)
        power = bar.yaxis.get_major_formatter().get_offset()
        bar.yaxis.offsetText.set_visible(False)
        size = place[3] * self.height
        label = _shorten(panel.z.label, power, lambda text: self._wide(text, 0.95) <= size + letter)
        bar.set_ylabel(plain(label), fontsize=self._fit(label, size), labelpad=0.35 * letter)
        if panel.blank == BLANK and not np.isfinite(panel.image).all():
            # The logarithm of 0 is not finite.
            words = ["NaN"] * np.isnan(panel.image).any() + ["0"] * np.isneginf(panel.image).any()
            bar.annotate("grey: " + ", ".join(words), (0, 1), (-0.6 * letter, 0.45 * letter),
                         xycoords="axes fraction", textcoords="offset points",
                         fontsize=0.82 * letter, annotation_clip=False)


def render(figure, form, width=0, height=0, letter=0, fine=1):
    """A figure as the bytes of a PNG or SVG, and its size in pixels.

    `letter`: pixels of its letters (0: as suits); `fine`: pixels of an image in one of these."""
    import matplotlib
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "voltmill",
                                    "path.simplify_threshold": 0.3, "axes.linewidth": 0.8,
                                    "axes.edgecolor": "#444444", "agg.path.chunksize": 20000})
        layout = _Layout(figure, width, height, letter, fine)
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
            alone = replace(panel, column=0)
            data, _ = render(Figure("", [alone]), "svg", *PHONE)
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

def digits(value, count=5):
    return f"{value:.{count}g}" if abs(value) < 10 ** count else f"{value:.0f}"


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


def began(start):
    """When the times of a picture begin."""
    return f"0 s: {start} UTC" if start else "0 s: UTC unknown"


def heading(path, source, telescope):
    """The first line above pictures of a file."""
    words = path.rsplit("/", 1)[-1]
    if source:
        words += ":  " + source[:MOST_SOURCE] + "..." * (len(source) > MOST_SOURCE)
    words += f"  ({telescope})" if telescope else ""
    return words.replace("\n", "\\n")

