# Archives whose copy broke off: an error that says where they end, unless the samples behind it are not selected, or
# on_bad: nan makes what needs them NaN.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
warm - <<'PYTHON' || exit 1
import os

import h5py
import numpy as np

SAMPLES, STEP, KEPT = 4096, 4, 3000
x = np.random.default_rng(3).integers(-90, 90, (SAMPLES, 2, 2), "i1")


def native(name, **storage):
    with h5py.File(name + ".h5", "w", libver="latest") as f:
        f.attrs.update(format="voltage", format_version=1, start_mjd_day=58849, start_second=0.0, time_scale="UTC")
        f["freq_hz"] = [1e9]
        f.flush()
        data = f.create_dataset("voltages", x.shape, "i1", **storage)
        data.attrs.update(axes="time,pol,reim", sample_rate_hz=1e6, domain="complex", sideband=1)
        f.flush()
        data[:] = x
        return data.id.get_offset()


def cut(name, at):
    bytes = open(name, "rb").read()
    open("cut-" + name, "wb").write(bytes[:at])


at = native("plain")
cut("plain.h5", at + KEPT * STEP + 3)
native("external", external=[("external.raw", 0, x.nbytes)])
native("cut-external", external=[("cut-external.raw", 0, x.nbytes)])
open("cut-external.raw", "wb").write(x.tobytes()[:KEPT * STEP])
# The end of the last chunk.
native("chunks", chunks=(500, 2, 2))
native("deflated", chunks=(500, 2, 2), compression="gzip")
for name in "chunks", "deflated":
    with h5py.File(name + ".h5") as f:
        chunk = f["voltages"].id.get_chunk_info_by_coord((3000, 0, 0))
        before = max(i.byte_offset + i.size for i in map(f["voltages"].id.get_chunk_info, range(6)))
    cut(name + ".h5", chunk.byte_offset + chunk.size // 2)
    assert before <= chunk.byte_offset
PYTHON
cat >job.yaml <<'YAML'
input: {files: plain.h5}
channelise: {channels: 16, taps: 4, backend: cpu}
products: [{kind: spectra, file: out.h5}]
run: {threads: 2, chunk: 32, memory: 256 MiB}
YAML
rows() { warm -c 'import h5py,hashlib,sys; print(hashlib.sha256(h5py.File(sys.argv[1])["spectra"][:].tobytes()).hexdigest())' "$1"; }
for name in plain external chunks deflated; do
    case $name in
    plain) why='cut-plain.h5 is truncated: its dataset declares 16384 bytes from offset [0-9]+, but it ends at [0-9]+' ;;
    external) why='cut-external.raw is truncated: .*cut-external.h5 declares 16384 bytes from offset 0 in it, but it ends at 12000' ;;
    *) why="chunks of /voltages were never written, or lie behind the end of the file, which is truncated" ;;
    esac
    cut=(--set "input.files=cut-$name.h5")
    fails "$name" 4 "cut-$name.h5: /voltages: samples 3000 .. 4096 are unreadable: .*$why \(set run.on_bad" "$voltmill" run job.yaml "${cut[@]}"
    "$voltmill" info "cut-$name.h5" 2>/dev/null | grep -q 'lost  *samples 3,000 \.\. 4,096: '
    ok $? "$name: info says what is lost"
    runs "$name, whole, up to the end" "$voltmill" run --force job.yaml --set "input.files=$name.h5" --set "input.select.samples=[0, 3000]"
    expected=$(rows out.h5)
    runs "$name, up to the end" "$voltmill" run --force job.yaml "${cut[@]}" --set "input.select.samples=[0, 3000]"
    same "$name, up to the end: rows of the whole" "$expected" "$(rows out.h5)"
    fails "$name, a sample more" 4 "samples 3000 .. 3001 are unreadable" "$voltmill" run job.yaml --force "${cut[@]}" --set "input.select.samples=[0, 3001]" --set products.0.file=more.h5
    status=0
    "$voltmill" run --force job.yaml "${cut[@]}" --set run.on_bad=nan >stdout 2>stderr || status=$?
    same "$name, on_bad: nan" 6 $status
    # Row 184 is the first that has less than all of its samples, 187 the first of which most weight is lost.
    same "$name, on_bad: nan: rows that need what is lost" "True True 253" \
        "$(warm -c '
import h5py, numpy as np
x = h5py.File("out.h5")["spectra"][:]
bad = np.isnan(x.view("f4")).reshape(len(x), -1).any(1)
print(not bad[:184].any(), bad[187:].all(), len(bad))')"
done

# Files written by voltmill: samples come last, so that the metadata is complete however early a file ends.
cat >spec.yaml <<'YAML'
{file: synth.h5, samples: 400000, streams: {pols: 2, chans: 2}, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e9, noise: 9,
 gaps: [{first: 1000, count: 500}, {first: 90000, count: 64, stream: 3}]}
YAML
runs "synth" "$voltmill" synth spec.yaml
runs "import" "$voltmill" import -o import.h5 synth.h5
sed 's/spectra, file: out.h5/voltages, file: voltages.h5, bits: 8, scale: 1/; s/plain.h5/synth.h5, select: {samples: [500, 400000]}/; /^channelise/d' job.yaml >cut.yaml
runs "voltages" "$voltmill" run cut.yaml
power=(--set products.0.kind=power --set products.0.integrate=64 --set run.chunk=2048)
powers() { warm -c 'import h5py,hashlib,sys; d=h5py.File(sys.argv[1])["data"]; print(len(d), hashlib.sha256(d[:180].tobytes()).hexdigest())' "$1"; }
for name in synth import voltages; do
    begin=$(warm -c '
import os, sys, h5py
with h5py.File(sys.argv[1]) as f:
    at = f["voltages"].id.get_offset()
    assert at + f["voltages"].size == os.path.getsize(sys.argv[1])
    print(at)' "$name.h5")
    ok $? "$name: the samples come last"
    head -c $((begin + 200000 * 8 + 3)) "$name.h5" >"cut-$name.h5"
    runs "$name: whole" "$voltmill" run --force job.yaml "${power[@]}" --set "input.files=$name.h5"
    expected=$(powers out.h5)
    status=0
    "$voltmill" run --force job.yaml "${power[@]}" --set "input.files=cut-$name.h5" --set run.on_bad=nan >stdout 2>stderr || status=$?
    same "$name: half of it, on_bad: nan" 6 $status
    same "$name: rows of the whole, as far as it goes" "$expected" "$(powers out.h5)"
    "$voltmill" info "cut-$name.h5" >output 2>/dev/null
    same "$name: info says names, gaps, and what is lost" 3 \
        "$(grep -cE '^  (polarisations X, Y: linear|gaps +2,064 samples of single streams|lost +samples 200,000 \.\. )' output)"
    head -c $((begin - 1)) "$name.h5" >none.h5
    fails "$name: no sample" 4 "none.h5: /voltages: samples 0 \.\. [0-9]+ are unreadable" "$voltmill" run --force job.yaml "${power[@]}" --set input.files=none.h5
done
# More gaps than room was kept for, and none at all.
runs "synth, many gaps" "$voltmill" synth spec.yaml --force --set samples=40000 --set "gaps=[$(seq -s, -f '{first: %g00, count: 3, stream: 1}' 1 300)]"
runs "import, many gaps" "$voltmill" import --force -o import.h5 synth.h5
gaps() { warm -c 'import h5py,sys,hashlib; f=h5py.File(sys.argv[1]); print(len(f["gaps"]), hashlib.sha256(f["gaps"][()].tobytes()).hexdigest()) if "gaps" in f else print("none")' "$1"; }
same "import, many gaps: all of them" "$(gaps synth.h5)" "$(gaps import.h5)"
same "synth, many gaps: they are there" 300 "$(gaps synth.h5 | cut -d' ' -f1)"
runs "synth, no gap" "$voltmill" synth spec.yaml --force --set 'gaps=[]'
runs "import, no gap" "$voltmill" import --force -o import.h5 synth.h5
same "import, no gap" none "$(gaps import.h5)"

# MeerKAT's: samples, then times and flags, which must all be there; and what is said of them.
"$python" - <<'PYTHON' || exit 1
import h5py
import numpy as np

with h5py.File("meerkat.h5", "w") as f:
    data = [f.create_dataset("Data/" + name, shape, kind) for name, shape, kind in
            (("bf_raw", (4, 4096, 2), "i1"), ("timestamps", (4096,), "u8"), ("flags", (1, 16), "u1"))]
    f["Data"].attrs["stream_name"] = "beam_0x"
    f.flush()
    data[0][:] = np.random.default_rng(4).integers(-90, 90, data[0].shape)
    data[1][:] = 1000 + 8 * np.arange(4096)
    data[2][:] = 0
    at = [d.id.get_offset() for d in data]
    assert at == sorted(at)
whole = open("meerkat.h5", "rb").read()
open("cut-flags.h5", "wb").write(whole[:at[2] + 5])
open("cut-timestamps.h5", "wb").write(whole[:at[1] + 800])
# An object's header in two pieces, the second after the end.
with h5py.File("pieces.h5", "w") as f:
    f["voltages"] = np.ones((64, 2), "i1")
    f.attrs.update(format="voltage", format_version=2)
    f["freq_hz"] = [1e9]
with h5py.File("pieces.h5", "r+") as f:
    f["voltages"].attrs.update(axes="time,reim", sample_rate_hz=1e6, domain="complex", sideband=1)
    f["voltages"].attrs.update(words=np.bytes_("x" * 6000), scale=0.5)
whole = open("pieces.h5", "rb").read()
open("cut-pieces.h5", "wb").write(whole[:whole.index(b"x" * 6000) + 6000])
PYTHON
meerkat=(--set input.layout.sample_rate_hz=1e6 --set "input.layout.freq_hz={start: 1e9, step: 1e6}")
runs "MeerKAT: whole" "$voltmill" run --force job.yaml --set input.files=meerkat.h5 "${meerkat[@]}"
for name in flags timestamps; do
    fails "MeerKAT: $name after the end" 4 "cut-$name\\.h5: /?Data/$name has elements that are unreadable: .*truncated" "$voltmill" run --force job.yaml --set "input.files=cut-$name.h5" "${meerkat[@]}"
done
fails "a header that goes on after the end" 4 'cut-pieces\.h5 is truncated: it ends after [0-9]+ bytes, and what it says of /?voltages is after that' "$voltmill" run --force job.yaml --set input.files=cut-pieces.h5

# Telescopes' formats: what lies before the end is read.
formats=$shared/mock_layouts
if [ ! -e "$formats/grex_dump-mock.nc" ]; then
    note <<<"no $formats: truncated files of telescopes' formats are not read"
    plan
    exit
fi
"$python" - "$formats" <<'PYTHON' || exit 1
import sys

import h5py

folder = sys.argv[1] + "/"


def cut(name, out, dataset, share):
    """Up to this share of the bytes of a dataset."""
    with h5py.File(folder + name) as f:
        d = f[dataset]
        chunks = [d.id.get_chunk_info(i) for i in range(d.id.get_num_chunks())] if d.chunks else []
        places = [(i.byte_offset, i.size) for i in chunks] or [(d.id.get_offset(), d.nbytes)]
        at = places[int(share * len(places))]
        end = at[0] + int(at[1] * (share * len(places) % 1))
    open(out, "wb").write(open(folder + name, "rb").read()[:end])


cut("grex_dump-mock.nc", "grex.nc", "voltages", 0.6)
cut("channel_cont_0_20231114_80000_0.hdf5", "pydaq.hdf5", "chan_/data", 0.6)
cut("chime_raw_baseband_12345678_300.h5", "chime_raw.h5", "baseband", 0.6)
PYTHON
while read -r name whole good lost; do
    job=(--set channelise.channels=32)
    end=${good#*,}
    fails "$name: not all is there" 4 "$name: .*samples .* are unreadable: .*truncated" "$voltmill" run job.yaml --force --set "input.files=$name" "${job[@]}"
    "$voltmill" info "$name" 2>/dev/null | grep -q "lost  *samples $lost"
    ok $? "$name: info says what is lost"
    runs "$name: whole" "$voltmill" run --force job.yaml "${job[@]}" --set "input.files=$formats/$whole" --set "input.select.samples=[$good]"
    expected=$(rows out.h5)
    runs "$name: up to the end" "$voltmill" run --force job.yaml "${job[@]}" --set "input.files=$name" --set "input.select.samples=[$good]"
    same "$name: up to the end: rows of the whole" "$expected" "$(rows out.h5)"
    fails "$name: a sample more" 4 "are unreadable" "$voltmill" run job.yaml --force "${job[@]}" --set "input.files=$name" --set "input.select.samples=[0, $((end + 1))]"
    status=0
    "$voltmill" run --force job.yaml "${job[@]}" --set "input.files=$name" --set run.on_bad=nan >stdout 2>stderr || status=$?
    same "$name: on_bad: nan" 6 $status
done <<'END'
grex.nc grex_dump-mock.nc 0,1024 1,024
pydaq.hdf5 channel_cont_0_20231114_80000_0.hdf5 0,2048 2,048
chime_raw.h5 chime_raw_baseband_12345678_300.h5 0,2048 2,048
END
plan
