/* A loop around each call. */
#include "io/again.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#define AGAIN(call)                                                                                \
    do {                                                                                           \
        int status;                                                                                \
        do {                                                                                       \
            status = (call);                                                                       \
        } while (status < 0 && errno == EINTR);                                                    \
        return status;                                                                             \
    } while (0)

/* Returns the third argument of open(), if there is one. */
static mode_t again_mode(int flags, va_list args)
{
    int makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    return makes ? (mode_t)va_arg(args, int) : 0;
}

#define AGAIN_ALL(function, kind, call)                                                            \
    int function(int fd, kind void *data, size_t bytes)                                            \
    {                                                                                              \
        kind char *at = data;                                                                      \
        while (bytes > 0) {                                                                        \
            ssize_t count = call(fd, at, bytes);                                                   \
            if (count == 0 || (count < 0 && errno != EINTR)) {                                     \
                return 0;                                                                          \
            }                                                                                      \
            at += count > 0 ? count : 0;                                                           \
            bytes -= count > 0 ? (size_t)count : 0;                                                \
        }                                                                                          \
        return 1;                                                                                  \
    }

AGAIN_ALL(again_read, , read)
AGAIN_ALL(again_write, const, write)

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = again_mode(flags, args);
    va_end(args);
    AGAIN(__real_open(path, flags, mode));
}

int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = again_mode(flags, args);
    va_end(args);
    AGAIN(__real_openat(folder, path, flags, mode));
}

int __wrap_stat(const char *path, struct stat *out)
{
    AGAIN(__real_stat(path, out));
}

int __wrap_lstat(const char *path, struct stat *out)
{
    AGAIN(__real_lstat(path, out));
}

int __wrap_fstat(int fd, struct stat *out)
{
    AGAIN(__real_fstat(fd, out));
}

int __wrap_fsync(int fd)
{
    AGAIN(__real_fsync(fd));
}

int __wrap_fdatasync(int fd)
{
    AGAIN(__real_fdatasync(fd));
}

int __wrap_ftruncate(int fd, off_t bytes)
{
    AGAIN(__real_ftruncate(fd, bytes));
}

int __wrap_sync_file_range(int fd, off_t offset, off_t bytes, unsigned flags)
{
    AGAIN(__real_sync_file_range(fd, offset, bytes, flags));
}
