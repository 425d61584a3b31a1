# Samples that go to an OpenCL device in pieces, while they are read: the bytes of plain reads, for any number of
# threads and ranks, across files, with missing samples among them; reads and transfers that fail.
. "$(dirname "$0")/../tools/lib.sh"
export VOLTMILL_CACHE=$work/cache
# Blocks must be large: kernels that were not optimised would take a minute and a half for them.
unset POCL_EXTRA_BUILD_FLAGS
shims=$(dirname "$voltmill")/tests/faults
mkdir "$work/folder" && cd "$work/folder" || exit 1

if ! "$voltmill" info --devices | grep -q '^0: '; then
    echo "1..0 # SKIP no OpenCL device here"
    exit 0
fi

# Three files in a row: of three chunks, of two, and a short one; -128 is no sample.
warm - <<'PYTHON'
import h5py
import numpy as np

rng = np.random.default_rng(11)
first = 0
for number, samples in enumerate((3 * 26624 * 128, 2 * 26624 * 128, 100000)):
    with h5py.File(f"part-{number}.h5", "w") as f:
        f.attrs.update({"format": "voltage", "format_version": 1, "start_mjd_day": 60000, "start_second": first / 1e6,
                        "time_scale": "UTC", "telescope": "T", "source": "S", "ra_deg": 10.0, "dec_deg": 20.0})
        numbers = rng.integers(-100, 100, (samples, 1, 2, 2), "i1")
        numbers[rng.integers(0, samples, 20 * number)] = -128
        v = f.create_dataset("voltages", data=numbers)
        v.attrs.update({"axes": "time,chan,pol,reim", "sample_rate_hz": 1e6, "sideband": 1, "bits": 8,
                        "domain": "complex", "missing_value": -128})
        f["freq_hz"] = [400e6]
        f["pol"] = np.array(["x", "y"], dtype="S1")
    first += samples
PYTHON
# Chunks of 13 MiB: what three threads that fill pieces take. With one tap, none lies in two files, and the one behind
# the first file's last is in another file.
cat >job.yaml <<'YAML'
input: {files: "part-?.h5"}
channelise: {channels: 128, taps: 1, backend: opencl, kernel: fused}
products: [{kind: power, file: out.h5, integrate: 64}]
run: {chunk: 26624, threads: 1}
YAML

# Kernels are built and verified before transfers are counted.
"$voltmill" run --force job.yaml >/dev/null 2>&1
rm -f out.h5
runs "one thread" env LD_PRELOAD="$shims/opencl_shim.so" SHIM_LIST=list "$voltmill" run job.yaml
plain=$(grep -c write list)
pinned=$(grep -c pinned list)
rm -f list
expected=$(sha256sum <out.h5)
runs "verifies" "$voltmill" verify --chunks 4 out.h5
runs "four threads" env LD_PRELOAD="$shims/opencl_shim.so" SHIM_LIST=list "$voltmill" run --force --set run.threads=4 job.yaml
same "four threads: the same bytes" "$expected" "$(sha256sum <out.h5)"
pieces=$(grep -c write list)
kernels=$(grep -c kernel list)
[ "$pieces" -ge $((plain + 40)) ]
ok $? "four threads: in pieces ($pieces transfers, with one thread $plain)"
rm -f list
runs "two threads" env LD_PRELOAD="$shims/opencl_shim.so" SHIM_LIST=list "$voltmill" run --force --set run.threads=2 job.yaml
same "two threads: as one" "$plain $pinned" "$(grep -c write list) $(grep -c pinned list)"
all=${VOLTMILL_TEST_ALL:-}
for variant in "2 4 26624" ${all:+"1 5 53248" "3 4 39936"}; do
    set -- $variant
    runs "$1 ranks, $2 threads, chunks of $3" mpirun -n "$1" "$voltmill" run --force --set run.threads="$2" \
        --set run.chunk="$3" job.yaml
    same "$1 ranks, $2 threads, chunks of $3: the same bytes" "$expected" "$(sha256sum <out.h5)"
done

# Two banks of one reading, and observation after observation on one device.
cat >banks.yaml <<'YAML'
input: {files: "part-[12].h5"}
channelise:
  - {name: coarse, channels: 128, taps: 1, backend: opencl, kernel: fused}
  - {name: fine, channels: 512, taps: 3, kernel: slide, fft: vkfft}
products:
  - {kind: power, bank: coarse, file: out.h5, integrate: 64}
  - {kind: power, bank: fine, file: fine.h5, integrate: 16}
run: {chunk: 26624}
YAML
for threads in 1 4; do
    runs "two banks, $threads threads" "$voltmill" run --force --set run.threads=$threads banks.yaml
    sha256sum out.h5 fine.h5 >"banks-$threads"
    runs "each, $threads threads" "$voltmill" run --force --set run.threads=$threads --each 'part-[01].h5' \
        --set products.0.file='each-{name}.h5' job.yaml
    sha256sum each-*.h5 >>"banks-$threads"
done
same "the same bytes" "$(cat banks-1)" "$(cat banks-4)"
[ "$(wc -l <banks-4)" = 4 ]
ok $? "of four products"

# A read that fails once: the block is read once more. (Only calls on the input are counted.)
four=("$voltmill" run --force --set run.threads=4 --set input.files='in/part-?.h5' job.yaml)
mkdir in && ln part-?.h5 in/
attack=(env LD_PRELOAD="$shims/attack_shim.so" ATTACK_FOLDER="$PWD/in")
runs "calls counted" "${attack[@]}" ATTACK_LOG="$work/calls" "${four[@]}"
linked=$(sha256sum <out.h5)
reads=$(awk '$3 ~ /^pread/ { print $2 }' ../calls | sort -n | tail -30 | awk -v all="$all" 'all ? NR % 7 == 1 : NR == 4')
for number in $reads; do
    runs "call $number fails once" "${attack[@]}" ATTACK_CALL="$number" ATTACK_FATE=eio ATTACK_LOG="$work/failed" "${four[@]}"
    same "call $number fails once: the same bytes" "$linked" "$(sha256sum <out.h5)"
done
grep -q pread ../failed
ok $? "reads have failed"

# device_fails NAME SETTING MESSAGE: an error, no hang, and the same command goes on
device_fails() {
    rm -f out.h5
    fails "$1 fails" 5 "$3" env LD_PRELOAD="$shims/opencl_shim.so" "$2" timeout 60 "$voltmill" run --set run.threads=4 job.yaml
    runs "$1 fails, and then not" "$voltmill" run --set run.threads=4 job.yaml
    same "$1 fails, and then not: the same bytes" "$expected" "$(sha256sum <out.h5)"
}
# A wait is one of the reader, while others fill pieces; a kernel fails while the reader is two blocks ahead.
sampled 1 WRITE=$((pieces - 30)) WRITE=$((pieces - 1)) WAIT=1 WAIT=2 KERNEL=$((kernels - 3)) KERNEL=$((kernels - 1))
for call in "${sample[@]}"; do
    words='OpenCL device .*'
    [[ $call != WRITE=* ]] || words+=': cannot bring samples to the device'
    device_fails "$call" "SHIM_$call" "$words"
done
plan
