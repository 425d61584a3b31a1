/* The inner loops of a search for bursts, compiled once for each instruction set. All add in one
 * order, sixteen lanes, then these: their results are the same to the last bit. */
#ifndef VOLTMILL_COMPUTE_CPU_BOXCAR_BOXCAR_KERNELS_H
#define VOLTMILL_COMPUTE_CPU_BOXCAR_BOXCAR_KERNELS_H

#include <stdint.h>

struct boxcar_moments {
    float sum, squares; /* of what the numbers are above `about` */
    uint32_t count;     /* of those that are finite */
};

struct boxcar_kernels {
    struct boxcar_moments (*measure)(const float *x, uint64_t count, float about);
    /* y = (x - mean) scale; 0 where x is not finite. */
    void (*normalise)(const float *x, uint64_t count, float mean, float scale, float *y);
    /* out[t] = y[t] + y[t + half]; may be y itself. */
    void (*fold)(const float *y, uint64_t count, uint64_t half, float *out);
    /* The greatest of some numbers: most series have nothing to look at more closely. */
    float (*most)(const float *y, uint64_t count);
    /* most[c]: the greatest of the numbers of each whole cell. */
    void (*peak)(const float *y, uint64_t cells, float *most);
};

/* The fastest that this machine has. */
const struct boxcar_kernels *boxcar_kernels(void);

#endif
