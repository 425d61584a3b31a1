/* The filter of long spectra of complex numbers (C = RADIX0 RADIX1 RADIX2, a power of two): samples
 * are filtered by the item that loads them best, two neighbouring points at a time, not by the item
 * that transforms them. Comes after mixed_stages.cl, before ppf_fused.cl. Sums go to the first
 * butterflies through local memory, into the cells that these read and then fill: point f + k STEP,
 * k = 0 .. RADIX0 - 1, is in cell (f ^ k) + k STEP.
 *
 *   samples   the batch's first raw spectrum; [BATCH + TAPS - 1][CHANNELS]
 *   coeff     float [TAPS][CHANNELS], oldest sample first
 *
 * Why through local memory: an item that holds its points until it transforms them has hardly a
 * register left when it filters the last ones, so few loads are in flight; if one group has the
 * whole unit, there are no others. Here no points are held, each load brings two points, and sums
 * of both are one store (H200, C = 8192: a seventh of 1.49 ms; C = 4096: 4 % of 1.10).
 *
 * MIRRORED: the filter is the same from both ends (1), or but for its sign (-1: the order's shift
 * is folded in): coefficient t of point n is that of tap TAPS - 1 - t of point CHANNELS - 1 - n. An
 * item filters both, so each coefficient is loaded once: another 4 %. Either way all sums are made
 * in the same order, and are the same bits. */

#if NEIGHBOURS
#define PAIRS_ROUNDS (RADIX0 / 4)
#define PAIRS_ROWS (BATCH + TAPS - 1)

/* Two neighbouring columns as they are stored, by one load. Numbers of 32 bits become floats faster
 * than shorter ones (H200). */
#if FORMAT == FORMAT_I4
typedef uchar2 two_columns;
#elif FORMAT == FORMAT_I8
typedef uint two_columns;
#else
typedef uint2 two_columns;
#endif
#define PAIRS_SIGNED(word, up, down) ((float)((int)((word) << (up)) >> (down)))

/* (re, im) of the first, of the second, as they are stored. */
static inline float4 pair_volts(two_columns two)
{
#if FORMAT == FORMAT_I4
    return (float4)(column_stored(two.x), column_stored(two.y));
#elif FORMAT == FORMAT_I8
    return (float4)(PAIRS_SIGNED(two, 24, 24), PAIRS_SIGNED(two, 16, 24), PAIRS_SIGNED(two, 8, 24),
                    PAIRS_SIGNED(two, 0, 24));
#else
    return (float4)(PAIRS_SIGNED(two.x, 16, 16), PAIRS_SIGNED(two.x, 0, 16),
                    PAIRS_SIGNED(two.y, 16, 16), PAIRS_SIGNED(two.y, 0, 16));
#endif
}

/* All rows of two points. */
static inline void pair_load(const __global raw_column *restrict from, two_columns *rows)
{
    BF_LOOP(r, PAIRS_ROWS) rows[r] = *(const __global two_columns *)(from + r * CHANNELS);
}

/* Sums of all spectra of a batch, to the pair of cells at `to`; is_odd: the second point first. */
static inline void pair_sums(const two_columns *rows, const float2 *weight, int is_odd,
                             __local float4 *to)
{
    float4 window[BATCH], sum[BATCH];
    BF_LOOP(b, BATCH) sum[b] = (float4)(0);
    BF_LOOP(b, BATCH - 1) window[b] = pair_volts(rows[b]);
    BF_LOOP(t, TAPS)
    {
        const float2 w = weight[t];
        window[(t + BATCH - 1) % BATCH] = pair_volts(rows[t + BATCH - 1]);
        BF_LOOP(b, BATCH)
        {
            const float4 s = window[(t + b) % BATCH];
            sum[b] = (float4)(fma(s.x, w.x, sum[b].x), fma(s.y, w.x, sum[b].y),
                              fma(s.z, w.y, sum[b].z), fma(s.w, w.y, sum[b].w));
        }
    }
    BF_LOOP(b, BATCH)
    {
        /* The sum, as in FUSED_FILTER: of silence, whose sum is 0, the conjugate is -0. */
        const float4 s = CONJUGATE ? (float4)(sum[b].x, -sum[b].y, sum[b].z, -sum[b].w) : sum[b];
        to[b * (SPAN / 2)] = is_odd ? s.zwxy : s;
    }
}

/* All points of a batch that has all its samples: in each round two neighbours, and their mirror
 * image. Half of the items have one k, half another that is as odd, so that whether cells are
 * exchanged is known when this is compiled. */
static inline void pair_filter(const __global raw_column *restrict samples,
                               const __global float *restrict coeff, uint item,
                               __local float4 *cells)
{
    const uint first = item / (STEP / 2) * PAIRS_ROUNDS; /* k of the first round */
    const uint f = item % (STEP / 2) * 2, g = STEP - 2 - f;
    BF_LOOP(r, PAIRS_ROUNDS)
    {
        const uint k = first + r, l = RADIX0 - 1 - k;
        two_columns rows[PAIRS_ROWS], image[PAIRS_ROWS];
        float2 weight[TAPS], other[TAPS];
        pair_load(samples + f + k * STEP, rows);
        pair_load(samples + g + l * STEP, image);
        BF_LOOP(t, TAPS)
        weight[t] = *(const __global float2 *)(coeff + t * CHANNELS + f + k * STEP);
#if MIRRORED
        BF_LOOP(t, TAPS)
        other[t] = MIRRORED > 0 ? weight[TAPS - 1 - t].yx : -weight[TAPS - 1 - t].yx;
#else
        BF_LOOP(t, TAPS)
        other[t] = *(const __global float2 *)(coeff + t * CHANNELS + g + l * STEP);
#endif
        pair_sums(rows, weight, r % 2, cells + ((f ^ (k & ~1U)) + k * STEP) / 2);
        pair_sums(image, other, (r + 1) % 2, cells + ((g ^ (l & ~1U)) + l * STEP) / 2);
    }
}

/* No address is made before the loop over batches, into a register that is not there. */
#if MODE == 2
#define PAIRS_ITEM (item + zero)
#else
#define PAIRS_ITEM item
#endif

/* First butterflies, in place. */
#define PAIRS_FIRST                                                                                \
    BF_LOOP(b, BATCH)                                                                              \
    {                                                                                              \
        float2 u[RADIX0];                                                                          \
        const uint f = PAIRS_ITEM;                                                                 \
        BF_LOOP(k, RADIX0) u[k] = cells[b * SPAN + (f ^ k) + k * STEP];                            \
        FUSED_FFT(RADIX0)(u);                                                                      \
        BF_LOOP(k, RADIX0) cells[b * SPAN + (f ^ k) + k * STEP] = u[k];                            \
    }

/* Last butterflies of a spectrum, right before it is written: values of all spectra of a batch at
 * once would fill the registers (C = 8192: 1.32 ms; 4096: 1.08). */
#define PAIRS_LAST(b)                                                                              \
    {                                                                                              \
        const uint q = PAIRS_ITEM % RADIX0, place = PAIRS_ITEM / RADIX0 * RADIX2 + q * STEP;       \
        BF_LOOP(k, RADIX2) v[b][k] = cells[b * SPAN + place + (k ^ q)];                            \
        FUSED_TWIDDLED(RADIX2)(v[b], last);                                                        \
    }
#endif
