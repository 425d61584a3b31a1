#include "compute/cpu/fir.h"

/* Adamek's C_B x S_B blocking: a block of LANES columns of ROWS spectra is summed in registers, so
 * that each coefficient that is loaded serves ROWS spectra. */
enum {
    LANES = 16,
    ROWS = 4,
    /* Long sums are cut into pieces of so many taps, added in double: a float sum over thousands of
     * taps would lose the digits that the transform keeps. */
    PIECE = 64
};

/* One piece: at most PIECE taps. */
static void piece_of_four(const float *restrict window, const float *restrict coeff,
                          size_t coeff_stride, size_t taps, size_t columns, float *restrict out,
                          size_t out_stride)
{
    float sum[ROWS][LANES] = {{0}};
    for (size_t t = 0; t < taps; t++) {
        const float *b = coeff + t * coeff_stride;
        for (size_t row = 0; row < ROWS; row++) {
            const float *x = window + (t + row) * columns;
            for (size_t i = 0; i < LANES; i++) {
                sum[row][i] += x[i] * b[i];
            }
        }
    }
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t i = 0; i < LANES; i++) {
            out[row * out_stride + i] = sum[row][i];
        }
    }
}

static void block_of_four(const float *window, const float *coeff, size_t coeff_stride, size_t taps,
                          size_t columns, float *out, size_t out_stride)
{
    if (taps <= PIECE) {
        piece_of_four(window, coeff, coeff_stride, taps, columns, out, out_stride);
        return;
    }
    double total[ROWS][LANES] = {{0}};
    float part[ROWS][LANES];
    for (size_t t = 0; t < taps; t += PIECE) {
        size_t count = taps - t < PIECE ? taps - t : PIECE;
        piece_of_four(window + t * columns, coeff + t * coeff_stride, coeff_stride, count, columns,
                      &part[0][0], LANES);
        for (size_t row = 0; row < ROWS; row++) {
            for (size_t i = 0; i < LANES; i++) {
                total[row][i] += (double)part[row][i];
            }
        }
    }
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t i = 0; i < LANES; i++) {
            out[row * out_stride + i] = (float)total[row][i];
        }
    }
}

/* The same sums for any number of lanes and one spectrum. */
static void single_row(const float *restrict window, const float *restrict coeff,
                       size_t coeff_stride, size_t taps, size_t columns, size_t lanes,
                       float *restrict out)
{
    for (size_t i = 0; i < lanes; i++) {
        double total = 0;
        for (size_t first = 0; first < taps; first += PIECE) {
            size_t end = taps - first < PIECE ? taps : first + PIECE;
            float sum = 0;
            for (size_t t = first; t < end; t++) {
                sum += window[t * columns + i] * coeff[t * coeff_stride + i];
            }
            total += (double)sum;
        }
        out[i] = (float)total;
    }
}

void fir_columns(const float *window, const float *coeff, size_t coeff_stride, size_t taps,
                 size_t count, size_t columns, float *out, size_t out_stride)
{
    size_t blocks = columns / LANES * LANES;
    size_t fours = count / ROWS * ROWS;
    for (size_t i = 0; i < blocks; i += LANES) {
        for (size_t s = 0; s < fours; s += ROWS) {
            block_of_four(window + s * columns + i, coeff + i, coeff_stride, taps, columns,
                          out + s * out_stride + i, out_stride);
        }
        for (size_t s = fours; s < count; s++) {
            single_row(window + s * columns + i, coeff + i, coeff_stride, taps, columns, LANES,
                       out + s * out_stride + i);
        }
    }
    for (size_t s = 0; s < count && blocks < columns; s++) {
        single_row(window + s * columns + blocks, coeff + blocks, coeff_stride, taps, columns,
                   columns - blocks, out + s * out_stride + blocks);
    }
}
