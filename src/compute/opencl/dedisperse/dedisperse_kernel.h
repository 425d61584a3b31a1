/* The dedispersion kernel in one shape, with its tables on the device. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_KERNEL_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_KERNEL_H

#include "compute/opencl/dedisperse/tree_tables.h"
#include "compute/opencl/program.h"

typedef struct dedisperse_kernel {
    device_t *device;
    struct dedisperse_shape_problem problem; /* without its arrays */
    struct dedisperse_shape shape;
    struct dedisperse_shape_spans spans;
    uint32_t *tiles; /* [nranges + 1] the first tile of each range */
    cl_kernel id;
    cl_mem rel, bases, firsts;
    /* Tables of a tree, and the kernel that folds rows into words, if it does: see
     * kernels/dedisperse_tree.cl. */
    struct tree_tables tree;
    cl_mem steps, tables, words, reaches;
    cl_kernel fold;
    uint64_t reach, word_stride; /* words of a row behind its tiles, at most, and all */
} dedisperse_kernel_t;

/* Creates the kernel. The problem's arrays may be freed afterwards. `out` NULL: compiles it into
 * the cache, no more; any number of threads may do so at once. Fails with USAGE (an impossible
 * shape, with the reason), DEVICE (memory; a kernel that does not compile). */
status_t dedisperse_kernel_create(device_t *device, const struct dedisperse_shape_problem *problem,
                                  const struct dedisperse_shape *shape, dedisperse_kernel_t **out);
void dedisperse_kernel_destroy(dedisperse_kernel_t *kernel);

/* Returns the samples after the last input of the outputs that rows must have. */
uint64_t dedisperse_kernel_slack(const dedisperse_kernel_t *kernel);

/* Enqueues range number `range` of the DMs.
 *
 *   rows   [nrows + 1][row_stride]   spans.front samples, then time 0; row nrows is
 *                                    zero; row_stride samples, a multiple of 4
 *   out    float [ndms][out_stride]
 *
 * Fails with DEVICE. */
status_t dedisperse_kernel_run(dedisperse_kernel_t *kernel, struct stopwatch *watch, cl_mem rows,
                               uint64_t row_stride, uint64_t samples, uint32_t range, cl_mem out,
                               uint64_t out_stride);

#endif
