/* The stage on an OpenCL device: up, transform back, filter, down; blocks overlap through three
 * queues. */
#include "compute/opencl/opencl_synthesise.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/opencl.h"
#include "compute/opencl/ppf/ppf_steps.h"
#include "dsp/overlap.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHAPES = 12, COMPLEX_BYTES = 2 * sizeof(float) };

/* Some spectra of a buffer. */
struct transform_block {
    cl_mem in;
    const struct sample_input *input;
    uint32_t nstreams;
    uint64_t from, count;            /* count <= `most` */
    uint64_t counted_first, counted; /* of them, whose missing samples are counted */
};

/* Inverse transform of spectra of channels at any place of a buffer: the first half of a
 * synthesis. All work is enqueued in `device->compute`. */
typedef struct transform {
    device_t *device;
    struct synthesise_spec spec;
    uint64_t most;
    cl_mem u;
    fft_t *fft; /* NULL: fused */
    /* Spectra in order, where they must be. */
    struct sample_places places; /* of streams x channels */
    cl_kernel rows; /* for samples that are as the last ones did; NULL: there were none */
    int is_along_time, is_aligned;
    /* Fused: */
    struct channelise_shape shape;
    cl_kernel stored, floats; /* NULL: made when needed */
    cl_mem ones, twiddles;    /* see the kernel */
    cl_mem lined_up;          /* for samples that it cannot read; made when needed */
} transform_t;

/* ---- fused points: the kernel of the filter bank (kernels/ppf_fused.cl) with a single tap, whose
 * coefficients are 1, in two builds: for samples as they are stored, and for spectra that were
 * lined up ---- */

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

/* Returns whether point j of the output still needs a factor (-1)^j, because channels are
 * transformed in ascending frequency, as they come. */
static int transform_is_signed(const transform_t *transform)
{
    return !transform->fft && fused_points_is_ascending(&transform->spec);
}

/* Finds the complete shape that belongs to the chosen one. */
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
    const struct channelise_spec view = fused_points_view(&transform->spec, 0);
    const size_t pairs = fused_twiddle_count(&view, &transform->shape);
    const size_t points = transform->spec.points;
    SCOPED(free_at) float *table = NULL;
    TRY(memory_zeroed(max_u64(2 * pairs, points), sizeof *table, "twiddles", &table));
    for (size_t i = 0; i < points; i++) {
        table[i] = 1;
    }
    TRY(device_put(transform->device, table, points * sizeof *table, "coefficients",
                   &transform->ones));
    fused_twiddles(&view, &transform->shape, table);
    return device_put(transform->device, table, 2 * pairs * sizeof *table, "twiddles",
                      &transform->twiddles);
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
 * spectrum `to`; missing samples of the first `counted` are counted. */
struct fused_launch {
    cl_mem in;
    uint64_t from, to, count, bytes;
    cl_ulong counted;
};

static status_t fused_points_launch(transform_t *transform, struct stopwatch *watch, int is_stored,
                                    const struct fused_launch *launch)
{
    const struct channelise_spec view = fused_points_view(&transform->spec, is_stored);
    cl_kernel *kernel = is_stored ? &transform->stored : &transform->floats;
    const uint64_t row = (uint64_t)transform->spec.points * COMPLEX_BYTES;
    SCOPED(device_part_free) cl_mem in = NULL;
    SCOPED(device_part_free) cl_mem out = NULL;
    TRY(fused_points_build(transform, is_stored, kernel));
    TRY(device_part(transform->device, launch->in, launch->from * launch->bytes,
                    launch->count * launch->bytes, &in));
    TRY(device_part(transform->device, transform->u, launch->to * row, launch->count * row, &out));
    const struct launch_size size =
        fused_size(&view, FUSED_SPECTRA, &transform->shape, launch->count, 1, 0);
    const int looks = fused_looks(&view);
    return LAUNCH(transform->device, *kernel, size, watch, STEP_TRANSFORM, ARGUMENT(in),
                  ARGUMENT_ULONG(0), ARGUMENT(transform->ones), ARGUMENT(transform->twiddles),
                  ARGUMENT(out), ARGUMENT_ULONG(launch->count), ARGUMENT_UINT(1), ARGUMENT_ULONG(0),
                  ARGUMENT_ULONG(1), ARGUMENT_IF(looks, transform->places.found),
                  ARGUMENT_IF(looks, launch->counted));
}

/* Bytes of a spectrum of all streams as it is stored, without gaps. */
static uint64_t fused_points_row_bytes(const transform_t *transform, uint32_t nstreams)
{
    return (uint64_t)nstreams * transform->spec.points *
           sample_bytes(transform->spec.coding.format, 1);
}

/* Returns the number of the block's spectra before the first one whose missing samples are counted;
 * 0: none are counted. All later ones are. */
static uint64_t fused_points_uncounted(const struct transform_block *block)
{
    return block->counted > 0 ? block->counted_first - block->from : 0;
}

/* Whether it can read these samples where they are. */
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
                                  const struct transform_block *block)
{
    const uint64_t before = fused_points_uncounted(block);
    struct fused_launch launch = {.in = block->in,
                                  .from = block->from * block->nstreams,
                                  .count = before * block->nstreams,
                                  .bytes = fused_points_row_bytes(transform, 1)};
    TRY(before > 0 ? fused_points_launch(transform, watch, 1, &launch) : STATUS_OK);
    launch.from += launch.count;
    launch.to = launch.count;
    launch.count = (block->count - before) * block->nstreams;
    launch.counted = block->counted * block->nstreams;
    return launch.count > 0 ? fused_points_launch(transform, watch, 1, &launch) : STATUS_OK;
}

/* ---- spectra in order: samples of channels, wherever they are in a buffer, lined up as spectra
 * for a forward transform ---- */

/* The kernel of kernels/synthesis/synthesis_rows.cl, and the tables of offsets that it reads. */

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

/* Builds the kernel that reads along the dimension whose samples are side by side. */
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

static void transform_destroy(transform_t *transform)
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
SCOPED_END(transform_destroy, transform_t *)

/* Fused on GPUs, where it does the points, since memory binds, and a pass through it less is
 * faster. */
static status_t opencl_synthesise_choose(backend_t *backend, const struct synthesise_spec *spec,
                                         struct synthesise_choice *out)
{
    const struct device_info *device = &((struct opencl *)backend)->device->info;
    struct synthesise_shape shape = {0};
    if (device->is_gpu && fused_points_shape(spec, device, 0, &shape)) {
        shape.kernel = SYNTHESIS_FUSED;
    } else {
        shape.kernel =
            fft_settle(spec->fft, spec->points) == FFT_CLFFT ? SYNTHESIS_CLFFT : SYNTHESIS_VKFFT;
    }
    out->shape = shape;
    return STATUS_OK;
}

static enum fft_kind transform_library(const struct synthesise_shape *shape)
{
    return shape->kernel == SYNTHESIS_CLFFT ? FFT_CLFFT : FFT_VKFFT;
}

/* "vkfft"; "fused (8 values, 5 spectra an item, radices 4 8 8 4)". */
static status_t opencl_synthesise_words(const struct synthesise_choice *choice, struct text *out)
{
    const struct synthesise_shape *shape = &choice->shape;
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

/* Returns the bytes of device memory that it takes, about, of any shape. */
static uint64_t transform_bytes(const struct synthesise_spec *spec, uint64_t most)
{
    enum { OFFSETS = 2 };
    /* As much again for a library's workspace, or for spectra that are lined up. */
    return 2 * transform_tile_bytes(spec, most) +
           ((uint64_t)spec->nstreams * spec->channels * OFFSETS + DEINTERLEAVE_GROUPS) *
               sizeof(cl_ulong);
}

/* Makes it for at most `most` spectra of each of spec->nstreams streams; spec->choice is made. */
static status_t transform_create(device_t *device, const struct synthesise_spec *spec,
                                 uint64_t most, transform_t **out)
{
    SCOPED(transform_destroy_at) transform_t *transform = NULL;
    TRY(memory_zeroed(1, sizeof *transform, "transforms", &transform));
    transform->device = device;
    transform->spec = *spec;
    transform->most = most;
    TRY(device_allocate(device, transform_tile_bytes(spec, most), "spectra", &transform->u));
    if (spec->choice.shape.kernel == SYNTHESIS_FUSED) {
        TRY(fused_points_find(transform));
        TRY(fused_points_put_tables(transform));
    } else {
        TRY(fft_create(device, transform_library(&spec->choice.shape), spec->points,
                       most * spec->nstreams, &transform->fft));
    }
    TRY(sample_places_create(device, line_up_inputs(spec, spec->nstreams), &transform->places));
    *out = memory_move(&transform);
    return STATUS_OK;
}

static status_t transform_run_fused(transform_t *transform, struct stopwatch *watch,
                                    const struct transform_block *block)
{
    if (fused_points_can_read(transform, block)) {
        return fused_points_read(transform, watch, block);
    }
    if (!transform->lined_up) {
        TRY(device_allocate(transform->device,
                            transform_tile_bytes(&transform->spec, transform->most),
                            "spectra in order", &transform->lined_up));
    }
    TRY(line_up_run(transform, watch, block, transform->lined_up));
    const struct fused_launch floats = {.in = transform->lined_up,
                                        .count = block->count * block->nstreams,
                                        .bytes = transform->spec.points * COMPLEX_BYTES};
    return fused_points_launch(transform, watch, 0, &floats);
}

/* Makes `u`: float [count][nstreams][points][2], the complex conjugates of the u_s of
 * compute/synthesise.h. */
static status_t transform_run(transform_t *transform, struct stopwatch *watch,
                              const struct transform_block *block)
{
    if (block->count == 0 || !transform->fft) {
        return block->count == 0 ? STATUS_OK : transform_run_fused(transform, watch, block);
    }
    TRY(line_up_run(transform, watch, block, transform->u));
    return fft_run(transform->fft, watch, transform->u, 0, block->count * block->nstreams);
}

/* Counts since the last call. */
static status_t transform_fetch(transform_t *transform, cl_ulong *counts, cl_event *done)
{
    const struct sample_coding *coding = &transform->spec.coding;
    const int looks =
        !coding->is_made && (coding->format == SAMPLE_F32 || coding->has_missing_value);
    return looks ? sample_places_fetch(&transform->places, counts, done) : STATUS_OK;
}

enum {
    /* MiB of transformed spectra: long launches (H200, 2^28 rows: 2.13 ms in one, 2.21 in five), of
     * which a large device has room; of any GPU; what a processor's caches hold. */
    TILE_MOST = 2560,
    TILE_LEAST = 512,
    TILE_HOST = 2,
    TILE_SHARE = 24, /* of the rank's memory of a device at most, if that is more than TILE_LEAST */
    FIR_WIDTH = 64,  /* work-items of a group */
    FIR_ROWS = 8,    /* most rows of an item */
    /* Most meetings of an item's rows with spectra in a kernel that is unrolled: of a GPU, and of a
     * processor, which builds large kernels slowly. */
    FIR_MEETINGS = 512,
    FIR_MEETINGS_HOST = 48,
};

struct stage {
    struct synthesise base;
    struct opencl *opencl;
    transform_t *transform;
    cl_kernel fir;
    cl_mem coeff;
    uint32_t rows; /* of a work-item */
    int is_unrolled;
    uint64_t tile; /* spectra that are transformed at a time */
    struct stopwatch watch;
};

static void opencl_synthesise_destroy(void *synthesise)
{
    struct stage *stage = synthesise;
    device_t *device = stage->opencl->device;
    clFinish(device->compute);
    transform_destroy(stage->transform);
    LAUNCH_RELEASE(stage->fir);
    DEVICE_RELEASE(device, stage->coeff);
    stopwatch_free(&stage->watch);
}

static uint64_t synthesise_length(const struct synthesise_spec *spec)
{
    return (uint64_t)spec->taps * spec->points;
}

/* Returns the largest number of spectra that a row is made of. */
static uint64_t synthesise_reach(const struct synthesise_spec *spec)
{
    return ceil_div_u64(synthesise_length(spec), spec->hop);
}

/* Spectra of a tile: what `bytes` hold, but no more than a run needs, and some times what two
 * neighbouring tiles share: k hop rows are made of k + reach spectra at most. */
static uint64_t synthesise_tile(const struct synthesise_spec *spec, uint64_t bytes)
{
    enum { SHARES = 4 };
    const uint64_t reach = synthesise_reach(spec);
    const uint64_t room = bytes / ((uint64_t)spec->nstreams * spec->points * COMPLEX_BYTES);
    return min_u64(max_u64(room, SHARES * reach),
                   ceil_div_u64(max_u64(spec->max_rows, 1), spec->hop) + reach);
}

static uint64_t synthesise_tile_bytes(const device_t *device)
{
    const uint64_t least = (uint64_t)TILE_LEAST << 20, most = (uint64_t)TILE_MOST << 20;
    const uint64_t share = min_u64(device->room / TILE_SHARE, most);
    return device->info.is_gpu ? max_u64(share, least) : (uint64_t)TILE_HOST << 20;
}

static status_t synthesise_put_coefficients(struct stage *stage)
{
    const struct synthesise_spec *spec = &stage->base.spec;
    const uint64_t length = synthesise_length(spec);
    float *table = NULL;
    TRY(memory_aligned(length, sizeof *table, "coefficients", &table));
    for (uint64_t i = 0; i < length; i++) {
        table[i] = (float)spec->coeff[i];
    }
    return device_put_table(stage->opencl->device, table, length * sizeof *table, "coefficients",
                            &stage->coeff);
}

/* As many rows an item as can be unrolled; one of very many taps. */
static void synthesise_settle_rows(struct stage *stage)
{
    const struct synthesise_spec *spec = &stage->base.spec;
    const uint64_t most = stage->opencl->device->info.is_gpu ? FIR_MEETINGS : FIR_MEETINGS_HOST;
    stage->rows = 2 * FIR_ROWS;
    do {
        stage->rows /= 2;
        const uint64_t span = synthesise_length(spec) + (stage->rows - 1) * (uint64_t)spec->points;
        stage->is_unrolled = ceil_div_u64(span, spec->hop) * stage->rows <= most;
    } while (!stage->is_unrolled && stage->rows > 1);
}

static status_t synthesise_build(struct stage *stage)
{
    static const enum program_source sources[] = {SOURCE_BUTTERFLIES, SOURCE_SYNTHESIS_FIR};
    const struct synthesise_spec *spec = &stage->base.spec;
    struct text options = {0};
    text_add(&options,
             "-DPOINTS=%u -DHOP=%u -DLENGTH=%llu -DSIGNED=%d -DIS_REAL_OUT=%d -DROWS=%u "
             "-DUNROLLED=%d -DFIR_WIDTH=%d",
             spec->points, spec->hop, (unsigned long long)synthesise_length(spec),
             transform_is_signed(stage->transform), spec->is_real_out != 0, stage->rows,
             stage->is_unrolled, (int)FIR_WIDTH);
    return launch_build(stage->opencl->device, sources, 2, &options, "synthesis_fir", &stage->fir);
}

static status_t opencl_synthesise_create(backend_t *backend, void *made)
{
    struct stage *stage = made;
    const struct synthesise_spec *spec = &stage->base.spec;
    struct opencl *opencl = (struct opencl *)backend;
    stage->opencl = opencl;
    stage->watch.is_on = spec->is_timed;
    stage->tile = synthesise_tile(spec, synthesise_tile_bytes(opencl->device));
    synthesise_settle_rows(stage);
    if (stage->base.spec.choice.backend != BACKEND_OPENCL) {
        TRY(opencl_synthesise_choose(backend, spec, &stage->base.spec.choice));
    }
    TRY(transform_create(opencl->device, &stage->base.spec, stage->tile, &stage->transform));
    TRY(synthesise_put_coefficients(stage));
    TRY(synthesise_build(stage));
    stage->base.spec.coeff = NULL;
    return STATUS_OK;
}

/* Return the first spectrum that row n is made of, and the last. */
static int64_t synthesise_first(const struct synthesise_spec *spec, int64_t n)
{
    const int64_t length = (int64_t)synthesise_length(spec);
    return overlap_floor(n - spec->first - length + spec->hop, spec->hop);
}

static int64_t synthesise_last(const struct synthesise_spec *spec, int64_t n)
{
    return overlap_floor(n - spec->first, spec->hop);
}

/* State of a run. */
struct progress {
    struct opencl_buffer *in, *out;
    const struct sample_input *input;
    const struct stage_run *run;
    uint64_t looked; /* places before it have been counted */
};

/* Transforms the spectra of places from .. to - 1 of the buffer, and counts what is missing among
 * those that were not looked at yet. */
static status_t synthesise_transform(struct stage *stage, struct progress *progress, uint64_t from,
                                     uint64_t to)
{
    const struct stage_run *run = progress->run;
    const uint64_t counted_end = min_u64(run->counted_first + run->counted, to);
    const uint64_t counted_first = max_u64(max_u64(run->counted_first, progress->looked), from);
    const struct transform_block block = {
        .in = progress->in->memory,
        .input = progress->input,
        .nstreams = run->streams.count,
        .from = from,
        .count = to - from,
        .counted_first = counted_first,
        .counted = counted_end > counted_first ? counted_end - counted_first : 0};
    TRY(transform_run(stage->transform, &stage->watch, &block));
    progress->looked = max_u64(progress->looked, to);
    return STATUS_OK;
}

/* Places that hold spectra which no row needed, but which are to be counted. */
static status_t synthesise_count_rest(struct stage *stage, struct progress *progress, uint64_t end)
{
    const struct stage_run *run = progress->run;
    end = min_u64(end, run->counted_first + run->counted);
    for (uint64_t at = max_u64(progress->looked, run->counted_first); at < end;) {
        const uint64_t to = min_u64(at + stage->tile, end);
        TRY(synthesise_transform(stage, progress, at, to));
        at = to;
    }
    return STATUS_OK;
}

/* Rows `at` .. `at + count - 1` of the run, which one tile is enough for. */
static status_t synthesise_piece(struct stage *stage, struct progress *progress, uint64_t at,
                                 uint64_t count)
{
    const struct synthesise_spec *spec = &stage->base.spec;
    const struct stage_run *run = progress->run;
    const int64_t n = run->first_row + (int64_t)at;
    const int64_t length = (int64_t)synthesise_length(spec);
    const int64_t wanted = synthesise_first(spec, n);
    const int64_t first = wanted - run->first_sample; /* its place in the buffer */
    const int64_t end = synthesise_last(spec, n + (int64_t)count - 1) - run->first_sample + 1;
    const uint64_t from = first > 0 ? min_u64((uint64_t)first, run->samples) : 0;
    const uint64_t to = end > (int64_t)from ? min_u64((uint64_t)end, run->samples) : from;
    const uint32_t turned =
        (uint32_t)((n % spec->points + spec->points + (int64_t)(spec->turn % spec->points)) %
                   spec->points);
    const uint64_t across = ceil_div_u64(spec->points, FIR_WIDTH);
    const uint64_t down = ceil_div_u64(count, (uint64_t)stage->rows * spec->points);
    const struct launch_size size = {(size_t)(across * down * run->streams.count), FIR_WIDTH};
    const cl_long base = first - (int64_t)from;
    const cl_uint rest = (cl_uint)(n - spec->first - length + spec->hop - wanted * spec->hop);
    TRY(synthesise_count_rest(stage, progress, from));
    TRY(synthesise_transform(stage, progress, from, to));
    return LAUNCH(stage->opencl->device, stage->fir, size, &stage->watch, STEP_FILTER,
                  ARGUMENT(stage->transform->u), ARGUMENT_ULONG(to - from),
                  ARGUMENT_UINT(run->streams.count), ARGUMENT(stage->coeff), ARGUMENT(base),
                  ARGUMENT(rest), ARGUMENT_UINT(turned), ARGUMENT(progress->out->memory),
                  ARGUMENT_ULONG(at), ARGUMENT_ULONG(run->out_stride), ARGUMENT_ULONG(count));
}

static status_t synthesise_pieces(struct stage *stage, struct progress *progress)
{
    const struct synthesise_spec *spec = &stage->base.spec;
    const struct stage_run *run = progress->run;
    /* Whole items, where there is room for some. */
    const uint64_t grain = (uint64_t)stage->rows * spec->points;
    const uint64_t most = (stage->tile - synthesise_reach(spec)) * spec->hop;
    const uint64_t piece = most > grain ? most / grain * grain : most;
    for (uint64_t at = 0; at < run->rows; at += piece) {
        TRY(synthesise_piece(stage, progress, at, min_u64(piece, run->rows - at)));
    }
    return synthesise_count_rest(stage, progress, run->samples);
}

static status_t opencl_synthesise_run(void *synthesise, buffer_t *in_buffer,
                                      const struct sample_input *input, const struct stage_run *run,
                                      buffer_t *out_buffer)
{
    struct stage *stage = synthesise;
    const struct synthesise_spec *spec = &stage->base.spec;
    struct opencl_buffer *in = (struct opencl_buffer *)in_buffer;
    struct progress progress = {in, (struct opencl_buffer *)out_buffer, input, run, 0};
    const uint64_t extent =
        run->samples > 0 ? deinterleave_extent(&spec->coding, input,
                                               run->streams.count * spec->channels, run->samples)
                         : 0;
    const uint64_t row_bytes = spec->is_real_out ? sizeof(float) : COMPLEX_BYTES;
    const uint64_t bytes = ((run->streams.count - 1) * run->out_stride + run->rows) * row_bytes;
    TRY(opencl_block_begin(in, extent, &out_buffer, 1, &stage->watch));
    TRY(synthesise_pieces(stage, &progress));
    TRY(in->use == BUFFER_IN ? transform_fetch(stage->transform, in->counts, &in->counted)
                             : STATUS_OK);
    return opencl_block_end(in, &out_buffer, &bytes, 1, &stage->watch);
}

static uint64_t opencl_synthesise_bytes(const struct synthesise_spec *spec)
{
    return synthesise_length(spec) * sizeof(float) +
           (uint64_t)spec->nstreams * spec->channels * 2 * sizeof(cl_ulong);
}

static uint64_t opencl_synthesise_device_bytes(const struct synthesise_spec *spec)
{
    return transform_bytes(spec, synthesise_tile(spec, (uint64_t)TILE_MOST << 20)) +
           synthesise_length(spec) * sizeof(float);
}

OPENCL_TIMES(opencl_synthesise_times)

static const char *opencl_synthesise_limit(uint32_t points, uint64_t ncoeff)
{
    return ncoeff > INT32_MAX / 2 ? "filters of less than 2^30 samples" : fft_limit(points);
}

const struct synthesise_ops opencl_synthesise = {
    .stage = {sizeof(struct stage), opencl_synthesise_create, opencl_synthesise_destroy,
              opencl_synthesise_times, opencl_synthesise_run},
    .bytes = {opencl_synthesise_bytes, opencl_synthesise_device_bytes},
    .limit = opencl_synthesise_limit,
    .choose = opencl_synthesise_choose,
    .words = opencl_synthesise_words};
