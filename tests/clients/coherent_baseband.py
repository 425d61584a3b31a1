"""Coherent dedispersion beside the public package baseband-tasks (PyPI), on voltages of the
Effelsberg telescope: the same sign, the same delays, the same samples. Skipped aloud where the
package or the recording is not there.

The recording holds noise up to its band's very edges, where the chirp jumps; what that rings is
cut off by everybody in their own way. So its samples are compared twice: as they are, of which
all but the outermost thousandth of the band agrees, and faded out over the outer tenths of the
band, when all of it does."""
import os
import sys

import h5py
import numpy as np

from common import DATA, close, finish, note, ok, scratch, skip_all, voltages_of, voltmill, \
    write_archive, write_yaml

RECORDING = os.path.join(DATA, "effelsberg_320MHz_2pol_int8.h5")
DM = 0.05
CONSTANT = 1 / 2.41e-4  # both: s MHz^2 / (pc cm^-3)

if not os.path.exists(RECORDING):
    skip_all(f"{RECORDING} is not there")
try:
    from astropy import units as u
    from astropy.time import Time
    from baseband_tasks.dispersion import Dedisperse
    from baseband_tasks.generators import StreamGenerator
except ImportError as error:
    skip_all(f"no baseband-tasks here: {error}")


def read(path):
    """Samples [time][pol], seconds of the day, rate and centre."""
    volts = voltages_of(path)[0, 0, :, 0].T
    with h5py.File(path, "r") as file:
        scale = float(file["voltages"].attrs.get("scale", 1))
        return (scale * volts, float(file.attrs["start_second"]),
                float(file["voltages"].attrs["sample_rate_hz"]), float(file["freq_hz"][0]))


def theirs(volts, rate, centre, reference, dm):
    """Returns the output of baseband-tasks for all samples at once, and the number of samples by which it begins
    later."""
    start = Time("2013-07-02T01:39:20", scale="utc", precision=9)

    def generate(stream):
        return volts[stream.offset:stream.offset + stream.samples_per_frame].astype(np.complex128)

    stream = StreamGenerator(generate, shape=volts.shape, start_time=start,
                             sample_rate=rate * u.Hz, samples_per_frame=len(volts),
                             frequency=np.full(volts.shape[1], centre) * u.Hz,
                             sideband=np.ones(volts.shape[1], dtype=np.int8), dtype=np.complex128)
    probe = Dedisperse(stream, dm, reference_frequency=reference * u.Hz)
    lost = probe._pad_start + probe._pad_end
    task = Dedisperse(stream, dm, reference_frequency=reference * u.Hz,
                      samples_per_frame=len(volts) - lost)
    begin = round(((task.start_time - start).to_value(u.s)) * rate)
    return task.read(), begin


def ours(archive, reference, dm):
    product = scratch("dedispersed.h5")
    job = {"input": {"files": archive},
           "filter": [{"dispersion": {"dm": dm, "constant": repr(CONSTANT),
                                      "reference": reference or "channel"}}],
           "products": [{"kind": "voltages", "bits": 32, "file": product}]}
    voltmill("run", "--force", write_yaml("dedisperse.yaml", job))
    return read(product)


def fade(volts, rate):
    """The outer tenths of the band fade out (in one transform of all samples)."""
    frequency = np.abs(np.fft.fftfreq(len(volts))) * 2  # 0 .. 1
    t = np.clip((frequency - 0.8) / 0.2, 0, 1)
    weight = np.where(t < 1, np.exp(1 - 1 / np.maximum(1 - t ** 2, 1e-9)), 0)
    return np.fft.ifft(np.fft.fft(volts, axis=0) * weight[:, None], axis=0)


def differences(found, expected):
    """Relative rms of the difference: of all, and within 98 and 80 % of the band (with a window, so
    that what lies outside does not leak in)."""
    window = np.hanning(len(found))[:, None]
    error, signal = (np.fft.fft(window * item, axis=0) for item in (found - expected, expected))
    frequency = np.abs(np.fft.fftfreq(len(found)))
    norm = np.linalg.norm
    return [norm(found - expected) / norm(expected)] + [
        norm(error[frequency < limit]) / norm(signal[frequency < limit]) for limit in (0.49, 0.4)]


def compare(name, archive, reference, dm, limits):
    volts, started, rate, centre = read(archive)
    found, found_start, found_rate, found_centre = ours(archive, reference, dm)
    expected, begin = theirs(volts, rate, centre, reference or centre, dm)
    close([found_rate, found_centre], [rate, centre], 1e-6, f"{name}: rate and frequency stay")
    place = (found_start - started) * rate
    close(place, round(place), 1e-3, f"{name}: it begins at a sample's time")
    shift = int(round(place)) - begin
    first, end = max(0, shift), min(len(expected), shift + len(found))
    ok(end - first > 6000, f"{name}: enough samples are left to compare", f"{end - first}")
    expected, found = expected[first:end], found[first - shift:end - shift]
    for what, difference, limit in zip(("all samples", "within 98 % of the band", "within 80 %"),
                                       differences(found, expected), limits):
        ok(difference <= limit, f"{name}: they agree: {what}",
           f"rms {difference:.3g} of the signal's, {limit:g} allowed")
        note(f"{what}: {difference:.2g} of {end - first} samples' rms")
    # Another sign, or none at all, would be as far off as noise is from noise.
    other, other_begin = theirs(volts, rate, centre, reference or centre, -dm)
    at = begin + first - other_begin
    wrong = differences(found[max(0, -at):], other[max(0, at):][:len(found) + min(0, at)])[0]
    ok(wrong > 0.5, f"{name}: the other sign does not", f"{wrong:.3g}")


def main():
    note("python " + sys.version.split()[0])
    with h5py.File(RECORDING, "r") as file:
        stored = file["voltages"][()]
        rate = float(file["voltages"].attrs["sample_rate_hz"])
        root = {key: file.attrs[key] for key in ("start_mjd_day", "start_second", "time_scale")}
        centre = file["freq_hz"][()]
    volts = stored[..., 0].astype(np.float64) + 1j * stored[..., 1]
    smooth = fade(volts[:, :, 0], rate)[:, :, None]
    parts = np.stack([smooth.real, smooth.imag], axis=-1).astype(np.float32)
    faded = write_archive("faded", parts, "time,pol,chan,reim", rate, "complex", centres=centre,
                          names={"pol": ["R", "L"]}, root=root)
    compare("as it is", RECORDING, None, DM, (0.1, 3e-4, 1e-6))
    compare("faded", faded, None, DM, (1e-5, 1e-5, 1e-6))
    compare("faded, above the band", faded, 330e6, DM, (1e-5, 1e-5, 1e-6))
    compare("faded, DM 0.011", faded, None, 0.011, (1e-5, 1e-5, 1e-6))
    finish()


main()
