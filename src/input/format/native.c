/* The native layout: `format = "voltage"` at the root, axes and all else in attributes of
 * /voltages.
 */
#include "base/memory.h"
#include "base/units.h"
#include "input/archive.h"
#include "input/assumed.h"
#include "input/format/dataset.h"
#include "input/format/formats.h"
#include "input/format/said.h"
#include "input/hdf5/stored.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gaps of all streams, [n][2]: first sample and count; or of single ones, [n][3], with the stream.
 */

static status_t native_gaps_of_streams(const struct h5_dataset *gaps, const char *path,
                                       struct archive *archive)
{
    status_t st = STATUS_OK;
    size_t count = (size_t)gaps->dims[0];
    uint64_t(*rows)[3] = NULL;
    TRY(memory_zeroed(count, sizeof *rows, "gaps", &rows));
    TRY(memory_zeroed(count, sizeof *archive->losses.stream_gaps, "gaps",
                      &archive->losses.stream_gaps));
    TRY(h5_dataset_read(gaps, path, "/gaps", H5T_NATIVE_UINT64, gaps->count, rows));
    for (size_t i = 0; i < count; i++) {
        archive->losses.stream_gaps[i] =
            (struct archive_gap){.first = rows[i][0], .count = rows[i][1], .stream = rows[i][2]};
    }
    archive->losses.nstream_gaps = count;
    archive_gaps_sort(archive->losses.stream_gaps, count);
out:
    free(rows);
    return st;
}

/* Takes them into archive->gaps, [n][2], or archive->stream_gaps, [n][3], in order; whether they
 * lie in the observation is for who knows it to check. Fails with DATA. */
static status_t native_read_gaps(hid_t file, const char *path, struct archive *archive)
{
    status_t st = STATUS_OK;
    struct h5_dataset gaps = {0};
    int is_there = 0;
    TRY(h5_has(file, path, "gaps", &is_there));
    if (!is_there) {
        goto out;
    }
    TRY(stored_require_whole(path, "gaps", &archive->parts[0].storage));
    TRY(h5_dataset_open(file, path, "/gaps", &gaps));
    REQUIRE(gaps.rank == 2, STATUS_DATA, "%s: /gaps has %d dimensions, expected [n][2] or [n][3]",
            path, gaps.rank);
    REQUIRE((gaps.dims[1] == 2 || gaps.dims[1] == 3) && gaps.dims[0] < (1u << 26), STATUS_DATA,
            "%s: /gaps is %llu x %llu, expected [n][2] or [n][3]", path,
            (unsigned long long)gaps.dims[0], (unsigned long long)gaps.dims[1]);
    if (gaps.dims[0] == 0) {
        goto out;
    }
    if (gaps.dims[1] == 3) {
        TRY(native_gaps_of_streams(&gaps, path, archive));
        goto out;
    }
    TRY(memory_zeroed((size_t)gaps.dims[0], sizeof *archive->losses.gaps, "gaps",
                      &archive->losses.gaps));
    TRY(h5_dataset_read(&gaps, path, "/gaps", H5T_NATIVE_UINT64, gaps.count, archive->losses.gaps));
    archive->losses.ngaps = (size_t)gaps.dims[0];
out:
    h5_dataset_close(&gaps);
    return st;
}

static const char dataset_name[] = "/voltages";

/* Newest version that is read; versions since when /voltages may have `scale`, `dc`, then `offset`
 * and the file /levels. */
enum { NEWEST_VERSION = 4, VERSION_OF_SCALE = 2, VERSION_OF_DC = 3, VERSION_OF_LEVELS = 4 };

/* Start, telescope, source, position: attributes of the root. */
static status_t native_read_root(hid_t file, const char *path, struct job_layout *layout,
                                 struct archive *archive, int64_t *version)
{
    status_t st = STATUS_OK;
    int found = 0;
    int has_second = 0;
    int has_dec = 0;
    int64_t day = 0;
    char *scale = NULL;
    TRY(h5_get_i64(file, path, "format_version", version, &found));
    REQUIRE(found, STATUS_DATA, "%s has no attribute format_version, expected 1 or %d", path,
            NEWEST_VERSION);
    REQUIRE(*version >= 1 && *version <= NEWEST_VERSION, STATUS_DATA,
            "%s: format_version is %lld, this program reads versions 1 to %d of the native layout",
            path, (long long)*version, NEWEST_VERSION);
    TRY(h5_get_i64(file, path, "start_mjd_day", &day, &found));
    TRY(h5_get_f64(file, path, "start_second", &layout->time.start.second, &has_second));
    REQUIRE(found == has_second, STATUS_DATA,
            "%s has no attribute %s, expected start_mjd_day and start_second, or neither", path,
            found ? "start_second" : "start_mjd_day");
    if (found) {
        REQUIRE(day >= 0 && day < 1000000 && layout->time.start.second >= 0 &&
                    layout->time.start.second < leap_day_seconds((int32_t)day),
                STATUS_DATA,
                "%s: start_mjd_day %lld, start_second %.17g: not a date, expected a second below "
                "86400 (86401 on a day with a leap second)",
                path, (long long)day, layout->time.start.second);
        layout->time.start.mjd_day = (int32_t)day;
        layout->time.has_start = 1;
    }
    TRY(h5_get_text(file, path, "time_scale", &scale, &found));
    REQUIRE(!found || strcmp(scale, "UTC") == 0, STATUS_DATA, "%s: time_scale is %s, expected UTC",
            path, scale);
    TRY(assume_if(layout->time.has_start && !found, &archive->assumed,
                  "start in UTC: the file has no time_scale"));
    TRY(h5_get_text(file, path, "telescope", &layout->sky.telescope, &found));
    TRY(h5_get_text(file, path, "source", &layout->sky.source, &found));
    TRY(h5_get_f64(file, path, "ra_deg", &archive->sky.ra_deg, &found));
    TRY(h5_get_f64(file, path, "dec_deg", &archive->sky.dec_deg, &has_dec));
    archive->sky.has_position = found && has_dec;
    REQUIRE(!archive->sky.has_position ||
                (fabs(archive->sky.ra_deg) <= 360 && fabs(archive->sky.dec_deg) <= 90),
            STATUS_DATA,
            "%s: ra_deg %.10g, dec_deg %.10g: not a position, expected -360 to 360 and -90 to 90",
            path, archive->sky.ra_deg, archive->sky.dec_deg);
out:
    free(scale);
    return st;
}

static status_t native_read_packing(hid_t dataset, const char *where, struct job_layout *layout)
{
    status_t st = STATUS_OK;
    char *packing = NULL;
    TRY(h5_get_text(dataset, where, "packing", &packing, &layout->numbers.has_packing));
    if (layout->numbers.has_packing) {
        REQUIRE(packing_parse(packing, &layout->numbers.packing), STATUS_DATA,
                "%s: packing is \"%s\", expected " PACKING_TEXTS, where, packing);
    }
out:
    free(packing);
    return st;
}

/* Reads the offset of numbers that are not packed. */
static status_t native_read_offset(hid_t dataset, const char *where, int64_t version,
                                   struct job_layout *layout)
{
    status_t st = STATUS_OK;
    TRY(h5_get_f64(dataset, where, "offset", &layout->numbers.offset, &layout->numbers.has_offset));
    REQUIRE(
        !layout->numbers.has_offset || version >= VERSION_OF_LEVELS, STATUS_DATA,
        "%s has an attribute offset, but the file's format_version is %lld: it is of version %d",
        where, (long long)version, VERSION_OF_LEVELS);
    REQUIRE(!layout->numbers.has_offset || !layout->numbers.has_packing, STATUS_DATA,
            "%s has attributes offset and packing, expected one of them", where);
out:
    return st;
}

/* Reads the values of a packing of few bits, if they are not the usual ones. */
static status_t native_read_levels(hid_t file, const char *path, int64_t version,
                                   struct archive *archive, struct job_layout *layout)
{
    status_t st = STATUS_OK;
    int found = 0;
    size_t count = 0;
    TRY(h5_has(file, path, "levels", &found));
    if (!found || version < VERSION_OF_LEVELS) {
        goto out;
    }
    TRY(stored_require_whole(path, "levels", &archive->parts[0].storage));
    TRY(h5_read_f64s(file, path, "levels", &layout->numbers.levels, &count));
    REQUIRE(layout->numbers.has_packing && layout->numbers.packing.bits > 0 &&
                layout->numbers.packing.bits < 8,
            STATUS_DATA, "%s: has /levels, but its samples have no packing of 1, 2 or 4 bits",
            path);
    layout->numbers.nlevels = (uint32_t)min_u64(count, UINT32_MAX);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(fabs(layout->numbers.levels[i]) <= 1e6, STATUS_DATA,
                "%s: /levels holds %g, expected numbers from -1e6 to 1e6", path,
                layout->numbers.levels[i]);
    }
out:
    return st;
}

/* Not of a version that did not know it: its readers take what is stored for volts. */
static status_t native_read_scale(hid_t dataset, const char *where, int64_t version,
                                  struct job_layout *layout)
{
    status_t st = STATUS_OK;
    layout->numbers.scale = 1;
    TRY(h5_get_f64(dataset, where, "scale", &layout->numbers.scale, &layout->numbers.has_scale));
    REQUIRE(!layout->numbers.has_scale || version >= VERSION_OF_SCALE, STATUS_DATA,
            "%s has an attribute scale, but the file's format_version is %lld: scales are of "
            "version %d",
            where, (long long)version, VERSION_OF_SCALE);
    REQUIRE(layout->numbers.scale >= TERMS_LEAST_SCALE && layout->numbers.scale <= TERMS_MOST_SCALE,
            STATUS_DATA,
            "%s: scale is %g, expected a number from %g to %g, the volts of 1 as it is stored",
            where, layout->numbers.scale, TERMS_LEAST_SCALE, TERMS_MOST_SCALE);
out:
    return st;
}

/* Where 0 Hz of complex samples lies. Not of a version that did not know it. */
static status_t native_read_dc(hid_t dataset, const char *where, int64_t version,
                               struct job_layout *layout)
{
    status_t st = STATUS_OK;
    char *dc = NULL;
    TRY(h5_get_text(dataset, where, "dc", &dc, &layout->has_dc));
    REQUIRE(!layout->has_dc || version >= VERSION_OF_DC, STATUS_DATA,
            "%s has an attribute dc, but the file's format_version is %lld: it is of version %d",
            where, (long long)version, VERSION_OF_DC);
    layout->is_dc_at_edge =
        layout->has_dc && (strcmp(dc, "lower") == 0 || strcmp(dc, "upper") == 0);
    REQUIRE(!layout->has_dc || layout->is_dc_at_edge || strcmp(dc, "centre") == 0, STATUS_DATA,
            "%s: dc is %s, expected centre, lower or upper", where, dc);
out:
    free(dc);
    return st;
}

static status_t native_read_oversampling(hid_t dataset, const char *where,
                                         struct job_layout *layout)
{
    status_t st = STATUS_OK;
    int64_t num = 1;
    int64_t den = 1;
    int has_num = 0;
    int has_den = 0;
    TRY(h5_get_i64(dataset, where, "oversampling_num", &num, &has_num));
    TRY(h5_get_i64(dataset, where, "oversampling_den", &den, &has_den));
    REQUIRE(has_num == has_den, STATUS_DATA,
            "%s has no attribute %s, expected oversampling_num and oversampling_den, or neither",
            where, has_num ? "oversampling_den" : "oversampling_num");
    REQUIRE(den >= 1 && num >= den && num <= 1000000, STATUS_DATA,
            "%s: oversampling is %lld/%lld, expected 1 or more", where, (long long)num,
            (long long)den);
    layout->has_oversampling = 1;
    layout->oversample.num = (uint32_t)num;
    layout->oversample.den = (uint32_t)den;
out:
    return st;
}

/* Attributes of /voltages. */
static status_t native_read_dataset(hid_t file, const char *path, int64_t version,
                                    struct job_layout *layout)
{
    status_t st = STATUS_OK;
    char *domain = NULL;
    int found = 0;
    int64_t sideband = 1;
    hid_t dataset = -1;
    char where[1024];
    snprintf(where, sizeof where, "%s: %s", path, dataset_name);
    TRY(dataset_open(file, path, dataset_name, &dataset));
    TRY(memory_text(dataset_name, &layout->dataset));
    TRY(h5_get_text(dataset, where, "axes", &layout->axes, &found));
    REQUIRE(found, STATUS_DATA, "%s has no attribute axes", where);
    TRY(h5_get_f64(dataset, where, "sample_rate_hz", &layout->time.sample_rate_hz,
                   &layout->time.has_sample_rate));
    REQUIRE(layout->time.has_sample_rate, STATUS_DATA, "%s has no attribute sample_rate_hz", where);
    REQUIRE(isfinite(layout->time.sample_rate_hz) && layout->time.sample_rate_hz > 0, STATUS_DATA,
            "%s: sample_rate_hz is %g, expected more than 0", where, layout->time.sample_rate_hz);
    TRY(h5_get_text(dataset, where, "domain", &domain, &layout->has_domain));
    REQUIRE(layout->has_domain && (strcmp(domain, "complex") == 0 || strcmp(domain, "real") == 0),
            STATUS_DATA, "%s: domain is %s, expected complex or real", where,
            layout->has_domain ? domain : "missing");
    layout->is_complex = strcmp(domain, "complex") == 0;
    TRY(h5_get_i64(dataset, where, "sideband", &sideband, &layout->has_sideband));
    REQUIRE(layout->has_sideband, STATUS_DATA, "%s has no attribute sideband, expected +1 or -1",
            where);
    REQUIRE(sideband == 1 || sideband == -1, STATUS_DATA, "%s: sideband is %lld, expected +1 or -1",
            where, (long long)sideband);
    layout->sideband = (int)sideband;
    TRY(native_read_packing(dataset, where, layout));
    TRY(native_read_offset(dataset, where, version, layout));
    TRY(h5_get_f64(dataset, where, "missing_value", &layout->numbers.missing_value,
                   &layout->numbers.has_missing_value));
    TRY(native_read_scale(dataset, where, version, layout));
    TRY(native_read_dc(dataset, where, version, layout));
    TRY(native_read_oversampling(dataset, where, layout));
out:
    free(domain);
    h5_close(dataset);
    return st;
}

static status_t native_read_names(hid_t file, const char *path, enum axis axis,
                                  struct archive *archive)
{
    status_t st = STATUS_OK;
    const char *name = axis_name(axis);
    int is_there = 0;
    TRY(h5_has(file, path, name, &is_there));
    if (is_there) {
        size_t count = 0;
        TRY(stored_require_whole(path, name, &archive->parts[0].storage));
        TRY(h5_read_texts(file, path, name, &archive->names[axis], &count));
        archive->count[axis] = count;
    }
out:
    return st;
}

/* Voltages that were dedispersed coherently before they were written. */
static status_t native_read_coherent(hid_t file, const char *path, struct archive *archive,
                                     size_t *count)
{
    status_t st = STATUS_OK;
    int has_dm = 0;
    int has_constant = 0;
    int has_delays = 0;
    TRY(h5_get_f64(file, path, "coherent_dm", &archive->coherent.dm, &has_dm));
    TRY(h5_get_f64(file, path, "coherent_constant", &archive->coherent.constant, &has_constant));
    TRY(h5_has(file, path, "delay_hz", &has_delays));
    REQUIRE(has_dm == has_constant && has_dm == has_delays, STATUS_DATA,
            "%s: of coherent_dm, coherent_constant and /delay_hz only some are there: expected "
            "all, or none",
            path);
    if (!has_dm) {
        goto out;
    }
    TRY(stored_require_whole(path, "delay_hz", &archive->parts[0].storage));
    TRY(h5_read_f64s(file, path, "delay_hz", &archive->coherent.delay_hz, count));
    REQUIRE(isfinite(archive->coherent.dm) && archive->coherent.constant > 0, STATUS_DATA,
            "%s: coherent_dm is %g, coherent_constant %g, expected numbers, the second above 0",
            path, archive->coherent.dm, archive->coherent.constant);
    for (size_t i = 0; i < *count; i++) {
        REQUIRE(isfinite(archive->coherent.delay_hz[i]) && archive->coherent.delay_hz[i] > 0,
                STATUS_DATA, "%s: /delay_hz holds %g, expected frequencies above 0", path,
                archive->coherent.delay_hz[i]);
    }
out:
    return st;
}

/* Reads the file: as a description, and what only the native layout has. */
/* Reads positions of stations, and the array's reference place. */
static status_t native_read_positions(hid_t file, const char *path, struct archive *archive)
{
    status_t st = STATUS_OK;
    static const char *const names[] = {"station_itrf_m", "reference_itrf_m"};
    struct h5_dataset set = {0};
    int found = 0;
    for (int i = 0; i < 2; i++) {
        TRY(h5_has(file, path, names[i], &found));
        if (!found) {
            continue;
        }
        TRY(stored_require_whole(path, names[i], &archive->parts[0].storage));
        TRY(h5_dataset_open(file, path, names[i], &set));
        REQUIRE(set.count % 3 == 0 && set.count <= 3 * 65536 && (i == 0 || set.count == 3),
                STATUS_DATA, "%s: /%s has %llu numbers, expected 3 of each place", path, names[i],
                (unsigned long long)set.count);
        if (i == 0) {
            TRY(memory_zeroed((size_t)set.count, sizeof(double), "positions of stations",
                              &archive->states.itrf_m));
            archive->states.nitrf_m = set.count;
        }
        TRY(h5_dataset_read(&set, path, names[i], H5T_NATIVE_DOUBLE, set.count,
                            i == 0 ? archive->states.itrf_m : archive->states.reference_m));
        archive->states.has_reference = i;
        h5_dataset_close(&set);
        set = (struct h5_dataset){0};
    }
out:
    h5_dataset_close(&set);
    return st;
}

static status_t native_read(hid_t file, const char *path, struct job_layout *layout,
                            struct archive *archive, size_t *ndelays)
{
    status_t st = STATUS_OK;
    int found = 0;
    int64_t version = 0;
    TRY(native_read_root(file, path, layout, archive, &version));
    TRY(native_read_dataset(file, path, version, layout));
    TRY(native_read_levels(file, path, version, archive, layout));
    TRY(native_read_names(file, path, AXIS_STATION, archive));
    TRY(native_read_names(file, path, AXIS_POL, archive));
    TRY(native_read_gaps(file, path, archive));
    TRY(native_read_positions(file, path, archive));
    TRY(native_read_coherent(file, path, archive, ndelays));
    TRY(assumed_read(file, path, &archive->assumed));
    TRY(h5_has(file, path, "freq_hz", &found));
    if (found) {
        size_t count = 0;
        TRY(stored_require_whole(path, "freq_hz", &archive->parts[0].storage));
        TRY(h5_read_f64s(file, path, "freq_hz", &layout->freq.hz, &count));
        layout->freq.count = (uint32_t)count;
    }
out:
    return st;
}

/* An attribute `format` of another kind only means that the file is somebody else's. */
static status_t native_is_said(hid_t file, const char *path, int *out)
{
    status_t st = STATUS_OK;
    char *format = NULL;
    int found = 0;
    TRY(h5_find_text(file, path, "format", &format, &found));
    *out = found && strcmp(format, "voltage") == 0;
out:
    free(format);
    return st;
}

static status_t native_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    TRY(h5_open_cut_file(path, &file));
    TRY(native_is_said(file, path, is_it));
out:
    h5_close(file);
    return st;
}

static status_t native_check_frequencies(const struct job_layout *layout,
                                         const struct archive *archive)
{
    status_t st = STATUS_OK;
    const char *path = archive->parts[0].path;
    REQUIRE(layout->freq.count > 0, STATUS_DATA,
            "%s has no dataset /freq_hz, expected the centre of each of %" PRIu64
            " coarse channels",
            path, archive->count[AXIS_CHAN]);
    REQUIRE(layout->freq.count == archive->count[AXIS_CHAN], STATUS_DATA,
            "%s: /freq_hz holds %u frequencies, expected one for each of %" PRIu64
            " coarse channels",
            path, layout->freq.count, archive->count[AXIS_CHAN]);
out:
    return st;
}

static status_t native_open_file(const char *path, const struct job_layout *layout,
                                 struct archive **out)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    int is_native = 0;
    size_t ndelays = 0;
    struct archive *archive = NULL;
    struct job_layout own = {.files_along = layout->files_along};
    TRY(archive_create(path, &archive));
    TRY(h5_open_cut_file(path, &file));
    TRY(native_is_said(file, path, &is_native));
    REQUIRE(is_native, STATUS_DATA,
            "%s is not %s: describe it under input.layout, see docs/archives.md", path,
            native_format.expected);
    TRY(memory_text("native layout", &archive->layout));
    TRY(native_read(file, path, &own, archive, &ndelays));
    TRY(override_layout(layout, &own));
    TRY(dataset_describe(file, &own, "", archive));
    TRY(override_has_frequencies(layout) ? STATUS_OK : native_check_frequencies(&own, archive));
    REQUIRE(!archive->coherent.delay_hz || ndelays == archive->count[AXIS_CHAN], STATUS_DATA,
            "%s: /delay_hz holds %zu frequencies, expected one for each of %" PRIu64
            " coarse channels",
            path, ndelays, archive->count[AXIS_CHAN]);
    archive->states.start = archive->sky.has_start;
    archive->states.freq |= !override_has_frequencies(layout);
    *out = archive;
    archive = NULL;
out:
    override_free(&own);
    archive_destroy(archive);
    h5_close(file);
    return st;
}

const struct format native_format = {.name = "native",
                                     .title = "an archive in the native layout",
                                     .expected =
                                         "in the native layout (no attribute format = \"voltage\")",
                                     .recognise = native_recognise,
                                     .open_file = native_open_file};
