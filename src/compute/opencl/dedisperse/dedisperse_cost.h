/* What a shape of the dedispersion kernel costs, by a model. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_COST_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_COST_H

#include "compute/opencl/dedisperse/dedisperse_shape.h"

/* Seconds, for comparison only; `local` bytes of local memory are what a group takes. */
double dedisperse_cost(const struct dedisperse_shape_problem *problem,
                       const struct device_info *device, const struct dedisperse_shape *shape,
                       const struct dedisperse_shape_spans *spans, uint64_t local);

#endif
