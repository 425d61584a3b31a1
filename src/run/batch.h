/* Observations of `run --each` and `--list`: files gathered to sequences, and one job for each
 * observation. */
#ifndef VOLTMILL_RUN_BATCH_H
#define VOLTMILL_RUN_BATCH_H

#include "job/job.h"
#include "run/run.h"

/* Observations by name. The files of each are a file, a folder, a pattern that matches all files of
 * a sequence, or some files of a sequence, one a line. */
struct observations {
    struct text texts; /* name, files and `missing` of each, each with its '\0' */
    struct job_each *items;
    const char **missing; /* [count] "LIST:LINE", of a pattern that no file matches; "" of others */
    uint32_t count;
};

/* Finds the files of a pattern (`list` NULL), or of each line of the file `list` (`pattern` NULL);
 * "-" is standard input. Ignores empty lines, lines that begin with '#', and blanks at the end of a
 * line. The name of an existing file is no pattern, even if it looks like one. Files of one
 * sequence are one observation; a warning gives the number of its files that no pattern matches.
 * With `keeps_going`, a line that no file matches becomes an observation with `missing`. Appends to
 * `texts`, which observations_index() reads; text_free() frees it, also after a failure. Fails with
 * USAGE if nothing matches the pattern or a line, the list has no line or is HDF5, "~" of one is
 * unknown, or a name cannot replace {name}; with DATA if `list` is unreadable or larger than 64
 * MiB, or a name cannot be looked up; with DEVICE (memory). */
status_t observations_find(const char *pattern, const char *list, int keeps_going,
                           struct text *texts);

/* Fills in items, missing and count, which are zeros, from observations->texts, not empty, which
 * they point into. The caller calls observations_free() in any case. Fails with DEVICE (memory). */
status_t observations_index(struct observations *observations);
/* Frees the texts and lists, but leaves the pointers: call it once. Takes {0}. */
void observations_free(struct observations *observations);

struct batch_choice {
    const char *pattern;  /* of files; NULL: `list` */
    const char *list;     /* a file with a pattern in each line */
    uint32_t part, parts; /* of the observations, each `parts`-th from number `part` (from 0) on */
    int keep_going;
};

/* Checks, before anything is made, that no file that the job of one observation makes, under its
 * final name or another, is that of another one, whatever path leads to it, nor an observation
 * itself or what leads to a sample of one. Observations are opened for that if any such file is
 * there: those of this part, since without --force no file of another origin is replaced; with it
 * all. For rank 0. Fails with USAGE, naming both observations and the file, or if the job is HDF5;
 * with DATA if the job cannot be read or a name looked up; with DEVICE, STOPPED (of a child process
 * that opens files). Mistakes in a job, and observations that cannot be opened, wait for its run.
 */
status_t batch_check(const struct run_options *options, const struct batch_choice *choice,
                     const struct observations *observations);

/* Runs the job of `options` for each observation, which is the job's input; its name replaces
 * {name} in the job's values. Skips complete observations, so the same command resumes. After a
 * failure continues only with `keep_going`. Rank 0 prints a table of the state of each on stdout.
 * The options' `each`, `was_complete` and `opened` are ignored. Collective; every rank gets the
 * same status. Fails with STOPPED on request; else with that of the first observation whose run
 * failed (run_job_all(): USAGE, DATA, NO_SPACE, DEVICE), or HOLES if some have holes and none
 * failed. Before any file is made, fails with USAGE, DATA, DEVICE as observations_find() and
 * batch_check().
 */
status_t batch_run_all(MPI_Comm comm, const struct run_options *options,
                       const struct batch_choice *choice);

#endif
