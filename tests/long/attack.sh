#!/usr/bin/env bash
# Attacks: one fault (SIGKILL, EIO, ENOSPC) at one call on the files of a job, for `run` (two products and a
# dedispersion, from nothing or begun before; visibilities and beams of an array; groups of coarse channels),
# `export` and `synth`; then the same command again, with other ranks, threads, memory and chunks. Whatever
# was hit, there is nothing incomplete under a final name, nothing hangs, a failure is one error line, and
# what comes out in the end has the bytes of an undisturbed run. Attacks are spread over all calls, of all
# ranks.
#
#   ATTACKS=1500 SEED=1 JOBS=1 tests/long/attack.sh    # JOBS: how many run at once
#   ATTACK='run 2 1 57 eio 3 2 1GiB 100' tests/long/attack.sh   # one alone, as a failure names it
#
# SIZES: numbers of ranks of the attacked command. Needs the program, its tests/faults/attack_shim.so and mpirun.
. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"
attacks=${ATTACKS:-1500}
RANDOM=${SEED:-1}
jobs=${JOBS:-1}
read -ra sizes <<<"${SIZES:-1 2 3}"
shim=$(dirname "$voltmill")/tests/faults/attack_shim.so
export VOLTMILL_CACHE=$work/cache OMP_NUM_THREADS=1
limit=300 # seconds: what takes longer hangs
scenarios=(run again fil dat tim synth array groups)
[ -e "$shim" ] || { echo "1..0 # SKIP $shim is not built"; exit 0; }

# The command of a scenario, and its products. A folder contains obs.h5, the jobs, power.h5 and series.h5 to be
# exported as bank.h5 and times.h5, and the files of a begun run in begun/.
command_of() { # command_of SCENARIO: sets `words` and `made`
    case $1 in
    run | again) words=(run job.yaml) made=(spectra.h5 power.h5 series.h5) ;;
    fil) words=(export --format fil --bits 8 --scale range -o bank.fil bank.h5) made=(bank.fil) ;;
    dat) words=(export --format dat --dms 0..20 -o s times.h5)
         made=(s_DM0.00.dat s_DM0.00.inf s_DM20.00.dat s_DM20.00.inf) ;;
    tim) words=(export --format tim --dm 20 -o s times.h5) made=(s_DM20.00.tim) ;;
    synth) words=(synth sky.yaml --set file=made.h5) made=(made.h5) ;;
    array) words=(run array.yaml) made=(vis.uvh5 beams.h5) ;;
    groups) words=(run groups.yaml) made=(iquv.h5 sum.fil packed.h5 flagged.h5 part.h5) ;;
    esac
}

# on SIZE: sets `launch`; a rank alone needs no launcher.
on() {
    launch=()
    [ "$1" = 1 ] || launch=(mpirun -n "$1")
}

say_jobs() {
    cat >sky.yaml <<'YAML'
file: obs.h5
samples: 60000
streams: {pols: 2, chans: 1}
bits: 8
sample_rate_hz: 1e6
freq_hz: 400e6
noise: 20
tones: [{freq_hz: 400.1e6, amplitude: 4}]
seed: 3
YAML
    sed 's/obs.h5/stations.h5/; s/60000/20000/; s/pols: 2/stations: 3, pols: 2/' sky.yaml >stations.yaml
    # Groups of a coarse channel of both polarisations.
    sed 's/obs.h5/many.h5/; s/60000/150000/; s/chans: 1/chans: 3/' sky.yaml >many.yaml
    echo 'gaps: [{stream: 4, first: 50000, count: 9000}]' >>many.yaml
    cat >groups.yaml <<'YAML'
input: {files: many.h5}
channelise: {channels: 4096, taps: 4, backend: cpu}
products:
  - {kind: power, file: iquv.h5, integrate: 2, polarisation: IQUV, feed: linear}
  - {kind: power, file: sum.fil, integrate: 2, polarisation: I, bits: 8, scale_rows: 4}
  - {kind: power, file: packed.h5, integrate: 2, polarisation: I, compress: lz4}
  - {kind: power, file: flagged.h5, integrate: 8, polarisation: I, average: 8, flag: {kurtosis: 4, spectra: 8}}
  - {kind: power, file: part.h5, integrate: 2, channels: [3000, 6999]}
run: {chunk: 8, sync: 0.01, threads: 1, memory: 120MiB}
YAML
    cat >table.yaml <<'YAML'
reference: {lon_deg: 21.4, lat_deg: -30.7}
stations:
  - {name: S000, enu_m: [0, 0, 0]}
  - {name: S001, enu_m: [30, 20, 1], delay_s: [3e-5, 1e-3]}
  - {name: S002, enu_m: [-70, 55, 2], delay_s: [-2e-5, -2e-3]}
YAML
    cat >array.yaml <<'YAML'
input: {files: stations.h5}
array: {table: table.yaml, centre: {ra_deg: 10, dec_deg: -30}, ut1_utc: 0, polar_motion: [0, 0]}
beams: [{ra_deg: 10, dec_deg: -30}, {ra_deg: 10.1, dec_deg: -30}]
channelise: {channels: 32, taps: 4, backend: cpu}
products:
  - {kind: visibilities, file: vis.uvh5, integrate: 10, feed: linear}
  - {kind: power, file: beams.h5, integrate: 2}
run: {chunk: 100, sync: 0.01, threads: 1}
YAML
    cat >job.yaml <<'YAML'
input: {files: obs.h5}
channelise: {channels: 32, taps: 4, backend: cpu}
products:
  - {kind: spectra, file: spectra.h5}
  - {kind: power, file: power.h5, integrate: 2}
dedisperse:
  - {dm: {start: 0, step: 20, count: 4}, file: series.h5}
run: {chunk: 100, sync: 0.01, threads: 1}
YAML
}

# Kills a run where its filter bank is half done, slow enough for its journal to know.
begin_again() {
    SHIM_NAP=3 SHIM_ROWS=30:kill LD_PRELOAD=${shim/attack_/io_} "$voltmill" run job.yaml >/dev/null 2>&1
    mkdir ../begun && mv ./*.part ./*.journal ../begun
    "$voltmill" status ../begun/power.h5.part | grep -E ' [1-9][0-9,]* of'
}

# A worker's folder, $work/N: job/ is where it works, whole/ holds what an undisturbed run makes.
prepare() { # prepare N
    mkdir -p "$work/$1/job" "$work/$1/whole"
    cd "$work/$1/job" || return 1
    say_jobs
    "$voltmill" synth sky.yaml && "$voltmill" synth stations.yaml && "$voltmill" synth many.yaml || return 1
    "$voltmill" run job.yaml || return 1
    cp -p power.h5 bank.h5
    cp -p series.h5 times.h5
    local scenario words made
    for scenario in "${scenarios[@]:2}"; do
        command_of "$scenario"
        "$voltmill" "${words[@]}" || return 1
        mv "${made[@]}" ../whole
    done
    mv spectra.h5 power.h5 series.h5 ../whole
    cp -p obs.h5 job.yaml sky.yaml bank.h5 times.h5 ../whole
    # Killed, it says so.
    { begin_again; } 2>/dev/null
}

clear_made() { rm -f spectra.h5* power.h5* series.h5* bank.fil* s_DM* made.h5* vis.uvh5* beams.h5* iquv.h5* sum.fil* packed.h5* flagged.h5* part.h5*; }

# Counts the calls of each rank: a line SCENARIO SIZE RANK CALLS for each.
count_calls() {
    local scenario size rank words made launch lines
    for scenario in "${scenarios[@]}"; do
        lines=()
        for size in "${sizes[@]}"; do
            case $scenario in fil | dat | tim) [ "$size" = 1 ] || continue ;; esac
            if [ -n "${lines[size]:-}" ]; then echo "${lines[size]}"; continue; fi # a size named twice counts twice
            clear_made
            [ "$scenario" != again ] || cp -p ../begun/* .
            command_of "$scenario"
            on "$size"
            "${launch[@]}" env LD_PRELOAD="$shim" ATTACK_FOLDER="$PWD" ATTACK_LOG="$work/calls" \
                "$voltmill" "${words[@]}" >"$work/counted" 2>&1 || { note <"$work/counted" >&2; return 1; }
            lines[size]=$(for ((rank = 0; rank < size; rank++)); do
                echo "$scenario $size $rank $(grep -c "^$rank " "$work/calls")"
            done)
            echo "${lines[size]}"
            rm "$work/calls"
        done
    done
}

pick() { # pick WORD...: one of them, in `picked`
    picked=${*:RANDOM % $# + 1:1}
}

# Where and how to strike: a line SCENARIO SIZE RANK CALL FATE, and SIZE THREADS MEMORY CHUNK of what follows.
plan_attacks() {
    local all=0 number site at line scenario size rank calls picked fate next
    while read -r _ _ _ calls; do all=$((all + calls)); done <"$work/counts"
    local begin=$((RANDOM % all))
    for ((number = 0; number < attacks; number++)); do
        at=$(((number * all / attacks + begin) % all))
        while read -r scenario size rank calls; do
            [ "$at" -ge "$calls" ] || break
            at=$((at - calls))
        done <"$work/counts"
        pick kill eio enospc; fate=$picked
        pick "${sizes[@]}"; next=$picked
        pick 1 2 3; next+=" $picked"
        pick 128MiB 300MiB 1GiB; next+=" $picked"
        pick 40 100 333 5000; next+=" $picked"
        echo "$scenario $size $rank $((at + 1)) $fate $next"
    done
}

# Whether what has a final name is whole; with `all`, whether all is there and nothing else.
is_whole() { # is_whole FILE... ; sets `reason`
    local file
    for file in "$@"; do
        [ ! -e "$file" ] || cmp -s "$file" "../whole/$file" || { reason="$file is not that of an undisturbed run"; return 1; }
    done
    for file in obs.h5 job.yaml sky.yaml bank.h5 times.h5; do
        cmp -s "$file" "../whole/$file" || { reason="$file, which was only read, has changed"; return 1; }
    done
}
is_complete() {
    local file
    is_whole "$@" || return 1
    for file in "$@"; do [ -e "$file" ] || { reason="$file is missing"; return 1; }; done
    for file in ./*.part ./*.journal; do [ ! -e "$file" ] || { reason="$file is left behind"; return 1; }; done
}
# Whether a status (beside 0) and what was said are those of a failure.
is_clear() { # is_clear STATUS LOG
    [ "$1" != 124 ] || { reason="it hangs"; return 1; }
    case $1 in [2345]) ;; *) reason="exit $1"; return 1 ;; esac
    [ "$(grep -c '^error: ' "$2")" = 1 ] || { reason="not one error line"; return 1; }
}

# One attack: prints "equal", "error" or "failure: why".
attack() { # attack SCENARIO SIZE RANK CALL FATE SIZE THREADS MEMORY CHUNK
    local scenario=$1 size=$2 rank=$3 call=$4 fate=$5 status=0 reason="" words made launch sets=() end=equal
    clear_made
    rm -f ../struck
    [ "$scenario" != again ] || cp -p ../begun/* .
    command_of "$scenario"
    on "$size"
    timeout -k 5 $limit "${launch[@]}" env LD_PRELOAD="$shim" ATTACK_FOLDER="$PWD" ATTACK_CALL="$call" \
        ATTACK_FATE="$fate" ATTACK_RANK="$rank" ATTACK_LOG="$PWD/../struck" "$voltmill" "${words[@]}" >../first 2>&1 || status=$?
    [ -s ../struck ] || echo "$scenario $size $rank $call" >>../missed
    is_whole "${made[@]}" || { echo "failure: at once: $reason (exit $status)"; return; }
    if is_complete "${made[@]}"; then
        [ $status = 0 ] && { echo equal; return; }
    elif [ $status = 0 ]; then
        # A journal that could not be removed is harmless: the same command removes it.
        case $reason in *.journal\ is\ left\ behind) ;; *) echo "failure: at once: $reason (exit 0)"; return ;; esac
    fi
    [ $status != 124 ] || { echo "failure: at once: it hangs"; return; }
    [ "$fate" = kill ] || [ $status = 0 ] || is_clear $status ../first || { echo "failure: at once: $reason"; return; }

    case $scenario in
    run | again | array | groups) sets=(--set run.threads="$7" --set run.memory="$8" --set run.chunk="$9"); on "$6" ;;
    synth) on "$6" ;;
    *) on 1 ;;
    esac
    status=0
    timeout -k 5 $limit "${launch[@]}" "$voltmill" "${words[@]}" "${sets[@]}" >../second 2>&1 || status=$?
    is_whole "${made[@]}" || { echo "failure: the same command: $reason (exit $status)"; return; }
    if [ $status != 0 ]; then
        is_clear $status ../second || { echo "failure: the same command: $reason"; return; }
        end=error
        status=0
        timeout -k 5 $limit "$voltmill" "${words[@]}" --force >../third 2>&1 || status=$?
        [ $status = 0 ] || { echo "failure: with --force: exit $status"; return; }
    fi
    is_complete "${made[@]}" || { echo "failure: in the end: $reason"; return; }
    echo $end
}

# Every JOBS-th attack of the plan; a line in $work/N/results for each.
work_off() { # work_off N
    local number=0 line end
    cd "$work/$1/job" || return 1
    # An MPI program that ends takes the folder away in which another is about to begin.
    mkdir ../mpi && export OMPI_MCA_orte_tmpdir_base=$work/$1/mpi
    while read -r line <&3; do
        number=$((number + 1))
        [ $((number % jobs)) = $(($1 % jobs)) ] || continue
        # A shell that runs what is killed says so.
        # shellcheck disable=SC2086
        end=$({ attack $line </dev/null; } 2>/dev/null)
        echo "${end:-failure: the attack itself} | $line" >>../results
        case $end in
        equal) ;;
        *)
            echo "# ${end:-failure: the attack itself}: ATTACK='$line' $(cat ../struck 2>/dev/null)"
            cat ../first "$([ "$end" = error ] && echo ../second || echo /dev/null)" 2>/dev/null |
                grep -E '^(error|warning)' | cut -c1-200 | sed 's/^/#     /' ;;
        esac
    done 3<"$work/plan"
}

for ((n = 1; n <= jobs; n++)); do
    (prepare $n) >"$work/prepared" 2>&1 || { note <"$work/prepared"; ok 1 "undisturbed runs"; plan; exit 1; }
done
if [ -n "${ATTACK:-}" ]; then
    echo "$ATTACK" >"$work/plan"
else
    (cd "$work/1/job" && count_calls) >"$work/counts" || { ok 1 "runs whose calls are counted"; plan; exit 1; }
    sed 's/^/# calls: /' "$work/counts"
    plan_attacks >"$work/plan"
fi
for ((n = 1; n <= jobs; n++)); do work_off $n & done
wait
cat "$work"/*/results >"$work/results"
failures=$(grep -c '^failure' "$work/results")
[ -z "${ATTACK:-}" ] || for part in first second third; do sed "s/^/# $part: /" "$work/1/$part"; done 2>/dev/null
echo "# $(cat "$work"/*/missed 2>/dev/null | wc -l) never came to their call"
ok "$failures" "$(wc -l <"$work/results") attacks: $(grep -c '^equal' "$work/results") equal, $(grep -c '^error' \
    "$work/results") clear errors, $failures failures"
plan
