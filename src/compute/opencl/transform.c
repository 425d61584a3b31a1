/* Spectra lined up, where they must be, and transformed by a library or by the fused kernel. */
#include "compute/opencl/transform.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/ppf/ppf_steps.h"

#include <stdlib.h>
#include <string.h>

/* ---- fused points ---- */

/* Transforms by the fused kernel of the filter bank (kernels/ppf_fused.cl) with a single tap, whose
 * coefficients are 1: it reads samples as they are stored, and writes spectra.
 *
 * The fused kernel seen as a transform: two builds of it, for samples as they are stored and for
 * spectra that were lined up. */

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

/* Whether it may read channels as they come: all points have one, in ascending frequency from the
 * lowest one. Point j of the result then wants a factor (-1)^j. */
static int fused_points_is_ascending(const struct synthesise_spec *spec)
{
    return !spec->is_real_out && spec->channels == spec->points &&
           spec->first_point == -(int32_t)(spec->points / 2) && !spec->coding.has_missing_value;
}

static void fused_points_destroy(fused_points_t *fused)
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

/* Creates the shape that spec->choice has. Fails with DEVICE: the device cannot run it, too. */
static status_t fused_points_create(device_t *device, const struct synthesise_spec *spec,
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
        fused_options(&view, FUSED_SPECTRA, &fused->shape, &fused->device->info, &options);
        TRY(launch_build(fused->device, sources, nsources, &options, "ppf_fused", kernel));
    }
out:
    text_free(&options);
    return st;
}

/* The data to transform: `count` spectra from spectrum `from` of `in` on, `bytes` each, to
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

/* The same of `count` spectra float [count][points][2], which none is missing of. */
static status_t fused_points_run(fused_points_t *fused, struct stopwatch *watch, cl_mem in,
                                 uint64_t count, cl_mem out)
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

/* Whether it can read these samples where they lie. */
static int fused_points_can_read(const fused_points_t *fused, const struct transform_block *block)
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

/* Enqueues the transforms of a block that it can read. `found`: of line_up.h. Fails with DEVICE. */
static status_t fused_points_read(fused_points_t *fused, struct stopwatch *watch,
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

/* ---- transform ---- */

/* Samples of channels, wherever they lie in a buffer, lined up as spectra for a forward transform.
 *
 * The kernel of kernels/synthesis/synthesis_rows.cl, and the tables of offsets that it reads. */

typedef struct line_up line_up_t;

enum {
    WIDTH = 256,
    TILE = 1024 /* as in the kernel */
};

struct line_up {
    device_t *device;
    struct synthesise_spec spec;
    int is_ascending;
    cl_kernel kernel; /* for samples that lie as the last ones did; NULL: there were none */
    int is_along_time, is_aligned;
    cl_mem re, im;     /* ulong [streams x channels] */
    cl_mem found;      /* ulong [DEINTERLEAVE_GROUPS] missing samples since the last fetch */
    cl_ulong *offsets; /* [2][streams x channels] as they stand on the device */
    uint32_t known;    /* streams of them */
};

static uint32_t line_up_inputs(const struct synthesise_spec *spec, uint32_t nstreams)
{
    return nstreams * spec->channels;
}

static void line_up_destroy(line_up_t *line_up)
{
    if (!line_up) {
        return;
    }
    launch_release(line_up->kernel);
    device_release(line_up->device, line_up->re);
    device_release(line_up->device, line_up->im);
    device_release(line_up->device, line_up->found);
    free(line_up->offsets);
    free(line_up);
}

/* `is_ascending`: channel c goes to point c, else to point first_point + c. Fails with DEVICE. */
static status_t line_up_create(device_t *device, const struct synthesise_spec *spec,
                               int is_ascending, line_up_t **out)
{
    status_t st = STATUS_OK;
    line_up_t *line_up = NULL;
    const uint32_t inputs = line_up_inputs(spec, spec->nstreams);
    TRY(memory_zeroed(1, sizeof *line_up, "spectra in order", &line_up));
    line_up->device = device;
    line_up->spec = *spec;
    line_up->is_ascending = is_ascending;
    TRY(memory_zeroed(2 * (size_t)inputs, sizeof *line_up->offsets, "offsets", &line_up->offsets));
    TRY(device_allocate(device, inputs * sizeof(cl_ulong), "offsets", &line_up->re));
    TRY(device_allocate(device, inputs * sizeof(cl_ulong), "offsets", &line_up->im));
    TRY(device_allocate(device, DEINTERLEAVE_GROUPS * sizeof(cl_ulong), "counts", &line_up->found));
    TRY(device_clear(device, line_up->found, 0, DEINTERLEAVE_GROUPS * sizeof(cl_ulong)));
    *out = line_up;
    line_up = NULL;
out:
    line_up_destroy(line_up);
    return st;
}

/* Offsets differ from block to block only at a chunk's end, or with another group of streams. */
static status_t line_up_bring_offsets(line_up_t *line_up, const struct sample_input *input,
                                      uint32_t nstreams)
{
    status_t st = STATUS_OK;
    const uint32_t inputs = line_up_inputs(&line_up->spec, nstreams);
    cl_ulong *re = line_up->offsets;
    cl_ulong *im = re + line_up_inputs(&line_up->spec, line_up->spec.nstreams);
    int differs = nstreams != line_up->known;
    for (uint32_t i = 0; i < inputs; i++) {
        differs |= re[i] != input->re[i] || im[i] != input->im[i];
        re[i] = input->re[i];
        im[i] = input->im[i];
    }
    line_up->known = nstreams;
    if (differs) {
        TRY(device_write(line_up->device, line_up->re, 0, re, inputs * sizeof *re, "offsets"));
        TRY(device_write(line_up->device, line_up->im, 0, im, inputs * sizeof *im, "offsets"));
    }
out:
    return st;
}

/* Whether every number lies at a multiple of its size. */
static int line_up_is_aligned(const line_up_t *line_up, const struct sample_input *input,
                              uint32_t nstreams)
{
    const size_t bytes = sample_types[line_up->spec.coding.format].bytes;
    size_t odd = input->step % bytes;
    for (uint32_t i = 0; i < line_up_inputs(&line_up->spec, nstreams); i++) {
        odd |= input->re[i] % bytes;
        odd |= input->im[i] % bytes;
    }
    return odd == 0;
}

static void line_up_options(const line_up_t *line_up, struct text *out)
{
    const struct synthesise_spec *spec = &line_up->spec;
    const uint32_t first_point =
        (uint32_t)((spec->first_point + (int64_t)spec->points) % spec->points);
    deinterleave_options(&spec->coding, out);
    missing_options(&spec->coding, out);
    text_add(out, " -DPOINTS=%u -DCHANNELS_IN=%u -DFIRST_POINT=%u -DIS_REAL_OUT=%d", spec->points,
             spec->channels, line_up->is_ascending ? 0 : first_point, spec->is_real_out != 0);
    text_add(out, " -DALONG_TIME=%d -DALIGNED=%d -DLOOKS=%d -DWIDTH=%d", line_up->is_along_time,
             line_up->is_aligned, !spec->coding.is_made, (int)WIDTH);
}

/* The kernel that reads along what lies side by side. */
static status_t line_up_find_kernel(line_up_t *line_up, const struct sample_input *input,
                                    uint32_t nstreams)
{
    status_t st = STATUS_OK;
    static const enum program_source sources[] = {SOURCE_SAMPLES, SOURCE_MISSING,
                                                  SOURCE_SYNTHESIS_ROWS};
    const struct sample_coding *coding = &line_up->spec.coding;
    const int is_along_time = input->step <= sample_bytes(coding->format, coding->is_complex);
    const int is_aligned = line_up_is_aligned(line_up, input, nstreams);
    struct text options = {0};
    if (line_up->kernel && line_up->is_along_time == is_along_time &&
        line_up->is_aligned == is_aligned) {
        goto out;
    }
    launch_release(line_up->kernel);
    line_up->kernel = NULL;
    line_up->is_along_time = is_along_time;
    line_up->is_aligned = is_aligned;
    line_up_options(line_up, &options);
    TRY(launch_build(line_up->device, sources, 3, &options, "synthesis_rows", &line_up->kernel));
out:
    text_free(&options);
    return st;
}

/* Enqueues it: `to` gets float [count][nstreams][points][2], complex conjugates, zeros at points
 * without a channel and instead of missing samples. Fails with DEVICE. */
static status_t line_up_run(line_up_t *line_up, struct stopwatch *watch,
                            const struct transform_block *block, cl_mem to)
{
    status_t st = STATUS_OK;
    const uint64_t tiles =
        ceil_div_u64(block->count * block->nstreams * line_up->spec.points, TILE) + 1;
    const struct launch_size size = {(size_t)min_u64(tiles, DEINTERLEAVE_GROUPS), WIDTH};
    TRY(line_up_bring_offsets(line_up, block->input, block->nstreams));
    TRY(line_up_find_kernel(line_up, block->input, block->nstreams));
    TRY(LAUNCH(line_up->device, line_up->kernel, size, watch, STEP_DEINTERLEAVE,
               ARGUMENT(block->in), ARGUMENT(line_up->re), ARGUMENT(line_up->im),
               ARGUMENT_ULONG(block->input->step), ARGUMENT(to), ARGUMENT_ULONG(block->from),
               ARGUMENT_ULONG(block->count), ARGUMENT_UINT(block->nstreams),
               ARGUMENT_ULONG(block->counted_first), ARGUMENT_ULONG(block->counted),
               ARGUMENT(line_up->found)));
out:
    return st;
}

/* ulong [DEINTERLEAVE_GROUPS]: where those are added that are found missing. */
static cl_mem line_up_found(const line_up_t *line_up)
{
    return line_up->found;
}

/* As deinterleave_fetch(). */
static status_t line_up_fetch(line_up_t *line_up, cl_ulong *counts, cl_event *done)
{
    status_t st = STATUS_OK;
    const size_t bytes = DEINTERLEAVE_GROUPS * sizeof(cl_ulong);
    const struct sample_coding *coding = &line_up->spec.coding;
    if (coding->is_made || (coding->format != SAMPLE_F32 && !coding->has_missing_value)) {
        goto out;
    }
    CL_TRY(line_up->device,
           clEnqueueReadBuffer(line_up->device->compute, line_up->found, CL_FALSE, 0, bytes, counts,
                               0, NULL, done),
           "read counts");
    TRY(device_clear(line_up->device, line_up->found, 0, bytes));
out:
    return st;
}

struct transform {
    device_t *device;
    struct synthesise_spec spec;
    uint64_t most;
    line_up_t *line_up;
    fft_t *fft;            /* NULL: fused */
    fused_points_t *fused; /* or NULL */
    cl_mem u;
    cl_mem lined_up; /* fused: for samples that it cannot read; made when needed */
};

void transform_destroy(transform_t *transform)
{
    if (!transform) {
        return;
    }
    line_up_destroy(transform->line_up);
    fft_destroy(transform->fft);
    fused_points_destroy(transform->fused);
    device_release(transform->device, transform->u);
    device_release(transform->device, transform->lined_up);
    free(transform);
}

struct synthesise_shape transform_choose(const struct synthesise_spec *spec,
                                         const struct device_info *device)
{
    struct synthesise_shape shape = {0};
    if (device->is_gpu && fused_points_shape(spec, device, 0, &shape)) {
        shape.kernel = SYNTHESIS_FUSED;
    } else {
        shape.kernel = spec->fft == FFT_CLFFT && fft_can(FFT_CLFFT, spec->points) ? SYNTHESIS_CLFFT
                                                                                  : SYNTHESIS_VKFFT;
    }
    return shape;
}

static enum fft_kind transform_library(const struct synthesise_shape *shape)
{
    return shape->kernel == SYNTHESIS_CLFFT ? FFT_CLFFT : FFT_VKFFT;
}

status_t transform_words(const struct synthesise_shape *shape, struct text *out)
{
    status_t st = STATUS_OK;
    if (shape->kernel != SYNTHESIS_FUSED) {
        return text_add(out, "%s", fft_name(transform_library(shape)));
    }
    TRY(text_add(out, "fused (%u values, %u spectra an item, radices", shape->values,
                 shape->batch));
    for (uint32_t i = 0; i < SYNTHESISE_STAGES && shape->radix[i] > 1; i++) {
        TRY(text_add(out, " %u", shape->radix[i]));
    }
    TRY(text_add(out, ")"));
out:
    return st;
}

static uint64_t transform_tile_bytes(const struct synthesise_spec *spec, uint64_t most)
{
    return most * spec->nstreams * spec->points * COMPLEX_BYTES;
}

uint64_t transform_bytes(const struct synthesise_spec *spec, uint64_t most)
{
    enum { OFFSETS = 2 };
    /* As much again for a library's workspace, or for spectra that are lined up. */
    return 2 * transform_tile_bytes(spec, most) +
           ((uint64_t)spec->nstreams * spec->channels * OFFSETS + DEINTERLEAVE_GROUPS) *
               sizeof(cl_ulong);
}

int transform_is_signed(const transform_t *transform)
{
    return transform->fused && fused_points_is_ascending(&transform->spec);
}

status_t transform_create(device_t *device, const struct synthesise_spec *spec, uint64_t most,
                          transform_t **out)
{
    status_t st = STATUS_OK;
    transform_t *transform = NULL;
    TRY(memory_zeroed(1, sizeof *transform, "transforms", &transform));
    transform->device = device;
    transform->spec = *spec;
    transform->most = most;
    TRY(device_allocate(device, transform_tile_bytes(spec, most), "spectra", &transform->u));
    if (spec->choice.shape.kernel == SYNTHESIS_FUSED) {
        TRY(fused_points_create(device, spec, &transform->fused));
    } else {
        TRY(fft_create(device, transform_library(&spec->choice.shape), spec->points,
                       most * spec->nstreams, &transform->fft));
    }
    TRY(line_up_create(device, spec, transform_is_signed(transform), &transform->line_up));
    *out = transform;
    transform = NULL;
out:
    transform_destroy(transform);
    return st;
}

static status_t transform_run_library(transform_t *transform, struct stopwatch *watch,
                                      const struct transform_block *block)
{
    status_t st = STATUS_OK;
    device_t *device = transform->device;
    TRY(line_up_run(transform->line_up, watch, block, transform->u));
    TRY(stopwatch_begin(watch, device, device->compute, STEP_TRANSFORM));
    TRY(fft_run(transform->fft, transform->u, 0, block->count * block->nstreams));
    TRY(stopwatch_end(watch, device, device->compute));
out:
    return st;
}

static status_t transform_run_fused(transform_t *transform, struct stopwatch *watch,
                                    const struct transform_block *block)
{
    status_t st = STATUS_OK;
    if (fused_points_can_read(transform->fused, block)) {
        TRY(fused_points_read(transform->fused, watch, block, line_up_found(transform->line_up),
                              transform->u));
        goto out;
    }
    if (!transform->lined_up) {
        TRY(device_allocate(transform->device,
                            transform_tile_bytes(&transform->spec, transform->most),
                            "spectra in order", &transform->lined_up));
    }
    TRY(line_up_run(transform->line_up, watch, block, transform->lined_up));
    TRY(fused_points_run(transform->fused, watch, transform->lined_up,
                         block->count * block->nstreams, transform->u));
out:
    return st;
}

status_t transform_run(transform_t *transform, struct stopwatch *watch,
                       const struct transform_block *block, cl_mem *out)
{
    status_t st = STATUS_OK;
    if (block->count > 0) {
        TRY(transform->fused ? transform_run_fused(transform, watch, block)
                             : transform_run_library(transform, watch, block));
    }
    *out = transform->u;
out:
    return st;
}

status_t transform_fetch(transform_t *transform, cl_ulong *counts, cl_event *done)
{
    return line_up_fetch(transform->line_up, counts, done);
}
