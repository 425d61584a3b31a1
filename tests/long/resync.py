#!/usr/bin/env python3
"""Damaged files of packets (VDIF, DRX, DRX8) beside a plain reader of this test's own: bytes removed, inserted, zeroed,
words of headers zeroed, frames flagged invalid with random headers, frames with impossible times, whole frames lost.
Samples and losses must be the plain reader's, and so must the weights of a product; products must have equal bytes at any
cut and number of ranks. Frames that are used must be as they were written, except for bytes zeroed in place.

    COUNT=200 SEED=1 tests/long/resync.py             # files of the seeds 1 to 200
    SEEDS="5 17" KEEP=folder tests/long/resync.py     # these again, as a failure names them; KEEP: their files go there"""
import os
import shutil
import struct
import sys

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../clients"))
from common import Failed, Tap, finish, note, ok, scratch, voltmill, write_archive, write_yaml, yaml
from mocks.packets import drx_packet, vdif_frame

COUNT, SEED, KEEP = int(os.environ.get("COUNT", "200")), int(os.environ.get("SEED", "1")), os.environ.get("KEEP")
SEEDS = [int(seed) for seed in os.environ.get("SEEDS", "").split()] or list(range(SEED, SEED + COUNT))
RANKS = [int(ranks) for ranks in os.environ.get("RANKS", "2 3").split()]
AROUND, MANY, FOLLOWERS = 5, 256, 16
LEVELS = {1: np.array([-1, 1.]), 2: np.array([-3.3359, -1, 1, 3.3359], "f4").astype(float), 4: np.arange(16) - 8.,
          8: np.arange(256) - 127.5, 16: np.arange(65536) - 32768.}


# ---- recordings as they were meant

class Vdif:
    """Frames of some threads."""

    def __init__(self, dice):
        self.bits = int(dice.choice([1, 2, 4, 8, 16, 32]))
        self.is_complex, self.legacy = int(dice.integers(2)), int(dice.random() < 0.2)
        self.log2, self.threads = int(dice.integers(3)), int(dice.integers(1, 4))
        self.edv = 0 if self.legacy else int(dice.choice([0, 0, 1, 3, 4]))
        self.periods = int(dice.integers(2100, 2500)) if dice.random() < 0.05 else int(dice.integers(40, 200))
        self.rate = int(dice.integers(7, 90))
        step = self.bits * (1 + self.is_complex) << self.log2
        self.samples = max(1, 64 // step) * int(dice.integers(1, 1 + max(1, 1024 // max(step, 64))))
        self.periods = max(self.periods, 600 // self.samples)
        self.head, self.size = (16, 32)[not self.legacy], (16, 32)[not self.legacy] + step * self.samples // 8
        self.dice, self.start, self.name = dice, int(dice.integers(self.rate)), "vdif"
        self.channels, self.pols = 1 << self.log2, self.threads
        self.layout = {"format": "vdif", "sample_rate_hz": float(self.rate * self.samples),
                       "freq_hz": [1e6 * (1 + i) for i in range(self.channels)]}

    def frame(self, period, thread):
        number = self.start + period
        body = self.dice.integers(0, 256, self.size - self.head, dtype="u1").tobytes()
        rate = self.rate * self.samples // (1 if self.is_complex else 2)
        extended = (0, rate & 0x7fffff, 0, rate & 0x7fffff, self.channels << 16)[self.edv] | self.edv << 24
        data = bytearray(vdif_frame(body, 1000 + number // self.rate, number % self.rate, thread, self.bits,
                                    self.is_complex, self.log2, self.legacy, extended))
        if self.edv == 4:
            mask = (1 << self.channels) - 1
            mask = int(self.dice.integers(mask + 1)) if self.dice.random() < 0.2 else mask
            data[24:32] = struct.pack("<Q", mask)
        return bytes(data)

    def frames(self):
        return [self.frame(period, thread) for period in range(self.periods) for thread in range(self.threads)]

    def flag(self, frame):
        """A frame flagged invalid, of which no field means anything."""
        header = bytearray(self.dice.integers(0, 256, self.head, dtype="u1").tobytes())
        header[3] |= 0x80
        if self.dice.random() < 0.5:
            header[8:11] = frame[8:11]
            header[3] = header[3] & 0xbf | frame[3] & 0x40
        return bytes(header) + frame[self.head:]

    def mistime(self, frame):
        """A frame whose time cannot be."""
        words = struct.unpack("<2I", frame[:8])
        return struct.pack("<2I", words[0] & 0x40000000 | int(self.dice.integers(1 << 30)),
                           words[1] & 0xff000000 | int(self.dice.integers(1 << 24))) + frame[8:]

    def learn(self, first):
        """A header, which has what all have in common."""
        self.first = first

    def is_strict(self, data, at):
        """Whether a header is there beyond doubt."""
        first = self.first
        return (data[at + 3] & 0xc0 == first[3] & 0xc0 and data[at + 8:at + 14] == first[8:14] and
                data[at + 15] & 0xfc == first[15] & 0xfc)

    def is_loose(self, data, at):
        """Whether one is there where one is expected."""
        return data[at + 3] & 0x40 == self.first[3] & 0x40 and data[at + 8:at + 11] == self.first[8:11]

    needle = 8

    def are_near(self, data, first, second):
        """Whether two headers are of about the same time, as those of a file's first frame and one behind it are."""
        return (second + 16 <= len(data) and self.is_strict(data, second) and
                abs(struct.unpack("<I", data[first:first + 4])[0] - struct.unpack("<I", data[second:second + 4])[0]) <= 2)

    def read(self, data, at):
        """(period since the epoch, stream, channels that are good), "contrary", or None."""
        words = struct.unpack("<4I", data[at:at + 16])
        if not self.is_loose(data, at) or words[0] >> 31:
            return None
        if not self.is_strict(data, at):
            return "contrary"
        good = (1 << self.channels) - 1
        if not self.legacy:
            extended = struct.unpack("<4I", data[at + 16:at + 32])
            stated = (extended[0] & 0x7fffff) * (1000, 1000000)[extended[0] >> 23 & 1] if extended[0] >> 24 in (1, 3) else 0
            first = struct.unpack("<I", self.first[16:20])[0]
            if self.edv in (1, 3) and stated != (first & 0x7fffff) * (1000, 1000000)[first >> 23 & 1]:
                return "contrary"
            if self.edv == 4:
                bits = extended[0] >> 16 & 255
                if extended[0] >> 24 != 4 or extended[1] != 0xacabfeed or not bits or self.channels % bits:
                    return "contrary"
                mask = extended[2] | extended[3] << 32
                good = sum((mask >> i * bits // self.channels & 1) << i for i in range(self.channels))
        thread = words[3] >> 16 & 1023
        if thread >= self.threads:
            return "contrary"
        # Half years of 181.5 days, about: any other epoch is far away.
        return (((words[1] >> 24 & 63) * 15724800 + (words[0] & 0x3fffffff)) * self.rate + (words[1] & 0xffffff),
                thread, good)

    def volts(self, data, at):
        """[pol = thread][chan][time] of one frame."""
        payload = np.frombuffer(data, "<u4", (self.size - self.head) // 4, at + self.head)
        if self.bits == 32:
            volts = (payload.astype(float) - 2. ** 31).astype("f4").astype(float)
        else:
            number = payload[:, None] >> np.arange(0, 32, self.bits, dtype=np.uint32) & ((1 << self.bits) - 1)
            volts = LEVELS[self.bits][number.ravel()]
        return volts.reshape(self.samples, self.channels, 1 + self.is_complex).transpose(1, 0, 2)


class Drx:
    def __init__(self, dice):
        self.wide = bool(dice.integers(2))
        self.head, self.size, self.samples = 32, 8224 if self.wide else 4128, 4096
        self.dice, self.is_complex, self.channels, self.pols, self.threads = dice, 1, 2, 2, 4
        self.periods, self.name = int(dice.integers(8, 25)), "drx8" if self.wide else "drx"
        self.layout = {"format": "drx", "freq_hz": [4e7, 6e7]}

    def frames(self):
        return [drx_packet(self.dice.integers(0, 256, self.size - 32, dtype="u1").tobytes(), number, ident)
                for number in range(self.periods) for ident in range(4)]

    def flag(self, frame):
        return bytes(32) + frame[32:]  # nothing flags a packet

    def mistime(self, frame):
        return frame[:16] + struct.pack(">Q", int(self.dice.integers(1 << 62))) + frame[24:]

    def learn(self, first):
        self.first = first

    def is_strict(self, data, at):
        return (data[at:at + 4] == self.first[:4] and data[at + 4] & 7 == self.first[4] & 7 and
                data[at + 12:at + 14] == self.first[12:14])

    def is_loose(self, data, at):
        return data[at:at + 4] == self.first[:4]

    needle = 0

    def are_near(self, data, first, second):
        return second + 32 <= len(data) and "contrary" not in (self.read(data, first), self.read(data, second) or "contrary")

    def read(self, data, at):
        if not self.is_loose(data, at):
            return None
        late, tag, tuning = struct.unpack(">HQI", data[at + 14:at + 28])
        ticks = tag - late - (257355782095018376 - 6440)
        ident = data[at + 4]
        if not self.is_strict(data, at) or ident >> 3 & 7 not in (1, 2) or tuning != 1 << 30 or ticks % 40960:
            return "contrary"
        return ticks // 40960, 2 * ((ident >> 3 & 7) - 1) + (ident >> 7), 3

    def volts(self, data, at):
        if self.wide:
            return np.frombuffer(data, "i1", 8192, at + 32).astype(float).reshape(1, 4096, 2)
        packed = np.frombuffer(data, "u1", 4096, at + 32).astype(int)
        return np.stack([(packed >> 4 ^ 8) - 8., (packed & 15 ^ 8) - 8.], axis=-1)[None]


# ---- damage

class Bytes:
    """Bytes of a file, and of each where it came from: its place in the file without damage, or -1."""

    def __init__(self, data):
        self.data, self.origin = np.frombuffer(data, "u1").copy(), np.arange(len(data))

    def cut(self, at, count):
        self.data, self.origin = np.delete(self.data, slice(at, at + count)), np.delete(self.origin, slice(at, at + count))

    def put(self, at, new):
        new = np.frombuffer(new, "u1")
        self.data = np.concatenate([self.data[:at], new, self.data[at:]])
        self.origin = np.concatenate([self.origin[:at], np.full(len(new), -1), self.origin[at:]])

    def over(self, at, new):
        new = np.frombuffer(new, "u1")[:len(self.data) - at]
        self.data[at:at + len(new)] = new


def damage(kind, dice, frames):
    """One file, damaged in some places: flags and times anywhere, bytes within, so that the job begins and ends alike."""
    for _ in range(int(dice.integers(0, 6))):
        at = int(dice.integers(len(frames)))
        for i in range(at, min(at + int(dice.integers(1, 4)), len(frames))):
            frames[i] = kind.flag(frames[i])
    for at in dice.choice([0, 20, len(frames) // 2, len(frames) - 1], int(dice.integers(0, 3)), replace=False):
        frames[at] = kind.mistime(frames[at])
    file, size = Bytes(b"".join(frames)), kind.size
    what = []
    for _ in range(int(dice.integers(0, 5))):
        at = int(dice.integers(8 * size, len(file.data) - 9 * size))
        count = int(dice.integers(1, 5 * size // 2))
        act = dice.choice(["cut", "junk", "zeros", "between", "filling", "header", "lose"])
        what.append(f"{act} {count} at {at}")
        if act == "cut":
            file.cut(at, count)
        elif act == "junk":
            file.put(at, dice.integers(0, 256, count, dtype="u1").tobytes())
        elif act == "zeros":
            file.over(at, bytes(count))
        else:
            starts = np.flatnonzero(file.origin % size == 0)
            at = int(starts[np.searchsorted(starts, at)])
            if act == "lose":
                file.cut(at, size * int(dice.integers(1, 4)))
            elif act == "between":
                file.put(at, dice.integers(0, 256, count, dtype="u1").tobytes())
            elif act == "filling":
                file.put(at, struct.pack("<I", int(dice.choice([0, 0x11223344]))) * (2 + count // 4))
            else:
                low = int(dice.integers(kind.head))
                file.over(at + low, bytes(int(dice.integers(1, kind.head - low + 1))))
    if dice.random() < 0.3:
        file.put(len(file.data), frames[0][:int(dice.integers(1, size))])
    elif dice.random() < 0.3:
        file.put(len(file.data), dice.integers(0, 256, int(dice.integers(1, 3 * size)), dtype="u1").tobytes())
    if dice.random() < 0.2:
        file.put(0, dice.integers(0, 256, int(dice.integers(1, 2 * size)), dtype="u1").tobytes())
    return file, what


# ---- the plain reader

def headers(kind, data):
    """Every place where a header is beyond doubt."""
    needle, found, at = kind.first[kind.needle:kind.needle + 4], [], -1
    while (at := data.find(needle, at + 1)) >= 0:
        if at >= kind.needle and at - kind.needle + 16 < len(data) and kind.is_strict(data, at - kind.needle):
            found.append(at - kind.needle)
    return found


def is_filling(data, low, high):
    return data[low:high - 4] == data[low + 4:high]


def places(kind, data):
    """Where whole frames lie, as docs/formats-recorders.md says it."""
    size, strict = kind.size, headers(kind, data)
    at = next(place for place in strict if any(kind.are_near(data, place, place + i * size) for i in range(1, FOLLOWERS + 1)))
    found = [at]
    while True:
        end = at + size
        if end + kind.head <= len(data) and kind.is_loose(data, end):
            if end + size > len(data):
                return found
            at = end
        else:
            behind = [place for place in strict if place > at]
            if not behind:
                return found
            is_whole = (behind[0] - at) % size == 0 or (behind[0] >= end + 8 and is_filling(data, end, behind[0]) and
                                                        not is_filling(data, end - 4, end + 4))
            if not is_whole:
                found.pop()
            if behind[0] + size > len(data):
                return found
            if (behind[0] - at) % size == 0:
                found += range(end, behind[0], size)
            at = behind[0]
        found.append(at)


def in_place(frames, at, window, held):
    """Whether a frame's time is one that those around it allow."""
    period = frames[at][0]
    before = sorted(frame[0] for frame in frames[max(0, at - AROUND):at] if isinstance(frame, tuple))
    behind = sorted(frame[0] for frame in frames[at + 1:at + 1 + AROUND] if isinstance(frame, tuple))
    early = before and period < before[(len(before) - 1) // 2] - window
    late = behind and period > behind[len(behind) // 2] + window
    if early and len(before) == 1 and len(behind) > 1:  # one alone may be wrong itself
        early = period < behind[len(behind) // 2] - window
    if late and len(behind) == 1 and len(before) > 1:
        late = period > before[(len(before) - 1) // 2] + window
    if early or late:
        return False
    if at >= AROUND and at + AROUND < len(frames):
        return True
    near = sum(abs(other - period) <= max(window, held) for other in before + behind)
    return near >= 2 or len(before + behind) <= 2


def plain(kind, file):
    """Samples [time][pol][chan][re, im], and which are good; offsets of the frames that were used; or what is wrong."""
    data = file.data.tobytes()
    at = places(kind, data)
    frames = [kind.read(data, place) for place in at]
    for i, frame in enumerate(frames):
        if frame == "contrary" and "contrary" in frames[max(0, i - AROUND):i] + frames[i + 1:i + 1 + AROUND]:
            return None
    window = max(8, MANY // kind.threads)
    used = {}
    for i, frame in enumerate(frames):
        if isinstance(frame, tuple) and in_place(frames, i, window, len(frames) // kind.threads):
            used.setdefault(frame[0], {})
            if frame[2]:
                used[frame[0]].setdefault(frame[1], (at[i], frame[2]))
    first, count = min(used), max(used) - min(used) + 1
    volts = np.zeros((count * kind.samples, kind.pols, kind.channels, 1 + kind.is_complex))
    good = np.zeros(volts.shape[:3], bool)
    for period, threads in used.items():
        time = slice((period - first) * kind.samples, (period - first + 1) * kind.samples)
        for thread, (place, channels) in threads.items():
            frame = kind.volts(data, place)
            for i in range(len(frame)):
                pol, chan = (thread, i) if kind.name == "vdif" else (thread % 2, thread // 2)
                if channels >> i & 1:
                    volts[time, pol, chan] = frame[i]
                    good[time, pol, chan] = True
    return volts, good, [place for threads in used.values() for place, _ in threads.values()]


# ---- comparison

class Differs(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Differs(what)


def voltages(kind, path, name):
    """Samples [time][pol][chan][re, im] as voltmill reads them: through a filter that leaves them as they are."""
    out = scratch(f"{name}-volts.h5")
    voltmill("run", "--force", write_yaml(f"{name}-volts.yaml", {
        "input": {"files": path, "layout": kind.layout}, "filter": {"coefficients": scratch("one.txt")},
        "products": [{"kind": "voltages", "file": out}], "run": {"on_bad": "stop"}}))
    with h5py.File(out, "r") as file:
        data = file["voltages"]
        axes = [axis for axis in data.attrs["axes"].decode().split(",") if axis != "reim"]
        check(axes == ["time", "pol", "chan"], f"axes {axes}")
        volts = data[()].astype(float) * float(data.attrs.get("scale", 1))
        return volts.reshape(*volts.shape[:3], -1), float(data.attrs["sample_rate_hz"])


def imported(kind, path, name, shape):
    """Which samples are good, by /gaps of an import."""
    out = scratch(f"{name}-import.h5")
    voltmill("import", "--force", "-o", out, "--layout", yaml(kind.layout), path)
    good = np.ones(shape, bool)
    flat = good.reshape(shape[0], -1)
    with h5py.File(out, "r") as file:
        for gap in file["gaps"][()] if "gaps" in file else []:
            first, count = int(gap[0]), int(gap[1])
            flat[first:first + count, int(gap[2]) if len(gap) > 2 else slice(None)] = False
    return good


def native(kind, name, volts, good, rate):
    """The plain reader's samples and losses in the native layout."""
    gaps = []
    for stream, there in enumerate(good.reshape(len(good), -1).T):
        edges = np.flatnonzero(np.diff(np.concatenate([[1], there.astype(int), [1]])))
        gaps += [[low, high - low, stream] for low, high in zip(edges[::2], edges[1::2])]
    axes, domain = ("time,pol,chan,reim", "complex") if kind.is_complex else ("time,pol,chan", "real")
    return write_archive(f"{name}-plain", volts.astype("f4").reshape(volts.shape[:3 + kind.is_complex]), axes, rate, domain,
                         centres=kind.layout["freq_hz"], gaps=sorted(gaps) if gaps else None)


def power(path, layout, name, chunk=None, ranks=None):
    out = scratch(f"{name}.h5")
    voltmill("run", "--force", write_yaml(f"{name}.yaml", {
        "input": {"files": path, **({"layout": layout} if layout else {})}, "channelise": {"channels": 8, "taps": 3},
        "products": [{"kind": "power", "file": out, "integrate": 4, "min_weight": 0.05}],
        "run": {"on_bad": "stop", **({"chunk": chunk} if chunk else {})}}), ranks=ranks)
    with h5py.File(out, "r") as file:
        return file["data"][()], file["weights"][()] if "weights" in file else None


class Counts:
    files = losses = frames = untrue = refused = 0


def untrue(file, size, used):
    """Frames that were never written so: bytes of others within them."""
    count = 0
    for place in used:
        origin = file.origin[place:place + size]
        count += not (origin[0] % size == 0 and (np.diff(origin) == 1).all() and origin[0] >= 0)
    return count


def one(seed):
    dice = np.random.default_rng(seed)
    kind = Drx(dice) if dice.random() < 0.25 else Vdif(dice)
    frames = kind.frames()
    kind.learn(frames[0])
    file, what = damage(kind, dice, list(frames))
    name = f"{kind.name}-{seed}"
    path = scratch(name + (".dat" if kind.name != "vdif" else ".vdif"))
    file.data.tofile(path)
    words = f"{kind.name} of {kind.size} bytes, {'; '.join(what)}"
    try:
        expected = plain(kind, file)
        if expected is None:
            voltmill("import", "--force", "-o", scratch("no.h5"), "--layout", yaml(kind.layout), path, status=4)
            Counts.refused += 1
        else:
            compare(kind, dice, path, name, file, *expected)
        Counts.files += 1
        good = ok(True, f"{name}: {words}")
    except (Differs, Failed) as error:
        good = ok(False, f"{name}: {words}", f"SEEDS={seed}", error)
    if KEEP and not good:
        os.makedirs(KEEP, exist_ok=True)
        shutil.copy(path, KEEP)
    for left in os.listdir(scratch("")):
        if left.startswith(name):
            os.remove(scratch(left))


def compare(kind, dice, path, name, file, volts, good, used):
    found, rate = voltages(kind, path, name)
    check(found.shape == volts.shape, f"shape {found.shape}, expected {volts.shape}")
    seen = imported(kind, path, name, good.shape)
    check((seen == good).all(), f"losses differ at {np.argwhere(seen != good)[:3].tolist()}")
    check(np.abs(found - volts).max() <= 1e-7 * np.abs(volts).max(), "samples differ at "
          f"{np.argwhere(np.abs(found - volts) > 1e-7 * np.abs(volts).max())[:3].tolist()}")
    data, weights = power(path, kind.layout, name)
    mine, exact = power(native(kind, name, volts, good, rate), None, name + "-plain-power")
    check((weights is None and good.all()) or np.array_equal(weights, np.ones_like(weights) if exact is None else exact),
          "weights differ")
    check(np.array_equal(np.isnan(data), np.isnan(mine)) and
          np.allclose(data, mine, rtol=2e-5, atol=2e-6 * np.nanmax(mine), equal_nan=True), "powers differ")
    for ranks in [None] + RANKS:
        again = power(path, kind.layout, name + "-again", chunk=4 * int(dice.integers(1, 9)), ranks=ranks)
        check(again[0].tobytes() == data.tobytes() and np.array_equal(again[1], weights), f"bytes differ on {ranks} ranks")
    Counts.losses += int((~good).sum())
    Counts.frames += len(used)
    wrong = untrue(file, kind.size, used)
    note(f"{wrong} frames used that are not as they were written: SEEDS={name.split('-')[1]}") if wrong else None
    Counts.untrue += wrong


def main():
    with open(scratch("one.txt"), "w") as file:
        file.write("1\n")
    for seed in SEEDS:
        one(seed)
    note(f"{Counts.files} files of {len(SEEDS)} as the plain reader has them ({Counts.refused} refused by both): "
         f"{Counts.frames} frames, {Counts.losses} samples lost, {Tap.failures} mismatches, {Counts.untrue} frames used that "
         "are not as they were written")
    finish()


main()
