/* Radix 2, one half after the other, so that what fits a cache stays there; roots of unity are made
 * as they are needed. Gentleman and Sande 1966, Fast Fourier transforms: for fun and profit. */
#include "dsp/round_trip.h"

#include "dsp/phasor.h"

enum { PIECE = 512 }; /* roots of unity at a time */

/* exp(2 pi i (first + j) / length), j < count. */
static void round_trip_roots(uint32_t length, uint32_t first, uint32_t count,
                             double (*restrict out)[2])
{
    const double step = 1.0 / length;
    for (uint32_t j = 0; j < count; j++) {
        phasor(step * (first + j), out[j]);
    }
}

/* Sums to the lower half, differences times roots (every stride-th of them) to the upper one. */
static void round_trip_split(uint32_t count, uint32_t stride, double (*restrict root)[2],
                             double (*restrict low)[2], double (*restrict high)[2])
{
    for (uint32_t j = 0; j < count; j++) {
        const double *w = root[j * stride];
        const double re = low[j][0] - high[j][0];
        const double im = low[j][1] - high[j][1];
        low[j][0] += high[j][0];
        low[j][1] += high[j][1];
        high[j][0] = re * w[0] - im * w[1];
        high[j][1] = re * w[1] + im * w[0];
    }
}

/* The other way. */
static void round_trip_join(uint32_t count, uint32_t stride, double (*restrict root)[2],
                            double (*restrict low)[2], double (*restrict high)[2])
{
    for (uint32_t j = 0; j < count; j++) {
        const double *w = root[j * stride];
        const double re = high[j][0] * w[0] + high[j][1] * w[1];
        const double im = high[j][1] * w[0] - high[j][0] * w[1];
        high[j][0] = low[j][0] - re;
        high[j][1] = low[j][1] - im;
        low[j][0] += re;
        low[j][1] += im;
    }
}

typedef void round_trip_step(uint32_t count, uint32_t stride, double (*restrict root)[2],
                             double (*restrict low)[2], double (*restrict high)[2]);

/* One step over neighbouring halves of `length` points. */
static void round_trip_halves(round_trip_step *step, uint32_t length, double (*restrict table)[2],
                              double (*data)[2])
{
    const uint32_t half = length / 2;
    double root[PIECE][2];
    if (half <= PIECE) {
        step(half, PIECE / half, table, data, data + half);
        return;
    }
    for (uint32_t first = 0; first < half; first += PIECE) {
        round_trip_roots(length, first, PIECE, root);
        step(PIECE, 1, root, data + first, data + half + first);
    }
}

static void round_trip_down(uint32_t length, double (*restrict table)[2], double (*data)[2])
{
    if (length > 1) {
        round_trip_halves(round_trip_split, length, table, data);
        round_trip_down(length / 2, table, data);
        round_trip_down(length / 2, table, data + length / 2);
    }
}

static void round_trip_up(uint32_t length, double (*restrict table)[2], double (*data)[2])
{
    if (length > 1) {
        round_trip_up(length / 2, table, data);
        round_trip_up(length / 2, table, data + length / 2);
        round_trip_halves(round_trip_join, length, table, data);
    }
}

void round_trip_there(uint32_t length, double (*data)[2])
{
    double table[PIECE][2];
    round_trip_roots(2 * PIECE, 0, PIECE, table);
    round_trip_down(length, table, data);
}

void round_trip_back(uint32_t length, double (*data)[2])
{
    double table[PIECE][2];
    round_trip_roots(2 * PIECE, 0, PIECE, table);
    round_trip_up(length, table, data);
}

uint32_t round_trip_next(uint32_t length, uint32_t n)
{
    uint32_t bit = length / 2;
    while (n & bit) {
        n ^= bit;
        bit /= 2;
    }
    return n ^ bit;
}
