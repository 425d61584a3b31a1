"""One small archive of each format that the program reads, with all that makes its reading hard: sequences, gaps,
frames that are lost or out of order, streams that begin apart, missing numbers, filters. write(name, folder) returns
the `input` of a job that runs in the folder, and how it goes on."""
import os

import h5py
import numpy as np

from . import chunks, filterbanks, hdf5, packets, plain, recorders

# The keys after `input` in a job of this kind, and the products.
VOLTAGES = ({"channelise": {"channels": 16, "taps": 4, "backend": "cpu"},
             "products": [{"kind": "spectra", "file": "spectra.h5"}, {"kind": "power", "file": "power.h5", "integrate": 4}]},
            ["spectra.h5", "power.h5"])
OVERSAMPLED = ({**VOLTAGES[0], "channelise": {"channels": 64, "taps": 4, "backend": "cpu"}}, VOLTAGES[1])
LONG = ({**VOLTAGES[0], "channelise": {"channels": 1024, "taps": 4, "backend": "cpu"}, "run": {"chunk": 160}},
        VOLTAGES[1])  # long reads, by mapping where that is possible
IMPORT = ({"products": [{"kind": "voltages", "file": "voltages.h5"}]}, [])  # nothing but an import
FILTERBANK = ({"dedisperse": {"file": "series.h5", "backend": "cpu", "dm": {"list": [0, 10, 20]}}}, ["series.h5"])
MOCKS = {}


def mock(kind=VOLTAGES):
    """A function(at, rng) that writes files at(name) and returns the job's input."""
    def take(write):
        MOCKS[write.__name__] = (write, kind)
        return write
    return take


def write(name, folder):
    """The job, of many chunks, and the names of its products."""
    function, (job, products) = MOCKS[name]
    said = function(lambda *names: os.path.join(folder, *names), np.random.default_rng(len(name)))
    run = {"chunk": 400 if "dedisperse" in job else 40, "sync": 0.01, "threads": 1, **job.get("run", {})}
    return {**job, "input": said if isinstance(said, dict) else {"files": said}, "run": run}, products


def noise(rng, shape, dtype="i1", size=9):
    return np.rint(rng.standard_normal(shape) * size).astype(dtype)


def complex_noise(rng, shape):
    return noise(rng, shape, "f8", 3).clip(-7, 7) + 1j * noise(rng, shape, "f8", 3).clip(-7, 7)


# ---- recorders

@mock()
def guppi(at, rng):
    """A sequence whose blocks overlap, between files, too; some are lost."""
    volts = complex_noise(rng, (1, 2, 20 * 512 + 32, 2))
    for i, (low, high, lost) in enumerate(((0, 6, ()), (6, 13, (2, 3)), (13, 20, (1,)))):
        recorders.write_guppi(at(f"obs.{i:04}.raw"), volts[:, :, low * 512:high * 512 + 32], 8, 512, 32, first=low * 512,
                              lost=lost, sizes=(0, 1, 1))
    return "obs.*.raw"


@mock()
def guppi_simple(at, rng):
    """4 bits, time first, headers filled up."""
    recorders.write_guppi(at("obs.raw"), complex_noise(rng, (1, 2, 16 * 512, 2)), 4, 512, 0, "time", lost=(5,), direct=True)
    return "obs.raw"


@mock(LONG)
def guppi_long(at, rng):
    """2 bits, time first, so much of it at once that it is read by mapping; lost blocks."""
    block = recorders.LEVELS[rng.integers(0, 4, (2, 1, 1, 1 << 17, 2))]
    recorders.write_guppi(at("obs.raw"), np.tile(block[0] + 1j * block[1], (1, 1, 16, 1)), 2, 1 << 17, 0, "time", lost=(5,))
    return "obs.raw"


@mock()
def dada(at, rng):
    """Files that repeat the end of the one before, and a gap."""
    samples = noise(rng, (10000, 2, 2, 2))
    for i, (low, high) in enumerate(((0, 4016), (4000, 6016), (7000, 10000))):
        recorders.write_dada(at(f"{i}.dada"), samples[low:high].tobytes(), NBIT=8, NDIM=2, NPOL=2, NCHAN=2, BW=-2.0,
                             FILE_NUMBER=i, OBS_OFFSET=8 * low, OBS_OVERLAP=8 * 16 if i < 2 else 0)
    return "*.dada"


@mock(IMPORT)
def dada_long(at, rng):
    """More than an import takes at once (32 MiB): three chunks of it."""
    for i in range(2):
        recorders.write_dada(at(f"{i}.dada"), noise(rng, (1 << 16, 2, 2)).tobytes() * 160, NBIT=8, NDIM=2, NPOL=2, NCHAN=1,
                             BW=1.0, FILE_NUMBER=i, OBS_OFFSET=4 * i * 161 << 16)
    return "*.dada"


@mock()
def dada_heaps(at, rng):
    recorders.write_dada(at("obs.dada"), noise(rng, (40, 2, 3, 256, 2)).tobytes() + b"torn", INSTRUMENT="MKBF", NBIT=8,
                         NDIM=2, NPOL=2, NCHAN=3, BW=3.0)
    return "obs.dada"


@mock()
def mwax(at, rng):
    """Two coarse channels, each in two files; some packets are lost, where delays have shifted them."""
    for chan in 109, 110:
        for k in range(2):
            packets = rng.random((4, 16)) > 0.2
            recorders.write_mwax(at(f"{k}_{chan}.sub"), noise(rng, (2, 2, 32768, 2)), delays=(3, 3, -5, -5), packets=packets,
                                 COARSE_CHANNEL=chan, SUBOBS_ID=1344081136 + 8 * k, OBS_OFFSET=8 * k)
    return "*.sub"


@mock()
def vdif(at, rng):
    """Frames in random order; some are lost, flagged, there twice; streams of either sideband, in two files."""
    frames = []
    for period in range(60):
        for thread in range(2):
            place, inner = period + rng.uniform(0, 4), 0 < period < 59
            if inner and rng.random() < 0.1:
                continue
            frame = packets.vdif_frame(rng.bytes(128), 1000 + period // 40, period % 40, thread, 2, log2=1,
                                       invalid=int(inner and rng.random() < 0.1))
            frames += [(place, frame)] + [(place + 1, frame)] * int(rng.random() < 0.1)
    frames = [frame for _, frame in sorted(frames)]
    for i, some in enumerate((frames[:70], frames[70:])):
        with open(at(f"obs{i}.vdif"), "wb") as file:
            file.write(b"".join(some) + b"torn" * i)
    streams = [{"thread": thread, "channel": channel, "pol": "XY"[thread], "freq_hz": 1e6 * (1 + channel),
                "sideband": 1 - 2 * channel} for thread in range(2) for channel in range(2)]
    return {"files": ["obs0.vdif", "obs1.vdif"], "layout": {"sample_rate_hz": 10240, "streams": streams}}


@mock()
def vdif_complex(at, rng):
    packets.write_vdif(at("obs.vdif"), 8, 1, 1, 0, 60, 25, 200, legacy=1, lose={(7, 0), (30, 0), (31, 0)}, generator=rng)
    return "obs.vdif"


@mock()
def drx(at, rng):
    with open(at("obs.dat"), "wb") as file:
        for number in range(5):
            for ident in range(4):
                if (number, ident) not in ((2, 1), (3, 0)):
                    file.write(packets.drx_packet(rng.bytes(4096), number, ident))
    return "obs.dat"


@mock()
def drx8(at, rng):
    """Packets of 8 + 8 bits, with a filling between two of them."""
    with open(at("obs.dat"), "wb") as file:
        for number in range(4):
            for ident in range(4):
                file.write(bytes(100 * int((number, ident) == (1, 2))))
                file.write(packets.drx_packet(rng.bytes(8192), number, ident))
    return "obs.dat"


@mock()
def lofar_udp(at, rng):
    """Two boards of a LOFAR station in files of their own, one of them in two; lost and flagged packets."""
    volts = rng.integers(-100, 100, (2, 640, 3, 2, 2))
    for name, board, low, lost in (("a", 2, 0, ()), ("b", 0, 0, (3, 4)), ("c", 0, 320, (7,))):
        made = packets.lofar_packets(volts[board // 2, low:low + (640 if board else 320)], 8, 315234375000000 + low, board, lost=lost, flagged=(9,))
        with open(at(f"{name}.udp"), "wb") as file:
            file.write(b"".join(made))
    return {"files": ["a.udp", "b.udp", "c.udp"], "layout": {"freq_hz": {"start": 150e6, "step": 195312.5}}}


@mock()
def vdif_mask(at, rng):
    """Channels that a validity mask says are not valid, in some frames; numbers of 32 bits."""
    with open(at("obs.vdif"), "wb") as file:
        for frame in range(60):
            whole = packets.vdif_frame(rng.bytes(512), 1000 + frame // 40, frame % 40, bits=32, log2=1)
            file.write(packets.vdif_mask(whole, 2, 1 if 10 <= frame < 13 else 3))
    return {"files": "obs.vdif", "layout": {"freq_hz": [1e6, 2e6]}}


# ---- files without a container

@mock()
def raw(at, rng):
    """Two files behind a header, blocks of time, numbers that are not as any backend has them; a torn end."""
    for i in range(2):
        plain.write(at(f"{i}.bin"), b"header!", noise(rng, (60, 2, 2, 80, 2), ">u2", 400) + np.uint16(1000), b"torn" * i)
    return {"files": ["0.bin", "1.bin"], "layout": {
        "format": "raw", "type": "u16_be", "offset": 1000, "skip": 7, "axes": "time,pol:2,chan:2,time:80,reim", "sample_rate_hz": 1e6,
        "freq_hz": {"start": 1e9, "step": 1e6}}}


@mock()
def npy(at, rng):
    """Fortran order, so that time is innermost; big-endian."""
    plain.write_npy(at("obs.npy"), noise(rng, (2, 3, 4000, 2), ">i2", 400).transpose(3, 1, 0, 2).tobytes(), descr="'>i2'",
                    fortran_order=True, shape=(4000, 2, 3, 2))
    return {"files": "obs.npy", "layout": {"format": "npy", "axes": "time,pol,chan,reim", "sample_rate_hz": 1e6,
                                           "freq_hz": {"start": 1e9, "step": 1e6}}}


@mock()
def sigmf(at, rng):
    """Captures with a gap and a header between them, in two recordings with another gap; trailing bytes."""
    for i in range(2):
        samples = noise(rng, (3000, 2, 2), "<i2", 400)
        captures = [{"core:sample_start": 0, "core:global_index": 7, "core:frequency": 1e9, "core:datetime": f"2024-05-01T06:07:08.00{5 * i}Z"},
                    {"core:sample_start": 1000, "core:global_index": 1207, "core:header_bytes": 12, "core:frequency": 1e9}]
        plain.write_sigmf(at(f"obs{i}"), samples[:1000].tobytes() + b"some header!" + samples[1000:].tobytes() + b"end", plain.sigmf_meta(
            captures=captures, num_channels=2, trailing_bytes=3, annotations=[{"core:sample_start": 5, "core:label": "\U0001F600"}]))
    return "obs*.sigmf-meta"


@mock()
def sigmf_archive(at, rng):
    plain.write_sigmf_archive(at("obs.sigmf"), noise(rng, (6000, 2), "u1", 30).tobytes(), plain.sigmf_meta("cu8"))
    return "obs.sigmf"


@mock()
def wav(at, rng):
    """24 bits, which none of the backends has, two real streams; the second file was cut off."""
    for i in range(2):
        plain.write_wav(at(f"{i}.wav"), plain.pack24(noise(rng, 8000, "i4", 1e5)), plain.wav_format(1, 2, 24, 1000000), size=24000 + 600 * i)
    return {"files": ["0.wav", "1.wav"], "layout": {"format": "wav", "domain": "real"}}


@mock()
def rf64(at, rng):
    plain.write_wav(at("obs.rf64"), noise(rng, 12000, "<i2", 400).tobytes(), plain.wav_format(1, 2, 16, 1000000), riff=b"RF64",
                    before=plain.auxi())
    return "obs.rf64"


# ---- HDF5 formats of telescopes

@mock()
def digital_rf(at, rng):
    """A folder of two channels; gaps that only the index tells, metadata."""
    for channel in "ab":
        for i, (blocks, how) in enumerate((([(1700000000 * 4000, 1500), (1700000000 * 4000 + 1700, 1300)], {}),
                                           ([(1700000001 * 4000, 1500)], {"chunks": (400, 2), "compression": 1}))):
            hdf5.drf_write(at("obs", channel), f"rf@{1700000000 + i}.000.h5", blocks, (4000, 1), subchannels=2,
                           seed=ord(channel) + i, **how)
        hdf5.drf_metadata(at("obs", channel), 1700000000 * 4000 - 7, (4000, 1), [1e9, 1e9])
    return "obs"


@mock()
def lofar_bf(at, rng):
    """The .raw files hold fewer rows than are declared."""
    for component in ("Xr", "Xi", "Yr", "Yi"):
        hdf5.lofar_bf_write(at(), component, noise(rng, (6000, 3), "f4", 50), 9000, ">", hertz=120e6 + 195312.5 * np.arange(3))
    return "L1_SAP001_B002_S0_P000_bf.h5"


@mock()
def lofar_tbb(at, rng):
    hdf5.tbb_write(at("obs.h5"), noise(rng, (3, 12000), "i2", 500), 11000, (199999000, 199999100, 199998990), chunks=(1,),
                   FLAG_OFFSETS=np.array([[500, 800]], "u8"))
    return "obs.h5"


@mock()
def chime_beam(at, rng):
    stored = (rng.normal(size=(3, 2, 6000)) + 1j * rng.normal(size=(3, 2, 6000))).astype("c8")
    stored[1, 1, 1000:1500] = np.nan
    hdf5.chime_beam_write(at("obs.h5"), stored, [2000, 1300, 1], 600 - 0.390625 * np.arange(3), 1, dm=26.7)
    return "obs.h5"


@mock()
def chime_raw(at, rng):
    for i in range(2):
        stored = rng.integers(0, 256, (6000, 3), "u1")
        stored[1000 + i:1300, 1] = 0
        hdf5.chime_raw_write(at(f"baseband_{i}.h5"), stored, 600 + 0.390625 * i, 10 ** 9 + 77 * i,
                             1.7e9 + 77 * i * 2.56e-6)
    return "baseband_*.h5"


@mock()
def meerkat(at, rng):
    for i, pol in enumerate("xy"):
        flags = np.zeros((2, 6144 // 32), "u1")
        flags[0, 30:50], flags[1, 100] = 1, 255
        hdf5.meerkat_write(at(f"0{pol}.h5"), noise(rng, (4, 6144, 2)), flags, 64 * i, "beam_0" + pol, 64,
                           **({"chunks": (4, 512, 2)} if i else {}))
    return {"files": ["0x.h5", "0y.h5"], "layout": {"format": "meerkat", "sample_rate_hz": 835937.5,
                                                    "freq_hz": {"start": 900e6, "step": 835937.5}}}


@mock(OVERSAMPLED)
def pydaq_channel(at, rng):
    hdf5.pydaq_write(at("obs.hdf5"), noise(rng, (12000, 2 * 4, 2)), 2, 2, n_samples=1000, n_blocks=11, chunks=(700, 8))
    return "obs.hdf5"


@mock()
def pydaq_raw(at, rng):
    hdf5.pydaq_write(at("obs.hdf5"), noise(rng, (4, 12000)), 2, 2, n_samples=1000, n_blocks=11)
    return "obs.hdf5"


@mock()
def grex(at, rng):
    hdf5.grex_write(at("obs.nc"), noise(rng, (5000, 2, 3, 2)), 1500 - 250 / 2048 * np.arange(3))
    return "obs.nc"


# ---- the native layout, descriptions, filters

@mock()
def native(at, rng):
    """Missing data of all streams and of single ones: gaps and NaN; two files with a hole between them."""
    for i in range(2):
        stored = rng.normal(0, 9, (4000, 2, 2, 2)).astype("f4")
        stored[2000:2300, 1, 0, 1] = np.nan
        with h5py.File(at(f"part{i}.h5"), "w") as file:
            file.attrs.update({"format": "voltage", "format_version": 1, "start_mjd_day": 60000,
                               "start_second": 5 + i * 4100e-6, "time_scale": "UTC"})
            file["voltages"] = stored
            file["voltages"].attrs.update({"axes": "time,pol,chan,reim", "sample_rate_hz": 1e6, "domain": "complex",
                                           "sideband": 1})
            file["freq_hz"], file["gaps"] = [1e9, 1.001e9], np.array([[100, 50, 0], [900, 300, 3]], "u8")
    return "part*.h5"


@mock(OVERSAMPLED)
def spectra(at, rng):
    """Our own product: 8 channels, 4/3, some of them NaN."""
    x = rng.normal(0, 9, (5000, 2, 8, 2)).astype("f4")
    x[2000:2300, 1, 3] = np.nan
    with h5py.File(at("obs.h5"), "w") as file:
        file.attrs.update({"format": "spectra", "format_version": 3, "start_mjd_day": 60000, "start_second": 5.0,
                           "first_time": 1e-5, "sample_rate_hz": 8e6, "domain": "complex", "sideband": 1, "channels": 8,
                           "taps": 4, "integrate": 1, "oversampling_num": 4, "oversampling_den": 3, "order": "ascending"})
        file["spectra"] = x.view([("r", "<f4"), ("i", "<f4")])[..., 0]
        file["spectra"].attrs["axes"] = "time,pol,frequency"
        file["frequency"], file["coefficients"] = 1e9 + 1e6 * np.arange(8), np.ones((4, 8))
    return "obs.h5"


PLAIN = {"dataset": "/v", "axes": "time,pol,reim", "sample_rate_hz": 1e6}


@mock()
def described(at, rng):
    """Real and imaginary parts in files of their own that begin at different samples, of big numbers with an offset."""
    for pol in range(2):
        for part in ("re", "im"):
            with h5py.File(at(f"{pol}{part}.h5"), "w") as file:
                file.create_dataset("v", data=noise(rng, 8000, ">u2", 400) + 1000, chunks=(900,) if pol else None)
                file.attrs["first"] = 300 * pol
    return {"files": ["0re.h5", "0im.h5", "1re.h5", "1im.h5"],
            "layout": {"dataset": "/v", "axes": "time", "sample_rate_hz": 1e6, "files_along": "pol,reim", "offset": 1000,
                       "first_sample": {"attribute": "/@first"}}}


@mock()
def described_heaps(at, rng):
    with h5py.File(at("obs.h5"), "w") as file:
        file["v"] = noise(rng, (100, 2, 80, 2))
    return {"files": "obs.h5", "layout": {**PLAIN, "axes": "time,pol,time:80,reim"}}


@mock(LONG)
def described_long(at, rng):
    """In one piece, used where it is mapped."""
    with h5py.File(at("obs.h5"), "w") as file:
        file["v"] = np.tile(noise(rng, (1 << 16, 2, 2)), (24, 1, 1))
    return {"files": "obs.h5", "layout": PLAIN}


@mock()
def virtual(at, rng):
    """Behind a link: a virtual dataset of a compressed file and one whose samples lie in an external file."""
    x = noise(rng, (8000, 2, 2))
    with h5py.File(at("a.h5"), "w") as file:
        file.create_dataset("v", data=x[:4000], chunks=(900, 2, 2), compression=1)
    with open(at("b.raw"), "wb") as raw:
        raw.write(x[4000:].tobytes())
    with h5py.File(at("b.h5"), "w") as file:
        file.create_dataset("v", (4000, 2, 2), "i1", external=[("b.raw", 0, 16000)])
    layout = h5py.VirtualLayout(x.shape, "i1")
    for i, name in enumerate(("a.h5", "b.h5")):
        layout[4000 * i:4000 * (i + 1)] = h5py.VirtualSource(name, "v", (4000, 2, 2))
    with h5py.File(at("c.h5"), "w", libver="latest") as file:
        file.create_virtual_dataset("v", layout)
    with h5py.File(at("obs.h5"), "w") as file:
        file["v"] = h5py.ExternalLink("c.h5", "v")
    return {"files": "obs.h5", "layout": PLAIN}


def in_chunks(name, filters):
    def make(at, rng):
        x = noise(rng, (8000, 2, 2), "<i2", 300)
        if filters:
            chunks.write_chunks(at("obs.h5"), x, (900, 2, 2), filters)
        else:
            with h5py.File(at("obs.h5"), "w") as file:
                file.create_dataset("v", data=x, chunks=(900, 2, 2), compression="lzf", shuffle=True, fletcher32=True)
        return {"files": "obs.h5", "layout": PLAIN}
    make.__name__ = name
    return mock()(make)


in_chunks("deflate", [(chunks.SHUFFLE, (2,)), (chunks.DEFLATE, (1,)), (chunks.FLETCHER, ())])
in_chunks("lzf", None)
in_chunks("bitshuffle", [(chunks.BITSHUFFLE, (0, 4, 2, 0, 2))])
in_chunks("zstd", [(chunks.ZSTD, (3,))])
in_chunks("lz4", [(chunks.LZ4, (0,))])


# ---- filterbanks

def powers(rng, shape):
    return rng.integers(0, 255, shape, "u1")


@mock(FILTERBANK)
def fbh5(at, rng):
    with h5py.File(at("obs.h5"), "w") as file:
        file.create_dataset("data", data=powers(rng, (4000, 1, 32)), chunks=(512, 1, 32), compression=1)
        file["data"].attrs.update({"fch1": 400.0, "foff": -1.0, "tsamp": 1e-3, "tstart": 58849.0})
    return "obs.h5"


@mock(FILTERBANK)
def sigproc(at, rng):
    filterbanks.write_fil(at("obs.fil"), rng.integers(0, 4, (4000, 1, 32)), 2, 1.0)
    return "obs.fil"


@mock(FILTERBANK)
def psrfits(at, rng):
    rows, chans = 20, 32
    filterbanks.write_fits(at("obs.fits"), powers(rng, (rows, 200, 1, chans)), 8, rng.uniform(0.5, 2, (rows, 1, chans)),
                           rng.normal(0, 3, (rows, 1, chans)), rng.uniform(0.5, 1, (rows, chans)), 200 * np.arange(rows))
    return "obs.fits"
