/* Exported files until they are complete, or compared with what is there; their names; NaN among
 * what is written. */
#include "product/export/export_file.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/folder.h"
#include "io/mark.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a file begins with these bytes, of which there are any. */
static int export_begins_with(const char *path, const char *start, size_t length)
{
    enum { PIECE = 4096 };
    char piece[PIECE];
    FILE *stream = length > 0 ? fopen(path, "rb") : NULL;
    int is_same = stream != NULL;
    for (size_t at = 0; at < length && is_same; at += PIECE) {
        size_t count = length - at < PIECE ? length - at : PIECE;
        is_same = fread(piece, 1, count, stream) == count && memcmp(piece, start + at, count) == 0;
    }
    if (stream) {
        fclose(stream);
    }
    return is_same;
}

/* Whether the file at `path` may be what the plan makes: an ordinary file of that size, which
 * begins in that way. */
static int export_may_be(const char *path, const struct export_plan *plan)
{
    struct stat info;
    const struct text *head = plan->head;
    return lstat(path, &info) == 0 && S_ISREG(info.st_mode) &&
           (uint64_t)info.st_size == plan->bytes &&
           (head->length == 0 || export_begins_with(path, head->data, head->length));
}

static int export_is_ours(const struct export_plan *plan, const char *path)
{
    return plan->is_ours && plan->is_ours(path);
}

static int export_replaces(const struct export_plan *plan, const char *path)
{
    return plan->force || export_is_ours(plan, path);
}

/* An output that exists is compared where it may be the same. */
static status_t export_check_new(const struct export_plan *plan, int *exists)
{
    status_t st = STATUS_OK;
    TRY(file_exists(plan->path, exists));
    *exists = *exists && !plan->force && export_may_be(plan->path, plan);
    TRY(*exists ? STATUS_OK : file_check_new(plan->path, export_replaces(plan, plan->path)));
out:
    return st;
}

status_t export_file_check(const struct export_plan *plan, const struct guard *reads)
{
    status_t st = STATUS_OK;
    int exists = 0;
    TRY(guard_check_part(reads, "the output", plan->path));
    TRY(export_check_new(plan, &exists));
out:
    return st;
}

static status_t export_differ(const struct export_file *file)
{
    return file->state == EXPORT_COMPARES
               ? report_fail(STATUS_USAGE, "%s exists already: --force replaces it", file->path)
               : report_fail(STATUS_USAGE,
                             "%s exists and is not what a run leaves: --force replaces it",
                             file->part);
}

/* Reads what is there in place of what would be written. */
static status_t export_compare(const struct export_file *file, uint64_t offset, const char *data,
                               uint64_t bytes)
{
    status_t st = STATUS_OK;
    enum { PIECE = 1 << 16 };
    const char *path = file->state == EXPORT_COMPARES ? file->path : file->part;
    char *piece = NULL;
    TRY(memory_aligned(PIECE, 1, "a piece of a file", &piece));
    for (uint64_t at = 0; at < bytes; at += PIECE) {
        uint64_t count = min_u64(PIECE, bytes - at);
        TRY(file_read(file->fd, path, offset + at, piece, count));
        TRY(memcmp(piece, data + at, (size_t)count) == 0 ? STATUS_OK : export_differ(file));
    }
out:
    free(piece);
    return st;
}

status_t export_file_put(struct export_file *file, uint64_t offset, const void *data,
                         uint64_t bytes)
{
    status_t st = STATUS_OK;
    /* The first block is kept until the others are on the disk. */
    uint64_t kept = offset < MARK_BLOCK && !file->is_lent ? min_u64(bytes, MARK_BLOCK - offset) : 0;
    if (bytes == 0) {
        goto out;
    }
    if (file->state != EXPORT_WRITES) {
        TRY(export_compare(file, offset, data, bytes));
        goto out;
    }
    if (file->memory.data && offset >= file->memory.offset &&
        offset + bytes <= file->memory.offset + file->memory.bytes) {
        memcpy(file->memory.data + (offset - file->memory.offset), data, (size_t)bytes);
        goto out;
    }
    if (kept > 0) {
        memcpy(file->first + offset, data, (size_t)kept);
    }
    TRY(file_write(file->fd, file->part, offset + kept, (const char *)data + kept, bytes - kept));
    for (uint64_t seen = atomic_load(&file->bytes); seen < offset + bytes;) {
        if (atomic_compare_exchange_weak(&file->bytes, &seen, offset + bytes)) {
            break;
        }
    }
out:
    return st;
}

/* Takes FILE.part: new, or what a command that ended early has left. What is there without a mark
 * must be the whole file, which only lacks its name. */
static status_t export_claim(const struct export_plan *plan, struct export_file *file)
{
    status_t st = STATUS_OK;
    uint64_t bytes = 0;
    int fd = -1;
    TRY(folder_make(file->part, &file->made));
    TRY(claim_take(file->part, &fd, &bytes));
    int is_ours =
        bytes > 0 && (mark_of(file->part) != MARK_NONE || export_is_ours(plan, file->part));
    if (bytes > 0 && !plan->force && !is_ours) {
        file->state = EXPORT_COMPARES_PART;
        TRY(export_may_be(file->part, plan) ? STATUS_OK : export_differ(file));
    } else if (bytes > 0) {
        claim_warn(file->part, is_ours);
    }
    file->fd = fd;
    fd = -1;
out:
    file_close(fd);
    return st;
}

/* Its first bytes, and a mark in place of them. */
static status_t export_put_head(struct export_file *file, const struct text *head)
{
    status_t st = STATUS_OK;
    TRY(file->state == EXPORT_WRITES ? mark_put(file->fd, file->part, file->mark) : STATUS_OK);
    TRY(export_file_put(file, 0, head->data, head->length));
out:
    return st;
}

status_t export_file_begin(const struct export_plan *plan, struct export_file *out)
{
    status_t st = STATUS_OK;
    struct export_file file = {
        .fd = -1, .force = export_replaces(plan, plan->path), .mark = plan->mark};
    int exists = 0;
    TRY(memory_text(plan->path, &file.path));
    TRY(export_check_new(plan, &exists));
    if (exists) {
        file.state = EXPORT_COMPARES;
        TRY(file_open_read(plan->path, &file.fd));
    } else {
        TRY(file_part_name(plan->path, &file.part));
        TRY(export_claim(plan, &file));
    }
    TRY(export_put_head(&file, plan->head));
    *out = file;
    file = (struct export_file){.fd = -1};
out:
    export_file_end(&file);
    return st;
}

status_t export_file_reserve(const struct export_file *file, uint64_t bytes)
{
    return file->state == EXPORT_WRITES ? file_reserve(file->fd, file->path, bytes) : STATUS_OK;
}

status_t export_file_publish(struct export_file *file)
{
    status_t st = STATUS_OK;
    if (file->state == EXPORT_WRITES) {
        TRY(mark_lift(file->fd, file->part, file->first, file->bytes));
    } else if (file->state == EXPORT_COMPARES_PART) {
        TRY(file_sync(file->fd, file->part));
    }
    if (file->state == EXPORT_COMPARES) {
        goto out;
    }
    st = file_publish(file->fd, file->part, file->path, file->force);
    /* It is whole: what cannot be renamed stays, as the message says. */
    free(file->part);
    file->part = NULL;
out:
    return st;
}

void export_file_end(struct export_file *file)
{
    if (file->part && file->state == EXPORT_WRITES) {
        claim_remove(file->fd, file->part);
    }
    if (file->path && file->fd >= 0) {
        close(file->fd);
    }
    if (file->path) {
        folder_unmake(file->path, file->made);
    }
    free(file->part);
    free(file->path);
    *file = (struct export_file){.fd = -1};
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
    *is_before = file->state == EXPORT_COMPARES;
    return *is_before ? text_add_shown(said, "complete before: %s\n", file->path) : STATUS_OK;
}

status_t export_file_write(const struct export_plan *plan, const char *what, const char *source,
                           struct text *said, int *is_before)
{
    status_t st = STATUS_OK;
    struct guard reads = {0};
    struct export_file file = {.fd = -1};
    TRY(guard_add(&reads, what, source));
    TRY(export_file_check(plan, &reads));
    TRY(export_file_begin(plan, &file));
    TRY(export_file_publish(&file));
    TRY(export_file_say_before(&file, said, is_before));
out:
    export_file_end(&file);
    guard_free(&reads);
    return st;
}

uint64_t export_count_nans(const float *values, uint64_t count)
{
    uint64_t nans = 0;
    for (uint64_t i = 0; i < count; i++) {
        nans += isnan(values[i]) != 0;
    }
    return nans;
}
