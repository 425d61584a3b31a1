/* Steps are found greedily: each takes as many DMs as its delays within subbands suit. */
#include "dsp/dispersion/subbands.h"

#include "base/memory.h"

#include <stdlib.h>

/* No sample is further off than this. */
enum { MOST_ERROR = 1 };

static uint32_t subbands_group_end(const struct dispersion *delays, uint32_t group, uint32_t g)
{
    return (uint32_t)min_u64((uint64_t)(g + 1) * group, delays->nchannels);
}

static const uint32_t *subbands_row_of(const struct dispersion *delays, uint32_t dm)
{
    return delays->table + (size_t)dm * delays->nchannels;
}

/* The delay of a group at one DM that suits the delays within it best, and how far samples are off
 * then. It never leads beyond the first or the largest delay. */
static uint32_t subbands_settle(const struct dispersion *delays, const uint32_t *row,
                                const uint32_t *inner, uint32_t from, uint32_t to, int64_t *error)
{
    int64_t least = INT64_MAX;
    int64_t most = INT64_MIN;
    int64_t room = INT64_MAX;
    for (uint32_t c = from; c < to; c++) {
        int64_t wanted = (int64_t)row[c] - inner[c];
        least = wanted < least ? wanted : least;
        most = wanted > most ? wanted : most;
        room =
            (int64_t)delays->largest - inner[c] < room ? (int64_t)delays->largest - inner[c] : room;
    }
    int64_t delay = least + (most - least) / 2;
    delay = delay < 0 ? 0 : delay > room ? room : delay;
    *error = most - delay > delay - least ? most - delay : delay - least;
    return (uint32_t)delay;
}

/* The delays within groups at a DM, from the earliest channel of each. */
static void subbands_take_inner(const struct dispersion *delays, uint32_t group, uint32_t dm,
                                uint32_t *inner)
{
    const uint32_t *row = subbands_row_of(delays, dm);
    for (uint32_t from = 0; from < delays->nchannels; from += group) {
        uint32_t to = subbands_group_end(delays, group, from / group);
        uint32_t least = UINT32_MAX;
        for (uint32_t c = from; c < to; c++) {
            least = row[c] < least ? row[c] : least;
        }
        for (uint32_t c = from; c < to; c++) {
            inner[c] = row[c] - least;
        }
    }
}

/* The largest error over all groups of a DM that uses `inner`; sets its outer delays. */
static int64_t subbands_fit(const struct dispersion *delays, uint32_t group, uint32_t dm,
                            const uint32_t *inner, uint32_t *outer)
{
    int64_t worst = 0;
    uint32_t ngroups = (uint32_t)ceil_div_u64(delays->nchannels, group);
    for (uint32_t g = 0; g < ngroups; g++) {
        int64_t error = 0;
        outer[g] = subbands_settle(delays, subbands_row_of(delays, dm), inner, g * group,
                                   subbands_group_end(delays, group, g), &error);
        worst = error > worst ? error : worst;
    }
    return worst;
}

/* One step from DM `first` on: its inner delays are those of the furthest DM that still suit the
 * first one. Returns the first DM that it does not do. */
static uint32_t subbands_make_step(const struct dispersion *delays, struct subbands *steps,
                                   uint32_t first)
{
    uint32_t *inner = steps->inner + (size_t)steps->nsteps * delays->nchannels;
    uint32_t *outer = steps->outer + (size_t)first * steps->ngroups;
    uint32_t nominal = first;
    uint32_t next = first;
    for (; nominal + 1 < delays->ndms; nominal++) {
        subbands_take_inner(delays, steps->group, nominal + 1, inner);
        if (subbands_fit(delays, steps->group, first, inner, outer) > MOST_ERROR) {
            break;
        }
    }
    subbands_take_inner(delays, steps->group, nominal, inner);
    for (; next < delays->ndms; next++, outer += steps->ngroups) {
        int64_t error = subbands_fit(delays, steps->group, next, inner, outer);
        if (error > MOST_ERROR) {
            break;
        }
        steps->error = error > steps->error ? (uint32_t)error : steps->error;
    }
    return next;
}

status_t subbands_create(const struct dispersion *delays, uint32_t group, struct subbands *out)
{
    status_t st = STATUS_OK;
    struct subbands steps = {.group = group > 0 ? group : SUBBANDS_GROUP};
    uint32_t *inner = NULL;
    steps.ngroups = (uint32_t)ceil_div_u64(delays->nchannels, steps.group);
    size_t outers = (size_t)delays->ndms * steps.ngroups;
    size_t inners = (size_t)delays->ndms * delays->nchannels;
    TRY_OUT(memory_zeroed(outers, sizeof *steps.outer, "delays", &steps.outer));
    TRY_OUT(memory_zeroed(inners, sizeof *steps.inner, "delays", &steps.inner));
    TRY_OUT(memory_zeroed((size_t)delays->ndms + 1, sizeof *steps.first, "delays", &steps.first));
    while (steps.first[steps.nsteps] < delays->ndms) {
        uint32_t next = subbands_make_step(delays, &steps, steps.first[steps.nsteps]);
        steps.first[++steps.nsteps] = next;
    }
    inner = realloc(steps.inner, (size_t)steps.nsteps * delays->nchannels * sizeof *inner);
    steps.inner = inner ? inner : steps.inner;
    steps.adds = (uint64_t)steps.nsteps * delays->nchannels + outers;
    *out = steps;
    steps = (struct subbands){0};
out:
    subbands_free(&steps);
    return st;
}

void subbands_free(struct subbands *steps)
{
    free(steps->inner);
    free(steps->outer);
    free(steps->first);
    *steps = (struct subbands){0};
}
