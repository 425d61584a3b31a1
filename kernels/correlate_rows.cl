/* Rows around correlate.cl: before it spectra are rotated, and powers of stations summed in the same
 * reading; after it channels are averaged and gains applied. All shapes are explained there. */
#ifndef POLS
#define POLS 2
#endif
#define GRAIN 16
#define SPREAD 16 /* neighbouring columns of work-items; a multiple of all tiles */
#define NONE 0xffffffffu
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

/* Number of the sum that spectrum s is in: sums end with grains and with dumps. */
#define PIECE(s) ((size_t)((s) / GRAIN - first / GRAIN) + (size_t)((s) / integrate - first / integrate))

/* Sums powers of stations, as detect.cl sums coherency, and rotates their spectra by exp(2 pi i
 * (turns[0] + channel turns[1])). A work-item owns a grain of one column of one station; a group,
 * SPREAD columns of SPREAD stations. The product of channel and turns is exact before whole turns
 * go.
 *
 *   pieces   float [PIECE(end - 1) + 1][nautos][columns][PRODUCTS]
 *   autos    uint [stations][2]   number among those whose powers are summed, or NONE; and its pair
 *   turned   float2 [spectra][columns / tiled, rounded up][inputs][tiled]: correlate.cl reads
 *            `tiled` neighbouring columns of all inputs, whole lines; tiled 0: nothing is rotated
 *   turns    float2 [spectra][stations][coarse] */
__kernel __attribute__((reqd_work_group_size(SPREAD *SPREAD, 1, 1))) void
correlate_turn(const __global float2 *restrict in, __global float2 *restrict turned,
               const __global float2 *restrict turns, __global float *restrict pieces,
               const __global uint *restrict autos, ulong first, ulong end, ulong integrate,
               uint stations, uint columns, uint nchannels, uint tiled, uint nautos)
{
    const uint item = (uint)get_local_id(0);
    const uint group = (uint)get_group_id(0);
    const uint down = (stations + SPREAD - 1) / SPREAD;
    const uint across = (columns + SPREAD - 1) / SPREAD;
    const uint station = group % down * SPREAD + item / SPREAD;
    const uint column = group / down % across * SPREAD + item % SPREAD;
    const ulong grain = first / GRAIN + group / down / across;
    if (station >= stations || column >= columns) {
        return;
    }
    const ulong begin = max(grain * GRAIN, first);
    const uint spectra = (uint)(min((grain + 1) * GRAIN, end) - begin);
    const uint left = (uint)min(integrate - begin % integrate, (ulong)GRAIN); /* of the dump */
    const uint dump = (uint)min(integrate, (ulong)GRAIN);
    const uint which = autos[2 * station];
    const size_t piece = (size_t)nautos * columns * PRODUCTS;
    __global float *sums = pieces + PIECE(begin) * piece +
                           ((which == NONE ? 0 : (size_t)which) * columns + column) * PRODUCTS;
    const size_t inputs = (size_t)stations * POLS;
    const __global float2 *from =
        in + ((size_t)(begin - first) * inputs + station * POLS) * columns + column;
    const float channel = (float)(column % nchannels);
    const size_t coarse = columns / nchannels;
    const __global float2 *turn =
        turns + ((size_t)(begin - first) * stations + station) * coarse + column / nchannels;
    const size_t tiles = tiled ? (columns + tiled - 1) / tiled : 0;
    __global float2 *to = turned;
    if (tiled) {
        to += ((size_t)(begin - first) * tiles + column / tiled) * inputs * tiled +
              (size_t)station * POLS * tiled + column % tiled;
    }
    float sum[PRODUCTS] = {0};
    for (uint s = 0, until = left; s < spectra; s++) {
        const float2 x = from[0];
        sum[0] += fma(x.x, x.x, x.y * x.y);
#if POLS == 2
        const float2 y = from[columns];
        sum[1] += fma(y.x, y.x, y.y * y.y);
        sum[2] += fma(x.x, y.x, x.y * y.y);
        sum[3] += fma(x.y, y.x, -(x.x * y.y));
#endif
        if (which != NONE && (s + 1 == until || s + 1 == spectra)) {
            for (int k = 0; k < PRODUCTS; k++) {
                sums[k] = sum[k];
                sum[k] = 0;
            }
            sums += piece;
            until += dump;
        }
        if (tiled) {
            const float whole = channel * turn->y;
            const float rest = fma(channel, turn->y, -whole);
            const float angle = 2.0f * ((whole - rint(whole)) + (turn->x + rest));
            const float re = cospi(angle), im = sinpi(angle);
            to[0] = (float2)(fma(x.x, re, -(x.y * im)), fma(x.x, im, x.y * re));
#if POLS == 2
            to[tiled] = (float2)(fma(y.x, re, -(y.y * im)), fma(y.x, im, y.y * re));
#endif
            to += tiles * inputs * tiled;
            turn += stations * coarse;
        }
        from += inputs * columns;
    }
}

/* Adds the pieces of dumps. A work-item owns one product of one column, station and dump. */
__kernel void correlate_autos(const __global float *restrict pieces, __global float *restrict out,
                              __global float *restrict carry, const __global uint *restrict autos,
                              ulong first, ulong end, ulong integrate, ulong dump, ulong row,
                              ulong dumps, uint columns, uint stations, uint nautos, uint npairs)
{
    const size_t id = get_global_id(0);
    const uint k = (uint)(id % PRODUCTS);
    const uint column = (uint)(id / PRODUCTS % columns);
    const uint station = (uint)(id / PRODUCTS / columns % stations);
    const ulong turn = id / PRODUCTS / columns / stations;
    const uint which = autos[2 * station];
    if (turn >= dumps || which == NONE) {
        return;
    }
    const ulong begins = (dump + turn) * integrate;
    const ulong ends = integrate < end - begins ? begins + integrate : end;
    const size_t plane = (size_t)npairs * columns * PRODUCTS * 2;
    const size_t at = ((size_t)autos[2 * station + 1] * columns + column) * PRODUCTS * 2;
    const size_t piece = (size_t)nautos * columns * PRODUCTS;
    const __global float *from = pieces + ((size_t)which * columns + column) * PRODUCTS + k;
    float total = begins < first ? carry[plane + at + k] : 0.0f;
    float error = begins < first ? carry[2 * plane + at + k] : 0.0f;
    for (ulong s = max(begins, first); s < ends; s = (s / GRAIN + 1) * GRAIN) {
        add_exactly(&total, &error, from[PIECE(s) * piece]);
    }
    if (ends - begins < integrate) {
        carry[plane + at + k] = total;
        carry[2 * plane + at + k] = error;
        return;
    }
    /* Powers are real; the coherency of the second polarisation with the first is that of the
     * first with the second, conjugated. */
    __global float *to = out + (row + turn) * plane + at;
    const float sum = total + error;
    if (k < 2) {
        to[2 * k] = sum;
        to[2 * k + 1] = 0;
    } else {
        to[k + 2] = sum;
        to[k + 4] = k == 2 ? sum : -sum;
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
