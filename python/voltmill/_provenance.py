"""Provenance of a product in formats of other programs: an RO-Crate (profile Workflow Run Crate)
and W3C PROV-JSON.

Workflow Run RO-Crate 0.5, RO-Crate 1.1, PROV-JSON (W3C member submission of 2013).
"""

import datetime
import json
import os
import re
import shutil

import h5py

from ._job import Error
from ._kerchunk import text

PROFILES = ("https://w3id.org/ro/wfrun/process/0.5", "https://w3id.org/ro/wfrun/workflow/0.5",
            "https://w3id.org/workflowhub/workflow-ro-crate/1.0")
BIOSCHEMAS = "https://bioschemas.org/profiles"
CRATE = "https://w3id.org/ro/crate/1.1"
INPUT = re.compile(r"(?P<name>.*) \((?P<bytes>\d+) bytes\), (?P<how>.*CRC-32) (?P<crc>[0-9a-f]{8})")
TEXTS = ("version", "libraries", "arithmetic", "assumed")


class _Product:
    """Provenance that a product contains, and the facts of its file."""

    def __init__(self, path):
        with h5py.File(path, "r") as file:
            if "provenance" not in file or "job" not in file["provenance"].attrs:
                raise Error(f"{path}: found no /provenance with a job, expected a product of "
                            "voltmill", 4)
            made = {name: text(value) for name, value in file["provenance"].attrs.items()
                    if isinstance(value, (bytes, str))}
            self.kind = text(file.attrs.get("format", b"product"))
        self.path, self.name = path, os.path.basename(path)
        self.job, self.version = made["job"], made.get("version", "unknown")
        self.facts = {name: made[name] for name in TEXTS if name in made}
        self.inputs = [INPUT.fullmatch(line) or line for line in made.get("inputs", "").splitlines()]
        self.bytes = os.path.getsize(path)
        self.time = datetime.datetime.fromtimestamp(
            int(os.path.getmtime(path)), datetime.timezone.utc).isoformat()


def _entity(identifier, kind, /, **properties):
    return {"@id": identifier, "@type": kind, **properties}


def _refs(entities):
    """Return references to entities; to a single one as RO-Crate has it, without a list."""
    found = [{"@id": one["@id"]} for one in entities]
    return found if len(found) != 1 else found[0]


def _inputs(product):
    """Return an entity for each input. They lie outside of the crate, so none is a File."""
    found = []
    for number, line in enumerate(product.inputs):
        parts = line.groupdict() if isinstance(line, re.Match) else {"name": line}
        found.append(_entity(f"#input-{number}", ["CreativeWork", "PropertyValue"], name=parts["name"],
                             value=parts["name"]))
        if "crc" in parts:
            found[-1] |= {"contentSize": parts["bytes"], "identifier": f"{parts['how']} {parts['crc']}"}
    return found


def _crate(product):
    """Return the RO-Crate: the job as workflow, a run of it as action, the product as result."""
    inputs = _inputs(product)
    facts = [_entity(f"#{name}", "PropertyValue", name=name, value=value)
             for name, value in product.facts.items()]
    archive = _entity("#archive", "FormalParameter", name="input.files", additionalType="PropertyValue",
                      conformsTo={"@id": f"{BIOSCHEMAS}/FormalParameter/1.0-RELEASE"})
    output = {**archive, "@id": "#product", "name": "products.file", "additionalType": "File"}
    for one in inputs:
        one["exampleOfWork"] = {"@id": "#archive"}
    language = _entity("#job-file", "ComputerLanguage", name="voltmill job file", version=product.version)
    program = _entity("urn:voltmill:program", "SoftwareApplication", name="voltmill",
                      softwareVersion=product.version)
    job = _entity("job.yaml", ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
                  name="job of voltmill", version=product.version,
                  conformsTo={"@id": f"{BIOSCHEMAS}/ComputationalWorkflow/1.0-RELEASE"},
                  programmingLanguage={"@id": "#job-file"},
                  encodingFormat="application/yaml", input={"@id": "#archive"}, output={"@id": "#product"})
    data = _entity(product.name, "File", name=product.name, encodingFormat="application/x-hdf5",
                   contentSize=str(product.bytes), dateModified=product.time,
                   description=f"{product.kind} in HDF5", exampleOfWork={"@id": "#product"})
    prov = _entity("prov.json", "File", name="provenance as PROV-JSON", encodingFormat="application/json")
    run = _entity("#run", "CreateAction", name=f"voltmill run of {product.name}",
                  description="The samples of the inputs were processed as the job states",
                  instrument=_refs([job]), object=_refs(inputs + facts),
                  result=_refs([data]), endTime=product.time,
                  actionStatus="http://schema.org/CompletedActionStatus")
    profiles = [_entity(url, "CreativeWork", name=url.rsplit("/", 2)[1], version=url.rsplit("/", 1)[1])
                for url in PROFILES]
    licence = _entity("#licence", "CreativeWork", name="licence of the data",
                      description="Not stated in the product; that of its inputs applies.")
    root = _entity("./", "Dataset", name=f"{product.name} and its provenance",
                   description=f"A {product.kind} product of voltmill, the job that made it, and its inputs",
                   datePublished=product.time, license={"@id": "#licence"}, conformsTo=_refs(profiles),
                   mainEntity={"@id": "job.yaml"}, hasPart=_refs([job, data, prov]),
                   mentions={"@id": "#run"})
    about = _entity("ro-crate-metadata.json", "CreativeWork", about={"@id": "./"},
                    conformsTo=[{"@id": CRATE}, {"@id": PROFILES[2]}])
    graph = [about, root, job, data, prov, run, program, language, archive, output, licence,
             *profiles, *inputs, *facts]
    return {"@context": f"{CRATE}/context", "@graph": graph}


def _prov(product):
    """Return PROV-JSON: the product was generated by a run, which used the inputs and the job."""
    prefix = "voltmill:"
    job, made = prefix + "job", prefix + "product"
    entities = {made: {"prov:label": product.name, prefix + "kind": product.kind,
                       prefix + "bytes": product.bytes},
                job: {"prov:label": "job.yaml", "prov:type": {"$": "prov:Plan", "type": "prov:QUALIFIED_NAME"},
                      "prov:value": product.job}}
    for one in _inputs(product):
        entities[prefix + one["@id"][1:]] = {
            "prov:label": one["name"], **{prefix + key: one[key] for key in ("contentSize", "identifier") if key in one}}
    used = [name for name in entities if name != made]
    run, agent = prefix + "run", prefix + "program"
    return {
        "prefix": {"voltmill": "urn:voltmill:"},
        "entity": entities,
        "activity": {run: {"prov:label": f"voltmill run of {product.name}", "prov:endTime": product.time,
                           **{prefix + key: value for key, value in product.facts.items()}}},
        "agent": {agent: {"prov:label": f"voltmill {product.version}",
                          "prov:type": {"$": "prov:SoftwareAgent", "type": "prov:QUALIFIED_NAME"}}},
        "wasGeneratedBy": {"_:made": {"prov:entity": made, "prov:activity": run, "prov:time": product.time}},
        "wasAssociatedWith": {"_:by": {"prov:activity": run, "prov:agent": agent, "prov:plan": job}},
        "used": {f"_:used{i}": {"prov:activity": run, "prov:entity": one} for i, one in enumerate(used)},
        "wasDerivedFrom": {f"_:from{i}": {"prov:generatedEntity": made, "prov:usedEntity": one}
                           for i, one in enumerate(used) if one != job},
    }


def provenance(path, folder):
    """Write an RO-Crate into a new folder: metadata, prov.json, job.yaml and the product (a hard
    link, or a copy on another file system)."""
    product = _Product(path)
    texts = {"job.yaml": product.job, "prov.json": json.dumps(_prov(product), indent=1),
             "ro-crate-metadata.json": json.dumps(_crate(product), indent=1)}
    os.makedirs(folder)
    try:
        os.link(path, os.path.join(folder, product.name))
    except OSError:
        shutil.copy2(path, os.path.join(folder, product.name))
    for name, content in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(content)
    print(f"{folder}: RO-Crate of {product.name}, {len(product.inputs)} inputs")
