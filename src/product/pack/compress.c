/* Shuffle and deflate, LZ4, bitshuffle with LZ4, Zstandard, in the formats of HDF5's filters. */
#include "product/pack/compress.h"

#include "archive/chunks/transpose.h"
#include "base/memory.h"

#include <libdeflate.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* As the HDF Group has registered them. */
enum {
    FILTER_DEFLATE = 1,
    FILTER_SHUFFLE = 2,
    FILTER_LZ4 = 32004,
    FILTER_BITSHUFFLE = 32008,
    FILTER_ZSTD = 32015
};

enum {
    DEFLATE_LEVEL = 4, /* of noise, higher ones take twice the time for a percent */
    ZSTD_LEVEL = 3,
    LZ4_BLOCK = 1 << 22, /* bytes: a chunk is no longer, if its rows are not */
    PLANES_BYTES = 8192, /* of a block of bitshuffle, by its own choice, */
    LEAST_BLOCK = 128,   /* but at least so many elements */
    MULTIPLE = 8,
    BITSHUFFLE_MINOR = 5, /* version of its format */
    BITSHUFFLE_LZ4 = 2
};

struct compress {
    enum compression kind;
    size_t element_bytes, chunk_bytes;
    struct libdeflate_compressor *deflate;
    ZSTD_CCtx *zstd;
    unsigned char *planes; /* [chunk_bytes] shuffled */
};

static void compress_add(struct chunk_filters *out, int id, uint32_t nvalues,
                         const uint32_t *values)
{
    struct chunk_filter *filter = &out->items[out->count++];
    *filter = (struct chunk_filter){.id = id, .nvalues = nvalues};
    memcpy(filter->values, values, nvalues * sizeof *values);
}

void compress_filters(enum compression kind, size_t element_bytes, struct chunk_filters *out)
{
    const uint32_t size = (uint32_t)element_bytes;
    const uint32_t bits[] = {0, BITSHUFFLE_MINOR, size, 0, BITSHUFFLE_LZ4};
    static const struct {
        int id;
        uint32_t value;
    } behind_shuffle[] = {[COMPRESSION_DEFLATE] = {FILTER_DEFLATE, DEFLATE_LEVEL},
                          [COMPRESSION_LZ4] = {FILTER_LZ4, LZ4_BLOCK},
                          [COMPRESSION_ZSTD] = {FILTER_ZSTD, ZSTD_LEVEL}};
    out->count = 0;
    if (kind == COMPRESSION_BITSHUFFLE) {
        compress_add(out, FILTER_BITSHUFFLE, sizeof bits / sizeof *bits, bits);
    } else if (kind != COMPRESSION_NONE) {
        compress_add(out, FILTER_SHUFFLE, 1, &size);
        compress_add(out, behind_shuffle[kind].id, 1, &behind_shuffle[kind].value);
    }
}

const char *compress_advice(enum compression kind)
{
    static const char *const advice[COMPRESSIONS] = {
        [COMPRESSION_NONE] = "nothing",
        [COMPRESSION_DEFLATE] = "shuffle and deflate: every HDF5 reads it",
        [COMPRESSION_LZ4] = "shuffle and LZ4, HDF5 filter 32004: Python reads it after `import "
                            "hdf5plugin`, other programs with the plugin in HDF5_PLUGIN_PATH",
        [COMPRESSION_BITSHUFFLE] =
            "bitshuffle with LZ4, HDF5 filter 32008: Python reads it after `import hdf5plugin`, "
            "other programs with the plugin in HDF5_PLUGIN_PATH",
        [COMPRESSION_ZSTD] = "shuffle and Zstandard, HDF5 filter 32015: Python reads it after "
                             "`import hdf5plugin`, other programs with the plugin in "
                             "HDF5_PLUGIN_PATH"};
    return advice[kind];
}

const char *compress_library(enum compression kind)
{
    switch (kind) {
    case COMPRESSION_DEFLATE:
        return "libdeflate " LIBDEFLATE_VERSION_STRING;
    case COMPRESSION_LZ4:
    case COMPRESSION_BITSHUFFLE:
        return "LZ4 " LZ4_VERSION_STRING;
    case COMPRESSION_ZSTD:
        return "Zstandard " ZSTD_VERSION_STRING;
    default:
        return NULL;
    }
}

size_t compress_most_bytes(size_t chunk_bytes)
{
    /* LZ4 adds a 255th and 16 bytes to each block, and bitshuffle 4 for its length. */
    return chunk_bytes + chunk_bytes / 64 + (16 << 10);
}

status_t compress_create(enum compression kind, size_t element_bytes, size_t chunk_bytes,
                         compress_t **out)
{
    status_t st = STATUS_OK;
    compress_t *compress = NULL;
    TRY(memory_zeroed(1, sizeof *compress, "a compressor", &compress));
    compress->kind = kind;
    compress->element_bytes = element_bytes;
    compress->chunk_bytes = chunk_bytes;
    TRY(memory_aligned(chunk_bytes, 1, "a chunk", &compress->planes));
    if (kind == COMPRESSION_DEFLATE) {
        compress->deflate = libdeflate_alloc_compressor(DEFLATE_LEVEL);
        REQUIRE(compress->deflate, STATUS_DEVICE, "out of memory: a compressor");
    } else if (kind == COMPRESSION_ZSTD) {
        compress->zstd = ZSTD_createCCtx();
        REQUIRE(compress->zstd, STATUS_DEVICE, "out of memory: a compressor");
    }
    *out = compress;
    compress = NULL;
out:
    compress_destroy(compress);
    return st;
}

void compress_destroy(compress_t *compress)
{
    if (!compress) {
        return;
    }
    if (compress->deflate) {
        libdeflate_free_compressor(compress->deflate);
    }
    ZSTD_freeCCtx(compress->zstd);
    free(compress->planes);
    free(compress);
}

/* A big-endian number of 4 or 8 bytes. */
static unsigned char *compress_put(unsigned char *to, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i++) {
        to[i] = (unsigned char)(value >> 8 * (size - 1 - i));
    }
    return to + size;
}

/* One block behind its length. */
static status_t compress_lz4_block(const unsigned char *in, size_t bytes, unsigned char **to,
                                   const unsigned char *end)
{
    status_t st = STATUS_OK;
    int made =
        LZ4_compress_default((const char *)in, (char *)*to + 4, (int)bytes, (int)(end - *to - 4));
    REQUIRE(made > 0, STATUS_DEVICE, "LZ4 cannot compress %zu bytes", bytes);
    *to = compress_put(*to, 4, (uint64_t)made) + made;
out:
    return st;
}

static status_t compress_lz4(const compress_t *compress, unsigned char *out, size_t *bytes)
{
    status_t st = STATUS_OK;
    size_t total = compress->chunk_bytes;
    size_t block = total < LZ4_BLOCK ? total : LZ4_BLOCK;
    unsigned char *to = compress_put(compress_put(out, 8, total), 4, block);
    for (size_t at = 0; at < total; at += block) {
        size_t now = total - at < block ? total - at : block;
        unsigned char *length = to;
        TRY(compress_lz4_block(compress->planes + at, now, &to, out + compress_most_bytes(total)));
        if ((size_t)(to - length) - 4 >= now) { /* as it was: the filter's own rule */
            to = compress_put(length, 4, now) + now;
            memcpy(to - now, compress->planes + at, now);
        }
    }
    *bytes = (size_t)(to - out);
out:
    return st;
}

/* Masui et al. 2015, as the filter writes it: blocks of bit planes, each behind its length; what is
 * left of fewer than eight elements as it is. */
static status_t compress_bitshuffle(const compress_t *compress, const unsigned char *in,
                                    unsigned char *out, size_t *bytes)
{
    status_t st = STATUS_OK;
    size_t size = compress->element_bytes;
    size_t elements = compress->chunk_bytes / size;
    size_t block = PLANES_BYTES / size / MULTIPLE * MULTIPLE;
    block = block < LEAST_BLOCK ? LEAST_BLOCK : block;
    unsigned char *to = compress_put(compress_put(out, 8, compress->chunk_bytes), 4, block * size);
    size_t done = 0;
    while (done < elements / MULTIPLE * MULTIPLE) {
        size_t left = (elements - done) / MULTIPLE * MULTIPLE;
        size_t now = left < block ? left : block;
        transpose_into_bits(in + done * size, now, size, compress->planes);
        TRY(compress_lz4_block(compress->planes, now * size, &to,
                               out + compress_most_bytes(compress->chunk_bytes)));
        done += now;
    }
    size_t rest = compress->chunk_bytes - done * size;
    memcpy(to, in + done * size, rest);
    *bytes = (size_t)(to - out) + rest;
out:
    return st;
}

status_t compress_chunk(compress_t *compress, const void *in, void *out, size_t *bytes)
{
    status_t st = STATUS_OK;
    size_t total = compress->chunk_bytes;
    size_t most = compress_most_bytes(total);
    if (compress->kind == COMPRESSION_BITSHUFFLE) {
        return compress_bitshuffle(compress, in, out, bytes);
    }
    transpose_into_bytes(in, total / compress->element_bytes, compress->element_bytes,
                         compress->planes);
    if (compress->kind == COMPRESSION_DEFLATE) {
        *bytes = libdeflate_zlib_compress(compress->deflate, compress->planes, total, out, most);
        REQUIRE(*bytes > 0, STATUS_DEVICE, "deflate cannot compress %zu bytes", total);
    } else if (compress->kind == COMPRESSION_ZSTD) {
        *bytes = ZSTD_compressCCtx(compress->zstd, out, most, compress->planes, total, ZSTD_LEVEL);
        REQUIRE(!ZSTD_isError(*bytes), STATUS_DEVICE, "Zstandard: %s", ZSTD_getErrorName(*bytes));
    } else {
        TRY(compress_lz4(compress, out, bytes));
    }
out:
    return st;
}
