/* The datasets that lie beside a product's rows at places of their own: one table, walked where a
 * product is made and where it is read back. Private to product/. */
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
    PLACE_COUNT
};

/* Looks where the dataset lies: in one piece, its numbers of the table's size. *out, where it is
 * not NULL, has its shape and type; h5_dataset_close() in any case. Fails with DATA. */
status_t place_find(hid_t file, const char *path, enum place which, struct product_place *place,
                    struct h5_dataset *out);
/* The same if there is such a dataset (*found). */
status_t place_find_any(hid_t file, const char *path, enum place which, struct product_place *place,
                        struct h5_dataset *out, int *found);
/* The name of the dataset. */
const char *place_name(enum place which);

#endif
