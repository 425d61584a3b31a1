/* Launchers of MPI programs, by their environment variables; the setup of this process; versions of
 * libraries. */
#include "io/launch.h"

#include "io/hdf5/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <fftw3.h>
#include <fitsio.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lzf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <yaml.h>
#include <zlib.h>
#include <zstd.h>

int launch_is_used(void)
{
    /* Variables of Open MPI, PMI (MPICH, Intel MPI, Cray), PMIx, PALS, MVAPICH and ALPS. Users set
     * VOLTMILL_MPI for any other launcher. */
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

/* Threads get as much stack as the limit of the main thread's says (ulimit -s), which may be too
 * little for libraries: OpenMP's, MPI's and ours. */
static void launch_give_threads_stacks(void)
{
    enum { LEAST = 2 << 20 };
    pthread_attr_t attributes;
    size_t bytes = 0;
    if (pthread_getattr_default_np(&attributes) != 0) {
        return;
    }
    if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < LEAST &&
        pthread_attr_setstacksize(&attributes, LEAST) == 0) {
        (void)pthread_setattr_default_np(&attributes);
    }
    pthread_attr_destroy(&attributes);
}

/* The main thread's stack grows as far as the limit allows when it grows. */
static status_t launch_give_stack(void)
{
    enum { LEAST = 256 << 10 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= LEAST) {
        return STATUS_OK;
    }
    REQUIRE(limit.rlim_max >= LEAST, STATUS_DEVICE,
            "the stack is limited to %llu KiB (ulimit -s), expected %d or more",
            (unsigned long long)limit.rlim_max >> 10, LEAST >> 10);
    limit.rlim_cur = LEAST;
    return REQUIRED(setrlimit(RLIMIT_STACK, &limit) == 0, STATUS_DEVICE,
                    "the stack's limit cannot be raised to %d KiB (ulimit -s): %s", LEAST >> 10,
                    strerror(errno));
}

status_t launch_begin(void)
{
    /* A standard descriptor that the caller has closed would be given to the next file that is
     * opened, and what is printed would be written into that. Opened so that its use fails as
     * before. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
    launch_give_threads_stacks();
    h5_begin();
    signal(SIGXFSZ, SIG_IGN);
    return launch_give_stack();
}

void libraries_print(void)
{
    unsigned hdf5[3] = {0};
    float cfitsio = 0;
    H5get_libversion(&hdf5[0], &hdf5[1], &hdf5[2]);
    printf("libraries: HDF5 %u.%u.%u, FFTW %s, CFITSIO %.4g, zlib %s, libdeflate %s, LZ4 %s, "
           "Zstandard %s, liblzf %x.%x, libyaml %s\n",
           hdf5[0], hdf5[1], hdf5[2], fftw_version + strlen("fftw-"), (double)ffvers(&cfitsio),
           zlibVersion(), LIBDEFLATE_VERSION_STRING, LZ4_versionString(), ZSTD_versionString(),
           (unsigned)LZF_VERSION >> 8, (unsigned)LZF_VERSION & 0xff, yaml_get_version_string());
}
