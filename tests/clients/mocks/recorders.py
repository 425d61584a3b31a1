"""GUPPI RAW, PSRDADA and sub-observations of the MWA."""
import numpy as np

LEVELS = np.array([3.3358750, 1, -1, -3.3358750])  # of 2 bits, by GUPPI's codes


def card(key, value):
    return f"{key:<8}= {value:<70}".encode()


def pack(numbers, bits, real):
    if bits == 2:
        codes = np.argmin(np.abs(LEVELS[:, None] - numbers), axis=0).astype("u1").reshape(-1, 4)
        return (codes << np.array([0, 2, 4, 6], "u1")).sum(axis=1).astype("u1").tobytes()
    if bits == 4:
        pairs = (numbers.astype("i1").view("u1") & 15).reshape(-1, 2)
        return (pairs[:, 0] | pairs[:, 1] << 4 if real else pairs[:, 0] << 4 | pairs[:, 1]).astype("u1").tobytes()
    return numbers.astype(f"<i{bits // 8}").tobytes()


def write_guppi(path, volts, bits, steps, overlap=0, layout="chan", lost=(), direct=False, first=0, sizes=(0,), by_block=None,
                **words):
    """volts [ant][chan][time][pol] (complex or real whole numbers) in blocks of `steps` samples and `overlap`
    more; blocks whose number is in `lost` are left out; further cards, by sizes[block % len], in headers; words of
    block i go before by by_block(i), None: the header has no such word."""
    ants, chans, total, pols = volts.shape
    real = not np.iscomplexobj(volts)
    each = bits * pols * (1 if real else 2) * chans * ants
    words = {"OBSNCHAN": ants * chans, "NPOL": {1: 1, 2: 2 if real else 4}[pols], "NBITS": bits, "OVERLAP": overlap,
             "BLOCSIZE": (steps + overlap) * each // 8, "TBIN": 0.5e-6 if real else 1e-6, "OBSFREQ": 1400.0,
             "OBSBW": 1.0 * chans, "PIPERBLK": steps, "STT_IMJD": 59000, "STT_SMJD": 1000, "STT_OFFS": 0.5,
             **({"NANTS": ants} if ants > 1 else {}), "PKTFMT": "'SIMPLE  '" if layout == "time" else "'1SFA    '", **words}
    with open(path, "wb") as file:
        for i in range((total - overlap) // steps):
            if i in lost:
                continue
            block = volts[:, :, i * steps:(i + 1) * steps + overlap]
            block = np.moveaxis(block, 2, 0) if layout == "time" else block
            numbers = block[..., None] if real else np.stack([block.real, block.imag], axis=-1)
            said = {**words, **{f"MORE{j}": j for j in range(sizes[i % len(sizes)])}, "PKTIDX": first + i * steps,
                    **({"DIRECTIO": 1} if direct else {}), **(by_block(i) if by_block else {})}
            head = [card(key, value) for key, value in said.items() if value is not None] + [b"END" + b" " * 77]
            text = b"".join(head)
            file.write(text + (b"\0" * (-len(text) % 512) if direct else b"") + pack(numbers.ravel(), bits, real))
    return path


def write_dada(path, payload, header=4096, **words):
    words = {"HDR_VERSION": "1.0", "HDR_SIZE": header, "FREQ": 1284.0, "BW": 4.0, "TSAMP": 1.0,
             "UTC_START": "2020-02-03-04:05:06", "OBS_OFFSET": 0, **words}
    text = "".join(f"{key} {value}  # as said\n" for key, value in words.items()).encode()
    with open(path, "wb") as file:
        file.write(text + b"\0" * (header - len(text)) + payload)
    return path


def write_mwax(path, volts, steps=512, delays=(), packets=None, row=28, tiles=None, **words):
    """volts [station][pol][time][reim], 8 s; whole samples of delay of each input, packets that came [input][packet of
    2048], both in the tables of the first block; None: a header has no such word."""
    stations, pols, total, _ = volts.shape
    inputs, rate = stations * pols, total // 8
    delays = np.zeros(inputs, "<i2") if len(delays) == 0 else np.array(delays, "<i2")
    tiles = np.arange(stations) + 101 if tiles is None else np.array(tiles)
    table = np.zeros((inputs, row), "u1")
    table[:, :2] = (2 * np.repeat(tiles, 2) + np.arange(inputs) % 2).astype("<u2").view("u1").reshape(inputs, 2)
    table[:, 2:4] = delays.view("u1").reshape(inputs, 2)
    packets = np.ones((inputs, total // 2048), bool) if packets is None else packets
    came = np.packbits(packets, axis=1)
    first = np.zeros(inputs * steps * 2, "u1")
    first[:table.size] = table.ravel()
    first[table.size:table.size + came.size] = came.ravel()
    words = {"HDR_SIZE": 4096, "POPULATED": 1, "OBS_ID": 1344081136, "SUBOBS_ID": 1344081136, "MODE": "MWAX_VCS",
             "UTC_START": "2022-08-09-11:51:58", "OBS_OFFSET": 0, "NBIT": 8, "NPOL": 2, "NTIMESAMPLES": steps, "NINPUTS": inputs,
             "TRANSFER_SIZE": inputs * (steps + total) * 2, "COARSE_CHANNEL": 109, "SECS_PER_SUBOBS": 8, "BANDWIDTH_HZ": rate,
             "SAMPLE_RATE": rate, "IDX_PACKET_MAP": f"{table.size}+{came.size}", "IDX_DELAY_TABLE": f"0+{table.size}",
             "MWAX_SUB_VER": 2, **words}
    text = "".join(f"{key} {value}\n" for key, value in words.items() if value is not None).encode()
    blocks = volts.reshape(inputs, -1, steps, 2).transpose(1, 0, 2, 3).astype("i1")
    with open(path, "wb") as file:
        file.write(text + b"\0" * (4096 - len(text)) + first.tobytes() + blocks.tobytes())
    return path
