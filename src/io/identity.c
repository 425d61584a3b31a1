/* Identities of files by what the file system says of them, and CRCs of samples of their bytes. */
#include "io/identity.h"

#include "base/memory.h"
#include "io/crc.h"
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files by device and inode, size and time. */

/* Of what a stat() has found that returned `failed`. */
static status_t identity_from(int failed, const struct stat *info, const char *path,
                              struct identity *out)
{
    status_t st = STATUS_OK;
    REQUIRE(!failed, STATUS_DATA, "%s: %s", path, strerror(errno));
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
    struct stat info;
    int failed = stat(path, &info);
    return identity_from(failed, &info, path, out);
}

status_t identity_of_open(int fd, const char *path, struct identity *out)
{
    struct stat info;
    int failed = fstat(fd, &info);
    return identity_from(failed, &info, path, out);
}

int identity_is_same_file(const struct identity *a, const struct identity *b)
{
    return a->device == b->device && a->inode == b->inode;
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
    REQUIRE(before->changed_s == now->changed_s && before->changed_ns == now->changed_ns,
            STATUS_DATA, "%s was written to while this job ran", path);
out:
    return st;
}

/* CRCs of some of a file. */

enum {
    BUFFER_BYTES = 1 << 20,
    PIECES = 8,              /* between begin and end */
    PIECES_FROM = 512 << 10, /* with less to be read one is enough: each costs a disk's seek */
};

struct sampled {
    const char *path;
    int fd;
    char *buffer;
    uint32_t crc;
};

static status_t identity_add(struct sampled *s, uint64_t from, uint64_t bytes)
{
    status_t st = STATUS_OK;
    for (uint64_t at = 0; at < bytes; at += BUFFER_BYTES) {
        uint64_t count = min_u64(BUFFER_BYTES, bytes - at);
        TRY(file_read(s->fd, s->path, from + at, s->buffer, count));
        s->crc = crc_more(s->crc, s->buffer, (size_t)count);
    }
out:
    return st;
}

static status_t identity_add_some(struct sampled *s, uint64_t size, uint64_t most)
{
    status_t st = STATUS_OK;
    uint64_t end = most / 3;
    uint64_t pieces = most >= PIECES_FROM ? PIECES : 1;
    uint64_t piece = end / pieces;
    uint64_t step = (size - 2 * end - piece) / (pieces + 1);
    TRY(identity_add(s, 0, end));
    for (uint64_t i = 1; i <= pieces; i++) {
        TRY(identity_add(s, end + i * step, piece));
    }
    TRY(identity_add(s, size - end, end));
out:
    return st;
}

status_t identity_sampled_crc(const char *path, uint64_t most, uint64_t *bytes, uint32_t *crc)
{
    status_t st = STATUS_OK;
    struct sampled s = {.path = path, .fd = -1};
    struct identity identity = {.bytes = 0};
    TRY(identity_of_path(path, &identity)); /* a pipe is never opened */
    TRY(memory_aligned(BUFFER_BYTES, 1, "a piece of a file", &s.buffer));
    TRY(file_open_read(path, &s.fd));
    TRY(identity_of_open(s.fd, path, &identity));
    s.crc = crc_of("", 0);
    TRY(identity.bytes <= most ? identity_add(&s, 0, identity.bytes)
                               : identity_add_some(&s, identity.bytes, most));
    *bytes = identity.bytes;
    *crc = s.crc;
out:
    file_close(s.fd);
    free(s.buffer);
    return st;
}
