/* Corrects the ripple and roll-off of a telescope's own filter bank within its coarse channels by a
 * FIR filter on the samples of each.
 *
 * With b the bank's prototype of N points a channel and f in units of the channel spacing,
 *
 *   H(f) = sum_j b[j] exp(-2 pi i f j / N),   R(f) = |H(0)| / |H(f)|   for |f| <= 1/2,
 *
 * the part of a channel that is kept. Oversampled channels are num / den of the spacing wide, with
 * edges at |f| = num / den / 2. Towards these R returns to 1, along erfc: the part that is not kept
 * is unchanged, and the filter is short. Prototypes are symmetric, so their phase is a pure delay,
 * which the archive's times contain: R has none.
 *
 * The filter is R's impulse response, real and symmetric. It is cut where at most 1e-10 of its
 * energy is omitted, at the latest 8,192 samples to either side. R of critically sampled channels
 * has an edge at +-1/2, so its response is long. Morrison et al. 2020, Performance of oversampled
 * polyphase filterbank inversion via Fourier transform. */
#ifndef VOLTMILL_DSP_DERIPPLE_H
#define VOLTMILL_DSP_DERIPPLE_H

#include "base/status.h"
#include "base/terms.h"

struct deripple {
    uint32_t reach;   /* samples to either side: 2 reach + 1 coefficients */
    double *half;     /* [reach + 1]: that in the middle first; free() */
    double ripple_db; /* the most that |H| is off |H(0)| in the kept part, in dB, >= 0 */
    double left_db;   /* power of the omitted part of the response, relative to all of it */
};

/* Designs the filter that corrects a prototype of `count` coefficients, `points` a tap. free()
 * returns out->half. `ratio`: the channels' width over their spacing, >= 1; 1/1: critically
 * sampled. `who` begins messages. Fails with USAGE if `points` is 0, or count / points is not 1 ..
 * 1024. Fails with USAGE also if the prototype has no gain at the centre, or less than a tenth of
 * it (-20 dB) somewhere in the kept part, as with a wrong number of points. Fails with DEVICE
 * (memory). A failure leaves *out unchanged. */
status_t deripple_make(const char *who, const double *coeff, uint64_t count, uint32_t points,
                       struct ratio ratio, struct deripple *out);

/* Writes the filter's coefficients: out [2 reach + 1], symmetric, the middle one at out[reach]. */
void deripple_coefficients(const struct deripple *deripple, double *out);

/* Returns the filter's response at frequency `turns`, in cycles per sample: a real gain of voltage,
 * 1 where nothing is corrected. */
double deripple_response(const struct deripple *deripple, double turns);

#endif
