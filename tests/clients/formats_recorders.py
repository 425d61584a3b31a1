"""Recorders' files (GUPPI RAW, PSRDADA): every sample and time as a reader of its own finds them, and the
public package baseband where it is installed; mocks of what the real files do not show."""
import os

import numpy as np

from common import DATA, Failed, canonical, finish, note, ok, same, scratch, voltmill, write_yaml
from mocks.recorders import LEVELS, write_dada, write_guppi
import h5py

try:
    from baseband import dada, guppi
except ImportError:
    dada = guppi = None

HERE = os.path.join(DATA, "recorders")
random = np.random.default_rng(17)


def voltages(name, files, layout=None, run=None, threads=None, **select):
    """All samples by voltmill: [station][beam][pol][chan][time], frequencies, (day, second), rate, gaps."""
    job = {"input": {"files": files, **({"layout": layout} if layout else {}), **({"select": select} if select else {})},
           "products": [{"kind": "voltages", "file": f"{name}.h5"}], **({"run": run} if run else {})}
    voltmill("run", "--force", write_yaml(f"{name}.yaml", job), threads=threads)
    with h5py.File(scratch(f"{name}.h5")) as file:
        axes = file["voltages"].attrs["axes"].decode().split(",")
        stored = file["voltages"][...] * file["voltages"].attrs.get("scale", 1.0)
        gaps = file["gaps"][...] if "gaps" in file else np.zeros((0, 2))
        return (canonical(stored, axes), file["freq_hz"][...],
                (int(file.attrs["start_mjd_day"]), float(file.attrs["start_second"])),
                float(file["voltages"].attrs["sample_rate_hz"]), gaps)


# ---- readers of their own, from docs/formats-recorders.md

def cards(data, at):
    words, i = {}, at
    while not data[i:i + 80].startswith(b"END "):
        card = data[i:i + 80].decode()
        if card[8:9] == "=":
            words[card[:8].strip()] = card[9:].split("/")[0].strip().strip("'").strip()
        i += 80
    size = i + 80 - at
    return words, at + (size + 511) // 512 * 512 if int(words.get("DIRECTIO", 0)) else at + size


def read_guppi(*paths):
    """[pol][chan][time] complex, 8 bit, [chan][time][pol]; no gaps."""
    blocks = []
    for path in paths:
        data, at = open(path, "rb").read(), 0
        while at < len(data):
            words, at = cards(data, at)
            size, overlap = int(words["BLOCSIZE"]), int(words["OVERLAP"])
            block = np.frombuffer(data, "i1", size, at).astype("f4").reshape(int(words["OBSNCHAN"]), -1, 2, 2)
            blocks.append(block[:, overlap if blocks else 0:])
            at += size
    volts = np.concatenate(blocks, axis=1)
    return np.transpose(volts[..., 0] + 1j * volts[..., 1], (2, 0, 1))


def read_dada(path):
    data = open(path, "rb").read()
    words = dict(line.split(None, 1) for line in data[:4096].split(b"\0")[0].decode().splitlines()
                 if len(line.split(None, 1)) == 2)
    words = {key: value.split("#")[0].strip() for key, value in words.items()}
    volts = np.frombuffer(data, "i1", offset=4096).astype("f4")
    volts = volts.reshape(-1, int(words["NCHAN"]), int(words["NPOL"]), int(words["NDIM"]))
    volts = volts[..., 0] + 1j * volts[..., 1] if volts.shape[-1] == 2 else volts[..., 0]
    return np.transpose(volts, (2, 1, 0))


def since(start, time):
    """Seconds from (day, second) to an astropy time."""
    from astropy.time import Time, TimeDelta
    return ((time - Time(start[0], format="mjd", scale="utc")) - TimeDelta(start[1], format="sec")).sec


def check_baseband(name, found, start, rate, open_stream):
    if not dada:
        return
    with open_stream() as stream:
        theirs = stream.read()
        theirs = np.moveaxis(theirs.reshape(theirs.shape[0], theirs.shape[1], -1), 0, -1)
        same(found, theirs, f"{name}: every sample as baseband reads it")
        ok(abs(since(start, stream.start_time)) < 1e-9, f"{name}: its time to the nanosecond", start)
        ok(rate == stream.sample_rate.to_value("Hz"), f"{name}: its rate")


def real_files():
    fakes = [os.path.join(HERE, f"fake.{i}.raw") for i in range(4)]
    puppi = os.path.join(HERE, "sample_puppi.raw")
    for name, paths in ("sample_puppi.raw", [puppi]), ("fake.0.raw to fake.3.raw", fakes):
        volts, freq, start, rate, gaps = voltages("real", paths)
        same(volts[0, 0], read_guppi(*paths), f"{name}: every sample")
        ok(len(gaps) == 0, f"{name}: no gaps")
        check_baseband(name, volts[0, 0], start, rate, lambda: guppi.open(paths if len(paths) > 1 else paths[0], "rs"))
        if name == "sample_puppi.raw":
            ok(np.allclose(freq, 356.6875e6 + 250 * (np.arange(4) - 1.5), rtol=0, atol=1e-6), f"{name}: frequencies")
        else:
            ok(start == (50640, 45296.0) and np.allclose(freq, 344.1875e6 + 3.125e6 * (np.arange(4) - 1.5)),
               f"{name}: frequencies and start")
    volts, *_ = voltages("mixed", [fakes[2], fakes[0], fakes[3], fakes[1]])
    same(volts[0, 0], read_guppi(*fakes), "files listed in another order are joined by their times")
    *_, gaps = voltages("hole", [fakes[0], fakes[3]])
    same(gaps, [[8192, 2 * 8192]], "files that lack are a gap")
    for name in "sample.dada", "sample_meerkat.dada":
        path = os.path.join(HERE, name)
        volts, _, start, rate, _ = voltages("real", [path])
        same(volts[0, 0], read_dada(path), f"{name}: every sample")
        check_baseband(name, volts[0, 0], start, rate, lambda: dada.open(path, "rs"))
    try:
        voltages("torn", [os.path.join(HERE, "sample_vegas.raw")])
        ok(False, "sample_vegas.raw: its only block is cut off")
    except Failed as error:
        ok("ends with 7920 of 132186112 bytes of a block" in str(error), "sample_vegas.raw: its only block is cut off",
           error)


# ---- mocks

def make(bits, real, *shape):
    if bits == 2:
        parts = LEVELS[random.integers(0, 4, (2, *shape))]
    else:
        most = 2 ** (bits - 1) - 1
        parts = random.integers(-most - 1, most + 1, (2, *shape)).astype("f8")
    return parts[0] if real else parts[0] + 1j * parts[1]


def mock_guppi():
    for bits in 2, 4, 8, 16:
        for real in False, True:
            for layout in "chan", "time":
                for pols in 1, 2:
                    name = f"GUPPI RAW, {bits} bit, {'real' if real else 'complex'}, by {layout}, {pols} pol"
                    volts = make(bits, real, 1, 3, 5 * 64 + 32, pols)
                    path = write_guppi(scratch("mock.raw"), volts, bits, 64, 32, layout, direct=pols == 2, sizes=(0, 1, 1, 0, 5))
                    found, freq, start, rate, gaps = voltages("mock", path)
                    same(found[0, 0].astype("c8"), np.moveaxis(volts[0], -1, 0).astype("c8"), f"{name}: every sample")
                    ok(len(gaps) == 0 and start == (59000, 1000.5) and rate == (2e6 if real else 1e6), f"{name}: times")
    stokes = {"channelise": {"channels": 8, "taps": 2}, "products": [{"kind": "power", "file": "feeds.h5", "polarisation": "IQUV"}]}
    for feeds, expected in (("LIN", b"linear"), ("CIRC", b"circular"), ("WHAT", "without names")):
        path = write_guppi(scratch(f"{feeds}.raw"), make(8, False, 1, 2, 8 * 64, 2), 8, 64, FD_POLN=f"'{feeds:8}'")
        try:
            voltmill("run", "--force", write_yaml("feeds.yaml", dict(stokes, input={"files": path})))
            with h5py.File(scratch("feeds.h5")) as file:
                same(file["data"].attrs["feed"], expected, f"feeds of {feeds} are known")
        except Failed as failed:
            ok(feeds == "WHAT" and expected in str(failed), f"feeds of {feeds} must be said", failed)
    volts = make(8, False, 3, 2, 8 * 64, 2)
    path = write_guppi(scratch("ants.raw"), volts, 8, 64)
    found, *_ = voltages("ants", path, threads=2, run={"chunk": 37})
    same(found[:, 0], np.transpose(volts, (0, 3, 1, 2)), "three antennas")
    found, freq, *_ = voltages("falls", write_guppi(scratch("falls.raw"), volts, 8, 64, OBSBW=-2.0))
    # Products of sideband -1 are conjugated: frequency rises in them.
    same(found[:, 0], np.transpose(volts, (0, 3, 1, 2))[:, :, ::-1].conj(), "channels whose frequency falls ascend")
    same(freq, [1399.5e6, 1400.5e6], "and their frequencies")
    volts = make(8, False, 1, 2, 20 * 64 + 16, 2)
    path = write_guppi(scratch("lost.raw"), volts, 8, 64, 16, lost=(3, 4, 9, 15), first=640, PKTSTART=0)
    found, _, start, _, gaps = voltages("lost", path)
    same(gaps, [[3 * 64 + 16, 112], [9 * 64 + 16, 48], [15 * 64 + 16, 48]], "lost blocks are gaps")
    expected = volts.copy()
    for first, count in gaps.astype(int):
        expected[:, :, first:first + count] = 0
    same(found[0, 0], np.moveaxis(expected[0], -1, 0), "lost blocks: what is there")
    ok(abs(start[1] - 1000.5 - 640e-6) < 1e-9, "the first block's PKTIDX counts")
    found, *_ = voltages("cut", path, samples=[100, 1000])
    same(found[0, 0], np.moveaxis(expected[0, :, 100:1000], -1, 0), "a range of samples")
    found, *_ = voltages("one", path, pols=["1"], chans=["1"])
    same(found[0, 0, 0, 0], expected[0, 1, :, 1], "one stream")
    parts = [write_guppi(scratch(f"seq.{i}.raw"), volts[:, :, low * 64:high * 64 + 16], 8, 64, 16, first=low * 64)
             for i, (low, high) in enumerate([(0, 1), (1, 7), (7, 20)])]
    found, *_, gaps = voltages("sequence", parts)
    same(found[0, 0], np.moveaxis(volts[0], -1, 0), "files whose blocks repeat samples follow each other")
    ok(len(gaps) == 0, "and have no gaps")
    with open(scratch("torn.raw"), "wb") as file:
        file.write(open(path, "rb").read()[:-300])
    found, *_ = voltages("torn", scratch("torn.raw"), samples=[0, 19 * 64])
    same(found[0, 0], np.moveaxis(expected[0, :, :19 * 64], -1, 0), "a file that is cut off is read as far as it goes")
    found, *_ = voltages("whole", scratch("torn.raw"), chans=["0"])
    same(found[0, 0, :, 0], np.moveaxis(expected[0, 0, :20 * 64], -1, 0), "a coarse channel that is whole is read")


def mock_dada():
    volts = random.integers(-128, 128, (5, 2, 4, 256, 2)).astype("i1")  # heap, pol, chan, time, dim
    path = write_dada(scratch("heaps.dada"), volts.tobytes() + b"xyz", INSTRUMENT="MKBF", NBIT=8, NDIM=2, NPOL=2, NCHAN=4,
                      PICOSECONDS=250000000000)
    found, freq, start, *_ = voltages("heaps", path)
    expected = np.moveaxis(volts, 0, 2).reshape(2, 4, -1, 2).astype("f8")
    expected = expected[..., 0] + 1j * expected[..., 1]
    same(found[0, 0], expected, "MeerKAT's heaps: every sample")
    ok(np.array_equal(freq, 1284e6 + 1e6 * (np.arange(4) - 1.5)) and start == (58882, 14706.25), "and their times")
    found, *_ = voltages("heaps", path, samples=[100, 700], chans=["2"])
    same(found[0, 0, :, 0], expected[:, 2, 100:700], "and a part of them")
    for bits, kind in (16, "<i2"), (16, ">i2"), (32, "<f4"):
        numbers = random.normal(0, 1000, (300, 4, 2, 2)).round().astype(kind)
        path = write_dada(scratch("wide.dada"), numbers.tobytes(), 8192, NBIT=bits, NDIM=2, NPOL=2, NCHAN=4, BW=-4.0,
                          ENDIAN="BIG" if kind[0] == ">" else "LITTLE")
        found, *_ = voltages("wide", path)
        expected = np.transpose(numbers.astype("f8"), (2, 1, 0, 3))[:, ::-1]
        same(found[0, 0], expected[..., 0] - 1j * expected[..., 1], f"PSRDADA of {kind}, frequency falling")
    codes = random.integers(0, 4, (400, 2))
    path = write_dada(scratch("two.dada"), (codes.reshape(-1, 4) << np.array([0, 2, 4, 6])).sum(axis=1).astype("u1").tobytes(),
                      NBIT=2, NDIM=1, NPOL=2, NCHAN=1, TSAMP=0.125)
    found, *_ = voltages("two", path)
    same(found[0, 0, :, 0].astype("f4"), np.array([-3.3359, -1, 1, 3.3359], "f4")[codes.T], "PSRDADA of two bits, real")
    parts = [random.integers(-9, 9, (n, 1, 2, 2)).astype("i1") for n in (100, 60, 80)]
    files = [write_dada(scratch(f"part{i}.dada"), part.tobytes(), NBIT=8, NDIM=2, NPOL=2, NCHAN=1, FILE_NUMBER=i,
                        OBS_OFFSET=4 * at, BW=1.0) for i, part, at in zip((0, 1, 2), parts, (0, 100, 180))]
    found, _, _, _, gaps = voltages("parts", files[::-1])
    whole = np.concatenate([parts[0], parts[1], np.zeros((20, 1, 2, 2), "i1"), parts[2]]).astype("f8")
    same(found[0, 0, :, 0], (whole[..., 0] + 1j * whole[..., 1])[:, 0].T, "a sequence of files, by OBS_OFFSET")
    same(gaps, [[160, 20]], "and what lies between them")
    mock_dada_overlap()
    mock_dada_edge()


def mock_dada_overlap():
    """Three files, each of which repeats 50 samples of the one before; nothing repeats the end of the last."""
    volts = random.integers(-9, 9, (700, 1, 2, 2)).astype("i1")
    whole = (volts[..., 0] + 1j * volts[..., 1]).astype("c16")[:, 0].T
    words = {"NBIT": 8, "NDIM": 2, "NPOL": 2, "NCHAN": 1, "BW": 1.0, "OBS_OVERLAP": 200}
    files = [write_dada(scratch(f"over{i}.dada"), volts[low:high].tobytes(), FILE_NUMBER=i, OBS_OFFSET=4 * low, **words)
             for i, (low, high) in enumerate(((0, 250), (200, 500), (450, 700)))]
    for order in files, files[::-1]:
        found, *_, gaps = voltages("over", order)
        same(found[0, 0, :, 0], whole, "PSRDADA files that repeat samples: each once, the last ones too")
        same(gaps, np.zeros((0, 2)), "and no gaps")
    found, *_ = voltages("over", files[0])
    same(found[0, 0, :, 0], whole[:, :250], "one file of them is read to its end")
    files[1] = write_dada(scratch("over1.dada"), volts[200:500].tobytes(), FILE_NUMBER=0, OBS_OFFSET=800,
                          **{**words, "OBS_OVERLAP": 400})
    found, *_, gaps = voltages("over", files)
    same(found[0, 0, :, 0], whole, "what OBS_OVERLAP says beyond the next file's start is there")
    said = voltmill("info", *files)
    ok("100 samples should be repeated by the next file, 50 are by its start" in said and
       "FILE_NUMBER = 0 comes after 0" in said, "and is said, as are FILE_NUMBERs out of order", said)
    heaps = random.integers(-9, 9, (6, 2, 4, 256, 2)).astype("i1")
    files = [write_dada(scratch(f"heap{i}.dada"), heaps[low:high].tobytes(), INSTRUMENT="MKBF", NBIT=8, NDIM=2, NPOL=2,
                        NCHAN=4, OBS_OFFSET=low * 4096, OBS_OVERLAP=4096) for i, (low, high) in enumerate(((0, 3), (2, 6)))]
    found, *_, gaps = voltages("heaps", files)
    expected = np.moveaxis(heaps, 0, 2).reshape(2, 4, -1, 2).astype("f8")
    same(found[0, 0], expected[..., 0] + 1j * expected[..., 1], "MeerKAT's heaps that repeat: each once")
    ok(len(gaps) == 0, "and no gaps")
    long = write_dada(scratch("long.dada"), volts.tobytes(), FILE_SIZE=2400, **words)
    found, *_ = voltages("long", long)
    same(found[0, 0, :, 0], whole[:, :600], "bytes beyond FILE_SIZE are no samples")


def mock_dada_edge():
    """A tone 3 MHz above the centre of a band, whose lower edge is 0 Hz of the samples (DSB 0)."""
    for sideband, centre, dsb in ((1, 11.0, 0), (1, 3.0, 1), (-1, 11.0, 0)):
        tone = np.exp(2j * np.pi * centre / 16 * np.arange(4096))[:, None] * 100
        stored = np.stack([tone.real, tone.imag], axis=-1).round().astype("i1")
        path = write_dada(scratch("edge.dada"), stored.tobytes(), NBIT=8, NDIM=2, NPOL=1, NCHAN=1, FREQ=320.0,
                          BW=16.0 * sideband, TSAMP=0.0625, DSB=dsb)
        job = {"input": {"files": path}, "channelise": {"channels": 64, "taps": 4},
               "products": [{"kind": "power", "file": "edge.h5"}]}
        voltmill("run", "--force", write_yaml("edge.yaml", job))
        with h5py.File(scratch("edge.h5")) as file:
            found = file["frequency"][np.argmax(file["data"][...].sum(axis=(0, 1)))]
        ok(found == 320e6 + 3e6 * sideband, f"PSRDADA, DSB {dsb}, sideband {sideband}: where 0 Hz is", found)


mock_guppi()
mock_dada()
if os.path.isdir(HERE):
    real_files()
    if not dada:
        note("SKIP the public package baseband is not installed: real files are compared to readers of this test alone")
else:
    note(f"SKIP {HERE} is absent")
finish()
