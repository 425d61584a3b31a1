/* Plan of a run, in words and units, as `voltmill plan` prints it on stdout. */
#ifndef VOLTMILL_CLI_PLAN_JOB_H
#define VOLTMILL_CLI_PLAN_JOB_H

#include "cli/options.h"
#include "run/passes.h"

/* Sets *run to the job of `run` and `plan`: a file; with "-" the text on stdin; without an operand
 * options --set alone. A text that is not in a file goes into *given, {0} before, which the caller
 * frees by text_free(); only rank 0 reads stdin. *run points to `shared` and `given`. `list` is the
 * file of --list; NULL: not given. Fails with USAGE, DATA, DEVICE (memory). */
status_t plan_job_take(const struct shared *shared, const char *list, struct text *given,
                       struct run_options *run);

/* Plans the job of the options as a run would, prints it by `print`, and fails as the run would,
 * with USAGE, DATA, DEVICE, STOPPED; with NO_SPACE only when all is printed. plan_job_print():
 * prints it in words; fails with USAGE, DATA, DEVICE (memory). */
status_t plan_job_show(const struct run_options *options,
                       status_t (*print)(const struct run_plan *plan));
status_t plan_job_print(const struct run_plan *plan);

/* Returns the spacing of the channels of filter bank i, in Hz. */
double plan_channel_hz(const struct channelise_plan *work, uint32_t i);

#endif
