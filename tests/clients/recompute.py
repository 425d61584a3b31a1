"""Recomputes products from their archives, in numpy and double precision, and compares everything:
spectra, power, coefficients, times, frequencies. Archives come from `voltmill synth` and, in many
layouts, from h5py alone."""
import concurrent.futures
import itertools
import re

import h5py
import numpy as np

from common import (agrees, canonical, close, coefficients, filter_bank, finish, frequencies_of,
                    note_errors, ok, power_of, same, scratch, stitched, synth, times_of,
                    unpack, voltages_of, voltmill, write_archive, write_yaml, EPSILON, Failed)

CHANNELS = (2, 30, 1000, 1024, 4096)
TAPS = (1, 4, 8, 16, 64)
RATE = 1.6e6
RANDOM = np.random.default_rng(20160824)


def slug(name):
    """A case's name as part of a file name."""
    return re.sub("[^a-zA-Z0-9]+", "-", name)


class Case:
    """One job with a product of each kind.

    volts   function that gives the selected samples [station][beam][pol][chan][time], missing
            ones as zero volts
    axes    names of the axes that the archive has, without time and reim
    """

    def __init__(self, name, files, volts, channels, taps, real=False, layout=None, rate=RATE,
                 centres=(0.0,), first=0, end=None, sideband=1, keep=None, axes=("pol",),
                 window="hann", cutoff=1.0, normalise="energy", order="ascending", integrate=1,
                 chunk="auto", ranks=None, missing=(0, 0)):
        self.__dict__.update({key: value for key, value in locals().items() if key != "self"})
        self.period = 2 * channels if real else channels
        self.kinds = ["spectra"] + (["power"] if order == "ascending" else [])

    def file(self, kind):
        return scratch(f"{slug(self.name)}.{kind}.h5")

    def run(self):
        source = {"files": self.files, "layout": self.layout or "auto"}
        if self.first or self.end:
            source["select"] = {"samples": [self.first, self.end]}
        # As the filter makes it of zeros in place of what is missing; weights.py looks at the rest.
        products = [{"kind": "spectra", "file": self.file("spectra"), "min_weight": 0},
                    {"kind": "power", "file": self.file("power"), "integrate": self.integrate,
                     "weights": "raw", "min_weight": 0}]
        job = {"input": source,
               "channelise": {"channels": self.channels, "taps": self.taps, "window": self.window,
                              "cutoff": self.cutoff, "normalise": self.normalise,
                              "order": self.order},
               "products": products[:len(self.kinds)], "run": {"chunk": self.chunk}}
        path = write_yaml(slug(self.name) + ".yaml", job)
        return voltmill("run", path, ranks=self.ranks)

    def check(self):
        b = coefficients(self.channels, self.taps, self.real, self.window, self.cutoff,
                         self.normalise)
        spectra = stitched(filter_bank(self.volts(), b, self.real, self.sideband, self.order,
                                       self.keep))
        frequency = frequencies_of(self.centres, self.rate, self.channels, self.real,
                                   self.sideband, self.order, self.keep)
        with h5py.File(self.file("spectra"), "r") as product:
            self.check_shared(product, "spectra", b, frequency, 1, len(spectra))
            axes = ["time", *(axis for axis in ("station", "beam", "pol")
                              if axis == "pol" or axis in self.axes), "frequency"]
            shape = [length for axis, length in
                     zip(("time", "station", "beam", "pol", "frequency"), spectra.shape)
                     if axis in axes]
            data = product["spectra"]
            same(data.attrs["axes"].decode(), ",".join(axes), f"{self.name}: axes of spectra")
            coarse = len(np.atleast_1d(self.centres))
            agrees(data[()], spectra.reshape(shape), f"{self.name}: spectra", coarse)
        if "power" in self.kinds:
            with h5py.File(self.file("power"), "r") as product:
                power = power_of(spectra, self.integrate)
                self.check_shared(product, "power", b, frequency, self.integrate, len(power))
                agrees(product["data"][()], power, f"{self.name}: power", coarse)

    def check_shared(self, product, kind, b, frequency, integrate, rows):
        name = f"{self.name}: {kind}"
        close(product["coefficients"][()], b, 1e-12 * np.max(np.abs(b)), f"{name}: coefficients")
        times = times_of(self.rate, self.first, self.period, self.taps, integrate, rows)
        close(product["time"][()], times, 4 * EPSILON * times[-1], f"{name}: times")
        close(product["frequency"][()], frequency, 4 * EPSILON * np.max(np.abs(frequency))
              + 1e-12 * self.rate, f"{name}: frequencies")
        found = product["provenance"]
        same((int(found["missing_samples"][()]), int(found.attrs["gap_samples"])), self.missing,
             f"{name}: missing samples are counted")


# ---- every C with every T, on synthetic observations of every format

SYNTHETIC = [(4, "complex"), (16, "real"), (8, "complex"), (32, "real"), (16, "complex"),
             (8, "real"), (32, "complex")]
SAMPLES = 560000
FILTERS = [  # window, cutoff, normalise
    ("hann", 1.0, "energy"), ("hamming", 1.0, "peak"), ("blackman", 1.25, "none"),
    ("kaiser:8.5", 0.9, "energy"), ("rect", 1.0, "peak"), ("kaiser:0", 0.5, "none"),
    ("hann", 0.0, "peak"), ("file", 1.0, "energy")]


def make_synthetic(bits, domain):
    spread = {4: 2.2, 8: 25, 16: 900, 32: 1.0}[bits]
    return synth(f"synth-{bits}-{domain}", samples=SAMPLES, streams={"pols": 2, "chans": 2},
                 bits=bits, domain=domain, sample_rate_hz=RATE, freq_hz=1.4e9, noise=spread,
                 seed=bits)


def grid(archives):
    for number, (channels, taps) in enumerate(itertools.product(CHANNELS, TAPS)):
        (bits, domain), path = archives[number % len(archives)]
        real = domain == "real"
        period = channels * (2 if real else 1)
        rows = taps - 1 + max(5, min(400, 30000 // period))
        first = (0, 1, 4321)[number % 3]
        end = min(SAMPLES, first + rows * period + period // 2)
        window, cutoff, normalise = FILTERS[number % len(FILTERS)]
        if window == "file":
            window = "file:" + scratch(f"window-{taps}-{period}.txt")
            np.savetxt(window[5:], RANDOM.normal(size=taps * period), fmt="%.17g",
                       header="a filter without any symmetry")
        step = RATE / 2 if real else RATE
        yield Case(f"C {channels} T {taps} {bits} bit {domain}", path,
                   lambda path=path, first=first, end=end: voltages_of(path, first, end),
                   channels, taps, real=real, centres=(1.4e9 - step / 2, 1.4e9 + step / 2),
                   first=first, end=end, window=window, cutoff=cutoff, normalise=normalise,
                   order="fft" if number % 6 == 5 else "ascending", integrate=1 + number % 4,
                   chunk=("auto", 3, 64)[number % 3], axes=("pol", "chan"),
                   ranks=(None, None, 2, None, 3)[number % 5])


# ---- layouts that h5py writes

def stored_noise(shape, dtype, sigma):
    noise = RANDOM.normal(scale=sigma, size=shape)
    kind = np.dtype(dtype)
    if kind.kind == "i":
        limit = np.iinfo(kind).max
        return np.clip(np.rint(noise), -limit, limit).astype(kind)
    return noise.astype(kind)


def compound(shape, number, names, sigma):
    stored = np.empty(shape, dtype=[(name, number) for name in names])
    for name in names:
        stored[name] = stored_noise(shape, number, sigma)
    return stored


def native(name, stored, axes, channels, taps, *, real=False, centres=None, attributes=None,
           names=None, rate=RATE, first=0, end=None, **rest):
    """A case on an archive in the native layout."""
    options = {key: rest.pop(key) for key in ("chunks", "compression", "shuffle", "root")
               if key in rest}
    if centres is None:
        centres = (rate / 4 if real else 0.0,)
    path = write_archive(slug(name), stored, axes, rate, "real" if real else "complex",
                         centres=centres, attributes=attributes, names=names, **options)
    rest.setdefault("axes", tuple(axes.split(",")))
    return Case(name, path, lambda: voltages_of(path, first, end), channels, taps, real=real,
                centres=centres, rate=rate, first=first, end=end, **rest)


def native_layouts():
    shuffled = [151e6, 147e6, 149e6]
    yield native("int16 chunked gzip two stations", stored_noise((3000, 2, 2, 3, 2), "<i2", 500),
                 "time,station,pol,chan,reim", 30, 4, centres=shuffled, integrate=3,
                 names={"pol": ["R", "L"], "station": ["Eb", "Wb"]}, chunks=(257, 2, 1, 2, 2),
                 compression="gzip", shuffle=True, ranks=3)
    yield native("int8 compound time innermost sideband -1",
                 compound((3, 2, 4000), "i1", ("re", "im"), 20), "chan,pol,time", 64, 8,
                 centres=shuffled, attributes={"sideband": np.int32(-1)}, sideband=-1, integrate=2)
    yield native("int8 compound sideband -1 fft order", compound((4000, 2), "i1", "ri", 20),
                 "time,pol", 64, 8, attributes={"sideband": np.int32(-1)}, sideband=-1,
                 order="fft")
    yield native("int16 big-endian compound chunked", compound((4000, 2), ">i2", ("real", "imag"),
                                                               300),
                 "time,pol", 32, 4, chunks=(1000, 1))
    yield native("float32 real sideband -1 odd start", stored_noise((2, 9001), ">f4", 1),
                 "pol,time", 50, 4, real=True, attributes={"sideband": np.int32(-1)}, sideband=-1,
                 first=77, end=8900, integrate=2, ranks=2)
    yield native("int16 real sideband -1 fft order", stored_noise((5000, 2), "<i2", 90),
                 "time,pol", 50, 4, real=True, attributes={"sideband": np.int32(-1)}, sideband=-1,
                 order="fft")
    yield native("float32 complex beams time in the middle",
                 stored_noise((2, 2, 3000, 3, 2), "<f4", 1), "beam,station,time,chan,reim", 10, 8,
                 centres=[1e6, 9e6, 5e6], integrate=2)
    yield native("int8 reim before time", stored_noise((2, 2, 3000), "i1", 30),
                 "pol,reim,time", 16, 4)
    yield native("float32 reim outermost chunked", stored_noise((2, 3000, 2), "<f4", 3),
                 "reim,time,pol", 16, 4, chunks=(1, 700, 2))
    yield native("oversampled 32/27", stored_noise((20000, 2, 2), "i1", 30), "time,chan,reim",
                 64, 8, rate=25e6 / 27, centres=[100e6, 100.78125e6], keep=54,
                 attributes={"oversampling_num": np.int32(32), "oversampling_den": np.int32(27)},
                 integrate=5)


def packed_layouts():
    for number, code in enumerate(("offset hi=re", "offset lo=re", "two's complement hi=re",
                                   "two's complement lo=re")):
        packing = "4+4 " + code
        stored = RANDOM.integers(0, 256, size=(3000, 2, 2), dtype=np.uint8)
        attributes = {"packing": packing}
        case = dict(integrate=2, attributes=attributes, centres=[400e6, 398.4e6])
        chunks = {"chunks": (1000, 2, 1)} if number % 2 else {}
        if number == 0:  # CHIME's: 0 is "no sample"
            attributes["missing_value"] = 0.0
            case["missing"] = (int(np.count_nonzero(stored[:2976] == 0)), 0)
        made = native(packing, stored, "time,pol,chan", 32, 8, **case, **chunks)
        if number == 0:
            volts = unpack(stored, packing) * (stored != 0)
            made.volts = lambda: canonical(volts, ["time", "pol", "chan"],
                                             np.array([400e6, 398.4e6]))
        yield made


def holed_layouts():
    stored = stored_noise((4000, 2, 2), "<f4", 1)
    for number, (sample, pol, part) in enumerate(RANDOM.integers(0, (3900, 2, 2), size=(50, 3))):
        stored[sample, pol, part] = (np.nan, np.inf, -np.inf)[number % 3]
    holes = ~np.isfinite(stored).all(axis=-1, keepdims=True)
    filled = np.where(holes, 0, stored).astype(np.float64)
    made = native("float32 with holes", stored, "time,pol,reim", 64, 4, integrate=4, ranks=2,
                  chunk=5, missing=(int(holes.sum()), 0))
    made.volts = lambda: canonical(filled, ["time", "pol", "reim"])
    yield made

    numbers = stored_noise((4000, 2), "<i2", 100)
    gaps = [(0, 10), (777, 1000), (3333, 1)]
    closed = numbers.astype(np.float64)
    for first, count in gaps:
        closed[first:first + count] = 0
    path = write_archive("gaps", numbers, "time,pol", RATE, "real", gaps=gaps, centres=[3 * RATE])
    yield Case("int16 real with gaps", path, lambda: canonical(closed, ["time", "pol"]), 32, 4,
               real=True, centres=[3 * RATE], missing=(0, 2 * 1011))


def described_layouts():
    """Plain HDF5 files that only the job describes."""
    stored = stored_noise((5000, 6), ">i2", 100)
    with h5py.File(scratch("plain.h5"), "w") as file:
        file["some/where"] = stored
    yield Case("described table", scratch("plain.h5"),
               lambda: canonical(stored.astype(np.float64).reshape(5000, 3, 2),
                                 ["time", "chan", "pol"], np.array([7e6, 5e6, 6e6])),
               40, 4, real=True, centres=[7e6, 5e6, 6e6], axes=("chan", "pol"), integrate=3,
               layout={"dataset": "/some/where", "axes": "time,chan:3*pol:2", "domain": "real",
                       "sample_rate_hz": RATE, "freq_hz": [7e6, 5e6, 6e6]})

    whole = stored_noise((6000, 2, 2), "<f4", 1)
    for number, cut in enumerate((slice(0, 2500), slice(2500, 2507), slice(2507, 6000))):
        whole[cut].tofile(scratch(f"part{number}.raw"))
        with h5py.File(scratch(f"part{number}.h5"), "w") as file:
            shape = whole[cut].shape
            file.create_dataset("v", shape, "<f4", external=[
                (f"part{number}.raw", 0, h5py.h5f.UNLIMITED)])
    yield Case("three files with external samples", [scratch(f"part{n}.h5") for n in range(3)],
               lambda: canonical(whole.astype(np.float64), ["time", "pol", "reim"])[..., 3:5990],
               32, 8, first=3, end=5990, ranks=2,
               layout={"dataset": "/v", "axes": "time,pol,reim", "sample_rate_hz": RATE})


def main():
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        paths = list(pool.map(lambda kind: make_synthetic(*kind), SYNTHETIC))
        cases = [*grid(list(zip(SYNTHETIC, paths))), *native_layouts(), *packed_layouts(),
                 *holed_layouts(), *described_layouts()]
        runs = [pool.submit(case.run) for case in cases]
        for case, run in zip(cases, runs):
            try:
                run.result()
            except Failed as failure:
                ok(False, f"{case.name}: runs", failure)
                continue
            case.check()
    note_errors()
    finish()


main()
