/* Brute-force dedispersion: Sclocco et al. 2014, Algorithm 1, in tiles.
 *
 *   rows    elements [NROWS + 1][row_stride]   channels in their order, the last row all zeros; a sample
 *           is uint8, uint16, uint32 or float (SAMPLE bytes, FLOATS)
 *   rel     uint [ndms][PADDED]     sample t of DM d and row c begins at element sample t + rel, skew
 *           included; PADDED is NROWS rounded up to CHUNK
 *   bases   uint [tiles][PADDED]    the least rel of a tile, down to a multiple of 16
 *   firsts  uint [tiles + 1]        the first DM of each tile
 *   out     float [ndms][out_stride]
 *
 * A group of TIME_ITEMS x DM_ITEMS work-items makes a tile: TIME_ITEMS * TIME_OUT words of PACK samples of
 * DM_ITEMS * DM_OUT DMs. A work-item owns TIME_OUT words of DM_OUT neighbouring DMs, so every delay that is
 * looked up serves TIME_OUT words, and all work-items with one DM read neighbouring words.
 *
 * PACK > 1: a word is added as it lies, s += w, beside its odd samples, o += UPPER(w). s - (o << bits) mod
 * 2^32 is the sum of the even samples exactly, for up to 257 rows of 8 bit and 65,537 of 16 bit: two
 * operations for four samples where additions take three operands and a byte permutation does UPPER.
 *
 * Delays that are no multiple of PACK begin inside of a word:
 *   STAGING 0 (direct)   two neighbouring words are read from memory (from its caches) and joined
 *   STAGING 1 (funnel)   rows are staged in local memory; a work-item owns TIME_OUT words in a row and reads
 *                        one more (odd TIME_OUT leaves no bank conflicts)
 *   STAGING 2 (copies)   PACK shifted copies of each row are staged: one read a word
 *
 * DM number i of a tile begins SKEW * i samples earlier than its first: the rows that steep delays take
 * overlap more. CHUNK rows are worked off between barriers, which in the direct kernel only keep the group
 * together, for the caches. Floats are added as compute/dedisperse.h says: sixteen rows in binary order (BLOCK
 * of them at once, the others of a sixteen wait in `pending`), then these sums; PADDED is a multiple of 16 then.
 * If there are more than 4,096 rows, each LIMIT of them are added to `out`, which stores the result so far:
 * registers for it would halve the occupancy. With 1,024 rows that costs 7 % by brute force, 19 % in a tree, and
 * gains no accuracy (1.6e-7 without). */
#ifndef SAMPLE
#define SAMPLE 1
#define FLOATS 0
#define PACK 4
#define STAGING 2
#define NROWS 1024
#define PADDED 1024
#define TIME_ITEMS 32
#define DM_ITEMS 8
#define TIME_OUT 8
#define DM_OUT 4
#define CHUNK 4
#define SKEW 0
#define ROW 320
#define PTX 0
#endif

#define GROUP (TIME_ITEMS * DM_ITEMS)
#define DMS (DM_ITEMS * DM_OUT)
#define WORDS (TIME_ITEMS * TIME_OUT)
#define COPIES (STAGING == 2 ? PACK : 1)
#define BITS (8 * SAMPLE)
#define IS_TOTALLED (PACK == 4 && NROWS > 256)
#define LIMIT 256
/* Floats of more rows make blocks of LIMIT (compute/dedisperse.h). */
#define IS_BLOCKED (FLOATS && NROWS > 4096)
/* Rows of floats that are added at once, and blocks of a sixteen that wait for others. */
#define BLOCK (CHUNK < 16 ? CHUNK : 16)
#define PENDING (FLOATS ? (BLOCK == 2) + (BLOCK <= 4) + (BLOCK <= 8) : 0)
/* Rows are staged in fours of words where tiles begin at such; ROW is a multiple of 4. */
#define COPIES_MADE (STAGING == 2 && PACK > 1)
#define IS_WIDE (PACK > 1 && WORDS % 4 == 0)
#define LANES (GROUP >= CHUNK ? GROUP / CHUNK : 1)

#if PACK > 1
typedef uint element;
typedef uint sum_t;
#elif FLOATS
typedef float element;
typedef float sum_t;
#else
typedef uint sum_t;
#if SAMPLE == 1
typedef uchar element;
#elif SAMPLE == 2
typedef ushort element;
#else
typedef uint element;
#endif
#endif

/* Where a work-item's word r lies in its tile. */
#if STAGING == 1
#define WORD(r) (tx * TIME_OUT + (r))
#else
#define WORD(r) (tx + (r)*TIME_ITEMS)
#endif

#if PTX
static inline uint upper(uint w)
{
#if PACK == 4
    uint odd;
    __asm__("prmt.b32 %0, %1, 0, 0x4341;" : "=r"(odd) : "r"(w));
    return odd;
#else
    return w >> BITS;
#endif
}
static inline uint join(uint low, uint high, uint bits)
{
    uint word;
    __asm__("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(low), "r"(high), "r"(bits));
    return word;
}
#else
static inline uint upper(uint w)
{
    return PACK == 4 ? (w >> 8) & 0x00ff00ffu : w >> 16;
}
static inline uint join(uint low, uint high, uint bits)
{
    return (uint)((((ulong)high << 32) | low) >> bits);
}
#endif

/* Sums of a work-item. */
typedef struct {
    sum_t s[DM_OUT][TIME_OUT];
#if PACK > 1
    uint o[DM_OUT][TIME_OUT];
#endif
#if IS_TOTALLED
    uint even_high[DM_OUT][TIME_OUT];
    uint odd_high[DM_OUT][TIME_OUT];
#elif PENDING > 0
    float pending[PENDING][DM_OUT][TIME_OUT];
#endif
} sums_t;

#if PACK > 1
#define ADD(q, r, a, b)                                                                                      \
    do {                                                                                                     \
        sums.s[q][r] += (a) + (b);                                                                           \
        sums.o[q][r] += upper(a) + upper(b);                                                                 \
    } while (0)
#elif !FLOATS
#define ADD(q, r, a, b) sums.s[q][r] += (uint)(a) + (uint)(b)
#else
/* Adds block number `number` of the rows, in binary order. */
static inline void add_block(sums_t *sums, uint q, uint r, float v[BLOCK], uint number)
{
#pragma unroll
    for (uint n = BLOCK / 2; n > 0; n /= 2) {
#pragma unroll
        for (uint k = 0; k < n; k++) {
            v[k] = v[2 * k] + v[2 * k + 1];
        }
    }
    float sum = v[0];
#if PENDING > 0
#pragma unroll
    for (uint level = 0; level < PENDING; level++) {
        if (!(number >> level & 1)) {
            sums->pending[level][q][r] = sum;
            return;
        }
        sum = sums->pending[level][q][r] + sum;
    }
#endif
    sums->s[q][r] += sum;
}
#endif

/* The sum of sample j of word r. */
static inline float finished(const sums_t *sums, uint q, uint r, uint j)
{
#if PACK == 4
    const uint even = sums->s[q][r] - (sums->o[q][r] << 8);
    const uint pair = j & 1 ? sums->o[q][r] : even;
    uint sum = j & 2 ? pair >> 16 : pair & 0xffff;
#if IS_TOTALLED
    const uint high = j & 1 ? sums->odd_high[q][r] : sums->even_high[q][r];
    sum += (j & 2 ? high >> 16 : high & 0xffff) << 8;
#endif
    return (float)sum;
#elif PACK == 2
    return (float)(j ? sums->o[q][r] : sums->s[q][r] - (sums->o[q][r] << 16));
#else
    return (float)sums->s[q][r];
#endif
}

#if IS_TOTALLED
/* After LIMIT rows: the high bytes go; what stays and 256 more samples of at most 255 make at most 65,535. The
 * high bytes hold for 257 times. */
static inline void flush(sums_t *sums)
{
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
#pragma unroll
        for (uint r = 0; r < TIME_OUT; r++) {
            const uint odd = sums->o[q][r];
            const uint even = sums->s[q][r] - (odd << 8);
            sums->even_high[q][r] += (even >> 8) & 0x00ff00ffu;
            sums->odd_high[q][r] += (odd >> 8) & 0x00ff00ffu;
            sums->o[q][r] = odd & 0x00ff00ffu;
            sums->s[q][r] = (even & 0x00ff00ffu) | (odd & 0x00ff00ffu) << 8;
        }
    }
}
#endif

#if STAGING > 0
/* Rows first .. first + CHUNK - 1 from word `at` of their tile on. LANES work-items share a row. */
static inline void stage_rows(const __global element *restrict rows, ulong row_stride,
                              const __global uint *restrict bases, uint first, ulong at, uint id,
                              __local element *restrict staged)
{
    for (uint c = id / LANES; c < CHUNK; c += GROUP / LANES) {
        const uint row = min(first + c, (uint)NROWS);
        const __global element *from = rows + row * row_stride + at + bases[first + c] / PACK;
        __local element *to = staged + c * COPIES * ROW;
#if IS_WIDE
        for (uint w = id % LANES * 4; w < ROW; w += LANES * 4) {
            const uint4 low = *(const __global uint4 *)(from + w);
            const uint4 high = (uint4)(low.yzw, from[w + 4]);
            *(__local uint4 *)(to + w) = low;
#pragma unroll
            for (uint copy = 1; copy < COPIES; copy++) {
                *(__local uint4 *)(to + copy * ROW + w) =
                    (uint4)(join(low.x, high.x, copy * BITS), join(low.y, high.y, copy * BITS),
                            join(low.z, high.z, copy * BITS), join(low.w, high.w, copy * BITS));
            }
        }
#else
        for (uint w = id % LANES; w < ROW; w += LANES) {
            const element low = from[w];
            to[w] = low;
#if COPIES_MADE
            const element high = from[w + 1];
#pragma unroll
            for (uint copy = 1; copy < COPIES; copy++) {
                to[copy * ROW + w] = join(low, high, copy * BITS);
            }
#endif
        }
#endif
    }
}

/* Where the rows of each DM begin in `staged`. */
static inline void stage_offsets(const __global uint *restrict rel, const __global uint *restrict bases,
                                 uint dm, uint last, uint first, uint id,
#if STAGING == 1
                                 __local uint *restrict offsets)
#else
                                 __local ushort *restrict offsets)
#endif
{
    for (uint i = id; i < DMS * CHUNK; i += GROUP) {
        const uint c = i % CHUNK;
        const ulong line = min(dm + i / CHUNK, last);
        const uint off = rel[line * PADDED + first + c] - bases[first + c];
#if STAGING == 1
        offsets[i] = (c * ROW + off / PACK) | (off % PACK * BITS) << 16;
#else
        offsets[i] = (ushort)((c * COPIES + off % COPIES) * ROW + off / PACK);
#endif
    }
}
#endif

/* Writes the sums of a work-item. Floats are added to `out` if `is_more`; the rounding error of that addition stays
 * in the sums (Knuth). */
static inline void write_sums(sums_t *sums, const bool is_more, uint tx, uint dy, uint dm, uint last, ulong at,
                              ulong samples, __global float *restrict out, ulong out_stride)
{
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
        const uint i = dy * DM_OUT + q;
        const ulong line = dm + i;
        if (line > last) {
            continue;
        }
#pragma unroll
        for (uint r = 0; r < TIME_OUT; r++) {
            const long t = (long)((at + WORD(r)) * PACK) - (long)(SKEW * i);
            __global float *to = out + line * out_stride;
#if PACK == 4
            if (t >= 0 && t + 3 < (long)samples && (line * out_stride + (ulong)t) % 4 == 0) {
                *(__global float4 *)(to + t) = (float4)(finished(sums, q, r, 0), finished(sums, q, r, 1),
                                                        finished(sums, q, r, 2), finished(sums, q, r, 3));
                continue;
            }
#endif
#pragma unroll
            for (uint j = 0; j < PACK; j++) {
                if (t + j >= 0 && t + j < (long)samples) {
#if IS_BLOCKED
                    const float s = sums->s[q][r];
                    const float before = is_more ? to[t + j] : 0;
                    const float sum = before + s;
                    sums->s[q][r] = (before - (sum - (sum - before))) + (s - (sum - before));
                    to[t + j] = sum;
#else
                    to[t + j] = finished(sums, q, r, j);
#endif
                }
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
dedisperse(const __global element *restrict rows, ulong row_stride, const __global uint *restrict rel,
           const __global uint *restrict all_bases, const __global uint *restrict firsts,
           __global float *restrict out, ulong out_stride, ulong samples, uint first_tile, uint time_tiles)
{
    const uint id = get_local_id(0);
    const uint tx = id % TIME_ITEMS;
    const uint dy = id / TIME_ITEMS;
    const uint tile = first_tile + (uint)get_group_id(0) / time_tiles;
    const ulong at = (ulong)((uint)get_group_id(0) % time_tiles) * WORDS;
    const uint dm = firsts[tile];
    const uint last = firsts[tile + 1] - 1;
    sums_t sums;
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
#pragma unroll
        for (uint r = 0; r < TIME_OUT; r++) {
            sums.s[q][r] = 0;
#if PACK > 1
            sums.o[q][r] = 0;
#endif
#if IS_TOTALLED
            sums.even_high[q][r] = 0;
            sums.odd_high[q][r] = 0;
#endif
        }
    }
#if STAGING > 0
    __local element staged[CHUNK * COPIES * ROW] __attribute__((aligned(16)));
#if STAGING == 1
    __local uint offsets[DMS * CHUNK];
#else
    __local ushort offsets[DMS * CHUNK] __attribute__((aligned(4)));
#endif
    const __global uint *bases = all_bases + (ulong)tile * PADDED;
#endif
    for (uint first = 0; first < PADDED; first += CHUNK) {
#if STAGING > 0
        stage_rows(rows, row_stride, bases, first, at, id, staged);
        stage_offsets(rel, bases, dm, last, first, id, offsets);
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
#if STAGING == 2 && FLOATS
        const __local element *mine = staged + tx;
        for (uint c = 0; c < CHUNK; c += BLOCK) {
#pragma unroll
            for (uint q = 0; q < DM_OUT; q++) {
                const __local ushort *offset = offsets + (dy * DM_OUT + q) * CHUNK + c;
#pragma unroll
                for (uint r = 0; r < TIME_OUT; r++) {
                    float v[BLOCK];
#pragma unroll
                    for (uint k = 0; k < BLOCK; k++) {
                        v[k] = mine[offset[k] + r * TIME_ITEMS];
                    }
                    add_block(&sums, q, r, v, (first + c) / BLOCK);
                }
            }
        }
#elif STAGING == 2
        const __local element *mine = staged + tx;
#pragma unroll 2
        for (uint c = 0; c < CHUNK; c += 2) {
#pragma unroll
            for (uint q = 0; q < DM_OUT; q++) {
                const uint pair = *(const __local uint *)(offsets + (dy * DM_OUT + q) * CHUNK + c);
                const __local element *a = mine + (pair & 0xffff);
                const __local element *b = mine + (pair >> 16);
#pragma unroll
                for (uint r = 0; r < TIME_OUT; r++) {
                    ADD(q, r, a[r * TIME_ITEMS], b[r * TIME_ITEMS]);
                }
            }
        }
#elif STAGING == 1
        for (uint c = 0; c < CHUNK; c += 2) {
#pragma unroll
            for (uint q = 0; q < DM_OUT; q++) {
                const __local uint *offset = offsets + (dy * DM_OUT + q) * CHUNK + c;
                const uint a_bits = offset[0] >> 16;
                const uint b_bits = offset[1] >> 16;
                const __local element *a = staged + WORD(0) + (offset[0] & 0xffff);
                const __local element *b = staged + WORD(0) + (offset[1] & 0xffff);
                element a_low = a[0];
                element b_low = b[0];
#pragma unroll
                for (uint r = 0; r < TIME_OUT; r++) {
                    const element a_high = a[r + 1];
                    const element b_high = b[r + 1];
                    ADD(q, r, join(a_low, a_high, a_bits), join(b_low, b_high, b_bits));
                    a_low = a_high;
                    b_low = b_high;
                }
            }
        }
#elif FLOATS
        for (uint c = first; c < first + CHUNK; c += BLOCK) {
#pragma unroll
            for (uint q = 0; q < DM_OUT; q++) {
                const ulong line = min(dm + dy * DM_OUT + q, last);
#pragma unroll
                for (uint r = 0; r < TIME_OUT; r++) {
                    float v[BLOCK];
#pragma unroll
                    for (uint k = 0; k < BLOCK; k++) {
                        v[k] = rows[min(c + k, (uint)NROWS) * row_stride + at + tx + r * TIME_ITEMS +
                                    rel[line * PADDED + c + k]];
                    }
                    add_block(&sums, q, r, v, c / BLOCK);
                }
            }
        }
#else
        for (uint c = first; c < first + CHUNK; c += 2) {
            const __global element *row_a = rows + min(c, (uint)NROWS) * row_stride + at + tx;
            const __global element *row_b = rows + min(c + 1, (uint)NROWS) * row_stride + at + tx;
#pragma unroll
            for (uint q = 0; q < DM_OUT; q++) {
                const ulong line = min(dm + dy * DM_OUT + q, last);
                const uint a_rel = rel[line * PADDED + c];
                const uint b_rel = rel[line * PADDED + c + 1];
                const __global element *a = row_a + a_rel / PACK;
                const __global element *b = row_b + b_rel / PACK;
#pragma unroll
                for (uint r = 0; r < TIME_OUT; r++) {
#if PACK > 1
                    ADD(q, r, join(a[r * TIME_ITEMS], a[r * TIME_ITEMS + 1], a_rel % PACK * BITS),
                        join(b[r * TIME_ITEMS], b[r * TIME_ITEMS + 1], b_rel % PACK * BITS));
#else
                    ADD(q, r, a[r * TIME_ITEMS], b[r * TIME_ITEMS]);
#endif
                }
            }
        }
#endif
#if IS_TOTALLED
        if ((first + CHUNK) % LIMIT == 0 || first + CHUNK >= PADDED) {
            flush(&sums);
        }
#elif IS_BLOCKED
        if ((first + CHUNK) % LIMIT == 0) {
            write_sums(&sums, first >= LIMIT, tx, dy, dm, last, at, samples, out, out_stride);
        }
#endif
#if STAGING > 0
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    write_sums(&sums, IS_BLOCKED, tx, dy, dm, last, at, samples, out, out_stride);
}
