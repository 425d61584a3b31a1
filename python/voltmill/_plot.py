"""First looks at products, by matplotlib. At most some million numbers are read at a time, and averaged."""

import numpy as np

PIXELS = 2000 # more rows than these are averaged, so that nothing narrow is left out
AT_ONCE = 1 << 22


def draw(product, axes, which):
    import matplotlib.pyplot as pyplot
    if axes is None:
        axes = pyplot.subplots(layout="constrained")[1]
    key = list(product.index(**which))
    # One stream is drawn: the first, unless said.
    for i, name in enumerate(product.dims):
        if name in ("station", "beam", "pol", "chan") and isinstance(key[i], slice):
            key[i] = range(product.shape[i])[key[i]][0]
    if product.kind == "voltages":
        _spectrum(product, key, axes)
    elif product.kind == "dedispersed":
        _image(axes, _values(product, key, 1), product.axes["time"][key[1]], product.axes["dm"][key[0]], "s",
               "DM / pc cm$^{-3}$", product)
    else:
        _waterfall(product, key, axes)
    streams = [f"{product.axes[n][k] / 1e6:.10g} MHz" if n == "chan" else str(product.axes[n][k])
               for n, k in zip(product.dims, key) if isinstance(k, int)]
    axes.set_title(" ".join([product.path.rsplit("/", 1)[-1]] + streams))
    return axes


def _power(values):
    return (values.real ** 2 + values.imag ** 2) if np.iscomplexobj(values) else values


def _values(product, key, axis):
    """What the key names, averaged along one axis to at most PIXELS."""
    at = range(product.shape[axis])[key[axis]] if isinstance(key[axis], slice) else None
    if at is None or len(at) == 0:
        raise ValueError(f"{product.path}: nothing to draw along {product.dims[axis]}")
    each = -(-len(at) // PIXELS)
    row = max(1, int(np.prod(product.shape)) // product.shape[axis])
    step = max(1, AT_ONCE // (row * each)) * each
    parts = []
    kept = [i for i, k in enumerate(key) if isinstance(k, slice)].index(axis)
    for first in range(0, len(at), step):
        part = at[first:first + step]
        key[axis] = slice(part[0], part[-1] + 1, part.step)
        values = np.moveaxis(_power(product[tuple(key)]), kept, 0)
        edges = np.arange(0, len(values), each)
        sizes = np.diff(np.append(edges, len(values))).reshape((-1,) + (1,) * (values.ndim - 1))
        parts.append(np.add.reduceat(values, edges, axis=0, dtype="f8") / sizes)
    key[axis] = slice(at[0], at[-1] + 1, at.step)
    return np.moveaxis(np.concatenate(parts), 0, kept)


def _decibels(values):
    with np.errstate(divide="ignore", invalid="ignore"):
        return 10 * np.log10(np.where(values > 0, values, np.nan))


def _waterfall(product, key, axes):
    values = _values(product, key, 0)
    times = product.seconds[key[0]]
    frequency = product.frequency[key[-1]] / 1e6
    where = (frequency, times, "frequency / MHz", "seconds", product)
    if (values < 0).any(): # Stokes Q, U, V, parts of products: no powers
        _image(axes, values, *where, label="value", about_zero=True)
    else:
        _image(axes, _decibels(values), *where, label="power / dB")


def _image(axes, values, x, y, x_label, y_label, product, label="power", about_zero=False):
    low, high = np.nanpercentile(values, (1, 99)) if np.isfinite(values).any() else (0, 1)
    if about_zero:
        high = max(abs(low), abs(high))
        low = -high
    x, y = np.atleast_1d(x), np.atleast_1d(y)
    half = [(v[-1] - v[0]) / max(len(v) - 1, 1) / 2 or 0.5 for v in (x, y)]
    image = axes.imshow(values, aspect="auto", origin="lower", vmin=low, vmax=high, interpolation="nearest",
                        cmap="RdBu_r" if about_zero else None,
                        extent=(x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1]))
    start = "" if product.start is None else f" after {str(product.start)[:19]} UTC"
    axes.set_xlabel("seconds" + start if x_label == "s" else x_label)
    axes.set_ylabel("seconds" + start if y_label == "seconds" else y_label)
    axes.figure.colorbar(image, ax=axes, label=label)


def _spectrum(product, key, axes, points=1024):
    """The mean power spectrum of (at most 4 million) samples of one stream, by Hann windows."""
    at = product.dims.index("time")
    rows = range(product.shape[at])[key[at]][:AT_ONCE]
    points = min(points, len(rows))
    key[at] = slice(rows[0], rows[-1] + 1)
    samples = product[tuple(key)][:len(rows) // points * points].reshape(-1, points) * np.hanning(points)
    rate = float(product.attributes["sample_rate_hz"])
    chan = product.frequency[key[product.dims.index("chan")]] if "chan" in product.dims else 0.0
    sideband = product.attributes.get("sideband", 1)
    if np.iscomplexobj(samples):
        power = np.fft.fftshift(_power(np.fft.fft(samples)), axes=1).mean(axis=0)
        offset = np.fft.fftshift(np.fft.fftfreq(points, 1 / rate)) * sideband
    else:
        power = _power(np.fft.rfft(samples)).mean(axis=0)
        offset = (np.fft.rfftfreq(points, 1 / rate) - rate / 4) * sideband
    axes.plot((chan + offset) / 1e6, _decibels(power))
    axes.set_xlabel("frequency / MHz")
    axes.set_ylabel("power / dB")
