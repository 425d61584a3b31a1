/* Rates, times and frequencies of LOFAR's beam-formed files, in units that are not always those
 * that the files say. */
#include "input/format/lofar_bf.h"

#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/override.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Between MHz and Hz of anything that LOFAR observes, and of its rates in MHz and in Hz. */
static const double least_hz = 1e5;

struct lofar_bf_place lofar_bf_place(const char *stokes)
{
    struct lofar_bf_place place;
    snprintf(place.stokes, sizeof place.stokes, "%s", stokes);
    snprintf(place.beam, sizeof place.beam, "%s", stokes);
    *strrchr(place.beam, '/') = '\0';
    snprintf(place.pointing, sizeof place.pointing, "%s", place.beam);
    *strchr(place.pointing, '/') = '\0';
    return place;
}

/* A number with its unit beside it, of the beam or (in 2011) of the pointing, in Hz. */
static status_t lofar_bf_hertz(const struct fields *fields, const struct lofar_bf_place *place,
                               const char *name, double *out, int *found)
{
    status_t st = STATUS_OK;
    char *unit = NULL;
    char unit_name[80];
    int has_unit = 0;
    const char *object = place->beam;
    snprintf(unit_name, sizeof unit_name, "%s_UNIT", name);
    TRY(fields_f64(fields, object, name, out, found));
    if (!*found) {
        object = place->pointing;
        TRY(fields_f64(fields, object, name, out, found));
    }
    TRY(fields_text(fields, object, unit_name, &unit, &has_unit));
    if (*found && has_unit && fabs(*out) < least_hz) {
        *out *= strcmp(unit, "MHz") == 0 ? 1e6 : strcmp(unit, "kHz") == 0 ? 1e3 : 1;
    }
out:
    free(unit);
    return st;
}

/* Voltages are sampled at the width of their channels. */
static status_t lofar_bf_compare_width(const struct fields *fields,
                                       const struct lofar_bf_place *place,
                                       const struct job_layout *layout, double rate)
{
    status_t st = STATUS_OK;
    double width = 0;
    int64_t channels = 1;
    int has_width = 0;
    int found = 0;
    const char *name = "CHANNEL_WIDTH";
    TRY(lofar_bf_hertz(fields, place, name, &width, &has_width));
    if (!has_width) {
        name = "SUBBAND_WIDTH / CHANNELS_PER_SUBBAND";
        TRY(lofar_bf_hertz(fields, place, "SUBBAND_WIDTH", &width, &has_width));
        TRY(fields_i64(fields, place->beam, "CHANNELS_PER_SUBBAND", &channels, &found));
        has_width = has_width && found && channels > 0;
        width /= has_width ? (double)channels : 1;
    }
    REQUIRE(!has_width || rate == 0 || override_has_rate(layout) || fabs(width / rate - 1) < 0.01,
            STATUS_DATA,
            "%s: %s is %.12g Hz, but voltages of it are sampled at %.12g Hz (SAMPLING_RATE, "
            "SAMPLING_TIME): input.layout.sample_rate_hz says which is right",
            fields->path, name, width, rate);
out:
    return st;
}

/* Subbands are 1024th parts of the clock's rate, and their channels parts of them. */
static status_t lofar_bf_compare_clock(const struct fields *fields,
                                       const struct lofar_bf_place *place,
                                       const struct job_layout *layout, double rate)
{
    enum { SUBBANDS = 1024 };
    status_t st = STATUS_OK;
    double clock = 0;
    double width = 0;
    int64_t channels = 0;
    int has_clock = 0;
    int has_width = 0;
    int found = 0;
    TRY(fields_f64(fields, "/", "CLOCK_FREQUENCY", &clock, &has_clock));
    if (!has_clock || rate == 0 || override_has_rate(layout)) {
        goto out;
    }
    double subband = clock * (fabs(clock) < least_hz ? 1e6 : 1) / SUBBANDS;
    TRY(lofar_bf_hertz(fields, place, "SUBBAND_WIDTH", &width, &has_width));
    REQUIRE(!has_width || fabs(width / subband - 1) < 0.01, STATUS_DATA,
            "%s: CLOCK_FREQUENCY is %.12g, of subbands of %.12g Hz, but SUBBAND_WIDTH is %.12g Hz: "
            "input.layout.sample_rate_hz says the rate of samples",
            fields->path, clock, subband, width);
    TRY(fields_i64(fields, place->beam, "CHANNELS_PER_SUBBAND", &channels, &found));
    double each = subband / rate;
    double expected = found ? (double)channels : fmax(1, round(each));
    REQUIRE(fabs(each / expected - 1) < 0.01, STATUS_DATA,
            "%s: CLOCK_FREQUENCY is %.12g, of subbands of %.12g Hz, but samples of %.12g Hz "
            "(SAMPLING_RATE, SAMPLING_TIME) are of %.9g channels in each, expected %s%.0f: "
            "input.layout.sample_rate_hz says which is right",
            fields->path, clock, subband, rate, each, found ? "CHANNELS_PER_SUBBAND = " : "",
            expected);
out:
    return st;
}

static status_t lofar_bf_read_rate(const struct fields *fields, const struct lofar_bf_place *place,
                                   const struct job_layout *layout, struct job_layout *own)
{
    status_t st = STATUS_OK;
    double rate = 0;
    double step = 0;
    int has_rate = 0;
    int has_step = 0;
    TRY(lofar_bf_hertz(fields, place, "SAMPLING_RATE", &rate, &has_rate));
    TRY(fields_f64(fields, place->beam, "SAMPLING_TIME", &step, &has_step));
    REQUIRE(has_rate || has_step || override_has_rate(layout), STATUS_DATA,
            "%s: neither SAMPLING_RATE nor SAMPLING_TIME is in %s: input.layout.sample_rate_hz "
            "must say it",
            fields->path, place->beam);
    REQUIRE(!has_rate || !has_step || override_has_rate(layout) || fabs(rate * step - 1) < 1e-6,
            STATUS_DATA,
            "%s: SAMPLING_RATE is %.12g Hz, SAMPLING_TIME %.12g s: input.layout.sample_rate_hz "
            "says which is right",
            fields->path, rate, step);
    own->time.has_sample_rate = has_rate || has_step;
    own->time.sample_rate_hz = has_rate ? rate : has_step ? 1 / step : 0;
    TRY(lofar_bf_compare_width(fields, place, layout, own->time.sample_rate_hz));
    TRY(lofar_bf_compare_clock(fields, place, layout, own->time.sample_rate_hz));
    TRY(own->time.has_sample_rate ? fields_check_rate(fields, own->time.sample_rate_hz)
                                  : STATUS_OK);
out:
    return st;
}

/* A start as a text, with or without a 'Z', and as a Modified Julian Day. */
struct lofar_bf_start {
    const char *utc, *mjd; /* names of attributes */
    int has_utc, has_mjd;
    struct utc start;
};

static const double start_tolerance = 1e-3; /* s */

/* Both forms must agree. */
static status_t lofar_bf_read_forms(const struct fields *fields, const char *object,
                                    const struct job_layout *layout, struct lofar_bf_start *out)
{
    status_t st = STATUS_OK;
    char *text = NULL;
    double mjd = 0;
    TRY(fields_text(fields, object, out->utc, &text, &out->has_utc));
    TRY(fields_f64(fields, object, out->mjd, &mjd, &out->has_mjd));
    int is_day = mjd > 0 && mjd < 1e6;
    if (out->has_utc) {
        REQUIRE(units_parse_utc(text, &out->start), STATUS_DATA,
                "%s: it starts at \"%s\", expected a date like 2012-08-22T10:25:00.000000000Z",
                fields->path, text);
        REQUIRE(!out->has_mjd || override_has(layout, SAID_START) ||
                    (is_day && fabs(utc_difference(utc_of_mjd(mjd), out->start)) < start_tolerance),
                STATUS_DATA,
                "%s: it starts at \"%s\", but %s is %.15g: input.layout.start says which is right",
                fields->path, text, out->mjd, mjd);
    } else if (out->has_mjd) {
        REQUIRE(is_day, STATUS_DATA, "%s: %s is %g, expected a Modified Julian Day", fields->path,
                out->mjd, mjd);
        out->start = utc_of_mjd(mjd);
    }
out:
    free(text);
    return st;
}

/* The pointing's start goes before that of the observation; where the observation's text agrees
 * with the pointing's day, the text, which is finer. */
static status_t lofar_bf_read_start(const struct fields *fields, const struct lofar_bf_place *place,
                                    const struct job_layout *layout, struct job_layout *own,
                                    char **assumed)
{
    status_t st = STATUS_OK;
    struct lofar_bf_start pointing = {.utc = "EXPTIME_START_UTC", .mjd = "EXPTIME_START_MJD"};
    struct lofar_bf_start all = {.utc = "OBSERVATION_START_UTC", .mjd = "OBSERVATION_START_MJD"};
    TRY(lofar_bf_read_forms(fields, place->pointing, layout, &pointing));
    TRY(pointing.has_utc ? STATUS_OK : lofar_bf_read_forms(fields, "/", layout, &all));
    int is_finer = all.has_utc && fabs(utc_difference(pointing.start, all.start)) < start_tolerance;
    const struct lofar_bf_start *start =
        pointing.has_utc || (pointing.has_mjd && !is_finer) ? &pointing : &all;
    own->time.has_start = start->has_utc || start->has_mjd;
    own->time.start = start->start;
    TRY(start->has_utc || override_has(layout, SAID_START) ? STATUS_OK
        : start->has_mjd ? assume(assumed, "%s is not there: %s = %.15g is used", start->utc,
                                  start->mjd, start->start.mjd_day + start->start.second / 86400)
                         : assume(assumed, "%s is not there: the start is unknown", start->utc));
out:
    return st;
}

/* The middle of the frequencies is the centre of the beam, to within a channel. */
static status_t lofar_bf_compare_centre(const struct fields *fields,
                                        const struct lofar_bf_place *place,
                                        const struct job_layout *layout,
                                        const struct job_layout *own)
{
    status_t st = STATUS_OK;
    double centre = 0;
    int found = 0;
    double middle = (own->freq.hz[0] + own->freq.hz[own->freq.count - 1]) / 2;
    TRY(lofar_bf_hertz(fields, place, "BEAM_FREQUENCY_CENTER", &centre, &found));
    REQUIRE(!found || own->time.sample_rate_hz == 0 || override_has_frequencies(layout) ||
                fabs(centre - middle) <= own->time.sample_rate_hz,
            STATUS_DATA,
            "%s: BEAM_FREQUENCY_CENTER is %.12g Hz, but AXIS_VALUES_WORLD has its middle at %.12g "
            "Hz: input.layout.freq_hz says which is right",
            fields->path, centre, middle);
out:
    return st;
}

/* How many channels all subbands have, where that is said. */
static status_t lofar_bf_compare_channels(const struct fields *fields,
                                          const struct lofar_bf_place *place, uint64_t chans)
{
    status_t st = STATUS_OK;
    uint64_t *each = NULL;
    size_t count = 0;
    uint64_t sum = 0;
    TRY(fields_attribute_u64s(fields, place->stokes, "NOF_CHANNELS", &each, &count));
    for (size_t i = 0; i < count; i++) {
        sum += each[i];
    }
    REQUIRE(count == 0 || sum == chans, STATUS_DATA,
            "%s: NOF_CHANNELS of %zu subbands are %" PRIu64 ", but %s has %" PRIu64 " channels",
            fields->path, count, sum, place->stokes, chans);
out:
    free(each);
    return st;
}

static status_t lofar_bf_read_frequencies(const struct fields *fields,
                                          const struct lofar_bf_place *place, uint64_t chans,
                                          const struct job_layout *layout, struct job_layout *own)
{
    static const char *const groups[] = {"COORDINATES/COORDINATE_1", "Coordinates/COORDINATE_1",
                                         "Coordinates/Coordinate1"};
    status_t st = STATUS_OK;
    size_t count = 0;
    for (int i = 0; i < 3 && count == 0; i++) {
        char name[400];
        snprintf(name, sizeof name, "%s/%s", place->beam, groups[i]);
        TRY(fields_attribute_f64s(fields, name, "AXIS_VALUES_WORLD", &own->freq.hz, &count));
    }
    REQUIRE(count == 0 || count == chans, STATUS_DATA,
            "%s: COORDINATE_1 has AXIS_VALUES_WORLD of %zu channels, but %s has %" PRIu64,
            fields->path, count, place->stokes, chans);
    own->freq.count = (uint32_t)count;
    /* AXIS_UNITS says MHz even where they are Hz. */
    double factor = count > 0 && fabs(own->freq.hz[0]) < least_hz ? 1e6 : 1;
    for (size_t i = 0; i < count; i++) {
        own->freq.hz[i] *= factor;
    }
    TRY(count > 0 ? lofar_bf_compare_centre(fields, place, layout, own) : STATUS_OK);
out:
    return st;
}

static status_t lofar_bf_read_words(const struct fields *fields, const struct lofar_bf_place *place,
                                    struct job_layout *own)
{
    status_t st = STATUS_OK;
    int found = 0;
    TRY(fields_text(fields, "/", "TELESCOPE", &own->sky.telescope, &found));
    TRY(fields_text(fields, place->beam, "TARGETS", &own->sky.source, &found));
    TRY(found ? STATUS_OK : fields_text(fields, "/", "TARGETS", &own->sky.source, &found));
    const char *object = place->beam;
    TRY(fields_f64(fields, object, "POINT_RA", &own->sky.ra_deg, &own->sky.has_ra));
    if (!own->sky.has_ra) {
        object = place->pointing;
        TRY(fields_f64(fields, object, "POINT_RA", &own->sky.ra_deg, &own->sky.has_ra));
    }
    TRY(fields_f64(fields, object, "POINT_DEC", &own->sky.dec_deg, &own->sky.has_dec));
out:
    return st;
}

status_t lofar_bf_fill(const struct fields *fields, const struct lofar_bf_place *place,
                       uint64_t chans, const struct job_layout *layout, struct job_layout *own,
                       char **assumed)
{
    status_t st = STATUS_OK;
    TRY(memory_text(place->stokes, &own->dataset));
    TRY(memory_text("time,chan", &own->axes));
    own->has_sideband = 1;
    own->sideband = 1;
    TRY(lofar_bf_read_rate(fields, place, layout, own));
    TRY(lofar_bf_read_start(fields, place, layout, own, assumed));
    TRY(lofar_bf_compare_channels(fields, place, chans));
    TRY(lofar_bf_read_frequencies(fields, place, chans, layout, own));
    TRY(lofar_bf_read_words(fields, place, own));
out:
    return st;
}

status_t lofar_bf_dm(const struct fields *fields, const struct lofar_bf_place *place, double *dm)
{
    status_t st = STATUS_OK;
    char *how = NULL;
    int found = 0;
    *dm = 0;
    TRY(fields_text(fields, place->beam, "DEDISPERSION", &how, &found));
    if (found && strcmp(how, "COHERENT") == 0) {
        TRY(fields_f64(fields, place->beam, "DISPERSION_MEASURE", dm, &found));
    }
out:
    free(how);
    return st;
}
