/* The filter bank of a job, from its plan to its products. */
#ifndef VOLTMILL_RUN_CHANNELISE_PASS_H
#define VOLTMILL_RUN_CHANNELISE_PASS_H

#include "archive/archive.h"
#include "pipeline/device_carry.h"
#include "run/run.h"

/* Collective. `started`: when the run was (clock_now()); power that is to be dedispersed stays
 * `between` the passes, too. Fails as run_job_all(). */
status_t channelise_pass_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                             const struct run_options *options, double started,
                             struct device_carry *between);

#endif
