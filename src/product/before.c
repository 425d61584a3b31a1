/* Files that are there, compared piece by piece with those that would be made. */
#include "product/before.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/folder.h"
#include "io/mark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PIECE = 1 << 20 };

status_t before_differ(const struct before *before)
{
    return report_fail(STATUS_USAGE,
                       before->kind == BEFORE_COMPLETE
                           ? "%s exists already: --force replaces it"
                           : "%s exists and is not what a run leaves: --force replaces it",
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

status_t before_claim(struct before *before, int force)
{
    int exists = 0;
    TRY(file_exists(before->file, &exists));
    TRY(file_check_new(before->file, 1));
    if (exists && !force) {
        before->kind = BEFORE_COMPLETE;
    } else {
        TRY(before_take(before, force, NULL));
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

status_t before_compare(const struct before *before, int fd, uint64_t offset, const char *data,
                        uint64_t bytes)
{
    status_t st = STATUS_OK;
    char *piece = NULL;
    TRY_OUT(memory_aligned(PIECE, 1, "a piece of a file", &piece));
    for (uint64_t at = 0; at < bytes; at += PIECE) {
        uint64_t count = min_u64(PIECE, bytes - at);
        TRY_OUT(file_read(fd, before_path(before), offset + at, piece, count));
        TRY_OUT(memcmp(piece, data + at, (size_t)count) == 0 ? STATUS_OK : before_differ(before));
    }
out:
    free(piece);
    return st;
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
    status_t st = STATUS_OK;
    char *piece = NULL;
    TRY_OUT(memory_aligned(PIECE, 1, "a piece of an archive", &piece));
    for (uint64_t at = from; at < to; at += PIECE) {
        uint64_t count = min_u64(PIECE, to - at);
        TRY_OUT(file_read(before->expected_fd, before_path(before), at, piece, count));
        TRY_OUT(before_compare(before, fd, at, piece, count));
    }
out:
    free(piece);
    return st;
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
    file_close(before->claim_fd);
    file_close(before->expected_fd);
    before->expected_fd = -1;
}
