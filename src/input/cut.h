/* Pieces of a dataset as parts of an observation. Private to input/. */
#ifndef VOLTMILL_ARCHIVE_CUT_H
#define VOLTMILL_ARCHIVE_CUT_H

#include "input/archive.h"

/* Leaves the first `samples` (at least 1, at most as many as there are) of an archive of one part:
 * the dataset has more, which mean nothing. Fails with DEVICE (memory). */
status_t cut_time(struct archive *archive, uint64_t samples);

/* Indices first .. first + count - 1 of the outermost dimension of an archive of one part, as a
 * part of their own, whose samples are `samples` from sample 0 on. cut_free() in any case. Fails
 * with DATA: a file that is not there any more; with DEVICE (memory). */
status_t cut_part(const struct archive *archive, uint64_t first, uint64_t count, uint64_t samples,
                  struct archive_part *out);
void cut_free(struct archive_part *part);

#endif
