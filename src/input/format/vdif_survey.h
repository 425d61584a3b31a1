/* The first frame of VDIF files, and facts that the first, the last and some other frames state.
 * Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_VDIF_SURVEY_H
#define VOLTMILL_INPUT_FORMAT_VDIF_SURVEY_H

#include "input/packets/packet_headers.h"
#include "input/packets/sync.h"

/* Bytes from the begin of a file in which its first frame is sought. */
enum {
    VDIF_SHORT_SEEK = 128 << 10, /* of a file that may be anything */
    VDIF_FILL_SEEK = 16 << 20,   /* of one that begins with fill, or an invalid frame */
    VDIF_LONG_SEEK = 1 << 30     /* of one that is said to be VDIF */
};

/* Returns whether a header can be one of a frame whose samples count. */
int vdif_is_possible(const struct vdif_header *header);

/* Sets *is_followed to whether more of the next headers, one frame length apart, are like the
 * header at `at` than contradict it. Of `seek` only descriptor, path and bytes count, here and
 * below. Fails with DATA. */
status_t vdif_is_followed(const struct packets_seek *seek, uint64_t at,
                          const struct vdif_header *header, int *is_followed);

/* Counts the first frames of a file, 4096 at most, that are flagged invalid; 0: they are fewer than
 * 4, or one has another length than the first. Fails with DATA. */
status_t vdif_count_invalid(const struct packets_seek *seek, uint64_t *out);

/* Sets *found to whether the frames of a file, from its first byte on, have 8 more bytes before or
 * after each, as sequence numbers of packets are stored; *out is the first header. Fails with DATA.
 */
status_t vdif_find_numbered(const struct packets_seek *seek, struct vdif_header *out, int *found);

/* Searches the next frames, one after the other by their lengths, for frames of the same station
 * and time that are not like the first one, at `at`. *out is the last of them. Fails with DATA. */
status_t vdif_find_unlike(const struct packets_seek *seek, uint64_t at,
                          const struct vdif_header *first, struct vdif_header *out, int *found);

/* Finds the first frame of a file that frames like it follow, that begins before `end`, and that is
 * like `like` (NULL: any). VDIF has no magic number. *found = 0: there is none; then *offset is 0,
 * and *out the first bytes read as a header. Fails with DATA, DEVICE (memory). */
status_t vdif_find_first(const struct packets_seek *seek, uint64_t end,
                         const struct vdif_header *like, struct vdif_header *out, uint64_t *offset,
                         int *found);

/* Frames of a thread in a second, by the first thread's clock. */
struct vdif_counted {
    uint32_t frames, thread;
    int64_t second;
};

struct vdif_survey {
    const char *wanted; /* a station's name; NULL: there is but one */
    int has_first;
    struct vdif_header first; /* of the first frame that counts */
    struct packets_mark mark; /* of headers like it */
    uint64_t header_bytes;
    int is_unsure; /* of a legacy header's length: bytes 20 to 23 are the same in all frames */
    unsigned char has_thread[PACKETS_THREADS];
    uint32_t invalid[PACKETS_THREADS]; /* frames flagged invalid that are like the first else */
    int64_t ahead[PACKETS_THREADS];    /* seconds that a thread's clock is ahead of the first's */
    struct vdif_counted most;          /* of seconds that end in the files; .frames 0: none does */
    struct vdif_counted fewest; /* of a thread that has as many in two seconds, of which hardly any
                                   frame is missing; .frames 0: there is none */
    struct vdif_counted before[PACKETS_THREADS]; /* the second that was counted last */
};

/* Reads headers of the file at file->path: adds what they say to `survey`, which begins as zeros
 * but for `wanted`, and sets the file's frames and runs (packets_seek_frames()), where they were 0.
 * No field of a frame that is flagged invalid counts, but for `invalid`. Fails with DATA or USAGE:
 * it is not like those before it, or of another station; with DEVICE. */
status_t vdif_survey_file(struct vdif_survey *survey, struct packets_file *file);

#endif
