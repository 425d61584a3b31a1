# A filter bank behind filters: the bytes of its product depend on the job alone, the reference agrees, and times, band
# and delays are said. Kills are in tests/faults.
. "$(dirname "$0")/../tools/lib.sh"

observe() { # observe NAME LINES...: an observation
    printf '%s\n' "file: $work/$1.h5" 'samples: 60000' 'bits: 8' 'sample_rate_hz: 1e6' 'freq_hz: 100e6' \
        'noise: 20' 'seed: 7' "${@:2}" >"$work/$1.yaml"
    runs "observation $1" "$voltmill" synth "$work/$1.yaml"
}
observe complex 'streams: {stations: 1, pols: 2, chans: 2}' 'tones: [{freq_hz: 100.2e6, amplitude: 30}]'
observe real 'streams: {stations: 1, pols: 2, chans: 1}' 'domain: real'

digest() { sha256sum <"$work/$1.h5"; }

# bank NAME OBSERVATION FILTERS: a job
bank() {
    cat >"$work/$1.job.yaml" <<YAML
input: {files: $work/$2.h5}
filter: $3
channelise: {channels: 120, taps: 5, backend: cpu}
products: [{kind: power, file: $work/$1.h5, integrate: 10}]
YAML
}

# alike NAME OBSERVATION FILTERS: cut in many ways, the same bytes; and the reference agrees
alike() {
    local name=$1 expected
    bank "$@"
    runs "$name: one rank, one thread" "$voltmill" run --set run.threads=1 "$work/$name.job.yaml"
    expected=$(digest "$name")
    runs "$name: verify" "$voltmill" verify "$work/$name.h5"
    runs "$name: 3 ranks, small chunks" mpirun -n 3 "$voltmill" run --force --set run.chunk=10 "$work/$name.job.yaml"
    same "$name: the same bytes" "$expected" "$(digest "$name")"
    runs "$name: 2 threads, one chunk in blocks" "$voltmill" run --force --set run.threads=2 \
        --set run.chunk=1e6 --set run.memory=100MiB "$work/$name.job.yaml"
    same "$name: the same bytes in blocks" "$expected" "$(digest "$name")"
}

low='design: {kind: lowpass, edges: [100e3, 150e3], offset: true}'
alike direct complex "[{$low, method: direct, backend: cpu}]"
alike blocks complex "[{$low, method: overlap-save}]"
alike real-blocks real "[{design: {kind: bandpass, edges: [50e3, 100e3, 200e3, 250e3], offset: true}, method: overlap-save, edges: pad}]"
alike chain complex "[{$low, decimate: 2, method: overlap-save}, {$low, method: direct, delay: keep}]"
alike chirp complex '[{dispersion: {dm: 0.5}}]'
alike chirp-common complex '[{dispersion: {dm: 0.3, reference: 101e6}}]'
# The last rows of the lower channel have nothing but zeros before them, and what transforms round.
alike chirp-padded complex '[{dispersion: {dm: 0.3, reference: 101e6}, edges: pad}]'
alike chirp-edges complex '[{dispersion: {dm: 0.3, reference: 101e6, edges: 2 kHz}}]'
alike real-chirp real '[{dispersion: {dm: 0.5}}]'

# Missing samples are counted once, those that lie between the samples of two rows among them.
(cd "$work" && PYTHONPATH="$here/tests/cli" warm - <<'PYTHON'
from archives import *
x = noise((40000, 1, 2)).astype("f4")
x[1::7] = np.nan
native("holed.h5", x)
np.savetxt("one.txt", [1])
np.savetxt("two.txt", [1, 0.5])
PYTHON
)
for factors in '1 4' '5 3'; do
    read -r first second <<<"$factors"
    filters="[{coefficients: $work/two.txt, decimate: $first, aliasing: allow, method: direct, backend: cpu},
        {coefficients: $work/one.txt, decimate: $second, aliasing: allow, method: direct}]"
    printf '%s\n' "input: {files: $work/holed.h5}" "filter: $filters" \
        "products: [{kind: voltages, bits: 32, file: $work/holed-cut.h5}]" >"$work/holed.job.yaml"
    runs "decimated by $factors: one chunk" "$voltmill" run --force "$work/holed.job.yaml"
    expected=$(digest holed-cut)
    runs "decimated by $factors: small chunks" "$voltmill" run --force --set run.chunk=16 "$work/holed.job.yaml"
    same "decimated by $factors: the same bytes, counts among them" "$expected" "$(digest holed-cut)"
done

# Times in the products.
said=$(warm - "$work" <<'PYTHON'
import sys, h5py
def of(name):
    f = h5py.File(f"{sys.argv[1]}/{name}.h5", "r")
    return f, f["time"][0], f["time"][1] - f["time"][0]
f, first, step = of("direct")
taps = int(f["provenance"].attrs["filters"].split(b" ")[2] if isinstance(f["provenance"].attrs["filters"], bytes)
           else f["provenance"].attrs["filters"].split(" ")[2])
# The first row is made of samples taps - 1 .. on, and counts as taken (taps - 1) / 2 earlier.
print("direct", abs(first - (taps - 1 - (taps - 1) / 2 + (600 - 1) / 2 + 4.5 * 120) / 1e6) < 1e-12, abs(step - 1.2e-3) < 1e-12)
f, first, step = of("chain")
print("chain", abs(step - 2.4e-3) < 1e-12, f.attrs["sample_rate_hz"] == 5e5)
f, first, step = of("chirp")
print("chirp", f.attrs["coherent_dm"] == 0.5, f["delay_hz"][0] == 99.5e6, f["delay_hz"][-1] == 100.5e6)
f, first, step = of("chirp-common")
print("chirp-common", f["delay_hz"][0] == 101e6)
PYTHON
)
same "times and frequencies" "direct True True
chain True True
chirp True True True
chirp-common True" "$said"

plan
