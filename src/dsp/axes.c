/* The arithmetic of time and frequency axes. */
#include "dsp/axes.h"

#include <math.h>

struct time_axis axes_time(double sample_rate_hz, uint64_t first_sample,
                           uint64_t samples_per_spectrum, uint32_t taps, uint64_t hop,
                           uint64_t integrate)
{
    double period = (double)hop;
    double window_centre = ((double)taps * (double)samples_per_spectrum - 1) / 2;
    double dump_centre = (double)(integrate - 1) / 2 * period;
    struct time_axis axis;
    axis.first = ((double)first_sample + window_centre + dump_centre) / sample_rate_hz;
    axis.step = (double)integrate * period / sample_rate_hz;
    return axis;
}

double axes_leading_edge(struct time_axis axis)
{
    return axis.first - axis.step / 2;
}

double axes_channel_hz(double centre_hz, double sample_rate_hz, int is_complex, int sideband,
                       enum channel_order order, uint32_t channels, uint32_t k)
{
    double c = channels;
    double bin = k;
    if (!is_complex) {
        double width = sample_rate_hz / (2 * c);
        return sideband < 0 && order == ORDER_FFT ? centre_hz + sample_rate_hz / 4 - bin * width
                                                  : centre_hz - sample_rate_hz / 4 + bin * width;
    }
    if (order == ORDER_ASCENDING) {
        bin -= c / 2;
    } else if (k >= channels / 2) {
        bin -= c;
    }
    return centre_hz + bin * (sample_rate_hz / c);
}

/* Products and sums of two doubles as the sum of two doubles, which is exact. */

/* Returns the largest difference between a double and the number that was rounded to it. */
static double sample_time_rounding(double value)
{
    double size = fabs(value);
    return (nextafter(size, INFINITY) - size) / 2;
}

/* (high + low) * rate. A product of two doubles is the sum of two, which fma() finds. */
static struct sample_time sample_time_make(double high, double low, double rate, double rounding)
{
    const double most = 0x1p62;
    double product = high * rate;
    if (!(fabs(product) < most)) {
        return (struct sample_time){.whole = (int64_t)(product > 0 ? most : -most)};
    }
    double whole = rint(product);
    double rest = (product - whole) + (fma(high, rate, -product) + low * rate);
    double more = rint(rest);
    return (struct sample_time){.whole = (int64_t)whole + (int64_t)more,
                                .over = rest - more,
                                .doubt = rounding * rate + sample_time_rounding(product)};
}

struct sample_time sample_time_of(double seconds, double rate)
{
    return sample_time_make(seconds, 0, rate, sample_time_rounding(seconds));
}

/* Adds exactly (Knuth): *high + *low = a + b. */
static void sample_time_sum(double a, double b, double *high, double *low)
{
    double sum = a + b;
    double part = sum - a;
    *low = (a - (sum - part)) + (b - part);
    *high = sum;
}

struct sample_time sample_time_between(struct utc from, struct utc to, double rate)
{
    double high;
    double low;
    double lower;
    double days = ((double)to.mjd_day - from.mjd_day) * 86400 +
                  (leap_seconds_before(to.mjd_day) - leap_seconds_before(from.mjd_day));
    sample_time_sum(to.second, -from.second, &high, &low);
    sample_time_sum(days, high, &high, &lower);
    double rounding = sample_time_rounding(to.second) + sample_time_rounding(from.second);
    return sample_time_make(high, low + lower, rate, rounding);
}

uint64_t sample_time_next(struct sample_time time)
{
    int64_t next = time.whole + (time.over > time.doubt);
    return next > 0 ? (uint64_t)next : 0;
}
