#!/usr/bin/env bash
# --json of info, plan, status and verify: one object on stdout with the same numbers as the words, whatever names hold;
# errors stay on stderr.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

# json NAME EXPRESSION COMMAND...: stdout must be one JSON object `j`, of which the Python expression is true
json() {
    local name=$1 expression=$2 status=0
    shift 2
    timeout 300 "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
    "$python" - "$work/stdout" "$expression" <<'PYTHON' >"$work/found" 2>&1
import json, math, sys
def no(word):
    raise ValueError(word)
def once(members):
    keys = [key for key, _ in members]
    return no(f"a key twice: {keys}") if len(set(keys)) < len(keys) else dict(members)
j = json.loads(open(sys.argv[1], "rb").read().decode("utf-8"), parse_constant=no, object_pairs_hook=once)
def near(a, b):
    return math.isclose(a, b, rel_tol=1e-15)
if not eval("(" + sys.argv[2] + ")"):
    sys.exit(json.dumps(j, indent=1))
PYTHON
    ok $? "$name"
    [ "$status" = "${expected:-0}" ] || { echo "# exit status $status"; note <"$work/stderr"; }
    note <"$work/found"
}

PYTHONPATH=$here/tests/cli "$python" - <<'PYTHON' || exit 1
import h5py
import numpy as np
from archives import native
rng = np.random.default_rng(3)
x = np.rint(rng.standard_normal((6000, 2, 3, 2)) * 9).astype("i1")
native("obs.h5", x, axes="time,pol,chan,reim",
       root=dict(source="B0329+54 \"q\"", telescope=b"T\xff\xfel", format_version=np.int32(2), ra_deg=83.63321, dec_deg=-22.01447, OBSERVER="Jocelyn\tBell",
                 PROJECT=np.int64(2**60 + 1), RUN=np.uint64(2**64 - 5), STATION_POSITION=np.array([3826577.066, 461022.948, np.nan]), STATION_POSITION_UNIT="m", STATION_POSITION_FRAME="ITRF", seconds=np.float64(0.1)),
       attrs=dict(sideband=np.int32(-1), scale=0.1),
       scales=dict(freq_hz=np.array([1.2e9, 1.1e9, 1.3e9]), gaps=np.array([[100, 50]], "u8"), pol=np.array([b"L", b"R"])))
with h5py.File("long.h5", "w") as f:
    f["data"] = rng.normal(100, 9, (640, 1, 8)).astype("f4")
    f["data"].attrs.update(fch1=1400.0, foff=-1.0, tsamp=1e-3, tstart=60000.0, nchans=8)
with h5py.File("plain.h5", "w") as f:
    f["x"] = np.arange(100, dtype="i2")
PYTHON
cat >job.yaml <<'YAML'
input: {files: obs.h5}
channelise: {channels: 16, taps: 4, backend: cpu}
products:
  - {kind: spectra, file: new/s.h5}
  - {kind: power, file: new/p.h5, integrate: 5}
dedisperse: {input: 1, file: d.h5, dm: {start: 0, step: 0.001, count: 3}}
run: {threads: 1}
YAML

json "info of an archive" 'j["kind"] == "archive" and j["samples"] == 6000 and j["sample_rate_hz"] == 1e6 and j["streams"] == 6 and
    j["polarisations"] == {"count": 2, "names": ["L", "R"], "basis": "circular"} and j["coarse_channel_hz"] == [1.1e9, 1.2e9, 1.3e9] and
    j["scale"] == 0.1 and j["gap_samples_of_all_streams"] == 300 and j["sideband"] == -1 and near(j["low_hz"], 1.0995e9)' \
    "$voltmill" info --json obs.h5
json "names that hold anything" 'j["source"] == "B0329+54 \"q\"" and j["telescope"] == "T\ufffd\ufffdl"' "$voltmill" info --json obs.h5
json "what it says beyond that, to the last digit" 'j["attributes"] == {"/": {"OBSERVER": "Jocelyn\tBell", "PROJECT": 2**60 + 1, "RUN": "18446744073709551611",
    "STATION_POSITION": [3826577.066, 461022.948, None], "STATION_POSITION_UNIT": "m", "STATION_POSITION_FRAME": "ITRF", "seconds": 0.1}}' "$voltmill" info --json obs.h5
"$voltmill" info obs.h5 >words
for line in '  polarisations L, R: circular' '  position      RA 83.633210, Dec -22.014470 degrees \(05:34:31.97 -22:00:52.1\)' \
    'attributes of /' '  OBSERVER         Jocelyn\\tBell' '  PROJECT          1152921504606846977' '  RUN              18446744073709551611' \
    '  STATION_POSITION 3826577.066, 461022.948, nan m \(ITRF\)'; do
    grep -Eqx -- "$line" words
    ok $? "info in words: ${line%% *}${line##* }"
done
json "info of another HDF5 file" 'j["kind"] == "hdf5" and "/x" in j["holds"][0] and "dataset: /x" in j["proposed"] and j["proposed"].startswith("input:")' "$voltmill" info --json plain.h5

json "plan" 'j["archive"]["samples"] == 6000 and j["filter_banks"][0]["channels"] == 16 and j["filter_banks"][0]["channel_hz"] == 62500 and
    [p["kind"] for p in j["products"]] == ["spectra", "power"] and j["products"][1]["rows"] == 74 and
    [f["path"] for f in j["files_to_write"]] == ["new/s.h5", "new/p.h5", "d.h5"] and
    [f["folder_will_be_made"] for f in j["files_to_write"]] == [True, True, False] and j["dedispersions"][0]["dms"] == 3 and
    j["complete"] == [] and j["run"]["backend"] == "cpu" and j["run"]["chunks_done"] == 0' "$voltmill" plan --json job.yaml
"$voltmill" plan --json job.yaml >planned
mpirun -n 2 "$voltmill" run job.yaml >/dev/null 2>log
ok $? "run"
same "the files are as long as planned" "$(stat -c %s new/s.h5 new/p.h5 d.h5 | paste -sd' ')" \
    "$("$python" -c 'import json; j = json.load(open("planned")); print(*[x["bytes"] for x in j["products"] + j["dedispersions"]])')"
json "plan of what is there" 'j["complete"] == ["new/s.h5", "new/p.h5", "d.h5"] and j["files_to_write"] == []' "$voltmill" plan --json job.yaml

json "info of power" 'j["kind"] == "product" and j["product"] == "power" and j["rows"] == 74 and j["basis"] == "circular" and j["pol_type"] == "AABB" and j["feed"] is None and
    j["ra_deg"] == 83.63321 and j["compression"] == "none" and j["compression_level"] is None and j["integrate"] == 5 and near(j["time_step_s"], 8e-5) and j["telescope"] == "T\ufffd\ufffdl"' \
    "$voltmill" info --json new/p.h5
"$voltmill" run --set input.files=long.h5 --set 'dedisperse={dm: [0, 1e-4], search: {file: found.h5, widths: 2}}' >output 2>&1 || note <output
json "info of a search" 'j["product"] == "candidates" and j["compression"] == "deflate" and j["compression_level"] == 1 and j["dms"] == 2 and j["times"] == 10 and j["cells"] == 0' "$voltmill" info --json found.h5
json "info of series" 'j["product"] == "dedispersed" and j["dm_pc_cm3"] == [0, 0.001, 0.002] and j["basis"] is None' "$voltmill" info --json d.h5
json "status" 'j == {"file": "new/p.h5", "state": "complete", "rows": 74, "bytes": '"$(stat -c %s new/p.h5)"', "crcs": j["crcs"],
    "rows_of_a_crc": j["rows_of_a_crc"]} and j["crcs"] > 0' "$voltmill" status --json new/p.h5
json "verify" 'j["agrees"] is True and 0 < j["rms_error"] < j["rms_error_limit"] and j["recomputed"] == j["total"] == 74' \
    mpirun -n 2 "$voltmill" verify --json --all new/p.h5
json "verify --crc" 'j["agrees"] is True and j["damaged"] == 0 and j["damaged_rows"] == [] and j["read"] == j["total"] and
    j["objects_read"] > 20' mpirun -n 2 "$voltmill" verify --json --crc new/p.h5

# Results are reported, good or bad.
cp new/p.h5 bad.h5
"$python" -c 'import h5py
with h5py.File("bad.h5", "r+") as f:
    f["data"][40:42] += 1e3'
cp bad.h5 worse.h5
"$python" -c 'import h5py
with h5py.File("worse.h5", "r+") as f:
    f["data"].attrs["source_name"] = "\xe9"'
expected=4 json "verify --crc of damage" 'j["agrees"] is False and j["damaged"] >= 1 and j["damaged_rows"][0]["first_row"] <= 40 and
    j["objects_damaged"] == 1 and "source_name" in j["damaged_objects"][0]' "$voltmill" verify --json --crc worse.h5
expected=4 json "verify of damage" 'j["agrees"] is False and j["rms_error"] > j["rms_error_limit"]' "$voltmill" verify --json --all bad.h5
fails "verify says why" 4 'bad\.h5 is not what the reference makes' "$voltmill" verify --json --all bad.h5

# A run that is not finished.
"$python" - "$voltmill" <<'PYTHON'
import os, signal, subprocess, sys, time
with open("log", "w") as log:
    run = subprocess.Popen([sys.argv[1], "run", "job.yaml", "--set", "products.0.file=u.h5", "--set", "products.1.file=v.h5",
                            "--set", "dedisperse.0.file=w.h5", "--set", "run.chunk=16"], stdout=log, stderr=log,
                           env={**os.environ, "VOLTMILL_NOTHING": "1"})
    # Not before its head is written.
    while not (os.path.exists("u.h5.journal") and os.path.getsize("u.h5.journal")) and run.poll() is None:
        time.sleep(0.001)
    run.send_signal(signal.SIGKILL)
    run.wait()
PYTHON
if [ -s u.h5.journal ]; then
    json "status of what is begun" 'j["state"] == "unfinished" and j["is_at_work"] is False and j["has_journal"] and
        0 <= j["chunks_done"] <= j["chunks"] and j["chunks"] > 9 and "0." in j["begun_by"]' "$voltmill" status --json u.h5
else
    skip "the run was quicker than its end"
fi

# Errors are no JSON.
for command in "info --json nowhere.h5" "status --json nowhere.h5" "verify --json nowhere.h5" "verify --json --crc nowhere.h5" \
    "plan --json nowhere.yaml"; do
    # shellcheck disable=SC2086
    errs 4 nowhere "$voltmill" $command
    [ ! -s stdout ] || bad=1
    ok $bad "nothing on stdout: $command"
done
plan
