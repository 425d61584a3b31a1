/* Which sample an impulse is follows from its number alone. */
#include "synth/source/impulse.h"

#include "dsp/noise.h"

#include <math.h>

void impulse_add(const struct synth_spec *spec, uint32_t number, uint64_t first, uint64_t count,
                 float *out)
{
    const struct synth_impulses *impulses = &spec->impulses[number];
    const double period = impulses->period_s * spec->sample_rate_hz;
    const uint64_t parts = spec->is_complex ? 2 : 1;
    /* From a period before, as the quotient is rounded. */
    double k = floor((double)first / period - impulses->phase) - 1;
    for (; (k + impulses->phase) * period < (double)(first + count); k++) {
        double turns = k + impulses->phase;
        if (impulses->is_random) {
            uint64_t word;
            noise_words(spec->seed + 1 + number, (uint64_t)(int64_t)k, 1, &word);
            turns += (double)word * 0x1p-64;
        }
        const double at = ceil(turns * period);
        if (at >= (double)first && at < (double)(first + count)) {
            out[((uint64_t)at - first) * parts] += (float)impulses->amplitude;
        }
    }
}
