"""`python3 -m voltmill provenance`: an RO-Crate and PROV-JSON of a product state its job, inputs and software as the product
does. rocrate, prov and roc-validator check them where they are installed; tests/long/metadata.py installs them."""
import importlib.util
import json
import os
import re
import subprocess
import sys

import h5py

from common import ENVIRONMENT, ROOT, SCRATCH, finish, note, ok, same, scratch, voltmill, write_archive, write_yaml

import numpy as np

# Recommended, and unknown to a product: who ran the job, who owns the data.
NOT_OURS = r"have a url|absolute URI|agent that is a Person|`author`|`publisher`|README.md"
archive = write_archive("obs", np.ones((4096, 1, 2), "i1"), "time,chan,reim", 1e6, "complex", centres=[3e8])
job = write_yaml("job.yaml", {"input": {"files": archive}, "channelise": {"channels": 16, "taps": 2},
                              "products": [{"kind": "power", "integrate": 8, "file": "power.h5"}]})
voltmill("run", job)


def export(*words):
    return subprocess.run([sys.executable, "-m", "voltmill", "provenance", *words], capture_output=True, text=True, cwd=SCRATCH,
                          check=False, env={**os.environ, **ENVIRONMENT, "PYTHONPATH": os.path.join(ROOT, "python"),
                                            "PYTHONDONTWRITEBYTECODE": "1"})


def read(name):
    with open(os.path.join(scratch("crate"), name), encoding="utf-8") as file:
        return file.read()


done = export("power.h5", "crate")
same((done.returncode, done.stdout), (0, "crate: RO-Crate of power.h5, 1 inputs\n"), "a crate is written")
same(sorted(os.listdir(scratch("crate"))), ["job.yaml", "power.h5", "prov.json", "ro-crate-metadata.json"], "with four files")
with h5py.File(scratch("power.h5")) as file:
    made = {name: value.decode() for name, value in file["provenance"].attrs.items() if hasattr(value, "decode")}
graph = {one["@id"]: one for one in json.loads(read("ro-crate-metadata.json"))["@graph"]}
prov = json.loads(read("prov.json"))
same(read("job.yaml"), made["job"], "its job")
same(prov["entity"]["voltmill:job"]["prov:value"], made["job"], "also in PROV")
same("{name} ({contentSize} bytes), {identifier}".format(**graph["#input-0"]), made["inputs"], "its input with size and checksum")
same(graph["urn:voltmill:program"]["softwareVersion"], made["version"], "the version")
same(graph["#arithmetic"]["value"], made["arithmetic"], "the arithmetic")
same(graph["#run"]["result"], {"@id": "power.h5"}, "the run made the product")
missing = [ref["@id"] for one in graph.values() for value in one.values() for ref in (value if isinstance(value, list) else [value])
           if isinstance(ref, dict) and "@id" in ref and ref["@id"] not in graph and not ref["@id"].startswith("http")]
same(missing, [], "every reference has an entity")
same(os.stat(scratch("crate/power.h5")).st_ino, os.stat(scratch("power.h5")).st_ino, "the product is linked, not copied")
done = export("power.h5", "crate")
ok(done.returncode == 4 and done.stderr.count("error: ") == 1, "an existing folder is refused", done.stderr)
done = export(archive, "other")
ok(done.returncode == 4 and "expected a product of voltmill" in done.stderr and not os.path.exists(scratch("other")),
   "an archive has no provenance", done.stderr)

if importlib.util.find_spec("rocrate"):
    from rocrate.rocrate import ROCrate
    same(ROCrate(scratch("crate")).mainEntity.id, "job.yaml", "rocrate opens it: the job is the workflow")
else:
    note("SKIP rocrate: not installed")
if importlib.util.find_spec("prov"):
    from prov.model import ProvDocument
    document = ProvDocument.deserialize(scratch("crate/prov.json"))
    same(document, ProvDocument.deserialize(content=document.serialize()), "prov reads it, and writes it again")
else:
    note("SKIP prov: not installed")
if importlib.util.find_spec("rocrate_validator") and importlib.util.find_spec("rocrate"):
    import rocrate
    from rocrate_validator import models, services
    from rocrate_validator.utils import document_loader
    # The context of RO-Crate 1.1 as rocrate has it: a test reaches no network.
    with open(os.path.join(os.path.dirname(rocrate.__file__), "data", "ro-crate.jsonld"), encoding="utf-8") as file:
        context = json.load(file)
    document_loader._fetch_json_ld = lambda source: context  # pylint: disable=protected-access
    result = services.validate(services.ValidationSettings(
        rocrate_uri=scratch("crate"), profile_identifier="workflow-run-crate", requirement_severity=models.Severity.RECOMMENDED,
        skip_checks=["ro-crate-1.1_3.1", "ro-crate-1.1_3.2"]))  # that the context can be fetched
    found = [f"{issue.check.identifier}: {issue.message}" for issue in result.get_issues()]
    same([one for one in found if not re.search(NOT_OURS, one)], [], "roc-validator finds a Workflow Run Crate")
else:
    note("SKIP roc-validator: not installed")
finish()
