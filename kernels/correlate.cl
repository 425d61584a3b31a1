/* Visibilities: sums over time of A conj(B) for pairs of inputs (a station's polarisation).
 *
 *   in      float2 [spectra][inputs][columns]    (re, im); columns are the channels of all coarse
 *           channels; the first spectrum is number `first` of the observation. is_tiled: as
 *           correlate_turn (correlate_rows.cl) leaves it, [spectra][columns / COLUMNS, rounded
 *           up][inputs][COLUMNS]
 *   out     float2 [rows][npairs][columns][POLS * POLS]   polarisations 00, 11, 01, 10
 *   carry   float2 [3][npairs][columns][POLS * POLS]   the dump that a block leaves incomplete: the sums
 *           of its last tile, of those before, and what these have lost by rounding
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
 * ones while it works on the others. Tables say which (opencl/correlate_groups.c packs them full):
 *
 *   members   uint [groups][MEMBERS]          blocks of inputs; NONE: nothing
 *   slots     uint [groups][SLOTS]            member of A, and 256 times that of B
 *   pairs     int [groups][SLOTS][4 / POLS][4 / POLS]   pair of the stations; -1: none
 *
 * H200, 256 inputs: half of the rate of multiply-adds alone. Without reading it would be 70 %: lines
 * of 32 bytes take long, and tiles help. As fast: asynchronous copies past the registers, 8 x 4 inputs
 * an item, 8 columns a group. Slower: 2 columns (16 bytes), 2 spectra a step, larger groups. Without
 * grains, whose sums take 32 registers, a tenth faster. */
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
#ifndef UNROLLED
#define UNROLLED 1 /* sums stay in registers; 0: processors, whose compilers take long */
#endif
#if UNROLLED
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("nounroll")
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
/* Neighbouring items share A in pairs, and each eight pairs B: most of their reads are one. */
#define SLOT(item) (SLOTS < 16 ? (item) : (item) / 2 % 8 + 8 * ((item) % 2 + (item) / 16 * 2))

static inline void add_exactly(float *sum, float *error, float value)
{
    const float total = *sum + value;
    const float part = total - *sum;
    const float lost = (*sum - (total - part)) + (value - part);
    /* A sum that has overflowed keeps no error. */
    *error = isfinite(total) ? *error + lost : 0.0f;
    *sum = total;
}

/* For each sum of an item. */
#define EACH_SUM(...)                                                                              \
    UNROLL for (int i = 0; i < BLOCK; i++)                                                         \
    {                                                                                              \
        UNROLL for (int j = 0; j < BLOCK; j++)                                                     \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
/* For each sum that belongs to a pair: `at` is its place in a row. */
#define EACH_PRODUCT(...)                                                                          \
    EACH_SUM(const int pair =                                                                      \
                 pairs[((group * SLOTS + slot) * STATIONS + i / POLS) * STATIONS + j / POLS];      \
             const int p = i % POLS; const int q = j % POLS;                                       \
             const size_t at =                                                                     \
                 ((size_t)pair * columns + column) * PRODUCTS + (p == q ? p : 2 + p);              \
             if (pair >= 0 && column < columns) { __VA_ARGS__ })

/* For each number that an item reads for a step. */
#define EACH_LOAD(...)                                                                             \
    UNROLL for (int l = 0; l < LOADS; l++)                                                         \
    {                                                                                              \
        UNROLL for (uint s = 0; s < STEP; s++)                                                     \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define READ(step)                                                                                 \
    {                                                                                              \
        const uint at = (step)*STEP;                                                               \
        if (at >= from && at + STEP <= to) {                                                       \
            EACH_LOAD(next[l][s] = source[l][(size_t)(at + s - phase) * spectrum];)                \
        } else {                                                                                   \
            EACH_LOAD(next[l][s] = at + s >= from && at + s < to                                   \
                                       ? source[l][(size_t)(at + s - phase) * spectrum]            \
                                       : (float2)(0.0f, 0.0f);)                                    \
        }                                                                                          \
    }
#define WRITE(step)                                                                                \
    EACH_LOAD(                                                                                     \
        __local float *to_place = tile[(step) % 2] + s * COLUMNS * STRIDE + place[l];              \
        to_place[0] = next[l][s].x; to_place[PLANE] = next[l][s].y;)

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
correlate(const __global float2 *restrict in, __global float2 *restrict out,
          __global float2 *restrict carry, const __global uint *restrict members,
          const __global uint *restrict slots, const __global int *restrict pairs, ulong first,
          ulong end, ulong integrate, ulong dump, ulong row, uint columns, uint inputs, uint groups,
          uint npairs, uint is_tiled)
{
    __local float tile[2][STEP * COLUMNS * STRIDE] __attribute__((aligned(16)));
    const uint item = (uint)get_local_id(0);
    const uint slot = SLOT(item % SLOTS);
    const uint group = (uint)(get_group_id(0) % groups);
    const uint across = (columns + COLUMNS - 1) / COLUMNS;
    const uint column0 = (uint)(get_group_id(0) / groups % across) * COLUMNS;
    const ulong turn = get_group_id(0) / groups / across;
    const uint column = column0 + item / SLOTS;

    /* Places are spectra counted from the grain that `first` is in. */
    const ulong begins = (dump + turn) * integrate;
    const ulong ends = integrate < end - begins ? begins + integrate : end;
    const int is_begun = begins < first;
    const int is_complete = ends - begins == integrate;
    const uint phase = (uint)(first % GRAIN);
    const uint from = (uint)((is_begun ? first : begins) - first) + phase;
    const uint to = (uint)(ends - first) + phase;
    /* Grains of the dump before the first one here. */
    ulong grains = (is_begun ? first : begins) / GRAIN - begins / GRAIN;

    /* Numbers that the item reads. Nothing is made of inputs and columns that there are not: any number serves
     * for them. */
    const size_t spectrum = (size_t)inputs * (is_tiled ? across * COLUMNS : columns);
    const __global float2 *source[LOADS];
    uint place[LOADS];
    for (int l = 0; l < LOADS; l++) {
        const uint element = item + l * ITEMS;
        const uint input = min(element / COLUMNS, PLANE - 1u);
        const uint member = members[group * MEMBERS + input / BLOCK];
        const size_t number = min(member * BLOCK + input % BLOCK, inputs - 1);
        const uint k = element % COLUMNS;
        place[l] = k * STRIDE + input;
        source[l] = in + (is_tiled ? (size_t)column0 * inputs + number * COLUMNS + k
                                   : number * columns + min(column0 + k, columns - 1));
    }
    const uint which = slots[group * SLOTS + slot];
    const uint a_at = item / SLOTS * STRIDE + which % 256 * BLOCK;
    const uint b_at = item / SLOTS * STRIDE + which / 256 * BLOCK;

    float re[BLOCK][BLOCK], im[BLOCK][BLOCK];         /* of a grain */
    float sum_re[BLOCK][BLOCK], sum_im[BLOCK][BLOCK]; /* of a tile */
    EACH_SUM(re[i][j] = im[i][j] = sum_re[i][j] = sum_im[i][j] = 0;)
    const size_t plane = (size_t)npairs * columns * PRODUCTS;
    __global float2 *to_row = out + (row + turn) * plane;
    if (is_begun) {
        EACH_PRODUCT(sum_re[i][j] = carry[at].x; sum_im[i][j] = carry[at].y;)
    }

    float2 next[LOADS][STEP];
    const uint last_step = (to - 1) / STEP;
    uint step = from / STEP;
    READ(step)
    WRITE(step)
    while (step <= last_step) {
        int is_tile = 0;
        for (; step <= last_step && !is_tile; step++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (step < last_step) {
                READ(step + 1)
            }
            UNROLL
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
                EACH_SUM(re[i][j] = fma(a_re[i], b_re[j], re[i][j]);
                         im[i][j] = fma(a_im[i], b_re[j], im[i][j]);
                         re[i][j] = fma(a_im[i], b_im[j], re[i][j]);
                         im[i][j] = fma(-a_re[i], b_im[j], im[i][j]);)
            }
            if ((step + 1) % (GRAIN / STEP) == 0 || step == last_step) {
                EACH_SUM(sum_re[i][j] += re[i][j]; sum_im[i][j] += im[i][j];
                         re[i][j] = im[i][j] = 0;)
                is_tile = ++grains % TILE == 0;
            }
            if (step < last_step) {
                WRITE(step + 1)
            }
        }
        /* A whole tile goes to the carry, unless it completes the dump. */
        const int is_last = step > last_step;
        const int is_first_tile = grains <= TILE;
        EACH_PRODUCT(
            float2 value = (float2)(sum_re[i][j], sum_im[i][j]);
            if (is_last && is_complete && is_first_tile) {
                to_row[at] = value;
            } else if (is_last && !is_complete && !is_tile) {
                carry[at] = value;
            } else {
                float2 total = is_first_tile ? (float2)(0.0f, 0.0f) : carry[plane + at];
                float2 error = is_first_tile ? (float2)(0.0f, 0.0f) : carry[2 * plane + at];
                float sums[4] = {total.x, total.y, error.x, error.y};
                add_exactly(&sums[0], &sums[2], value.x);
                add_exactly(&sums[1], &sums[3], value.y);
                if (is_last && is_complete) {
                    to_row[at] = (float2)(sums[0] + sums[2], sums[1] + sums[3]);
                } else {
                    carry[at] = (float2)(0.0f, 0.0f);
                    carry[plane + at] = (float2)(sums[0], sums[1]);
                    carry[2 * plane + at] = (float2)(sums[2], sums[3]);
                }
            })
        EACH_SUM(sum_re[i][j] = sum_im[i][j] = 0;)
    }
}
