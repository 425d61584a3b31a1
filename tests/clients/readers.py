"""Products as blimpy, turbo_seti, your and xarray read them, where these are installed: the numbers, frequencies and
times that h5py finds, of Stokes I and IQUV, of several banks, parts of the band, every compression and format; and a
drifting tone that turbo_seti finds in each that it takes."""
import contextlib
import importlib
import io
import os
import warnings

import h5py
import numpy as np

from common import SCRATCH, close, finish, note, ok, same, scratch, synth, voltmill, write_yaml

RATE, FINE, ROWS = 65536, 4096, 64
TONE_HZ, DRIFT = 1420.4e6 + 0.3 * RATE, -8.0


def find(name):
    """A module of others, or None: said aloud."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except Exception as failure:  # whatever goes wrong in it (numpy too new, say) is not our business
        note(f"SKIP {name}: {failure}")
        return None


archive = synth("sky", samples=(ROWS + 3) * FINE, streams={"pols": 2, "chans": 2}, bits=8, sample_rate_hz=float(RATE),
                freq_hz=1420.4e6, noise=20.0, seed=4, start="2026-03-01T04:00:00", telescope="GBT", source="PRACTICE",
                tones=[{"freq_hz": TONE_HZ, "amplitude": 2.0, "drift_hz_per_s": DRIFT, "polarisation": {"circular": "left"}}])
POWER = {"kind": "power", "bank": "fine", "polarisation": "I"}
PRODUCTS = {
    "plain.h5": {},
    "deflate.h5": {"compress": "deflate"},
    "lz4.h5": {"compress": "lz4"},
    "bitshuffle.h5": {"compress": "bitshuffle"},
    "zstd.h5": {"compress": "zstd"},
    "part.h5": {"freq_hz": [1420.4e6, 1420.4e6 + RATE]},
    "average.h5": {"average": 2},
    "iquv.h5": {"polarisation": "IQUV"},
    "iquv-small.h5": {"polarisation": "IQUV", "compress": "bitshuffle"},
    "both.h5": {"polarisation": "separate"},
    "coarse.h5": {"bank": "coarse", "integrate": 4},
    "coarse-iquv.h5": {"bank": "coarse", "polarisation": "coherency", "integrate": 7, "compress": "deflate"},
    "i.fil": {},
    "iquv.fil": {"polarisation": "IQUV"},
    "coarse.fil": {"bank": "coarse", "integrate": 4},
}
voltmill("run", write_yaml("job.yaml", {
    "input": {"files": archive},
    "channelise": [{"name": "fine", "channels": FINE, "taps": 4}, {"name": "coarse", "channels": 64, "cutoff": "flat"}],
    "products": [{**POWER, **product, "file": name} for name, product in PRODUCTS.items()]}))
find("hdf5plugin")  # after which h5py reads all of them


def reads(name):
    """Returns h5py's result; for a .fil, from the same product in HDF5. None: a filter that it lacks."""
    name = {"i.fil": "plain.h5", "iquv.fil": "iquv.h5", "coarse.fil": "coarse.h5"}.get(name, name)
    with h5py.File(scratch(name)) as file:
        try:
            return file["data"][...], file["frequency"][...], dict(file["data"].attrs), file["time"][...]
        except OSError:
            return None


plain = reads("plain.h5")[0]
for name in ("deflate.h5", "lz4.h5", "bitshuffle.h5", "zstd.h5"):
    found = reads(name)
    if found is None:
        note(f"SKIP {name}: h5py has no such filter (hdf5plugin)")
    else:
        same(found[0], plain, f"{name}: the numbers of what is not compressed")

blimpy = find("blimpy")
if blimpy:
    for name in PRODUCTS:
        data, frequency, header, seconds = reads(name)
        is_fil = name.endswith(".fil")
        with contextlib.redirect_stdout(io.StringIO()):
            found = blimpy.Waterfall(scratch(name))
            inner = blimpy.Waterfall(scratch(name), f_start=1420.4, f_stop=1420.41, t_start=3, t_stop=9)
        same(found.data[..., ::-1] if is_fil else found.data, data, f"blimpy: numbers of {name}")
        close(np.sort(found.container.populate_freqs()) * 1e6, frequency, 1e-3, f"blimpy: frequencies of {name}")
        close([found.header["tstart"], found.header["tsamp"]], [header["tstart"], header["tsamp"]], 1e-10,
              f"blimpy: times of {name}")
        same((found.header["nifs"], found.header["nchans"], found.header["source_name"], found.header["telescope_id"]),
             (*data.shape[1:], "PRACTICE", 6), f"blimpy: header of {name}")
        kept = np.flatnonzero((frequency >= 1420.4e6 - 1) & (frequency <= 1420.41e6 + 1))
        there = inner.data[..., ::-1] if is_fil else inner.data
        # It takes whole channels from f_start on, and may have one more or less at either end.
        at = int(np.argmin(np.abs(np.sort(inner.container.populate_freqs())[0] * 1e6 - frequency)))
        ok(abs(at - kept[0]) <= 1 and abs(there.shape[2] - len(kept)) <= 2 and
           np.array_equal(there, data[3:9, :, at:at + there.shape[2]]), f"blimpy: a part of {name}", at, kept[0], there.shape)

doppler = np.lib.NumpyVersion(np.__version__) < "2.4.0" and find("turbo_seti.find_doppler.find_doppler")
if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
    note("SKIP turbo_seti: it needs numpy below 2.4")
if doppler:
    for name in ("plain.h5", "deflate.h5", "lz4.h5", "bitshuffle.h5", "zstd.h5", "part.h5", "average.h5", "i.fil"):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            doppler.FindDoppler(scratch(name), max_drift=16.0, snr=25.0, out_dir=SCRATCH, log_level_int=40).search()
        with open(scratch(os.path.splitext(name)[0] + ".dat"), encoding="ascii") as file:
            hits = [line.split() for line in file if not line.startswith("#")]
        width = RATE / FINE * (2 if name == "average.h5" else 1)
        ok(len(hits) == 1 and abs(float(hits[0][1]) - DRIFT) <= width / (ROWS * FINE / RATE) + 0.1 and
           abs(float(hits[0][3]) * 1e6 - TONE_HZ) <= 2 * width, f"turbo_seti: the tone in {name}, and nothing else", hits)

your = find("your")
if your:
    for name in (name for name in PRODUCTS if name.endswith(".fil")):
        data, frequency, header, seconds = reads(name)
        found = your.Your(scratch(name))
        if data.shape[1] == 1:
            same(found.get_data(0, len(data))[:, ::-1], data[:, 0], f"your: numbers of {name}")
        else:
            same(found.get_data(0, len(data), npoln=data.shape[1]).reshape(data.shape)[..., ::-1], data, f"your: numbers of {name}")
        its = found.your_header
        close([its.tstart, its.tsamp], [header["tstart"], header["tsamp"]], 1e-10, f"your: times of {name}")
        close([its.fch1, its.foff], [frequency[-1] / 1e6, -header["foff"]], 1e-9, f"your: band of {name}")
        same((its.nchans, its.nspectra), (data.shape[2], len(data)), f"your: sizes of {name}")

xarray = find("h5netcdf") and find("xarray")
if xarray:
    if hasattr(h5py._errors, "silence_errors"):  # of attributes that h5netcdf looks for in vain
        h5py._errors.silence_errors()
    for name in (name for name in PRODUCTS if name.endswith(".h5")):
        data, frequency, header, seconds = reads(name)
        with xarray.open_dataset(scratch(name), engine="h5netcdf") as found:
            same(found["data"].values, data, f"xarray: numbers of {name}")
            at = len(frequency) // 3
            row = found["data"].sel(frequency=frequency[at] + 0.1, method="nearest").isel(pol=-1)
            same(row.values, data[:, -1, at], f"xarray: a channel of {name} by its frequency")
            late = (found.time.values - np.datetime64("2026-03-01T04:00:00")) / np.timedelta64(1, "ns")
            close(late / 1e9, seconds, 2e-9, f"xarray: times of {name}")
finish()
