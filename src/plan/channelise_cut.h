/* How work is cut so that it fits: groups of streams, blocks within run.memory, chunks. */
#ifndef VOLTMILL_PLAN_CHANNELISE_CUT_H
#define VOLTMILL_PLAN_CHANNELISE_CUT_H

#include "plan/channelise_plan.h"

/* Settles work->chunking, the sizes in stages that follow from it, work->memory_bytes and
 * work->stage_bytes. Job, archive, filter and products of `work` are settled already. Fails with
 * USAGE: a budget that is too small (says how much is needed), dumps without a sensible common
 * multiple, far too many chunks. `begun`: streams and chunks as an earlier run has cut them, or
 * NULL. */
status_t channelise_cut(struct channelise_plan *work, const struct chunking *begun);

#endif
