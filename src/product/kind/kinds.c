/* The table of the kinds of products, made of the list in base/terms.h. */
#include "product/kind/kinds.h"

#include "product/kind/dedispersed.h"
#include "product/spans.h"

#define KIND_DECLARE(id, name, quantity, is_filterbank) extern const struct kind name##_kind;
PRODUCT_KINDS(KIND_DECLARE)

const struct kind *kind_of(enum product_kind kind)
{
#define KIND_ROW(id, name, quantity, is_filterbank) [PRODUCT_##id] = &name##_kind,
    static const struct kind *const kinds[] = {PRODUCT_KINDS(KIND_ROW)};
    return kinds[kind];
}

status_t kind_describe(hid_t file, const struct product_spec *spec, struct product_place *place)
{
    const struct kind *kind = kind_of(spec->kind);
    uint64_t numbers =
        spec->series ? spec->series->times : (uint64_t)spec->archive->nstreams * spec->nchannels;
    *place = (struct product_place){.rows = spec->rows, .row_bytes = numbers * kind->bytes};
    place->span_rows = spans_rows(place->rows, place->row_bytes);
    return kind->describe(file, spec, place);
}
