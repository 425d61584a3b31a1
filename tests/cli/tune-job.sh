# `voltmill tune JOB` and what runs make of it: the filter bank and the dedispersion of a job are tuned, found by
# its runs on any number of ranks, and change no byte of what a run has begun.
. "$(dirname "$0")/../tools/lib.sh"
samples=300000
. "$(dirname "$0")/begun.bash"
# The search of a filter bank takes time by its taps.
sed -i "s/taps: 64/taps: 8/" job.yaml
says() { grep -c -e "$1" "$work/output"; }
# praise HOW: log.csv, with the best times for configurations that match, in the search and in all turns: without a
# line of its own for a turn, a configuration would be timed again.
praise() {
    awk -F, -v OFS=, -v how="$1" '$3 !~ how { print }
        $3 ~ how && $2 == 0 { $4 = "0.001"; for ($2 = 0; $2 <= 16; $2++) print }' log.csv >praise.csv
}

runs "a job without a database" "$voltmill" run job.yaml
same "nothing is tuned" 0 "$(says tuned)"
plain=$(digest)
runs "its filter bank is tuned" "$voltmill" tune --log log.csv --database one.txt job.yaml
same "it says where it keeps that" "the database is one.txt" "$(tail -n 1 output)"
same "the database knows it" 1 "$(grep -c 'filter bank v2, 64 channels, 8 taps, complex 8 bit.*threads	' one.txt)"
same "and the length of its blocks" 1 "$(grep -c 'blocks of a filter bank, 64 channels, 8 taps, complex 8 bit.*	spectra=' one.txt)"

# The other way round: a log that praises the slowest vectors.
praise '^simd=1 '
runs "another winner" "$voltmill" tune --log praise.csv --database other.txt job.yaml
same "it came from the log" 1 "$(grep -c 'simd=1 rows=' other.txt)"

runs "a run with it" "$voltmill" run --force --database other.txt job.yaml
same "it says so" 1 "$(says '^note: filter bank: simd=1 rows=.*, tuned for this problem')"
other=$(digest)
same "it rounds otherwise, and the products say so" 1 "$([ "$other" != "$plain" ] && echo 1)"
runs "on three ranks" mpirun -n 3 "$voltmill" run --force --database other.txt job.yaml
same "the same bytes" "$other" "$(digest)"
clear_all

# Begun with one tuning, gone on after another.
"${slow[@]}" "$voltmill" run --database other.txt job.yaml >killed 2>&1 &
run=$!
await 20
kill -9 $run
{ wait $run; } 2>/dev/null
runs "a killed run goes on with other tuning" "$voltmill" run --database one.txt job.yaml
same "as it was begun" "$other" "$(digest)"
same "without a word of the other" 0 "$(says tuned)"
clear_all

runs "a run that tunes" "$voltmill" run --tune-budget 300 --database new.txt job.yaml
same "it searches, and takes what it finds" "1 1 1 1" \
    "$(says '^note: tuned the filter bank: ') $(says '^note: filter bank: .*, tuned for this problem') $(
        says '^note: tuned the length of blocks: ') $(says '^note: blocks of .* spectra, tuned for this problem')"
clear_all
runs "the next one" "$voltmill" run --tune-budget 300 --database new.txt job.yaml
same "knows it" "0 2" "$(says '^note: tuned the ') $(says 'tuned for this problem')"
clear_all
runs "a database that cannot be written" "$voltmill" run --tune-budget 1 --database /proc/none/tuned.txt job.yaml
same "is a warning" 1 "$(says '^warning: /proc/none/tuned.txt')"
clear_all
head -c 2000 /dev/urandom >noise.txt
runs "a database of noise" "$voltmill" run --database noise.txt job.yaml
same "is nothing, and told" "1 0" "$(says '^warning: noise.txt') $(says tuned)"
same "the bytes are as without" "$plain" "$(digest)"
clear_all

# Dedispersion of the power that a job makes.
cat >dedisperse.yaml <<'YAML'
input:
  files: obs.h5
  layout: {dataset: /v, axes: "time,pol,reim", sample_rate_hz: 1e6, freq_hz: 300e6}
channelise: {channels: 64, taps: 4, backend: cpu}
products: [{kind: power, file: power.h5, integrate: 4}]
dedisperse: {input: 0, dm: {start: 0, step: 1, count: 40}, file: series.h5, backend: cpu}
run: {threads: 1}
YAML
runs "both are tuned" "$voltmill" tune --budget 300 --log log.csv --database both.txt dedisperse.yaml
same "and kept" "2 1" "$(grep -c 'filter bank' both.txt) $(grep -c 'dedisperse v2 float32' both.txt)"
runs "a run takes both" "$voltmill" run --database both.txt dedisperse.yaml
same "and says so" "1 1" "$(says '^note: filter bank: .* this problem') $(says '^note: dedispersion: .* this problem')"

# Lengths of blocks change no byte, and `plan` knows them: a log that praises one.
"$voltmill" tune --budget 300 --log log.csv --database blocks.txt dedisperse.yaml >output 2>&1
praise '^spectra=128$'
plain=$(sha256sum power.h5 series.h5)
"$voltmill" tune --budget 300 --log praise.csv --database short.txt dedisperse.yaml >output 2>&1
runs "a run in other blocks" "$voltmill" run --force --database short.txt dedisperse.yaml
same "says so" 1 "$(says '^note: blocks of 128 spectra, tuned for this problem')"
grep -v '	spectra=' short.txt >bank.txt
runs "a run in its own" "$voltmill" run --force --database bank.txt dedisperse.yaml
same "says nothing of blocks" 0 "$(says 'blocks of')"
own=$(sha256sum power.h5 series.h5)
runs "in other blocks, on two ranks" mpirun -n 2 "$voltmill" run --force --database short.txt dedisperse.yaml
same "the same bytes" "$own" "$(sha256sum power.h5 series.h5)"
planned() { "$voltmill" plan --force dedisperse.yaml 2>&1 | sed -n 's/^  chunks *//p' | head -n 1; }
same "planned as suits" "49 of 96 spectra" "$(planned)"
cp short.txt "$VOLTMILL_CACHE/tuned.txt"
same "planned as tuned" "49 of 96 spectra, in blocks of 64" "$(planned)"
rm "$VOLTMILL_CACHE/tuned.txt"

# A filter before the filter bank: direct sums or overlap-save, as a log praises them; and no other bytes for who goes on.
low='filter={design: {kind: lowpass, edges: [100e3, 150e3], offset: true}}'
runs "the filter of a job is tuned, too" "$voltmill" tune --budget 300 --log log.csv --database filter.txt --set "$low" dedisperse.yaml
same "and kept" 1 "$(grep -c '	filter, complex 8 bit to complex, real coefficients, method auto.*	method=' filter.txt)"
for method in direct overlap-save; do
    praise "^method=$method "
    runs "$method wins" "$voltmill" tune --budget 300 --log praise.csv --database $method.txt --set "$low" dedisperse.yaml
    runs "a run with $method" "$voltmill" run --force --database $method.txt --set "$low" dedisperse.yaml
    same "says so" 1 "$(says "^note: filter: method=$method .*, tuned for this problem")"
    same "its products do, too" 1 "$(warm -c 'import h5py; print(h5py.File("power.h5")["provenance"].attrs["filters"])' |
        grep -c "$method")"
done
runs "a run that measures" "$voltmill" run --force --database none.txt --set "$low" dedisperse.yaml
same "has a choice, too" 1 "$(warm -c 'import h5py; print(h5py.File("power.h5")["provenance"].attrs["filters"])' |
    grep -c 'direct\|overlap-save')"

# Dedispersion of a filterbank: sums do not depend on how they are made, so no byte does.
cat >series.yaml <<'YAML'
input: {files: power.h5}
dedisperse: {dm: {start: 0, step: 1, count: 40}, file: again.h5, backend: cpu}
run: {threads: 1}
YAML
runs "of a filterbank, not tuned" "$voltmill" run --database none.txt series.yaml
same "nothing is known" 0 "$(says tuned)"
plain=$(sha256sum again.h5)
runs "tuned for less" "$voltmill" tune --database less.txt --set dedisperse.dm.count=20 series.yaml
runs "a problem that is near" "$voltmill" run --force --database less.txt series.yaml
same "takes the nearest" 1 "$(says '^note: dedispersion: .* the nearest known problem: .* 20 DMs')"
same "the same bytes" "$plain" "$(sha256sum again.h5)"
runs "tuned, on two ranks" mpirun -n 2 "$voltmill" run --force --tune-budget 5 --database less.txt series.yaml
same "rank 0 searches" 1 "$(says '^note: tuned dedispersion: ')"
same "the same bytes on two ranks" "$plain" "$(sha256sum again.h5)"

# A few configurations are not all: a run with time searches on, once.
runs "tuned by two configurations" "$voltmill" tune --limit 2 --database few.txt series.yaml
runs "a run that would not tune" "$voltmill" run --force --database few.txt series.yaml
same "takes them" 1 "$(says '^note: dedispersion: .* this problem')"
runs "a run with time" "$voltmill" run --force --tune-budget 60 --database few.txt series.yaml
same "searches on" 1 "$(says '^note: tuned dedispersion: ')"
runs "the next one" "$voltmill" run --force --tune-budget 60 --database few.txt series.yaml
same "does not" 0 "$(says '^note: tuned dedispersion: ')"

# One budget for the whole run; without time nothing is set up.
runs "no time" "$voltmill" run --force --tune-budget 0.000001 --database no-time.txt dedisperse.yaml
same "for neither" "1 1" \
    "$(says '^note: the filter bank is not tuned: the budget is spent') $(says '^note: dedispersion is not tuned: the budget')"
runs "no time to tune a job" "$voltmill" tune --budget 0.000001 --database no-time.txt dedisperse.yaml
same "is told" 3 "$(says ' 0 timed .*, cut by the budget')"
same "nothing is kept" no "$([ -e no-time.txt ] && echo yes || echo no)"
# Trials keep to run.memory: twelve products of two million points would take 200 MB.
{
    sed '/^products:/,$d' job.yaml
    echo 'products:'
    for n in $(seq 12); do echo "  - {kind: spectra, file: many$n.h5}"; done
    echo 'run: {threads: 1, memory: 120MiB}'
} >many.yaml
runs "a job of many products" "$python" - "$voltmill" <<'PYTHON'
import resource
import subprocess
import sys
subprocess.run([sys.argv[1], "tune", "--limit", "1", "--database", "many.txt", "many.yaml"], check=True)
print("MiB", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
PYTHON
most=$(sed -n 's/^MiB //p' output)
ok "$((${most:-999} <= 120 ? 0 : 1))" "is tuned within its memory ($most MiB)"
fails "no job" 4 'none.yaml' "$voltmill" tune none.yaml
fails "a job and a setup" 2 'one job file or --setup, not both' "$voltmill" tune --setup lofar job.yaml
for option in --backend=cpu --device=0 --threads=1 --dms=4 --dm-step=1 --zero --group=4; do
    fails "a job and ${option%=*}" 2 "${option%=*} goes with --setup, not with a job: there its keys" "$voltmill" tune \
        "$option" job.yaml
done
for option in --seconds=1 --bits=8 --compare-searches --histogram --csv=table.csv; do
    fails "a job and ${option%=*}" 2 "${option%=*} goes with --setup, not with a job\$" "$voltmill" tune "$option" job.yaml
done
for option in --only=chunk=8 --every=2 --space-limit=4; do
    fails "${option%%=*} without a dedispersion" 2 "${option%%=*} thins the configurations of dedispersion, and job.yaml has none" \
        "$voltmill" tune "$option" job.yaml
done
fails "a seed of no random search" 2 'seed goes with --search random' "$voltmill" tune --seed 2 job.yaml
fails "two jobs" 2 'one job file or --setup, got 2' "$voltmill" tune job.yaml job.yaml
fails "no budget" 2 'tune-budget 0: expected seconds' "$voltmill" run --tune-budget 0 job.yaml
plan
