/* The same job and archive on every rank. Collective. */
#ifndef VOLTMILL_RUN_SHARE_H
#define VOLTMILL_RUN_SHARE_H

#include "base/text.h"
#include "compute/backend.h"
#include "input/archive.h"
#include "job/job.h"
#include "run/opened.h"

#include <mpi.h>

/* Rank 0 gives the text of a job (called `path` in messages), opens the archive and reads the
 * coefficients of filters; all get all three.
 * Dedispersions by ranges of DMs are divided (run/ranges/ranges.h).
 * Rank 0's status so far goes in as `st`; `each` may be NULL, and `opened`, which begins to open
 * what the job wants. *archive stays as it is when the job's input is a filterbank
 * (run/dedisperse_pass.h). */
status_t share_job_all(MPI_Comm comm, status_t st, const char *path, struct text *text,
                       const char *const *sets, uint32_t nsets, const struct job_each *each,
                       opened_t *opened, struct job **job, struct archive **archive);

/* Alone: the job of a file, its dedispersions divided. Fails as job_load(), archive_open(),
 * ranges_find(). */
status_t share_load_job(const char *path, const char *const *sets, uint32_t nsets,
                        struct job **out);

/* One backend for all ranks of a run: their results must be alike. Collective. */
/* What AUTO stands for: OPENCL if all ranks have a GPU. */
enum backend_kind share_settle_backend_all(MPI_Comm comm, enum backend_kind wanted);

#endif
