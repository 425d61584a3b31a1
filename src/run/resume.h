/* Passes of a job that earlier runs have completed: the filter bank's, if there is one, then the
 * dedispersions. */
#ifndef VOLTMILL_RUN_RESUME_H
#define VOLTMILL_RUN_RESUME_H

#include "input/archive.h"

struct resume {
    int channelise;                 /* its products are complete */
    int dedisperse[JOB_DEDISPERSE]; /* this one is */
    int all;                        /* nothing is left to do */
};

struct resume_options {
    int force;      /* skip only where a later pass was begun on what is of this job */
    int only_looks; /* leaves everything as it is */
};

/* On rank 0, or alone: finds the passes whose products are complete and belong to this job and its
 * input (output/journal_head.h). `archive` is NULL if the input is a filterbank. Unless it only
 * looks, removes journals that a killed run has left beside complete products. Without `force`,
 * fails with USAGE if an existing product is of another job or other files, is incomplete, or its
 * filterbank is missing, and with DATA if its input cannot be read; with `force`, nothing is
 * complete then. Fails with DATA if a name cannot be looked up or a journal read; with DEVICE,
 * STOPPED (of a child process that opens files). */
status_t resume_find(const struct job *job, const struct archive *archive,
                     const struct resume_options *options, struct resume *out);

/* Sets *is_complete to whether the series of a part of a semi-coherent search are complete and
 * belong to this job; 0 if they do not exist. Their text names the archive, since the power that
 * they were made of may have been removed. Fails with USAGE if they are of another job, broken, or
 * no product of ours; with DATA if a name cannot be looked up; with DEVICE, STOPPED. */
status_t resume_find_part(const struct job *part, int *is_complete);

#endif
