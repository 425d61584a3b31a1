#!/usr/bin/env bash
# Archives that are not what they should be: each gets a message with file, place, value and expected
# value, status 4 (or 2, where the job's description is wrong), and leaves nothing behind.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

# bad NAME STATUS PATTERN ARCHIVE [SET...]: the archive must fail so. `plan` opens it as `run` does, in
# a third of the time; further below `run` shows that it ends likewise.
bad() {
    local name=$1 status=$2 pattern=$3 archive=$4 sets=()
    shift 4
    for set; do sets+=(--set "$set"); done
    fails "$name" "$status" "$pattern" \
        "$voltmill" plan job.yaml --set input.files="$archive" "${sets[@]}"
    nothing_left
}

# foreign AXES: the description of /x.
foreign() { echo "input.layout={dataset: /x, axes: '$1', sample_rate_hz: 1e6${2:+, $2}}"; }

cat >job.yaml <<'END'
input:
  files: good.h5
channelise:
  channels: 16
  taps: 4
products:
  - kind: spectra
    file: out.h5
END

PYTHONPATH="$here/tests/cli" warm - <<'END' || exit 1
from archives import *
import os

x = noise((1024, 2, 2))
native("good.h5", x)
native("good2.h5", x, root={"start_second": 100 + 1024 / RATE})

# Not files of voltages at all.
open("text.h5", "w").write("# not HDF5\n" * 100)
open("empty.h5", "w")
open("zeros.h5", "wb").write(bytes(100000))
os.mkdir("folder.h5")

# Coarse channels closer together than their samples are taken, and farther apart.
four = noise((1024, 4, 2))
for name, apart, attrs in (
        ("close", 27 / 32, {}), ("falling", -27 / 32, {}), ("twice", 0, {}), ("odd", 0.7123, {}), ("far", 2, {}),
        ("rounded", 0.9984, {}), ("stated", 27 / 32, dict(oversampling_num=np.int32(32), oversampling_den=np.int32(27))),
        ("other", 27 / 32, dict(oversampling_num=np.int32(4), oversampling_den=np.int32(3))),
        ("less", 27 / 32, dict(oversampling_num=np.int32(8), oversampling_den=np.int32(7)))):
    native(f"apart-{name}.h5", four, "time,chan,reim", attrs=attrs,
           scales={"freq_hz": 1e9 + RATE * apart * np.arange(4.0)})
native("apart-list.h5", four, "time,chan,reim", scales={"freq_hz": 1e9 + RATE * np.array([7.0, 0, 5, 1])})
for name, apart in ("real", 0.5), ("real-close", 0.4):
    native(f"apart-{name}.h5", noise((1024, 4)), "time,chan", scales={"freq_hz": 1e9 + RATE * apart * np.arange(4.0)})

# Cut short.
size = os.path.getsize("good.h5")
open("cut.h5", "wb").write(open("good.h5", "rb").read()[:size // 2])
open("cut-by-one.h5", "wb").write(open("good.h5", "rb").read()[:-1])
native("chunked.h5", noise((65536, 2, 2)), chunks=(4096, 2, 2), compression=1)
open("cut-chunked.h5", "wb").write(open("chunked.h5", "rb").read()[:150000])
open("head.h5", "wb").write(open("good.h5", "rb").read()[:300])

# Compressed by something that is not here; also as the source of a virtual dataset.
native("filter.h5", noise((65536, 2, 2)), chunks=(4096, 2, 2), compression=1)
unknown_filter("filter.h5")
layout = h5py.VirtualLayout((65536, 2, 2), "i1")
layout[:] = h5py.VirtualSource("filter.h5", "voltages", (65536, 2, 2))
native("filter-behind.h5", noise((64, 2, 2)))
with h5py.File("filter-behind.h5", "r+") as file:
    words = dict(file["voltages"].attrs)
    del file["voltages"]
    put(file.create_virtual_dataset("voltages", layout), words)

# External files.
raw = x.tobytes()
os.mkdir("far")
def external(name, files, folder="far"):
    for file, content in files:
        if content is not None:
            open(os.path.join(folder, file), "wb").write(content)
    plain(os.path.join(folder, name), None, shape=x.shape, dtype="i1",
          external=[(file, 0, len(raw) // len(files)) for file, _ in files])
external("whole.h5", [("whole.raw", raw)])
external("two.h5", [("two-a.raw", raw[:len(raw) // 2]), ("two-b.raw", raw[len(raw) // 2:])])
external("short.h5", [("short.raw", raw[:-1])])
external("two-short.h5", [("short-a.raw", raw[:len(raw) // 2]), ("short-b.raw", raw[:100])])
external("missing.h5", [("nowhere.raw", None)])
plain("x.h5", x)

# The native layout, one word wrong at a time.
for name, root in {
    "version-missing": {"format_version": None}, "version-5": {"format_version": np.int32(5)}, "version-0": {"format_version": np.int32(0)},
    "version-text": {"format_version": "one"}, "format-other": {"format": "spectra of tea"},
    "format-number": {"format": 7}, "no-time-scale": {"time_scale": None}, "scale-tai": {"time_scale": "TAI"},
    "scale-number": {"time_scale": 3.0}, "day-negative": {"start_mjd_day": np.int32(-1)},
    "day-half": {"start_mjd_day": 58849.5}, "day-whole": {"start_mjd_day": 58849.0},
    "day-text": {"start_mjd_day": "today"}, "second-nan": {"start_second": np.nan},
    "ra-huge": {"ra_deg": 1.7e308, "dec_deg": 5.0}, "dec-nan": {"ra_deg": 5.0, "dec_deg": np.nan},
    "second-missing": {"start_second": None}, "day-missing": {"start_mjd_day": None},
    "telescope-number": {"telescope": 42}, "no-start": {"start_mjd_day": None, "start_second": None},
}.items():
    native(f"{name}.h5", x, root=root)
for name, attrs in {
    "axes-missing": {"axes": None}, "axes-number": {"axes": 3}, "axes-unknown": {"axes": "time,feed,reim"},
    "axes-twice": {"axes": "time,pol,pol"}, "axes-no-time": {"axes": "beam,pol,reim"},
    "axes-empty": {"axes": ""}, "axes-few": {"axes": "time,reim"}, "axes-reim": {"axes": "reim,pol,time"},
    "rate-missing": {"sample_rate_hz": None}, "rate-text": {"sample_rate_hz": "fast"},
    "rate-two": {"sample_rate_hz": np.array([1e6, 2e6])}, "rate-twice": {"sample_rate_hz": np.array([1e6, 1e6])},
    "rate-zero": {"sample_rate_hz": 0.0}, "rate-negative": {"sample_rate_hz": -1e6},
    "rate-nan": {"sample_rate_hz": np.nan}, "rate-inf": {"sample_rate_hz": np.inf},
    "domain-missing": {"domain": None}, "domain-other": {"domain": "imaginary"},
    "domain-number": {"domain": 1}, "domain-real": {"domain": "real"},
    "sideband-zero": {"sideband": np.int32(0)}, "sideband-text": {"sideband": "upper"},
    "sideband-missing": {"sideband": None},
    "packing-other": {"packing": "3+5 offset"}, "packing-number": {"packing": 4},
    "packing-reim": {"packing": "4+4 offset hi=re"}, "scale-of-1": {"scale": 2.0},
    "missing-text": {"missing_value": "none"},
    "over-less": {"oversampling_num": np.int32(27), "oversampling_den": np.int32(32)},
    "over-zero": {"oversampling_num": np.int32(0), "oversampling_den": np.int32(0)},
    "over-num": {"oversampling_num": np.int32(4)}, "over-den": {"oversampling_den": np.int32(3)},
}.items():
    native(f"{name}.h5", x, attrs=attrs)
few = dict(packing="2 bit offset", domain="real")
native("levels-3.h5", x.view("u1")[:, :, 0], axes="time,pol", root={"format_version": np.int32(4)}, attrs=few, scales={"levels": [0.0, 1, 2]})
native("levels-nan.h5", x.view("u1")[:, :, 0], axes="time,pol", root={"format_version": np.int32(4)}, attrs=few,
       scales={"levels": [0.0, 1, 2, np.nan]})
native("levels-of-none.h5", x, root={"format_version": np.int32(4)}, scales={"levels": [0.0, 1, 2, 3]})
native("offset-of-3.h5", x, root={"format_version": np.int32(3)}, attrs={"offset": 127.5})
for name, scale in {"scale-zero": 0.0, "scale-negative": -1.0, "scale-nan": np.nan, "scale-inf": np.inf,
                    "scale-tiny": 1e-31, "scale-text": "2"}.items():
    native(f"{name}.h5", x, root={"format_version": np.int32(2)}, attrs={"scale": scale})
native("over-real.h5", x[:, :, 0], "time,pol",
       attrs={"oversampling_num": np.int32(32), "oversampling_den": np.int32(27)})
native("domain-complex.h5", x[:, :, 0], "time,pol", attrs={"domain": "complex"})
native("packing-int16.h5", noise((1024, 2), np.int16), "time,pol", attrs={"packing": "4+4 offset hi=re"})
text = h5py.string_dtype()
for name, scales in {
    "freq-missing": {"freq_hz": None}, "freq-two": {"freq_hz": [1e9, 2e9]}, "freq-nan": {"freq_hz": [np.nan]},
    "freq-text": {"freq_hz": np.array(["low"], dtype=text)}, "pol-three": {"pol": np.array(["X", "Y", "Z"], dtype=text)},
    "pol-numbers": {"pol": [0, 1]}, "station-two": {"station": np.array(["A", "B"], dtype=text)},
    "gaps-beyond": {"gaps": np.array([[1000, 25]], "u8")}, "gaps-overlap": {"gaps": np.array([[10, 20], [29, 5]], "u8")},
    "gaps-flat": {"gaps": np.array([1, 2], "u8")}, "gaps-four": {"gaps": np.ones((2, 4), "u8")},
    "gaps-negative": {"gaps": np.array([[-1, 10]], "i8")}, "gaps-whole": {"gaps": np.array([[4.0, 10]])},
    "gaps-fraction": {"gaps": np.array([[4, 10], [20.5, 2]])},
    "gaps-huge": {"gaps": np.array([[2**64 - 1, 2]], "u8")},
}.items():
    native(f"{name}.h5", x, scales=scales)
with h5py.File("dataset-missing.h5", "w") as file:
    put(file, dict(format="voltage", format_version=np.int32(1)))
    file["group/other"] = x
    file["volts"] = x

# Types and shapes.
plain("type-bool.h5", x.astype("?"))
plain("type-string.h5", np.full((1024, 2, 2), b"abcd"))
plain("type-vlen.h5", np.full((64, 2, 2), "abcd", dtype=object), dtype=text)
def pairs(*types):
    return np.zeros((1024, 2), [(f"m{i}", t) for i, t in enumerate(types)])
plain("compound-1.h5", pairs("i1"))
plain("compound-3.h5", pairs("i1", "i1", "i1"))
plain("compound-mixed.h5", pairs("i1", "i2"))
plain("compound-order.h5", pairs("<i2", ">i2"))
plain("compound-good.h5", pairs("i2", "i2"))
plain("compound-turned.h5", np.zeros((1024, 2), [("Imag", "i2"), ("Real", "i2")]))
def patched(path, before, value):
    """Replaces the four bytes behind `before`."""
    content = bytearray(open(path, "rb").read())
    at = content.index(before) + len(before)
    content[at:at + 4] = value.to_bytes(4, "little")
    open(path, "wb").write(content)
for name, place in dict(outside=1 << 22, inside=1, edge=3).items():
    plain(f"compound-{name}.h5", pairs("i2", "i2"))
    patched(f"compound-{name}.h5", b"m1" + bytes(6), place)
plain("streams.h5", None, shape=(8, 1 << 26), dtype="i1", chunks=(1, 1 << 16))
plain("compound-nested.h5", pairs([("a", "i1"), ("b", "i1")], [("a", "i1"), ("b", "i1")]))
plain("none.h5", np.zeros((0, 2, 2), "i1"))
plain("no-pols.h5", np.zeros((1024, 0, 2), "i1"))
plain("few.h5", np.zeros((63, 2, 2), "i1"))
plain("scalar.h5", np.int8(3))
plain("reim-3.h5", np.zeros((1024, 2, 3), "i1"))
plain("joined.h5", np.zeros((1024, 10, 2), "i1"))
with h5py.File("null.h5", "w") as file:
    file["x"] = h5py.Empty("i1")
    file["y/group"] = x
with h5py.File("dangling.h5", "w") as file:
    file["data"] = h5py.SoftLink("/nowhere")

# Files that do not belong together.
later = {"start_second": 100 + 1024 / RATE}
native("other-rate.h5", x, root=later, attrs={"sample_rate_hz": 2e6})
native("other-shape.h5", noise((1024, 3, 2)), root=later)
native("other-type.h5", x.astype("i2"), root=later)
native("other-axes.h5", x, "time,beam,reim", root=later)
native("other-sideband.h5", x, root=later, attrs={"sideband": np.int32(-1)})
native("other-freq.h5", x, root=later, scales={"freq_hz": [2e9]})
native("other-missing.h5", x, root=later, attrs={"missing_value": -128.0})
native("other-over.h5", x, root=later, attrs={"oversampling_num": np.int32(2), "oversampling_den": np.int32(1)})
native("another-day.h5", x, root={"start_second": 100 + 90000 / RATE})
native("overlap-in-time.h5", x, root={"start_second": 100 + 1014 / RATE})
native("same-time.h5", x)
native("order-little.h5", noise((1024, 2, 2), "<i2"))
native("order-big.h5", noise((1024, 2, 2), ">i2"), root=later)
for i, packing in enumerate(("4+4 offset hi=re", "4+4 offset lo=re")):
    native(f"packing-{i}.h5", x[:, :, 0].view("u1"), "time,pol", attrs={"packing": packing},
           root=later if i else {})
native("names-many.h5", x)
with h5py.File("names-many.h5", "r+") as file:
    file.create_dataset("pol", (2**27,), "S64", chunks=(2**10,))
native("names-ab.h5", x, scales={"pol": np.array(["X", "Y"], dtype=text)})
native("names-ba.h5", x, scales={"pol": np.array(["Y", "X"], dtype=text)}, root=later)

# One bit wrong in a compressed chunk in the middle.
native("flipped.h5", noise((65536, 2, 2)), chunks=(4096, 2, 2), compression=1)
with h5py.File("flipped.h5") as file:
    place = file["voltages"].id.get_chunk_info(9)
with open("flipped.h5", "r+b") as file:
    file.seek(place.byte_offset + place.size // 2)
    byte = file.read(1)[0]
    file.seek(-1, 1)
    file.write(bytes([byte ^ 16]))
native("flipped-sum.h5", noise((65536, 2, 2)), chunks=(4096, 2, 2), fletcher32=True)
with h5py.File("flipped-sum.h5") as file:
    place = file["voltages"].id.get_chunk_info(9)
with open("flipped-sum.h5", "r+b") as file:
    file.seek(place.byte_offset + 1000)
    byte = file.read(1)[0]
    file.seek(-1, 1)
    file.write(bytes([byte ^ 16]))
END

runs "a good archive" "$voltmill" run job.yaml
rm -f out.h5

# --- not an archive
bad "missing file" 4 'nowhere\.h5: No such file' nowhere.h5
bad "no file matches" 4 'no file matches input\.files: no\*\.h6' 'no*.h6'
bad "a folder" 4 'folder\.h5 is not a file' folder.h5
bad "a text file" 4 'text\.h5 is not an HDF5 file \(1100 bytes\)' text.h5
bad "an empty file" 4 'empty\.h5 is not an HDF5 file \(0 bytes\)' empty.h5
filter='is compressed with the filter 64783 \(nothing\), which neither voltmill nor HDF5 has here: .* HDF5_PLUGIN_PATH names'
bad "an unknown filter" 4 "filter\\.h5: /?voltages $filter" filter.h5
bad "an unknown filter behind a virtual dataset" 4 "filter\\.h5: /?voltages $filter" filter-behind.h5
bad "zeros" 4 'zeros\.h5 is not an HDF5 file' zeros.h5
if can_be_other; then
    cp good.h5 secret.h5
    chmod 000 secret.h5
    mkdir -m 777 open
    fails "an unreadable file" 4 'secret\.h5 cannot be opened: Permission denied' \
        "${as_other[@]}" "$voltmill" run job.yaml --set input.files=secret.h5 --set products.0.file=open/out.h5
    same "an unreadable file leaves nothing" "" "$(ls open)"
else
    skip "an unreadable file: no other user can run the program here"
fi

# --- cut short
bad "contiguous, cut in the middle" 4 'cut\.h5 .*truncated.* [0-9]+ bytes' cut.h5
bad "contiguous, one byte short" 4 'cut-by-one\.h5 .*truncated' cut-by-one.h5
bad "chunked, cut in the middle" 4 'cut-chunked\.h5 .*truncated' cut-chunked.h5
bad "only the head" 4 'head\.h5 ' head.h5

# --- external files
layout=$(foreign time,pol,reim)
runs "plain" "$voltmill" run job.yaml --set input.files=x.h5 --set "$layout" --set products.0.file=x-out.h5
expected=$(data x-out.h5)
for name in whole two; do
    runs "external, $name, beside the HDF5 file" \
        "$voltmill" run job.yaml --set input.files=far/$name.h5 --set "$layout"
    same "external, $name, gives the same rows" "$expected" "$(data out.h5)"
    rm -f out.h5
    (cd far && "$voltmill" run ../job.yaml --set input.files="$PWD/$name.h5" --set "$layout" >"$work/output" 2>&1)
    ok $? "external, $name, by its full name, from its own folder"
    same "external, $name, gives the same rows again" "$expected" "$(data far/out.h5)"
    rm -f far/out.h5
done
bad "external, one byte short" 4 \
    'far/short\.raw is truncated: far/short\.h5 declares 4096 bytes from offset 0 in it, but it ends at 4095' \
    far/short.h5 "$layout"
bad "external, second one short" 4 'far/short-b\.raw is truncated: .* declares 2048 bytes .* ends at 100' \
    far/two-short.h5 "$layout"
bad "external, missing" 4 'far/missing\.h5: external file .*nowhere\.raw: No such file' far/missing.h5 "$layout"

# --- the words of the native layout
bad "format_version missing" 4 'version-missing\.h5 has no attribute format_version, expected 1' version-missing.h5
bad "format_version 5" 4 'version-5\.h5: format_version is 5, this program reads versions 1 to 4' version-5.h5
bad "format_version 0" 4 'version-0\.h5: format_version is 0, this program reads versions 1 to 4' version-0.h5
bad "a scale in format_version 1" 4 'scale-of-1\.h5: /voltages has an attribute scale, but .*format_version is 1' scale-of-1.h5
for scale in zero:0 negative:-1 nan:nan inf:inf tiny:1e-31; do
    bad "a scale that is ${scale%:*}" 4 "scale-${scale%:*}\\.h5: /voltages: scale is ${scale#*:}, expected a number from 1e-30" scale-${scale%:*}.h5
done
bad "three levels of 2 bits" 4 'levels-3\.h5: /voltages: there are 3 levels, expected 4 of 2 bits' levels-3.h5
bad "a level that is no number" 4 'levels-nan\.h5: /levels contains nan' levels-nan.h5
bad "levels of bytes" 4 'levels-of-none\.h5: has /levels, but its samples have no packing' levels-of-none.h5
bad "an offset in format_version 3" 4 'offset-of-3\.h5: /voltages has an attribute offset, but .*format_version is 3' offset-of-3.h5
bad "a scale that is a text" 4 'attribute scale is not a number' scale-text.h5
bad "format_version a text" 4 'version-text\.h5: attribute format_version is not a number' version-text.h5
bad "another format" 4 'format-other\.h5 is not in the native layout .*input\.layout' format-other.h5
bad "format a number" 4 'format-number\.h5 is not in the native layout' format-number.h5
same "no time_scale: UTC is assumed" "assumed: no-time-scale.h5: start in UTC: the file has no time_scale" \
    "$("$voltmill" plan job.yaml --set input.files=no-time-scale.h5 2>&1 | grep ^assumed:)"
bad "time_scale TAI" 4 'scale-tai\.h5: time_scale is TAI, expected UTC' scale-tai.h5
bad "time_scale a number" 4 'scale-number\.h5: time_scale is not text' scale-number.h5
bad "start before MJD 0" 4 'day-negative\.h5: start_mjd_day -1' day-negative.h5
bad "start half a day late" 4 'day-half\.h5: attribute start_mjd_day is 58849\.5, expected a whole number' day-half.h5
runs "a day of a float" "$voltmill" plan job.yaml --set input.files=day-whole.h5
bad "two sample rates" 4 'rate-two\.h5: /voltages: attribute sample_rate_hz contains 2 different values, expected one' rate-two.h5
runs "a sample rate twice" "$voltmill" plan job.yaml --set input.files=rate-twice.h5
bad "start a text" 4 'day-text\.h5: attribute start_mjd_day is not a number' day-text.h5
bad "right ascension out of range" 4 'ra-huge\.h5: ra_deg 1\.7e\+308, dec_deg 5: not a position' ra-huge.h5
bad "declination NaN" 4 'dec-nan\.h5: .*not a position' dec-nan.h5
bad "start second NaN" 4 'second-nan\.h5: .*start_second nan' second-nan.h5
bad "start_second missing" 4 'second-missing\.h5 .*start_second' second-missing.h5
bad "start_mjd_day missing" 4 'day-missing\.h5 .*start_mjd_day' day-missing.h5
bad "telescope a number" 4 'telescope-number\.h5: telescope is not text' telescope-number.h5
bad "axes missing" 4 'axes-missing\.h5: /voltages has no attribute axes' axes-missing.h5
bad "axes a number" 4 'axes-number\.h5: /voltages: axes is not text' axes-number.h5
bad "axes unknown" 4 'axes-unknown\.h5: .*no axis is called feed, expected time, station' axes-unknown.h5
bad "axes twice" 4 'axes-twice\.h5: .*the axis pol stands there twice' axes-twice.h5
bad "axes without time" 4 'axes-no-time\.h5: .*the axis time is missing' axes-no-time.h5
bad "axes empty" 4 'axes-empty\.h5: .*expected an axis' axes-empty.h5
bad "axes too few" 4 'axes-few\.h5: .*3 dimensions \(1024 x 2 x 2\), but axes names 2 \(time,reim\)' axes-few.h5
bad "reim on the long axis" 4 'axes-reim\.h5: .*reim has 1024 elements, expected 2' axes-reim.h5
bad "sample_rate_hz missing" 4 'rate-missing\.h5: /voltages .*sample_rate_hz' rate-missing.h5
bad "sample_rate_hz a text" 4 'rate-text\.h5: .*sample_rate_hz is not a number' rate-text.h5
for value in zero:0 negative:-1e\\+06 nan:nan inf:inf; do
    bad "sample_rate_hz ${value%:*}" 4 "rate-${value%:*}\.h5: .*sample_rate_hz is ${value#*:}, expected" \
        rate-${value%:*}.h5
done
bad "domain missing" 4 'domain-missing\.h5: /voltages.* domain .*complex or real' domain-missing.h5
bad "domain imaginary" 4 'domain-other\.h5: .*domain is imaginary, expected complex or real' domain-other.h5
bad "domain a number" 4 'domain-number\.h5: .*domain is not text' domain-number.h5
bad "domain real, axis reim" 4 'domain-real\.h5: .*says real, but the samples are complex' domain-real.h5
bad "domain complex, real samples" 4 'domain-complex\.h5: .*says complex, but the samples are real' domain-complex.h5
bad "sideband 0" 4 'sideband-zero\.h5: .*sideband is 0, expected \+1 or -1' sideband-zero.h5
bad "sideband a text" 4 'sideband-text\.h5: .*sideband is not a number' sideband-text.h5
bad "sideband missing" 4 'sideband-missing\.h5: .*sideband' sideband-missing.h5
bad "packing unknown" 4 'packing-other\.h5: .*packing is "3\+5 offset", expected one of "4\+4' packing-other.h5
bad "packing a number" 4 'packing-number\.h5: .*packing is not text' packing-number.h5
bad "packing and reim" 4 'packing-reim\.h5: .*axes names reim' packing-reim.h5
bad "packing of 16 bits" 4 'packing-int16\.h5: .*packing needs 8-bit elements, found 16-bit' packing-int16.h5
bad "missing_value a text" 4 'missing-text\.h5: .*missing_value is not a number' missing-text.h5
bad "oversampling below 1" 4 'over-less\.h5: .*oversampling is 27/32, expected 1 or more' over-less.h5
bad "oversampling 0/0" 4 'over-zero\.h5: .*oversampling is 0/0, expected' over-zero.h5
bad "oversampling without its den" 4 'over-num\.h5: .*has no attribute oversampling_den, expected oversampling_num and' over-num.h5
bad "oversampling without its num" 4 'over-den\.h5: .*has no attribute oversampling_num, expected oversampling_num and' over-den.h5
bad "oversampled real samples" 4 'over-real\.h5: .*real samples cannot be oversampled.*32/27' over-real.h5
bad "freq_hz missing" 4 'freq-missing\.h5 has no dataset /freq_hz, expected the centre of each of 1' freq-missing.h5
bad "freq_hz for two" 4 'freq-two\.h5: /freq_hz contains 2 .*expected .*1' freq-two.h5
bad "freq_hz NaN" 4 'freq-nan\.h5: .*coarse channel 0 is not a number' freq-nan.h5
bad "freq_hz texts" 4 'freq-text\.h5: freq_hz cannot be read as numbers' freq-text.h5
bad "three names for two polarisations" 4 'pol-three\.h5: .*2 of axis pol, but /pol names 3' pol-three.h5
bad "names beyond any number" 4 'names-many\.h5: (/pol has elements that are unreadable|pol contains 134217728 texts of 64 bytes: too much)' names-many.h5
bad "names that are numbers" 4 'pol-numbers\.h5: pol is not text' pol-numbers.h5
bad "names of an axis that is not there" 4 'station-two\.h5: .*names no station, but /station names 2' station-two.h5
bad "a gap beyond the end" 4 'gaps-beyond\.h5: gap 0 \(25 samples from 1000\)' gaps-beyond.h5
bad "gaps that overlap" 4 'gaps-overlap\.h5: gap 1 \(5 samples from 29\)' gaps-overlap.h5
bad "gaps of one dimension" 4 'gaps-flat\.h5: /gaps has 1 dimensions, expected \[n\]\[2\]' gaps-flat.h5
bad "gaps of four numbers" 4 'gaps-four\.h5: /gaps is 2 x 4, expected \[n\]\[2\] or \[n\]\[3\]' gaps-four.h5
bad "a gap before the first sample" 4 'gaps-negative\.h5: gap 0 \(10 samples from' gaps-negative.h5
bad "a gap of a part of a sample" 4 'gaps-fraction\.h5: /gaps is 20\.5, expected a whole number' gaps-fraction.h5
runs "gaps of floats" "$voltmill" plan job.yaml --set input.files=gaps-whole.h5
bad "a gap that overflows" 4 'gaps-huge\.h5: gap 0' gaps-huge.h5
bad "of no format, with a link that leads nowhere" 4 'dangling\.h5 is .* input\.layout describes' dangling.h5
bad "no /voltages" 4 'dataset-missing\.h5 contains no dataset /voltages; it contains /group/other, /volts' dataset-missing.h5

# --- what a description may get wrong
bad "wrong dataset" 4 'compound-good\.h5 contains no dataset /y; it contains /x' compound-good.h5 \
    'input.layout={dataset: /y, axes: "time,pol", sample_rate_hz: 1e6}'
bad "a group for a dataset" 4 'null\.h5 .*/y.* it contains /x, /y/group' null.h5 \
    'input.layout={dataset: /y, axes: "time,pol", sample_rate_hz: 1e6}'
bad "too few axes" 4 'x\.h5: /x has 3 dimensions \(1024 x 2 x 2\), but axes names 1 \(time\)' x.h5 "$(foreign time)"
bad "too many axes" 4 'scalar\.h5: /x has 0 dimensions .*axes names 1' scalar.h5 "$(foreign time)"
bad "an empty dataset" 4 'null\.h5: /x' null.h5 "$(foreign time)"
bad "no sample rate" 2 'sample_rate_hz' x.h5 'input.layout={dataset: /x, axes: "time,pol,reim"}'
bad "joined axes that do not divide" 4 'joined\.h5: /x: dimension 1 has 10 elements, which axes splits into 4' \
    joined.h5 "$(foreign 'time,pol:4*beam,reim')"
bad "joined axes of another size" 4 'joined\.h5: /x: dimension 1 has 10 elements, .* into 8' \
    joined.h5 "$(foreign 'time,pol:4*beam:2,reim')"
bad "reim of 3" 4 'reim-3\.h5: /x: axis reim has 3 elements, expected 2' reim-3.h5 "$layout"
bad "no freq_hz for two coarse channels" 2 'freq_hz is missing: .* 2 coarse channels' x.h5 "$(foreign time,chan,reim)"
bad "three freq_hz for two coarse channels" 2 'freq_hz lists 3 frequencies, but the dataset has 2' x.h5 \
    "$(foreign time,chan,reim 'freq_hz: [1, 2, 3]')"
bad "domain says real" 4 'compound-good\.h5: /x: domain says real, but the samples are complex \(pairs\)' \
    compound-good.h5 "$(foreign time,pol 'domain: real')"
bad "domain says complex" 4 'x\.h5: /x: domain says complex, but the samples are real' \
    x.h5 "$(foreign time,pol,beam 'domain: complex')"

# --- types
good='expected integers, floating point numbers, or pairs of these'
for case in 'bool:8-bit .* no numbers' 'string:32-bit .* no numbers' 'vlen:.* no numbers'; do
    bad "type ${case%%:*}" 4 "type-${case%%:*}\.h5: /x contains ${case#*:}; $good" type-${case%%:*}.h5 "$layout"
done
pair=$(foreign time,pol)
bad "compound of 1" 4 'compound-1\.h5: /x: its compound has 1 member, expected 2' compound-1.h5 "$pair"
bad "compound of 3" 4 'compound-3\.h5: /x: its compound has 3 members, expected 2' compound-3.h5 "$pair"
bad "compound of two types" 4 'compound-mixed\.h5: /x: the two members .* differ' compound-mixed.h5 "$pair"
bad "compound of two byte orders" 4 'compound-order\.h5: /x: the two members .* differ' compound-order.h5 "$pair"
bad "compound with the imaginary part first" 4 'compound-turned\.h5: /x: its compound has Imag before Real, expected the real part first' \
    compound-turned.h5 "$pair"
bad "compound of compounds" 4 'compound-nested\.h5: /x contains' compound-nested.h5 "$pair"
bad "compound and reim" 4 'compound-good\.h5: /x: its elements are complex already, yet axes names reim' \
    compound-good.h5 "$(foreign time,reim)"

# --- too little
for place in outside:4194304 edge:3; do
    # HDF5 1.14 finds it by itself.
    bad "compound, a member ${place%:*}" 4 \
        "compound-${place%:*}\.h5: /x(: the members of its compound, at bytes 0 and ${place#*:} of 4, are not side by side| cannot be opened .*parent compound)" \
        "compound-${place%:*}.h5" "$pair"
done
bad "compound, members on each other" 4 'compound-inside\.h5: /x cannot be opened \(HDF5: .*member' \
    compound-inside.h5 "$pair"
bad "too many streams" 4 \
    'streams\.h5: its number of streams is absurd: more than 16777216, by the 67108864 of axis pol' \
    streams.h5 "$(foreign time,pol 'domain: real')"
bad "length 0" 4 'none\.h5: /x contains no samples: its shape is 0 x 2 x 2' none.h5 "$layout"
bad "no polarisation" 4 'no-pols\.h5: /x contains no samples: its shape is 1024 x 0 x 2' no-pols.h5 "$layout"
"$voltmill" run job.yaml --set 'products=[{kind: power, file: power.h5}]' >/dev/null 2>&1
bad "a filterbank" 4 'power\.h5 is a filterbank: it contains powers, but channelise expects voltages: .* dedisperse alone' power.h5
bad "fewer than T raw spectra" 2 '63 samples hold 3 raw spectra of 16 samples, but 4 taps need at least 4' few.h5 "$layout"

# --- files that do not belong together
alike() { bad "$1" 4 "good\.h5 and other-$2\.h5 do not belong to one observation: .*$3" "[good.h5, other-$2.h5]"; }
alike "another rate" rate 'sample rates'
alike "another shape" shape shapes
alike "another type" type 'sample types'
alike "other axes" axes axes
alike "another sideband" sideband sidebands
alike "other frequencies" freq freq_hz
alike "another missing value" missing 'missing values'
alike "another oversampling" over 'oversampling ratios'
bad "another byte order" 4 'order-little\.h5 and order-big\.h5 .*sample types differ' '[order-little.h5, order-big.h5]'
bad "another packing" 4 'packing-0\.h5 and packing-1\.h5 .*sample types differ' '[packing-0.h5, packing-1.h5]'
bad "names in another order" 4 'names-ab\.h5 and names-ba\.h5 .*names of streams differ' '[names-ab.h5, names-ba.h5]'
bad "a file of another day" 4 'another-day\.h5 starts .* samples after the end .*more than all files' '[good.h5, another-day.h5]'
bad "files that overlap" 4 'overlap-in-time\.h5 starts 10\.0 samples before the end' '[good.h5, overlap-in-time.h5]'
bad "the same file twice" 2 'input\.files: good\.h5 is listed twice: expected each file once' '[good.h5, good.h5]'
ln -s few.h5 linked.h5
bad "without times of its own, by two patterns" 2 'few\.h5 is listed twice:' '[few.h*, f*w.h5]' "$layout"
bad "through a link" 2 'is listed twice, also as (few|linked)\.h5:' '[few.h5, linked.h5]' "$layout"
rm linked.h5
bad "one of the files is missing" 4 'nowhere\.h5: No such file' '[good.h5, nowhere.h5]'

# --- wrong in the middle of a run
for ranks in 1 3; do
    for file in flipped flipped-sum; do
        breaks "$file: a bit flipped in a chunk, $ranks ranks" 4 \
            "$file\.h5: /voltages: the chunk that begins at \\(36864, 0, 0\\): (deflate|fletcher32): " \
            mpirun -n $ranks "$voltmill" run job.yaml --set input.files=$file.h5
        nothing_left
    done
done
for file in text cut axes-missing gaps-beyond freq-missing; do
    fails "$file, run" 4 "$file\.h5" "$voltmill" run job.yaml --set input.files=$file.h5
    nothing_left
    fails "$file, 3 ranks" 4 "$file\.h5" mpirun -n 3 "$voltmill" run job.yaml --set input.files=$file.h5
    nothing_left
done

# readable NAME FILE [SET...]: a job that can be planned.
readable() {
    local name=$1 file=$2 sets=()
    shift 2
    for set; do sets+=(--set "$set"); done
    runs "$name" "$voltmill" plan job.yaml --set input.files="$file" --set channelise.channels=64 "${sets[@]}"
}
close='coarse channels at 1000 and 1000\.84375 MHz are 843750 Hz apart, but each is 1000000 Hz wide'
bad "channels closer than their rate" 4 "$close .*: .oversampling: 32/27. in input\.layout" apart-close.h5
readable "with the line that the message gives" apart-close.h5 input.layout.oversampling=32/27
readable "or one of them alone" apart-close.h5 'input.select.chans=["2"]'
bad "the same, frequency falling" 4 'oversampling: 32/27. in input\.layout' apart-falling.h5
bad "two channels at one frequency" 4 'are 0 Hz apart.*: input\.layout\.sample_rate_hz or freq_hz' apart-twice.h5
bad "a ratio of large numbers" 4 'are 712300 Hz apart' apart-odd.h5
bad "real samples" 4 'are 400000 Hz apart, but each is 500000 Hz wide \(real .*: input\.layout\.sample_rate_hz or' apart-real-close.h5
bad "another oversampling than that of the frequencies" 4 'oversampling of 4/3 are of channels 750000 Hz apart: .oversampling: 32/27' apart-other.h5
bad "less oversampling" 4 "wide .*less what oversampling repeats.*oversampling: 32/27" apart-less.h5
readable "oversampling that fits" apart-stated.h5
readable "real samples that fit" apart-real.h5
readable "channels with gaps" apart-list.h5
readable "channels far apart" apart-far.h5
readable "frequencies of few digits" apart-rounded.h5
plan
