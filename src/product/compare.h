/* Comparison of a product's description with the one that the program would write. Header, axes,
 * filter, delays, mask are compared object by object with those of a product that is created from
 * the same job and input, so that everything that product_create() writes is included. Rows, time
 * stamps and counts are not: the code that recomputes rows compares them. Uses HDF5: main thread
 * only. */
#ifndef VOLTMILL_PRODUCT_COMPARE_H
#define VOLTMILL_PRODUCT_COMPARE_H

#include "product/product.h"

/* Compares a product with `spec`, but for spec->compression. `is_moved`: its input has another
 * name, so that names of files are ignored. A product of an older format_version may lack
 * attributes and objects, have others, or have other words in attributes that explain. Fails with
 * DATA, naming the first difference with both values and the number of differences, or if the file
 * is unreadable; with DEVICE (memory, descriptors); with USAGE, NO_SPACE as product_create()
 * (product/product.h), by which it makes the expected product. */
status_t compare_product(const struct product *product, int is_moved,
                         const struct product_spec *spec);

#endif
