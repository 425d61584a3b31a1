/* The noise of a block of a series, whatever bursts and interference are in it. */
#ifndef VOLTMILL_COMPUTE_BOXCAR_BOXCAR_NOISE_H
#define VOLTMILL_COMPUTE_BOXCAR_BOXCAR_NOISE_H

#include "compute/boxcar/boxcar_kernels.h"

/* rms 0: there is none. */
struct boxcar_noise {
    float mean, rms;
};
struct boxcar_noise boxcar_noise_of(const struct boxcar_kernels *kernels, const float *x,
                                    uint64_t count);

#endif
