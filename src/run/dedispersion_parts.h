/* What the files of the plan of a dedispersion share. For nobody else. */
#ifndef VOLTMILL_RUN_DEDISPERSION_PARTS_H
#define VOLTMILL_RUN_DEDISPERSION_PARTS_H

#include "run/dedispersion.h"

/* Looks through the delays of every DM, once. Fails with DEVICE. */
status_t dm_ranges_create(struct dedispersion *dedispersion);

/* Settles chunks, blocks and memory. Fails with USAGE. */
status_t dedispersion_cut(struct dedispersion *dedispersion, const struct chunking *begun);

#endif
