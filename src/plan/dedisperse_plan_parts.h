/* What the files of the plan of a dedispersion share. For nobody else. */
#ifndef VOLTMILL_PLAN_DEDISPERSE_PLAN_PARTS_H
#define VOLTMILL_PLAN_DEDISPERSE_PLAN_PARTS_H

#include "plan/dedisperse_plan.h"

/* Looks through the delays of every DM, once. Fails with DEVICE. */
status_t dm_ranges_create(struct dedisperse_plan *dedispersion);

/* Settles chunks, blocks and memory. Fails with USAGE. */
status_t dedisperse_plan_cut(struct dedisperse_plan *dedispersion, const struct chunking *begun);

#endif
