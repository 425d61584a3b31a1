/* Stokes parameters of the two polarisations of an antenna.
 *
 * Spectra Y[m] = sum_n y[n] exp(-2 pi i n m / P) of samples whose frequency rises with m are
 * amplitudes of exp(+ i omega t). With x towards north, y towards east and the source seen from the
 * front (IAU 1973), the field of an amplitude pair (X, Y) is Re [(X, Y) exp(+ i omega t)], and a
 * wave is right-handed (IEEE 211: its electric vector turns from x to y) when Y lags by 90 degrees,
 * X Y* = +i. So
 *
 *   linear feeds     I = XX + YY   Q = XX - YY       U = 2 Re X Y*   V = 2 Im X Y*
 *   circular feeds   I = RR + LL   Q = 2 Re R L*     U = 2 Im R L*   V = RR - LL
 *
 * with R = (X + i Y) / sqrt 2, L = (X - i Y) / sqrt 2: V > 0 of a right-handed source (IAU; Hamaker
 * and Bregman 1996, A&AS 117, 161). Pulsar astronomy takes V with the other sign (van Straten et
 * al. 2010, PASA 27, 104). All are in the frame of the feeds: no parallactic angle, no calibration.
 */
#ifndef VOLTMILL_DSP_STOKES_H
#define VOLTMILL_DSP_STOKES_H

#include "base/terms.h"

#include <stddef.h>

/* V of a right-handed source of I = 1, as the IAU has it. */
#define STOKES_V_OF_RIGHT 1

/* Recognises two polarisations by their names (X and Y, MeerKAT's 0x and 0y, H and V: H counts as
 * X; R and L, RCP and LCP; in either order, upper or lower case), and sets all but the sign of V.
 * Returns 1; 0 if they are none of these, and leaves *out unchanged. */
int stokes_of_names(const char *a, const char *b, struct stokes *out)
    __attribute__((warn_unused_result));

/* Returns whether the polarisations are X and Y (else R and L). */
static inline int stokes_is_linear(const struct stokes *stokes)
{
    return stokes->feed == FEED_LINEAR;
}

/* Computes I, Q, U, V of `count` channels, in float: sums and differences of two numbers, and twice
 * one. The lines of `out` may be those of `sums`.
 *
 *   sums   |A|^2, |B|^2, Re A B*, Im A B*, each [count]; A and B in stokes_of_names()'s order
 *   out    I, Q, U, V, each [count] */
void stokes_iquv(const struct stokes *stokes, size_t count, const float *const sums[4],
                 float *const out[4]);

/* Computes the products of a source whose I is 2, from quv: Q, U and V of the IAU as shares of I.
 * XX = 1 + *difference, YY = 1 - *difference, X Y* = cross (re, im); of circular feeds those of R
 * and L. The order of the names and the sign of V in `stokes` are ignored. */
void stokes_products(const struct stokes *stokes, const double quv[3], double *difference,
                     double cross[2]);

#endif
