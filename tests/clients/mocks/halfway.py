"""Bursts half-way between the DMs that ddplan chose: what the program's own search of its own job loses of their S/N,
against the same bursts at their own DM in samples as they come, and what ddplan says."""
import math
import os
import re

import h5py
import numpy as np

from common import scratch, voltmill, write_yaml
from mocks.filterbanks import write_fil

CONSTANT = 1 / 2.41e-4
SNR = 120.0


def delays(mhz, dm):
    return CONSTANT * dm * (mhz ** -2 - mhz[0] ** -2)


def ramp(at, width):
    """Integral of a box of a width around 0, of energy 1, up to `at`, once more integrated."""
    inside = np.clip(at, -width / 2, width / 2)
    return (inside + width / 2) ** 2 / (2 * width) + np.maximum(at - width / 2, 0)


def share(edges, a, b):
    """Energy between edges of a box convolved with another."""
    a, b = np.maximum(np.maximum(a, b), 1e-9), np.minimum(a, b)
    b = np.maximum(b, 1e-6 * a)
    return np.diff((ramp(edges + b / 2, a) - ramp(edges - b / 2, a)) / b, axis=-1)


def inject(power, mhz, tsamp, dm, width, time, energy):
    """Adds a burst that reaches the first channel at `time`."""
    channel = abs(mhz[1] - mhz[0])
    at = time + delays(mhz, dm)
    smear = 2 * CONSTANT * dm * channel / mhz ** 3
    reach = int(math.ceil((smear.max() + width) / 2 / tsamp)) + 1
    middle = np.floor(at / tsamp).astype(int)
    edges = (middle[:, None] + np.arange(-reach, reach + 2)) * tsamp - at[:, None]
    parts = share(edges, smear[:, None], np.full((len(mhz), 1), width))
    for c, first in enumerate(middle - reach):
        power[first:first + parts.shape[1], c] += energy * parts[c]


def found(path, times, slack):
    """The strongest peak near each time: candidates of neighbouring bursts may become one."""
    with h5py.File(path, "r") as file:
        peaks, at = file["peaks"][()]["snr"].max(axis=0), file["time"][()]
    return [peaks[np.abs(at - time) < slack].max(initial=0) for time in times]


def pairs(dms):
    """The first DMs, some, and the last."""
    last = len(dms) - 2
    return sorted({i for i in (0, 1, 2, last // 3, 2 * last // 3, last) if 0 <= i <= last})


def halfway(name, mhz, tsamp, end, width=0.0, tolerance=1.25, phases=12):
    """[(printed, measured)] of each range, in per cent."""
    options = ["--dms", f"0..{end}", "--tolerance", str(tolerance), *(["--width", str(width)] if width else [])]
    empty = write_fil(scratch(f"{name}-empty.fil"), np.zeros((16, 1, len(mhz))), 8, fch1=mhz[0], foff=mhz[1] - mhz[0], tsamp=tsamp)
    said = voltmill("ddplan", *options, empty)
    printed = [float(line.split()[-2]) for line in said.splitlines() if "at most" in line]
    ranges = re.findall(r"dm: \{start: ([^,]*), end: ([^,]*), .*\}\n  downsample: (\d+)", voltmill("ddplan", *options, "--job", empty))
    losses = []
    for number, (start, stop, factor) in enumerate(ranges):
        factor = int(factor)
        dm = {"start": float(start), "end": float(stop), "tolerance": tolerance, **({"width": width} if width else {})}
        with_dms = write_yaml(f"{name}-dms.yaml", {"input": {"files": empty}, "dedisperse": {
            "dm": dm, "downsample": factor, "edges": "pad", "file": f"{name}-dms.h5"}})
        voltmill("run", "--force", with_dms)
        with h5py.File(scratch(f"{name}-dms.h5")) as file:
            dms = file["dm"][()]
        some = pairs(dms)
        spacing = delays(mhz, dms[-1])[-1] + width + 300 * factor * tsamp
        count = len(some) * phases
        times = spacing * (np.arange(count) + 1) + (np.arange(count) % phases + 0.5) / phases * factor * tsamp
        middles = np.repeat([(dms[i] + dms[i + 1]) / 2 for i in some], phases)
        samples = (int((times[-1] + 2 * spacing) / tsamp) // factor + 8192) * factor
        power = np.random.default_rng(number).normal(100, 1, (samples, len(mhz))).astype("f4")
        for time, middle in zip(times, middles):
            smear = 2 * CONSTANT * middle * abs(mhz[1] - mhz[0]) / mhz.mean() ** 3
            long = math.hypot(math.hypot(factor * tsamp, smear), width) / tsamp
            inject(power, mhz, tsamp, middle, width, time, SNR * math.sqrt(long / len(mhz)))
        path = write_fil(scratch(f"{name}.fil"), power[:, None, :], 32, fch1=mhz[0], foff=mhz[1] - mhz[0], tsamp=tsamp)
        search = {"threshold": 10, "widths": 256}
        for what, dm_of, down in (("range", dm, factor), ("own", sorted(set(middles)), 1)):
            voltmill("run", "--force", write_yaml(f"{name}-search.yaml", {"input": {"files": path}, "dedisperse": {
                "dm": dm_of, "downsample": down, "search": {"file": f"{name}-{what}.h5", **search}}}))
        os.remove(path)
        between = np.reshape(found(scratch(f"{name}-range.h5"), times, spacing / 3), (-1, phases)).mean(1)
        own = np.reshape(found(scratch(f"{name}-own.h5"), times, spacing / 3), (-1, phases)).mean(1)
        losses.append(100 * (1 - between / own).max())
    return list(zip(printed, losses))
