# Compressed archives give the rows of those that are not, through all filters and their orders, however many
# threads decompress; a chunk that is corrupt is named, and only what needs it is lost.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
warm "$here/tests/cli/compressed.py" >cases || exit 1
cat >job.yaml <<'YAML'
input:
  files: plain.h5
  layout: {dataset: /v, axes: "time,pol,reim", sample_rate_hz: 1e6}
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: spectra, file: out.h5}]
run: {threads: 2, chunk: 32, memory: 256 MiB}
YAML
rows() { warm -c 'import h5py,hashlib,sys; print(hashlib.sha256(h5py.File(sys.argv[1])["spectra"][:].tobytes()).hexdigest())' "$1"; }
# whole BASE: rows of BASE.h5, found once
whole() {
    if [ ! -e "$1-out.h5" ]; then
        axes="time,pol,reim"
        [ "$1" != pair ] || axes="time,pol"
        "$voltmill" run job.yaml --set "input.files=$1.h5" --set "input.layout.axes=\"$axes\"" --set "products.0.file=$1-out.h5" >/dev/null || return
    fi
    rows "$1-out.h5"
}
while read -r -u 3 what name rest; do
    case $what in
    as)
        base=$name name=${rest%% *}
        settings=()
        [ "$name" = "$rest" ] || for setting in ${rest#* }; do settings+=(--set "$setting"); done
        [ "$base" != pair ] || settings+=(--set 'input.layout.axes="time,pol"')
        runs "$name" "$voltmill" run --force job.yaml --set "input.files=$name.h5" "${settings[@]}"
        same "$name: rows of $base" "$(whole "$base")" "$(rows out.h5)"
        ;;
    broken)
        low=${rest%% *} rest=${rest#* }
        high=${rest%% *} rest=${rest#* }
        breaks "$name" 4 "$name\.h5: $rest" "$voltmill" run job.yaml --set "input.files=$name.h5"
        status=0
        "$voltmill" run job.yaml --set "input.files=$name.h5" --set run.on_bad=nan >stdout 2>stderr || status=$?
        same "$name, on_bad: nan" 6 $status
        whole i1 >/dev/null
        warm - "$low" "$high" <<'PYTHON'
import sys
import h5py
import numpy as np
low, high = int(sys.argv[1]), int(sys.argv[2])
with h5py.File("out.h5") as f, h5py.File("i1-out.h5") as g:
    a, b = f["spectra"][:], g["spectra"][:]
    s = np.arange(len(a))
    needs = (16 * s < high) & (16 * (s + 4) > low)
    weights = f["weights"][:].reshape(len(a), -1)
    nan = np.isnan(a.view("f4")).reshape(len(a), -1)
    sys.exit(not (((weights < 1) == needs[:, None]).all() and nan.any() and (a[~needs] == b[~needs]).all() and
                  (nan.all(1) == (weights < 0.1).all(1)).all() and (nan.any(1) == (weights < 0.1).any(1)).all()))
PYTHON
        ok $? "$name: just the rows that need it weigh less, and those that weigh least are NaN"
        ;;
    wrong)
        fails "$name" 4 "$rest" "$voltmill" run job.yaml --set "input.files=$name.h5" --set run.on_bad=nan
        ;;
    esac
    rm -f out.h5
done 3<cases
plan
