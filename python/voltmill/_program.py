"""Pictures for the program: it says over a socket what to draw, reads files, and keeps the result.

Lines that begin with "@" are requests and results (src/plot/drawing.c)."""

import importlib.util
import json
import socket
import sys

MOST = 1 << 21  # numbers of a request


class Program:
    """The program at the other end of standard input."""

    def __init__(self, fd=0):
        self.socket = socket.socket(fileno=fd)
        self.file = self.socket.makefile("rb", 1 << 20)

    def task(self):
        return json.loads(self.file.read(int(self.file.readline())))

    def ended(self):
        sys.exit(1)  # the program says why by itself

    def say(self, kind, text):
        line = "@" + kind + " " + " ".join(str(text).split("\n"))
        self.socket.sendall((line + "\n").encode("utf-8", "replace"))

    def give(self, kind, data):
        self.socket.sendall(b"@%s %d\n" % (kind.encode(), len(data)) + data)

    def numbers(self, name, row, rows, first_if, ifs, chan, chans):
        """The same as an array of floats without axes, if that is no more than a request may have."""
        from array import array
        self.say("rows", f"{name} {row} {rows} {first_if} {ifs} {chan} {chans}")
        out = array("f", self.file.read(4 * rows * ifs * chans))
        if len(out) < rows * ifs * chans:
            self.ended()
        return out

    def rows(self, name, kind, row, rows, first_if, ifs, chan, chans):
        """Numbers [rows][ifs][chans] of a set, asked for in pieces that the program gives."""
        import numpy as np
        out = np.empty((rows, ifs, chans), kind)
        across = max(min(chans, MOST // ifs), 1)
        down = max(MOST // (across * ifs), 1)
        for c in range(0, chans, across):
            for r in range(0, rows, down):
                part = out[r:r + down, :, c:c + across]
                words = (name, row + r, len(part), first_if, ifs, chan + c, part.shape[2])
                self.say("rows", " ".join(str(word) for word in words))
                data = self.file.read(part.size * part.dtype.itemsize)
                if len(data) < part.size * part.dtype.itemsize:
                    self.ended()
                part[...] = np.frombuffer(data, kind).reshape(part.shape)
        return out


def _sheet(program, name, about):
    from ._bank import Sheet

    def read(row, rows, first_if, ifs, chan, chans):
        return program.rows(name, "f4", row, rows, first_if, ifs, chan, chans)

    return Sheet(about["rows"], about["ifs"], about["chans"], read, about.get("coarse_hz"))


def _bank(program, task, path):
    from ._bank import Bank
    about = task["bank"]
    pols = about["pols"]
    frequency = program.rows("frequency", "f8", 0, 1, 0, 1, 0, about["chans"])[0, 0]
    return Bank(path, _sheet(program, "bank", {**about, "ifs": len(pols)}), frequency,
                about["step_s"], about["first_s"], about["start"], about["source"],
                about["telescope"], about["channel_hz"], [pol.get("name") for pol in pols],
                [pol.get("type") for pol in pols], [pol["is_power"] for pol in pols],
                {name: _sheet(program, name, beside)
                 for name, beside in task.get("beside", {}).items()},
                lambda text: program.say("note", text))


def _series(program, task):
    import numpy as np

    from ._series import Series, draw_series
    about = task["series"]

    def read(dm, first, count):
        return program.rows("series", "f4", int(dm), 1, 0, 1, first, count)[0, 0]

    return draw_series(Series(task["files"][0], np.array(about["dms"]), about["chans"],
                              about["step_s"], read, 0.0, about["start"], about["source"],
                              about["telescope"]), task)


def _search(program, task):
    import numpy as np

    from ._bursts import Search, draw_search
    about = task["candidates"]
    kind = np.dtype([("snr", "f4"), ("width", "u2"), ("offset", "u1"), ("above", "u1")])

    def peaks(dm, cell, cells):
        size = kind.itemsize
        return program.rows("peaks", "u1", int(dm), 1, 0, 1, cell * size, cells * size).view(
            kind)[0, 0]

    bank = _bank(program, task, task["files"][0]) if "bank" in task else None
    return draw_search(Search(task["files"][0], np.array(about["dms"]), about["found"], peaks,
                              about["chans"], about["cell"], about["step_s"], about["first_s"],
                              about["threshold"], about["widths"], about["reference_hz"],
                              about["constant"], about["start"], about["source"],
                              about["telescope"], bank, task.get("searched")), task)


def draw(program, task):
    """The figure of a task."""
    from . import _bank as bank
    from . import _bursts, _tables
    if task["of"] == "filter":
        return _tables.draw_filter(task)
    if task["of"] == "bench":
        return _tables.draw_bench(task["files"], program.say)
    if task["of"] == "tuner":
        return _tables.draw_tuner(task["files"][0])
    if "series" in task:
        return _series(program, task)
    if "candidates" in task:
        return _search(program, task)
    opened = _bank(program, task, task["files"][0])
    return (_bursts.draw_dedispersed if "dm" in task else bank.draw_bank)(opened, task)


def answer(program, task):
    give(program, task, draw(program, task))


def give(program, task, figure):
    """Draws, and gives picture, numbers and summary to the program."""
    from . import _figure
    if task["format"] == "html":
        program.give("picture", _figure.fragment(figure))
        return
    picture, size = _figure.render(figure, task["format"], task["width"], task["height"])
    if task["numbers"]:
        program.give("numbers", _figure.table(figure))
    program.say("said", f"{size[0]} x {size[1]} pixels")
    for line in figure.said:
        program.say("said", line)
    program.give("picture", picture)


def look(program, task):
    """Whether there is a picture left to draw: the text is given, unless both come together."""
    from . import _look
    looked = _look.Looked(program, task)
    said = list(_look.text(looked, task["files"][0]))
    reason = None
    for name in ("numpy", "matplotlib"):
        if task["format"] and not reason and not importlib.util.find_spec(name):
            reason = (f"pictures need {name}, which {sys.executable} does not have (Debian, Ubuntu: apt-get install "
                      f"python3-{name}; VOLTMILL_PYTHON names another Python)")
    if reason and task["wanted"]:
        program.say("fail", f"5 {reason}")
        return
    if not task["format"] or reason:
        for line in said:
            program.say("said", line)
        if reason:
            program.say("note", f"no picture: {reason}")
        return
    give(program, task, _look.figure(looked, program, task, said))


def main():
    program = Program()
    task = program.task()
    if task["of"] == "look":
        look(program, task)
        return
    try:
        from ._bank import Refused
        if not importlib.util.find_spec("matplotlib"):
            raise ImportError("No module named 'matplotlib'")
    except ImportError as error:
        program.say("fail", f"5 pictures are drawn by Python with matplotlib; {sys.executable}: "
                    f"{error} (Debian, Ubuntu: apt-get install python3-matplotlib; "
                    "VOLTMILL_PYTHON names another Python)")
        return
    try:
        answer(program, task)
    except Refused as error:
        program.say("fail", f"{error.status} {error}")
    except MemoryError:
        program.say("fail", "5 out of memory: a picture")
