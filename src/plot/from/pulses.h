/* Pulses in one dedispersed series: sums of 1, 2, 4, ... neighbouring samples, beside the noise of
 * such sums. Pure; series come in pieces. */
#ifndef VOLTMILL_PLOT_FROM_PULSES_H
#define VOLTMILL_PLOT_FROM_PULSES_H

#include "base/status.h"

#include <stdint.h>

/* Widths are 2^0 .. 2^(PULSE_WIDTHS - 1) samples. */
enum { PULSE_WIDTHS = 9, PULSE_MOST_WIDTH = 1 << (PULSE_WIDTHS - 1) };

/* What a series is without pulses: median, and 1.4826 times the median of distances from it. */
struct noise_level {
    double median, sigma;
};

/* Of some samples, which come back in another order; NaN are left out. sigma is 0 when all are
 * alike. */
struct noise_level pulses_noise(float *samples, uint64_t count);

struct pulse {
    double snr;     /* (sum - width median) / (sigma sqrt(width)) */
    uint64_t first; /* sample of the series */
    uint64_t width; /* samples */
};

/* The best sum that begins with each of `count` samples: out [count]; NaN where there is none. At
 * most `have` samples (>= count) are looked at. *best is replaced when a better one is found; it
 * begins with an snr of -INFINITY. `first`: the number of samples[0]. */
void pulses_find(const float *samples, uint64_t have, uint64_t count, uint64_t first,
                 struct noise_level noise, float *out, struct pulse *best);

#endif
