/* Divides DMs among coherent ones, and counts the delays of all from one origin. */
#include "dsp/dispersion/dispersion_grid.h"

#include "base/memory.h"

/* Returns the number of DMs that are nearer to coherent DM `which` or a lower one than to the
 * next. */
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

/* The delays of all shares, one after the other. */
struct grid_delays {
    struct dispersion all; /* of the shares that are wanted */
    int64_t end;           /* the maximum delay of all shares */
};

/* Adds the delays of one share to those of all shares. */
static status_t grid_add(const struct dispersion_grid *grid, uint32_t which, int is_wanted,
                         const struct dispersion_spec *spec, struct grid_delays *to)
{
    status_t st = STATUS_OK;
    struct dispersion mine = {0};
    struct dispersion *all = &to->all;
    struct dispersion_spec share = *spec;
    struct dispersion_share part = dispersion_grid_share(grid, which, spec->dms, spec->ndms);
    if (part.count == 0) {
        goto out;
    }
    share.dms += part.first;
    share.ndms = part.count;
    share.coherent_dm = grid->coherent[which];
    TRY(dispersion_settle(&share, &mine));
    all->origin = mine.origin < all->origin ? mine.origin : all->origin;
    to->end = mine.origin + mine.largest > to->end ? mine.origin + mine.largest : to->end;
    for (uint32_t i = 0; i < part.count && is_wanted; i++) {
        all->dms[all->ndms] = mine.dms[i];
        all->coherent_dms[all->ndms++] = share.coherent_dm;
    }
    if (!all->slopes) {
        all->slopes = mine.slopes;
        all->coherent = mine.coherent;
        mine.slopes = mine.coherent = NULL;
    }
out:
    dispersion_free(&mine);
    return st;
}

status_t dispersion_grid_settle(const struct dispersion_grid *grid, uint32_t only,
                                const struct dispersion_spec *spec, struct dispersion *out)
{
    status_t st = STATUS_OK;
    struct grid_delays delays = {.all = {.nchannels = spec->nchannels, .origin = INT64_MAX},
                                 .end = INT64_MIN};
    TRY(memory_zeroed(spec->ndms, sizeof *delays.all.dms, "DMs", &delays.all.dms));
    TRY(memory_zeroed(spec->ndms, sizeof *delays.all.dms, "DMs", &delays.all.coherent_dms));
    for (uint32_t i = 0; i < grid->count; i++) {
        TRY(grid_add(grid, i, only == grid->count || only == i, spec, &delays));
    }
    delays.all.largest = (uint32_t)(delays.end - delays.all.origin);
    *out = delays.all;
    delays.all = (struct dispersion){0};
out:
    dispersion_free(&delays.all);
    return st;
}
