/* The dataset of a product's rows, contiguous or in compressed chunks: creation and description.
 * Private to product/. */
#ifndef VOLTMILL_PRODUCT_PACK_PACKED_ROWS_H
#define VOLTMILL_PRODUCT_PACK_PACKED_ROWS_H

#include "io/hdf5/h5_dataset.h"
#include "product/product.h"

/* Makes it as spec->compression says, with an attribute `compression` if there is one. Its chunks
 * are for H5Dwrite_chunk(): HDF5 need not know the filters, but believes until
 * packed_rows_forget() that it does. Fails with NO_SPACE or DATA. */
status_t packed_rows_create(hid_t file, const struct product_spec *spec, const char *name,
                            hid_t type, int rank, const hsize_t *dims, hid_t *out);
void packed_rows_forget(enum compression compression);

/* Finds the compression of a dataset that packed_rows_create() has made: NONE of any other. Fails
 * with DATA. */
status_t packed_rows_find(const struct h5_dataset *rows, const char *path, enum compression *out);

#endif
