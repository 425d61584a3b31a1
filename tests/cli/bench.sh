#!/usr/bin/env bash
# The description that bench prints: instruction set and number of threads of its figures, in its table and in its
# CSV.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

# column NAME FILE: of the first row; quoted columns hold commas
column() {
    "$python" -c 'import csv, sys; print(next(csv.DictReader(open(sys.argv[2])))[sys.argv[1]])' "$@"
}

has() { grep -m1 '^flags' /proc/cpuinfo | grep -qw "$1"; }
case $(uname -m) in
x86_64)
    base=sse2 avx2=sse2
    if has avx2 && has fma; then avx2=avx2; fi
    best=$avx2
    if has avx512f && has avx512bw && has avx512dq && has avx512vl; then best=avx512; fi
    ;;
aarch64) base=neon avx2=neon best=neon ;;
*) base=base avx2=base best=base ;;
esac

ppf() { # ppf SIMD OPTION...: the filter bank on the CPU
    local simd=$1
    shift
    VOLTMILL_SIMD=$simd "$voltmill" bench ppf --backend cpu --channels 64 --samples 65536 --repeat 1 \
        --csv bench.csv "$@"
}
for case in ":$best" "avx512:$best" "avx2:$avx2" "base:$base"; do
    wanted=${case%%:*} expected=${case#*:}
    runs "ppf with VOLTMILL_SIMD=$wanted" ppf "$wanted" --threads 1
    same "computes with $expected" "$expected" "$(column simd bench.csv)"
    same "and says so" "$expected" "$(column how bench.csv | cut -d, -f1)"
done
same "its result is right" ok "$(column result bench.csv)"
runs "ppf where a number of channels cannot be oversampled so" ppf "$best" --threads 1 --channels 62,64 --oversample 4/3
same "has the row that can be" 64 "$(column channels bench.csv)"
fails "ppf where none can" 2 'none of its rows can be oversampled by 4/3' \
    "$voltmill" bench ppf --backend cpu --threads 1 --channels 62 --samples 65536 --oversample 4/3
for bits in 8 16; do
    runs "spectra of $bits bits" ppf "$best" --threads 1 --out spectra:$bits
    same "are right" ok "$(column result bench.csv)"
done

# The way back: a row behind the bank's for each number of taps, which says what it leaves.
for kind in --real ""; do
    # shellcheck disable=SC2086
    runs "the way back ${kind:-of complex samples}" ppf "$best" --threads 2 --oversample 2/1 --synthesise 3,8 $kind
    same "is right, and says what it is" "[('8', 'ok', '$best'), ('3', 'ok', '$best'), ('8', 'ok', '$best')]" \
        "$("$python" -c 'import csv; print([(r["taps"], r["result"], r["simd"]) for r in csv.DictReader(open("bench.csv"))])')"
    same "the error falls with taps" True "$("$python" -c 'import csv, re
db = [float(re.search("synthesis to (-?[0-9]+) dB", r["how"]).group(1)) for r in list(csv.DictReader(open("bench.csv")))[1:]]
print(db[0] > -100 > db[1])')"
done

# Beams, of turns and of a table.
for kind in --fixed ""; do
    # shellcheck disable=SC2086
    runs "beams ${kind:-that turn}" "$voltmill" bench beams --backend cpu --threads 2 --stations 5 --beams 3,4 \
        --channels 37 --cell 5 --spectra 21 --repeat 1 --csv beams.csv $kind
    same "are right" "3 ok 4 ok" "$("$python" -c 'import csv
print(*(r[c] for r in csv.DictReader(open("beams.csv")) for c in ("beams", "result")))')"
done

# The correlation: rotated or not, beside bare multiply-adds.
for turns in "" --turns; do
    # shellcheck disable=SC2086
    runs "correlate $turns" "$voltmill" bench correlate --backend cpu --threads 2 --stations 3,9 --channels 20 \
        --integrate 16 --spectra 32 --repeat 1 --csv correlate.csv $turns
    same "is right" "[('3', 'ok'), ('9', 'ok')]" \
        "$("$python" -c 'import csv; print([(r["stations"], r["result"]) for r in csv.DictReader(open("correlate.csv"))])')"
done

# Long filters: each row beside the double reference and the plain loop, also where fewer points are computed.
fir() { # fir OPTION...
    "$voltmill" bench fir --backend cpu --threads 1 --repeat 1 --csv fir.csv "$@"
}
of_fir() { # of_fir EXPRESSION: over the rows of its table
    "$python" -c 'import csv, sys; rows = list(csv.DictReader(open("fir.csv"))); print(eval(sys.argv[1]))' "$1"
}
runs "fir" fir --taps 1,16,200 --points 500,2^13 --method direct,overlap-save
same "its results are right" "12 {'ok'}" "$(of_fir "str(len(rows)) + ' ' + str({r['result'] for r in rows})")"
same "by the method asked for" True \
    "$(of_fir "all(r['how'].startswith(r['method']) for r in rows) and {r['method'] for r in rows} == {'direct', 'overlap-save'}")"
# The last of four decimals is much where a busy machine took long for few points.
same "rates and times say the same" True "$(of_fir "all(abs(float(r['msamples_per_s']) * float(r['ms']) * 1e3 / int(r['points']) - 1) < 1e-2 + 1e-4 / float(r['msamples_per_s'])
    and abs(float(r['gflop_per_s']) * float(r['ms']) * 1e6 / (8 * int(r['points']) * int(r['taps'])) - 1) < 1e-2 + 1e-4 / float(r['gflop_per_s']) for r in rows)")"
same "nothing is moved on a CPU" "{0.0}" "$(of_fir "{float(r['moved_ms']) for r in rows}")"
if has_pictures; then
    runs "its figures" "$voltmill" plot --bench --data numbers.csv -o fir.svg fir.csv
    same "hold its numbers" "$(of_fir "2 * sum(float(r['times_plain']) > 0 for r in rows)")" "$(grep -c '^\(taps\|points\),' numbers.csv)"
else
    skip "no matplotlib"
    skip "no matplotlib"
fi
runs "fir, real, of many taps" fir --real --taps 8192 --points 2^17 --method auto
same "its plain loop ran for fewer points" "True True" "$(of_fir "' '.join([str(int(r['plain_points']) < int(r['points']))
    + ' ' + str(float(r['rms_error']) < 1e-6) for r in rows])")"


# A file that is no such table is not changed, and no file is made.
printf 'an archive\0of somebody\n' >other.bin
printf 'setup,dms\n1,2\n' >other.csv
"$voltmill" synth --set file=obs.h5 <(echo '{bits: 8, samples: 8192, sample_rate_hz: 1e6, freq_hz: 1e9, noise: 9}') >output
echo '{input: {files: obs.h5}, channelise: {channels: 16, backend: cpu}, products: [{kind: power, file: p.h5}]}' >job.yaml
sha256sum other.bin other.csv bench.csv >sums
for other in other.bin other.csv; do
    fails "ppf: $other" 2 "$other is there, and no such table" "$voltmill" bench ppf --backend cpu --channels 64 \
        --samples 65536 --repeat 1 --threads 1 --csv $other
    fails "dedisperse: $other" 2 "$other is there, and no such table" "$voltmill" bench dedisperse --backend cpu \
        --dms 4 --seconds 0.02 --repeat 1 --threads 1 --csv $other
    fails "fir: $other" 2 "$other is there, and no such table" "$voltmill" bench fir --backend cpu --taps 4 --points 64 \
        --repeat 1 --threads 1 --csv $other
    fails "run: $other" 2 "$other is there, and no such table" "$voltmill" bench run --repeat 1 --csv $other job.yaml
done
fails "run: the table of another command" 2 "bench.csv is there, and no such table" "$voltmill" bench run --repeat 1 \
    --csv bench.csv job.yaml
runs "all of them are as they were" sha256sum -c --quiet sums
for lines in 2 3; do
    runs "run: a table" "$voltmill" bench run --force --repeat 1 --csv run.csv job.yaml
    same "of $lines lines, one of them its heading" "$lines 1" "$(wc -l <run.csv) $(grep -c ^ranks, run.csv)"
done
same "run: one rank waits for nobody" 0 "$(grep -c 'wait for' output)"
runs "run: of two ranks" mpirun -n 2 "$voltmill" bench run --force --repeat 1 --set run.threads=1 job.yaml
same "the one that is done first waits for less than all of it" 1 \
    "$(awk '/wait for the last rank/ {waited = $6} / whole / {print (waited != "" && waited >= 0 && waited < $2)}' output)"

# Rank 0 of a run of many ranks gives out all chunks of the job, and reads its journal again.
runs "driver" "$voltmill" bench driver --ranks 4096 --set run.chunk=16 --set products.0.file=r.h5 job.yaml
chunks=$(sed -n 's/^job.yaml: .* in, \([0-9,]*\) chunks of .* (run.chunk)$/\1/p' output)
same "each has a record" "journal of $chunks chunks" "$(sed -n 's/^\(journal\) .* \(of .* chunks\),.*/\1 \2/p' output)"
same "its verdict" 1 "$(grep -cE '^(OK|TOO SLOW): rank 0 is busy [0-9.e+]+ % of the time$' output)"
same "nothing is left" "" "$(find . -name 'r.h5*')"
fails "driver: a rank that processes too much" 2 'rate.* 1e15' "$voltmill" bench driver --rate 1e16 job.yaml
fails "driver: on two ranks" 2 'was started on 2 ranks, expected one' mpirun -n 2 "$voltmill" bench driver job.yaml

# Filters and filter bank are timed together; without a filter bank, filters alone.
filter='filter: {design: {kind: lowpass, edges: [2e5, 2.5e5], offset: true}}'
echo "{input: {files: obs.h5}, $filter, channelise: {channels: 16, backend: cpu}," \
    'products: [{kind: power, file: f.h5}]}' >filtered.yaml
echo "{input: {files: obs.h5}, ${filter/design:/backend: cpu, design:}, products: [{kind: voltages, file: v.h5}]}" >cut.yaml
for job in filtered cut; do
    runs "run: $job" "$voltmill" bench run --repeat 1 --csv $job.csv $job.yaml
    same "its backend took some time" 1 "$(awk -F, 'NR == 2 {print ($5 > 0 && $5 < 100)}' $job.csv)"
done

# Every other kind of job: the sum of its passes, or of its observations. Reads are those of the files' bytes.
echo '{input: {files: obs.h5}, channelise: {channels: 16, backend: cpu}, products: [{kind: power, file: d.h5}],' \
    'dedisperse: {coherent: [0, 1], dm: [0, 1], backend: cpu, file: s.h5}}' >semi.yaml
echo '{input: {files: d.h5}, dedisperse: {dm: [0, 1, 2], backend: cpu, file: t.h5}}' >sums.yaml
echo '{input: {files: w.h5}, synthesise: {backend: cpu, taps: 8}, products: [{kind: voltages, file: back.h5}]}' >back.yaml
echo '{input: {files: obs.h5}, channelise: {channels: 16, backend: cpu},' \
    'products: [{kind: power, file: "{name}-p.h5"}]}' >each.yaml
runs "run: a filterbank, and spectra" "$voltmill" run --set input.files=obs.h5 --set channelise.channels=16 \
    --set 'products=[{kind: power, file: d.h5}, {kind: spectra, file: w.h5}]'
for job in semi sums back each; do
    mpi=() more=(--force)
    [ $job = each ] && more+=(--each 'obs*.h5')
    [ $job = sums ] && mpi=(mpirun -n 2)
    runs "run: $job" "${mpi[@]}" "$voltmill" bench run --repeat 1 --csv $job.csv "${more[@]}" $job.yaml
    same "all its sides took some time" 1 "$(awk -F, 'NR == 2 {print ($5 > 0 && $6 > 0 && $7 > 0 && $13 > 0)}' $job.csv)"
    same "and no file is left of them" "" "$(ls -- *bench.*[0-9] 2>/dev/null)"
done

# A table that did not get to its file.
if [ -w /dev/full ]; then
    full=(--csv /dev/full)
    fails "ppf: a full disk" 3 '/dev/full cannot be written: No space left' "$voltmill" bench ppf --backend cpu \
        --channels 64 --samples 65536 --repeat 1 --threads 1 "${full[@]}"
    fails "dedisperse: a full disk" 3 '/dev/full cannot be written: No space left' "$voltmill" bench dedisperse \
        --backend cpu --dms 4 --seconds 0.02 --repeat 1 --threads 1 "${full[@]}"
    fails "run: a full disk" 3 '/dev/full cannot be written: No space left' "$voltmill" bench run --force --repeat 1 \
        "${full[@]}" job.yaml
else
    skip "no /dev/full here"
fi

runs "ppf on three threads" ppf "" --threads 3
same "its threads" 3 "$(column threads bench.csv)"
same "has FFTW beside it" 0 "$(column fft_alone_ms bench.csv | grep -cx '0*\.0*')"
plan
