/* Samples on their way to a device while they are read. Threads put pieces of a block into pinned
 * memory, a few each, so that these are still in the caches when the device fetches them: of a
 * whole block in memory every byte would pass through the memory three times (read, put there,
 * fetched). One more thread, which alone speaks to the device, carries them.
 *
 *   the carrier                 begin() a block
 *   thread 0 .. threads - 1     room(), fill it, put(): again and again
 *   the carrier, beside them    carry() until all of the block was put; end() it
 *
 * Pieces come in any order, and of several blocks at a time. */
#ifndef VOLTMILL_COMPUTE_DEVICE_SIDE_H
#define VOLTMILL_COMPUTE_DEVICE_SIDE_H

#include "compute/stage_ops.h"
#include "dsp/boxes.h"

typedef struct ingest ingest_t;
struct ingest {
    const struct ingest_ops *ops;
};

enum {
    PINNED_PAGE = 2 << 20,    /* bytes: NVIDIA's pinned memory has whole ones */
    INGEST_PIECE = 2 << 20,   /* of a piece, at most */
    INGEST_EACH = 2,          /* pieces that a thread has */
    INGEST_LEAST_THREADS = 3, /* fewer read no faster into pieces than into blocks */
    INGEST_MOST_THREADS = 15  /* more do not fill a link sooner */
};

/* Creates an ingest for `threads` threads that fill pieces; stage_destroy() frees it. Sets *out to
 * NULL for backends that have no memory of their own, and on failure. Fails with DEVICE (memory, a
 * queue). The backend must outlive it. */
status_t ingest_create(backend_t *backend, uint32_t threads, ingest_t **out);

struct ingest_ops {
    struct stage_ops stage;
    status_t (*create)(backend_t *backend, uint32_t threads, ingest_t **out);
    /* Creates a BUFFER_IN for blocks of `bytes` bytes. Its host side is allocated at the first
     * buffer_get(), which returns the samples that came (fetched from the device), or a buffer to
     * fill. Fails with DEVICE (memory, of the device too). */
    status_t (*buffer)(ingest_t *ingest, uint64_t bytes, buffer_t **out);
    /* Pieces may come to `in`, one of these that no thread fills or reads. Waits for the device's
     * work on the data that was there. Fails with DEVICE when that has failed. */
    status_t (*begin)(ingest_t *ingest, buffer_t *in);
    /* Returns where the thread may put its next piece, of INGEST_PIECE bytes. Waits until a piece
     * is free. Fails with DEVICE if the carrier has failed or stopped. */
    status_t (*room)(ingest_t *ingest, uint32_t thread, void **out);
    /* Declares the bytes that the thread has put there to be bytes at .. at + bytes - 1 of the
     * block. */
    void (*put)(ingest_t *ingest, uint32_t thread, buffer_t *in, uint64_t at, uint64_t bytes);
    /* Sends pieces that were put, and frees those that have arrived; returns after a while. Fails
     * with DEVICE if a transfer does, after stop(). */
    status_t (*carry)(ingest_t *ingest);
    /* Sends what is left. If the block is whole, the next stage that is run on the buffer finds it
     * there, and waits for it; else the host fills the buffer once more. Fails with DEVICE (a
     * transfer, memory), after stop(). */
    status_t (*end)(ingest_t *ingest, buffer_t *in, int is_whole);
    /* Ends carrying: threads that wait for a free piece fail. */
    void (*stop)(ingest_t *ingest);
};

/* The stage `peaks`: searches series for bursts where another stage has left them, in the memory of
 * the device: the bytes of boxcar_run() (compute/boxcar.h), but only peaks come to the host.
 *
 * Series that the host must change first (sums that lack channels, NaN) are searched by its threads
 * instead: it makes no difference to the result. */

typedef struct peaks peaks_t;
struct peaks {
    const struct peaks_ops *ops;
};

/* Boxes of more times are for the host's threads. */
enum { PEAKS_MOST_WIDTH = 256 };

/* Creates a search on the device; `boxes` is copied; stage_destroy() frees it. Sets *out to NULL if
 * the host's threads must search: the backend computes in the host's memory, the device has no
 * double precision, too little local memory or too small work-groups, or boxes are wider than
 * PEAKS_MOST_WIDTH; and on failure. `is_timed`: stage_times() will be called. Fails with DEVICE
 * (memory, of the device too; a kernel that does not build). */
status_t peaks_create(backend_t *backend, const struct boxes *boxes, int is_timed, peaks_t **out);

struct peaks_rows {
    uint64_t nseries, stride, from;
};
struct peaks_ops {
    struct stage_ops stage;
    status_t (*create)(backend_t *backend, const struct boxes *boxes, int is_timed, peaks_t **out);
    /* Allocates memory for runs of up to `times` times of `nseries` series, which otherwise the
     * first such run does. Fails with DEVICE: if the device is full, smaller blocks may succeed
     * (backend_was_full()). */
    status_t (*reserve)(peaks_t *peaks, uint64_t nseries, uint64_t times);
    /* Searches the blocks (boxes_block_at()) of times first .. end - 1 of all series; `first` is a
     * multiple of a block, `end` one or the series' end.
     *
     *   rows    float [nseries][stride]: times `from` on, all that the blocks need, written by an
     *           earlier stage of the same backend; fastest where stride and `from` are
     *           multiples of four
     *   out     struct peak [blocks][nseries][cells of the block]
     *
     * May return before the work is done: buffer_get() of `out` waits. Fails with DEVICE (the
     * device refuses the work, earlier work failed; memory). */
    status_t (*run)(peaks_t *peaks, buffer_t *rows, const struct peaks_rows *of, uint64_t first,
                    uint64_t end, buffer_t *out);
};

/* Device-resident rows: rows of a product that stay with the backend from one stage to a later one
 * of the same run, so that they need not come back from their file. Backends that compute in the
 * host's memory keep none: the system keeps files in it anyway. One thread at a time. */

typedef struct resident_rows resident_rows_t;
struct resident_rows {
    const struct resident_rows_ops *ops;
};

/* Creates a store for rows of `row_bytes` bytes, kept in pieces of `piece_rows` rows;
 * stage_destroy() frees it. It allocates memory when rows come; all products' rows together take at
 * most half of the backend's limit. Sets *out to NULL for backends that keep none, and on failure.
 * Fails with DEVICE (memory). */
status_t resident_rows_create(backend_t *backend, uint64_t row_bytes, uint64_t piece_rows,
                              resident_rows_t **out);

/* How a sample in time is made from rows float [nifs_there][nchannels]: as the sum of `each` rows,
 * and of some ifs of each, in double and in this order. */
struct resident_rows_sums {
    uint64_t each;
    uint32_t nifs_there, nchannels;
    const uint32_t *ifs; /* [nifs] */
    uint32_t nifs;
};

struct resident_rows_ops {
    struct stage_ops stage;
    status_t (*create)(backend_t *backend, uint64_t row_bytes, uint64_t piece_rows,
                       resident_rows_t **out);
    /* Keeps rows first_row .. first_row + count - 1, which the last run of a stage puts at the
     * front of `out`. Rows that do not fit are not kept, which is no failure. Fails with DEVICE
     * (the device refuses the work, memory of the host). */
    status_t (*keep)(resident_rows_t *rows, buffer_t *out, uint64_t first_row, uint64_t count);
    /* Gives all rows up, and their memory back. Returns whether there were any. */
    int (*clear)(resident_rows_t *rows);
    /* Returns whether all rows of samples first .. first + count - 1 are there and can be added up
     * so. */
    int (*holds)(const resident_rows_t *rows, const struct resident_rows_sums *sums, uint64_t first,
                 uint64_t count);
    /* Copies them to byte `at` of the device's side of `in`: float [count][nchannels]. Returns
     * before it is done; a stage with is_there (struct dedisperse_input) finds them. Fails with
     * DEVICE (the device refuses the work, a kernel does not build, memory). */
    status_t (*fetch)(resident_rows_t *rows, const struct resident_rows_sums *sums, uint64_t first,
                      uint64_t count, buffer_t *in, uint64_t at);
    /* Writes zeros there instead; `at` and `bytes` are multiples of 4. Fails with DEVICE if the
     * device refuses the work. */
    status_t (*blank)(resident_rows_t *rows, buffer_t *in, uint64_t at, uint64_t bytes);
};

#endif
