/* GUPPI RAW: files of blocks, each with a header of FITS-like cards, as GUPPI, PUPPI, VEGAS and
 * hashpipe's descendants write them. What they hold, and where, is found from block to block. */
#include "input/format/guppi.h"

#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/gather.h"
#include "input/format/override.h"
#include "input/spacing.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { RECOGNISED_BY = 32 << 10 /* bytes */ };

/* Cards from the first byte on, one of which is of GUPPI's. FITS files begin with SIMPLE. */
static status_t guppi_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct text head = {0};
    char value[ASCII_VALUE];
    size_t with = 0;
    TRY(recorder_head(path, RECOGNISED_BY, &head));
    struct ascii header = {path, 0, head.data, head.length, 1};
    *is_it = head.length >= ASCII_CARD && head.data[8] == '=' &&
             memcmp(head.data, "SIMPLE ", 7) != 0 &&
             ascii_end_of_cards(head.data, head.length, &header.length, &with) >= 0 &&
             (ascii_find(&header, "BLOCSIZE", value) || ascii_find(&header, "OBSNCHAN", value));
out:
    text_free(&head);
    return st;
}

/* Levels of two bits: the quantiser's and its readers' (gbt_seti, SETI@home). */
static const double guppi_levels[] = {3.3358750, 1, -1, -3.3358750};

/* A sample rate above the width of a coarse channel, as a ratio of small numbers. */
static status_t guppi_set_oversampling(const struct guppi *guppi, const char *path,
                                       struct job_layout *own, char **assumed)
{
    status_t st = STATUS_OK;
    double width = fabs(guppi->width_hz) / guppi->channels;
    double ratio = own->time.sample_rate_hz / width;
    if (!guppi->is_complex || ratio < 1.001) {
        goto out;
    }
    REQUIRE(spacing_ratio(ratio, 1e-7, &own->oversample.num, &own->oversample.den), STATUS_DATA,
            "%s: %.9g samples a second of coarse channels of %.9g Hz: their ratio is none of small "
            "numbers (input.layout.oversampling can say it)",
            path, own->time.sample_rate_hz, width);
    own->has_oversampling = 1;
    TRY(assume(assumed,
               "oversampling %u/%u: no word says it, 1 / TBIN is that many times OBSBW / OBSNCHAN",
               own->oversample.num, own->oversample.den));
out:
    return st;
}

static void guppi_set_dims(const struct guppi *guppi, uint64_t samples, struct archive *archive)
{
    if (guppi->is_time_first) {
        recorder_add_dim(archive, AXIS_TIME, samples);
    } else if (guppi->stations > 1) {
        recorder_add_dim(archive, AXIS_STATION, guppi->stations);
    }
    recorder_add_dim(archive, AXIS_CHAN, guppi->channels);
    if (!guppi->is_time_first) {
        recorder_add_dim(archive, AXIS_TIME, samples);
    }
    recorder_add_dim(archive, AXIS_POL, guppi->pols);
}

/* FD_POLN says what receives two polarisations, not which one is first: X in all known backends,
 * and R in most. */
static status_t guppi_name_pols(const struct guppi *guppi, const struct ascii *header,
                                struct archive *archive)
{
    static const struct {
        const char *word, *names[2], *doubt;
    } feeds[] = {{"LIN",
                  {"X", "Y"},
                  "polarisations X, Y: FD_POLN says linear, and the first is taken for X"},
                 {"CIRC",
                  {"R", "L"},
                  "polarisations R, L: FD_POLN says circular, and the first is taken for R"}};
    status_t st = STATUS_OK;
    char value[ASCII_VALUE];
    size_t at = 0;
    if (guppi->pols != 2 || !ascii_find(header, "FD_POLN", value)) {
        goto out;
    }
    while (at < 2 && strncasecmp(value, feeds[at].word, strlen(feeds[at].word)) != 0) {
        at++;
    }
    if (at == 2) {
        goto out;
    }
    TRY(memory_zeroed(2, sizeof(char *), "names", &archive->names[AXIS_POL]));
    archive->count[AXIS_POL] = 2;
    for (uint32_t i = 0; i < 2; i++) {
        TRY(memory_text(feeds[at].names[i], &archive->names[AXIS_POL][i]));
    }
    TRY(assume(&archive->assumed, "%s", feeds[at].doubt));
out:
    return st;
}

/* The words of the observation, for a description. */
static status_t guppi_set_words(const struct guppi_file *file, const struct ascii *header,
                                struct job_layout *own)
{
    status_t st = STATUS_OK;
    const struct guppi *guppi = &file->guppi;
    struct archive *archive = file->archive;
    own->time.has_sample_rate = 1;
    own->time.sample_rate_hz = recorder_rate(guppi->seconds);
    own->time.has_start = guppi->has_start;
    own->time.start = utc_add(guppi->start, file->blocks.before * guppi->seconds);
    TRY(memory_text("blocks", &own->dataset));
    TRY(ascii_text(header, "TELESCOP", &own->sky.telescope));
    TRY(ascii_text(header, "SRC_NAME", &own->sky.source));
    TRY(recorder_set_band(guppi->centre_hz, guppi->width_hz, guppi->channels, own));
    archive->sky.has_position =
        ascii_position(header, "RA_STR", "DEC_STR", &archive->sky.ra_deg, &archive->sky.dec_deg);
out:
    return st;
}

/* SYNCTIME and the start time, which is that of packet `begin`. */
static status_t guppi_check_synctime(const struct guppi_file *file)
{
    status_t st = STATUS_OK;
    const struct guppi *guppi = &file->guppi;
    struct utc from_sync = {0, 0};
    char unix_text[UNITS_TEXT];
    char start_text[UNITS_TEXT];
    double off = 0;
    TRY(guppi_sync_time(file, guppi->begin, &from_sync, &off));
    if (off > GUPPI_NEAR) {
        TRY(assume(&file->archive->assumed,
                   "SYNCTIME and %s say that it starts at %s, STT_IMJD and STT_SMJD at %s: "
                   "these are used",
                   guppi->has_begin ? "PKTSTART" : "PKTIDX 0", units_utc(from_sync, unix_text),
                   units_utc(guppi->start, start_text)));
    }
out:
    return st;
}

static status_t guppi_describe(struct guppi_file *file, const struct job_layout *layout)
{
    status_t st = STATUS_OK;
    struct archive *archive = file->archive;
    const struct guppi *guppi = &file->guppi;
    const struct guppi_blocks *blocks = &file->blocks;
    const struct guppi_block *last = &blocks->items[blocks->count - 1];
    const struct ascii header = {file->path, 0, file->first.data, file->first.length, 1};
    struct job_layout own = {.files_along = layout->files_along};
    const struct recorder_number number = {.bits = guppi->bits,
                                           .is_complex = guppi->is_complex,
                                           .nibbles = {.offset_binary = 0, .high_is_real = 1},
                                           .levels = guppi->bits == 2 ? guppi_levels : NULL};
    archive->parts[0].samples = last->first + guppi_steps(guppi, last);
    guppi_set_dims(guppi, archive->parts[0].samples, archive);
    TRY(guppi_name_pols(guppi, &header, archive));
    TRY(guppi_set_words(file, &header, &own));
    TRY(guppi_check_synctime(file));
    if (!layout->has_oversampling) {
        TRY(guppi_set_oversampling(guppi, file->path, &own, &archive->assumed));
    }
    TRY(recorder_describe(layout, &number, &own, archive));
    TRY(guppi_add_runs(guppi, blocks, archive));
    TRY(guppi_find_torn(guppi, blocks, archive));
out:
    override_free(&own);
    return st;
}

/* Reads all headers of a file. */
static status_t guppi_survey(const char *path, const struct job_layout *layout,
                             struct guppi_file *file)
{
    status_t st = STATUS_OK;
    uint64_t bytes = 0;
    int fd = -1;
    file->path = path;
    TRY(archive_create(path, &file->archive));
    TRY(memory_text("GUPPI RAW", &file->archive->layout));
    TRY(recorder_open(&file->archive->parts[0], &fd, &bytes));
    TRY(guppi_find_blocks(fd, bytes, layout, file));
    TRY(guppi_weigh_blocks(file));
out:
    file_close(fd);
    return st;
}

static status_t guppi_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    struct guppi_file *files = NULL;
    struct archive **archives = NULL;
    struct archive *archive = NULL;
    TRY(memory_zeroed(input->npaths, sizeof *files, "input files", &files));
    TRY(memory_zeroed(input->npaths, sizeof(struct archive *), "input files", &archives));
    for (size_t i = 0; i < input->npaths; i++) {
        TRY(guppi_survey(input->paths[i], input->layout, &files[i]));
    }
    TRY(guppi_place_files(files, input->npaths, input->layout));
    for (size_t i = 0; i < input->npaths; i++) {
        TRY(guppi_describe(&files[i], input->layout));
        archives[i] = files[i].archive;
        files[i].archive = NULL;
    }
    TRY(gather_opened(input, archives, &archive));
    TRY(guppi_end_runs(archive));
    *out = archive;
    archive = NULL;
out:
    for (size_t i = 0; i < input->npaths; i++) {
        archive_destroy(archives ? archives[i] : NULL);
        if (files) {
            archive_destroy(files[i].archive);
            free(files[i].blocks.items);
            text_free(&files[i].first);
        }
    }
    free(files);
    free(archives);
    archive_destroy(archive);
    return st;
}

const struct format guppi_format = {.name = "guppi",
                                    .title = "GUPPI RAW",
                                    .expected = "GUPPI RAW (blocks with headers of cards)",
                                    .is_no_product = 1,
                                    .recognise = guppi_recognise,
                                    .open = guppi_open};
