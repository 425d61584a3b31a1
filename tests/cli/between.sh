# Power that stays on the device between the filter bank and dedispersion: the series are those that are made
# from the file, to the bit, whatever is added up on the way, and whether all of it stayed or none.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
export VOLTMILL_CACHE=$work/cache

if ! "$voltmill" info --devices | grep -q '^0: '; then
    echo "1..0 # SKIP no OpenCL device here"
    exit 0
fi

cat >obs.yaml <<YAML
file: obs.h5
samples: 60000
streams: {stations: 1, pols: 2, chans: 2}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
seed: 7
YAML
runs "an observation" "$voltmill" synth obs.yaml

# job NAME DEDISPERSIONS: one kernel, so that none are compared
job() {
    cat >"$1.yaml" <<YAML
input: {files: obs.h5}
channelise: {channels: 16, taps: 4, backend: opencl, kernel: local, fft: clfft}
products:
  - {kind: power, file: $1-power.h5, integrate: 4}
dedisperse:
$2
run: {chunk: 400, threads: 1}
YAML
}
job=$(
    for line in "edges: valid" "edges: pad" "edges: pad, downsample: 3" "pols: [1]" "mode: two-step, group: 4"; do
        i=$((${i:-0} + 1))
        echo "  - {dm: {start: 0, step: 0.1, count: 9}, backend: opencl, $line, file: $i.h5}"
    done
)
job all "$job"
runs "filter bank and dedispersions in one run" "$voltmill" run all.yaml
cp output said
same "nothing was read back" 5 "$(grep -c '^100 % of the samples that rank 0 dedispersed were still on the device' said)"
sha256sum ?.h5 >stayed
rm ?.h5
runs "dedispersions of the file" "$voltmill" run all.yaml
same "which says nothing of a device" 0 "$(grep -c 'still on the device' output)"
runs "give the same bytes" sha256sum --quiet -c stayed
runs "they are right" "$voltmill" verify --all 3.h5

rm -f ?.h5 all-power.h5
runs "with little memory on the device" "$voltmill" run all.yaml --set run.device_memory=1MiB
same "less stayed" 0 "$(grep -c '^100 % of the samples' output)"
runs "the same bytes" sha256sum --quiet -c stayed

rm -f ?.h5 all-power.h5
runs "on three ranks" mpirun --oversubscribe -n 3 "$voltmill" run all.yaml
runs "the same bytes from them" sha256sum --quiet -c stayed

# Several products share the device's memory, and what the first ones do not need any more goes.
cat >many.yaml <<YAML
input: {files: obs.h5}
channelise: {channels: 16, taps: 4, backend: opencl, kernel: local, fft: clfft}
products: [$(for i in 1 2 3; do echo "{kind: power, file: p$i.h5, integrate: 4},"; done)]
dedisperse: [$(for i in 1 2 3; do echo "{input: $((i - 1)), dm: {start: 0, step: 0.05, count: 30}, backend: opencl, file: m$i.h5},"; done)]
run: {chunk: 400, threads: 1}
YAML
runs "three products, room for all" "$voltmill" run many.yaml
same "all stayed" 3 "$(grep -c '^100 % of the samples' output)"
sha256sum m?.h5 >stayed-many
# None of it stays in the one, half in the other.
for room in 1400 1700; do
    rm -f m?.h5 p?.h5
    runs "three products in ${room}KiB of the device's memory" "$voltmill" run many.yaml --set run.device_memory=${room}KiB
    runs "three products in ${room}KiB: the same bytes" sha256sum --quiet -c stayed-many
done

rm -f ?.h5 all-power.h5
runs "rows may become NaN" "$voltmill" run all.yaml --set run.on_bad=nan
same "then none stays" 5 "$(grep -c '^0 % of the samples' output)"
plan
