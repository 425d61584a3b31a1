"""Recorders' files (GUPPI RAW, PSRDADA): every sample and time as a reader of its own finds them, and the
public package baseband where it is installed; mocks of what the real files do not show."""
import os

import numpy as np

from common import DATA, Failed, canonical, finish, note, ok, same, scratch, voltmill, write_yaml
from mocks.packets import vdif_frame
from mocks.recorders import LEVELS, card, write_dada, write_guppi
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
                (int(file.attrs.get("start_mjd_day", 0)), float(file.attrs.get("start_second", 0))),
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


def assumed(name):
    """Assumptions about the input that the product keeps."""
    with h5py.File(scratch(f"{name}.h5")) as file:
        return file["provenance"].attrs.get("assumed", b"").decode()


def whole(path):
    return open(path, "rb").read()


def put(name, *pieces):
    with open(scratch(name), "wb") as file:
        file.write(b"".join(pieces))
    return scratch(name)


def guppi_is(name, path, volts, words="", gaps=(), start=1000.5):
    """A file (or several) reads as these volts, zeros in gaps, and the product says `words`, "": nothing."""
    found, _, begin, _, lacks = voltages("said", path)
    expected = volts.copy()
    for at, count in gaps:
        expected[:, :, at:at + count] = 0
    same(found[0, 0], np.moveaxis(expected[0], -1, 0), f"{name}: every sample")
    same(lacks.astype(int).reshape(-1, 2), np.array(gaps, int).reshape(-1, 2), f"{name}: gaps")
    ok(begin[0] == 59000 and abs(begin[1] - start) < 1e-9, f"{name}: start", begin)
    told = assumed("said")
    ok(words in told if words else not told, f"{name}: says {words or 'nothing'}", told)


def mock_guppi_packets():
    """Unit of PKTIDX: 64 samples of 2 channels and 2 polarisations, 8 bit: 512 bytes a block."""
    usual = {"PIPERBLK": None, "PKTSTART": 0}

    def counts(name, volts, by, packet=8192, **words):
        return write_guppi(scratch(name), volts, 8, 64, by_block=lambda i: {**usual, "PKTIDX": by(i), "PKTSIZE": packet, **words})
    volts = make(8, False, 1, 2, 2 * 64, 2)
    guppi_is("packets of PKTSIZE", counts("a.raw", volts, lambda i: 4 * i, 128), volts)
    for unit, step in ("samples", 64), ("blocks", 1), ("bytes", 512):
        guppi_is(f"two blocks, PKTIDX counts {unit}", counts("a.raw", volts, lambda i: step * i), volts,
                 f"PKTIDX grows by {step} from block to block, beside PKTSIZE 8192: it is taken to count {unit}")
    ten = make(8, False, 1, 2, 11 * 64, 2)
    files = [counts(f"f{k}.raw", ten[:, :, 64 * low:64 * high], lambda i: 64 * (low + i))
             for k, (low, high) in enumerate(((0, 9), (9, 11)))]
    guppi_is("files with 9 and 2 blocks", files, ten, "it is taken to count samples")
    files = [counts(f"f{k}.raw", ten[:, :, 64 * k:64 * k + 64], lambda i: 64 * k) for k in range(11)]
    guppi_is("one block in each file", files, ten, "it is taken to count samples")
    guppi_is("and one lost", files[:4] + files[5:], ten, "it is taken to count samples", [(256, 64)])
    guppi_is("one block in each file, packets of PKTSIZE",
             [counts(f"f{k}.raw", ten[:, :, 64 * k:64 * k + 64], lambda i: 4 * k, 128) for k in range(11)], ten)
    gap = np.concatenate([volts[:, :, :64], np.zeros((1, 2, 64, 2)), volts[:, :, 64:]], axis=2)
    guppi_is("two blocks and a gap that nothing proves", counts("a.raw", volts, lambda i: 8 * i, 128), gap,
             "PKTSIZE 128 says what PKTIDX counts, but no two blocks that follow each other prove it: gaps follow from it",
             [(64, 64)])
    guppi_is("two blocks of 2.56 packets, which are counted as 2", counts("a.raw", volts, lambda i: 2 * i, 200), volts, "blocks by that number")
    ok("gaps follow from it" in voltmill("info", counts("a.raw", volts, lambda i: 3 * i, 200)), "and as 3")
    guppi_is("nine blocks that grow alike", counts("a.raw", ten, lambda i: 7 * i, 128), ten,
             "PKTIDX grows by 7 from block to block, beside PKTSIZE 128: it is taken to count blocks by that number")
    lost = np.concatenate([ten[:, :, :256], np.zeros((1, 2, 64, 2)), ten[:, :, 256:]], axis=2)
    guppi_is("and one is lost", counts("a.raw", ten, lambda i: 7 * (i + (i > 3)), 128), lost, "blocks by that number", [(256, 64)])
    guppi_is("OVERLAP that PKTIDX does not know", counts("a.raw", ten, lambda i: 4 * i, 128, OVERLAP=16), ten,
             "OVERLAP 16 and PKTIDX differ: blocks are taken to repeat no samples")
    files = [write_guppi(scratch(f"f{k}.raw"), ten, 8, 64, 16, lost=lost) for k, lost in enumerate((range(3, 11), (0, 1, 2, 3, 8, 9)))]
    late = ten[:, :, :528].copy()
    late[:, :, 208:256] = 0
    guppi_is("a file that ends before a gap with samples that OVERLAP says to be repeated", files, late, "", [(208, 48)])
    guppi_is("PKTSIZE of one stream", counts("a.raw", ten, lambda i: 4 * i, 64, PIPERBLK=4), ten,
             "PKTSIZE 64 and PIPERBLK 4 (of 512 bytes in a block) differ: PIPERBLK is used")
    guppi_is("PKTSIZE and PIPERBLK agree", counts("a.raw", ten, lambda i: 4 * i, 128, PIPERBLK=4), ten)
    guppi_is("no PKTIDX", counts("a.raw", ten, lambda i: None), ten, "no PKTIDX: blocks are taken to follow each other")
    for told, by in ("PKTIDX is 7 in all blocks: ignored", lambda i: 7), ("PKTIDX is 0 in the first two blocks: ignored", lambda i: 64 * max(0, i - 1)):
        guppi_is("PKTIDX of BLADE", counts("a.raw", ten, by), ten, told)
    said = voltmill("info", counts("a.raw", ten, lambda i: 64 * max(0, i - 1) + 64 * (i > 5)), status=4)
    ok("blocks are repeated or out of order" in said, "a block that is repeated, and a gap", said)
    files = [counts(f"f{k}.raw", ten[:, :, 64 * low:64 * high], lambda i: None) for k, (low, high) in enumerate(((0, 9), (9, 11)))]
    guppi_is("no PKTIDX in two files of one start", files, ten, "no PKTIDX: blocks, and files, are taken to follow each other")
    guppi_is("PKTSTART within the first block", counts("a.raw", ten, lambda i: 992 + 4 * i, 128, PKTSTART=994), ten,
             start=1000.5 - 32e-6)
    guppi_is("PKTSTART behind the first block", counts("a.raw", ten, lambda i: 992 + 4 * i, 128, PKTSTART=1000), ten,
             "PKTSTART 1000 lies behind the first block, of PKTIDX 992", start=1000.5 - 128e-6)
    guppi_is("no PKTSTART", counts("a.raw", ten, lambda i: 100 + 4 * i, 128, PKTSTART=None), ten,
             "no PKTSTART: the start time (STT_) is taken as that of PKTIDX 0", start=1000.5 + 1600e-6)
    guppi_is("one block, a start that nothing proves", counts("a.raw", ten[:, :, :64], lambda i: 4, 128), ten[:, :, :64],
             "no two blocks that follow each other prove it: the start time follows from it", start=1000.5 + 64e-6)
    parts = whole(write_guppi(scratch("a.raw"), ten, 8, 44, direct=True)).split(b"OBSNCHAN=")[1:]
    put("filled.raw", b"".join(b"OBSNCHAN=" + part + bytes(-len(b"OBSNCHAN=" + part) % 512) for part in parts))
    guppi_is("samples filled up to 512 bytes", scratch("filled.raw"), ten, "taken to be filled up to 512 bytes, as headers are")
    guppi_is("SYNCTIME agrees", counts("a.raw", ten, lambda i: 1000 + 4 * i, 128, PKTSTART=1000, SYNCTIME=1590884201), ten)
    guppi_is("SYNCTIME differs", counts("a.raw", ten, lambda i: 1000 + 4 * i, 128, PKTSTART=1002, SYNCTIME=1590884100), ten,
             "SYNCTIME and PKTSTART say that it starts at 2020-05-31T00:15:00", start=1000.5 - 32e-6)
    guppi_is("SYNCTIME differs, no PKTSTART", counts("a.raw", ten, lambda i: 4 * i, 128, PKTSTART=None,
             SYNCTIME=1590884100), ten, "SYNCTIME and PKTIDX 0 say that it starts at 2020-05-31T00:15:00")
    late = 6281250  # 100.5 s of packets after SYNCTIME: the start time is that of the first block
    synced = [counts(f"f{k}.raw", ten[:, :, 64 * low:64 * high], lambda i: late + 4 * (low + i), 128, PKTSTART=None,
                     SYNCTIME=1590884100) for k, (low, high) in enumerate(((0, 9), (9, 11)))]
    guppi_is("SYNCTIME proves a start of the first block", synced, ten)
    guppi_is("SYNCTIME of another time", counts("a.raw", ten, lambda i: late + 4 * i, 128, PKTSTART=None, SYNCTIME=1590884103), ten,
             "SYNCTIME and PKTIDX 0 say that it starts at 2020-05-31T00:15:03", start=1101)
    guppi_is("SYNCTIME beside PKTSTART 0", counts("a.raw", ten, lambda i: late + 4 * i, 128, PKTSTART=0, SYNCTIME=1590884100), ten,
             "the start time (STT_) is that of PKTIDX 6281250, the first block's, by SYNCTIME, not that of PKTSTART 0")


def mock_guppi_beams():
    """Floating point and beams as recorders of the ATA write them: BLADE's output beside the words of its antennas."""
    words = {"DATATYPE": "'FLOAT'", "NANTS": 20, "NPOL": 2, "TBIN": 1e-6, "OBSFREQ": 1400.0, "OBSBW": 4.0, "PIPERBLK": 64, "STT_IMJD": 59000,
             "STT_SMJD": 1000, "STT_OFFS": 0.5, "OVERLAP": 0, "PKTFMT": "'ATASNAPV'"}

    def write(kind, aspects, **more):
        numbers = random.normal(0, 1000, (2, aspects, 4, 64, 2, 2)).astype(kind)
        said = {"OBSNCHAN": 4 * aspects, "NBITS": 8 * numbers.itemsize, "BLOCSIZE": numbers[0].nbytes, **words, **more}
        path = put("beams.raw", *(b"".join(card(key, value) for key, value in {**said, "PKTIDX": 64 * i}.items()) + b"END" + b" " * 77
                                  + block.tobytes() for i, block in enumerate(numbers)))
        expected = np.transpose(numbers.astype("f8"), (1, 4, 2, 0, 3, 5)).reshape(aspects, 2, 4, 128, 2)
        return path, expected[..., 0] + 1j * expected[..., 1]

    for kind, aspects, axis, told, more in (
            ("<f2", 1, 1, "NBEAMS 1 and NANTS 20 differ: samples are of beams", {"NBEAMS": 1}),
            ("<f4", 3, 1, "NBEAMS 3 and NANTS 20 differ: samples are of beams", {"NBEAMS": 3}),
            ("<f2", 1, 1, "NBEAMS 1 and NANTS 2 differ: samples are of beams", {"NBEAMS": 1, "NANTS": 2}),
            ("<f2", 2, 0, "", {"NBEAMS": 1, "NANTS": 2}), ("<f4", 2, 1, "", {"NBEAMS": 2, "NANTS": 1, "DATATYPE": "'float'"})):
        path, expected = write(kind, aspects, **more)
        found, freq, start, _, gaps = voltages("beams", path)
        same(np.moveaxis(found, 1 - axis, 0)[0], expected, f"GUPPI RAW of {kind}, {more}: {aspects} {('antennas', 'beams')[axis]}")
        ok(freq[0] == 1398.5e6 and start == (59000, 1000.5) and len(gaps) == 0, "frequencies and start", freq, start, gaps)
        ok(told in assumed("beams") if told else not assumed("beams"), f"says {told or 'nothing'}", assumed("beams"))
    path, expected = write("<f2", 2, NBEAM=2, NANTS=2, OBSBW=8.0)  # BLADE: OBSBW is that of both beams
    found, freq, *_ = voltages("beams", path)
    same(found[0], expected, "BLADE's beams: every sample")
    same(freq, 1398.5e6 + 1e6 * np.arange(4), "BLADE's beams: frequencies")
    ok("OBSBW is that of all OBSNCHAN channels" in assumed("beams"), "BLADE's beams: it is told", assumed("beams"))
    said = voltmill("info", write("<f2", 2, NANTS=2, OBSBW=8.0)[0], status=4)
    ok("coarse channels of 2e+06 Hz" in said, "antennas of another OBSBW are refused", said)
    said = voltmill("info", write("<f4", 1, NBEAMS=1, NBITS=8)[0], status=4)
    ok("NBITS = 8 and DATATYPE = FLOAT, expected 16 or 32" in said, "floats of 8 bits are refused", said)


def mock_guppi_rounded():
    """A TBIN that was rounded is told, one of all digits is not."""
    volts = make(8, False, 1, 3, 256, 1)
    for tbin, told in (2.56e-06, False), (2.56000002e-06, False), (2.5601e-06, True), (2.559e-06, True):
        out = voltmill("info", write_guppi(scratch("tbin.raw"), volts, 8, 64, TBIN=tbin, OBSBW=1.171875))
        same("TBIN makes a rate of" in out, told, f"TBIN {tbin} of 0.390625 MHz")


def mock_guppi_vdif():
    """Numbers as VDIF has them in blocks (VLA's YUPPI): offset binary, the first in the low bits."""
    for bits, is_complex in ((2, 0), (4, 0), (8, 0), (4, 1), (8, 1)):
        codes = random.integers(0, 1 << bits, (2, 64, 2, 1 + is_complex)).astype("u1")
        each = codes.reshape(2, -1, 8 // bits).astype("u4")
        stored = (each << bits * np.arange(8 // bits, dtype="u4")).sum(axis=2).astype("u1")
        words = {"OBSNCHAN": 1, "NPOL": 2, "NBITS": bits, "BLOCSIZE": stored[0].nbytes, "TBIN": 1e-6 / (2 - is_complex), "OBSFREQ": 1400.0,
                 "OBSBW": 1.0, "STT_IMJD": 59000, "STT_SMJD": 1000, "STT_OFFS": 0.5, "OVERLAP": 0, "PKTFMT": "'VDIF'", "PKTSIZE": stored[0].nbytes}
        path = put("vdif.raw", *(b"".join(card(key, value) for key, value in {**words, "PKTIDX": i}.items()) + b"END" + b" " * 77
                                 + block.tobytes() for i, block in enumerate(stored)))
        numbers = np.array([-3.3359, -1, 1, 3.3359], "f4")[codes] if bits == 2 else codes.astype("f8") - (1 << bits - 1)
        expected = np.transpose(numbers, (2, 0, 1, 3)).reshape(2, 128, -1)
        found = voltages("vdif", path)[0][0, 0, :, 0]
        same(found.astype("f4") if bits == 2 else found, expected[..., 0] + 1j * expected[..., 1] if is_complex else expected[..., 0],
             f"GUPPI RAW with PKTFMT VDIF, {bits} bits, {'complex' if is_complex else 'real'}")
        ok("PKTFMT = VDIF: numbers are offset binary" in assumed("vdif"), "says what PKTFMT VDIF means", assumed("vdif"))


def mock_guppi_damage():
    """Bytes that are no block, blocks that are cut short, headers that are not where they should be."""
    volts = make(8, False, 1, 2, 8 * 64, 2)
    data = whole(write_guppi(scratch("a.raw"), volts, 8, 64))
    size = len(data) // 8
    blocks = [data[i * size:(i + 1) * size] for i in range(8)]
    junk = random.integers(0, 256, 3000).astype("u1").tobytes()
    guppi_is("junk after the last block", put("b.raw", data, junk), volts,
             f"the last 3000 bytes of the file, from byte {len(data)} on, are no GUPPI RAW block: they are ignored")
    guppi_is("zeros after the last block", put("b.raw", data, bytes(1 << 20)), volts, "the last 1048576 bytes")
    guppi_is("a few bytes after the last block", put("b.raw", data, b"x\n"), volts, "the last 2 bytes")
    guppi_is("junk between blocks", put("b.raw", *blocks[:3], junk, *blocks[3:]), volts,
             f"3000 bytes in 1 places, the first at byte {3 * size}, are no GUPPI RAW block: they are ignored")
    guppi_is("a block cut short", put("b.raw", *blocks[:3], blocks[3][:-100], *blocks[4:]), volts,
             "412 bytes in 1 places", [(192, 64)])
    short = write_guppi(scratch("c.raw"), volts[:, :, :25], 8, 25, first=7 * 64, PIPERBLK=64)
    expected = np.concatenate([volts[:, :, :448], volts[:, :, :25]], axis=2)
    guppi_is("a last block that is shorter", put("b.raw", *blocks[:7], whole(short)), expected)
    try:
        voltages("said", put("b.raw", *blocks[:6], whole(short), blocks[7]))
        ok(False, "a shorter block before the last")
    except Failed as error:
        ok("BLOCSIZE is 512 in the header of the first block, but 200 in that before byte" in str(error),
           "a shorter block before the last", error)
    for padded, said in (False, 1), (True, 0):
        path = write_guppi(scratch("b.raw"), volts, 8, 64, direct=padded, by_block=lambda i: {"DIRECTIO": said})
        guppi_is(f"DIRECTIO {said}, headers{' not' * said} filled up", path, volts, "DIRECTIO and the distance of headers differ")
    path = write_guppi(scratch("b.raw"), volts, 8, 64, TBIN="1.0D-06", OBSFREQ="1.4d3", OBSBW="2E0", NBITS="8.0", STT_SMJD="1.0E3",
                       BLOCSIZE="5.12e2")
    guppi_is("numbers as Fortran writes them", path, volts)
    for day, told in (88068, False), (88069, True), (33281, True):
        path = write_guppi(scratch("b.raw"), volts, 8, 64, STT_IMJD=day)
        out = voltmill("info", path)
        same((f"a start at MJD {day} (" in out, "  start  " in out), (told, not told), f"a start at MJD {day}")
    invalid = {"STTVALID": 0, "STT_SMJD": 7}
    path = write_guppi(scratch("b.raw"), volts, 8, 64, by_block=lambda i: {"STTVALID": 1, **(invalid if i < 2 else {})})
    guppi_is("a start that is invalid in the first blocks", path, volts)


def kept_of(good, taps, integrate=3):
    """Weights of rows by the shares of samples that are good, through a bank of 16 channels."""
    energy = taps ** 2 / (taps ** 2).sum()
    kept = np.lib.stride_tricks.sliding_window_view(good, energy.size)[::16] @ energy
    return kept[:len(kept) // integrate * integrate].reshape(-1, integrate).mean(1)


def dropped(name, shares, counts, told, words=(), ranks=None, run=None, **job):
    """Power of blocks of 64 samples in 8 packets, of which block i lacks the share shares[i]: its weights, to 2^-24,
    power divided by them, verified. Returns the bytes."""
    volts = make(8, False, 1, 2, len(shares) * 64, 2)
    path = write_guppi(scratch("dropped.raw"), volts, 8, 64, PKTSIZE=64, FD_POLN="'LIN'", by_block=counts)
    job = {"input": {"files": path, **job.pop("input", {})}, "channelise": {"channels": 16, "taps": 4}, "products": [
        {"kind": "power", "file": f"{name}.h5", "integrate": 3},
        {"kind": "power", "file": f"{name}-raw.h5", "integrate": 3, "weights": "raw", "min_weight": 0},
        {"kind": "power", "file": f"{name}-iquv.h5", "integrate": 3, "polarisation": "IQUV"}], **job, **({"run": run} if run else {})}
    voltmill("run", "--force", *words, write_yaml(f"{name}.yaml", job), ranks=ranks)
    if "filter" not in job:
        with h5py.File(scratch(f"{name}-raw.h5")) as file:
            raw, weights, taps = file["data"][...], file["weights"][...], file["coefficients"][...].astype("f8").ravel()
        kept = kept_of(np.repeat(1 - np.array(shares), 64), taps)
        worst = np.abs(weights - kept[:, None, None]).max()
        ok(worst < 2.0 ** -20, f"{name}: weights of all streams are the share that came", worst)
        with h5py.File(scratch(f"{name}.h5")) as file:
            same(file["weights"][...], weights, f"{name}: the same weights of renormalised power")
            power = file["data"][...].reshape(*weights.shape, -1)
            expected = raw.reshape(power.shape) / weights[..., None]
            good = weights >= 0.1
            ok(np.array_equal(power[good], expected[good]) and np.isnan(power[~good]).all(),
               f"{name}: power is divided by them, NaN below min_weight")
        with h5py.File(scratch(f"{name}-iquv.h5")) as file:
            same(file["weights"][...], np.repeat(weights[:, :1], 4, axis=1), f"{name}: and of polarisations together")
    ok(told in assumed(name) and (name == "doubtful" or "that are not those" not in assumed(name)), f"{name}: says {told}",
       assumed(name))
    for kind in "", "-raw", "-iquv":
        verified = voltmill("verify", "--all", scratch(f"{name}{kind}.h5"))
        ok("agrees with the reference" in verified, f"{name}{kind}: verify", verified)
    return [whole(scratch(f"{name}{kind}.h5")) for kind in ("", "-raw", "-iquv")]


def mock_guppi_dropped():
    """Packets that a block lacks: in which way ever they are counted."""
    lost = [0, 0, 1, 3, 0, 7, 2, 2, 0, 0, 8, 0, 5, 0, 0, 0, 1, 0, 0, 0]
    shares = [n / 8 for n in lost]
    told = f"{sum(0 < n < 8 for n in lost)} of 20 blocks lack some of their packets (NDROP), which are unknown"
    state = random.bit_generator.state
    for name, counts in {"came and lost": lambda i: {"NPKT": 8 - lost[i], "NDROP": lost[i]},
                         "lost among all": lambda i: {"NPKT": 8, "NDROP": lost[i]},
                         "dropstat": lambda i: {"NPKT": 8 - lost[i], "NDROP": lost[i], "DROPSTAT": f"'{lost[i]}/8'", "PKTSIZE": 8192},
                         "piperblk": lambda i: {"NPKT": 64, "NDROP": 8 * lost[i], "PKTSIZE": 8192}}.items():
        random.bit_generator.state = state
        first = dropped(name, shares, counts, told)
    with h5py.File(scratch(f"{name}.h5")) as file:
        ok("1 of 20 blocks lack all of their packets" in assumed(name) and file["provenance"].attrs["gap_samples"] == 64 * 4,
           "a block without packets is missing")
    for cut in {"run": {"chunk": 12}}, {"run": {"chunk": 7 * 12}, "ranks": 2}:
        random.bit_generator.state = state
        other = dropped(name, shares, counts, told, **cut)
        ok(other == first, f"the same bytes, {cut}")
    filters = [{"coefficients": "fir.txt", "decimate": 2, "aliasing": "allow"}]
    np.savetxt(scratch("fir.txt"), np.hanning(9)[1:-1])
    alike = [3 / 8] * 40
    dropped("behind a filter", alike, lambda i: {"NPKT": 5, "NDROP": 3}, "40 of 40 blocks lack", filter=filters)
    with h5py.File(scratch("behind a filter.h5")) as file:
        same(file["weights"][...], np.full_like(file["weights"][...], 5 / 8), "blocks that all lack 3 of 8: weights of 5/8 behind filters")
    bytes_of = []
    for cut in {}, {"run": {"chunk": 24}}:
        random.bit_generator.state = state
        bytes_of.append(dropped("behind a filter", shares * 3, lambda i: counts(i % 20), "blocks lack", filter=filters, **cut))
    ok(bytes_of[0] == bytes_of[1], "behind a filter: the same bytes in other chunks")
    dropped("share", shares, lambda i: {"DROPBLK": f"{lost[i] / 8:.17f}", "PKTSIZE": 0, "PIPERBLK": None}, told.replace("NDROP", "DROPBLK"))
    dropped("doubtful", [3 / 8 if i == 4 else 0 for i in range(12)], lambda i: {"NPKT": 7 if i else 8, "NDROP": 3 if i == 4 else 0},
            "11 of 12 blocks have NPKT and NDROP (7, 0) that are not those of a block of 8 packets")
    path = write_guppi(scratch("below.raw"), make(8, False, 1, 2, 640, 2), 8, 64, PKTSIZE=64, NPKT=8, NDROP=-1)
    ok("blocks have NPKT and NDROP (8, -1) that are not those of a block" in voltmill("info", path), "NDROP below 0 is assumed to be none")
    volts = make(8, False, 1, 2, 12 * 64, 2)
    path = write_guppi(scratch("ignored.raw"), volts, 8, 64, PKTSIZE=64,
                       by_block=lambda i: {"NPKT": 8, "NDROP": 8 * (i == 3), "DROPSTAT": "'1/8'"})
    found, *_, gaps = voltages("ignored", path, {"format": "guppi", "dropped": "ignore"})
    same(found[0, 0], np.moveaxis(volts[0], -1, 0), "dropped: ignore reads all blocks")
    ok(len(gaps) == 0, "and finds no gaps")
    try:
        voltages("contradicts", path)
        ok(False, "DROPSTAT and NDROP that differ")
    except Failed as error:
        ok("says DROPSTAT = 1/8, but NDROP = 0" in str(error), "DROPSTAT and NDROP that differ", error)
    torn = put("torn.raw", whole(write_guppi(scratch("torn.raw"), volts, 8, 64, PKTSIZE=64, by_block=lambda i: {"NPKT": 6, "NDROP": 2}))[:-300])
    job = {"input": {"files": torn}, "channelise": {"channels": 16, "taps": 4}, "run": {"on_bad": "nan"},
           "products": [{"kind": "power", "file": "torn.h5", "weights": "raw", "min_weight": 0}]}
    voltmill("run", "--force", write_yaml("torn.yaml", job))
    with h5py.File(scratch("torn.h5")) as file:
        kept = kept_of(np.repeat([0.75, 0], [11 * 64, 64]), file["coefficients"][...].astype("f8").ravel(), 1)
        ok(np.abs(file["weights"][...] - kept[:, None, None]).max() < 2.0 ** -20, "what cannot be read is lost once, whatever packets it lacks")
    for axis, stokes in ("chan", 1), ("pol", 0):  # two nodes that lost packets of their own
        parts = [make(8, False, 1, 2 if axis == "pol" else 1, 12 * 64, 1 if axis == "pol" else 2) for _ in range(2)]
        files = [write_guppi(scratch(f"node{k}.raw"), part, 8, 64, PKTSIZE=part[0, :, 0].size * 16, OBSFREQ=1400.0 + k * stokes,
                             by_block=lambda i: {"NPKT": 6 - 2 * k, "NDROP": 2 + 2 * k}) for k, part in enumerate(parts)]
        job = {"input": {"files": files, "layout": {"format": "guppi", "files_along": axis}}, "channelise": {"channels": 16, "taps": 4},
               "products": [{"kind": "power", "file": "nodes.h5", "polarisation": "IQUV", "feed": "linear"},
                            {"kind": "power", "file": "each.h5"}]}
        voltmill("run", "--force", write_yaml("nodes.yaml", job))
        with h5py.File(scratch("each.h5")) as each, h5py.File(scratch("nodes.h5")) as nodes:
            expected = np.array([[0.75, 0.5], [0.75, 0.5]]) if axis == "chan" else np.array([[0.75, 0.75], [0.5, 0.5]])
            same(each["weights"][0].astype("f8"), expected, f"nodes along {axis}: each has the weights of its file")
            same(nodes["weights"][0].astype("f8"), np.full((4, 2), [0.75, 0.5] if stokes else 0.375),
                 f"nodes along {axis}: polarisations of one file lack the same, of two files at random")
    # Voltages have no weights: whoever makes them is told how many samples are concerned.
    path = write_guppi(scratch("some.raw"), volts, 8, 64, PKTSIZE=64, by_block=lambda i: {"NPKT": 8 - (i < 3), "NDROP": int(i < 3)})
    def unweighed(what, command="run", **input):
        job = {"input": {"files": path, **input}, "products": [{"kind": "voltages", "file": f"{what}.h5"}]}
        words = ["import", "-o", f"{what}.h5", path] if command == "import" else [command, write_yaml("some.yaml", job)]
        said = voltmill(*words).split(f"warning: {what}.h5: ")[1:]
        return [line.split("\n")[0] for line in said]

    for what, samples, how in (("run", 192, {}), ("plan", 192, {"command": "plan"}), ("select", 92, {"select": {"samples": [100, 500]}}),
                               ("import", 192, {"command": "import"}), ("ignore", 0, {"layout": {"format": "guppi", "dropped": "ignore"}})):
        same(unweighed(what, **how), [f"{samples} samples of blocks that lack packets are written as stored: voltages have no weights"]
             if samples else [], f"no weights: {what}")
    found, *_ = voltages("some", path)
    imported, *_ = voltages("again", scratch("import.h5"))
    same(found[0, 0], np.moveaxis(volts[0], -1, 0), "no weights: the samples are those of the file")
    same(imported, found, "no weights: and those of the import")
    path = write_guppi(scratch("all.raw"), volts, 8, 64, PKTSIZE=64, by_block=lambda i: {"NPKT": 0, "NDROP": 8})
    files = [write_guppi(scratch("next.raw"), volts, 8, 64, first=12 * 64, PKTSIZE=64), path]
    guppi_is("a file of which no packet came", files, np.concatenate([volts, volts], axis=2),
             "12 of 12 blocks lack all of their packets", [(0, 12 * 64)])


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
    groups = random.integers(-128, 128, (500, 2, 4)).astype("i1")  # heap, pol, time
    caspsr = dict(INSTRUMENT="CASPSR", NBIT=8, NDIM=1, NPOL=2, NCHAN=1, BW=-4.0, TSAMP=0.125)
    found, *_ = voltages("heaps", write_dada(scratch("caspsr.dada"), groups.tobytes(), **caspsr))
    same(found[0, 0, :, 0], np.moveaxis(groups, 0, 1).reshape(2, -1).astype("f8"), "CASPSR: four samples of each polarisation in turn")
    found, *_ = voltages("heaps", write_dada(scratch("caspsr.dada"), groups.tobytes(), ORDER="TFP", **caspsr))
    same(found[0, 0, :, 0], groups.reshape(-1, 2).T.astype("f8"), "CASPSR with ORDER: as that says")
    found, *_ = voltages("heaps", write_dada(scratch("kpsr.dada"), volts.reshape(20, 4, 128, 2).tobytes(), INSTRUMENT="KPSR", NBIT=8, NDIM=2, NPOL=1,
                                             NCHAN=4))
    expected = np.moveaxis(volts.reshape(20, 4, 128, 2), 0, 1).reshape(4, -1, 2).astype("f8")
    same(found[0, 0, 0], expected[..., 0] + 1j * expected[..., 1], "KAT-7: heaps of 128 samples")
    mock_dada_instruments()
    packed = random.integers(0, 256, 600, dtype="u1")  # EDA (MWA): offset binary, a polarisation in each half of a byte
    for more, offset in ({}, 8), ({"INSTRUMENT": "OTHER"}, 0), ({"ENCODING": "TWOSCOMPLEMENT"}, 0):
        path = write_dada(scratch("eda.dada"), packed.tobytes(), **{"INSTRUMENT": "EDA", "NBIT": 4, "NDIM": 1, "NPOL": 2, "NCHAN": 1, "TSAMP": 0.125,
                                                                    **more})
        both = np.array([packed & 15, packed >> 4]).astype("f8")
        same(voltages("eda", path)[0][0, 0, :, 0], both - 8 if offset else both - 16 * (both > 7), f"EDA's 4 bits, {more}")
    mock_dada_upm()
    mock_dada_lump()
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
    for path in files:
        with open(path, "r+b") as file:
            head = file.read(4096)
            file.seek(0)
            file.write(head.replace(b"UTC_START", b"#TC_START"))
    found, _, _, _, gaps = voltages("parts", files[::-1])
    same(found[0, 0, :, 0], (whole[..., 0] + 1j * whole[..., 1])[:, 0].T, "also if no UTC_START says when it began")
    same(gaps, [[160, 20]], "and what lies between them then")
    mock_dada_overlap()
    mock_dada_edge()
    mock_dada_several()
    mock_dada_frames()
    mock_dada_spelling()


def mock_dada_instruments():
    """Heaps, and offset binary, by INSTRUMENT (dspsr's unpackers): heaps of `axes` and their sizes."""
    sizes = {"p": 2, "c": 6}

    def write(name, axes, steps, kind, **words):
        numbers = random.integers(-100, 100, [4, *(sizes.get(axis, steps) for axis in axes), 2]).astype(kind)
        found = np.transpose(numbers.astype("f8"), (1 + axes.index("p"), 1 + axes.index("c"), 0, 1 + axes.index("t"), 4))
        found = found.reshape(2, sizes["c"], -1, 2)
        stored = numbers.view("u2") ^ 0x8000 if words.pop("offset", 0) else numbers
        path = write_dada(scratch("one.dada"), stored.tobytes(), INSTRUMENT=name, NDIM=2, NPOL=2, NCHAN=sizes["c"], NBIT=8 * numbers.itemsize,
                          TSAMP=sizes["c"] / 4, **words)
        return path, found[..., 0] + 1j * found[..., 1]

    def check(name, axes, steps, kind, told, **words):
        path, expected = write(name, axes, steps, kind, **words)
        found, *_ = voltages("one", path)
        same(found[0, 0], expected, f"INSTRUMENT {name} {words}, {kind}: [heap] and {axes}")
        ok(told in assumed("one"), f"{name} says: {told}", assumed("one"))

    check("MeerKAT", "pct", 256, "i1", "ENCODING is not there: numbers are two's complement")
    check("LowCBF", "cpt", 32, "i2", "the scales of packets, and which were lost", UDP_NSAMP=32, UDP_NCHAN=3)
    check("MidCBF", "cpt", 4, "i1", "the scales of packets, and which were lost", UDP_NSAMP=4, UDP_NCHAN=6)
    check("LFAASP", "ctp", 2048, "i1", "")
    check("BOREAS", "cpt", 384, "f4", "")
    sizes["c"] = 1
    for name in "UWB", "Medusa", "Apollo":
        check(name, "cpt", 2048, "i2", "ENCODING is not there: numbers are offset binary, as its INSTRUMENT writes them", offset=1)
    check("Medusa", "cpt", 2048, "i2", "", offset=1, ORDER="SFPT", ENCODING="OFFSETBINARY")
    check("Medusa", "tcp", 64, "i1", "DAT_SCL_0_0 = 0.5 and further scales and offsets of the header are not applied", DAT_SCL_0_0=0.5)
    check("Medusa", "tcp", 64, "f4", "", ORDER="TFPS")
    sizes["p"] = 1
    path = write_dada(scratch("one.dada"), (np.arange(2048, dtype="u2") ^ 0x8000).tobytes(), INSTRUMENT="UWB", NDIM=2, NPOL=1, NCHAN=1, NBIT=16,
                      TSAMP=0.25)
    same(voltages("one", path)[0].astype("c16").view("f8").ravel(), np.arange(2048), "UWB of one polarisation: offset binary, too")
    sizes.update(p=2, c=6)
    for name, kind, words, told in (("APSR", "i1", {}, "in blocks of a length that the header does not state"),
                                    ("UWB", "f4", {}, "in blocks of a length that the header does not state"),
                                    ("MKBFRo", "i1", {}, "pairs of its samples or channels are interleaved, which is not read"),
                                    ("MidCBF", "i2", {}, "has no UDP_NSAMP"),
                                    ("LowCBF", "i2", {"PACKET_WEIGHTS_SIZE": 48, "UDP_NSAMP": 32}, "the weights of packets, no voltages")):
        said = voltmill("info", write(name, "cpt", 32, kind, **words)[0], status=4)
        ok(told in said, f"INSTRUMENT {name} {words} is refused", said)


def mock_dada_upm():
    """LOFAR's udpPacketManager: 4 times 160 time steps of 6 channels as its modes store them, all named CASPSR."""
    volts = random.integers(-100, 100, (4, 160, 6, 2, 2)).astype("i1")
    blocks = np.transpose(volts, (0, 2, 1, 3, 4))
    packets = np.transpose(volts.reshape(-1, 16, 6, 2, 2), (0, 2, 1, 3, 4))
    expected = np.transpose(volts.reshape(-1, 6, 2, 2), (2, 1, 0, 3)).astype("f8")
    expected = expected[..., 0] + 1j * expected[..., 1]

    def write(name, stored, mode, number=0, **words):
        words = {"NBIT": 8, "NDIM": 2, "NPOL": 2, "NCHAN": 6, "BW": 6.0, "STATE": "Analytic", f"UPM_OUTPFMT{number}": mode, "UPM_PKTPERITR": 10,
                 **words}
        return write_dada(scratch(name), np.ascontiguousarray(stored).tobytes(), 1000, INSTRUMENT="CASPSR", **words)

    for mode, stored, words in (("FREQ-POS-XrXiYrYi", volts, {}), ("FREQ-NEG-XrXiYrYi", volts[:, :, ::-1], {"BW": -6.0}),
                                ("TIME-XrXiYrYi", blocks, {}), ("PKT-XrXiYrYi", packets, {})):
        found, freq, *_ = voltages("upm", write("upm.dada", stored, mode, **words))
        same(found[0, 0], expected, f"udpPacketManager's {mode}: channels reversed, not what is in them")
        same(freq, 1281.5e6 + 1e6 * np.arange(6), f"udpPacketManager's {mode}: frequencies")
        ok("ORDER is not there" not in assumed("upm"), f"udpPacketManager's {mode} says the order", assumed("upm"))
    for kind, bits in ("i1", 8), ("f4", 32):
        both = [write(f"upm{pol}.dada", blocks[:, :, :, pol].astype(kind), f"{'XY'[pol]}r{'XY'[pol]}i-TIME", pol, NPOL=1, NBIT=bits)
                for pol in (0, 1)]
        same(voltages("upm", both, {"files_along": "pol"})[0][0, 0], expected, f"udpPacketManager's polarisations side by side, {bits} bits")
    parts = [write(f"upm{i}.dada", blocks[..., i // 2, i % 2], f"{'XY'[i // 2]}{'ri'[i % 2]}-TIME", i, NPOL=1, NDIM=1) for i in range(4)]
    said = voltmill("info", parts[0], status=4)
    recipe = 'format: raw, skip: 1000, type: i8, axes: "time,chan:6,time:160", files_along: "pol,reim"'
    ok(recipe in said, "udpPacketManager's parts are told with a recipe", said)
    found, *_ = voltages("upm", parts, {"format": "raw", "skip": 1000, "type": "i8", "axes": "time,chan:6,time:160", "files_along": "pol,reim",
                                        "sample_rate_hz": 1e6, "freq_hz": {"start": 1281.5e6, "step": 1e6}})
    same(found[0, 0], expected, "the recipe reads them")
    said = voltmill("info", write("upm.dada", volts, "PKT-HDR-XrXiYrYi"), status=4)
    ok("packets have headers between their samples" in said, "udpPacketManager's whole packets are refused", said)


def mock_dada_lump():
    """LuMP of LOFAR's stations: the first sample is behind UTC_START, and not all subbands of NCHAN are written."""
    volts = random.integers(-100, 100, (300, 4, 2, 2)).astype("<i2")
    expected = np.transpose(volts.astype("f8"), (2, 1, 0, 3))
    expected = expected[..., 0] + 1j * expected[..., 1]

    def write(name, numbers, **words):
        channels = numbers.shape[1]
        words = {"NBIT": 16, "NDIM": 2, "NPOL": 2, "NCHAN": channels, "BW": float(channels), "STATE": "Analytic", "ENDIAN": "LITTLE",
                 "BINARY_FORMAT": "INTEGER_BIN_FORM", "UTC_START": "2013-07-02-01:37:40", "MJD_START": "56475.067824074074",
                 "UTC_REFERENCE_TIME_T": "0x51D22E94", "UTC_OFFSET_START_LEADING": "%.17E" % (12.5 - 0.5e-6), "LUMP_VERSION": 2,
                 "FILE_SIZE": 4096 + numbers.nbytes, "NCHAN_RECORDED": channels, **words}
        return write_dada(scratch(name), numbers.tobytes(), **words)

    found, freq, start, *_ = voltages("lump", write("lump.raw", volts))
    same(found[0, 0], expected, "LuMP: samples")
    ok(start[0] == 56475 and abs(start[1] - (5872.5 - 0.5e-6)) < 1e-9, "LuMP: the start is UTC_OFFSET_START_LEADING behind UTC_START", start)
    ok("ENCODING" not in assumed("lump"), "LuMP says how numbers are stored", assumed("lump"))
    some = write("lump.raw", volts, NCHAN=9, BW=9.0)
    said = voltmill("info", some, status=4)
    ok("contains 4 subbands (NCHAN_RECORDED) of NCHAN = 9: input.layout.freq_hz" in said, "LuMP's subbands with others between", said)
    bands = [140e6, 141e6, 143e6, 148e6]
    found, freq, *_ = voltages("lump", some, {"freq_hz": bands})
    same(found[0, 0], expected, "LuMP's subbands at given frequencies")
    same(freq, np.array(bands), "LuMP's subbands at given frequencies: these")
    said = voltmill("info", write("lump.raw", volts.astype("<f2"), BINARY_FORMAT="IEEE_FLOAT"), status=4)
    ok("BINARY_FORMAT = IEEE_FLOAT of 16 bits" in said, "LuMP's short floating point is no integer", said)
    files = [write(f"lump{i}.raw", volts[:, i:i + 1], FREQ=1282.5 + i) for i in range(4)]
    said = voltmill("info", *files, status=4)
    ok("input.layout.files_along: chan joins neighbouring bands" in said, "a file for each subband: how they are joined", said)
    found, freq, *_ = voltages("lump", files, {"files_along": "chan"})
    same(found[0, 0], expected, "a file for each subband, joined")
    said = voltmill("info", files[0], write("lump1.raw", volts[:, :1], FREQ=1282.5), status=4)
    ok("must not overlap; input.layout.files_along joins those of several beams" in said, "two files of one time: how they are joined", said)


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
    for begin in 250, 300:
        after = [files[0], write_dada(scratch("after.dada"), volts[begin:].tobytes(), OBS_OFFSET=4 * begin, **words)]
        found, *_, gaps = voltages("after", after)
        expected = np.where((np.arange(700) >= 250) & (np.arange(700) < begin), 0, whole)
        same(found[0, 0, :, 0], expected, "a next file that repeats nothing: the end of the one before is there")
        same(gaps.reshape(-1, 2), [[250, begin - 250]] if begin > 250 else np.zeros((0, 2)), "and only what lies between is a gap")
        ok("50 samples should be repeated by the next file, 0 are" in assumed("after"), "and is said", assumed("after"))
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


def mock_dada_several():
    """Samples of several antennas or beams are refused: by ORDER (MOPSR), by BYTES_PER_SECOND; a beam may name its antennas."""
    words = {"NBIT": 8, "NDIM": 2, "NPOL": 2, "NCHAN": 4}
    second = 16 * 10 ** 6
    payload = random.integers(-100, 100, (300, 4, 2, 2)).astype("i1").tobytes()
    for name, said, more in (("TFS", "NANT = 3, whose samples stand side by side (TFSP)", {"NANT": 3, "ORDER": "TFSP"}),
                             ("rate", "NSTATION = 5, whose samples stand side by side (BYTES_PER_SECOND)", {"NSTATION": 5, "BYTES_PER_SECOND": 5 * second}),
                             ("beams", "NBEAM = 2, whose samples", {"NBEAM": 2, "BYTES_PER_SECOND": 2.0 * second}),
                             ("A", "ORDER = TAFTP, expected", {"NANTS": 4, "ORDER": "TAFTP"})):
        out = voltmill("info", write_dada(scratch("several.dada"), payload, **words, **more), status=4)
        ok(said in out and "input.layout {format: raw, skip: 4096" in out, f"several streams, {name}: refused", out)
    for more in ({"NANTS": 4, "BYTES_PER_SECOND": second}, {"NSTATION": 5, "BYTES_PER_SECOND": 4 * second}, {"NBEAM": 7}, {"NANT": 1, "ORDER": "TFSP"}):
        voltages("several", write_dada(scratch("several.dada"), payload, **words, **more))
        ok("read as those of one stream" in assumed("several") or more.get("NANT") == 1, f"a beam of antennas, {more}", assumed("several"))


def mock_dada_frames():
    """VDIF frames behind a header of PSRDADA, as VLITE's ring buffers have them, are no samples."""
    bodies = random.integers(0, 256, (40, 2, 504), dtype="u1")
    frames = b"".join(vdif_frame(bodies[i, thread].tobytes(), 1000 + i // 16, i % 16, thread) for i in range(40) for thread in (0, 1))
    words = {"NBIT": 8, "NDIM": 1, "NPOL": 2, "NCHAN": 1, "BW": -64.0, "TSAMP": 0.0078125}
    path = write_dada(scratch("frames.dada"), frames, **words)
    out = voltmill("info", path, status=4)
    ok("followed by VDIF frames of 536 bytes" in out and "input.layout {format: vdif}" in out, "VDIF frames in PSRDADA: refused", out)
    found, *_ = voltages("frames", path, {"format": "vdif", "sample_rate_hz": 8064})
    same(found[0, 0, :, 0], bodies.swapaxes(0, 1).reshape(2, -1) - 127.5, "and read as VDIF")
    found, *_ = voltages("frames", write_dada(scratch("samples.dada"), frames[1:], **words))
    same(found[0, 0, :, 0], np.frombuffer(frames[1:-1], "i1").reshape(-1, 2).T, "samples that are no frames from the first on")


def mock_dada_spelling():
    """Words as some writers spell them: NBIT -32, keys in lower case, OS_FACTOR with a colon."""
    numbers = random.normal(0, 1000, (300, 4, 2, 2)).astype("f4")
    expected = np.transpose(numbers.astype("f8"), (2, 1, 0, 3))
    expected = expected[..., 0] + 1j * expected[..., 1]
    words = {"NDIM": 2, "NPOL": 2, "NCHAN": 4}
    path = write_dada(scratch("minus.dada"), numbers.tobytes(), NBIT=-32, **words)
    found, *_ = voltages("minus", path)
    same(found[0, 0], expected, "PSRDADA, NBIT -32: floating point")
    ok("NBIT = -32" in assumed("minus"), "and the product says so", assumed("minus"))
    path = write_dada(scratch("lower.dada"), numbers.tobytes(), NBIT=32, OBS_OFFSET=3 * 64, **words)
    data = whole(path)
    put("lower.dada", data[:4096].lower(), data[4096:])
    found, freq, start, *_ = voltages("lower", path)
    same(found[0, 0], expected, "keys in lower case: every sample")
    ok(freq[0] == 1282.5e6 and abs(start[1] - 14706.000003) < 1e-9, "band and start", freq, start)
    ok("nbit" in assumed("lower") and "obs_offset" in assumed("lower"), "and the product says so", assumed("lower"))
    for factor in "32/27", "32:27", "1.185185":
        path = write_dada(scratch("over.dada"), numbers.tobytes(), NBIT=32, OS_FACTOR=factor, TSAMP=27 / 32, **words)
        voltages("factor", path)
        with h5py.File(scratch("factor.h5")) as file:
            attrs = file["voltages"].attrs
            ok((attrs["oversampling_num"], attrs["oversampling_den"]) == (32, 27), f"OS_FACTOR {factor}", dict(attrs))
    path = write_dada(scratch("offset.dada"), numbers.tobytes(), NBIT=32, OFFSET=6400, **words)
    data = whole(path)
    put("offset.dada", data[:4096].replace(b"OBS_OFFSET 0", b"NO_OFFSET_ 0"), data[4096:])
    start = voltages("offset", path)[2]
    ok(abs(start[1] - 14706.0001) < 1e-9 and "OFFSET is used" in assumed("offset"), "OFFSET without OBS_OFFSET", start, assumed("offset"))
    data = whole(path)
    put("offset.dada", data[:4096].replace(b"FREQ 1284.0", b"CFREQ 999.0").replace(b"BW 4.0", b"WW 4.0"), data[4096:])
    found, freq, *_ = voltages("offset", path, {"freq_hz": {"start": 1e9, "step": 1e6}})
    ok(np.array_equal(found[0, 0], expected) and freq[3] == 1.003e9, "frequencies by the job, without FREQ and BW", freq)
    one = random.normal(0, 1000, (300, 2)).astype("f4")
    path = write_dada(scratch("few.dada"), one.tobytes(), NBIT=32, NDIM=2, NPOL=1, BW=56.0, TSAMP="0.017857")  # vrt-iq-tools
    found, *_, rate, _ = voltages("few", path)
    ok(np.array_equal(found[0, 0, 0, 0], one.astype("f8") @ [1, 1j]) and abs(rate - 1e6 / 0.017857) < 1, "PSRDADA without NCHAN", rate)
    ok("NCHAN is not there: 1" in assumed("few") and "TSAMP makes a rate of 1.000008 times that of BW" in assumed("few"),
       "and a TSAMP that was rounded: told", assumed("few"))
    path = write_dada(scratch("few.dada"), one.tobytes(), NBIT=32, NPOL=1, BW=2.0, TSAMP=0.25)
    found, *_ = voltages("few", path)
    ok(np.array_equal(found.ravel(), one.ravel().astype("f8")) and "NDIM is not there: 1" in assumed("few"), "PSRDADA without NDIM",
       assumed("few"))
    data = whole(path)
    put("few.dada", data[:4096].replace(b"TSAMP", b"#SAMP").replace(b"FREQ", b"#REQ").replace(b"BW", b"#W"), data[4096:])
    found, *_, rate, _ = voltages("few", path, {"sample_rate_hz": 3e6, "freq_hz": 1e9})
    ok(np.array_equal(found.ravel(), one.ravel().astype("f8")) and rate == 3e6, "rate and frequency by the job alone", rate)
    path = write_dada(scratch("leda.dada"), one.tobytes(), NBIT=32, NDIM=2, NPOL=1, NCHAN=4, NSTATION=256, BYTES_PER_AVG=115187712)
    ok("it contains correlations of several stations" in voltmill("info", path, status=4), "LEDA's correlations are refused")
    for bits in -16, -8, 3, 64:
        path = write_dada(scratch("bits.dada"), numbers.tobytes(), NBIT=bits, **words)
        said = voltmill("info", path, status=4)
        ok(f"NBIT = {bits}, expected" in said, f"NBIT {bits} is refused by name", said)


mock_guppi()
mock_guppi_packets()
mock_guppi_beams()
mock_guppi_vdif()
mock_guppi_rounded()
mock_guppi_damage()
mock_guppi_dropped()
mock_dada()
if os.path.isdir(HERE):
    real_files()
    if not dada:
        note("SKIP the public package baseband is not installed: real files are compared to readers of this test alone")
else:
    note(f"SKIP {HERE} is absent")
finish()
