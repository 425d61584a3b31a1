/* Stages, buffers and the way through them. */
#include "pipeline/filter_chain.h"

#include "base/memory.h"

#include <stdlib.h>

struct filter_chain {
    const struct filter_plan *plan;
    uint32_t streams;
    uint64_t rows[FILTER_PLAN_ROWS]; /* most of each: filter_plan_lengths() */
    void *stages[FILTER_PLAN_ROWS - 1];
};

void filter_chain_destroy(filter_chain_t *chain)
{
    for (uint32_t i = 0; chain && i < filter_plan_count(chain->plan); i++) {
        filter_plan_stage(chain->plan, i)->kind->destroy(chain->stages[i]);
    }
    free(chain);
}

status_t filter_chain_create(backend_t *backend, const struct filter_plan *plan, uint32_t streams,
                             uint64_t rows, filter_chain_t **out)
{
    status_t st = STATUS_OK;
    filter_chain_t *chain = NULL;
    TRY(memory_zeroed(1, sizeof *chain, "filters", &chain));
    chain->plan = plan;
    chain->streams = streams;
    filter_plan_lengths(plan, rows, chain->rows);
    for (uint32_t i = 0; i < filter_plan_count(plan); i++) {
        const struct stage_plan *stage = filter_plan_stage(plan, i);
        TRY(stage->kind->create(backend, stage, streams, chain->rows[i + 1], &chain->stages[i]));
    }
    *out = chain;
    chain = NULL;
out:
    filter_chain_destroy(chain);
    return st;
}

void filter_block_free(struct filter_block *block)
{
    for (uint32_t i = 0; i < FILTER_PLAN_ROWS - 1; i++) {
        buffer_destroy(block->rows[i]);
    }
    free(block->re);
    free(block->im);
    *block = (struct filter_block){.stride = 0};
}

status_t filter_block_create(backend_t *backend, const filter_chain_t *chain, enum buffer_use last,
                             struct filter_block *out)
{
    status_t st = STATUS_OK;
    const struct filter_plan *plan = chain->plan;
    *out = (struct filter_block){.stride = 0};
    TRY(memory_zeroed(chain->streams, sizeof *out->re, "offsets", &out->re));
    TRY(memory_zeroed(chain->streams, sizeof *out->im, "offsets", &out->im));
    for (uint32_t i = 0; i < filter_plan_count(plan); i++) {
        uint64_t bytes = filter_plan_stride(chain->rows[i + 1]) * filter_plan_row_bytes(plan, i) *
                         chain->streams;
        TRY(buffer_create(backend, i + 1 < filter_plan_count(plan) ? BUFFER_BETWEEN : last, bytes,
                          &out->rows[i]));
    }
out:
    return st;
}

buffer_t *filter_block_last(const filter_chain_t *chain, const struct filter_block *block)
{
    return block->rows[filter_plan_count(chain->plan) - 1];
}

/* Where the rows of stage i lie. */
static struct sample_input chain_place(const struct filter_plan *plan, uint32_t i, uint64_t stride,
                                       uint32_t streams, struct filter_block *block)
{
    size_t bytes = filter_plan_row_bytes(plan, i);
    int is_complex = bytes > sample_bytes(SAMPLE_F32, 0);
    for (uint32_t s = 0; s < streams; s++) {
        block->re[s] = (size_t)stride * bytes * s;
        block->im[s] = block->re[s] + sample_part_bytes(SAMPLE_F32, is_complex);
    }
    return (struct sample_input){block->re, block->im, bytes};
}

status_t filter_chain_run(filter_chain_t *chain, struct filter_block *block, buffer_t *in,
                          const struct sample_input *input, uint32_t first_stream, uint32_t streams,
                          struct overlap_rows counted, struct sample_input *out)
{
    status_t st = STATUS_OK;
    const struct filter_plan *plan = chain->plan;
    struct sample_input place = *input;
    counted = overlap_common(counted, block->needs[0]);
    for (uint32_t i = 0; i < filter_plan_count(plan); i++) {
        const struct overlap_rows *from = &block->needs[i];
        const struct overlap_rows *to = &block->needs[i + 1];
        struct stage_run run = {.first_stream = first_stream,
                                .nstreams = streams,
                                .first_sample = from->first,
                                .samples = (uint64_t)(from->end - from->first),
                                .first_row = to->first,
                                .rows = (uint64_t)(to->end - to->first)};
        if (i == 0 && counted.end > counted.first) {
            run.counted_first = (uint64_t)(counted.first - from->first);
            run.counted = (uint64_t)(counted.end - counted.first);
        }
        block->stride = run.out_stride = filter_plan_stride(run.rows);
        TRY(filter_plan_stage(plan, i)->kind->run(chain->stages[i], in, &place, &run,
                                                  block->rows[i]));
        place = chain_place(plan, i, run.out_stride, streams, block);
        in = block->rows[i];
    }
    *out = place;
out:
    return st;
}
