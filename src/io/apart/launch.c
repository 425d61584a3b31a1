/* The environment variables by which launchers of MPI programs are known; the setup of HDF5. */
#include "io/apart/launch.h"

#include "io/hdf5/h5.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

static int launch_says_one(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "1") == 0;
}

int launch_is_one_machine(void)
{
    const char *ranks = getenv("OMPI_COMM_WORLD_SIZE");
    const char *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (ranks && here) {
        return strcmp(ranks, here) == 0;
    }
    /* Of a job in several parts each step speaks of its own. */
    return !ranks && launch_says_one("SLURM_STEP_NUM_NODES") && !getenv("SLURM_HET_SIZE");
}

void launch_begin(void)
{
    h5_begin();
    signal(SIGXFSZ, SIG_IGN);
}
