/* The environment variables by which launchers of MPI programs are known; the setup of HDF5. */
#include "io/apart/launch.h"

#include "io/hdf5/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int launch_is_used(void)
{
    /* Of Open MPI, of PMI (MPICH, Intel MPI, Cray), PMIx, MVAPICH, PALS and ALPS; and the user's
     * word for any other. */
    static const char *const names[] = {
        "OMPI_COMM_WORLD_SIZE", "PMI_RANK",    "PMI_SIZE",    "PMIX_RANK", "PALS_RANKID",
        "MV2_COMM_WORLD_RANK",  "ALPS_APP_PE", "VOLTMILL_MPI"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (getenv(names[i])) {
            return 1;
        }
    }
    /* SLURM's own launcher, unless it has started a shell (srun --pty bash). */
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    return tasks && strcmp(tasks, "1") != 0;
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

/* A standard descriptor that the caller has closed would be given to the next file that is opened,
 * and what is printed would be written into that. Opened so that its use fails as before. */
static void launch_keep_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

void launch_begin(void)
{
    launch_keep_standard();
    h5_begin();
    signal(SIGXFSZ, SIG_IGN);
}
