"""Headers as fields with names, of files that exist: what they say is read, changed or removed, in all headers or in
the last alone, and the files written anew. Each editor has

    names()             the fields that are there, in order
    get(name)           the values of a field, one of each header
    change(name, values)   files whose headers hold these values instead; None: the field is removed

A value is a number or a text; an editor raises Impossible where its field cannot hold one."""
import json
import os
import re
import struct

import h5py
import numpy as np

from .plain import npy_header


class Impossible(Exception):
    """A field of this type cannot hold the value."""


def number(text):
    """The value of a card: a number where it is one, else the text without quotes."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text.strip("'").rstrip() if text.startswith("'") else text


class Editor:
    """Base of all: `long`, the characters that a text may have; last: which header stands for a single one."""

    long = 0

    @staticmethod
    def last(values):
        return len(values) - 1


class Files:
    """The bytes of the files as they were; what changes is written, and put back before the next change."""

    def __init__(self, folder, names):
        self.folder, self.written = folder, []
        self.sound = {}
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                self.sound[name] = file.read()

    def write(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)
        self.written.append(name)

    def restore(self):
        for name in self.written:
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(self.sound[name])
        self.written = []


class Cards(Editor):
    """GUPPI RAW and PSRDADA: a header of keys and texts before each block or file. `also`: keys that are added, a value or a
    function of the header (its keys and values, and its payload's length)."""

    def __init__(self, folder, names, also=()):
        self.files = Files(folder, sorted(names))
        self.headers = []  # [file, {key: text}, payload, what belongs to its kind]
        for name, data in self.files.sound.items():
            self.headers += [[name, *header] for header in self.split(data)]
        for header in self.headers:
            for key, value in dict(also).items():
                value = value(header[1], len(header[2])) if callable(value) else value
                if value is not None:
                    header[1][key] = str(value)
        self.save(range(len(self.headers)), lambda i: self.headers[i][1])
        for name in self.files.sound:
            with open(os.path.join(folder, name), "rb") as file:
                self.files.sound[name] = file.read()
        self.files.written = []

    def names(self):
        return list(dict.fromkeys(key for header in self.headers for key in header[1]))

    def get(self, name):
        return [number(header[1][name]) if name in header[1] else None for header in self.headers]

    def change(self, name, values):
        def keys(i):
            left = dict(self.headers[i][1])
            if values[i] is None:
                left.pop(name, None)
            else:
                left[name] = self.text(values[i], left.get(name, ""))
            return left
        self.save([i for i, old in enumerate(self.get(name)) if not alike(old, values[i])], keys)

    def save(self, which, keys):
        names = {self.headers[i][0] for i in which}
        for name in names:
            self.files.write(name, b"".join(self.join(keys(i) if i in which else self.headers[i][1], *self.headers[i][2:])
                                            for i in range(len(self.headers)) if self.headers[i][0] == name))


class Guppi(Cards):
    long = 66

    def text(self, value, before):
        return f"'{value}'" if isinstance(value, str) else repr(value)

    def split(self, data):
        at = 0
        while at < len(data):
            end = re.compile(rb"END {77}").search(data, at)
            cards = data[at:end.start()]
            keys = {cards[i:i + 8].decode().strip(): cards[i + 10:i + 80].decode().strip() for i in range(0, len(cards), 80)}
            padded = "DIRECTIO" in keys and int(keys["DIRECTIO"]) != 0
            begin = end.end() + (-(end.end() - at) % 512 if padded else 0)
            at = begin + int(keys["BLOCSIZE"])
            yield keys, data[begin:at], padded

    def join(self, keys, payload, padded):
        head = "".join(f"{key:<8}= {value:<70}"[:80] for key, value in keys.items()).encode() + b"END" + b" " * 77
        return head + (b"\0" * (-len(head) % 512) if padded else b"") + payload


class Dada(Cards):
    long = 1000

    def text(self, value, before):
        return value if isinstance(value, str) else repr(value)

    def split(self, data):
        keys = {}
        for line in data[:4096].split(b"\0")[0].decode().splitlines():
            words = line.split("#")[0].split()
            keys[words[0]] = words[1]
        yield keys, data[4096:]

    def join(self, keys, payload):
        text = "".join(f"{key} {value}\n" for key, value in keys.items()).encode()
        return text + b"\0" * (4096 - len(text)) + payload


class Npy(Cards):
    """The words of an .npy's dictionary."""

    long = 1000

    def text(self, value, before):
        return value if isinstance(value, str) else repr(value)

    def split(self, data):
        end = 10 + int.from_bytes(data[8:10], "little")
        said = data[10:end].decode().strip()[1:-1]
        yield {key: value.strip() for key, value in re.findall(r"'(\w+)': (\([^)]*\)|[^,]*),", said)}, data[end:]

    def join(self, keys, payload):
        return npy_header(**keys) + payload


class Json(Editor):
    """A document: its numbers and texts by their dotted paths, in all files of its ending together."""

    long = 1000

    def __init__(self, folder, names, ending, also=()):
        self.files = Files(folder, sorted(name for name in names if name.endswith(ending)))
        self.paths = list(self.files.sound)

    def documents(self):
        return [json.loads(self.files.sound[name]) for name in self.paths]

    @staticmethod
    def walk(document, path):
        *way, key = [int(word) if word.isdigit() else word for word in path.split("/")]
        for word in way:
            document = document[word]
        return document, key

    def names(self):
        def leaves(node, path):
            for key, value in node.items() if isinstance(node, dict) else enumerate(node):
                if isinstance(value, (dict, list)):
                    yield from leaves(value, f"{path}{key}/")
                else:
                    yield f"{path}{key}"
        return list(leaves(self.documents()[0], ""))

    def get(self, name):
        return [place[key] for place, key in (self.walk(document, name) for document in self.documents())]

    def change(self, name, values):
        for path, document, value in zip(self.paths, self.documents(), values):
            place, key = self.walk(document, name)
            if value is None:
                del place[key]
            else:
                place[key] = value
            self.files.write(path, json.dumps(document).encode())


class Frames(Editor):
    """Packets of one length, whose fields are bits: {name: (word, lowest bit, bits)} of words of `kind`, 4 or 8 bytes.
    begin: the first bytes of each, where other bytes may lie between them."""

    def __init__(self, folder, names, size, fields, also=(), begin=b""):
        self.files, self.size, self.fields = Files(folder, sorted(names)), size, fields
        self.frames, self.between = {}, {}  # {name: bytes before each frame, and behind the last}
        for name, data in self.files.sound.items():
            whole, self.between[name], at = [], [], 0
            while (next_at := data.find(begin, at)) >= 0 and next_at + size <= len(data):
                self.between[name].append(data[at:next_at])
                whole.append(data[next_at:next_at + size])
                at = next_at + size
            self.between[name].append(data[at:])
            self.frames[name] = np.frombuffer(b"".join(whole), "u1").reshape(len(whole), size).copy()
        for key, value in dict(also).items():
            for frames in self.frames.values():
                self.put(frames, key, [value] * len(frames))
        for name in self.frames:
            self.files.sound[name] = self.join(name, self.frames[name])
            self.files.write(name, self.files.sound[name])
        self.files.written = []

    def names(self):
        return list(self.fields)

    def join(self, name, frames):
        *before, rest = self.between[name]
        return b"".join(some + frame.tobytes() for some, frame in zip(before, frames)) + rest

    @staticmethod
    def last(values):
        return len(values) // 2

    def view(self, frames, name):
        at, kind, low, bits = self.fields[name]
        return np.ascontiguousarray(frames[:, at:at + np.dtype(kind).itemsize]).view(kind)[:, 0].astype("u8"), low, bits

    def get(self, name):
        values = []
        for frames in self.frames.values():
            words, low, bits = self.view(frames, name)
            values += [int(v) for v in (words >> np.uint64(low)) & np.uint64((1 << bits) - 1)]
        return values

    def put(self, frames, name, values):
        at, kind, low, bits = self.fields[name]
        words, low, bits = self.view(frames, name)
        mask = ((1 << bits) - 1) << low
        words = (words & np.uint64(~mask & (1 << 64) - 1)) | np.array([v << low for v in values], "u8")
        frames[:, at:at + np.dtype(kind).itemsize] = words.astype(kind)[:, None].view("u1")

    def change(self, name, values):
        bits = self.fields[name][3]
        if any(not isinstance(v, int) or not 0 <= v < 1 << bits for v in values):
            raise Impossible
        at = 0
        for file, frames in self.frames.items():
            new = frames.copy()
            self.put(new, name, values[at:at + len(frames)])
            at += len(frames)
            if (new != frames).any():
                self.files.write(file, self.join(file, new))


class Sigproc(Editor):
    """Keywords of a SIGPROC header: whole numbers of 4 bytes, doubles, texts."""

    long = 4096

    def __init__(self, folder, names, doubles, texts, also=()):
        (name,) = names
        self.files, self.name = Files(folder, names), name
        data = self.files.sound[name]
        self.words, at = {}, 16
        while True:
            size, = struct.unpack_from("<i", data, at)
            key = data[at + 4:at + 4 + size].decode()
            at += 4 + size
            if key == "HEADER_END":
                break
            if key in texts:
                size, = struct.unpack_from("<i", data, at)
                self.words[key] = data[at + 4:at + 4 + size].decode()
                at += 4 + size
            else:
                kind = "<d" if key in doubles else "<b" if key == "signed" else "<i"
                self.words[key], = struct.unpack_from(kind, data, at)
                at += struct.calcsize(kind)
        self.data = data[at:]
        self.words.update({key: value(self.words, len(self.data)) if callable(value) else value
                           for key, value in dict(also).items()})
        self.files.write(name, self.join(self.words))
        self.files.sound[name], self.files.written = self.join(self.words), []

    @staticmethod
    def text(value):
        value = value.encode()
        return struct.pack("<i", len(value)) + value

    def join(self, words):
        head = self.text("HEADER_START")
        for key, value in words.items():
            before = self.words[key]
            try:
                if isinstance(before, str) != isinstance(value, str):
                    raise Impossible
                head += self.text(key) + (self.text(value) if isinstance(value, str) else
                                          struct.pack("<d", value) if isinstance(before, float) else
                                          struct.pack("<b" if key == "signed" else "<i", value))
            except struct.error:
                raise Impossible from None
        return head + self.text("HEADER_END") + self.data

    def names(self):
        return list(self.words)

    def get(self, name):
        return [self.words[name]]

    def change(self, name, values):
        words = {key: values[0] if key == name else value for key, value in self.words.items()}
        if values[0] is None:
            del words[name]
        self.files.write(self.name, self.join(words))


class Fits(Editor):
    """Cards of all units of a FITS file by their names (SUBINT's first), and the columns of SUBINT as `column NAME`: a
    change of one is that of all rows, or of the last."""

    long = 66

    def __init__(self, folder, names, also=()):
        (self.name,) = names
        self.files = Files(folder, names)
        data = self.files.sound[self.name]
        self.units, at = [], 0
        while at < len(data):
            cards, end = [], False
            while not end:
                for i in range(at, at + 2880, 80):
                    card = data[i:i + 80].decode()
                    end = end or card[:8] == "END     "
                    if not end:
                        cards.append((card[:8].strip(), card[10:]))
                at += 2880
            keys = dict(cards)
            size = int(keys.get("NAXIS1", 0)) * int(keys.get("NAXIS2", 0)) if int(keys["NAXIS"]) else 0
            self.units.append([keys, data[at:at + size]])
            at += -(-size // 2880) * 2880
        self.subint = next(i for i, unit in enumerate(self.units) if "SUBINT" in unit[0].get("EXTNAME", ""))
        for (unit, key), value in dict(also).items():
            self.units[self.subint if unit else 0][0][key] = self.text(value)
        self.files.write(self.name, self.join([unit[0] for unit in self.units], self.units[self.subint][1]))
        with open(os.path.join(folder, self.name), "rb") as file:
            self.files.sound[self.name] = file.read()
        self.files.written = []

    @staticmethod
    def text(value):
        return f"'{value:<8}'" if isinstance(value, str) and value != "*" else f"{value!r:>20}" if value != "*" else "*"

    def join(self, keys, table):
        file = b""
        for i, unit in enumerate(self.units):
            head = "".join(f"{key:<8}= {value:<70}"[:80] for key, value in keys[i].items()).encode() + b"END".ljust(80)
            data = table if i == self.subint else unit[1]
            file += head.ljust(-(-len(head) // 2880) * 2880) + data.ljust(-(-len(data) // 2880) * 2880, b"\0")
        return file

    def place(self, name):
        unit, _, key = name.rpartition(".")
        return (0 if unit == "primary" else self.subint), key

    def columns(self):
        keys, at, columns = self.units[self.subint][0], 0, {}
        for i in range(1, int(keys["TFIELDS"]) + 1):
            count, kind = re.fullmatch(r"'(\d*)([A-Z])\s*'\s*", keys[f"TFORM{i}"]).groups()
            kind = {"D": ">f8", "E": ">f4", "B": "u1", "I": ">i2", "J": ">i4"}[kind]
            columns[keys[f"TTYPE{i}"].strip("' ")] = (i, at, int(count or 1), kind)
            at += int(count or 1) * np.dtype(kind).itemsize
        return columns

    def names(self):
        skip = r"SIMPLE|XTENSION"
        first = ["primary." + key for key in self.units[0][0] if not re.fullmatch(skip, key)]
        table = ["subint." + key for key in self.units[self.subint][0] if not re.fullmatch(skip, key)]
        return first + table + ["column " + name for name in self.columns()]

    def rows(self):
        keys, table = self.units[self.subint]
        return np.frombuffer(table, "u1").reshape(int(keys["NAXIS2"]), int(keys["NAXIS1"])).copy()

    def get(self, name):
        if name.startswith("column "):
            _, at, count, kind = self.columns()[name[7:]]
            size = count * np.dtype(kind).itemsize
            return list(np.ascontiguousarray(self.rows()[:, at:at + size]).view(kind))
        unit, key = self.place(name)
        text = self.units[unit][0][key]
        return [number(text.split("/")[0].strip())]

    def change(self, name, values):
        keys, table = [dict(unit[0]) for unit in self.units], self.units[self.subint][1]
        if name.startswith("column "):
            i, at, count, kind = self.columns()[name[7:]]
            rows, size = self.rows(), count * np.dtype(kind).itemsize
            if any(value is None for value in values):  # the column goes: others move up
                rows = np.concatenate([rows[:, :at], rows[:, at + size:]], axis=1)
                mine = keys[self.subint]
                fields = int(mine["TFIELDS"])
                for key in list(mine):
                    found = re.fullmatch(r"(T[A-Z]+?)(\d+)", key)
                    if found and int(found[2]) >= i and found[1] != "TFIELDS":
                        value = mine.pop(key)
                        if int(found[2]) > i:
                            mine[f"{found[1]}{int(found[2]) - 1}"] = value
                mine["TFIELDS"], mine["NAXIS1"] = str(fields - 1), str(rows.shape[1])
            else:
                with np.errstate(all="ignore"):
                    new = np.empty((len(rows), count), kind)
                    for row, value in zip(new, values):
                        if isinstance(value, str):
                            raise Impossible
                        if np.dtype(kind).kind in "iu" and not np.all((np.asarray(value, "f8") >= np.iinfo(kind).min) &
                                                                      (np.asarray(value, "f8") <= np.iinfo(kind).max)):
                            raise Impossible
                        row[:] = value
                rows[:, at:at + size] = new.view("u1").reshape(len(rows), size)
            table = np.ascontiguousarray(rows).tobytes()
        else:
            unit, key = self.place(name)
            if values[0] is None:
                del keys[unit][key]
            else:
                keys[unit][key] = self.text(values[0])
        self.files.write(self.name, self.join(keys, table))


class Hdf5(Editor):
    """Attributes (PATH@NAME) and small datasets (PATH) of HDF5 files, each file a header. Numbers stay of their type where
    it holds them, else they become doubles or whole numbers of 8 bytes."""

    LARGE = 4096  # numbers: what is longer is no header
    long = 4000

    def __init__(self, folder, names, also=(), skip="^$", alike=r"(?<=DIPOLE_)\d+|(?<=STOKES_)\d"):
        self.files, self.skip, self.alike = Files(folder, sorted(names)), skip, alike
        self.paths = [name for name in self.files.sound if re.search(r"\.(h5|hdf5|nc)$", name)]
        for name in self.paths:
            with h5py.File(os.path.join(folder, name), "r+") as file:
                for where, value in dict(also).items():
                    path, at, attribute = where.rpartition("@")
                    value = value(file) if callable(value) else value
                    if not at:
                        file.pop(where, None)
                        file[where] = value
                    elif path in file:
                        file[path].attrs[attribute] = value
            with open(os.path.join(folder, name), "rb") as file:
                self.files.sound[name] = file.read()
        self.fields = {}  # {name: [(file, its name there, value)]}
        for name in self.paths:
            for where, value in self.read(name).items():
                self.fields.setdefault(re.sub(self.alike, "N", where), []).append((name, where, value))

    def read(self, name):
        values = {}

        def visit(path, item):
            path = "/" + path.strip("/")
            for key in item.attrs:
                if key not in ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "DIMENSION_LABELS", "_Netcdf4Dimid") \
                        or path == "/":
                    values[f"{path}@{key}"] = plain(item.attrs[key])
            if isinstance(item, h5py.Dataset) and not re.search(self.skip, path):
                if item.dtype.names:
                    for member in item.dtype.names:
                        values[f"{path}.{member}"] = item[member]
                elif item.size <= self.LARGE or item.ndim < 2:
                    values[path] = plain(item[()])

        with h5py.File(os.path.join(self.files.folder, name), "r") as file:
            visit("/", file)
            file.visititems(visit)
        return values

    def names(self):
        return list(self.fields)

    def get(self, name):
        return [value for _, _, value in self.fields[name]]

    def change(self, name, values):
        for (path, where, old), value in zip(self.fields[name], values):
            if alike(old, value):
                continue
            self.files.written.append(path)
            with h5py.File(os.path.join(self.files.folder, path), "r+") as file:
                if "@" in where:
                    place, _, key = where.rpartition("@")
                    attributes = file[place].attrs
                    kind = getattr(attributes[key], "dtype", None)
                    del attributes[key]
                    if value is not None:
                        attributes.create(key, fitting(value, kind))
                elif "." in where.rpartition("/")[2]:
                    self.member(file, where, value)
                else:
                    self.dataset(file, where, value)

    @staticmethod
    def member(file, name, value):
        where, _, key = name.rpartition(".")
        stored = file[where][()]
        if isinstance(value, str):
            raise Impossible
        if value is None:
            left = [one for one in stored.dtype.names if one != key]
            new = np.zeros(stored.shape, [(one, stored.dtype[one]) for one in left])
            for one in left:
                new[one] = stored[one]
            del file[where]
            file[where] = new
        else:
            stored[key] = checked(value, stored.dtype[key])
            file[where][...] = stored

    @staticmethod
    def dataset(file, name, value):
        item = file[name]
        kind, attributes, shape = item.dtype, {k: v for k, v in item.attrs.items()
                                               if k not in ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME")}, item.shape
        del file[name]
        if value is not None:
            value = fitting(value, kind)
            if not isinstance(value, (str, bytes)) and np.shape(value) != shape:
                value = np.full(shape, value)
            file[name] = value
            file[name].attrs.update(attributes)


def plain(value):
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.ndarray) and value.dtype.kind in "SO":
        return [plain(one) for one in value.ravel()]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.ravel()[0].item()
    return value


def checked(value, kind):
    """value as numbers of this type. Raises Impossible where it cannot hold them."""
    kind = np.dtype(kind)
    value = np.asarray(value)
    if kind.kind in "iu":
        if value.dtype.kind == "f" and not (np.isfinite(value).all() and (value == np.floor(value)).all()):
            raise Impossible
        info = np.iinfo(kind)
        if not all(info.min <= int(v) <= info.max for v in value.ravel()):
            raise Impossible
    elif kind.kind != "f" or value.dtype.kind not in "iuf":
        raise Impossible
    with np.errstate(all="ignore"):
        return value.astype(kind)


def fitting(value, kind):
    """value in this type where that holds it, else in one of its own."""
    if isinstance(value, (str, bytes)) or isinstance(value, list):
        return value
    if kind is not None:
        try:
            return checked(value, kind)
        except Impossible:
            pass
    value = np.asarray(value)
    return value.astype("i8" if value.dtype.kind in "iu" else "f8")


def alike(a, b):
    if a is None or b is None or isinstance(a, str) != isinstance(b, str):
        return a is b
    if isinstance(a, (str, list)):
        return a == b
    return np.shape(a) == np.shape(b) and np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
