/* How far results in single precision may lie from the double-precision reference.
 *
 * A number of a spectrum Y is right when |error| <= 5e-6 rms + 5e-7 max|Y|, over the spectrum's
 * channels: a transform's rounding grows with the spectrum's rms and, near a strong line, with the
 * line. Beside that, the rms of all errors is at most 5e-7 of the rms of all numbers. Each filter
 * that voltages went through before rounds as a bank does, and may do twice of it beside that; its
 * transforms spread that over all rows of a block, and sums may cancel most of what goes in, so
 * that behind filters a number is also right when its error is that small beside what went in:
 * beside `went_in`, or, where nobody knows that, beside the rms of all numbers that were compared.
 * Below 1.2e-38 (FLT_MIN) floats have fewer digits: errors of their steps of 1.4e-45, as many as
 * there are operations, do not count. */
#ifndef VOLTMILL_COMPUTE_SHARED_AGREEMENT_H
#define VOLTMILL_COMPUTE_SHARED_AGREEMENT_H

#include "base/terms.h"

#include <stdint.h>

/* What was compared so far. Begins with zeros; may be added up over ranks. */
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

/* What a row was of which only some channels, or their means, are compared. */
struct agreement_whole {
    double mean, most, mean_square; /* of |Y|^2, or of its sums */
};

/* Compares a row of spectra, of power, or of its squares; `whole` is NULL where it has all
 * channels. Equal infinities do not differ, nor does what is no number in both.
 *
 *   spectra   float [channels][2]
 *   power     float [channels], each the sum over `integrate` spectra; squares likewise */
void agreement_row(struct agreement *agreement, enum quantity quantity, const float *found,
                   const float *expected, uint64_t channels, uint64_t integrate,
                   const struct agreement_whole *whole);

/* The four sums of a coherency, `stride` floats from one to the next: |A|^2, |B|^2, Re A B*,
 * Im A B*, each [channels]; `whole` of each. The same of I, Q, U, V. */
void agreement_coherency(struct agreement *agreement, const float *found, const float *expected,
                         uint64_t stride, uint64_t channels, uint64_t integrate,
                         const struct agreement_whole *whole);
void agreement_stokes(struct agreement *agreement, const float *found, const float *expected,
                      uint64_t stride, uint64_t channels, uint64_t integrate,
                      const struct agreement_whole *whole);

/* A stretch of sums (dedispersed series): the worst counts in units of its rms, or of the number
 * itself where that is larger. */
void agreement_sums(struct agreement *agreement, const float *found, const float *expected,
                    uint64_t count);

/* The rms of all errors, relative. */
double agreement_rms(const struct agreement *agreement);

/* The worst error of all. */
double agreement_worst(const struct agreement *agreement);

/* What is allowed of both. */
double agreement_most_rms(const struct agreement *agreement);
double agreement_most_worst(const struct agreement *agreement);
int agreement_holds(const struct agreement *agreement);

#endif
