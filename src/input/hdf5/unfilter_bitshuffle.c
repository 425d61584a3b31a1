/* bitshuffle: blocks of bit planes, each compressed by itself with LZ4, Zstandard or not at all. */
#include "base/memory.h"
#include "input/hdf5/unfilter_parts.h"

#include <stdlib.h>
#include <string.h>

/* Places among its parameters, after two of its version. */
enum { SIZE_AT = 2, BLOCK_AT = 3, COMPRESSION_AT = 4, VALUES = 3 };
enum { PLAIN = 0, LZ4 = 2, ZSTANDARD = 3 };

/* As the filter itself chooses where nobody says. */
enum { DEFAULT_BYTES = 8192, LEAST_BLOCK = 128, MULTIPLE = 8 };

static uint32_t bitshuffle_compression(const struct chunk_filter *filter)
{
    return filter->nvalues > COMPRESSION_AT ? filter->values[COMPRESSION_AT] : PLAIN;
}

int bitshuffle_knows(const struct chunk_filter *filter)
{
    uint32_t compression = bitshuffle_compression(filter);
    return filter->nvalues >= VALUES && filter->values[SIZE_AT] > 0 &&
           (compression == PLAIN || compression == LZ4 || compression == ZSTANDARD);
}

/* Elements of a block when the file's parameters say `stated`. */
static size_t bitshuffle_block(size_t stated, size_t size)
{
    size_t block = stated;
    if (block == 0) {
        block = DEFAULT_BYTES / size / MULTIPLE * MULTIPLE;
        block = block < LEAST_BLOCK ? LEAST_BLOCK : block;
    }
    return block;
}

/* How many bytes come, and in which blocks: where they are compressed the chunk says. */
status_t unfilter_piece_begin(const struct chunk_filter *filter, const void *in, size_t bytes,
                              size_t room, struct unfilter_piece *out)
{
    status_t st = STATUS_OK;
    struct bytes left = {in, bytes};
    uint64_t total = bytes;
    uint64_t stated = filter->nvalues > BLOCK_AT ? filter->values[BLOCK_AT] : 0;
    struct unfilter_piece all = {.compression = bitshuffle_compression(filter),
                                 .size = filter->values[SIZE_AT]};
    if (all.compression != PLAIN) {
        TRY(unfilter_take(&left, 8, &total));
        TRY(unfilter_take(&left, 4, &stated));
        stated /= all.size;
        REQUIRE(stated > 0, STATUS_DATA, "bitshuffle: a chunk says that its blocks are empty");
    }
    REQUIRE(total <= room, STATUS_DATA, "bitshuffle: %llu bytes, where a chunk has %zu",
            (unsigned long long)total, room);
    all.block = bitshuffle_block((size_t)stated, all.size);
    REQUIRE(all.block % MULTIPLE == 0, STATUS_DATA, "bitshuffle: blocks of %zu elements",
            all.block);
    all.in = left.at;
    all.bytes = left.count;
    all.count = (size_t)total / all.size / MULTIPLE * MULTIPLE;
    all.rest = (size_t)total - all.count * all.size;
    *out = all;
out:
    return st;
}

/* Where the next block, of `made` bytes, is stored. */
static status_t bitshuffle_find_block(uint32_t compression, struct bytes *in, size_t made,
                                      struct bytes *out)
{
    status_t st = STATUS_OK;
    uint64_t stored = made;
    TRY(compression == PLAIN ? STATUS_OK : unfilter_take(in, 4, &stored));
    REQUIRE(stored <= in->count, STATUS_DATA,
            "bitshuffle: it ends in a block of %llu bytes, where %zu are left",
            (unsigned long long)stored, in->count);
    *out = (struct bytes){in->at, (size_t)stored};
    in->at += stored;
    in->count -= (size_t)stored;
out:
    return st;
}

status_t unfilter_piece_take(struct unfilter_piece *left, size_t blocks, struct unfilter_piece *out)
{
    status_t st = STATUS_OK;
    struct bytes in = {left->in, left->bytes};
    struct bytes stored;
    size_t count = 0;
    *out = *left;
    for (size_t i = 0; i < blocks && count < left->count; i++) {
        size_t now = (size_t)min_u64(left->block, left->count - count);
        TRY(bitshuffle_find_block(left->compression, &in, now * left->size, &stored));
        count += now;
    }
    left->in = in.at;
    left->bytes = in.count;
    left->first += count;
    left->count -= count;
    out->count = count;
    out->bytes -= left->bytes;
    if (left->count == 0) { /* what is left over goes with the last ones */
        out->bytes += left->bytes;
        left->rest = 0;
    } else {
        out->rest = 0;
    }
out:
    return st;
}

/* Room for a block that is decompressed. */
static status_t bitshuffle_room(unfilter_t *unfilter, const struct unfilter_piece *piece)
{
    status_t st = STATUS_OK;
    size_t most = (size_t)min_u64(piece->block, piece->count) * piece->size;
    if (piece->compression != PLAIN && most > unfilter->block_bytes) {
        free(unfilter->block);
        unfilter->block = NULL;
        unfilter->block_bytes = 0;
        TRY(memory_aligned(most, 1, "a block of bits", &unfilter->block));
        unfilter->block_bytes = most;
    }
out:
    return st;
}

/* Blocks are small enough to stay in the nearest cache from one step to the next. */
status_t unfilter_piece_undo(unfilter_t *unfilter, const struct unfilter_piece *piece,
                             unsigned char *chunk)
{
    status_t st = STATUS_OK;
    struct bytes in = {piece->in, piece->bytes};
    unsigned char *out = chunk + piece->first * piece->size;
    TRY(bitshuffle_room(unfilter, piece));
    for (size_t done = 0, now = 0; done < piece->count; done += now) {
        struct bytes stored;
        now = (size_t)min_u64(piece->block, piece->count - done);
        size_t made = now * piece->size;
        TRY(bitshuffle_find_block(piece->compression, &in, made, &stored));
        if (piece->compression == LZ4) {
            TRY(unfilter_lz4_block(stored, unfilter->block, made));
        } else if (piece->compression == ZSTANDARD) {
            TRY(unfilter_zstd_block(unfilter, stored, unfilter->block, made));
        }
        transpose_bits(piece->compression == PLAIN ? stored.at : unfilter->block, now, piece->size,
                       out);
        out += made;
    }
    /* Fewer than eight elements have no planes. */
    REQUIRE(in.count >= piece->rest, STATUS_DATA, "bitshuffle: it ends %zu bytes early",
            piece->rest - in.count);
    memcpy(out, in.at, piece->rest);
out:
    return st;
}

status_t unfilter_bitshuffle(unfilter_t *unfilter, const struct chunk_filter *filter,
                             struct bytes in, struct room *out)
{
    status_t st = STATUS_OK;
    struct unfilter_piece all;
    TRY(unfilter_piece_begin(filter, in.at, in.count, out->room, &all));
    TRY(unfilter_piece_undo(unfilter, &all, out->at));
    out->count = all.count * all.size + all.rest;
out:
    return st;
}
