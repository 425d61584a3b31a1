/* Exact medians of columns of numbers that are too many to sort: a radix selection by counting, in
 * MEDIANS_PASSES passes over all rows. The median is one of the numbers; of an even count the lower
 * of the two in the middle. NaN is ignored. */
#ifndef VOLTMILL_PRODUCT_MEDIANS_H
#define VOLTMILL_PRODUCT_MEDIANS_H

#include "base/status.h"

#include <stdint.h>

enum {
    MEDIANS_PASSES = 3,
    MEDIANS_COLUMNS = 2048,  /* at a time: 32 MiB of counts */
    MEDIANS_PIECE = 16 << 20 /* bytes of rows that are read at a time */
};

typedef struct medians medians_t;

/* Creates the medians of at most `columns` columns, for medians_destroy(). medians_add() uses
 * `threads` >= 1 threads. Fails with DEVICE (memory); *out is unchanged then. */
status_t medians_create(uint64_t columns, uint32_t threads, medians_t **out);
/* Frees medians. Takes NULL. */
void medians_destroy(medians_t *medians);
SCOPED_END(medians_destroy, medians_t *)
/* Returns the bytes of memory that medians_create() takes for `columns` columns. */
uint64_t medians_bytes(uint64_t columns);

/* Begins pass 0 .. MEDIANS_PASSES - 1, in this order, over all rows of `columns` columns: the same
 * number in all passes, at most that of medians_create(). Pass 0 begins new medians. Cannot fail.
 */
void medians_begin(medians_t *medians, int pass, uint64_t columns);

/* Adds some rows of the pass, in any order; a pass takes all of them once. One caller at a time.
 * Cannot fail.
 *
 *   rows   float [count][stride], of which the first `columns` (medians_begin()) numbers count */
void medians_add(medians_t *medians, const float *rows, uint64_t count, uint64_t stride);

/* Writes the medians after the last pass into out, float [columns] as of medians_begin(); NaN for a
 * column without numbers. Call once: it uses the counts up. Cannot fail. */
void medians_get(medians_t *medians, float *out);

#endif
