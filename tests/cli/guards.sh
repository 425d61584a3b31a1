# Failures that must never happen: rows lost, files destroyed, data read from the wrong place, silence.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

cat >obs.yaml <<'YAML'
file: obs.h5
samples: 400000
streams: {pols: 2}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
seed: 5
YAML
cat >job.yaml <<'YAML'
input: {files: obs.h5}
channelise: {channels: 4096, taps: 8}
products: [{kind: power, file: power.h5}]
run: {memory: 112MiB}
YAML
runs "an observation" "$voltmill" synth obs.yaml
archive=$(sha256sum <obs.h5)

# Ranks with different numbers of threads share one plan.
runs "one rank" "$voltmill" run job.yaml
one=$(sha256sum <power.h5)
for threads in "1 8" "8 1"; do
    set -- $threads
    runs "ranks of $1 and $2 threads: runs" mpirun -n 2 bash -c '
        threads=("$1" "$2")
        OMP_NUM_THREADS=${threads[${OMPI_COMM_WORLD_RANK:-$PMI_RANK}]} exec "$0" run --force job.yaml' "$voltmill" "$1" "$2"
    same "ranks of $1 and $2 threads: same bytes" "$one" "$(sha256sum <power.h5)"
done
rm power.h5

# FILE.part is looked at before it is written.
mkdir guard
cp obs.h5 guard/obs.h5.part
fails "the input has the name of the .part" 2 'is the input file' "$voltmill" run --force job.yaml \
    --set input.files=guard/obs.h5.part --set products.0.file=guard/obs.h5
same "and stays" "$archive" "$(sha256sum <guard/obs.h5.part)"
ln -s ../obs.h5 guard/link.h5.part
fails "a link to the input has the name of the .part" 2 'is the input file' "$voltmill" run job.yaml \
    --set products.0.file=guard/link.h5
echo precious >guard/mine
ln -s mine guard/other.h5.part
fails "a link has the name of the .part" 2 'link has its name' "$voltmill" run --force job.yaml \
    --set products.0.file=guard/other.h5
same "what it leads to stays" precious "$(cat guard/mine)"
echo precious >guard/text.h5.part
fails "somebody's file has the name of the .part" 2 'was not left by voltmill' "$voltmill" run job.yaml \
    --set products.0.file=guard/text.h5
same "and stays" precious "$(cat guard/text.h5.part)"
runs "--force replaces it" "$voltmill" run --force job.yaml --set products.0.file=guard/text.h5
fails "a product has the name of another's .part" 2 'name under which' "$voltmill" run job.yaml \
    --set products.0.file=guard/q.h5.part --set 'products.1={kind: power, file: guard/q.h5}'
fails "one product by two names" 2 'are one file' "$voltmill" run job.yaml --set products.0.file=guard/q.h5 \
    --set "products.1={kind: power, file: $work/guard/../guard/q.h5}"
mkfifo guard/fifo
fails "a pipe has the product's name" 2 'no ordinary file' "$voltmill" run --force job.yaml --set products.0.file=guard/fifo
fails "the job is a pipe" 4 'named pipe' "$voltmill" run guard/fifo
fails "the archive is a pipe" 4 'is not a file' "$voltmill" run job.yaml --set input.files=guard/fifo
fails "the window is a pipe" 4 'named pipe' "$voltmill" run job.yaml --set channelise.window=file:guard/fifo
ln -s fifo guard/to-fifo
fails "the job is a link to a pipe" 4 'named pipe' timeout 20 "$voltmill" run guard/to-fifo
fails "the job is a device" 4 'is a device' timeout 20 "$voltmill" run /dev/zero
runs "the job is a pipe of the shell" bash -c '"$0" plan <(cat job.yaml)' "$voltmill"
{ printf '\xef\xbb\xbf'; cat job.yaml; } >marked.yaml
runs "a job with a byte-order mark" "$voltmill" plan marked.yaml
runs "the same from a pipe" bash -c '"$0" plan <(cat marked.yaml)' "$voltmill"
fails "a pipe that mpirun does not pass on" 2 '/dev/fd/[0-9]*: mpirun does not pass the pipe' \
    bash -c 'mpirun -n 2 "$0" run <(cat job.yaml)' "$voltmill"
runs "one that each rank has" bash -c 'mpirun -n 2 bash -c "$0 plan <(cat job.yaml)"' "$voltmill"
printf '\xef\xbb\xbf0 1\n5e8 0.5\n' >marked.txt
runs "a table with one" "$voltmill" plan job.yaml --set products.0.droop=file:marked.txt
printf '\xef\xbb' >half.yaml
fails "a part of one is no job" 2 'half\.yaml' "$voltmill" plan half.yaml
printf '\xef\xbb\xbf' >only.yaml
fails "one alone is an empty job" 2 'is empty' "$voltmill" plan only.yaml
for file in guard/fifo guard/to-fifo /dev/zero; do
    fails "the droop is $file" 4 'cannot read the droop.* expected a file' timeout 20 "$voltmill" plan job.yaml \
        --set "products.0.droop=file:$file"
    fails "the mask is $file" 4 'cannot read the mask.* expected a file' timeout 20 "$voltmill" plan job.yaml \
        --set "products.0.flag={mask: $file}"
done
fails "the report is a pipe" 2 'no ordinary file' timeout 20 "$voltmill" run job.yaml --report guard/fifo \
    --set products.0.file=guard/r.h5
same "the archive stays" "$archive" "$(sha256sum <obs.h5)"

# Little stack: the limit is that of each thread, too.
runs "a stack of 256 KiB" bash -c 'ulimit -s 256 && "$0" run job.yaml --set products.0.file=small.h5 --set products.0.integrate=4 \
    --set "dedisperse={file: small-d.h5, dm: {list: [0, 1]}}" && "$0" verify small.h5 && "$0" verify small-d.h5' "$voltmill"
runs "a soft limit is raised" bash -c 'ulimit -Ss 100 && exec "$0" run job.yaml --force --set products.0.file=small.h5' "$voltmill"
fails "a hard one of 100 KiB" 5 'limited to 100 KiB \(ulimit -s\), expected 256' bash -c 'ulimit -s 100; exec "$0" plan job.yaml' "$voltmill"
rm -f small.h5 small-d.h5

# A product that comes to be during the run is not replaced.
warm - obs.h5 <<'PYTHON'
import sys
import h5py
with h5py.File("long.h5", "w") as f, h5py.File(sys.argv[1]) as g:
    for name, value in g.attrs.items():
        f.attrs[name] = value
    for name in ("freq_hz", "pol"):
        f[name] = g[name][:]
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)  # chunks that are there, but take no room
    plist.set_chunk((1 << 20, 2, 1, 2))
    plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((60000000,) + g["voltages"].shape[1:])
    v = h5py.Dataset(h5py.h5d.create(f.id, b"voltages", h5py.h5t.STD_I8LE, space, plist))
    for name in ("axes", "sample_rate_hz", "domain", "sideband"):
        v.attrs[name] = g["voltages"].attrs[name]
PYTHON
"$voltmill" run job.yaml --set input.files=long.h5 --set products.0.file=race.h5 --set products.0.integrate=100 \
    --set run.memory=256MiB >race.log 2>&1 &
run=$!
for _ in $(seq 200); do [ -s race.h5.part ] && break; nap 0.02; done
echo precious >race.h5
wait $run
same "a file that came to be meanwhile: status" 2 $?
same "it stays" precious "$(cat race.h5)"
grep -q 'complete, but is left as race.h5.part' race.log
ok $? "the product is kept as .part, and the message says so"
runs "which is whole" "$voltmill" info race.h5.part
runs "and gets its name with --force, without being computed again" "$voltmill" run --force job.yaml \
    --set input.files=long.h5 --set products.0.file=race.h5 --set products.0.integrate=100 --set run.memory=256MiB
rm -f race.h5

"$voltmill" synth --force obs.yaml >/dev/null
SHIM_NAME=1:17 LD_PRELOAD=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so} "$voltmill" import -o native.h5 obs.h5 >stdout 2>stderr
same "an import that cannot be renamed: status" 2 $?
runs "is left whole" "$voltmill" info native.h5.part
runs "and completed by the same command" "$voltmill" import -o native.h5 obs.h5
rm native.h5

# Data are read from where they are.
warm - <<'PYTHON'
import h5py
import numpy as np
rng = np.random.default_rng(1)
x = rng.integers(-100, 100, 40000).astype("i2")
with h5py.File("target.h5", "w") as f:
    f["v"] = x
with h5py.File("linker.h5", "w") as f:
    f["unrelated"] = np.full(100000, 77, "i2")
    f["v"] = h5py.ExternalLink("target.h5", "/v")
# The same numbers as integers of fewer bits than their two bytes have, some of them shifted.
for name, bits, offset in (("shifted.h5", 12, 4), ("eight.h5", 8, 0), ("low.h5", 8, 3)):
    with h5py.File(name, "w") as f:
        kind = h5py.h5t.STD_I16LE.copy()
        kind.set_precision(bits)
        kind.set_offset(offset)
        space = h5py.h5s.create_simple((40000,))
        d = h5py.h5d.create(f.id, b"v", kind, space)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, x)
with h5py.File("linker2.h5", "w") as f:
    f["v"] = h5py.ExternalLink("chunked.h5", "/v")
with h5py.File("chunked.h5", "w") as f:
    f.create_dataset("v", data=x, chunks=(1000,))
layout = h5py.VirtualLayout(shape=(80000,), dtype="i2")
layout[:40000] = h5py.VirtualSource("target.h5", "v", shape=(40000,))
layout[40000:] = h5py.VirtualSource("chunked.h5", "v", shape=(40000,))
with h5py.File("virtual.h5", "w") as f:
    f.create_virtual_dataset("v", layout)
layout = h5py.VirtualLayout(shape=(80000,), dtype="i2")
layout[:40000] = h5py.VirtualSource("target.h5", "v", shape=(40000,))
layout[40000:] = h5py.VirtualSource("nowhere.h5", "v", shape=(40000,))
with h5py.File("torn.h5", "w") as f:
    f.create_virtual_dataset("v", layout)
PYTHON
cat >plain.yaml <<'YAML'
input: {files: target.h5, layout: {dataset: /v, axes: time, sample_rate_hz: 1000}}
channelise: {channels: 64, taps: 1000, window: hamming}
products: [{kind: spectra, file: target-out.h5}]
YAML
rows() { warm -c "import h5py,hashlib,sys; print(hashlib.sha256(h5py.File(sys.argv[1])['spectra'][:].tobytes()).hexdigest())" "$1"; }
sed -i 's/taps: 1000/taps: 8/' plain.yaml
runs "a plain file" "$voltmill" run plain.yaml
runs "an external link" "$voltmill" run plain.yaml --set input.files=linker.h5 --set products.0.file=linker-out.h5
same "an external link: same rows" "$(rows target-out.h5)" "$(rows linker-out.h5)"
for kind in shifted eight low; do
    runs "integers, $kind" "$voltmill" run plain.yaml --set input.files=$kind.h5 --set products.0.file=$kind-out.h5
    same "integers, $kind: same rows" "$(rows target-out.h5)" "$(rows $kind-out.h5)"
done
chunked=$(sha256sum <chunked.h5)
for link in linker2 virtual; do
    fails "--force onto what $link.h5 leads to" 2 'is the input file' "$voltmill" run --force plain.yaml \
        --set input.files=$link.h5 --set products.0.file=chunked.h5
done
fails "--force onto the job" 2 'is the job file' "$voltmill" run --force plain.yaml --set products.0.file=plain.yaml
same "the archive stays as it was" "$chunked" "$(sha256sum <chunked.h5)"
runs "a virtual dataset" "$voltmill" run plain.yaml --set input.files=virtual.h5 --set products.0.file=virtual-out.h5
fails "a virtual dataset without its source" 4 'nowhere.h5 of its virtual dataset: No such file' "$voltmill" run plain.yaml \
    --set input.files=torn.h5 --set products.0.file=torn-out.h5

# A site's setting of HDF5's own locks does not matter; a product cut short in the making is no hindrance.
runs "HDF5 locks files" env HDF5_USE_FILE_LOCKING=TRUE "$voltmill" run plain.yaml --set products.0.file=locks-out.h5
head -c 3000 locks-out.h5 >cut-out.h5.part
errs 2 'was not left by voltmill' "$voltmill" run plain.yaml --set products.0.file=cut-out.h5
ok $bad "the begin of a file without a mark is somebody's"
unfinish cut-out.h5.part r
runs "a .part cut short" "$voltmill" run plain.yaml --set products.0.file=cut-out.h5

# verify looks at the last row, whatever was dropped behind it.
runs "rows and a rest" "$voltmill" run plain.yaml --set products.0.kind=power --set products.0.integrate=7 \
    --set products.0.file=rest-out.h5
warm -c "
import h5py
with h5py.File('rest-out.h5', 'r+') as f: f['data'][-1] = 0"
status=0
"$voltmill" verify --chunks 2 rest-out.h5 >verify.log 2>&1 || status=$?
same "a last row of zeros is found" 4 "$status"

# Long filters keep their digits, and a missing value means the same to filter and reference.
runs "1000 taps" "$voltmill" run plain.yaml --set channelise.channels=8 --set channelise.taps=1000 \
    --set products.0.file=taps-out.h5
runs "1000 taps: verified" "$voltmill" verify --all taps-out.h5
warm -c "
import h5py, numpy as np
x = np.random.default_rng(2).normal(size=20000).astype('f4'); x[::200] = 0.1
h5py.File('float.h5', 'w')['v'] = x"
runs "a missing value that floats round" "$voltmill" run plain.yaml --set input.files=float.h5 \
    --set input.layout.missing_value=0.1 --set products.0.file=float-out.h5
runs "a missing value: verified" "$voltmill" verify --all float-out.h5
same "a missing value: counted" 100 "$(warm -c "
import h5py; print(h5py.File('float-out.h5')['provenance/missing_samples'][()])")"

# A limit on the size of files is an error like any other.
"$voltmill" synth --set samples=4e6 --set file=large.h5 obs.yaml >/dev/null
(ulimit -f 30000; fails "ulimit -f" 3 'File too large|no space' "$voltmill" run job.yaml --set input.files=large.h5 \
    --set products.0.kind=spectra --set products.0.file=limit.h5) >limit.log
grep -q '^ok' limit.log
ok $? "ulimit -f: exit status 3, one error, nothing left"
grep '^#' limit.log

# Names with brackets, dates that are none.
cp target.h5 'obs[1].h5'
runs "a name that looks like a pattern" "$voltmill" run plain.yaml --set 'input.files=obs[1].h5' --set products.0.file=b.h5
cp power.h5 'a"q.h5' 2>/dev/null || cp b.h5 'a"q.h5'
runs "verify of a name with a quote" "$voltmill" verify 'a"q.h5'
fails "31 February" 2 'input.layout.start' "$voltmill" run plain.yaml --set input.layout.start=2014-02-31 --set products.0.file=d.h5

plan
