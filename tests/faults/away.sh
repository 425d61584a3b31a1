# A file system that does not answer any more, at whatever call of the main thread: whether it has the job, the products,
# their table, the database of tuned kernels or the report, the run ends with status 4 and one error, and the same
# command completes it. Other commands, and runs that have not begun, end likewise.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
export VOLTMILL_CACHE=$work/cache
shim=(env "LD_PRELOAD=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}")
cat >obs.yaml <<'END'
file: obs.h5
samples: 200000
streams: {pols: 2, chans: 1}
bits: 8
sample_rate_hz: 1e6
freq_hz: 320e6
noise: 12
END
"$voltmill" synth obs.yaml >/dev/null || exit 1
touch -d 2020-01-01 obs.h5
cat >job.yaml <<'END'
input: {files: obs.h5}
channelise: {channels: 64, taps: 4, backend: cpu}
products:
  - {kind: power, file: power.h5, integrate: 4, compress: zstd}
dedisperse:
  - {dm: [0, 1, 2], file: series.h5}
  - {dm: [0, 1, 2], search: {file: found.h5, csv: found.csv, widths: 4}}
END
digest() { sha256sum power.h5 series.h5 found.h5 found.csv; }
clear_all() { rm -rf power.h5* series.h5* found.* page.html* tuned.txt*; }
runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
mkdir products
cp power.h5 found.h5 products
clear_all

# away PATH OPTION...: it does not answer from a call in the middle on, or from one of the last: how many there are
# differs by some between runs, as threads meet. Watchdogs wait two seconds, and 10 more where there are locks: so each
# path has a folder of its own, and all wait at once.
away() {
    local path=$1 all call
    shift
    work=$work/${path##*[/.]}
    mkdir "$work" && cp -p obs.h5 job.yaml "$work" && cd "$work" || exit 1
    "${shim[@]}" SHIM_AWAY_AT="$path" SHIM_COUNTS=counts "$voltmill" run job.yaml "$@" >stdout 2>stderr
    all=$(sed -n 's/^SHIM_AWAY //p' counts)
    clear_all
    for call in $((all / 2)) $((all * 15 / 16)); do
        errs 4 '^error: .* could not be .* within 2 s|^error: .* no progress for 2 s' timeout -k 1 100 "${shim[@]}" \
            SHIM_AWAY_AT="$path" "SHIM_AWAY=$call:hang" "$voltmill" run --stall-timeout 2 job.yaml "$@"
        "$voltmill" run job.yaml >stdout 2>>stderr || { echo "# does not go on"; bad=1; }
        # Which kernels are tuned, and so the last bits, depends on what is timed.
        if [ "$path" = /tuned.txt ]; then
            "$voltmill" verify power.h5 >>stderr 2>&1 || { echo "# not verified"; bad=1; }
        elif [ "$expected" != "$(digest)" ]; then
            echo "# other bytes"
            bad=1
        fi
        ok $bad "$path hangs at call $call of $all"
        [ $bad = 0 ] || note <stderr
        clear_all
    done
}
# stuck PATH CALL COMMAND...: likewise; the process has no other thread that waits.
stuck() {
    local path=$1 call=$2
    shift 2
    work=$work/${path##*[/.]}-$1
    mkdir "$work" && cp -p products/* obs.h5 obs.yaml job.yaml "$work" && cd "$work" || exit 1
    echo obs.h5 >list
    errs 4 "^error: $1: no progress for 2 s .rank 0 on .*does a file system hang" timeout -k 1 100 "${shim[@]}" \
        SHIM_AWAY_AT="$path" ${rank:+SHIM_RANK=$rank} SHIM_AWAY="$call:hang" $launcher "$voltmill" "$@" --stall-timeout 2
    ok $bad "$1: $path hangs at call $call"
    [ $bad = 0 ] || note <stderr
}
paths=(job.yaml /found.csv /series.h5 .packed.part "/tuned.txt --tune-budget 2 --database tuned.txt")
if has_pictures; then
    warm_pictures
    paths+=("/page.html --report page.html")
else
    skip "matplotlib is not installed (make deps)"
fi
for path in "${paths[@]}"; do
    # shellcheck disable=SC2086
    away $path >"told-${path//[^a-z]/}" 2>&1 &
done
launcher=
stuck .fil 9 export --format fil power.h5 >told-export 2>&1 &
stuck .csv 12 export --format csv found.h5 >told-table 2>&1 &
stuck join.h5 2 join -o join.h5 power.h5 found.h5 >told-join 2>&1 &
stuck job.yaml 2 plan job.yaml >told-plan 2>&1 &
stuck job.yaml 3 tune job.yaml >told-tune 2>&1 &
stuck power.h5 4 status power.h5 >told-status 2>&1 &
stuck list 1 run --list list job.yaml >told-list 2>&1 &
stuck obs.h 1 run --each 'obs.h*' job.yaml >told-each 2>&1 &
launcher="mpirun -n 2" rank=0 stuck s.h5 3 synth obs.yaml --set file=s.h5 >told-synth 2>&1 &
# The other end of a pipe may take its time: input that is late, and a full pipe whose reader waits.
{ sleep 4; cat job.yaml; } | "$voltmill" plan --stall-timeout 1 - >told-late 2>&1 &
late=$!
{
    head -c 65536 /dev/zero
    "$voltmill" info --stall-timeout 1 obs.h5
    echo "exit $?" >reader
} | { sleep 4; cat >/dev/null; } &
wait "$late"
ok $? "standard input that is late"
wait
same "a reader that waits" "exit 0" "$(cat reader)"
for name in export table join plan tune status list each synth; do
    grep '^#' "told-$name"
    grep -q '^ok' "told-$name"
    ok $? "$(sed -n 's/^.*ok [0-9]* - //p' "told-$name")"
done
# Their lines, with our numbers.
for path in "${paths[@]}"; do
    while IFS= read -r line; do
        case $line in
        "ok "*) ok 0 "${line#*- }" ;;
        "not ok "*) ok 1 "${line#*- }" ;;
        *) echo "$line" ;;
        esac
    done <"told-${path//[^a-z]/}"
    [ "$(grep -c '^ok\|^not ok' "told-${path//[^a-z]/}")" = 2 ]
    ok $? "${path%% *}: two calls"
done
plan
