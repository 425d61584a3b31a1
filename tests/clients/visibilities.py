"""Visibilities as others read them: h5py and numpy; and, where it is installed, pyuvdata with all its
checks, which phases a point source that this test has made, to show the sign convention.

The products are those of tests/unit/test_visibilities_kind, an array of four stations in the Karoo."""
import os
import subprocess
import warnings

import h5py
import numpy as np
from common import Failed, VOLTMILL, close, finish, ok, same, scratch, voltmill

try:
    from astropy.utils import iers
    iers.conf.auto_download = False # pyuvdata asks for UT1
    import astropy.units as u
    from astropy.coordinates import AltAz, EarthLocation, SkyCoord
    from astropy.time import Time
    from pyuvdata import UVData
except ImportError:
    UVData = None

ROWS, CHANNELS, STEP, LIGHT = 4, 8, 16.384, 299792458.0
PAIRS = [(a, b) for a in range(4) for b in range(a, 4)]
PLACE = np.array([5109335.784404009, 2006844.1659758184, -3238925.6714398554])
OFFSETS = np.array([[0, 0, 0], [-6.25, 16, 0], [9, 0, 14], [1.5, -20, -10]], float)
LONGITUDE, LATITUDE = np.deg2rad([21.4439, -30.7110])
POLS = [(0, 0), (1, 1), (0, 1), (1, 0)] # p of A, q of B

program = os.path.join(os.path.dirname(VOLTMILL), "tests/unit/test_visibilities_kind")
subprocess.run([program, os.path.dirname(scratch("x"))], check=True, stdout=subprocess.DEVNULL,
               stderr=subprocess.DEVNULL)


def refused(words, *command, status=2):
    try:
        said = voltmill(*command, status=status)
        ok(words in said and said.count("error:") == 1, f"{command[0]} {command[1]}: {words}", said)
    except Failed as error:
        ok(False, f"{command[0]} {command[1]}: {words}", error)


# ---- As h5py sees it

with h5py.File(scratch("drift.uvh5")) as f:
    header, data = f["Header"], f["Data"]
    shape = (ROWS * len(PAIRS), CHANNELS, 4)
    same([data[name].shape for name in ("visdata", "nsamples", "flags")], [shape] * 3, "shapes")
    same([data[name].dtype for name in ("visdata", "nsamples", "flags")],
         [np.dtype(name) for name in ("c8", "f4", "?")], "types")
    numbers = np.arange(2 * np.prod(shape), dtype="f4").view("c8").reshape(shape)
    same(data["visdata"][:], numbers, "a row is [pairs][frequencies][pols], time the slowest")
    same(data["flags"][:], data["nsamples"][:] < 0.5, "flags are where nsamples are below min_weight")
    same([header[name][()] for name in ("Nblts", "Nbls", "Ntimes", "Nfreqs", "Npols", "Nants_data", "Nspws")],
         [40, 10, 4, 8, 4, 4, 1], "counts")
    same(list(header["ant_2_array"][:]), [a for a, b in PAIRS] * ROWS, "ant_2 is the first of a pair")
    same(list(header["ant_1_array"][:]), [b for a, b in PAIRS] * ROWS, "ant_1 the second")
    same(list(header["polarization_array"][:]), [-5, -6, -8, -7], "xx, yy, yx, xy")
    same(header["freq_array"][:], f["frequency"][:], "freq_array")
    close(header["channel_width"][:], np.full(CHANNELS, 62.5), 0, "channel_width")
    days = 2458849.5 + f["time"][:] / 86400
    close(header["time_array"][:], np.repeat(days, len(PAIRS)), 1e-9, "time_array")
    close(header["integration_time"][:], np.full(40, STEP), 1e-12, "integration_time")
    close(header["antenna_positions"][:], OFFSETS, 1e-8, "antenna_positions")
    same([name.decode() for name in header["antenna_names"]], ["a", "b", "c", "d"], "antenna_names")
    east = np.array([-np.sin(LONGITUDE), np.cos(LONGITUDE), 0])
    up = np.array([np.cos(LATITUDE) * np.cos(LONGITUDE), np.cos(LATITUDE) * np.sin(LONGITUDE), np.sin(LATITUDE)])
    frame = np.array([east, np.cross(up, east), up])
    uvw = np.array([frame @ (OFFSETS[a] - OFFSETS[b]) for a, b in PAIRS] * ROWS)
    close(header["uvw_array"][:], uvw, 1e-8, "uvw of drift data are east, north, up of ant_2 - ant_1")
    at = data["flags"].id.get_offset()

# ---- As voltmill's other commands see it

said = voltmill("info", "drift.uvh5")
ok("10 of 4 stations; products of polarisations xx,yy,yx,xy" in said and "one every 16.384 s" in said, "info", said)
refused("which pyuvdata reads", "export", "--format=fil", "drift.uvh5", status=4)
refused("which pyuvdata reads", "export", "--format=kerchunk", "drift.uvh5")
refused("contains visibilities", "join", "-o", "joined.h5", "drift.uvh5", "phased.uvh5")
refused("pyuvdata shows them", "plot", "drift.uvh5")
voltmill("verify", "--crc", "drift.uvh5")
with open(scratch("drift.uvh5"), "rb") as whole, open(scratch("damaged.uvh5"), "wb") as out:
    content = bytearray(whole.read())
    content[at + 5] ^= 1
    out.write(content)
said = voltmill("verify", "--crc", "damaged.uvh5", status=4)
ok("/Data/flags: damaged" in said, "a damaged flag is found by its CRC", said)

if not UVData:
    print("# SKIP no pyuvdata: pip install pyuvdata into a venv, and PYTHON=venv/bin/python")
    finish()


# ---- As pyuvdata sees it

def read(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return UVData.from_file(scratch(name), run_check=True, check_extra=True, run_check_acceptability=True,
                                strict_uvw_antpos_check=True, check_autos=True)


def directions(source, days):
    """Unit vectors in ITRF towards the apparent place at each time, without refraction."""
    where = EarthLocation.from_geocentric(*PLACE, unit="m")
    seen = source.transform_to(AltAz(obstime=Time(days, format="jd", scale="utc"), location=where))
    high, side = seen.alt.rad, seen.az.rad
    return np.array([np.cos(high) * np.sin(side), np.cos(high) * np.cos(side), np.sin(high)]).T @ frame


def put(name, source, centre, gains):
    """Writes what stations receive of a point source: E = gain exp(+ i omega (t + r . s / c)), less the phase of the
    centre."""
    with h5py.File(scratch(name), "r+") as f:
        hertz = f["frequency"][:]
        towards = directions(source, days) - (directions(centre, days) if centre else 0)
        turns = np.einsum("ak,tk,f->taf", OFFSETS, towards, hertz / LIGHT)
        field = gains[None, :, None, :] * np.exp(2j * np.pi * turns)[..., None] # [time][station][frequency][pol]
        rows = np.array([[field[:, a, :, p] * field[:, b, :, q].conj() for p, q in POLS] for a, b in PAIRS])
        for i, (a, b) in enumerate(PAIRS):
            rows[i, :2] = rows[i, :2].real if a == b else rows[i, :2]
        f["Data/visdata"][:] = rows.transpose(2, 0, 3, 1).reshape(shape)


gains = np.array([[1, 2], [3, 5], [7, 11], [13, 17]], float)
target, source = SkyCoord(122, -30, unit="deg"), SkyCoord(123.2, -29.3, unit="deg")
for name, centre in (("drift.uvh5", None), ("phased.uvh5", target)):
    put(name, source, centre, gains)
    uv = read(name)
    ours = uv.lst_array.copy()
    uv.set_lsts_from_time_array()
    close(ours, uv.lst_array, 1e-7, f"{name}: lst_array")
    uv.phase(lon=source.ra.rad, lat=source.dec.rad, phase_frame="icrs", cat_name="source")
    for a, b in ((0, 1), (3, 2)):
        for pol, (p, q) in {"xx": (0, 0), "yy": (1, 1), "xy": (0, 1), "yx": (1, 0)}.items():
            found = uv.get_data(a, b, pol) / (gains[a, p] * gains[b, q])
            close(found, np.ones(found.shape), 2e-4, f"{name}: {pol} of {a}, {b}, phased to the source")

    # A dirty image by direct sum: pyuvdata phases to the target, numpy sums.
    put(name, source, centre, np.ones((4, 2)))
    uv = read(name)
    uv.phase(lon=target.ra.rad, lat=target.dec.rad, phase_frame="icrs", cat_name="target")
    offset = target.spherical_offsets_to(source)
    step = np.deg2rad(0.1)
    grid = np.arange(-16, 17) * step
    ell, emm = np.meshgrid(grid, grid, indexing="ij")
    turns = (np.multiply.outer(uv.uvw_array[:, 0], ell) + np.multiply.outer(uv.uvw_array[:, 1], emm) +
             np.multiply.outer(uv.uvw_array[:, 2], np.sqrt(1 - ell**2 - emm**2) - 1)) * uv.freq_array[4] / LIGHT
    image = np.einsum("b,bxy->xy", uv.data_array[:, 4, 0], np.exp(-2j * np.pi * turns)).real
    peak = np.unravel_index(np.argmax(image), image.shape)
    where = SkyCoord(source).transform_to(target.skyoffset_frame())
    expected = np.array([np.cos(where.lat.rad) * np.sin(where.lon.rad), np.sin(where.lat.rad)])
    close(grid[list(peak)], expected, step * 0.51, f"{name}: the dirty image peaks on the source's pixel")
    close(image[peak], 40, 0.5, f"{name}: and adds up there")

finish()
