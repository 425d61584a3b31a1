/* Building and launching a kernel, with its name in what goes wrong. */
#include "compute/opencl/launch.h"

status_t launch_build(const device_t *device, const enum program_source *sources, uint32_t count,
                      const char *options, const char *name, cl_kernel *out)
{
    status_t st = STATUS_OK;
    cl_program program = NULL;
    TRY(program_build(device, sources, count, options, &program));
    TRY(program_kernel(device, program, name, out));
out:
    if (program) {
        clReleaseProgram(program); /* the kernel holds on to it */
    }
    return st;
}

void launch_release(cl_kernel kernel)
{
    if (kernel) {
        clReleaseKernel(kernel);
    }
}

static status_t launch_fail(const device_t *device, cl_kernel kernel, cl_int error,
                            const char *what)
{
    char name[64] = "?";
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    return report_fail(STATUS_DEVICE, "OpenCL device %s: cannot %s kernel %s: %s",
                       device->info.name, what, name, device_error_name(error));
}

status_t launch_kernel(const device_t *device, cl_kernel kernel, struct launch_size size,
                       struct stopwatch *watch, enum channelise_step step,
                       const struct launch_argument *arguments)
{
    status_t st = STATUS_OK;
    cl_event *timed = NULL;
    const size_t global = size.groups * size.items;
    cl_int error = CL_SUCCESS;
    for (cl_uint i = 0; arguments[i].size > 0 && error == CL_SUCCESS; i++) {
        error = clSetKernelArg(kernel, i, arguments[i].size, arguments[i].value);
    }
    if (error != CL_SUCCESS) {
        TRY(launch_fail(device, kernel, error, "set the arguments of"));
    }
    TRY(stopwatch_event(watch, step, &timed));
    error = clEnqueueNDRangeKernel(device->compute, kernel, 1, NULL, &global, &size.items, 0, NULL,
                                   timed);
    if (error != CL_SUCCESS) {
        TRY(launch_fail(device, kernel, error, "launch"));
    }
out:
    return st;
}
