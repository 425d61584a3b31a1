/* bitshuffle: blocks of bit planes, each compressed by itself with LZ4, Zstandard or not at all. */
#include "archive/chunks/unfilter_parts.h"
#include "base/memory.h"

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

/* What is being undone. */
struct unshuffling {
    unfilter_t *unfilter;
    uint32_t compression;
    size_t size;     /* of an element */
    struct bytes in; /* what is left */
};

/* The next `count` elements. */
static status_t bitshuffle_undo_block(struct unshuffling *at, size_t count, unsigned char *out)
{
    status_t st = STATUS_OK;
    size_t bytes = count * at->size;
    uint64_t stored = bytes;
    TRY(at->compression == PLAIN ? STATUS_OK : unfilter_take(&at->in, 4, &stored));
    REQUIRE(stored <= at->in.count, STATUS_DATA,
            "bitshuffle: it ends in a block of %llu bytes, where %zu are left",
            (unsigned long long)stored, at->in.count);
    struct bytes block = {at->in.at, (size_t)stored};
    const unsigned char *planes = at->unfilter->block;
    if (at->compression == LZ4) {
        TRY(unfilter_lz4_block(block, at->unfilter->block, bytes));
    } else if (at->compression == ZSTANDARD) {
        TRY(unfilter_zstd_block(at->unfilter, block, at->unfilter->block, bytes));
    } else {
        planes = block.at;
    }
    transpose_bits(planes, count, at->size, out);
    at->in.at += stored;
    at->in.count -= (size_t)stored;
out:
    return st;
}

/* How many bytes come, and in which blocks (elements): where they are compressed the chunk says. */
static status_t bitshuffle_begin(struct unshuffling *at, const struct chunk_filter *filter,
                                 size_t room, size_t *bytes, size_t *block)
{
    status_t st = STATUS_OK;
    uint64_t total = at->in.count;
    uint64_t stated = filter->nvalues > BLOCK_AT ? filter->values[BLOCK_AT] : 0;
    if (at->compression != PLAIN) {
        TRY(unfilter_take(&at->in, 8, &total));
        TRY(unfilter_take(&at->in, 4, &stated));
        stated /= at->size;
        REQUIRE(stated > 0, STATUS_DATA, "bitshuffle: a chunk says that its blocks are empty");
    }
    REQUIRE(total <= room, STATUS_DATA, "bitshuffle: %llu bytes, where a chunk has %zu",
            (unsigned long long)total, room);
    *bytes = (size_t)total;
    *block = bitshuffle_block((size_t)stated, at->size);
    REQUIRE(*block % MULTIPLE == 0, STATUS_DATA, "bitshuffle: blocks of %zu elements", *block);
    /* No block is longer than all. */
    size_t most = (size_t)min_u64(*block, total / at->size) * at->size;
    if (at->compression != PLAIN && most > at->unfilter->block_bytes) {
        free(at->unfilter->block);
        at->unfilter->block = NULL;
        at->unfilter->block_bytes = 0;
        TRY(memory_aligned(most, 1, "a block of bits", &at->unfilter->block));
        at->unfilter->block_bytes = most;
    }
out:
    return st;
}

status_t unfilter_bitshuffle(unfilter_t *unfilter, const struct chunk_filter *filter,
                             struct bytes in, struct room *out)
{
    status_t st = STATUS_OK;
    struct unshuffling at = {unfilter, bitshuffle_compression(filter), filter->values[SIZE_AT], in};
    size_t bytes = 0;
    size_t block = 0;
    TRY(bitshuffle_begin(&at, filter, out->room, &bytes, &block));
    size_t elements = bytes / at.size;
    size_t done = 0;
    while (done < elements / MULTIPLE * MULTIPLE) {
        size_t left = (elements - done) / MULTIPLE * MULTIPLE;
        size_t now = left < block ? left : block;
        TRY(bitshuffle_undo_block(&at, now, out->at + done * at.size));
        done += now;
    }
    /* Fewer than eight elements have no planes. */
    size_t rest = bytes - done * at.size;
    REQUIRE(at.in.count >= rest, STATUS_DATA, "bitshuffle: it ends %zu bytes early",
            rest - at.in.count);
    memcpy(out->at + done * at.size, at.in.at, rest);
    out->count = bytes;
out:
    return st;
}
