/* One job for many observations, one after the other. */
#ifndef VOLTMILL_RUN_BATCH_H
#define VOLTMILL_RUN_BATCH_H

#include "run/run.h"

struct batch_choice {
    const char *pattern;  /* of files; NULL: `list` */
    const char *list;     /* a file with a pattern in each line */
    uint32_t part, parts; /* of the observations, each `parts`-th from number `part` on */
    int keep_going;
};

/* Runs the job of `options` for each observation (run/observations.h): it is the job's input, and
 * its name stands for {name} in the job's values. Those that are complete are skipped, so the same
 * command continues. When one fails, the others are done only with `keep_going`; a table on stdout
 * shows the state of each. Collective. Fails with the status of the first that failed; STOPPED when
 * that was asked for; USAGE, before anything is made, when no file matches or two observations
 * would make one file. */
status_t batch_run_all(MPI_Comm comm, const struct run_options *options,
                       const struct batch_choice *choice);

#endif
