#!/usr/bin/env bash
# The ordinary use: every way in which samples may be stored gives the same rows, selections give the
# rows that they should, missing samples disturb nothing else, frequencies are those of the sky.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

# --- what each command says of itself
"$voltmill" --version >version
same "--version" "voltmill $(cat "$here/VERSION")" "$(head -1 version)"
same "and the versions of all libraries" 9 "$(grep -oE '(HDF5|FFTW|CFITSIO|zlib|libdeflate|LZ4|Zstandard|liblzf|libyaml) [0-9]+[.][0-9]' version | wc -l)"
same "of MPI, and what it was built with" 2 "$(grep -cE '^MPI: .+|^built: compiler [0-9A-Z].*(OpenCL with|without OpenCL)' version)"
mentions() { # mentions COMMAND WORD...: its help ends with 0 and holds the words
    local command=$1 word missing=
    shift
    "$voltmill" $command --help >stdout 2>stderr || missing="exit status $?"
    for word; do grep -q -e "$word" stdout || missing="$missing $word"; done
    same "voltmill $command --help" "" "$missing$(cat stderr)"
}
mentions "" run plan info verify synth --version
mentions run --set --force --progress --dry-run --help docs/job-file.md
mentions plan --set --force --help
mentions info --help
mentions verify --set --all --chunks --seed --progress --help
mentions synth --set --force --progress --help docs/synth.md
for file in job-file.md synth.md; do runs "the help's docs/$file is there" test -s "$here/docs/$file"; done
same "-h of everything" 6 "$(for c in "" run plan info verify synth; do "$voltmill" $c -h | grep -c '^Usage: voltmill'; done | grep -c 1)"

# --- a process alone loads none of the files that take longest and serve many ranks or other devices
env -i PATH="$PATH" HOME="$HOME" OCL_ICD_VENDORS="${OCL_ICD_VENDORS:-}" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" \
    LD_DEBUG=files "$voltmill" run none.yaml 2>loads
grep -q 'calling init: .*/libc\.so' loads
ok $? "what is loaded is known"
same "a process alone: what it has no use for" "" "$(grep 'calling init' loads | grep -oE \
    'libclFFT|libstdc\+\+|mca_[a-z_]*')"

# --- nor does it begin MPI, whatever a batch script starts it in without srun, or in a shell of srun's
alone=(env -i PATH="$PATH" HOME="$HOME" OCL_ICD_VENDORS="${OCL_ICD_VENDORS:-}" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
fails "alone in a SLURM allocation" 4 'none\.yaml' \
    "${alone[@]}" SLURM_NODELIST=here SLURM_JOBID=5 "$voltmill" run none.yaml
fails "alone in a shell that srun has started" 4 'none\.yaml' "${alone[@]}" SLURM_NODELIST=here SLURM_JOBID=5 \
    SLURM_STEPID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 "$voltmill" run none.yaml
fails "with MPI all the same" 4 'none\.yaml' "${alone[@]}" VOLTMILL_MPI=1 "$voltmill" run none.yaml

PYTHONPATH="$here/tests/cli" warm "$here/tests/cli/use-archives.py" || exit 1
cat >job.yaml <<'END'
input:
  files: plain.h5
  layout:
    dataset: /x
    axes: time,pol,chan,reim
    sample_rate_hz: 1e6
    freq_hz: [1.0e9, 1.001e9, 1.002e9]
channelise:
  channels: 16
  taps: 4
products:
  - kind: spectra
    file: plain-out.h5
END
cat >native.yaml <<'END'
input: {files: native.h5}
channelise: {channels: 16, taps: 4}
products: [{kind: spectra, file: native-out.h5}]
END

alone+=(VOLTMILL_CACHE="$VOLTMILL_CACHE" SLURM_NODELIST=here SLURM_JOBID=5)
runs "a whole job, alone" "${alone[@]}" "$voltmill" run native.yaml --set products.0.file=lone.h5
runs "what it has made, verified alone" "${alone[@]}" "$voltmill" verify --all lone.h5

# Products are compared in one go at the end: lines NAME|PRODUCT|REFERENCE.
comparisons=()
like() { # like NAME REFERENCE JOB [SET...]: runs the job; its rows must be those of REFERENCE
    local name=$1 reference=$2 job=$3 sets=() product=${#comparisons[@]}-like.h5
    shift 3
    for set; do sets+=(--set "$set"); done
    if "$voltmill" run $job.yaml "${sets[@]}" --set products.0.file=$product >stdout 2>stderr; then
        comparisons+=("$name|$product|$reference")
    else
        ok 1 "$name"
        note <stderr
    fi
}

# --- run, plan, info, verify
runs "a described archive" "$voltmill" run job.yaml
runs "an archive in the native layout" "$voltmill" run native.yaml
comparisons+=("the native layout is as good as a description|native-out.h5|plain-out.h5")
runs "verify" "$voltmill" verify --all plain-out.h5
runs "verify, 3 ranks" mpirun -n 3 "$voltmill" verify native-out.h5
"$voltmill" plan job.yaml --force | grep -Ev ' needed, |^  time ' >plan
"$voltmill" run --dry-run job.yaml --force | grep -Ev ' needed, |^  time ' >dry
same "plan: chunks" 1 "$(grep -c '^  chunks ' plan)"
same "run --dry-run says what plan says" "" "$(diff plan dry)"
mpirun -n 3 "$voltmill" run --dry-run job.yaml --force | grep -Ev ' needed, |^  time ' >dry
same "run --dry-run says it once on 3 ranks" "" "$(diff plan dry)"
runs "plan of a new product writes nothing" "$voltmill" plan job.yaml --set products.0.file=new.h5
nothing_left new.h5
says() { # says NAME FILE PATTERN...: info FILE holds the patterns
    local name=$1 file=$2 pattern missing=
    shift 2
    "$voltmill" info $file >stdout 2>stderr || missing="exit status $?"
    for pattern; do grep -Eq -e "$pattern" stdout || missing="$missing $pattern"; done
    same "$name" "" "$missing$(cat stderr)"
}
says "info of an archive" native.h5 '^archive' 'native layout' '6: 2 polarisations \(X Y\), 3 coarse channels$' \
    '8 bit complex, 4,096 at 1 MHz' '2020-01-01T00:01:40' 'Test'
says "info of a product" native-out.h5 '^product' 'spectra' '253, one every 16 us' 'channels +48' \
    '16 channels a coarse channel, 4 taps' 'native\.h5 \([0-9]+ bytes\)' 'channels: 16'
says "info of another HDF5 file" plain.h5 'neither an archive' '/x: 4096 x 2 x 3 x 2 of 8 bits, integer' 'input\.layout'
says "info of real samples with gaps" gaps.h5 'gaps +2, ' 'real'
runs "--set overrides, also lists" "$voltmill" run job.yaml --set channelise.channels=32 --set channelise.taps=2 \
    --set 'input.select.samples=[0, 640]' --set products.0.file=set.h5
same "--set did override" "(19, 2, 96)" "$(warm -c 'import h5py; print(h5py.File("set.h5")["spectra"].shape)')"
before=$(stat -c %i set.h5)
runs "--force replaces a product" "$voltmill" run job.yaml --force --set products.0.file=set.h5
runs "--force wrote another file" test "$before" != "$(stat -c %i set.h5)"
"$voltmill" run job.yaml --force --progress 0.000001 --set run.chunk=8 --set products.0.file=set.h5 >stdout 2>stderr
runs "--progress prints lines" grep -Eq '^[0-9]+/32 chunks \([0-9.]+ %\), in [0-9]+ MB/s, out [0-9]+ MB/s, [0-9]+ s left$' stderr
"$voltmill" run job.yaml --force --set products.0.file=set.h5 >stdout 2>stderr
same "without --progress and a terminal nothing is drawn" "" "$(cat stderr)"
runs "two products of one run" "$voltmill" run job.yaml --set products.0.file=pair-s.h5 \
    --set 'products.1={kind: power, file: pair-p.h5, integrate: 5}'
comparisons+=("one of two products|pair-s.h5|plain-out.h5")
warm -c 'import h5py; print(h5py.File("plain-out.h5")["provenance"].attrs["job"].decode())' >again.yaml
like "the job in the product makes it again" plain-out.h5 again

# --- storage: the same samples, stored otherwise
sampled 5 chunked filtered odd-chunks int16 int16-big float32 float32-big resizable external two-external whole-external
for file in "${sample[@]}"; do
    like "stored $file" plain-out.h5 job input.files=$file.h5
done
like "an external file for each polarisation" plain-out.h5 job input.files=pol-external.h5 input.layout.axes=pol,time,chan,reim
mpirun -n 3 "$voltmill" run job.yaml --set input.files=filtered.h5 --set run.chunk=7 --set products.0.file=three-ranks.h5 >stdout 2>&1
ok $? "3 ranks read a filtered file"
comparisons+=("3 ranks read a filtered file: the same rows|three-ranks.h5|plain-out.h5")
sampled 4 pairs pairs-odd-names pairs-int16 pairs-big pairs-float32 pairs-padded pairs-filtered pairs-reversed
for file in "${sample[@]}"; do
    like "stored $file" plain-out.h5 job input.files=$file.h5 input.layout.axes=time,pol,chan
done
like "chunks of spectra that straddle chunks of the file" plain-out.h5 job input.files=odd-chunks.h5 run.chunk=3
like "one spectrum at a time" plain-out.h5 job run.chunk=1
like "one thread" plain-out.h5 job run.threads=1
# shellcheck disable=SC2046  # words
sampled 8 $(cat orders)
for axes in "${sample[@]}"; do
    like "axes $axes" plain-out.h5 job input.files=order-$axes.h5 input.layout.axes=$axes
    case $axes in *chan) continue ;; esac
    like "axes $axes, chunked" plain-out.h5 job input.files=order-$axes.h5 input.layout.axes=$axes \
        input.layout.dataset=/chunked run.chunk=29
done
like "joined pol*chan" plain-out.h5 job input.files=joined.h5 input.layout.axes='time,pol*chan:3,reim'
like "joined all" plain-out.h5 job input.files=joined-all.h5 input.layout.axes='"time, pol:2*chan*reim:2"'
like "joined chan*pol, time innermost" plain-out.h5 job input.files=joined-back.h5 input.layout.axes='chan*pol:2,reim,time'
like "joined chan*pol, chunked" plain-out.h5 job input.files=joined-back.h5 input.layout.axes='chan*pol:2,reim,time' \
    input.layout.dataset=/chunked
runs "4 bits, unpacked" "$voltmill" run job.yaml --set input.files=unpacked.h5 --set products.0.file=unpacked-out.h5
for packing in "offset hi=re" "offset lo=re" "two's complement hi=re" "two's complement lo=re"; do
    file=${packing// /-}
    like "packed 4+4 $packing" unpacked-out.h5 job input.files="${file/\'/}.h5" input.layout.axes=time,pol,chan \
        input.layout.packing="4+4 $packing"
done
like "packed, chunked" unpacked-out.h5 job input.files=packed-chunked.h5 input.layout.axes=time,pol,chan \
    input.layout.packing="4+4 offset hi=re"
real() { echo "input.layout={dataset: /x, axes: '$1', sample_rate_hz: 1e6}"; }
runs "real samples" "$voltmill" run job.yaml --set input.files=real.h5 --set "$(real time,beam)" --set products.0.file=real-out.h5
for file in real-int16 real-big real-float32 real-filtered; do
    like "stored $file" real-out.h5 job input.files=$file.h5 "$(real time,beam)"
done
like "real, time innermost" real-out.h5 job input.files=real-turned.h5 "$(real beam,time)"
fails "a dataset that was never written" 4 'unwritten\.h5: /x was never written' "$voltmill" run job.yaml \
    --set input.files=unwritten.h5 --set products.0.file=unwritten-out.h5
runs "zeros" "$voltmill" run job.yaml --set input.files=zeros.h5 --set products.0.file=zeros-out.h5

# --- several files
like "a list of files along time" plain-out.h5 job 'input.files=[part-1.h5, part-2.h5, part-3.h5, part-4.h5]'
like "a glob of files along time" plain-out.h5 job 'input.files=part-?.h5'
like "files along time, small chunks" plain-out.h5 job 'input.files=part-?.h5' run.chunk=2
like "native files along time, in any order" plain-out.h5 native 'input.files=[native-3.h5, native-1.h5, native-2.h5]'
like "files along pol" plain-out.h5 job 'input.files=pol-?.h5' input.layout.axes=time,chan,reim input.layout.files_along=pol
like "files along pol, each with an axis pol" plain-out.h5 job 'input.files=pols-?.h5' input.layout.files_along=pol
like "files along chan" plain-out.h5 job 'input.files=chan-?.h5' input.layout.axes=time,pol,reim input.layout.files_along=chan
like "files along chan, unequal order of axes" plain-out.h5 job 'input.files=chan-turned-?.h5' \
    input.layout.axes=reim,pol,time input.layout.files_along=chan
(cd far && "$voltmill" run ../job.yaml --set input.files=../plain.h5 --set products.0.file=../from-far.h5 >../stdout 2>&1)
ok $? "paths are relative to the current folder"
comparisons+=("paths relative to the current folder|from-far.h5|plain-out.h5")

# --- selections: the same as an archive that holds nothing else
runs "samples 100 .. 2100" "$voltmill" run native.yaml --set input.files=cut.h5 --set products.0.file=cut-out.h5
like "select samples" cut-out.h5 native 'input.select.samples=[100, 2100]'
like "select seconds" cut-out.h5 native 'input.select.seconds=[100e-6, 2100e-6]'
like "select seconds between samples" cut-out.h5 native 'input.select.seconds=[99.5e-6, 2099.5e-6]'
like "select utc" cut-out.h5 native 'input.select.utc=[2020-01-01T00:01:40.0001, 2020-01-01T00:01:40.0021]'
like "select samples, chunked" cut-out.h5 job input.files=odd-chunks.h5 'input.select.samples=[100, 2100]'
like "select samples across files" cut-out.h5 job 'input.files=part-?.h5' 'input.select.samples=[100, 2100]'
like "select all seconds there are, and more" plain-out.h5 native 'input.select.seconds=[0, 1e12]'
like "select all of utc" plain-out.h5 native 'input.select.utc=[1999-01-01, 2099-01-01]'
runs "one stream" "$voltmill" run native.yaml --set input.files=stream.h5 --set products.0.file=stream-out.h5
like "select one stream" stream-out.h5 native input.select.pols=Y input.select.chans=2
like "select one stream by numbers, reim outermost" stream-out.h5 job input.files=order-reim,pol,chan,time.h5 \
    input.layout.axes=reim,pol,chan,time input.select.pols=1 input.select.chans=2
like "select one stream of many, inside" stream-out.h5 job input.files=order-time,reim,pol,chan.h5 \
    input.layout.axes=time,reim,pol,chan input.select.pols=1 input.select.chans=2
like "select one stream, chunked" stream-out.h5 job input.files=filtered.h5 input.select.pols=1 input.select.chans=2 run.chunk=5
like "select streams and time" stream-cut-out.h5 native input.select.pols=Y input.select.chans=2 \
    'input.select.samples=[100, 2100]'
runs "one stream, cut" "$voltmill" run native.yaml --set input.files=stream-cut.h5 --set products.0.file=stream-cut-out.h5
runs "streams in the order asked for" "$voltmill" run native.yaml --set 'input.select.pols=[Y, X]' \
    --set 'input.select.chans=[2, 0]' --set products.0.file=turned-out.h5
runs "a few of many streams" "$voltmill" run native.yaml --set input.files=many.h5 --set 'input.select.chans=[7, 8, 40]' \
    --set products.0.file=many-out.h5
like "a few of many streams, chunked" many-out.h5 native input.files=many-chunked.h5 'input.select.chans=[40, 7, 8]'
runs "three streams" "$voltmill" run native.yaml --set input.files=three.h5 --set products.0.file=three-out.h5
comparisons+=("a few of many streams|many-out.h5|three-out.h5")

# --- volts of what is stored
like "format_version 2" plain-out.h5 native input.files=version-2.h5
runs "a quarter of all volts" "$voltmill" run native.yaml --set input.files=quarter.h5 --set products.0.file=quarter-out.h5
like "a scale of a quarter" quarter-out.h5 native input.files=scaled.h5
like "a scale of a quarter, of a job" quarter-out.h5 job input.layout.scale=0.25
"$voltmill" info scaled.h5 >stdout
runs "info says it" grep -q "^  scale  *0.25 V for each 1 that is stored" stdout
same "coefficients are without it" "0.25 True" "$(warm -c '
import h5py, numpy as np
a, b = h5py.File("quarter-out.h5"), h5py.File(next(iter(__import__("sys").argv[1:])))
print(b["provenance"].attrs["scale"], np.array_equal(a["coefficients"], b["coefficients"]))' $((${#comparisons[@]} - 1))-like.h5)"
runs "it can be verified" "$voltmill" verify $((${#comparisons[@]} - 1))-like.h5
fails "files of two scales" 4 'do not belong to one observation: their scales differ' \
    "$voltmill" run native.yaml --set 'input.files=[native.h5, scaled.h5]' --set products.0.file=no.h5

# --- missing samples
holes() { # holes NAME CLEAN JOB FILE MISSING GAPS [SET...]
    local name=$1 clean=$2 job=$3 file=$4 missing=$5 gaps=$6 sets=()
    shift 6
    for set; do sets+=("$set"); done
    like "$name: rows as if they were zero" $clean $job input.files=$file.h5 "${sets[@]}"
    local product=$((${#comparisons[@]} - 1))-like.h5
    same "$name: counted" "$missing $gaps" "$(warm -c '
import h5py, sys
words = h5py.File(sys.argv[1])["provenance"]
print(words["missing_samples"][()], words.attrs["gap_samples"])' $product)"
    [ "$missing" = 0 ] || runs "$name: said" grep -q "^note: $missing samples were missing" stdout
    [ "$gaps" = 0 ] || runs "$name: said" grep -q "^note: $gaps samples lie in gaps" stdout
}
for file in holes-clean holes-zeros holes-minus holes-packed-zeros holes-real-zeros; do
    runs "$file" "$voltmill" run native.yaml --set input.files=$file.h5 --set products.0.file=$file-out.h5
done
holes "NaN and infinite" holes-zeros-out.h5 native holes-nan 9 0
holes "NaN and infinite, small chunks" holes-zeros-out.h5 native holes-nan 9 0 run.chunk=3
holes "NaN, real" holes-real-zeros-out.h5 native holes-real-nan 4 0
holes "missing_value" holes-minus-out.h5 native holes-value 9 0
holes "missing_value of a job" holes-minus-out.h5 job holes-value 9 0 input.layout.dataset=/voltages \
    input.layout.missing_value=-128
holes "missing_value, packed" holes-packed-zeros-out.h5 native holes-packed 3 0
holes "gaps" gaps-zeros-out.h5 native gaps 0 60
runs "gaps, zeros" "$voltmill" run native.yaml --set input.files=gaps-zeros.h5 --set products.0.file=gaps-zeros-out.h5
holes "gaps, half of them selected" gaps-half-out.h5 native gaps 0 24 'input.select.samples=[0, 2008]'
runs "gaps, half" "$voltmill" run native.yaml --set input.files=gaps-zeros.h5 --set products.0.file=gaps-half-out.h5 \
    --set 'input.select.samples=[0, 2008]'
mpirun -n 3 "$voltmill" run native.yaml --set input.files=holes-nan.h5 --set run.chunk=5 \
    --set products.0.file=holes-3.h5 >stdout 2>&1
ok $? "3 ranks run over missing samples"
same "3 ranks count each once" 1 "$(grep -c '^note: 9 samples were missing' stdout)"
comparisons+=("3 ranks: the same rows|holes-3.h5|holes-zeros-out.h5")

# --- frequencies: tones at 0.2 of the rate below and above the centre
for order in ascending fft; do
    for file in tone-up tone-down tone-real-up tone-real-down; do
        runs "$file, order $order" "$voltmill" run native.yaml --set input.files=$file.h5 \
            --set channelise.channels=64 --set channelise.order=$order --set products.0.file=$file-$order.h5
    done
done
runs "order fft" "$voltmill" run native.yaml --set channelise.order=fft --set products.0.file=fft-out.h5
runs "oversampled" "$voltmill" run native.yaml --set input.files=oversampled.h5 --set channelise.channels=64 \
    --set products.0.file=oversampled-out.h5
fails "oversampled, channels that do not divide" 2 'channels is 16, of which 27/32' \
    "$voltmill" run native.yaml --set input.files=oversampled.h5 --set products.0.file=over.h5
fails "oversampled, order fft" 2 'order must be ascending for oversampled' \
    "$voltmill" run native.yaml --set input.files=oversampled.h5 --set channelise.channels=64 --set channelise.order=fft --set products.0.file=over.h5

# --- what came out
printf '%s\n' "${comparisons[@]}" >comparisons
while IFS='|' read -r status name text; do
    ok "$status" "$name"
    [ "$status" = 0 ] || echo "# $text"
done < <(warm "$here/tests/cli/use-check.py" 2>stderr || echo "1|use-check.py ended early|")
note <stderr
# One is no plural: of one stream, tap, thread, rank, dump, sample and spectrum that are left over.
echo '{file: one.h5, samples: 201, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e9, noise: 9}' >one-obs.yaml
cat >one.yaml <<'END'
input: {files: one.h5}
channelise: {channels: 20, taps: 1, backend: cpu}
products: [{kind: power, file: one-p.h5, integrate: 9}]
run: {threads: 1}
END
"$voltmill" synth one-obs.yaml >output 2>&1
{
    "$voltmill" plan one.yaml
    "$voltmill" run one.yaml
    "$voltmill" info one-p.h5
    "$voltmill" status one-p.h5
    "$voltmill" plan one.yaml --force --set products.0.integrate=11
} >said 2>&1
same "one is no plural" "" "$(grep -E '(^|[^0-9.,])1 (raw )?(streams|ranks|chunks|files|spectra|DMs|channels|rows|samples|taps|threads|times)\b' said)"
same "but is said" 5 "$(grep -Ec '(1 stream |1 rank:|1 sample of each|1 spectrum of|1 row x)' said)"

plan
