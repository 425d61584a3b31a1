/* Largest permitted differences between results in single precision and the double-precision
 * reference.
 *
 * A number of a spectrum Y is right when |error| <= 5e-6 rms + 5e-7 max|Y|, over the spectrum's
 * channels: a transform's rounding grows with the spectrum's rms and, near a strong line, with the
 * line. Beside that, the rms of all errors is at most 5e-7 of the rms of all numbers. Each filter
 * before the bank rounds as a bank does, and may add twice that error. Its transforms spread the
 * error over all rows of a block, and sums may cancel most of the input. So after filters a number
 * is also right if its error is as small relative to the input: to `went_in`, or, if that is
 * unknown, to the rms of all numbers that were compared. Below 1.2e-38 (FLT_MIN) floats have fewer
 * digits: errors of their steps of 1.4e-45, as many as there are operations, do not count. */
#ifndef VOLTMILL_COMPUTE_SHARED_AGREEMENT_H
#define VOLTMILL_COMPUTE_SHARED_AGREEMENT_H

#include "base/terms.h"

/* Result of the comparison so far. Begins with zeros; may be added up over ranks. */
struct agreement {
    double errors, numbers; /* sums of squares */
    double worst; /* error in units of rms + max|Y| / 10 (of power: scaled alike, so that what is
                   * allowed is the same number); infinite where only one is infinite or NaN */
    uint32_t filters;    /* before what is compared; then of the others count, too: */
    double went_in;      /* the rms of Y, were what goes into the filters as it is noise that
                            passes them: of the rows that are compared next; 0: not known */
    double power, count; /* sum of |Y|^2, and of how many numbers */
    double stray;        /* the largest error, as one of Y, that its own spectrum does not allow */
};

extern const double agreement_rms_limit, agreement_worst_limit;

/* Statistics of a whole row of which only some channels, or their means, are compared. */
struct agreement_whole {
    double mean, most, mean_square; /* of |Y|^2, or of its sums */
};

/* Compares a row of spectra, of power, or of its squares, and adds the result to *agreement, as all
 * these functions do; `whole` is NULL if it has all channels, and ignored for squares. Equal
 * infinities do not differ, nor do two NaN.
 *
 *   spectra   float [channels][2]; `integrate` is ignored
 *   power     float [channels], each the sum over `integrate` spectra; squares likewise */
void agreement_row(struct agreement *agreement, enum quantity quantity, const float *found,
                   const float *expected, uint64_t channels, uint64_t integrate,
                   const struct agreement_whole *whole);

/* Compare sums over `integrate` spectra, four lines [channels], `stride` floats from one to the
 * next, and add the result to *agreement. agreement_coherency(): |A|^2, |B|^2, Re A B*, Im A B*;
 * `whole` [2]: of |A|^2 and of |B|^2. agreement_stokes(): I, Q, U, V; `whole`: of I. `whole` NULL:
 * all channels are there. */
void agreement_coherency(struct agreement *agreement, const float *found, const float *expected,
                         uint64_t stride, uint64_t channels, uint64_t integrate,
                         const struct agreement_whole *whole);
void agreement_stokes(struct agreement *agreement, const float *found, const float *expected,
                      uint64_t stride, uint64_t channels, uint64_t integrate,
                      const struct agreement_whole *whole);

/* Compares a line of visibilities, the means of A B*, of `channels` channels, `stride` floats from
 * one to the next, each (re, im), and adds the result to *agreement. `whole`, not NULL: statistics
 * of sqrt(|A|^2 |B|^2), to which errors are relative. */
void agreement_visibilities(struct agreement *agreement, const float *found, const float *expected,
                            uint64_t stride, uint64_t channels,
                            const struct agreement_whole *whole);

/* Compares sums (dedispersed series), each [count], and adds the result to *agreement: the worst
 * error is in units of their rms, of the number itself or of `terms`, whichever is largest.
 * `terms`: the root of the sum of squares of what a sum adds up, where it may cancel most of that;
 * else 0. */
void agreement_sums(struct agreement *agreement, const float *found, const float *expected,
                    uint64_t count, double terms);

/* Returns the rms of all errors, relative to that of all numbers; 0 without errors. */
double agreement_rms(const struct agreement *agreement);

/* Returns the worst error of all, in units of its spectrum's rms + max|Y| / 10 (struct agreement's
 * `worst`); it may be infinite. */
double agreement_worst(const struct agreement *agreement);

/* agreement_most_rms(): returns the limit of agreement_rms(). agreement_most_worst(): returns the
 * limit of agreement_worst(), in its unit. agreement_holds(): returns whether both are met. */
double agreement_most_rms(const struct agreement *agreement);
double agreement_most_worst(const struct agreement *agreement);
int agreement_holds(const struct agreement *agreement);

#endif
