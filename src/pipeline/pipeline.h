/* The way of a chunk on one rank, whatever its stages: it is cut into blocks, which are read,
 * processed and written. While the backend works on one block, the next is read and the one before
 * is written. Each has its own set of buffers (a slot).
 *
 * Blocks keep their order; block number b uses slot b % slots. A slot passes from the main thread
 * to the reader thread, back, and on to the writer thread: only its owner may touch it. The two
 * threads call no MPI; the reader may use HDF5 while the main thread does not. */
#ifndef VOLTMILL_PIPELINE_PIPELINE_H
#define VOLTMILL_PIPELINE_PIPELINE_H

#include "compute/backend.h"
#include "plan/chunk.h"
#include "product/product.h"
#include "ranks/driver.h"

typedef struct pipeline pipeline_t;
struct flag_block; /* product/flagged.h */

/* Receives the rows of a chunk, one call at a time: in the writer thread, but put() perhaps in a
 * thread of its own. Rows first_row .. first_row + rows - 1 of product i:
 *
 *   data   float [rows][ifs][frequencies] (x 2 if spectra) of the chunk's streams, as the product
 *          has them
 *   holes  char [rows], 1: the row is NaN, because its input could not be read (run.on_bad: nan);
 *          NULL: none is
 *
 * Of voltages: rows as they are stored, and no holes. Before its rows are put, weigh() gets their
 * weights, float [rows][ifs][coarse channels], of flagged power [rows][ifs][frequencies]. Before
 * these, flag() gets the flags of the cells (cells after the last row belong to none). For products
 * in few bits, step() gets the scales of blocks of rows that are complete by now. After all rows of
 * a chunk, end() gets its counts of each product (NULL: none). Chunks do not mix. A function that
 * is NULL is not called; but step() is needed for products in few bits, and put() for voltages and
 * dedispersed series. Fails with NO_SPACE, DATA, DEVICE (memory). */
struct pipeline_sink {
    void *context;
    status_t (*put)(void *context, uint32_t product, const struct chunk *chunk, uint64_t first_row,
                    uint64_t rows, const void *data, const char *holes);
    status_t (*end)(void *context, const struct chunk *chunk, const struct chunk_counts *counts);
    status_t (*weigh)(void *context, uint32_t product, const struct chunk *chunk,
                      uint64_t first_row, uint64_t rows, const float *weights);
    status_t (*flag)(void *context, uint32_t product, const struct chunk *chunk,
                     uint64_t first_cell, uint64_t cells, const struct flag_block *flags);
    status_t (*step)(void *context, uint32_t product, const struct chunk *chunk,
                     const struct product_steps *steps);
};

/* ---- For who has a pipeline ---- */

/* Ends the threads when their current block is done, drops the other blocks, and frees all, the
 * kind's context too. Takes NULL; not for a pipeline that hangs (pipeline_hangs()). */
void pipeline_destroy(pipeline_t *pipeline);
SCOPED_END(pipeline_destroy, pipeline_t *)

/* Sets the limit from the next pipeline_chunk() or pipeline_finish() on: these fail with DATA if
 * the pipeline makes no progress for `seconds` seconds; 0: no limit, as at first. */
void pipeline_limit(pipeline_t *pipeline, double seconds);

/* Returns whether it has failed by pipeline_limit(): its threads hang, and cannot be ended. */
int pipeline_hangs(const pipeline_t *pipeline);

/* Processes one chunk; its last rows may still be in flight on return. Returns early, without a
 * failure, if the driver cancels the work. `driver` may be NULL. Fails as reader, backend and sink
 * do (NO_SPACE, DATA, DEVICE), with USAGE if a stage refuses the chunk (dedisperse_create() its
 * DMs), and with DATA as pipeline_limit() says. */
status_t pipeline_chunk(pipeline_t *pipeline, driver_t *driver, const struct chunk *chunk);

/* Waits for blocks in flight, and writes them, unless the driver (may be NULL) cancels the work.
 * Fails as reader, backend and sink do (NO_SPACE, DATA, DEVICE, USAGE: pipeline_chunk()), and with
 * DATA as pipeline_limit() says. */
status_t pipeline_finish(pipeline_t *pipeline, driver_t *driver);

/* Frees the memory of blocks, after which there are no more: what follows a chunk's last row takes
 * memory of its own. Counts stay. */
void pipeline_release(pipeline_t *pipeline);

/* Seconds spent by the reader thread; by the backend, as far as the host waited for it; by the
 * writer thread without that. */
struct pipeline_seconds {
    double read, compute, write;
};
/* Returns the seconds spent so far, all chunks together. In the main thread. */
struct pipeline_seconds pipeline_seconds(pipeline_t *pipeline);

/* ---- For the stages of a kind of pipeline ---- */

enum { PIPELINE_MOST_SLOTS = 8 };

/* A block under way. A kind's own slots begin with one. */
struct pipeline_slot {
    struct chunk chunk;
    uint64_t from, count;  /* of the chunk's spectra, or streams */
    int is_first, is_last; /* of the chunk's blocks */
};

/* A block in words: "FILE: spectra 0 .. 512". */
struct pipeline_block {
    const char *file, *what;
    uint64_t from, count;
};

/* Functions of a kind. They may fail with any status: pipeline_chunk() or pipeline_finish() fails
 * alike. */
struct pipeline_stages {
    void *context;
    void *slots; /* as many as pipeline_create() gets, one after the other, */
    size_t slot_bytes;
    int cuts_streams; /* blocks are parts of a chunk's streams, else of its spectra: */
    uint64_t block;   /* the most of them in a block */
    /* The main thread is about to work off a chunk; may be NULL. */
    status_t (*begin)(void *context, driver_t *driver, const struct chunk *chunk);
    /* Where the blocks of a chunk begin and end, when they make more than the chunk's own; may be
     * NULL. */
    void (*range)(const void *context, const struct chunk *chunk, uint64_t *from, uint64_t *end);
    /* Makes the buffers of a slot before its first block, while blocks before it are read. *is_made
     * 0: there is no memory, and the slots before this one must do. NULL: all slots have theirs. */
    status_t (*make)(void *context, void *slot, int *is_made);
    /* The main thread fills in what the kind's slot has beside its struct pipeline_slot, whose
     * count it may lower; may be NULL. */
    status_t (*prepare)(void *context, void *slot);
    status_t (*read)(void *context, void *slot); /* in the reader thread */
    /* Sets the backend to work on it; NULL: nothing is computed. */
    status_t (*compute)(void *context, void *slot);
    status_t (*write)(void *context, void *slot); /* in the writer thread */
    /* Ends what write() has begun of a block, before that of the next block does or when there is
     * none: so long the block's slot is in use. NULL: write() has ended all. */
    status_t (*settle)(void *context);
    /* Names a block that is not read, or written, in time. */
    struct pipeline_block (*describe)(const void *context, const void *slot, int is_reading);
    void (*release)(void *context); /* as pipeline_release(); destroy() may follow */
    void (*destroy)(void *context);
};

/* Starts the threads, for at most `slots` slots, 1 or more; copies *stages. When this succeeds, the
 * context is the pipeline's, whose pipeline_destroy() calls destroy(); after a failure it is still
 * the caller's, and *out unchanged. Fails with DEVICE (memory, threads). */
status_t pipeline_create(uint32_t slots, const struct pipeline_stages *stages, pipeline_t **out);
/* Returns stages->context of pipeline_create(), which stays the pipeline's. */
void *pipeline_context(const pipeline_t *pipeline);

/* Returns in the reader thread, while it reads a block, the slot of the next block if that waits to
 * be read; else NULL. */
void *pipeline_next(pipeline_t *pipeline);

/* In the writer thread: wait for the backend's work on a buffer. That time counts as computing.
 * pipeline_get(): buffer_get(), sets *data to the host's side of the buffer. pipeline_missing():
 * buffer_missing(), sets *missing to the number of missing samples. Fail with DEVICE if the
 * backend's work failed, or for want of memory. */
status_t pipeline_get(pipeline_t *pipeline, buffer_t *buffer, void **data);
status_t pipeline_missing(pipeline_t *pipeline, buffer_t *buffer, uint64_t *missing);

#endif
