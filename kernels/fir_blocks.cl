/* FIR of many taps, in blocks of them: a work-item holds the sums of RUN spectra in registers, and
 * the RUN rows that a tap meets, which slide on by one row from tap to tap.
 *
 *   in         raw spectra, see samples.cl
 *   coeff      float [TAPS][CHANNELS] (complex) or [TAPS][2 CHANNELS] (real)
 *   filtered   float2 [spectra][streams][CHANNELS]
 *
 * Filters spectra first .. first + spectra - 1 of each stream. A work-item owns one column of RUN
 * spectra in a row of one stream; WIDTH items of a group go along the columns, TEAMS of these along
 * time, which share coefficients, and rows, in the cache. Taps go in blocks of RUN, unrolled, so that
 * the window is a ring whose index is a constant. Each tap takes one sample and one coefficient for
 * RUN sums: at TAPS = 128 the sums go at 58 % of the device's rate of fused operations (H200; of
 * floats 62), at 256 at 64 %, where a kernel that shares little (fir_cache) has 12. Sums go in pieces
 * of PIECE taps, in the order of fir_cache.
 * Tried without gain: rows and coefficients of the next block asked for ahead, totals in local
 * memory, groups that go along time first, numbers made floats by bits of a mantissa. */
#ifndef RUN
#define RUN 16 /* divides PIECE */
#endif
#ifndef TEAMS
#define TEAMS 1
#endif
#define PIECE 64

/* Runs a body n times with i = 0 .. n - 1 known to the compiler. */
#define BLOCKS_LOOP(i, n) _Pragma("unroll") for (uint i = 0; i < (n); i++)

/* A column by one load, and its numbers: of 32 bits they become floats in a quarter of the time that
 * those of 8 take (H200). */
#if FORMAT == FORMAT_I8
typedef short blocks_column;
#elif FORMAT == FORMAT_I16
typedef int blocks_column;
#else
typedef raw_column blocks_column;
#endif
static inline float2 blocks_volts(blocks_column stored)
{
#if FORMAT == FORMAT_I8 || FORMAT == FORMAT_I16
    enum { HALF = 4 * sizeof(blocks_column), ABOVE = 32 - HALF };
    const int both = stored;
    const float im = (float)(both >> HALF);
    return (float2)((float)((int)((uint)both << ABOVE) >> ABOVE), CONJUGATE ? -im : im);
#else
    return column_volts(stored);
#endif
}

/* Tap u of a block, where the window's oldest row is in slot u: its newest comes at `row`. */
#define BLOCKS_TAP(u, row, coefficients)                                                           \
    {                                                                                              \
        const float2 b = column_coeff(coefficients, u, 0);                                         \
        window[((u) + RUN - 1) % RUN] = blocks_volts((row)[(size_t)(u)*CHANNELS]);                 \
        BLOCKS_LOOP(r, RUN) part[r] = column_fma(window[((u) + r) % RUN], b, part[r]);             \
    }

/* One spectrum, tap by tap. */
static inline float2 blocks_single(const __global blocks_column *restrict x,
                                   const __global float *restrict h)
{
    float2 sum = (float2)(0), part = (float2)(0);
    for (uint t = 0; t < TAPS; t++) {
        part = column_fma(blocks_volts(x[(size_t)t * CHANNELS]), column_coeff(h, t, 0), part);
        if ((t + 1) % PIECE == 0 || t + 1 == TAPS) {
            sum += part;
            part = (float2)(0);
        }
    }
    return sum;
}

__kernel __attribute__((reqd_work_group_size(WIDTH *TEAMS, 1, 1))) void
fir_blocks(const __global uchar *restrict in, ulong in_stride, const __global float *restrict coeff,
           __global float2 *restrict filtered, ulong first, ulong spectra, uint streams)
{
    const size_t n = get_group_id(0) % ACROSS * WIDTH + get_local_id(0) % WIDTH;
    const size_t stream = PLACE_STREAM(streams);
    const size_t wanted = (PLACE_PIECE(streams) * TEAMS + get_local_id(0) / WIDTH) * RUN;
    if (n >= CHANNELS || wanted >= spectra) {
        return;
    }
    /* The last run moves back, so that all its rows are there. */
    const size_t s = spectra < RUN ? wanted : min(wanted, (size_t)spectra - RUN);
    const __global blocks_column *x =
        (const __global blocks_column *)(in + stream * in_stride) + (first + s) * CHANNELS + n;
    const __global float *h = coeff + n * (COMPLEX ? 1 : 2);
    const size_t apart = (size_t)streams * CHANNELS;
    __global float2 *out = filtered + s * apart + stream * CHANNELS + n;
    if (spectra < RUN) {
        for (size_t r = 0; r < spectra; r++) {
            out[r * apart] = blocks_single(x + r * CHANNELS, h);
        }
        return;
    }
    float2 window[RUN], part[RUN], sum[RUN];
    BLOCKS_LOOP(r, RUN - 1) window[r] = blocks_volts(x[(size_t)r * CHANNELS]);
    BLOCKS_LOOP(r, RUN) sum[r] = part[r] = (float2)(0);
    x += (size_t)(RUN - 1) * CHANNELS;
    _Pragma("unroll 1") for (uint t = 0; t + RUN <= TAPS; t += RUN)
    {
        BLOCKS_LOOP(u, RUN) BLOCKS_TAP(u, x, h)
        x += (size_t)RUN * CHANNELS;
        h += (size_t)RUN * CHANNELS * (COMPLEX ? 1 : 2);
        if (TAPS > PIECE && (t + RUN) % PIECE == 0) {
            BLOCKS_LOOP(r, RUN) sum[r] += part[r];
            BLOCKS_LOOP(r, RUN) part[r] = (float2)(0);
        }
    }
#if TAPS % RUN != 0
    BLOCKS_LOOP(u, TAPS % RUN) BLOCKS_TAP(u, x, h)
#endif
#if TAPS <= PIECE || TAPS % PIECE != 0
    BLOCKS_LOOP(r, RUN) sum[r] += part[r];
#endif
    BLOCKS_LOOP(r, RUN)
    {
        if (s + r >= wanted) {
            out[r * apart] = sum[r];
        }
    }
}
