"""HDF5 archives of known formats, read as they are: real recordings and files of the exact layouts,
each read once more here with h5py alone. Spectra are those that numpy makes of these samples; times,
frequencies and the planted tones are where they must be.

VOLTMILL_DATA names the folder of the files (default ../shared/data); without it, only those that
this test makes itself are read."""
import datetime
import os

import h5py
import numpy as np

from common import (DATA, Failed, agrees, close, coefficients, filter_bank, finish, frequencies_of,
                    note, note_errors, ok, same, scratch, stitched, voltmill, write_yaml)

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


class Check:
    """A job with these files, and what its spectra must be: those of `volts`
    [station][beam][pol][chan][time], coarse channels in the order of the file."""

    def __init__(self, name, files, volts, rate, centres, start=None, real=False, sideband=1,
                 channels=16, keep=None, layout=None, tolerance=1e-9):
        self.name, self.rate, self.channels, self.keep = name, rate, channels, keep
        self.centres = np.asarray(centres, dtype=np.float64)
        job = {"input": {"files": files, **({"layout": layout} if layout else {})},
               "channelise": {"channels": channels, "taps": TAPS},
               "products": [{"kind": "spectra", "file": scratch(name + ".spectra.h5")}]}
        path = write_yaml(name + ".yaml", job)
        voltmill("run", path)
        volts = np.where(np.isfinite(volts), volts, 0)
        volts = volts[:, :, :, np.argsort(self.centres, kind="stable")]
        expected = stitched(filter_bank(volts, coefficients(channels, TAPS, real), real, sideband,
                                        keep=keep))
        with h5py.File(job["products"][0]["file"], "r") as product:
            self.spectra = product["spectra"][()].reshape(expected.shape)
            self.hertz = product["frequency"][()]
            self.attributes = dict(product.attrs)
            self.pols = product["pol"][()].tolist() if "pol" in product else None
            self.stations = product["station"][()].tolist() if "station" in product else None
            found = start_of(product) if "start_mjd_day" in product.attrs else None
            self.missing = int(product["provenance/missing_samples"][()])
            self.gaps = int(product["provenance"].attrs["gap_samples"])
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
    day = 60000.25
    path = scratch("grex-2048.nc")
    with h5py.File(path, "w") as file:
        file["voltages"] = stored
        file["freq"] = np.linspace(1529.93896484375, 1279.93896484375, 2048)
        file["time"] = day + np.arange(80) * 8.192e-6 / 86400
        file["pol"] = np.array(["a", "b"], dtype=object)
        file["reim"] = np.array(["real", "imaginary"], dtype=object)
    volts = np.moveaxis(stored[..., 0] + 1j * stored[..., 1].astype(np.float64), 0, -1)[None, None]
    check = Check("grex-2048", path, volts, 250e6 / 2048,
                  1529.93896484375e6 - np.arange(2048) * 250e6 / 2048,
                  ((60000 - MJD_OF_1970) * 86400 + 21600 - 37, 0.0), sideband=-1, channels=4,
                  tolerance=1e-6)
    check.says("labels drift")
    same(check.pols, [b"a", b"b"], "grex-2048: polarisations have their names")


def pydaq():
    for path, in filter(None, [there("mock_layouts/channel_cont_0_20231114_80000_0.hdf5")]):
        with h5py.File(path) as file:
            stored = pair(file["chan_/data"][()])
        volts = stored.T.reshape(1, 4, 2, 4096).transpose(1, 2, 0, 3)[:, None]
        centre = 204 * 400e6 / 512
        check = Check("pydaq-channel", path, volts, 800e6 / 864, [centre], (1700000000, 0.0),
                      channels=64, keep=54)
        check.tone(centre + 0.1875 * 800e6 / 864, (2, 0, 1), 10)
        check.says("pydaq", "32/27")
    for path, in filter(None, [there("mock_layouts/raw_burst_0_20231114_80000_0.hdf5")]):
        with h5py.File(path) as file:
            stored = file["raw_/data"][()].astype(np.float64)
        check = Check("pydaq-raw", path, stored.reshape(4, 2, 1, 4096)[:, None], 800e6, [200e6],
                      (1700000000, 0.0), real=True)
        check.tone(160e6, (3, 0, 0), 0)

    # What lies behind the blocks that were written is nothing, wherever time stands.
    rng = np.random.default_rng(3)
    for kind, name in ((1, "raw"), (2, "channel")):
        for chunks in (None, True):
            shape = (4, 1000) if kind == 1 else (1000, 3 * 4)
            dtype = np.int8 if kind == 1 else np.dtype([("real", "i1"), ("imag", "i1")])
            stored = rng.integers(-50, 51, shape + (() if kind == 1 else (2,))).astype(np.int8)
            path = scratch(f"pydaq-{name}-{chunks}.hdf5")
            with h5py.File(path, "w") as file:
                data = stored if kind == 1 else np.ascontiguousarray(stored).view(dtype)[..., 0]
                file.create_dataset("raw_/data" if kind == 1 else "chan_/data", data=data,
                                    chunks=chunks)
                file["root"] = np.zeros(1, np.float16)
                file["root"].attrs.update({
                    "n_antennas": 2, "n_pols": 2, "n_chans": 1 if kind == 1 else 3, "n_blocks": 9,
                    "n_samples": 100, "type": kind, "channel_id": 100, "n_beams": 1,
                    "tsamp": 1.25e-9 if kind == 1 else 1.08e-6, "ts_start": 1700000000.25})
            if kind == 1:
                volts = stored[:, :900].astype(np.float64).reshape(2, 1, 2, 1, 900)
                Check(f"pydaq-{name}-{chunks}", path, volts, 800e6, [200e6], (1700000000, 0.25),
                      real=True)
            else:
                volts = (stored[:900, :, 0] + 1j * stored[:900, :, 1]).T.reshape(3, 2, 2, 900)
                Check(f"pydaq-{name}-{chunks}", path, volts.transpose(1, 2, 0, 3)[:, None],
                      800e6 / 864, (100 + np.arange(3)) * 400e6 / 512, (1700000000, 0.25),
                      channels=64, keep=54)


# ---- Digital RF

def drf_write(channel, name, blocks, rate, dtype="<i2", seed=1, subchannels=1, real=False, **how):
    """A file of these blocks (first sample, count); returns {sample: row of stored}."""
    folder = os.path.join(channel, "2023-11-14T22-00-00")
    os.makedirs(folder, exist_ok=True)
    rows = sum(count for _, count in blocks)
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-100, 101, (rows, subchannels, 2))
    if real:
        stored = numbers[..., 0].astype(dtype)
        volts = numbers[..., 0].astype(np.float64)
    else:
        stored = np.empty((rows, subchannels), np.dtype([("r", dtype), ("i", dtype)]))
        stored["r"], stored["i"] = numbers[..., 0], numbers[..., 1]
        volts = numbers[..., 0] + 1j * numbers[..., 1]
    with h5py.File(os.path.join(folder, name), "w") as file:
        data = file.create_dataset("rf_data", data=stored, **how)
        data.attrs.update({"sample_rate_numerator": np.uint64(rate[0]),
                           "sample_rate_denominator": np.uint64(rate[1]),
                           "is_complex": np.int32(not real),
                           "num_subchannels": np.int32(subchannels)})
        row = np.cumsum([0] + [count for _, count in blocks[:-1]])
        file["rf_data_index"] = np.array([[first, r] for (first, _), r in zip(blocks, row)], "u8")
    return {first: volts[r:r + count].T for (first, count), r in zip(blocks, row)}


def drf_join(pieces):
    """[subchannel][time] with zeros between the pieces, and the first sample."""
    first = min(pieces)
    end = max(sample + volts.shape[1] for sample, volts in pieces.items())
    some = pieces[first]
    out = np.zeros((some.shape[0], end - first), some.dtype)
    for sample, volts in pieces.items():
        out[:, sample - first:sample - first + volts.shape[1]] = volts
    return out, first


def drf_metadata(channel, sample, rate, centres):
    folder = os.path.join(channel, "metadata", "2023-11-14T22-00-00")
    os.makedirs(folder, exist_ok=True)
    with h5py.File(os.path.join(channel, "metadata", "dmd_properties.h5"), "w") as file:
        file.attrs.update({"sample_rate_numerator": rate[0], "sample_rate_denominator": rate[1]})
    second = sample * rate[1] // rate[0]
    with h5py.File(os.path.join(folder, f"metadata@{second}.h5"), "a") as file:
        file[f"{sample}/center_frequencies"] = np.array(centres, np.float64)


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
    # A rational rate, 3 files, gaps between and inside of them, which the names do not tell.
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
        pieces.update(drf_write(channel, "rf@1700000000.500.h5", [(first + 2000, 500)], rate,
                                seed=2, **how))
        pieces.update(drf_write(channel, "rf@1700000001.000.h5", [(first + 3000, 1), (first + 3004,
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

    # Subchannels at frequencies of their own are coarse channels.
    channel = scratch("drf-chans")
    pieces = drf_write(channel, "rf@1700000000.000.h5", [(first, 2000)], rate, subchannels=3)
    drf_metadata(channel, first, rate, [1.5e9, 1.3e9, 1.4e9])
    volts, sample = drf_join(pieces)
    Check("drf-chans", channel, volts[None, None, None], hertz, [1.5e9, 1.3e9, 1.4e9],
          unix_of(sample, rate))

    # Without metadata the frequency is the job's.
    channel = scratch("drf-bare")
    pieces = drf_write(channel, "rf@1700000000.000.h5", [(first, 2000)], rate)
    volts, sample = drf_join(pieces)
    check = Check("drf-bare", channel, volts[None, None, :, None], hertz, [1e9],
                  unix_of(sample, rate), layout={"format": "digital_rf", "freq_hz": [1e9]})
    check.says("centre frequency 0 Hz")


def main():
    for part in (grex, pydaq, drf_real, drf_made):
        try:
            part()
        except (Failed, OSError, KeyError, ValueError) as reason:
            ok(False, f"{part.__name__} runs", reason)
    note_errors()
    finish()


main()
