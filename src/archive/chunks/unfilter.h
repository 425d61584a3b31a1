/* The filters of a chunked dataset, undone without HDF5: by any thread, each with one of its own.
 */
#ifndef VOLTMILL_ARCHIVE_CHUNKS_UNFILTER_H
#define VOLTMILL_ARCHIVE_CHUNKS_UNFILTER_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    MOST_FILTERS = 32, /* as HDF5's masks of filters have bits */
    FILTER_VALUES = 8
};

/* One step of the pipeline, by the number that the HDF Group has registered for it, and its
 * parameters as the dataset has them. */
struct chunk_filter {
    int id;
    uint32_t nvalues;
    uint32_t values[FILTER_VALUES];
};

/* In the order in which they were applied. */
struct chunk_filters {
    struct chunk_filter items[MOST_FILTERS];
    uint32_t count;
};

/* Whether unfilter_chunk() can undo it. */
int unfilter_knows(const struct chunk_filter *filter);
/* Its name, for messages; NULL: of nobody known here. How to get its plugin for HDF5. */
const char *unfilter_name(int id);
const char *unfilter_advice(int id);

/* The longest that a chunk of so many bytes can sensibly have become by its filters. */
size_t unfilter_most_bytes(size_t chunk_bytes);

typedef struct unfilter unfilter_t;

/* For chunks of chunk_bytes. The filters must outlive it. Fails with DEVICE (memory). */
status_t unfilter_create(const struct chunk_filters *filters, size_t chunk_bytes, unfilter_t **out);
void unfilter_destroy(unfilter_t *unfilter);

/* Undoes all filters but those that `mask` has a bit for (the chunk was stored without them), the
 * last first.
 *
 *   in     char [bytes], at most unfilter_most_bytes()
 *   out    char [chunk_bytes]
 * Fails with DATA: which filter, and what is wrong. Messages name no file. */
status_t unfilter_chunk(unfilter_t *unfilter, uint32_t mask, const void *in, size_t bytes,
                        void *out);

#endif
