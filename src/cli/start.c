#include "cli/start.h"

#include "run/agree.h"

#include <stdio.h>
#include <stdlib.h>

int start_is_launched(void)
{
    /* Of Open MPI, of PMI (MPICH, Intel MPI) and PMIx, and of SLURM's own launcher. */
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK",
                                        "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (getenv(names[i])) {
            return 1;
        }
    }
    return 0;
}

status_t start_all(status_t st, int *rank)
{
    int level = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    report_quiet(*rank != 0);
    return agree_all(MPI_COMM_WORLD, st);
}

void start_print_all(const char *text)
{
    int rank = 0;
    if (start_is_launched()) {
        (void)start_all(STATUS_OK, &rank);
    }
    if (rank == 0) {
        fputs(text, stdout);
    }
}
