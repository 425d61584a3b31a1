# 8 GiB of (sparse) input with memory: 1GiB peaks below 1.15 GiB in every rank, whatever the chunks; and no shape of
# job takes more anonymous memory than `plan` says.
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

# Jobs of all shapes on 1.25 GiB, with run.memory: auto: anonymous memory beside what `plan` says.
sparse "$work/obs.h5" "${MEMORY_SAMPLES:-335544320}"
shape() { # shape NAME INPUT TEXT: a job
    printf 'input: {files: %s}\n%s\n' "$work/$2" "${3//FILE/$work\/power}" >"$work/job.yaml"
    peak_below "$1" 8388608 1 --restart
}
bank="channelise: {channels: 1024, taps: 8}"
dispersion="filter: {dispersion: {dm: 1}}"
dms="dm: {start: 0, step: 0.1, count: 500}"
stokes="polarisation: IQUV, feed: linear"
shape power obs.h5 "$bank"$'\n'"products: [{kind: power, file: FILE.h5, integrate: 64}]"
shape IQUV obs.h5 "$bank"$'\n'"products: [{kind: power, file: FILE.h5, integrate: 16, $stokes}]"
shape flagged obs.h5 "$bank"$'\n'"products: [{kind: power, file: FILE.h5, integrate: 256, flag: {kurtosis: 5, spectra: 256}}]"
shape fil obs.h5 "$bank"$'\n'"products: [{kind: power, file: FILE.fil, format: fil, integrate: 16, polarisation: I, bits: 8}]"
shape PSRFITS obs.h5 "$bank"$'\n'"products: [{kind: power, file: FILE.fits, format: psrfits, integrate: 16, $stokes, bits: 8}]"
shape spectra obs.h5 "$bank"$'\n'"products: [{kind: spectra, file: FILE-s.h5}]"
shape "2^18 channels" obs.h5 "channelise: {channels: 262144, taps: 8}"$'\n'"products: [{kind: power, file: FILE.h5, integrate: 4}]"
shape coherent obs.h5 "$bank"$'\n'"$dispersion"$'\n'"products: [{kind: power, file: FILE.h5, integrate: 64}]"
shape voltages obs.h5 "$dispersion"$'\n'"products: [{kind: voltages, file: FILE-v.h5, bits: 8, scale: 1}]"
shape "power for the next" obs.h5 "channelise: {channels: 64, taps: 8}"$'\n'"products: [{kind: power, file: FILE-b.h5, integrate: 2, polarisation: I}]"
shape dedisperse power-b.h5 "dedisperse: {$dms, file: FILE-d.h5}"
shape search power-b.h5 "dedisperse: {$dms, search: {file: FILE-c.h5}}"
plan
