#!/usr/bin/env bash
# Names that would steer a terminal or break a line reach it quoted, wherever they come from: paths, jobs,
# attributes of archives, datasets.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

evil=$'e\e[31m\nvil'
cat >obs.yaml <<END
file: "e\\e[31m\\nvil.h5"
samples: 4096
bits: 8
sample_rate_hz: 1e6
freq_hz: 1.4e9
noise: 12
END
cat >job.yaml <<END
input: {files: "e\\e[31m\\nvil.h5"}
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: power, file: "p\\e[31m\\nvil.h5", integrate: 4}]
dedisperse: {file: "s\\e[31m\\nvil.h5", backend: cpu, dm: {list: [0, 1]}}
END

# quoted STATUS COMMAND...: ends so, names the file, and says nothing raw
quoted() {
    local expected=$1 status=0 bad=0
    shift
    "$voltmill" "$@" >output 2>&1 || status=$?
    [ "$status" = "$expected" ] || { echo "# exit status $status"; bad=1; }
    grep -q 'x1b\[31m' output || { echo "# the name does not show"; bad=1; }
    if LC_ALL=C grep -q '[^[:print:][:space:]]' output || grep -q '^vil' output; then bad=1; fi
    local words
    printf -v words '%q ' "$@"
    ok $bad "$words"
    [ $bad = 0 ] || cat -v output | note
}
quoted 0 synth obs.yaml
warm - <<'PYTHON'
import h5py
with h5py.File("e\x1b[31m\nvil.h5", "r+") as f:
    f.attrs["source"] = "B\x1b[31m0329\n+54"
    f.attrs["telescope"] = "T\x1b]0;title\x07"
with h5py.File("other.h5", "w") as f:
    f["d\x1b[31m\nvil"] = 1
PYTHON
quoted 0 plan job.yaml
quoted 0 run job.yaml
quoted 2 run --set "products.0.integrate=8" job.yaml
quoted 0 info "$evil.h5"
quoted 0 info other.h5
quoted 0 info $'p\e[31m\nvil.h5'
quoted 0 info $'s\e[31m\nvil.h5'
quoted 0 status $'p\e[31m\nvil.h5'
quoted 0 verify $'p\e[31m\nvil.h5'
quoted 0 verify --crc $'s\e[31m\nvil.h5'
quoted 0 export --format fil --out $'f\e[31m\nvil.fil' $'p\e[31m\nvil.h5'
quoted 0 export --format dat --dm 1 --out "$evil" $'s\e[31m\nvil.h5'
same "a .inf: no control characters, and a line for each key" "0 0" \
    "$(LC_ALL=C grep -c '[^[:print:]]' "$evil"*.inf) $(grep -vc '=  \|^ Any\|^    \|^$' "$evil"*.inf)"
grep -q 'without suffix *=  e.x1b.31m.nvil' "$evil"*.inf
ok $? "its name is quoted"
quoted 4 info $'no\e[31m\nvil.h5'
quoted 4 run $'no\e[31m\nvil.yaml'
quoted 2 plan --set $'channelise.c\e[31m\nvil=5' job.yaml
quoted 2 plan --set $'products.0.kind=c\e[31m\nvil' job.yaml
quoted 2 run $'--c\e[31m\nvil' job.yaml
quoted 2 $'c\e[31m\nvil'
printf 'input: {files: obs.h5}\nx\e[31m: 1\n' >raw.yaml
status=0
"$voltmill" plan raw.yaml >output 2>&1 || status=$?
same "a control character in a job" "2 0" "$status $(LC_ALL=C grep -c '[^[:print:][:space:]]' output)"

# Endings are added to names while products are written.
sed '/^dedisperse/d' job.yaml >bare.yaml
long=$(printf '%0250d' 0)
for bytes in 243 244 247 248 250; do
    job=(--set "products=[{kind: power, file: ${long:0:bytes}, compress: zstd}]" bare.yaml)
    if [ $bytes -le 247 ]; then
        runs "a name of $bytes bytes" "$voltmill" run "${job[@]}"
        runs "a .fil of $bytes bytes" "$voltmill" run --set \
            "products=[{kind: power, file: ${long:0:bytes-4}.fil, format: fil}]" bare.yaml
    else
        for command in plan run; do
            fails "$command: a name of $bytes bytes" 2 "its name has $bytes bytes, expected at most 247" "$voltmill" $command "${job[@]}"
        done
    fi
done
plan
