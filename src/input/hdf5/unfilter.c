/* The table of filters, and a chunk's way back through them. */
#include "input/hdf5/unfilter.h"

#include "base/byte_order.h"
#include "base/memory.h"

#include <libdeflate.h>
#include <lz4.h>
#include <lzf.h>
#include <stdlib.h>
#include <string.h>

/* LZ4 and Zstandard, alone and in blocks, and the checksum of HDF5. */

enum { FILTER_FLETCHER32 = 3, FILTER_BITSHUFFLE = 32008 };

struct bytes {
    const unsigned char *at;
    size_t count;
};

/* One filter, what it made, and where its input goes: `room` bytes, of which `count` are made. */
struct undoing {
    unfilter_t *unfilter;
    const struct chunk_filter *filter;
    struct bytes in;
    unsigned char *at;
    size_t room, count;
};

/* Undoes one filter. Fails with DATA: what is wrong with its bytes. */
typedef status_t (*undo_t)(struct undoing *u);

/* Takes a big-endian number of 4 or 8 bytes from the front. Fails with DATA: they end before. */
static status_t unfilter_take(struct bytes *in, size_t size, uint64_t *out)
{
    REQUIRE(in->count >= size, STATUS_DATA, "it ends in the length of a block");
    *out = size == 8 ? load_u64(in->at, 1) : load_u32(in->at, 1);
    in->at += size;
    in->count -= size;
    return STATUS_OK;
}

/* Decompresses one block to `made` bytes. */
static status_t unfilter_lz4_block(struct bytes in, unsigned char *out, size_t made)
{
    REQUIRE(in.count <= LZ4_MAX_INPUT_SIZE && made <= LZ4_MAX_INPUT_SIZE, STATUS_DATA,
            "LZ4: a block of %zu bytes", made);
    int count = LZ4_decompress_safe((const char *)in.at, (char *)out, (int)in.count, (int)made);
    REQUIRE(count >= 0, STATUS_DATA, "LZ4: a block of %zu bytes is corrupt", in.count);
    return REQUIRED((size_t)count == made, STATUS_DATA,
                    "LZ4: a block becomes %d bytes instead of %zu", count, made);
}

static status_t unfilter_zstd_bytes(unfilter_t *unfilter, struct bytes in, unsigned char *out,
                                    size_t room, size_t *made)
{
    *made = ZSTD_decompressDCtx(unfilter->zstd, out, room, in.at, in.count);
    return REQUIRED(!ZSTD_isError(*made), STATUS_DATA, "Zstandard: %s", ZSTD_getErrorName(*made));
}

static status_t unfilter_zstd(struct undoing *u)
{
    return unfilter_zstd_bytes(u->unfilter, u->in, u->at, u->room, &u->count);
}

/* The length of all, that of a block; then each block after its own length in the file, as it was
 * if it did not become shorter. */
static status_t unfilter_lz4(struct undoing *u)
{
    struct bytes in = u->in;
    uint64_t left = 0;
    uint64_t block = 0;
    TRY(unfilter_take(&in, 8, &left));
    TRY(unfilter_take(&in, 4, &block));
    REQUIRE(left <= u->room && (block > 0 || left == 0), STATUS_DATA,
            "LZ4: %llu bytes in blocks of %llu, where a chunk has %zu", (unsigned long long)left,
            (unsigned long long)block, u->room);
    for (u->count = 0; left > 0;) {
        uint64_t stored = 0;
        size_t made = (size_t)min_u64(block, left);
        unsigned char *to = u->at + u->count;
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
        u->count += made;
        left -= made;
    }
    return STATUS_OK;
}

/* Returns HDF5's Fletcher checksum of 16-bit words, high byte first; a single byte at the end is a
 * high one. */
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

/* A checksum of 4 bytes stands after what it is of, which stays where it is. */
static status_t unfilter_fletcher32(struct undoing *u)
{
    REQUIRE(u->in.count >= 4, STATUS_DATA, "fletcher32: %zu bytes are too few for a checksum",
            u->in.count);
    const unsigned char *stored = u->in.at + u->in.count - 4;
    uint32_t expected = load_u32(stored, 0);
    uint32_t sum = unfilter_sum(u->in.at, u->in.count - 4);
    /* Before 1.6.3, HDF5 turned each half round on some machines. */
    uint32_t turned = (sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8;
    REQUIRE(expected == sum || expected == turned, STATUS_DATA,
            "fletcher32: its checksum is %08x, expected %08x", sum, expected);
    u->in.count -= 4;
    return STATUS_OK;
}

/* Places among its parameters, after two of its version. */
enum { SIZE_AT = 2, BLOCK_AT = 3, COMPRESSION_AT = 4, VALUES = 3 };
enum { PLAIN = 0, LZ4 = 2, ZSTANDARD = 3 };

/* The filter's own defaults, where its parameters give no block size. */
enum { DEFAULT_BYTES = 8192, LEAST_BLOCK = 128, MULTIPLE = 8 };

/* bitshuffle: blocks of bit planes, each compressed by itself with LZ4, Zstandard or not at all. */

static uint32_t bitshuffle_compression(const struct chunk_filter *filter)
{
    return filter->nvalues > COMPRESSION_AT ? filter->values[COMPRESSION_AT] : PLAIN;
}

/* How many bytes come, and in which blocks: where they are compressed the chunk says. */
status_t unfilter_piece_begin(const struct chunk_filter *filter, const void *in, size_t bytes,
                              size_t room, struct unfilter_piece *out)
{
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
    all.block = (size_t)stated;
    if (stated == 0) {
        all.block = (size_t)max_u64(DEFAULT_BYTES / all.size / MULTIPLE * MULTIPLE, LEAST_BLOCK);
    }
    REQUIRE(all.block % MULTIPLE == 0, STATUS_DATA, "bitshuffle: blocks of %zu elements",
            all.block);
    all.in = left.at;
    all.bytes = left.count;
    all.count = (size_t)total / all.size / MULTIPLE * MULTIPLE;
    all.rest = (size_t)total - all.count * all.size;
    *out = all;
    return STATUS_OK;
}

/* Finds the stored bytes of the next block, which has `made` bytes when decoded. */
static status_t bitshuffle_find_block(uint32_t compression, struct bytes *in, size_t made,
                                      struct bytes *out)
{
    uint64_t stored = made;
    TRY(compression == PLAIN ? STATUS_OK : unfilter_take(in, 4, &stored));
    REQUIRE(stored <= in->count, STATUS_DATA,
            "bitshuffle: it ends in a block of %llu bytes, where %zu are left",
            (unsigned long long)stored, in->count);
    *out = (struct bytes){in->at, (size_t)stored};
    in->at += stored;
    in->count -= (size_t)stored;
    return STATUS_OK;
}

status_t unfilter_piece_take(struct unfilter_piece *left, size_t blocks, struct unfilter_piece *out)
{
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
    return STATUS_OK;
}

/* Blocks are small enough to stay in the nearest cache from one step to the next. */
status_t unfilter_piece_undo(unfilter_t *unfilter, const struct unfilter_piece *piece,
                             unsigned char *chunk)
{
    struct bytes in = {piece->in, piece->bytes};
    unsigned char *out = chunk + piece->first * piece->size;
    size_t most = (size_t)min_u64(piece->block, piece->count) * piece->size;
    if (piece->compression != PLAIN) {
        TRY(memory_room(&unfilter->block_bytes, most, 1, "a block of bits", &unfilter->block));
    }
    for (size_t done = 0, now = 0; done < piece->count; done += now) {
        struct bytes stored = {NULL, 0};
        now = (size_t)min_u64(piece->block, piece->count - done);
        size_t made = now * piece->size;
        TRY(bitshuffle_find_block(piece->compression, &in, made, &stored));
        if (piece->compression == LZ4) {
            TRY(unfilter_lz4_block(stored, unfilter->block, made));
        } else if (piece->compression == ZSTANDARD) {
            size_t count = 0;
            TRY(unfilter_zstd_bytes(unfilter, stored, unfilter->block, made, &count));
            REQUIRE(count == made, STATUS_DATA,
                    "Zstandard: a block becomes %zu bytes instead of %zu", count, made);
        }
        transpose_bits(piece->compression == PLAIN ? stored.at : unfilter->block, now, piece->size,
                       out);
        out += made;
    }
    /* Fewer than eight elements have no planes. */
    REQUIRE(in.count >= piece->rest, STATUS_DATA, "bitshuffle: it ends %zu bytes early",
            piece->rest - in.count);
    memcpy(out, in.at, piece->rest);
    return STATUS_OK;
}

static status_t unfilter_bitshuffle(struct undoing *u)
{
    struct unfilter_piece all;
    TRY(unfilter_piece_begin(u->filter, u->in.at, u->in.count, u->room, &all));
    TRY(unfilter_piece_undo(u->unfilter, &all, u->at));
    u->count = all.count * all.size + all.rest;
    return STATUS_OK;
}

struct filter_kind {
    int id;
    const char *name, *advice;
    undo_t undo; /* NULL: HDF5 must do it */
};

static status_t unfilter_deflate(struct undoing *u)
{
    enum libdeflate_result result = libdeflate_zlib_decompress(
        u->unfilter->inflate, u->in.at, u->in.count, u->at, u->room, &u->count);
    REQUIRE(result != LIBDEFLATE_INSUFFICIENT_SPACE, STATUS_DATA,
            "deflate: it contains more than the %zu bytes of a chunk", u->room);
    return REQUIRED(result == LIBDEFLATE_SUCCESS, STATUS_DATA,
                    "deflate: its %zu bytes are no whole zlib stream", u->in.count);
}

static status_t unfilter_lzf(struct undoing *u)
{
    REQUIRE(u->in.count <= UINT32_MAX && u->room <= UINT32_MAX, STATUS_DATA,
            "LZF: a chunk of %zu bytes", u->room);
    u->count = lzf_decompress(u->in.at, (unsigned)u->in.count, u->at, (unsigned)u->room);
    return REQUIRED(u->count > 0, STATUS_DATA, "LZF: its %zu bytes are corrupt", u->in.count);
}

static status_t unfilter_shuffle(struct undoing *u)
{
    size_t size = u->filter->values[0];
    size_t count = u->in.count / size;
    REQUIRE(u->in.count <= u->room, STATUS_DATA, "shuffle: %zu bytes where a chunk has %zu",
            u->in.count, u->room);
    transpose_bytes(u->in.at, count, count, size, u->at);
    memcpy(u->at + count * size, u->in.at + count * size, u->in.count - count * size);
    u->count = u->in.count;
    return STATUS_OK;
}

/* Known to us; those that HDF5 must undo are here for their names. */
static const struct filter_kind unfilter_kinds[] = {
    {1, "deflate", NULL, unfilter_deflate},
    {2, "shuffle", NULL, unfilter_shuffle},
    {FILTER_FLETCHER32, "fletcher32", NULL, unfilter_fletcher32},
    {4, "szip", "an HDF5 that was built with szip or libaec has it", NULL},
    {5, "nbit", NULL, NULL},
    {6, "scale-offset", NULL, NULL},
    {307, "bzip2", "hdf5plugin (PyPI) or HDF5's collection of plugins has it", NULL},
    {32000, "LZF", NULL, unfilter_lzf},
    {32001, "Blosc", "hdf5plugin (PyPI) or hdf5-blosc has it", NULL},
    {32004, "LZ4", NULL, unfilter_lz4},
    {FILTER_BITSHUFFLE, "bitshuffle", NULL, unfilter_bitshuffle},
    {32013, "ZFP", "hdf5plugin (PyPI) or H5Z-ZFP has it", NULL},
    {32015, "Zstandard", NULL, unfilter_zstd},
    {32017, "SZ", "hdf5plugin (PyPI) has it", NULL},
    {32019, "FCIDECOMP", "hdf5plugin (PyPI) has it", NULL},
    {32024, "SZ3", "hdf5plugin (PyPI) has it", NULL},
    {32026, "Blosc2", "hdf5plugin (PyPI) has it", NULL},
};

static const struct filter_kind *unfilter_kind(int id)
{
    for (size_t i = 0; i < sizeof unfilter_kinds / sizeof *unfilter_kinds; i++) {
        if (unfilter_kinds[i].id == id) {
            return &unfilter_kinds[i];
        }
    }
    return NULL;
}

int unfilter_knows(const struct chunk_filter *filter)
{
    const struct filter_kind *kind = unfilter_kind(filter->id);
    int is_possible = filter->id == 2 ? filter->nvalues > 0 && filter->values[0] > 0 : 1;
    if (filter->id == FILTER_BITSHUFFLE) {
        uint32_t compression = bitshuffle_compression(filter);
        is_possible = filter->nvalues >= VALUES && filter->values[SIZE_AT] > 0 &&
                      (compression == PLAIN || compression == LZ4 || compression == ZSTANDARD);
    }
    return kind && kind->undo && is_possible;
}

const char *unfilter_name(int id)
{
    const struct filter_kind *kind = unfilter_kind(id);
    return kind ? kind->name : NULL;
}

const char *unfilter_advice(int id)
{
    const struct filter_kind *kind = unfilter_kind(id);
    return kind && kind->advice ? kind->advice
                                : "the HDF Group's list of registered filters says whose it is";
}

size_t unfilter_most_bytes(size_t chunk_bytes)
{
    return chunk_bytes + chunk_bytes / 4 + (64 << 10);
}

uint64_t unfilter_work_bytes(const struct chunk_filters *filters, uint64_t chunk_bytes)
{
    enum { MOST = 3 /* in turns between filters, beside what is stored */ };
    return min_u64(filters->count, MOST) * unfilter_most_bytes((size_t)chunk_bytes) + chunk_bytes;
}

status_t unfilter_create(const struct chunk_filters *filters, size_t chunk_bytes, unfilter_t **out)
{
    TRY(memory_zeroed(1, sizeof **out, "a decompressor", out));
    unfilter_t *unfilter = *out;
    unfilter->filters = filters;
    unfilter->chunk_bytes = chunk_bytes;
    unfilter->inflate = libdeflate_alloc_decompressor();
    unfilter->zstd = ZSTD_createDCtx();
    return REQUIRED(unfilter->inflate && unfilter->zstd, STATUS_DEVICE,
                    "out of memory: a decompressor");
}

void unfilter_destroy(unfilter_t *unfilter)
{
    if (!unfilter) {
        return;
    }
    libdeflate_free_decompressor(unfilter->inflate);
    ZSTD_freeDCtx(unfilter->zstd);
    free(unfilter->rooms[0]);
    free(unfilter->rooms[1]);
    free(unfilter->block);
    free(unfilter);
}

static int unfilter_is_on(const struct chunk_filters *filters, uint32_t mask, uint32_t i)
{
    return i < filters->count && !(mask >> i & 1);
}

/* Counts the filters below number i that are on. */
static uint32_t unfilter_below(const struct chunk_filters *filters, uint32_t mask, uint32_t i)
{
    uint32_t count = 0;
    while (i-- > 0) {
        count += (uint32_t)unfilter_is_on(filters, mask, i);
    }
    return count;
}

const struct chunk_filter *unfilter_in_pieces(const struct chunk_filters *filters, uint32_t mask)
{
    const struct chunk_filter *only = NULL;
    for (uint32_t i = 0; i < filters->count; i++) {
        int is_only =
            unfilter_is_on(filters, mask, i) && unfilter_below(filters, mask, filters->count) == 1;
        only = is_only && filters->items[i].id == FILTER_BITSHUFFLE ? &filters->items[i] : only;
    }
    return only;
}

/* One step back, into a room of our own, or with the last one where the chunk is wanted. */
static status_t unfilter_step(unfilter_t *unfilter, const struct chunk_filter *filter, int is_last,
                              unsigned char *wanted, struct bytes *now)
{
    struct undoing u = {unfilter, filter, *now, wanted, unfilter->chunk_bytes, 0};
    if (!is_last && filter->id != FILTER_FLETCHER32) {
        char **room = &unfilter->rooms[unfilter->turn];
        unfilter->turn = !unfilter->turn;
        u.room = unfilter_most_bytes(unfilter->chunk_bytes);
        TRY(*room ? STATUS_OK : memory_aligned(u.room, 1, "a chunk", room));
        u.at = (unsigned char *)*room;
    }
    TRY(unfilter_kind(filter->id)->undo(&u));
    *now = filter->id == FILTER_FLETCHER32 ? u.in : (struct bytes){u.at, u.count};
    return STATUS_OK;
}

status_t unfilter_chunk(unfilter_t *unfilter, uint32_t mask, const void *in, size_t bytes,
                        void *out)
{
    struct bytes now = {in, bytes};
    for (uint32_t i = unfilter->filters->count; i-- > 0;) {
        if (unfilter_is_on(unfilter->filters, mask, i)) {
            int is_last = unfilter_below(unfilter->filters, mask, i) == 0;
            TRY(unfilter_step(unfilter, &unfilter->filters->items[i], is_last, out, &now));
        }
    }
    REQUIRE(now.count == unfilter->chunk_bytes, STATUS_DATA,
            "it becomes %zu bytes where a chunk has %zu", now.count, unfilter->chunk_bytes);
    if (now.at != out) {
        memcpy(out, now.at, now.count);
    }
    return STATUS_OK;
}
