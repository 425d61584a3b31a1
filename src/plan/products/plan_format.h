/* What files of other formats than HDF5 can hold. */
#ifndef VOLTMILL_PLAN_PRODUCTS_PLAN_FORMAT_H
#define VOLTMILL_PLAN_PRODUCTS_PLAN_FORMAT_H

#include "plan/channelise_plan.h"

/* Checks product i, whose ifs and channels are settled. Fails with USAGE: channels that are not
 * evenly spaced; for PSRFITS, several antennas, or polarisations that it has no word for. */
status_t plan_format_check(const struct channelise_plan *work, uint32_t i);

#endif
