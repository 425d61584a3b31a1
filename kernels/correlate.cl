/* Visibilities: sums over time of A conj(B) for pairs of inputs (a station's polarisation).
 *
 *   in      float2 [spectra][inputs][columns]    (re, im); columns are the channels of all coarse
 *           channels; the first spectrum is number `first` of the observation. is_tiled: as
 *           correlate_turn (correlate_rows.cl) leaves it, [spectra][columns / COLUMNS, rounded
 *           up][inputs][COLUMNS]
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
 * ones while it works on the others. Tables say which (opencl/opencl_correlate.c packs them full):
 *
 *   members   uint [groups][MEMBERS]          blocks of inputs; NONE: nothing
 *   slots     uint [groups][SLOTS]            member of A, and 256 times that of B
 *   pairs     int [groups][SLOTS][4 / POLS][4 / POLS]   pair of the stations; -1: none
 *
 * H200, 512 spectra, TFLOP/s of pairs of 256 inputs: 28.5, in tiles 34.2, of 61 of multiply-adds alone; 42
 * if nothing were read. Lines of 32 bytes are the limit, which tiles avoid. As fast: asynchronous
 * copies past the registers, 8 x 4 inputs an item, 8 columns a group. Slower: 2 columns (16 bytes, 25), 2
 * spectra a step (23), larger groups (19 to 26); one place of code for all that is written takes 157
 * registers instead of 128, and leaves a group a multiprocessor (20). Without grains, whose sums take 32
 * registers, a tenth faster. */
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

/* First and second polarisation of a product. */
#define FIRST_POL(k) ((k) == 1 || (k) == 3)
#define SECOND_POL(k) ((k) == 1 || (k) == 2)

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
correlate(const __global float2 *restrict in, __global float2 *restrict out,
          __global float *restrict carry, const __global uint *restrict members,
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
    const size_t spectrum = (size_t)inputs * (is_tiled ? across * COLUMNS : columns);
    const uint which = slots[group * SLOTS + slot];
    const uint a_at = item / SLOTS * STRIDE + which % 256 * BLOCK;
    const uint b_at = item / SLOTS * STRIDE + which / 256 * BLOCK;

    float re[BLOCK][BLOCK], im[BLOCK][BLOCK];         /* of a grain */
    float sum_re[BLOCK][BLOCK], sum_im[BLOCK][BLOCK]; /* of a tile */
UNROLL
    for (int i = 0; i < BLOCK; i++) {
UNROLL
        for (int j = 0; j < BLOCK; j++) {
            re[i][j] = im[i][j] = sum_re[i][j] = sum_im[i][j] = 0;
        }
    }

/* For every product of every pair of the item: `at` is its place in a row. */
#define EACH_PRODUCT(...)                                                                          \
    UNROLL for (int u = 0; u < STATIONS; u++)                                          \
    {                                                                                              \
        UNROLL for (int v = 0; v < STATIONS; v++)                                       \
        {                                                                                          \
            const int pair =                                                                       \
                pairs[((group * SLOTS + slot) * STATIONS + u) * STATIONS + v];                     \
            if (pair >= 0 && column < columns) {                                                   \
                UNROLL for (int k = 0; k < PRODUCTS; k++)                               \
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
#define WRITE(part)                                                                                \
    EACH_LOAD(__local float *to_place = tile[part] + s * COLUMNS * STRIDE + place[l];              \
              to_place[0] = next[l][s].x; to_place[PLANE] = next[l][s].y;)
    const uint first_step = from / STEP;
    const uint last_step = (to - 1) / STEP;
    READ(first_step)
    WRITE(first_step % 2)
    for (uint step = first_step; step <= last_step; step++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (step < last_step) {
            READ(step + 1)
        }
UNROLL
        for (int s = 0; s < STEP; s++) {
            const __local float *here = tile[step % 2] + s * COLUMNS * STRIDE;
            const float4 ar = *(const __local float4 *)(here + a_at);
            const float4 ai = *(const __local float4 *)(here + a_at + PLANE);
            const float a_re[BLOCK] = {ar.x, ar.y, ar.z, ar.w};
            const float a_im[BLOCK] = {ai.x, ai.y, ai.z, ai.w};
            const float4 br = *(const __local float4 *)(here + b_at);
            const float4 bi = *(const __local float4 *)(here + b_at + PLANE);
            const float b_re[BLOCK] = {br.x, br.y, br.z, br.w};
            const float b_im[BLOCK] = {bi.x, bi.y, bi.z, bi.w};
UNROLL
            for (int i = 0; i < BLOCK; i++) {
UNROLL
                for (int j = 0; j < BLOCK; j++) {
                    re[i][j] = fma(a_re[i], b_re[j], re[i][j]);
                    im[i][j] = fma(a_im[i], b_re[j], im[i][j]);
                    re[i][j] = fma(a_im[i], b_im[j], re[i][j]);
                    im[i][j] = fma(-a_re[i], b_im[j], im[i][j]);
                }
            }
        }
        if ((step + 1) % (GRAIN / STEP) == 0 || step == last_step) {
UNROLL
            for (int i = 0; i < BLOCK; i++) {
UNROLL
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
UNROLL
                for (int i = 0; i < BLOCK; i++) {
UNROLL
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
