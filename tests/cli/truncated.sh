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
    fails "$name" 4 "cut-$name.h5: /voltages: samples 3000 .. 4096 cannot be had: .*$why \(run.on_bad" "$voltmill" run job.yaml "${cut[@]}"
    "$voltmill" info "cut-$name.h5" 2>/dev/null | grep -q 'lost  *samples 3,000 \.\. 4,096: '
    ok $? "$name: info says what is lost"
    runs "$name, whole, up to the end" "$voltmill" run --force job.yaml --set "input.files=$name.h5" --set "input.select.samples=[0, 3000]"
    expected=$(rows out.h5)
    runs "$name, up to the end" "$voltmill" run --force job.yaml "${cut[@]}" --set "input.select.samples=[0, 3000]"
    same "$name, up to the end: rows of the whole" "$expected" "$(rows out.h5)"
    fails "$name, a sample more" 4 "samples 3000 .. 3001 cannot be had" "$voltmill" run job.yaml --force "${cut[@]}" --set "input.select.samples=[0, 3001]" --set products.0.file=more.h5
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
plan
