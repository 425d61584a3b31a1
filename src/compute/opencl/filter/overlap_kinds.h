/* The transforms that the fused overlap-save kernels have: kernels/filter/filter_fused.cl, and in
 * rows kernels/filter/filter_rows.cl. Pure functions. */
#ifndef VOLTMILL_COMPUTE_OPENCL_FILTER_OVERLAP_KINDS_H
#define VOLTMILL_COMPUTE_OPENCL_FILTER_OVERLAP_KINDS_H

#include "compute/opencl/filter/filter_parts.h"
#include "compute/opencl/filter/overlap_tables.h"

struct overlap_kind {
    uint32_t length, values;        /* of a transform; of a work-item */
    uint32_t radix[OVERLAP_STAGES]; /* of length / rows points */
    uint32_t rows;                  /* 1: all in one kernel */
    uint32_t teams;                 /* of work-items, in a group */
    uint32_t pad, parts;            /* see kernels/filter/scrambled.cl */
    uint32_t registers;             /* NVIDIA; 0: as the compiler likes */
    double cost;                    /* of a point, in time */
};

/* Of a shape; NULL: there is none. */
const struct overlap_kind *overlap_kind(const struct filter_shape *shape);
/* Work-items of a group. */
uint32_t overlap_kind_width(const struct overlap_kind *kind);
struct overlap_stages overlap_kind_stages(const struct overlap_kind *kind);

/* Of struct filter_way. */
int overlap_kind_can(const struct filter_spec *spec, const struct filter_shape *shape,
                     const struct device_info *device);
void overlap_kind_settle(const struct filter_spec *spec, struct filter_shape *shape);

#endif
