/* From transforms to products: splits the half-length transform of real data, keeps KEPT channels from
 * KEPT_FIRST on, detects and adds up.
 *
 *   in         float2 [spectra][streams][CHANNELS]   transforms of filtered spectra, the first of them
 *                                                    number `first` of the observation
 *   twiddles   float2 [CHANNELS] exp(-2 pi i k / (2 CHANNELS)), for real data
 *   out        KIND 0: float2 [..][streams][KEPT]    spectra
 *              KIND 1: float  [..][streams][KEPT]    power of each spectrum
 *              KIND 2: float  [..][streams][KEPT]    grains: sums of power
 *
 * Row 0 of `out` belongs to spectrum `base` (or its grain). Grains are cut at multiples of GRAIN
 * spectra of the observation and of `integrate`; `both` is their least common multiple, 0 if it has no
 * 64 bits. Inside of a grain power is added in the order of spectra. A work-item owns one channel
 * of one stream, and of one spectrum, or one run of spectra up to the next multiple of GRAIN: then no
 * grain has two owners.
 * Better: all kinds of one job in one pass. */
#ifndef KIND
#define KIND 0
#define KEPT_FIRST 0
#define KEPT CHANNELS
#endif
#define GRAIN 16

/* X[k] of 2 CHANNELS real samples from the transform Z of their pairs. */
static inline float2 bin_of(const __global float2 *restrict z, const __global float2 *restrict twiddles,
                            uint k)
{
#if COMPLEX
    return z[k];
#else
    const float2 a = z[k];
    const float2 b = z[k == 0 ? 0 : CHANNELS - k];
    const float2 w = twiddles[k];
    const float2 even = (float2)(0.5f * (a.x + b.x), 0.5f * (a.y - b.y));
    /* -i/2 (Z[k] - conj Z[C - k]) */
    const float2 odd = (float2)(0.5f * (a.y + b.y), 0.5f * (b.x - a.x));
    return (float2)(even.x + fma(odd.x, w.x, -(odd.y * w.y)),
                    even.y + fma(odd.x, w.y, odd.y * w.x));
#endif
}

static inline float power_of(float2 bin)
{
    return fma(bin.x, bin.x, bin.y * bin.y);
}

/* Borders of grains at or before spectrum `at`. */
static inline ulong borders(ulong at, ulong integrate, ulong both)
{
    return at / GRAIN + at / integrate - (both ? at / both : 0);
}

__kernel void detect(const __global float2 *restrict in, __global float *restrict out,
                     const __global float2 *restrict twiddles, ulong first, ulong base,
                     ulong integrate, ulong both, ulong spectra, uint streams)
{
    const size_t k = PLACE_COLUMN;
    const size_t stream = PLACE_STREAM(streams);
    const size_t row_length = (size_t)streams * KEPT;
    const size_t at = stream * KEPT + k;
    if (k >= KEPT) {
        return;
    }
#if KIND == 2
    const ulong begin = max(first, (first / GRAIN + PLACE_PIECE(streams)) * GRAIN);
    const ulong end = min(first + spectra, (first / GRAIN + PLACE_PIECE(streams) + 1) * GRAIN);
    if (begin >= end) {
        return;
    }
    ulong grain = borders(begin, integrate, both) - borders(base, integrate, both);
    ulong place = begin % integrate;
    float sum = 0;
    for (ulong number = begin; number < end; number++) {
        if (place == integrate) {
            out[grain * row_length + at] = sum;
            grain++;
            place = 0;
            sum = 0;
        }
        const __global float2 *z = in + ((number - first) * streams + stream) * CHANNELS;
        sum += power_of(bin_of(z, twiddles, KEPT_FIRST + (uint)k));
        place++;
    }
    out[grain * row_length + at] = sum;
#else
    const size_t s = PLACE_PIECE(streams);
    if (s >= spectra) {
        return;
    }
    const __global float2 *z = in + (s * streams + stream) * CHANNELS;
    const float2 bin = bin_of(z, twiddles, KEPT_FIRST + (uint)k);
    const size_t row = (size_t)(first - base) + s;
#if KIND == 0
    vstore2(bin, row * row_length + at, out);
#else
    out[row * row_length + at] = power_of(bin);
#endif
#endif
}
