/* GUPPI RAW: files of blocks, each with a header of FITS-like cards, as GUPPI, PUPPI, VEGAS and
 * hashpipe's descendants write them. What they hold, and where, is found from block to block. */
#include "archive/format/recorder/guppi.h"

#include "archive/format/gather.h"
#include "archive/format/override.h"
#include "base/memory.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Runs of blocks at equal distances that go on without a gap. */
static status_t guppi_add_runs(const struct guppi *guppi, const struct guppi_blocks *blocks,
                               struct archive *archive)
{
    status_t st = STATUS_OK;
    struct archive_part *part = &archive->parts[0];
    struct archive_run *run = NULL;
    for (size_t i = 0; i < blocks->count; i++) {
        const struct guppi_block *block = &blocks->items[i];
        int follows = run && block->first == block[-1].first + guppi->steps;
        uint64_t distance = i > 0 ? block->at - block[-1].at : 0;
        if (follows && (run->pieces == 1 || distance == run->piece_bytes)) {
            run->piece_bytes = distance;
            run->pieces++;
            continue;
        }
        if (i > 0 && !follows) {
            uint64_t end = block[-1].first + guppi->steps;
            TRY(recorder_add_gap(archive, end, block->first - end));
        }
        TRY(recorder_add_run(part, &run));
        run->file_offset = block->at;
        run->piece_bytes = guppi->block_bytes;
        run->pieces = 1;
        run->first_sample = block->first;
        run->steps = guppi->steps;
        run->stored = guppi->stored;
    }
out:
    return st;
}

/* The last block when the file ends within it: whole coarse channels may be there, or with SIMPLE
 * the first samples of all. */
static status_t guppi_find_torn(const struct guppi *guppi, const struct guppi_blocks *blocks,
                                struct archive *archive)
{
    status_t st = STATUS_OK;
    struct archive_part *part = &archive->parts[0];
    uint64_t first = blocks->items[blocks->count - 1].first;
    uint64_t there = 8 * blocks->held;
    char *why = NULL;
    if (blocks->held == guppi->block_bytes) {
        goto out;
    }
    TRY(memory_format(
        &why, "the file is cut off: it ends with %" PRIu64 " of %" PRIu64 " bytes of a block",
        blocks->held, guppi->block_bytes));
    struct lost_box box = {.why = NULL};
    for (uint32_t i = 0; i < archive->ndims; i++) {
        box.high[i] = archive->dims[i].size;
    }
    box.low[archive->time_dim] = first;
    box.high[archive->time_dim] = first + guppi->steps;
    if (guppi->is_time_first) {
        box.low[archive->time_dim] += min_u64(there / guppi->step_bits, guppi->steps);
        TRY(recorder_add_lost(part, &box, why));
        goto out;
    }
    uint64_t rows = (uint64_t)guppi->stations * guppi->channels;
    uint64_t whole = there / (guppi->stored * (guppi->step_bits / rows));
    uint32_t chan = guppi->stations > 1; /* the dimension */
    box.low[chan] = whole % guppi->channels;
    box.high[0] = chan ? whole / guppi->channels + 1 : box.high[0];
    box.low[0] = chan ? whole / guppi->channels : box.low[0];
    TRY(recorder_add_lost(part, &box, why));
    if (chan && box.high[0] < guppi->stations) { /* those behind the one that is torn */
        box.low[0] = box.high[0];
        box.high[0] = guppi->stations;
        box.low[chan] = 0;
        TRY(recorder_add_lost(part, &box, why));
    }
out:
    free(why);
    return st;
}

/* A sample rate above the width of a coarse channel, as a ratio of small numbers. */
static status_t guppi_set_oversampling(const struct guppi *guppi, const char *path,
                                       struct job_layout *own)
{
    enum { MOST_DEN = 64 };
    double width = fabs(guppi->width_hz) / guppi->channels;
    double ratio = own->sample_rate_hz / width;
    if (!guppi->is_complex || ratio < 1.001) {
        return STATUS_OK;
    }
    for (uint32_t den = 1; den <= MOST_DEN; den++) {
        double num = rint(ratio * den);
        if (fabs(num / den - ratio) < 1e-7 * ratio) {
            own->has_oversampling = 1;
            own->oversampling_num = (uint32_t)num;
            own->oversampling_den = den;
            return STATUS_OK;
        }
    }
    return report_fail(STATUS_DATA,
                       "%s: %.9g samples a second of coarse channels of %.9g Hz: their ratio is "
                       "none of small numbers (input.layout.oversampling can say it)",
                       path, own->sample_rate_hz, width);
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
    own->packing.nibbles = (struct nibbles){.offset_binary = 0, .high_is_real = 1};
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
                                           .levels = guppi->bits == 2 ? guppi_levels : NULL};
    uint64_t samples = blocks->items[blocks->count - 1].first + guppi->steps;
    archive->parts[0].samples = samples;
    guppi_set_dims(guppi, samples, archive);
    TRY(guppi_set_words(guppi, blocks, header, &own, archive));
    if (!layout->has_oversampling) {
        TRY(guppi_set_oversampling(guppi, header->path, &own));
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
    return gather_files(input, guppi_open_file, out);
}

const struct format guppi_format = {.name = "guppi",
                                    .title = "GUPPI RAW",
                                    .expected = "GUPPI RAW (blocks with headers of cards)",
                                    .is_no_product = 1,
                                    .recognise = guppi_recognise,
                                    .open = guppi_open};
