# A run that was killed goes on, at whatever moment that was and on any number of ranks, and its products are
# those of an undisturbed one, byte for byte. What does not belong together is refused, and what is lost is
# said.
. "$(dirname "$0")/../tools/lib.sh"
. "$(dirname "$0")/begun.bash"

runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
same "counts what is missing" "$(warm -c "
import h5py
v = h5py.File('obs.h5')['v'][:]
print((v == 100).any(2).sum())")" "$(warm -c "
import h5py
print(h5py.File('power.h5')['provenance/missing_samples'][()])")"
warm - <<'PYTHON'
import sys, zlib
import h5py
good = True
for name, rows in (("spectra.h5", "spectra"), ("power.h5", "data")):
    with h5py.File(name) as f:
        crc = f["provenance/crc32"]
        span = int(crc.attrs["span_rows"])
        mine = [zlib.crc32(f[rows][i:i + span].tobytes()) for i in range(0, len(f[rows]), span)]
        good &= mine == list(crc[:])
        print("#", name, len(mine), "spans of", span)
sys.exit(0 if good else 1)
PYTHON
ok $? "keeps the CRC-32 of its spans"
clear_all

# Killed again and again, ranks and mpirun, until it is through.
sampled 2 {1..5}
for cycle in "${sample[@]}"; do
    RANDOM=$cycle
    kills=0
    while :; do
        size=$((RANDOM % 2 * 2 + 1))
        mpirun -n $size "${slow[@]}" "$voltmill" run job.yaml >log 2>&1 &
        run=$!
        # From before the first chunk to near the end.
        sleep "$((RANDOM % 2)).$((RANDOM % 600 + 400))"
        if [ $((RANDOM % 2)) = 0 ]; then
            kill -9 $run 2>/dev/null
        else
            victim=$(ranks | sed -n "$((RANDOM % size + 1))p")
            kill -9 $victim 2>/dev/null
        fi
        reap $run
        while [ -n "$(ranks)" ]; do nap 0.1; done # those of a killed mpirun live on for a moment
        # A kill may come between a product's renaming and its journal's end.
        [ -e spectra.h5 ] && [ -e power.h5 ] && ! ls ./*.journal >/dev/null 2>&1 && break
        kills=$((kills + 1))
        if [ $kills = 3 ]; then
            runs "cycle $cycle: goes on to the end" mpirun -n $size "$voltmill" run job.yaml
            break
        fi
    done
    same "cycle $cycle: $kills kills, same bytes" "$expected" "$(digest)"
    [ -z "$(ls ./*.part ./*.journal 2>/dev/null)" ]
    ok $? "cycle $cycle: nothing is left behind"
    clear_all
done

# A run that was killed half way, for what follows.
mpirun -n 2 "${slow[@]}" "$voltmill" run job.yaml >log 2>&1 &
run=$!
await 40
ok $? "a run has begun"
errs 2 '\.part is being written by another run' "$voltmill" plan job.yaml
ok $bad "plan says that a run is at work"
kill -9 $run $(ranks)
reap $run
mkdir half
mv ./*.part ./*.journal half
begun=$(chunks half/power.h5)
restore() {
    clear_all
    cp -p half/* .
}

restore
"$voltmill" status spectra.h5 >status
grep -q "no run is at work: run the same command to resume" status && grep -Eq "  chunks +[0-9,]+ of [0-9,]+ done, [0-9,]+ left" status && ! grep -q "  bad " status
ok $? "status: done, left, nothing bad"
touch -d 2021-01-01 obs.h5
errs 2 'begun with another plan: input: .*obs\.h5.*--restart begins anew' "$voltmill" run job.yaml
ok "$bad" "a run whose input has changed is refused"
"$voltmill" status spectra.h5 >changed
grep -q "no run is at work, its input has changed: --restart begins anew" changed && grep -Eq "^  changed  +obs\.h5$" changed &&
    "$voltmill" status --json spectra.h5 | grep -q '"changed_input": "obs.h5"'
ok $? "status: advises what that run does"
mkdir elsewhere
same "status: wherever it is asked" "$(tail -n +2 changed)" "$(cd elsewhere && "$voltmill" status ../spectra.h5 | tail -n +2)"
mv "$work" "$work.moved"
"$voltmill" status spectra.h5 >moved
mv "$work.moved" "$work"
same "status: in a folder that was moved" "$(cat changed)" "$(cat moved)"
touch -d 2020-01-01 obs.h5
touch elsewhere/obs.h5
same "status: not by files of its own folder" "$(tail -n +2 status)" "$(cd elsewhere && "$voltmill" status ../spectra.h5 | tail -n +2)"
same "status: by any name" "$(cat status | tail -n +2)" "$("$voltmill" status spectra.h5.journal | tail -n +2)"
listing() { ls -li --time-style=full-iso ./*.h5*; }
listing >"$work/listing"
runs "plan of what is left" "$voltmill" plan job.yaml --set run.chunk=1000
grep -Eq "^  resumes       $begun of [0-9,]+ chunks are done" "$work/output" && grep -Eq '^  chunks        [0-9,]+ of 40 spectra' "$work/output"
ok $? "goes on in the chunks that it was begun with"
listing | cmp -s - "$work/listing"
ok $? "and nothing has changed"
runs "plan --restart" "$voltmill" plan --restart job.yaml
! grep -q 'resumes' "$work/output"
ok $? "begins anew"
runs "verify --crc of what is done" mpirun -n 2 "$voltmill" verify --crc spectra.h5.part
VOLTMILL_CACHE=off runs "goes on as it was begun, without the cache's plan" "$voltmill" run job.yaml
grep -q '^note: .* chunks are done: resumes from there' "$work/output"
ok $? "and says so"
same "same bytes" "$expected" "$(digest)"
runs "verify --crc of the product" mpirun -n 2 "$voltmill" verify --crc spectra.h5
"$voltmill" status spectra.h5 | grep -q '  state  *complete'
ok $? "status: complete"
: >empty.h5.part
"$voltmill" status empty.h5 | grep -q 'state  *unfinished, nothing is written yet: run the same command'
ok $? "status: a .part of a run that was killed at its begin"
rm empty.h5.part
echo snr,dm >table.csv
fails "status of a file that is no product" 4 'table\.csv is not a product of voltmill: it is not an HDF5 file' "$voltmill" status table.csv
same "says so alone" "" "$("$voltmill" status table.csv 2>/dev/null)"
cp spectra.h5 rows.h5
warm -c "
import h5py
with h5py.File('rows.h5', 'r+') as file:
    del file['frequency']"
"$voltmill" status rows.h5 | grep -q '  state  *complete'
ok $? "status: reads only where rows lie, and none of the scales, which may be large"
cp spectra.h5 rows.h5
warm -c "
import h5py
with h5py.File('rows.h5', 'r+') as file:
    file.attrs.pop('start_second', None)
    file.attrs['start_mjd_day'] = 58000"
fails "info: half a start is none" 4 'attribute start_second is missing: not a whole product' "$voltmill" info rows.h5
rm rows.h5

restore
"${slow[@]}" "$voltmill" run job.yaml >log 2>&1 &
run=$!
await $((begun + 20))
printf 'of others' >>spectra.h5.part
wait $run
same "bytes appended by others are no part of a product" "0 $expected" "$? $(digest)"
grep -q '^warning: spectra.h5.part: another program has appended 9 bytes, which are cut off' log
ok $? "as a warning says"

restore
printf 'of others' >>spectra.h5.part
runs "bytes are appended between two runs" "$voltmill" run job.yaml
grep -q "^note: $begun of .* chunks are done: resumes from there" "$work/output"
same "which loses no chunks" "0 $expected" "$? $(digest)"

# Bytes appended to files of each kind that are complete but for the name, and to one that is being compressed.
mkdir kinds
kinds=(--set "products=[{kind: power, file: kinds/a.h5, integrate: 4, compress: zstd}, {kind: power, file: kinds/b.fil, \
integrate: 4, format: fil}, {kind: power, file: kinds/c.h5, integrate: 4}]")
"$voltmill" run job.yaml "${kinds[@]}" >log 2>&1
whole=$(sha256sum kinds/*)
for kill in SHIM_RENAME=1 SHIM_RENAME=2 "SHIM_AWAY_AT=a.h5.packed.part SHIM_AWAY=40:kill"; do
    rm kinds/*
    # shellcheck disable=SC2086
    { "${slow[@]}" SHIM_NAP=0 $kill "$voltmill" run job.yaml "${kinds[@]}" >log 2>&1; } 2>/dev/null
    for part in kinds/*.part; do printf 'of others' >>"$part"; done
    runs "${kill%%=*}: bytes are appended to $(cd kinds && echo *.part)" "$voltmill" run job.yaml "${kinds[@]}"
    same "with the same bytes" "$whole" "$(sha256sum kinds/*)"
done
rm kinds/*
{ "${slow[@]}" SHIM_NAP=0 SHIM_RENAME=2 "$voltmill" run job.yaml "${kinds[@]}" >log 2>&1; } 2>/dev/null
printf 'of others' >>kinds/a.h5
errs 2 'kinds/a\.h5 exists already' "$voltmill" run job.yaml "${kinds[@]}"
ok $bad "a product with bytes of others is not ours: refused"

restore
runs "with another run.align" "$voltmill" run job.yaml --set run.align=4MiB
same "goes on in the file that it was begun in" "$expected" "$(digest)"
placed() { warm -c "
import h5py
for name, rows in (('spectra.h5', 'spectra'), ('power.h5', 'data')):
    file = h5py.File(name)
    print(file[rows].id.get_offset() % (4 << 20), *file['provenance/crc32'])"; }
unaligned=$(placed)
runs "aligned from the beginning" "$voltmill" run --force job.yaml --set run.align=4MiB
same "rows begin at a stripe and are the same; small ones stay where they are" "$(sed '1s/^[0-9]*/0/' <<<"$unaligned")" "$(placed)"
[ "$unaligned" != "$(placed)" ]
ok $? "which they did not before"
clear_all

restore
truncate -s -5 power.h5.journal
"$voltmill" status power.h5 | grep -Eq "  bad +[1-9][0-9]* bytes"
ok $? "a torn record is seen"
runs "a torn record: goes on" mpirun -n 3 "$voltmill" run job.yaml --set run.chunk=70
same "a torn record: same bytes" "$expected" "$(digest)"

restore
warm - <<'PYTHON'
import os
with open("spectra.h5.journal", "r+b") as f:
    f.seek(-300, os.SEEK_END)
    byte = f.read(1)
    f.seek(-1, os.SEEK_CUR)
    f.write(bytes([byte[0] ^ 4]))
PYTHON
[ "$(chunks spectra.h5)" -lt "$begun" ]
ok $? "records behind a damaged one do not count"
runs "a damaged record: goes on" "$voltmill" run job.yaml
same "a damaged record: same bytes" "$expected" "$(digest)"

restore
rm spectra.h5.journal
runs "a lost journal: begins anew" "$voltmill" run job.yaml
grep -q '^warning: spectra.h5.part was left by a run that did not end, and has no journal' "$work/output"
ok $? "a lost journal: says so"
same "a lost journal: same bytes" "$expected" "$(digest)"

restore
rm power.h5.part
runs "a lost .part: begins anew" mpirun -n 2 "$voltmill" run job.yaml
grep -q '^warning: power.h5.part is lost' "$work/output"
ok $? "a lost .part: says so"
same "a lost .part: same bytes" "$expected" "$(digest)"

# refused NAME PATTERN COMMAND...: exit status 2, of `plan` in place of `run`, too, and what was done stays
refused() {
    local name=$1 pattern=$2 bad word words=()
    shift 2
    for word; do
        [ "$word" != run ] || word=plan
        words+=("$word")
    done
    [ "$1" != mpirun ] || words=("${words[@]:3}")
    restore
    errs 2 "$pattern" "${words[@]}"
    ok "$bad" "$name: plan says so"
    errs 2 "$pattern" "$@"
    cmp -s half/power.h5.journal power.h5.journal && cmp -s half/spectra.h5.part spectra.h5.part || bad=1
    ok "$bad" "$name"
    [ "$bad" = 0 ] || note <"$work/stderr"
}
touch -d 2021-01-01 obs.h5
refused "an input that has changed" 'input: obs\.h5: [0-9]+ bytes, changed 2020-01-01T00:00:00\.0+ then, obs\.h5: .* changed 2021' \
    "$voltmill" run job.yaml
touch -d 2020-01-01 obs.h5
refused "another filter" 'job: taps: 64 then, taps: 32 now; --restart begins anew' \
    mpirun -n 2 "$voltmill" run job.yaml --set channelise.taps=32
refused "other rows" 'job: integrate: 10 then, integrate: 5 now' "$voltmill" run job.yaml --set products.1.integrate=5
refused "one product more" 'third\.h5\.part was never begun' "$voltmill" run job.yaml --set 'products.2={kind: power, file: third.h5}'
[ ! -e third.h5.part ]
ok $? "of which nothing is left"
refused "another backend" 'job: backend: cpu then, backend: reference now' "$voltmill" run job.yaml --set channelise.backend=reference

# Keys of both kinds, as the job's schema has them: a changed one with identity is refused, one without goes on.
"$voltmill" job --schema >schema.json
identity() { # identity KEY: false, or the value that counts, or true
    warm -c "
import json, sys
node = json.load(open('schema.json'))
for key in sys.argv[1].split('.'):
    if not key.isdigit():
        while 'properties' not in node:
            node = next(form for form in node.get('anyOf', []) + [node.get('items')] if form and form.get('type') in ('object', 'array'))
        node = node['properties'][key]
print(str(node.get('x-identity', True)).lower())" "$1"
}
kept=()
for set in input.select.samples=[0,200000] input.layout.telescope=X channelise.window=rect channelise.cutoff=0.9 \
    products.0.min_weight=0.5 products.1.average=2 products.1.weights=raw run.check_resumed=off \
    run.threads=2 run.sync=1 run.memory=1GiB run.device_memory=1GiB run.check_resumed=all channelise.name=x products.1.bank=x; do
    case $(identity "${set%%=*}") in
    true | "${set#*=}") refused "$set" 'job: .*--restart begins anew' "$voltmill" run job.yaml --set "$set" ;;
    *) kept+=(--set "$set") ;;
    esac
done
same "keys without identity" 7 $((${#kept[@]} / 2))
restore
runs "goes on with other keys without identity" "$voltmill" run job.yaml "${kept[@]}"
grep -q '^note: .* chunks are done: resumes from there' "$work/output"
ok $? "and says so"
same "same bytes" "$expected" "$(digest)"

echo precious >third.h5.journal
errs 2 'third\.h5\.journal exists, but was not left by voltmill' \
    "$voltmill" run job.yaml --set products.0.file=third.h5 --set products.1.file=fourth.h5
[ ! -e third.h5.part ] && [ ! -e fourth.h5.part ]
ok $((bad | $?)) "somebody's file has the journal's name"
same "and stays" precious "$(cat third.h5.journal)"
rm -f third.h5.journal
clear_all
echo other >spectra.h5.part
runs "--force and a part of another program" "$voltmill" run --force job.yaml
same "it says what is replaced" 1 "$(grep -c '^warning: spectra.h5.part was not left by a run of this program: --force replaces it$' output)"
clear_all
fails "a product has the name of another's journal" 2 'name under which' "$voltmill" run job.yaml \
    --set products.1.file=spectra.h5.journal

restore
runs "--restart begins anew" "$voltmill" run --restart job.yaml --set channelise.taps=32
clear_all
restore
runs "--restart with the same plan" "$voltmill" run --restart job.yaml
same "--restart: same bytes" "$expected" "$(digest)"

# One byte, in a finished product and in one that is not.
flip() { # flip FILE DATASET ROW
    warm - "$@" <<'PYTHON'
import io, sys
import h5py
name, data, row = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(name, "rb") as f:
    whole = b"\211HDF\r\n\032\n" + f.read()[8:] # also of a .part, which has its mark there
with h5py.File(io.BytesIO(whole)) as f:
    at = f[data].id.get_offset() + row * f[data][0].nbytes + 5
with open(name, "r+b") as f:
    f.seek(at)
    byte = f.read(1)
    f.seek(at)
    f.write(bytes([byte[0] ^ 1]))
PYTHON
}
flip spectra.h5 spectra 3000
errs 4 'spectra\.h5: 1 of [0-9]+ spans are damaged' mpirun -n 2 "$voltmill" verify --crc spectra.h5
ok $bad "verify --crc finds a flipped bit"
grep -q '^rows 2048 to 3071: damaged' stdout
ok $? "and says where"
restore
first=$(warm -c "
import struct
data = open('spectra.h5.journal', 'rb').read()
head = struct.unpack('I', data[12:16])[0]
print(struct.unpack('I', data[16 + head + 4:16 + head + 8])[0])")
flip spectra.h5.part spectra $((first * 40 + 2))
errs 4 'spectra\.h5\.part: 1 of [0-9]+ chunks are damaged' "$voltmill" verify --crc spectra.h5
ok $bad "verify --crc finds one in what is done"
grep -q "^rows $((first * 40)) to $((first * 40 + 39)): damaged" stdout
ok $? "and says where"

plan
