# The files that a job reads: whatever leads to a sample is never written, and what was made is known by what it
# was made of.
. "$(dirname "$0")/../tools/lib.sh"
. "$(dirname "$0")/jobs.bash"

# An observation whose samples lie in a raw file, one in two files, one behind a virtual dataset, and a
# filterbank whose rows lie in a raw file, too.
"$python" - <<'PYTHON'
import os
import h5py
import numpy as np
rng = np.random.default_rng(14)
samples = rng.integers(-100, 101, (12000, 2), dtype="i1")
os.mkdir("raw")
samples.tofile("raw/obs.raw")
with h5py.File("obs.h5", "w") as f:
    f.create_dataset("v", (12000, 2), "i1", external=[("raw/obs.raw", 0, 24000)])
for i in range(2):
    with h5py.File(f"part-{i}.h5", "w") as f:
        f["v"] = samples[6000 * i:6000 * (i + 1)]
with h5py.File("target.h5", "w") as f:
    f.create_dataset("v", data=samples, chunks=(500, 2))
layout = h5py.VirtualLayout((12000, 2), "i1")
layout[:] = h5py.VirtualSource("target.h5", "v", (12000, 2))
with h5py.File("virtual.h5", "w") as f:
    f.create_virtual_dataset("v", layout)
with h5py.File("inside.h5", "w") as f:
    f["v"] = samples
rows = rng.random((400, 1, 16)).astype("f4")
rows.tofile("bank.raw")
with h5py.File("bank.h5", "w") as f:
    f.attrs["CLASS"] = "FILTERBANK"
    f.attrs["VERSION"] = "1.0"
    d = f.create_dataset("data", rows.shape, "f4", external=[("bank.raw", 0, rows.nbytes)])
    d.attrs.update(dict(fch1=1400.0, foff=-1.0, nchans=16, nifs=1, nbits=32, tsamp=0.001, tstart=58000.0))
PYTHON
cat >job.yaml <<'YAML'
input: {files: obs.h5, layout: {dataset: /v, axes: "time,reim", sample_rate_hz: 1e6, freq_hz: 1e9}}
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: power, file: power.h5, integrate: 2}]
dedisperse: [{dm: {start: 0, step: 1, count: 4}, file: series.h5}]
YAML
cat >series.yaml <<'YAML'
input: {files: bank.h5}
dedisperse: [{dm: {start: 0, step: 1, count: 4}, file: banked.h5}]
YAML
cat >obs.yaml <<'YAML'
file: synth.h5
samples: 4000
bits: 8
sample_rate_hz: 1e6
freq_hz: 1e9
noise: 20
YAML
awk 'BEGIN { for (i = 0; i < 64; i++) print 1 + i / 100 }' >window.txt
chmod a-w raw/obs.raw # permissions are no protection: a file is replaced by renaming
grep -v dedisperse job.yaml >power.yaml
everything() { find . ! -path ./stdout ! -path ./stderr ! -path ./output -printf '%p %l\n' -type f -exec sha256sum {} + | sort; }

# --- none is written

# kept NAME PATTERN COMMAND...: refused with status 2, every file stays, and nothing is made
kept() {
    local name=$1 pattern=$2 bad=0 before
    shift 2
    before=$(everything)
    errs 2 "$pattern" "$@"
    [ "$(everything)" = "$before" ] || { echo "# files have changed"; bad=1; }
    ok $bad "$name"
    [ $bad = 0 ] || note <stderr
}
first() { echo "products.0.file=$1"; }
later() { echo "dedisperse.0.file=$1"; }
ln -s raw/obs.raw link
ln raw/obs.raw hard
run=("$voltmill" run --force job.yaml --set)
kept "the archive as product of a later pass, by its absolute path" 'product .*/obs.h5 is the input file obs.h5' "${run[@]}" "$(later "$work/obs.h5")"
kept "its raw file" 'product raw/obs.raw is the input file raw/obs.raw' "${run[@]}" "$(later raw/obs.raw)"
kept "a link to that" 'product link is the input file raw/obs.raw' "${run[@]}" "$(later link)"
kept "a hard link to that" 'product hard is the input file raw/obs.raw' "${run[@]}" "$(later hard)"
kept "its raw file, of the first pass" 'product raw/obs.raw is the input file' "${run[@]}" "$(first raw/obs.raw)"
kept "one of several that a pattern matches" 'product part-1.h5 is the input file part-1.h5' "${run[@]}" "$(later part-1.h5)" \
    --set 'input.files="part-*.h5"'
kept "what a virtual dataset leads to" 'product target.h5 is the input file target.h5' "${run[@]}" "$(later target.h5)" \
    --set input.files=virtual.h5
kept "the job" 'product job.yaml is the job file job.yaml' "${run[@]}" "$(later job.yaml)"
kept "the window" 'product window.txt is the file of the window window.txt' "${run[@]}" "$(later window.txt)" \
    --set channelise.window=file:window.txt
kept "on three ranks, begun anew" 'product .*/obs.h5 is the input file' mpirun -n 3 "$voltmill" run --restart job.yaml --set "$(later "$work/obs.h5")"
kept "of each" 'product target.h5 is the input file target.h5' "$voltmill" run --force --each virtual.h5 job.yaml --set "$(later target.h5)"
kept "plan says so" 'product .*/obs.h5 is the input file' "$voltmill" plan --force job.yaml --set "$(later "$work/obs.h5")"
kept "bench run, too" 'product raw/obs.raw is the input file' "$voltmill" bench run --force power.yaml --set "$(first raw/obs.raw)"
kept "a filterbank" 'product .*/bank.h5 is the input file bank.h5' "$voltmill" run --force series.yaml --set "$(later "$work/bank.h5")"
kept "its raw file" 'product bank.raw is the input file bank.raw' "$voltmill" run --force series.yaml --set "$(later bank.raw)"
rm link hard
ln -s obs.h5 later.h5.part
kept "a link that has the name of a later .part" 'product later.h5.part is the input file obs.h5' "${run[@]}" "$(later later.h5)"
rm later.h5.part
ln obs.h5 later.h5.journal
kept "a hard link that has the name of a later journal" 'product later.h5.journal is the input file obs.h5' "${run[@]}" "$(later later.h5)"
rm later.h5.journal
echo 1 >one
ln one two
kept "two products by two names of one file" 'are one file: one, two' "${run[@]}" "$(first one)" --set "$(later two)"
rm one two
kept "the database is the archive" '--database raw/obs.raw is the input file' "${run[@]}" "$(later s.h5)" --database raw/obs.raw
kept "the database is the product" '--database power.h5 is product power.h5' "${run[@]}" "$(later s.h5)" --database power.h5
kept "bench run's table is the archive" '--csv obs.h5 is the input file' "$voltmill" bench run --csv obs.h5 power.yaml

for option in log database; do
    kept "tune --$option is the job" "--$option job.yaml is the job file" "$voltmill" tune --$option job.yaml job.yaml
    kept "tune --$option is the archive's raw file" "--$option raw/obs.raw is the input file" "$voltmill" tune --$option raw/obs.raw job.yaml
    kept "tune --$option is a filterbank" "--$option bank.raw is the input file" "$voltmill" tune --$option bank.raw series.yaml
    kept "tune --$option is a product" "--$option power.h5 is product power.h5" "$voltmill" tune --$option power.h5 job.yaml
done
kept "tune's log is its database" '--log x and --database ./x are one file' \
    "$voltmill" tune --backend cpu --setup lofar --dms 2 --log x --database ./x
kept "tune's table is its log" '--log x and --csv ./x are one file' \
    "$voltmill" tune --backend cpu --setup lofar --dms 2 --log x --csv ./x

kept "synth over its specification" 'observation obs.yaml is its specification obs.yaml' "$voltmill" synth --force --set file=obs.yaml obs.yaml
ln -s obs.yaml made.h5.part
kept "synth by way of a .part" 'observation made.h5.part is its specification obs.yaml' "$voltmill" synth --force --set file=made.h5 obs.yaml
rm made.h5.part
kept "export over what it reads" 'the output bank.raw is the file which it is made of, bank.raw' \
    "$voltmill" export --format fil --force -o bank.raw bank.h5

plan
