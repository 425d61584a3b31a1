#include "dsp/delays.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double delays_default_constant = 1 / 2.41e-4;

int delays_constant(const char *text, double *out)
{
    static const struct {
        const char *name;
        double value;
    } known[] = {{"tempo", 1 / 2.41e-4},
                 {"handbook", 4148.808},
                 {"sigproc", 4148.741601},
                 {"codata", 4148.8064239}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(text, known[i].name) == 0) {
            *out = known[i].value;
            return 1;
        }
    }
    return units_parse_f64(text, out) && isfinite(*out) && *out > 0;
}

static double constant_of(const struct delays_spec *spec)
{
    return spec->constant > 0 ? spec->constant : delays_default_constant;
}

static double highest(const struct delays_spec *spec)
{
    double most = 0;
    for (uint32_t c = 0; c < spec->nchannels; c++) {
        most = fmax(most, spec->freq_hz[c]);
    }
    return most;
}

/* 1 / f^2 in MHz^-2. */
static double inverse_square(double hertz)
{
    double mhz = 1e-6 * hertz;
    return 1 / (mhz * mhz);
}

static status_t check(const struct delays_spec *spec)
{
    status_t st = STATUS_OK;
    REQUIRE(spec->nchannels > 0 && spec->ndms > 0, STATUS_USAGE,
            "dedispersion of %u channels to %u DMs: expected at least one of each", spec->nchannels,
            spec->ndms);
    REQUIRE(isfinite(spec->sample_seconds) && spec->sample_seconds > 0, STATUS_USAGE,
            "dedispersion: a sampling time of %g s, expected a positive one", spec->sample_seconds);
    REQUIRE(isfinite(spec->reference_hz) && spec->reference_hz >= 0, STATUS_USAGE,
            "dedispersion: a reference frequency of %g Hz, expected a positive one",
            spec->reference_hz);
    for (uint32_t c = 0; c < spec->nchannels; c++) {
        REQUIRE(isfinite(spec->freq_hz[c]) && spec->freq_hz[c] > 0, STATUS_USAGE,
                "dedispersion: channel %u at %g Hz, expected a positive frequency", c,
                spec->freq_hz[c]);
    }
    for (uint32_t d = 0; d < spec->ndms; d++) {
        REQUIRE(isfinite(spec->dms[d]) && spec->dms[d] >= 0, STATUS_USAGE,
                "dedispersion: DM number %u is %g pc cm^-3, expected none below 0", d,
                spec->dms[d]);
    }
out:
    return st;
}

/* Rounded delays of every channel per DM, as they are, and the least and the greatest. */
static status_t round_delays(const struct delays_spec *spec, int32_t *table, int32_t *least,
                             int32_t *greatest)
{
    status_t st = STATUS_OK;
    enum { LIMIT = 1 << 30 };
    double *slopes = NULL; /* samples per pc cm^-3 */
    double reference = inverse_square(spec->reference_hz > 0 ? spec->reference_hz : highest(spec));
    TRY(memory_zeroed(spec->nchannels, sizeof *slopes, "delays", &slopes));
    *least = INT32_MAX;
    *greatest = INT32_MIN;
    for (uint32_t c = 0; c < spec->nchannels; c++) {
        slopes[c] = constant_of(spec) * (inverse_square(spec->freq_hz[c]) - reference) /
                    spec->sample_seconds;
    }
    for (uint32_t d = 0; d < spec->ndms; d++) {
        for (uint32_t c = 0; c < spec->nchannels; c++) {
            double delay = round(spec->dms[d] * slopes[c]);
            REQUIRE(fabs(delay) <= LIMIT, STATUS_USAGE,
                    "dedispersion: at %g Hz and DM %g a delay of %g samples, at most 2^30 can be "
                    "handled",
                    spec->freq_hz[c], spec->dms[d], delay);
            int32_t rounded = (int32_t)delay;
            table[(size_t)d * spec->nchannels + c] = rounded;
            *least = rounded < *least ? rounded : *least;
            *greatest = rounded > *greatest ? rounded : *greatest;
        }
    }
out:
    free(slopes);
    return st;
}

status_t delays_create(const struct delays_spec *spec, struct delays *out)
{
    status_t st = STATUS_OK;
    int32_t *rounded = NULL;
    int32_t least = 0;
    int32_t greatest = 0;
    TRY(check(spec));
    size_t count = (size_t)spec->ndms * spec->nchannels;
    TRY(memory_zeroed(count, sizeof *rounded, "delays", &rounded));
    TRY(round_delays(spec, rounded, &least, &greatest));
    struct delays delays = {.nchannels = spec->nchannels,
                            .ndms = spec->ndms,
                            .largest = (uint32_t)(greatest - least),
                            .origin = least};
    TRY(memory_zeroed(count, sizeof *delays.table, "delays", &delays.table));
    for (size_t i = 0; i < count; i++) {
        delays.table[i] = (uint32_t)(rounded[i] - least);
    }
    *out = delays;
out:
    free(rounded);
    return st;
}

void delays_free(struct delays *delays)
{
    free(delays->table);
    *delays = (struct delays){0};
}

status_t delays_linear(double start, double step, uint32_t count, double **out)
{
    status_t st = STATUS_OK;
    double *dms = NULL;
    REQUIRE(isfinite(start) && start >= 0, STATUS_USAGE,
            "dedispersion: DMs from %g on, expected a start of at least 0", start);
    REQUIRE(count <= 1 || (isfinite(step) && step > 0), STATUS_USAGE,
            "dedispersion: DMs in steps of %g, expected a positive step", step);
    TRY(memory_zeroed(count, sizeof *dms, "a list of DMs", &dms));
    for (uint32_t i = 0; i < count; i++) {
        dms[i] = start + i * step;
    }
    *out = dms;
out:
    return st;
}

/* The squares of smearing within a channel and over the band, in (s per pc cm^-3)^2. */
static status_t smearing(const struct delays_spec *spec, double *channel, double *band)
{
    status_t st = STATUS_OK;
    double top = highest(spec);
    double bottom = top;
    uint32_t n = spec->nchannels;
    for (uint32_t c = 0; c < n; c++) {
        bottom = fmin(bottom, spec->freq_hz[c]);
    }
    REQUIRE(n > 1 && bottom > 0 && top > bottom, STATUS_USAGE,
            "dedispersion: a list of DMs by tolerance takes a band of at least two frequencies");
    double width = 1e-6 * (top - bottom) / (n - 1);
    double centre = 1e-6 * (top + bottom) / 2;
    double a = 2 * constant_of(spec) * width / (centre * centre * centre);
    double b = a * n / 4;
    *channel = a * a;
    *band = b * b;
out:
    return st;
}

status_t delays_tolerant(const struct delays_spec *spec, double start, double end,
                         double width_seconds, double tolerance, uint32_t most, double **out,
                         uint32_t *count)
{
    status_t st = STATUS_OK;
    double *dms = NULL;
    double a2 = 0;
    double b2 = 0;
    uint32_t n = 0;
    REQUIRE(isfinite(start) && start >= 0 && isfinite(end) && end >= start, STATUS_USAGE,
            "dedispersion: DMs from %g to %g, expected 0 <= start <= end", start, end);
    REQUIRE(isfinite(tolerance) && tolerance > 1, STATUS_USAGE,
            "dedispersion: a tolerance of %g, expected more than 1", tolerance);
    TRY(smearing(spec, &a2, &b2));
    TRY(memory_zeroed(most, sizeof *dms, "a list of DMs", &dms));
    double fixed = spec->sample_seconds * spec->sample_seconds + width_seconds * width_seconds;
    double tolerance2 = tolerance * tolerance;
    for (double dm = start; n == 0 || dms[n - 1] < end; n++) {
        REQUIRE(n < most, STATUS_USAGE,
                "dedispersion: DMs from %g to %g with a tolerance of %g are more than %u", start,
                end, tolerance, most);
        dms[n] = dm;
        double k = fixed * (tolerance2 - 1) + tolerance2 * a2 * dm * dm;
        dm = (b2 * dm + sqrt((a2 + b2) * k - a2 * b2 * dm * dm)) / (a2 + b2);
    }
    *out = dms;
    *count = n;
    dms = NULL;
out:
    free(dms);
    return st;
}
