/* A search played again over what another one has measured. */
#include "base/memory.h"
#include "tune/search/search_parts.h"

#include <stdlib.h>
#include <string.h>

/* What was measured, as a space. */
struct played {
    const struct tune_result **results;
    uint32_t *values;
    double *costs;
};

static status_t replay_time_again(void *context, uint32_t i, uint32_t repeats,
                                  const struct tune_time *time, struct tune_measure *out)
{
    const struct tune_result *r = ((const struct played *)context)->results[i];
    (void)repeats;
    (void)time;
    *out = (struct tune_measure){
        .seconds = r->seconds, .spent = r->spent, .wrong = r->state == TUNE_WRONG};
    return r->state == TUNE_FAILED ? report_fail(STATUS_USAGE, "it failed then") : STATUS_OK;
}

static status_t replay_collect(const struct tune_space *space, const struct tune_outcome *measured,
                               struct played *played, struct tune_space *out)
{
    status_t st = STATUS_OK;
    size_t width = space->problem->nparameters;
    uint32_t n = 0;
    TRY(memory_zeroed(space->count, sizeof(void *), "results", &played->results));
    TRY(memory_zeroed(space->count * width, sizeof *played->values, "results", &played->values));
    TRY(memory_zeroed(space->count, sizeof *played->costs, "results", &played->costs));
    for (uint32_t i = 0; i < space->count; i++) {
        if (measured->results[i].state != TUNE_UNTRIED) {
            played->results[n] = &measured->results[i];
            played->costs[n] = space->costs ? space->costs[i] : 0;
            memcpy(played->values + n++ * width, space->values + i * width,
                   width * sizeof *played->values);
        }
    }
    *out = (struct tune_space){.problem = space->problem,
                               .context = played,
                               .count = n,
                               .values = played->values,
                               .costs = space->costs ? played->costs : NULL,
                               .time = replay_time_again};
out:
    return st;
}

status_t tune_replay(const struct tune_space *space, const struct tune_options *options,
                     const struct tune_outcome *measured, struct tune_outcome *out)
{
    status_t st = STATUS_OK;
    struct tune_space again;
    struct played played = {0};
    struct tune_options free_of_time = *options;
    struct search search = {
        .space = &again, .options = &free_of_time, .outcome = out, .is_replay = 1};
    free_of_time.time = (struct tune_time){.until = 0};
    free_of_time.known = NULL;
    free_of_time.rounds = 0;
    *out = (struct tune_outcome){0};
    TRY(replay_collect(space, measured, &played, &again));
    TRY(search_space(&search));
out:
    free(played.results);
    free(played.values);
    free(played.costs);
    return st;
}
