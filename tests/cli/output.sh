#!/usr/bin/env bash
# Standard output that cannot be written: every command says so and ends with an error. Closed, it is no other file.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
[ -w /dev/full ] || { echo "1..0 # SKIP no /dev/full here"; exit 0; }

cat >obs.yaml <<'YAML'
file: obs.h5
samples: 20000
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
YAML
cat >job.yaml <<'YAML'
input: {files: obs.h5}
channelise: {channels: 64, taps: 4, backend: cpu}
products: [{kind: power, file: power.h5, integrate: 3}]
run: {threads: 1}
YAML
full() { # full COMMAND...: with standard output on a full disk
    fails "full: $*" 3 '^error: standard output cannot be written: No space left' \
        bash -c 'exec "$@" >/dev/full' full "$voltmill" "$@"
}
full synth obs.yaml
full run job.yaml
runs "what was made is whole" "$voltmill" verify power.h5
for json in "" --json; do
    full info $json obs.h5
    full info $json power.h5
    full plan $json job.yaml
    full status $json power.h5
    full verify $json power.h5
    full verify $json --crc power.h5
done
full run job.yaml
full ddplan --dms 0..2000 power.h5
full ddplan --dms 0..2000 --job power.h5
full export --format fil -o power.fil power.h5
full export --format kerchunk -o power.json power.h5
full bench ppf --backend cpu --channels 64 --samples 65536 --repeat 1 --threads 1
full --help
full bench --help
full run --help
full --version
full --options
fails "a failure of the command itself comes first" 4 'nowhere' bash -c 'exec "$0" info nowhere >/dev/full' "$voltmill"


# The next file that is opened would get the number of a closed descriptor.
bench=(bench ppf --backend cpu --channels 64 --samples 65536 --repeat 1 --threads 1)
runs "a table" "$voltmill" "${bench[@]}" --csv table.csv
fails "closed: nothing is printed" 4 '^error: standard output cannot be written: Bad file descriptor' \
    bash -c 'exec "$@" >&-' closed "$voltmill" "${bench[@]}" --csv closed.csv
same "and the table is a table" "$(sed 's/,.*//' table.csv)" "$(sed 's/,.*//' closed.csv)"
bash -c 'exec "$@" 2>&-' closed "$voltmill" run --force job.yaml --set products.0.file=quiet.h5 >/dev/null
same "without a place for errors: status, and the same product" "0 $(tail -c 4096 power.h5 | sha256sum)" \
    "$? $(tail -c 4096 quiet.h5 | sha256sum)"

# unread COMMAND...: with standard output and error a pipe that no one reads
unread() {
    "$python" -c "
import os, subprocess, sys
read, write = os.pipe()
os.close(read)
print(subprocess.run(sys.argv[1:], stdout=write, stderr=write).returncode)" "$@"
}
same "a reader that has gone: plan ends by SIGPIPE" -13 "$(unread "$voltmill" plan --force job.yaml)"
rm power.h5
same "a run goes on" 0 "$(unread "$voltmill" run --progress 0.001 job.yaml)"
runs "to its end" "$voltmill" verify --crc power.h5
plan
