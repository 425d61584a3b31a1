# A semi-coherent search: passes for each coherent DM one after the other, and one file of series in the end. A burst
# between two coherent DMs is found at its DM and time, sharper than without; no cut, rank or kill changes a byte.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
export VOLTMILL_CACHE=$work/cache

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
cat >job.yaml <<'YAML'
input: {files: obs.h5}
channelise: {channels: 4, taps: 4, backend: cpu}
products: [{kind: power, file: power.h5, integrate: 4}]
dedisperse:
  coherent: [5, 10, 12.5, 15, 40]
  dm: {start: 8, step: 0.25, count: 25}
  file: series.h5
run: {chunk: 500, threads: 1, sync: 0.01}
YAML

# --- what is planned
runs "is planned" "$voltmill" plan job.yaml
"$voltmill" plan job.yaml >planned 2>&1
same "says the coherent DMs that are needed" "10 14 12.5 10 15 1" \
    "$(sed -n 's/^  DM \([0-9.]*\) .*), \([0-9]*\) DMs\{0,1\} (.*/\1 \2/p' planned | xargs)"
grep -q '^series of all coherent DMs, in one file$' planned && grep -q '^  ./ *[0-9.]* MiB .* needed' planned
ok $? "says the last pass, and the room of all"
same "says the memory of each of the passes" 3 "$(grep -c '^  memory .* a rank' planned)"
same "writes nothing" "./obs.h5" "$(echo ./*.h5*)"

# --- what comes of it
runs "an undisturbed run" "$voltmill" run job.yaml
same "nothing else is left" "obs.h5 series.h5" "$(echo ./*.h5* | sed 's:\./::g')"
expected=$(sha256sum series.h5)
runs "once more: is complete" "$voltmill" run job.yaml
grep -q '^complete before: series.h5$' output
ok $? "says so"
runs "its CRCs" "$voltmill" verify --crc series.h5
fails "is not recomputed" 2 'power is not kept: it is not recomputed, but --crc' "$voltmill" verify series.h5
runs "without coherent DMs" "$voltmill" run job.yaml --set 'dedisperse.coherent=[11]' --set dedisperse.file=best.h5
sed '/coherent:/d; s/power.h5/plain-power.h5/; s/series.h5/plain.h5/' job.yaml >plain.yaml
runs "incoherent dedispersion" "$voltmill" run plain.yaml
# The share of one coherent DM, by hand: the same rows.
sed 's/power.h5/share-power.h5/; s/series.h5/share.h5/' job.yaml >share.yaml
runs "one share" "$voltmill" run share.yaml --set 'filter={dispersion: {dm: 10, span: 15}}'
runs "the share agrees with the reference" "$voltmill" verify share.h5
said=$(warm - <<'PYTHON'
import h5py, numpy as np

def peak(name):
    with h5py.File(name) as f:
        d = f["dedispersed"][:].astype(float)
        d = (d - np.median(d, 1)[:, None]) / np.std(d[:, :300], 1)[:, None]
        at = np.unravel_index(d.argmax(), d.shape)
        return f["dm"][at[0]], f["time"][at[1]], d[at]

f = h5py.File("series.h5")
high = f["provenance"].attrs["reference_hz"] / 1e6
when = 0.03 + 1 / 2.41e-4 * 11 * (high**-2 - 302.0**-2)
dm, time, height = peak("series.h5")
print("found", dm == 11, abs(time - when) < 2 * f.attrs["time_step"])
print("sharper", height > 4 * peak("plain.h5")[2], peak("best.h5")[2] > height)
print("DMs", (f["dm"][:] == 8 + 0.25 * np.arange(25)).all())
coherent = np.array([10, 12.5, 15])
nearest = [coherent[np.abs(coherent - d).argmin()] for d in f["dm"][:]]
print("nearest", (f["provenance/coherent_dms"][:] == nearest).all())
# Delays by their formula, of one origin; and one share, made by itself, is the same rows at the same times.
p = f["provenance"]
fs, v, r = (x / 1e6 for x in (p["frequency"][:], p["delay_hz"][:], p.attrs["reference_hz"]))
k, c = p.attrs["constant"], p["coherent_dms"][:][:, None]
d = k * (c * (v**-2 - r**-2) + (f["dm"][:][:, None] - c) * (fs**-2 - r**-2)) / f.attrs["time_step"]
print("delays", np.abs(p["delays"][:].astype(int) + p.attrs["origin"] - d).max() < 0.5 + 1e-6, p["delays"][:].min() == 0)
share = h5py.File("share.h5")
mine = p["coherent_dms"][:] == 10
print("share", (share["dm"][:] == f["dm"][:][mine]).all(), (share["time"][:] == f["time"][:]).all(),
      share["dedispersed"][:].tobytes() == f["dedispersed"][:][mine].tobytes())
PYTHON
)
same "DMs, times, delays, sharpness" "found True True
sharper True True
DMs True
nearest True
delays True True
share True True True" "$said"

# --- bytes
runs "3 ranks, other chunks" mpirun -n 3 "$voltmill" run --force --set run.chunk=277 job.yaml
same "the same bytes" "$expected" "$(sha256sum series.h5)"
runs "edges: pad" "$voltmill" run job.yaml --set dedisperse.edges=pad --set dedisperse.file=pad.h5
same "makes more times" True "$(warm -c "
import h5py
a, b = (h5py.File(x)['time'] for x in ('pad.h5', 'series.h5'))
print(len(a) > len(b))")"

slow=(env "LD_PRELOAD=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}" SHIM_NAP=4)
killed() { # killed FILE: a run is killed as soon as there is this file
    "${slow[@]}" "$voltmill" run job.yaml >log 2>&1 &
    local run=$! end=$((SECONDS + 300))
    while [ ! -e "$1" ] && [ "$SECONDS" -lt "$end" ] && kill -0 $run 2>/dev/null; do nap 0.01; done
    sleep 0.05
    kill -9 $run 2>/dev/null
    { wait $run; } 2>/dev/null
    [ ! -e series.h5 ]
    ok $? "killed when $1 was there"
}
rm series.h5
killed power.h5.coherent-1.part
killed series.h5.coherent-1.part
killed power.h5.coherent-2.part
[ ! -e power.h5.coherent-1 ] && [ -e series.h5.coherent-1 ]
ok $? "power goes when its series are complete"
runs "is planned from there" "$voltmill" plan job.yaml
grep -q '(series.h5.coherent-1): complete$' output
ok $? "says what is complete"
errs 2 'series.h5.coherent-1 exists already: .*made by another job.*10 then, - 9.5 now' \
    "$voltmill" run job.yaml --set 'dedisperse.coherent=[5, 9.5, 12.5, 15, 40]'
ok "$bad" "another list is refused"
killed series.h5.part
runs "the same command goes on, on 2 ranks" mpirun -n 2 "$voltmill" run job.yaml
same "the same bytes after 4 kills" "$expected" "$(sha256sum series.h5)"
same "nothing is left but products" "" "$(ls ./*.part ./*.journal ./*.coherent-* 2>/dev/null)"

# As a run leaves it that is killed when its series have their name, and no file has been removed.
cp share.h5 series.h5.coherent-1
runs "the series of another job" "$voltmill" run job.yaml
[ -e series.h5.coherent-1 ]
ok $? "stay"
rm series.h5.coherent-1
killed_late() {
    rm series.h5
    "${slow[@]:0:2}" SHIM_RENAME=7 "$voltmill" run job.yaml >log 2>&1
    [ -e series.h5.part ] && [ "$(echo ./*.coherent-* | wc -w)" = 4 ]
}
{ killed_late; } 2>/dev/null
ok $? "killed before the last product has its name"
cp -p series.h5.coherent-* power.h5.coherent-* "$work/cache"
runs "the next run names it" "$voltmill" run job.yaml
same "the same bytes again" "$expected" "$(sha256sum series.h5)"
cp -p cache/*.h5.coherent-* .
exec {held}>series.h5.coherent
flock "$held"
runs "one that finds it complete while another makes it anew" "$voltmill" run job.yaml
same "removes nothing" "$(cd cache && echo ./*.coherent-*)" "$(echo ./*.coherent-*)"
exec {held}>&-
echo notes >series.h5.coherent
runs "one that finds it complete, and cannot lock" "$voltmill" run job.yaml
same "removes nothing either" "$(cd cache && echo ./*.coherent-*)" "$(echo ./*.coherent-*)"
: >series.h5.coherent
runs "one that finds it complete" "$voltmill" run job.yaml
same "removes what was left" "" "$(ls ./*.coherent* 2>/dev/null)"

# --- what cannot be
bad() { # bad NAME STATUS PATTERN SETS...
    local name=$1 status=$2 pattern=$3 sets=()
    shift 3
    for value in "$@"; do sets+=(--set "$value"); done
    fails "$name" "$status" "$pattern" "$voltmill" run job.yaml --set dedisperse.file=out.h5 "${sets[@]}"
}
bad "not ascending" 2 'dedisperse\.coherent\.1: is 5, expected more than the 10' 'dedisperse.coherent=[10, 5]'
bad "a tolerance" 2 'dedisperse\.dm: has a tolerance' 'dedisperse.dm={start: 1, end: 9, tolerance: 1.2}'
bad "two steps" 2 'dedisperse\.mode: is two-step, expected auto, brute or tree' dedisperse.mode=two-step
bad "two products" 2 'products: expected the power product alone' 'products.1={kind: power, file: other.h5}'
bad "a search" 2 'dedisperse\.search: .*expected a job for each coherent DM, with .filter: \{dispersion: \{dm: DM\}\}' \
    dedisperse.search.file=found.h5
sed '/coherent:/d; s/count: 25/count: 14/; s/power.h5/ten-power.h5/; s/file: series.h5/search: {file: found.h5}/' job.yaml >ten.yaml
runs "which finds the burst" "$voltmill" run ten.yaml --set 'filter={dispersion: {dm: 10}}'
same "at its DM" 11 "$(warm -c "
import h5py
found = h5py.File('found.h5')['candidates'][:]
print(round(float(found['dm'][found['snr'].argmax()])))")"
bad "a filter of another DM" 2 'dedisperse\.coherent: .* was dedispersed coherently to DM 11, which is none of them' \
    'filter={dispersion: {dm: 11}}'
cat >bank.yaml <<'YAML'
input: {files: plain-power.h5}
dedisperse: {coherent: [10, 15], dm: [11], file: out.h5}
YAML
fails "a filterbank that is not" 2 'dedisperse\.coherent: plain-power\.h5 was not dedispersed coherently' \
    "$voltmill" run bank.yaml
runs "a filterbank that is" "$voltmill" run bank.yaml --set input.files=share-power.h5
fails "a share without DMs" 2 'of these DMs 10 is the nearest of no DM' \
    "$voltmill" run bank.yaml --force --set input.files=share-power.h5 --set dedisperse.dm=14
bad "a span with a reference" 2 'filter\.dispersion\.span: is for the reference channel' \
    'filter={dispersion: {dm: 10, span: 15, reference: 302e6}}'

# --restart removes what runs have left, and nothing else.
rm series.h5
cp "$work"/cache/power.h5.coherent-3 .
echo notes >power.h5.coherent-1.journal
errs 2 'power.h5.coherent-1.journal exists, but was not left by voltmill' "$voltmill" run --restart job.yaml
ok "$bad" "--restart refuses a journal of another program"
same "which stays" notes "$(cat power.h5.coherent-1.journal)"
[ ! -e power.h5.coherent-3 ]
ok $? "a product of this job goes"
rm power.h5.coherent-1.journal
unfinish power.h5.coherent-1.part r
inode=$(stat -c %i power.h5.coherent-1.part)
exec {held}<power.h5.coherent-1.part
flock "$held"
errs 2 'power.h5.coherent-1.part is being written by another run' "$voltmill" run --restart job.yaml
ok "$bad" "--restart refuses a part that another run holds"
same "which is the same file" "$inode" "$(stat -c %i power.h5.coherent-1.part)"
exec {held}<&-
runs "--restart, once it is free" "$voltmill" run --restart job.yaml
same "the same bytes after --restart" "$expected" "$(sha256sum series.h5)"
plan
