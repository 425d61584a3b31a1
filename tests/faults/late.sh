# Disks that fail late: a write, a record, what is to be made to last. The job ends with one error and the
# stated status, what was done is kept, and the same command goes on. A run that is killed between the two
# renames of its two products, too.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/begun.bash"
shim=("${slow[@]}" SHIM_NAP=1)
EIO=5 ENOSPC=28 EDQUOT=122

runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
clear_all

# late NAME STATUS PATTERN RANKS SETTING...: breaks after some chunks, which are kept; then goes on
kept='[0-9]* of 155 chunks are done'
late() {
    local name=$1 status=$2 pattern=$3 size=$4 bad
    shift 4
    errs "$status" "$pattern" mpirun -n "$size" "${shim[@]}" "$@" "$voltmill" run job.yaml
    grep -q "^note: $kept: run the same command to resume" stderr || bad=1
    [ ! -e spectra.h5 ] && [ ! -e power.h5 ] || bad=1
    "$voltmill" verify --crc power.h5.part >/dev/null 2>&1 || bad=1
    ok $bad "$name"
    [ $bad = 0 ] || note <stderr
    runs "$name: goes on" "$voltmill" run job.yaml
    same "$name: same bytes" "$expected" "$(digest)"
    clear_all
}
late "no space for rows" 3 'h5\.part: writing .* No space left' 1 SHIM_ROWS=160:$ENOSPC
late "over quota on one of three ranks" 3 'h5\.part: writing .* quota exceeded \(rank 1 on [^ )]+\)' 3 SHIM_ROWS=24:$EDQUOT SHIM_RANK=1
late "an I/O error" 4 'h5\.part: writing .* Input/output error' 2 SHIM_ROWS=60:$EIO
late "no space for a record" 3 'h5\.journal: writing .* No space left' 2 SHIM_RECORDS=9:$ENOSPC
late "rows that cannot be synced" 4 'h5\.part cannot be synced: Input/output error \(rank 2 on [^ )]+\)' 3 \
    SHIM_SYNC=7:$EIO SHIM_RANK=2
# A disk that hangs behind an error: the run ends all the same, and says what it could not wait for.
kept='the last work took too long to end; chunks that are done are kept'
late "an I/O error on a disk that then hangs" 4 'h5\.part: writing .* Input/output error' 2 SHIM_ROWS=60:$EIO SHIM_SYNC=9:hang SHIM_RANK=0

# Nothing done: nothing is kept.
fails "an I/O error at once" 4 'writing .* Input/output error' "${shim[@]}" SHIM_ROWS=1:$EIO "$voltmill" run job.yaml

# Killed while HDF5 makes a file: it has its size, but not what it consists of.
made=0
sampled 3 2 3 8 20 24 30
for number in "${sample[@]}"; do
    { "${shim[@]}" SHIM_CREATE=$number:kill "$voltmill" run job.yaml >log 2>&1; } 2>/dev/null
    [ $? = 137 ] && [ -e spectra.h5.part ] && [ ! -e power.h5.journal ] && made=$((made + 1))
    runs "killed at write $number of a new file: the same command" "$voltmill" run job.yaml
    same "killed at write $number of a new file: same bytes" "$expected" "$(digest)"
    clear_all
done
same "they were killed before there were journals" ${#sample[@]} $made

# Somebody takes the unfinished file away, and puts another one there.
"${slow[@]}" "$voltmill" run job.yaml >stdout 2>stderr &
await 20
ok $? "a run has begun"
cp power.h5.part other
mv other power.h5.part
status=0
wait $! || status=$?
[ $status = 4 ] && grep -q '^error: power\.h5\.part was removed or replaced while this run wrote it' stderr
ok $? "a product that was replaced while it was written: exit 4 ($status)"
[ ! -e power.h5 ] && [ ! -e spectra.h5 ]
ok $? "none gets its name"
! grep -q 'resumes from there' stderr
ok $? "nothing is said to be kept"
clear_all

# One that is taken away is missed at the next sync, not when all is computed: here that would take a minute.
"${slow[@]}" SHIM_NAP=100 "$voltmill" run --set run.sync=0.1 job.yaml >stdout 2>stderr &
await 5
rm power.h5.part
status=0
timeout 20 tail --pid=$! -f /dev/null || { status=$?; kill -9 $!; }
same "a product that was removed ends the run soon" 0 $status
status=0
wait $! || status=$?
[ $status = 4 ] && grep -q '^error: power\.h5\.part was removed or replaced while this run wrote it' stderr
ok $? "with what it is: exit 4 ($status)"
runs "and the same command makes it" "$voltmill" run job.yaml
same "with the same bytes" "$expected" "$(digest)"
clear_all

status=0
{ "${shim[@]}" SHIM_NAP=0 SHIM_RENAME=2 "$voltmill" run job.yaml >log 2>&1 || status=$?; } 2>/dev/null
same "killed between two renames" 137 $status
[ -e spectra.h5 ] && [ -e power.h5.part ] && [ -e power.h5.journal ]
ok $? "one product has its name"
cp power.h5.journal kept
mv spectra.h5 published
cp obs.h5 spectra.h5
errs 2 'spectra\.h5 exists already' "$voltmill" run job.yaml
ok $bad "another file in its place is not taken for it"
mv published spectra.h5
runs "the other gets it" mpirun -n 2 "$voltmill" run job.yaml
same "same bytes" "$expected" "$(digest)"
[ -z "$(ls ./*.part ./*.journal 2>/dev/null)" ]
ok $? "nothing is left behind"

# Killed between the ends of two journals.
mv kept power.h5.journal
runs "one journal is left" mpirun -n 2 "$voltmill" run job.yaml
grep -q '^note: spectra.h5 and the other products are complete: .* only journals' "$work/output"
ok $? "and said so"
same "still the same bytes" "$expected" "$(digest)"
[ -z "$(ls ./*.part ./*.journal 2>/dev/null)" ]
ok $? "it is gone"
runs "the job once more, as after a kill between its last unlink and its end" "$voltmill" run job.yaml
same "is complete" "complete before: spectra.h5, power.h5" "$(cat output)"
plan
