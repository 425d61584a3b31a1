/* Comparison of a product's description with the one that the program would write. Header, axes,
 * filter, delays, mask are compared object by object with those of a product that is created from
 * the same job and input, so that everything that product_create() writes is included. Rows, time
 * stamps and counts are not: the code that recomputes rows compares them. Uses HDF5: main thread
 * only. */
#ifndef VOLTMILL_PRODUCT_COMPARE_H
#define VOLTMILL_PRODUCT_COMPARE_H

#include "product/product.h"

/* Compares a product with `spec`. `is_moved`: its input has another name, so that names of files
 * are ignored; of an older format_version, attributes that it did not have yet, or in other words,
 * are ignored, too. Fails with DATA: the first difference with both values, and how many there
 * are; with DEVICE. */
status_t compare_product(const struct product *product, int is_moved,
                         const struct product_spec *spec);

#endif
