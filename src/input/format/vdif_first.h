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

/* Returns 1 if a header can be one of a frame whose samples count, else 0. It is no fill, not
 * flagged invalid, of at most 2^16 channels, and of a length below 2^27 bytes that has a sample of
 * each. */
int vdif_is_possible(const struct vdif_header *header);

/* Returns 1 if two headers agree in what all frames have in common (length, channels, bits, complex
 * or real, legacy) and in the epoch, whatever station, thread and second; else 0. */
int vdif_is_alike(const struct vdif_header *a, const struct vdif_header *b);

/* Sets *is_followed to 1 if more of the next 16 headers, one frame length apart, are like the
 * header at byte `at` than contradict it, else to 0. Of `seek` only descriptor, path and bytes
 * count. Fails with DATA (unreadable); *is_followed is 0 then. */
status_t vdif_is_followed(const struct packets_seek *seek, uint64_t at,
                          const struct vdif_header *header, int *is_followed);

/* Counts the first frames of a file, 4096 at most, that are flagged invalid. *out is 0 if they are
 * fewer than 4, or one has another length than the first. Of `seek` only descriptor, path and bytes
 * count. Fails with DATA (unreadable); *out is 0 then. */
status_t vdif_count_invalid(const struct packets_seek *seek, uint64_t *out);

/* Sets *found to 1 if the frames of a file, from its first byte on, have 8 more bytes before or
 * after each, as sequence numbers of packets are stored, else to 0. *out is the first header if it
 * is 1. Of `seek` only descriptor, path and bytes count. Fails with DATA (unreadable); both outputs
 * are undefined then. */
status_t vdif_find_numbered(const struct packets_seek *seek, struct vdif_header *out, int *found);

/* Looks at the next 64 frames, from byte `at` on, one after the other by their lengths. Sets *found
 * to 1 if at least 4 are like `first`, and at least 4 of the same station and time are not; else to
 * 0. *out is the last that is not. Of `seek` only descriptor, path and bytes count. Fails with DATA
 * (unreadable); *found is unchanged then, *out undefined. */
status_t vdif_find_unlike(const struct packets_seek *seek, uint64_t at,
                          const struct vdif_header *first, struct vdif_header *out, int *found);

/* Finds the first frame of a file that frames like it follow, that begins before byte `end`, and
 * that is like `like` (NULL: any). VDIF has no magic number. *found = 1: *offset is its byte, *out
 * its header; 0: there is none, *offset is 0, and *out the first bytes read as a header. Of `seek`
 * only descriptor, path and bytes count. Fails with DATA (unreadable), DEVICE (memory); the outputs
 * are undefined then. */
status_t vdif_find_first(const struct packets_seek *seek, uint64_t end,
                         const struct vdif_header *like, struct vdif_header *out, uint64_t *offset,
                         int *found);

#endif
