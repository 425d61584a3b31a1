/* Rows in chunks: which, by number; compressed by the libraries; as a dataset whose filters HDF5
 * only has to name. */
#include "product/codec.h"

#include "base/memory.h"
#include "input/hdf5/transpose.h"

#include <libdeflate.h>
#include <lz4.h>
#include <zstd.h>

enum { CHUNK_BYTES = 1 << 20, LIBRARY_BYTES = 3 << 19 /* Zstandard's, of such a chunk */ };

void packed_cut(struct packed_shape *shape)
{
    uint64_t most = CHUNK_BYTES / shape->element_bytes;
    shape->chunk_numbers = min_u64(shape->numbers, most);
    shape->chunk_rows = min_u64(shape->rows, max_u64(most / shape->chunk_numbers, 1));
}

static uint64_t packed_across(const struct packed_shape *shape)
{
    return ceil_div_u64(shape->numbers, shape->chunk_numbers);
}

uint64_t packed_count(const struct packed_shape *shape)
{
    return ceil_div_u64(shape->rows, shape->chunk_rows) * shape->ifs * packed_across(shape);
}

uint64_t packed_chunk_bytes(const struct packed_shape *shape)
{
    return shape->chunk_rows * shape->chunk_numbers * shape->element_bytes;
}

uint64_t packed_work_bytes(uint32_t threads)
{
    /* A chunk, its planes, a library's. */
    return min_u64(threads, PACKED_ROUND) * (2 * CHUNK_BYTES + LIBRARY_BYTES) +
           UINT64_C(2) * PACKED_ROUND * codec_most_bytes(CHUNK_BYTES);
}

struct packed_corner packed_corner(const struct packed_shape *shape, uint64_t chunk)
{
    uint64_t across = packed_across(shape);
    uint64_t above = chunk / across;
    return (struct packed_corner){above / shape->ifs * shape->chunk_rows, above % shape->ifs,
                                  chunk % across * shape->chunk_numbers};
}

/* As the HDF Group has registered them. */
enum {
    FILTER_DEFLATE = 1,
    FILTER_SHUFFLE = 2,
    FILTER_LZ4 = 32004,
    FILTER_BITSHUFFLE = 32008,
    FILTER_ZSTD = 32015
};

enum {
    DEFLATE_LEVEL = 1, /* level 4 takes twice the time for one percent of power */
    STORED = 65535,    /* bytes of a block of deflate that is stored */
    PROBES = 8,        /* samples of a byte plane, */
    PROBE = 2048,      /* their bytes, */
    PROBE_GAIN = 32,   /* and the part of them that compression must save */
    ZSTD_LEVEL = 3,
    LZ4_BLOCK = 1 << 22, /* bytes: a chunk is no longer, if its rows are not */
    PLANES_BYTES = 8192, /* of a block of bitshuffle, by its own choice, */
    LEAST_BLOCK = 128,   /* but at least this many elements */
    MULTIPLE = 8,
    BITSHUFFLE_MINOR = 5, /* version of its format */
    BITSHUFFLE_LZ4 = 2
};

struct codec {
    enum compression kind;
    size_t element_bytes, chunk_bytes;
    struct libdeflate_compressor *deflate;
    ZSTD_CCtx *zstd;
    unsigned char *planes; /* [chunk_bytes] shuffled */
};

static void codec_add(struct chunk_filters *out, int id, uint32_t nvalues, const uint32_t *values)
{
    struct chunk_filter *filter = &out->items[out->count++];
    *filter = (struct chunk_filter){.id = id, .nvalues = nvalues};
    memcpy(filter->values, values, nvalues * sizeof *values);
}

#define PLUGIN                                                                                     \
    ": Python reads it after `import hdf5plugin`, other programs with the plugin in "              \
    "HDF5_PLUGIN_PATH"

/* The filter after shuffle (bitshuffle comes alone) and its value; the library that decides the
 * bytes; what readers need. */
static const struct {
    int filter;
    uint32_t value;
    const char *library, *advice;
} codecs[COMPRESSIONS] = {
    [COMPRESSION_NONE] = {0, 0, NULL, "nothing"},
    [COMPRESSION_DEFLATE] = {FILTER_DEFLATE, DEFLATE_LEVEL, "libdeflate " LIBDEFLATE_VERSION_STRING,
                             "shuffle and deflate: every HDF5 reads it"},
    [COMPRESSION_LZ4] = {FILTER_LZ4, LZ4_BLOCK, "LZ4 " LZ4_VERSION_STRING,
                         "shuffle and LZ4, HDF5 filter 32004" PLUGIN},
    [COMPRESSION_BITSHUFFLE] = {FILTER_BITSHUFFLE, 0, "LZ4 " LZ4_VERSION_STRING,
                                "bitshuffle with LZ4, HDF5 filter 32008" PLUGIN},
    [COMPRESSION_ZSTD] = {FILTER_ZSTD, ZSTD_LEVEL, "Zstandard " ZSTD_VERSION_STRING,
                          "shuffle and Zstandard, HDF5 filter 32015" PLUGIN}};

void codec_filters(enum compression kind, size_t element_bytes, struct chunk_filters *out)
{
    const uint32_t size = (uint32_t)element_bytes;
    const uint32_t bits[] = {0, BITSHUFFLE_MINOR, size, 0, BITSHUFFLE_LZ4};
    out->count = 0;
    if (kind == COMPRESSION_BITSHUFFLE) {
        codec_add(out, FILTER_BITSHUFFLE, sizeof bits / sizeof *bits, bits);
    } else if (kind != COMPRESSION_NONE) {
        codec_add(out, FILTER_SHUFFLE, 1, &size);
        codec_add(out, codecs[kind].filter, 1, &codecs[kind].value);
    }
}

const char *codec_advice(enum compression kind)
{
    return codecs[kind].advice;
}

const char *codec_library(enum compression kind)
{
    return codecs[kind].library;
}

size_t codec_most_bytes(size_t chunk_bytes)
{
    /* LZ4 adds a 255th and 16 bytes to each block, and bitshuffle 4 for its length. */
    return chunk_bytes + chunk_bytes / 64 + (16 << 10);
}

status_t codec_create(enum compression kind, size_t element_bytes, size_t chunk_bytes,
                      codec_t **out)
{
    SCOPED(codec_destroy_at) codec_t *codec = NULL;
    TRY(memory_zeroed(1, sizeof *codec, "a compressor", &codec));
    codec->kind = kind;
    codec->element_bytes = element_bytes;
    codec->chunk_bytes = chunk_bytes;
    TRY(memory_aligned(chunk_bytes, 1, "a chunk", &codec->planes));
    if (kind == COMPRESSION_DEFLATE) {
        codec->deflate = libdeflate_alloc_compressor(DEFLATE_LEVEL);
        REQUIRE(codec->deflate, STATUS_DEVICE, "out of memory: a compressor");
    } else if (kind == COMPRESSION_ZSTD) {
        codec->zstd = ZSTD_createCCtx();
        REQUIRE(codec->zstd, STATUS_DEVICE, "out of memory: a compressor");
    }
    *out = memory_move(&codec);
    return STATUS_OK;
}

void codec_destroy(codec_t *codec)
{
    if (!codec) {
        return;
    }
    if (codec->deflate) {
        libdeflate_free_compressor(codec->deflate);
    }
    ZSTD_freeCCtx(codec->zstd);
    MEMORY_FREE(codec->planes, codec);
}

/* Writes a big-endian number of 4 or 8 bytes; returns its end. */
static unsigned char *codec_put(unsigned char *to, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i++) {
        to[i] = (unsigned char)(value >> 8 * (size - 1 - i));
    }
    return to + size;
}

/* Compresses one block by LZ4, and writes its length before it. */
static status_t codec_lz4_block(const unsigned char *in, size_t bytes, unsigned char **to,
                                const unsigned char *end)
{
    int made =
        LZ4_compress_default((const char *)in, (char *)*to + 4, (int)bytes, (int)(end - *to - 4));
    REQUIRE(made > 0, STATUS_DEVICE, "LZ4: %zu bytes cannot be packed", bytes);
    *to = codec_put(*to, 4, (uint64_t)made) + made;
    return STATUS_OK;
}

static status_t codec_lz4(const codec_t *codec, unsigned char *out, size_t *bytes)
{
    size_t total = codec->chunk_bytes;
    size_t block = total < LZ4_BLOCK ? total : LZ4_BLOCK;
    unsigned char *to = codec_put(codec_put(out, 8, total), 4, block);
    for (size_t at = 0; at < total; at += block) {
        size_t now = total - at < block ? total - at : block;
        unsigned char *length = to;
        TRY(codec_lz4_block(codec->planes + at, now, &to, out + codec_most_bytes(total)));
        if ((size_t)(to - length) - 4 >= now) { /* as it was: the filter's own rule */
            to = codec_put(length, 4, now) + now;
            memcpy(to - now, codec->planes + at, now);
        }
    }
    *bytes = (size_t)(to - out);
    return STATUS_OK;
}

/* Masui et al. 2015, as the filter writes it: blocks of bit planes, each after its length; what is
 * left of fewer than eight elements as it is. */
static status_t codec_bitshuffle(const codec_t *codec, const unsigned char *in, unsigned char *out,
                                 size_t *bytes)
{
    size_t size = codec->element_bytes;
    size_t elements = codec->chunk_bytes / size;
    size_t block = PLANES_BYTES / size / MULTIPLE * MULTIPLE;
    block = block < LEAST_BLOCK ? LEAST_BLOCK : block;
    unsigned char *to = codec_put(codec_put(out, 8, codec->chunk_bytes), 4, block * size);
    size_t done = 0;
    while (done < elements / MULTIPLE * MULTIPLE) {
        size_t left = (elements - done) / MULTIPLE * MULTIPLE;
        size_t now = left < block ? left : block;
        transpose_into_bits(in + done * size, now, size, codec->planes);
        TRY(codec_lz4_block(codec->planes, now * size, &to,
                            out + codec_most_bytes(codec->chunk_bytes)));
        done += now;
    }
    size_t rest = codec->chunk_bytes - done * size;
    memcpy(to, in + done * size, rest);
    *bytes = (size_t)(to - out) + rest;
    return STATUS_OK;
}

/* Returns whether a byte plane is worth compressing, by samples from all of it. They are put at
 * `out`, and compressed after. */
static int codec_shrinks(const codec_t *codec, const unsigned char *plane, size_t bytes,
                         unsigned char *out)
{
    enum { SAMPLE = PROBES * PROBE };
    if (bytes < 4 * SAMPLE) {
        return 1;
    }
    for (size_t i = 0; i < PROBES; i++) {
        memcpy(out + i * PROBE, plane + bytes / PROBES * i, PROBE);
    }
    return libdeflate_deflate_compress(codec->deflate, out, SAMPLE, out + SAMPLE,
                                       SAMPLE - SAMPLE / PROBE_GAIN) > 0;
}

/* A zlib stream (RFC 1950). The first byte planes are mostly noise, on which a compressor spends
 * most of its time. Those are stored, in blocks of RFC 1951; all that follows is compressed. */
static status_t codec_deflate(const codec_t *codec, unsigned char *out, size_t *bytes)
{
    enum { CMF = 0x78, FLG = 0x01, ADLER = 4 };
    size_t total = codec->chunk_bytes;
    size_t plane = total / codec->element_bytes;
    size_t stored = 0;
    while (stored + plane < total && !codec_shrinks(codec, codec->planes + stored, plane, out)) {
        stored += plane;
    }
    unsigned char *to = out;
    *to++ = CMF;
    *to++ = FLG;
    for (size_t at = 0; at < stored; at += STORED) {
        size_t now = stored - at < STORED ? stored - at : STORED;
        *to++ = 0; /* a stored block, not the last; its length comes low byte first, twice */
        for (int i = 0; i < 4; i++) {
            *to++ = (unsigned char)((i < 2 ? now : ~now) >> 8 * (i % 2));
        }
        memcpy(to, codec->planes + at, now);
        to += now;
    }
    size_t room = codec_most_bytes(total) - (size_t)(to - out) - ADLER;
    size_t made = libdeflate_deflate_compress(codec->deflate, codec->planes + stored,
                                              total - stored, to, room);
    REQUIRE(made > 0, STATUS_DEVICE, "deflate: %zu bytes cannot be compressed", total);
    to = codec_put(to + made, ADLER, libdeflate_adler32(1, codec->planes, total));
    *bytes = (size_t)(to - out);
    return STATUS_OK;
}

status_t codec_chunk(codec_t *codec, const void *in, void *out, size_t *bytes)
{
    size_t total = codec->chunk_bytes;
    size_t most = codec_most_bytes(total);
    if (codec->kind == COMPRESSION_BITSHUFFLE) {
        return codec_bitshuffle(codec, in, out, bytes);
    }
    transpose_into_bytes(in, total / codec->element_bytes, codec->element_bytes, codec->planes);
    if (codec->kind == COMPRESSION_DEFLATE) {
        TRY(codec_deflate(codec, out, bytes));
    } else if (codec->kind == COMPRESSION_ZSTD) {
        *bytes = ZSTD_compressCCtx(codec->zstd, out, most, codec->planes, total, ZSTD_LEVEL);
        REQUIRE(!ZSTD_isError(*bytes), STATUS_DEVICE, "Zstandard: %s", ZSTD_getErrorName(*bytes));
    } else {
        TRY(codec_lz4(codec, out, bytes));
    }
    return STATUS_OK;
}

enum { FIRST_REGISTERED = 256 }; /* those below are HDF5's own */

static const char attribute[] = "compression";

/* Chunks are compressed and written as they are: HDF5 never calls this filter. */
static size_t packed_rows_stand_in(unsigned flags, size_t nvalues, const unsigned *values,
                                   size_t bytes, size_t *size, void **data)
{
    (void)flags;
    (void)nvalues;
    (void)values;
    (void)bytes;
    (void)size;
    (void)data;
    return 0;
}

static status_t packed_rows_add_filter(hid_t plist, const struct chunk_filter *filter)
{
    const H5Z_class2_t stand_in = {.version = H5Z_CLASS_T_VERS,
                                   .id = filter->id,
                                   .encoder_present = 1,
                                   .decoder_present = 1,
                                   .name = unfilter_name(filter->id),
                                   .filter = packed_rows_stand_in};
    if (filter->id >= FIRST_REGISTERED) {
        H5_TRY(H5Zregister(&stand_in), "filter %d cannot be named", filter->id);
    }
    H5_TRY(H5Pset_filter(plist, filter->id, H5Z_FLAG_OPTIONAL, filter->nvalues, filter->values),
           "filter %d cannot be set", filter->id);
    return STATUS_OK;
}

void packed_rows_forget(enum compression compression)
{
    struct chunk_filters filters;
    codec_filters(compression, 1, &filters);
    for (uint32_t i = 0; i < filters.count; i++) {
        if (filters.items[i].id >= FIRST_REGISTERED && H5Zfilter_avail(filters.items[i].id) > 0) {
            H5Zunregister(filters.items[i].id);
        }
    }
}

static status_t packed_rows_plan(const struct product_spec *spec, hid_t type, int rank,
                                 const hsize_t *dims, hid_t plist)
{
    struct chunk_filters filters;
    hsize_t chunk[H5S_MAX_RANK];
    struct packed_shape shape = {
        .element_bytes = H5Tget_size(type), .rows = dims[0], .numbers = dims[rank - 1]};
    packed_cut(&shape);
    for (int i = 0; i < rank; i++) {
        chunk[i] = 1;
    }
    chunk[0] = shape.chunk_rows;
    chunk[rank - 1] = shape.chunk_numbers;
    H5_TRY(H5Pset_chunk(plist, rank, chunk), "rows cannot be cut into chunks");
    H5_TRY(H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER), "rows cannot be cut into chunks");
    H5_TRY(H5Pset_obj_track_times(plist, 0), "rows cannot be cut into chunks");
    codec_filters(spec->compression, shape.element_bytes, &filters);
    for (uint32_t i = 0; i < filters.count; i++) {
        TRY(packed_rows_add_filter(plist, &filters.items[i]));
    }
    return STATUS_OK;
}

status_t packed_rows_create(hid_t file, const struct product_spec *spec, const char *name,
                            hid_t type, int rank, const hsize_t *dims, hid_t *out)
{
    if (spec->compression == COMPRESSION_NONE) {
        return h5_create_dataset(file, name, type, rank, dims, out);
    }
    SCOPED(h5_close_at) hid_t space = H5Screate_simple(rank, dims, NULL);
    SCOPED(h5_close_at) hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    TRY(packed_rows_plan(spec, type, rank, dims, plist));
    *out = H5Dcreate2(file, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5_TRY(*out, "dataset %s cannot be made", name);
    return h5_put_text(*out, attribute, codec_advice(spec->compression));
}

status_t packed_rows_find(const struct h5_dataset *rows, const char *path, enum compression *out)
{
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(rows->id);
    int is_ours = 0;
    *out = COMPRESSION_NONE;
    H5_TRY(plist, "%s: how its rows are stored cannot be read", path);
    TRY(h5_has_attribute(rows->id, path, attribute, &is_ours));
    if (!is_ours || H5Pget_layout(plist) != H5D_CHUNKED) {
        return STATUS_OK;
    }
    int count = H5Pget_nfilters(plist);
    unsigned flags = 0;
    unsigned config = 0;
    size_t nvalues = 0;
    H5Z_filter_t last = count > 0 ? H5Pget_filter2(plist, (unsigned)count - 1, &flags, &nvalues,
                                                   NULL, 0, NULL, &config)
                                  : -1;
    for (int kind = COMPRESSION_NONE + 1; kind < COMPRESSIONS; kind++) {
        struct chunk_filters filters;
        codec_filters((enum compression)kind, 1, &filters);
        if (filters.items[filters.count - 1].id == last) {
            *out = (enum compression)kind;
        }
    }
    return STATUS_OK;
}
