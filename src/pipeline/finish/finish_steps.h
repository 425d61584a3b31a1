/* The steps of finishing, in order. Private to finish/. A new one is a file here, a row of the
 * table in finish.c, and what it needs of product_spec (product/product.h), of the groups of
 * streams (plan/plan_products.h) and of memory
 * (plan/budget_bytes.c). */
#ifndef VOLTMILL_PIPELINE_FINISH_FINISH_STEPS_H
#define VOLTMILL_PIPELINE_FINISH_FINISH_STEPS_H

#include "pipeline/finish/finish.h"

struct finish_step {
    /* As finish_create(); *out = NULL: not asked for. */
    status_t (*create)(const struct channelise_plan *work, uint32_t i, uint64_t rows, void **out);
    status_t (*run)(void *step, struct finish_rows *rows);
    void (*destroy)(void *step);
    /* As finish_wholes(); NULL: the step knows nothing of that. */
    const struct agreement_whole *(*wholes)(const void *step);
};

/* Leaves flagged cells out, and makes dumps of the others. */
extern const struct finish_step finish_flag;
/* Makes ifs of streams: Stokes parameters, sums of stations and beams. */
extern const struct finish_step finish_combine;
/* Divides channels by the gain of what was before. */
extern const struct finish_step finish_droop;
/* Leaves channels out, and averages neighbours. */
extern const struct finish_step finish_keep;
/* Rounds to few bits, a block of rows at a time: holds back what is not a whole one yet. Comes
 * last: only the sink takes what it leaves. */
extern const struct finish_step finish_quantise;

#endif
