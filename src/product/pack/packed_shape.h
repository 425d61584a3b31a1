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
    uint64_t rows, ifs, numbers; /* dimensions between the first and the last count as one */
    uint64_t chunk_rows, chunk_numbers;
};

/* packed_cut() sets the sizes of chunks. packed_count() returns their number, packed_chunk_bytes()
 * the bytes of one before compression. */
void packed_cut(struct packed_shape *shape);
uint64_t packed_count(const struct packed_shape *shape); /* chunks */
uint64_t packed_chunk_bytes(const struct packed_shape *shape);
/* Returns the maximum size of a compressed file that has file_bytes bytes while it is written. */
uint64_t packed_most_bytes(uint64_t file_bytes);

/* First element of a chunk: chunks are numbered in the order of their elements. */
struct packed_corner {
    uint64_t row, at_if, number;
};
struct packed_corner packed_corner(const struct packed_shape *shape, uint64_t chunk);

#endif
