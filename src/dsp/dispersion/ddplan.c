/* Where each doubling of the sampling time begins to cost no more than is tolerated. */
#include "dsp/dispersion/ddplan.h"

#include <math.h>
#include <stdlib.h>

struct widths {
    double a2, b2; /* squares of smearing within a channel, over the band, per DM */
    double sample, width;
    double tolerance2;
};

static double ddplan_square(const struct widths *w, double dm, double sample)
{
    return sample * sample + w->width * w->width + w->a2 * dm * dm;
}

/* A DM that a job file can give in few digits. */
static double ddplan_round(double dm)
{
    static const double per = 1e6;
    return round(per * dm) / per;
}

/* The least DM at which samples of `factor` as many widen a pulse by the tolerance alone:
 * (factor dt)^2 + W^2 + a^2 dm^2 = tolerance^2 (dt^2 + W^2 + a^2 dm^2). */
static double ddplan_begin(const struct widths *w, double factor)
{
    double fine = ddplan_square(w, 0, w->sample);
    double coarse = ddplan_square(w, 0, factor * w->sample);
    double square = (coarse - w->tolerance2 * fine) / ((w->tolerance2 - 1) * w->a2);
    return square > 0 ? ddplan_round(sqrt(square)) : 0;
}

static status_t ddplan_fill(const struct dispersion_spec *spec, const struct widths *w,
                            double tolerance, uint32_t most, struct ddplan_range *range)
{
    status_t st = STATUS_OK;
    struct dispersion_spec coarse = *spec;
    double *dms = NULL;
    double step = 0;
    coarse.sample_seconds = spec->sample_seconds * (double)range->downsample;
    TRY(dispersion_tolerant(&coarse, range->start, range->end, w->width, tolerance, most, &dms,
                            &range->count));
    if (range->count > 1) {
        range->first_step = dms[1] - dms[0];
        range->last_step = step = dms[range->count - 1] - dms[range->count - 2];
    }
    double last = range->end;
    double own = ddplan_square(w, last, coarse.sample_seconds);
    double worst = own + w->b2 * step * step / 4;
    range->smear = sqrt(w->a2) * last;
    range->width = sqrt(own);
    /* S/N goes with the root of the width that a pulse should have over the one it has. */
    double at_end = 1 - pow(ddplan_square(w, last, spec->sample_seconds) / worst, 0.25);
    double first = range->start;
    double begin = ddplan_square(w, first, coarse.sample_seconds) +
                   w->b2 * range->first_step * range->first_step / 4;
    double at_start = 1 - pow(ddplan_square(w, first, spec->sample_seconds) / begin, 0.25);
    range->loss = fmax(at_start, at_end);
out:
    free(dms);
    return st;
}

status_t ddplan_make(const struct dispersion_spec *spec, double start, double end,
                     double width_seconds, double tolerance, uint32_t most,
                     struct ddplan_range out[DDPLAN_RANGES], uint32_t *count)
{
    status_t st = STATUS_OK;
    struct widths w = {.sample = spec->sample_seconds,
                       .width = width_seconds,
                       .tolerance2 = tolerance * tolerance};
    uint32_t n = 0;
    TRY(dispersion_smearing(spec, &w.a2, &w.b2));
    for (uint64_t factor = 1; n < DDPLAN_RANGES; factor *= 2) {
        double begin = fmax(start, factor == 1 ? 0 : ddplan_begin(&w, (double)factor));
        double next = n + 1 == DDPLAN_RANGES ? end : ddplan_begin(&w, 2 * (double)factor);
        if (begin >= end && n > 0) {
            break;
        }
        if (next > begin || begin >= end) {
            out[n] =
                (struct ddplan_range){.start = begin, .end = fmin(next, end), .downsample = factor};
            out[n].end = fmax(out[n].end, begin);
            TRY(ddplan_fill(spec, &w, tolerance, most, &out[n]));
            n++;
        }
        if (next >= end) {
            break;
        }
    }
    *count = n;
out:
    return st;
}
