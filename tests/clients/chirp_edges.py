"""How far from a coarse channel's edges coherent dedispersion is not exact, with `filter.dispersion.edges` and without,
beside the exact inverse in double precision.

The samples have a period, in which every frequency has the amplitude 1 and a random phase. So a period of rows has the
filter's response itself, frequency by frequency, and the exact one is the formula of docs/ and of no finite length."""
import re

import h5py
import numpy as np

from common import Failed, finish, note, ok, scratch, voltages_of, voltmill, write_archive, write_yaml

PERIOD, MORE = 8192, 6000
RATE = 1e6
CENTRES = np.array([400e6, 401e6])
REFERENCE = 401.5e6
DM = 5.0
CONSTANT = 1 / 2.41e-4
random = np.random.default_rng(33)


def make(name, real, **attributes):
    """Writes an archive of both coarse channels; returns its path and the spectra of a period, [chan][frequency]."""
    phases = np.exp(2j * np.pi * random.random((2, PERIOD)))
    if real:
        phases = np.fft.fft(np.fft.irfft(phases[:, :PERIOD // 2 + 1].copy(), PERIOD))
    x = np.fft.ifft(phases) * PERIOD ** 0.5
    x = np.concatenate([x, x[:, :MORE]], axis=1).T
    stored = x.real if real else np.stack([x.real, x.imag], -1)
    path = write_archive(name, stored.astype("f4"), "time,chan" + ("" if real else ",reim"), RATE, "real" if real else "complex",
                         centres=CENTRES, attributes=attributes,
                         root={"start_mjd_day": np.int32(58849), "start_second": 10.0, "time_scale": "UTC"})
    return path, phases * PERIOD ** 0.5


def exact(real):
    """The chirp's factors [chan][frequency], and each frequency's distance from the band's edges."""
    f = np.fft.fftfreq(PERIOD, 1 / RATE)
    v = CENTRES[:, None] + (np.abs(f) - RATE / 4 if real else f)
    turns = -1e12 * CONSTANT * DM * v.astype(np.longdouble) * (1 / np.longdouble(REFERENCE) - 1 / v.astype(np.longdouble)) ** 2
    turns = (turns - np.rint(turns)).astype(float)
    h = np.exp(2j * np.pi * (np.where(f < 0, -turns, turns) if real else turns))
    return h, np.minimum(np.abs(f), RATE / 2 - np.abs(f)) if real else RATE / 2 - np.abs(f)


def job(name, path, edges, backend):
    what = {"dm": DM, "reference": REFERENCE, **({"edges": edges} if edges else {})}
    return write_yaml(f"{name}.yaml", {"input": {"files": path}, "filter": {"dispersion": what, "backend": backend},
                                       "products": [{"kind": "voltages", "bits": 32, "file": f"{name}.h5"}]})


def errors(name, archive, spectra, real, edges, backend):
    """Returns errors [chan][frequency] of the exact response, distances from the edges, and the number of rows."""
    voltmill("run", "--force", job(name, archive, edges, backend))
    rows = voltages_of(scratch(f"{name}.h5"))[0, 0, 0]
    with h5py.File(archive) as before, h5py.File(scratch(f"{name}.h5")) as after:
        late = after.attrs["start_second"] - before.attrs["start_second"]
    f = np.fft.fftfreq(PERIOD)
    h, distance = exact(real)
    found = np.fft.fft(rows[:, :PERIOD]) * np.exp(-2j * np.pi * f * np.rint(late * RATE))
    with np.errstate(invalid="ignore"):
        error = np.abs(found / spectra - h)
    error[:, [0, PERIOD // 2]] *= not real  # of which the filter has the real parts
    return error, distance, rows.shape[1]


def width(error, distance):
    return distance[(error > 0.01).any(axis=0)].max(initial=0)


def has_device():
    try:
        return "\n0:" in "\n" + voltmill("info", "--devices")
    except Failed:  # built without OpenCL
        return False


def figures(name):
    """The widths, samples of the filter and of the product that plan states."""
    said = voltmill("plan", "--force", scratch(f"{name}.yaml"))
    return re.search(r"within ([0-9.]+ k?Hz) of a coarse", said)[1], int(re.search(r", (\d+) samples\n", said)[1])


BACKENDS = ["cpu", "reference"] + (["opencl"] if has_device() else [])
if "opencl" not in BACKENDS:
    note("no OpenCL device here")
for real, backends, attributes in ((False, BACKENDS, {}), (True, ["cpu"], {}),
                                   (False, ["cpu"], {"oversampling_num": np.int32(32), "oversampling_den": np.int32(27)})):
    kind = ("real" if real else "complex") + (", oversampled" if attributes else "")
    archive, spectra = make(f"noise-{len(attributes)}{real}", real, **attributes)
    for backend in backends:
        error, distance, rows = errors("usual", archive, spectra, real, None, backend)
        usual = width(error, distance)
        ok(4000 < usual <= 8600, f"{kind}, {backend}: without the key some 8 kHz", usual)
        for edges, text in ((2000.0, "2 kHz"), (60e3, "60 kHz")):
            name = f"asked-{text.split()[0]}"
            error, distance, made = errors(name, archive, spectra, real, text, backend)
            here = width(error, distance)
            ok(0.4 * edges < here <= edges and (here < usual) == (edges < usual), f"{kind}, {backend}: {text} are kept", here)
            ok((made < rows) == (edges < usual), f"{kind}, {backend}: a narrower edge takes more samples", made, rows)
            ok(error[:, distance > 4 * edges].max() < 1e-6, f"{kind}, {backend}: and the rest is exact",
               error[:, distance > 4 * edges].max())
            if backend == "cpu":
                voltmill("verify", "--all", scratch(f"{name}.h5"))
            rms = [np.sqrt(np.mean(e ** 2)) for e in (error, error[:, distance > edges])]
            note(f"{kind}, {backend}, {text}: {here:.0f} Hz, rms {100 * rms[0]:.2g} %, {100 * rms[1]:.2g} % within, {made} rows")
            width_said, taps = figures(name)
            ok(width_said == text and taps > 2 * 3.3 * RATE / edges, f"{kind}, {backend}: plan states it", width_said, taps)
finish()
