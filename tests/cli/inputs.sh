# The files that a job reads: whatever leads to a sample is never written, and what was made is known by what it
# was made of.
. "$(dirname "$0")/../tools/lib.sh"
. "$(dirname "$0")/jobs.bash"

# An observation whose samples lie in a raw file, one in two files, one behind a virtual dataset, and a
# filterbank whose rows lie in a raw file, too.
warm - <<'PYTHON'
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
os.mkdir("chain")
with h5py.File("first.h5", "w") as f:
    f["v"] = h5py.ExternalLink("chain/middle.h5", "/to")
with h5py.File("chain/middle.h5", "w") as f:
    f["to"] = h5py.ExternalLink("../last.h5", "/w")
with h5py.File("last.h5", "w") as f:
    f.create_dataset("w", (12000, 2), "i1", external=[("raw/obs.raw", 0, 24000)])
layout[:] = h5py.VirtualSource("first.h5", "v", (12000, 2))
with h5py.File("chained.h5", "w") as f:
    f.create_virtual_dataset("v", layout)
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
for file in first.h5 chained.h5; do
    for member in "$work/first.h5" chain/middle.h5 last.h5 raw/obs.raw; do
        kept "$member in the chain of links from $file" "product $member is the input file .*${member##*/}" "${run[@]}" \
            "$(later "$member")" --set input.files=$file
    done
done
kept "the job" 'product job.yaml is the job file job.yaml' "${run[@]}" "$(later job.yaml)"
kept "the window" 'product window.txt is the file of the window window.txt' "${run[@]}" "$(later window.txt)" \
    --set channelise.window=file:window.txt
printf '1\n-0.5\n' >coeff.txt
kept "a filter's coefficients" 'product .*/coeff.txt is the file of coefficients coeff.txt' "${run[@]}" "$(later "$work/../${work##*/}/coeff.txt")" \
    --set 'filter={coefficients: coeff.txt}'
kept "on three ranks, begun anew" 'product .*/obs.h5 is the input file' mpirun -n 3 "$voltmill" run --restart job.yaml --set "$(later "$work/obs.h5")"
kept "of each" 'target.h5, which the job of virtual.h5 would make, is target.h5, an input of virtual.h5' "$voltmill" run --force --each virtual.h5 job.yaml --set "$(later target.h5)"
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
kept "bench run's table is the archive" 'obs.h5 is there, and no such table' "$voltmill" bench run --csv obs.h5 power.yaml
kept "bench run's table is the product" '--csv new.h5 is product new.h5' "$voltmill" bench run --csv new.h5 \
    --set products.0.file=new.h5 power.yaml

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

mkdir -m 700 cache
cp raw/obs.raw cache/tuned.txt
chmod 600 cache/tuned.txt
warm -c 'import h5py
h5py.File("own.h5", "w").create_dataset("v", (12000, 2), "i1", external=[("cache/tuned.txt", 0, 24000)])'
for command in tune "run --tune"; do
    VOLTMILL_CACHE=$work/cache kept "the user's own database is the archive's raw file: $command" \
        'the database .*/cache/tuned.txt is the input file cache/tuned.txt' "$voltmill" $command job.yaml --set input.files=own.h5
done
rm -r cache own.h5

kept "synth over its specification" 'observation obs.yaml is its specification obs.yaml' "$voltmill" synth --force --set file=obs.yaml obs.yaml
ln -s obs.yaml made.h5.part
kept "synth by way of a .part" 'observation made.h5.part is its specification obs.yaml' "$voltmill" synth --force --set file=made.h5 obs.yaml
rm made.h5.part
kept "export over what it reads" 'the output bank.raw is the file which it is made of, bank.raw' \
    "$voltmill" export --format fil --force -o bank.raw bank.h5

# --- what lies elsewhere is told

# elsewhere NAME LINES COMMAND...: the section of that name, its lines joined
elsewhere() {
    local name=$1 lines=$2
    shift 2
    runs "$name" "$@"
    same "$name: what is elsewhere" "$lines" "$(sed -n '/^elsewhere /,/^[^ e]/{/^  /p}' output | tr '\n' ';')"
}
here=$(realpath "$work")
mkdir -p inner
warm - "$here" <<'PYTHON'
import sys
import h5py
with h5py.File("inner/raw.h5", "w") as f:
    f.create_dataset("v", (12000, 2), "i1", external=[(sys.argv[1] + "/raw/obs.raw", 0, 24000)])
with h5py.File("inner/linked.h5", "w") as f:
    f["v"] = h5py.ExternalLink("../first.h5", "/v")
for i in range(8):
    with h5py.File(f"raw/s{i}.h5", "w") as f:
        f.create_dataset("v", (1500, 2), "i1", fillvalue=i)[:] = i
layout = h5py.VirtualLayout((12000, 2), "i1")
for i in range(8):
    layout[1500 * i:1500 * (i + 1)] = h5py.VirtualSource(f"../raw/s{i}.h5", "v", (1500, 2))
with h5py.File("inner/virtual.h5", "w") as f:
    f.create_virtual_dataset("v", layout)
PYTHON
ln -s ../inside.h5 inner/link.h5
ln -s ../bank.h5 inner/bank.h5
elsewhere "an archive with all in its own folder, and below" "" "$voltmill" plan job.yaml
elsewhere "one of another folder's raw file" "  $here/raw/obs.raw: an external file of inner/raw.h5;" \
    "$voltmill" plan job.yaml --set input.files=inner/raw.h5 --set input.external=allow
elsewhere "one of links" "  $here/first.h5: a link in inner/linked.h5 leads to it;  $here/last.h5: a link in inner/../chain/middle.h5 leads to it;\
  $here/chain/middle.h5: a link in inner/../first.h5 leads to it;  $here/raw/obs.raw: an external file of inner/../chain/../last.h5;" \
    "$voltmill" plan job.yaml --set input.files=inner/linked.h5 --set input.external=raw
elsewhere "one of many sources" "$(for i in 0 1 2 3 4; do printf '  %s: a source of a virtual dataset in inner/virtual.h5;' "$here/raw/s$i.h5"; done)\
  $here/raw/: 3 more;" "$voltmill" plan job.yaml --set input.files=inner/virtual.h5
elsewhere "one that is a link" "  $here/inside.h5: inner/link.h5 is a link to it;" "$voltmill" plan job.yaml --set input.files=inner/link.h5
elsewhere "a filterbank" "  $here/bank.h5: inner/bank.h5 is a link to it;  $here/bank.raw: an external file of inner/bank.h5;" \
    "$voltmill" plan series.yaml --set input.files=inner/bank.h5
elsewhere "the same by info" "  $here/bank.h5: inner/bank.h5 is a link to it;  $here/bank.raw: an external file of inner/bank.h5;" \
    "$voltmill" info inner/bank.h5

# --- external storage elsewhere is read only where the user says so

warm - "$here" <<'PYTHON'
import sys
import h5py
with h5py.File("bank.h5") as f, h5py.File("inner/far.h5", "w") as g:
    g.attrs.update(f.attrs)
    d = g.create_dataset("data", f["data"].shape, "f4", external=[(sys.argv[1] + "/bank.raw", 0, f["data"].nbytes)])
    d.attrs.update({name: f["data"].attrs[name] for name in ("fch1", "foff", "nchans", "nifs", "nbits", "tsamp", "tstart")})
with h5py.File("inner/near.h5", "w") as f:
    f.create_dataset("v", (12000, 2), "i1", external=[("below/link.raw", 0, 24000)])
PYTHON
mkdir inner/below
ln -s "$here/raw/obs.raw" inner/below/link.raw
raw_outside="takes its data from a file outside its folder: $here/raw/obs\.raw; if that is meant: input\.external: allow"
bank_outside="far\.h5 takes its data from a file outside its folder: $here/bank\.raw; if that is meant:"
one=(power.yaml --set products.0.file=one.h5)
fails "a raw file elsewhere" 2 "$raw_outside" "$voltmill" run "${one[@]}" --set input.files=inner/raw.h5
fails "a link to one" 2 "$raw_outside" mpirun -n 2 "$voltmill" run "${one[@]}" --set input.files=inner/near.h5
fails "one behind links" 2 "$raw_outside" "$voltmill" run "${one[@]}" --set input.files=inner/linked.h5
fails "a list that does not name it" 2 "$raw_outside" "$voltmill" run "${one[@]}" --set input.files=inner/raw.h5 \
    --set 'input.external=[inner, nowhere, bank.raw, raw/obs]'
fails "its plan" 2 "$raw_outside" "$voltmill" plan "${one[@]}" --set input.files=inner/raw.h5
fails "its import" 2 "$raw_outside" "$voltmill" import -o one.h5 --job job.yaml inner/raw.h5
runs "a job allows all" "$voltmill" run "${one[@]}" --set input.files=inner/raw.h5 --set input.external=allow
runs "the same without any elsewhere" "$voltmill" run power.yaml --set products.0.file=two.h5
same "the same rows" "$(warm -c 'import h5py; print(h5py.File("two.h5")["data"][:].tobytes().hex()[:4000])')" \
    "$(warm -c 'import h5py; print(h5py.File("one.h5")["data"][:].tobytes().hex()[:4000])')"
runs "a job allows a list" "$voltmill" run "${one[@]}" --set input.files=inner/raw.h5 --set 'input.external=[nowhere, raw]'
same "it is the same job" "complete before" "$(sed 's/:.*//' output)"
runs "a file of the list" "$voltmill" run --force "${one[@]}" --set input.files=inner/near.h5 --set input.external=inner/../raw/obs.raw
runs "verify compares with it" "$voltmill" verify one.h5
rm one.h5 two.h5
fails "a filterbank's raw file elsewhere" 2 "$bank_outside input.external" "$voltmill" run series.yaml --set input.files=inner/far.h5
runs "a job allows it" "$voltmill" run series.yaml --set input.files=inner/far.h5 --set input.external=allow
fails "its export" 2 "$bank_outside --external allow" "$voltmill" export --format fil -o far.fil inner/far.h5
runs "export --external" "$voltmill" export --format fil --external bank.raw -o far.fil inner/far.h5
if has_pictures; then
    fails "its picture" 2 "$bank_outside --external allow" "$voltmill" plot -o far.png inner/far.h5
    runs "plot --external" "$voltmill" plot --external allow -o far.png inner/far.h5
fi
# Datasets beside rows, and series, are in the file itself.
warm - "$here" <<'PYTHON'
import sys
import h5py
with h5py.File("banked.h5", "r+") as f:
    shape = f["dedispersed"].shape
    del f["dedispersed"]
    f.create_dataset("dedispersed", shape, "f4", external=[(sys.argv[1] + "/bank.raw", 0, 4 * shape[0] * shape[1])])
with h5py.File("inner/near.h5", "w") as f:
    f.attrs.update(dict(format="voltage", format_version=1))
    f.create_dataset("voltages", (64, 1, 2), "i1")[:] = 1
    f["voltages"].attrs.update(dict(axes="time,chan,reim", sample_rate_hz=1e6, domain="complex", sideband=1))
    f.create_dataset("freq_hz", (1,), "f8", external=[(sys.argv[1] + "/raw/obs.raw", 0, 8)])
PYTHON
fails "series in a file elsewhere" 4 'banked.h5: the values of /dedispersed are in external files' \
    "$voltmill" export --format tim --dm 1 banked.h5
fails "frequencies in a file elsewhere" 4 'near.h5: the values of /?freq_hz are in external files' "$voltmill" info inner/near.h5
rm -rf banked.h5 far.fil far.png inner raw/s?.h5

# --- what is complete, and what is not what it was

# once NAME JOB SET...: complete before, in one line, and no file changes
once() {
    local name=$1 before
    shift
    before=$(everything)
    runs "$name" "$voltmill" run "$@"
    same "$name: one line" "complete before" "$(sed 's/:.*//' output)"
    [ "$(everything)" = "$before" ]
    ok $? "$name: nothing is touched"
}
runs "a job" "$voltmill" run job.yaml --set channelise.window=file:window.txt
once "the job once more" job.yaml --set channelise.window=file:window.txt
same "which names its products" "complete before: power.h5, series.h5" "$(cat output)"
once "with another way to run it, begun anew" --restart job.yaml --set channelise.window=file:window.txt --set run.threads=1
runs "its plan" "$voltmill" plan job.yaml --set channelise.window=file:window.txt
same "says what is complete, and all else" 7 "$(grep -c '^archive$\|^filter bank$\|^dedispersion of power.h5$\|^  chunks  \|complete: it stays$' output)"
runs "of each" mpirun -n 2 "$voltmill" run --each obs.h5 job.yaml --set channelise.window=file:window.txt
same "complete before" "complete before  obs.h5" "$(cat output)"
fails "it cannot be timed" 2 'power.h5 exists already: --force' "$voltmill" bench run power.yaml --set channelise.window=file:window.txt

# other NAME PATTERN COMMAND...: the products are of something else
other() {
    local name=$1 pattern=$2 bad before
    shift 2
    before=$(everything)
    errs 2 "$pattern" "$@" job.yaml --set channelise.window=file:window.txt
    [ "$(everything)" = "$before" ] || { echo "# files have changed"; bad=1; }
    ok $bad "$name"
    [ $bad = 0 ] || note <stderr
}
other "another job" 'power.h5 exists already: --force replaces it \(it was made by another job or of other files: job: taps: 4 then, taps: 3 now\)' \
    "$voltmill" run --set channelise.taps=3
sed -i 's/^1.05$/9.05/' window.txt
for command in run plan "run --each obs.h5"; do
    other "the window, by one digit: $command" 'input: window.txt \(311 bytes\), sampled CRC-32 .* then, .* now' "$voltmill" $command
done
sed -i 's/^9.05$/1.05/' window.txt
poke() { # poke FILE OFFSET BYTE: in place, and the file's time stays
    touch -r "$1" stamp
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>dd
    touch -r stamp "$1"
    rm stamp dd
}
chmod u+w raw/obs.raw
was=$(warm -c "print(r'\x%02x' % open('raw/obs.raw', 'rb').read()[23999])")
poke raw/obs.raw 23999 '\x33'
for command in run plan "run --each obs.h5"; do
    other "one sample of the raw file: $command" 'other files: input: raw/obs.raw \(24000 bytes\), sampled' "$voltmill" $command
done
poke raw/obs.raw 23999 "$was"
mkdir copy
cp -r ./*.h5 ./*.yaml window.txt raw copy
touch -d 2001-01-01 copy/obs.h5 copy/raw/obs.raw copy/window.txt
cd copy || exit 1
runs "a copy of all" "$voltmill" run job.yaml --set channelise.window=file:window.txt
same "is complete, too" 1 "$(grep -c '^complete before: ' ../output)"
runs "made anew" "$voltmill" run --force job.yaml --set channelise.window=file:window.txt
cd .. || exit 1
same "to the same bytes" "$(cat power.h5 series.h5 | sha256sum)" "$(cat copy/power.h5 copy/series.h5 | sha256sum)"
rm -r copy
mv power.h5 away.h5
other "a series without its filterbank, which is named" \
    'series.h5 exists, but its input power.h5 is missing: --force' "$voltmill" run
mv away.h5 power.h5
other "a series without what is made with its filterbank" \
    'series.h5 exists, but its input spectra.h5 is missing: --force' "$voltmill" run \
    --set 'products.1={kind: spectra, file: spectra.h5}'
rm power.h5 series.h5

filtered=(power.yaml --set 'filter={coefficients: coeff.txt}')
runs "a filtered job" "$voltmill" run "${filtered[@]}"
once "the filtered job once more" "${filtered[@]}"
printf '1\n-0.4\n' >coeff.txt
for command in run plan; do
    errs 2 'input: coeff.txt \(7 bytes\), sampled CRC-32 .* then, .* now' "$voltmill" $command "${filtered[@]}"
    ok $bad "coefficients that have changed: $command"
done
rm power.h5

runs "a filterbank's series" "$voltmill" run series.yaml
once "the filterbank's series" series.yaml
"$voltmill" info banked.h5 | grep -q '^    bank.raw (25600 bytes), sampled CRC-32 [0-9a-f]*$'
ok $? "info says what it was made of"
poke bank.raw 12000 '\x33'
errs 2 'banked.h5 exists already: .* input: bank.raw \(25600 bytes\), sampled' "$voltmill" run series.yaml
ok $bad "a filterbank's raw file has changed"
runs "--force replaces it" "$voltmill" run --force series.yaml

# A large file is known by some of it: its begin, its end, places between.
warm - <<'PYTHON'
import h5py
import numpy as np
with h5py.File("large.h5", "w") as f:
    f["v"] = np.random.default_rng(5).integers(-100, 101, (2 << 20, 2), dtype="i1")
PYTHON
# In few spectra: on a machine with other work each chunk costs verify some waiting.
large=("$voltmill" run power.yaml --set input.files=large.h5 --set products.0.file=large-power.h5 --set channelise.channels=1024)
runs "a large file" "${large[@]}"
size=$(stat -c %s large.h5)
for at in 5000 $((size - 5000)) $(((1 << 20) + 4 * ((size - (2 << 20) - (1 << 17)) / 9) + 5000)); do
    cp -p large.h5 kept.h5
    poke large.h5 $at '\x77\x77\x77'
    errs 2 'input: large.h5 \([0-9]* bytes\), sampled CRC-32' "${large[@]}"
    ok $bad "a large file that was changed at $at"
    mv kept.h5 large.h5
done
runs "as it was" "${large[@]}"
same "with no note" 0 "$(grep -c '^note: ' output)"
cp -p large.h5 kept.h5
printf '\x77\x77\x77' | dd of=large.h5 bs=1 seek=$(((1 << 20) + (1 << 17) + 5000)) conv=notrunc 2>dd
rm dd
runs "a large file that was written to between the places that count" "${large[@]}"
same "is complete before, with a note" "complete before: large-power.h5 1" \
    "$(grep '^complete' output) $(grep -c '^note: large.h5 was written to after large-power.h5 was made of it, but its size ' output)"
mpirun -n 2 "${large[@]}" >output 2>&1
same "one note, of two ranks, too" 1 "$(grep -c '^note: .*large.h5 was written to' output)"
errs 4 'large-power.h5 is not what the reference makes of its archive' "$voltmill" verify --all large-power.h5
ok $bad "verify finds it"
mv kept.h5 large.h5
cp -p large.h5 kept.h5
mv kept.h5 large.h5
runs "a copy with its time" "${large[@]}"
same "gets no note" 0 "$(grep -c '^note: ' output)"
touch large.h5
runs "one with another time" "${large[@]}"
same "gets one" 1 "$(grep -c '^note: ' output)"
touch -d 2100-01-01 raw/obs.raw bank.raw
runs "a file of which all counts" "$voltmill" run series.yaml
same "gets none, whatever its time" 0 "$(grep -c '^note: ' output)"

# A run that ended early goes on only with what it was begun with: whole names, times to the nanosecond.
long=$(printf 'a%.0s' $(seq 150))
mkdir -p "$long/$long"
cp inside.h5 "$long/$long/obs.h5"
printf 'channelise: {channels: 16, taps: 4, backend: cpu}\nrun: {chunk: 16, sync: 0.01}\n' >begun.yaml
warm - "$long/$long/obs.h5" <<'PYTHON' >>begun.yaml
import os, sys
print('input: {files: %s, layout: {dataset: /v, axes: "time,reim", sample_rate_hz: 1e6, freq_hz: 1e9}}' % sys.argv[1])
print("products: [{kind: spectra, file: begun.h5}]")
os.utime(sys.argv[1], ns=(0, 1500000000 * 10**9 + 1))
PYTHON
shim=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}
{ env LD_PRELOAD="$shim" SHIM_NAP=4 SHIM_ROWS=70:kill "$voltmill" run begun.yaml >killed 2>&1; } 2>/dev/null
[ -e begun.h5.journal ] && [ ! -e begun.h5 ]
ok $? "a run was killed"
warm -c "import os, sys; os.utime(sys.argv[1], ns=(0, 1500000000 * 10**9 + 2))" "$long/$long/obs.h5"
errs 2 'input: \.\.\.a*/obs\.h5: [0-9]* bytes, changed 2017-07-14T02:40:00\.000000001 then, \.\.\..*\.000000002 now; --restart' \
    "$voltmill" run begun.yaml
ok $bad "an input of a long name that changed a nanosecond later"
warm -c "import os, sys; os.utime(sys.argv[1], ns=(0, 1500000000 * 10**9 + 1))" "$long/$long/obs.h5"
runs "and as it was" "$voltmill" run begun.yaml
grep -q 'resumes from there' output
ok $? "goes on"

plan
