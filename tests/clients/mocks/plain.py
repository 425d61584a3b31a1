"""Files without a container: raw numbers, numpy's .npy, SigMF, WAV and RF64, each written by hand from its definition."""
import io
import json
import os
import struct
import tarfile

import numpy as np

META, SAMPLES = ".sigmf-meta", ".sigmf-data"


def write(path, *pieces):
    with open(path, "wb") as file:
        file.write(b"".join(piece if isinstance(piece, bytes) else np.ascontiguousarray(piece).tobytes() for piece in pieces))
    return path


def npy_header(**words):
    """A header of version 1 whose dictionary has these words, such as descr="'<i2'", as they are."""
    said = "{" + "".join(f"'{key}': {value}, " for key, value in words.items()) + "}"
    text = said.ljust((len(said) + 11 + 63) // 64 * 64 - 11) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()


def write_npy(path, payload, **words):
    return write(path, npy_header(**{"descr": "'|i1'", "fortran_order": False, **words}), payload)


def sigmf_meta(datatype="ci16_le", captures=({"core:sample_start": 0},), annotations=(), **words):
    said = {"core:datatype": datatype, "core:version": "1.0.0", "core:sample_rate": 1e6,
            **{f"core:{key}": value for key, value in words.items()}}
    return {"global": {key: value for key, value in said.items() if value is not None}, "captures": list(captures),
            "annotations": list(annotations)}


def write_sigmf(path, payload, meta):
    """PATH.sigmf-meta and PATH.sigmf-data."""
    write(path + META, json.dumps(meta, indent=4).encode())
    return write(path + SAMPLES, payload)


def write_sigmf_archive(path, payload, meta, name="obs"):
    with tarfile.open(path, "w") as archive:
        for ending, data in ((META, json.dumps(meta).encode()), (SAMPLES, payload)):
            entry = tarfile.TarInfo(os.path.join(name, name + ending))
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def chunk(name, body, size=None):
    return name + struct.pack("<I", len(body) if size is None else size) + body + b"\0" * (len(body) % 2)


def wav_format(code, channels, bits, rate=48000, extensible=False):
    frame = channels * bits // 8
    body = struct.pack("<HHIIHH", 0xfffe if extensible else code, channels, rate, rate * frame, frame, bits)
    guid = struct.pack("<H", code) + bytes.fromhex("000000001000800000aa00389b71")
    return chunk(b"fmt ", body + (struct.pack("<HHI", 22, bits, 3) + guid if extensible else b""))


def auxi(start=(2024, 5, 1, 6, 7, 8, 9, 250), hertz=7100000):
    """A start, a stop, and the frequency of the middle of the band."""
    return chunk(b"auxi", struct.pack("<16H9I", *start, *start, hertz, *[0] * 8))


def auxi_xml(start=1714543628, hertz=7100000, encoding="utf-16-le"):
    """The same as SDR Console writes it: XML, whole seconds since 1970."""
    said = (f'<?xml version="1.0"?>\r\n<SDR-XML-Root xml:lang="EN" Created="01-May-2024 06:07"><Definition CurrentTimeUTC="01-05-2024 06:07:08"'
            f' Folder="F:\\\u2202" RadioCenterFreq="{hertz}" SampleRate="48000" UTCSeconds="{start}"></Definition></SDR-XML-Root>\r\n\0')
    return chunk(b"auxi", said.encode(encoding, "replace"))


def pack24(numbers):
    return np.asarray(numbers, "<i4").reshape(-1, 1).view("u1").reshape(-1, 4)[:, :3].tobytes()


def write_wav(path, payload, form, before=b"", size=None, riff=b"RIFF", after=b""):
    """size: of the data chunk, as its header says it; of RF64 that of ds64."""
    said = len(payload) if size is None else size
    long = riff != b"RIFF"
    head = chunk(b"ds64", struct.pack("<QQQI", len(payload) + 100, said, 0, 0)) if long else b""
    data = b"data" + struct.pack("<I", 0xffffffff if long else said) + payload + b"\0" * (len(payload) % 2)
    body = b"WAVE" + head + form + before + data + after
    return write(path, riff, struct.pack("<I", 0xffffffff if long else len(body) & 0xffffffff), body)
