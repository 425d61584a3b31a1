/* Where things lie in a product, packed. */
#ifndef VOLTMILL_PRODUCT_PLACE_H
#define VOLTMILL_PRODUCT_PLACE_H

#include "io/pack.h"
#include "product/product.h"

status_t product_pack_place(const struct product_place *place, struct text *out);
void product_unpack_place(struct unpack *in, struct product_place *out);

#endif
