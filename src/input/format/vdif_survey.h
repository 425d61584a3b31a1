/* Facts that the first, the last and some other frames of VDIF files state. Private to
 * input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_VDIF_SURVEY_H
#define VOLTMILL_INPUT_FORMAT_VDIF_SURVEY_H

#include "input/packets/packet_headers.h"
#include "input/packets/sync.h"

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
    int has_zero;                                /* a frame number 0 was seen, valid or not */
    uint32_t ones; /* seconds that were seen to begin with number 1, the last of them one_second */
    int64_t one_second;
};

/* Reads headers of the file at file->path: adds their facts to `survey`, which begins as zeros but
 * for `wanted`. Sets the file's frames and runs (packets_seek_frames(); for free(), also after a
 * failure), where they were 0. No field of a frame that is flagged invalid counts, but for
 * `invalid`. May warn of bytes that are no frames. Fails with DATA: missing, unreadable, no VDIF,
 * or not like those before it; with USAGE: a frame of another station without `wanted`; with DEVICE
 * (memory, descriptors). `survey` is undefined then. */
status_t vdif_survey_file(struct vdif_survey *survey, struct packets_file *file);

#endif
