/* The inner loops of the CPU's beams, compiled once for each instruction set.
 *
 * Numbers of `lanes` neighbouring channels stand side by side: real parts, then imaginary ones,
 * float [2][lanes]; below, a number. */
#ifndef VOLTMILL_COMPUTE_CPU_BEAMS_BEAM_KERNELS_H
#define VOLTMILL_COMPUTE_CPU_BEAMS_BEAM_KERNELS_H

#include "compute/cpu/ppf/kernels.h"

enum { FMA_CHAINS = 12 };

struct beam_kernels {
    size_t lanes;
    size_t beams, spectra; /* of a tile of sums */
    /* out = exp(2 pi i (turns[0] + k turns[1])) of channels k from `channel` on. */
    void (*turn)(const float *turns, uint32_t channel, float *out);
    /* Takes `count` <= lanes pairs, and zeros after them; times `turn`, a number, unless it is
     * NULL. Returns whether all of them are finite. */
    int (*take)(const float *pairs, size_t count, const float *turn, float *out);
    /* number *= factor, a pair. */
    void (*scale)(const float *factor, float *number);
    /* out[b][s] = sum over k, ascending, of weights[k][b] x[k][s]. [1]: where a weight is exactly
     * 0, x is not used.
     *
     *   weights   [stations][beams] numbers
     *   x         [stations][spectra] numbers
     *   out       [beams][spectra] numbers */
    void (*sum[2])(const float *weights, const float *x, size_t stations, float *out);
    /* Makes `rounds` times FMA_CHAINS independent multiply-adds of vectors, and returns a number
     * that depends on all of them. */
    float (*multiply_add)(uint64_t rounds);
    /* Writes the first `count` channels of a number as pairs. */
    void (*put)(const float *number, size_t count, float *pairs);
};

/* Returns the kernels of an instruction set; NULL if this machine or this build lacks it. */
const struct beam_kernels *beam_kernels(enum simd_level level);

#endif
