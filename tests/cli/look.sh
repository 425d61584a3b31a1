#!/usr/bin/env bash
# `voltmill look`: levels, clipping and gaps of voltages and power of every format, as text and as a picture; numbers
# served to the Python module.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

PYTHONPATH="$here/tests/clients:$here/tests/cli" warm - <<'PYTHON'
import json
import os
import numpy as np
from archives import native
from mocks import every
# Every format of voltages and power, each in a folder.
rng = np.random.default_rng(3)
with open("formats", "w") as out:
    for name, (function, kind) in every.MOCKS.items():
        if not name.endswith("_long"):
            os.mkdir(name)
            said = function(lambda *names: os.path.join(name, *names), rng)
            files = said if isinstance(said, (str, list)) else None
            files = [files] if isinstance(files, str) else files
            if files:
                print(name, *[f"{name}/{file}" for file in files], file=out)
            else:
                job = {"input": said, "channelise": {"channels": 16}, "products": [{"kind": "power", "file": "no.h5"}]}
                said["files"] = [f"{name}/{file}" for file in np.atleast_1d(said["files"])]
                with open(f"{name}.yaml", "w") as file:
                    json.dump(job, file)
                print(name, f"{name}.yaml", file=out)
# A clipped polarisation and a tone in the other, with a gap.
n = np.arange(200000)
volts = np.zeros((len(n), 2, 2), "i1")
volts[:, 0] = np.clip(np.rint(rng.normal(0, 100, (len(n), 2))), -100, 100)
volts[:, 1, 0] = np.rint(50 * np.cos(2 * np.pi * 0.125 * n))
volts[:, 1, 1] = np.rint(50 * np.sin(2 * np.pi * 0.125 * n))
np.save("volts.npy", volts)
native("clip.h5", volts)
PYTHON

# column NAME COLUMN: of the line of a polarisation
column() { awk -v name="$1" -v at="$2" '{ sub(/^ +pol /, "pol") } $1 == name { print $at }' stdout; }
look() { "$voltmill" look "$@" >stdout 2>stderr; }

look --text clip.h5
ok $? "a text"
warm - >expected <<'PYTHON'
import numpy as np
volts = np.load("volts.npy").astype("f8")
for p in range(2):
    v = volts[:, p]
    print("%.5g %g %g %.3g" % (v.std(), v.min(), v.max(), 100 * ((v == v.min()) | (v == v.max())).mean()))
PYTHON
for p in 0 1; do
    same "pol $p: rms, smallest, largest, clipped are numpy's" "$(sed -n $((p + 1))p expected)" \
        "$(column pol$p 2) $(column pol$p 4) $(column pol$p 5) $(column pol$p 6 | tr -d %)"
done
grep -q '^  read 200,000 of 200,000 samples (100% of ' stdout
ok $? "says how much is read"
[ ! -e clip-look.png ]
ok $? "without a picture"
tail -n +3 stdout >expected.polarisations
layout="sample_rate_hz: 1e6, freq_hz: 1e8}"
errs 2 "sample_rate_hz is missing.* --layout '\{sample_rate_hz: 1e6\}'" "$voltmill" look --text volts.npy
ok $bad "an .npy without a rate: names the option that states it"
look --text --layout "{$layout" volts.npy && tail -n +3 stdout | cmp -s - expected.polarisations
ok $? "--layout states it: the same numbers"
look --text --layout "{format: raw, type: i8, skip: 128, axes: 'time,pol:2,reim', $layout" volts.npy && tail -n +3 stdout | cmp -s - expected.polarisations
ok $? "of raw numbers, too"
errs 2 'input.layout.sample_rate: .*did you mean sample_rate_hz' "$voltmill" look --text --layout '{sample_rate: 1e6}' volts.npy
ok $bad "--layout with a mistake"
errs 2 'volts.npy: voltages .npy., expected power, .*`voltmill look` draws voltages' "$voltmill" plot volts.npy
ok $bad "plot of voltages: names look"
errs 2 'look: --layout describes files, x.yaml is a job' "$voltmill" look --text --layout "{$layout" x.yaml
ok $bad "--layout with a job"

# --- nothing but Python
mkdir bare
ln -s "$(command -v python3)" bare/python3
cat >bare/python <<'SH'
#!/bin/sh
exec /usr/bin/python3 -S "$@"
SH
chmod +x bare/python
if /usr/bin/python3 -ISc 'import numpy' 2>/dev/null; then
    skip "this Python has numpy without site packages"
else
    VOLTMILL_PYTHON=$PWD/bare/python look clip.h5
    same "a Python without numpy: exit status" 0 $?
    grep -q '^note: no picture: .*apt-get install python3-numpy' stderr && [ "$(wc -l <stderr)" = 1 ]
    ok $? "one line says what to install"
    same "the text is the same" "$(sed -n 1p expected)" "$(column pol0 2) $(column pol0 4) $(column pol0 5) $(column pol0 6 | tr -d %)"
    VOLTMILL_PYTHON=$PWD/bare/python errs 5 'apt-get install python3-numpy' "$voltmill" look -o x.png clip.h5
    ok $bad "-o: an error"
fi

# --- every format
! has_pictures || warm_pictures
while read -r name files; do
    look --text $files && grep -q 'rms .*clipped' stdout && ! grep -q 'nothing but' stdout
    ok $? "$name"
    [ "$(grep -c '' stdout)" -ge 4 ] || { note <stdout; note <stderr; }
done <formats

# --- a large file: some of it is read
warm - <<'PYTHON'
import os
with open("obs.dada", "wb") as out:
    head = {"HDR_SIZE": 4096, "NBIT": 8, "NDIM": 2, "NPOL": 2, "NCHAN": 1, "TSAMP": 1, "FREQ": 1400, "BW": 1,
            "UTC_START": "2024-01-01-00:00:00", "OBS_OFFSET": 0, "TELESCOPE": "x", "INSTRUMENT": "y", "HDR_VERSION": "1.0"}
    out.write("".join(f"{k} {v}\n" for k, v in head.items()).encode().ljust(4096, b"\0"))
os.truncate("obs.dada", 4096 + (100 << 30))
PYTHON
began=$SECONDS
look --text obs.dada && grep -q 'read 524,288 of 26,843,545,600 samples (0.00195% of .*, 8,192 at each of 64 places' stdout
ok $? "100 GiB: half a million samples are read"
[ $((SECONDS - began)) -lt 20 ]
ok $? "within seconds"
rm obs.dada

# --- the picture
if has_pictures; then
    look 'clip*.h5'
    ok $? "a picture"
    [ "$(head -c 4 clip-look.png | tail -c 3)" = PNG ]
    ok $? "beside the file, named without the pattern"
    grep -q '^clip-look.png: [0-9]* x [0-9]* pixels' stdout && [ "$(column pol0 4)" = -100 ]
    ok $? "with the text"
    look 'clip*.h5' && [ "$(head -n 1 stdout)" = "complete before: clip-look.png" ] && [ "$(column pol0 4)" = -100 ]
    ok $? "again: the same picture, and the text"
    if can_be_other; then
        mkdir -m 755 archive && cp clip.h5 archive && chmod 644 archive/clip.h5
        "${as_other[@]}" env -u VOLTMILL_PYTHON "$voltmill" look archive/clip.h5 >stdout 2>stderr && [ "$(column pol0 4)" = -100 ] &&
            grep -q '^note: no picture: archive/clip-look.png cannot be made: .*(-o FILE puts it elsewhere)' stderr
        ok $? "beside a file in a read-only folder: the text, and a note"
    else
        skip "read-only folders: an unprivileged user cannot run the program here"
    fi
    cp clip.h5 'clip[1].h5' && look 'cl*[a-z].h5' && look 'clip[1].h5' && [ -e cl-look.png ] && [ -e clip_1_-look.png ]
    ok $? "of other patterns, and of a file whose name looks like one"
    rm 'clip[1].h5'
    echo other >clip-look.png
    errs 2 'clip-look.png' "$voltmill" look clip.h5
    ok $bad "but no other file"
    look -o clip.svg clip.h5 && grep -q 'stored number' clip.svg && grep -q 'MHz' clip.svg && grep -q 'power (dB)' clip.svg
    ok $? "as SVG, with bandpass and histogram"
else
    skip "matplotlib is not installed"
fi
errs 2 'neither --text nor --serve' "$voltmill" look --text -o x.png clip.h5
ok $bad "refused: --text with -o"
errs 4 'nothing\.h5' "$voltmill" look nothing.h5
ok $bad "no such file"
echo words >words.txt
errs 4 'words\.txt' "$voltmill" look words.txt
ok $bad "no observation"
errs 2 'needs a socket' "$voltmill" look --serve clip.h5 </dev/null
ok $bad "refused: --serve without a socket"
plan
