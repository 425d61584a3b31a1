/* The inner loops of the CPU's correlation, compiled once for each instruction set. A vector holds
 * `lanes` neighbouring columns (channels of all coarse channels).
 *
 * A grain's spectra of an input are stored as planes: float [GRAIN][2][lanes], real parts and
 * imaginary ones. */
#ifndef VOLTMILL_COMPUTE_CPU_CORRELATE_CORRELATE_KERNELS_H
#define VOLTMILL_COMPUTE_CPU_CORRELATE_CORRELATE_KERNELS_H

#include "compute/cpu/ppf/kernels.h"
#include "compute/shared/grains.h"

/* At most GRAIN spectra of a station, as planes of its inputs, rotated, and their powers.
 *
 *   from     pairs of the first column; `spectrum` and `input` floats from one to the next
 *   count    columns, at most lanes; the other lanes are zero
 *   turns    of the first column's coarse channel, `turn` floats from a spectrum to the next; NULL:
 *            none. Columns are `channel` .. of `nchannels`, then of the next coarse channels
 *   planes   of the first input, `plane` floats from one to the next
 *   autos    float [pols^2][lanes]: sums of |A|^2; |A|^2, |B|^2, Re A B*, Im A B*, of what comes
 *            in; NULL: none */
struct correlate_station {
    const float *from;
    size_t spectrum, input;
    uint32_t pols, spectra, count;
    const float *turns;
    size_t turn;
    uint32_t channel, nchannels;
    float *planes;
    size_t plane;
    float *autos;
};

/* A prefetch every four spectra: more wait for each other. */
enum { CORRELATE_AHEAD = GRAIN / 4 };

struct correlate_kernels {
    size_t lanes;
    uint32_t rows, columns; /* inputs of a block (compute/shared/correlate_table.h) */
    void (*prepare)(const struct correlate_station *station);
    /* sums[i][j] += sum_s A_i conj(B_j), s ascending, over a grain's first `spectra`.
     *
     *   a, b    planes of `rows` and `columns` inputs, 2 * GRAIN * lanes floats apart
     *   ahead   [CORRELATE_AHEAD] addresses of LANES pairs, which are prefetched meanwhile
     *   sums    float [rows][columns][2][lanes] */
    void (*cross)(const float *a, const float *b, uint32_t spectra, const float *const *ahead,
                  float *sums);
};

/* Returns the constant kernels of an instruction set, not to be freed; NULL if this machine or this
 * build lacks it. */
const struct correlate_kernels *correlate_kernels(enum simd_level level);

#endif
