# Each write of making products, an observation and exports fails once, one after the other, and all calls
# around it succeed: the job ends with one error and the stated status or with the bytes that it should, never with others, and
# the same command ends with these. A sample of the writes; VOLTMILL_TEST_ALL=1: all.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
export VOLTMILL_CACHE=$work/cache
shim=(env "LD_PRELOAD=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}")
reasons=(5 28 122) # EIO ENOSPC EDQUOT
statuses=(4 3 3)

warm - <<'PYTHON'
import h5py
import numpy as np
rng = np.random.default_rng(11)
with h5py.File("obs.h5", "w") as f:
    f["v"] = rng.integers(-100, 101, (20000, 2, 2), dtype="i1")
PYTHON
cat >job.yaml <<'YAML'
input:
  files: obs.h5
  layout: {dataset: /v, axes: "time,pol,reim", sample_rate_hz: 1e6, freq_hz: [1e9], missing_value: 100}
channelise: {channels: 64, taps: 4, backend: cpu}
products:
  - {kind: spectra, file: spectra.h5}
  - {kind: power, file: power.h5, integrate: 4}
dedisperse: {dm: [0, 5, 10], file: series.h5}
run: {chunk: 100, threads: 1}
YAML
cat >synth.yaml <<'YAML'
file: made.h5
samples: 20000
bits: 8
sample_rate_hz: 1e6
freq_hz: 1.4e9
noise: 20
YAML

digest() { sha256sum "$@" 2>&1; }

# each NAME WANTED FILES COMMAND...: WANTED of the command's writes fail once, one in each turn
each() {
    local name=$1 wanted=$2 files writes number which status bad expected
    read -ra files <<<"$3"
    shift 3
    rm -f "${files[@]}"
    "${shim[@]}" SHIM_COUNTS=counts "$@" >stdout 2>stderr || { ok 1 "$name"; note <stderr; return; }
    expected=$(digest "${files[@]}")
    writes=$(awk '$1 == "SHIM_WRITE" {print $2}' counts)
    # shellcheck disable=SC2046  # numbers
    sampled "$wanted" $(seq "$writes")
    bad=0
    for number in "${sample[@]}"; do
        which=$((number % 3))
        rm -f "${files[@]}"
        status=0
        timeout 300 "${shim[@]}" "SHIM_WRITE=$number!:${reasons[which]}" "$@" >stdout 2>stderr || status=$?
        if [ $status = 0 ]; then
            [ "$expected" = "$(digest "${files[@]}")" ] || { echo "# write $number: status 0, other bytes"; bad=1; }
        elif [ $status != "${statuses[which]}" ] || [ "$(grep -c '^error: ' stderr)" != 1 ] ||
            grep '^error: ' stderr | grep -q HDF5; then
            echo "# write $number: status $status, expected ${statuses[which]} and one plain error"
            note <stderr
            bad=1
        fi
        "$@" >stdout 2>stderr || [ $status = 0 ] || { echo "# write $number: the same command fails"; note <stderr; bad=1; }
        [ "$expected" = "$(digest "${files[@]}")" ] || { echo "# write $number: other bytes afterwards"; bad=1; }
        [ -z "$(ls ./*.part ./*.journal 2>/dev/null)" ] || { echo "# write $number: something is left"; bad=1; rm -f ./*.part ./*.journal; }
    done
    ok $bad "$name: each of ${#sample[@]} of $writes writes fails once"
}
each "products and series" 8 "spectra.h5 power.h5 series.h5" "$voltmill" run job.yaml
each "an observation" 4 made.h5 "$voltmill" synth synth.yaml
each "a filterbank for SIGPROC" 3 power.fil "$voltmill" export --format fil power.h5
each "series for PRESTO" 3 "series_DM5.00.dat series_DM5.00.inf" "$voltmill" export --format dat --dm 5 series.h5
plan
