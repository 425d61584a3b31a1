/* What a job selects of an observation. Private to archive/. */
#ifndef VOLTMILL_ARCHIVE_SELECT_H
#define VOLTMILL_ARCHIVE_SELECT_H

#include "archive/archive.h"

/* Fills first_sample, samples, selected and nstreams. Fails with USAGE: what the archive does not
 * hold. */
status_t select_apply(const struct job_select *select, struct archive *archive);

#endif
