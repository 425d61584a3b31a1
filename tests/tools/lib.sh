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

# same NAME EXPECTED FOUND
same() {
    if [ "$2" = "$3" ]; then
        ok 0 "$1"
    else
        ok 1 "$1"
        printf '# expected: %s\n#    found: %s\n' "$2" "$3"
    fi
}

# fails NAME STATUS PATTERN COMMAND...: the command must end with exactly this status and exactly one
# error line, which holds the pattern (grep -E), and must leave no product and no .part behind.
fails() {
    local name=$1 expected=$2 pattern=$3 status=0 bad=0
    shift 3
    timeout -k 5 60 "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
    [ "$status" = "$expected" ] || { echo "# exit status $status, expected $expected"; bad=1; }
    [ "$(grep -c '^error: ' "$work/stderr")" = 1 ] || { echo "# not exactly one error line"; bad=1; }
    grep -Eq -e "$pattern" "$work/stderr" || { echo "# no such message: $pattern"; bad=1; }
    if ls "$work"/*.part >/dev/null 2>&1; then echo "# left a .part behind"; rm -f "$work"/*.part; bad=1; fi
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
