/* Transforms of neighbouring columns side by side: a vector holds one number of each, so every
 * operation serves all of them, nothing is shuffled, and nothing is planned.
 *
 * Decimation in frequency, in place, by stages of eight and four (Cooley and Tukey 1965): a stage
 * of radix r and span n takes numbers j + q n / r of each block of n, for q < r, transforms them,
 * and multiplies what becomes number j of block k of n / r by w(n, j k) = exp(-2 pi i j k / n).
 * What comes out lies in the order of reversed digits. */
#ifndef VOLTMILL_COMPUTE_CPU_FFT_SIDE_FFT_H
#define VOLTMILL_COMPUTE_CPU_FFT_SIDE_FFT_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { SIDE_STAGES = 6, SIDE_LEAST = 16, SIDE_MOST = 8192 };

struct side_stage {
    size_t radix, span;
    const float *factors; /* [span / radix][radix - 1] pairs w(span, j k), k = 1 .. radix - 1 */
};

struct side_fft {
    size_t points, nstages;
    struct side_stage stages[SIDE_STAGES];
    uint32_t *order; /* [points] where bin k lies behind the last stage */
    float *factors;  /* of all stages */
};

/* Whether there are such transforms of so many points: powers of two from SIDE_LEAST to SIDE_MOST.
 */
int side_fft_serves(size_t points);
/* Fails with DEVICE. */
status_t side_fft_create(size_t points, struct side_fft *out);
/* Of zeros, too. */
void side_fft_free(struct side_fft *fft);

#endif
