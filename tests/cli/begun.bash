# Sourced by tests of runs that are interrupted: an observation with missing samples, a job of two products
# in many small chunks, ways to make it slow and to interrupt it.
cd "$work" || exit 1
export VOLTMILL_CACHE=$work/cache

warm - "${samples:-400000}" <<'PYTHON'
import sys
import h5py
import numpy as np
rng = np.random.default_rng(11)
with h5py.File("obs.h5", "w") as f:
    f["v"] = rng.integers(-100, 101, (int(sys.argv[1]), 2, 2), dtype="i1")
PYTHON
cat >job.yaml <<'YAML'
input:
  files: obs.h5
  layout: {dataset: /v, axes: "time,pol,reim", sample_rate_hz: 1e6, missing_value: 100}
channelise: {channels: 64, taps: 64, backend: cpu}
products:
  - {kind: spectra, file: spectra.h5}
  - {kind: power, file: power.h5, integrate: 10}
run: {chunk: 40, sync: 0.01, threads: 1}
YAML
touch -d 2020-01-01 obs.h5

# Four writes of 10 ms a chunk, 155 chunks: six seconds of one rank, whatever the machine.
slow=(env "LD_PRELOAD=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}" SHIM_NAP=10)

# digest: of both products, or of what there is
digest() { sha256sum spectra.h5 power.h5 2>&1; }

clear_all() { rm -f spectra.h5* power.h5*; }

# ranks: the process ids of the job's ranks (a bare system has no pkill). Without a process for each that it looks
# at: on a busy machine the run would be through before the last of them.
ranks() {
    local entry words
    for entry in /proc/[0-9]*; do
        words=()
        { mapfile -d '' -t words <"$entry/cmdline"; } 2>/dev/null
        case ${words[*]} in
        "$voltmill run "*job.yaml*) echo "${entry#/proc/}" ;;
        esac
    done
}

# chunks FILE: how many its journal has
chunks() { "$voltmill" status "$1" 2>/dev/null | sed -n 's/^  chunks *\([0-9,]*\) of.*/\1/p' | tr -d ,; }

# await COUNT: until so many chunks are done; gives up when the run is through, or after five
await() {
    local done end=$((SECONDS + 300))
    while [ "$SECONDS" -lt "$end" ] && [ ! -e power.h5 ]; do
        # Each look is a process.
        if [ -s power.h5.journal ]; then done=$(chunks power.h5); else done=0; fi
        [ "${done:-0}" -ge "$1" ] && return 0
        nap 0.1
    done
    return 1
}
