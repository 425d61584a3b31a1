/* Response of the prototype filter to a tone, in numbers that `voltmill plan` prints.
 *
 * All follow from |H(f)|, H(f) = sum_j b[j] exp(-2 pi i f j / P), f in units of the channel spacing
 * (f = 0: centre of the channel). In decibels they are infinite where |H| is zero but for rounding,
 * or the band ends before the frequencies that are meant. */
#ifndef VOLTMILL_DSP_FIR_FILTER_REPORT_H
#define VOLTMILL_DSP_FIR_FILTER_REPORT_H

#include "base/status.h"

#include <stdint.h>

struct filter_report {
    double ripple_db;     /* largest minus smallest |H|^2 for |f| <= 0.25 */
    double width_3db;     /* full width at -3 dB (of |H(0)|), channels; P: it is nowhere below */
    double width_6db;     /* full width at -6 dB, channels; P as above */
    double scalloping_db; /* loss at the border between two channels, f = 0.5: 20 log10 |H(0) /
                             H(0.5)| */
    double adjacent_db;   /* rejection of a tone at the centre of the next channel: 20 log10 |H(0) /
                             H(1)| */
    double beyond_db; /* least rejection anywhere from f = 1.5 on (up to the far end): from H(0) to
                         the largest |H(f)|, 1.5 <= f <= P / 2 */
    double noise_width; /* equivalent noise bandwidth: P * sum b^2 / (sum b)^2, channels */
};

/* Measures the response of a prototype, `coeff` double [taps][samples_per_spectrum], without the
 * folded shift. Fails with USAGE when H(0) is not above 0 beyond rounding (a filter without gain at
 * the centre), or DEVICE (memory), and leaves *out unchanged. */
status_t filter_report_make(const double *coeff, uint32_t taps, uint32_t samples_per_spectrum,
                            struct filter_report *out);

/* Response of an oversampled bank, whose channels come `rate` times as often as they are apart, in
 * the part of each channel that is kept, |f| <= 0.5. */
struct filter_report_oversampled {
    double ripple_db; /* largest minus smallest |H|^2 there */
    double alias_db;  /* least rejection of what folds into it, all from f = rate - 0.5 on */
};
/* Measures the response of an oversampled bank, `coeff` double [taps][samples_per_spectrum] without
 * the folded shift. `rate`, num / den: how many times as often spectra come as channels are apart.
 * Fails with USAGE when H(0) is not above 0 beyond rounding; with DEVICE (memory), and leaves *out
 * unchanged. */
status_t filter_report_oversampled(const double *coeff, uint32_t taps,
                                   uint32_t samples_per_spectrum, double rate,
                                   struct filter_report_oversampled *out);

/* Measures alias_db of an oversampled bank alone (struct filter_report_oversampled), which takes
 * less time: the least rejection, in dB, of what folds into the kept part of a channel; infinite if
 * the band ends before what folds. Arguments as for filter_report_oversampled(). Fails with USAGE
 * when H(0) is not above 0 beyond rounding; with DEVICE (memory). *alias_db is unchanged then. */
status_t filter_report_aliasing(const double *coeff, uint32_t taps, uint32_t samples_per_spectrum,
                                double rate, double *alias_db);

/* Returns |H(f)|, a gain of voltage that is not relative to |H(0)|, at any one f (channel
 * spacings), by the plain sum, for tests and for exact values. `coeff` is double
 * [taps][samples_per_spectrum]. */
double filter_response(const double *coeff, uint32_t taps, uint32_t samples_per_spectrum, double f);

#endif
