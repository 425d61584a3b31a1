# import: what the native layout makes of archives gives the products of the archives themselves, by any number of
# ranks the same bytes, and stored numbers are kept; what cannot be imported leaves nothing.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
PYTHONPATH=$here/tests/cli "$python" - <<'PYTHON' || exit 1
import h5py
import numpy as np
from archives import native
rng = np.random.default_rng(3)
noise = lambda shape, kind="i1": np.rint(rng.standard_normal(shape) * 9).astype(kind)
T = 6000
x = noise((T, 2, 2, 3, 2))
x[777, 1, 0, 2] = -128
native("full.h5", x, axes="time,station,pol,chan,reim", root=dict(source="B0329+54", ra_deg=53.2, dec_deg=54.6, format_version=np.int32(2)),
       attrs=dict(sideband=np.int32(-1), missing_value=-128.0, scale=0.125, oversampling_num=np.int32(4), oversampling_den=np.int32(3)),
       scales=dict(freq_hz=np.array([1.2e9, 1.1e9, 1.3e9]), gaps=np.array([[100, 50], [4000, 7]], "u8"),
                   station=np.array([b"here", b"there"]), pol=np.array([b"L", b"R"])))
native("packed.h5", rng.integers(0, 256, (3, T, 2), dtype="u1"), axes="chan,time,pol",
       attrs=dict(packing="4+4 offset lo=re", missing_value=0.0))
native("pairs.h5", noise((2, T, 2), ">i2"), axes="pol,time,reim", chunks=(1, 700, 2), compression="gzip", shuffle=True)
real = rng.standard_normal((T, 2)).astype("f4")
real[3000:3010, 1] = np.nan
native("real.h5", real, axes="time,pol")
for i in range(2):
    native(f"part{i}.h5", noise((T // 2, 2, 2)), axes="time,pol,reim", root=dict(start_second=100 + i * (T // 2 + 10) / 1e6))
with h5py.File("plain.h5", "w") as f:
    f["x"] = noise((4, T), np.dtype("i2")) * 100
PYTHON
cat >job.yaml <<'YAML'
input: {files: full.h5}
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: spectra, file: out.h5}]
run: {threads: 1}
YAML
what() { # all that a product says of its rows
    "$python" - "$@" <<'PYTHON'
import hashlib, sys
import h5py
times = ("time", "first_sample", "first_time", "start_second") if "cut" in sys.argv else () # of the file
with h5py.File(sys.argv[1]) as f:
    def show(name, at):
        if isinstance(at, h5py.Dataset) and not name.startswith("provenance") and name not in times:
            print(name, at.shape, hashlib.sha256(at[()].tobytes()).hexdigest()[:12])
    f.visititems(show)
    for name in sorted(f.attrs):
        if name not in ("history", "title", *times):
            print(name, f.attrs[name])
    p = f["provenance"]
    print([int(p[n][()]) if n in p else int(p.attrs[n]) for n in ("gap_samples", "missing_samples")])
PYTHON
}
run() { # run OUT FILES [SETTING...]
    local out=$1 files=$2 settings=()
    shift 2
    for setting in "$@"; do settings+=(--set "$setting"); done
    "$voltmill" run --force job.yaml --set "products.0.file=$out" --set "input.files=$files" "${settings[@]}" >stdout 2>&1 || note <stdout
}
check() { # check NAME FILES [SETTING...]: imported and as it is
    local name=$1 files=$2 settings=() options=() inputs
    shift 2
    for setting in "$@"; do options+=(--set "$setting"); done
    # shellcheck disable=SC2206
    inputs=(${files//[][,]/ })
    runs "$name" "$voltmill" import -o "$name-native.h5" "${options[@]}" "${inputs[@]}"
    run direct.h5 "$files" "$@"
    run imported.h5 "$name-native.h5"
    same "$name: the same products" "$(what direct.h5 "$name")" "$(what imported.h5 "$name")"
}
check full full.h5
check packed packed.h5
check pairs pairs.h5
check real real.h5
check joined "[part0.h5, part1.h5]"
check cut full.h5 input.select.samples="[77, 4444]" input.select.pols=R
check described plain.h5 'input.layout={dataset: /x, axes: "pol:2*reim,time", sample_rate_hz: 2e6, freq_hz: [1e8]}'
# Real and mock files: 8 bits in blocks, 4+4 bits that lack samples of single streams, parts of numbers in different
# files, dipoles that start apart, start times and flags of channels.
while read -r name files; do
    # shellcheck disable=SC2086
    if ls $shared/$files >/dev/null 2>&1; then check "$name" "$shared/$files"; else note <<<"no $files: not imported"; fi
done <<'FILES'
puppi recorders/sample_puppi.raw
chime mock_layouts/chime_raw_baseband_*.h5
beam mock_layouts/chime_singlebeam_12345678.h5
lofar mock_layouts/L999999_SAP000_B000_S*_P000_bf.h5
dipoles lofar_tbb/L59640_CS011_D20110719T110541.036Z_tbb.h5
FILES

"$python" - <<'PYTHON'
import h5py, numpy as np
with h5py.File("full.h5") as a, h5py.File("full-native.h5") as b:
    order = np.argsort(a["freq_hz"])
    assert (a["voltages"][:][:, :, :, order] == b["voltages"][:])[200:4000].all() and b["voltages"].dtype == "i1"
    assert (a["gaps"][:] == b["gaps"][:]).all() and list(b["station"][:]) == [b"here", b"there"]
    for name in "sample_rate_hz", "domain", "sideband", "missing_value", "scale", "oversampling_num":
        here, there = a["voltages"].attrs[name], b["voltages"].attrs[name]
        assert here == (there.decode() if isinstance(there, bytes) else there), name
with h5py.File("packed-native.h5") as b:
    assert b["voltages"].dtype == "u1" and b["voltages"].shape == (6000, 2, 3)
with h5py.File("pairs-native.h5") as b:
    assert b["voltages"].dtype == "<i2"
PYTHON
ok $? "stored numbers and words are kept"
runs "3 ranks" mpirun -n 3 "$voltmill" import -o three.h5 full.h5
same "the same bytes" "$(cksum <full-native.h5)" "$(cksum <three.h5)"
sed 's/full.h5/part*.h5/' job.yaml >parts.yaml
runs "the input of a job" "$voltmill" import --force -o three.h5 --job parts.yaml
same "the same as its files" "$(cksum <joined-native.h5)" "$(cksum <three.h5)"
rm -f three.h5

fails "no file is named" 2 'import: expected -o FILE' "$voltmill" import full.h5
fails "no input" 2 'import: expected one input file or more or --job, got 0' "$voltmill" import -o new.h5
fails "an input that is not there" 4 'nowhere\.h5: No such file' "$voltmill" import -o new.h5 nowhere.h5
fails "a file that exists" 2 'real-native\.h5' "$voltmill" import -o real-native.h5 real.h5
cp real.h5 again.h5
ln real.h5 link.h5
fails "an input is never written" 2 'link\.h5.*real\.h5|real\.h5.*link\.h5' "$voltmill" import --force -o link.h5 real.h5
same "nor changed" "$(cksum <again.h5)" "$(cksum <real.h5)"
plan
