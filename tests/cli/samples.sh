#!/usr/bin/env bash
# When samples were taken, and which are missing: leap seconds, files a part of a sample apart, gaps that look
# like missing values, missing values that no sample can have.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

PYTHONPATH="$here/tests/cli" warm - <<'PYTHON'
from archives import *
slow = dict(sample_rate_hz=1000.0)
whole = noise((3000, 2, 2))
for name, day, second in (("leap-3", 57754, 0.0), ("leap-1", 57753, 86399.0), ("at-leap-2", 57753, 86400.0)):
    native(f"{name}.h5", whole[1000 * (int(name[-1]) - 1):][:1000], attrs=slow,
           root=dict(start_mjd_day=np.int32(day), start_second=second))
native("no-leap.h5", whole, attrs=slow, root=dict(start_mjd_day=np.int32(57752), start_second=86400.0))
native("gap.h5", whole, attrs=slow, root=dict(start_mjd_day=np.int32(57753), start_second=86399.0),
       scales={"gaps": np.array([[1000, 1000]], "u8")})
native("all.h5", whole, attrs=slow, root=dict(start_mjd_day=np.int32(57753), start_second=86399.0))
for name, second in (("off-1", 100), ("off-2", 100.0010003), ("near-2", 100.001000005)):
    native(f"{name}.h5", whole[:1000], root=dict(start_second=second))

# Zeros are missing, those in gaps are gaps: at the first sample, in the middle, and beyond the last raw spectrum.
gaps = np.array([[0, 7], [100, 300], [2990, 10]], "u8")
lost = np.concatenate([np.arange(low, low + count) for low, count in gaps.astype(int)])
for name, data, value in (("zero-i8", noise((3000, 2, 2)), 0), ("zero-f4", noise((3000, 2, 2)).astype("f4"), 0),
                          ("zero-i4", noise((3000, 2), np.uint8).view(np.uint8), 0x88)):
    data = data.copy()
    data[500:520, 0] = value
    data[2995, 1] = value
    words = {"packing": "4+4 offset hi=re"} if name == "zero-i4" else {}
    native(f"{name}.h5", data, "time,pol" if words else "time,pol,reim", attrs={"missing_value": float(value), **words},
           scales={"gaps": gaps})
    used = np.delete(data.reshape(3000, 2, -1)[:2976], lost[lost < 2976], axis=0)
    print((used == value).any(-1).sum(), 2 * (lost < 2976).sum(), file=open(f"{name}.counts", "w"))

for name, dtype, value in (("i8-fraction", "i1", 3.7), ("i8-large", "i1", 128.0), ("i16-large", "i2", -32769.0),
                           ("f4-large", "f4", 1e39), ("i4-negative", "u1", -1.0)):
    words = {"packing": "4+4 offset hi=re"} if dtype == "u1" else {}
    native(f"bad-{name}.h5", np.ones((1000, 2) if words else (1000, 2, 2), dtype), "time,pol" if words else "time,pol,reim",
           attrs={"missing_value": value, **words})
plain("plain.h5", np.ones((1000, 2), "i1"))
PYTHON
cat >job.yaml <<'YAML'
input: {files: all.h5}
channelise: {channels: 32, taps: 4, backend: cpu}
products: [{kind: power, file: out.h5, integrate: 3}]
YAML
# made FILE INPUT SET...
made() {
    local file=$1 input=$2
    shift 2
    "$voltmill" run job.yaml --set "input.files=$input" --set "products.0.file=$file" "$@" >stdout 2>stderr || note <stderr
}

# --- leap seconds
"$voltmill" plan job.yaml --set 'input.files=leap-*.h5' >stdout
same "a leap second between two files is a gap" "gaps 1, 2,000 samples of all streams" "$(sed -n 's/^  gaps  *//p' stdout | sed 's/^/gaps /')"
made joined.out 'leap-*.h5'
made gap.out gap.h5
same "which gives the rows of such a gap" "$(data gap.out)" "$(data joined.out)"
made three.out '[leap-3.h5, at-leap-2.h5, leap-1.h5]'
made all.out all.h5
same "a file of the leap second fills it" "$(data all.out) 0" "$(data three.out) $("$voltmill" plan job.yaml --set 'input.files=[leap-3.h5, at-leap-2.h5, leap-1.h5]' --set products.0.file=no.h5 | grep -c gaps)"
"$voltmill" info at-leap-2.h5 >stdout
same "its time is shown" "2016-12-31T23:59:60.000000 UTC" "$(sed -n 's/^  start  *//p' stdout)"
made utc.out all.h5 --set 'input.select.utc=["2016-12-31T23:59:60", "2017-01-01T00:00:00.5"]'
made samples.out all.h5 --set 'input.select.samples=[1000, 2500]'
same "selected by UTC" "$(data samples.out)" "$(data utc.out)"
errs 4 'no-leap\.h5: .*start_second 86400: not a date' "$voltmill" plan job.yaml --set input.files=no-leap.h5
ok $bad "a day without a leap second has none"
errs 2 'is "?2016-12-30T23:59:60' "$voltmill" plan job.yaml --set 'input.select.utc=["2016-12-30T23:59:60", "2017-01-01"]'
ok $bad "in jobs, too"

# --- files a part of a sample apart
for command in plan run; do
    "$voltmill" $command job.yaml --set 'input.files=[off-1.h5, off-2.h5]' >stdout 2>stderr
    same "$command: 0.3 samples later: said once" \
        "warning: off-2.h5 starts 0.30 of a sample (3e-07 s) later than the samples of the files before it would go on: taken as if it did not" \
        "$(grep 'of a sample' stderr)"
done
rm out.h5
"$voltmill" plan job.yaml --set 'input.files=[off-1.h5, near-2.h5]' >stdout 2>stderr
same "0.005 samples are rounding" 0 "$(grep -c 'of a sample' stderr)"

# --- gaps that look missing
counts() { warm -c 'import h5py, sys
words = h5py.File(sys.argv[1])["provenance"]
print(words["missing_samples"][()], words.attrs["gap_samples"])' "$1"; }
for name in zero-i8 zero-f4 zero-i4; do
    made $name.out $name.h5
    same "$name: gaps count as gaps alone" "$(<$name.counts)" "$(counts $name.out)"
done
made reference.out zero-i8.h5 --set channelise.backend=reference
same "with the reference" "$(<zero-i8.counts)" "$(counts reference.out)"
mpirun -n 3 "$voltmill" run job.yaml --set input.files=zero-i8.h5 --set run.chunk=5 >stdout 2>&1 || note <stdout
same "on three ranks" "$(<zero-i8.counts)" "$(counts out.h5)"
rm out.h5

# --- missing values that no sample can have
while read -r name pattern; do
    errs 4 "bad-$name\.h5: /voltages: missing_value is .*, expected $pattern" "$voltmill" plan job.yaml --set input.files=bad-$name.h5
    ok $bad "missing value: $name"
done <<'LIST'
i8-fraction a whole number from -128 to 127
i8-large a whole number from -128 to 127
i16-large a whole number from -32768 to 32767
f4-large a 32-bit floating point number
i4-negative a whole number from 0 to 255
LIST
errs 2 'input\.layout\.missing_value is 3\.7, expected a whole number from -128 to 127' "$voltmill" run job.yaml \
    --set input.files=plain.h5 --set 'input.layout={dataset: /x, axes: "time,pol", sample_rate_hz: 1e6, missing_value: 3.7}'
ok $bad "of a job"
nothing_left
plan
