/* Opens and reads dedispersed series for exporters: ours, and those of others that look alike. */
#include "product/kind/series_kind.h"

#include "base/memory.h"
#include "dsp/dispersion/dispersion.h"
#include "input/about.h"
#include "input/archive.h"
#include "input/fbh5/fbh5_header.h"

#include <math.h>

/* Where the channels of a dedispersed product are: /provenance/frequency; of others' products, what
 * fch1 and foff say. */

/* A part of a channel: a smaller offset smears a pulse less than the channel itself does. */
static const double slack = 0.1;

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
 * channel are where they do: delays are counted from there. */
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
    SCOPED(free_at) double *hertz = NULL;
    size_t count = 0;
    TRY(h5_read_f64s(series->file, series->path, "provenance/frequency", &hertz, &count));
    REQUIRE(count > 0, STATUS_DATA, "%s: /provenance/frequency is empty", series->path);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(isfinite(hertz[i]) && hertz[i] > 0, STATUS_DATA,
                "%s: channel %zu lies at %g Hz, expected a frequency above 0", series->path, i,
                hertz[i]);
    }
    band_of_table(hertz, count, band);
    return STATUS_OK;
}

/* Reads the frequency that the times refer to, and the dispersion constant. */
static status_t band_read_reference(hid_t group, const struct series *series,
                                    struct series_band *band)
{
    double hertz = 0;
    int found = 0;
    TRY(h5_get_f64(group, series->path, "reference_hz", &hertz, &found));
    REQUIRE(!found || hertz > 0, STATUS_DATA,
            "%s: reference_hz is %g, expected a frequency above 0", series->path, hertz);
    band->reference_mhz = found ? hertz / 1e6 : band->high_mhz;
    TRY(h5_get_f64(group, series->path, "constant", &band->constant, &found));
    return REQUIRED(isfinite(band->constant) && band->constant > 0, STATUS_DATA,
                    "%s: constant is %g, expected a number above 0", series->path, band->constant);
}

/* Settles `band` when the header is known, for series_open(). Fails with DATA, DEVICE (memory). */
static status_t series_read_band(struct series *series)
{
    struct series_band *band = &series->band;
    SCOPED(h5_close_at) hid_t group = -1;
    const struct sigproc *header = &series->header;
    uint64_t nchans = max_u64(header->nchans, 1);
    double last = header->fch1 + (double)(nchans - 1) * header->foff;
    int is_there = 0;
    *band = (struct series_band){.low_mhz = fmin(header->fch1, last),
                                 .high_mhz = fmax(header->fch1, last),
                                 .width_mhz = fabs(header->foff),
                                 .held = nchans,
                                 .channels = nchans,
                                 .is_even = 1};
    TRY(h5_has(series->file, series->path, "provenance", &is_there));
    if (is_there) {
        group = H5Gopen2(series->file, "provenance", H5P_DEFAULT);
        H5_TRY(group, "%s: /provenance cannot be opened", series->path);
    }
    TRY(h5_has(series->file, series->path, "provenance/frequency", &is_there));
    TRY(is_there ? band_read_table(series, band) : STATUS_OK);
    band->reference_mhz = band->high_mhz;
    band->constant = dispersion_default_constant;
    return group >= 0 ? band_read_reference(group, series, band) : STATUS_OK;
}

enum { CACHE_BYTES = 64 << 20, CACHE_SLOTS = 12421 };

void series_destroy(struct series *series)
{
    if (!series) {
        return;
    }
    h5_dataset_close(&series->data);
    h5_close(series->file);
    MEMORY_FREE(series->header.source, series->header.rawdatafile);
    text_free(&series->missing);
    MEMORY_FREE(series->telescope, series->dm, series->path, series);
}

static status_t series_open_data(struct series *series)
{
    int is_there = 0;
    TRY(h5_has(series->file, series->path, "dedispersed", &is_there));
    REQUIRE(is_there, STATUS_DATA, "%s is no dedispersed product: it %s", series->path,
            holds_what(series->file));
    SCOPED(h5_close_at) hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5_TRY(H5Pset_chunk_cache(access, CACHE_SLOTS, CACHE_BYTES, 1), "%s: no cache", series->path);
    hid_t data = H5Dopen2(series->file, "dedispersed", access);
    H5_TRY(data, "%s: /dedispersed cannot be opened", series->path);
    TRY(h5_dataset_of(data, series->path, &series->data));
    TRY(h5_refuse_external(data, series->path, "/dedispersed"));
    h5_try_chunks(data, series->path, "/dedispersed");
    return STATUS_OK;
}

static status_t series_read_shape(struct series *series)
{
    const struct h5_dataset *data = &series->data;
    uint64_t samples = 0;
    REQUIRE(data->rank == 2, STATUS_DATA, "%s: /dedispersed has %d dimensions, expected [dm][time]",
            series->path, data->rank);
    REQUIRE(H5Tget_class(data->type) == H5T_FLOAT, STATUS_DATA, "%s: /dedispersed holds no floats",
            series->path);
    series->ndms = data->dims[0];
    series->samples = data->dims[1];
    return REQUIRED(series->ndms > 0 && series->samples > 0 &&
                        multiply_u64(series->ndms, series->samples, &samples) &&
                        samples <= INT64_MAX / 8,
                    STATUS_DATA, "%s: /dedispersed has %llu DMs of %llu samples", series->path,
                    (unsigned long long)series->ndms, (unsigned long long)series->samples);
}

static status_t series_read_dms(struct series *series)
{
    size_t count = 0;
    TRY(h5_read_f64s(series->file, series->path, "dm", &series->dm, &count));
    REQUIRE(count == series->ndms, STATUS_DATA, "%s has %llu series, but %zu DMs", series->path,
            (unsigned long long)series->ndms, count);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(isfinite(series->dm[i]), STATUS_DATA, "%s: DM %zu is no number", series->path, i);
    }
    return STATUS_OK;
}

static status_t series_note_missing(struct series *series, const char *name)
{
    return text_add(&series->missing, "%s%s", series->missing.length ? ", " : "", name);
}

/* The distance of the first two time stamps; 0 when there are none. */
static status_t series_tsamp_of_times(struct series *series, double *tsamp)
{
    SCOPED(h5_dataset_close) struct h5_dataset stamps = {0};
    const hsize_t start = 0;
    const hsize_t count = 2;
    double times[2] = {0, 0};
    int is_there = 0;
    TRY(h5_has(series->file, series->path, "time", &is_there));
    if (series->samples >= 2 && is_there) {
        TRY(h5_dataset_open(series->file, series->path, "time", &stamps));
        TRY(h5_refuse_external(stamps.id, series->path, "time"));
        REQUIRE(stamps.rank == 1 && stamps.count == series->samples, STATUS_DATA,
                "%s: /time is not that of the series", series->path);
        TRY(h5_dataset_read_part(&stamps, &start, &count, H5T_NATIVE_DOUBLE, times, "%s: /time",
                                 series->path));
    }
    *tsamp = times[1] - times[0];
    return STATUS_OK;
}

static status_t series_read_tsamp(struct series *series)
{
    double *tsamp = &series->header.tsamp;
    int found = 0;
    TRY(h5_get_f64(series->data.id, series->path, "tsamp_s", tsamp, &found));
    TRY(found ? STATUS_OK : series_tsamp_of_times(series, tsamp));
    return REQUIRED(isfinite(*tsamp) && *tsamp > 0, STATUS_DATA,
                    "%s does not say how long a sample is: tsamp_s of /dedispersed, or /time",
                    series->path);
}

static status_t series_read_numbers(struct series *series)
{
    struct sigproc *header = &series->header;
    double nchans = 0;
    struct {
        const char *name;
        double *value;
    } wanted[] = {{"tstart", &header->tstart},
                  {"fch1", &header->fch1},
                  {"foff", &header->foff},
                  {"nchans", &nchans}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int found = 0;
        double value = 0;
        TRY(h5_get_f64(series->data.id, series->path, wanted[i].name, &value, &found));
        if (found && isfinite(value)) {
            *wanted[i].value = value;
        } else {
            TRY(series_note_missing(series, wanted[i].name));
        }
    }
    REQUIRE(nchans >= 0 && nchans <= INT32_MAX, STATUS_DATA, "%s: nchans = %g", series->path,
            nchans);
    header->nchans = (uint64_t)nchans;
    return STATUS_OK;
}

static status_t series_read_start(struct series *series)
{
    struct start start;
    SCOPED(free_at) char *assumed = NULL;
    double tsamp = series->header.tsamp;
    TRY(start_read(series->file, series->path, series->header.tstart, tsamp, &start, &assumed));
    assumed_say(series->path, assumed);
    series->has_start = start.is_known;
    series->start = utc_add(start.utc, start.first_time - tsamp / 2);
    return STATUS_OK;
}

/* Reads a text attribute of the dataset or, perhaps by another name, of the root. */
static status_t series_read_text(struct series *series, const char *name, const char *of_root,
                                 char **out)
{
    int found = 0;
    TRY(h5_get_text(series->data.id, series->path, name, out, &found));
    TRY(found ? STATUS_OK : h5_get_text(series->file, series->path, of_root, out, &found));
    return found ? STATUS_OK : series_note_missing(series, name);
}

/* Positions stand on the root, as in our other products. */
static status_t series_read_position(struct series *series)
{
    int has_ra = 0;
    int has_dec = 0;
    double ra = 0;
    double dec = 0;
    TRY(h5_get_f64(series->file, series->path, "ra_deg", &ra, &has_ra));
    TRY(h5_get_f64(series->file, series->path, "dec_deg", &dec, &has_dec));
    if (has_ra && has_dec && ra >= 0 && ra <= 360 && fabs(dec) <= 90) {
        series->header.raj_hours = ra / 15;
        series->header.dej_degrees = dec;
    } else {
        TRY(series_note_missing(series, "position"));
    }
    return STATUS_OK;
}

static status_t series_read_words(struct series *series)
{
    struct sigproc *header = &series->header;
    int has_number = 0;
    int64_t number = 0;
    TRY(series_read_position(series));
    TRY(series_read_text(series, "source_name", "source", &header->source));
    TRY(series_read_text(series, "telescope", "telescope", &series->telescope));
    TRY(h5_get_i64(series->data.id, series->path, "telescope_id", &number, &has_number));
    header->telescope_id = has_number && number > 0 && number <= INT32_MAX
                               ? (int32_t)number
                               : sigproc_telescope(series->telescope);
    return STATUS_OK;
}

static status_t series_open_here(const char *path, struct series **out)
{
    SCOPED(series_destroy_at) struct series *series = NULL;
    TRY(memory_zeroed(1, sizeof *series, "series", &series));
    series->file = -1;
    TRY(memory_text(path, &series->path));
    TRY(h5_open_file(path, &series->file));
    TRY(series_open_data(series));
    TRY(series_read_shape(series));
    TRY(series_read_dms(series));
    TRY(series_read_tsamp(series));
    TRY(series_read_numbers(series));
    TRY(series_read_start(series));
    TRY(series_read_words(series));
    TRY(series_read_band(series));
    *out = memory_move(&series);
    return STATUS_OK;
}

static status_t series_describe(const struct apart_request *request, void **out)
{
    SCOPED(series_destroy_at) struct series *series = NULL;
    (void)out;
    return series_open_here(request->path, &series);
}

const struct description series_description = {"series", NULL, series_describe};

status_t series_open(const char *path, struct series **out)
{
    TRY(apart_try(&series_description, &(struct apart_request){.path = path}));
    return series_open_here(path, out);
}

status_t series_read(const struct series *series, uint64_t dm, uint64_t first, uint64_t count,
                     float *out)
{
    const hsize_t start[2] = {dm, first};
    const hsize_t size[2] = {1, count};
    return h5_dataset_read_part(&series->data, start, size, H5T_NATIVE_FLOAT, out,
                                "%s: samples %llu .. %llu of DM %g", series->path,
                                (unsigned long long)first, (unsigned long long)(first + count),
                                series->dm[dm]);
}
