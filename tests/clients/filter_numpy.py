"""Long filters beside numpy's convolution: archives of a few thousand samples go through `run` into
voltages, real and complex, by direct sums and by overlap-save, with and without decimation, with
edges that are valid or padded, delays compensated or kept; and times, rates and frequencies that
the products state. Nothing here comes from voltmill's C code."""
import os

import h5py
import numpy as np

from common import (close, finish, note, ok, same, scratch, voltages_of, voltmill, write_archive,
                    write_yaml)

RATE = 1e6
DAY, SECOND = 59000, 1234.5
CENTRES = {False: [1.400e9, 1.401e9], True: [0.25e6]}  # [is_real]
SAMPLES = {False: 6000, True: 7001}
RMS_LIMIT, WORST_LIMIT = 1e-6, 1e-5  # in units of rms(x) ||c||_2
random = np.random.default_rng(16)
worst_rms = 0.0


def make_archives():
    """Complex int8, two polarisations of two coarse channels; real int16, two polarisations."""
    root = {"start_mjd_day": np.int32(DAY), "start_second": SECOND, "time_scale": "UTC"}
    small = random.integers(-128, 128, (SAMPLES[False], 2, 2, 2)).astype(np.int8)
    large = random.integers(-3000, 3000, (SAMPLES[True], 2)).astype(np.int16)
    names = {"pol": ["X", "Y"]}
    return {False: write_archive("filter-complex", small, "time,pol,chan,reim", RATE, "complex",
                                 centres=CENTRES[False], names=names, root=root),
            True: write_archive("filter-real", large, "time,pol", RATE, "real",
                                centres=CENTRES[True], names=names, root=root)}


class Filter:
    """One entry of the key `filter`, and what it does to samples [..., time] whose first is `at`,
    in samples of the archive, `every` of them apart."""

    def __init__(self, name, coeff, decimate=1, delay="compensate", edges="valid"):
        self.coeff, self.decimate, self.delay, self.edges = coeff, decimate, delay, edges
        self.file = scratch(name + ".txt")
        np.savetxt(self.file, coeff)

    def entry(self, method):
        return {"coefficients": self.file, "decimate": self.decimate, "method": method,
                "delay": self.delay, "edges": self.edges, "aliasing": "allow"}

    def shift(self):
        """Returns the samples from a row's time to the newest of its input: the centre of the coefficients'
        energy."""
        power = np.abs(self.coeff) ** 2
        centre = np.sum(np.arange(len(power)) * power) / np.sum(power)
        return centre if self.delay == "compensate" else 0.0

    def apply(self, volts, first):
        """Rows m are made for samples m * decimate of the observation, whatever there is of it.
        Gives them and the number of the first."""
        count = volts.shape[-1]
        rows = np.arange(-(-first // self.decimate), -(-(first + count) // self.decimate))
        newest = rows * self.decimate - first
        if self.edges == "valid":
            rows, newest = (item[newest >= len(self.coeff) - 1] for item in (rows, newest))
        whole = np.apply_along_axis(lambda one: np.convolve(one, self.coeff), -1, volts)
        return whole[..., newest], rows[0]


def expected_centres(centres, real, filters):
    """Real samples hold 0 .. rate / 2 from centre - rate / 4 up; complex ones have 0 Hz there."""
    centres, rate = np.array(centres), RATE
    for one in filters:
        after = rate / one.decimate
        if real:
            begin = centres - rate / 4
            real = not np.iscomplexobj(one.coeff)
            centres = begin + after / 4 if real else begin
        rate = after
    return centres


def run(name, archive, filters, method, sets=(), ranks=None, **product):
    product = {"kind": "voltages", "bits": 32, "file": scratch(name + ".h5"), **product}
    job = {"input": {"files": archive}, "products": [product]}
    if filters:
        job["filter"] = [one.entry(method) for one in filters]
    words = [f"--set={text}" for text in sets]
    voltmill("run", "--force", *words, write_yaml(name + ".yaml", job), ranks=ranks)
    return product["file"]


def check(name, archives, real, filters, method, **options):
    """One product beside numpy."""
    global worst_rms
    archive = archives[real]
    volts = voltages_of(archive)
    path = run(name, archive, filters, method, **options)
    out, first, every, early, gain = volts, 0, 1, 0.0, 1.0
    for one in filters:
        out, first = one.apply(out, first)
        early += one.shift() * every
        every *= one.decimate
        gain *= np.linalg.norm(one.coeff)
    with h5py.File(path, "r") as file:
        attributes, dataset = dict(file.attrs), dict(file["voltages"].attrs)
        centres = file["freq_hz"][()]
    found = voltages_of(path)
    say = f"{name}, {method}"
    started = (attributes["start_mjd_day"] - DAY) * 86400 + attributes["start_second"] - SECOND
    close(started * RATE, first * every - early, 1e-3, f"{say}: when it begins")
    close(dataset["sample_rate_hz"], RATE / every, 1e-6, f"{say}: its rate")
    close(centres, expected_centres(CENTRES[real], real, filters), 1e-3, f"{say}: its frequencies")
    if not ok(found.shape == out.shape, f"{say}: as many rows as numpy makes",
              f"found {found.shape}, expected {out.shape}"):
        return path
    ok(np.iscomplexobj(found) == np.iscomplexobj(out), f"{say}: real or complex")
    unit = np.sqrt(np.mean(np.abs(volts) ** 2)) * gain
    error = np.abs(found - out) / unit
    rms = np.sqrt(np.mean(error ** 2))
    worst_rms = max(worst_rms, rms)
    ok(rms <= RMS_LIMIT * len(filters) and error.max() <= WORST_LIMIT * len(filters),
       f"{say}: agrees with numpy", f"rms {rms:.3g}, worst {error.max():.3g} at "
       f"{np.unravel_index(np.argmax(error), error.shape)}")
    return path


def noise(taps, is_complex):
    """Coefficients that are not symmetric, so that a reversed filter shows."""
    coeff = random.normal(size=taps) * np.linspace(1, 0.1, taps)
    return coeff + 1j * random.normal(size=taps) if is_complex else coeff


def lowpass(taps, cutoff):
    n = np.arange(taps) - (taps - 1) / 2
    return cutoff * np.sinc(cutoff * n) * np.hamming(taps)


def bytes_of(path):
    with h5py.File(path, "r") as file:
        return file["voltages"][()].tobytes()


def single_filters(archives):
    for real in (False, True):
        kind = "real" if real else "complex"
        for method in ("direct", "overlap-save"):
            check(f"{kind}-real-31", archives, real, [Filter("n31", noise(31, False))], method)
            check(f"{kind}-complex-64", archives, real, [Filter("c64", noise(64, True))], method)
            check(f"{kind}-one", archives, real, [Filter("n1", np.array([-2.5]))], method)
            check(f"{kind}-two", archives, real, [Filter("n2", noise(2, False), delay="keep")],
                  method)
            check(f"{kind}-keep-pad", archives, real,
                  [Filter("n100", noise(100, False), delay="keep", edges="pad")], method)
            check(f"{kind}-pad", archives, real, [Filter("l101", lowpass(101, 0.5), edges="pad")],
                  method)
            check(f"{kind}-every-4", archives, real,
                  [Filter("l255", lowpass(255, 0.25), decimate=4)], method)
            check(f"{kind}-every-7-pad", archives, real,
                  [Filter("c129", noise(129, True), decimate=7, edges="pad")], method)
        check(f"{kind}-long", archives, real, [Filter("n4096", noise(4096, False))], "overlap-save")
        check(f"{kind}-all", archives, real, [Filter("all", noise(SAMPLES[real], False))], "auto")


def chains(archives):
    first, second = Filter("f1", lowpass(63, 0.4), decimate=2), Filter("f2", noise(40, True))
    third = Filter("f3", lowpass(31, 0.5), decimate=3, edges="pad")
    for real in (False, True):
        check(f"chain-{real}", archives, real, [first, second], "auto")
        check(f"chain-mixed-{real}", archives, real, [first, third], "overlap-save")


def cuts(archives):
    """No cut changes a byte."""
    for method in ("direct", "overlap-save"):
        filters = [Filter("cut", noise(200, False), decimate=3)]
        whole = bytes_of(check("whole", archives, False, filters, method))
        for number, sets in enumerate((["run.chunk=500"], ["run.chunk=77", "run.threads=3"])):
            path = run(f"cut-{number}", archives[False], filters, method, sets=sets,
                       ranks=2 if number else None)
            same(bytes_of(path) == whole, True, f"{method}: {' '.join(sets)} makes the same bytes")


def products(archives):
    """Integers with a scale; and samples without a filter, which stay what they are."""
    filters = [Filter("p33", lowpass(33, 0.3))]
    exact = voltages_of(run("p32", archives[False], filters, "direct"))
    for bits, scale in ((16, 0.01), (8, 0.75)):
        path = run(f"p{bits}", archives[False], filters, "direct", bits=bits, scale=scale)
        with h5py.File(path, "r") as file:
            attributes = dict(file["voltages"].attrs)
            stored = file["voltages"].dtype
            version = file.attrs["format_version"]
        same((stored.itemsize * 8, float(attributes["scale"]), int(version)), (bits, scale, 2),
             f"{bits} bits: its type, scale and version")
        most = (2 ** (bits - 1) - 1) * scale
        limited = np.clip(exact.real, -most - scale, most) + 1j * np.clip(exact.imag, -most - scale,
                                                                          most)
        found = voltages_of(path) * scale
        close(found.real, limited.real, 0.5001 * scale, f"{bits} bits: real parts are rounded")
        close(found.imag, limited.imag, 0.5001 * scale, f"{bits} bits: so are imaginary parts")
    for real, bits in ((False, 8), (True, 16)):
        path = run(f"copy-{bits}", archives[real], [], "auto", bits=bits, scale=1.0,
                   sets=["input.select.samples=[101, 3000]"])
        with h5py.File(path, "r") as file:
            started = file.attrs["start_second"]
            found = file["voltages"][()]
        same(np.array_equal(voltages_of(path), voltages_of(archives[real])[..., 101:3000]), True,
             f"a cut of {bits} bits holds the very samples")
        close((started - SECOND) * RATE, 101, 1e-3, f"a cut of {bits} bits begins when they were")
        ok(found.dtype.itemsize * 8 == bits, f"a cut of {bits} bits is as small as they were")


def main():
    archives = make_archives()
    single_filters(archives)
    chains(archives)
    cuts(archives)
    products(archives)
    note(f"largest rms error {worst_rms:.3g} of rms(x) ||c||, {RMS_LIMIT:g} allowed; "
         f"{os.path.basename(archives[False])}")
    finish()


if __name__ == "__main__":
    main()
