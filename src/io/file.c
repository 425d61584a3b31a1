/* Opening, reserving, reading, writing, syncing and renaming of files, with our errors. */
#include "io/file.h"

#include "base/memory.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/units.h"
#include "io/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

status_t file_part_name(const char *path, char **out)
{
    return memory_format(out, "%s.part", path);
}

status_t file_journal_name(const char *path, char **out)
{
    return memory_format(out, "%s.journal", path);
}

status_t file_packed_name(const char *path, char **out)
{
    static const char usual[] = ".packed.part";
    int is_long = strlen(text_basename(path)) + strlen(usual) > NAME_MAX;
    return memory_format(out, "%s%s", path, is_long ? ".p.part" : usual);
}

static status_t file_look_up(const char *path, int follows, struct stat *info, int *exists)
{
    *exists = (follows ? stat(path, info) : lstat(path, info)) == 0;
    return REQUIRED(*exists || reason_is_absent(errno), STATUS_DATA, "%s cannot be looked up: %s",
                    path, strerror(errno));
}

status_t file_exists(const char *path, int *out)
{
    struct stat info;
    return file_look_up(path, 0, &info, out);
}

status_t file_is_ordinary(const char *path, int *out)
{
    struct stat info;
    status_t st = file_look_up(path, 1, &info, out);
    *out = *out && S_ISREG(info.st_mode);
    return st;
}

status_t file_is_folder(const char *path, int *out)
{
    struct stat info;
    status_t st = file_look_up(path, 1, &info, out);
    *out = *out && S_ISDIR(info.st_mode);
    return st;
}

status_t file_check_new(const char *path, int force)
{
    struct stat info;
    int has_folder = 0;
    int exists = 0;
    TRY(folder_check(path, &has_folder));
    TRY(file_look_up(path, 0, &info, &exists));
    if (exists) {
        REQUIRE(!S_ISDIR(info.st_mode), STATUS_USAGE, "%s is a folder", path);
        REQUIRE(S_ISREG(info.st_mode) || S_ISLNK(info.st_mode), STATUS_USAGE,
                "%s is no ordinary file", path);
        REQUIRE(force, STATUS_USAGE, "%s exists already: --force replaces it", path);
    }
    return STATUS_OK;
}

status_t file_is_same(const char *a, const char *b, int *out)
{
    SCOPED(folder_place_free) struct folder_place right = {0};
    SCOPED(folder_place_free) struct folder_place left = {0};
    TRY(folder_place_of(a, &left));
    TRY(folder_place_of(b, &right));
    *out = folder_place_is_same(&left, &right);
    return STATUS_OK;
}

void file_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

int file_move(int *fd)
{
    int moved = *fd;
    *fd = -1;
    return moved;
}

status_t file_open_new(const char *path, int *out)
{
    REQUIRE(unlink(path) == 0 || errno == ENOENT, reason_make_status(errno),
            "%s cannot be replaced: %s", path, strerror(errno));
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    REQUIRE(fd >= 0, reason_make_status(errno), "%s cannot be made: %s", path, strerror(errno));
    *out = fd;
    return STATUS_OK;
}

int file_is_nameless(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && info.st_nlink == 0;
}

int file_is_on(int fd, const char *path)
{
    struct stat info;
    struct stat named;
    return fstat(fd, &info) == 0 && lstat(path, &named) == 0 && info.st_dev == named.st_dev &&
           info.st_ino == named.st_ino;
}

static status_t file_look_at_folder(const char *path, struct stat *info, struct statvfs *system)
{
    SCOPED(free_at) char *folder = NULL;
    TRY(folder_nearest(path, &folder));
    return REQUIRED((info ? stat(folder, info) : statvfs(folder, system)) == 0,
                    reason_make_status(errno), "folder %s: %s", folder, strerror(errno));
}

status_t file_free_bytes(const char *path, uint64_t *bytes)
{
    struct statvfs system = {.f_bavail = 0};
    status_t st = file_look_at_folder(path, NULL, &system);
    *bytes = (uint64_t)system.f_bavail * system.f_frsize;
    return st;
}

status_t file_device(const char *path, uint64_t *device)
{
    struct stat info = {.st_dev = 0};
    status_t st = file_look_at_folder(path, &info, NULL);
    *device = (uint64_t)info.st_dev;
    return st;
}

static status_t file_fail_no_space(const char *path, uint64_t bytes)
{
    uint64_t left = 0;
    if (file_free_bytes(path, &left) != STATUS_OK) {
        report_clear();
    }
    return report_fail(STATUS_NO_SPACE,
                       "no space for %s: it needs %" PRIu64 " bytes (%s), %" PRIu64
                       " (%s) are free",
                       path, bytes, units_bytes(bytes), left, units_bytes(left));
}

/* In a file system in memory, reserving allocates every page, one rank after the other, and no page
 * sooner than writing would. */
int file_is_in_memory(int fd)
{
    enum { TMPFS = 0x01021994 };
    struct statfs info;
    return fstatfs(fd, &info) == 0 && info.f_type == TMPFS;
}

status_t file_reserve(int fd, const char *path, uint64_t bytes)
{
    uint64_t left = 0;
    struct stat info;
    int status;
    REQUIRE(fstat(fd, &info) == 0, STATUS_DATA, "%s cannot be looked at: %s", path,
            strerror(errno));
    /* A reservation that fails takes all that is free for a moment, from others too. */
    TRY(file_free_bytes(path, &left));
    TRY(left + (uint64_t)info.st_blocks * 512 < bytes ? file_fail_no_space(path, bytes)
                                                      : STATUS_OK);
    if (file_is_in_memory(fd)) {
        return STATUS_OK;
    }
    do {
        status = fallocate(fd, 0, 0, (off_t)bytes);
    } while (status != 0 && errno == EINTR);
    if (status != 0 && reason_is_full(errno)) {
        /* A quota or a limit does not show in what is free. */
        REQUIRE(errno == ENOSPC, STATUS_NO_SPACE, "no space for %s: it needs %" PRIu64 " bytes: %s",
                path, bytes, strerror(errno));
        TRY(file_fail_no_space(path, bytes));
    } else {
        REQUIRE(status == 0 || errno == EOPNOTSUPP || errno == ENOSYS, STATUS_DATA,
                "%s: %" PRIu64 " bytes cannot be reserved: %s", path, bytes, strerror(errno));
    }
    return STATUS_OK;
}

status_t file_open_read(const char *path, int *fd)
{
    /* A pipe would wait for a writer. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return REQUIRED(*fd >= 0, reason_is_out_of(errno) ? STATUS_DEVICE : STATUS_DATA,
                    "%s cannot be opened: %s", path, strerror(errno));
}

/* file_write() fills where that is faster: not with less (which must be more than a piece), nor
 * with few processors. */
enum { FILL_PIECE = 1 << 17, FILL_LEAST = 2 << 20, FILL_THREADS = 8, FILL_PROCESSORS = 8 };

uint32_t file_part_threads(uint64_t bytes)
{
    int is_many = bytes >= FILL_LEAST && omp_get_num_procs() >= FILL_PROCESSORS;
    return is_many ? (uint32_t)min_u64(FILL_THREADS, (uint64_t)omp_get_num_procs() / 2) : 1;
}

void file_part_unmap(struct file_part *part)
{
    if (part->data) {
        munmap(part->whole, part->mapped);
    }
    part->data = NULL;
}

/* Bytes of a huge page; whether the system makes any for files in memory. */
enum { HUGE_BYTES = 2 << 20 };
static int makes_huge = 1;

/* Makes one huge page of the file's pages that are mapped at `at`. One of them must be allocated:
 * the system makes none of a hole. Where it makes none, nothing changes. */
static void part_make_huge(void *at)
{
    if (__atomic_load_n(&makes_huge, __ATOMIC_RELAXED) &&
        madvise(at, HUGE_BYTES, MADV_COLLAPSE) != 0 && (errno == EINVAL || errno == ENOMEM)) {
        /* An old system, a full one, or memory in small pieces, which takes long to find out. */
        __atomic_store_n(&makes_huge, 0, __ATOMIC_RELAXED);
    }
}

/* Allocates the pages of a part in its huge page number `piece`. A huge page may begin before the
 * part and end after it, but not after the file. Fails with NO_SPACE, without a cause. */
static status_t part_allocate(void *context, uint32_t thread, uint64_t piece)
{
    const struct file_part *part = context;
    const uint64_t start = (part->offset / HUGE_BYTES + piece) * HUGE_BYTES;
    const uint64_t from = max_u64(start, part->offset);
    const uint64_t end = min_u64(start + HUGE_BYTES, part->offset + part->bytes);
    (void)thread;
    if (start + HUGE_BYTES <= part->file_bytes && fallocate(part->fd, 0, (off_t)start, 1) == 0) {
        part_make_huge(part->data - part->offset % HUGE_BYTES + piece * HUGE_BYTES);
    }
    return fallocate(part->fd, 0, (off_t)from, (off_t)(end - from)) == 0 ? STATUS_OK
                                                                         : STATUS_NO_SPACE;
}

/* Pages are allocated before: a full file system shows here, without a signal. Threads that
 * allocate 4 KiB each take turns for the file: 16 of them reach 4 GB/s, with 2 MiB each 30
 * (Linux 6.18). */
struct file_part file_part_map(int fd, uint64_t offset, uint64_t bytes, uint32_t threads)
{
    struct stat info;
    const uint64_t before = offset % HUGE_BYTES, length = before + bytes;
    struct file_part part = {.fd = fd, .offset = offset, .bytes = bytes};
    /* The last page first: the file is long enough then. */
    if (!file_is_in_memory(fd) || fallocate(fd, 0, (off_t)(offset + bytes - 1), 1) != 0 ||
        fstat(fd, &info) != 0) {
        return part;
    }
    part.file_bytes = (uint64_t)info.st_size;
    part.mapped = length + 2 * HUGE_BYTES;
    part.whole = mmap(NULL, part.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (part.whole == MAP_FAILED) {
        return part;
    }
    char *map = part.whole + HUGE_BYTES - (uintptr_t)part.whole % HUGE_BYTES;
    part.data = map + before;
    if (mmap(map, ceil_div_u64(length, HUGE_BYTES) * HUGE_BYTES, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, fd, (off_t)(offset - before)) == MAP_FAILED ||
        pool_try_each(threads, ceil_div_u64(length, HUGE_BYTES), part_allocate, &part) !=
            STATUS_OK) {
        file_part_unmap(&part);
    }
    return part;
}

/* A part of a file that several threads write. */
struct filling {
    int fd;
    const char *path;
    file_fill_t *fill;
    void *context;
    uint64_t begin, first, end; /* in the file: a piece begins at `begin`, the part at `first` */
    char *map;                  /* of the file from `begin` on; or NULL */
};

static status_t fill_piece(void *context, uint32_t thread, uint64_t piece)
{
    const struct filling *f = context;
    char data[FILL_PIECE];
    const uint64_t from = f->begin + piece * FILL_PIECE;
    const uint64_t first = max_u64(from, f->first);
    const size_t bytes = (size_t)(min_u64(from + FILL_PIECE, f->end) - first);
    char *to = f->map ? f->map + (first - f->begin) : data;
    (void)thread;
    TRY(f->fill(f->context, first - f->first, bytes, to));
    return f->map ? STATUS_OK : file_write(f->fd, f->path, first, data, bytes);
}

/* Fills the bytes in a mapped part, or without one by writing them. */
static status_t filling_run(struct filling *f, const struct file_part *part, uint32_t threads)
{
    const uint64_t before = f->first % (uint64_t)sysconf(_SC_PAGESIZE);
    if (part->data) {
        f->begin = f->first - before;
        f->map = part->data - before;
    }
    return pool_try_each(threads, ceil_div_u64(f->end - f->begin, FILL_PIECE), fill_piece, f);
}

status_t file_fill(int fd, const char *path, uint64_t offset, uint64_t bytes, uint32_t threads,
                   file_fill_t *fill, void *context)
{
    struct filling f = {fd, path, fill, context, offset, offset, offset + bytes, NULL};
    SCOPED(file_part_unmap) struct file_part part = {.data = NULL};
    if (threads > 1 && offset % sizeof(double) == 0) {
        part = file_part_map(fd, offset, bytes, threads);
    }
    return filling_run(&f, &part, threads);
}

status_t file_part_fill(const struct file_part *part, uint64_t bytes, uint32_t threads,
                        file_fill_t *fill, void *context)
{
    struct filling f = {
        part->fd, NULL, fill, context, part->offset, part->offset, part->offset + bytes, NULL};
    return filling_run(&f, part, threads);
}

static status_t fill_copy(void *context, uint64_t at, uint64_t bytes, void *to)
{
    memcpy(to, (const char *)context + at, (size_t)bytes);
    return STATUS_OK;
}

status_t file_write(int fd, const char *path, uint64_t offset, const void *data, uint64_t bytes)
{
    if (file_part_threads(bytes) > 1 && file_is_in_memory(fd)) {
        return file_fill(fd, path, offset, bytes, file_part_threads(bytes), fill_copy,
                         (void *)(uintptr_t)data);
    }
    for (uint64_t done = 0; done < bytes;) {
        size_t most = (size_t)min_u64(bytes - done, UINT64_C(1) << 30);
        ssize_t put = pwrite(fd, (const char *)data + done, most, (off_t)(offset + done));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        REQUIRE(put > 0, reason_write_status(errno),
                "%s: writing %zu bytes at offset %" PRIu64 ": %s", path, most, offset + done,
                strerror(errno));
        done += (uint64_t)put;
    }
    return STATUS_OK;
}

static status_t fill_read(void *context, uint64_t at, uint64_t bytes, void *to)
{
    const struct file_place *from = context;
    return file_read(from->fd, from->path, from->offset + at, to, bytes);
}

status_t file_copy(const struct file_place *from, const struct file_place *to, uint64_t bytes)
{
    return file_fill(to->fd, to->path, to->offset, bytes, file_part_threads(bytes), fill_read,
                     (void *)(uintptr_t)from);
}

status_t file_read(int fd, const char *path, uint64_t offset, void *data, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        size_t most = (size_t)min_u64(bytes - done, UINT64_C(1) << 30);
        ssize_t got = pread(fd, (char *)data + done, most, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        REQUIRE(got > 0, STATUS_DATA, "%s: reading %zu bytes at offset %" PRIu64 ": %s", path, most,
                offset + done, got < 0 ? strerror(errno) : "the file ends there");
        done += (uint64_t)got;
    }
    return STATUS_OK;
}

status_t file_cut(int fd, const char *path, uint64_t bytes)
{
    return REQUIRED(ftruncate(fd, (off_t)bytes) == 0, reason_write_status(errno),
                    "%s cannot be made %" PRIu64 " bytes long: %s", path, bytes, strerror(errno));
}

status_t file_cut_appended(int fd, const char *path, uint64_t bytes)
{
    struct stat info;
    REQUIRE(fstat(fd, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
    if ((uint64_t)info.st_size <= bytes) {
        return STATUS_OK;
    }
    report_warn("%s: another program has appended %" PRIu64 " bytes, which are cut off", path,
                (uint64_t)info.st_size - bytes);
    return file_cut(fd, path, bytes);
}

void file_expect(int fd, uint64_t offset, uint64_t bytes)
{
    (void)posix_fadvise(fd, (off_t)offset, (off_t)bytes, POSIX_FADV_WILLNEED);
}

void file_forget(int fd, uint64_t offset, uint64_t bytes)
{
    (void)posix_fadvise(fd, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
}

int file_is_huge(uint64_t bytes)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 && bytes > (uint64_t)pages * (uint64_t)page / 2;
}

status_t file_sync_data(int fd, const char *path)
{
    return REQUIRED(fdatasync(fd) == 0, reason_write_status(errno), "%s cannot be synced: %s", path,
                    strerror(errno));
}

status_t file_sync(int fd, const char *path)
{
    return REQUIRED(fsync(fd) == 0, reason_write_status(errno), "%s cannot be synced: %s", path,
                    strerror(errno));
}

void file_remove(const char *path)
{
    if (unlink(path) != 0 && !reason_is_absent(errno)) {
        report_warn("%s cannot be removed and is left: %s", path, strerror(errno));
    }
}

/* Renames without replacing; file systems that cannot do so in one step make a second name first.
 */
static int file_rename_new(const char *part, const char *path)
{
    if (renameat2(AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return -1;
    }
    if (link(part, path) == 0) {
        return unlink(part);
    }
    if (errno != EPERM && errno != EOPNOTSUPP) {
        return -1;
    }
    /* Neither: a look is all that is left. */
    struct stat info;
    if (lstat(path, &info) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(part, path);
}

status_t file_publish(int fd, const char *part, const char *path, int force)
{
    REQUIRE(file_is_on(fd, part), STATUS_DATA, "%s was removed or replaced while it was written",
            part);
    int status = force ? rename(part, path) : file_rename_new(part, path);
    REQUIRE(status == 0 || errno != EEXIST, STATUS_USAGE,
            "%s came to be while this run wrote it: the product is complete, but is left as %s",
            path, part);
    REQUIRE(status == 0, reason_write_status(errno), "%s cannot be renamed to %s: %s", part, path,
            strerror(errno));
    return folder_sync(path);
}
