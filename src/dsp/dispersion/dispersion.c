/* Delays rounded to samples, their checks, and lists of DMs. */
#include "dsp/dispersion/dispersion.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double dispersion_default_constant = 1 / 2.41e-4;

int dispersion_constant(const char *text, double *out)
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

double dispersion_constant_of(double constant)
{
    return constant > 0 ? constant : dispersion_default_constant;
}

static double dispersion_highest(const struct dispersion_spec *spec)
{
    double most = 0;
    for (uint32_t c = 0; c < spec->nchannels; c++) {
        most = fmax(most, spec->freq_hz[c]);
    }
    return most;
}

/* 1 / f^2 in MHz^-2. */
static double dispersion_inverse_square(double hertz)
{
    double mhz = 1e-6 * hertz;
    return 1 / (mhz * mhz);
}

static status_t dispersion_check(const struct dispersion_spec *spec)
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

/* As round(), of less than 2^31: the fraction is exact, and loops of it become vectors. */
static int32_t dispersion_round_away(double value)
{
    int32_t whole = (int32_t)value;
    double rest = value - whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

/* A channel's delay in samples is slope * DM + fixed. */
struct dispersion_lines {
    double *slopes, *fixed; /* [nchannels] */
};

/* Of every channel; gives the channel of the steepest slope, or one that is no number. */
static uint32_t dispersion_make_lines(const struct dispersion_spec *spec,
                                      const struct dispersion_lines *lines)
{
    uint32_t steepest = 0;
    double *slopes = lines->slopes;
    double reference = dispersion_inverse_square(spec->reference_hz > 0 ? spec->reference_hz
                                                                        : dispersion_highest(spec));
    for (uint32_t c = 0; c < spec->nchannels; c++) {
        slopes[c] = dispersion_constant_of(spec->constant) *
                    (dispersion_inverse_square(spec->freq_hz[c]) - reference) /
                    spec->sample_seconds;
        if (isfinite(slopes[steepest]) && !(fabs(slopes[c]) <= fabs(slopes[steepest]))) {
            steepest = c;
        }
    }
    for (uint32_t c = 0; c < spec->nchannels && spec->delay_hz; c++) {
        double coherent = spec->coherent_constant *
                          (dispersion_inverse_square(spec->delay_hz[c]) - reference) /
                          spec->sample_seconds;
        lines->fixed[c] = spec->coherent_dm * (coherent - slopes[c]);
    }
    return steepest;
}

static double dispersion_delay(const struct dispersion_lines *lines, uint32_t c, double dm)
{
    return dm * lines->slopes[c] + lines->fixed[c];
}

/* Takes the extremes of channels at a DM. */
static void dispersion_widen(const struct dispersion_lines *lines, uint32_t c, double dm,
                             double *least, double *most)
{
    double delay = dispersion_delay(lines, c, dm);
    *least = fmin(*least, delay);
    *most = fmax(*most, delay);
}

/* The least and the greatest delay of all. Without coherent dedispersion those of a DM are its
 * least and greatest slope's: tables may have 10^8 entries, so nothing but filling them looks at
 * each. Else each channel's are at the first or the last of the DMs, as lines have it. */
static void dispersion_find_range(const struct dispersion_spec *spec,
                                  const struct dispersion_lines *lines, double *least, double *most)
{
    double low = INFINITY;
    double high = -INFINITY;
    for (uint32_t d = 0; d < spec->ndms; d++) {
        low = fmin(low, spec->dms[d]);
        high = fmax(high, spec->dms[d]);
    }
    *least = INFINITY;
    *most = -INFINITY;
    for (uint32_t c = 0; c < spec->nchannels; c++) {
        dispersion_widen(lines, c, low, least, most);
        dispersion_widen(lines, c, high, least, most);
    }
}

static void dispersion_fill_row(const struct dispersion_lines *lines, uint32_t nchannels, double dm,
                                int32_t least, uint32_t *restrict row)
{
    const double *restrict slopes = lines->slopes;
    const double *restrict fixed = lines->fixed;
    for (uint32_t c = 0; c < nchannels; c++) {
        row[c] = (uint32_t)(dispersion_round_away(dm * slopes[c] + fixed[c]) - least);
    }
}

status_t dispersion_create(const struct dispersion_spec *spec, struct dispersion *out)
{
    status_t st = STATUS_OK;
    enum { LIMIT = 1 << 30 };
    struct dispersion_lines lines = {NULL, NULL};
    double first = 0;
    double last = 0;
    TRY(dispersion_check(spec));
    TRY(memory_zeroed(spec->nchannels, sizeof(double), "delays", &lines.slopes));
    TRY(memory_zeroed(spec->nchannels, sizeof(double), "delays", &lines.fixed));
    uint32_t steepest = dispersion_make_lines(spec, &lines);
    REQUIRE(isfinite(lines.slopes[steepest]), STATUS_USAGE,
            "dedispersion: between %g Hz and the reference of %g Hz delays are beyond all numbers",
            spec->freq_hz[steepest],
            spec->reference_hz > 0 ? spec->reference_hz : dispersion_highest(spec));
    for (uint32_t d = 0; d < spec->ndms; d++) {
        double delay = round(dispersion_delay(&lines, steepest, spec->dms[d]));
        REQUIRE(fabs(delay) <= LIMIT, STATUS_USAGE,
                "dedispersion: at %g Hz and DM %g a delay of %g samples, at most 2^30 can be "
                "handled",
                spec->freq_hz[steepest], spec->dms[d], delay);
    }
    dispersion_find_range(spec, &lines, &first, &last);
    REQUIRE(first >= -LIMIT && last <= LIMIT, STATUS_USAGE,
            "dedispersion: delays of %g to %g samples, at most 2^30 can be handled", first, last);
    int32_t least = dispersion_round_away(first);
    struct dispersion delays = {.nchannels = spec->nchannels,
                                .ndms = spec->ndms,
                                .largest = (uint32_t)(dispersion_round_away(last) - least),
                                .origin = least};
    size_t count = (size_t)spec->ndms * spec->nchannels;
    TRY(memory_zeroed(count, sizeof *delays.table, "delays", &delays.table));
    for (uint32_t d = 0; d < spec->ndms; d++) {
        dispersion_fill_row(&lines, spec->nchannels, spec->dms[d], least,
                            delays.table + (size_t)d * spec->nchannels);
    }
    *out = delays;
out:
    free(lines.slopes);
    free(lines.fixed);
    return st;
}

void dispersion_free(struct dispersion *delays)
{
    free(delays->table);
    *delays = (struct dispersion){0};
}

status_t dispersion_linear(double start, double step, uint32_t count, double **out)
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

status_t dispersion_smearing(const struct dispersion_spec *spec, double *channel, double *band)
{
    status_t st = STATUS_OK;
    double top = dispersion_highest(spec);
    double bottom = top;
    uint32_t n = spec->nchannels;
    for (uint32_t c = 0; c < n; c++) {
        bottom = fmin(bottom, spec->freq_hz[c]);
    }
    REQUIRE(n > 1 && bottom > 0 && top > bottom, STATUS_USAGE,
            "dedispersion: a list of DMs by tolerance takes a band of at least two frequencies");
    double width = 1e-6 * (top - bottom) / (n - 1);
    double centre = 1e-6 * (top + bottom) / 2;
    double a = 2 * dispersion_constant_of(spec->constant) * width / (centre * centre * centre);
    double b = a * n / 4;
    *channel = a * a;
    *band = b * b;
out:
    return st;
}

status_t dispersion_tolerant(const struct dispersion_spec *spec, double start, double end,
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
    TRY(dispersion_smearing(spec, &a2, &b2));
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
