/* The native layout: `format = "voltage"` at the root, axes and all else in attributes of
 * /voltages.
 */
#include "base/memory.h"
#include "base/units.h"
#include "input/archive.h"
#include "input/format/dataset.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/said.h"
#include "input/hdf5/stored.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether a dataset is there, which then must be complete. */
static status_t native_has(const struct fields *f, const char *name, int *out)
{
    TRY(h5_has(f->file, f->path, name, out));
    return *out ? stored_require_whole(f->path, name, &f->archive->parts[0].storage) : STATUS_OK;
}

/* Gaps of all streams, [n][2]: first sample and count; or of single ones, [n][3], with the stream.
 * Takes them into archive->gaps or, in order, archive->stream_gaps; whether they are in the
 * observation is for who knows it to check. HDF5 would make numbers below 0 those of sample 0: with
 * a sign they stay, beyond all samples. Fails with DATA. */
static status_t native_read_gaps(const struct fields *f)
{
    SCOPED(h5_dataset_close) struct h5_dataset gaps = {0};
    struct archive_losses *losses = &f->archive->losses;
    const char *path = f->path;
    int is_there = 0;
    TRY(native_has(f, "gaps", &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(h5_dataset_open(f->file, path, "/gaps", &gaps));
    REQUIRE(gaps.rank == 2, STATUS_DATA, "%s: /gaps has %d dimensions, expected [n][2] or [n][3]",
            path, gaps.rank);
    REQUIRE((gaps.dims[1] == 2 || gaps.dims[1] == 3) && gaps.dims[0] < (1u << 26), STATUS_DATA,
            "%s: /gaps is %llu x %llu, expected [n][2] or [n][3]", path,
            (unsigned long long)gaps.dims[0], (unsigned long long)gaps.dims[1]);
    const size_t count = (size_t)gaps.dims[0];
    const int are_all = gaps.dims[1] == 2;
    TRY(are_all ? memory_zeroed(count, sizeof *losses->gaps, "gaps", &losses->gaps)
                : memory_zeroed(count, sizeof *losses->stream_gaps, "gaps", &losses->stream_gaps));
    TRY(h5_dataset_read(&gaps, path, "/gaps", H5T_NATIVE_INT64, gaps.count,
                        are_all ? (void *)losses->gaps : losses->stream_gaps));
    losses->ngaps = are_all ? count : 0;
    losses->nstream_gaps = are_all ? 0 : count;
    archive_gaps_sort(losses->stream_gaps, losses->nstream_gaps);
    return STATUS_OK;
}

static const char dataset_name[] = "/voltages";

/* Newest version that is read; versions since when /voltages may have `scale`, `dc`, then `offset`
 * and the file /levels. */
enum { NEWEST_VERSION = 4, VERSION_OF_SCALE = 2, VERSION_OF_DC = 3, VERSION_OF_LEVELS = 4 };

/* /voltages, which is open. */
struct native {
    hid_t dataset;
    char where[1024];
    int64_t version; /* of the file */
};

static status_t native_read_start(struct fields *f)
{
    int64_t day = 0;
    struct utc *start = &f->own.time.start;
    int has_second = 0;
    int found = 0;
    TRY(fields_i64(f, "/", "start_mjd_day", &day, &found));
    TRY(fields_f64(f, "/", "start_second", &start->second, &has_second));
    REQUIRE(found == has_second, STATUS_DATA,
            "%s has no attribute %s, expected start_mjd_day and start_second, or neither", f->path,
            found ? "start_second" : "start_mjd_day");
    REQUIRE(!found || (day >= 0 && day < 1000000 && start->second >= 0 &&
                       start->second < leap_day_seconds((int32_t)day)),
            STATUS_DATA,
            "%s: start_mjd_day %lld, start_second %.17g: not a date, expected a second below "
            "86400 (86401 on a day with a leap second)",
            f->path, (long long)day, start->second);
    start->mjd_day = (int32_t)day;
    f->own.time.has_start = found;
    return fields_check_scale(f);
}

/* Reads attributes of the root: start, telescope, source, position. */
static status_t native_read_root(struct fields *f, int64_t *version)
{
    struct sky *sky = &f->archive->sky;
    int found = 0;
    int has_dec = 0;
    TRY(fields_i64(f, "/", "format_version", version, &found));
    REQUIRE(found, STATUS_DATA, "%s has no attribute format_version, expected 1 or %d", f->path,
            NEWEST_VERSION);
    REQUIRE(*version >= 1 && *version <= NEWEST_VERSION, STATUS_DATA,
            "%s: format_version is %lld, this program reads versions 1 to %d of the native layout",
            f->path, (long long)*version, NEWEST_VERSION);
    TRY(native_read_start(f));
    TRY(fields_text(f, "/", "telescope", &f->own.sky.telescope, NULL));
    TRY(fields_text(f, "/", "source", &f->own.sky.source, NULL));
    TRY(fields_f64(f, "/", "ra_deg", &sky->ra_deg, &found));
    TRY(fields_f64(f, "/", "dec_deg", &sky->dec_deg, &has_dec));
    sky->has_position = found && has_dec;
    return REQUIRED(
        !sky->has_position || (fabs(sky->ra_deg) <= 360 && fabs(sky->dec_deg) <= 90), STATUS_DATA,
        "%s: ra_deg %.10g, dec_deg %.10g: not a position, expected -360 to 360 and -90 to 90",
        f->path, sky->ra_deg, sky->dec_deg);
}

/* Fails with DATA: an attribute that a file of its version does not have. */
static status_t native_check_version(const struct native *n, int found, const char *name, int since)
{
    return REQUIRED(
        !found || n->version >= since, STATUS_DATA,
        "%s has an attribute %s, but the file's format_version is %lld: it is of version %d",
        n->where, name, (long long)n->version, since);
}

/* Reads the packing, or the offset of numbers that are not packed. */
static status_t native_read_packing(const struct native *n, struct job_layout_numbers *numbers)
{
    SCOPED(free_at) char *packing = NULL;
    TRY(h5_get_text(n->dataset, n->where, "packing", &packing, &numbers->has_packing));
    REQUIRE(!numbers->has_packing || packing_parse(packing, &numbers->packing), STATUS_DATA,
            "%s: packing is \"%s\", expected " PACKING_TEXTS, n->where, packing);
    TRY(h5_get_f64(n->dataset, n->where, "offset", &numbers->offset, &numbers->has_offset));
    TRY(native_check_version(n, numbers->has_offset, "offset", VERSION_OF_LEVELS));
    return REQUIRED(!numbers->has_offset || !numbers->has_packing, STATUS_DATA,
                    "%s has attributes offset and packing, expected one of them", n->where);
}

/* Reads the values of a packing of few bits, if they are not the usual ones. */
static status_t native_read_levels(struct fields *f, int64_t version)
{
    struct job_layout_numbers *numbers = &f->own.numbers;
    int found = 0;
    size_t count = 0;
    TRY(version < VERSION_OF_LEVELS ? STATUS_OK : native_has(f, "levels", &found));
    if (!found) {
        return STATUS_OK;
    }
    TRY(h5_read_f64s(f->file, f->path, "levels", &numbers->levels, &count));
    REQUIRE(numbers->has_packing && numbers->packing.bits > 0 && numbers->packing.bits < 8,
            STATUS_DATA, "%s: has /levels, but its samples have no packing of 1, 2 or 4 bits",
            f->path);
    numbers->nlevels = (uint32_t)min_u64(count, UINT32_MAX);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(fabs(numbers->levels[i]) <= 1e6, STATUS_DATA,
                "%s: /levels contains %g, expected numbers from -1e6 to 1e6", f->path,
                numbers->levels[i]);
    }
    return STATUS_OK;
}

/* Not of a version that did not know it: its readers take what is stored for volts. */
static status_t native_read_scale(const struct native *n, struct job_layout_numbers *numbers)
{
    numbers->scale = 1;
    TRY(h5_get_f64(n->dataset, n->where, "scale", &numbers->scale, &numbers->has_scale));
    REQUIRE(!numbers->has_scale || n->version >= VERSION_OF_SCALE, STATUS_DATA,
            "%s has an attribute scale, but the file's format_version is %lld: scales are of "
            "version %d",
            n->where, (long long)n->version, VERSION_OF_SCALE);
    return REQUIRED(
        numbers->scale >= TERMS_LEAST_SCALE && numbers->scale <= TERMS_MOST_SCALE, STATUS_DATA,
        "%s: scale is %g, expected a number from %g to %g, the volts of 1 as it is stored",
        n->where, numbers->scale, TERMS_LEAST_SCALE, TERMS_MOST_SCALE);
}

/* Reads whether 0 Hz of complex samples is a channel's centre or its edge. Fails if the file's
 * version had no such attribute. */
static status_t native_read_dc(const struct native *n, struct job_layout *own)
{
    SCOPED(free_at) char *dc = NULL;
    TRY(h5_get_text(n->dataset, n->where, "dc", &dc, &own->has_dc));
    TRY(native_check_version(n, own->has_dc, "dc", VERSION_OF_DC));
    own->is_dc_at_edge = own->has_dc && (strcmp(dc, "lower") == 0 || strcmp(dc, "upper") == 0);
    return REQUIRED(!own->has_dc || own->is_dc_at_edge || strcmp(dc, "centre") == 0, STATUS_DATA,
                    "%s: dc is %s, expected centre, lower or upper", n->where, dc);
}

SCOPED_CALLS(native_close, struct native, h5_close(at->dataset))

/* Attributes of /voltages. */
static status_t native_read_dataset(struct fields *f, int64_t version)
{
    SCOPED(free_at) char *domain = NULL;
    int found = 0;
    int64_t sideband = 1;
    struct job_layout *own = &f->own;
    SCOPED(native_close) struct native n = {.dataset = -1, .version = version};
    const char *where = n.where;
    snprintf(n.where, sizeof n.where, "%s: %s", f->path, dataset_name);
    TRY(dataset_open(f->file, f->path, dataset_name, &n.dataset));
    TRY(memory_text(dataset_name, &own->dataset));
    TRY(h5_get_text(n.dataset, where, "axes", &own->axes, &found));
    REQUIRE(found, STATUS_DATA, "%s has no attribute axes", where);
    TRY(h5_get_f64(n.dataset, where, "sample_rate_hz", &own->time.sample_rate_hz,
                   &own->time.has_sample_rate));
    REQUIRE(own->time.has_sample_rate, STATUS_DATA, "%s has no attribute sample_rate_hz", where);
    REQUIRE(isfinite(own->time.sample_rate_hz) && own->time.sample_rate_hz > 0, STATUS_DATA,
            "%s: sample_rate_hz is %g, expected more than 0", where, own->time.sample_rate_hz);
    TRY(h5_get_text(n.dataset, where, "domain", &domain, &own->has_domain));
    REQUIRE(own->has_domain && (strcmp(domain, "complex") == 0 || strcmp(domain, "real") == 0),
            STATUS_DATA, "%s: domain is %s, expected complex or real", where,
            own->has_domain ? domain : "missing");
    own->is_complex = strcmp(domain, "complex") == 0;
    TRY(h5_get_i64(n.dataset, where, "sideband", &sideband, &own->has_sideband));
    REQUIRE(own->has_sideband, STATUS_DATA, "%s has no attribute sideband, expected +1 or -1",
            where);
    REQUIRE(sideband == 1 || sideband == -1, STATUS_DATA, "%s: sideband is %lld, expected +1 or -1",
            where, (long long)sideband);
    own->sideband = (int)sideband;
    TRY(native_read_packing(&n, &own->numbers));
    TRY(h5_get_f64(n.dataset, where, "missing_value", &own->numbers.missing_value,
                   &own->numbers.has_missing_value));
    TRY(native_read_scale(&n, &own->numbers));
    TRY(native_read_dc(&n, own));
    return fields_set_oversampling(f, dataset_name, where);
}

static status_t native_read_names(const struct fields *f, enum axis axis)
{
    struct archive *archive = f->archive;
    int is_there = 0;
    size_t count = 0;
    TRY(native_has(f, axis_name(axis), &is_there));
    if (is_there) {
        TRY(h5_read_texts(f->file, f->path, axis_name(axis), &archive->names[axis], &count));
        archive->count[axis] = count;
    }
    return STATUS_OK;
}

/* Voltages that were dedispersed coherently before they were written. */
static status_t native_read_coherent(const struct fields *f, size_t *count)
{
    struct coherent *coherent = &f->archive->coherent;
    int has_dm = 0;
    int has_constant = 0;
    int has_delays = 0;
    TRY(fields_f64(f, "/", "coherent_dm", &coherent->dm, &has_dm));
    TRY(fields_f64(f, "/", "coherent_constant", &coherent->constant, &has_constant));
    TRY(native_has(f, "delay_hz", &has_delays));
    REQUIRE(has_dm == has_constant && has_dm == has_delays, STATUS_DATA,
            "%s: of coherent_dm, coherent_constant and /delay_hz only some are there: expected "
            "all, or none",
            f->path);
    if (!has_dm) {
        return STATUS_OK;
    }
    TRY(h5_read_f64s(f->file, f->path, "delay_hz", &coherent->delay_hz, count));
    REQUIRE(isfinite(coherent->dm) && coherent->constant > 0, STATUS_DATA,
            "%s: coherent_dm is %g, coherent_constant %g, expected numbers, the second above 0",
            f->path, coherent->dm, coherent->constant);
    for (size_t i = 0; i < *count; i++) {
        REQUIRE(isfinite(coherent->delay_hz[i]) && coherent->delay_hz[i] > 0, STATUS_DATA,
                "%s: /delay_hz contains %g, expected frequencies above 0", f->path,
                coherent->delay_hz[i]);
    }
    return STATUS_OK;
}

/* Reads positions of stations, and the array's reference place. */
static status_t native_read_positions(const struct fields *f)
{
    static const char *const names[] = {"station_itrf_m", "reference_itrf_m"};
    SCOPED(h5_dataset_close) struct h5_dataset set = {0};
    struct archive *archive = f->archive;
    const char *path = f->path;
    int found = 0;
    for (int i = 0; i < 2; i++) {
        TRY(native_has(f, names[i], &found));
        if (!found) {
            continue;
        }
        TRY(h5_dataset_open(f->file, path, names[i], &set));
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
    return STATUS_OK;
}

static status_t native_check_frequencies(const struct job_layout *layout,
                                         const struct archive *archive)
{
    const char *path = archive->parts[0].path;
    REQUIRE(layout->freq.count > 0, STATUS_DATA,
            "%s has no dataset /freq_hz, expected the centre of each of %" PRIu64
            " coarse channels",
            path, archive->count[AXIS_CHAN]);
    return REQUIRED(layout->freq.count == archive->count[AXIS_CHAN], STATUS_DATA,
                    "%s: /freq_hz contains %u frequencies, expected one for each of %" PRIu64
                    " coarse channels",
                    path, layout->freq.count, archive->count[AXIS_CHAN]);
}

static status_t native_read(struct fields *f, void *context)
{
    struct archive *archive = f->archive;
    int64_t version = 0;
    size_t ndelays = 0;
    size_t nfreqs = 0;
    int found = 0;
    (void)context;
    TRY(h5_says(f->file, f->path, "format", "voltage", &found));
    REQUIRE(found, STATUS_DATA,
            "%s is not %s: describe it under input.layout, see docs/archives.md", f->path,
            NATIVE_EXPECTED);
    TRY(memory_text("native layout", &archive->layout));
    TRY(native_read_root(f, &version));
    TRY(native_read_dataset(f, version));
    TRY(native_read_levels(f, version));
    TRY(native_read_names(f, AXIS_STATION));
    TRY(native_read_names(f, AXIS_POL));
    TRY(native_read_gaps(f));
    TRY(native_read_positions(f));
    TRY(native_read_coherent(f, &ndelays));
    TRY(assumed_read(f->file, f->path, &archive->assumed));
    TRY(native_has(f, "freq_hz", &found));
    TRY(found ? h5_read_f64s(f->file, f->path, "freq_hz", &f->own.freq.hz, &nfreqs) : STATUS_OK);
    f->own.freq.count = (uint32_t)nfreqs;
    TRY(override_layout(f->layout, &f->own));
    TRY(dataset_describe(f->file, &f->own, "", archive));
    int is_said = override_has_frequencies(f->layout);
    TRY(is_said ? STATUS_OK : native_check_frequencies(&f->own, archive));
    REQUIRE(!archive->coherent.delay_hz || ndelays == archive->count[AXIS_CHAN], STATUS_DATA,
            "%s: /delay_hz contains %zu frequencies, expected one for each of %" PRIu64
            " coarse channels",
            f->path, ndelays, archive->count[AXIS_CHAN]);
    archive->states.start = archive->sky.has_start;
    archive->states.freq |= !is_said;
    return STATUS_OK;
}

const struct format native_format = {.name = "native",
                                     .title = "an archive in the native layout",
                                     .shows = {"@format=voltage"},
                                     .read = native_read};
