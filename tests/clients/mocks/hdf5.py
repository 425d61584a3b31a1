"""HDF5 archives of telescopes, in the exact layouts that they write."""
import os

import h5py
import numpy as np


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


def drf_metadata(channel, sample, rate, centres):
    folder = os.path.join(channel, "metadata", "2023-11-14T22-00-00")
    os.makedirs(folder, exist_ok=True)
    with h5py.File(os.path.join(channel, "metadata", "dmd_properties.h5"), "w") as file:
        file.attrs.update({"sample_rate_numerator": rate[0], "sample_rate_denominator": rate[1]})
    second = sample * rate[1] // rate[0]
    with h5py.File(os.path.join(folder, f"metadata@{second}.h5"), "a") as file:
        file[f"{sample}/center_frequencies"] = np.array(centres, np.float64)


# ---- CHIME

def chime_raw_write(path, stored, mhz, count, ctime=1700000000.0, words=(), **how):
    """stored uint8 [time][input], its first sample the one of that number; words: further attributes"""
    with h5py.File(path, "w") as file:
        file.create_dataset("baseband", data=stored, **how)
        file.attrs.update({"freq": mhz, "delta_time": 2.56e-6, "time0_fpga_count": count, "time0_ctime": ctime,
                           "event_id": 1, **dict(words)})


def chime_beam_write(path, stored, counts, mhz, conjugate, dm=None, ctime=1700000000.0, **how):
    with h5py.File(path, "w") as file:
        data = file.create_dataset("tiedbeam_baseband", data=stored, **how)
        if conjugate is not None:
            data.attrs["conjugate_beamform"] = conjugate
        if dm is not None:
            data.attrs["DM"] = dm
        freq = np.zeros(len(mhz), [("centre", "f8"), ("id", "u4")])
        freq["centre"] = mhz
        file["index_map/freq"] = freq
        time0 = np.zeros(len(mhz), [("fpga_count", "u8"), ("ctime", "f8"), ("ctime_offset", "f8")])
        time0["fpga_count"], time0["ctime"] = counts, ctime
        time0["ctime_offset"] = (np.array(counts) - min(counts)) * 2.56e-6
        file["time0"] = time0
        file.attrs["delta_time"] = 2.56e-6


# ---- MeerKAT

def meerkat_write(path, stored, flags, first, stream, padding=0, stamped=(), **how):
    """stored int8 [chan][time][2], the last `padding` times nothing; flags [chan or part][heap]; stamped: (first, end,
    timestamp) of times that have that one instead"""
    with h5py.File(path, "w") as file:
        file.create_dataset("Data/bf_raw", data=stored, **how)
        stamps = (1000 + first + np.arange(stored.shape[1])) * 4096
        stamps[stored.shape[1] - padding:] = 0
        for begin, end, stamp in stamped:
            stamps[begin:end] = stamp
        file["Data/timestamps"] = stamps.astype("u8")
        file["Data/flags"] = flags
        file["Data"].attrs["stream_name"] = stream


# ---- SKA-Low's pydaq

def pydaq_write(path, stored, antennas, pols, **words):
    """stored int8 [stream][time]: raw; [time][stream][2]: channelised"""
    is_raw = stored.ndim == 2
    dtype = np.dtype([("real", "i1"), ("imag", "i1")])
    chunks = words.pop("chunks", None)
    with h5py.File(path, "w") as file:
        data = stored if is_raw else np.ascontiguousarray(stored).view(dtype)[..., 0]
        file.create_dataset("raw_/data" if is_raw else "chan_/data", data=data, chunks=chunks)
        file["root"] = np.zeros(1, np.float16)
        file["root"].attrs.update({
            "n_antennas": antennas, "n_pols": pols,
            "n_chans": 1 if is_raw else stored.shape[1] // antennas // pols,
            "type": 1 if is_raw else 2, "channel_id": 100, "n_beams": 1,
            "tsamp": 1.25e-9 if is_raw else 1.08e-6, "ts_start": 1700000000.25, **words})


# ---- GReX

def grex_write(path, stored, mhz, day=60000.25):
    """stored int8 [time][pol][chan][2]"""
    with h5py.File(path, "w") as file:
        file["voltages"] = stored
        file["freq"] = mhz
        file["time"] = day + np.arange(len(stored)) * 8.192e-6 / 86400
        file["pol"] = np.array(["a", "b"], dtype=object)
        file["reim"] = np.array(["real", "imaginary"], dtype=object)


# ---- LOFAR transient buffers

def tbb_write(path, dipoles, length, firsts, chunks=(), **words):
    """dipoles int16 [dipole][time], of which `length` count, from samples `firsts` on"""
    with h5py.File(path, "w") as file:
        for i, (stored, first) in enumerate(zip(dipoles, firsts)):
            dipole = file.create_dataset(f"STATION_X/DIPOLE_00100100{i}", data=stored,
                                         chunks=(100,) if i in chunks else None)
            dipole.attrs.update({"SAMPLE_FREQUENCY": 200.0, "SAMPLE_FREQUENCY_UNIT": "MHz",
                                 "SAMPLE_NUMBER": first, "TIME": 1311073541, "NYQUIST_ZONE": 2,
                                 "DATA_LENGTH": length, **words})


# ---- LOFAR beam-formed

def lofar_bf_write(folder, component, stored, declared, order="<", old=False, hertz=None, rate=195312.5,
                   obs="1", raw=True, **also):
    """One of four files: `stored` [time][chan] in its .raw, of which the dataset declares more."""
    index = ("Xr", "Xi", "Yr", "Yi").index(component)
    os.makedirs(folder, exist_ok=True)
    base = f"L{obs}_SAP001_B002_S{index}_P000_bf"
    path = os.path.join(folder, base + ".h5")
    stored = stored.astype(order + "f4")
    with h5py.File(path, "w") as file:
        file.attrs.update({"FILETYPE": "bf", "TELESCOPE": "LOFAR", "OBSERVATION_ID": obs,
                           "OBSERVATION_START_UTC": "2011-07-27T12:00:00.125000000", **also})
        beam = file.create_group("SUB_ARRAY_POINTING_001/BEAM_002")
        units = file["SUB_ARRAY_POINTING_001"] if old else beam
        units.attrs.update({"SAMPLING_RATE": rate / 1e6 if old else rate,
                            "SAMPLING_RATE_UNIT": "MHz" if old else "Hz"})
        beam.attrs.update({("COMPLEX_VOLTAGES" if old else "COMPLEX_VOLTAGE"): np.int32(1)})
        if raw:
            with open(os.path.join(folder, base + ".raw"), "wb") as out:
                out.write(stored.tobytes() + b"torn")
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_external((base + ".raw").encode(), 0, h5py.h5f.UNLIMITED)
            space = h5py.h5s.create_simple((declared, stored.shape[1]),
                                           (h5py.h5s.UNLIMITED, stored.shape[1]))
            h5py.h5d.create(beam.id, f"STOKES_{index}".encode(), h5py.h5t.py_create(stored.dtype),
                            space, dcpl=plist)
        else:
            beam.create_dataset(f"STOKES_{index}", data=stored, chunks=(100, 3), compression=1)
        beam[f"STOKES_{index}"].attrs["STOKES_COMPONENT"] = component
        if hertz is not None:
            axis = beam.create_group("Coordinates/COORDINATE_1" if old else
                                     "COORDINATES/COORDINATE_1")
            axis.attrs["AXIS_VALUES_WORLD"] = np.array(hertz) / (1e6 if old else 1)
            axis.attrs["AXIS_UNITS"] = "MHz"
    return path
