# A run that is asked to stop ends in good order: SIGTERM, SIGINT and SIGUSR1 to any rank, or to mpirun. What
# was done is kept, and the same command goes on to the same bytes.
. "$(dirname "$0")/../tools/lib.sh"
. "$(dirname "$0")/begun.bash"

runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
clear_all

# stopped NAME RANKS SIGNAL WHO: WHO is mpirun or the number of a line of ranks
stopped() {
    local name=$1 size=$2 signal=$3 who=$4 run began status seconds
    # The shell's own children in the background would ignore SIGINT.
    "$python" -c "
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])" mpirun -n "$size" "${slow[@]}" "$voltmill" run job.yaml >log 2>&1 &
    run=$!
    await 20
    began=$(date +%s)
    if [ "$who" = mpirun ]; then kill -"$signal" $run; else kill -"$signal" "$(ranks | sed -n "${who}p")"; fi
    { wait $run; } 2>/dev/null
    status=$?
    seconds=$(($(date +%s) - began))
    [ $seconds -le 60 ]
    ok $? "$name: ends within a minute ($seconds)"
    # mpirun that is itself asked to end does so with its own status.
    if [ "$who" != mpirun ]; then
        same "$name: exit status" 75 $status
        same "$name: one line" 1 "$(grep -c '^stopped: .* chunks are done; the same command goes on' log)"
    else
        [ $status != 0 ]
        ok $? "$name: exit status is not 0"
    fi
    same "$name: no error" 0 "$(grep -c '^error' log)"
    [ ! -e spectra.h5 ] && [ "$(chunks power.h5)" -ge 20 ] && [ "$(chunks power.h5)" -lt 390 ]
    ok $? "$name: what was done is kept"
    runs "$name: the same command goes on" mpirun -n 2 "$voltmill" run job.yaml
    same "$name: same bytes" "$expected" "$(digest)"
    clear_all
}
stopped "SIGTERM to the only rank" 1 TERM 1
stopped "SIGINT to one rank" 3 INT 2
stopped "SIGUSR1 to the last rank" 3 USR1 3
stopped "SIGTERM to mpirun" 3 TERM mpirun

# OpenCL of processors takes signals for itself once it is asked for its devices.
sed -i 's/backend: cpu/backend: auto/' job.yaml
runs "another backend, perhaps" "$voltmill" run job.yaml
cpu=$expected
expected=$(digest)
clear_all
stopped "SIGUSR1 when OpenCL has been asked" 2 USR1 2
sed -i 's/backend: auto/backend: cpu/' job.yaml
expected=$cpu

# Before the first chunk there is nothing to be kept.
"${slow[@]}" "$voltmill" run job.yaml --set run.sync=100 >log 2>&1 &
run=$!
while [ ! -e power.h5.part ] && kill -0 $run; do sleep 0.01; done
kill -TERM $run
wait $run
same "before the first chunk: exit status" 75 $?
grep -q '^stopped: ' log
ok $? "before the first chunk: says so"
clear_all

# While MPI begins.
for signal in TERM INT USR1; do
    status=0
    mpirun -n 2 "${slow[@]}" SHIM_RANK=1 SHIM_START="$(kill -l $signal)" "$voltmill" run job.yaml >log 2>&1 || status=$?
    same "SIG$signal while MPI begins: exit status" 75 $status
    same "SIG$signal while MPI begins: one line" 1 "$(grep -c '^stopped: .* chunks are done' log)"
    clear_all
done

# What takes too long is dropped; a second SIGINT does not wait at all.
# One chunk of some 180 blocks, of which each takes most of a second: minutes, asleep.
"$python" - "${slow[@]}" SHIM_NAP=400 "$voltmill" <<'PYTHON'
import os, signal, subprocess, sys, time

def begin():
    run = subprocess.Popen([*sys.argv[1:], "run", "job.yaml", "--set", "run.chunk=1e6", "--set", "run.memory=90MiB"],
                           stderr=subprocess.PIPE, text=True)
    while not os.path.exists("power.h5.journal"):
        time.sleep(0.01)
    time.sleep(0.3)
    return run

def ok(good, name):
    print("ok" if good else "not ok", "-", name)

run = begin()
run.send_signal(signal.SIGINT)
time.sleep(0.3)
ok(run.poll() is None, "one SIGINT asks")
run.send_signal(signal.SIGINT)
began = time.time()
run.wait(300)
ok(run.returncode == -signal.SIGINT and time.time() - began < 30, "a second one ends at once")
os.remove("power.h5.journal")
run = begin()
began = time.time()
run.send_signal(signal.SIGTERM)
_, error = run.communicate(timeout=300)
ok(run.returncode == 75 and 7 < time.time() - began < 60, "a chunk that takes for ever is dropped")
ok(error.count("stopped: ") == 1 and "error" not in error, "and it is said")
PYTHON
count=$((count + 4))
clear_all
runs "what it left is no hindrance" "$voltmill" run job.yaml
plan
