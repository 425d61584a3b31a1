"""HDF5 archives of known formats, read as they are: real recordings and files of the exact layouts,
each read once more here with h5py alone. Spectra are those that numpy makes of these samples; times,
frequencies and the planted tones are where they must be.

VOLTMILL_DATA names the folder of the files (default ../shared/data); without it, only those that
this test makes itself are read."""
import datetime
import itertools
import os

import h5py
import numpy as np

from common import (DATA, Failed, agrees, close, coefficients, filter_bank, finish, frequencies_of,
                    note, note_errors, ok, same, scratch, stitched, voltmill, write_yaml)
from mocks.hdf5 import (chime_beam_write, chime_raw_write, drf_metadata, drf_write, grex_write, lofar_bf_write,
                        meerkat_write, pydaq_write, tbb_write)

TAPS = 4
MJD_OF_1970 = 40587
MOCKS = os.path.join(DATA, "mock_layouts")


def there(*names):
    """The paths of shared files, or None, said aloud."""
    paths = [os.path.join(DATA, name) for name in names]
    if all(os.path.exists(path) for path in paths):
        return paths
    note(f"SKIP {names[0]}: not there")
    return None


def pair(stored):
    """Complex samples of a compound of two."""
    first, second = stored.dtype.names
    return stored[first].astype(np.float64) + 1j * stored[second].astype(np.float64)


def start_of(product):
    return (int(product.attrs["start_mjd_day"]) - MJD_OF_1970, float(product.attrs["start_second"]))


def weights_of(is_there, b):
    """[spectrum][station][beam][pol][chan]: the share of the filter's energy."""
    taps, period = b.shape
    rows = is_there.shape[-1] // period
    raw = is_there[..., :rows * period].reshape(*is_there.shape[:-1], rows, period)
    share = raw.astype(np.float64) @ (b * b).T / np.sum(b * b)
    count = rows - taps + 1
    return np.moveaxis(sum(share[..., t:t + count, t] for t in range(taps)), -1, 0)


class Check:
    """A job with these files, and what its spectra must be: those of `volts`
    [station][beam][pol][chan][time], NaN where a sample is missing, coarse channels in the order of
    the file. Spectra of less than a tenth of good samples are NaN."""

    def __init__(self, name, files, volts, rate, centres, start=None, real=False, sideband=1,
                 channels=16, keep=None, layout=None, tolerance=1e-9):
        self.name, self.rate, self.channels, self.keep = name, rate, channels, keep
        self.centres = np.asarray(centres, dtype=np.float64)
        job = {"input": {"files": files, **({"layout": layout} if layout else {})},
               "channelise": {"channels": channels, "taps": TAPS, "window": "hann"},
               "products": [{"kind": "spectra", "file": scratch(name + ".spectra.h5")}]}
        path = write_yaml(name + ".yaml", job)
        voltmill("run", path)
        volts = volts[:, :, :, np.argsort(self.centres, kind="stable")]
        b = coefficients(channels, TAPS, real)
        weights = weights_of(np.isfinite(volts), b)
        volts = np.where(np.isfinite(volts), volts, 0)
        expected = stitched(filter_bank(volts, b, real, sideband, keep=keep))
        few = np.repeat(weights < 0.1, keep or channels, axis=-1)
        with h5py.File(job["products"][0]["file"], "r") as product:
            self.spectra = product["spectra"][()].reshape(expected.shape)
            found = product["weights"][()] if "weights" in product else np.ones(1)
            close(np.broadcast_to(found.reshape(weights.shape if found.size > 1 else 1),
                                  weights.shape), weights, 1e-6, f"{name}: weights")
            self.hertz = product["frequency"][()]
            self.attributes = dict(product.attrs)
            self.pols = product["pol"][()].tolist() if "pol" in product else None
            self.stations = product["station"][()].tolist() if "station" in product else None
            found = start_of(product) if "start_mjd_day" in product.attrs else None
            self.missing = int(product["provenance/missing_samples"][()])
            self.gaps = int(product["provenance"].attrs["gap_samples"])
        same(np.isnan(self.spectra), few, f"{name}: spectra of few samples are NaN")
        self.spectra[few], expected[few] = 0, 0
        agrees(self.spectra, expected, f"{name}: spectra are those of its samples",
               spectra=len(self.centres))
        step = rate / 2 / channels if real else rate / channels
        close(self.hertz, frequencies_of(centres, rate, channels, real, sideband, keep=keep),
              1e-6 * step, f"{name}: frequencies")
        if start is not None:
            day, second = divmod(start[0], 86400)
            ok(found and found[0] == day and abs(found[1] - second - start[1]) <= tolerance,
               f"{name}: it starts when it does", f"found {found}, expected {day} {second + start[1]}")
        self.info = voltmill("info", files if isinstance(files, str) else files[0])

    def says(self, *words):
        for word in words:
            ok(word in self.info, f"{self.name}: info says {word}", self.info)

    def tone(self, hertz, stream, amplitude, tolerance=0.1):
        """The strongest channel of a stream (station, beam, pol) near that frequency holds it."""
        mean = np.sqrt(np.mean(np.abs(self.spectra[:, stream[0], stream[1], stream[2]]) ** 2, axis=0))
        step = abs(self.hertz[1] - self.hertz[0])
        near = np.flatnonzero(np.abs(self.hertz - hertz) < self.rate / 2)
        top = near[np.argmax(mean[near])]
        ok(abs(self.hertz[top] - hertz) <= step * 0.5001, f"{self.name}: the tone is at its frequency",
           f"{self.hertz[top]:.12g}, expected {hertz:.12g}")
        if amplitude:
            gain = coefficients(self.channels, TAPS, False).sum()
            close(mean[top] / gain / amplitude, 1, tolerance, f"{self.name}: with its amplitude")


# ---- GReX and pydaq

def grex():
    for path, in filter(None, [there("mock_layouts/grex_dump-mock.nc")]):
        with h5py.File(path) as file:
            stored = file["voltages"][()].astype(np.float64)
            mhz = file["freq"][()]
        volts = np.moveaxis(stored[..., 0] + 1j * stored[..., 1], 0, -1)[None, None]
        # TAI 37 s ahead of UTC.
        check = Check("grex", path, volts, 250e6 / 2048, mhz * 1e6, ((60262 - MJD_OF_1970) * 86400 - 37, 0.0),
                      sideband=-1, tolerance=1e-6)
        check.says("GReX", "sideband -1")
        # 0.05 of the rate above the centre as stored: below it on the sky.
        check.tone(mhz[7] * 1e6 - 0.05 * 250e6 / 2048, (0, 0, 1), 10)

    # All 2048 channels: labels of the writer run over the whole band, ends included.
    rng = np.random.default_rng(2)
    stored = rng.integers(-30, 31, (80, 2, 2048, 2)).astype(np.int8)
    path = scratch("grex-2048.nc")
    grex_write(path, stored, np.linspace(1529.93896484375, 1279.93896484375, 2048))
    volts = np.moveaxis(stored[..., 0] + 1j * stored[..., 1].astype(np.float64), 0, -1)[None, None]
    check = Check("grex-2048", path, volts, 250e6 / 2048,
                  1529.93896484375e6 - np.arange(2048) * 250e6 / 2048,
                  ((60000 - MJD_OF_1970) * 86400 + 21600 - 37, 0.0), sideband=-1, channels=4,
                  tolerance=1e-6)
    check.says("labels drift")
    same(check.pols, [b"a", b"b"], "grex-2048: polarisations have their names")
    # Earlier writers spread the times up to where the next sample would be (GReX-T0, linspace of both ends).
    with h5py.File(path, "r+") as file:
        file["time"][...] = 60000.25 + np.linspace(0, 80 * 8.192e-6, 80) / 86400
    check = Check("grex-late", path, volts, 250e6 / 2048, 1529.93896484375e6 - np.arange(2048) * 250e6 / 2048,
                  ((60000 - MJD_OF_1970) * 86400 + 21600 - 37, 0.0), sideband=-1, channels=4, tolerance=1e-6)
    check.says("/time drift by up to a sample")


def pydaq():
    for path, in filter(None, [there("mock_layouts/channel_cont_0_20231114_80000_0.hdf5")]):
        with h5py.File(path) as file:
            stored = pair(file["chan_/data"][()])
        volts = stored.T.reshape(1, 4, 2, 4096).transpose(1, 2, 0, 3)[:, None]
        centre = 204 * 400e6 / 512
        check = Check("pydaq-channel", path, volts, 800e6 / 864, [centre], (1700000000, 0.0),
                      channels=64, keep=54)
        check.tone(centre + 0.1875 * 800e6 / 864, (2, 0, 1), 10)
        check.says("pydaq", "32/27", "assumed:", "sideband +1")
    for path, in filter(None, [there("mock_layouts/raw_burst_0_20231114_80000_0.hdf5")]):
        with h5py.File(path) as file:
            stored = file["raw_/data"][()].astype(np.float64)
        check = Check("pydaq-raw", path, stored.reshape(4, 2, 1, 4096)[:, None], 800e6, [200e6],
                      (1700000000, 0.0), real=True)
        check.tone(160e6, (3, 0, 0), 0)

    # Data after the written blocks is ignored, in whichever dimension time is.
    rng = np.random.default_rng(3)
    for kind, name in ((1, "raw"), (2, "channel")):
        for chunks in (None, True):
            shape = (4, 1000) if kind == 1 else (1000, 3 * 4)
            stored = rng.integers(-50, 51, shape + (() if kind == 1 else (2,))).astype(np.int8)
            path = scratch(f"pydaq-{name}-{chunks}.hdf5")
            pydaq_write(path, stored, 2, 2, n_blocks=9, n_samples=100, chunks=chunks)
            if kind == 1:
                volts = stored[:, :900].astype(np.float64).reshape(2, 1, 2, 1, 900)
                Check(f"pydaq-{name}-{chunks}", path, volts, 800e6, [200e6], (1700000000, 0.25),
                      real=True)
            else:
                volts = (stored[:900, :, 0] + 1j * stored[:900, :, 1]).T.reshape(3, 2, 2, 900)
                Check(f"pydaq-{name}-{chunks}", path, volts.transpose(1, 2, 0, 3)[:, None],
                      800e6 / 864, (100 + np.arange(3)) * 400e6 / 512, (1700000000, 0.25),
                      channels=64, keep=54)

    # A station beam in two files, between which 50 samples are missing; polarisations are datasets of their own.
    stored = rng.integers(-50, 51, (2, 2, 1000, 3, 2)).astype(np.int8)
    paths = [scratch(f"stationbeam_{part}.hdf5") for part in range(2)]
    for part, path in enumerate(paths):
        with h5py.File(path, "w") as file:
            for pol in range(2):
                dtype = np.dtype([("real", "i1"), ("imag", "i1")])
                file.create_dataset(f"polarization_{pol}/data", data=stored[part, pol].view(dtype)[..., 0], chunks=(100, 3))
            file["root"] = np.zeros(1, np.float16)
            file["root"].attrs.update({
                "n_antennas": 256, "n_pols": 2, "n_chans": 3, "n_blocks": 9, "n_samples": 100, "type": 5,
                "channel_id": 100, "n_beams": 1, "tsamp": 1.08e-6, "ts_start": 1700000000.25 + part * 950 * 1.08e-6})
    volts = np.full((1, 1, 2, 3, 1850), np.nan, np.complex128)
    for part in range(2):
        pairs = stored[part, :, :900].astype(np.float64)
        volts[0, 0, ..., 950 * part:950 * part + 900] = (pairs[..., 0] + 1j * pairs[..., 1]).transpose(0, 2, 1)
    check = Check("pydaq-beam", paths, volts, 800e6 / 864, (100 + np.arange(3)) * 400e6 / 512, (1700000000, 0.25), channels=64,
                  keep=54)
    check.says("pydaq, station beam", "channel_id is taken for")


# ---- Digital RF

def drf_join(pieces):
    """[subchannel][time] with NaN between the pieces, and the first sample."""
    first = min(pieces)
    end = max(sample + volts.shape[1] for sample, volts in pieces.items())
    some = pieces[first]
    out = np.full((some.shape[0], end - first), np.nan, some.dtype)
    for sample, volts in pieces.items():
        out[:, sample - first:sample - first + volts.shape[1]] = volts
    return out, first


def unix_of(sample, rate):
    """Whole seconds and the rest, exactly."""
    seconds, rest = divmod(sample * rate[1], rate[0])
    return seconds, rest / rate[0]


def drf_real():
    for files in filter(None, [there("digital_rf/example")]):
        channel = os.path.join(files[0], "ch0")
        path = os.path.join(channel, "2019-08-29T19-00-00/rf@1567105700.000.h5")
        with h5py.File(path) as file:
            volts = pair(file["rf_data"][()]).T[None, None, :, None]
        volts[volts == -32768 - 32768j] = np.nan  # its first sample never came
        start = unix_of(15671057000000, (10000, 1))
        for name, given in (("parent", files[0]), ("channel", channel), ("file", path)):
            check = Check(f"drf-example-{name}", given, volts, 1e4, [440e6], start, channels=64)
        mean = np.mean(np.abs(check.spectra[:, 0, 0, 0]) ** 2, axis=0)
        level = 10 * np.log10(mean.max() / np.median(mean))
        ok(abs(check.hertz[np.argmax(mean)] - 440e6) < 80 and level > 30,
           "drf-example: the receiver's DC is at the centre", f"{level:.1f} dB")
        check.says("Digital RF")
    for files in filter(None, [there("digital_rf/westford")]):
        folder = os.path.join(files[0], "2024-06-27T14-00-00")
        volts = np.concatenate([pair(h5py.File(os.path.join(folder, name))["rf_data"][:, 0])
                                for name in sorted(os.listdir(folder))])[None, None, None, None]
        with h5py.File(os.path.join(files[0], "metadata/2024-06-27T14-00-00",
                                    "metadata@1719499588.h5")) as file:
            centre = file["4298748970000000/center_frequencies"][0]
        close(centre, 1024e6, 1, "drf-westford: metadata knows the frequency")
        check = Check("drf-westford", files[0], volts, 2.5e6, [centre],
                      unix_of(4298749350000000, (2500000, 1)), channels=4096)
        mean = np.mean(np.abs(check.spectra[:, 0, 0, 0]) ** 2, axis=0)
        inside = np.abs(check.hertz - 1024e6) > 2000
        top = check.hertz[inside][np.argmax(mean[inside])]
        close(top - 1024e6, 625e3, 650, "drf-westford: the strongest line is at +625 kHz")


def drf_made():
    # A rational rate, 3 files, gaps between and inside of them, which the names alone do not tell.
    rate = (10 ** 9 * 64, 27 * 2 ** 16)
    first = 1700000000 * rate[0] // rate[1] + 12345
    for kind, how in (("plain", {}), ("deflate", {"chunks": (300, 1), "compression": 3}),
                      ("big", {"dtype": ">i2"}), ("byte", {"dtype": "i1", "chunks": True}),
                      ("float", {"dtype": "<f4"}), ("two", {"subchannels": 2}),
                      ("two-deflate", {"subchannels": 2, "chunks": (300, 2), "compression": 3}),
                      ("real", {"real": True})):
        channel = scratch(f"drf-{kind}")
        pieces = drf_write(channel, "rf@1700000000.000.h5", [(first, 1000), (first + 1200, 100),
                                                             (first + 1300, 700)], rate, **how)
        pieces.update(drf_write(channel, "rf@1700000000.350.h5", [(first + 2000, 500)], rate,
                                seed=2, **how))
        pieces.update(drf_write(channel, "rf@1700000000.400.h5", [(first + 3000, 1), (first + 3004,
                                                                                      996)],
                                rate, seed=3, **how))
        with open(os.path.join(channel, "2023-11-14T22-00-00", "tmp.rf@1700000002.000.h5"), "w"):
            pass
        real = "real" in how
        hertz = rate[0] / rate[1]
        volts, sample = drf_join(pieces)
        if not real:
            drf_metadata(channel, first - 5000, rate, [1.5e9])
            drf_metadata(channel, first - 4000, rate, [1.6e9])
            drf_metadata(channel, first + 9000, rate, [1.7e9])
        check = Check(f"drf-{kind}", channel, volts[None, None, :, None], hertz,
                      [hertz / 4 if real else 1.6e9], unix_of(sample, rate), real=real)
        same(check.gaps, (200 + 500 + 3) * volts.shape[0], f"drf-{kind}: its gaps are counted")

    drf_continuous(first, rate)
    drf_contradictions(first, rate)

    # Subchannels at frequencies of their own are coarse channels.
    channel = scratch("drf-chans")
    pieces = drf_write(channel, "rf@1700000000.000.h5", [(first, 2000)], rate, subchannels=3)
    drf_metadata(channel, first, rate, [1.5e9, 1.3e9, 1.4e9])
    volts, sample = drf_join(pieces)
    Check("drf-chans", channel, volts[None, None, None], hertz, [1.5e9, 1.3e9, 1.4e9],
          unix_of(sample, rate))

    # Metadata that begin later are used, and said to.
    channel = scratch("drf-later")
    pieces = drf_write(channel, "rf@1700000000.000.h5", [(first, 2000)], rate)
    drf_metadata(channel, first + 100, rate, [1.5e9])
    volts, sample = drf_join(pieces)
    check = Check("drf-later", channel, volts[None, None, :, None], hertz, [1.5e9], unix_of(sample, rate))
    check.says("a centre frequency only behind the first sample")

    # Without metadata the frequency is the job's.
    channel = scratch("drf-bare")
    pieces = drf_write(channel, "rf@1700000000.000.h5", [(first, 2000)], rate)
    volts, sample = drf_join(pieces)
    check = Check("drf-bare", channel, volts[None, None, :, None], hertz, [1e9],
                  unix_of(sample, rate), layout={"format": "digital_rf", "freq_hz": [1e9]})
    check.says("centre frequency 0 Hz")


def drf_continuous(first, rate):
    """Writers of files of full length leave the fill value where nothing came, in any file; floats NaN."""
    for kind, fill, where, how in (("<i2", -32768, "rf_data", {}), (">i2", -32768, "properties", {}), ("i1", -128, "rf_data", {}),
                                   ("<i4", -2 ** 31, "rf_data", {"real": True}), ("<f4", np.nan, "rf_data", {}),
                                   ("<i2", -707, "rf_data", {"fillvalue": -707, "real": True}),
                                   ("<i2", -32768, "rf_data", {"chunks": (300, 1), "compression": 3})):
        real = "real" in how
        made = f"{kind.strip('<>')}-{where}-{len(how)}-{fill}"
        channel = scratch("drf-continuous-" + made)
        pieces = {}
        for i in range(3):
            name = f"rf@1700000000.{(12345 + 1000 * i) * 1000 * rate[1] // rate[0]}.h5"
            blocks = [(first + 1000 * i, 1000)]
            piece = drf_write(channel, name, blocks, rate, dtype=kind, seed=i, **how)[blocks[0][0]]
            with h5py.File(os.path.join(channel, "2023-11-14T22-00-00", name), "r+") as file:
                if where == "rf_data":
                    file["rf_data"].attrs["is_continuous"] = np.int32(1)
                stored = file["rf_data"][()]
                if i != 1:
                    lost = slice(0, 400) if i == 0 else slice(300, 1000)
                    stored[lost] = (fill, fill) if stored.dtype.names else fill
                    piece = piece.astype(np.float64 if real else np.complex128)
                    piece[:, lost] = np.nan
                file["rf_data"][...] = stored
            pieces[blocks[0][0]] = piece
        if where == "properties":
            with h5py.File(os.path.join(channel, "drf_properties.h5"), "w") as file:
                file.attrs.update({"is_continuous": 1, "sample_rate_numerator": rate[0], "sample_rate_denominator": rate[1]})
        volts, sample = drf_join(pieces)
        hertz = rate[0] / rate[1]
        check = Check("drf-continuous-" + made, channel, volts[None, None, :, None], hertz, [hertz / 4 if real else 0],
                      unix_of(sample, rate), real=real)
        ok(np.isnan(fill) or f"samples of the fill value {fill} are missing" in check.info,
           f"drf-continuous, {kind}: it is told", check.info)
        if not real and fill == -32768:
            volts[np.isnan(volts)] = -32768 - 32768j
            Check("drf-not-continuous-" + made, channel, volts[None, None, :, None], hertz, [0], unix_of(sample, rate),
                  layout={"format": "digital_rf", "missing_value": -32767})
    # Without any fill value there is nothing to say, and there are no weights.
    channel = scratch("drf-continuous-whole")
    drf_write(channel, "rf@1700000000.000.h5", [(first, 2000)], rate)
    with h5py.File(os.path.join(channel, "2023-11-14T22-00-00/rf@1700000000.000.h5"), "r+") as file:
        file["rf_data"].attrs["is_continuous"] = 1
    ok("is_continuous is 1" not in voltmill("info", channel).split("attributes")[0], "drf-continuous: none in a whole file",
       voltmill("info", channel))


def drf_contradictions(first, rate):
    def write(name, **words):
        channel = scratch("drf-" + name)
        drf_write(channel, "rf@1700000000.000.h5", [(first, 2000)], rate)
        with h5py.File(os.path.join(channel, "2023-11-14T22-00-00/rf@1700000000.000.h5"), "r+") as file:
            file["rf_data"].attrs.update(words)
        return channel

    for name, words, said in (("subchannels", {"num_subchannels": 2}, "num_subchannels is 2, but /rf_data has 1"),
                              ("complex", {"is_complex": 0}, "is_complex is 0, but /rf_data contains pairs of numbers"),
                              ("epoch", {"epoch": "2000-01-01T00:00:00Z"}, "from the epoch 2000-01-01T00:00:00Z"),
                              ("rates", {"samples_per_second": 1e5}, "samples_per_second is 100000, sample_rate_numerator")):
        out = voltmill("info", write(name, **words), status=4)
        ok(said in out, f"drf: {name} that disagree are refused", out)
    channel = write("properties")
    with h5py.File(os.path.join(channel, "drf_properties.h5"), "w") as file:
        file.attrs.update({"sample_rate_numerator": 5, "sample_rate_denominator": 2})
    out = voltmill("info", channel, status=4)
    ok("drf_properties.h5 says 5/2 Hz" in out, "drf: another rate in the properties is refused", out)
    for name, words, said in (("subchannels", {"num_subchannels": 2}, "drf_properties.h5: num_subchannels is 2, but /rf_data has 1"),
                              ("complex", {"is_complex": 0}, "drf_properties.h5: is_complex is 0, but /rf_data contains pairs")):
        with h5py.File(os.path.join(channel, "drf_properties.h5"), "w") as file:
            file.attrs.update(words)
        out = voltmill("info", channel, status=4)
        ok(said in out, f"drf: {name} in the properties that disagree are refused", out)
    # A file's name is the time of its first sample, or earlier by less than the cadence of files.
    rf = "2023-11-14T22-00-00/rf@1700000000.000.h5"
    for name, second, cadence, properties, is_other in (
            ("fine", 0.341, 1000, None, False), ("short", 0.341, 100, None, True), ("late", 100.0, None, 1000, True),
            ("later", 100.0, None, None, False), ("latest", 4000.0, None, None, True), ("early", -100.0, None, None, True),
            ("earliest", -100000.0, None, None, True), ("earlier", -0.5, None, 1000, True)):
        sample = round((1700000000 + second) * rate[0] / rate[1])
        channel = scratch(f"drf-name-{name}")
        drf_write(channel, "rf@1700000000.000.h5", [(sample, 2000)], rate)
        if cadence:
            with h5py.File(os.path.join(channel, rf), "r+") as file:
                file["rf_data"].attrs["file_cadence_millisecs"] = cadence
        if properties:
            with h5py.File(os.path.join(channel, "drf_properties.h5"), "w") as file:
                file.attrs.update({"file_cadence_millisecs": properties})
        out = voltmill("info", channel, status=4 if is_other else 0)
        said = f"the file's name says 1700000000.000 s of 1970, but /rf_data_index begins with sample {sample}, {1700000000 + second:.3f} s"
        ok((said in out and "input.layout.start" in out) == is_other, f"drf: a name, {second} s before its samples", out)
        if is_other:
            job = write_yaml("drf-name.yaml", {
                "input": {"files": channel, "layout": {"format": "digital_rf", "start": "2023-11-14T22:13:20"}},
                "channelise": {"channels": 16, "taps": 4}, "products": [{"kind": "power", "file": "name.h5", "integrate": 4}]})
            out = voltmill("plan", job)
            ok("2023-11-14T22:13:20.000000 UTC" in out, f"drf: the job says when, name {name}", out)


# ---- CHIME

def nibbles(stored):
    """4 + 4 bits with an offset, the high ones real; 0 is no sample."""
    volts = (stored >> 4) - 8.0 + 1j * ((stored & 15) - 8.0)
    return np.where(stored == 0, np.nan, volts)


def aligned(pieces):
    """[channel][...][time] of pieces (first sample, [...][time]), NaN around each."""
    first = min(sample for sample, _ in pieces)
    end = max(sample + volts.shape[-1] for sample, volts in pieces)
    out = np.full((len(pieces), *pieces[0][1].shape[:-1], end - first), np.nan, complex)
    for row, (sample, volts) in zip(out, pieces):
        row[..., sample - first:sample - first + volts.shape[-1]] = volts
    return out


def chime_raw():
    names = [f"mock_layouts/chime_raw_baseband_12345678_{n}.h5" for n in (300, 301)]
    for files in filter(None, [there(*names)]):
        pieces, mhz = [], []
        for path in files:
            with h5py.File(path) as file:
                pieces.append((int(file.attrs["time0_fpga_count"]), nibbles(file["baseband"][()].T)))
                mhz.append(file.attrs["freq"])
        volts = np.moveaxis(aligned(pieces), 0, 1)[:, None, None]
        check = Check("chime-raw", files, volts, 390625, np.array(mhz) * 1e6,
                      (1700000000, 0.5 - 1.1e-8), sideband=-1, tolerance=2e-9)
        check.says("CHIME raw baseband", "sideband -1")
        for f in mhz:
            check.tone(f * 1e6 - 0.125 * 390625, (5, 0, 0), 2, 0.2)
        ok(check.missing >= 2 * 8 * 16, "chime-raw: missing samples are counted", check.missing)
        same(check.stations[:2], [b"FCC000000", b"FCC000001"], "chime-raw: inputs have their names")
        Check("chime-raw-turned", files[::-1], volts, 390625, np.array(mhz) * 1e6,
              (1700000000, 0.5 - 1.1e-8), sideband=1, layout={"format": "chime_raw", "sideband": 1},
              tolerance=2e-9)


def chime_beam():
    for path in filter(None, [there("mock_layouts/chime_singlebeam_12345678.h5")]):
        path = path[0]
        with h5py.File(path) as file:
            stored = file["tiedbeam_baseband"][()].astype(complex)
            counts = [int(n) for n in file["time0"]["fpga_count"]]
            mhz = file["index_map/freq"]["centre"]
        volts = np.moveaxis(aligned(list(zip(counts, stored))), 0, 1)[None, None]
        check = Check("chime-beam", path, volts, 390625, mhz * 1e6, (1700000000, 0.0), sideband=-1)
        check.says("CHIME/FRB", "sideband -1", "RA 83.6")
        for chan in (0, 6, 15):
            # Each channel has samples for a part of the time.
            check.tone(mhz[chan] * 1e6 + 0.25 * 390625, (0, 0, 1), None)
        ok(check.missing >= 2 * 2048, "chime-beam: the dead channel is missing", check.missing)
        same(check.pols, [b"S", b"E"], "chime-beam: polarisations have their names")

    # As stored, when the loader would conjugate: sideband +1. Compressed, two pointings, and
    # channels that have nothing in common.
    rng = np.random.default_rng(5)
    stored = (rng.normal(size=(4, 4, 500)) + 1j * rng.normal(size=(4, 4, 500))).astype(np.complex64)
    stored[2, 1, 100:200] = np.nan
    counts = [2000, 1300, 700, 1]
    mhz = 600 - 0.390625 * np.array([0, 1, 5, 6])
    for name, conjugate, how in (("plain", None, {}), ("deflate", 0, {"chunks": (2, 3, 100),
                                                                     "compression": 2})):
        path = scratch(f"chime-beam-{name}.h5")
        chime_beam_write(path, stored, counts, mhz, conjugate, dm=26.7, **how)
        volts = aligned([(n, v.reshape(2, 2, 500)) for n, v in zip(counts, stored)])
        check = Check(f"chime-beam-{name}", path, np.moveaxis(volts, 0, 2)[None], 390625, mhz * 1e6,
                      (1700000000, (1 - 1) * 2.56e-6), sideband=1)
        check.says("sideband +1", "to DM 26.7")


# ---- MeerKAT

def meerkat():
    names = [f"mock_layouts/meerkat_1700000000_tied_array_channelised_voltage_0{p}.h5" for p in "xy"]
    layout = {"format": "meerkat", "sample_rate_hz": 835937.5, "start": "2023-11-14T22:13:20",
              "freq_hz": {"start": 900e6, "step": 835937.5}}
    centres = 900e6 + 835937.5 * np.arange(16)
    for files in filter(None, [there(*names)]):
        volts = []
        for path in files:
            with h5py.File(path) as file:
                stored = file["Data/bf_raw"][()].astype(np.float64)
                volts.append(stored[..., 0] + 1j * stored[..., 1])
        volts = np.array(volts)[None, None]
        check = Check("meerkat", files, volts, 835937.5, centres, (1700000000, 0.0), layout=layout)
        check.tone(centres[3] + 0.3 * 835937.5, (0, 0, 0), 10)
        check.tone(centres[9] - 0.3 * 835937.5, (0, 0, 1), 10)
        same(check.pols, [b"0x", b"0y"], "meerkat: polarisations have their names")
        check.says("MeerKAT", "freq_hz", "format: meerkat")

    # Files of other lengths and starts, lost heaps, a last chunk that is filled with nothing.
    rng = np.random.default_rng(6)
    pieces = []
    for pol, first, times, padding, how in (("x", 64, 960, 64, {"chunks": (8, 64, 2)}),
                                            ("y", 128, 1024, 0, {})):
        stored = rng.integers(-90, 91, (8, times, 2)).astype(np.int8)
        flags = np.zeros((2, times // 32), np.uint8)
        flags[0, 3:5], flags[1, 7], flags[:, 20] = 1, 2, 255
        path = scratch(f"meerkat-{pol}.h5")
        meerkat_write(path, stored, flags, first, "beam_0" + pol, padding, **how)
        volts = np.where(flags.repeat(4, 0).repeat(32, 1), np.nan, stored[..., 0] + 1j * stored[..., 1])
        pieces.append((first, volts[:, :times - padding]))
    layout["freq_hz"] = [float(centre) for centre in centres[:8]]
    Check("meerkat-cut", [scratch("meerkat-x.h5"), scratch("meerkat-y.h5")], aligned(pieces)[None, None],
          835937.5, centres[:8], layout=layout)
    # Times without a timestamp never came, wherever they are; those of heaps that are lost mean nothing.
    pieces = []
    for pol, first, stamped in (("x", 0, ((0, 32, 0), (100, 143, 0), (160, 192, 77), (500, 512, 0))),
                                ("y", 20, ((0, 64, 5), (200, 201, 0)))):
        stored = rng.integers(-90, 91, (8, 512, 2)).astype(np.int8)
        flags = np.zeros((2, 16), np.uint8)
        flags[0, 4], flags[:, 5], flags[:, :2] = 1, 1, pol == "y"
        meerkat_write(scratch(f"never-{pol}.h5"), stored, flags, first, "beam_0" + pol, stamped=stamped)
        volts = np.where(flags.repeat(4, 0).repeat(32, 1), np.nan, stored[..., 0] + 1j * stored[..., 1])
        for begin, end, stamp in stamped:
            volts[:, begin:end] = np.nan
        pieces.append((first, volts[:, :500 if pol == "x" else 512]))
    check = Check("meerkat-never", [scratch("never-x.h5"), scratch("never-y.h5")], aligned(pieces)[None, None],
                  835937.5, centres[:8], layout=layout)
    out = voltmill("plan", scratch("meerkat-never.yaml"))
    ok("never-x.h5: 75 times have timestamp 0" in out, "meerkat: times that never came are told", out)
    for pol in "xy":
        with h5py.File(scratch(f"never-{pol}.h5"), "a") as file:
            del file["Data"].attrs["stream_name"]
    Check("meerkat-nameless", [scratch("never-x.h5"), scratch("never-y.h5")], aligned(pieces)[None, None],
          835937.5, centres[:8], layout={**layout, "files_along": "pol"})
    for name, stamped, words in (("all", ((0, 512, 0),), "all 512 are 0"),
                                 ("one", ((300, 301, 12345),), "that of sample 300 is 12345, expected 5324800 (steps of 4096"),
                                 ("early", ((0, 400, 0), (400, 401, 5), (401, 402, 10), (402, 512, 0)),
                                  "that of sample 400 is 5, which steps of 5")):
        path = scratch(f"stamps-{name}.h5")
        meerkat_write(path, stored, np.zeros((2, 16), np.uint8), 0, "beam_0x", stamped=stamped)
        out = voltmill("run", write_yaml("stamps.yaml", {"input": {"files": path, "layout": layout}, "channelise": {
            "channels": 8, "taps": 2}, "products": [{"kind": "power", "file": "stamps.h5"}]}), status=4)
        ok(path in out and words in out, f"meerkat: timestamps, {name}: refused with the numbers", out)
    voltmill("run", write_yaml("meerkat-stokes.yaml", {
        "input": {"files": [scratch("meerkat-x.h5"), scratch("meerkat-y.h5")], "layout": layout},
        "channelise": {"channels": 8, "taps": 2},
        "products": [{"kind": "power", "file": "meerkat-stokes.h5", "polarisation": "IQUV"}]}))
    with h5py.File(scratch("meerkat-stokes.h5")) as file:
        same(file["data"].attrs["feed"], b"linear", "meerkat: feeds of 0x and 0y are known")


# ---- LOFAR transient buffers

def lofar_tbb():
    for path in filter(None, [there("lofar_tbb/rw_20080701_162002_0109.h5")]):
        with h5py.File(path[0]) as file:
            volts = file["Station001/001001009"][()].astype(np.float64)[None, None, None, None]
        check = Check("tbb-2008", path[0], volts, 200e6, [50e6], (1214929202, 126587904 / 200e6),
                      real=True, channels=512)
        mean = np.mean(np.abs(check.spectra[:, 0, 0, 0]) ** 2, axis=0)
        close(check.hertz[np.argmax(mean)], 12.13e6, 1e5, "tbb-2008: the strongest line is at 12.13 MHz")
        check.says("LOFAR TBB")
    for path in filter(None, [there("lofar_tbb/L59640_CS011_D20110719T110541.036Z_tbb.h5")]):
        with h5py.File(path[0]) as file:
            pieces = []
            for name in ("DIPOLE_011001010", "DIPOLE_011001011"):
                dipole = file["STATION_CS011"][name]
                raw = os.path.join(os.path.dirname(path[0]), dipole.external[0][0])
                volts = np.fromfile(raw, "<i2").astype(np.float64)
                if name.endswith("1"):
                    volts[3072:4096] = np.nan  # FLAG_OFFSETS
                pieces.append((int(dipole.attrs["SAMPLE_NUMBER"]), volts))
        check = Check("tbb-2011", path[0], aligned(pieces).real[None, None, :, None], 200e6, [50e6],
                      (1311073541, 7284224 / 200e6), real=True, channels=128)
        same(check.pols, [b"011001010", b"011001011"], "tbb-2011: dipoles have their numbers")
        for pol in range(2):
            mean = np.mean(np.abs(check.spectra[:, 0, 0, pol]) ** 2, axis=0)
            close(check.hertz[2 + np.argmax(mean[2:])], 21.48e6, 8e5, "tbb-2011: a line at 21.48 MHz")

    # The second Nyquist zone, three dipoles: stations.
    rng = np.random.default_rng(7)
    path = scratch("tbb-zone.h5")
    firsts = (199999000, 199999100, 199998990)
    stored = rng.integers(-2000, 2001, (3, 900)).astype(np.int16)
    tbb_write(path, np.concatenate([stored, stored], axis=1), 900, firsts, chunks=(1,))
    pieces = list(zip(firsts, stored.astype(np.float64)))
    volts = aligned(pieces).real[:, None, None, None]
    check = Check("tbb-zone", path, volts, 200e6, [150e6], (1311073541, 199998990 / 200e6),
                  real=True, sideband=-1)
    same(check.stations, [b"001001000", b"001001001", b"001001002"], "tbb-zone: dipoles are stations")


# ---- LOFAR beam-formed

def lofar_bf():
    names = [f"mock_layouts/L999999_SAP000_B000_S{n}_P000_bf.h5" for n in range(4)]
    for files in filter(None, [there(*names)]):
        raws = [np.fromfile(path[:-2] + "raw", "<f4").reshape(-1, 8).T.astype(np.float64)
                for path in files]
        volts = np.array([raws[0] + 1j * raws[1], raws[2] + 1j * raws[3]])[None, None]
        centres = 149218750.0 + 195312.5 * np.arange(8)
        start = ((59945 - MJD_OF_1970) * 86400, 0.0)
        for name, given in (("all", files), ("first", files[0]), ("last", files[3]),
                            ("turned", files[::-1])):
            check = Check(f"lofar-bf-{name}", given, volts, 195312.5, centres, start)
        same(check.pols, [b"X", b"Y"], "lofar-bf: polarisations have their names")
        for pol, sign in ((0, 1), (1, -1)):
            check.tone(centres[4] + sign * 0.0625 * 195312.5, (0, 0, pol), 5)
        check.says("LOFAR beam-formed", "MOCK")

    # The layout of 2011, rows that were never written, either byte order, compressed, X alone.
    rng = np.random.default_rng(8)
    centres = 120e6 + 195312.5 * np.arange(6)
    for name, how, pols in (("old", dict(order=">", old=True), 2), ("little", {}, 2),
                            ("chunked", dict(raw=False, order=">"), 2), ("one", {}, 1)):
        folder = scratch("lofar-bf-" + name)
        stored = rng.normal(0, 100, (4, 700, 6)).astype(np.float32).astype(np.float64)
        for component, numbers in list(zip(("Xr", "Xi", "Yr", "Yi"), stored))[:2 * pols]:
            path = lofar_bf_write(folder, component, numbers, 900, hertz=centres, **how)
        volts = np.array([stored[0] + 1j * stored[1], stored[2] + 1j * stored[3]])[:pols]
        check = Check("lofar-bf-" + name, path, volts.transpose(0, 2, 1)[None, None], 195312.5,
                      centres, ((55769 - MJD_OF_1970) * 86400 + 43200, 0.125))
        if name != "chunked":
            check.says("900 rows are declared")

    for names in (["lofar_bf/L30042_SAP000_B000_S0_P000_bf.h5"],
                  ["lofar_bf/L63876_SAP000_B000_S0_P000_bf.h5"]):
        for path in there(*names) or []:
            try:
                voltmill("info", path)
                ok(False, f"{path}: Stokes I is refused")
            except Failed as reason:
                ok("is Stokes I, a filterbank, not voltages" in str(reason) and "exit 4" in str(reason),
                   f"{os.path.basename(path)}: Stokes I is refused", reason)


# ---- facts that are there twice

def stated_twice():
    """A contradiction is refused with both facts, or told where one of them is known to be unreliable; the
    job's word settles it."""
    rng = np.random.default_rng(9)
    noise = rng.integers(-50, 51, (1000, 4, 2)).astype(np.int8)

    number = itertools.count()

    def fresh(end):
        return scratch(f"twice{next(number)}{end}")

    def chime_raw(mhz=600.0, count=10 ** 9, **words):
        path = fresh(".h5")
        chime_raw_write(path, rng.integers(0, 256, (900, 2)).astype("u1"), mhz, count, **words)
        return path

    def change(path, where, **words):
        with h5py.File(path, "r+") as file:
            attrs = (file[where] if where in file else file.create_group(where)).attrs
            attrs.update({key: value for key, value in words.items() if value is not None})
            for key in (key for key, value in words.items() if value is None):
                del attrs[key]
        return path

    def beam(ctime=1700000000.0, unit=1, **words):
        path = fresh(".h5")
        chime_beam_write(path, np.ones((2, 2, 500), "c8"), [2000, 1000], unit * (800 - 0.390625 * np.array([500, 501])), 1, ctime=ctime)
        with h5py.File(path, "r+") as file:
            freq = file["index_map/freq"][()]
            freq["id"] = words.pop("ids", [500, 501])
            file["index_map/freq"][...] = freq
            file.attrs.update(words)
        return path

    def channels(**words):
        path = fresh(".hdf5")
        pydaq_write(path, noise, 2, 2, n_samples=100, n_blocks=10, **words)
        return path

    def raw(**words):
        path = fresh(".hdf5")
        pydaq_write(path, noise.reshape(-1)[:4000].reshape(4, 1000), 2, 2, n_samples=100, n_blocks=10, **words)
        return path

    def station(**words):
        path = channels(type=5, **{"n_chans": 3, **words})
        with h5py.File(path, "r+") as file:
            for pol in range(2):
                file[f"polarization_{pol}/data"] = np.ones((1000, 3), [("real", "i1"), ("imag", "i1")])
        return path

    def tbb(where, **words):
        path = fresh(".h5")
        tbb_write(path, rng.integers(-9, 9, (1, 900)).astype("i2"), 900, (5,))
        return change(path, where, **words)

    def lofar(where, **words):
        folder = fresh("")
        for component in ("Xr", "Xi"):
            path = lofar_bf_write(folder, component, np.ones((700, 6)), 700, hertz=120e6 + 195312.5 * np.arange(6))
            change(path, where, **words)
        return path

    pointing, bf_beam = "SUB_ARRAY_POINTING_001", "SUB_ARRAY_POINTING_001/BEAM_002"
    for name, path, words in (
            ("CHIME's freq_id", change(chime_raw(), "/", freq_id=511), ["511 is at 600 MHz", "at 600.390625 MHz by its number", "freq_hz"]),
            ("CHIME/FRB's id", beam(ids=[500, 502]), ["502 is at 604.296875 MHz", "at 603.90625 MHz by its number"]),
            ("CHIME/FRB's delta_time", beam(delta_time=5.12e-6), ["0.00512 s after the first by fpga_count", "0.00256 s by ctime"]),
            ("pydaq's tsamp", channels(tsamp=2.16e-6), ["tsamp 2.16e-06 s", "1.08e-06 s apart", "sample_rate_hz"]),
            ("pydaq's n_pols", channels(n_pols=1), ["n_antennas = 2, n_pols = 1 and 1 channels (n_chans)", "4 streams of chan_/data [1000][4]"]),
            ("pydaq's n_antennas of raw ones", raw(n_antennas=4), ["n_antennas = 4, n_pols = 2", "4 streams of raw_/data [4][1000]"]),
            ("pydaq's n_chans of a beam", station(n_chans=6), ["n_chans = 6", "polarization_0/data has 3 channels"]),
            ("pydaq's n_pols of a beam", station(n_pols=1), ["n_pols = 1", "polarization_1 is there"]),
            ("pydaq's channel_id", channels(channel_id=600), ["channel_id 600 and n_chans 1", "0 .. 511", "freq_hz"]),
            ("pydaq's last channel", channels(channel_id=511, n_chans=4, n_antennas=1, n_pols=1), ["channel_id 511 and n_chans 4"]),
            ("TBB's clock", tbb("/", CLOCK_FREQUENCY=160.0), ["SAMPLE_FREQUENCY is 200000000 Hz", "CLOCK_FREQUENCY 160000000 Hz"]),
            ("TBB's zone", tbb("/", FILTER_SELECTION="LBA_10_90"), ["NYQUIST_ZONE is 2", "LBA_10_90 is of zone 1"])):
        out = voltmill("info", path, status=4)
        ok(all(word in out for word in [path, *words]), f"{name}: refused with both facts", out)
    for name, where, said, words, key in (
            ("width", bf_beam, {"CHANNEL_WIDTH": 2e5}, ["CHANNEL_WIDTH is 200000 Hz", "sampled at 195312.5 Hz"], {"sample_rate_hz": 195312.5}),
            ("clock", "/", {"CLOCK_FREQUENCY": 160.0}, ["CLOCK_FREQUENCY is 160, of subbands of 156250 Hz", "samples of 195312.5 Hz",
             "expected 1:"], {"sample_rate_hz": 195312.5}),
            ("clock in Hz", "/", {"CLOCK_FREQUENCY": 3e8}, ["CLOCK_FREQUENCY is 300000000, of subbands of 292968.75 Hz"],
             {"sample_period_s": 5.12e-6}),
            ("subbands", bf_beam, {"SUBBAND_WIDTH": 195312.5, "CHANNELS_PER_SUBBAND": 2}, ["PER_SUBBAND is 97656.25 Hz"],
             {"sample_rate_hz": 195312.5}),
            ("centre", bf_beam, {"BEAM_FREQUENCY_CENTER": 121.0, "BEAM_FREQUENCY_CENTER_UNIT": "MHz"},
             ["BEAM_FREQUENCY_CENTER is 121000000 Hz", "120488281.25 Hz"], {"freq_hz": {"start": 120e6, "step": 195312.5}}),
            ("start", "/", {"OBSERVATION_START_MJD": 55769.6}, ["2011-07-27T12:00:00.125", "OBSERVATION_START_MJD is 55769.6"],
             {"start": "2011-07-27T12:00:00"}),
            ("start", pointing, {"EXPTIME_START_UTC": "2011-07-27T12:00:00Z", "EXPTIME_START_MJD": 1.0},
             ["EXPTIME_START_MJD is 1:"], {"start": "2011-07-27T12:00:00"}),
            ("channels", bf_beam + "/STOKES_1", {"NOF_CHANNELS": np.ones(5, "u4")}, ["of 5 subbands are 5", "has 6 channels"], None)):
        path = lofar(where, **said)
        out = voltmill("info", path, status=4)
        ok(all(word in out for word in words), f"LOFAR's {name}: refused with both facts", out)
        if key:
            job = {"input": {"files": path, "layout": {"format": "lofar_bf", **key}}, "channelise": {"channels": 8, "taps": 2},
                   "products": [{"kind": "power", "file": "twice.h5"}]}
            ok("error" not in voltmill("plan", write_yaml("twice.yaml", job)), f"LOFAR's {name}: the job settles it")
    def plan(path, **layout):
        return voltmill("plan", write_yaml("twice.yaml", {
            "input": {"files": path, "layout": layout}, "channelise": {"channels": 32, "taps": 2},
            "products": [{"kind": "power", "file": "twice.h5"}]}))

    # A rate of the job, in each of its forms, settles what the file says of it.
    slow = beam(delta_time=5.12e-6)
    change(slow, "/", rate=390625.0)
    for key in ({"sample_rate_hz": 390625}, {"sample_period_s": 2.56e-6}, {"sample_rate_hz": {"attribute": "/@rate"}}):
        out = plan(slow, **key)
        ok("delta_time" not in out and "390.625 kHz" in out, f"CHIME's delta_time: {key} settles it", out)
    clock = {"CLOCK_FREQUENCY": 200.0, "CLOCK_FREQUENCY_UNIT": "MHz"}
    for name, said, words in (
            ("SUBBAND_WIDTH", {"CHANNEL_WIDTH": 195312.5, "SUBBAND_WIDTH": 156250.0}, ["of subbands of 195312.5 Hz", "SUBBAND_WIDTH is 156250 Hz"]),
            ("CHANNELS_PER_SUBBAND", {"CHANNELS_PER_SUBBAND": 16}, ["are of 1 channels in each", "CHANNELS_PER_SUBBAND = 16"]),
            ("SUBBAND_WIDTH in kHz", {"SUBBAND_WIDTH": 195.3125, "SUBBAND_WIDTH_UNIT": "kHz"}, None)):
        path = change(lofar("/", **clock), bf_beam, **said)
        out = voltmill("info", path, status=4 if words else 0)
        ok(all(word in out for word in words or ["195.3125 kHz"]), f"LOFAR's clock and {name}", out)
    # Units are those that the file states, unless they cannot be meant; without one the size tells.
    rate, clock, time = "SAMPLING_RATE", "CLOCK_FREQUENCY", "SAMPLING_TIME"
    for where, key, value, unit in (
            (bf_beam, rate, 0.1953125, "MHz"), (bf_beam, rate, 0.1953125, "Mhz"), (bf_beam, rate, 195.3125, "kHz"),
            (bf_beam, rate, 0.1953125, None), (bf_beam, rate, 195312.5, "MHz"), ("/", clock, 200.0, "MHz"), ("/", clock, 2e5, "kHz"),
            ("/", clock, 0.2, "GHz"), ("/", clock, 2e8, "Hz"), ("/", clock, 200.0, None), (bf_beam, time, 5.12, "us"),
            (bf_beam, time, 5.12e-3, "ms"), (bf_beam, time, 5.12e-6, "s")):
        out = voltmill("info", lofar(where, **{key: value, f"{key}_UNIT": unit or ""}))
        ok("700 at 195.3125 kHz" in out and "assumed" not in out, f"LOFAR's {key} {value:g} {unit}", out)
    # The day of a pointing counts where its text is missing; a text that agrees with it is finer.
    path = lofar(pointing, EXPTIME_START_MJD=55769.75)
    out = voltmill("info", path)
    ok("EXPTIME_START_UTC is not there: EXPTIME_START_MJD = 55769.75 is used" in out and "2011-07-27T18:00:00.000000" in out,
       "LOFAR's start: the day of the pointing", out)
    out = plan(path, format="lofar_bf", start="2011-07-27T18:00:00")
    ok("EXPTIME" not in out, "LOFAR's start: the job settles the day of the pointing", out)
    out = voltmill("info", lofar(pointing, EXPTIME_START_MJD=55769.5 + 0.1251 / 86400))
    ok("assumed" not in out and "2011-07-27T12:00:00.125000" in out, "LOFAR's start: a text of the observation is finer", out)
    out = voltmill("info", lofar(pointing, EXPTIME_START_MJD=-1.0), status=4)
    ok("EXPTIME_START_MJD is -1, expected" in out, "LOFAR's start: the day of the pointing is none", out)
    path = lofar("/", OBSERVATION_START_MJD=55769 + 43200.125 / 86400)
    ok("assumed" not in voltmill("info", path), "LOFAR's start: a text and a day agree", voltmill("info", path))
    for rate, unit in (200e3, "kHz"), (0.2, "GHz"), (200.0, "mhz"):
        out = voltmill("info", tbb("STATION_X/DIPOLE_001001000", SAMPLE_FREQUENCY=rate, SAMPLE_FREQUENCY_UNIT=unit))
        ok("assumed: " not in out and "at 200 MHz" in out, f"TBB's {unit}", out)
    raws = [chime_raw(600.0, 10 ** 9), chime_raw(600.390625, 10 ** 9 + 10 ** 6, ctime=1700000001.0)]
    for name, files, words in (
            ("LOFAR's NOF_SAMPLES", [lofar(bf_beam + "/STOKES_1", NOF_SAMPLES=800)], "NOF_SAMPLES is 800"),
            ("LOFAR's start", [lofar("/", OBSERVATION_START_UTC=None)], "OBSERVATION_START_UTC is not there: the start is unknown"),
            ("LOFAR's day", [lofar("/", OBSERVATION_START_UTC=None, OBSERVATION_START_MJD=55769.5)],
             "OBSERVATION_START_UTC is not there: OBSERVATION_START_MJD = 55769.5 is used"),
            ("TBB's unit", [tbb("STATION_X/DIPOLE_001001000", SAMPLE_FREQUENCY=200e6)],
             "SAMPLE_FREQUENCY_UNIT MHz of 200000000 is taken for Hz, by its size"),
            ("pydaq's n_chans of raw ones", [raw(n_chans=2)], "n_chans = 2 and raw samples, which are of the whole band, differ"),
            ("CHIME's times", raws, "it starts 2.56 s after the first file by time0_fpga_count, 1 s by time0_ctime"),
            ("CHIME's delta_time", [change(chime_raw(), "/", delta_time=5.12e-6)], "delta_time is 5.12e-06 s"),
            ("pydaq's ts_end", [channels(ts_end=1700000003.25)], "ts_start to ts_end are 3 s, 10 blocks of 100 samples 0.00108 s"),
            ("pydaq's timestamp", [channels(timestamp=1700000008.0)], "ts_start is 1700000000.25 s of 1970, timestamp 1700000008 s")):
        out = voltmill("info", *files)
        ok("assumed:" in out and words in out, f"{name}: told", out)
    unset = "1970, a clock that was never set: the start is unknown; input.layout.start says it"
    for name, path, words in (("pydaq's ts_start", channels(ts_start=0.0), f"ts_start is 0 s of {unset}"),
                              ("pydaq's ts_start of a boot", channels(ts_start=1234.5), f"ts_start is 1234.5 s of {unset}"),
                              ("CHIME's time0_ctime", chime_raw(ctime=0.0), f"time0_ctime is 0 s of {unset}"),
                              ("CHIME/FRB's ctime", beam(ctime=0.0), f"ctime of /time0 is 0 s of {unset}"),
                              ("TBB's TIME", tbb("STATION_X/DIPOLE_001001000", TIME=0), f"TIME is 2.5e-08 s of {unset}")):
        out = voltmill("info", path)
        ok(words in out and "\n  start " not in out, f"{name}: a clock that was never set is told", out)
        out = plan(path, start="2020-01-01T00:00:00")
        ok("never set" not in out, f"{name}: the job's start settles it", out)
    out = voltmill("info", channels(ts_start=0.0, timestamp=1700000000.25))
    ok("ts_start is 0, timestamp 1700000000.25 s of 1970: timestamp is used" in out and "2023-11-14T22:13:20.25" in out,
       "pydaq's ts_start: timestamp stands for it", out)
    for hertz, unit in ((1, "Hz"), (1e3, "kHz"), (1e9, "GHz")):
        for name, path, words in (("CHIME", chime_raw(600e6 / hertz), f"freq: {600e6 / hertz:.12g} MHz is beyond"),
                                  ("CHIME/FRB", beam(unit=1e6 / hertz), f"centre of /index_map/freq: {604.6875e6 / hertz:.12g} MHz is beyond")):
            out = voltmill("info", path)
            ok(f"{words} the 400 to 800 MHz of CHIME: taken for {unit}" in out and
               ("599.804688 MHz to 600.195312 MHz" if name == "CHIME" else " to 604.882812 MHz") in out,
               f"{name}: frequencies in {unit} are known by its band", out)
    for name, path, words in (("CHIME", chime_raw(300.0), "freq: 300 MHz"), ("CHIME/FRB", beam(unit=2), "centre of /index_map/freq: 1209.375 MHz")):
        out = voltmill("info", path, status=4)
        ok(f"{words} is beyond the 400 to 800 MHz of CHIME: input.layout.freq_hz" in out, f"{name}: a band that it has not is refused", out)
        out = plan(path, freq_hz=[300e6] if name == "CHIME" else [300e6, 300390625])
        ok("beyond" not in out and "300" in out, f"{name}: the job's frequencies settle it", out)
    ok("channel_id" not in plan(channels(channel_id=600), freq_hz=[100e6]), "pydaq's channel_id: the job settles it")
    ok("used" not in voltmill("info", channels(ts_end=1700000000.25 + 1000 * 1.08e-6, timestamp=1700000000.25)),
       "pydaq's times agree", voltmill("info", channels()))
    grex_write(scratch("twice.nc"), noise[:, :2, None], np.array([1500.0]))
    ok("/freq has steps" not in voltmill("info", scratch("twice.nc")), "one channel of GReX has no steps")
    grex_write(scratch("twice.nc"), noise[:, None, :, :].repeat(2, 1), 1500 - np.arange(4.0))
    ok("/freq has steps of 1000000 Hz, but a sample every 8.192 us is of channels of 122070.312 Hz" in voltmill("info", scratch("twice.nc")),
       "GReX's labels: told", voltmill("info", scratch("twice.nc")))


def main():
    for part in (stated_twice, lofar_bf, grex, pydaq, drf_real, drf_made, chime_raw, chime_beam, meerkat, lofar_tbb):
        try:
            part()
        except (Failed, OSError, KeyError, ValueError) as reason:
            ok(False, f"{part.__name__} runs", reason)
    note_errors()
    finish()


main()
