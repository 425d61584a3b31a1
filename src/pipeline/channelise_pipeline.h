/* The way of a chunk on one rank: read, filter and transform, write. The one place that knows the
 * order of the stages.
 *
 * A backend with a device works on some blocks while the next are read and the ones before are
 * written: so many sets of buffers (slots) are in use. */
#ifndef VOLTMILL_PIPELINE_CHANNELISE_PIPELINE_H
#define VOLTMILL_PIPELINE_CHANNELISE_PIPELINE_H

#include "compute/resident_rows.h"
#include "plan/channelise_plan.h"
#include "ranks/driver.h"

/* What leaves a chunk, in the writer thread: rows of product i, complete dumps first_row ..
 * first_row + rows - 1.
 *
 *   data   float [rows][streams][nchannels] (x 2 if spectra) of the chunk's streams
 *   holes  char [rows], 1: the row is NaN, because its input could not be read (run.on_bad: nan);
 *          NULL: none is
 *
 * Then, when all rows of a chunk were put, its end, with the number of samples that were missing in
 * it (end may be NULL). Chunks do not mix. Fails with NO_SPACE or DATA. */
struct pipeline_sink {
    void *context;
    status_t (*put)(void *context, uint32_t product, const struct chunk *chunk, uint64_t first_row,
                    uint64_t rows, const void *data, const char *holes);
    status_t (*end)(void *context, const struct chunk *chunk, uint64_t missing);
};

typedef struct channelise_pipeline channelise_pipeline_t;

/* Buffers and stages of this rank on `backend`. When a device's memory is full, blocks are halved
 * until they fit. `work`, `backend` and the sink's context must outlive it. Fails with DEVICE
 * (memory). */
status_t channelise_pipeline_create(const struct channelise_plan *work, backend_t *backend,
                                    const struct pipeline_sink *sink, channelise_pipeline_t **out);

/* From now on the rows of product i stay on shelves[i], too, where there is one and they are of all
 * streams. `shelves` [products] must outlive it. */
void channelise_pipeline_carry(channelise_pipeline_t *pipeline, resident_rows_t *const *shelves);

void channelise_pipeline_destroy(channelise_pipeline_t *pipeline);

/* How many values of a power product of this rank were too large or too small for floats
 * (pipeline/range.h). */
void channelise_pipeline_range(const channelise_pipeline_t *pipeline, uint32_t product,
                               uint64_t *large, uint64_t *small);

/* From now on it is a failure when nothing moves for so many seconds; 0: never. */
void channelise_pipeline_limit(channelise_pipeline_t *pipeline, double seconds);

/* Whether it has failed because of that: its threads cannot be ended. */
int channelise_pipeline_hangs(const channelise_pipeline_t *pipeline);

/* Works off one chunk; its last rows may still be under way on return. `driver` may be NULL. */
status_t channelise_pipeline_chunk(channelise_pipeline_t *pipeline, driver_t *driver,
                                   const struct chunk *chunk);

/* Waits for what is under way, and writes it. */
status_t channelise_pipeline_finish(channelise_pipeline_t *pipeline, driver_t *driver);

/* Seconds spent. */
struct pipeline_seconds {
    double read, compute, write; /* compute: what the host waited for */
};
struct pipeline_seconds pipeline_seconds(const channelise_pipeline_t *pipeline);

/* Spectra of a block, as they fitted. */
uint64_t channelise_pipeline_block(const channelise_pipeline_t *pipeline);

#endif
