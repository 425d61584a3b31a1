/* Files by device and inode, size and time. */
#include "io/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static status_t identity_from(const struct stat *info, const char *path, struct identity *out)
{
    status_t st = STATUS_OK;
    REQUIRE(S_ISREG(info->st_mode), STATUS_DATA, "%s is not an ordinary file", path);
    *out = (struct identity){.device = (uint64_t)info->st_dev,
                             .inode = (uint64_t)info->st_ino,
                             .bytes = (uint64_t)info->st_size,
                             .changed_s = (int64_t)info->st_mtim.tv_sec,
                             .changed_ns = (uint32_t)info->st_mtim.tv_nsec};
out:
    return st;
}

status_t identity_of_path(const char *path, struct identity *out)
{
    status_t st = STATUS_OK;
    struct stat info;
    REQUIRE(stat(path, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
    TRY(identity_from(&info, path, out));
out:
    return st;
}

status_t identity_of_open(int fd, const char *path, struct identity *out)
{
    status_t st = STATUS_OK;
    struct stat info;
    REQUIRE(fstat(fd, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
    TRY(identity_from(&info, path, out));
out:
    return st;
}

int identity_is_same_file(const struct identity *a, const struct identity *b)
{
    return a->device == b->device && a->inode == b->inode;
}

int identity_is_unchanged(const struct identity *before, const struct identity *now)
{
    return before->inode == now->inode && before->bytes == now->bytes &&
           before->changed_s == now->changed_s && before->changed_ns == now->changed_ns;
}

status_t identity_check_same(const char *path, const struct identity *before,
                             const struct identity *now)
{
    status_t st = STATUS_OK;
    REQUIRE(before->inode == now->inode, STATUS_DATA,
            "%s was replaced by another file while this job ran", path);
    REQUIRE(before->bytes == now->bytes, STATUS_DATA,
            "%s changed while this job ran: it held %" PRIu64 " bytes, now %" PRIu64, path,
            before->bytes, now->bytes);
out:
    return st;
}

status_t identity_check(const char *path, const struct identity *before, const struct identity *now)
{
    status_t st = STATUS_OK;
    TRY(identity_check_same(path, before, now));
    REQUIRE(identity_is_unchanged(before, now), STATUS_DATA, "%s was written to while this job ran",
            path);
out:
    return st;
}
