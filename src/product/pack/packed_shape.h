/* How the rows of a product are cut into compressed chunks. Pure functions. */
#ifndef VOLTMILL_PRODUCT_PACK_PACKED_SHAPE_H
#define VOLTMILL_PRODUCT_PACK_PACKED_SHAPE_H

#include "base/terms.h"

#include <stdint.h>

/* The rows, and how they are cut: into whole rows of one if, about 1 MiB; rows longer than that
 * into pieces. The last chunks of each dimension are filled up with zeros. */
struct packed_shape {
    enum compression compression;
    uint64_t element_bytes;
    uint64_t rows, ifs, numbers; /* what lies between first and last dimension counts as one */
    uint64_t chunk_rows, chunk_numbers;
};

void packed_cut(struct packed_shape *shape);
uint64_t packed_count(const struct packed_shape *shape); /* chunks */
uint64_t packed_chunk_bytes(const struct packed_shape *shape);
/* What a file may become at most that has so many bytes while it is written. */
uint64_t packed_most_bytes(uint64_t file_bytes);

/* Where a chunk begins: chunks are numbered as their elements lie. */
struct packed_corner {
    uint64_t row, at_if, number;
};
struct packed_corner packed_corner(const struct packed_shape *shape, uint64_t chunk);

#endif
