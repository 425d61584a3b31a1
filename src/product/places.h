/* Datasets with places of their own beside a product's rows: one table, used to create a product
 * and to read it back. Private to product/. */
#ifndef VOLTMILL_PRODUCT_PLACES_H
#define VOLTMILL_PRODUCT_PLACES_H

#include "io/hdf5/h5_dataset.h"
#include "product/product.h"

/* Datasets beside the rows, in the order of the table (places.c). */
enum place {
    PLACE_CRC,
    PLACE_MISSING,
    PLACE_CLIPPED,
    PLACE_TIME,
    PLACE_HOLES,
    PLACE_WEIGHTS,
    PLACE_BANDPASS,
    PLACE_FLAGS,
    PLACE_KURTOSIS,
    PLACE_SCALE,
    PLACE_OFFSET,
    PLACE_LOW,
    PLACE_HIGH,
    PLACE_NSAMPLES, /* visibilities have these in place of PLACE_WEIGHTS and PLACE_FLAGS */
    PLACE_BAD,
    PLACE_COUNT
};

/* Finds the offsets (bytes) in the file of the datasets that it has: each in one piece, its numbers
 * of the table's size. Offsets of missing datasets stay as they are. Sets place->scales: rows of
 * /scale, or 0. `out` [PLACE_COUNT], {{0}} before, gets the datasets, open (id 0: missing); NULL:
 * not wanted. The caller calls places_close(&out) in any case. `path` is for messages. Main thread
 * only. Fails with DATA if one is unreadable, not contiguous, or of numbers of another size; with
 * DEVICE (memory). Some offsets may be set then. */
status_t places_find(hid_t file, const char *path, struct product_place *place,
                     struct h5_dataset *out);
/* Closes the datasets of places_find() that are open, [PLACE_COUNT], and sets them to {0}, which it
 * takes. */
void places_close(struct h5_dataset (*found)[PLACE_COUNT]);
/* Returns the path of a dataset in the file, without the first slash; a static text. */
const char *place_name(enum place which);

#endif
