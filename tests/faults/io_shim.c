/* Preloaded: makes writing slow, or fail as disks do, late. NAME=N:ERROR in the environment, ERROR
 * a number of errno.h: the N-th such call of this process and all after it fail.
 *
 *   SHIM_NAP=N     rests N ms before rows are written, on every rank
 *   SHIM_ROWS      rows that are written to x.part, by the writer thread
 *   SHIM_RECORDS   records that are written to x.journal, once its head is
 *   SHIM_SYNC      rows that are made to last
 *   SHIM_RENAME=N  the N-th product that gets its name: this process is killed before
 *   SHIM_RANK=R    only on this rank of Open MPI */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static void *next_function(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static const char *setting(const char *name)
{
    const char *only = getenv("SHIM_RANK");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return only && (!rank || strcmp(only, rank) != 0) ? NULL : getenv(name);
}

/* Counts a call; gives the error with which it fails, or 0. */
static int failing(const char *name, atomic_long *calls)
{
    const char *value = setting(name);
    long limit = 0;
    int error = 0;
    if (!value || sscanf(value, "%ld:%d", &limit, &error) != 2) {
        return 0;
    }
    return atomic_fetch_add(calls, 1) + 1 >= limit ? error : 0;
}

static int is_called(int fd, const char *ending)
{
    char link[64];
    char path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    size_t extra = strlen(ending);
    return length > (ssize_t)extra && memcmp(path + length - extra, ending, extra) == 0;
}

static void nap(void)
{
    const char *value = getenv("SHIM_NAP");
    if (value) {
        struct timespec rest = {0, strtol(value, NULL, 10) * 1000000L};
        nanosleep(&rest, NULL);
    }
}

static int write_error(int fd, off_t offset)
{
    static atomic_long rows;
    static atomic_long records;
    if (gettid() != getpid() && is_called(fd, ".part")) {
        nap();
        return failing("SHIM_ROWS", &rows);
    }
    return offset > 0 && is_called(fd, ".journal") ? failing("SHIM_RECORDS", &records) : 0;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    ssize_t (*real)(int, const void *, size_t, off_t);
    void *found = next_function("pwrite");
    int error = write_error(fd, offset);
    memcpy(&real, &found, sizeof real);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, data, bytes, offset);
}

int fdatasync(int fd)
{
    static atomic_long calls;
    int (*real)(int);
    void *found = next_function("fdatasync");
    int error = is_called(fd, ".part") ? failing("SHIM_SYNC", &calls) : 0;
    memcpy(&real, &found, sizeof real);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    static long calls;
    int (*real)(int, const char *, int, const char *, unsigned);
    void *found = next_function("renameat2");
    const char *limit = setting("SHIM_RENAME");
    memcpy(&real, &found, sizeof real);
    if (limit && ++calls == strtol(limit, NULL, 10)) {
        raise(SIGKILL);
    }
    return real(from_dir, from, to_dir, to, flags);
}
