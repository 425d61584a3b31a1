# `voltmill export`: options that are wrong, products that are others' or damaged, outputs that exist, cannot be made
# or do not fit, what a killed export leaves. What is in the files: tests/clients/export.py.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
"$python" - <<'END'
import h5py
import numpy as np

HEADER = {"fch1": 1400.0, "foff": 0.5, "tsamp": 1e-3, "tstart": 58000.0}


def bank(name, data=np.zeros((8, 1, 4), "u1"), frequency=None, **header):
    with h5py.File(name + ".h5", "w") as file:
        dataset = file.create_dataset("data", data=data)
        dataset.attrs.update({k: v for k, v in {**HEADER, **header}.items() if v is not None})
        if frequency is not None:
            file["frequency"] = frequency
            file.attrs["format"] = "power"


def huge(name, shape):
    with h5py.File(name + ".h5", "w") as file:
        file.create_dataset("data", shape, "u1", chunks=(1, 1, 64)).attrs.update(HEADER)


def series(name, data=np.zeros((3, 10), "f4"), dm=(1.0, 2.0, 3.0), **attributes):
    with h5py.File(name + ".h5", "w") as file:
        file.create_dataset("dedispersed", data=data).attrs.update({"tsamp_s": 1e-3, **attributes})
        if dm is not None:
            file["dm"] = np.array(dm)


bank("bank", np.arange(800, dtype="u1").reshape(100, 2, 4))
bank("float", np.random.default_rng(1).normal(size=(100, 1, 4)).astype("f4"))
bank("blank", np.full((8, 1, 4), np.nan, "f4"))
bank("half-stokes", np.zeros((8, 2, 4), "f4"), pol_type="V,I")
bank("stokes", np.zeros((8, 4, 4), "f4"), pol_type="I,Q,U,V")
for dtype in "i4", "u4", "i8", "c8":
    bank("is-" + dtype, np.zeros((8, 1, 4), dtype))
bank("line", np.zeros(8, "u1"))
bank("empty", np.zeros((0, 1, 4), "u1"))
for key in "fch1", "foff", "tsamp":
    bank("no-" + key, **{key: None})
    bank("nan-" + key, **{key: np.nan})
    bank("text-" + key, **{key: "1400 MHz"})
bank("still", foff=0.0)
bank("backwards", tsamp=-1.0)
bank("compound", np.zeros((8, 1, 4), [("r", "f4"), ("i", "f4")]))
bank("odd-words", source_name=np.int32(5))
bank("uneven", frequency=[1.4e9, 1.4005e9, 1.5e9, 1.5005e9])
bank("offset", frequency=[1.4e9, 1.4005e9, 1.401e9, 1.4016e9])
bank("even", frequency=1.4e9 + 0.5e6 * np.arange(4))
bank("two", np.zeros((8, 4, 4), "u1"), frequency=1.4e9 + 0.5e6 * np.arange(4), pol_type="IQ")
with h5py.File("two.h5", "r+") as file:
    file["pol"] = ["S0/I", "S0/Q", "S1/I", "S1/Q"]
huge("long", (1 << 45, 1, 64))
huge("broad", (4, 1, 1 << 33))
huge("ifs", (4, 1 << 20, 64))
huge("endless", (1 << 62, 1 << 15, 1 << 30))
for name, hertz, attributes in (("far-apart", [1.0, 2.0, 1e10], {}), ("below-zero", [1e9, -1e9], {}),
                                ("no-band", [], {}), ("no-reference", [1e9, 2e9], {"reference_hz": -5.0}),
                                ("no-constant", [1e9, 2e9], {"constant": np.nan})):
    series(name)
    with h5py.File(name + ".h5", "r+") as file:
        file["provenance/frequency"] = np.array(hertz, "f8")
        file["provenance"].attrs.update(attributes)
with h5py.File("group.h5", "w") as file:
    file.create_group("data")
with h5py.File("voltages.h5", "w") as file:
    file["voltages"] = np.zeros(5)
with h5py.File("spectra.h5", "w") as file:
    file["spectra"] = np.zeros((5, 2), "c8")
with h5py.File("other.h5", "w") as file:
    file["x"] = np.zeros(5)
with h5py.File("external.h5", "w") as file:
    file.create_dataset("data", (8, 1, 4), "u1", external=[("nowhere.raw", 0, 32)]).attrs.update(HEADER)
series("series", np.random.default_rng(2).normal(size=(3, 10)).astype("f4"))
series("holes", np.array([[1, np.nan, 3, 4]] * 3, "f4"))
series("one", np.zeros((3, 1), "f4"))
series("cube", np.zeros((3, 10, 2), "f4"))
series("whole-numbers", np.zeros((3, 10), "i4"))
series("void", np.zeros((0, 10), "f4"), ())
series("dmless", dm=None)
series("dms", dm=(1.0, 2.0))
series("twice", dm=(1.0, 1.0, 3.0))
series("near", dm=(1.11, 1.115, 3.0))
series("nan-dm", dm=(1.0, np.nan, 3.0))
series("text-tstart", tstart="today")
series("negative", nchans=-5)
series("timeless", tsamp_s=0.0)
END
head -c 1000 bank.h5 >cut.h5
echo text >text.h5
export=("$voltmill" export)
fil=("${export[@]}" --format fil)
dat=("${export[@]}" --format dat)

runs "--help" "${export[@]}" --help
runs "it is in the list of commands" grep -q '^  export ' <("$voltmill" --help)
runs "the help's docs/export.md is there" test -s "$here/docs/export.md"

# --- options
fails "no format" 2 'format is missing' "${export[@]}" bank.h5
fails "no such format" 2 'expected fil, psrfits, dat, tim, kerchunk, csv, heimdall or fetch' "${export[@]}" --format fits bank.h5
fails "no product" 2 'expected one product, got 0' "${fil[@]}"
fails "two products" 2 'expected one product, got 2' "${fil[@]}" bank.h5 float.h5
fails "no such option" 2 'export: unknown option --fast' "${fil[@]}" --fast bank.h5
fails "no value" 2 'needs a value' "${fil[@]}" bank.h5 --bits
fails "--bits 4" 2 'expected 8, 16 or 32' "${fil[@]}" --bits 4 bank.h5
fails "--pol -1" 2 'export: --pol -1: .*bank.h5 has 2' "${fil[@]}" --pol -1 bank.h5
fails "--pol beyond" 2 'bank.h5 has 2' "${fil[@]}" --pol 2 bank.h5
fails "--pol of two stations" 2 'export: --pol I is ambiguous: .*two.h5 has 4: S0/I, S0/Q, S1/I, S1/Q' "${fil[@]}" --pol I two.h5
runs "--pol of one of them" "${fil[@]}" --pol S1/I two.h5
rm two.fil
fails "--pol and --sum" 2 'either --pol or --sum, not both' "${fil[@]}" --pol 1 --sum bank.h5
fails "a sum of Stokes parameters" 2 'are I,Q,U,V, whose sum means nothing: .* powers: 0 \(I\)' "${fil[@]}" --sum stokes.h5
fails "in another order" 2 'are V,I, whose sum means nothing: .* powers: 1 \(I\)' "${fil[@]}" --sum half-stokes.h5
for scale in some 5 5..5 5..1 nan..1 1..inf ..; do
    fails "--scale $scale" 2 'expected channels, range or LOW' "${fil[@]}" --bits 8 --scale $scale float.h5
done
fails "8 bits without a scale" 2 '8 bits cannot represent .* --scale' "${fil[@]}" --bits 8 float.h5
fails "8 bits of a sum without a scale" 2 '8 bits cannot represent .* in 16' "${fil[@]}" --bits 8 --sum bank.h5
fails "a scale for floats" 2 'need none' "${fil[@]}" --bits 32 --scale range float.h5
fails "--dm of a filterbank" 2 'for --format dat' "${fil[@]}" --dm 5 bank.h5
fails "--bits of a series" 2 'for --format fil' "${dat[@]}" --bits 8 --dm 2 series.h5
fails "no DM" 2 'which DMs of series\.h5\? .*: it contains 3 from 1 to 3' "${dat[@]}" series.h5
fails "--dm and --dms" 2 'not both' "${dat[@]}" --dm 2 --dms 1..2 series.h5
for dm in x "" , 1,x 1..2 nan; do fails "--dm '$dm'" 2 'expected (DMs|a DM)' "${dat[@]}" --dm "$dm" series.h5; done
for dms in 5 2..1 a..b 1..; do fails "--dms $dms" 2 'expected a range' "${dat[@]}" --dms $dms series.h5; done
fails "a DM that is not there" 2 'DM 475 is not in series.h5: it contains 3 DMs from 1 to 3' "${dat[@]}" --dm 2,475 series.h5
fails "DMs that are not there" 2 'any DM from 5 to 9 is not in series.h5' "${dat[@]}" --dms 5..9 series.h5

# --- what is exported
fails "a filterbank as series" 4 'is no dedispersed product: it contains /data' "${dat[@]}" --dm 2 bank.h5
fails "a filterbank as series, whatever the DMs" 4 'is no dedispersed product: it contains /data' "${dat[@]}" bank.h5
fails "a series as filterbank" 4 'is no filterbank: it contains dedispersed series' "${fil[@]}" series.h5
fails "spectra" 4 'complex spectra' "${fil[@]}" spectra.h5
fails "voltages" 4 'voltages' "${fil[@]}" voltages.h5
fails "something else" 4 'is HDF5, but not a product' "${dat[@]}" --dm 2 other.h5
fails "no file" 4 'No such file' "${fil[@]}" none.h5
fails "no HDF5" 4 'not an HDF5 file' "${fil[@]}" text.h5
fails "a part of a file" 4 'truncated' "${fil[@]}" cut.h5
for dtype in i4 u4 i8 c8; do
    fails "samples of $dtype" 4 'expected integers of 8 or 16, or floats of 16, 32 or 64 bits' "${fil[@]}" is-$dtype.h5
done
fails "compound samples" 4 'values of another kind' "${fil[@]}" compound.h5
fails "one dimension" 4 "1 dimensions, expected" "${fil[@]}" line.h5
fails "no spectra" 4 'is empty' "${fil[@]}" empty.h5
fails "/data is a group" 4 '/data leads to no dataset' "${fil[@]}" group.h5
for key in fch1 foff tsamp; do
    fails "no $key" 4 "attribute $key of /data is missing" "${fil[@]}" no-$key.h5
    fails "$key is NaN" 4 "attribute $key of /data is no number" "${fil[@]}" nan-$key.h5
    fails "$key is text" 4 "attribute $key is \"1400 MHz\", expected a number" "${fil[@]}" text-$key.h5
done
fails "channels of no width" 4 'foff = 0' "${fil[@]}" still.h5
fails "time runs backwards" 4 'tsamp = -1' "${fil[@]}" backwards.h5
fails "a source that is a number" 4 'source_name is not text' "${fil[@]}" odd-words.h5
fails "channels with gaps" 4 'not evenly spaced' "${fil[@]}" uneven.h5
fails "a fifth of a channel beside its place" 4 'channel 3 is at 1401.6 MHz, not 1401.5' "${fil[@]}" offset.h5
runs "channels without" "${fil[@]}" even.h5
fails "nothing to scale" 4 'no finite number' "${fil[@]}" --bits 8 --scale range blank.h5
fails "more channels than a header counts" 4 'too large' "${fil[@]}" broad.h5
fails "too many polarisations" 4 'too large' "${fil[@]}" ifs.h5
fails "more samples than a number counts" 4 'too large' "${fil[@]}" endless.h5
fails "more than fits the disk" 3 'no space for long.fil' "${fil[@]}" long.h5
fails "an external file that is not there" 4 'external.h5: external file nowhere.raw: No such file' "${fil[@]}" external.h5
fails "one sample" 4 'no series for PRESTO' "${dat[@]}" --dm 2 one.h5
fails "three dimensions" 4 '3 dimensions' "${dat[@]}" --dm 2 cube.h5
fails "integers" 4 'no floats' "${dat[@]}" --dm 2 whole-numbers.h5
fails "no series" 4 '0 DMs of 10' "${dat[@]}" --dm 2 void.h5
fails "no DMs" 4 'dm cannot be opened' "${dat[@]}" --dm 2 dmless.h5
fails "other DMs" 4 '3 series, but 2 DMs' "${dat[@]}" --dm 2 dms.h5
fails "a DM twice" 4 'a DM twice' "${dat[@]}" --dms 0..9 twice.h5
runs "DMs that two decimals do not tell apart, though 1.115 * 100 rounds up" "${dat[@]}" --dm 1.11,1.115 near.h5
same "have three" "near_DM1.110.dat near_DM1.115.dat" "$(echo near_*.dat)"
rm -f near_*
fails "a DM that is NaN" 4 'DM 1 is no number' "${dat[@]}" --dm 2 nan-dm.h5
fails "tstart is text" 4 'tstart is not a number' "${dat[@]}" --dm 2 text-tstart.h5
fails "a negative number of channels" 4 'nchans = -5' "${dat[@]}" --dm 2 negative.h5
fails "no sampling time" 4 'how long a sample is' "${dat[@]}" --dm 2 timeless.h5
fails "more channels than a .inf counts" 2 'channels from 1e-06 to 10000 MHz, 1e-06 MHz wide, are more' "${dat[@]}" --dm 2 far-apart.h5
fails "a channel below 0" 4 'channel 1 lies at -1e\+09 Hz' "${dat[@]}" --dm 2 below-zero.h5
fails "no channels" 4 'frequency is empty|provenance/frequency' "${dat[@]}" --dm 2 no-band.h5
fails "a reference below 0" 4 'reference_hz is -5' "${dat[@]}" --dm 2 no-reference.h5
fails "a constant that is none" 4 'constant is nan' "${dat[@]}" --dm 2 no-constant.h5
runs "holes" "${dat[@]}" --dm 2 holes.h5
grep -q 'note: holes_DM2.00.dat: 1 of its 4 samples are NaN' output
ok $? "are noted"
same "nothing else was made" "even.fil holes_DM2.00.dat holes_DM2.00.inf" "$(echo ./*.fil ./*.dat ./*.inf | sed 's|\./||g')"

# --- what is there already
runs "the name is that of the product" "${fil[@]}" bank.h5
"${fil[@]}" -o kept.fil bank.h5 >/dev/null 2>&1
fails "an output that exists" 2 'bank.fil exists already: --force' "${fil[@]}" --pol 0 bank.h5
same "it is untouched" "" "$(cmp bank.fil kept.fil 2>&1)"
runs "--force" "${fil[@]}" --force --pol 0 bank.h5
same "it is another" 1 "$(cmp -s bank.fil kept.fil; echo $?)"
runs "series" "${dat[@]}" --dms 2..3 series.h5
rm series_DM2.00.inf series_DM2.00.dat series_DM3.00.dat
tac series_DM3.00.inf >other && mv other series_DM3.00.inf
fails "one of several outputs exists" 2 'series_DM3.00.inf exists already' "${dat[@]}" --dms 2..3 series.h5
same "then none is made" "series_DM3.00.inf" "$(ls series_*)"
runs "--force makes all" "${dat[@]}" --force --dms 2..3 series.h5
for mark in "" e; do
    echo "of another program" >left.fil.part
    [ -z "$mark" ] || unfinish left.fil.part "$mark"
    runs "--force and a part ${mark:+with a mark}" "${fil[@]}" --force -o left.fil bank.h5
    same "it says what is replaced" "$([ -z "$mark" ] && echo 'not left by a run of this program: --force replaces it' ||
        echo 'left by a run that did not end: it is written anew')" "$(sed -n 's/^warning: left.fil.part was //p' output)"
    rm left.fil
done
cp bank.h5 self.fil
fails "over itself" 2 'which it is made of' "${fil[@]}" --force self.fil
fails "a link to itself" 2 'which it is made of' bash -c "ln -s self.fil link; exec '$voltmill' export --format fil --force -o link self.fil"
same "it is untouched" "" "$(cmp bank.h5 self.fil 2>&1)"
fails "a folder that cannot be made" 2 'bank.h5 is not a folder' "${fil[@]}" -o bank.h5/x.fil bank.h5
fails "a folder" 2 'is a folder' "${fil[@]}" --force -o . bank.h5

# --- what a killed export leaves
head -c 300 kept.fil >again.fil.part
errs 2 'again.fil.part exists, but was not left by voltmill' "${fil[@]}" -o again.fil bank.h5
ok $bad "the begin of another file"
unfinish again.fil.part e
runs "what a killed one left" "${fil[@]}" -o again.fil bank.h5
same "is written anew" "" "$(cmp again.fil kept.fil 2>&1)"
grep -q 'warning: again.fil.part was left' output
ok $? "and it says so"
echo mine >mine.fil.part
errs 2 'mine.fil.part exists, but was not left by voltmill' "${fil[@]}" -o mine.fil bank.h5
ok $bad "a .part of somebody else's"
same "is untouched" mine "$(cat mine.fil.part)"
rm mine.fil.part
mv series_DM2.00.dat series_DM2.00.dat.part
mv series_DM2.00.inf series_DM2.00.inf.part
runs "a killed series" "${dat[@]}" --dm 2 series.h5
echo mine >series_DM1.00.dat.part
errs 2 'DM1.00.dat.part exists, but was not left by voltmill' "${dat[@]}" --dm 1 series.h5
ok $bad "a .dat.part of somebody else's"
same "leaves no .inf" "series_DM1.00.dat.part" "$(ls series_DM1.00*)"
rm series_DM1.00.dat.part

# --- a disk that is full, or a limit on files
fails "a limit on the size of files" 3 'no space for small.fil: it needs [0-9]* bytes: File too large' bash -c "ulimit -f 1; exec '$voltmill' export --format fil --bits 32 -o small.fil bank.h5"
shim=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}
if [ -e "$shim" ]; then
    preload=(env LD_PRELOAD="$shim")
    fails "no room" 3 'no space for full.fil' "${preload[@]}" SHIM_RESERVE=1:28 "${fil[@]}" -o full.fil bank.h5
    fails "a full disk" 3 'writing .*No space left' "${preload[@]}" SHIM_CREATE=2:28 "${fil[@]}" -o full.fil bank.h5
    fails "a bad disk" 4 'writing .*Input/output error' "${preload[@]}" SHIM_CREATE=1:5 "${dat[@]}" -o full --dm 1 series.h5
    fails "a bad disk at the end" 4 'cannot be synced' "${preload[@]}" SHIM_FSYNC=1:5 "${fil[@]}" -o full.fil bank.h5
    same "nothing is left" "" "$(ls full* 2>/dev/null)"
else
    skip "$shim is not built"
fi

# --- killed at each of its first writes: the same command goes on to the same bytes
if [ -e "$shim" ]; then
    "${dat[@]}" -o whole --dm 1 series.h5 >/dev/null 2>&1
    for call in SHIM_CREATE=1 SHIM_RESERVE=1 SHIM_CREATE=2 SHIM_FSYNC=1; do
        { "${preload[@]}" $call:kill "${fil[@]}" -o shot.fil bank.h5; } >output 2>&1
        [ $? = 137 ] && [ ! -e shot.fil ]
        ok $? "killed at $call"
        runs "killed at $call: the same command" "${fil[@]}" -o shot.fil bank.h5
        same "killed at $call: same bytes" "" "$(cmp kept.fil shot.fil 2>&1)"
        { "${preload[@]}" $call:kill "${dat[@]}" -o shot --dm 1 series.h5; } >output 2>&1
        [ $? = 137 ] && [ ! -e shot_DM1.00.dat ]
        ok $? "a series, killed at $call"
        runs "a series, killed at $call: the same command" "${dat[@]}" -o shot --dm 1 series.h5
        same "a series, killed at $call: same bytes" "" "$(cmp whole_DM1.00.dat shot_DM1.00.dat 2>&1)"
        same "a series, killed at $call: nothing else" "shot.fil shot_DM1.00.dat shot_DM1.00.inf" "$(echo shot*)"
        rm -f shot*
    done
fi

# --- memory
"$python" - "$voltmill" >memory 2>&1 <<'END'
import resource
import subprocess
import sys
import h5py
import numpy as np

with h5py.File("large.h5", "w") as file:
    dataset = file.create_dataset("data", (40000, 1, 1000), "f4", chunks=(500, 1, 1000))
    dataset.attrs.update({"fch1": 1400.0, "foff": 0.5, "tsamp": 1e-3})
    for row in range(0, 40000, 500):
        dataset[row:row + 500] = np.float32(row)
subprocess.run([sys.argv[1], "export", "--format", "fil", "--bits", "8", "--scale", "range", "large.h5"],
               check=True, stdout=subprocess.DEVNULL)
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
sys.exit(f"{most} MiB" if most > 150 else 0)
END
ok $? "160 MB go through less than 150 MiB of memory"
note <memory
rm -f large.*
plan
