# Coherent dedispersion in a job: a burst of one sample is one sample again, the filterbank says to which DM, and
# dedispersion takes that into account.
. "$(dirname "$0")/../tools/lib.sh"

cat >"$work/obs.yaml" <<YAML
file: $work/obs.h5
samples: 200000
streams: {stations: 1, pols: 1, chans: 4}
bits: 16
sample_rate_hz: 1e6
freq_hz: 400e6
noise: 10
burst: {time_s: 0.05, dm: 40, amplitude: 20000}
seed: 7
YAML
runs "an observation with a burst of one sample" "$voltmill" synth "$work/obs.yaml"

job() { # job NAME FILTER INPUT
    cat >"$work/$1.yaml" <<YAML
input: {files: $work/${3:-obs}.h5}
$2
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: power, file: $work/$1.h5}]
dedisperse: {dm: [0, 30, 40, 50], file: $work/$1-series.h5}
YAML
}
job coherent 'filter: {dispersion: {dm: 40}}'
job common 'filter: {dispersion: {dm: 40, reference: 401.5e6}}'
job plain ''
same "the plan says how far a chirp is not exact: 3.3 rate / guard" "8.6 3.2" \
    "$("$voltmill" plan "$work/coherent.yaml" | awk '/edges/ {print $3, $(NF - 2)}')"
same "and with what is asked for, and how many samples that leaves" "2 1.6 $((200000 - 5246 - 2 * 1650))" \
    "$("$voltmill" plan "$work/coherent.yaml" --set 'filter={dispersion: {dm: 40, edges: 2 kHz}}' |
        awk '/edges/ {width = $3 " " $(NF - 2)} /leaves/ {gsub(",", ""); print width, $2}')"
for name in coherent common plain; do runs "$name: run" "$voltmill" run "$work/$name.yaml"; done
cat >"$work/volts.yaml" <<YAML
input: {files: $work/obs.h5}
filter: {dispersion: {dm: 40}, backend: cpu}
products: [{kind: voltages, file: $work/volts.h5}]
YAML
runs "dedispersed voltages" "$voltmill" run "$work/volts.yaml"
job later '' volts
for name in volts coherent; do
    same "info of $name says so" 1 "$("$voltmill" info "$work/$name.h5" | grep -c 'dedispersed   coherently, to DM 40$')"
done
same "the plan of a job on such voltages says so" 1 "$("$voltmill" plan "$work/later.yaml" | grep -c 'dedispersed   coherently, to DM 40$')"
runs "later: run" "$voltmill" run "$work/later.yaml"

# For each series: the DM of its peak, the distance of its time from the burst's at 401.5 MHz, in spectra, and its
# width. The burst's time is that at the band's top edge, 402 MHz.
said=$(warm - "$work" <<'PYTHON'
import sys, h5py, numpy
work = sys.argv[1]
for name in ("coherent", "common", "plain", "later"):
    f = h5py.File(f"{work}/{name}-series.h5")
    d, t, dms = f["dedispersed"][:], f["time"][:], f["dm"][:]
    dm, at = numpy.unravel_index(numpy.argmax(d), d.shape)
    r = f["provenance"].attrs["reference_hz"] / 1e6
    arrival = 0.05 + 40 / 2.41e-4 * (1 / r**2 - 1 / 402**2)
    if name == "later": # its times count from the first sample of the voltages
        starts = [h5py.File(f"{work}/{n}.h5").attrs["start_second"] for n in ("volts", "obs")]
        arrival -= starts[0] - starts[1]
    width = int((d[dm] > d[dm].max() / 2).sum())
    print(name, dms[dm], abs(t[at] - arrival) < 2 * 16e-6 + 1e-6 if name != "plain" else "-", width <= 2,
          f["provenance"].attrs.get("coherent_dm", 0.0))
peak = [float(numpy.max(h5py.File(f"{work}/{name}-series.h5")["dedispersed"][2])) for name in ("coherent", "common", "later", "plain")]
print(min(peak[:3]) > 4 * peak[3], abs(peak[2] / peak[0] - 1) < 0.5)
PYTHON
)
same "the burst is found sharp at its DM and time, wherever it was dedispersed" "coherent 40.0 True True 40.0
common 40.0 True True 40.0
plain 40.0 - False 0.0
later 40.0 True True 40.0
True True" "$said"

for name in coherent coherent-series common; do runs "$name: verify" "$voltmill" verify "$work/$name.h5"; done
runs "export" "$voltmill" export "$work/coherent.h5" --format fil
same "SIGPROC cannot say it: a warning" 1 "$(grep -c 'warning: .*dedispersed coherently to DM 40' "$work/output")"

# Below 0: dispersed, by what dedispersion takes out again.
"$voltmill" synth "$work/obs.yaml" --set file="$work/sharp.h5" --set burst.dm=0 --set noise=0 --set bits=32 >/dev/null
"$voltmill" synth "$work/obs.yaml" --set file="$work/smeared.h5" --set noise=0 --set bits=32 >/dev/null
runs "a DM below 0" "$voltmill" run "$work/volts.yaml" --set input.files="$work/sharp.h5" \
    --set 'filter={dispersion: {dm: -40, reference: 402e6}}' --set products.0.file="$work/made.h5"
same "disperses as synth does" "-40.0 True" "$(warm - "$work" <<'PYTHON'
import sys, h5py, numpy
def of(name):
    f = h5py.File(f"{sys.argv[1]}/{name}.h5")
    v = f["voltages"][:].astype("f8")
    return v, f.attrs["start_second"], f.attrs.get("coherent_dm")
made, made_start, dm = of("made")
synth, start, _ = of("smeared")
synth = synth[round((made_start - start) * 1e6):][:len(made)]
print(dm, numpy.mean((made - synth) ** 2) < 0.02**2 * numpy.mean(synth ** 2))
PYTHON
)"

job twice 'filter: {dispersion: {dm: 1}}' volts
fails "voltages that are dedispersed already" 2 'dedispersed coherently to DM 40 already' "$voltmill" run "$work/twice.yaml"

# Files of such voltages are one observation where their delays are the same.
warm - "$work" <<'PYTHON'
import sys, shutil, h5py
work = sys.argv[1]
for name, hz in (("next", 0), ("else", 1e6)):
    shutil.copy(f"{work}/volts.h5", f"{work}/{name}.h5")
    with h5py.File(f"{work}/{name}.h5", "r+") as f:
        f.attrs["start_second"] += f["voltages"].shape[0] / 1e6
        f["delay_hz"][:] += hz
PYTHON
job joined ''
runs "voltages in two files" "$voltmill" run "$work/joined.yaml" --set "input.files=[$work/volts.h5, $work/next.h5]"
fails "other delays in the second" 4 'do not belong to one observation: their coherent dedispersion differ' \
    "$voltmill" run --force "$work/joined.yaml" --set "input.files=[$work/volts.h5, $work/else.h5]"
job far 'filter: {dispersion: {dm: 40000}}'
fails "a chirp longer than the observation" 2 'chirp spans [0-9,]+ samples' "$voltmill" run "$work/far.yaml"

# Power beyond floats is told of before and after a filter; a dead polarisation is no such power.
warm - "$work" <<'PYTHON'
import sys
import numpy as np
v = np.zeros((40000, 2, 2), "i1")
v[:, 0] = np.random.default_rng(3).integers(-20, 21, (40000, 2))
v.tofile(sys.argv[1] + "/half.ci8")
v.astype("f4").tofile(sys.argv[1] + "/half.cf32")
PYTHON
for filter in '' 'filter: {dispersion: {dm: 1}}'; do
    for type in ci8 cf32; do
        for of in 1: 1e-21:lost 1e21:infinite; do
            printf '%s\n' "input: {files: half.$type, layout: {format: raw, type: $type, axes: 'time,pol:2', sample_rate_hz: 1e6, scale: ${of%:*}, freq_hz: 1e9}}" \
                "$filter" 'channelise: {channels: 64, taps: 4, backend: cpu}' 'products: [{kind: power, file: half.h5, integrate: 10}]' >"$work/half.yaml"
            (cd "$work" && "$voltmill" run --force --restart half.yaml >output 2>&1)
            told=$(sed -n 's/^warning: half.h5: \([0-9,]*\) values are .*\(lost\|infinite\).*/\1 \2/p' "$work/output")
            expected=${of#*:}
            [ -z "$expected" ] || expected="$([ "$filter" ] && echo 3,840 || echo 3,968) $expected"
            same "volts of $type times ${of%:*}, ${filter:-no filter}" "$expected" "$told"
        done
    done
done

plan
