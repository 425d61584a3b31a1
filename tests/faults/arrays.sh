# Beams and visibilities of an array: a run that is killed goes on to the same bytes, also where stations' delays change;
# with another table, centre or beams it is another product. Rows that need samples which cannot be read are NaN.
. "$(dirname "$0")/../tools/lib.sh"
samples=100
. "$here/tests/cli/begun.bash"
warm - <<'PYTHON'
import h5py
import numpy as np

with h5py.File("obs.h5", "w") as f:
    f.attrs.update({"format": "voltage", "format_version": 1, "start_mjd_day": 60000, "start_second": 0.0,
                    "time_scale": "UTC"})
    v = f.create_dataset("voltages", data=np.random.default_rng(3).integers(-99, 100, (20000, 3, 2, 2), "i1"))
    v.attrs.update({"axes": "time,station,pol,reim", "sample_rate_hz": 1e5, "sideband": 1, "domain": "complex"})
    f["freq_hz"] = [1.4e9]
    f["station"] = np.array(["a", "b", "c"], "S")
    f["gaps"] = np.array([[5000, 300, 1], [9000, 2000, 4]], "u8")
PYTHON
cat >table.yaml <<'YAML'
reference: {lon_deg: 21.4, lat_deg: -30.7, height_m: 1000}
stations:
  - {name: a, enu_m: [0, 0, 0]}
  - {name: b, enu_m: [30, 20, 1], delay_s: [3e-5, 1e-3]}
  - {name: c, enu_m: [-70, 55, 2], delay_s: [-2e-5, -2e-3], swapped: true}
YAML
cat >job.yaml <<'YAML'
input: {files: obs.h5}
array: {table: table.yaml, centre: {ra_deg: 10, dec_deg: -30}, ut1_utc: 0, polar_motion: [0, 0]}
beams: [{ra_deg: 10, dec_deg: -30}, {ra_deg: 10.1, dec_deg: -30}]
channelise: {channels: 16, taps: 4, backend: cpu}
products:
  - {kind: spectra, file: spectra.h5}
  - {kind: power, file: power.h5, integrate: 10}
  - {kind: visibilities, file: vis.uvh5, integrate: 10, feed: linear}
run: {chunk: 16, sync: 0.01, threads: 1}
YAML
touch -d 2020-01-01 obs.h5
digest() { sha256sum spectra.h5 power.h5 vis.uvh5 2>&1; }
clear_all() { rm -f spectra.h5* power.h5* vis.uvh5*; }

runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
cp vis.uvh5 sound.uvh5
cp power.h5 sound.h5
clear_all
"${slow[@]}" "$voltmill" run job.yaml >log 2>&1 &
run=$!
await 20
ok $? "a run has begun"
kill -9 $run
reap $run

for other in 'array.centre.ra_deg=11' 'beams.1.ra_deg=10.2' 'products.2.min_weight=0.5'; do
    errs 2 'begun|--force' "$voltmill" run --set "$other" job.yaml
    ok $bad "not with $other"
    [ $bad = 0 ] || note <"$work/stderr"
done
sed 's/1e-3/1.1e-3/' table.yaml >other.yaml
errs 2 'begun|--force' "$voltmill" run --set array.table=other.yaml job.yaml
ok $bad "nor with another table"
[ $bad = 0 ] || note <"$work/stderr"
sed -i.was 's/1e-3/1.1e-3/' table.yaml
errs 2 'begun|--force' "$voltmill" run job.yaml
ok $bad "nor with another content of the table"
[ $bad = 0 ] || note <"$work/stderr"
mv table.yaml.was table.yaml
runs "the same job, with two ranks" mpirun -n 2 "$voltmill" run job.yaml
grep -q '^note: [0-9]* of [0-9]* chunks are done' output
ok $? "goes on"
same "and makes the same bytes" "$expected" "$(digest)"

at=$(warm -c 'import h5py; print(h5py.File("obs.h5")["voltages"].id.get_offset())')
broken=("${slow[@]}" SHIM_NAP=0 "SHIM_BAD=$((at + 12 * 15000))-$((at + 12 * 15800))")
clear_all
errs 4 'obs\.h5.*Input/output error' "${broken[@]}" "$voltmill" run job.yaml
ok $bad "stop is the default"
clear_all
status=0
"${broken[@]}" "$voltmill" run --set run.on_bad=nan job.yaml >log 2>&1 || status=$?
same "on_bad: nan" 6 $status
holes=$(digest)
same "rows that need what cannot be read are NaN, and marked, all others as they were" "vis.uvh5 right, power.h5 right" \
    "$(warm - <<'PYTHON'
import h5py
import numpy as np

said = []
for name, of, place in (("vis.uvh5", "sound.uvh5", "Data/visdata"), ("power.h5", "sound.h5", "data")):
    with h5py.File(name) as file, h5py.File(of) as sound:
        holes, seconds = file["provenance/holes"][...].astype(bool), file["time"][...]
        data, before = (f[place][...].view("f4").reshape(len(holes), -1) for f in (file, sound))
        far = abs(seconds - 0.154) > 0.006
        same = (data[far].view("u4") == before[far].view("u4")).all()
        nan = np.isnan(data[holes]) | (data[holes] == 0)
        near = 3 <= holes.sum() <= 6 and not holes[far].any()
        said.append(f"{name} " + ("right" if same and nan.all() and near else f"{same} {nan.all()} {seconds[holes]}"))
print(", ".join(said))
PYTHON
)"
clear_all
mpirun -n 2 "${broken[@]}" "$voltmill" run --set run.on_bad=nan --set run.chunk=48 job.yaml >log 2>&1
same "with the same bytes by two ranks" "$holes" "$(digest)"
plan
