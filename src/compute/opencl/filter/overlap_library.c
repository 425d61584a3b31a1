/* Overlap-save through the FFT library: any length, several blocks through memory at a time. */
#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/filter/filter_parts.h"
#include "compute/shared/filter_table.h"

#include <stdlib.h>

/* ---- opencl overlap ---- */

/* Code common to all ways of overlap-save, and kernel options for samples and rows. */

void filter_options(const struct filter_spec *spec, struct text *out)
{
    deinterleave_options(&spec->coding, out);
    text_add(out, " -DCOMPLEX_COEFF=%d -DCOMPLEX_OUT=%d -DDECIMATE=%u", spec->is_complex_coeff != 0,
             spec->is_complex_out != 0, spec->decimate);
}

uint64_t filter_valid(const struct filter_spec *spec)
{
    return (spec->choice.shape.length - (spec->taps - 1)) / spec->decimate;
}

/* Towards minus infinity. */
static int64_t overlap_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

status_t filter_blocks(const struct filter_spec *spec, const struct filter_block *run,
                       int64_t *first, uint32_t *count)
{
    int64_t grain = (int64_t)filter_grain(spec);
    *first = overlap_floor(run->first_row, grain);
    int64_t blocks = overlap_floor(run->first_row + (int64_t)run->rows - 1, grain) - *first + 1;
    REQUIRE((uint64_t)blocks * run->nstreams <= UINT32_MAX, STATUS_DEVICE,
            "a filter of %u taps takes too many blocks at once", spec->taps);
    *count = (uint32_t)blocks;
    return STATUS_OK;
}

uint32_t filter_take(const struct filter_spec *spec)
{
    return spec->response ? (uint32_t)-spec->first : spec->taps - 1;
}

/* ---- overlap library ---- */

enum {
    WORK_BYTES = 32 << 20, /* of blocks at a time: what a large device's L2 holds beside the rest */
    WIDTH = 256,           /* of a work-group */
    VALUE_BYTES = 2 * sizeof(float)
};

enum kernel { KERNEL_GATHER, KERNEL_MULTIPLY, KERNEL_STORE, KERNELS };

static enum fft_kind library_fft(const struct filter_spec *spec)
{
    return spec->fft == FFT_AUTO ? FFT_VKFFT : spec->fft;
}

static int library_can(const struct filter_spec *spec, const struct filter_shape *shape,
                       const struct device_info *device)
{
    return shape->length >= (uint64_t)spec->taps - 1 + spec->decimate &&
           fft_can(library_fft(spec), shape->length) && (!device || WIDTH <= device->group_size);
}

static void library_settle(const struct filter_spec *spec, struct filter_shape *shape)
{
    struct filter_spec settled = *spec;
    settled.choice.shape = *shape;
    uint64_t blocks = (spec->max_rows / filter_grain(&settled) + 2) * spec->nstreams;
    uint64_t batch = max_u64(WORK_BYTES / VALUE_BYTES / shape->length, 1);
    shape->batch = shape->batch ? shape->batch : (uint32_t)min_u64(batch, blocks);
    shape->width = shape->values = 0;
}

static uint64_t library_bytes(const struct filter_spec *spec)
{
    const struct filter_shape *shape = &spec->choice.shape;
    /* Work, as much for the library, its stage and tables. */
    return filter_table_bytes(spec, shape->length) +
           (3 * (uint64_t)shape->batch + 2) * shape->length * VALUE_BYTES;
}

static status_t library_put_table(struct filter_made *library)
{
    status_t st = STATUS_OK;
    uint32_t length = library->spec.choice.shape.length;
    float(*table)[2] = NULL;
    TRY_OUT(filter_table_create(&library->spec, length, NULL, &table));
    TRY_OUT(device_put(library->device, table, filter_table_bytes(&library->spec, length),
                       "responses", &library->table));
out:
    free(table);
    return st;
}

static status_t library_build(struct filter_made *library)
{
    static const enum program_source sources[] = {SOURCE_FILTER_SAMPLES, SOURCE_FILTER_OVERLAP};
    const struct launch_made kernels[KERNELS] = {
        {"filter_gather", &library->kernels[KERNEL_GATHER]},
        {"filter_multiply", &library->kernels[KERNEL_MULTIPLY]},
        {"filter_store", &library->kernels[KERNEL_STORE]}};
    const struct filter_spec *spec = &library->spec;
    uint64_t valid = filter_valid(spec);
    struct text options = {0};
    filter_options(spec, &options);
    text_add(&options, " -DLENGTH=%u -DVALID=%llu -DUSED=%llu -DTAKE=%u", spec->choice.shape.length,
             (unsigned long long)valid,
             (unsigned long long)((valid - 1) * spec->decimate + spec->taps), filter_take(spec));
    return launch_build_all(library->device, sources, 2, &options, kernels, KERNELS);
}

static status_t library_create(struct filter_made *library)
{
    const struct filter_spec *spec = &library->spec;
    const struct filter_shape *shape = &spec->choice.shape;
    TRY(library_put_table(library));
    TRY(library_build(library));
    TRY(device_allocate(library->device, (uint64_t)shape->batch * shape->length * VALUE_BYTES,
                        "blocks of a filter", &library->work));
    return fft_create(library->device, library_fft(spec), shape->length, shape->batch,
                      &library->fft);
}

/* Blocks of all streams in one row, `count` of them from number `from` on; `blocks` a stream. */
static status_t library_run_batch(const struct filter_made *library, struct stopwatch *watch,
                                  const struct filter_block *run, cl_long first, uint32_t blocks,
                                  uint32_t from, uint32_t count)
{
    device_t *device = library->device;
    const struct filter_spec *spec = &library->spec;
    const struct launch_size all = launch_over((uint64_t)count * spec->choice.shape.length, WIDTH);
    const cl_long base = spec->first - run->first_sample;
    const cl_long first_row = run->first_row;
    TRY(LAUNCH(device, library->kernels[KERNEL_GATHER], all, watch, STEP_FILTER, ARGUMENT(run->in),
               ARGUMENT_ULONG(run->in_stride), ARGUMENT_ULONG(run->samples), ARGUMENT(run->streams),
               ARGUMENT(base), ARGUMENT(first), ARGUMENT_UINT(blocks), ARGUMENT_UINT(from),
               ARGUMENT_UINT(count), ARGUMENT(library->work)));
    TRY(fft_run(library->fft, watch, library->work, 0, count));
    TRY(LAUNCH(device, library->kernels[KERNEL_MULTIPLY], all, watch, STEP_FILTER,
               ARGUMENT(run->streams), ARGUMENT(library->table), ARGUMENT_UINT(blocks),
               ARGUMENT_UINT(from), ARGUMENT_UINT(count), ARGUMENT(library->work)));
    TRY(fft_run(library->fft, watch, library->work, 0, count));
    return LAUNCH(device, library->kernels[KERNEL_STORE],
                  launch_over(count * filter_grain(spec), WIDTH), watch, STEP_FILTER,
                  ARGUMENT(library->work), ARGUMENT(first), ARGUMENT_UINT(blocks),
                  ARGUMENT_UINT(from), ARGUMENT_UINT(count), ARGUMENT(run->out),
                  ARGUMENT_ULONG(run->out_stride), ARGUMENT(first_row), ARGUMENT_ULONG(run->rows));
}

static status_t library_run(const struct filter_made *library, struct stopwatch *watch,
                            const struct filter_block *run)
{
    const uint32_t batch = library->spec.choice.shape.batch;
    int64_t first = 0;
    uint32_t blocks = 0;
    TRY(filter_blocks(&library->spec, run, &first, &blocks));
    const uint64_t all = (uint64_t)blocks * run->nstreams;
    for (uint64_t from = 0; from < all; from += batch) {
        uint64_t count = min_u64(batch, all - from);
        TRY(library_run_batch(library, watch, run, first, blocks, (uint32_t)from, (uint32_t)count));
    }
    return STATUS_OK;
}

const struct filter_way filter_library = {library_can, library_settle, library_create, library_run,
                                          library_bytes};
