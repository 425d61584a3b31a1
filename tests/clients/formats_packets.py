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
from mocks.packets import write_vdif

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
    """What voltmill reads: samples [time][pol][chan], centres, start, rate, and what it said."""
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
        number = payload[:, None] >> np.arange(0, 32, bits, dtype=np.uint32) & ((1 << bits) - 1)
        volts = LEVELS[bits][number.ravel()].astype(float).reshape(-1, channels, 1 + is_complex)
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
    for bits in (1, 2, 4, 8, 16):
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
    for edv in (1, 3, 4):
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


def main():
    for check in (numbers, rates, leap, recordings, vgos, drx):
        try:
            check()
        except Failed as error:
            ok(False, check.__name__, error)
        except Exception as error:  # the others are still worth knowing
            note_errors()
            ok(False, check.__name__, repr(error))
    finish()


main()
