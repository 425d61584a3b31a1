#!/usr/bin/env bash
# `plan` agrees with `run`: the same refusals, in the same words and with the same status, and the disk space of the
# files, to the byte.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

export VOLTMILL_CACHE=$work/cache
cat >synth.yaml <<'END'
file: obs.h5
samples: 40000
streams: {pols: 2, chans: 2}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
END
"$voltmill" synth synth.yaml >/dev/null
cat >job.yaml <<'END'
input: {files: obs.h5}
channelise: {channels: 64, taps: 4, backend: cpu}
products:
  - {kind: spectra, file: out.h5}
  - {kind: power, file: power.h5, integrate: 5}
dedisperse:
  - {input: 1, file: series.h5, dm: {start: 0, step: 0.01, count: 9}}
END
cat >bank.yaml <<'END'
input: {files: bank.h5}
dedisperse: {file: series.h5, dm: {start: 0, step: 0.01, count: 9}}
END

# alike NAME STATUS PATTERN JOB [OPTION]...: plan refuses what run refuses: one error, with the pattern, in the same
# words and with the same status.
alike() {
    local name=$1 status=$2 pattern=$3 planned bad
    shift 3
    errs "$status" "^error: .*$pattern" "$voltmill" plan "$@"
    planned=$(grep -v '^warning: ' stderr)
    [ "$bad" = 0 ] && errs "$status" "^error: .*$pattern" "$voltmill" run "$@"
    [ "$planned" = "$(grep -v '^warning: ' stderr)" ] || bad=1
    ok "$bad" "$name"
    [ "$bad" = 0 ] || { echo "plan: $planned"; echo "run:  $(cat stderr)"; } | note
}

# --- jobs
alike "no such archive" 4 'nowhere.h5' job.yaml --set input.files=nowhere.h5
alike "more taps than raw spectra" 2 'taps need at least 1000' job.yaml --set channelise.taps=1000
alike "absurd sizes" 2 'taps are 18014398509481984 coefficients' job.yaml --set channelise.channels=1073741824 --set channelise.taps=16777216
alike "fewer spectra than a dump has" 2 'there are only' job.yaml --set products.1.integrate=1000
# The default, auto: fine channels need more than a gigabyte, and this is reported only if it is not available.
. "$here/tests/tools/sparse.sh"
sparse "$work/long.h5" $((1 << 27))
cat >fine.yaml <<'END'
input: {files: long.h5}
channelise: {channels: 1572864, taps: 8, backend: cpu}
products: [{kind: power, file: fine.h5, integrate: 4}]
END
alike "1572864 channels in 1 GiB" 2 'run.memory is 1.00 GiB, but 1572864 channels with 8 taps need at least 1\.[1-9]* GiB' fine.yaml --set run.memory=1GiB
"$voltmill" plan fine.yaml >fine.plan 2>&1
grep -q 'memory        [1-9][0-9]*\.[0-9]* GiB a rank (run.memory: auto: up to [0-9.]* GiB)' fine.plan
ok $? "1572864 channels in what there is"
rm -f long.h5
alike "too little memory" 2 'run.memory is 64.00 MiB, but' job.yaml --set run.memory=64MiB
alike "a window that is not there" 4 'nowhere.txt' job.yaml --set channelise.window=file:nowhere.txt
ln -s obs.h5 link.h5
alike "a product that is the archive" 2 'is the input file' job.yaml --set products.0.file=link.h5
mkdir folder
alike "two products in one file" 2 'two products are one file' job.yaml --set products.1.file=folder/../out.h5
ln -s nothing nowhere
alike "a folder that cannot be made" 2 'nowhere' job.yaml --set products.0.file=nowhere/out.h5
alike "a folder that cannot be made, for series" 2 'nowhere' job.yaml --set dedisperse.0.file=nowhere/series.h5
mkdir folder.h5
alike "a product that is a folder" 2 'folder.h5' job.yaml --set products.0.file=folder.h5
touch there.h5
alike "a product that exists" 2 'there.h5 exists' job.yaml --set products.0.file=there.h5
alike "series that exist" 2 'there.h5 exists' job.yaml --set dedisperse.0.file=there.h5
alike "delays longer than the observation" 2 'no valid output is left' job.yaml --set 'dedisperse.0.dm={start: 0, step: 100, count: 9}'
alike "a mask of all channels" 2 'leaves none' job.yaml --set dedisperse.0.mask=0-127
alike "a pol that is not there" 2 'pols: is 7' job.yaml --set dedisperse.0.pols=7
alike "no such constant" 2 'constant: is none' job.yaml --set dedisperse.0.constant=none

# --- what is complete
"$voltmill" run job.yaml >/dev/null 2>&1
runs "nothing is left to do" "$voltmill" plan job.yaml
alike "complete, but of another job" 2 'made by another job' job.yaml --set channelise.taps=5
cp power.h5 bank.h5
alike "series of another filterbank" 2 'made by another job or of other files' bank.yaml
rm -f series.h5
alike "no such filterbank" 4 'nowhere.h5' bank.yaml --set input.files=nowhere.h5
alike "too little memory for delays" 2 'run.memory is 64.00 MiB, but' bank.yaml --set run.memory=64MiB

# --- room: size SET...: every file of a job is as long as its plan says, and all of them as the room is.
size() {
    local name=$1 bytes=0 said file long bad=0
    shift
    rm -f out.h5 power.h5 series.h5 # those of the job before
    "$voltmill" plan "$@" >planned 2>&1 && "$voltmill" run "$@" >output 2>&1 || bad=1
    for file in $(sed -n 's/^  \([a-z]*\.h5\): .* [KM]iB$/\1/p' planned); do
        long=$(stat -c %s "$file") || bad=1
        said=$(sed -n "s/^  $file: .*, \([0-9.]* [KM]iB\)$/\1/p" planned)
        [ "$said" = "$(warm -c 'import sys
n, names = int(sys.argv[1]), ["B", "KiB", "MiB", "GiB"]
while n >= 1024 and len(names) > 1: n /= 1024; names.pop(0)
print("%.2f %s" % (n, names[0]))' "$long")" ] || { echo "# $file: $said planned, $long bytes"; bad=1; }
        bytes=$((bytes + (long + 4095) / 4096 * 4096))
    done
    [ "$bytes" -gt 0 ] && grep -q "($bytes bytes) needed" planned || { echo "# $bytes bytes in all"; bad=1; }
    ok "$bad" "$name"
    [ "$bad" = 0 ] || cat planned output | note
}
size "files are as long as planned" job.yaml
size "with many coefficients" job.yaml --set channelise.channels=4096 --set channelise.taps=7 --set products.1.integrate=1 \
    --set 'dedisperse.0.dm=0'
size "with CRCs of many spans" job.yaml --set channelise.channels=2 --set products.1.integrate=2 --set dedisperse.0.dm=0.001
size "with delays in two steps, a mask and padding" job.yaml --set 'dedisperse.0={input: 1, file: series.h5,
    dm: {start: 0, end: 0.3, tolerance: 1.01, width: 0.001}, mode: two-step, group: 4, mask: [3, 10-20], edges: pad, downsample: 2}'
size "of a filterbank that is there" bank.yaml
size "of another window" job.yaml --set channelise.window=kaiser:5 --set channelise.normalise=peak
size "of the reference" job.yaml --set channelise.backend=reference --set run.threads=1

# --- time: of what the machine has done already, and of nothing else.
time_of() { "$voltmill" plan --force "$@" | grep -Ec '^  time          about [0-9.]+ [mun]*s on 1 rank of [0-9]+ threads?, as the last such run here$'; }
rm -rf cache
same "no time of what was never done" 0 "$(time_of job.yaml)"
"$voltmill" run --force job.yaml >output 2>&1
same "the time of both passes" 2 "$(time_of job.yaml)"
same "of another length, too" 2 "$(time_of job.yaml --set input.select.samples='[0, 20000]')"
same "but not of other channels" 0 "$(time_of job.yaml --set channelise.channels=32)"
same "without a cache nothing is known" 0 "$(VOLTMILL_CACHE=off time_of job.yaml)"

# --- Lustre, as statfs() says
shim=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}
lustre() { env SHIM_LUSTRE=1 LD_PRELOAD="$shim" "$voltmill" plan --force "$@" | sed -n 's/^  Lustre *//p'; }
if [ -e "$shim" ]; then
    same "stripes of a small file" "before the run: lfs setstripe -c 1 -S 16384K ./; and run.align: 16MiB" "$(lustre job.yaml)"
    truncate -s 4T big.raw
    same "of a large one" "before the run: lfs setstripe -c -1 -S 4096K ./" "$(lustre --set input.files=big.raw --set run.align=4MiB \
        --set 'input.layout={format: raw, type: ci8, sample_rate_hz: 1e9, freq_hz: 1e9}' --set channelise.channels=1024 \
        --set 'products=[{kind: spectra, file: s.h5}]' 2>stderr)"
    same "elsewhere no word of it" 0 "$("$voltmill" plan --force job.yaml | grep -c Lustre)"
fi

# --- words
"$voltmill" plan --force job.yaml >stdout
same "widths in Hz beside channels" 2 "$(grep -Ec '^  (width|noise width) +0\.[0-9]+ \([0-9.]+ k?Hz\)' stdout)"
plan
