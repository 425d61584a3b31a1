# Input of which a part cannot be read (run.on_bad: nan): the rows that need it are NaN and marked, all others
# are those of a sound input; the exit status says so. The same however the work is cut, and when killed.
. "$(dirname "$0")/../tools/lib.sh"
samples=1000000
. "$here/tests/cli/begun.bash"

runs "an undisturbed run" "$voltmill" run job.yaml
cp spectra.h5 sound-spectra.h5
cp power.h5 sound-power.h5
clear_all

at=$(warm -c 'import h5py; print(h5py.File("obs.h5")["v"].id.get_offset())')
broken=(SHIM_NAP=0 "SHIM_BAD=$((at + 1000000))-$((at + 1010000))")

errs 4 'obs\.h5.*Input/output error' mpirun -n 2 "${slow[@]}" "${broken[@]}" "$voltmill" run job.yaml
ok $bad "stop is the default"
clear_all

# holes NAME COMMAND...: ends with status 6, one line that says so, and no error
holes() {
    local name=$1 status=0 bad=0
    shift
    "$@" >stdout 2>stderr || status=$?
    [ $status = 6 ] || { echo "# exit status $status"; bad=1; }
    [ "$(grep -c '^incomplete: ' stderr)" = 1 ] && ! grep -q '^error' stderr || { echo "# other messages"; bad=1; }
    [ -z "$(ls ./*.part ./*.journal 2>/dev/null)" ] || { echo "# something is left behind"; bad=1; }
    ok $bad "$name"
    [ $bad = 0 ] || note <stderr
}
holes "a run with holes" "${slow[@]}" "${broken[@]}" "$voltmill" run --set run.on_bad=nan job.yaml
holes=$(warm -c 'import h5py; print(h5py.File("spectra.h5")["provenance/holes"][:].sum())')
grep -q "^incomplete: spectra.h5 is complete, but $holes of its rows are NaN" stderr
ok $? "says how many"
expected=$(digest)
holes "the same job once more" "$voltmill" run --set run.on_bad=nan job.yaml
grep -q '^complete before: spectra.h5, power.h5$' stdout && grep -q '^incomplete: spectra.h5 was complete before, but '"$holes " stderr
ok $? "was complete before, with its holes"
warm - <<'PYTHON'
import sys
import h5py
import numpy as np
# Bytes 1000000 .. 1009999 are those of samples 250000 .. 252499.
with h5py.File("obs.h5") as f:
    there = (f["v"][:] != 100).all(2)
read = np.ones(len(there), bool)
read[250000:252500] = False
good = True
for name, rows, integrate in (("spectra", "spectra", 1), ("power", "data", 10)):
    with h5py.File(name + ".h5") as f, h5py.File("sound-" + name + ".h5") as sound:
        energy = (f["coefficients"][:] ** 2).ravel() / (f["coefficients"][:] ** 2).sum()
        weights = []
        for v in (there & read[:, None], there):
            at = slice(64 * 3840, 64 * 4100)
            w = np.lib.stride_tricks.sliding_window_view(v[at], energy.size, axis=0)[::64] @ energy
            weights.append(w[:190].reshape(190 // integrate, integrate, 2).mean(1))
        part = slice(3840 // integrate, 3840 // integrate + 190 // integrate)
        stored = f["weights"][:].reshape(-1, 2)
        good &= np.abs(stored[part] - weights[0]).max() < 1e-6
        blank = stored < 0.1
        holes = np.zeros(len(stored), bool)
        holes[part] = ((weights[0] < 0.1) & (weights[1] >= 0.1)).any(1)
        isnan = np.isnan(f[rows][:].view("f4")).reshape(len(stored), 2, -1)
        good &= (isnan == blank[:, :, None]).all() and (f["provenance/holes"][:] == holes).all()
        same = np.ones(len(stored), bool)
        same[part] = (np.abs(weights[0] - weights[1]) < 1e-14).all(1)
        good &= (f[rows][:][same] == sound[rows][:][same]).all() and holes.any() and 40 <= (~same).sum() * integrate <= 110
        print("#", name, holes.sum(), (~same).sum(), good)
sys.exit(0 if good else 1)
PYTHON
ok $? "exactly the rows that need it weigh less, and those that weigh least are NaN and marked"
runs "verify passes them over, as long as they cannot be read" "${slow[@]}" "${broken[@]}" "$voltmill" verify --chunks 400 power.h5
errs 4 'the weight of stream 0 in row 38[0-9] is 0\.[0-9]*, expected 0\.[0-9]*: was its input unreadable then\?' "$voltmill" verify --chunks 400 power.h5
ok $bad "and not when they can be"
runs "verify --crc" "$voltmill" verify --crc spectra.h5
clear_all

holes "other chunks" mpirun -n 3 "${slow[@]}" "${broken[@]}" "$voltmill" run --set run.on_bad=nan --set run.chunk=330 job.yaml
same "other chunks: same bytes" "$expected" "$(digest)"
clear_all

mpirun -n 2 "${slow[@]}" "${broken[@]}" SHIM_NAP=4 "$voltmill" run --set run.on_bad=nan job.yaml >log 2>&1 &
run=$!
await 150
kill -9 $run $(ranks)
reap $run
while [ -n "$(ranks)" ]; do nap 0.1; done
holes "killed and resumed" "${slow[@]}" "${broken[@]}" "$voltmill" run --set run.on_bad=nan job.yaml
same "killed and resumed: same bytes" "$expected" "$(digest)"
clear_all

# Killed with holes in rows that the journal does not know yet; then the disk is sound. Whichever rank makes
# those rows anew, they are no holes.
(exec "${slow[@]}" "SHIM_BAD=$((at + 1000000))-$((at + 4000000))" SHIM_ROWS=600:kill \
    "$voltmill" run --set run.on_bad=nan --set run.sync=0.4 job.yaml) >log 2>&1
[ "$(chunks power.h5)" -ge 1 ]
ok $? "killed after some chunks"
mkdir begun
mv ./*.part ./*.journal begun
cp begun/* .
status=0
"$voltmill" run --set run.on_bad=nan job.yaml >log 2>&1 || status=$?
healed="$status $(digest)"
clear_all
cp begun/* .
status=0
mpirun -n 3 "$voltmill" run --set run.on_bad=nan job.yaml >log 2>&1 || status=$?
same "holes that are none any more: same bytes on three ranks" "$healed" "$status $(digest)"
clear_all

# A chunk of a compressed dataset whose checksum is wrong: a hole of its length.
warm - <<'PYTHON'
import h5py
with h5py.File("obs.h5") as f, h5py.File("packed.h5", "w") as g:
    g.create_dataset("v", data=f["v"], chunks=(6400, 2, 2), fletcher32=True)
    info = g["v"].id.get_chunk_info(40)
    offset = info.byte_offset
with open("packed.h5", "r+b") as f:
    f.seek(offset + 1000)
    byte = f.read(1)
    f.seek(offset + 1000)
    f.write(bytes([byte[0] ^ 1]))
PYTHON
errs 4 'packed\.h5.*(cannot be read|checksum)' "$voltmill" run --set input.files=packed.h5 job.yaml
ok $bad "a wrong checksum: stop"
clear_all
holes "a wrong checksum: a hole" "$voltmill" run --set input.files=packed.h5 --set run.on_bad=nan job.yaml
same "a hole of 100 raw spectra, and of what weighs most" 99 "$(warm -c 'import h5py; print(h5py.File("spectra.h5")["provenance/holes"][:].sum())')"
plan
