#!/usr/bin/env python3
"""A notch before the filter bank, on a real recording: the strongest line of LOFAR's buffer goes, by what the
design says, the others stay. Everything is computed once more by numpy: Kaiser's window by his formulas, the
convolution, the filter bank.

VOLTMILL_DATA names the folder of the recordings (default ../shared/data); without it, all is skipped."""
import os
import re

import h5py
import numpy as np

from common import (DATA, ROOT, Failed, coefficients, filter_bank, finish, note, ok, power_of, scratch, skip_all,
                    stitched, voltmill)

TBB = os.path.join(DATA, "lofar_tbb/rw_20080701_162002_0109.h5")
JOB = os.path.join(ROOT, "tests/jobs/lofar-tbb.yaml")
RATE, LINE, OTHERS = 200e6, 12.13e6, (9.67e6, 11.69e6, 13.77e6, 15.58e6, 17.60e6, 87.99e6)
EDGES, ATTENUATION = (12.10e6, 12.12e6, 12.14e6, 12.16e6), 60
CHANNELS, TAPS, SPECTRA = 16384, 4, 58  # channels of 6.1 kHz: the stopped 20 kHz hold three


def run(name, *sets):
    """A power product, the sum over all of its time: [channel], its frequencies, and what the plan says."""
    words = [JOB] + [f"--set={text}" for text in (
        f"input.files={os.path.abspath(TBB)}", f"channelise.channels={CHANNELS}", f"channelise.taps={TAPS}",
        f"products.0.integrate={SPECTRA}", f"products.0.file={scratch(name)}", *sets)]
    said = voltmill("plan", *words)
    voltmill("run", *words)
    with h5py.File(scratch(name)) as product:
        return product["data"][0, 0].astype(np.float64), product["frequency"][()], said


def design(taps):
    """Kaiser's bandstop of `taps` coefficients: how far the gain may be off follows from their number."""
    width = (EDGES[1] - EDGES[0]) / RATE
    decibels = (taps - 1) * 4.57 * np.pi * width + 7.95
    n = np.arange(taps) - (taps - 1) / 2
    low, high = ((EDGES[k] + EDGES[k + 1]) / 2 / RATE for k in (0, 2))
    band = 2 * high * np.sinc(2 * high * n) - 2 * low * np.sinc(2 * low * n)
    window = np.i0(0.1102 * (decibels - 8.7) * np.sqrt(1 - (n / n[-1]) ** 2))
    return (n == 0) - band * window / window.max()


def gain_db(coeff, frequencies):
    size = 1 << 22
    response = np.abs(np.fft.rfft(coeff, size))
    return 20 * np.log10(np.interp(frequencies, np.arange(len(response)) * RATE / size, response))


def power(volts):
    spectra = filter_bank(volts[None, None, None, None], coefficients(CHANNELS, TAPS, True), True)
    return power_of(stitched(spectra), spectra.shape[-2])[0, 0]


def notch():
    with h5py.File(TBB) as file:
        volts = file["Station001/001001009"][()].astype(np.float64)
    filters = f"filter.design={{kind: bandstop, edges: {list(EDGES)}, attenuation: {ATTENUATION}}}"
    found, frequency, said = run("notch.h5", filters)
    taps = int(re.search(r"made of +(\d+) real coefficients", said)[1])
    formula = (ATTENUATION - 7.95) / (4.57 * np.pi * 20e3 / RATE) + 1
    ok(formula <= taps <= 1.1 * formula, "taps: by Kaiser's formula, or somewhat more", f"{taps}, {formula:.1f}")
    coeff = design(taps)
    stopped = gain_db(coeff, np.linspace(EDGES[1], EDGES[2], 2001))
    ok(stopped.max() <= -ATTENUATION + 0.1, "numpy's design stops the band", f"{stopped.max():.2f} dB")

    # The samples whose times the filtered ones have.
    half = (taps - 1) // 2
    before, _, _ = run("before.h5", f"input.select.samples=[{half}, {len(volts) - half}]")
    size = 1 << (len(volts) + taps).bit_length()
    filtered = np.fft.irfft(np.fft.rfft(volts, size) * np.fft.rfft(coeff, size), size)[taps - 1:len(volts)]
    expected = power(filtered)
    # The number of coefficients says the design's decibels to 0.003: so much the stopped band may be off.
    off = np.abs(10 * np.log10(found / expected))
    ok(off.max() < 0.03, "every channel has the power that numpy's convolution leaves",
       f"{off.max():.4f} dB off at {frequency[np.argmax(off)] / 1e6:.4f} MHz")

    # The response's effect on the line: on the recording's own spectrum, at 50 Hz.
    change = 10 * np.log10(found / before)
    line = np.flatnonzero(np.abs(frequency - LINE) <= 60e3)
    line = line[np.argmax(before[line])]
    between = volts[half:len(volts) - half]
    fine = np.abs(np.fft.rfft(between * np.hanning(len(between)), size)) ** 2
    at = np.arange(len(fine)) * RATE / size
    held = np.abs(at - frequency[line]) <= RATE / CHANNELS / 4
    designed = 10 * np.log10(np.sum(fine[held] * 10 ** (gain_db(coeff, at[held]) / 10)) / np.sum(fine[held]))
    note(f"12.13 MHz: {change[line]:.2f} dB, of which the response explains {designed:.2f}; "
         f"{10 * np.log10(before[line] / np.median(before)):.1f} dB above the median before")
    ok(abs(frequency[line] - LINE) < 7e3, "the strongest line is at 12.13 MHz", frequency[line])
    ok(change[line] <= -ATTENUATION + 0.1, "it falls by 60 dB", f"{change[line]:.2f} dB")
    ok(abs(change[line] - designed) < 0.3, "as much as the response says", f"{change[line]:.2f}, {designed:.2f} dB")
    for other in OTHERS:
        near = np.flatnonzero(np.abs(frequency - other) < 60e3)
        near = near[np.argsort(before[near])[-3:]]
        ok(np.all(np.abs(change[near]) < 0.1), f"{other / 1e6} MHz stays to 0.1 dB", f"{change[near]}")
    passed = (frequency < EDGES[0] - 12e3) | (frequency > EDGES[3] + 12e3)
    ok(np.all(np.abs(change[passed]) < 0.1), "so do all channels of the rest",
       f"{np.abs(change[passed]).max():.3f} dB")


def main():
    if not os.path.exists(TBB):
        skip_all(f"{TBB} is not here (it is not part of the project)")
    try:
        notch()
    except Failed as failure:
        ok(False, "the job runs", failure)
    finish()


main()
