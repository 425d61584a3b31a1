/* Where a stretch begins and ends follows from its number alone, so that no cut moves it. */
#include "synth/gate.h"

#include <math.h>

/* The sample at or behind `at`, among from .. to. */
static uint64_t gate_sample(double at, uint64_t from, uint64_t to)
{
    const double sample = ceil(at);
    if (sample <= (double)from) {
        return from;
    }
    return sample >= (double)to ? to : (uint64_t)sample;
}

int gate_find(const struct synth_spec *spec, const struct synth_pulsed *pulsed, uint64_t from,
              uint64_t to, uint64_t *first, uint64_t *end)
{
    const double period = pulsed->period_s * spec->sample_rate_hz;
    if (period == 0) {
        *first = from;
        *end = to;
        return from < to;
    }
    /* From one stretch before, as the quotient is rounded. */
    double k = floor((double)from / period - pulsed->phase) - 1;
    for (; (k + pulsed->phase) * period < (double)to; k++) {
        *first = gate_sample((k + pulsed->phase) * period, from, to);
        *end = gate_sample((k + pulsed->phase + pulsed->duty) * period, from, to);
        if (*first < *end) {
            return 1;
        }
    }
    return 0;
}
