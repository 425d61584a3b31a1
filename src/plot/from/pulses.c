/* Sums of twice as many samples are made of two of half as many. */
#include "plot/from/pulses.h"

#include <math.h>
#include <stdlib.h>

static int pulses_compare(const void *left, const void *right)
{
    float a = *(const float *)left;
    float b = *(const float *)right;
    return (a > b) - (a < b);
}

struct noise_level pulses_noise(float *samples, uint64_t count)
{
    struct noise_level noise = {NAN, 0};
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (isfinite(samples[i])) {
            samples[kept++] = samples[i];
        }
    }
    if (kept > 0) {
        qsort(samples, (size_t)kept, sizeof *samples, pulses_compare);
        noise.median = (double)samples[kept / 2];
        for (uint64_t i = 0; i < kept; i++) {
            samples[i] = (float)fabs((double)samples[i] - noise.median);
        }
        qsort(samples, (size_t)kept, sizeof *samples, pulses_compare);
        noise.sigma = 1.4826 * (double)samples[kept / 2];
    }
    return noise;
}

void pulses_find(const float *samples, uint64_t have, uint64_t count, uint64_t first,
                 struct noise_level noise, float *out, struct pulse *best)
{
    for (uint64_t i = 0; i < count; i++) {
        double sum = 0;
        double most = NAN;
        uint64_t at = 0;
        for (uint64_t width = 1; width <= PULSE_MOST_WIDTH && i + width <= have; width *= 2) {
            for (; at < width; at++) {
                sum += (double)samples[i + at] - noise.median;
            }
            double snr = sum / (noise.sigma * sqrt((double)width));
            most = isnan(snr) ? most : fmax(most, snr);
            if (snr > best->snr) {
                *best = (struct pulse){snr, first + i, width};
            }
        }
        out[i] = (float)most;
    }
}
