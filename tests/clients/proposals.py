"""Jobs that `info` proposes for HDF5 files of no known format: each file states rate, frequencies, start and
dimensions in its own way. What it leaves open, or states twice and differently, is ???, with which no job runs. With
the truth in these places the job runs, and its input is the voltages that the file was made of."""
import json
import re

import h5py
import numpy as np

from common import finish, ok, same, scratch, voltmill

N, CHANS, POLS = 600, 4, 2
random = np.random.default_rng(9)
volts = random.integers(-90, 91, (N, CHANS, POLS, 2)).astype("f8")  # [time][chan][pol][re, im]
RATE, CENTRE, START = 1.28e6, 1.3e9, "2024-01-31T12:34:56.5"
UNIX = 1706704496.5  # START
FREQS = CENTRE + RATE * np.arange(CHANS)
LETTERS = {"t": "time", "c": "chan", "p": "pol", "r": "reim", "s": "station"}
FULL = dict(sample_rate_hz=RATE, freq_hz=FREQS.tolist(), start=START)


def order(letters, kind="i1"):
    """The voltages with their axes in this order; without p or c the first of them."""
    whole = volts if "c" in letters or "s" in letters else volts[:, :1]
    whole = whole if "p" in letters else whole[:, :, :1]
    named = dict(t=0, c=1, s=1, p=2, r=3)
    taken = [named[letter] for letter in letters] + ([] if "r" in letters else [3])
    rest = [axis for axis in range(4) if axis not in taken]
    array = whole.transpose(taken + rest)
    return array.reshape([whole.shape[axis] for axis in taken]).astype(kind)


def pairs(letters, kind):
    """The same as one complex number, or as a compound of two."""
    array = order(letters, "f8")
    if np.dtype(kind).kind == "c":
        return (array[..., 0] + 1j * array[..., 1]).astype(kind)
    out = np.zeros(array.shape[:-1], kind)
    for i, member in enumerate(out.dtype.names):
        out[member] = array[..., i]
    return out


def said(name):
    """The proposed job, and the keys of it that are open."""
    job = json.loads(voltmill("info", "--json", name))["proposed"]
    return job, re.findall(r"^    (\w+): .*\?\?\?[\",]*", re.sub(r"  # .*", "", job, flags=re.M), re.M)


def imported(name, job):
    """Input as the job reads it: voltages [time][chan][pol][re, im] by ascending frequency, rate, frequencies, start."""
    with open(scratch("job.yaml"), "w") as file:
        file.write(job)
    voltmill("import", "--force", "-o", "native.h5", "--job", "job.yaml")
    with h5py.File(scratch("native.h5")) as file:
        data = file["voltages"]
        axes = data.attrs["axes"]
        axes = (axes.decode() if isinstance(axes, bytes) else axes).split(",")
        values = data[()].astype("f8")
        offset = data.attrs.get("offset", 128 if b"8 bit offset" == np.bytes_(data.attrs.get("packing", "")) else 0)
        values -= offset
        present = [axis for axis in ("time", "station", "beam", "chan", "pol", "reim") if axis in axes]
        values = values.transpose([axes.index(axis) for axis in present])
        sizes = dict(zip(present, values.shape))
        values = values.reshape(sizes["time"], sizes.get("station", 1) * sizes.get("beam", 1) * sizes.get("chan", 1),
                                sizes.get("pol", 1), sizes.get("reim", 1))
        global found_sideband
        found_sideband = data.attrs.get("sideband", 1), tuple(data.attrs.get(f"oversampling_{part}", 1) for part in ("num", "den"))
        start = (int(file.attrs["start_mjd_day"]), float(file.attrs["start_second"])) if "start_mjd_day" in file.attrs else None
        return values, float(data.attrs["sample_rate_hz"]), file["freq_hz"][()], start


def mjd(text):
    day, time = text.split("T")
    hours, minutes, seconds = time.split(":")
    days = (np.datetime64(day) - np.datetime64("1858-11-17")).astype(int)
    return int(days), int(hours) * 3600 + int(minutes) * 60 + float(seconds)


count = 0


def case(name, write, axes, truth=FULL, unknown=(), starts=1e-6, expected=None, contains=(), path=None):
    """`write` fills a file. `axes`, `truth`: what is right; `unknown`: what the file cannot state. `starts`: seconds."""
    global count
    count += 1
    path = path or f"{count}.h5"
    with h5py.File(scratch(path), "w") as file:
        write(file)
    job, found = said(path)
    good = ok(job.startswith("input:\n"), f"{name}: begins with input", job)
    good = same(sorted(found), sorted(unknown), f"{name}: what is open") and good
    if found:
        with open(scratch("job.yaml"), "w") as out:
            out.write(job)
        message = voltmill("plan", "job.yaml", status=2)
        good = ok(all(f"input.layout.{key}: is " in message and "replace ??? by" in message for key in found),
                  f"{name}: ??? is refused", message) and good
    says = dict(truth, axes='"%s"' % ",".join(LETTERS[letter] for letter in axes), packing='"8 bit offset"', oversampling="%d/%d" % truth.get("oversampling", (1, 1)))
    for key in found:
        job = re.sub(rf"^    {key}: .*\?\?\?.*$", lambda _: f"    {key}: {says[key]}", job, flags=re.M)
    for text in contains:
        good = ok(text in job, f"{name}: has {text}", job) and good
    try:
        values, rate, freqs, start = imported(name, job)
    except Exception as error:
        ok(False, f"{name}: runs", job, error)
        return
    want = expected if expected is not None else order(
        "t" + ("c" if "c" in axes or "s" in axes else "") + ("p" if "p" in axes else "") + "r", "f8").reshape(
            N, CHANS if "c" in axes or "s" in axes else 1, POLS if "p" in axes else 1, 2)
    wanted = np.atleast_1d(np.array(truth["freq_hz"], "f8"))
    if "c" in axes:
        want = want[:, np.argsort(wanted)]
    good = ok(np.array_equal(values, want), f"{name}: voltages", job, values.shape, want.shape) and good
    good = ok(abs(rate / truth["sample_rate_hz"] - 1) < 1e-7, f"{name}: rate", job, rate) and good
    good = ok(len(freqs) == len(wanted) and np.abs(freqs - np.sort(wanted)).max() < 1, f"{name}: frequencies", job, freqs) and good
    good = ok(found_sideband == (truth.get("sideband", 1), truth.get("oversampling", (1, 1))), f"{name}: sideband, oversampling", job, found_sideband) and good
    if truth.get("start"):
        day, second = mjd(truth["start"])
        good = ok(start and start[0] == day and abs(start[1] - second) <= starts, f"{name}: start", job, start) and good
    else:
        good = ok(start is None, f"{name}: no start", job, start) and good
    if good:
        voltmill("run", "job.yaml", "--force")
        ok(True, f"{name}: the whole job runs")


one = dict(FULL, freq_hz=CENTRE)
plain = dict(fs=RATE, center_freq=CENTRE, utc_start=START)


def root(attributes, **datasets):
    def write(file):
        for name, data in datasets.items():
            file[name.replace("__", "/")] = data
        file.attrs.update(attributes)
    return write


# ---- real and imaginary parts
re_im = order("tp", "f4")
case("/real and /imag", root(dict(plain, fs="1.28 MHz"), real=re_im[..., 0], imag=re_im[..., 1]), "tp", one,
     contains=["parts: {re: /real, im: /imag}", "sample_rate_hz: 1280000"])


def grouped(file):
    group = file.create_group("beam/volts")
    group["data_re"], group["data_im"] = np.ascontiguousarray(re_im.transpose(1, 0, 2)[..., 0]), re_im.transpose(1, 0, 2)[..., 1]
    group.attrs["dims"] = "pol time"
    file["samp_rate"] = RATE
    file["beam"].attrs["cfreq_mhz"] = 1300.0
    file["utc_start"] = START


case("data_re, data_im in a group, dims of the group, rate and start as datasets", grouped, "pt", one,
     expected=order("tp", "f8").reshape(N, 1, POLS, 2))


def quadrature(file):
    for i, name in enumerate("iq"):
        file[f"volt_{name}"] = order("ct", "i2")[..., i]
        file[f"volt_{name}"].attrs.create("DIMENSION_LABELS", ["frequency", "time"], dtype=h5py.string_dtype())
    file["volt_i"].attrs["sampling_rate"] = 1.28
    file["volt_i"].attrs["sampling_rate_unit"] = np.bytes_("MHz")
    file["volt_i"].attrs["freqs"] = FREQS / 1e9
    file["volt_i"].attrs["freqs_units"] = "GHz"
    file["volt_i"].attrs["start_unix"] = UNIX


case("volt_i, volt_q with labels, units beside them", quadrature, "ct")
case("RE, IM upper-case; period in us, text array", root(
    dict(dt_us=np.float32(1 / 1.28), cfreq=["1.3 GHz"], start_mjd=60340 + (45296.5 / 86400)), RE=re_im[:, 0, 0], IM=re_im[:, 0, 1]), "t",
    one, expected=order("t", "f8").reshape(N, 1, 1, 2))
case("voltRe, voltIm", root(plain, voltRe=re_im[..., 0], voltIm=re_im[..., 1]), "tp", one)
case("groups real and imag", root(plain, real__x=re_im[..., 0], imag__x=re_im[..., 1]), "tp", one)


# ---- complex numbers, and dimensions by name
def scales(file):
    file["v"] = pairs("cpt", "c8")
    for i, (name, size) in enumerate((("freq", CHANS), ("pol", POLS), ("time", N))):
        file[name] = FREQS / 1e6 if name == "freq" else np.arange(size) * 1.0
        file[name].make_scale(name)
        file["v"].dims[i].attach_scale(file[name])
    file["freq"].attrs["units"] = "MHz"
    file["v"].attrs.update(tsamp=1 / RATE, start_time=np.bytes_(START + "Z"))


case("complex64 with dimension scales", scales, "cpt")
case("complex128, labels of HDF5", lambda file: (
    root(dict(plain, samplerate_hz=[RATE]), v=pairs("tp", "c16"))(file),
    [setattr(file["v"].dims[i], "label", name) for i, name in enumerate(("Time", "Polarization"))]), "tp", one)
case("compound of int16", lambda file: (root({}, v=pairs("tcp", [("real", "<i2"), ("imag", "<i2")]), freq_mhz=FREQS / 1e6)(file),
     file["v"].attrs.update(sample_rate="1.28MS/s", t0=UNIX, axes=np.array(["time", "channel", "pol"], "S8"))), "tcp")
case("compound of int8, one text of names", lambda file: (root({}, g__v=pairs("tcp", [("r", "i1"), ("i", "i1")]))(file),
     file["g"].attrs.update(dimensions="[time][chan][pol]", Sample_Rate_kHz=1280, Frequencies=FREQS, utc_start=START)), "tcp")
case("big-endian pairs in chunks, NumPy names", lambda file: (
    file.create_dataset("v", data=order("tcpr", ">i2"), chunks=(100, 2, 2, 2), compression=1),
    file["v"].attrs.update(_ARRAY_DIMENSIONS=["n_time", "n_chan", "n_pol", "re_im"]),
    file.attrs.update(fs=RATE, chan_freq=FREQS, date_obs=START)), "tcpr")
case("letters", lambda file: (root(dict(fs=RATE, freqs=FREQS, utc=START), v=order("tcpr"))(file), file["v"].attrs.update(dims="tfpc")), "tcpr")
case("stations", lambda file: (root(plain, v=order("tsr"))(file), file["v"].attrs.update(axis=["time", "antenna", "complex"])), "tsr",
     one)

# ---- dimensions by sizes
case("int8, pairs last", root(dict(fs=RATE, freqs=FREQS, utc_start=START), v=order("tcpr")), "tcpr")
case("sizes that the file states", root(dict(fs=RATE, freqs=FREQS, utc_start=START, n_chans=CHANS, npol=1), v=order("ctr")), "ctr")
case("two real polarisations", root(dict(fs=RATE, n_pols=2, utc_start=START, cfreq="1300 MHz"), v=order("tp", "i2")[..., 0]), "tp", one,
     expected=order("tp", "f8")[..., :1].reshape(N, 1, POLS, 1))
square = random.integers(-90, 91, (70, 100)).astype("i2")
case("sizes that tell nothing", root(plain, v=square), "st", one, ["axes", "freq_hz"], expected=square.T.reshape(100, 70, 1, 1))
case("weights and flags are larger, and have a rate of their own", lambda file: (
    root(plain, v=order("tr"), weights=np.ones((N, 100), "f4"), flags=np.zeros((N, 99), "u1"))(file),
    file["weights"].attrs.update(fs=7.0e6, freq=5e8)), "tr", one)

# ---- rates
case("bandwidth and channels", root(dict(bandwidth="5.12 MHz", nchan=CHANS, freqs=FREQS, utc_start=START), v=order("tcpr")), "tcpr",
     contains=["assumed: critically sampled"])
case("bandwidth in Hz of real samples", root(dict(bw=RATE / 2, cfreq=CENTRE, utc_start=START), v=order("t", "i2")[:, 0]), "t", one,
     expected=order("t", "f8")[:, :1].reshape(N, 1, 1, 1))
case("channel width", root(dict(chan_bw_khz=1280.0, freqs=FREQS, utc_start=START), v=order("tcpr")), "tcpr")
case("rate and period agree", root(dict(plain, tsamp=1 / RATE), v=order("tr")), "tr", one)
case("rate and period differ", root(dict(plain, dt=2e-6), v=order("tr")), "tr", one, ["sample_rate_hz"])
case("no unit of a rate", root(dict(plain, fs=1.28), v=order("tr")), "tr", one, ["sample_rate_hz"])
case("a unit of nothing", root(dict(plain, fs="1.28 furlongs"), v=order("tr")), "tr", one, ["sample_rate_hz"])
case("two units", root(dict(center_freq=CENTRE, utc_start=START, fs_hz=1.28, fs_hz_unit="MHz"), v=order("tr")), "tr", one, ["sample_rate_hz"])
case("the rate of the converter", root(dict(fs=64e6, freqs=FREQS, utc_start=START), v=order("tcpr")), "tcpr", FULL, ["sample_rate_hz"])
fifth = CENTRE + RATE * 4 / 5 * np.arange(CHANS)
case("oversampled by 5/4", root(dict(fs=RATE, freqs=fifth, utc_start=START), v=order("tcpr")), "tcpr",
     dict(FULL, freq_hz=fifth.tolist(), oversampling=(5, 4)))
wide, uneven = CENTRE + 1.08e6 * np.arange(CHANS), CENTRE + 1.115e6 * np.arange(CHANS)
case("oversampled by 32/27", root(dict(fs=RATE, freqs=wide, utc_start=START), v=order("tcpr")), "tcpr",
     dict(FULL, freq_hz=wide.tolist(), oversampling=(32, 27)), contains=["oversampling: 32/27  # assumed"])
case("oversampled by no ratio of small numbers", root(dict(fs=RATE * 1.0012345, freqs=uneven, utc_start=START), v=order("tcpr")), "tcpr",
     dict(FULL, sample_rate_hz=RATE * 1.0012345, freq_hz=uneven.tolist(), oversampling=(8, 7)), ["oversampling"])
case("no rate", root(dict(center_freq=CENTRE, utc_start=START), v=order("tr")), "tr", one, ["sample_rate_hz"])

# ---- frequencies
case("1420.4 is MHz", root(dict(plain, center_freq=1420.4), v=order("tr")), "tr", dict(one, freq_hz=1420.4e6), contains=["assumed: MHz"])
case("86.2 is open", root(dict(plain, center_freq=86.2), v=order("tr")), "tr", dict(one, freq_hz=86.2e9), ["freq_hz"])
case("two that differ", root(dict(plain, freq_mhz=1301.0), v=order("tr")), "tr", one, ["freq_hz"])
case("from the first down", root(dict(tsamp_us=1 / 1.28, fch1=1303.84, foff=-1.28, tstart=60340 + 45296.5 / 86400), v=order("tcpr")), "tcpr",
     dict(FULL, freq_hz=list(FREQS[::-1])))
case("the middle and a step", root(dict(fs=RATE, fcent=CENTRE, freq_step="1.28 MHz", utc_start=START), v=order("tcr")), "tcr",
     dict(FULL, freq_hz=(CENTRE + RATE * (np.arange(CHANS) - 1.5)).tolist()), contains=["assumed: this is the middle"])
case("the middle alone", root(dict(plain, bandwidth=4 * RATE), v=order("tcr")), "tcr", unknown=["freq_hz"])
case("too many", root(dict(plain, freqs=np.arange(5) + 1e9), v=order("tcr")), "tcr", FULL, ["freq_hz"])
case("a compound of an index map", lambda file: (root(dict(fs=RATE, utc_start=START), v=order("tcr"))(file), file.create_dataset(
    "index_map/freq", data=np.array([(f / 1e6, i) for i, f in enumerate(FREQS)], [("centre", "f8"), ("id", "u4")]))), "tcr",
     contains=["freq_hz: {from: /index_map/freq, member: centre, unit: MHz}"])
case("words of a receiver", root(dict(rx_rate=RATE, rx_freq=CENTRE, rx_time=UNIX), v=order("tr")), "tr", one)
case("names of axes that sizes contradict", root(dict(plain, npol=POLS, nchan=CHANS, freqs=FREQS, dims="time,chan,pol,reim"), v=order("tpcr")),
     "tpcr", FULL, ["axes", "freq_hz"])
for names in {}, {"dims": "time,chan,reim"}:
    case(f"more channels stated than there are, {names}", root(dict(plain, nchan=16, freqs=FREQS, **names), v=order("tcr")), "tcr", FULL,
         ["axes", "freq_hz"], path="more.h5")
    ok("600 x 4 x 2, beside /@nchan = 16" in said("more.h5")[0], "which is told", said("more.h5")[0])
case("none at all", root(dict(fs=RATE), v=order("tr")), "tr", dict(sample_rate_hz=RATE, freq_hz=0.0), contains=["# freq_hz: ???", "# start: ???"])

# ---- starts
case("day, second and fraction", root(dict(fs=RATE, freq=CENTRE, STT_IMJD=60340, STT_SMJD=45296, STT_OFFS=0.5), v=order("tr")), "tr", one)
case("milliseconds", root(dict(fs=RATE, freq=CENTRE, start=int(UNIX * 1000)), v=order("tr")), "tr", one)
case("a recorder's date in a dataset", root(dict(fs=RATE, freq=CENTRE), v=order("tr"), utc_start="2024-01-31-12:34:56.5"), "tr", one)
case("slashes and UTC", root(dict(fs=RATE, freq=CENTRE, start_time="2024/01/31 12:34:56.5 UTC"), v=order("tr")), "tr", one)
case("the finer of two", root(dict(fs=RATE, freq=CENTRE, utc_start="2024-01-31T12:34:56", mjd=60340 + 45296.5 / 86400), v=order("tr")), "tr", one)
case("two that differ by a minute", root(dict(fs=RATE, freq=CENTRE, utc_start="2024-01-31T12:34:56", mjd=60340 + 45356 / 86400), v=order("tr")), "tr", one,
     ["start"])
case("a day alone", root(dict(fs=RATE, freq=CENTRE, utc_start="2024-01-31"), v=order("tr")), "tr", one, ["start"])
case("a date of writing does not count beside it", root(dict(plain, date="2024-02-01T00:00:00", timestamp=UNIX + 900), v=order("tr")), "tr", one)

# ---- others
for value, side in ((-1, -1), ("LSB", -1), (np.int8(1), 1), (0, None)):
    case(f"sideband {value}", root(dict(plain, sideband=value), v=order("tr")), "tr", dict(one, sideband=side or 1),
         [] if side else ["sideband"])
case("unsigned numbers", root(plain, v=(order("tr", "i2") + 128).astype("u1")), "tr", one, ["packing"])
case("an odd name", root(plain, v=order("tr")), "tr", one, path="it's [1] \"odd\": é.h5")
case("names of members that are words", root(dict(plain, telescope="GBT\n- x: 1", source=np.bytes_("B0329+54")), v=order("tr")), "tr", one,
     contains=['telescope: {attribute: "/@telescope"}', 'source: {attribute: "/@source"}'])
case("two datasets as large", root(plain, pol0=order("tr"), pol1=order("tr")), "tr", one, contains=["dataset: /pol0  # as large: /pol1"])

with h5py.File(scratch("bytes.h5"), "w") as file:
    file[b"v\xff"] = order("tr")
    file.attrs["fs"] = RATE
job, found = said("bytes.h5")
same(found, ["dataset"], "a name that is no UTF-8 is open")
with h5py.File(scratch("nothing.h5"), "w") as file:
    file.attrs.update({"fs": RATE, "t0": 1600000000.25, "t0_ms": 1600000000123})
    file["text"] = "nothing"
found = json.loads(voltmill("info", "--json", "nothing.h5"))
same(found["proposed"], None, "no numbers, no job")
same([line.strip() for line in found["attributes"]], ["/@fs = 1280000", "/@t0 = 1600000000.25", "/@t0_ms = 1600000000123"],
     "attributes are listed, with all digits")
with h5py.File(scratch("several.h5"), "w") as file:
    file["v"] = order("tr")
    file.attrs.update({"fs": [RATE, 2 * RATE]})
said_all = voltmill("info", "several.h5")
ok("sample_rate_hz: ???  # Hz" in said_all, "a rate of two values is open", said_all)
for name in "Stokes_I", "beam_power", "intensity", "waterfall", "dynspec":
    with h5py.File(scratch("powers.h5"), "w") as file:
        root(plain, **{name: order("tcp", "f4")[..., 0]})(file)
    told = json.loads(voltmill("info", "--json", "powers.h5"))
    ok(told["proposed"] is None and any(f"/{name} looks like powers, not voltages" in line for line in told["attributes"]),
       f"real numbers called {name}: no voltages", told)
    case(f"voltages beside {name}", root(plain, v=order("tr"), **{name: np.ones((N, 100), "f4")}), "tr", one)
    case(f"complex numbers called {name}", root(plain, **{name: pairs("t", "c8")}), "t", one, expected=order("t", "f8").reshape(N, 1, 1, 2))
for name, kind in ("visdata", "c8"), ("vis", "c8"), ("correlator_data", "f4"), ("wfall", "f4"), ("data_freq_time", "f4"), ("XX", "f4"):
    with h5py.File(scratch("powers.h5"), "w") as file:
        root(plain, **{name: order("tcp", "f4")[..., 0] if kind == "f4" else pairs("t", kind)})(file)
    told = json.loads(voltmill("info", "--json", "powers.h5"))
    ok(told["proposed"] is None and any(f"/{name} looks like powers, not voltages" in line for line in told["attributes"]),
       f"{kind} called {name}: no voltages", told)
for dims, is_power in ("time,chan,stokes", True), ("time,chan,pol", False):
    with h5py.File(scratch("powers.h5"), "w") as file:
        root(dict(plain, dims=dims), data=order("tcp", "f4")[..., 0])(file)
    told = json.loads(voltmill("info", "--json", "powers.h5"))
    said_so = any('/data looks like powers, not voltages ("stokes" names a dimension)' in line for line in told["attributes"])
    same((told["proposed"] is None, said_so), (is_power, is_power), f"dimensions {dims}")
for text in "telescope: ???", 'files: "???"', 'freq_hz: [1e9, "???"]', "axes: 'time,???'":
    with open(scratch("refused.yaml"), "w") as file:
        file.write("input: {files: 1.h5, layout: {parts: {re: /real, im: /imag}, axes: 'time,pol', sample_rate_hz: 1e6}}\n"
                   "channelise: {channels: 8}\nproducts: [{kind: power, file: x.h5}]\n")
    place = "input." if text.startswith("files") else "input.layout."
    key, value = text.split(": ", 1)
    message = voltmill("plan", "refused.yaml", "--set", f"{place}{key}={value}", status=2)
    ok(f"{place}{key}" in message and "replace ??? by" in message, f"{text} is refused", message)
finish()
