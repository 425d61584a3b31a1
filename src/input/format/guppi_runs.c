/* GUPPI RAW: from blocks to runs of them, gaps, and what is lost. */
#include "input/format/guppi.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

/* Which of a block's samples are taken: all behind those of the block before it. */
struct guppi_piece {
    uint64_t at; /* of the first one in the file */
    uint64_t first, steps;
};

/* Bytes of `samples` of one row of a block, in which samples lie side by side. */
static status_t guppi_skip_bytes(const struct guppi *guppi, const char *path, uint64_t samples,
                                 uint64_t *bytes)
{
    status_t st = STATUS_OK;
    uint64_t rows = guppi->is_time_first ? 1 : (uint64_t)guppi->stations * guppi->channels;
    uint64_t bits = samples * (guppi->step_bits / rows);
    REQUIRE(bits % 8 == 0, STATUS_DATA,
            "%s: blocks repeat %" PRIu64 " samples (OVERLAP), %" PRIu64
            " bits of a coarse channel: expected whole bytes",
            path, samples, bits);
    *bytes = bits / 8;
out:
    return st;
}

uint64_t guppi_steps(const struct guppi *guppi, const struct guppi_block *block)
{
    return block->stored - guppi->overlap;
}

/* `taken`: where the samples of the blocks before it end. */
static status_t guppi_find_piece(const struct guppi *guppi, const struct guppi_block *block,
                                 uint64_t taken, const char *path, struct guppi_piece *out)
{
    status_t st = STATUS_OK;
    uint64_t bytes = 0;
    uint64_t skip = taken > block->first ? min_u64(taken - block->first, block->stored) : 0;
    TRY(guppi_skip_bytes(guppi, path, skip, &bytes));
    out->at = block->at + bytes;
    out->first = block->first + skip;
    out->steps = block->stored - skip;
out:
    return st;
}

/* Samples of one block that lack packets; what is missing at once continues the block before. */
static status_t guppi_add_partial(struct archive_part *part, const struct guppi_piece *piece,
                                  uint32_t lost)
{
    status_t st = STATUS_OK;
    struct archive_partial *last =
        part->npartials > 0 ? &part->partials[part->npartials - 1] : NULL;
    if (lost == 0) {
        goto out;
    }
    if (last && last->lost == lost && last->first + last->count == piece->first) {
        last->count += piece->steps;
        goto out;
    }
    TRY(memory_grow(&part->partials, part->npartials, sizeof *part->partials,
                    "blocks that lack packets"));
    part->partials[part->npartials++] = (struct archive_partial){piece->first, piece->steps, lost};
out:
    return st;
}

/* Continues the last run, or begins one. */
static status_t guppi_add_piece(const struct guppi *guppi, const struct guppi_block *block,
                                const struct guppi_piece *piece, struct archive_part *part)
{
    status_t st = STATUS_OK;
    struct archive_run *run = part->nruns > 0 ? &part->runs[part->nruns - 1] : NULL;
    uint64_t last = run ? run->file_offset + (run->pieces - 1) * run->piece_bytes : 0;
    uint64_t end = run ? run->first_sample + run->pieces * run->steps : 0;
    int follows =
        run && piece->first == end && piece->steps == run->steps && block->stored == run->stored;
    if (follows && (run->pieces == 1 || piece->at - last == run->piece_bytes)) {
        run->piece_bytes = piece->at - last;
        run->pieces++;
        goto out;
    }
    TRY(recorder_add_run(part, &run));
    run->file_offset = piece->at;
    run->piece_bytes = ceil_div_u64(block->stored * guppi->step_bits, 8);
    run->pieces = 1;
    run->first_sample = piece->first;
    run->steps = piece->steps;
    run->stored = block->stored;
out:
    return st;
}

status_t guppi_add_runs(const struct guppi *guppi, const struct guppi_blocks *blocks,
                        struct archive *archive)
{
    status_t st = STATUS_OK;
    struct archive_part *part = &archive->parts[0];
    struct guppi_piece piece = {0};
    uint64_t end = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        const struct guppi_block *block = &blocks->items[i];
        if (block->lost == LOST_WHOLE) {
            continue;
        }
        TRY(guppi_find_piece(guppi, block, end, part->path, &piece));
        if (piece.steps == 0) {
            continue;
        }
        if (piece.first > end) {
            TRY(recorder_add_gap(archive, end, piece.first - end));
        }
        TRY(guppi_add_piece(guppi, block, &piece, part));
        TRY(guppi_add_partial(part, &piece, block->lost));
        end = piece.first + piece.steps;
    }
    if (end < part->samples) {
        TRY(recorder_add_gap(archive, end, part->samples - end));
    }
    if (part->nruns == 0) { /* a part needs one: what the gap covers is never read */
        TRY(guppi_find_piece(guppi, &blocks->items[0], 0, part->path, &piece));
        TRY(guppi_add_piece(guppi, &blocks->items[0], &piece, part));
    }
out:
    return st;
}

status_t guppi_find_torn(const struct guppi *guppi, const struct guppi_blocks *blocks,
                         struct archive *archive)
{
    status_t st = STATUS_OK;
    struct archive_part *part = &archive->parts[0];
    const struct guppi_block *last = &blocks->items[blocks->count - 1];
    uint64_t bytes = last->stored * guppi->step_bits / 8;
    uint64_t taken = 0;
    uint64_t there = 8 * blocks->held;
    char *why = NULL;
    if (blocks->held == bytes || last->lost == LOST_WHOLE) {
        goto out;
    }
    for (const struct guppi_block *block = blocks->items; block < last; block++) {
        taken = block->lost < LOST_WHOLE ? block->first + block->stored : taken;
    }
    TRY(memory_format(&why,
                      "%s is cut off: it ends with %" PRIu64 " of %" PRIu64 " bytes of a block",
                      part->path, blocks->held, bytes));
    struct lost_box box = {.why = NULL};
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        box.high[i] = archive->shape.dims[i].size;
    }
    box.high[archive->shape.time_dim] = part->samples;
    box.low[archive->shape.time_dim] =
        min_u64(max_u64(last->first, taken), box.high[archive->shape.time_dim]);
    if (guppi->is_time_first) {
        box.low[archive->shape.time_dim] =
            max_u64(box.low[archive->shape.time_dim],
                    min_u64(last->first + there / guppi->step_bits, part->samples));
        TRY(recorder_add_lost(part, &box, why));
        goto out;
    }
    uint64_t rows = (uint64_t)guppi->stations * guppi->channels;
    uint64_t whole = there / (last->stored * (guppi->step_bits / rows));
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

/* Nothing repeats the end of the last block, which is taken, too. */
static void guppi_extend_last(struct archive *archive)
{
    int is_in_time = archive->shape.stacked == AXIS_TIME;
    uint32_t first = is_in_time ? archive->nparts - 1 : 0;
    uint64_t more = UINT64_MAX;
    for (uint32_t i = first; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        const struct archive_run *run = &part->runs[part->nruns - 1];
        uint64_t end = run->first_sample + run->pieces * run->steps;
        more = min_u64(more, part->nboxes > 0 || end < part->samples ? 0 : end - part->samples);
    }
    for (uint32_t i = first; i < archive->nparts; i++) {
        archive->parts[i].samples += more;
    }
    archive->count[AXIS_TIME] += more;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        archive->shape.dims[i].size += archive->shape.dims[i].axis == AXIS_TIME ? more : 0;
    }
}

/* Leaves out the pieces that begin behind the part's samples. */
static struct archive_run *guppi_last_run(struct archive_part *part)
{
    struct archive_run *run = &part->runs[part->nruns - 1];
    while (part->nruns > 1 && run->first_sample >= part->samples) {
        free(run->path);
        part->nruns--;
        run--;
    }
    while (run->pieces > 1 && run->first_sample + (run->pieces - 1) * run->steps >= part->samples) {
        run->pieces--;
    }
    return run;
}

/* The last piece ends with the part's samples: a run of its own, where those before it are longer.
 */
static status_t guppi_end_part(struct archive_part *part)
{
    status_t st = STATUS_OK;
    struct archive_run *run = guppi_last_run(part);
    struct archive_run *last = run;
    uint64_t before = run->pieces - 1;
    uint64_t begin = run->first_sample + before * run->steps;
    if (begin + run->steps <= part->samples) {
        goto out;
    }
    if (before > 0) {
        TRY(recorder_add_run(part, &last));
        run = last - 1; /* they may lie elsewhere now */
        last->file_offset = run->file_offset + before * run->piece_bytes;
        last->piece_bytes = run->piece_bytes;
        last->pieces = 1;
        last->first_sample = begin;
        last->stored = run->stored;
        run->pieces = before;
    }
    last->steps = part->samples - begin;
    while (part->npartials > 0 && part->partials[part->npartials - 1].first >= part->samples) {
        part->npartials--;
    }
    if (part->npartials > 0) {
        struct archive_partial *partial = &part->partials[part->npartials - 1];
        partial->count = min_u64(partial->count, part->samples - partial->first);
    }
out:
    return st;
}

status_t guppi_end_runs(struct archive *archive)
{
    status_t st = STATUS_OK;
    guppi_extend_last(archive);
    for (uint32_t i = 0; i < archive->nparts; i++) {
        TRY(guppi_end_part(&archive->parts[i]));
    }
out:
    return st;
}
