/* `voltmill run`: a job from its text to its products, on all ranks. */
#ifndef VOLTMILL_RUN_RUN_H
#define VOLTMILL_RUN_RUN_H

#include "base/status.h"

#include <mpi.h>
#include <stdint.h>

struct text;
struct job_each;
struct pass;
struct tune_budget;
struct opened;

/* Steps before the first chunk, in order. */
enum run_step {
    RUN_STEP_JOB,     /* job and archive are read */
    RUN_STEP_PLAN,    /* planned, earlier runs' files looked for */
    RUN_STEP_DEVICE,  /* the backend opened */
    RUN_STEP_CHOICE,  /* how it computes: looked up, or measured */
    RUN_STEP_FILES,   /* products made, their disk space reserved */
    RUN_STEP_BUFFERS, /* kernels, buffers, threads */
    RUN_STEPS
};

/* Where the time of a run went: seconds of this rank, all passes and observations together. */
struct run_times {
    double total;  /* from the call to its return; for the caller */
    double before; /* until the first chunk: plan, files, devices; what `before` took not counted */
    double after;  /* from the end of the last chunk: products synced, and named */
    double steps[RUN_STEPS]; /* that `before` is made of, of filter banks */
    double read, compute, write;
    double waited;  /* for the others, from when there were no more chunks for this one */
    double samples; /* of all streams together, of filter banks */
    double in_bytes, out_bytes;
};

struct run_options {
    const char *path;         /* of the job file; with `given`, its name in messages */
    const struct text *given; /* text of the job, on rank 0; NULL: the file has it */
    const char *const *sets;
    uint32_t nsets;
    int force;   /* replace products that exist */
    int restart; /* begin anew, whatever earlier runs have left */
    /* Seconds without any progress after which a rank has failed: its files or its device hang; 0:
     * never; < 0: as suits the backend. */
    double patience;
    /* For `run --each`: the observation that is done; *was_complete says that all of its products
     * were complete before, which is not printed then. NULL: neither. */
    const struct job_each *each;
    int *was_complete;
    struct opened *opened; /* backends of one run after the other; NULL: the run has its own */
    const char *database;  /* of tuned kernels; NULL: the user's own */
    /* Time to search for what it does not know, of all runs that it is given to; NULL: none. */
    struct tune_budget *tune;
    const char *csv;    /* `bench run` writes it, too; NULL: none */
    const char *report; /* the page that comes after the run: no input, no product; NULL: none */
    double progress;    /* seconds between lines; 0: redraw one on a terminal */
    /* For `bench run`: called on every rank before the first chunk of each pass, may be NULL;
     * collective. Then the times of the passes are added to `times`, instead of a summary; NULL:
     * not needed. */
    status_t (*before)(void *context, const struct pass *pass);
    void *context;
    struct run_times *times;
};

/* Runs a job, and resumes where an earlier run of it has ended; of a complete one only writes
 * tables that are missing. Rank 0 prints a summary on stdout, unless options->times is set. Ends
 * the process if the file system makes no progress within options->patience. Collective; every rank
 * gets the same status. Fails with STOPPED if a signal requested it (ranks/stop.h): the same
 * command resumes; with HOLES if rows are NaN because input was unreadable: the products are
 * complete. Fails with USAGE (the job; products of another job, or being written by another run;
 * with options->times, which resumes nothing, also products that are complete or unfinished), as
 * options->before() does, with DATA (input, products, I/O), NO_SPACE, DEVICE: what is done is kept,
 * for the same command. */
status_t run_job_all(MPI_Comm comm, const struct run_options *options);

#endif
