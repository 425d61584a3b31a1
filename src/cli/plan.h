/* What a job would do, printed: `plan` and `run --dry-run`. */
#ifndef VOLTMILL_CLI_PLAN_H
#define VOLTMILL_CLI_PLAN_H

#include "cli/options/options.h"

/* Of the operand, `sets`, `force` and `restart`. Fails as the run would. */
status_t plan_job(const struct shared *options);

#endif
