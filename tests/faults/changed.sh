# Input that changes while it is read: rewritten in place, cut, grown, replaced; plain, in chunks, behind a virtual
# dataset, as a filterbank. The job ends with one error that names the file, and no product gets its name.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/begun.bash"
warm - <<'PYTHON'
import h5py
with h5py.File("obs.h5") as f:
    x = f["v"][:]
with h5py.File("chunked.h5", "w") as f:
    f.create_dataset("v", data=x, chunks=(5000, 2, 2))
layout = h5py.VirtualLayout(shape=x.shape, dtype="i1")
layout[:] = h5py.VirtualSource("chunked.h5", "v", shape=x.shape)
with h5py.File("virtual.h5", "w", libver="latest") as f:
    f.create_virtual_dataset("v", layout)
PYTHON

least=20 # chunks before it changes
touch_in_place() { printf 'x' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") - 1)) conv=notrunc 2>/dev/null; }
grow() { printf 'x' >>"$1"; }
cut() { truncate -s -100 "$1"; }
replace() { cp "$1" other && mv other "$1"; }

# changes HOW FILE INPUT RANKS PATTERN [SETTING...]
changes() {
    local how=$1 file=$2 input=$3 size=$4 pattern=$5 status=0 bad=0
    shift 5
    cp -p "$file" kept
    local ranks=()
    [ "$size" = 1 ] || ranks=(mpirun -n "$size")
    (exec "${ranks[@]}" "${slow[@]}" "$voltmill" run job.yaml --set "input.files=$input" "$@") >stdout 2>stderr &
    local run=$!
    await $least || { echo "# it did not begin"; bad=1; }
    $how "$file"
    wait $run || status=$?
    [ $status = 4 ] || { echo "# exit status $status"; bad=1; }
    [ "$(grep -c '^error: ' stderr)" = 1 ] && grep -Eq "^error: $pattern" stderr || { echo "# another message"; bad=1; }
    [ ! -e spectra.h5 ] && [ ! -e power.h5 ] || { echo "# a product"; bad=1; }
    grep -q '^note: .* are done, of input that has changed since: --restart begins anew, or restore' stderr || bad=1
    # Both pieces of advice hold, and no other would.
    local again=("$voltmill" run job.yaml --set "input.files=$input" "$@")
    "${again[@]}" >stdout 2>>stderr && { echo "# resumed with another input"; bad=1; }
    mkdir begun && cp -p ./*.part ./*.journal begun
    if [ $how != cut ]; then "${again[@]}" --restart >stdout 2>>stderr || { echo "# no restart"; bad=1; }; fi
    clear_all
    mv -f kept "$file"
    mv begun/* . && rmdir begun
    "${again[@]}" >stdout 2>>stderr || { echo "# not resumed with the old input"; bad=1; }
    ok $bad "$input: $how $file, $size ranks"
    [ $bad = 0 ] || note <stderr
    clear_all
}
changes touch_in_place obs.h5 obs.h5 1 'obs\.h5 was written to while this job ran'
changes replace obs.h5 obs.h5 2 'obs\.h5 was replaced by another file while this job ran'
changes cut obs.h5 obs.h5 1 'obs\.h5 changed while this job ran: it held [0-9]+ bytes, now' --set run.on_bad=nan
changes grow chunked.h5 chunked.h5 2 'chunked\.h5 changed while this job ran'
changes replace chunked.h5 virtual.h5 1 'chunked\.h5 was replaced' --set run.on_bad=nan

# A filterbank.
cat >frb.yaml <<'YAML'
input: {files: bank.h5}
dedisperse: {dm: {start: 0, step: 1, count: 24}, file: power.h5}
run: {threads: 1, sync: 0.01, chunk: 1024}
YAML
warm - <<'PYTHON'
import h5py
import numpy as np
with h5py.File("bank.h5", "w") as f:
    f.create_dataset("data", data=np.random.default_rng(1).integers(0, 255, (4000, 1, 64), dtype="u1"))
    f["data"].attrs.update({"fch1": 400.0, "foff": -1.0, "tsamp": 1e-3, "tstart": 58849.0})
PYTHON
mv frb.yaml job.yaml
least=2
slow+=(SHIM_NAP=200) # there are four chunks only
changes touch_in_place bank.h5 bank.h5 1 'bank\.h5 was written to while this job ran'
changes replace bank.h5 bank.h5 2 'bank\.h5 was replaced by another file while this job ran'

# A power product that another file takes the place of between the passes; of this run, then of an earlier one.
cat >passes.yaml <<'YAML'
input: {files: obs.h5, layout: {dataset: /v, axes: "time,pol,reim", sample_rate_hz: 1e6, freq_hz: 1e9}}
channelise: {channels: 64, taps: 4, backend: cpu}
products: [{kind: power, file: first.h5, integrate: 10}, {kind: power, file: second.h5, integrate: 20}]
dedisperse: [{dm: {start: 0, step: 1, count: 24}, file: a.h5}, {input: 1, dm: {start: 0, step: 1, count: 24}, file: b.h5}]
run: {chunk: 16000, threads: 1}
YAML
# between HOW FILE JOB RANKS PATTERN: while the first dedispersion runs; the second begins with another file
between() {
    local how=$1 file=$2 job=$3 size=$4 pattern=$5 status=0 bad=0 end=$((SECONDS + 300)) ranks=()
    [ "$size" = 1 ] || ranks=(mpirun -n "$size")
    (exec "${ranks[@]}" "${slow[@]}" SHIM_NAP=400 "$voltmill" run "$job") >stdout 2>stderr &
    local run=$!
    until [ -e a.h5.part ] || [ -e a.h5 ] || [ $SECONDS -gt $end ]; do nap 0.01; done
    if [ -e "$file" ]; then cp -p "$file" kept && $how "$file"; fi
    [ ! -e a.h5 ] || { echo "# it was too fast"; bad=1; }
    wait $run || status=$?
    [ $status = 4 ] || { echo "# exit status $status"; bad=1; }
    [ "$(grep -c '^error: ' stderr)" = 1 ] && grep -Eq "^error: $pattern" stderr || { echo "# another message"; bad=1; }
    [ -e a.h5 ] && [ ! -e b.h5 ] || { echo "# other products"; bad=1; }
    ok $bad "between passes of $job: $how $file, $size ranks"
    [ $bad = 0 ] || note <stderr
    mv -f kept "$file"
    rm -f a.h5 b.h5
}
between replace second.h5 passes.yaml 2 'second\.h5 was replaced by another file while this job ran'
between grow second.h5 passes.yaml 1 'second\.h5 changed while this job ran: it held [0-9]+ bytes'
runs "with none in its place" "$voltmill" run passes.yaml
plan
