# Unfinished files of another user: no command resumes, replaces or publishes them unless --adopt is given.
. "$(dirname "$0")/../tools/lib.sh"
if [ "$(id -u)" != 0 ]; then
    echo "1..0 # SKIP only root can give files to another user"
    exit 0
fi
samples=200000
. "$(dirname "$0")/begun.bash"
other=12345 # a number without a name

# refused NAME PATTERN COMMAND...: errs with status 2, and nothing changes
refused() {
    local name=$1 bad before
    before=$(sha256sum -- *.part *.journal 2>&1)
    errs 2 "$2" "${@:3}"
    [ "$before" = "$(sha256sum -- *.part *.journal 2>&1)" ] || { echo "# something changed"; bad=1; }
    ok "$bad" "$name"
    [ "$bad" = 0 ] || note <"$work/stderr"
}

runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
clear_all
"${slow[@]}" "$voltmill" run job.yaml >log 2>&1 &
run=$!
await 10 || echo "# it did not begin"
kill -9 $run
{ wait $run; } 2>/dev/null

chown $other power.h5.part
refused "another's .part: run" "power\.h5\.part belongs to another user, without a name \(uid $other\): --adopt takes it over" \
    "$voltmill" run job.yaml
refused "and with --force --restart" 'power\.h5\.part belongs to another user' "$voltmill" run --force --restart job.yaml
refused "plan says so" 'power\.h5\.part belongs to another user' "$voltmill" plan job.yaml
chown 0 power.h5.part
chown $other spectra.h5.journal
refused "another's journal: run" 'spectra\.h5\.journal belongs to another user' "$voltmill" run job.yaml
runs "status reads it" "$voltmill" status spectra.h5
runs "plan --adopt goes on" "$voltmill" plan --adopt job.yaml
runs "run --adopt goes on" "$voltmill" run --adopt job.yaml
same "with its chunks" 1 "$(grep -cE '^note: [0-9]+ of [0-9]+ chunks are done: resumes' "$work/output")"
same "to the same bytes" "$expected" "$(digest)"

# The others begin anew what was left.
cat >sky.yaml <<'YAML'
file: sky.h5
samples: 4000
streams: {pols: 2}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
YAML
runs "something to join" "$voltmill" run job.yaml --set 'products=[{kind: power, file: early.h5}]' --set 'input.select.samples=[0, 64000]'
runs "and more" "$voltmill" run job.yaml --set 'products=[{kind: power, file: late.h5}]' --set 'input.select.samples=[64000, 128000]'
# others NAME OUTPUT COMMAND...
others() {
    local name=$1 out=$2
    shift 2
    : >"$out.part"
    chown $other "$out.part"
    refused "$name" "$out\.part belongs to another user" "$voltmill" "$@"
    runs "$name --adopt" "$voltmill" "$@" --adopt
    rm -f "$out" "$out.part"
}
others synth sky.h5 synth sky.yaml
runs "something to import" "$voltmill" synth sky.yaml
others import copy.h5 import -o copy.h5 sky.h5
others export power.fil export --format fil power.h5
others join both.h5 join -o both.h5 early.h5 late.h5
! has_pictures || others plot power.png plot power.h5
plan
