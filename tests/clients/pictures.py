"""Pictures as they are drawn: no text is cut off or covers another at 600 and 2,000 pixels and on a phone, whatever is
in a file; a line of one channel, and numbers that are none, can be seen. VOLTMILL_TEST_ALL=1: all panels on a phone."""
import os
import sys

import numpy as np

from common import ROOT, close, finish, ok, same, sampled, skip_all

try:
    import matplotlib.backends.backend_agg as agg
except ImportError:
    skip_all("matplotlib is not installed (make deps)")
sys.path.insert(0, os.path.join(ROOT, "python"))
sys.dont_write_bytecode = True
from matplotlib.transforms import Bbox # noqa: E402
from voltmill import _bank, _bursts, _figure, _look, _series, _tables # noqa: E402

random = np.random.default_rng(4)


class Drawn:
    """The texts of a picture with their boxes in pixels, and its pixels."""

    def __init__(self, figure, *size):
        self.texts = []
        plain = agg.RendererAgg.draw_text
        def draw_text(renderer, gc, x, y, text, prop, angle, ismath=False, mtext=None):
            if mtext:
                box = mtext.get_window_extent(renderer)
            else:  # a line of some
                wide, high, below = renderer.get_text_width_height_descent(text, prop, False)
                box = Bbox.from_bounds(x, renderer.height - y - below, wide, high)
            self.texts.append((text, box))
            plain(renderer, gc, x, y, text, prop, angle, ismath, mtext)
        agg.RendererAgg.draw_text = draw_text
        try:
            layout = _figure._Layout(figure, *(size or (0, 0))) # pylint: disable=protected-access
            layout.draw()
            layout.canvas.canvas.draw()
        finally:
            agg.RendererAgg.draw_text = plain
        self.pixels = np.asarray(layout.canvas.canvas.buffer_rgba())[:, :, :3].astype(int)

    @property
    def words(self):
        return [text for text, _ in self.texts]

    def wrong(self):
        """Texts that are cut off, or cover each other by more than a pixel of their boxes' padding."""
        height, width = self.pixels.shape[:2]
        out = [f"cut off: {text!r} {box.extents.round()}" for text, box in self.texts
               if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height]
        # All pairs at once: [text][other]
        edges = np.array([box.padded(-1.5).extents for _, box in self.texts]).reshape(-1, 4).T
        x0, y0 = (np.maximum(low[:, None], low) for low in edges[:2])
        x1, y1 = (np.minimum(high[:, None], high) for high in edges[2:])
        return out + [f"{self.words[i]!r} covers {self.words[j]!r}"
                      for i, j in np.argwhere(np.tril((x1 > x0) & (y1 > y0), -1))]


def bank(values, beside=(), names=None, source=None, powers=True, step=0.01, frequency=None):
    """A filterbank of numbers [row][pol][channel]."""
    rows, pols, chans = values.shape
    def sheet(numbers):
        return _bank.Sheet(*numbers.shape, lambda row, rows, pol, pols, chan, chans:
                           numbers[row:row + rows, pol:pol + pols, chan:chan + chans].astype("f4"))
    hz = 1.4e9 + 5e5 * np.arange(chans) if frequency is None else frequency
    names = names or [None] * pols
    return _bank.Bank("file.h5", sheet(values), hz, step, start="2026-01-01T00:00:00.000000", source=source,
                      channel_hz=5e5, names=names, types=names, powers=[powers] * pols if isinstance(powers, bool) else powers,
                      beside={name: sheet(numbers) for name, numbers in beside})


def gamma(*shape):
    return random.gamma(64, 1 / 64, shape)


def series(count=5000, dms=21):
    values = random.normal(1e7, 1, (dms, count))
    values[dms // 2, count // 2:count // 2 + 4] += 20
    return _series.Series("series.h5", np.arange(dms) * 1.0, count, 1e-3,
                          lambda dm, first, length: values[dm, first:first + length], source="B0329+54")


def search(found=3):
    rows = [{"snr": 6.0 * 1.5 ** i, "dm": 30.0 + i, "time_s": 0.1 + 0.01 * i, "width": 2, "dm_least": 29.0, "dm_most": 35.0,
             "time_first_s": 0.09, "time_last_s": 0.2} for i in range(found)]
    kind = np.dtype([("snr", "f4"), ("width", "u2"), ("offset", "u1"), ("above", "u1")])
    def peaks(dm, cell, cells):
        out = np.zeros(16, kind)
        out[3] = (6 + dm % 7, 2, 5, 1)
        return out[cell:cell + cells]
    return _bursts.Search("found.h5", np.arange(60) * 1.0, rows, peaks, 16, 64, 1e-3, 0.0, 6.0, 64, 1.465e9,
                          _bursts.CONSTANT, source="src1", bank=bank(random.normal(100, 1, (1024, 1, 64)), step=1e-3))


class Looked(_look.Looked):
    """Samples of two polarisations, of two bits."""

    def __init__(self, missing=0):
        values = random.choice([-3.3, -1.0, 1.0, 3.3], (20000, 2))
        values[:missing] = np.nan
        self.volts = {"rate_hz": 1e6, "chan": [1.4e9], "is_complex": False, "is_lower": False, "source": None, "telescope": None}
        self.bank, self.groups, self.chans, self.width, self.rows, self.all = None, ["X", "Y"], 1, 1, 20000, 20000
        self.step, self.places, self.blocks = 1e-6, [0], [values]


# ---- Every kind at every size
noise = gamma(60, 4, 64)
beside = (("weights", np.ones((60, 2, 4))), ("kurtosis", random.normal(1, 0.1, (30, 2, 64))),
          ("flags", np.zeros((30, 2, 64))), ("bandpass", np.ones((2, 1, 64))))
stokes = noise - [[[0], [1], [1], [1]]]
IQUV = {"names": ["I", "Q", "U", "V"], "powers": [True, False, False, False]}
IQ = {name: values[:2] for name, values in IQUV.items()}
cases = {
    "two polarisations": (_bank.draw_bank, bank(noise[:, :2], names=["XX", "YY"], source="J1939+2134")),
    "all that may be beside power": (_bank.draw_bank, bank(noise[:, :2], beside)),
    "Stokes parameters": (_bank.draw_bank, bank(stokes, **IQUV)),
    "huge numbers": (_bank.draw_bank, bank(1e30 * stokes[:, :2], **IQ)),
    "tiny numbers": (_bank.draw_bank, bank(1e-30 * stokes[:, :2], **IQ)),
    "names without a blank": (_bank.draw_bank, bank(noise[:, :1], source="X" * 400)),
    "one number": (_bank.draw_bank, bank(noise[:1, :1, :1])),
    "nothing but NaN": (_bank.draw_bank, bank(np.full((8, 2, 4), np.nan))),
    "a narrow band": (_bank.draw_bank, bank(noise[:, :1], frequency=1420.40575e6 + 2.8 * np.arange(64))),
    "short times": (_bank.draw_bank, bank(noise[:, :1], step=1e-9)),
    "series": (_series.draw_series, series()),
    "a short series of one DM": (_series.draw_series, series(30, 1)),
    "all candidates": (_bursts.draw_search, search()),
    "a first look": (lambda looked, choice: _look.figure(looked, None, {"files": ["obs.raw"]}, ["", "read all"]), Looked()),
    "a candidate": (lambda found, choice: _bursts.draw_search(found, {**choice, "candidate": 1}), search()),
}
panels = []
for name, (draw, source) in cases.items():
    for width, height in [(600, 900)] + [(0, 0), (2000, 1400)] * (name in ("Stokes parameters", "all candidates")):
        wrong = Drawn(draw(source, {"width": width, "height": height}), width, height).wrong()
        ok(not wrong, f"{name} at {width or 'default'}: all texts can be read", "\n".join(wrong[:8]))
    panels += [(name, panel) for panel in draw(source, {}).panels]
for name, panel in sampled(panels, 5, "panels of reports"):
    wrong = Drawn(_figure.Figure("", [_figure.replace(panel, column=0)]), *_figure.PHONE).wrong()
    ok(not wrong, f"{name}, {panel.title} in a report", "\n".join(wrong[:8]))
ok(_figure.PHONE[2] * 328 / _figure.PHONE[0] > 10, "where letters have 10 pixels on a phone of 360")

four = Drawn(_bank.draw_bank(bank(stokes, **IQUV), {"width": 600, "height": 900}), 600, 900)
place = dict(four.texts)
ok(place["pol U, bandpass"].y1 < place["pol I, mean of all channels"].y0 and
   abs(place["pol U, bandpass"].x0 - place["pol I, bandpass"].x0) < 1, "where four columns are too narrow, two are below")
try:
    Drawn(_bank.draw_bank(bank(noise[:, :2], beside), {"width": 600, "height": 400}), 600, 400)
    ok(False, "a picture too small for its panels is refused")
except _bank.Refused as refused:
    least = int(str(refused).split("expected 600x")[1].split()[0])
    ok(refused.status == 2 and 500 < least < 900, "a picture too small for its panels is refused", refused)
    ok(not Drawn(_bank.draw_bank(bank(noise[:, :2], beside), {}), 600, least).wrong(), "of the size that it names it is drawn")

# ---- Lines of one channel, and numbers that are none
DEEP_BLUE, YELLOW = (5, 48, 97), (253, 231, 37)


def lines(figure, colour):
    """Rows of pixels that have a colour in two fifths of their length or more."""
    pixels = Drawn(figure, 600, 400).pixels[:, :450]
    return int(((abs(pixels - colour).max(axis=2) < 40).mean(axis=1) > 0.4).sum())


choice = {"kinds": "waterfall", "width": 600, "height": 400}
many = random.normal(0, 1, (64, 1, 16384))
many[:, 0, 9000] -= 30
ok(1 <= lines(_bank.draw_bank(bank(many, powers=False), choice), DEEP_BLUE) <= 3, "a negative line of one channel of 16,384")
many = gamma(64, 1, 16384)
many[:, 0, 9000] *= 3
ok(1 <= lines(_bank.draw_bank(bank(many), choice), YELLOW) <= 3, "and one of power")
low, high = _figure.colour_limits(10 * np.log10(many[:, 0].T), 0.2)
ok(4 < high < 8, "whose colours reach beyond the noise", low, high)
image = random.normal(0, 1, (100, 100))
close(_figure.colour_limits(image, 0.1), np.percentile(image, (1, 99.5)), 1e-12, "without lines they are those of the noise")

dead = gamma(20, 1, 8)
dead[:, 0, 3] = 0
for value, word in (0, "grey: 0"), (np.nan, "grey: NaN"):
    dead[:, 0, 3] = value
    drawn = Drawn(_bank.draw_bank(bank(dead), {}))
    ok(word in drawn.words, f"{word}: a channel without power", drawn.words)
dead[4, 0, 5] = 0
ok("grey: NaN, 0" in Drawn(_bank.draw_bank(bank(dead), {})).words, "and both")
same(Drawn(_bank.draw_bank(bank(0 * dead[:, :, :3]), {})).words.count("no numbers"), 2, "panels without numbers say so")

# ---- Units, and digits
words = Drawn(_bank.draw_bank(bank(noise[:, :1], step=1.26646875e-3), {})).words
ok("time (ms)" in words and "70" in words and any("1.2665 ms" in word for word in words), "short times are in ms", words)
words = Drawn(_bank.draw_bank(bank(noise[:, :1], step=20.48e-9), {})).words
ok("time (µs)" in words, "shorter ones in µs", words)
words = Drawn(_bank.draw_bank(bank(noise[:, :1], step=1e5), {})).words
ok(any("x 100000 s" in word for word in words), "long ones have no exponent", words)
numbers = _figure.table(_bank.draw_bank(bank(noise[:, :1], step=1e-6), {"kinds": "time"})).decode().splitlines()
ok(numbers[1].split(",")[-3] == "5e-07", "the table of numbers is in seconds", numbers[1])
words = Drawn(_series.draw_series(series(30, 1), {"kinds": "snr"}), 600, 200).words
ok(any("1 DM," in word for word in words) and "0 s: UTC unknown" in words[-1], "one DM, and no start", words)

# ---- Bursts
outside = _bursts.Burst(bank(random.normal(100, 1, (400, 1, 16)), step=1e-3), [0], _series.Pulse(9, 0.39, 4, 5.0), 0.0, 1.4e9)
pulse = outside.panels({"kinds": "pulse"})[0].lines[0]
ok(np.isnan(pulse.y[pulse.x > 0.401]).all() and np.isfinite(pulse.y[pulse.x < 0.39]).all(), "there is no power after the last row")
circles = [line for panel in _bursts.draw_search(search(), {}).panels for line in panel.lines if line.size is not None]
same(circles[0].size, [6.0, 9.0, 13.5], "circles of candidates have their S/N")
words = Drawn(_bursts.draw_search(search(), {})).words
ok(any("times at 1465 MHz" in word for word in words), "the title says where times are counted", words)

short = bank(random.normal(100, 1, (10, 1, 16)))
equal = _series.Series("equal.h5", np.arange(3) * 1.0, 100, 1e-3, lambda dm, first, count: np.ones(count))
for name, draw, source, options in (("a filterbank of ten rows", _bursts.draw_dedispersed, short, {"dm": [5.0, 5.0]}),
                                    ("the pulse of equal samples", _series.draw_series, equal, {"kinds": "pulse"}),
                                    ("a histogram of one candidate", _bursts.draw_search, search(), {"candidate": 0, "kinds": "histogram"})):
    try:
        draw(source, options)
        ok(False, f"{name} is refused")
    except _bank.Refused as refused:
        ok(source.path in str(refused), f"{name} is refused", refused)

# ---- Tables and a first look
stored = [panel for panel in _look.figure(Looked(20000), None, {"files": ["obs.raw"]}, ["", ""]).panels if panel.name == "bandpass"]
same(stored[0].x.limits, [1399.75, 1400.25], "a first look at nothing has the frequencies of the file")
stored = [panel for panel in _look.figure(Looked(), None, {"files": ["obs.raw"]}, ["", ""]).panels if panel.name == "levels"]
close(stored[0].lines[0].x, [-3.3, -1.0, 1.0, 3.3], 1e-6, "numbers of two bits have a mark each")
with open("dedispersion.csv", "w", encoding="utf-8") as file:
    file.write("setup,dms,bits,dm_step,mode,group,gadd_per_s,result\n" + "".join(
        f"askap,{dms},8,0.25,{mode},0,{rate},ok\n" for dms in (2 ** 18, 2 ** 20) for mode, rate in (("brute", 10), ("tree", 50))))
made = _tables.draw_bench(["dedispersion.csv"], print)
os.remove("dedispersion.csv")
same([line.y.tolist() for line in made.panels[0].lines], [[10, 10], [50, 50]], "brute force and a tree are two lines")
ok(not Drawn(made, 600, 400).wrong(), "of which all can be read", Drawn(made, 600, 400).wrong())
same([_figure._power(*pair) for pair in ((2 ** 20, 2), (4096, 2), (1e-5, 10), (0.01, 10), (3e-7, 10))], # pylint: disable=protected-access
     ["2²⁰", "4096", "10⁻⁵", "0.01", "3e-07"], "powers")
finish()
