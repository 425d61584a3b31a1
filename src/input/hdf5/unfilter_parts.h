/* What the decompressors share. For nobody else. */
#ifndef VOLTMILL_ARCHIVE_CHUNKS_UNFILTER_PARTS_H
#define VOLTMILL_ARCHIVE_CHUNKS_UNFILTER_PARTS_H

#include "input/hdf5/transpose.h"
#include "input/hdf5/unfilter.h"

#include <zstd.h>

enum { FILTER_FLETCHER32 = 3, FILTER_BITSHUFFLE = 32008 };

struct libdeflate_decompressor;

struct unfilter {
    const struct chunk_filters *filters;
    size_t chunk_bytes;
    struct libdeflate_decompressor *inflate;
    ZSTD_DCtx *zstd;
    char *rooms[2];       /* of unfilter_most_bytes(), between two filters */
    int turn;             /* which is next */
    unsigned char *block; /* of bitshuffle, decompressed */
    size_t block_bytes;
};

struct bytes {
    const unsigned char *at;
    size_t count;
};

/* Where a filter's input goes: `room` bytes, of which `count` are made. */
struct room {
    unsigned char *at;
    size_t room, count;
};

/* Undoes one filter. Fails with DATA: what is wrong with its bytes. */
typedef status_t (*undo_t)(unfilter_t *unfilter, const struct chunk_filter *filter, struct bytes in,
                           struct room *out);

/* A checksum of 4 bytes stands behind what it is of, which stays where it is: `out` may be NULL. */
status_t unfilter_fletcher32(unfilter_t *unfilter, const struct chunk_filter *filter,
                             struct bytes in, struct room *out);
status_t unfilter_lz4(unfilter_t *unfilter, const struct chunk_filter *filter, struct bytes in,
                      struct room *out);
status_t unfilter_zstd(unfilter_t *unfilter, const struct chunk_filter *filter, struct bytes in,
                       struct room *out);
status_t unfilter_bitshuffle(unfilter_t *unfilter, const struct chunk_filter *filter,
                             struct bytes in, struct room *out);
int bitshuffle_knows(const struct chunk_filter *filter);

/* `made` bytes of one compressed block, whose length is known. */
status_t unfilter_lz4_block(struct bytes in, unsigned char *out, size_t made);
status_t unfilter_zstd_block(unfilter_t *unfilter, struct bytes in, unsigned char *out,
                             size_t made);

/* Takes a big-endian number of 4 or 8 bytes from the front. Fails with DATA: they end before. */
status_t unfilter_take(struct bytes *in, size_t size, uint64_t *out);

#endif
