/* What chunks one step along a dataset touches: as much is worth keeping. */
#include "base/memory.h"
#include "input/hdf5/stored_parts.h"

#include <stdlib.h>
#include <string.h>

uint64_t stored_chunk_row(const struct stored *stored)
{
    uint64_t bytes = stored->chunk_bytes;
    for (int i = 0; i < stored->rank && bytes > 0 && stored->along >= 0; i++) {
        uint64_t count = i == stored->along ? 1 : ceil_div_u64(stored->dims[i], stored->chunk[i]);
        bytes = multiply_u64(bytes, count, &bytes) ? bytes : UINT64_MAX / 4;
    }
    return bytes;
}

/* From where to where a source is wanted. */
struct stretch {
    const struct mapping *mapping;
    uint64_t low, end, bytes;
};

/* The same source may have many mappings. */
static int stored_stretch_by_source(const void *left, const void *right)
{
    const struct mapping *a = ((const struct stretch *)left)->mapping;
    const struct mapping *b = ((const struct stretch *)right)->mapping;
    int order = strcmp(a->path, b->path);
    return order ? order : strcmp(a->name, b->name);
}

static size_t stored_stretches_join(struct stretch *stretches, size_t count)
{
    size_t kept = 0;
    qsort(stretches, count, sizeof *stretches, stored_stretch_by_source);
    for (size_t i = 0; i < count; i++) {
        struct stretch *last = kept > 0 ? &stretches[kept - 1] : NULL;
        if (last && stored_stretch_by_source(last, &stretches[i]) == 0) {
            last->low = min_u64(last->low, stretches[i].low);
            last->end = max_u64(last->end, stretches[i].end);
        } else {
            stretches[kept++] = stretches[i];
        }
    }
    return kept;
}

/* More bytes from here on, or less. */
struct step {
    uint64_t at, more, less;
};

static int stored_step_by_place(const void *left, const void *right)
{
    const struct step *a = left;
    const struct step *b = right;
    int order = (a->at > b->at) - (a->at < b->at);
    return order ? order : (b->less > 0) - (a->less > 0); /* ends come first */
}

status_t stored_source_row(const struct stored *stored, uint64_t *out)
{
    status_t st = STATUS_OK;
    const struct mappings *mappings = &stored->mappings;
    struct stretch *stretches = NULL;
    struct step *steps = NULL;
    uint64_t now = 0;
    uint64_t most = 0;
    size_t count = 0;
    int d = stored->along;
    TRY(memory_zeroed(mappings->count + 1, sizeof *stretches, "sources", &stretches));
    for (size_t i = 0; i < mappings->count; i++) {
        const struct mapping *at = &mappings->items[i];
        if (at->row_bytes > 0) {
            stretches[count++] = (struct stretch){at, d < 0 ? 0 : at->low[d],
                                                  d < 0 ? 1 : at->high[d] + 1, at->row_bytes};
        }
    }
    count = stored_stretches_join(stretches, count);
    TRY(memory_zeroed(2 * count + 1, sizeof *steps, "sources", &steps));
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = min_u64(stretches[i].bytes, UINT64_MAX / 4 / count);
        steps[2 * i] = (struct step){stretches[i].low, bytes, 0};
        steps[2 * i + 1] = (struct step){stretches[i].end, 0, bytes};
    }
    qsort(steps, 2 * count, sizeof *steps, stored_step_by_place);
    for (size_t i = 0; i < 2 * count; i++) {
        now = now + steps[i].more - steps[i].less;
        most = max_u64(most, now);
    }
    *out = most;
out:
    free(stretches);
    free(steps);
    return st;
}
