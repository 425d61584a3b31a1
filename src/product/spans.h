/* Spans: ranges of a product's rows, each with a CRC-32 of its own, so that an archive can be
 * checked years later, and damage is located to within about a megabyte.
 *
 * A span's rows follow from the product's size alone, never from chunks, which differ between runs.
 * So the CRCs are as reproducible as the rows. A writer of some rows of some streams adds them to
 * the spans' sums with spans_add(). Sums are linear (io/crc.h), so those of several writers are
 * combined by exclusive or, in any order. Pure functions. */
#ifndef VOLTMILL_PRODUCT_SPANS_H
#define VOLTMILL_PRODUCT_SPANS_H

#include "product/product.h"

/* Returns the rows of a span: about 1 MiB of them, and at most some 2^21 spans in a product; at
 * least 1. */
uint64_t spans_rows(uint64_t rows, uint64_t row_bytes);

/* Return how many spans `rows` rows from first_row on touch; all of the product's:
 * spans_count(). */
uint64_t spans_touched(const struct product_place *place, uint64_t first_row, uint64_t rows);
uint64_t spans_count(const struct product_place *place);

/* Adds bytes [from, from + piece) of each of some rows. Several threads may add to the same sums.
 *
 *   data   char [rows][piece]
 *   sums   uint32 [spans_touched()], of the span that contains first_row and those after it */
void spans_add(const struct product_place *place, uint64_t first_row, uint64_t rows, uint64_t from,
               uint64_t piece, const void *data, uint32_t *sums);

/* Returns the CRC-32 (that of zlib) of all bytes of a span, from its whole sum. */
uint32_t spans_crc(const struct product_place *place, uint64_t span, uint32_t sum);

#endif
