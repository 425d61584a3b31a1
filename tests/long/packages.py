"""Metadata and packages as the tools of their readers see them, from PyPI in a venv below build/ (skipped aloud where pip
cannot install them): CITATION.cff, the provenance of a product, the Python wheel, the recipes of conda-forge and EasyBuild."""
import ast
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "clients"))
from common import ENVIRONMENT, SCRATCH, VOLTMILL, finish, note, ok, same, scratch, skip_all  # pylint: disable=wrong-import-position

# rocrate 0.15 has the context of RO-Crate 1.1, which roc-validator would fetch.
NEEDS = ("numpy", "h5py", "prov", "rocrate==0.15.*", "roc-validator", "cffconvert", "build", "setuptools", "wheel",
         "py-rattler-build", "easybuild-framework", "easybuild-easyblocks", "easybuild-easyconfigs")
folder = os.path.join(ROOT, "build", "packages")
python = os.path.join(folder, "bin", "python")
made = os.path.join(folder, "made")
if not os.path.exists(made):
    # twine wants another rich than roc-validator.
    for words in ([sys.executable, "-m", "venv", "--clear", folder],
                  [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *NEEDS],
                  [sys.executable, "-m", "venv", "--clear", f"{folder}/twine"],
                  [f"{folder}/twine/bin/pip", "install", "--quiet", "--disable-pip-version-check", "twine"],
                  ["touch", made]):
        if subprocess.run(words, capture_output=True, check=False).returncode:
            skip_all(f"pip cannot install {', '.join(NEEDS)}")
environment = {**os.environ, **ENVIRONMENT, "VOLTMILL": VOLTMILL, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}


def runs(name, *words, has=""):
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    ok(done.returncode == 0 and has in done.stdout, name, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


runs("cffconvert: CITATION.cff is valid", os.path.join(folder, "bin", "cffconvert"), "--validate", has="are valid")
told = runs("the provenance of a product: rocrate, roc-validator and prov", python, "tests/clients/provenance.py")
ok("SKIP" not in told, "all three were there", told)
runs("a wheel", python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", SCRATCH, "./python")
wheels = glob.glob(scratch("*.whl"))
same(len(wheels), 1, "is made")
runs("twine: its metadata can be shown", f"{folder}/twine/bin/twine", "check", "--strict", *wheels, has="PASSED")

RENDER = """import sys, rattler_build
config = rattler_build.VariantConfig.from_file("packaging/conda/variants.yaml")
for one in rattler_build.Stage0Recipe.from_file("packaging/conda/recipe.yaml").render(config): print(one.recipe.package.name, one.recipe.package.version)"""
version = open(os.path.join(ROOT, "VERSION"), encoding="utf-8").read().strip()
told = runs("the recipe of conda-forge is rendered", python, "-c", RENDER)
same(told.split("\n")[:-1], [f"voltmill {version}"] * 2, "for Open MPI and MPICH")
lmod = glob.glob("/usr/share/lmod/*/libexec/lmod")
if lmod:  # EasyBuild begins only with a modules tool
    environment.update(EB_PYTHON=python, LMOD_CMD=lmod[0])
    told = runs("EasyBuild knows each dependency", os.path.join(folder, "bin", "eb"), "--dry-run", "--robot", "--prefix", SCRATCH,
                "--allow-use-as-root-and-accept-consequences", *glob.glob(os.path.join(ROOT, "packaging/easybuild/*.eb")))
    ok(f"voltmill/{version}-" in told, "and voltmill is the last", told[-500:])
else:
    note("SKIP EasyBuild: apt-get install lmod")
with open(os.path.join(ROOT, "packaging/spack/package.py"), encoding="utf-8") as file:
    ok(ast.parse(file.read()), "the package of Spack is Python")

def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def listed(text):
    """The packages that apt-get installs."""
    return sorted(word for line in re.findall(r"install -y --no-install-recommends((?:.*\\\n)*.*)", text)
                  for word in re.sub(r"&&.*", "", line.replace("\\\n", " ")).split())


same(listed(read("packaging/Containerfile")), listed(read("packaging/apptainer/voltmill.def")), "both containers install the same")
for name in "codemeta.json", ".zenodo.json":
    ok(json.loads(read(name)), f"{name} is JSON")
cited = set(re.findall(r"@([a-z]+\d{4})", read("paper/paper.md")))
same(sorted(cited), sorted(re.findall(r"^@\w+{(\w+),", read("paper/paper.bib"), re.M)), "paper.md cites what paper.bib has, and all of it")
finish()
