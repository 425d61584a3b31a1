# An observation in many files, with gaps between them, is one input; one job does many observations, one
# after the other.
. "$(dirname "$0")/../tools/lib.sh"
. "$(dirname "$0")/jobs.bash"

# Five files; between the second and third 1000 samples are missing, between the others nothing; one file is
# missing altogether, between the fourth and the last. And the same in one file, with its gaps in a list.
PYTHONPATH="$here/tests/cli" "$python" - <<'PYTHON'
from archives import *
whole = noise((40000, 2, 2))
pieces = [(0, 5000), (5000, 13000), (14000, 20000), (20000, 21000), (30000, 40000)]
for i, (low, high) in enumerate(pieces):
    native(f"part-{9 - i}.h5", whole[low:high], root={"start_second": 100 + low / RATE})
native("whole.h5", whole, scales={"gaps": np.array([[13000, 1000], [21000, 9000]], "u8")})
for i in range(1, 5):
    native(f"obs-{i}.h5", noise((20000, 2, 2), seed=i))
PYTHON
cat >job.yaml <<'YAML'
input: {files: "part-*.h5"}
channelise: {channels: 64, taps: 8, backend: cpu}
products:
  - {kind: power, file: "{name}.out", integrate: 5}
run: {chunk: 80}
YAML

runs "files with gaps between them" mpirun -n 2 "$voltmill" run --set products.0.file=parts.out job.yaml
runs "the same in one file" "$voltmill" run --set input.files=whole.h5 --set products.0.file=whole.out job.yaml
same "the same rows" "$(data whole.out)" "$(data parts.out)"
same "what is missing is counted" "20000 20000" "$("$python" -c "
import h5py
print(*(h5py.File(f)['provenance'].attrs['gap_samples'] for f in ('parts.out', 'whole.out')))")"
runs "verify joins them, too" "$voltmill" verify parts.out
errs 4 'h5 starts .* samples before the end' "$voltmill" plan --set 'input.files=[part-9.h5, part-8.h5, whole.h5]' job.yaml
ok $bad "files that overlap are refused"

# Names without times: numbers in them are numbers. Twelve files of 1000 samples; an explicit order is kept.
PYTHONPATH="$here/tests/cli" "$python" - <<'PYTHON'
from archives import *
whole = noise((12000, 2, 2))
for i in range(12):
    plain(f"n{i + 1}.h5", whole[1000 * i:1000 * (i + 1)])
plain("n.all", whole)
plain("n.other", np.concatenate([whole[9000:10000], whole[1000:3000]]))
for i, name in enumerate(("t10", "t2", "t1")):  # their own times say otherwise
    native(f"{name}.h5", whole[5000 * i:5000 * (i + 1)][:5000], root={"start_second": 100 + 5000 * i / RATE})
PYTHON
layout='input.layout={dataset: /x, axes: "time,pol,reim", sample_rate_hz: 1e6}'
for job in 'all.out n*.h5' 'whole.n n.all' 'list.out [n10.h5, n2.h5, n3.h5]' 'other.n n.other'; do
    "$voltmill" run --set "input.files=${job#* }" --set "$layout" --set "products.0.file=${job%% *}" job.yaml >/dev/null
done
same "a pattern: n2 before n10" "$(data whole.n)" "$(data all.out)"
same "which is what the product says" "n1.h5 n2.h5 n3.h5 n4.h5 n5.h5 n6.h5 n7.h5 n8.h5 n9.h5 n10.h5 n11.h5 n12.h5" \
    "$("$python" -c "
import h5py
print(*(line.split()[0] for line in h5py.File('all.out')['provenance'].attrs['inputs'].decode().split('\n')))")"
same "a list stays as it is" "$(data other.n)" "$(data list.out)"
"$voltmill" plan --set 'input.files=n*.h5' --set "$layout" --set products.0.file=not.out job.yaml >stdout
same "plan: the order" 'files n1.h5 0|n2.h5 1,000|n3.h5 2,000|n4.h5 3,000|n5.h5 4,000|n6.h5 5,000|and 5 more|n12.h5 11,000|' \
    "$(sed -n '/^  files /,/^  order /{/order/d; s/ ([^)]*): 1,000 samples from \([0-9,]*\) on$/ \1/; s/^ *//; s/  */ /gp}' stdout | tr '\n' '|')"
"$voltmill" plan --set 'input.files=t*.h5' --set products.0.file=not.out job.yaml >stdout
same "plan: times before names" 't10.h5 40.000000|t2.h5 40.005000|t1.h5 40.010000|' \
    "$(sed -n 's/^\(  files\|  \) *\(t[0-9]*.h5\) .*samples from [0-9,]* on, 2020-01-01T00:01:\([0-9.]*\) UTC/\2 \3/p' stdout | tr '\n' '|')"
grep -q '^  order  *by the files.* own times$' stdout
ok $? "says so"

# --- many observations
cp obs-2.h5 sound.h5
truncate -s 50000 obs-2.h5
errs 4 'obs-2\.h5' mpirun -n 2 "$voltmill" run --each 'obs-*.h5' job.yaml
same "ends with the one that fails" "complete obs-1.h5,failed obs-2.h5,not begun obs-3.h5,not begun obs-4.h5," \
    "$(sed -n 's/  *\(obs-[0-9].h5\)\(:[[:space:]].*\)\{0,1\}$/ \1/p' stdout | tr '\n' ',')"
same "says how it continues" 1 "$(grep -c '^note: 2 observations were not begun: --keep-going continues after a failure$' stderr)"
status=0
mpirun -n 2 "$voltmill" run --keep-going --each 'obs-*.h5' job.yaml >stdout 2>stderr || status=$?
same "--keep-going: status" 4 $status
same "--keep-going: the others are done" "complete before obs-1.h5,failed obs-2.h5,complete obs-3.h5,complete obs-4.h5," \
    "$(sed -n 's/  *\(obs-[0-9].h5\)\(:[[:space:]].*\)\{0,1\}$/ \1/p' stdout | tr '\n' ',')"
grep -q '^error: 1 of 4 observations are not complete$' stderr && [ "$(grep -c '^error: ' stderr)" = 2 ]
ok $? "says which and how many"
cp sound.h5 obs-2.h5
runs "the same command again does what is left" "$voltmill" run --keep-going --each 'obs-*.h5' job.yaml
same "all are complete" 4 "$(grep -c '^complete.*obs' output)"
for i in 1 2 3 4; do
    "$voltmill" run --set input.files=obs-$i.h5 --set products.0.file=single.out job.yaml >/dev/null
    same "observation $i: the bytes of a job of its own" "$(sha256sum <single.out)" "$(sha256sum <obs-$i.out)"
    rm single.out
done

# The first has unreadable samples and is complete, the second fails: that decides.
truncate -s 50000 obs-2.h5
status=0
env "LD_PRELOAD=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}" SHIM_BAD=50100-70000 "$voltmill" run --keep-going \
    --set run.on_bad=nan --set 'products.0.file="{name}.bad"' --each 'obs-[12].h5' job.yaml >stdout 2>stderr || status=$?
same "holes, then a failure: status" 4 $status
same "the one with holes is complete" 1 "$(grep -c '^with holes.*obs-1' stdout)"
cp sound.h5 obs-2.h5

# Asked to stop while one after the other fails: it waits in the first lines of its stderr until that was done.
mkdir broken
for i in $(seq 2000); do echo "no archive" >"broken/$i.h5"; done
"$python" - "$voltmill" <<'PYTHON'
import signal, subprocess, sys
run = subprocess.Popen([sys.argv[1], "run", "--keep-going", "--each", "broken/*.h5", "job.yaml"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
line = run.stderr.readline()
run.send_signal(signal.SIGTERM)
out, error = run.communicate(timeout=300)
good = line.startswith("error: ") and run.returncode == 75 and error.count("stopped: ") == 1 and "not begun" in out
print("ok" if good else "not ok", "- a stop between observations that fail: exit status", run.returncode)
PYTHON
count=$((count + 1))
errs 2 'no file matches --each nothing' "$voltmill" run --each 'nothing*' job.yaml
ok $bad "no such file"
plan
