/* LOFAR's beam-formed complex voltages (ICD-003): /SUB_ARRAY_POINTING_mmm/BEAM_bbb/STOKES_s
 * [time][channel] of floats, most often in an external .raw, a file for each of Xr, Xi, Yr, Yi
 * (jjdmol/LOFAR, MSWriterDAL.cc; nextgen-astrodata/DAL, dal/lofar/BF_File.cc). */
#include "base/memory.h"
#include "base/text.h"
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/gather.h"
#include "input/format/said.h"
#include "input/lost.h"
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Rates, times and frequencies of LOFAR's beam-formed files, in units that are not always those
 * that the files say. */

/* A dataset and the groups that it is in, and which of Xr, Xi, Yr, Yi it is. */
struct lofar_bf_place {
    char stokes[300], beam[300], pointing[300];
    int component;
    uint64_t rows, chans; /* declared */
};

/* LOFAR neither observes nor samples above this; none of its rates is as few Hz. */
static const double most_mhz = 300;

/* "SUB_ARRAY_POINTING_000/BEAM_000/STOKES_0" */
static struct lofar_bf_place lofar_bf_place(const char *stokes)
{
    struct lofar_bf_place place = {.component = 0};
    snprintf(place.stokes, sizeof place.stokes, "%s", stokes);
    snprintf(place.beam, sizeof place.beam, "%s", stokes);
    *strrchr(place.beam, '/') = '\0';
    snprintf(place.pointing, sizeof place.pointing, "%s", place.beam);
    *strchr(place.pointing, '/') = '\0';
    return place;
}

/* Reads a number, and the size of the unit beside it (NAME_UNIT); 0: there is none. */
static status_t lofar_bf_number(const struct fields *f, const char *object, const char *name,
                                double *out, double *unit, int *found)
{
    char unit_name[80];
    SCOPED(free_at) char *text = NULL;
    snprintf(unit_name, sizeof unit_name, "%s_UNIT", name);
    TRY(fields_f64(f, object, name, out, found));
    TRY(fields_text(f, object, unit_name, &text, NULL));
    *unit = fields_unit(text);
    return STATUS_OK;
}

/* Makes Hz by the unit. Without one, and where it cannot be meant, the size tells MHz from Hz. */
static double lofar_bf_in_hertz(double value, double unit)
{
    int is_possible = unit > 0 && fabs(value) * unit <= most_mhz * 1e6;
    return value * (is_possible ? unit : fabs(value) <= most_mhz ? 1e6 : 1);
}

/* A number with its unit beside it, of the beam or (in 2011) of the pointing, in Hz. */
static status_t lofar_bf_hertz(const struct fields *f, const struct lofar_bf_place *place,
                               const char *name, double *out, int *found)
{
    double unit = 0;
    TRY(lofar_bf_number(f, place->beam, name, out, &unit, found));
    TRY(*found ? STATUS_OK : lofar_bf_number(f, place->pointing, name, out, &unit, found));
    *out = lofar_bf_in_hertz(*out, unit);
    return STATUS_OK;
}

/* Voltages are sampled at the width of their channels. */
static status_t lofar_bf_compare_width(const struct fields *f, const struct lofar_bf_place *place,
                                       double rate)
{
    double width = 0;
    int64_t channels = 1;
    int has_width = 0;
    int found = 0;
    const char *name = "CHANNEL_WIDTH";
    TRY(lofar_bf_hertz(f, place, name, &width, &has_width));
    if (!has_width) {
        name = "SUBBAND_WIDTH / CHANNELS_PER_SUBBAND";
        TRY(lofar_bf_hertz(f, place, "SUBBAND_WIDTH", &width, &has_width));
        TRY(fields_i64(f, place->beam, "CHANNELS_PER_SUBBAND", &channels, &found));
        has_width = has_width && found && channels > 0;
        width /= has_width ? (double)channels : 1;
    }
    return REQUIRED(
        !has_width || rate == 0 || override_has_rate(f->layout) || fabs(width / rate - 1) < 0.01,
        STATUS_DATA,
        "%s: %s is %.12g Hz, but voltages of it are sampled at %.12g Hz (SAMPLING_RATE, "
        "SAMPLING_TIME): input.layout.sample_rate_hz says which is right",
        f->path, name, width, rate);
}

/* Subbands are 1024th parts of the clock's rate, and their channels parts of them. */
static status_t lofar_bf_compare_clock(const struct fields *f, const struct lofar_bf_place *place,
                                       double rate)
{
    enum { SUBBANDS = 1024 };
    double clock = 0;
    double unit = 0;
    double width = 0;
    int64_t channels = 0;
    int has_clock = 0;
    int has_width = 0;
    int found = 0;
    TRY(lofar_bf_number(f, "/", "CLOCK_FREQUENCY", &clock, &unit, &has_clock));
    if (!has_clock || rate == 0 || override_has_rate(f->layout)) {
        return STATUS_OK;
    }
    double subband = lofar_bf_in_hertz(clock, unit) / SUBBANDS;
    TRY(lofar_bf_hertz(f, place, "SUBBAND_WIDTH", &width, &has_width));
    REQUIRE(!has_width || fabs(width / subband - 1) < 0.01, STATUS_DATA,
            "%s: CLOCK_FREQUENCY is %.12g, of subbands of %.12g Hz, but SUBBAND_WIDTH is %.12g Hz: "
            "input.layout.sample_rate_hz says the rate of samples",
            f->path, clock, subband, width);
    TRY(fields_i64(f, place->beam, "CHANNELS_PER_SUBBAND", &channels, &found));
    double each = subband / rate;
    double expected = found ? (double)channels : fmax(1, round(each));
    return REQUIRED(
        fabs(each / expected - 1) < 0.01, STATUS_DATA,
        "%s: CLOCK_FREQUENCY is %.12g, of subbands of %.12g Hz, but samples of %.12g Hz "
        "(SAMPLING_RATE, SAMPLING_TIME) are of %.9g channels in each, expected %s%.0f: "
        "input.layout.sample_rate_hz says which is right",
        f->path, clock, subband, rate, each, found ? "CHANNELS_PER_SUBBAND = " : "", expected);
}

static status_t lofar_bf_read_rate(struct fields *f, const struct lofar_bf_place *place)
{
    double rate = 0;
    double step = 0;
    double unit = 0;
    int has_rate = 0;
    int has_step = 0;
    TRY(lofar_bf_hertz(f, place, "SAMPLING_RATE", &rate, &has_rate));
    TRY(lofar_bf_number(f, place->beam, "SAMPLING_TIME", &step, &unit, &has_step));
    step *= unit > 0 ? unit : 1;
    REQUIRE(has_rate || has_step || override_has_rate(f->layout), STATUS_DATA,
            "%s: neither SAMPLING_RATE nor SAMPLING_TIME is in %s: input.layout.sample_rate_hz "
            "must say it",
            f->path, place->beam);
    REQUIRE(!has_rate || !has_step || override_has_rate(f->layout) || fabs(rate * step - 1) < 1e-6,
            STATUS_DATA,
            "%s: SAMPLING_RATE is %.12g Hz, SAMPLING_TIME %.12g s: input.layout.sample_rate_hz "
            "says which is right",
            f->path, rate, step);
    rate = has_rate ? rate : has_step ? 1 / step : 0;
    f->own.time.has_sample_rate = has_rate || has_step;
    f->own.time.sample_rate_hz = rate;
    TRY(lofar_bf_compare_width(f, place, rate));
    TRY(lofar_bf_compare_clock(f, place, rate));
    return has_rate || has_step ? fields_check_rate(f, rate) : STATUS_OK;
}

/* A start as a text, with or without a 'Z', and as a Modified Julian Day. */
struct lofar_bf_start {
    const char *utc, *mjd; /* names of attributes */
    int has_utc, has_mjd;
    struct utc start;
};

static const double start_tolerance = 1e-3; /* s */

/* Reads the start in both forms, UTC and MJD, which must agree. */
static status_t lofar_bf_read_forms(const struct fields *f, const char *object,
                                    struct lofar_bf_start *out)
{
    SCOPED(free_at) char *text = NULL;
    double mjd = 0;
    TRY(fields_text(f, object, out->utc, &text, &out->has_utc));
    TRY(fields_f64(f, object, out->mjd, &mjd, &out->has_mjd));
    int is_day = mjd > 0 && mjd < 1e6;
    if (out->has_utc) {
        REQUIRE(units_parse_utc(text, &out->start), STATUS_DATA,
                "%s: it starts at \"%s\", expected a date like 2012-08-22T10:25:00.000000000Z",
                f->path, text);
        REQUIRE(!out->has_mjd || override_has(f->layout, SAID_START) ||
                    (is_day && fabs(utc_difference(utc_of_mjd(mjd), out->start)) < start_tolerance),
                STATUS_DATA,
                "%s: it starts at \"%s\", but %s is %.15g: input.layout.start says which is right",
                f->path, text, out->mjd, mjd);
    } else if (out->has_mjd) {
        REQUIRE(is_day, STATUS_DATA, "%s: %s is %g, expected a Modified Julian Day", f->path,
                out->mjd, mjd);
        out->start = utc_of_mjd(mjd);
    }
    return STATUS_OK;
}

/* The pointing's start goes before that of the observation; where the observation's text agrees
 * with the pointing's day, the text, which is finer. */
static status_t lofar_bf_read_start(struct fields *f, const struct lofar_bf_place *place)
{
    struct lofar_bf_start pointing = {.utc = "EXPTIME_START_UTC", .mjd = "EXPTIME_START_MJD"};
    struct lofar_bf_start all = {.utc = "OBSERVATION_START_UTC", .mjd = "OBSERVATION_START_MJD"};
    TRY(lofar_bf_read_forms(f, place->pointing, &pointing));
    TRY(pointing.has_utc ? STATUS_OK : lofar_bf_read_forms(f, "/", &all));
    int is_finer = all.has_utc && fabs(utc_difference(pointing.start, all.start)) < start_tolerance;
    const struct lofar_bf_start *start =
        pointing.has_utc || (pointing.has_mjd && !is_finer) ? &pointing : &all;
    char **assumed = &f->archive->assumed;
    f->own.time.has_start = start->has_utc || start->has_mjd;
    f->own.time.start = start->start;
    return start->has_utc || override_has(f->layout, SAID_START) ? STATUS_OK
           : start->has_mjd ? assume(assumed, "%s is not there: %s = %.15g is used", start->utc,
                                     start->mjd, start->start.mjd_day + start->start.second / 86400)
                            : assume(assumed, "%s is not there: the start is unknown", start->utc);
}

/* The middle of the frequencies is the centre of the beam, to within a channel. */
static status_t lofar_bf_compare_centre(const struct fields *f, const struct lofar_bf_place *place)
{
    double centre = 0;
    int found = 0;
    const struct job_layout *own = &f->own;
    double middle = (own->freq.hz[0] + own->freq.hz[own->freq.count - 1]) / 2;
    TRY(lofar_bf_hertz(f, place, "BEAM_FREQUENCY_CENTER", &centre, &found));
    return REQUIRED(
        !found || own->time.sample_rate_hz == 0 || override_has_frequencies(f->layout) ||
            fabs(centre - middle) <= own->time.sample_rate_hz,
        STATUS_DATA,
        "%s: BEAM_FREQUENCY_CENTER is %.12g Hz, but AXIS_VALUES_WORLD has its middle at %.12g "
        "Hz: input.layout.freq_hz says which is right",
        f->path, centre, middle);
}

/* Compares the number of channels with that of all subbands, if the file states it. */
static status_t lofar_bf_compare_channels(const struct fields *f,
                                          const struct lofar_bf_place *place)
{
    SCOPED(free_at) uint64_t *each = NULL;
    size_t count = 0;
    uint64_t sum = 0;
    TRY(fields_attribute_u64s(f, place->stokes, "NOF_CHANNELS", &each, &count));
    for (size_t i = 0; i < count; i++) {
        sum += each[i];
    }
    return REQUIRED(count == 0 || sum == place->chans, STATUS_DATA,
                    "%s: NOF_CHANNELS of %zu subbands are %" PRIu64 ", but %s has %" PRIu64
                    " channels",
                    f->path, count, sum, place->stokes, place->chans);
}

static status_t lofar_bf_read_frequencies(struct fields *f, const struct lofar_bf_place *place)
{
    static const char *const groups[] = {"COORDINATES/COORDINATE_1", "Coordinates/COORDINATE_1",
                                         "Coordinates/Coordinate1"};
    size_t count = 0;
    double **hz = &f->own.freq.hz;
    for (int i = 0; i < 3 && count == 0; i++) {
        char name[400];
        snprintf(name, sizeof name, "%s/%s", place->beam, groups[i]);
        TRY(fields_attribute_f64s(f, name, "AXIS_VALUES_WORLD", hz, &count));
    }
    REQUIRE(count == 0 || count == place->chans, STATUS_DATA,
            "%s: COORDINATE_1 has AXIS_VALUES_WORLD of %zu channels, but %s has %" PRIu64, f->path,
            count, place->stokes, place->chans);
    f->own.freq.count = (uint32_t)count;
    /* AXIS_UNITS says MHz even where they are Hz. */
    double factor = count > 0 && fabs(**hz) <= most_mhz ? 1e6 : 1;
    for (size_t i = 0; i < count; i++) {
        (*hz)[i] *= factor;
    }
    return count > 0 ? lofar_bf_compare_centre(f, place) : STATUS_OK;
}

static status_t lofar_bf_read_words(struct fields *f, const struct lofar_bf_place *place)
{
    struct job_layout_sky *sky = &f->own.sky;
    const char *object = place->beam;
    TRY(fields_text(f, "/", "TELESCOPE", &sky->telescope, NULL));
    TRY(fields_text(f, object, "TARGETS", &sky->source, NULL));
    TRY(sky->source ? STATUS_OK : fields_text(f, "/", "TARGETS", &sky->source, NULL));
    TRY(fields_f64(f, object, "POINT_RA", &sky->ra_deg, &sky->has_ra));
    if (!sky->has_ra) {
        object = place->pointing;
        TRY(fields_f64(f, object, "POINT_RA", &sky->ra_deg, &sky->has_ra));
    }
    return fields_f64(f, object, "POINT_DEC", &sky->dec_deg, &sky->has_dec);
}

/* Fills in rate, start, frequencies, telescope, source and position, in whichever of the spellings
 * of 2011 and later they are. Fails with DATA: values that contradict each other, or are absurd. */
static status_t lofar_bf_fill(struct fields *f, const struct lofar_bf_place *place)
{
    TRY(fields_set_words(f, place->stokes, "time,chan", NULL));
    f->own.has_sideband = 1;
    f->own.sideband = 1;
    TRY(lofar_bf_read_rate(f, place));
    TRY(lofar_bf_read_start(f, place));
    TRY(lofar_bf_compare_channels(f, place));
    TRY(lofar_bf_read_frequencies(f, place));
    return lofar_bf_read_words(f, place);
}

/* Reads the DM of coherent dedispersion; 0: there was none. */
static status_t lofar_bf_dm(const struct fields *f, const struct lofar_bf_place *place, double *dm)
{
    SCOPED(free_at) char *how = NULL;
    *dm = 0;
    TRY(fields_text(f, place->beam, "DEDISPERSION", &how, NULL));
    if (how && strcmp(how, "COHERENT") == 0) {
        TRY(fields_f64(f, place->beam, "DISPERSION_MEASURE", dm, NULL));
    }
    return STATUS_OK;
}

static const char title[] = "a LOFAR beam-formed file";

enum { COMPONENTS = 4, PARTS_OF_POL = 2 };
static const char *const component_names[COMPONENTS] = {"Xr", "Xi", "Yr", "Yi"};

/* The files that are found of an observation: a dataset for each component. */
struct lofar_bf {
    struct {
        char *path;
        char *observation, *where; /* OBSERVATION_ID, pointing and beam */
    } component[COMPONENTS];
    struct places places;
    uint64_t declared; /* rows of the dataset with most of them */
};

static int lofar_bf_is_stokes(const char *path)
{
    const char *beam = strstr(path, "/BEAM_");
    const char *stokes = beam ? strstr(beam, "/STOKES_") : NULL;
    return strncmp(path, "SUB_ARRAY_POINTING_", 19) == 0 && stokes && !strchr(stokes + 1, '/') &&
           !strstr(stokes, "_i2f") && strlen(path) < 200;
}

static status_t lofar_bf_recognise(const char *path, int *is_it)
{
    SCOPED(fields_close) struct fields fields = {.file = -1};
    SCOPED(h5_names_free) struct h5_names names = {0};
    TRY(fields_open(path, title, NULL, &fields));
    TRY(fields_datasets(&fields, lofar_bf_is_stokes, "STOKES_COMPONENT", &names));
    *is_it = names.count > 0;
    return STATUS_OK;
}

/* Finds whether a dataset is Xr, Xi, Yr or Yi. Fails for powers and scaled bytes, naming them. */
static status_t lofar_bf_find_component(const struct fields *f, const char *name, int *out)
{
    SCOPED(free_at) char *text = NULL;
    char scales[300 + sizeof "_i2f"];
    int has_scales = 0;
    *out = -1;
    TRY(fields_text(f, name, "STOKES_COMPONENT", &text, NULL));
    for (int i = 0; i < COMPONENTS && text; i++) {
        *out = strncmp(text, component_names[i], 2) == 0 ? i : *out;
    }
    REQUIRE(*out >= 0, STATUS_DATA,
            "%s: %s is Stokes %s, a filterbank, not voltages: expected Xr, Xi, Yr, Yi", f->path,
            name, text ? text : "?");
    snprintf(scales, sizeof scales, "%s_i2f", name);
    TRY(h5_has(f->file, f->path, scales, &has_scales));
    return REQUIRED(
        !has_scales, STATUS_DATA,
        "%s: %s is of 8 bits with scales in %s, which are not read: expected floats, as LOFAR "
        "writes them",
        f->path, name, scales);
}

/* Bytes of the dataset that its files hold, of those that they are declared to hold. */
static status_t lofar_bf_measure(const struct archive_part *part, uint64_t *bytes)
{
    int is_whole = 1;
    *bytes = 0;
    for (uint32_t i = 0; i < part->nextents && is_whole; i++) {
        const struct archive_extent *extent = &part->extents[i];
        struct stat info;
        REQUIRE(stat(extent->path, &info) == 0, STATUS_DATA, "%s: %s", extent->path,
                strerror(errno));
        uint64_t size = (uint64_t)info.st_size;
        uint64_t there = size > extent->file_offset ? size - extent->file_offset : 0;
        is_whole = there >= extent->bytes;
        *bytes += min_u64(there, extent->bytes);
    }
    return STATUS_OK;
}

/* The archive's rows are those that its files hold: datasets promise more than was written. */
static status_t lofar_bf_cut(const struct fields *f, const char *name)
{
    struct archive *archive = f->archive;
    struct archive_part *part = &archive->parts[0];
    uint64_t row = archive->count[AXIS_CHAN] * archive->stored.element_bytes;
    uint64_t bytes = 0;
    if (part->nextents > 0) {
        TRY(lofar_bf_measure(part, &bytes));
        REQUIRE(bytes >= row, STATUS_DATA,
                "%s: %s declares %" PRIu64 " rows of %" PRIu64
                " bytes, but its external file contains only %" PRIu64 " bytes",
                f->path, name, part->samples, row, bytes);
        TRY(cut_time(archive, min_u64(bytes / row, part->samples)));
    }
    return memory_text(name, &part->dataset);
}

static status_t lofar_bf_read(struct fields *f, void *context)
{
    struct archive *archive = f->archive;
    struct lofar_bf_place *place = context;
    const char *name = place->stokes;
    double dm = 0;
    int64_t stated = 0;
    int found = 0;
    hsize_t dims[2];
    TRY(fields_shape(f, name, 2, dims));
    place->rows = dims[0];
    place->chans = dims[1];
    TRY(lofar_bf_fill(f, place));
    TRY(fields_describe(f, "LOFAR beam-formed voltages"));
    TRY(fields_i64(f, name, "NOF_SAMPLES", &stated, &found));
    TRY(assume_if(found && (uint64_t)stated != place->rows, &archive->assumed,
                  "NOF_SAMPLES is %" PRId64 ", %s has %" PRIu64 " rows: those written are read",
                  stated, name, place->rows));
    REQUIRE(!archive->is_complex, STATUS_DATA,
            "%s: %s contains complex numbers, expected real ones of one component", f->path, name);
    TRY(lofar_bf_cut(f, name));
    TRY(lofar_bf_dm(f, place, &dm));
    TRY(fields_note_coherent(f, dm));
    archive->shape.stacked = AXIS_POL;
    return STATUS_OK;
}

/* Notes a component; another of the same is of another observation, or another part of its band. */
static status_t lofar_bf_note(const struct fields *f, const struct lofar_bf_place *place,
                              struct lofar_bf *all)
{
    SCOPED(free_at) char *id = NULL;
    const int component = place->component;
    TRY(fields_text(f, "/", "OBSERVATION_ID", &id, NULL));
    TRY(id ? STATUS_OK : memory_text("?", &id));
    for (int i = 0; i < COMPONENTS; i++) {
        if (!all->component[i].path) {
            continue;
        }
        REQUIRE(strcmp(all->component[i].observation, id) == 0 &&
                    strcmp(all->component[i].where, place->beam) == 0,
                STATUS_DATA,
                "%s is of observation %s, %s, but %s of %s, %s: they do not belong together",
                all->component[i].path, all->component[i].observation, all->component[i].where,
                f->path, id, place->beam);
    }
    REQUIRE(!all->component[component].path, STATUS_DATA,
            "%s and %s both contain %s: parts of a band (P000, P001 ...) are read one by one",
            all->component[component].path, f->path, component_names[component]);
    TRY(memory_text(f->path, &all->component[component].path));
    TRY(memory_text(place->beam, &all->component[component].where));
    all->component[component].observation = memory_move(&id);
    return STATUS_OK;
}

static status_t lofar_bf_open_file(const char *path, const struct job_layout *layout,
                                   struct lofar_bf *all)
{
    SCOPED(fields_close) struct fields fields = {.file = -1};
    SCOPED(h5_names_free) struct h5_names names = {0};
    TRY(fields_open(path, title, layout, &fields));
    TRY(fields_datasets(&fields, lofar_bf_is_stokes, "STOKES_COMPONENT", &names));
    REQUIRE(names.count > 0, STATUS_DATA,
            "%s contains no SUB_ARRAY_POINTING_mmm/BEAM_bbb/STOKES_s, expected in %s", path, title);
    for (size_t i = 0; i < names.count; i++) {
        struct lofar_bf_place found = lofar_bf_place(names.names[i]);
        struct place *place = NULL;
        TRY(lofar_bf_find_component(&fields, found.stokes, &found.component));
        TRY(lofar_bf_note(&fields, &found, all));
        TRY(places_add(&all->places, &place));
        TRY(fields_make(&fields, lofar_bf_read, &found, &place->archive));
        place->stack = (uint64_t)found.component;
        all->declared = max_u64(all->declared, found.rows);
    }
    return STATUS_OK;
}

/* Returns the index of the component's digit in "L999999_SAP000_B000_S0_P000_bf.h5"; 0: there is
 * none. */
static size_t lofar_bf_digit(const char *path)
{
    for (const char *at = text_basename(path); *at; at++) {
        if (at[0] == '_' && at[1] == 'S' && at[2] >= '0' && at[2] <= '3' && at[3] == '_') {
            return (size_t)(at + 2 - path);
        }
    }
    return 0;
}

/* Opens a file and those beside it that are of other components, unless they are open. */
static status_t lofar_bf_open_siblings(const char *path, const struct job_layout *layout,
                                       struct lofar_bf *all)
{
    SCOPED(free_at) char *name = NULL;
    size_t digit = lofar_bf_digit(path);
    TRY(memory_text(path, &name));
    for (int i = 0; i < (digit > 0 ? COMPONENTS : 1); i++) {
        int is_open = 0;
        int exists = 1;
        if (digit > 0) {
            name[digit] = (char)('0' + i);
            TRY(strcmp(name, path) == 0 ? STATUS_OK : file_exists(name, &exists));
        }
        for (int j = 0; j < COMPONENTS && exists && !is_open; j++) {
            TRY(all->component[j].path ? file_is_same(all->component[j].path, name, &is_open)
                                       : STATUS_OK);
        }
        TRY(exists && !is_open ? lofar_bf_open_file(name, layout, all) : STATUS_OK);
    }
    return STATUS_OK;
}

static status_t lofar_bf_check(const struct lofar_bf *all)
{
    for (int i = 0; i < COMPONENTS; i++) {
        const char *path = all->component[i].path;
        const char *other = all->component[i ^ 1].path;
        REQUIRE(path || !other, STATUS_DATA,
                "%s contains %s, but %s is not there: expected beside it in a file of the same "
                "name with _S%d_",
                other, component_names[i ^ 1], component_names[i], i);
    }
    const struct archive *first = all->places.items[0].archive;
    for (size_t i = 1; i < all->places.count; i++) {
        const struct archive *next = all->places.items[i].archive;
        REQUIRE(
            first->sky.has_start == next->sky.has_start &&
                (!first->sky.has_start ||
                 fabs(utc_difference(first->sky.start, next->sky.start)) * first->sample_rate_hz <
                     0.5),
            STATUS_DATA, "%s starts at %s, but %s at %s: they do not belong together",
            first->parts[0].path, units_utc(first->sky.start), next->parts[0].path,
            units_utc(next->sky.start));
    }
    return STATUS_OK;
}

/* Makes polarisations of the components: four are two polarisations. */
static status_t lofar_bf_pair(const struct lofar_bf *all, const struct job_layout *layout,
                              struct archive *archive)
{
    static const char *const pols[] = {"X", "Y"};
    uint64_t count = archive->count[AXIS_POL] / PARTS_OF_POL;
    const char *const *names = all->component[0].path ? pols : pols + 1;
    archive->is_complex = 1;
    archive->shape.is_reim_stacked = 1;
    archive->present[AXIS_POL] = 1;
    archive->count[AXIS_POL] = count;
    archive->oversample = override_ratio(layout);
    for (uint64_t i = 0; i < count; i++) {
        TRY(gather_name(archive, AXIS_POL, count, i, names[i]));
    }
    uint64_t samples = archive->count[AXIS_TIME];
    return assume_unless(samples == all->declared, &archive->assumed,
                         "%" PRIu64 " rows are declared, the external files hold %" PRIu64,
                         all->declared, samples);
}

static status_t lofar_bf_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    struct lofar_bf all = {.declared = 0};
    /* The job's words on complex samples apply to real ones here. */
    struct job_layout layout = *input->layout;
    layout.has_domain = 0;
    layout.has_oversampling = 0;
    for (size_t i = 0; i < input->npaths; i++) {
        TRY_OUT(lofar_bf_open_siblings(input->paths[i], &layout, &all));
    }
    TRY_OUT(lofar_bf_check(&all));
    for (size_t i = 0; i < all.places.count; i++) {
        all.places.items[i].stack -= all.component[0].path ? 0 : PARTS_OF_POL;
    }
    TRY_OUT(place_join(&all.places, PLACE_NEAR, out));
    TRY_OUT(lofar_bf_pair(&all, input->layout, *out));
out:
    places_free(&all.places);
    for (int i = 0; i < COMPONENTS; i++) {
        free(all.component[i].path);
        free(all.component[i].observation);
        free(all.component[i].where);
    }
    return st;
}

const struct format lofar_bf_format = {
    .name = "lofar_bf", .recognise = lofar_bf_recognise, .open = lofar_bf_open};
