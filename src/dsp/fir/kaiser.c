/* I0 by its series, and two fits. */
#include "dsp/fir/kaiser.h"

#include <float.h>
#include <math.h>

/* By its power series: all terms are positive, so nothing cancels. */
double kaiser_i0(double x)
{
    double quarter = x * x / 4;
    double term = 1;
    double sum = 1;
    for (int k = 1; term > sum * (DBL_EPSILON / 4); k++) {
        term *= quarter / ((double)k * k);
        sum += term;
    }
    return sum;
}

double kaiser_beta(double decibels)
{
    if (decibels > 50) {
        return 0.1102 * (decibels - 8.7);
    }
    return decibels > 21 ? 0.5842 * pow(decibels - 21, 0.4) + 0.07886 * (decibels - 21) : 0;
}

double kaiser_taps(double decibels, double width)
{
    return (decibels - 7.95) / (2.285 * 2 * M_PI * width) + 1;
}

double kaiser_attenuation(double taps, double width)
{
    return (taps - 1) * (2.285 * 2 * M_PI * width) + 7.95;
}
