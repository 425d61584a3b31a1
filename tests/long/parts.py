#!/usr/bin/env python3
"""Random products (archives and jobs of tests/long/jobs.py) made in parts: in time and in coarse channels, and joined;
of some polarisations, stations and beams alone; as `.fil` and PSRFITS, by the run and by `export`. Rows, weights, flags,
kurtosis and scales are those of the whole, to the byte; filterbanks have its numbers.

    COUNT=100 SEED=1 tests/long/parts.py         # jobs of the seeds 1 to 100
    SEEDS="5 17" tests/long/parts.py             # these again, as a failure names them"""
import os
import struct
import sys
import traceback

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "../clients")]
import jobs
from common import Failed, finish, ok, scratch, voltmill, write_yaml

COUNT, SEED = int(os.environ.get("COUNT", "100")), int(os.environ.get("SEED", "1"))
SEEDS = [int(seed) for seed in os.environ.get("SEEDS", "").split()] or list(range(SEED, SEED + COUNT))
ROWS = "data", "spectra", "weights", "flags", "kurtosis", "scale", "offset", "clipped_low", "clipped_high"


def contents(path):
    with h5py.File(path) as file:
        return {name: file[name][()] for name in ROWS + ("time", "frequency") if name in file}


def differ(found, expected, what, names=ROWS, is_exact=True):
    for name in names:
        if (name in found) != (name in expected):
            # Weights are written where something may be missing.
            other = found.get(name, expected.get(name))
            if name == "weights" and (other == 1).all():
                continue
            raise jobs.Differs(f"{what}: /{name} is in one alone")
        if name in found and (found[name].shape != expected[name].shape or found[name].tobytes() != expected[name].tobytes()):
            a, b = found[name], expected[name]
            where = "" if a.shape != b.shape else np.argwhere(a != b)[:3].tolist()
            if not is_exact and name in ("data", "kurtosis", "scale", "offset") and a.shape == b.shape and a.dtype.kind == "f" and \
                    np.array_equal(np.isnan(a), np.isnan(b)) and np.nanmax(np.abs(a - b)) <= 3e-6 * np.nanmax(np.abs(b)):
                continue
            if not is_exact and a.dtype.kind == "u" and a.shape == b.shape and np.abs(a.astype(int) - b).max() <= 1:
                continue
            raise jobs.Differs(f"{what}: /{name} {a.shape} {b.shape} differs at {where}")


class Case:
    def __init__(self, seed):
        self.dice = dice = np.random.default_rng(seed)
        self.name = f"parts{seed}"
        self.bank = jobs.choose_bank(dice, "first")
        self.archive = jobs.Archive(dice, self.name + "-archive", int(dice.integers(5000, 14000)))
        self.period = self.bank["channels"] * (2 if self.archive.real else 1)
        self.spectra = self.archive.samples // self.period - self.bank["taps"] + 1
        self.product = jobs.choose_product(dice, self.archive, [self.bank], self.bank, {self.bank["name"]: self.spectra}, self.name)
        self.said = self.product["said"]
        self.said.pop("bandpass", None)
        self.said.pop("min_weight", None)
        if self.archive.gaps or self.archive.type == "f4" or self.archive.missing_value is not None:
            self.said.pop("bits", None) and (self.said.pop("scales"), self.said.pop("scale_rows"))
            self.product["bits"] = 32
        if self.said.get("scales") == "first":
            self.said["scales"] = "block"
        self.integrate = self.said.get("integrate", 1)
        self.rows = self.spectra // self.integrate
        for mask in self.product["mask"]:
            if mask["kind"] == "product":
                jobs.take_mask(mask)

    def run(self, name, select=None, **more):
        bank = {key: value for key, value in self.bank.items() if key != "name"}
        said = {**self.said, "file": name, **more}
        job = {"input": {"files": self.archive.path, **({"select": select} if select else {})}, "channelise": bank,
               "products": [said]}
        voltmill("run", "--force", write_yaml(name + ".yaml", job), ranks=[None, None, 2][int(self.dice.integers(0, 3))])
        return scratch(name)

    def in_time(self, whole):
        step = self.said.get("scale_rows", 1) if self.product["bits"] != 32 else 1
        grid = np.arange(step, self.rows, step)
        if not len(grid):
            return
        cuts = sorted(self.dice.choice(grid, min(len(grid), int(self.dice.integers(1, 4))), replace=False))
        if self.dice.random() < 0.6:  # parts that begin with a grain of 16 spectra have the very bytes
            cuts = [cut for cut in cuts if cut * self.integrate % 16 == 0]
        is_exact = all(cut * self.integrate % 16 == 0 for cut in cuts)
        names = []
        for i, (first, end) in enumerate(zip([0, *cuts], [*cuts, self.rows])):
            last = ((int(end) * self.integrate - 1) + self.bank["taps"]) * self.period
            samples = [int(first) * self.integrate * self.period, self.archive.samples if end == self.rows else last]
            names.append(self.run(f"{self.name}-{i}.h5", {"samples": samples}))
        joined = scratch(self.name + "-joined.h5")
        if len(names) < 2:
            return
        voltmill("join", "--force", "-o", joined, *self.dice.permutation(names))
        differ(contents(joined), whole, f"in time, at rows {[int(c) for c in cuts]}", ROWS + ("time", "frequency"), is_exact)
        voltmill("verify", "--crc", joined)

    def in_frequency(self, whole):
        if self.archive.chans < 2 or self.product["flag"] or "average" in self.said or "channels" in self.said:
            return
        at = int(self.dice.integers(1, self.archive.chans))
        centres = self.archive.centres
        width = centres[1] - centres[0]
        names = [self.run(f"{self.name}-f{i}.h5", {"freq_hz": [float(centres[a] - width / 4), float(centres[b - 1] + width / 4)]})
                 for i, (a, b) in enumerate(((0, at), (at, self.archive.chans)))]
        joined = scratch(self.name + "-joined.h5")
        voltmill("join", "--force", "-o", joined, *names)
        differ(contents(joined), whole, f"in frequency, at {at}", ROWS + ("frequency",))

    def of_some(self, whole):
        """One polarisation, station or beam alone."""
        if self.product["flag"] or "sum" in self.said or self.said.get("polarisation", "separate") != "separate":
            return
        shape = self.archive.shape[:3]
        chosen = [int(self.dice.integers(0, n)) for n in shape]
        select = {axis: n for axis, n, most in zip(("stations", "beams", "pols"), chosen, shape) if most > 1}
        found = contents(self.run(self.name + "-some.h5", select or None))
        place = int(np.ravel_multi_index(chosen, shape))
        lines = int(np.prod(shape))
        for which in found, whole:
            for name, value in which.items():
                which[name] = value.reshape(len(value), -1, value.shape[-1]) if value.ndim > 1 else value
        expected = {name: value[:, place:place + 1] if value.ndim > 1 and value.shape[1] == lines else value
                    for name, value in whole.items()}
        differ(found, expected, f"of {select}")

    def as_filterbank(self, whole):
        if self.product["kind"] != "power" or "kept" in self.said:
            return
        bits = self.product["bits"]
        if bits == 16 and self.dice.random() < 0.5:
            return
        exported = scratch(self.name + ".fil")
        voltmill("export", "--force", "--format", "fil", *(["--bits", str(bits)] if bits != 32 else []), "-o", exported,
                 scratch(self.said["file"]))
        head, rows = read_fil(exported)
        data = whole["data"].reshape(len(whole["data"]), -1, whole["data"].shape[-1])[..., ::-1]
        if rows.shape != data.shape or rows.tobytes() != np.ascontiguousarray(data).tobytes():
            raise jobs.Differs(f".fil: {rows.shape}, expected {data.shape}")
        frequency = whole["frequency"][::-1] / 1e6
        if abs(head["fch1"] - frequency[0]) > 1e-9 or len(frequency) > 1 and abs(head["foff"] - (frequency[1] - frequency[0])) > 1e-9:
            raise jobs.Differs(f".fil: fch1 {head['fch1']}, foff {head['foff']}; expected {frequency[:2]}")
        with open(exported, "rb") as file:
            one = file.read()
        with open(self.run(self.name + "-direct.fil", format="fil"), "rb") as file:
            other = file.read()
        same = [text.replace(b"", b"") for text in (one, other)]
        if rows.tobytes() != read_fil(scratch(self.name + "-direct.fil"))[1].tobytes() or len(same[0]) < len(rows.tobytes()):
            raise jobs.Differs(".fil of the run: other rows than of export")


def read_fil(path):
    """A SIGPROC header, and rows [time][if][channel]."""
    with open(path, "rb") as file:
        raw = file.read()
    at, head = 0, {}

    def word():
        nonlocal at
        n = struct.unpack_from("<i", raw, at)[0]
        at += 4 + n
        return raw[at - n:at].decode()

    while (key := word()) != "HEADER_END":
        if key in ("source_name", "rawdatafile"):
            head[key] = word()
        elif key in ("fch1", "foff", "tsamp", "tstart", "src_raj", "src_dej", "az_start", "za_start", "refdm", "period"):
            head[key] = struct.unpack_from("<d", raw, at)[0]
            at += 8
        elif key != "HEADER_START":
            head[key] = struct.unpack_from("<i", raw, at)[0]
            at += 4
    rows = np.frombuffer(raw[at:], {8: "u1", 16: "<u2", 32: "<f4"}[head["nbits"]])
    return head, rows.reshape(-1, head["nifs"], head["nchans"])


def one(seed):
    case = Case(seed)
    try:
        whole = contents(case.run(case.said["file"]))
    except Failed as failure:
        if "scales" in str(failure) or "only" in str(failure):
            return str(failure).split("\n")[1]
        raise
    for check in (case.in_time, case.in_frequency, case.of_some, case.as_filterbank):
        try:
            check(whole)
        except (jobs.Differs, Failed) as difference:
            raise jobs.Differs(f"{difference}\n{case.said}\n{case.bank}\n{case.archive.type} {case.archive.shape} gaps {case.archive.gaps}") from None
    return None


for seed in SEEDS:
    try:
        skipped = one(seed)
        ok(True, f"job {seed}" + (f": {skipped}" if skipped else ""))
    except (jobs.Differs, Failed) as failure:
        ok(False, f"job {seed}", str(failure)[:1500])
    except Exception:
        ok(False, f"job {seed}", traceback.format_exc())
finish()
