/* The chain of steps. */
#include "pipeline/finish/finish.h"

#include "plan/budget.h"
#include "plan/plan_products.h"

#include <stdlib.h>

#define FINISH_ROW(name) &(name),
static const struct finish_step *const finish_steps[] = {FINISH_STEPS(FINISH_ROW)};
enum { STEPS = sizeof finish_steps / sizeof *finish_steps };

struct finish {
    void *steps[STEPS]; /* NULL: not needed */
    pool_t *pool;       /* the caller's; may be NULL */
};

void finish_destroy(finish_t *finish)
{
    for (size_t i = 0; i < STEPS && finish; i++) {
        if (finish->steps[i]) {
            finish_steps[i]->destroy(finish->steps[i]);
        }
    }
    free(finish);
}

status_t finish_pool(const struct channelise_plan *work, pool_t **out)
{
    const uint32_t threads = budget_finishers(work);
    int is_changed = 0;
    *out = NULL;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        is_changed |= !work->is_bank || plan_products_is_changed(work, i);
    }
    return is_changed && threads > 1 ? pool_create(POOL_EAGER, "finish", threads, out) : STATUS_OK;
}

status_t finish_create(const struct channelise_plan *work, uint32_t i, uint64_t rows, pool_t *pool,
                       finish_t **out)
{
    SCOPED(finish_destroy_at) finish_t *finish = NULL;
    *out = NULL;
    if (!plan_products_is_changed(work, i)) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *finish, "a product's rows", &finish));
    finish->pool = pool;
    for (size_t at = 0; at < STEPS; at++) {
        TRY(finish_steps[at]->create(work, i, rows, &finish->steps[at]));
    }
    *out = memory_move(&finish);
    return STATUS_OK;
}

status_t finish_run(finish_t *finish, struct finish_rows *rows)
{
    rows->pool = finish->pool;
    for (size_t i = 0; i < STEPS; i++) {
        TRY(finish->steps[i] ? finish_steps[i]->run(finish->steps[i], rows) : STATUS_OK);
    }
    return STATUS_OK;
}

const struct agreement_whole *finish_wholes(const finish_t *finish)
{
    for (size_t i = STEPS; i > 0 && finish; i--) {
        const struct agreement_whole *wholes =
            finish->steps[i - 1] && finish_steps[i - 1]->wholes
                ? finish_steps[i - 1]->wholes(finish->steps[i - 1])
                : NULL;
        if (wholes) {
            return wholes;
        }
    }
    return NULL;
}
