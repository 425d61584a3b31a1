"""Chunks of HDF5 datasets that went through filters which h5py does not have, made by hand."""
import struct
import zlib

import h5py
import numpy as np

try:
    import lz4.block as lz4
except ImportError:
    lz4 = None

DEFLATE, SHUFFLE, FLETCHER, SCALE, LZF, LZ4, BITSHUFFLE, ZSTD = 1, 2, 3, 6, 32000, 32004, 32008, 32015


def lz4_block(data):
    """By the library, or literals alone, which every decompressor must take, too."""
    if lz4:
        return lz4.compress(data, store_size=False)
    rest = len(data) - 15
    return b"\xf0" + b"\xff" * (rest // 255) + bytes([rest % 255]) + data if rest >= 0 else bytes([len(data) << 4]) + data


def zstd_frame(data):
    """One frame of blocks that are stored as they are."""
    out = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))  # single segment, four bytes of size
    for at in range(0, len(data), 65536):
        piece = data[at:at + 65536]
        out += struct.pack("<I", len(piece) << 3 | (at + 65536 >= len(data)))[:3] + piece
    return out


def lz4_filter(data, block=10000):
    out = struct.pack(">QI", len(data), block)
    for at in range(0, len(data), block):
        piece = data[at:at + block]
        packed = lz4_block(piece)
        packed = piece if len(packed) >= len(piece) else packed
        out += struct.pack(">I", len(packed)) + packed
    return out


def planes(data, size):
    bits = np.unpackbits(np.frombuffer(data, "u1").reshape(-1, size), axis=1, bitorder="little")
    return np.packbits(bits.T.copy(), axis=1, bitorder="little").tobytes()


def bitshuffle(data, size, block, pack):
    """block: elements; pack: None for bits alone"""
    n = len(data) // size
    out = struct.pack(">QI", len(data), block * size) if pack else b""
    at = 0
    while at < n // 8 * 8:
        count = min(block, (n - at) // 8 * 8)
        piece = planes(data[at * size:(at + count) * size], size)
        piece = pack(piece) if pack else piece
        out += struct.pack(">I", len(piece)) + piece if pack else piece
        at += count
    return out + data[at * size:]


def shuffled(data, size):
    n = len(data) // size
    return np.frombuffer(data[:n * size], "u1").reshape(n, size).T.tobytes() + data[n * size:]


def fletcher(data):
    a = b = 0
    for word in struct.unpack(">%dH" % (len(data) // 2), data[:len(data) // 2 * 2]):
        a = (a + word) % 65535
        b = (b + a) % 65535
    if len(data) % 2:
        a = (a + (data[-1] << 8)) % 65535
        b = (b + a) % 65535
    return data + struct.pack("<I", b << 16 | a)


def apply(filters, data):
    for number, values in filters:
        if number == DEFLATE:
            data = zlib.compress(data, values[0])
        elif number == SHUFFLE:
            data = shuffled(data, values[0])
        elif number == FLETCHER:
            data = fletcher(data)
        elif number == LZ4:
            data = lz4_filter(data)
        elif number == ZSTD:
            data = zstd_frame(data)
        elif number == BITSHUFFLE:
            size, block = values[2], values[3] or max(8192 // values[2] // 8 * 8, 128)
            data = bitshuffle(data, size, block, {0: None, 2: lz4_block, 3: zstd_frame}[values[4]])
    return data


def write_chunks(path, data, chunk, filters, masks={}, change=None):
    """Dataset v. masks: {chunk along time: mask}. change(number, bytes): what is written instead."""
    with h5py.File(path, "w") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(chunk)
        for number, values in filters:
            if number == SHUFFLE:
                plist.set_shuffle()
            elif number == FLETCHER:
                plist.set_fletcher32()
            else:
                plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL, tuple(values))
        space = h5py.h5s.create_simple(data.shape)
        v = h5py.h5d.create(f.id, b"v", h5py.h5t.py_create(data.dtype, logical=True), space, plist)
        for i, at in enumerate(np.ndindex(*[-(-n // c) for n, c in zip(data.shape, chunk)])):
            start = [a * c for a, c in zip(at, chunk)]
            part = data[tuple(slice(s, s + c) for s, c in zip(start, chunk))]
            whole = np.zeros(chunk, data.dtype)
            whole[tuple(slice(0, n) for n in part.shape)] = part
            mask = masks.get(i, 0)
            said = apply([f for k, f in enumerate(filters) if not mask >> k & 1], whole.tobytes())
            v.write_direct_chunk(tuple(start), change(i, said) if change else said, mask)
