#!/usr/bin/env bash
# Recorders' packets: what is wrong with a file or a description is said; what is lost is counted; the same
# bytes come from any number of ranks. Their samples: tests/clients/formats_packets.py.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
warm "$here/tests/cli/packets.py" . || exit 1
cat >job.yaml <<'END'
input:
  files: good.bin
channelise: {channels: 64, taps: 4}
products: [{kind: power, file: out.h5, integrate: 16}]
END
power() { "$voltmill" run --force job.yaml --set "input.files=$1" "${@:2}"; }

# says NAME FILE PATTERN...: what a run of the file says has each
says() {
    local name=$1 file=$2 bad=0 pattern
    shift 2
    power "$file" >out 2>&1 || bad=1
    for pattern in "$@"; do
        grep -Eq -e "$pattern" out || { echo "# no such words: $pattern"; bad=1; }
    done
    ok "$bad" "$name"
    [ "$bad" = 0 ] || note <out
}
bad() { # bad NAME STATUS PATTERN FILE [SETTING...]
    local sets=()
    for setting in "${@:5}"; do sets+=(--set "$setting"); done
    fails "$1" "$2" "$3" "$voltmill" run --force job.yaml --set "input.files=$4" "${sets[@]}"
}

for file in good drx; do
    runs "info of $file.bin" "$voltmill" info $file.bin
done
"$voltmill" info brief.bin >out 2>&1
ok $? "info of a file that leaves its rate to the job"
"$voltmill" info brief.bin 2>&1 | sed -n '/^input:/,$p' >brief.yaml
fails "a job as info proposes it" 2 'input\.layout\.sample_rate_hz: is "\?\?\?": replace' "$voltmill" run brief.yaml
sed -i 's/???/32000/' brief.yaml
runs "a job as info proposes it, with a rate" "$voltmill" run brief.yaml
"$voltmill" info clocks.bin >out 2>&1
same "threads with clocks of their own: one note" 1 "$(grep -c 'the clock of threads 1, 2 is up to 8192 s behind' out)"
says "a file that is well" good.bin 'power' 'threads are taken for polarisations'
says "a torn frame at the end is left out" torn.bin 'last 500 bytes are no VDIF frame'
says "a shorter one, too" short-end.bin 'last 112 bytes are no VDIF frame'
says "DRX tunings whose bands overlap" drx.bin 'assumed: .*: bands around 49 and 49 MHz overlap, each 19\.6 MHz wide: none is cut'
says "a torn DRX packet" drx-torn.bin 'last 99 bytes are no DRX packet'

rows() { "$python" -c 'import h5py, hashlib, sys; print(hashlib.sha256(h5py.File(sys.argv[1])["data"][:].tobytes()).hexdigest())' "$1"; }
power late.bin >out 2>&1
late=$(rows out.h5)
for file in fill zero-fill; do
    runs "a file that begins with $file" power $file.bin
    same "$file: the frames behind it" "$late" "$(rows out.h5)"
done
bad "less than a frame" 4 'cut\.bin: no VDIF frame begins there: .*832 bytes.* has 500 bytes' cut.bin input.layout.format=vdif
bad "zeros" 4 'zeros\.bin: no VDIF frame begins there' zeros.bin input.layout.format=vdif
bad "a text" 4 'text\.bin: no VDIF frame begins there' text.bin input.layout.format=vdif
bad "a text that is to be DRX" 4 'text\.bin' text.bin input.layout.format=drx
bad "frames of another length" 4 'recordings\.bin: the VDIF frame at byte 83200 says that it has 1632 bytes, those before it have 832' recordings.bin
bad "frames of other channels" 4 'byte 64064 holds 2 channels of 8 bit real .*before it 1 of 8 bit' channels.bin
bad "two channels that may be polarisations" 2 'freq_hz is missing: .* 2 coarse channels, or streams if they are polarisations' two.bin
"$voltmill" info two.bin 2>&1 | sed -n '/^input:/,$p' | sed 's/# streams/streams/; /freq_hz: ???  #/d; s/???/1.4e9/g; s/channels: 1024/channels: 64/' >two.yaml
runs "the streams that info proposes" "$voltmill" run two.yaml
bad "frames of two stations" 2 'byte 66560 is of station On, those before it of Ef: input\.layout\.station' stations.bin
bad "a length that is twice that of the frames" 4 'twice\.bin: its VDIF headers say a length of 1664 bytes, but .* every 832 bytes' twice.bin
bad "the same, of two stations" 4 'say a length of 1664 bytes, but .* every 832 bytes' twice-stations.bin
runs "headers within the samples of some frames" power within.bin
says "a frame whose length is wrong is lost" length.bin 'length\.bin: 832 bytes at 1 place, the first at byte 64064, are no whole VDIF frame'
says "one alone of other channels" channel.bin 'byte 64064 holds 2 channels of 8 bit .*left out'
says "one alone of another station" station.bin 'byte 64896 is of station On, .*left out'
runs "one of two stations" power stations.bin --set input.layout.station=Ef
runs "the same by its number" power stations.bin --set input.layout.station=17766
bad "a station that is not there" 4 'none of its frames is of station Xx' good.bin input.layout.station=Xx
bad "files of two stations" 2 'other-station\.bin.* is of station On, those before it of Ef' '[good.bin, other-station.bin]'
runs "files one after the other" power '[later.bin, good.bin]'
bad "files far from each other" 4 'frames of each thread, but the files contain [0-9]+: do all' '[good.bin, much-later.bin]'
bad "files of other numbers" 4 'other-bits\.bin: the VDIF frame at byte 0 holds 1 channels of 4 bit' '[good.bin, other-bits.bin]'
bad "numbers of three bits" 4 'numbers of 3 bits, this program reads those of 1, 2, 4, 8, 16 and 32' three-bits.bin input.layout.format=vdif
bad "channels that cannot be" 4 'no VDIF frame begins there: .*2\^16 channels of 8 bits' impossible.bin input.layout.format=vdif
bad "frames in no order" 4 'shuffled\.bin: .*frame times earlier' shuffled.bin
bad "time that falls" 4 'back\.bin: .*are [0-9]+ frame times earlier than those at byte' back.bin

bad "a rate below that of the frames" 4 'counted up to 40 in a second, but 16000 samples a second \(input\.layout' good.bin input.layout.sample_rate_hz=16000
bad "a rate above" 4 'counted up to 40 in a second, but 64000' good.bin input.layout.sample_rate_hz=64000
bad "a rate of no whole frames" 2 '40\.0012\S* frames: expected a whole number' good.bin input.layout.sample_rate_hz=32001
bad "words of other files" 2 'input\.layout\.packing has no meaning for VDIF' good.bin "input.layout.format=vdif" 'input.layout.packing=4+4 offset hi=re'
table='input.layout.streams'
row='{thread: 0, pol: R, freq_hz: 1e6}'
runs "a table of streams" power good.bin --set "$table=[$row, {thread: 1, pol: L, freq_hz: 1e6, sideband: -1}]"
runs "a table of one thread" power good.bin --set "$table=[$row]"
bad "a thread that is not there" 2 'streams\.1\.thread is 5, of which .*threads 0 1' good.bin "$table=[$row, {thread: 5, pol: L, freq_hz: 1e6}]"
bad "a channel that is not there" 2 'streams\.0\.channel is 3, but a frame of good\.bin has channels 0 \.\. 0' good.bin "$table=[{channel: 3, pol: R, freq_hz: 1e6}]"
bad "a stream twice" 2 'streams\.0 and \.1 are the same channel 0 of thread 0' good.bin "$table=[$row, {thread: 0, pol: L, freq_hz: 1e6}]"
bad "two of one polarisation and frequency" 2 'streams\.0 and \.1 are both pol R at 1000000 Hz' good.bin "$table=[$row, {thread: 1, pol: R, freq_hz: 1e6}]"
bad "a table with a hole" 2 'no stream of pol R at 2000000 Hz' good.bin "$table=[$row, {thread: 1, pol: L, freq_hz: 2e6}]"
bad "dc of real samples" 2 'streams\.0\.dc says .* are real' good.bin "$table=[{pol: R, freq_hz: 1e6, dc: lower}]"
bad "frequencies beside a table" 2 'freq_hz stands beside streams' good.bin "$table=[$row]" input.layout.freq_hz=1e6
bad "a stream without a polarisation" 2 'pol' good.bin "$table=[{freq_hz: 1e6}]"
runs "a thread of the last frames" power third.bin

says "a DRX packet without its sync word" drx-sync.bin 'drx-sync\.bin: 4128 bytes at 1 place, the first at byte 37152, are no whole DRX packet'
runs "one packet alone of another beam" power drx-lone.bin
bad "another beam" 4 'byte 37152 is of beam 3, those before it of beam 2' drx-beam.bin
bad "another decimation" 4 'byte 37152 is decimated by 20, those before it by 10' drx-rate.bin
bad "a decimation of half the time steps" 4 'drx-half\.bin: time tags .* grow by 40960 ticks or multiples of that, but decimation 5 of 4096 samples makes 20480' drx-half.bin
runs "packets of which many are lost" power drx-lossy.bin --set run.on_bad=nan
bad "another tuning" 4 'byte 37152 is tuned to 0\.000000 MHz, those of tuning 1 before it to 49' drx-tuning.bin
bad "a time between packets" 4 'byte 37152 begins 81927 ticks behind' drx-ticks.bin
bad "three streams" 4 'of 3 streams, expected each of 2 polarisations at each of 2 tunings' drx-three.bin
bad "DRX says its rate" 2 'sample_rate_hz has no meaning for DRX' drx.bin input.layout.sample_rate_hz=1e6 input.layout.format=drx

# Lost frames, and any cut.
power lossy.bin >out 2>&1
same "frames that are lost are no failure" 0 $?
power lossy.bin --set products.0.file=one.h5 --set run.chunk=16 --set run.threads=1 >/dev/null 2>&1
runs "what is lost is verified by some chunks" "$voltmill" verify one.h5
for ranks in 2 3; do
    mpirun -n $ranks "$voltmill" run --force job.yaml --set input.files=lossy.bin --set products.0.file=ranks.h5 --set run.chunk=32 >out 2>&1
    runs "the same from $ranks ranks" warm - one.h5 ranks.h5 <<'END'
import sys
import h5py
import numpy as np
a, b = (h5py.File(name, "r") for name in sys.argv[1:])
for name in ("data", "weights"):
    assert np.array_equal(a[name][()], b[name][()], equal_nan=True), name
assert 0.8 < a["weights"][()].mean() < 0.9, a["weights"][()].mean()
END
done
plan
