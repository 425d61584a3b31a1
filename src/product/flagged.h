/* Flags of power. A cell is a fixed number of spectra of a channel of one station, beam and
 * polarisation. Rows are sums of the good cells. The datasets beside the rows:
 *
 *   /flags      uint8 [cell][if][channel]   enum flag
 *   /kurtosis   float [cell][if][channel]   dsp/kurtosis.h; NaN: not all of the cell was there, or
 *                                           its numbers do not suffice
 *
 * ifs and channels are those that the filter bank makes, before polarisations, stations and
 * neighbours become one; of the channels those that are kept. Their scales are the rows' own where
 * these are the same, else /cell_time, /cell_if, /cell_frequency. */
#ifndef VOLTMILL_PRODUCT_FLAGGED_H
#define VOLTMILL_PRODUCT_FLAGGED_H

#include "product/product.h"

/* Reason for which a cell was flagged. */
enum flag { FLAG_KURTOSIS = 1, FLAG_MASK = 2, FLAG_CHANNELS = 4 };

/* Flags of some rows of cells, [rows][ifs][channels] of some ifs. kurtosis is NULL if not needed.
 * `tolerance`: possible error of kurtosis if rows are judged, else NULL. */
struct flag_block {
    const unsigned char *flags;
    const float *kurtosis, *tolerance;
};

/* Return how many cells of one channel a dump has; the ifs and the channels of a row of cells; the
 * product of these two. Of products with flags (spec->flag). */
uint64_t flagged_cells(const struct product_spec *spec);
uint64_t flagged_ifs(const struct product_spec *spec);
uint64_t flagged_channels(const struct product_spec *spec);
uint64_t flagged_row(const struct product_spec *spec);

/* Returns the centres of cells, in seconds after the observation's start. */
struct time_axis flagged_time(const struct product_spec *spec);

/* Puts /flags, /kurtosis (if spec->flag.has_kurtosis) and their scales into a new file, which has
 * the scales of the rows; the values of both come with the rows. `ifs`: name of the scale of the
 * rows' ifs. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t flagged_put(hid_t file, const struct product_spec *spec, const char *ifs);

#endif
