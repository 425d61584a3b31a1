/* The discrete Fourier transform in double, of any length, slow and obviously right: the textbook
 * recursion over the prime factors of the length (plain double sum for a prime). Reference and
 * filter report use it, so that they share nothing with the library they check. */
#ifndef VOLTMILL_DSP_DFT_H
#define VOLTMILL_DSP_DFT_H

#include "base/status.h"

#include <complex.h>
#include <stddef.h>

/* Computes the Fourier transform: out[m] = sum_n in[n] exp(-2 pi i n m / length).
 *
 *   in, out   double complex [length], not overlapping; length >= 1
 *
 * Fails with DEVICE (memory); `out` is then undefined. Any number of threads may call it. */
status_t dft_forward(size_t length, const double complex *in, double complex *out);

/* Computes exp(-2 pi i k / length), rounded to floats: out[0] the real part, out[1] the imaginary
 * one. k < length. */
void dft_factor(size_t k, size_t length, float out[2]);

#endif
