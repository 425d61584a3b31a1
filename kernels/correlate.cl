/* Visibilities: sums over time of A conj(B) for pairs of inputs (a station's polarisation).
 *
 *   in      float2 [spectra][inputs][columns]    (re, im); columns are the channels of all coarse
 *           channels; the first spectrum is number `first` of the observation
 *   out     float2 [rows][npairs][columns][POLS * POLS]   polarisations 00, 11, 01, 10
 *   carry   float [3][npairs][columns][POLS * POLS][2]   the dump that a block leaves incomplete: the
 *           sums of its last tile, of those before, and what these have lost by rounding
 *
 * Dumps are `integrate` spectra; launches have dumps `dump` .. and write dump `dump` to row `row`.
 * Only one dump of a launch may use the carry: one that begins before `first`, ends after `end`, or
 * has more than one tile. Grains of GRAIN spectra are summed in their order, TILE grains of a dump in
 * theirs; tiles are added with two floats (Knuth's two-sum).
 *
 * Inputs are taken in blocks of four. A work-item owns four inputs times four others in one column:
 * 16 floats from local memory for 64 multiply-adds, as in a product of real matrices. A group has
 * SLOTS such items for each of COLUMNS neighbouring columns, so that 8 COLUMNS bytes are read
 * together, and reads MEMBERS blocks of inputs into local memory, STEP spectra at a time, the next
 * ones while it works on the others. Tables say which (opencl_correlate.c packs them full):
 *
 *   members   uint [groups][MEMBERS]          blocks of inputs; NONE: nothing
 *   slots     uint [groups][SLOTS]            member of A, and 256 times that of B
 *   pairs     int [groups][SLOTS][4 / POLS][4 / POLS]   pair of the stations; -1: none */
#ifndef POLS
#define POLS 2
#endif
#ifndef SLOTS
#define SLOTS 64
#define COLUMNS 4
#define MEMBERS 16
#endif
#ifndef STEP
#define STEP 4 /* divides GRAIN */
#endif
#define GRAIN 16
#define TILE 64
#define NONE 0xffffffffu
#define BLOCK 4
#define PRODUCTS (POLS * POLS)
#define STATIONS (BLOCK / POLS) /* of a block */
#define ITEMS (SLOTS * COLUMNS)
#define LOADS ((MEMBERS * BLOCK + SLOTS - 1) / SLOTS) /* of an item for a spectrum */
/* Floats of a column's inputs, real parts and imaginary ones; neighbouring columns begin in other
 * banks. */
#define PLANE (MEMBERS * BLOCK)
#define STRIDE (2 * PLANE + 8)

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

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
correlate(const __global float2 *restrict in, __global float2 *restrict out,
          __global float *restrict carry, const __global uint *restrict members,
          const __global uint *restrict slots, const __global int *restrict pairs, ulong first,
          ulong end, ulong integrate, ulong dump, ulong row, uint columns, uint inputs, uint groups,
          uint npairs)
{
    __local float tile[2][STEP * COLUMNS * STRIDE];
    const uint item = (uint)get_local_id(0);
    const uint slot = item % SLOTS;
    const uint group = (uint)(get_group_id(0) % groups);
    const uint across = (columns + COLUMNS - 1) / COLUMNS;
    const uint column0 = (uint)(get_group_id(0) / groups % across) * COLUMNS;
    const ulong turn = get_group_id(0) / groups / across;
    const uint column = column0 + item / SLOTS;

    /* Places are spectra counted from the grain that `first` is in. */
    const ulong begins = (dump + turn) * integrate;
    const ulong ends = begins + integrate < end ? begins + integrate : end;
    const int is_begun = begins < first;
    const int is_complete = ends == begins + integrate;
    const uint phase = (uint)(first % GRAIN);
    const uint from = (uint)((is_begun ? first : begins) - first) + phase;
    const uint to = (uint)(ends - first) + phase;
    /* Grains of the dump before the first one here. */
    ulong grains = (is_begun ? first : begins) / GRAIN - begins / GRAIN;

    /* What the item reads: numbers of its places in local memory. */
    const __global float2 *source[LOADS];
    int is_there[LOADS];
    uint place[LOADS];
    for (int l = 0; l < LOADS; l++) {
        const uint element = item + l * ITEMS;
        const uint input = element / COLUMNS;
        const uint member = input < PLANE ? members[group * MEMBERS + input / BLOCK] : NONE;
        const uint number = member * BLOCK + input % BLOCK;
        is_there[l] = member != NONE && number < inputs && column0 + element % COLUMNS < columns;
        place[l] = input < PLANE ? element % COLUMNS * STRIDE + input : NONE;
        source[l] = in + (is_there[l] ? (size_t)number * columns + column0 + element % COLUMNS : 0);
    }
    const size_t spectrum = (size_t)inputs * columns;
    const uint which = slots[group * SLOTS + slot];
    const uint a_at = item / SLOTS * STRIDE + which % 256 * BLOCK;
    const uint b_at = item / SLOTS * STRIDE + which / 256 * BLOCK;

    float re[BLOCK][BLOCK], im[BLOCK][BLOCK];             /* of a grain */
    float sum_re[BLOCK][BLOCK], sum_im[BLOCK][BLOCK]; /* of a tile */
#pragma unroll
    for (int i = 0; i < BLOCK; i++) {
#pragma unroll
        for (int j = 0; j < BLOCK; j++) {
            re[i][j] = im[i][j] = sum_re[i][j] = sum_im[i][j] = 0;
        }
    }

/* For every product of every pair of the item: `at` is its place in a row. */
#define EACH_PRODUCT(...)                                                                          \
    _Pragma("unroll") for (int u = 0; u < STATIONS; u++)                                           \
    {                                                                                              \
        _Pragma("unroll") for (int v = 0; v < STATIONS; v++)                                       \
        {                                                                                          \
            const int pair =                                                                       \
                pairs[((group * SLOTS + slot) * STATIONS + u) * STATIONS + v];                     \
            if (pair >= 0 && column < columns) {                                                   \
                _Pragma("unroll") for (int k = 0; k < PRODUCTS; k++)                               \
                {                                                                                  \
                    const int i = u * POLS + FIRST_POL(k);                                         \
                    const int j = v * POLS + SECOND_POL(k);                                        \
                    const size_t at = ((size_t)pair * columns + column) * PRODUCTS + k;            \
                    __VA_ARGS__                                                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
    const size_t plane = (size_t)npairs * columns * PRODUCTS * 2;
    __global float *totals = carry + plane;
    __global float *errors = totals + plane;
    if (is_begun) {
        EACH_PRODUCT(sum_re[i][j] = carry[2 * at]; sum_im[i][j] = carry[2 * at + 1];)
    }

    float2 next[LOADS][STEP];
#define READ(step)                                                                                 \
    _Pragma("unroll") for (int l = 0; l < LOADS; l++)                                              \
    {                                                                                              \
        _Pragma("unroll") for (uint s = 0; s < STEP; s++)                                          \
        {                                                                                          \
            const uint at = (step)*STEP + s;                                                       \
            next[l][s] = is_there[l] && at >= from && at < to                                      \
                             ? source[l][(size_t)(at - phase) * spectrum]                          \
                             : (float2)(0.0f, 0.0f);                                               \
        }                                                                                          \
    }
#define WRITE(half)                                                                                \
    _Pragma("unroll") for (int l = 0; l < LOADS; l++)                                              \
    {                                                                                              \
        if (place[l] != NONE) {                                                                    \
            _Pragma("unroll") for (int s = 0; s < STEP; s++)                                       \
            {                                                                                      \
                tile[half][s * COLUMNS * STRIDE + place[l]] = next[l][s].x;                        \
                tile[half][s * COLUMNS * STRIDE + place[l] + PLANE] = next[l][s].y;                \
            }                                                                                      \
        }                                                                                          \
    }
    const uint first_step = from / STEP;
    const uint last_step = (to - 1) / STEP;
    READ(first_step)
    WRITE(first_step % 2)
    for (uint step = first_step; step <= last_step; step++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (step < last_step) {
            READ(step + 1)
        }
#pragma unroll
        for (int s = 0; s < STEP; s++) {
            const __local float *here = tile[step % 2] + s * COLUMNS * STRIDE;
            const float4 ar = *(const __local float4 *)(here + a_at);
            const float4 ai = *(const __local float4 *)(here + a_at + PLANE);
            const float4 br = *(const __local float4 *)(here + b_at);
            const float4 bi = *(const __local float4 *)(here + b_at + PLANE);
            const float a_re[BLOCK] = {ar.x, ar.y, ar.z, ar.w};
            const float a_im[BLOCK] = {ai.x, ai.y, ai.z, ai.w};
            const float b_re[BLOCK] = {br.x, br.y, br.z, br.w};
            const float b_im[BLOCK] = {bi.x, bi.y, bi.z, bi.w};
#pragma unroll
            for (int i = 0; i < BLOCK; i++) {
#pragma unroll
                for (int j = 0; j < BLOCK; j++) {
                    re[i][j] = fma(a_re[i], b_re[j], re[i][j]);
                    im[i][j] = fma(a_im[i], b_re[j], im[i][j]);
                    re[i][j] = fma(a_im[i], b_im[j], re[i][j]);
                    im[i][j] = fma(-a_re[i], b_im[j], im[i][j]);
                }
            }
        }
        if ((step + 1) % (GRAIN / STEP) == 0 || step == last_step) {
#pragma unroll
            for (int i = 0; i < BLOCK; i++) {
#pragma unroll
                for (int j = 0; j < BLOCK; j++) {
                    sum_re[i][j] += re[i][j];
                    sum_im[i][j] += im[i][j];
                    re[i][j] = im[i][j] = 0;
                }
            }
            grains++;
            if (grains % TILE == 0 && !(is_complete && step == last_step)) {
                const int is_first = grains == TILE;
                EACH_PRODUCT(
                    float total[2] = {0, 0}; float error[2] = {0, 0};
                    if (!is_first) {
                        total[0] = totals[2 * at];
                        total[1] = totals[2 * at + 1];
                        error[0] = errors[2 * at];
                        error[1] = errors[2 * at + 1];
                    }
                    add_exactly(&total[0], &error[0], sum_re[i][j]);
                    add_exactly(&total[1], &error[1], sum_im[i][j]);
                    totals[2 * at] = total[0];
                    totals[2 * at + 1] = total[1];
                    errors[2 * at] = error[0];
                    errors[2 * at + 1] = error[1];)
#pragma unroll
                for (int i = 0; i < BLOCK; i++) {
#pragma unroll
                    for (int j = 0; j < BLOCK; j++) {
                        sum_re[i][j] = sum_im[i][j] = 0;
                    }
                }
            }
        }
        if (step < last_step) {
            WRITE((step + 1) % 2)
        }
    }
    if (is_complete) {
        const int has_more = grains > TILE;
        __global float2 *to_row = out + (row + turn) * (plane / 2);
        EACH_PRODUCT(
            float2 value = (float2)(sum_re[i][j], sum_im[i][j]);
            if (has_more) {
                float total[2] = {totals[2 * at], totals[2 * at + 1]};
                float error[2] = {errors[2 * at], errors[2 * at + 1]};
                add_exactly(&total[0], &error[0], value.x);
                add_exactly(&total[1], &error[1], value.y);
                value = (float2)(total[0] + error[0], total[1] + error[1]);
            }
            to_row[at] = value;)
    } else {
        EACH_PRODUCT(carry[2 * at] = sum_re[i][j]; carry[2 * at + 1] = sum_im[i][j];)
    }
}

/* Pairs of stations with themselves, as detect.cl and sum.cl sum coherency. A work-item owns one
 * column of one station and one dump.
 *
 *   autos   uint [count][2]   station, pair */
__kernel void correlate_autos(const __global float2 *restrict in, __global float *restrict out,
                              __global float *restrict carry, const __global uint *restrict autos,
                              ulong first, ulong end, ulong integrate, ulong dump, ulong row,
                              ulong dumps, uint columns, uint inputs, uint count, uint npairs)
{
    const size_t id = get_global_id(0);
    const size_t column = id % columns;
    const uint which = (uint)(id / columns % count);
    const ulong turn = id / columns / count;
    if (turn >= dumps) {
        return;
    }
    const ulong begins = (dump + turn) * integrate;
    const ulong ends = min(begins + integrate, end);
    const size_t spectrum = (size_t)inputs * columns;
    const size_t plane = (size_t)npairs * columns * PRODUCTS * 2;
    const size_t at = ((size_t)autos[2 * which + 1] * columns + column) * PRODUCTS * 2;
    const __global float2 *a = in + (size_t)autos[2 * which] * POLS * columns + column;
    float total[PRODUCTS], error[PRODUCTS];
    for (int k = 0; k < PRODUCTS; k++) {
        total[k] = begins < first ? carry[plane + at + k] : 0.0f;
        error[k] = begins < first ? carry[2 * plane + at + k] : 0.0f;
    }
    for (ulong s = max(begins, first); s < ends;) {
        const ulong next = min((s / GRAIN + 1) * GRAIN, ends);
        float sum[PRODUCTS];
        for (int k = 0; k < PRODUCTS; k++) {
            sum[k] = 0;
        }
#pragma unroll 4
        for (; s < next; s++) {
            const float2 x = a[(size_t)(s - first) * spectrum];
            sum[0] += fma(x.x, x.x, x.y * x.y);
#if POLS == 2
            const float2 y = a[(size_t)(s - first) * spectrum + columns];
            sum[1] += fma(y.x, y.x, y.y * y.y);
            sum[2] += fma(x.x, y.x, x.y * y.y);
            sum[3] += fma(x.y, y.x, -(x.x * y.y));
#endif
        }
        for (int k = 0; k < PRODUCTS; k++) {
            add_exactly(&total[k], &error[k], sum[k]);
        }
    }
    if (ends == begins + integrate) {
        __global float *to = out + (row + turn) * plane + at;
        to[0] = total[0] + error[0];
        to[1] = 0;
#if POLS == 2
        to[2] = total[1] + error[1];
        to[3] = 0;
        to[4] = to[6] = total[2] + error[2];
        to[5] = total[3] + error[3];
        to[7] = -(total[3] + error[3]);
#endif
    } else {
        for (int k = 0; k < PRODUCTS; k++) {
            carry[plane + at + k] = total[k];
            carry[2 * plane + at + k] = error[k];
        }
    }
}

/* Rotates spectra: turned = in exp(2 pi i (turns[0] + channel turns[1])). A work-item owns one column
 * of one station's spectrum. The product of channel and turns is exact before whole turns go.
 *
 *   turns   float2 [spectra][stations][coarse] */
__kernel void correlate_turn(const __global float2 *restrict in, __global float2 *restrict turned,
                             const __global float2 *restrict turns, ulong spectra, uint stations,
                             uint columns, uint nchannels)
{
    const size_t id = get_global_id(0);
    const size_t column = id % columns;
    const size_t station = id / columns; /* of all spectra */
    if (station >= spectra * stations) {
        return;
    }
    const float2 turn = turns[station * (columns / nchannels) + column / nchannels];
    const float channel = (float)(column % nchannels);
    const float whole = channel * turn.y;
    const float rest = fma(channel, turn.y, -whole);
    const float angle = 2.0f * ((whole - rint(whole)) + (turn.x + rest));
    const float re = cospi(angle), im = sinpi(angle);
    for (int p = 0; p < POLS; p++) {
        const size_t at = (station * POLS + p) * columns + column;
        const float2 x = in[at];
        turned[at] = (float2)(fma(x.x, re, -(x.y * im)), fma(x.x, im, x.y * re));
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
