/* The first frame of a VDIF file. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_VDIF_FIRST_H
#define VOLTMILL_INPUT_FORMAT_VDIF_FIRST_H

#include "input/packets/packet_headers.h"
#include "input/packets/sync.h"

/* Bytes from the begin of a file in which its first frame is sought. */
enum {
    VDIF_SHORT_SEEK = 128 << 10, /* of a file that may be anything */
    VDIF_FILL_SEEK = 16 << 20,   /* of one that begins with fill, or an invalid frame */
    VDIF_LONG_SEEK = 1 << 30     /* of one that is said to be VDIF */
};

/* Whether a header can be one of a frame whose samples count. */
int vdif_is_possible(const struct vdif_header *header);

/* Whether two headers say the same of all frames, of whatever station and time. */
int vdif_is_alike(const struct vdif_header *a, const struct vdif_header *b);

/* Whether more of the next headers, at its own distance, are like one at `at` than contradict it.
 * Descriptor, path and bytes of `seek` count here and below. Fails with DATA. */
status_t vdif_is_followed(const struct packets_seek *seek, uint64_t at,
                          const struct vdif_header *header, int *is_followed);

/* Counts the first frames of a file, 4096 at most, that are flagged invalid; 0: they are fewer than
 * 4, or one has another length than the first. Fails with DATA. */
status_t vdif_count_invalid(const struct packets_seek *seek, uint64_t *out);

/* Whether frames of a file have 8 bytes more before or after each, as the sequence numbers of
 * packets are stored, from its first byte on; the header of the first. Fails with DATA. */
status_t vdif_find_numbered(const struct packets_seek *seek, struct vdif_header *out, int *found);

/* Whether among the next frames, each at the length of the one before, are some of the same station
 * and time that are not like the first, at `at`; the last of them. Fails with DATA. */
status_t vdif_find_unlike(const struct packets_seek *seek, uint64_t at,
                          const struct vdif_header *first, struct vdif_header *out, int *found);

/* The first frame of a file that others like it follow, which begins before `end`, and is like
 * `like` unless that is NULL. There is no magic number. *found = 0: none; then *offset is 0, and
 * *out what the first bytes say as a header. Fails with DATA. */
status_t vdif_find_first(const struct packets_seek *seek, uint64_t end,
                         const struct vdif_header *like, struct vdif_header *out, uint64_t *offset,
                         int *found);

#endif
