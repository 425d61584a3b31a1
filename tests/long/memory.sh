# 8 GiB of (sparse) input with memory: 1GiB peaks below 1.15 GiB in every rank, whatever the chunks.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/tools/sparse.sh"

sparse "$work/obs.h5" 2147483648
cat >"$work/job.yaml" <<YAML
input: {files: $work/obs.h5}
channelise: {channels: 1024, taps: 8}
products:
  - {kind: power, file: $work/power.h5, integrate: 64}
run: {memory: 1GiB}
YAML
peak_below "automatic chunks, 1 rank" 1205862 1
peak_below "automatic chunks, 2 ranks" 1205862 2
peak_below "one huge chunk, 2 ranks" 1205862 2 --set run.chunk=1e7
plan
