/* System calls that are repeated when a signal interrupts them (EINTR), as happens on network file
 * systems. The linker replaces the C library's functions by these in all of our code (Makefile:
 * --wrap). They have the same contracts, but never fail with EINTR. */
#ifndef VOLTMILL_IO_AGAIN_H
#define VOLTMILL_IO_AGAIN_H

#include <sys/stat.h>
#include <sys/types.h>

/* again_read(), again_write(): read and write all of `bytes` bytes at the file's position, however
 * often it takes, also after signals. Return 1. Return 0 after an error, with errno, or at the end
 * of the file (errno is unchanged): some bytes may be done then. */
int again_read(int fd, void *data, size_t bytes);
int again_write(int fd, const void *data, size_t bytes);

/* __wrap_NAME(): the C library's function NAME(), with the same arguments, result (-1 after an
 * error) and errno. A call that a signal interrupts is repeated: none fails with EINTR. Any thread.
 */
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_stat(const char *path, struct stat *out);
int __wrap_lstat(const char *path, struct stat *out);
int __wrap_fstat(int fd, struct stat *out);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_ftruncate(int fd, off_t bytes);
int __wrap_sync_file_range(int fd, off_t offset, off_t bytes, unsigned flags);

/* __real_NAME(): the C library's own function NAME(), by the name that the linker gives it: with
 * the same arguments, result (-1 after an error) and errno, EINTR among them. For __wrap_NAME().
 * Any thread. */
int __real_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
int __real_stat(const char *path, struct stat *out);
int __real_lstat(const char *path, struct stat *out);
int __real_fstat(int fd, struct stat *out);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_ftruncate(int fd, off_t bytes);
int __real_sync_file_range(int fd, off_t offset, off_t bytes, unsigned flags);

#endif
