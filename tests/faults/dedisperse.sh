# A job whose filter bank feeds its dedispersions, killed or stopped at whatever moment, goes on to the bytes
# of an undisturbed run. What does not belong together is refused.
. "$(dirname "$0")/../tools/lib.sh"
. "$(dirname "$0")/../cli/begun.bash"

cat >job.yaml <<'YAML'
input:
  files: obs.h5
  layout: {dataset: /v, axes: "time,pol,reim", sample_rate_hz: 1e6, freq_hz: 400e6}
channelise: {channels: 64, taps: 8, backend: cpu}
products:
  - {kind: power, file: power.h5, integrate: 2}
dedisperse:
  - {dm: {start: 0, step: 20, count: 6}, file: series.h5}
  - {dm: {list: [10, 30, 35]}, mode: two-step, edges: pad, downsample: 3, file: other.h5}
run: {chunk: 128, sync: 0.01, threads: 1}
YAML
slow=("${slow[@]/SHIM_NAP=10/SHIM_NAP=5}")
slower=("${slow[@]/SHIM_NAP=5/SHIM_NAP=50}") # for what must not end before it is interrupted
products="power.h5 series.h5 other.h5"
digest() { sha256sum $products 2>&1; }
clear_all() { rm -f power.h5* series.h5* other.h5*; }
await_file() { # await_file FILE COUNT: until COUNT chunks of it are done
    local done end=$((SECONDS + 300))
    while [ "$SECONDS" -lt "$end" ] && [ ! -e "$1" ]; do
        done=$(chunks "$1")
        [ "${done:-0}" -ge "$2" ] && return 0
        sleep 0.1
    done
    return 1
}

runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
for size in 2 3; do
    clear_all
    runs "$size ranks" mpirun -n $size "$voltmill" run job.yaml
    same "$size ranks: same bytes" "$expected" "$(digest)"
done
for file in $products; do
    runs "verify $file" "$voltmill" verify $file
    runs "verify --crc $file" "$voltmill" verify --crc $file
done
runs "the job again" "$voltmill" run job.yaml
same "is complete" "complete before: $(echo $products | sed 's/ /, /g')" "$(cat output)"
runs "and its plan" "$voltmill" plan job.yaml
same "is planned" "filter bank
dedispersion of power.h5
dedispersion of power.h5" "$(grep '^[a-z ]*bank$\|^dedispersion' output)"
rm other.h5
runs "the plan of one of its products" "$voltmill" plan job.yaml
same "it alone is planned" "dedispersion of power.h5" "$(grep '^[a-z ]*bank$\|^dedispersion' output)"
runs "one of its products again" "$voltmill" run job.yaml
grep -q '^note: power.h5 is complete: continues with dedispersion' output && grep -q '^note: series.h5 is complete' output
ok $? "the others are complete"
same "one again: same bytes" "$expected" "$(digest)"
mv power.h5 elsewhere.h5
fails "series without what they were made of: plan" 2 'series.h5 exists, but' "$voltmill" plan job.yaml
fails "series without what they were made of" 2 'series.h5 exists, but its input power.h5 is missing' "$voltmill" run job.yaml
mv elsewhere.h5 power.h5
fails "--each of another job" 2 'made by another job' "$voltmill" run --each obs.h5 --set channelise.taps=4 job.yaml
runs "--force makes all again" "$voltmill" run --force job.yaml
same "--force: same bytes" "$expected" "$(digest)"
clear_all

# Killed again and again, ranks and mpirun, until it is through.
RANDOM=6
for cycle in 1 2; do
    kills=0
    while :; do
        size=$((RANDOM % 3 + 1))
        mpirun -n $size "${slow[@]}" "$voltmill" run job.yaml >log 2>&1 &
        run=$!
        sleep "0.$((RANDOM % 600 + 300))"
        if [ $((RANDOM % 2)) = 0 ]; then
            kill -9 $run 2>/dev/null
        else
            kill -9 "$(ranks | sed -n "$((RANDOM % size + 1))p")" 2>/dev/null
        fi
        reap $run
        while [ -n "$(ranks)" ]; do nap 0.1; done
        [ -e other.h5 ] && ! ls ./*.journal >/dev/null 2>&1 && break
        kills=$((kills + 1))
        if [ $kills = 3 ]; then
            runs "cycle $cycle: goes on to the end" mpirun -n $size "$voltmill" run job.yaml
            break
        fi
    done
    same "cycle $cycle: $kills kills, same bytes" "$expected" "$(digest)"
    [ -z "$(ls ./*.part ./*.journal 2>/dev/null)" ]
    ok $? "cycle $cycle: nothing is left behind"
    clear_all
done

# One that was killed in the midst of the first dedispersion, for what follows.
mpirun -n 2 "${slower[@]}" "$voltmill" run job.yaml >log 2>&1 &
run=$!
await_file series.h5 5
ok $? "a dedispersion has begun"
kill -9 $run $(ranks)
reap $run
mkdir half
mv power.h5* series.h5* half
restore() {
    clear_all
    cp -p half/* .
}

restore
"$voltmill" status series.h5 | grep -q 'no run is at work: run the same command to resume'
ok $? "status"
begun=$(chunks series.h5)
runs "plan of what is left" "$voltmill" plan job.yaml
grep -q '^power.h5 is complete: it stays' output && grep -q "^  resumes       $begun of .* chunks are done" output &&
    grep -q '^  other.h5: dedispersed, 3 DMs' output && ! grep -q '^filter bank' output
ok $? "says what run would do"
rm power.h5
runs "plan without what it was begun of" "$voltmill" plan job.yaml
grep -q '^warning: series.h5 was begun of another power.h5 than will be made: .*--restart' output
ok $? "warns"
restore
runs "goes on" mpirun -n 3 "$voltmill" run job.yaml
grep -Eq '^note: [0-9]+ of [0-9]+ chunks are done: resumes from there' output
ok $? "and says where"
same "goes on: same bytes" "$expected" "$(digest)"

restore
truncate -s -5 series.h5.journal
runs "a torn record: goes on" "$voltmill" run job.yaml --set run.chunk=50
same "a torn record: same bytes" "$expected" "$(digest)"

restore
rm series.h5.journal
runs "a lost journal: begins anew" "$voltmill" run job.yaml
grep -q '^warning: series.h5.part was left by a run that did not end, and has no journal' output
ok $? "a lost journal: says so"
same "a lost journal: same bytes" "$expected" "$(digest)"

# refused NAME PATTERN COMMAND...: exit status 2, of `plan` in place of `run`, too, and what was done stays
refused() {
    local name=$1 pattern=$2 bad word words=()
    shift 2
    for word; do words+=("${word/#run/plan}"); done
    [ "$1" != mpirun ] || words=("${words[@]:3}")
    errs 2 "$pattern" "${words[@]}"
    ok "$bad" "$name: plan says so"
    errs 2 "$pattern" "$@"
    cmp -s half/series.h5.journal series.h5.journal && cmp -s half/series.h5.part series.h5.part || bad=1
    ok "$bad" "$name"
    [ "$bad" = 0 ] || note <"$work/stderr"
}
restore
refused "other DMs" 'job: .*step: 20 then, .*step: 21 now' "$voltmill" run job.yaml --set dedisperse.0.dm.step=21
refused "another mode" 'job: .*; --restart begins anew' mpirun -n 2 "$voltmill" run job.yaml --set dedisperse.0.mode=two-step
refused "another filter" 'power\.h5 exists.*another job' "$voltmill" run job.yaml --set channelise.taps=16
touch -d 2021-01-01 power.h5
refused "another filterbank" 'input: .*power\.h5: .*changed .* then' "$voltmill" run job.yaml
runs "--restart begins anew" "$voltmill" run --restart job.yaml
same "--restart: same bytes" "$expected" "$(digest)"

# A filterbank behind a link: the file that it leads to counts, too.
warm -c 'import h5py; h5py.File("link.h5", "w")["data"] = h5py.ExternalLink("power.h5", "/data")'
cat >linked-job.yaml <<'YAML'
input: {files: link.h5}
dedisperse: {dm: {start: 0, step: 20, count: 6}, file: linked.h5}
run: {chunk: 128, sync: 0.01, threads: 1}
YAML
"${slower[@]}" "$voltmill" run linked-job.yaml >log 2>&1 &
await_file linked.h5 3
kill -9 $!
{ wait $!; } 2>/dev/null
touch -d 2022-01-01 power.h5
errs 2 'input: .*power\.h5: .*changed .* then' "$voltmill" run linked-job.yaml
ok "$bad" "what a filterbank's link leads to has changed"
[ "$bad" = 0 ] || note <"$work/stderr"
rm -f linked*.h5*
clear_all

# stopped NAME FILE SIGNAL: sends it to one of two ranks, when three of the file's chunks are done
stopped() {
    local name=$1 file=$2 signal=$3 began
    mpirun -n 2 "${slower[@]}" "$voltmill" run job.yaml >log 2>&1 &
    run=$!
    await_file "$file" 3
    began=$SECONDS
    kill "-$signal" "$(ranks | sed -n 2p)"
    reap $run
    same "$name: exit status" 75 $?
    [ $((SECONDS - began)) -le 60 ] && [ ! -e "$file" ] && grep -q '^stopped: .* chunks are done' log
    ok $? "$name: ends in order within a minute"
    runs "$name: goes on" "$voltmill" run job.yaml
    same "$name: same bytes" "$expected" "$(digest)"
    clear_all
}
stopped "SIGTERM in a dedispersion" series.h5 TERM
stopped "SIGUSR1 in the last one" other.h5 USR1

# Killed when the second product had its name, and before its journal went.
{ "${slow[@]}" SHIM_RENAME=2 "$voltmill" run job.yaml >log 2>&1; } 2>/dev/null
[ -e power.h5 ] && [ ! -e power.h5.journal ] && mv series.h5.part series.h5 && [ -e series.h5.journal ]
ok $? "killed at the very end of a dedispersion"
runs "plan" "$voltmill" plan job.yaml
runs "goes on" "$voltmill" run job.yaml
same "same bytes" "$expected" "$(digest)"
[ ! -e series.h5.journal ]
ok $? "and takes the journal away"
clear_all

# Rows that are NaN do not keep the others from being dedispersed.
warm - <<'PYTHON'
import h5py
with h5py.File("obs.h5") as f, h5py.File("chunked.h5", "w") as g:
    g.create_dataset("v", data=f["v"], chunks=(4096, 2, 2), fletcher32=True)
    at = g["v"].id.get_chunk_info(40).byte_offset
with open("chunked.h5", "r+b") as file:
    file.seek(at + 7)
    file.write(b"\x55\x55\x55")
PYTHON
status=0
mpirun -n 2 "$voltmill" run job.yaml --set input.files=chunked.h5 --set run.on_bad=nan >log 2>&1 || status=$?
same "holes in the power: exit status" 6 $status
warm - <<'PYTHON'
import sys
import h5py
import numpy as np
power = np.isnan(h5py.File("power.h5")["data"]).any(1)  # of some if
series = h5py.File("series.h5")
table = series["provenance/delays"][()]
channels = np.arange(table.shape[1])
there = np.array([[(~power[t + row, channels]).sum() for t in range(series["dedispersed"].shape[1])] for row in table])
expected = there * 10 < len(channels)
sys.exit(not (expected.any() and np.array_equal(np.isnan(series["dedispersed"]), expected) and
              np.array_equal(series["provenance/holes"], expected.any(1))))
PYTHON
ok $? "sums leave NaN out, and are NaN where hardly any is left"
clear_all

plan
