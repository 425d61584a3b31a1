"""SIGPROC and search-mode PSRFITS."""
import struct

import numpy as np

TSAMP = 1e-3


def pack(numbers, bits, low_first):
    """uint8 or less, packed from the low (SIGPROC) or the high (FITS) bits of a byte on; the last byte is filled up."""
    each = 8 // bits
    shifts = [bits * i for i in range(each)]
    flat = numbers.astype("u1").ravel()
    groups = np.pad(flat, (0, -len(flat) % each)).reshape(-1, each)
    packed = groups[:, 0] * 0
    for i, shift in enumerate(shifts if low_first else shifts[::-1]):
        packed |= groups[:, i] << shift
    return packed.tobytes()


def word(name, value=None):
    """A keyword and its value: bytes as they are; a list is a table of frequencies."""
    if isinstance(value, list):
        return word("FREQUENCY_START") + b"".join(word("fchannel", mhz) for mhz in value) + word("FREQUENCY_END")
    text = struct.pack("<i", len(name)) + name.encode()
    if isinstance(value, int):
        return text + struct.pack("<i", value)
    if isinstance(value, str):
        return text + struct.pack("<i", len(value)) + value.encode()
    if isinstance(value, bytes):
        return text + value
    return text + (struct.pack("<d", value) if value is not None else b"")


def write_fil(path, values, bits, foff=-1.0, without=(), **words):
    """values [time][if][chan]; `without` these keywords"""
    words = {"telescope_id": 4, "nbits": bits, "nchans": values.shape[2], "nifs": values.shape[1], "fch1": 1400.0,
             "foff": foff, "tsamp": TSAMP, "tstart": 58000.25, "source_name": "B1", "src_raj": 123456.7, **words}
    kind = {8: "u1", 16: "<u2", 32: "<f4"}.get(bits)
    with open(path, "wb") as file:
        said = (item for item in words.items() if item[0] not in without)
        file.write(word("HEADER_START") + b"".join(word(*item) for item in said) + word("HEADER_END"))
        file.write(values.astype(kind).tobytes() if kind else pack(values, bits, True))
    return path


def card(key, value):
    """A card of FITS; a value of bytes is the whole rest of the card."""
    if isinstance(value, bytes):
        return (f"{key:<8}".encode() + value).ljust(80)
    if isinstance(value, bool):
        value = "FT"[value].rjust(20)
    else:
        value = f"'{value:<8}'" if isinstance(value, str) else f"{value:>20}"
    return f"{key:<8}= {value:<70}".encode()


def unit(cards, data=b""):
    head = b"".join(card(*item) for item in cards) + b"END".ljust(80)
    return head.ljust(-(-len(head) // 2880) * 2880) + data.ljust(-(-len(data) // 2880) * 2880, b"\0")


def changed(cards, words):
    """The cards with other values, and further ones; without those of value None."""
    cards = {**dict(cards), **(words or {})}
    return [item for item in cards.items() if item[1] is not None]


def fits_columns(stored, bits, scale, offset, weight, starts, signed, freqs="E"):
    """name: (TFORM, array [row][...] as it is stored), in the order of the table."""
    rows, nsblk, pols, chans = stored.shape
    kind = {8: "i1" if signed else "u1", 16: ">i2", 32: ">f4"}.get(bits)
    data = stored.astype(kind).reshape(rows, -1) if kind else \
        np.frombuffer(pack(stored, bits, False), "u1").reshape(rows, -1)
    mhz = np.tile(1400.0 - np.arange(chans), (rows, 1)).astype({"E": ">f4", "D": ">f8"}[freqs])
    return {"OFFS_SUB": ("1D", ((np.array(starts) + nsblk / 2) * TSAMP).astype(">f8")),
            "OTHER": ("1B", np.full(rows, 120, "u1")),
            "DAT_FREQ": (f"{chans}{freqs}", mhz),
            "DAT_WTS": (f"{chans}E", weight.astype(">f4")),
            "DAT_OFFS": (f"{chans * pols}E", offset.astype(">f4")),
            "DAT_SCL": (f"{chans * pols}E", scale.astype(">f4")),
            "DATA": (f"{data.shape[1]}{ {16: 'I', 32: 'E'}.get(bits, 'B')}", data)}


def write_fits(path, stored, bits, scale, offset, weight, starts, signed=0, zero=0.0, first=None, table=None,
               columns=None):
    """stored [row][nsblk][pol][chan]; scale, offset [row][pol][chan]; weight [row][chan]; starts: spectra. `first`,
    `table`: other cards of the headers (None: without it); `columns`: other columns, as of fits_columns()."""
    rows, nsblk, pols, chans = stored.shape
    columns = changed(fits_columns(stored, bits, scale, offset, weight, starts, signed).items(), columns)
    arrays = [array.reshape(rows, -1) for _, (_, array) in columns]
    data = b"".join(array[i].tobytes() for i in range(rows) for array in arrays)
    cards = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", len(data) // rows), ("NAXIS2", rows),
             ("PCOUNT", 0), ("GCOUNT", 1), ("TFIELDS", len(columns)), ("EXTNAME", "SUBINT"), ("NBITS", bits),
             ("NCHAN", chans), ("NPOL", pols), ("NSBLK", nsblk), ("TBIN", TSAMP), ("CHAN_BW", -1.0),
             ("SIGNINT", signed or int(bits == 16)), ("ZERO_OFF", zero),
             ("POL_TYPE", {1: "AA+BB", 2: "AABB", 4: "IQUV"}[pols])]
    for i, (column, (form, _)) in enumerate(columns):
        cards += [(f"TTYPE{i + 1}", column), (f"TFORM{i + 1}", form)]
    other = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 100), ("NAXIS2", 30), ("PCOUNT", 0),
             ("GCOUNT", 1), ("TFIELDS", 1), ("TTYPE1", "X"), ("TFORM1", "100B"), ("EXTNAME", "HISTORY")]
    head = [("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 0), ("FITSTYPE", "PSRFITS"), ("OBS_MODE", "SEARCH"),
            ("STT_IMJD", 58000), ("STT_SMJD", 4000), ("STT_OFFS", 0.125)]
    with open(path, "wb") as file:
        file.write(unit(changed(head, first)) + unit(other, bytes(3000)) + unit(changed(cards, table), data))
    return path
