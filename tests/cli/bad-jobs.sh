#!/usr/bin/env bash
# Jobs, outputs and command lines that are wrong: each gets one message with place, value and expected
# value, its stated exit status, and leaves nothing behind.
. "$(dirname "$0")/../tools/lib.sh"
no_devices
. "$here/tests/cli/jobs.bash"

PYTHONPATH="$here/tests/cli" warm - <<'END' || exit 1
from archives import *
text = h5py.string_dtype()
native("a.h5", noise((4096, 2, 2)), scales={"pol": np.array(["X", "Y"], dtype=text)})
native("no-start.h5", noise((4096, 2, 2)), root={"start_mjd_day": None, "start_second": None})
native("two.h5", noise((4096, 2, 2)), axes="time,chan,reim")
# No sample is there, or could be.
with h5py.File("endless.h5", "w") as f:
    f.attrs.update({"format": np.bytes_("voltage"), "format_version": 1})
    f["freq_hz"] = [320e6]
    data = f.create_dataset("voltages", (1 << 57, 1, 1), "i1")
    data.attrs.update({"axes": np.bytes_("time,pol,chan"), "domain": np.bytes_("real"), "sideband": 1,
                       "sample_rate_hz": 16e6})
native("many-stations.h5", noise((4096, 2, 2, 2)), axes="time,station,pol,reim",
       scales={"station": np.array(["S0", "S1"], dtype=text), "pol": np.array(["X", "Y"], dtype=text)})
for kind in "dedispersed", "candidates", "visibilities":
    with h5py.File(kind + ".h5", "w") as f:
        f.attrs["format"] = np.bytes_(kind)
        f[kind] = np.zeros(3)
np.savetxt("window.txt", np.ones(64))
np.savetxt("short.txt", np.ones(63))
np.savetxt("long.txt", np.ones(65))
np.savetxt("zeros.txt", np.zeros(64))
open("garbage.txt", "w").write("1 2 3\n4 five 6\n")
open("nan.txt", "w").write("nan\n" * 64)
open("binary.txt", "wb").write(bytes(range(256)) * 4)
open("binary.yaml", "wb").write(bytes(range(256)) * 4)
open("empty.yaml", "w")
open("comment.yaml", "w").write("# nothing yet\n")
END
cat >job.yaml <<'END'
input:
  files: a.h5
channelise:
  channels: 16
  taps: 4
products:
  - kind: spectra
    file: out.h5
END
mkdir folder folder.yaml

# bad NAME STATUS PATTERN SET...: the job must fail so. `plan` reads it as `run` does, in a third of the
# time; further below `run` shows that it ends likewise.
bad() {
    local name=$1 status=$2 pattern=$3 sets=()
    shift 3
    for set; do sets+=(--set "$set"); done
    fails "$name" "$status" "$pattern" "$voltmill" plan job.yaml "${sets[@]}"
    nothing_left
}

# --- numbers
for value in 0 1 7 -4 2.5 1e12 99999999999999999999999 many; do
    bad "channels $value" 2 "channelise\.channels: is $value, expected an even whole number from 2 to 1073741824" \
        channelise.channels=$value
done
for key in channelise.channels products.0.file products.0.kind input.files input.layout.telescope input.layout.start input.layout.freq_hz; do
    bad "$key is a placeholder" 2 "$key(\\.0)?: is \"\\?\\?\\?\": replace \\?\\?\\? by " "$key=???"
done
bad "an axis is a placeholder" 2 'input\.layout\.axes: is "time,\?\?\?": replace \?\?\? by the dataset.s axes' 'input.layout={dataset: /x, axes: "time,???"}'
bad "channels beyond the samples" 2 'job\.yaml: 4096 samples hold 0 raw spectra of 1073741824 samples' \
    channelise.channels=1073741824
for value in 0 -1 1.5 16777217 1e30; do
    bad "taps $value" 2 "channelise\.taps: is $value, expected a whole number from 1 to 16777216" channelise.taps=$value
done
bad "more taps than raw spectra" 2 '4096 samples hold 256 raw spectra of 16 samples, but 257 taps need at least 257' \
    channelise.taps=257
bad "channels times taps" 2 '1073741824 channels times 16777216 taps .* expected at most 17179869184' \
    'channelise={channels: 1073741824, taps: 16777216}'
for value in -1 65 nan inf wide; do
    bad "cutoff $value" 2 "channelise\.cutoff: is $value, expected flat or a number from 0 to 64" channelise.cutoff=$value
done
bad "a flat cutoff of a file" 2 'channelise\.cutoff: is flat, but window is a file' \
    'channelise={channels: 16, cutoff: flat, window: "file:w.txt"}'
bad "a flat cutoff of 1 tap" 2 'channelise\.cutoff: is flat, but taps is 1' \
    'channelise={channels: 16, cutoff: flat, taps: 1}'
bad "a flat cutoff beyond the window's" 2 'cutoff flat: the window alone, with cutoff 0, lets 0\.9.* expected more taps than 2' \
    'channelise={channels: 16, cutoff: flat, taps: 2, window: "kaiser:100"}'
bad "integrate 0" 2 'products\.0\.integrate: is 0, expected a whole number from 1' products.0.integrate=0
bad "integrate of spectra" 2 'products\.0\.integrate: is 2, but only products of kind power' products.0.integrate=2
bad "integrate longer than the observation" 2 'job\.yaml: products\.0\.integrate is 254, but there are only 253 spectra' \
    'products=[{kind: power, file: out.h5, integrate: 254}]'
bad "integrate without a common multiple" 2 'no sensible common multiple' \
    'products=[{kind: power, file: out.h5, integrate: 251}, {kind: power, file: o2.h5, integrate: 241},
    {kind: power, file: o3.h5, integrate: 239}, {kind: power, file: o4.h5, integrate: 233},
    {kind: power, file: o5.h5, integrate: 229}, {kind: power, file: o6.h5, integrate: 227},
    {kind: power, file: o7.h5, integrate: 223}, {kind: power, file: o8.h5, integrate: 211},
    {kind: power, file: o9.h5, integrate: 199}]'
bad "threads 0" 2 'run\.threads: is 0, expected auto or a whole number from 1 to 4096' run.threads=0
bad "more chunks than can be counted" 2 'job\.yaml: run\.chunk is 1, which makes .* expected at most' \
    input.files=endless.h5 run.on_bad=nan run.chunk=1
bad "chunk 0" 2 'run\.chunk: is 0, expected auto or a whole number' run.chunk=0
for value in 63MiB lots -1 0 1XiB; do
    bad "memory $value" 2 "run\.memory: is $value, expected auto or an amount of memory of at least 64MiB" run.memory=$value
done
warm -c "
import h5py, numpy
with h5py.File('many.h5', 'w') as file:
    file['x'] = numpy.zeros((2**22, 2), dtype='i1')"
bad "memory too small" 2 'run\.memory is 64\.00 MiB, but 524288 channels with 4 taps need at least [0-9.]+ MiB a rank$' \
    channelise.channels=524288 input.files=many.h5 run.memory=64MiB \
    'input.layout={dataset: /x, axes: "time,reim", sample_rate_hz: 1e6}'

# --- windows
for value in boxcar kaiser kaiser:-1 kaiser:abc kaiser:101 kaiser:nan file; do
    bad "window $value" 2 "channelise\.window: is .*$value.*, expected one of hann, .*kaiser:BETA .*file:PATH" \
        channelise.window=$value
done
bad "window file missing" 4 'cannot read .*nowhere\.txt: No such file' channelise.window=file:nowhere.txt
bad "window file a folder" 4 'expected a file, it is a folder' channelise.window=file:folder
bad "window file short" 4 'short\.txt, line 63: 63 filter coefficients found .* 64 expected \(4 taps times 16' \
    channelise.window=file:short.txt
bad "window file long" 4 'long\.txt, line 65: 65 filter coefficients found .* 64 expected' channelise.window=file:long.txt
bad "window file garbage" 4 "garbage\.txt, line 2: 'five' is no number \(filter coefficient 5, 64 expected" \
    channelise.window=file:garbage.txt
bad "window file NaN" 4 "nan\.txt, line 1: 'nan' is no number" channelise.window=file:nan.txt
bad "window file binary" 4 "binary\.txt, line 1: .* is no number" channelise.window=file:binary.txt
bad "window file zeros" 2 'cannot be normalised to energy' channelise.window=file:zeros.txt

# --- filters: those with a file, which are looked at before all else
for file in nowhere.txt:"No such file" folder:"is not an ordinary file" comment.yaml:"contains no coefficients" \
    empty.yaml:"contains no coefficients" garbage.txt:"line 1: '3' is too much, expected one coefficient a line" \
    nan.txt:"line 1: 'nan' is no number" binary.txt:"line [0-9]+: a NUL byte" zeros.txt:"all coefficients are 0" \
    a.h5:"contains no dataset /coefficients, nor only one; it contains .*/voltages"; do
    bad "coefficients in ${file%%:*}" 4 "${file%%:*}[:,]? ${file#*:}" "filter={coefficients: ${file%%:*}}"
done
design() { # design NAME PATTERN DESIGN MORE: of complex samples, 1 MHz of them a second, around 1 GHz
    bad "$1" 2 "job\.yaml: filter\.0[.:]$2" "filter={design: {$3}${4-}}"
}
design "an edge out of the band" 'design\.edges: 1000600000 Hz is outside of the band, 999500000 to 1000500000 Hz' \
    'kind: lowpass, edges: [1e9, 1.0006e9]'
design "an edge out of the band, from its centre" 'design\.edges: -600000 Hz is outside of the band, -500000 to 500000 Hz from' \
    'kind: bandpass, edges: [-6e5, 0, 1, 2], offset: true'
design "a low-pass below the centre" 'design\.edges: 999900000 Hz is below the centre of the coarse channel' \
    'kind: lowpass, edges: [999.9e6, 1e9]'
design "a design of too many coefficients" 'design: 60 dB within a transition of 0\.1 Hz .* need 36[0-9]{6} coefficients, expected at most 16777216' \
    'kind: highpass, edges: [1e5, 100000.1], offset: true'
design "decimation that aliases" 'decimate: is 4, which aliases the pass band: it must lie within 125 kHz of the centre, ' \
    'kind: lowpass, edges: [1e5, 2e5], offset: true' ', decimate: 4'
bad "decimation of given coefficients that alias" 2 \
    'filter\.0\.decimate: is 2, but the coefficients of window\.txt .* only [0-9.]* dB weaker .*, expected 40 dB; aliasing: allow' \
    'filter={coefficients: window.txt, decimate: 2}'
fails "on the sky, with two coarse channels" 2 'filter\.0\.design\.edges: frequencies on the sky, but there are 2 coarse channels' \
    "$voltmill" plan job.yaml --set input.files=two.h5 --set 'filter={design: {kind: lowpass, edges: [1e9, 1.0001e9]}}'
design "more coefficients than samples" ' its coefficients need 36[0-9]{3} samples, but there are only 4096' \
    'kind: highpass, edges: [1e5, 100100], offset: true'
bad "a decimation that keeps nothing" 2 'filter\.0\.decimate: is 9999999, which keeps none of 4096 samples' \
    'filter={coefficients: window.txt, decimate: 9999999, aliasing: allow}'
bad "a chirp that is longer than the observation" 2 'filter\.0: its chirp spans [0-9]{4} samples, but there are only 4096' \
    'filter={dispersion: {dm: 1000}}'
bad "a chirp that is longer than any filter, too" 2 'filter\.0: its chirp spans [0-9]{7} samples, but there are only 4096' \
    'filter={dispersion: {dm: 1e6}}'
for value in 0 '1 kHz' '501 kHz'; do
    bad "edges of a chirp, $value" 2 'filter\.0\.dispersion\.edges: is [0-9]+ Hz, expected at least 1[0-9.]+ Hz \(a filter of 4096 samples\) and at most 500000 Hz \(half of a coarse channel\)' \
        "filter={dispersion: {dm: 1, edges: $value}}"
done
bad "edges that a padded chirp cannot have" 2 'edges: is 0\.001 Hz, expected at least 0\.0983[0-9]* Hz \(a filter of 67108864 samples\)' \
    'filter={dispersion: {dm: 1, edges: 0.001}, edges: pad}'
bad "edges below 0" 2 'filter\.dispersion\.edges: is -1, expected a number from 0' 'filter={dispersion: {dm: 1, edges: -1}}'
printf '%s\n' 'input: {files: a.h5}' 'products: [{kind: voltages, file: out.h5}]' >volts.yaml
least=$("$voltmill" plan volts.yaml --set 'filter={dispersion: {dm: 1, edges: 0}}' 2>&1 | sed -n 's/.* at least \([0-9.]*\) Hz .*/\1/p')
runs "the least that is stated is accepted" "$voltmill" plan volts.yaml --set "filter={dispersion: {dm: 1, edges: $least}}"
bad "a filter without a source" 2 'filter: has none of coefficients, design, dispersion, deripple, expected exactly one' 'filter={decimate: 2}'
bad "a filter of two sources" 2 'filter\.0: has more than one of coefficients, design, dispersion' \
    'filter=[{coefficients: window.txt, dispersion: {dm: 1}}]'
bad "edges that do not ascend" 2 'filter\.design\.edges\.2: is 1, expected more than the 2 before it' \
    'filter.design={kind: bandpass, edges: [0, 2, 1, 3]}'
bad "a filter of another backend" 2 'filter\.backend: is opencl, but channelise\.backend is cpu: filters and filter banks have one' \
    channelise.backend=cpu 'filter={coefficients: window.txt, backend: opencl}'
bad "a misspelt key of a filter" 2 'filter\.decimat: unknown key, did you mean decimate' 'filter={coefficients: window.txt, decimat: 2}'

# --- words
bad "unknown kind" 2 'products\.0\.kind: is sound, expected one of spectra, power, voltages' products.0.kind=sound
bad "unknown order" 2 'channelise\.order: is random, expected one of ascending, fft' channelise.order=random
bad "unknown backend" 2 'channelise\.backend: is abacus, expected' channelise.backend=abacus
bad "power in order fft" 2 'products\.0\.kind: is power, but channelise\.order is fft' \
    channelise.order=fft products.0.kind=power
bad "no products" 2 'products: has 0 entries, expected at least 1' 'products=[]'
bad "no files" 2 'input\.files: has 0 entries' 'input.files=[]'
bad "an empty file name" 2 'input\.files: is empty, expected the path' input.files=
bad "unknown key, near" 2 'channelise\.chanels: unknown key, did you mean channels\?' channelise.chanels=4
bad "unknown key, far" 2 'input\.nonsense: unknown key, expected one of files, layout, select' input.nonsense=4
bad "a mapping for a number" 2 'channelise\.taps: is a mapping, expected a whole number' 'channelise.taps={a: 1}'

# --- --set
for value in nonsense =3 a..b=3 .=3 ''; do
    bad "--set '$value'" 2 '--set .*expected key\.path=value, such as channelise\.taps=16' "$value"
done
bad "--set too deep" 2 'channelise\.taps is a single value: it contains no deep' channelise.taps.deep=3
bad "--set beyond the list" 2 'products is a list: expected a number from 0 to 1, not 7' products.7.kind=power
bad "--set no YAML" 2 '--set channelise\.taps=\[1: is no YAML' 'channelise.taps=[1'
bad "two --set" 2 '^  --set channelise\.taps=0: ' channelise.taps=0 channelise.channels=3

# --- selections
bad "samples beyond the end" 2 'samples 4000 \.\. 8000 of the observation a\.h5, which has 4096' 'input.select.samples=[4000, 8000]'
bad "samples, none" 2 'input\.select\.samples: ends at 5, expected more than 5' 'input.select.samples=[5, 5]'
bad "samples backwards" 2 'input\.select\.samples: ends at 5, expected more than 10' 'input.select.samples=[10, 5]'
bad "samples, three" 2 'input\.select\.samples' 'input.select.samples=[0, 5, 10]'
bad "samples, too few for the filter" 2 '63 samples hold 3 raw spectra' 'input.select.samples=[0, 63]'
bad "seconds beyond the end" 2 '1 \.\. 2 s .* of a\.h5 are outside .* lasts 0\.004096 s' 'input.select.seconds=[1, 2]'
bad "seconds between two samples" 2 'no sample is in 1\.1e-06 \.\. 1\.9e-06 s: one is taken every 1e-06 s' \
    'input.select.seconds=[1.1e-6, 1.9e-6]'
bad "utc before the start" 2 'are outside of the observation' 'input.select.utc=[2019-01-01, 2019-01-02]'
bad "utc backwards" 2 'ends at 2019-01-01, expected later than 2020-01-01' 'input.select.utc=[2020-01-01, 2019-01-01]'
bad "utc without a start" 2 'input\.select\.utc: no-start\.h5 does not say when it starts' \
    input.files=no-start.h5 'input.select.utc=[2020-01-01, 2020-01-02]'
bad "utc no date" 2 'is yesterday, expected two UTC dates' 'input.select.utc=[yesterday, today]'
bad "samples and seconds" 2 'expected at most one of samples, seconds, utc' \
    'input.select={samples: [0, 4096], seconds: [0, 1]}'
bad "unknown polarisation" 2 'Z is none of the 2 pols of a\.h5 \(numbers 0 \.\. 1; names X, Y\)' input.select.pols=Z
bad "unknown station" 2 'CS001 is none of the 1 stations of a\.h5 \(numbers 0 \.\. 0\)' input.select.stations=CS001
bad "polarisation beyond the last" 2 '2 is none of the 2 pols' input.select.pols=2
bad "polarisation twice" 2 'names pol X twice' 'input.select.pols=[X, X]'
bad "polarisation twice, by name and number" 2 'names pol 0 twice' 'input.select.pols=[X, 0]'
bad "a range of no polarisations" 2 'input\.select: "" is none of the 2 pols' input.select.pols=..
bad "no polarisation" 2 'input\.select\.pols: has 0 entries' 'input.select.pols=[]'

for kind in dedispersed candidates visibilities; do
    bad "a product for an archive: $kind" 4 "^error: $kind\.h5 is a product of kind $kind, expected voltages" input.files=$kind.h5
done
fails "a picture of the levels of candidates" 4 'candidates\.h5 is a product of kind candidates' "$voltmill" look candidates.h5
bad "files of two observations" 4 'their axes differ, \[time\].*, pol X Y and station S0 S1, pol X Y$' \
    'input.files=[a.h5, many-stations.h5]'
bad "a wrong flag is one mistake" 2 '^error: --set .*: products\.0\.flag\.kurtosis: is -3' \
    'products=[{kind: power, file: out.h5, integrate: 16, flag: {kurtosis: -3, spectra: 16}}]'

# --- the file itself
for set in channelise.channels=7 channelise.taps=257 channelise.window=kaiser:-1 nonsense \
    'input.select.samples=[4000, 8000]' input.select.pols=Z products.0.file=folder products.0.file=comment.yaml/out.h5; do
    fails "run: --set $set" 2 '^error: ' "$voltmill" run job.yaml --set "$set"
    nothing_left
done
fails "missing job" 4 'nowhere\.yaml: No such file' "$voltmill" run nowhere.yaml
fails "a folder for a job" 4 'folder\.yaml' "$voltmill" run folder.yaml
fails "an empty job" 2 'empty\.yaml: is empty, expected keys and values' "$voltmill" run empty.yaml
fails "only a comment" 2 'comment\.yaml: is empty' "$voltmill" run comment.yaml
# A text with a NUL byte, wherever it stands: nothing behind it may be left out.
nul() { # nul NAME COMMAND... FILE: after the last of the file's two lines
    local name=$1
    shift
    printf '# \0\n%s\n' 'run: {threads: 1}' >>"${!#}"
    fails "a NUL byte in $name" 2 "${!#}:[0-9]*: contains a NUL byte, expected text in YAML" "$@"
}
for command in plan run "run --dry-run" "run --each a.h5" "bench run" tune; do
    cp job.yaml nul.yaml
    # shellcheck disable=SC2086
    nul "a job: $command" "$voltmill" $command nul.yaml
done
printf 'file: out.h5\nsamples: 1000\n' >synth.yaml
nul "a specification" "$voltmill" synth synth.yaml
printf 'copies:4:32x8:8x4:8:0:1\n\0\n' >sweep.txt
fails "a NUL byte in a list of shapes" 2 'sweep\.txt:2: contains a NUL byte' "$voltmill" bench dedisperse \
    --setup lofar --backend cpu --dms 2 --seconds 0.01 --sweep sweep.txt
fails "a job whose key has an end in it" 2 'a key contains a NUL character' \
    "$voltmill" plan job.yaml --set 'run={"threads\0": 1}'
nothing_left

fails "a binary job" 2 'binary\.yaml' "$voltmill" run binary.yaml
fails "an archive for a job" 2 'a\.h5 is an HDF5 file, expected a job file \(YAML\)' "$voltmill" run a.h5
fails "a large one" 2 'many\.h5 is an HDF5 file, expected a job file \(YAML\)' "$voltmill" plan many.h5
fails "an archive for a specification" 2 'a\.h5 is an HDF5 file, expected a specification' "$voltmill" synth a.h5
same "a binary job prints no binary" 0 "$(grep -c '[^[:print:][:space:]]' stderr)"
head -c 3000000 /dev/zero | tr '\0' '#' >large.yaml
fails "a job of 3 MB" 4 'large\.yaml is larger than 1048576 bytes, expected a job file \(YAML\)' "$voltmill" run large.yaml
written() { # written NAME PATTERN: the job on stdin fails with 2
    cat >bad.yaml
    fails "$1" 2 "$2" "$voltmill" plan bad.yaml
    nothing_left
}
written "no YAML" 'bad\.yaml:5: is no YAML: .*line 4' <<'END'
input:
  files: a.h5
channelise:
 - [channels: 16
products: 3
END
written "a tab" 'bad\.yaml:2: ' <<'END'
input:
	files: a.h5
END
written "a key twice" 'bad\.yaml:5: channelise\.taps: .*line 4' <<'END'
input: {files: a.h5}
channelise:
  channels: 16
  taps: 4
  taps: 8
products: [{kind: power, file: out.h5}]
END
written "a list for a job" 'bad\.yaml.*mapping' <<'END'
- input: a.h5
END
written "a text for a job" 'bad\.yaml.*mapping' <<'END'
a.h5
END
written "two documents" 'bad\.yaml' <<'END'
input: {files: a.h5}
channelise: {channels: 16}
products: [{kind: power, file: out.h5}]
---
input: {files: b.h5}
END
written "an alias" 'bad\.yaml:2: ' <<'END'
input: &i {files: a.h5}
channelise: *i
products: [{kind: power, file: out.h5}]
END
written "what is missing" 'bad\.yaml has 2 mistakes' <<'END'
input: {files: a.h5}
END
written "ten mistakes" '^error: bad\.yaml has 10 mistakes:$' <<'END'
input:
  files: []
  layout:
    dataset: /x
    axes: time,feed
    domain: imaginary
    sample_rate_hz: -1
channelise:
  channels: 7
  taps: none
  windoe: hann
products:
  - kind: sound
    file: out.h5
  - kind: power
    file: out.h5
    integrate: 0
END
same "ten mistakes: all are told, in order, with their lines" "2: input.files
5: input.layout.axes
6: input.layout.domain
7: input.layout.sample_rate_hz
9: channelise.channels
10: channelise.taps
11: channelise.windoe
13: products.0.kind
16: products.1.file
17: products.1.integrate" "$(sed -n 's/^  bad\.yaml:\([0-9]*: [^:]*\): .*/\1/p' stderr)"
fails "ten mistakes, 3 ranks" 2 '^error: bad\.yaml has 10 mistakes:$' mpirun -n 3 "$voltmill" run bad.yaml
same "ten mistakes, 3 ranks: told once" 10 "$(grep -c '^  bad\.yaml:' stderr)"

# --- outputs
echo precious >out.h5
fails "output exists" 2 'out\.h5 exists already: --force replaces it' "$voltmill" run job.yaml
same "output that exists is left alone" precious "$(cat out.h5)"
fails "output exists, plan" 2 'out\.h5 exists already' "$voltmill" plan job.yaml
fails "output exists, 3 ranks" 2 'out\.h5 exists already' mpirun -n 3 "$voltmill" run job.yaml
fails "--force, but the job fails later" 4 'nowhere' \
    "$voltmill" run job.yaml --force --set channelise.window=file:nowhere.txt
same "output is left alone if the job fails" precious "$(cat out.h5)"
runs "--force replaces" "$voltmill" run job.yaml --force
runs "--force wrote a product" "$voltmill" verify out.h5
rm -f out.h5
bad "output is a folder" 2 'folder is a folder' products.0.file=folder
bad "output in a file" 2 'a\.h5/out\.h5 cannot be made: ' products.0.file=a.h5/out.h5
bad "output without a name" 2 'products\.0\.file: is empty' products.0.file=
bad "two products in one file" 2 'products\.1\.file: is the same as products\.0\.file' \
    'products.1={kind: power, file: out.h5}'
fails "two products in one file by two names" 2 'out\.h5' \
    "$voltmill" run job.yaml --set "products.1={kind: power, file: $work/out.h5}"
nothing_left
sum=$(cksum <a.h5)
for name in a.h5 ./a.h5 "$work/a.h5" link.h5; do
    ln -sf a.h5 link.h5
    fails "output is the input: ${name##*/}" 2 'a\.h5' \
        "$voltmill" run job.yaml --force --set input.files='[a.h5]' --set products.0.file="$name"
done
same "the input is left alone" "$sum" "$(cksum <a.h5)"
if can_be_other; then
    mkdir -m 555 locked
    mkdir -m 777 open
    fails "output in a read-only folder" 2 'locked/out\.h5 cannot be made: folder locked: Permission denied' \
        "${as_other[@]}" "$voltmill" run job.yaml --set products.0.file=locked/out.h5
    touch open/out.h5.part
    chmod 600 open/out.h5.part
    if [ "$(id -u)" = 0 ]; then
        fails "a .part of somebody else" 2 'open/out\.h5\.part belongs to another user, root \(uid 0\): --adopt' \
            "${as_other[@]}" "$voltmill" run job.yaml --set products.0.file=open/out.h5
        fails "which may not be written" 2 'open/out\.h5\.part cannot be made: Permission denied' \
            "${as_other[@]}" "$voltmill" run --adopt job.yaml --set products.0.file=open/out.h5
    fi
    chmod 755 locked
else
    skip "read-only folders: no other user can run the program here"
fi
if mkdir tiny && mount -t tmpfs -o size=3m,mode=777 tmpfs tiny 2>/dev/null; then
    trap 'umount "$work/tiny"; clean' EXIT
    space='no space for tiny/out\.h5.*: it needs [0-9]+ bytes \([0-9.]+ MiB\), [0-9]+ \([0-9.]+ MiB\) are free'
    large=(--set input.files=many.h5 --set products.0.file=tiny/out.h5
        --set 'input.layout={dataset: /x, axes: "time,reim", sample_rate_hz: 1e6}')
    fails "no space" 3 "$space" "$voltmill" run job.yaml "${large[@]}"
    same "no space: nothing is left behind" "" "$(ls tiny)"
    fails "no space, 3 ranks" 3 "$space" mpirun -n 3 "$voltmill" run job.yaml "${large[@]}"
    same "no space, 3 ranks: nothing is left behind" "" "$(ls tiny)"
    fails "no space for the second product" 3 "$space" "$voltmill" run job.yaml "${large[@]}" \
        --set products.0.file=first.h5 --set 'products.1={kind: spectra, file: tiny/out.h5}'
    same "no space for the second product: nothing is left behind" "" "$(ls tiny; ls first.h5* 2>/dev/null)"
    fails "no space for the coefficients" 3 "$space" "$voltmill" run job.yaml "${large[@]}" \
        --set channelise.channels=65536 --set channelise.taps=60
    same "no space for the coefficients: nothing is left behind" "" "$(ls tiny)"
    fails "plan refuses it, too" 3 "$space" "$voltmill" plan job.yaml "${large[@]}"
    same "but says all there is to say before" tiny/ "$(sed -n '/^space/,$s/^  \([^ ]*\) .* needed, .*/\1/p' stdout | xargs)"
    # All of a file counts, to the byte, and all files of a job together.
    coefficients=(--set channelise.channels=4096 --set channelise.taps=100 --set 'products.0={kind: power, file: tiny/out.h5, integrate: 100}')
    "$voltmill" plan job.yaml "${large[@]}" "${coefficients[@]}" >stdout 2>stderr
    needed=$(cat stderr)
    fails "no space beside the rows" 3 "$space" "$voltmill" run job.yaml "${large[@]}" "${coefficients[@]}"
    same "plan and run count alike" "$needed" "$(cat stderr)"
    "$voltmill" plan job.yaml "${large[@]}" "${coefficients[@]}" --set products.0.file=whole.h5 >stdout 2>stderr
    "$voltmill" run job.yaml "${large[@]}" "${coefficients[@]}" --set products.0.file=whole.h5 >output 2>&1
    same "and as the file is" "$(sed -n 's/^  whole\.h5: .*, \([0-9.]* MiB\)$/\1/p' stdout)" \
        "$(warm -c 'import os; print("%.2f MiB" % (os.stat("whole.h5").st_size / (1 << 20)))')"
    both=(--set 'products.0={kind: power, file: tiny/out.h5, integrate: 8}' --set 'products.1={kind: power, file: tiny/other.h5, integrate: 8}')
    fails "no space for two products together" 3 "$space" "$voltmill" run job.yaml "${large[@]}" "${both[@]}"
    same "no space for two products together: nothing is left behind" "" "$(ls tiny)"
    large[3]='products.0={kind: power, file: first.h5}'
    large[5]='input.layout={dataset: /x, axes: "time,reim", sample_rate_hz: 1e6, freq_hz: 400e6}'
    large+=(--set 'dedisperse={dm: {start: 0, step: 0.1, count: 100}, file: tiny/series.h5}')
    fails "nor for series: plan" 3 "no space for tiny/series.h5" "$voltmill" plan job.yaml "${large[@]}"
    same "plan says what each folder needs" "./ tiny/" "$(sed -n '/^space/,$s/^  \([^ ]*\) .* needed, .*/\1/p' stdout | xargs)"
    dd if=/dev/zero of=tiny/filler bs=64k count=47 2>/dev/null
    cat >synth.yaml <<'END'
file: tiny/synth.h5
samples: 1e6
bits: 8
sample_rate_hz: 1e6
freq_hz: 1e9
END
    fails "no space for synth" 3 'no space for tiny/synth\.h5' "$voltmill" synth synth.yaml
    same "no space for synth: nothing is left behind" filler "$(ls tiny)"
else
    skip "no space: nothing can be mounted here"
fi

# --- command lines
usage() { # usage PATTERN ARGUMENT...
    local pattern=$1
    shift
    fails "usage: voltmill $*" 2 "$pattern" "$voltmill" "$@"
}
usage 'expected a command; see voltmill --help'
usage 'unknown command frob; see voltmill --help' frob
usage 'unknown command --frob' --frob
for command in run plan info verify synth; do
    usage "$command: expected one .*, got 0; see voltmill $command --help" $command
    [ "$command" = info ] || # takes the files of an observation
        usage "$command: expected one .*, got 2; see voltmill $command --help" $command job.yaml job.yaml
    usage "$command: unknown option --bogus; see voltmill $command --help" $command --bogus job.yaml
    usage "$command: unknown option -x" $command -xy job.yaml
    usage "$command: unknown option --force=1" $command job.yaml --force=1
done
usage 'info: unknown option --set' info --set a=b a.h5
usage 'verify: unknown option --force' verify --force a.h5
usage 'run: unknown option --chunks' run --chunks 3 job.yaml
usage 'run: option --set needs a value' run job.yaml --set
for command in run verify synth; do
    for value in 0 -1 often nan inf ''; do
        usage "$command --progress .*: expected seconds, more than 0" $command --progress "$value" job.yaml
    done
done
usage 'verify --chunks 0: expected a whole number from 1' verify --chunks 0 a.h5
usage 'verify --seed x: expected a whole number' verify --seed x a.h5
fails "verify an archive" 4 'a\.h5 .*product' "$voltmill" verify a.h5
fails "verify nothing" 4 'nowhere\.h5: No such file' "$voltmill" verify nowhere.h5
fails "info of nothing" 4 'nowhere\.h5: No such file' "$voltmill" info nowhere.h5
fails "info of a text" 4 'job\.yaml is not an HDF5 file' "$voltmill" info job.yaml
fails "synth of a job" 2 'job\.yaml' "$voltmill" synth job.yaml
for arguments in run 'run --bogus job.yaml' 'run a b' 'verify nowhere.h5' 'run job.yaml --progress 0' 'synth job.yaml' \
    'run job.yaml --dry-run --set channelise.taps=0' 'run job.yaml --set channelise.channels=3'; do
    expected=2
    [ "$arguments" != 'verify nowhere.h5' ] || expected=4
    fails "3 ranks: $arguments" $expected '^error: ' mpirun -n 3 "$voltmill" $arguments
done
nothing_left
plan
