/* The last pass of a semi-coherent search: the series of all parts in one product. */
#ifndef VOLTMILL_RUN_GRID_GRID_MERGE_H
#define VOLTMILL_RUN_GRID_GRID_MERGE_H

#include "run/dedisperse_pass.h"
#include "run/grid.h"

/* Alone: plans it, and measures it. `part`: the first that is left, whose power `work` makes, or
 * (NULL) is there; NULL: all are complete. *out is for dedisperse_pass_end(). Fails with USAGE,
 * DATA. */
status_t grid_merge_foresee(const struct grid *grid, const struct grid_part *part,
                            const struct archive *archive, const struct run_options *options,
                            const struct channelise_plan *work, struct dedisperse_pass *out);

/* Does it, when all parts are complete. Collective. Fails as run_job_all(). */
status_t grid_merge_all(MPI_Comm comm, const struct grid *grid, const struct archive *archive,
                        const struct run_options *options);

#endif
