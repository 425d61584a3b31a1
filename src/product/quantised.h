/* Data that products of spectra and power in few bits (dsp/steps.h) hold beside their rows: scales
 * and offsets of each channel in each block of rows, and the samples that were clipped there.
 * Private to product/.
 */
#ifndef VOLTMILL_PRODUCT_QUANTISED_H
#define VOLTMILL_PRODUCT_QUANTISED_H

#include "product/product.h"

#include <hdf5.h>

/* Returns HDF5's type of a number of the rows: float if they are not quantised. */
hid_t quantised_type(const struct product_spec *spec);

/* Creates /scale, /offset, /clipped_low, /clipped_high, whose values come with the rows, and the
 * attributes of the rows; `ifs`: the scale of their ifs. Fails with DATA, NO_SPACE, DEVICE
 * (memory). */
status_t quantised_put(hid_t file, hid_t rows, const struct product_spec *spec, const char *ifs);

/* Finds the places of the datasets. Fails with DATA. */
status_t quantised_find(hid_t file, const char *path, const struct product_spec *spec,
                        struct product_place *place);

/* Finds them likewise in a file of which all else is known, and the bits of its numbers. Fails with
 * DATA. */
status_t quantised_inspect(hid_t file, hid_t rows, struct product *product);

#endif
