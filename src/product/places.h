/* Datasets with places of their own beside a product's rows: one table, used to create a product
 * and to read it back. Private to product/. */
#ifndef VOLTMILL_PRODUCT_PLACES_H
#define VOLTMILL_PRODUCT_PLACES_H

#include "io/hdf5/h5_dataset.h"
#include "product/product.h"

/* In the order of the table. */
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

/* Finds the place of the dataset: in one piece, its numbers of the table's size. *out, if not NULL,
 * gets its shape and type; the caller calls h5_dataset_close() in any case. Fails with DATA. */
status_t place_find(hid_t file, const char *path, enum place which, struct product_place *place,
                    struct h5_dataset *out);
/* Finds the place likewise if there is such a dataset (*found). Fails with DATA, DEVICE
 * (memory). */
status_t place_find_any(hid_t file, const char *path, enum place which, struct product_place *place,
                        struct h5_dataset *out, int *found);
/* Returns the name of the dataset. */
const char *place_name(enum place which);

#endif
