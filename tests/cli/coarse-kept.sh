# Groups of coarse channels of flagged power, averages and ranges of channels: a group makes its part of a row's
# channels, which may be none. Products are those of one group, byte for byte, also on an OpenCL device.
. "$(dirname "$0")/../tools/lib.sh"
. "$(dirname "$0")/groups.bash"
cd "$work" || exit 1
shim=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}

cat >obs.yaml <<YAML
file: obs.h5
samples: 221184
streams: {pols: 2, chans: 6}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
tones: [{freq_hz: 98.2e6, amplitude: 30}, {freq_hz: 101.65e6, amplitude: 30}]
gaps: [{stream: 3, first: 100000, count: 50000}, {stream: 10, first: 200000, count: 1000}]
seed: 7
YAML
runs "an observation of 6 coarse channels, with gaps in single streams" "$voltmill" synth obs.yaml
cat >mask.yaml <<YAML
input: {files: obs.h5}
channelise: {channels: 1024, taps: 4}
products: [{kind: power, file: mask.h5, integrate: 32, flag: {kurtosis: 3, spectra: 32}}]
YAML
runs "a product as a mask" "$voltmill" run mask.yaml
printf '%s\n' 'channels 100 120' 'channels 16000 16600' 'freq_hz 102.1e6 102.2e6 seconds 0.05 0.1' >mask.txt
cat >job.yaml <<YAML
input: {files: obs.h5}
channelise: {channels: 8192, taps: 4}
products:
  - {kind: power, file: flagged.h5, integrate: 16, polarisation: IQUV, feed: linear,
     flag: {kurtosis: 4, spectra: 8, mask: mask.txt, channels: [[5, 5], [24000, 24010]]}}
  - {kind: power, file: each.h5, integrate: 8, average: 16, flag: {kurtosis: 4, spectra: 8, mask: mask.h5}}
  - {kind: power, file: part.h5, integrate: 8, polarisation: I, channels: [10000, 34991], average: 8, bits: 16,
     scale_rows: 2, flag: {kurtosis: 4, spectra: 8}}
  - {kind: power, file: mean.fil, integrate: 4, polarisation: I, bits: 8, scale_rows: 4, average: 8}
  - {kind: power, file: range.fits, integrate: 2, polarisation: IQUV, feed: linear, bits: 8, scale_rows: 8,
     channels: [15000, 39999]}
  - {kind: spectra, file: range.h5, channels: [8000, 20000]}
  - {kind: power, file: inside.h5, integrate: 4, freq_hz: [101.6e6, 101.7e6], average: 3, compress: bitshuffle}
  - {kind: power, file: first.h5, integrate: 4, polarisation: I, channels: [10000, 34991], average: 8, bits: 8,
     scales: first, scale_rows: 2}
run: {chunk: 16, sync: 0.01}
YAML
memory() { "$voltmill" plan --json job.yaml "$@" | "$python" -c 'import json, sys; print(json.load(sys.stdin)["run"]["memory_bytes"])'; }
[ $(($(memory) - $(memory --set 'products.1.flag={kurtosis: 4, spectra: 8}'))) -ge $((16 * 49152)) ]
ok $? "its mask counts: 16 bytes for each of 6 x 8,192 channels at least"
products=(flagged.h5 each.h5 part.h5 mean.fil range.fits range.h5 inside.h5 first.h5)
small=(--set run.memory=220MiB)
in_groups 12
sampled 2 flagged.h5 each.h5 part.h5 range.h5
for product in "${sample[@]}"; do
    runs "verify $product in little memory" "$voltmill" verify --all --set run.memory=99MiB $product
    grep -q '(12 of 12 chunks)' "$work/output"
    ok $? "in groups of a coarse channel"
    runs "verify --crc $product" "$voltmill" verify --crc $product
done
# A strong line is among the few channels that are kept.
for product in inside.h5 first.h5; do
    runs "verify $product" "$voltmill" verify $product
done

# Flags, kurtosis, weights and numbers of one coarse channel that are wrong, and a mark.
warm - <<'PYTHON'
import shutil
import h5py
import numpy as np
def spoil(product, name, at, change):
    shutil.copy(f"{product}.h5", f"{product}-{name.split('/')[-1]}.h5")
    with h5py.File(f"{product}-{name.split('/')[-1]}.h5", "r+") as f:
        f[name][at] = change(f[name][at])
spoil("flagged", "flags", (1, 1, 40001), lambda flag: flag ^ 1)
spoil("each", "kurtosis", (2, 1, -1), lambda value: value + 1)
spoil("part", "weights", (2, 0, 1500), lambda value: value / 2)
spoil("range", "spectra", (7, 1, -3), lambda value: value * 2)
spoil("flagged", "provenance/holes", 0, lambda mark: 1)
PYTHON
while IFS='|' read -r product pattern; do
    fails "$product of one coarse channel" 4 "$pattern" "$voltmill" verify --all --set run.memory=99MiB "$product.h5"
done <<'WRONG'
flagged-flags|/flags of channel 40001 in cell 1 is
each-kurtosis|/kurtosis of channel 49151 in cell 2 is
part-weights|the weight of stream 1500 in row 2 is
range-spectra|
flagged-holes|row 0 is marked in /provenance/holes, but all
WRONG
clean_up

begin 9
for product in flagged.h5 range.h5 part.h5 each.h5; do
    runs "verify --crc of what is done of $product" "$voltmill" verify --crc $product.part
done
go_on 12

# Optimised: plain kernels would take four times as long for so much.
for memory in 2GiB 250MiB; do
    runs "an OpenCL device, $memory" env -u POCL_EXTRA_BUILD_FLAGS "$voltmill" run --set run.memory=$memory \
        --set input.select.samples=[0,163840] --set channelise.backend=opencl --set channelise.kernel=fused job.yaml
    digest >"opencl-$memory"
    clean_up
done
same "the same bytes on a device" "$(<opencl-2GiB)" "$(<opencl-250MiB)"

# Means of two coarse channels keep these two together; means across one border the channels beside it.
cat >across.yaml <<YAML
input: {files: obs.h5}
channelise: {channels: 8192, taps: 4}
products:
  - {kind: power, file: flagged.h5, integrate: 16, polarisation: I, average: 16384, flag: {kurtosis: 4, spectra: 8}}
  - {kind: power, file: part.h5, integrate: 8, average: 64, channels: [16416, 31775]}
run: {chunk: 16}
YAML
products=(flagged.h5 part.h5)
runs "means across borders, much memory" "$voltmill" run across.yaml
expected=$(digest)
clean_up
runs "means across borders, little memory" "$voltmill" plan --set run.memory=126MiB across.yaml
grep -Eq '^  chunks +6 of 16 spectra of 4 streams' "$work/output"
ok $? "has groups of two coarse channels"
runs "is run" "$voltmill" run --set run.memory=126MiB across.yaml
same "the same bytes" "$expected" "$(digest)"
runs "and verified" "$voltmill" verify --set run.memory=110MiB flagged.h5
clean_up
runs "means across all borders" "$voltmill" plan --set run.memory=2GiB --set products.1.channels=[16,49103] across.yaml
grep -Eq '^  chunks +2 of 16 spectra$' "$work/output"
ok $? "keep all coarse channels together"

# Some bytes of the fifth coarse channel are unreadable: rows are marked in products that keep channels of it.
warm - <<'PYTHON'
import h5py
import numpy as np
with h5py.File("apart.h5", "w") as f:
    f["v"] = np.random.default_rng(5).integers(-60, 60, (6, 2, 221184, 2)).astype("i1")
PYTHON
cat >apart.yaml <<'YAML'
input:
  files: apart.h5
  layout: {dataset: /v, axes: "chan,pol,time,reim", sample_rate_hz: 1e6, freq_hz: {start: 100e6, step: 1e6}}
channelise: {channels: 8192, taps: 4, backend: cpu}
products:
  - {kind: power, file: flagged.h5, integrate: 8, polarisation: I, average: 4, flag: {kurtosis: 4, spectra: 8}}
  - {kind: power, file: part.h5, integrate: 4, polarisation: I, channels: [6000, 19999]}
  - {kind: power, file: each.h5, integrate: 4, channels: [30000, 39999], average: 5}
run: {chunk: 16, on_bad: nan}
YAML
products=(flagged.h5 part.h5 each.h5)
at=$(warm -c 'import h5py; print(h5py.File("apart.h5")["v"].id.get_offset() + 2 * (9 * 221184 + 120000))')
broken=(env "LD_PRELOAD=$shim" "SHIM_BAD=$at-$((at + 200000))")
for memory in 2GiB 165MiB; do
    status=0
    "${broken[@]}" "$voltmill" run --set run.memory=$memory apart.yaml >log 2>&1 || status=$?
    [ $status = 6 ] || note <log
    same "unreadable samples of one coarse channel, $memory" 6 $status
    digest >"sums-$memory"
    sampled 1 "${products[@]}"
    for product in "${sample[@]}"; do
        runs "verify $product, $memory" "${broken[@]}" "$voltmill" verify --all --set run.memory=$memory $product
    done
    marks=$(warm -c 'import h5py
print([bool(h5py.File(f)["provenance/holes"][:].sum() > 0) for f in ("flagged.h5", "part.h5", "each.h5")])')
    same "rows with some of that channel are marked" "[True, False, True]" "$marks"
    [ $memory = 165MiB ] || clean_up
done
same "the same bytes in groups" "$(<sums-2GiB)" "$(<sums-165MiB)"
plan
