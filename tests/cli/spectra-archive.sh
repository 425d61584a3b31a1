# Products of kind spectra as archives: every channel is a coarse channel, every spectrum a sample, at the time and
# the sky frequency that the product says.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

cat >obs.yaml <<YAML
file: obs.h5
samples: 6000
streams: {pols: 2, chans: 2}
bits: 16
sample_rate_hz: 1e6
freq_hz: 100e6
start: 2021-03-04T23:59:59.999
noise: 800
tones: [{freq_hz: 100.3e6, amplitude: 3000}]
seed: 11
YAML
runs "an observation" "$voltmill" synth obs.yaml
cat >bank.yaml <<YAML
input: {files: obs.h5}
channelise: {channels: 16, taps: 8, oversample: {num: 4, den: 3}}
products: [{kind: spectra, file: out.h5}]
YAML
cat >through.yaml <<YAML
input: {files: out.h5}
products: [{kind: voltages, file: through.h5, bits: 32}]
YAML
# spectra NAME [SETTING...]: with the keys set, as an archive they are the same numbers at the same times and frequencies
spectra() {
    local name=$1
    shift
    runs "$name: a product" "$voltmill" run --force bank.yaml "$@"
    runs "$name: read as an archive" "$voltmill" run --force through.yaml
    same "$name: numbers, names, rate, frequencies and start" "True True True True True" "$(warm - <<'PYTHON'
import h5py, numpy as np
a, b = h5py.File("out.h5"), h5py.File("through.h5")
order = np.argsort(a["frequency"][:], kind="stable")
x, y = a["spectra"][:], b["voltages"][:]
if "scale" in a:
    block = np.minimum(np.arange(len(x)) // a["spectra"].attrs["scale_rows"], len(a["scale"]) - 1).astype(int)
    scale = a["scale"][:].astype("f8")[block].reshape(x.shape)
    x = (scale * x["r"]).astype("f4") + 1j * (scale * x["i"]).astype("f4")
x = x[..., order]
hop = a.attrs.get("samples_between_spectra", a["coefficients"].shape[1])
rate = b["voltages"].attrs["sample_rate_hz"]
start = (int(b.attrs["start_mjd_day"]) - int(a.attrs["start_mjd_day"])) * 86400. + b.attrs["start_second"] - a.attrs["start_second"]
filters = y.shape[-1] == 2 and y.ndim == x.ndim + 1
y = y[..., 0] + 1j * y[..., 1] if filters else y
print(np.array_equal(x, y), list(a["pol"][:]) == list(b["pol"][:]), rate == a.attrs["sample_rate_hz"] / hop,
      np.array_equal(a["frequency"][:][order], b["freq_hz"][:]), abs(start - a["time"][0]) < 2e-11)
PYTHON
)"
}
spectra "an oversampled bank"
"$voltmill" run --force bank.yaml >"$work/output" 2>&1
"$voltmill" info --json out.h5 >info 2>&1
cat >second.yaml <<YAML
input: {files: out.h5}
channelise: {channels: 8, taps: 2, window: hann}
products: [{kind: spectra, file: second.h5}]
YAML
runs "a second filter bank on the channels" "$voltmill" run second.yaml
same "its kept channels make one band, and the tone is where it was" "True 1.003e+08" "$(warm - <<'PYTHON'
import h5py, numpy as np
f = h5py.File("second.h5")
hz = f["frequency"][:]
power = (abs(f["spectra"][:]) ** 2).mean(axis=(0, 1))
print(np.allclose(np.diff(hz), 1e6 / 16 / 6), "%.4g" % hz[power.argmax()])
PYTHON
)"
spectra "2/1, in the transform's order" --set channelise.oversample='{num: 2, den: 1}' --set channelise.order=fft
spectra "some of the channels" --set products.0.channels='[3, 9]'
spectra "compressed" --set products.0.compress=deflate
spectra "only some samples" --set input.select.samples='[1001, 5003]' --set input.select.chans=1
cat >few.py <<'PYTHON'
# Whether through.h5 holds what the numbers of a product in 8 bits, or of several in a row, stand for: few.py ROWS POLS CHANNELS FILE...
import h5py, numpy as np, sys
def volts(file):
    x = file["spectra"][:]
    scale = file["scale"][:].astype("f8")[np.arange(len(x)) // 64]
    x = (scale * x["r"]).astype("f4") + 1j * (scale * x["i"]).astype("f4")
    return x[..., np.argsort(file["frequency"][:], kind="stable")]
rows, pols, channels = (eval("np.s_[%s]" % word) for word in sys.argv[1:4])
x = np.concatenate([volts(h5py.File(name)) for name in sys.argv[4:]])[rows][:, pols][..., channels]
y = h5py.File("through.h5")["voltages"][:]
y = y[..., 0] + 1j * y[..., 1] if y.dtype.kind == "f" else y
print(x.size, np.array_equal(x, y.reshape(x.shape)))
PYTHON
eight=(--set products.0.bits=8 --set products.0.scale_rows=64)
some_of() { # NAME: of the product in 8 bits
    runs "$1: some streams and samples" "$voltmill" run --force through.yaml --set input.select='{chans: [3, 10, 11], samples: [99, 400]}'
    same "$1: the same numbers" "1806 True" "$(warm few.py 99:400 : 3,10,11 out.h5)"
    runs "$1: few that are side by side" "$voltmill" run --force through.yaml --set input.select='{pols: 1, chans: [3, 4, 6], samples: [60, 70]}'
    same "$1: the same numbers" "30 True" "$(warm few.py 60:70 1:2 3,4,6 out.h5)"
}
spectra "8 bits" "${eight[@]}"
same "that have several blocks" True "$(warm -c 'import h5py; print(len(h5py.File("out.h5")["scale"]) > 5)')"
some_of "8 bits"
spectra "8 bits, compressed" "${eight[@]}" --set products.0.compress=deflate
some_of "8 bits, compressed"
spectra "16 bits, scales of the first block" --set products.0.bits=16 --set products.0.scales=first --set products.0.scale_rows=100
for part in "0, 2996" "2880, 6000"; do
    runs "8 bits, of samples $part" "$voltmill" run bank.yaml "${eight[@]}" --set input.select.samples="[$part]" --set products.0.file="part-${part%,*}.h5"
done
runs "two files in a row" "$voltmill" run --force through.yaml --set input.files='[part-0.h5, part-2880.h5]'
same "each with its own scales" "31360 True" "$(warm few.py : : : part-0.h5 part-2880.h5)"
"$voltmill" run --force bank.yaml --set products.0.bits=8 >"$work/output" 2>&1
warm -c '
import h5py
with h5py.File("out.h5", "r+") as f:
    f["offset"][0, 1, 3] = 1' || exit 1
fails "an offset, which spectra have not" 4 'out.h5: /offset contains 1, expected 0' "$voltmill" run --force through.yaml
damaged() { # DESCRIPTION MESSAGE PYTHON [BITS]: what is done to f
    "$voltmill" run --force bank.yaml --set products.0.bits="${4:-8}" >"$work/output" 2>&1
    warm -c "
import h5py
with h5py.File('out.h5', 'r+') as f:
    $3" || exit 1
    fails "$1" 4 "$2" "$voltmill" run --force through.yaml
}
damaged "few bits without scales" 'out.h5: /spectra has numbers in few bits, expected /scale and /offset' "del f['scale']"
damaged "few bits without offsets" 'out.h5: /spectra has numbers in few bits, expected /scale and /offset' "del f['offset']"
damaged "a scale of 0" 'out.h5: /scale contains 0, expected numbers above 0' "f['scale'][0, 1, 3] = 0"
damaged "a scale that is no number" 'out.h5: /scale contains nan, expected numbers above 0' "f['scale'][0, 0, 2] = float('nan')"
runs "gaps in the observation" "$voltmill" synth --force obs.yaml --set gaps='[{first: 2000, count: 600}]'
runs "gaps in the observation: a product" "$voltmill" run --force bank.yaml
runs "spectra that are NaN" "$voltmill" run --force through.yaml
same "are gaps, and zero volts" "True True" "$(warm - <<'PYTHON'
import h5py, numpy as np
a, b = h5py.File("out.h5"), h5py.File("through.h5")
lost = np.isnan(a["spectra"][:].real)
gaps = b["gaps"][:]
of = lost[0].size if gaps.shape[1] == 2 else 1
print(lost.sum() > 0, gaps[:, 1].sum() * of == lost.sum() and not np.isnan(b["voltages"][:]).any())
PYTHON
)"
warm - <<'PYTHON'
import h5py
with h5py.File("out.h5", "r+") as f:
    f.attrs["integrate"] = 4
PYTHON
fails "spectra that were added up" 4 'integrate is 4, average 1' "$voltmill" run --force through.yaml
contradicts() { # DESCRIPTION MESSAGE PYTHON
    damaged "$1" "out.h5: $2" "$3" 32
}
contradicts "a time step of another rate" 'time_step is 2.4e-05 s, but sample_rate_hz 1000000 and a spectrum every 12 samples of domain [a-z]* make 1.2e-05 s' \
    "f.attrs['time_step'] *= 2"
contradicts "a rate of another time step" 'time_step is 1.2e-05 s, but sample_rate_hz 500000 ' "f.attrs['sample_rate_hz'] /= 2"
contradicts "a copy of the later rows" '/time goes from [0-9.e-]* to [0-9.e-]* s, but first_time ' "f['time'][:] = f['time'][:] + 5 * f.attrs['time_step']"
contradicts "a copy of every second row" '/time goes from [0-9.e-]* to [0-9.e-]* s, but first_time ' "f['time'][1:] = 2 * f['time'][1:] - f['time'][0]"
contradicts "channels closer together than they are wide" '/frequency has channels 31250 Hz apart, but sample_rate_hz 1000000, channels 16 and domain complex make 62500 Hz' \
    "f['frequency'][:] = f['frequency'][:] / 2"
contradicts "channels farther apart" '/frequency has channels 125000 Hz apart,' "f['frequency'][:] = f['frequency'][:] * 2"
runs "the job says frequencies instead" "$voltmill" run --force through.yaml --set input.layout='{format: spectra, freq_hz: {start: 1e8, step: 1e5}}'
same "which count" "100000000.0 103100000.0" "$(warm -c 'import h5py; hz = h5py.File("through.h5")["freq_hz"][:]; print(hz[0], hz[-1])')"
contradicts "frequencies that fall" 'order is ascending, but /frequency does not ascend' "f['frequency'][:] = f['frequency'][:][::-1]"
contradicts "an order that is not that of the frequencies" 'order is fft, but /frequency ascends' "f.attrs['order'] = 'fft'"
damaged "half of the oversampling" 'out.h5 has no attribute oversampling_den, expected oversampling_num and' "del f.attrs['oversampling_den']" 32
contradicts "another time scale" 'time_scale is TAI, expected UTC' "f.attrs['time_scale'] = 'TAI'"
runs "a product" "$voltmill" run --force bank.yaml
warm -c 'import h5py; del h5py.File("out.h5", "r+").attrs["time_scale"]' || exit 1
"$voltmill" run --force through.yaml >said 2>&1
same "no time scale: UTC is assumed" "assumed: out.h5: start in UTC: the file has no time_scale" "$(grep assumed: said)"
same "and the product keeps it" "start in UTC: the file has no time_scale" "$(warm -c 'import h5py; print(h5py.File("through.h5")["provenance"].attrs["assumed"].decode())')"

plan
