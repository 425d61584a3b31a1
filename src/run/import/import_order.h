/* Samples of a slab in the order of the native layout. */
#ifndef VOLTMILL_RUN_IMPORT_IMPORT_ORDER_H
#define VOLTMILL_RUN_IMPORT_IMPORT_ORDER_H

#include "archive/read/reader.h"

struct import_order;

/* For slabs of all selected streams. Archive and slab must outlive it. Fails with DEVICE. */
status_t import_order_create(const struct archive *archive, const struct slab *slab,
                             uint64_t step_bytes, uint32_t threads, struct import_order **out);
void import_order_destroy(struct import_order *order);

/* Gives the samples as they are stored: `in` itself, if they lie so, or `out`.
 *
 *   in     a slab of `count` samples
 *   out    char [count][stream][step_bytes / streams] */
const char *import_order_put(struct import_order *order, const char *in, uint64_t count, char *out);

#endif
