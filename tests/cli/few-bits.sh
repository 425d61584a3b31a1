#!/usr/bin/env bash
# Spectra in few bits with the scales of the first block, which backends round themselves (cpu and opencl): the bytes
# are those of the job alone, and those of rows that are rounded on the way to the file, as where samples may be missing.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

# A tone comes on behind the first block, far beyond what its scales can hold.
cat >obs.yaml <<YAML
file: obs.h5
samples: 200000
streams: {stations: 2, pols: 2, chans: 2}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 4
tones: [{freq_hz: 100.2e6, amplitude: 90, pulsed: {period_s: 0.05, duty: 0.3, phase: 0.5}}]
seed: 7
YAML
runs "an observation" "$voltmill" synth obs.yaml

# job NAME BITS [MORE]: blocks of 70 rows, which end nowhere else; MORE: lines of the job
job() {
    cat <<YAML
input: {files: obs.h5}
channelise: {channels: 64, taps: 5}
products:
  - {kind: spectra, file: $1.h5, bits: $2, scales: first, scale_rows: 70}
${3:-}
run: {threads: 1}
YAML
}

# digest FILE: of rows, scales and counts; and whether anything was clipped
digest() {
    warm - "$work/$1" <<'PYTHON'
import hashlib, sys
import h5py
with h5py.File(sys.argv[1], "r") as f:
    for name in ("spectra", "scale", "offset", "clipped_low", "clipped_high"):
        print(name, hashlib.sha256(f[name][:].tobytes()).hexdigest())
    print(f["clipped_low"][:].sum() > 100, f["clipped_high"][:].sum() > 100)
PYTHON
}
whole() { sha256sum <"$1"; }

for bits in 8 16; do
    job base$bits $bits >base.yaml
    runs "$bits bits" "$voltmill" run base.yaml
    expected=$(digest base$bits.h5) file=$(whole base$bits.h5)
    if [ $bits = 8 ]; then
        same "much is clipped, low and high" "True True" "$(tail -n 1 <<<"$expected")"
        base=$expected
    fi
    runs "$bits bits: agree with the reference" "$voltmill" verify base$bits.h5
    # Where samples may be missing, rows are floats until weights are known.
    job host$bits $bits >host.yaml
    runs "$bits bits, rounded on the way to the file" "$voltmill" run --set run.on_bad=nan host.yaml
    same "$bits bits: the same rows, scales and counts" "$expected" "$(digest host$bits.h5)"
    job variant $bits >variant.yaml
    for setting in "2 run.chunk=1" "3 run.chunk=500" "1 run.chunk=1e6 run.memory=96MiB" "1 run.threads=2"; do
        sets=(${setting#* })
        runs "$bits bits, ranks and settings: $setting" \
            mpirun -n "${setting%% *}" "$voltmill" run "${sets[@]/#/--set=}" variant.yaml
        same "$bits bits: the same bytes" "$file" "$(whole variant.h5)"
        rm variant.h5
    done
done

# Streams in groups, each with its own scales.
for name in together groups; do
    memory=1GiB
    [ $name = together ] || memory=99MiB
    job $name 8 | sed 's/channels: 64, taps: 5/channels: 4096, taps: 2/; s/70/16/' >$name.yaml
    "$voltmill" plan --set run.memory=$memory $name.yaml >$name.plan
    runs "streams: $name" "$voltmill" run --set run.memory=$memory $name.yaml
done
grep -Eq 'spectra of [1-4] streams?' groups.plan
ok $? "some streams at a time"
same "the same bytes" "$(whole together.h5)" "$(whole groups.h5)"

# Beside other products.
job beside 8 "  - {kind: power, file: power.h5, integrate: 10}
  - {kind: spectra, file: floats.h5}" >beside.yaml
runs "beside other products" "$voltmill" run beside.yaml
same "the same rows, scales and counts" "$base" "$(digest beside.h5)"

# Killed in the middle.
shim=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}
job killed 8 >killed.yaml
{ env LD_PRELOAD="$shim" SHIM_NAP=4 SHIM_ROWS=20:kill "$voltmill" run --set run.chunk=70 --set run.sync=0.01 killed.yaml >killed 2>&1; } 2>/dev/null
[ -e killed.h5.journal ] && [ ! -e killed.h5 ]
ok $? "a run was killed"
runs "the same command" "$voltmill" run --set run.chunk=70 killed.yaml
grep -q 'resumes from there' output
ok $? "goes on"
same "to the same bytes" "$(whole base8.h5)" "$(whole killed.h5)"

# On a device, whatever it is. By a kernel that sums in one order for 64 channels: which is the fastest may differ
# between floats and few bits.
if "$voltmill" info --devices | grep -q '^0: '; then
    for name in device device-host; do
        job $name 8 >$name.yaml
        on_bad=stop
        [ $name = device ] || on_bad=nan
        runs "opencl: $name" "$voltmill" run --set channelise.backend=opencl --set channelise.kernel=fused \
            --set run.on_bad=$on_bad $name.yaml
    done
    same "opencl: the same rows, scales and counts" "$(digest device-host.h5)" "$(digest device.h5)"
    runs "opencl: agrees with the reference" "$voltmill" verify device.h5
else
    skip "no OpenCL device"
fi

# Channels that are flagged have the mean scale of the others, which rounding leaves less exact than a row alone has it.
cat >one.yaml <<'YAML'
input: {files: obs.h5}
channelise: {channels: 512, taps: 4}
products:
  - {kind: power, file: one.h5, integrate: 8, polarisation: I, bits: 8, scale_rows: 1, scales: first,
     flag: {kurtosis: 0, spectra: 8, channels: [[10, 13]]}}
YAML
runs "power with the scales of one row, flagged" "$voltmill" run one.yaml
runs "agrees with the reference" "$voltmill" verify --all one.h5

plan
