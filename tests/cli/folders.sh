#!/usr/bin/env bash
# The folder of an output that is not there: made as the umask says by whatever writes a file, foretold by `plan`, gone
# again when nothing came of it; what lies in the way is an error, and so is a folder above it that is missing.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

cat >synth.yaml <<'END'
file: made/obs.h5
samples: 20000
streams: {pols: 1, chans: 2}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
END
runs "synth" mpirun -n 2 "$voltmill" synth synth.yaml
cat >job.yaml <<'END'
input: {files: made/obs.h5}
channelise: {channels: 64, taps: 4, backend: cpu}
products:
  - {kind: spectra, file: new/out.h5}
  - {kind: power, file: new/power.h5, integrate: 5}
dedisperse:
  - {input: 1, file: deep/series.h5, dm: {start: 0, step: 0.01, count: 9}}
END

"$voltmill" plan job.yaml >said
same "plan foretells each folder once" "$(printf 'folders\n  new/ will be made\n  deep/ will be made')" \
    "$(sed -n '/^folders/p; /will be made/p' said)"
[ ! -e new ]
ok $? "and makes none"
cat >two.yaml <<'END'
input: {files: made/obs.h5}
channelise: {channels: 64, taps: 4, backend: cpu}
products:
  - {kind: spectra, file: a.out}
  - {kind: power, file: b.out, integrate: 5}
END
(umask 027; exec mpirun -n 2 "$voltmill" run job.yaml) >log 2>&1
ok $? "run makes them"
same "and says so" "$(printf 'note: made the folder new\nnote: made the folder deep')" "$(grep 'made the folder' log)"
same "as the umask says" "750 750" "$(stat -c %a new deep | xargs)"
runs "what is in them" "$voltmill" verify new/power.h5
same "a plan of what is there foretells none" "" "$("$voltmill" plan job.yaml --force | grep 'will be made')"
runs "export" "$voltmill" export --format fil -o fil/power.fil new/power.h5
runs "import" mpirun -n 2 "$voltmill" import -o native/./b.h5 made/obs.h5
ls fil/power.fil native/b.h5 >/dev/null
ok $? "make theirs, too"
cp made/obs.h5 b.h5
cp made/obs.h5 a.h5
runs "each observation has its own" "$voltmill" run --each '[ab].h5' two.yaml --set 'products.0.file="each-{name}/x.h5"' \
    --set 'products.1.file="each-{name}/p.h5"'
ls each-a/x.h5 each-b/p.h5 >/dev/null
ok $? "all are there"
errs 2 'would both make' "$voltmill" run --each '[ab].h5' two.yaml --set 'products.0.file="no/{name}/../x.h5"' \
    --set 'products.1.file="no/{name}/p.h5"'
ok $bad "files that would be one when their folders are made"

# gone NAME STATUS PATTERN COMMAND...: fails, and leaves no folder behind
gone() {
    local name=$1 bad
    shift
    errs "$@"
    [ ! -e gone ] || { echo "# left a folder behind"; find gone | note; rm -rf gone; bad=1; }
    ok "$bad" "$name"
    [ "$bad" = 0 ] || note <stderr
}
set_out=(--set products.0.file=gone/out.h5 --set products.1.file=out.h5)
gone "one file by two names" 2 'gone' "$voltmill" run two.yaml --set products.0.file=gone/x.h5 \
    --set products.1.file=gone//x.h5
echo precious >out.h5.part
gone "another product cannot be made" 2 'out\.h5\.part exists' mpirun -n 2 "$voltmill" run two.yaml "${set_out[@]}"
rm out.h5.part
"$python" - <<'PYTHON'
import h5py
with h5py.File("bad.h5", "w") as f: # chunks that no filter of this program undoes
    f.create_dataset("x", (20000,), "i1", chunks=(1000,), compression="gzip")
    f["x"][:] = 1
data = bytearray(open("bad.h5", "rb").read())
with h5py.File("bad.h5") as f:
    for i in range(20):
        info = f["x"].id.get_chunk_info(i)
        data[info.byte_offset:info.byte_offset + info.size] = b"\xff" * info.size
open("bad.h5", "wb").write(data)
PYTHON
gone "the input cannot be read" 4 'bad\.h5' "$voltmill" run two.yaml "${set_out[@]}" --set input.files=bad.h5 \
    --set 'input.layout={dataset: x, axes: time, sample_rate_hz: 1e6, freq_hz: 1e8}'
gone "two folders that are missing" 2 'gone/deep/out.h5 cannot be made: folder gone is missing, expected it to exist' \
    "$voltmill" run two.yaml --set products.0.file=gone/deep/out.h5
gone "plan says so, too" 2 'folder gone is missing' "$voltmill" plan two.yaml --set products.0.file=gone/deep/out.h5
gone "and synth" 2 'folder gone is missing' "$voltmill" synth synth.yaml --set file=gone/deep/obs.h5
ln -s nothing nowhere
touch file
for way in "nowhere:a link that leads nowhere" "file:file is not a folder"; do
    for command in run plan; do
        gone "in the way, $command: ${way%%:*}" 2 "${way%%:*}/a/x.h5 cannot be made: .*${way#*:}" "$voltmill" $command two.yaml \
            --set products.0.file="${way%%:*}/a/x.h5"
    done
    gone "synth: ${way%%:*}" 2 "cannot be made: .*${way#*:}" "$voltmill" synth synth.yaml --set file="${way%%:*}/x.h5"
    gone "export: ${way%%:*}" 2 "cannot be made: .*${way#*:}" "$voltmill" export --format fil -o "${way%%:*}/x.fil" new/power.h5
done
if can_be_other; then
    mkdir -m 555 locked
    chmod 755 . made
    gone "in a folder that is not ours" 2 'locked/a/out\.h5 cannot be made: folder locked: Permission denied' \
        "${as_other[@]}" "$voltmill" run two.yaml --set products.0.file=locked/a/out.h5
else
    skip "no other user can be taken"
fi
plan
