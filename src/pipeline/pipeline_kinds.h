/* The pipelines of one rank, a kind for each kind of pass: of voltages (read, filter, transform,
 * write), of power (read, add up, dedisperse, write). */
#ifndef VOLTMILL_PIPELINE_PIPELINE_KINDS_H
#define VOLTMILL_PIPELINE_PIPELINE_KINDS_H

#include "pipeline/device_carry.h"
#include "pipeline/finish/finish.h"
#include "pipeline/pipeline.h"
#include "plan/dedisperse_plan.h"

/* The synthesis and the filters of a job on a block, one after the other; intermediate rows stay
 * with the backend. */

typedef struct filter_chain filter_chain_t;

/* The state of one block: the rows of each filter. */
struct filter_block {
    buffer_t *rows[FILTER_PLAN_ROWS - 1];        /* of each stage */
    size_t *re, *im;                             /* [streams] offsets of the last filter's rows */
    struct overlap_rows needs[FILTER_PLAN_ROWS]; /* channelise_plan_samples(), whole */
    uint64_t stride;                             /* of the last filter's rows */
};

/* Creates the chain for blocks of at most `rows` rows of the last filter, of each of at most
 * `streams` streams. The plan and the backend must outlive it. Fails with USAGE if the backend
 * cannot make a stage (filter_create(), synthesise_create()), with DEVICE (memory, of the device
 * too; threads; a kernel that does not build), and leaves *out unchanged. */
status_t filter_chain_create(backend_t *backend, const struct filter_plan *plan, uint32_t streams,
                             uint64_t rows, filter_chain_t **out);
/* Frees a chain; takes NULL. */
void filter_chain_destroy(filter_chain_t *chain);
SCOPED_END(filter_chain_destroy, filter_chain_t *)

/* Creates the buffers of a block; `last`: use of the last filter's. The caller calls
 * filter_block_free() in any case. Fails with DEVICE (memory, of the device too). */
status_t filter_block_create(backend_t *backend, const filter_chain_t *chain, enum buffer_use last,
                             struct filter_block *out);
/* Returns the buffer of the last filter's rows, which stays the block's. */
buffer_t *filter_block_last(const filter_chain_t *chain, const struct filter_block *block);
/* Frees the buffers of a block, after waiting for all work on them; takes {0}, and leaves it. */
void filter_block_free(struct filter_block *block);

/* Filters samples block->needs[0], which are in `in`, to rows block->needs[count] of the last
 * filter. Missing samples are counted among `counted`, numbered as the archive's:
 * buffer_missing(in). Streams are those of the rows: a synthesis takes filter_plan_fan() of the
 * archive's for each. *out gets the places of the rows in filter_block_last(), for the next stage;
 * it points into the block, and is valid until the next run. May return before the work is done.
 * Fails as stage_run(), with DEVICE (the device refuses the work, or earlier work failed; memory),
 * of the reference also with USAGE. */
status_t filter_chain_run(filter_chain_t *chain, struct filter_block *block, buffer_t *in,
                          const struct sample_input *input, struct stream_set streams,
                          struct overlap_rows counted, struct sample_input *out);

/* Creates buffers and stages of this rank on `backend`. When a device's memory is full, blocks are
 * halved until they fit. Rows of product i of all streams are also kept in resident[i], if that is
 * not NULL when they are made; `resident` [MOST_OUTPUTS], or NULL: none are kept. All arguments and
 * the sink's context must outlive the pipeline; *sink is copied. `work` still has its coefficients.
 * Fails with USAGE if there are too many pairs of streams, or the backend cannot make a stage of
 * the plan; with DATA if a product that is judged is unreadable; with DEVICE (memory, of the device
 * too: says how much the smallest blocks need; descriptors, threads). */
status_t channelise_pipeline_create(const struct channelise_plan *work, backend_t *backend,
                                    const struct pipeline_sink *sink,
                                    resident_rows_t *const *resident, pipeline_t **out);

/* Events among the rows of a product. */
struct made_counts {
    uint64_t large, small; /* values of power that floats do not hold (channelise_parts.h) */
    uint64_t blanked;      /* rows of single streams that became NaN because too many samples of
                              theirs are missing, though none was unreadable */
};
/* Returns the counts of product number `product`, from 0, on this rank. After pipeline_finish(), of
 * a pipeline of channelise_pipeline_create(). */
struct made_counts channelise_pipeline_counts(const pipeline_t *pipeline, uint32_t product);

/* In a sink's put(): returns the statistics of its rows before channels were dropped, [rows][ifs]
 * (pipeline/finish/finish.h); NULL: none were, or the plan does not say that they are judged. They
 * stay the pipeline's, and valid until put() returns. */
const struct agreement_whole *channelise_pipeline_wholes(const pipeline_t *pipeline,
                                                         uint32_t product);

/* Creates the pipeline of a dedispersion. Rows of the filterbank that an earlier pass has left
 * `between` are not read (NULL: there are none); a full device drops these first, then blocks are
 * halved. The sink gets float [DMs of the chunk][times of a block]: `chunk` then has the block's
 * times as its streams. Of a search it gets struct peak [DMs of the chunk][cells of a block of
 * noise] likewise, as product 1, or 0 if the series are not written. All arguments and the sink's
 * context must outlive the pipeline; *sink is copied. Fails with USAGE as dedisperse_create(); with
 * DATA if the filterbank is unreadable or has changed; with DEVICE (memory, of the device too;
 * descriptors, threads). */
status_t dedisperse_pipeline_create(const struct dedisperse_plan *plan, backend_t *backend,
                                    const struct device_carry *between,
                                    const struct pipeline_sink *sink, pipeline_t **out);

/* Returns the share of the input so far that was already on the device, 0 .. 1; 0 before any. */
double dedisperse_pipeline_carried(const pipeline_t *pipeline);

#endif
