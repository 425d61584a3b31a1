"""Parts that the client tests share: TAP, a scratch folder, voltmill, and a filter bank of their own.

Only numpy and h5py. The filter bank here is written from Adamek, Novotny, Armour 2016 (eqs. 1 and
2), docs/ and the native layout, in double precision and in whole arrays: nothing in it is taken
from voltmill's C code, so that both being wrong in the same way is unlikely.

Voltages are double arrays [station][beam][pol][chan][time], coarse channels by ascending sky
frequency, as products order their streams."""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VOLTMILL = os.environ.get("VOLTMILL", os.path.join(ROOT, "build/release/voltmill"))
DATA = os.environ.get("VOLTMILL_DATA", os.path.join(ROOT, "../shared/data"))
RMS_LIMIT = 5e-7  # relative rms error; the worst error, in units of the rms and of max|Y|
WORST_LIMIT = 5e-6
LINE_LIMIT = 5e-7
EPSILON = np.finfo(np.float64).eps


def _environment():
    """The environment of tests/tools/environment.sh, also when a test runs without run-test."""
    script = os.path.join(ROOT, "tests/tools/environment.sh")
    out = subprocess.run(["bash", "-c", f". '{script}'; env -0"], check=True,
                         stdout=subprocess.PIPE)
    return dict(entry.split("=", 1) for entry in out.stdout.decode().split("\0") if "=" in entry)


ENVIRONMENT = _environment()
SCRATCH = tempfile.mkdtemp(prefix="voltmill-clients.")
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)


def scratch(name):
    return os.path.join(SCRATCH, name)


# ---- TAP

class Tap:
    count = 0
    failures = 0


def ok(condition, name, *notes):
    """One line of TAP; the notes follow it when it is not ok."""
    Tap.count += 1
    print(f"{'ok' if condition else 'not ok'} {Tap.count} - {name}")
    if not condition:
        Tap.failures += 1
        for text in notes:
            note(text)
    sys.stdout.flush()
    return bool(condition)


def note(text):
    for line in str(text).splitlines():
        print(f"# {line}")


def same(found, expected, name):
    return ok(np.array_equal(found, expected), name, f"found    {found!r}",
              f"expected {expected!r}")


def close(found, expected, tolerance, name):
    """Largest absolute difference; arrays must have the same shape."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return ok(False, name, f"shape {found.shape}, expected {expected.shape}")
    worst = np.max(np.abs(found - expected)) if found.size else 0.0
    return ok(worst <= tolerance, name, f"differs by {worst:.3g}, at most {tolerance:.3g} expected",
              f"found    {found.ravel()[:4]}", f"expected {expected.ravel()[:4]}")


def sampled(cases, every, name):
    """Every Nth of the cases of a sweep, from one that VOLTMILL_TEST_SEED chooses; all with VOLTMILL_TEST_ALL."""
    cases = list(cases)
    if os.environ.get("VOLTMILL_TEST_ALL"):
        return cases
    seed = int(ENVIRONMENT["VOLTMILL_TEST_SEED"])
    note(f"{name}: one of {every} (VOLTMILL_TEST_SEED={seed}; all: VOLTMILL_TEST_ALL=1)")
    return cases[seed % min(every, len(cases) or 1)::every]


def finish():
    print(f"1..{Tap.count}")
    sys.exit(1 if Tap.failures else 0)


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


# ---- voltmill

class Failed(Exception):
    pass


def has_pictures():
    """Whether the Python that draws has matplotlib: found, not loaded, which takes ten times as long."""
    python = os.environ.get("VOLTMILL_PYTHON", "/usr/bin/python3")
    found = ("import sys; from importlib.util import find_spec; "
             "sys.exit(not (find_spec('numpy') and find_spec('matplotlib')))")
    return subprocess.run([python, "-Ic", found], capture_output=True, check=False).returncode == 0


def warm_pictures():
    """From here on pictures are drawn by one process that has loaded matplotlib, half of what a picture takes."""
    warm, ENVIRONMENT["WARM_DRAW"] = os.path.join(ROOT, "tests/tools/warm_draw.py"), scratch("draw")
    serving = subprocess.Popen([warm, "serve", scratch("draw")], env=ENVIRONMENT)
    atexit.register(serving.kill)
    while not os.path.exists(scratch("draw")):
        if serving.poll() is not None:
            raise Failed("warm_draw.py has ended")
        time.sleep(0.05)
    ENVIRONMENT["VOLTMILL_PYTHON"] = warm


def speaks_of_devices(words):
    """Loading the library of a device takes as long as most jobs: who does not ask for one sees none."""
    for word in words:
        job = scratch(word)
        text = open(job).read() if word.endswith(".yaml") and os.path.exists(job) else ""
        if "opencl" in word + text or word == "--devices":
            return True
    return False


def voltmill(*words, ranks=None, threads=None, status=0):
    """Runs voltmill, without mpirun when ranks is None, and expects an exit status."""
    command = [VOLTMILL, *words]
    if ranks:
        command = ["mpirun", "-n", str(ranks), *command]
    environment = dict(ENVIRONMENT)
    if not speaks_of_devices(words):
        environment["OCL_ICD_VENDORS"] = os.path.join(ROOT, "tests/tools/")
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    # MPI programs that begin at the same time trip over each other in one folder.
    with tempfile.TemporaryDirectory(dir=environment.get("OMPI_MCA_orte_tmpdir_base")) as own:
        environment["OMPI_MCA_orte_tmpdir_base"] = environment["PRTE_MCA_prte_tmpdir_base"] = own
        done = subprocess.run(command, cwd=SCRATCH, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=400)
    if done.returncode != status:
        raise Failed(f"exit {done.returncode}: {' '.join(command)}\n{done.stdout.decode()}")
    return done.stdout.decode()


def yaml(value):
    """Flow-style YAML of plain Python values."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(yaml(item) for item in value) + "]"
    if isinstance(value, str):
        return '"' + value + '"'
    return repr(value.item() if isinstance(value, np.generic) else value)  # numpy 2 puts the type around numbers


def write_yaml(name, tree):
    with open(scratch(name), "w") as file:
        for key, value in tree.items():
            file.write(f"{key}: {yaml(value)}\n")
    return scratch(name)


def synth(name, ranks=None, threads=None, **spec):
    """Makes an archive with `voltmill synth` and returns its path."""
    spec = dict(file=scratch(name + ".h5"), **spec)
    voltmill("synth", write_yaml(name + ".synth.yaml", spec), ranks=ranks, threads=threads)
    return spec["file"]


# ---- archives

def write_archive(name, stored, axes, rate, domain, centres=None, names=None, gaps=None, root=None,
                  attributes=None, **options):
    """Writes an archive in the native layout with h5py alone and returns its path.

    stored   as on disk, dimensions as in `axes` ("time,pol,reim")
    names    {"pol": [...], "station": [...]};  root, attributes: further ones of / and /voltages
    options  of h5py's create_dataset (chunks, compression, ...)
    """
    path = scratch(name + ".h5")
    with h5py.File(path, "w") as file:
        file.attrs.update({"format": "voltage", "format_version": np.int32(1), **(root or {})})
        dataset = file.create_dataset("voltages", data=stored, **options)
        dataset.attrs.update({"axes": axes, "sample_rate_hz": float(rate), "domain": domain,
                              "sideband": np.int32(1), **(attributes or {})})
        if centres is not None:
            file["freq_hz"] = np.asarray(centres, dtype=np.float64)
        for axis, texts in (names or {}).items():
            file[axis] = np.array(texts, dtype="S")
        if gaps is not None:
            file["gaps"] = np.array(gaps, dtype=np.uint64)
    return path


def voltages_of(path, first=0, end=None):
    """Reads samples first .. end - 1 of an archive in the native layout."""
    with h5py.File(path, "r") as file:
        dataset = file["voltages"]
        axes = _text(dataset.attrs["axes"]).split(",")
        packing = _text(dataset.attrs.get("packing", ""))
        cut = tuple(slice(first, end) if axis == "time" else slice(None) for axis in axes)
        stored = dataset[cut]
        centres = file["freq_hz"][()] if "freq_hz" in file else None
    return canonical(unpack(stored, packing), axes, centres)


def _text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def unpack(stored, packing):
    """Stored numbers as doubles or complex doubles."""
    if stored.dtype.names:
        first, second = stored.dtype.names
        return stored[first].astype(np.float64) + 1j * stored[second].astype(np.float64)
    if not packing:
        return stored.astype(np.float64)
    if "offset" in packing:
        value = np.arange(16) - 8.0
    else:
        value = np.array([n if n < 8 else n - 16 for n in range(16)], dtype=np.float64)
    high, low = value[stored >> 4], value[stored & 15]
    return high + 1j * low if "hi=re" in packing else low + 1j * high


def canonical(volts, axes, centres=None):
    """[station][beam][pol][chan][time], complex if there is an axis reim, coarse channels by
    ascending sky frequency."""
    if "reim" in axes:
        parts = np.moveaxis(volts, axes.index("reim"), -1)
        volts = parts[..., 0] + 1j * parts[..., 1]
        axes = [axis for axis in axes if axis != "reim"]
    wanted = ["station", "beam", "pol", "chan", "time"]
    volts = np.transpose(volts, [axes.index(axis) for axis in wanted if axis in axes])
    for place, axis in enumerate(wanted):
        if axis not in axes:
            volts = np.expand_dims(volts, place)
    if centres is not None:
        volts = volts[:, :, :, np.argsort(centres, kind="stable")]
    return volts


# ---- the filter bank

def coefficients(channels, taps, real, window="hann", cutoff=1.0, normalise="energy"):
    """[taps][P]: a sinc with a window over taps * P points, centred between two points."""
    period = 2 * channels if real else channels
    count = taps * period
    j = np.arange(count)
    u = (j + 0.5) / count
    name, _, parameter = window.partition(":")
    shape = {
        "rect": lambda: np.ones(count),
        "hann": lambda: np.sin(np.pi * u) ** 2,
        "hamming": lambda: 0.08 + 0.92 * np.sin(np.pi * u) ** 2,
        "blackman": lambda: 0.42 + 0.5 * np.cos(2 * np.pi * (u - 0.5))
        + 0.08 * np.cos(4 * np.pi * (u - 0.5)),
        "kaiser": lambda: np.i0(float(parameter) * np.sqrt(1 - (2 * u - 1) ** 2))
        / np.i0(float(parameter)),
        "file": lambda: np.loadtxt(parameter),
    }[name]()
    b = shape if name == "file" else shape * np.sinc(cutoff * (j - (count - 1) / 2) / period)
    if normalise == "energy":
        b = b / np.sqrt(np.sum(b * b))
    elif normalise == "peak":
        b = b / np.sum(b)
    return b.reshape(taps, period)


def filter_bank(volts, b, real, sideband=1, order="ascending", keep=None):
    """Spectra [..., spectrum][channel] of volts [..., time], in double precision.

    y[n] = sum_t x[n + t P] b[t P + n] over the taps t, from the oldest on; Y[m] = sum_n y[n]
    exp(-2 pi i n m / P). A real series gives the channels 0 .. C - 1 of P = 2C. Sideband -1: the
    spectrum of the conjugate samples, or, of real samples, frequency counted down from rate / 2.
    `keep` central channels are kept (oversampled input).
    """
    taps, period = b.shape
    rows = volts.shape[-1] // period
    raw = volts[..., :rows * period].reshape(*volts.shape[:-1], rows, period)
    if sideband < 0 and not real:
        raw = np.conj(raw)
    count = rows - taps + 1
    y = sum(raw[..., t:t + count, :] * b[t] for t in range(taps))
    if period <= 64:  # the sum as it stands, to lean on no library for the small ones
        n = np.arange(period)
        spectrum = y @ np.exp(-2j * np.pi * (np.outer(n, n) % period) / period)
    else:
        spectrum = np.fft.fft(y)
    channels = period // 2 if real else period
    if not real:
        if order == "ascending":
            spectrum = np.roll(spectrum, channels // 2, axis=-1)
    elif sideband < 0 and order == "ascending":
        spectrum = spectrum[..., (channels + np.arange(channels)) % period]
    else:
        spectrum = spectrum[..., :channels]
    if keep:
        first = (channels - keep) // 2
        spectrum = spectrum[..., first:first + keep]
    return spectrum


def stitched(spectra):
    """[station][beam][pol][chan][spectrum][channel] as products have it:
    [spectrum][station][beam][pol][frequency]."""
    rows = np.moveaxis(spectra, 4, 0)
    return rows.reshape(*rows.shape[:4], -1)


def power_of(spectra, integrate):
    """[dump][if][frequency] of stitched spectra; a last dump that is not full is dropped."""
    power = spectra.real ** 2 + spectra.imag ** 2
    dumps = power.shape[0] // integrate
    power = power[:dumps * integrate].reshape(dumps, integrate, -1, power.shape[-1])
    return power.sum(axis=1)


def times_of(rate, first_sample, period, taps, integrate, rows):
    """Mean time of all samples that enter a dump, by counting them out for dump 0."""
    samples = [first_sample + s * period + n for s in (0, integrate - 1)
               for n in (0, taps * period - 1)]
    return (np.mean(np.array(samples, dtype=np.float64))
            + np.arange(rows) * float(integrate) * period) / rate


def frequencies_of(centres, rate, channels, real, sideband=1, order="ascending", keep=None):
    """Sky frequency of every channel of a product."""
    if real:
        offset = np.arange(channels) * (rate / 2 / channels) - rate / 4
        if sideband < 0 and order == "fft":
            offset = -offset
    else:
        offset = np.fft.fftfreq(channels, 1 / rate)
        if order == "ascending":
            offset = np.fft.fftshift(offset)
    if keep:
        first = (channels - keep) // 2
        offset = offset[first:first + keep]
    return (np.sort(np.asarray(centres, dtype=np.float64))[:, None] + offset).ravel()


class Worst:
    rms = 0.0
    worst = 0.0


def agrees(found, expected, name, spectra=1):
    """A product's numbers [..., channel] against the recomputation, to the accuracy that the project
    promises: |error| <= 5e-6 rms + 5e-7 max|Y| of the spectrum Y, and the rms of all errors at most
    5e-7 of that of all numbers. A row holds `spectra` of them, one of each coarse channel.

    Power P (not complex) is a sum of |Y|^2. Its error is at most 2 sqrt(P) E + E^2, and the rounding of up to
    16 terms. E is the error of Y, with the mean of P for rms^2 and its maximum for max|Y|^2."""
    if found.shape != expected.shape:
        return ok(False, name, f"shape {found.shape}, expected {expected.shape}")
    if not np.isfinite(found).all():
        return ok(False, name, f"{np.count_nonzero(~np.isfinite(found))} values are no numbers")
    found, expected = (item.reshape(-1, item.shape[-1] // spectra) for item in (found, expected))
    difference, height = np.abs(found - expected), np.abs(expected)
    squares = height ** 2 if np.iscomplexobj(expected) else height
    allowed = (WORST_LIMIT * np.sqrt(squares.mean(1)) + LINE_LIMIT * np.sqrt(squares.max(1)))[:, None]
    if not np.iscomplexobj(expected):
        allowed = 2 * np.sqrt(height) * allowed + allowed ** 2 + 18 * 2.0 ** -24 * height
    rms = np.sqrt(np.mean(difference ** 2) / np.mean(height ** 2))
    worst = np.max(difference / (allowed + np.finfo("f4").tiny))
    Worst.rms, Worst.worst = max(Worst.rms, rms), max(Worst.worst, worst)
    return ok(rms <= RMS_LIMIT and worst <= 1, name,
              f"relative rms error {rms:.3g} ({RMS_LIMIT:g} allowed), worst error {worst:.3g} of what is "
              "allowed")


def note_errors():
    note(f"largest relative rms error {Worst.rms:.3g}, worst error {Worst.worst:.3g} of what is allowed")
