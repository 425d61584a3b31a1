/* GUPPI RAW: files of blocks, each with a header of FITS-like cards, as GUPPI, PUPPI, VEGAS and
 * hashpipe's descendants write them. What they hold, and where, is found from block to block. */
#include "archive/format/recorder/guppi.h"

#include "archive/assumed.h"
#include "archive/format/gather.h"
#include "archive/format/override.h"
#include "archive/spacing.h"
#include "base/memory.h"
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
    double ratio = own->sample_rate_hz / width;
    if (!guppi->is_complex || ratio < 1.001) {
        goto out;
    }
    REQUIRE(spacing_ratio(ratio, 1e-7, &own->oversampling_num, &own->oversampling_den), STATUS_DATA,
            "%s: %.9g samples a second of coarse channels of %.9g Hz: their ratio is none of small "
            "numbers (input.layout.oversampling can say it)",
            path, own->sample_rate_hz, width);
    own->has_oversampling = 1;
    TRY(assume(assumed,
               "oversampling %u/%u: no word says it, 1 / TBIN is that many times OBSBW / OBSNCHAN",
               own->oversampling_num, own->oversampling_den));
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
    TRY(memory_text(feeds[at].doubt, &archive->assumed));
out:
    return st;
}

/* The words of the observation, for a description. */
static status_t guppi_set_words(const struct guppi *guppi, const struct guppi_blocks *blocks,
                                const struct ascii *header, struct job_layout *own,
                                struct archive *archive)
{
    status_t st = STATUS_OK;
    own->has_sample_rate = 1;
    own->sample_rate_hz = recorder_rate(guppi->seconds);
    own->has_start = guppi->has_start;
    own->start = utc_add(guppi->start, blocks->before * guppi->seconds);
    TRY(memory_text("blocks", &own->dataset));
    TRY(ascii_text(header, "TELESCOP", &own->telescope));
    TRY(ascii_text(header, "SRC_NAME", &own->source));
    TRY(recorder_set_band(guppi->centre_hz, guppi->width_hz, guppi->channels, own));
    archive->has_position =
        ascii_position(header, "RA_STR", "DEC_STR", &archive->ra_deg, &archive->dec_deg);
out:
    return st;
}

static status_t guppi_describe(const struct guppi *guppi, const struct guppi_blocks *blocks,
                               const struct ascii *header, const struct job_layout *layout,
                               struct archive *archive)
{
    status_t st = STATUS_OK;
    struct job_layout own = {.files_along = layout->files_along};
    const struct recorder_number number = {.bits = guppi->bits,
                                           .is_complex = guppi->is_complex,
                                           .nibbles = {.offset_binary = 0, .high_is_real = 1},
                                           .levels = guppi->bits == 2 ? guppi_levels : NULL};
    uint64_t samples = blocks->items[blocks->count - 1].first + guppi->steps;
    archive->parts[0].samples = samples;
    guppi_set_dims(guppi, samples, archive);
    TRY(guppi_name_pols(guppi, header, archive));
    TRY(guppi_set_words(guppi, blocks, header, &own, archive));
    if (!layout->has_oversampling) {
        TRY(guppi_set_oversampling(guppi, header->path, &own, &archive->assumed));
    }
    TRY(recorder_describe(layout, &number, &own, archive));
    TRY(guppi_add_runs(guppi, blocks, archive));
    TRY(guppi_find_torn(guppi, blocks, archive));
out:
    override_free(&own);
    return st;
}

static status_t guppi_open_file(const char *path, const struct job_layout *layout,
                                struct archive **out)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    struct guppi guppi = {.has_start = 0};
    struct guppi_blocks blocks = {.items = NULL};
    struct text first = {0};
    uint64_t bytes = 0;
    int fd = -1;
    TRY(archive_create(path, &archive));
    TRY(memory_text("GUPPI RAW", &archive->layout));
    TRY(recorder_open(&archive->parts[0], &fd, &bytes));
    TRY(guppi_find_blocks(path, fd, bytes, &guppi, &blocks, &first));
    const struct ascii header = {path, 0, first.data, first.length, 1};
    TRY(guppi_describe(&guppi, &blocks, &header, layout, archive));
    *out = archive;
    archive = NULL;
out:
    free(blocks.items);
    text_free(&first);
    file_close(fd);
    archive_destroy(archive);
    return st;
}

static status_t guppi_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    TRY(gather_files(input, guppi_open_file, &archive));
    TRY(guppi_end_runs(archive));
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    return st;
}

const struct format guppi_format = {.name = "guppi",
                                    .title = "GUPPI RAW",
                                    .expected = "GUPPI RAW (blocks with headers of cards)",
                                    .is_no_product = 1,
                                    .recognise = guppi_recognise,
                                    .open = guppi_open};
