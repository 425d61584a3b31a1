/* Files until they are complete, or compared piece by piece with what is there; their names; NaN
 * among what is written. */
#include "product/export/export_file.h"

#include "base/memory.h"
#include "io/folder.h"

#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { PIECE = 1 << 20 };

status_t before_differ(const struct before *before)
{
    return report_fail(STATUS_USAGE,
                       before->kind == BEFORE_COMPLETE
                           ? "%s exists already: --force replaces it"
                           : "%s exists, but was not left by voltmill: --force replaces it",
                       before_path(before));
}

const char *before_path(const struct before *before)
{
    return before->kind == BEFORE_COMPLETE ? before->file : before->part;
}

status_t before_take(struct before *before, int force, int (*is_ours)(const char *path))
{
    uint64_t bytes = 0;
    TRY(folder_make(before->part, &before->made));
    TRY(claim_take(before->part, &before->claim_fd, &bytes));
    int is_left =
        bytes > 0 && (mark_of(before->part) != MARK_NONE || (is_ours && is_ours(before->part)));
    if (bytes > 0 && !force && !is_left) {
        before->kind = BEFORE_UNNAMED;
    } else if (bytes > 0) {
        claim_warn(before->part, is_left);
    }
    before->is_ours = before->kind == BEFORE_NOTHING;
    return STATUS_OK;
}

void before_yield(struct before *before)
{
    before_end(before);
    before->claim_fd = -1;
    before->kind = BEFORE_COMPLETE;
}

status_t before_claim(struct before *before, int force)
{
    int exists = 0;
    TRY(file_check_new(before->file, 1));
    TRY(file_exists(before->file, &exists));
    if (!exists || force) {
        TRY(before_take(before, force, NULL));
        TRY(file_exists(before->file, &exists));
    }
    if (exists && !force) {
        before_yield(before);
    }
    return STATUS_OK;
}

status_t before_make(struct before *before, int *fd)
{
    *fd = before->claim_fd;
    if (before->kind != BEFORE_NOTHING) {
        before->expected_fd = memfd_create("expected", MFD_CLOEXEC);
        REQUIRE(before->expected_fd >= 0, STATUS_DEVICE, "no memory for what %s must say: %s",
                before_path(before), strerror(errno));
        *fd = before->expected_fd;
    }
    return STATUS_OK;
}

status_t before_check_size(const struct before *before, const struct voltages_place *place)
{
    int is_ordinary = 0;
    struct identity there = {.bytes = 0};
    if (before->kind != BEFORE_NOTHING) {
        TRY(file_is_ordinary(before_path(before), &is_ordinary));
        TRY(is_ordinary ? identity_of_path(before_path(before), &there) : STATUS_OK);
        TRY(is_ordinary && there.bytes >= place->file_bytes ? STATUS_OK : before_differ(before));
    }
    return STATUS_OK;
}

/* Compares bytes with those of the open file at an offset. Fails with USAGE, as before_differ()
 * does: they are not what is there; with DATA if it ends before or cannot be read; with DEVICE
 * (memory). */
static status_t before_compare(const struct before *before, int fd, uint64_t offset,
                               const char *data, uint64_t bytes)
{
    SCOPED(free_at) char *piece = NULL;
    TRY(memory_aligned(PIECE, 1, "a piece of a file", &piece));
    for (uint64_t at = 0; at < bytes; at += PIECE) {
        uint64_t count = min_u64(PIECE, bytes - at);
        TRY(file_read(fd, before_path(before), offset + at, piece, count));
        TRY(memcmp(piece, data + at, (size_t)count) == 0 ? STATUS_OK : before_differ(before));
    }
    return STATUS_OK;
}

status_t before_put(const struct before *before, int fd, uint64_t offset, const void *data,
                    uint64_t bytes)
{
    return before->kind == BEFORE_NOTHING ? file_write(fd, before->part, offset, data, bytes)
                                          : before_compare(before, fd, offset, data, bytes);
}

/* Bytes from .. to - 1 of both files. */
static status_t before_compare_range(const struct before *before, int fd, uint64_t from,
                                     uint64_t to)
{
    SCOPED(free_at) char *piece = NULL;
    TRY(memory_aligned(PIECE, 1, "a piece of an archive", &piece));
    for (uint64_t at = from; at < to; at += PIECE) {
        uint64_t count = min_u64(PIECE, to - at);
        TRY(file_read(before->expected_fd, before_path(before), at, piece, count));
        TRY(before_compare(before, fd, at, piece, count));
    }
    return STATUS_OK;
}

status_t before_check_rest(const struct before *before, int fd, const struct voltages_place *place)
{
    struct identity there;
    struct identity expected;
    TRY(mark_hdf5(before->expected_fd, before_path(before), MARK_NONE));
    TRY(identity_of_open(fd, before_path(before), &there));
    TRY(identity_of_open(before->expected_fd, before_path(before), &expected));
    TRY(there.bytes == expected.bytes ? STATUS_OK : before_differ(before));
    TRY(before_compare_range(before, fd, 0, place->data_offset));
    return before_compare_range(before, fd, place->file_bytes, expected.bytes);
}

void before_abandon(struct before *before)
{
    if (before->is_ours) {
        claim_remove(before->claim_fd, before->part);
        before->is_ours = 0;
    }
    folder_unmake(before->part, before->made);
    before->made = NULL;
}

void before_end(struct before *before)
{
    before_abandon(before);
    file_close(file_move(&before->claim_fd));
    file_close(file_move(&before->expected_fd));
}

/* Whether the file at `path` may be what the plan makes: an ordinary file of that size, which
 * begins in that way. */
static int export_may_be(const char *path, const struct export_plan *plan)
{
    const struct before before = {.part = path};
    const struct text *head = plan->head;
    struct stat info;
    SCOPED(file_close_at) int fd = -1;
    if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        (uint64_t)info.st_size != plan->bytes) {
        return 0;
    }
    if (head->length == 0) {
        return 1;
    }
    status_t st = file_open_read(path, &fd);
    st = st == STATUS_OK ? before_compare(&before, fd, 0, head->data, head->length) : st;
    return !report_failed(st);
}

static int export_replaces(const struct export_plan *plan, const char *path)
{
    return plan->force || (plan->is_ours && plan->is_ours(path));
}

/* Checks whether the output can be made. *exists: it is there, and may be the same. */
static status_t export_check_new(const struct export_plan *plan, int *exists)
{
    TRY(file_exists(plan->path, exists));
    *exists = *exists && !plan->force && export_may_be(plan->path, plan);
    return *exists ? STATUS_OK : file_check_new(plan->path, export_replaces(plan, plan->path));
}

status_t export_file_check(const struct export_plan *plan, const struct guard *reads)
{
    int exists = 0;
    TRY(guard_check_part(reads, "the output", plan->path));
    return export_check_new(plan, &exists);
}

status_t export_file_put(struct export_file *file, uint64_t offset, const void *data,
                         uint64_t bytes)
{
    /* The first block is kept until the others are on the disk. */
    uint64_t kept = offset < MARK_BLOCK && !file->is_lent ? min_u64(bytes, MARK_BLOCK - offset) : 0;
    if (bytes == 0) {
        return STATUS_OK;
    }
    if (file->before.kind != BEFORE_NOTHING) {
        return before_compare(&file->before, file->before.claim_fd, offset, data, bytes);
    }
    if (file->memory.data && offset >= file->memory.offset &&
        offset + bytes <= file->memory.offset + file->memory.bytes) {
        memcpy(file->memory.data + (offset - file->memory.offset), data, (size_t)bytes);
        return STATUS_OK;
    }
    if (kept > 0) {
        memcpy(file->first + offset, data, (size_t)kept);
    }
    TRY(file_write(file->before.claim_fd, file->before.part, offset + kept,
                   (const char *)data + kept, bytes - kept));
    for (uint64_t seen = atomic_load(&file->bytes); seen < offset + bytes;) {
        if (atomic_compare_exchange_weak(&file->bytes, &seen, offset + bytes)) {
            break;
        }
    }
    return STATUS_OK;
}

status_t export_file_begin(const struct export_plan *plan, struct export_file *out)
{
    SCOPED(export_file_end) struct export_file file = EXPORT_FILE_NONE;
    struct before *before = &file.before;
    int exists = 0;
    file.force = export_replaces(plan, plan->path);
    file.mark = plan->mark;
    TRY(memory_text(plan->path, &file.path));
    before->file = file.path;
    TRY(file_part_name(plan->path, &file.part));
    before->part = file.part;
    TRY(export_check_new(plan, &exists));
    if (!exists) {
        TRY(before_take(before, plan->force, plan->is_ours));
        TRY(export_check_new(plan, &exists));
    }
    if (exists) {
        before_yield(before);
        TRY(file_open_read(plan->path, &before->claim_fd));
    }
    TRY(before->kind != BEFORE_UNNAMED || export_may_be(file.part, plan) ? STATUS_OK
                                                                         : before_differ(before));
    /* Its first bytes, and a mark in place of them. */
    TRY(before->kind == BEFORE_NOTHING ? mark_put(before->claim_fd, file.part, file.mark)
                                       : STATUS_OK);
    TRY(export_file_put(&file, 0, plan->head->data, plan->head->length));
    *out = file;
    file = (struct export_file)EXPORT_FILE_NONE;
    return STATUS_OK;
}

status_t export_file_reserve(const struct export_file *file, uint64_t bytes)
{
    return file->before.kind == BEFORE_NOTHING
               ? file_reserve(file->before.claim_fd, file->path, bytes)
               : STATUS_OK;
}

status_t export_file_publish(struct export_file *file)
{
    int fd = file->before.claim_fd;
    if (file->before.kind == BEFORE_COMPLETE) {
        return STATUS_OK;
    }
    TRY(file->before.kind == BEFORE_NOTHING
            ? file_cut_appended(fd, file->part, max_u64(file->bytes, MARK_BLOCK))
            : STATUS_OK);
    TRY(file->before.kind == BEFORE_NOTHING ? mark_lift(fd, file->part, file->first, file->bytes)
                                            : file_sync(fd, file->part));
    file->before.is_ours = 0; /* what cannot be renamed stays, as the message says */
    return file_publish(fd, file->part, file->path, file->force);
}

void export_file_end(struct export_file *file)
{
    if (file->path) {
        before_end(&file->before);
    }
    MEMORY_FREE(file->part, file->path);
    *file = (struct export_file)EXPORT_FILE_NONE;
}

status_t export_name(const char *chosen, const char *product, const char *ending, char **out)
{
    const char *base = text_basename(product);
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - product) : strlen(product);
    return chosen ? memory_text(chosen, out)
                  : memory_format(out, "%.*s%s", (int)length, product, ending);
}

status_t export_file_say_before(const struct export_file *file, struct text *said, int *is_before)
{
    *is_before = file->before.kind == BEFORE_COMPLETE;
    return *is_before ? text_add_shown(said, "complete before: %s\n", file->path) : STATUS_OK;
}

status_t export_file_write(const struct export_plan *plan, const struct guard *reads,
                           int *is_before)
{
    SCOPED(export_file_end) struct export_file file = EXPORT_FILE_NONE;
    TRY(export_file_check(plan, reads));
    TRY(export_file_begin(plan, &file));
    TRY(export_file_publish(&file));
    *is_before = file.before.kind == BEFORE_COMPLETE;
    return STATUS_OK;
}

uint64_t export_count_nans(const float *values, uint64_t count)
{
    uint64_t nans = 0;
    for (uint64_t i = 0; i < count; i++) {
        nans += isnan(values[i]) != 0;
    }
    return nans;
}
