/* Links, owners, locks, and replacing a file while others read it. */
#include "tune/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The name that a link at `name` stands for. */
static char *store_target_of(const char *name, const char *target)
{
    const char *slash = strrchr(name, '/');
    int length = slash && target[0] != '/' ? (int)(slash + 1 - name) : 0;
    char *out = NULL;
    return asprintf(&out, "%.*s%s", length, name, target) < 0 ? NULL : out;
}

char *store_file_behind(const char *path, char why[OWNER_WORDS])
{
    enum { MOST_LINKS = 40 };
    char *name = strdup(path);
    for (int i = 0; name && i < MOST_LINKS; i++) {
        char target[PATH_MAX];
        if (!owner_may_be_used(name, why)) {
            free(name);
            return NULL;
        }
        ssize_t length = readlink(name, target, sizeof target - 1);
        if (length < 0) {
            return name; /* no link, or nothing there */
        }
        target[length] = '\0';
        char *next = store_target_of(name, target);
        free(name);
        name = next;
    }
    snprintf(why, OWNER_WORDS, "%s", strerror(name ? ELOOP : ENOMEM));
    free(name);
    return NULL;
}

/* Gives a file of ours the mode and the group of another one, as far as we may. */
static void store_make_alike(int fd, const struct stat *other, mode_t bits)
{
    struct stat own;
    if (fstat(fd, &own) == 0 && own.st_uid == geteuid() &&
        ((own.st_mode ^ other->st_mode) & bits || own.st_gid != other->st_gid)) {
        /* A group that we are not in stays out of it. */
        int is_shared = own.st_gid == other->st_gid || fchown(fd, (uid_t)-1, other->st_gid) == 0;
        mode_t group = is_shared ? 0 : 070;
        (void)fchmod(fd, other->st_mode & bits & ~group);
    }
}

static int store_open_lock(const char *name)
{
    struct stat info;
    char *path = NULL;
    int is_there = stat(name, &info) == 0 && S_ISREG(info.st_mode);
    if (is_there && access(name, W_OK) != 0) {
        return -1;
    }
    if (asprintf(&path, "%s.lock", name) < 0) {
        errno = ENOMEM;
        return -1;
    }
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = open(path, O_RDWR | O_CREAT | flags, 0666);
    if (fd < 0 && errno == EACCES) {
        fd = open(path, O_RDONLY | flags); /* does for a lock on most file systems */
    }
    int error = errno;
    free(path);
    if (fd >= 0 && is_there) {
        store_make_alike(fd, &info, 0666);
    }
    errno = error;
    return fd;
}

int store_file_lock(const char *name)
{
    enum { TRIES = 1000, PAUSE = 10000000 };
    int fd = store_open_lock(name);
    for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        const struct timespec pause = {0, PAUSE};
        if ((errno != EWOULDBLOCK && errno != EINTR) || i == TRIES) {
            int error = errno;
            close(fd);
            errno = error;
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return fd;
}

/* A new file beside `name`, *part for free(): mkostemp() would not ask the umask. */
static int store_open_part(const char *name, mode_t mode, char **part)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (asprintf(part, "%s.%ld.%d", name, (long)getpid(), i) < 0) {
            *part = NULL;
            errno = ENOMEM;
            return -1;
        }
        int fd = open(*part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
        free(*part);
        *part = NULL;
    }
    errno = EBUSY;
    return -1;
}

int store_file_write(const char *name, const struct text *text, mode_t fresh)
{
    char *part = NULL;
    struct stat info;
    int is_there = stat(name, &info) == 0;
    int fd = store_open_part(name, is_there ? 0600 : fresh, &part);
    int error = fd < 0 ? errno : 0;
    if (fd >= 0) {
        errno = 0;
        int done = write(fd, text->data, text->length) == (ssize_t)text->length;
        if (done && is_there) {
            store_make_alike(fd, &info, 0777);
        }
        done = done && fsync(fd) == 0;
        error = done ? 0 : errno ? errno : ENOSPC;
        if (close(fd) != 0 && !error) {
            error = errno;
        }
        if (!error && rename(part, name) != 0) {
            error = errno;
        }
        if (error) {
            (void)unlink(part);
        }
    }
    free(part);
    errno = error;
    return error == 0;
}
