/* Decoders that undo the filters of a chunked dataset without HDF5, in any thread: each thread has
 * its own. */
#ifndef VOLTMILL_INPUT_HDF5_UNFILTER_H
#define VOLTMILL_INPUT_HDF5_UNFILTER_H

#include "input/hdf5/transpose.h"

#include <stdint.h>
#include <zstd.h>

enum {
    MOST_FILTERS = 32, /* as HDF5's masks of filters have bits */
    FILTER_VALUES = 8
};

/* One step of the pipeline, by the number that the HDF Group has registered for it, and its
 * parameters as the dataset has them. */
struct chunk_filter {
    int id;
    uint32_t nvalues;
    uint32_t values[FILTER_VALUES];
};

/* In the order in which they were applied. */
struct chunk_filters {
    struct chunk_filter items[MOST_FILTERS];
    uint32_t count;
};

/* Returns 1 if unfilter_chunk() can undo a filter with these parameters, else 0. */
int unfilter_knows(const struct chunk_filter *filter);
/* Returns the name of the filter of this number (the HDF Group's), for messages; NULL: unknown. The
 * text is static. */
const char *unfilter_name(int id);
/* Returns how to get the HDF5 plugin of the filter of this number, for messages; never NULL. The
 * text is static. */
const char *unfilter_advice(int id);

/* Returns the maximum number of bytes to which filters can sensibly expand a chunk of chunk_bytes
 * bytes. */
size_t unfilter_most_bytes(size_t chunk_bytes);

/* Returns the bytes that a thread needs to read a chunk of chunk_bytes bytes and undo its filters:
 * for the chunk as it is stored, between filters, and undone. */
uint64_t unfilter_work_bytes(const struct chunk_filters *filters, uint64_t chunk_bytes);

typedef struct unfilter unfilter_t;

/* Creates a decoder of chunks of chunk_bytes bytes, for one thread. The filters must outlive it.
 * The caller calls unfilter_destroy(*out), NULL before, in any case. Fails with DEVICE (memory). */
status_t unfilter_create(const struct chunk_filters *filters, size_t chunk_bytes, unfilter_t **out);
/* Frees a decoder; takes NULL. */
void unfilter_destroy(unfilter_t *unfilter);

/* Undoes all filters of a chunk, the last first, but those that `mask` has a bit for (bit i: the
 * chunk was stored without filter i).
 *
 *   in     char [bytes], at most unfilter_most_bytes(), as stored
 *   out    char [chunk_bytes]
 * Fails with DATA: which filter, and what is wrong; with DEVICE (memory). `out` is undefined then.
 * Messages name no file. One thread at a time with one decoder. */
status_t unfilter_chunk(unfilter_t *unfilter, uint32_t mask, const void *in, size_t bytes,
                        void *out);

/* Blocks of a chunk that went through bitshuffle alone, which threads undo side by side. */
struct unfilter_piece {
    uint32_t compression;    /* of each block, as the filter numbers them */
    size_t size, block;      /* bytes of an element; elements of a block, at most */
    const unsigned char *in; /* [bytes] as they are stored */
    size_t bytes;
    size_t first, count; /* elements, of the chunk's */
    size_t rest;         /* bytes after the last element of a block, not compressed */
};

/* Returns the filter that cuts chunks into pieces, inside `filters`, if it is the only one that is
 * on (`mask` as for unfilter_chunk()); else NULL. */
const struct chunk_filter *unfilter_in_pieces(const struct chunk_filters *filters, uint32_t mask);

/* Begins a chunk: sets *out to all of it. `filter` is unfilter_in_pieces()'s. `in`, char [bytes] as
 * stored, must outlive the pieces. Decoded, the chunk has at most `room` bytes; if it has fewer,
 * the caller refuses it. Fails with DATA: the chunk is corrupt; *out is undefined then. Messages
 * name no file. */
status_t unfilter_piece_begin(const struct chunk_filter *filter, const void *in, size_t bytes,
                              size_t room, struct unfilter_piece *out);
/* Takes `blocks` blocks, or all that are left, from the front of `left`, a piece of
 * unfilter_piece_begin(), into *out; the last ones bring the remainder. Fails with DATA: the chunk
 * is corrupt; *out is undefined then, and `left` unchanged. Messages name no file. */
status_t unfilter_piece_take(struct unfilter_piece *left, size_t blocks,
                             struct unfilter_piece *out);

/* Decodes a piece (of unfilter_piece_begin() or unfilter_piece_take()), and writes its bytes where
 * they belong in `chunk`, char [chunk_bytes]. Several threads may undo pieces of one chunk, each
 * with its own decoder. Fails with DATA (corrupt; the message names no file) or DEVICE (memory);
 * the piece's bytes are undefined then. */
status_t unfilter_piece_undo(unfilter_t *unfilter, const struct unfilter_piece *piece,
                             unsigned char *chunk);

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

#endif
