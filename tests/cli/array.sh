# Synthetic arrays: the same bytes by any number of ranks, delays as astropy has them, positions in the file and
# in a copy of two stations, mistakes.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

cat >array.yaml <<'E'
name: TEST
reference: {lon_deg: 21.443, lat_deg: -30.713, height_m: 1038}
stations:
  - {name: a, enu_m: [0, 0, 0]}
  - {name: b, enu_m: [30000, 2000, 0], delay_s: 1.1e-6}
  - {name: c, enu_m: [-700, 40000, 10]}
E
sed 's/name: b/name: a/' array.yaml >twice.yaml
cat >obs.yaml <<'E'
file: one.h5
samples: 40000
streams: {stations: 3, chans: 2}
bits: 16
sample_rate_hz: 2e6
freq_hz: 1.4e9
start: 2026-11-29T00:00:00
noise: 3
array: {file: array.yaml, ut1_utc_s: -0.1734, polar_motion_arcsec: [0.123, 0.345]}
noise_sources:
  - {amplitude: 100, radec_deg: [83.633, 22.0145]}
  - {amplitude: 10, azel_deg: [10, 70]}
E
runs "an array is made" "$voltmill" synth obs.yaml
runs "by three ranks" mpirun -n 3 "$voltmill" synth obs.yaml --set file=three.h5
runs "with the same bytes" cmp one.h5 three.h5

# Cross spectra in both coarse channels: their phase at each sky frequency is that of the delay. The unit vector is
# astropy's (tests/unit/test_geometry.c).
cat >delay.py <<'E'
import h5py
import numpy as np

with h5py.File("one.h5") as file:
    v = file["voltages"][...].astype(float)
    freq_hz = file["freq_hz"][...]
    itrf = file["station_itrf_m"][...] - file["reference_itrf_m"][...]
x = (v[..., 0] + 1j * v[..., 1])[:, :, 0, :]
vector = np.array([0.8903911188066038, 0.25782648560185145, 0.37513885278990056])
worst = 0
for station, cable in ((1, 1.1e-6), (2, 0)):
    whole = int(round((-itrf[station] @ vector / 299792458 + cable) * 2e6))
    turned = 7.2921159e-5 * (1000 + 16384 + whole) / 2e6  # by the Earth until the middle of the samples
    there = np.array([[np.cos(turned), np.sin(turned), 0], [-np.sin(turned), np.cos(turned), 0], [0, 0, 1]]) @ vector
    delay = -itrf[station] @ there / 299792458 + cable
    for chan in range(2):
        a, b = x[1000:34768, 0, chan], x[1000 + whole:34768 + whole, station, chan]
        a, b = (np.fft.fft(y[:32768].reshape(-1, 1024), axis=1) for y in (a, b))
        cross = np.mean(b * a.conj(), axis=0)
        hz = np.fft.fftfreq(1024, 5e-7)
        turn = np.exp(2j * np.pi * (freq_hz[chan] * delay + hz * (delay - whole / 2e6)))
        band = np.abs(hz) < 9e5
        mean = np.mean((cross * turn)[band])
        worst = max(worst, abs(np.angle(mean)), 1 - abs(mean) / np.mean(np.abs(cross[band])))
print("right" if worst < 0.01 else worst)
E
same "phases are those of the delays, within 0.01 rad at 1.4 GHz" right "$(warm delay.py)"

# Infinite power of beams is told of where gains make it of integers, behind filters, too.
sed 's/name: [abc],/& gains: [{gain: [1e25, 0]}],/' array.yaml >large.yaml
echo 1 >one.txt
for filter in '' 'filter: {coefficients: one.txt}'; do
    printf '%s\n' 'input: {files: one.h5}' 'array: {table: large.yaml, centre: {ra_deg: 84, dec_deg: 22}}' \
        'beams: [{ra_deg: 84, dec_deg: 22}]' "$filter" 'channelise: {channels: 64, taps: 4, backend: cpu}' \
        'products: [{kind: power, file: beam.h5, integrate: 100}]' >beam.yaml
    "$voltmill" run --force --restart beam.yaml >output 2>&1
    same "beams of large gains, ${filter:-no filter}" 768 \
        "$(sed -n 's/^warning: beam.h5: \([0-9,]*\) values are infinite.*/\1/p' output)"
done

# A hundred losses of everything are the loss of everything.
{ sed '/^stations/q' array.yaml && for i in {1..100}; do echo "  - {name: s$i, enu_m: [$i, 0, 0]}"; done; } >many.yaml
printf '%s\n' 'file: many.h5' 'samples: 4096' 'streams: {stations: 100}' 'bits: 8' 'sample_rate_hz: 1e6' \
    'freq_hz: 1.4e9' 'noise: 3' 'gaps: [{first: 1024, count: 1024}]' 'array: {file: many.yaml}' >many-obs.yaml
printf '%s\n' 'input: {files: many.h5}' 'array: {table: many.yaml, centre: {ra_deg: 84, dec_deg: 22}}' \
    'beams: [{ra_deg: 84, dec_deg: 22}]' 'channelise: {channels: 64, taps: 1, backend: cpu}' \
    'products: [{kind: power, file: many-beam.h5, integrate: 8, min_weight: 0}]' >many-beam.yaml
runs "an array of 100 stations, with a gap" "$voltmill" synth many-obs.yaml
runs "its beam" "$voltmill" run many-beam.yaml
same "is NaN with weight 0 where all of them have a gap" "[0.] True" "$(warm -c '
import h5py
import numpy as np
with h5py.File("many-beam.h5") as file:
    print(file["weights"][2].ravel(), np.isnan(file["data"][2]).all())')"

runs "two stations are copied" "$voltmill" import -o copy.h5 one.h5 --set input.select.stations='[c, a]'
same "with their positions" "True True" "$(warm -c '
import h5py
one, copy = h5py.File("one.h5"), h5py.File("copy.h5")
print((copy["station_itrf_m"][...] == one["station_itrf_m"][...][[2, 0]]).all(),
      (copy["reference_itrf_m"][...] == one["reference_itrf_m"][...]).all())')"

# A beam of fewer streams than threads, of transforms that threads share: its spectra are not transformed again.
cat >few.yaml <<'E'
input: {files: one.h5}
channelise: {channels: 16384, taps: 1, backend: cpu}
array: {}
beams: [{ra_deg: 83.633, dec_deg: 22.0145}]
products: [{kind: power, file: few.h5}]
E
runs "a beam by one thread" "$voltmill" run --set run.threads=1 few.yaml
expected=$(sha256sum <few.h5)
runs "by more threads than it has streams" "$voltmill" run --set run.threads=4 --force few.yaml
same "with the same bytes" "$expected" "$(sha256sum <few.h5)"

# LOFAR's dipoles state where they are.
PYTHONPATH=$here/tests/clients warm - <<'E'
import h5py
import numpy as np
from mocks.hdf5 import tbb_write

tbb_write("tbb.h5", np.zeros((3, 400), "<i2"), 400, [5, 5, 5], ANTENNA_POSITION_FRAME="ITRF")
with h5py.File("tbb.h5", "r+") as file:
    for i in range(3):
        file[f"STATION_X/DIPOLE_00100100{i}"].attrs["ANTENNA_POSITION"] = [3826669.0 + i, 461280.0, 5064800.0]
E
runs "dipoles are imported" "$voltmill" import -o dipoles.h5 tbb.h5
same "with their positions" "[3826669. 3826670. 3826671.]" \
    "$(warm -c 'import h5py; print(h5py.File("dipoles.h5")["station_itrf_m"][:, 0])')"

fails "a direction without an array" 2 'has a direction, so array.file is needed' \
    "$voltmill" synth obs.yaml --set array= --set file=no.h5
fails "two directions" 2 'has radec_deg and azel_deg, expected one' \
    "$voltmill" synth obs.yaml --set noise_sources.0.azel_deg='[1, 2]' --set file=no.h5
fails "an array of another size" 2 'streams.stations is 2, expected the 3 stations of array.yaml' \
    "$voltmill" synth obs.yaml --set streams.stations=2 --set file=no.h5
fails "a station twice" 4 'two stations have the name a' \
    "$voltmill" synth obs.yaml --set array.file=twice.yaml --set file=no.h5
plan
