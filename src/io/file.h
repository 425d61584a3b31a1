/* Files being written: made beside their final name, reserved before the work, complete only when
 * renamed. */
#ifndef VOLTMILL_IO_FILE_H
#define VOLTMILL_IO_FILE_H

#include "io/reason.h"

#include <stdint.h>

/* cfitsio has functions of the same names, and calls ours in their place if it sees them. */
#pragma GCC visibility push(hidden)

/* Make names beside `path`, *out for free(). file_part_name(): under which it is written, path +
 * ".part". file_journal_name(): that of its journal, path + ".journal". file_packed_name(): that of
 * its compressed rows, path + ".packed.part", or path + ".p.part" where that would be too long.
 * Fail with DEVICE (memory), and leave *out unchanged. */
status_t file_part_name(const char *path, char **out);
status_t file_journal_name(const char *path, char **out);
status_t file_packed_name(const char *path, char **out);

/* Checks that a file can be made at `path`. Its folder is there and can be written to, or can be
 * made (folder_check()). No file has the name, or `force` is not 0 and an ordinary file or a link
 * has it. Makes nothing. Fails with USAGE: it cannot be made, or exists; with DATA: it cannot be
 * looked up; with DEVICE (memory). */
status_t file_check_new(const char *path, int force);

/* Sets *out to 1 if a file has the name, even a link that leads nowhere, else to 0. Fails with DATA
 * if the name cannot be looked up, and so is not known to be free; *out is 0 then. */
status_t file_exists(const char *path, int *out);

/* file_is_ordinary(), file_is_folder(): set *out to 1 if an ordinary file, or a folder, has this
 * name, through links; else to 0. Fail with DATA if the name cannot be looked up; *out is 0 then.
 */
status_t file_is_ordinary(const char *path, int *out);
status_t file_is_folder(const char *path, int *out);

/* Sets the length of an open file to `bytes`; bytes that are added read as zeros. `path` is for the
 * message. Fails with DATA, NO_SPACE: the length is unchanged. */
status_t file_cut(int fd, const char *path, uint64_t bytes);

/* Cuts the bytes after the first `bytes` bytes of an open file, which another program has appended
 * to a file of ours, and warns of it; does nothing if there are none. `path` is for messages. Fails
 * with DATA, NO_SPACE: the length is unchanged. */
status_t file_cut_appended(int fd, const char *path, uint64_t bytes);

/* Sets *out to 1 if two names lead to one file, else to 0. The file, and folders on the way to it,
 * may be missing. Fails with DATA if a name cannot be looked up; with DEVICE (memory); *out is
 * unchanged then. */
status_t file_is_same(const char *a, const char *b, int *out);

/* Returns 1 if the open file has no name any more: it was removed, or replaced. Returns 0 if it has
 * one, or if that is unknown. */
int file_is_nameless(int fd);
/* Returns 1 if `path` itself, not where a link leads, is a name of the open file. Returns 0 if it
 * is not, or if the name or the file cannot be looked up. */
int file_is_on(int fd, const char *path);
/* Creates a new file for reading and writing, after removing the file that has the name (a link
 * itself, not where it leads). Its mode is 0666 without the umask. *fd is for file_close(). Fails
 * with USAGE (the name, the user's rights), NO_SPACE, DEVICE (memory, descriptors), else DATA. *fd
 * is unchanged then; the old file may be gone. */
status_t file_open_new(const char *path, int *fd);

/* Reserves disk space for the first `bytes` >= 1 bytes of the file `path`, open for writing as
 * `fd`, so that a full disk shows before the work. Bytes that the file has already count. A shorter
 * file becomes `bytes` long. If the file system cannot reserve, and in memory, only compares with
 * the free space, and the length stays. Fails with NO_SPACE, giving bytes needed and free; with
 * USAGE: the folder (folder_nearest()); with DATA: file or folder cannot be looked up, or the space
 * cannot be reserved; with DEVICE (memory). */
status_t file_reserve(int fd, const char *path, uint64_t bytes);

/* file_free_bytes(): sets *bytes to the bytes free to this user on the file system of the folder of
 * `path`, or, if that is missing, of the last existing folder on the way to it. file_device(): sets
 * *device to the number of that file system. Fail with USAGE (folder_nearest()), DATA, DEVICE
 * (memory), and set 0. */
status_t file_free_bytes(const char *path, uint64_t *bytes);
status_t file_device(const char *path, uint64_t *device);

/* Opens whatever has the name for reading, through links, and waits for nothing (a pipe's writer).
 * *fd is for file_close(). Fails with DATA: missing, may not be opened; with DEVICE (memory,
 * descriptors). *fd is -1 then. */
status_t file_open_read(const char *path, int *fd);
/* Closes a descriptor; below 0 does nothing. */
void file_close(int fd);
SCOPED_END(file_close, int)
/* Returns *fd, and sets it to -1: moves the descriptor. */
int file_move(int *fd);
/* Writes `bytes` bytes at the byte `offset` of an open file, whose position stays. In a file system
 * in memory several threads write long data. `path` is for messages. Fails with NO_SPACE (full,
 * over quota, too large) or DATA; some bytes may be written then. Any thread. */
status_t file_write(int fd, const char *path, uint64_t offset, const void *data, uint64_t bytes);
/* Sets `bytes` bytes, at most 128 KiB, from `at` on (0: at the offset) of the part of a file that
 * file_fill() writes. Called by several threads at once. Its failure becomes file_fill()'s. */
typedef status_t file_fill_t(void *context, uint64_t at, uint64_t bytes, void *to);
/* Writes `bytes` bytes from the byte `offset` of an open file on (`path`: for messages), by at most
 * `threads` threads (pool_try_each()). Each calls `fill` for some of them: multiples of 8 bytes if
 * `offset` and `bytes` are. In a file system in memory the bytes are set in a mapping of the file:
 * pwrite() writes a file on one thread at a time there. Fails with NO_SPACE, DATA, and as `fill`
 * does: no further piece begins then, and those that were written stay. */
status_t file_fill(int fd, const char *path, uint64_t offset, uint64_t bytes, uint32_t threads,
                   file_fill_t *fill, void *context);
/* Bytes of a file from an offset on, for file_copy(). */
struct file_place {
    int fd;
    const char *path;
    uint64_t offset;
};
/* Copies `bytes` bytes from one place to another, which do not overlap, by several threads where
 * there are many processors. Fails with DATA, also if the source ends before; with NO_SPACE; some
 * bytes may be copied then. */
status_t file_copy(const struct file_place *from, const struct file_place *to, uint64_t bytes);
/* Returns whether the open file is in a file system in memory; 0 if this is unknown. */
int file_is_in_memory(int fd);
/* Some bytes of a file in memory, as memory that its owner writes: several threads write their
 * parts of one file at once, for which pwrite() would take turns. */
struct file_part {
    char *data; /* NULL: none */
    uint64_t offset, bytes;
    int fd;
    uint64_t file_bytes; /* length of the file */
    char *whole;         /* addresses that are to be unmapped, */
    uint64_t mapped;     /* and their bytes */
};
/* Maps `bytes` >= 1 bytes, from byte `offset` on, of a file in a file system in memory, open for
 * reading and writing. A file that ends before their end becomes longer. Allocates their pages by
 * at most `threads` threads (pool_try_each()), as huge pages where the system makes some. For
 * file_part_unmap(); `fd` stays open until then. Returns a part whose `data` is NULL in other file
 * systems, or where that is not possible: file_write() reports the cause. The file must stay as
 * long: a process whose mapping is cut by another one is ended by SIGBUS. */
struct file_part file_part_map(int fd, uint64_t offset, uint64_t bytes, uint32_t threads);
/* Returns the number of threads, at least 1, that write `bytes` bytes into a part: 1 with few
 * processors, or fewer than 2 MiB, where pwrite() is as fast. */
uint32_t file_part_threads(uint64_t bytes);
/* Sets the first `bytes` bytes of a mapped part (part->data is not NULL) by at most `threads`
 * threads (pool_try_each()). Each calls `fill` for some of them; `at` counts from the part's begin.
 * Fails as `fill` does: no further piece begins then, and those that were set stay. */
status_t file_part_fill(const struct file_part *part, uint64_t bytes, uint32_t threads,
                        file_fill_t *fill, void *context);
/* Unmaps a part, and sets its data to NULL; does nothing for one without data. `fd` stays open. */
void file_part_unmap(struct file_part *part);
/* Reads `bytes` bytes from the byte `offset` of an open file on, whose position stays. `path` is
 * for messages. Fails with DATA, also if the file ends before; `data` is undefined then. Any
 * thread. */
status_t file_read(int fd, const char *path, uint64_t offset, void *data, uint64_t bytes);
/* Give the system's cache of files hints about `bytes` bytes from the byte `offset` on; errors are
 * ignored. file_expect(): they will be read soon. file_forget(): they will not be needed again. */
void file_expect(int fd, uint64_t offset, uint64_t bytes);
void file_forget(int fd, uint64_t offset, uint64_t bytes);
/* Returns 1 if `bytes` bytes are more than half of this machine's memory, and would displace
 * everything else from it; 0 if not, or if its memory is unknown. */
int file_is_huge(uint64_t bytes);

/* Removes a file by its name (of a link, the link), if it exists. Warns if it cannot be removed. */
void file_remove(const char *path);

/* file_sync_data(): writes the bytes of an open file to the disk. file_sync(): its metadata, too.
 * `path` is for the message. Fail with NO_SPACE, DATA: some may not be on the disk. */
status_t file_sync_data(int fd, const char *path);
status_t file_sync(int fd, const char *path);
/* Renames `part`, which is open as `fd`, to `path`, and syncs the name. Without `force`, a file
 * that came to be at `path` in the meantime stays, and so does `part`: fails with USAGE. Fails with
 * NO_SPACE, and with DATA, also if `part` is the name of another file by now: `part` stays. Fails
 * with DEVICE (memory) after the renaming. */
status_t file_publish(int fd, const char *part, const char *path, int force);

#pragma GCC visibility pop

#endif
