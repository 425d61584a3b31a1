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

/* Loads the job, opens its archive, makes sure that nothing that is read would be written, and
 * finds what is complete. MPI_COMM_NULL: alone, and everything stays as it is. *out is for
 * run_begin_free() in any case. Fails with USAGE, DATA. Collective. */
status_t run_begin_all(MPI_Comm comm, const struct run_options *options, struct run_begin *out);
void run_begin_free(struct run_begin *begun);

/* After a failure with USAGE: returns whether another run of this job has completed some of it
 * since this one looked. Then the failure is forgotten, and *begun says what is left. Collective.
 */
int run_was_overtaken_all(MPI_Comm comm, const struct run_options *options,
                          struct run_begin *begun);

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

/* Rank 0: finds the remaining parts of a semi-coherent search, and checks the disk space for all of
 * them. Fails with USAGE, NO_SPACE, DATA. */
status_t run_plan_check_parts(struct grid *grid, const struct archive *archive,
                              const struct run_options *options);

/* `dedisperse.search.csv`: the candidates of a search as text, written by the run itself. */

/* Rank 0, when the search is complete: writes the table, unless it exists. Publishing is atomic: a
 * run that is killed before leaves it to the next. Fails with USAGE (another file exists, without
 * `force`), DATA, NO_SPACE, DEVICE (memory). */
status_t tables_write(const struct job_search *search, int force);

#endif
