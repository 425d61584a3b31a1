/* What the products of a plan are made of: the channels that they keep, their sizes. */
#ifndef VOLTMILL_PLAN_PLAN_PRODUCTS_H
#define VOLTMILL_PLAN_PLAN_PRODUCTS_H

#include "plan/channelise_plan.h"

/* The polarisations, stations and beams that a product holds. */

/* The backend's output for a product: of flagged power its cells. */
struct channelise_output plan_ifs_output(const struct job_product *job);

/* Droop: what lies before the filter bank lets less power through near the edges of each coarse
 * channel, and products can be divided by that: by the response of the job's own filters, which is
 * known, and by that of a table, for the telescope's.
 *
 * A table is text, a line for each frequency: Hz from the coarse channel's centre, on the sky,
 * ascending, and the gain in power there, above 0; # begins a comment. In between gains are
 * interpolated linearly, beyond both ends they stay as they are there. */
/* Channels whose gain is less than this part of the largest gain of all channels become NaN. */
#define DROOP_LEAST 0.01

/* Settles work->products (but the coefficients) and work->group_quantum. Banks, rows and weights
 * are settled already. Fails with USAGE: fewer spectra than a dump has, channels that there are
 * not, sizes that do not fit. */
status_t plan_products_settle(struct channelise_plan *work);

/* Bytes of a row of product i as the backend makes it, of so many streams; of its squares, where it
 * makes those, too, another row of one number a stream and channel. */
uint64_t plan_products_made_bytes(const struct channelise_plan *work, uint32_t i, uint32_t streams);

uint64_t plan_products_squares_bytes(const struct channelise_plan *work, uint32_t i,
                                     uint32_t streams);

/* Whether its rows are made of all coarse channels, or of several streams
 * (pipeline/finish/finish.h): why streams of a group are as many as they are. */
/* Whether they are other ones when they are written, that or rounded. */
int plan_products_is_changed(const struct channelise_plan *work, uint32_t i);

/* Whether the backend can round the rows of product i, whose first block's scales count for all:
 * nothing else becomes of them behind it. And whether it does so: the scales are known. */
int plan_products_can_round(const struct channelise_plan *work, uint32_t i);
int plan_products_rounds(const struct channelise_plan *work, uint32_t i);

/* Numbers of a row as the product has it that so many streams make: lines, of spectra pairs. */
uint64_t plan_products_lines(const struct channelise_plan *work, uint32_t i, uint32_t streams);
/* What rounding takes on the way: a block of rows with a scale, and what becomes of `rows` more. */
uint64_t plan_products_held_bytes(const struct channelise_plan *work, uint32_t i, uint32_t streams,
                                  uint64_t rows);

/* What a row is made of, for people: how many streams, or ifs once coarse channels stand side by
 * side, and of how many channels each. */
struct plan_products_shape {
    uint32_t columns;
    const char *what; /* "streams", "pol", ... */
    uint64_t channels;
};
struct plan_products_shape plan_products_shape_of(const struct channelise_plan *work, uint32_t i);

#endif
