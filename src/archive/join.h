/* Files of one observation, joined. Private to archive/. */
#ifndef VOLTMILL_ARCHIVE_JOIN_H
#define VOLTMILL_ARCHIVE_JOIN_H

#include "archive/format/formats.h"

/* Opens one file as an archive of one part, nothing selected yet. */
typedef status_t join_open_t(const char *path, const struct job_layout *layout,
                             struct archive **out);

/* Opens each file and joins them along layout->files_along: in the order of their start times if
 * they continue in time and all state one, else in the order given. Fails with DATA: two files that
 * are not of one observation, and what differs. */
status_t join_files(const struct format_input *input, join_open_t *open_file, struct archive **out);

/* Fails with DATA: two archives that are not alike in all but time and the axis along which they
 * are stacked, and what differs; unless `times_differ`, both have as many samples. */
status_t join_check_alike(const struct archive *a, const struct archive *b, int times_differ);

/* Appends what `next` has along the stacked axis: its count, frequencies or names. */
status_t join_append_stack(struct archive *base, const struct archive *next);

#endif
