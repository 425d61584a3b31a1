/* The words of a format (struct job_layout as a file says them), and what the job says of the same.
 * Private to archive/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_OVERRIDE_H
#define VOLTMILL_ARCHIVE_FORMAT_OVERRIDE_H

#include "job/job.h"

/* Copies each word and number that the job gives into `own`: it goes before what the file says.
 * Fails with DEVICE (memory). */
status_t override_layout(const struct job_layout *layout, struct job_layout *own);
/* Whether it says frequencies, in whatever way. */
int override_has_frequencies(const struct job_layout *layout);
/* Frees what own's fields point to, and zeroes it. */
void override_free(struct job_layout *own);

#endif
