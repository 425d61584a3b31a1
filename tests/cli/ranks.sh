#!/usr/bin/env bash
# Ranks speak once: whatever is wrong with the words of a command, and for its help.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
three=(mpirun -n 3 "$voltmill")

fails "bench run, an unknown option" 2 'bench run: unknown option --bogus' "${three[@]}" bench run --bogus
fails "run without a job" 2 'run: expected one job file, got 0' "${three[@]}" run
fails "run, two options that do not go together" 2 'each does not go with' "${three[@]}" run --each 'x*' --dry-run job.yaml
fails "verify, an unknown option" 2 'verify: unknown option --bogus' "${three[@]}" verify --bogus product.h5
fails "synth, a value that is none" 2 'synth --progress x' "${three[@]}" synth --progress x spec.yaml
fails "a command that there is not" 2 'unknown command bogus' "${three[@]}" bogus
runs "help" "${three[@]}" bench run --help
same "once" 1 "$(grep -c '^Usage' output)"

# One rank alone has other words: all end with its message.
fails "one of two with an unknown option" 2 'unknown option --bogus; .*\(rank 1 on' \
    mpirun -n 1 "$voltmill" run job.yaml : -n 1 "$voltmill" run --bogus job.yaml
plan
