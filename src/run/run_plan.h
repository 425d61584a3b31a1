/* A job before its run: loaded, safe, what is left to do of it; all of its passes planned; and the
 * tables of candidates beside its searches. */
#ifndef VOLTMILL_RUN_RUN_PLAN_H
#define VOLTMILL_RUN_RUN_PLAN_H

#include "job/job.h"
#include "run/grid.h"
#include "run/passes.h"

struct run_begin {
    struct text text; /* the job file's */
    struct job *job;
    struct archive *archive; /* NULL: the input is a filterbank */
    struct resume left;
};

/* Plan of a run, to the last byte: everything that `voltmill plan` prints. */
struct run_plan {
    struct run_begin begun;
    /* For a semi-coherent search: its parts, of which one incomplete part is planned as the job
     * (NULL: all are complete), and the pass that merges them; else NULL. */
    struct grid *grid;
    const struct grid_part *part;
    struct dedisperse_pass merge;
    struct channelise_pass bank;                   /* bank.work NULL: it has nothing to do */
    struct dedisperse_pass series[JOB_DEDISPERSE]; /* plan NULL: complete */
    struct room room; /* of what is not complete; room_check() refuses what run does */
};

/* Plans a run, in one process. Fails as the run would. */
status_t run_plan_create(const struct run_options *options, struct run_plan **out);
void run_plan_destroy(struct run_plan *plan);

/* `dedisperse.search.csv`: the candidates of a search as text, written by the run itself. */

#endif
