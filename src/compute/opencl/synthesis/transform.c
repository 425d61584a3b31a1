/* Spectra lined up, where they must be, and transformed by a library or by the fused kernel. */
#include "compute/opencl/synthesis/transform.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/synthesis/fused_points.h"
#include "compute/opencl/synthesis/line_up.h"

#include <stdlib.h>

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
