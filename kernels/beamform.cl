/* Beams: sums over stations of turned and weighted spectra (src/compute/beamform.h).
 *
 *   in        float2 [spectra][STATIONS][POLS][COARSE][NCHANNELS]   the first number `first`
 *   out       float2 [spectra][BEAMS][POLS][COARSE][NCHANNELS]
 *   turns     float2 [spectra][STATIONS][COARSE] of stations, if HAS_TURNS; and `beam_turns` float2s
 *             from its beginning [cells][BEAMS][STATIONS][COARSE] of beams, if HAS_BEAM_TURNS
 *   factors   float2 [BEAMS][STATIONS], if HAS_FACTORS
 *   table     float2 [STATIONS][POLS][COARSE][NCHANNELS] gains, if TABLE is 1; if it is 2 weights,
 *             as work-groups take them: [groups of a time][STATIONS / KT][KT][COLUMNS][BT], both
 *             rounded up
 *
 * A column is one polarisation of one channel: its beams are a matrix product of BEAMS x STATIONS
 * weights and STATIONS x spectra numbers. A work-group makes COLUMNS columns, CHANNELS neighbouring
 * channels of PT polarisations, BT beams, and TT spectra of one cell. It goes through the stations
 * KT at a time: their spectra are turned on their way to local memory, and their weights made
 * there, once for all spectra and both polarisations. BL x TL work-items share a column; each has
 * RB x RT sums in registers, neighbouring beams and spectra in pairs. Where all numbers that were
 * loaded are finite, weights of 0 need no care. Sums leave through local memory, so that channels
 * that are neighbours are written together.
 *
 * Every sum adds its stations in their order, whatever the tiles are. */
#ifndef STATIONS
#define STATIONS 3
#define BEAMS 2
#define POLS 1
#define COARSE 1
#define NCHANNELS 4
#define CELL 16
#define HAS_TURNS 0
#define HAS_BEAM_TURNS 0
#define HAS_FACTORS 0
#define TABLE 0
#endif
#ifndef CHANNELS
#define CHANNELS 4
#define PT 1
#define BL 8
#define TL 4
#define RB 2
#define RT 4
#define KT 8
#endif
#define COLUMNS (CHANNELS * PT)
#define BT (BL * RB)
#define TT (TL * RT)
#define ITEMS (COLUMNS * BL * TL)
/* Numbers and pairs of beams and stations that a work-item brings at a time. */
#define NX ((KT * TT * CHANNELS + ITEMS - 1) / ITEMS)
#define NW ((KT * BT + ITEMS - 1) / ITEMS)
#define NT ((KT * COLUMNS * BT / 2 + ITEMS - 1) / ITEMS)
/* Strides in local memory, pairs: of columns of x, of beams and columns of what leaves. */
#define X_COLUMN (TT + 4)
#define OUT_BEAM (TT + 2)
#define OUT_COLUMN (2 * BL * OUT_BEAM + 4)
#define SHARED_IN (KT * COLUMNS * (BT + X_COLUMN))
#define SHARED_OUT (COLUMNS * OUT_COLUMN)
#define SHARED (SHARED_IN > SHARED_OUT ? SHARED_IN : SHARED_OUT)

/* Its sum with a smaller number has this number's whole part in its lowest bits. */
#define ROUND 0x1.8p23f

static inline float2 multiply(float2 a, float2 b)
{
    return (float2)(fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x));
}

/* exp(2 pi i (turns.x + channel turns.y)): polynomials of minimal error over an eighth of a turn,
 * 1e-9; no turns give exactly 1. */
static inline float2 turn(float2 turns, uint channel)
{
    const float k = (float)channel;
    const float whole = fma(k, turns.y, ROUND) - ROUND;
    const float r = fma(k, turns.y, -whole) + turns.x;
    const float quarters = fma(r, 4.0f, ROUND);
    const uint q = as_uint(quarters);
    const float f = fma(quarters - ROUND, -0.25f, r);
    const float z = f * f;
    const float sine =
        f * fma(z, fma(z, fma(z, -75.4f, 81.592514f), -41.341663f), 6.2831855f);
    const float cosine =
        fma(z, fma(z, fma(z, fma(z, 59.928913f, -85.461075f), 64.939445f), -19.739208f), 1.0f);
    const float re = q & 1 ? sine : cosine;
    const float im = q & 1 ? cosine : sine;
    return (float2)(as_float(as_uint(re) ^ (((q + 1) & 2) << 30)),
                    as_float(as_uint(im) ^ ((q & 2) << 30)));
}

/* Adds a station to a work-item's sums. `w` and `x` are its pairs of beams and spectra. */
static inline void add_station(const __local float4 *w, const __local float4 *x, int skips,
                               float re[RB][RT], float im[RB][RT])
{
    float2 one[RT];
#pragma unroll
    for (int i = 0; i < RT / 2; i++) {
        const float4 pair = x[i * TL];
        one[2 * i] = pair.xy;
        one[2 * i + 1] = pair.zw;
    }
#pragma unroll
    for (int j = 0; j < RB / 2; j++) {
        const float4 both = w[j * BL];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float2 weight = h ? both.zw : both.xy;
            const int is_none = skips && weight.x == 0 && weight.y == 0;
#pragma unroll
            for (int s = 0; s < RT; s++) {
                const float2 y = is_none ? (float2)(0.0f) : one[s];
                const int b = 2 * j + h;
                re[b][s] = fma(weight.x, y.x, re[b][s]);
                im[b][s] = fma(weight.x, y.y, im[b][s]);
                re[b][s] = fma(-weight.y, y.y, re[b][s]);
                im[b][s] = fma(weight.y, y.x, im[b][s]);
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
beamform(const __global float2 *restrict in, __global float2 *restrict out,
         const __global float2 *restrict turns, ulong beam_turns,
         const __global float2 *restrict factors, const __global float2 *restrict table,
         ulong first, ulong spectra)
{
    __local float4 shared[(SHARED + 1) / 2];
    __local int is_any_infinite;
    __local float2 *w = (__local float2 *)shared;
    __local float2 *x = w + KT * COLUMNS * BT;
    const uint item = get_local_id(0);
    const uint across = (NCHANNELS + CHANNELS - 1) / CHANNELS;
    size_t group = get_group_id(0);
#if TABLE == 2
    const uint groups = across * COARSE * (POLS / PT) * ((BEAMS + BT - 1) / BT);
    const __global float4 *my_table = (const __global float4 *)table +
        (size_t)(group % groups) * ((STATIONS + KT - 1) / KT * (KT * COLUMNS * BT / 2));
#endif
    const uint channel = (uint)(group % across) * CHANNELS;
    group /= across;
    const uint coarse = group % COARSE;
    group /= COARSE;
    const uint pol = (uint)(group % (POLS / PT)) * PT;
    group /= POLS / PT;
    const uint beam = (uint)(group % ((BEAMS + BT - 1) / BT)) * BT;
    group /= (BEAMS + BT - 1) / BT;
#if HAS_BEAM_TURNS
    const ulong parts = (CELL + TT - 1) / TT;
    const ulong cell = group / parts;
    const ulong cell_start = (first / CELL + cell) * CELL;
    const ulong from = cell_start + group % parts * TT;
    const ulong begin = max(from, first) - first;
    const ulong end = min(min(from + TT, cell_start + CELL), first + spectra);
    const int count = end > begin + first ? (int)(end - first - begin) : 0;
#else
    const ulong begin = group * TT;
    const int count = begin < spectra ? (int)min((ulong)TT, spectra - begin) : 0;
#endif
    const uint column = item / (BL * TL);
    const uint bl = item % BL;
    const uint tl = item / BL % TL;
    float re[RB][RT];
    float im[RB][RT];
    if (count == 0) {
        return;
    }
#pragma unroll
    for (int b = 0; b < RB; b++) {
#pragma unroll
        for (int s = 0; s < RT; s++) {
            re[b][s] = 0;
            im[b][s] = 0;
        }
    }
    if (item == 0) {
        is_any_infinite = 0;
    }
    /* The next stations' numbers, on their way while sums are made of those before. Places beyond
     * the last station, beam, spectrum or channel repeat the last one: nothing is made of them. */
    float2 next[NX][PT];
    float2 next_turns[NX];
    float2 next_weights[NW];
    float2 next_factors[NW];
    for (uint k0 = 0; k0 < STATIONS + KT; k0 += KT) {
        if (k0 > 0) {
            /* Numbers that have come go to local memory. */
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
            for (uint i = 0; i < NX; i++) {
                const uint e = item + i * ITEMS;
                const uint c = e % CHANNELS;
                __local float2 *to = x + (e / (CHANNELS * TT) * COLUMNS + c) * X_COLUMN + e / CHANNELS % TT;
#if HAS_TURNS
                const float2 by = turn(next_turns[i], channel + c);
#endif
#pragma unroll
                for (uint p = 0; p < PT; p++) {
                    float2 one = next[i][p];
#if HAS_TURNS
                    one = multiply(one, by);
#endif
                    if (!(fabs(one.x) + fabs(one.y) < INFINITY)) {
                        is_any_infinite = 1;
                    }
                    if (e < KT * TT * CHANNELS) {
                        to[p * CHANNELS * X_COLUMN] = one;
                    }
                }
            }
#pragma unroll
#if TABLE == 2
            for (uint i = 0; i < NT; i++) {
                const uint e = item + i * ITEMS;
                float4 two = my_table[min(e, (uint)(KT * COLUMNS * BT / 2 - 1))];
#if HAS_BEAM_TURNS
                const uint b = min(beam + e * 2 % BT, (uint)BEAMS - 1);
                const uint k = min(k0 - KT + e * 2 / (COLUMNS * BT), (uint)STATIONS - 1);
                const size_t at = beam_turns + ((cell * BEAMS + b) * STATIONS + k) * COARSE + coarse;
                const uint c = channel + e * 2 / BT % CHANNELS;
                two.xy = multiply(two.xy, turn(turns[at], c));
                two.zw = multiply(two.zw, turn(turns[b + 1 < BEAMS ? at + STATIONS * COARSE : at], c));
#endif
                if (e < KT * COLUMNS * BT / 2) {
                    ((__local float4 *)w)[e] = two;
                }
            }
            my_table += KT * COLUMNS * BT / 2;
#else
            for (uint i = 0; i < NW; i++) {
                const uint e = item + i * ITEMS;
                const uint b = e % BT;
                const uint k = e / BT;
                float2 one = (float2)(1.0f, 0.0f);
#if HAS_BEAM_TURNS
                one = turn(next_weights[i], channel);
                const float2 step = turn((float2)(next_weights[i].y, 0.0f), 0);
#endif
#if HAS_FACTORS
                one = multiply(one, next_factors[i]);
#endif
#pragma unroll
                for (uint c = 0; c < CHANNELS; c++) {
#pragma unroll
                    for (uint p = 0; p < PT; p++) {
                        float2 weight = one;
#if TABLE
                        const size_t station = min(k0 - KT + k, (uint)STATIONS - 1);
                        const uint at = min(channel + c, (uint)NCHANNELS - 1);
                        weight = multiply(one, table[((station * POLS + pol + p) * COARSE + coarse) * NCHANNELS + at]);
#endif
                        if (e < KT * BT) {
                            w[(k * COLUMNS + p * CHANNELS + c) * BT + b] = weight;
                        }
                    }
#if HAS_BEAM_TURNS
                    one = multiply(one, step);
#endif
                }
            }
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (k0 < STATIONS) {
#pragma unroll
            for (uint i = 0; i < NX; i++) {
                const uint e = item + i * ITEMS;
                const uint c = min(channel + e % CHANNELS, (uint)NCHANNELS - 1);
                const uint s = min(e / CHANNELS % TT, (uint)count - 1);
                const uint k = min(k0 + e / (CHANNELS * TT), (uint)STATIONS - 1);
                const size_t row = (begin + s) * STATIONS + k;
#if HAS_TURNS
                next_turns[i] = turns[row * COARSE + coarse];
#endif
#pragma unroll
                for (uint p = 0; p < PT; p++) {
                    next[i][p] = in[((row * POLS + pol + p) * COARSE + coarse) * NCHANNELS + c];
                }
            }
#if TABLE != 2
#pragma unroll
            for (uint i = 0; i < NW; i++) {
                const uint e = item + i * ITEMS;
                const uint b = min(beam + e % BT, (uint)BEAMS - 1);
                const uint k = min(k0 + e / BT, (uint)STATIONS - 1);
                const uint pair = b * STATIONS + k;
#if HAS_BEAM_TURNS
                next_weights[i] = turns[beam_turns + (cell * BEAMS * STATIONS + pair) * COARSE + coarse];
#endif
#if HAS_FACTORS
                next_factors[i] = factors[pair];
#endif
            }
#endif
        }
        if (k0 == 0) {
            continue;
        }
        const uint stations = min((uint)KT, STATIONS - (k0 - KT));
        const __local float4 *my_w = (const __local float4 *)(w + column * BT) + bl;
        const __local float4 *my_x = (const __local float4 *)(x + column * X_COLUMN) + tl;
        if (is_any_infinite) {
            for (uint k = 0; k < stations; k++) {
                add_station(my_w, my_x, 1, re, im);
                my_w += COLUMNS * BT / 2;
                my_x += COLUMNS * X_COLUMN / 2;
            }
        } else {
            for (uint k = 0; k < stations; k++) {
                add_station(my_w, my_x, 0, re, im);
                my_w += COLUMNS * BT / 2;
                my_x += COLUMNS * X_COLUMN / 2;
            }
        }
    }
    /* 2 BL neighbouring beams at a time. */
#pragma unroll
    for (int j = 0; j < RB / 2; j++) {
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int h = 0; h < 2; h++) {
#pragma unroll
            for (int s = 0; s < RT; s++) {
                const uint at = s / 2 * 2 * TL + tl * 2 + s % 2;
                w[column * OUT_COLUMN + (bl * 2 + h) * OUT_BEAM + at] =
                    (float2)(re[2 * j + h][s], im[2 * j + h][s]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint e = item; e < 2 * BL * TT * COLUMNS; e += ITEMS) {
            const uint c = e % CHANNELS;
            const uint p = e / CHANNELS % PT;
            const uint s = e / COLUMNS % TT;
            const uint b = e / (COLUMNS * TT);
            const uint my_beam = beam + j * 2 * BL + b;
            if (channel + c < NCHANNELS && s < count && my_beam < BEAMS) {
                const size_t row = (begin + s) * BEAMS + my_beam;
                out[((row * POLS + pol + p) * COARSE + coarse) * NCHANNELS + channel + c] =
                    w[(p * CHANNELS + c) * OUT_COLUMN + b * OUT_BEAM + s];
            }
        }
    }
}

/* Beams that are a station's spectra where nothing turns: sums have changed the sign of zeros.
 *
 *   copies   uint2 [count]   beam and station */
__kernel void beam_copies(const __global float2 *restrict in, __global float2 *restrict out,
                          const __global float2 *restrict turns, ulong beam_turns,
                          const __global uint2 *restrict copies, uint count, ulong first,
                          ulong spectra)
{
    const size_t place = get_global_id(0);
    const uint series = POLS * COARSE * NCHANNELS;
    const uint channel = place % series;
    const uint coarse = channel / NCHANNELS % COARSE;
    const uint2 copy = copies[place / series % count];
    const size_t s = place / series / count;
    int is_turned = 0;
    if (s >= spectra) {
        return;
    }
#if HAS_TURNS
    const float2 by = turns[(s * STATIONS + copy.y) * COARSE + coarse];
    is_turned |= by.x != 0 || by.y != 0;
#endif
#if HAS_BEAM_TURNS
    const size_t cell = (first + s) / CELL - first / CELL;
    const float2 further =
        turns[beam_turns + ((cell * BEAMS + copy.x) * STATIONS + copy.y) * COARSE + coarse];
    is_turned |= further.x != 0 || further.y != 0;
#endif
    if (!is_turned) {
        out[(s * BEAMS + copy.x) * series + channel] = in[(s * STATIONS + copy.y) * series + channel];
    }
}
