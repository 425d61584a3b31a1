# A file that is not complete is data for no command, under whatever name: each command that writes files is killed
# before some of its syncs and renamings (VOLTMILL_TEST_ALL=1: before each, and each write). What is left is either the whole
# file or has a mark; the same command completes it, or says that it was complete before; somebody's .part stays.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
export VOLTMILL_CACHE=$work/cache
shim=(env "LD_PRELOAD=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}")
cat >synth.yaml <<'YAML'
file: obs.h5
samples: 60000
bits: 8
sample_rate_hz: 1e6
freq_hz: 1.4e9
noise: 20
gaps: [{first: 30000, count: 500}]
YAML
cat >job.yaml <<'YAML'
input: {files: obs.h5}
channelise: {channels: 32, taps: 4, backend: cpu}
products:
  - {kind: power, file: power.h5, integrate: 2}
run: {threads: 1}
YAML
cat >search.yaml <<'YAML'
input: {files: power.h5}
dedisperse: {dm: {start: 0, step: 100, count: 3}, file: series.h5, search: {file: found.h5, threshold: 4.5}}
run: {threads: 1}
YAML
"$voltmill" synth synth.yaml >log 2>&1 && "$voltmill" run job.yaml >log 2>&1 && "$voltmill" run search.yaml >log 2>&1 &&
    "$voltmill" run job.yaml --set products.0.file=a.h5 --set 'input.select.samples=[0, 32768]' >log 2>&1 &&
    "$voltmill" run job.yaml --set products.0.file=b.h5 --set 'input.select.samples=[32768, 60000]' >log 2>&1
made=$?
ok $made "an observation and its products"
[ $made = 0 ] || note <log

digest() { sha256sum "$@" 2>&1; }
look() { stat -c '%n %i %y' "$@"; }
# is_data FILE: it does not begin with the mark
is_data() { [ "$(head -c 7 "$1" | tail -c 6 | tr -d '\0')" != VMPART ]; }

# killed NAME FILES COMMAND...
killed() {
    local name=$1 files expected bad=0 kills=0 kind number times file found calls=(SHIM_FSYNC SHIM_NAME) all=() call
    read -ra files <<<"$2"
    shift 2
    [ -z "${VOLTMILL_TEST_ALL:-}" ] || calls+=(SHIM_CREATE SHIM_CUT SHIM_RESERVE)
    rm -f "${files[@]}"
    "${shim[@]}" SHIM_COUNTS=counts "$@" >stdout 2>stderr || { ok 1 "$name"; note <stderr; return; }
    expected=$(digest "${files[@]}")
    found=$(look "${files[@]}")
    "$@" >stdout 2>stderr && grep -q '^complete before: ' stdout && [ "$found" = "$(look "${files[@]}")" ] || {
        bad=1
        echo "# done again, it does not say complete before"
        note <stderr
    }
    for kind in "${calls[@]}"; do
        times=$(awk -v kind="$kind" '$1 == kind {print $2}' counts)
        for ((number = 1; number <= ${times:-0}; number++)); do all+=("$kind=$number"); done
    done
    sampled 2 "${all[@]}"
    for call in "${sample[@]}"; do
        rm -f "${files[@]}"
        { "${shim[@]}" "$call:kill" "$@" >stdout 2>stderr; } 2>/dev/null
        [ $? = 137 ] && kills=$((kills + 1))
        for file in "${files[@]}"; do
            [ -s "$file.part" ] || continue
            if is_data "$file.part"; then
                grep -q "^$(sha256sum <"$file.part" | cut -d' ' -f 1)  $file\$" <<<"$expected" ||
                    { bad=1; echo "# $call: $file.part is neither complete nor marked"; }
            fi
        done
        "$@" >stdout 2>stderr || { bad=1; echo "# $call: the same command fails"; note <stderr; }
        [ "$expected" = "$(digest "${files[@]}")" ] || { bad=1; echo "# $call: other bytes"; }
        [ -z "$(ls ./*.part 2>/dev/null)" ] || { bad=1; echo "# $call: something is left"; rm -f ./*.part; }
    done
    [ $kills -gt 0 ] || { bad=1; echo "# it was never killed"; }
    ok $bad "$name: killed $kills times"
    # Without inodes, or where a name or a length is refused for lack of space.
    for kind in SHIM_MAKE SHIM_NAME SHIM_CUT; do
        rm -f "${files[@]}"
        [ "$(awk -v kind="$kind" '$1 == kind {print $2}' counts)" -gt 0 ] || continue
        errs 3 'No space left' "${shim[@]}" "$kind=1:28" "$@"
        "$@" >stdout 2>>stderr && [ "$expected" = "$(digest "${files[@]}")" ] && ! left || bad=1
        ok $bad "$name: $kind without space"
        [ $bad = 0 ] || note <stderr
    done
}
# killed_run NAME FILES COMMAND...: of a run, whose .part without a mark may also be one that is to be compressed, or put
# into another format: then its journal vouches for all of it
killed_run() {
    local name=$1 files expected bad=0 kills=0 kind number times file
    read -ra files <<<"$2"
    shift 2
    rm -f "${files[@]}"
    "${shim[@]}" SHIM_COUNTS=counts "$@" >stdout 2>stderr || { ok 1 "$name"; note <stderr; return; }
    expected=$(digest "${files[@]}")
    for kind in SHIM_FSYNC SHIM_NAME SHIM_CREATE SHIM_CUT SHIM_RESERVE SHIM_ROWS SHIM_SYNC; do
        times=$(awk -v kind="$kind" '$1 == kind {print $2}' counts)
        for ((number = 1; number <= ${times:-0}; number += 1 + times / 40)); do
            rm -f "${files[@]}"
            { "${shim[@]}" "$kind=$number:kill" "$@" >stdout 2>stderr; } 2>/dev/null
            [ $? = 137 ] && kills=$((kills + 1))
            for file in "${files[@]}"; do
                [ -s "$file.part" ] && is_data "$file.part" || continue
                grep -q "^$(sha256sum <"$file.part" | cut -d' ' -f 1)  $file\$" <<<"$expected" ||
                    "$voltmill" verify --crc "$file.part" >stdout 2>stderr ||
                    { bad=1; echo "# $kind $number: $file.part is neither complete nor marked"; note <stderr; }
            done
            "$@" >stdout 2>stderr || { bad=1; echo "# $kind $number: the same command fails"; note <stderr; }
            [ "$expected" = "$(digest "${files[@]}")" ] || { bad=1; echo "# $kind $number: other bytes"; }
            [ -z "$(ls ./*.part ./*.journal 2>/dev/null)" ] ||
                { bad=1; echo "# $kind $number: something is left"; rm -f ./*.part ./*.journal; }
        done
    done
    ok $bad "$name: killed $kills times"
}
# refuses NAME FILE COMMAND...: somebody's FILE.part, of the same kind, stays; --force replaces it
refuses() {
    local name=$1 file=$2 before
    shift 2
    rm -f "$file"
    before=$(digest "$file.part")
    errs 2 "$file\\.part exists, but was not left by voltmill" "$@"
    [ "$before" = "$(digest "$file.part")" ] || bad=1
    "$@" --force >stdout 2>stderr && [ ! -e "$file.part" ] || { bad=1; note <stderr; }
    ok $bad "$name of somebody else's stays"
}

! has_pictures || warm_pictures # tables, too, are written by a Python
killed "an observation" made.h5 "$voltmill" synth --set file=made.h5 synth.yaml
killed "an import" new.h5 "$voltmill" import -o new.h5 obs.h5
killed "a join" joined.h5 "$voltmill" join -o joined.h5 a.h5 b.h5
killed "SIGPROC" power.fil "$voltmill" export --format fil power.h5
killed "PSRFITS" power.fits "$voltmill" export --format psrfits power.h5
killed "PRESTO" "series_DM100.00.dat series_DM100.00.inf series_DM200.00.dat series_DM200.00.inf" \
    "$voltmill" export --format dat --dms 100..200 series.h5
killed "kerchunk" power.json "$voltmill" export --format kerchunk power.h5
killed "heimdall's table" found.cand "$voltmill" export --format heimdall found.h5
if [ -n "${VOLTMILL_TEST_ALL:-}" ]; then
    cat >kinds.yaml <<'YAML'
input: {files: obs.h5}
channelise: [{name: fine, channels: 32, taps: 4, backend: cpu}, {name: coarse, channels: 8, taps: 4, backend: cpu}]
products:
  - {kind: power, bank: fine, file: k1.h5, integrate: 2, bandpass: median}
  - {kind: spectra, bank: fine, file: k2.h5, compress: lz4}
  - {kind: power, bank: coarse, file: k3.h5, integrate: 4, bits: 8, compress: zstd}
  - {kind: power, bank: fine, file: k4.fil, integrate: 2}
  - {kind: power, bank: coarse, file: k5.fits, integrate: 4}
run: {threads: 1, chunk: 200}
YAML
    killed_run "products of two banks" "k1.h5 k2.h5 k3.h5 k4.fil k5.fits" "$voltmill" run kinds.yaml
    killed_run "series and a search" "series.h5 found.h5 table.csv" "$voltmill" run search.yaml --set dedisperse.search.csv=table.csv
    cat >volts.yaml <<'YAML'
input: {files: obs.h5}
products: [{kind: voltages, file: volts.h5, bits: 8, scale: 1}]
YAML
    killed_run "voltages" volts.h5 "$voltmill" run volts.yaml
    killed "a .tim" series_DM100.00.tim "$voltmill" export --format tim --dm 100 series.h5
    killed "a table" found.csv "$voltmill" export --format csv found.h5
    killed "FETCH's table" found.fetch.csv "$voltmill" export --format fetch found.h5
fi
if has_pictures; then
    killed "a picture and its numbers" "power.png numbers.csv" "$voltmill" plot --data numbers.csv power.h5
else
    skip "matplotlib is not installed"
fi

"$voltmill" synth --set file=made.h5.part --set noise=21 synth.yaml >log 2>&1
refuses "an observation" made.h5 "$voltmill" synth --set file=made.h5 synth.yaml
cp obs.h5 new.h5.part && printf x | dd of=new.h5.part bs=1 seek=$(($(stat -c %s obs.h5) - 9)) conv=notrunc status=none
refuses "an import" new.h5 "$voltmill" import -o new.h5 obs.h5
cp a.h5 joined.h5.part
refuses "a join" joined.h5 "$voltmill" join -o joined.h5 a.h5 b.h5
cp a.h5 third.h5.part
refuses "a product" third.h5 "$voltmill" run job.yaml --set products.0.file=third.h5
"$voltmill" export --format fil -o other.fil.part a.h5 >log 2>&1
refuses "a .fil" other.fil "$voltmill" export --format fil -o other.fil power.h5
"$voltmill" export --format fil -o run.fil.part a.h5 >log 2>&1
refuses "a .fil" run.fil "$voltmill" run job.yaml --set products.0.file=run.fil
"$voltmill" export --format psrfits -o other.fits.part a.h5 >log 2>&1
refuses "a .fits" other.fits "$voltmill" export --format psrfits -o other.fits power.h5
"$voltmill" export --format csv -o other.csv.part found.h5 >log 2>&1 && echo 1,2 >>other.csv.part
refuses "a table" other.csv "$voltmill" export --format csv -o other.csv found.h5
"$voltmill" export --format kerchunk -o other.json.part a.h5 >log 2>&1
refuses "kerchunk" other.json "$voltmill" export --format kerchunk -o other.json power.h5
if has_pictures; then
    echo "somebody else's picture" >other.png.part
    refuses "a picture" other.png "$voltmill" plot -o other.png power.h5
    printf '<!DOCTYPE html>\n<html lang="en">mine</html>\n' >page.html.part
    "$voltmill" run --report page.html job.yaml --set products.0.file=reported.h5 >stdout 2>stderr
    grep -q '^<!DOCTYPE html>.*' page.html.part && [ ! -e page.html ]
    ok $? "a page of somebody else's stays" && rm page.html.part
fi

# Messages of the readers, under any name.
{ "${shim[@]}" SHIM_FSYNC=1:kill "$voltmill" synth --set file=cut.h5 synth.yaml >log 2>&1; } 2>/dev/null
cp cut.h5.part copy.h5
for file in cut.h5.part copy.h5; do
    errs 4 "$file is not complete: .*\`voltmill synth SPEC\`" "$voltmill" run job.yaml --set input.files=$file --set products.0.file=none.h5
    ok $bad "run does not read $file"
    errs 4 "$file is not complete" "$voltmill" info $file
    ok $bad "nor does info"
    errs 4 "$file is not complete" "$voltmill" import -o none.h5 $file
    ok $bad "nor import"
done
"$voltmill" status copy.h5 | grep -q unfinished && "$voltmill" status --json cut.h5.part | grep -q '"made_by": "voltmill synth SPEC"'
ok $? "status says what it is"
{ "${shim[@]}" SHIM_ROWS=3:kill "$voltmill" run job.yaml --set products.0.file=half.h5 --set run.chunk=1000 --set run.sync=0.01 >log 2>&1; } 2>/dev/null
cp half.h5.part half-copy.h5
for command in info "export --format fil" "export --format kerchunk" plot "verify" "verify --crc"; do
    # shellcheck disable=SC2086
    errs 4 "half-copy.h5 is not complete: .*\`voltmill run JOB\`" "$voltmill" $command half-copy.h5
    ok $bad "$command of a product"
done
errs 4 'half.h5.part is not complete' "$voltmill" join -o none.h5 half.h5.part b.h5
ok $bad "join of a product"
errs 4 'half.h5.part is not complete' "$voltmill" run search.yaml --set input.files=half.h5.part --set dedisperse.file=n.h5 --set dedisperse.search.file=m.h5
ok $bad "dedispersion of a product"
{ "${shim[@]}" SHIM_FSYNC=1:kill "$voltmill" export --format fil -o cut.fil power.h5 >log 2>&1; } 2>/dev/null
cp cut.fil.part copy.fil
errs 4 'copy.fil is not complete: .*`voltmill export --format FORMAT PRODUCT`' "$voltmill" info copy.fil
ok $bad "info of a .fil"
PYTHONPATH=$here/python warm -c "
import voltmill
for name in 'copy.h5', 'half.h5.part', 'copy.fil':
    try:
        voltmill.open(name)
    except OSError as error:
        assert f'{name} is not complete' in str(error) and '\`voltmill ' in str(error), error
    else:
        raise SystemExit(f'{name} was opened')"
ok $? "Python's open refuses them"

plan
