# The OpenCL backend as users meet it: the same products as the CPU's, equal bytes at any rank count, and
# clear errors when there is no device, no memory, or a device that fails.
. "$(dirname "$0")/../tools/lib.sh"
. "$(dirname "$0")/jobs.bash"
export VOLTMILL_CACHE=$work/cache
shim=${VOLTMILL_SHIM:-$(dirname "$voltmill")/tests/faults/opencl_shim.so}

if ! "$voltmill" info --devices | grep -q '^0: '; then
    echo "1..0 # SKIP no OpenCL device here"
    exit 0
fi

"$voltmill" info --devices >devices
grep -Eq '^0: .+ \(.+, driver .+\): .+ units, .+iB' devices
ok $? "info --devices says what there is"
name=$(sed -n '1s/^0: \(.*\) (.*/\1/p' devices)

cat >obs.yaml <<YAML
file: $work/obs.h5
samples: 50000
streams: {stations: 1, pols: 2, chans: 2}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
tones: [{freq_hz: 100.2e6, amplitude: 30}]
seed: 7
YAML
runs "an observation" "$voltmill" synth obs.yaml
cat >job.yaml <<YAML
input: {files: $work/obs.h5}
channelise: {channels: 128, taps: 5, backend: opencl, kernel: fused}
products:
  - {kind: power, file: $work/out.h5, integrate: 10}
  - {kind: spectra, file: $work/spectra.h5}
YAML

runs "a job with two products" "$voltmill" run job.yaml
same "says once that kernels are compiled" 1 "$(grep -c '^note: compiling kernels for .* (once)$' output)"
runs "the same again" "$voltmill" run --force job.yaml
same "takes them from the cache" 0 "$(grep -c 'compiling' output)"
runs "verify: power" "$voltmill" verify --all out.h5
runs "verify: spectra" "$voltmill" verify --chunks 6 spectra.h5
expected=$(sha256sum <out.h5; sha256sum <spectra.h5)
sampled 2 "1 run.chunk=50" "2 run.chunk=100" "3 run.chunk=30"
for variant in "${sample[@]}"; do
    set -- $variant
    runs "$1 ranks, $2" mpirun -n "$1" "$voltmill" run --force --set "$2" job.yaml
    same "$1 ranks, $2: the same bytes" "$expected" "$(sha256sum <out.h5; sha256sum <spectra.h5)"
done

# The separate kernels with several products, in one large block and in small ones.
runs "two products, kernel cache, a large chunk" "$voltmill" run --force --set run.chunk=250 \
    --set channelise.kernel=cache job.yaml
runs "two products, kernel cache: verifies" "$voltmill" verify --all out.h5
other=$(sha256sum <out.h5; sha256sum <spectra.h5)
runs "two products, kernel cache, small chunks" mpirun -n 2 "$voltmill" run --force --set run.chunk=30 \
    --set channelise.kernel=cache job.yaml
same "two products, kernel cache: the same bytes" "$other" "$(sha256sum <out.h5; sha256sum <spectra.h5)"

# A lone product takes the kernel's own way to power; so does each kernel with either FFT.
cat >lone.yaml <<YAML
input: {files: $work/obs.h5}
channelise: {channels: 128, taps: 5, backend: opencl}
products: [{kind: power, file: $work/lone.h5, integrate: 25}]
YAML
sampled 1 "fused auto" "slide vkfft" "cache clfft"
for way in "${sample[@]}" "local vkfft"; do
    set -- $way
    runs "kernel $1, fft $2" "$voltmill" run --force --set channelise.kernel="$1" \
        --set channelise.fft="$2" lone.yaml
    runs "kernel $1, fft $2: verifies" "$voltmill" verify --chunks 6 lone.h5
    cp lone.h5 "lone-$1.h5"
    # On 3 ranks two of them, or (VOLTMILL_TEST_ALL=1) all; the others in chunks as small.
    size=3
    case $1 in slide | local) [ -n "${VOLTMILL_TEST_ALL:-}" ] || size=1 ;; esac
    ranks=()
    [ $size = 1 ] || ranks=(mpirun -n $size)
    runs "kernel $1, $size ranks, small chunks" "${ranks[@]}" "$voltmill" run --force --set run.chunk=25 \
        --set channelise.kernel="$1" --set channelise.fft="$2" lone.yaml
    same "kernel $1, $size ranks, small chunks: the same rows" "$(data "lone-$1.h5")" "$(data lone.h5)"
done
runs "a device by number" "$voltmill" run --force --set run.device=0 --set channelise.kernel=local \
    --set channelise.fft=vkfft lone.yaml
runs "a device by a part of its name" "$voltmill" run --force --set run.device="${name:1:5}" \
    --set channelise.kernel=local --set channelise.fft=vkfft lone.yaml
# From here on kernels are named.
sed -i 's/backend: opencl}/backend: opencl, kernel: fused}/' lone.yaml

# Many observations, one after the other: the device is opened once, and its buffers are used again.
for i in 1 2 3; do cp obs.h5 "each-$i.h5"; done
runs "many observations" env LD_PRELOAD="$shim" SHIM_LIST=list "$voltmill" run --each 'each-?.h5' --set products.0.file='of-{name}.h5' \
    --set channelise.kernel=local --set channelise.fft=vkfft lone.yaml
same "one context" 1 "$(grep -c context list)"
pinned=$(grep -c pinned list)
runs "one observation" env LD_PRELOAD="$shim" SHIM_LIST=alone "$voltmill" run --force --set channelise.kernel=local \
    --set channelise.fft=vkfft lone.yaml
same "as many pinned buffers as for one" "$(grep -c pinned alone)" "$pinned"
for i in 1 2 3; do
    same "observation $i: the same rows" "$(data lone.h5)" "$(data "of-each-$i.h5")"
done
# A driver opens each GPU that it sees, and many ways for kernels to each: a rank that is alone needs the first GPU only,
# unless one is named, and one way does.
seen() { # seen NAME EXPECTED COMMAND...
    rm -f list
    name=$1 expected=$2
    shift 2
    runs "$name" env LD_PRELOAD="$shim" SHIM_LIST=list "$@" --force --set channelise.kernel=local \
        --set channelise.fft=vkfft lone.yaml
    same "$name: what it sees" "sees $expected" "$(grep sees list | sort -u)"
}
own=(env -u CUDA_VISIBLE_DEVICES -u CUDA_DEVICE_MAX_CONNECTIONS)
seen "a rank that is alone" "0 by 1" "${own[@]}" "$voltmill" run
seen "another backend by default" "0 by 1" "${own[@]}" "$voltmill" run --set channelise.backend=auto
seen "two ranks" "all by 1" "${own[@]}" mpirun -n 2 "$voltmill" run
seen "a device is named" "all by 1" "${own[@]}" "$voltmill" run --set run.device=0
seen "somebody has chosen" "3,1 by 4" env CUDA_VISIBLE_DEVICES=3,1 CUDA_DEVICE_MAX_CONNECTIONS=4 "$voltmill" run
rm -f list
runs "devices are listed" env -u CUDA_DEVICE_MAX_CONNECTIONS LD_PRELOAD="$shim" SHIM_LIST=list "$voltmill" info --devices
same "devices are listed: what is seen" "sees ${CUDA_VISIBLE_DEVICES:-all} by 1" "$(grep sees list | sort -u)"

# Complete products need no device, whose opening may have begun: each rank knows when its own has.
runs "many that are complete, with a device that is late on one rank" timeout 100 mpirun -n 2 env LD_PRELOAD="$shim" SHIM_LATE=700 \
    SHIM_RANK=1 "$voltmill" run --each 'each-?.h5' --set products.0.file='of-{name}.h5' --set channelise.kernel=local \
    --set channelise.fft=vkfft lone.yaml
same "all were complete before" 3 "$(grep -c '^complete before' output)"

# Kernels and FFT are named: processors are slow to build what else would be compared.
runs "bench" "$voltmill" bench ppf --backend opencl --samples 2^13 --channels 128 --taps 5 --bits 8 \
    --streams 4 --kernel fused,local --fft vkfft --repeat 1 --csv bench.csv
same "bench: every row is right" 2 "$(grep -c ',ok$' bench.csv)"
sampled 1 fine real
for samples in "${sample[@]}"; do
    case $samples in
    fine) how=(--samples 2^15 --channels 256 --taps 4 --streams 2 --kernel fine) ;;
    real) how=(--samples 2^13 --channels 30 --taps 17 --real --kernel slide --fft vkfft --transfers) ;; # odd numbers
    esac
    runs "bench of power, $samples" "$voltmill" bench ppf --backend opencl "${how[@]}" --out power:12 --repeat 1
done

rm -f out.h5 spectra.h5 lone*.h5
wrong() { # wrong NAME STATUS PATTERN COMMAND...
    fails "$@"
    nothing_left out.h5 spectra.h5 lone.h5
}
wrong "no such device" 5 'no OpenCL device is called "abacus"; there are: 0: ' \
    "$voltmill" run --set run.device=abacus lone.yaml
wrong "no device of that number" 5 'no OpenCL device' "$voltmill" run --set run.device=99 lone.yaml
wrong "no platform" 5 'no OpenCL platform' env OCL_ICD_VENDORS=/nonexistent "$voltmill" run lone.yaml
wrong "no platform on 3 ranks" 5 'no OpenCL platform' env OCL_ICD_VENDORS=/nonexistent mpirun -n 3 "$voltmill" run lone.yaml
{ LD_PRELOAD=${VOLTMILL_IO_SHIM:-${shim/opencl_/io_}} SHIM_NAP=4 SHIM_RECORDS=3:kill "$voltmill" run lone.yaml \
    --set run.chunk=40 --set run.sync=0.01 >log 2>&1; } 2>/dev/null
breaks "no platform any more" 5 'no OpenCL platform' env OCL_ICD_VENDORS=/nonexistent "$voltmill" run lone.yaml
grep -q '^note: [0-9]* of [0-9]* chunks are done' stderr
ok $? "what is done is kept, and counted" || note <stderr
wrong "a kernel that cannot" 2 'channelise\.kernel is fused, which cannot do 98 channels' \
    "$voltmill" run --set channelise.kernel=fused --set channelise.channels=98 lone.yaml
runs "clFFT steps back, aloud" "$voltmill" run --force --set channelise.fft=clfft \
    --set channelise.channels=118 --set channelise.kernel=cache lone.yaml
grep -q 'warning: clFFT cannot do transforms of 118 points: VkFFT does them' "$work/output"
ok $? "clFFT steps back: says so"
rm -f lone.h5
# The library is loaded only by runs that use it.
mkdir broken && : >broken/libclFFT.so.2
wrong "a clFFT that is broken" 5 'clFFT cannot be loaded: .*libclFFT.*file too short' \
    env LD_LIBRARY_PATH="$work/broken:${LD_LIBRARY_PATH:-}" "$voltmill" run --set channelise.fft=clfft \
    --set channelise.kernel=cache lone.yaml

# More samples than the kernels above needed, which run slowly: their buffers do not fit.
runs "a longer observation" "$voltmill" synth --force obs.yaml --set samples=200000
runs "little device memory: blocks are halved" "$voltmill" run --set run.device_memory=8MiB --set run.chunk=1500 lone.yaml
runs "little device memory: verifies" "$voltmill" verify --all lone.h5
rm -f lone.h5
for room in 5000 5800; do
    runs "one of two polarisations in ${room}KiB of device memory" "$voltmill" run --force --set run.device_memory=${room}KiB \
        --set run.chunk=1500 --set input.select.pols=1 --set input.select.chans=0 lone.yaml
done
rm -f lone.h5
# Many streams: also where the smallest block of all of them has no room with all sets of buffers.
sed 's/chans: 2/chans: 8/; s/obs.h5/wide.h5/; s/samples: .*/samples: 49152/' obs.yaml >wide-obs.yaml
"$voltmill" synth wide-obs.yaml >/dev/null
wide=(run --force --restart lone.yaml --set input.files="$work/wide.h5" --set channelise.channels=2048 --set channelise.taps=16
    --set products.0.integrate=4)
"$voltmill" "${wide[@]}" >/dev/null
expected=$(sha256sum <lone.h5)
for room in 8192 1536; do
    rm lone.h5
    runs "16 streams in ${room}KiB of device memory" "$voltmill" "${wide[@]}" --set run.device_memory=${room}KiB
    same "with the same bytes" "$expected" "$(sha256sum <lone.h5)"
done
rm -f lone.h5
wrong "what is needed at least is said" 5 'smallest blocks, [0-9]* spectra of 16384 channels with 2 taps, 1 stream at a time, need about .* MiB of' \
    "$voltmill" "${wide[@]}" --set run.device_memory=1MiB --set channelise.kernel=cache --set channelise.channels=16384 --set channelise.taps=2 \
    --set products.0.integrate=1
fails "bench on a device that is lost" 5 'rows? failed' env LD_PRELOAD="$shim" SHIM_KERNEL=2 "$voltmill" bench ppf \
    --backend opencl --kernel fused --samples 2^16 --channels 64 --taps 4 --bits 16 --streams 4
wrong "far too little device memory" 5 'out of memory' \
    "$voltmill" run --set run.device_memory=1MiB --set channelise.kernel=cache --set channelise.taps=1000 lone.yaml

runs "buffers that do not fit: halved" env LD_PRELOAD="$shim" SHIM_ROOM=600000 "$voltmill" run --set run.chunk=1500 lone.yaml
runs "buffers that do not fit: verifies" "$voltmill" verify --all lone.h5
rm -f lone.h5
runs "buffers that fail when touched: halved" env LD_PRELOAD="$shim" SHIM_TOUCH=600000 "$voltmill" run --set run.chunk=1500 lone.yaml
rm -f lone.h5
wrong "no buffer at all" 5 'out of memory' env LD_PRELOAD="$shim" SHIM_ROOM=64 "$voltmill" run lone.yaml
"$voltmill" run --force --set run.chunk=50 --set channelise.kernel=fused lone.yaml >/dev/null # so that it is built
rm -f lone.h5
breaks "the device is lost in mid-run" 5 'OpenCL device .*CL_OUT_OF_RESOURCES' \
    env LD_PRELOAD="$shim" SHIM_KERNEL=9 "$voltmill" run --set channelise.kernel=fused --set run.chunk=50 lone.yaml
breaks "one of three ranks loses its device" 5 'OpenCL device .*CL_OUT_OF_RESOURCES.*\(rank 2 on [^ )]+\)' \
    env LD_PRELOAD="$shim" SHIM_KERNEL=3 SHIM_RANK=2 SHIM_NAP=50 mpirun -n 3 "$voltmill" run --set channelise.kernel=fused --set run.chunk=50 lone.yaml

# A cache that is torn, or cannot be written; with a kernel that is soon built.
sed -i 's/kernel: fused}/kernel: cache, fft: clfft}/; s/channels: 128/channels: 8/' lone.yaml
"$voltmill" run --force lone.yaml >/dev/null
rm -f lone.h5
for entry in "$VOLTMILL_CACHE"/*; do
    size=$(stat -c %s "$entry")
    truncate -s $((size / 2)) "$entry"
done
runs "a torn cache" "$voltmill" run lone.yaml
runs "a torn cache: verifies" "$voltmill" verify --chunks 4 lone.h5
touch file
sampled 1 off "$work/file/cache"
for cache in "${sample[@]}"; do
    runs "no cache: $cache" env VOLTMILL_CACHE="$cache" "$voltmill" run --force lone.yaml
done
# Transforms of a device end at 2^24 points, those of powers of two at 2^26: refused before there is any work.
truncate -s 600M zeros.raw
cat >many.yaml <<'YAML'
input:
  files: zeros.raw
  layout: {format: raw, type: ci8, axes: "time,pol:1", sample_rate_hz: 1e9, freq_hz: 1e9, start: 2020-01-01T00:00:00}
channelise: {channels: 134217728, taps: 1, backend: opencl}
products: [{kind: power, file: many.h5, integrate: 1}]
run: {memory: 100GiB}
YAML
limit='channelise.channels is [0-9]+, but backend opencl transforms at most 2\^24 points, or 2\^26 if a power of two'
fails "a plan of 2^27 channels" 2 "$limit" "$voltmill" plan many.yaml
fails "2^27 channels" 2 "$limit" "$voltmill" run many.yaml
fails "2^24 + 2 channels" 2 "$limit" "$voltmill" plan many.yaml --set channelise.channels=16777218
# Refused for another reason, looked for after the limit: a filter of 2^26 channels takes 8 s to plan.
fails "2^26 channels are not too many" 2 'samples hold 4 raw spectra of 67108864 samples, but 8 taps need' \
    "$voltmill" plan many.yaml --set channelise.channels=67108864 --set channelise.taps=8
fails "2^27 channels are, whatever comes after that" 2 "$limit" "$voltmill" plan many.yaml --set channelise.taps=8
# Likewise of a synthesis, before its filter is designed.
printf '1\n1\n' >prototype.txt
cat >wide.yaml <<'YAML'
input:
  files: zeros.raw
  layout: {format: raw, type: ci8, axes: "time,chan:16777216", oversampling: 3/2, sample_rate_hz: 1.5,
    freq_hz: {start: 1e9, step: 1}, start: 2020-01-01T00:00:00}
synthesise: {prototype: prototype.txt, prototype_taps: 1, taps: 1, backend: opencl}
products: [{kind: voltages, file: wide.h5, bits: 32}]
YAML
[ -z "${VOLTMILL_TEST_ALL:-}" ] || fails "a plan of a synthesis of 2^24 + 2 points" 2 'transforms of 16777218 points, but backend opencl makes at most 2\^24 points' \
    "$voltmill" plan wide.yaml
# A driver that is broken is no GPU, and no later error is blamed on it.
fails "too few samples, and a broken driver" 2 'samples hold 4 raw spectra of' env LD_PRELOAD="$shim" SHIM_BROKEN=1 \
    "$voltmill" plan many.yaml --set channelise.backend=auto --set channelise.channels=67108864 --set channelise.taps=8
rm zeros.raw

# V of channel 0 of real samples is zero, or what rounding leaves.
cat >real.yaml <<'YAML'
file: real-obs.h5
samples: 9000
streams: {pols: 2, chans: 2}
domain: real
bits: 8
sample_rate_hz: 1e6
freq_hz: 400e6
noise: 20
YAML
cat >real-job.yaml <<'YAML'
input: {files: real-obs.h5}
channelise: {channels: 128, taps: 2, backend: opencl, kernel: cache, fft: vkfft}
products: [{kind: power, file: real.h5, integrate: 8, polarisation: IQUV, feed: linear, bits: 8}]
YAML
runs "real samples" "$voltmill" synth real.yaml
runs "Stokes parameters of 8 bits" "$voltmill" run real-job.yaml
runs "Stokes parameters of 8 bits: verifies" "$voltmill" verify real.h5

plan
