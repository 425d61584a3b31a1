/* Where each doubling of the sampling time begins to cost no more than is tolerated. */
#include "dsp/dispersion/ddplan.h"

#include <math.h>
#include <stdlib.h>

/* The S/N that a search for bursts finds: of a burst that channels, samples, rounded delays and the
 * DM it is searched at make longer.
 *
 * A burst's profile on a fine grid, and the best of all boxes on it. */

struct burst {
    double dm;     /* pc cm^-3 */
    double trial;  /* the DM that it is searched at */
    double sample; /* of the series, seconds */
    double width;  /* of the burst before it is dispersed, a box, seconds; 0: short */
};

enum {
    BINS = 512,     /* of the whole profile: S/N is right to 0.5 % */
    CHANNELS = 256, /* at most; of more, evenly spaced ones stand for all */
    BOXES = 3
};

struct profile {
    double first, bin;       /* seconds: its beginning, a bin's width */
    double energy[BINS];     /* sums to 1 */
    double before[BINS + 1]; /* energy in all bins before */
};

/* Delay at frequency f per DM, seconds, and the smearing within a channel. */
static double burst_delay(const struct dispersion_spec *band, double hertz)
{
    double mhz = 1e-6 * hertz;
    return dispersion_constant_of(band->constant) / (mhz * mhz);
}

static void burst_add_up(struct profile *profile)
{
    profile->before[0] = 0;
    for (int i = 0; i < BINS; i++) {
        profile->before[i + 1] = profile->before[i] + profile->energy[i];
    }
}

/* Returns the energy before a place in bins, interpolated linearly. */
static double burst_before(const struct profile *profile, double at)
{
    double clipped = fmin(fmax(at, 0), BINS);
    int whole = (int)fmin(clipped, BINS - 1);
    return profile->before[whole] + (clipped - whole) * profile->energy[whole];
}

/* Convolves the profile with a box. */
static void burst_smooth(struct profile *profile, double seconds)
{
    double bins = seconds / profile->bin;
    if (bins < 1e-3) {
        return;
    }
    burst_add_up(profile);
    double smooth[BINS];
    for (int i = 0; i < BINS; i++) {
        double centre = i + 0.5;
        smooth[i] =
            (burst_before(profile, centre + bins / 2) - burst_before(profile, centre - bins / 2)) /
            bins;
    }
    for (int i = 0; i < BINS; i++) {
        profile->energy[i] = smooth[i];
    }
}

/* Adds a box of this energy. */
static void burst_add(struct profile *profile, double centre, double seconds, double energy)
{
    double width = fmax(seconds / profile->bin, 1e-3);
    double from = (centre - profile->first) / profile->bin - width / 2;
    for (int i = (int)fmax(from, 0); i < BINS && i < from + width; i++) {
        double share = fmin(i + 1, from + width) - fmax(i, from);
        profile->energy[i] += energy * share / width;
    }
}

static double burst_best(struct profile *profile)
{
    double best = 0;
    burst_add_up(profile);
    for (int width = 1; width <= BINS; width++) {
        double most = 0;
        for (int i = 0; i + width <= BINS; i++) {
            most = fmax(most, profile->before[i + width] - profile->before[i]);
        }
        best = fmax(best, most / sqrt(width * profile->bin));
    }
    return best;
}

/* S/N of the box that suits the burst best, wherever it begins and however long it is, for an
 * energy of 1 in noise of variance 1 a second. The series' sum over the channels of a burst is of
 * boxes, one after the other: `width`; within each channel what its dispersion smears; the delay of
 * each channel that the trial DM leaves; `sample`; the rounding of delays to samples. `band` is of
 * which only frequencies and the constant count: two frequencies or more, all above 0. */
static double burst_snr(const struct dispersion_spec *band, const struct burst *burst)
{
    const uint32_t n = band->nchannels;
    const uint32_t count = n < CHANNELS ? n : CHANNELS;
    const double left = burst->dm - burst->trial;
    struct profile profile = {.first = INFINITY};
    double end = -INFINITY;
    double top = 0;
    double bottom = INFINITY;
    for (uint32_t c = 0; c < n; c++) {
        top = fmax(top, band->freq_hz[c]);
        bottom = fmin(bottom, band->freq_hz[c]);
    }
    double channel = (top - bottom) / (n - 1);
    double across = burst_delay(band, bottom) - burst_delay(band, top);
    const double boxes[BOXES] = {burst->width, burst->sample,
                                 fmin(burst->sample, burst->trial * across)};
    for (uint32_t i = 0; i < count; i++) {
        double hertz = band->freq_hz[(uint64_t)i * (n - 1) / (count - 1)];
        double at = left * burst_delay(band, hertz);
        double half = burst->dm * burst_delay(band, hertz) * channel / hertz;
        profile.first = fmin(profile.first, at - half);
        end = fmax(end, at + half);
    }
    for (int i = 0; i < BOXES; i++) {
        profile.first -= boxes[i] / 2;
        end += boxes[i] / 2;
    }
    profile.bin = (end - profile.first) / BINS;
    for (uint32_t i = 0; i < count; i++) {
        double hertz = band->freq_hz[(uint64_t)i * (n - 1) / (count - 1)];
        double delay = burst_delay(band, hertz);
        burst_add(&profile, left * delay, 2 * burst->dm * delay * channel / hertz, 1.0 / count);
    }
    for (int i = 0; i < BOXES; i++) {
        burst_smooth(&profile, boxes[i]);
    }
    return burst_best(&profile);
}

struct widths {
    double a2; /* square of smearing within a channel, per DM */
    double sample, width;
    double tolerance2;
};

static double ddplan_square(const struct widths *w, double dm, double sample)
{
    return sample * sample + w->width * w->width + w->a2 * dm * dm;
}

/* Rounds a DM, so that a job file can state it in few digits. */
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
    struct dispersion_spec coarse = *spec;
    SCOPED(free_at) double *dms = NULL;
    coarse.sample_seconds = spec->sample_seconds * (double)range->downsample;
    TRY(dispersion_tolerant(&coarse, range->start, range->end, w->width, tolerance, most, &dms,
                            &range->count));
    if (range->count > 1) {
        range->first_step = dms[1] - dms[0];
        range->last_step = dms[range->count - 1] - dms[range->count - 2];
    }
    range->smear = sqrt(w->a2) * range->end;
    range->width = sqrt(ddplan_square(w, range->end, coarse.sample_seconds));
    return STATUS_OK;
}

status_t ddplan_make(const struct dispersion_spec *spec, double start, double end,
                     double width_seconds, double tolerance, uint32_t most,
                     struct ddplan_range out[DDPLAN_RANGES], uint32_t *count)
{
    struct widths w = {.sample = spec->sample_seconds,
                       .width = width_seconds,
                       .tolerance2 = tolerance * tolerance};
    double band = 0;
    uint32_t n = 0;
    REQUIRE(tolerance > 1, STATUS_USAGE, "dedispersion: a tolerance of %g, expected more than 1",
            tolerance);
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
    return STATUS_OK;
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
    struct dispersion_spec coarse = *spec;
    SCOPED(free_at) double *dms = NULL;
    uint32_t count = 0;
    coarse.sample_seconds = spec->sample_seconds * (double)range->downsample;
    TRY(dispersion_tolerant(&coarse, range->start, range->end, width_seconds, tolerance,
                            range->count, &dms, &count));
    *out = ddplan_loss_of(spec, width_seconds, dms, range);
    return STATUS_OK;
}
