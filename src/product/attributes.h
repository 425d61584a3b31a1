/* Attributes of products: a row of a table says where each is written, which value it has, where
 * struct product keeps it, and its name in JSON. A new one is a row, and its member of both
 * structs.
 */
#ifndef VOLTMILL_PRODUCT_ATTRIBUTES_H
#define VOLTMILL_PRODUCT_ATTRIBUTES_H

#include "base/json.h"
#include "product/product.h"

#include <hdf5.h>

enum attribute_at {
    AT_BANK,   /* the root, of products of a filter bank */
    AT_IFS,    /* the rows, of power */
    AT_WEIGHTS /* /weights */
};

/* Writes those of the object that the product has. Fails with DATA, NO_SPACE. */
status_t attributes_put(hid_t object, enum attribute_at at, const struct product_spec *spec);

/* Reads into *product those that are kept there. Fails with DATA: one that every product has is
 * missing. */
status_t attributes_get(hid_t object, enum attribute_at at, struct product *product);

/* Writes those that have a name in JSON, in the table's order; numbers that are 0 are omitted. */
void attributes_json(struct json *json, enum attribute_at at, const struct product *product);

#endif
