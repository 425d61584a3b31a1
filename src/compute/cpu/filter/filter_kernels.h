/* The inner loops of the CPU's long filters, compiled once for each instruction set. */
#ifndef VOLTMILL_COMPUTE_CPU_FILTER_FILTER_KERNELS_H
#define VOLTMILL_COMPUTE_CPU_FILTER_FILTER_KERNELS_H

#include "compute/cpu/ppf/kernels.h"

enum {
    /* Sums are cut into pieces of this many taps, added in double: a float sum over a hundred
     * thousand taps would lose three digits. */
    DIRECT_PIECE = 128,
    /* Rows that any kernel sums at once: samples are read as far after the last one. */
    DIRECT_MOST_ROWS = 256,
    FILTER_COLUMNS = 16 /* of a convolution's matrix that are transformed side by side */
};

/* y[m] = sum_k coeff[k] x[place[k] + m], k ascending, m < rows: place[k] is where a plane of
 * samples (or planes, of a filter that decimates) holds what coefficient k weighs for row 0. */
struct direct_sums {
    const float *x[2];     /* real parts, imaginary parts (NULL: real samples) */
    const float *coeff[2]; /* [taps] likewise */
    const uint32_t *place; /* [taps] */
    size_t taps, rows;
    float *out; /* [rows], or pairs where samples or coefficients are complex */
};

struct filter_kernels {
    /* Sums of [0] real, [1] complex samples by [0] real, [1] complex coefficients. */
    void (*direct[2][2])(const struct direct_sums *sums);
    /* Splits blocks of `lanes` real parts and `lanes` imaginary ones (struct cpu_kernels: unpack)
     * into two planes; imaginary parts are multiplied by `sign`. Both planes have the size of whole
     * blocks. */
    void (*split)(const float *from, size_t blocks, float sign, float *re, float *im);
    /* Two planes to pairs. */
    void (*pair)(const float *re, const float *im, size_t count, float *out);
    /* Complex floats without gaps, at any address, to pairs, the imaginary parts times `sign`;
     * missing ones become zero. Returns their number. */
    uint64_t (*take)(const struct missing_rule *rule, const char *from, size_t count, float sign,
                     float *out);
    /* spectrum[k] *= response[k], pairs. */
    void (*multiply)(const float *response, size_t count, float *spectrum);
    /* Multiplies FILTER_COLUMNS columns: to[k][c] = from[k][c] w[k][c], pairs, where w is
     * step[k][c] times base[k], or for sign -1 the conjugate of that.
     *
     *   step       [rows]: FILTER_COLUMNS times (re, re), then as often (-im, im)
     *   base       [rows] pairs
     *   from, to   [rows], strides in floats; aligned to 64 bytes */
    void (*turn)(const float *step, const float *base, size_t rows, int sign, const float *from,
                 size_t from_stride, float *to, size_t to_stride);
};

/* Returns the constant kernels of an instruction set, not to be freed; NULL if this machine or this
 * build lacks it. */
const struct filter_kernels *filter_kernels(enum simd_level level);

#endif
