# run.memory holds: 512 MiB of (sparse) input in a budget of 160 MiB a rank, one huge chunk. The same
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
plan
