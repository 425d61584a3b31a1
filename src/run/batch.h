/* One job for many observations, one after the other. */
#ifndef VOLTMILL_RUN_BATCH_H
#define VOLTMILL_RUN_BATCH_H

#include "run/run.h"

/* Runs the job of `options` for each file that matches `pattern`: the file is its input, and its
 * name without folder and ending stands for {name} in the job's values. Those that are complete are
 * passed over, so the same command goes on. When one fails, the others are done only with
 * `keep_going`; a table on stdout says what became of each. Collective. Fails with the status of
 * the first that failed; STOPPED when that was asked for; USAGE, before anything is made, when no
 * file matches or two observations would make one file. */
status_t batch_run_all(MPI_Comm comm, const struct run_options *options, const char *pattern,
                       int keep_going);

#endif
