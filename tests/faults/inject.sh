# System calls that fail, one kind after the other: each ends with one error line and the stated status, without
# a hang or a product under its final name, and the same command goes on to the same bytes. What a program
# can do without is done without.
. "$(dirname "$0")/../tools/lib.sh"
samples=100000
. "$here/tests/cli/begun.bash"
shim=("${slow[@]}" SHIM_NAP=0)
EIO=5 ENOMEM=12 EACCES=13 EMFILE=24 ENOSPC=28 EROFS=30 ENOLCK=37 EOPNOTSUPP=95 ESTALE=116 EDQUOT=122

runs "an undisturbed run" "$voltmill" run job.yaml
expected=$(digest)
clear_all

# injected STATUS PATTERN RANKS SETTING...
injected() {
    local status=$1 pattern=$2 size=$3 bad name
    shift 3
    name="$* on $size"
    # A launcher takes its time when a rank has failed.
    local launch=(mpirun -n "$size")
    [ "$size" != 1 ] || launch=()
    errs "$status" "$pattern" "${launch[@]}" "${shim[@]}" "$@" "$voltmill" run job.yaml
    [ ! -e power.h5 ] || [ ! -e spectra.h5 ] || { echo "# the products have their names"; bad=1; }
    "$voltmill" run job.yaml >stdout 2>>stderr || { echo "# does not go on"; bad=1; }
    [ "$expected" = "$(digest)" ] || { echo "# other bytes"; bad=1; }
    [ -z "$(ls ./*.part ./*.journal 2>/dev/null)" ] || { echo "# something is left behind"; bad=1; }
    ok $bad "$name: exit $status"
    [ $bad = 0 ] || note <stderr
    clear_all
}
injected 3 'h5\.part: writing .*No space left' 1 SHIM_ROWS=50:$ENOSPC
injected 3 'h5\.part: writing .*quota exceeded' 1 SHIM_ROWS=20:$EDQUOT
injected 4 'h5\.part: writing .*Input/output error' 1 SHIM_ROWS=20:$EIO
injected 4 'h5\.part: writing .*Stale file handle' 1 SHIM_ROWS=1:$ESTALE
for call in 1 3; do injected 4 'spectra\.h5\.part: Input/output error' 1 SHIM_FSTAT="$call!:$EIO"; done
# The first of several failures is the cause.
injected 4 'spectra\.h5\.journal cannot be synced: Input/output error' 1 SHIM_KEPT=1:$EIO
injected 4 'power\.h5\.journal cannot be synced: Input/output error' 1 SHIM_KEPT=2:$EIO
injected 4 '\.part' 1 SHIM_CREATE=1:$EIO
injected 3 '\.part.*No space left' 1 SHIM_CREATE=2:$ENOSPC
injected 4 '\.part.*Input/output error' 1 SHIM_CREATE=12:$EIO
injected 3 '\.journal: writing .*No space left' 1 SHIM_HEAD=1:$ENOSPC
injected 4 '\.journal: writing .*Input/output error' 2 SHIM_RECORDS=5:$EIO
injected 4 '\.part cannot be synced: Input/output error' 1 SHIM_SYNC=3:$EIO
injected 3 '\.part cannot be synced: .*quota exceeded' 1 SHIM_SYNC=4:$EDQUOT
injected 4 '\.part cannot be synced: Input/output error' 1 SHIM_FSYNC=1:$EIO
injected 3 '\.journal cannot be synced: No space left' 1 SHIM_FSYNC=3:$ENOSPC
if [ "$(stat -f -c %T .)" != tmpfs ]; then
    injected 3 '\.part' 1 SHIM_RESERVE=1:$ENOSPC
    injected 3 '\.part: it needs .* quota exceeded' 1 SHIM_RESERVE=2:$EDQUOT
    injected 4 '\.part' 1 SHIM_RESERVE=1:$EIO
else
    skip "room that cannot be reserved: in memory none is"
fi
injected 4 'obs\.h5.*Input/output error' 2 SHIM_SAMPLES=5:$EIO
injected 4 'obs\.h5.*Stale file handle' 1 SHIM_SAMPLES=1:$ESTALE
injected 4 'obs\.h5' 1 SHIM_LOOK=1:$EIO
# No inode is left, or no more may be used.
injected 3 'spectra\.h5\.part cannot be made: No space left' 1 SHIM_MAKE=1:$ENOSPC
injected 3 'power\.h5\.part cannot be made: .*quota exceeded' 2 SHIM_RANK=0 SHIM_MAKE=2:$EDQUOT
injected 3 '\.journal cannot be made: No space left' 1 SHIM_MAKE=3:$ENOSPC
injected 4 '\.part cannot be made: Stale file handle' 1 SHIM_MAKE=1:$ESTALE
injected 5 '\.part cannot be made: Too many open files' 1 SHIM_MAKE=1:$EMFILE
injected 2 '\.part cannot be made: Permission denied' 1 SHIM_MAKE=1:$EACCES
injected 3 'cannot be renamed to spectra.h5: No space left' 1 SHIM_NAME=1:$ENOSPC
injected 4 'Input/output error' 1 SHIM_NAME=1:$EIO
injected 4 'Read-only file system' 1 SHIM_NAME=2:$EROFS
injected 4 '\.part cannot be closed: Input/output error' 1 SHIM_CLOSE=1:$EIO
injected 3 '\.part cannot be closed: .*quota exceeded' 1 SHIM_CLOSE=2:$EDQUOT
sampled 2 1 2 3 4 5 6
for number in "${sample[@]}"; do
    injected '[245]' '\.h5.*(Permission denied|Too many open files)' 1 SHIM_OPEN=$number:$((number % 2 ? EACCES : EMFILE))
done
sampled 2 1 60 120 180 200 220
for number in "${sample[@]}"; do
    injected 5 'memory|allocate' 1 SHIM_MEMORY=$number:$ENOMEM
done
injected 5 'memory|allocate' 3 SHIM_RANK=2 SHIM_MEMORY=200:$ENOMEM

# Rows of which nothing reaches the disk are not done, whoever has made them: progress says so, as status does.
errs 4 'rows could not be synced within 1 s' "${shim[@]}" SHIM_SYNC=1:hang \
    "$voltmill" run --stall-timeout 1 --progress 0.001 job.yaml
grep -q '^0/[0-9]* chunks (0.0 %)$' stderr && ! grep -q '^[1-9][0-9]*/[0-9]* chunks' stderr || bad=1
ok $bad "progress counts what is in the journal"
[ $bad = 0 ] || note <stderr
clear_all

# The kernel reports a write that failed to one sync alone: none may fail unseen, nor after the last chunk, when the
# journals are synced beside compressing.
unseen=
sampled 3 {1..6}
for number in "${sample[@]}"; do
    "${shim[@]}" "SHIM_SYNC=$number!:$EIO" SHIM_COUNTS=counts "$voltmill" run job.yaml --set run.chunk=4000 \
        --set products.0.compress=deflate >stdout 2>stderr &&
        [ "$(awk '$1 == "SHIM_SYNC" {print $2}' counts)" -ge $number ] && unseen+=" $number"
    clear_all
done
same "no sync fails unseen" "" "$unseen"

# These do no harm.
harmless() {
    runs "harmless: $*" mpirun -n 2 "${shim[@]}" "$@" "$voltmill" run job.yaml
    same "harmless: $*: same bytes" "$expected" "$(digest)"
    clear_all
}
harmless SHIM_ROWS=1:short SHIM_RECORDS=1:short SHIM_CREATE=1:short SHIM_SAMPLES=1:short
harmless SHIM_RESERVE=1:$EOPNOTSUPP SHIM_LOCK=1:$ENOLCK
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && memory=$(mktemp -d /dev/shm/voltmill.XXXXXX); then
    trap 'rm -rf "$memory"; clean' EXIT
    runs "in memory no room is reserved" mpirun -n 2 "${shim[@]}" SHIM_RESERVE=1:$EIO "$voltmill" run job.yaml \
        --set products.0.file="$memory/spectra.h5" --set products.1.file="$memory/power.h5"
    same "in memory no room is reserved: same bytes" "$expected" "$(cd "$memory" && digest)"
else
    skip "memory-backed files: none here"
fi

# Files that cannot be removed are left, and reported.
"${shim[@]}" SHIM_CREATE=3:$EIO SHIM_REMOVE=3:$EACCES "$voltmill" run job.yaml >stdout 2>stderr
same "names that cannot be removed: the cause, and each that is left" "4 1 yes" \
    "$? $(grep -c '^error: .*Input/output error' stderr) $([ "$(ls ./*.part | wc -l)" = "$(grep -c '^warning: .*part cannot be removed and is left: ' stderr)" ] && echo yes)"
runs "a run goes on" "$voltmill" run job.yaml
same "the same bytes" "$expected" "$(digest)"
clear_all
# A journal that goes on is cut behind its last whole record.
"${slow[@]}" SHIM_NAP=20 SHIM_ROWS=50:kill "$voltmill" run --set run.sync=0.01 job.yaml >stdout 2>stderr
errs 4 '\.journal.*Input/output error' "${shim[@]}" SHIM_CUT=1:$EIO "$voltmill" run job.yaml
ok $bad "a journal that cannot be cut"
runs "goes on" "$voltmill" run job.yaml
same "to the same bytes" "$expected" "$(digest)"
clear_all
# The first four calls find nothing to remove.
"${shim[@]}" SHIM_REMOVE=5:$EACCES "$voltmill" run job.yaml >stdout 2>stderr
same "journals of a complete run" "0 2" "$? $(grep -c '^warning: .*journal cannot be removed and is left' stderr)"
clear_all

# A call that a signal has interrupted is made again.
EINTR=4
sampled 3 OPEN=1 OPEN=2 OPEN=4 FSYNC=1 FSYNC=3 SYNC=1 CUT=1
for call in "${sample[@]}"; do
    runs "SHIM_$call!:$EINTR: a run" "${shim[@]}" "SHIM_$call!:$EINTR" "$voltmill" run job.yaml
    same "the same bytes" "$expected" "$(digest)"
    clear_all
done
plan
