/* Circular convolutions of blocks of 2^n complex numbers, in place.
 *
 * Long blocks are taken as a matrix of [n1][n2] numbers: transforms of the columns, factors between
 * them, transforms of the rows (Bailey 1990, FFTs in external or hierarchical memory). A row is
 * transformed, multiplied and transformed back while it is in the first-level cache, so a block
 * goes through memory three times, however long it is, and no plan has to be measured: FFTW's plans
 * by rule (FFTW_ESTIMATE) are good up to some thousand points, but at 2^16 take twice the time of
 * its best ones (measured). By rule, so that every run has the same plan and the same bits. */
#ifndef VOLTMILL_COMPUTE_CPU_FILTER_CONVOLUTION_H
#define VOLTMILL_COMPUTE_CPU_FILTER_CONVOLUTION_H

#include "compute/cpu/filter/filter_kernels.h"

typedef struct convolution convolution_t;

/* Of `length` numbers, a power of two from CONVOLUTION_LEAST on, in up to `threads` threads. Not
 * for several threads at once. Fails with DEVICE. */
enum { CONVOLUTION_LEAST = 64, CONVOLUTION_MOST = 1 << 30 };
status_t convolution_create(const struct filter_kernels *kernels, uint32_t length, uint32_t threads,
                            convolution_t **out);
void convolution_destroy(convolution_t *convolution);
uint64_t convolution_bytes(uint32_t length, uint32_t threads);

/* A response in the order in which spectra are made here, from that of the FFT.
 *
 *   in, out   float [length][2], not overlapping   */
void convolution_order(const convolution_t *convolution, const float (*in)[2], float (*out)[2]);

/* By one thread; the transforms are not scaled.
 *
 *   response   float [length][2] of convolution_order()
 *   block      float [length][2], aligned to 64 bytes   */
void convolution_run(convolution_t *convolution, uint32_t thread, const float (*response)[2],
                     float (*block)[2]);

#endif
