#!/usr/bin/env bash
# HDF5 archives of known formats that are cut short, lack a sibling, have one of another observation, or say what
# cannot be: each gets a message with format, file and what was expected, and leaves nothing behind.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

cat >job.yaml <<'END'
input:
  files: x.h5
channelise:
  channels: 16
  taps: 4
products:
  - kind: spectra
    file: out.h5
END

# bad NAME STATUS PATTERN FILES [SET...]
bad() {
    local name=$1 status=$2 pattern=$3 files=$4 sets=()
    shift 4
    for set; do sets+=(--set "$set"); done
    fails "$name" "$status" "$pattern" "$voltmill" plan job.yaml --set input.files="$files" "${sets[@]}"
    nothing_left
}

# good NAME FILES [SET...]
good() {
    local name=$1 files=$2 sets=()
    shift 2
    for set; do sets+=(--set "$set"); done
    runs "$name" "$voltmill" plan job.yaml --set input.files="$files" "${sets[@]}"
}

warm - <<'END' || exit 1
import os
import shutil

import h5py
import numpy as np

RI = np.dtype([("r", "<i2"), ("i", "<i2")])


def drf(channel, name, index, rows=1000, rate=(1000, 1), **how):
    folder = f"{channel}/2023-11-14T22-00-00"
    os.makedirs(folder, exist_ok=True)
    with h5py.File(f"{folder}/{name}", "w") as file:
        data = file.create_dataset("rf_data", data=np.ones((rows, 1), RI), **how)
        if rate:
            data.attrs.update({"sample_rate_numerator": rate[0], "sample_rate_denominator": rate[1]})
        file["rf_data_index"] = np.array(index, "u8")
    return f"{folder}/{name}"


def metadata(channel, sample, hertz):
    folder = f"{channel}/metadata/2023-11-14T22-00-00"
    os.makedirs(folder, exist_ok=True)
    h5py.File(f"{channel}/metadata/dmd_properties.h5", "w").close()
    with h5py.File(f"{folder}/metadata@1000.h5", "a") as file:
        file[f"{sample}/center_frequencies"] = [hertz]


drf("good", "rf@1000.000.h5", [[1000000, 0]])
drf("good", "rf@1001.000.h5", [[1001000, 0]])
for name, index in (("row", [[1000000, 1]]), ("order", [[1000000, 0], [1000010, 20]]),
                    ("beyond", [[1000000, 0], [1000800, 2000]]), ("shape", [1000000, 0])):
    drf("drf-" + name, "rf@1000.000.h5", index)
drf("drf-rate", "rf@1000.000.h5", [[1000000, 0]])
drf("drf-rate", "rf@1001.000.h5", [[1001000, 0]], rate=(1001, 1))
drf("drf-zero", "rf@1000.000.h5", [[1000000, 0]], rate=(1000, 0))
drf("drf-unsaid", "rf@1000.000.h5", [[1000000, 0]], rate=None)
drf("drf-overlap", "rf@1000.000.h5", [[1000000, 0]])
drf("drf-overlap", "rf@1000.500.h5", [[1000500, 0]])
drf("drf-far", "rf@1000.000.h5", [[1000000, 0]])
drf("drf-far", "rf@9000.000.h5", [[9000000, 0]])
drf("drf-moved", "rf@1000.000.h5", [[1000000, 0]])
metadata("drf-moved", 1000000, 1e9)
metadata("drf-moved", 1000500, 1.1e9)
path = drf("drf-cut", "rf@1000.000.h5", [[1000000, 0]], rows=100000)
os.truncate(path, os.path.getsize(path) // 2)
drf("drf-two/a", "rf@1000.000.h5", [[1000000, 0]])
drf("drf-two/b", "rf@5000.000.h5", [[5000000, 0]])
os.mkdir("empty")


def lofar(obs, index, component=None, rows=100, chans=4, start="2023-01-01T00:00:00", folder=".", rate=1e5,
          scales=False, hertz=4, **also):
    base = f"L{obs}_SAP000_B000_S{index}_P000_bf"
    with h5py.File(f"{folder}/{base}.h5", "w") as file:
        file.attrs["OBSERVATION_ID"] = str(obs)
        pointing = file.create_group("SUB_ARRAY_POINTING_000")
        pointing.attrs["EXPTIME_START_UTC"] = start
        beam = pointing.create_group("BEAM_000")
        beam.attrs.update({"SAMPLING_RATE": rate, "SAMPLING_TIME": 1e-5, **also})
        name = f"STOKES_{index}"
        np.zeros((rows, chans), "<f4").tofile(f"{folder}/{base}.raw")
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_external(f"{base}.raw".encode(), 0, h5py.h5f.UNLIMITED)
        h5py.h5d.create(beam.id, name.encode(), h5py.h5t.IEEE_F32LE,
                        h5py.h5s.create_simple((100, chans), (h5py.h5s.UNLIMITED, chans)), dcpl=plist)
        beam[name].attrs["STOKES_COMPONENT"] = component or ("Xr", "Xi", "Yr", "Yi")[index]
        if scales:
            beam[name + "_i2f"] = np.ones((1, chans), "f4")
        beam.create_group("COORDINATES/COORDINATE_1").attrs["AXIS_VALUES_WORLD"] = 1e8 + 1e5 * np.arange(hertz)


for i in range(4):
    lofar(1, i)
lofar(2, 0)
lofar(3, 0)
lofar(3, 1, start="2023-01-01T00:00:10")
lofar(4, 0, component="I")
lofar(5, 0, scales=True)
lofar(6, 0, rate=2e5)
lofar(7, 0, rows=0)
lofar(8, 0, hertz=5)
for i in range(2):
    lofar(11, i, CHANNEL_WIDTH=2e5)
os.mkdir("raw")
lofar(9, 0, folder="raw")
lofar(9, 1, folder="raw")
os.remove("raw/L9_SAP000_B000_S1_P000_bf.raw")
shutil.copy("L1_SAP000_B000_S2_P000_bf.h5", "L10_SAP000_B000_S3_P000_bf.h5")


def tbb(name, **attrs):
    with h5py.File(name, "w") as file:
        for i in range(2):
            dipole = file.create_dataset(f"STATION_X/DIPOLE_00100100{i}", data=np.ones(1000, "i2"))
            dipole.attrs.update({"SAMPLE_FREQUENCY": 200.0, "SAMPLE_NUMBER": 100 * i, "TIME": 1000, "NYQUIST_ZONE": 1,
                                 "DATA_LENGTH": 1000})
            for key, value in attrs.items():
                dipole.attrs[key] = value[i]


tbb("tbb-rate.h5", SAMPLE_FREQUENCY=(200.0, 160.0))
tbb("tbb-zone.h5", NYQUIST_ZONE=(1, 2))
tbb("tbb-zone-0.h5", NYQUIST_ZONE=(0, 0))
tbb("tbb-long.h5", DATA_LENGTH=(1000, 1001))
tbb("tbb-apart.h5", SAMPLE_NUMBER=(0, 5000))
tbb("tbb-flags.h5", FLAG_OFFSETS=(np.array([[5, 3]], "u8"), np.array([[1, 2]], "u8")))


def chime(name, event=1, freq=600.0, step=2.56e-6, inputs=4, count=10**9, dtype="u1", **also):
    with h5py.File(name, "w") as file:
        file["baseband"] = np.ones((100, inputs), dtype)
        file.attrs.update({"freq": freq, "delta_time": step, "time0_fpga_count": count, "time0_ctime": 1e9,
                           "event_id": event, **also})


chime("chime-1.h5")
chime("chime-2.h5", event=2, freq=601.0)
chime("chime-3.h5", freq=601.0, inputs=5)
chime("chime-4.h5", freq=601.0, step=5.12e-6)
chime("chime-5.h5", freq=600.0)
chime("chime-6.h5", freq=602.0, dtype="u2")
chime("chime-7.h5", step=-1.0)
chime("chime-8.h5", freq_id=np.uint32(512))
chime("chime-9.h5", freq_id=np.uint32(512), step=5.12e-6)
chime("chime-10.h5", freq_id=np.uint32(511))


def beam(name, chans=3, starts=3, member="fpga_count", numbers=0, spacing=1.0, step=2.56e-6):
    with h5py.File(name, "w") as file:
        file["tiedbeam_baseband"] = np.ones((chans, 2, 100), "c8")
        freq = np.zeros(chans, [("centre", "f8"), ("id", "u4")])
        freq["centre"], freq["id"] = 600 - spacing * np.arange(chans), numbers
        file["index_map/freq"] = freq
        file["time0"] = np.zeros(starts, [(member, "u8"), ("ctime", "f8"), ("ctime_offset", "f8")])
        file.attrs["delta_time"] = step


beam("beam-numbers.h5", numbers=[512, 513, 514], spacing=0.390625)
beam("beam-rate.h5", numbers=[512, 513, 514], spacing=0.390625, step=5.12e-6)
beam("beam-close.h5", spacing=0.390625, step=1.28e-6)
beam("beam.h5")
beam("beam-starts.h5", starts=2)
beam("beam-member.h5", member="count")


def meerkat(name, stamps, flags=(1, 4), stream="beam_0x"):
    with h5py.File(name, "w") as file:
        file["Data/bf_raw"] = np.ones((4, 128, 2), "i1")
        file["Data/timestamps"] = np.array(stamps, "u8")
        file["Data/flags"] = np.zeros(flags, "u1")
        file["Data"].attrs["stream_name"] = stream


stamps = 4096 * (1000 + np.arange(128))
meerkat("meerkat.h5", stamps)
meerkat("meerkat-jump.h5", np.r_[stamps[:64], stamps[64:] + 4096])
meerkat("meerkat-hole.h5", np.r_[stamps[:64], 7, stamps[65:]])
meerkat("meerkat-short.h5", stamps[:100])
meerkat("meerkat-flags.h5", stamps, flags=(3, 4))
meerkat("meerkat-step.h5", stamps * 2, stream="beam_0y")


def pydaq(name, **attrs):
    with h5py.File(name, "w") as file:
        file["chan_/data"] = np.ones((1000, 8), [("real", "i1"), ("imag", "i1")])
        file["root"] = np.zeros(1, "f2")
        file["root"].attrs.update({"type": 2, "n_antennas": 4, "n_pols": 2, "n_chans": 1, "n_samples": 100, "n_blocks": 10,
                                   "channel_id": 204, "tsamp": 1.08e-6, "ts_start": 1e9, **attrs})


pydaq("pydaq-blocks.h5", n_blocks=11)
pydaq("pydaq-antennas.h5", n_antennas=3)
pydaq("pydaq-type.h5", type=4)
pydaq("pydaq-power.h5", type=5)
with h5py.File("pydaq-power.h5", "r+") as file:
    for pol in range(2):
        file[f"polarization_{pol}/data"] = np.ones((1000, 1), "f8")
pydaq("pydaq-tsamp.h5", tsamp=0.0)
pydaq("pydaq-rate.h5", tsamp=1.28e-6)
pydaq("pydaq-text.h5", n_pols="two")


def grex(name, times=100, step=8.192e-6, chans=4, spacing=250 / 2048):
    with h5py.File(name, "w") as file:
        file["voltages"] = np.ones((100, 2, 4, 2), "i1")
        file["time"] = 60000 + np.arange(times) * step / 86400
        file["freq"] = 1500 - spacing * np.arange(chans)
        file["pol"] = np.array(["a", "b"], object)
        file["reim"] = np.array(["re", "im"], object)


grex("grex-times.h5", times=99)
grex("grex-step.h5", step=1e-5)
grex("grex-freq.h5", chans=5)
grex("grex-wide.h5", spacing=0.25)
END

good "a Digital RF recording" good
bad "a folder of nothing" 4 "empty is not a file, but a folder without .*a pattern as 'empty/" empty
bad "a folder of nothing, by name" 4 'empty is not a file, and contains no channel of Digital RF' empty input.layout.format=digital_rf
bad "Digital RF: the first block does not begin at row 0" 4 'rf@1000.000.h5: /rf_data_index .*the first for row 0' drf-row
bad "Digital RF: blocks that overlap" 4 'block 1 begins with sample 1000010, the one before ends with 1000019' drf-order
bad "Digital RF: rows that are not there" 4 'block 0 begins at row 0, the next at 2000, of 1000 rows' drf-beyond
bad "Digital RF: an index of another shape" 4 'rf_data_index has 1 dimensions, expected 2' drf-shape
bad "Digital RF: two rates" 4 'rf@1001.000.h5 has samples at 1001/1 Hz, but .*rf@1000.000.h5 at 1000/1 Hz' drf-rate
bad "Digital RF: a rate of x / 0" 4 'its sample rate is 1000/0 Hz' drf-zero
bad "Digital RF: no rate" 4 'no attributes sample_rate_numerator' drf-unsaid
bad "Digital RF: files that overlap" 4 'rf@1000.500.h5 starts 500 samples before the end of .*rf@1000.000.h5' drf-overlap
bad "Digital RF: files far apart" 4 'rf@9000.000.h5 starts 7999000 samples after the end' drf-far
bad "Digital RF: a frequency that changes" 4 'centre frequency is 1100000000 Hz from sample 1000500 on, 1000000000 Hz before' drf-moved
good "unless the job says which" drf-moved 'input.layout.freq_hz=[1e9]'
bad "Digital RF: a file that is cut" 4 'rf@1000.000.h5' drf-cut
bad "Digital RF: channels of different times" 4 'starts 3999000 samples after the end of .*no sample in common' drf-two
bad "a name of no format" 2 'format is nonsense, expected one of .*digital_rf.*grex' good input.layout.format=nonsense

good "LOFAR: one of four files" L1_SAP000_B000_S2_P000_bf.h5
"$voltmill" info L1_SAP000_B000_S2_P000_bf.h5 | grep -q 'order  *side by side: real and imaginary parts, pol'
ok $? "LOFAR: info says how its files lie"
bad "LOFAR: a sibling that is not there" 4 'L2_SAP000_B000_S0_P000_bf.h5 contains Xr, but Xi is not there.*_S1_' L2_SAP000_B000_S0_P000_bf.h5
bad "LOFAR: two observations" 4 'L1_.* is of observation 1, .*L2_.*of 2, ' '[L1_SAP000_B000_S0_P000_bf.h5, L2_SAP000_B000_S0_P000_bf.h5]'
bad "LOFAR: siblings that start at other times" 4 'starts at 2023-01-01T00:00:00.000000, but .* at 2023-01-01T00:00:10' L3_SAP000_B000_S0_P000_bf.h5
bad "LOFAR: powers" 4 'STOKES_0 is Stokes I, a filterbank, not voltages' L4_SAP000_B000_S0_P000_bf.h5
bad "LOFAR: scaled bytes" 4 'of 8 bits with scales in .*STOKES_0_i2f, which are not read' L5_SAP000_B000_S0_P000_bf.h5
bad "LOFAR: rates that contradict each other" 4 'SAMPLING_RATE is 200000 Hz, SAMPLING_TIME 1e-05 s' L6_SAP000_B000_S0_P000_bf.h5
bad "LOFAR: a rate that is not the width of a channel" 4 'CHANNEL_WIDTH is 200000 Hz, but voltages of it are sampled at 100000 Hz' L11_SAP000_B000_S0_P000_bf.h5
good "unless the job says the rate" L11_SAP000_B000_S0_P000_bf.h5 input.layout.sample_rate_hz=1e5
bad "LOFAR: an empty .raw" 4 'declares 100 rows of 16 bytes, but its external file contains only 0 bytes' L7_SAP000_B000_S0_P000_bf.h5
bad "LOFAR: frequencies of other channels" 4 'AXIS_VALUES_WORLD of 5 channels, but .* has 4' L8_SAP000_B000_S0_P000_bf.h5
bad "LOFAR: no .raw" 4 'external file .*L9_SAP000_B000_S1_P000_bf.raw' raw/L9_SAP000_B000_S0_P000_bf.h5

bad "TBB: two rates" 4 'sample rates differ, 200000000 Hz and 160000000 Hz' tbb-rate.h5
bad "TBB: two Nyquist zones" 4 'sidebands differ' tbb-zone.h5
bad "TBB: no Nyquist zone" 4 'NYQUIST_ZONE is 0, expected 1, 2 or 3' tbb-zone-0.h5
bad "TBB: fewer samples than it says" 4 'DATA_LENGTH is 1001, but it contains 1000 samples' tbb-long.h5
bad "TBB: dipoles of different times" 4 'no sample in common' tbb-apart.h5
bad "TBB: flags backwards" 4 'FLAG_OFFSETS has the range 5 .. 3' tbb-flags.h5

bad "CHIME: two events" 4 'chime-2.h5 is of event 2, chime-1.h5 of event 1' '[chime-1.h5, chime-2.h5]'
bad "CHIME: other inputs" 4 'chime-1.h5 and chime-3.h5 do not belong to one observation: their shapes differ' '[chime-1.h5, chime-3.h5]'
bad "CHIME: two rates" 4 'sample rates differ, 390625 Hz and 195312.5 Hz' '[chime-1.h5, chime-4.h5]'
bad "CHIME: one coarse channel twice" 4 'chime-1.h5 and chime-5.h5 are both of the coarse channel at 600 MHz' '[chime-1.h5, chime-5.h5]'
bad "CHIME: words instead of bytes" 4 'chime-6.h5: baseband' chime-6.h5
bad "CHIME: time that runs backwards" 4 'delta_time is -1 s' chime-7.h5
bad "CHIME: as many frequencies as files" 2 'freq_hz lists 2 frequencies' chime-1.h5 'input.layout.freq_hz=[1e9, 2e9]'
good "CHIME: a channel's number" chime-8.h5
bad "CHIME: a rate that does not fit number and frequency" 4 'channel 512 is at 600 MHz, but at 700 MHz by its number and delta_time, 5.12e-06 s' chime-9.h5
bad "CHIME: another channel's number" 4 'channel 511 is at 600 MHz, but at 600.390625 MHz' chime-10.h5
good "unless the job says the frequency" chime-10.h5 'input.layout.freq_hz=[600e6]'
good "CHIME beam: numbers of channels" beam-numbers.h5
bad "CHIME beam: a rate that does not fit them" 4 'channel 512 is at 600 MHz, but at 700 MHz' beam-rate.h5
bad "CHIME beam: channels closer than their rate" 4 'are 390625 Hz apart, but each is 781250 Hz wide .*`oversampling: 2/1` in input.layout' beam-close.h5
bad "CHIME beam: fewer starts than channels" 4 '/time0 has 2 values, .*3 coarse channels' beam-starts.h5
bad "CHIME beam: starts of another kind" 4 'has no member fpga_count' beam-member.h5
bad "CHIME beam: two files" 4 'each file is an observation of its own' '[beam.h5, beam-numbers.h5]'

job_says='input.layout={format: meerkat, sample_rate_hz: 1e6, freq_hz: {start: 1e9, step: 1e6}}'
good "MeerKAT, as the job says" meerkat.h5 "$job_says"
"$voltmill" info meerkat.h5 >out 2>&1 && grep -q 'format: meerkat' out && grep -q 'freq_hz: ??.  # Hz, centre of each coarse channel' out
ok $? "MeerKAT: info proposes the format with what is missing"
bad "MeerKAT: without the job's words" 2 'does not say its sample rate and frequencies' meerkat.h5
bad "MeerKAT: timestamps that jump" 4 'that of sample 64 is 4362240, expected 4358144' meerkat-jump.h5 "$job_says"
bad "MeerKAT: a timestamp that is wrong" 4 'that of sample 64 is 7, expected' meerkat-hole.h5 "$job_says"
bad "MeerKAT: fewer timestamps than times" 4 'timestamps has 100 values, /Data/bf_raw 128 times' meerkat-short.h5 "$job_says"
bad "MeerKAT: flags of other heaps" 4 'flags is 3 x 4, which does not divide 4 coarse channels x 128 times' meerkat-flags.h5 "$job_says"
bad "MeerKAT: two steps" 4 'meerkat-step.h5 has timestamps in steps of 8192 .*meerkat.h5 in steps of 4096' '[meerkat.h5, meerkat-step.h5]' "$job_says"

bad "pydaq: more blocks than there are" 4 '11 blocks of 100 samples, but chan_/data contains 1000 times' pydaq-blocks.h5
bad "pydaq: antennas that do not fit" 4 'n_antennas = 3, n_pols = 2 and 1 channels \(n_chans\) are not the 8 streams of chan_/data \[1000\]\[8\]' pydaq-antennas.h5
bad "pydaq: correlations" 4 '/root says type 4' pydaq-type.h5
bad "pydaq: integrated beams" 4 'polarization_0/data: domain says complex, but the samples are real' pydaq-power.h5
bad "pydaq: no time between samples" 4 'one sample in 0 s' pydaq-tsamp.h5
bad "pydaq: another rate than the bank's" 4 'tsamp 1.28e-06 s, but samples of type 2 are 1.08e-06 s apart' pydaq-rate.h5
good "unless the job says how they are sampled" pydaq-rate.h5 input.layout.oversampling=1/1
bad "pydaq: text where a number is expected" 4 'pydaq-text.h5.*n_pols' pydaq-text.h5

bad "GReX: fewer times than samples" 4 '/time has 99 values, /voltages 100 times' grex-times.h5
bad "GReX: another cadence" 4 'input.layout.sample_rate_hz says what is right' grex-step.h5
bad "GReX: more frequencies than channels" 4 '5 frequencies of 4 coarse channels' grex-freq.h5
"$voltmill" info grex-wide.h5 | grep -q 'assumed: .*/freq has steps of 250000 Hz, but .* of channels of 122070.312 Hz: /freq is used'
ok $? "GReX: frequencies of another rate"

echo "1..$count"
