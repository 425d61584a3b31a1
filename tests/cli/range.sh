#!/usr/bin/env bash
# Power beyond what 32-bit floats hold, on either side, is said with numbers; power that is zero because its
# samples are is not.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

PYTHONPATH="$here/tests/cli" warm - <<'PYTHON'
from archives import *
x = (noise((12800, 2, 2)) / 64).astype("f4")
far = lambda factor, rows: np.where(np.isin(np.arange(12800) // 64, rows)[:, None, None], x * np.float32(factor), x)
rows = np.arange(100, 110)
native("sound.h5", x)
native("huge.h5", far(1e21, rows))
huger = x.copy()
huger[6400:7040] = 3e38
native("huger.h5", huger)
native("tiny.h5", x * np.float32(1e-21))
native("tinier.h5", x * np.float32(1e-25))
tiny = x * np.float32(1e-25)
tiny[3200:9600, 0] = 0
tiny[:640, 1] = np.nan
native("some-tiny.h5", tiny, scales={"gaps": np.array([[12000, 800]], "u8")})
zero = x.copy()
zero[3200:9600] = 0
zero[9600:10000] = -5
native("zeros.h5", zero, scales={"gaps": np.array([[11000, 1000]], "u8")}, attrs={"missing_value": -5.0})
native("constant.h5", np.ones_like(x))
native("bytes.h5", noise((12800, 2, 2)) * 0)
np.savetxt("window.txt", np.full(256, 1e-30))
np.savetxt("three.txt", np.ones(3))
PYTHON
cat >job.yaml <<'YAML'
input: {files: sound.h5}
channelise: {channels: 64, taps: 4, backend: cpu}
products: [{kind: power, file: out.h5, integrate: 5}]
YAML
# expected LIMITS: values of out.h5 that are no numbers, or below 2^-126; without FILE's zero samples
outside() { warm -c 'import h5py, numpy as np
x = h5py.File("out.h5")["data"][()]
print((~np.isfinite(x)).sum(), (x < 2.0 ** -126).sum())'; }
# said: what the last run has said of them
said() { sed -n 's/^warning: out.h5: \([0-9,]*\) values are \(infinite\|0 or\).*/\2 \1/p' stderr | tr -d , | tr '\n' ' '; }
grind() { rm -f out.h5; "${ranks[@]}" "$voltmill" run job.yaml "$@" >stdout 2>stderr || note <stderr; }
ranks=()

for file in sound zeros constant bytes; do
    grind --set input.files=$file.h5
    same "$file: nothing is said" "" "$(said)"
done
for backend in cpu reference opencl; do
    if [ $backend = opencl ] && ! "$voltmill" info --devices | grep -q '^0: '; then continue; fi
    # One kernel, so that no others are built.
    kernel=(--set "channelise={channels: 64, taps: 4, backend: $backend$([ $backend != opencl ] || echo ', kernel: fused')}")
    for file in huge huger; do
        grind --set input.files=$file.h5 "${kernel[@]}"
        same "$backend, $file: counted" "infinite $(outside | cut -d' ' -f1) " "$(said)"
    done
    for file in tiny tinier; do
        grind --set input.files=$file.h5 "${kernel[@]}"
        same "$backend, $file: counted" "0 or $(outside | cut -d' ' -f2) " "$(said)"
    done
done
# Behind filters, too: what is infinite there is not a missing sample, to the filter bank or another filter.
for backend in cpu reference opencl; do
    if [ $backend = opencl ] && ! "$voltmill" info --devices | grep -q '^0: '; then continue; fi
    kernel=(--set "channelise={channels: 64, taps: 4, backend: $backend$([ $backend != opencl ] || echo ', kernel: fused')}")
    for method in direct overlap-save; do
        one="{coefficients: three.txt, method: $method}"
        for filters in "[$one]" "[$one, $one]"; do
            grind --set "filter=$filters" "${kernel[@]}" --set input.files=huger.h5
            same "$backend, filters $filters: counted" "infinite $(outside | cut -d' ' -f1) " "$(said)"
            grind --set "filter=$filters" "${kernel[@]}" --set input.files=zeros.h5
            same "$backend, filters $filters: zeros are not said" "" "$(said)"
        done
    done
done
# Rows of zeros, of what is missing, and of gaps do not count: dumps of 5 spectra of 4 raw spectra each.
want=$(warm -c '
import numpy as np
left = np.zeros(2, int)
for pol, (low, high) in enumerate(((3200, 9600), (0, 640))):
    for dump in range(39):
        n = np.arange(320 * dump, 320 * dump + 512)
        left[pol] += (((n < low) | (n >= high)) & ((n < 12000) | (n >= 12800))).any()
print(left.sum() * 64)')
grind --set input.files=some-tiny.h5
same "among samples that are zero or missing" "0 or $want " "$(said)"
grind --set input.files=some-tiny.h5 --set run.chunk=15
same "in other chunks" "0 or $want " "$(said)"
ranks=(mpirun -n 3)
grind --set input.files=some-tiny.h5 --set run.chunk=20
same "on three ranks" "0 or $want " "$(said)"
ranks=()
grind --set input.files=huge.h5 --set products.0.integrate=1
same "spectra that are not added up" "infinite $(outside | cut -d' ' -f1) " "$(said)"
PYTHONPATH="$here/tests/cli" warm -c 'from archives import *
native("small.h5", noise((12800, 2, 2)))'
grind --set input.files=small.h5 --set channelise.window=file:window.txt --set channelise.normalise=none
same "bytes with coefficients beyond reason" "0 or $(outside | cut -d' ' -f2) " "$(said)"
plan
