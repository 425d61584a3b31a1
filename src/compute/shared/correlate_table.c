/* Blocks of pairs, and where dumps are cut. */
#include "compute/shared/correlate_table.h"

#include "base/memory.h"
#include "compute/shared/grains.h"

#include <stdlib.h>
#include <string.h>

uint64_t correlate_columns(const struct correlate_spec *spec)
{
    return (uint64_t)spec->coarse * spec->nchannels;
}

uint32_t correlate_inputs(const struct correlate_spec *spec)
{
    return spec->stations * spec->pols;
}

uint32_t correlate_products(const struct correlate_spec *spec)
{
    return spec->pols * spec->pols;
}

int correlate_has_tiles(uint64_t integrate)
{
    return integrate + GRAIN - gcd_u64(integrate, GRAIN) > (uint64_t)CORRELATE_TILE * GRAIN;
}

status_t correlate_lookup(const struct correlate_spec *spec, int32_t **out)
{
    const size_t stations = spec->stations;
    int32_t *lookup = NULL;
    TRY(memory_zeroed(stations * stations, sizeof *lookup, "pairs of stations", &lookup));
    memset(lookup, 0xff, stations * stations * sizeof *lookup);
    for (uint32_t i = 0; i < spec->npairs; i++) {
        lookup[spec->pairs[i][0] * stations + spec->pairs[i][1]] = (int32_t)i;
    }
    *out = lookup;
    return STATUS_OK;
}

static int correlate_block_has_pairs(const struct correlate_spec *spec, const int32_t *lookup,
                                     const struct correlate_blocks *blocks, uint32_t a, uint32_t b)
{
    const uint32_t rows = blocks->rows / spec->pols;
    const uint32_t columns = blocks->columns / spec->pols;
    for (uint32_t i = a * rows; i < (a + 1) * rows && i < spec->stations; i++) {
        for (uint32_t j = b * columns; j < (b + 1) * columns && j < spec->stations; j++) {
            if (i < j && lookup[(size_t)i * spec->stations + j] >= 0) {
                return 1;
            }
        }
    }
    return 0;
}

status_t correlate_blocks(const struct correlate_spec *spec, const int32_t *lookup,
                          struct correlate_blocks *out)
{
    const uint32_t rows = (uint32_t)ceil_div_u64(correlate_inputs(spec), out->rows);
    const uint32_t columns = (uint32_t)ceil_div_u64(correlate_inputs(spec), out->columns);
    const uint32_t across = (uint32_t)ceil_div_u64(columns, out->group_columns);
    const uint32_t groups = (uint32_t)ceil_div_u64(rows, out->group_rows) * across;
    const uint32_t each = out->group_rows * out->group_columns;
    SCOPED(free_at) struct correlate_block *list = NULL;
    uint32_t count = 0;
    for (uint64_t i = 0; i < (uint64_t)groups * each; i++) {
        const uint32_t group = (uint32_t)(i / each);
        const uint32_t place = (uint32_t)(i % each);
        const uint32_t a = group / across * out->group_rows + place % out->group_rows;
        const uint32_t b = group % across * out->group_columns + place / out->group_rows;
        if (a < rows && b < columns && correlate_block_has_pairs(spec, lookup, out, a, b)) {
            TRY(memory_grow(count, sizeof *list, "blocks of pairs", &list));
            list[count++] = (struct correlate_block){a, b};
        }
    }
    out->list = list;
    out->count = count;
    list = NULL;
    return STATUS_OK;
}
