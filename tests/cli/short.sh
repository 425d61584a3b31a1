#!/usr/bin/env bash
# Less to write: `new` prints a job that runs as it is, of a small archive of each format; `run` takes a job from
# standard input and from --set alone; `spec` makes the product of the job that it prints; serial commands act once
# under mpirun.
. "$(dirname "$0")/../tools/lib.sh"
no_devices
cd "$work" || exit 1
export VOLTMILL_CACHE=$work/cache

# new: archives whose files say all that their job needs.
PYTHONPATH=$here/tests/clients warm - <<'END' >inputs
import json, os
from mocks import every
for name, (write, (job, products)) in every.MOCKS.items():
    os.makedirs(name)
    written = every.write(name, name)[0]["input"]
    files = written["files"] if isinstance(written["files"], list) else [written["files"]]
    if "layout" not in written and "dedisperse" not in job:
        print(name, *files, sep="\t")
END
tried=0
while IFS=$'\t' read -r name files; do
    IFS=$'\t' read -ra list <<<"$files"
    tried=$((tried + 1))
    cd "$work/$name" || exit 1
    "$voltmill" new "${list[@]}" >job.yaml 2>errors && "$voltmill" run job.yaml --set channelise.backend=cpu \
        --set run.on_bad=nan >output 2>&1
    status=$?
    [ "$status" = 0 ] || [ "$status" = 6 ]
    ok $? "new: $name runs as printed"
    [ -e "$(sed -n 's/.*file: \([^ ]*\).*/\1/p' job.yaml)" ] || { cat job.yaml errors output | note; }
done <inputs
cd "$work" || exit 1
same "of many formats" 1 "$((tried >= 12))"

echo '{file: obs.h5, samples: 200000, streams: {pols: 2}, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e8, noise: 20}' >synth.yaml
"$voltmill" synth synth.yaml >output || cat output
"$voltmill" new 'obs*.h5' >job.yaml
same "new: the numbers of this observation" "channels: 2048 taps: 8 integrate: 1" \
    "$(grep -o 'channels: [0-9]*\|taps: [0-9]*\|integrate: [0-9]*' job.yaml | paste -sd ' ')"
same "and its facts" 1 "$(grep -c '^# native layout: 200 ms, 2 streams of 200,000 complex samples' job.yaml)"
fails "new: a file that is not there" 4 'nowhere.h5: No such file' "$voltmill" new nowhere.h5
fails "new: no archive" 4 'synth.yaml is not an HDF5 file' "$voltmill" new synth.yaml

# run - and --set
sum() { warm -c 'import h5py, hashlib, sys; print(hashlib.sha256(h5py.File(sys.argv[1], "r")["data"][()].tobytes()).hexdigest())' "$1"; }
power='{kind: power, file: set.h5, integrate: 16, polarisation: I}'
runs "run --set alone" "$voltmill" run --set input.files=obs.h5 --set channelise.channels=64 --set channelise.backend=cpu \
    --set "products=[$power]"
cat >power.yaml <<END
input: {files: obs.h5}
channelise: {channels: 64, backend: cpu}
products: [${power/set/stdin}]
END
runs "run - under mpirun" mpirun -n 2 "$voltmill" run - <power.yaml
runs "again, from a pipe" bash -c 'cat power.yaml | "$0" run - | tee said' "$voltmill"
same "is complete" "complete before: stdin.h5" "$(cat said)"
runs "plan -" bash -c '"$0" plan - <power.yaml | grep -q "stdin.h5.* complete"' "$voltmill"
runs "run --each -" "$voltmill" run --each 'obs*.h5' --set 'products.0.file="{name}-each.h5"' - <power.yaml
fails "neither a file nor --set" 2 'run: expected one job file or --set, got 0' "$voltmill" run
fails "mistakes of --set" 2 'products: is missing' "$voltmill" run --set input.files=obs.h5 --set channelise.channels=64
fails "mistakes of standard input" 2 'standard input:1: inpt: unknown key, did you mean input' "$voltmill" run - \
    < <(sed s/input/inpt/ power.yaml)

# spec
runs "spec" mpirun -n 2 "$voltmill" spec -c 64 -t 16 -p I -o spec.h5 --set channelise.backend=cpu obs.h5
sed -n '/^input:/,/backend/p' output >printed.yaml
echo 'products: [{kind: power, file: spec.h5, integrate: 16, polarisation: I}]' >>printed.yaml
runs "prints the job that it has run" "$voltmill" run printed.yaml --set channelise.backend=cpu
same "which is complete" "complete before: spec.h5" "$(cat output)"
same "all these products have the same bytes" "$(sum set.h5) $(sum set.h5) $(sum set.h5)" \
    "$(sum stdin.h5) $(sum spec.h5) $(sum obs-each.h5)"
runs "spec --set" "$voltmill" spec -c 64 -o live.h5 --dry-run --set run.threads=1 --set filter.dispersion.dm=10 obs.h5
sed -n '/^input:/,/^archive/p' output | sed '$d' >printed.yaml
runs "prints a job with what is set" "$voltmill" plan printed.yaml
same "as lines of it" "dm: 10 threads: 1 filter 0" "$(grep -ho ' dm: 10\| threads: 1\|^filter 0' printed.yaml output | sort | xargs)"
runs "spec in units" "$voltmill" spec -c 15kHz -t '1 ms' -o units.fil --taps 4 'ob?.h5' --set channelise.backend=cpu
same "spec: width and time" 2 "$(grep -c 'width 15 kHz: 66 channels\|integrate 1 ms: 15 spectra' output)"
runs "spec --dry-run" "$voltmill" spec -c 64 -o dry.h5 --dry-run obs.h5
same "writes nothing" 1 "$([ ! -e dry.h5 ] && grep -c '^filter bank' output)"
layout='{format: raw, type: ci8, sample_rate_hz: 1e6}'
tail -c 65536 obs.h5 >obs.bin
runs "spec --layout" "$voltmill" spec -c 16 -o raw.h5 --layout "$layout" obs.bin
sed -n '/^input:/,/^  - /p' output >printed.yaml
runs "the job that it prints" "$voltmill" run printed.yaml
same "has the layout" 1 "$(grep -c '^complete before: raw.h5' output)"
runs "new --layout" bash -c '"$0" new --layout "$1" obs.bin | "$0" run -' "$voltmill" "$layout"
same "the same" 1 "$(grep -c '^obs-power.h5: power' output)"
fails "a layout without braces" 2 'new --layout format: raw: expected a mapping in braces' "$voltmill" new --layout 'format: raw' obs.bin
fails "raw numbers: names the option" 4 "other numbers: .*, or --layout .*voltmill info --layout '\{format: raw\}'" "$voltmill" new obs.bin
fails "spec without -c" 2 'spec: expected -c N' "$voltmill" spec -o x.h5 obs.h5
fails "spec -o x.txt" 2 'spec -o x.txt: expected a name that ends in' "$voltmill" spec -c 4 -o x.txt obs.h5
fails "spec without -o" 2 'spec: expected -o FILE' "$voltmill" spec -c 4 obs.h5
fails "spec -p" 2 'spec --pol Q: expected separate, I, IQUV or coherency' "$voltmill" spec -c 4 -p Q -o x.h5 obs.h5
fails "spec -c" 2 'spec:[0-9]*: channelise.channels: is 3' "$voltmill" spec -c 3 -o x.h5 obs.h5

# serial commands under mpirun
for command in 'info obs.h5' 'plan power.yaml' 'new obs.h5' 'status stdin.h5' --version --help 'info --help' 'job --schema'; do
    same "mpirun voltmill $command: once" "$("$voltmill" $command 2>&1)" "$(mpirun -n 2 "$voltmill" $command 2>&1)"
done
plan
