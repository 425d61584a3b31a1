"""`python3 -m voltmill coefficients`: MATLAB files of version 5 become HDF5 that jobs read. Every class and type, both
byte orders, compressed or not; which variable is taken; files that are cut or damaged anywhere; a job before and after."""
import contextlib
import io
import os
import struct
import subprocess
import sys
import zlib

import h5py
import numpy as np

from common import ENVIRONMENT, ROOT, SCRATCH, VOLTMILL, finish, ok, same, scratch, voltmill, write_archive, write_yaml

sys.path.insert(0, os.path.join(ROOT, "python"))
sys.dont_write_bytecode = True
from voltmill import Error, _coefficients # pylint: disable=wrong-import-position

TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
os.chdir(SCRATCH)


def element(order, kind, data):
    if len(data) <= 4: # in the tag itself
        return struct.pack(order + "I", len(data) << 16 | kind) + data + bytes(-len(data) % 4)
    return struct.pack(order + "II", kind, len(data)) + data + bytes(-len(data) % 8)


def variable(order, packed, name, values, kind=9, shape=None, number=6):
    """A variable of class `number` whose numbers are stored as type `kind`."""
    values = np.asarray(values)
    parts = [values.real, values.imag] if values.dtype.kind == "c" else [values]
    flags = number | 0x800 * (len(parts) - 1)
    body = (element(order, 6, struct.pack(order + "II", flags, 0)) +
            element(order, 5, struct.pack(order + "ii", *(shape or (1, values.size)))) + element(order, 1, name.encode()) +
            b"".join(element(order, kind, part.astype(order + TYPES[kind]).tobytes()) for part in parts))
    whole = struct.pack(order + "II", 14, len(body)) + body
    if not packed:
        return whole
    small = zlib.compress(whole)
    return struct.pack(order + "II", 15, len(small)) + small


def write_mat(order, *variables):
    with open("c.mat", "wb") as file:
        file.write(b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(order + "HH", 0x0100, 0x4d49) + b"".join(variables))


def read(named):
    """The file that the command writes."""
    if os.path.exists("c.h5"):
        os.remove("c.h5")
    with contextlib.redirect_stdout(io.StringIO()):
        _coefficients.coefficients(named, "c.h5")
    with h5py.File("c.h5") as file:
        return file["coefficients"][()]


def refused(named, words):
    try:
        found = read(named)
        ok(False, f"refused: {words}", found)
    except Error as error:
        ok(words in str(error) and error.status == 4, f"refused: {words}", error)


right = 0
numbers = np.array([1, 2, 3, 100, 7])
forms = [(order, packed) for order in "<>" for packed in (0, 1)]
for order, packed in forms:
    for kind in TYPES:
        for number in range(6, 16): # a class may be stored in another type: whole doubles as bytes
            write_mat(order, variable(order, packed, "h", numbers, kind, number=number))
            right += np.array_equal(read("c.mat"), numbers) and np.array_equal(read("c.mat:h"), numbers)
values = np.array([-0.125, 3, 1e-9, -5, 7, 0.1])
pairs = values[::2] + 1j * values[1::2]
kept = 0
for order, packed in forms:
    write_mat(order, variable(order, packed, "filter_of_ours", values, shape=(6, 1)), variable(order, packed, "pairs", pairs),
              variable(order, packed, "few", [-1, 2, -3], 1), variable(order, packed, "two", [-3, 4], 3))
    kept += all(np.array_equal(read("c.mat:" + name), expected) for name, expected in
                {"filter_of_ours": values, "pairs": pairs, "few": [-1, 2, -3], "two": [-3, 4]}.items())

# Cut anywhere: an error. A bit changed: numbers, or an error that names the file.
many, random, wrong = np.sin(0.37 * np.arange(300)) * 1e3, np.random.default_rng(3), []
for order, packed in forms:
    write_mat(order, variable(order, packed, "other", numbers), variable(order, packed, "h", many))
    whole = open("c.mat", "rb").read()
    for count in [*range(0, 400), *range(400, len(whole), 37)]:
        open("c.mat", "wb").write(whole[:count])
        try:
            wrong.append((count, read("c.mat:h")))
        except Error as error:
            wrong += [] if "c.mat" in str(error) and error.status == 4 else [error]
    for turn in range(300):
        damaged = bytearray(whole)
        damaged[int(random.integers(124, 200 if turn % 2 else len(whole)))] ^= 1 << int(random.integers(8))
        open("c.mat", "wb").write(damaged)
        try:
            read("c.mat:h")
        except Error as error:
            wrong += [] if "c.mat" in str(error) and error.status == 4 else [error]
same(right, 4 * len(TYPES) * 10, "every class in every type, both byte orders, compressed or not")
same(kept, 4, "signs, fractions, complex numbers")
same(wrong, [], "cut and damaged files")

scalar, words = variable("<", 0, "n_chan", [64.0], 2), variable("<", 1, "text", numbers, 4, number=4)
write_mat("<", scalar, words)
refused("c.mat", "c.mat contains no array of numbers; it contains n_chan, text")
same(list(read("c.mat:n_chan")), [64.0], "a scalar by name")
row, square = variable("<", 1, "h", numbers), variable("<", 0, "table", [1.0, 2, 3, 4], shape=(2, 2))
write_mat("<", scalar, words, row)
ok(np.array_equal(read("c.mat"), numbers), "the only array")
refused("c.mat:g", "c.mat contains no variable g; it contains n_chan, text, h")
refused("c.mat:text", "variable text is not an array of numbers")
write_mat("<", scalar, words, row, square)
refused("c.mat", "more than one array of numbers, expected c.mat:NAME; it contains n_chan, text, h, table")
refused("c.mat:table", "variable table is 2 x 2, expected a row or a column")
open("c.txt", "w", encoding="utf-8").write("1\n")
refused("c.txt", "not a MATLAB file of version 5")

# A job: the error says what to type, and that makes the same product as the numbers as text.
archive = write_archive("obs", np.random.default_rng(2).normal(0, 20, (4000, 2, 2)).round().astype("i1"), "time,chan,reim", 1e6,
                        "complex", centres=[3e8, 3.01e8])
taps = np.hanning(16)[1:]
np.savetxt("taps.txt", taps, "%.17g")
write_mat("<", variable("<", 1, "h", taps))
for name, named in ("text", "taps.txt"), ("mat", "c.mat:h"):
    write_yaml(f"{name}.yaml", {"input": {"files": archive}, "filter": {"coefficients": scratch(named)},
                                "products": [{"kind": "voltages", "bits": 32, "file": f"{name}-product.h5"}]})
voltmill("run", "text.yaml")
done = subprocess.run([VOLTMILL, "run", "mat.yaml"], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
command = f"python3 -m voltmill coefficients {scratch('c.mat:h')} FILE.h5"
ok(done.returncode == 4 and f"`{command}`" in done.stdout, "a job that names it is told the command", done.stdout)


def module(*arguments):
    return subprocess.run([sys.executable, "-m", "voltmill", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**ENVIRONMENT, "PYTHONPATH": os.path.join(ROOT, "python"), "PYTHONDONTWRITEBYTECODE": "1"})


done = module(*command.split()[3:])
ok(done.returncode == 0 and done.stdout == "FILE.h5: 15 real coefficients\n", "which makes HDF5 of it", done.stdout, done.stderr)
voltmill("run", "mat.yaml", "--set", f"filter.coefficients={scratch('FILE.h5')}")
with h5py.File("text-product.h5") as one, h5py.File("mat-product.h5") as other:
    ok(one["voltages"][()].tobytes() == other["voltages"][()].tobytes(), "of which the job makes the same samples")
done = module(*command.split()[3:])
ok(done.returncode == 2 and done.stderr == "error: FILE.h5 exists already\n", "a file that exists stays", done.stderr)
done = module("coefficients", "nowhere.mat", "new.h5")
ok(done.returncode == 4 and done.stderr.startswith("error: nowhere.mat") and done.stderr.count("\n") == 1, "a file that is missing",
   done.stderr)
done = module("coefficients", "c.mat")
ok(done.returncode == 2 and done.stderr == "error: expected python3 -m voltmill coefficients IN.mat[:NAME] OUT.h5\n",
   "an argument that is missing", done.stderr)
finish()
