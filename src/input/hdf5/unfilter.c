/* The table of filters, and a chunk's way back through them. */
#include "input/hdf5/unfilter.h"

#include "base/memory.h"
#include "input/hdf5/unfilter_parts.h"

#include <libdeflate.h>
#include <lzf.h>
#include <stdlib.h>
#include <string.h>

struct filter_kind {
    int id;
    const char *name, *advice;
    undo_t undo; /* NULL: HDF5 must do it */
};

static status_t unfilter_deflate(unfilter_t *unfilter, const struct chunk_filter *filter,
                                 struct bytes in, struct room *out)
{
    status_t st = STATUS_OK;
    (void)filter;
    enum libdeflate_result result = libdeflate_zlib_decompress(unfilter->inflate, in.at, in.count,
                                                               out->at, out->room, &out->count);
    REQUIRE(result != LIBDEFLATE_INSUFFICIENT_SPACE, STATUS_DATA,
            "deflate: it holds more than the %zu bytes of a chunk", out->room);
    REQUIRE(result == LIBDEFLATE_SUCCESS, STATUS_DATA,
            "deflate: its %zu bytes are no whole zlib stream", in.count);
out:
    return st;
}

static status_t unfilter_lzf(unfilter_t *unfilter, const struct chunk_filter *filter,
                             struct bytes in, struct room *out)
{
    status_t st = STATUS_OK;
    (void)unfilter;
    (void)filter;
    REQUIRE(in.count <= UINT32_MAX && out->room <= UINT32_MAX, STATUS_DATA,
            "LZF: a chunk of %zu bytes", out->room);
    out->count = lzf_decompress(in.at, (unsigned)in.count, out->at, (unsigned)out->room);
    REQUIRE(out->count > 0, STATUS_DATA, "LZF: its %zu bytes are corrupt", in.count);
out:
    return st;
}

static status_t unfilter_shuffle(unfilter_t *unfilter, const struct chunk_filter *filter,
                                 struct bytes in, struct room *out)
{
    status_t st = STATUS_OK;
    (void)unfilter;
    size_t size = filter->values[0];
    size_t count = in.count / size;
    REQUIRE(in.count <= out->room, STATUS_DATA, "shuffle: %zu bytes where a chunk has %zu",
            in.count, out->room);
    transpose_bytes(in.at, count, count, size, out->at);
    memcpy(out->at + count * size, in.at + count * size, in.count - count * size);
    out->count = in.count;
out:
    return st;
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
    int has_size = filter->id == 2 ? filter->nvalues > 0 && filter->values[0] > 0 : 1;
    int is_possible = filter->id == FILTER_BITSHUFFLE ? bitshuffle_knows(filter) : has_size;
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

status_t unfilter_create(const struct chunk_filters *filters, size_t chunk_bytes, unfilter_t **out)
{
    status_t st = STATUS_OK;
    unfilter_t *unfilter = NULL;
    TRY(memory_zeroed(1, sizeof *unfilter, "a decompressor", &unfilter));
    unfilter->filters = filters;
    unfilter->chunk_bytes = chunk_bytes;
    unfilter->inflate = libdeflate_alloc_decompressor();
    unfilter->zstd = ZSTD_createDCtx();
    REQUIRE(unfilter->inflate && unfilter->zstd, STATUS_DEVICE, "out of memory: a decompressor");
    *out = unfilter;
    unfilter = NULL;
out:
    unfilter_destroy(unfilter);
    return st;
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

/* The filters that are on below number i. */
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
    status_t st = STATUS_OK;
    if (filter->id == FILTER_FLETCHER32) {
        return unfilter_fletcher32(unfilter, filter, *now, NULL) == STATUS_OK
                   ? (now->count -= 4, STATUS_OK)
                   : STATUS_DATA;
    }
    struct room to = {wanted, unfilter->chunk_bytes, 0};
    if (!is_last) {
        char **room = &unfilter->rooms[unfilter->turn];
        unfilter->turn = !unfilter->turn;
        to.room = unfilter_most_bytes(unfilter->chunk_bytes);
        TRY(*room ? STATUS_OK : memory_aligned(to.room, 1, "a chunk", room));
        to.at = (unsigned char *)*room;
    }
    TRY(unfilter_kind(filter->id)->undo(unfilter, filter, *now, &to));
    *now = (struct bytes){to.at, to.count};
out:
    return st;
}

status_t unfilter_chunk(unfilter_t *unfilter, uint32_t mask, const void *in, size_t bytes,
                        void *out)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}
