/* Coefficients of the polyphase filter: a windowed sinc over taps * samples_per_spectrum points.
 *
 * With M = taps * P points (P = channels for complex input, 2 * channels for real input) and x = j
 * - (M - 1) / 2 (the centre is at half a sample, M being even):
 *
 *   b[j] = g * sinc(cutoff * x / P) * window((j + 0.5) / M),   sinc(u) = sin(pi u) / (pi u)
 *
 * b[0] weighs the oldest sample. cutoff 1 puts the -6 dB points at the borders of a channel; cutoff
 * 0 gives the window alone (with taps 1 and window rect: the bare Fourier transform).
 * flat_cutoff_settle() finds the one that keeps the power of neighbours flat.
 *
 *   hann      0.5 - 0.5 cos(2 pi u)                              u = (j + 0.5) / M
 *   hamming   0.54 - 0.46 cos(2 pi u)
 *   blackman  0.42 - 0.5 cos(2 pi u) + 0.08 cos(4 pi u)
 *   kaiser    I0(beta sqrt(1 - (2u - 1)^2)) / I0(beta)
 *   rect      1
 *   file      M numbers, b[0] first; no sinc is applied. Text, where '#' starts a comment, is read
 *             here; or taps * points of another bank, which are resampled (prototype_resample())
 *
 * The gain g follows `normalise` (base/terms.h). Adamek, Novotny, Armour 2016, A polyphase filter
 * for many-core architectures, section 2. */
#ifndef VOLTMILL_DSP_FIR_PROTOTYPE_H
#define VOLTMILL_DSP_FIR_PROTOTYPE_H

#include "base/terms.h"
#include "base/text.h"

/* ---- Kaiser's window and his formulas for the filters that it makes ----
 *
 * Kaiser 1974, Nonrecursive digital filter design using the I0-sinh window function. */

/* Returns the modified Bessel function of order zero, 0 <= x <= KAISER_BETA_LIMIT. */
double kaiser_i0(double x);

/* The largest beta for which I0(beta) and its series stay well inside a double. */
#define KAISER_BETA_LIMIT 700.0

/* kaiser_beta(): returns the window's beta for a filter whose gain deviates from the ideal one, 1
 * or 0, by at most `decibels` dB below 1 (60: by 0.001). kaiser_taps(): returns the number of its
 * coefficients, not rounded, for transition bands of `width` > 0, in units of the sample rate. */
double kaiser_beta(double decibels);
double kaiser_taps(double decibels, double width);

/* ---- the prototype of an oversampled filter bank ----
 *
 * Spectra come num / den times as often as channels are apart, so a channel holds num / den of the
 * channel spacing. What a user keeps of it is one spacing, from -1/2 to 1/2 (in channels); what
 * folds into that comes from num/den - 1/2 on. Between both is the transition band: the sinc's
 * cutoff is num / den, in its middle, and Kaiser's window makes it num/den - 1 wide, as far down as
 * the number of taps allows. Kaiser 1974; Tuthill et al. 2015, IEEE Signal Processing and Signal
 * Processing Education Workshop (SP/SPE). */

/* Returns the approximate attenuation in dB, with `taps` taps, of the bands that alias into the
 * kept part; at most 200. ratio.num > ratio.den, as for all oversampled banks. */
double oversampled_attenuation(struct ratio ratio, uint32_t taps);

/* Finds the taps that attenuate the bands that alias by `decibels` dB. Measures from two below
 * Kaiser's formula on, which is off by up to 3 dB for wide transition bands, and takes the first
 * that suffice. Takes 4,096 if no fewer do. If the formula less two is 4,096 or more, takes that
 * unmeasured. ratio.num > ratio.den. Fails with DEVICE (memory), and leaves *out unchanged. */
status_t oversampled_taps(struct ratio ratio, double decibels, uint32_t *out);

/* Returns the beta of Kaiser's window for a bank of `taps` taps, by oversampled_attenuation().
 * ratio.num > ratio.den. */
double oversampled_beta(struct ratio ratio, uint32_t taps);

/* Returns the sinc's cutoff, in channel spacings: num / den. */
double oversampled_cutoff(struct ratio ratio);

/* Returns the even number of channels, above 0, nearest to `channels`, maybe itself, for which the
 * hop, channels * den / num samples, is a whole number; the lower of two equally near. */
uint32_t oversampled_channels(struct ratio ratio, uint32_t channels);

/* ---- any prototype ---- */

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
    double cutoff;   /* >= 0, in channels; 1 is critical; CUTOFF_FLAT: for flat_cutoff_settle() */
    enum normalise normalise;
};

/* Makes the M = taps * samples_per_spectrum coefficients, with up to 16 threads; the caller frees
 * *out by free(). CUTOFF_FLAT must be settled before.
 *
 *   out   double [taps][samples_per_spectrum]   b[0] (oldest sample) first
 *
 * Fails with DATA (the file: unreadable, no number, wrong count; the message names file, line,
 * counts), with USAGE (coefficients whose sum or energy is zero or not finite cannot be normalised;
 * a Kaiser window's beta beyond KAISER_BETA_LIMIT), or DEVICE (memory; more than this machine has),
 * and leaves *out unchanged. */
status_t prototype_create(const struct prototype_spec *spec, double **out);

/* Returns the window of `spec` at 0 < u < 1, where 0 and 1 are its ends; 1 for a file. `i0_beta` is
 * kaiser_i0(spec->kaiser_beta) of a Kaiser window; ignored for others. */
double prototype_window(const struct prototype_spec *spec, double i0_beta, double u);

/* Returns sin(pi u) / (pi u), accurate many lobes away from the centre, too. */
double prototype_sinc(double u);

/* Multiplies `count` coefficients by `factor`, and if is_shifted by (-1)^j: the transform of the
 * filtered samples then comes out shifted by half its length, so that ordering the channels costs
 * nothing. `out` may be `coeff`. */
void prototype_fold(const double *coeff, size_t count, double factor, int is_shifted, double *out);

/* If spec->cutoff is CUTOFF_FLAT, replaces it by the cutoff for which |H(1/2)| = |H(0)| / sqrt(2),
 * in steps of 1e-10, so that every machine finds the same one; else does nothing.
 *
 * H is that of the filter itself up to 2^18 coefficients and 4,096 taps. For a longer filter it is
 * that of one with at most as many taps and fewer samples per spectrum (64 or more): the response,
 * in channels and in widths of the window's main lobe, is the same to 1e-5.
 *
 * Fails with USAGE if there is no such cutoff: a window so narrow in time that it passes more than
 * that by itself, one tap, coefficients from a file; or with DEVICE (memory). *spec is unchanged
 * then. */
status_t flat_cutoff_settle(struct prototype_spec *spec);

/* Prototype filters of telescopes whose formula is published: by name.
 *
 *   chime      4 taps of 2048 samples (1024 channels of real samples): a sinc whose centre is
 *              sample 4096, times 0.08 + 0.92 hanning(8192) as numpy computes it; within rounding
 *              the prototype of CHIME's F-engine (CHIME/FRB's tools: the table
 *              pfb_coefficients_used)
 *   katgpucbf  16 taps, here of 2048 samples: a Hann window that is 0 at both ends times a sinc
 *              with its centre between both halves; the default of the wide bands of the GPU
 *              correlator of MeerKAT's extension (SARAO, katgpucbf: generate_pfb_weights)
 *
 * Others' numbers belong to those who made them, and are read from files. */

struct telescope {
    const char *name;
    uint32_t taps, points; /* coefficients: taps * points */
    double window_low;     /* of the window at its ends */
    double centre;         /* of the sinc, in coefficients from the first */
};

/* Returns the constant telescope of that name, not to be freed; NULL if there is none. */
const struct telescope *telescope_find(const char *name);

/* Appends all names, separated by ", ". Fails with DEVICE (memory); some names may then have been
 * appended. */
status_t telescope_add_names(struct text *out);

/* Makes a telescope's coefficients, *out double [taps][points], b[0] (oldest sample) first, not
 * normalised; free() returns them. Fails with DEVICE (memory), and leaves *out unchanged. */
status_t telescope_prototype(const struct telescope *telescope, double **out);

/* A prototype filter at another number of points.
 *
 * A telescope's prototype has taps * points_in coefficients; a bank of other channels takes as many
 * taps of points_out: samples of one function, band-limited to the fewer of both points, and
 * periodic. Their response in units of the channel spacing is one, too. */

enum resample_keeps {
    RESAMPLE_KEEPS_CENTRE, /* coefficient j is at (j + 1/2) / points taps from the begin; values are
                              the function's: the sum grows with the points */
    RESAMPLE_KEEPS_FIRST   /* at j / points, so coefficient 0 stays where it was, as do phases that
                              count from it; the sum stays, and with it the gain */
};

/* Resamples a prototype, in [taps][points_in], to *out [taps][points_out], b[0] (oldest sample)
 * first; free() returns *out. Equal points leave the numbers unchanged. Fails with DEVICE (memory),
 * and leaves *out unchanged. */
status_t prototype_resample(const double *in, uint32_t taps, uint32_t points_in,
                            uint32_t points_out, enum resample_keeps keeps, double **out);

#endif
