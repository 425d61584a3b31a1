/* A reader: parts of an observation, blocks of a slab and gaps put together. */
#include "base/memory.h"
#include "input/read/reader_parts.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

status_t reader_create(const struct archive *archive, uint64_t cache_bytes, uint32_t threads,
                       reader_t **out)
{
    status_t st = STATUS_OK;
    reader_t *reader = NULL;
    TRY(memory_zeroed(1, sizeof *reader, "a reader", &reader));
    reader->archive = archive;
    reader->cache_bytes = cache_bytes;
    reader->threads = threads;
    reader->unpackers = threads;
    reader->fd = -1;
    reader->memory_type = -1;
    reader->blocks_per_file = 1;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        bytes += archive->parts[i].npackets > 0 ? archive->parts[i].file_bytes : 0;
        for (uint32_t j = 0; j < archive->parts[i].nextents; j++) {
            bytes += archive->parts[i].extents[j].bytes;
        }
        for (uint32_t j = 0; j < archive->parts[i].nruns; j++) {
            bytes += archive->parts[i].runs[j].pieces * archive->parts[i].runs[j].piece_bytes;
        }
    }
    reader->is_huge = file_is_huge(bytes);
    TRY(numbers_create(archive, &reader->numbers));
    for (uint32_t i = 0; i < archive->shape.ndims && archive->shape.dims[i].axis != AXIS_TIME;
         i++) {
        reader->blocks_per_file *= archive->shape.dims[i].size;
    }
    *out = reader;
    reader = NULL;
out:
    reader_destroy(reader);
    return st;
}

void reader_unpack_by(reader_t *reader, uint32_t threads)
{
    reader->unpackers = threads;
}

void reader_destroy(reader_t *reader)
{
    if (!reader) {
        return;
    }
    pool_destroy(reader->helpers);
    free(reader->ingests);
    file_close(reader->fd);
    reader_close_hdf5(reader);
    numbers_destroy(reader->numbers);
    reader_close_packets(reader);
    free(reader->bounce);
    free(reader);
    mapping_drop_unused();
}

/* Samples of all parts at one place of the stack. */
static status_t reader_read_stack(reader_t *reader, struct reader_wanted *wanted, uint64_t stack,
                                  struct losses *losses)
{
    status_t st = STATUS_OK;
    const struct archive *archive = reader->archive;
    uint64_t end = wanted->first + wanted->count;
    uint64_t at = wanted->first;
    for (uint32_t i = archive_part_at(archive, stack, at); at < end; i++) {
        const struct archive_part *part = i < archive->nparts ? &archive->parts[i] : NULL;
        int is_there = part && part->stack == stack;
        uint64_t begin = is_there ? min_u64(end, part->first_sample) : end;
        if (at < begin) {
            TRY(reader_lack(wanted, archive, at, begin - at, losses));
            at = begin;
        }
        if (at < end) {
            wanted->part = part;
            wanted->low = at;
            wanted->high = at = min_u64(end, part->first_sample + part->samples);
            if (part->npackets > 0) {
                TRY(reader_read_packets(reader, wanted, losses));
            } else if (part->nextents > 0 || part->nruns > 0) {
                TRY(reader_read_pieces(reader, wanted, losses));
            } else {
                TRY(reader_read_hdf5(reader, wanted));
            }
        }
    }
out:
    return st;
}

/* Zero volts for samples of one stream, which may lie between those of others. */
static void reader_fill_stream(const struct archive *archive, const struct reader_wanted *wanted,
                               uint32_t stream, uint64_t from, uint64_t samples)
{
    const struct slab *slab = wanted->slab;
    uint32_t bytes = sample_types[archive->format].bytes;
    for (int part = 0; part < 2; part++) {
        char *at = reader_place(wanted, slab->slot[part][stream], from) + slab->inner[part][stream];
        for (uint64_t i = 0; i < samples; i++) {
            memset(at + i * slab->width, archive_zero_byte(archive), bytes);
        }
    }
}

/* Of samples whose real and imaginary numbers lie in different parts, that which is there is no
 * sample without the other. */
static status_t reader_fill_pairs(const struct archive *archive, const struct reader_wanted *wanted,
                                  const struct losses *lacks, struct losses *losses)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < lacks->count; i++) {
        const struct loss *loss = &lacks->items[i];
        reader_fill_stream(archive, wanted, loss->stream - wanted->slab->first_stream, loss->first,
                           loss->count);
        TRY(losses ? losses_add(losses, loss->stream, loss->first, loss->count) : STATUS_OK);
    }
out:
    return st;
}

/* Samples that the archive declares missing become zero volts. */
static status_t reader_fill_gaps(const struct archive *archive, const struct reader_wanted *wanted,
                                 struct losses *losses)
{
    status_t st = STATUS_OK;
    uint64_t first = wanted->first;
    uint64_t count = wanted->count;
    for (size_t i = archive_gap_after(archive, first);
         i < archive->losses.ngaps && archive->losses.gaps[i][0] < first + count; i++) {
        uint64_t low = max_u64(archive->losses.gaps[i][0], first);
        uint64_t high =
            min_u64(archive->losses.gaps[i][0] + archive->losses.gaps[i][1], first + count);
        if (low < high) {
            reader_fill_zeros(wanted, archive, low, high - low);
            TRY(losses ? losses_add(losses, LOSS_OF_ALL, low, high - low) : STATUS_OK);
        }
    }
out:
    return st;
}

static status_t reader_fill_stream_gaps(const struct archive *archive,
                                        const struct reader_wanted *wanted, struct losses *losses)
{
    status_t st = STATUS_OK;
    uint64_t end = wanted->first + wanted->count;
    for (uint32_t i = 0; i < wanted->slab->nstreams && archive->losses.nstream_gaps > 0; i++) {
        uint32_t stream = wanted->slab->first_stream + i;
        uint64_t number = archive_stream_number(archive, stream);
        for (size_t j = archive_stream_gap_after(archive, number, wanted->first);
             j < archive->losses.nstream_gaps && archive->losses.stream_gaps[j].stream == number &&
             archive->losses.stream_gaps[j].first < end;
             j++) {
            const struct archive_gap *gap = &archive->losses.stream_gaps[j];
            uint64_t low = max_u64(gap->first, wanted->first);
            uint64_t high = min_u64(gap->first + gap->count, end);
            reader_fill_stream(archive, wanted, i, low, high - low);
            TRY(losses ? losses_add(losses, stream, low, high - low) : STATUS_OK);
        }
    }
out:
    return st;
}

status_t reader_read(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                     void *out, struct losses *losses)
{
    status_t st = STATUS_OK;
    const struct archive *archive = reader->archive;
    struct losses lacks = {0};
    REQUIRE(first + count <= archive->count[AXIS_TIME], STATUS_DATA,
            "%s: samples %" PRIu64 " .. %" PRIu64 " of an observation of %" PRIu64,
            archive->parts[0].path, first, first + count, archive->count[AXIS_TIME]);
    const struct lost_range *lost =
        lost_find(archive->losses.lost, archive->losses.nlost, first, count);
    reader->is_unreadable = lost != NULL;
    REQUIRE(!lost, STATUS_DATA, "%s: samples %" PRIu64 " .. %" PRIu64 " cannot be had: %s",
            archive->dataset, lost->first, lost->first + lost->count, lost->why);
    struct reader_wanted wanted = {.slab = slab, .first = first, .count = count, .out = out};
    while (wanted.slot < slab->nblocks) {
        uint64_t stack = slab->blocks[wanted.slot] / reader->blocks_per_file;
        wanted.nslots = 0;
        while (wanted.slot + wanted.nslots < slab->nblocks &&
               slab->blocks[wanted.slot + wanted.nslots] / reader->blocks_per_file == stack) {
            wanted.nslots++;
        }
        TRY(reader_read_stack(reader, &wanted, stack,
                              archive->shape.is_reim_stacked ? &lacks : losses));
        wanted.slot += wanted.nslots;
    }
    TRY(reader_check_file(reader));
    wanted.slot = 0;
    wanted.nslots = slab->nblocks;
    TRY(reader_fill_pairs(archive, &wanted, &lacks, losses));
    TRY(reader_fill_gaps(archive, &wanted, losses));
    TRY(reader_fill_stream_gaps(archive, &wanted, losses));
out:
    losses_free(&lacks);
    return st;
}

int reader_is_unreadable(const reader_t *reader)
{
    return reader->is_unreadable;
}
