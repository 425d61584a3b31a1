/* The cutoff of a filter bank that loses no power between channels.
 *
 * White noise, or a tone, half-way between two channels is in both. Where |H| there is 1 / sqrt(2)
 * of what it is at a channel's centre, the two together have all of its power: with 8 taps and a
 * Hann window cutoff 1.108 leaves 0.1 dB of ripple in their sum, where cutoff 1 leaves 3 dB. */
#ifndef VOLTMILL_DSP_FIR_FLAT_CUTOFF_H
#define VOLTMILL_DSP_FIR_FLAT_CUTOFF_H

#include "base/status.h"
#include "dsp/fir/prototype.h"

/* Where spec->cutoff is CUTOFF_FLAT, puts the cutoff there by which |H(1/2)| = |H(0)| / sqrt(2), in
 * steps of 1e-10, so that every machine finds the same one; else does nothing.
 *
 * H is that of the filter itself up to 2^18 coefficients. Beyond, samples (of which there are 64 or
 * more per spectrum) and then taps (4,096) are as few as make them: the response, in channels and
 * in widths of the window's main lobe, is the same to 1e-5.
 *
 * Fails with USAGE where no cutoff does it: a window so narrow in time that it passes more than
 * that by itself, one tap, coefficients from a file; or with DEVICE (memory). */
status_t flat_cutoff_settle(struct prototype_spec *spec);

#endif
