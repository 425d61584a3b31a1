"""Small archives for the tests: the native layout, whole or with something wrong in it."""
import h5py
import numpy as np

RATE = 1e6


def noise(shape, dtype=np.int8, seed=1):
    """Noise that every sample format but 4 bits holds as it is."""
    return np.random.default_rng(seed).integers(-100, 101, shape).astype(dtype)


def put(where, words):
    """Sets attributes; None removes one."""
    for name, value in words.items():
        if name in where.attrs:
            del where.attrs[name]
        if value is not None:
            where.attrs[name] = value


def unknown_filter(path):
    """Gives the filter of a deflated dataset an unregistered number and name."""
    said = b"\1\0\x08\0\1\0\1\0deflate\0"
    content = open(path, "rb").read()
    assert content.count(said) == 1
    open(path, "wb").write(content.replace(said, b"\x0f\xfd\x08\0\0\0\1\0nothing\0"))


def native(path, data, axes="time,pol,reim", root={}, attrs={}, scales={}, **how):
    """Writes `data` in the native layout. `root` and `attrs` change the words of the file and of
    /voltages, `scales` the datasets beside it; None leaves one out. `how` goes to h5py."""
    names = [axis.split(":")[0] for axis in axes.replace("*", ",").split(",")]
    with h5py.File(path, "w") as file:
        put(file, dict(format="voltage", format_version=np.int32(1), start_mjd_day=np.int32(58849),
                       start_second=100.0, time_scale="UTC", telescope="Test"))
        put(file, root)
        voltages = file.create_dataset("voltages", data=data, **how)
        complex_ = "reim" in names or voltages.dtype.fields or "packing" in attrs
        put(voltages, dict(axes=axes, sample_rate_hz=RATE, sideband=np.int32(1),
                           domain="complex" if complex_ else "real"))
        put(voltages, attrs)
        chans = voltages.shape[names.index("chan")] if "chan" in names else 1
        for name, values in {"freq_hz": 1e9 + RATE * np.arange(float(chans)), **scales}.items():
            if values is not None:
                file[name] = values


def plain(path, data, name="x", **how):
    """A dataset and nothing that explains it."""
    with h5py.File(path, "w") as file:
        file.create_dataset(name, data=data, **how)
