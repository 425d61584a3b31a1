/* GReX voltage dumps, netCDF-4: /voltages [time][pol][freq][reim] and a dataset for each axis
 * (GReX-Telescope/GReX-T0, src/dumps.rs). */
#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/said.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const char title[] = "a GReX voltage dump";
static const double cadence_seconds = 8.192e-6; /* 2048 channels of 250 MHz */

/* TAI days since MJD 0. */
static struct utc grex_utc(double tai_days)
{
    const double seconds_a_day = 86400;
    const int32_t tai_of_1972 = 10;
    int32_t day = (int32_t)floor(tai_days);
    double second =
        (tai_days - floor(tai_days)) * seconds_a_day - (tai_of_1972 + leap_seconds_before(day));
    if (second < 0) {
        day--;
        second = (tai_days - floor(tai_days) + 1) * seconds_a_day -
                 (tai_of_1972 + leap_seconds_before(day));
    }
    return (struct utc){day, second};
}

/* Doubles that hold days tell times to 0.6 us: the cadence is known, the axis only confirms it. */
static status_t grex_read_times(const struct fields *fields, const struct job_layout *layout,
                                struct job_layout *own)
{
    status_t st = STATUS_OK;
    double *days = NULL;
    size_t count = 0;
    hsize_t dims[4];
    TRY(fields_shape(fields, "voltages", 4, dims));
    TRY(fields_f64s(fields, "time", NULL, &days, &count));
    REQUIRE(count == dims[0], STATUS_DATA, "%s: /time has %zu values, /voltages %" PRIu64 " times",
            fields->path, count, (uint64_t)dims[0]);
    REQUIRE(count > 0 && days[0] > 0 && days[0] < 1e8 && isfinite(days[count - 1]), STATUS_DATA,
            "%s: /time begins with %g, expected TAI days since MJD 0", fields->path,
            count > 0 ? days[0] : NAN);
    double seconds = (days[count - 1] - days[0]) * 86400;
    double expected = (double)(count - 1) * cadence_seconds;
    REQUIRE(override_has_rate(layout) || fabs(seconds - expected) < cadence_seconds / 2,
            STATUS_DATA,
            "%s: its %zu samples take %.9g s, expected %.9g s, one every 8.192 us: "
            "input.layout.sample_rate_hz says what is right",
            fields->path, count, seconds, expected);
    own->time.has_sample_rate = 1;
    own->time.sample_rate_hz = 250e6 / 2048;
    own->time.has_start = 1;
    own->time.start = grex_utc(days[0]);
out:
    free(days);
    return st;
}

/* The writer spreads the channels over the band with both ends included, so that its labels drift
 * by up to a channel. */
static status_t grex_read_frequencies(const struct fields *fields, struct job_layout *own,
                                      int *is_mended)
{
    status_t st = STATUS_OK;
    size_t count = 0;
    TRY(fields_f64s(fields, "freq", NULL, &own->freq.hz, &count));
    REQUIRE(count > 0, STATUS_DATA, "%s: /freq is empty", fields->path);
    own->freq.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        own->freq.hz[i] *= 1e6;
    }
    double band = (double)count * own->time.sample_rate_hz;
    double labels = count > 1 ? fabs(own->freq.hz[0] - own->freq.hz[count - 1]) : 0;
    *is_mended = fabs(labels - band) < own->time.sample_rate_hz / 100;
    double step = own->freq.hz[count - 1] < own->freq.hz[0] ? -own->time.sample_rate_hz
                                                            : own->time.sample_rate_hz;
    for (size_t i = 1; i < count && *is_mended; i++) {
        own->freq.hz[i] = own->freq.hz[0] + (double)i * step;
    }
out:
    return st;
}

/* Channels farther apart than they are wide. */
static status_t grex_note_steps(const struct job_layout *layout, const struct job_layout *own,
                                struct archive *archive)
{
    int is_said = override_has_spacing(layout);
    double step = own->freq.count > 1 ? fabs(own->freq.hz[1] - own->freq.hz[0]) : 0;
    return assume_unless(is_said || step <= 1.01 * own->time.sample_rate_hz, &archive->assumed,
                         "/freq has steps of %.9g Hz, but a sample every 8.192 us is of channels "
                         "of %.9g Hz: /freq is used",
                         step, own->time.sample_rate_hz);
}

static status_t grex_open_file(const char *path, const struct job_layout *layout,
                               struct archive **out)
{
    status_t st = STATUS_OK;
    struct fields fields = {.file = -1};
    struct archive *archive = NULL;
    struct job_layout own = {.has_sideband = 1, .sideband = -1};
    size_t npols = 0;
    int is_mended = 0;
    TRY(archive_create(path, &archive));
    TRY(fields_open(path, title, &fields));
    TRY(memory_text("voltages", &own.dataset));
    TRY(memory_text("time,pol,chan,reim", &own.axes));
    TRY(memory_text("GReX", &own.sky.telescope));
    TRY(grex_read_times(&fields, layout, &own));
    TRY(grex_read_frequencies(&fields, &own, &is_mended));
    TRY(h5_read_texts(fields.file, path, "pol", &archive->names[AXIS_POL], &npols));
    archive->count[AXIS_POL] = npols;
    TRY(fields_describe(&fields, "GReX dump", layout, &own, archive));
    TRY(assume_unless(
        override_has(layout, SAID_SIDEBAND), &archive->assumed,
        "sideband -1: taken from the second Nyquist zone that it samples; the file does not say"));
    TRY(grex_note_steps(layout, &own, archive));
    TRY(assume_if(is_mended, &archive->assumed,
                  "frequencies: steps of the sample rate from the first on; the file's labels "
                  "drift by up to a channel"));
    *out = archive;
    archive = NULL;
out:
    override_free(&own);
    archive_destroy(archive);
    fields_close(&fields);
    return st;
}

const struct format grex_format = {.name = "grex",
                                   .title = title,
                                   .shows = {"voltages", "freq", "time", "pol", "reim"},
                                   .open_file = grex_open_file};
