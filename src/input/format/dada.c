/* PSRDADA: an ASCII header of lines and, after it, samples in one piece: [time][chan][pol][dim],
 * or heaps as some instruments write them, such as [heap][pol][chan][time of a heap][dim]. */
#include "input/format/dada.h"
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/gather.h"
#include "input/format/recorder.h"
#include "input/format/said.h"
#include "input/format/vdif_first.h"
#include "io/file.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_HEADER = 16 << 20 };

/* Lines of keys and values, with HDR_SIZE among them. */
static status_t dada_recognise(const char *path, int *is_it)
{
    SCOPED(text_free) struct text head = {0};
    TRY(dada_head(path, DADA_HEADER, &head, NULL));
    const struct ascii header = {path, 0, head.data, head.length, 0};
    *is_it = (ascii_find(&header, "HDR_SIZE", NULL) || ascii_find(&header, "HDR_VERSION", NULL)) &&
             (ascii_find(&header, "NBIT", NULL) || ascii_find(&header, "NCHAN", NULL) ||
              ascii_find(&header, "UTC_START", NULL) || ascii_find(&header, "DATAFILE", NULL));
    return STATUS_OK;
}

/* Bytes of samples after the header: not more than FILE_SIZE, which is without the header. Files
 * that are shorter were the last, or are cut off. */
static status_t dada_read_bytes(const struct dada *dada, uint64_t *bytes)
{
    char word[ASCII_VALUE];
    uint64_t said = UINT64_MAX;
    uint64_t all = 0;
    const uint64_t held = dada->file_bytes - dada->header_bytes;
    if (dada_find(&dada->header, "FILE_SIZE", word)) {
        TRY(ascii_u64(&dada->header, "FILE_SIZE", 0, UINT64_C(1) << 60, &said, ASCII_MAYBE));
    }
    const int is_less = said < held;
    TRY(assume_if(is_less, dada->assumed,
                  "FILE_SIZE = %" PRIu64 " and %" PRIu64 " bytes behind the header differ: %s",
                  said, held, said == 0 ? "all are used" : "those beyond are ignored"));
    *bytes = said > 0 ? min_u64(said, held) : held;
    int is_all = dada_find(&dada->header, "TRANSFER_SIZE", word) && units_parse_u64(word, &all);
    return assume_if(is_all && all < *bytes, dada->assumed,
                     "TRANSFER_SIZE = %" PRIu64 " and %" PRIu64
                     " bytes of samples differ: TRANSFER_SIZE is ignored",
                     all, *bytes);
}

/* Reads the place in the observation at which the file begins (OBS_OFFSET). */
static status_t dada_read_offset(struct dada *dada)
{
    char number[ASCII_VALUE] = "";
    uint64_t offset = 0;
    uint64_t files = 0;
    int found = 0;
    TRY(ascii_u64(&dada->header, "OBS_OFFSET", 0, UINT64_C(1) << 60, &offset, &found));
    int is_old = !found && dada_find(&dada->header, "OFFSET", number) && /* dspsr reads it, too */
                 units_parse_u64(number, &offset) && offset >> 60 == 0;
    TRY(assume_unless(found, dada->assumed, "OBS_OFFSET is not there: %s",
                      is_old ? "OFFSET is used" : "the file begins the observation"));
    found = found || is_old;
    offset = found ? offset : 0;
    REQUIRE(8 * offset % dada->step_bits == 0, STATUS_DATA,
            "%s: OBS_OFFSET = %" PRIu64 " bytes, expected whole time steps of %" PRIu64 " bits",
            dada->path, offset, dada->step_bits);
    dada->offset_steps = 8 * offset / dada->step_bits;
    dada->has_offset = found;
    int is_later = dada_find(&dada->header, "FILE_NUMBER", number) &&
                   units_parse_u64(number, &files) && files > 0;
    return assume_if(found && offset == 0 && is_later, dada->assumed,
                     "FILE_NUMBER = %s and OBS_OFFSET = 0 differ: the file begins the observation",
                     number);
}

/* Reads the place and the number of the samples, and how many of them the next file repeats
 * (OBS_OVERLAP). */
static status_t dada_read_place(struct dada *dada)
{
    uint64_t bytes = 0;
    uint64_t overlap = 0;
    uint64_t each = dada->heap > 0 ? dada->heap : 1;
    uint64_t piece_bits = dada->step_bits * each;
    TRY(dada_read_offset(dada));
    TRY(dada_read_bytes(dada, &bytes));
    TRY(ascii_u64(&dada->header, "OBS_OVERLAP", 0, UINT64_C(1) << 60, &overlap, ASCII_MAYBE));
    REQUIRE(8 * bytes >= piece_bits, STATUS_DATA,
            "%s contains %" PRIu64 " bytes after its header of %" PRIu64
            "%s: not one %s of %" PRIu64 " bits",
            dada->path, bytes, dada->header_bytes,
            bytes < dada->file_bytes - dada->header_bytes ? " by FILE_SIZE" : "",
            dada->heap > 0 ? "heap" : "time step", piece_bits);
    dada->steps = 8 * bytes / piece_bits * each;
    dada->repeated = dada->steps - 8 * (bytes - min_u64(bytes, overlap)) / piece_bits * each;
    if (8 * bytes % piece_bits != 0) {
        report_warn("%s ends within a %s: what is there of it is left out", dada->path,
                    dada->heap > 0 ? "heap" : "time step");
    }
    return STATUS_OK;
}

/* Notes a size of the header that PSRDADA does not write, and bytes of it that are neither text nor
 * the zeros after it. */
static status_t dada_check_header(const struct text *text, const struct dada *dada, int is_said)
{
    size_t length = strnlen(text->data, text->length);
    size_t zeros = length < DADA_HEADER ? DADA_HEADER : length;
    while (zeros < text->length && text->data[zeros] == '\0') {
        zeros++;
    }
    TRY(assume_unless(is_said, dada->assumed, "HDR_SIZE is not there: samples begin at byte %d",
                      DADA_HEADER));
    TRY(assume_unless(dada->header_bytes % DADA_HEADER == 0, dada->assumed,
                      "HDR_SIZE = %" PRIu64 " is no multiple of %d, as it is by PSRDADA: samples "
                      "begin there",
                      dada->header_bytes, DADA_HEADER));
    return assume_unless(zeros >= text->length, dada->assumed,
                         "HDR_SIZE = %" PRIu64
                         ", but byte %zu of the header is no text and no zero: "
                         "samples begin behind HDR_SIZE",
                         dada->header_bytes, zeros);
}

/* Words that are in a header must be in its first HDR_SIZE bytes, too. */
static status_t dada_check_size(const struct text *head, const struct dada *dada)
{
    static const char *const keys[] = {"HDR_SIZE", "NBIT",      "NDIM",      "NPOL",      "NCHAN",
                                       "TSAMP",    "UTC_START", "MJD_START", "OBS_OFFSET"};
    char word[ASCII_VALUE];
    char inside[ASCII_VALUE];
    const struct ascii all = {dada->path, 0, head->data, strnlen(head->data, head->length), 0};
    struct ascii header = all;
    header.length = min_u64(all.length, dada->header_bytes);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        REQUIRE(!ascii_find(&all, keys[i], word) ||
                    (ascii_find(&header, keys[i], inside) && strcmp(word, inside) == 0),
                STATUS_DATA, "%s: HDR_SIZE = %" PRIu64 ", but %s = %s is not before that byte",
                dada->path, dada->header_bytes, keys[i], word);
    }
    return STATUS_OK;
}

/* `text`: of the whole header, which must outlive it. */
static status_t dada_read_header(struct dada *dada, struct text *text)
{
    const char *path = dada->path;
    char word[ASCII_VALUE] = "";
    int found = 0;
    TRY(dada_head(path, DADA_HEADER, text, NULL));
    const struct ascii first = {path, 0, text->data, text->length, 0};
    REQUIRE(dada->file_bytes > DADA_HEADER || !dada_find(&first, "DATAFILE", word), STATUS_DATA,
            "%s describes, for dspsr, the samples in DATAFILE = %s: that file is the one to read, "
            "with what its own headers lack in input.layout",
            path, word);
    dada->header_bytes = DADA_HEADER;
    TRY(ascii_u64(&first, "HDR_SIZE", 1, MOST_HEADER, &dada->header_bytes, &found));
    REQUIRE(dada->header_bytes <= dada->file_bytes, STATUS_DATA,
            "%s: HDR_SIZE = %" PRIu64 ", but the file has %" PRIu64 " bytes", path,
            dada->header_bytes, dada->file_bytes);
    TRY(dada_check_size(text, dada));
    text_free(text);
    TRY(dada_head(path, (size_t)dada->header_bytes, text, dada->assumed));
    TRY(dada_check_header(text, dada, found));
    dada->header = (struct ascii){path, 0, text->data, strnlen(text->data, text->length), 0};
    TRY(dada_read_words(dada));
    TRY(dada_read_start(dada));
    return dada_read_place(dada);
}

/* Some ring buffers hold VDIF frames (VLITE), which are written behind the header as they are. */
static status_t dada_check_frames(const struct dada *dada, int fd)
{
    const struct packets_seek seek = {.fd = fd, .path = dada->path, .bytes = dada->file_bytes};
    unsigned char bytes[VDIF_BYTES] = {0};
    struct vdif_header first;
    int is_followed = 0;
    TRY(file_read(fd, dada->path, dada->header_bytes, bytes,
                  min_u64(sizeof bytes, dada->file_bytes - dada->header_bytes)));
    vdif_header_read(bytes, &first);
    TRY(vdif_is_possible(&first) ? vdif_is_followed(&seek, dada->header_bytes, &first, &is_followed)
                                 : STATUS_OK);
    return REQUIRED(!is_followed, STATUS_DATA,
                    "%s: its header is followed by VDIF frames of %" PRIu64 " bytes, not by "
                    "samples alone: input.layout {format: vdif} reads them",
                    dada->path, first.bytes);
}

static void dada_set_dims(const struct dada *dada, struct archive *archive)
{
    for (size_t i = 0; i < sizeof dada->axes / sizeof *dada->axes; i++) {
        recorder_add_dim(archive, dada->axes[i],
                         dada->axes[i] == AXIS_TIME   ? dada->steps
                         : dada->axes[i] == AXIS_CHAN ? dada->channels
                                                      : dada->pols);
    }
}

/* Heaps are a run; else the samples are a dataset in one piece. */
static status_t dada_add_samples(const struct dada *dada, struct archive_part *part)
{
    if (dada->heap > 0) {
        const struct archive_run run = {.file_offset = dada->header_bytes,
                                        .piece_bytes = dada->heap * dada->step_bits / 8,
                                        .pieces = dada->steps / dada->heap,
                                        .steps = dada->heap,
                                        .stored = dada->heap};
        return archive_add_run(part, part->path, &run);
    }
    TRY(memory_zeroed(1, sizeof *part->extents, "samples", &part->extents));
    part->nextents = 1;
    part->extents[0].file_offset = dada->header_bytes;
    part->extents[0].bytes = ceil_div_u64(dada->steps * dada->step_bits, 8);
    return memory_text(part->path, &part->extents[0].path);
}

static status_t dada_describe(const struct dada *dada, struct archive *archive)
{
    const struct ascii *header = &dada->header;
    SCOPED(override_free) struct job_layout own = {.files_along = dada->layout->files_along};
    const struct recorder_number number = {.bits = dada->bits,
                                           .is_complex = dada->is_complex,
                                           .nibbles = {dada->is_offset, 0},
                                           .is_offset = dada->is_offset || dada->bits <= 2,
                                           .big_endian = dada->big_endian};
    archive->parts[0].samples = dada->steps;
    archive->parts[0].repeated = dada->repeated;
    dada_set_dims(dada, archive);
    own.time.has_sample_rate = 1;
    own.time.sample_rate_hz = recorder_rate(dada->seconds);
    own.time.has_start = dada->has_start;
    own.time.start = utc_add(dada->start, (double)dada->offset_steps / own.time.sample_rate_hz);
    own.has_dc = own.is_dc_at_edge = dada->is_dc_at_edge;
    own.has_oversampling = dada->oversample.num > dada->oversample.den;
    own.oversample = dada->oversample;
    TRY(memory_text("samples", &own.dataset));
    TRY(ascii_text(header, "TELESCOPE", &own.sky.telescope));
    TRY(ascii_text(header, "SOURCE", &own.sky.source));
    TRY(recorder_set_band(dada->centre_hz, dada->width_hz, dada->channels, &own));
    own.sideband = dada->is_upper ? 1 : own.sideband;
    archive->sky.has_position =
        ascii_position(header, "RA", "DEC", &archive->sky.ra_deg, &archive->sky.dec_deg);
    TRY(recorder_describe(dada->layout, &number, &own, archive));
    /* Files of one observation are placed by OBS_OFFSET even if nothing says when it began. */
    archive->states.start = archive->states.start || dada->has_offset;
    return dada_add_samples(dada, &archive->parts[0]);
}

static status_t dada_open_file(const char *path, const struct job_layout *layout,
                               struct archive **out)
{
    struct dada dada = {.path = path, .layout = layout};
    SCOPED(text_free) struct text text = {0};
    SCOPED(file_close_at) int fd = -1;
    TRY(archive_create(path, out));
    struct archive *archive = *out;
    TRY(memory_text("PSRDADA", &archive->layout));
    TRY(recorder_open(&archive->parts[0], &fd, &dada.file_bytes));
    dada.assumed = &archive->assumed;
    TRY(dada_read_header(&dada, &text));
    TRY(dada_check_frames(&dada, fd));
    return dada_describe(&dada, archive);
}

/* Reads the number of a file in its sequence, if it has one. */
static status_t dada_read_number(const char *path, uint64_t *number, int *found)
{
    SCOPED(text_free) struct text text = {0};
    char word[ASCII_VALUE];
    TRY(dada_head(path, DADA_HEADER, &text, NULL));
    const struct ascii header = {path, 0, text.data, strnlen(text.data, text.length), 0};
    *found = dada_find(&header, "FILE_NUMBER", word) && units_parse_u64(word, number);
    return STATUS_OK;
}

/* Files in the order of their times are in that of their numbers. */
static status_t dada_compare_numbers(struct archive *archive)
{
    uint64_t last = 0;
    int has_last = 0;
    for (uint32_t i = 0; i < archive->nparts && archive->nparts > 1; i++) {
        const struct archive_part *part = &archive->parts[i];
        uint64_t number = 0;
        int found = 0;
        TRY(dada_read_number(part->path, &number, &found));
        TRY(assume_if(i > 0 && part->stack == part[-1].stack && found && has_last && number <= last,
                      &archive->assumed,
                      "FILE_NUMBER = %" PRIu64 " comes after %" PRIu64
                      " by UTC_START, MJD_START and OBS_OFFSET: these are used",
                      number, last));
        last = number;
        has_last = found;
    }
    return STATUS_OK;
}

static status_t dada_open(const struct format_input *input, struct archive **out)
{
    TRY(gather_files(input, &dada_format, out));
    return dada_compare_numbers(*out);
}

const struct format dada_format = {.name = "dada",
                                   .is_no_product = 1,
                                   .recognise = dada_recognise,
                                   .open = dada_open,
                                   .open_file = dada_open_file};
