/* `input.layout` in a job file: its keys, and what they must have in common; the text of `axes`,
 * read axis by axis, or what is wrong with it. */
#include "job/job_layout.h"

#include "base/memory.h"
#include "job/job_schema.h"
#include "job/yaml/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger sizes are typing errors; products of all axes still fit. */
static const uint64_t largest_size = (uint64_t)1 << 40;

static const char *axes_skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* Reads the name of an axis; returns 0 when there is none. */
static int axes_parse_name(const char **at, enum axis *axis, char *message)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = strspn(*at, letters);
    for (int i = 0; i < AXIS_KINDS; i++) {
        const char *name = axis_name((enum axis)i);
        if (strlen(name) == length && strncmp(*at, name, length) == 0) {
            *at += length;
            *axis = (enum axis)i;
            return 1;
        }
    }
    if (length == 0) {
        snprintf(message, AXES_TEXT_MESSAGE,
                 **at ? "expected an axis before \"%.20s\"" : "expected an axis at the end%s", *at);
    } else {
        snprintf(message, AXES_TEXT_MESSAGE,
                 "no axis is called %.*s, expected time, station, beam, pol, chan or reim",
                 (int)(length < 40 ? length : 40), *at);
    }
    return 0;
}

/* Reads ":SIZE" if it is there; *size = 0 if not. */
static int axes_parse_size(const char **at, uint64_t *size, char *message)
{
    *size = 0;
    *at = axes_skip_blanks(*at);
    if (**at != ':') {
        return 1;
    }
    *at = axes_skip_blanks(*at + 1);
    size_t digits = strspn(*at, "0123456789");
    for (size_t i = 0; i < digits && *size <= largest_size; i++) {
        *size = 10 * *size + (uint64_t)((*at)[i] - '0');
    }
    if (*size == 0 || *size > largest_size) {
        snprintf(message, AXES_TEXT_MESSAGE, "expected a size from 1 to 1099511627776 behind ':'");
        return 0;
    }
    *at = axes_skip_blanks(*at + digits);
    return 1;
}

/* Reads one dimension: axes joined by '*'. */
static int axes_parse_dimension(const char **at, uint32_t dim, struct axes_text *out,
                                unsigned *seen, char *message)
{
    uint32_t left_out = 0;
    for (;;) {
        enum axis axis;
        uint64_t size;
        *at = axes_skip_blanks(*at);
        if (!axes_parse_name(at, &axis, message) || !axes_parse_size(at, &size, message)) {
            return 0;
        }
        /* Time comes in pieces: twice at most, and outermost. */
        int is_piece = axis == AXIS_TIME && dim > 0 && out->dim[0].part[0] == AXIS_TIME &&
                       !(*seen & 1U << AXIS_KINDS);
        if (*seen & 1U << axis && !is_piece) {
            snprintf(message, AXES_TEXT_MESSAGE, "the axis %s stands there twice%s",
                     axis_name(axis), axis == AXIS_TIME ? ", and not outermost" : "");
            return 0;
        }
        *seen |= is_piece ? 1U << AXIS_KINDS : 0;
        *seen |= 1U << axis;
        left_out += size == 0;
        out->dim[dim].part[out->dim[dim].nparts] = axis;
        out->dim[dim].size[out->dim[dim].nparts++] = size;
        if (**at != '*') {
            break;
        }
        ++*at;
    }
    if (left_out > 1) {
        snprintf(message, AXES_TEXT_MESSAGE,
                 "of axes joined by '*', all but one need a size, such as chan:2*pol");
        return 0;
    }
    return 1;
}

/* Checks axes for errors that no single dimension shows. */
static int axes_check_whole(const struct axes_text *axes, char *message)
{
    uint64_t product = 1;
    if (!axes_text_has(axes, AXIS_TIME)) {
        snprintf(message, AXES_TEXT_MESSAGE, "the axis time is missing");
        return 0;
    }
    for (uint32_t i = 0; i < axes->ndims; i++) {
        for (uint32_t k = 0; k < axes->dim[i].nparts; k++) {
            enum axis axis = axes->dim[i].part[k];
            uint64_t size = axes->dim[i].size[k];
            if (axis == AXIS_TIME && axes->dim[i].nparts > 1) {
                snprintf(message, AXES_TEXT_MESSAGE, "the axis time cannot be joined with others");
                return 0;
            }
            if (axis == AXIS_REIM && size != 0 && size != 2) {
                snprintf(message, AXES_TEXT_MESSAGE, "the axis reim has size 2");
                return 0;
            }
            if (!multiply_u64(product, size ? size : 1, &product)) {
                snprintf(message, AXES_TEXT_MESSAGE, "the sizes are absurdly large together");
                return 0;
            }
        }
    }
    return 1;
}

int axes_text_parse(const char *text, struct axes_text *out, char message[AXES_TEXT_MESSAGE])
{
    const char *at = text;
    unsigned seen = 0;
    memset(out, 0, sizeof *out);
    for (;;) {
        /* No axis but time may stand there twice, so that no text has more dimensions: one more
         * fails in axes_parse_dimension(), before it is stored. */
        uint32_t dim = out->ndims < AXES_TEXT_DIMS ? out->ndims++ : AXES_TEXT_DIMS - 1;
        if (!axes_parse_dimension(&at, dim, out, &seen, message)) {
            return 0;
        }
        if (*at != ',') {
            break;
        }
        at++;
    }
    if (*at != '\0') {
        snprintf(message, AXES_TEXT_MESSAGE, "expected ',' or the end before \"%.20s\"", at);
        return 0;
    }
    return axes_check_whole(out, message);
}

int axes_text_has(const struct axes_text *axes, enum axis axis)
{
    for (uint32_t i = 0; i < axes->ndims; i++) {
        for (uint32_t k = 0; k < axes->dim[i].nparts; k++) {
            if (axes->dim[i].part[k] == axis) {
                return 1;
            }
        }
    }
    return 0;
}

int axes_text_in_pieces(const struct axes_text *axes)
{
    int times = 0;
    for (uint32_t i = 0; i < axes->ndims; i++) {
        times += axes->dim[i].part[0] == AXIS_TIME;
    }
    return times > 1;
}

/* `input.layout.streams` in a job file: the keys of one of them. */

#define STREAM(member) SCHEMA_AT(struct job_stream, member)

static const struct schema job_streams_schema[] = {
    {"thread", SCHEMA_WHOLE, "number of the thread in the file", STREAM(thread), .max = 1023,
     .otherwise = "0"},
    {"channel", SCHEMA_WHOLE, "number of the channel in the thread", STREAM(channel),
     .max = 1 << 24, .otherwise = "0"},
    {"pol", SCHEMA_TEXT, "name of its polarisation", STREAM(pol), .is_required = 1,
     .expected = "the name of a polarisation, such as X"},
    {"freq_hz", SCHEMA_NUMBER, "sky frequency of the centre of its band, Hz", STREAM(freq_hz),
     .unit = UNITS_FREQUENCY, .min = -1e15, .max = 1e15, .is_required = 1},
    {"sideband", SCHEMA_CHOICE, "`1`: sky frequency rises with phase rotation; `-1`: it falls",
     STREAM(sideband), SCHEMA_CHOICES("1", "-1", "+1"), .values = (const int[]){1, -1, 1},
     .otherwise = "1"},
    {"dc", SCHEMA_CHOICE, "position of 0 Hz of complex samples in the band", STREAM(dc),
     SCHEMA_CHOICES("centre", "lower", "upper")},
    {.key = NULL},
};

/* Parses `oversampling`, "32/27", into a struct ratio. */
static int job_layout_parse_oversampling(const char *text, void *out)
{
    return ratio_parse(text, out);
}

static int job_layout_explain_axes(const char *text, char *message)
{
    struct axes_text axes;
    return axes_text_parse(text, &axes, message);
}

static int job_layout_parse_packing(const char *text, void *out)
{
    return packing_parse(text, out);
}

static int job_layout_parse_type(const char *text, void *out)
{
    return number_type_parse(text, out);
}

/* "pol", "reim", "pol,reim": files_along, then is_reim_along. */
static int job_layout_parse_along(const char *text, void *out)
{
    size_t length = strcspn(text, ",");
    int is_reim = strcmp(text, "reim") == 0 || strcmp(text + length, ",reim") == 0;
    if (text[length] == ',' && !is_reim) {
        return 0;
    }
    int axis = strcmp(text, "reim") == 0 ? AXIS_TIME : AXIS_KINDS;
    for (int i = AXIS_TIME; i < AXIS_REIM && axis == AXIS_KINDS; i++) {
        const char *name = axis_name((enum axis)i);
        axis = strlen(name) == length && strncmp(text, name, length) == 0 ? i : axis;
    }
    memcpy(out, (int[]){axis, is_reim}, 2 * sizeof(int));
    return axis < AXIS_KINDS;
}

/* "/group/dataset@name": with something behind the '@'. */
static int job_layout_parse_attribute(const char *text, void *out)
{
    const char *at = strrchr(text, '@');
    (void)out;
    return at && at[1] != '\0';
}

double job_unit_factor(enum job_unit unit)
{
    static const double factors[] = {[UNIT_KHZ] = 1e3,
                                     [UNIT_MHZ] = 1e6,
                                     [UNIT_GHZ] = 1e9,
                                     [UNIT_MS] = 1e-3,
                                     [UNIT_US] = 1e-6,
                                     [UNIT_NS] = 1e-9,
                                     [UNIT_RAD] = 180 / 3.14159265358979323846,
                                     [UNIT_HOURS] = 15};
    const int is_scaled = unit < sizeof factors / sizeof *factors && factors[unit] > 0;
    return is_scaled ? factors[unit] : 1;
}

#define UNITS(type, names, ...)                                                                    \
    "unit", SCHEMA_CHOICE, "unit of that value",                                                   \
        .absent = "that of the key", SCHEMA_AT(type, unit), names, .values = (const int[])         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define HERTZ(type)                                                                                \
    UNITS(type, SCHEMA_CHOICES("Hz", "kHz", "MHz", "GHz"), UNIT_HZ, UNIT_KHZ, UNIT_MHZ, UNIT_GHZ)
#define ATTRIBUTE                                                                                  \
    "attribute", SCHEMA_TEXT, "attribute of the file with the value (`@NAME`: of the dataset)",    \
        SCHEMA_AT(struct job_said, attribute),                                                     \
        .is_required = 1, .parse = job_layout_parse_attribute,                                     \
        .expected = "an attribute of the file, such as /@delta_time or /data@rate"

static const struct schema said_rows[] = {{ATTRIBUTE}, {.key = NULL}};
static const struct schema said_hertz_rows[] = {
    {ATTRIBUTE}, {HERTZ(struct job_said)}, {.key = NULL}};
static const struct schema said_seconds_rows[] = {
    {ATTRIBUTE},
    {UNITS(struct job_said, SCHEMA_CHOICES("s", "ms", "us", "ns"), UNIT_S, UNIT_MS, UNIT_US,
           UNIT_NS)},
    {.key = NULL}};
static const struct schema said_degrees_rows[] = {
    {ATTRIBUTE},
    {UNITS(struct job_said, SCHEMA_CHOICES("deg", "rad", "hours"), UNIT_DEG, UNIT_RAD, UNIT_HOURS)},
    {.key = NULL}};
static const struct schema said_start_rows[] = {
    {ATTRIBUTE},
    {UNITS(struct job_said, SCHEMA_CHOICES("unix", "mjd"), UNIT_UNIX, UNIT_MJD)},
    {.key = NULL}};

/* A value that an attribute may say: the mapping that stands in its place. */
#define SAID(id, rows)                                                                             \
    .instead = &(const struct schema)                                                              \
    {                                                                                              \
        "attribute", SCHEMA_MAPPING, SCHEMA_AT(struct job_layout, said[SAID_##id]),                \
            .members = (rows)                                                                      \
    }

#define FREQUENCIES(member) SCHEMA_AT(struct job_frequencies, member)
static const struct schema frequencies_rows[] = {
    {"start", SCHEMA_NUMBER, "frequency of the first coarse channel, Hz", FREQUENCIES(start),
     SCHEMA_GIVEN(struct job_frequencies, has_start, 1), .unit = UNITS_FREQUENCY, .min = -1e15,
     .max = 1e15},
    {"step", SCHEMA_NUMBER, "spacing of the coarse channels, Hz", FREQUENCIES(step),
     .unit = UNITS_FREQUENCY, .min = -1e15, .max = 1e15},
    {"from", SCHEMA_TEXT, "dataset of the file with the frequencies, or an attribute, `PATH@NAME`",
     FREQUENCIES(from)},
    {"attribute", SCHEMA_TEXT, "attribute with the frequencies, as in `from`",
     FREQUENCIES(attribute), .parse = job_layout_parse_attribute,
     .expected = "an attribute of the file, such as /@freq"},
    {"member", SCHEMA_TEXT, "member of a compound type", FREQUENCIES(member)},
    {HERTZ(struct job_frequencies)},
    {.key = NULL},
};
static const struct schema frequencies_mapping = {"freq_hz", SCHEMA_MAPPING,
                                                  SCHEMA_AT(struct job_layout, freq.rule),
                                                  .members = frequencies_rows};

#define LAYOUT(member) SCHEMA_AT(struct job_layout, member)
#define LAYOUT_HAS(member) SCHEMA_GIVEN(struct job_layout, member, 1)

static const struct schema parts_rows[] = {
    {"re", SCHEMA_TEXT, "dataset of the real parts", LAYOUT(parts[0]), .is_required = 1,
     .expected = "the path of a dataset inside the file"},
    {"im", SCHEMA_TEXT, "dataset of the imaginary parts", LAYOUT(parts[1]), .is_required = 1,
     .expected = "the path of a dataset inside the file"},
    {.key = NULL},
};

const struct schema job_layout_schema[] = {
    {"format", SCHEMA_TEXT,
     "instead of `dataset` and `axes`: name of the format, `native`, `digital_rf`, `lofar_bf`, "
     "`lofar_tbb`, `chime_beam`, `chime_raw`, `meerkat`, `pydaq`, `grex`, `spectra`, `guppi`, "
     "`dada`, `mwax`, `vdif`, `drx`, `lofar_udp`, `npy`, `sigmf`, `wav`, `raw`",
     .absent = "recognised", LAYOUT(format), .expected = "the name of a format (docs/archives.md)"},
    {"dataset", SCHEMA_TEXT, "path of the samples inside the file, such as `/voltages`",
     .absent = "required without `format`", LAYOUT(dataset),
     .expected = "the path of a dataset inside the file"},
    {"parts", SCHEMA_MAPPING, "instead of `dataset`: datasets of real and imaginary parts",
     .members = parts_rows},
    {"axes", SCHEMA_TEXT,
     "dimensions of the dataset, outermost first (see axes); formats `raw`, `npy`, `sigmf`, `wav` "
     "take them, too",
     .absent = "required without `format`", LAYOUT(axes), .explain = job_layout_explain_axes,
     .expected = "the dataset's axes, such as time,pol,reim"},
    {"type", SCHEMA_PARSED,
     "format `raw`: type of a number, such as `ci16_le` (formats-recorders.md)",
     .absent = "required for `raw` without `packing`", LAYOUT(numbers.type),
     .parse = job_layout_parse_type, .expected = NUMBER_TYPE_TEXTS},
    {"skip", SCHEMA_WHOLE, "format `raw`: bytes before the first sample", LAYOUT(skip),
     LAYOUT_HAS(has_skip), .max = 0x1p62, .otherwise = "0"},
    {"files_along", SCHEMA_PARSED,
     "axis along which one file continues the file before; with `reim`, files with real and "
     "imaginary parts alternate",
     .absent = "`time`", SCHEMA_SPAN(struct job_layout, files_along, is_reim_along),
     .parse = job_layout_parse_along,
     .expected = "one of time, station, beam, pol, chan, reim, or one of them followed by ,reim"},
    {"domain", SCHEMA_CHOICE, "type of a sample", .absent = "from the type and axes of the dataset",
     LAYOUT(is_complex), LAYOUT_HAS(has_domain), SCHEMA_CHOICES("complex", "real"),
     .values = (const int[]){1, 0}, SAID(DOMAIN, said_rows)},
    {"sample_rate_hz", SCHEMA_NUMBER,
     "samples per second of one stream; complex samples if the domain is complex",
     .absent = "required if the file does not say it", LAYOUT(time.sample_rate_hz),
     LAYOUT_HAS(time.has_sample_rate), .unit = UNITS_RATE, .is_above = 1, .max = 1e15,
     SAID(SAMPLE_RATE, said_hertz_rows)},
    {"sample_period_s", SCHEMA_NUMBER, "instead of `sample_rate_hz`: seconds between samples",
     LAYOUT(time.sample_period_s), LAYOUT_HAS(time.has_sample_period), .unit = UNITS_TIME,
     .is_above = 1, .min = 1e-15, .max = 1e15, SAID(SAMPLE_PERIOD, said_seconds_rows)},
    {"packing", SCHEMA_PARSED, "storage of numbers that are not HDF5's own (see packing)",
     .absent = "not packed", LAYOUT(numbers.packing), LAYOUT_HAS(numbers.has_packing),
     .parse = job_layout_parse_packing, .expected = PACKING_TEXTS, SAID(PACKING, said_rows)},
    {"levels", SCHEMA_NUMBER,
     "packing of 1, 2 or 4 bits: value of each stored number (2, 4 or 16 numbers)",
     .absent = "those of the packing",
     SCHEMA_LIST(struct job_layout, numbers.levels, numbers.nlevels, 2, 16), .min = -1e6,
     .max = 1e6},
    {"offset", SCHEMA_NUMBER, "integers: value = stored - offset", .absent = "0",
     LAYOUT(numbers.offset), LAYOUT_HAS(numbers.has_offset), .min = -0x1p53, .max = 0x1p53,
     SAID(OFFSET, said_rows)},
    {"missing_value", SCHEMA_NUMBER, "stored value that marks a missing sample",
     LAYOUT(numbers.missing_value), LAYOUT_HAS(numbers.has_missing_value),
     SAID(MISSING_VALUE, said_rows)},
    {"scale", SCHEMA_NUMBER, "volts of the stored number 1; products are in volts", .absent = "1",
     LAYOUT(numbers.scale), LAYOUT_HAS(numbers.has_scale), .min = TERMS_LEAST_SCALE,
     .max = TERMS_MOST_SCALE, SAID(SCALE, said_rows)},
    {"sideband", SCHEMA_CHOICE, "`1`: sky frequency rises with phase rotation; `-1`: it falls",
     .absent = "`1`", LAYOUT(sideband), LAYOUT_HAS(has_sideband), SCHEMA_CHOICES("1", "-1", "+1"),
     .values = (const int[]){1, -1, 1}, SAID(SIDEBAND, said_rows)},
    {"dc", SCHEMA_CHOICE, "position of 0 Hz of complex samples in their coarse channel",
     .absent = "`centre`", LAYOUT(is_dc_at_edge), LAYOUT_HAS(has_dc),
     SCHEMA_CHOICES("centre", "lower", "upper"), .values = (const int[]){0, 1, 1},
     SAID(DC, said_rows)},
    {"dropped", SCHEMA_CHOICE,
     "GUPPI RAW blocks that lost packets: samples weigh the share that came, or the loss is "
     "ignored",
     .absent = "`weigh`", LAYOUT(ignores_dropped), LAYOUT_HAS(has_dropped),
     SCHEMA_CHOICES("weigh", "ignore"), .values = (const int[]){0, 1}},
    {"freq_hz", SCHEMA_NUMBER,
     "sky frequency of the centre of each coarse channel, Hz: a number for each, or a mapping (see "
     "freq_hz)",
     .absent = "for one channel: 0 if complex, a quarter of the sample rate if real",
     SCHEMA_LIST(struct job_layout, freq.hz, freq.count, 1, UINT32_MAX), .unit = UNITS_FREQUENCY,
     .expected = "a number, or a list of them", .instead = &frequencies_mapping},
    {"start", SCHEMA_UTC, "time of the first sample", .absent = "unknown", LAYOUT(time.start),
     LAYOUT_HAS(time.has_start), .expected = "a UTC date and time such as 2014-06-29T01:39:20",
     SAID(START, said_start_rows)},
    {"first_sample", SCHEMA_WHOLE,
     "files side by side, or along time: the sample of the observation with which each begins",
     .absent = "all together, or one after the other",
     SCHEMA_LIST(struct job_layout, time.first_sample, time.nfirst_sample, 1, 1 << 20),
     .max = 0x1p62, .expected = "a whole number for each file, at most 4611686018427387904",
     SAID(FIRST_SAMPLE, said_rows)},
    {"oversampling", SCHEMA_PARSED,
     "sample rate of the coarse channels relative to critical sampling; required if they are "
     "closer than their rate",
     .absent = "1/1", SCHEMA_SPAN(struct job_layout, oversample.num, oversample.den),
     LAYOUT_HAS(has_oversampling), .parse = job_layout_parse_oversampling,
     .expected = "a ratio of at least 1, such as 32/27", SAID(OVERSAMPLING, said_rows)},
    {"telescope", SCHEMA_TEXT, "name of the telescope, copied to the products",
     LAYOUT(sky.telescope), SAID(TELESCOPE, said_rows)},
    {"source", SCHEMA_TEXT, "name of the source, copied to the products", LAYOUT(sky.source),
     SAID(SOURCE, said_rows)},
    {"station", SCHEMA_TEXT,
     "station whose packets are read, if a file has packets of several (formats-recorders.md)",
     .absent = "the only one", LAYOUT(station),
     .expected = "two letters or a number, as packets have it"},
    {"streams", SCHEMA_MAPPING, "stream of each channel of a VDIF thread (formats-recorders.md)",
     .absent = "threads are polarisations, channels are coarse channels",
     SCHEMA_LIST(struct job_layout, streams, nstreams, 1, JOB_STREAMS),
     .members = job_streams_schema,
     .expected = "a list of streams, each with pol, freq_hz and its thread or channel"},
    {"ra_deg", SCHEMA_NUMBER, "right ascension, degrees; with `dec_deg`", LAYOUT(sky.ra_deg),
     LAYOUT_HAS(sky.has_ra), .unit = UNITS_ANGLE, .min = -360, .max = 360,
     SAID(RA, said_degrees_rows)},
    {"dec_deg", SCHEMA_NUMBER, "declination, degrees; with `ra_deg`", LAYOUT(sky.dec_deg),
     LAYOUT_HAS(sky.has_dec), .unit = UNITS_ANGLE, .min = -90, .max = 90,
     SAID(DEC, said_degrees_rows)},
    {.key = NULL},
};

static const struct schema *job_layout_row(enum job_said_key key)
{
    const struct schema *row = job_layout_schema;
    while (!row->instead || row->instead->at != offsetof(struct job_layout, said[0]) +
                                                    (size_t)key * sizeof(struct job_said)) {
        row++;
    }
    return row;
}

const char *job_layout_key(enum job_said_key key, char *expected)
{
    const struct schema *row = job_layout_row(key);
    words_expected(row, expected);
    return row->key;
}

status_t job_layout_put(struct job_layout *layout, enum job_said_key key, const char *text,
                        char *message, int *ok)
{
    const struct schema *row = job_layout_row(key);
    char *at = (char *)layout + row->at;
    *message = '\0';
    if (row->most > 0) {
        free(memory_move(&layout->time.first_sample));
        TRY(memory_zeroed(1, row->size, row->key, &layout->time.first_sample));
        layout->time.nfirst_sample = 1;
        at = (char *)layout->time.first_sample;
    } else if (row->type == SCHEMA_TEXT) {
        free(*(char **)(void *)at);
        *(char **)(void *)at = NULL;
    }
    TRY(schema_store(row, text, at, message, ok));
    if (*ok && row->given.as) {
        memcpy((char *)layout + row->given.at, &row->given.as, sizeof row->given.as);
    }
    return STATUS_OK;
}

/* Checks that a layout locates the samples: by a format, or by a dataset (or two) and its
 * dimensions. */
static void job_layout_check_place(struct tree *layout, struct mistakes *mistakes)
{
    int has_parts = tree_member(layout, "parts") != NULL;
    int has_dataset = tree_member(layout, "dataset") != NULL;
    int has_axes = tree_member(layout, "axes") != NULL;
    if (tree_member(layout, "format")) {
        mistakes_if(has_dataset || has_parts, mistakes, layout, "format",
                    "says where the samples lie; dataset and axes do so for a file of no "
                    "format: expected one or the other");
    } else if ((has_dataset || has_parts) != has_axes) {
        mistakes_at(mistakes, layout, NULL, "has %s, but no %s",
                    has_axes    ? "axes"
                    : has_parts ? "parts"
                                : "dataset",
                    has_axes ? "dataset" : "axes");
    }
    mistakes_if(has_dataset && has_parts, mistakes, layout, "parts",
                "names the datasets of real and imaginary parts, dataset one that contains both: "
                "expected one or the other");
}

/* Checks that the parts of a complex sample are given once. */
static void job_layout_check_complex(struct tree *layout, struct mistakes *mistakes)
{
    char message[AXES_TEXT_MESSAGE];
    struct axes_text axes;
    const char *text = tree_value(layout, "axes");
    const char *packing = tree_value(layout, "packing");
    const char *along = tree_value(layout, "files_along");
    int has_reim = text && axes_text_parse(text, &axes, message) && axes_text_has(&axes, AXIS_REIM);
    int has_nibbles = packing && strncmp(packing, "4+4", 3) == 0;
    int is_real = tree_says(layout, "domain", "real");
    int has_parts = tree_member(layout, "parts") != NULL;
    int is_along = along && strstr(along, "reim") != NULL;
    mistakes_if(is_real && has_reim, mistakes, layout, "domain",
                "is real, but the axes contain reim, which complex samples have");
    mistakes_if(is_real && has_nibbles, mistakes, layout, "domain",
                "is real, but samples with a packing of 4+4 bits are complex");
    mistakes_if(has_reim && has_nibbles, mistakes, layout, "packing",
                "both parts of a packed sample share a byte, but the axes contain reim");
    mistakes_if(
        has_parts + is_along + (has_reim || has_nibbles) + is_real > 1 && (has_parts || is_along),
        mistakes, layout, has_parts ? "parts" : "files_along",
        "real and imaginary parts are in %s of their own, but %s", has_parts ? "datasets" : "files",
        is_real                 ? "domain is real"
        : has_parts && is_along ? "files_along says reim, too"
        : has_reim              ? "the axes contain reim"
                                : "a packing of 4+4 bits contains both");
}

static void job_layout_check_frequencies(struct tree *freq, struct mistakes *mistakes)
{
    static const char *const sources[] = {"start", "from", "attribute"};
    static const char *const of_files[] = {"member", "unit"};
    int found = 0;
    int has_start = tree_member(freq, "start") != NULL;
    for (size_t i = 0; i < 3; i++) {
        found += tree_member(freq, sources[i]) != NULL;
    }
    mistakes_if(found != 1, mistakes, freq, NULL,
                "has %s of start, from, attribute, expected exactly one",
                found ? "more than one" : "none");
    mistakes_if(has_start != (tree_member(freq, "step") != NULL), mistakes, freq,
                has_start ? "step" : "start",
                "is missing, expected start and step: the first centre in Hz, and how far the next "
                "is above it");
    for (size_t i = 0; i < 2 && has_start; i++) {
        mistakes_if(tree_member(freq, of_files[i]) != NULL, mistakes, freq, of_files[i],
                    "is for frequencies from the file");
    }
}

/* Checks that there is one level for each number that the bits can store. */
static void job_layout_check_levels(struct tree *layout, struct mistakes *mistakes)
{
    const char *text = tree_value(layout, "packing");
    struct packing packing;
    if (!tree_list(layout, "levels")) {
        return;
    }
    if (!text || !packing_parse(text, &packing) || packing.bits == 0 || packing.bits >= 8) {
        mistakes_at(mistakes, layout, "levels",
                    "are of a packing of 1, 2 or 4 bits, which must be said, too");
    } else if (tree_count(layout, "levels") != 1u << packing.bits) {
        mistakes_at(mistakes, layout, "levels", "lists %zu, expected %u of %s",
                    tree_count(layout, "levels"), 1u << packing.bits,
                    units_number(packing.bits, "bit", "bits"));
    }
}

void job_layout_check(struct tree *root, struct mistakes *mistakes)
{
    struct tree *layout = tree_at(root, "input.layout");
    struct tree *freq = layout ? tree_member(layout, "freq_hz") : NULL;
    if (!layout || layout->kind != TREE_MAPPING) {
        return;
    }
    job_layout_check_place(layout, mistakes);
    job_layout_check_complex(layout, mistakes);
    mistakes_if(tree_member(layout, "sample_rate_hz") && tree_member(layout, "sample_period_s"),
                mistakes, layout, "sample_period_s",
                "says what sample_rate_hz says, expected one of them");
    mistakes_if(!tree_member(layout, "ra_deg") != !tree_member(layout, "dec_deg"), mistakes, layout,
                NULL, "has one of ra_deg, dec_deg, expected both");
    mistakes_if(tree_member(layout, "offset") && tree_member(layout, "packing"), mistakes, layout,
                "offset", "is for numbers that are not packed, but there is a packing");
    job_layout_check_levels(layout, mistakes);
    if (freq && freq->kind == TREE_MAPPING) {
        job_layout_check_frequencies(freq, mistakes);
    }
}
