#!/usr/bin/env python3
"""One observation in storages made at random: whole, chunked (filtered, with chunks never written), compact, in
external files, virtual (with gaps, of sources that are storages themselves), behind links; some of it damaged.
Each gives the rows of the plain storage, on one rank and on two, or is refused alike with one clear error. Data
that was never stored is never a number: neither in a run, nor in one with on_bad: nan.

    STORAGES=200 SEED=1 tests/long/storages.py
    STORAGE=17 SEED=1 tests/long/storages.py    # one of them alone, with what was said"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VOLTMILL = os.environ.get("VOLTMILL", os.path.join(ROOT, "build/release/voltmill"))
COUNT = int(os.environ.get("STORAGES", "200"))
SEED = int(os.environ.get("SEED", "1"))
ONLY = os.environ.get("STORAGE")
SAMPLES, CHANNELS, TAPS = 6000, 16, 4
LIMIT = 60  # seconds: what takes longer hangs

# How the numbers lie: axes, and the type of a number.
KINDS = [("time,pol,reim", "i1"), ("pol,time,reim", "i1"), ("time,pol,reim", "<i2"), ("time,pol,reim", ">i2")]


class Maker:
    """Writes storages; `time` is the axis of samples."""

    def __init__(self, rng, time):
        self.rng, self.time, self.files = rng, time, 0
        self.may_refuse = False

    def chance(self, p):
        return self.rng.random() < p

    def name(self, ending=".h5"):
        self.files += 1
        return f"part{self.files}{ending}"

    def cuts(self, length, count):
        """Cuts a length into `count` pieces, none of them empty."""
        inner = sorted(self.rng.choice(np.arange(1, length), count - 1, replace=False).tolist()) if count > 1 else []
        return list(zip([0, *inner], [*inner, length]))

    def make(self, data, depth=0):
        """Stores `data` somehow. Returns file, dataset, which elements are lost, and words about it."""
        ways = [self.whole, self.chunked, self.external, self.linked, self.virtual, self.virtual]
        if data.nbytes < 60000:
            ways.append(self.compact)
        if depth >= 2:
            ways = ways[:3]
        return ways[self.rng.integers(len(ways))](data, depth)

    def whole(self, data, _):
        file = self.name()
        block = int(self.rng.choice([0, 0, 512, 4096]))
        with h5py.File(file, "w", userblock_size=block) as f:
            if self.chance(0.1):  # made, and never written
                f.create_dataset("v", data.shape, data.dtype)
                return file, "/v", np.ones(data.shape, bool), "whole, never written"
            f["v"] = data
            end = f["v"].id.get_offset() + data.nbytes
        if self.chance(0.1):
            os.truncate(file, end - int(self.rng.integers(1, data.nbytes)))
            return file, "/v", np.ones(data.shape, bool), "whole, cut off"
        return file, "/v", np.zeros(data.shape, bool), "whole"

    def compact(self, data, _):
        file = self.name()
        space, plist = h5py.h5s.create_simple(data.shape), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        with h5py.File(file, "w") as f:
            h5py.h5d.create(f.id, b"v", h5py.h5t.py_create(data.dtype), space, plist)
            f["v"][...] = data
        return file, "/v", np.zeros(data.shape, bool), "compact"

    def chunked(self, data, _):
        file = self.name()
        chunks = tuple(int(self.rng.integers(1, n + 1)) for n in data.shape)
        least = max(1, data.shape[self.time] // 40)
        chunks = tuple(max(c, least) if i == self.time else c for i, c in enumerate(chunks))
        how = [{}, {"compression": "gzip", "compression_opts": 1}, {"shuffle": True, "compression": "gzip"},
               {"fletcher32": True}, {"compression": "lzf"}][self.rng.choice(5, p=[.35, .2, .2, .2, .05])]
        self.may_refuse |= how.get("compression") == "lzf"
        lost = np.zeros(data.shape, bool)
        words = f"chunks {chunks} {' '.join(how) or 'bare'}"
        with h5py.File(file, "w") as f:
            growing = tuple(None for _ in data.shape) if self.chance(0.3) else None
            dataset = f.create_dataset("v", data.shape, data.dtype, chunks=chunks, maxshape=growing, **how)
            missing = self.chance(0.2)
            for block in dataset.iter_chunks():
                if missing and self.chance(0.1):
                    lost[block] = True
                else:
                    dataset[block] = data[block]
        return file, "/v", lost, words + (f", {lost.sum()} numbers never written" if lost.any() else "")

    def external(self, data, _):
        file, raw, segments, at = self.name(), data.tobytes(), [], 0
        for first, last in self.cuts(len(raw), int(self.rng.integers(1, 5))):
            name, before = self.name(".raw"), int(self.rng.choice([0, 0, 7, 4096]))
            with open(name, "wb") as out:
                out.write(b"\x55" * before + raw[first:last])
            segments.append((name, before, last - first))
        with h5py.File(file, "w") as f:
            f.create_dataset("v", data.shape, data.dtype, external=segments)
        lost, words = np.zeros(data.shape, bool), f"{len(segments)} external files"
        name, before, size = segments[int(self.rng.integers(len(segments)))]
        if self.chance(0.12):
            at = int(self.rng.integers(size))
            os.truncate(name, before + at)
            words += ", one too short"
            lost[...] = True
        elif self.chance(0.08):
            os.remove(name)
            words += ", one not there"
            lost[...] = True
        return file, "/v", lost, words

    def linked(self, data, depth):
        source, path, lost, words = self.make(data, depth + 1)
        file = self.name()
        with h5py.File(file, "w") as f:
            group = f.create_group("a/b")
            group["c"] = h5py.ExternalLink(source, path)
            if self.chance(0.3):
                group["d"] = h5py.SoftLink("/a/b/c")
                f["v"] = h5py.SoftLink("/a/b/d")
            else:
                f["v"] = h5py.SoftLink("/a/b/c")
        return file, "/v", lost, f"linked to [{words}]"

    def virtual(self, data, depth):
        file, lost, words = self.name(), np.ones(data.shape, bool), []
        layout = h5py.VirtualLayout(data.shape, data.dtype)
        count = int(self.rng.integers(1, 5))
        axis = self.time if self.chance(0.8) else int(self.rng.integers(len(data.shape) - 1))
        for first, last in self.cuts(data.shape[axis], min(count, data.shape[axis])):
            if self.chance(0.05):
                words.append("nothing")
                continue
            part = tuple(slice(first, last) if i == axis else slice(None) for i in range(len(data.shape)))
            source, path, gone, what = self.make(np.ascontiguousarray(data[part]), depth + 1)
            damage = self.rng.choice(["", "absent", "no HDF5", "other name", "FIFO"], p=[.93, .02, .02, .015, .015])
            if damage:
                gone = np.ones_like(gone)
                what = f"{what}, {damage}"
            if damage == "absent":
                os.remove(source)
            elif damage == "no HDF5":
                with open(source, "wb") as out:
                    out.write(b"\x00" * 5000)
            elif damage == "FIFO":
                os.remove(source)
                os.mkfifo(source)
            layout[part] = h5py.VirtualSource(source, "/no/such" if damage == "other name" else path, data[part].shape,
                                              dtype=data.dtype)
            lost[part] = gone
            words.append(what)
        with h5py.File(file, "w") as f:
            f.create_virtual_dataset("v", layout, fillvalue=int(self.rng.choice([0, 5])))
        return file, "/v", lost, f"virtual along axis {axis} of [{'; '.join(words)}]"


def job(name, file, dataset, axes, on_bad):
    with open(name, "w") as out:
        out.write(f"""input:
  files: {file}
  layout: {{dataset: {dataset}, axes: "{axes}", sample_rate_hz: 1e6, freq_hz: 400e6}}
channelise: {{channels: {CHANNELS}, taps: {TAPS}, backend: cpu}}
products: [{{kind: spectra, file: out.h5}}]
run: {{chunk: 50, threads: 1, on_bad: {on_bad}}}
""")


def run(name, ranks):
    """Exit status, rows (None without a product), and the error lines."""
    for end in ("", ".part", ".journal"):
        if os.path.exists("out.h5" + end):
            os.remove("out.h5" + end)
    command = [VOLTMILL, "run", name]
    if ranks > 1:
        command = ["mpirun", "-n", str(ranks), *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "hangs", None, []
    rows = None
    if os.path.exists("out.h5"):
        with h5py.File("out.h5") as f:
            rows = f["spectra"][()].view("f4").reshape(f["spectra"].shape[0], -1)
    if ONLY:
        print(f"# {ranks} ranks: exit {done.returncode}\n" + re.sub("^", "# ", done.stderr, flags=re.M))
    return done.returncode, rows, [line for line in done.stderr.splitlines() if line.startswith("error: ")]


def needs(lost):
    """Which rows need a lost sample."""
    spectra = lost[:len(lost) // CHANNELS * CHANNELS].reshape(-1, CHANNELS).any(1)
    return np.array([spectra[i:i + TAPS].any() for i in range(len(spectra) - TAPS + 1)])


def judge(outcomes, plain, rows_lost, is_whole, may_refuse):
    """Returns the error in (status, rows, errors) on one rank and on two; nothing if all is well."""
    for status, rows, errors in outcomes:
        if status == "hangs" or status not in (0, 2, 3, 4, 5, 6):
            return f"exit {status}"
        if status in (0, 6):
            if rows is None or errors:
                return f"exit {status} with {errors or 'no product'}"
            finite = ~np.isnan(rows).all(1)
            if (rows[finite] != plain[finite]).any():
                return f"{(rows[finite] != plain[finite]).any(1).sum()} rows are wrong, exit {status}"
            if (finite & rows_lost).any():
                return f"{(finite & rows_lost).sum()} rows hold what nobody stored, exit {status}"
            if status == 0 and not finite.all():
                return "NaN, exit 0"
        elif len(errors) != 1 or rows is not None:
            return f"exit {status}, {len(errors)} error lines, {'a' if rows is not None else 'no'} product"
    (one, _, first), (two, _, second) = outcomes
    said = [re.sub(r" \(rank.*\)", "", " ".join(lines)) for lines in (first, second)]
    if one != two or said[0].split(": ")[:3] != said[1].split(": ")[:3]:
        return f"not alike: {one} {said[0]} and {two} {said[1]}"
    if is_whole and not may_refuse and one != 0:
        return f"refused: {said[0]}"
    return ""


def main():
    print(f"1..{1 if ONLY else COUNT}")
    plains, outcome_counts = {}, {}
    for number in range(1, COUNT + 1):
        rng = np.random.default_rng([SEED, number])
        kind = int(rng.integers(len(KINDS)))
        if ONLY and number != int(ONLY):
            continue
        folder = tempfile.mkdtemp(prefix="voltmill-storage.")
        os.chdir(folder)
        os.environ["VOLTMILL_CACHE"] = os.path.join(folder, "cache")
        axes, dtype = KINDS[kind]
        time = axes.split(",").index("time")
        shape = tuple(SAMPLES if axis == "time" else 2 for axis in axes.split(","))
        data = np.random.default_rng(kind).integers(-100, 101, shape).astype(dtype)
        if kind not in plains:
            with h5py.File("plain.h5", "w") as f:
                f["v"] = data
            job("plain.yaml", "plain.h5", "/v", axes, "stop")
            status, plains[kind], _ = run("plain.yaml", 1)
            assert status == 0, "the plain storage"
        maker = Maker(rng, time)
        file, dataset, lost, words = maker.make(data)
        on_bad = "nan" if rng.random() < 0.4 else "stop"
        job("job.yaml", file, dataset, axes, on_bad)
        by_time = np.moveaxis(lost, time, 0).reshape(SAMPLES, -1).any(1)
        outcomes = [run("job.yaml", ranks) for ranks in (1, 2)]
        wrong = judge(outcomes, plains[kind], needs(by_time), not lost.any(), maker.may_refuse)
        status = outcomes[0][0]
        outcome = "WRONG" if wrong else {0: "equal", 6: "equal but for holes"}.get(status, "refused")
        outcome_counts[outcome] = outcome_counts.get(outcome, 0) + 1
        print(f"{'not ok' if wrong else 'ok'} {1 if ONLY else number} - {axes} {dtype}, {words}, on_bad {on_bad}: {outcome}")
        if wrong:
            print(f"#   {wrong}\n#   again: STORAGE={number} SEED={SEED} STORAGES={COUNT} tests/long/storages.py", flush=True)
        os.chdir("/")
        shutil.rmtree(folder)
    print(f"# {', '.join(f'{value} {key}' for key, value in sorted(outcome_counts.items()))}")
    return "WRONG" in outcome_counts


sys.exit(main())
