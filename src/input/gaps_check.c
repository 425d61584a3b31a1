/* What must hold of an archive whatever its files say: parts, runs and gaps in order, inside of the
 * observation, and in numbers that no sum leaves. */
#include "input/gaps_check.h"

#include "base/memory.h"

#include <inttypes.h>

/* Parts come by stack, then time, and have no sample twice. */
static status_t check_parts(const struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t end = 0;
    uint64_t stacks = archive->shape.is_reim_stacked ? 2 : 1;
    if (archive->shape.stacked != AXIS_TIME) {
        stacks *= archive->count[archive->shape.stacked] /
                  archive_in_file(archive, archive->shape.stacked);
    }
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        int is_next = i > 0 && part->stack == archive->parts[i - 1].stack;
        REQUIRE(part->stack < stacks && (i == 0 || part->stack >= archive->parts[i - 1].stack),
                STATUS_DATA, "%s: it is at place %" PRIu64 " of %" PRIu64, part->path, part->stack,
                stacks);
        REQUIRE(part->samples > 0 && part->first_sample >= (is_next ? end : 0) &&
                    add_u64(part->first_sample, part->samples, &end) &&
                    end <= archive->count[AXIS_TIME],
                STATUS_DATA,
                "%s: its %" PRIu64 " samples from %" PRIu64
                " overlap those before or lie beyond the last",
                part->path, part->samples, part->first_sample);
    }
out:
    return st;
}

/* Bits of a piece with so many time steps; 0: they are too many. */
static uint64_t check_piece_bits(const struct archive *archive, uint64_t steps)
{
    uint64_t bits = archive->stored.number.kind == NUMBER_PLAIN
                        ? sample_types[archive->format].bytes * 8
                        : archive->stored.number.bits;
    int fits = multiply_u64(bits, archive->stored.is_compound ? 2 : 1, &bits);
    for (uint32_t i = 0; i < archive->shape.ndims && fits; i++) {
        fits = archive->shape.dims[i].axis == AXIS_TIME ||
               multiply_u64(bits, archive->shape.dims[i].size, &bits);
    }
    return fits && multiply_u64(bits, steps, &bits) ? bits : 0;
}

static status_t check_runs(const struct archive *archive, const struct archive_part *part)
{
    status_t st = STATUS_OK;
    uint64_t end = 0;
    for (uint32_t i = 0; i < part->nruns; i++) {
        const struct archive_run *run = &part->runs[i];
        uint64_t bits = check_piece_bits(archive, run->stored);
        uint64_t samples = 0;
        uint64_t bytes = 0;
        REQUIRE(run->pieces > 0 && run->steps > 0 && run->steps <= run->stored && bits > 0,
                STATUS_DATA, "%s: %" PRIu64 " pieces of %" PRIu64 " samples, %" PRIu64 " stored",
                run->path, run->pieces, run->steps, run->stored);
        REQUIRE(run->pieces == 1 || run->piece_bytes >= ceil_div_u64(bits, 8), STATUS_DATA,
                "%s: %" PRIu64 " bytes do not hold a piece of %" PRIu64 " samples", run->path,
                run->piece_bytes, run->stored);
        REQUIRE(run->first_sample >= end && multiply_u64(run->pieces, run->steps, &samples) &&
                    add_u64(run->first_sample, samples, &end) && end <= part->samples,
                STATUS_DATA,
                "%s: its %" PRIu64 " pieces from sample %" PRIu64
                " on overlap those before or lie beyond the last sample",
                run->path, run->pieces, run->first_sample);
        REQUIRE(multiply_u64(run->pieces - 1, run->piece_bytes, &bytes) &&
                    add_u64(bytes, ceil_div_u64(bits, 8), &bytes) &&
                    add_u64(bytes, run->file_offset, &bytes) && bytes < UINT64_C(1) << 62,
                STATUS_DATA, "%s: the size of its %" PRIu64 " pieces is absurd", run->path,
                run->pieces);
    }
out:
    return st;
}

static status_t check_partials(const struct archive_part *part)
{
    status_t st = STATUS_OK;
    uint64_t end = 0;
    for (uint64_t i = 0; i < part->npartials; i++) {
        const struct archive_partial *partial = &part->partials[i];
        REQUIRE(partial->lost > 0 && partial->lost <= LOST_WHOLE && partial->first >= end &&
                    add_u64(partial->first, partial->count, &end) && end <= part->samples,
                STATUS_DATA,
                "%s: its %" PRIu64 " samples from %" PRIu64
                " that lack packets overlap those before or lie beyond the last sample",
                part->path, partial->count, partial->first);
    }
out:
    return st;
}

static status_t check_gaps(const struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t end = 0;
    for (size_t i = 0; i < archive->losses.ngaps; i++) {
        uint64_t low = archive->losses.gaps[i][0];
        uint64_t high = 0;
        REQUIRE(add_u64(low, archive->losses.gaps[i][1], &high) && low >= end &&
                    high <= archive->count[AXIS_TIME],
                STATUS_DATA,
                "%s: gap %zu (%" PRIu64 " samples from %" PRIu64
                ") overlaps the one before or lies beyond the last sample",
                archive->parts[0].path, i, archive->losses.gaps[i][1], low);
        end = high;
    }
out:
    return st;
}

static status_t check_stream_gaps(const struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t streams = 1;
    uint64_t end = 0;
    for (int i = 0; i < STREAM_AXES; i++) {
        REQUIRE(multiply_u64(streams, archive->count[archive_stream_axes[i]], &streams),
                STATUS_DATA, "%s: its number of streams is absurd", archive->parts[0].path);
    }
    for (size_t i = 0; i < archive->losses.nstream_gaps; i++) {
        const struct archive_gap *gap = &archive->losses.stream_gaps[i];
        const struct archive_gap *last = i > 0 ? gap - 1 : gap;
        end = last->stream == gap->stream && i > 0 ? end : 0;
        REQUIRE(gap->stream < streams && gap->stream >= last->stream, STATUS_DATA,
                "%s: a gap is of stream %" PRIu64 " of %" PRIu64 ", or out of order",
                archive->parts[0].path, gap->stream, streams);
        REQUIRE(gap->first >= end && add_u64(gap->first, gap->count, &end) &&
                    end <= archive->count[AXIS_TIME],
                STATUS_DATA,
                "%s: a gap of stream %" PRIu64 " (%" PRIu64 " samples from %" PRIu64
                ") overlaps the one before or lies beyond the last sample",
                archive->parts[0].path, gap->stream, gap->count, gap->first);
    }
out:
    return st;
}

status_t check_archive(const struct archive *archive)
{
    status_t st = STATUS_OK;
    TRY(check_parts(archive));
    for (uint32_t i = 0; i < archive->nparts; i++) {
        TRY(check_runs(archive, &archive->parts[i]));
        TRY(check_partials(&archive->parts[i]));
    }
    TRY(check_gaps(archive));
    TRY(check_stream_gaps(archive));
out:
    return st;
}
