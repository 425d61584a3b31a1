#!/usr/bin/env python3
"""Signals at random moments, from before MPI begins to the end of a run, to ranks and to mpirun: each
run ends with exactly one line that begins with `stopped:` and the stated status, or is complete; no
`error:`, no rank left; the same command goes on to the bytes of an undisturbed run. SIGNALS=n SEED=n."""
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VOLTMILL = os.environ.get("VOLTMILL", os.path.join(HERE, "build/release/voltmill"))
SHIM = os.environ.get("VOLTMILL_IO_SHIM", os.path.join(os.path.dirname(VOLTMILL), "tests/faults/io_shim.so"))
SIGNALS = int(os.environ.get("SIGNALS", "100"))
JOB = """
input: {files: bank.h5}
channelise: {channels: 64, taps: 64, backend: cpu}
products:
  - {kind: spectra, file: spectra.h5}
  - {kind: power, file: power.h5, integrate: 10}
run: {chunk: 60, sync: 0.01, threads: 1}
"""
OBSERVATION = "{file: bank.h5, samples: 1000000, streams: {pols: 2}, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e9, noise: 9}"
# Beams and visibilities, whose delays change.
ARRAY_JOB = """
input: {files: array.h5}
array: {table: stations.yaml, centre: {ra_deg: 10, dec_deg: -30}, ut1_utc: 0, polar_motion: [0, 0]}
beams: [{ra_deg: 10, dec_deg: -30}, {ra_deg: 10.1, dec_deg: -30}]
channelise: {channels: 64, taps: 16, backend: cpu}
products:
  - {kind: power, file: power.h5, integrate: 10}
  - {kind: visibilities, file: spectra.h5, integrate: 20, feed: linear}
run: {chunk: 60, sync: 0.01, threads: 1}
"""
ARRAY = OBSERVATION.replace("bank.h5", "array.h5").replace("pols: 2", "stations: 3, pols: 2").replace("1000000", "500000")
STATIONS = """
reference: {lon_deg: 21.4, lat_deg: -30.7}
stations:
  - {name: S000, enu_m: [0, 0, 0]}
  - {name: S001, enu_m: [30, 20, 1], delay_s: [3e-5, 1e-4]}
  - {name: S002, enu_m: [-70, 55, 2], delay_s: [-2e-5, -2e-4]}
"""
FILES = {"bank.yaml": JOB, "bank-obs.yaml": OBSERVATION, "array.yaml": ARRAY_JOB, "array-obs.yaml": ARRAY,
         "stations.yaml": STATIONS}
PRODUCTS = ("spectra.h5", "power.h5")
# Ranks that have ended, but whose launcher says so late, and a launcher that waits for what was killed.
LAUNCHER_SECONDS = 100


def ranks():
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read().split("\0")
        except OSError:
            continue
        if words[:2] == [VOLTMILL, "run"]:
            found.append(int(entry))
    return sorted(found)


def digest():
    whole = hashlib.sha256()
    for name in PRODUCTS:
        with open(name, "rb") as file:
            whole.update(file.read())
    return whole.hexdigest()


def clear():
    for name in PRODUCTS:
        for path in (name, f"{name}.part", f"{name}.journal"):
            if os.path.exists(path):
                os.remove(path)


def wait(run):
    """PMIx 4.2 now and then locks itself out in mpirun when all ranks are gone."""
    try:
        return run.communicate(timeout=LAUNCHER_SECONDS)[1], run.returncode
    except subprocess.TimeoutExpired:
        run.kill()
        return run.communicate()[1], None


def strike(job, size, number, at_mpirun, delay, words):
    """Gives what is wrong, or nothing, and what became of the run."""
    slow = ["env", f"LD_PRELOAD={SHIM}", "SHIM_NAP=6"]
    run = subprocess.Popen(["mpirun", "-n", str(size), *slow, VOLTMILL, "run", job, *words],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(delay)
    targets = ranks()
    # Before there are ranks, mpirun is all that there is to be asked.
    at_mpirun = at_mpirun or not targets
    began_late = not targets
    try:
        os.kill(run.pid if at_mpirun else random.choice(targets), number)
    except ProcessLookupError:
        pass
    said, status = wait(run)
    until = time.time() + 10
    while ranks() and time.time() < until:
        time.sleep(0.02)
    bad = []
    if ranks():
        bad.append("ranks are left")
        for rank in ranks():
            os.kill(rank, signal.SIGKILL)
    stops = len(re.findall("^stopped: ", said, re.M))
    if re.search("^error: ", said, re.M):
        bad.append("an error")
    if all(map(os.path.exists, PRODUCTS)):
        return bad + (["stopped, though complete"] if stops else []), "complete", said
    if status == 128 + number and not at_mpirun and not os.path.exists("power.h5.journal"):
        # The system still loaded the program: nothing of it has begun that could take the signal.
        return bad, "died while it was loaded", said
    if began_late or (at_mpirun and not re.search("^stopping", said, re.M)):
        # The launcher was asked before its ranks could hear of it, or hands on nothing of them.
        return bad, "ended by mpirun", said
    if stops != 1:
        bad.append(f"{stops} lines that begin with stopped:")
    if status is not None and (status == 0 if at_mpirun else status != 75):
        bad.append(f"status {status}")
    return bad, "stopped", said


def main():
    random.seed(int(os.environ.get("SEED", "1")))
    top = tempfile.mkdtemp(prefix="voltmill.")
    os.chdir(top)
    os.environ["VOLTMILL_CACHE"] = os.path.join(top, "cache")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for name, text in FILES.items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    expected = {}
    for job in ("bank.yaml", "array.yaml"):
        subprocess.run([VOLTMILL, "synth", job.replace(".", "-obs.")], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([VOLTMILL, "run", job], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        expected[job] = digest()
        clear()
    failures = 0
    outcomes = {}
    for i in range(SIGNALS):
        clear()
        job = ("bank.yaml", "array.yaml")[i % 2]
        size = random.choice((1, 2, 3))
        at_mpirun = random.random() < 0.4
        number = random.choice((signal.SIGTERM, signal.SIGINT, signal.SIGHUP) if at_mpirun else
                               (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1))
        delay = random.uniform(0.1, 1.5)
        words = random.choice(([], [], ["--set", "run.chunk=1e6"], ["--set", "channelise.backend=reference"]))
        bad, outcome, said = strike(job, size, number, at_mpirun, delay, words)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        again = subprocess.run([VOLTMILL, "run", job, *words], capture_output=True, text=True, check=False)
        if again.returncode != 0:
            bad.append(f"the same command does not go on: {again.stderr}")
        elif not words and digest() != expected[job]:
            bad.append("other bytes")
        if bad:
            failures += 1
            who = "mpirun" if at_mpirun else "a rank"
            print(f"# {i}, {job}: {signal.Signals(number).name} to {who} of {size} after {delay:.2f} s {words}: {', '.join(bad)}")
            print("".join(f"#   {line}\n" for line in said.splitlines()), end="", flush=True)
    print(f"# {outcomes}")
    print("ok 1" if failures == 0 else "not ok 1", f"- {SIGNALS} signals: one stated line and status each ({failures} failures)")
    print("1..1")
    os.chdir("/")
    shutil.rmtree(top)
    return failures != 0


sys.exit(main())
