# The batch scripts of slurm/ on a real SLURM of two nodes, submitted by an ordinary user: an array with
# what follows it, a job that is stopped and carries on, a rank that is killed, pretended GPUs.
. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"

if [ -z "${VOLTMILL_CLUSTER:-}" ]; then
    reason=$("$here/tests/slurm/cluster" check) || { echo "1..0 # SKIP $reason"; exit 0; }
    rm -rf "$work"
    export VOLTMILL_SHIM=$(dirname "$voltmill")/tests/faults/io_shim.so
    exec "$here/tests/slurm/cluster" 2 2 2 bash "${BASH_SOURCE[0]}"
fi

# The checkout may lie where only root can look.
home=$VOLTMILL_CLUSTER/home
mkdir "$home/out"
cp -rL "$voltmill" "$here/slurm" "$home"
chown -R --reference="$home" "$home"
cd "$home" || exit 1
export VOLTMILL=$home/voltmill VOLTMILL_CACHE=$home/cache
# Nodes reach each other through the loopback, of which MPI makes no use by itself.
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo
read -ra user <<<"$VOLTMILL_CLUSTER_USER"
as() { "${user[@]}" "$@"; }

# The scripts ask for more than these nodes have.
small=(--ntasks-per-node=2 --cpus-per-task=1 --mem-per-cpu=100M --time=10)
submit() { # submit ARGUMENT...: prints the number of the job
    as sbatch --parsable "${small[@]}" "$@"
}
# A part of what SLURM knows about a job: state JOB JobState
state() { scontrol --oneliner show job "$1" | sed -n "s/.* $2=\([^ ]*\).*/\1/p" | sort -u | tr '\n' ' ' | sed 's/ $//'; }
# await SECONDS COMMAND...: until the command succeeds; a machine with other work has five times as long
await() {
    local end=$((SECONDS + 5 * $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.2
    done
}
ended() { case $(state "$1" JobState) in *PENDING* | *RUNNING* | *COMPLETING* | *CONFIGURING*) return 1 ;; esac; }
logs() { local log; for log in ./*.log; do echo "# $log"; note <"$log"; done; }
sum() { sha256sum <"$1"; }

as tee job-1.yaml >/dev/null <<YAML
input: {files: obs-1.h5}
channelise: {channels: 64, taps: 8, backend: cpu}
products: [{kind: power, file: out/power-1.h5, integrate: 5}]
YAML
for i in 1 2 3; do
    as tee obs.yaml >/dev/null <<YAML
file: obs-$i.h5
samples: 400000
streams: {pols: 2, chans: 1}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
seed: $i
YAML
    runs "observation $i" as "$VOLTMILL" synth obs.yaml
    [ "$i" = 1 ] || sed "s/-1\.h5/-$i.h5/" job-1.yaml | as tee "job-$i.yaml" >/dev/null
    runs "what job $i is to make" as mpirun -n 2 "$VOLTMILL" run --set products.0.file="plain-$i.h5" "job-$i.yaml"
    echo "job-$i.yaml" >>list.txt
done

# --- an array, and what follows it
array=$(submit --array=1-3 slurm/array.sbatch list.txt --set run.threads=1)
after=$(submit --dependency=afterok:"$array" slurm/after.sbatch 'out/*.h5')
same "the job that follows waits" PENDING "$(state "$after" JobState)"
await 40 ended "$after"
same "an array of 3 observations on 2 nodes" COMPLETED "$(state "$array" JobState)"
same "both nodes had a part in it" "n0 n1" "$(state "$array" NodeList)"
same "what follows it" COMPLETED "$(state "$after" JobState)"
grep -qx '== 3 products are complete, 0 are not' voltmill-after-*.log
ok $? "and names the products"
for i in 1 2 3; do
    same "product $i: the bytes of a plain run" "$(sum "plain-$i.h5")" "$(sum "out/power-$i.h5")"
done
"$python" - <<'PYTHON'
import h5py, numpy as np
for i in (1, 2, 3):
    data = h5py.File(f"out/power-{i}.h5")["data"][()]
    assert data.shape == (1248, 2, 64) and np.isfinite(data).all() and data.min() > 0, data.shape
PYTHON
ok $? "h5py reads them"
[ "$(state "$array" JobState) $(state "$after" JobState)" = "COMPLETED COMPLETED" ] || logs

# --- one job over many observations, one of which fails, in an array that is shorter than their list
rm -f ./*.log
mkdir many
for i in {1..9}; do ln "obs-$((i % 3 + 1)).h5" "many/night-$i.h5"; done
head -c 3000 obs-1.h5 >many/night-10.h5
chown -R --reference="$home" many
ls many/*.h5 >many.txt
sed 's#out/power-1.h5#"out/{name}.h5"#' job-1.yaml | as tee each.yaml >/dev/null
each=$(submit --array=1-4 slurm/each.sbatch each.yaml many.txt --set run.threads=1)
await 60 ended "$each"
same "one element fails" "COMPLETED FAILED" "$(state "$each" JobState)"
status=0
slurm/each-summary voltmill-each-*.log >summary || status=$?
same "the summary: status" 1 $status
same "its last line" "== 9 of 10 observations are complete, 1 failed" "$(tail -n 1 summary)"
grep -q '^failed  *many/night-10.h5: .' summary && [ "$(wc -l <summary)" = 2 ]
ok $? "it has the one that failed, and why"
[ "$(wc -l <summary)" = 2 ] || { note <summary; logs; }
"$python" -c 'import h5py
for i in range(1, 10):
    one, plain = (h5py.File(name)["data"][()] for name in (f"out/night-{i}.h5", f"plain-{i % 3 + 1}.h5"))
    assert (one == plain).all(), i'
ok $? "products have the rows of plain runs"
cp obs-1.h5 many/night-10.h5
rm -f ./*.log
each=$(submit --array=5-7 slurm/each.sbatch each.yaml many.txt --set run.threads=1)
await 60 ended "$each"
same "the same again, in another array" COMPLETED "$(state "$each" JobState)"
same "skips what is complete" "9 1" "$(grep -h '^complete before' ./*.log | wc -l) $(grep -h '^complete  ' ./*.log | wc -l)"
[ "$(slurm/each-summary voltmill-each-*.log)" = "== 10 of 10 observations are complete" ]
ok $? "and the summary says so"
sparse=$(submit --array=1,3 slurm/each.sbatch each.yaml many.txt)
await 20 ended "$sparse"
same "an array with holes fails" "FAILED 2:0" "$(state "$sparse" JobState) $(state "$sparse" ExitCode)"
rm -f out/night-*

missing=$(submit slurm/after.sbatch out/power-1.h5 out/power-4.h5)
await 20 ended "$missing"
same "a product that is not there: what follows fails" "FAILED 1:0" "$(state "$missing" JobState) $(state "$missing" ExitCode)"
beyond=$(submit --array=4 slurm/array.sbatch list.txt)
await 20 ended "$beyond"
same "an element beyond the list fails" "FAILED 2:0" "$(state "$beyond" JobState) $(state "$beyond" ExitCode)"

# --- one observation on two nodes
rm -f ./*.log
one=$(submit --nodes=2 slurm/run.sbatch job-1.yaml --force)
await 30 ended "$one"
same "one observation on two nodes" COMPLETED "$(state "$one" JobState)"
same "it makes the same bytes" "$(sum plain-1.h5)" "$(sum out/power-1.h5)"
[ "$(state "$one" JobState)" = COMPLETED ] || logs
rm -f ./*.log
other=$(submit slurm/run.sbatch job-1.yaml --set channelise.taps=3)
await 20 ended "$other"
same "the program's own status is the job's" "FAILED 2:0" "$(state "$other" JobState) $(state "$other" ExitCode)"

# --- GPUs that are none, with a processor behind OpenCL: a rank for each, and each sees its own
rm -f ./*.log
if as "$VOLTMILL" info --devices | grep -q '^0: '; then
    gpu=$(submit slurm/gpu.sbatch job-2.yaml --set channelise.kernel=local --set products.0.file=out/gpu.h5)
    await 60 ended "$gpu"
    same "one rank for each GPU" COMPLETED "$(state "$gpu" JobState)"
    [ "$(state "$gpu" JobState)" = COMPLETED ] || logs
    runs "its product verifies" as "$VOLTMILL" verify --chunks 4 out/gpu.h5
    cat >gpus.sh <<'SH'
#!/bin/bash
#SBATCH --gpus-per-task=1 --ntasks-per-node=2 --output=gpus.log
srun bash -c 'echo "$SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"'
SH
    await 20 ended "$(submit gpus.sh)"
    same "each rank sees one GPU, its own" "n0 0 n0 1 " "$(sort gpus.log | tr '\n' ' ')"
else
    await 4 as sbatch --test-only "${small[@]}" slurm/gpu.sbatch job-2.yaml
    ok $? "gpu.sbatch could be submitted"
    skip "gpu.sbatch was not run: no OpenCL device here"
fi

# --- work for ten seconds, most of which it sleeps
rm -f ./*.log
as tee long.yaml >/dev/null <<'YAML'
input: {files: obs-1.h5}
channelise: {channels: 16, taps: 64, backend: cpu}
products: [{kind: power, file: out/long.h5, integrate: 4}]
run: {chunk: 64, threads: 1}
YAML
cp "${VOLTMILL_SHIM:?}" "$home/io_shim.so"
long=(--export="ALL,LD_PRELOAD=$home/io_shim.so,SHIM_NAP=50")
has_begun() { [ -s out/long.h5.part ]; }

# A rank that is killed: the others do not wait for it.
kill_one_rank() { # of those of this job
    local entry
    for entry in /proc/[0-9]*; do
        case $({ tr '\0' ' ' <"$entry/cmdline"; } 2>/dev/null) in
        "$VOLTMILL run long.yaml "*) kill -9 "${entry#/proc/}" && return ;;
        esac
    done
    return 1
}
killed=$(submit --nodes=2 --ntasks-per-node=1 "${long[@]}" slurm/run.sbatch long.yaml)
await 20 has_begun
sleep 1
kill_one_rank
ok $? "a rank is killed"
began=$SECONDS
await 45 ended "$killed"
took=$((SECONDS - began))
echo "# the job ended $took s after its rank"
[ "$took" -lt 200 ]
ok $? "the job ends soon after"
same "as failed" "FAILED 0" "$(state "$killed" JobState) $(state "$killed" Restarts)"
[ "$(state "$killed" JobState)" = FAILED ] || logs
[ ! -e out/long.h5 ]
ok $? "without a product"
rm -rf out/long.h5*

# A node that is lost, with all that runs on it: the job goes back into the queue, and carries on when there are
# nodes again.
kill_node() { # kill_node NAME: what has its host name
    local namespace entry
    namespace=$(readlink "/proc/$(cat "$VOLTMILL_CLUSTER/run/slurmd.$1.pid")/ns/uts")
    for entry in /proc/[0-9]*; do
        [ "$(readlink "$entry/ns/uts")" != "$namespace" ] || kill -9 "${entry#/proc/}"
    done
}
rm -f ./*.log
runs "an undisturbed run" as mpirun -n 2 "$VOLTMILL" run --set products.0.file=plain-long.h5 long.yaml
# Gives a rank up soon; but a run that carries on has the usual time: ranks of a busy machine begin and answer late.
as tee impatient >/dev/null <<SH
#!/bin/bash
[ "\${SLURM_RESTART_COUNT:-0}" != 0 ] || set -- "\$@" --stall-timeout 10
exec "$VOLTMILL" "\$@"
SH
chmod +x impatient
lost=$(VOLTMILL=$home/impatient submit --nodes=2 --ntasks-per-node=1 "${long[@]}" slurm/run.sbatch long.yaml --set run.sync=0.2)
# Ranks look at each other from the first chunk on: before, only SLURM would see that one is lost, after minutes.
has_chunks() { "$VOLTMILL" status out/long.h5 2>/dev/null | grep -q '^  chunks *[1-9]'; }
await 20 has_chunks
kill_node n1
was_requeued() { [ "$(state "$lost" Restarts)" = 1 ]; }
await 60 was_requeued
ok $? "a job that loses a node goes back into the queue"
[ ! -e out/long.h5 ]
ok $? "with its product not complete"
start_node n1
await 90 ended "$lost"
same "it carries on to the end" "COMPLETED 1" "$(state "$lost" JobState) $(state "$lost" Restarts)"
[ "$(state "$lost" JobState)" = COMPLETED ] || logs
same "the bytes of an undisturbed run" "$(sum plain-long.h5)" "$(sum out/long.h5)"
rm -rf out/long.h5*

# A run that is told to stop: it goes back into the queue, and carries on.
rm -f ./*.log
if "$VOLTMILL" --help | grep -q '^  status '; then
    stopped=$(submit --nodes=2 --ntasks-per-node=1 "${long[@]}" slurm/run.sbatch long.yaml)
    after=$(submit --dependency=afterok:"$stopped" slurm/after.sbatch out/long.h5)
    await 20 has_begun
    sleep 2
    as scancel --batch --signal=USR1 "$stopped"
    was_requeued() { [ "$(state "$stopped" Restarts)" = 1 ]; }
    await 20 was_requeued
    ok $? "a job that gets SIGUSR1 goes back into the queue"
    [ ! -e out/long.h5 ]
    ok $? "with its product not complete"
    same "what follows still waits" PENDING "$(state "$after" JobState)"
    await 60 ended "$after"
    same "it carries on to the end" "COMPLETED 1" "$(state "$stopped" JobState) $(state "$stopped" Restarts)"
    same "then what follows it runs" COMPLETED "$(state "$after" JobState)"
    [ "$(state "$after" JobState)" = COMPLETED ] || logs
    same "the bytes of an undisturbed run" "$(sum plain-long.h5)" "$(sum out/long.h5)"
else
    skip "this program cannot be stopped and resumed: requeue not tested"
fi

plan
