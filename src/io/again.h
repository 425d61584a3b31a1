/* System calls that are repeated when a signal interrupts them (EINTR), as happens on network file
 * systems. The linker replaces the C library's functions by these in all of our code (Makefile:
 * --wrap). They have the same contracts, but never fail with EINTR. */
#ifndef VOLTMILL_IO_AGAIN_H
#define VOLTMILL_IO_AGAIN_H

#include <sys/stat.h>
#include <sys/types.h>

/* Read and write all of `bytes` bytes, however often it takes, also after signals. Return 1; 0
 * after an error (errno), or at the end of the file: some bytes may be done then. */
int again_read(int fd, void *data, size_t bytes);
int again_write(int fd, const void *data, size_t bytes);

/* As the C library's functions without __wrap_, with the same arguments and results; but a call
 * that a signal interrupts is repeated: they never fail with EINTR. */
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_stat(const char *path, struct stat *out);
int __wrap_lstat(const char *path, struct stat *out);
int __wrap_fstat(int fd, struct stat *out);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_ftruncate(int fd, off_t bytes);
int __wrap_sync_file_range(int fd, off_t offset, off_t bytes, unsigned flags);

/* The C library's own functions, by the names that the linker gives them. */
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
