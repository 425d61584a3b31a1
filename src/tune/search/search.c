/* The course of a search: its method, what was known before, the turns of the best; and a search
 * played again over what another one has measured. */
#include "base/clock.h"
#include "base/memory.h"
#include "dsp/noise.h"
#include "tune/search/search_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tune_method_name(enum tune_method method)
{
    static const char *const names[TUNE_METHODS] = {"exhaustive", "guided", "random"};
    return names[method];
}

void tune_outcome_free(struct tune_outcome *outcome)
{
    free(outcome->results);
    outcome->results = NULL;
}

static status_t search_in_order(struct search *s)
{
    status_t st = STATUS_OK;
    uint32_t n = s->space->count;
    uint32_t *list = NULL;
    uint64_t draw = 0;
    TRY(memory_zeroed(n, sizeof *list, "configurations", &list));
    for (uint32_t i = 0; i < n; i++) {
        list[i] = i;
    }
    for (uint32_t i = n; s->options->method == TUNE_RANDOM && i > 1; i--) {
        noise_words(s->options->seed, i, 1, &draw);
        uint32_t j = (uint32_t)(draw % i);
        uint32_t moved = list[i - 1];
        list[i - 1] = list[j];
        list[j] = moved;
    }
    TRY(search_try_list(s, list, n));
out:
    free(list);
    return st;
}

/* How far it came. */
static double search_extent(const struct search *s)
{
    const struct tune_time *time = &s->options->time;
    if (!s->outcome->is_cut) {
        return search_is_limited(s) && s->tried < s->space->count ? 0 : INFINITY;
    }
    double gone = clock_now() - time->from;
    return search_is_stopped(s) ? fmin(gone, tune_time_seconds(time)) : tune_time_seconds(time);
}

/* The search itself, by the options; s->outcome is empty before. */
static status_t search_space(struct search *s)
{
    status_t st = STATUS_OK;
    TRY(memory_zeroed(s->space->count, sizeof *s->outcome->results, "results",
                      &s->outcome->results));
    TRY(s->options->method == TUNE_GUIDED ? search_guided(s) : search_in_order(s));
    double had = search_extent(s);
    /* What was known before meets the same machine noise as the best of the search. It waits until
     * now, so that searches take the same course whether something was known or not. */
    TRY(s->options->known ? search_try_one(s, *s->options->known) : STATUS_OK);
    TRY(s->options->rounds > 0 ? search_take_turns(s) : STATUS_OK);
    s->outcome->searched = had;
out:
    return st;
}

status_t tune_search(const struct tune_space *space, const struct tune_options *options,
                     tune_log_t *log, const char *problem, struct tune_outcome *out)
{
    struct search search = {
        .space = space, .options = options, .log = log, .problem = problem, .outcome = out};
    *out = (struct tune_outcome){0};
    return search_space(&search);
}

/* What was measured, as a space. */
struct played {
    const struct tune_result **results;
    uint32_t *values;
    double *costs;
};

static status_t search_time_again(void *context, uint32_t i, uint32_t repeats,
                                  const struct tune_time *time, struct tune_measure *out)
{
    const struct tune_result *r = ((const struct played *)context)->results[i];
    (void)repeats;
    (void)time;
    *out = (struct tune_measure){
        .seconds = r->seconds, .spent = r->spent, .wrong = r->state == TUNE_WRONG};
    return r->state == TUNE_FAILED ? report_fail(STATUS_USAGE, "it failed then") : STATUS_OK;
}

static status_t search_collect(const struct tune_space *space, const struct tune_outcome *measured,
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
                               .time = search_time_again};
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
    TRY(search_collect(space, measured, &played, &again));
    TRY(search_space(&search));
out:
    free(played.results);
    free(played.values);
    free(played.costs);
    return st;
}
