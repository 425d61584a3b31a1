#!/usr/bin/env bash
# Files of a sequence are one observation for --each and --list; a pattern that splits one is warned of; --part shares
# the observations out.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

mkdir obs out
PYTHONPATH="$here/tests/clients" warm - <<'PYTHON'
import os
import shutil
import numpy as np
from mocks import every, recorders
rng = np.random.default_rng(5)
every.guppi(lambda name: os.path.join("obs", name.replace("obs", "night")), rng)
shutil.copy("obs/night.0000.raw", "obs/other[1].0000.raw")
for i in range(2):
    recorders.write_dada(f"obs/2024-01-01-00:00:00_{0:016}.{i:06}.dada", every.noise(rng, (4000, 2, 2, 2)).tobytes(), NBIT=8,
                         NDIM=2, NPOL=2, NCHAN=2, BW=-2.0, FILE_NUMBER=i, OBS_OFFSET=8 * 4000 * i)
os.mkdir("lofar")
every.lofar_bf(lambda *names: os.path.join("lofar", *names), rng)
os.mkdir("drf")
every.digital_rf(lambda *names: os.path.join("drf", *names), rng)
PYTHON
cat >job.yaml <<'YAML'
input: {files: [nothing, at all]}
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: power, file: "out/{name}.h5", integrate: 4}]
YAML

run() { # run EXPECTED OPTION...
    local expected=$1 status=0
    shift
    rm -rf out
    mkdir out
    "$voltmill" run "$@" job.yaml >stdout 2>stderr || status=$?
    [ "$status" = "$expected" ] || note <stderr
    [ "$status" = "$expected" ]
}
made() { (cd out && echo ./* | sed 's#\./##g'); }

run 0 --each 'obs/*.raw'
ok $? "GUPPI RAW: one job for two observations"
same "of their stems" "night.h5 other[1].h5" "$(made)"
same "the table" "complete obs/night.[0-9][0-9][0-9][0-9].raw|complete obs/other[1].0000.raw|" \
    "$(sed -n 's/^complete  */complete /p' stdout | tr '\n' '|')"
! grep -q split stderr
ok $? "nothing is split"
runs "a job of the pattern" "$voltmill" run --set 'input.files=obs/night.*.raw' --set products.0.file=plain.h5 job.yaml
same "makes the same rows" "$(data plain.h5)" "$(data out/night.h5)"
runs "an observation of several files verifies" "$voltmill" verify out/night.h5
runs "the same again" "$voltmill" run --each 'obs/*.raw' job.yaml
same "has been complete" 2 "$(grep -c '^complete before' output)"

run 0 --each 'obs/night.000[01].raw'
ok $? "a pattern that splits a sequence runs"
grep -q '^warning: --each: night is split: 1 of its 3 files match no pattern and are not read; all are obs/night\.[[]0-9[]].*\.raw$' stderr
ok $? "with a warning"
same "of what it matches" "obs/night.0000.raw obs/night.0001.raw" \
    "$(warm -c 'import h5py
print(h5py.File("out/night.h5")["provenance"].attrs["inputs"])' | grep -o 'obs/night.[0-9]*.raw' | tr '\n' ' ' | sed 's/ $//')"
run 0 --each 'obs/night.0000.raw'
grep -q 'split: 2 of its 3 files' stderr
ok $? "one file of a sequence: a warning"

run 0 --each 'obs/*.dada'
same "PSRDADA" "2024-01-01-00:00:00.h5" "$(made)"
run 0 --each 'lofar/*.h5'
same "LOFAR: four components" 1 "$(made | wc -w)"
grep -q '^complete  *lofar/.*_S.0-3._.*$' stdout
ok $? "are one observation"
run 0 --each "$(find lofar -name '*_S1_*.h5')"
! grep -q split stderr
ok $? "one of which leads to the others"
channel=$(dirname "$(dirname "$(find drf -name 'rf@*.h5' | head -n 1)")")
for pattern in "$channel" "$channel/2*" "$channel/2*/rf@*.h5"; do
    run 0 --each "$pattern"
    same "Digital RF: $pattern" "${channel##*/}.h5" "$(made)"
    grep -q split stderr
    same "is not split" 1 $?
    sum=$(data out/*.h5)
    same "the same rows" "${before:=$sum}" "$sum"
done

# --- a list, and parts of it
printf '%s\n' '# nights' obs/night.*.raw '' 'obs/other[1].0000.raw' 'obs/*.dada' >list.txt
run 0 --list list.txt
ok $? "a list of files and patterns"
same "is three observations" "2024-01-01-00:00:00.h5 night.h5 other[1].h5" "$(made)"
run 0 --list - <list.txt
ok $? "the same from standard input"
same "the same three" "2024-01-01-00:00:00.h5 night.h5 other[1].h5" "$(made)"
same "plan reads it, too" "note: of 3 observations, obs/night.[0-9][0-9][0-9][0-9].raw is planned" \
    "$("$voltmill" plan --list - job.yaml <list.txt 2>&1 >/dev/null | grep planned)"
all=""
for part in 1 2 3 4; do
    run 0 --list list.txt --part $part/4
    all+="$(made)|"
done
same "in parts, of which the last has none" "night.h5|other[1].h5|2024-01-01-00:00:00.h5|*|" "$all"
run 0 --each 'obs/*.raw' --part 2/2
same "of a pattern" "other[1].h5" "$(made)"
run 0 --each 'obs/*.raw' --part 2/4294967295
same "of as many parts as a number can be" "other[1].h5" "$(made)"
if command -v strace >/dev/null; then
    for force in '' --force; do
        strace -f -o opened -e trace=openat "$voltmill" run --each 'obs/*.raw' --part 2/2 $force job.yaml >stdout 2>&1
        grep -q 'obs/night.*O_RDONLY' opened
        same "observations of other parts are opened: ${force:-not without --force}" "${force:+0}" "$(sed s/1// <<<$?)"
    done
else
    skip "strace is not installed"
fi
# --- job arrays of PBS and LSF, and their summary
rm -rf out && mkdir out
head -c 5000 obs/night.0000.raw >'obs/broken: x.0000.raw'
echo 'obs/broken: x.0000.raw' >>list.txt
printf 'a\nb\n' >nodes
export JOB=job.yaml LIST=list.txt OPTIONS="--set run.threads=1" VOLTMILL=$voltmill
for part in 1 2; do
    PBS_ARRAY_INDEX=$part PBS_NODEFILE=$PWD/nodes NCPUS=2 PARTS=3 bash "$here/slurm/each.pbs" >each.$part 2>&1
    [ $? = $((part == 1 ? 4 : 0)) ]
    ok $? "PBS: element $part"
done
lsf=(env LS_SUBCWD="$PWD" LSB_MCPU_HOSTS="a 1 b 1")
runs "LSF: element 3" "${lsf[@]}" LSB_JOBINDEX=3 LSB_JOBINDEX_END=3 bash "$here/slurm/each.lsf"
cp output each.3
cp job.yaml one.yaml
OPTIONS="--set input.files=obs/night.*.raw --set products.0.file=plain.h5"
"${lsf[@]}" JOB=one.yaml OPTIONS="$OPTIONS" bash "$here/slurm/run.lsf" >run.1 2>&1
same "LSF: one observation, of the same job" "0 1" "$? $(grep -c 'complete before' run.1)"
PBS_NODEFILE=$PWD/nodes NCPUS=2 JOB=one.yaml OPTIONS="$OPTIONS" bash "$here/slurm/run.pbs" >run.1 2>&1
same "PBS: one observation, of the same job" "0 1" "$? $(grep -c 'complete before' run.1)"
for script in run.pbs run.lsf each.pbs each.lsf; do
    env JOB= LIST= bash "$here/slurm/$script" >run.1 2>&1
    same "$script without a job" "2 1" "$? $(grep -c '^expected a job' run.1)"
done
mkdir bin
for warning in : 'kill -TERM $PPID'; do
    expected=$([ "$warning" = : ] && echo 1 || echo 75)
    printf '#!/bin/bash\n%s\nexit 1\n' "$warning" >bin/mpirun
    chmod +x bin/mpirun
    for script in run.lsf each.lsf; do
        PATH=$PWD/bin:$PATH "${lsf[@]}" LSB_JOBINDEX=1 LSB_JOBINDEX_END=1 bash "$here/slurm/$script" >run.1 2>&1
        same "$script: an mpirun that fails after $warning" "$expected" $?
    done
done
unset JOB LIST OPTIONS VOLTMILL
status=0
"$here/slurm/each-summary" each.1 each.2 each.3 >stdout || status=$?
same "the summary: status" 1 $status
same "counts" "== 3 of 4 observations are complete, 1 failed" "$(tail -n 1 stdout)"
grep -q '^failed  *obs/broken: x.0000.raw: .' stdout
ok $? "and says what failed, and why"
"$here/slurm/each-summary" each.2 each.3 >stdout
same "parts without a log: status" 1 $?
same "are named" "no log of parts 1 of 3: their observations are not counted|== 2 of 2 observations are complete|" "$(tr '\n' '|' <stdout)"
printf 'complete         obs/broken: x.0000.raw\n' | "$here/slurm/each-summary" each.1 each.2 each.3 - >stdout
same "a name with a colon is one observation" "0 == 4 of 4 observations are complete" "$? $(cat stdout)"
echo "each.pbs: part 4/4 of list.txt" >killed
"$here/slurm/each-summary" each.2 each.3 killed >stdout
same "an element without a table: status" 1 $?
grep -q '^no table in killed: ' stdout && grep -q '^== 2 of 2 .* complete, 1 element has no table$' stdout
ok $? "is named, and counted"
"$here/slurm/each-summary" each.2 'none-*.log' >stdout 2>stderr
same "a pattern without logs: status" "2 none-*.log: no such log" "$? $(cut -d: -f1,2 stderr)"
printf 'error: %s\n' first second >>killed
"$here/slurm/each-summary" killed >stdout
same "no table at all: status" 1 $?
same "the first error, and no count" "killed: error: first|== no element has printed a table of observations|" \
    "$(tail -n 2 stdout | tr '\n' '|')"
: >empty
run 2 --list empty && grep -q '^error: empty: names no observation: expected one a line' stderr
ok $? "an empty list"
run 4 --list no-list && grep -q '^error: .*no-list' stderr
ok $? "no list"
echo obs/no.raw >empty
run 2 --list empty && grep -q '^error: empty:1: no file matches obs/no\.raw' stderr
ok $? "a line that matches nothing"
run 2 --list - <empty && grep -q '^error: standard input:1: no file matches obs/no\.raw' stderr
ok $? "of standard input"
printf '%s\n' '# two' 'obs/no*.raw.gz' '~/obs/night.*.raw  ' >some
HOME=$PWD run 2 --list some && grep -q '^error: some:2: no file matches obs/no\*\.raw\.gz; ' stderr
ok $? "among others"
same "makes nothing" "*" "$(made)"
HOME=$PWD run 4 --keep-going --list some
ok $? "--keep-going goes on"
same "with the others: ~ is HOME, blanks at the end do not count" night.h5 "$(made)"
grep -q '^failed  *obs/no\*\.raw\.gz:'$'\t''some:2: no file matches obs/no\*\.raw\.gz$' stdout &&
    [ "$(grep -c '^error: ' stderr)" = 2 ] && grep -q '^error: 1 of 2 observations are not complete$' stderr
ok $? "and names the line in the table"
HOME='' run 2 --list some --keep-going && grep -q '^error: some:3: ~ is HOME, which is not set$' stderr
ok $? "no HOME"
for words in "--part 0/2" "--part 3/2" "--part 1" "--part 1/2x" "--part -1/2" "--part 1/4294967297"; do
    run 2 --list list.txt $words && grep -q 'part' stderr
    ok $? "refused: $words"
done
run 2 --part 1/2 && grep -q 'part is for --each and --list' stderr
ok $? "--part alone"
run 2 --list list.txt --each 'x*' && grep -q 'not both' stderr
ok $? "--list and --each"
plan
