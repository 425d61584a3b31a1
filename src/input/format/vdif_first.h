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

/* Returns whether a header can be one of a frame whose samples count: no fill, not flagged invalid,
 * of at most 2^16 channels, and of a length that has a sample of each, below 2^27 bytes. */
int vdif_is_possible(const struct vdif_header *header);

/* Returns whether two headers agree in what all frames have in common (length, channels, bits,
 * complex or real, legacy) and in the epoch, whatever station, thread and second. */
int vdif_is_alike(const struct vdif_header *a, const struct vdif_header *b);

/* Sets *is_followed to whether more of the next 16 headers, one frame length apart, are like the
 * header at byte `at` than contradict it. Of `seek` only descriptor, path and bytes count, here and
 * below. Fails with DATA (unreadable); *is_followed is 0 then. */
status_t vdif_is_followed(const struct packets_seek *seek, uint64_t at,
                          const struct vdif_header *header, int *is_followed);

/* Counts the first frames of a file, 4096 at most, that are flagged invalid; 0: they are fewer than
 * 4, or one has another length than the first. Fails with DATA (unreadable); *out is 0 then. */
status_t vdif_count_invalid(const struct packets_seek *seek, uint64_t *out);

/* Sets *found to whether the frames of a file, from its first byte on, have 8 more bytes before or
 * after each, as sequence numbers of packets are stored; *out is the first header then. Fails with
 * DATA (unreadable); both outputs are undefined then. */
status_t vdif_find_numbered(const struct packets_seek *seek, struct vdif_header *out, int *found);

/* Searches the next 64 frames, from `at` on, one after the other by their lengths, for frames of
 * the same station and time that are not like `first`. Sets *found to whether at least 4 are and at
 * least 4 are not; *out is the last that is not. Fails with DATA (unreadable); *found is unchanged
 * then. */
status_t vdif_find_unlike(const struct packets_seek *seek, uint64_t at,
                          const struct vdif_header *first, struct vdif_header *out, int *found);

/* Finds the first frame of a file that frames like it follow, that begins before byte `end`, and
 * that is like `like` (NULL: any). VDIF has no magic number. *found = 1: *offset is its byte, *out
 * its header; 0: there is none, *offset is 0, and *out the first bytes read as a header. Fails with
 * DATA (unreadable), DEVICE (memory); the outputs are undefined then. */
status_t vdif_find_first(const struct packets_seek *seek, uint64_t end,
                         const struct vdif_header *like, struct vdif_header *out, uint64_t *offset,
                         int *found);

#endif
