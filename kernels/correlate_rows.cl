/* Rows around correlate.cl: powers of stations are summed beside it, spectra rotated before it, channels
 * averaged and gains applied after it. All shapes are explained there. */
#ifndef POLS
#define POLS 2
#endif
#define GRAIN 16
#define PRODUCTS (POLS * POLS)

static inline void add_exactly(float *sum, float *error, float value)
{
    const float total = *sum + value;
    const float part = total - *sum;
    const float lost = (*sum - (total - part)) + (value - part);
    /* A sum that has overflowed keeps no error. */
    *error = isfinite(total) ? *error + lost : 0.0f;
    *sum = total;
}

/* First and second polarisation of a product. */
#define FIRST_POL(k) ((k) == 1 || (k) == 3)
#define SECOND_POL(k) ((k) == 1 || (k) == 2)

/* Pairs of stations with themselves, as detect.cl and sum.cl sum coherency. A work-item owns one
 * column of one station and one dump.
 *
 *   autos   uint [count][2]   station, pair */
__kernel void correlate_autos(const __global float2 *restrict in, __global float *restrict out,
                              __global float *restrict carry, const __global uint *restrict autos,
                              ulong first, ulong end, ulong integrate, ulong dump, ulong row,
                              ulong dumps, uint columns, uint inputs, uint count, uint npairs)
{
    const size_t id = get_global_id(0);
    const size_t column = id % columns;
    const uint which = (uint)(id / columns % count);
    const ulong turn = id / columns / count;
    if (turn >= dumps) {
        return;
    }
    const ulong begins = (dump + turn) * integrate;
    const ulong ends = integrate < end - begins ? begins + integrate : end;
    const size_t spectrum = (size_t)inputs * columns;
    const size_t plane = (size_t)npairs * columns * PRODUCTS * 2;
    const size_t at = ((size_t)autos[2 * which + 1] * columns + column) * PRODUCTS * 2;
    const __global float2 *a = in + (size_t)autos[2 * which] * POLS * columns + column;
    float total[PRODUCTS], error[PRODUCTS];
    for (int k = 0; k < PRODUCTS; k++) {
        total[k] = begins < first ? carry[plane + at + k] : 0.0f;
        error[k] = begins < first ? carry[2 * plane + at + k] : 0.0f;
    }
    for (ulong s = max(begins, first); s < ends;) {
        const ulong next = min((s / GRAIN + 1) * GRAIN, ends);
        float sum[PRODUCTS];
        for (int k = 0; k < PRODUCTS; k++) {
            sum[k] = 0;
        }
        for (; s < next; s++) {
            const float2 x = a[(size_t)(s - first) * spectrum];
            sum[0] += fma(x.x, x.x, x.y * x.y);
#if POLS == 2
            const float2 y = a[(size_t)(s - first) * spectrum + columns];
            sum[1] += fma(y.x, y.x, y.y * y.y);
            sum[2] += fma(x.x, y.x, x.y * y.y);
            sum[3] += fma(x.y, y.x, -(x.x * y.y));
#endif
        }
        for (int k = 0; k < PRODUCTS; k++) {
            add_exactly(&total[k], &error[k], sum[k]);
        }
    }
    if (ends - begins == integrate) {
        __global float *to = out + (row + turn) * plane + at;
        to[0] = total[0] + error[0];
        to[1] = 0;
#if POLS == 2
        to[2] = total[1] + error[1];
        to[3] = 0;
        to[4] = to[6] = total[2] + error[2];
        to[5] = total[3] + error[3];
        to[7] = -(total[3] + error[3]);
#endif
    } else {
        for (int k = 0; k < PRODUCTS; k++) {
            carry[plane + at + k] = total[k];
            carry[2 * plane + at + k] = error[k];
        }
    }
}

/* Rotates spectra by exp(2 pi i (turns[0] + channel turns[1])), and puts `tiled` neighbouring columns
 * of all inputs together, so that correlate.cl reads whole lines. A work-item owns one column of one
 * station's spectrum. The product of channel and turns is exact before whole turns go.
 *
 *   turned   float2 [spectra][columns / tiled, rounded up][inputs][tiled]
 *   turns    float2 [spectra][stations][coarse] */
__kernel void correlate_turn(const __global float2 *restrict in, __global float2 *restrict turned,
                             const __global float2 *restrict turns, ulong spectra, uint stations,
                             uint columns, uint nchannels, uint tiled)
{
    const uint across = (columns + tiled - 1) / tiled;
    const size_t id = get_global_id(0);
    const size_t station = id / tiled % stations;
    const uint column = (uint)(id % tiled + id / tiled / stations % across * tiled);
    const size_t s = id / tiled / stations / across;
    if (s >= spectra || column >= columns) {
        return;
    }
    const float2 turn =
        turns[(s * stations + station) * (columns / nchannels) + column / nchannels];
    const float channel = (float)(column % nchannels);
    const float whole = channel * turn.y;
    const float rest = fma(channel, turn.y, -whole);
    const float angle = 2.0f * ((whole - rint(whole)) + (turn.x + rest));
    const float re = cospi(angle), im = sinpi(angle);
    const size_t inputs = (size_t)stations * POLS;
    for (uint p = 0; p < POLS; p++) {
        const size_t input = station * POLS + p;
        const float2 x = in[(s * inputs + input) * columns + column];
        turned[((s * across + column / tiled) * inputs + input) * tiled + column % tiled] =
            (float2)(fma(x.x, re, -(x.y * im)), fma(x.x, im, x.y * re));
    }
}

/* Sums `average` neighbouring channels and applies gains. A work-item owns a product of an output
 * channel.
 *
 *   in         float2 [rows][npairs][columns][PRODUCTS]
 *   out        float2 [row + rows][npairs][columns / average][PRODUCTS]
 *   stations   uint [npairs][2]
 *   gains      float2 [inputs][columns], if has_gains */
__kernel void correlate_finish(const __global float2 *restrict in, __global float2 *restrict out,
                               const __global uint *restrict stations,
                               const __global float2 *restrict gains, ulong row, ulong rows,
                               uint npairs, uint columns, uint average, uint has_gains)
{
    const size_t id = get_global_id(0);
    const uint product = (uint)(id % PRODUCTS);
    const uint cells = columns / average;
    const uint cell = (uint)(id / PRODUCTS % cells);
    const uint pair = (uint)(id / PRODUCTS / cells % npairs);
    const size_t which = id / PRODUCTS / cells / npairs;
    if (which >= rows) {
        return;
    }
    const __global float2 *from =
        in + ((which * npairs + pair) * columns + (size_t)cell * average) * PRODUCTS + product;
    float total[2] = {0, 0}, error[2] = {0, 0};
    for (uint k = 0; k < average; k++) {
        float2 value = from[(size_t)k * PRODUCTS];
        if (has_gains) {
            const size_t column = (size_t)cell * average + k;
            const uint a = stations[2 * pair] * POLS + FIRST_POL(product);
            const uint b = stations[2 * pair + 1] * POLS + SECOND_POL(product);
            const float2 g = gains[a * (size_t)columns + column];
            const float2 h = gains[b * (size_t)columns + column];
            const float2 by = (float2)(fma(g.x, h.x, g.y * h.y), fma(g.y, h.x, -(g.x * h.y)));
            value = (float2)(fma(value.x, by.x, -(value.y * by.y)),
                             fma(value.x, by.y, value.y * by.x));
        }
        add_exactly(&total[0], &error[0], value.x);
        add_exactly(&total[1], &error[1], value.y);
    }
    out[((row + which) * npairs + pair) * cells * PRODUCTS + (size_t)cell * PRODUCTS + product] =
        (float2)(total[0] + error[0], total[1] + error[1]);
}
