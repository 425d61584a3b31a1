/* Passes of a job that earlier runs have completed: the filter bank's, if there is one, then the
 * dedispersions. */
#ifndef VOLTMILL_RUN_SKIP_H
#define VOLTMILL_RUN_SKIP_H

#include "archive/archive.h"
#include "plan/job.h"

struct skip {
    int channelise;                 /* its products are complete */
    int dedisperse[JOB_DEDISPERSE]; /* this one is */
    int all;                        /* nothing is left to do */
};

/* Rank 0, or alone: what is complete, and of this job, need not be done again. With `force`, only
 * where a later pass was begun on what is of this job. `is_passed_over`: where all is done, the job
 * is, too, and must have been this one. `archive` may be NULL. Fails with USAGE: a product that is
 * there is of another job; with DATA. */
status_t skip_find(const struct job *job, const struct archive *archive, int force,
                   int is_passed_over, struct skip *out);

#endif
