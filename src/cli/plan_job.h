/* Plan of a run, in words and units, as `voltmill plan` prints it on stdout. */
#ifndef VOLTMILL_CLI_PLAN_JOB_H
#define VOLTMILL_CLI_PLAN_JOB_H

#include "run/run_plan.h"

/* Plans the job of the options as a run would, prints it, and fails as the run would: NO_SPACE only
 * when all is printed. */
status_t plan_job_print(const struct run_options *options);
/* The same as a JSON object: keys in docs/json.md. Fails with USAGE, DATA, NO_SPACE, DEVICE
 * (memory), STOPPED. */
status_t plan_job_write(const struct run_options *options);

/* From one channel of filter bank i to the next. */
double plan_channel_hz(const struct channelise_plan *work, uint32_t i);

#endif
