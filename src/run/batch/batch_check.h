/* Whether one job can be done for many observations without one taking the place of another. */
#ifndef VOLTMILL_RUN_BATCH_BATCH_CHECK_H
#define VOLTMILL_RUN_BATCH_BATCH_CHECK_H

#include "base/text.h"
#include "run/run.h"

/* Appends what stands for {name}: "a" of "obs/a.h5". It is one component of a path, so that no name
 * leads elsewhere. Fails with USAGE: the file has no such name. */
status_t batch_name(const char *path, struct text *name);

/* Rank 0, before anything is made: no file that the job of one observation makes, under its final
 * name or another, is that of another one, whatever path leads to it, nor an observation itself or
 * what leads to a sample of one. Observations are opened for that if any such file is there.
 * Fails with USAGE, naming both observations and the file; as batch_name(); with DATA: the job
 * cannot be read. Mistakes in a job wait for its run. */
status_t batch_check(const struct run_options *options, const char *const *files, uint32_t count);

#endif
