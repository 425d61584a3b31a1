/* Chunks by number: time, if, place in a row. */
#include "product/pack/packed_shape.h"

#include "base/memory.h"

void packed_cut(struct packed_shape *shape)
{
    enum { BYTES = 1 << 20 };
    uint64_t most = BYTES / shape->element_bytes;
    shape->chunk_numbers = min_u64(shape->numbers, most);
    shape->chunk_rows = min_u64(shape->rows, max_u64(most / shape->chunk_numbers, 1));
}

static uint64_t packed_across(const struct packed_shape *shape)
{
    return ceil_div_u64(shape->numbers, shape->chunk_numbers);
}

uint64_t packed_count(const struct packed_shape *shape)
{
    return ceil_div_u64(shape->rows, shape->chunk_rows) * shape->ifs * packed_across(shape);
}

uint64_t packed_chunk_bytes(const struct packed_shape *shape)
{
    return shape->chunk_rows * shape->chunk_numbers * shape->element_bytes;
}

uint64_t packed_most_bytes(uint64_t file_bytes)
{
    enum { LEAST = 1 << 20 };
    return file_bytes + file_bytes / 16 + LEAST;
}

struct packed_corner packed_corner(const struct packed_shape *shape, uint64_t chunk)
{
    uint64_t across = packed_across(shape);
    uint64_t above = chunk / across;
    return (struct packed_corner){above / shape->ifs * shape->chunk_rows, above % shape->ifs,
                                  chunk % across * shape->chunk_numbers};
}
