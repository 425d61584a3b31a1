/* Samples on their way to a device while they are read. Threads put pieces of a block into pinned
 * memory, a few each, so that these are still in the caches when the device fetches them: of a
 * whole block in memory every byte would pass through the memory three times (read, put there,
 * fetched). One more thread, which alone speaks to the device, carries them.
 *
 *   the carrier                 ingest_begin() a block
 *   thread 0 .. threads - 1     ingest_room(), fill it, ingest_put(): again and again
 *   the carrier, beside them    ingest_carry() until all of the block was put; ingest_end() it
 *
 * Pieces come in any order, and of several blocks at a time. */
#ifndef VOLTMILL_COMPUTE_INGEST_H
#define VOLTMILL_COMPUTE_INGEST_H

#include "compute/backend.h"

typedef struct ingest ingest_t;

enum {
    INGEST_PIECE = 2 << 20,   /* bytes of a piece, at most */
    INGEST_EACH = 2,          /* pieces that a thread has */
    INGEST_LEAST_THREADS = 3, /* fewer read no faster into pieces than into blocks */
    INGEST_MOST_THREADS = 15  /* more do not fill a link sooner */
};

/* Bytes of a block from which on so many threads fill pieces of it with profit; and of their
 * pieces, which are pinned. */
uint64_t ingest_least_bytes(uint32_t threads);
uint64_t ingest_bytes(uint32_t threads);

/* For so many threads that fill pieces. Gives NULL for backends that have no memory of their own.
 * Fails with DEVICE. The backend must outlive it. */
status_t ingest_create(backend_t *backend, uint32_t threads, ingest_t **out);
/* Waits for what is under way. Takes NULL. */
void ingest_destroy(ingest_t *ingest);

/* A BUFFER_IN for blocks of so many bytes, whose host side is made when it is first asked for:
 * buffer_get() then gives the samples that came (fetched from the device), or room for others.
 * Fails as buffer_create(). */
status_t ingest_buffer(ingest_t *ingest, uint64_t bytes, buffer_t **out);

/* Pieces may come to `in`, one of these that nobody fills or reads. Waits for the device's work on
 * what was there. Fails with DEVICE when that has failed. */
status_t ingest_begin(ingest_t *ingest, buffer_t *in);
/* Where the thread may put its next piece, of INGEST_PIECE bytes: waits until there is room. Fails
 * with DEVICE when the carrier has failed, or has stopped. */
status_t ingest_room(ingest_t *ingest, uint32_t thread, void **out);
/* What it has put there are bytes at .. at + bytes - 1 of the block. */
void ingest_put(ingest_t *ingest, uint32_t thread, buffer_t *in, uint64_t at, uint64_t bytes);
/* Sends what was put, and makes room of what has come; returns after a while. Fails with DEVICE. */
status_t ingest_carry(ingest_t *ingest);
/* Sends what is left. If the block is whole, the next stage that is run on the buffer finds it
 * there, and waits for it; else the host fills the buffer once more. Fails with DEVICE. */
status_t ingest_end(ingest_t *ingest, buffer_t *in, int is_whole);

/* Nobody carries any more: whoever waits for room fails. Takes NULL. */
void ingest_stop(ingest_t *ingest);

#endif
