/* What becomes of the polarisations, stations and beams of a product. */
#ifndef VOLTMILL_PLAN_PRODUCTS_PLAN_IFS_H
#define VOLTMILL_PLAN_PRODUCTS_PLAN_IFS_H

#include "plan/channelise_plan.h"

/* Settles ifs of work->products[i], whose `archive` is known. Fails with USAGE: the archive has not
 * two polarisations, their feed is not known, it has no such stations or beams; with DATA: the file
 * of weights. */
status_t plan_ifs_settle(struct channelise_plan *work, uint32_t i);

/* What the backend makes for a product: of flagged power its cells. */
struct channelise_output plan_ifs_output(const struct job_product *job);

#endif
