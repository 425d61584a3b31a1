# Sourced by shell tests: TAP, a scratch folder, and what they all look at.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$here/tests/tools/environment.sh"
voltmill=${VOLTMILL:-$here/build/release/voltmill}
python=${PYTHON:-/usr/bin/python3}
shared=${VOLTMILL_DATA:-$here/../shared/data}
work=$(mktemp -d "${TMPDIR:-/tmp}/voltmill.XXXXXX")
trap clean EXIT
count=0

clean() {
    [ ! -e "$work.warm/pid" ] || kill "$(<"$work.warm/pid")"
    [ ! -e "$work.draw/pid" ] || kill "$(<"$work.draw/pid")"
    rm -rf "$work" "$work.warm" "$work.draw" "$work.nap"
}

# warm -c TEXT ARGUMENT..., warm - ARGUMENT... <TEXT, warm FILE ARGUMENT...: as "$python" does it, by one process that
# has h5py and numpy loaded already: its start takes ten times as long as most of what tests ask. One at a time: it
# does not know who asks.
warm() {
    local status=1 folder=$work.warm
    [ "$1" != - ] || set -- -c "$(cat)" "${@:2}"
    if [ ! -e "$folder" ]; then
        mkdir "$folder" && mkfifo "$folder/asked" "$folder/answered" || return
        ("$python" "$here/tests/tools/warm.py" "$folder" <&- >"$folder/started" 2>&1 & echo $! >"$folder/pid")
        read -r -t 100 status <>"$folder/answered" || { cat "$folder/started" >&2; return 1; }
    fi
    printf '%s\0' $(($# + 2)) "$PWD" "${PYTHONPATH:-}" "$@" 1<>"$folder/asked"
    read -r -t 300 status <>"$folder/answered" || return 1
    [ ! -s "$folder/output" ] || printf '%s\n' "$(<"$folder/output")"
    [ ! -s "$folder/errors" ] || printf '%s\n' "$(<"$folder/errors")" >&2
    return "$status"
}

# has_pictures: whether the Python that draws has matplotlib
has_pictures() { # found, not loaded: that takes ten times as long
    "${VOLTMILL_PYTHON:-/usr/bin/python3}" -Ic 'import sys
from importlib.util import find_spec
sys.exit(not (find_spec("numpy") and find_spec("matplotlib")))' 2>/dev/null
}

# warm_pictures: from here on pictures are drawn by one process that has loaded matplotlib, half of what a picture takes
warm_pictures() {
    mkdir "$work.draw"
    export WARM_DRAW=$work.draw/socket
    # shellcheck disable=SC2094
    ("$here/tests/tools/warm_draw.py" serve "$WARM_DRAW" <&- >"$work.draw/started" 2>&1 & echo $! >"$work.draw/pid")
    for _ in {1..500}; do
        [ ! -S "$WARM_DRAW" ] || { export VOLTMILL_PYTHON=$here/tests/tools/warm_draw.py; return; }
        sleep 0.1
    done
    cat "$work.draw/started" >&2
}

# no_devices: for scripts that speak of OpenCL, but need none (run-test hides it from those that do not)
no_devices() { export OCL_ICD_VENDORS=$here/tests/tools/; }

# nap SECONDS: sleep, but without a process of its own: for loops that look often
nap() {
    [ -p "$work.nap" ] || mkfifo "$work.nap"
    read -r -t "$1" <>"$work.nap" || true # no one writes
}

ok() { # ok STATUS NAME: one line of TAP
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}

note() { sed 's/^/# /'; }

# runs NAME COMMAND...: passes when the command does; its output shows when it does not
runs() {
    local name=$1 status=0
    shift
    "$@" >"$work/output" 2>&1 || status=$?
    ok "$status" "$name"
    [ "$status" = 0 ] || { echo "# exit $status: $*"; note <"$work/output"; }
}

# reap PID: wait for an mpirun of which a rank was killed. It ends by itself within seconds, but now and then
# hangs for ever when all ranks are gone: PMIx 4.2 locks itself out in PMIx_server_finalize().
reap() {
    local end=$((SECONDS + 100))
    while kill -0 "$1" && [ "$SECONDS" -lt "$end" ]; do nap 0.02; done
    kill -9 "$1"
    wait "$1"
} 2>/dev/null

# sampled COUNT WORD...: sets `sample` to COUNT of the words, in their order, drawn by VOLTMILL_TEST_SEED, which
# is printed; VOLTMILL_TEST_ALL=1: to all of them. Here, not in $(...): each draws on.
sampled() {
    local wanted=$1
    shift
    sample=()
    [ -z "${VOLTMILL_TEST_ALL:-}" ] || wanted=$#
    if [ -z "${drawn_by:-}" ]; then
        drawn_by=${VOLTMILL_TEST_SEED:-$RANDOM}
        echo "# VOLTMILL_TEST_SEED=$drawn_by"
        RANDOM=$drawn_by
    fi
    while [ $# -gt 0 ]; do
        if [ $((RANDOM % $#)) -lt "$wanted" ]; then
            sample+=("$1")
            wanted=$((wanted - 1))
        fi
        shift
    done
}

# same NAME EXPECTED FOUND
same() {
    if [ "$2" = "$3" ]; then
        ok 0 "$1"
    else
        ok 1 "$1"
        printf '# expected: %s\n#    found: %s\n' "$2" "$3"
    fi
}

# errs STATUS PATTERN COMMAND...: the command must end with exactly this status (a pattern of case, such as
# [24], if either will do) and exactly one error line, which holds the pattern (as grep -E); sets bad to 0 or 1
errs() {
    local expected=$1 pattern=$2 status=0 line errors=0 is_said=0
    shift 2
    bad=0
    timeout -k 5 300 "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
    # shellcheck disable=SC2053
    [[ $status == $expected ]] || { echo "# exit status $status, expected $expected"; bad=1; }
    while IFS= read -r line || [ -n "$line" ]; do
        [[ $line != 'error: '* ]] || errors=$((errors + 1))
        [[ ! $line =~ $pattern ]] || is_said=1
    done <"$work/stderr"
    [ $errors = 1 ] || { echo "# not exactly one error line"; bad=1; }
    [ $is_said = 1 ] || { echo "# no such message: $pattern"; bad=1; }
}

# unfinish FILE LETTER: the mark of a file that is not complete (src/io/mark.h), of the command with that letter
unfinish() { printf '\211VMPART%s' "$2" | dd of="$1" conv=notrunc status=none; }

# left: something of a product that is not finished is there
left() { compgen -G "$work/*.part" || compgen -G "$work/*.journal"; } >/dev/null

# fails NAME STATUS PATTERN COMMAND...: errs, and leaves no .part and no journal behind
fails() {
    local name=$1 bad
    shift
    errs "$@"
    if left; then
        echo "# left a .part or a journal behind"
        rm -f "$work"/*.part "$work"/*.journal
        bad=1
    fi
    ok "$bad" "$name"
    [ "$bad" = 0 ] || note <"$work/stderr"
}

# breaks NAME STATUS PATTERN COMMAND...: errs when some of the work is done, which is kept, or goes if there
# is none; here it goes
breaks() {
    local name=$1 bad
    shift
    errs "$@"
    if grep -Eq '^note: .* (are done|are kept): run the same command to resume' "$work/stderr"; then
        compgen -G "$work/*.part" >/dev/null || { echo "# nothing was kept"; bad=1; }
    elif left; then
        echo "# something was kept, but not said"
        bad=1
    fi
    ! left || rm -f "$work"/*.part "$work"/*.journal
    ok "$bad" "$name"
    [ "$bad" = 0 ] || note <"$work/stderr"
}

skip() { count=$((count + 1)); echo "ok $count - # SKIP $1"; }

plan() { echo "1..$count"; }

# The real recordings, where they are.
needs_data() {
    if [ ! -e "$shared/$1" ]; then
        echo "1..0 # SKIP $1 is not here (it is not part of the project)"
        exit 0
    fi
}
