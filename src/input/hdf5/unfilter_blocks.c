/* LZ4 and Zstandard, alone and in blocks, and the checksum of HDF5. */
#include "base/memory.h"
#include "input/hdf5/unfilter_parts.h"

#include <lz4.h>
#include <string.h>

status_t unfilter_take(struct bytes *in, size_t size, uint64_t *out)
{
    status_t st = STATUS_OK;
    uint64_t value = 0;
    REQUIRE(in->count >= size, STATUS_DATA, "it ends in the length of a block");
    for (size_t i = 0; i < size; i++) {
        value = value << 8 | in->at[i];
    }
    in->at += size;
    in->count -= size;
    *out = value;
out:
    return st;
}

status_t unfilter_lz4_block(struct bytes in, unsigned char *out, size_t made)
{
    status_t st = STATUS_OK;
    REQUIRE(in.count <= LZ4_MAX_INPUT_SIZE && made <= LZ4_MAX_INPUT_SIZE, STATUS_DATA,
            "LZ4: a block of %zu bytes", made);
    int count = LZ4_decompress_safe((const char *)in.at, (char *)out, (int)in.count, (int)made);
    REQUIRE(count >= 0, STATUS_DATA, "LZ4: a block of %zu bytes is corrupt", in.count);
    REQUIRE((size_t)count == made, STATUS_DATA, "LZ4: a block becomes %d bytes instead of %zu",
            count, made);
out:
    return st;
}

status_t unfilter_zstd_block(unfilter_t *unfilter, struct bytes in, unsigned char *out, size_t made)
{
    status_t st = STATUS_OK;
    size_t count = ZSTD_decompressDCtx(unfilter->zstd, out, made, in.at, in.count);
    REQUIRE(!ZSTD_isError(count), STATUS_DATA, "Zstandard: %s", ZSTD_getErrorName(count));
    REQUIRE(count == made, STATUS_DATA, "Zstandard: a block becomes %zu bytes instead of %zu",
            count, made);
out:
    return st;
}

status_t unfilter_zstd(unfilter_t *unfilter, const struct chunk_filter *filter, struct bytes in,
                       struct room *out)
{
    status_t st = STATUS_OK;
    (void)filter;
    size_t count = ZSTD_decompressDCtx(unfilter->zstd, out->at, out->room, in.at, in.count);
    REQUIRE(!ZSTD_isError(count), STATUS_DATA, "Zstandard: %s", ZSTD_getErrorName(count));
    out->count = count;
out:
    return st;
}

/* The length of all, that of a block; then each block behind its own length in the file, as it was
 * if it did not become shorter. */
status_t unfilter_lz4(unfilter_t *unfilter, const struct chunk_filter *filter, struct bytes in,
                      struct room *out)
{
    status_t st = STATUS_OK;
    uint64_t left = 0;
    uint64_t block = 0;
    (void)unfilter;
    (void)filter;
    TRY(unfilter_take(&in, 8, &left));
    TRY(unfilter_take(&in, 4, &block));
    REQUIRE(left <= out->room && (block > 0 || left == 0), STATUS_DATA,
            "LZ4: %llu bytes in blocks of %llu, where a chunk has %zu", (unsigned long long)left,
            (unsigned long long)block, out->room);
    for (out->count = 0; left > 0;) {
        uint64_t stored = 0;
        size_t made = (size_t)min_u64(block, left);
        unsigned char *to = out->at + out->count;
        TRY(unfilter_take(&in, 4, &stored));
        REQUIRE(stored <= in.count, STATUS_DATA, "LZ4: it ends in a block of %llu bytes",
                (unsigned long long)stored);
        if (stored == made) {
            memcpy(to, in.at, made);
        } else {
            TRY(unfilter_lz4_block((struct bytes){in.at, (size_t)stored}, to, made));
        }
        in.at += stored;
        in.count -= (size_t)stored;
        out->count += made;
        left -= made;
    }
out:
    return st;
}

/* HDF5's: 16-bit words, the high byte first; a single byte at the end is a high one. */
static uint32_t unfilter_sum(const unsigned char *at, size_t count)
{
    enum { WORDS = 360 }; /* whose sums do not overflow */
    uint32_t a = 0;
    uint32_t b = 0;
    size_t words = count / 2;
    while (words > 0) {
        size_t now = words < WORDS ? words : WORDS;
        for (size_t i = 0; i < now; i++, at += 2) {
            a += (uint32_t)at[0] << 8 | at[1];
            b += a;
        }
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
        words -= now;
    }
    if (count % 2) {
        a += (uint32_t)*at << 8;
        b += a;
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
    return b << 16 | a;
}

status_t unfilter_fletcher32(unfilter_t *unfilter, const struct chunk_filter *filter,
                             struct bytes in, struct room *out)
{
    status_t st = STATUS_OK;
    (void)unfilter;
    (void)filter;
    (void)out;
    REQUIRE(in.count >= 4, STATUS_DATA, "fletcher32: %zu bytes hold no checksum", in.count);
    const unsigned char *stored = in.at + in.count - 4;
    uint32_t expected = (uint32_t)stored[0] | (uint32_t)stored[1] << 8 | (uint32_t)stored[2] << 16 |
                        (uint32_t)stored[3] << 24;
    uint32_t sum = unfilter_sum(in.at, in.count - 4);
    /* Before 1.6.3, HDF5 turned each half round on some machines. */
    uint32_t turned = (sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8;
    REQUIRE(expected == sum || expected == turned, STATUS_DATA,
            "fletcher32: its checksum is %08x, expected %08x", sum, expected);
out:
    return st;
}
