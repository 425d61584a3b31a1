#!/usr/bin/env bash
# Files whose structure is damaged such that HDF5 itself crashes or loops: one message that names the file,
# status 4, within the limit. Later versions of HDF5 may see through some of these files: then the message is theirs.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"
shim=(env "LD_PRELOAD=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}")

cat >job.yaml <<'END'
input: {files: good.h5}
channelise: {channels: 16, taps: 4}
products:
  - {kind: spectra, file: out.h5}
END
cat >bank.yaml <<'END'
input: {files: bank-crash.h5}
dedisperse:
  dm: [0, 10]
  file: series.h5
END

cat >damage.py <<'END'
def number(value):
    return int(value).to_bytes(8, "little")

def heap_objects(data):
    """Where the objects of the first global heap begin: texts of variable length. The last is its free space."""
    at = data.index(b"GCOL") + 16
    while int.from_bytes(data[at:at + 2], "little"):
        yield at
        at += 16 + (int.from_bytes(data[at + 8:at + 16], "little") + 7) // 8 * 8
    yield at

def damage(name, made, how):
    data = bytearray(open(made, "rb").read())
    how(data)
    open(name, "wb").write(data)

def long_text(data):
    for at in list(heap_objects(bytes(data)))[:-1]:
        data[at + 8:at + 16] = number(1 << 40)

def endless(data):
    at = list(heap_objects(bytes(data)))[-1]
    data[at + 8:at + 16] = number(0)

def circle(data):
    """The root of the chunks' B-tree (type 1, level 1) is its own child."""
    root = data.index(b"TREE\x01\x01")
    key = 8 + 8 * 4
    for i in range(int.from_bytes(data[root + 6:root + 8], "little")):
        at = root + 24 + key + i * (key + 8)
        data[at:at + 8] = number(root)
END
PYTHONPATH="$here/tests/cli:." warm - <<'END' || exit 1
from archives import *
from damage import *

native("good.h5", noise((4096, 2, 2)))
damage("crash.h5", "good.h5", long_text)
damage("loop.h5", "good.h5", endless)
native("chunked.h5", noise((4096, 2, 2)), chunks=(16, 2, 2))
damage("circle.h5", "chunked.h5", circle)
with h5py.File("bank.h5", "w") as file:
    data = file.create_dataset("data", data=np.ones((64, 1, 8), "f4"))
    data.attrs.update(dict(fch1=1400.0, foff=-1.0, tsamp=1e-3, source_name="a name", nchans=8, nifs=1, nbits=32))
damage("bank-crash.h5", "bank.h5", long_text)
END

fails "a text that lies nowhere: run" 4 '^error: .*crash\.h5' "$voltmill" run job.yaml --set input.files=crash.h5
fails "run on three ranks" 4 '^error: .*crash\.h5' mpirun -n 3 "$voltmill" run job.yaml --set input.files=crash.h5
fails "plan" 4 '^error: .*crash\.h5' "$voltmill" plan job.yaml --set input.files=crash.h5
fails "info" 4 '^error: .*crash\.h5' "$voltmill" info crash.h5
fails "a heap without end: run" 4 '^error: .*loop\.h5' \
    "$voltmill" run --stall-timeout 1 job.yaml --set input.files=loop.h5
fails "it is one of several" 4 '^error: .*loop\.h5' \
    "$voltmill" run --stall-timeout 1 job.yaml --set input.files='[good.h5, loop.h5]'
fails "an index of chunks that leads in a circle" 4 '^error: .*circle\.h5' \
    "$voltmill" run job.yaml --set input.files=circle.h5
fails "plan sees it, too" 4 '^error: .*circle\.h5' "$voltmill" plan job.yaml --set input.files=circle.h5
fails "a filterbank: run" 4 '^error: .*bank-crash\.h5' "$voltmill" run bank.yaml
fails "a filterbank: plan" 4 '^error: .*bank-crash\.h5' "$voltmill" plan bank.yaml
fails "a filterbank: info" 4 '^error: .*bank-crash\.h5' "$voltmill" info bank-crash.h5
fails "a filterbank: export" 4 '^error: .*bank-crash\.h5' "$voltmill" export --format fil bank-crash.h5

# Files that should be products.
cp crash.h5 victim.h5
fails "verify" 4 '^error: .*victim\.h5' "$voltmill" verify victim.h5
fails "verify --crc" 4 '^error: .*victim\.h5' "$voltmill" verify --crc victim.h5
fails "status" 4 '^error: .*victim\.h5' "$voltmill" status victim.h5

# A product whose scales are listed where no list can be: only its CRCs are asked to look there.
runs "a product" "$voltmill" run job.yaml
PYTHONPATH=. warm -c 'from damage import *; damage("scales.h5", "out.h5", long_text)' || exit 1
rm out.h5
fails "verify --crc of a damaged product" 4 '^error: .*scales\.h5' "$voltmill" verify --crc scales.h5

# Whatever the version of HDF5: reading hangs or crashes.
if [ -e "${shim[1]#LD_PRELOAD=}" ]; then
    fails "a crash names file and object" 4 '^error: good\.h5.*HDF5 crashes there \(Segmentation fault\)' \
        "${shim[@]}" SHIM_LOOK=1:crash "$voltmill" run job.yaml
    fails "on two ranks" 4 '^error: good\.h5.*crashes' mpirun -n 2 "${shim[@]}" SHIM_LOOK=1:crash "$voltmill" run job.yaml
    fails "a hang" 4 '^error: good\.h5.* 0\.5 s' \
        "${shim[@]}" SHIM_LOOK=3:hang "$voltmill" run --stall-timeout 0.5 job.yaml
    fails "killed, as for want of memory" 4 '^error: good\.h5.*killed' "${shim[@]}" SHIM_LOOK=2:kill "$voltmill" info good.h5

    # Asked to stop, or killed, while it is waited for: nothing is left at work.
    children() { # those that look into files for process $1; without programs that a bare system lacks
        local entry words
        for entry in /proc/[0-9]*; do
            mapfile -d '' -t words 2>/dev/null <"$entry/cmdline" || continue
            [[ " ${words[*]} " != *" --apart $1 "* ]] || echo "${entry#/proc/}"
        done 2>/dev/null
    }
    begin_hung() { # sets pid and child when that has begun to look
        "${shim[@]}" SHIM_LOOK=1:hang "$@" >stdout 2>stderr &
        pid=$!
        for _ in $(seq 200); do
            child=$(children $pid)
            case $(readlink /proc/${child:-none}/fd/*) in
            *good.h5*) break ;;
            esac
            sleep 0.05
        done
    }
    begin_hung "$voltmill" run job.yaml
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    same "SIGTERM: stopped" 75 $status
    same "its two lines" "stopping stopped: " "$(cut -d " " -f 1 stderr | tr '\n' ' ')"
    same "no child is left" "" "$(children $pid)"
    begin_hung "$voltmill" info good.h5
    kill -KILL $pid
    wait $pid 2>/dev/null
    for _ in $(seq 200); do
        [ -n "$(children $pid)" ] || break
        sleep 0.05
    done
    same "SIGKILL: no child is left" "" "$(children $pid)"

    # The first child is forked, without the cost of loading the program again; but not on ranks that do not ask. Both
    # are alike, whatever their parent has open and ignores.
    about_child() { # about_child COMMAND...
        begin_hung env --ignore-signal=HUP,USR2,XFSZ "$@" 7<job.yaml
        mapfile -d '' -t words <"/proc/$child/cmdline"
        echo ${words[*]/$pid/PARENT}
        # Up to signal 28: posix_spawn() ignores two that glibc keeps to itself.
        sed -nE 's/^(Sig(Blk|Ign|Cgt):).*(.{7})$/\1 \3/p' "/proc/$child/status"
        grep core "/proc/$child/limits"
        readlink "/proc/$child/fd/"* | sed 's/:\[.*//'
        cmp -s "/proc/$pid/auxv" "/proc/$child/auxv"
        echo $? >loaded
        kill -KILL $pid
        wait $pid 2>/dev/null
    }
    forked=$(about_child "$voltmill" info good.h5)
    same "the first child is forked" 0 "$(<loaded)"
    same "it is called" "voltmill --apart PARENT" "${forked%%$'\n'*}"
    # Commands that only print run on the first rank alone.
    spawned=$(about_child PMI_RANK=1 "$voltmill" export --format fil good.h5)
    same "another rank's is spawned" 1 "$(<loaded)"
    same "both are alike" "$spawned" "$forked"
    short=$(shim=(env -i "SHIM_LOOK=1:hang" "${shim[@]}" "PATH=${voltmill%/*}:$PATH" OMPI_ALLOW_RUN_AS_ROOT=1)
            about_child "${voltmill##*/}" info good.h5)
    same "under a short name, too" "$forked" "$short"

    # One answers all questions, and another one those that come after its end.
    "${shim[@]}" SHIM_NAP=100 "$voltmill" run --set run.chunk=64 job.yaml >stdout 2>stderr &
    pid=$!
    while [ ! -e out.h5.part ] && kill -0 $pid 2>/dev/null; do nap 0.02; done
    child=$(children $pid)
    same "one child waits" 1 "$(wc -w <<<"$child")"
    kill -KILL $child
    for _ in $(seq 100); do
        [ -e "/proc/$child" ] || break
        sleep 0.02
    done
    same "no zombie is left while the run goes on" "0 0" "$(ls -d "/proc/$child" 2>/dev/null | wc -l) $(ls -d out.h5 2>/dev/null | wc -l)"
    status=0
    wait $pid || status=$?
    same "a run does not miss it" "0 " "$status $(cat stderr)"
    rm -f out.h5
else
    skip "no io_shim"
fi

# No process, nor a thread, can be begun.
if can_be_other && [ ${#as_other[@]} -gt 0 ]; then
    chmod 644 good.h5
    fails "no thread can be made" 5 'a thread cannot be made' "${as_other[@]}" prlimit --nproc=1 "$voltmill" info good.h5
else
    skip "cannot be somebody else"
fi
# A command that fails before it uses its child ends it; one that has few descriptors can be tested.
same "no child outlives a mistake" 0 "$("$python" - "$voltmill" <<'PYTHON'
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans become children of this process
left = 0
for i in range(5):
    subprocess.run([sys.argv[1], "plan", "nowhere.yaml"], stderr=subprocess.DEVNULL)
    try:
        while os.waitpid(-1, 0):
            left += 1
    except ChildProcessError:
        pass
print(left)
PYTHON
)"
runs "six descriptors are enough" bash -c 'ulimit -n 6; exec "$0" info good.h5' "$voltmill"
runs "SIGCHLD ignored" env --ignore-signal=CHLD "$voltmill" info good.h5
same "no child of nobody's" 2 "$("$voltmill" --apart 1 </dev/null >/dev/null 2>&1; echo $?)"
plan
