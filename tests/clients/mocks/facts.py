"""Facts that headers state, by the public definitions of their formats: for each field what of a product it governs, which
others state it again, and what its absence means. Written from docs/formats-*.md and the definitions that these name, not
from what a program does.

    F(NAME, GOVERNS, against=FACTS, removed=WORD, same=CHANGES, more=CHANGES, says=PATTERN, last=WORD)

NAME     a pattern, the first that matches a field counts
GOVERNS  parts of a product that may differ where the field says something else and nothing contradicts it (PARTS of
         tests/long/contradictions.py); "": nothing, the field does not matter
against  fields of the same header (or *facts of the file) that state it, too, so that a change of the field alone is a
         contradiction; FACT!CHANGE!CHANGE: these changes do not contradict it; FACT=CHANGE: only these do
removed  guess: an error or an assumed: line; default: its absence has a meaning of its own; told: other facts tell it
same     changes that say the same, or nothing, so that the product may be as it was; *: all
more     further changes, {name: value or function of the value}
says     how messages name it, where that is not its name
known    the format is known by it: without it the file is of no known format
damage   what contradicts it may be damage, of which a warning tells
last     what a change in the last header alone is: against (the default: headers of one observation agree), own (each
         has its own; as if it were the only one), free (it does not matter), lost (its samples are lost, with a warning)
step     {part: number}: how much of start (s) or freq (Hz) a step of 1 is; of rate: which power of it the rate is"""
import dataclasses
import os
import re
import struct

import h5py
import numpy as np

from . import every, headers, packets, recorders


@dataclasses.dataclass
class F:
    name: str
    governs: str = ""
    against: str = ""
    removed: str = "guess"
    same: str = ""
    more: dict = dataclasses.field(default_factory=dict)
    says: str = ""
    known: bool = False
    damage: bool = False
    last: str = "against"
    step: dict = dataclasses.field(default_factory=dict)


START, RATE, FREQ, NAMES = "start", "rate freq shape weights rows", "freq", "names"
SPAN = "rows shape weights"  # which samples there are


def ignored(*names):
    return [F(name, removed="default", last="free") for name in names]


# ---- GUPPI RAW: guppi_daq, hashpipe, rawspec (rawspec_rawutils.c); docs/formats-recorders.md

GUPPI = [
    F("OBSNCHAN", "rows freq shape weights start", "TBIN CHAN_BW"),
    F("NPOL", "rows shape weights names rate freq start", same="half"),  # 4 and 2 are two polarisations
    F("NBITS", "rows shape weights rate freq start"),
    F("BLOCSIZE", "rows shape weights", "*length", says="BLOCSIZE|header of a GUPPI RAW block|bytes of a block|samples after"),
    F("TBIN", RATE + " start", "OBSBW", step={"rate": -1}),
    F("OBSFREQ", FREQ, step={"freq": 1e6}),
    F("OBSBW", "freq rows sideband", "TBIN!negated CHAN_BW"),
    F("CHAN_BW", "", "OBSBW", removed="told", same="zero"),
    F("PIPERBLK", SPAN + " start", "PKTIDX", removed="told", same="zero"),
    F("PKTSIZE", SPAN + " start", "PIPERBLK", removed="told"),
    F("PKTIDX", SPAN + " start", "PIPERBLK", last="own"),
    F("PKTSTART", START, removed="default"),
    F("STT_IMJD", START, step={"start": 86400}),
    F("STT_(SMJD|OFFS)", START, step={"start": 1}),
    F("PKTFMT", "rows weights", removed="default", same="*"),
    F("OVERLAP", SPAN + " start", "PIPERBLK"),
    F("DIRECTIO", "", "*padding=zero=removed", says="DIRECTIO|header of a GUPPI RAW block", last="free"),
    F("FD_POLN", NAMES, removed="default", more={"circular": "CIRC"}, same="*"),
    F("NBEAMS", "", removed="default", same="*"),
    F("DATATYPE", "", removed="default", same="*", more={"float": "FLOAT"}, says="DATATYPE|NBITS"),
    F("SRC_NAME|TELESCOP|RA_STR|DEC_STR", NAMES, removed="default", same="*", last="free"),
    F("NDROP", "weights rows", "NPKT=removed", removed="told", last="own"),
    F("NPKT", "weights rows", "DROPSTAT", removed="told", last="own"),
    F("DROPSTAT", "weights rows", "NPKT", removed="told", last="own", more={"of more": "0/1024"}, same="junk empty long"),
    *ignored("MORE.*", "OBSERVER", "FRONTEND", "BACKEND", "PROJID"),
]
GUPPI_ALSO = {"CHAN_BW": lambda keys, size: float(keys["OBSBW"]) / int(keys["OBSNCHAN"]), "PKTSTART": 0,
              "PKTSIZE": lambda keys, size: (size - int(keys["OVERLAP"]) * size // (int(keys["PIPERBLK"]) + int(keys["OVERLAP"])))
              // int(keys["PIPERBLK"]), "SRC_NAME": "'B1937+21'", "TELESCOP": "'GBT'", "RA_STR": "'19:39:38.6'",
              "DEC_STR": "'+21:34:59'", "OBSERVER": "'someone'", "FD_POLN": "'LIN'", "FRONTEND": "'Rcvr'", "NBEAMS": 1, "DATATYPE": "'INTEGER'"}
GUPPI_DROPS = {"NPKT": lambda keys, size: int(keys["PIPERBLK"]), "NDROP": 0,
               "DROPSTAT": lambda keys, size: f"'0/{keys['PIPERBLK']}'"}


# ---- PSRDADA: psrdada's ascii_header and dspsr's DADAFile, MeerKAT's MKBF; docs/formats-recorders.md

DADA = [
    F("HDR_SIZE", SPAN, "FILE_SIZE *length", says="HDR_SIZE|overlap"),
    F("FREQ", FREQ, step={"freq": 1e6}),
    F("BW", "freq rows sideband", "TSAMP!negated"),
    F("TSAMP", RATE, "BW BYTES_PER_SECOND", step={"rate": -1}),
    F("UTC_START", START, "MJD_START", more={"another second": "2020-02-03-04:05:07"}, removed="told"),
    F("MJD_START", START, "UTC_START", removed="told", more={"another second": 58882.17021990741}),
    F("PICOSECONDS", START, "MJD_START!one", removed="told"),
    F("OBS_OFFSET", SPAN + " start", last="own", says="OBS_OFFSET|overlap"),
    F("NBIT", "rows shape weights rate freq", "BYTES_PER_SECOND"),
    F("NDIM", "rows shape weights rate freq", "BW STATE"),
    F("NPOL", "rows shape weights names", "BYTES_PER_SECOND"),
    F("NCHAN", "rows shape weights freq", "BW BYTES_PER_SECOND", says="NCHAN|coarse channels"),
    F("OBS_OVERLAP", SPAN, "OBS_OFFSET", last="free", says="OBS_OVERLAP|overlap|repeat"),
    F("STATE", "", "NDIM", removed="default", more={"real": "Nyquist", "detected": "Intensity"}, same="empty junk long"),
    F("OS_FACTOR", "oversampling rows freq", "BW", removed="default", same="one", more={"other": "32/27"}),
    F("DSB", "freq rows", removed="default", same="*"),
    F("ENCODING", "rows", removed="default", more={"other": "OFFSETBINARY"}),
    F("ORDER", "rows", removed="default", more={"other": "TPF"}),
    F("ENDIAN", "", removed="default", more={"other": "BIG"}, last="free", says="ENDIAN|sample types"),
    F("FILE_SIZE", SPAN, "*length!double!int_max!int_over!long_max!huge", removed="told", same="double int_max int_over long_max huge zero"),
    F("BYTES_PER_SECOND", "", "TSAMP", removed="told", same="nan inf long junk"),
    F("INSTRUMENT", "rows names shape", removed="default", same="*", last="free"),
    F("TELESCOPE|SOURCE|RA|DEC", NAMES, removed="default", same="*", last="free"),
    *ignored("HDR_VERSION", "FILE_NUMBER", "RESOLUTION", "OBSERVER", "MODE"),
]
DADA_ALSO = {"MJD_START": "58882.170214120370", "PICOSECONDS": 500000000000, "STATE": "Analytic", "OS_FACTOR": "1/1",
             "DSB": 1, "ENCODING": "TWOSCOMPLEMENT", "ENDIAN": "LITTLE", "TELESCOPE": "MeerKAT", "SOURCE": "J0437-4715",
             "RA": "04:37:15.9", "DEC": "-47:15:09.1", "OBSERVER": "someone", "RESOLUTION": 8,
             "FILE_SIZE": lambda keys, size: size,
             "BYTES_PER_SECOND": lambda keys, size: int(keys["NBIT"]) * int(keys["NDIM"]) * int(keys["NPOL"])
             * int(keys["NCHAN"]) // 8 * 1000000}


# ---- MWAX: MWATelescope/mwax_udp2sub, src/makesub.c; docs/formats-recorders.md

MWAX = [
    F("HDR_SIZE", "rows weights shape", "*length", known=True),
    F("NBIT|NPOL", "rows", says="NBIT|NPOL"),
    F("NINPUTS", "rows shape weights names rate freq", says="NINPUTS|bytes|IDX"),
    F("NTIMESAMPLES", SPAN + " names", "TRANSFER_SIZE", says="NTIMESAMPLES|bytes|ends early|names"),
    F("SAMPLE_RATE", RATE + " start oversampling", says="SAMPLE_RATE|BANDWIDTH_HZ|ends early|IDX|overlap|apart|starts"),
    F("BANDWIDTH_HZ", "freq rows oversampling shape", says="SAMPLE_RATE|BANDWIDTH_HZ|apart|closer|oversampl"),
    F("SECS_PER_SUBOBS", SPAN + " names", says="SECS_PER_SUBOBS|ends early|IDX|bytes|overlap|starts"),
    F("COARSE_CHANNEL", FREQ + " shape", says="COARSE_CHANNEL|overlap|starts", last="own"),
    F("SUBOBS_ID", START + " " + SPAN, "UTC_START", says="SUBOBS_ID|overlap|starts|NDIM", last="own", known=True),
    F("UTC_START|OBS_OFFSET", "", "SUBOBS_ID", removed="told", last="own", says="UTC_START|OBS_OFFSET", same="*"),
    F("IDX_PACKET_MAP", "weights rows names", says="IDX_PACKET_MAP|missing|unreadable", same="*"),
    F("IDX_DELAY_TABLE", "weights rows names", says="IDX_DELAY_TABLE|IDX_PACKET_MAP|names|delays", same="*"),
    F("TRANSFER_SIZE", "", "NTIMESAMPLES", removed="told", last="own", same="*"),
    *ignored("POPULATED", "OBS_ID", "MODE", "MWAX_SUB_VER"),
]


# ---- VDIF: the specification (vlbi.org/vdif) and its extended headers 1 and 3; docs/formats-recorders.md

VDIF_BITS = {"invalid": (0, "<u4", 31, 1), "legacy": (0, "<u4", 30, 1), "second": (0, "<u4", 0, 30),
             "epoch": (4, "<u4", 24, 6), "frame number": (4, "<u4", 0, 24), "version": (8, "<u4", 29, 3),
             "channels": (8, "<u4", 24, 5), "length": (8, "<u4", 0, 24), "complex": (12, "<u4", 31, 1),
             "bits": (12, "<u4", 26, 5), "thread": (12, "<u4", 16, 10), "station": (12, "<u4", 0, 16)}
MASK_BITS = {**VDIF_BITS, "EDV": (16, "<u4", 24, 8), "mask bits": (16, "<u4", 16, 8), "sync": (20, "<u4", 0, 32),
             "mask": (24, "<u4", 0, 32)}
EDV_BITS = {**VDIF_BITS, "EDV": (16, "<u4", 24, 8), "rate unit": (16, "<u4", 23, 1), "rate": (16, "<u4", 0, 23),
            "sync": (20, "<u4", 0, 32), "tuning": (24, "<u4", 0, 32), "personality": (28, "<u4", 0, 8)}


def vdif(rate="", of_frames=""):
    """The table of a file whose rate another fact tells: `rate` of what lies in a frame, of_frames of their numbers."""
    return [
        F("invalid", SPAN, last="own", says="valid", known=True),
        F("legacy", RATE, rate, last="lost", says="legacy|header|length|bytes|rate|samples a second|frame"),
        F("second", SPAN + " start", last="own", says="second|time"),
        F("epoch", START + " " + SPAN, last="own", says="epoch|time|second"),
        F("frame number", RATE + " start", of_frames, last="own", says="number|counted|frames"),
        F("channels", RATE + " names", rate, last="lost", says="channel|samples a second|rate"),
        F("length", RATE, "*length", last="lost", says="length|bytes|frame", damage=True),
        F("complex", RATE + " domain", rate, last="lost", says="complex|real|samples a second|rate"),
        F("bits", RATE, rate, last="lost", says="bits|samples a second|rate", known=True),
        F("thread", SPAN + " names", last="own", says="thread|stream"),
        F("station", NAMES, same="*", last="lost", says="station"),
        F("EDV", "", same="*", last="lost", says="EDV|rate|samples a second"),
        F("rate unit|rate", "", "*count", same="zero", last="lost", says="samples a second|rate"),
        F("version", "", same="*", known=True),
        *ignored("sync", "tuning", "personality"),
    ]


# EDV 4, of DiFX's vdifio: words 4 to 7 are a validity mask of channels; other EDVs have no mask there, 1 and 3 a rate.
VDIF_MASK = [
    F("EDV", SPAN + " " + RATE, last="lost", says="EDV|rate|samples a second"),
    F("mask bits", SPAN, last="lost", says="mask"),
    F("sync", SPAN, last="lost", says="sync|mask"),
    F("mask", SPAN, last="own", says="mask|valid|time"),
    *vdif(),
]


# ---- LWA DRX: lwa-project/lsl lsl/reader/drx.cpp; docs/formats-recorders.md

DRX_BITS = {"sync": (0, ">u4", 0, 32), "beam": (4, "u1", 0, 3), "tuning": (4, "u1", 3, 3), "pol": (4, "u1", 7, 1),
            "frame count": (4, ">u4", 0, 24), "second": (8, ">u4", 0, 32), "decimation": (12, ">u2", 0, 16),
            "time offset": (14, ">u2", 0, 16), "time tag": (16, ">u8", 0, 64), "frequency": (24, ">u4", 0, 32),
            "flags": (28, ">u4", 0, 32)}
DRX = [
    F("sync", SPAN, "*structure", last="own", says="sync|DRX|packet|0xdec0de5c|bytes", known=True),
    F("beam", NAMES, same="*", says="beam", last="lost"),
    F("tuning", FREQ + " names " + SPAN, last="own", says="tuning|packet|stream", known=True),
    F("pol", "names " + SPAN, last="own", says="pol|packet|stream"),
    F("decimation", RATE, "time.tag", last="lost", says="decimat|rate|samples|tick", known=True),
    F("time offset", START + " " + SPAN, last="lost", says="offset|time|ticks"),
    F("time tag", START + " " + SPAN, last="own", says="tag|time|packet"),
    F("frequency", FREQ, last="lost", says="tuning|frequency", step={"freq": 196e6 / 2 ** 32}),
    *ignored("frame count", "second", "flags"),
]


# ---- LOFAR's stations: David-McKenna/udpPacketManager, src/lib/lofar_udp_general.h.in; docs/formats-recorders.md

LOFAR_UDP_BITS = {"version": (0, "u1", 0, 8), "board": (1, "u1", 0, 5), "error": (1, "u1", 6, 1), "clock": (1, "u1", 7, 1),
                  "bit mode": (2, "u1", 0, 2), "station": (4, "<u2", 5, 11), "beamlets": (6, "u1", 0, 8), "slices": (7, "u1", 0, 8),
                  "second": (8, "<u4", 0, 32), "sequence": (12, "<u4", 0, 32)}
LOFAR_UDP = [
    F("version", "", same="*", last="lost", says="packet", known=True),
    F("board", SPAN + " names", last="own", same="double half", says="board|station"),  # their order counts
    F("error", SPAN, last="own", known=True),
    F("clock", RATE + " start", last="lost", says="clock|time|samples behind"),
    F("bit mode", RATE + " start", "*length", last="lost", says="bits|bytes|packet", known=True),
    F("station", NAMES, same="*", last="lost", says="station"),
    F("beamlets", FREQ + " names " + SPAN, "*length", last="lost", says="beamlets|bytes|packet|freq_hz", known=True),
    F("slices", SPAN, last="lost", says="packet", known=True),
    F("second|sequence", START + " " + SPAN, last="own", says="time|packet|samples behind", known=True),
]


# ---- numpy's .npy (numpy/lib/_format_impl.py), SigMF (sigmf-spec.md), WAV (RFC 2361, EBU Tech 3306); docs/formats-recorders.md

NPY = [
    F("descr", "rows shape weights", says="dtype|descr|header", more={"little": "'<i2'", "floats": "'>f2'", "objects": "'|O'"}),
    F("fortran_order", "rows shape weights", says="fortran_order|axes|header", more={"other": "False"}),
    F("shape", "rows shape weights", says="shape|header", more={"of_more": "(8000, 2, 3, 2)", "of_less": "(2000, 2, 3, 2)"}),
]

SIGMF = [
    F("global/core:datatype", "rows shape weights rate freq domain", says="datatype", known=True, more={"other": "ci16_be", "floats": "cf16_le"}),
    F("global/core:sample_rate", RATE + " start", step={"rate": 1}, says="sample_rate|samples|overlap"),
    F("global/core:num_channels", "rows shape weights names start", removed="default", says="num_channels|starts|axes|channels|captures"),
    F("global/core:trailing_bytes", SPAN, removed="default", last="own", same="*", says="trailing_bytes|ends within"),
    F("captures/./core:sample_start", SPAN + " start", removed="default", last="own", says="sample_start|capture|global_index"),
    F("captures/0/core:global_index", SPAN + " start", removed="default", last="own", says="global_index|samples after|overlap|starts"),
    F("captures/1/core:global_index", SPAN + " start", removed="default", last="own", says="global_index|samples after|overlap|starts|memory"),
    F("captures/1/core:header_bytes", "rows shape weights", removed="default", last="own", says="header_bytes"),
    F("captures/0/core:frequency", FREQ, "captures/1/core:frequency", removed="told", step={"freq": 1}),
    F("captures/1/core:frequency", "", "captures/0/core:frequency", removed="told"),
    F("captures/0/core:datetime", START + " " + SPAN, removed="default", last="own", says="datetime|overlap|starts", more={"another second": "2024-05-01T06:07:09Z"}),
    F(".*", removed="default", same="*", last="free"),
]

WAV_BITS = {"code": (20, "<u2", 0, 16), "channels": (22, "<u2", 0, 16), "rate": (24, "<u4", 0, 32), "byte rate": (28, "<u4", 0, 32),
            "frame": (32, "<u2", 0, 16), "bits": (34, "<u2", 0, 16), "data": (40, "<u4", 0, 32), "file size": (4, "<u4", 0, 32)}
WAV = [
    F("code", "rows", "bits", says="format code|bits"),
    F("channels", "rows shape names", "frame", says="channels"),
    F("rate", RATE + " start", "byte.rate", says="rate", step={"rate": 1}),
    F("byte rate", "", "rate", says="byte rate"),
    F("frame", "", "channels", says="frame"),
    F("bits", "rows shape", "frame", says="bits"),
    F("data", SPAN + " start", last="own", says="data chunk|bytes of samples"),
    *ignored("file size"),
]


# ---- SIGPROC: sigproc's header.h and read_header.c; docs/formats-recorders.md

FIL_DOUBLES = ("az_start", "za_start", "src_raj", "src_dej", "tstart", "tsamp", "fch1", "foff", "refdm", "period")
FIL_TEXTS = ("source_name", "rawdatafile")
FILTERBANK_RATE = "rate rows shape delays names"
FIL = [
    F("nbits", "rows shape", "nsamples", says="bits"),
    F("nchans", "rows shape freq delays", "nsamples", says="nchans|numbers|channel"),
    F("nifs", "rows shape", "nsamples", removed="default", says="nifs|pols"),
    F("fch1", "freq rows shape delays", says="fch1|channel .* (is|lies) at|channels from|delays", step={"freq": 1e6}),
    F("foff", "freq rows shape delays", says="foff|at distances of"),
    F("tsamp", FILTERBANK_RATE, says="tsamp|a spectrum every", step={"rate": -1}),
    F("tstart", START, removed="default", step={"start": 86400}),
    F("nsamples", "shape", "*length!zero", removed="told", same="zero"),
    F("refdm", "", "*dedispersed", removed="default", says="refdm|DM"),
    F("signed", "rows", removed="default", same="*"),
    F("source_name|telescope_id|src_raj|src_dej", NAMES, removed="default", same="*"),
    *ignored("data_type", "machine_id", "az_start", "za_start", "nbeams", "ibeam", "barycentric", "pulsarcentric",
             "rawdatafile", "period", "npuls"),
]
FIL_ALSO = {"data_type": 1, "machine_id": 10, "src_dej": -123456.7, "az_start": 10.5, "za_start": 20.5, "nbeams": 1,
            "ibeam": 1, "barycentric": 0, "rawdatafile": "raw", "refdm": 0.0,
            "nsamples": lambda words, size: size * 8 // words["nbits"] // words["nchans"] // words["nifs"]}


# ---- PSRFITS: the definition of PSRFITS 5.4 and the FITS standard 4.0; docs/formats-recorders.md

FITS = [
    F("primary.STT_IMJD", START, "primary.DATE-OBS", step={"start": 86400}),
    F("primary.STT_SMJD", START, "primary.DATE-OBS", step={"start": 1}),
    F("primary.STT_OFFS", START, step={"start": 1}),
    F("primary.DATE-OBS", "", "primary.STT_SMJD", removed="told", same="*"),
    F("primary.(BITPIX|NAXIS|FITSTYPE|OBS_MODE)", "", removed="default", same="*", known=True, says="unit|FITS"),
    F("primary.OBSFREQ", "", "column.DAT_FREQ", removed="told", same="zero"),
    F("primary.OBSBW", "", "subint.CHAN_BW", removed="told", same="zero negated"),
    F("primary.OBSNCHAN", "", "subint.NCHAN", removed="told", same="zero"),
    F("primary.(SRC_NAME|TELESCOP|RA|DEC)", NAMES, removed="default", same="*"),
    F("primary.(OBSERVER|PROJID|FRONTEND|CHAN_DM)", "", removed="default"),
    F("subint.NBITS", "rows", "subint.TFORM.*", says="NBITS|DATA|TFORM"),
    F("subint.NCHAN", "", "subint.TFORM.*", says="NCHAN|DAT_FREQ|TFORM"),
    F("subint.NPOL", "", "subint.TFORM.*"),
    F("subint.NSBLK", "", "subint.TFORM.*"),
    F("subint.TBIN", FILTERBANK_RATE, "column.OFFS_SUB"),
    F("subint.CHAN_BW", "", "column.DAT_FREQ", removed="told"),
    F("subint.SIGNINT", "rows", removed="default", same="*"),
    F("subint.ZERO_OFF", "rows", removed="default"),
    F("subint.POL_TYPE", "", same="*", removed="default"),
    F("subint.TTYPE2", "", removed="default", same="*"),  # OTHER, a column that PSRFITS does not define
    F("subint.TTYPE.*", "rows", "*structure", same="*", says="TTYPE|column|DATA|DAT_|OFFS_SUB|row"),
    F("subint.TFORM.*", "", "*structure", same="*", says="TFORM|column|DATA|DAT_|OFFS_SUB|row|NAXIS1"),
    F("subint.TDIM.*", "", "subint.NCHAN", removed="told", same="*"),
    F("subint.(BITPIX|NAXIS|PCOUNT|GCOUNT)", removed="default", same="*", says="BITPIX|NAXIS|PCOUNT|GCOUNT|FITS|SUBINT"),
    F("subint.(NAXIS1|NAXIS2|TFIELDS|EXTNAME)", "shape rows", "*structure!half!one",
      says="NAXIS|TFIELDS|EXTNAME|SUBINT|FITS|column|row|table"),
    F("subint.NSUBOFFS", START, "column.OFFS_SUB", removed="default"),
    F("subint.NCHNOFFS", "", removed="default", same="*"),
    F("subint.NUNPK|subint.NSTOT", "", removed="default", same="*"),
    F("column OFFS_SUB", START, "subint.TBIN", says="OFFS_SUB"),
    F("column DAT_FREQ", "freq rows shape delays", "subint.CHAN_BW", removed="told", says="DAT_FREQ|channel"),
    F("column DAT_(WTS|SCL|OFFS)", "rows weights", removed="guess", says="DAT_", last="own", same="negated"),
    F("column TSUBINT", "", "subint.TBIN", removed="told", last="own", says="TSUBINT"),
    F("column DATA", "rows", last="own", says="DATA"),
    F("column .*", removed="default", last="free"),
]
FITS_ALSO = {(0, "OBSFREQ"): 1384.5, (0, "OBSBW"): -32.0, (0, "OBSNCHAN"): 32, (0, "SRC_NAME"): "B1937+21",
             (0, "TELESCOP"): "GBT", (0, "RA"): "19:39:38.6", (0, "DEC"): "+21:34:59", (0, "OBSERVER"): "someone",
             (0, "DATE-OBS"): "2017-09-04T01:06:40", (0, "CHAN_DM"): 0.0, (1, "NSUBOFFS"): 0, (1, "NCHNOFFS"): 0,
             (1, "TDIM7"): "(32,1,200)"}


# ---- HDF5

def rest():
    """Attributes that say nothing which a product depends on."""
    return [F(".*", removed="default", last="free", same="*", governs="about names")]


FBH5 = [
    F("/@CLASS|/@VERSION", removed="default", same="*"),
    F("/data@fch1", "freq rows shape delays", "/@fch1", says="fch1|channel .* (is|lies) at|channels from|delays", step={"freq": 1e6}),
    F("/data@foff", "freq rows shape delays", "/@foff", says="foff|at distances of"),
    F("/data@tsamp", FILTERBANK_RATE, "/@tsamp", says="tsamp|a spectrum every", step={"rate": -1}),
    F("/data@tstart", START, "/@tstart", removed="default", step={"start": 86400}),
    F("/@fch1", "", "/data@fch1", removed="told"),
    F("/@foff", "", "/data@foff", removed="told"),
    F("/@tsamp", "", "/data@tsamp", removed="told"),
    F("/@tstart", "", "/data@tstart", removed="told"),
    F("/data@(nchans|nifs|nbits)", "", "*shape", removed="told"),
    F("/data@(source_name|telescope_id|src_raj|src_dej)", NAMES, removed="default", same="*"),
    *rest(),
]
FBH5_ROOT = {"/@fch1": 400.0, "/@foff": -1.0, "/@tsamp": 1e-3, "/@tstart": 58849.0}
FBH5_ALSO = {"/@CLASS": "FILTERBANK", "/@VERSION": "1.0", "/data@nchans": 32, "/data@nifs": 1, "/data@nbits": 8,
             "/data@source_name": "B1937+21", "/data@telescope_id": 6, "/data@src_raj": 19.66, "/data@src_dej": 21.58,
             "/data@data_type": 1, "/data@machine_id": 20, "/data@az_start": 1.5, "/data@za_start": 2.5,
             "/data@nbeams": 1, "/data@ibeam": 1, "/data@nfpc": 32}

DIGITAL_RF = [  # MITHaystack/digital_rf c/lib/rf_write_hdf5.c
    F("/rf_data@sample_rate_(numerator|denominator)", RATE + " start names", says="sample_rate|sample rate|rate"),
    F("/@sample_rate_(numerator|denominator)", FREQ, removed="default", same="*", says="sample_rate|sample rate|rate"),  # of the metadata
    F("/rf_data@is_complex", "", "*type=zero=half", removed="told", same="double"),  # any number but 0 means yes
    F("/rf_data@num_subchannels", "", "*shape", removed="told"),
    F("/rf_data@is_continuous", SPAN, removed="default", same="*"),
    F("/rf_data@epoch", START, removed="default", more={"another": "1980-01-06T00:00:00Z"}, same="empty"),
    F("/rf_data_index", START + " " + SPAN, says="rf_data_index|index|starts|overlap", last="own"),
    F(".*center_frequencies", "freq names " + SPAN, says="center_frequencies|centre|frequency", last="own"),
    *rest(),
]
DIGITAL_RF_ALSO = {"/rf_data@is_continuous": np.int32(0), "/rf_data@epoch": "1970-01-01T00:00:00Z",
                   "/rf_data@subdir_cadence_secs": np.uint64(3600), "/rf_data@file_cadence_millisecs": np.uint64(1000),
                   "/rf_data@digital_rf_version": "2.6.0", "/rf_data@sequence_num": np.int32(0)}

LOFAR_BF = [  # ICD-003; jjdmol/LOFAR MSWriterDAL.cc
    F(".*@SAMPLING_RATE", RATE, removed="told", says="SAMPLING_RATE|sample rate", step={"rate": 1}, against=".*@SAMPLING_TIME .*@CLOCK_FREQUENCY"),
    F(".*@SAMPLING_RATE_UNIT", "", removed="default", same="*"),
    F(".*@SAMPLING_TIME", "", ".*@SAMPLING_RATE", removed="told"),
    F(".*@CHANNEL_WIDTH", "", ".*@SAMPLING_RATE", removed="told"),
    F(".*@COMPLEX_VOLTAGE", "", ".*@STOKES_COMPONENT", same="*"),
    F(".*@STOKES_COMPONENT", "names rows shape", "*file", says="STOKES_COMPONENT|Stokes|STOKES_s", known=True),
    F(".*@AXIS_VALUES_WORLD", FREQ + " rows", "*rate!double!negated!removed", says="AXIS_VALUES_WORLD|coarse channel"),
    F(".*@AXIS_UNITS", "", removed="default", same="*", last="free"),
    F(".*@OBSERVATION_START_UTC", START, says="OBSERVATION_START_UTC|starts at", against=".*@OBSERVATION_START_MJD", removed="told",
      more={"another second": "2011-07-27T12:00:01.125000000"}),
    F(".*@OBSERVATION_START_MJD", "", ".*@OBSERVATION_START_UTC", removed="told"),
    F(".*@EXPTIME_START_UTC", START, ".*@OBSERVATION_START_UTC", removed="told", same="*"),
    F(".*@NOF_SAMPLES", SPAN, "*length", removed="told", same="*"),
    F(".*@(NOF_SUBBANDS|NOF_CHANNELS)", "", "*shape", removed="told", same="*"),
    F("/@FILETYPE", "", removed="default", same="*"),
    F("/@OBSERVATION_ID", "names about", removed="default", same="*", says="of observation"),
    *rest(),
]
LOFAR_BF_BEAM = "/SUB_ARRAY_POINTING_001/BEAM_002"
LOFAR_BF_ALSO = {f"{LOFAR_BF_BEAM}@SAMPLING_TIME": 5.12e-6, f"{LOFAR_BF_BEAM}@CHANNEL_WIDTH": 195312.5,
                 "/@CLOCK_FREQUENCY": 200.0, "/@OBSERVATION_START_MJD": 55769.5 + 0.125 / 86400, "/@TARGETS": "B1937+21",
                 "/@OBSERVER": "someone"}

LOFAR_TBB = [  # ICD-001
    F(".*@SAMPLE_FREQUENCY", RATE + " start", says="SAMPLE_FREQUENCY|sample rate|at .* Hz", known=True),
    F(".*@SAMPLE_FREQUENCY_UNIT", RATE + " start", same="*", removed="default"),
    F(".*@(TIME|SAMPLE_NUMBER)", START + " " + SPAN, last="own", says="TIME|SAMPLE_NUMBER|begins?", known=True),
    F(".*@NYQUIST_ZONE", "freq rows sideband"),
    F(".*@DATA_LENGTH", SPAN, last="own", same="*", removed="default", says="DATA_LENGTH|no sample in common"),
    F(".*@FLAG_OFFSETS", SPAN, removed="default", last="own"),
    *rest(),
]

CHIME_BEAM = [  # baseband_analysis/core/bbdata.py
    F("/@delta_time", RATE, "*band=half=zero", known=True, step={"rate": -1}),
    F(".*@conjugate_beamform", "rows sideband freq", same="*"),
    F(".*@DM", "about names rows freq", removed="default", same="*"),
    F("/index_map/freq.centre", FREQ + " rows weights", known=True, says="centre|coarse channel"),
    F("/time0.fpga_count", SPAN + " start", "/time0.ctime", known=True),
    F("/time0.ctime", START, step={"start": 1}, says="ctime|its time", known=True),
    F("/time0.ctime_offset", START, "/time0.fpga_count", says="offset", known=True),
    F("/index_map/freq.id", "", "/index_map/freq.centre", removed="default", same="*"),
    *rest(),
]

CHIME_RAW = [  # kotekan basebandReadout.cpp, baseband_archiver.py
    F("/@freq_id", "", "/@freq", removed="default", last="own", says="freq_id|by its number"),
    F("/@freq", FREQ + " rows weights", "/@freq_id", says="freq|coarse channel at", known=True, last="own"),
    F("/@delta_time", RATE, "*band=half=zero", known=True),
    F("/@time0_fpga_count", SPAN + " start", known=True),
    F("/@time0_ctime", START, step={"start": 1}, says="ctime|its time", known=True),
    F("/@time0_ctime_offset", START, "/@time0_fpga_count", removed="default", says="offset"),
    F("/@event_id", "names about", removed="default", same="*", says="event"),
    *rest(),
]
CHIME_RAW_ALSO = {"/@freq_id": lambda file: np.uint32(round((800 - file.attrs["freq"]) / 0.390625)), "/@time0_ctime_offset": 0.0}

MEERKAT = [  # ska-sa/katsdpbfingest
    F("/Data/timestamps", START + " " + SPAN, says="timestamps|sample", last="own", same="double half negated"),
    F("/Data/flags", SPAN, says="flags|lost heaps", last="own", removed="default", same="double half negated minus_one"),
    F("/Data@stream_name", NAMES, removed="default", same="*", last="own", says="stream_name|overlap"),
    *rest(),
]

PYDAQ = [  # ska-low-mccs-daq persisters
    F("/root@n_(antennas|pols|chans)", "names rows shape", "*shape", known=True),
    F("/root@n_beams", "", removed="default", same="*"),
    F("/root@type", "", "*name", known=True, says="type|no dataset|tsamp"),
    F("/root@channel_id", FREQ, known=True, step={"freq": 400e6 / 512}),
    F("/root@tsamp", RATE, "*band", known=True, says="tsamp|one sample in", step={"rate": -1}),
    F("/root@(ts_start|timestamp)", START, known=True, says="ts_start|timestamp|the first at", step={"start": 1}),
    F("/root@n_(samples|blocks)", SPAN, "*length!half!one", known=True),
    *rest(),
]
PYDAQ_RAW = [F("/root@channel_id", "", same="*", removed="default"), F("/root@tsamp", RATE, known=True, says="tsamp|one sample in", step={"rate": -1}), *PYDAQ]

GREX = [  # GReX-T0 src/dumps.rs
    F("/freq", FREQ + " rows", "*rate!double!negated!removed", known=True),
    F("/time", START, says="time|take", known=True),
    F("/pol", NAMES, removed="default", same="*", known=True),
    F("/reim", "", removed="default", same="*", known=True),
    *rest(),
]


# ---- our own: docs/archives.md, docs/products.md

NATIVE = [
    F("/@format", "", "*structure", known=True),
    F("/@format_version", "", same="*"),
    F("/@start_mjd_day|/@start_second", START + " " + SPAN, last="own", says="start"),
    F("/@time_scale", START),
    F("/@(telescope|source|ra_deg|dec_deg)", NAMES, removed="default", same="*"),
    F("/voltages@axes", "rows shape names", "*shape", says="axes|dimension|axis"),
    F("/voltages@sample_rate_hz", RATE, says="sample.rate|samples (before|behind)"),
    F("/voltages@domain", "rows shape domain rate freq", "*type", more={"other": "real"}),
    F("/voltages@sideband", "rows sideband freq"),
    F("/voltages@scale", "rows", removed="default"),
    F("/voltages@(dc|offset|missing_value)", "rows freq weights", removed="default", same="*"),
    F("/voltages@oversampling_(num|den)", "rows freq oversampling", removed="guess", says="oversampling"),
    F("/freq_hz", FREQ + " rows weights", says="freq_hz|frequency"),
    F("/gaps", SPAN, removed="default", says="gap", last="own"),
    F("/(pol|station)", NAMES, removed="default", says="pol|station", same=""),
    *rest(),
]
NATIVE_ALSO = {"/@telescope": "GBT", "/@source": "B1937+21", "/@ra_deg": 294.9, "/@dec_deg": 21.58,
               "/@format_version": np.int32(3), "/voltages@scale": 0.5, "/voltages@dc": "centre",
               "/voltages@missing_value": 77.0, "/voltages@oversampling_num": np.int32(4),
               "/voltages@oversampling_den": np.int32(3), "/pol": np.array([b"X", b"Y"])}

SPECTRA = [
    F("/@format", "", "*structure", known=True),
    F("/@format_version", "", same="*"),
    F("/@start_mjd_day|/@start_second", START),
    F("/@time_scale", START),
    F("/@first_time", START, step={"start": 1}),
    F("/@time_step", "", "/@sample_rate_hz", removed="told"),
    F("/@sample_rate_hz", RATE, "/frequency"),
    F("/@domain", "rows shape", "*band", more={"other": "real"}),
    F("/@sideband", "rows", same="*"),
    F("/@channels", RATE, "*shape", known=True),
    F("/@taps", "", removed="default", same="*", known=True),
    F("/@integrate", RATE, "", same=""),
    F("/@oversampling_(num|den)", RATE + " oversampling", says="oversampling"),
    F("/@order", "rows freq", "/frequency", more={"other": "fft"}),
    F("/@first_sample", "", removed="default", same="*"),
    F("/spectra@axes", "rows shape names", "*shape", says="axes|axis|dimension"),
    F("/frequency", FREQ, "/@sample_rate_hz!removed", says="frequency|frequencies"),
    F("/coefficients", "", removed="default", same="*", known=True),
    F("/@(telescope|source|ra_deg|dec_deg)", NAMES, removed="default", same="*"),
    *rest(),
]
SPECTRA_ALSO = {"/@time_scale": "UTC", "/@time_step": 0.75e-6, "/@first_sample": 0, "/@telescope": "GBT",
                "/@source": "B1937+21"}

DESCRIBED = [  # docs/job-file.md, input.layout
    F("/@first", SPAN, says="first", last="own"),
    F("/v@rate", RATE, "*rate!double!half!removed", step={"rate": 1}, says="rate"),
    F("/v@began", START, step={"start": 1}, says="began|start"),
    F("/v@scale", "rows"),
    F("/v@sideband", "rows freq sideband"),
    F("/v@source", NAMES, same="empty"),
    F("/v@ra", NAMES, says="ra"),
    F("/mhz", FREQ + " rows weights", "*rate!double!half!negated!removed", says="mhz|freq"),
    *rest(),
]


# ---- mocks of more headers than those of mocks/every.py

MORE = {}


def also(kind=every.VOLTAGES):
    def take(write):
        MORE[write.__name__] = (write, kind)
        return write
    return take


@also()
def vdif_edv3(at, rng):
    """An extended header that states the rate and the frequency: 64 kHz real samples."""
    body = [rng.bytes(1000) for _ in range(60)]
    with open(at("obs.vdif"), "wb") as file:
        for i, some in enumerate(body):
            frame = packets.vdif_frame(some, 1000 + i // 32, i % 32, 0, bits=4)
            file.write(frame[:16] + struct.pack("<4I", 3 << 24 | 32, 0xacabfeed, 0, 0) + frame[32:])
    return "obs.vdif"


@also()
def described_said(at, rng):
    """A plain file that says itself what can be said of it: two channels of 0.25 MHz, 0.5 MHz apart."""
    with h5py.File(at("obs.h5"), "w") as file:
        file["v"] = every.noise(rng, (4000, 2, 2))
        file["v"].attrs.update({"rate": 0.25, "began": 1.7e9 + 0.25, "scale": 0.5, "sideband": 1, "source": "B1937+21",
                                "ra": 19.66})
        file["mhz"] = [1400.0, 1400.5]
    said = {key: {"attribute": f"@{key}"} for key in ("scale", "sideband", "source")}
    return {"files": "obs.h5", "layout": {
        "dataset": "/v", "axes": "time,chan,reim", "sample_rate_hz": {"attribute": "@rate", "unit": "MHz"},
        "start": {"attribute": "@began", "unit": "unix"}, "freq_hz": {"from": "/mhz", "unit": "MHz"},
        "ra_deg": {"attribute": "@ra", "unit": "hours"}, "dec_deg": 21.58, **said}}


def write(name, folder):
    """Like every.write, of these mocks, too."""
    every.MOCKS.update(MORE)
    return every.write(name, folder)


# ---- which mock has which table: editor, table, and the variants of its headers

def guppi(**how):
    return lambda folder, names, more: headers.Guppi(folder, names, more)


def dada(folder, names, more):
    return headers.Dada(folder, names, more)


def frames(size, bits, begin=b""):
    return lambda folder, names, more: headers.Frames(folder, names, size, bits, more, begin)


def fil(folder, names, more):
    return headers.Sigproc(folder, names, FIL_DOUBLES, FIL_TEXTS, more)


def hdf5(skip="^$"):
    return lambda folder, names, more: headers.Hdf5(folder, names, more, skip)


FORMATS = {
    "guppi": (guppi(), GUPPI, {"bare": {}, "rich": GUPPI_ALSO, "drops": {**GUPPI_ALSO, **GUPPI_DROPS, "PKTSTART": 0}, "start": {"PKTSTART": 16}}),
    "guppi_simple": (guppi(), GUPPI, {"bare": {}, "rich": GUPPI_ALSO}),
    "guppi_long": (guppi(), GUPPI, {"bare": {}}),
    "dada": (dada, DADA, {"bare": {}, "rich": DADA_ALSO}),
    "dada_heaps": (dada, DADA, {"bare": {}, "rich": {**DADA_ALSO, "FILE_SIZE": None}}),
    "dada_long": (dada, DADA, {"bare": {}}),
    "mwax": (dada, MWAX, {"bare": {}}),
    "vdif": (frames(32 + 128, VDIF_BITS), vdif("*job", "*job"), {"bare": {}}),
    "vdif_complex": (frames(16 + 400, VDIF_BITS), vdif(), {"bare": {}}),
    "vdif_edv3": (frames(32 + 1000, EDV_BITS), vdif("", "rate"), {"bare": {}}),
    "vdif_mask": (frames(32 + 512, MASK_BITS), VDIF_MASK, {"bare": {}}),
    "drx": (frames(4128, DRX_BITS), DRX, {"bare": {}}),
    "drx8": (frames(8224, DRX_BITS, b"\xde\xc0\xde\x5c"), DRX, {"bare": {}}),
    "lofar_udp": (frames(208, LOFAR_UDP_BITS), LOFAR_UDP, {"bare": {}}),
    "npy": (headers.Npy, NPY, {"bare": {}}),
    "sigmf": (lambda folder, names, more: headers.Json(folder, names, ".sigmf-meta"), SIGMF, {"bare": {}}),
    "wav": (frames(44, WAV_BITS, b"RIFF"), WAV, {"bare": {}}),
    "digital_rf": (hdf5("rf_data$"), DIGITAL_RF, {"bare": {}, "rich": DIGITAL_RF_ALSO}),
    "lofar_bf": (hdf5("STOKES_.$"), LOFAR_BF, {"bare": {}, "rich": LOFAR_BF_ALSO}),
    "lofar_tbb": (hdf5("DIPOLE_"), LOFAR_TBB, {"bare": {}}),
    "chime_beam": (hdf5("tiedbeam_baseband"), CHIME_BEAM, {"bare": {}}),
    "chime_raw": (hdf5("baseband"), CHIME_RAW, {"bare": {}, "rich": CHIME_RAW_ALSO}),
    "meerkat": (hdf5("bf_raw"), MEERKAT, {"bare": {}}),
    "pydaq_channel": (hdf5("data|/root"), PYDAQ, {"bare": {}}),
    "pydaq_raw": (hdf5("data|/root"), PYDAQ_RAW, {"bare": {}}),
    "grex": (hdf5("voltages"), GREX, {"bare": {}}),
    "native": (hdf5("voltages"), NATIVE, {"bare": {}, "rich": NATIVE_ALSO}),
    "spectra": (hdf5("spectra"), SPECTRA, {"bare": {}, "rich": SPECTRA_ALSO}),
    "described": (hdf5("/v"), DESCRIBED, {"bare": {}}),
    "described_said": (hdf5("/v$"), DESCRIBED, {"bare": {}}),
    "fbh5": (hdf5("data"), FBH5, {"bare": {}, "rich": FBH5_ALSO, "root": FBH5_ROOT}),
    "sigproc": (fil, FIL, {"bare": {}, "rich": FIL_ALSO}),
    "psrfits": (headers.Fits, FITS, {"bare": {}, "rich": FITS_ALSO}),
}

# The job alone describes the samples of these; HDF5 describes the storage of compressed ones.
NO_HEADER = ("raw", "sigmf_archive", "rf64", "described_heaps", "described_long", "virtual", "deflate", "lzf", "bitshuffle", "zstd", "lz4")


def row(table, name):
    return next((one for one in table if re.fullmatch(one.name, name)), None)
