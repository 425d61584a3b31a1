/* Which work-group of kernels/correlate.cl makes which pairs. */
#ifndef VOLTMILL_COMPUTE_OPENCL_CORRELATE_GROUPS_H
#define VOLTMILL_COMPUTE_OPENCL_CORRELATE_GROUPS_H

#include "compute/opencl/device.h"
#include "compute/shared/correlate_table.h"

/* Constants of the kernel: see there. */
struct correlate_shape {
    uint32_t slots, columns, members;
};

/* Tables of the kernel. */
struct correlate_groups {
    struct correlate_shape shape;
    uint32_t count;
    cl_uint *members; /* [count][members] */
    cl_uint *slots;   /* [count][slots] */
    cl_int *pairs;    /* [count][slots][correlate_groups_pairs()] */
};

/* Returns the pairs of stations of a slot. */
uint32_t correlate_groups_pairs(const struct correlate_spec *spec);

/* Packs blocks of pairs into as few groups as a greedy search finds. Fails with DEVICE (memory). */
status_t correlate_groups_make(const struct correlate_spec *spec, int is_gpu,
                               struct correlate_groups *out);
void correlate_groups_free(struct correlate_groups *groups);

/* Returns the bytes of the tables, and of making them, from above. */
uint64_t correlate_groups_bytes(const struct correlate_spec *spec);

#endif
