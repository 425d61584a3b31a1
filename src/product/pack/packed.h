/* Products whose rows are compressed. They are written in one piece, as all others; when all is
 * there, a second file is made beside it that says the same, but for the dataset of rows, which has
 * chunks that HDF5's registered filters undo. The chunks are a pure function of the rows, and are
 * placed in their order: the same bytes whoever compresses them. Uses HDF5: main thread only, but
 * for packed_read_chunk(). */
#ifndef VOLTMILL_PRODUCT_PACK_PACKED_H
#define VOLTMILL_PRODUCT_PACK_PACKED_H

#include "product/pack/packed_shape.h"
#include "product/product.h"

/* Reads a chunk of the rows that lie in one piece, filled up. Any thread. Fails with DATA. */
status_t packed_read_chunk(const struct packed_shape *shape, int fd, const char *path,
                           const struct product_place *place, uint64_t number, void *out);

typedef struct packed packed_t;

/* The product with its counts, and the file that is made of it: both open, and stay so until
 * packed_destroy(). */
struct packed_files {
    int from, to;
    const char *part, *path; /* their names, likewise */
};

/* Makes the file `to` anew, with all that `spec` says; what varies is as it is in the product.
 * Fails with NO_SPACE or DATA. */
status_t packed_begin(const struct packed_files *files, const struct product_spec *spec,
                      enum compression compression, packed_t **out, struct packed_shape *shape);
/* The next chunk, compressed. Fails with NO_SPACE or DATA. */
status_t packed_put(packed_t *packed, const void *data, uint64_t bytes);
/* Takes over what else `part` holds, and sums all of it up. *place: where things lie; not synced.
 * Fails with NO_SPACE or DATA. */
status_t packed_finish(packed_t *packed, struct product_place *place);
void packed_destroy(packed_t *packed);

#endif
