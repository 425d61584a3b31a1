/* How power is summed over time so that the result depends on nothing but the spectra's numbers.
 *
 * A float sum over many spectra would lose digits, and its value would depend on where blocks and
 * threads happen to cut. So a dump is cut into grains, at multiples of GRAIN spectra (counted from
 * the start of the observation) and at its own borders: a grain is summed in float in the order of
 * the spectra, the grains of a dump in double. Batches of work are cut at multiples of GRAIN, so
 * one thread sums a whole grain. */
#ifndef VOLTMILL_COMPUTE_SHARED_GRAINS_H
#define VOLTMILL_COMPUTE_SHARED_GRAINS_H

#include <stdint.h>

enum { GRAIN = 16 };

/* Returns an upper bound of the grains that `count` spectra touch, in dumps of `integrate` >= 1. */
static inline uint64_t grain_most(uint64_t count, uint64_t integrate)
{
    return count / GRAIN + count / integrate + 3;
}

#endif
