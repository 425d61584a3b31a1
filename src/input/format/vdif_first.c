/* VDIF has no magic number: a header is known by those that follow at its own distance. */
#include "input/format/vdif_first.h"

#include "base/memory.h"
#include "io/file.h"

#include <stdlib.h>

enum {
    MOST_FRAME = 1 << 27, /* bytes: all that 24 bits of 8 bytes can say */
    MOST_CHANNELS_LOG2 = 16,
    FOLLOWERS = 16, /* headers that are compared with a first one, of which some may be lost */
    NEAR = 2,       /* s: between a header and one of these */
    PIECE = 64 << 10,
    WORD = 8 /* bytes */
};

int vdif_is_possible(const struct vdif_header *header)
{
    uint64_t head = header->is_legacy ? VDIF_LEGACY_BYTES : VDIF_BYTES;
    uint64_t numbers = (uint64_t)(header->is_complex ? 2 : 1) * header->bits;
    return !header->is_fill && !header->is_invalid && header->bytes > head &&
           header->bytes < MOST_FRAME && header->channels_log2 <= MOST_CHANNELS_LOG2 &&
           8 * (header->bytes - head) >= numbers << header->channels_log2;
}

int vdif_is_alike(const struct vdif_header *a, const struct vdif_header *b)
{
    return a->bytes == b->bytes && a->channels_log2 == b->channels_log2 && a->bits == b->bits &&
           a->is_complex == b->is_complex && a->is_legacy == b->is_legacy && a->epoch == b->epoch;
}

/* Whether a frame is another one of about the same time. Other words of headers that are taken for
 * one do not change, or change at random. */
static int vdif_is_later(const struct vdif_header *a, const struct vdif_header *b)
{
    int is_same = a->seconds == b->seconds && a->frame == b->frame && a->thread == b->thread;
    return !is_same && a->seconds <= b->seconds + NEAR && b->seconds <= a->seconds + NEAR;
}

/* Reads a header, if one that is possible is there. */
static status_t vdif_read_possible(const struct packets_seek *seek, uint64_t at,
                                   struct vdif_header *out, int *is_there)
{
    unsigned char words[VDIF_BYTES] = {0};
    *is_there = 0;
    if (at + VDIF_LEGACY_BYTES <= seek->bytes) {
        TRY(file_read(seek->fd, seek->path, at, words, min_u64(sizeof words, seek->bytes - at)));
        vdif_header_read(words, out);
        *is_there = vdif_is_possible(out);
    }
    return STATUS_OK;
}

status_t vdif_is_followed(const struct packets_seek *seek, uint64_t at,
                          const struct vdif_header *header, int *is_followed)
{
    int alike = 0;
    *is_followed = 0;
    for (uint64_t i = 1; i <= FOLLOWERS; i++) {
        struct vdif_header next;
        int is_there = 0;
        TRY(vdif_read_possible(seek, at + i * header->bytes, &next, &is_there));
        if (is_there && next.bytes == header->bytes) {
            alike += !vdif_is_alike(header, &next) ? -1 : vdif_is_later(header, &next) ? 1 : 0;
        }
    }
    *is_followed = alike > 0;
    return STATUS_OK;
}

status_t vdif_count_invalid(const struct packets_seek *seek, uint64_t *out)
{
    enum { LEAST = 4, MOST = 4096 };
    struct vdif_header header = {.is_invalid = 1};
    uint64_t length = 0;
    uint64_t count = 0;
    *out = 0;
    for (uint64_t at = 0; at + VDIF_BYTES <= seek->bytes && count < MOST; at += length, count++) {
        unsigned char words[VDIF_BYTES];
        TRY(file_read(seek->fd, seek->path, at, words, sizeof words));
        vdif_header_read(words, &header);
        length = count == 0 ? header.bytes : length;
        if (header.bytes != length || length <= VDIF_BYTES) {
            return STATUS_OK;
        }
        if (!header.is_invalid) { /* valid ones come too late to be recognised by them */
            break;
        }
    }
    *out = count >= LEAST ? count : 0;
    return STATUS_OK;
}

status_t vdif_find_numbered(const struct packets_seek *seek, struct vdif_header *out, int *found)
{
    enum { FRAMES = 4 };
    *found = 0;
    for (uint64_t first = 0; first <= WORD && !*found; first += WORD) {
        TRY(vdif_read_possible(seek, first, out, found));
        for (uint64_t i = 1; i < FRAMES && *found; i++) {
            struct vdif_header next;
            TRY(vdif_read_possible(seek, first + i * (out->bytes + WORD), &next, found));
            *found = *found && vdif_is_alike(out, &next) && vdif_is_later(out, &next);
        }
    }
    return STATUS_OK;
}

status_t vdif_find_unlike(const struct packets_seek *seek, uint64_t at,
                          const struct vdif_header *first, struct vdif_header *out, int *found)
{
    enum { LEAST = 4 /* of either kind: others may be damaged */, MOST = 64 };
    uint32_t alike = 0;
    uint32_t unlike = 0;
    int is_there = 1;
    for (uint32_t i = 0; i < MOST && is_there; i++) {
        struct vdif_header next;
        TRY(vdif_read_possible(seek, at, &next, &is_there));
        is_there = is_there && next.epoch == first->epoch &&
                   next.seconds <= first->seconds + NEAR && first->seconds <= next.seconds + NEAR;
        if (is_there && vdif_is_alike(first, &next)) {
            alike++;
        } else if (is_there && next.station == first->station) {
            unlike++;
            *out = next;
        }
        at += is_there ? next.bytes : 0;
    }
    *found = alike >= LEAST && unlike >= LEAST;
    return STATUS_OK;
}

/* Most bytes are no header: it is valid, its version 0 or 1, and its numbers have 1, 2, 4, 8, 16 or
 * 32 bits. Some writers set unassigned bits. */
static int vdif_may_begin(const unsigned char *bytes)
{
    unsigned bits = (bytes[15] >> 2 & 31u) + 1;
    return (bytes[3] & 0x80) == 0 && bytes[11] >> 5 <= 1 && (bits & (bits - 1)) == 0;
}

/* A piece of a file. */
struct vdif_piece {
    const struct packets_seek *seek; /* the file */
    uint64_t at;
    unsigned char *data;
};

/* Tries every `step`th of the first `count` bytes of a piece, for headers that are like another one
 * if there is one. *found = 0: none. */
static status_t vdif_try(const struct vdif_piece *piece, uint64_t count, uint64_t step,
                         const struct vdif_header *like, struct vdif_header *out, uint64_t *offset,
                         int *found)
{
    *found = 0;
    for (uint64_t i = 0; i < count && !*found; i += step) {
        struct vdif_header header;
        if (!vdif_may_begin(piece->data + i)) {
            continue;
        }
        vdif_header_read(piece->data + i, &header);
        if (vdif_is_possible(&header) && header.bytes <= piece->seek->bytes - piece->at - i &&
            (!like || vdif_is_alike(like, &header))) {
            TRY(vdif_is_followed(piece->seek, piece->at + i, &header, found));
        }
        if (*found) {
            *out = header;
            *offset = piece->at + i;
        }
    }
    return STATUS_OK;
}

/* Lengths are multiples of 8 bytes, so frames begin there unless bytes are lost. Other places are
 * tried where no such frame is, or before it, for one that is like it. */
static status_t vdif_try_all(const struct vdif_piece *piece, uint64_t count,
                             const struct vdif_header *like, struct vdif_header *out,
                             uint64_t *offset, int *found)
{
    struct vdif_header first;
    int is_earlier = 0;
    TRY(vdif_try(piece, count, WORD, like, out, offset, found));
    if (*found) {
        first = *out;
        TRY(vdif_try(piece, *offset - piece->at, 1, &first, out, offset, &is_earlier));
    } else {
        TRY(vdif_try(piece, count, 1, like, out, offset, found));
    }
    return STATUS_OK;
}

SCOPED_CALLS(vdif_piece_free, struct vdif_piece, free(at->data))

status_t vdif_find_first(const struct packets_seek *seek, uint64_t end,
                         const struct vdif_header *like, struct vdif_header *out, uint64_t *offset,
                         int *found)
{
    SCOPED(vdif_piece_free) struct vdif_piece piece = {.seek = seek};
    end = seek->bytes > VDIF_BYTES ? min_u64(end, seek->bytes - VDIF_BYTES) : 0;
    *offset = 0;
    *found = 0;
    TRY(memory_zeroed(PIECE + VDIF_BYTES, 1, "a piece of a file", &piece.data));
    TRY(file_read(seek->fd, seek->path, 0, piece.data, min_u64(VDIF_BYTES, seek->bytes)));
    vdif_header_read(piece.data, out);
    for (; piece.at < end && !*found; piece.at += PIECE) {
        uint64_t count = min_u64(PIECE, end - piece.at);
        TRY(file_read(seek->fd, seek->path, piece.at, piece.data, count + VDIF_BYTES));
        TRY(vdif_try_all(&piece, count, like, out, offset, found));
    }
    return STATUS_OK;
}
