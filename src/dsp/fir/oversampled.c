/* Kaiser's formulas, in channels; and how far they are right. */
#include "dsp/fir/oversampled.h"

#include "base/memory.h"
#include "dsp/fir/filter_report.h"
#include "dsp/fir/kaiser.h"

#include <math.h>
#include <stdlib.h>

/* More is not in floats, and the window's flanks would be all of it. As much as `attenuation` asks.
 */
static const double most_decibels = 200;

/* Of the sample rate of a channel's own spacing: a tap is one sample of it. */
static double oversampled_transition(struct ratio ratio)
{
    return (double)(ratio.num - ratio.den) / ratio.den;
}

double oversampled_attenuation(struct ratio ratio, uint32_t taps)
{
    return fmin(kaiser_attenuation(taps + 1.0, oversampled_transition(ratio)), most_decibels);
}

double oversampled_beta(struct ratio ratio, uint32_t taps)
{
    return kaiser_beta(oversampled_attenuation(ratio, taps));
}

double oversampled_cutoff(struct ratio ratio)
{
    return (double)ratio.num / ratio.den;
}

/* What a filter of so many taps really does: with so few samples per spectrum it does what it does
 * with more. */
static status_t oversampled_measure(struct ratio ratio, uint32_t taps, double *decibels)
{
    status_t st = STATUS_OK;
    enum { SAMPLES = 32 };
    const struct prototype_spec spec = {.channels = SAMPLES,
                                        .taps = taps,
                                        .samples_per_spectrum = SAMPLES,
                                        .window = WINDOW_KAISER,
                                        .kaiser_beta = oversampled_beta(ratio, taps),
                                        .cutoff = oversampled_cutoff(ratio)};
    struct filter_report_oversampled report;
    double *coeff = NULL;
    TRY(prototype_create(&spec, &coeff));
    TRY(filter_report_oversampled(coeff, taps, SAMPLES, oversampled_cutoff(ratio), &report));
    *decibels = report.alias_db;
out:
    free(coeff);
    return st;
}

status_t oversampled_taps(struct ratio ratio, double decibels, uint32_t *out)
{
    status_t st = STATUS_OK;
    enum { MOST_MEASURED = 4096 };
    const double width = oversampled_transition(ratio);
    uint32_t taps = (uint32_t)fmax(1, ceil(kaiser_taps(decibels, width)) - 2);
    double reached = 0;
    while (taps < MOST_MEASURED && reached < decibels) {
        TRY(oversampled_measure(ratio, taps, &reached));
        taps += reached < decibels;
    }
    *out = taps;
out:
    return st;
}

uint32_t oversampled_channels(struct ratio ratio, uint32_t channels)
{
    uint64_t unit = ratio.num / gcd_u64(ratio.num, ratio.den);
    unit = unit % 2 ? 2 * unit : unit;
    uint64_t below = channels / unit * unit;
    uint64_t above = below + unit;
    return (uint32_t)(below > 0 && channels - below <= above - channels ? below : above);
}
