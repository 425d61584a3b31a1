# `voltmill plot`: pictures of the size that is asked for, with what the file says in them, whatever letters that has;
# a tone, a pulse and NaN at their places in the numbers that are drawn; large files in little memory; what is wrong.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
if ! command -v gnuplot >/dev/null; then
    echo "1..0 # SKIP gnuplot is not installed (make deps)"
    exit 0
fi
"$python" - <<'END'
import h5py
import numpy as np

HEADER = {"fch1": 1400.0, "foff": 0.5, "tsamp": 1e-2, "tstart": 58000.0}
rng = np.random.default_rng(1)


def bank(name, data, **header):
    with h5py.File(name + ".h5", "w") as file:
        file.create_dataset("data", data=data).attrs.update({**HEADER, **header})
    return data


power = rng.gamma(64, 1 / 64, (300, 2, 64)).astype("f4")
power[:, 0, 20] *= 100  # 1410 MHz, 20 dB above the noise
power[100:110, 0, 5] = np.nan
bank("tone", power, pol_type="XX,YY", source_name="J1939+2134", telescope_id=6)
bank("words", power, source_name="O'Brien \"x\" `touch hit` $(touch hit) \\n {/Bold a_b^c} <&amp;> %s é \x1b[31m\n@touch")
bank("stokes", (rng.normal(size=(50, 4, 64)) + [[[9], [0], [0], [0]]]).astype("f4"), pol_type="I,Q,U,V")
bank("narrow", np.ones((20, 1, 128), "f4"), fch1=319.0078, foff=1 / 64)
bank("below", rng.normal(size=(20, 1, 8)).astype("f4"))
bank("bytes", np.tile(np.arange(64, dtype="u1"), (20, 1, 1)), foff=-0.5)
bank("base", rng.gamma(64, 1 / 64, (20, 1, 8)).astype("f4"), fch1=0.0)
bank("single", rng.gamma(64, 1 / 64, (20, 1, 1)).astype("f4"))
bank("one", np.ones((1, 1, 2), "f4"))
bank("blank", np.full((8, 1, 4), np.nan, "f4"))
bank("many", np.ones((4, 9, 8), "f4"))
with h5py.File("uneven.h5", "w") as file:
    file.create_dataset("data", data=np.ones((4, 1, 4), "f4")).attrs.update(HEADER)
    file["frequency"] = [1.4e9, 1.4005e9, 1.41e9, 1.4105e9]
    file.attrs["format"] = "power"
with h5py.File("beside.h5", "w") as file:
    file.create_dataset("data", data=power).attrs.update(HEADER)
    weights = np.ones((300, 2, 4), "f4")
    weights[:150, 0, 1] = 0.25
    file["weights"] = weights
    file["kurtosis"] = rng.normal(1, 0.1, (30, 2, 64)).astype("f4")
    file["kurtosis"][:, 0, 20] = 0.1
with h5py.File("part.h5", "w") as file:  # channels 24 .. 43 of four times 16, of which the weights are
    file.create_dataset("data", data=power[:, :, 24:44]).attrs.update(dict(HEADER, fch1=1412.0))
    file["weights"] = np.broadcast_to(np.array([0.2, 0.4, 0.6, 0.8], "f4"), (300, 2, 4))
    file["coarse_frequency"] = [1403.75e6, 1411.75e6, 1419.75e6, 1427.75e6]
dm = np.arange(40, 61, 1.0)
series = rng.normal(100, 1, (21, 5000)).astype("f4")
for i in range(21):
    series[i, 2000:2004] += 20 / (1 + abs(i - 13))  # DM 53, at 2 s
with h5py.File("series.h5", "w") as file:
    file.create_dataset("dedispersed", data=series).attrs.update({"tsamp_s": 1e-3, "source_name": "B0329+54"})
    file["dm"] = dm
with h5py.File("huge.h5", "w") as file:  # 16 GiB, which are nowhere but for a row
    kept = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    kept.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    kept.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((1 << 20, 1, 4096))
    big = h5py.Dataset(h5py.h5d.create(file.id, b"data", h5py.h5t.IEEE_F32LE, space, kept))
    big.attrs.update(HEADER)
    big[0] = 2
END

# values PANEL [LINE]: "x y value" of what was drawn, from numbers.csv
values() {
    "$python" - "$@" <<'END'
import csv, sys
for panel, _, line, x, y, value in csv.reader(open("numbers.csv", newline="")):
    if panel == sys.argv[1] and (len(sys.argv) < 3 or line == sys.argv[2]):
        print(x, y or "-", value)
END
}
# greatest: the row with the greatest value
greatest() { grep -v nan | sort -g -k3 | tail -n 1; }
size_of() { "$python" -c 'import struct, sys; print(*struct.unpack(">II", open(sys.argv[1], "rb").read(24)[16:]))' "$1"; }
plot() { "$voltmill" plot --force "$@"; }
# letters FILE: all texts of an SVG, which must be well-formed
letters() { "$python" -c 'import sys, xml.etree.ElementTree as x; print("|".join("".join(t.itertext()).strip() for t in x.parse(sys.argv[1]).iter() if t.tag.endswith("}text")))' "$1"; }

runs "a picture" "$voltmill" plot tone.h5
same "by default as PNG beside the file" "1320 995" "$(size_of tone.png)"
runs "of a size" plot --size 900x700 -o small.png tone.h5
same "which it has" "900 700" "$(size_of small.png)"
runs "and as SVG, with its numbers" plot -o tone.svg --data numbers.csv tone.h5
texts=$(letters tone.svg)
for words in "tone.h5:  J1939+2134" "0 s: 2017-09-04T00:00:00" "pol XX, waterfall" "pol YY, bandpass" "frequency (MHz)" "time (s)" "power (dB)"; do
    case $texts in *"$words"*) ok 0 "it says: $words" ;; *) ok 1 "it says: $words"; echo "# $texts" ;; esac
done
same "nothing in it is of another file" 0 "$(grep -c 'href=.[^#d]' tone.svg)"
same "a tone is at its frequency, at its level" "1410 - 20" "$(values bandpass mean | greatest | awk '{ printf "%g %s %.0f\n", $1, $2, $3 }')"
same "NaN are drawn as such" "1402.5 1.005 10" "$(values waterfall | grep nan | awk '{ x = $1; y = n++ ? y : $2 } END { print x, y, n }')"
same "with a colour of their own, and a word" 1 "$(letters tone.svg | grep -c 'no numbers')"
runs "one polarisation, some times, some channels, one panel" plot --pol YY --time 0.5..1 --freq 1405..1407 --kind waterfall -o part.png --data numbers.csv tone.h5
same "are all that there is" "1405 0.505 1407 0.995 250" "$(values waterfall | awk 'NR == 1 { a = $1 " " $2 } END { print a, $1, $2, NR }')"
runs "the sum of polarisations" plot --sum -o sum.png --data numbers.csv tone.h5
same "has the sum of powers" "1410 20" "$(values bandpass mean | greatest | awk '{ printf "%g %.0f\n", $1, $3 }')"
runs "channels against their median" plot --flatten -o flat.png --data numbers.csv tone.h5
same "have lost the tone" yes "$(values waterfall | greatest | awk '{ print ($3 < 4 ? "yes" : "no " $3) }')"

runs "a source of any letters" plot -o words.svg words.h5
same "stays what it is" 1 "$(letters words.svg | grep -cF "O'Brien \"x\" \`touch hit\` \$(touch hit) \\n {/Bold a_b^c} <&amp;> %s é \\x1b[31m\\n@touch")"
runs "in PNG, too" plot -o words.png words.h5
same "and runs nothing" "" "$(ls hit 2>/dev/null)"
runs "Stokes parameters have no decibels" plot -o stokes.svg stokes.h5
same "but values" 1 "$(letters stokes.svg | grep -c 'pol Q, waterfall.*value')"
for size in 400x400 500x400 1000x400; do
    plot --kind waterfall --size $size -o narrow.svg narrow.h5 >/dev/null
    same "labels of a narrow band differ, $size" "" "$(letters narrow.svg | tr '|' '\n' | grep '^3[12][0-9]' | sort | uniq -d)"
done
runs "numbers below 0" plot -o below.svg below.h5
same "have no decibels, either" 0 "$(letters below.svg | grep -c 'dB')"
runs "bytes" plot -o bytes.png --data numbers.csv bytes.h5
same "whose band descends" "1368.5 -" "$(values bandpass mean | greatest | awk '{ print $1, $2 }')"
runs "two numbers" plot -o one.png one.h5
runs "nothing but NaN" plot -o blank.png blank.h5
runs "nine polarisations" plot -o many.png many.h5
same "of which the first four are drawn" 1 "$(grep -c 'note: many.h5 has 9 pols: the first 4 are drawn' output)"
runs "a band from 0 Hz on" plot -o base.png base.h5
runs "one channel" plot --kind waterfall --size 300x300 -o single.png single.h5
runs "and one row" plot --kind waterfall --size 300x300 -o one.png one.h5
same "are drawn: more colours than that of no numbers" "yes yes" "$("$python" - single.png one.png <<'END'
import struct, sys, zlib


def colours(path):
    """Of the middle row of an 8-bit PNG, those that fill 5 pixels or more."""
    data, at, text = open(path, "rb").read(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        text += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    raw, each = zlib.decompress(text), {2: 3, 6: 4}[colour]
    above = bytearray(width * each)
    rows = []
    for y in range(height):
        start = y * (width * each + 1)
        line = bytearray(raw[start + 1:start + 1 + width * each])
        for i in range(width * each):
            a, b, c = line[i - each] if i >= each else 0, above[i], above[i - each] if i >= each else 0
            p = [0, a, b, (a + b) // 2, min((a, b, c), key=lambda v: abs(a + b - c - v))][raw[start]]
            line[i] = (line[i] + p) & 255
        above = line
        rows.append({bytes(line[i:i + 3]) for i in range(0, width * each, each)})
    return rows[height // 2]


print(" ".join("yes" if bytes.fromhex("35b0a7") not in colours(path) else "no" for path in sys.argv[1:]))
END
)"
runs "lines of a band with a gap" plot --kind bandpass -o uneven.svg uneven.h5
same "do not bridge it" 1 "$(grep -c "rgb(  0, 114, 178)'  d='M[^M]*M[^M]*M[^M]*'" uneven.svg)" # the key, and two pieces
runs "a band with a gap" plot --kind waterfall -o uneven.png --data numbers.csv uneven.h5
same "which is left open" "22 18" "$(values waterfall | awk '$2 == 0.005 { n++; b += $3 == "nan" } END { print n, b }')"
runs "weights and kurtosis" plot -o beside.png --data numbers.csv beside.h5
same "weights are of their channels and times" "1408 1415.5 0.25 1.5" \
    "$(values weights | awk '$3 < 0.9 { if (!n++) a = $1; b = $1 > b ? $1 : b; t = $2 > t ? $2 : t; v = $3 } END { printf "%g %g %g %.1f\n", a, b, v, t }')"
same "kurtosis, too" "1410" "$(values kurtosis | sort -g -k3 | head -n 1 | cut -d' ' -f1)"
runs "a part of the channels" plot -o part.png --data numbers.csv part.h5
same "whose weights are those of their coarse channels" "1412:0.40 1415.5:0.40 1416:0.60 1421.5:0.60" \
    "$(values weights | awk '!n[$3]++ { first[$3] = $1 } $1 > last[$3] { last[$3] = $1 }
        END { for (v in n) printf "%g:%.2f\n%g:%.2f\n", first[v], v, last[v], v }' | sort -g | tr '\n' ' ' | sed 's/ $//')"

runs "dedispersed series" plot -o series.svg --data numbers.csv series.h5
same "say where the best pulse is" 1 "$(letters series.svg | grep -c 'at 2 s, 4 samples wide, DM 53')"
same "its map has it there" "53 2.0" "$(values dm-time | greatest | awk '{ printf "%g %.1f\n", $2, $1 }')"
same "plot says the best pulse" yes "$(grep -q '^the best: signal / noise .* at 2 s, .* DM 53$' "$work/output" && echo yes)"
same "and its list of DMs" "53 -" "$(values snr | greatest | awk '{ print $1, $2 }')"
runs "some DMs alone" plot --dm 41..45 --time 1..3 -o dms.png series.h5

# One polarisation has one name wherever a user meets it; --if is the older --pol.
cat >names.yaml <<'END'
file: names.h5
samples: 20000
streams: {stations: 2, pols: 2}
polarisations: [R, L]
bits: 8
sample_rate_hz: 1.0e6
freq_hz: 1.4e+9
noise: 12
END
cat >named.yaml <<'END'
input: {files: names.h5, select: {stations: 1}}
channelise: {channels: 64, taps: 4, window: hann, backend: cpu}
products:
  - {kind: power, integrate: 8, file: separate.h5}
  - {kind: power, integrate: 8, polarisation: coherency, file: coherency.h5}
  - {kind: spectra, file: spectra.h5}
END
runs "an observation with names" "$voltmill" synth names.yaml
runs "and its products" "$voltmill" run named.yaml
for product in separate coherency spectra; do
    case $product in
    separate) names="S001/R S001/L" infos="S001/R, S001/L" ;;
    coherency) names="S001/RR* S001/LL* S001/Re(RL*) S001/Im(RL*)" infos=${names// /, } ;;
    spectra) names="S001/R S001/L" infos="R, L" ;;
    esac
    same "$product: info has these names" "$infos" "$("$voltmill" info $product.h5 | sed -n 's/^  polarisations \([^:]*\).*/\1/p')"
    plot -o named.svg $product.h5 >/dev/null
    same "$product: its picture has the same" "$names" "$(letters named.svg | tr '|' '\n' | sed -n 's/^pol \(.*\), bandpass.*/\1/p' | paste -sd ' ')"
    runs "$product: and so has --pol" plot --pol S001/"$([ $product = coherency ] && echo 'LL*' || echo L)" -o named.svg --data numbers.csv $product.h5
    cp numbers.csv named.csv
    runs "$product: beside a number, by its older name" plot --if 1 -o named.svg --data numbers.csv $product.h5
    runs "$product: which draws the same" cmp named.csv numbers.csv
done
same "plan and run count pols" 2 "$({ "$voltmill" plan --force named.yaml; "$voltmill" run --force named.yaml; } | grep -c 'coherency.h5: .* 4 pols x 64 channels')"
runs "export --pol takes the same name" "$voltmill" export --format fil --pol S001/L -o named.fil separate.h5
runs "or that of pol_type" "$voltmill" export --format fil --pol BB -o bb.fil separate.h5
runs "or a number after the older option" "$voltmill" export --format fil --if 1 -o number.fil separate.h5
same "of the same polarisation" "" "$(cmp named.fil bb.fil; cmp named.fil number.fil)"
fails "and says which there are" 2 '--pol X: separate.h5 has 2: S001/R, S001/L' "$voltmill" export --format fil --pol X -o x.fil separate.h5
same "help has --pol alone" 2 "$({ "$voltmill" export --help; "$voltmill" plot --help; } | grep -Ec '^  --(pol|if) ')"

sed "s|TMP|$work|" >job.yaml <<'END'
input: {files: nowhere.h5}
channelise: {channels: 256, taps: 8}
products: [{kind: power, file: TMP/p.h5}]
END
runs "a filter bank, without its archive" plot --filter -o filter.svg --data numbers.csv job.yaml
same "which passes its channel" "0.00" "$(values response "this filter bank" | awk '$1 == 0 { printf "%.2f\n", $3 }')"
same "and loses 6 dB at its border" "-6.0" "$(values scalloping strongest | awk '$1 == 0.5 { printf "%.1f\n", $3 }')"
runs "with a flat cutoff" plot --filter --set channelise.cutoff=flat -o filter.svg --data numbers.csv job.yaml
same "it loses 3 dB there" "-3.01" "$(values scalloping strongest | awk '$1 == 0.5 { printf "%.2f\n", $3 }')"
same "which is nothing of all" yes "$(values scalloping "all together" | awk '$1 == 0.5 { print ($3 < 0.005 && $3 > -0.005 ? "yes" : $3) }')"
same "and the picture says which" 1 "$(letters filter.svg | grep -c 'cutoff flat (1.1079')"
runs "with other taps" plot --filter --set channelise.taps=1 --set channelise.window=rect --set channelise.cutoff=0 -o filter.svg --data numbers.csv job.yaml
same "it is the bare transform" "-3.9" "$(values scalloping strongest | awk '$1 == 0.5 { printf "%.1f\n", $3 }')"

printf 'channels,taps,bits,gsamples_per_s,result\n1024,4,8,1.5,ok\n1024,8,8,1.25,ok\n1024,16,8,1,FAILED\n' >bench.csv
runs "a table of a benchmark" plot --bench -o bench.svg --data numbers.csv bench.csv
same "over what was varied, without what failed" "4 - 1.5,8 - 1.25," "$(values taps | tr '\n' ',')"
printf 'problem,round,how,ms,spent_s,model_ms,result\np,0,a,4,0.1,3,ok\np,0,b,2,0.1,2,ok\np,0,c,3,0.1,0,wrong\n' >tune.log
runs "a log of the tuner" plot --tuner -o tuner.svg tune.log
same "names a problem by what was the best for it" 1 "$(letters tuner.svg | grep -Ec '(^|[|])b([|]|$)')"

peak() { /usr/bin/env "$python" -c 'import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024); sys.exit(code)' "$@" | tail -n 1; }
# 234 MiB of it are drawn.
megabytes=$(peak "$voltmill" plot --force --time 0..150 -o huge.png --data numbers.csv huge.h5)
same "a file larger than memory takes little of it" yes "$([ "$megabytes" -lt 200 ] && echo yes || echo "$megabytes MiB")"
same "and is drawn" "3.0103" "$(values bandpass greatest | awk 'NR == 1 { printf "%.4f\n", $3 }')"

fails "no file" 2 'expected one file or more' "$voltmill" plot
fails "a file that is not there" 4 'nowhere.h5' "$voltmill" plot nowhere.h5
fails "no picture's name" 2 'ends in .png or .svg' "$voltmill" plot -o x.pdf tone.h5
fails "another picture that is there" 2 'tone.png exists already' "$voltmill" plot --kind waterfall --size 500x300 -o tone.png tone.h5
cp tone.h5 input.png
fails "never the file itself" 2 'input' "$voltmill" plot --force -o input.png input.png
fails "picture and numbers in one file" 2 'cannot be one file' "$voltmill" plot --force -o a.png --data a.png tone.h5
fails "numbers where the picture is written" 2 'b\.png\.part: picture and numbers cannot be one file' "$voltmill" plot -o b.png --data ./b.png.part tone.h5
fails "a panel that nobody knows" 2 'kind' "$voltmill" plot --kind spectrum tone.h5
fails "a panel that it has not" 2 'tone.h5 has no weights to draw, expected some of waterfall' "$voltmill" plot --force --kind weights tone.h5
fails "a polarisation that it has not" 2 'tone.h5 has no pol 2: it has 2' "$voltmill" plot --force --pol 2 tone.h5
fails "channels that it has not" 2 'no channel from 1 to 2 MHz: it has 1400 .. 1431.5' "$voltmill" plot --force --freq 1..2 tone.h5
fails "times that it has not" 2 'no rows from 5 to 6 s: it has 0 .. 3 s' "$voltmill" plot --force --time 5..6 tone.h5
fails "a range the wrong way" 2 'expected seconds' "$voltmill" plot --force --time 2..1 tone.h5
fails "DMs of power" 2 'has no DMs' "$voltmill" plot --force --dm 1..2 tone.h5
fails "polarisations of series" 2 'neither pols' "$voltmill" plot --force --sum series.h5
fails "the sum of Stokes parameters" 2 'pol Q is no power' "$voltmill" plot --force --sum stokes.h5
fails "options of a product for a job" 2 'is for products' "$voltmill" plot --filter --sum job.yaml
fails "two of a kind" 2 'one of --filter' "$voltmill" plot --filter --bench job.yaml
fails "a size of nothing" 2 'size' "$voltmill" plot --size 10x10 tone.h5
fails "a table of something else" 4 'no table of voltmill bench' "$voltmill" plot --bench -o b.png tune.log
printf 'a,b\n1\n' >short.csv
fails "a table that is cut short" 4 'short.csv:2: 1 fields, expected 2' "$voltmill" plot --bench short.csv
mkdir nothing
fails "no gnuplot: says how to get it" 5 'gnuplot is not installed.*gnuplot-nox' env PATH="$work/nothing" "$voltmill" plot --force tone.h5
mkdir bad
printf '#!/bin/sh\necho "line 3: no such terminal" >&2\nexit 1\n' >bad/gnuplot
chmod +x bad/gnuplot
fails "gnuplot's own words" 5 'exit status 1: line 3: no such terminal' env PATH="$work/bad:$PATH" "$voltmill" plot --force tone.h5
printf '#!/bin/sh\nkill -9 $$\n' >bad/gnuplot
fails "gnuplot is killed" 5 'ended by signal 9' env PATH="$work/bad:$PATH" "$voltmill" plot --force tone.h5
plan
