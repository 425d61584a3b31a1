/* One job for many observations, one after the other. */
#ifndef VOLTMILL_RUN_BATCH_H
#define VOLTMILL_RUN_BATCH_H

#include "run/run.h"

/* Runs the job of `options` for each file that matches `pattern`: the file is its input, and its
 * name without folder and ending is the value of {name} in the job. Complete observations are
 * skipped, so the same command resumes. After a failure, the others run only with `keep_going`; a
 * table on stdout lists the result of each. Collective. Fails with the status of the first that
 * failed; with STOPPED on request; with USAGE, before any file is made, if no file matches or two
 * observations would make one file. */
status_t batch_run_all(MPI_Comm comm, const struct run_options *options, const char *pattern,
                       int keep_going);

#endif
