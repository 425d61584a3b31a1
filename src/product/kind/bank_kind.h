/* Parts that products of a filter bank (spectra, power, visibilities) have in common: times,
 * frequencies, the filter. */
#ifndef VOLTMILL_PRODUCT_KIND_BANK_KIND_H
#define VOLTMILL_PRODUCT_KIND_BANK_KIND_H

#include "product/product.h"

/* Puts all but the dataset of rows and those beside it into a new HDF5 file: root, axes, filter,
 * provenance. `place` has rows, row_bytes and span_rows; `title` is the file's title. Main thread
 * only. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t bank_describe(hid_t file, const struct product_spec *spec,
                       const struct product_place *place, const char *title);

/* Reads what products of a filter bank state beside what all products do, attributes and
 * frequencies, from the open HDF5 file into *product, whose path is set. Main thread only. Fails
 * with DATA if it is missing, unreadable or contradicts itself; with DEVICE (memory). What was read
 * before the failure stays the product's. */
status_t bank_inspect(hid_t file, struct product *product);

#endif
