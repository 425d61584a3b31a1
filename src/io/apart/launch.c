/* The environment variables by which launchers of MPI programs are known; the setup of HDF5. */
#include "io/apart/launch.h"

#include "io/hdf5/h5.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

int launch_is_used(void)
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

long launch_rank(void)
{
    /* One started by another has the variables of both: the inner one's come first. */
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i]);
        if (rank) {
            return strtol(rank, NULL, 10);
        }
    }
    return 0;
}

void launch_begin(void)
{
    h5_begin();
    signal(SIGXFSZ, SIG_IGN);
}
