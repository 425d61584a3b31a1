# Filters before a filter bank: a run of two ranks that is killed again and again makes the bytes of an undisturbed one,
# one that has begun does not go on with other coefficients, and a batch that is killed goes on.
. "$(dirname "$0")/../tools/lib.sh"

printf '%s\n' "file: $work/obs.h5" 'samples: 3e6' 'streams: {pols: 2}' 'bits: 8' 'sample_rate_hz: 1e6' 'freq_hz: 400e6' \
    'noise: 20' 'burst: {time_s: 1.5, dm: 20, amplitude: 900}' >"$work/spec.yaml"
runs "an observation" "$voltmill" synth "$work/spec.yaml"
warm -c "import numpy; numpy.savetxt('$work/c.txt', numpy.hamming(30001) * numpy.sinc(numpy.linspace(-3000, 3000, 30001)) / 5)"
cat >"$work/job.yaml" <<YAML
input: {files: $work/obs.h5}
filter:
  - {coefficients: $work/c.txt, method: overlap-save}
  - {dispersion: {dm: 20}}
channelise: {channels: 64, taps: 4, backend: cpu}
products: [{kind: power, file: $work/power.h5, integrate: 8}]
run: {sync: 0.01, chunk: 512}
YAML
runs "an undisturbed run" "$voltmill" run "$work/job.yaml" --set products.0.file="$work/whole.h5"

done_chunks() {
    "$voltmill" status "$work/${1:-power}.h5" 2>/dev/null | sed -n 's/.* \([0-9][0-9,]*\) of [0-9,]* done.*/\1/p' | tr -d ,
}

kill_ranks() { # SIGKILL to every rank of this script (a bare system has no pkill)
    local entry words
    for entry in /proc/[0-9]*; do
        words=()
        { mapfile -d '' -t words <"$entry/cmdline"; } 2>/dev/null
        case ${words[*]} in
        "$voltmill run "*) kill -9 "${entry#/proc/}" ;;
        esac
    done
}

# killed_after CHUNKS: a run of two ranks resumes, and is killed when it has done CHUNKS more
killed_after() {
    local begun now run
    begun=$(done_chunks)
    mpirun -n 2 "$voltmill" run "$work/job.yaml" >"$work/run.log" 2>&1 &
    run=$!
    while kill -0 "$run" 2>/dev/null && now=$(done_chunks) && [ "${now:-0}" -lt $((${begun:-0} + $1)) ]; do
        nap 0.03
    done
    kill_ranks
    wait "$run"
    echo "# killed at ${now:-its end}"
}

killed_after 5
[ -e "$work/power.h5.part" ] && [ ! -e "$work/power.h5" ]
ok $? "killed, there is a part of the product"
cp -p "$work/c.txt" "$work/kept.txt"
sed -i '7s/.*/0.25/' "$work/c.txt"
errs 2 'was begun with another plan: input: .*c\.txt' "$voltmill" run "$work/job.yaml"
ok $bad "it does not go on with other coefficients"
[ $bad = 0 ] || note <"$work/stderr"
cp -p "$work/kept.txt" "$work/c.txt"
for chunks in 1 9 20; do killed_after $chunks; done
runs "and goes on to its end" mpirun -n 2 "$voltmill" run "$work/job.yaml"
cmp "$work/power.h5" "$work/whole.h5"
ok $? "with the bytes of the undisturbed run"

# A batch of two observations.
mkdir "$work/obs" "$work/out"
cp "$work/obs.h5" "$work/obs/a.h5"
cp "$work/obs.h5" "$work/obs/b.h5"
batch=(run --each "$work/obs/*.h5" "$work/job.yaml" --set products.0.file="$work/out/{name}.h5")
"$voltmill" "${batch[@]}" >"$work/run.log" 2>&1 &
run=$!
while kill -0 "$run" 2>/dev/null && [ ! -e "$work/out/a.h5" ]; do nap 0.02; done
while kill -0 "$run" 2>/dev/null && [ -z "$(done_chunks out/b)" ]; do nap 0.01; done
kill_ranks
wait "$run"
[ -e "$work/out/a.h5" ] && [ -e "$work/out/b.h5.part" ]
ok $? "a batch, killed at its second observation"
runs "goes on" "$voltmill" "${batch[@]}"
warm - "$work" <<'PYTHON'
import sys, h5py
rows = [h5py.File(f"{sys.argv[1]}/{name}.h5")["data"][:].tobytes() for name in ("whole", "out/a", "out/b")]
sys.exit(rows[0] != rows[1] or rows[0] != rows[2])
PYTHON
ok $? "and makes the rows of the undisturbed run"
# Writes of voltages that fail: told in one line, and the same command goes on.
cat >"$work/volts.yaml" <<YAML
input: {files: $work/obs.h5, select: {samples: [0, 400000]}}
filter: {coefficients: $work/c.txt, method: overlap-save, backend: cpu}
products: [{kind: voltages, file: $work/volts.h5, bits: 8, scale: 1}]
run: {chunk: 50000}
YAML
runs "voltages" "$voltmill" run "$work/volts.yaml"
expected=$(sha256sum <"$work/volts.h5")
shim=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}
while read -r status setting pattern; do
    rm "$work/volts.h5"
    fails "voltages, $setting" "$status" "volts\.h5\.part$pattern" \
        env LD_PRELOAD="$shim" "$setting" "$voltmill" run "$work/volts.yaml"
    [ ! -e "$work/volts.h5" ]
    ok $? "voltages, $setting: there is no product"
    runs "voltages, $setting: it goes on" "$voltmill" run "$work/volts.yaml"
    same "voltages, $setting: the same bytes" "$expected" "$(sha256sum <"$work/volts.h5")"
done <<'END'
3 SHIM_ROWS=1:28 : writing .*No space left
4 SHIM_ROWS=1:5 : writing .*Input/output error
4 SHIM_CLOSE=1:5 .* cannot be closed: Input/output error
END
plan
