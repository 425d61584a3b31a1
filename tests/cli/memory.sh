# run.memory holds, in a filter bank and in a dedispersion: 512 MiB of (sparse) input in a budget of 160 MiB a rank, one huge chunk. The same
# at 8 GiB and 1 GiB is tests/long/memory.sh.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/tools/sparse.sh"

sparse "$work/obs.h5" 134217728
cat >"$work/job.yaml" <<YAML
input: {files: $work/obs.h5}
channelise: {channels: 1024, taps: 8}
products:
  - {kind: power, file: $work/power.h5, integrate: 64}
run: {memory: 160MiB, chunk: 1e7}
YAML
peak_below "2 ranks" 188416 2

# 256 MiB of a filterbank: a chunk of all of it, delays of seconds, and more DMs than fit at once.
sparse_bank "$work/bank.h5" 262144 1024
cat >"$work/job.yaml" <<YAML
input: {files: $work/bank.h5}
dedisperse:
  dm: {start: 0, step: 25, count: 40}
  file: $work/power.h5
run: {memory: 160MiB, chunk: 1e7}
YAML
peak_below "a dedispersion on 2 ranks" 188416 2

# Rows are compressed, and their medians found, in the memory that blocks had: more would be above what is planned.
# (Samples are read, not mapped, if some may be unreadable.)
cat >"$work/job.yaml" <<YAML
input: {files: $work/obs.h5, select: {samples: [0, 33554432]}}
channelise: {channels: 32768, taps: 8}
products:
  - {kind: power, file: $work/power.h5, integrate: 8, compress: deflate, bandpass: median}
run: {threads: 8, on_bad: nan}
YAML
peak_below "8 threads that compress" 8388608 1

# Whoever only looks at what passes will do keeps the delays of one at a time: 24 MiB each.
{
    printf 'input: {files: %s}\nrun: {memory: 160MiB}\ndedisperse:\n' "$work/bank.h5"
    for i in {0..4}; do
        echo "  - {dm: {start: 0, step: 0.05, count: 6144}, downsample: 64, file: $work/series$i.h5}"
    done
} >"$work/job.yaml"
rm -f "$work"/kib.*
runs "many dedispersions are planned" "$python" "$work/peak" "$work/kib" "$voltmill" plan "$work/job.yaml"
most=$(cat "$work"/kib.*)
echo "# peak $most KiB of 112640"
[ "$most" -lt 112640 ]
ok $? "with the delays of one at a time"
plan
