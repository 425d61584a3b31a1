/* `dm: {..., downsample: auto}`: into which ranges of DMs the job's filterbanks divide. */
#ifndef VOLTMILL_RUN_RANGES_RANGES_H
#define VOLTMILL_RUN_RANGES_RANGES_H

#include "archive/archive.h"
#include "job/job.h"

/* Of every dedispersion of the job that is to be divided; filterbanks of the job's own are foreseen
 * (`archive`; NULL: the input is a filterbank). Coefficients of filters are read already. Fails
 * with USAGE: more dedispersions than a job may have, a filterbank that was dedispersed coherently;
 * with DATA. */
status_t ranges_find(const struct job *job, const struct archive *archive,
                     struct job_division *out);

#endif
