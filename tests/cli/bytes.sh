# The bytes of a product depend on the job alone: not on ranks, threads, chunks or memory. Checked as
# sha256 of the dataset of rows and of the whole file.
. "$(dirname "$0")/../tools/lib.sh"

cat >"$work/obs.yaml" <<YAML
file: $work/obs.h5
samples: 300000
streams: {stations: 2, pols: 2, chans: 2}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
tones: [{freq_hz: 100.2e6, amplitude: 30}]
seed: 7
YAML
runs "an observation" "$voltmill" synth "$work/obs.yaml"

# job NAME: products in files that begin with NAME
job() {
    cat <<YAML
input: {files: $work/obs.h5}
channelise: {channels: 120, taps: 5, window: hann}
products:
  - {kind: spectra, file: $work/$1-spectra.h5}
  - {kind: power, file: $work/$1-power.h5, integrate: 10}
  - {kind: power, file: $work/$1-long.h5, integrate: 150}
YAML
}

digest() { # digest NAME: of all three products, rows and whole files
    warm - "$work/$1" <<'PYTHON'
import hashlib, sys
import h5py
for kind, rows in (("spectra", "spectra"), ("power", "data"), ("long", "data")):
    name = f"{sys.argv[1]}-{kind}.h5"
    with h5py.File(name, "r") as f:
        print(kind, hashlib.sha256(f[rows][:].tobytes()).hexdigest())
    print(kind, hashlib.sha256(open(name, "rb").read()).hexdigest())
PYTHON
}

job base >"$work/base.yaml"
runs "one rank, one thread" "$voltmill" run --set run.threads=1 "$work/base.yaml"
expected=$(digest base)
same "six digests" 6 "$(printf '%s\n' "$expected" | wc -l)"

variant() { # variant NAME RANKS SETTINGS...
    local name=$1 ranks=$2 sets=()
    shift 2
    for setting in "$@"; do sets+=(--set "$setting"); done
    job "$name" >"$work/$name.yaml"
    runs "$name: runs" mpirun -n "$ranks" "$voltmill" run "${sets[@]}" "$work/$name.yaml"
    same "$name: same bytes" "$expected" "$(digest "$name")"
    rm -f "$work/$name"-*.h5
}

variant ranks-2 2
variant ranks-3 3 run.threads=1
variant ranks-5 5 run.threads=1
variant threads-2 1 run.threads=2
variant threads-9 2 run.threads=9
# Chunks hold whole dumps of all products, 150 spectra: these have 150, 450, 1050 and all of them.
variant chunk-150 2 run.chunk=1 run.threads=1
variant chunk-450 3 run.chunk=400 run.threads=2
variant chunk-1050 2 run.chunk=1050 run.threads=1
variant chunk-whole 2 run.chunk=1e6 run.threads=2
variant little-memory 2 run.memory=96MiB run.chunk=1e6 run.threads=1
# The memory that is there without being asked for, `auto`, is that of all others.
variant memory-1GiB 3 run.memory=1GiB run.threads=1
variant memory-96MiB 1 run.memory=96MiB run.threads=1

# A cutoff that is found, alike by all ranks: rows are those of the number that the product names.
job flat >"$work/flat.yaml"
runs "a flat cutoff" "$voltmill" run --set channelise.cutoff=flat --set run.threads=1 "$work/flat.yaml"
expected=$(digest flat)
runs "which verifies" "$voltmill" verify "$work/flat-power.h5"
found=$(warm -c 'import h5py, sys; print(repr(float(h5py.File(sys.argv[1], "r")["coefficients"].attrs["cutoff"])))' "$work/flat-power.h5")
same "it is above 1" yes "$(awk -v found="$found" 'BEGIN { print (found > 1.15 && found < 1.2 ? "yes" : found) }')"
same "and in the plan" 1 "$("$voltmill" plan --force --set channelise.cutoff=flat "$work/flat.yaml" | grep -c "cutoff flat ($found)")"
variant flat-3 3 channelise.cutoff=flat run.threads=1
job number >"$work/number.yaml"
runs "the number itself" "$voltmill" run --set channelise.cutoff="$found" "$work/number.yaml"
same "gives the same rows" "$(sed -n '1~2p' <<<"$expected")" "$(digest number | sed -n '1~2p')"

plan
