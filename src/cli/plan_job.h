/* Plan of a run, in words and units, as `voltmill plan` prints it on stdout. */
#ifndef VOLTMILL_CLI_PLAN_JOB_H
#define VOLTMILL_CLI_PLAN_JOB_H

#include "cli/options.h"
#include "run/run_plan.h"

/* Settles the job of `run` and `plan` in *run: a file; "-", the text that stdin has; or, if there
 * is no operand, options --set alone. Such a text goes into *given, which is for text_free().
 * `list` is that of --list, NULL without one. Fails with USAGE, DATA. */
status_t plan_job_take(const struct shared *shared, const char *list, struct text *given,
                       struct run_options *run);

/* Plans the job of the options as a run would, prints it, and fails as the run would: NO_SPACE only
 * when all is printed. */
status_t plan_job_print(const struct run_options *options);

/* From one channel of filter bank i to the next. */
double plan_channel_hz(const struct channelise_plan *work, uint32_t i);

#endif
