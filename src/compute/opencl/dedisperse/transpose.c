#include "compute/opencl/dedisperse/transpose.h"

#include "base/memory.h"
#include "compute/opencl/program.h"

#include <stdlib.h>

enum { SIDE = 32, ORDER_GROUP = 256 /* as in kernels/order.cl */ };

struct transpose {
    device_t *device;
    const struct dispersion_steps *steps;
    size_t sample_bytes;
    int is_float;
    uint32_t nused;
    cl_program program;
    cl_kernel order, sub_bands;
    cl_mem channels, ends, inner;
};

void transpose_destroy(transpose_t *orderer)
{
    if (!orderer) {
        return;
    }
    if (orderer->order) {
        clReleaseKernel(orderer->order);
    }
    if (orderer->sub_bands) {
        clReleaseKernel(orderer->sub_bands);
    }
    if (orderer->program) {
        clReleaseProgram(orderer->program);
    }
    device_release(orderer->device, orderer->channels);
    device_release(orderer->device, orderer->ends);
    device_release(orderer->device, orderer->inner);
    free(orderer);
}

static status_t transpose_put(device_t *device, const uint32_t *table, size_t count, cl_mem *out)
{
    status_t st = STATUS_OK;
    TRY(device_allocate(device, count * sizeof *table, "tables of dedispersion", out));
    CL_TRY(device,
           clEnqueueWriteBuffer(device->compute, *out, CL_TRUE, 0, count * sizeof *table, table, 0,
                                NULL, NULL),
           "bring tables to the device");
out:
    return st;
}

static status_t transpose_build(transpose_t *orderer)
{
    status_t st = STATUS_OK;
    struct text options = {0};
    const device_t *device = orderer->device;
    const enum program_source source = SOURCE_ORDER;
    TRY(text_add(&options, "-DSAMPLE=%zu -DFLOATS=%d", orderer->sample_bytes, orderer->is_float));
    TRY(program_build(device, &source, 1, options.data, &orderer->program));
    TRY(program_kernel(device, orderer->program, "order", &orderer->order));
    if (orderer->steps) {
        TRY(program_kernel(device, orderer->program, "sub_bands", &orderer->sub_bands));
    }
out:
    text_free(&options);
    return st;
}

status_t transpose_create(device_t *device, const struct dedisperse_spec *spec,
                          const struct dedisperse_table *table, transpose_t **out)
{
    status_t st = STATUS_OK;
    transpose_t *orderer = NULL;
    TRY(memory_zeroed(1, sizeof *orderer, "channels' order", &orderer));
    orderer->device = device;
    orderer->steps = spec->steps;
    orderer->sample_bytes = series_bytes(spec->format);
    orderer->is_float = spec->format == SERIES_F32;
    orderer->nused = table->nused;
    TRY(transpose_build(orderer));
    TRY(transpose_put(device, table->channels, table->nused, &orderer->channels));
    if (spec->steps) {
        TRY(transpose_put(device, table->ends, table->ngroups, &orderer->ends));
        TRY(transpose_put(device, table->delays, (size_t)table->nrows * table->nused,
                          &orderer->inner));
    }
    *out = orderer;
    orderer = NULL;
out:
    transpose_destroy(orderer);
    return st;
}

struct argument {
    size_t size;
    const void *value;
};

static status_t transpose_launch(const transpose_t *orderer, struct stopwatch *watch,
                                 cl_kernel kernel, const struct argument *arguments, cl_uint count,
                                 uint64_t groups, enum channelise_step step, const char *what)
{
    status_t st = STATUS_OK;
    const device_t *device = orderer->device;
    size_t local = ORDER_GROUP;
    size_t global = (size_t)groups * local;
    cl_event *timed = NULL;
    for (cl_uint i = 0; i < count; i++) {
        CL_TRY(device, clSetKernelArg(kernel, i, arguments[i].size, arguments[i].value),
               "set arguments");
    }
    TRY(stopwatch_event(watch, step, &timed));
    CL_TRY(
        device,
        clEnqueueNDRangeKernel(device->compute, kernel, 1, NULL, &global, &local, 0, NULL, timed),
        what);
out:
    return st;
}

status_t transpose_run(transpose_t *orderer, struct stopwatch *watch, cl_mem in,
                       const struct dedisperse_input *input, uint64_t times, cl_mem rows,
                       uint64_t row_stride, uint64_t front)
{
    const size_t bytes = orderer->sample_bytes;
    const cl_ulong offset = input->offset / bytes;
    const cl_ulong time_step = input->time_step / bytes;
    const cl_ulong channel_step = input->channel_step / bytes;
    const cl_uint nused = orderer->nused;
    const cl_ulong count = times;
    const cl_ulong stride = row_stride;
    const cl_ulong lead = front;
    const cl_uint squares = (cl_uint)ceil_div_u64(nused, SIDE);
    const cl_uint by_time = channel_step < time_step;
    const struct argument arguments[] = {{sizeof in, &in},
                                         {sizeof offset, &offset},
                                         {sizeof time_step, &time_step},
                                         {sizeof channel_step, &channel_step},
                                         {sizeof orderer->channels, &orderer->channels},
                                         {sizeof nused, &nused},
                                         {sizeof count, &count},
                                         {sizeof rows, &rows},
                                         {sizeof stride, &stride},
                                         {sizeof lead, &lead},
                                         {sizeof squares, &squares},
                                         {sizeof by_time, &by_time}};
    return transpose_launch(orderer, watch, orderer->order, arguments,
                            sizeof arguments / sizeof *arguments,
                            squares * ceil_div_u64(times, SIDE), STEP_DEAL, "run order");
}

status_t transpose_sub_bands(transpose_t *orderer, struct stopwatch *watch, uint32_t k,
                             uint64_t samples, cl_mem rows, uint64_t row_stride, cl_mem sub,
                             uint64_t sub_stride, uint64_t sub_front)
{
    const struct dispersion_steps *steps = orderer->steps;
    const cl_ulong stride = row_stride;
    const cl_ulong front = 0;
    const cl_ulong from = (cl_ulong)k * orderer->nused;
    const cl_uint ngroups = steps->ngroups;
    const cl_ulong out_stride = sub_stride;
    const cl_ulong out_front = sub_front;
    cl_ulong reach = 0;
    for (size_t i = (size_t)steps->first[k] * ngroups; i < (size_t)steps->first[k + 1] * ngroups;
         i++) {
        reach = steps->outer[i] > reach ? steps->outer[i] : reach;
    }
    const cl_ulong times = samples + reach;
    const cl_uint pieces = (cl_uint)ceil_div_u64(times, ORDER_GROUP);
    const struct argument arguments[] = {{sizeof rows, &rows},
                                         {sizeof stride, &stride},
                                         {sizeof front, &front},
                                         {sizeof orderer->ends, &orderer->ends},
                                         {sizeof orderer->inner, &orderer->inner},
                                         {sizeof from, &from},
                                         {sizeof ngroups, &ngroups},
                                         {sizeof times, &times},
                                         {sizeof sub, &sub},
                                         {sizeof out_stride, &out_stride},
                                         {sizeof out_front, &out_front},
                                         {sizeof pieces, &pieces}};
    return transpose_launch(orderer, watch, orderer->sub_bands, arguments,
                            sizeof arguments / sizeof *arguments, (uint64_t)pieces * ngroups,
                            STEP_FILTER, "run sub_bands");
}
