/* How work is cut so that it fits: groups of streams, blocks within run.memory, chunks. */
#ifndef VOLTMILL_PLAN_CHANNELISE_CUT_H
#define VOLTMILL_PLAN_CHANNELISE_CUT_H

#include "plan/channelise_plan.h"

/* Settles work->chunking, the sizes in stages that follow from it, and of `work` memory_bytes,
 * stage_bytes, cache_bytes, unpackers, writers, fillers and groups.read_bytes. Job, archive, filter
 * and products of `work` are settled already. `begun`: streams and chunks as an earlier run has cut
 * them, or NULL. Fails with USAGE: a budget that is too small (says how much is needed), dumps
 * without a sensible common multiple, more than CHUNK_MOST chunks, `begun` that does not fit the
 * work; with DEVICE (memory). */
status_t channelise_cut(struct channelise_plan *work, const struct chunking *begun);

/* Settles work->memory_bytes as users are told, and work->fillers: last, as coefficients decide
 * that. Fails with DEVICE (memory). */
status_t channelise_cut_state(struct channelise_plan *work);

#endif
