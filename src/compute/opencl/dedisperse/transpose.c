/* Two kernels of one program, and their tables on the device. */
#include "compute/opencl/dedisperse/transpose.h"

#include "base/memory.h"
#include "compute/opencl/program.h"

#include <stdlib.h>

enum { SIDE = 32, GROUP = 256 /* as in kernels/transpose.cl */ };

struct transpose {
    device_t *device;
    const struct subbands *steps;
    size_t sample_bytes;
    int is_float;
    uint32_t nused;
    cl_kernel samples, sub_bands;
    cl_mem channels, ends, inner;
};

void transpose_destroy(transpose_t *transpose)
{
    if (!transpose) {
        return;
    }
    launch_release(transpose->samples);
    launch_release(transpose->sub_bands);
    device_release(transpose->device, transpose->channels);
    device_release(transpose->device, transpose->ends);
    device_release(transpose->device, transpose->inner);
    free(transpose);
}

static status_t transpose_build(transpose_t *transpose)
{
    status_t st = STATUS_OK;
    struct text options = {0};
    cl_program program = NULL;
    const device_t *device = transpose->device;
    const enum program_source source = SOURCE_TRANSPOSE;
    TRY(text_add(&options, "-DSAMPLE=%zu -DFLOATS=%d", transpose->sample_bytes,
                 transpose->is_float));
    TRY(program_build(device, &source, 1, options.data, &program));
    TRY(program_kernel(device, program, "transpose", &transpose->samples));
    if (transpose->steps) {
        TRY(program_kernel(device, program, "sub_bands", &transpose->sub_bands));
    }
out:
    if (program) {
        clReleaseProgram(program);
    }
    text_free(&options);
    return st;
}

status_t transpose_create(device_t *device, const struct dedisperse_spec *spec,
                          const struct dedisperse_table *table, transpose_t **out)
{
    status_t st = STATUS_OK;
    static const char tables[] = "tables of dedispersion";
    transpose_t *transpose = NULL;
    TRY(memory_zeroed(1, sizeof *transpose, "transposed samples", &transpose));
    transpose->device = device;
    transpose->steps = spec->steps;
    transpose->sample_bytes = series_bytes(spec->format);
    transpose->is_float = spec->format == SERIES_F32;
    transpose->nused = table->nused;
    TRY(transpose_build(transpose));
    TRY(device_put(device, table->channels, table->nused * sizeof *table->channels, tables,
                   &transpose->channels));
    if (spec->steps) {
        TRY(device_put(device, table->ends, table->ngroups * sizeof *table->ends, tables,
                       &transpose->ends));
        TRY(device_put(device, table->delays,
                       (size_t)table->nrows * table->nused * sizeof *table->delays, tables,
                       &transpose->inner));
    }
    *out = transpose;
    transpose = NULL;
out:
    transpose_destroy(transpose);
    return st;
}

status_t transpose_run(transpose_t *transpose, struct stopwatch *watch, cl_mem in,
                       const struct dedisperse_input *input, uint64_t times, cl_mem rows,
                       uint64_t row_stride, uint64_t front)
{
    const size_t bytes = transpose->sample_bytes;
    const uint64_t squares = ceil_div_u64(transpose->nused, SIDE);
    const struct launch_size size = {(size_t)(squares * ceil_div_u64(times, SIDE)), GROUP};
    return LAUNCH(
        transpose->device, transpose->samples, size, watch, STEP_DEINTERLEAVE, ARGUMENT(in),
        ARGUMENT_ULONG(input->offset / bytes), ARGUMENT_ULONG(input->time_step / bytes),
        ARGUMENT_ULONG(input->channel_step / bytes), ARGUMENT(transpose->channels),
        ARGUMENT_UINT(transpose->nused), ARGUMENT_ULONG(times), ARGUMENT(rows),
        ARGUMENT_ULONG(row_stride), ARGUMENT_ULONG(front), ARGUMENT_UINT((cl_uint)squares),
        ARGUMENT_UINT(input->channel_step / bytes < input->time_step / bytes));
}

status_t transpose_sub_bands(transpose_t *transpose, struct stopwatch *watch, uint32_t k,
                             uint64_t samples, cl_mem rows, uint64_t row_stride, cl_mem sub,
                             uint64_t sub_stride, uint64_t sub_front)
{
    const struct subbands *steps = transpose->steps;
    const size_t ngroups = steps->ngroups;
    uint64_t reach = 0;
    for (size_t i = steps->first[k] * ngroups; i < steps->first[k + 1] * ngroups; i++) {
        reach = max_u64(reach, steps->outer[i]);
    }
    const uint64_t times = samples + reach;
    const uint64_t pieces = ceil_div_u64(times, GROUP);
    const struct launch_size size = {(size_t)pieces * ngroups, GROUP};
    return LAUNCH(transpose->device, transpose->sub_bands, size, watch, STEP_FILTER, ARGUMENT(rows),
                  ARGUMENT_ULONG(row_stride), ARGUMENT_ULONG(0), ARGUMENT(transpose->ends),
                  ARGUMENT(transpose->inner), ARGUMENT_ULONG((uint64_t)k * transpose->nused),
                  ARGUMENT_UINT(steps->ngroups), ARGUMENT_ULONG(times), ARGUMENT(sub),
                  ARGUMENT_ULONG(sub_stride), ARGUMENT_ULONG(sub_front),
                  ARGUMENT_UINT((cl_uint)pieces));
}
