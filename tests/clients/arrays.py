"""Visibilities and beams of arrays, computed once more in numpy: stations whose samples are late by whole samples and
parts of them, also by delays that change fast; real and complex samples of both sidebands, filter banks that are
oversampled, means over channels, lists of pairs; gaps of single stations, gains, swapped feeds and flagged stations.
Autocorrelations are the mean of power, and a beam of one station its spectra, to the bit. The same bytes however the
work is cut, and `verify` holds.

The stations' delays are those of the table, and beams have azimuths and elevations, so this model needs no sky."""
import hashlib
import os
import re

import h5py
import numpy as np

from common import (Failed, finish, frequencies_of, note, ok, same, scratch, voltmill, write_archive, write_yaml)
from mocks.recorders import write_guppi

RATE, LIGHT, LIMIT, LEAST = 1e5, 299792458.0, 5e-7, np.float32(0.1)
CENTRES = np.array([1.4e9, 1.4001e9])
BEAMS = {"up": (0, 90), "east": (90, 40), "low": (200.5, 20)}
ENU = np.array([[0, 0, 0], [31, -20, 1], [-70, 55, 2], [12, 140, -3], [200, 9, 0], [-90, -90, 4], [33, 77, 0]], float)
POLS = [(0, 0), (1, 1), (0, 1), (1, 0)]
ALL = os.environ.get("VOLTMILL_TEST_ALL")
worst = {"visibilities": 0, "beams": 0}


def late_towards(azimuth, elevation):
    """Delays of the stations towards a place on the ground's sky."""
    azimuth, elevation = np.deg2rad([azimuth, elevation])
    unit = np.array([np.sin(azimuth) * np.cos(elevation), np.cos(azimuth) * np.cos(elevation), np.sin(elevation)])
    return -(ENU @ unit) / LIGHT


class Array:
    """An archive of an array, what numpy makes of it, and the jobs that voltmill does."""

    def __init__(self, name, stations, pols=2, chans=2, samples=6000, real=False, sideband=1, delays=None, integrate=12,
                 bank=None, gaps=(), flagged=(), swapped=(), gains=False, archive=None,
                 filtered=False, centre=None, raw=False):
        self.raw = raw  # GUPPI RAW of several antennas, which the table has in another order
        self.name, self.stations, self.pols, self.chans, self.samples = name, stations, pols, chans, samples
        self.filtered, self.centre = filtered, centre
        self.real, self.sideband, self.integrate = real, sideband, integrate
        self.flagged, self.swapped, self.gains = set(flagged), set(swapped), gains
        self.random = np.random.default_rng(len(name) + stations)
        self.delays = np.zeros((stations, 4))
        given = np.atleast_2d(delays if delays is not None else
                              self.random.normal(0, 5e-5, (stations, 1)) * (np.arange(stations) > 0)[:, None])
        self.delays[:, :given.shape[1]] = given
        self.bank = {"channels": 16, "taps": 4, **(bank or {})}
        oversampling = self.bank.get("oversample", {"num": 1, "den": 1})
        self.seen = np.zeros(stations) # delays towards the centre
        if centre:
            self.seen = late_towards(*centre)[:stations]
        self.period = self.bank["channels"] * (2 if real else 1)
        self.hop = self.period * oversampling["den"] // oversampling["num"]
        self.keep = None
        if archive:
            self.keep = self.bank["channels"] * archive["oversampling_den"] // archive["oversampling_num"]
        self.centres = CENTRES[:chans] if not archive else 1.4e9 + np.arange(chans) * RATE * self.keep / self.bank["channels"]
        self.zero = self.centres - sideband * RATE / 4 if real else self.centres
        self.gaps = np.array(gaps, "u8").reshape(-1, 3)
        self.good = np.ones((stations * pols * chans, samples), bool)
        for first, count, stream in self.gaps.astype(int):
            self.good[stream, first:first + count] = False
        self.good = self.good.reshape(stations, pols, chans, samples)
        self._write(archive)

    def _receive(self):
        """Noise that the stations receive: common to all, late by the delay at the beginning, and noise of their own."""
        hertz = np.fft.rfftfreq(self.samples, 1 / RATE) if self.real else np.fft.fftfreq(self.samples, 1 / RATE)
        x = np.zeros((self.stations, self.pols, self.chans, self.samples), float if self.real else complex)
        for p, c in np.ndindex(self.pols, self.chans):
            wave = self.random.normal(size=(len(hertz), 2)) @ [1, 1j]
            for s in range(self.stations):
                own = self.random.normal(size=(len(hertz), 2)) @ [0.5, 0.5j]
                if self.real:
                    sky = self.zero[c] + self.sideband * hertz
                    late = wave * np.exp(-2j * np.pi * sky * self.delays[s, 0])
                    x[s, p, c] = np.fft.irfft((late if self.sideband > 0 else late.conj()) + own, self.samples)
                else:
                    x[s, p, c] = np.fft.ifft(wave * np.exp(-2j * np.pi * (self.zero[c] + hertz) * self.delays[s, 0]) + own)
        return x.conj() if self.sideband < 0 and not self.real else x

    def _write(self, archive):
        x = self._receive()
        for s in self.swapped:
            x[s] = x[s, ::-1]
        x *= 30 / np.sqrt(np.mean(np.abs(x) ** 2))
        parts = x if self.real else np.stack([x.real, x.imag], -1)
        stored = np.moveaxis(parts.round().clip(-127, 127).astype("i1"), 3, 0)
        x = np.moveaxis(stored.astype(float), 0, 3)
        self.volts = (x if self.real else x[..., 0] + 1j * x[..., 1]) * self.good
        names = {"pol": ["X", "Y"][:self.pols], "station": [f"S{i}" for i in range(self.stations)]}
        self.archive = write_guppi(
            scratch(self.name + ".raw"), np.moveaxis(self.volts, 1, 3), 8, (self.samples - 16) // 16, overlap=16, TBIN=1 / RATE,
            OBSFREQ=np.mean(self.centres) / 1e6, OBSBW=self.chans * RATE / 1e6, STT_IMJD=60000, STT_SMJD=0, STT_OFFS=0,
            FD_POLN="LIN", ANTNMS00=",".join(names["station"][:2]), ANTNMS01=",".join(names["station"][2:])
        ) if self.raw else write_archive(
            self.name, stored, "time,station,pol,chan" + ("" if self.real else ",reim"), RATE,
            "real" if self.real else "complex", centres=self.centres, names=names,
            gaps=self.gaps if len(self.gaps) else None,
            root={"start_mjd_day": 60000, "start_second": 0.0, "time_scale": "UTC"},
            attributes={"sideband": np.int32(self.sideband), **{k: np.int32(v) for k, v in (archive or {}).items()}})
        self.write_table(self.name, self.flagged)

    def write_table(self, name, flagged):
        stations = []
        for s in range(self.stations):
            one = {"name": f"S{s}", "enu_m": list(ENU[s]), "delay_s": list(self.delays[s])}
            if s in flagged:
                one["flagged"] = True
            if s in self.swapped:
                one["swapped"] = True
            if self.gains and s != 1:
                one["gains"] = [{"pol": "Y", "freq_hz": 1.39999e9, "gain": [0.5, 0.25 * s]},
                                {"pol": "Y", "freq_hz": 1.40009e9, "gain": [1 + s, -0.5]},
                                {"freq_hz": 0, "gain": [0.75, -1]}][0 if self.pols == 2 else 2:]
            stations.insert(0 if self.raw else s, one)
        path = write_yaml(name + "-table.yaml", {
            "reference": {"lon_deg": 21.4, "lat_deg": -30.7, "height_m": 1000}, "stations": stations})
        with open(path) as file:
            text = file.read().replace('"True"', "true").replace("True", "true")
        with open(path, "w") as file:
            file.write(text)

    # ---- numpy

    def delay(self, seconds):
        """[station][time]"""
        return self.seen[:, None] + sum(self.delays[:, k, None] * np.asarray(seconds) ** k for k in range(4))

    def compute(self, b, cell):
        taps, period = b.shape
        times = np.linspace(0, self.samples / RATE, 10001)
        late = self.delay(times) * RATE * (not self.filtered)
        slack = 1e-9 * RATE * bool(self.centre)  # of the bounds of delays towards a direction
        self.first = -int(min(np.floor(late.min() - slack), 0))
        spread = int(max(np.ceil(late.max() + slack), 0)) + self.first
        self.spectra = (self.samples - spread - taps * period) // self.hop + 1
        at = np.arange(self.spectra)
        begin = at // cell * cell * self.hop
        middle = (self.first + begin + np.minimum(cell * self.hop, self.samples - spread - begin) / 2) / RATE
        shift = np.rint(self.delay(middle) * RATE).astype(int) * (not self.filtered)  # [station][spectrum]
        self.times = (self.first + at * self.hop + (taps * period - 1) / 2) / RATE
        delay = self.delay(self.times)
        rest = delay - shift / RATE
        self.hertz = frequencies_of(self.centres, RATE, self.bank["channels"], self.real, self.sideband,
                                    keep=self.keep).reshape(self.chans, -1)
        spectra, shares = [], []
        energy = b.ravel() ** 2 / np.sum(b ** 2)
        self.windows = (self.first + shift[:, :, None] + at[:, None] * self.hop + np.arange(taps * period))
        self.energy = energy
        for s in range(self.stations):
            x = self.volts[s][:, :, self.windows[s]]  # [pol][chan][spectrum][sample]
            if self.sideband < 0 and not self.real:
                x = x.conj()
            folded = (x * b.ravel()).reshape(*x.shape[:3], taps, period).sum(3)
            m = np.arange(period)
            y = np.fft.fft(folded) * np.exp(-2j * np.pi * (at[:, None] * self.hop * m % period) / period)
            y = self._order(y, period)
            turns = (self.zero[:, None, None] * delay[s, :, None] +
                     (self.hertz - self.zero[:, None])[:, None, :] * rest[s, :, None])
            y = y * np.exp(2j * np.pi * turns)
            y = y[::-1] if s in self.swapped else y
            spectra.append(y * self.gain(s))
            share = self.good[s][:, :, self.windows[s]]
            shares.append(share[::-1] if s in self.swapped else share)
        self.y = np.array(spectra)  # [station][pol][chan][spectrum][channel]
        self.share = np.array(shares)  # [station][pol][chan][spectrum][sample]

    def _order(self, y, period):
        channels = self.bank["channels"]
        if not self.real:
            y = np.roll(y, channels // 2, axis=-1)
        elif self.sideband < 0:
            y = y[..., (channels + np.arange(channels)) % period]
        else:
            y = y[..., :channels]
        if self.keep:
            first = (channels - self.keep) // 2
            y = y[..., first:first + self.keep]
        return y

    def gain(self, s):
        """[pol][chan][1][channel]"""
        out = np.ones((self.pols, self.chans, 1, self.hertz.shape[-1]), complex)
        if self.gains and s != 1:
            out[:] = 0.75 - 1j
            if self.pols == 2:
                share = np.clip((self.hertz - 1.39999e9) / 1e5, 0, 1)
                out[1, :, 0] = (1 - share) * (0.5 + 0.25j * s) + share * (1 + s - 0.5j)
        return out

    def dumps(self, rows, count):
        """Sums of [spectrum] ... over dumps."""
        n = rows.shape[0] // count
        return rows[:n * count].reshape(n, count, *rows.shape[1:]).sum(1)

    def visibility(self, a, b, q, integrate, average):
        """Pair a, b and product q of polarisations: mean [dump][chan][channel], weights [dump][chan], scale."""
        p, r = POLS[q]
        product = np.moveaxis(self.y[a, p] * self.y[b, r].conj(), 1, 0)  # [spectrum][chan][channel]
        unit = [np.moveaxis(np.abs(self.y[i, k]) ** 2, 1, 0) for i, k in ((a, p), (b, r))]
        weight = self.dumps(np.moveaxis((self.share[a, p] & self.share[b, r]) @ self.energy, 1, 0), integrate) / integrate
        sums = self.dumps(product, integrate).reshape(-1, self.chans, product.shape[-1] // average, average).sum(3)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = sums / (integrate * average) / weight[..., None]
        return mean, weight, np.sqrt(np.mean(unit[0]) * np.mean(unit[1]))

    def beams(self):
        """[spectrum][beam][pol][chan][channel], and weights [spectrum][pol][chan] or of both polarisations."""
        out = []
        active = [s for s in range(self.stations) if s not in self.flagged]
        for direction in BEAMS.values():
            late = late_towards(*direction)[:self.stations] - self.seen
            out.append(sum(self.y[s] * np.exp(2j * np.pi * self.hertz[:, None, :] * late[s]) for s in active))
        weights = sum(self.share[s] @ self.energy for s in active) / len(active)
        both = sum((self.share[s, 0] & self.share[s, -1]) @ self.energy for s in active) / len(active)
        return np.moveaxis(np.array(out), 3, 0), np.moveaxis(weights, 2, 0), np.moveaxis(both, 1, 0)

    def incoherent(self):
        """Sums of the power of all stations that are there: [dump][pol][chan][channel]."""
        usable = [s for s in range(self.stations) if s not in self.flagged]
        power = np.array([np.abs(self.y[s] / self.gain(s)) ** 2 for s in usable])
        power = self.dumps(np.moveaxis(power, 3, 0), self.integrate)
        weight = self.dumps(np.moveaxis(self.share[usable] @ self.energy, 3, 0), self.integrate) / self.integrate
        good = weight >= LEAST
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(good[..., None], power / weight[..., None], 0).sum(1)
            each *= (len(usable) / good.sum(1))[..., None]
        return np.where(((weight * good).mean(1) < LEAST)[..., None], np.nan, each)

    # ---- voltmill

    def job(self, name, products, beams=None, table=None, array=None, **more):
        array = array if array is not None else {"table": scratch((table or self.name) + "-table.yaml")}
        if self.centre and "centre" not in array:
            array["centre"] = dict(zip(("azimuth_deg", "elevation_deg"), self.centre))
        listed = {"beams": [{"name": k, "azimuth_deg": v[0], "elevation_deg": v[1]} for k, v in beams.items()]} if beams else {}
        if self.filtered:
            with open(scratch("one.txt"), "w") as file:
                file.write("1\n")
            more["filter"] = {"coefficients": scratch("one.txt")}
        made = [dict(product, file=f"{name}-{i}.h5") for i, product in enumerate(products)]
        return write_yaml(name + ".yaml", {"input": {"files": self.archive}, "array": array, **listed,
                                           "channelise": self.bank, "products": made, **more})

    def products(self, average):
        return [{"kind": "visibilities", "integrate": self.integrate},
                {"kind": "power", "integrate": self.integrate}, {"kind": "spectra"},
                {"kind": "visibilities", "integrate": 1, "average": average, "pairs": ["S0*S1", "S2*S0", "2*2"]}]

    def beam_products(self):
        total = [{"kind": "power", "integrate": 7, "polarisation": "IQUV"}] if self.pols == 2 else []
        cross = [] if self.centre else [{"kind": "visibilities", "integrate": self.integrate}]
        return [{"kind": "spectra"}, {"kind": "power", "integrate": self.integrate},
                {"kind": "power", "integrate": self.integrate, "sum": "stations"}, *total, *cross]


def visdata(name):
    with h5py.File(scratch(name)) as file:
        data, header = file["Data/visdata"][...], file["Header"]
        data = data["r"] + 1j * data["i"] if data.dtype.names else data
        times, pairs = header["Ntimes"][()], header["Nbls"][()]
        ants = list(zip(header["ant_2_array"][:pairs], header["ant_1_array"][:pairs]))
        shape = (times, pairs, *data.shape[1:])
        return (ants, data.reshape(shape), file["Data/nsamples"][...].reshape(shape),
                file["Data/flags"][...].reshape(shape), file["time"][...], file["frequency"][...])


def spectra_of(name):
    with h5py.File(scratch(name)) as file:
        data = file["spectra"][...]
        return data["r"] + 1j * data["i"] if data.dtype.names else data, file["weights"][...] if "weights" in file else None


def near(found, expected, scale, kind, name):
    """rms of all differences, of the real and imaginary part together, in units of `scale`."""
    if found.shape != expected.shape:
        return ok(False, name, f"shape {found.shape}, expected {expected.shape}")
    there = np.isfinite(expected)
    if not (np.isfinite(found) == there).all() or not there.any():
        return ok(False, name, f"{np.isnan(found).sum()} NaN, expected {np.isnan(expected).sum()} of {found.size}")
    rms = np.sqrt(np.mean(np.abs(found[there] - expected[there]) ** 2)) / scale
    worst[kind] = max(worst[kind], rms)
    return rms <= LIMIT or ok(False, name, f"rms {rms:.3g}, {LIMIT:g} allowed")


def check_visibilities(array, file, integrate, average, pairs):
    """Every line of a product."""
    found, data, nsamples, flags, times, hertz = visdata(file)
    same(found, pairs, f"{file}: pairs")
    right = np.allclose(times, array.dumps(array.times, integrate) / integrate, rtol=0, atol=1e-12)
    right &= np.allclose(hertz, array.hertz.reshape(-1, average).mean(1), rtol=0, atol=1e-3)
    ok(right, f"{file}: times and frequencies")
    data = data.reshape(*data.shape[:2], array.chans, -1, array.pols ** 2)
    nsamples, flags = nsamples.reshape(data.shape), flags.reshape(data.shape)
    fits = True
    for line, (a, b) in enumerate(pairs):
        for q in range(array.pols ** 2):
            mean, weight, scale = array.visibility(a, b, q, integrate, average)
            of = nsamples[:, line, :, :, q]
            fits &= np.abs(of - weight[..., None]).max() < 1.5 * 2.0 ** -24
            blank = np.broadcast_to(of < LEAST, mean.shape)
            fits &= (flags[:, line, :, :, q] == blank).all()
            mean = np.where(blank, np.nan, mean)
            it = data[:, line, :, :, q].copy()
            if a == b and q < 2:
                fits &= (it.imag == 0).all()
            fits &= bool(near(it, mean, scale, "visibilities", f"{file}: {a}*{b} {q}"))
    ok(fits, f"{file}: visibilities, nsamples and flags are numpy's")


def plan_cell(said):
    cell = re.search(r"whole samples renewed every ([0-9,]+) spectra", said)
    return int(cell.group(1).replace(",", "")) if cell else None


def check(array, average=4):
    name = array.name
    job = array.job(name, array.products(average))
    plan = voltmill("plan", job)
    array.cell = plan_cell(plan) or 1
    ok(bool(plan_cell(plan)) != array.filtered, f"{name}: plan says how whole samples are", plan)
    voltmill("run", job)
    with h5py.File(scratch(name + "-1.h5")) as file:
        array.compute(file["coefficients"][...], array.cell)
        power = file["data"][...].reshape(-1, array.stations, array.pols, array.chans * array.hertz.shape[1])
        if "weights" in file:
            share = array.dumps(np.moveaxis(array.share @ array.energy, 3, 0), array.integrate) / array.integrate
            off = np.abs(file["weights"][...].reshape(share.shape) - share).max()
            ok(off < 1.5 * 2.0 ** -24, f"{name}: weights of power are numpy's", off)
    usable = [s for s in range(array.stations) if s not in array.flagged]
    check_visibilities(array, name + "-0.h5", array.integrate, 1, [(a, b) for a in usable for b in usable if a <= b])
    check_visibilities(array, name + "-3.h5", 1, average, [(0, 1), (0, 2), (2, 2)])
    ants, data = visdata(name + "-0.h5")[:2]
    if not array.gains and not array.swapped:
        autos = all(np.array_equal(data[:, i, :, p].real, (power[:, a, p] / np.float64(array.integrate)).astype("f4"),
                                   equal_nan=not len(array.gaps) == 0)
                    for i, (a, b) in enumerate(ants) if a == b for p in range(array.pols))
        ok(autos, f"{name}: autocorrelations are the mean of power, to the bit")
    # In phase, as long as delays stay as they were when the sky was made.
    if not (array.delays[:, 1:].any() or array.gains or array.filtered):
        of = {pair: np.nanmean(data[:, i, :, 0]) for i, pair in enumerate(ants)}
        least = min((of[a, b] / np.sqrt(of[a, a] * of[b, b])).real for a, b in ants)
        ok(least > 0.7, f"{name}: stations are in phase", least)
    return array


def check_beams(array):
    name = array.name + "-beams"
    voltmill("run", array.job(name, array.beam_products(), BEAMS))
    expected, weights, both = array.beams()
    found, its = spectra_of(name + "-0.h5")
    expected_spectra = expected.reshape(found.shape)
    if its is not None:
        same(its.shape, (array.spectra, len(BEAMS) * array.pols, array.chans), f"{name}: shape of weights")
        off = np.abs(its.reshape(array.spectra, len(BEAMS), array.pols, array.chans) - weights[:, None]).max()
        ok(off < 1.5 * 2.0 ** -24, f"{name}: weights", off)
        blank = np.repeat(its < LEAST, array.hertz.shape[1], axis=2).reshape(found.shape)
        expected_spectra = np.where(blank, np.nan, expected_spectra)
    scale = np.sqrt(np.mean(np.abs(expected) ** 2, axis=(0, 2, 3, 4)))
    for beam in range(len(BEAMS)):
        ok(near(found.reshape(expected.shape)[:, beam], expected_spectra.reshape(expected.shape)[:, beam], scale[beam],
                "beams", f"{name} {beam}"), f"{name}: spectra of beam {beam} are numpy's")
    rows = array.dumps(np.abs(expected) ** 2, array.integrate)
    weigh = (array.dumps(weights, array.integrate) / array.integrate)[:, None, :, :, None]
    with h5py.File(scratch(name + "-1.h5")) as file:
        power = file["data"][...].reshape(rows.shape)
    blank = np.broadcast_to(weigh < 0.1, rows.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.where(blank, np.nan, rows / weigh)
    ok(near(power, rows, np.nanmean(rows), "beams", name), f"{name}: power is numpy's")
    with h5py.File(scratch(name + "-2.h5")) as file:
        rows = array.incoherent()
        ok(near(file["data"][...].reshape(rows.shape), rows, np.nanmean(rows), "beams", name), f"{name}: and the incoherent sum")
    return name


def digest(name, count):
    return [hashlib.sha256(open(scratch(f"{name}-{i}.h5"), "rb").read()).hexdigest() for i in range(count)]


def same_bytes(array, beams, cuts):
    """Compares visibilities, power and spectra, and beams."""
    name = array.name + ("-beams" if beams else "")
    products = array.beam_products() if beams else array.products(4)
    first = digest(name, len(products))
    for how, ranks, run in cuts:
        voltmill("run", "--force", array.job(name + "-again", products, BEAMS if beams else None, run=run), ranks=ranks)
        same(digest(name + "-again", len(products)), first, f"{name}: the same bytes, {how}")
    for i in range(len(products) if ALL else 1):
        said = voltmill("verify", "--all", scratch(f"{name}-{i}.h5"))
        ok("agrees with the reference" in said, f"{name}-{i}: verify", said)


def check_groups(array, beams, products, more):
    """Beams, or stations, that do not fit the memory are made in groups, to the same bytes as together."""
    voltmill("run", array.job("groups", products, beams, **more))
    first = digest("groups", len(products))
    said = voltmill("plan", "--force", array.job("groups", products, beams, run={"memory": "64MiB"}, **more), status=2)
    memory = float(re.search("need at least ([0-9.]+) MiB", said).group(1)) + (0.5 if beams else 0.02)
    job = array.job("groups", products, beams, run={"memory": f"{memory}MiB"}, **more)
    together = re.search("chunks .* of ([0-9]+) streams", voltmill("plan", "--force", job))
    ok(together, f"{array.name}: streams are made in groups", memory)
    voltmill("run", "--force", job, ranks=3)
    same(digest("groups", len(products)), first, f"{array.name}: groups have the same bytes")
    for i in range(len(products)):
        os.remove(scratch(f"groups-{i}.h5"))


def check_one(array, station):
    """A beam of a table that flags all stations but one: spectra of that station, to the bit."""
    name = array.name + "-one"
    array.write_table(name, set(range(array.stations)) - {station})
    voltmill("run", array.job(name, [{"kind": "spectra"}], {"up": (0, 90)}, table=name))
    beam, its = spectra_of(name + "-0.h5")
    spectra, weights = spectra_of(array.name + "-2.h5")
    spectra = spectra.reshape(len(spectra), array.stations, -1)[:, station]
    same(beam.reshape(spectra.shape).view("u4"), spectra.copy().view("u4"), f"{name}: a beam of one station is its spectra")
    if its is not None:
        weights = weights.reshape(len(weights), array.stations, -1)[:, station]
        same(its.reshape(weights.shape), weights, f"{name}: and has its weights")


def check_file(made_of, name, expected, weights, **more):
    """Spectra and weights of beams that a file describes: expected is [spectrum][beam][pol][chan][channel]."""
    job = made_of.job(name, [{"kind": "spectra"}], beam_weights=scratch(name + ".bfr5"), **more)
    voltmill("run", job)
    found, its = spectra_of(name + "-0.h5")
    its = np.ones(weights.shape) if its is None else its.reshape(weights.shape)
    off = np.abs(its - weights).max()
    ok(off < 1.5 * 2.0 ** -24, f"{name}: weights are those of the beam's stations", off)
    expected = np.where(its[..., None] < LEAST, np.nan, expected)
    ok(near(found.reshape(expected.shape), expected, np.sqrt(np.nanmean(np.abs(expected) ** 2)), "beams", name),
       f"{name}: spectra are numpy's")
    ok("agrees with the reference" in voltmill("verify", "--all", scratch(name + "-0.h5")), f"{name}: verify")
    return job


def check_weights(array, name, freqs):
    """Complex weights [beam][station][pol][channel], of frequencies that differ from the channels', or of channels."""
    count, stations = 3, array.stations
    w = array.random.normal(size=(count, stations, array.pols, freqs or array.hertz.size, 2))
    w[1, 0] = w[2, :-1] = 0
    w = w[..., 0] + 1j * w[..., 1]
    with h5py.File(scratch(name + ".bfr5"), "w") as file:
        file["weights"] = w
        file["beams"] = np.array(["a", "b", "c"], "S")
        file["stations"] = np.array([f"S{i}" for i in range(stations)][::-1], "S")
        if freqs:
            file["freq_hz"] = np.linspace(1.39996e9, 1.40013e9, freqs)
            places = file["freq_hz"][...]
    w = w[:, ::-1]
    if freqs:
        w = np.array([np.interp(array.hertz.ravel(), places, line) for line in w.reshape(-1, freqs)])
    w = w.reshape(count, stations, array.pols, array.chans, -1)
    active = [[s for s in range(stations) if w[b, s].any() and s not in array.flagged] for b in range(count)]
    share = array.share @ array.energy  # [station][pol][chan][spectrum]
    expected = np.array([sum(array.y[s] * w[b, s][:, :, None] for s in active[b]) for b in range(count)])
    weights = np.array([sum(share[s] for s in active[b]) / len(active[b]) for b in range(count)])
    check_file(array, name, np.moveaxis(expected, 3, 0), np.moveaxis(weights, 3, 0))


def check_recipe(array, name):
    """A beamformer recipe: calibrations of coarse channels, delays that change with time; no table, no positions."""
    beams, stations, nchan = 2, array.stations, array.chans
    cal = array.random.normal(size=(nchan, array.pols, stations, 2)) @ [1, 1j]
    cal[:, :, 1] = 0
    times = np.array([0.01, 0.03, 0.05])
    base, rate = array.random.normal(0, 3, (2, beams, stations)) * np.array([1, 0.3])[:, None, None]  # doubles of 1.7e9 s tell 2e-7 s
    delays = base + rate * times[:, None, None]  # ns
    with h5py.File(scratch(name + ".bfr5"), "w") as file:
        file.update({"diminfo/nants": stations, "diminfo/npol": array.pols, "diminfo/nchan": nchan, "diminfo/nbeams": beams,
                     "diminfo/ntimes": 3, "calinfo/cal_all": cal.astype("c8"), "obsinfo/freq_array": array.centres / 1e9,
                     "beaminfo/ras": [0.1, 0.2], "beaminfo/decs": [-0.3, 0.4], "delayinfo/delays": delays,
                     "delayinfo/time_array": times + (60000 - 40587) * 86400.0,
                     "beaminfo/src_names": np.array(["one", "two"], "S"),
                     "telinfo/antenna_names": np.array([f"S{i}" for i in range(stations)], "S")})
    cal = np.moveaxis(cal.astype("c8"), 0, 2).transpose(1, 0, 2)  # [station][pol][chan]
    cal = np.array([np.interp(array.hertz.ravel(), array.centres, line) for line in cal.reshape(-1, nchan)])
    cal = cal.reshape(stations, array.pols, nchan, 1, -1)
    early = (base[:, :, None] + rate[:, :, None] * array.times) * 1e-9
    turns = np.exp(-2j * np.pi * array.hertz[:, None, :] * early[:, :, None, None, :, None])
    active = [s for s in range(stations) if s != 1]
    expected = np.array([sum(array.y[s] * cal[s] * turns[b, s] for s in active) for b in range(beams)])
    weights = sum((array.share @ array.energy)[s] for s in active) / len(active)
    job = check_file(array, name, np.moveaxis(expected, 3, 0), np.moveaxis(np.array([weights] * beams), 3, 0), array={})
    with h5py.File(scratch(name + "-0.h5")) as file:
        same([text.decode() for text in file["beam"][...]], ["one", "two"], f"{name}: names of beams")
    ok("cal_all" in voltmill("plan", "--force", job), f"{name}: the sign of its calibrations is assumed")
    # A time makes the job be read twice, its recipe once.
    said = voltmill("tune", "--budget", "1", "--database", scratch("tuned.txt"), array.job(
        name + "-tuned", [{"kind": "power", "integrate": "2 ms"}], beam_weights=scratch(name + ".bfr5"), array={}))
    ok("the database is" in said, f"{name}: is tuned", said)


def check_centres(array):
    """Products with phase centres of their own are, to rounding, those of jobs that look there: one reading for all."""
    where = [{"ra_deg": 10, "dec_deg": -30}, {"ra_deg": 10.4, "dec_deg": -29.8}, {"ra_deg": 9.7, "dec_deg": -30.1}]
    one = {"kind": "visibilities", "integrate": 12}
    earth = {"table": scratch(array.name + "-table.yaml"), "ut1_utc": 0, "polar_motion": [0, 0]}
    voltmill("run", array.job("centres", [one, {**one, "centre": where[1]}, {**one, "centre": where[2]}, one],
                              array={**earth, "centre": where[0]}))
    same(visdata("centres-3.h5")[1], visdata("centres-0.h5")[1], "a product after others has the array's centre")
    for i in (1, 2):
        voltmill("run", array.job("alone", [one], array={**earth, "centre": where[i]}, run={"chunk": 48 * i}))
        found, expected = visdata(f"centres-{i}.h5")[1], visdata("alone-0.h5")[1]
        scale = np.sqrt(np.nanmean(np.abs(expected) ** 2))
        ok(near(found, expected, scale, "visibilities", f"centres-{i}"), f"visibilities towards centre {i}")
        with h5py.File(scratch(f"centres-{i}.h5")) as file, h5py.File(scratch("alone-0.h5")) as other:
            off = np.abs(file["Header/uvw_array"][...] - other["Header/uvw_array"][...]).max()
            ok(off < 1e-9, f"uvw of centre {i}", off)
        os.remove(scratch("alone-0.h5"))
    ok("agrees with the reference" in voltmill("verify", "--all", scratch("centres-1.h5")), "centres: verify")


def main():
    simple = check(Array("complex", 3, raw=True))
    check_beams(simple)
    check(Array("lower", 4, pols=1, sideband=-1, bank={"channels": 32, "taps": 3}))
    real = check(Array("real", 5, chans=1, real=True), average=2)
    check_beams(real)
    check(Array("real-lower", 3, real=True, sideband=-1))
    check(Array("kept", 3, archive={"oversampling_num": 4, "oversampling_den": 3}), average=3)
    fast = np.zeros((7, 3))
    fast[:, 0] = [0, 3e-5, -2.2e-5, 1e-9, 0, 7.77e-5, -1e-4]
    fast[:, 1] = [0, 1e-3, -2e-3, 4e-3, 7.9e-3, 1e-9, -1e-3]
    fast[4, 2] = -0.1 # late by most in the middle
    over = check(Array("over", 7, raw=True, swapped=[2], samples=8000, delays=fast, bank={"oversample": {"num": 4, "den": 3}}))
    ok(over.cell < over.spectra / 4, f"fast delays: whole samples change every {over.cell} of {over.spectra} spectra")
    check_beams(over)
    GAPS = [[0, 900, 0], [500, 40, 5], [1000, 3, 3], [1010, 700, 1], [1010, 700, 4], [2000, 130, 8], [2400, 3000, 11], [5990, 10, 2]]
    gaps = check(Array("gaps", 3, gaps=GAPS, delays=fast[:3] * [1, 0.2, 1]))
    check_beams(gaps)
    mended = check(Array("gains", 4, gains=True, swapped=[1, 2], flagged=[3], gaps=GAPS))
    check_beams(mended)
    check_groups(mended, {f"b{i}": (6 * i, 30 + i % 50) for i in range(40)},
                 [{"kind": "power", "integrate": 20, "polarisation": "IQUV"}, {"kind": "power", "integrate": 16, "bits": 8}],
                 {"channelise": {"channels": 128, "taps": 2}})
    check_groups(over, None, [{"kind": "power"}], {"channelise": {"channels": 512, "taps": 2}})
    check_weights(mended, "weights", 5)
    check_weights(real, "weights-real", 0)
    voltmill("run", mended.job("sums", [{"kind": "power"}, {"kind": "power", "sum": "stations"}]))
    with h5py.File(scratch("sums-0.h5")) as each, h5py.File(scratch("sums-1.h5")) as summed:
        whole = (each["weights"][...] == 1).all(axis=(1, 2))
        each = each["data"][...].reshape(len(whole), 4, 2, -1)
        same(summed["provenance/sum_weights"][...], [1, 1, 1, 0], "flagged stations have weight 0 in a sum")
        same(summed["data"][...][whole], each[whole, :3].astype("f8").sum(1).astype("f4"), "and do not enter it")
    check(Array("filtered", 3, delays=fast[:3] * 0.5, filtered=True))
    ENU[:] *= 20
    far = Array("far", 5, chans=1, centre=(70, 35), delays=fast[:5] * 0.3)
    voltmill("run", far.job("far", [{"kind": "power", "integrate": 7}], {"up": (0, 90)}))
    with h5py.File(scratch("far-0.h5")) as file:
        far.compute(file["coefficients"][...], plan_cell(voltmill("plan", "--force", scratch("far.yaml"))))
    check_beams(far)
    check_centres(far)

    ENU[:] = 0
    still = check(Array("still", 3, delays=np.zeros(3), gaps=GAPS))
    check_one(still, 1)
    check_recipe(still, "recipe")

    CUTS = [("chunks of 16 spectra", None, {"chunk": 16, "threads": 1}), ("2 ranks", 2, {"chunk": 48}),
            ("3 ranks, 3 threads", 3, {"threads": 3}), ("7 ranks", 7, {"chunk": 16}),
            ("little memory", None, {"memory": "96MiB", "chunk": 160})]
    same_bytes(over, False, CUTS if ALL else CUTS[1:2])
    same_bytes(over, True, CUTS if ALL else CUTS[3:4])
    same_bytes(gaps, False, CUTS if ALL else CUTS[2:3])
    same_bytes(gaps, True, CUTS if ALL else CUTS[:1])

    # On a device, if there is one: within its tolerance. Its kernels take longer to build than all that is above.
    try:
        for beams in (False, True) if ALL else ():
            products = gaps.beam_products() if beams else gaps.products(4)
            name = "gaps-beams" if beams else "gaps"
            voltmill("run", "--force", gaps.job("device", products, BEAMS if beams else None,
                                     channelise={**gaps.bank, "backend": "opencl"}))
            for i, product in enumerate(products):
                said = voltmill("verify", "--all", scratch(f"device-{i}.h5"))
                ok("agrees with the reference" in said, f"OpenCL, {name}: {product['kind']}", said)
    except Failed as failure:
        ok("error: no OpenCL " in str(failure), "OpenCL: # SKIP there is no device", failure)

    note(f"largest rms: {worst}")
    finish()


if __name__ == "__main__":
    main()
