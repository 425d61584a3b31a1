/* What the first, the last and some other frames of VDIF files say. Private to
 * archive/format/recorder/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_VDIF_SURVEY_H
#define VOLTMILL_ARCHIVE_FORMAT_VDIF_SURVEY_H

#include "archive/packets/vdif_header.h"

struct vdif_survey {
    const char *wanted; /* a station's name; NULL: there is but one */
    int has_first;
    struct vdif_header first; /* of the first frame that counts */
    int has_others;           /* frames of other stations were seen */
    unsigned char has_thread[PACKETS_THREADS];
    int64_t ahead[PACKETS_THREADS]; /* seconds that a thread's clock is ahead of the first's */
    int has_now;
    int64_t now;          /* by the first thread's clock, at the frame that was looked at last */
    uint32_t most_frames; /* counted in a second that has an end in the files; 0: none has */
};

/* Whether a file begins with frames. Fails with DATA. */
status_t vdif_survey_recognise(const char *path, int *is_it);

/* Seconds that a thread's clock is behind that of the thread whose clock is farthest ahead. Some
 * recorders lose high bits of some threads' seconds. */
uint64_t vdif_survey_behind(const struct vdif_survey *survey, uint32_t thread);

/* Looks at a file: adds what it says, and gives its frames, without a torn one at the end. Fails
 * with DATA or USAGE: it is not like those before it, or of another station. */
status_t vdif_survey_file(struct vdif_survey *survey, const char *path, uint64_t *frames);

#endif
