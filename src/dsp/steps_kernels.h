/* Rounding and measuring of numbers in few bits (dsp/steps.h), a register of lines at a time. */
#ifndef VOLTMILL_DSP_STEPS_KERNELS_H
#define VOLTMILL_DSP_STEPS_KERNELS_H

#include "base/simd.h"
#include "dsp/steps.h"

struct steps_kernels {
    /* Do whole registers of the first lines, with the bytes of steps_store(), and of
     * steps_measure() for power alone, and return the number of lines done. An instruction set
     * without fused multiply-adds does none. */
    size_t (*store)(const struct steps_rows *work);
    size_t (*measure)(const float *rows, size_t count, size_t stride, size_t lines,
                      struct steps_sums sums);
};

/* Returns the constant kernels of an instruction set, not to be freed; NULL if this machine or this
 * build lacks it. */
const struct steps_kernels *steps_kernels(enum simd_level level);

#endif
