/* Frames counted in the seconds of VDIF files. Private to input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_VDIF_COUNT_H
#define VOLTMILL_ARCHIVE_FORMAT_VDIF_COUNT_H

#include "input/format/vdif_survey.h"

/* A frame that was seen. */
struct vdif_seen {
    int64_t second;
    uint32_t thread, number; /* of the second */
};

/* Counts the frames of each second whose end was seen: of all threads up to the highest number near
 * which there is another one, since a lone high number is a header's fault; and those of each
 * thread. Sorts what was seen. */
void vdif_count_seen(struct vdif_survey *survey, struct vdif_seen *seen, size_t count);

/* Whether a number of frames a second agrees with a count: the last ones of seconds may be lost. */
int vdif_is_counted(double frames, uint32_t counted);

/* Fails with DATA where seconds of a thread are proven to have fewer frames than others: path,
 * threads, times, counts. */
status_t vdif_count_check(const struct vdif_survey *survey, const char *path);

#endif
