/* Where each doubling of the sampling time begins to cost no more than is tolerated. */
#include "dsp/dispersion/ddplan.h"

#include "dsp/dispersion/burst_snr.h"

#include <math.h>
#include <stdlib.h>

struct widths {
    double a2; /* square of smearing within a channel, per DM */
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
    coarse.sample_seconds = spec->sample_seconds * (double)range->downsample;
    TRY(dispersion_tolerant(&coarse, range->start, range->end, w->width, tolerance, most, &dms,
                            &range->count));
    if (range->count > 1) {
        range->first_step = dms[1] - dms[0];
        range->last_step = dms[range->count - 1] - dms[range->count - 2];
    }
    range->smear = sqrt(w->a2) * range->end;
    range->width = sqrt(ddplan_square(w, range->end, coarse.sample_seconds));
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
    double band = 0;
    uint32_t n = 0;
    TRY(dispersion_smearing(spec, &w.a2, &band));
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

/* Computes the loss of S/N of a burst half-way between DM number i of a range and the next. */
static double ddplan_loss_at(const struct dispersion_spec *spec, double width, const double *dms,
                             const struct ddplan_range *range, uint32_t i)
{
    double next = range->count > 1 ? dms[i + 1] : dms[i];
    const struct burst found = {.dm = (dms[i] + next) / 2,
                                .trial = dms[i],
                                .sample = spec->sample_seconds * (double)range->downsample,
                                .width = width};
    const struct burst best = {
        .dm = found.dm, .trial = found.dm, .sample = spec->sample_seconds, .width = width};
    return 1 - burst_snr(spec, &found) / burst_snr(spec, &best);
}

/* The largest of some: of the first DMs, whose delays are the first that are rounded, and of some
 * up to the last. */
static double ddplan_loss_of(const struct dispersion_spec *spec, double width, const double *dms,
                             const struct ddplan_range *range)
{
    enum { FIRST = 4, MORE = 8 };
    uint32_t steps = range->count > 1 ? range->count - 1 : 1;
    double loss = 0;
    for (uint32_t i = 0; i < FIRST && i < steps; i++) {
        loss = fmax(loss, ddplan_loss_at(spec, width, dms, range, i));
    }
    for (uint64_t i = 1; i <= MORE && steps > FIRST; i++) {
        uint32_t at = (uint32_t)(i * (steps - 1) / MORE);
        loss = fmax(loss, ddplan_loss_at(spec, width, dms, range, at));
    }
    return loss;
}

status_t ddplan_loss(const struct dispersion_spec *spec, double width_seconds, double tolerance,
                     const struct ddplan_range *range, double *out)
{
    status_t st = STATUS_OK;
    struct dispersion_spec coarse = *spec;
    double *dms = NULL;
    uint32_t count = 0;
    coarse.sample_seconds = spec->sample_seconds * (double)range->downsample;
    TRY(dispersion_tolerant(&coarse, range->start, range->end, width_seconds, tolerance,
                            range->count, &dms, &count));
    *out = ddplan_loss_of(spec, width_seconds, dms, range);
out:
    free(dms);
    return st;
}
