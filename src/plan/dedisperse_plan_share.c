/* Semi-coherent searches: which DMs are made of which filterbank, with delays of one origin. */
#include "plan/dedisperse_plan.h"

#include "base/memory.h"
#include "dsp/dispersion/dispersion_grid.h"

#include <string.h>

/* Which coherent DM the filterbank is of; grid->count: the job makes all. */
static status_t share_find(const struct dedisperse_plan *d, const struct dispersion_grid *grid,
                           uint32_t *out)
{
    status_t st = STATUS_OK;
    uint32_t which = 0;
    REQUIRE(d->fbh5->coherent.delay_hz, STATUS_USAGE,
            "%s: dedisperse.coherent: %s was not dedispersed coherently", d->job->path,
            d->fbh5->path);
    while (which < grid->count && grid->coherent[which] != d->fbh5->coherent.dm) {
        which++;
    }
    REQUIRE(which < grid->count, STATUS_USAGE,
            "%s: dedisperse.coherent: %s was dedispersed coherently to DM %.15g, which is none of "
            "them",
            d->job->path, d->fbh5->path, d->fbh5->coherent.dm);
    *out = job_is_semi_coherent(d->job) ? grid->count : which;
out:
    return st;
}

status_t dedisperse_plan_share(struct dedisperse_plan *d, const struct dispersion_spec *spec)
{
    status_t st = STATUS_OK;
    struct dispersion_grid grid = {d->what->coherent, d->what->ncoherent};
    uint32_t only = 0;
    TRY(share_find(d, &grid, &only));
    TRY(memory_zeroed(spec->ndms, sizeof *d->each.coherent, "DMs", &d->each.coherent));
    for (uint32_t i = 0; i < grid.count; i++) {
        struct dispersion_share part = dispersion_grid_share(&grid, i, spec->dms, spec->ndms);
        for (uint32_t j = 0; j < part.count; j++) {
            d->each.coherent[part.first + j] = grid.coherent[i];
        }
    }
    if (only < grid.count) {
        struct dispersion_share mine = dispersion_grid_share(&grid, only, spec->dms, spec->ndms);
        REQUIRE(mine.count > 0, STATUS_USAGE,
                "%s: dedisperse.coherent: of these DMs %.15g is the nearest of no DM", d->job->path,
                grid.coherent[only]);
        TRY(dispersion_grid_settle(&grid, only, spec, &d->delays));
        memmove(d->each.dms, d->each.dms + mine.first, mine.count * sizeof *d->each.dms);
        memmove(d->each.coherent, d->each.coherent + mine.first,
                mine.count * sizeof *d->each.coherent);
    } else {
        TRY(dispersion_grid_settle(&grid, only, spec, &d->delays));
    }
out:
    return st;
}
