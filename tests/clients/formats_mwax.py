"""Sub-observations of the MWA (.sub): every sample, time, frequency, name and lost packet of files that a writer of this
test makes as MWATelescope/mwax_udp2sub does, beside numpy."""
import h5py
import numpy as np

from common import canonical, finish, ok, same, scratch, voltmill, write_yaml
from mocks.recorders import write_mwax

random = np.random.default_rng(21)
RATE, TOTAL, GPS = 4096, 32768, 1344081136


def read(files, **words):
    """[station][pol][chan][time], the file of voltages, its gaps and assumptions."""
    job = {"input": {"files": files, **words}, "products": [{"kind": "voltages", "file": "out.h5"}]}
    voltmill("run", "--force", write_yaml("job.yaml", job))
    with h5py.File(scratch("out.h5")) as file:
        found = canonical(file["voltages"][...], file["voltages"].attrs["axes"].decode().split(","))
        gaps = file["gaps"][...] if "gaps" in file else np.zeros((0, 3))
        return found[:, 0], {"freq": file["freq_hz"][...], "start": (int(file.attrs["start_mjd_day"]), float(file.attrs["start_second"])),
                             "names": [name.decode() for name in file["station"][...]] if "station" in file else None,
                             "pols": [name.decode() for name in file["pol"][...]], "gaps": gaps.astype(int),
                             "assumed": file["provenance"].attrs.get("assumed", b"").decode(),
                             "over": (file["voltages"].attrs.get("oversampling_num"), file["voltages"].attrs.get("oversampling_den"))}


def volts(stations=2):
    return random.integers(-20, 21, (stations, 2, TOTAL, 2))


def numbers(stored):
    return stored[..., 0] + 1j * stored[..., 1]


def one(name="one.sub", **words):
    stored = volts()
    return stored, *read(write_mwax(scratch(name), stored, **words))


stored, found, said = one()
same(found[:, :, 0], numbers(stored), "every sample")
same(said["freq"], [109 * RATE], "the centre of its coarse channel")
same(said["start"], (59800, 11 * 3600 + 51 * 60 + 58.0), "its GPS second as UTC")
ok((said["names"], said["pols"], len(said["gaps"])) == (["101", "102"], ["X", "Y"], 0), "tiles, polarisations, no gaps", said)
ok("sideband +1" in said["assumed"] and "delays" not in said["assumed"] and "differ" not in said["assumed"], "says what it assumes", said)

*_, said = one(OBS_OFFSET=-8)
ok("UTC_START = 2022-08-09T11:51:58 with OBS_OFFSET = -8 s and SUBOBS_ID = 1344081136 (GPS) differ" in said["assumed"], "two starts", said)
same(said["start"][1], 42718.0, "SUBOBS_ID counts")
*_, said = one(BANDWIDTH_HZ=3200)
ok((said["over"], said["freq"][0]) == ((32, 25), 109 * 3200.0), "oversampled channels of newer receivers", said)

# Packets that did not come, where delays have shifted them.
lost = np.ones((4, 16), bool)
lost[0, 0], lost[2, 3:5], lost[3, 15] = False, False, False
stored, found, said = one(delays=(3, 3, -5, -5), packets=lost)
expected = numbers(stored)
for station, pol, low, high in ((0, 0, 0, 2045), (1, 0, 6149, 10245), (1, 1, 30725, 32768)):
    expected[station, pol, low:high] = 0
same(found[:, :, 0], expected, "packets that are lost are missing")
same(said["gaps"], [[0, 2045, 0], [6149, 4096, 2], [30725, 2043, 3]], "gaps of single streams")
ok("delays of -5 to 3 whole samples are applied" in said["assumed"], "delays are said", said)
for table, told in (({"IDX_PACKET_MAP": None}, "which of them were lost is unknown"),
                    ({"packets": np.zeros((4, 16), bool)}, "which of them were lost is unknown"),
                    ({"IDX_DELAY_TABLE": "0+25824000"}, "stations have no names, and X is the first"),
                    ({"IDX_DELAY_TABLE": None}, "stations have no names, and X is the first")):
    stored, found, said = one(**table)
    same(found[:, :, 0], numbers(stored), f"{list(table)}: every sample")
    ok(told in said["assumed"] and len(said["gaps"]) == 0, f"{list(table)}: says {told}", said)

# Files of two channels and three times, in any order; one is lost.
pieces = {(chan, k): volts() for chan in (109, 111) for k in (0, 1, 3)}
paths = {key: write_mwax(scratch(f"{key[1]}_{key[0]}.sub"), stored, COARSE_CHANNEL=key[0], SUBOBS_ID=GPS + 8 * key[1], OBS_OFFSET=8 * key[1])
         for key, stored in pieces.items() if key != (111, 1)}
found, said = read([paths[key] for key in sorted(paths, key=lambda key: (key[1], -key[0]))])
expected = np.zeros((2, 2, 2, 4 * TOTAL), complex)
for (chan, k), stored in pieces.items():
    if (chan, k) in paths:
        expected[:, :, (chan - 109) // 2, k * TOTAL:(k + 1) * TOTAL] = numbers(stored)
same(found, expected, "files beside and after each other")
same(said["freq"], [109 * RATE, 111 * RATE], "and their frequencies")
found, said = read([paths[109, 0], paths[109, 1]])
same(found[:, :, 0], expected[:, :, 0, :2 * TOTAL], "one coarse channel")

whole = open(paths[109, 0], "rb").read()
with open(scratch("cut.sub"), "wb") as file:
    file.write(whole[:-5000])
found, said = read(scratch("cut.sub"))
same(found[:, :, 0], expected[:, :, 0, :TOTAL - 1024], "a truncated file: its whole blocks")
ok("cut.sub ends early: 62 of 64 blocks are there" in voltmill("info", scratch("cut.sub")), "and says so")
for words, told in (({"NINPUTS": 3}, "NINPUTS = 3, expected two polarisations"), ({"NBIT": 4}, "NBIT = 4, expected"),
                    ({"SUBOBS_ID": 0}, "SUBOBS_ID = 0, expected")):
    out = voltmill("info", write_mwax(scratch("bad.sub"), volts(), **words), status=4)
    ok(told in out, f"{words} is refused", out)
finish()
