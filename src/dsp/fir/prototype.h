/* Coefficients of the polyphase filter: a windowed sinc over taps * samples_per_spectrum points.
 *
 * With M = taps * P points (P = channels for complex input, 2 * channels for real input) and
 * x = j - (M - 1) / 2 (the centre lies at half a sample, M being even):
 *
 *   b[j] = g * sinc(cutoff * x / P) * window((j + 0.5) / M),   sinc(u) = sin(pi u) / (pi u)
 *
 * b[0] weighs the oldest sample. cutoff 1 puts the -6 dB points at the borders of a channel;
 * cutoff 0 leaves the window alone (with taps 1 and window rect: the bare Fourier transform).
 * dsp/fir/flat_cutoff.h finds the one that keeps the power of neighbours flat.
 *
 *   hann      0.5 - 0.5 cos(2 pi u)                              u = (j + 0.5) / M
 *   hamming   0.54 - 0.46 cos(2 pi u)
 *   blackman  0.42 - 0.5 cos(2 pi u) + 0.08 cos(4 pi u)
 *   kaiser    I0(beta sqrt(1 - (2u - 1)^2)) / I0(beta)
 *   rect      1
 *   file      M numbers, b[0] first; no sinc is applied. Text, where '#' starts a comment, is read
 *             here; or taps * points of another bank, which are resampled
 * (dsp/resample.h)
 *
 * The gain g follows `normalise` (base/terms.h).
 * Adamek, Novotny, Armour 2016, A polyphase filter for many-core architectures, section 2. */
#ifndef VOLTMILL_DSP_FIR_PROTOTYPE_H
#define VOLTMILL_DSP_FIR_PROTOTYPE_H

#include "base/status.h"
#include "base/terms.h"

#include <stdint.h>

struct prototype_spec {
    uint32_t channels;             /* C >= 2, even */
    uint32_t taps;                 /* T >= 1 */
    uint32_t samples_per_spectrum; /* P: C for complex input, 2C for real input */
    enum window_kind window;
    double kaiser_beta;   /* of WINDOW_KAISER */
    const char *path;     /* of WINDOW_FILE */
    const double *values; /* [nvalues] that were read from it; NULL: it is text, */
    uint64_t nvalues;
    uint32_t points; /* coefficients of a tap there; 0: samples_per_spectrum */
    double cutoff;   /* >= 0, in channels; 1 is critical */
    enum normalise normalise;
};

/* Makes the M = taps * samples_per_spectrum coefficients; free() returns them.
 *
 *   out   double [taps][samples_per_spectrum]   b[0] (oldest sample) first
 *
 * Fails with DATA (the file: unreadable, no number, wrong count; says file, line, counts), with
 * USAGE (coefficients whose sum or energy is zero or not finite cannot be normalised), or DEVICE
 * (memory). */
status_t prototype_create(const struct prototype_spec *spec, double **out);

/* The window at 0 < u < 1, 1 for a file; `i0_beta` is I0(beta) of a Kaiser window. */
double prototype_window(const struct prototype_spec *spec, double i0_beta, double u);

/* sin(pi u) / (pi u), accurate many lobes away from the centre, too. */
double prototype_sinc(double u);

/* Multiplies by (-1)^j in place: the transform of the filtered samples then comes out shifted by
 * half its length, so that ordering the channels costs nothing. */
void prototype_fold_shift(double *coeff, uint32_t taps, uint32_t samples_per_spectrum);

#endif
