# Stokes parameters of more channels than the memory holds of all streams: groups of some coarse channels of
# both polarisations, whose rows are in pieces. Products are those of one group, byte for byte.
. "$(dirname "$0")/../tools/lib.sh"
. "$(dirname "$0")/groups.bash"
cd "$work" || exit 1
shim=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}

cat >obs.yaml <<YAML
file: obs.h5
samples: 442368
streams: {pols: 2, chans: 6}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
tones: [{freq_hz: 100.2e6, amplitude: 30}]
gaps: [{stream: 3, first: 300000, count: 120000}, {stream: 10, first: 440000, count: 1000}]
seed: 7
YAML
runs "an observation of 6 coarse channels, with gaps in single streams" "$voltmill" synth obs.yaml
printf '%s\n' '-400e3 0.5' '-300e3 0.9' '0 1' '300e3 0.8' '400e3 0.4' >droop.txt
cat >job.yaml <<YAML
input: {files: obs.h5}
channelise: {channels: 16384, taps: 4}
products:
  - {kind: power, file: iquv.h5, integrate: 2, polarisation: IQUV, feed: linear}
  - {kind: power, file: sum.fil, integrate: 4, polarisation: I, bits: 8, scale_rows: 4}
  - {kind: power, file: each.fits, integrate: 2, polarisation: IQUV, feed: linear, bits: 8, scale_rows: 8}
  - {kind: power, file: two.h5, integrate: 8}
  - {kind: power, file: packed.h5, integrate: 4, polarisation: coherency, compress: bitshuffle}
  - {kind: power, file: level.h5, integrate: 16, polarisation: I, droop: 'file:droop.txt'}
  - {kind: power, file: eight.h5, integrate: 4, polarisation: I, bits: 8, scale_rows: 4}
run: {chunk: 16, sync: 0.01}
YAML
products=(iquv.h5 sum.fil each.fits two.h5 packed.h5 level.h5 eight.h5)
small=(--set run.memory=240MiB)
in_groups 12
sampled 2 iquv.h5 eight.h5 packed.h5 level.h5
for product in "${sample[@]}"; do
    runs "verify $product in little memory" "$voltmill" verify "${small[@]}" $product
    runs "verify --crc $product" "$voltmill" verify --crc $product
done

# A row that is NaN in one coarse channel, because of its gap, is marked: as if more had been unreadable.
cp iquv.h5 marked.h5
warm -c 'import h5py
with h5py.File("marked.h5", "r+") as f:
    f["provenance/holes"][10] = 1'
fails "a false mark is found in groups of coarse channels" 4 'marked\.h5: row 10 is marked in /provenance/holes, but all' \
    "$voltmill" verify --chunks 2 --set run.memory=104MiB marked.h5
rm marked.h5

# One number is damaged: of the last Stokes parameter, in the last coarse channel.
warm - <<'PYTHON'
import h5py
with h5py.File("iquv.h5", "r+") as f:
    f["data"][7, 3, -2] *= 2
PYTHON
fails "a number that differs is found" 4 '' "$voltmill" verify "${small[@]}" iquv.h5
clean_up

begin 8
runs "verify --crc of what is done" "$voltmill" verify --crc iquv.h5.part
flip() { # the last byte of a number of the third Stokes parameter
    warm - <<'PYTHON'
import io
import h5py
with open("iquv.h5.part", "rb") as f: # with HDF5's signature in place of the mark
    whole = io.BytesIO(b"\x89HDF\r\n\x1a\n" + f.read()[8:])
with h5py.File(whole) as f:
    at = f["data"].id.get_offset() + 4 * (2 * f["data"].shape[2] + 5) + 3
with open("iquv.h5.part", "r+b") as f:
    f.seek(at)
    byte = f.read(1)
    f.seek(at)
    f.write(bytes([byte[0] ^ 1]))
PYTHON
}
flip
errs 4 '1 of [0-9]* chunks are damaged' "$voltmill" verify --crc --json iquv.h5.part
[ "$(grep -c '"first_byte_of_row": \(0\|393216\|786432\|1179648\),$' stdout)" = 4 ]
ok $? "names the parts of rows of a damaged chunk"
flip
go_on 12

# Some bytes of one coarse channel are unreadable: no other one loses samples, however many are read with it.
warm - <<'PYTHON'
import h5py
import numpy as np
with h5py.File("apart.h5", "w") as f:
    f["v"] = np.random.default_rng(5).integers(-60, 60, (6, 2, 442368, 2)).astype("i1")
PYTHON
cat >apart.yaml <<'YAML'
input:
  files: apart.h5
  layout: {dataset: /v, axes: "chan,pol,time,reim", sample_rate_hz: 1e6, freq_hz: {start: 100e6, step: 1e6}}
channelise: {channels: 16384, taps: 4, backend: cpu}
products: [{kind: power, file: apart-i.h5, integrate: 4, polarisation: I}]
run: {chunk: 16, on_bad: nan}
YAML
at=$(warm -c 'import h5py; print(h5py.File("apart.h5")["v"].id.get_offset() + 2 * (5 * 442368 + 200000))')
broken=(env "LD_PRELOAD=$shim" "SHIM_BAD=$at-$((at + 400000))")
for memory in 2GiB 240MiB; do
    status=0
    "${broken[@]}" "$voltmill" run --set run.memory=$memory apart.yaml >log 2>&1 || status=$?
    [ $status = 6 ] || note <log
    lost=$(warm -c 'import h5py, numpy as np
with h5py.File("apart-i.h5") as f:
    isnan = np.isnan(f["data"][:, 0]).reshape(f["data"].shape[0], 6, -1)
    assert (isnan.all(2).any(1) == f["provenance/holes"][:]).all()
    print(isnan.any((0, 2)).nonzero()[0])')
    same "unreadable samples of one coarse channel, $memory: that one alone has NaN" "6 [2]" "$status $lost"
    sha256sum apart-i.h5 >>sums
    runs "verify, $memory" "${broken[@]}" "$voltmill" verify --all --set run.memory=$memory apart-i.h5
    rm apart-i.h5*
done
same "the same bytes in groups" 1 "$(sort -u sums | wc -l)"

# Killed with holes that one group has marked, but not recorded; then the disk is sound: the rows are no holes.
at=$((at + 260000))
little=(--set run.memory=120MiB --set run.sync=0.01 apart.yaml)
runs "a sound disk" "$voltmill" run "${little[@]}"
sound=$(sha256sum apart-i.h5)
rm apart-i.h5
{ env "LD_PRELOAD=$shim" "SHIM_BAD=$at-$((at + 200000))" SHIM_NAP=10 SHIM_RECORDS=9:kill "$voltmill" run "${little[@]}" >killed 2>&1; } 2>/dev/null
runs "holes of a group that is not recorded" "$voltmill" run "${little[@]}"
grep -Eq '^note: [1-9][0-9]* of 12 chunks are done' "$work/output"
ok $? "other chunks stay"
same "leave no marks" "$sound" "$(sha256sum apart-i.h5)"

# Some bytes within time steps, which all streams share.
warm - <<'PYTHON'
import h5py
import numpy as np
with h5py.File("within.h5", "w") as f:
    f["v"] = np.random.default_rng(6).integers(-60, 60, (8192, 1024, 2, 2)).astype("i1")
PYTHON
sed 's/apart/within/; s/chan,pol,time/time,chan,pol/; s/channels: 16384/channels: 64/; s/integrate: 4/integrate: 32/; s/chunk: 16/chunk: 64/' \
    apart.yaml >within.yaml
at=$(warm -c 'import h5py; print(h5py.File("within.h5")["v"].id.get_offset() + 4096 * 3000)')
rm sums
for memory in 2GiB 96MiB; do
    status=0
    env "LD_PRELOAD=$shim" "SHIM_BAD=$((at + 1024))-$((at + 3072))" "$voltmill" run --force --set run.memory=$memory within.yaml >log 2>&1 || status=$?
    less=$(warm -c 'import h5py; print((h5py.File("within-i.h5")["weights"][:] < 1).sum())')
    same "unreadable bytes of 512 streams in a time step, $memory" "0 512" "$status $less"
    sha256sum <within-i.h5 >>sums
done
same "the same bytes in groups of them" 1 "$(sort -u sums | wc -l)"

# Stations within each time step: some coarse channels of all of them need more memory than one station does.
truncate -s 420M stations.bin
cat >stations.yaml <<'YAML'
input:
  files: stations.bin
  layout: {format: raw, type: ci8, axes: "time,station:4,pol:2,chan:8", sample_rate_hz: 1e6, freq_hz: {start: 100e6, step: 1e6}}
channelise: {channels: 16384, taps: 4, backend: cpu}
products: [{kind: power, file: stations.h5, integrate: 4, polarisation: I}]
run: {threads: 1}
YAML
runs "stations within time steps" "$voltmill" plan --set run.memory=240MiB stations.yaml
grep -Eq '^  chunks +28 of 32 spectra of 16 streams' "$work/output"
ok $? "are cut into single ones where that needs less"
runs "with more memory" "$voltmill" plan --set run.memory=500MiB stations.yaml
grep -Eq '^  chunks +13 of 16 spectra *$' "$work/output"
ok $? "not at all: halves of a time step would be read twice"
fails "what is too little" 2 'need at least 1[0-9][0-9]\.[0-9]* MiB a rank for the 16 streams' \
    "$voltmill" plan --set run.memory=170MiB stations.yaml
# Polarisations side by side, each a product's own: those of a coarse channel stay together.
sed 's/time,station:4,pol:2,chan:8/chan:8,time,pol:2/; s/, polarisation: I//' stations.yaml >pols.yaml
runs "polarisations side by side" "$voltmill" plan --set run.memory=130MiB pols.yaml
grep -Eq '^  chunks +144 of 48 spectra of 2 streams' "$work/output"
ok $? "are not read twice"
plan
