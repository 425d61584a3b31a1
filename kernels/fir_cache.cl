/* FIR through the cache: Adamek, Novotny, Armour 2016, Algorithm 2. The general kernel: any CHANNELS, any
 * TAPS, every format.
 *
 *   in         raw spectra, see samples.cl
 *   coeff      float [TAPS][CHANNELS] (complex) or [TAPS][2 CHANNELS] (real)
 *   filtered   float2 [spectra][streams][CHANNELS]
 *
 * An oversampled bank has HOP columns from one spectrum to the next, and turns spectrum s round by
 * s HOP places, so that the transform's exponents count from the first sample of spectrum 0, whose
 * `number` (modulo CHANNELS) the first one has; with IS_SHIFTED an odd turn leaves a sign.
 *
 * Filters spectra first .. first + spectra - 1 of each stream. A work-item owns one column
 * of RUN spectra in a row of one stream: a coefficient is loaded once for RUN spectra; samples
 * that neighbouring work-items of a group share come from the cache. Sums go in pieces of PIECE taps, so
 * that long filters lose no digits.
 * Better: a window in registers (fir_slide), which needs the number of taps to be small. */
#ifndef RUN
#define RUN 4
#endif
#ifndef HOP
#define HOP CHANNELS
#define IS_SHIFTED 0
#endif
#define PIECE 64

#if HOP == CHANNELS
#define CACHE_NUMBER
#define CACHE_TURN(r) 0
#else
#define CACHE_NUMBER , uint number
#define CACHE_TURN(r) ((uint)((number + s + (r)) % CHANNELS * HOP % CHANNELS))
#endif

__kernel void fir_cache(const __global uchar *restrict in, ulong in_stride,
                        const __global float *restrict coeff, __global float2 *restrict filtered,
                        ulong first, ulong spectra, uint streams CACHE_NUMBER)
{
    const size_t n = PLACE_COLUMN;
    const size_t s = PLACE_PIECE(streams) * RUN;
    const size_t stream = PLACE_STREAM(streams);
    if (n >= CHANNELS || s >= spectra) {
        return;
    }
    const size_t count = min((size_t)RUN, (size_t)spectra - s);
    const __global raw_column *x =
        (const __global raw_column *)(in + stream * in_stride) + (first + s) * HOP + n;
    float2 sum[RUN];
    for (uint r = 0; r < RUN; r++) {
        sum[r] = (float2)(0);
    }
    for (uint t0 = 0; t0 < TAPS; t0 += PIECE) {
        float2 part[RUN];
        for (uint r = 0; r < RUN; r++) {
            part[r] = (float2)(0);
        }
        const uint t1 = min(t0 + PIECE, (uint)TAPS);
        for (uint t = t0; t < t1; t++) {
            const float2 b = column_coeff(coeff, t, n);
            for (uint r = 0; r < RUN; r++) {
                /* Beyond the last spectrum: the last one again; the result is dropped. */
                const size_t at = t * (size_t)CHANNELS + min((size_t)r, count - 1) * HOP;
                part[r] = column_fma(column_volts(x[at]), b, part[r]);
            }
        }
        for (uint r = 0; r < RUN; r++) {
            sum[r] += part[r];
        }
    }
    __global float2 *out = filtered + (s * streams + stream) * CHANNELS;
    for (uint r = 0; r < RUN; r++) {
        const uint turn = CACHE_TURN(r);
        const uint to = (uint)n + turn - (n + turn >= CHANNELS ? CHANNELS : 0);
        if (r < count) {
            out[r * (size_t)streams * CHANNELS + to] = (turn & IS_SHIFTED) != 0 ? -sum[r] : sum[r];
        }
    }
}
