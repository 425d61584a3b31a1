/* How work is cut so that it fits: groups of streams, blocks within run.memory, chunks. */
#ifndef VOLTMILL_PLAN_BUDGET_H
#define VOLTMILL_PLAN_BUDGET_H

#include "plan/channelise_plan.h"

enum { BUDGET_BASE_BYTES = 88 << 20 /* program, libraries, MPI: measured */ };

/* The same beside it, by the way in which samples are reached. */
extern const uint64_t budget_reach_bytes[];

/* Settles work->chunking, the sizes in stages that follow from it, work->memory_bytes and
 * work->stage_bytes. Job, archive, filter and products of `work` are settled already. Fails with
 * USAGE: a budget that is too small (says how much is needed), dumps without a sensible common
 * multiple, far too many chunks. `begun`: streams and chunks as an earlier run has cut them, or
 * NULL. */
status_t budget_settle(struct channelise_plan *work, const struct chunking *begun);

/* Returns the number of threads that finish rows (pipeline/finish): all, or a quarter if the
 * backend computes on the cores itself, since waiting for more would take longer. */
uint32_t budget_finishers(const struct channelise_plan *work);

/* Estimates the device memory, in bytes, that one block of the smallest size needs. 0: the backend
 * has no memory of its own. Fails with DEVICE. */
status_t budget_device_bytes(const struct channelise_plan *work, uint64_t *out);

#endif
