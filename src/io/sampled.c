/* CRCs of some of a file. */
#include "io/sampled.h"

#include "base/memory.h"
#include "io/crc.h"
#include "io/file.h"
#include "io/identity.h"

#include <stdlib.h>
#include <unistd.h>

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

static status_t add(struct sampled *s, uint64_t from, uint64_t bytes)
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

static status_t add_some(struct sampled *s, uint64_t size, uint64_t most)
{
    status_t st = STATUS_OK;
    uint64_t end = most / 3;
    uint64_t pieces = most >= PIECES_FROM ? PIECES : 1;
    uint64_t piece = end / pieces;
    uint64_t step = (size - 2 * end - piece) / (pieces + 1);
    TRY(add(s, 0, end));
    for (uint64_t i = 1; i <= pieces; i++) {
        TRY(add(s, end + i * step, piece));
    }
    TRY(add(s, size - end, end));
out:
    return st;
}

status_t sampled_crc(const char *path, uint64_t most, uint64_t *bytes, uint32_t *crc)
{
    status_t st = STATUS_OK;
    struct sampled s = {.path = path, .fd = -1};
    struct identity identity;
    TRY(identity_of_path(path, &identity)); /* a pipe is never opened */
    TRY(memory_aligned(BUFFER_BYTES, 1, "a piece of a file", &s.buffer));
    TRY(file_open_read(path, &s.fd));
    TRY(identity_of_open(s.fd, path, &identity));
    s.crc = crc_of("", 0);
    TRY(identity.bytes <= most ? add(&s, 0, identity.bytes) : add_some(&s, identity.bytes, most));
    *bytes = identity.bytes;
    *crc = s.crc;
out:
    if (s.fd >= 0) {
        close(s.fd);
    }
    free(s.buffer);
    return st;
}
