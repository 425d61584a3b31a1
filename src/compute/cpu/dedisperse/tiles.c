/* The loops of brute force over DMs, strips and chunks of rows. */
#include "compute/cpu/dedisperse/tiles.h"

#include "base/memory.h"

#include <string.h>

/* Sums of one strip of some DMs into the scratch's totals; `at` bytes into the rows. */
static void tiles_sum_strip(const struct tile_rows *in, struct tile_scratch *scratch, size_t at,
                            const uint32_t *delays, uint32_t ndms)
{
    const struct strip_kernel *kernel = in->kernel;
    uint32_t chunk = in->limit < STRIP_CHUNK ? in->limit : STRIP_CHUNK;
    memset(scratch->totals, 0, ndms * sizeof scratch->totals[0]);
    for (uint32_t r = 0; r < in->nrows; r += chunk) {
        uint32_t count = in->nrows - r < chunk ? in->nrows - r : chunk;
        int begins = r % in->limit == 0;
        int ends = r + count == in->nrows || (r + chunk) % in->limit == 0;
        for (uint32_t d = 0; d < ndms; d++) {
            kernel->add(in->rows + r * in->stride + at, in->stride,
                        delays + (size_t)d * in->nrows + r, count, begins, scratch->sums[d]);
            if (ends) {
                kernel->flush(scratch->sums[d], scratch->totals[d]);
            }
        }
    }
}

void tiles_sum(const struct tile_rows *in, struct tile_scratch *scratch, uint64_t samples,
               float *out, uint64_t out_stride)
{
    const struct strip_kernel *kernel = in->kernel;
    size_t strip = STRIP_BYTES / kernel->sample_bytes;
    for (uint32_t dm = 0; dm < in->ndms; dm += in->tile) {
        uint32_t ndms = (uint32_t)min_u64(in->tile, in->ndms - dm);
        for (uint64_t t = 0; t < samples; t += strip) {
            tiles_sum_strip(in, scratch, t * kernel->sample_bytes,
                            in->delays + (size_t)dm * in->nrows, ndms);
            for (uint32_t d = 0; d < ndms; d++) {
                kernel->give(scratch->totals[d], (size_t)min_u64(strip, samples - t),
                             out + (dm + d) * out_stride + t);
            }
        }
    }
}
