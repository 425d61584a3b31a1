/* Shared by the files of chunks.h, and by no others. */
#ifndef VOLTMILL_INPUT_HDF5_CHUNKS_PARTS_H
#define VOLTMILL_INPUT_HDF5_CHUNKS_PARTS_H

#include "base/pool.h"
#include "input/hdf5/chunks.h"
#include "io/hdf5/h5_dataset.h"

#include <pthread.h>
#include <stdatomic.h>

/* A chunk that is kept. */
struct kept_chunk {
    uint64_t number;
    int is_there;
    uint64_t used;       /* when */
    unsigned char *data; /* [chunk_bytes], once it was used */
};

/* Some box wants something of a chunk, which is counted with the last dimension fastest. */
struct want {
    uint64_t chunk;
    size_t box;
};

/* One chunk to read, and who wants it. */
struct chunk_task {
    uint64_t number;
    size_t first, count; /* of the wants */
    struct h5_place place;
    struct kept_chunk *kept; /* where it goes, or is already; NULL: nowhere */
    int is_decoded;
    int is_split; /* all threads work on it together */
};

/* A chunk that all threads work on: they fetch it, undo pieces of it, and copy, one after the
 * other. */
struct chunk_split {
    const struct chunk_task *task;
    struct chunk_worker *worker; /* whose rooms it lies in */
    unsigned char *data;         /* where it becomes what it was */
    atomic_size_t fetched, copied;
    struct unfilter_piece left; /* under the lock */
};

/* State of a thread. */
struct chunk_worker {
    chunks_t *chunks;
    unfilter_t *unfilter;
    unsigned char *stored, *decoded;
    size_t stored_bytes;
};

struct chunks {
    struct chunks_spec spec;
    hsize_t grid[CHUNKS_MOST_RANK]; /* chunks along each dimension */
    h5_places_t *places;
    int fd;
    struct kept_chunk *kept;
    uint32_t nkept;
    uint64_t clock;
    pool_t *pool;
    struct chunk_worker *workers; /* [threads] */
    /* A read. */
    const struct chunk_box *boxes;
    struct want *wants;
    size_t nwants;
    struct chunk_task *tasks;
    size_t ntasks, tasks_room;
    atomic_size_t next;
    struct chunk_split *splits; /* [threads] */
    uint32_t nsplits;
    /* The first task that failed, and how. */
    pthread_mutex_t lock;
    size_t failed;
    status_t status;
    char *cause;
};

/* Writes the indices of the chunk's first element. */
void chunks_origin(const chunks_t *chunks, uint64_t number, hsize_t *origin);

/* Lists the chunks that boxes want as tasks, in their order. Fails with DEVICE. */
status_t chunks_list(chunks_t *chunks, const struct chunk_box *boxes, size_t nboxes);

/* Copies what the box wants of a decompressed chunk; of `parts` about equal ones that make up all
 * of it, number `part`. */
void chunks_copy(const chunks_t *chunks, uint64_t number, const unsigned char *data,
                 const struct chunk_box *box, size_t part, size_t parts);

/* Fails with what is wrong with a chunk: "FILE: DATASET: the chunk that begins at (0, 4096): ...".
 * The other one says the same of what was recorded as a failure. */
status_t chunks_fail(const chunks_t *chunks, uint64_t number, status_t status, const char *cause);
status_t chunks_refail(const chunks_t *chunks, uint64_t number, status_t status);

/* Returns the filters that a chunk did not go through. */
uint32_t chunks_mask(const chunks_t *chunks, const struct chunk_task *task);

/* chunks_room_for(): allocates the buffer of a stored chunk. chunks_place_for(): sets where the
 * chunk is decompressed: where it is kept or, if it is requested whole, in the output; else in the
 * worker's own buffer. Fail with DEVICE. */
status_t chunks_room_for(struct chunk_worker *worker, size_t stored);
status_t chunks_place_for(struct chunk_worker *worker, const struct chunk_task *task,
                          unsigned char **out);
/* Returns whether boxes want copies of what was decompressed there. */
int chunks_are_copied(const struct chunk_worker *worker, const struct chunk_task *task,
                      const unsigned char *data);

/* Remembers a failure of a chunk, which ends the read; the first chunk's counts. */
void chunks_record(chunks_t *chunks, const struct chunk_task *task, status_t status);

/* Has the threads do `work`, each with its struct chunk_worker, and waits for them; a thread may do
 * another one's turn when it has done its own. */
void chunks_run(chunks_t *chunks, void (*work)(void *context));

/* Runs a worker's part of a read (struct chunk_worker): task after task, until none is left or one
 * has failed. */
void chunks_work(void *context);

#endif
