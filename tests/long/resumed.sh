# Runs of every kind of product, killed at a random record of the journal; then random bytes of rows that are done
# are changed. The same command, on another number of ranks, goes on to the bytes of an undisturbed run.
# ROUNDS=n SEED=n: other numbers.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
export VOLTMILL_CACHE=$work/cache
RANDOM=${SEED:-7}
rounds=${ROUNDS:-12}
shim=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}

cat >spec.yaml <<'YAML'
file: obs.h5
samples: 60000
streams: {pols: 2, chans: 4}
bits: 8
sample_rate_hz: 1e6
freq_hz: 300e6
noise: 5
burst: [{time_s: 0.03, dm: 11, amplitude: 1500}]
YAML
runs "an observation" "$voltmill" synth spec.yaml

sed 's/obs.h5/array.h5/; s/pols: 2, chans: 4/stations: 3, pols: 2/; /burst/d' spec.yaml >array-spec.yaml
runs "one of an array" "$voltmill" synth array-spec.yaml
cat >table.yaml <<'YAML'
reference: {lon_deg: 21.4, lat_deg: -30.7}
stations:
  - {name: S000, enu_m: [0, 0, 0]}
  - {name: S001, enu_m: [30, 20, 1], delay_s: [3e-5, 1e-3]}
  - {name: S002, enu_m: [-70, 55, 2], delay_s: [-2e-5, -2e-3]}
YAML

# job NAME, of what follows `input`
job() { { echo 'input: {files: obs.h5}'; cat; echo "run: {threads: 1, sync: 0.01, chunk: ${2:-160}}"; } >"$1.yaml"; }
job power <<'YAML'
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: spectra, file: a.h5}, {kind: power, file: b.h5, integrate: 8}]
YAML
job few-bits <<'YAML'
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: spectra, file: a.h5, bits: 8, scale_rows: 32}, {kind: power, file: b.h5, integrate: 4, bits: 16, scale_rows: 16}]
YAML
job first-scales <<'YAML'
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: spectra, file: a.h5, bits: 8, scales: first, scale_rows: 32}, {kind: power, file: b.h5, integrate: 4, bits: 8, scales: first, scale_rows: 16}]
YAML
job compressed <<'YAML'
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: power, file: a.h5, integrate: 4, compress: zstd, bandpass: median}, {kind: power, file: b.fil, integrate: 2, polarisation: I}, {kind: power, file: c.fits, integrate: 2, bits: 8, scales: first, scale_rows: 16}]
YAML
job flags <<'YAML'
channelise: [{name: one, channels: 16, backend: cpu}, {name: two, channels: 64, backend: cpu}]
products:
  - {kind: power, file: a.h5, bank: one, integrate: 64, flag: {kurtosis: 3, spectra: 16}}
  - {kind: power, file: b.h5, bank: two, integrate: 16, polarisation: IQUV}
YAML
job groups 640 <<'YAML'
channelise: {channels: 1024, taps: 16, backend: cpu}
products: [{kind: spectra, file: a.h5}]
YAML
job voltages <<'YAML'
filter: {design: {kind: lowpass, edges: [0.1e6, 0.2e6], offset: true}, decimate: 2}
products: [{kind: voltages, file: a.h5, bits: 8, scale: 0.5}]
YAML
job dedisperse <<'YAML'
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: power, file: a.h5, integrate: 2}]
dedisperse:
  - {dm: {start: 0, step: 2, count: 16}, file: b.h5, search: {file: c.h5, threshold: 6}}
  - {dm: {start: 0, step: 2, count: 16}, edges: pad, downsample: 2, file: d.h5}
YAML
job semi-coherent 500 <<'YAML'
channelise: {channels: 4, taps: 4, backend: cpu}
products: [{kind: power, file: a.h5, integrate: 4}]
dedisperse: {coherent: [5, 10, 15], dm: {start: 4, step: 0.5, count: 20}, file: b.h5}
YAML
job array <<'YAML'
array: {table: table.yaml}
beams: [{azimuth_deg: 10, elevation_deg: 80}, {azimuth_deg: 100, elevation_deg: 60}]
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: visibilities, file: a.h5, integrate: 8, feed: linear}, {kind: power, file: b.h5, integrate: 8}]
YAML
sed -i 's/obs.h5/array.h5/' array.yaml
names="array power few-bits first-scales compressed flags groups voltages dedisperse semi-coherent"

clear_all() { rm -f [a-d].*; }
digest() { sha256sum [a-d].* 2>&1; }

# damage SEED: a bit here and there of what is written with chunks; says in how many files
damage() {
    warm - "$1" <<'PYTHON'
import glob, os, random, re, struct, sys
import io
import h5py
random.seed(int(sys.argv[1]))
hurt = 0
written = ("spectra", "data", "voltages", "dedispersed", "peaks", "time", "weights", "flags", "kurtosis", "scale",
           "offset", "provenance/clipped_low", "provenance/clipped_high", "Data/visdata", "Data/nsamples", "Data/flags")
for name in sorted(glob.glob("*.part")):
    if "packed" in name:
        continue
    try:
        with open(name, "rb") as part: # with HDF5's signature in place of the mark
            file = h5py.File(io.BytesIO(b"\x89HDF\r\n\x1a\n" + part.read()[8:]))
    except OSError:
        file = None
    if not file and not name.endswith(".fil.part"):
        continue
    sets = [(1024, os.path.getsize(name) * 3 // 4 - 1024)]  # no HDF5: rows
    if file:
        sets = []
        def see(path, it):
            if isinstance(it, h5py.Dataset) and it.id.get_offset() is not None and path in written:
                sets.append((it.id.get_offset(), it.size * it.dtype.itemsize))
        file.visititems(see)
        file.close()
    with open(name, "r+b") as raw:
        for at, size in random.choices(sets, k=3):
            place = at + random.randrange(size)
            raw.seek(place)
            was = raw.read(1)
            raw.seek(place)
            raw.write(bytes([was[0] ^ 1 << random.randrange(8)]))
    hurt += 1
print(hurt)
PYTHON
}

all=0 found=0
for name in $names; do
    "$voltmill" run "$name.yaml" >log 2>&1
    ok $? "$name: an undisturbed run"
    expected=$(digest)
    # Records of all its journals.
    clear_all
    LD_PRELOAD=$shim SHIM_COUNTS=$work/counts "$voltmill" run "$name.yaml" >log 2>&1
    records=$(sed -n 's/^SHIM_RECORDS //p' counts)
    clear_all
    for round in $(seq "$rounds"); do
        at=$((records - RANDOM % (records / 2 + 1)))
        env LD_PRELOAD="$shim" SHIM_RECORDS=$at:kill "$voltmill" run "$name.yaml" >log 2>&1
        hurt=$(damage $RANDOM)
        ranks=$((RANDOM % 3 + 1))
        status=0
        mpirun -n $ranks "$voltmill" run "$name.yaml" >log 2>&1 || status=$?
        warnings=$(grep -c '^warning: .* are not those' log)
        all=$((all + hurt))
        found=$((found + warnings))
        # A file that is compressed already is not written again.
        if [ $status != 0 ] && grep -q 'is complete already: --force --restart begins all anew' log; then
            status=0
            "$voltmill" run --force --restart "$name.yaml" >log 2>&1 || status=$?
        fi
        [ $status = 0 ] || note <log
        same "$name, killed at record $at of $records, $hurt files changed, $warnings chunks differed, $ranks ranks" \
            "$expected" "$(digest)"
        clear_all
    done
done
echo "# $found chunks differed, in $all files"
plan
