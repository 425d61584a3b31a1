# Ranks that die or hang, and files that do, in the middle of a run: all end soon, with one error that names
# rank, host and file; what was done is kept, and the same command goes on.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/begun.bash"
host=$(uname -n)
cp -p obs.h5 whole.h5

runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
clear_all

pid_of() { # pid_of RANK
    local process
    for process in $(ranks); do
        tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$process"
    done
}

# lost NAME PATTERN DO...: DO to a run of `size` ranks; it ends within a minute
size=3
lost() {
    local name=$1 pattern=$2 status=0 began took bad=0
    shift 2
    mpirun -n $size "${slow[@]}" "${faults[@]}" "$voltmill" run --stall-timeout 2 job.yaml >stdout 2>stderr &
    local run=$!
    await 10 || bad=1
    "$@"
    began=$SECONDS
    { wait $run || status=$?; } 2>/dev/null
    took=$((SECONDS - began))
    [ "$status" != 0 ] && [ "$took" -le 60 ] || { echo "# exit $status after $took s"; bad=1; }
    [ "$(grep -c '^error: ' stderr)" = 1 ] || { echo "# not one error line"; bad=1; }
    grep -Eq "^error: .*$pattern" stderr || { echo "# no such message: $pattern"; bad=1; }
    [ "$(chunks power.h5)" -ge 10 ] && [ ! -e power.h5 ] || { echo "# nothing was kept"; bad=1; }
    while [ -n "$(ranks)" ] && [ $((SECONDS - began)) -le 60 ]; do nap 0.1; done
    [ -z "$(ranks)" ] || { echo "# still there: $(ranks)"; bad=1; kill -9 $(ranks); }
    ok $bad "$name"
    [ $bad = 0 ] || note <stderr
    cp -p whole.h5 obs.h5
    runs "$name: goes on" "$voltmill" run job.yaml
    same "$name: same bytes" "$expected" "$(digest)"
    clear_all
}

faults=()
kill_rank() { kill "-$2" "$(pid_of "$1")"; }
lost "a rank that dies" "rank 2 on $host has died: run the same command to continue with spectra.h5" kill_rank 2 KILL
size=2
lost "rank 0 that dies" "rank 0 on $host has died: run the same command to continue with spectra.h5" kill_rank 0 KILL
lost "a rank that crashes" "rank 1 on $host has died: run the same command to continue with spectra.h5" kill_rank 1 SEGV
lost "a rank that hangs" "rank 1 on $host has not answered for 2 s: run the same command to continue with spectra.h5" kill_rank 1 STOP
lost "rank 0 that hangs" "rank 0 on $host has not answered for 2 s: run the same command to continue with spectra.h5" kill_rank 0 STOP
# The launcher wakes it before it ends it: it must not complain then of what it did not see.
comes_back_late() {
    kill -STOP "$run" "$(pid_of 0)"
    sleep 3
    kill -CONT "$run"
}
lost "rank 0 that comes back" "rank 0 on $host has not answered for 2 s: run the same command to continue with spectra.h5" comes_back_late
faults=(SHIM_RANK=1 SHIM_SAMPLES=40:hang)
lost "a file that hangs" "obs.h5: spectra .* could not be read within 2 s \(rank 1 on $host\)" true
faults=(SHIM_RANK=1 SHIM_ROWS=100:hang)
lost "a product that hangs" "spectra.h5: spectra .* could not be finished and written within 2 s \(rank 1 on $host\)" true

# Before the first chunk: while MPI begins, and where it opens its first file. The program stops itself there.
hung() { # hung NAME PATTERN: the run of three ranks that is under way
    local status=0 began=$SECONDS bad=0
    { wait $run || status=$?; } 2>/dev/null
    [ $status != 0 ] && [ $((SECONDS - began)) -le 30 ] || { echo "# exit $status after $((SECONDS - began)) s"; bad=1; }
    # Open MPI 5's launcher may end the other ranks before they see what happened.
    if grep -q '^error: ' stderr || ! grep -q '^prterun noticed' stderr; then
        [ "$(grep -c '^error: ' stderr)" = 1 ] && grep -Eq "^error: $2" stderr || bad=1
    fi
    [ -z "$(ranks)" ] || { echo "# still there: $(ranks)"; bad=1; kill -9 $(ranks); }
    ok $bad "$1"
    [ $bad = 0 ] || note <stderr
    clear_all
}
timeout -k 1 60 mpirun -n 3 "${slow[@]}" SHIM_RANK=1 SHIM_START="$(kill -l STOP)" \
    "$voltmill" run --stall-timeout 2 job.yaml >stdout 2>stderr &
run=$!
hung "a rank that hangs while MPI begins" "MPI has not begun within 2 s: a rank hangs or is missing \(rank 0 on $host\)"
timeout -k 1 60 mpirun -n 3 "${slow[@]}" SHIM_RANK=2 SHIM_OPEN=1:stop \
    "$voltmill" run --stall-timeout 2 job.yaml >stdout 2>stderr &
run=$!
hung "a rank that hangs before the first chunk" "rank 2 on $host has been stopped: cannot continue without it"
# The next rank has spoken and ended when the last one comes to it.
# shellcheck disable=SC2016  # each rank's shell expands it
timeout -k 1 60 mpirun -n 3 bash -c 'case $OMPI_COMM_WORLD_RANK in
0) export SHIM_CREATE=3:kill ;;
2) export SHIM_WAKE=3 ;;
esac
exec "$0" "$@"' "${slow[@]}" "$voltmill" run job.yaml >stdout 2>stderr &
run=$!
hung "rank 0 that dies before the first chunk" "rank 0 on $host has died: run the same command to resume"

# A file system that goes away when products are made or finished: only the watchdog detects it then.
for call in 1:made 5:finished; do
    for size in 1 2; do
        timeout -k 1 120 mpirun -n $size env "${slow[1]}" SHIM_RANK=0 SHIM_FSYNC=${call%:*}:hang \
            "$voltmill" run --stall-timeout 2 job.yaml >stdout 2>stderr
        status=$?
        bad=0
        [ $status = 4 ] || { echo "# exit $status"; bad=1; }
        [ "$(grep -c '^error: ' stderr)" = 1 ] || { echo "# not one error line"; bad=1; }
        grep -Eq "^error: spectra.h5: could not be ${call#*:} .* within 2 s \(rank 0 on $host\)" stderr || {
            echo "# does not say what hangs"
            bad=1
        }
        ok $bad "a file that cannot be ${call#*:}, on $size ranks"
        [ $bad = 0 ] || note <stderr
        runs "${call#*:}, $size ranks: goes on" "$voltmill" run job.yaml
        same "${call#*:}, $size ranks: same bytes" "$expected" "$(digest)"
        clear_all
    done
done

# A file system that goes away at any other moment, for all ranks at once: one error, whatever hangs after it.
hangs() { # hangs RANKS PATTERN FAULT...
    local size=$1 pattern=$2 status=0 began=$SECONDS bad=0
    shift 2
    { timeout -k 1 60 mpirun -n "$size" env "${slow[1]}" "$@" "$voltmill" run --stall-timeout 2 job.yaml >stdout \
        2>stderr </dev/null || status=$?; } 2>/dev/null
    [ "$status" = 4 ] && [ $((SECONDS - began)) -le 30 ] || { echo "# exit $status after $((SECONDS - began)) s"; bad=1; }
    [ "$(grep -c '^error: ' stderr)" = 1 ] || { echo "# not one error line"; bad=1; }
    grep -Eq "^error: $pattern" stderr || { echo "# no such message: $pattern"; bad=1; }
    ok $bad "$* that hangs, $size ranks"
    [ $bad = 0 ] || note <stderr
    runs "$*, $size ranks: goes on" "$voltmill" run job.yaml
    same "$*, $size ranks: same bytes" "$expected" "$(digest)"
    clear_all
}
hangs 1 "spectra.h5: could not be looked up and locked within 2 s" SHIM_LOCK=2:hang
hangs 1 "spectra.h5: could not be computed, or recorded in the journal, within 2 s" SHIM_RECORDS=9:hang
hangs 2 "spectra.h5: .* within 2 s" SHIM_RECORDS=9:hang SHIM_ROWS=100:hang SHIM_SYNC=2:hang
hangs 1 "spectra.h5: spectra .* could not be finished and written within 2 s" SHIM_ROWS=100:hang SHIM_SYNC=2:hang
hangs 2 "spectra.h5: rows could not be synced within 2 s" SHIM_SYNC=2:hang
hangs 1 "spectra.h5: could not be finished and synced within 2 s" SHIM_NAME=2:hang

# All of it suspended, as by a terminal or by SLURM: nothing hangs, the run goes on.
# Slower than others: on a busy machine it would be through before there is anything to suspend. And
# such a machine takes more than a second to sync a row now and then.
mpirun -n 3 "${slow[@]}" SHIM_NAP=30 "$voltmill" run --stall-timeout 5 job.yaml >stdout 2>stderr &
await 10
held=$(ranks)
[ -n "$held" ]
ok $? "a run to suspend"
[ -z "$held" ] || { kill -STOP $held; sleep 7; kill -CONT $held; }
status=0
wait $! || status=$?
ok $status "a run that is suspended goes on"
[ $status = 0 ] || note <stderr
same "a run that is suspended: same bytes" "$expected" "$(digest)"
clear_all

# The input, cut off while it is read; for the next run it is there again.
faults=()
cut() { truncate -s 600000 obs.h5; }
lost "a file that is cut off" "obs\.h5" cut
plan
