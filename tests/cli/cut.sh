# How dedispersions are cut into chunks, as `plan` says it: few bytes are read more than once, chunks enough for
# ranks to share, for delays of every length and little memory; and that what is read is what was planned.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

warm - <<'PYTHON'
import h5py
import numpy as np


def bank(name, rows, channels, fch1, foff, tsamp, fill=False):
    """Sparse: it takes no room on the disk."""
    with h5py.File(name + ".h5", "w", libver="latest") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((rows, 1, channels))
        data = h5py.Dataset(h5py.h5d.create(file.id, b"data", h5py.h5t.STD_U8LE, space, plist))
        data.attrs.update({"fch1": fch1, "foff": foff, "tsamp": tsamp, "tstart": 58849.0})
        if fill:
            data[:] = np.random.default_rng(3).integers(0, 256, data.shape, dtype="u1")


bank("frb", 5120, 336, 1465.0, -1.0, 1.26646875e-3)
bank("lofar", 12000000, 32, 138.09375, 0.1875, 5e-6)
bank("apertif", 1200000, 1024, 1420.15, 0.29296875, 5e-5)
bank("wide", 4000, 131072, 1600.0, -300 / 131072, 1e-3)
bank("noise", 40000, 16, 150.0, -1.0, 1e-3, fill=True)
PYTHON
job() { # job NAME DMS: a job of DMS DMs
    printf 'input: {files: %s.h5}\ndedisperse: {dm: %s, file: out.h5}\n' "$1" "$2" >"$1.yaml"
}
job frb '{start: 0, step: 1, count: 701}'
job lofar '{start: 0, step: 0.25, count: 4096}'
job apertif '{start: 0, step: 0.25, count: 4096}'
job wide '{start: 0, step: 1, count: 1100}'
job noise '{start: 0, step: 0.5, count: 256}'

# planned NAME TIMES LEAST MOST OPTION...: its file is read TIMES times at most, in LEAST to MOST chunks
planned() {
    local name=$1 times=$2 least=$3 most=$4 chunks few many
    shift 4
    timeout 300 "$voltmill" plan "$name.yaml" "$@" >output 2>&1
    chunks=$(sed -n 's/^  chunks *\([0-9,]*\) of.*/\1/p' output | tr -d ,)
    warm - "$times" <<'PYTHON'
import re
import sys
unit = {"B": 1, "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}
found = re.search(r"bytes in +([\d.]+) (\S+) \(([\d.]+) (\S+) read", open("output").read())
held, read = (float(found[i]) * unit[found[i + 1]] for i in (1, 3))
sys.exit(not held <= read <= float(sys.argv[1]) * held)
PYTHON
    few=$?
    ok $few "$name $*: reads its file at most $times times"
    [ "${chunks:-0}" -ge "$least" ] && [ "$chunks" -le "$most" ]
    many=$?
    ok $many "$name $*: $least to $most chunks"
    [ $few$many = 00 ] || note <output
}
planned frb 2.5 6 16
planned lofar 10 16 64
planned lofar 6 8 64 --set run.memory=8GiB
planned lofar 1.3 32 64 --set dedisperse.dm.count=64
planned apertif 2 32 64

# By the processor's time: others may be at work, too.
TIMEFORMAT=%U
spent=$({ time "$voltmill" plan wide.yaml --set run.memory=8GiB >output 2>&1; } 2>&1)
ok $? "a plan of 144 million delays"
warm -c 'import sys; sys.exit(not float(sys.argv[1]) < 6)' "$spent"
ok $? "is there after 6 s of work"
echo "# $spent s"

# Bytes read: blocks much shorter than their delays read each sample once.
digest() { sha256sum out.h5; }
# read_by COMMAND...: bytes that it reads (a shell counts those of its children)
read_by() { bash -c '"$0" "$@" >/dev/null 2>&1; sed -n "s/^rchar: //p" /proc/$$/io' "$@"; }
runs "one block" "$voltmill" run noise.yaml --set run.chunk=40000
expected=$(digest)
rm out.h5
small=(--set run.chunk=40000 --set run.memory=97MiB)
beginning=$(read_by "$voltmill" plan noise.yaml "${small[@]}")
"$voltmill" plan noise.yaml "${small[@]}" >output
grep -q 'chunks        2 of 128 DMs x 34,485 times, in blocks of 4,928' output
ok $? "little memory: 128 DMs at a time in blocks shorter than their delays"
read=$(($(read_by "$voltmill" run noise.yaml "${small[@]}") - beginning))
same "the same bytes" "$expected" "$(digest)"
# Beside them the input's CRC, and what processes of a run's own read that look into files: about a MB.
[ $read -ge 2000000 ] && [ $read -le 2700000 ]
ok $? "640,000 bytes are read twice"
[ $read -le 2700000 ] || echo "# $read bytes were read"

# Samples that a block keeps from the one before are the same in every mode of summation, on every backend.
devices=$("$voltmill" info --devices 2>/dev/null)
for keys in edges=pad mode=tree mode=two-step "downsample=3 edges=pad" reference=140e6 backend=opencl backend=reference; do
    if [ "$keys" = backend=opencl ] && ! grep -q '^0:' <<<"$devices"; then
        skip "no OpenCL device"
        continue
    fi
    sets=(--set dedisperse.dm.step=4 --set dedisperse.dm.count=33)
    # A processor as a device is slow: some of them.
    [ "$keys" != backend=opencl ] || sets=(--set dedisperse.dm.step=16 --set dedisperse.dm.count=9)
    for key in $keys; do sets+=(--set "dedisperse.$key"); done
    rm -f out.h5 whole.h5
    "$voltmill" run noise.yaml "${sets[@]}" --set run.chunk=40000 --set dedisperse.file=whole.h5 >output 2>&1
    "$voltmill" run noise.yaml "${sets[@]}" --set run.chunk=900 >>output 2>&1
    cmp -s out.h5 whole.h5
    ok $? "blocks of $keys"
done
plan
