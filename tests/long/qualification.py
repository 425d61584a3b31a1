"""`make qualification`: every claim of README.md passes, or was not run where the machine lacks something; and each promise
that is broken on purpose, by a program that stands before voltmill, turns its row red. BROKEN=NAME,... chooses some;
tests/clients/qualification.py breaks one in `make test`."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "clients"))
from common import VOLTMILL, finish, ok, same, scratch  # pylint: disable=wrong-import-position

TOOL = [sys.executable, os.path.join(ROOT, "tests", "tools", "qualification")]
DAMAGE = "import h5py\nwith h5py.File('s.h5', 'r+') as file: file['spectra'][7] *= 1.001"
# Title: lines of bash before the program is called; "$program" is voltmill.
BROKEN = {
    "Input files are never written": '[ "$1" != run ] || { "$program" "$@"; status=$?; echo >>obs.h5; exit $status; }',
    "No zeros are invented": '[[ "$*" != *g.h5* ]] || set -- "$@" --set products.0.min_weight=0 --set products.0.weights=raw',
    "Deterministic": '[ "$1/${OMPI_COMM_WORLD_SIZE:-1}" != run/3 ] || set -- "$@" --set channelise.window=hamming',
    "Crash-safe": '[[ "$*" != *k.h5* ]] || [ ! -e k.h5.part ] || set -- "$@" --restart --set channelise.taps=4',
    "Accurate": f'''[ "$1" != verify ] || {{ echo '{{"agrees": true, "rms_error": 1e-7}}'; exit; }}
[ "$1" != run ] || {{ "$program" "$@" && {sys.executable} -c "{DAMAGE}"; exit; }}''',
    "Traceable": '[ "$1" != verify ] || exit 0',
    "The filter bank": '[[ "$*" != *sweep-p.h5* ]] || set -- "$@" --set channelise.window=rect',
}


def qualify(program, page, *options):
    done = subprocess.run([*TOOL, program, page, *options], capture_output=True, text=True, check=False)
    with open(page, encoding="utf-8") as file:
        return done.returncode, done.stdout + done.stderr, file.read()


def breaks(title):
    with open(scratch("broken"), "w", encoding="utf-8") as file:
        file.write(f"#!/bin/bash\nprogram={os.path.abspath(VOLTMILL)}\n{BROKEN[title]}\nexec \"$program\" \"$@\"\n")
    os.chmod(scratch("broken"), 0o755)
    status, said, page = qualify(scratch("broken"), scratch("page.html"), "--only", title)
    rows = re.findall(r'<div class="row (\w+)"><div class="head"><span>([^<]*)', page)
    ok(status == 1 and ("fail", title) in rows and "0 passed, 1 failed" in page, f"broken: {title}: its row is red", said)


if __name__ == "__main__":
    claims = subprocess.run([*TOOL, "--claims"], capture_output=True, text=True, check=False)
    same(claims.returncode, 0, "each claim of README.md has a check")
    chosen = os.environ.get("BROKEN")
    for name in chosen.split(",") if chosen else BROKEN:
        breaks(name)
    if not chosen:
        result, text, html = qualify(VOLTMILL, scratch("page.html"))
        ok(result == 0, "nothing is broken: no row is red", text)
        same(len(re.findall('<div class="row ', html)), len(claims.stdout.splitlines()), "each claim has a row")
        ok("http" not in html.replace("http://www.w3.org", "") and "<script" not in html, "the page is self-contained", text)
    finish()
