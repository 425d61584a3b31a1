/* Kaiser's window and his formulas for the filters that it makes.
 * Kaiser 1974, Nonrecursive digital filter design using the I0-sinh window function. */
#ifndef VOLTMILL_DSP_FIR_KAISER_H
#define VOLTMILL_DSP_FIR_KAISER_H

/* The modified Bessel function of order zero, 0 <= x <= KAISER_BETA_LIMIT. */
double kaiser_i0(double x);

/* The largest beta for which I0(beta) and its series stay well inside a double. */
#define KAISER_BETA_LIMIT 700.0

/* The window's beta for a filter whose gain shall be off by `decibels` (> 0: 60 is 0.001) at most,
 * and the number of its coefficients, not rounded, for transitions as wide as `width` of the sample
 * rate. */
double kaiser_beta(double decibels);
double kaiser_taps(double decibels, double width);
/* The decibels that so many reach. */
double kaiser_attenuation(double taps, double width);

#endif
