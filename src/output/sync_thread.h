/* What a rank has finished, on its way into the journal: a thread of its own syncs it every few
 * seconds, and only then it can be told to rank 0. So nothing is vouched for that a crash of
 * the machine could still lose, and neither computing nor writing waits for a disk.
 *
 * The writer thread adds, the main thread takes. */
#ifndef VOLTMILL_OUTPUT_SYNC_THREAD_H
#define VOLTMILL_OUTPUT_SYNC_THREAD_H

#include "base/status.h"
#include "base/text.h"

#include <stdint.h>

struct sync_thread_work {
    void *context;
    /* Syncs all that was added so far; in this thread. */
    status_t (*sync)(void *context);
    double seconds; /* from one time to the next */
    uint64_t bytes; /* of rows after which it is time earlier */
};

typedef struct sync_thread sync_thread_t;

/* Starts the thread. `work` is copied. Fails with DEVICE. */
status_t sync_thread_create(const struct sync_thread_work *work, sync_thread_t **out);
/* Ends it; what is not synced is dropped. */
void sync_thread_destroy(sync_thread_t *sync);

/* Adds some bytes that tell of `rows` bytes of rows. Fails with DEVICE (memory). */
status_t sync_thread_add(sync_thread_t *sync, const void *data, size_t bytes, uint64_t rows);
/* There is something to be synced beside what was added. */
void sync_thread_touch(sync_thread_t *sync);
/* Appends what was synced since the last call. Fails as sync() did. */
status_t sync_thread_take(sync_thread_t *sync, struct text *out);
/* It is time now. */
void sync_thread_hurry(sync_thread_t *sync);
/* The same, and waits until all is synced. Fails as sync() did. */
status_t sync_thread_settle(sync_thread_t *sync);

#endif
