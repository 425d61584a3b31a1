/* Baseline of comparisons: a FIR filter in textbook form, on one core and without SIMD. */
#ifndef VOLTMILL_BENCH_PLAIN_FIR_H
#define VOLTMILL_BENCH_PLAIN_FIR_H

#include <stdint.h>

/* Filter: row n of out is the sum over i of coeff[i] in[n + taps - 1 - i], n < rows.
 *
 *   coeff   float [taps], or [taps][2]
 *   in      float [rows + taps - 1], or [..][2]
 *   out     float [rows], or [rows][2] */
void plain_fir_real(const float *coeff, uint32_t taps, const float *in, uint64_t rows, float *out);
void plain_fir_complex(const float (*coeff)[2], uint32_t taps, const float (*in)[2], uint64_t rows,
                       float (*out)[2]);

#endif
