#!/usr/bin/env bash
# Memory that is refused: from the N-th time on that one rank of a command asks for some. Each ends within
# seconds with one error line and status 5, on whatever rank it is, or does without. A sample, spread over each
# command, on one of its ranks; every N with VOLTMILL_TEST_ALL=1, of the commands that VOLTMILL_TEST_ONLY names (a pattern).
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
export VOLTMILL_CACHE=$work/cache OMP_NUM_THREADS=2
shim=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}
ENOMEM=12 NEVER=1000000000 LIMIT=200

cat >obs.yaml <<'END'
file: obs.h5
samples: 60000
bits: 8
streams: {pols: 2}
sample_rate_hz: 1e6
freq_hz: 1.4e9
noise: 12
END
cat >job.yaml <<'END'
input: {files: obs.h5}
channelise: {channels: 64, taps: 4, backend: cpu}
products:
  - {kind: power, file: power.h5, integrate: 4}
  - {kind: spectra, file: spectra.h5}
dedisperse: {file: series.h5, backend: cpu, dm: {list: [0, 10, 20]}}
run: {chunk: 200}
END
sed '/^dedisperse/d' job.yaml >power.yaml
cat >filters.yaml <<'END'
input: {files: obs.h5}
filter:
  - {design: {kind: lowpass, edges: [150e3, 200e3], offset: true}, decimate: 2, method: overlap-save, backend: cpu}
  - dispersion: {dm: 1}
products: [{kind: voltages, file: new.h5, bits: 8, scale: 1}]
run: {chunk: 5000}
END
sed -e 's/^products.*/products: [{kind: power, file: power.h5}]/' -e '$a channelise: {channels: 64}' filters.yaml >filtered.yaml
sed -e '/spectra/d' -e '/^dedisperse/c dedisperse: {file: series.h5, coherent: [5, 15], dm: {list: [4, 14]}}' job.yaml >coherent.yaml
"$voltmill" synth obs.yaml >output && "$voltmill" run job.yaml >output || { echo "Bail out! no product"; exit 1; }
mkdir made
cp power.h5 series.h5 spectra.h5 made/

# asks NUMBER RANK RANKS COMMAND...: runs the command, to which memory is refused from the NUMBER-th time on
asks() {
    local number=$1 rank=$2 size=$3 launch=()
    shift 3
    local shim=(env "LD_PRELOAD=$shim" "SHIM_MEMORY=$number:$ENOMEM" "SHIM_COUNTS=$work/count")
    if [ "$size" -gt 1 ]; then
        launch=(mpirun -n "$size")
        shim+=("SHIM_RANK=$rank")
    fi
    clear
    timeout -k 2 $LIMIT "${launch[@]}" "${shim[@]}" "$voltmill" "$@" >stdout 2>stderr
}

# refused NUMBER RANK RANKS COMMAND...: one try
refused() {
    local status=0 bad='' errors
    asks "$@" || status=$?
    errors=$(grep -c '^error: ' stderr)
    case $status in
    0) [ "$errors" = 0 ] || bad="an error line, but status 0" ;;
    5) [ "$errors" = 1 ] || bad="$errors error lines" ;;
    124 | 137) bad="hangs" ;;
    *) bad="status $status" ;;
    esac
    [ "$errors" = 0 ] || grep -Eq '^error: .*(memory|allocate|rows? failed)' stderr || bad="$bad other cause"
    if [ -n "$bad" ]; then
        echo "# $bad: from the $1. time on, rank $2 of $3: ${*:4}"
        note <stderr
        failures=$((failures + 1))
    fi
    without=$((without + (status == 0)))
    tried=$((tried + 1))
}

# steps COUNT WANTED: which of them are tried: the first, which comes before MPI has begun, and others evenly
steps() {
    if [ -n "${VOLTMILL_TEST_ALL:-}" ]; then
        seq 1 "$1"
    else
        for ((i = 0; i < $2; i++)); do echo $(($1 * i / $2 + 1)); done
    fi
}

# command NAME RANKS WANTED COMMAND...: WANTED tries on one of the ranks (1: without a launcher), or on each
command() {
    local name=$1 size=$2 wanted=$3 rank number failures=0 tried=0 without=0
    shift 3
    [[ $name =~ ${VOLTMILL_TEST_ONLY:-} ]] || return 0
    # shellcheck disable=SC2046  # numbers
    sampled 1 $(seq 0 $((size - 1)))
    for rank in "${sample[@]}"; do
        rm -f count
        if ! asks $NEVER $rank "$size" "$@" || [ ! -s count ]; then
            echo "# does not work undisturbed"
            note <stderr
            failures=1
            break
        fi
        for number in $(steps "$(sed -n "s/^SHIM_MEMORY //p" count)" "$wanted"); do
            refused "$number" $rank "$size" "$@"
        done
    done
    ok $((failures > 0 || tried == 0)) "$name: refused $tried times, done without $without times"
}

# Removes the files that commands write.
clear() { rm -f ./*.part ./*.journal ./*.bench ./*.coherent* power.h5 spectra.h5 series.h5 new.h5 out.fil out*.dat out*.inf table.txt; }

command plan 1 4 plan job.yaml
command info 1 2 info obs.h5
command "info of a product" 1 3 info made/series.h5
command status 1 3 status made/power.h5
command "export to .fil" 1 3 export --format fil --out out.fil made/power.h5
command "bench ppf" 1 3 bench ppf --backend cpu --channels 64 --samples 65536 --repeat 1 --threads 2
command "bench dedisperse" 1 3 bench dedisperse --backend cpu --dms 4 --seconds 0.02 --repeat 1
command "bench fir" 1 4 bench fir --backend cpu --taps 8,100 --points 512 --repeat 1 --threads 2
command tune 1 3 tune --setup lofar --backend cpu --dms 4 --seconds 0.02 --repeat 1 --database table.txt
command run 2 3 run job.yaml
command "semi-coherent search" 2 2 run coherent.yaml
command "filters, voltages" 2 2 run filters.yaml
command "filters, power" 1 4 run filtered.yaml
command "bench run" 2 2 bench run --repeat 1 power.yaml
command import 2 3 import -o new.h5 obs.h5
command verify 2 2 verify made/spectra.h5
command "verify of series" 2 2 verify --set products.0.file=made/power.h5 made/series.h5
command "verify --crc" 2 2 verify --crc made/power.h5
command synth 2 2 synth --set file=new.h5 obs.yaml
plan
