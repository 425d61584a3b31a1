"""Recorders' packets, VDIF and LWA DRX, read as they are: each sample, frequency and time beside
readers of some lines in here, and beside the public package baseband (PyPI) where that can be
imported. Voltages come out through a filter of one tap, 1, which leaves them as they are.

VOLTMILL_DATA names the folder of the files (default ../shared/data); without it, only those that
this test makes itself are read."""
import os
import struct
import subprocess
import sys

import h5py
import numpy as np

from common import (DATA, ROOT, Failed, close, finish, note, note_errors, ok, same, scratch,
                    voltmill, write_yaml)
from mocks.packets import drx_packet, vdif_flagged, vdif_frame, vdif_mask, write_vdif

RECORDERS = os.path.join(DATA, "recorders")
LEVELS = {1: np.array([-1, 1.]), 2: np.array([-3.3359, -1, 1, 3.3359], np.float32),
          4: np.arange(16) - 8., 8: np.arange(256) - 127.5, 16: np.arange(65536) - 32768.}
J2000 = 51544


def baseband():
    try:
        from baseband import vdif
        return vdif
    except ImportError as error:
        note(f"SKIP all that compares with baseband: {error}")
        return None


VDIF = baseband()


def there(name):
    path = os.path.join(RECORDERS, name)
    if not os.path.exists(path):
        note(f"SKIP {name}: not there")
    return path if os.path.exists(path) else None


def voltages(name, paths, layout=None):
    """Returns what voltmill reads: samples [time][pol][chan], centres, start, rate, and its output."""
    with open(scratch("one.txt"), "w") as file:
        file.write("1\n")
    out = scratch(name + ".h5")
    job = {"input": {"files": paths, **({"layout": layout} if layout else {})},
           "filter": {"coefficients": scratch("one.txt")},
           "products": [{"kind": "voltages", "file": out}], "run": {"on_bad": "stop"}}
    said = voltmill("run", "--force", write_yaml(name + ".yaml", job))
    with h5py.File(out, "r") as file:
        data = file["voltages"]
        stored = data[()]
        axes = data.attrs["axes"].decode().split(",")
        if axes[-1] == "reim":
            stored = stored[..., 0].astype(float) + 1j * stored[..., 1]
        elif stored.dtype.names:
            stored = stored[stored.dtype.names[0]].astype(float) + 1j * stored[stored.dtype.names[1]]
        same([axis for axis in axes if axis != "reim"], ["time", "pol", "chan"], f"{name}: axes")
        return (stored * float(data.attrs.get("scale", 1)), file["freq_hz"][()],
                (int(file.attrs["start_mjd_day"]), float(file.attrs["start_second"])),
                float(data.attrs["sample_rate_hz"]), said)


# ---- VDIF, by its definition

def read_vdif(path):
    """Samples of each (thread, channel), by headers alone; the first header's words."""
    data = open(path, "rb").read()
    first = struct.unpack("<4I", data[:16])
    head = 16 if first[0] >> 30 & 1 else 32
    size = 8 * (first[2] & 0xffffff)
    channels, bits = 1 << (first[2] >> 24 & 31), (first[3] >> 26 & 31) + 1
    is_complex = first[3] >> 31
    frames = {}
    for at in range(0, len(data) - size + 1, size):
        words = struct.unpack("<4I", data[at:at + 16])
        payload = np.frombuffer(data, "<u4", (size - head) // 4, at + head)
        if bits == 32:
            volts = (payload - 2. ** 31).astype("f4").astype(float)
        else:
            number = payload[:, None] >> np.arange(0, 32, bits, dtype=np.uint32) & ((1 << bits) - 1)
            volts = LEVELS[bits][number.ravel()].astype(float)
        volts = volts.reshape(-1, channels, 1 + is_complex)
        volts = volts[..., 0] + 1j * volts[..., 1] if is_complex else volts[..., 0]
        frames.setdefault(words[3] >> 16 & 1023, []).append(
            (words[0] & 0x3fffffff, words[1] & 0xffffff, volts))
    return {(thread, channel): np.concatenate([frame[2][:, channel] for frame in sorted(
        of, key=lambda frame: frame[:2])]) for thread, of in frames.items()
        for channel in range(channels)}, first


def vdif_start(first, rate, samples):
    """MJD and second of the first sample; no leap second lies between these epochs and times."""
    epoch = first[1] >> 24 & 63
    day = J2000 + int((np.datetime64(f"{2000 + epoch // 2}-{1 + epoch % 2 * 6:02}-01") -
                       np.datetime64("2000-01-01")).astype(int))
    seconds = first[0] & 0x3fffffff
    return day + seconds // 86400, seconds % 86400 + (first[1] & 0xffffff) * samples / rate


def check_vdif(name, paths, layout, rate, samples, turn=1):
    """turn: what each stream is multiplied with."""
    found, centres, start, found_rate, _ = voltages(name.split(".")[0], paths, layout)
    expected, first = read_vdif(paths)
    threads = sorted({thread for thread, _ in expected})
    channels = sorted({channel for _, channel in expected})
    table = (layout or {}).get("streams")
    for pol in range(found.shape[1]):
        for chan in range(found.shape[2]):
            if table:
                pols = list(dict.fromkeys(row["pol"] for row in table))
                key = next((row["thread"], row["channel"]) for row in table
                           if row["pol"] == pols[pol] and row["freq_hz"] == centres[chan])
            else:
                key = (threads[pol], channels[chan])
            if not np.array_equal(found[:, pol, chan], expected[key] * turn):
                ok(False, f"{name}: pol {pol}, coarse channel {chan}", f"is not {key}",
                   found[:4, pol, chan], expected[key][:4])
    ok(found.shape[1] * found.shape[2] == len(expected), f"{name}: {len(expected)} streams")
    same(found.shape[0], len(expected[threads[0], 0]), f"{name}: samples")
    same(found_rate, rate, f"{name}: sample rate")
    day, second = vdif_start(first, rate, samples)
    ok(start[0] == day and abs(start[1] - second) < 1e-9, f"{name}: starts to the nanosecond",
       f"{start} expected {day}, {second}")
    return found, start


def check_baseband(name, path, found, start, rate, unit=1.0):
    """unit: our volts of 1 there; of two bits the upper level is its own."""
    if not VDIF:
        return
    from astropy import units as u
    from baseband.base.encoding import OPTIMAL_2BIT_HIGH
    with VDIF.open(path, "rs", sample_rate=rate * u.Hz) as stream:
        theirs = stream.read().reshape(found.shape).astype(np.complex128)
        time = stream.start_time
    with_levels = np.where(np.abs(found.real) > 3.3, np.sign(found.real) * OPTIMAL_2BIT_HIGH,
                           found.real) if name.startswith("2 bit") else found.real
    close(with_levels, theirs.real * unit, 3e-6 * unit, f"{name}: as baseband reads it")
    if np.iscomplexobj(found) and not name.startswith("2 bit"):
        close(found.imag, theirs.imag * unit, 3e-6 * unit, f"{name}: as baseband, imaginary parts")
    seconds = ((time.jd1 - 2400000.5 - start[0]) + time.jd2) * 86400 - start[1]
    ok(abs(seconds) < 1e-9, f"{name}: baseband's time, to the nanosecond", f"{seconds} s off")


def recordings():
    path = there("sample_vlbi.vdif")
    if path:
        found, start = check_vdif("sample_vlbi.vdif", path, None, 32e6, 20000)
        check_baseband("2 bit, 8 threads", path, found, start, 32e6)
    path = there("sample_bps1.vdif")
    if path:
        layout = {"sample_rate_hz": 8e6, "freq_hz": [1e6 * i for i in range(16)]}
        found, start = check_vdif("sample_bps1.vdif", path, layout, 8e6, 4000)
        check_baseband("1 bit, 16 channels", path, found, start, 8e6)


def vgos_layout(path):
    """By the tool, as a user would."""
    text = subprocess.run([sys.executable, os.path.join(ROOT, "tests/tools/vdif-streams"),
                           os.path.join(RECORDERS, "vgos_media.ini"), path],
                          check=True, stdout=subprocess.PIPE).stdout.decode()
    streams = []
    for line in text.splitlines()[2:]:
        row = dict(item.split(": ") for item in line.split("{")[1].rstrip("}").split(", "))
        streams.append({key: value if key in ("pol", "dc") else
                        float(value) if key == "freq_hz" else int(value)
                        for key, value in row.items()})
    return {"sample_rate_hz": 32e6, "streams": streams}


def vgos():
    """Phase-calibration tones at every multiple of 5 MHz on the sky: of 384 that lie 1 MHz or more
    inside their channel numpy finds 375 that stand 2.5 dB above the median of their stream."""
    path = there("v15327_gs_328-185735_3m.vdif")
    if not path:
        return
    layout = vgos_layout(path)
    samples = 95 * 1024
    check_vdif("vgos.vdif", path, layout, 32e6, 1024, turn=1 - 2 * (np.arange(samples) % 2))
    out = scratch("vgos-power.h5")
    job = {"input": {"files": path, "layout": layout}, "channelise": {"channels": 3200, "taps": 4},
           "products": [{"kind": "power", "file": out}]}
    voltmill("run", write_yaml("vgos-power.yaml", job))
    with h5py.File(out, "r") as product:
        power = product["data"][()].mean(axis=0).reshape(2, 32, 3200)
        hertz = product["frequency"][()].reshape(32, 3200)
    seen = expected = 0
    for coarse, line in zip(hertz, power.transpose(1, 0, 2)):
        low = np.median(coarse) // 1e3 * 1e3 - 16e6
        for tone in np.arange(np.ceil((low + 1e6) / 5e6) * 5e6, low + 31e6 + 1, 5e6):
            channel = np.argmin(np.abs(coarse - tone))
            expected += 2
            seen += np.sum(line[:, channel] > 10 ** 0.25 * np.median(line, axis=1))
    same(expected, 384, "VGOS: tones that lie inside their channels")
    ok(seen >= 370, "VGOS: tones at multiples of 5 MHz on the sky", f"{seen} of {expected}")


# ---- VDIF of this test's own

def numbers():
    """Every width, as stated in docs, and as baseband scales them."""
    generator = np.random.default_rng(3)
    units = {1: 1, 2: 1, 4: 2.95, 8: 35.5}
    for bits in (1, 2, 4, 8, 16, 32):
        for is_complex in (0, 1):
            name = f"{bits} bit {'complex' if is_complex else 'real'}"
            path = write_vdif(scratch("made.vdif"), bits, is_complex, 2, 2, 12, 5, 64,
                              legacy=is_complex, first=2, generator=generator)
            layout = {"freq_hz": [1e6, 2e6, 3e6, 4e6]}
            found, start = check_vdif(name, path, layout, 320, 64)
            if bits in units:
                check_baseband(name, path, found, start, 320., units[bits])


def rates():
    """The sample rate: as headers say, as frames are counted, neither against the other."""
    generator = np.random.default_rng(4)
    for edv in (1, 3):
        stated = edv << 24 | 16  # kHz
        for is_complex in (0, 1):
            rate = 16e3 * (2 - is_complex)
            path = write_vdif(scratch("rate.vdif"), 8, is_complex, 1, 0, 3, int(rate) // 1000, 1000,
                              extended=stated, generator=generator)
            same(voltages("rate", path)[3], rate, f"EDV {edv}, complex {is_complex}: its rate")
    path = write_vdif(scratch("rate.vdif"), 8, 0, 1, 0, 45, 16, 1000, extended=1 << 24 | 16,
                      generator=generator)
    same(voltages("rate", path)[3], 16e3, "EDV 1 whose rate is that of real samples: as counted")
    path = write_vdif(scratch("rate.vdif"), 8, 0, 2, 0, 45, 16, 1000, lose={(15, 0), (31, 1)},
                      generator=generator)
    found = voltages("rate", path)
    same(found[3], 16e3, "a rate that is counted, though last frames of seconds are lost")
    same((found[0][15000:16000, 0] == 0).all() and (found[0][15000:16000, 1] != 0).all(),
         True, "what is lost of one thread is zero volts there, and only there")


# ---- what is damaged, or flagged

SAMPLES, SPEED = 64, 40  # of a frame; frames a second


def eight_bits(generator, count, threads=1):
    """Frames of 8 bits from second 1000 on, and their samples [time][thread]."""
    bodies = generator.integers(0, 256, (count, threads, SAMPLES), dtype="u1")
    frames = [vdif_frame(bodies[i, thread].tobytes(), 1000 + i // SPEED, i % SPEED, thread)
              for i in range(count) for thread in range(threads)]
    return frames, bodies.transpose(0, 2, 1).reshape(-1, threads) - 127.5


def check_damaged(name, data, volts, lost=(), first=0, says=""):
    """A file: samples, zero volts in frames `lost`, which an import has as gaps; its start, words that are said."""
    path = scratch("damaged.vdif")
    with open(path, "wb") as file:
        file.write(data)
    layout = {"format": "vdif", "sample_rate_hz": SPEED * SAMPLES}
    found, _, start, _, said = voltages("damaged", path, layout)
    expected = volts.copy().reshape(-1, SAMPLES, volts.shape[1])
    expected[list(lost)] = 0
    same(found[:, :, 0], expected.reshape(volts.shape), f"{name}: samples")
    ok(abs(start[1] - (1000 + first / SPEED)) < 1e-9, f"{name}: start", start)
    ok(says in said, f"{name}: words", said)
    voltmill("import", "--force", "-o", scratch("damaged.h5"), "--layout",
             f"{{format: vdif, sample_rate_hz: {SPEED * SAMPLES}}}", path)
    good = np.ones(len(expected), bool)
    with h5py.File(scratch("damaged.h5"), "r") as file:
        for gap in file["gaps"][()].astype(int) if "gaps" in file else []:
            good[gap[0] // SAMPLES:(gap[0] + gap[1]) // SAMPLES] = False
    same(np.flatnonzero(~good), sorted(lost), f"{name}: gaps")


def flagged():
    """No field of a frame that is flagged invalid is used, wherever it is."""
    generator = np.random.default_rng(6)
    frames, volts = eight_bits(generator, 60)
    bad = [vdif_flagged(frame, generator) for frame in frames]
    check_damaged("flagged at both ends", b"".join(bad[:3] + frames[3:57] + bad[57:]), volts[3 * SAMPLES:57 * SAMPLES],
                  first=3)
    check_damaged("flagged within", b"".join(frames[:20] + bad[20:27] + frames[27:]), volts, range(20, 27))
    fill = struct.pack("<8I", 1 << 31, 0, len(frames[0]) // 8, 0, *[0x11223344] * 4) + bytes(SAMPLES)
    check_damaged("fill that has its length alone", b"".join(frames[:20] + [fill] * 4 + frames[24:]), volts,
                  range(20, 24))
    check_damaged("a file that was reserved", b"".join(frames + [bytes(len(frames[0]) * 3000)]), volts)
    check_damaged("thousands flagged at both ends", b"".join(bad[:10] * 300 + frames[10:50] + bad[50:] * 300),
                  volts[10 * SAMPLES:50 * SAMPLES], first=10)
    path = scratch("flagged.vdif")
    with open(path, "wb") as file:
        file.write(b"".join(bad[:2] + frames[2:]))
    same(voltages("flagged", path)[3], SPEED * SAMPLES, "flagged first: recognised, its rate counted")
    path = scratch("thread.vdif")
    with open(path, "wb") as file:
        for i in range(60):
            for thread in range(3):
                file.write(vdif_frame(generator.bytes(SAMPLES), 1000 + i // SPEED, i % SPEED, thread, invalid=thread == 1))
    found, _, _, _, said = voltages("thread", path)
    ok(found.shape[1] == 2 and "all frames of thread 1 among the first and last are flagged invalid: not read" in said,
       "a thread of invalid frames alone is named", said)
    rows = [{"thread": i, "pol": "XYZ"[i], "freq_hz": 1e9} for i in (0, 1, 2)]
    three, _, _, _, said = voltages("thread", path, {"streams": rows})
    ok(three.shape[1] == 3 and not three[:, 1].any() and np.array_equal(three[:, ::2], found) and "flagged" not in said,
       "and read as missing samples if streams lists it", said)
    job = {"input": {"files": path, "layout": {"streams": rows}}, "channelise": {"channels": 16, "taps": 2},
           "products": [{"kind": "power", "file": scratch("thread.h5")}]}
    voltmill("run", "--force", write_yaml("thread.yaml", job))
    with h5py.File(scratch("thread.h5"), "r") as file:
        same(np.unique(file["weights"][:, :, 0], axis=0).tolist(), [[1, 0, 1]], "with weights of 0")
    path = scratch("invalid.vdif")
    with open(path, "wb") as file:
        file.write(b"".join(frame[:3] + bytes([frame[3] | 128]) + frame[4:] for frame in frames))
    for layout in [], ["--layout", "{format: vdif, freq_hz: 1e9}"]:
        said = voltmill("info", *layout, path, status=4)
        ok("its first 60 frames are flagged invalid, and no valid one" in said.replace("VDIF frames", "frames"),
           f"all flagged: {'as VDIF' if layout else 'recognised'}", said)
    with open(path, "wb") as file:
        for i in range(300):
            file.write(vdif_frame(generator.bytes(60000), i // SPEED, i % SPEED, invalid=i < 290))
    said = voltmill("info", path, status=4)
    ok("frames are flagged invalid" in said and "{format: vdif} looks further" in said,
       "valid frames begin late: what reads them is named", said)
    with open(path, "wb") as file:
        file.write(b"\x80" * (1 << 20))
    said = voltmill("info", path, status=4)
    ok("VDIF" not in said, "a file of one byte's value is not taken for VDIF", said)


def ends():
    """A time or number that cannot be, at an end of a file, is that frame's alone."""
    generator = np.random.default_rng(7)
    frames, volts = eight_bits(generator, 60)
    late, early = (vdif_frame(bytes(SAMPLES), second, 3) for second in (99999999, 7))
    high = vdif_frame(bytes(SAMPLES), 1001, 65535)
    for name, wrong in (("late", late), ("early", early), ("of a high number", high)):
        check_damaged(f"a first frame that is {name}", b"".join([wrong] + frames[1:]), volts[SAMPLES:], first=1)
        check_damaged(f"a last frame that is {name}", b"".join(frames[:-1] + [wrong]), volts[:-SAMPLES])
    path = scratch("high.vdif")
    with open(path, "wb") as file:
        file.write(b"".join(frames[:50] + [high] + frames[50:]))
    same(voltages("high", path)[3], SPEED * SAMPLES, "a high number within: not counted")


def junk():
    """Bytes that are no frames: skipped, said, with the frame before them if it may be torn."""
    generator = np.random.default_rng(8)
    frames, volts = eight_bits(generator, 60)
    whole, noise = b"".join(frames), generator.integers(0, 256, 333, dtype="u1").tobytes()
    size = len(frames[0])
    check_damaged("zeros between frames", whole[:20 * size] + bytes(100) + whole[20 * size:], volts,
                  says=f"100 bytes at 1 place, the first at byte {20 * size}, are no whole VDIF frame")
    check_damaged("noise between frames", whole[:20 * size] + noise + whole[20 * size:], volts, [19],
                  says=f"{333 + size} bytes at 1 place, the first at byte {19 * size}, are no whole")
    check_damaged("noise within a frame", whole[:20 * size + 50] + noise + whole[20 * size + 50:], volts, [20])
    check_damaged("bytes removed from two frames", whole[:20 * size + 50] + whole[21 * size + 40:], volts, [20, 21])
    check_damaged("noise of a frame's length", whole[:20 * size] + noise[:size] + whole[21 * size:], volts, [20])
    check_damaged("noise after the last frame", whole + noise, volts, says="its last 333 bytes are no VDIF frame")
    check_damaged("noise before the first", noise + whole, volts, says="333 bytes at 1 place, the first at byte 0,")
    check_damaged("a torn first frame", whole[30:], volts[SAMPLES:], first=1)


def with_bits(frame, word, bits):
    """The frame with more bits of a word of its header set."""
    value, = struct.unpack_from("<I", frame, 4 * word)
    return frame[:4 * word] + struct.pack("<I", value | bits) + frame[4 * word + 4:]


def unassigned():
    """Bits 30 and 31 of word 1 mean nothing: frames that have them set are read, also after other bytes."""
    generator = np.random.default_rng(12)
    frames, volts = eight_bits(generator, 60)
    noise = generator.integers(0, 256, 333, dtype="u1").tobytes()
    for bits in (1, 2, 3):
        some = [with_bits(frame, 1, bits << 30) for frame in frames]
        path = scratch("unassigned.vdif")
        with open(path, "wb") as file:
            file.write(b"".join(some))
        found = voltages("unassigned", path)
        same(found[0][:, :, 0], volts, f"unassigned bits {bits}: recognised, samples")
        ok(f"bits 30 and 31 of word 1, which VDIF does not assign, are {bits}" in found[4], "unassigned bits: words", found[4])
        check_damaged("unassigned bits behind noise", noise + b"".join(some), volts)


def legacy():
    """Frames that are flagged legacy have headers of 16 bytes, or of 32 where their words or their length prove it."""
    generator = np.random.default_rng(13)
    frames, volts = eight_bits(generator, 60)
    flagged_so = "headers are flagged legacy (16 bytes), "
    long = flagged_so + "but bytes 16 to 31 of frames are no samples: headers are taken to have 32 bytes"
    extended = bytes(4) + struct.pack("<3I", 0xacabfeed, 1, 2)
    number = [struct.pack("<4I", i, 7, 8, 9) for i in range(60)]
    wide = generator.integers(0, 256, (60, 2, 64), dtype="u1")  # times of 512 bits
    full = volts.reshape(60, SAMPLES, 1)
    for name, words, log2, lines, expected in (
            ("zeros", [bytes(16)] * 60, 0, [long], full), ("EDV", [extended] * 60, 0, [long], full),
            ("length", number, 6, [long], wide - 127.5),
            ("samples", [noise.tobytes() for noise in generator.integers(0, 256, (60, 16), dtype="u1")], 0, [], None),
            ("the same", [number[5]] * 60, 0,
             [flagged_so + "and bytes 20 to 23 are the same in all frames: they are taken for samples"], None)):
        body = wide.reshape(60, -1) if log2 else (volts + 127.5).astype("u1").reshape(60, SAMPLES)
        if name == "the same":  # as are all other samples
            body = np.tile(body[:1], (60, 1))
        data = [with_bits(vdif_frame(body[i].tobytes(), 1000 + i // SPEED, i % SPEED, log2=log2), 0, 1 << 30)
                for i in range(60)]
        data = [frame[:16] + words[i] + frame[32:] for i, frame in enumerate(data)]
        if expected is None:  # bytes 16 to 31 are samples, too
            first = np.frombuffer(b"".join(words), "u1").reshape(60, 16, 1) - 127.5
            expected = np.concatenate([first, body.reshape(60, SAMPLES, 1) - 127.5], axis=1)
        path = scratch("legacy.vdif")
        with open(path, "wb") as file:
            file.write(b"".join(data))
        found, _, _, rate, said = voltages("legacy", path, {"freq_hz": [1e6 * i for i in range(64)]} if log2 else {})
        same(found[:, 0], expected.reshape(-1, expected.shape[2]), f"legacy, {name}: samples")
        same(rate, float(SPEED * expected.shape[1]), f"legacy, {name}: rate")
        ok([line for line in said.splitlines() if flagged_so in line] == [] if not lines else lines[0] in said,
           f"legacy, {name}: words", said)


def mask():
    """EDV 4: no rate, but a mask of the channels that are valid."""
    generator = np.random.default_rng(9)
    bodies = generator.integers(0, 256, (60, SAMPLES, 4), dtype="u1")
    for bits, lost in ((4, [2]), (2, [2, 3])):
        path = scratch("mask.vdif")
        with open(path, "wb") as file:
            for i, body in enumerate(bodies):
                frame = vdif_frame(body.tobytes(), 1000 + i // SPEED, i % SPEED, log2=2)
                valid = (1 << bits) - 1
                file.write(vdif_mask(frame, bits, valid & ~(1 << lost[0] * bits // 4) if 40 <= i < 50 else valid))
        layout = {"freq_hz": [1e6, 2e6, 3e6, 4e6]}
        found, _, _, rate, said = voltages("mask", path, layout)
        same(rate, SPEED * SAMPLES, f"mask of {bits} bits: the rate is counted")
        ok("40 frames a second, since the highest frame number of seconds that end in the files is 39" in said,
           f"mask of {bits} bits: which is said", said)
        expected = bodies - 127.5
        expected[40:50, :, lost] = 0
        same(found[:, 0], expected.reshape(-1, 4), f"mask of {bits} bits: samples")
        voltmill("import", "--force", "-o", scratch("mask.h5"), "--layout", "{freq_hz: [1e6, 2e6, 3e6, 4e6]}", path)
        with h5py.File(scratch("mask.h5"), "r") as file:
            same(sorted(file["gaps"][()].tolist()), [[40 * SAMPLES, 10 * SAMPLES, channel] for channel in lost],
                 f"mask of {bits} bits: gaps of its channels")


def mask_lengths():
    """A frame alone whose mask has another number of bits is lost; more of them are an error."""
    generator = np.random.default_rng(12)
    bodies = generator.integers(0, 256, (60, SAMPLES, 4), dtype="u1")
    path, layout = scratch("masks.vdif"), {"freq_hz": [1e6, 2e6, 3e6, 4e6]}
    for wrong in (range(40, 41), range(40, 42)):
        with open(path, "wb") as file:
            for i, body in enumerate(bodies):
                frame = vdif_frame(body.tobytes(), 1000 + i // SPEED, i % SPEED, log2=2)
                file.write(vdif_mask(frame, 1 if i in wrong else 2, 3))
        words = f"byte {40 * (32 + 4 * SAMPLES)} has a validity mask of 1 bits, those before it of 2"
        if len(wrong) > 1:
            said = voltmill("info", path, status=4)
        else:
            found, _, _, _, said = voltages("masks", path, layout)
            expected = bodies - 127.5
            expected[40] = 0
            same(found[:, 0], expected.reshape(-1, 4), "a mask of another length: samples")
        ok(words in said, f"masks of another length: {len(wrong)} frames", said)


def counted():
    """Where the last frame of each second is lost the rate is that of the others, and the job's goes before it."""
    generator = np.random.default_rng(10)
    path = write_vdif(scratch("counted.vdif"), 8, 0, 1, 0, 30, 10, 64, lose={(9, 0), (19, 0), (29, 0)},
                      generator=generator)
    found = voltages("counted", path)
    ok(found[3] == 9 * 64 and "it is counted, 9 frames a second" in found[4] and "is 8" in found[4],
       "a rate that is counted is said to be", found[3:])
    same(voltages("counted", path, {"sample_rate_hz": 640})[3], 640, "the job's rate goes before one that is counted")


def from_one():
    """Frames that are numbered from 1, or whose first are all lost, are told of where the rate is counted; refused where it is stated."""
    generator = np.random.default_rng(13)
    frames = [vdif_frame(generator.integers(0, 256, 64, dtype="u1").tobytes(), 1000 + i // 10, i % 10 + 1) for i in range(5, 40)]
    with open(scratch("one.vdif"), "wb") as file:
        file.write(b"".join(frames))
    for layout, status, words in ({}, 0, "seconds begin with frame 1: frames 0 are lost"), ({"sample_rate_hz": 640}, 4, "its frames are counted up to 11 in a second"):
        said = voltmill("plan", write_yaml("one.yaml", {"input": {"files": scratch("one.vdif"), "layout": {"format": "vdif", **layout}},
                        "channelise": {"channels": 16}, "products": [{"kind": "power", "file": scratch("one.h5")}]}), status=status)
        ok(words in said, f"frames from 1 {layout}", said)
    path = write_vdif(scratch("zero.vdif"), 8, 0, 1, 0, 40, 10, 64, lose={(10, 0), (20, 0), (30, 0)}, generator=generator)
    same(voltages("the first of seconds are lost", path)[3], 640, "the first frames of seconds may be lost")


def two_rates():
    """Threads, or times, of two frame rates: refused where counts prove it, gaps where the job says the rate; frames
    that are lost prove nothing."""
    generator = np.random.default_rng(12)

    def body(size=32):
        return generator.integers(0, 256, size, dtype="u1").tobytes()

    def seconds(counts, first=1000, thread=0):
        return [vdif_frame(body(), first + i, frame, thread) for i, count in enumerate(counts) for frame in range(count)]

    def threads(count):
        frames = zip(seconds([40] * count, thread=0), *(iter(seconds([80] * count, thread=1)),) * 2)
        return [frame for three in frames for frame in three]

    def write(frames):
        path = scratch("rates.vdif")
        with open(path, "wb") as file:
            file.write(b"".join(frames))
        return path

    few, most = "thread 0 has 40 frames in the second from 2014-01-01T00:16:41", "80 frames in the second from 2014-01-01T00:16:4"
    for name, frames, words in (("threads", threads(3), [few, f"thread 1 has {most}0", "input.layout.sample_rate_hz"]),
                                ("threads of two seconds", threads(2), [few, f"thread 1 has {most}0"]),
                                ("times", seconds([40, 40, 80, 80]), [few, f"thread 0 has {most}2"]),
                                ("times, the lower rate last", seconds([80, 80, 40, 40, 40]), ["thread 0 has 40 frames", f"thread 0 has {most}0"]),
                                ("a long file", seconds([1600] * 20 + [800] * 3), ["thread 0 has 800 frames in the second from 2014-01-01T00:17:01",
                                                                                   "thread 0 has 1600 frames"])):
        said = voltmill("info", write(frames), status=4)
        ok(all(word in said for word in words), f"{name} of two rates: refused with both", said)
    path = write(threads(3))
    voltmill("import", "--force", "-o", scratch("rates.h5"), "--layout", "{sample_rate_hz: 2560}", path)
    with h5py.File(scratch("rates.h5"), "r") as file:
        gaps = [tuple(gap)[:2] for gap in file["stream_gaps" if "stream_gaps" in file else "gaps"][()].tolist()]
    same(sorted(gaps), [(second * 2560 + 1280, 1280) for second in range(3)], "threads of two rates: the job's rate makes gaps")
    whole = seconds([40] * 10)
    for name, kept in (("a third lost at random", generator.random(400) > 1 / 3),
                       ("ends of two seconds lost", [not (60 <= i < 80 or 140 <= i < 160) for i in range(400)]),
                       ("ends of two seconds lost at one place", [not (60 <= i < 80 or 100 <= i < 122) for i in range(400)]),
                       ("a second of few", [not 52 <= i < 80 for i in range(400)])):
        found = voltages("rates", write([frame for frame, is_kept in zip(whole, kept) if is_kept]))
        same(found[3], 40 * 32, f"{name}: the rate is that of whole seconds")


def unlike():
    """Threads whose frames differ, and frames with bytes between them: refused with the numbers."""
    generator = np.random.default_rng(13)

    def frame(i, **words):
        return vdif_frame(generator.integers(0, 256, words.pop("size", 128), dtype="u1").tobytes(), 1000 + i // 40, i % 40, **words)

    two = [frame(i, thread=thread, size=[128, 64][thread], bits=[8, 4][thread]) for i in range(60) for thread in (0, 1)]
    bits = [frame(i, thread=thread, bits=[8, 4][thread]) for i in range(60) for thread in (0, 1)]
    long = [frame(i, thread=thread, size=[5000, 2504][thread]) for i in range(60) for thread in (0, 1)]
    one = [frame(i) for i in range(60)]
    numbered = "have a length of 160 bytes, but follow each other every 168"
    for name, frames, words in (
            ("lengths", two, "thread 0 have 160 bytes, 1 channel of 8 bit real, those of thread 1 96 bytes, 1 channel of 4 bit real"),
            ("bits", bits, "thread 0 have 160 bytes, 1 channel of 8 bit real, those of thread 1 160 bytes, 1 channel of 4 bit real"),
            ("long frames", long, "thread 0 have 5032 bytes, 1 channel of 8 bit real, those of thread 1 2536 bytes"),
            ("numbers before frames", [struct.pack("<Q", i) + frame for i, frame in enumerate(one)], numbered),
            ("numbers behind frames", [frame + struct.pack(">Q", i + 77) for i, frame in enumerate(one)], numbered),
            ("junk before frames", [b"junk" + generator.integers(0, 256, 5000, dtype="u1").tobytes()] + one,
             "`layout: {format: NAME}` reads it as one of them (vdif: also after other bytes)")):
        path = scratch("unlike.vdif")
        with open(path, "wb") as file:
            file.write(b"".join(frames))
        said = voltmill("info", path, status=4)
        ok(words in said, f"{name}: refused", said)
    found = voltages("unlike", path, {"format": "vdif"})
    expected = np.concatenate([np.frombuffer(frame[32:], "u1") for frame in one]) - 127.5
    same(found[0].ravel(), expected, "junk before frames: read where the job says that they are VDIF")


def bands():
    """Files of other bands or polarisations that number their threads alike are refused; those in sequence may share frames."""
    generator = np.random.default_rng(17)
    bodies = generator.integers(0, 256, (110, 128), dtype="u1")

    def write(name, numbers, thread=0, other=0):
        with open(scratch(name), "wb") as file:
            file.write(b"".join(vdif_frame((bodies[i] ^ other).tobytes(), 1000 + i // 40, i % 40, thread) for i in numbers))
        return scratch(name)

    whole, upper = write("whole.vdif", range(80)), write("upper.vdif", range(2, 80), other=255)
    said = voltmill("info", upper, whole, status=4)
    ok("whole.vdif and " in said and "upper.vdif have frames of the same threads (boards) and times" in said
       and "input.layout.files_along" in said, "two bands of one thread: refused", said)
    for numbers, text in ((range(60, 72), "a short file inside a long one"), (range(75, 80), "five frames"),
                          (range(76, 110), "the end of one, the beginning of another")):
        said = voltmill("info", write("upper.vdif", numbers, other=255), whole, status=4)
        ok("upper.vdif have frames of the same threads (boards) and times" in said, f"another band in {text}: refused", said)
    turns = [write("odd.vdif", range(1, 80, 2)), write("even.vdif", range(0, 80, 2))]
    same(voltages("turns", turns)[0].ravel(), bodies[:80].ravel() - 127.5, "files that have frames by turns")
    parts = [write("end.vdif", range(44, 80)), write("other.vdif", range(80), thread=7, other=255), write("begin.vdif", range(50))]
    found = voltages("parts", parts)[0]
    same(found[:, 0, 0], bodies[:80].ravel() - 127.5, "files in sequence that share six frames")
    same(found[:, 1, 0], (bodies[:80] ^ 255).ravel() - 127.5, "a file of another thread")


def leap():
    """Seconds of VDIF count leap seconds: epoch 33 begins on 2016-07-01, a leap second ends it."""
    generator = np.random.default_rng(5)
    days = 184
    for frame, day, second in ((0, 57753, 86400.0), (4, 57754, 0.0), (-4, 57753, 86399.0),
                               (6, 57754, 0.5)):
        path = write_vdif(scratch("leap.vdif"), 8, 0, 1, 0, 3, 4, 8, first=days * 86400 * 4 + frame,
                          second=0, epoch=33, generator=generator)
        start = voltages("leap", path, {"sample_rate_hz": 32})[2]
        same(start, (day, second), f"a start {frame / 4} s from a leap second")


# ---- DRX

def read_drx(path):
    """{(tuning, pol): {tag: samples}}"""
    data = open(path, "rb").read()
    streams = {}
    for at in range(0, len(data) - 4127, 4128):
        sync, ident = struct.unpack(">IB", data[at:at + 5])
        tag, = struct.unpack(">Q", data[at + 16:at + 24])
        assert sync == 0xdec0de5c
        packed = np.frombuffer(data, np.uint8, 4096, at + 32)
        high, low = (packed >> 4).astype(int), (packed & 15).astype(int)
        volts = (high ^ 8) - 8 + 1j * ((low ^ 8) - 8)
        streams.setdefault((ident >> 3 & 7, ident >> 7), {})[tag] = volts
    return streams


def drx():
    path = there("drx-test.dat")
    if not path:
        return
    found, _, start, rate, _ = voltages("drx", path)
    streams = read_drx(path)
    tags = sorted({tag for of in streams.values() for tag in of})
    same(rate, 19.6e6, "DRX: sample rate")
    offset = 6440  # the headers' own, ticks
    seconds = (tags[0] - offset) // 196000000
    ok(start[0] == 40587 + seconds // 86400 and
       abs(start[1] - seconds % 86400 - (tags[0] - offset) % 196000000 / 196e6) < 1e-9,
       "DRX: starts to the nanosecond", start)
    expected = np.zeros_like(found)
    for (tuning, pol), of in streams.items():
        for tag, volts in of.items():
            at = (tag - tags[0]) // 10
            expected[at:at + 4096, pol, tuning - 1] = volts
    same(found, expected, "DRX: samples, and zero volts where packets are missing")
    spectra = np.abs(np.fft.fft(found[4096:8 * 4096].reshape(-1, 1024, 2, 2), axis=1)) ** 2
    mean = spectra.mean(axis=0)
    peak = 10 * np.log10(mean.max(axis=0) / np.median(mean, axis=0))
    ok((peak > 5).any(), "DRX: its lines", peak)


def drx8():
    """8 + 8 bits; a filling between packets, a packet whose sync word is damaged, a first one of another time."""
    generator = np.random.default_rng(11)
    bodies = generator.integers(-128, 128, (6, 4, 4096, 2), dtype="i1")
    packets = [drx_packet(bodies[i, ident].tobytes(), i, ident) for i in range(6) for ident in range(4)]
    packets[9] = packets[9][:1] + b"x" + packets[9][2:]
    packets[0] = packets[0][:16] + bytes(8) + packets[0][24:]
    path = scratch("drx8.dat")
    with open(path, "wb") as file:
        file.write(b"".join(packets[:14] + [bytes(100)] + packets[14:]))
    found, _, _, rate, said = voltages("drx8", path)
    expected = bodies[..., 0].astype(float) + 1j * bodies[..., 1]
    expected[2, 1] = expected[0, 0] = 0
    expected = expected.transpose(0, 2, 1).reshape(-1, 2, 2).transpose(0, 2, 1)  # [time][tuning][pol] -> [pol][tuning]
    same(found, expected, "DRX8: samples")
    same(rate, 19.6e6, "DRX8: sample rate")
    ok("8324 bytes at 2 places, the first at byte 74016, are no whole DRX packet of 8224 bytes" in said, "DRX8: words", said)


def main():
    for check in (numbers, rates, flagged, ends, junk, unassigned, legacy, mask, mask_lengths, counted, from_one, two_rates, unlike, bands, leap, recordings,
                  vgos, drx, drx8):
        try:
            check()
        except Failed as error:
            ok(False, check.__name__, error)
        except Exception as error:  # the others are still worth knowing
            note_errors()
            ok(False, check.__name__, repr(error))
    finish()


main()
