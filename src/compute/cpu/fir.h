/* The FIR part of the polyphase filter on a block of columns. */
#ifndef VOLTMILL_COMPUTE_CPU_FIR_H
#define VOLTMILL_COMPUTE_CPU_FIR_H

#include <stddef.h>

/* out[s][i] = sum_t window[s + t][i] coeff[t][i], t ascending, in float (long sums in pieces).
 *
 *   window   float [count + taps - 1][columns]      rows of `columns` floats, without gaps
 *   coeff    float [taps][coeff_stride]             the same columns of the coefficients
 *   out      float [count][out_stride]
 *
 * Rows do not overlap. Each element is summed in the same order whatever count and columns are. */
void fir_columns(const float *window, const float *coeff, size_t coeff_stride, size_t taps,
                 size_t count, size_t columns, float *out, size_t out_stride);

#endif
