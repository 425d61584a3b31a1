/* The plain loops; the Makefile has this file compiled without vectors. */
#include "bench/plain_fir.h"

void plain_fir_real(const float *coeff, uint32_t taps, const float *in, uint64_t rows, float *out)
{
    for (uint64_t n = 0; n < rows; n++) {
        float sum = 0;
        for (uint32_t i = 0; i < taps; i++) {
            sum += coeff[i] * in[n + taps - 1 - i];
        }
        out[n] = sum;
    }
}

void plain_fir_complex(const float (*coeff)[2], uint32_t taps, const float (*in)[2], uint64_t rows,
                       float (*out)[2])
{
    for (uint64_t n = 0; n < rows; n++) {
        float re = 0;
        float im = 0;
        for (uint32_t i = 0; i < taps; i++) {
            const float *c = coeff[i];
            const float *x = in[n + taps - 1 - i];
            re += c[0] * x[0] - c[1] * x[1];
            im += c[0] * x[1] + c[1] * x[0];
        }
        out[n][0] = re;
        out[n][1] = im;
    }
}
