/* Spectra lined up, where they must be, and transformed by a library or by the fused kernel. */
#include "compute/opencl/synthesis/transform.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/program.h"
#include "compute/opencl/synthesis/fused_points.h"

#include <stdlib.h>

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

static status_t line_up_options(const line_up_t *line_up, struct text *out)
{
    status_t st = STATUS_OK;
    const struct synthesise_spec *spec = &line_up->spec;
    const uint32_t first_point =
        (uint32_t)((spec->first_point + (int64_t)spec->points) % spec->points);
    TRY(deinterleave_options(&spec->coding, out));
    TRY(missing_options(&spec->coding, out));
    TRY(text_add(out, " -DPOINTS=%u -DCHANNELS_IN=%u -DFIRST_POINT=%u -DIS_REAL_OUT=%d",
                 spec->points, spec->channels, line_up->is_ascending ? 0 : first_point,
                 spec->is_real_out != 0));
    TRY(text_add(out, " -DALONG_TIME=%d -DALIGNED=%d -DLOOKS=%d -DWIDTH=%d", line_up->is_along_time,
                 line_up->is_aligned, !spec->coding.is_made, (int)WIDTH));
out:
    return st;
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
    TRY(line_up_options(line_up, &options));
    TRY(launch_build(line_up->device, sources, 3, options.data, "synthesis_rows",
                     &line_up->kernel));
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

enum { COMPLEX_BYTES = 2 * sizeof(float) };

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
