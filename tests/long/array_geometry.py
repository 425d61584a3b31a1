#!/usr/bin/env python3
"""Directions, delays and uvw of src/dsp beside astropy and pyuvdata, with the same UT1 and polar motion
on both sides: 20 directions over an hour and 100 km, five dates. Phases at 10 GHz beside mpmath.

Needs astropy, pyuvdata and mpmath of PyPI (make test-long PYTHON=...); skipped aloud without them."""
import ctypes
import glob
import os
import subprocess
import sys
import warnings

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "tests/clients"))
from common import finish, note, ok, scratch

try:
    import astropy.units as u
    import mpmath
    from astropy.coordinates import ITRS, EarthLocation, SkyCoord
    from astropy.coordinates.builtin_frames import intermediate_rotation_transforms
    from astropy.coordinates import erfa_astrom
    from astropy.coordinates.builtin_frames import utils as frame_utils
    from astropy.time import Time, TimeDelta
    from astropy.utils import iers
    from pyuvdata import utils as uvutils
except ImportError as error:
    print(f"1..0 # SKIP {error}: python3 -m venv venv && venv/bin/pip install astropy pyuvdata mpmath")
    sys.exit()

iers.conf.auto_download = False
warnings.simplefilter("ignore")  # "dubious year"
LIGHT = 299792458.0
Vector = ctypes.c_double * 3
Matrix = Vector * 3


class Utc(ctypes.Structure):
    _fields_ = [("day", ctypes.c_int32), ("second", ctypes.c_double)]


class Moment(ctypes.Structure):
    _fields_ = [("jd1", ctypes.c_double), ("jd2", ctypes.c_double)]


class Earth(ctypes.Structure):
    _fields_ = [("ut1_utc", ctypes.c_double), ("x", ctypes.c_double), ("y", ctypes.c_double),
                ("day", ctypes.c_int32)]


class Place(ctypes.Structure):
    _fields_ = [("xyz", Vector), ("lon", ctypes.c_double), ("lat", ctypes.c_double),
                ("height", ctypes.c_double)]


class Direction(ctypes.Structure):
    _fields_ = [("azel", ctypes.c_int), ("lon", ctypes.c_double), ("lat", ctypes.c_double)]


class Observer(ctypes.Structure):
    _fields_ = [("place", Place), ("earth", Earth), ("diurnal", ctypes.c_int)]


class Apparent(ctypes.Structure):
    _fields_ = [("ra", ctypes.c_double), ("dec", ctypes.c_double), ("pa", ctypes.c_double),
                ("lst", ctypes.c_double)]


class Spec(ctypes.Structure):
    _fields_ = [("observer", Observer), ("offset", ctypes.c_void_p), ("clocks", ctypes.c_void_p),
                ("nstations", ctypes.c_uint32), ("directions", ctypes.c_void_p),
                ("ndirections", ctypes.c_uint32), ("start", Utc), ("epoch", ctypes.c_double),
                ("from_s", ctypes.c_double), ("to_s", ctypes.c_double)]


def load():
    """The functions as a library of their own."""
    path = scratch("array.so")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "erfa"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    sources = [name for pattern in ("dsp/geometry.c", "dsp/delay_model.c", "base/*.c")
               for name in sorted(glob.glob(os.path.join(ROOT, "src", pattern)))]
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-std=c11", "-D_GNU_SOURCE", "-pthread", "-fopenmp",
                    '-DVOLTMILL_VERSION="0"', "-ffp-contract=off", "-I" + os.path.join(ROOT, "src"),
                    "-o", path, *sources, *flags, "-lm"], check=True)
    found = ctypes.CDLL(path)
    found.earth_place_of_geodetic.restype = Place
    found.earth_place_of_geodetic.argtypes = [ctypes.c_double] * 3
    found.moment_of_utc.restype = Moment
    found.moment_of_utc.argtypes = [Utc]
    found.utc_add.restype = Utc
    found.utc_add.argtypes = [Utc, ctypes.c_double]
    found.delay_at.restype = ctypes.c_double
    return found


lib = load()
UT1_UTC, POLAR = -0.1734, np.array([0.123, 0.345]) * np.pi / 648000
for module in (intermediate_rotation_transforms, erfa_astrom, frame_utils):
    if hasattr(module, "get_polar_motion"):
        module.get_polar_motion = lambda time: tuple(POLAR)


class Given(iers.IERS):
    """Answers pyuvdata in place of the tables of the IERS."""

    def pm_xy(self, times):
        return tuple(np.full(times.shape, p) * u.rad for p in POLAR)

    def dcip_xy(self, times):
        return (np.zeros(times.shape) * u.rad,) * 2

    def ut1_utc(self, *times, return_status=False):
        shape = np.shape(getattr(times[0], "jd1", times[0]))
        value = np.full(shape, UT1_UTC) * u.s
        return (value, np.zeros(shape, int)) if return_status else value


GIVEN = Given()
LON, LAT, HEIGHT = np.radians(21.443), np.radians(-30.713), 1038.0
place = EarthLocation.from_geodetic(LON * u.rad, LAT * u.rad, HEIGHT * u.m)
rng = np.random.default_rng(1)
aim = SkyCoord(rng.uniform(0, 360, 20) * u.deg,
               np.concatenate([np.degrees(np.arcsin(rng.uniform(-1, 1, 17))), [89.99, -89.99, 0]])
               * u.deg)
offsets = rng.uniform(-100e3, 100e3, (8, 3)) / np.sqrt(3)
directions = (Direction * len(aim))(*[(0, a, d) for a, d in zip(aim.ra.rad, aim.dec.rad)])
STARTS = [(61373, 3600.25), (57753, 50000.0), (51544, 0.0), (59000, 84000.5), (65000, 40000.0)]


def observer(diurnal):
    return Observer(lib.earth_place_of_geodetic(LON, LAT, HEIGHT), Earth(UT1_UTC, *POLAR, 0), diurnal)


def astropy_time(utc):
    length = 86401 if utc.day == 57753 else 86400  # astropy counts leap seconds as ERFA does
    time = Time(2400000.5 + utc.day, utc.second / length, format="jd", scale="utc")
    time.delta_ut1_utc = UT1_UTC
    return time


worst = {name: 0.0 for name in ("vector", "topocentric", "delay", "w", "uvw", "apparent", "phase")}


def take(name, value):
    worst[name] = max(worst.get(name, 0.0), float(np.max(np.abs(value))))


def pyuvdata_frames(utc):
    """Apparent places and sidereal time, as pyuvdata makes them for UVH5, but the position angle of north
    over a shorter arc than its own (half a degree), which turns u, v by up to 2e-5 tan(dec), and near the
    poles any arc does."""
    time = astropy_time(utc)
    with iers.earth_orientation_table.set(GIVEN):
        jd = np.full(len(aim), time.jd)
        ra, dec = uvutils.phasing.transform_icrs_to_app(
            time_array=Time(np.full(len(aim), time.jd1), np.full(len(aim), time.jd2), format="jd",
                            scale="utc"), ra=aim.ra.rad, dec=aim.dec.rad, telescope_loc=place)
        pa = uvutils.phasing.calc_frame_pos_angle(time_array=jd, app_ra=ra, app_dec=dec,
                                                  telescope_loc=place, ref_frame="icrs",
                                                  offset_pos=3e-7)
        lst = uvutils.get_lst_for_time(np.array([time.jd]), telescope_loc=place)[0]
    return ra, dec, pa, lst


for day, second in STARTS:
    start = Utc(day, second)
    for after in np.linspace(0, 3600, 7):
        utc = lib.utc_add(start, after)
        moment = lib.moment_of_utc(utc)
        for diurnal in (0, 1):
            me = observer(diurnal)
            found = (Vector * len(aim))()
            lib.geometry_vectors(ctypes.byref(me), moment, directions, len(aim), found)
            found = np.array(found)
            time = astropy_time(utc)
            frame = ITRS(obstime=time, location=place) if diurnal else ITRS(obstime=time)
            theirs = aim.transform_to(frame).cartesian.xyz.value.T
            take("topocentric" if diurnal else "vector", found - theirs)
            if not diurnal:
                take("delay", (found - theirs) @ offsets.T / LIGHT)
        if after in (0, 3600):
            ra, dec, pa, lst = pyuvdata_frames(utc)
            for i in range(len(aim)):
                axes, apparent = Matrix(), Apparent()
                lib.geometry_axes(ctypes.byref(me), moment, ctypes.byref(directions[i]), axes)
                lib.geometry_apparent(ctypes.byref(me), moment, axes, ctypes.byref(apparent))
                theirs = uvutils.phasing.calc_uvw(
                    app_ra=ra[i:i + 1].repeat(8), app_dec=dec[i:i + 1].repeat(8),
                    frame_pa=pa[i:i + 1].repeat(8), lst_array=np.full(8, lst), use_ant_pos=True,
                    antenna_positions=np.vstack([np.zeros(3), offsets]),
                    antenna_numbers=np.arange(9), ant_1_array=np.zeros(8, int),
                    ant_2_array=np.arange(1, 9), telescope_lat=LAT, telescope_lon=LON)
                take("w", (offsets @ np.array(axes).T - theirs)[:, 2])
                if abs(aim.dec.deg[i]) < 80:
                    take("uvw", offsets @ np.array(axes).T - theirs)
                mine = uvutils.phasing.calc_uvw(
                    app_ra=np.full(8, apparent.ra), app_dec=np.full(8, apparent.dec),
                    frame_pa=np.full(8, apparent.pa), lst_array=np.full(8, apparent.lst),
                    use_ant_pos=True, antenna_positions=np.vstack([np.zeros(3), offsets]),
                    antenna_numbers=np.arange(9), ant_1_array=np.zeros(8, int),
                    ant_2_array=np.arange(1, 9), telescope_lat=LAT, telescope_lon=LON)
                take("apparent", offsets @ np.array(axes).T - mine)

# A finals file of the IERS beside astropy, which interpolates linearly, too; over a leap second as well.
try:
    import astropy_iers_data

    table = iers.IERS_A.open(astropy_iers_data.IERS_A_FILE)
    with open(astropy_iers_data.IERS_A_FILE, "rb") as file:
        text = file.read()
except (ImportError, AttributeError, OSError) as error:
    note(f"no finals file: {error}")
else:
    for day, second in [(48000, 3600.0), (57753, 60000.0), (57753, 86300.0), (60000, 86399.0), (61300, 1.0)]:
        earth = Earth()
        status = lib.earth_find(b"finals", text, ctypes.c_size_t(len(text)), Utc(day, second),
                                ctypes.byref(earth))
        time = Time(2400000.5 + day, second / (86401 if day == 57753 else 86400), format="jd", scale="utc")
        x, y = table.pm_xy(time)
        take("ut1", earth.ut1_utc - table.ut1_utc(time).to_value("s"))
        take("polar", [earth.x - x.to_value("rad"), earth.y - y.to_value("rad")])
        ok(status == 0, f"a finals file has MJD {day}")
    ok(worst["ut1"] < 1e-4, "UT1 - UTC is astropy's, who takes Bulletin B for old dates", worst["ut1"])
    ok(worst["polar"] < 1e-8, "polar motion is astropy's", worst["polar"])

# Phases at 10 GHz: polynomials beside vectors at 50 digits, for which astropy gives the direction at 13
# nodes of the hour and mpmath the polynomial through them.
mpmath.mp.dps = 50
start = Utc(61373, 3600.25)
flat = (ctypes.c_double * offsets.size)(*offsets.ravel())
spec = Spec(observer(0), ctypes.cast(flat, ctypes.c_void_p), None, len(offsets),
            ctypes.cast(directions, ctypes.c_void_p), len(aim), start, 0, 0, 3600)
model = ctypes.c_void_p()
ok(lib.delay_model_create(ctypes.byref(spec), ctypes.byref(model)) == 0, "a model of delays")
nodes = [1800 + 1900 * np.cos(np.pi * (k + 0.5) / 13) for k in range(13)]
at_nodes = np.array([aim.transform_to(ITRS(obstime=astropy_time(lib.utc_add(start, t)))).cartesian.xyz.value
                     for t in nodes])  # [13][3][directions]


def lagrange(t):
    weights = []
    for j, a in enumerate(nodes):
        w = mpmath.mpf(1)
        for i, b in enumerate(nodes):
            if i != j:
                w *= (mpmath.mpf(t) - mpmath.mpf(b)) / (mpmath.mpf(a) - mpmath.mpf(b))
        weights.append(w)
    return weights


for t in np.concatenate([rng.uniform(0, 3600, 12), [0.0, 600.0, 3600.0]]):
    weights = lagrange(t)
    time = (ctypes.c_double * 2)(t, 0)
    for i in range(0, len(aim), 3):
        vector = [sum(w * mpmath.mpf(v) for w, v in zip(weights, at_nodes[:, axis, i])) for axis in range(3)]
        for station in range(len(offsets)):
            exact = -sum(mpmath.mpf(b) * v for b, v in zip(offsets[station], vector)) / mpmath.mpf(LIGHT)
            mine = lib.delay_at(model, i, station, time)
            take("phase", float((mpmath.mpf(mine) - exact) * mpmath.mpf(10) ** 10))

ok(worst["vector"] < 1e-11, "directions are astropy's, geocentric", worst["vector"])
ok(worst["topocentric"] < 1e-9, "directions are astropy's, with diurnal aberration", worst["topocentric"])
ok(worst["delay"] < 1e-10, "delays within 0.1 ns over 100 km", worst["delay"])
ok(worst["uvw"] < 1e-3, "uvw are pyuvdata's within 1 mm over 100 km", worst["uvw"])
ok(worst["w"] < 1e-3, "w are pyuvdata's, at the poles, too", worst["w"])
ok(worst["apparent"] < 1e-3, "apparent places give these uvw in pyuvdata", worst["apparent"])
ok(worst["phase"] < 1e-5, "phases at 10 GHz within 1e-5 turns", worst["phase"])
note(", ".join(f"{name} {value:.2e}" for name, value in worst.items()))
finish()
