# Channels become a stream again: an observation, its spectra by an oversampled filter bank, and the voltages that
# `synthesise` makes of them, which are the observation's; the same bytes however the work is cut and after a kill.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

cat >obs.yaml <<YAML
file: obs.h5
samples: 24000
streams: {pols: 2, chans: 2}
bits: 32
sample_rate_hz: 1e6
freq_hz: 100e6
start: 2021-03-04T23:59:59.995
noise: 1
tones: [{freq_hz: 100.2345e6, amplitude: 3}]
impulses: [{amplitude: 1000, period_s: 0.0041, phase: 0.3}]
seed: 11
YAML
cat >bank.yaml <<YAML
input: {files: obs.h5}
channelise: {channels: 64, attenuation: 105, oversample: {num: 32, den: 27}, backend: cpu}
products: [{kind: spectra, file: bank.h5}]
YAML
cat >back.yaml <<YAML
input: {files: bank.h5}
synthesise: {backend: cpu}
products: [{kind: voltages, file: back.h5, bits: 32}]
YAML
cat >compare.py <<'PYTHON'
# The error of back.h5 against obs.h5, in dB of the signal, where both have samples: which are found by UTC.
import h5py, numpy as np
a, b = h5py.File("obs.h5"), h5py.File("back.h5")
def volts(f):
    v = f["voltages"][:].astype(float)
    if f["voltages"].attrs["domain"] == "complex":
        v = v[..., 0] + 1j * v[..., 1]
    return v
def start(f):
    return int(f.attrs["start_mjd_day"]) * 86400, f.attrs["start_second"]
rate = a["voltages"].attrs["sample_rate_hz"]
x, y = volts(a), volts(b)
later = (start(b)[0] - start(a)[0] + start(b)[1] - start(a)[1]) * rate
first = round(later)
x = x[first:first + len(y)].reshape(y.shape)
error = 10 * np.log10((abs(y - x) ** 2).sum() / (abs(x) ** 2).sum())
print(abs(later - first) < 1e-4, rate == b["voltages"].attrs["sample_rate_hz"],
      np.allclose(a["freq_hz"][:], b["freq_hz"][:], rtol=1e-12), len(y) > 15000, "%.0f" % error if error > -100 else "below -100 dB")
PYTHON
comes_back() { same "$1" "True True True True below -100 dB" "$(warm compare.py)"; }

runs "an observation" "$voltmill" synth obs.yaml
runs "spectra of it, 32/27" "$voltmill" run bank.yaml
"$voltmill" plan back.yaml >planned 2>&1
grep -q 'error  *-1[0-9][0-9]\.[0-9] dB' planned && grep -q 'leaves .* complex samples of each stream at 1.* MHz, 54 samples' planned
ok $? "plan says error and what comes out"
runs "voltages of the spectra" "$voltmill" run back.yaml --set run.threads=1
comes_back "noise, tone and impulses come back, at their times and frequencies"
digest() { sha256sum <back.h5; }
expected=$(digest)
runs "on 3 ranks, in chunks that fit nothing" mpirun -n 3 "$voltmill" run --force back.yaml --set run.chunk=1237
same "the same bytes" "$expected" "$(digest)"
runs "in small blocks" "$voltmill" run --force back.yaml --set run.memory=128MiB --set run.chunk=64
same "the same bytes in small blocks" "$expected" "$(digest)"
rm back.h5
"$voltmill" run --set run.chunk=50 --set run.sync=0.01 --set run.threads=1 back.yaml >output 2>&1 &
run=$!
for _ in $(seq 2000); do [ -s back.h5.journal ] && [ "$(wc -c <back.h5.journal)" -gt 3000 ] && break; nap 0.002; done
kill -9 "$run" 2>/dev/null
wait "$run" 2>/dev/null
runs "after a kill it goes on" "$voltmill" run --set run.chunk=50 back.yaml
same "the same bytes after a kill" "$expected" "$(digest)"
runs "they are recomputed" mpirun -n 2 "$voltmill" verify --all back.h5
runs "as is every byte" "$voltmill" verify --crc back.h5
warm - <<'PYTHON'
import h5py
with h5py.File("back.h5", "r+") as f:
    f["voltages"][7777, 0, 1, 0] += 0.01
PYTHON
fails "a number that is off" 4 'back.h5 is not what the reference makes of its archive' "$voltmill" verify --all back.h5

runs "some spectra alone" "$voltmill" run --force back.yaml --set input.select.samples='[5, 399]'
comes_back "their samples come back, too"

if "$voltmill" info --devices | grep -q '^0: '; then
    runs "on a device" "$voltmill" run --force back.yaml --set synthesise.backend=opencl
    comes_back "a device's samples are as good"
    expected=$(digest)
    runs "on a device, by two ranks in other chunks" mpirun -n 2 "$voltmill" run --force back.yaml --set synthesise.backend=opencl --set run.chunk=1237
    same "a device's same bytes" "$expected" "$(digest)"
else
    skip "there is no OpenCL device"
fi

# Parts of an observation whose phases do not go on from one to the next are not joined.
for begin in 9180 8640; do
    runs "a part from sample $begin on" "$voltmill" run --force bank.yaml --set input.select.samples="[$begin, 24000]" \
        --set products.0.file=part-$begin.h5
done
runs "a part before" "$voltmill" run --force bank.yaml --set input.select.samples='[0, 10954]' --set products.0.file=part.h5
fails "parts out of phase" 4 'begins 170.00 spectra after .*a multiple of 32' "$voltmill" plan back.yaml \
    --set input.files='[part.h5, part-9180.h5]'
fails "join of parts out of phase" 2 'begins 170 rows after .*a multiple of 32 rows' "$voltmill" join -o joined.h5 part.h5 part-9180.h5
runs "join of parts in phase" "$voltmill" join -o joined.h5 part.h5 part-8640.h5
runs "their voltages" "$voltmill" run --force back.yaml --set input.files=joined.h5
comes_back "and voltages of parts in phase come back"
fails "an origin that is not the archive's" 2 'origin is 5, expected 0' "$voltmill" plan back.yaml --set synthesise.origin=5

# A range of channels makes a narrower stream: the tone is at its frequency, and nothing else is there.
runs "a tone" "$voltmill" synth --force obs.yaml --set noise=1e-7 --set impulses='[]' --set streams='{chans: 1}' \
    --set tones='[{freq_hz: 100.1234567e6, amplitude: 1}]' --set samples=60000
runs "its spectra" "$voltmill" run --force bank.yaml
runs "a range of channels" "$voltmill" run --force back.yaml --set synthesise.channels='[26, 53]'
same "the tone is at its frequency to 1e-6, as strong as it was, images are below -90 dB" "500000 True True True" "$(warm - <<'PYTHON'
import h5py, numpy as np
f = h5py.File("back.h5")
v = f["voltages"][:].reshape(-1, 2).astype(float)
v = v[:, 0] + 1j * v[:, 1]
rate, centre = f["voltages"].attrs["sample_rate_hz"], f["freq_hz"][0]
n = np.arange(len(v))
w = np.kaiser(len(v), 20)
# Frequency by the phase's slope between two halves, then the rest without the tone.
guess = 100.1234567e6 - centre
turned = v * np.exp(-2j * np.pi * guess * n / rate)
half = len(v) // 2
slope = np.angle((turned[half:2 * half] * turned[:half].conj()).sum()) / (2 * np.pi * half) * rate
spectrum = abs(np.fft.fft(v * w)) ** 2
peak = spectrum.argmax()
rest = np.delete(np.roll(spectrum, len(v) // 2 - peak), slice(len(v) // 2 - 40, len(v) // 2 + 40))
print("%.0f" % rate, abs(slope) < 1e-6 * rate, rest.max() / spectrum.max() < 1e-9, abs(abs(turned.mean()) - 1) < 1e-4)
PYTHON
)"

# Spectra of few bits, whose steps are 1/16 or 1/256 of the rms in a channel: their rounding alone, 1/12 of a step squared (-34.9,
# -58.9 dB), is passed on, by 0.89: -35.8 and -59.9 dB.
runs "noise and a tone" "$voltmill" synth --force obs.yaml --set impulses='[]'
for bits in 8:-36 16:-60; do
    runs "${bits%:*} bits: spectra" "$voltmill" run --force bank.yaml --set products.0.bits="${bits%:*}"
    runs "${bits%:*} bits: voltages" "$voltmill" run --force back.yaml
    same "${bits%:*} bits: they come back to the accuracy of the bits" "True True True True ${bits#*:}" "$(warm compare.py)"
done
expected=$(digest)
runs "16 bits, on 3 ranks, in other chunks" mpirun -n 3 "$voltmill" run --force back.yaml --set run.chunk=1237
same "the same bytes of 16 bits" "$expected" "$(digest)"
runs "and they are what the reference makes of them" "$voltmill" verify back.h5

# 4/3, real voltages, in the transform's order; all else as above.
runs "4/3: an observation" "$voltmill" synth --force obs.yaml
bank43="channelise.oversample={num: 4, den: 3}"
runs "4/3: spectra, in fft order" "$voltmill" run --force bank.yaml --set "$bank43" --set channelise.channels=48 \
    --set channelise.order=fft
runs "4/3: voltages" "$voltmill" run --force back.yaml
comes_back "4/3: they come back"
runs "real voltages" "$voltmill" synth --force obs.yaml --set domain=real --set noise=1e-7 --set impulses='[]'
runs "real voltages: spectra" "$voltmill" run --force bank.yaml
runs "real voltages: synthesis" "$voltmill" run --force back.yaml
comes_back "real voltages come back"
runs "a filter behind it" "$voltmill" run --force back.yaml --set \
    filter='[{design: {kind: lowpass, edges: [50e3, 100e3], offset: true}}]'
runs "gaps" "$voltmill" synth --force obs.yaml --set gaps='[{first: 8000, count: 9000}]'
runs "gaps: spectra" "$voltmill" run --force bank.yaml
runs "gaps: voltages" "$voltmill" run --force back.yaml
same "spectra that are NaN are zero volts, and gaps" "True True True" "$(warm - <<'PYTHON'
import h5py, numpy as np
a, b = h5py.File("bank.h5"), h5py.File("back.h5")
lost = np.isnan(a["spectra"][:].real).sum()
v = b["voltages"][:]
zeros = (v.reshape(len(v), -1) == 0).all(axis=1)
marked = np.zeros(len(v), bool)
for row in b["gaps"][:]:
    marked[row[0]:row[0] + row[1]] = True
between = a["coefficients"].shape[1] * 27 // 32 # samples from one spectrum to the next: as near as gaps are known
print(lost > 0, bool(np.isfinite(v).all()), zeros[marked].all() and 5000 < zeros.sum() <= marked.sum() + 2 * between)
PYTHON
)"

# The same channels as SKA-Low's station writes them, in 8 bits, with the prototype in a text file of its own.
runs "8 bits: an observation" "$voltmill" synth --force obs.yaml --set sample_rate_hz=50e6 --set freq_hz=184.375e6 \
    --set impulses='[]' --set streams='{chans: 1}' --set tones='[{freq_hz: 184e6, amplitude: 0.2}]'
runs "8 bits: spectra" "$voltmill" run --force bank.yaml
warm - <<'PYTHON'
import h5py, numpy as np
with h5py.File("bank.h5") as f:
    y, b = f["spectra"][:][:, 0, :], f["coefficients"][:]
    first = f["frequency"][0] / 781250
step = np.sqrt((abs(y) ** 2).mean() / 2) / 20
q = np.empty(y.shape, [("real", "i1"), ("imag", "i1")])
q["real"], q["imag"] = np.rint(y.real / step), np.rint(y.imag / step)
np.savetxt("prototype.txt", (b / step).ravel(), fmt="%.17g")
open("taps", "w").write(str(len(b)))
with h5py.File("channels.hdf5", "w") as f:
    f["chan_/data"] = q
    f["root"] = np.zeros(1, "f2")
    for key, value in dict(type=2, n_antennas=1, n_pols=1, n_chans=y.shape[1], n_samples=len(y), n_blocks=1,
                           channel_id=int(round(first)), tsamp=1.08e-6, ts_start=1700000000.0, ts_end=0.0).items():
        f["root"].attrs[key] = value
PYTHON
runs "8 bits: voltages of a telescope's channels" "$voltmill" run --force back.yaml --set input.files=channels.hdf5 \
    --set synthesise.prototype=prototype.txt --set synthesise.prototype_taps="$(<taps)"
same "they come back to what 8 bits keep, at their rate and frequency" "True 50000000 184375000" "$(warm - <<'PYTHON'
import h5py, numpy as np
a, b = h5py.File("obs.h5"), h5py.File("back.h5")
x = a["voltages"][:].reshape(-1, 2) @ [1, 1j]
y = b["voltages"][:].reshape(-1, 2) @ [1, 1j]
lag = np.correlate(x[:6000], y[:500], "valid")
first = abs(lag).argmax()
error = abs(y - x[first:first + len(y)]) ** 2
db = 10 * np.log10(error.mean() / (abs(x) ** 2).mean())
print(-38.5 < db < -35.5 or db, round(b["voltages"].attrs["sample_rate_hz"]), round(b["freq_hz"][0]))
PYTHON
)"

rm back.h5
fails "a filter bank behind it" 2 'synthesise: makes voltages, which this job does not write' \
    "$voltmill" plan back.yaml --set channelise.channels=64
cat >critical.yaml <<YAML
input: {files: obs.h5}
channelise: {channels: 16, taps: 4}
products: [{kind: spectra, file: critical.h5}]
YAML
runs "critically sampled channels" "$voltmill" run critical.yaml
fails "an accuracy that is not reached" 2 '24 taps leave an error of -[0-9.]* dB' "$voltmill" plan back.yaml --set input.files=critical.h5
runs "what is reached" "$voltmill" plan back.yaml --set input.files=critical.h5 --set synthesise.taps=8
fails "taps, and an accuracy" 2 'chooses the taps, but taps is 8' "$voltmill" plan back.yaml --set synthesise.accuracy=90 \
    --set synthesise.taps=8
fails "an archive without a prototype" 2 'does not say by which filter' "$voltmill" plan back.yaml --set input.files=channels.hdf5
fails "channels that are not there" 2 'channels: 3 .. 64, but .* has channels 0 .. 63' "$voltmill" plan back.yaml \
    --set synthesise.channels='[3, 64]'
fails "channels with a hole" 2 'expected' "$voltmill" plan back.yaml --set input.select.chans='[0..3, 7..9]'

plan
