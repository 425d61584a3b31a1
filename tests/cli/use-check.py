"""Looks at the products of use.sh, in the current folder; prints STATUS|NAME|REASON lines."""
import h5py
import numpy as np


def check(name, good, reason=""):
    print(f"{0 if good else 1}|{name}|{reason}")


def rows(path):
    with h5py.File(path) as file:
        return file["spectra"][()]


for line in open("comparisons"):
    name, product, reference = line.rstrip("\n").split("|")
    a, b = rows(product), rows(reference)
    if a.shape != b.shape:
        a, b = a.squeeze(), b.squeeze()  # a beam more, a polarisation less
    check(name, a.shape == b.shape and a.tobytes() == b.tobytes() and np.isfinite(a).all(),
          f"{product} {a.shape} and {reference} {b.shape} differ")

whole = rows("plain-out.h5")
check("products hold something", whole.std() > 1 and np.isfinite(whole).all())
with h5py.File("pair-p.h5") as file:
    power = file["data"][()]
expected = (np.abs(whole[:250].astype("c16")) ** 2).reshape(50, 5, 2, 48).sum(1)
check("the other of two products: the power of 5 spectra a row",
      power.shape == (50, 2, 48) and np.allclose(power, expected, rtol=1e-5))

# Selections.
with h5py.File("native-out.h5") as all_, h5py.File("cut-out.h5") as cut:
    for line in open("comparisons"):
        name, product, reference = line.rstrip("\n").split("|")
        if name == "select utc":
            with h5py.File(product) as file:
                check("time stamps of a selection count from sample 0 of the observation",
                      np.allclose(file["time"][()], cut["time"][()] + 100e-6, rtol=0, atol=1e-12)
                      and file.attrs["start_second"] == all_.attrs["start_second"])
    check("time stamp of spectrum 0: the centre of 4 times 16 samples", all_["time"][0] == 31.5e-6)
turned = rows("turned-out.h5")
check("polarisations in the order asked for, coarse channels by frequency",
      turned.tobytes() == np.concatenate([whole[:, ::-1, :16], whole[:, ::-1, 32:]], -1).tobytes())
with h5py.File("turned-out.h5") as file:
    check("the names go with them", list(file["pol"].asstr()[()]) == ["Y", "X"])
    check("the frequencies go with them", np.allclose(file["frequency"][()], np.concatenate(
        [f + (np.arange(16) - 8) * 1e6 / 16 for f in (1e9, 1.002e9)]), rtol=0, atol=1e-3))

# Missing samples: spectra 1 .. 39 are made of samples 16 .. 686, which are all there.
holes, clean = rows("holes-zeros-out.h5"), rows("holes-clean-out.h5")
check("rows without missing samples are as they were", holes[1:40].tobytes() == clean[1:40].tobytes())
check("rows with missing samples are not", (holes[0] != clean[0]).any() and (holes[40] != clean[40]).any())

# Frequencies.
for order in ("ascending", "fft"):
    for name, centre, offset in (("tone-up", 1e9, 0.2e6), ("tone-down", 1e9, -0.2e6),
                                 ("tone-real-up", 1e9, -0.05e6), ("tone-real-down", 1e9, 0.05e6)):
        with h5py.File(f"{name}-{order}.h5") as file:
            frequency = file["frequency"][()]
        power = (np.abs(rows(f"{name}-{order}.h5")) ** 2).mean(0).ravel()
        width = (0.5e6 if "real" in name else 1e6) / 64
        found = frequency[power.argmax()]
        check(f"{name}, order {order}: at its sky frequency", abs(found - centre - offset) <= width / 2,
              f"{found} Hz, expected {centre + offset}")
        if order == "ascending":
            check(f"{name}: frequencies ascend", (np.diff(frequency) > 0).all())
ascending = rows("native-out.h5").reshape(253, 2, 3, 16)
fft = rows("fft-out.h5").reshape(253, 2, 3, 16)
check("order fft: the same spectra, zero frequency first",
      np.allclose(np.fft.fftshift(fft, -1), ascending, rtol=0, atol=1e-5 * np.abs(ascending).max()))
with h5py.File("native-out.h5") as a, h5py.File("fft-out.h5") as b:
    check("order fft: so are the frequencies", np.allclose(
        np.fft.fftshift(b["frequency"][()].reshape(3, 16), -1).ravel(), a["frequency"][()], rtol=0, atol=1e-3))
with h5py.File("oversampled-out.h5") as file:
    frequency = file["frequency"][()]
    check("oversampled: 54 of 64 channels are kept", file["spectra"].shape[-1] == 3 * 54)
    check("oversampled: they follow each other evenly", np.allclose(np.diff(frequency), 1e6 / 64, rtol=1e-6))
    check("oversampled: around the centres", np.allclose(
        frequency.reshape(3, 54)[:, 27], 1e9 + 27 / 32 * 1e6 * np.arange(3), rtol=0, atol=1e-3))
