/* Data that products of spectra and power in few bits (dsp/steps.h) hold beside their rows: scales
 * and offsets of each channel in each block of rows, and the samples that were clipped there.
 * Private to product/.
 */
#ifndef VOLTMILL_PRODUCT_QUANTISED_H
#define VOLTMILL_PRODUCT_QUANTISED_H

#include "io/hdf5/h5_dataset.h"
#include "product/product.h"

/* Returns HDF5's type of a number of the rows: float if they are not quantised. */
hid_t quantised_type(const struct product_spec *spec);

/* Creates /scale, /offset, /clipped_low, /clipped_high, whose values come with the rows, and the
 * attributes of the rows; `ifs`: the scale of their ifs. Fails with DATA, NO_SPACE, DEVICE
 * (memory). */
status_t quantised_put(hid_t file, hid_t rows, const struct product_spec *spec, const char *ifs);

/* Reads back how many bits the numbers of an open dataset of rows have, and checks the shapes of
 * the datasets beside it (product/places.h). Fails with DATA. */
status_t quantised_inspect(hid_t rows, const struct h5_dataset *beside, struct product *product);

#endif
