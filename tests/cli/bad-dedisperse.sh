# Dedispersions that cannot be, filterbanks that are none: each gets one message with what is wrong and what
# was expected, its stated exit status, and leaves nothing behind.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

PYTHONPATH="$here/tests/cli" warm - <<'END' || exit 1
import h5py
import numpy as np
from archives import native, noise, unknown_filter

HEADER = {"fch1": 400.0, "foff": -2.0, "tsamp": 1e-3, "tstart": 58849.0, "nchans": 16, "nifs": 1,
          "nbits": 8, "source_name": "made up"}


def bank(name, data=np.ones((400, 1, 16), "u1"), options={}, **header):
    with h5py.File(name + ".h5", "w") as file:
        dataset = file.create_dataset("data", data=data, **options)
        dataset.attrs.update({k: v for k, v in {**HEADER, **header}.items() if v is not None})


bank("bank", np.random.default_rng(1).integers(0, 256, (400, 1, 16), dtype="u1"))
bank("one-channel", np.ones((400, 1, 1), "u1"), nchans=1)
for key in ("fch1", "foff", "tsamp"):
    bank("no-" + key, **{key: None})
    bank("nan-" + key, **{key: np.nan})
    bank("text-" + key, **{key: "much"})
bank("infinite", fch1=np.inf)
bank("no-bandwidth", foff=0.0)
bank("next-to-no-bandwidth", foff=-1e-300)
bank("below-zero", fch1=10.0)
bank("backwards", tsamp=-1e-3)
bank("still", tsamp=0.0)
bank("signed", np.ones((400, 1, 16), "i4"))
bank("wide", np.ones((400, 1, 16), "u8"))
bank("line", np.ones(400, "u1"))
bank("empty", np.ones((0, 1, 16), "u1"))
bank("stokes", np.ones((400, 4, 16), "u1"), nifs=4, pol_type="IQUV")
full = np.arange(400 * 4 * 16, dtype="u4").reshape(400, 4, 16).astype("u1")
for name, pols in (("unnamed", None), ("vuqi", "VUQI"), ("listed", "Q, I, U, V"), ("cross", "XX,YY,XY,YX"),
                   ("aabb", "AABBCRCI"), ("parts", "XX/YY/Re(XY)/Im(XY)"), ("beams", "B0,B1,B2,B3"), ("short", "IQU")):
    bank(name, full, nifs=4, pol_type=pols)
bank("linear", full[:, :2], nifs=2, pol_type="HV")
bank("half-stokes", full[:, :2], nifs=2, pol_type="I,V")
bank("two", np.ones((400, 2, 16), "u1"), nifs=2)
bank("odd-start", tstart=np.nan, nchans=99)
bank("long", np.ones((200000, 1, 16), "u1"), options={"chunks": (1000, 1, 16)})
bank("deflated", np.random.default_rng(2).integers(0, 256, (400, 1, 16), dtype="u1"),
     {"chunks": (50, 1, 16), "fletcher32": True})
with h5py.File("deflated.h5") as file:
    at = file["data"].id.get_chunk_info(3).byte_offset
with open("deflated.h5", "r+b") as file:
    file.seek(at)
    file.write(b"\0\1\2\3")
bank("filter", np.ones((400, 1, 16), "u1"), options={"chunks": (50, 1, 16), "compression": 1})
unknown_filter("filter.h5")
data = open("bank.h5", "rb").read()
open("half.h5", "wb").write(data[:len(data) - 3000])
open("stump.h5", "wb").write(data[:200])
open("none.h5", "wb")
open("words.h5", "w").write("no HDF5 at all\n" * 100)
with h5py.File("group.h5", "w") as file:
    file.create_group("data")
with h5py.File("dangling.h5", "w") as file:
    file["data"] = h5py.SoftLink("/nowhere")
with h5py.File("elsewhere.h5", "w") as file:
    file["data"] = h5py.ExternalLink("lost.h5", "/data")
native("volts.h5", noise((4096, 2, 2)))
native("base.h5", noise((4096, 2, 2)), scales={"freq_hz": np.array([0.0])})
native("sky.h5", noise((4096, 2, 2)), scales={"freq_hz": np.array([400e6])})
END
cat >job.yaml <<'END'
input: {files: bank.h5}
dedisperse:
  - {dm: {start: 0, step: 1, count: 10}, file: out.h5}
END
cat >volts.yaml <<'END'
input: {files: sky.h5}
channelise: {channels: 16, taps: 4}
products:
  - {kind: power, file: power.h5}
  - {kind: spectra, file: spectra.h5}
dedisperse:
  - {dm: {start: 0, step: 10, count: 3}, file: out.h5}
END

# bad NAME STATUS PATTERN SET...: `plan`, which reads a job as `run` does, must fail so.
job=job.yaml
bad() {
    local name=$1 status=$2 pattern=$3 sets=()
    shift 3
    for set; do sets+=(--set "$set"); done
    fails "$name" "$status" "$pattern" "$voltmill" plan $job "${sets[@]}"
    nothing_left out.h5 power.h5
}
dm() { bad "$1" 2 "$2" "dedisperse.0.dm=$3"; }

# --- DMs
for dms in '{start: 0, step: 0, count: 3}' '{start: 0, step: 1, count: 0}' '{end: 9, tolerance: 1}' '[]'; do
    dm "one mistake of $dms" '^error: --set dedisperse\.0\.dm=.*: dedisperse\.0\.dm\.[a-z]*: (is|has) [01]' "$dms"
done
dm "a negative DM" 'dm\.start: is -1, expected a number from 0 to 1000000' '{start: -1, step: 1, count: 3}'
dm "a negative step" 'dm\.step: is -1, expected' '{start: 10, step: -1, count: 3}'
dm "a step of 0" 'dm\.step: is 0, expected' '{start: 10, step: 0, count: 3}'
dm "a DM that is no number" 'dm\.start: is nan, expected a number' '{start: nan, step: 1, count: 3}'
dm "a last DM that is too large" 'dm\.count: is 11, which goes up to a DM of 1000001, expected at most 1000000' '{start: 1, step: 1e5, count: 11}'
dm "no DMs" 'dm\.count: is 0, expected a whole number from 1' '{start: 0, step: 1, count: 0}'
dm "too many DMs" 'dm\.count: is 1e7, expected a whole number from 1 to 1048576' '{start: 0, step: 1, count: 1e7}'
dm "no count" 'expected start, step and count' '{start: 0, step: 1}'
dm "no step" 'expected start, step and count' '{start: 0, count: 4}'
dm "a list and a start" 'expected a list of DMs, or start' '{start: 0, list: [1, 2]}'
dm "two ways at once" 'expected a list of DMs, or start' '{start: 0, step: 1, count: 2, end: 5, tolerance: 1.2}'
dm "none at all" 'expected a list of DMs, or start' '{start: 0}'
dm "an empty list" 'dm' '{list: []}'
dm "a list that is unordered" 'dm\.list\.2: is 2, expected more than the 3 before it' '{list: [1, 3, 2]}'
dm "a DM twice" 'dm\.list\.1: is 1, expected more than the 1 before it' '{list: [1, 1]}'
dm "a list with a negative DM" 'dm\.list\.0: is -2, expected' '{list: [-2, 1]}'
dm "an end before the start" 'dm\.end: is 1, expected at least the start, 5' '{start: 5, end: 1, tolerance: 1.2}'
dm "a tolerance of 1" 'dm\.tolerance: is 1, expected' '{start: 0, end: 5, tolerance: 1}'
dm "no tolerance" 'expected start, end and tolerance' '{start: 0, end: 5}'
dm "far too many DMs" 'are more than 1048576' '{start: 0, end: 1e6, tolerance: 1.0000001}'
dm "a DM range without a valid output" \
    'no valid output is left: delays of up to [0-9]+ samples \(.*\) in an observation of 400 samples \(400 ms\)' \
    '{start: 0, step: 100, count: 20}'
dm "delays beyond all numbers" 'delays' '{start: 1e6, step: 1e6, count: 1}'
runs "but with padding there is" "$voltmill" plan job.yaml --set 'dedisperse.0.dm={start: 0, step: 100, count: 20}' \
    --set dedisperse.0.edges=pad

# --- memory
bad "an overlap beyond the memory budget" 2 \
    'run\.memory is 100\.00 MiB, but to dedisperse 16 channels with delays of up to .* at least .* \([0-9]+ bytes\) a rank are needed' \
    input.files=long.h5 'dedisperse.0.dm={start: 0, step: 44e3, count: 2}' run.memory=100MiB
runs "but a table of delays beyond it is cut by DMs" "$voltmill" plan job.yaml \
    --set 'dedisperse.0.dm={start: 0, step: 1e-6, count: 1048576}' --set run.memory=160MiB
bad "which in two steps it cannot be" 2 'in two steps the delays of 1048576 DMs in 16 channels alone need [0-9]+' \
    'dedisperse.0.dm={start: 0, step: 1e-6, count: 1048576}' dedisperse.0.mode=two-step run.memory=160MiB

# --- the other keys
bad "an unknown constant" 2 'dedisperse\.0\.constant: is psrchive, expected tempo, handbook, sigproc, codata or a positive number' \
    dedisperse.0.constant=psrchive
bad "a negative constant" 2 'constant: is -4148, expected' dedisperse.0.constant=-4148
bad "an unknown edge" 2 'dedisperse\.0\.edges: is wrap, expected one of valid, pad' dedisperse.0.edges=wrap
bad "an unknown mode" 2 'dedisperse\.0\.mode: is fast, expected one of auto, brute, tree, two-step' dedisperse.0.mode=fast
bad "an unknown backend" 2 'dedisperse\.0\.backend: is cuda, expected one of' dedisperse.0.backend=cuda
bad "a group without two steps" 2 'dedisperse\.0\.group: is for mode: two-step' dedisperse.0.group=8
bad "a reference of next to nothing" 2 'between .* Hz and the reference of 1e-300 Hz delays are beyond all numbers' \
    dedisperse.0.reference=1e-300
bad "a reference of 0" 2 'dedisperse\.0\.reference: is 0, expected' dedisperse.0.reference=0
bad "downsample 0" 2 'dedisperse\.0\.downsample: is 0, expected a whole number from 1' dedisperse.0.downsample=0
bad "downsample beyond the observation" 2 'dedisperse\.0\.downsample: is 401, but .* has 400 times' dedisperse.0.downsample=401
bad "a mask beyond the channels" 2 'mask: channel 16, but .*bank\.h5 has 16 \(counted from 0\)' 'dedisperse.0.mask=[3, 10-16]'
bad "a mask that is none" 2 'mask\.0: is 7-3, expected a channel' 'dedisperse.0.mask=[7-3]'
bad "a mask of all" 2 'dedisperse\.0\.mask: leaves none of the 16 channels' 'dedisperse.0.mask=[0-15]'
bad "a pol named twice" 2 'dedisperse\.0\.pols: a pol is there twice' input.files=two.h5 'dedisperse.0.pols=[0, 0]'
bad "a pol that is not there" 2 'dedisperse\.0\.pols: is 1, but .*bank\.h5 has 1' dedisperse.0.pols=1
bad "its older name" 2 'dedisperse\.0\.pols: is 1, but .*bank\.h5 has 1' dedisperse.0.ifs=1
bad "beside the new one" 2 'dedisperse\.0\.ifs: given twice' 'dedisperse.0={dm: {list: [1]}, pols: 0, ifs: 0, file: out.h5}'
bad "an unknown key" 2 'dedisperse\.0\.edge: unknown key, did you mean edges' dedisperse.0.edge=pad
bad "no file" 2 'dedisperse\.0\.file: is missing' 'dedisperse=[{dm: {list: [1]}}]'
bad "the file of the input" 2 'the same as input' dedisperse.0.file=bank.h5
bad "one file for two" 2 'the same as dedisperse\.0\.file' 'dedisperse.1={dm: {list: [1]}, file: out.h5}'
bad "an input without products" 2 'dedisperse\.0\.input' dedisperse.0.input=0
bad "products without channelise" 2 'channelise' 'products=[{kind: power, file: power.h5}]'
bad "two filterbanks" 2 'files' 'input.files=[bank.h5, long.h5]'
bad "Stokes parameters added up" 2 'the pols of stokes\.h5 are IQUV, and a sum with number 1 means nothing: dedisperse\.0\.pols: one of them, or powers: 0 \(I\)' input.files=stokes.h5
bad "in another order" 2 'vuqi\.h5 are VUQI, .* number 0 means nothing.* powers: 3 \(I\)$' input.files=vuqi.h5
bad "in a list" 2 'listed\.h5 are Q, I, U, V, .* number 0 .* powers: 1 \(I\)$' input.files=listed.h5
bad "two of them" 2 'listed\.h5 .* number 3 means nothing' input.files=listed.h5 'dedisperse.0.pols=[1, 3]'
bad "I and V" 2 'half-stokes\.h5 are I,V, .* number 1 ' input.files=half-stokes.h5
bad "fewer names than pols" 2 'short\.h5 are IQU, .* number 0 .* powers: none' input.files=short.h5
bad "products of polarisations" 2 'cross\.h5 are XX,YY,XY,YX, .* number 2 .* powers: 0 \(XX\), 1 \(YY\)$' input.files=cross.h5
bad "the same in pairs" 2 'aabb\.h5 are AABBCRCI, .* number 2 .* powers: 0 \(AA\), 1 \(BB\)$' input.files=aabb.h5
bad "the same in parts" 2 'parts\.h5 .* number 2 .* powers: 0 \(XX\), 1 \(YY\)$' input.files=parts.h5
bad "four pols without names" 2 'unnamed\.h5 does not say what its 4 pols are \(pol_type\).*dedisperse\.0\.pols: which' input.files=unnamed.h5
for which in 'linear all' 'beams all' 'cross [0,1]' 'aabb [1,0]' 'unnamed [0,1,2,3]' 'vuqi 3' 'listed 2'; do
    set -- $which
    sets=(--set input.files=$1.h5)
    [ "$2" = all ] || sets+=(--set "dedisperse.0.pols=$2")
    runs "pols that may be added up: $which" mpirun -n 2 "$voltmill" run job.yaml --force "${sets[@]}"
done
rm -f out.h5
runs "info names pols" "$voltmill" info cross.h5
grep -q '^  pols          4, XX,YY,XY,YX$' output
ok $? "as the file does"
runs "Stokes I" "$voltmill" plan job.yaml --set input.files=stokes.h5 --set dedisperse.0.pols=0

# --- filterbanks
file() { bad "$1" 4 "$3" "input.files=$2.h5"; }
file "one channel" one-channel 'one-channel\.h5: 1 channel, expected 2 to'
file "hardly any bandwidth" next-to-no-bandwidth 'foff = -1e-300 MHz beside fch1 = 400 MHz: 16 channels without bandwidth'
file "zero bandwidth" no-bandwidth 'foff = 0: 16 channels without bandwidth'
for key in fch1 foff tsamp; do
    file "no $key" no-$key "attribute $key of /data is missing"
    file "$key is NaN" nan-$key "attribute $key of /data is no number"
    file "$key is text" text-$key "attribute $key is \"much\", expected a number"
done
file "an infinite frequency" infinite 'attribute fch1 of /data is no number'
file "frequencies below 0" below-zero 'channel 5 is at 0 Hz, expected a frequency above 0'
file "time runs backwards" backwards 'tsamp = -0\.001 s, expected more than 0'
file "no time between rows" still 'tsamp = 0 s'
file "signed samples" signed '32-bit signed integers, expected integers of 8 or 16, or floats of 16, 32 or 64 bits'
file "samples of 64 bits" wide '64-bit unsigned integers'
file "one dimension" line '/data has 1 dimensions'
file "no rows" empty '/data is empty'
file "a truncated file" half 'truncated'
file "a stump" stump 'stump\.h5'
file "an empty file" none 'none\.h5'
file "text" words 'words\.h5 is not an HDF5 file'
file "/data is a group" group 'group\.h5 is no filterbank: its /data leads to no dataset'
file "/data leads nowhere" dangling 'dangling\.h5 is no filterbank: its /data leads to no dataset'
file "/data lies in a lost file" elsewhere 'lost\.h5: No such file'
file "voltages" volts 'volts\.h5 is no filterbank: it contains voltages'
file "an unknown filter" filter \
    'filter\.h5: /?data is compressed with the filter 64783 \(nothing\), .* HDF5_PLUGIN_PATH names'
bad "a pattern" 2 'input\.files is .*\*\.h5, expected one filterbank to dedisperse: --each takes patterns' "input.files=mis*.h5"
file "no file" missing 'missing\.h5.*No such file'
runs "no start, and another count of channels" "$voltmill" run job.yaml --set input.files=odd-start.h5
grep -q '^assumed: odd-start.h5: nchans is 99, but /data has 16: this is used' output
ok $? "is said"
rm -f out.h5
breaks "rows that cannot be read" 4 'deflated\.h5' mpirun -n 2 "$voltmill" run job.yaml --set input.files=deflated.h5

runs "info" "$voltmill" info two.h5
grep -q '^  channels      16, 400 MHz to 370 MHz' output && grep -q '^  pols          2' output
ok $? "describes a filterbank"
errs 4 'foff = 0' "$voltmill" info no-bandwidth.h5
ok $bad "info of one without bandwidth"

status=0
mpirun -n 2 "$voltmill" run job.yaml --set input.files=deflated.h5 --set run.on_bad=nan >stdout 2>stderr || status=$?
same "rows that cannot be read, on_bad: nan" 6 $status
grep -q '^warning: deflated.h5: .*fletcher32' stderr && grep -q '^incomplete: out.h5 is complete, but 10 of its DMs contain NaN' stderr
ok $? "says so"
warm - <<'END'
import sys
import h5py
import numpy as np
with h5py.File("out.h5") as file:
    table, found = file["provenance/delays"][()], file["dedispersed"][()]
    flags = file["provenance/holes"][()]
data = np.full((400, 16), np.nan)
with h5py.File("deflated.h5") as file:
    for row in (*range(150), *range(200, 400)):
        data[row] = file["data"][row, 0]
cut = [np.array([data[d:d + found.shape[1], c] for c, d in enumerate(row)]) for row in table]
there = np.array([np.isfinite(dm).sum(0) for dm in cut])
with np.errstate(divide="ignore"):
    expected = np.nansum(cut, 1).astype("f4") * (np.float32(16) / there.astype("f4"))
expected[there * 10 < 16] = np.nan
flag = np.isnan(expected).any(1)
sys.exit(not (flag.any() and (flags == flag).all() and np.array_equal(found, expected, equal_nan=True)))
END
ok $? "sums leave them out, and are NaN where none is left"
runs "verify knows holes" "$voltmill" verify out.h5 --set run.on_bad=nan
expected=$(sha256sum <out.h5)
rm -f out.h5

# A run that stopped at the damage goes on over it, in one and in two steps.
errs 4 'deflated\.h5' "$voltmill" run job.yaml --set input.files=deflated.h5 --set run.chunk=30 --set run.sync=0.01
grep -Eq '^note: .* are (done|kept): run the same command to resume' stderr && [ -e out.h5.journal ]
ok $? "on_bad: stop keeps what was done before the damage"
status=0
"$voltmill" run job.yaml --set input.files=deflated.h5 --set run.on_bad=nan >stdout 2>stderr || status=$?
same "on_bad: nan goes on with it" 6 $status
grep -Eq '^note: [0-9]+ of [0-9]+ chunks are done: resumes from there' stderr
ok $? "and says so"
same "the same bytes as if it had begun so" "$expected" "$(sha256sum <out.h5)"
rm -f out.h5
# Rows that are NaN in a file of floats show which sums need them, whatever the way of adding up.
warm - <<'END'
import h5py
import numpy as np
with h5py.File("bank.h5") as bank:
    header = dict(bank["data"].attrs)
data = np.random.default_rng(2).integers(0, 256, (400, 1, 16), dtype="u1")  # of deflated.h5
large = np.random.default_rng(4).integers(60000, 65536, (600, 1, 700), dtype="u2")
for name, rows in (("floats", np.where((np.arange(400) // 50 == 3)[:, None, None], np.nan, data).astype("f4")),
                   ("large", large)):
    with h5py.File(name + ".h5", "w") as file:
        file.create_dataset("data", data=rows).attrs.update({**header, "nchans": rows.shape[2], "foff": -0.2})
with h5py.File("deflated.h5", "r+") as file:
    file["data"].attrs["foff"] = -0.2
END
for keys in "" "mode=tree" "mode=two-step" "edges=pad" "downsample=3" "mask=[0,7-9]" "mode=two-step mask=[15] edges=pad downsample=2"; do
    sets=(--set run.on_bad=nan)
    for key in $keys; do sets+=(--set "dedisperse.0.$key"); done
    "$voltmill" run job.yaml --set input.files=deflated.h5 "${sets[@]}" --set run.chunk=70 >stdout 2>stderr
    [ $? = 6 ] && "$voltmill" run job.yaml --set input.files=floats.h5 "${sets[@]}" --set dedisperse.0.file=other.h5 >stdout 2>stderr
    status=$?
    [ $status = 6 ] || note <stderr
    [ $status = 6 ] && warm - <<'END'
import sys
import h5py
import numpy as np
found, expected = (h5py.File(name)["dedispersed"][()] for name in ("out.h5", "other.h5"))
sys.exit(not (0 < np.isnan(expected).mean() < 1 and np.array_equal(found, expected, equal_nan=True)))
END
    ok $? "on_bad: nan of integers is as NaN in floats: ${keys:-brute}"
    rm -f out.h5 other.h5
done
"$voltmill" run job.yaml --set input.files=large.h5 >stdout 2>stderr && expected=$(sha256sum <out.h5)
runs "sums beyond 2^24, on_bad: nan" "$voltmill" run --force job.yaml --set input.files=large.h5 --set run.on_bad=nan
same "the same bytes as with stop" "$expected" "$(sha256sum <out.h5)"
rm -f out.h5

# --- after a filter bank
job=volts.yaml
runs "a good job" "$voltmill" run volts.yaml
rm -f power.h5 spectra.h5 out.h5
bad "spectra are no power" 2 'dedisperse\.0\.input.*(spectra|power)' dedisperse.0.input=1
bad "no such product" 2 'dedisperse\.0\.input' dedisperse.0.input=2
bad "no power" 2 'no power product' 'products=[{kind: spectra, file: spectra.h5}]'
bad "frequencies around 0" 2 'would be at .* Hz: only frequencies above 0 can be dedispersed' input.files=base.h5
bad "no valid output of what will be made" 2 'no valid output is left' 'dedisperse.0.dm={list: [1e5]}'
fails "and run makes nothing" 2 'no valid output is left' mpirun -n 2 "$voltmill" run volts.yaml --set 'dedisperse.0.dm={list: [1e5]}'
nothing_left power.h5 spectra.h5 out.h5

# --- verify
runs "a product" "$voltmill" run job.yaml
warm - <<'END'
import h5py
with h5py.File("out.h5", "r+") as file:
    file["dedispersed"][4, 100] *= 1.01
END
errs 4 'out\.h5 is not what the reference makes of bank\.h5' "$voltmill" verify --all out.h5
ok $bad "verify finds a wrong number"
errs 4 'spans are damaged' "$voltmill" verify --crc out.h5
ok $bad "verify --crc, too"
warm - <<'END'
import shutil
import h5py
import numpy as np
for name, change in (("no-dms", "dm"), ("no-channels", "provenance/frequency"), ("no-delays", "provenance/delays")):
    shutil.copy("out.h5", name + ".h5")
    with h5py.File(name + ".h5", "r+") as file:
        del file[change]
        if name != "no-delays":
            file[change] = np.zeros(0)
END
for name in no-dms no-channels no-delays; do
    errs 4 "$name\.h5" "$voltmill" info $name.h5
    ok $bad "info of a product with $name"
    errs 4 "$name\.h5" "$voltmill" verify $name.h5
    ok $bad "verify of a product with $name"
done
cp one-channel.h5 bank.h5
errs 4 'bank\.h5' "$voltmill" verify out.h5
ok $bad "verify of another filterbank"
plan
