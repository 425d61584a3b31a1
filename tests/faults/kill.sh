# A run that is killed leaves nothing under the product's name, and the same command again goes on and makes
# the product of an undisturbed run. Two runs never write one product.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/tools/sparse.sh"

sparse "$work/obs.h5" 134217728
cat >"$work/job.yaml" <<YAML
input: {files: $work/obs.h5}
channelise: {channels: 256, taps: 16}
products:
  - {kind: power, file: $work/power.h5, integrate: 512}
run: {sync: 0.05}
YAML

await_chunks() { # until the journal tells of some
    while kill -0 "$first"; do
        "$voltmill" status "$work/power.h5" 2>/dev/null | grep -qE ' [1-9][0-9]* of [0-9]+ done' && return 0
        sleep 0.02
    done
    return 1
}

kill_ranks() { # SIGKILL to every rank of this job (a bare system has no pkill)
    local entry words
    for entry in /proc/[0-9]*; do
        words=()
        { mapfile -d '' -t words <"$entry/cmdline"; } 2>/dev/null
        case ${words[*]} in
        "$voltmill run $work/job.yaml"*) kill -9 "${entry#/proc/}" ;;
        esac
    done
}

# Some seconds, whatever the machine.
slow=(env "LD_PRELOAD=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}" SHIM_NAP=200)
mpirun -n 2 "${slow[@]}" "$voltmill" run "$work/job.yaml" >"$work/first" 2>&1 &
first=$!
await_chunks
ok $? "the first run has begun"
"$voltmill" status "$work/power.h5.part" | grep -q 'unfinished, a run is at work'
ok $? "status says that it is at work"
status=0
"$voltmill" run "$work/job.yaml" >"$work/second" 2>&1 || status=$?
same "a second run of the same job is refused" 2 "$status"
grep -q 'error: .*is being written by another run' "$work/second"
ok $? "and says why"
[ -e "$work/power.h5.part" ]
ok $? "without harm to the first"
kill_ranks
wait "$first"
[ $? != 0 ]
ok $? "the first run, killed, fails"
[ ! -e "$work/power.h5" ]
ok $? "there is no product"
[ -e "$work/power.h5.part" ]
ok $? "what it had begun is called .part"
"$voltmill" status "$work/power.h5" >"$work/status"
grep -q 'unfinished, no run is at work: run the same command to resume' "$work/status"
ok $? "status says that it can go on"

runs "the same command again runs" mpirun -n 2 "$voltmill" run "$work/job.yaml"
grep -Eq '^note: [0-9]+ of [0-9]+ chunks are done: resumes from there' "$work/output"
ok $? "and goes on"
[ ! -e "$work/power.h5.part" ] && [ ! -e "$work/power.h5.journal" ]
ok $? "nothing is left behind"
cp "$work/power.h5" "$work/again.h5"
runs "an undisturbed run" "$voltmill" run --force "$work/job.yaml"
cmp "$work/power.h5" "$work/again.h5"
ok $? "made the same bytes"

plan
