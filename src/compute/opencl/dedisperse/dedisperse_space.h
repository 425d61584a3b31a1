/* The space of shapes of the dedispersion kernel, for a problem on a device. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_SPACE_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_SPACE_H

#include "compute/opencl/dedisperse/dedisperse_shape.h"

/* Returns whether a shape fits the problem and the device: 1 (*why is NULL), or 0 and the reason in
 * *why, a constant text, "out of memory" among them (report_cause() is cleared). For a tree, only
 * some tiles of DMs are examined: tree_tables_create() may find that others do not fit. *cost:
 * seconds by a model, for comparison only; INFINITY if it does not fit. *known: {0}, or spans of an
 * earlier shape for the same problem; becomes those of this shape if it fits, else one of both. */
int dedisperse_space_fits(const struct dedisperse_shape_problem *problem,
                          const struct device_info *device, const struct dedisperse_shape *shape,
                          struct dedisperse_shape_spans *known, double *cost, const char **why);

/* Lists the sensible shapes of the space that fit, *count of them in any order; free() returns
 * *out. Shapes of brute force are listed for every mode; trees unless the mode is BRUTE or there
 * are several ranges. Fails with DEVICE (memory), and leaves both unchanged. */
status_t dedisperse_space_candidates(const struct dedisperse_shape_problem *problem,
                                     const struct device_info *device,
                                     struct dedisperse_candidate **out, uint32_t *count);

/* Returns the shape with the lowest cost: of brute force; in mode TREE of trees, if one fits; in
 * mode AUTO of both, on a GPU and with one range. If none fits, returns the smallest shape of brute
 * force, which every device can run. */
struct dedisperse_shape dedisperse_space_best(const struct dedisperse_shape_problem *problem,
                                              const struct device_info *device);

#endif
