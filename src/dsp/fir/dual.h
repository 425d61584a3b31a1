/* The dual of a filter bank's prototype: the filter that makes a stream of the bank's spectra again
 * (compute/synthesise.h).
 *
 * Of C points, with spectra every D samples, prototype b[0 .. T C - 1] (oldest sample first) and
 *
 *   Y_s[m] = sum_i b[i] x[s D + i] exp(-2 pi i m (s D + i) / C),
 *
 * a synthesis by g gives x^[n] = C sum_k x[n + k C] sum_s g[n - s D] b[n + k C - s D], so that x^
 * is x where for each residue r = n mod D and each whole k
 *
 *   C sum_s g[r - s D] b[r + k C - s D] = (k == 0).
 *
 * These are D linear systems that have nothing in common. Each is solved for least squares of what
 * is left of its equations; among what does that as well, for the smallest g. A bank with D < C
 * whose prototype attenuates aliases has a dual of few taps; one with D = C, whose channels' edges
 * are ambiguous, only comes near. Wexler, Raz 1990, Discrete Gabor expansions; Crochiere, Rabiner
 * 1983, ch. 7. */
#ifndef VOLTMILL_DSP_FIR_DUAL_H
#define VOLTMILL_DSP_FIR_DUAL_H

#include "base/status.h"

#include <stdint.h>

/* The bank. */
struct dual_bank {
    const double *coeff; /* b: double [taps][points] */
    uint32_t points;     /* C: channels, or twice as many of real voltages */
    uint32_t taps;       /* T */
    uint32_t hop;        /* D, 1 .. C */
};

struct dual {
    uint32_t taps;   /* of g: [taps][points] */
    int64_t first;   /* g[i] is at first + i, in b's own numbers: (T - taps) C / 2, rounded up */
    double *coeff;   /* free() returns it */
    double error_db; /* of white noise: the power of x^ - x over that of x */
    double noise;    /* power of noise in x^ over that of x, if white noise is added to every
                        channel, as strong there as white voltages x */
};
SCOPED_CALLS(dual_free, struct dual, free(at->coeff))

/* Computes the dual of `taps` taps (at least 1); free() returns out->coeff. Fails with DEVICE
 * (memory); with USAGE if the prototype is zero or not finite, or there are too many equations to
 * solve: some 250 taps of both filters together. A failure leaves *out unchanged. */
status_t dual_create(const struct dual_bank *bank, uint32_t taps, struct dual *out);

/* Computes the dual of few taps whose error is at most `error_db` (negative): the fewest by an
 * estimate from some of the systems, more if these do not suffice. free() returns out->coeff. If
 * `most` taps (at least 1) do not suffice, computes the dual of `most` taps, which is no failure:
 * out->error_db reports it. Fails with DEVICE (memory); with USAGE as dual_create() (a prototype
 * that is zero or not finite, too many equations), and leaves *out unchanged. */
status_t dual_design(const struct dual_bank *bank, double error_db, uint32_t most,
                     struct dual *out);

/* Measures the synthesis filter dual->coeff, [taps][points] from dual->first on: sets `error_db`
 * (dB) and `noise`. Fails with DEVICE (memory); with USAGE if it does not overlap the prototype, or
 * as dual_create() (a prototype that is zero or not finite, too many equations). *dual is unchanged
 * then. */
status_t dual_measure(const struct dual_bank *bank, struct dual *dual);

#endif
