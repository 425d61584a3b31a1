/* SigMF 1.x: samples of one type in one file, described by JSON beside it, or both in one tar file
 * (github.com/sigmf/SigMF, sigmf-spec.md). */
#include "base/byte_order.h"
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/plain.h"
#include "input/format/recorder.h"
#include "input/format/said.h"
#include "io/file.h"
#include "job/yaml/schema.h"
#include "job/yaml/yaml_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of metadata; of their begin, in which core:datatype is sought. */
enum { SIGMF_META_BYTES = 32 << 20, SIGMF_HEAD = 1 << 16 };
/* Bytes of a pax header that are read, and members that are listed. */
enum { TAR_PAX = 4096, TAR_MEMBERS = 4096 };

/* A block of tar in front of a member. */
struct sigmf_tar {
    char name[100], modes[24], size[12], times[20], type, link[100], magic[255];
};

/* Samples of which one frequency and time is stated. */
struct sigmf_capture {
    uint64_t first;        /* sample in the file */
    uint64_t header_bytes; /* before it */
    uint64_t index;        /* sample of the recorder's stream */
    struct utc time;
    double centre_hz;
    int has_index, has_time, has_centre;
};

struct sigmf {
    /* Where metadata and samples are: in two files, or in an archive (tar), which is both. */
    char *meta_path, *data_path;
    int is_archive;
    uint64_t meta_at, meta_bytes, data_at, data_bytes;
    uint64_t data_lacks; /* bytes of the samples beyond the archive's end */
    /* Metadata. */
    struct number_type type;
    uint64_t channels, trailing_bytes;
    uint64_t offset; /* number of the file's first sample, from which captures are numbered */
    int has_rate;
    double rate_hz;
    char *dataset; /* name of the file with the samples; NULL: as the metadata's */
    struct sigmf_capture *captures;
    uint32_t ncaptures;
    char known[64];
    uint64_t step; /* bytes of a time step */
};

/* Metadata as tables. */

static int sigmf_parse_type(const char *text, void *out)
{
    struct number_type *type = out;
    return number_type_parse(text, type) && type->has_domain;
}

/* Parses a time; Python writes +00:00 for Z. */
static int sigmf_parse_time(const char *text, void *out)
{
    char utc[UNITS_TEXT];
    const char *zone = strstr(text, "+00:00");
    snprintf(utc, sizeof utc, "%.*s", zone ? (int)(zone - text) : (int)strlen(text), text);
    return strlen(text) < sizeof utc && units_parse_utc(utc, out);
}

#define CAPTURE(member) SCHEMA_AT(struct sigmf_capture, member)
#define CAPTURE_HAS(member) SCHEMA_GIVEN(struct sigmf_capture, member, 1)
static const struct schema capture_rows[] = {
    {"core:sample_start", SCHEMA_WHOLE, NULL, CAPTURE(first), .max = 0x1p50},
    {"core:header_bytes", SCHEMA_WHOLE, NULL, CAPTURE(header_bytes), .max = 0x1p50},
    {"core:global_index", SCHEMA_WHOLE, NULL, CAPTURE(index), CAPTURE_HAS(has_index),
     .max = 0x1p62},
    {"core:frequency", SCHEMA_NUMBER, NULL, CAPTURE(centre_hz), CAPTURE_HAS(has_centre),
     .min = -1e15, .max = 1e15},
    {"core:datetime", SCHEMA_PARSED, NULL, CAPTURE(time), CAPTURE_HAS(has_time),
     .parse = sigmf_parse_time, .may_be_empty = 1,
     .expected = "a UTC date and time such as 2020-01-01T00:00:00.5Z"},
    {.is_open = 1}};

#define SIGMF(member) SCHEMA_AT(struct sigmf, member)
static const struct schema global_rows[] = {
    {"core:datatype", SCHEMA_PARSED, NULL, SIGMF(type), .is_required = 1, .parse = sigmf_parse_type,
     .expected = "a type such as cf32_le, ri16_le or cu8"},
    {"core:num_channels", SCHEMA_WHOLE, NULL, SIGMF(channels), .min = 1, .max = 1 << 20,
     .otherwise = "1"},
    {"core:sample_rate", SCHEMA_NUMBER, NULL, SIGMF(rate_hz),
     SCHEMA_GIVEN(struct sigmf, has_rate, 1), .is_above = 1, .max = 1e15},
    {"core:trailing_bytes", SCHEMA_WHOLE, NULL, SIGMF(trailing_bytes), .max = 0x1p50},
    {"core:offset", SCHEMA_WHOLE, NULL, SIGMF(offset), .max = 0x1p50},
    {"core:dataset", SCHEMA_TEXT, NULL, SIGMF(dataset)},
    {.is_open = 1}};

static const struct schema sigmf_rows[] = {
    {"global", SCHEMA_MAPPING, NULL, .members = global_rows, .is_required = 1},
    {"captures", SCHEMA_MAPPING, NULL, .members = capture_rows,
     SCHEMA_LIST(struct sigmf, captures, ncaptures, 0, 1 << 20)},
    {.is_open = 1}};

/* Files of a recording. */

/* Octal digits; GNU tar writes sizes from 8 GiB on in 11 bytes after one of 0x80. */
static uint64_t sigmf_tar_size(const struct sigmf_tar *block)
{
    char octal[sizeof block->size + 1] = "";
    memcpy(octal, block->size, sizeof block->size);
    return *octal == '\x80' ? load_u64(octal + 4, 1) : strtoull(octal, NULL, 8);
}

/* The size in a pax header, whose records are "LENGTH KEY=VALUE\n"; 0: it states none. */
static uint64_t sigmf_pax_size(const char *records)
{
    uint64_t size = 0;
    for (size_t length = 1; *records && length > 0; records += length) {
        char *key = NULL;
        length = min_u64(strtoul(records, &key, 10), strlen(records));
        size = strncmp(key, " size=", 6) == 0 ? strtoull(key + 6, NULL, 10) : size;
    }
    return size;
}

/* Finds, among the members of a tar file, the first with metadata and the first with samples. */
static status_t sigmf_walk_tar(const char *path, struct sigmf *out)
{
    struct identity identity = {.bytes = 0};
    struct sigmf_tar block;
    char pax[TAR_PAX + 1] = ""; /* that describes the next member */
    uint64_t at = 0;
    SCOPED(file_close_at) int fd = -1;
    TRY(recorder_open_begin(path, &fd, &identity));
    for (int i = 0; i < TAR_MEMBERS && at + sizeof block <= identity.bytes; i++) {
        TRY(file_read(fd, path, at, &block, sizeof block));
        if (memcmp(block.magic, "ustar", 5) != 0) {
            break;
        }
        const uint64_t stated = sigmf_pax_size(pax);
        const uint64_t size = stated > 0 ? stated : sigmf_tar_size(&block);
        const int is_file = block.type == '0' || block.type == '\0';
        at += sizeof block;
        const uint64_t held = min_u64(size, identity.bytes - at);
        const size_t records = block.type == 'x' ? min_u64(held, TAR_PAX) : 0;
        TRY(records > 0 ? file_read(fd, path, at, pax, records) : STATUS_OK);
        pax[records] = '\0';
        char name[sizeof block.name + 1] = "";
        memcpy(name, block.name, sizeof block.name);
        /* macOS puts ._NAME beside NAME; other types describe the member after them. */
        const int is_member = is_file && strncmp(text_basename(name), "._", 2) != 0;
        if (is_member && text_ends(name, ".sigmf-meta") && out->meta_bytes == 0) {
            out->meta_at = at;
            out->meta_bytes = held;
        } else if (is_member && text_ends(name, ".sigmf-data") && out->data_bytes == 0) {
            out->data_at = at;
            out->data_bytes = held;
            out->data_lacks = size - held;
        }
        at += ceil_div_u64(held, sizeof block) * sizeof block;
    }
    out->is_archive = out->meta_bytes > 0;
    return out->is_archive ? memory_text(path, &out->meta_path) : STATUS_OK;
}

/* Finds the metadata that `path` is, or is beside, or contains; without any meta_path stays NULL.
 */
static status_t sigmf_find(const char *path, struct sigmf *out)
{
    static const char word[] = "\"core:datatype\"";
    SCOPED(text_free) struct text head = {0};
    struct identity identity = {.bytes = 0};
    SCOPED(free_at) char *meta = NULL;
    int is_beside = 0;
    SCOPED(file_close_at) int fd = -1;
    if (text_ends(path, ".sigmf-data")) {
        TRY(memory_format(&meta, "%.*smeta", (int)strlen(path) - 4, path));
        TRY(file_is_ordinary(meta, &is_beside));
    }
    const char *sought = is_beside ? meta : path;
    TRY(recorder_open_begin(sought, &fd, &identity));
    TRY(recorder_head(sought, SIGMF_HEAD, &head));
    const size_t begin = head.length > 0 ? strspn(head.data, "\xef\xbb\xbf \t\r\n") : 0;
    if (head.length > begin && head.data[begin] == '{' &&
        (text_ends(sought, ".sigmf-meta") || text_ends(sought, ".sigmf-collection") ||
         memmem(head.data, head.length, word, sizeof word - 1))) {
        TRY(memory_text(sought, &out->meta_path));
        out->meta_bytes = identity.bytes;
    } else if (head.length > sizeof(struct sigmf_tar) &&
               memcmp(((struct sigmf_tar *)(void *)head.data)->magic, "ustar", 5) == 0) {
        TRY(sigmf_walk_tar(sought, out));
    }
    return STATUS_OK;
}

static void sigmf_free(struct sigmf *sigmf)
{
    free(sigmf->meta_path);
    free(sigmf->data_path);
    schema_free(sigmf_rows, sigmf);
}

static status_t sigmf_recognise(const char *path, int *is_it)
{
    SCOPED(sigmf_free) struct sigmf sigmf = {.meta_path = NULL};
    TRY(sigmf_find(path, &sigmf));
    *is_it = sigmf.meta_path != NULL;
    return STATUS_OK;
}

/* YAML's reader takes JSON but for two halves of a character as JSON escapes it, \uD83D\uDE00: it
 * is written \U0001F600, in place; a lone half, and NUL, become \uFFFD. Returns the length. */
static size_t sigmf_join_halves(char *text, size_t length)
{
    size_t to = 0;
    for (size_t at = 0; at < length;) {
        char word[16] = "";
        unsigned half[2] = {1, 0};
        size_t taken = text[at] == '\\' && at + 1 < length ? 2 : 1;
        size_t made = taken;
        memcpy(word, text + at, min_u64(12, length - at));
        int found = text[at] == '\\' ? sscanf(word, "\\u%4x\\u%4x", &half[0], &half[1]) : 0;
        if (found == 2 && half[0] >> 10 == 0x36 && half[1] >> 10 == 0x37) {
            made = (size_t)snprintf(word, sizeof word, "\\U%08X",
                                    0x10000 + ((half[0] & 0x3ff) << 10 | (half[1] & 0x3ff)));
            taken = 12;
        } else if (found > 0 && (half[0] >> 11 == 0x1b || half[0] == 0) && length - at >= 6) {
            made = taken = 6;
            memcpy(word, "\\ufffd", made);
        }
        memcpy(text + to, word, made);
        to += made;
        at += taken;
    }
    return to;
}

static status_t sigmf_read_meta(struct sigmf *out)
{
    SCOPED(mistakes_free) struct mistakes mistakes = {.file = out->meta_path};
    SCOPED(tree_destroy_at) struct tree *tree = NULL;
    SCOPED(free_at) char *text = NULL;
    SCOPED(file_close_at) int fd = -1;
    REQUIRE(out->meta_bytes <= SIGMF_META_BYTES, STATUS_DATA,
            "%s: its metadata have %" PRIu64 " bytes, expected at most %d", out->meta_path,
            out->meta_bytes, SIGMF_META_BYTES);
    TRY(memory_zeroed((size_t)out->meta_bytes + 1, 1, "metadata", &text));
    TRY(file_open_read(out->meta_path, &fd));
    TRY(file_read(fd, out->meta_path, out->meta_at, text, out->meta_bytes));
    TRY(tree_read(text, sigmf_join_halves(text, (size_t)out->meta_bytes), NULL, &mistakes, &tree));
    TRY(plain_check_mistakes(&mistakes, "SigMF metadata, expected JSON"));
    const size_t annotations = tree_count(tree, "annotations");
    if (annotations > 0) {
        snprintf(out->known, sizeof out->known, "SigMF (%s, ignored)",
                 units_amount(annotations, "annotation", "annotations"));
    }
    TRY(schema_fill(tree, sigmf_rows, &mistakes, out));
    TRY(plain_check_mistakes(&mistakes, "SigMF metadata"));
    for (uint32_t i = 0; i < out->ncaptures; i++) {
        REQUIRE(out->captures[i].first >= out->offset, STATUS_DATA,
                "%s: core:sample_start is %" PRIu64 ", before the first sample of the file, "
                "core:offset %" PRIu64,
                out->meta_path, out->captures[i].first, out->offset);
        out->captures[i].first -= out->offset;
    }
    if (out->ncaptures == 0) {
        TRY(memory_zeroed(1, sizeof *out->captures, "captures", &out->captures));
        out->ncaptures = 1;
    }
    return STATUS_OK;
}

/* The file with the samples, which is beside the metadata, or the same. */
static status_t sigmf_name_data(struct sigmf *sigmf)
{
    const char *meta = sigmf->meta_path;
    const char *name = sigmf->dataset;
    int folder = (int)(text_basename(meta) - meta);
    int stem = (int)strlen(meta) - (text_ends(meta, ".sigmf-meta") ? 11 : 0);
    REQUIRE(!name || !strchr(name, '/'), STATUS_DATA,
            "%s: core:dataset is %.80s, expected the name of a file in the same folder", meta,
            name);
    REQUIRE(!sigmf->is_archive || sigmf->data_bytes > 0, STATUS_DATA,
            "%s: this SigMF archive contains metadata, but no samples (.sigmf-data)", meta);
    return sigmf->is_archive ? memory_text(meta, &sigmf->data_path)
           : name            ? memory_format(&sigmf->data_path, "%.*s%s", folder, meta, name)
                             : memory_format(&sigmf->data_path, "%.*s.sigmf-data", stem, meta);
}

/* From metadata to samples. */

/* Completes what a capture says by the one before it, `steps` samples before. */
static void sigmf_complete(const struct sigmf_capture *one, uint64_t steps, double rate_hz,
                           struct sigmf_capture *next)
{
    if (!next->has_centre) {
        next->has_centre = one->has_centre;
        next->centre_hz = one->centre_hz;
    }
    if (!next->has_index) {
        next->has_index = one->has_index;
        next->index = one->index + steps;
    }
    if (!next->has_time && rate_hz > 0) {
        next->has_time = one->has_time;
        next->time = utc_add(one->time, (double)steps / rate_hz);
    }
}

/* Samples that the recorder lost before a capture, by its index; times that differ are noted.
 * Captures of one frequency are one observation. */
static status_t sigmf_lost_before(const struct plain *plain, uint32_t i, uint64_t *lost)
{
    const struct sigmf *sigmf = plain->context;
    const double rate_hz = plain->archive->sample_rate_hz;
    const struct sigmf_capture *one = &sigmf->captures[i - 1];
    struct sigmf_capture *next = &sigmf->captures[i];
    const uint64_t steps = next->first - one->first;
    char before[UNITS_TEXT] = "none";
    if (one->has_centre) {
        snprintf(before, sizeof before, "%.15g Hz", one->centre_hz);
    }
    REQUIRE(!next->has_centre || (one->has_centre && next->centre_hz == one->centre_hz) ||
                override_has_frequencies(plain->layout),
            STATUS_DATA,
            "%s: core:frequency is %.15g Hz from sample %" PRIu64
            " on, %s before it: expected one frequency; input.layout.freq_hz states it",
            sigmf->meta_path, next->centre_hz, next->first, before);
    *lost = 0;
    if (one->has_index && next->has_index) {
        REQUIRE(next->index >= one->index + steps && next->index - one->index < UINT64_C(1) << 50,
                STATUS_DATA,
                "%s: core:global_index is %" PRIu64 ", then %" PRIu64 ", but %" PRIu64
                " samples are between them",
                sigmf->meta_path, one->index, next->index, steps);
        *lost = next->index - one->index - steps;
    }
    if (one->has_time && next->has_time && rate_hz > 0) {
        double apart = utc_difference(next->time, one->time);
        double expected = (double)(steps + *lost) / rate_hz;
        TRY(assume_unless(fabs(apart - expected) <= fmax(1 / rate_hz, 2e-6),
                          &plain->archive->assumed,
                          "core:datetime of capture %u is %.9g s after the one before, but its "
                          "samples are %.9g s: samples are counted%s",
                          i, apart, expected, next->has_index ? " by core:global_index" : ""));
    }
    sigmf_complete(one, steps + *lost, rate_hz, next);
    return STATUS_OK;
}

/* Samples of each capture, and what is missing between them. */
static status_t sigmf_add_captures(struct plain *plain)
{
    const struct sigmf *sigmf = plain->context;
    struct archive *archive = plain->archive;
    const uint64_t total = archive->count[AXIS_TIME];
    uint64_t place = plain->at;
    uint64_t first = 0; /* in the file */
    uint64_t end = 0;   /* in the stream */
    for (uint32_t i = 0; i < sigmf->ncaptures && first < total; i++) {
        const struct sigmf_capture *capture = &sigmf->captures[i];
        uint64_t next = i + 1 < sigmf->ncaptures ? capture[1].first : total;
        uint64_t lost = 0;
        REQUIRE(next > max_u64(first, capture->first), STATUS_DATA,
                "%s: core:sample_start is %" PRIu64 ", then %" PRIu64 " of %" PRIu64
                " samples: expected ascending ones",
                sigmf->meta_path, capture->first, next, total);
        if (next > total) {
            report_warn("%s ends early: captures from sample %" PRIu64 " on are missing",
                        plain->path, next);
            next = total;
        }
        TRY(i > 0 ? sigmf_lost_before(plain, i, &lost) : STATUS_OK);
        place += capture->header_bytes;
        const struct archive_run piece = {.file_offset = place,
                                          .piece_bytes = (next - first) * sigmf->step,
                                          .pieces = 1,
                                          .first_sample = end + lost,
                                          .steps = next - first,
                                          .stored = next - first};
        TRY(recorder_add_piece(archive, end, &piece));
        place += piece.piece_bytes;
        end = piece.first_sample + piece.steps;
        first = next;
    }
    archive->parts[0].samples = archive->count[AXIS_TIME] = end;
    archive->shape.dims[archive->shape.time_dim].size = end;
    return STATUS_OK;
}

/* Reads all metadata, and the place of the samples. */
static status_t sigmf_read(struct plain *out)
{
    struct sigmf *sigmf = out->context;
    const struct sigmf_capture *capture = &sigmf->captures[0];
    struct sources *sources = &out->archive->parts[0].storage.sources;
    uint64_t unused = sigmf->trailing_bytes;
    TRY(sources_add(sources, sigmf->meta_path, SOURCE_NAMED, NULL));
    out->archive->parts[0].file_bytes = sources_bytes(sources);
    for (uint32_t i = 0; i < sigmf->ncaptures; i++) {
        unused = min_u64(unused + sigmf->captures[i].header_bytes, UINT64_C(1) << 60);
    }
    out->known = sigmf->known;
    out->type = sigmf->type;
    out->offset = sigmf->type.kind == 'u' ? ldexp(1, (int)sigmf->type.bits - 1) : 0;
    out->at = sigmf->data_at;
    out->bytes = sigmf->is_archive ? sigmf->data_bytes : out->file_bytes;
    sigmf->step = sigmf->channels * sigmf->type.bits / 8 * (sigmf->type.is_complex ? 2 : 1);
    REQUIRE(out->bytes >= unused, STATUS_DATA,
            "%s has %" PRIu64 " bytes, expected more than the %" PRIu64
            " of core:header_bytes and core:trailing_bytes",
            out->path, out->bytes, unused);
    out->bytes -= unused;
    if (sigmf->data_lacks > 0) {
        report_warn("%s ends early: %" PRIu64 " bytes of its samples are missing", out->path,
                    sigmf->data_lacks);
    }
    TRY(plain_assume_streams(out, sigmf->channels, 0));
    TRY(capture->has_centre ? plain_set_centre(out, capture->centre_hz) : STATUS_OK);
    out->own.time.has_sample_rate = sigmf->has_rate;
    out->own.time.sample_rate_hz = sigmf->rate_hz;
    out->own.time.has_start = capture->has_time && (capture->first == 0 || sigmf->has_rate);
    out->own.time.start =
        utc_add(capture->time, sigmf->has_rate ? -(double)capture->first / sigmf->rate_hz : 0);
    return STATUS_OK;
}

static status_t sigmf_open_file(const char *path, const struct job_layout *layout,
                                struct archive **out)
{
    SCOPED(sigmf_free) struct sigmf sigmf = {.known = "SigMF"};
    TRY(sigmf_find(path, &sigmf));
    REQUIRE(sigmf.meta_path, STATUS_DATA,
            "%s is not SigMF: expected metadata (JSON, .sigmf-meta) or an archive (.sigmf)", path);
    /* A pattern that lists both would read samples twice. */
    REQUIRE(strcmp(sigmf.meta_path, path) == 0, STATUS_DATA,
            "%s has the samples of a SigMF recording, expected its metadata: %s", path,
            sigmf.meta_path);
    TRY(sigmf_read_meta(&sigmf));
    TRY(sigmf_name_data(&sigmf));
    return plain_open(sigmf.data_path, layout, sigmf_read, sigmf_add_captures, &sigmf, out);
}

const struct format sigmf_format = {.name = "sigmf",
                                    .takes_axes = 1,
                                    .is_no_product = 1,
                                    .recognise = sigmf_recognise,
                                    .open_file = sigmf_open_file};
