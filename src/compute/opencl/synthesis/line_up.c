/* The kernel of kernels/synthesis/synthesis_rows.cl, and the tables of offsets that it reads. */
#include "compute/opencl/synthesis/line_up.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/program.h"

#include <stdlib.h>

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

void line_up_destroy(line_up_t *line_up)
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

status_t line_up_create(device_t *device, const struct synthesise_spec *spec, int is_ascending,
                        line_up_t **out)
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

status_t line_up_run(line_up_t *line_up, struct stopwatch *watch,
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

cl_mem line_up_found(const line_up_t *line_up)
{
    return line_up->found;
}

status_t line_up_fetch(line_up_t *line_up, cl_ulong *counts, cl_event *done)
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
