# `voltmill verify` of products that are right but odd: with holes, with infinities, made with more memory than
# a job has by default. What is wrong in them is found all the same.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

PYTHONPATH="$here/tests/cli" warm - <<'END' || exit 1
import h5py
import numpy as np
from archives import native, noise

HEADER = {"fch1": 400.0, "foff": -2.0, "tsamp": 1e-3, "tstart": 58849.0}
random = np.random.default_rng(3)


def bank(name, data, **options):
    with h5py.File(name + ".h5", "w") as file:
        file.create_dataset("data", data=data, **options).attrs.update(HEADER)


data = random.normal(100, 10, (400, 1, 16)).astype("f4")
bank("sound", data, chunks=(50, 1, 16), fletcher32=True)
bank("broken", data, chunks=(50, 1, 16), fletcher32=True)
with h5py.File("broken.h5") as file:
    at = file["data"].id.get_chunk_info(3).byte_offset
with open("broken.h5", "r+b") as file:
    file.seek(at)
    file.write(b"\0\1\2\3")
kept = data[100].copy()
data[100] = np.nan
data[104:140, 0, 3] = np.nan
bank("blank", data)
data[104:140] = 99
data[100] = kept
data[100, 0, 3] = np.inf
data[200, 0, 5] = -np.inf
data[203, 0, 8] = np.inf
bank("infinite", data)


def long_chunks(path, name, shape, kind, chunk):
    """Puts a dataset in the place of another: its chunk costs memory in a plan, but neither room nor time."""
    with h5py.File(path, "r+") as file:
        attributes = dict(file[name].attrs) if name in file else HEADER
        if name in file:
            del file[name]
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(chunk)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple(shape, (h5py.h5s.UNLIMITED,) + shape[1:])
        dataset = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), kind, space, plist))
        dataset[...] = 3
        dataset.attrs.update(attributes)


h5py.File("wide.h5", "w").close()
long_chunks("wide.h5", "data", (400, 1, 16), h5py.h5t.STD_U8LE, (18 << 20, 1, 16))
native("volts.h5", noise((16, 2)), "time,reim")
long_chunks("volts.h5", "voltages", (4096, 2), h5py.h5t.STD_I8LE, (50 << 20, 2))
native("torn.h5", noise((4096, 2)), "time,reim", chunks=(256, 2), fletcher32=True)
with h5py.File("torn.h5") as file:
    at = file["voltages"].id.get_chunk_info(3).byte_offset
with open("torn.h5", "r+b") as file:
    file.seek(at)
    file.write(b"\0\1\2\3")
volts = noise((4096, 2)).astype("f4")
volts[500, 0] = np.inf
native("infinite-volts.h5", volts, "time,reim")
# Noise whose power is below 1.2e-38, and whose spectra are.
for name, scale in (("tiny", 1e-21), ("tiniest", 1e-42)):
    native(name + ".h5", (random.standard_normal((8192, 2)) * scale).astype("f4"), "time,reim")
# Islands of one to three samples between gaps; noise of rms 1, by itself and on 35.
gaps = np.array([[20000 + 700 * i + 2 * i, 700 + i % 3 - 1] for i in range(30)], "u8")
islands = random.standard_normal((1 << 15, 1, 2)).astype("f4")
islands = np.concatenate([islands, islands])
native("islands.h5", islands, scales={"gaps": gaps})
native("offset.h5", (islands + np.array([35, 0], "f4")).astype("f4"), attrs={"sideband": np.int32(-1)}, scales={"gaps": gaps})
END
cat >change.py <<'END'
"""change.py PRODUCT DM WHICH VALUE: another value in place of the first that is so."""
import sys
import h5py
import numpy as np
with h5py.File(sys.argv[1], "r+") as file:
    row = file["dedispersed"][int(sys.argv[2])]
    at = np.flatnonzero({"nan": np.isnan, "inf": np.isposinf, "finite": np.isfinite}[sys.argv[3]](row))[0]
    file["dedispersed"][int(sys.argv[2]), at] = float(sys.argv[4])
END
cat >job.yaml <<'END'
input: {files: sound.h5}
dedisperse: {dm: [0, 5, 10], file: out.h5}
END
# wrong NAME DM WHICH VALUE: verify must find such a change.
wrong() {
    local name=$1
    shift
    cp out.h5 changed.h5
    warm change.py changed.h5 "$@"
    errs 4 'changed\.h5' "$voltmill" verify --all changed.h5
    ok $bad "$name is found"
}

# --- holes
status=0
"$voltmill" run job.yaml --set input.files=blank.h5 >stdout 2>stderr || status=$?
same "NaN in the filterbank" 6 $status
runs "NaN in the filterbank: verify" "$voltmill" verify --all out.h5
grep -q '^1 of them are NaN because their input is missing: skipped' output
ok $? "says how many are NaN"
wrong "another number where a DM has holes" 1 finite 5
wrong "a number in place of NaN" 0 nan 5
cp out.h5 changed.h5
warm -c 'import h5py; h5py.File("changed.h5", "r+")["provenance/holes"][0] = 0'
errs 4 'changed\.h5: DM 0 (is|contains) NaN.*, but /provenance/holes does not say so' "$voltmill" verify --all changed.h5
ok $bad "NaN that is not marked is found"
rm out.h5

cp sound.h5 bank.h5
runs "no NaN" "$voltmill" run job.yaml --set input.files=bank.h5
wrong "NaN where there are no holes" 1 finite nan
rm out.h5
cp broken.h5 bank.h5
status=0
"$voltmill" run job.yaml --set input.files=bank.h5 --set run.on_bad=nan >stdout 2>stderr || status=$?
same "rows that cannot be read" 6 $status
runs "rows that cannot be read: verify" "$voltmill" verify --all out.h5
cp sound.h5 bank.h5
errs 4 'out\.h5: DM [0-9]+ is NaN at time [0-9]+, as if its input could not be read, but it can be' "$voltmill" verify --all out.h5
ok $bad "rows that can be read again are found"
errs 4 'is NaN at time [0-9]+, as if' "$voltmill" verify --chunks 2 out.h5
ok $bad "in a small sample, too"
cp broken.h5 bank.h5
wrong "another number beside holes" 2 finite 5
rm out.h5

# --- infinities
for mode in brute two-step; do
    status=0
    "$voltmill" run job.yaml --set input.files=infinite.h5 --set dedisperse.0.mode=$mode >stdout 2>stderr || status=$?
    ok $((status != 0 && status != 6)) "infinities, $mode"
    runs "infinities, $mode: verify" "$voltmill" verify --all out.h5
    wrong "$mode: a number in place of inf" 0 inf 5
    wrong "$mode: -inf in place of inf" 0 inf -inf
    wrong "$mode: inf in place of a number" 0 finite inf
    wrong "$mode: a number beside infinities" 0 finite 5
    rm out.h5
done

# --- memory
fails "a dedispersion that needs more than it is given" 2 'run\.memory is 256\.00 MiB' \
    "$voltmill" run job.yaml --set input.files=wide.h5 --set run.memory=256MiB
runs "given that" "$voltmill" run job.yaml --set input.files=wide.h5 --set run.memory=500MiB
runs "it verifies" "$voltmill" verify --all out.h5
errs 4 'run\.memory is 256\.00 MiB' "$voltmill" verify --set run.memory=256MiB out.h5
ok $bad "not in less, when that is given"
wrong "another number" 2 finite 5
cat >volts.yaml <<'END'
input: {files: volts.h5}
channelise: {channels: 16, taps: 4}
products: [{kind: power, file: power.h5}]
END
fails "a filter bank that needs more than it is given" 2 'run\.memory is 256\.00 MiB' "$voltmill" run volts.yaml --set run.memory=256MiB
runs "given that" "$voltmill" run volts.yaml --set run.memory=2GiB
runs "it verifies" "$voltmill" verify --all power.h5
warm -c 'import h5py; h5py.File("power.h5", "r+")["data"][7, 0, 3] = 5'
errs 4 'power\.h5 is not what the reference makes' "$voltmill" verify --all power.h5
ok $bad "another number is found"
rm power.h5

# --- a filter bank with holes, or infinities
status=0
"$voltmill" run volts.yaml --set input.files=torn.h5 --set run.on_bad=nan >stdout 2>stderr || status=$?
same "samples that cannot be read" 6 $status
runs "samples that cannot be read: verify" "$voltmill" verify --all power.h5
runs "samples that cannot be read: in a small sample, too" "$voltmill" verify --chunks 2 power.h5
cp power.h5 changed.h5
warm -c 'import h5py; f = h5py.File("changed.h5", "r+"); row = f["provenance/holes"][:].argmax(); f["data"][row, 0, 3] = 5'
errs 4 'row [0-9]+ is marked in /provenance/holes, but number 3 of stream 0 is 5' "$voltmill" verify --chunks 2 changed.h5
ok $bad "a number in a row that is marked is found"
cp power.h5 changed.h5
warm -c 'import h5py; f = h5py.File("changed.h5", "r+"); f["provenance/holes"][f["provenance/holes"][:].argmax()] = 0'
errs 4 'the input of row [0-9]+ cannot be read, but the row is not marked' "$voltmill" verify --all changed.h5
ok $bad "a row that is not marked is found"
cp power.h5 changed.h5
warm -c 'import h5py; f = h5py.File("changed.h5", "r+"); f["data"][200] = float("nan"); f["provenance/holes"][200] = 1'
errs 4 'row 200 is marked as one whose input could not be read, but it can be' "$voltmill" verify --all changed.h5
ok $bad "a good row that was made a hole is found"
rm power.h5
runs "a sample that is infinite" "$voltmill" run volts.yaml --set input.files=infinite-volts.h5
runs "a sample that is infinite: verify" "$voltmill" verify --all power.h5
rm power.h5

# --- numbers so small that floats have fewer digits, of which a wrong one is found all the same
tiny() { # FILE KIND [SET...]
    local name="$1, $2 ${*:3}" sets=("${@:3}")
    runs "$name" "$voltmill" run --force volts.yaml --set input.files=$1.h5 --set products.0.kind=$2 "${sets[@]/#/--set=}"
    runs "$name: verifies" "$voltmill" verify --all power.h5
    cp power.h5 changed.h5
    warm -c 'import h5py, numpy as np
with h5py.File("changed.h5", "r+") as f:
    rows = f["data"] if "data" in f else f["spectra"]
    row = rows[5]
    row.reshape(-1)[3] *= 1.5
    rows[5] = row'
    errs 4 'changed\.h5 is not what the reference makes' "$voltmill" verify --all changed.h5
    ok $bad "$name: a wrong number is found"
}
tiny tiny power
tiny tiny power products.0.integrate=32
tiny tiny spectra
tiny tiniest spectra
rm power.h5

# --- as many filters as a job may have: verify overrides a key of each
{
    printf '%s\n' "input: {files: islands.h5}" "channelise: {channels: 64, taps: 4}" "filter:"
    for _ in {1..8}; do echo '  - {design: {kind: lowpass, edges: [300e3, 400e3], offset: true}}'; done
    echo 'products: [{kind: power, file: power.h5, integrate: 16, min_weight: 0}]'
} >eight.yaml
runs "eight filters" "$voltmill" run eight.yaml
runs "eight filters: verify" "$voltmill" verify power.h5
rm power.h5

# --- filters leave little of what goes in: rounding is relative to that, and what is wrong is found all the same
cat >islands.yaml <<'END'
input: {files: islands.h5}
filter: {design: {kind: highpass, edges: [30e3, 50e3], attenuation: 60, offset: true}, method: overlap-save}
channelise: {channels: 64, taps: 4, backend: cpu}
products: [{kind: power, file: power.h5, min_weight: 0}]
END
for file in islands offset; do
    for set in products.0.integrate=1 products.0.integrate=32 products.0.kind=spectra products.0.min_weight=0.1; do
        runs "$file, $set" "$voltmill" run --force islands.yaml --set input.files=$file.h5 --set $set
        runs "$file, $set: verify" "$voltmill" verify --all power.h5
    done
    "$voltmill" info power.h5 | grep -Eq '^  weights  +0\.[0-9]+ on average, the least 0[.0-9e-]*: .* below 1 \('
    ok $? "$file: info says the weights"
    cp power.h5 changed.h5
    warm -c 'import h5py
with h5py.File("changed.h5", "r+") as f:
    f["data"][20, 0, 3] *= 1.01'
    errs 4 'changed\.h5 is not what the reference makes' "$voltmill" verify --all changed.h5
    ok $bad "$file: a number that is 1 % off is found"
    cp power.h5 changed.h5
    warm -c 'import h5py, numpy as np
with h5py.File("changed.h5", "r+") as f:
    w = f["weights"][:, 0, 0]
    f["data"][np.flatnonzero((w > 0.3) & (w < 0.7))[0], 0, 3] *= 1.05'
    errs 4 'changed\.h5 is not what the reference makes' "$voltmill" verify --all changed.h5
    ok $bad "$file: one that is 5 % off where half is missing, too"
done
rm power.h5

# --- lines: what rounding does beside them grows with them, and what is wrong is found all the same
# carrier AMPLITUDE CHANNELS SPECTRA
carrier() {
    local name="a carrier of amplitude $1 in noise 12, $2 channels"
    "$voltmill" synth --force /dev/stdin >/dev/null <<END
{file: carrier.h5, samples: $(($2 * ($3 + 3))), bits: 8, domain: complex, sample_rate_hz: 1e6, freq_hz: 1.42e9, noise: 12,
 seed: 3, tones: [{freq_hz: 1420100123, amplitude: $1}]}
END
    cat >carrier.yaml <<END
input: {files: carrier.h5}
channelise: {channels: $2, taps: 4}
products: [{kind: spectra, file: spectra.h5}, {kind: power, file: power.h5, integrate: $3}]
END
    runs "$name" "$voltmill" run --force carrier.yaml
    runs "$name: spectra verify" "$voltmill" verify --all spectra.h5
    runs "$name: power verifies" "$voltmill" verify --all power.h5
    cp carrier.h5 sound-carrier.h5
    warm - "$2" <<'END'
import sys
import h5py
with h5py.File("carrier.h5", "r+") as file:
    file["voltages"][2 * int(sys.argv[1]) + 7] ^= 8
END
    errs 4 'spectra\.h5 is not what the reference makes' "$voltmill" verify --all spectra.h5
    ok $bad "$name: one wrong sample of its archive is found in spectra"
    errs 4 'power\.h5 is not what the reference makes' "$voltmill" verify --all power.h5
    ok $bad "$name: and in power"
    mv sound-carrier.h5 carrier.h5
    warm - <<'END'
import h5py
import numpy as np
with h5py.File("spectra.h5", "r+") as file:
    row = file["spectra"][0, 0]
    weakest = int(np.abs(row).argmin())
    file["spectra"][0, 0, weakest] = row[weakest] + 1e-5 * np.sqrt(np.mean(np.abs(row) ** 2)) + 1e-6 * np.abs(row).max()
with h5py.File("power.h5", "r+") as file:
    file["data"][0, 0, weakest] *= 1.0002
END
    errs 4 'spectra\.h5 is not what the reference makes' "$voltmill" verify --all spectra.h5
    ok $bad "$name: one wrong number of the spectra is found"
    errs 4 'power\.h5 is not what the reference makes' "$voltmill" verify --all power.h5
    ok $bad "$name: one of power that is wrong by 2e-4"
}
carrier 20 2048 9
carrier 4 131072 2
# Frequencies of 1 to 2 MiB of several coarse channels, after which nothing else is in the file.
cat >fine.yaml <<'END'
file: fine-obs.h5
samples: 150000
streams: {chans: 4}
bits: 8
sample_rate_hz: 1e6
freq_hz: 100e6
noise: 20
END
runs "an observation for fine channels" "$voltmill" synth fine.yaml
runs "200,000 channels" "$voltmill" spec -c 50000 -t 2 --taps 1 -o fine.h5 fine-obs.h5
runs "verify" "$voltmill" verify fine.h5

plan
