/* Overlap-save in one kernel: kernels/filter_fused.cl. Which transforms it has, and what it is
 * told.
 */
#include "base/memory.h"
#include "compute/opencl/filter/filter_parts.h"
#include "compute/opencl/filter/overlap_tables.h"
#include "compute/shared/filter_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAIR_BYTES = 2 * sizeof(float),
    NEIGHBOURS = 32, /* work-items of NVIDIA's warps */
    MANY_VALUES = 64 /* that processors' compilers take ten seconds for */
};

/* Transforms of the kernel, of each length the best first. `cost`: a block's time on an H200, in
 * those of one point of the longest, times its points. */
static const struct fused_kind {
    uint32_t length, values;
    uint32_t radix[OVERLAP_STAGES];
    uint32_t teams;
    uint32_t pad, parts; /* see kernels/scrambled.cl */
    uint32_t registers;  /* NVIDIA: 0: as the compiler likes */
    double cost;         /* of a point */
} kinds[] = {{256, 16, {16, 16, 1, 1}, 8, 4, 1, 0, 0.50},
             {256, 8, {4, 8, 8, 1}, 4, 3, 1, 0, 0.50},
             {512, 16, {8, 8, 8, 1}, 4, 4, 1, 0, 0.51},
             {512, 8, {8, 8, 8, 1}, 2, 3, 1, 0, 0.51},
             {1024, 32, {32, 32, 1, 1}, 2, 5, 1, 0, 0.51},
             {1024, 16, {4, 16, 16, 1}, 2, 4, 1, 0, 0.51},
             {2048, 16, {8, 16, 16, 1}, 1, 4, 1, 0, 0.53},
             {2048, 32, {8, 16, 16, 1}, 1, 4, 1, 0, 0.60},
             {4096, 16, {16, 16, 16, 1}, 1, 4, 1, 64, 0.55},
             {4096, 32, {16, 16, 16, 1}, 1, 4, 2, 0, 0.60},
             {8192, 32, {32, 16, 16, 1}, 1, 4, 2, 128, 0.68},
             {8192, 64, {32, 16, 16, 1}, 1, 4, 2, 168, 0.73},
             {16384, 64, {64, 16, 16, 1}, 1, 4, 4, 255, 1.0}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The FFT library's, which moves every point through memory ten times. */
static const double library_cost = 3.2;

struct fused {
    device_t *device;
    struct filter_spec spec;
    const struct fused_kind *kind;
    cl_kernel kernel;
    cl_mem table, factors;
};

static void fused_destroy(void *made)
{
    struct fused *fused = made;
    if (fused) {
        launch_release(fused->kernel);
        device_release(fused->device, fused->table);
        device_release(fused->device, fused->factors);
        free(fused);
    }
}

/* Of a shape; NULL: there is none. */
static const struct fused_kind *fused_kind(const struct filter_shape *shape)
{
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i].length == shape->length &&
            (kinds[i].values == shape->values || !shape->values)) {
            return &kinds[i];
        }
    }
    return NULL;
}

static uint32_t fused_width(const struct fused_kind *kind)
{
    return kind->length / kind->values * kind->teams;
}

static uint64_t fused_local_bytes(const struct fused_kind *kind)
{
    uint64_t points = kind->length / kind->parts;
    return (points + (points >> kind->pad)) * PAIR_BYTES * kind->teams;
}

static struct overlap_stages fused_stages(const struct fused_kind *kind)
{
    struct overlap_stages stages = {.points = kind->length, .first_blocks = 1, .spread = 1};
    memcpy(stages.radix, kind->radix, sizeof stages.radix);
    return stages;
}

static int fused_can(const struct filter_spec *spec, const struct filter_shape *shape,
                     const struct device_info *device)
{
    const struct fused_kind *kind = fused_kind(shape);
    return kind && kind->length >= (uint64_t)spec->taps - 1 + spec->decimate &&
           (!device || ((device->is_gpu || kind->values < MANY_VALUES) &&
                        fused_width(kind) <= device->group_size &&
                        fused_local_bytes(kind) <= device->local_bytes));
}

static void fused_settle(const struct filter_spec *spec, struct filter_shape *shape)
{
    (void)spec;
    const struct fused_kind *kind = fused_kind(shape);
    shape->values = kind->values;
    shape->width = fused_width(kind);
    shape->batch = 1;
}

uint32_t filter_fused_length(const struct filter_spec *spec)
{
    uint32_t best = 0;
    /* The library's transforms are eight times as long as the filter. */
    double least = library_cost * 8 / 7;
    for (int i = 0; i < KINDS; i++) {
        const struct filter_shape shape = {.length = kinds[i].length, .values = kinds[i].values};
        if (fused_can(spec, &shape, NULL)) {
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

static uint64_t fused_bytes(const struct filter_spec *spec)
{
    const struct overlap_stages stages = fused_stages(fused_kind(&spec->choice.shape));
    return filter_table_bytes(spec, stages.points) + overlap_factor_count(&stages) * PAIR_BYTES;
}

/* The responses, each in the kernel's order. */
static status_t fused_put_table(struct fused *fused, const struct overlap_stages *stages)
{
    status_t st = STATUS_OK;
    const struct filter_spec *spec = &fused->spec;
    float(*table)[2] = NULL;
    float(*one)[2] = NULL;
    TRY(filter_table_create(spec, stages->points, &table));
    TRY(memory_zeroed(stages->points, sizeof *one, "a response", &one));
    for (uint32_t i = 0; i < filter_table_responses(spec); i++) {
        float(*response)[2] = table + (size_t)i * stages->points;
        memcpy(one, response, stages->points * sizeof *one);
        overlap_scramble(stages, (const float(*)[2])one, response);
    }
    TRY(device_put(fused->device, table, filter_table_bytes(spec, stages->points), "responses",
                   &fused->table));
out:
    free(one);
    free(table);
    return st;
}

static status_t fused_put_factors(struct fused *fused, const struct overlap_stages *stages)
{
    status_t st = STATUS_OK;
    float(*factors)[2] = NULL;
    size_t count = overlap_factor_count(stages);
    TRY(memory_zeroed(count, sizeof *factors, "factors", &factors));
    overlap_factors(stages, factors);
    TRY(device_put(fused->device, factors, count * sizeof *factors, "factors", &fused->factors));
out:
    free(factors);
    return st;
}

static status_t fused_build(struct fused *fused, const struct overlap_stages *stages)
{
    status_t st = STATUS_OK;
    static const enum program_source sources[] = {SOURCE_FILTER_SAMPLES, SOURCE_BUTTERFLIES,
                                                  SOURCE_SCRAMBLED, SOURCE_FILTER_FUSED};
    const struct fused_kind *kind = fused->kind;
    const struct filter_spec *spec = &fused->spec;
    const int is_nvidia = fused->device->info.is_nvidia;
    struct text options = {0};
    TRY(filter_options(spec, &options));
    TRY(text_add(&options, " -DPOINTS=%u -DVALUES=%u -DSTAGES=%u -DTEAMS=%u", kind->length,
                 kind->values, overlap_stage_count(stages), kind->teams));
    for (int i = 0; i < OVERLAP_STAGES; i++) {
        TRY(text_add(&options, " -DRADIX%d=%u", i, kind->radix[i]));
    }
    TRY(text_add(&options, " -DPAD=%u -DPARTS=%u -DSPLIT=0 -DIN_WARP=%d", kind->pad, kind->parts,
                 is_nvidia && fused_width(kind) % NEIGHBOURS == 0));
    TRY(text_add(&options, " -DTAPS=%u -DTAKE=%u -DVALID=%llu", spec->taps, filter_take(spec),
                 (unsigned long long)filter_valid(spec)));
    if (is_nvidia && kind->registers > 0) {
        TRY(text_add(&options, " -DFREE_SIZE=1 -cl-nv-maxrregcount=%u", kind->registers));
    }
    TRY(launch_build(fused->device, sources, sizeof sources / sizeof *sources, options.data,
                     "filter_fused", &fused->kernel));
out:
    text_free(&options);
    return st;
}

static status_t fused_create(device_t *device, const struct filter_spec *spec, void **out)
{
    status_t st = STATUS_OK;
    struct fused *fused = NULL;
    TRY(memory_zeroed(1, sizeof *fused, "a filter", &fused));
    fused->device = device;
    fused->spec = *spec;
    fused->kind = fused_kind(&spec->choice.shape);
    const struct overlap_stages stages = fused_stages(fused->kind);
    TRY(fused_put_table(fused, &stages));
    TRY(fused_put_factors(fused, &stages));
    TRY(fused_build(fused, &stages));
    *out = fused;
    fused = NULL;
out:
    fused_destroy(fused);
    return st;
}

static status_t fused_run(void *made, struct stopwatch *watch, const struct filter_block *run)
{
    status_t st = STATUS_OK;
    const struct fused *fused = made;
    const struct filter_spec *spec = &fused->spec;
    int64_t first = 0;
    uint64_t blocks = 0;
    filter_blocks(spec, run, &first, &blocks);
    uint64_t all = blocks * run->nstreams;
    REQUIRE(all <= UINT32_MAX, STATUS_DEVICE, "a filter of %u taps takes too many blocks at once",
            spec->taps);
    const struct launch_size size = {(size_t)ceil_div_u64(all, fused->kind->teams),
                                     fused_width(fused->kind)};
    const cl_long base = spec->first - run->first_sample;
    const cl_long first_row = run->first_row, first_block = first;
    TRY(LAUNCH(fused->device, fused->kernel, size, watch, STEP_FILTER, ARGUMENT(run->in),
               ARGUMENT_ULONG(run->in_stride), ARGUMENT_ULONG(run->samples), ARGUMENT(base),
               ARGUMENT(run->streams), ARGUMENT(fused->table), ARGUMENT(fused->factors),
               ARGUMENT(run->out), ARGUMENT_ULONG(run->out_stride), ARGUMENT(first_row),
               ARGUMENT_ULONG(run->rows), ARGUMENT(first_block), ARGUMENT_UINT((cl_uint)blocks),
               ARGUMENT_UINT(run->nstreams)));
out:
    return st;
}

const struct filter_way filter_fused = {fused_can,     fused_settle, fused_create,
                                        fused_destroy, fused_run,    fused_bytes};
