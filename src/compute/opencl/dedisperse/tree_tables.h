/* The tables of the tree kernel (kernels/dedisperse_tree.cl): which patterns each tile of DMs has.
 * No call of OpenCL: pure functions of the problem. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_TREE_TABLES_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_TREE_TABLES_H

#include "compute/opencl/dedisperse/dedisperse_shape.h"

/* As the kernel has them.
 *
 *   steps      uint32 [ntiles][nsteps][4]
 *   patterns   uint32 [npatterns][group + 1]
 *   starts     uint32 [ndms][nsteps * groups of a step]
 *   firsts     uint32 [ntiles + 1]
 *   made       elements that the largest step makes
 *   units      of all rows that one tile of time makes, for all tiles of DMs
 */
struct tree_tables {
    uint32_t ntiles, nsteps;
    uint32_t *steps, *patterns, *starts, *firsts;
    uint64_t npatterns, made, units;
};

/* `every`: of tiles only each so many-th is looked at (1: all): enough to say what a shape costs.
 * Fails with DEVICE (memory). */
status_t tree_tables_create(const struct dedisperse_shape_problem *problem,
                            const struct dedisperse_shape *shape,
                            const struct dedisperse_shape_spans *spans, uint32_t every,
                            struct tree_tables *out);
void tree_tables_free(struct tree_tables *tables);

/* Bytes of local memory for so many elements. */
uint64_t tree_tables_local_bytes(const struct dedisperse_shape *shape, uint64_t made);

/* Constants for the compiler. */
status_t tree_tables_options(const struct dedisperse_shape_problem *problem,
                             const struct dedisperse_shape *shape, const struct tree_tables *tables,
                             struct text *out);

#endif
