"""Facts that one header states twice, or that leave a part of a file unread: an error that names both, or `assumed:`."""
import h5py
import numpy as np

from common import finish, ok, scratch, voltmill, write_yaml, yaml
from mocks import filterbanks, packets, recorders

rng = np.random.default_rng(5)
samples = rng.integers(-20, 20, (4000, 2, 2, 2)).astype("i1")
DADA = dict(NBIT=8, NDIM=2, NPOL=2, NCHAN=2, BW=2.0)


def changed(name, old, new):
    with open(scratch(name), "rb") as file:
        data = file.read()
    with open(scratch(name), "wb") as file:
        file.write(data.replace(old, new))


def refused(what, name, *words):
    said = voltmill("info", scratch(name), status=4)
    ok(said.count("error: ") == 1 and all(word in said for word in words), f"{what}: refused with both", said)


def apart(what, names, *words):
    said = voltmill("info", *(scratch(name) for name in names.split()), status=4)
    ok(said.count("error: ") == 1 and all(word in said for word in words), f"{what}: files refused with both", said)


def assumed(what, names, *words):
    said = voltmill("info", *(scratch(name) for name in names.split()))
    ok(any(all(word in line for word in words) for line in said.splitlines() if "assumed:" in line), f"{what}: assumed",
       said)


def volts(*shape):
    return np.rint(rng.standard_normal(shape) * 3) + 1j * np.rint(rng.standard_normal(shape) * 3)


recorders.write_guppi(scratch("twice.raw"), volts(1, 2, 2048, 2), 8, 256)
end = b"END" + b" " * 77
changed("twice.raw", end, recorders.card("OBSFREQ", 1500.0) + end)
refused("a card of GUPPI RAW", "twice.raw", "OBSFREQ = 1400", "OBSFREQ = 1500")
recorders.write_guppi(scratch("texts.raw"), volts(1, 2, 2048, 2), 8, 256)
changed("texts.raw", end, recorders.card("PKTFMT", "'SIMPLE'") + end)
refused("a text of GUPPI RAW", "texts.raw", "PKTFMT = 1SFA", "PKTFMT = SIMPLE")

for key, values in ("SRC_NAME", "AB"), ("TELESCOP", ["GBT", "ATA"]), ("FD_POLN", ["LIN", "CIRC"]):
    recorders.write_guppi(scratch("moved.raw"), volts(1, 2, 2048, 2), 8, 256, by_block=lambda i: {key: values[i > 3]})
    assumed(f"{key} of GUPPI RAW that changes", "moved.raw", f"{key} is {values[0]}", "changes later")

recorders.write_guppi(scratch("bits.raw"), volts(1, 2, 2048, 2), 4, 256, NBITS=8)
assumed("NBITS that makes samples of several packets", "bits.raw", "PIPERBLK 256", "128 new samples", "NBITS", "2 packets")
recorders.write_guppi(scratch("zero.raw"), volts(1, 2, 2048, 2), 8, 256, STT_IMJD=0, STT_SMJD=0, STT_OFFS=0.0)
assumed("a start of GUPPI RAW that was never set", "zero.raw", "STT_IMJD = 0", "unknown")
filterbanks.write_fil(scratch("jd.fil"), np.ones((640, 1, 32), "u1"), 8, tstart=2458000.5)
assumed("a Julian Date as tstart", "jd.fil", "tstart is 2458000.5", "unknown")

for real, said, step, words, more in (
        (32, 16, 256, ("OVERLAP = 16 leaves 272 of 288", "PKTIDX says", "256 samples"), {"PIPERBLK": None}),
        (32, 0, 16, ("OVERLAP = 0 leaves 288 of 288", "PKTIDX and PKTSIZE say", "256 samples"), {"PIPERBLK": None, "PKTSIZE": 128}),
        (0, 128, 256, ("OVERLAP = 128 leaves 128 of 256", "PIPERBLK and PKTIDX say", "256 packets"), {}),
        (0, 32, 16, ("OVERLAP = 32 leaves 224 of 256", "PKTSIZE, PIPERBLK and PKTIDX say", "256 samples"),
         {"PIPERBLK": 16, "PKTSIZE": 128}),
        (0, 32, 16, ("OVERLAP 32", "14 samples", "PIPERBLK 16", "16 without"), {"PIPERBLK": 16})):
    recorders.write_guppi(scratch("overlap.raw"), volts(1, 2, 2048 + real, 2), 8, 256, real, OVERLAP=said,
                          by_block=lambda i, step=step: {"PKTIDX": step * i}, **more)
    (refused if words[0].startswith("OVERLAP =") else assumed)(f"OVERLAP {said} of {real}, PKTIDX by {step}", "overlap.raw",
                                                               *words)
    told = voltmill("info", recorders.write_guppi(
        scratch("overlap.raw"), volts(1, 2, 2048 + real, 2), 8, 256, real,
        by_block=lambda i, step=step: {"PKTIDX": step * i}, **more))
    ok(f"{2048 + real:,} at 1 MHz" in told and "OVERLAP" not in told, "and with the right OVERLAP it is read", told)
for mhz, words in ((0.43, ("OBSFREQ = 0.43 MHz", "OBSBW = 2 MHz", "0 Hz")), (-1400.0, ("OBSFREQ = -1400 MHz", "0 Hz")),
                   (4e8, ("OBSFREQ = 400000000 MHz", "Hz?"))):
    recorders.write_guppi(scratch("band.raw"), volts(1, 2, 2048, 2), 8, 256, OBSFREQ=mhz)
    refused(f"OBSFREQ {mhz}", "band.raw", *words, "freq_hz")
    recorders.write_dada(scratch("band.dada"), samples.tobytes(), FREQ=mhz, **DADA)
    refused(f"FREQ {mhz}", "band.dada", *(word.replace("OBS", "") for word in words), "freq_hz")
job = {"input": {"files": scratch("band.raw"), "layout": {"freq_hz": [400e6, 401e6]}},
       "channelise": {"channels": 16, "taps": 4}, "products": [{"kind": "power", "file": "band.h5"}]}
voltmill("run", write_yaml("band.yaml", job))
with h5py.File(scratch("band.h5")) as file:
    ok(file["frequency"][0] == 399.5e6, "freq_hz goes before OBSFREQ", file["frequency"][:2])
recorders.write_guppi(scratch("ghz.raw"), volts(1, 2, 2048, 2), 8, 256, OBSFREQ=8.4)
assumed("OBSFREQ that may be in GHz", "ghz.raw", "OBSFREQ = 8.4", "MHz")
recorders.write_dada(scratch("ghz.dada"), samples.tobytes(), FREQ=8.4, **DADA)
assumed("FREQ that may be in GHz", "ghz.dada", "FREQ = 8.4", "MHz")

recorders.write_dada(scratch("twice.dada"), samples.tobytes(), **DADA)
with open(scratch("twice.dada"), "rb") as file:
    data = file.read()
with open(scratch("twice.dada"), "wb") as file:
    file.write(data.replace(b"\0" * 40, b"FREQ 1500.0\n".ljust(40, b"\0"), 1))
refused("a word of PSRDADA", "twice.dada", "FREQ = ", "FREQ = 1500.0")
for key, one, other in ("UTC_START", "2020-02-03-04:05:06", "2020-02-03-04:05:07"), ("ORDER", "TFP", "TPF"), ("ENDIAN", "LITTLE", "BIG"):
    recorders.write_dada(scratch("texts.dada"), samples.tobytes(), **DADA, **{key: f"{one}\n{key} {other}"})
    refused(f"{key} of PSRDADA", "texts.dada", f"{key} = {one}", f"{key} = {other}")
for order in ("ST", "TS", "STF", "STFP"):
    recorders.write_dada(scratch("order.dada"), samples.tobytes(), ORDER=order, **DADA)
    refused(f"ORDER {order} of two channels and polarisations", "order.dada", f"ORDER = {order}", "2 channels")
recorders.write_dada(scratch("ant.dada"), samples.tobytes(), NANT=2, **DADA)
assumed("several antennas of PSRDADA", "ant.dada", "NANT = 2")
for i, (source, ra) in enumerate((("A", "01:02:03"), ("B", "01:03:03"))):
    recorders.write_dada(scratch(f"source{i}.dada"), samples.tobytes(), SOURCE=source, RA=ra, DEC="10:00:00",
                         OBS_OFFSET=32000 * i, **DADA)
    recorders.write_guppi(scratch(f"source{i}.raw"), volts(1, 2, 2048, 2), 8, 256, first=2048 * i, SRC_NAME=f"'{source}'",
                          RA_STR=f"'{ra}'", DEC_STR="'10:00:00'")
for kind in "dada", "raw":
    assumed(f"two sources of {kind}", f"source0.{kind} source1.{kind}", f"source1.{kind}: source B and A")
    assumed("and two positions", f"source0.{kind} source1.{kind}", "(15.7625, 10 degrees)", "(15.5125, 10)")
for word, value, *words in (("BW", -2.0, "sideband +1", "sideband -1"), ("NBIT", 16, "8 bit complex", "16 bit complex"),
                            ("DSB", 0, "0 Hz at the centre", "0 Hz at the edge"), ("ORDER", "TPF", "[time][chan][pol]", "[time][pol][chan]"),
                            ("ENCODING", "OFFSETBINARY", "offset 0", "offset 128")):
    recorders.write_dada(scratch("source1.dada"), samples.tobytes(), **{**DADA, "OBS_OFFSET": 32000, word: value})
    apart(f"{word} {value} of the second file", "source0.dada source1.dada", *words)
for word, value, *words in (("NBITS", 4, "8 bit complex", "4+4 bit complex"), ("FD_POLN", "'CIRC'", "no names", "pol R L"),
                            ("PKTFMT", "'SIMPLE'", "[chan][time][pol]", "[time][chan][pol]")):
    recorders.write_guppi(scratch("source1.raw"), volts(1, 2, 2048, 2), 8, 256, first=2048, **{word: value})
    apart(f"{word} {value} of the second file", "source0.raw source1.raw", *words)
recorders.write_dada(scratch("pico.dada"), samples.tobytes(), PICOSECONDS=5 * 10**11,
                     UTC_START="2020-02-03-04:05:06", MJD_START="58882.1702083333333", **DADA)
assumed("MJD_START beside PICOSECONDS", "pico.dada", "MJD_START", "PICOSECONDS")
recorders.write_dada(scratch("day.dada"), samples.tobytes(), UTC_START="2020-02-03", **DADA)
assumed("a day as UTC_START", "day.dada", "UTC_START = 2020-02-03 has no time of day", "00:00:00")

with open(scratch("stray.vdif"), "wb") as file:
    for i in range(90):
        file.write(packets.vdif_frame(rng.bytes(128), 1000 + i // 40, i % 40, thread=7 * (i == 50)))
out = voltmill("info", scratch("stray.vdif"))
ok("streams       1:" in out and "is of thread 7, which none" in out and "it is left out" in out, "a single frame of another thread is damaged", out)
with open(scratch("apart.dat"), "wb") as file:
    for time in range(16):
        for stream in range(4):
            file.write(packets.drx_packet(rng.bytes(4096), time, stream, tuning=(1 << 30) << (stream % 2)))
refused("DRX polarisations tuned apart", "apart.dat", "49.0", "98.0", "freq_hz")
for off in 0, 1:
    with open(scratch("off.dat"), "wb") as file:
        for time in range(16):
            for stream in range(4):
                file.write(packets.drx_packet(rng.bytes(4096), time, stream, tuning=(1 << 30) * (stream // 2 != off)))
    assumed(f"a tuning {off + 1} of DRX that is off", "off.dat", "tuned to 0 Hz", "freq_hz")

stored = rng.integers(0, 255, (20, 64, 1, 32)).astype("u1")
ones = np.ones((20, 1, 32))
filterbanks.write_fits(scratch("two.fits"), stored, 8, ones, ones * 0, ones[:, 0], 64 * np.arange(20))
with open(scratch("two.fits"), "rb") as file:
    data = file.read()
with open(scratch("two.fits"), "wb") as file:
    file.write(data + data[data.rindex(b"XTENSION"):])
assumed("a second table SUBINT", "two.fits", "SUBINT")


with h5py.File(scratch("axes.h5"), "w") as file:
    file.attrs.update({"CLASS": "FILTERBANK", "VERSION": "1.0"})
    data = file.create_dataset("data", data=np.ones((640, 32, 1), "f4"))
    data.attrs.update({"fch1": 400.0, "foff": -1.0, "tsamp": 1e-3, "tstart": 58849.0, "nchans": 32, "nifs": 1, "nbits": 32})


def described(what, starts, unit=None, status=0, said=(), **layout):
    """Two files of 4 s, and the starts that they state; `plan` prints `said`."""
    for i, start in enumerate(starts):
        with h5py.File(scratch(f"part{i}.h5"), "w") as file:
            file["x"] = np.ones((4000, 2), "i1")
            file.attrs["began"] = start
    start = {"attribute": "/@began", **({"unit": unit} if unit else {})}
    job = {"input": {"files": ["part0.h5", "part1.h5"],
                     "layout": {"dataset": "/x", "axes": "time,reim", "sample_rate_hz": 1000.0, "freq_hz": [1e9], "start": start,
                                **layout}},
           "channelise": {"channels": 16, "taps": 4}, "products": [{"kind": "power", "file": "out.h5", "integrate": 4}]}
    out = voltmill("plan", write_yaml("starts.yaml", job), status=status)
    ok(all(word in out for word in said) and out.count("error: ") == (status > 0), what, out)


DAY, FOUR = "2020-01-01T00:00:00", 4 / 86400
FOLLOW, BOTH = ["4,000 samples from 4,000 on"], ["/@began", "s after that of part0.h5", "are 4 s", "input.layout.first_sample"]
described("starts that agree with the samples", [DAY, "2020-01-01T00:00:04"], said=FOLLOW)
described("starts in Unix time", [1.7e9 + 0.123456, 1.7e9 + 4.123456], "unix", said=FOLLOW)
described("starts in MJD", [58849.123456789, 58849.123456789 + FOUR], "mjd", said=FOLLOW)
described("whole seconds of a start", [DAY + ".7", "2020-01-01T00:00:05"], said=FOLLOW + ["starts by /@began are up to 0.3 s from"])
described("a computer's clock, 3 ms off", [1.7e9 + 0.123456, 1.7e9 + 4.126456], "unix", said=FOLLOW + ["up to 0.003 s from"])
described("a computer's clock, in MJD", [58849.123456789, 58849.123456789 + FOUR + 5e-8], "mjd", said=FOLLOW + ["up to 0.00432 s from"])
described("a computer's clock that drifts by 20 ppm", [1.7e9 + 0.125, 1.7e9 + 400.232], "unix", said=["up to 0.107 s from"], sample_rate_hz=10.0)
described("a gap of a quarter of a second", [1.7e9 + 0.125, 1.7e9 + 4.375], "unix", status=4, said=BOTH + ["4.25"])
described("half a second between fine starts", [DAY + ".700000", "2020-01-01T00:00:05.200000"], status=4, said=BOTH + ["4.5"])
described("whole seconds of both", ["2020-01-01T00:00:01", "2020-01-01T00:00:04"], status=4, said=BOTH + ["states a start 3 s"])
described("a day between starts", [DAY, "2020-01-02T00:00:04"], status=4, said=BOTH + ["86404"])
described("a day between starts in MJD", [58849.123456789, 58850.123456789 + FOUR], "mjd", status=4, said=BOTH + ["86404"])
described("a gap of a second", [DAY, "2020-01-01T00:00:05"], status=4, said=BOTH + ["states a start 5 s"])
described("62.5 ms, a 64th of a file", [1.7e9, 1.7e9 + 4.0625], "unix", said=FOLLOW + ["up to 0.0625 s from"])
described("files in another order", ["2020-01-01T00:00:04", DAY], status=4, said=BOTH + ["-4 s"])
described("a day between starts, by the job", [DAY, "2020-01-02T00:00:04"], start=DAY, said=FOLLOW)
described("a gap by the job", [DAY, "2020-01-01T00:00:05"], first_sample=[0, 5000], said=["1,000 samples of all streams"])
described("a start that all repeat", [DAY, DAY], said=["/@began states the same start in all 2 files"] + FOLLOW)

# Numbers that netCDF and xarray scale, and 32 bits that are called integers.
with h5py.File(scratch("scaled.h5"), "w") as file:
    file["x"] = samples[:, 0, 0]
    file["x"].attrs.update({"scale_factor": 0.5, "add_offset": 3, "_FillValue": np.int8(-1), "missing_value": np.array([1, 2])})
    file["y"] = samples[:, 0, 0]
    file["y"].attrs.update({"scale_factor": 1.0, "add_offset": 0, "_FillValue": np.nan, "missing_value": "none"})
LAYOUT = {"axes": "time,reim", "sample_rate_hz": 1000.0, "freq_hz": [1e9]}
for layout, words in (({"dataset": "/x"}, ["scale_factor = 0.5", "layout.scale ", "add_offset = 3", "_FillValue = -1", "missing_value "]),
                      ({"dataset": "/x", "scale": 0.5, "offset": 6, "missing_value": -1}, []), ({"dataset": "/y"}, [])):
    said = voltmill("info", "--layout", yaml({**LAYOUT, **layout}), scratch("scaled.h5"))
    lines = [line for line in said.splitlines() if "assumed:" in line]
    ok(all(word in said for word in words) and len(lines) == (3 if words else 0), f"attributes of {layout}", said)
recorders.write_dada(scratch("float.dada"), samples.astype("<f4").tobytes(), **{**DADA, "NBIT": 32}, ENCODING="TWOSCOMPLEMENT",
                     ENDIAN="LITTLE", ORDER="TFP")
assumed("32-bit integers of PSRDADA", "float.dada", "ENCODING = TWOSCOMPLEMENT", "NBIT is 32")

refused("FBH5 with its axes in another order", "axes.h5", "nchans is 32", "nifs 1", "[time][if][channel]")
finish()
