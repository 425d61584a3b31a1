"""Five antennas of a real array, one-bit samples of GPS satellites (TART): coherences of the ten baselines are numpy's from
the same bits, and a beam towards the strongest source gains what numpy's does.

VOLTMILL_DATA names the folder of the recordings; without it, all is skipped."""
import glob
import os

import h5py
import numpy as np

from common import DATA, finish, note, ok, same, scratch, skip_all, voltmill, write_archive, write_yaml

LIGHT, BAND = 299792458.0, slice(190, 330)  # the receiver's filter passes these channels
FILES = sorted(glob.glob(os.path.join(DATA, "tart/tart_*.h5")))
if not FILES:
    skip_all(f"no recordings of TART in {DATA}")


def towards(azimuth, elevation):
    azimuth, elevation = np.deg2rad([azimuth, elevation])
    return np.array([np.sin(azimuth) * np.cos(elevation), np.cos(azimuth) * np.cos(elevation), np.sin(elevation)])


def run(name, archive, table, products, **more):
    made = [dict(product, file=scratch(f"{name}-{i}.h5")) for i, product in enumerate(products)]
    voltmill("run", write_yaml(name + ".yaml", {"input": {"files": archive}, "array": {"table": table}, "products": made,
                                                "channelise": {"channels": 512, "taps": 1, "window": "rect"}, **more}))


def check(number, path):
    name = f"tart{number}"
    with h5py.File(path) as file:
        bits, enu, rate = file["bits"][...], file["positions_m"][...], file.attrs["sample_rate_hz"]
        centre = file.attrs["frequency_hz"]
    volts = np.unpackbits(bits, axis=1).astype("i1") * 2 - 1
    spectra = len(volts[0]) // 1024
    archive = write_archive(name, volts.T.copy(), "time,station", rate, "real", centres=[centre],
                            names={"station": [f"t{i}" for i in range(5)]},
                            root={"start_mjd_day": 58000, "start_second": 0.0, "time_scale": "UTC"})
    table = write_yaml(name + "-table.yaml", {"reference": {"lon_deg": 170.5, "lat_deg": -45.9, "height_m": 20},
                                              "stations": [{"name": f"t{i}", "enu_m": list(enu[i])} for i in range(5)]})
    run(name, archive, table, [{"kind": "visibilities", "integrate": spectra, "feed": "linear"}])
    with h5py.File(scratch(name + "-0.h5")) as file:
        data, b = file["Data/visdata"][...], file["coefficients"][...].ravel()
        hertz = file["frequency"][...][BAND]
        data = (data["r"] + 1j * data["i"] if data.dtype.names else data)[:, BAND, 0]
    y = np.fft.rfft(volts.reshape(5, spectra, 1024) * b)[:, :, BAND]
    pairs = [(a, c) for a in range(5) for c in range(a, 5)]
    expected = np.array([np.mean(y[a] * y[c].conj(), 0) for a, c in pairs])
    total = np.mean(np.abs(y) ** 2, axis=1).mean(1)

    def coherence(v):
        return np.array([v[i].mean() / np.sqrt(total[a] * total[c]) for i, (a, c) in enumerate(pairs) if a != c])

    off = np.abs(coherence(data) - coherence(expected)).max()
    ok(off < 5e-7, f"{name}: coherences of the ten baselines are numpy's", f"{off:.2g}")

    # The strongest source: the place of the sky where the beam of numpy's visibilities is largest.
    best = (0, 0, 0)
    for elevation in range(10, 91, 2):
        for azimuth in range(0, 360, 4):
            late = -(enu @ towards(azimuth, elevation)) / LIGHT
            power = sum((expected[i] * np.exp(2j * np.pi * hertz * (late[a] - late[c]))).real.mean() * (2 - (a == c))
                        for i, (a, c) in enumerate(pairs))
            best = max(best, (power, azimuth, elevation))
    places = [best[1:], ((best[1] + 180) % 360, 25)]
    run(name + "-beams", archive, table, [{"kind": "power", "integrate": spectra}],
        beams=[{"name": n, "azimuth_deg": a, "elevation_deg": e} for n, (a, e) in zip(("source", "elsewhere"), places)])
    with h5py.File(scratch(name + "-beams-0.h5")) as file:
        found = file["data"][0].reshape(2, -1)[:, BAND].mean(1) / spectra
    gains = []
    for power, place in zip(found, places):
        late = -(enu @ towards(*place)) / LIGHT
        beam = sum(y[a] * np.exp(2j * np.pi * hertz * late[a]) for a in range(5))
        gains.append((power / total.sum(), np.mean(np.abs(beam) ** 2) / total.sum()))
    off = max(abs(ours / its - 1) for ours, its in gains)
    ok(off < 1e-6, f"{name}: a beam towards the strongest source, and one elsewhere, gain what numpy's do", f"{off:.2g}")
    ok(gains[0][0] > 1.1 and gains[0][0] > gains[1][0], f"{name}: the source is in its beam", gains)
    note(f"{name}: source at azimuth {best[1]}, elevation {best[2]}: gain {gains[0][0]:.4f} over the stations' powers, "
         f"elsewhere {gains[1][0]:.4f}; largest coherence {np.abs(coherence(data)).max():.3f}")


for number, path in enumerate(FILES if os.environ.get("VOLTMILL_TEST_ALL") else FILES[:1]):
    check(number, path)
finish()
