/* Droop: what lies before the filter bank lets less power through near the edges of each coarse
 * channel, and products can be divided by that: by the response of the job's own filters, which is
 * known, and by that of a table, for the telescope's.
 *
 * A table is text, a line for each frequency: Hz from the coarse channel's centre, on the sky,
 * ascending, and the gain in power there, above 0; # begins a comment. In between gains are
 * interpolated linearly, beyond both ends they stay as they are there. */
#ifndef VOLTMILL_PLAN_PRODUCTS_DROOP_H
#define VOLTMILL_PLAN_PRODUCTS_DROOP_H

#include "plan/channelise_plan.h"

/* What is left of less than this of the greatest gain of all channels is no number. */
#define DROOP_LEAST 0.01

/* The gain in power of each channel of product i, double [all channels of the bank], free() returns
 * it; *out = NULL where the job does not ask for it. Product and filters are settled. Fails with
 * DATA: file, line, what was expected; USAGE: no channel gets through; DEVICE (memory). */
status_t droop_settle(const struct channelise_plan *work, uint32_t i, double **out);

#endif
