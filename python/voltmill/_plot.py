"""Pictures of open products, into axes of matplotlib: those of `voltmill plot`."""

import numpy as np

from . import _figure
from ._bank import Bank, BankFigure, Sheet
from ._bursts import Search, SearchFigure
from ._figure import Axis, Line, Panel
from ._series import Series, SeriesFigure

PIXELS = 2000         # of an image, to both sides, at most
AT_ONCE = 1 << 22     # samples of voltages
STREAMS = ("station", "beam", "pol", "chan")


def draw(product, axes, which):
    """Draws one panel; `which` is that of Product.index(). Returns the axes."""
    if axes is None:
        import matplotlib.pyplot as pyplot
        axes = pyplot.subplots(layout="constrained")[1]
    if product.kind == "visibilities":
        raise ValueError(f"{product.path}: visibilities are not drawn here: pyuvdata shows them")
    key = _key(product, which)
    panel = _panel(product, key)
    panel.title = " ".join([product.path.rsplit("/", 1)[-1]] + _streams(product, key))
    image = _figure.draw_panel(panel, axes)
    if image is not None:
        axes.figure.colorbar(image, ax=axes, label=panel.z.label)
        if product.start is not None:
            axes.set_xlabel(f"seconds after {str(product.start)[:19]} UTC")
    axes.set_title(_figure.plain(panel.title))
    return axes


def _key(product, which):
    """Slices of all axes, but the number of one stream: the first, unless it is named."""
    key = list(product.index(**which))
    for i, name in enumerate(product.dims):
        if isinstance(key[i], np.ndarray):
            raise ValueError(f"{product.path}: this range of {name} is not stored side by side")
        chosen = range(product.shape[i])[key[i]]
        if name in STREAMS:
            key[i] = chosen if isinstance(chosen, int) else chosen[0]
        else:
            key[i] = slice(chosen, chosen + 1) if isinstance(chosen, int) else slice(
                chosen.start, chosen.stop)
            if key[i].start >= key[i].stop:
                raise ValueError(f"{product.path}: nothing to draw along {name}")
    return key


def _streams(product, key):
    return [f"{product.axes[name][k] / 1e6:.10g} MHz" if name == "chan" else
            str(product.axes[name][k]) for name, k in zip(product.dims, key) if isinstance(k, int)]


def _panel(product, key):
    if product.kind == "voltages":
        return _spectrum(product, key)
    choice = {"pixels": PIXELS}
    if product.kind == "dedispersed":
        return SeriesFigure(_series(product, key), choice).maps()[0]
    if product.kind == "candidates":
        return SearchFigure(_search(product), choice).figure().panels[0]
    figure = BankFigure(_bank(product, key), choice).read()
    return figure.waterfall(0, not (figure.pixels.least < 0).any())


def _step(values, only=1.0):
    """The distance of evenly spaced values; `only`, if there is but one."""
    return float(values[-1] - values[0]) / (len(values) - 1) if len(values) > 1 else float(only)


def _time_step(product, seconds):
    said = product.attributes
    return _step(seconds, next((said[n] for n in ("time_step", "tsamp", "tsamp_s", "step_s") if n in said), 1))


def _bank(product, key):
    """A product's rows and channels of one stream."""
    time, band = key[0], key[-1]

    def read(row, rows, _first_if, _ifs, chan, chans):
        own = [slice(time.start + row, time.start + row + rows), *key[1:-1],
               slice(band.start + chan, band.start + chan + chans)]
        values = product[tuple(own)]
        if np.iscomplexobj(values):
            values = values.real ** 2 + values.imag ** 2
        return values.reshape(rows, 1, chans)

    seconds, frequency = product.seconds, product.frequency
    step = _time_step(product, seconds)
    data = Sheet(time.stop - time.start, 1, band.stop - band.start, read)
    return Bank(product.path, data, frequency[band], step,
                origin=float(seconds[time.start]) - step / 2,
                channel_hz=_step(frequency, 1e6 * product.attributes.get("foff", 0)), names=[None], types=[None], powers=[True])


def _series(product, key):
    dms, times = key
    seconds = product.axes["time"]
    step = _time_step(product, seconds)

    def read(dm, first, count):
        return product[dms.start + dm, times.start + first:times.start + first + count]

    return Series(product.path, np.asarray(product.axes["dm"][dms], "f8"), times.stop - times.start,
                  step, read, float(seconds[times.start]) - step / 2)


def _search(product):
    """The candidates of a search, without the filterbank."""
    said, rows = product.attributes, product.candidates
    step = float(said["tsamp_s"])
    cell = max(round(_step(product.axes["time"]) / step), 1)
    first = float(product.axes["time"][0]) - cell * step / 2
    found = [{name: row[name].item() for name in rows.dtype.names} for row in rows]
    return Search(product.path, np.asarray(product.axes["dm"], "f8"), found,
                  lambda dm, at, count: product[dm, at:at + count], product.shape[1], cell, step,
                  first, float(said.get("threshold", 0)), int(said.get("widths", 1)), 0.0, 0.0)


def _decibels(values):
    with np.errstate(divide="ignore", invalid="ignore"):
        return 10 * np.log10(np.where(values > 0, values, np.nan))


def _spectrum(product, key, points=1024):
    """The mean power spectrum of samples of one stream, by Hann windows."""
    at = product.dims.index("time")
    rows = range(product.shape[at])[key[at]][:AT_ONCE]
    points = min(points, len(rows))
    key[at] = slice(rows[0], rows[-1] + 1)
    samples = product[tuple(key)][:len(rows) // points * points].reshape(-1, points)
    samples = samples * np.hanning(points)
    rate = float(product.attributes["sample_rate_hz"])
    chan = product.frequency[key[product.dims.index("chan")]] if "chan" in product.dims else 0.0
    sideband = product.attributes.get("sideband", 1)
    if np.iscomplexobj(samples):
        spectra = np.fft.fftshift(np.fft.fft(samples), axes=1)
        offset = np.fft.fftshift(np.fft.fftfreq(points, 1 / rate)) * sideband
    else:
        spectra = np.fft.rfft(samples)
        offset = (np.fft.rfftfreq(points, 1 / rate) - rate / 4) * sideband
    power = spectra.real ** 2 + spectra.imag ** 2
    power = power[np.isfinite(power).all(axis=1)] # without blocks in which samples are missing
    if not len(power):
        raise ValueError(f"{product.path}: no {points} samples in a row to draw: some are missing everywhere")
    power = power.mean(axis=0)
    return Panel("spectrum", "", Axis("frequency (MHz)"), Axis("power (dB)"),
                 lines=[Line((chan + offset) / 1e6, _decibels(power))])
