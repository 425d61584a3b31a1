/* Roots of unity without the machine's library: the same bits everywhere, and loops of them become
 * vectors. */
#ifndef VOLTMILL_DSP_PHASOR_H
#define VOLTMILL_DSP_PHASOR_H

#include <math.h>

/* Returns the nearest whole number for |value| < 2^51, else a near one. */
static inline double phasor_whole(double value)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52 */
    return (value + shift) - shift;
}

/* Computes out[0] = cos and out[1] = sin of 2 pi turns, |turns| <= 0.6, to 2e-16: by symmetry for
 * quarters of a turn, and Taylor series for the rest. */
static inline void phasor(double turns, double out[2])
{
    const double turn = 6.28318530717958647692;
    const double quarter = phasor_whole(4 * turns);
    const double x = turn * (turns - 0.25 * quarter);
    const double y = x * x;
    double s = -1 / 1307674368000.0;
    s = s * y + 1 / 6227020800.0;
    s = s * y - 1 / 39916800.0;
    s = s * y + 1 / 362880.0;
    s = s * y - 1 / 5040.0;
    s = s * y + 1 / 120.0;
    s = s * y - 1 / 6.0;
    s = x + x * (y * s);
    double c = 1 / 20922789888000.0;
    c = c * y - 1 / 87178291200.0;
    c = c * y + 1 / 479001600.0;
    c = c * y - 1 / 3628800.0;
    c = c * y + 1 / 40320.0;
    c = c * y - 1 / 720.0;
    c = c * y + 1 / 24.0;
    c = c * y - 0.5;
    c = 1 + y * c;
    const double even = 1 - fabs(quarter); /* 1, 0 or -1 */
    const double odd = quarter * (1 - fabs(even));
    out[0] = even * c - odd * s;
    out[1] = even * s + odd * c;
}

#endif
