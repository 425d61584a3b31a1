#!/usr/bin/env bash
# bench-formats makes files of each kind, imports them and times jobs on both; prints a line for each, exits as
# its limit says, leaves nothing behind; bench_bitshuffle likewise.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
measure() { TMPDIR=$work "$python" "$here/tests/tools/bench-formats" --threads 2 --repeat 1 --samples 2^22 "$@" "$voltmill"; }
runs "a file of each kind, and its native copy" measure --only "VDIF, 8 bit, complex" --only "LWA DRX" \
    --only "GUPPI RAW, 4 bit" --only "PSRDADA, 2 bit"
same "a line for each" 4 "$(grep -cE '^(VDIF|LWA|GUPPI|PSRDADA).* [0-9.]+ +[0-9.]+ +[0-9.]+$' output)"
measure --only "LWA DRX" --limit 0 >out 2>&1
same "a ratio above the limit is a failure" 1 $?
same "its line is there" 1 "$(grep -c '^LWA DRX' out)"
same "nothing is left behind" 0 "$(find . -name 'voltmill-bench-formats*' | wc -l)"
bench=$(dirname "$VOLTMILL")/tests/tools/bench_bitshuffle
if [ -e "$bench" ]; then
    runs "bitshuffled chunks" env TMPDIR="$work" "$bench" 2
    same "a line for each kind of numbers" 6 "$(grep -cE '^(8 bit|16 bit|32-bit|two).*( +[0-9.]+){8}$' output)"
    same "its file is gone" 0 "$(find . -name 'voltmill-bench-bitshuffle*' | wc -l)"
else
    note <<<"$bench is not built"
fi
plan
