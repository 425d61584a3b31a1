/* Spectral kurtosis: tests whether powers of a channel are those of Gaussian noise.
 *
 * Of M independent powers x_i with S1 = sum x_i, S2 = sum x_i^2:
 *
 *   K = (M + 1) / (M - 1) (M S2 / S1^2 - 1)
 *
 * whose expectation is 1 for noise of any strength, about 0 for a steady tone, and above 1 for what
 * is on for less than half of the time. Nita and Gary 2010, The generalized spectral kurtosis
 * estimator, MNRAS 406 L60, eqs. 8 to 10, with N = d = 1.
 *
 * K of noise is skewed, so limits at the same distance from 1 would not be equally likely. They are
 * those of the Pearson distribution that has the exact mean, variance, skewness and kurtosis of K
 * (type VI, of larger M type IV), as there. */
#ifndef VOLTMILL_DSP_KURTOSIS_H
#define VOLTMILL_DSP_KURTOSIS_H

#include <math.h>
#include <stdint.h>

/* Returns K from `power`, the sum of `count` >= 2 powers |Y|^2, and `squares`, the sum of their
 * squares |Y|^4. NaN if they do not suffice: no power, or sums beyond the range in which 32-bit
 * floats have all digits. */
static inline float kurtosis_of(uint64_t count, float power, float squares)
{
    const double least_square = 1e-34; /* below it a mean of |Y|^4 is of numbers that lost digits */
    double m = (double)count;
    double s1 = (double)power;
    double s2 = (double)squares;
    int is_known = isfinite(s1) & isfinite(s2) & (s1 > 0) & (s2 / m >= least_square);
    float value = (float)((m + 1) / (m - 1) * (m * s2 / (s1 * s1) - 1));
    return is_known ? value : NAN;
}

/* Computes the central moments of K of `count` >= 2 powers of noise, which has the mean 1:
 * moments[0] is the variance, then the third and the fourth. */
void kurtosis_moments(uint64_t count, double moments[3]);

/* Limits of K. */
struct kurtosis_limits {
    float low, high;
};
/* Returns the limits beyond which K of `count` >= 8 powers of noise is, on either side, as rarely
 * as a Gaussian deviate beyond `sigma` standard deviations on that side. 0 < sigma <= 6. Rounded to
 * floats, so that the last bits of a machine's functions decide nothing. */
struct kurtosis_limits kurtosis_limits(uint64_t count, double sigma);

#endif
