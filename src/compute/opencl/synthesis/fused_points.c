/* The fused kernel seen as a transform: two builds of it, for samples as they are stored and for
 * spectra that were lined up. */
#include "compute/opencl/synthesis/fused_points.h"

#include "base/memory.h"
#include "compute/opencl/ppf/ppf_steps.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHAPES = 12, COMPLEX_BYTES = 2 * sizeof(float) };

struct fused_points {
    device_t *device;
    struct synthesise_spec spec;
    struct channelise_shape shape;
    uint64_t step;            /* bytes at whose multiples a sub-buffer may begin */
    cl_kernel stored, floats; /* NULL: made when needed */
    cl_mem ones, twiddles;    /* see the kernel */
};

/* The problem as a filter bank's. `is_stored`: of samples as they come; else of floats that are
 * complex conjugates already. */
static struct channelise_spec fused_points_view(const struct synthesise_spec *spec, int is_stored)
{
    struct channelise_spec view = {.channels = spec->points,
                                   .taps = 1,
                                   .is_complex = 1,
                                   .format = SAMPLE_F32,
                                   .missing.is_none = 1,
                                   .nchannels = spec->points,
                                   .nstreams = 1,
                                   .noutputs = 1,
                                   .outputs = {{.quantity = QUANTITY_SPECTRA, .integrate = 1}}};
    if (is_stored) {
        view.format = spec->coding.format;
        view.nibbles = spec->coding.nibbles;
        view.conjugate = !spec->coding.conjugate;
        view.missing.is_none = spec->coding.is_made;
    }
    return view;
}

static struct synthesise_shape fused_points_short(const struct channelise_shape *shape)
{
    struct synthesise_shape out = {
        .kernel = SYNTHESIS_FUSED, .values = shape->values, .batch = shape->batch};
    for (uint32_t i = 0; i < SYNTHESISE_STAGES; i++) {
        out.radix[i] = shape->radix[i];
    }
    return out;
}

int fused_points_shape(const struct synthesise_spec *spec, const struct device_info *device,
                       uint32_t i, struct synthesise_shape *out)
{
    struct channelise_shape shapes[MOST_SHAPES];
    const struct channelise_spec view = fused_points_view(spec, 0);
    const uint32_t count = fused_shapes(&view, FUSED_SPECTRA, device, shapes, MOST_SHAPES);
    if (i < count) {
        *out = fused_points_short(&shapes[i]);
    }
    return i < count;
}

int fused_points_is_ascending(const struct synthesise_spec *spec)
{
    return !spec->is_real_out && spec->channels == spec->points &&
           spec->first_point == -(int32_t)(spec->points / 2) && !spec->coding.has_missing_value;
}

void fused_points_destroy(fused_points_t *fused)
{
    if (!fused) {
        return;
    }
    launch_release(fused->stored);
    launch_release(fused->floats);
    device_release(fused->device, fused->ones);
    device_release(fused->device, fused->twiddles);
    free(fused);
}

/* The whole of the shape that was chosen. */
static status_t fused_points_find(fused_points_t *fused)
{
    status_t st = STATUS_OK;
    struct channelise_shape shapes[MOST_SHAPES];
    const struct synthesise_shape *wanted = &fused->spec.choice.shape;
    const struct channelise_spec view = fused_points_view(&fused->spec, 0);
    const uint32_t count =
        fused_shapes(&view, FUSED_SPECTRA, &fused->device->info, shapes, MOST_SHAPES);
    uint32_t i = 0;
    while (i < count && (shapes[i].values != wanted->values || shapes[i].batch != wanted->batch ||
                         memcmp(shapes[i].radix, wanted->radix, sizeof wanted->radix) != 0)) {
        i++;
    }
    REQUIRE(i < count, STATUS_DEVICE,
            "synthesise: this device has no fused transform of %u points, %u values and %u spectra "
            "an item",
            fused->spec.points, wanted->values, wanted->batch);
    fused->shape = shapes[i];
out:
    return st;
}

static status_t fused_points_put_tables(fused_points_t *fused)
{
    status_t st = STATUS_OK;
    const struct channelise_spec view = fused_points_view(&fused->spec, 0);
    const size_t pairs = fused_twiddle_count(&view, &fused->shape);
    const size_t points = fused->spec.points;
    float *table = NULL;
    TRY(memory_zeroed(max_u64(2 * pairs, points), sizeof *table, "twiddles", &table));
    for (size_t i = 0; i < points; i++) {
        table[i] = 1;
    }
    TRY(device_put(fused->device, table, points * sizeof *table, "coefficients", &fused->ones));
    fused_twiddles(&view, &fused->shape, table);
    TRY(device_put(fused->device, table, 2 * pairs * sizeof *table, "twiddles", &fused->twiddles));
out:
    free(table);
    return st;
}

status_t fused_points_create(device_t *device, const struct synthesise_spec *spec,
                             fused_points_t **out)
{
    status_t st = STATUS_OK;
    fused_points_t *fused = NULL;
    cl_uint bits = 0;
    TRY(memory_zeroed(1, sizeof *fused, "a transform", &fused));
    fused->device = device;
    fused->spec = *spec;
    TRY(fused_points_find(fused));
    CL_TRY(
        device,
        clGetDeviceInfo(device->info.id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL),
        "ask for the alignment of buffers");
    fused->step = max_u64(bits / 8, 1);
    TRY(fused_points_put_tables(fused));
    *out = fused;
    fused = NULL;
out:
    fused_points_destroy(fused);
    return st;
}

static status_t fused_points_build(fused_points_t *fused, int is_stored, cl_kernel *kernel)
{
    status_t st = STATUS_OK;
    uint32_t nsources = 0;
    const enum program_source *sources = fused_sources(&fused->shape, &nsources);
    const struct channelise_spec view = fused_points_view(&fused->spec, is_stored);
    struct text options = {0};
    if (!*kernel) {
        TRY(fused_options(&view, FUSED_SPECTRA, &fused->shape, &fused->device->info, &options));
        TRY(launch_build(fused->device, sources, nsources, options.data, "ppf_fused", kernel));
    }
out:
    text_free(&options);
    return st;
}

/* What is to be transformed: `count` spectra from spectrum `from` of `in` on, `bytes` each, to
 * spectrum `to` of `out`; missing samples of the first `counted` are counted. */
struct fused_launch {
    cl_mem in, out, found;
    uint64_t from, to, count, bytes, counted;
};

static status_t fused_points_part(const fused_points_t *fused, cl_mem whole, uint64_t at,
                                  uint64_t bytes, cl_mem *out)
{
    status_t st = STATUS_OK;
    const cl_buffer_region region = {(size_t)at, (size_t)bytes};
    cl_int error = CL_SUCCESS;
    *out = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    CL_TRY(fused->device, error, "take a part of a buffer");
out:
    return st;
}

static status_t fused_points_launch(fused_points_t *fused, struct stopwatch *watch, int is_stored,
                                    const struct fused_launch *launch)
{
    status_t st = STATUS_OK;
    const struct channelise_spec view = fused_points_view(&fused->spec, is_stored);
    cl_kernel *kernel = is_stored ? &fused->stored : &fused->floats;
    const uint64_t row = (uint64_t)fused->spec.points * COMPLEX_BYTES;
    cl_mem in = NULL;
    cl_mem out = NULL;
    TRY(fused_points_build(fused, is_stored, kernel));
    TRY(fused_points_part(fused, launch->in, launch->from * launch->bytes,
                          launch->count * launch->bytes, &in));
    TRY(fused_points_part(fused, launch->out, launch->to * row, launch->count * row, &out));
    const struct launch_size size =
        fused_size(&view, FUSED_SPECTRA, &fused->shape, launch->count, 1, 0);
    struct launch_argument arguments[] = {ARGUMENT(in),
                                          ARGUMENT_ULONG(0),
                                          ARGUMENT(fused->ones),
                                          ARGUMENT(fused->twiddles),
                                          ARGUMENT(out),
                                          ARGUMENT_ULONG(launch->count),
                                          ARGUMENT_UINT(1),
                                          ARGUMENT_ULONG(0),
                                          ARGUMENT_ULONG(1),
                                          ARGUMENT(launch->found),
                                          ARGUMENT_ULONG(launch->counted),
                                          {NULL, 0}};
    if (!fused_looks(&view)) {
        enum { ALWAYS = 9 };
        arguments[ALWAYS] = (struct launch_argument){NULL, 0};
    }
    TRY(launch_kernel(fused->device, *kernel, size, watch, STEP_TRANSFORM, arguments));
out:
    if (in) {
        clReleaseMemObject(in);
    }
    if (out) {
        clReleaseMemObject(out);
    }
    return st;
}

status_t fused_points_run(fused_points_t *fused, struct stopwatch *watch, cl_mem in, uint64_t count,
                          cl_mem out)
{
    const struct fused_launch launch = {
        .in = in, .out = out, .count = count, .bytes = fused->spec.points * COMPLEX_BYTES};
    return fused_points_launch(fused, watch, 0, &launch);
}

/* Bytes of a spectrum of all streams as it is stored, without gaps. */
static uint64_t fused_points_row_bytes(const fused_points_t *fused, uint32_t nstreams)
{
    return (uint64_t)nstreams * fused->spec.points * sample_bytes(fused->spec.coding.format, 1);
}

/* Where among the block's spectra those begin that are counted; their number has none behind it
 * that is not. */
static uint64_t fused_points_uncounted(const struct transform_block *block)
{
    return block->counted > 0 ? block->counted_first - block->from : 0;
}

int fused_points_can_read(const fused_points_t *fused, const struct transform_block *block)
{
    const struct sample_input *input = block->input;
    const size_t sample = sample_bytes(fused->spec.coding.format, 1);
    const size_t part = sample_part_bytes(fused->spec.coding.format, 1);
    const uint64_t row = (uint64_t)fused->spec.points * COMPLEX_BYTES * block->nstreams;
    if (!fused_points_is_ascending(&fused->spec) ||
        input->step != fused_points_row_bytes(fused, block->nstreams) ||
        block->from * input->step % fused->step != 0 ||
        fused_points_uncounted(block) * input->step % fused->step != 0 ||
        fused_points_uncounted(block) * row % fused->step != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < block->nstreams * fused->spec.channels; i++) {
        if (input->re[i] != i * sample || input->im[i] != input->re[i] + part) {
            return 0;
        }
    }
    return 1;
}

status_t fused_points_read(fused_points_t *fused, struct stopwatch *watch,
                           const struct transform_block *block, cl_mem found, cl_mem out)
{
    status_t st = STATUS_OK;
    const uint64_t before = fused_points_uncounted(block);
    struct fused_launch launch = {.in = block->in,
                                  .out = out,
                                  .found = found,
                                  .from = block->from * block->nstreams,
                                  .count = before * block->nstreams,
                                  .bytes = fused_points_row_bytes(fused, 1)};
    if (before > 0) {
        TRY(fused_points_launch(fused, watch, 1, &launch));
    }
    launch.from += launch.count;
    launch.to = launch.count;
    launch.count = (block->count - before) * block->nstreams;
    launch.counted = block->counted * block->nstreams;
    if (launch.count > 0) {
        TRY(fused_points_launch(fused, watch, 1, &launch));
    }
out:
    return st;
}
