/* `voltmill run`: a job from its text to its products, on all ranks. */
#ifndef VOLTMILL_RUN_RUN_H
#define VOLTMILL_RUN_RUN_H

#include "base/status.h"

#include <mpi.h>
#include <stdint.h>

struct run_options {
    const char *path; /* of the job file */
    const char *const *sets;
    uint32_t nsets;
    int force;       /* replace products that exist */
    double progress; /* seconds between lines; 0: redraw one on a terminal */
};

/* Collective; every rank gets the same status. Rank 0 prints a summary on stdout. */
status_t run_job_all(MPI_Comm comm, const struct run_options *options);

#endif
