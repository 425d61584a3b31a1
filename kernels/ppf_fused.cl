/* Polyphase filter bank in one kernel: FIR over TAPS raw spectra, then the transform to CHANNELS
 * channels. Comes after steps.cl and butterflies.cl.
 *
 *   in        stream s begins at byte s * in_stride (a multiple of 16); raw samples
 *             [spectra + TAPS - 1][P], complex: P = CHANNELS pairs (re, im), or one byte of two
 *             nibbles; real: P = 2 * CHANNELS numbers
 *             (HOP samples or pairs a spectrum)
 *   coeff     float [TAPS][P], oldest sample first; FOURS: [TAPS / 4][P][4]; oversampled:
 *             [1 + TAPS + 1][P], the first and the last P are zeros
 *   twiddles  fused_twiddles() of fused.c: for each stage after the first, of `radix` after
 *             `done` points, [radix / 2][done], the powers that butterflies.cl names (radices that
 *             are no power of two: [radix - 1][done]); after them, for real input, [CHANNELS]:
 *             -i exp(-pi i k / CHANNELS)
 *   out       MODE 0: float2 [spectra][streams][KEPT]   spectra
 *             MODE 1: float  [spectra][streams][KEPT]   |Y|^2
 *             MODE 2: float  [grains][streams][KEPT]    sum of |Y|^2 over a grain (see grains.h);
 *             the first spectrum has the number `first`, dumps begin at multiples of `integrate`
 *             MODE 3: step_pair [spectra][streams][KEPT]   spectra in few bits (steps.cl);
 *             `counts_at` uints from its beginning stands uint [blocks][streams][KEPT][2], of each
 *             `integrate` spectra of the observation: counts of clipped numbers are added
 *   factors   MODE 3: float [streams][KEPT]
 *   found     CHECKED: uint [FOUND][2]: the first of each two are added the samples that are
 *             missing (no finite numbers) among the first `counted` raw spectra of each stream
 *
 * A team of CHANNELS / VALUES work-items owns a batch of BATCH consecutive spectra of a stream;
 * TEAMS teams make a work-group. In stage i, whose radix is R, an item owns the points
 * f + k * CHANNELS / R, k = 0 .. R - 1, of every spectrum of the batch, for VALUES / R different f:
 * adjacent ones in the first stage, so that it loads them as one vector, else CHANNELS / VALUES
 * apart. It filters just the points that its first butterflies need: nothing passes through memory
 * between filter and transform. Between stages (Stockham order: no bit reversal) the points change
 * owners through local memory.
 * Real input is filtered as pairs z[n] = y[2n] + i y[2n+1], and the spectrum of z is split into
 * that of y at the end (one exchange more).
 *
 * Why this shape is fast (H200, C = 1024): 8 values an item and at most 128 registers keep 16 warps
 * on a unit, which hides the latency of L2; a batch of 4 or 5 spectra shares every row, conversion,
 * coefficient and twiddle that it loads (a row is loaded (BATCH + TAPS - 1) / BATCH times); local
 * memory has no bank conflict; taps and points are unrolled in one piece without a branch, so that
 * loads run ahead of the sums (a branch between points costs a tenth). 16 values an item save an
 * exchange, but halve the warps or the batch: 1.06 ms against 0.90 for 2^28 8-bit samples, 8 taps.
 * Factors come before butterflies, whose tables are small then (5 KB instead of 24 KB, which L1
 * keeps) and whose pairs are six fused operations. Where sums of power leave registers for it, two
 * spectra go through local memory as one cell of 16 bytes, half as many accesses: 0.81 ms for
 * power. In few bits spectra cost hardly more than power, 0.83 ms: nothing is clipped in most
 * batches, and one `or` of all their rounded numbers detects that: then all are stored without a
 * branch between. Otherwise, or at a block's end, one number follows the other, unrolled, too (else
 * the values went through memory: 1.24 ms). Where a number in a hundred is clipped, every batch
 * goes both ways: 1.53 ms. Spectra are written past the caches, and rows are prefetched as far
 * ahead as groups are in flight, so that L2 has the rows in time: 1.06 ms instead of 1.28 for C =
 * 1000; either alone gains nothing. Where all channels are 2 VALUES^3 (1024), the middle of three
 * stages takes twice the values of half the spectra: two exchanges instead of three, and batches as
 * large. With numbers of 32 bits made floats, four coefficients by one load, and the next rows
 * prefetched: 0.72 ms. Floats are checked after the sums, which a NaN sample makes NaN: two
 * operations for a number instead of a pass through memory (0.56 ms). Only then the filter is run
 * again, with a check of each sample.
 *
 * The limit: rows that several groups load are read again from L2, which binds for 32-bit samples
 * and many taps (those go in rounds of 16, unrolled: one by one, or 64 in one piece, they wait for
 * their loads). Tried without gain: several teams of a group that share rows in L1 (they wait for
 * each other at barriers), groups that stay and walk (registers; and no order of groups puts
 * neighbours on one unit), 32 x 32 points with one exchange, conversion by byte permutation, sums
 * added up by the last group of a dump (its fence costs what the second kernel does). Clusters of
 * groups are not in OpenCL.
 *
 * Long spectra use mixed/mixed_stages.cl: three of C = 4096 at a time take 96 KiB of local memory,
 * so that two groups share a unit, and pass it in place: three barriers a batch instead of eight,
 * and a third fewer rows and coefficients from L2. Three of 8192 take 192 KiB, and the unit is idle
 * while the only group waits. So their samples are not filtered by the item that transforms them,
 * see mixed/mixed_filter.cl: 1.05 and 1.30 ms instead of 1.39 and 1.82. Coefficients come from L1
 * then, in part; samples past it 5 % slower, coefficients 20 %. No gain: groups that stay and walk
 * (registers: 1.5 and 2.2 ms), half a butterfly of 32 points an item where a whole one leaves half
 * of the items idle.
 *
 * Oversampled (HOP < CHANNELS), points are places of the turned spectrum: see hop_fir(). HOP is a
 * multiple of FUSED_WIDE then, so that neighbours stay neighbours. Coefficients that are not shared
 * bind (1.32 ms at 32/27); shared by the two halves of a batch (APART), in batches of four whose
 * middle stage is made in halves, with rows prefetched: 1.11 ms. Tried without gain there: no loads
 * of coefficients that are 0, samples past L1 (a quarter more), conversion by byte permutation or
 * by numbers of 32 bits, 16 values an item, no turn of points at all but a ninth row of samples and
 * coefficients for 8 taps, which are 0 where they are not needed (750 instructions of 3100 less, 0
 * to a tenth more time: loads bind, not instructions). Such rows only where a turn by one place
 * needs them would gain 1 %.
 *
 * Every spectrum is computed by the same operations in the same order, whatever its place in the
 * batch: the last batch moves back so that it ends with the block, and owns new spectra only. */

#ifndef CHANNELS
#define CHANNELS 1024
#define TAPS 8
#define FORMAT 1        /* 0: I4, 1: I8, 2: I16, 3: F32 */
#define COMPLEX 1       /* 0: real samples */
#define CONJUGATE 0     /* 1: take the complex conjugate of every sample */
#define NIBBLE_OFFSET 0 /* I4, 1: a nibble's value is nibble - 8, 0: two's complement */
#define NIBBLE_HIGH_RE 1 /* I4, 1: the real part is the high nibble */
#define KEPT_FIRST 0    /* channels KEPT_FIRST .. KEPT_FIRST + KEPT - 1 are written */
#define KEPT 1024
#define MODE 0
#define VALUES 8
#define BATCH 4
#define TEAMS 1
#define STAGES 4
#define RADIX0 4
#define RADIX1 8
#define RADIX2 8
#define RADIX3 4
#define BUFFERS 4 /* spectra of a team that fit local memory at a time, 1 .. BATCH */
#define SPLIT 0   /* 1: real and imaginary parts go through local memory one after the other */
#define PADDED 0  /* 1: local memory is padded by 1/16; 0: addresses are swizzled by ... */
#define SWIZZLE0 3 /* ... 4 bits from this one on, for each exchange (0: not at all) */
#define SWIZZLE1 3
#define SWIZZLE2 0
#define STREAMING 0 /* 1: spectra go past the caches (NVIDIA only) */
#define PAIRED 0    /* 1: two spectra of a batch make one cell of local memory */
#define NEAR 0      /* 1: points have one address of their item, their k is in the instruction */
#define FOURS 0     /* 1: four coefficients of a point by one load */
#define IN_PLACE 0  /* 1: the stages of mixed/mixed_stages.cl */
#define NEIGHBOURS 0 /* 1: the filter of mixed/mixed_filter.cl */
#define MIRRORED 0  /* NEIGHBOURS: 1: the filter is the same from both ends, -1: but for its sign */
#define AHEAD 0     /* batches ahead of which rows are asked for; 0: not at all (NVIDIA only) */
#define CHECKED 0   /* 1: floats that are no finite numbers count as zero volts, and are counted */
#define FOUND 1024  /* CHECKED: places to count in */
#define APART 0     /* > 0: a batch's second half begins as many spectra behind its first; MODE 0, 1 */
#endif

/* Sums of more taps than FUSED_WHOLE are looped over in rounds, and cut into pieces: a float sum of
 * thousands of products would lose the digits that the transform keeps. */
#define FUSED_PIECE 64
#define FUSED_WHOLE 31
#define FUSED_ROUND 16 /* a divisor of a piece */
#define FUSED_GRAIN 16

/* Samples (real: pairs) from one spectrum to the next; fewer than CHANNELS: oversampled. */
#ifndef HOP
#define HOP CHANNELS
#define IS_SHIFTED 0 /* 1: the order's shift is folded into the coefficients */
#endif

/* The b-th spectrum of a batch, from its first one on; the first of batch i; batches of a stream. */
#if APART
#define FUSED_SPECTRUM(b) ((b) / (BATCH / 2) * APART + (b) % (BATCH / 2))
#define FUSED_ROUND_BATCHES (2 * APART / BATCH) /* that fill each other's gaps */
#define FUSED_FIRST(i)                                                                             \
    ((long)((i) / FUSED_ROUND_BATCHES) * (2 * APART) + (i) % FUSED_ROUND_BATCHES * (BATCH / 2))
#define FUSED_BATCHES(spectra)                                                                     \
    ((uint)(((spectra) + 2 * APART - 1) / (2 * APART)) * FUSED_ROUND_BATCHES)
#else
#define FUSED_SPECTRUM(b) (b)
#endif

/* Up to which spectrum batch i of a stream, whose first is `base`, asks for samples. Where batches
 * fill each other's gaps their numbers say who asks for what: else a quarter would be asked for
 * twice, and a quarter not at all. */
#if APART
#define FUSED_ASKS(base, i) ((long)((i) + AHEAD) * BATCH)
#else
#define FUSED_ASKS(base, i) ((base) + AHEAD * BATCH)
#endif

#define FUSED_ITEMS (CHANNELS / VALUES) /* work-items of a team */
#define FUSED_SETS(radix) (VALUES / (radix)) /* butterflies of an item in a stage */
#define FUSED_WIDE FUSED_SETS(RADIX0) /* adjacent points of the first stage: 1, 2 or 4 */

/* Radices VALUES, 2 VALUES, VALUES of batches of four: see FUSED_CELL. */
#define FUSED_HALVES (STAGES == 3 && RADIX1 == 2 * VALUES && !IN_PLACE)

/* Names with a number that is a macro: FUSED_FFT(RADIX0) is bf_fft8. */
#define FUSED_JOIN_(a, b) a##b
#define FUSED_JOIN(a, b) FUSED_JOIN_(a, b)
#define FUSED_FFT(radix) FUSED_JOIN(bf_fft, radix)

/* Raw samples: numbers of FUSED_TYPE, FUSED_PAIR of them a pair (re, im). */
#if FORMAT == 0
#define FUSED_TYPE uchar
#define FUSED_PAIR 1
#elif FORMAT == 1
#define FUSED_TYPE char
#define FUSED_PAIR 2
#elif FORMAT == 2
#define FUSED_TYPE short
#define FUSED_PAIR 2
#else
#define FUSED_TYPE float
#define FUSED_PAIR 2
#endif
typedef FUSED_TYPE fused_raw;
#define FUSED_ROW (CHANNELS * FUSED_PAIR) /* numbers from a raw spectrum to the next */
#define FUSED_FLOATS (COMPLEX ? 1 : 2)    /* coefficients of a pair */


/* FUSED_FETCH(count)(type, from, to): to[0 .. count - 1] = from[0 .. count - 1], by one load. */
#define FUSED_FETCH(count) FUSED_JOIN(FUSED_FETCH_, count)
#define FUSED_FETCH_1(type, from, to) (to)[0] = *(from);
#define FUSED_FETCH_2(type, from, to)                                                              \
    {                                                                                              \
        const FUSED_JOIN(type, 2) two = *(const __global FUSED_JOIN(type, 2) *)(from);             \
        (to)[0] = two.x;                                                                           \
        (to)[1] = two.y;                                                                           \
    }
#define FUSED_FETCH_4(type, from, to)                                                              \
    {                                                                                              \
        const FUSED_JOIN(type, 4) four = *(const __global FUSED_JOIN(type, 4) *)(from);            \
        (to)[0] = four.x;                                                                          \
        (to)[1] = four.y;                                                                          \
        (to)[2] = four.z;                                                                          \
        (to)[3] = four.w;                                                                          \
    }
#define FUSED_FETCH_8(type, from, to)                                                              \
    {                                                                                              \
        FUSED_FETCH_4(type, from, to)                                                              \
        FUSED_FETCH_4(type, (from) + 4, (to) + 4)                                                  \
    }

/* Numbers of a vector of raw pairs, coefficients of one: constants that FUSED_FETCH can join. */
#if FORMAT == 0
#define FUSED_PARTS FUSED_WIDE_
#else
#define FUSED_PARTS FUSED_TWICE_
#endif
#if COMPLEX
#define FUSED_COEFFS FUSED_WIDE_
#else
#define FUSED_COEFFS FUSED_TWICE_
#endif
#if FUSED_WIDE == 1
#define FUSED_WIDE_ 1
#define FUSED_TWICE_ 2
#elif FUSED_WIDE == 2
#define FUSED_WIDE_ 2
#define FUSED_TWICE_ 4
#else
#define FUSED_WIDE_ 4
#define FUSED_TWICE_ 8
#endif

#if AHEAD
/* Asks for the samples that the last BATCH spectra before spectrum `end` need and those before them
 * do not, to be near when they are wanted; all items of a team together. */
static inline void fused_ask(const __global fused_raw *restrict samples, long end, uint item)
{
    enum { SECTOR = 32, BYTES = BATCH * HOP * FUSED_PAIR * sizeof(fused_raw) };
    const __global uchar *from =
        (const __global uchar *)(samples +
                                 ((end - BATCH - 1) * HOP + TAPS * CHANNELS) * FUSED_PAIR);
    BF_LOOP(i, (BYTES + SECTOR * FUSED_ITEMS - 1) / (SECTOR * FUSED_ITEMS))
    {
        const uint at = (i * FUSED_ITEMS + item) * SECTOR;
        if (BYTES % (SECTOR * FUSED_ITEMS) == 0 || at < BYTES) {
            __asm__ volatile("prefetch.global.L2 [%0];" : : "l"(from + at)); /* PTX */
        }
    }
}
#endif

/* FUSED_WIDE adjacent pairs, as floats; what is missing among them is not looked for. */
static inline void fused_samples(const __global fused_raw *restrict from, float2 *out)
{
#if FORMAT == 1 && FUSED_WIDE == 1
    /* Numbers of 32 bits become floats in a quarter of the time that those of 8 take (H200). */
    const int both = *(const __global short *)from;
    out[0] = (float2)((float)((int)((uint)both << 24) >> 24), (float)(both >> 8));
#else
    fused_raw raw[FUSED_WIDE * FUSED_PAIR];
    FUSED_FETCH(FUSED_PARTS)(FUSED_TYPE, from, raw)
    BF_LOOP(p, FUSED_WIDE)
    {
#if FORMAT == 0
        /* Two's complement and a flipped sign bit make a nibble binary with an offset. */
        const int byte = NIBBLE_OFFSET ? raw[p] : raw[p] ^ 0x88;
        const float high = (float)((byte >> 4) - 8), low = (float)((byte & 15) - 8);
        out[p] = NIBBLE_HIGH_RE ? (float2)(high, low) : (float2)(low, high);
#else
        out[p] = (float2)((float)raw[2 * p], (float)raw[2 * p + 1]);
#endif
    }
#endif
}

/* How many samples of a pair are missing: two parts make one sample if complex. */
static inline uint fused_missing(float2 pair)
{
    const uint re = !isfinite(pair.x), im = !isfinite(pair.y);
    return COMPLEX ? re | im : re + im;
}

/* The same with zero volts for what is missing. */
static inline void fused_samples_checked(const __global fused_raw *restrict from, float2 *out)
{
    fused_samples(from, out);
#if CHECKED
    BF_LOOP(p, FUSED_WIDE)
    {
        const int re = !isfinite(out[p].x), im = !isfinite(out[p].y);
        out[p].x = re | (COMPLEX * im) ? 0.0f : out[p].x;
        out[p].y = im | (COMPLEX * re) ? 0.0f : out[p].y;
    }
#endif
}

/* Coefficients of tap t for FUSED_WIDE adjacent pairs: one for both parts, or one each. */
static inline void fused_coefficients(const __global float *restrict from, uint t, float2 *out)
{
#if FOURS
    BF_LOOP(p, FUSED_WIDE) out[p] = (float2)(from[(t / 4 * CHANNELS + p) * 4 + t % 4]);
#else
    float coeff[FUSED_WIDE * FUSED_FLOATS];
    FUSED_FETCH(FUSED_COEFFS)(float, from + t * (CHANNELS * FUSED_FLOATS), coeff)
    BF_LOOP(p, FUSED_WIDE)
    {
        /* the same one twice for complex samples */
        out[p] = (float2)(coeff[FUSED_FLOATS * p], coeff[FUSED_FLOATS * p + FUSED_FLOATS - 1]);
    }
#endif
}
#if FOURS
#define FUSED_APIECE 4 /* numbers of the table from a point to the next */
#else
#define FUSED_APIECE FUSED_FLOATS
#endif

static inline float2 fused_tap(float2 sample, float2 coeff, float2 sum)
{
    return (float2)(fma(sample.x, coeff.x, sum.x), fma(sample.y, coeff.y, sum.y));
}

#if FOURS
#define FUSED_WEIGHTS(tap) BF_LOOP(p, FUSED_WIDE) weight[p] = (float2)(fours[p][tap]);
#else
#define FUSED_WEIGHTS(tap) fused_coefficients(h, tap, weight);
#endif

/* One tap of a batch: the window holds BATCH rows, the oldest of them row `tap`, in a ring whose
 * index is a constant; its newest row is loaded here. */
#define FUSED_TAP(tap, slot)                                                                       \
    {                                                                                              \
        float2 weight[FUSED_WIDE];                                                                 \
        FUSED_WEIGHTS(tap)                                                                         \
        fused_samples(x + (uint)((tap) + BATCH - 1) * FUSED_ROW,                                   \
                      window[((slot) + BATCH - 1) % BATCH]);                                       \
        BF_LOOP(b, BATCH)                                                                          \
        BF_LOOP(p, FUSED_WIDE)                                                                     \
        sum[b][p] = fused_tap(window[((slot) + b) % BATCH][p], weight[p], sum[b][p]);              \
    }

/* FIR of FUSED_WIDE adjacent points of a batch that has all its rows. x, h: the points' first
 * sample and coefficient. */
static inline void fused_fir(const __global fused_raw *restrict x, const __global float *restrict h,
                             float2 total[BATCH][FUSED_WIDE])
{
    float2 window[BATCH][FUSED_WIDE], sum[BATCH][FUSED_WIDE];
    BF_LOOP(r, BATCH - 1) fused_samples(x + (uint)r * FUSED_ROW, window[r]);
#if TAPS <= FUSED_WHOLE
    BF_LOOP(b, BATCH) BF_LOOP(p, FUSED_WIDE) sum[b][p] = (float2)(0);
#if FOURS
    float fours[FUSED_WIDE][TAPS];
    BF_LOOP(t, TAPS / 4)
    BF_LOOP(p, FUSED_WIDE) FUSED_FETCH_4(float, h + (t * CHANNELS + p) * 4, &fours[p][4 * t])
#endif
    BF_LOOP(t, TAPS) FUSED_TAP(t, t)
    BF_LOOP(b, BATCH) BF_LOOP(p, FUSED_WIDE) total[b][p] = sum[b][p];
#else
    BF_LOOP(b, BATCH) BF_LOOP(p, FUSED_WIDE) sum[b][p] = total[b][p] = (float2)(0);
    uint t = 0;
    /* Rounds in one piece, so that loads run ahead of the sums; a ring needs constant indices, so the
     * window turns between rounds. */
    _Pragma("unroll 1") for (; t + FUSED_ROUND <= TAPS; t += FUSED_ROUND)
    {
        BF_LOOP(u, FUSED_ROUND) FUSED_TAP(t + (uint)u, u)
        float2 turned[BATCH][FUSED_WIDE];
        BF_LOOP(b, BATCH)
        BF_LOOP(p, FUSED_WIDE) turned[b][p] = window[(FUSED_ROUND + b) % BATCH][p];
        BF_LOOP(b, BATCH) BF_LOOP(p, FUSED_WIDE) window[b][p] = turned[b][p];
        if (TAPS > FUSED_PIECE && (t + FUSED_ROUND) % FUSED_PIECE == 0) {
            BF_LOOP(b, BATCH)
            BF_LOOP(p, FUSED_WIDE)
            {
                total[b][p] = total[b][p] + sum[b][p];
                sum[b][p] = (float2)(0);
            }
        }
    }
    BF_LOOP(u, TAPS % FUSED_ROUND) FUSED_TAP(t + (uint)u, u)
    if (TAPS <= FUSED_PIECE) {
        BF_LOOP(b, BATCH) BF_LOOP(p, FUSED_WIDE) total[b][p] = sum[b][p];
    } else if (TAPS % FUSED_PIECE != 0) {
        BF_LOOP(b, BATCH) BF_LOOP(p, FUSED_WIDE) total[b][p] = total[b][p] + sum[b][p];
    }
#endif
}

/* The same sums with a look at each sample, also for a block of fewer than BATCH spectra: without a
 * look at rows beyond its end; for spectra beyond it those of the last one. */
static inline void fused_fir_careful(const __global fused_raw *restrict x,
                                     const __global float *restrict h, uint spectra,
                                     float2 total[BATCH][FUSED_WIDE])
{
    BF_LOOP(b, BATCH)
    {
        const __global fused_raw *row = x + min((uint)b, spectra - 1) * FUSED_ROW;
        float2 sum[FUSED_WIDE];
        BF_LOOP(p, FUSED_WIDE) total[b][p] = (float2)(0);
        BF_LOOP(p, FUSED_WIDE) sum[p] = (float2)(0);
        _Pragma("unroll 1") for (uint t = 0; t < TAPS; t++)
        {
            float2 sample[FUSED_WIDE], weight[FUSED_WIDE];
            fused_samples_checked(row + t * FUSED_ROW, sample);
            fused_coefficients(h, t, weight);
            BF_LOOP(p, FUSED_WIDE) sum[p] = fused_tap(sample[p], weight[p], sum[p]);
            if ((t + 1) % FUSED_PIECE == 0 || t + 1 == TAPS) {
                BF_LOOP(p, FUSED_WIDE)
                {
                    total[b][p] = TAPS <= FUSED_PIECE ? sum[p] : total[b][p] + sum[p];
                    sum[p] = (float2)(0);
                }
            }
        }
    }
}

#if HOP != CHANNELS
/* Oversampled: spectrum b of a batch begins FUSED_SPECTRUM(b) HOP samples (or pairs) behind the
 * batch's first, which lies at place `turn` of a raw spectrum, and its transform wants what it has
 * filtered turned round by as much. So point n is made of samples i = (n - turn) mod CHANNELS +
 * r CHANNELS of the batch, the same ones for all its spectra, times coefficient i less what lies
 * before the spectrum, which is 0 outside of the filter. Samples are shared, loaded and converted
 * once, as where spectra are a raw spectrum apart; coefficients, which come from L1, are shared by
 * those spectra that are a multiple of HOP_STEP apart, at different points of an item.
 *
 * An item filters samples at + place HOP_STEP, at < HOP_STEP: which of them and which coefficients
 * meet is known when the kernel is compiled, and what is filtered at `place` is point
 * (place - rotation) mod RADIX0 of its butterfly. */
#define HOP_STEP (CHANNELS / RADIX0)
#define HOP_BEGIN(b) (FUSED_SPECTRUM(b) * HOP)
#define HOP_SAMPLES (HOP_BEGIN(BATCH - 1) + TAPS * CHANNELS) /* of a batch */
#define HOP_ROWS ((HOP_SAMPLES + CHANNELS - 1) / CHANNELS)
/* With the order's shift folded into the coefficients an odd turn leaves a sign. */
#define HOP_SIGNED(turned, sum) (((turned) & IS_SHIFTED) != 0 ? -(sum) : (sum))
/* Points are turned by moves, two for each that may go or stay; the last half turn, where spectra
 * are apart, by the sign of every other value behind the first butterflies (1.11 ms instead of 1.14
 * at 32/27; other batches take longer with it: 4/3 by a hundredth, or by a seventh). Zeros lose
 * their sign, since it would tell how spectra were cut. */
#if APART
#define HOP_MOVED (RADIX0 / 2)
#define HOP_TURN_HALF(is_turned)                                                                   \
    {                                                                                              \
        const uint n_ = (FUSED_WIDE * item - turn) % CHANNELS;                                     \
        const float2 sign =                                                                        \
            (is_turned) && (n_ / HOP_STEP & HOP_MOVED) != 0 ? (float2)(-1) : (float2)(1);          \
        BF_LOOP(b, BATCH)                                                                          \
        BF_LOOP(i, VALUES / 2) v[b][2 * i + 1] = fma(sign, v[b][2 * i + 1], (float2)(0));          \
    }
#else
#define HOP_MOVED RADIX0
#define HOP_TURN_HALF(is_turned)
#endif
/* The order of places: by as many as spectra that share coefficients are apart, so that those of
 * one place are wanted again at the next, and are still in registers. */
#if HOP % HOP_STEP == 0
#define HOP_STRIDE (HOP / HOP_STEP % RADIX0)
#elif APART
#define HOP_STRIDE (APART * HOP / HOP_STEP % RADIX0)
#else
#define HOP_STRIDE 0
#endif
#if HOP_STRIDE
#define HOP_PLACE(i)                                                                               \
    (((i) * HOP_STRIDE + (i) / (RADIX0 / (HOP_STRIDE & -HOP_STRIDE))) % RADIX0)
#else
#define HOP_PLACE(i) (i)
#endif

/* Coefficients of FUSED_WIDE adjacent pairs: one for both parts, or one each. */
static inline void hop_coefficients(const __global float *restrict from, float2 *out)
{
    float coeff[FUSED_WIDE * FUSED_FLOATS];
    FUSED_FETCH(FUSED_COEFFS)(float, from, coeff)
    BF_LOOP(p, FUSED_WIDE)
    {
        out[p] = (float2)(coeff[FUSED_FLOATS * p], coeff[FUSED_FLOATS * p + FUSED_FLOATS - 1]);
    }
}

/* All points of an item of a batch that has all its samples, which begin at x; f: the first of its
 * first point. The table has zeros before and behind it. */
static inline void hop_fir(const __global fused_raw *restrict x, const __global float *restrict table,
                           uint f, uint turn, float2 v[BATCH][VALUES])
{
    const uint n = (f - turn) % CHANNELS;
    const int at = n % HOP_STEP;
    const uint rotation = n / HOP_STEP;
    const __global fused_raw *mine = x + at * FUSED_PAIR;
    const __global float *h = table + (at + CHANNELS) * FUSED_FLOATS;
    BF_LOOP(step, RADIX0)
    {
        const int place = HOP_PLACE(step);
        float2 sum[BATCH][FUSED_WIDE];
        BF_LOOP(b, BATCH) BF_LOOP(p, FUSED_WIDE) sum[b][p] = (float2)(0);
        BF_LOOP(r, HOP_ROWS)
        {
            const int first = place * HOP_STEP + r * CHANNELS;
            float2 sample[FUSED_WIDE];
            /* Some items have none of the last points. */
            fused_samples(first + HOP_STEP <= HOP_SAMPLES
                              ? mine + first * FUSED_PAIR
                              : x + min(at + first, HOP_SAMPLES - FUSED_WIDE) * FUSED_PAIR,
                          sample);
            BF_LOOP(b, BATCH)
            {
                const int i = first - HOP_BEGIN(b);
                if (i > -HOP_STEP && i < TAPS * CHANNELS) {
                    float2 weight[FUSED_WIDE];
                    hop_coefficients(h + i * FUSED_FLOATS, weight);
                    BF_LOOP(p, FUSED_WIDE)
                    {
                        float2 volts = sample[p];
#if FORMAT == 3
                        /* Zero times what is no finite number would not be zero. */
                        volts = at + i >= 0 && at + i < TAPS * CHANNELS ? volts : (float2)(0);
#endif
                        sum[b][p] = fused_tap(volts, weight[p], sum[b][p]);
                    }
                }
            }
        }
        BF_LOOP(b, BATCH)
        BF_LOOP(p, FUSED_WIDE) v[b][p * RADIX0 + place] = HOP_SIGNED(turn + HOP_BEGIN(b), sum[b][p]);
    }
    BF_LOOP(bit, 4)
    {
        const int is_set = (rotation >> bit & 1) != 0;
        BF_LOOP(b, 1 << bit < HOP_MOVED ? BATCH : 0)
        BF_LOOP(p, FUSED_WIDE)
        {
            float2 u[RADIX0];
            BF_LOOP(k, RADIX0) u[k] = v[b][p * RADIX0 + k];
            BF_LOOP(k, RADIX0)
            v[b][p * RADIX0 + k] = is_set ? u[(k + (1 << bit)) % RADIX0] : u[k];
        }
    }
    BF_LOOP(b, BATCH)
    BF_LOOP(i, VALUES) v[b][i].y = CONJUGATE ? -v[b][i].y : v[b][i].y;
}

/* Points n .. n + FUSED_WIDE - 1 where not all spectra of a batch are there, the first of `spectra`
 * at x: for those beyond the last one's. */
static inline void hop_fir_careful(const __global fused_raw *restrict x,
                                   const __global float *restrict table, uint n, uint turn,
                                   uint spectra, float2 total[BATCH][FUSED_WIDE])
{
    BF_LOOP(b, BATCH)
    {
        const uint before = min((uint)FUSED_SPECTRUM(b), spectra - 1) * HOP;
        const uint at = (n - turn - before) % CHANNELS;
        float2 sum[FUSED_WIDE];
        BF_LOOP(p, FUSED_WIDE) sum[p] = (float2)(0);
        _Pragma("unroll 1") for (uint t = 0; t < TAPS; t++)
        {
            float2 sample[FUSED_WIDE], weight[FUSED_WIDE];
            fused_samples(x + (before + at + t * CHANNELS) * FUSED_PAIR, sample);
            hop_coefficients(table + (at + (t + 1) * CHANNELS) * FUSED_FLOATS, weight);
            BF_LOOP(p, FUSED_WIDE) sum[p] = fused_tap(sample[p], weight[p], sum[p]);
        }
        BF_LOOP(p, FUSED_WIDE) total[b][p] = HOP_SIGNED(turn + before, sum[p]);
    }
}
#endif

/* Local memory: place of point a of a spectrum, as exchange `swizzle` wants it. */
#if IN_PLACE
#define FUSED_SPAN SPAN
#define FUSED_PLACE(a, swizzle) (a)
#elif PADDED
#define FUSED_SPAN (CHANNELS + CHANNELS / 16 + 1)
#define FUSED_PLACE(a, swizzle) ((a) + ((a) >> 4))
#else
#define FUSED_SPAN CHANNELS
#define FUSED_PLACE(a, swizzle) ((swizzle) ? (a) ^ (((a) >> (swizzle)) & 15) : (a))
#endif
#if SPLIT
typedef float fused_cell;
#else
typedef float2 fused_cell;
#endif
#define FUSED_BARRIER barrier(CLK_LOCAL_MEM_FENCE);

/* Writes or reads points of spectrum b, in butterflies of `radix`: `first` is the f of butterfly
 * p, `at` the place of its value q. */
#define FUSED_PUT(b, part, radix, first, at, swizzle)                                              \
    BF_LOOP(p, FUSED_SETS(radix))                                                                  \
    {                                                                                              \
        const uint f = first;                                                                      \
        BF_LOOP(q, radix)                                                                          \
        cells[((b) % BUFFERS) * FUSED_SPAN + FUSED_PLACE(at, swizzle)] =                           \
            v[b][p * (radix) + q] part;                                                            \
    }
#define FUSED_GET(b, target, radix, first, at, swizzle)                                            \
    BF_LOOP(p, FUSED_SETS(radix))                                                                  \
    {                                                                                              \
        const uint f = first;                                                                      \
        BF_LOOP(q, radix)                                                                          \
        target = cells[((b) % BUFFERS) * FUSED_SPAN + FUSED_PLACE(at, swizzle)];                   \
    }

/* Sends all values of a batch to their next owners. In: v[b] in butterflies of radix `r`, out:
 * `got`[b] in butterflies of radix `rr`; got may be v. With fewer buffers than spectra, one
 * spectrum follows the other; with two or more a barrier between is enough, since no item can be
 * two spectra ahead. */
#if SPLIT
#define FUSED_EXCHANGE(got, r, first, at, rr, to, from, swizzle)                                   \
    BF_LOOP(b, BATCH)                                                                              \
    {                                                                                              \
        float real[VALUES];                                                                        \
        FUSED_BARRIER                                                                              \
        FUSED_PUT(b, .x, r, first, at, swizzle)                                                    \
        FUSED_BARRIER                                                                              \
        FUSED_GET(b, real[p * (rr) + q], rr, to, from, swizzle)                                    \
        FUSED_BARRIER                                                                              \
        FUSED_PUT(b, .y, r, first, at, swizzle)                                                    \
        FUSED_BARRIER                                                                              \
        FUSED_GET(b, got[b][p * (rr) + q].y, rr, to, from, swizzle)                                \
        BF_LOOP(i, VALUES) got[b][i].x = real[i];                                                  \
    }
#elif PAIRED
#define FUSED_EXCHANGE(got, r, first, at, rr, to, from, swizzle)                                   \
    FUSED_BARRIER                                                                                  \
    BF_LOOP(p, FUSED_SETS(r))                                                                      \
    {                                                                                              \
        const uint f = first;                                                                      \
        BF_LOOP(q, r)                                                                              \
        {                                                                                          \
            const uint place = FUSED_PLACE(at, swizzle);                                           \
            BF_LOOP(b, BATCH / 2)                                                                  \
            wide[b * FUSED_SPAN + place] =                                                         \
                (float4)(v[2 * b][p * (r) + q], v[2 * b + 1][p * (r) + q]);                        \
        }                                                                                          \
    }                                                                                              \
    FUSED_BARRIER                                                                                  \
    BF_LOOP(p, FUSED_SETS(rr))                                                                     \
    {                                                                                              \
        const uint f = to;                                                                         \
        BF_LOOP(q, rr)                                                                             \
        {                                                                                          \
            const uint place = FUSED_PLACE(from, swizzle);                                         \
            BF_LOOP(b, BATCH / 2)                                                                  \
            {                                                                                      \
                const float4 both = wide[b * FUSED_SPAN + place];                                  \
                got[2 * b][p * (rr) + q] = both.xy;                                                \
                got[2 * b + 1][p * (rr) + q] = both.zw;                                            \
            }                                                                                      \
        }                                                                                          \
    }
#elif BUFFERS < BATCH
#define FUSED_EXCHANGE(got, r, first, at, rr, to, from, swizzle)                                   \
    BF_LOOP(b, BATCH)                                                                              \
    {                                                                                              \
        if (BUFFERS == 1 || b == 0) {                                                              \
            FUSED_BARRIER                                                                          \
        }                                                                                          \
        FUSED_PUT(b, , r, first, at, swizzle)                                                      \
        FUSED_BARRIER                                                                              \
        FUSED_GET(b, got[b][p * (rr) + q], rr, to, from, swizzle)                                  \
    }
#else
#define FUSED_EXCHANGE(got, r, first, at, rr, to, from, swizzle)                                   \
    FUSED_BARRIER                                                                                  \
    BF_LOOP(p, FUSED_SETS(r))                                                                      \
    {                                                                                              \
        const uint f = first;                                                                      \
        BF_LOOP(q, r)                                                                              \
        {                                                                                          \
            const uint place = FUSED_PLACE(at, swizzle);                                           \
            BF_LOOP(b, BATCH) cells[b * FUSED_SPAN + place] = v[b][p * (r) + q];                   \
        }                                                                                          \
    }                                                                                              \
    FUSED_BARRIER                                                                                  \
    BF_LOOP(p, FUSED_SETS(rr))                                                                     \
    {                                                                                              \
        const uint f = to;                                                                         \
        BF_LOOP(q, rr)                                                                             \
        {                                                                                          \
            const uint place = FUSED_PLACE(from, swizzle);                                         \
            BF_LOOP(b, BATCH) got[b][p * (rr) + q] = cells[b * FUSED_SPAN + place];                \
        }                                                                                          \
    }
#endif

/* FUSED_HALVES: item f of a team makes butterfly f of the middle stage for the first two spectra of
 * a batch, item f + VALUES^2 for the last two, whose cells are CHANNELS further on. Value q of
 * butterfly f of the first stage is in cell f VALUES + (q ^ f % VALUES), so that no stage has a
 * conflict of banks. The middle stage puts its results where it has read, so no item waits between.
 * Places are in bytes: what depends on q is an exclusive or, or part of the instruction. */
#define FUSED_CELL_BYTES 16
#define FUSED_CELL(at, cell)                                                                       \
    (*(__local float4 *)((__local uchar *)cells + (at) + (cell)*FUSED_CELL_BYTES))

/* A stage: factors, then butterflies. The first has no factors. */
#define FUSED_BUTTERFLIES(radix)                                                                   \
    BF_LOOP(p, FUSED_SETS(radix))                                                                  \
    BF_LOOP(b, BATCH) FUSED_FFT(radix)(&v[b][p * (radix)]);
#define FUSED_TWIDDLED(radix) FUSED_JOIN(bf_twiddled, radix)
#define FUSED_STAGE(radix, done, from)                                                             \
    BF_LOOP(p, FUSED_SETS(radix))                                                                  \
    {                                                                                              \
        const uint f = FUSED_APART;                                                                \
        float2 w[FUSED_JOIN(BF_FACTORS_, radix)];                                                  \
        BF_LOOP(q, FUSED_JOIN(BF_FACTORS_, radix))                                                 \
        w[q] = tw[(from) + q * (done) + f % (done)];                                               \
        BF_LOOP(b, BATCH) FUSED_TWIDDLED(radix)(&v[b][p * (radix)], w);                            \
    }
/* Points that are transformed before each stage, and where its factors begin. */
#define FUSED_DONE1 RADIX0
#define FUSED_DONE2 (RADIX0 * RADIX1)
#define FUSED_DONE3 (RADIX0 * RADIX1 * RADIX2)
#define FUSED_FACTORS2 (FUSED_DONE1 * FUSED_JOIN(BF_FACTORS_, RADIX1))
#define FUSED_FACTORS3 (FUSED_FACTORS2 + FUSED_DONE2 * FUSED_JOIN(BF_FACTORS_, RADIX2))
/* f of butterfly p in the first stage, in the others; where a value goes that `done` points and
 * then `radix` have been transformed of; where it comes from. */
#define FUSED_ADJACENT (FUSED_WIDE * item + p)
#define FUSED_APART (item + p * FUSED_ITEMS)
#define FUSED_TO(done, radix) ((f / (done)) * ((done) * (radix)) + f % (done) + (done)*q)
#define FUSED_FROM(radix) (f + q * (CHANNELS / (radix)))

#if STAGES == 2
#define FUSED_LAST RADIX1
#define FUSED_FACTORS FUSED_FACTORS2
#elif STAGES == 3
#define FUSED_LAST RADIX2
#define FUSED_FACTORS FUSED_FACTORS3
#else
#define FUSED_LAST RADIX3
#define FUSED_FACTORS (FUSED_FACTORS3 + FUSED_DONE3 * FUSED_JOIN(BF_FACTORS_, RADIX3))
#endif

static inline float fused_power(float2 y)
{
    return fma(y.x, y.x, y.y * y.y);
}

static inline void fused_store(__global float2 *to, float2 y)
{
#if STREAMING /* PTX */
    __asm__ volatile("st.global.cs.v2.f32 [%0], {%1, %2};"
                     :
                     : "l"(to), "f"(y.x), "f"(y.y)
                     : "memory");
#else
    *to = y;
#endif
}

/* Writes a channel of a spectrum. */
#if MODE == 1
#define FUSED_WRITE(at, y) out[at] = fused_power(y)
#else
#define FUSED_WRITE(at, y) fused_store((__global float2 *)out + (at), y)
#endif

/* Runs a body for each value of an item that is kept: `value` is its index in v[b], `kept` its
 * place among the kept channels. */
#define FUSED_KEPT(body)                                                                           \
    BF_LOOP(p, FUSED_SETS(FUSED_LAST))                                                             \
    BF_LOOP(q, FUSED_LAST)                                                                         \
    {                                                                                              \
        const uint kept = FUSED_APART + q * (CHANNELS / FUSED_LAST) - KEPT_FIRST;                  \
        const int value = p * FUSED_LAST + q;                                                      \
        if (KEPT == CHANNELS || kept < KEPT) {                                                     \
            body;                                                                                  \
        }                                                                                          \
    }

/* Grain borders at or before spectrum `at`, see cpu/ppf/sums.c: its multiples of 16 and of
 * `integrate`, those of both (every `both`-th of the latter, a power of two) once. */
static inline ulong fused_borders(ulong at, ulong integrate)
{
    const ulong dumps = at / integrate;
    const ulong common = integrate & (0 - integrate);
    const uint both = FUSED_GRAIN / (uint)min(common, (ulong)FUSED_GRAIN);
    return at / FUSED_GRAIN + dumps - dumps / both;
}

/* Writes the sums of a grain, and begins the next. */
#define FUSED_GRAIN_ENDS                                                                           \
    {                                                                                              \
        __global float *to = out + (grain * streams + stream) * KEPT;                              \
        FUSED_KEPT(to[kept] = power[value])                                                        \
        BF_LOOP(i, VALUES) power[i] = 0;                                                           \
        grain++;                                                                                   \
        left = (uint)min(integrate, (ulong)FUSED_GRAIN);                                           \
    }

#if MODE == 3
/* Stores all spectra of a batch, whose first is `to`; *seen is for step_is_clipped(). Channels
 * inside, one spectrum after the other, without a branch; four `or`s, so that none waits for
 * another. */
#define FUSED_STEPS(to, apart, seen)                                                               \
    {                                                                                              \
        uint some[4];                                                                              \
        BF_LOOP(i, 4) some[i] = STEP_SHIFTED;                                                      \
        BF_LOOP(b, BATCH)                                                                          \
        FUSED_KEPT({                                                                               \
            const float2 y = v[b][value];                                                          \
            const float factor = factors_of[value];                                                \
            some[b % 4] |= step_bits(fabs(y.x), factor) | step_bits(fabs(y.y), factor);            \
            (to)[(ulong)b * (apart) + kept] =                                                      \
                step_of(step_bits(y.x, factor), step_bits(y.y, factor));                           \
        })                                                                                         \
        (seen) |= some[0] | some[1] | some[2] | some[3];                                           \
    }
#endif

#if HOP != CHANNELS
#define FUSED_POINT                                                                                \
    const uint n = FUSED_WIDE * item + k * (CHANNELS / RADIX0);                                    \
    const __global fused_raw *x = samples + (ulong)base * (HOP * FUSED_PAIR);
#define FUSED_FIR_CAREFUL hop_fir_careful(x, table, n, turn, (uint)(spectra - base), sum)
#else
#define FUSED_FIR fused_fir(x, h, sum)
#define FUSED_FIR_CAREFUL fused_fir_careful(x, h, (uint)spectra, sum)
/* First sample and coefficient of the points that first butterflies need as their k-th. */
#if NEAR
#define FUSED_POINT                                                                                \
    const __global fused_raw *x = mine_x + k * (CHANNELS / RADIX0) * FUSED_PAIR;                   \
    const __global float *h = mine_h + k * (CHANNELS / RADIX0) * FUSED_APIECE;
#else
#define FUSED_POINT                                                                                \
    const uint n = FUSED_WIDE * item + k * (CHANNELS / RADIX0);                                    \
    const __global fused_raw *x = samples + ((ulong)base * CHANNELS + n) * FUSED_PAIR;             \
    const __global float *h = table + n * FUSED_APIECE;
#endif
#endif

/* Filters points n .. n + FUSED_WIDE - 1, which first butterflies need as their k-th. */
#define FUSED_FILTER(fir)                                                                          \
    {                                                                                              \
        FUSED_POINT                                                                                \
        float2 sum[BATCH][FUSED_WIDE];                                                             \
        fir;                                                                                       \
        BF_LOOP(b, BATCH)                                                                          \
        BF_LOOP(p, FUSED_WIDE)                                                                     \
        v[b][p * RADIX0 + k] = CONJUGATE ? (float2)(sum[b][p].x, -sum[b][p].y) : sum[b][p];        \
    }

__kernel __attribute__((reqd_work_group_size(FUSED_ITEMS *TEAMS, 1, 1))) void
ppf_fused(const __global fused_raw *restrict in, ulong in_stride,
          const __global float *restrict coeff, const __global float2 *restrict twiddles,
          __global float *restrict out, ulong spectra, uint streams, ulong first, ulong integrate
#if CHECKED
          ,
          __global uint *restrict found, ulong counted
#endif
#if MODE == 3
          ,
          const __global float *restrict factors, ulong counts_at
#endif
)
{
    /* aligned for cells of two */
    __local fused_cell memory[TEAMS * BUFFERS * FUSED_SPAN] __attribute__((aligned(16)));
    const uint item = get_local_id(0) % FUSED_ITEMS;
    const uint team = TEAMS == 1 ? 0 : get_local_id(0) / FUSED_ITEMS;
    __local fused_cell *cells = memory + team * (BUFFERS * FUSED_SPAN);
#if PAIRED
    __local float4 *wide = (__local float4 *)cells;
#endif

#if FUSED_HALVES
    const uint low_digit = item % VALUES, high_digit = item % (VALUES * VALUES) / VALUES;
    const uint first_at = (item * VALUES + low_digit) * FUSED_CELL_BYTES;
    const uint middle_at = (item / (VALUES * VALUES) * CHANNELS + high_digit * VALUES +
                            (low_digit ^ high_digit)) *
                           FUSED_CELL_BYTES;
    const uint last_at = (item / VALUES * (VALUES * VALUES) + low_digit) * FUSED_CELL_BYTES;
#endif

    /* A team's run: a batch, or the 16 spectra of a grain (fewer where dumps or the block end). */
    const uint run = MODE == 2 ? FUSED_GRAIN : BATCH;
    const uint before = MODE == 2 ? (uint)(first % FUSED_GRAIN) : 0; /* of the first run */
#if APART
    const uint runs = FUSED_BATCHES(spectra); /* of a stream */
#else
    const uint runs = (uint)((spectra + before + run - 1) / run);
#endif
    const uint mine = get_group_id(0) * TEAMS + team;
    const int is_mine = TEAMS == 1 || mine < runs * streams; /* else there to meet at barriers */
    const uint at = is_mine ? mine : 0;
    const uint stream = streams == 1 ? 0 : at / runs;
#if APART
    const long start = FUSED_FIRST(at - stream * runs);
#else
    const long start = (long)(at - stream * runs) * run - before;
#endif
    const __global fused_raw *samples =
        (const __global fused_raw *)((const __global uchar *)in + stream * in_stride);

#if MODE == 2
    float power[VALUES];
    BF_LOOP(i, VALUES) power[i] = 0;
    const ulong number = first + (ulong)max(start, 0L);
    ulong grain = fused_borders(number, integrate) - fused_borders(first, integrate);
    uint left = (uint)min(integrate - number % integrate, (ulong)FUSED_GRAIN); /* of the dump */
    const long stop = min(start + FUSED_GRAIN, (long)spectra);
    _Pragma("unroll 1") for (uint step = 0; step < FUSED_GRAIN / BATCH; step++)
#endif
    {
#if MODE == 2
        const long wanted = start + step * BATCH;
#else
        const long wanted = start;
#endif
        /* Rows that the batch may own: moved into the block, where it fits. */
#if APART
        const long base = min(wanted, (long)spectra - 1);
        const int is_complete = base + FUSED_SPECTRUM(BATCH - 1) < (long)spectra;
#else
        const long base = max(min(wanted, (long)spectra - BATCH), 0L);
        const int is_complete = spectra >= BATCH;
#endif
#if MODE == 2
        /* Zero, which a compiler cannot see: else it would load all coefficients and twiddles
         * before the loop, into registers that are not there. */
        const uint zero = (uint)((ulong)base >> 62);
        const __global float2 *tw = twiddles + zero;
        const __global float *table = coeff + zero;
#else
        const __global float2 *tw = twiddles;
        const __global float *table = coeff;
#endif
#if NEAR
        const __global fused_raw *mine_x =
            samples + ((ulong)base * CHANNELS + FUSED_WIDE * item) * FUSED_PAIR;
        const __global float *mine_h = table + FUSED_WIDE * item * FUSED_APIECE;
#endif
#if HOP != CHANNELS
        const uint turn = (uint)((first + base) % CHANNELS * HOP % CHANNELS);
#endif
        float2 v[BATCH][VALUES];
        if (is_complete) {
#if AHEAD
            fused_ask(samples, min(FUSED_ASKS(base, at - stream * runs), (long)spectra), item);
#endif
#if HOP != CHANNELS
            hop_fir(samples + (ulong)base * (HOP * FUSED_PAIR), table, FUSED_WIDE * item, turn, v);
#elif NEIGHBOURS
            MIXED_FREE
            pair_filter((const __global raw_column *)samples + (ulong)base * CHANNELS, table,
                        PAIRS_ITEM, (__local float4 *)cells);
#else
            BF_LOOP(k, RADIX0) FUSED_FILTER(FUSED_FIR)
#endif
        } else {
            BF_LOOP(k, RADIX0) FUSED_FILTER(FUSED_FIR_CAREFUL)
#if NEIGHBOURS
            MIXED_STORE
#endif
        }
#if CHECKED
        /* Zeros, unless a sum is no finite number. */
        float zeros = spectra < BATCH;
        BF_LOOP(b, BATCH)
        BF_LOOP(i, VALUES) zeros = fma(v[b][i].x, 0.0f, fma(v[b][i].y, 0.0f, zeros));
        if (zeros != 0) {
            BF_LOOP(k, RADIX0)
            FUSED_FILTER(fused_fir_careful(x, h, (uint)min(spectra, (ulong)BATCH), sum))
            /* The rows that are this batch's to count: its own, and behind the last one all; none
             * of a batch that lies wholly behind the block. */
            const long last = wanted + BATCH >= (long)spectra ? (long)spectra + TAPS - 1
                                                               : wanted + BATCH;
            const long to = is_mine && wanted < (long)spectra ? min(last, (long)counted) : 0;
            uint missing = 0;
            for (long row = max(wanted, 0L); row < to; row++) {
                BF_LOOP(k, RADIX0)
                {
                    float2 pair[FUSED_WIDE];
                    const uint n = FUSED_WIDE * item + k * (CHANNELS / RADIX0);
                    fused_samples(samples + ((ulong)row * CHANNELS + n) * FUSED_PAIR, pair);
                    BF_LOOP(p, FUSED_WIDE) missing += fused_missing(pair[p]);
                }
            }
            if (missing > 0) {
                atomic_add(&found[get_group_id(0) % FOUND * 2], missing);
            }
        }
#endif

#if NEIGHBOURS
        FUSED_BARRIER
        PAIRS_FIRST
#else
        FUSED_BUTTERFLIES(RADIX0)
#if HOP != CHANNELS
        HOP_TURN_HALF(is_complete)
#endif
#endif
#if FUSED_HALVES
        BF_LOOP(q, VALUES)
        {
            FUSED_CELL(first_at ^ (FUSED_CELL_BYTES * q), 0) = (float4)(v[0][q], v[1][q]);
            FUSED_CELL(first_at ^ (FUSED_CELL_BYTES * q), CHANNELS) = (float4)(v[2][q], v[3][q]);
        }
        FUSED_BARRIER
        {
            float2 u[2][RADIX1], w[VALUES];
            BF_LOOP(q, RADIX1)
            {
                const float4 both = FUSED_CELL(middle_at, q * (VALUES * VALUES));
                u[0][q] = both.xy;
                u[1][q] = both.zw;
            }
            BF_LOOP(q, VALUES) w[q] = tw[q * VALUES + item % VALUES];
            BF_LOOP(b, 2) FUSED_TWIDDLED(RADIX1)(u[b], w);
            BF_LOOP(q, RADIX1)
            FUSED_CELL(middle_at, q * (VALUES * VALUES)) = (float4)(u[0][q], u[1][q]);
        }
        FUSED_BARRIER
        BF_LOOP(q, VALUES)
        {
            const float4 low = FUSED_CELL(last_at ^ (FUSED_CELL_BYTES * q), VALUES * q);
            const float4 high = FUSED_CELL(last_at ^ (FUSED_CELL_BYTES * q), VALUES * q + CHANNELS);
            v[0][q] = low.xy;
            v[1][q] = low.zw;
            v[2][q] = high.xy;
            v[3][q] = high.zw;
        }
        FUSED_BARRIER
        FUSED_STAGE(RADIX2, FUSED_DONE2, FUSED_FACTORS2)
#elif IN_PLACE
#if !NEIGHBOURS
        MIXED_STORE
#endif
        MIXED_ASK
        FUSED_BARRIER
        MIXED_MIDDLE
#if !NEIGHBOURS
        MIXED_LOAD
        MIXED_BEHIND
#elif MODE == 2
        BF_LOOP(b, BATCH) PAIRS_LAST(b)
#endif
#else
        FUSED_EXCHANGE(v, RADIX0, FUSED_ADJACENT, f * RADIX0 + q, RADIX1, FUSED_APART,
                       FUSED_FROM(RADIX1), SWIZZLE0)
        FUSED_STAGE(RADIX1, FUSED_DONE1, 0)
#if STAGES > 2
        FUSED_EXCHANGE(v, RADIX1, FUSED_APART, FUSED_TO(FUSED_DONE1, RADIX1), RADIX2, FUSED_APART,
                       FUSED_FROM(RADIX2), SWIZZLE1)
        FUSED_STAGE(RADIX2, FUSED_DONE2, FUSED_FACTORS2)
#endif
#if STAGES > 3
        FUSED_EXCHANGE(v, RADIX2, FUSED_APART, FUSED_TO(FUSED_DONE2, RADIX2), RADIX3, FUSED_APART,
                       FUSED_FROM(RADIX3), SWIZZLE2)
        FUSED_STAGE(RADIX3, FUSED_DONE3, FUSED_FACTORS3)
#endif
#endif

#if !COMPLEX
        /* X[k] = (Z[k] + Z*[C-k]) / 2 + u[k] (Z[k] - Z*[C-k]) / 2 */
        {
            float2 mirror[BATCH][VALUES];
            FUSED_EXCHANGE(mirror, FUSED_LAST, FUSED_APART, FUSED_FROM(FUSED_LAST), FUSED_LAST,
                           FUSED_APART, ((CHANNELS - FUSED_FROM(FUSED_LAST)) % CHANNELS), 0)
            BF_LOOP(p, FUSED_SETS(FUSED_LAST))
            BF_LOOP(q, FUSED_LAST)
            {
                const int i = p * FUSED_LAST + q;
                const float2 u = tw[FUSED_FACTORS + FUSED_APART + q * (CHANNELS / FUSED_LAST)];
                BF_LOOP(b, BATCH)
                {
                    const float2 z = v[b][i];
                    const float2 m = (float2)(mirror[b][i].x, -mirror[b][i].y);
                    const float2 even = 0.5f * (z + m), odd = 0.5f * (z - m);
                    v[b][i] = (float2)(fma(odd.x, u.x, fma(-odd.y, u.y, even.x)),
                                       fma(odd.x, u.y, fma(odd.y, u.x, even.y)));
                }
            }
        }
#endif

#if MODE == 2
#if FORMAT != 3
        if (is_mine && base == wanted && wanted + BATCH <= stop && left >= BATCH) {
            BF_LOOP(b, BATCH)
            BF_LOOP(i, VALUES) power[i] = power[i] + fused_power(v[b][i]);
            left -= BATCH;
            if (left == 0 || wanted + BATCH == stop) {
                FUSED_GRAIN_ENDS
            }
        } else
#endif
        {
            BF_LOOP(b, BATCH)
            {
                const long row = base + b;
                if (is_mine && row >= wanted && row < wanted + BATCH && row < stop) {
                    BF_LOOP(i, VALUES) power[i] = power[i] + fused_power(v[b][i]);
                    left--;
                    if (left == 0 || row + 1 == stop) {
                        FUSED_GRAIN_ENDS
                    }
                }
            }
        }
#elif MODE == 3
        {
            const ulong apart = (ulong)streams * KEPT;
            __global step_pair *to =
                (__global step_pair *)out + ((ulong)base * streams + stream) * KEPT;
            /* All are this batch's: else it stores them one by one, as what is clipped. */
            const int is_whole = is_mine && spectra >= BATCH && base == wanted;
            uint seen = 0;
            float factors_of[VALUES];
            FUSED_KEPT(factors_of[value] = factors[(ulong)stream * KEPT + kept])
            if (is_whole) {
                FUSED_STEPS(to, apart, seen)
            }
            if (step_is_clipped(seen)) {
                BF_LOOP(b, BATCH)
                {
                    const long row = base + b;
                    if (is_mine && row >= wanted && row < (long)spectra) {
                        const ulong block = (first + row) / integrate - first / integrate;
                        __global uint *counts = (__global uint *)out + counts_at +
                                                (block * apart + (ulong)stream * KEPT) * 2;
                        FUSED_KEPT(step_put(v[b][value], factors_of[value],
                                            to + (ulong)b * apart + kept, counts + 2 * kept))
                    }
                }
            }
        }
#else
        /* The branch keeps a compiler from putting all factors and stores side by side, which
         * costs a tenth. */
        BF_LOOP(b, BATCH)
        {
#if NEIGHBOURS
            PAIRS_LAST(b)
#endif
            const long row = base + FUSED_SPECTRUM(b);
            if (is_mine && row >= wanted && row < (long)spectra) {
                const ulong to = ((ulong)row * streams + stream) * KEPT;
                FUSED_KEPT(FUSED_WRITE(to + kept, v[b][value]))
            }
        }
#endif
    }
}
