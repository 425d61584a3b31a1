/* Divides DMs among coherent ones, and counts the delays of all from one origin. */
#include "dsp/dispersion/dispersion_grid.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Of the DMs, how many are nearer to coherent DM `which` than to the one behind it, or below. */
static uint32_t grid_count_up_to(const struct dispersion_grid *grid, uint32_t which,
                                 const double *dms, uint32_t ndms)
{
    uint32_t count = 0;
    if (which + 1 >= grid->count) {
        return ndms;
    }
    while (count < ndms &&
           dms[count] - grid->coherent[which] <= grid->coherent[which + 1] - dms[count]) {
        count++;
    }
    return count;
}

struct dispersion_share dispersion_grid_share(const struct dispersion_grid *grid, uint32_t which,
                                              const double *dms, uint32_t ndms)
{
    uint32_t first = which > 0 ? grid_count_up_to(grid, which - 1, dms, ndms) : 0;
    return (struct dispersion_share){first, grid_count_up_to(grid, which, dms, ndms) - first};
}

/* The delays of all shares, one after the other: those that are wanted are kept, each still counted
 * from the origin of its own. */
struct grid_delays {
    struct dispersion all;
    int64_t *origins; /* [shares] */
    int64_t end;      /* the greatest delay of all */
};

static status_t grid_add(const struct dispersion_grid *grid, uint32_t which, int is_wanted,
                         const struct dispersion_spec *spec, struct grid_delays *to)
{
    status_t st = STATUS_OK;
    struct dispersion mine = {0};
    struct dispersion_spec share = *spec;
    struct dispersion_share part = dispersion_grid_share(grid, which, spec->dms, spec->ndms);
    if (part.count == 0) {
        goto out;
    }
    share.dms += part.first;
    share.ndms = part.count;
    share.coherent_dm = grid->coherent[which];
    TRY(dispersion_create(&share, &mine));
    to->origins[which] = mine.origin;
    to->all.origin = mine.origin < to->all.origin ? mine.origin : to->all.origin;
    to->end = mine.origin + mine.largest > to->end ? mine.origin + mine.largest : to->end;
    if (is_wanted) {
        size_t row = mine.nchannels * sizeof *mine.table;
        memcpy(to->all.table + (size_t)to->all.ndms * mine.nchannels, mine.table, part.count * row);
        to->all.ndms += part.count;
    }
out:
    dispersion_free(&mine);
    return st;
}

/* Counts them from the origin of all. */
static void grid_shift(const struct dispersion_grid *grid, uint32_t only,
                       const struct dispersion_spec *spec, struct grid_delays *delays)
{
    uint32_t *at = delays->all.table;
    for (uint32_t i = 0; i < grid->count; i++) {
        struct dispersion_share part = dispersion_grid_share(grid, i, spec->dms, spec->ndms);
        size_t count = (size_t)part.count * spec->nchannels;
        if (part.count == 0 || (only < grid->count && only != i)) {
            continue;
        }
        uint32_t later = (uint32_t)(delays->origins[i] - delays->all.origin);
        for (size_t j = 0; j < count; j++) {
            at[j] += later;
        }
        at += count;
    }
}

status_t dispersion_grid_create(const struct dispersion_grid *grid, uint32_t only,
                                const struct dispersion_spec *spec, struct dispersion *out)
{
    status_t st = STATUS_OK;
    struct grid_delays delays = {.all = {.nchannels = spec->nchannels, .origin = INT64_MAX},
                                 .end = INT64_MIN};
    uint32_t ndms = only < grid->count
                        ? dispersion_grid_share(grid, only, spec->dms, spec->ndms).count
                        : spec->ndms;
    TRY(memory_zeroed((size_t)ndms * spec->nchannels, sizeof *delays.all.table, "delays",
                      &delays.all.table));
    TRY(memory_zeroed(grid->count, sizeof *delays.origins, "delays", &delays.origins));
    for (uint32_t i = 0; i < grid->count; i++) {
        TRY(grid_add(grid, i, only == grid->count || only == i, spec, &delays));
    }
    delays.all.largest = (uint32_t)(delays.end - delays.all.origin);
    grid_shift(grid, only, spec, &delays);
    *out = delays.all;
    delays.all.table = NULL;
out:
    dispersion_free(&delays.all);
    free(delays.origins);
    return st;
}
