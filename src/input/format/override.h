/* The words of a format (struct job_layout as a file says them), and what the job says of the same.
 * Private to input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_OVERRIDE_H
#define VOLTMILL_ARCHIVE_FORMAT_OVERRIDE_H

#include "job/job.h"

/* Copies each word and number that the job gives into `own`: it goes before what the file says.
 * Fails with DEVICE (memory). */
status_t override_layout(const struct job_layout *layout, struct job_layout *own);
/* Whether the job gives a key, itself or as an attribute of the file. Such keys go before what the
 * file says, which is then not compared with them. */
int override_has(const struct job_layout *layout, enum job_said_key key);
/* Whether it gives the sample rate, as a rate or as a period. */
int override_has_rate(const struct job_layout *layout);
/* Whether it gives frequencies, in any form. */
int override_has_frequencies(const struct job_layout *layout);
/* Whether it gives the sample rate or frequencies. */
int override_has_spacing(const struct job_layout *layout);
/* Frees what own's fields point to, and zeroes it. */
void override_free(struct job_layout *own);

#endif
