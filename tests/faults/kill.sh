# A run that is killed leaves nothing under the product's name, and the same command again makes the
# product of an undisturbed run. Two runs never write one product.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/tools/sparse.sh"

sparse "$work/obs.h5" 1073741824
cat >"$work/job.yaml" <<YAML
input: {files: $work/obs.h5}
channelise: {channels: 256, taps: 16}
products:
  - {kind: power, file: $work/power.h5, integrate: 512}
YAML

await_part() { # until the run has begun to write
    for _ in $(seq 200); do
        [ -s "$work/power.h5.part" ] && return 0
        sleep 0.02
    done
    return 1
}

kill_ranks() { # SIGKILL to every rank of this job (a bare system has no pkill)
    local entry
    for entry in /proc/[0-9]*; do
        case $({ tr '\0' ' ' <"$entry/cmdline"; } 2>/dev/null) in
        "$voltmill run $work/job.yaml "*) kill -9 "${entry#/proc/}" ;;
        esac
    done
}

mpirun -n 2 "$voltmill" run "$work/job.yaml" >"$work/first" 2>&1 &
first=$!
await_part
ok $? "the first run has begun"
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

runs "the same command again runs" mpirun -n 2 "$voltmill" run "$work/job.yaml"
grep -q 'warning: .*was left by a run that did not end' "$work/output"
ok $? "and says what it found"
[ ! -e "$work/power.h5.part" ]
ok $? "nothing is left behind"
cp "$work/power.h5" "$work/again.h5"
runs "an undisturbed run" "$voltmill" run --force "$work/job.yaml"
cmp "$work/power.h5" "$work/again.h5"
ok $? "made the same bytes"

plan
