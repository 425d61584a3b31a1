/* Rows of a finished product, contiguous or in compressed chunks. Uses HDF5 for the latter: main
 * thread only. */
#ifndef VOLTMILL_PRODUCT_PACK_ROWS_H
#define VOLTMILL_PRODUCT_PACK_ROWS_H

#include "input/hdf5/stored.h"
#include "product/product.h"

typedef struct rows rows_t;

/* Opens the rows of a product, which must outlive them. Fails with DATA or DEVICE. */
status_t rows_open(const struct product *product, rows_t **out);
void rows_close(rows_t *rows);

/* Reads bytes [from, from + piece) of each of some rows.
 *
 *   out    char [count][piece]
 * Fails with DATA. */
status_t rows_read(rows_t *rows, uint64_t first, uint64_t count, uint64_t from, uint64_t piece,
                   void *out);

/* Opens a dataset in chunks, to read it without HDF5's filters; *storage, how it is stored, must
 * outlive the depot. Fails with DATA or DEVICE. */
status_t rows_open_depot(const char *path, const char *name, struct storage *storage,
                         depot_t **out);

#endif
