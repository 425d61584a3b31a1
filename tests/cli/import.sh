# import: what the native layout makes of archives gives the products of the archives themselves, by any number of
# ranks the same bytes, and stored numbers are kept; what cannot be imported leaves nothing.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
PYTHONPATH=$here/tests/cli warm - <<'PYTHON' || exit 1
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
# Numbers of few bits: of packets, of recorders' blocks, of datasets; with levels of their own, a missing value, gaps.
frame = 1600
def vdif(name, bits, parts, channels, threads):
    payload = frame * bits * parts * channels // 8
    out = b""
    for period in range(6):
        for thread in range(threads):
            words = [20, 40 << 24 | period, 0b001 << 29 | (channels.bit_length() - 1) << 24 | (payload + 32) // 8,
                     (parts - 1) << 31 | (bits - 1) << 26 | thread << 16 | 0x6645, 0, 0, 0, 0]
            if (period, thread) != (3, 0):
                out += np.array(words, "<u4").tobytes() + rng.integers(0, 256, payload, "u1").tobytes()
    open(name, "wb").write(out)
vdif("bits1.vdif", 1, 1, 4, 1)
vdif("bits2.vdif", 2, 1, 1, 1)
vdif("bits2c.vdif", 2, 2, 2, 2)
vdif("bits4.vdif", 4, 1, 2, 1)
vdif("bits8.vdif", 8, 2, 1, 2)
cards = dict(OBSNCHAN=2, NPOL=4, NBITS=2, BLOCSIZE=2 * 3000, OBSFREQ=1400.0, OBSBW=2.0, TBIN=1e-6, CHAN_BW=1.0, STT_IMJD=58849,
             STT_SMJD=0, STT_OFFS=0, PKTIDX=0, PKTSIZE=6000, OVERLAP=0, BACKEND="GUPPI", TELESCOP="GBT", SRC_NAME="X", PKTFMT="SIMPLE")
with open("bits2.raw", "wb") as f:
    for block in range(2):
        for key, value in dict(cards, PKTIDX=block).items():
            value = f"'{value}'" if isinstance(value, str) else value
            f.write(f"{key:8}= {value}".ljust(80).encode())
        f.write(b"END".ljust(80) + rng.integers(0, 256, 6000, "u1").tobytes())
byte = rng.integers(0, 256, (2, T // 4, 1), dtype="u1")
native("few.h5", byte[:, :, 0], axes="pol,time", attrs=dict(packing="2 bit two's complement high first", missing_value=-2.0, domain="real"))
native("odd.h5", rng.integers(0, 256, (1, T // 4), dtype="u1"), axes="pol,time", root=dict(format_version=np.int32(4)),
       attrs=dict(packing="2 bit offset", domain="real", scale=0.5), scales=dict(levels=[4.0, -1.5, 1.0, -3.0]))
native("bytes.h5", rng.integers(0, 256, (T, 2, 2), dtype="u1"), axes="time,pol,reim", root=dict(format_version=np.int32(4)),
       attrs=dict(offset=100.0, missing_value=7.0))
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
    warm - "$@" <<'PYTHON'
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
    counts = [int(p[n][()]) if n in p else int(p.attrs[n]) for n in ("gap_samples", "missing_samples")]
    print(sum(counts) if sys.argv[2].startswith("bits") else counts) # packets that are missing become gaps
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
bits() { # what is stored of a number, and of how many
    "$python" -c 'import h5py, sys
v = h5py.File(sys.argv[1])["voltages"]
words = [v.attrs["axes"], v.attrs.get("packing", v.attrs.get("offset"))]
print(*(w.decode() if isinstance(w, bytes) else w for w in words), v.dtype, v.shape)' "$1"
}
MHz='input.layout.sample_rate_hz=1e6'
check bits1 bits1.vdif "$MHz" "input.layout.freq_hz=[1e9, 1.1e9, 1.2e9, 1.3e9]"
same "bits1: stored" "pol,chan,time 1 bit uint8 (1, 4, 1200)" "$(bits bits1-native.h5)"
check bits2 bits2.vdif "$MHz" "input.layout.freq_hz=[1e9]"
same "bits2: a time step is no whole byte" "pol,chan,time 2 bit offset uint8 (1, 1, 2400)" "$(bits bits2-native.h5)"
check bits2c bits2c.vdif "$MHz" "input.layout.freq_hz=[1e9, 1.1e9]"
same "bits2c: stored" "time,pol,chan:2*reim:2 2 bit offset uint8 (9600, 2, 1)" "$(bits bits2c-native.h5)"
check bits4 bits4.vdif "$MHz" "input.layout.freq_hz=[1e9, 1.1e9]"
same "bits4: stored" "time,pol,chan 4 bit two's complement uint8 (9600, 1, 1)" "$(bits bits4-native.h5)"
check bits8 bits8.vdif "$MHz" "input.layout.freq_hz=[1e9]"
same "bits8: stored" "time,pol,chan,reim 127.5 uint8 (9600, 2, 1, 2)" "$(bits bits8-native.h5)"
check guppi bits2.raw
same "guppi: stored" "time,pol,chan:2*reim:2 2 bit offset uint8" "$(bits guppi-native.h5 | cut -d'(' -f1 | sed 's/ *$//')"
check few few.h5
same "few: stored" "pol,chan,time 2 bit two's complement uint8 (2, 1, 1500)" "$(bits few-native.h5)"
check odd odd.h5
same "odd: stored" "pol,chan,time 2 bit offset uint8 (1, 1, 1500)" "$(bits odd-native.h5)"
check bytes bytes.h5
same "bytes: stored" "time,pol,chan,reim 100.0 uint8 (6000, 2, 1, 2)" "$(bits bytes-native.h5)"
runs "bits2c: 3 ranks" mpirun -n 3 "$voltmill" import -o three-few.h5 --set "$MHz" --set "input.layout.freq_hz=[1e9, 1.1e9]" bits2c.vdif
same "bits2c: the same bytes" "$(cksum <bits2c-native.h5)" "$(cksum <three-few.h5)"
runs "bits2: imported once more" "$voltmill" import -o again-native.h5 bits2-native.h5
same "bits2: the same bytes" "$(cksum <bits2-native.h5)" "$(cksum <again-native.h5)"
runs "cut within a byte" "$voltmill" import -o within-native.h5 --set "input.select.samples=[1, 1000]" bits2-native.h5
same "cut within a byte: whole numbers" "time,pol,chan None float32 (999, 1, 1)" "$(bits within-native.h5)"
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

warm - <<'PYTHON'
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
# Only the input counts: with nothing else, and beside passes that are wrong or read what is missing.
sed -n '/^input/p' parts.yaml >alone.yaml
cat >wrong.yaml <<'YAML'
input: {files: part*.h5}
filter: {coefficients: nowhere.txt}
channelise: {channels: -1}
products: [{kind: power, file: a.h5}, {kind: nothing}]
dedisperse: {file: a.h5}
run: {threads: 1, on_bad: nan}
YAML
for name in alone wrong; do
    rm -f three.h5
    runs "a job: $name" "$voltmill" import -o three.h5 --job $name.yaml
    same "the same: $name" "$(cksum <joined-native.h5)" "$(cksum <three.h5)"
done
rm -f three.h5
runs "2 ranks and other files" mpirun -n 2 "$voltmill" import -o three.h5 --job alone.yaml full.h5
same "the same: other files" "$(cksum <full-native.h5)" "$(cksum <three.h5)"
runs "a cut" "$voltmill" import --force -o three.h5 --job alone.yaml --set input.select.samples='[10, 30]'
same "20 samples" 20 "$(warm -c 'import h5py; print(len(h5py.File("three.h5")["voltages"]))')"
rm -f three.h5
sed 's/^input/inptu/' alone.yaml >typed.yaml
sed 's/files/layout: {dataset: x, axes: 3}, files/' alone.yaml >layout.yaml
echo '[a]' >list.yaml
fails "a misspelt input" 2 'typed\.yaml:1: inptu: unknown key, did you mean input' "$voltmill" import -o three.h5 --job typed.yaml
fails "a mistake in it" 2 'layout\.yaml:1: input\.layout\.axes: is 3' "$voltmill" import -o three.h5 --job layout.yaml
fails "a list" 2 'list\.yaml' "$voltmill" import -o three.h5 --job list.yaml
fails "the name of an input" 2 'full\.h5' "$voltmill" import -o full.h5 --force --job alone.yaml full.h5

fails "no file is named" 2 'import: expected -o FILE' "$voltmill" import full.h5
fails "no input" 2 'import: expected one input file or more or --job, got 0' "$voltmill" import -o new.h5
fails "an input that is not there" 4 'nowhere\.h5: No such file' "$voltmill" import -o new.h5 nowhere.h5
before=$(stat -c '%i %y' real-native.h5)
runs "done before" mpirun -n 2 "$voltmill" import -o real-native.h5 real.h5
same "it says so, and nothing else" "complete before: real-native.h5" "$(cat output)"
same "nothing is written" "$before" "$(stat -c '%i %y' real-native.h5)"
for at in 3 100 $(($(stat -c %s real-native.h5) - 3)); do
    cp real-native.h5 other.h5
    printf '\001' | dd of=other.h5 bs=1 seek="$at" conv=notrunc status=none
    fails "a file that exists and differs at byte $at" 2 'other\.h5 exists already: --force replaces it' "$voltmill" import -o other.h5 real.h5
done
for mark in "" i; do
    echo "of another program" >left.h5.part
    [ -z "$mark" ] || unfinish left.h5.part "$mark"
    runs "--force and a part ${mark:+with a mark}" "$voltmill" import --force -o left.h5 real.h5
    grep -q "^warning: left.h5.part was ${mark:+left by a run that did not end}" output &&
        { [ -n "$mark" ] || grep -q '^warning: left.h5.part was not left by a run of this program: --force replaces it$' output; }
    ok $? "it says what is replaced"
    rm left.h5
done
cp real.h5 again.h5
ln real.h5 link.h5
fails "an input is never written" 2 'link\.h5.*real\.h5|real\.h5.*link\.h5' "$voltmill" import --force -o link.h5 real.h5
same "nor changed" "$(cksum <again.h5)" "$(cksum <real.h5)"
plan
