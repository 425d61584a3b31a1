"""Power products as readers of FBH5 files see them, and the dimension scales of all products.

The rules are blimpy's (UCBerkeleySETI/blimpy 2.1, io/hdf_reader.py and io/base_reader.py: what it
looks for, in that order, and how it turns frequencies into channels) and turbo_seti's and rawspec's
header (fbh5_open.c); the code here is not theirs. CF names and units are what xarray reads."""
import datetime
import re

import h5py
import numpy as np

from common import (Failed, close, finish, ok, same, scratch, voltmill, write_archive, write_yaml,
                    EPSILON)

RATE = 3.2e5  # half a sample is more than the rounding of a Modified Julian Day
CENTRES = (1420.4e6 + RATE, 1420.4e6)  # the order in the file is not that of the sky
START_DAY, START_SECOND = 57991, 43210.123456789
INTEGERS = ("machine_id", "telescope_id", "data_type", "nchans", "nfpc", "nbeams", "ibeam", "nbits",
            "nifs")
NUMBERS = ("src_raj", "src_dej", "az_start", "za_start", "fch1", "foff", "tstart", "tsamp")
TEXTS = ("source_name", "rawdatafile")


def run(name, source, channels, kinds):
    job = {"input": source, "channelise": {"channels": channels, "taps": 4},
           "products": [{"kind": kind, "file": scratch(f"{name}.{kind}.h5"),
                         **({"integrate": 4} if kind == "power" else {})} for kind in kinds]}
    voltmill("run", write_yaml(name + ".yaml", job))
    return [scratch(f"{name}.{kind}.h5") for kind in kinds]


def full_archive():
    """Everything an archive can say: two stations, two polarisations, two coarse channels."""
    noise = np.random.default_rng(7).normal(scale=20, size=(6000, 2, 2, 2, 2))
    root = {"start_mjd_day": np.int32(START_DAY), "start_second": START_SECOND, "time_scale": "UTC",
            "telescope": "Effelsberg", "source": "3C 286", "ra_deg": 202.7845, "dec_deg": 30.5092}
    return write_archive("full", noise.astype("i1"), "time,station,pol,chan,reim", RATE, "complex",
                         centres=CENTRES, names={"station": ["Eb", "Wb"], "pol": ["R", "L"]},
                         root=root)


def bare_file():
    """A table that says nothing of itself."""
    with h5py.File(scratch("bare.h5"), "w") as file:
        file["x"] = np.random.default_rng(8).normal(scale=20, size=9000).astype("i2")
    return scratch("bare.h5")


# ---- blimpy

def examine(product):
    """The checks that blimpy makes before anything else; each failure ends it with exit(86)."""
    kind, version = product.attrs.get("CLASS"), product.attrs.get("VERSION")
    ok(kind in ("FILTERBANK", b"FILTERBANK"), "CLASS is FILTERBANK", repr(kind))
    ok(isinstance(version, (str, bytes)), "VERSION is a text", repr(version))
    number = version.decode("utf-8") if isinstance(version, bytes) else version
    ok(float(number) >= 1, "VERSION is a number as text", number)
    data = product["data"]
    ok(data.ndim == 3, "/data has three dimensions", data.shape)
    ok(np.isfinite(data[2][0][0]), "data[2][0][0] can be read")
    ok(np.isfinite(data[0][0][2]), "data[0][0][2] can be read")


def read_header(product):
    """All attributes of /data, texts decoded as blimpy does."""
    header = {}
    for key, value in product["data"].attrs.items():
        header[key] = value.decode("ascii") if isinstance(value, bytes) else value
    return header


def check_header(header, shape, dtype, telescope):
    missing = [key for key in INTEGERS + NUMBERS + TEXTS if key not in header]
    ok(not missing, "the header is complete", f"missing: {missing}")
    wrong = ([key for key in INTEGERS if not isinstance(header[key], np.int32)]
             + [key for key in NUMBERS if not isinstance(header[key], np.float64)]
             + [key for key in TEXTS if not isinstance(header[key], str)])
    ok(not wrong, "the header's numbers and texts have rawspec's types", wrong)
    same((header["nifs"], header["nchans"]), shape[1:], "nifs and nchans are the shape of /data")
    ok(header["nbits"] == 32 and dtype == np.dtype("<f4"), "nbits is that of /data", dtype)
    ok(header["nchans"] % header["nfpc"] == 0, "whole coarse channels")
    # 1 is "filterbank"; 0 stands for an unknown telescope or machine.
    same([header[key] for key in ("data_type", "telescope_id", "machine_id")], [1, telescope, 0],
         "data_type, telescope_id and machine_id")


def channels_of(header, shape, first_mhz, end_mhz):
    """The channels that blimpy gives for Waterfall(file, f_start, f_stop)."""
    begin = header["fch1"]
    end = begin + shape[2] * header["foff"]
    first_mhz = first_mhz if begin <= first_mhz < end else begin
    end_mhz = end_mhz if begin < end_mhz <= end else end
    return (int(np.round((first_mhz - begin) / header["foff"])),
            int(np.round((end_mhz - begin) / header["foff"])))


def check_axes(product, header, has_start=True):
    data, frequency, time = product["data"], product["frequency"][()], product["time"][()]
    mhz = header["fch1"] + header["foff"] * np.arange(data.shape[2])
    close(mhz, frequency / 1e6, 8 * EPSILON * np.max(np.abs(mhz)),
          "fch1 + k foff is the frequency of channel k")
    ok(header["foff"] > 0 and (np.diff(frequency) > 0).all(), "frequencies ascend")
    close(np.diff(time), np.full(len(time) - 1, header["tsamp"]), 1e-12, "tsamp is the time step")
    root = product.attrs
    if has_start:
        edge = root["start_second"] + time[0] - header["tsamp"] / 2
        start = root["start_mjd_day"] + edge / 86400
        close(header["tstart"], start, 2 * EPSILON * start, "tstart is the first dump's leading edge")
    else:
        same(header["tstart"], 0.0, "tstart is 0 when the start is unknown")


def check_selection(product, header):
    data, mhz = product["data"], product["frequency"][()] / 1e6
    first, end = 21, 39
    found = channels_of(header, data.shape, mhz[first], mhz[end])
    same(found, (first, end), "a selection by frequency finds its channels")
    found = channels_of(header, data.shape, mhz[first] - 1e-9, mhz[end] + 1e-9)
    same(found, (first, end), "also when its ends are a little beside")
    found = channels_of(header, data.shape, mhz[0], mhz[-1] + header["foff"])
    same(found, (0, data.shape[2]), "a selection of the whole band is the whole band")


# ---- dimension scales

def check_scales(product, name, dims, labels):
    data = product[name]
    same([data.dims[i].label for i in range(data.ndim)], labels, f"/{name}: labels")
    for i, dim in enumerate(dims):
        scale = product[dim]
        ok(h5py.h5ds.is_scale(scale.id), f"/{dim} is a scale")
        ok(len(data.dims[i]) == 1 and data.dims[i][0] == scale
           and scale.shape == data.shape[i:i + 1],
           f"/{name}: dimension {i} has the scale /{dim}", [s.name for s in data.dims[i].values()])


def check_cf(product, day=None, second=None):
    """Times and frequencies as xarray reads them."""
    same(product["frequency"].attrs["units"].decode(), "Hz", "/frequency is in Hz")
    same(product.attrs["Conventions"].decode(), "CF-1.8", "Conventions")
    units = product["time"].attrs["units"].decode()
    if day is None:
        same(units, "s", "/time is in seconds of nothing when the start is unknown")
        return
    found = re.fullmatch(r"seconds since (\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d\.?\d*)", units)
    if ok(found, "/time says since when, as CF has it", units):
        date = datetime.date.fromisoformat(found[1])
        elapsed = int(found[2]) * 3600 + int(found[3]) * 60 + float(found[4])
        same((date - datetime.date(1858, 11, 17)).days, day, "/time counts from the start's day")
        close(elapsed, second, 1e-9, "/time counts from the start's second, to the nanosecond")


def full():
    power, spectra = run("full-job", {"files": full_archive()}, 64, ("power", "spectra"))
    with h5py.File(power, "r") as product:
        examine(product)
        header = read_header(product)
        check_header(header, product["data"].shape, product["data"].dtype, 8)
        check_axes(product, header)
        check_selection(product, header)
        check_scales(product, "data", ("time", "pol", "frequency"),
                     ["time", "feed_id", "frequency"])
        check_cf(product, START_DAY, START_SECOND)
        same(list(product["pol"].asstr()[()]), ["Eb/R", "Eb/L", "Wb/R", "Wb/L"], "names of the ifs")
        close([header["src_raj"] * 15, header["src_dej"]], [202.7845, 30.5092], 1e-12,
              "the position is in hours and degrees")
        same(header["source_name"], "3C 286", "source_name")
        same(header["rawdatafile"], "full.h5", "rawdatafile")
        same(header["nfpc"], 64, "nfpc is the number of channels of a coarse channel")
        close([header["fch1"], header["foff"]], [1420.4 - RATE / 2e6, RATE / 64e6], 1e-9,
              "fch1 and foff are those of the archive")
        close(header["tsamp"], 4 * 64 / RATE, 1e-18, "tsamp is that of the job")
        first = (4 * 64 - 1) / 2 - 64 / 2  # samples: half a raw spectrum before its centre
        close((header["tstart"] - START_DAY) * 86400, START_SECOND + first / RATE, 1e-6,
              "tstart is that of the archive")
    with h5py.File(spectra, "r") as product:
        check_scales(product, "spectra", ("time", "station", "pol", "frequency"),
                     ["time", "station", "pol", "frequency"])
        check_cf(product, START_DAY, START_SECOND)
        same(list(product["pol"].asstr()[()]), ["R", "L"], "names of polarisations")
        same(list(product["station"].asstr()[()]), ["Eb", "Wb"], "names of stations")
        same(product["spectra"].dtype, np.dtype("complex64"), "h5py takes spectra for complex64")
        ok("CLASS" not in product.attrs, "spectra do not pose as a filterbank")


def bare():
    layout = {"dataset": "/x", "axes": "time", "domain": "real", "sample_rate_hz": 1e6}
    power, = run("bare-job", {"files": bare_file(), "layout": layout}, 50, ("power",))
    with h5py.File(power, "r") as product:
        examine(product)
        header = read_header(product)
        check_header(header, product["data"].shape, product["data"].dtype, 0)
        check_axes(product, header, has_start=False)
        check_selection(product, header)
        check_scales(product, "data", ("time", "pol", "frequency"),
                     ["time", "feed_id", "frequency"])
        check_cf(product)
        same(header["source_name"], "unknown", "a source that is not known")
        ok("start_second" not in product.attrs, "no start is invented")


def main():
    for part in (full, bare):
        try:
            part()
        except Failed as failure:
            ok(False, f"{part.__name__} archive: runs", failure)
    finish()


main()
