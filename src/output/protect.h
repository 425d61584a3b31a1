/* A file that is read is never written: all that a command reads is known by device and inode
 * before it makes, removes or truncates anything, and whatever it writes is compared with that. */
#ifndef VOLTMILL_OUTPUT_PROTECT_H
#define VOLTMILL_OUTPUT_PROTECT_H

#include "input/archive.h"
#include "job/job.h"

/* A file that is written beside the products. */
struct protect_other {
    const char *what; /* "--log" */
    const char *path; /* NULL: none */
};

/* Rank 0, or alone: that no product of any pass, under none of the names that it has on its way,
 * and none of the others is the job or leads to a sample of it, and that no two of them are one
 * file. `archive` is NULL when the job's files are dedispersed as they are. --force does not help.
 * Fails with USAGE, naming both files; with DATA. */
status_t protect_job(const struct job *job, const struct archive *archive,
                     const struct protect_other *others, uint32_t nothers);

/* The same of `others` alone. */
status_t protect_others(const struct protect_other *others, uint32_t nothers);

#endif
