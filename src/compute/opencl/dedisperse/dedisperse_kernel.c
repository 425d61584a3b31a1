/* The kernel is built for its shape; delays become tables of tiles. */
#include "compute/opencl/dedisperse/dedisperse_kernel.h"

#include "base/memory.h"
#include "compute/opencl/launch.h"

#include <stdlib.h>

struct dedisperse_kernel {
    device_t *device;
    struct dedisperse_shape_problem problem; /* without its arrays */
    struct dedisperse_shape shape;
    struct dedisperse_shape_spans spans;
    uint32_t *tiles; /* [nranges + 1] the first tile of each range */
    cl_kernel kernel;
    cl_mem rel, bases, firsts;
};

struct dedisperse_shape_device dedisperse_kernel_device_of(const device_t *device)
{
    const struct device_info *info = &device->info;
    return (struct dedisperse_shape_device){.is_gpu = info->is_gpu,
                                            .is_nvidia = info->is_nvidia,
                                            .group_size = info->group_size,
                                            .units = info->units,
                                            .local_bytes = info->local_bytes};
}

void dedisperse_kernel_destroy(dedisperse_kernel_t *adder)
{
    if (!adder) {
        return;
    }
    launch_release(adder->kernel);
    device_release(adder->device, adder->rel);
    device_release(adder->device, adder->bases);
    device_release(adder->device, adder->firsts);
    free(adder->tiles);
    free(adder);
}

/* The rows of one tile in both tables, padded ones at 0. */
static void kernel_fill_tile(const dedisperse_kernel_t *adder,
                             const struct dedisperse_shape_problem *p, uint32_t from, uint32_t to,
                             uint32_t *rel, uint32_t *bases)
{
    uint32_t padded = dedisperse_shape_padded(p, &adder->shape);
    for (uint32_t row = 0; row < p->nrows; row++) {
        bases[row] = UINT32_MAX;
    }
    for (uint32_t dm = from; dm < to; dm++) {
        const uint32_t *delays = p->delays + (size_t)dm * p->nrows;
        uint32_t *line = rel + (size_t)dm * padded;
        for (uint32_t row = 0; row < p->nrows; row++) {
            line[row] = dedisperse_shape_rel(&adder->spans, delays[row], dm - from);
            bases[row] = line[row] < bases[row] ? line[row] : bases[row];
        }
    }
    for (uint32_t row = 0; row < p->nrows; row++) {
        bases[row] = dedisperse_shape_base(bases[row]);
    }
}

static status_t kernel_make_tables(dedisperse_kernel_t *adder,
                                   const struct dedisperse_shape_problem *p)
{
    status_t st = STATUS_OK;
    uint32_t padded = dedisperse_shape_padded(p, &adder->shape);
    uint32_t dms = adder->spans.dms;
    uint32_t tile = 0;
    uint32_t *rel = NULL;
    uint32_t *bases = NULL;
    uint32_t *firsts = NULL;
    TRY(memory_zeroed((size_t)p->ndms * padded, sizeof *rel, "delays", &rel));
    TRY(memory_zeroed((size_t)adder->spans.ntiles * padded, sizeof *bases, "delays", &bases));
    TRY(memory_zeroed((size_t)adder->spans.ntiles + 1, sizeof *firsts, "tiles", &firsts));
    TRY(memory_zeroed((size_t)p->nranges + 1, sizeof *adder->tiles, "tiles", &adder->tiles));
    for (uint32_t range = 0; range < p->nranges; range++) {
        for (uint32_t dm = p->firsts[range]; dm < p->firsts[range + 1]; dm += dms, tile++) {
            firsts[tile] = dm;
            kernel_fill_tile(adder, p, dm, (uint32_t)min_u64(dm + dms, p->firsts[range + 1]), rel,
                             bases + (size_t)tile * padded);
        }
        adder->tiles[range + 1] = tile;
    }
    firsts[tile] = p->ndms;
    TRY(device_put(adder->device, rel, (size_t)p->ndms * padded * sizeof *rel, "delays",
                   &adder->rel));
    TRY(device_put(adder->device, bases, (size_t)tile * padded * sizeof *bases, "delays",
                   &adder->bases));
    TRY(device_put(adder->device, firsts, ((size_t)tile + 1) * sizeof *firsts, "tiles",
                   &adder->firsts));
out:
    free(rel);
    free(bases);
    free(firsts);
    return st;
}

static status_t kernel_build(dedisperse_kernel_t *adder)
{
    status_t st = STATUS_OK;
    struct text options = {0};
    const enum program_source source = SOURCE_DEDISPERSE;
    TRY(dedisperse_shape_options(&adder->problem, &adder->shape, &adder->spans, &options));
    TRY(launch_build(adder->device, &source, 1, options.data, "dedisperse", &adder->kernel));
out:
    text_free(&options);
    return st;
}

/* Checked and built, without tables; its problem is still whole. */
static status_t kernel_begin(device_t *device, const struct dedisperse_shape_problem *problem,
                             const struct dedisperse_shape *shape, dedisperse_kernel_t **out)
{
    status_t st = STATUS_OK;
    dedisperse_kernel_t *adder = NULL;
    struct dedisperse_shape_device limits = dedisperse_kernel_device_of(device);
    struct text words = {0};
    const char *why = NULL;
    double cost = 0;
    TRY(memory_zeroed(1, sizeof *adder, "dedispersion", &adder));
    adder->device = device;
    adder->problem = *problem;
    adder->shape = shape->pack > 0 ? *shape : dedisperse_shape_best(problem, &limits);
    TRY(dedisperse_shape_words(&adder->shape, &words));
    REQUIRE(dedisperse_kernel_fits(problem, &limits, &adder->shape, &adder->spans, &cost, &why),
            STATUS_USAGE, "dedispersion cannot be run as %s: %s", words.data, why);
    TRY(kernel_build(adder));
    *out = adder;
    adder = NULL;
out:
    text_free(&words);
    dedisperse_kernel_destroy(adder);
    return st;
}

status_t dedisperse_kernel_build(device_t *device, const struct dedisperse_shape_problem *problem,
                                 const struct dedisperse_shape *shape)
{
    status_t st = STATUS_OK;
    dedisperse_kernel_t *adder = NULL;
    TRY(kernel_begin(device, problem, shape, &adder));
out:
    dedisperse_kernel_destroy(adder);
    return st;
}

status_t dedisperse_kernel_create(device_t *device, const struct dedisperse_shape_problem *problem,
                                  const struct dedisperse_shape *shape, dedisperse_kernel_t **out)
{
    status_t st = STATUS_OK;
    dedisperse_kernel_t *adder = NULL;
    TRY(kernel_begin(device, problem, shape, &adder));
    TRY(kernel_make_tables(adder, problem));
    adder->problem.delays = NULL;
    adder->problem.firsts = NULL;
    *out = adder;
    adder = NULL;
out:
    dedisperse_kernel_destroy(adder);
    return st;
}

const struct dedisperse_shape *dedisperse_kernel_shape(const dedisperse_kernel_t *adder)
{
    return &adder->shape;
}

uint32_t dedisperse_kernel_front(const dedisperse_kernel_t *adder)
{
    return adder->spans.front;
}

uint64_t dedisperse_kernel_slack(const dedisperse_kernel_t *adder)
{
    /* The last tile, skewed, and the words that staging reads beyond it. */
    return dedisperse_shape_tile_samples(&adder->shape) + adder->spans.front +
           (uint64_t)adder->spans.span + 4 * sizeof(uint32_t);
}

status_t dedisperse_kernel_run(dedisperse_kernel_t *adder, struct stopwatch *watch, cl_mem rows,
                               uint64_t row_stride, uint64_t samples, uint32_t range, cl_mem out,
                               uint64_t out_stride)
{
    const struct dedisperse_shape *s = &adder->shape;
    uint64_t skewed = samples + (uint64_t)s->skew * (adder->spans.dms - 1);
    uint64_t pieces = ceil_div_u64(skewed, dedisperse_shape_tile_samples(s));
    uint32_t ntiles = adder->tiles[range + 1] - adder->tiles[range];
    struct launch_size size = {(size_t)(pieces * ntiles), (size_t)s->time_items * s->dm_items};
    /* The kernel counts its words, not samples. */
    return LAUNCH(adder->device, adder->kernel, size, watch, STEP_FILTER, ARGUMENT(rows),
                  ARGUMENT_ULONG(row_stride / s->pack), ARGUMENT(adder->rel),
                  ARGUMENT(adder->bases), ARGUMENT(adder->firsts), ARGUMENT(out),
                  ARGUMENT_ULONG(out_stride), ARGUMENT_ULONG(samples),
                  ARGUMENT_UINT(adder->tiles[range]), ARGUMENT_UINT((cl_uint)pieces));
}
