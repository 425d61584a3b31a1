/* The space of shapes of the dedispersion kernel, for a problem on a device. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_SPACE_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_SPACE_H

#include "compute/opencl/dedisperse/dedisperse_shape.h"

/* Returns whether a shape fits the problem and the device: 1, or 0 and the reason in *why. *cost:
 * seconds by a model, for comparison only. *known: spans of an earlier shape, or {0}; becomes those
 * of this one. */
int dedisperse_space_fits(const struct dedisperse_shape_problem *problem,
                          const struct device_info *device, const struct dedisperse_shape *shape,
                          struct dedisperse_shape_spans *known, double *cost, const char **why);

/* Lists all shapes of the space that fit, in any order; free() returns them. At least one. Fails
 * with DEVICE (memory). */
status_t dedisperse_space_candidates(const struct dedisperse_shape_problem *problem,
                                     const struct device_info *device,
                                     struct dedisperse_candidate **out, uint32_t *count);

/* Returns the shape with the lowest cost. */
struct dedisperse_shape dedisperse_space_best(const struct dedisperse_shape_problem *problem,
                                              const struct device_info *device);

#endif
