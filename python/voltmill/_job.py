"""Jobs run by the program."""

import json
import os
import shutil
import subprocess
import tempfile


class Error(RuntimeError):
    """The program ended with an error: its message, and `status`, its exit status (2: the job or the plan, 3: no room,
    4: data, 5: device or memory, 6: complete with holes, 75: stopped, and can go on)."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def program():
    """The path of the program: that of $VOLTMILL, or `voltmill` of $PATH. FileNotFoundError: there is none."""
    path = os.environ.get("VOLTMILL") or shutil.which("voltmill")
    if not path or not os.access(path, os.X_OK):
        raise FileNotFoundError(f"{path or 'voltmill'} is not there: put the program into PATH, or its path into "
                                "the environment as VOLTMILL")
    return path


def _cause(stderr, status):
    """The one line that says why, and what is indented below it."""
    lines, cause = stderr.splitlines(), []
    for line in lines:
        if not cause and line.startswith(("error: ", "stopped: ", "incomplete: ")):
            cause = [line.split(": ", 1)[1]]
        elif cause and line.startswith("  "):
            cause.append(line)
        elif cause:
            break
    return "\n".join(cause) or "\n".join(lines[-5:]) or f"voltmill ended with status {status}"


def run(job, ranks=1, sets=None, force=False, restart=False, mpirun="mpirun", environment=None,
        adopt=False):
    """Runs a job: the path of a YAML file, or a dict of what would be in one. `sets` ({"channelise.taps": 16}) change
    it; `ranks` above 1 are started by `mpirun` (a command with options, such as "srun" or ["mpirun",
    "--oversubscribe"]). Returns what the program says on stdout; raises Error with its message."""
    with tempfile.TemporaryDirectory(prefix="voltmill.") as folder:
        path = job
        if isinstance(job, dict):
            path = os.path.join(folder, "job.yaml")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(job, file, ensure_ascii=False) # JSON is YAML
        command = [program(), "run"]
        for key, value in (sets or {}).items():
            command += ["--set", f"{key}={json.dumps(value, ensure_ascii=False)}"]
        command += ["--force"] * bool(force) + ["--restart"] * bool(restart) + ["--adopt"] * bool(adopt)
        command += ["--", os.fspath(path)]  # which may begin with a "-"
        if ranks > 1:
            launcher = [mpirun] if isinstance(mpirun, str) else list(mpirun)
            command = launcher + ["-n", str(ranks)] + command
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={**os.environ, **(environment or {})}, text=True, errors="replace")
    if done.returncode != 0:
        raise Error(_cause(done.stderr, done.returncode), done.returncode)
    return done.stdout
