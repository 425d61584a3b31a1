/* The table of the kinds of products, made of the list in base/terms.h. */
#include "product/kind/kinds.h"

#include "product/kind/dedispersed_kind.h"
#include "product/spans.h"

#define KIND_DECLARE(id, name, quantity, is_filterbank) extern const struct kind name##_kind;
PRODUCT_KINDS(KIND_DECLARE)

const struct kind *kind_of(enum product_kind kind)
{
#define KIND_ROW(id, name, quantity, is_filterbank) [PRODUCT_##id] = &name##_kind,
    static const struct kind *const kinds[] = {PRODUCT_KINDS(KIND_ROW)};
    return kinds[kind];
}

uint64_t kind_row_bytes(const struct product_spec *spec)
{
    const struct kind *kind = kind_of(spec->kind);
    if (spec->series) {
        return spec->series->times * kind->bytes;
    }
    uint64_t streams = spec->archive->nstreams;
    return kind->is_archive ? streams * spec->steps.bits / 8 * (spec->archive->is_complex ? 2 : 1)
                            : spec->nifs * spec->frequencies * kind->bytes * spec->steps.bits / 32;
}

status_t kind_describe(hid_t file, const struct product_spec *spec, struct product_place *place)
{
    const struct kind *kind = kind_of(spec->kind);
    *place = (struct product_place){.rows = spec->rows, .row_bytes = kind_row_bytes(spec)};
    place->span_rows = spans_rows(place->rows, place->row_bytes);
    return kind->describe(file, spec, place);
}
