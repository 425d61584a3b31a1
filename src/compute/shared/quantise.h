/* Rows of filters as archives store them: sample by sample, in 8 or 16 bits, or as floats. On the
 * host, whatever the backend. */
#ifndef VOLTMILL_COMPUTE_SHARED_QUANTISE_H
#define VOLTMILL_COMPUTE_SHARED_QUANTISE_H

#include <stdint.h>

struct quantise {
    uint32_t bits;    /* 8, 16: whole numbers; 32: float */
    double scale;     /* volts of 1 as it is stored */
    uint32_t streams; /* side by side in a row */
    uint32_t parts;   /* 2: complex, 1: real */
};

/* Stores `rows` samples of each stream.
 *
 *   in     float [streams][stride][parts], volts; stride >= rows
 *   out    int8, int16 or float [rows][streams][parts]: volts / scale, in double, rounded to the
 *          nearest whole number, halves to the even one, and clipped to the range of the bits (of
 *          8: -128 .. 127); of 32 bits the nearest float
 *
 * Returns how many numbers were clipped, including NaN (which becomes the minimum); with 32 bits,
 * how many are not finite. Pure; every machine gives the same bytes. */
uint64_t quantise_rows(const struct quantise *how, const float *in, uint64_t stride, uint64_t rows,
                       void *out);

#endif
