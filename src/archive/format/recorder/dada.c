/* PSRDADA: an ASCII header of lines and, behind it, samples in one piece: [time][chan][pol][dim],
 * or heaps of MeerKAT's beamformer, [heap][pol][chan][time of a heap][dim]. */
#include "archive/format/gather.h"
#include "archive/format/override.h"
#include "archive/format/recorder/ascii.h"
#include "archive/format/recorder/recorder.h"
#include "base/memory.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_HEADER = 4096,
    MOST_HEADER = 16 << 20,
    MOST_CHANNELS = 1 << 22,
    HEAP_STEPS = 256 /* samples of a heap of MeerKAT's */
};

struct dada {
    const char *path;
    uint64_t file_bytes, header_bytes;
    uint32_t pols, channels, bits;
    int is_complex, is_offset, big_endian;
    int has_heaps;
    int pols_first; /* [time][pol][chan] */
    double seconds, centre_hz, width_hz;
    uint64_t step_bits;
    uint64_t offset_steps; /* from the start of the observation to the file's first sample */
    uint64_t steps;
    struct utc start; /* of the observation */
    int has_start;
};

/* Lines of keys and values, with HDR_SIZE among them. */
static status_t dada_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct text head = {0};
    char value[ASCII_VALUE];
    TRY(recorder_head(path, LEAST_HEADER, &head));
    const struct ascii header = {path, 0, head.data, head.length, 0};
    *is_it =
        (ascii_find(&header, "HDR_SIZE", value) || ascii_find(&header, "HDR_VERSION", value)) &&
        (ascii_find(&header, "NBIT", value) || ascii_find(&header, "NCHAN", value) ||
         ascii_find(&header, "UTC_START", value));
out:
    text_free(&head);
    return st;
}

/* The order of axes, where ORDER says it: of those with more than one element time must be the
 * slowest. */
static status_t dada_read_order(const struct ascii *header, struct dada *out)
{
    status_t st = STATUS_OK;
    char order[ASCII_VALUE] = "TFP";
    char left[4] = "";
    size_t count = 0;
    ascii_find(header, "ORDER", order);
    for (const char *c = order; *c; c++) {
        int is_one = (*c == 'F' && out->channels == 1) || (*c == 'P' && out->pols == 1) ||
                     (*c == 'S') || (*c == 'D' && c[1] == '\0');
        REQUIRE(strchr("TFPSD", *c) && (is_one || count < 3), STATUS_DATA,
                "%s: ORDER = %s, expected T, F and P, in their order from the slowest", out->path,
                order);
        if (!is_one) {
            left[count++] = *c;
        }
    }
    out->pols_first = strcmp(left, "TPF") == 0;
    REQUIRE(out->pols_first || strcmp(left, "TFP") == 0 || strcmp(left, "TF") == 0 ||
                strcmp(left, "TP") == 0 || strcmp(left, "T") == 0,
            STATUS_DATA,
            "%s: ORDER = %s of %u channels and %u polarisations: time is not the slowest axis, and "
            "nothing says how many samples stand together",
            out->path, order, out->channels, out->pols);
out:
    return st;
}

static status_t dada_read_streams(const struct ascii *header, struct dada *out)
{
    status_t st = STATUS_OK;
    char word[ASCII_VALUE] = "";
    uint64_t pols = 1;
    uint64_t channels = 1;
    uint64_t dims = 0;
    uint64_t bits = 0;
    TRY(ascii_u64(header, "NBIT", 1, 32, &bits, NULL));
    REQUIRE((bits & (bits - 1)) == 0, STATUS_DATA,
            "%s: NBIT = %" PRIu64 ", expected 1, 2, 4, 8, 16 or 32", out->path, bits);
    TRY(ascii_u64(header, "NDIM", 1, 2, &dims, NULL));
    TRY(ascii_u64(header, "NPOL", 1, 1 << 16, &pols, NULL));
    TRY(ascii_u64(header, "NCHAN", 1, MOST_CHANNELS, &channels, NULL));
    out->bits = (uint32_t)bits;
    out->is_complex = dims == 2;
    out->pols = (uint32_t)pols;
    out->channels = (uint32_t)channels;
    out->step_bits = bits * dims * pols * channels;
    out->is_offset = ascii_find(header, "ENCODING", word) && strstr(word, "OFFSET") != NULL;
    out->big_endian = ascii_find(header, "ENDIAN", word) && strncmp(word, "BIG", 3) == 0;
    out->has_heaps = ascii_find(header, "INSTRUMENT", word) && strcmp(word, "MKBF") == 0;
    TRY(out->has_heaps ? STATUS_OK : dada_read_order(header, out));
out:
    return st;
}

/* Rate and band: FREQ is the band's centre, BW below 0 when frequency falls. */
static status_t dada_read_band(const struct ascii *header, struct dada *out)
{
    status_t st = STATUS_OK;
    double microseconds = 0;
    double mhz = 0;
    double width = 0;
    TRY(ascii_f64(header, "TSAMP", 1e-9, 1e12, &microseconds, NULL));
    TRY(ascii_f64(header, "FREQ", -1e9, 1e9, &mhz, NULL));
    TRY(ascii_f64(header, "BW", -1e9, 1e9, &width, NULL));
    REQUIRE(width < 0 || width > 0, STATUS_DATA, "%s: BW = 0 MHz, expected the width of the band",
            out->path);
    out->seconds = microseconds / 1e6;
    out->centre_hz = 1e6 * mhz;
    out->width_hz = 1e6 * width;
out:
    return st;
}

/* "2013-07-02-01:37:40.5" */
static int dada_parse_utc(char *text, struct utc *out)
{
    if (strlen(text) > 10 && text[10] == '-') {
        text[10] = 'T';
    }
    return units_parse_utc(text, out);
}

/* As text, since a double keeps no more than microseconds of a day in this century; *digits behind
 * the point. */
static int dada_parse_mjd(const char *text, struct utc *out, size_t *digits)
{
    uint64_t day = 0;
    double fraction = 0;
    char whole[16];
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length >= sizeof whole) {
        return 0;
    }
    memcpy(whole, text, length);
    whole[length] = '\0';
    *digits = text[length] == '.' ? strlen(text + length + 1) : 0;
    if (!units_parse_u64(whole, &day) || day > 1000000 ||
        (text[length] != '\0' && !units_parse_f64(text + length, &fraction)) || !(fraction >= 0) ||
        !(fraction < 1)) {
        return 0;
    }
    *out = utc_add((struct utc){(int32_t)day, 0}, 86400 * fraction);
    return 1;
}

/* UTC_START (with PICOSECONDS behind it) or MJD_START: the second where it has the digits, and does
 * not contradict. */
static status_t dada_read_start(const struct ascii *header, struct dada *out)
{
    status_t st = STATUS_OK;
    enum { ENOUGH_DIGITS = 12 }; /* 86 ns */
    char text[ASCII_VALUE];
    char mjd_text[ASCII_VALUE];
    struct utc mjd = {0, 0};
    size_t digits = 0;
    double picoseconds = 0;
    int is_exact = 0;
    int has_utc = ascii_find(header, "UTC_START", text);
    int has_mjd =
        ascii_find(header, "MJD_START", mjd_text) && dada_parse_mjd(mjd_text, &mjd, &digits);
    REQUIRE(!has_utc || dada_parse_utc(text, &out->start) || has_mjd, STATUS_DATA,
            "%s: UTC_START = %s, expected 2013-07-02-01:37:40", out->path, text);
    has_utc = has_utc && dada_parse_utc(text, &out->start);
    TRY(ascii_f64(header, "PICOSECONDS", 0, 1e12, &picoseconds, &is_exact));
    const char *point = has_utc ? strchr(text, '.') : NULL;
    double doubt = point ? pow(10, -(double)strlen(point + 1)) : 1;
    double apart = has_utc && has_mjd ? fabs(utc_difference(mjd, out->start)) : 0;
    if (has_utc && (is_exact || !has_mjd || digits < ENOUGH_DIGITS || apart > doubt)) {
        out->start = utc_add(out->start, 1e-12 * picoseconds);
        if (!is_exact && digits >= ENOUGH_DIGITS) {
            report_warn("%s: MJD_START and UTC_START are %.6g s apart: UTC_START is taken",
                        out->path, apart);
        }
    } else if (has_mjd) {
        out->start = mjd;
    }
    out->has_start = has_utc || has_mjd;
out:
    return st;
}

/* Where the samples lie, and how many there are. */
static status_t dada_read_place(const struct ascii *header, struct dada *out)
{
    status_t st = STATUS_OK;
    uint64_t offset = 0;
    uint64_t overlap = 0;
    int found = 0;
    uint64_t piece_bits = out->step_bits * (out->has_heaps ? HEAP_STEPS : 1);
    TRY(ascii_u64(header, "OBS_OFFSET", 0, UINT64_C(1) << 60, &offset, &found));
    TRY(ascii_u64(header, "OBS_OVERLAP", 0, UINT64_C(1) << 60, &overlap, &found));
    REQUIRE(8 * offset % out->step_bits == 0, STATUS_DATA,
            "%s: OBS_OFFSET = %" PRIu64 " bytes, expected whole time steps of %" PRIu64 " bits",
            out->path, offset, out->step_bits);
    out->offset_steps = 8 * offset / out->step_bits;
    uint64_t bytes = out->file_bytes - out->header_bytes;
    bytes -= min_u64(bytes, overlap); /* the next file repeats it */
    REQUIRE(8 * bytes >= piece_bits, STATUS_DATA,
            "%s holds %" PRIu64 " bytes behind its header of %" PRIu64 ": not one %s of %" PRIu64
            " bits",
            out->path, bytes, out->header_bytes, out->has_heaps ? "heap" : "time step", piece_bits);
    out->steps = 8 * bytes / piece_bits * (out->has_heaps ? HEAP_STEPS : 1);
    if (8 * bytes % piece_bits != 0) {
        report_warn("%s ends within a %s: what is there of it is left out", out->path,
                    out->has_heaps ? "heap" : "time step");
    }
out:
    return st;
}

static status_t dada_read_header(const char *path, uint64_t file_bytes, struct dada *out,
                                 struct text *text)
{
    status_t st = STATUS_OK;
    struct text whole = {0};
    TRY(recorder_head(path, LEAST_HEADER, text));
    struct ascii header = {path, 0, text->data, text->length, 0};
    *out = (struct dada){.path = path, .file_bytes = file_bytes, .header_bytes = LEAST_HEADER};
    int found = 0;
    TRY(ascii_u64(&header, "HDR_SIZE", 1, MOST_HEADER, &out->header_bytes, &found));
    REQUIRE(out->header_bytes <= file_bytes, STATUS_DATA,
            "%s: HDR_SIZE = %" PRIu64 ", but the file has %" PRIu64 " bytes", path,
            out->header_bytes, file_bytes);
    TRY(recorder_head(path, (size_t)out->header_bytes, &whole));
    text_free(text);
    *text = whole;
    whole = (struct text){0};
    text->length = strnlen(text->data, text->length); /* zeros fill it up */
    header.text = text->data;
    header.length = text->length;
    TRY(dada_read_streams(&header, out));
    TRY(dada_read_band(&header, out));
    TRY(dada_read_start(&header, out));
    TRY(dada_read_place(&header, out));
out:
    text_free(&whole);
    return st;
}

static void dada_set_dims(const struct dada *dada, struct archive *archive)
{
    if (dada->has_heaps) {
        recorder_add_dim(archive, AXIS_POL, dada->pols);
        recorder_add_dim(archive, AXIS_CHAN, dada->channels);
        recorder_add_dim(archive, AXIS_TIME, dada->steps);
        return;
    }
    recorder_add_dim(archive, AXIS_TIME, dada->steps);
    if (dada->pols_first) {
        recorder_add_dim(archive, AXIS_POL, dada->pols);
    }
    recorder_add_dim(archive, AXIS_CHAN, dada->channels);
    if (!dada->pols_first) {
        recorder_add_dim(archive, AXIS_POL, dada->pols);
    }
}

/* Heaps are a run; else the samples are a dataset in one piece. */
static status_t dada_add_samples(const struct dada *dada, struct archive_part *part)
{
    status_t st = STATUS_OK;
    struct archive_run *run = NULL;
    if (dada->has_heaps) {
        TRY(recorder_add_run(part, &run));
        run->file_offset = dada->header_bytes;
        run->piece_bytes = HEAP_STEPS * dada->step_bits / 8;
        run->pieces = dada->steps / HEAP_STEPS;
        run->steps = run->stored = HEAP_STEPS;
        goto out;
    }
    TRY(memory_zeroed(1, sizeof *part->extents, "samples", &part->extents));
    part->nextents = 1;
    part->extents[0].file_offset = dada->header_bytes;
    part->extents[0].bytes = ceil_div_u64(dada->steps * dada->step_bits, 8);
    TRY(memory_text(part->path, &part->extents[0].path));
out:
    return st;
}

static status_t dada_describe(const struct dada *dada, const struct ascii *header,
                              const struct job_layout *layout, struct archive *archive)
{
    status_t st = STATUS_OK;
    struct job_layout own = {.files_along = layout->files_along};
    const struct recorder_number number = {.bits = dada->bits,
                                           .is_complex = dada->is_complex,
                                           .nibbles = {dada->is_offset, 0},
                                           .is_offset = dada->is_offset || dada->bits <= 2,
                                           .big_endian = dada->big_endian};
    archive->parts[0].samples = dada->steps;
    dada_set_dims(dada, archive);
    own.has_sample_rate = 1;
    own.sample_rate_hz = recorder_rate(dada->seconds);
    own.has_start = dada->has_start;
    own.start = utc_add(dada->start, (double)dada->offset_steps / own.sample_rate_hz);
    TRY(memory_text("samples", &own.dataset));
    TRY(ascii_text(header, "TELESCOPE", &own.telescope));
    TRY(ascii_text(header, "SOURCE", &own.source));
    TRY(recorder_set_band(dada->centre_hz, dada->width_hz, dada->channels, &own));
    archive->has_position =
        ascii_position(header, "RA", "DEC", &archive->ra_deg, &archive->dec_deg);
    TRY(recorder_describe(layout, &number, &own, archive));
    TRY(dada_add_samples(dada, &archive->parts[0]));
out:
    override_free(&own);
    return st;
}

static status_t dada_open_file(const char *path, const struct job_layout *layout,
                               struct archive **out)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    struct dada dada;
    struct text text = {0};
    uint64_t bytes = 0;
    int fd = -1;
    TRY(archive_create(path, &archive));
    TRY(memory_text("PSRDADA", &archive->layout));
    TRY(recorder_open(&archive->parts[0], &fd, &bytes));
    TRY(dada_read_header(path, bytes, &dada, &text));
    const struct ascii header = {path, 0, text.data, text.length, 0};
    TRY(dada_describe(&dada, &header, layout, archive));
    *out = archive;
    archive = NULL;
out:
    text_free(&text);
    file_close(fd);
    archive_destroy(archive);
    return st;
}

static status_t dada_open(const struct format_input *input, struct archive **out)
{
    return gather_files(input, dada_open_file, out);
}

const struct format dada_format = {.name = "dada",
                                   .title = "PSRDADA",
                                   .expected = "PSRDADA (a header of lines with HDR_SIZE)",
                                   .is_no_product = 1,
                                   .recognise = dada_recognise,
                                   .open = dada_open};
