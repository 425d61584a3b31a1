/* Tables of kernels/filter/scrambled.cl: factors of its stages, and responses in its order of
 * frequencies. Pure numbers. */
#ifndef VOLTMILL_COMPUTE_OPENCL_FILTER_OVERLAP_TABLES_H
#define VOLTMILL_COMPUTE_OPENCL_FILTER_OVERLAP_TABLES_H

#include <stddef.h>
#include <stdint.h>

enum { OVERLAP_STAGES = 4 };

/* A transform in stages; the radix of those that are not there is 1. */
struct overlap_stages {
    uint32_t points;
    uint32_t radix[OVERLAP_STAGES];
    uint32_t first_blocks; /* rows of a longer one, this many beside each other; 1: it is whole */
    uint32_t spread;       /* columns of a longer one: from a point to the next; 1 */
};

uint32_t overlap_stage_count(const struct overlap_stages *stages);
/* Complex numbers of the kernel's `factors`, and they themselves. */
size_t overlap_factor_count(const struct overlap_stages *stages);
void overlap_factors(const struct overlap_stages *stages, float (*out)[2]);

/* Where each of points x first_blocks frequencies of a response stands in the kernels' `table`. */
void overlap_places(const struct overlap_stages *stages, uint32_t *out);

#endif
