"""Python for scripts: loads h5py and numpy once, then runs each program that is asked for in a child of its own, to
which importing them costs nothing. lib.sh starts it and asks.

    warm.py FOLDER   holds two pipes. `asked`: the number of words, then the words, each ended by a zero byte: the
                     working folder, PYTHONPATH, and the program's command line as python takes it (-c TEXT or a
                     file, then arguments). `answered`: a line, its exit status, when `output` and `errors` hold
                     what it has written.
"""
import atexit
import os
import signal
import sys

import h5py
import numpy as np  # noqa: F401: loaded for them


def warm_run(here, path, what, *words):
    """Never returns."""
    status = 1
    try:
        for number, name in (1, "output"), (2, "errors"):
            os.dup2(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
        os.chdir(here)
        text, *words = words if what == "-c" else (open(what).read(), *words)
        sys.argv = [what, *words]
        sys.path[:0] = ["" if what == "-c" else os.path.dirname(what), *filter(None, path.split(":"))]
        exec(compile(text, what, "exec"), {"__name__": "__main__", "__file__": what})
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        atexit._run_exitfuncs()  # HDF5 closes its files
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def warm_words(pipe):
    text = b""
    while not text.endswith(b"\0") or text.count(b"\0") < 1 + int(text.split(b"\0")[0]):
        text += os.read(pipe, 1 << 16)
    return [word.decode() for word in text.split(b"\0")[1:-1]]


folder = sys.argv[1]
asked, answered = (os.open(os.path.join(folder, name), os.O_RDWR) for name in ("asked", "answered"))
os.write(answered, b"ready\n")
while True:
    signal.alarm(4000)  # a test that was killed asks no more
    words = warm_words(asked)
    child = os.fork()
    if child == 0:
        warm_run(*words)
    os.write(answered, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
