/* The same job and archive on every rank. Collective. */
#ifndef VOLTMILL_RUN_SETUP_H
#define VOLTMILL_RUN_SETUP_H

#include "archive/archive.h"
#include "base/text.h"
#include "job/job.h"

#include <mpi.h>

/* Rank 0 gives the text of a job (called `path` in messages) and opens the archive; all get both.
 * Rank 0's status so far goes in as `st`; `each` may be NULL. *archive stays as it is when the job
 * has no filter bank: its input is a filterbank then (run/dedisperse_pass.h). */
status_t setup_share_all(MPI_Comm comm, status_t st, const char *path, struct text *text,
                         const char *const *sets, uint32_t nsets, const struct job_each *each,
                         struct job **job, struct archive **archive);

#endif
