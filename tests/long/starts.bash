# Sourced: commands that start while others end, in four streams beside each other, STARTS in all. Each must
# end with status 0 and without an error; of what fails the first words are shown.
begun_ends() { # begun_ends STREAM COUNT
    local i
    mkdir -p "stream-$1"
    for i in $(seq "$2"); do
        "$voltmill" synth --force spec.yaml --set file="stream-$1/obs.h5" >"stream-$1/said" 2>&1 ||
            { echo "exit $?: start $i of stream $1"; head -5 "stream-$1/said"; } >>"stream-$1/bad"
    done
}

for stream in 1 2 3 4; do
    begun_ends $stream $((STARTS / 4)) &
done
wait
same "$STARTS starts in four streams: failures" "" "$(cat stream-*/bad 2>/dev/null)"
