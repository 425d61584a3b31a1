#!/usr/bin/env python3
"""Files of recorders' packets for formats-packets.sh, most of them damaged: packets.py FOLDER."""
import os
import random
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../clients"))
from mocks.packets import drx_packet, vdif_frame

RATE, SAMPLES = 40, 800  # frames a second, samples a frame: 8 bits, real
PERIODS, THREADS = 300, 2


def vdif(period, thread, body=None, seconds=0, frame=0, channels=0, station="Ef", **words):
    """A frame; `seconds` and `frame` are added to what its header says."""
    random.seed(1000 * period + thread)
    body = random.randbytes(SAMPLES) if body is None else body
    return vdif_frame(body, 9000 + period // RATE + seconds, period % RATE + frame, thread, log2=channels,
                      station=ord(station[0]) << 8 | ord(station[1]), **words)


def plain(periods=range(PERIODS), **changes):
    return [vdif(period, thread, **changes) for period in periods for thread in range(THREADS)]


def drx(number, ident=0, **words):
    random.seed(4 * number + ident)
    return drx_packet(random.randbytes(4096), number, ident, **words)


def all_drx(count=20):
    return [drx(number, ident) for number in range(count) for ident in range(4)]


def changed(frames, at, *new):
    """Frames at, at + 2 ... are others."""
    frames = list(frames)
    frames[at:at + 2 * len(new):2] = new
    return frames


def lossy():
    """Frames in random order, some of them lost, twice there, flagged."""
    frames = []
    random.seed(5)
    dice = random.Random(6)
    for period in range(PERIODS):
        for thread in range(THREADS):
            inner = 0 < period < PERIODS - 1
            if inner and dice.random() < 0.1:
                continue
            place = period + dice.uniform(0, 9)
            frames.append((place, vdif(period, thread, invalid=inner and dice.random() < 0.05)))
            if dice.random() < 0.05:
                frames.append((place + dice.random(), vdif(period, thread)))
    return [frame for _, frame in sorted(frames, key=lambda frame: frame[0])]


def main():
    frames, packets = plain(), all_drx()
    shuffled = plain()
    random.Random(7).shuffle(shuffled)
    files = {
        "good": frames, "lossy": lossy(), "shuffled": shuffled,
        "torn": frames + [frames[0][:500]],
        "short-end": frames + [vdif(PERIODS, 0, body=bytes(80))],
        "cut": [frames[0][:500]],
        "length": changed(frames, 77, vdif(38, 1, length=1)),
        "channel": changed(frames, 77, vdif(38, 1, channels=1)),
        "channels": changed(frames, 77, vdif(38, 1, channels=1), vdif(39, 1, channels=1)),
        "station": changed(frames, 78, vdif(39, 0, station="On")),
        "stations": changed(frames, 78, vdif(39, 0, station="On"), vdif(40, 0, station="On")),
        "twice": plain(length=104), "twice-stations": [vdif(period, 0, length=104, station=("Ef", "On")[period % 2])
                                                        for period in range(PERIODS)],
        "within": [vdif(period, 0, body=vdif(period, 0)[:32] + bytes(384) + vdif(period + 1, 0)[:32] + bytes(352))
                   if period % 4 == 1 else vdif(period, 0) for period in range(PERIODS)],
        "recordings": frames[:100] + [vdif(period, 0, body=bytes(1600)) for period in range(50, 300)],
        "other-station": plain(station="On"),
        "later": plain(range(PERIODS, 2 * PERIODS)), "much-later": plain(range(10 ** 6, 10 ** 6 + 300)),
        "other-bits": plain(range(PERIODS, 2 * PERIODS), bits=4),
        "three-bits": plain(bits=3), "impossible": plain(channels=16),
        "zeros": [bytes(64)] * 200, "text": [b"frames of VDIF, it says here\n" * 100],
        "fill": [struct.pack("<I", 0x11223344) * 208] * 2 + frames[2:], "zero-fill": [bytes(832)] * 3 + frames[2:],
        "late": frames[2:],
        "back": plain(range(150, 300)) + plain(range(150)),
        "brief": plain(range(9)), "two": plain(channels=1),
        "clocks": [vdif(period, thread, seconds=-8192 * (thread > 0)) for period in range(PERIODS) for thread in range(3)],
        "third": frames + [vdif(PERIODS, 2)],
        "drx": packets, "drx-torn": packets + [packets[0][:99]],
        "drx-sync": changed(packets, 9, drx(2, 1, sync=0xdec0de5d)),
        "drx-beam": changed(packets, 9, drx(2, 1, beam=3), drx(2, 3, beam=3)),
        "drx-rate": changed(packets, 9, drx(2, 1, decimation=20), drx(2, 3, decimation=20)),
        "drx-half": [drx(number, ident, decimation=5) for number in range(20) for ident in range(4) if (number, ident) != (9, 2)],
        "drx-lossy": [drx(number, ident) for number in range(20) for ident in range(4) if number % 2 or ident == number % 8 // 2],
        "drx-tuning": changed(packets, 9, drx(2, 1, tuning=5), drx(2, 3, tuning=5)),
        "drx-ticks": changed(packets, 9, drx(2, 1, ticks=7), drx(2, 3, ticks=7)),
        "drx-lone": changed(packets, 9, drx(2, 1, beam=3)),
        "drx-three": [drx(n, ident) for n in range(20) for ident in range(3)],
    }
    for name, parts in files.items():
        with open(os.path.join(sys.argv[1], name + ".bin"), "wb") as file:
            file.write(b"".join(parts))


main()
