"""Packets of LOFAR's stations: every sample, time and lost packet of files that a writer of this test makes as the boards send
them (David-McKenna/udpPacketManager), beside numpy."""
import h5py
import numpy as np

from common import canonical, finish, ok, same, scratch, voltmill, write_yaml
from mocks.packets import lofar_packets

random = np.random.default_rng(22)
SECOND = 1614000001
BAND = {"start": 150e6, "step": 195312.5}


def write(name, *packets):
    with open(scratch(name), "wb") as file:
        file.write(b"".join(packets))
    return scratch(name)


def read(files, layout={"freq_hz": BAND}, **words):
    """[pol][chan][time], start, rate, frequencies and output."""
    job = {"input": {"files": files, **({"layout": layout} if layout else {}), **words},
           "products": [{"kind": "voltages", "file": "out.h5"}]}
    said = voltmill("run", "--force", write_yaml("job.yaml", job))
    with h5py.File(scratch("out.h5")) as file:
        found = canonical(file["voltages"][...], file["voltages"].attrs["axes"].decode().split(","))
        return (found[0, 0], (int(file.attrs["start_mjd_day"]), float(file.attrs["start_second"])),
                float(file["voltages"].attrs["sample_rate_hz"]), file["freq_hz"][...], said)


def expected(volts):
    return np.moveaxis(volts[..., 0] + 1j * volts[..., 1], 0, 2).swapaxes(0, 1).astype("c16")


# All widths and clocks, over the edge of a second that begins with half a sample.
for bits, limit in (8, 128), (16, 32768), (4, 8):
    for clock in 200, 160:
        first = (SECOND * clock * 1000000 + 512) // 1024 + 195168
        volts = random.integers(-limit, limit, (1600, 5, 2, 2))
        path = write("one.udp", *lofar_packets(volts, bits, first, clock=clock))
        found, start, rate, freq, said = read(path)
        same(found, expected(volts), f"{bits} bits, clock {clock} MHz: every sample")
        seconds = first * 1024 / (clock * 1e6)
        ok(start[0] == 59267 and abs(start[1] - seconds % 86400) < 1e-6 and rate == clock * 1e6 / 1024 and "missing" not in said, "its start and rate",
           start, rate, said)
        same(freq, 150e6 + 195312.5 * np.arange(5), "frequencies of the job")
        voltmill("import", "--force", "-o", scratch("copy.h5"), "--layout", "{freq_hz: {start: 150e6, step: 195312.5}}", path)
        same(read(scratch("copy.h5"), None)[0], found, "the same from its import")
said = voltmill("info", "--layout", "{freq_hz: {start: 150e6, step: 195312.5}}", scratch("one.udp"))
ok("LOFAR station 214: 5 beamlets of 4 bits on 1 board" in said, "info says what it is", said)
said = voltmill("info", scratch("one.udp"))
ok("freq_hz is missing: expected the centre of each of 5 coarse channels" in said and "streams" not in said, "info asks for frequencies", said)

# Boards beside each other, in the order of their numbers; files after each other; lost and flagged packets.
volts = random.integers(-100, 100, (2, 960, 3, 2, 2))
first = 315234375000000
low = lofar_packets(volts[0], 8, first, 1, lost=(4, 5, 30), flagged=(8,))
high = lofar_packets(volts[1, 160:], 8, first + 160, 5)
files = [write("high.udp", *high), write("late.udp", *low[27:]), write("early.udp", *low[:27])]
found, *_, said = read(files)
whole = np.concatenate([expected(volts[0]), expected(volts[1])], axis=1)
for slot, begin, end in ((0, 64, 96), (0, 480, 496), (0, 128, 144), (3, 0, 160)):
    whole[:, slot:slot + 3, begin:end] = 0
same(found, whole, "two boards, one in two files, one that begins later")
ok(f"{6 * (16 * 4 + 160):,} samples were missing" in said, "missing samples of each beamlet and polarisation", said)
found, *_ = read(files, select={"samples": [100, 700], "chans": "2..4"})
same(found, whole[:, 2:5, 100:700], "a part of them")
job = {"input": {"files": files, "layout": {"freq_hz": BAND}}, "channelise": {"channels": 16, "taps": 1, "window": "rect"},
       "products": [{"kind": "power", "file": "power.h5"}]}
voltmill("run", "--force", write_yaml("power.yaml", job))
with h5py.File(scratch("power.h5")) as file:
    spectra = np.abs(np.fft.fftshift(np.fft.fft(whole.reshape(2, 6, 60, 16)), axes=-1)) ** 2
    power = np.nan_to_num(file["data"][...])
    ok(np.allclose(power / power[50].mean(), np.moveaxis(spectra, 2, 0).reshape(60, 2, 96) / spectra[:, :, 50].mean(), rtol=1e-4, atol=1e-6),
       "power as numpy's")

# Damage: bytes between packets, a torn end, a repeated packet.
one = lofar_packets(volts[0], 8, first)
found, *_ = read(write("torn.udp", *one[:20], bytes(1000), *one[20:40], one[39], *one[40:-1], one[-1][:-5]))
hurt = expected(volts[0])[..., :944]
same(found, hurt, "a filling, a packet twice and a torn end")

# Errors.
for name, parts, words in (
        ("a board twice", [one, one], "have frames of the same threads (boards) and times"),
        ("another station", [one, lofar_packets(volts[1], 8, first, 1, station=207)], "of station 207, 3 beamlets of 8 bits"),
        ("other bits", [one, lofar_packets(volts[1] // 20, 4, first, 1)], "3 beamlets of 4 bits, clock 200 MHz, those of the files before it"),
        ("samples between packets", [one, lofar_packets(volts[1], 8, first + 3, 1)], "samples behind the observation's first, expected a multiple of 16"),
        ("no packets", [[b"no packets of LOFAR at all" * 10]], "does not begin with packets of a LOFAR station")):
    paths = [write(f"bad{i}.udp", *part) for i, part in enumerate(parts)]
    said = voltmill("info", "--layout", "{format: lofar_udp, freq_hz: {start: 150e6, step: 195312.5}}", *paths, status=4)
    ok(words in said, name, said)
said = voltmill("info", "--layout", "{format: lofar_udp, sample_rate_hz: 1e6}", scratch("torn.udp"), status=2)
ok("input.layout.sample_rate_hz has no meaning for LOFAR" in said, "a rate", said)
finish()
