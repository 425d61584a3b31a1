/* Exact dedispersion in a tree (dsp/dispersion/patterns.h), one level of it in local memory: in a tile of DMs the
 * delays within GROUP_ROWS neighbouring rows follow few patterns. Each is summed once, and a DM adds those sums at
 * its own place: the very samples of brute force, with fewer additions and fewer bytes of local memory a sample.
 *
 *   rows       elements [NROWS + 1][row_stride]   uint8, uint16 or float (SAMPLE bytes, FLOATS); the last row all
 *              zeros; of PACK 2 words of four uint8
 *   steps      uint [tiles][NSTEPS][4]    first pattern, patterns, units of a made row, 2^32 / units rounded up
 *   patterns   uint [][GROUP_ROWS + 1]    first row of the group; samples from the tile's time to where each begins
 *   starts     uint [ndms][NSTEPS * GROUPS]   samples from what a step makes to where a DM's sums begin
 *   firsts     uint [tiles + 1]           the first DM of each tile
 *   out        float [ndms][out_stride]
 *
 * A group of TIME_ITEMS x DM_ITEMS work-items makes a tile: TIME_ITEMS * TIME_OUT words of PACK samples of
 * DM_ITEMS * DM_OUT DMs. A step makes the rows of GROUPS groups, of all their patterns, then every DM adds one of
 * each group. PACK 2: sums of 16 bits, two in a word; what begins in the middle of a word is joined from two, so a
 * work-item owns TIME_OUT words in a row (odd TIME_OUT leaves no bank conflicts). A unit of a made row is four
 * samples then, else one. DM number i of a tile begins SKEW * i samples earlier than its first.
 *
 * What would be faster: rows staged in local memory once for all their patterns, where caches do not hold them. */
#ifndef SAMPLE
#define SAMPLE 1
#define FLOATS 0
#define PACK 2
#define NROWS 1024
#define GROUP_ROWS 8
#define GROUPS 1
#define NSTEPS 128
#define MADE 4096
#define TIME_ITEMS 32
#define DM_ITEMS 8
#define TIME_OUT 7
#define DM_OUT 8
#define SKEW 0
#define PTX 0
#endif

#define GROUP (TIME_ITEMS * DM_ITEMS)
#define DMS (DM_ITEMS * DM_OUT)
#define WORDS (TIME_ITEMS * TIME_OUT)
/* 256 samples of 8 bits fit 16; so many groups make them. */
#define IS_TOTALLED (PACK == 2 && NROWS > 256)
#define FULL_STEPS (256 / (GROUP_ROWS * GROUPS))
/* Floats: sums of groups that wait for the others of their sixteen (compute/dedisperse.h). */
#define PENDING (FLOATS ? (GROUP_ROWS == 4) + (GROUP_ROWS <= 8) : 0)

#if PACK == 2
typedef uint element; /* four samples */
typedef uint sum_t;
#define WORD(r) (tx * TIME_OUT + (r))
#elif FLOATS
typedef float element;
typedef float sum_t;
#define WORD(r) (tx + (r)*TIME_ITEMS)
#else
typedef uint sum_t;
#if SAMPLE == 1
typedef uchar element;
#else
typedef ushort element;
#endif
#define WORD(r) (tx + (r)*TIME_ITEMS)
#endif

static inline uint join(uint low, uint high, uint bits)
{
#if PTX
    uint word;
    __asm__("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(low), "r"(high), "r"(bits));
    return word;
#else
    return (uint)((((ulong)high << 32) | low) >> bits);
#endif
}

/* Unit `unit` of the row of one pattern. */
static inline void make_unit(const __global element *restrict rows, ulong row_stride,
                             const __global uint *restrict pattern, ulong at, uint unit, __local sum_t *made)
{
    const uint first = pattern[0];
#if PACK == 2
    uint s = 0;
    uint o = 0;
#pragma unroll
    for (uint k = 0; k < GROUP_ROWS; k++) {
        const ulong sample = at + pattern[1 + k] + 4 * unit;
        const __global element *from = rows + min(first + k, (uint)NROWS) * row_stride + sample / 4;
        const uint word = join(from[0], from[1], (uint)(sample % 4) * 8);
        s += word;
        o += (word >> 8) & 0x00ff00ffu;
    }
    const uint even = s - (o << 8);
    *(__local uint2 *)(made + 2 * unit) =
        (uint2)((even & 0xffff) | (o << 16), (even >> 16) | (o & 0xffff0000u));
#else
    sum_t v[GROUP_ROWS];
#pragma unroll
    for (uint k = 0; k < GROUP_ROWS; k++) {
        v[k] = rows[min(first + k, (uint)NROWS) * row_stride + at + pattern[1 + k] + unit];
    }
#pragma unroll
    for (uint n = GROUP_ROWS / 2; n > 0; n /= 2) {
#pragma unroll
        for (uint k = 0; k < n; k++) {
            v[k] = v[2 * k] + v[2 * k + 1];
        }
    }
    made[unit] = v[0];
#endif
}

/* What a work-item adds up. */
typedef struct {
    sum_t s[DM_OUT][TIME_OUT];
#if IS_TOTALLED
    uint high[DM_OUT][TIME_OUT];
#elif PENDING > 0
    float pending[PENDING][DM_OUT][TIME_OUT];
#endif
} sums_t;

/* Adds the sum of group number `group`. */
static inline void add(sums_t *sums, uint q, uint r, sum_t sum, uint group)
{
#if PENDING > 0
#pragma unroll
    for (uint level = 0; level < PENDING; level++) {
        if (!(group >> level & 1)) {
            sums->pending[level][q][r] = sum;
            return;
        }
        sum = sums->pending[level][q][r] + sum;
    }
#endif
    sums->s[q][r] += sum;
}

/* The sum of sample j of word r. */
static inline float finished(const sums_t *sums, uint q, uint r, uint j)
{
#if PACK == 2
    uint sum = j ? sums->s[q][r] >> 16 : sums->s[q][r] & 0xffff;
#if IS_TOTALLED
    sum += (j ? sums->high[q][r] >> 16 : sums->high[q][r] & 0xffff) << 8;
#endif
    return (float)sum;
#else
    return (float)sums->s[q][r];
#endif
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
dedisperse_tree(const __global element *restrict rows, ulong row_stride, const __global uint *restrict steps,
                const __global uint *restrict patterns, const __global uint *restrict starts,
                const __global uint *restrict firsts, __global float *restrict out, ulong out_stride,
                ulong samples, uint first_tile, uint time_tiles)
{
    __local sum_t made[MADE] __attribute__((aligned(16)));
    __local uint offsets[DMS * GROUPS];
    const uint id = get_local_id(0);
    const uint tx = id % TIME_ITEMS;
    const uint dy = id / TIME_ITEMS;
    const uint tile = first_tile + (uint)get_group_id(0) / time_tiles;
    const ulong at = (ulong)((uint)get_group_id(0) % time_tiles) * WORDS * PACK;
    const uint dm = firsts[tile];
    const uint last = firsts[tile + 1] - 1;
    sums_t sums;
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
#pragma unroll
        for (uint r = 0; r < TIME_OUT; r++) {
            sums.s[q][r] = 0;
#if IS_TOTALLED
            sums.high[q][r] = 0;
#endif
        }
    }
    for (uint step = 0; step < NSTEPS; step++) {
        const __global uint *head = steps + ((ulong)tile * NSTEPS + step) * 4;
        const uint units = head[2];
        const uint row = units * (PACK == 2 ? 2 : 1);
        const uint all = head[1] * units;
        for (uint i = id; i < DMS * GROUPS; i += GROUP) {
            const ulong line = min(dm + i / GROUPS, last);
            offsets[i] = starts[line * (NSTEPS * GROUPS) + step * GROUPS + i % GROUPS];
        }
        for (uint i = id; i < all; i += GROUP) {
            const uint p = mul_hi(i, head[3]);
            make_unit(rows, row_stride, patterns + (ulong)(head[0] + p) * (GROUP_ROWS + 1), at, i - p * units,
                      made + p * row);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint g = 0; g < GROUPS; g++) {
#pragma unroll
            for (uint q = 0; q < DM_OUT; q++) {
                const uint offset = offsets[(dy * DM_OUT + q) * GROUPS + g];
                const __local sum_t *from = made + offset / PACK + WORD(0);
#if PACK == 2
                const uint bits = offset % 2 * 16;
                uint low = from[0];
#pragma unroll
                for (uint r = 0; r < TIME_OUT; r++) {
                    const uint high = from[r + 1];
                    add(&sums, q, r, join(low, high, bits), step * GROUPS + g);
                    low = high;
                }
#else
#pragma unroll
                for (uint r = 0; r < TIME_OUT; r++) {
                    add(&sums, q, r, from[r * TIME_ITEMS], step * GROUPS + g);
                }
#endif
            }
        }
#if IS_TOTALLED
        if ((step + 1) % FULL_STEPS == 0) {
#pragma unroll
            for (uint q = 0; q < DM_OUT; q++) {
#pragma unroll
                for (uint r = 0; r < TIME_OUT; r++) {
                    sums.high[q][r] += (sums.s[q][r] >> 8) & 0x00ff00ffu;
                    sums.s[q][r] &= 0x00ff00ffu;
                }
            }
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
        const uint i = dy * DM_OUT + q;
        const ulong line = dm + i;
        if (line > last) {
            continue;
        }
#pragma unroll
        for (uint r = 0; r < TIME_OUT; r++) {
            const long t = (long)(at + WORD(r) * PACK) - (long)(SKEW * i);
#pragma unroll
            for (uint j = 0; j < PACK; j++) {
                if (t + j >= 0 && t + j < (long)samples) {
                    out[line * out_stride + t + j] = finished(&sums, q, r, j);
                }
            }
        }
    }
}
