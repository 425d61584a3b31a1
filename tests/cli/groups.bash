# Sourced by tests of groups of coarse channels behind tools/lib.sh: job.yaml makes `products` in one group with much
# memory, and in a group for each coarse channel with the memory that `small` (options) sets. `expected` are their sums.
digest() { sha256sum "${products[@]}"; }
clean_up() { for product in "${products[@]}"; do rm -f "$product"*; done; }

# in_groups CHUNKS: compares both ways, and leaves the products.
in_groups() {
    runs "much memory" "$voltmill" run --set run.memory=2GiB job.yaml
    expected=$(digest)
    clean_up
    runs "a plan for little memory" "$voltmill" plan "${small[@]}" job.yaml
    grep -Eq "^  chunks +$1 of 16 spectra of 2 streams" "$work/output"
    ok $? "has a group for each coarse channel"
    for ranks in 1 3; do
        runs "little memory, $ranks ranks" mpirun -n $ranks "$voltmill" run "${small[@]}" job.yaml
        same "the same bytes" "$expected" "$(digest)"
        [ $ranks = 3 ] || clean_up
    done
}

# begin RECORDS: kills a run when all journals have their first chunks.
begin() {
    { env LD_PRELOAD="$shim" SHIM_NAP=4 SHIM_RECORDS="$1:kill" "$voltmill" run "${small[@]}" job.yaml >killed 2>&1; } 2>/dev/null
    [ -e "${products[0]}.part" ]
    ok $? "a run that is killed when its ${#products[@]} journals have their first chunks"
}

# go_on CHUNKS: completes it with much memory.
go_on() {
    runs "goes on, with other memory" mpirun -n 2 "$voltmill" run --set run.memory=2GiB job.yaml
    grep -q "of $1 chunks are done: resumes from there" "$work/output"
    ok $? "in the chunks that it was begun with"
    same "the same bytes" "$expected" "$(digest)"
    clean_up
}
