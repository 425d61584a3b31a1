/* Inputs of the products of a plan: the channels that they keep, their sizes. */
#ifndef VOLTMILL_PLAN_PLAN_PRODUCTS_H
#define VOLTMILL_PLAN_PLAN_PRODUCTS_H

#include "plan/channelise_plan.h"

/* Returns the backend's output for a product: its quantity, and the number of spectra of a row, of
 * flagged power that of a cell. `bits` are 0: not rounded. */
struct channelise_output plan_ifs_output(const struct job_product *job);

/* Settles work->products (but the coefficients), work->groups.quantum and groups.coarse, and bits
 * of the banks' outputs. Banks, rows and weights are settled already. Main thread only
 * (flag_mask_create()). Fails with USAGE: fewer spectra than a dump has, channels that there are
 * not, an average that does not divide them, sizes that do not fit, polarisations or sums that the
 * archive does not allow, a format that cannot state the channels or ifs, a droop through which
 * nothing passes, and as visibilities_plan_create(); with DATA: a file of weights, droop or a mask;
 * with DEVICE (memory, descriptors), STOPPED. What is settled is freed with `work`, also after a
 * failure. */
status_t plan_products_settle(struct channelise_plan *work);

/* Returns how streams make a row of numbers of a product of a filter bank. */
struct chunk_row plan_products_row(const struct product_spec *spec);
/* Returns how streams make a row of weights of a product of a filter bank. */
struct chunk_row plan_products_weights_row(const struct product_spec *spec);
/* Returns how streams make a row of cells (product/flagged.h) of a product of a filter bank with
 * flags. */
struct chunk_row plan_products_cells_row(const struct product_spec *spec);

/* Returns the bytes of a row of product i, from 0, of `streams` streams, as the backend makes it;
 * of visibilities and sums of stations beside beams always of all streams. */
uint64_t plan_products_made_bytes(const struct channelise_plan *work, uint32_t i, uint32_t streams);

/* Returns the bytes of a row of squares that the backend makes to judge cells of product i, from 0,
 * by kurtosis, of `streams` streams; of sums of stations beside beams always of all streams. 0:
 * there are none. */
uint64_t plan_products_squares_bytes(const struct channelise_plan *work, uint32_t i,
                                     uint32_t streams);

/* Returns whether rows of product i, from 0, change between backend and file: they are finished
 * (pipeline/finish/finish.h: channels left out or averaged, several streams combined, flags, gains,
 * visibilities), or stored in few bits. */
int plan_products_is_changed(const struct channelise_plan *work, uint32_t i);

/* Returns whether the backend itself rounds the rows of product i, from 0, to few bits. Such a
 * product is spectra without weights that no later step changes. The first block's scales apply to
 * all, and are known (first_scales). The work is not judged (struct channelise_plan_cut). */
int plan_products_rounds(const struct channelise_plan *work, uint32_t i);

/* Returns the numbers of a row of product i, from 0, that `streams` streams make; for spectra, the
 * pairs (re, im); of groups of coarse channels the maximum. */
uint64_t plan_products_lines(const struct channelise_plan *work, uint32_t i, uint32_t streams);
/* Returns the number of weights of a row of product i, from 0, that `streams` streams make, if it
 * has any. */
uint64_t plan_products_weights(const struct channelise_plan *work, uint32_t i, uint32_t streams);
/* Returns whether power of a product may leave the range of floats: then the host examines power
 * together with its samples, which it needs for that. Call while `work` has its coefficients. */
int plan_products_may_leave_range(const struct channelise_plan *work);
/* Returns whether the processor's threads compute, and are 8 or more: then they would wait for the
 * one thread that finishes and writes rows. */
int plan_products_outrun_writer(const struct channelise_plan *work);
/* Returns whether rows are put into files while the next ones are finished, which then has memory
 * for both: rows of filter banks that are not judged, where a device or many threads compute. A few
 * threads are busy anyway. */
int plan_products_are_put_beside(const struct channelise_plan *work);
/* Returns the bytes of a row of product i, from 0, of `streams` streams, after polarisations or
 * antennas are combined, if that makes it shorter; else 0. */
uint64_t plan_products_combined_bytes(const struct channelise_plan *work, uint32_t i,
                                      uint32_t streams);

/* Returns the shape of a row of product i, for messages: streams and the channels of each; or, if
 * rows change otherwise than by few bits (plan_products_is_changed()), ifs and the channels of each
 * from all coarse channels. */
struct plan_products_shape {
    uint32_t columns;
    const char *what; /* "streams", "pol", ... */
    uint64_t channels;
};
/* Returns the shape of a row of product i, from 0, for messages: streams and the channels of each.
 * If rows change otherwise than by few bits (plan_products_is_changed()): ifs and the channels of
 * each, from all coarse channels. `what` is a static text. */
struct plan_products_shape plan_products_shape_of(const struct channelise_plan *work, uint32_t i);

#endif
