/* The inner loops of a search for bursts, compiled once for each instruction set. All add in one
 * order (compute/boxcar.h): their results are the same to the last bit. */
#ifndef VOLTMILL_COMPUTE_BOXCAR_BOXCAR_KERNELS_H
#define VOLTMILL_COMPUTE_BOXCAR_BOXCAR_KERNELS_H

#include "base/simd.h"
#include "dsp/boxes.h"

enum {
    BOXCAR_SERIES = 16, /* whose noise is settled together */
    BOXCAR_LEVELS = 15, /* widths 1, 2, 4, ..., BOXES_MOST_WIDTH */
    BOXCAR_BEHIND = 64  /* allocated times after the last valid one */
};

/* Numbers of this magnitude or more, infinities and NaN are treated as missing. */
#define BOXCAR_THERE 0x1p96F

/* Statistics of the noise cells of some series; a missing cell has count 0. */
typedef float boxcar_cells_t[BOXES_NOISE_CELLS][BOXCAR_SERIES];
struct boxcar_cells {
    boxcar_cells_t mean, variance;
    boxcar_cells_t squares; /* of what is above the mean, added up */
    boxcar_cells_t count;   /* of samples that are there; 0: the cell does not count */
};

/* Noise of some series; rms 0: it cannot be measured. */
struct boxcar_noise {
    float mean[BOXCAR_SERIES], rms[BOXCAR_SERIES];
};

struct noise_kernels {
    /* Measures the BOXES_NOISE_CELLS cells of `cell` > 1 samples of one series, which becomes
     * number `series` of `cells`. Prefetches from `next` numbers farther on; 0: does not. */
    void (*measure)(const float *x, uint64_t cell, int64_t next, uint32_t series,
                    struct boxcar_cells *cells);
    /* Sets the noise of all BOXCAR_SERIES series; 0 for those whose counts are 0. `cells` are
     * changed. */
    void (*settle)(struct boxcar_cells *cells, struct boxcar_noise *noise);
};

struct boxcar_kernels {
    /* y = x - mean; 0 where x is invalid. */
    void (*level)(const float *x, uint64_t count, float mean, float *y);
    /* most[l], l < BOXCAR_LEVELS: the maximum sum over boxes of 1 << l times of y, as level() makes
     * it of x [times]. The boxes begin in the first `starts` times, a multiple of PEAK_CELL, at the
     * steps of that width, and end within x; -INFINITY if there are none. Those wider than `widths`
     * (struct boxes) are of no use. `sums` is work space, [starts + widths + BOXCAR_BEHIND]. */
    void (*most)(const float *x, uint64_t times, float mean, uint64_t starts, uint32_t widths,
                 float *sums, float *most);
};

/* Return the constant kernels of an instruction set, not to be freed: noise_kernels() those of the
 * noise, boxcar_kernels() those of the boxes. NULL if this machine or this build lacks the set. */
const struct noise_kernels *noise_kernels(enum simd_level level);
const struct boxcar_kernels *boxcar_kernels(enum simd_level level);

#endif
