/* A ring of slots that pass from the main thread to a reader thread, back, and on to a writer
 * thread: so that one block is read and another one written while a third is worked on.
 *
 * Blocks keep their order. Block number b uses slot b % slots. The reader and the writer thread
 * call nothing of MPI; HDF5 may be used by the reader while the main thread does not. */
#ifndef VOLTMILL_PIPELINE_RING_H
#define VOLTMILL_PIPELINE_RING_H

#include "base/status.h"
#include "ranks/driver.h"

#include <stdint.h>

struct ring_work {
    void *context;
    /* Fills a slot, in the reader thread. */
    status_t (*read)(void *context, uint32_t slot);
    /* Empties it, in the writer thread. */
    status_t (*write)(void *context, uint32_t slot);
};

/* How many blocks have passed each stage. */
struct ring_counts {
    uint64_t submitted; /* given to the reader */
    uint64_t read;
    uint64_t computed; /* given to the writer */
    uint64_t written;
    status_t status; /* of a thread that failed; both have stopped then */
};

typedef struct ring ring_t;

/* Starts the threads. `work` is copied. Fails with DEVICE. */
status_t ring_create(uint32_t slots, const struct ring_work *work, ring_t **out);
/* Ends them as soon as what they are doing is done; blocks not yet taken up are dropped. */
void ring_destroy(ring_t *ring);

struct ring_counts ring_counts(ring_t *ring);

/* The main thread gives a block to the reader: needs submitted - written < slots. */
void ring_submit(ring_t *ring);
/* The main thread gives the oldest block that was read to the writer. */
void ring_pass(ring_t *ring);

/* Waits until something has changed since `seen`, or half a millisecond: the main thread has
 * messages to look after, too. */
void ring_wait(ring_t *ring, const struct ring_counts *seen);

/* Seconds that the threads have spent at work. */
void ring_seconds(ring_t *ring, double *reading, double *writing);

/* The main thread's part in a ring (pipeline/ring.h): sets the backend to work on blocks that were
 * read, looks after messages, and finds out when nothing moves any more. */
struct flow {
    ring_t *ring;
    double patience; /* seconds without any movement that are a failure; 0: no end */
    int is_stuck;    /* that long nothing has moved: the ring's threads cannot be ended */
    void *context;
    /* Sets the backend to work on a block, and passes it on (ring_pass). */
    status_t (*compute)(void *context, uint64_t number);
    /* Nothing has moved for too long: fails with what hangs. */
    status_t (*say_what_hangs)(void *context, const struct ring_counts *at);
};

/* Works until at most `pending` blocks wait to be worked on and at most `under_way` are not yet
 * written. `driver` may be NULL. Fails as reader, backend or writer do. */
status_t flow_work_off(struct flow *flow, driver_t *driver, uint64_t pending, uint64_t under_way);

#endif
