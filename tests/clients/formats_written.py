"""Products written as SIGPROC .fil and search-mode PSRFITS, by a job (`format`) and by `voltmill export`: read back
with a reader of our own (numpy and the FITS standard), by voltmill, and by astropy and your where they are."""
import hashlib
import os
import re
import struct
import subprocess

import h5py
import numpy as np

from common import ENVIRONMENT, SCRATCH, VOLTMILL, close, finish, note, ok, same, scratch, voltmill, write_archive, write_yaml

random = np.random.default_rng(31)
RATE, CHANNELS, INTEGRATE = 1e6, 32, 4
stored = random.normal(0, 20, (40000, 2, 2, 2)).round().clip(-127, 127).astype("i1")
archive = write_archive("obs", stored, "time,pol,chan,reim", RATE, "complex", centres=[3e8, 3.01e8],
                        root={"start_mjd_day": np.int32(60370), "start_second": 86399.25, "source": "B0329+54",
                              "telescope": "GBT", "ra_deg": 53.2475, "dec_deg": -54.5788})
with h5py.File(archive, "r+") as file:
    file["pol"] = ["X", "Y"]


# ---- FITS

def cards(content, at):
    found = {}
    while True:
        card = content[at:at + 80].decode("ascii")
        at += 80
        if card.startswith("END "):
            return found, -(-at // 2880) * 2880
        if card[8:10] == "= ":
            text = re.match(r"'((?:[^']|'')*)'", card[10:])
            value = card[10:].split("/")[0].strip()
            found[card[:8].strip()] = (text[1].replace("''", "'").rstrip() if text else value == "T" if value in "TF"
                                       else float(value) if re.search("[.E]", value) else int(value))


def read_psrfits(path):
    """Header, table header, columns, and powers [time][pol][chan] as the scales and weights make them."""
    with open(path, "rb") as file:
        content = file.read()
    first, at = cards(content, 0)
    table, at = cards(content, at)
    types = {"D": ">f8", "E": ">f4", "I": ">i2", "B": "u1"}
    fields = []
    for i in range(1, table["TFIELDS"] + 1):
        form = re.fullmatch(r"(\d+)(\w)", table[f"TFORM{i}"])
        fields.append((table[f"TTYPE{i}"], types[form[2]], (int(form[1]),)))
    rows = np.frombuffer(content, np.dtype(fields), table["NAXIS2"], at)
    same((rows.dtype.itemsize, len(content)), (table["NAXIS1"], -(-(at + rows.nbytes) // 2880) * 2880),
         f"{os.path.basename(path)}: whole records of FITS, rows as long as their columns")
    shape = (len(rows), table["NSBLK"], table["NPOL"], table["NCHAN"])
    data = rows["DATA"].reshape(shape).astype("f8")
    scale = rows["DAT_SCL"].reshape(shape[0], 1, *shape[2:]).astype("f8")
    offset = rows["DAT_OFFS"].reshape(shape[0], 1, *shape[2:]).astype("f8")
    weight = rows["DAT_WTS"].reshape(shape[0], 1, 1, shape[3]).astype("f8")
    powers = ((data * scale + offset) * weight).reshape(-1, *shape[2:])
    return first, table, rows, powers[:table["NSTOT"]]


STAMP = rb" ?voltmill:[0-9a-f]{12}:[0-9a-f]{12}:[0-9]+"


def digest(name, without_stamp=False):
    with open(scratch(name), "rb") as file:
        content = file.read()
    if without_stamp and name.endswith(".fil"):
        name = re.search(rb"rawdatafile(.)\0\0\0", content, re.DOTALL)
        text = content[name.end():name.end() + name[1][0]]
        less = re.sub(STAMP, b"", text)
        content = content[:name.start(1)] + bytes([len(less), 0, 0, 0]) + less + content[name.end() + len(text):]
    elif without_stamp:
        head, rest = content[:content.index(b"XTENSION")], content[content.index(b"XTENSION"):]
        head = re.sub(rb"COMMENT " + STAMP[2:] + b" *(?=END )", b"", head)
        content = head.rstrip() + rest
    return hashlib.sha256(content).hexdigest()


def job(products, source=archive, **more):
    return write_yaml("job.yaml", {"input": {"files": source}, "channelise": {"channels": CHANNELS, "taps": 4},
                                   "products": products, **more})


def fails(status, words, *command):
    done = subprocess.run([VOLTMILL, *command], cwd=SCRATCH, env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    said = done.stdout.decode()
    return ok(done.returncode == status and re.search(words, said) and said.count("error:") == 1,
              f"status {status}: {words}", done.returncode, said)


POWER = {"kind": "power", "integrate": INTEGRATE}
KINDS = {"separate": "AABB", "I": "AA+BB", "IQUV": "IQUV", "coherency": "AABBCRCI"}
products = []
for kind in KINDS:
    for ending in "h5", "fil", "fits":
        products.append({**POWER, "polarisation": kind, "file": f"{kind}.{ending}"})
voltmill("run", job(products))

for kind, pol_type in KINDS.items():
    with h5py.File(scratch(f"{kind}.h5")) as file:
        power, frequency = file["data"][:], file["frequency"][:]
        tsamp = file["data"].attrs["tsamp"]
        start = file.attrs["start_second"] + file["time"][0] - tsamp / 2
    first, table, rows, found = read_psrfits(scratch(f"{kind}.fits"))
    same(found.astype("f4"), power, f"{kind}.fits holds the powers of {kind}.h5")
    same((first["FITSTYPE"], first["OBS_MODE"], table["POL_TYPE"], table["NPOL"], table["NBITS"], table["NSTOT"]),
         ("PSRFITS", "SEARCH", pol_type, power.shape[1], 32, len(power)), f"{kind}.fits says what it is")
    close(rows["DAT_FREQ"][0], frequency / 1e6, 1e-9, f"{kind}.fits: DAT_FREQ")
    centres = (rows["OFFS_SUB"][:, 0] / tsamp - np.arange(len(rows)) * table["NSBLK"]) * 2
    close(centres, np.full(len(rows), table["NSBLK"]), 1e-6, f"{kind}.fits: OFFS_SUB is the centre of each subint")
    days, second = divmod(start, 86400)
    close([first["STT_IMJD"] - 60370 - days, first["STT_SMJD"] + first["STT_OFFS"] - second], [0, 0], 1e-9,
          f"{kind}.fits starts at the leading edge of the first dump")
close([first["OBSFREQ"], first["OBSBW"], table["CHAN_BW"], table["TBIN"]],
      [frequency.mean() / 1e6, 2.0, 1 / CHANNELS, CHANNELS * INTEGRATE / RATE], 1e-9, "band and time step")
same((first["SRC_NAME"], first["TELESCOP"], first["RA"], first["DEC"], first["FD_POLN"], first["FD_HAND"]),
     ("B0329+54", "GBT", "03:32:59.4000", "-54:34:43.6800", "LIN", 1), "source, telescope, position, feeds")

# ---- the same by export, and at any number of ranks
for kind in KINDS:
    voltmill("export", "--format", "psrfits", "-o", "again.fits", "--force", f"{kind}.h5")
    voltmill("export", "--format", "fil", "-o", "again.fil", "--force", f"{kind}.h5")
    same([digest(f"again.{ending}", True) for ending in ("fits", "fil")],
         [digest(f"{kind}.{ending}", True) for ending in ("fits", "fil")],
         f"{kind}: export writes the bytes that the job wrote, but for the word that says of which job they are")
before = {name: digest(name) for name in ("IQUV.fits", "I.fil")}
for name in before:
    os.remove(scratch(name))
voltmill("run", job([p for p in products if p["file"] in before]), ranks=3)
same({name: digest(name) for name in before}, before, "the same bytes of three ranks")
same([name for name in os.listdir(SCRATCH) if name.endswith((".part", ".journal"))], [], "nothing is left beside them")
said = voltmill("run", job([p for p in products if p["file"] in before]))
ok("complete before" in said, "the same job again has nothing to do", said)

# ---- status and verify say what such a file is, and that its length is all that it tells
for name, what in ("I.fil", "a SIGPROC filterbank"), ("IQUV.fits", "a file of search-mode PSRFITS"):
    said = voltmill("status", name)
    ok(re.search("state +complete", said) and what in said, f"status of {name}: it is complete", said)
    for words in ["verify"], ["verify", "--crc"]:
        fails(2, f"{name} is {what}, which contains neither CRCs .*all of its [0-9,]+ spectra are present", *words, name)
    with open(scratch(name), "rb") as file:
        content = file.read()
    if name.endswith(".fil"):  # of the other the only row would go
        with open(scratch("cut-" + name), "wb") as file:
            file.write(content[:-4 * CHANNELS])
        said = voltmill("status", "cut-" + name)
        ok(re.search("state +cut short", said), f"status of {name} without its end: it is cut", said)
        fails(4, "that is cut short: it contains", "verify", "cut-" + name)
    with open(scratch("cut-" + name), "wb") as file:
        file.write(re.sub(rb"voltmill:", b"voltmull:", content, count=1))
    ok(re.search("state +unknown", voltmill("status", "cut-" + name)), "the state of one without our mark is unknown")
    fails(2, "not of a job of voltmill as it is", "verify", "cut-" + name)

# ---- what is there is left as it is unless it is of this job and these files
for name in "I.fil", "IQUV.fits":
    product, = (p for p in products if p["file"] == name)
    fails(2, f"{name} exists already: --force replaces it .it was made by another job", "run",
          job([{**product, "integrate": 2 * INTEGRATE}]))
    fails(2, f"{name} exists already: --force replaces it .it was made by another job", "run",
          job([{**product, "bits": 8}]))
    with open(archive, "rb") as file:
        untouched = file.read()
    with h5py.File(archive, "r+") as file:
        file["voltages"][:9] = 0
    fails(2, "was made of other files", "run", job([product]))
    with open(archive, "wb") as file:
        file.write(untouched)
    same(digest(name), before[name], f"{name} is still what it was")
    with open(scratch(name), "rb") as file:
        content = file.read()
    for bad, words in ((b"garbage\n", "is not a complete product"), (content[:-2880], "is not a complete product"),
                       (re.sub(rb"voltmill:", b"voltmull:", content, count=1), "that says which job made it")):
        with open(scratch(name), "wb") as file:
            file.write(bad)
        fails(2, words, "run", job([product]))
        with open(scratch(name), "rb") as file:
            same(file.read(), bad, f"{name}: nothing of it is replaced")
    voltmill("run", "--force", job([product]))
    same(digest(name), before[name], f"{name}: --force does")

# ---- few bits
for kind in "I", "IQUV":
    with h5py.File(scratch(f"{kind}.h5")) as file:
        power = file["data"][:]
    for bits in 8, 16:
        voltmill("export", "--format", "psrfits", "--bits", str(bits), "-o", "few.fits", "--force", f"{kind}.h5")
        first, table, rows, found = read_psrfits(scratch("few.fits"))
        step = rows["DAT_SCL"].reshape(len(rows), *power.shape[1:]).max(axis=0)
        least, most = (np.iinfo(f"i{bits // 8}").min, np.iinfo(f"i{bits // 8}").max) if bits == 16 else (0, 255)
        stored_numbers = rows["DATA"].reshape(-1, *power.shape[1:])[:len(power)]
        inside = (stored_numbers > least) & (stored_numbers < most)
        worst = np.abs(found - power) / step
        ok(worst[inside].max() <= 0.502 and inside.mean() > 0.99,
           f"{kind} in {bits} bits: scales and offsets give the powers back within half a step",
           worst[inside].max(), inside.mean())

# ---- products in few bits: numbers and scales are those of the HDF5
for bits in 8, 16:
    for scales in "block", "first":
        same_bits = [{**POWER, "polarisation": "IQUV", "bits": bits, "scales": scales, "scale_rows": 64, "file": f"few.{ending}"}
                     for ending in ("h5", "fits", "fil")]
        voltmill("run", "--force", job(same_bits))
        with h5py.File(scratch("few.h5")) as file:
            q, scale, offset = file["data"][:], file["scale"][:], file["offset"][:]
        blocks = np.minimum(np.arange(len(q)) // 64, len(scale) - 1)
        expected = q.astype("f8") * scale[blocks] + offset[blocks]
        first, table, rows, found = read_psrfits(scratch("few.fits"))
        worst = np.abs(found - expected) / scale[blocks]
        ok((table["NBITS"], 64 % table["NSBLK"] if scales == "block" else 0) == (bits, 0) and worst.max() < 0.01,
           f"{bits} bits, scales: {scales}: PSRFITS has the numbers and scales of the HDF5", worst.max(), table["NSBLK"])
        with open(scratch("few.fil"), "rb") as file:
            raw = np.frombuffer(file.read()[-q.nbytes:], q.dtype).reshape(q.shape)
        same(raw[:, :, ::-1], q, f"{bits} bits, scales: {scales}: the .fil has the numbers")

# ---- rows cut by chunks and ranks, killed and resumed: in place the bytes are those of export
cuts = [{**POWER, "polarisation": "IQUV", "integrate": 2}, {**POWER, "polarisation": "I", "bits": 8, "scales": "first", "scale_rows": 16},
        {**POWER, "integrate": 16, "bits": 16, "scale_rows": 16, "flag": {"kurtosis": 3, "spectra": 16}}]
cut = job([{**product, "file": f"cut{i}.{ending}"} for i, product in enumerate(cuts) for ending in ("h5", "fil", "fits")],
          run={"chunk": 160, "sync": 0.01, "threads": 1})
names = [f"cut{i}.{ending}" for i in range(len(cuts)) for ending in ("fil", "fits")]


def clear():
    for name in os.listdir(SCRATCH):
        if name.startswith("cut") and not name.endswith(".h5"):
            os.remove(scratch(name))


voltmill("run", cut, ranks=3)
for i, product in enumerate(cuts):
    for ending, words in ("fil", ["fil", "--bits", str(product.get("bits", 32))]), ("fits", ["psrfits"]):
        voltmill("export", "-o", f"again.{ending}", "--force", f"cut{i}.h5", "--format", *words)
        same(digest(f"cut{i}.{ending}", True), digest(f"again.{ending}", True), f"cut{i}.{ending}: the bytes of export")
whole = {name: digest(name) for name in names}
cut = job([{**product, "file": f"cut{i}.{ending}"} for i, product in enumerate(cuts) for ending in ("fil", "fits")],
          run={"chunk": 160, "sync": 0.01, "threads": 1})
SHIM = os.path.join(os.path.dirname(VOLTMILL), "tests/faults/io_shim.so")


def shimmed(path, **settings):
    environment = {**ENVIRONMENT, "LD_PRELOAD": SHIM, **settings}
    return subprocess.run([VOLTMILL, "run", path], cwd=SCRATCH, env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode


if not os.path.exists(SHIM):
    note("SKIP kills: no io_shim.so")
else:
    clear()
    shimmed(cut, SHIM_COUNTS=scratch("counts"))
    same({name: digest(name) for name in names}, whole, "without HDF5 beside them")
    with open(scratch("counts")) as file:
        counts = {name: int(count) for name, count in map(str.split, file)}
    # Within rows; when some chunks are in the journals; when the first file is complete; when all but the last are.
    for name, at in (("SHIM_ROWS", counts["SHIM_ROWS"] * 2 // 3), ("SHIM_RECORDS", counts["SHIM_RECORDS"] // 2),
                     ("SHIM_FSYNC", counts["SHIM_FSYNC"] - 4 * len(names)), ("SHIM_FSYNC", counts["SHIM_FSYNC"] - 4)):
        clear()
        shimmed(cut, **{name: f"{at}:kill"})
        left = [name for name in os.listdir(SCRATCH) if name.startswith("cut") and name.endswith((".fil.part", ".fits.part"))]
        ok(len(left) == len(names), f"killed at {name} {at}: nothing has its name", left)
        for part in left:
            with open(scratch(part), "rb") as file:
                start = file.read(7)
            ok(start in (b"", b"\x89VMPART") or digest(part) == whole[part[:-5]], f"{part} is marked or whole")
        said = voltmill("run", cut, ranks=2)
        ok("do not match the CRC" not in said, "rows that its journal has are found as they are", said[-400:])
        same({name: digest(name) for name in names}, whole, "the same command makes the same bytes")

# ---- subints: several, the last one full or filled with means
data = random.normal(100, 5, (10007, 1, 8)).astype("f4")
with h5py.File(scratch("prime.h5"), "w") as file:
    file["data"] = data
    file["data"].attrs.update({"fch1": 1400.0, "foff": -1.0, "tsamp": 1e-3, "tstart": 58000.25})
voltmill("export", "--format", "psrfits", "prime.h5")
first, table, rows, found = read_psrfits(scratch("prime.fits"))
same(found, data, "a prime number of spectra")
filling = len(rows) * table["NSBLK"] - len(data)
ok(len(rows) > 1 and 0 < filling < 8, f"{len(rows)} subints of {table['NSBLK']}, {filling} spectra fill the last")
close(rows["DATA"].reshape(-1, 8)[-1], data[-(table["NSBLK"] - filling):, 0].astype("f8").mean(axis=0), 1e-5,
      "they are the means of its channels")
data[-1000:-1, 0, 2] = np.nan
with h5py.File(scratch("prime.h5"), "r+") as file:
    file["data"][...] = data
voltmill("export", "--format", "psrfits", "-o", "prime-nan.fits", "prime.h5")
last = data[-(table["NSBLK"] - filling):, 0].astype("f8")
close(read_psrfits(scratch("prime-nan.fits"))[2]["DATA"].reshape(-1, 8)[-1], np.nanmean(last, axis=0), 1e-5,
      "of those that are no NaN")
said = voltmill("info", "prime.fits")
ok("10,007" in said, "voltmill counts the spectra without them", said)

# ---- what is missing
data = random.normal(100, 5, (10000, 1, 8)).astype("f4")
data[:, :, 3] = np.nan
data[5000:5010, :, 5] = np.nan
with h5py.File(scratch("nan.h5"), "w") as file:
    file["data"] = data
    file["data"].attrs.update({"fch1": 1400.0, "foff": -1.0, "tsamp": 1e-3, "tstart": 58000.25})
for words in [], ["--bits", "8"]:
    said = voltmill("export", "--format", "psrfits", "--force", *words, "nan.h5")
    first, table, rows, found = read_psrfits(scratch("nan.fits"))
    expected = np.ones((len(rows), 8))
    expected[:, 3] = 0
    same(rows["DAT_WTS"], expected, "DAT_WTS is 0 where nothing of a channel is there, else 1")
    same(found[:, 0, 3], np.zeros(len(data)), "and its powers are 0")
    ok("are NaN" in said, "which is said")
same(np.isnan(read_psrfits(scratch("nan.fits"))[3]).sum(), 0, "8 bits hold no NaN")

# ---- voltmill dedisperses what it wrote, alike
for name in "I.h5", "I.fits", "I.fil":
    voltmill("run", write_yaml("dm.yaml", {"input": {"files": scratch(name)}, "dedisperse": {
        "dm": {"start": 0, "step": 1, "count": 4}, "file": f"{name}.dm.h5"}}))
series = [h5py.File(scratch(f"{name}.dm.h5"))["dedispersed"][:] for name in ("I.h5", "I.fits", "I.fil")]
same(series[1], series[0], "series of the PSRFITS are those of the HDF5")
close(series[2], series[0], np.abs(series[0]).max() * 1e-6, "and of the .fil, whose channels are added from the other end")

# ---- killed, damaged, refused
os.remove(scratch("IQUV.fits"))
words = job([p for p in products if p["file"] == "IQUV.fits"])
part, journal = scratch("IQUV.fits.part"), scratch("IQUV.fits.journal")
with open(scratch("IQUV.fits.packed.part"), "wb") as file:
    file.write(b"somebody else's")
fails(2, "IQUV.fits.packed.part exists, but was not left by voltmill", "run", words)
ok(not os.path.exists(part) and not os.path.exists(journal), "and nothing is begun")
with open(scratch("IQUV.fits.packed.part"), "wb") as file:
    file.write(b"")
voltmill("run", words)
same(digest("IQUV.fits"), before["IQUV.fits"], "what a killed run left there is replaced")

if not os.path.exists(SHIM):
    note("SKIP kills between two names: no io_shim.so")
else:
    broken = scratch("broken.h5")
    with h5py.File(archive) as file, h5py.File(broken, "w") as copy:
        for name in file:
            if name != "voltages":
                file.copy(name, copy)
        copy.create_dataset("voltages", data=file["voltages"][:], chunks=(1000, *stored.shape[1:]), compression=1)
        copy["voltages"].attrs.update(file["voltages"].attrs)
        copy.attrs.update(file.attrs)
        chunk = copy["voltages"].id.get_chunk_info(20)
    with open(broken, "r+b") as file:
        file.seek(chunk.byte_offset)
        file.write(bytes(100))
    holes = job([{**POWER, "polarisation": "I", "file": "holes.fits"}, {**POWER, "file": "holes.fil"}], broken,
                run={"on_bad": "nan"})
    same(shimmed(holes), 6, "rows that could not be read: status 6")
    expected = digest("holes.fits"), digest("holes.fil")
    for at, left in ("1", [".fil.part", ".fits.part"]), ("2", [".fil.part", ".fits"]):
        for name in "holes.fits", "holes.fil":
            os.remove(scratch(name))
        shimmed(holes, SHIM_RENAME=at)
        found = sorted(name[5:] for name in os.listdir(SCRATCH) if name.startswith("holes.") and "journal" not in name)
        same(found, left, f"killed before product {at} gets its name, which is of its format by then")
        with open(scratch("holes.fil.part"), "rb") as file:
            same(file.read(16)[4:], b"HEADER_START", "as its first bytes say")
        same(shimmed(holes), 6, "the next run only names them, and knows of the holes")
        same((digest("holes.fits"), digest("holes.fil")), expected, "the same bytes")

for change, words in (({"file": "x.h5", "format": "fil"}, "expected a name that ends in .fil"),
                      ({"file": "x.fil", "format": "hdf5"}, "expected a name that ends in .h5"),
                      ({"file": "x.fil", "kind": "spectra", "integrate": 1}, "contains products of kind power alone"),
                      ({"file": "x.fits", "compress": "lz4"}, "is for products in HDF5")):
    fails(2, words, "run", job([{**POWER, **change}]))
fails(2, "expected hdf5", "run", job([{**POWER, "polarisation": "I", "file": "y.fil"}],
                                     dedisperse={"dm": {"start": 0, "step": 1, "count": 2}, "file": "d.h5"}))

# ---- what a format cannot hold is told by the plan, before anything is computed
wide = write_archive("wide", stored[:4000].repeat(3, axis=1).reshape(4000, 3, 2, 2, 2), "time,station,pol,chan,reim", RATE, "complex",
                     centres=[3e8, 3.02e8])
for command in "plan", "run":
    for product, words in (({"file": "st.fits"}, "psrfits, which stores one antenna and beam, but there are 3"),
                           ({"file": "un.fil"}, "channels are not evenly spaced, which SIGPROC cannot say.*freq_hz"),
                           ({"file": "un.fits", "sum": "stations"}, "channels are not evenly spaced, which PSRFITS")):
        chans = {"select": {"chans": [0]}} if product["file"] == "st.fits" else {}
        fails(2, words, command, write_yaml("job.yaml", {
            "input": {"files": wide, **chans}, "channelise": {"channels": CHANNELS, "taps": 4},
            "products": [{**POWER, **product}]}))
same([name for name in os.listdir(SCRATCH) if name.startswith(("un.", "st."))], [], "of which nothing is there")
voltmill("run", write_yaml("job.yaml", {
    "input": {"files": wide}, "channelise": {"channels": CHANNELS, "taps": 4},
    "products": [{**POWER, "sum": "stations", "freq_hz": [3.0e8 - 5e5, 3.0e8 + 4e5], "file": "un.fits"}]}))

# ---- every name under which a product is written is no input's, nor another product's
with open(archive, "rb") as file:
    untouched = file.read()
with open(scratch("in.fil.packed.part"), "wb") as file:
    file.write(untouched)
fails(2, "product .*in.fil.packed.part is the input file", "plan", job([{**POWER, "file": "in.fil"}], scratch("in.fil.packed.part")))
fails(2, "in.h5.packed.part.*are one file", "plan", job([{**POWER, "file": "in.h5"}, {**POWER, "file": "in.h5.packed.part"}]))

with h5py.File(scratch("six.h5"), "w") as file:
    file["data"] = np.ones((9, 6, 8), "f4")
    file["data"].attrs.update({"fch1": 1400.0, "foff": -1.0, "tsamp": 1e-3, "tstart": 58000.25})
fails(2, "has 6 pols: --pol takes one", "export", "--format", "psrfits", "six.h5")
voltmill("export", "--format", "psrfits", "--pol", "2", "six.h5")

# ---- other programs
try:
    from astropy.io import fits
except ImportError:
    note("SKIP astropy.io.fits: not installed")
else:
    with fits.open(scratch("coherency.fits")) as units:
        units.verify("exception")
        with h5py.File(scratch("coherency.h5")) as file:
            same(units["SUBINT"].data["DATA"][..., 0].reshape(file["data"].shape), file["data"][:], "astropy reads the powers")
        same(units[0].header["STT_IMJD"], 60370 + int(days), "and the header")
try:
    import your
except ImportError:
    note("SKIP your: not installed")
else:
    with h5py.File(scratch("I.h5")) as file:
        power, frequency, tstart = file["data"][:], file["frequency"][:], file["data"].attrs["tstart"]
    for name in "I.fits", "I.fil":
        its = your.Your(scratch(name))
        found = its.get_data(0, len(power)).reshape(len(power), -1)
        same(found if its.your_header.foff > 0 else found[:, ::-1], power[:, 0], f"your reads {name}")
        close([its.your_header.tstart, its.your_header.tsamp], [tstart, tsamp], 1e-10, f"your: times of {name}")
        edge = frequency[0] if its.your_header.foff > 0 else frequency[-1]
        close(its.your_header.fch1, edge / 1e6, 1e-9, f"your: the band of {name}")
finish()
