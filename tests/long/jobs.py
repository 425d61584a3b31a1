#!/usr/bin/env python3
"""Random jobs on random archives beside a plain numpy model (tests/tools/plain_model.py): gaps, missing samples, NaN,
stations, beams, polarisations, integers and floats; power and spectra of one or two banks, averages, ranges of
channels, Stokes parameters, coherencies, sums, weights, flags, masks, few bits. Data, weights, flags, kurtosis, scales,
counts of clipped numbers, times and frequencies must be the model's.

    COUNT=200 SEED=1 tests/long/jobs.py         # jobs of the seeds 1 to 200
    SEEDS="5 17" KEEP=jobs tests/long/jobs.py   # these again, as a failure names them; KEEP: their files go there"""
import glob
import os
import re
import shutil
import sys
import traceback

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "../clients"), os.path.join(HERE, "../tools")]
from common import Failed, Tap, finish, note, ok, scratch, voltmill, write_archive, write_yaml, yaml
from plain_model import EPSILON, STEPS, Bank, Product, scales_of

COUNT, SEED, KEEP = int(os.environ.get("COUNT", "200")), int(os.environ.get("SEED", "1")), os.environ.get("KEEP")
SEEDS = [int(seed) for seed in os.environ.get("SEEDS", "").split()] or list(range(SEED, SEED + COUNT))
RATE = 1e6
AXES = "station", "beam", "pol", "chan", "time"
NAMES = {("linear", False): ["X", "Y"], ("linear", True): ["Y", "X"], ("circular", False): ["R", "L"],
         ("circular", True): ["L", "R"]}


class Differs(Exception):
    pass


# ---- archives

class Archive:
    """Random voltages, and which are there; `path` once it is written."""

    def __init__(self, dice, name, samples):
        self.dice, self.samples = dice, samples
        self.real = dice.random() < 0.3
        self.sideband = -1 if dice.random() < 0.3 else 1
        self.type = dice.choice(["i1", "i2", "f4"] + ([] if self.real else ["4+4"]))
        self.has = {axis: dice.random() < 0.5 for axis in ("station", "beam")}
        self.stations, self.beams = (int(dice.integers(1, most)) if self.has[axis] else 1
                                     for axis, most in (("station", 4), ("beam", 3)))
        self.pols = int(dice.choice([1, 2, 2, 2, 3]))
        self.chans = int(dice.integers(1, 4))
        self.shape = (self.stations, self.beams, self.pols, self.chans, samples)
        self.feed = str(dice.choice(["linear", "circular"]))
        self.is_swapped = bool(dice.random() < 0.3)
        self.centres = 1e8 + np.arange(self.chans) * (RATE / 2 if self.real else RATE)
        self.scale = 0.25 if dice.random() < 0.2 else 1.0
        self._make()
        self._write(name)

    def _make(self):
        dice, t = self.dice, np.arange(self.samples)
        parts = 1 if self.real else 2
        deep = {"4+4": 2.5, "i1": 20, "i2": 900, "f4": 3}[self.type]
        x = dice.normal(0, deep, (*self.shape, parts))
        for _ in range(dice.integers(0, 3)):  # tones of some streams, steady or pulsed
            tone = dice.uniform(0.3, 2) * deep * np.exp(2j * np.pi * (dice.uniform(-0.5, 0.5) * t + dice.random()))
            tone = tone * (t % (period := int(dice.integers(100, 2000))) < period * dice.choice([1, 0.1]))
            stream = tuple(int(dice.integers(0, n)) for n in self.shape[:4])
            x[stream] += np.stack([tone.real, tone.imag][:parts], -1)
        if dice.random() < 0.3:  # what both polarisations have in common
            x += 0.7 * x[:, :, :1]
        self.limits = {"4+4": (-8, 7), "i1": (-128, 127), "i2": (-32768, 32767)}.get(self.type)
        x = x.astype("f4") if self.type == "f4" else np.clip(np.rint(x), *self.limits)
        if dice.random() < 0.3:  # a stream is silent for a while, from the beginning or not
            first = int(dice.choice([0, dice.integers(0, self.samples)]))
            end = first + self.samples // int(dice.integers(1, 4))
            x[int(dice.integers(0, self.stations)), int(dice.integers(0, self.beams)), :, :, first:end] = 0
        self.good = np.ones(self.shape, bool)
        self.missing_value, self.gaps = None, None
        self._lose(x)
        self.stored = x

    def _lose(self, x):
        dice = self.dice
        if self.type == "f4" and dice.random() < 0.6:
            for bad in np.nan, np.inf:
                hit = dice.random(x.shape) < dice.choice([1e-4, 1e-3])
                x[hit] = bad
            hit = slice(*sorted(dice.integers(0, self.samples, 2)))
            if dice.random() < 0.5:
                x[0, 0, int(dice.integers(0, self.pols)), 0, hit] = np.nan
            self.good &= np.isfinite(x).all(-1)
        elif self.type in ("i1", "i2") and dice.random() < 0.4:
            self.missing_value = int(dice.choice([self.limits[0], 3 * int(np.abs(x).max()) // 4]))
            hit = dice.random(self.shape) < dice.choice([1e-4, 3e-3])
            x[hit, 0] = self.missing_value
            self.good &= (x != self.missing_value).all(-1)
        if dice.random() < 0.5:
            self._put_gaps()

    def _put_gaps(self):
        dice, count = self.dice, int(self.dice.integers(1, 6))
        edges = np.sort(dice.choice(self.samples + 1, 2 * count, replace=False)).reshape(count, 2)
        edges[:, 1] = np.minimum(edges[:, 1], edges[:, 0] + dice.choice([3, 50, 4000], count))
        of_single = dice.random() < 0.5
        self.gaps = []
        for first, end in edges:
            stream = int(dice.integers(0, np.prod(self.shape[:4])))
            self.gaps.append([first, end - first] + ([stream] if of_single else []))
            lost = self.good.reshape(-1, self.samples)[stream if of_single else slice(None)]
            lost[..., first:end] = False

    def volts(self):
        x = np.where(np.isfinite(self.stored), self.stored, 0).astype("f8") * self.scale
        return x[..., 0] if self.real else x[..., 0] + 1j * x[..., 1]

    def _write(self, name):
        dice, x = self.dice, self.stored
        # Coarse channels may be stored in any order; gaps of single streams count them as they are stored.
        order = dice.permutation(self.chans)
        axes = [a for a in AXES if self.has.get(a, True)]
        x = x[:, :, :, order]
        x = x.reshape([n for a, n in zip(AXES, self.shape) if a in axes] + [x.shape[-1]])
        turn = dice.permutation(len(axes)) if dice.random() < 0.5 else [len(axes) - 1, *range(len(axes) - 1)]
        x = np.transpose(x, [*turn, len(axes)])
        axes = [axes[i] for i in turn]
        attributes = {"sideband": np.int32(self.sideband)}
        if self.type == "4+4":
            attributes["packing"] = "4+4 offset hi=re"
            x = ((x[..., 0] + 8).astype("u1") << 4) | (x[..., 1] + 8).astype("u1")
        elif self.real:
            x = x[..., 0]
        else:
            axes.append("reim")
        if self.missing_value is not None:
            attributes["missing_value"] = np.int32(self.missing_value)
        if self.scale != 1:
            attributes["scale"] = self.scale
        names = {"pol": NAMES[self.feed, self.is_swapped]} if self.pols == 2 else {}
        gaps = self.gaps
        if gaps and len(gaps[0]) == 3:
            place = np.argsort(order)
            gaps = [[a, n, s // self.chans * self.chans + int(place[s % self.chans])] for a, n, s in gaps]
        root = {"format_version": np.int32(2 if self.scale != 1 else 1)}
        self.path = write_archive(name, x.astype("u1" if self.type == "4+4" else self.type), ",".join(axes), RATE,
                                  "real" if self.real else "complex", centres=self.centres[order], names=names,
                                  gaps=gaps, root=root, attributes=attributes)


# ---- jobs

def choose_bank(dice, name):
    return {"name": name, "channels": int(dice.choice([4, 8, 12, 16, 32, 48])), "taps": int(dice.choice([1, 2, 4, 8])),
            "window": str(dice.choice(["hann", "hamming", "blackman", "rect"])),
            "cutoff": float(dice.choice([1, 1, 0, 0.75, 1.25])),
            "normalise": str(dice.choice(["energy", "energy", "peak", "none"]))}


def choose_mask(dice, archive, bank, name):
    """Lines of a mask, and the file of them."""
    band, lines = archive.chans * bank["channels"], []
    for _ in range(dice.integers(1, 4)):
        seconds = sorted(map(float, dice.uniform(0, archive.samples / RATE, 2))) if dice.random() < 0.6 else None
        if dice.random() < 0.5:
            low, high = sorted(int(i) for i in dice.integers(0, band, 2))
            lines.append({"kind": "channels", "low": low, "high": min(high, low + 2), "seconds": seconds})
        else:
            width = RATE * (0.5 if archive.real else 1)
            low = float(archive.centres[0] + dice.uniform(-0.5, archive.chans - 0.5) * width)
            lines.append({"kind": "freq_hz", "low": low, "high": low + float(dice.uniform(0, 3e4)), "seconds": seconds})
    with open(scratch(name), "w") as file:
        for line in lines:
            when = "" if line["seconds"] is None else " seconds {!r} {!r}".format(*line["seconds"])
            file.write(f"{line['kind']} {line['low']!r} {line['high']!r}{when}\n")
    return lines


def choose_mask_product(dice, archive, name):
    """A flagged product of another filter bank as a mask: its job, which take_mask() runs."""
    bank, spectra = choose_bank(dice, "mask"), int(dice.choice([8, 16]))
    if archive.samples < 2 * (2 * spectra + bank["taps"]) * bank["channels"]:
        bank = dict(bank, channels=4, taps=2)
        spectra = 8
    del bank["name"]
    first = int(dice.integers(0, archive.chans * bank["channels"]))
    flag = {"spectra": spectra, **({"kurtosis": 3.0} if dice.random() < 0.7 else {"channels": [[first, first]]})}
    product = {"kind": "power", "file": name + ".h5", "integrate": spectra * 2, "flag": flag}
    job = {"input": {"files": archive.path}, "channelise": dict(bank, backend="cpu"), "products": [product]}
    period = bank["channels"] * (2 if archive.real else 1)
    return {"kind": "product", "path": scratch(name + ".h5"), "job": write_yaml(name + ".yaml", job),
            "half": spectra * period / RATE / 2, "width": RATE / period}


def take_mask(mask):
    """Makes the product that is a mask, and reads what the model needs of it."""
    voltmill("run", "--force", mask["job"])
    with h5py.File(mask["path"]) as file:
        mask["times"] = file["cell_time" if "cell_time" in file else "time"][...]
        mask["frequency"], mask["flags"] = file["frequency"][...], file["flags"][...]


def choose_flag(dice, archive, bank, spectra, product, name):
    flag, mask = {}, []
    if dice.random() < 0.7:
        flag["kurtosis"] = float(dice.choice([0, 2, 3, 4]))
    flag["spectra"] = int(dice.choice([8, 16, 32])) if "kurtosis" in flag else int(dice.choice([1, 2, 5, 8]))
    product["integrate"] = flag["spectra"] * int(dice.integers(1, 5))
    if product["integrate"] > spectra // 2:
        return None, []
    if len(flag) == 1 or dice.random() < 0.3:
        band = archive.chans * bank["channels"]
        first = int(dice.integers(0, band))
        flag["channels"] = [[first, min(band - 1, first + int(dice.integers(0, 4)))]]
    kind = dice.random()
    if kind < 0.4:
        mask = choose_mask(dice, archive, bank, name + ".mask")
        flag["mask"] = scratch(name + ".mask")
    elif kind < 0.6:
        mask = [choose_mask_product(dice, archive, name + "-mask")]
        flag["mask"] = scratch(name + "-mask.h5")
    return flag, mask


def choose_product(dice, archive, banks, bank, spectra, name):
    """A product as the model takes it; the job's words of it are in "said"."""
    said = {"kind": "spectra" if dice.random() < 0.15 else "power", "file": name + ".h5"}
    if len(banks) > 1:
        said["bank"] = bank["name"]
    product = {"said": said, "bank": bank["name"], "kind": said["kind"], "integrate": 1, "average": 1, "flag": None,
               "mask": [], "polarisation": "separate", "sum": [], "factors": None, "weights": "renormalise",
               "stokes_v": "iau", "feed": archive.feed, "is_swapped": archive.is_swapped, "bandpass": False, "bits": 32}
    spectra = spectra[bank["name"]]
    band = archive.chans * bank["channels"]
    if product["kind"] == "power":
        product["integrate"] = int(dice.choice([1, 2, 3, 7, 16]))
        choose_power(dice, archive, bank, spectra, product, name)
    first, last = sorted(int(i) for i in dice.integers(0, band, 2)) if dice.random() < 0.4 else (0, band - 1)
    if product["kind"] == "power" and dice.random() < 0.4:
        product["average"] = n = int(dice.choice([n for n in (2, 3, 4, 8) if n <= last - first + 1] or [1]))
        last = first + (last - first + 1) // n * n - 1
        said["average"] = n
    if (first, last) != (0, band - 1):
        said["channels"] = [first, last]
    product["kept"] = first, last
    product["min_weight"] = float(dice.choice([0.1, 0.1, 0, 0.3, 0.5, 0.9, 1]))
    if product["min_weight"] != 0.1:
        said["min_weight"] = product["min_weight"]
    if dice.random() < 0.4:
        product["bits"] = said["bits"] = int(dice.choice([8, 16]))
        product["scales"] = said["scales"] = str(dice.choice(["block", "first"]))
        said["scale_rows"] = int(dice.choice([1, 5, 16, 20, 64]))
    elif product["kind"] == "power" and dice.random() < 0.2:
        product["bandpass"], said["bandpass"] = True, "median"
    return product


def choose_power(dice, archive, bank, spectra, product, name):
    said = product["said"]
    if dice.random() < 0.45:
        product["flag"], product["mask"] = choose_flag(dice, archive, bank, spectra, product, name)
        if product["flag"]:
            said["flag"] = product["flag"]
        else:
            product["integrate"] = 2
    said["integrate"] = product["integrate"]
    if archive.pols == 2 and dice.random() < 0.6:
        product["polarisation"] = said["polarisation"] = str(dice.choice(["I", "IQUV", "coherency"]))
        if product["polarisation"] == "IQUV" and dice.random() < 0.3:
            product["stokes_v"] = said["stokes_v"] = "psr"
    over = [axis + "s" for axis in ("station", "beam") if archive.has[axis] and dice.random() < 0.5]
    if over:
        product["sum"] = said["sum"] = over
        if dice.random() < 0.5:
            count = (archive.stations if "stations" in over else 1) * (archive.beams if "beams" in over else 1)
            product["factors"] = [float(f) for f in dice.choice([0.25, 0.5, 1, 1.5, 2], count)]
            said["sum_weights"] = scratch(name + ".factors")
            with open(said["sum_weights"], "w") as file:
                file.write(" ".join(map(str, product["factors"])) + "\n")
    if dice.random() < 0.3:
        product["weights"] = said["weights"] = "raw"


def make_job(seed):
    """A random job, written: its archive, banks, products and path."""
    dice = np.random.default_rng(seed)
    name = f"job{seed}"
    banks = [choose_bank(dice, "first")] + ([choose_bank(dice, "second")] if dice.random() < 0.25 else [])
    samples = int(dice.integers(3000, 12000))
    archive = Archive(dice, name + "-archive", samples)
    select = sorted(int(i) for i in dice.integers(0, samples + 1, 2)) if dice.random() < 0.3 else [0, samples]
    if select[1] - select[0] < 2500:
        select = [0, samples]
    raws = (select[1] - select[0]) // (2 if archive.real else 1)
    spectra = {bank["name"]: raws // bank["channels"] - bank["taps"] + 1 for bank in banks}
    products = []
    for i in range(dice.integers(len(banks), 5)):  # each bank has one
        bank = banks[i if i < len(banks) else int(dice.integers(0, len(banks)))]
        products.append(choose_product(dice, archive, banks, bank, spectra, f"{name}-{i}"))
    said, backend = [dict(b) for b in banks], str(dice.choice(["cpu", "cpu", "cpu", "cpu", "reference"]))
    for bank in said:
        bank["backend"] = backend
        if len(said) == 1:
            del bank["name"]
    job = {"input": {"files": archive.path}, "channelise": said if len(said) > 1 else said[0],
           "products": [product["said"] for product in products], "run": {"threads": int(dice.integers(1, 3))}}
    if select != [0, samples]:
        job["input"]["select"] = {"samples": select}
    if dice.random() < 0.5:
        job["run"]["chunk"] = int(dice.integers(20, 200))
    return archive, banks, select, products, write_yaml(name + ".yaml", job)


# ---- comparison

def demand(condition, *words):
    if not condition:
        raise Differs(" ".join(str(word) for word in words))


def compare(what, found, expected, error):
    """NaN at the same places, all else within `error`."""
    demand(found.shape == expected.shape, what, "shape", found.shape, "expected", expected.shape)
    error = np.broadcast_to(error, expected.shape)
    far = np.abs(found - expected)
    for why, wrong in ((f"{what}: NaN at other places", np.isnan(found) != np.isnan(expected)), (what, far > error)):
        if wrong.any():
            worst = np.where(wrong, np.nan_to_num(far / np.maximum(error, 1e-300)), -1)
            at = np.unravel_index(np.argmax(worst), worst.shape)
            raise Differs(f"{why}: {wrong.sum()} of {wrong.size} differ, most at {tuple(map(int, at))}: {found[at]}, "
                          f"expected {expected[at]} within {error[at]}")


def read_found(path):
    """Reads the product's kurtosis, which the model's flags need."""
    with h5py.File(path) as file:
        if "kurtosis" not in file:
            return None
        limits = file["kurtosis"].attrs
        return {"kurtosis": file["kurtosis"][...], "low": limits.get("low"), "high": limits.get("high")}


def check_flags(file, product, model, first, last):
    def kept(x):
        return x.reshape(len(x), -1, x.shape[-1])[..., first:last + 1]
    compare("flags", file["flags"][...].astype("f8"), kept(model.flags.why).astype("f8"), 0)
    demand(("kurtosis" in file) == ("kurtosis" in product["flag"]), "kurtosis is there, or is not")
    if "kurtosis" in product["flag"]:
        error = kept(model.flags.kurtosis_error)
        compare("kurtosis", file["kurtosis"][...].astype("f8"), kept(model.flags.kurtosis), error)
        limits = file["kurtosis"].attrs
        demand(product["flag"]["kurtosis"] == 0 or 0 < limits["low"] < 1 < limits["high"], "limits of the kurtosis")


def blocks_of(x, rows):
    return [x[at:at + rows] for at in range(0, len(x), rows)]


def check_scales(file, product, model, rows):
    """Returns what the file has, which what follows is counted by."""
    data, is_first = model.data, product["scales"] == "first"
    expected = scales_of(data, model.error, product["kind"], product["bits"], rows, is_first, model.lines_of_antenna)
    # A block's channel without any number may have any scale.
    settled = ~np.isnan(expected[0])
    if not is_first:
        settled &= np.stack([np.isfinite(block).any(0) for block in blocks_of(data, rows)])
    found = [file[name][...].astype("f8") for name in ("scale", "offset")]
    for i, name in enumerate(("scale", "offset")):
        demand(found[i].shape == settled.shape, "shape of", name, found[i].shape, "expected", settled.shape)
        compare(name, *(np.where(settled, x, 0) for x in (found[i], expected[i], expected[2 + i])))
    return found


def check_few_bits(file, rows, product, model):
    """Scales and offsets, what q stands for, and how many numbers were clipped."""
    bits, kind, each = product["bits"], product["kind"], int(rows.attrs["scale_rows"])
    least, most = STEPS[kind, bits][2:]
    blank = {"power": 0, "spectra": -(1 << (bits - 1))}[kind]
    q = rows[...]
    q = (np.stack([q["r"], q["i"]], -1) if q.dtype.names else q[..., None]).astype("f8")
    q = q.reshape(len(q), -1, *q.shape[-2:])
    data = model.data
    values = np.stack([data.real, data.imag], -1) if np.iscomplexobj(data) else data[..., None]
    scale, offset = check_scales(file, product, model, each)
    block = np.minimum(np.arange(len(data)) // each, len(scale) - 1)
    scale, offset = scale[block][..., None], offset[block][..., None]
    exact = (values - offset) / scale
    rounding = 4 * EPSILON * (np.abs(values) + np.abs(offset))
    off = (model.error[..., None] + rounding) / scale + 1e-8 * (1 + np.abs(exact))
    compare(f"{bits} bits: q", np.where(q == blank, np.nan, q), np.clip(exact, least, most), 0.5 + off)
    below, above = least - 0.5 - exact, exact - most - 0.5
    for name, beyond in ("clipped_low", below), ("clipped_high", above):
        found = file[name][...].astype("f8")
        fewest, most_of = (np.stack([b.sum((0, 3)) for b in blocks_of(x, each)]) for x in (beyond > off, beyond > -off))
        demand(found.shape == fewest.shape and ((found >= fewest) & (found <= most_of)).all(), f"{name}:", found.sum(),
               "expected", fewest.sum(), "to", most_of.sum())


def check_share(printed, product, model, first, last):
    """The share of flagged cells that the run has printed, to four digits."""
    found = re.search(re.escape(product["said"]["file"]) + r": ([\d.]+) % of ([\d,]+) cells are flagged", printed)
    flags = model.flags.why[..., first:last + 1]
    share = 100 * (flags != 0).mean()
    demand(found, "the run prints no share of flagged cells")
    demand(int(found[2].replace(",", "")) == flags.size and abs(float(found[1]) - share) <= 1e-3 * share,
           "share of flagged cells:", found[0], "expected", share, "of", flags.size)


def check(archive, product, bank, path, printed):
    first, last = product["kept"]
    found = read_found(path)
    if found is not None:
        # The model judges all channels; those that are not kept have no kurtosis here, and decide nothing that is kept.
        shape = (-1, archive.stations, archive.beams, archive.pols, archive.chans * bank.channels)
        whole = np.full((len(found["kurtosis"]), int(np.prod(shape[1:4])), shape[4]), np.nan)
        whole[..., first:last + 1] = found["kurtosis"]
        found["kurtosis"] = whole.reshape(shape)
    model = Product(bank, product, archive.centres, product["mask"], found)
    with h5py.File(path) as file:
        rows = file["data" if product["kind"] == "power" else "spectra"]
        compare("time", file["time"][...], model.time, 1e-12)
        compare("frequency", file["frequency"][...], model.frequency, 1e-5)
        if product["flag"]:
            check_flags(file, product, model, first, last)
            check_share(printed, product, model, first, last)
        if "weights" in file:
            compare("weights", file["weights"][...].astype("f8"), model.weights, 2e-7)
            demand(not ((file["weights"][...] == 1) != (model.weights == 1)).any() or product["flag"] or product["sum"],
                   "weights of 1 are exact")
        else:
            demand(not product["flag"] and (model.weights == 1).all(), "weights are missing")
        if product["bits"] != 32:
            check_few_bits(file, rows, product, model)
            return
        data = rows[...].astype("c16" if product["kind"] == "spectra" else "f8")
        data = data.reshape(len(data), -1, data.shape[-1])
        compare("data", data, model.data, model.error + EPSILON * np.abs(model.data))
        if product["bandpass"]:
            check_bandpass(file["bandpass"][...], rows[...])


def check_bandpass(found, rows):
    """Checks the medians of the rows as they are stored: exactly the lower median of those that are not NaN."""
    ordered = np.sort(rows, axis=0)
    at = np.maximum((~np.isnan(rows)).sum(0) - 1, 0) // 2
    expected = np.take_along_axis(ordered, at[None], 0)[0]
    demand(np.array_equal(found, expected, equal_nan=True), "bandpass is not the median")


def has_first_scales(archive, products, banks):
    """Whether a product with `scales: first` has a number in its first block: else the job is refused."""
    for product in products:
        if product["bits"] != 32 and product["scales"] == "first":
            # Flags by kurtosis depend on the product, which is not there: the mask alone would need no file.
            model = Product(banks[product["bank"]], dict(product, flag=None), archive.centres, [], None)
            block = model.data[:product["said"]["scale_rows"]]
            if not (np.isfinite(block) & (block != 0)).any() or product["flag"]:
                return False
    return True


def try_job(seed):
    """None, or what is wrong."""
    archive, specs, select, products, path = make_job(seed)
    volts, good = archive.volts()[..., select[0]:select[1]], archive.good[..., select[0]:select[1]]
    with np.errstate(all="ignore"):
        banks = {spec["name"]: Bank(volts, good, spec, archive.real, archive.sideband, RATE, select[0])
                 for spec in specs}
        for mask in (line for product in products for line in product["mask"] if line["kind"] == "product"):
            take_mask(mask)
        try:
            printed = voltmill("run", path)
        except Failed as error:
            if "scales: first" in str(error) and not has_first_scales(archive, products, banks):
                return None
            return str(error)
        wrong = []
        for i, product in enumerate(products):
            try:
                check(archive, product, banks[product["bank"]], scratch(product["said"]["file"]), printed)
            except Differs as difference:
                wrong.append(f"products.{i} {yaml(product['said'])}: {difference}")
    domain = "real" if archive.real else "complex"
    about = f"{archive.type} {domain} {archive.shape}, gaps {archive.gaps}, select {select}"
    return "\n".join(wrong + [about, open(path).read()]) if wrong else None


def tidy(seed):
    for path in glob.glob(scratch(f"job{seed}[-.]*")):
        os.remove(path)


def main():
    note(f"seeds {SEEDS[0]} to {SEEDS[-1]}")
    for seed in SEEDS:
        try:
            wrong = try_job(seed)
        except Exception: # pylint: disable=broad-except
            wrong = traceback.format_exc()
        ok(wrong is None, f"SEEDS={seed} tests/long/jobs.py", *([wrong] if wrong else []))
        if not KEEP:
            tidy(seed)
    if KEEP:
        shutil.copytree(os.path.dirname(scratch("x")), KEEP, dirs_exist_ok=True)
        note(f"files are in {KEEP}")
    finish()


if __name__ == "__main__":
    main()
