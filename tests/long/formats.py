#!/usr/bin/env python3
"""Runs and imports of a small archive of every format (tests/clients/mocks/every.py), disturbed: the same bytes by
any number of ranks and threads; killed, at a call on any of their files or at any time, the same command
resumes to the same bytes, and files with their final names are whole; calls on the files that are read fail
once each; files change while they are read, and before a run goes on. A wrong product never comes out, failures
are one error line.

    FORMATS='guppi|vdif' SEED=1 JOBS=2 tests/long/formats.py    # JOBS: how many formats run at once
    ATTACK='vdif import 2 1 57 eio no' tests/long/formats.py    # one alone, as a failure names it

For each format, run and import: SPREAD kills at calls, TIMES kills at random times, FAULTS calls that fail (0:
all), on up to RANKS ranks. WHOLLY names formats: all others are then run on one rank, and killed once, alone."""
import concurrent.futures
import glob
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../clients"))
from common import ENVIRONMENT, ROOT, SCRATCH, VOLTMILL, Tap, finish, note, ok, yaml
from mocks import every

SHIMS = os.path.join(os.path.dirname(VOLTMILL), "tests/faults")
SEED, JOBS = int(os.environ.get("SEED", "1")), int(os.environ.get("JOBS", "1"))
SPREAD, TIMES, FAULTS = (int(os.environ.get(*word)) for word in (("SPREAD", "12"), ("TIMES", "3"), ("FAULTS", "100")))
WHOLLY = os.environ.get("WHOLLY", ".*")
LIMIT = 120  # seconds: what takes longer hangs
IMPORTED = "imported.h5"
ERROR_STATUS = {2, 3, 4, 5}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Failure(Exception):
    pass


class Work:
    """The folder of a format: its archive, its job, and what undisturbed commands make of it."""

    def __init__(self, name):
        self.name, self.dice = name, random.Random(f"{SEED} {name}")
        self.is_wholly = bool(re.fullmatch(WHOLLY, name))
        self.ranks = int(os.environ.get("RANKS", "3")) if self.is_wholly else 1
        self.top = os.path.join(SCRATCH, name)
        self.folder = os.path.join(self.top, "job")
        os.makedirs(self.folder)
        os.mkdir(os.path.join(self.top, "mpi"))
        job, self.products = every.write(name, self.folder)
        self.inputs = sorted(os.path.relpath(os.path.join(path, file), self.folder)
                             for path, _, files in os.walk(self.folder) for file in files)
        self.is_voltages = "dedisperse" not in job
        with open(self.at("job.yaml"), "w") as file:
            file.writelines(f"{key}: {yaml(value)}\n" for key, value in job.items())
        self.sound = {file: digest(self.at(file)) for file in self.inputs}
        self.kept = os.path.join(self.top, "kept")
        shutil.copytree(self.folder, self.kept)
        self.commands = {"run": (["run", "job.yaml"], self.products)} if self.products else {}
        if self.is_voltages and (self.is_wholly or not self.products):
            self.commands["import"] = (["import", "-o", IMPORTED, "--job", "job.yaml"], [IMPORTED])
        self.whole = {}

    def at(self, name):
        return os.path.join(self.folder, name)

    def start(self, what, ranks=1, preload=(), environment={}, words=()):
        """Begins a command in a group of processes of its own; what it says goes to `said`."""
        before = {**ENVIRONMENT, "VOLTMILL_CACHE": os.path.join(self.top, "cache"), "OMP_NUM_THREADS": "1",
                  "OMPI_MCA_orte_tmpdir_base": os.path.join(self.top, "mpi")}
        shim = [f"LD_PRELOAD={':'.join(os.path.join(SHIMS, name) for name in preload)}"] if preload else []
        shim += [f"{key}={value}" for key, value in environment.items()]
        command = (["mpirun", "-n", str(ranks)] if ranks > 1 else []) + (["env", *shim] if shim else [])
        with open(os.path.join(self.top, "said"), "wb") as said:
            return subprocess.Popen(command + [VOLTMILL, *self.commands[what][0], *words], cwd=self.folder, env=before,
                                    stdout=said, stderr=said, stdin=subprocess.DEVNULL, start_new_session=True)

    def said(self):
        with open(os.path.join(self.top, "said"), errors="replace") as file:
            return file.read()

    def end(self, process):
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Failure("it hangs") from None

    def do(self, what, *words, **how):
        return self.end(self.start(what, words=words, **how))

    def attack(self, what, ranks, rank, call, fate, apart):
        """The command with one call that meets its fate; or, without a call, a list of all calls: (number, name, file)."""
        log = os.path.join(self.top, "calls")
        if os.path.exists(log):
            os.remove(log)
        environment = {"ATTACK_FOLDER": self.folder, "ATTACK_LOG": log, "ATTACK_RANK": rank}
        environment.update({"ATTACK_CALL": call, "ATTACK_FATE": fate} if call else {})
        environment.update({"ATTACK_APART": "yes"} if apart else {})
        status = self.do(what, ranks=ranks, preload=["attack_shim.so"], environment=environment)
        if call:
            return status
        if status != 0:
            raise Failure(f"undisturbed: exit {status}: {self.said()}")
        if not os.path.exists(log):
            return []
        with open(log) as file:
            lines = [line.split(None, 3)[1:] for line in file]
        return [(int(number), name, os.path.relpath(os.path.join(self.folder, path.rstrip("\n")), self.folder))
                for number, name, path in lines]

    def clear(self):
        for pattern in ("*.part", "*.journal", IMPORTED, *self.products):
            for path in glob.glob(self.at(pattern)):
                os.remove(path)

    def restore(self, name):
        """The very file that was there before, but for its inode."""
        shutil.copy2(os.path.join(self.kept, name), self.at(name))

    # ---- what must hold

    def check_whole(self, what):
        """Checks that files with their final names are whole, and that inputs are unchanged."""
        for name in self.commands[what][1]:
            if os.path.exists(self.at(name)) and digest(self.at(name)) != self.whole[name]:
                raise Failure(f"{name} is not that of an undisturbed command")

    def is_complete(self, what):
        self.check_whole(what)
        return all(os.path.exists(self.at(name)) for name in self.commands[what][1])

    def check_clear(self, status):
        """A failure is one error line."""
        errors = re.findall("^error: .*", self.said(), re.M)
        if status not in ERROR_STATUS or len(errors) != 1:
            raise Failure(f"exit {status}, {len(errors)} error lines: {self.said()}")
        return errors[0]

    def check_goes_on(self, what, **how):
        """The same command, however the work is cut, ends with the bytes of an undisturbed one."""
        dice = self.dice
        if what == "import" and self.is_complete(what):
            self.check_end(what) # which it would not replace
            return
        words = ["--set", f"run.threads={dice.choice([1, 2, 3])}"]
        if what == "run":
            words += ["--set", f"run.chunk={dice.choice([24, 100, 333, 5000])}"]
        status = self.do(what, *words, **how)
        if status != 0:
            raise Failure(f"the same command: exit {status}: {self.said()}")
        self.check_end(what)

    def check_end(self, what):
        if not self.is_complete(what):
            raise Failure("a product is missing")
        left = [name for name in os.listdir(self.folder) if name.endswith((".part", ".journal"))]
        if left:
            raise Failure(f"left behind: {' '.join(left)}")
        for name, sound in self.sound.items():
            if digest(self.at(name)) != sound:
                raise Failure(f"{name}, which was only read, has changed")

    # ---- the campaigns

    def undisturbed(self, what):
        """One rank, one thread; then others."""
        self.clear()
        status = self.do(what)
        if status != 0:
            raise Failure(f"exit {status}: {self.said()}")
        self.whole.update({name: digest(self.at(name)) for name in self.commands[what][1]})
        if not self.is_wholly:
            return "undisturbed" # killed, it goes on by other threads and chunks
        for ranks, words in ((1, ["--set", "run.threads=3"]),
                             *((n, ["--set", "run.threads=1"]) for n in range(2, self.ranks + 1))):
            self.clear()
            status = self.do(what, *words, ranks=ranks)
            if status != 0:
                raise Failure(f"{ranks} ranks: exit {status}: {self.said()}")
            self.check_end(what)
        return f"on 1 to {self.ranks} ranks, by 1 and 3 threads"

    def strike(self, what, ranks, rank, call, fate, apart):
        """One attack at one call, and what must hold then; returns whether it came to an error."""
        self.clear()
        status = self.attack(what, ranks, rank, call, fate, apart)
        self.check_whole(what)
        if status == 0 and not self.is_complete(what):
            raise Failure("exit 0, but a product is missing")
        if status != 0 and (fate != "kill" or apart):
            error = self.check_clear(status)
            if fate != "kill" and not any(os.path.basename(name) in error for name in self.names):
                raise Failure(f"no file is named: {error}")
        self.check_goes_on(what, ranks=self.dice.randint(1, self.ranks) if fate == "kill" else 1)
        return status != 0

    @property
    def names(self):
        """Returns the files and folders that an error may name."""
        folders = {os.path.dirname(name) for name in self.inputs} - {""}
        return [*self.inputs, *self.products, IMPORTED, *folders, self.top]

    def all_calls(self, what, ranks, also_apart=True):
        """(rank, apart, number, name, file) of an undisturbed command."""
        calls = []
        for rank in range(ranks):
            for apart in (False, True) if rank == 0 and also_apart else (False,):
                self.clear()
                calls += [(rank, apart, *call) for call in self.attack(what, ranks, rank, 0, "", apart)]
        return calls

    def strikes(self, what, ranks, calls, fate):
        errors = 0
        for rank, apart, number, name, file in calls:
            try:
                errors += self.strike(what, ranks, rank, number, fate, apart)
            except Failure as failure:
                attack = f"{self.name} {what} {ranks} {rank} {number} {fate} {'apart' if apart else 'no'}"
                raise Failure(f"ATTACK='{attack}' ({name} {file}): {failure}") from None
        return f"{len(calls)}, {errors} of them failed"

    def some(self, calls, count):
        """Evenly over all of them, from a random one on."""
        begin = self.dice.random()
        if count == 0 or count >= len(calls):
            return calls
        return [calls[int((i + begin) * len(calls) / count)] for i in range(count)]

    def kills(self, what):
        said = []
        for ranks in range(1, self.ranks + 1):
            share = (SPREAD + self.ranks - ranks) // self.ranks
            calls = self.some(self.all_calls(what, ranks, False), share) if share else []
            said.append(f"{ranks} ranks: " + self.strikes(what, ranks, calls, "kill"))
        return "; ".join(said)

    def faults(self, what):
        """Each call on a file that is read, a kind of call on a file by the other when it is a sample."""
        folders = {os.path.dirname(name) for name in self.inputs}
        calls = [call for call in self.all_calls(what, 1) if call[4] in self.inputs or call[4] in folders]
        kinds = {}
        for call in calls:
            kinds.setdefault((call[1], call[3], call[4]), []).append(call)
        first = [of[0] for of in kinds.values()]
        rest = [call for of in kinds.values() for call in of[1:]]
        if FAULTS:
            more = FAULTS - len(first)
            calls = self.some(first, FAULTS) + (self.some(rest, more) if more > 0 else [])
        return self.strikes(what, 1, calls, "eio")

    def processes(self):
        """Ranks of this format's command."""
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.readlink(f"/proc/{entry}/cwd") == self.folder:
                    with open(f"/proc/{entry}/cmdline", "rb") as file:
                        if file.read().split(b"\0")[0].decode() == VOLTMILL:
                            yield int(entry)
            except OSError:
                pass

    def random_kills(self, what):
        """Ranks and mpirun, at any time, again and again, then on to the end."""
        kills = 0
        for _ in range(TIMES):
            self.clear()
            for _ in range(3):
                ranks = self.dice.randint(1, self.ranks)
                process = self.start(what, ranks, ["io_shim.so"], {"SHIM_NAP": 20})
                time.sleep(self.dice.uniform(0, 0.6) + (0.4 if ranks > 1 else 0))
                victims = list(self.processes())
                victim = process.pid if self.dice.random() < 0.5 or not victims else self.dice.choice(victims)
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                self.reap(process)
                kills += process.returncode != 0
                self.check_whole(what)
            self.check_goes_on(what, ranks=self.dice.randint(1, self.ranks))
        return f"{kills} kills"

    def reap(self, process):
        """Now and then mpirun hangs for ever when all ranks are gone (tests/tools/lib.sh)."""
        end = time.monotonic() + 30
        while (process.poll() is None or list(self.processes())) and time.monotonic() < end:
            time.sleep(0.02)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        while list(self.processes()):
            time.sleep(0.02)

    # ---- files that change

    def turn_byte(self, name):
        """One in the last third."""
        at = os.path.getsize(self.at(name)) * 3 // 4
        with open(self.at(name), "r+b") as file:
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ 1]))

    def cut(self, name):
        os.truncate(self.at(name), os.path.getsize(self.at(name)) * 3 // 4)

    def remove(self, name):
        os.remove(self.at(name))

    def changed_between(self, _):
        """Changes each file before a begun run resumes."""
        self.clear()
        for writes in (7, 12, 25, 50): # until the journal vouches for some chunks, on a busy machine, too
            self.do("run", preload=["io_shim.so"], environment={"SHIM_NAP": 20, "SHIM_ROWS": f"{writes}:kill"})
            if self.chunks_done() > 0:
                break
        else:
            raise Failure(f"no run was begun: {self.said()}")
        begun = [name for name in os.listdir(self.folder) if name.endswith((".part", ".journal"))]
        kept = {name: digest(self.at(name)) for name in begun}
        count = 0
        for name in self.inputs:
            for change in (self.turn_byte, self.cut, self.remove):
                change(name)
                status = self.do("run")
                where = f"{change.__name__} {name}"
                self.restore(name)
                if any(os.path.exists(self.at(made)) for made in self.products):
                    raise Failure(f"{where}: a product came to be (exit {status})")
                try:
                    self.check_clear(status)
                except Failure as failure:
                    raise Failure(f"{where}: {failure}") from None
                if {made: digest(self.at(made)) for made in begun} != kept:
                    raise Failure(f"{where}: what was begun has changed: {self.said()}")
                count += 1
        self.check_goes_on("run")
        return f"{count} changes refused"

    def changed_within(self, what):
        """While it runs: written to, cut, replaced."""
        self.clear()
        count = 0
        for name in self.some(self.inputs, 4):
            for change in (self.turn_byte, self.cut, self.restore):
                process = self.start(what, 1, ["io_shim.so"], {"SHIM_NAP": 40})
                end = time.monotonic() + 30
                while process.poll() is None and time.monotonic() < end and not self.has_begun(what):
                    time.sleep(0.005)
                change(name)
                os.utime(self.at(name))
                status = self.end(process)
                where = f"{change.__name__} {name}"
                self.restore(name)
                if status == 0 or any(os.path.exists(self.at(made)) for made in self.commands[what][1]):
                    raise Failure(f"{where}: exit {status}, and a product: {self.said()}")
                error = self.check_clear(status)
                if os.path.basename(name) not in error:
                    raise Failure(f"{where}: it is not named: {error}")
                self.clear()
                count += 1
        return f"{count} changes refused"

    def chunks_done(self):
        status = subprocess.run([VOLTMILL, "status", self.products[-1]], cwd=self.folder, env=ENVIRONMENT, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
        found = re.search("^  chunks +([0-9,]+) of", status, re.M)
        return int(found.group(1).replace(",", "")) if found else 0

    def has_begun(self, what):
        """Its rows have begun to come."""
        part = self.at(self.commands[what][1][-1] + ".part")
        journal = self.at(self.products[-1] + ".journal")
        return os.path.exists(journal if what == "run" else part) and (what != "run" or os.path.getsize(part) > 0)


CAMPAIGNS = (("the same bytes", "undisturbed", ("run", "import")), ("killed at calls", "kills", ("run", "import")),
             ("killed at times", "random_kills", ("run", "import")), ("calls that fail", "faults", ("run", "import")),
             ("files changed before it goes on", "changed_between", ("run",)),
             ("files changed while it runs", "changed_within", ("run",)))
WANTED = re.compile(os.environ.get("CAMPAIGNS", "."))


def campaign(name):
    """(good, words, notes) of each campaign of a format."""
    results, work = [], Work(name)
    for what in work.commands:
        for title, method, whats in CAMPAIGNS:
            is_wanted = method == "undisturbed" or (WANTED.search(method) if work.is_wholly else method == "kills")
            if what not in whats or not is_wanted:
                continue
            try:
                results.append((True, f"{name}: {what}: {title}: {getattr(work, method)(what)}", ""))
            except Failure as failure:
                results.append((False, f"{name}: {what}: {title}", failure))
                if method == "undisturbed":
                    break
    shutil.rmtree(work.top, ignore_errors=True)
    return results


def alone(words):
    name, what, ranks, rank, call, fate, apart = words.split()
    work = Work(name)
    work.undisturbed(what)
    try:
        work.strike(what, int(ranks), int(rank), int(call), fate, apart == "apart")
        ok(True, words)
    except Failure as failure:
        ok(False, words, failure)
    note(work.said())


def main():
    if not os.path.exists(os.path.join(SHIMS, "attack_shim.so")):
        print(f"1..0 # SKIP {SHIMS}/attack_shim.so is not built")
        return
    if "ATTACK" in os.environ:
        alone(os.environ["ATTACK"])
        finish()
    names = [name for name in every.MOCKS if re.fullmatch(os.environ.get("FORMATS", ".*"), name)]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for results in pool.map(campaign, names):
            for good, words, notes in results:
                ok(good, words, notes)
    finish()


main()
