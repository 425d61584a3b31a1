/* Data beside the rows of a product: weights, flags and kurtosis of cells, scales, offsets and
 * counts of clipped numbers of blocks, holes. Where a chunk's part of them lies in the file, and
 * its sum, which the journal keeps. */
#ifndef VOLTMILL_OUTPUT_JOURNAL_JOURNAL_BESIDE_H
#define VOLTMILL_OUTPUT_JOURNAL_JOURNAL_BESIDE_H

#include "output/journal/journal_head.h"

/* Rows of a dataset. */
struct beside {
    uint64_t offset, row_bytes; /* of the whole dataset; offset 0: there is none */
    uint64_t first, rows;
};

/* A chunk's part of them, as runs of bytes: all in one, or row by row where streams come in groups.
 */
struct beside_runs {
    uint64_t at, step, count, bytes;
};
struct beside_runs beside_runs_of(const struct chunking *chunking, const struct chunk *chunk,
                                  const struct beside *beside);

/* Sizes of what is beside a row: numbers of a row or block that have scales, weights, cells of a
 * row, numbers of a cell. */
struct beside_shape {
    uint64_t lines, weights, cells, cell;
};
struct beside_shape beside_shape_of(const struct product_place *place,
                                    const struct product_spec *spec);
/* The same of a file that was opened. */
struct beside_shape beside_shape_of_product(const struct product *product);

/* Adds bytes at offset `at` of a product, beside the rows of a chunk, to its sum. Like those of
 * rows, the sum does not depend on the order in which they come; nor on zeros. */
void beside_add(const struct product_place *place, uint64_t at, const void *data, uint64_t bytes,
                uint32_t *sum);

/* A product that is being written. */
struct beside_file {
    int fd;
    const char *path; /* for messages */
    const struct product_place *place;
    struct beside_shape shape;
    const struct chunking *chunking;
    uint64_t column; /* struct output_spec_item's */
};

/* Computes, from the file, the sum of the data beside the rows of a chunk. Fails with DATA. */
status_t beside_sum(const struct beside_file *file, const struct chunk *chunk,
                    struct journal_rows rows, uint32_t *sum);

#endif
