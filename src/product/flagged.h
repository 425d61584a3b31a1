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

/* Returns how many cells in time a dump has, for each if and channel, of a product with flags. */
uint64_t flagged_cells(const struct product_spec *spec);
/* Returns the ifs of a row of cells, of a product with flags: selected stations x beams x
 * polarisations. */
uint64_t flagged_ifs(const struct product_spec *spec);
/* Returns the channels of a row of cells, of a product with flags: those that are kept, before
 * neighbours are averaged. */
uint64_t flagged_channels(const struct product_spec *spec);
/* Returns the number of cells in a row of cells, of a product with flags: flagged_ifs() x
 * flagged_channels(). */
uint64_t flagged_row(const struct product_spec *spec);

/* Returns the axis of the centres of cells in time, in seconds after the observation's start. */
struct time_axis flagged_time(const struct product_spec *spec);

/* Puts the datasets /flags, /kurtosis (if spec->flag.has_kurtosis) and their scales into a new
 * file, which has the scales of the rows. The values of both come with the rows, later. `ifs` is
 * the name of the scale of the rows' ifs. Main thread only. Fails with DATA, NO_SPACE, DEVICE
 * (memory). */
status_t flagged_put(hid_t file, const struct product_spec *spec, const char *ifs);

#endif
