# A file system that does not answer any more, at whatever call of the main thread: whether it has the job, the products,
# their table, the database of tuned kernels or the report, the run ends with status 4 and one error, and the same
# command completes it.
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
paths=(job.yaml /found.csv /series.h5 .packed.part "/tuned.txt --tune-budget 2 --database tuned.txt")
if has_pictures; then
    paths+=("/page.html --report page.html")
else
    skip "matplotlib is not installed (make deps)"
fi
for path in "${paths[@]}"; do
    # shellcheck disable=SC2086
    away $path >"told-${path//[^a-z]/}" 2>&1 &
done
wait
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
