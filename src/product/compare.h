/* Whether a product says of itself what the program would say: header, axes, filter, delays, mask
 * are compared object by object with those of a product that is created from the same job and
 * input, so that nothing that product_create() puts in is forgotten. Rows, time stamps and what is
 * counted on the way are not: whoever makes rows anew compares them. Uses HDF5: main thread only.
 */
#ifndef VOLTMILL_PRODUCT_COMPARE_H
#define VOLTMILL_PRODUCT_COMPARE_H

#include "product/product.h"

/* `is_moved`: its input was named anew, so that names of files are ignored; of an older
 * format_version, facts that it did not know yet or said in other words are, too. Fails with DATA:
 * the first difference with both values, and how many there are. */
status_t compare_product(const struct product *product, int is_moved,
                         const struct product_spec *spec);

#endif
