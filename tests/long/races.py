#!/usr/bin/env python3
"""Races for the names of outputs, in a folder that somebody else may write to: while a command writes, links to files of the
command's user (its input among them) take the place of FILE.part, its journal and its compressed copy. Either at one call of
the command, before it opens one of them by its name most of all (tests/faults/attack_shim.c), or by another process, which
swaps, exchanges or plants them all the while. Whatever the command says, no such file may change.

RACES: how many (64); RACE=N: only that one, as a failure prints it."""
import ctypes
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../clients"))
from common import ENVIRONMENT, ROOT, VOLTMILL, finish, note, ok, scratch, voltmill, write_yaml

RACES = int(os.environ.get("RACES", "64"))
ONLY = os.environ.get("RACE")
SHIM = os.path.join(os.path.dirname(VOLTMILL), "tests/faults/attack_shim.so")
EXCHANGE = 2  # of renameat2()
HERE = -100   # AT_FDCWD
LIMIT = 120   # seconds: a command that takes longer hangs
libc = ctypes.CDLL(None, use_errno=True)

# Commands, and the names under which they write. Every command may be refused; {out} is the shared folder.
COMMANDS = {
    "run": (["run", "--force", "job.yaml", "--set", "products.0.file={out}/a.h5", "--set", "products.1.file={out}/b.h5"],
            ["a.h5.part", "b.h5.part", "a.h5.journal", "b.h5.journal"]),
    "synth": (["synth", "--force", "sky.yaml", "--set", "file={out}/new.h5"], ["new.h5.part"]),
    "import": (["import", "--force", "-o", "{out}/new.h5", "gaps.h5"], ["new.h5.part"]),
    "run, compressed": (["run", "--force", "packed.yaml", "--set", "products.0.file={out}/c.h5"],
                        ["c.h5.part", "c.h5.packed.part", "c.h5.journal"]),
    "join": (["join", "--force", "-o", "{out}/j.h5", "early.h5", "late.h5"], ["j.h5.part"]),
    "export": (["export", "--force", "--format", "fil", "-o", "{out}/e.fil", "early.h5"], ["e.fil.part"]),
    "run, two ranks": (["run", "--force", "job.yaml", "--set", "products.0.file={out}/a.h5", "--set",
                        "products.1.file={out}/b.h5"], ["a.h5.part", "b.h5.part", "a.h5.journal"]),
    "run, SIGPROC": (["run", "--force", "fil.yaml", "--set", "products.0.file={out}/d.fil"],
                     ["d.fil.part", "d.fil.packed.part", "d.fil.journal"]),
    "run, voltages": (["run", "--force", "voltages.yaml", "--set", "products.0.file={out}/v.h5"],
                      ["v.h5.part", "v.h5.journal"]),
    "plot": (["plot", "--force", "-o", "{out}/p.png", "--data", "{out}/p.csv", "early.h5"], ["p.png.part", "p.csv.part"]),
    "bench": (["bench", "fir", "--backend", "cpu", "--threads", "1", "--repeat", "1", "--method", "direct", "--taps", "1", "--points",
               "500", "--csv", "{out}/t.csv"], ["t.csv"]),
}
# Some are what one of the commands takes for its own, had it been killed.
PRECIOUS = ["obs.h5", "gaps.h5", "early.h5", "letter.txt", "begun.fil"]


def prepare():
    os.chdir(scratch("."))
    sky = dict(file="obs.h5", samples=120000, streams={"pols": 2}, bits=8, sample_rate_hz=1e6, freq_hz=100e6, noise=20, seed=5)
    write_yaml("sky.yaml", sky)
    voltmill("synth", "sky.yaml")
    voltmill("synth", "sky.yaml", "--set", "file=gaps.h5", "--set", "gaps=[{first: 1000, count: 50}]")
    bank = dict(channels=256, taps=4, backend="cpu")
    for name, products in dict(job=[dict(kind="power", file="a.h5"), dict(kind="spectra", file="b.h5")],
                               packed=[dict(kind="power", file="c.h5", compress="lz4")],
                               fil=[dict(kind="power", file="d.fil", format="fil", bits=8)],
                               voltages=[dict(kind="voltages", file="v.h5", bits=8, scale=1)]).items():
        job = dict(input={"files": "obs.h5"}, products=products, run=dict(threads=1))
        if name != "voltages":
            job["channelise"] = bank
        write_yaml(f"{name}.yaml", job)
    for name, samples in (("early", [0, 51200]), ("late", [51200, 102400])):
        voltmill("run", "job.yaml", "--set", f"input.select.samples={samples}", "--set",
                 f"products=[{{kind: power, file: {name}.h5}}]")
    voltmill("export", "--format", "fil", "-o", "begun.fil", "early.h5")
    with open("letter.txt", "w") as file:
        file.write("precious\n" * 100)
    os.mkdir("kept")
    for name in PRECIOUS:
        shutil.copyfile(name, f"kept/{name}")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def is_harmed(name):
    return not os.path.exists(name) or digest(name) != digest(f"kept/{name}")


def is_regular(path):
    try:
        return os.path.isfile(path) and not os.path.islink(path)
    except OSError:
        return False


def command(kind, folder, **settings):
    """Its exit status, and what it said."""
    ranks = ["mpirun", "-n", "2"] if kind.endswith("two ranks") else []
    words = [word.format(out=folder) for word in COMMANDS[kind][0]]
    environment = dict(ENVIRONMENT, OCL_ICD_VENDORS=os.path.join(ROOT, "tests/tools/"))
    sets = ["env"] + [f"{name}={value}" for name, value in settings.items()]
    try:
        done = subprocess.run(ranks + sets + [VOLTMILL] + words, env=environment, timeout=LIMIT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return "none: it hangs", (late.stdout or b"").decode(errors="replace")


def list_calls(kind):
    """(number, call, name of the file) of each call of rank 0 in the shared folder, in an undisturbed run."""
    folder, log = scratch("counted"), scratch("counted.log")
    os.mkdir(folder)
    command(kind, folder, LD_PRELOAD=SHIM, ATTACK_FOLDER=folder, ATTACK_LOG=log, ATTACK_RANK="0")
    with open(log) as file:
        lines = [line.split(" ", 3) for line in file.read().splitlines()]
    os.unlink(log)
    shutil.rmtree(folder)
    return [(int(number), call, os.path.basename(path)) for _, number, call, path in lines]


def race_at_call(rng, kind, folder, target, is_hard):
    """A link takes a name before one of the calls on it."""
    calls = [call for call in list_calls(kind) if call[2] in COMMANDS[kind][1]]
    opens = [call for call in calls if call[1].startswith(("open", "fopen"))]
    number, call, name = rng.choice(opens if opens and rng.random() < 0.7 else calls)
    status, said = command(kind, folder, LD_PRELOAD=SHIM, ATTACK_FOLDER=folder, ATTACK_CALL=str(number), ATTACK_RANK="0",
                           ATTACK_FATE="hardlink" if is_hard else "link", ATTACK_LINK=target,
                           ATTACK_NAME=os.path.join(folder, name))
    return f"at call {number}, {call} of {name}", status, said


def make_link(target, path, is_hard):
    (os.link if is_hard else os.symlink)(target, path)


def attack(rng, folder, names, target, how, is_hard):
    """Until it is ended: swaps one of the names for a link as soon as it is there, or exchanges the two over and over; or
    plants a link before the file can be made, again and again."""
    link = os.path.join(folder, "link")
    while True:
        name = os.path.join(folder, rng.choice(names))
        try:
            if how == "plants":
                make_link(target, name, is_hard)
                time.sleep(rng.uniform(0, 2e-4))
                os.unlink(name)
                time.sleep(rng.uniform(0, 2e-3))
                continue
            end = time.monotonic() + 0.02
            while not is_regular(name) and time.monotonic() < end:
                pass
            if not is_regular(name):
                continue
            if not os.path.lexists(link):
                make_link(target, link, is_hard)
            time.sleep(rng.choice([0, 0, rng.uniform(0, 2e-3), rng.uniform(0, 2e-2)]))
            libc.renameat2(HERE, link.encode(), HERE, name.encode(), EXCHANGE)
            if how == "exchanges":
                time.sleep(rng.choice([0, rng.uniform(0, 1e-3)]))
                libc.renameat2(HERE, link.encode(), HERE, name.encode(), EXCHANGE)
        except OSError:
            pass  # the command has moved on; so does the attack


def race_with_process(rng, kind, folder, target, is_hard):
    how = rng.choice(["swaps", "swaps", "exchanges", "plants"])
    attacker = os.fork()
    if attacker == 0:
        try:
            attack(rng, folder, COMMANDS[kind][1], target, how, is_hard)
        finally:
            os._exit(1)
    status, said = command(kind, folder)
    os.kill(attacker, signal.SIGKILL)
    os.waitpid(attacker, 0)
    return f"a process {how} names", status, said


def race(number):
    rng = random.Random(number)
    kind = list(COMMANDS)[number % len(COMMANDS)]
    is_hard = number % 7 == 6
    folder = scratch(f"shared{number}")
    target = os.path.abspath(rng.choice(PRECIOUS))
    os.mkdir(folder)
    runs = race_at_call if number // len(COMMANDS) % 2 == 0 else race_with_process
    how, status, said = runs(rng, kind, folder, target, is_hard)
    harmed = [name for name in PRECIOUS if is_harmed(name)]
    link = "hard" if is_hard else "symbolic"
    ok(not harmed and status in (0, 2, 3, 4, 5, 75),
       f"race {number}: {kind}: {how}, {link} links to {os.path.basename(target)}: no file is harmed",
       f"RACE={number} tests/long/races.py", f"harmed: {harmed}, exit status {status}", said)
    for name in harmed:
        shutil.copyfile(f"kept/{name}", name)
    shutil.rmtree(folder)
    return status


prepare()
statuses = [race(number) for number in ([int(ONLY)] if ONLY else range(RACES))]
note(", ".join(f"{statuses.count(status)} ended with {status}" for status in sorted(set(statuses), key=str)))
finish()
