/* The observations of `run --each` and `--list`: names of files, put together to sequences; and one
 * job for each of them. */
#ifndef VOLTMILL_RUN_BATCH_H
#define VOLTMILL_RUN_BATCH_H

#include "base/text.h"
#include "job/job.h"
#include "run/run.h"

#include <stdint.h>

/* Names, and as files of each: a file, a folder, a pattern of all files of a sequence, or some of
 * them, one a line. */
struct observations {
    struct text texts; /* name, files and `missing` of each, each with its '\0' */
    struct job_each *items;
    const char **missing; /* "LIST:LINE", of a pattern that no file matches; "" of others */
    uint32_t count;
};

/* Finds the files of a pattern, or of each line of the file `list`, "-" for standard input (empty
 * lines and those that begin with '#' do not count, nor do blanks at their end). A file that exists
 * is meant, even if its name looks like a pattern. Files of one sequence are one observation; a
 * warning says how many of its files no pattern matches. A line that no file matches is an
 * observation of its own with `keeps_going`. Fails with USAGE: nothing matches; a name that cannot
 * stand for {name}; with DATA: no list. Fills in `texts` alone. */
status_t observations_find(const char *pattern, const char *list, int keeps_going,
                           struct text *texts);

/* Fills in items, missing and count from `texts`. Fails with DEVICE (memory). */
status_t observations_index(struct observations *observations);
void observations_free(struct observations *observations);

struct batch_choice {
    const char *pattern;  /* of files; NULL: `list` */
    const char *list;     /* a file with a pattern in each line */
    uint32_t part, parts; /* of the observations, each `parts`-th from number `part` on */
    int keep_going;
};

/* Runs the job of `options` for each observation: it is the job's input, and
 * its name stands for {name} in the job's values. Those that are complete are skipped, so the same
 * command continues. When one fails, the others are done only with `keep_going`; a table on stdout
 * shows the state of each. Collective. Fails with the status of the first that failed; STOPPED when
 * that was asked for; USAGE, before anything is made, when no file matches or two observations
 * would make one file. */
status_t batch_run_all(MPI_Comm comm, const struct run_options *options,
                       const struct batch_choice *choice);

#endif
