/* The inner loops of the CPU's beams, compiled once for each instruction set.
 *
 * Numbers of `lanes` neighbouring channels stand side by side: real parts, then imaginary ones,
 * float [2][lanes]; below, a number. */
#ifndef VOLTMILL_COMPUTE_CPU_BEAMS_BEAM_KERNELS_H
#define VOLTMILL_COMPUTE_CPU_BEAMS_BEAM_KERNELS_H

#include "compute/cpu/ppf/kernels.h"

enum { FMA_CHAINS = 12 };

/* Strides of a loop over `count` stations: input is `from` floats, output `to` floats apart. */
struct beam_row {
    size_t count, from, to;
};

/* Where a tile's sums go: `channels` <= lanes pairs of some spectra of some beams, `beam` and
 * `spectrum` floats apart. */
struct beam_place {
    float *pairs;
    size_t beam, spectrum;
    size_t beams, spectra, channels;
};

struct beam_kernels {
    size_t lanes;
    size_t beams, spectra; /* of a tile of sums */
    /* out = exp(2 pi i (turns[0] + k turns[1])) of channels k from `channel` on. */
    void (*turn)(const struct beam_row *row, const float *turns, uint32_t channel, float *out);
    /* Numbers *= factors, pairs. */
    void (*scale)(const struct beam_row *row, const float *factors, float *numbers);
    /* Takes pairs of the first `channels` <= lanes channels, and zeros after them; times `by`,
     * numbers `by_step` apart, unless it is NULL. Adds to `wrong`, [lanes], zeros, or NaN where a
     * number is not finite. Prefetches as many channels after them. */
    void (*take)(const struct beam_row *row, const float *pairs, size_t channels, const float *by,
                 size_t by_step, float *wrong, float *out);
    /* to[b][s] = sum over k, ascending, of weights[k][b] x[k][s]. [1]: where a weight is exactly
     * 0, x is not used. Stores may go past the caches: the caller needs a fence.
     *
     *   weights   [stations][beams] numbers
     *   x         [stations][spectra] numbers */
    void (*sum[2])(const float *weights, const float *x, size_t stations,
                   const struct beam_place *to);
    /* Makes `rounds` times FMA_CHAINS independent multiply-adds of vectors, and returns a number
     * that depends on all of them. */
    float (*multiply_add)(uint64_t rounds);
};

/* Returns the constant kernels of an instruction set, not to be freed; NULL if this machine or this
 * build lacks it. */
const struct beam_kernels *beam_kernels(enum simd_level level);

#endif
