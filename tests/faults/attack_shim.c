/* Preloaded: counts every call of this process, of any thread and any library, on files in one
 * folder, and lets one of them meet its fate. In the environment:
 *
 * - ATTACK_FOLDER=DIR: the folder, an absolute path; names without a slash in front count, too: the
 *   process works there
 * - ATTACK_CALL=N: the N-th call, from 1
 * - ATTACK_FATE=F: kill, the process is killed before the call; eio, it fails with EIO; enospc, it
 *   fails with ENOSPC if it is one that needs room, else with EIO; link, hardlink: before it, the
 *   file ATTACK_NAME is moved away, and a link to ATTACK_LINK gets its name
 * - ATTACK_LOG=FILE: gets a line for each call, RANK NUMBER NAME FILE, in a run without
 * ATTACK_CALL; else one for that call
 * - ATTACK_RANK=R: only this rank of Open MPI
 * - ATTACK_APART=yes: processes that it starts, each counting for itself; else they are left alone,
 *   and it is not
 *
 * The call fails once; the same call again works. A close that fails has closed. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { LOOKS, WRITES };

static const char *folder;
static size_t folder_length;
static const char *fate;
static long victim;
static const char *log_path;
static long rank;
static atomic_long calls;

static void attack_begin(void)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    const char *only = getenv("ATTACK_RANK");
    const char *call = getenv("ATTACK_CALL");
    rank = number ? strtol(number, NULL, 10) : 0;
    int is_apart = getenv("ATTACK_BEGUN") != NULL;
    setenv("ATTACK_BEGUN", "yes", 1);
    atomic_store(&calls, 0);
    folder = NULL;
    if (is_apart != (getenv("ATTACK_APART") != NULL) || (only && strtol(only, NULL, 10) != rank)) {
        return;
    }
    fate = getenv("ATTACK_FATE");
    victim = call ? strtol(call, NULL, 10) : 0;
    log_path = getenv("ATTACK_LOG");
    folder_length = getenv("ATTACK_FOLDER") ? strlen(getenv("ATTACK_FOLDER")) : 0;
    folder = getenv("ATTACK_FOLDER");
}

__attribute__((constructor)) static void attack_load(void)
{
    attack_begin();
    if (pthread_atfork(NULL, NULL, attack_begin) != 0) {
        abort();
    }
}

static int attack_is_ours(const char *path)
{
    return folder && path && path[0] != '\0' &&
           (path[0] != '/' ||
            (strncmp(path, folder, folder_length) == 0 && path[folder_length] == '/'));
}

static void attack_log(long number, const char *name, const char *path)
{
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%ld %ld %s %s\n", rank, number, name, path);
    /* Not kept open: a process may close all that it does not know. */
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    long fd = log_path && length > 0 ? syscall(SYS_openat, AT_FDCWD, log_path, flags, 0666) : -1;
    if (fd >= 0) {
        syscall(SYS_write, fd, line, (size_t)length);
        syscall(SYS_close, fd);
    }
}

/* As somebody else would who may write to the folder; what fails is no harm. */
static void attack_swap(int is_hard)
{
    const char *name = getenv("ATTACK_NAME");
    const char *target = getenv("ATTACK_LINK");
    char away[PATH_MAX];
    if (!name || !target || snprintf(away, sizeof away, "%s.away", name) >= PATH_MAX) {
        abort();
    }
    syscall(SYS_renameat2, AT_FDCWD, name, AT_FDCWD, away, 0);
    if (is_hard) {
        syscall(SYS_linkat, AT_FDCWD, target, AT_FDCWD, name, 0);
    } else {
        syscall(SYS_symlinkat, target, AT_FDCWD, name);
    }
}

/* Counts a call on a file of ours; returns the error that it is to fail with, or 0. */
static int attack_path(const char *name, const char *path, enum kind kind)
{
    int before = errno;
    if (!attack_is_ours(path)) {
        return 0;
    }
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (victim == 0 || number == victim) {
        attack_log(number, name, path);
    }
    errno = before;
    if (number != victim || !fate) {
        return 0;
    }
    if (strcmp(fate, "kill") == 0) {
        raise(SIGKILL);
    }
    if (strcmp(fate, "link") == 0 || strcmp(fate, "hardlink") == 0) {
        attack_swap(fate[0] == 'h');
        errno = before;
        return 0;
    }
    return strcmp(fate, "enospc") == 0 && kind == WRITES ? ENOSPC : EIO;
}

static int attack_fd(const char *name, int fd, enum kind kind)
{
    char link[64];
    char path[PATH_MAX + 1];
    int before = errno;
    if (!folder || fd < 0) {
        return 0;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, (size_t)PATH_MAX);
    errno = before;
    if (length <= 0 || path[0] != '/') {
        return 0;
    }
    path[length] = '\0';
    return attack_path(name, path, kind);
}

/* The function that would have been called; each is looked for once. */
static void *attack_next(_Atomic(void *) *found, const char *name)
{
    void *function = atomic_load(found);
    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        atomic_store(found, function);
    }
    return function;
}

/* DEFINES(result, name, (parameters), (arguments), what fails): a call that may meet its fate. */
#define DEFINES(result, name, parameters, arguments, error, failed)                                \
    result name parameters;                                                                        \
    result name parameters                                                                         \
    {                                                                                              \
        static _Atomic(void *) found;                                                              \
        result(*real) parameters;                                                                  \
        void *function = attack_next(&found, #name);                                               \
        memcpy(&real, &function, sizeof real);                                                     \
        int reason = error;                                                                        \
        if (reason != 0) {                                                                         \
            errno = reason;                                                                        \
            return failed;                                                                         \
        }                                                                                          \
        return real arguments;                                                                     \
    }

#define ON_FD(result, name, parameters, arguments, kind)                                           \
    DEFINES(result, name, parameters, arguments, attack_fd(#name, fd, kind), -1)
#define ON_PATH(result, name, parameters, arguments, kind)                                         \
    DEFINES(result, name, parameters, arguments, attack_path(#name, path, kind), -1)

ON_FD(ssize_t, read, (int fd, void *data, size_t bytes), (fd, data, bytes), LOOKS)
ON_FD(ssize_t, pread, (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at), LOOKS)
ON_FD(ssize_t, pread64, (int fd, void *data, size_t bytes, off64_t at), (fd, data, bytes, at),
      LOOKS)
ON_FD(ssize_t, write, (int fd, const void *data, size_t bytes), (fd, data, bytes), WRITES)
ON_FD(ssize_t, pwrite, (int fd, const void *data, size_t bytes, off_t at), (fd, data, bytes, at),
      WRITES)
ON_FD(ssize_t, pwrite64, (int fd, const void *data, size_t bytes, off64_t at),
      (fd, data, bytes, at), WRITES)
ON_FD(int, fsync, (int fd), (fd), WRITES)
ON_FD(int, fdatasync, (int fd), (fd), WRITES)
ON_FD(int, sync_file_range, (int fd, off64_t at, off64_t bytes, unsigned flags),
      (fd, at, bytes, flags), WRITES)
ON_FD(int, fallocate, (int fd, int mode, off_t at, off_t bytes), (fd, mode, at, bytes), WRITES)
ON_FD(int, fallocate64, (int fd, int mode, off64_t at, off64_t bytes), (fd, mode, at, bytes),
      WRITES)
ON_FD(int, ftruncate, (int fd, off_t bytes), (fd, bytes), WRITES)
ON_FD(int, ftruncate64, (int fd, off64_t bytes), (fd, bytes), WRITES)
ON_FD(int, flock, (int fd, int operation), (fd, operation), LOOKS)
ON_FD(int, fstat, (int fd, struct stat *info), (fd, info), LOOKS)
ON_FD(int, fstat64, (int fd, struct stat64 *info), (fd, info), LOOKS)
ON_FD(int, fstatvfs, (int fd, struct statvfs *info), (fd, info), LOOKS)
ON_PATH(int, stat, (const char *path, struct stat *info), (path, info), LOOKS)
ON_PATH(int, stat64, (const char *path, struct stat64 *info), (path, info), LOOKS)
ON_PATH(int, lstat, (const char *path, struct stat *info), (path, info), LOOKS)
ON_PATH(int, lstat64, (const char *path, struct stat64 *info), (path, info), LOOKS)
ON_PATH(int, statvfs, (const char *path, struct statvfs *info), (path, info), LOOKS)
ON_PATH(int, access, (const char *path, int mode), (path, mode), LOOKS)
ON_PATH(int, unlink, (const char *path), (path), WRITES)
ON_PATH(int, rename, (const char *path, const char *to), (path, to), WRITES)
ON_PATH(int, link, (const char *path, const char *to), (path, to), WRITES)
ON_PATH(int, renameat2, (int from, const char *path, int there, const char *to, unsigned flags),
        (from, path, there, to, flags), WRITES)
DEFINES(DIR *, opendir, (const char *path), (path), attack_path("opendir", path, LOOKS), NULL)
DEFINES(struct dirent *, readdir, (DIR * folder_stream), (folder_stream),
        attack_fd("readdir", dirfd(folder_stream), LOOKS), NULL)
DEFINES(char *, realpath, (const char *path, char *real_path), (path, real_path),
        attack_path("realpath", path, LOOKS), NULL)
DEFINES(FILE *, fopen, (const char *path, const char *mode), (path, mode),
        attack_path("fopen", path, LOOKS), NULL)
DEFINES(FILE *, fopen64, (const char *path, const char *mode), (path, mode),
        attack_path("fopen64", path, LOOKS), NULL)
DEFINES(void *, mmap, (void *where, size_t bytes, int protection, int flags, int fd, off_t at),
        (where, bytes, protection, flags, fd, at), attack_fd("mmap", fd, LOOKS), MAP_FAILED)
DEFINES(void *, mmap64, (void *where, size_t bytes, int protection, int flags, int fd, off64_t at),
        (where, bytes, protection, flags, fd, at), attack_fd("mmap64", fd, LOOKS), MAP_FAILED)

/* Attacks a stream: at each call, though not every one reaches the file. */
static int attack_stream(const char *name, FILE *stream)
{
    return attack_fd(name, fileno(stream), LOOKS);
}

DEFINES(size_t, fread, (void *data, size_t size, size_t count, FILE *stream),
        (data, size, count, stream), attack_stream("fread", stream), 0)

/* Returns its error, and leaves errno. */
int posix_fallocate(int fd, off_t at, off_t bytes)
{
    static _Atomic(void *) found;
    int (*real)(int, off_t, off_t);
    void *function = attack_next(&found, "posix_fallocate");
    memcpy(&real, &function, sizeof real);
    int reason = attack_fd("posix_fallocate", fd, WRITES);
    return reason != 0 ? reason : real(fd, at, bytes);
}

int close(int fd)
{
    static _Atomic(void *) found;
    int (*real)(int);
    void *function = attack_next(&found, "close");
    memcpy(&real, &function, sizeof real);
    int reason = attack_fd("close", fd, WRITES);
    int status = real(fd);
    if (reason != 0) {
        errno = reason;
        return -1;
    }
    return status;
}

#define OPENS(name)                                                                                \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        static _Atomic(void *) found;                                                              \
        int (*real)(const char *, int, ...);                                                       \
        void *function = attack_next(&found, #name);                                               \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;                                  \
        va_end(args);                                                                              \
        memcpy(&real, &function, sizeof real);                                                     \
        int reason = attack_path(#name, path, flags & O_CREAT ? WRITES : LOOKS);                   \
        if (reason != 0) {                                                                         \
            errno = reason;                                                                        \
            return -1;                                                                             \
        }                                                                                          \
        return real(path, flags, mode);                                                            \
    }
OPENS(open)
OPENS(open64)

int openat(int from, const char *path, int flags, ...)
{
    static _Atomic(void *) found;
    int (*real)(int, const char *, int, ...);
    void *function = attack_next(&found, "openat");
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    memcpy(&real, &function, sizeof real);
    int reason = attack_path("openat", path, flags & O_CREAT ? WRITES : LOOKS);
    if (reason != 0) {
        errno = reason;
        return -1;
    }
    return real(from, path, flags, mode);
}
