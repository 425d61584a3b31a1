/* CRC-32 of bytes by libdeflate, the fastest there is; sums of pieces by zlib, which alone knows
 * how to move a CRC over bytes that it does not see. */
#include "io/crc.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/file_rights.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <zlib.h>

uint32_t crc_more(uint32_t crc, const void *data, size_t bytes)
{
    return bytes > 0 ? libdeflate_crc32(crc, data, bytes) : crc; /* NULL would begin anew */
}

uint32_t crc_of(const void *data, size_t bytes)
{
    return crc_more(0, data, bytes);
}

/* Libraries invert before and after, which is what keeps a CRC from being linear. */
uint32_t crc_part(const void *data, size_t bytes)
{
    return ~crc_more(~UINT32_C(0), data, bytes);
}

uint32_t crc_power(uint64_t bytes)
{
    /* Powers come round again after 2^32 - 1; and zlib never comes back from lengths below 0. */
    return (uint32_t)crc32_combine_gen((z_off_t)(bytes % UINT32_MAX));
}

uint32_t crc_times(uint32_t part, uint32_t power)
{
    return (uint32_t)crc32_combine_op(part, 0, power);
}

uint32_t crc_whole(uint32_t part, uint64_t bytes)
{
    return ~(part ^ crc_times(~UINT32_C(0), crc_power(bytes)));
}

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

static status_t crc_add(struct sampled *s, uint64_t from, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += BUFFER_BYTES) {
        uint64_t count = min_u64(BUFFER_BYTES, bytes - at);
        TRY(file_read(s->fd, s->path, from + at, s->buffer, count));
        s->crc = crc_more(s->crc, s->buffer, (size_t)count);
    }
    return STATUS_OK;
}

static status_t crc_add_some(struct sampled *s, uint64_t size, uint64_t most)
{
    uint64_t end = most / 3;
    uint64_t pieces = most >= PIECES_FROM ? PIECES : 1;
    uint64_t piece = end / pieces;
    uint64_t step = (size - 2 * end - piece) / (pieces + 1);
    TRY(crc_add(s, 0, end));
    for (uint64_t i = 1; i <= pieces; i++) {
        TRY(crc_add(s, end + i * step, piece));
    }
    return crc_add(s, size - end, end);
}

status_t crc_sampled(const char *path, uint64_t most, uint64_t *bytes, uint32_t *crc)
{
    status_t st = STATUS_OK;
    struct sampled s = {.path = path, .fd = -1};
    struct identity identity = {.bytes = 0};
    TRY_OUT(identity_of_path(path, &identity)); /* a pipe is never opened */
    TRY_OUT(memory_aligned(BUFFER_BYTES, 1, "a piece of a file", &s.buffer));
    TRY_OUT(file_open_read(path, &s.fd));
    TRY_OUT(identity_of_open(s.fd, path, &identity));
    s.crc = crc_of("", 0);
    TRY_OUT(identity.bytes <= most ? crc_add(&s, 0, identity.bytes)
                                   : crc_add_some(&s, identity.bytes, most));
    *bytes = identity.bytes;
    *crc = s.crc;
out:
    file_close(s.fd);
    free(s.buffer);
    return st;
}
