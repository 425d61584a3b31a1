/* LOFAR's transient buffer boards (ICD-001): /STATION_name/DIPOLE_sssrrrddd, in files of 2008
 * /Station001/001001009, real samples of one dipole each, which begin when they do
 * (nextgen-astrodata/DAL, dal/lofar/TBB_File.cc). */
#include "base/memory.h"
#include "base/text.h"
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/gather.h"
#include "input/format/said.h"
#include "input/lost.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char title[] = "a LOFAR TBB file";

/* All dipoles of all files. */
struct lofar_tbb {
    struct places places;
    char **ids; /* of each "011001010" */
    size_t nids;
};

/* Attributes of a dipole's dataset. */
struct lofar_tbb_dipole {
    const char *name;
    double rate;
    int64_t time, sample, zone, length;
    int has_zone, has_length;
};

/* "STATION_CS011/DIPOLE_011001010", "Station001/001001009" */
static int lofar_tbb_is_dipole(const char *path)
{
    const char *slash = strchr(path, '/');
    return (strncmp(path, "STATION_", 8) == 0 || strncmp(path, "Station", 7) == 0) && slash &&
           !strchr(slash + 1, '/');
}

static status_t lofar_tbb_list(const struct fields *f, struct h5_names *out)
{
    return fields_datasets(f, lofar_tbb_is_dipole, "SAMPLE_NUMBER", out);
}

static status_t lofar_tbb_recognise(const char *path, int *is_it)
{
    SCOPED(fields_close) struct fields fields = {.file = -1};
    SCOPED(h5_names_free) struct h5_names names = {0};
    int is_said = 0;
    TRY(fields_open(path, title, NULL, &fields));
    TRY(lofar_tbb_list(&fields, &names));
    TRY(h5_says(fields.file, path, "FILETYPE", "tbb", &is_said));
    *is_it = names.count > 0 || is_said;
    return STATUS_OK;
}

/* Converts to Hz; the unit is an attribute beside it, MHz if there is none. No station samples at
 * more than 1e5 MHz, whatever its unit says. */
static status_t lofar_tbb_hertz(const struct fields *f, const char *object, const char *name,
                                double *hertz)
{
    SCOPED(free_at) char *unit = NULL;
    TRY(fields_text(f, object, name, &unit, NULL));
    double scale = fields_unit(unit) > 0 ? fields_unit(unit) : 1e6;
    if (scale >= 1e6 && *hertz > 1e5) {
        scale = 1;
        TRY(assume_if(unit != NULL, &f->archive->assumed,
                      "%s %s of %.12g is taken for Hz, by its size", name, unit, *hertz));
    }
    *hertz *= scale;
    return STATUS_OK;
}

/* Reads the sample rate, and checks that it is the station's clock. */
static status_t lofar_tbb_read_rate(const struct fields *f, const char *name, double *rate)
{
    double clock = 0;
    int found = 0;
    TRY(fields_f64(f, name, "SAMPLE_FREQUENCY", rate, &found));
    TRY(found ? STATUS_OK : fields_need_f64(f, name, "SAMPLE_FREQUENCY_VALUE", rate));
    TRY(lofar_tbb_hertz(f, name, "SAMPLE_FREQUENCY_UNIT", rate));
    TRY(fields_check_rate(f, *rate));
    TRY(fields_f64(f, "/", "CLOCK_FREQUENCY", &clock, &found));
    TRY(found ? lofar_tbb_hertz(f, "/", "CLOCK_FREQUENCY_UNIT", &clock) : STATUS_OK);
    return REQUIRED(!found || override_has_rate(f->layout) || fabs(clock / *rate - 1) < 1e-9,
                    STATUS_DATA,
                    "%s: %s: SAMPLE_FREQUENCY is %.12g Hz, but CLOCK_FREQUENCY %.12g Hz: "
                    "input.layout.sample_rate_hz says which is right",
                    f->path, name, *rate, clock);
}

/* The filter before the samples, "LBA_10_90", passes frequencies of the dipole's Nyquist zone. */
static status_t lofar_tbb_check_zone(const struct fields *f, const char *name,
                                     const struct lofar_tbb_dipole *dipole)
{
    SCOPED(free_at) char *filter = NULL;
    double low = 0;
    double high = 0;
    TRY(fields_text(f, "/", "FILTER_SELECTION", &filter, NULL));
    int found = filter && sscanf(filter, "%*3[A-Z]_%lf_%lf", &low, &high) == 2;
    double zone = floor((low + high) / 2 * 1e6 / (dipole->rate / 2)) + 1;
    return REQUIRED(!found || !dipole->has_zone || override_has_frequencies(f->layout) ||
                        zone == (double)dipole->zone,
                    STATUS_DATA,
                    "%s: %s: NYQUIST_ZONE is %" PRId64 ", but FILTER_SELECTION %s is of zone %.0f: "
                    "input.layout.freq_hz and sideband say what is right",
                    f->path, name, dipole->zone, filter, zone);
}

static status_t lofar_tbb_read(const struct fields *f, const char *name,
                               struct lofar_tbb_dipole *out)
{
    out->zone = 1;
    TRY(lofar_tbb_read_rate(f, name, &out->rate));
    TRY(fields_need_i64(f, name, "TIME", &out->time));
    TRY(fields_need_i64(f, name, "SAMPLE_NUMBER", &out->sample));
    TRY(fields_i64(f, name, "NYQUIST_ZONE", &out->zone, &out->has_zone));
    TRY(fields_i64(f, name, "DATA_LENGTH", &out->length, &out->has_length));
    REQUIRE(out->time >= 0 && out->time <= UINT32_MAX && out->sample >= 0 &&
                (double)out->sample < 2 * out->rate,
            STATUS_DATA,
            "%s: %s: TIME is %" PRId64 ", SAMPLE_NUMBER %" PRId64
            ", expected seconds since 1970 and a sample within one at %g Hz",
            f->path, name, out->time, out->sample, out->rate);
    REQUIRE(out->zone >= 1 && out->zone <= 10, STATUS_DATA,
            "%s: %s: NYQUIST_ZONE is %" PRId64 ", expected 1, 2 or 3", f->path, name, out->zone);
    return lofar_tbb_check_zone(f, name, out);
}

static status_t lofar_tbb_fill(struct fields *f, const struct lofar_tbb_dipole *dipole)
{
    struct job_layout *own = &f->own;
    TRY(fields_set_words(f, dipole->name, "time", NULL));
    own->has_domain = 1;
    own->time.has_sample_rate = 1;
    own->time.sample_rate_hz = dipole->rate;
    TRY(fields_set_start(f, "TIME", dipole->time, (double)dipole->sample / dipole->rate));
    own->has_sideband = 1;
    own->sideband = dipole->zone % 2 ? 1 : -1;
    TRY(layout_make_frequencies(own, 1));
    own->freq.hz[0] = ((double)dipole->zone - 0.5) * dipole->rate / 2;
    return STATUS_OK;
}

/* Reads the ranges (first, end) of samples that the recorder knows to be bad. */
static status_t lofar_tbb_read_flags(const struct fields *f, const char *name,
                                     struct archive *archive)
{
    SCOPED(free_at) uint64_t *flags = NULL;
    size_t count = 0;
    uint64_t samples = archive->count[AXIS_TIME];
    TRY(fields_attribute_u64s(f, name, "FLAG_OFFSETS", &flags, &count));
    TRY(memory_zeroed(count / 2, sizeof *archive->losses.stream_gaps, "flags",
                      &archive->losses.stream_gaps));
    uint64_t end = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        REQUIRE(flags[i] >= end && flags[i + 1] >= flags[i], STATUS_DATA,
                "%s: %s: FLAG_OFFSETS has the range %" PRIu64 " .. %" PRIu64
                ", expected ascending ones",
                f->path, name, flags[i], flags[i + 1]);
        end = flags[i + 1];
        uint64_t high = min_u64(end, samples);
        if (flags[i] < high) {
            archive->losses.stream_gaps[archive->losses.nstream_gaps++] =
                (struct archive_gap){.first = flags[i], .count = high - flags[i]};
        }
    }
    return STATUS_OK;
}

/* Reads the position of the antenna, ITRF; the files of 2008 state zeros. */
static status_t lofar_tbb_read_position(const struct fields *f, const char *name,
                                        struct archive *archive)
{
    static const char *const names[] = {"ANTENNA_POSITION", "ANTENNA_POSITION_VALUE"};
    SCOPED(free_at) char *frame = NULL;
    SCOPED(free_at) double *itrf_m = NULL;
    TRY(fields_text(f, name, "ANTENNA_POSITION_FRAME", &frame, NULL));
    for (int i = 0; i < 2 && frame && strcmp(frame, "ITRF") == 0 && !archive->states.itrf_m; i++) {
        size_t count = 0;
        TRY(fields_attribute_f64s(f, name, names[i], &itrf_m, &count));
        if (count == 3 && itrf_m[0] != 0) {
            archive->states.itrf_m = memory_move(&itrf_m);
            archive->states.nitrf_m = 3;
        }
        free(memory_move(&itrf_m));
    }
    return STATUS_OK;
}

static status_t lofar_tbb_read_dipole(struct fields *f, void *context)
{
    struct lofar_tbb_dipole *dipole = context;
    struct archive *archive = f->archive;
    struct sky *sky = &archive->sky;
    struct archive_part *part = &archive->parts[0];
    const char *name = dipole->name;
    TRY(lofar_tbb_read(f, name, dipole));
    TRY(lofar_tbb_fill(f, dipole));
    TRY(fields_describe(f, "LOFAR TBB"));
    TRY(sky->telescope ? STATUS_OK : fields_text(f, "/", "TELESCOPE", &sky->telescope, NULL));
    TRY(sky->source ? STATUS_OK : fields_text(f, "/", "TARGETS", &sky->source, NULL));
    TRY(lofar_tbb_read_position(f, name, archive));
    REQUIRE(!dipole->has_length ||
                (dipole->length > 0 && (uint64_t)dipole->length <= part->samples),
            STATUS_DATA, "%s: %s: DATA_LENGTH is %" PRId64 ", but it contains %" PRIu64 " samples",
            f->path, name, dipole->length, part->samples);
    TRY(dipole->has_length ? cut_time(archive, (uint64_t)dipole->length) : STATUS_OK);
    TRY(memory_text(name, &part->dataset));
    TRY(lofar_tbb_read_flags(f, name, archive));
    return assume_unless(dipole->has_zone || override_has(f->layout, SAID_SIDEBAND),
                         &archive->assumed, "Nyquist zone 1: %s does not say", name);
}

/* Opens a dipole; its samples are counted from 1970 on. The number at the end of
 * "DIPOLE_011001010" may be known already: then it is another piece of it. */
static status_t lofar_tbb_open_dipole(const struct fields *f, const char *name,
                                      struct lofar_tbb *all)
{
    struct lofar_tbb_dipole dipole = {.name = name};
    struct place *place = NULL;
    const char *id = text_basename(name);
    id = strncmp(id, "DIPOLE_", 7) == 0 ? id + 7 : id;
    uint64_t stack = 0;
    size_t same = 0;
    for (; same < all->nids && strcmp(all->ids[same], id) != 0; same++) {
        stack = max_u64(stack, all->places.items[same].stack + 1);
    }
    stack = same < all->nids ? all->places.items[same].stack : stack;
    TRY(memory_grow(all->nids, sizeof *all->ids, "dipoles", &all->ids));
    TRY(memory_text(id, &all->ids[all->nids]));
    all->nids++;
    TRY(places_add(&all->places, &place));
    place->stack = stack;
    TRY(fields_make(f, lofar_tbb_read_dipole, &dipole, &place->archive));
    place->first_sample =
        (uint64_t)llround((double)dipole.time * dipole.rate) + (uint64_t)dipole.sample;
    return STATUS_OK;
}

static status_t lofar_tbb_open_file(const char *path, const struct job_layout *layout,
                                    struct lofar_tbb *all)
{
    SCOPED(fields_close) struct fields fields = {.file = -1};
    SCOPED(h5_names_free) struct h5_names names = {0};
    TRY(fields_open(path, title, layout, &fields));
    TRY(lofar_tbb_list(&fields, &names));
    REQUIRE(names.count > 0, STATUS_DATA,
            "%s contains no samples of dipoles, expected STATION_name/DIPOLE_number with "
            "SAMPLE_NUMBER in %s",
            path, title);
    for (size_t i = 0; i < names.count; i++) {
        TRY(lofar_tbb_open_dipole(&fields, names.names[i], all));
    }
    return STATUS_OK;
}

/* Two dipoles of one antenna, receivers 2n and 2n + 1, are its polarisations; others are stations
 * each. */
static enum axis lofar_tbb_axis(const struct lofar_tbb *all, uint64_t stacks,
                                const struct job_layout *layout)
{
    if (layout->files_along != AXIS_TIME || stacks == 1) {
        return stacks == 1 ? AXIS_TIME : layout->files_along;
    }
    const char *a = all->ids[0];
    const char *b = NULL;
    for (size_t i = 1; i < all->nids && !b; i++) {
        b = all->places.items[i].stack == 1 ? all->ids[i] : NULL;
    }
    size_t length = strlen(a);
    int is_pair = stacks == 2 && b && length > 0 && strlen(b) == length &&
                  strncmp(a, b, length - 1) == 0 && isdigit((unsigned char)a[length - 1]) &&
                  a[length - 1] % 2 == 0 && b[length - 1] == a[length - 1] + 1;
    return is_pair ? AXIS_POL : AXIS_STATION;
}

SCOPED_CALLS(lofar_tbb_free, struct lofar_tbb, places_free(&at->places),
             text_free_list(at->ids, at->nids))

static status_t lofar_tbb_open(const struct format_input *input, struct archive **out)
{
    SCOPED(lofar_tbb_free) struct lofar_tbb all = {.nids = 0};
    uint64_t stacks = 0;
    for (size_t i = 0; i < input->npaths; i++) {
        TRY(lofar_tbb_open_file(input->paths[i], input->layout, &all));
    }
    for (size_t i = 0; i < all.nids; i++) {
        stacks = max_u64(stacks, all.places.items[i].stack + 1);
    }
    const enum axis axis = lofar_tbb_axis(&all, stacks, input->layout);
    for (size_t i = 0; i < all.nids; i++) {
        struct archive *archive = all.places.items[i].archive;
        archive->shape.stacked = axis;
        TRY(axis == AXIS_STATION || axis == AXIS_POL || axis == AXIS_BEAM
                ? gather_name(archive, axis, 1, 0, all.ids[i])
                : STATUS_OK);
    }
    return place_join(&all.places, PLACE_NEAR, out);
}

const struct format lofar_tbb_format = {
    .name = "lofar_tbb", .recognise = lofar_tbb_recognise, .open = lofar_tbb_open};
