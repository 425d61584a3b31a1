/* Times a whole job beside what bounds it: the backend alone, and plain parallel reading and
 * writing of the same bytes. */
#ifndef VOLTMILL_BENCH_BENCH_RUN_H
#define VOLTMILL_BENCH_BENCH_RUN_H

#include "run/batch.h"

struct bench_run_options {
    const char *path; /* of the job file */
    const char *const *sets;
    uint32_t nsets;
    struct batch_choice choice; /* of observations; without pattern and list: the job's own input */
    int force;
    const char *csv;  /* where the caller will write; NULL: nowhere */
    uint32_t repeats; /* the best of each side counts */
};

/* The fastest of each over the repeats: seconds that all ranks together need. */
struct bench_run_result {
    struct run_times
        times; /* of the fastest run; read, compute, write, waited: mean of the ranks */
    /* Sums over all passes and observations: */
    double backend; /* from memory to memory */
    double reading; /* plain reads of the same bytes, by all threads */
    double writing; /* plain writes of the same bytes, a file a thread, synced */
    double bound;   /* the slowest of the three */
};

/* Runs the job `repeats` times, each time right after the bounds were measured. Its products stay;
 * beside each temporary files of its size are written. Collective. Fails as batch_run_all(). */
status_t bench_run_all(MPI_Comm comm, const struct bench_run_options *options,
                       struct bench_run_result *out);

#endif
