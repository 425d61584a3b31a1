/* Fine channels, first step: FIR over TAPS raw spectra, and the transforms of the columns, in one
 * kernel. Comes behind samples.cl, steps.cl and butterflies.cl.
 *
 * A spectrum of C = N1 N2 N3 channels is a matrix: sample n = (n1 N2 + n2) N3 + n3, channel
 * k = k1 + N1 (k2 + N2 k3). This kernel transforms n1 to k1 = 0 .. POINTS - 1 for every column
 * (n2, n3) and turns the result by exp(-2 pi i k1 (n2 N3 + n3) / C); what is left are transforms of
 * rows of LENGTH / POINTS points, one for each k1. With FILTERS 0 it does the same inside of such
 * rows (n2 to k2 for every n3), in place.
 *
 *   in       FILTERS: raw samples [from + spectra + TAPS - 1][C], stream s from byte s * in_stride on
 *   coeff    float [TAPS][C] ([TAPS][C][2] if real), oldest sample first
 *   factors  of the stages behind the first, as in ppf_fused.cl
 *   turns    float2 [POINTS][LENGTH / POINTS]: exp(-2 pi i k1 m / LENGTH)
 *   work     float2 [streams][spectra][LENGTH], spectra from number `from` of the block on; FILTERS
 *            0: [spectra][LENGTH]
 *
 * A work-group owns WIDTH neighbouring columns of BATCH consecutive spectra, an item VALUES points
 * of each of these. It filters just the points that its first butterflies need, those of WIDE
 * neighbouring columns, so that it loads them as one vector; then points change owners through
 * local memory, where columns lie side by side: no bank conflict, no padding.
 *
 * Why this shape is fast (H200, 2^28 samples of 8 bits, 8 taps): samples are read once, in pieces of
 * 2 WIDTH bytes; a batch of 5 spectra shares rows, coefficients (C T floats, from L2) and turns; 128
 * registers an item leave 16 warps on a unit (137: 0.95 ms instead of 0.78). Columns of 16 points take
 * 0.78 ms, 32 0.81, 64 0.91, 128 1.11, 256 1.44: their groups are large, and few. NEAR groups side by
 * side have neighbouring columns, behind them come batches, then further columns: of up to 2^17
 * channels all groups are near, so that DRAM is read in long pieces; of longer spectra 64 of them,
 * so that coefficients stay in L2 (C = 2^20: 0.87 ms, all 1.37). Slower: groups that stay for further
 * batches (0.78 becomes 1.03: loads no longer run ahead); half the values of twice the spectra, which
 * read samples and coefficients less often (relayed, C = 8192: 1.60 ms in all instead of 1.53).
 *
 * Every spectrum is computed by the same operations in the same order, whatever its place in the
 * batch: the last batch moves back so that it ends with the block, and owns new spectra only. */
#ifndef COLUMN_POINTS
#define COLUMN_POINTS 16
#define COLUMN_LENGTH CHANNELS
#define COLUMN_WIDTH 64
#define COLUMN_VALUES 8
#define COLUMN_BATCH 4
#define COLUMN_BUFFERS 4 /* spectra of the batch in local memory at a time; divides the batch */
#define COLUMN_NEAR 1
#define COLUMN_STAGES 2
#define COLUMN_RADIX0 2
#define COLUMN_RADIX1 8
#define COLUMN_RADIX2 1
#define COLUMN_FILTERS 1
#endif
#ifndef RELAYED
#define RELAYED 0
#endif

/* Sums of more taps are looped over, in pieces, as in ppf_fused.cl. */
#define FC_PIECE 64

#define FC_COLUMNS (COLUMN_LENGTH / COLUMN_POINTS)
#define FC_ITEMS (COLUMN_POINTS * COLUMN_WIDTH / COLUMN_VALUES)
#define FC_EACH (COLUMN_POINTS / COLUMN_VALUES) /* items of a column behind the first stage */
#define FC_SETS(radix) (COLUMN_VALUES / (radix))
#define FC_WIDE FC_SETS(COLUMN_RADIX0) /* neighbouring columns of the first stage: 1, 2 or 4 */
#define FC_SPAN (COLUMN_POINTS * COLUMN_WIDTH)
#define FC_FLOATS (COMPLEX ? 1 : 2) /* coefficients of a column */

#define FC_JOIN_(a, b) a##b
#define FC_JOIN(a, b) FC_JOIN_(a, b)

#if FORMAT == FORMAT_I4
#define FC_TYPE uchar
#define FC_PAIR 1
#elif FORMAT == FORMAT_I8
#define FC_TYPE char
#define FC_PAIR 2
#elif FORMAT == FORMAT_I16
#define FC_TYPE short
#define FC_PAIR 2
#else
#define FC_TYPE float
#define FC_PAIR 2
#endif

/* to[0 .. count - 1] = from[0 .. count - 1], by one load. */
#define FC_FETCH(count, type, from, to) FC_JOIN(FC_FETCH_, count)(type, from, to)
#define FC_FETCH_1(type, from, to) (to)[0] = *(from);
#define FC_FETCH_2(type, from, to)                                                                 \
    {                                                                                              \
        const FC_JOIN(type, 2) v2 = *(const __global FC_JOIN(type, 2) *)(from);                    \
        (to)[0] = v2.x;                                                                            \
        (to)[1] = v2.y;                                                                            \
    }
#define FC_FETCH_4(type, from, to)                                                                 \
    {                                                                                              \
        const FC_JOIN(type, 4) v4 = *(const __global FC_JOIN(type, 4) *)(from);                    \
        (to)[0] = v4.x;                                                                            \
        (to)[1] = v4.y;                                                                            \
        (to)[2] = v4.z;                                                                            \
        (to)[3] = v4.w;                                                                            \
    }
#define FC_FETCH_8(type, from, to)                                                                 \
    {                                                                                              \
        const FC_JOIN(type, 8) v8 = *(const __global FC_JOIN(type, 8) *)(from);                    \
        (to)[0] = v8.s0;                                                                           \
        (to)[1] = v8.s1;                                                                           \
        (to)[2] = v8.s2;                                                                           \
        (to)[3] = v8.s3;                                                                           \
        (to)[4] = v8.s4;                                                                           \
        (to)[5] = v8.s5;                                                                           \
        (to)[6] = v8.s6;                                                                           \
        (to)[7] = v8.s7;                                                                           \
    }
/* FC_WIDE and twice that, as numbers that FC_FETCH can join. */
#if COLUMN_VALUES == COLUMN_RADIX0
#define FC_WIDE_ 1
#define FC_TWICE_ 2
#elif COLUMN_VALUES == 2 * COLUMN_RADIX0
#define FC_WIDE_ 2
#define FC_TWICE_ 4
#else
#define FC_WIDE_ 4
#define FC_TWICE_ 8
#endif

#if COLUMN_FILTERS
#if FORMAT == FORMAT_I4
#define FC_PARTS FC_WIDE_
#else
#define FC_PARTS FC_TWICE_
#endif
#if COMPLEX
#define FC_COEFFS FC_WIDE_
#else
#define FC_COEFFS FC_TWICE_
#endif

static inline void fc_samples(const __global FC_TYPE *restrict from, float2 *out)
{
    FC_TYPE raw[FC_WIDE * FC_PAIR];
    FC_FETCH(FC_PARTS, FC_TYPE, from, raw)
    BF_LOOP(p, FC_WIDE)
    {
#if FORMAT == FORMAT_I4
        out[p] = column_volts(raw[p]);
#else
        out[p] = column_volts((raw_column)(raw[2 * p], raw[2 * p + 1]));
#endif
    }
}

static inline void fc_coefficients(const __global float *restrict from, float2 *out)
{
    float coeff[FC_WIDE * FC_FLOATS];
    FC_FETCH(FC_COEFFS, float, from, coeff)
    BF_LOOP(p, FC_WIDE)
    {
        out[p] = (float2)(coeff[FC_FLOATS * p], coeff[FC_FLOATS * p + FC_FLOATS - 1]);
    }
}

/* Numbers from a raw spectrum to the next: 32 bits where they do, which saves registers. */
#if (TAPS + COLUMN_BATCH) * 2 * CHANNELS < 1 << 30
#define FC_ROW (CHANNELS * (uint)FC_PAIR)
#define FC_TAP_ROW (CHANNELS * (uint)FC_FLOATS)
#else
#define FC_ROW (CHANNELS * (size_t)FC_PAIR)
#define FC_TAP_ROW (CHANNELS * (size_t)FC_FLOATS)
#endif
#define FC_TAP(tap, slot)                                                                          \
    {                                                                                              \
        float2 weight[FC_WIDE];                                                                    \
        fc_coefficients(h + (tap) * FC_TAP_ROW, weight);                       \
        fc_samples(x + ((tap) + COLUMN_BATCH - 1) * FC_ROW,                                        \
                   window[((slot) + COLUMN_BATCH - 1) % COLUMN_BATCH]);                            \
        BF_LOOP(b, COLUMN_BATCH)                                                                   \
        BF_LOOP(p, FC_WIDE)                                                                        \
        sum[b][p] = column_fma(window[((slot) + b) % COLUMN_BATCH][p], weight[p], sum[b][p]);      \
    }

/* FIR of FC_WIDE columns of a batch. x, h: the first column's first sample and coefficient. */
static inline void fc_fir(const __global FC_TYPE *restrict x, const __global float *restrict h,
                          float2 total[COLUMN_BATCH][FC_WIDE])
{
    float2 window[COLUMN_BATCH][FC_WIDE], sum[COLUMN_BATCH][FC_WIDE];
    BF_LOOP(r, COLUMN_BATCH - 1) fc_samples(x + r * FC_ROW, window[r]);
    BF_LOOP(b, COLUMN_BATCH) BF_LOOP(p, FC_WIDE) sum[b][p] = (float2)(0);
#if TAPS <= FC_PIECE
    BF_LOOP(t, TAPS) FC_TAP(t, t)
    BF_LOOP(b, COLUMN_BATCH) BF_LOOP(p, FC_WIDE) total[b][p] = sum[b][p];
#else
    BF_LOOP(b, COLUMN_BATCH) BF_LOOP(p, FC_WIDE) total[b][p] = (float2)(0);
    uint t = 0;
    for (uint end = 0; end < TAPS;) {
        end = min(end + FC_PIECE, (uint)TAPS);
        BF_LOOP(b, COLUMN_BATCH) BF_LOOP(p, FC_WIDE) sum[b][p] = (float2)(0);
        /* A ring would need a constant index: here the window shifts instead. */
        _Pragma("unroll 1") for (; t < end; t++)
        {
            FC_TAP(t, 0)
            BF_LOOP(b, COLUMN_BATCH - 1) BF_LOOP(p, FC_WIDE) window[b][p] = window[b + 1][p];
        }
        BF_LOOP(b, COLUMN_BATCH) BF_LOOP(p, FC_WIDE) total[b][p] = total[b][p] + sum[b][p];
    }
#endif
}

/* The same sums for a block of fewer than a batch of spectra, without a look at rows beyond its
 * end; for spectra beyond it those of the last one. */
static inline void fc_fir_few(const __global FC_TYPE *restrict x, const __global float *restrict h,
                              uint spectra, float2 total[COLUMN_BATCH][FC_WIDE])
{
    BF_LOOP(b, COLUMN_BATCH)
    {
        const __global FC_TYPE *row = x + min((uint)b, spectra - 1) * FC_ROW;
        float2 sum[FC_WIDE];
        BF_LOOP(p, FC_WIDE) total[b][p] = (float2)(0);
        BF_LOOP(p, FC_WIDE) sum[p] = (float2)(0);
        _Pragma("unroll 1") for (uint t = 0; t < TAPS; t++)
        {
            float2 sample[FC_WIDE], weight[FC_WIDE];
            fc_samples(row + t * FC_ROW, sample);
            fc_coefficients(h + t * FC_TAP_ROW, weight);
            BF_LOOP(p, FC_WIDE) sum[p] = column_fma(sample[p], weight[p], sum[p]);
            if ((t + 1) % FC_PIECE == 0 || t + 1 == TAPS) {
                BF_LOOP(p, FC_WIDE)
                {
                    total[b][p] = TAPS <= FC_PIECE ? sum[p] : total[b][p] + sum[p];
                    sum[p] = (float2)(0);
                }
            }
        }
    }
}
#else
/* FC_WIDE neighbouring points of each row of a batch. */
static inline void fc_points(const __global float2 *from, float2 points[COLUMN_BATCH][FC_WIDE])
{
    BF_LOOP(b, COLUMN_BATCH)
    {
        float parts[2 * FC_WIDE];
        const __global float *row = (const __global float *)(from + b * (size_t)COLUMN_LENGTH);
        FC_FETCH(FC_TWICE_, float, row, parts)
        BF_LOOP(p, FC_WIDE) points[b][p] = (float2)(parts[2 * p], parts[2 * p + 1]);
    }
}
#endif

/* f of butterfly p behind the first stage; where a value goes that `done` points and then `radix`
 * have been transformed of; where it comes from. Local memory: [point][column]. */
#define FC_APART (item / COLUMN_WIDTH + p * FC_EACH)
#define FC_TO(done, radix) ((f / (done)) * ((done) * (radix)) + f % (done) + (done)*q)
#define FC_FROM(radix) (f + q * (COLUMN_POINTS / (radix)))
#define FC_DONE1 COLUMN_RADIX0
#define FC_DONE2 (COLUMN_RADIX0 * COLUMN_RADIX1)
#define FC_FACTORS2 (FC_DONE1 * COLUMN_RADIX1 / 2)
#if COLUMN_STAGES == 2
#define FC_LAST COLUMN_RADIX1
#else
#define FC_LAST COLUMN_RADIX2
#endif

#if COLUMN_VALUES == COLUMN_RADIX0
#define FC_PUT_FIRST BF_LOOP(q, COLUMN_RADIX0) to[(f0 * COLUMN_RADIX0 + q) * COLUMN_WIDTH] = v[b][q];
#else
#define FC_PUT_FIRST                                                                               \
    BF_LOOP(q, COLUMN_RADIX0)                                                                      \
    BF_LOOP(p, FC_WIDE / 2)                                                                        \
    *(__local float4 *)&to[(f0 * COLUMN_RADIX0 + q) * COLUMN_WIDTH + 2 * p] =                      \
        (float4)(v[b][2 * p * COLUMN_RADIX0 + q], v[b][(2 * p + 1) * COLUMN_RADIX0 + q]);
#endif
#define FC_PUT(done, radix)                                                                        \
    BF_LOOP(p, FC_SETS(radix))                                                                     \
    {                                                                                              \
        const uint f = FC_APART;                                                                   \
        BF_LOOP(q, radix) to[FC_TO(done, radix) * COLUMN_WIDTH] = v[b][p * (radix) + q];           \
    }
#define FC_EXCHANGE(put, column, rr)                                                               \
    BF_LOOP(turn, COLUMN_BATCH / COLUMN_BUFFERS)                                                   \
    {                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        BF_LOOP(c, COLUMN_BUFFERS)                                                                 \
        {                                                                                          \
            const int b = turn * COLUMN_BUFFERS + c;                                               \
            __local float2 *to = cells + c * FC_SPAN + (column);                                   \
            put                                                                                    \
        }                                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        BF_LOOP(c, COLUMN_BUFFERS)                                                                 \
        BF_LOOP(p, FC_SETS(rr))                                                                    \
        {                                                                                          \
            const uint f = FC_APART;                                                               \
            BF_LOOP(q, rr)                                                                         \
            v[turn * COLUMN_BUFFERS + c][p * (rr) + q] =                                           \
                cells[c * FC_SPAN + FC_FROM(rr) * COLUMN_WIDTH + lane];                            \
        }                                                                                          \
    }
#define FC_STAGE(radix, done, from)                                                                \
    BF_LOOP(p, FC_SETS(radix))                                                                     \
    {                                                                                              \
        const uint f = FC_APART;                                                                   \
        float2 w[(radix) / 2];                                                                     \
        BF_LOOP(q, (radix) / 2) w[q] = factors[(from) + q * (done) + f % (done)];                  \
        BF_LOOP(b, COLUMN_BATCH) FC_JOIN(bf_twiddled, radix)(&v[b][p * (radix)], w);               \
    }

/* Loads that the first butterflies need for their k-th input: FC_WIDE columns, by `make`. */
#if COLUMN_FILTERS
#define FC_FROM_SAMPLES                                                                            \
    const __global FC_TYPE *x = samples + (begin + n) * FC_PAIR;                                   \
    const __global float *h = coeff + (begin + n) * FC_FLOATS;        
#else
#define FC_FROM_SAMPLES
#endif
#define FC_FIRST(make)                                                                             \
    {                                                                                              \
        const uint n = (f0 + k * (COLUMN_POINTS / COLUMN_RADIX0)) * FC_COLUMNS + first;            \
        FC_FROM_SAMPLES                                                                            \
        float2 sum[COLUMN_BATCH][FC_WIDE];                                                         \
        make;                                                                                      \
        BF_LOOP(b, COLUMN_BATCH)                                                                   \
        BF_LOOP(p, FC_WIDE) v[b][p * COLUMN_RADIX0 + k] = sum[b][p];                               \
    }

/* The group's work, of a kernel that has these names: from, the first column's points in row `base`
 * (FILTERS: samples, coeff), to, where they go; begin, the first column; cells, item, factors,
 * turns, wanted, spectra. */
#if COLUMN_FILTERS
#define FC_LOAD                                                                                    \
    if (spectra >= COLUMN_BATCH) {                                                                 \
        BF_LOOP(k, COLUMN_RADIX0) FC_FIRST(fc_fir(x, h, sum))                                      \
    } else {                                                                                       \
        BF_LOOP(k, COLUMN_RADIX0) FC_FIRST(fc_fir_few(x, h, spectra, sum))                         \
    }
#else
#define FC_LOAD BF_LOOP(k, COLUMN_RADIX0) FC_FIRST(fc_points(from + n, sum))
#endif
#if COLUMN_STAGES > 2
#define FC_BEHIND                                                                                  \
    FC_EXCHANGE(FC_PUT(FC_DONE1, COLUMN_RADIX1), lane, COLUMN_RADIX2)                              \
    FC_STAGE(COLUMN_RADIX2, FC_DONE2, FC_FACTORS2)
#else
#define FC_BEHIND
#endif
#define FC_GROUP                                                                                   \
    {                                                                                              \
        const uint lane = item % COLUMN_WIDTH;                                                     \
        /* in the first stage: the item's first column, and its f */                               \
        const uint first = item % (COLUMN_WIDTH / FC_WIDE) * FC_WIDE;                              \
        const uint f0 = item / (COLUMN_WIDTH / FC_WIDE);                                           \
        float2 v[COLUMN_BATCH][COLUMN_VALUES];                                                     \
        FC_LOAD                                                                                    \
        BF_LOOP(p, FC_WIDE)                                                                        \
        BF_LOOP(b, COLUMN_BATCH) FC_JOIN(bf_fft, COLUMN_RADIX0)(&v[b][p * COLUMN_RADIX0]);         \
        FC_EXCHANGE(FC_PUT_FIRST, first, COLUMN_RADIX1)                                            \
        FC_STAGE(COLUMN_RADIX1, FC_DONE1, 0)                                                       \
        FC_BEHIND                                                                                  \
        FC_READY                                                                                   \
        BF_LOOP(p, FC_SETS(FC_LAST))                                                               \
        {                                                                                          \
            const uint f = FC_APART;                                                               \
            float2 w[FC_LAST];                                                                     \
            BF_LOOP(q, FC_LAST) w[q] = turns[FC_FROM(FC_LAST) * FC_COLUMNS + begin + lane];        \
            BF_LOOP(b, COLUMN_BATCH)                                                               \
            if (base + b >= wanted && base + b < spectra) {                                        \
                __global float2 *row = to + b * (size_t)COLUMN_LENGTH + lane;                      \
                BF_LOOP(q, FC_LAST)                                                                \
                row[FC_FROM(FC_LAST) * FC_COLUMNS] = BF_MULTIPLY(v[b][p * FC_LAST + q], w[q]);     \
            }                                                                                      \
        }                                                                                          \
    }

#if !RELAYED /* else fine_relay.cl has the kernel, */
#define FC_READY /* and waits here until there is room */
__kernel __attribute__((reqd_work_group_size(FC_ITEMS, 1, 1))) void
fine_columns(
#if COLUMN_FILTERS
    const __global FC_TYPE *restrict in, ulong in_stride, const __global float *restrict coeff,
    ulong from,
#endif
    const __global float2 *restrict factors, const __global float2 *restrict turns,
    __global float2 *work, uint spectra)
{
    __local float2 cells[COLUMN_BUFFERS * FC_SPAN] __attribute__((aligned(16)));
    const uint item = get_local_id(0);
    const uint runs = (spectra + COLUMN_BATCH - 1) / COLUMN_BATCH;
    const uint behind = get_group_id(0) / COLUMN_NEAR; /* near groups, batches, columns, streams */
    const uint run = behind % runs;
    const uint piece = behind / runs * COLUMN_NEAR + get_group_id(0) % COLUMN_NEAR;
    const uint begin = piece % (FC_COLUMNS / COLUMN_WIDTH) * COLUMN_WIDTH; /* the first column */
    const uint wanted = run * COLUMN_BATCH;
    const uint base = spectra < COLUMN_BATCH ? 0 : min(wanted, spectra - COLUMN_BATCH);
#if COLUMN_FILTERS
    const uint stream = piece / (FC_COLUMNS / COLUMN_WIDTH);
    __global float2 *to = work + ((size_t)stream * spectra + base) * COLUMN_LENGTH + begin;
    const __global FC_TYPE *samples =
        (const __global FC_TYPE *)((const __global uchar *)in + stream * in_stride) +
        (from + base) * (CHANNELS * (size_t)FC_PAIR);
#else
    __global float2 *to = work + (size_t)base * COLUMN_LENGTH + begin;
    const __global float2 *from = to;
#endif
    FC_GROUP
}
#endif
