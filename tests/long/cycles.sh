# Fifty runs that are killed again and again at random moments (ranks and mpirun, SIGKILL), and ten that are
# asked to stop, on processors and on an OpenCL device: the products are those of an undisturbed run.
# CYCLES=n STOPS=n SEED=n: other numbers.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/begun.bash"
RANDOM=${SEED:-5}
cycles=${CYCLES:-50}
stops=${STOPS:-10}

declare -A expected
backends=(cpu)
"$voltmill" info --devices 2>/dev/null | grep -q '^0: ' && backends=(cpu opencl)
for backend in "${backends[@]}"; do
    runs "an undisturbed run, $backend" "$voltmill" run --set channelise.backend="$backend" job.yaml
    expected[$backend]=$(digest)
    clear_all
done

all_gone() { # those of a killed mpirun live on for a moment
    for _ in $(seq 400); do
        [ -z "$(ranks)" ] && return 0
        sleep 0.05
    done
    return 1
}

begin() { # begin BACKEND: a run on one or three ranks; for a random while
    size=$((RANDOM % 2 * 2 + 1))
    mpirun -n $size "${slow[@]}" SHIM_NAP=5 "$voltmill" run --set channelise.backend="$1" job.yaml >log 2>&1 &
    run=$!
    sleep "$((RANDOM % 2)).$((RANDOM % 800 + 200))"
}

kill_something() {
    if [ $((RANDOM % 2)) = 0 ]; then
        kill -9 $run 2>/dev/null
    else
        kill -9 "$(ranks | sed -n "$((RANDOM % size + 1))p")" 2>/dev/null
    fi
    reap $run
}

all_kills=0
for cycle in $(seq "$cycles"); do
    backend=${backends[cycle % ${#backends[@]}]}
    kills=0
    while [ $kills -lt 3 ]; do
        begin "$backend"
        kill_something
        all_gone || break
        [ -e spectra.h5 ] && [ -e power.h5 ] && break
        kills=$((kills + 1))
    done
    [ -e spectra.h5 ] && [ -e power.h5 ] && [ ! -e power.h5.journal ] && [ ! -e spectra.h5.journal ] ||
        mpirun -n 2 "$voltmill" run --set channelise.backend="$backend" job.yaml >log 2>&1 || note <log
    same "cycle $cycle, $backend: $kills kills, same bytes" "${expected[$backend]}" "$(digest)"
    all_kills=$((all_kills + kills))
    clear_all
done
echo "# $all_kills kills"

slowest=0
for stop in $(seq "$stops"); do
    backend=${backends[stop % ${#backends[@]}]}
    begin "$backend"
    began=$(date +%s%N)
    kill -TERM "$(ranks | sed -n "$((RANDOM % size + 1))p")" 2>/dev/null
    status=0
    { wait $run; } 2>/dev/null || status=$?
    took=$((($(date +%s%N) - began) / 1000000))
    [ "$took" -le "$slowest" ] || slowest=$took
    # It may have been through, or not have begun to listen.
    case $status in 75) ;; 0) [ -e power.h5 ] || status=none ;; 143) [ ! -e power.h5.journal ] || status=begun ;; esac
    [[ $status =~ ^(0|75|143)$ ]] && [ "$took" -le 12000 ]
    ok $? "stop $stop, $backend: exit $status after $took ms"
    [ -e power.h5 ] || "$voltmill" run --set channelise.backend="$backend" job.yaml >log 2>&1 || note <log
    same "stop $stop, $backend: same bytes" "${expected[$backend]}" "$(digest)"
    clear_all
done
echo "# the slowest stop took $slowest ms"
plan
