/* Kernels: built by name, and launched with all their arguments in one call. */
#ifndef VOLTMILL_COMPUTE_OPENCL_LAUNCH_H
#define VOLTMILL_COMPUTE_OPENCL_LAUNCH_H

#include "compute/opencl/program.h"
#include "compute/opencl/stopwatch.h"

/* Builds a program, see program_build(), and takes one kernel of it. Fails with DEVICE. */
status_t launch_build(const device_t *device, const enum program_source *sources, uint32_t count,
                      const char *options, const char *name, cl_kernel *out);
/* Takes NULL. */
void launch_release(cl_kernel kernel);

/* What a kernel gets, in its order. ARGUMENT() takes what has an address, a cl_mem or a variable of
 * the kernel's type; the others take any number. */
struct launch_argument {
    const void *value;
    size_t size; /* 0: behind the last one */
};
#define ARGUMENT(variable)                                                                         \
    {                                                                                              \
        &(variable), sizeof(variable)                                                              \
    }
#define ARGUMENT_ULONG(number)                                                                     \
    {                                                                                              \
        &(const cl_ulong){(number)}, sizeof(cl_ulong)                                              \
    }
#define ARGUMENT_UINT(number)                                                                      \
    {                                                                                              \
        &(const cl_uint){(number)}, sizeof(cl_uint)                                                \
    }

/* Launches are one-dimensional: only the first dimension of a grid is large on every device. */
struct launch_size {
    size_t groups, items; /* work-groups, and work-items of each */
};

/* Enqueues a kernel behind what is in `device->compute`; the watch counts its time as `step` (NULL:
 * nobody asks). Fails with DEVICE, says which kernel. */
status_t launch_kernel(const device_t *device, cl_kernel kernel, struct launch_size size,
                       struct stopwatch *watch, enum channelise_step step,
                       const struct launch_argument *arguments);
#define LAUNCH(device, kernel, size, watch, step, ...)                                             \
    launch_kernel((device), (kernel), (size), (watch), (step),                                     \
                  (const struct launch_argument[]){__VA_ARGS__, {NULL, 0}})

#endif
