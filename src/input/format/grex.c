/* GReX voltage dumps, netCDF-4: /voltages [time][pol][freq][reim] and a dataset for each axis
 * (GReX-Telescope/GReX-T0, src/dumps.rs). */
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/said.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const double cadence_seconds = 8.192e-6; /* 2048 channels of 250 MHz */

/* Converts TAI days since MJD 0 to UTC. */
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

/* Doubles that hold days tell times to 0.6 us: the cadence is known, the axis only confirms it.
 * Earlier writers spread their times evenly from the first sample to one sample after the last. */
static status_t grex_read_times(struct fields *f)
{
    SCOPED(free_at) double *days = NULL;
    size_t count = 0;
    hsize_t dims[4];
    TRY(fields_shape(f, "voltages", 4, dims));
    TRY(fields_f64s(f, "time", NULL, &days, &count));
    REQUIRE(count == dims[0], STATUS_DATA, "%s: /time has %zu values, /voltages %" PRIu64 " times",
            f->path, count, (uint64_t)dims[0]);
    REQUIRE(count > 0 && days[0] > 0 && days[0] < 1e8 && isfinite(days[count - 1]), STATUS_DATA,
            "%s: /time begins with %g, expected TAI days since MJD 0", f->path,
            count > 0 ? days[0] : NAN);
    double seconds = (days[count - 1] - days[0]) * 86400;
    double expected = (double)(count - 1) * cadence_seconds;
    int is_late = fabs(seconds - expected - cadence_seconds) < cadence_seconds / 2;
    REQUIRE(override_has_rate(f->layout) || is_late ||
                fabs(seconds - expected) < cadence_seconds / 2,
            STATUS_DATA,
            "%s: its %zu samples take %.9g s, expected %.9g s, one every 8.192 us: "
            "input.layout.sample_rate_hz says what is right",
            f->path, count, seconds, expected);
    f->own.time.has_sample_rate = 1;
    f->own.time.sample_rate_hz = 250e6 / 2048;
    f->own.time.has_start = 1;
    f->own.time.start = grex_utc(days[0]);
    return assume_if(is_late, &f->archive->assumed,
                     "times: one sample every 8.192 us from the first on; the labels of /time "
                     "drift by up to a sample");
}

/* The writer spreads the channels over the band with both ends included, so that its labels drift
 * by up to a channel. */
static status_t grex_read_frequencies(struct fields *f, int *is_mended)
{
    const double rate = f->own.time.sample_rate_hz;
    TRY(fields_set_frequencies(f, "freq", NULL));
    double *hz = f->own.freq.hz;
    uint32_t count = f->own.freq.count;
    REQUIRE(count > 0, STATUS_DATA, "%s: /freq is empty", f->path);
    for (uint32_t i = 0; i < count; i++) {
        hz[i] *= 1e6;
    }
    *is_mended = count > 1 && fabs(fabs(hz[0] - hz[count - 1]) - count * rate) < rate / 100;
    double step = hz[count - 1] < hz[0] ? -rate : rate;
    for (uint32_t i = 1; i < count && *is_mended; i++) {
        hz[i] = hz[0] + i * step;
    }
    return STATUS_OK;
}

static status_t grex_read(struct fields *f, void *context)
{
    char **assumed = &f->archive->assumed;
    size_t npols = 0;
    int is_mended = 0;
    (void)context;
    f->own.has_sideband = 1;
    f->own.sideband = -1;
    TRY(fields_set_words(f, "voltages", "time,pol,chan,reim", "GReX"));
    TRY(grex_read_times(f));
    TRY(grex_read_frequencies(f, &is_mended));
    TRY(h5_read_texts(f->file, f->path, "pol", &f->archive->names[AXIS_POL], &npols));
    f->archive->count[AXIS_POL] = npols;
    TRY(fields_describe(f, "GReX dump"));
    TRY(assume_unless(
        override_has(f->layout, SAID_SIDEBAND), assumed,
        "sideband -1: taken from the second Nyquist zone that it samples; the file does not say"));
    const struct job_layout *own = &f->own;
    double step = own->freq.count > 1 ? fabs(own->freq.hz[1] - own->freq.hz[0]) : 0;
    int is_close = step <= 1.01 * own->time.sample_rate_hz;
    TRY(assume_unless(override_has_spacing(f->layout) || is_close, assumed,
                      "/freq has steps of %.9g Hz, but a sample every 8.192 us is of channels of "
                      "%.9g Hz: /freq is used",
                      step, own->time.sample_rate_hz));
    return assume_if(is_mended, assumed,
                     "frequencies: steps of the sample rate from the first on; the file's labels "
                     "drift by up to a channel");
}

const struct format grex_format = {.name = "grex",
                                   .title = "a GReX voltage dump",
                                   .shows = {"voltages", "freq", "time", "pol", "reim"},
                                   .read = grex_read};
