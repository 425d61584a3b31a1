"""The notebooks of python/notebooks run from the first cell to the last, by nbclient: of this Python, or from PyPI in a venv
below build/ (skipped aloud where neither is there)."""
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "clients"))
from common import ENVIRONMENT, VOLTMILL, finish, ok, skip_all  # pylint: disable=wrong-import-position

NEEDS = ("nbclient", "nbformat", "ipykernel", "numpy", "h5py", "matplotlib", "xarray")
RUN = """import sys, nbformat, nbclient
book = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
print(sum(len(cell.get("outputs", ())) for cell in book.cells), "outputs")"""


def has_all(python):
    return subprocess.run([python, "-c", "import " + ", ".join(NEEDS)], capture_output=True, check=False).returncode == 0


def find_python():
    """A Python with everything; None: there is none, and PyPI cannot be reached."""
    if has_all(sys.executable):
        return sys.executable
    folder = os.path.join(ROOT, "build", "notebooks")
    python = os.path.join(folder, "bin", "python")
    if not has_all(python) if os.path.exists(python) else True:
        for words in ([sys.executable, "-m", "venv", "--clear", folder],
                      [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *NEEDS]):
            if subprocess.run(words, capture_output=True, check=False).returncode:
                return None
    return python


chosen = find_python()
if not chosen:
    skip_all(f"no Python with {', '.join(NEEDS)}, and pip cannot install them")
environment = {**os.environ, **ENVIRONMENT, "VOLTMILL": VOLTMILL, "PYTHONPATH": os.path.join(ROOT, "python"),
               "PYTHONDONTWRITEBYTECODE": "1"}
for path in sorted(glob.glob(os.path.join(ROOT, "python", "notebooks", "*.ipynb"))):
    done = subprocess.run([chosen, "-c", RUN, path], capture_output=True, text=True, env=environment, check=False)
    ok(done.returncode == 0 and "outputs" in done.stdout, os.path.basename(path), done.stdout[-500:], done.stderr[-3000:])
finish()
