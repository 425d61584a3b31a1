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

struct transform {
    device_t *device;
    struct synthesise_spec spec;
    uint64_t most;
    cl_mem u;
    fft_t *fft; /* NULL: fused */
    /* Spectra in order, where they must be. */
    struct sample_places places; /* of streams x channels */
    cl_kernel rows; /* for samples that lie as the last ones did; NULL: there were none */
    int is_along_time, is_aligned;
    /* Fused: */
    struct channelise_shape shape;
    cl_kernel stored, floats; /* NULL: made when needed */
    cl_mem ones, twiddles;    /* see the kernel */
    cl_mem lined_up;          /* for samples that it cannot read; made when needed */
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

int transform_is_signed(const transform_t *transform)
{
    return !transform->fft && fused_points_is_ascending(&transform->spec);
}

/* The whole of the shape that was chosen. */
static status_t fused_points_find(transform_t *transform)
{
    struct channelise_shape shapes[MOST_SHAPES];
    const struct synthesise_shape *wanted = &transform->spec.choice.shape;
    const struct channelise_spec view = fused_points_view(&transform->spec, 0);
    const uint32_t count =
        fused_shapes(&view, FUSED_SPECTRA, &transform->device->info, shapes, MOST_SHAPES);
    uint32_t i = 0;
    while (i < count && (shapes[i].values != wanted->values || shapes[i].batch != wanted->batch ||
                         memcmp(shapes[i].radix, wanted->radix, sizeof wanted->radix) != 0)) {
        i++;
    }
    REQUIRE(i < count, STATUS_DEVICE,
            "synthesise: this device has no fused transform of %u points, %u values and %u spectra "
            "an item",
            transform->spec.points, wanted->values, wanted->batch);
    transform->shape = shapes[i];
    return STATUS_OK;
}

static status_t fused_points_put_tables(transform_t *transform)
{
    status_t st = STATUS_OK;
    const struct channelise_spec view = fused_points_view(&transform->spec, 0);
    const size_t pairs = fused_twiddle_count(&view, &transform->shape);
    const size_t points = transform->spec.points;
    float *table = NULL;
    TRY_OUT(memory_zeroed(max_u64(2 * pairs, points), sizeof *table, "twiddles", &table));
    for (size_t i = 0; i < points; i++) {
        table[i] = 1;
    }
    TRY_OUT(device_put(transform->device, table, points * sizeof *table, "coefficients",
                       &transform->ones));
    fused_twiddles(&view, &transform->shape, table);
    TRY_OUT(device_put(transform->device, table, 2 * pairs * sizeof *table, "twiddles",
                       &transform->twiddles));
out:
    free(table);
    return st;
}

static status_t fused_points_build(transform_t *transform, int is_stored, cl_kernel *kernel)
{
    uint32_t nsources = 0;
    const enum program_source *sources = fused_sources(&transform->shape, &nsources);
    const struct channelise_spec view = fused_points_view(&transform->spec, is_stored);
    struct text options = {0};
    if (*kernel) {
        return STATUS_OK;
    }
    fused_options(&view, FUSED_SPECTRA, &transform->shape, &transform->device->info, &options);
    return launch_build(transform->device, sources, nsources, &options, "ppf_fused", kernel);
}

/* The data to transform: `count` spectra from spectrum `from` of `in` on, `bytes` each, to
 * spectrum `to` of `out`; missing samples of the first `counted` are counted. */
struct fused_launch {
    cl_mem in, out, found;
    uint64_t from, to, count, bytes;
    cl_ulong counted;
};

static status_t fused_points_launch(transform_t *transform, struct stopwatch *watch, int is_stored,
                                    const struct fused_launch *launch)
{
    status_t st = STATUS_OK;
    const struct channelise_spec view = fused_points_view(&transform->spec, is_stored);
    cl_kernel *kernel = is_stored ? &transform->stored : &transform->floats;
    const uint64_t row = (uint64_t)transform->spec.points * COMPLEX_BYTES;
    cl_mem in = NULL;
    cl_mem out = NULL;
    TRY_OUT(fused_points_build(transform, is_stored, kernel));
    TRY_OUT(device_part(transform->device, launch->in, launch->from * launch->bytes,
                        launch->count * launch->bytes, &in));
    TRY_OUT(
        device_part(transform->device, launch->out, launch->to * row, launch->count * row, &out));
    const struct launch_size size =
        fused_size(&view, FUSED_SPECTRA, &transform->shape, launch->count, 1, 0);
    const int looks = fused_looks(&view);
    TRY_OUT(LAUNCH(transform->device, *kernel, size, watch, STEP_TRANSFORM, ARGUMENT(in),
                   ARGUMENT_ULONG(0), ARGUMENT(transform->ones), ARGUMENT(transform->twiddles),
                   ARGUMENT(out), ARGUMENT_ULONG(launch->count), ARGUMENT_UINT(1),
                   ARGUMENT_ULONG(0), ARGUMENT_ULONG(1), ARGUMENT_IF(looks, launch->found),
                   ARGUMENT_IF(looks, launch->counted)));
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
static status_t fused_points_run(transform_t *transform, struct stopwatch *watch, cl_mem in,
                                 uint64_t count, cl_mem out)
{
    const struct fused_launch launch = {
        .in = in, .out = out, .count = count, .bytes = transform->spec.points * COMPLEX_BYTES};
    return fused_points_launch(transform, watch, 0, &launch);
}

/* Bytes of a spectrum of all streams as it is stored, without gaps. */
static uint64_t fused_points_row_bytes(const transform_t *transform, uint32_t nstreams)
{
    return (uint64_t)nstreams * transform->spec.points *
           sample_bytes(transform->spec.coding.format, 1);
}

/* Where among the block's spectra those begin that are counted; their number has none behind it
 * that is not. */
static uint64_t fused_points_uncounted(const struct transform_block *block)
{
    return block->counted > 0 ? block->counted_first - block->from : 0;
}

/* Whether it can read these samples where they lie. */
static int fused_points_can_read(const transform_t *transform, const struct transform_block *block)
{
    const struct sample_input *input = block->input;
    const uint32_t align = transform->device->info.align;
    const size_t sample = sample_bytes(transform->spec.coding.format, 1);
    const size_t part = sample_part_bytes(transform->spec.coding.format, 1);
    const uint64_t row = (uint64_t)transform->spec.points * COMPLEX_BYTES * block->nstreams;
    if (!fused_points_is_ascending(&transform->spec) ||
        input->step != fused_points_row_bytes(transform, block->nstreams) ||
        block->from * input->step % align != 0 ||
        fused_points_uncounted(block) * input->step % align != 0 ||
        fused_points_uncounted(block) * row % align != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < block->nstreams * transform->spec.channels; i++) {
        if (input->re[i] != i * sample || input->im[i] != input->re[i] + part) {
            return 0;
        }
    }
    return 1;
}

/* Enqueues the transforms of a block that it can read. Fails with DEVICE. */
static status_t fused_points_read(transform_t *transform, struct stopwatch *watch,
                                  const struct transform_block *block, cl_mem found, cl_mem out)
{
    const uint64_t before = fused_points_uncounted(block);
    struct fused_launch launch = {.in = block->in,
                                  .out = out,
                                  .found = found,
                                  .from = block->from * block->nstreams,
                                  .count = before * block->nstreams,
                                  .bytes = fused_points_row_bytes(transform, 1)};
    if (before > 0) {
        TRY(fused_points_launch(transform, watch, 1, &launch));
    }
    launch.from += launch.count;
    launch.to = launch.count;
    launch.count = (block->count - before) * block->nstreams;
    launch.counted = block->counted * block->nstreams;
    if (launch.count > 0) {
        TRY(fused_points_launch(transform, watch, 1, &launch));
    }
    return STATUS_OK;
}

/* ---- spectra in order ---- */

/* Samples of channels, wherever they lie in a buffer, lined up as spectra for a forward transform.
 *
 * The kernel of kernels/synthesis/synthesis_rows.cl, and the tables of offsets that it reads. */

enum {
    WIDTH = 256,
    TILE = 1024 /* as in the kernel */
};

/* Streams of channels. */
static uint32_t line_up_inputs(const struct synthesise_spec *spec, uint32_t nstreams)
{
    return nstreams * spec->channels;
}

/* Channel c goes to point c if channels are transformed as they come, else to first_point + c. */
static void line_up_options(const transform_t *transform, struct text *out)
{
    const struct synthesise_spec *spec = &transform->spec;
    const uint32_t first_point =
        (uint32_t)((spec->first_point + (int64_t)spec->points) % spec->points);
    deinterleave_options(&spec->coding, out);
    missing_options(&spec->coding, out);
    text_add(out, " -DPOINTS=%u -DCHANNELS_IN=%u -DFIRST_POINT=%u -DIS_REAL_OUT=%d", spec->points,
             spec->channels, transform_is_signed(transform) ? 0 : first_point,
             spec->is_real_out != 0);
    text_add(out, " -DALONG_TIME=%d -DALIGNED=%d -DLOOKS=%d -DWIDTH=%d", transform->is_along_time,
             transform->is_aligned, !spec->coding.is_made, (int)WIDTH);
}

/* The kernel that reads along what lies side by side. */
static status_t line_up_find_kernel(transform_t *transform, const struct sample_input *input,
                                    uint32_t nstreams)
{
    static const enum program_source sources[] = {SOURCE_SAMPLES, SOURCE_MISSING,
                                                  SOURCE_SYNTHESIS_ROWS};
    const struct sample_coding *coding = &transform->spec.coding;
    const int is_along_time = input->step <= sample_bytes(coding->format, coding->is_complex);
    const int is_aligned =
        sample_places_are_aligned(coding, input, line_up_inputs(&transform->spec, nstreams));
    struct text options = {0};
    if (transform->rows && transform->is_along_time == is_along_time &&
        transform->is_aligned == is_aligned) {
        return STATUS_OK;
    }
    LAUNCH_RELEASE(transform->rows);
    transform->rows = NULL;
    transform->is_along_time = is_along_time;
    transform->is_aligned = is_aligned;
    line_up_options(transform, &options);
    return launch_build(transform->device, sources, 3, &options, "synthesis_rows",
                        &transform->rows);
}

/* Enqueues it: `to` gets float [count][nstreams][points][2], complex conjugates, zeros at points
 * without a channel and instead of missing samples. Fails with DEVICE. */
static status_t line_up_run(transform_t *transform, struct stopwatch *watch,
                            const struct transform_block *block, cl_mem to)
{
    const uint64_t tiles =
        ceil_div_u64(block->count * block->nstreams * transform->spec.points, TILE) + 1;
    const struct launch_size size = {(size_t)min_u64(tiles, DEINTERLEAVE_GROUPS), WIDTH};
    TRY(sample_places_bring(&transform->places, &transform->spec.coding, block->input,
                            line_up_inputs(&transform->spec, block->nstreams)));
    TRY(line_up_find_kernel(transform, block->input, block->nstreams));
    return LAUNCH(transform->device, transform->rows, size, watch, STEP_DEINTERLEAVE,
                  ARGUMENT(block->in), ARGUMENT(transform->places.re),
                  ARGUMENT(transform->places.im), ARGUMENT_ULONG(block->input->step), ARGUMENT(to),
                  ARGUMENT_ULONG(block->from), ARGUMENT_ULONG(block->count),
                  ARGUMENT_UINT(block->nstreams), ARGUMENT_ULONG(block->counted_first),
                  ARGUMENT_ULONG(block->counted), ARGUMENT(transform->places.found));
}

/* ---- transform ---- */

void transform_destroy(transform_t *transform)
{
    if (!transform) {
        return;
    }
    fft_destroy(transform->fft);
    LAUNCH_RELEASE(transform->rows, transform->stored, transform->floats);
    sample_places_free(&transform->places);
    DEVICE_RELEASE(transform->device, transform->ones, transform->twiddles, transform->u,
                   transform->lined_up);
    free(transform);
}

struct synthesise_shape transform_choose(const struct synthesise_spec *spec,
                                         const struct device_info *device)
{
    struct synthesise_shape shape = {0};
    if (device->is_gpu && fused_points_shape(spec, device, 0, &shape)) {
        shape.kernel = SYNTHESIS_FUSED;
    } else {
        shape.kernel =
            fft_settle(spec->fft, spec->points) == FFT_CLFFT ? SYNTHESIS_CLFFT : SYNTHESIS_VKFFT;
    }
    return shape;
}

static enum fft_kind transform_library(const struct synthesise_shape *shape)
{
    return shape->kernel == SYNTHESIS_CLFFT ? FFT_CLFFT : FFT_VKFFT;
}

status_t transform_words(const struct synthesise_shape *shape, struct text *out)
{
    if (shape->kernel != SYNTHESIS_FUSED) {
        return text_add(out, "%s", fft_name(transform_library(shape)));
    }
    TRY(text_add(out, "fused (%u values, %u spectra an item, radices", shape->values,
                 shape->batch));
    for (uint32_t i = 0; i < SYNTHESISE_STAGES && shape->radix[i] > 1; i++) {
        TRY(text_add(out, " %u", shape->radix[i]));
    }
    return text_add(out, ")");
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

status_t transform_create(device_t *device, const struct synthesise_spec *spec, uint64_t most,
                          transform_t **out)
{
    status_t st = STATUS_OK;
    transform_t *transform = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *transform, "transforms", &transform));
    transform->device = device;
    transform->spec = *spec;
    transform->most = most;
    TRY_OUT(device_allocate(device, transform_tile_bytes(spec, most), "spectra", &transform->u));
    if (spec->choice.shape.kernel == SYNTHESIS_FUSED) {
        TRY_OUT(fused_points_find(transform));
        TRY_OUT(fused_points_put_tables(transform));
    } else {
        TRY_OUT(fft_create(device, transform_library(&spec->choice.shape), spec->points,
                           most * spec->nstreams, &transform->fft));
    }
    TRY_OUT(sample_places_create(device, line_up_inputs(spec, spec->nstreams), &transform->places));
    *out = transform;
    transform = NULL;
out:
    transform_destroy(transform);
    return st;
}

static status_t transform_run_library(transform_t *transform, struct stopwatch *watch,
                                      const struct transform_block *block)
{
    TRY(line_up_run(transform, watch, block, transform->u));
    return fft_run(transform->fft, watch, transform->u, 0, block->count * block->nstreams);
}

static status_t transform_run_fused(transform_t *transform, struct stopwatch *watch,
                                    const struct transform_block *block)
{
    if (fused_points_can_read(transform, block)) {
        TRY(fused_points_read(transform, watch, block, transform->places.found, transform->u));
        return STATUS_OK;
    }
    if (!transform->lined_up) {
        TRY(device_allocate(transform->device,
                            transform_tile_bytes(&transform->spec, transform->most),
                            "spectra in order", &transform->lined_up));
    }
    TRY(line_up_run(transform, watch, block, transform->lined_up));
    return fused_points_run(transform, watch, transform->lined_up, block->count * block->nstreams,
                            transform->u);
}

status_t transform_run(transform_t *transform, struct stopwatch *watch,
                       const struct transform_block *block, cl_mem *out)
{
    if (block->count > 0) {
        TRY(transform->fft ? transform_run_library(transform, watch, block)
                           : transform_run_fused(transform, watch, block));
    }
    *out = transform->u;
    return STATUS_OK;
}

status_t transform_fetch(transform_t *transform, cl_ulong *counts, cl_event *done)
{
    const struct sample_coding *coding = &transform->spec.coding;
    const int looks =
        !coding->is_made && (coding->format == SAMPLE_F32 || coding->has_missing_value);
    return looks ? sample_places_fetch(&transform->places, counts, done) : STATUS_OK;
}
