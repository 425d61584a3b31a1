/* The loops over DMs, strips and chunks of rows; which cuts of them there are, what each may cost.
 */
#include "compute/cpu/dedisperse/tiles.h"

#include "base/memory.h"

#include <math.h>
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

/* Twice the rows that the cache holds, or half of them, and other tiles than the usual one cost
 * some percent: more is not known, measuring is quick. */
static double tiles_expected(const struct dedisperse_spec *spec,
                             const struct dedisperse_shape *shape)
{
    const double rate = 2e10; /* of a thread, adds a second */
    double rows = spec->steps ? spec->steps->ngroups : spec->delays->nchannels;
    double adds = (double)spec->max_samples * spec->delays->ndms * rows;
    double cache = fabs(log2(rows * shape->time_out * STRIP_BYTES / CACHE_BYTES));
    double tile = fabs(log2((double)shape->dm_out / TILE_DMS));
    return adds / (rate * (spec->threads > 0 ? spec->threads : 1)) *
           (1 + 0.05 * cache + 0.05 * tile);
}

int cpu_dedisperse_fits(backend_t *backend, const struct dedisperse_spec *spec,
                        const struct dedisperse_shape *shape, double *cost, const char **why)
{
    (void)backend;
    *why = shape->staging != STAGING_STRIPS                       ? "CPUs take strips"
           : shape->time_out < 1 || shape->time_out > MOST_STRIPS ? "pieces have 1 to 64 strips"
           : shape->dm_out < 1 || shape->dm_out > MOST_TILE_DMS   ? "tiles have 1 to 64 DMs"
           : shape->pack != 1 || shape->time_items != 1 || shape->dm_items != 1 ||
                   shape->chunk != STRIP_CHUNK || shape->skew != 0 || shape->is_ptx != 0
               ? "expected strips:1:1x1:STRIPSxDMS:32:0:0"
               : NULL;
    *cost = *why ? INFINITY : tiles_expected(spec, shape);
    return *why == NULL;
}

status_t cpu_dedisperse_candidates(backend_t *backend, const struct dedisperse_spec *spec,
                                   struct dedisperse_candidate **out, uint32_t *count)
{
    status_t st = STATUS_OK;
    static const uint32_t strips[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
    static const uint32_t dms[] = {2, 4, 8, 12, 16, 24, 32, 48, 64};
    enum { STRIPS = sizeof strips / sizeof *strips, DMS = sizeof dms / sizeof *dms };
    struct dedisperse_candidate *list = NULL;
    (void)backend;
    TRY(memory_zeroed((size_t)STRIPS * DMS, sizeof *list, "shapes", &list));
    for (uint32_t i = 0; i < STRIPS * DMS; i++) {
        list[i].shape = (struct dedisperse_shape){.staging = STAGING_STRIPS,
                                                  .pack = 1,
                                                  .time_items = 1,
                                                  .dm_items = 1,
                                                  .time_out = strips[i % STRIPS],
                                                  .dm_out = dms[i / STRIPS],
                                                  .chunk = STRIP_CHUNK};
        list[i].cost = tiles_expected(spec, &list[i].shape);
    }
    *out = list;
    *count = STRIPS * DMS;
out:
    return st;
}
