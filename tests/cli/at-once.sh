#!/usr/bin/env bash
# Several runs of one job at once: one makes the products, and who finds them complete says so, as a later run does.
. "$(dirname "$0")/../tools/lib.sh"
samples=50000
. "$here/tests/cli/begun.bash"

# overtake FILE FOLDER COMMAND...: the command, which waits for the lock of FILE until the products of FOLDER have been
# put in their places, as the run does that had it
overtake() {
    local name=$1 folder=$2 pid link tries
    shift 2
    : >"$name"
    exec 9<>"$name"
    flock 9
    "$@" >stdout 2>stderr 9>&- &
    pid=$!
    for ((tries = 0; tries < 3000; tries++)); do
        for link in /proc/$pid/fd/*; do
            [[ $(readlink "$link") != *"/$name" ]] || break 2
        done
        kill -0 $pid 2>/dev/null || break
        sleep 0.01
    done
    cp -p "$folder"/* .
    rm "$name"
    exec 9>&-
    status=0
    wait $pid || status=$?
}

runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
mkdir whole
mv spectra.h5 power.h5 whole
overtake spectra.h5.part whole "$voltmill" run job.yaml
same "a run that waits for another one finds that it has completed the products" \
    "0 complete before: spectra.h5, power.h5" "$status $(<stdout)$(<stderr)"
same "leaves them as they are" "$expected" "$(digest)"
[ -z "$(ls ./*.part ./*.journal 2>/dev/null)" ]
ok $? "and leaves nothing else"

# Products have their names, but the run that named them has not ended yet.
clear_all
touch whole/power.h5.journal
(
    for ((tries = 0; tries < 3000; tries++)); do
        [ ! -e power.h5.journal ] || break
        sleep 0.01
    done
    sleep 0.7
    rm power.h5.journal
) &
overtake spectra.h5.part whole "$voltmill" run job.yaml
rm whole/power.h5.journal
same "it waits for the end of a run that has begun to name its products" \
    "0 complete before: spectra.h5, power.h5" "$status $(<stdout)$(<stderr)"
same "whose products are as they were" "$expected" "$(digest)"

clear_all
overtake spectra.h5.part whole "$voltmill" run job.yaml --set channelise.taps=8
[ $status = 2 ] && grep -q '^error: spectra.h5 exists already: --force replaces it$' stderr
ok $? "products of another job are not replaced" || note <stderr
same "nor changed" "$expected" "$(digest)"

cat >bursts.yaml <<'YAML'
input:
  files: obs.h5
  layout: {dataset: /v, axes: "time,pol,reim", sample_rate_hz: 1e6, freq_hz: 100e6}
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: power, file: power.h5, integrate: 4}]
dedisperse: {dm: {start: 0, step: 0.1, count: 3}, file: series.h5}
YAML
clear_all
runs "power and series" "$voltmill" run bursts.yaml
expected=$(sha256sum power.h5 series.h5)
mkdir power
mv power.h5 power
rm series.h5
overtake power.h5.part power "$voltmill" run bursts.yaml
[ $status = 0 ] && grep -q '^note: power.h5 is complete: continues with dedispersion$' stderr
ok $? "what the other run has not made yet is made" || note <stderr
same "with the same bytes" "$expected" "$(sha256sum power.h5 series.h5)"

mkdir parts
runs "a semi-coherent search" "$voltmill" run bursts.yaml --set 'dedisperse.coherent=[0.1]' --set dedisperse.file=parts/all.h5
overtake all.h5.coherent parts "$voltmill" run bursts.yaml --set 'dedisperse.coherent=[0.1]' --set dedisperse.file=all.h5
same "is found complete, too" "0 complete before: all.h5" "$status $(<stdout)$(<stderr)"
same "nothing else is left" all.h5 "$(echo all.h5*)"

# Commands that begin their files anew: what they find completed is compared, as a later command does.
mkdir made
finds() { # finds FILE COMMAND...
    local file=$1
    shift
    "$@" >log 2>&1 && mv "$file" made || { note <log; return; }
    overtake "$file.part" made "$@"
    same "$2 finds its file complete" "0 complete before: $file" "$status $(<stdout)$(grep -v ^note: stderr)"
    cmp "$file" "made/$file" && [ ! -e "$file.part" ]
    ok $? "and leaves it alone"
    rm -f "$file" made/*
}
echo '{file: made.h5, samples: 2000, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e8, noise: 20}' >spec.yaml
finds power.fil "$voltmill" export --format fil power.h5
finds made.h5 "$voltmill" synth spec.yaml
"$voltmill" synth spec.yaml >log 2>&1
finds new.h5 "$voltmill" import -o new.h5 made.h5
sed -i '/^dedisperse/d' bursts.yaml
for part in 0,3200 3200,6400; do
    "$voltmill" run bursts.yaml --set "products.0.file=from-${part%,*}.h5" --set "input.select.samples=[$part]" >log 2>&1
done
finds joined.h5 "$voltmill" join -o joined.h5 from-0.h5 from-3200.h5
plan
