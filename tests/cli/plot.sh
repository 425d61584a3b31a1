# `voltmill plot`: pictures of the size that is asked for, with what the file says in them, whatever letters that has;
# a tone, a pulse and NaN at their places in the numbers that are drawn; large files in little memory; what is wrong.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
own_python=${VOLTMILL_PYTHON:-/usr/bin/python3}
has_pictures || { echo "1..0 # SKIP matplotlib is not installed (make deps)"; exit 0; }
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
line = rng.gamma(64, 1 / 64, (16, 1, 16384)).astype("f4")
line[:, 0, 9000] *= 30  # one channel of 16384
bank("line", line, foff=0.01)
swept = rng.normal(100, 1, (4000, 1, 64)).astype("f4")
for i in range(64):  # DM 500, at 2 s at the top
    late = 500 / 2.41e-4 * ((1400.0 + 0.5 * i) ** -2 - 1431.5 ** -2) / 1e-3
    swept[2000 + round(late):2004 + round(late), 0, i] += 3
bank("swept", swept, tsamp=1e-3)
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
# largest: the row with the largest value
largest() { grep -v nan | sort -g -k3 | tail -n 1; }
size_of() { "$python" -c 'import struct, sys; print(*struct.unpack(">II", open(sys.argv[1], "rb").read(24)[16:]))' "$1"; }
plot() { "$voltmill" plot --force "$@"; }
# letters FILE: all texts of an SVG, which must be well-formed
letters() { "$python" -c 'import sys, xml.etree.ElementTree as x; print("|".join("".join(t.itertext()).strip() for t in x.parse(sys.argv[1]).iter() if t.tag.endswith("}text")))' "$1"; }

# colours FILE: how many rows and columns of a picture are viridis' brightest colour by 40 % or more, and whether its
# middle row has 5 pixels or more of the colour of NaN
colours() {
    "$own_python" - "$1" <<'END'
import sys
import numpy as np
from PIL import Image # which matplotlib needs

pixels = np.asarray(Image.open(sys.argv[1]).convert("RGB")).astype(int)
bright = abs(pixels - [253, 231, 37]).max(axis=2) < 30
bright[:, int(0.75 * bright.shape[1]):] = False  # not the colour bar
blank = (pixels[len(pixels) // 2] == 200).all(axis=1).sum() >= 5
print((bright.mean(axis=1) > 0.4).sum(), (bright.mean(axis=0) > 0.4).sum(), "NaN" if blank else "numbers")
END
}

warm_pictures
runs "a picture" "$voltmill" plot tone.h5
same "by default as PNG beside the file" "1320 1053" "$(size_of tone.png)"
same "of a size that it states" 1 "$(grep -c '^tone.png: 1320 x 1053 pixels$' output)"
runs "the same again" "$voltmill" plot tone.h5
same "is complete before" "complete before: tone.png" "$(cat output)"
runs "an older picture is replaced" "$voltmill" plot --size 400x300 --kind time tone.h5
same "by one of the size that is asked for" "400 300" "$(size_of tone.png)"
runs "and as SVG, with its numbers" plot -o tone.svg --data numbers.csv tone.h5
texts=$(letters tone.svg)
for words in "tone.h5:  J1939+2134" "0 s: 2017-09-04T00:00:00" "pol XX, waterfall" "pol YY, bandpass" "frequency (MHz)" "time (s)" "power (dB)"; do
    case $texts in *"$words"*) ok 0 "it says: $words" ;; *) ok 1 "it says: $words"; echo "# $texts" ;; esac
done
same "nothing in it is of another file" 0 "$(grep -c 'href="[^#d]' tone.svg)"
same "it is in pixels" 1 "$(grep -c '<svg .*width="1320" height="1053"' tone.svg)"
same "a tone is at its frequency, at its level" "1410 - 20" "$(values bandpass mean | largest | awk '{ printf "%g %s %.0f\n", $1, $2, $3 }')"
same "NaN are drawn as such, time across" "1.005 1402.5 10" "$(values waterfall | grep nan | awk '{ x = n++ ? x : $1; y = $2 } END { print x, y, n }')"
same "with a colour of their own, and a word" 1 "$(letters tone.svg | grep -c 'grey: NaN')"
runs "one polarisation, some times, some channels, one panel" plot --pol YY --time 0.5..1 --freq 1405..1407 --kind waterfall -o part.png --data numbers.csv tone.h5
same "are all that there is" "0.505 1405 0.995 1407 250" "$(values waterfall | awk 'NR == 1 { a = $1 " " $2 } END { print a, $1, $2, NR }')"
runs "a waterfall with frequency across" plot --turn --sum --flatten -o sum.png --data numbers.csv tone.h5
same "has it first" "1400 0.005" "$(values waterfall | awk 'NR == 1 { print $1, $2 }')"
same "the sum of polarisations has the sum of powers" "1410 20" "$(values bandpass mean | largest | awk '{ printf "%g %.0f\n", $1, $3 }')"
same "channels against their median have lost the tone" yes "$(values waterfall | largest | awk '{ print ($3 < 4 ? "yes" : "no " $3) }')"
runs "one channel of 16384" plot --kind waterfall --size 600x400 -o line.png line.h5
same "is a line" "yes" "$(colours line.png | awk '{ print ($1 >= 1 && $1 < 10 ? "yes" : $0) }')"
runs "in a large picture with frequency across" plot --kind waterfall --turn --size 2000x700 -o line.png line.h5
same "too" "yes" "$(colours line.png | awk '{ print ($2 >= 1 && $2 < 10 ? "yes" : $0) }')"

runs "a source of any letters" plot --kind time -o words.svg words.h5
same "stays what it is" 1 "$(letters words.svg | tr '|' ' ' | grep -cF "O'Brien \"x\" \`touch hit\` \$(touch hit) \\n {/Bold a_b^c} <&amp;> %s é \\x1b[31m\\n@touch")"
same "and runs nothing" "" "$(ls hit 2>/dev/null)"
runs "Stokes parameters have no decibels" plot --kind waterfall -o stokes.svg stokes.h5
same "but values" "1 yes" "$(letters stokes.svg | tr '|' '\n' | awk '/pol Q, waterfall/ { n++ } /^value$/ { v = "yes" } END { print n, v }')"
runs "a narrow band" plot --kind waterfall --turn --size 400x400 -o narrow.svg narrow.h5
same "whose labels differ" "" "$(letters narrow.svg | tr '|' '\n' | grep '^3[12][0-9]' | sort | uniq -d)"
runs "bytes" plot --kind bandpass -o bytes.png --data numbers.csv bytes.h5
same "whose band descends" "1368.5 -" "$(values bandpass mean | largest | awk '{ print $1, $2 }')"
runs "nothing but NaN" plot -o blank.png blank.h5
runs "nine polarisations" plot --kind time -o many.png many.h5
same "of which the first four are drawn" 1 "$(grep -c 'note: many.h5 has 9 pols: the first 4 are drawn' output)"
runs "one channel" plot --kind waterfall --size 300x300 -o single.png single.h5
runs "and one row" plot --kind waterfall --size 300x300 -o one.png one.h5
same "are drawn: not as NaN" "numbers numbers" "$(echo "$(colours single.png | cut -d' ' -f3) $(colours one.png | cut -d' ' -f3)")"
runs "a band with a gap" plot --kind bandpass,waterfall -o uneven.svg --data numbers.csv uneven.h5
same "whose lines do not bridge it" 1 "$(tr '\n' ' ' <uneven.svg | grep -o '<path d="M[^"]*"[^>]*#0072b2' | sed 's/.*<path/<path/' | grep -c 'd="M[^M]*M[^M]*"')"
same "which is left open" "22 18" "$(values waterfall | awk '$1 == 0.005 { n++; b += $3 == "nan" } END { print n, b }')"
runs "weights and kurtosis" plot --kind weights,kurtosis -o beside.png --data numbers.csv beside.h5
same "weights are of their channels and times" "1408 1415.5 0.25 1.5" \
    "$(values weights | awk '$3 < 0.9 { if (!n++) a = $2; b = $2 > b ? $2 : b; t = $1 > t ? $1 : t; v = $3 } END { printf "%g %g %g %.1f\n", a, b, v, t }')"
same "kurtosis, too" "1410" "$(values kurtosis | sort -g -k3 | head -n 1 | cut -d' ' -f2)"
runs "a part of the channels" plot --kind weights -o part.png --data numbers.csv part.h5
same "whose weights are those of their coarse channels" "1412:0.40 1415.5:0.40 1416:0.60 1421.5:0.60" \
    "$(values weights | awk '!n[$3]++ { first[$3] = $2 } $2 > last[$3] { last[$3] = $2 }
        END { for (v in n) printf "%g:%.2f\n%g:%.2f\n", first[v], v, last[v], v }' | sort -g | tr '\n' ' ' | sed 's/ $//')"

runs "dedispersed series" plot -o series.svg --data numbers.csv series.h5
same "say where the best pulse is" 1 "$(letters series.svg | grep -c 'at 2.002 s, 4 samples (4 ms) wide, DM 53 pc cm⁻³')"
same "its map has it there" "53 2.0" "$(values dm-time | largest | awk '{ printf "%g %.1f\n", $2, $1 }')"
same "plot says the best pulse" yes "$(grep -q '^the best: S/N .* at 2\.002 s, .* DM 53 pc cm⁻³$' "$work/output" && echo yes)"
same "and its list of DMs" "53 -" "$(values snr | largest | awk '{ print $1, $2 }')"
runs "some DMs alone" plot --dm 41..45 --time 1..3 --kind snr -o dms.png --data numbers.csv series.h5
same "are drawn" "41 45" "$(values snr | awk 'NR == 1 { a = $1 } END { print a, $1 }')"
runs "anybody's filterbank, dedispersed" plot --dm 500 -o burst.svg --data numbers.csv swept.h5
same "says how each S/N was found" "1 1" "$(letters burst.svg | grep -c 'S/N [0-9.]* of all channels at') $(letters burst.svg | grep -c 'S/N against DM, bands of the filterbank')"
same "has its pulse at the band's top frequency" "2.00" "$(values pulse | largest | awk '{ printf "%.2f\n", $1 }')"
same "in all channels at once" "2.00 2.00" \
    "$(values waterfall | awk '{ if (!($2 in v) || $3 > v[$2]) { v[$2] = $3; t[$2] = $1 } } END { printf "%.2f %.2f\n", t[1400], t[1431.5] }')"
same "and its DM" "500" "$(values snr | largest | awk '{ printf "%.0f\n", $1 / 20 }' | awk '{ print 20 * $1 }')"
runs "some DMs" plot --dm 400..600 --kind dm-time,snr -o burst.svg --data numbers.csv swept.h5
same "find it" "yes" "$(values snr | largest | awk '{ print ($1 > 480 && $1 < 520 && $3 > 30 ? "yes" : $0) }')"
same "all of them" "64" "$(values snr | wc -l)"

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
    plot --kind bandpass -o named.svg $product.h5 >/dev/null
    same "$product: its picture has the same" "$names" "$(letters named.svg | tr '|' '\n' | sed -n 's/^pol \(.*\), bandpass.*/\1/p' | paste -sd ' ')"
done
runs "--pol takes a name" plot --kind time --pol 'S001/LL*' -o named.svg --data numbers.csv coherency.h5
cp numbers.csv named.csv
runs "or a number after its older name" plot --kind time --if 1 -o named.svg --data numbers.csv coherency.h5
runs "which draws the same" cmp named.csv numbers.csv
same "plan and run count pols" 2 "$({ "$voltmill" plan --force named.yaml; "$voltmill" run --force named.yaml; } | grep -c 'coherency.h5: .* 4 pols x 64 channels')"
runs "export --pol takes the same name" "$voltmill" export --format fil --pol S001/L -o named.fil separate.h5
runs "or that of pol_type" "$voltmill" export --format fil --pol BB -o bb.fil separate.h5
runs "or a number after the older option" "$voltmill" export --format fil --if 1 -o number.fil separate.h5
same "of the same polarisation" "" "$(cmp named.fil bb.fil; cmp named.fil number.fil)"
fails "and says which there are" 2 '--pol X: separate.h5 has 2: S001/R, S001/L' "$voltmill" export --format fil --pol X -o x.fil separate.h5
same "help has --pol alone" 2 "$({ "$voltmill" export --help; "$voltmill" plot --help; } | grep -Ec '^  --(pol|if) ')"

sed "s|TMP|$work|" >job.yaml <<'END'
input: {files: nowhere.h5}
channelise: {channels: 256, taps: 8, window: hann}
products: [{kind: power, file: TMP/p.h5}]
END
runs "a filter bank, without its archive" plot --filter -o filter.svg --data numbers.csv job.yaml
same "which passes its channel" "0.00" "$(values response "filter bank" | awk '$1 == 0 { printf "%.2f\n", $3 }')"
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
megabytes=$(peak env VOLTMILL_PYTHON="$own_python" "$voltmill" plot --force --time 0..150 -o huge.png --data numbers.csv huge.h5)
same "a file larger than memory takes little of it" yes "$([ "$megabytes" -lt 200 ] && echo yes || echo "$megabytes MiB")"
same "and is drawn" "3.0103" "$(values bandpass largest | awk 'NR == 1 { printf "%.4f\n", $3 }')"

fails "no file" 2 'expected one file or more' "$voltmill" plot
fails "a file that is not there" 4 'nowhere.h5' "$voltmill" plot nowhere.h5
fails "no picture's name" 2 'ends in .png or .svg' "$voltmill" plot -o x.pdf tone.h5
echo mine >foreign.png
fails "a file of others" 2 'foreign.png exists already: --force replaces it' "$voltmill" plot -o foreign.png tone.h5
same "stays as it is" mine "$(cat foreign.png)"
echo 'made by: voltmill plot, <!-- voltmill plot -->' >notes.md
fails "also one that speaks of this command" 2 'notes.md exists already: --force replaces it' "$voltmill" plot -o other.png --data notes.md tone.h5
cp tone.h5 input.png
fails "never the file itself" 2 'input' "$voltmill" plot --force -o input.png input.png
fails "picture and numbers in one file" 2 'cannot be one file' "$voltmill" plot --force -o a.png --data a.png tone.h5
fails "numbers where the picture is written" 2 'b\.png\.part: picture and numbers cannot be one file' "$voltmill" plot -o b.png --data ./b.png.part tone.h5
fails "a panel that nobody knows" 2 'kind' "$voltmill" plot --kind spectrum tone.h5
fails "a panel that it has not" 2 'tone.h5 has no weights to draw, expected some of waterfall' "$voltmill" plot --force --kind weights tone.h5
fails "a polarisation that it has not" 2 'tone.h5 has no pol 2: it has 2, counted from 0: XX, YY$' "$voltmill" plot --force --pol 2 tone.h5
fails "channels that it has not" 2 'no channel from 1 to 2 MHz: it has 1400 .. 1431.5' "$voltmill" plot --force --freq 1..2 tone.h5
fails "times that it has not" 2 'no rows from 5 to 6 s: it has 0 .. 3 s' "$voltmill" plot --force --time 5..6 tone.h5
fails "a range the wrong way" 2 'expected seconds' "$voltmill" plot --force --time 2..1 tone.h5
fails "DMs of a band from 0 Hz on" 4 'cannot be dedispersed' "$voltmill" plot --force --dm 1..2 base.h5
fails "no DM" 2 'expected a DM such as 475' "$voltmill" plot --dm much tone.h5
fails "polarisations of series" 2 'neither pols' "$voltmill" plot --force --sum series.h5
fails "the sum of Stokes parameters" 2 'pol Q is no power' "$voltmill" plot --force --sum stokes.h5
fails "options of a product for a job" 2 'is for products' "$voltmill" plot --filter --sum job.yaml
fails "two of a kind" 2 'one of --filter' "$voltmill" plot --filter --bench job.yaml
fails "a size of nothing" 2 'size' "$voltmill" plot --size 10x10 tone.h5
fails "a table of something else" 4 'no table of voltmill bench' "$voltmill" plot --bench -o b.png tune.log
printf 'a,b\n1\n' >short.csv
fails "a table that is cut short" 4 'short.csv:2: 1 fields, expected 2' "$voltmill" plot --bench short.csv
fails "no such Python: says what to install" 5 'nowhere/python is not installed: it is needed, with python3-matplotlib.*apt-get install python3-matplotlib' \
    env VOLTMILL_PYTHON="$work/nowhere/python" "$voltmill" plot --force tone.h5
# python NAME LINE...: a Python that does so first
python() {
    printf '%s\n' '#!/bin/sh' "${@:2}" >"$work/$1"
    chmod +x "$work/$1"
}
python bare 'exec /usr/bin/python3 -ISBc "$2" "$3"'
fails "no matplotlib, nor numpy" 5 'No module named .numpy.*python3-matplotlib' env VOLTMILL_PYTHON="$work/bare" "$voltmill" plot --force tone.h5
python broken 'echo "line 3: no such thing" >&2' 'exit 3'
fails "its last words" 5 'broken drew nothing, and ended with exit status 3: line 3: no such thing' env VOLTMILL_PYTHON="$work/broken" "$voltmill" plot --force tone.h5
python killed 'kill -9 $$'
fails "it is killed" 5 'ended by signal 9' env VOLTMILL_PYTHON="$work/killed" "$voltmill" plot --force tone.h5
python curious 'echo "@rows bank 0 99999999 0 1 0 64"'
fails "it asks for too much" 5 'more than 4194304 numbers' env VOLTMILL_PYTHON="$work/curious" "$voltmill" plot --force tone.h5
plan
