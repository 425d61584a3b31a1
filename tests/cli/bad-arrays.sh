# Jobs of arrays that ask for what is none: one error each, and nothing is made. array: {} counts.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

warm - <<'PYTHON'
import h5py
import numpy as np

for name in ("obs.h5", "nostart.h5", "places.h5", "bare.h5"):
    with h5py.File(name, "w") as f:
        f.attrs.update({"format": "voltage", "format_version": 1})
        if name != "nostart.h5":
            f.attrs.update({"start_mjd_day": 60000, "start_second": 0.0, "time_scale": "UTC"})
        v = f.create_dataset("voltages", data=np.random.default_rng(3).integers(-99, 100, (4000, 3, 2, 2), "i1"))
        v.attrs.update({"axes": "time,station,pol,reim", "sample_rate_hz": 1e5, "sideband": 1, "domain": "complex"})
        f["freq_hz"] = [1.4e9]
        if name != "bare.h5":
            f["pol"] = np.array(["X", "Y"], "S")
            f["station"] = np.array(["a", "b", "c"], "S")
        if name == "places.h5":
            f["station_itrf_m"] = [[5109300.0 + 10 * i, 2006650.0, -3239111.0] for i in range(3)]
PYTHON
table() { # table DELAY FURTHER: of station b; lines of the table
    printf '%s\nstations:\n  - {name: a, enu_m: [0, 0, 0]}\n  - {name: b, enu_m: [30, 20, 1], delay_s: %s}\n' "${2:-}" "$1"
    printf '  - {name: c, enu_m: [9, 9, 9]}\nreference: {lon_deg: 21.4, lat_deg: -30.7}\n'
}
table '[0]' >table.yaml
table '[0.1]' >late.yaml
table '[0, 1e-2]' >fast.yaml
table '[0]' 'epoch: 2020-01-01' >epoch.yaml
table '[0, 0, 0, 0.9]' 'epoch: 1990-01-01' >cubic.yaml
cat >job.yaml <<'YAML'
input: {files: obs.h5}
array: {table: table.yaml}
channelise: {channels: 16, taps: 4}
products: [{kind: power, file: power.h5, integrate: 10}]
YAML

bad_job() { # bad_job NAME PATTERN OVERRIDE...
    local name=$1 pattern=$2 words=()
    shift 2
    for word in "$@"; do words+=(--set "$word"); done
    fails "$name" 2 "$pattern" "$voltmill" run "${words[@]}" job.yaml
}
bad_job "a beam without a direction" 'beams.0: has no direction' 'beams=[{name: x}]'
bad_job "a beam with two" 'beams.1: has two directions' \
    'beams=[{azimuth_deg: 1, elevation_deg: 2}, {azimuth_deg: 1, elevation_deg: 2, ra_deg: 1, dec_deg: 2}]'
bad_job "a centre without" 'array.centre: has no direction' 'array.centre={name: x}'
bad_job "one of a product" 'products.0.centre: has no direction' products.0.kind=visibilities 'products.0.centre={name: x}'
bad_job "one fixed to the ground" 'have a phase centre in ra_deg' products.0.kind=visibilities \
    'products.0.centre={azimuth_deg: 1, elevation_deg: 2}'
bad_job "half of one" 'expected dec_deg, too' 'array.centre={ra_deg: 3}'
printf '%s\n' 'input: {files: obs.h5}' 'array: {table: table.yaml}' 'products: [{kind: voltages, file: v.h5}]' >voltages.yaml
fails "voltages of an array" 2 'array: needs channelise' "$voltmill" run voltages.yaml
bad_job "beams of no array" 'expected .array.' array= 'beams=[{azimuth_deg: 1, elevation_deg: 2}]'
bad_job "visibilities of no array" 'expected .array.' array= products.0.kind=visibilities
bad_job "positions that are nowhere" 'does not say where its stations are' 'array={}'
bad_job "the sky without a start" 'does not say when it starts' input.files=nostart.h5 'beams=[{ra_deg: 1, dec_deg: 2}]'
bad_job "an epoch without a start" 'does not say when it starts' input.files=nostart.h5 array.table=epoch.yaml
bad_job "a delay longer than the observation" 'station b is late by 0.1 to 0.1 s, more than' array.table=late.yaml
bad_job "one that left the range long ago" 'station b is late by' array.table=cubic.yaml
bad_job "fast delays and several banks" 'expected a job for each' array.table=fast.yaml \
    'channelise=[{name: m, channels: 16, taps: 1}, {name: n, channels: 48, taps: 1}]' \
    'products=[{kind: power, file: p.h5, bank: m}, {kind: power, file: q.h5, bank: n}]'
bad_job "dumps as short as a Julian date tells" 'UVH5 tells rows apart' products.0.kind=visibilities products.0.integrate=1 \
    channelise.channels=2
sed 's/name: [abc]/&, flagged: true/' table.yaml >flagged.yaml
bad_job "beams of flagged stations alone" 'all 3 stations are flagged' array.table=flagged.yaml \
    'beams=[{azimuth_deg: 1, elevation_deg: 2}]'
bad_job "and their visibilities" 'pairs: none is left' array.table=flagged.yaml products.0.kind=visibilities
bad_job "polarisations without names" 'those of bare.h5 have no names: expected the product.s feed' input.files=bare.h5 \
    products.0.kind=visibilities
bad_job "visibilities without a start" 'does not say when it starts .input.layout.start' input.files=nostart.h5 products.0.kind=visibilities
# Stations of an archive without names have those of the table.
bad_job "a pair that is none" 'such as 0\*1 or a\*c' input.files=bare.h5 products.0.kind=visibilities 'products.0.pairs=a*d'
for pair in 'b*c' '1*2'; do
    runs "the pair $pair" "$voltmill" run --set input.files=bare.h5 --set "products=[{kind: visibilities, feed: linear,
        integrate: 10, pairs: '$pair', file: '$pair.uvh5'}]" job.yaml
done
runs "of one name and number" /usr/bin/python3 -c '
import h5py
with h5py.File("b*c.uvh5") as a, h5py.File("1*2.uvh5") as b:
    assert (a["Data/visdata"][()] == b["Data/visdata"][()]).all() and set(a["Header/ant_2_array"]) == {1}'
rm ./*.uvh5
runs "a centre without the Earth's rotation" mpirun -n 2 "$voltmill" run --set 'array.centre={ra_deg: 3, dec_deg: 4}' \
    --set products.0.file=turned.h5 job.yaml
same "is said once" 1 "$(grep -c '^assumed: obs.h5: array.ut1_utc and array.polar_motion are 0' output)"
rm turned.h5
bad_job "and a sum of them" 'sum: all stations are flagged' array.table=flagged.yaml 'products.0.sum=stations'
warm - <<'PYTHON'
import h5py
import numpy as np

def weights(name, shape, value=1, **more):
    with h5py.File(name, "w") as f:
        f["weights"] = np.full(shape, value, complex)
        for key, one in more.items():
            f[key] = one

weights("two.h5", (2, 3, 2, 16))
weights("three.h5", (2, 3, 2, 3))
weights("nan.h5", (2, 3, 2, 16), freq_hz=np.full(16, np.nan))
weights("four.h5", (2, 4, 2, 16))
weights("names.h5", (2, 3, 1, 16), stations=np.array(["a", "b", "x"], "S"))
weights("flat.h5", (2, 3, 16))
weights("zero.h5", (2, 3, 2, 16), 0)
with h5py.File("none.h5", "w") as f:
    f["other"] = 1
with h5py.File("short.bfr5", "w") as f:
    f["diminfo/nants"] = 3
PYTHON
while read -r file status pattern; do
    fails "beam_weights: $file" "$status" "$pattern" "$voltmill" run --set "beam_weights=$file" job.yaml
done <<'FILES'
three.h5 2 three.h5 has weights of 3 channels, which does not divide the 16
nan.h5 4 freq_hz: number 0 .from 0. is not finite
four.h5 4 has 4 stations, but the archive 3
names.h5 4 has no station c
flat.h5 4 expected complex .beam..station..pol..channel.
none.h5 4 has neither
short.bfr5 4 diminfo/npol
zero.h5 2 beam 0 of zero.h5 has no station
FILES
bad_job "other beams than the file's" 'has 2 beams, and .beams. 1: expected as many' beam_weights=two.h5 \
    'beams=[{azimuth_deg: 1, elevation_deg: 2}]'
bad_job "visibilities of stations that are nowhere" 'does not say where its stations are' array= \
    beam_weights=two.h5 products.0.kind=visibilities
same "nothing was made" "" "$(ls ./*.uvh5 power.h5 p.h5 q.h5 v.h5 2>/dev/null)"
runs "an archive that states positions needs no more" "$voltmill" run --set input.files=places.h5 --set 'array={}' \
    --set products.0.kind=visibilities job.yaml

# No mistakes, but worth a word.
runs "directions below the horizon" "$voltmill" plan --set products.0.file=no.h5 --set 'array.centre={ra_deg: 3, dec_deg: 80}' \
    --set 'beams=[{azimuth_deg: 1, elevation_deg: 2}, {azimuth_deg: 1, elevation_deg: -2.5}]' job.yaml
same "are noted, those above are not" "array.centre -40.5 beams.1 -2.5 " \
    "$(sed -nE 's/^  ([a-z.0-9]+) is below the horizon all the time, at most ([0-9.-]+) deg.*/\1 \2/p' output | tr '\n' ' ')"
warm - <<'PYTHON'
import h5py

with h5py.File("obs.h5") as obs, h5py.File("large.h5", "w") as f:
    f.attrs.update(obs.attrs)
    v = f.create_dataset("voltages", data=obs["voltages"][...].astype("f4") * 1e19)
    v.attrs.update(obs["voltages"].attrs)
    for name in ("freq_hz", "pol", "station"):
        f[name] = obs[name][...]
PYTHON
for products in '[{kind: visibilities, file: large.uvh5, integrate: 10}]' '[{kind: power, file: large-beams.h5}]'; do
    runs "volts of 1e21" "$voltmill" run --set input.files=large.h5 --set "products=$products" \
        --set 'beams=[{azimuth_deg: 1, elevation_deg: 80}]' job.yaml
    grep -q '^warning: large.*values are infinite' output
    ok $? "are a warning: $products"
done

# Products of beams, and beside them of stations: as many as a stage makes.
many() { # many COUNT WORDS: a list of products for --set
    local list=()
    for ((i = 0; i < $1; i++)); do list+=("{kind: power, file: many$i.h5, integrate: $((i + 1))${2:+, $2}}"); done
    (IFS=, && echo "products=[${list[*]}]")
}
beam='beams=[{azimuth_deg: 1, elevation_deg: 80}]'
bad_job "17 products" 'products: has 17 entries, expected at most 16' "$beam" "$(many 17)"
bad_job "9 with kurtosis" 'of one filter bank: 18 \(those with flag.kurtosis count twice\), expected at most 16' "$beam" \
    "$(many 9 'flag: {kurtosis: 4, spectra: 8}' | sed 's/integrate: [0-9]*/integrate: 8/g')"
bad_job "16 sums of stations beside beams" 'sum over stations, beside beams: 16 of one filter bank' "$beam" "$(many 16 'sum: stations')"
sed '/^products/d' job.yaml >many.yaml
run_many() { "$voltmill" run --force many.yaml --set channelise.backend=cpu --set "$beam" "$@"; }
runs "16 products of beams" run_many --set "$(many 16)"
cp many15.h5 all.h5
runs "the last of them alone" run_many --set 'products=[{kind: power, file: many15.h5, integrate: 16}]'
same "has the same rows" True "$(warm -c 'import h5py
print((h5py.File("all.h5")["data"][()] == h5py.File("many15.h5")["data"][()]).all())')"
runs "15 sums of stations and a product of beams" run_many \
    --set "$(many 15 'sum: stations' | sed 's/]$/, {kind: power, file: many15.h5, integrate: 16}]/')"
same "has the same rows, too" True "$(warm -c 'import h5py
print((h5py.File("all.h5")["data"][()] == h5py.File("many15.h5")["data"][()]).all())')"
plan
