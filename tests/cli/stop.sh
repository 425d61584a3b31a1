# A run that is asked to stop ends in good order: by SIGTERM and SIGINT at once, by SIGUSR1 when the work in hand is
# finished; to any rank, or to mpirun. What was done is kept, and the same command goes on to the same bytes.
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
signal.signal(signal.SIGHUP, signal.SIG_DFL)
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
    else
        [ $status != 0 ]
        ok $? "$name: exit status is not 0"
    fi
    # The mpirun of Open MPI 5 that is asked to end hands on no words of its ranks any more.
    if [ "$who" != mpirun ] || mpirun --version | grep -q 'Open MPI) 4'; then
        same "$name: one line" 1 "$(grep -c '^stopped: .* chunks are done.*; run the same command to resume' log)"
        same "$name: says that it stops" "$([ "$signal" = USR1 ] && echo 0 || echo 1)" "$(grep -c '^stopping \.\.\.$' log)"
    fi
    same "$name: no error" 0 "$(grep -c '^error' log)"
    [ ! -e spectra.h5 ] && [ "$(chunks power.h5)" -ge 20 ] && [ "$(chunks power.h5)" -lt 155 ]
    ok $? "$name: what was done is kept"
    runs "$name: the same command goes on" "$voltmill" run job.yaml
    same "$name: same bytes" "$expected" "$(digest)"
    clear_all
}
stopped "SIGTERM to the only rank" 1 TERM 1
stopped "SIGINT to one rank" 3 INT 2
stopped "SIGHUP to one rank" 2 HUP 1
stopped "SIGUSR1 to the last rank" 3 USR1 3
stopped "SIGTERM to mpirun" 3 TERM mpirun
stopped "SIGHUP to mpirun" 2 HUP mpirun

# OpenCL of processors takes signals for itself once it is asked for its devices.
sed -i 's/backend: cpu/backend: auto/' job.yaml
runs "another backend, perhaps" "$voltmill" run job.yaml
cpu=$expected
expected=$(digest)
clear_all
stopped "SIGUSR1 when OpenCL has been asked" 2 USR1 2
sed -i 's/backend: auto/backend: cpu/' job.yaml
expected=$cpu

nohup "${slow[@]}" "$voltmill" run job.yaml >log 2>&1 &
run=$!
await 20
kill -HUP $run
wait $run
same "SIGHUP under nohup is ignored" "0 $expected" "$? $(digest)"
clear_all

# Before the first chunk there is nothing to be kept.
"${slow[@]}" "$voltmill" run job.yaml --set run.sync=100 >log 2>&1 &
run=$!
while [ ! -e power.h5.part ] && kill -0 $run; do nap 0.01; done
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
    same "SIG$signal while MPI begins: one line" 1 "$(grep -c '^stopped: ' log)"
    clear_all
done

# Work in flight is dropped at once, or after eight seconds; a second SIGINT does not wait at all. One chunk of some
# 70 blocks, each of which takes most of a second: minutes, asleep.
"$python" - "${slow[@]}" "$voltmill" <<'PYTHON'
import fcntl, os, signal, subprocess, sys, time

def begin(*words, ranks=1, stderr=subprocess.PIPE, **settings):
    for name in ("power.h5.journal", "power.h5.part", "spectra.h5.journal", "spectra.h5.part"):
        if os.path.exists(name):
            os.remove(name)
    program = [*sys.argv[1:-1], *(f"{name}={value}" for name, value in settings.items()), sys.argv[-1], "run", "job.yaml"]
    launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    run = subprocess.Popen([*launcher, *program, *words], stderr=stderr, text=True)
    while not os.path.exists("power.h5.journal"):
        time.sleep(0.01)
    time.sleep(0.3)
    return run

def ok(good, name, text=""):
    print("ok" if good else "not ok", "-", name)
    if not good:
        print("".join(f"# {line}\n" for line in text.splitlines()), end="")

def end(run, number):
    began = time.time()
    run.send_signal(number)
    _, error = run.communicate(timeout=300)
    return time.time() - began, error

long = ["--set", "run.chunk=1e6", "--set", "run.memory=90MiB"]
took, error = end(begin(*long, SHIM_NAP=400), signal.SIGTERM)
ok(took < 4, f"SIGTERM: a long chunk is dropped at once ({took:.2f} s)")
ok(error.count("stopped: ") == 1 and error.count("stopping ...\n") == 1 and "error" not in error, "and it is said", error)

# All blocks of it are read already, and wait to be written.
run = begin("--set", "run.chunk=1e6", SHIM_NAP=900)
time.sleep(0.3)
took, error = end(run, signal.SIGTERM)
ok(run.returncode == 75 and error.count("stopped: 0 of 1 chunks") == 1 and "error" not in error, "so is its end", error)

run = begin(*long, SHIM_NAP=400)
run.send_signal(signal.SIGUSR1)
time.sleep(0.3)
ok(run.poll() is None, "SIGUSR1 leaves time to finish a chunk")
took, error = end(run, signal.SIGINT)
ok(run.returncode == 75 and took < 4, f"SIGINT after it does not ({took:.2f} s)")
ok(error.count("stopped: ") == 1 and error.count("stopping ...\n") == 1 and "error" not in error, "and it is said", error)
run = begin(*long, SHIM_NAP=400)
took, error = end(run, signal.SIGUSR1)
ok(run.returncode == 75 and 7 < took < 60, f"SIGUSR1: a chunk that takes for ever is dropped ({took:.2f} s)")
ok(error.count("stopped: ") == 1 and "error" not in error, "and it is said", error)

# The reference works in the main thread.
alone = ["--set", "run.chunk=1e6", "--set", "channelise.backend=reference", "--set", "channelise.taps=3000"]
run = begin(*alone)
took, error = end(run, signal.SIGTERM)
ok(run.returncode == 75 and took < 4, f"a main thread that does not look: SIGTERM ends it ({took:.2f} s)")
ok(error.count("stopped: 0 of 1 chunks are done, unfinished chunks were discarded") == 1, "and it is said", error)
run = begin(*alone)
run.send_signal(signal.SIGINT)
while run.stderr.readline() not in ("stopping ...\n", ""):
    pass
run.send_signal(signal.SIGINT)
run.wait(300)
ok(run.returncode == -signal.SIGINT, "a second SIGINT ends at once")

# A file system that does not come back from a flush.
run = begin(SHIM_NAP=4, SHIM_SYNC="3:hang")
time.sleep(1)  # it hangs by then
took, error = end(run, signal.SIGTERM)
ok(run.returncode == 75 and took < 4, f"a flush that is delayed does not delay the end ({took:.2f} s)")
ok("stopped: " in error and "the file system delays the flush of spectra.h5" in error, "and it is said", error)
run = begin(SHIM_NAP=4, SHIM_SYNC="3:hang", SHIM_RANK=1, ranks=2)
time.sleep(1)
took, error = end(run, signal.SIGTERM)
# As above: the mpirun of Open MPI 5 drops the last words of its ranks.
drops = "Open MPI) 4" not in subprocess.run(["mpirun", "--version"], stdout=subprocess.PIPE, text=True).stdout
ok(drops or ("note: rank 1 on " in error and "the file system delays the flush of spectra.h5" in error),
   "of another rank, too", error)
ok(drops or error.count("stopped: ") == 1, "and one rank speaks", error)

# Standard error that takes nothing, as of a terminal that is paused (Ctrl-S).
unread, full = os.pipe()
os.write(full, bytes(fcntl.fcntl(full, 1032)))  # F_GETPIPE_SZ
run = begin("--progress", "0.01", SHIM_NAP=4, stderr=full)
size, end_at = os.path.getsize("power.h5.journal"), time.time() + 60
while os.path.getsize("power.h5.journal") < size + 1000 and time.time() < end_at:
    time.sleep(0.01)
ok(time.time() < end_at, "progress that no one reads is skipped")
run.terminate()
try:
    ok(run.wait(60) == 75, "nor does it keep a run from stopping")
except subprocess.TimeoutExpired:
    ok(False, "nor does it keep a run from stopping")
    run.kill()
PYTHON
count=$((count + 17))
clear_all
runs "what it left is no hindrance" "$voltmill" run job.yaml
plan
