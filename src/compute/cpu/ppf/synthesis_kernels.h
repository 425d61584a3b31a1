/* The inner loop of the CPU's synthesis, compiled once for each instruction set. */
#ifndef VOLTMILL_COMPUTE_CPU_SYNTHESIS_SYNTHESIS_KERNELS_H
#define VOLTMILL_COMPUTE_CPU_SYNTHESIS_SYNTHESIS_KERNELS_H

#include "compute/cpu/ppf/kernels.h"

/* Sums are cut into pieces of this many spectra, which are then added: a float sum over hundreds
 * would lose the digits that the transforms keep. */
enum { SYNTHESIS_PIECE = 64 };

/* out[i] = sum_s coeff[i - s hop] rows[s][column + i], s ascending, i < count.
 *
 *   rows    [spectra] of transformed spectra, numbers or pairs
 *   coeff   g for row 0 and spectrum 0: it goes back by `hop` from spectrum to spectrum
 *
 * Up to MOST_LANES - 1 numbers, or pairs, after the requested ones are read from rows and coeff. */
struct synthesis_sums {
    const float *const *rows;
    const float *coeff;
    size_t column, hop, spectra, count;
    float *out;
};

struct synthesis_kernels {
    void (*sum[2])(const struct synthesis_sums *sums); /* of numbers, of pairs */
};

/* Returns the constant kernels of an instruction set, not to be freed; NULL if this machine or this
 * build lacks it. */
const struct synthesis_kernels *synthesis_kernels(enum simd_level level);

#endif
