/* From transforms to products: splits the half-length transform of real data, keeps KEPT channels from
 * KEPT_FIRST on, detects and adds up.
 *
 *   in         float2 [spectra][streams][CHANNELS]   transforms of filtered spectra, the first of them
 *                                                    number `first` of the observation
 *   twiddles   float2 [CHANNELS] exp(-2 pi i k / (2 CHANNELS)), for real data
 *   out        KIND 0: float2 [..][streams][KEPT]    spectra
 *              KIND 1: float  [..][sums][KEPT]       what is detected, of each spectrum
 *              KIND 2: float  [..][sums][KEPT]       grains: sums of it
 *              KIND 3: step_pair [..][streams][KEPT] spectra in few bits (steps.cl); `counts_at`
 *                      uints from its beginning stands uint [blocks][streams][KEPT][2], of each
 *                      `scale_rows` spectra of the observation, to which is added what is clipped
 *   factors    KIND 3: float [streams][KEPT]
 *
 * DETECTED 0 is power, |Y|^2, and 2 its square, [streams] of them; 1 is coherency: streams are
 * [outer][2][inner], sums [outer][4][inner]: |A|^2, |B|^2, Re A B*, Im A B*.
 *
 * Row 0 of `out` belongs to spectrum `base` (or its grain). Grains are cut at multiples of GRAIN
 * spectra of the observation and of `integrate`; `both` is their least common multiple, 0 if it has no
 * 64 bits. Inside of a grain is added in the order of spectra. A work-item owns one channel
 * of one stream (or of a pair of them), and of one spectrum, or one run of spectra up to the next multiple of GRAIN: then no
 * grain has two owners.
 * Better: all kinds of one job in one pass. */
#ifndef KIND
#define KIND 0
#define KEPT_FIRST 0
#define KEPT CHANNELS
#endif
#ifndef DETECTED
#define DETECTED 0
#endif
#define GRAIN 16
#define SUMS (DETECTED == 1 ? 4 : 1)

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

/* The SUMS of channel k of a spectrum; of a pair the other polarisation's lies `other` numbers on. */
static inline void detect_bin(const __global float2 *restrict z, const __global float2 *restrict twiddles,
                              uint k, size_t other, float *sums)
{
    const float2 a = bin_of(z, twiddles, k);
#if DETECTED == 1
    const float2 b = bin_of(z + other, twiddles, k);
    sums[0] = power_of(a);
    sums[1] = power_of(b);
    sums[2] = fma(a.x, b.x, a.y * b.y);
    sums[3] = fma(a.y, b.x, -(a.x * b.y));
#elif DETECTED == 2
    sums[0] = power_of(a) * power_of(a);
#else
    sums[0] = power_of(a);
#endif
}

static inline void put_sums(__global float *restrict out, size_t step, const float *sums)
{
    for (int i = 0; i < SUMS; i++) {
        out[i * step] = sums[i];
    }
}

#if KIND == 3
__kernel void detect(const __global float2 *restrict in, __global step_pair *restrict out,
                     const __global float2 *restrict twiddles, ulong first, ulong base,
                     ulong spectra, uint streams, const __global float *restrict factors,
                     ulong counts_at, ulong scale_rows)
{
    const size_t k = PLACE_COLUMN;
    const size_t stream = PLACE_STREAM(streams);
    const size_t s = PLACE_PIECE(streams);
    const size_t row_length = (size_t)streams * KEPT;
    const size_t at = stream * KEPT + k;
    if (k >= KEPT || s >= spectra) {
        return;
    }
    const __global float2 *z = in + (s * streams + stream) * CHANNELS;
    const size_t block = (first + s) / scale_rows - base / scale_rows;
    __global uint *counts = (__global uint *)out + counts_at + (block * row_length + at) * 2;
    step_put(bin_of(z, twiddles, KEPT_FIRST + (uint)k), factors[at],
             out + ((size_t)(first - base) + s) * row_length + at, counts);
}
#else
__kernel void detect(const __global float2 *restrict in, __global float *restrict out,
                     const __global float2 *restrict twiddles, ulong first, ulong base,
                     ulong integrate, ulong both, ulong spectra, uint streams, uint inner)
{
    const size_t k = PLACE_COLUMN;
#if DETECTED == 1
    const uint places = streams / 2;
    const size_t place_of = PLACE_STREAM(places);
    const size_t stream = place_of / inner * 2 * inner + place_of % inner;
    const size_t row_length = (size_t)streams * 2 * KEPT;
    const size_t at = (place_of / inner * 4 * inner + place_of % inner) * KEPT + k;
#else
    const uint places = streams;
    const size_t stream = PLACE_STREAM(places);
    const size_t row_length = (size_t)streams * KEPT;
    const size_t at = stream * KEPT + k;
#endif
    const size_t step = (size_t)inner * KEPT;
    const size_t other = (size_t)inner * CHANNELS;
    if (k >= KEPT) {
        return;
    }
#if KIND == 2
    const ulong begin = max(first, (first / GRAIN + PLACE_PIECE(places)) * GRAIN);
    const ulong end = min(first + spectra, (first / GRAIN + PLACE_PIECE(places) + 1) * GRAIN);
    if (begin >= end) {
        return;
    }
    ulong grain = borders(begin, integrate, both) - borders(base, integrate, both);
    ulong place = begin % integrate;
    float sum[SUMS];
    for (int i = 0; i < SUMS; i++) {
        sum[i] = 0;
    }
    for (ulong number = begin; number < end; number++) {
        if (place == integrate) {
            put_sums(out + grain * row_length + at, step, sum);
            grain++;
            place = 0;
            for (int i = 0; i < SUMS; i++) {
                sum[i] = 0;
            }
        }
        const __global float2 *z = in + ((number - first) * streams + stream) * CHANNELS;
        float one[SUMS];
        detect_bin(z, twiddles, KEPT_FIRST + (uint)k, other, one);
        for (int i = 0; i < SUMS; i++) {
            sum[i] += one[i];
        }
        place++;
    }
    put_sums(out + grain * row_length + at, step, sum);
#else
    const size_t s = PLACE_PIECE(places);
    if (s >= spectra) {
        return;
    }
    const __global float2 *z = in + (s * streams + stream) * CHANNELS;
    const size_t row = (size_t)(first - base) + s;
#if KIND == 0
    vstore2(bin_of(z, twiddles, KEPT_FIRST + (uint)k), row * row_length + at, out);
#else
    float sum[SUMS];
    detect_bin(z, twiddles, KEPT_FIRST + (uint)k, other, sum);
    put_sums(out + row * row_length + at, step, sum);
#endif
#endif
}
#endif
