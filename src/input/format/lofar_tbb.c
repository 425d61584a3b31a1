/* LOFAR's transient buffer boards (ICD-001): /STATION_name/DIPOLE_sssrrrddd, in files of 2008
 * /Station001/001001009, real samples of one dipole each, which begin when they do
 * (nextgen-astrodata/DAL, dal/lofar/TBB_File.cc). */
#include "base/memory.h"
#include "base/text.h"
#include "input/assumed.h"
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
    struct place *places;
    char **ids; /* [count] "011001010" */
    size_t count;
};

/* Attributes of a dipole's dataset. */
struct lofar_tbb_dipole {
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

static status_t lofar_tbb_list(const struct fields *fields, struct h5_names *out)
{
    return fields_datasets(fields, lofar_tbb_is_dipole, "SAMPLE_NUMBER", out);
}

static status_t lofar_tbb_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct fields fields = {.file = -1};
    struct h5_names names = {0};
    char *type = NULL;
    int found = 0;
    TRY(fields_open(path, title, &fields));
    TRY(lofar_tbb_list(&fields, &names));
    TRY(h5_find_text(fields.file, path, "FILETYPE", &type, &found));
    *is_it = names.count > 0 || (found && strcmp(type, "tbb") == 0);
out:
    free(type);
    text_free_list(names.names, names.count);
    fields_close(&fields);
    return st;
}

/* Converts to Hz; the unit is an attribute beside it, MHz if there is none. No station samples at
 * more than 1e5 MHz, whatever its unit says. */
static status_t lofar_tbb_hertz(const struct fields *fields, const char *object, const char *name,
                                char **assumed, double *hertz)
{
    status_t st = STATUS_OK;
    char *unit = NULL;
    int found = 0;
    TRY(fields_text(fields, object, name, &unit, &found));
    double scale = !found                     ? 1e6
                   : strcmp(unit, "Hz") == 0  ? 1
                   : strcmp(unit, "kHz") == 0 ? 1e3
                                              : 1e6;
    if (scale >= 1e6 && *hertz > 1e5) {
        scale = 1;
        TRY(assume_if(found, assumed, "%s %s of %.12g is taken for Hz, by its size", name, unit,
                      *hertz));
    }
    *hertz *= scale;
out:
    free(unit);
    return st;
}

/* The clock of the station is that of its samples. */
static status_t lofar_tbb_read_rate(const struct fields *fields, const char *name,
                                    const struct job_layout *layout, char **assumed, double *rate)
{
    status_t st = STATUS_OK;
    double clock = 0;
    int found = 0;
    TRY(fields_f64(fields, name, "SAMPLE_FREQUENCY", rate, &found));
    TRY(found ? STATUS_OK : fields_need_f64(fields, name, "SAMPLE_FREQUENCY_VALUE", rate));
    TRY(lofar_tbb_hertz(fields, name, "SAMPLE_FREQUENCY_UNIT", assumed, rate));
    TRY(fields_check_rate(fields, *rate));
    TRY(fields_f64(fields, "/", "CLOCK_FREQUENCY", &clock, &found));
    TRY(found ? lofar_tbb_hertz(fields, "/", "CLOCK_FREQUENCY_UNIT", assumed, &clock) : STATUS_OK);
    REQUIRE(!found || override_has_rate(layout) || fabs(clock / *rate - 1) < 1e-9, STATUS_DATA,
            "%s: %s: SAMPLE_FREQUENCY is %.12g Hz, but CLOCK_FREQUENCY %.12g Hz: "
            "input.layout.sample_rate_hz says which is right",
            fields->path, name, *rate, clock);
out:
    return st;
}

/* The filter before the samples, "LBA_10_90", passes frequencies of the dipole's Nyquist zone. */
static status_t lofar_tbb_check_zone(const struct fields *fields, const char *name,
                                     const struct job_layout *layout,
                                     const struct lofar_tbb_dipole *dipole)
{
    status_t st = STATUS_OK;
    char *filter = NULL;
    int found = 0;
    double low = 0;
    double high = 0;
    TRY(fields_text(fields, "/", "FILTER_SELECTION", &filter, &found));
    found = found && sscanf(filter, "%*3[A-Z]_%lf_%lf", &low, &high) == 2;
    double zone = floor((low + high) / 2 * 1e6 / (dipole->rate / 2)) + 1;
    REQUIRE(!found || !dipole->has_zone || override_has_frequencies(layout) ||
                zone == (double)dipole->zone,
            STATUS_DATA,
            "%s: %s: NYQUIST_ZONE is %" PRId64 ", but FILTER_SELECTION %s is of zone %.0f: "
            "input.layout.freq_hz and sideband say what is right",
            fields->path, name, dipole->zone, filter, zone);
out:
    free(filter);
    return st;
}

static status_t lofar_tbb_read(const struct fields *fields, const char *name,
                               const struct job_layout *layout, char **assumed,
                               struct lofar_tbb_dipole *out)
{
    status_t st = STATUS_OK;
    out->zone = 1;
    TRY(lofar_tbb_read_rate(fields, name, layout, assumed, &out->rate));
    TRY(fields_need_i64(fields, name, "TIME", &out->time));
    TRY(fields_need_i64(fields, name, "SAMPLE_NUMBER", &out->sample));
    TRY(fields_i64(fields, name, "NYQUIST_ZONE", &out->zone, &out->has_zone));
    TRY(fields_i64(fields, name, "DATA_LENGTH", &out->length, &out->has_length));
    REQUIRE(out->time >= 0 && out->time <= UINT32_MAX && out->sample >= 0 &&
                (double)out->sample < 2 * out->rate,
            STATUS_DATA,
            "%s: %s: TIME is %" PRId64 ", SAMPLE_NUMBER %" PRId64
            ", expected seconds since 1970 and a sample within one at %g Hz",
            fields->path, name, out->time, out->sample, out->rate);
    REQUIRE(out->zone >= 1 && out->zone <= 10, STATUS_DATA,
            "%s: %s: NYQUIST_ZONE is %" PRId64 ", expected 1, 2 or 3", fields->path, name,
            out->zone);
    TRY(lofar_tbb_check_zone(fields, name, layout, out));
out:
    return st;
}

static status_t lofar_tbb_fill(const struct lofar_tbb_dipole *dipole, const char *name,
                               const struct job_layout *layout, struct job_layout *own,
                               char **assumed)
{
    status_t st = STATUS_OK;
    TRY(memory_text(name, &own->dataset));
    TRY(memory_text("time", &own->axes));
    own->has_domain = 1;
    own->time.has_sample_rate = 1;
    own->time.sample_rate_hz = dipole->rate;
    TRY(fields_start("TIME", dipole->time, (double)dipole->sample / dipole->rate, layout, own,
                     assumed));
    own->has_sideband = 1;
    own->sideband = dipole->zone % 2 ? 1 : -1;
    own->freq.count = 1;
    TRY(memory_zeroed(1, sizeof *own->freq.hz, "frequencies", &own->freq.hz));
    own->freq.hz[0] = ((double)dipole->zone - 0.5) * dipole->rate / 2;
out:
    return st;
}

/* Ranges (first, end) of samples that the recorder knows to be bad. */
static status_t lofar_tbb_read_flags(const struct fields *fields, const char *name,
                                     struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t *flags = NULL;
    size_t count = 0;
    uint64_t samples = archive->count[AXIS_TIME];
    TRY(fields_attribute_u64s(fields, name, "FLAG_OFFSETS", &flags, &count));
    TRY(memory_zeroed(count / 2, sizeof *archive->losses.stream_gaps, "flags",
                      &archive->losses.stream_gaps));
    uint64_t end = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        REQUIRE(flags[i] >= end && flags[i + 1] >= flags[i], STATUS_DATA,
                "%s: %s: FLAG_OFFSETS has the range %" PRIu64 " .. %" PRIu64
                ", expected ascending ones",
                fields->path, name, flags[i], flags[i + 1]);
        end = flags[i + 1];
        uint64_t high = min_u64(end, samples);
        if (flags[i] < high) {
            archive->losses.stream_gaps[archive->losses.nstream_gaps++] =
                (struct archive_gap){.first = flags[i], .count = high - flags[i]};
        }
    }
out:
    free(flags);
    return st;
}

static status_t lofar_tbb_read_words(const struct fields *fields, struct archive *archive)
{
    status_t st = STATUS_OK;
    int found = 0;
    TRY(archive->sky.telescope
            ? STATUS_OK
            : fields_text(fields, "/", "TELESCOPE", &archive->sky.telescope, &found));
    TRY(archive->sky.source ? STATUS_OK
                            : fields_text(fields, "/", "TARGETS", &archive->sky.source, &found));
out:
    return st;
}

/* Reads the position of the antenna, ITRF; the files of 2008 state zeros. */
static status_t lofar_tbb_read_position(const struct fields *fields, const char *name,
                                        struct archive *archive)
{
    status_t st = STATUS_OK;
    static const char *const names[] = {"ANTENNA_POSITION", "ANTENNA_POSITION_VALUE"};
    char *frame = NULL;
    int found = 0;
    TRY(fields_text(fields, name, "ANTENNA_POSITION_FRAME", &frame, &found));
    for (int i = 0; i < 2 && found && strcmp(frame, "ITRF") == 0 && !archive->states.itrf_m; i++) {
        size_t count = 0;
        double *itrf_m = NULL;
        TRY(fields_attribute_f64s(fields, name, names[i], &itrf_m, &count));
        if (count == 3 && itrf_m[0] != 0) {
            archive->states.itrf_m = itrf_m;
            archive->states.nitrf_m = 3;
        } else {
            free(itrf_m);
        }
    }
out:
    free(frame);
    return st;
}

/* Opens one dipole; its samples are counted from 1970 on. */
static status_t lofar_tbb_open_dipole(const struct fields *fields, const char *name,
                                      const struct job_layout *layout, struct place *place)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    struct job_layout own = {0};
    struct lofar_tbb_dipole dipole = {0};
    TRY(archive_create(fields->path, &archive));
    TRY(lofar_tbb_read(fields, name, layout, &archive->assumed, &dipole));
    TRY(lofar_tbb_fill(&dipole, name, layout, &own, &archive->assumed));
    TRY(fields_describe(fields, "LOFAR TBB", layout, &own, archive));
    TRY(lofar_tbb_read_words(fields, archive));
    TRY(lofar_tbb_read_position(fields, name, archive));
    struct archive_part *part = &archive->parts[0];
    REQUIRE(!dipole.has_length || (dipole.length > 0 && (uint64_t)dipole.length <= part->samples),
            STATUS_DATA, "%s: %s: DATA_LENGTH is %" PRId64 ", but it holds %" PRIu64 " samples",
            fields->path, name, dipole.length, part->samples);
    TRY(dipole.has_length ? cut_time(archive, (uint64_t)dipole.length) : STATUS_OK);
    TRY(memory_text(name, &part->dataset));
    TRY(lofar_tbb_read_flags(fields, name, archive));
    TRY(assume_unless(dipole.has_zone || override_has(layout, SAID_SIDEBAND), &archive->assumed,
                      "Nyquist zone 1: %s does not say", name));
    place->archive = archive;
    place->first_sample =
        (uint64_t)llround((double)dipole.time * dipole.rate) + (uint64_t)dipole.sample;
    archive = NULL;
out:
    override_free(&own);
    archive_destroy(archive);
    return st;
}

/* The number at the end of "DIPOLE_011001010"; where it is known already, another piece of it. */
static status_t lofar_tbb_place(struct lofar_tbb *all, const char *name, struct place *place)
{
    const char *id = text_basename(name);
    id = strncmp(id, "DIPOLE_", 7) == 0 ? id + 7 : id;
    uint64_t stacks = 0;
    int is_known = 0;
    for (size_t i = 0; i < all->count && !is_known; i++) {
        is_known = strcmp(all->ids[i], id) == 0;
        place->stack = is_known ? all->places[i].stack : 0;
        stacks = max_u64(stacks, all->places[i].stack + 1);
    }
    place->stack = is_known ? place->stack : stacks;
    return memory_text(id, &all->ids[all->count]);
}

static status_t lofar_tbb_grow(struct lofar_tbb *all, size_t more)
{
    status_t st = STATUS_OK;
    TRY(memory_grown(all->count + more, sizeof *all->places, "dipoles", &all->places));
    TRY(memory_grown(all->count + more, sizeof *all->ids, "dipoles", &all->ids));
out:
    return st;
}

static status_t lofar_tbb_open_file(const char *path, const struct job_layout *layout,
                                    struct lofar_tbb *all)
{
    status_t st = STATUS_OK;
    struct fields fields = {.file = -1};
    struct h5_names names = {0};
    TRY(fields_open(path, title, &fields));
    TRY(lofar_tbb_list(&fields, &names));
    REQUIRE(names.count > 0, STATUS_DATA,
            "%s holds no samples of dipoles, expected STATION_name/DIPOLE_number with "
            "SAMPLE_NUMBER in %s",
            path, title);
    TRY(lofar_tbb_grow(all, names.count));
    for (size_t i = 0; i < names.count; i++) {
        struct place place = {.archive = NULL};
        TRY(lofar_tbb_place(all, names.names[i], &place));
        all->count++;
        all->places[all->count - 1] = place;
        TRY(lofar_tbb_open_dipole(&fields, names.names[i], layout, &all->places[all->count - 1]));
    }
out:
    text_free_list(names.names, names.count);
    fields_close(&fields);
    return st;
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
    for (size_t i = 1; i < all->count && !b; i++) {
        b = all->places[i].stack == 1 ? all->ids[i] : NULL;
    }
    size_t length = strlen(a);
    int is_pair = stacks == 2 && b && length > 0 && strlen(b) == length &&
                  strncmp(a, b, length - 1) == 0 && isdigit((unsigned char)a[length - 1]) &&
                  a[length - 1] % 2 == 0 && b[length - 1] == a[length - 1] + 1;
    return is_pair ? AXIS_POL : AXIS_STATION;
}

static status_t lofar_tbb_name(struct lofar_tbb *all, enum axis axis)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < all->count; i++) {
        struct archive *archive = all->places[i].archive;
        archive->shape.stacked = axis;
        if (axis == AXIS_STATION || axis == AXIS_POL || axis == AXIS_BEAM) {
            TRY(memory_zeroed(1, sizeof *archive->names[axis], "names", &archive->names[axis]));
            TRY(memory_text(all->ids[i], &archive->names[axis][0]));
        }
    }
out:
    return st;
}

static status_t lofar_tbb_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    struct lofar_tbb all = {.places = NULL};
    uint64_t stacks = 0;
    for (size_t i = 0; i < input->npaths; i++) {
        TRY(lofar_tbb_open_file(input->paths[i], input->layout, &all));
    }
    for (size_t i = 0; i < all.count; i++) {
        stacks = max_u64(stacks, all.places[i].stack + 1);
    }
    TRY(lofar_tbb_name(&all, lofar_tbb_axis(&all, stacks, input->layout)));
    TRY(place_join(all.places, all.count, PLACE_NEAR, out));
out:
    for (size_t i = 0; i < all.count; i++) {
        archive_destroy(all.places[i].archive);
        free(all.ids[i]);
    }
    free(all.places);
    free(all.ids);
    return st;
}

const struct format lofar_tbb_format = {
    .name = "lofar_tbb", .title = title, .recognise = lofar_tbb_recognise, .open = lofar_tbb_open};
