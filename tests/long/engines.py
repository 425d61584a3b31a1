"""Workflow engines from PyPI, in a venv below build/ (skipped aloud where pip cannot install them): Snakemake and cwltool run
one job over two observations, of which one fails once, when rows can no longer be written, and is tried again."""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "clients"))
import h5py
import numpy as np
from common import ENVIRONMENT, VOLTMILL, finish, ok, same, scratch, skip_all, voltmill, write_archive, write_yaml

folder = os.path.join(ROOT, "build", "engines")
if not os.path.exists(f"{folder}/made"):
    for words in ([sys.executable, "-m", "venv", "--clear", folder],
                  [f"{folder}/bin/pip", "install", "--quiet", "--disable-pip-version-check", "snakemake>=8", "cwltool"],
                  ["touch", f"{folder}/made"]):
        if subprocess.run(words, capture_output=True, check=False).returncode:
            skip_all("pip cannot install snakemake and cwltool")

random = np.random.default_rng(1)
for name in "ab":
    write_archive(name, random.integers(-99, 99, (65536, 1, 2)).astype("i1"), "time,chan,reim", 1e6, "complex", centres=[3e8])
job = {"input": {"files": "a.h5"}, "channelise": {"channels": 16, "taps": 2}, "run": {"chunk": 512},
       "products": [{"kind": "spectra", "file": "x.h5"}]}
write_yaml("job.yaml", job)
for name in "ab":
    voltmill("run", "--set", f"input.files={scratch(name)}.h5", "--set", f"products.0.file={scratch('good')}-{name}.h5", scratch("job.yaml"))

# The program, of which the first run over b fails at its third write of rows; each run is noted.
os.mkdir(scratch("bin"))
with open(scratch("bin/voltmill"), "w", encoding="utf-8") as file:
    file.write(f"""#!/bin/bash
name=other
case "$1 $*" in run*/a.h5*) name=a ;; run*/b.h5*) name=b ;; esac
echo "$1 $name" >>"$NOTES"
[ "$1 $name $(grep -c 'run b' "$NOTES")" != "run b 1" ] ||
    export LD_PRELOAD={os.path.dirname(os.path.abspath(VOLTMILL))}/tests/faults/io_shim.so SHIM_ROWS=2:5
exec {os.path.abspath(VOLTMILL)} "$@"
""")
os.chmod(scratch("bin/voltmill"), 0o755)


def engine(name, *words):
    """Run an engine; return its status and text."""
    environment = {**os.environ, **ENVIRONMENT, "PATH": f"{scratch('bin')}:{os.environ['PATH']}", "NOTES": scratch(f"{name}.notes"),
                   "VOLTMILL": "voltmill", "XDG_CACHE_HOME": scratch("cache")}
    done = subprocess.run([f"{folder}/bin/{name}", *words], cwd=scratch(""), env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def notes(name):
    with open(scratch(f"{name}.notes"), encoding="utf-8") as file:
        return sorted(file.read().splitlines())


def rows(path):
    with h5py.File(path) as file:
        return file["spectra"][()]


with open(scratch("list.txt"), "w", encoding="utf-8") as file:
    file.writelines(f"{scratch(name)}.h5\n" for name in "ab")
status, text = engine("snakemake", "-s", os.path.join(ROOT, "engines/Snakefile"), "--cores", "2", "--config",
                      "job=job.yaml", "list=list.txt", "threads=1")
same(status, 0, "Snakemake: both observations")
ok("Input/output error" in text and "Trying to restart job" in text, "one of them failed once", text[-3000:])
same(notes("snakemake"), ["run a", "run b", "run b", "verify other", "verify other"], "and was tried again, alone")
for name in "ab":
    same(rows(scratch(f"out/{name}.h5")), rows(f"{scratch('good')}-{name}.h5"), f"{name}: the rows of an undisturbed run")

with open(scratch("observations.json"), "w", encoding="utf-8") as file:
    json.dump({"job": {"class": "File", "path": "job.yaml"},
               "observations": [{"class": "File", "path": f"{name}.h5"} for name in "ab"]}, file)
words = ("cwltool", "--on-error", "continue", "--cachedir", "cache", "--preserve-environment", "NOTES", "--outdir", "cwl",
         os.path.join(ROOT, "engines/each.cwl"), "observations.json")
status, text = engine(*words)
ok(status != 0 and "Input/output error" in text, "cwltool: one of two observations fails", text[-3000:])
status, text = engine(*words)
same(status, 0, "the same command again completes")
same(notes("cwltool"), ["run a", "run b", "run b"], "and runs only what failed")
for name in "ab":
    same(rows(scratch(f"cwl/{name}.h5")), rows(f"{scratch('good')}-{name}.h5"), f"{name}: the rows of an undisturbed run")
finish()
