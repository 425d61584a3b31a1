# Differences that `voltmill verify` finds beside wrong numbers: all metadata of a product is compared with what its
# job and archive make, and named with both values.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

cat >synth.yaml <<'END'
{file: volts.h5, samples: 6000, streams: {pols: 2}, bits: 8, domain: complex, sample_rate_hz: 1e6, freq_hz: 1.42e9, noise: 9, seed: 5,
 start: "2024-03-01T23:59:59.999"}
END
cat >job.yaml <<'END'
input: {files: volts.h5}
channelise: {channels: 16, taps: 4}
products: [{kind: power, file: power.h5, integrate: 4}, {kind: spectra, file: spectra.h5}]
dedisperse: {dm: [0, 20, 40], mask: ["3"], file: series.h5}
END
cat >change.py <<'END'
"""change.py FILE CHANGE: Python that changes `f`; attributes keep their types."""
import sys
import h5py
import numpy as np


def put(place, name, value):
    attributes = f[place].attrs
    attributes.modify(name, np.asarray(value, attributes[name].dtype) if not isinstance(value, bytes) else np.bytes_(value))


def shift(place, name, by):
    put(place, name, f[place].attrs[name] + by)


with h5py.File(sys.argv[1], "r+") as f:
    exec(sys.argv[2])
END
"$voltmill" synth synth.yaml >/dev/null && runs "products" "$voltmill" run job.yaml
for product in power spectra series; do
    runs "$product verifies" "$voltmill" verify $product.h5
    same "$product: says so" 1 "$(grep -c '^OK: agrees with the reference (rms error .*)$' output)"
    runs "$product verifies on two ranks" mpirun -n 2 "$voltmill" verify --all $product.h5
done

# wrong PRODUCT NAME CHANGE MESSAGE
wrong() {
    cp "$1.h5" changed.h5
    warm change.py changed.h5 "$3" || ok 1 "$1: $2: changed"
    errs 4 "changed\.h5.*$4" "$voltmill" verify changed.h5
    ok $bad "$1: $2"
}
wrong power "tstart + 1 s" 'shift("data", "tstart", 1 / 86400)' 'attribute tstart of /data is 60371\.00001[0-9]*, expected 60370\.99999'
wrong power "tsamp x 2" 'put("data", "tsamp", 2 * f["data"].attrs["tsamp"])' 'tsamp of /data is 0\.000128, expected 6\.4e-05'
wrong power "-foff" 'put("data", "foff", -f["data"].attrs["foff"])' 'foff of /data is -0\.0625, expected 0\.0625'
wrong power "fch1 + 1 MHz" 'shift("data", "fch1", 1)' 'fch1 of /data is 1420\.5, expected 1419\.5'
wrong power "nchans and nifs" 'put("data", "nchans", 8); put("data", "nifs", 1)' 'is 8, expected 16 \(and 1 more difference'
wrong power "a source" 'f["data"].attrs["source_name"] = np.bytes_(b"Crab")' 'source_name of /data is .Crab., expected .unknown.'
wrong power "no foff" 'del f["data"].attrs["foff"]' '/data has no attribute foff'
wrong power "a position" 'f.attrs["ra_deg"] = 5.0' '/ has an attribute ra_deg, which its job and input do not make'
wrong power "start_second" 'shift("/", "start_second", 1)' 'start_second of / is 86400\.99[0-9]*, expected 86399\.99'
wrong power "a frequency" 'f["frequency"][3] += 1' '/frequency\[3\] is 1419687501, expected 1419687500'
wrong power "the last time stamp" 'f["time"][-1] += 1e-6' '/time\[92\] is 0\.0059[0-9]*, expected 0\.0059'
wrong power "a coefficient" 'f["coefficients"][1, 2] *= 1.000001' '/coefficients\[18\] is 0\.[0-9]*, expected 0\.'
wrong power "a polarisation" 'f["pol"][1] = b"?"' '/pol\[1\] is .\?., expected .Y.'
wrong power "another scale" 'f["data"].dims[2].detach_scale(f["frequency"])' 'dimension 2 of /data is frequency: , expected frequency: /frequency'
wrong power "a label" 'f["data"].dims[0].label = "dump"' 'dimension 0 of /data is dump'
wrong power "gap_samples" 'put("provenance", "gap_samples", 7)' 'gap_samples of /provenance is 7, expected 0'
wrong power "missing_samples" 'f["provenance/missing_samples"][()] = 7' 'missing_samples is 7, expected 0'
wrong power "a good row that is marked" 'f["provenance/holes"][5] = 1' 'row 5 is marked in /provenance/holes, but contains no NaN'
wrong power "one that is NaN, too" 'f["provenance/holes"][5] = 1; f["data"][5] = np.nan' 'row 5 is marked as one whose input'
wrong power "span_rows" 'put("provenance/crc32", "span_rows", f["provenance/crc32"].attrs["span_rows"] + np.uint64(1))' 'span_rows of /provenance/crc32'
wrong power "an object of nobody" 'f["data2"] = 5' '/ has an object data2'
wrong power "a CRC of rows" 'f["provenance/crc32"][0] ^= np.uint32(1)' 'rows 0 to 92 do not have the CRC of /provenance/crc32'
wrong power "a CRC of an object" 'o = f["provenance/objects"][...]; o["crc32"][3] ^= 1; f["provenance/objects"][...] = o' \
    '1 is not as written \(/provenance/objects\): /[^:]*: damaged'
wrong power "a name of an object" 'o = f["provenance/objects"][...]; o["name"][3] = b"/none"; f["provenance/objects"][...] = o' \
    '2 are not as written \(/provenance/objects\): /none: missing'
wrong power "who made it" 'put("provenance", "version", b"0")' '/provenance@version: damaged'
wrong spectra "a CRC of rows" 'f["provenance/crc32"][0] ^= np.uint32(1)' 'do not have the CRC of /provenance/crc32'
wrong spectra "axes" 'f["spectra"].attrs["axes"] = np.bytes_(b"time,frequency,pol")' 'axes of /spectra is .time,frequency,pol., expected .time,pol,frequency.'
wrong spectra "sideband" 'put("/", "sideband", -1)' 'sideband of / is -1, expected 1'
wrong series "tstart" 'shift("dedispersed", "tstart", 1 / 86400)' 'attribute tstart of /dedispersed is '
wrong series "tsamp_s" 'put("dedispersed", "tsamp_s", 1.0)' 'tsamp_s of /dedispersed is 1, expected 6\.4'
wrong series "a DM" 'f["dm"][1] = 21' '/dm\[1\] is 21, expected 20'
wrong series "a delay" 'f["provenance/delays"][2, 0] += 1' '/provenance/delays\[32\] is 3, expected 2'
wrong series "the mask" 'f["provenance/mask"][3] = 0' '/provenance/mask\[3\] is 0, expected 1'
wrong series "the constant" 'put("provenance", "constant", 4148.808)' 'constant of /provenance is 4148\.80[0-9]*, expected 4149\.37'
wrong series "the reference" 'shift("provenance", "reference_hz", 1e6)' 'reference_hz of /provenance'
wrong series "a DM that is marked" 'f["provenance/holes"][1] = 1' 'row 1 is marked in /provenance/holes, but contains no NaN'
wrong series "one that is NaN, too" 'f["provenance/holes"][1] = 1; f["dedispersed"][1, 50] = np.nan' 'DM 20 is NaN at time 50, as if its input'
wrong series "missing_samples" 'f["provenance/missing_samples"][()] = 7' 'missing_samples is 7, expected 0'

wrong series "a CRC of DMs" 'f["provenance/crc32"][0] ^= np.uint32(1)' 'rows 0 to 2 do not have the CRC of /provenance/crc32'

# --- marks of rows that are NaN, but not by what could not be read: series, and groups of streams
sed 's/volts.h5/gappy.h5/; s/samples: 6000, streams: {pols: 2}/samples: 65536, streams: {stations: 32, pols: 2}/' synth.yaml >gappy-synth.yaml
cat >gappy.yaml <<'END'
input: {files: gappy.h5}
channelise: {channels: 4096, taps: 2}
products: [{kind: power, file: gaps-power.h5}]
dedisperse: {dm: [0, 20, 40], file: gaps-series.h5}
END
"$voltmill" synth gappy-synth.yaml >/dev/null && warm -c 'import h5py, numpy as np; h5py.File("gappy.h5", "r+")["gaps"] = np.array([[20000, 25000]], "u8")'
runs "products with gaps" "$voltmill" run gappy.yaml
wrong gaps-series "a DM with gaps that is marked" 'f["provenance/holes"][1] = 1' 'row 1 is marked in /provenance/holes, but all of its input is readable'
wrong gaps-power "a row of gaps that is marked" 'f["provenance/holes"][5] = 1' 'row 5 is marked as one whose input could not be read'
runs "right ones verify, some streams at a time" "$voltmill" verify --all --set run.memory=100MiB gaps-power.h5
errs 4 'row 5 is marked in /provenance/holes, but all of its input is readable' "$voltmill" verify --all --set run.memory=100MiB changed.h5
ok $bad "and such a row is found some streams at a time"

touch begun.h5.part
errs 4 'begun\.h5 is not complete, there is only begun\.h5\.part: see voltmill status begun\.h5' "$voltmill" verify begun.h5
ok $bad "only a .part"

# --- what may differ: where the archive lies
mkdir moved && mv volts.h5 moved/other.h5 && mv power.h5 moved
errs 4 'volts\.h5: No such file or directory \(if it was moved: --set input\.files=PATH\)$' "$voltmill" verify moved/power.h5
ok $bad "an archive that was moved: the key that names it"
errs 4 'power\.h5: No such file or directory \(if it was moved: --set products\.0\.file=PATH\)$' "$voltmill" verify series.h5
ok $bad "a filterbank that was moved"
runs "the archive under another name" "$voltmill" verify --set input.files=moved/other.h5 moved/power.h5
runs "the filterbank under another name" "$voltmill" verify --set products.0.file=moved/power.h5 series.h5
plan
