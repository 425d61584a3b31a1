/* Which transforms the fused kernels have, and which one a filter takes. */
#include "compute/opencl/filter/overlap_kinds.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum {
    PAIR_BYTES = 2 * sizeof(float),
    MANY_VALUES = 64,      /* that processors' compilers take ten seconds for */
    WORK_BYTES = 512 << 20 /* of blocks in rows at a time: with fewer, starts of kernels weigh */
};

/* Of each length the best first. A `cost` of 1 is 1.9 ms for 2^28 points on an H200 (8-bit complex
 * samples); those of the longest are a little more than measured: their tables are long, and a
 * run's last block is half empty. */
static const struct overlap_kind kinds[] = {{256, 16, {16, 16, 1, 1}, 1, 8, 4, 1, 0, 0.50},
                                            {256, 8, {4, 8, 8, 1}, 1, 4, 3, 1, 0, 0.50},
                                            {512, 16, {8, 8, 8, 1}, 1, 4, 4, 1, 0, 0.51},
                                            {512, 8, {8, 8, 8, 1}, 1, 2, 3, 1, 0, 0.51},
                                            {1024, 32, {32, 32, 1, 1}, 1, 2, 5, 1, 0, 0.51},
                                            {1024, 16, {4, 16, 16, 1}, 1, 2, 4, 1, 0, 0.51},
                                            {2048, 16, {8, 16, 16, 1}, 1, 1, 4, 1, 0, 0.53},
                                            {2048, 32, {8, 16, 16, 1}, 1, 1, 4, 1, 0, 0.60},
                                            {4096, 16, {16, 16, 16, 1}, 1, 1, 4, 1, 64, 0.55},
                                            {4096, 32, {16, 16, 16, 1}, 1, 1, 4, 2, 0, 0.60},
                                            {8192, 32, {32, 16, 16, 1}, 1, 1, 4, 2, 128, 0.68},
                                            {8192, 64, {32, 16, 16, 1}, 1, 1, 4, 2, 168, 0.73},
                                            {16384, 64, {64, 16, 16, 1}, 1, 1, 4, 4, 255, 1.0},
                                            {32768, 32, {32, 16, 16, 1}, 4, 1, 4, 2, 128, 1.5},
                                            {65536, 32, {32, 16, 16, 1}, 8, 1, 4, 2, 128, 1.6},
                                            {131072, 32, {32, 16, 16, 1}, 16, 1, 4, 2, 128, 1.8},
                                            {262144, 32, {32, 16, 16, 1}, 32, 1, 4, 2, 128, 2.0}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The FFT library's, likewise: every point goes through memory ten times. */
static const double library_cost = 5.4;

const struct overlap_kind *overlap_kind(const struct filter_shape *shape)
{
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i].length == shape->length &&
            (kinds[i].values == shape->values || !shape->values)) {
            return &kinds[i];
        }
    }
    return NULL;
}

uint32_t overlap_kind_width(const struct overlap_kind *kind)
{
    return kind->length / kind->rows / kind->values * kind->teams;
}

static uint64_t overlap_kind_local(const struct overlap_kind *kind)
{
    uint64_t points = kind->length / kind->rows / kind->parts;
    return (points + (points >> kind->pad)) * PAIR_BYTES * kind->teams;
}

struct overlap_stages overlap_kind_stages(const struct overlap_kind *kind)
{
    struct overlap_stages stages = {
        .points = kind->length / kind->rows, .first_blocks = kind->rows, .spread = 1};
    memcpy(stages.radix, kind->radix, sizeof stages.radix);
    return stages;
}

int overlap_kind_can(const struct filter_spec *spec, const struct filter_shape *shape,
                     const struct device_info *device)
{
    const struct overlap_kind *kind = overlap_kind(shape);
    return kind && kind->length >= (uint64_t)spec->taps - 1 + spec->decimate &&
           (!device || ((device->is_gpu || kind->values < MANY_VALUES) &&
                        overlap_kind_width(kind) <= device->group_size &&
                        overlap_kind_local(kind) <= device->local_bytes));
}

void overlap_kind_settle(const struct filter_spec *spec, struct filter_shape *shape)
{
    const struct overlap_kind *kind = overlap_kind(shape);
    struct filter_spec settled = *spec;
    settled.choice.shape = *shape;
    shape->values = kind->values;
    shape->width = overlap_kind_width(kind);
    uint64_t most = kind->rows > 1 ? WORK_BYTES / PAIR_BYTES / kind->length : 1;
    uint64_t blocks = (spec->max_rows / filter_grain(&settled) + 2) * spec->nstreams;
    shape->batch = shape->batch ? shape->batch : (uint32_t)min_u64(most, blocks);
}

uint32_t filter_fused_length(const struct filter_spec *spec)
{
    uint32_t best = 0;
    /* The library's transforms are eight times as long as the filter. */
    double least = library_cost * 8 / 7;
    for (int i = 0; i < KINDS; i++) {
        const struct filter_shape shape = {.length = kinds[i].length, .values = kinds[i].values};
        if (overlap_kind_can(spec, &shape, NULL)) {
            double valid = floor((kinds[i].length - (spec->taps - 1.0)) / spec->decimate) *
                           spec->decimate / kinds[i].length;
            if (kinds[i].cost / valid < least) {
                least = kinds[i].cost / valid;
                best = kinds[i].length;
            }
        }
    }
    return best;
}
