# Voltages as a product: cuts of an archive are its samples, filtered ones are the same bytes however the work is cut
# and after a kill, and what was written is an archive again.
. "$(dirname "$0")/../tools/lib.sh"

cat >"$work/obs.yaml" <<YAML
file: $work/obs.h5
samples: 60000
streams: {stations: 2, pols: 2, chans: 2}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
seed: 7
YAML
runs "an observation" "$voltmill" synth "$work/obs.yaml"

cat >"$work/cut.yaml" <<YAML
input: {files: $work/obs.h5, select: {samples: [1000, 41001], chans: 1}}
products: [{kind: voltages, file: $work/cut.h5, bits: 8, scale: 1}]
YAML
runs "a cut of an archive" "$voltmill" run "$work/cut.yaml"
same "its samples are the archive's" "True 40001" "$(warm - "$work" <<'PYTHON'
import sys, h5py, numpy
a = h5py.File(sys.argv[1] + "/obs.h5")["voltages"]
b = h5py.File(sys.argv[1] + "/cut.h5")["voltages"]
print(numpy.array_equal(a[1000:41001, :, :, 1], b[:, :, :, 0]), len(b))
PYTHON
)"
runs "its CRCs" "$voltmill" verify --crc "$work/cut.h5"
runs "it is recomputed" "$voltmill" verify --all "$work/cut.h5"

cat >"$work/low.yaml" <<YAML
input: {files: $work/obs.h5}
filter: {design: {kind: lowpass, edges: [100e3, 150e3], offset: true}, decimate: 3, method: overlap-save, backend: cpu}
products: [{kind: voltages, file: $work/low.h5, bits: 16, scale: 0.01}]
YAML
digest() { sha256sum <"$work/low.h5"; }
runs "filtered and decimated" "$voltmill" run --set run.threads=1 "$work/low.yaml"
expected=$(digest)
runs "on 3 ranks in small chunks" mpirun -n 3 "$voltmill" run --force --set run.chunk=1000 "$work/low.yaml"
same "the same bytes" "$expected" "$(digest)"
rm "$work/low.h5"
# Killed between two chunks, by the shim that the other tests of kills use, or, where that is faster, by time.
"$voltmill" run --set run.chunk=100 --set run.sync=0.01 --set run.threads=1 "$work/low.yaml" >"$work/output" 2>&1 &
run=$!
for _ in $(seq 2000); do [ -s "$work/low.h5.journal" ] && [ "$(wc -c <"$work/low.h5.journal")" -gt 3000 ] && break; nap 0.002; done
kill -9 "$run" 2>/dev/null
wait "$run" 2>/dev/null
runs "after a kill it goes on" "$voltmill" run --set run.chunk=100 "$work/low.yaml"
same "the same bytes after a kill" "$expected" "$(digest)"
runs "CRCs of filtered voltages" "$voltmill" verify --crc "$work/low.h5"
runs "filtered voltages are recomputed" mpirun -n 2 "$voltmill" verify --all "$work/low.h5"
cp "$work/low.h5" "$work/wrong.h5"
warm - "$work" <<'PYTHON'
import sys, h5py
with h5py.File(sys.argv[1] + "/wrong.h5", "r+") as f:
    f["voltages"][777, 0, 0, 0, 0] += 2
PYTHON
fails "a number that is two off" 4 'number 0 of sample 777 is' "$voltmill" verify --all "$work/wrong.h5"

cat >"$work/again.yaml" <<YAML
input: {files: $work/low.h5}
channelise: {channels: 64, taps: 4, backend: cpu}
products: [{kind: power, file: $work/again.h5, integrate: 10}]
YAML
runs "what was written is an archive" "$voltmill" run "$work/again.yaml"
# Noise of 20 in each part has 800 V^2 in 1 MHz, so a third of that in the third of the band that is left, where the
# filter bank keeps the variance of white noise.
same "its volts are those of the first archive" "True True" "$(warm - "$work" <<'PYTHON'
import sys, h5py, numpy
f = h5py.File(sys.argv[1] + "/again.h5")
power = f["data"][:].mean(axis=(0, 1)) / 10
centre = power.reshape(2, 64)[:, 24:40].mean() # of the middle quarter
print(abs(centre / (800 / 3) - 1) < 0.05, f.attrs["sample_rate_hz"] == 1e6 / 3)
PYTHON
)"

# --- rows that are made of what single streams lack
mkdir -p "$work/single" && cd "$work/single" || exit 1
warm - <<'PYTHON'
import h5py
import numpy as np

with h5py.File("single.h5", "w") as f:
    f.attrs.update(format="voltage", format_version=1)
    f["freq_hz"] = [1e9, 1.001e9, 1.002e9]
    f["voltages"] = np.random.default_rng(1).integers(-60, 60, (8192, 2, 3, 2), dtype="i1")
    f["voltages"].attrs.update(axes="time,pol,chan,reim", sample_rate_hz=1e6, domain="complex", sideband=1)
    f["gaps"] = np.array([[100, 1000, 1], [3000, 50, 1], [5000, 3000, 5]], "u8")
open("four.txt", "w").write("0.25\n0.5\n0.25\n0.1\n")
PYTHON
cat >job.yaml <<'YAML'
input: {files: single.h5, select: {samples: [500, 8000]}}
filter: [{coefficients: four.txt}]
products: [{kind: voltages, file: out.h5}]
YAML
runs "gaps of single streams" "$voltmill" run job.yaml
same "gaps of single streams: rows made of them alone" "[[0, 597, 1], [2500, 47, 1], [4500, 2997, 5]]" \
    "$(warm -c 'import h5py; print(h5py.File("out.h5")["gaps"][:].tolist())')"
runs "gaps of single streams: verified" "$voltmill" verify out.h5

plan
