/* Rows that a filter makes together: for its users, and for backends. */
#include "compute/filter.h"

uint64_t filter_grain(const struct filter_spec *spec)
{
    const struct filter_shape *shape = &spec->choice.shape;
    if (shape->method != FILTER_OVERLAP_SAVE) {
        return shape->method == FILTER_DIRECT;
    }
    /* Real streams through a real filter: two blocks, one the real and one the imaginary part. */
    uint32_t blocks = spec->is_complex_out ? 1 : 2;
    return (shape->length - (spec->taps - 1)) / spec->decimate * (uint64_t)blocks;
}
