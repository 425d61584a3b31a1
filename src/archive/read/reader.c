/* A reader: parts of an observation, blocks of a slab and gaps put together. */
#include "archive/read/reader_parts.h"
#include "base/memory.h"
#include "io/file.h"

#include <byteswap.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    BOUNCE_BYTES = 4 << 20, /* room for time steps of which only a part is wanted */
    LONG_RUN = 32 << 10     /* from here on, a read of its own costs less than reading all */
};

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
        for (uint32_t j = 0; j < archive->parts[i].nextents; j++) {
            bytes += archive->parts[i].extents[j].bytes;
        }
    }
    reader->is_huge = file_is_huge(bytes);
    for (uint32_t i = 0; i < archive->ndims && archive->dims[i].axis != AXIS_TIME; i++) {
        reader->blocks_per_file *= archive->dims[i].size;
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
    file_close(reader->fd);
    reader_close_hdf5(reader);
    free(reader->bounce);
    free(reader);
}

static void reader_swap_numbers(const struct archive *archive, void *data, uint64_t bytes)
{
    if (archive->format == SAMPLE_I16) {
        uint16_t *numbers = data;
        for (uint64_t i = 0; i < bytes / 2; i++) {
            numbers[i] = bswap_16(numbers[i]);
        }
    } else if (archive->format == SAMPLE_F32) {
        uint32_t *numbers = data;
        for (uint64_t i = 0; i < bytes / 4; i++) {
            numbers[i] = bswap_32(numbers[i]);
        }
    }
}

/* Whole time steps of one block. */
static status_t reader_read_steps(reader_t *reader, const struct slab *slab,
                                  const struct archive_part *part, uint64_t block, uint64_t first,
                                  uint64_t count, char *out)
{
    status_t st = STATUS_OK;
    if (part->nextents > 0) {
        uint64_t at = (block * part->samples + first) * slab->inner_bytes;
        TRY(reader_read_extents(reader, part, at, count * slab->inner_bytes, out));
    } else {
        TRY(reader_read_hdf5(reader, part, block, 0, first, count, count, 0, out));
    }
out:
    return st;
}

/* The wanted part of the time steps of one block. */
static status_t reader_read_cut_steps(reader_t *reader, const struct slab *slab,
                                      const struct archive_part *part, uint64_t block,
                                      uint64_t first, uint64_t count, char *out)
{
    status_t st = STATUS_OK;
    uint64_t inner = slab->inner_bytes;
    if (part->nextents > 0 && (slab->width >= LONG_RUN || inner > BOUNCE_BYTES)) {
        for (uint64_t i = 0; i < count; i++) {
            uint64_t at = (block * part->samples + first + i) * inner + slab->low_byte;
            TRY(reader_read_extents(reader, part, at, slab->width, out + i * slab->width));
        }
        goto out;
    }
    uint64_t steps = max_u64(1, BOUNCE_BYTES / inner);
    if (!reader->bounce) {
        TRY(memory_aligned((size_t)max_u64(BOUNCE_BYTES, inner), 1, "a read buffer",
                           &reader->bounce));
    }
    for (uint64_t i = 0; i < count; i += steps) {
        uint64_t now = min_u64(steps, count - i);
        TRY(reader_read_steps(reader, slab, part, block, first + i, now, reader->bounce));
        for (uint64_t j = 0; j < now; j++) {
            memcpy(out + (i + j) * slab->width, reader->bounce + j * inner + slab->low_byte,
                   (size_t)slab->width);
        }
    }
out:
    return st;
}

/* If the slab holds every block of the part's file, and uncut, HDF5 can read them in one go. */
static int reader_holds_whole_file(const reader_t *reader, const struct slab *slab,
                                   const struct archive_part *part)
{
    uint64_t blocks = reader->blocks_per_file;
    uint64_t wanted = 0;
    for (uint64_t slot = 0; slot < slab->nblocks; slot++) {
        wanted += slab->blocks[slot] / blocks == part->stack;
    }
    return part->nextents == 0 && slab->width == slab->inner_bytes && wanted == blocks;
}

/* Steps low .. high - 1 (of the observation) of every block of the slab that lies in the part. */
static status_t reader_read_blocks(reader_t *reader, const struct slab *slab,
                                   const struct archive_part *part, uint64_t low, uint64_t high,
                                   uint64_t first, uint64_t count, char *out)
{
    status_t st = STATUS_OK;
    uint64_t local = low - part->first_sample;
    int holds_all = reader_holds_whole_file(reader, slab, part);
    for (uint64_t slot = 0; slot < slab->nblocks; slot++) {
        if (slab->blocks[slot] / reader->blocks_per_file != part->stack) {
            continue;
        }
        uint64_t block = slab->blocks[slot] % reader->blocks_per_file;
        char *to = out + (slot * count + low - first) * slab->width;
        if (holds_all) {
            TRY(reader_read_hdf5(reader, part, 0, 1, local, high - low, count, low - first,
                                 out + slot * count * slab->width));
            break;
        }
        if (slab->width == slab->inner_bytes) {
            TRY(reader_read_steps(reader, slab, part, block, local, high - low, to));
        } else {
            TRY(reader_read_cut_steps(reader, slab, part, block, local, high - low, to));
        }
        if (part->nextents > 0 && reader->archive->swap_bytes) {
            reader_swap_numbers(reader->archive, to, (high - low) * slab->width);
        }
    }
out:
    return st;
}

static status_t reader_read_part(reader_t *reader, const struct slab *slab,
                                 const struct archive_part *part, uint64_t first, uint64_t count,
                                 char *out)
{
    status_t st = STATUS_OK;
    uint64_t low = max_u64(first, part->first_sample);
    uint64_t high = min_u64(first + count, part->first_sample + part->samples);
    if (low >= high) {
        goto out;
    }
    /* Some blocks of a chunked file: chunk by chunk in time, and all blocks of each, because a
     * chunk may hold several blocks, and only one chunk is kept. */
    uint64_t steps = 0;
    if (part->nextents == 0 && slab->nblocks > 1 && !reader_holds_whole_file(reader, slab, part)) {
        TRY(reader_open_through_hdf5(reader, part));
        steps = reader->chunk_steps;
    }
    for (uint64_t at = low; at < high;) {
        uint64_t local = at - part->first_sample;
        uint64_t end = high;
        if (steps > 0) {
            end = min_u64(part->first_sample + (local / steps + 1) * steps, high);
        }
        TRY(reader_read_blocks(reader, slab, part, at, end, first, count, out));
        at = end;
    }
out:
    return st;
}

/* Zero volts for samples from .. from + samples - 1 of a slab of `count`. */
static void reader_fill_zeros(const struct archive *archive, const struct slab *slab, uint64_t from,
                              uint64_t samples, uint64_t count, char *out)
{
    for (uint64_t slot = 0; slot < slab->nblocks; slot++) {
        memset(out + (slot * count + from) * slab->width, archive_zero_byte(archive),
               (size_t)(samples * slab->width));
    }
}

/* Samples that the archive declares missing become zero volts. */
static status_t reader_fill_gaps(const struct archive *archive, const struct slab *slab,
                                 uint64_t first, uint64_t count, char *out, struct losses *losses)
{
    status_t st = STATUS_OK;
    for (size_t i = archive_gap_after(archive, first);
         i < archive->ngaps && archive->gaps[i][0] < first + count; i++) {
        uint64_t low = max_u64(archive->gaps[i][0], first);
        uint64_t high = min_u64(archive->gaps[i][0] + archive->gaps[i][1], first + count);
        if (low < high) {
            reader_fill_zeros(archive, slab, low - first, high - low, count, out);
            TRY(losses ? losses_add(losses, LOSS_OF_ALL, low, high - low) : STATUS_OK);
        }
    }
out:
    return st;
}

status_t losses_add(struct losses *losses, uint32_t stream, uint64_t first, uint64_t count)
{
    status_t st = STATUS_OK;
    if (losses->count == losses->room) {
        size_t room = losses->room > 0 ? 2 * losses->room : 64;
        struct loss *grown = realloc(losses->items, room * sizeof *grown);
        REQUIRE(grown, STATUS_DEVICE, "out of memory: a list of missing samples");
        losses->items = grown;
        losses->room = room;
    }
    losses->items[losses->count++] = (struct loss){stream, first, count};
out:
    return st;
}

void losses_free(struct losses *losses)
{
    free(losses->items);
    *losses = (struct losses){0};
}

status_t reader_read(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                     void *out, struct losses *losses)
{
    status_t st = STATUS_OK;
    const struct archive *archive = reader->archive;
    REQUIRE(first + count <= archive->count[AXIS_TIME], STATUS_DATA,
            "%s: samples %" PRIu64 " .. %" PRIu64 " of an observation of %" PRIu64,
            archive->parts[0].path, first, first + count, archive->count[AXIS_TIME]);
    const struct lost_range *lost = lost_find(archive->lost, archive->nlost, first, count);
    reader->is_unreadable = lost != NULL;
    REQUIRE(!lost, STATUS_DATA, "%s: samples %" PRIu64 " .. %" PRIu64 " cannot be had: %s",
            archive->dataset, lost->first, lost->first + lost->count, lost->why);
    for (uint32_t i = 0; i < archive->nparts; i++) {
        TRY(reader_read_part(reader, slab, &archive->parts[i], first, count, out));
    }
    TRY(reader_check_file(reader));
    TRY(reader_fill_gaps(archive, slab, first, count, out, losses));
out:
    return st;
}

int reader_is_unreadable(const reader_t *reader)
{
    return reader->is_unreadable;
}

status_t reader_salvage(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                        uint64_t piece, void *out, char *bad, struct losses *losses)
{
    status_t st = STATUS_OK;
    char *room = NULL;
    uint64_t block_bytes = piece * slab->width;
    TRY(memory_aligned((size_t)(slab->nblocks * block_bytes), 1, "a piece of samples", &room));
    for (uint64_t at = 0; at < count; at += piece) {
        size_t known = losses ? losses->count : 0;
        st = reader_read(reader, slab, first + at, piece, room, losses);
        bad[at / piece] = st == STATUS_DATA && reader->is_unreadable;
        TRY(bad[at / piece] ? STATUS_OK : st);
        if (bad[at / piece]) {
            report_clear();
            reader_fill_zeros(reader->archive, slab, at, piece, count, out);
            if (losses) {
                losses->count = known;
                TRY(losses_add(losses, LOSS_OF_ALL, first + at, piece));
            }
            continue;
        }
        for (uint64_t slot = 0; slot < slab->nblocks; slot++) {
            memcpy((char *)out + (slot * count + at) * slab->width, room + slot * block_bytes,
                   (size_t)block_bytes);
        }
    }
out:
    free(room);
    return st;
}
