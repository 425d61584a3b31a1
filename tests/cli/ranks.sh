#!/usr/bin/env bash
# Ranks speak once: whatever is wrong with the words of a command, and for its help.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
three=(mpirun -n 3 "$voltmill")

fails "bench run, an unknown option" 2 'bench run: unknown option --bogus' "${three[@]}" bench run --bogus
fails "run without a job" 2 'run: expected one job file or --set, got 0' "${three[@]}" run
fails "run, two options that do not go together" 2 'each does not go with' "${three[@]}" run --each 'x*' --dry-run job.yaml
fails "verify, an unknown option" 2 'verify: unknown option --bogus' "${three[@]}" verify --bogus product.h5
fails "synth, a value that is none" 2 'synth --progress x' "${three[@]}" synth --progress x spec.yaml
fails "a command that there is not" 2 'unknown command bogus' "${three[@]}" bogus
runs "help" "${three[@]}" bench run --help
same "once" 1 "$(grep -c '^Usage' output)"

# One rank alone has other words: all end with its message.
fails "one of two with an unknown option" 2 'unknown option --bogus; .*\(rank 1 on' \
    mpirun -n 2 bash -c 'exec "$0" run $([ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" = 0 ] || echo --bogus) job.yaml' "$voltmill"

# Without a launcher there is no MPI: neither a daemon beside the process, nor a folder of MPI's, which
# a process that ends would take away from one that starts, and which may be another user's.
mkdir bin tmp
printf '#!/bin/sh\ntouch "%s/daemon"\nexit 1\n' "$work" >bin/orted
chmod +x bin/orted
touch "tmp/ompi.$(uname -n).$(id -u)"
printf '{file: obs.h5, samples: 1000, streams: {pols: 1}, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e9, noise: 9}\n' >spec.yaml
runs "a process by itself" env OPAL_BINDIR="$work/bin" TMPDIR="$work/tmp" OMPI_MCA_orte_tmpdir_base="$work/tmp" \
    PMIX_SYSTEM_TMPDIR="$work/tmp" "$voltmill" synth spec.yaml
same "it has started no daemon" no "$([ -e daemon ] && echo yes || echo no)"
same "and touched no folder of MPI's" "ompi.$(uname -n).$(id -u)" "$(ls tmp)"
runs "two ranks" mpirun -n 2 "$voltmill" synth --force spec.yaml

# Nodes are paid for: fewer chunks than ranks are worth a word where a chunk is long.
truncate -s $((2100 * 65536 * 2)) zeros.bin
cat >idle.yaml <<'END'
input: {files: zeros.bin, layout: {format: raw, type: ci8, axes: "time,pol:1", sample_rate_hz: 16e6, freq_hz: 320e6}}
channelise: {channels: 65536, taps: 1, window: rect, backend: cpu}
products: [{kind: power, file: idle.h5, integrate: 2100}]
END
runs "fewer chunks than ranks" mpirun -n 3 "$voltmill" run idle.yaml
same "which is said" 1 "$(grep -c '^note: 1 chunk for 3 ranks: the others have nothing to do' output)"
runs "one rank" "$voltmill" run --force idle.yaml
same "has enough" 0 "$(grep -c 'nothing to do' output)"

# A launcher that binds ranks to single cores keeps most of a machine from them.
printf '{input: {files: obs.h5}, channelise: {channels: 16, backend: cpu}, products: [{kind: power, file: p.h5}]}\n' >bound.yaml
if [ "$(nproc)" -gt 1 ]; then
    runs "a bound rank" env -u OMP_NUM_THREADS mpirun -n 1 --bind-to core "$voltmill" run bound.yaml
    same "which says so" 1 "$(grep -cE "^note: mpirun binds each rank to [0-9]+ of $(nproc) processors; with --bind-to none" output)"
fi
runs "one that has a number of threads" mpirun -n 1 --bind-to core "$voltmill" run --force bound.yaml
same "which does not" 0 "$(grep -c 'mpirun binds' output)"
STARTS=40 . "$here/tests/long/starts.bash"
plan
