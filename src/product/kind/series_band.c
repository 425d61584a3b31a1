/* Where the channels of a dedispersed product lie: /provenance/frequency; of others' products, what
 * fch1 and foff say. */
#include "base/memory.h"
#include "dsp/dispersion/dispersion.h"
#include "product/kind/series_kind.h"

#include <math.h>
#include <stdlib.h>

/* Of a channel: what lies nearer to its place smears a pulse less than the channel itself does. */
static const double slack = 0.1;

static void band_of_header(const struct sigproc *header, struct series_band *band)
{
    uint64_t nchans = header->nchans > 0 ? header->nchans : 1;
    double last = header->fch1 + (double)(nchans - 1) * header->foff;
    *band = (struct series_band){.low_mhz = fmin(header->fch1, last),
                                 .high_mhz = fmax(header->fch1, last),
                                 .width_mhz = fabs(header->foff),
                                 .held = nchans,
                                 .channels = nchans,
                                 .is_even = 1};
}

/* Whether they follow each other as on a line from the first to the last. */
static int band_is_even(const double *hertz, size_t count, double width)
{
    double step = count > 1 ? (hertz[count - 1] - hertz[0]) / (double)(count - 1) : 0;
    for (size_t i = 0; i < count; i++) {
        if (fabs(hertz[i] - hertz[0] - (double)i * step) > slack * width) {
            return 0;
        }
    }
    return fabs(fabs(step) - width) * (double)(count - 1) <= slack * width;
}

static double band_smallest_step(const double *hertz, size_t count)
{
    double least = INFINITY;
    for (size_t i = 1; i < count; i++) {
        double step = fabs(hertz[i] - hertz[i - 1]);
        least = step > 0 ? fmin(least, step) : least;
    }
    return isfinite(least) ? least : 0;
}

/* Gaps count as the channels that they could hold. Whatever the widths, the lowest and the highest
 * channel lie where they do: delays are counted from there. */
static void band_of_table(const double *hertz, size_t count, struct series_band *band)
{
    double width = band->width_mhz > 0 ? 1e6 * band->width_mhz : band_smallest_step(hertz, count);
    double low = hertz[0];
    double high = hertz[0];
    for (size_t i = 1; i < count; i++) {
        low = fmin(low, hertz[i]);
        high = fmax(high, hertz[i]);
    }
    double steps = width > 0 ? rint((high - low) / width) : 0;
    steps = high > low ? fmax(steps, 1) : 0;
    *band = (struct series_band){.low_mhz = low / 1e6,
                                 .high_mhz = high / 1e6,
                                 .width_mhz = (steps > 0 ? (high - low) / steps : width) / 1e6,
                                 .held = count,
                                 .channels = steps < 1e15 ? (uint64_t)steps + 1 : UINT64_MAX,
                                 .is_even = band_is_even(hertz, count, width)};
}

static status_t band_read_table(const struct series *series, struct series_band *band)
{
    status_t st = STATUS_OK;
    double *hertz = NULL;
    size_t count = 0;
    TRY(h5_read_f64s(series->file, series->path, "provenance/frequency", &hertz, &count));
    REQUIRE(count > 0, STATUS_DATA, "%s: /provenance/frequency is empty", series->path);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(isfinite(hertz[i]) && hertz[i] > 0, STATUS_DATA,
                "%s: channel %zu lies at %g Hz, expected a frequency above 0", series->path, i,
                hertz[i]);
    }
    band_of_table(hertz, count, band);
out:
    free(hertz);
    return st;
}

/* Which frequency the times belong to, and by which law. */
static status_t band_read_reference(hid_t group, const struct series *series,
                                    struct series_band *band)
{
    status_t st = STATUS_OK;
    double hertz = 0;
    int found = 0;
    TRY(h5_get_f64(group, series->path, "reference_hz", &hertz, &found));
    REQUIRE(!found || hertz > 0, STATUS_DATA,
            "%s: reference_hz is %g, expected a frequency above 0", series->path, hertz);
    band->reference_mhz = found ? hertz / 1e6 : band->high_mhz;
    TRY(h5_get_f64(group, series->path, "constant", &band->constant, &found));
    REQUIRE(isfinite(band->constant) && band->constant > 0, STATUS_DATA,
            "%s: constant is %g, expected a number above 0", series->path, band->constant);
out:
    return st;
}

status_t series_read_band(struct series *series)
{
    status_t st = STATUS_OK;
    struct series_band *band = &series->band;
    hid_t group = -1;
    band_of_header(&series->header, band);
    int is_there = 0;
    TRY(h5_has(series->file, series->path, "provenance", &is_there));
    if (is_there) {
        group = H5Gopen2(series->file, "provenance", H5P_DEFAULT);
        H5_TRY(group, "%s: /provenance cannot be opened", series->path);
    }
    TRY(h5_has(series->file, series->path, "provenance/frequency", &is_there));
    if (is_there) {
        TRY(band_read_table(series, band));
    }
    band->reference_mhz = band->high_mhz;
    band->constant = dispersion_default_constant;
    if (group >= 0) {
        TRY(band_read_reference(group, series, band));
    }
out:
    h5_close(group);
    return st;
}

/* Nearer than 1 Hz it is the same frequency, rounded. */
int series_is_shifted(const struct series *series)
{
    const struct series_band *band = &series->band;
    return band->high_mhz > 0 && !(fabs(band->reference_mhz - band->high_mhz) < 1e-6);
}

int series_start(const struct series *series, uint64_t dm, struct utc *out)
{
    const struct series_band *band = &series->band;
    double high = band->high_mhz;
    double reference = band->reference_mhz;
    double later = 0;
    if (!series->has_start) {
        return 0;
    }
    if (series_is_shifted(series)) {
        later = band->constant * series->dm[dm] * (1 / (high * high) - 1 / (reference * reference));
    }
    *out = utc_add(series->start, later);
    return 1;
}
