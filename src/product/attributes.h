/* Table of the attributes of products. A row states where an attribute is written, its value in
 * struct product_spec, the member of struct product into which it is read back, and its name in
 * JSON. To add one: a row, and a member of both structs. */
#ifndef VOLTMILL_PRODUCT_ATTRIBUTES_H
#define VOLTMILL_PRODUCT_ATTRIBUTES_H

#include "base/json.h"
#include "product/product.h"

enum attribute_at {
    AT_BANK,   /* the root, of products of a filter bank */
    AT_IFS,    /* the rows, of power */
    AT_WEIGHTS /* /weights */
};

/* Writes to the open HDF5 object those of the table's attributes of `at` that the product has. The
 * object has none of them before. Main thread only. Fails with DATA, NO_SPACE, DEVICE (memory);
 * some attributes may be written then. */
status_t attributes_put(hid_t object, enum attribute_at at, const struct product_spec *spec);

/* Reads the attributes of `at` of the open HDF5 object that struct product has a member for into
 * *product, whose path is set; members of missing ones are unchanged. Main thread only. Fails with
 * DATA if one that every product has is missing, if one is of another type, or if a whole number is
 * negative or does not fit; with DEVICE (memory). What was read before the failure stays the
 * product's. */
status_t attributes_get(hid_t object, enum attribute_at at, struct product *product);

/* Writes the attributes of `at` that have a name in JSON, in the table's order, into the open JSON
 * object. Whole numbers that are 0 are omitted; unknown texts are null. Without memory,
 * json_print() fails. */
void attributes_json(struct json *json, enum attribute_at at, const struct product *product);

#endif
