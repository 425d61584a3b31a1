"""Power and spectra of a job as numpy makes them in double precision, from docs/products.md, docs/job-file.md and
docs/archives.md alone: nothing is taken from voltmill's C code. tests/long/jobs.py compares.

Voltages are [station][beam][pol][chan][time], coarse channels by ascending sky frequency; `good` says which samples
are there. Every number has a tolerance: what 32-bit floats of the program may move it."""
import numpy as np

JOINT = {"separate": False, "I": True, "IQUV": True, "coherency": True}
STEPS = {("power", 8): (16, 64, 1, 255), ("power", 16): (256, 8192, 1, 65535),
         ("spectra", 8): (16, 0, -127, 127), ("spectra", 16): (256, 0, -32767, 32767)}
EPSILON = 2.0 ** -24  # of a 32-bit float, half a step


def coefficients(channels, taps, real, window, cutoff, normalise):
    """b[tap][sample], and the window over all M = T P of them, oldest sample first."""
    period = 2 * channels if real else channels
    count = taps * period
    j = np.arange(count)
    u = (j + 0.5) / count
    turns = 2 * np.pi * u
    shape = {"rect": np.ones(count), "hann": 0.5 - 0.5 * np.cos(turns), "hamming": 0.54 - 0.46 * np.cos(turns),
             "blackman": 0.42 - 0.5 * np.cos(turns) + 0.08 * np.cos(2 * turns)}[window]
    b = np.sinc(cutoff * (j - (count - 1) / 2) / period) * shape
    gain = {"energy": 1 / np.sqrt((b * b).sum()), "peak": 1 / b.sum(), "none": 1}[normalise]
    return (b * gain).reshape(taps, period)


class Bank:
    """All spectra of a filter bank: Y [spectrum][station][beam][pol][chan][channel], and of each the share of the
    filter's energy that met good samples: w [spectrum][station][beam][pol][chan], both [...][chan] of two
    polarisations."""

    def __init__(self, volts, good, spec, real, sideband, rate, first_sample):
        self.b = b = coefficients(spec["channels"], spec["taps"], real, spec["window"], spec["cutoff"],
                                  spec["normalise"])
        taps, self.period = b.shape
        self.taps, self.channels, self.real = taps, spec["channels"], real
        self.rate, self.first_sample = rate, first_sample
        raws = volts.shape[-1] // self.period
        self.spectra = raws - taps + 1
        x = np.where(good, volts, 0)
        if sideband < 0 and not real:
            x = np.conj(x)
        x = x[..., :raws * self.period].reshape(*x.shape[:-1], raws, self.period)
        y = sum(x[..., t:t + self.spectra, :] * b[t] for t in range(taps))
        if not real or sideband < 0:
            y = y * (1 - 2 * (np.arange(self.period) % 2))
        self.y = np.moveaxis(np.fft.fft(y)[..., :self.channels], 4, 0)
        self.w = self._weights(good, raws)
        self.both = self._weights(good[:, :, :1] & good[:, :, 1:2], raws)[:, :, :, 0] if good.shape[2] == 2 else None

    def _weights(self, good, raws):
        """1 less the energy that met missing samples; energies are whole numbers of 2^-40."""
        lost = (~good)[..., :raws * self.period].reshape(*good.shape[:-1], raws, self.period)
        energy = np.rint(self.b ** 2 / (self.b ** 2).sum() * 2.0 ** 40)
        lost = sum(lost[..., t:t + self.spectra, :] @ energy[t] for t in range(self.taps))
        return np.moveaxis(1 - lost / energy.sum(), 4, 0)

    def times(self, integrate, rows):
        """Mean of the times of the samples of a row's spectra, seconds after sample 0 of the observation."""
        centre = self.first_sample + (self.taps * self.period - 1) / 2 + np.arange(rows * integrate) * self.period
        return centre.reshape(rows, integrate).mean(1) / self.rate

    def width(self):
        return self.rate / self.period

    def frequencies(self, centres):
        n = np.arange(self.channels)
        offset = n * self.width() - self.rate / 4 if self.real else (n - self.channels // 2) * self.width()
        return (np.asarray(centres)[:, None] + offset).ravel()


def rows_of(x, count):
    """Groups of `count` spectra: [group][count][...]. Drops an incomplete group at the end."""
    return x[:len(x) // count * count].reshape(len(x) // count, count, *x.shape[1:])


def sums_error(power):
    """How far 32-bit floats may be from sums of |Y|^2 [...][chan][channel], which the project promises
    (docs/products.md, Checking a product)."""
    y = 5e-6 * np.sqrt(power.mean(-1, keepdims=True)) + 5e-7 * np.sqrt(power.max(-1, keepdims=True))
    return 2 * np.sqrt(power) * y + y ** 2 + 18 * EPSILON * power


def as_stored(weight):
    """Weights are 32-bit floats, of which 1 means that nothing is missing."""
    return np.where(weight < 1, np.minimum(weight.astype("f4"), np.float32(1 - EPSILON)), 1).astype("f8")


class Lines:
    """Arrays beside each other in a row: value, tolerance and weight [row][station][beam][line][channel]."""

    def __init__(self, value, error, weight, names):
        self.value, self.error, self.weight, self.names = value, error, weight, names


def flat(x):
    """[...][chan][channel] side by side."""
    return x.reshape(*x.shape[:-2], -1)


def spread(x, channels):
    """A number for each coarse channel becomes one for each channel."""
    return np.repeat(x, channels, axis=-1)


def divided(value, weight, renormalises):
    if not renormalises:
        return value
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(weight < 1, value / weight, value)


class Flags:
    """Which cells are left out: [cell][station][beam][pol][channel]."""

    def __init__(self, bank, product, centres, mask, found, rows):
        flag = product["flag"]
        self.m = m = flag["spectra"]
        cells = rows * (product["integrate"] // m)
        power = np.abs(bank.y[:cells * m]) ** 2
        grouped = rows_of(power, m)
        s1, s2 = grouped.sum(1), (grouped ** 2).sum(1)
        whole = spread(rows_of(bank.w[:cells * m], m).min(1) == 1, bank.channels).reshape(s1.shape)
        self.kurtosis, self.kurtosis_error = None, None
        if m > 1:
            with np.errstate(divide="ignore", invalid="ignore"):
                k = (m + 1) / (m - 1) * (m * s2 / s1 ** 2 - 1)
                self.kurtosis = flat(np.where(whole & (s1 > 0), k, np.nan))
                # The error of a sum of fourth powers: twice the relative error of the power of each spectrum.
                self.kurtosis_error = flat(1e-5 + 8 * sums_error(s1) / s1) * (1 + np.abs(self.kurtosis))
        self.why = np.zeros(flat(s1).shape, "u1")
        if "kurtosis" in flag and flag["kurtosis"] > 0:
            self._judge(bank, found)
        frequency = bank.frequencies(centres)
        times = bank.times(m, cells)
        half = m * bank.period / bank.rate / 2
        for line in mask:
            if line["kind"] == "product":
                self._take_product(line, frequency, bank.width(), times, half)
                continue
            channel = np.arange(len(frequency))
            hit = (channel >= line["low"]) & (channel <= line["high"]) if line["kind"] == "channels" else \
                (frequency + bank.width() / 2 > line["low"]) & (frequency - bank.width() / 2 < line["high"])
            when = np.ones(cells, bool) if line["seconds"] is None else \
                (times + half > line["seconds"][0]) & (times - half < line["seconds"][1])
            self.why |= np.where(when[:, None] & hit, 2, 0).astype("u1")[:, None, None, None]
        for first, last in flag.get("channels", []):
            self.why[..., first:last + 1] |= 4
        if JOINT[product["polarisation"]]:
            self.why[...] = np.bitwise_or.reduce(self.why, axis=3, keepdims=True)

    def _take_product(self, mask, frequency, width, times, half):
        """Returns the cells that overlap a flagged cell of the product `mask` [cell][if][channel] of the same
        streams. Edges that rounding alone moves across each other do not overlap."""
        def overlap(centres, half_width, others, half_other):
            return np.abs(centres[:, None] - others) < (half_width + half_other) * (1 - 1e-9)
        when = overlap(times, half, mask["times"], mask["half"]).astype("f8")
        where = overlap(frequency, width / 2, mask["frequency"], mask["width"] / 2).astype("f8")
        hit = np.einsum("ct,tik,fk->cif", when, (mask["flags"] > 0).astype("f8"), where, optimize=True) > 0
        self.why |= np.where(hit, 2, 0).astype("u1").reshape(self.why.shape)

    def _judge(self, bank, found):
        """By the product's own limits; a kurtosis that rounding may move across one is taken as it was found."""
        with np.errstate(invalid="ignore"):
            out = (self.kurtosis < found["low"]) | (self.kurtosis > found["high"])
            near = (np.abs(self.kurtosis - found["low"]) <= self.kurtosis_error) | \
                (np.abs(self.kurtosis - found["high"]) <= self.kurtosis_error)
            stored = found["kurtosis"]
            out = np.where(near, (stored < found["low"]) | (stored > found["high"]), out)
        if bank.real:
            out[..., ::bank.channels] = False
        self.why |= out.astype("u1")


def detect(bank, product, flags, rows):
    """Rows before stations, beams and neighbours become one."""
    integrate, polarisation = product["integrate"], product["polarisation"]
    renormalises = product["weights"] == "renormalise"
    y = bank.y[:rows * integrate]
    each = flags.m if flags else integrate
    cells = integrate // each
    good = np.ones((rows, cells, 1, 1, 1, 1))
    if flags:
        good = (flags.why == 0).reshape(rows, cells, *flags.why.shape[1:])

    def summed(x):
        return (flat(rows_of(rows_of(x, each).sum(1), cells)) * good).sum(1)

    def weight(w):
        w = spread(rows_of(rows_of(w[:rows * integrate], each).mean(1), cells), bank.channels)
        return (w * good).mean(1)

    def rounded_weight(x, w):
        """Returns the effect of the energies' rounding to whole numbers on numbers that are divided by a small
        weight."""
        return np.where(w < 1, np.abs(x) * bank.b.size * 2.0 ** -41 / np.maximum(w, 1e-300), 0) if renormalises else 0

    power = summed(np.abs(y) ** 2)
    error = flat(sums_error(rows_of(np.abs(y) ** 2, integrate).sum(1)))
    w = weight(bank.w)
    names = [f"{p}" for p in range(y.shape[3])]
    if not JOINT[polarisation]:
        lines = Lines(divided(power, w, renormalises), divided(error, w, renormalises), w, names)
        lines.error = lines.error + rounded_weight(lines.value, w)
    else:
        a, b = (divided(power, w, renormalises)[:, :, :, p] for p in (0, 1))
        both = weight(bank.both[:, :, :, None])[:, :, :, 0]
        cross = divided(summed(y[:, :, :, :1] * np.conj(y[:, :, :, 1:]))[:, :, :, 0], both, renormalises)
        x, z, turned = (b, a, np.conj(cross)) if product["is_swapped"] else (a, b, cross)
        sign = -1 if product["stokes_v"] == "psr" else 1
        if product["feed"] == "linear":
            stokes = [x + z, x - z, 2 * turned.real, sign * 2 * turned.imag]
        else:
            stokes = [x + z, 2 * turned.real, 2 * turned.imag, sign * (x - z)]
        values, names = {"I": ([a + b], ["I"]), "IQUV": (stokes, list("IQUV")),
                         "coherency": ([a, b, cross.real, cross.imag], ["AA", "BB", "CR", "CI"])}[polarisation]
        each_both = both[:, :, :, None]
        error = (divided(error, each_both, renormalises) + rounded_weight(np.stack([a, b], 3), each_both)).sum(3)
        lines = Lines(np.stack(values, 3), np.stack([error] * len(values), 3), np.stack([both] * len(values), 3), names)
    # Rows with too many missing samples, or only those, are NaN.
    lines.lost = (as_stored(lines.weight) < product["min_weight"]) | \
        ((lines.weight <= 0) & bool(renormalises or flags))
    return lines


def add_up(lines, product):
    """Sums over stations, beams."""
    over = [axis for axis, name in ((1, "stations"), (2, "beams")) if name in product["sum"]]
    if not over:
        lines.value = np.where(lines.lost, np.nan, lines.value)
        return
    antennas = lines.value.shape[1:3]
    factor = np.ones((1, *antennas, 1, 1))
    if product["factors"] is not None:
        factor = factor * np.reshape(product["factors"], (1, *(n if axis in over else 1 for axis, n in
                                                               zip((1, 2), antennas)), 1, 1))
    axes = tuple(over)
    left = ~lines.lost
    total = factor.sum(axes, keepdims=True)
    rest = (factor * left).sum(axes, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = total / rest if product["weights"] == "renormalise" else 1.0
        value = np.where(left, lines.value, 0)
        value, error = ((factor * x).sum(axes, keepdims=True) * scale for x in (value, np.where(left, lines.error, 0)))
    lines.weight = (factor * left * as_stored(lines.weight)).sum(axes, keepdims=True) / total
    lines.error = error + 4 * EPSILON * np.abs(value)
    lines.lost = (as_stored(lines.weight) < product["min_weight"]) | ~left.any(axes, keepdims=True)
    lines.value = np.where(lines.lost, np.nan, value)


def keep(lines, product):
    """A range of channels, and means of neighbours that are not NaN."""
    first, last = product["kept"]
    n = product["average"]
    value, error, weight = (x[..., first:last + 1] for x in (lines.value, lines.error, lines.weight))
    value, error, weight = (x.reshape(*x.shape[:-1], -1, n) for x in np.broadcast_arrays(value, error, weight))
    there = ~np.isnan(value)
    count = there.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        lines.value = np.where(there, value, 0).sum(-1) / count
        lines.error = np.where(there, error, 0).sum(-1) / count + 2 * EPSILON * np.abs(lines.value)
    lines.value[count == 0] = np.nan
    lines.kept_weight = np.where(there, weight, 0).mean(-1) if n > 1 else weight[..., 0]


def side_by_side(x):
    """[row][station][beam][line][...] as [row][if][...]."""
    return x.reshape(x.shape[0], -1, *x.shape[4:])


def scales_of(value, error, kind, bits, rows, is_first, lines_of_antenna):
    """scale, offset and their tolerances [block][if][channel] of numbers [row][if][channel], complex of spectra. NaN
    where the documentation does not settle them."""
    steps, centre = STEPS[kind, bits][:2]
    blocks = range(0, rows if is_first else len(value), rows)
    out = []
    for at in blocks:
        x, e = value[at:at + rows], error[at:at + rows]
        if np.iscomplexobj(x):
            x, e = np.concatenate([x.real, x.imag]), np.concatenate([e, e])
        finite = np.isfinite(x)
        count = np.maximum(finite.sum(0), 1)
        x = np.where(finite, x, 0)
        mean = x.sum(0) / count if kind == "power" else np.zeros(x.shape[1:])
        rms = np.sqrt((np.where(finite, x - mean, 0) ** 2).sum(0) / count)
        worst = np.where(finite, e, 0).max(0)
        scale = np.maximum(rms / steps, np.abs(mean) * 2.0 ** -23)
        is_empty = (x == 0).all(0)
        scale[is_empty] = 1
        close = np.abs(mean) * 2.0 ** -21 + worst
        out.append([scale, mean - centre * scale, close / steps + 1e-5 * scale + 2.0 ** -23 * np.abs(mean),
                    close * (1 + centre / steps) + 1e-5 * centre * scale, is_empty])
    scale, offset, scale_error, offset_error, is_empty = (np.stack(part) for part in zip(*out))
    if is_first:
        fill_empty(scale, offset, is_empty, scale_error, offset_error, lines_of_antenna)
    return scale, offset, scale_error, offset_error


def fill_empty(scale, offset, is_empty, scale_error, offset_error, lines):
    """A channel without numbers in the first block takes the mean of the others of its station, beam and
    polarisation, or, where all of these are such, the mean of these means of the other stations and beams."""
    there = ~is_empty[0]
    for i in np.flatnonzero(is_empty[0].any(1)):
        others = [i] if there[i].any() else [j for j in range(i % lines, len(there), lines) if there[j].any()]
        for x in (scale, offset, scale_error, offset_error):
            x[0, i, is_empty[0, i]] = np.mean([x[0, j, there[j]].mean() for j in others]) if others else np.nan


class Product:
    """Content of a product of a bank: data [row][if][channel] with `error`, weights, flags, kurtosis, ..."""

    def __init__(self, bank, product, centres, mask, found):
        integrate = product["integrate"]
        self.rows = bank.spectra // integrate
        self.time = bank.times(integrate, self.rows)
        first, last = product["kept"]
        n = product["average"]
        self.frequency = bank.frequencies(centres)[first:last + 1].reshape(-1, n).mean(1)
        self.flags = Flags(bank, product, centres, mask, found, self.rows) if product["flag"] else None
        if product["kind"] == "spectra":
            self._make_spectra(bank, product)
            return
        lines = detect(bank, product, self.flags, self.rows)
        add_up(lines, product)
        coarse = lines.weight[..., ::bank.channels]
        keep(lines, product)
        self.data, self.error = side_by_side(lines.value), side_by_side(lines.error)
        self.weights = side_by_side(lines.kept_weight if self.flags else coarse)
        self.lines_of_antenna = len(lines.names)

    def _make_spectra(self, bank, product):
        first, last = product["kept"]
        power = np.abs(bank.y) ** 2
        error = 5e-6 * np.sqrt(power.mean(-1, keepdims=True)) + 5e-7 * np.sqrt(power.max(-1, keepdims=True))
        error = np.broadcast_to(error, power.shape)
        lost = spread(as_stored(bank.w) < product["min_weight"], bank.channels)
        self.data = side_by_side(np.where(lost, np.nan + 1j * np.nan, flat(bank.y))[..., first:last + 1])
        self.error = side_by_side(flat(error)[..., first:last + 1])
        self.weights = side_by_side(bank.w)
        self.lines_of_antenna = bank.y.shape[3]
