#!/usr/bin/env python3
"""Headers whose fields are made to say something else, one at a time: a small archive of every format
(tests/clients/mocks), each field of its headers removed, zeroed, doubled, halved, negated and set to extremes, in all
headers or in the last alone. tests/clients/mocks/facts.py says what each field governs and which facts state it again.

Right is (a) the same product; (b) exit 2 or 4 and one error line that names the field; (c), where nothing else in the
files contradicts it, a product that differs only in what the field governs; and, of a field that is missing or
contradicts another, (b) or a new `assumed:` line that names it. At the end: a table of formats x fields x
outcomes, and each WRONG with the command that repeats it.

    FORMATS='guppi|vdif' FIELDS='TBIN|second' SEED=1 JOBS=2 tests/long/contradictions.py
    CASE='guppi/rich TBIN double all' KEEP=folder tests/long/contradictions.py    # one alone

COUNT: changes of each variant of headers, at random (0: all)."""
import collections
import concurrent.futures
import itertools
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys

import h5py
import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../clients"))
from common import ENVIRONMENT, ROOT, SCRATCH, VOLTMILL, finish, note, ok, yaml
from mocks import every, facts, headers

SEED, JOBS, COUNT = (int(os.environ.get(*word)) for word in (("SEED", "1"), ("JOBS", "1"), ("COUNT", "0")))
FORMATS, FIELDS = os.environ.get("FORMATS", ".*(?<!_long)"), os.environ.get("FIELDS", ".*")
CASE, KEEP = os.environ.get("CASE", "").split(), os.environ.get("KEEP")
LIMIT = 60  # seconds: what takes longer hangs
LARGEST = 64 << 20  # bytes: products of absurd gaps and times end here, as on a full disk
PRODUCT = "product.h5"

# Objects and attributes of a product by the part that they belong to; one that is in no row is a part of its own.
PARTS = {
    "start": r"/@start_(mjd_day|second)|/@time_scale|/time@units|/dedispersed@tstart",
    "rate": r"/@(sample_rate_hz|time_step|first_time)|/time|/dedispersed@tsamp_s|/@clock.*",
    "freq": r"/frequency|/delay_hz|/coarse_frequency|/dedispersed@(fch1|foff|nchans)|/provenance/(frequency|mask)|/provenance@reference_hz",
    "rows": r"/spectra|/dedispersed|/provenance@(scale.*|ifs)",
    "delays": r"/provenance/delays|/provenance@(origin|error_samples)|/time|/@first_time",
    "weights": r"/coarse_frequency@.*|/weights|/weights@.*|/provenance/missing_samples|/provenance@(gap|missing)_samples|/provenance/holes"
               r"|/spectra@ancillary_variables|/provenance@(missing|gap).*",
    "names": r"/(pol|station|beam|if)(@.*)?|/@(source|telescope|ra_deg|dec_deg|feed.*)"
             r"|/dedispersed@(source_name|telescope|telescope_id|src_raj|src_dej)|/spectra@(axes|DIMENSION_LABELS)",
    "sideband": r"/@sideband",
    "domain": r"/@domain|/coefficients|/(sample|tap)|/@(samples_per_spectrum|channels)",
    "oversampling": r"/@oversampling.*|/@coarse.*",
    "about": r"/@coherent.*|/delay_hz@.*|/about.*|/provenance/about.*|/@input_.*",
}
# How messages about two files name these.
CONCEPTS = {"start": "starts|begins|begin|time", "rate": "sample rate|rates", "freq": "frequenc|channel at|band|freq_hz", "names": "polarisation|station",
            "shape": "starts|overlap|shapes|channels|polarisations|samples", "weights": "gap|missing", "rows": "sample types|axes"}
UNSEEN = re.compile(r"/provenance@(inputs|assumed|libraries|arithmetic|job|version)|/provenance/(crc32|objects)(@.*)?"
                    r"|.*@(DIMENSION_LIST|REFERENCE_LIST)")

LONG = "x" * 4000
CHANGES = {
    "removed": None,
    "zero": lambda v: v * 0, "double": lambda v: v + v, "half": lambda v: v // 2 if whole(v) else v / 2, "negated": lambda v: -v,
    "minus_one": -1, "one": 1, "int_max": 2 ** 31 - 1, "int_over": 2 ** 31, "long_max": 2 ** 63 - 1, "huge": 1e30,
    "nan": float("nan"), "inf": float("inf"), "empty": "", "long": LONG, "junk": "?",
}


def whole(value):
    return isinstance(value, int) or isinstance(value, np.ndarray) and value.dtype.kind in "iu"


def changed(change, value):
    """The value after the change; raises Impossible where it makes no sense for this type."""
    if change is None or value is None:
        return None
    if callable(change) and not np.issubdtype(np.asarray(value).dtype, np.number):
        raise headers.Impossible
    to = change(value) if callable(change) else change
    if isinstance(to, np.ndarray):
        return to
    if isinstance(value, np.ndarray):
        if isinstance(to, str):
            raise headers.Impossible
        if whole(value) and not isinstance(to, int) or isinstance(to, int) and not -2 ** 63 <= to < 2 ** 63:
            raise headers.Impossible
        return np.full(value.shape, to, "i8" if whole(value) else value.dtype)
    return to


class Format:
    """A mock with one variant of its headers, in a folder of its own, and what an undisturbed run makes of it."""

    def __init__(self, name, variant):
        self.name, self.variant = name, variant
        self.folder = os.path.join(SCRATCH, f"{name}-{variant}-{os.getpid()}")
        if KEEP:
            self.folder = os.path.join(os.path.abspath(KEEP), f"{name}-{variant}")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        job, _ = facts.write(name, self.folder)
        inputs = [os.path.relpath(os.path.join(path, file), self.folder)
                  for path, _, files in os.walk(self.folder) for file in files]
        job.pop("run")
        if "dedisperse" in job:
            job["dedisperse"]["file"] = PRODUCT
        else:
            job = {"input": job["input"], "channelise": job.get("channelise", {"channels": 16, "taps": 4, "backend": "cpu"}),
                   "products": [{"kind": "spectra", "file": PRODUCT}]}
        editor, self.table, variants = facts.FORMATS[name]
        self.editor = editor(self.folder, inputs, variants[variant])
        with open(os.path.join(self.folder, "job.yaml"), "w") as file:
            file.writelines(f"{key}: {yaml(value)}\n" for key, value in job.items())
        status, said = self.run()
        self.sound = self.product() if status == 0 else None
        self.said = said
        self.assumed = lines(said, "assumed")

    def run(self):
        environment = {**ENVIRONMENT, "OMP_NUM_THREADS": "1", "VOLTMILL_CACHE": os.path.join(SCRATCH, "cache"),
                       "OCL_ICD_VENDORS": os.path.join(ROOT, "tests/tools/")}
        product = os.path.join(self.folder, PRODUCT)
        for path in (product, product + ".part", product + ".journal"):
            if os.path.exists(path):
                os.remove(path)
        try:
            done = subprocess.run([VOLTMILL, "run", "job.yaml"], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return None, "it hangs"
        return done.returncode, done.stdout.decode(errors="replace")

    def product(self):
        """{name: value} of all objects and attributes that count."""
        held = {}

        def visit(path, item):
            path = "/" + path.strip("/")
            for key, value in item.attrs.items():
                if not UNSEEN.fullmatch(f"{path}@{key}"):
                    held[f"{path}@{key}"] = np.asarray(value)
            if isinstance(item, h5py.Dataset) and not UNSEEN.fullmatch(path):
                held[path] = item[()]

        with h5py.File(os.path.join(self.folder, PRODUCT), "r") as file:
            visit("/", file)
            file.visititems(visit)
        return held

    def differences(self):
        """Names of what differs from the product of the sound files, with the parts they belong to."""
        new, parts = self.product(), {}
        for name in sorted(set(new) | set(self.sound)):
            a, b = self.sound.get(name), new.get(name)
            if a is not None and b is not None:
                if same(a, b):
                    continue
                shape_only = np.ndim(a) and np.ndim(b) and np.shape(a)[1:] == np.shape(b)[1:] and len(a) != len(b) \
                    and same(a[:len(b)], b[:len(a)])
                if shape_only and name in ("/spectra", "/time", "/weights", "/provenance/holes"):
                    parts[name] = {"shape"}
                    continue
            elif name == "/coarse_frequency":  # which weights bring with them
                parts[name] = {"weights"}
                continue
            parts[name] = {part for part, pattern in PARTS.items() if re.fullmatch(pattern, name)} or {name}
            if a is not None and b is not None and np.shape(a) != np.shape(b):
                parts[name] |= {"shape"} - parts[name] if name not in ("/spectra", "/dedispersed") else set()
        return parts

    def cases(self):
        """(field, change, scope) of all that the table asks for."""
        several = len(getattr(self.editor, "headers", ())) > 1 or isinstance(self.editor, (headers.Frames, headers.Fits)) \
            or len(getattr(self.editor, "paths", ())) > 1
        for field in self.editor.names():
            row = facts.row(self.table, field)
            if row is None:
                yield field.replace(" ", "_"), "-", "-"
                continue
            for change in [*CHANGES, *(name.replace(" ", "_") for name in row.more)]:
                yield field.replace(" ", "_"), change, "all"
                if several and change in ("double", "one", "zero", "junk", *row.more) and \
                        len(self.editor.get(field)) > 1:
                    yield field.replace(" ", "_"), change, "last"

    def case(self, field, change, scope):
        """(outcome, remark) of one change; None: it is none."""
        field = next(name for name in self.editor.names() if name.replace(" ", "_") == field)
        row = facts.row(self.table, field)
        if row is None:
            return "WRONG", "the table has no row for this field"
        how = {**CHANGES, **{name.replace(" ", "_"): value for name, value in row.more.items()}}[change]
        old = self.editor.get(field)
        try:
            how = how[:self.editor.long] if isinstance(how, str) else how
            new = [changed(how, value) if scope == "all" or i == self.editor.last(old) else value for i, value in enumerate(old)]
            if all(headers.alike(a, b) for a, b in zip(old, new)):
                return None
            self.editor.files.restore()
            self.editor.change(field, new)
        except headers.Impossible:
            self.editor.files.restore()
            return None
        try:
            return self.judge(row, field, change, scope, (old[0], new[0]), *self.run())
        finally:
            if not KEEP or not CASE:
                self.editor.files.restore()

    def judge(self, row, field, change, scope, what, status, said):
        words = self.says(row, field, scope)
        partners = [re.findall(r"\w{2,}", fact)[-1] for fact in self.partners(row, "") if not fact.startswith("*")]

        def says(text):
            return words(text) or any(partner in text for partner in partners)
        if status is None:
            return "WRONG", "it hangs"
        if status < 0 or status > 125 or "Sanitizer" in said or "runtime error:" in said:
            return "WRONG", f"it crashes: exit {status}: {said[-300:]}"
        errors = lines(said, "error")
        if status == 6 and "rows" in row.governs:  # complete, with holes of NaN
            status = 0
        is_full = status == 3 and len(errors) == 1 and "shape" in row.governs
        if status and not is_full:
            if status not in (2, 4) or len(errors) != 1:
                return "WRONG", f"exit {status} and {len(errors)} error lines: {said[-300:]}"
            known = row.known and "another known format" in errors[0] or row.known and "shows no other format" in errors[0]
            if not says(errors[0]) and not known:
                return "WRONG", f"the error does not name it: {errors[0]}"
            return "b", errors[0]
        if errors and not is_full:
            return "WRONG", f"exit 0 with {errors[0]}"
        parts = self.differences() if not is_full else {"/time": {"shape"}}
        found = set().union(*parts.values()) if parts else set()
        governed = set(row.governs.split())
        new = [line for line in lines(said, "assumed") if line not in self.assumed and says(line)]
        if row.damage or scope == "last" and row.last == "lost":
            new += [line for line in lines(said, "warning") if line not in self.said]
            governed |= {"rows", "weights"}
        beyond = {name: belongs for name, belongs in parts.items() if not belongs & governed}
        against = self.contradicted(row, change, scope)
        if against and not new:
            return "WRONG", f"contradicts {against}, in silence: " \
                            f"{'other ' + ' '.join(sorted(found)) if found else 'the same product'}"
        if beyond and row.governs != "*":
            return "WRONG", f"also differs: {' '.join(beyond)} ({' '.join(sorted(found))}); it governs " \
                            f"'{row.governs}'" + (f"; {new[0]}" if new else "")
        if new:
            return "assumed", new[0]
        if change in {"removed", "empty"} - set(row.same.split()) and row.removed == "guess" and row.governs:
            return "WRONG", f"it is missing, in silence: {'other ' + ' '.join(sorted(found)) if found else 'the same product'}"
        if change in ("removed", "empty") and row.removed == "told" and found and not (
                found == {"start"} and abs(self.start() - self.start(self.sound)) < 2e-7):
            return "WRONG", f"other facts tell it, but without it {' '.join(sorted(found))} differ"
        if found:
            wrong = self.unexpected(row, *what) if scope == "all" else ""
            return ("WRONG", wrong) if wrong else ("c", " ".join(sorted(found)))
        if row.governs and change not in ("removed", "empty") and row.same != "*" and change not in row.same.split() \
                and not (scope == "last" and row.last == "free"):
            return "WRONG", "it governs " + row.governs + ", but the product is the same"
        return "a", ""

    @staticmethod
    def start_of(product):
        return product["/@start_mjd_day"] * 86400.0 + product["/@start_second"] if "/@start_mjd_day" in product else 0.0

    def start(self, product=None):
        return self.start_of(product or self.product())

    def unexpected(self, row, old, new):
        """A difference between what the product makes of a field that is one number and what it should: row.step says how much of start
        (s) or frequency (Hz) a step of 1 is, or which power of it the sample rate is."""
        if not isinstance(old, (int, float)) or not isinstance(new, (int, float)):
            return ""
        product = self.product()
        for part, step in row.step.items():
            if part == "rate":
                key = "/@sample_rate_hz" if "/@sample_rate_hz" in product else "/@time_step"
                found = product[key] / self.sound[key]
                expected = (new / old) ** (step if key == "/@sample_rate_hz" else -step)
                is_right = np.isclose(found, expected, rtol=1e-9)
            else:
                expected = (new - old) * step
                if part == "start":
                    sound = self.start(self.sound)
                    found, within = self.start(product) - sound, 1e-5
                    if sound and not 33282 <= (sound + expected) / 86400 < 88069:  # 1950 to 2100; else it is unknown
                        expected = -sound
                else:
                    key = "/coarse_frequency" if "/coarse_frequency" in product else "/frequency"
                    key = key if key in product else "/dedispersed@fch1"
                    unit = 1e6 if key.endswith("fch1") else 1
                    found = unit * (np.mean(product[key]) - np.mean(self.sound[key]))
                    within = 1e-9 * np.max(np.abs(product[key])) * unit + 1e-3
                is_right = abs(found - expected) <= within
            if not is_right:
                return f"{part} is {found:.15g} instead of {expected:.15g} " + \
                       ("times what it was" if part == "rate" else "beside what it was")
        return ""

    def says(self, row, field, scope):
        """Whether a message names the field: its name, or the words that its name is made of; what two files do not have
        in common is said in the words of what it governs."""
        name = re.split(r"[@/.]|column ", field)[-1]
        patterns = [row.says] * bool(row.says) + [re.escape(name)]
        patterns += ["(apart|wide).* Hz"] if {"rate", "freq"} & set(row.governs.split()) else []
        patterns += [CONCEPTS[part] for part in row.governs.split() if scope == "last" and part in CONCEPTS]
        words = [word.rstrip("s") for word in re.split("[_ ]", name) if word not in ("n", "hz")]
        return lambda text: any(re.search(r"(?i)(?<![A-Za-z])(" + one + ")", text) for one in patterns) or \
            all(re.search(r"(?i)\b" + re.escape(word), text) for word in words)

    def contradicted(self, row, change, scope):
        """The facts that the change contradicts; "" if none. What is empty is as if it were not there."""
        if change in ("removed", "empty") and row.removed != "guess":
            return "" if row.removed == "default" or self.partners(row, "") else "nothing that tells it"
        if scope == "last" and row.last in ("own", "free") or row.same == "*" or change in row.same.split():
            return ""
        return "the other headers" if scope == "last" else ", ".join(self.partners(row, change))

    def partners(self, row, change):
        """Facts of these headers that state it, too, as far as they contradict this change."""
        found = []
        for fact in row.against.split():
            name, but, only = re.match(r"([^!=]*)((?:![^!=]*)*)((?:=[^!=]*)*)$", fact).groups()
            there = name.startswith("*") or any(re.fullmatch(name.replace("column.", "column "), one)
                                                for one in self.editor.names())
            if there and change not in but.split("!")[1:] and (not only or not change or change in only.split("=")[1:]):
                found.append(name)
        return found


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype.kind in "OSU" else a.dtype == b.dtype and a.tobytes() == b.tobytes()


def lines(said, word):
    return [line for line in said.splitlines() if line.startswith(word + ":")]


def part(task):
    """Outcomes of a share of a format's cases: (case, outcome, remark)."""
    name, variant, share, shares = task
    work = Format(name, variant)
    if work.sound is None:
        return [((name, variant, "-", "-", "-"), "WRONG", f"undisturbed: {work.said[-300:]}")] if share == 0 else []
    cases = [tuple(CASE[1:])] if CASE else [case for case in work.cases() if re.fullmatch(FIELDS, case[0])]
    if COUNT:
        random.Random(f"{SEED} {name} {variant}").shuffle(cases)
    outcomes = [((name, variant, *case), work.case(*case)) for case in cases[share:COUNT or None:shares]]
    if not KEEP:
        shutil.rmtree(work.folder)
    return [(case, *outcome) for case, outcome in outcomes if outcome]


def results():
    if CASE:
        name, _, variant = CASE[0].partition("/")
        return part((name, variant, 0, 1))
    shares = 1 if COUNT or JOBS == 1 else 4
    tasks = [(name, variant, share, shares) for name, (_, _, variants) in facts.FORMATS.items()
             if re.fullmatch(FORMATS, name) for variant in variants for share in range(shares)]
    if JOBS == 1:
        return list(itertools.chain.from_iterable(map(part, tasks)))
    with concurrent.futures.ProcessPoolExecutor(JOBS) as pool:
        return list(itertools.chain.from_iterable(pool.map(part, tasks)))


def show(found):
    """Formats x fields x outcomes."""
    table = collections.defaultdict(collections.Counter)
    for (name, variant, field, _, _), outcome, _ in found:
        table[name, field][outcome] += 1
    kinds = ("a", "b", "c", "assumed", "WRONG")
    note(f"{'format':<14} {'field':<44} " + " ".join(f"{kind:>7}" for kind in kinds))
    for (name, field), counts in table.items():
        note(f"{name:<14} {field[-44:]:<44} " + " ".join(f"{counts[kind] or '.':>7}" for kind in kinds))
    total = collections.Counter(outcome for _, outcome, _ in found)
    note(f"{len(found)} changes: " + ", ".join(f"{total[kind]} {kind}" for kind in kinds))


def main():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
    missing = set(every.MOCKS) - set(facts.FORMATS) - set(facts.NO_HEADER)
    ok(not missing, "every format has a table", " ".join(missing))
    found = results()
    by_format = collections.defaultdict(list)
    for case, outcome, remark in found:
        by_format[case[0]].append((case, outcome, remark))
    for name, some in by_format.items():
        wrong = [one for one in some if one[1] == "WRONG"]
        ok(not wrong, f"{name}: {len(some)} changes of its headers",
           *(f"CASE='{case[0]}/{' '.join(case[1:])}' tests/long/contradictions.py\n    {remark}"
             for case, _, remark in wrong))
    if CASE:
        for case, outcome, remark in found:
            note(f"{outcome}: {remark}")
    show(found)
    finish()


if __name__ == "__main__":
    main()
