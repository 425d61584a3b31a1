/* The synthesis and the filters of a job on a block, one after the other; what lies between them
 * stays with the backend. */
#ifndef VOLTMILL_PIPELINE_FILTER_CHAIN_H
#define VOLTMILL_PIPELINE_FILTER_CHAIN_H

#include "plan/filter_plan.h"

typedef struct filter_chain filter_chain_t;

/* What a block has of its own: the rows of each filter. */
struct filter_block {
    buffer_t *rows[FILTER_PLAN_ROWS - 1];        /* of each stage */
    size_t *re, *im;                             /* [streams] where the last filter's rows lie */
    struct overlap_rows needs[FILTER_PLAN_ROWS]; /* filter_plan_needs(), whole */
    uint64_t stride;                             /* of the last filter's rows */
};

/* For blocks of at most `rows` rows of the last filter, of `streams` streams of them. The plan must
 * outlive it. Fails with DEVICE. */
status_t filter_chain_create(backend_t *backend, const struct filter_plan *plan, uint32_t streams,
                             uint64_t rows, filter_chain_t **out);
void filter_chain_destroy(filter_chain_t *chain);

/* The buffers of a block; `last` is what the last filter's is for. filter_block_free() in any
 * case. Fails with DEVICE. */
status_t filter_block_create(backend_t *backend, const filter_chain_t *chain, enum buffer_use last,
                             struct filter_block *out);
/* The last filter's rows. */
buffer_t *filter_block_last(const filter_chain_t *chain, const struct filter_block *block);
void filter_block_free(struct filter_block *block);

/* Filters block->needs[0], which lie in `in`, to block->needs[count] of the last filter; missing
 * samples are counted among `counted` (dsp/overlap.h), numbered as the archive's. Streams are those
 * of the rows: a synthesis takes filter_plan_fan() of the archive's for each. *out says where the
 * rows lie in filter_block_last(), for the next stage. Fails with DEVICE. */
status_t filter_chain_run(filter_chain_t *chain, struct filter_block *block, buffer_t *in,
                          const struct sample_input *input, uint32_t first_stream, uint32_t streams,
                          struct overlap_rows counted, struct sample_input *out);

#endif
