"""Frames of VDIF and packets of LWA DRX and of LOFAR's stations."""
import struct

import numpy as np


def vdif_frame(body, second=1000, frame=0, thread=0, bits=8, is_complex=0, log2=0, legacy=0, extended=0, epoch=28,
               invalid=0, length=0, station=0x4566):
    """A frame. length: 8 bytes more than it has, as its header says; epoch: half years after 2000."""
    words = [invalid << 31 | second | legacy << 30, epoch << 24 | frame,
             1 << 29 | log2 << 24 | ((16 if legacy else 32) + len(body)) // 8 + length,
             is_complex << 31 | bits - 1 << 26 | thread << 16 | station, extended,
             0xacabfeed if extended else 0, 0, 0]
    return struct.pack("<8I", *words)[:16 if legacy else 32] + body


def write_vdif(path, bits, is_complex, threads, log2, frames, rate_frames, samples, legacy=0,
               extended=0, first=0, epoch=28, second=1000, lose=(), generator=None):
    """Random numbers, in order of time; frames (period, thread) of `lose` are left out."""
    payload = samples * bits * (1 + is_complex) << log2 >> 3
    with open(path, "wb") as file:
        for frame in range(first, first + frames):
            for thread in range(threads):
                body = generator.integers(0, 256, payload, dtype="u1").tobytes()
                if (frame - first, thread) not in lose:
                    file.write(vdif_frame(body, second + frame // rate_frames, frame % rate_frames, thread, bits,
                                          is_complex, log2, legacy, extended, epoch))
    return path


def vdif_mask(frame, bits, mask):
    """The frame with a header of EDV 4, as DiFX's vdifio writes it: a validity mask of this number of bits."""
    return frame[:16] + struct.pack("<2IQ", 4 << 24 | bits << 16, 0xacabfeed, mask) + frame[32:]


def vdif_flagged(frame, generator):
    """The frame flagged invalid, of which no other field means anything."""
    header = bytearray(generator.integers(0, 256, 32, dtype="u1").tobytes())
    header[3] |= 0x80
    return bytes(header) + frame[32:]


def drx_packet(body, number, ident=0, beam=2, decimation=10, ticks=0, tuning=1 << 30, sync=0xdec0de5c):
    """A packet of 4096 bytes, or 8192 (DRX8): ident is its tuning times two plus its polarisation, number the packet's in its stream."""
    tag = 257355782095018376 + 40960 * number + ticks
    return struct.pack(">IBBHIHHQIi", sync, beam | (1 + ident // 2) << 3 | ident % 2 << 7, 0, 0, 0, decimation, 6440,
                       tag, tuning, 0) + body


def lofar_packets(numbers, bits, first, board=0, clock=200, station=214, lost=(), flagged=()):
    """Packets of 16 of the numbers [time][beamlet][pol][re, im] each, from sample `first` since 1970 on: a list of bytes. lost
    ones are left out; flagged ones have the error bit."""
    made = []
    for i in range(len(numbers) // 16):
        body = np.ascontiguousarray(np.swapaxes(numbers[16 * i:16 * i + 16], 0, 1)).astype(f"<i{max(bits, 8) // 8}")
        if bits == 4:
            body = (body[..., 0] & 15 | (body[..., 1] & 15) << 4).astype("u1")
        second = (first + 16 * i + 1) * 1024 // (clock * 1000000)
        begin = (second * clock * 1000000 + 512) // 1024
        second, begin = (second, begin) if begin <= first + 16 * i else (second - 1, ((second - 1) * clock * 1000000 + 512) // 1024)
        header = struct.pack("<BBBBHBBII", 3, board | (i in flagged) << 6 | (clock == 200) << 7, {16: 0, 8: 1, 4: 2}[bits], 0,
                             station * 32 + board, numbers.shape[1], 16, second, first + 16 * i - begin)
        made += [] if i in lost else [header + body.tobytes()]
    return made
