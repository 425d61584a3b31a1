"""The three real recordings, with the jobs of tests/jobs: what is known to be in them is found in
the products, and the products are what numpy makes of the recordings.

VOLTMILL_DATA names the folder of the recordings (default ../shared/data); without it, all is
skipped. Criteria stand beside the checks; levels in dB are over the local floor, the median of the
20 channels on each side, without the line's own and two neighbours on each side."""
import os

import h5py
import numpy as np

from common import (DATA, ROOT, Failed, agrees, coefficients, filter_bank, finish,
                    note_errors, ok, power_of, scratch, skip_all, stitched, voltages_of, voltmill)

TBB = os.path.join(DATA, "lofar_tbb/rw_20080701_162002_0109.h5")
CS011 = os.path.join(DATA, "lofar_tbb/cs011_lba_2pol_int16.h5")
EFFELSBERG = os.path.join(DATA, "effelsberg_320MHz_2pol_int8.h5")
LINES_MHZ = (9.67, 11.69, 12.13, 13.77, 15.58, 17.60, 87.99)


def run(job, recording, *names, sets=(), ranks=None):
    """Runs a job of tests/jobs on the recording; its products get these names in scratch."""
    words = [f"--set=input.files={os.path.abspath(recording)}"]
    words += [f"--set=products.{n}.file={scratch(name)}" for n, name in enumerate(names)]
    words += [f"--set={text}" for text in sets]
    voltmill("run", *words, os.path.join(ROOT, "tests/jobs", job + ".yaml"), ranks=ranks)
    return [scratch(name) for name in names]


def levels(power):
    """Each channel in dB over its local floor."""
    floor = np.empty(len(power))
    for k in range(len(power)):
        around = np.r_[max(0, k - 20):max(0, k - 2), k + 3:min(len(power), k + 21)]
        floor[k] = np.median(power[around])
    return 10 * np.log10(power / floor)


def between(value, low, high, name):
    return ok(low <= value <= high, name, f"{value:.6g}, expected {low:g} to {high:g}")


def lofar_tbb():
    with h5py.File(TBB, "r") as file:
        volts = file["Station001/001001009"][()].astype(np.float64)[None, None, None, None]
    coarse, = run("lofar-tbb", TBB, "tbb.h5", ranks=2)
    with h5py.File(coarse, "r") as product:
        power, mhz = product["data"][()], product["frequency"][()] / 1e6
    expected = power_of(stitched(filter_bank(volts, coefficients(1024, 8, True), True)), 64)
    agrees(power, expected, "lofar-tbb: power is what numpy makes of the recording")
    mean = power[:, 0].mean(axis=0)
    level, width = levels(mean), mhz[1] - mhz[0]
    strongest = mhz[np.argmax(mean)]
    ok(abs(strongest - 12.13) <= width / 2, "lofar-tbb: the strongest channel holds 12.13 MHz",
       f"it is at {strongest:.4f} MHz")
    # In channels of 98 kHz: the weakest of the seven is the carrier at 87.99 MHz with 23 dB; the
    # 99th part of all channels reaches 34 dB, half of them 0.
    for line in LINES_MHZ:
        held = level[np.abs(mhz - line) <= width / 2][0]
        ok(held >= 20, f"lofar-tbb: {line} MHz stands out by 20 dB", f"{held:.1f} dB")

    # 15.58 MHz sits among broadcasts that are as strong. In channels of 6.1 kHz each line has a top
    # of its own: within 20 kHz of its frequency lies the highest channel of 60 kHz on each side.
    fine, = run("lofar-tbb", TBB, "tbb-fine.h5", sets=("channelise.channels=16384",
                                                       "channelise.taps=4",
                                                       "products.0.integrate=59"))
    with h5py.File(fine, "r") as product:
        power, mhz = product["data"][()], product["frequency"][()] / 1e6
    expected = power_of(stitched(filter_bank(volts, coefficients(16384, 4, True), True)), 59)
    agrees(power, expected, "lofar-tbb: also with 16384 channels")
    level = levels(power[0, 0])
    for line in LINES_MHZ:
        near = np.flatnonzero(np.abs(mhz - line) < 0.06)
        top = near[np.argmax(power[0, 0, near])]
        ok(abs(mhz[top] - line) <= 0.02 and level[top] >= 20,
           f"lofar-tbb: {line} MHz has a top of its own",
           f"the top is at {mhz[top]:.4f} MHz, {level[top]:.1f} dB")


def lofar_cs011():
    spectra_file, power_file = run("lofar-cs011", CS011, "cs011-spectra.h5", "cs011-power.h5",
                                   ranks=2)
    with h5py.File(spectra_file, "r") as product:
        spectra, mhz = product["spectra"][()], product["frequency"][()] / 1e6
    with h5py.File(power_file, "r") as product:
        power = product["data"][()]
    expected = stitched(filter_bank(voltages_of(CS011), coefficients(512, 8, True), True))
    agrees(spectra, expected.reshape(spectra.shape),
           "lofar-cs011: spectra are what numpy makes of the recording")
    agrees(power, power_of(expected, 100), "lofar-cs011: so is the power")

    # The bandpass is the running median over +-2 MHz: what is left when the lines are taken out.
    # Below 10 and above 90 MHz filters cut the band off.
    inside = np.flatnonzero((mhz > 10) & (mhz < 90))
    for pol, name in enumerate("XY"):
        mean = power[:, pol].mean(axis=0)
        smooth = np.array([np.median(mean[k - 10:k + 11]) for k in inside])
        between(mhz[inside[np.argmax(smooth)]], 50, 60,
                f"lofar-cs011: the antenna {name} resonates at 50 to 60 MHz")
        at = dict(zip(np.rint(mhz[inside]), 10 * np.log10(smooth / smooth.max())))
        ok(at[40] < -6 and at[75] < -10, f"lofar-cs011: {name} falls off on both sides",
           f"40 MHz: {at[40]:.1f} dB, 75 MHz: {at[75]:.1f} dB below the top")

    x, y = spectra[:, 0].astype(np.complex128), spectra[:, 1].astype(np.complex128)
    coherence = np.abs(np.mean(x * np.conj(y), axis=0)) / np.sqrt(
        np.mean(np.abs(x) ** 2, axis=0) * np.mean(np.abs(y) ** 2, axis=0))
    # A channel of 195 kHz that a line's edge only grazes holds more noise than line: the coherence
    # must be reached by the best of the channels that the line touches.
    half = (mhz[1] - mhz[0]) / 2
    for low, high in ((21.3, 21.7), (53.7, 53.7), (62.3, 62.3)):
        best = coherence[(mhz > low - half) & (mhz < high + half)].max()
        ok(best > 0.9, f"lofar-cs011: X and Y are coherent at {low} to {high} MHz", f"{best:.3f}")
    ok(np.count_nonzero(coherence[(mhz > 21.3) & (mhz < 21.7)] > 0.9) == 2,
       "lofar-cs011: in both channels between 21.3 and 21.7 MHz")
    # Independent noise leaves sqrt(pi / 4 N) = 0.028 with N = 992 spectra.
    between(np.median(coherence), 0.02, 0.05, "lofar-cs011: half of the channels are incoherent")
    ok(np.mean(coherence < 0.1) > 0.8, "lofar-cs011: and most have less than 0.1",
       f"{np.mean(coherence < 0.1):.3f} of them")


def effelsberg():
    volts = voltages_of(EFFELSBERG)
    product_file, = run("effelsberg", EFFELSBERG, "effelsberg.h5", ranks=2)
    with h5py.File(product_file, "r") as product:
        power, mhz = product["data"][()], product["frequency"][()] / 1e6
    b = coefficients(256, 8, False)
    agrees(power, power_of(stitched(filter_bank(volts, b, False)), 4),
           "effelsberg: power is what numpy makes of the recording")
    # The filter keeps the variance of white noise: what comes out is the mean of |x|^2, weighted
    # with the squares of the coefficients, which are 1 in sum. The recording is not quite white.
    used = power.shape[0] * 4
    raw = np.abs(volts[0, 0, :, 0, :62 * 256].reshape(2, 62, 256)) ** 2
    for pol, name in enumerate("XY"):
        weighted = np.mean([np.sum(raw[pol, s:s + 8] * b ** 2) for s in range(used)])
        found = power[:, pol].mean() / 4
        between(found / weighted, 0.98, 1.02,
                f"effelsberg: the power of {name} is that of the volts")

    # With one tap and no window, Parseval's theorem holds to the last digit. The known rms, 4.5 and
    # 4.2, is that about the mean: without channel 128, which holds the offset of the sampler.
    bare, = run("effelsberg", EFFELSBERG, "effelsberg-bare.h5", sets=(
        "channelise.taps=1", "channelise.window=rect", "channelise.cutoff=0",
        "products.0.integrate=20"))
    with h5py.File(bare, "r") as product:
        bare_power = product["data"][()].astype(np.float64).mean(axis=0) / 20
    found = bare_power.mean(axis=-1)
    without_offset = np.delete(bare_power, 128, axis=-1).mean(axis=-1)
    whole = raw[:, :60].mean(axis=(1, 2))
    for pol, (name, rms) in enumerate((("X", 4.5), ("Y", 4.2))):
        between(found[pol] / whole[pol], 1 - 1e-6, 1 + 1e-6, f"effelsberg: Parseval, {name}")
        between(np.sqrt(without_offset[pol]), rms - 0.08, rms + 0.08,
                f"effelsberg: rms of {name} about {rms}")

    # The strongest channel is the middle of the band: the offset of the sampler, |mean|^2 = 0.54
    # in both, stands 8 to 11 dB over the noise of a channel.
    for pol, name in enumerate("XY"):
        mean = power[:, pol].mean(axis=0)
        top = np.argmax(mean)
        ok(mhz[top] == 320.0, f"effelsberg: {name} is strongest at 320 MHz", mhz[top])
        between(levels(mean)[top], 8, 11, f"effelsberg: by 9 dB in {name}")


def main():
    for path in (TBB, CS011, EFFELSBERG):
        if not os.path.exists(path):
            skip_all(f"{path} is not here (it is not part of the project)")
    for part in (lofar_tbb, lofar_cs011, effelsberg):
        try:
            part()
        except Failed as failure:
            ok(False, f"{part.__name__}: runs", failure)
    note_errors()
    finish()


main()
