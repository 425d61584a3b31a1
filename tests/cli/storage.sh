# One observation in many storages: virtual datasets, links, external files, chunks. Each gives the rows of the plain
# one, or one error that names the missing data; with on_bad: nan the readable samples.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
warm "$here/tests/cli/storage.py" >cases || exit 1
cat >job.yaml <<'YAML'
input:
  files: plain.h5
  layout: {dataset: /v, axes: "time,pol,reim", sample_rate_hz: 1e6}
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: spectra, file: out.h5}]
run: {threads: 1, chunk: 16}
YAML
rows() { warm -c 'import h5py,hashlib,sys; print(hashlib.sha256(h5py.File(sys.argv[1])["spectra"][:].tobytes()).hexdigest())' "$1"; }
runs "plain" "$voltmill" run job.yaml --set products.0.file=plain-out.h5
runs "plain, one polarisation" "$voltmill" run job.yaml --set products.0.file=pol-out.h5 --set input.select.pols=0
whole=$(rows plain-out.h5)
one=$(rows pol-out.h5)

# others NAME FROM TO: the rows of out.h5 weigh what is there beside these samples, those that
# weigh least are NaN and marked, and those that need none of them are those of plain.h5
others() {
    warm - "$2" "$3" <<'PYTHON'
import sys
import h5py
import numpy as np
low, high = int(sys.argv[1]), int(sys.argv[2])
with h5py.File("out.h5") as f, h5py.File("plain-out.h5") as g:
    a, b, weights = f["spectra"][:], g["spectra"][:], f["weights"][:].reshape(len(f["spectra"]), -1)
    # Spectrum s is made of the samples 16 s .. 16 s + 63.
    samples = np.arange(16 * (len(a) + 3))
    there = (samples < low) | (samples >= high)
    energy = (f["coefficients"][:] ** 2).ravel()
    expected = np.lib.stride_tricks.sliding_window_view(there, 64)[::16] @ (energy / energy.sum())
    whole, bad = expected > 1 - 1e-12, expected < 0.1
    nan = np.isnan(a.view("f4")).reshape(len(a), -1)
    sys.exit(not (abs(weights - expected[:, None]).max() < 1e-7 and (nan == bad[:, None]).all() and
                  (a[whole] == b[whole]).all() and (f["provenance/holes"][:] == bad).all()))
PYTHON
    ok $? "$1: its rows weigh what is there, and just those that weigh nothing are NaN"
}

number=0
while read -r -u 3 what name rest; do
    number=$((number + 1))
    ranks=$((number % 6 ? 1 : 2))
    run=("$voltmill" run --force job.yaml --set "input.files=${name}.h5")
    [ $ranks = 1 ] || run=(timeout 300 mpirun -n $ranks "${run[@]}")
    case $what in
    sound)
        expected=$whole
        for setting in $rest; do
            run+=(--set "$setting")
            expected=$one
        done
        runs "$name, $ranks ranks" "${run[@]}"
        same "$name: same rows" "$expected" "$(rows out.h5)"
        ;;
    wrong)
        fails "$name" 4 "$rest" "${run[@]}" --set run.on_bad=nan
        ;;
    lost)
        low=${rest%% *} rest=${rest#* }
        high=${rest%% *} rest=${rest#* }
        fails "$name" 4 "samples $low \.\. $high are unreadable.*$rest" "$voltmill" run job.yaml --set "input.files=$name.h5"
        status=0
        "${run[@]}" --set run.on_bad=nan >stdout 2>stderr || status=$?
        # A raw spectrum out of four leaves every row weight enough.
        same "$name, on_bad: nan, $ranks ranks" $((high - low > 16 ? 6 : 0)) $status
        others "$name" "$low" "$high"
        ;;
    esac
    rm -f out.h5
done 3<cases

fails "one polarisation has no samples" 4 'samples 0 \.\. 1000 are unreadable' "$voltmill" run job.yaml --set input.files=one-pol.h5
runs "a plan with unreadable samples" "$voltmill" plan job.yaml --set input.files=holes.h5 --set run.on_bad=nan
grep -q '1,024 samples are unreadable' "$work/output"
ok $? "says how many"
runs "allocated chunks are zeros" "$voltmill" run job.yaml --set input.files=early.h5
runs "written zeros" "$voltmill" run job.yaml --set input.files=zeros.h5 --set products.0.file=zeros-out.h5
same "allocated chunks are zeros: same rows" "$(rows zeros-out.h5)" "$(rows out.h5)"
runs "info of what is not there" "$voltmill" info holes.h5
rm -f out.h5

# 300 sources, and less room for open files than that.
(
    ulimit -n 128
    runs "more sources than open files" mpirun -n 2 "$voltmill" run --force job.yaml --set input.files=many.h5
    same "more sources than open files: same rows" "$whole" "$(rows out.h5)"
    echo "$count" >count
)
count=$(cat count)
(
    ulimit -n 110
    for _ in {1..60}; do exec {held}</dev/null; done
    runs "less descriptors than the limit says" "$voltmill" run --force job.yaml --set input.files=many.h5
    same "less descriptors than the limit says: same rows" "$whole" "$(rows out.h5)"
    echo "$count" >count
)
count=$(cat count)
"$voltmill" run --force job.yaml --set input.files=many.h5 >/dev/null 2>&1
mv out.h5 many-out.h5
for most in 26 32 40; do
    status=0
    (ulimit -n $most && timeout 300 "$voltmill" run --force job.yaml --set input.files=many.h5 --set run.on_bad=nan) >stdout 2>stderr || status=$?
    if [ $status = 0 ]; then
        same "$most open files: same rows" "$whole" "$(rows out.h5)"
    else
        [ $status != 6 ] && { [ ! -e out.h5 ] || [ "$(rows out.h5)" = "$whole" ]; }
        ok $? "$most open files: an error (status $status), no wrong product"
    fi
    rm -f out.h5 out.h5.*
done

# 40 sources side by side: each is opened once, however many blocks there are.
wide() { # wide FILE OUT CHUNK
    "$voltmill" run --force job.yaml --set input.files="$1.h5" --set input.layout.axes=time,beam,reim \
        --set products.0.file="$2" --set run.chunk="$3"
}
runs "40 beams in one file" wide wide-plain wide-out.h5 16
for chunk in 16 128; do
    export ATTACK_FOLDER=$work ATTACK_LOG=$work/opens-$chunk LD_PRELOAD=$here/build/release/tests/faults/attack_shim.so
    runs "40 beams in 40 files, $chunk spectra at a time" wide wide out.h5 $chunk
    unset LD_PRELOAD
    same "40 beams in 40 files, $chunk spectra at a time: same rows" "$(rows wide-out.h5)" "$(rows out.h5)"
done
same "a source is opened as often for many blocks as for one" \
    "$(grep -c ' open.* .*many/wide-7.h5$' opens-128)" "$(grep -c ' open.* .*many/wide-7.h5$' opens-16)"
plan
