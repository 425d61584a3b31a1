#!/usr/bin/env bash
# Keys of input.layout for a plain HDF5 file: every type of numbers, packings, parts in datasets and files of their
# own, time in pieces, first samples, values in the file: each as a float32 copy of the same samples.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

PYTHONPATH="$here/tests/cli" warm - <<'PYTHON'
from archives import *
from h5py import h5d, h5p, h5s, h5t
N = 1000
base = noise((N, 2, 2), "i4")
def put(name, **objects):
    """Datasets; what begins with @ is an attribute of the root."""
    with h5py.File(f"{name}.h5", "w") as file:
        for key, value in objects.items():
            file.create_dataset(key, **(value if isinstance(value, dict) else dict(data=value)))
    return h5py.File(f"{name}.h5", "r+")
def twice(name, data):
    """Contiguous, and in compressed chunks."""
    put(name, x=data)
    put(name + "-chunks", x=dict(data=data, chunks=tuple(max(1, size * 3 // 8) for size in data.shape), compression=1))

put("good", x=base.astype("f4"))
put("positive", x=abs(base).astype("f4"))
for i, dtype in enumerate("i1 i2 i4 >i4 f2 >f2 f8 >f8 >i2 i8 >i8 f4 >f4".split()):
    (twice if i < 8 else lambda name, data: put(name, x=data))("good-" + dtype.replace(">", "big-"), base.astype(dtype))
for i, dtype in enumerate("u1 >u2 u2 u4 u8 >u8".split()):
    (twice if i < 2 else lambda name, data: put(name, x=data))("positive-" + dtype.replace(">", "big-"), abs(base).astype(dtype))
for dtype in "i1 >i4 f2 f8".split():
    pair = np.zeros((N, 2), [("real", dtype), ("imag", dtype)])
    pair["real"], pair["imag"] = base[..., 0], base[..., 1]
    twice("pairs-" + dtype.replace(">", "big-"), pair)
twice("offset-u1", (base + 128).astype("u1"))
twice("offset-u2", (base + 32768).astype(">u2"))
def odd(name, kind, memory, change):
    kind = kind.copy()
    change(kind)
    with h5py.File(f"good-{name}.h5", "w") as file:
        h5d.create(file.id, b"x", kind, h5s.create_simple(base.shape)).write(
            h5s.ALL, h5s.ALL, np.ascontiguousarray(base.astype(memory)))
odd("24bit", h5t.STD_I32LE, "i4", lambda t: t.set_size(3))
odd("12bit", h5t.STD_I16LE, "i2", lambda t: t.set_precision(12))
odd("20bit", h5t.STD_I32BE, "i4", lambda t: (t.set_precision(20), t.set_offset(4)))
odd("bfloat", h5t.IEEE_F32LE, "f4", lambda t: (t.set_fields(15, 7, 8, 0, 7), t.set_precision(16), t.set_size(2)))

# Numbers below 8 bits, time outermost and innermost.
def pack(codes, bits, high):
    shifts = (np.arange(8 // bits) * bits).astype("u1")
    return (codes.reshape(*codes.shape[:-1], -1, 8 // bits).astype("u1") << (8 - bits - shifts if high else shifts)).sum(-1).astype("u1")
levels = {1: np.array([-1, 1.0]), 2: np.array([-3.3359, -1, 1, 3.3359]), 4: np.arange(16) - 8.0}
for bits in (1, 2, 4):
    codes = np.random.default_rng(bits).integers(0, 1 << bits, (N, 2, 8))
    signed = np.where(codes >= 1 << bits - 1, codes - (1 << bits), codes)
    for word, volts in (("offset", levels[bits][codes]), ("twos", signed)):
        for order, axes in (("outer", (0, 1, 2)), ("inner", (1, 2, 0))):
            put(f"{bits}-{word}-{order}", x=np.ascontiguousarray(volts.transpose(axes)).astype("f4"))
            for high in (0, 1):
                twice(f"{bits}-{word}-{order}-{high}", pack(np.ascontiguousarray(codes.transpose(axes)), bits, high))

# Both parts in a byte, and 0 Hz at the edge.
nibbles = np.random.default_rng(44).integers(-8, 8, (N, 2, 2))
twice("nibbles", (nibbles[..., 0] + 8 << 4 | nibbles[..., 1] + 8).astype("u1"))
nibbles[1::2] *= -1
put("nibbles-turned", x=nibbles.astype("f4"))

# Real and imaginary parts by themselves; heaps.
put("parts", re=base[..., 0].astype("i2"), im=base[..., 1].astype("i2"))
put("parts-chunks", re=dict(data=base[..., 0].astype(">f4"), chunks=(77, 2)), im=base[..., 1].astype(">f4"))
for part, name in enumerate(("re", "im")):
    put(name, x=base[..., part].astype("f4"))
    for i in range(2):
        put(f"time{i}{name}", x=base[500 * i:][:500, :, part].astype("f4"))
        put(f"pol{i}{name}", x=base[:, i, part].astype(">i2"))
heaps = base.reshape(20, 50, 2, 2).transpose(0, 2, 1, 3).astype("i1")
put("heaps", x=heaps)
put("heaps-chunks", x=dict(data=heaps, chunks=True))

# First samples: what is not there is missing, as if it were declared.
def gaps(*rows):
    return {"gaps": np.array(rows, "u8")}
native("uneven.h5", base.astype("f4"), scales=gaps((900, 100, 0), (0, 70, 1)))
for i, (low, high) in enumerate(((0, 900), (70, N))):
    with put(f"uneven{i}", x=base[low:high, i].astype("f4")) as file:
        file.attrs["first"] = 5000 + low
native("gap.h5", base.astype("f4"), scales=gaps((400, 200)))
for i, (low, high) in enumerate(((0, 400), (600, N))):
    with put(f"gap{i}", x=base[low:high].astype("f4")) as file:
        file.attrs["first"] = np.int32(low)

# The native layout: gaps of single streams, of files side by side, other numbers, where 0 Hz is.
native("streams.h5", base.astype("i1"), scales=gaps((7, 9, 1), (50, 100, 0), (0, 3, 0)))
native("side0.h5", base[:, :1].astype("i1"), scales=gaps((0, 3), (50, 100)))
native("side1.h5", base[:, 1:].astype("i1"), scales=gaps((7, 9, 0)))
native("native-i4.h5", base)
native("native-offset.h5", (base + 128).astype("u1"), attrs=dict(packing="8 bit offset"))
native("native-2bit.h5", pack(np.random.default_rng(2).integers(0, 4, (N, 2, 8)), 2, 0), "time,pol,station",
       attrs=dict(packing="2 bit offset", domain="real"))
turned = base.astype("f4")
turned[1::2] *= -1
native("edge.h5", turned, attrs=dict(dc="lower"), root=dict(format_version=np.int32(3)))
native("bad-edge.h5", turned, attrs=dict(dc="lower"))
native("bad-dc.h5", turned, attrs=dict(dc="edge"), root=dict(format_version=np.int32(3)))
for name, rows in dict(stream=[(0, 1, 2)], beyond=[(999, 2, 0)], overlap=[(0, 9, 0), (8, 1, 0)], shape=[(0, 1, 0, 0)]).items():
    native(f"bad-{name}.h5", base.astype("i1"), scales=gaps(*rows))

# A missing value of numbers that become others is a stored one.
stored = (base + 128).astype("u1")
stored[300:340] = 255
put("missing-u1", x=stored)
lost = base.astype("i1")
lost[300:340] = 127
put("missing", x=lost)

with put("named", x=dict(data=np.ones((4, 2, 500), "f4"), chunks=True, shuffle=True, compression=1)) as file:
    file["x"].attrs["axis"] = np.array(["freq", "input", "time"], "S8")
    file.attrs["delta_time"] = 2.56e-6
native("chans.h5", noise((N, 5, 2)), "time,chan,reim")
native("inverted.h5", noise((N, 4, 2)), "time,chan,reim", attrs=dict(sideband=np.int32(-1), oversampling_num=np.int32(4), oversampling_den=np.int32(3)),
       scales=dict(freq_hz=1e9 + 0.75e6 * np.arange(4.0)[::-1]))
# Values in the file.
with put("said", x=base.astype("f4")) as file:
    file.attrs.update(dt=2.0, ctime=1.4e9 + 0.25, mjd=56790.5, tel="Mine", ra=np.array([5.5]), when="2014-06-29T01:39:20.5")
    file["x"].attrs.update(side=np.int32(-1), packed="none", gains=np.array([1.0, 1.0, 2.5]))
    file["group/freq"] = np.array([(1420.5, 1)], [("centre", "f8"), ("id", "u4")])
    file["group/list"] = np.array([1.0, 2.0])
PYTHON
cat >job.yaml <<'YAML'
input: {files: good.h5, layout: {dataset: /x, axes: "time,pol,reim", sample_rate_hz: 1e6}}
channelise: {channels: 32, taps: 4, backend: cpu}
products: [{kind: power, file: out.h5}]
YAML
# made FILE SET...: the digest of the product's data
made() {
    local file=$1
    shift
    rm -f out.h5
    "$voltmill" run job.yaml --set "input.files=$file" "$@" >stdout 2>stderr || note <stderr
    data out.h5
}
# like NAME EXPECTED FILE SET...
like() { same "$1" "$2" "$(made "${@:3}")"; }

# alike EXPECTED PATTERN SET...: of each file of that name, one after the other
alike() {
    local expected=$1 pattern=$2 file
    shift 2
    "$voltmill" run --each "$pattern" job.yaml --set 'products.0.file="{name}.made"' "$@" >stdout 2>stderr || note <stderr
    for file in $pattern; do
        same "type $file" "$expected" "$(data "${file%.h5}.made")"
    done
    rm -f ./*.made
}

good=$(made good.h5)
alike "$good" 'good-*.h5'
alike "$(made positive.h5)" 'positive-*.h5'
alike "$good" 'pairs-*.h5' --set 'input.layout.axes="time,pol"'
for chunks in "" -chunks; do
    like "8 bit offset$chunks" "$good" "offset-u1$chunks.h5" --set 'input.layout.packing=8 bit offset'
    like "offset: 128$chunks" "$good" "offset-u1$chunks.h5" --set input.layout.offset=128
    like "16 bit offset$chunks" "$good" "offset-u2$chunks.h5" --set 'input.layout.packing=16 bit offset'
done
like "missing_value is a stored number" "$(made missing.h5 --set input.layout.missing_value=127)" \
    missing-u1.h5 --set input.layout.missing_value=255 --set 'input.layout.packing=8 bit offset'

# --- fewer bits
for bits in 1 2 4; do
    for word in offset twos; do
        case $bits-$word in
        1-offset) packing="1 bit" ;;
        1-twos) continue ;;
        *-offset) packing="$bits bit offset" ;;
        *) packing="$bits bit two's complement" ;;
        esac
        for order in outer inner; do
            axes=time,pol,station
            [ $order = outer ] || axes=pol,station,time
            expected=$(made $bits-$word-$order.h5 --set "input.layout.axes='$axes'")
            for case in 0 1-chunks; do
                high=
                [ "${case%%-*}" = 0 ] || high=" high first"
                like "$packing$high, time $order, $case" "$expected" $bits-$word-$order-$case.h5 \
                    --set "input.layout.axes='$axes'" --set "input.layout.packing=\"$packing$high\""
            done
        done
    done
done
expected=$(made nibbles-turned.h5)
for chunks in "" -chunks; do
    like "4 + 4 bits, 0 Hz at the edge$chunks" "$expected" nibbles$chunks.h5 \
        --set 'input.layout={dataset: /x, axes: "time,pol", sample_rate_hz: 1e6, packing: "4+4 offset hi=re", dc: lower}'
done

# --- parts by themselves, heaps, first samples
plain='dataset: /x, axes: "time,pol", sample_rate_hz: 1e6'
for file in parts parts-chunks; do
    like "$file of their own" "$good" $file.h5 \
        --set 'input.layout={parts: {re: /re, im: /im}, axes: "time,pol", sample_rate_hz: 1e6}'
done
like "files_along reim" "$good" '[re.h5, im.h5]' --set "input.layout={$plain, files_along: reim}"
like "files_along time,reim" "$good" '[time0re.h5, time0im.h5, time1re.h5, time1im.h5]' \
    --set "input.layout={$plain, files_along: 'time,reim'}"
like "files_along pol,reim" "$good" '[pol0re.h5, pol0im.h5, pol1re.h5, pol1im.h5]' \
    --set 'input.layout={dataset: /x, axes: time, sample_rate_hz: 1e6, files_along: "pol,reim"}'
errs 2 'input\.files: 3 files, expected real and imaginary parts in turn' "$voltmill" plan job.yaml \
    --set 'input.files=[re.h5, im.h5, time0re.h5]' --set "input.layout={$plain, files_along: reim}"
ok $bad "an odd number of them"
like "heaps" "$good" heaps.h5 --set 'input.layout.axes="time,pol,time:50,reim"'
errs 4 'heaps-chunks\.h5: /x: time in two dimensions is read where samples are in one piece' "$voltmill" plan job.yaml \
    --set input.files=heaps-chunks.h5 --set 'input.layout.axes="time,pol,time,reim"'
ok $bad "not in chunks"
errs 4 'heaps\.h5: /x: dimension 2 has 50 elements' "$voltmill" plan job.yaml \
    --set input.files=heaps.h5 --set 'input.layout.axes="time,pol,time:51,reim"'
ok $bad "of another size"
head -c $(($(stat -c %s heaps.h5) - 10)) heaps.h5 >heaps-cut.h5
errs 4 'heaps-cut\.h5: /x: samples [0-9]*50 \.\. [0-9]+ are unreadable: .*truncated.*on_bad: nan' "$voltmill" run job.yaml --force \
    --set input.files=heaps-cut.h5 --set 'input.layout.axes="time,pol,time:50,reim"'
ok $bad "the last one cut off"
uneven='dataset: /x, axes: "time,reim", sample_rate_hz: 1e6, files_along: pol'
expected=$(made uneven.h5 --set input.layout=auto)
like "first_sample of files side by side" "$expected" '[uneven0.h5, uneven1.h5]' \
    --set "input.layout={$uneven, first_sample: [10, 80]}"
like "in an attribute" "$expected" '[uneven0.h5, uneven1.h5]' \
    --set "input.layout={$uneven, first_sample: {attribute: /@first}}"
expected=$(made gap.h5 --set input.layout=auto)
like "first_sample of files along time" "$expected" '[gap1.h5, gap0.h5]' --set 'input.layout.first_sample=[600, 0]'
like "in an attribute of each" "$expected" '[gap0.h5, gap1.h5]' --set 'input.layout.first_sample={attribute: /@first}'
errs 2 'first_sample lists 1 samples, expected one for each of 2 files' "$voltmill" plan job.yaml \
    --set 'input.files=[gap0.h5, gap1.h5]' --set input.layout.first_sample=3
ok $bad "too few of them"
errs 4 'gap1\.h5 starts 1 samples before the end of gap0\.h5' "$voltmill" plan job.yaml \
    --set 'input.files=[gap0.h5, gap1.h5]' --set 'input.layout.first_sample=[0, 399]'
ok $bad "files that overlap"

# --- the native layout
own() { made "$1" --set input.layout=auto "${@:2}"; }
same "native: 32 bits" "$good" "$(own native-i4.h5)"
same "native: 8 bit offset" "$good" "$(own native-offset.h5)"
same "native: 2 bit offset" "$(made 2-offset-outer.h5 --set 'input.layout.axes="time,pol,station"')" "$(own native-2bit.h5)"
same "native: 0 Hz at the edge" "$good" "$(own edge.h5)"
same "0 Hz at the edge, said by the job" "$good" "$(own bad-edge.h5 --set 'input.layout={dataset: /voltages, axes: "time,pol,reim", sample_rate_hz: 1e6, dc: upper}')"
expected=$(own streams.h5)
same "native: gaps of streams are missing samples" 112 \
    "$(warm -c 'import h5py; print(h5py.File("out.h5")["provenance"].attrs["gap_samples"])')"
like "native: gaps of files side by side" "$expected" '[side0.h5, side1.h5]' --set 'input.layout={files_along: pol}'
rm -f out.h5
while IFS='|' read -r file pattern; do
    errs 4 "$file\.h5: $pattern" "$voltmill" plan job.yaml --set input.files=$file.h5 --set input.layout=auto
    ok $bad "native: $file"
done <<'LIST'
bad-edge|/voltages has an attribute dc, but the file's format_version is 1: it is of version 3
bad-dc|/voltages: dc is edge, expected centre, lower or upper
bad-stream|a gap is of stream 2 of 2, or out of order
bad-beyond|a gap of stream 0 \(2 samples from 999\) overlaps the one before or is beyond the last sample
bad-overlap|a gap of stream 0 \(1 samples from 8\) overlaps
bad-shape|/gaps is 1 x 4, expected \[n\]\[2\] or \[n\]\[3\]
LIST
cat >spec.yaml <<'YAML'
{file: synth.h5, samples: 1000, streams: {pols: 2, chans: 2}, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e9, noise: 9,
 gaps: [{first: 100, count: 50, stream: 3}, {first: 120, count: 40, stream: 3}, {first: 0, count: 10}]}
YAML
"$voltmill" synth spec.yaml >stdout 2>stderr || note <stderr
gaps() { warm -c 'import h5py; print(h5py.File("synth.h5")["gaps"][()].tolist())'; }
same "synth: gaps of streams" "[[0, 10, 0], [0, 10, 1], [0, 10, 2], [0, 10, 3], [100, 60, 3]]" "$(gaps)"
"$voltmill" synth spec.yaml --force --set 'gaps=[{first: 7, count: 3}, {first: 2, count: 5}, {first: 50, count: 1}]' >stdout 2>stderr || note <stderr
same "synth: gaps of all" "[[2, 8], [50, 1]]" "$(gaps)"
errs 2 'gaps\.0\.stream: is 4, expected less than the 4' "$voltmill" synth spec.yaml --force --set gaps.0.stream=4
ok $bad "synth: no such stream"
errs 2 'gaps\.2: ends at sample 1001, expected at most the 1000' "$voltmill" synth spec.yaml --force --set gaps.2.first=991
ok $bad "synth: a gap beyond the end"

# --- values in the file
rm -f out.h5
said() { "$voltmill" plan job.yaml --set input.files=said.h5 "$@" 2>&1; }
said --set 'input.layout={dataset: /x, axes: "time,pol,reim", sample_period_s: {attribute: /@dt, unit: us}, sideband: {attribute: "@side"},
    freq_hz: {from: /group/freq, member: centre, unit: MHz}, start: {attribute: /@ctime, unit: unix}, telescope: {attribute: /@tel},
    ra_deg: {attribute: /@ra, unit: hours}, dec_deg: -5}' >stdout
same "all at once" "1,000 at 500 kHz|1.42025 GHz to 1.42075 GHz|2014-05-13T16:53:20.250000 UTC|Mine|RA 82.500000, Dec -5.000000 degrees (05:30:00.00 -05:00:00.0)" \
    "$(sed -nE 's/^  samples  .*complex, ([^:]*):.*/\1/p; s/^  (band|start|telescope|position) *([^,]*.*)/\2/p' stdout | sed 's/, stored.*//' | paste -sd'|')"
same "a day" "2014-05-13T12:00:00.000000 UTC" "$(said --set 'input.layout.start={attribute: /@mjd, unit: mjd}' | sed -n 's/^  start  *//p')"
same "a text" "2014-06-29T01:39:20.500000 UTC" "$(said --set 'input.layout.start={attribute: /@when}' | sed -n 's/^  start  *//p')"
same "freq_hz counted" "999.5 MHz to 1.0005 GHz" "$(said --set 'input.layout.freq_hz={start: 1e9, step: -1e6}' | sed -nE 's/^  band  *//p')"
while IFS='|' read -r name set pattern; do
    errs '[24]' "$pattern" "$voltmill" plan job.yaml --set input.files=said.h5 --set "input.layout.$set"
    ok $bad "$name"
done <<'LIST'
no such attribute|scale={attribute: /@none}|said\.h5: /@none: there is no attribute none
no such object|scale={attribute: /none@x}|said\.h5: /none@x: there is no /none
a wrong value|sideband={attribute: /@dt}|said\.h5: /@dt, which is to say input\.layout\.sideband, is 2, expected one of 1, -1, \+1
a text for a number|scale={attribute: /@tel}|said\.h5: /@tel, which is to say input\.layout\.scale, is Mine, expected a number
no number|sample_rate_hz={attribute: /@tel, unit: MHz}|said\.h5: /@tel is "Mine", expected a number
several numbers|scale={attribute: "@gains"}|said\.h5: @gains contains 3 values, such as 1 and 2\.5, expected one
a packing|packing={attribute: "@packed"}|said\.h5: @packed, which is to say input\.layout\.packing, is none, expected one of
no member|freq_hz={from: /group/freq}|said\.h5: /group/freq contains compounds: say which member
another member|freq_hz={from: /group/freq, member: c}|said\.h5: /group/freq has no member c
too many frequencies|freq_hz={from: /group/list}|said\.h5: /x: /group/list contains 2 frequencies, expected one for each of 1
LIST
# --- coarse channels by ranges and by frequency; sidebands and oversampling stitched in sky order
same "select: a range" "$(own chans.h5 --set 'input.select.chans=[1, 2, 3]')" "$(own chans.h5 --set input.select.chans=1..3)"
same "select: a band" "$(own chans.h5 --set 'input.select.chans=[2, 3]')" "$(own chans.h5 --set 'input.select.freq_hz=[1001.6e6, 1002.6e6]')"
own inverted.h5 --set 'input.select.freq_hz=[1.0e9, 1.003e9]' >digest
same "sideband -1, oversampled 4/3: the axis ascends, edges dropped" "True 96 0.75" "$(warm -c 'import h5py, numpy as np
f = h5py.File("out.h5")["frequency"][()]
print((np.diff(f) > 0).all(), f.size, round(4 * 24 / (4 * 32), 4))')"
rm -f out.h5
while IFS='|' read -r set pattern; do
    errs 2 "$pattern" "$voltmill" plan job.yaml --set input.files=chans.h5 --set input.layout=auto --set "input.select.$set"
    ok $bad "select: $set"
done <<'LIST'
chans=3..1|3\.\.1 ends before it begins
chans=2..5|5 is none of the 5 chans
chans=[1, 0..2]|names chan 0\.\.2 twice
freq_hz=[2e9, 3e9]|has no coarse channel between 2000000000 and 3000000000 Hz
freq_hz=[2e9, 1e9]|ends at 1000000000, expected more than 2000000000
LIST

# --- info proposes a layout, which a job can begin with
"$voltmill" info said.h5 >stdout 2>stderr || note <stderr
same "info: attributes" '  /@dt = 2|  /@tel = "Mine"|  /x@side = -1' \
    "$(grep -E '^  /(@dt|@tel|x@side)' stdout | paste -sd'|')"
sed '1,/^A job may begin so/d' stdout >proposed.yaml
same "info: a layout" 'dataset: /x|axes: "time,pol,reim"|sample_rate_hz: ???|freq_hz: {from: /group/freq, member: centre, unit: MHz}|start: ???' \
    "$(sed -nE 's/^    ([^#]*[^ #]).*/\1/p' proposed.yaml | sed 's/  # .*//; s/  *$//' | paste -sd'|')"
same "info: what differs" "/@mjd = 56790.5 MJD, /@ctime = 1400000000.25 unix: these differ" \
    "$(sed -n 's/^    start: ??.  # UTC of the first sample; //p' proposed.yaml)"
fails "info: a job without what is left open" 2 'input\.layout\.start: is "\?\?\?": replace \?\?\? by a UTC date' "$voltmill" plan proposed.yaml
sed -i 's/rate_hz: ???/rate_hz: 1e6/; s/start: ???/start: {attribute: "\/@mjd", unit: mjd}/' proposed.yaml
runs "info: a job, once it is replaced" "$voltmill" plan proposed.yaml
"$voltmill" info named.h5 >stdout 2>stderr || note <stderr
same "info: by names" 'axes: "chan,station,time"|sample_period_s: {attribute: "/@delta_time"}' \
    "$(sed -nE 's/^    ((axes|sample_period).*)/\1/p' stdout | sed 's/  # .*//' | paste -sd'|')"
same "info: filters" '/x: 4 x 2 x 500 of 32 bits, floating point, in chunks, shuffle, deflate' "$(sed -n 's/^  \(.x: .*\)/\1/p' stdout)"
warm - <<'PYTHON'
import h5py
import numpy as np
with h5py.File("deep.h5", "w") as f:
    group = f
    for _ in range(1000):
        group = group.create_group("g")
    group["x"] = np.ones((100, 2), "i2")
    for i, name in enumerate(("time", "pol")):
        f[name] = np.arange((100, 2)[i])
        f[name].make_scale(name)
        group["x"].dims[i].attach_scale(f[name])
with h5py.File("links.h5", "w") as f:
    a = f.create_group("a")
    b = a.create_group("b")
    b["up"], b["a"], f["aa"] = f["/"], a, b
    a["d"] = np.ones((4, 2))
    f["zd"] = a["d"]
    f["soft"], f["nowhere"], f["elsewhere"] = h5py.SoftLink("/a"), h5py.SoftLink("/none"), h5py.ExternalLink("said.h5", "/")
    f["z"] = 5
PYTHON
(ulimit -t 5; "$voltmill" info deep.h5) >stdout 2>stderr || note <stderr
same "info: groups in groups take seconds, not minutes" 'axes: "time,pol"' "$(grep -o 'axes: .*"' stdout)"
"$voltmill" info links.h5 >stdout 2>stderr || note <stderr
same "info: each object once, whatever leads to it" '/a/d /z' "$(sed -n 's|^  \(/[^ ]*\): .*|\1|p' stdout | paste -sd' ')"
nothing_left
plan
