/* Fine channels, last step: transforms of the rows that fine_columns.cl leaves, and what is made of
 * them. Comes behind samples.cl, steps.cl and butterflies.cl.
 *
 *   work      float2 [streams][spectra][N1][N2][POINTS], spectra from number `from` of the block on
 *   factors   of the stages behind the first, as in ppf_fused.cl
 *   out       MODE 0: float2 [..][streams][KEPT]   spectra, from row `from` on
 *             MODE 1: float  [..][streams][KEPT]   |Y|^2
 *             MODE 2: float  [grains][streams][KEPT]   sum of |Y|^2 over a grain (see grains.h); the
 *             block's first spectrum has the number `first`, dumps begin at multiples of `integrate`
 *             MODE 3: step_pair [..][streams][KEPT]   spectra in few bits (steps.cl), what is clipped
 *             counted from `counts_at` on and `scales`, float [streams][KEPT], as in ppf_fused.cl
 *
 * Row (k1, k2) gives the channels k1 + N1 (k2 + N2 k3), k3 = 0 .. POINTS - 1. A work-group owns
 * LANES rows, neighbours in k1, of one spectrum (MODE 2: of those of a run of 16, one after the
 * other), an item VALUES points. Items follow each other along a row until the last exchange, then
 * across the rows: points are loaded, and channels stored, in pieces of neighbours. Local memory is
 * [row][point], padded so that neither way has a bank conflict.
 *
 * Why this shape is fast (H200): 256 points as 16 x 16 pass local memory once, and pieces of 64
 * bytes are as good as longer ones: 1.05 ms for 2^28 points, which is what a copy of them takes. 512
 * points take 1.06 ms, 1,024 (4 rows, pieces of 32 bytes) 1.16. */
#ifndef ROW_POINTS
#define ROW_POINTS 1024
#define ROW_LANES 4
#define ROW_VALUES 8
#define ROW_STAGES 4
#define ROW_RADIX0 4
#define ROW_RADIX1 8
#define ROW_RADIX2 8
#define ROW_RADIX3 4
#define N1 16
#define N2 1
#endif
#ifndef KEPT_FIRST
#define KEPT_FIRST 0
#define KEPT CHANNELS
#define MODE 0
#endif
#ifndef RELAYED
#define RELAYED 0
#endif

#define FR_GRAIN 16
#define FR_ITEMS (ROW_POINTS * ROW_LANES / ROW_VALUES)
#define FR_EACH (ROW_POINTS / ROW_VALUES) /* items of a row */
#define FR_SETS(radix) (ROW_VALUES / (radix))
#define FR_BANKS 16 /* of local memory, 8 bytes each */
#define FR_CELL(point) ((point) + (point) / FR_BANKS)
#define FR_SPAN                                                                                    \
    ((ROW_POINTS + ROW_POINTS / FR_BANKS) / FR_BANKS * FR_BANKS + FR_BANKS + FR_BANKS / ROW_LANES)
#define FR_JOIN_(a, b) a##b
#define FR_JOIN(a, b) FR_JOIN_(a, b)

/* f of butterfly p as items go along rows, across them; in which row that is. */
#define FR_ALONG (item % FR_EACH + p * FR_EACH)
#define FR_ALONG_ROW (item / FR_EACH)
#define FR_ACROSS (item / ROW_LANES + p * FR_EACH)
#define FR_ACROSS_ROW (item % ROW_LANES)
#define FR_TO(done, radix) ((f / (done)) * ((done) * (radix)) + f % (done) + (done)*q)
#define FR_FROM(radix) (f + q * (ROW_POINTS / (radix)))
#define FR_DONE1 ROW_RADIX0
#define FR_DONE2 (ROW_RADIX0 * ROW_RADIX1)
#define FR_DONE3 (ROW_RADIX0 * ROW_RADIX1 * ROW_RADIX2)
#define FR_FACTORS2 (FR_DONE1 * ROW_RADIX1 / 2)
#define FR_FACTORS3 (FR_FACTORS2 + FR_DONE2 * ROW_RADIX2 / 2)
#if ROW_STAGES == 2
#define FR_LAST ROW_RADIX1
#elif ROW_STAGES == 3
#define FR_LAST ROW_RADIX2
#else
#define FR_LAST ROW_RADIX3
#endif

/* Points go from butterflies of radix `r` to those of `rr`, and are transformed by these. */
#define FR_STAGE(r, done, rr, way, way_row, table)                                                 \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    BF_LOOP(p, FR_SETS(r))                                                                         \
    {                                                                                              \
        const uint f = FR_ALONG;                                                                   \
        BF_LOOP(q, r)                                                                              \
        cells[FR_ALONG_ROW * FR_SPAN + FR_CELL(FR_TO(done, r))] = v[p * (r) + q];                  \
    }                                                                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    BF_LOOP(p, FR_SETS(rr))                                                                        \
    {                                                                                              \
        const uint f = way;                                                                        \
        float2 w[(rr) / 2];                                                                        \
        BF_LOOP(q, rr) v[p * (rr) + q] = cells[(way_row)*FR_SPAN + FR_CELL(FR_FROM(rr))];          \
        BF_LOOP(q, (rr) / 2)                                                                       \
        w[q] = tw[(table) + q * ((done) * (r)) + f % ((done) * (r))];                              \
        FR_JOIN(bf_twiddled, rr)(&v[p * (rr)], w);                                                 \
    }

static inline float fr_power(float2 y)
{
    return fma(y.x, y.x, y.y * y.y);
}

/* Grain borders at or before spectrum `at`, see ppf_fused.cl. */
static inline ulong fr_borders(ulong at, ulong integrate)
{
    const ulong dumps = at / integrate;
    const ulong common = integrate & (0 - integrate);
    const uint both = FR_GRAIN / (uint)min(common, (ulong)FR_GRAIN);
    return at / FR_GRAIN + dumps - dumps / both;
}

/* Writes the channels of an item that are kept: `value` is the index of each in v. */
#define FR_KEPT(type, to, what)                                                                    \
    BF_LOOP(p, FR_SETS(FR_LAST))                                                                   \
    {                                                                                              \
        const uint f = FR_ACROSS;                                                                  \
        const uint k = k0 + FR_ACROSS_ROW + N1 * N2 * f;                                           \
        __global type *first_of = (to) + ((size_t)k - KEPT_FIRST);                                 \
        BF_LOOP(q, FR_LAST)                                                                        \
        {                                                                                          \
            const int value = p * FR_LAST + q;                                                     \
            if (KEPT == CHANNELS || k + q * FR_APART - KEPT_FIRST < KEPT) {                        \
                FR_STORE(&first_of[q * FR_APART], what);                                           \
            }                                                                                      \
        }                                                                                          \
    }
#define FR_APART (N1 * N2 * (ROW_POINTS / FR_LAST)) /* channels from a value to the next */
/* Runs a body for each of them, with `kept`, its place. */
#define FR_EACH_KEPT(body)                                                                         \
    BF_LOOP(p, FR_SETS(FR_LAST))                                                                   \
    BF_LOOP(q, FR_LAST)                                                                            \
    {                                                                                              \
        const uint f = FR_ACROSS;                                                                  \
        const uint kept = k0 + FR_ACROSS_ROW + N1 * N2 * f + q * FR_APART - KEPT_FIRST;            \
        const int value = p * FR_LAST + q;                                                         \
        if (KEPT == CHANNELS || kept < KEPT) {                                                     \
            body;                                                                                  \
        }                                                                                          \
    }

/* An item's values of its row, behind all stages, in a kernel that has v, item, cells and tw.
 * points: the row that it loads from. */
#if ROW_STAGES == 2
#define FR_BEHIND FR_STAGE(ROW_RADIX0, 1, ROW_RADIX1, FR_ACROSS, FR_ACROSS_ROW, 0)
#elif ROW_STAGES == 3
#define FR_BEHIND                                                                                  \
    FR_STAGE(ROW_RADIX0, 1, ROW_RADIX1, FR_ALONG, FR_ALONG_ROW, 0)                                 \
    FR_STAGE(ROW_RADIX1, FR_DONE1, ROW_RADIX2, FR_ACROSS, FR_ACROSS_ROW, FR_FACTORS2)
#else
#define FR_BEHIND                                                                                  \
    FR_STAGE(ROW_RADIX0, 1, ROW_RADIX1, FR_ALONG, FR_ALONG_ROW, 0)                                 \
    FR_STAGE(ROW_RADIX1, FR_DONE1, ROW_RADIX2, FR_ALONG, FR_ALONG_ROW, FR_FACTORS2)                \
    FR_STAGE(ROW_RADIX2, FR_DONE2, ROW_RADIX3, FR_ACROSS, FR_ACROSS_ROW, FR_FACTORS3)
#endif
#define FR_TRANSFORM(points)                                                                       \
    BF_LOOP(p, FR_SETS(ROW_RADIX0))                                                                \
    {                                                                                              \
        const uint f = FR_ALONG;                                                                   \
        BF_LOOP(q, ROW_RADIX0) v[p * ROW_RADIX0 + q] = FR_FETCH(&(points)[FR_FROM(ROW_RADIX0)]);   \
    }                                                                                              \
    BF_LOOP(p, FR_SETS(ROW_RADIX0)) FR_JOIN(bf_fft, ROW_RADIX0)(&v[p * ROW_RADIX0]);               \
    FR_BEHIND

/* Stores row `row` of the output. The kernel has these names: out, from, streams, stream, first,
 * integrate. */
#define FR_AT(type) ((__global type *)out + ((from + row) * streams + stream) * KEPT)
#if MODE == 0
#define FR_LEAVE FR_KEPT(float2, FR_AT(float2), v[value])
#elif MODE == 1
#define FR_LEAVE FR_KEPT(float, FR_AT(float), fr_power(v[value]))
#elif MODE == 3
/* Most rows have nothing clipped: one `or` of all rounded numbers detects that. */
#define FR_LEAVE                                                                                   \
    {                                                                                              \
        const ulong block = (first + from + row) / integrate - first / integrate;                  \
        __global uint *counts =                                                                    \
            (__global uint *)out + counts_at + (block * streams + stream) * (2 * (ulong)KEPT);     \
        const __global float *scale = scales + (ulong)stream * KEPT;                               \
        __global step_pair *to = FR_AT(step_pair);                                                 \
        uint seen = STEP_SHIFTED;                                                                  \
        FR_EACH_KEPT(seen |= step_bits(fabs(v[value].x), scale[kept]) |                            \
                             step_bits(fabs(v[value].y), scale[kept]))                             \
        if (step_is_clipped(seen)) {                                                               \
            FR_EACH_KEPT(step_put(v[value], scale[kept], to + kept, counts + 2 * kept))            \
        } else {                                                                                   \
            FR_EACH_KEPT(to[kept] = step_of(step_bits(v[value].x, scale[kept]),                    \
                                            step_bits(v[value].y, scale[kept])))                   \
        }                                                                                          \
    }
#endif

#if MODE == 3
#define FR_STEP_ARGUMENTS , const __global float *restrict scales, ulong counts_at
#else
#define FR_STEP_ARGUMENTS
#endif

#if !RELAYED /* else fine_relay.cl has the kernel, and loads past what it may have seen before */
#define FR_FETCH(from) (*(from))
#define FR_STORE(to, what) (*(to) = (what))
__kernel __attribute__((reqd_work_group_size(FR_ITEMS, 1, 1))) void
fine_rows(const __global float2 *restrict work, const __global float2 *restrict factors,
          __global float *restrict out, ulong from, uint spectra, uint streams, ulong first,
          ulong integrate FR_STEP_ARGUMENTS)
{
    __local float2 cells[ROW_LANES * FR_SPAN];
    uint group = get_group_id(0);
    const uint k1 = group % (N1 / ROW_LANES) * ROW_LANES;
    group /= N1 / ROW_LANES;
    const uint k2 = group % N2;
    group /= N2;
    const uint stream = streams == 1 ? 0 : group % streams;
    const uint run = streams == 1 ? group : group / streams;
    const uint k0 = k1 + N1 * k2; /* channel of the first row's first point */
    const __global float2 *rows =
        work + (size_t)stream * spectra * CHANNELS + (k1 * N2 + k2) * ROW_POINTS;

#if MODE == 2
    float power[ROW_VALUES];
    BF_LOOP(i, ROW_VALUES) power[i] = 0;
    /* The run's spectra of the piece: up to the next multiple of 16. */
    const uint before = (uint)((first + from) % FR_GRAIN);
    const uint begin = run == 0 ? 0 : run * FR_GRAIN - before;
    const uint end = min(run * FR_GRAIN - before + FR_GRAIN, spectra);
    const ulong number = first + from + begin;
    ulong grain = fr_borders(number, integrate) - fr_borders(first, integrate);
    uint left = (uint)min(integrate - number % integrate, (ulong)FR_GRAIN); /* of the dump */
    _Pragma("unroll 1") for (uint row = begin; row < end; row++)
#else
    const uint row = run;
#endif
    {
#if MODE == 2
        /* Sums that a compiler cannot see to be the plain numbers: else it would load all factors,
         * and find all places in local memory, before the loop, into registers that are not there. */
        const __global float2 *tw = factors + (row >> 31);
        const uint item = get_local_id(0) + (row >> 31);
#else
        const __global float2 *tw = factors;
        const uint item = get_local_id(0);
#endif
        const __global float2 *points = rows + (size_t)row * CHANNELS + FR_ALONG_ROW * (N2 * ROW_POINTS);
        float2 v[ROW_VALUES];
        FR_TRANSFORM(points)
#if MODE == 2
        BF_LOOP(i, ROW_VALUES) power[i] = power[i] + fr_power(v[i]);
        left--;
        if (left == 0 || row + 1 == end) {
            FR_KEPT(float, out + (grain * streams + stream) * KEPT, power[value])
            BF_LOOP(i, ROW_VALUES) power[i] = 0;
            grain++;
            left = (uint)min(integrate, (ulong)FR_GRAIN);
        }
#else
        FR_LEAVE
#endif
    }
}
#endif
