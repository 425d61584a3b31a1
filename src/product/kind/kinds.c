/* The table of the kinds of products, made of the list in base/terms.h. */
#include "product/kind/kinds.h"

#define KIND_DECLARE(id, name, quantity) extern const struct kind name##_kind;
PRODUCT_KINDS(KIND_DECLARE)

const struct kind *kind_of(enum product_kind kind)
{
#define KIND_ROW(id, name, quantity) [PRODUCT_##id] = &name##_kind,
    static const struct kind *const kinds[] = {PRODUCT_KINDS(KIND_ROW)};
    return kinds[kind];
}
