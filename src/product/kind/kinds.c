/* The table of the kinds of products, made of the list in base/terms.h. */
#include "product/kind/kinds.h"

#include "io/file.h"
#include "io/hdf5/h5_dataset.h"
#include "product/contents.h"
#include "product/kind/bank_axes.h"
#include "product/kind/dedispersed_kind.h"

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
    place->scale_rows = quantised_is(spec) ? spec->steps.rows : 0;
    return kind->describe(file, spec, place);
}

static status_t kind_fill_frequencies(void *context, uint64_t at, uint64_t bytes, void *to)
{
    double *hertz = to;
    for (uint64_t i = 0; i < bytes / sizeof *hertz; i++) {
        hertz[i] = bank_frequency(context, at / sizeof *hertz + i);
    }
    return STATUS_OK;
}

status_t kind_find_frequencies(hid_t file, const char *path, const struct product_spec *spec,
                               uint64_t *out)
{
    SCOPED(h5_dataset_close) struct h5_dataset frequency = {0};
    *out = 0;
    if (kind_of(spec->kind)->is_archive || spec->series || spec->omits_frequencies) {
        return STATUS_OK;
    }
    TRY(h5_dataset_open(file, path, "frequency", &frequency));
    haddr_t at = h5_offset(frequency.id);
    REQUIRE(at != HADDR_UNDEF, STATUS_DATA, "%s: /frequency has no place", path);
    *out = at;
    return STATUS_OK;
}

status_t product_put_frequencies(int fd, const char *path, const struct product_spec *spec,
                                 uint64_t at)
{
    enum { THREADS = 16 };
    return at == 0 ? STATUS_OK
                   : file_fill(fd, path, at, spec->frequencies * sizeof(double), THREADS,
                               kind_fill_frequencies, (void *)(uintptr_t)spec);
}
