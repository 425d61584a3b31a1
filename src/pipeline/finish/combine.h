/* Rows of a filter bank become rows of ifs: polarisations become Stokes parameters, stations and
 * beams are added up, each antenna as if it had lost nothing.
 *
 *   in    float [rows][stations][beams][sums][coarse][nchannels]   sums: polarisations; for IQUV
 * and coherency the four of QUANTITY_COHERENCY out   float
 * [rows][stations][beams][ifs][coarse][nchannels]    of stations and beams that are added up there
 * is one
 *
 * Each row is a function of its own numbers and weights alone. Stokes parameters are of 32-bit
 * floats (dsp/stokes.h); antennas are added in double, in their order, times their factors.
 *
 * What is missing: the power of a polarisation is divided by its own weight, A B* by the joint one,
 * the share of samples that are good in both; the weight of the result is the joint one. Antennas
 * whose weight is below `least` are NaN. In sums they are left out. The weight of a sum is the
 * factors' mean of the weights, 0 for those that are left out; it is NaN where that is below
 * `least`. Where power is renormalised, what is left is multiplied by the factors of all over
 * those of what is left; raw sums stay as they are. */
#ifndef VOLTMILL_PIPELINE_FINISH_COMBINE_H
#define VOLTMILL_PIPELINE_FINISH_COMBINE_H

#include "dsp/stokes.h"

#include <stddef.h>
#include <stdint.h>

struct combine {
    uint32_t stations, beams, pols, coarse; /* of a row that comes in */
    uint32_t nchannels;
    enum polarisation polarisation;
    struct stokes stokes;
    int sums_stations, sums_beams;
    const double *factors; /* [stations][beams], >= 0, of sums; NULL: all 1 */
    int renormalises;      /* power is divided by its weight */
    int blanks_empty;      /* lines of weight 0 are NaN, whatever `least` is */
    double least;
};

/* Streams of an antenna and coarse channel that become one: rows that come in have whole ones. */
uint32_t combine_sums(const struct combine *combine); /* lines that come in, of an antenna */
uint32_t combine_ifs(const struct combine *combine);  /* lines that leave, of an antenna */
/* Lines of nchannels numbers in a row that comes in, and in one that leaves. */
size_t combine_lines_in(const struct combine *combine);
size_t combine_lines_out(const struct combine *combine);

/* What rows have lost; NULL: nothing. */
struct combine_weights {
    const float *streams; /* [rows][stations][beams][pols][coarse] */
    const float *joint;   /* [rows][stations][beams][coarse]; of separate polarisations unused */
    const char *unread;   /* like `joint` (of separate ones like `streams`): 1: NaN, since it could
                             not be read */
};

/* Combines `rows` rows; `out` may be `in`. Returns how many lines became NaN by weights alone.
 *
 *   weights   float [rows][lines out] of the result
 *   holes     char [rows] 1: some of it is NaN by what could not be read
 *
 * Both may be NULL where `lost` is. */
uint64_t combine_rows(const struct combine *combine, uint64_t rows, const float *in,
                      const struct combine_weights *lost, float *out, float *weights, char *holes);

#endif
