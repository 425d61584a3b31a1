"""Jobs run by the program, and what it says of files as JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from typing import Any, Iterator, Mapping, Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Job = Union[Path, Mapping[str, Any]]


class Error(RuntimeError):
    """The program ended with an error: its message, and `status`, its exit status (2: the job or the plan, 3: no room,
    4: data, 5: device or memory, 6: complete with holes, 75: stopped, and can resume)."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def program() -> str:
    """The path of the program: that of $VOLTMILL, or `voltmill` of $PATH. FileNotFoundError: there is none."""
    path = os.environ.get("VOLTMILL") or shutil.which("voltmill")
    if not path or not os.access(path, os.X_OK):
        raise FileNotFoundError(f"{path or 'voltmill'} is not there: put the program into PATH, or its path into "
                                "the environment as VOLTMILL")
    return path


def cause(stderr: str, status: int) -> str:
    """The one line that says why, and what is indented below it."""
    lines = stderr.splitlines()
    found: list[str] = []
    for line in lines:
        if not found and line.startswith(("error: ", "stopped: ", "incomplete: ")):
            found = [line.split(": ", 1)[1]]
        elif found and line.startswith("  "):
            found.append(line)
        elif found:
            break
    return "\n".join(found) or "\n".join(lines[-20:]) or f"voltmill ended with status {status}"


def _ask(words: Sequence[str], environment: Mapping[str, str] | None = None, good: Sequence[int] = (0,)) -> str:
    """Standard output of a command; Error with its message."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env={**os.environ, **(environment or {})}, text=True, errors="replace")
    if done.returncode not in good:
        raise Error(cause(done.stderr, done.returncode), done.returncode)
    return done.stdout


def _plain(value: Any) -> Any:
    """A path as text, numbers of numpy as Python has them: JSON knows neither."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a job cannot contain {value!r}")


def _yaml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain) # JSON is YAML


@contextmanager
def _job_file(job: Job) -> Iterator[str]:
    """The path of a job, that of a temporary file if it is a mapping."""
    with tempfile.TemporaryDirectory(prefix="voltmill.") as folder:
        if not isinstance(job, Mapping):
            yield os.fspath(job)
            return
        path = os.path.join(folder, "job.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(_yaml(job))
        yield path


def _sets(sets: Mapping[str, Any] | None) -> list[str]:
    return [word for key, value in (sets or {}).items()
            for word in ("--set", f"{key}={_yaml(value)}")]


def run(job: Job, ranks: int = 1, sets: Mapping[str, Any] | None = None, force: bool = False, restart: bool = False,
        mpirun: str | Sequence[str] = "mpirun", environment: Mapping[str, str] | None = None,
        adopt: bool = False) -> str:
    """Runs a job: the path of a YAML file, or a dict of what would be in one. `sets` ({"channelise.taps": 16}) change
    it; `ranks` above 1 are started by `mpirun` (a command with options, such as "srun" or ["mpirun",
    "--oversubscribe"]). Returns what the program says on stdout; raises Error with its message."""
    if ranks < 1:
        raise ValueError(f"ranks is {ranks}, expected 1 or more")
    with _job_file(job) as path:
        command = [program(), "run", *_sets(sets)]
        command += ["--force"] * bool(force) + ["--restart"] * bool(restart) + ["--adopt"] * bool(adopt)
        command += ["--", path]  # which may begin with a "-"
        if ranks > 1:
            launcher = [mpirun] if isinstance(mpirun, str) else list(mpirun)
            command = launcher + ["-n", str(ranks)] + command
        return _ask(command, environment)


def info(*files: Path) -> dict[str, Any]:
    """What `voltmill info --json` says of a file, or of the files or patterns of one archive (docs/json.md)."""
    return json.loads(_ask([program(), "info", "--json", "--", *(os.fspath(file) for file in files)]))


def plan(job: Job, sets: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What `voltmill plan --json` says of a job: sizes, memory, disk space, the filter's response. Writes nothing."""
    with _job_file(job) as path:
        return json.loads(_ask([program(), "plan", "--json", *_sets(sets), "--", path]))


def verify(product: Path, crc: bool = False, chunks: int | None = None,
           sets: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What `voltmill verify --json` says of a product that is right; raises Error, with status 4, for one that is
    not."""
    options = ["--crc"] * bool(crc) + (["--chunks", str(chunks)] if chunks is not None else [])
    return json.loads(_ask([program(), "verify", "--json", *options, *_sets(sets), "--", os.fspath(product)]))


def synth(spec: Job, sets: Mapping[str, Any] | None = None, force: bool = False) -> str:
    """Makes a synthetic observation of a specification (docs/synth.md), a YAML file or a dict."""
    with _job_file(spec) as path:
        return _ask([program(), "synth", *_sets(sets), *["--force"] * bool(force), "--", path])
