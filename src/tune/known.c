#include "tune/known.h"

#include "io/cache.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

status_t tune_problem_end(struct tune_problem *problem)
{
    status_t st = STATUS_OK;
    struct text all = {0};
    TRY(text_add(&all, "%s\n%s\n%s", problem->kernel.data, problem->identity.data,
                 problem->words.data));
    snprintf(problem->hash, sizeof problem->hash, "%016" PRIx64, cache_hash(all.data, all.length));
out:
    text_free(&all);
    return st;
}

void tune_problem_free(struct tune_problem *problem)
{
    text_free(&problem->kernel);
    text_free(&problem->identity);
    text_free(&problem->words);
}

struct store_key tune_problem_key(const struct tune_problem *problem)
{
    struct store_key key = {.kernel = problem->kernel.data,
                            .identity = problem->identity.data,
                            .problem = problem->words.data};
    for (int i = 0; i < STORE_FEATURES; i++) {
        key.features[i] = problem->features[i];
    }
    return key;
}

status_t tune_known_of(const struct store_record *found, uint32_t count, struct tune_known *out)
{
    *out = (struct tune_known){.searched = 0};
    if (count == 0 || found[0].distance > 0) {
        return STATUS_OK;
    }
    out->searched = found[0].searched;
    return text_add(&out->words, "%s", found[0].words);
}

void tune_known_free(struct tune_known *known)
{
    text_free(&known->words);
}

status_t tune_known_keep(const struct tune_known *known, const struct tune_problem *problem,
                         const char *database, const struct tune_space *space,
                         const struct tune_outcome *outcome, int is_thinned, double *searched)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    double had = is_thinned ? 0 : outcome->searched;
    if (outcome->ok == 0) {
        goto out;
    }
    enum tune_state state = known->can_be ? outcome->results[known->index].state : TUNE_WRONG;
    /* The best of a whole search took part: this one is whole, too. */
    had = known->words.data && state == TUNE_OK ? fmax(had, known->searched) : had;
    TRY(space->words(space->context, outcome->best, &words));
    struct store_record record = {.key = tune_problem_key(problem),
                                  .words = words.data,
                                  .seconds = outcome->results[outcome->best].seconds,
                                  .searched = had};
    TRY(store_put(database, &record, state != TUNE_UNTRIED ? known->words.data : NULL));
    if (searched) {
        *searched = had;
    }
out:
    text_free(&words);
    return st;
}
