# 8 GiB of (sparse) input with memory: 1GiB peaks below 1.15 GiB in every rank, whatever the chunks. No shape of job takes
# more anonymous memory than `plan` says; of files that are read (as if they were on Lustre), at least 0.8 of it is used. MEMORY_SHAPES (a regular expression) chooses shapes, MEMORY_RUNS how they
# run ("RANKSxTHREADS[read]"), MEMORY_SET further settings (such as run.memory=512MiB), MEMORY_SAMPLES other sizes.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/tools/sparse.sh"
shim=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}

if [ -z "${MEMORY_SHAPES:-}" ]; then
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
fi

samples=${MEMORY_SAMPLES:-335544320} # of 4 bytes: 1.25 GiB
recorded() { # recorded FILE FORMAT ARGUMENTS: as a recorder writes it, of noise
    "$python" - "$here/tests/tools/bench-formats" "$1" "$2" "$((samples * 4))" "${@:3}" <<'PYTHON'
import importlib.machinery
import sys
path, name, form, count, *more = sys.argv[1:]
formats = importlib.machinery.SourceFileLoader("formats", path).load_module()
getattr(formats, form)(name, int(count), *map(int, more))
PYTHON
}
make_input() { # make_input NAME: $work/NAME, of which there is one at a time
    [ ! -e "$work/$1" ] || return 0
    rm -rf "$work"/in-*
    case $1 in
    in-one) sparse "$work/$1" "$samples" ;;
    in-part) sparse "$work/$1" $((samples / 10)) ;;
    in-64) sparse "$work/$1" $((samples / 64)) 2 64 ;;
    in-2048) sparse "$work/$1" $((samples / 2048)) 2 2048 ;;
    in-deflate | in-bitshuffle) sparse "$work/$1" $((samples / 64)) 2 64 "${1#in-}" ;;
    in-stations) truncate -s $((samples * 4)) "$work/$1" ;;
    in-bank) sparse_bank "$work/$1" $((samples / 256)) 1024 ;;
    in-each) mkdir "$work/$1" && for i in {10..99}; do sparse "$work/$1/$i.h5" $((samples / 90)); done ;;
    in-guppi.raw) recorded "$work/$1" guppi 8 ;;
    in-dada.dada) recorded "$work/$1" dada 8 ;;
    in-vdif.vdif) recorded "$work/$1" vdif 8 1 2 ;;
    in-spectra)
        sparse "$work/in-of" $((samples / 2))
        "$voltmill" run --force --set "input.files=$work/in-of" --set "products=[{kind: spectra, file: $work/$1, bits: 8}]" \
            --set 'channelise={channels: 64, attenuation: 105, oversample: {num: 32, den: 27}}' >"$work/output" 2>&1
        rm "$work/in-of"
        ;;
    esac
}

# shape NAME INPUT MARGIN TEXT OPTIONS...: a job; MARGIN: MiB of what is planned that need not be used, as the data decide:
# peaks of a search.
shape() {
    local name=$1 input=$2 margin=$3 text=${4//FILE/$work\/made\/x} how ranks threads
    shift 4
    [[ $name =~ ${MEMORY_SHAPES:-.} ]] || return 0
    make_input "$input"
    [[ $text = input:* ]] || text="input: {files: $work/$input}"$'\n'"$text"
    for how in ${MEMORY_RUNS:-1x2read 2x16}; do
        ranks=${how%%x*} threads=${how#*x}
        local settings=(--restart --set "run.threads=${threads%read}")
        for set in ${MEMORY_SET:-}; do settings+=(--set "$set"); done
        printf '%s\n' "${text//INPUT/$work\/$input}" >"$work/job.yaml"
        if [[ $text = *opencl* ]]; then # kernels are built before
            "$voltmill" run "${settings[@]}" "$@" "$work/job.yaml" >"$work/output" 2>&1
            rm -rf "$work/made"
            local -x SHIM_APART=1
        fi
        [[ $how != *read ]] || local -x LD_PRELOAD=$shim${SHIM_APART:+:${shim%/*}/opencl_shim.so} SHIM_LUSTRE=1
        peak_below "$name, $how" 16777216 "$ranks" "${settings[@]}" "$@"
        unset LD_PRELOAD SHIM_LUSTRE SHIM_APART
        if [[ $how = *read ]]; then
            [ $((anonymous * 10)) -ge $(((planned - margin * 1024) * 8)) ]
            ok $? "$name, $how: at least 0.8 of it is used, but for $margin MiB"
        fi
        rm -rf "$work/made"
    done
}
job() { printf '%s\n' "$@"; } # its lines
bank() { echo "channelise: {channels: $1, taps: ${2:-8}, backend: ${3:-cpu}}"; }
product() { echo "products: [{kind: $1, file: FILE.h5${2:+, $2}}]"; }
stokes="polarisation: IQUV, feed: linear"
dispersion="filter: {dispersion: {dm: 1}}"
dms="dm: {start: 0, step: 0.1, count: 500}"
stations="input: {files: INPUT, layout: {format: raw, type: ci8, axes: 'time,station:8,pol:2,chan:16', sample_rate_hz: 1e6,
  start: 2020-01-01T00:00:00, freq_hz: {start: 100e6, step: 1e6}}}"
array="array: {table: $work/array.yaml, centre: {ra_deg: 83, dec_deg: 22}}"
{
    job 'name: A' 'reference: {lon_deg: 21.443, lat_deg: -30.713, height_m: 1038}' 'stations:'
    for i in {0..7}; do echo "  - {name: s$i, enu_m: [$((i * 100)), $((i * 37)), 0]}"; done
} >"$work/array.yaml"

shape power in-one 0 "$(job "$(bank 1024)" "$(product power 'integrate: 64')")"
shape IQUV in-one 0 "$(job "$(bank 1024)" "$(product power "integrate: 16, $stokes")")"
shape flagged in-one 0 "$(job "$(bank 1024)" "$(product power 'integrate: 256, flag: {kurtosis: 5, spectra: 256}')")"
shape fil in-one 0 "$(job "$(bank 1024)" "products: [{kind: power, file: FILE.fil, format: fil, integrate: 16,
  polarisation: I, bits: 8}]")"
shape PSRFITS in-one 0 "$(job "$(bank 1024)" "products: [{kind: power, file: FILE.fits, format: psrfits, integrate: 16,
  $stokes, bits: 8}]")"
shape "spectra of 32 bits" in-one 0 "$(job "$(bank 1024)" "$(product spectra)")"
shape "spectra of 8 bits" in-one 0 "$(job "$(bank 1024)" "$(product spectra 'bits: 8')")"
shape coherent in-one 0 "$(job "$dispersion" "$(bank 1024)" "$(product power 'integrate: 64')")"
shape voltages in-one 0 "$(job "$dispersion" "products: [{kind: voltages, file: FILE.h5, bits: 8, scale: 1}]")"
shape oversampled in-one 0 "$(job "channelise: {channels: 1024, attenuation: 60, oversample: {num: 32, den: 27}}" \
    "$(product power 'integrate: 64')")"
shape "two banks" in-one 0 "$(job "channelise: [{name: a, channels: 1048576, taps: 4}, {name: b, channels: 1024}]" \
    "products: [{kind: power, file: FILEa.h5}, {kind: power, file: FILEb.h5, bank: b, integrate: 1024}]")"
for power in 16 18 20; do
    shape "2^$power" in-one 80 "$(job "$(bank $((1 << power)))" "$(product power 'integrate: 4')")"
done
shape "2^20, .fil" in-one 0 "$(job "$(bank 1048576 4)" "products: [{kind: power, file: FILE.fil, format: fil, $stokes}]")"
for power in 16 18 20; do
    shape "2^$power of 64" in-64 80 "$(job "$(bank $((1 << power)) 4)" "$(product power "integrate: $((power < 20 ? 4 : 1))")")"
done
for how in deflate bitshuffle; do
    shape "2^20 of 64, $how" in-64 80 "$(job "$(bank 1048576 4)" "$(product power "compress: $how")")"
    shape "power, $how" in-one 100 "$(job "$(bank 1024)" "$(product power "integrate: 16, compress: $how")")"
    shape "input by $how" in-$how 104 "$(job "$(bank 1024)" "$(product power 'integrate: 64')")"
done
shape "4,096 streams" in-2048 0 "$(job "$(bank 64)" "$(product power 'integrate: 16')")"
shape "4,096 streams, IQUV" in-2048 0 "$(job "$(bank 4096 4)" "$(product power "$stokes")")"
shape beams in-stations 0 "$(job "$stations" "$array" "beams: [$(printf '{ra_deg: %s, dec_deg: 22}, ' {80..95})]" \
    "$(bank 256)" "$(product power 'integrate: 64')")"
shape visibilities in-stations 0 "$(job "$stations" "$array" "$(bank 256)" "$(product visibilities 'integrate: 256, feed: linear')")"
shape "sum of stations" in-stations 0 "$(job "$stations" "$array" "$(bank 256)" \
    "$(product power 'integrate: 64, sum: stations')")"
shape synthesise in-spectra 0 "$(job 'synthesise: {}' "products: [{kind: voltages, file: FILE.h5, bits: 8, scale: 1}]")"
shape dedisperse in-bank 0 "dedisperse: {$dms, file: FILE.h5}"
shape "dedisperse in two steps" in-bank 0 "dedisperse: {$dms, mode: two-step, file: FILE.h5}"
shape search in-bank 100 "dedisperse: {$dms, search: {file: FILE.h5}}"
shape "power, then a search" in-one 0 "$(job "$(bank 64)" "$(product power 'integrate: 4, polarisation: I')" \
    "dedisperse: {$dms, search: {file: FILEc.h5}}")"
shape semi-coherent in-one 0 "$(job "$(bank 64 4)" "$(product power 'integrate: 16, polarisation: I')" \
    "dedisperse: {coherent: [1, 2], dm: {start: 0.5, step: 0.05, count: 40}, file: FILEs.h5}")"
shape "many files" in-each 4 "$(job "$(bank 1024)" "$(product power 'integrate: 64')" | sed "s,FILE.h5,'FILE-{name}.h5',")" \
    --each "$work/in-each/*.h5"
shape "GUPPI RAW" in-guppi.raw 0 "$(job "$(bank 1024)" "$(product power 'integrate: 64')")"
shape "GUPPI RAW, 2^20" in-guppi.raw 0 "$(job "$(bank 1048576 4)" "$(product power)")"
shape PSRDADA in-dada.dada 0 "$(job "$(bank 1024)" "$(product power 'integrate: 64')")"
shape VDIF in-vdif.vdif 0 "$(job "input: {files: INPUT, layout: {format: vdif, sample_rate_hz: 64e6, freq_hz: 1.4e9}}" \
    "$(bank 1024)" "$(product power 'integrate: 64')")"
# A device whose memory is not the process's, with a driver that takes 48 MiB less than planned: samples are read, and go
# there in pieces.
if "$voltmill" info --devices | grep -q '^0: '; then
    for how in 2 4; do
        MEMORY_RUNS=${MEMORY_RUNS:-1x${how}read} shape "power, OpenCL" in-part 48 \
            "$(job "$(bank 1024 8 opencl)" "$(product power 'integrate: 64')")" --set run.chunk=4096
    done
fi
plan
