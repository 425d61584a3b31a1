# Rows that an earlier run has written and that are not those of the journal any more: the run that goes on
# makes them again, with a warning, before a product gets its name, or ends as files that cannot be read
# make it end.
. "$(dirname "$0")/../tools/lib.sh"
samples=250000
. "$here/tests/cli/begun.bash"
shim=("${slow[@]}" SHIM_NAP=0)
EIO=5

runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
clear_all
"${slow[@]}" "$voltmill" run job.yaml >log 2>&1 &
run=$!
await 35
kill -9 $run
reap $run
mkdir half
mv ./*.part ./*.journal half
begun=$(chunks half/power.h5)
[ "${begun:-0}" -ge 35 ] && [ "$begun" -lt 97 ]
ok $? "a run was killed when $begun of 97 chunks were done"
restore() {
    clear_all
    cp -p half/* .
}

# A file system that does not answer, or a request to stop, while what an earlier run has written is looked at:
# that run's chunks are kept.
look() { # STATUS LIMIT COMMAND...
    local status=0
    restore
    "${@:3}" "${shim[@]}" SHIM_APART=1 SHIM_AWAY_AT=power.h5.part SHIM_AWAY=1:hang "$voltmill" run --stall-timeout "$2" job.yaml \
        >stdout 2>stderr || status=$?
    [ $status = "$1" ] && [ "$(chunks half/power.h5)" = "$(chunks power.h5)" ]
    ok $? "a look that ends with status $1 keeps the chunks"
    runs "and the run goes on" "$voltmill" run job.yaml
    same "to the same bytes" "$expected" "$(digest)"
}
look 4 2
look 75 60 timeout --preserve-status -s TERM 3

# damage FILE DATASET FIRST ROWS: zeros
damage() {
    warm - "$@" <<'PYTHON'
import io
import sys
import h5py
name, data, first, rows = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open(name, "rb") as f: # with HDF5's signature in place of the mark
    whole = io.BytesIO(b"\x89HDF\r\n\x1a\n" + f.read()[8:])
with h5py.File(whole) as f:
    at, row = f[data].id.get_offset(), f[data][0].nbytes
with open(name, "r+b") as f:
    f.seek(at + first * row)
    f.write(b"\1" * (rows * row))
PYTHON
}

# goes_on NAME CHUNKS COMMAND...: to the bytes of an undisturbed run, with a warning of each such chunk
goes_on() {
    local name=$1 differ=$2
    shift 2
    runs "$name" "$@"
    same "$name: warnings" "$differ" "$(grep -c '^warning: .* do not match the CRC in its journal' "$work/output")"
    same "$name: same bytes" "$expected" "$(digest)"
    ! left
    ok $? "$name: nothing is left behind"
}

restore
goes_on "whole rows" 0 "$voltmill" run job.yaml
for size in 1 3; do
    restore
    damage spectra.h5.part spectra 1000 1
    damage power.h5.part data 20 8
    goes_on "rows of two products, $size ranks" 3 mpirun -n $size "$voltmill" run job.yaml
done
grep -q '^warning: spectra.h5.part: rows 1000 to 1039 do not match the CRC in its journal: chunk 25 is computed again' "$work/output"
ok $? "says which"
restore
damage power.h5.part time 7 1
goes_on "a time stamp" 1 "$voltmill" run job.yaml
restore
runs "verify --crc of what is done" mpirun -n 2 "$voltmill" verify --crc power.h5.part
damage power.h5.part weights 40 9
errs 4 'power\.h5\.part: 3 of [0-9]+ chunks are damaged' "$voltmill" verify --crc power.h5.part
ok "$bad" "verify --crc finds weights, too"
same "verify --crc says where" 3 "$(grep -c '^rows [0-9]* to [0-9]*: their weights, flags or scales are damaged$' stdout)"
goes_on "weights" 3 "$voltmill" run job.yaml
restore
damage spectra.h5.part spectra 0 $((begun * 40 - 400))
"$voltmill" run job.yaml >log 2>&1
ok $? "nearly all rows"
same "nearly all rows: same bytes" "$expected" "$(digest)"
same "nearly all rows: warnings" 21 "$(grep -c ^warning log)"

# All rows are there, and what is left is to compare and publish them.
restore
SHIM_RENAME=1 "${shim[@]}" "$voltmill" run job.yaml >log 2>&1
[ -e spectra.h5.part ] && [ -e power.h5.part ] && [ "$(chunks power.h5)" = 97 ]
ok $? "killed before the first product gets its name"
damage power.h5.part data 200 1
goes_on "complete but for the name" 1 "$voltmill" run job.yaml
restore
SHIM_RENAME=2 "${shim[@]}" "$voltmill" run job.yaml >log 2>&1
[ -e spectra.h5 ] && [ -e power.h5.part ]
ok $? "killed before the second one does"
damage power.h5.part data 200 1
errs 4 'power\.h5\.part: rows 200 to 203 do not match .*, and spectra\.h5 is complete already: --force --restart begins all anew' \
    "$voltmill" run job.yaml
[ ! -e power.h5 ]
ok $((bad | $?)) "the other one is complete: refused"
runs "--force --restart" "$voltmill" run --force --restart job.yaml
same "--force --restart: same bytes" "$expected" "$(digest)"

# While rows are compared: files that fail, that hang; a run that is to stop.
restore
errs 4 'h5\.part: reading .*Input/output error' mpirun -n 2 "${shim[@]}" SHIM_RESUMED=9:$EIO "$voltmill" run job.yaml
[ ! -e spectra.h5 ] && [ ! -e power.h5 ]
ok $((bad | $?)) "rows that cannot be read"
goes_on "rows that cannot be read: goes on" 0 "$voltmill" run job.yaml
restore
for size in 1 2; do
    errs 4 "spectra\.h5: rows that earlier runs have written could not be read within 1 s" \
        mpirun -n $size "${shim[@]}" SHIM_RANK=0 SHIM_RESUMED=9:hang "$voltmill" run --stall-timeout 1 job.yaml
    ok $bad "rows whose reading hangs, $size ranks"
done
goes_on "rows whose reading hangs: goes on" 0 "$voltmill" run job.yaml
restore
SHIM_RENAME=1 "${shim[@]}" "$voltmill" run job.yaml >log 2>&1
damage power.h5.part data 200 1
"${shim[@]}" SHIM_NAP=20 "$voltmill" run job.yaml >log 2>&1 &
run=$!
sleep 1
kill -TERM $run
status=0
wait $run || status=$?
same "a run that is to stop while it compares" 75 $status
grep -q '^stopped: 97 of 97 chunks are done, but not all rows of earlier runs are compared; run the same' log
ok $? "says so"
goes_on "stopped: goes on" 1 "$voltmill" run job.yaml

# run.check_resumed: off is part of the job: the product says so.
restore
errs 2 'job: nothing then, run: \{check_resumed: off\} now; --restart begins anew' \
    "$voltmill" run job.yaml --set run.check_resumed=off
ok $bad "off is not for a run that was begun with all"
clear_all
"${slow[@]}" "$voltmill" run job.yaml --set run.check_resumed=off >log 2>&1 &
run=$!
await 30
kill -9 $run
reap $run
damage power.h5.part data 20 1
runs "off" "$voltmill" run job.yaml --set run.check_resumed=off
! grep -q ^warning "$work/output"
ok $? "off: takes over what is there"
same "off: the product says so" 1 "$(warm -c "
import h5py
print(h5py.File('power.h5')['provenance'].attrs['job'].count(b'run: {check_resumed: off}'))")"
errs 4 'power\.h5: 1 of [0-9]+ spans are damaged' "$voltmill" verify --crc power.h5
ok $bad "off: verify --crc finds it"

# All that can be beside rows: of power and of spectra in few bits, of cells that are flagged.
clear_all
few=(--set products.0.bits=8 --set products.0.scale_rows=5 --set products.1.bits=8 --set products.1.integrate=8 --set products.1.scale_rows=5 --set 'products.1.flag={kurtosis: 3}')
"${slow[@]}" "$voltmill" run job.yaml "${few[@]}" >log 2>&1 &
run=$!
await 30
kill -9 $run
reap $run
rm -rf half
mkdir half
mv ./*.part ./*.journal half
restore
runs "few bits: spectra" "$voltmill" verify --crc spectra.h5.part
runs "few bits: power" "$voltmill" verify --crc power.h5.part
for dataset in spectra/scale spectra/offset power/scale power/offset power/clipped_low power/flags power/kurtosis power/weights; do
    restore
    damage "${dataset%/*}.h5.part" "${dataset#*/}" 1 1
    errs 4 "1 of [0-9]+ chunks are damaged" "$voltmill" verify --crc "${dataset%/*}.h5.part"
    ok "$bad" "few bits: $dataset is damaged"
done
plan
