/* The dedispersion kernel in one shape, with its tables on the device. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_KERNEL_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_KERNEL_H

#include "compute/opencl/dedisperse/dedisperse_shape.h"
#include "compute/opencl/program.h"

typedef struct dedisperse_kernel dedisperse_kernel_t;

/* Creates the kernel. The problem's arrays may be freed afterwards. Fails with USAGE (an impossible
 * shape, with the reason), DEVICE (memory; a kernel that does not compile). */
status_t dedisperse_kernel_create(device_t *device, const struct dedisperse_shape_problem *problem,
                                  const struct dedisperse_shape *shape, dedisperse_kernel_t **out);
/* Compiles it into the cache, no more. Any number of threads may do so at once. Fails with USAGE,
 * DEVICE (memory). */
status_t dedisperse_kernel_build(device_t *device, const struct dedisperse_shape_problem *problem,
                                 const struct dedisperse_shape *shape);
void dedisperse_kernel_destroy(dedisperse_kernel_t *kernel);

/* Returns the shape of the kernel, which lives as long as the kernel. */
const struct dedisperse_shape *dedisperse_kernel_shape(const dedisperse_kernel_t *kernel);

/* dedisperse_kernel_front(): samples that rows must have before time 0. dedisperse_kernel_slack():
 * samples after the last input of the outputs. */
uint32_t dedisperse_kernel_front(const dedisperse_kernel_t *kernel);
uint64_t dedisperse_kernel_slack(const dedisperse_kernel_t *kernel);

/* Enqueues range number `range` of the DMs.
 *
 *   rows   [nrows + 1][row_stride]   dedisperse_kernel_front() samples, then time 0; row nrows is
 *                                    zero; row_stride samples, a multiple of 4
 *   out    float [ndms][out_stride]
 *
 * Fails with DEVICE. */
status_t dedisperse_kernel_run(dedisperse_kernel_t *kernel, struct stopwatch *watch, cl_mem rows,
                               uint64_t row_stride, uint64_t samples, uint32_t range, cl_mem out,
                               uint64_t out_stride);

#endif
