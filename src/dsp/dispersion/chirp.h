/* The chirp of dispersion within a coarse channel: what coherent dedispersion multiplies onto the
 * spectrum of voltages, and its inverse.
 *
 * With v the sky frequency in Hz, D the dispersion constant in s MHz^2 pc^-1 cm^3 and r the
 * reference frequency, dedispersion multiplies the component at v by
 *
 *   exp(-2 pi i s 1e12 D DM v (1 / r - 1 / v)^2),   v = f0 + s f,
 *
 * f0 the coarse channel's centre (of complex samples; of real ones f counts from the centre of 0 ..
 * half the rate), s the sideband, +1 once samples are conjugated. A component at v then comes 1e12
 * D DM (1 / v^2 - 1 / r^2) seconds earlier. Hankins and Rickett 1975. */
#ifndef VOLTMILL_DSP_DISPERSION_CHIRP_H
#define VOLTMILL_DSP_DISPERSION_CHIRP_H

#include "base/status.h"

#include <stdint.h>

struct chirp {
    double dm, constant; /* constant 0: dispersion_default_constant (dsp/dispersion/dispersion.h) */
    double centre_hz;    /* of the coarse channel */
    double reference_hz; /* r */
    double sample_rate_hz; /* of one stream */
    int is_complex;
    int sideband;   /* +1 or -1 as samples are when they are multiplied */
    int is_inverse; /* disperses instead */
    double edge_hz; /* largest width at each of the band's edges in which the response may be wrong
                       by more than 1 %; 0: as chirp_guard() has it */
    int64_t shift;  /* samples of its delay that are omitted here, because samples are taken that
                       much later instead (struct filter_spec): chirp_shift() */
};

/* Checks a chirp; all functions below assume one that has passed. Fails with USAGE, giving the
 * numbers: a band that reaches 0 Hz; a reference, DM, constant or rate out of range; delays of more
 * than 2^52 samples. */
status_t chirp_check(const struct chirp *chirp);

/* Computes the minimum and maximum delay over the band's edges, in samples, before `shift` is
 * subtracted. Row m is made of samples m + least .. m + most. Dedispersion's delays are positive
 * where the band is below the reference; the inverse's have the opposite sign. */
void chirp_delays(const struct chirp *chirp, double *least, double *most);

/* Returns the delay at the channel's centre, in samples, to the nearest one: the best value of
 * `shift`. 0 where the centre is the reference. Negative above the reference, or below it if the
 * chirp is an inverse. */
int64_t chirp_shift(const struct chirp *chirp);

/* Returns the guard: samples before and after the delays in which chirp_response() lets the ringing
 * of the band's sharp edges decay. It is the fewest that keep chirp->edge_hz, at most
 * CHIRP_MOST_TAPS; with edge_hz 0 it is 4 sqrt(span), rounded up, at least 384. `span`: the maximum
 * less the minimum delay (chirp_delays()), in samples. */
uint64_t chirp_guard(const struct chirp *chirp, double span);

/* Returns the width in Hz at each of the band's edges in which a response with a guard of `guard`
 * samples, above 0, may be wrong by more than 1 %: 3.3 rate / guard. The jump at the edge is at
 * most 2, and its spectrum, less the part within the guard on both sides, falls to 0.01 there. */
double chirp_edge_hz(double sample_rate_hz, double guard);

enum { CHIRP_MOST_TAPS = 1 << 26 };

/* Computes *taps = T and *first of struct filter_spec, guard included: a row is made of T samples
 * from *first on, counted from its own. `least`, `most`: bounds of the delays minus the shifts over
 * all streams, in samples (chirp_delays()). Rate and `edge_hz` of all streams are those of `chirp`.
 * Fails with USAGE if T is above CHIRP_MOST_TAPS, and leaves both outputs unchanged. */
status_t chirp_reach(const struct chirp *chirp, double least, double most, int64_t *first,
                     uint32_t *taps);

/* Computes the response at the `length` frequencies of an FFT (compute/filter.h:
 * filter_response_t): out [length][2] (re, im), length a power of two, at least the T of
 * chirp_reach() and at most 2^31. `roots` are those of chirp_roots_create(). Works with up to 8
 * threads (pool_each()). For real samples out[length - k] is the conjugate of out[k], and 0 Hz and
 * half the rate are real.
 *
 * It is the exact chirp (chirp_exact()) but for this: that jumps where the band's edges meet, so it
 * rings on as 1 / (2 pi k) k samples away from either end of the delays, for ever. Here all within
 * the delays is kept and the rest fades to 0 over the guard, so that the filter has T taps. What
 * that takes away are components within 3.3 rate / guard of the band's edges (chirp_edge_hz()): of
 * white noise up to the very edges rms 1.6 % of the signal (span 2,740, guard 384), 2e-4 of its
 * power; noise that itself fades out over the outer tenth of the band comes back to 2e-7 (complex:
 * 1e-9), and there any length gives it the same response to 1e-7; a pulse of one sample comes back
 * with 0.999 of its amplitude, of which no other sample has more than 4e-3
 * (tests/unit/test_chirp.c). */
void chirp_response(const struct chirp *chirp, double (*roots)[2], uint32_t length,
                    double (*out)[2]);

/* Allocates the roots of unity that all responses share: *out is [CHIRP_ROOTS][2] (re, im), in the
 * order of dsp/chirp_kernels.h. free() returns it. Fails with DEVICE (memory), and leaves *out
 * unchanged. */
status_t chirp_roots_create(double (**out)[2]);

/* Computes the exact chirp at frequencies first .. first + count - 1 of an FFT of any length, in
 * its order (the upper half negative), into out [count][2] (re, im): the factor defined in the
 * heading, less the delay of `shift` samples, correct to 1e-11 turns at any DM. first + count is at
 * most `length`. Bit-identical on every machine and for any cut. Of real samples number length - k
 * is the conjugate of number k, and 0 Hz and half the rate are 1 or -1: its modulus is 1
 * everywhere, and the inverse undoes it. */
void chirp_exact(const struct chirp *chirp, uint32_t length, uint32_t first, uint32_t count,
                 double (*restrict out)[2]);

#endif
