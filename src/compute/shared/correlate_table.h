/* Tables and numbers that implementations of `correlate` share. */
#ifndef VOLTMILL_COMPUTE_SHARED_CORRELATE_TABLE_H
#define VOLTMILL_COMPUTE_SHARED_CORRELATE_TABLE_H

#include "compute/correlate.h"

/* correlate_columns(): returns coarse x nchannels. correlate_inputs(): returns the inputs, stations
 * x pols. correlate_products(): returns the products of a pair, pols^2. */
uint64_t correlate_columns(const struct correlate_spec *spec);
uint32_t correlate_inputs(const struct correlate_spec *spec);
uint32_t correlate_products(const struct correlate_spec *spec);

/* Returns the place of a product in a pair's pols^2 products: of polarisation p (0, 1) of its first
 * station, times the conjugate of polarisation q of its second. In the order 00, 11, 01, 10. */
static inline uint32_t correlate_product(uint32_t p, uint32_t q)
{
    return p == q ? p : 2 + p;
}

/* Returns whether a dump of `integrate` spectra may have more than one tile of CORRELATE_TILE
 * grains. */
int correlate_has_tiles(uint64_t integrate);

/* Sets *out to the numbers of pairs in spec->pairs, from 0, [stations][stations]: of stations a <=
 * b at [a][b], -1 where there is none; free() returns it. Fails with DEVICE (memory), and leaves
 * *out unchanged. */
status_t correlate_lookup(const struct correlate_spec *spec, int32_t **out);

/* A block of `rows` inputs beside one of `columns`: inputs a * rows + i times b * columns + j
 * conjugated, among which are pairs of different stations. */
struct correlate_block {
    uint32_t a, b;
};
struct correlate_blocks {
    uint32_t rows, columns;             /* inputs of a block; multiples of pols */
    uint32_t group_rows, group_columns; /* blocks that stand together in the list */
    struct correlate_block *list;
    uint32_t count;
};

/* Lists the blocks that contain pairs of different stations in `lookup` (correlate_lookup()): sets
 * list (NULL: none) and count of `out`, by its other numbers. free() returns the list. Fails with
 * DEVICE (memory), and leaves *out unchanged. */
status_t correlate_blocks(const struct correlate_spec *spec, const int32_t *lookup,
                          struct correlate_blocks *out);

#endif
