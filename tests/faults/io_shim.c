/* Preloaded library that makes files and memory slow, or fail late, as real ones do. NAME=N:WHAT in
 * the environment: the N-th such call of this process and all after it fail with the number WHAT of
 * errno.h; NAME=N!:WHAT: the N-th alone. Reads and writes can also be `short` (half of what was
 * asked for, each), or `hang`; `kill` and `crash` end the process, `stop` stops it.
 *
 *   SHIM_WRITE     all that is written to x.part and x.journal, by any thread
 *   SHIM_ROWS      rows that are written to x.part, by the writer thread
 *   SHIM_CREATE    writes of the main thread there
 *   SHIM_RECORDS   records that are written to x.journal, once its head is
 *   SHIM_HEAD      all that is written to x.journal
 *   SHIM_SAMPLES   samples that are read, by the reader thread
 *   SHIM_LOOK      reads of the main thread
 *   SHIM_RESUMED   rows of earlier runs that are read from x.part
 *   SHIM_SYNC      rows that are synced
 *   SHIM_FSYNC     files that are synced with their metadata
 *   SHIM_KEPT      journals that the main thread syncs without their metadata, as when a run fails
 *   SHIM_RESERVE   disk space that is reserved
 *   SHIM_PAGES     huge pages that files in memory get
 *   SHIM_OPEN      files that the program opens
 *   SHIM_MAKE      files and folders that the program makes
 *   SHIM_LOCK      locks
 *   SHIM_CUT       files that are cut
 *   SHIM_REMOVE    names of x.part and x.journal that are removed
 *   SHIM_NAME      products that get their names
 *   SHIM_CLOSE     closes of x.part by the main thread; it is closed, whatever the result
 *   SHIM_MEMORY    memory that the program itself allocates
 *   SHIM_AWAY      looks at, opens, locks, writes, syncs and renames paths that contain
 * SHIM_AWAY_AT
 *   SHIM_FSTAT     looks of the main thread at an open x.part
 *
 *   SHIM_COUNTS=FILE  at the end writes how many calls of each name there were, a line each: as
 *                     long as none fails, N counts to that
 *   SHIM_BAD=FROM-TO  bytes of x.h5 that are unreadable
 *   SHIM_NAP=N     rests N ms before rows are written, on every rank
 *   SHIM_START=N   signal N comes while MPI begins
 *   SHIM_WAKE=N    rests N ms after a wait for signals in which none came
 *   SHIM_RENAME=N  the N-th product that gets its name: this process is killed before
 *   SHIM_PROCESSORS=N  there are N processors, says OpenMP
 *   SHIM_LUSTRE=1  paths are on Lustre, say statfs() and fstatfs()
 *   SHIM_RANK=R    all others only on this rank of Open MPI
 *   SHIM_APART=1   all others only in the child that opens files */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { SHORT = 10000 };

/* Counted calls. */
enum counter {
    WRITE,
    ROWS,
    CREATE,
    RECORDS,
    HEAD,
    SAMPLES,
    LOOK,
    RESUMED,
    SYNC,
    FSYNC,
    KEPT,
    RESERVE,
    OPEN,
    MAKE,
    LOCK,
    CUT,
    NAME,
    REMOVE,
    CLOSE,
    MEMORY,
    AWAY,
    FSTAT,
    PAGES,
    COUNTERS
};
static const char *const names[COUNTERS] = {
    "SHIM_WRITE", "SHIM_ROWS",    "SHIM_CREATE", "SHIM_RECORDS", "SHIM_HEAD", "SHIM_SAMPLES",
    "SHIM_LOOK",  "SHIM_RESUMED", "SHIM_SYNC",   "SHIM_FSYNC",   "SHIM_KEPT", "SHIM_RESERVE",
    "SHIM_OPEN",  "SHIM_MAKE",    "SHIM_LOCK",   "SHIM_CUT",     "SHIM_NAME", "SHIM_REMOVE",
    "SHIM_CLOSE", "SHIM_MEMORY",  "SHIM_AWAY",   "SHIM_FSTAT",   "SHIM_PAGES"};
static atomic_long calls[COUNTERS];

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *given);
int omp_get_num_procs(void);
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static void *next_function(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static const char *setting(const char *name);

int statfs(const char *path, struct statfs *info)
{
    void *found = next_function("statfs");
    int (*next)(const char *, struct statfs *);
    memcpy(&next, &found, sizeof next);
    int status = next(path, info);
    info->f_type = setting("SHIM_LUSTRE") ? 0x0bd00bd0 : info->f_type;
    return status;
}

int fstatfs(int fd, struct statfs *info)
{
    void *found = next_function("fstatfs");
    int (*next)(int, struct statfs *);
    memcpy(&next, &found, sizeof next);
    int status = next(fd, info);
    info->f_type = setting("SHIM_LUSTRE") ? 0x0bd00bd0 : info->f_type;
    return status;
}

/* The child is the program with another command. */
static int is_apart(void)
{
    char words[4096];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY);
    ssize_t count = syscall(SYS_read, fd, words, sizeof words);
    (void)syscall(SYS_close, fd);
    return count > 0 && memmem(words, (size_t)count, "--apart", 7) != NULL;
}

static const char *setting(const char *name)
{
    const char *only = getenv("SHIM_RANK");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (getenv("SHIM_APART") && !is_apart()) {
        return NULL;
    }
    return only && (!rank || strcmp(only, rank) != 0) ? NULL : getenv(name);
}

static void hang(void)
{
    for (;;) {
        pause();
    }
}

/* Counts a call; gives what is wrong with it, or 0. */
static int failing(enum counter counter)
{
    long number = atomic_fetch_add(&calls[counter], 1) + 1;
    const char *value = setting(names[counter]);
    const char *what = value ? strchr(value, ':') : NULL;
    long from = what ? strtol(value, NULL, 10) : 0;
    if (!what || number < from || (number > from && what[-1] == '!')) {
        return 0;
    }
    what++;
    if (strcmp(what, "hang") == 0) {
        hang();
    }
    if (strcmp(what, "kill") == 0) {
        raise(SIGKILL);
    }
    if (strcmp(what, "stop") == 0) {
        raise(SIGSTOP);
    }
    if (strcmp(what, "crash") == 0) {
        raise(SIGSEGV);
    }
    return strcmp(what, "short") == 0 ? SHORT : (int)strtol(what, NULL, 10);
}

/* A forked process counts for itself, as one begun in another way does. */
static void count_anew(void)
{
    for (int i = 0; i < COUNTERS; i++) {
        atomic_store(&calls[i], 0);
    }
}

__attribute__((constructor)) static void begin(void)
{
    if (pthread_atfork(NULL, NULL, count_anew) != 0) {
        abort();
    }
}

__attribute__((destructor)) static void tell_counts(void)
{
    const char *path = setting("SHIM_COUNTS");
    /* Not what MPI starts beside it. */
    int is_ours = strcmp(program_invocation_short_name, "voltmill") == 0;
    FILE *file = path && is_ours ? fopen(path, "w") : NULL;
    for (int i = 0; file && i < COUNTERS; i++) {
        fprintf(file, "%s %ld\n", names[i], atomic_load(&calls[i]));
    }
    if (file && fclose(file) != 0) {
        abort();
    }
}

static int is_main_thread(void)
{
    return gettid() == getpid();
}

static ssize_t path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, PATH_MAX - 1);
}

static int is_called(int fd, const char *ending)
{
    char path[PATH_MAX];
    ssize_t length = path_of(fd, path);
    size_t extra = strlen(ending);
    return length > (ssize_t)extra && memcmp(path + length - extra, ending, extra) == 0;
}

static int away_at(const char *path)
{
    const char *part = setting("SHIM_AWAY_AT");
    return part && is_main_thread() && strstr(path, part) ? failing(AWAY) : 0;
}

static int away(int fd)
{
    char path[PATH_MAX] = "";
    ssize_t length = setting("SHIM_AWAY_AT") ? path_of(fd, path) : 0;
    path[length > 0 ? length : 0] = '\0';
    return away_at(path);
}

static int fail_with(int error)
{
    errno = error;
    return -1;
}

int stat(const char *path, struct stat *out)
{
    int (*real)(const char *, struct stat *);
    void *found = next_function("stat");
    int error = away_at(path);
    memcpy(&real, &found, sizeof real);
    return error ? fail_with(error) : real(path, out);
}

int fstat(int fd, struct stat *out)
{
    int (*real)(int, struct stat *);
    void *found = next_function("fstat");
    int error = is_main_thread() && is_called(fd, ".part") ? failing(FSTAT) : 0;
    memcpy(&real, &found, sizeof real);
    return error ? fail_with(error) : real(fd, out);
}

int lstat(const char *path, struct stat *out)
{
    int (*real)(const char *, struct stat *);
    void *found = next_function("lstat");
    int error = away_at(path);
    memcpy(&real, &found, sizeof real);
    return error ? fail_with(error) : real(path, out);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *);
    void *found = next_function("rename");
    int error = away_at(from);
    memcpy(&real, &found, sizeof real);
    return error ? fail_with(error) : real(from, to);
}

static int is_thread(const char *name)
{
    char mine[16] = "";
    return pthread_getname_np(pthread_self(), mine, sizeof mine) == 0 && strcmp(mine, name) == 0;
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
    int is_part = is_called(fd, ".part");
    if (!is_part && !is_called(fd, ".journal")) {
        return 0;
    }
    int error = failing(WRITE);
    if (is_part && is_main_thread()) {
        int created = failing(CREATE);
        return error ? error : created;
    }
    if (is_part) {
        nap();
        int rows = failing(ROWS);
        return error ? error : rows;
    }
    int head = failing(HEAD);
    int record = offset != 0 ? failing(RECORDS) : 0;
    return error ? error : head ? head : record;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    ssize_t (*real)(int, const void *, size_t, off_t);
    void *found = next_function("pwrite");
    int error = write_error(fd, offset);
    error = error ? error : away(fd);
    memcpy(&real, &found, sizeof real);
    if (error != 0 && error != SHORT) {
        errno = error;
        return -1;
    }
    return real(fd, data, error == SHORT ? (bytes + 1) / 2 : bytes, offset);
}

/* Returns whether a read includes unreadable bytes. */
static int is_bad(off_t offset, size_t bytes)
{
    const char *value = setting("SHIM_BAD");
    long from;
    long to;
    return value && sscanf(value, "%ld-%ld", &from, &to) == 2 && offset < to &&
           offset + (off_t)bytes > from;
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
    ssize_t (*real)(int, void *, size_t, off_t);
    void *found = next_function("pread");
    int error = 0;
    memcpy(&real, &found, sizeof real);
    if (is_called(fd, ".h5")) {
        error = is_main_thread() ? failing(LOOK) : failing(SAMPLES);
        error = !error && !is_main_thread() && is_bad(offset, bytes) ? EIO : error;
    }
    if (is_called(fd, ".part") && is_thread("resumed")) {
        nap();
        error = failing(RESUMED);
    }
    if (error != 0 && error != SHORT) {
        errno = error;
        return -1;
    }
    return real(fd, data, error == SHORT ? (bytes + 1) / 2 : bytes, offset);
}

/* Calls int name(fd) unless it is to fail. */
static int call_fd(const char *name, int fd, int error)
{
    int (*real)(int);
    void *found = next_function(name);
    memcpy(&real, &found, sizeof real);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd);
}

int close(int fd)
{
    int error = is_main_thread() && is_called(fd, ".part") ? failing(CLOSE) : 0;
    int status = call_fd("close", fd, 0);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return status;
}

int fdatasync(int fd)
{
    int is_kept = is_main_thread() && is_called(fd, ".journal");
    return call_fd("fdatasync", fd,
                   is_called(fd, ".part") ? failing(SYNC)
                   : is_kept              ? failing(KEPT)
                                          : 0);
}

int fsync(int fd)
{
    int is_ours = is_called(fd, ".part") || is_called(fd, ".journal");
    int error = is_ours ? failing(FSYNC) : 0;
    return call_fd("fsync", fd, error ? error : away(fd));
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    int (*real)(int, int, off_t, off_t);
    void *found = next_function("fallocate");
    int error = failing(RESERVE);
    memcpy(&real, &found, sizeof real);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, mode, offset, bytes);
}

int madvise(void *from, size_t bytes, int advice)
{
    enum { COLLAPSE = 25 };
    int (*real)(void *, size_t, int);
    void *found = next_function("madvise");
    int error = advice == COLLAPSE ? failing(PAGES) : 0;
    memcpy(&real, &found, sizeof real);
    return error ? fail_with(error) : real(from, bytes, advice);
}

int omp_get_num_procs(void)
{
    const char *value = setting("SHIM_PROCESSORS");
    int (*real)(void);
    void *found = next_function("omp_get_num_procs");
    memcpy(&real, &found, sizeof real);
    return value ? (int)strtol(value, NULL, 10) : real();
}

int ftruncate(int fd, off_t bytes)
{
    int (*real)(int, off_t);
    void *found = next_function("ftruncate");
    int error = is_called(fd, ".journal") ? failing(CUT) : 0;
    memcpy(&real, &found, sizeof real);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, bytes);
}

int unlink(const char *path)
{
    int (*real)(const char *);
    void *found = next_function("unlink");
    size_t length = strlen(path);
    int is_ours = (length > 5 && strcmp(path + length - 5, ".part") == 0) ||
                  (length > 8 && strcmp(path + length - 8, ".journal") == 0);
    int error = is_ours ? failing(REMOVE) : 0;
    memcpy(&real, &found, sizeof real);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(path);
}

int flock(int fd, int operation)
{
    int (*real)(int, int);
    void *found = next_function("flock");
    int error = is_called(fd, ".part") ? failing(LOCK) : 0;
    error = error ? error : away(fd);
    memcpy(&real, &found, sizeof real);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, operation);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    static long kills;
    int (*real)(int, const char *, int, const char *, unsigned);
    void *found = next_function("renameat2");
    const char *limit = setting("SHIM_RENAME");
    memcpy(&real, &found, sizeof real);
    if (limit && ++kills == strtol(limit, NULL, 10)) {
        raise(SIGKILL);
    }
    int error = failing(NAME);
    error = error ? error : away_at(from);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(from_dir, from, to_dir, to, flags);
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *given)
{
    int (*real)(int *, char ***, int, int *);
    void *found = next_function("MPI_Init_thread");
    const char *number = setting("SHIM_START");
    memcpy(&real, &found, sizeof real);
    if (number) {
        (void)kill(getpid(), (int)strtol(number, NULL, 10)); /* any thread may take it */
    }
    return real(argc, argv, wanted, given);
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *most)
{
    int (*real)(const sigset_t *, siginfo_t *, const struct timespec *);
    void *found = next_function("sigtimedwait");
    const char *late = setting("SHIM_WAKE");
    memcpy(&real, &found, sizeof real);
    int number = real(set, info, most);
    if (late && number < 0) {
        struct timespec rest = {0, strtol(late, NULL, 10) * 1000000L};
        nanosleep(&rest, NULL);
    }
    return number;
}

/* Where the program's own instructions lie. */
static uintptr_t program_from;
static uintptr_t program_to;

static int look_at_program(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            program_from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            program_to = program_from + info->dlpi_phdr[i].p_memsz;
        }
    }
    return 1; /* the first is the program */
}

__attribute__((constructor)) static void find_program(void)
{
    dl_iterate_phdr(look_at_program, NULL);
}

static int is_program(const void *caller)
{
    return (uintptr_t)caller >= program_from && (uintptr_t)caller < program_to;
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...);
    void *found = next_function("open");
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    memcpy(&real, &found, sizeof real);
    int is_ours = is_program(__builtin_return_address(0));
    int error = is_ours && strstr(path, ".h5") ? failing(OPEN) : 0;
    error = error == 0 && is_ours && flags & O_CREAT ? failing(MAKE) : error;
    error = error == 0 && is_ours ? away_at(path) : error;
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(path, flags, mode);
}

int mkdir(const char *path, mode_t mode)
{
    int (*real)(const char *, mode_t);
    void *found = next_function("mkdir");
    int error = is_program(__builtin_return_address(0)) ? failing(MAKE) : 0;
    memcpy(&real, &found, sizeof real);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(path, mode);
}

static int lacks_memory(const void *caller)
{
    if (program_to == 0 || !is_program(caller) || failing(MEMORY) == 0) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return lacks_memory(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    return lacks_memory(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t bytes)
{
    return lacks_memory(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (lacks_memory(__builtin_return_address(0))) {
        return ENOMEM;
    }
    *out = __libc_memalign(alignment, bytes);
    return *out ? 0 : ENOMEM;
}
