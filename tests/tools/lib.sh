# Sourced by shell tests: TAP, a scratch folder, and what they all look at.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$here/tests/tools/environment.sh"
voltmill=${VOLTMILL:-$here/build/release/voltmill}
python=${PYTHON:-/usr/bin/python3}
shared=${VOLTMILL_DATA:-$here/../shared/data}
work=$(mktemp -d "${TMPDIR:-/tmp}/voltmill.XXXXXX")
trap 'rm -rf "$work"' EXIT
count=0

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
    local end=$((SECONDS + 60))
    while kill -0 "$1" && [ "$SECONDS" -lt "$end" ]; do sleep 0.02; done
    kill -9 "$1"
    wait "$1"
} 2>/dev/null

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
# [24], if either will do) and exactly one error line, which holds the pattern (grep -E); sets bad to 0 or 1
errs() {
    local expected=$1 pattern=$2 status=0
    shift 2
    bad=0
    timeout -k 5 60 "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
    # shellcheck disable=SC2053
    [[ $status == $expected ]] || { echo "# exit status $status, expected $expected"; bad=1; }
    [ "$(grep -c '^error: ' "$work/stderr")" = 1 ] || { echo "# not exactly one error line"; bad=1; }
    grep -Eq -e "$pattern" "$work/stderr" || { echo "# no such message: $pattern"; bad=1; }
}

# fails NAME STATUS PATTERN COMMAND...: errs, and leaves no .part and no journal behind
fails() {
    local name=$1 bad
    shift
    errs "$@"
    if ls "$work"/*.part "$work"/*.journal 2>/dev/null | grep -q .; then
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
    if grep -Eq '^note: .* (are done|are kept): the same command goes on' "$work/stderr"; then
        ls "$work"/*.part >/dev/null 2>&1 || { echo "# nothing was kept"; bad=1; }
    elif ls "$work"/*.part "$work"/*.journal 2>/dev/null | grep -q .; then
        echo "# something was kept, but not said"
        bad=1
    fi
    rm -f "$work"/*.part "$work"/*.journal
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
