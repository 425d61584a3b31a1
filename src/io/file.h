/* Files being written: made beside their final name, reserved before the work, complete only when
 * renamed. */
#ifndef VOLTMILL_IO_FILE_H
#define VOLTMILL_IO_FILE_H

#include "io/reason.h"

#include <stdint.h>

/* cfitsio has functions of the same names, and calls ours in their place if it sees them. */
#pragma GCC visibility push(hidden)

/* Make the name under which `path` is written, path + ".part", that of its journal, path +
 * ".journal", and that of its compressed rows, path + ".packed.part", or ".p.part" where that would
 * be too long; for free(). Fail with DEVICE (memory), and leave *out unchanged. */
status_t file_part_name(const char *path, char **out);
status_t file_journal_name(const char *path, char **out);
status_t file_packed_name(const char *path, char **out);

/* Checks that `path` can be made: its folder is there and can be written to, or can be made
 * (folder_check()), and nothing but an ordinary file (or a link) has its name, and that only if
 * `force`. Makes nothing. Fails with USAGE: it cannot be made, or exists; with DATA: it cannot be
 * looked up; with DEVICE (memory). */
status_t file_check_new(const char *path, int force);

/* Sets *out to whether the name exists, even as a link that leads nowhere. Fails with DATA if this
 * is unknown: a name that cannot be looked up is not free; *out is 0 then. */
status_t file_exists(const char *path, int *out);

/* Set *out to whether an ordinary file, or a folder, has this name, through links; 0 if nothing has
 * it. Fail with DATA if the name cannot be looked up; *out is 0 then. */
status_t file_is_ordinary(const char *path, int *out);
status_t file_is_folder(const char *path, int *out);

/* Sets the length of an open file in bytes; bytes that are added read as zeros. `path` is for the
 * message. Fails with DATA, NO_SPACE. */
status_t file_cut(int fd, const char *path, uint64_t bytes);

/* Cuts the bytes after the first `bytes` ones, which another program has appended to a file of
 * ours, and warns of it; does nothing if there are none. `path` is for messages. Fails with DATA,
 * NO_SPACE. */
status_t file_cut_appended(int fd, const char *path, uint64_t bytes);

/* Sets *out to whether two names lead to one existing file, or would lead to one if it, and folders
 * on the way to it, were made. Fails with DATA if one cannot be looked up; with DEVICE (memory);
 * *out is unchanged then. */
status_t file_is_same(const char *a, const char *b, int *out);

/* Returns whether the open file was removed, or replaced by another file of its name. 0 if this is
 * unknown. */
int file_is_nameless(int fd);
/* Returns whether `path` itself, not where a link leads, is a name of the open file. 0 also if this
 * is unknown: the name or the file cannot be looked up. */
int file_is_on(int fd, const char *path);
/* Creates a new file for reading and writing, after removing the file that has the name (a link
 * itself, not where it leads); mode 0666 without the umask. Fails with USAGE (the name, the user's
 * rights), NO_SPACE, DEVICE (memory, descriptors), else DATA; *fd is unchanged then. */
status_t file_open_new(const char *path, int *fd);

/* Reserves disk space for the first `bytes` >= 1 bytes of the file `path`, open for writing as
 * `fd`, what it has already included, so that a full disk shows before the work. A shorter file
 * becomes as long. If the file system cannot reserve, and in memory, only compares with the free
 * space, and the length stays. Fails with NO_SPACE (giving bytes needed and free), USAGE and DATA
 * (file or folder cannot be looked up; DATA also if it cannot be reserved); with DEVICE (memory).
 */
status_t file_reserve(int fd, const char *path, uint64_t bytes);

/* file_free_bytes(): bytes free to this user on the file system of the folder of `path`, or, if
 * that is missing, of the last existing one on the way to it. file_device(): the number of that
 * file system. Fail with USAGE (folder_nearest()), DATA, DEVICE (memory), and set 0. */
status_t file_free_bytes(const char *path, uint64_t *bytes);
status_t file_device(const char *path, uint64_t *device);

/* Opens whatever has the name for reading, and waits for nothing (a pipe's writer). Fails with
 * DATA; with DEVICE when this process may open no more, or there is no memory. *fd is -1 then. */
status_t file_open_read(const char *path, int *fd);
/* Closes a descriptor; below 0 does nothing. */
void file_close(int fd);
SCOPED_END(file_close, int)
/* Returns *fd, and sets it to -1: moves the descriptor. */
int file_move(int *fd);
/* Writes all bytes at the offset of an open file, whose position stays, many to a file system in
 * memory by several threads. `path` is for messages. Fails with NO_SPACE (full, over quota, too
 * large) or DATA; some bytes may be written then. */
status_t file_write(int fd, const char *path, uint64_t offset, const void *data, uint64_t bytes);
/* Sets `bytes` bytes, at most 128 KiB, from `at` on (0: at the offset) of the part of a file that
 * file_fill() writes. Called by several threads at once. Its failure becomes file_fill()'s. */
typedef status_t file_fill_t(void *context, uint64_t at, uint64_t bytes, void *to);
/* Writes `bytes` bytes at the offset of an open file (`path`: for messages) by at most `threads`
 * threads (pool_try_each()), each of which calls `fill` for some of them: multiples of 8 if both
 * numbers are. In a file system in memory, where pwrite() writes a file on one thread at a time,
 * more than one write through a mapping. Fails with NO_SPACE, DATA, and as `fill` does; begins
 * nothing more then, and leaves what was written. */
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
/* Some bytes of a file in memory, as memory that its owner writes: several threads write their
 * parts of one file at once, for which pwrite() would take turns. */
struct file_part {
    char *data; /* NULL: none */
    uint64_t offset, bytes;
    int fd;
    uint64_t file_bytes; /* length of the file */
    char *whole, *map;   /* whole: the mapping's begin; map: the file's from a huge page on */
    uint64_t mapped;     /* bytes of `whole` */
};
/* Maps `bytes` >= 1 bytes, from byte `offset` on, of a file in a file system in memory, open for
 * reading and writing, and allocates their pages by as many threads (pool_try_each()), as huge
 * pages where the system makes some; a file that ends before their end becomes longer. For
 * file_part_unmap(). There are none (data NULL) in other file systems, or where that is not
 * possible: file_write() reports the cause. */
struct file_part file_part_map(int fd, uint64_t offset, uint64_t bytes, uint32_t threads);
/* Returns the number of threads that write into a part: 1 with few processors, where file_write()
 * is as fast. */
uint32_t file_part_threads(void);
/* Does as file_fill() with the first `bytes` bytes of a mapped part; `at` counts from its begin.
 * Fails as `fill` does. */
status_t file_part_fill(const struct file_part *part, uint64_t bytes, uint32_t threads,
                        file_fill_t *fill, void *context);
/* Unmaps a part, and sets its data to NULL; does nothing for one without data. */
void file_part_unmap(struct file_part *part);
/* Reads all bytes at the offset of an open file, whose position stays. `path` is for messages.
 * Fails with DATA, also if the file ends before; `data` is undefined then. */
status_t file_read(int fd, const char *path, uint64_t offset, void *data, uint64_t bytes);
/* Give the system's cache of files hints; errors are ignored. file_expect(): these bytes, from
 * `offset` on, will be read soon. file_forget(): they will not be needed again. */
void file_expect(int fd, uint64_t offset, uint64_t bytes);
void file_forget(int fd, uint64_t offset, uint64_t bytes);
/* Returns whether as many bytes are more than half of this machine's memory, and would displace
 * everything else from it; 0 if its memory is unknown. */
int file_is_huge(uint64_t bytes);

/* Removes a name (of a link, the link), if it exists. Warns if it cannot be removed. */
void file_remove(const char *path);

/* Sync the bytes of an open file to the disk; file_sync() the metadata, too. `path` is for the
 * message. Fail with NO_SPACE, DATA. */
status_t file_sync_data(int fd, const char *path);
status_t file_sync(int fd, const char *path);
/* Renames part, which is open as `fd`, to path and syncs the name. Without `force`, a file that
 * came to be there in the meantime stays, and so does part: fails with USAGE. Fails with NO_SPACE;
 * with DATA, also when part is the name of another file by now; with DEVICE (memory) after the
 * renaming. */
status_t file_publish(int fd, const char *part, const char *path, int force);

#pragma GCC visibility pop

#endif
