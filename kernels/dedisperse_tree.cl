/* Exact dedispersion in a tree (dsp/dispersion/patterns.h), one level of it in local memory: in a tile of DMs the
 * delays within GROUP_ROWS neighbouring rows follow few patterns. Each is summed once, and a DM adds those sums at
 * its own place: the very samples of brute force, with fewer additions and fewer bytes of local memory a sample.
 *
 *   words      [NROWS + 1][word_stride * 4]   the last row all zeros; as fold() makes them of rows of integers:
 *              PACK 2    uchar4: samples i, i + quarter, i + 2 quarter, i + 3 quarter of a row are its word i, so that
 *                        every delay begins at a whole word, and the same sums are made of four quarters of time at once
 *              PACK 1    uint; of FLOATS the rows themselves
 *   steps, tables, tiles   compute/opencl/dedisperse/tree_tables.h
 *   out        float [ndms][out_stride]
 *
 * A group of TIME_ITEMS x DM_ITEMS work-items makes a tile: COLUMNS words in time of DM_ITEMS * DM_OUT DMs. Sums of
 * 16 bits are pairs of words: of samples 0 and 2 of a word, then of 1 and 3.
 *
 * In a phase the work-items copy the rows of one step into local memory (where PTX is understood without waiting for
 * them), make the sums of all patterns of the step before it, and add those of the step before that, a group of
 * channels at a time, to all DMs: one barrier a phase. Half of them make first, the others add first: what waits
 * for memory runs beside what fills it.
 *
 * Where DMs have little in common a step has single rows, which are added as they are: s += w beside the odd bytes, so
 * that the first of a pair of sums has too much, the second << 8, until single rows end.
 *
 * Sums of blocks of floats go to `out`, as in dedisperse.cl.
 *
 * DM number i of a tile begins SKEW * i samples earlier than its first.
 *
 * On an H200 a phase takes its reads of local memory, 128 bytes a clock of a compute unit, and some 800 clocks beside:
 * three groups of few registers hide more of these than two of many. What would be faster: fewer phases (more local
 * memory), and patterns of eight channels where delays are flat. */
#ifndef SAMPLE
#define SAMPLE 1
#define FLOATS 0
#define PACK 2
#define NROWS 1024
#define GROUP_ROWS 4
#define MEMORY 10240
#define BLOCK 256
#define LANES 32
#define TIME_ITEMS 32
#define DM_ITEMS 8
#define TIME_OUT 8
#define DM_OUT 8
#define SKEW 0
#define PTX 0
#define ASYNC 0
#define PIECE 3
#endif

#define GROUP (TIME_ITEMS * DM_ITEMS)
#define DMS (DM_ITEMS * DM_OUT)
/* Words of a tile in time; those of a work-item. */
#define COLUMNS (TIME_ITEMS * TIME_OUT / PACK)
#define COLUMNS_OUT (TIME_OUT / PACK)
/* 16-bit numbers of a piece of a pattern, of which a work-item makes PIECE units. */
#define ENTRY (GROUP_ROWS == 4 ? 8 : GROUP_ROWS == 8 ? 16 : 24)
/* Groups that are added at once: of floats sixteen rows (compute/dedisperse.h). */
#define TOGETHER (FLOATS && GROUP_ROWS == 4 ? 4 : 2)
/* High parts, which 16 bits cannot store: up to 1,024 rows one word has those of four, beyond that those of two. */
#define HIGHS (PACK == 1 || NROWS <= 257 ? 0 : NROWS <= 1024 ? 1 : 2)
/* Floats of more rows make blocks (compute/dedisperse.h). */
#define IS_BLOCKED (FLOATS && NROWS > 4096)
/* Flags of a step. */
#define IS_FULL(head) ((head).z >> 31)
#define IS_SINGLE(head) ((head).z & 1u << 15)
#define SINGLES_END (1u << 22)
#define SINGLES_GO_ON (1u << 23)

#if PACK == 2
typedef uint word_t;
typedef uint2 sum_t;
#elif FLOATS
typedef float word_t;
typedef float sum_t;
#else
typedef uint word_t;
typedef uint sum_t;
#endif
typedef const __local char *local_bytes;

#if !FLOATS
#if SAMPLE == 1
typedef uchar4 quad;
#elif SAMPLE == 2
typedef ushort4 quad;
#else
typedef uint4 quad;
#endif

/* Makes words of rows, of each as many as its own delays reach, `quarter` more than reaches[row]; a work-item makes
 * four of them at a time. Samples behind a row's end are 0. `pieces` groups share a row; all in fours. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
fold(const __global quad *restrict rows, ulong row_stride, __global uint4 *restrict words, ulong word_stride,
     ulong quarter, const __global uint *restrict reaches, uint pieces)
{
    const uint number = (uint)get_group_id(0) / pieces;
    const ulong count = quarter + reaches[number];
    const __global quad *row = rows + number * row_stride;
    words += number * word_stride;
    for (ulong i = (ulong)(get_group_id(0) % pieces) * GROUP + get_local_id(0); i < count; i += pieces * GROUP) {
#if PACK == 2
        quad v[4];
#pragma unroll
        for (uint k = 0; k < 4; k++) {
            v[k] = i + k * quarter < row_stride ? row[i + k * quarter] : (quad)(0);
        }
        words[i] =
            (uint4)(as_uint((quad)(v[0].x, v[1].x, v[2].x, v[3].x)), as_uint((quad)(v[0].y, v[1].y, v[2].y, v[3].y)),
                    as_uint((quad)(v[0].z, v[1].z, v[2].z, v[3].z)), as_uint((quad)(v[0].w, v[1].w, v[2].w, v[3].w)));
#else
        words[i] = i < row_stride ? convert_uint4(row[i]) : (uint4)(0);
#endif
    }
}
#endif

#if PACK == 2
static inline uint odd(uint w)
{
#if PTX
    uint word;
    __asm__("prmt.b32 %0, %1, 0, 0x4341;" : "=r"(word) : "r"(w));
    return word;
#else
    return (w >> 8) & 0x00ff00ffu;
#endif
}
#endif

/* Copies four words; they are there behind the barrier of the next phase. */
static inline void copy(const __global uint4 *from, __local uint4 *to)
{
#if ASYNC
    __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint)(size_t)to), "l"(from) : "memory");
#else
    *to = *from;
#endif
}

/* Waits for the work-item's own copies. */
static inline void end_copies(void)
{
#if ASYNC
    __asm__ volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Copies rows; LANES work-items share one. */
static inline void copy_rows(const __global uint4 *restrict words, ulong word_stride, const __local uint4 *rows,
                             uint count, uint warp, uint lane, __local char *memory)
{
#pragma unroll 1
    for (uint c = warp; c < count; c += GROUP / LANES) {
        const uint4 row = rows[c];
        const __global uint4 *from = words + row.x * word_stride + row.y;
        __local uint4 *to = (__local uint4 *)(memory + row.z);
#pragma unroll 1
        for (uint k = lane; k < row.w; k += LANES) {
            copy(from + k, to + k);
        }
    }
}

/* Number k of the 16-bit numbers of a piece. */
#define NUMBER(piece, k) ((k) % 2 ? (piece)[(k) / 2] >> 16 : (piece)[(k) / 2] & 0xffff)

/* Makes up to `rounds` units of a piece; all words are read before the first sum is written. */
static inline void make_rounds(const uint *restrict piece, uint lane, const uint rounds, __local char *memory)
{
    const uint units = NUMBER(piece, GROUP_ROWS + 1);
    word_t v[PIECE][GROUP_ROWS];
#pragma unroll
    for (uint u = 0; u < rounds; u++) {
        const uint j = min(lane + u * LANES, units - 1);
#pragma unroll
        for (uint k = 0; k < GROUP_ROWS; k++) {
            v[u][k] = *(const __local word_t *)(memory + NUMBER(piece, k) + j * sizeof(word_t));
        }
    }
    __local sum_t *to = (__local sum_t *)(memory + NUMBER(piece, GROUP_ROWS)) + lane;
#pragma unroll
    for (uint u = 0; u < rounds; u++) {
#if PACK == 2
        uint s = 0;
        uint o = 0;
#pragma unroll
        for (uint k = 0; k < GROUP_ROWS; k += 2) {
            s += v[u][k] + v[u][k + 1];
            o += odd(v[u][k]) + odd(v[u][k + 1]);
        }
        const sum_t sum = (uint2)(s - (o << 8), o);
#else
#pragma unroll
        for (uint n = GROUP_ROWS / 2; n > 0; n /= 2) {
#pragma unroll
            for (uint k = 0; k < n; k++) {
                v[u][k] = v[u][2 * k] + v[u][2 * k + 1];
            }
        }
        const sum_t sum = v[u][0];
#endif
        if (lane + u * LANES < units) {
            to[u * LANES] = sum;
        }
    }
}

/* Makes pieces of patterns; LANES work-items share one. The next one's numbers are read before. */
static inline void make_pieces(const __local uint4 *restrict pieces, uint count, uint warp, uint lane,
                               __local char *memory)
{
    uint4 next[ENTRY / 8];
#pragma unroll
    for (uint i = 0; i < ENTRY / 8; i++) {
        next[i] = pieces[warp * (ENTRY / 8) + i];
    }
#pragma unroll 1
    for (uint p = warp; p < count; p += GROUP / LANES) {
        uint piece[ENTRY / 2];
#pragma unroll
        for (uint i = 0; i < ENTRY / 8; i++) {
            piece[4 * i] = next[i].x;
            piece[4 * i + 1] = next[i].y;
            piece[4 * i + 2] = next[i].z;
            piece[4 * i + 3] = next[i].w;
            next[i] = pieces[min(p + GROUP / LANES, count - 1) * (ENTRY / 8) + i];
        }
        const uint units = NUMBER(piece, GROUP_ROWS + 1);
        if (units <= LANES) {
            make_rounds(piece, lane, 1, memory);
        } else if (PIECE == 2 || units <= 2 * LANES) {
            make_rounds(piece, lane, 2, memory);
        } else {
            make_rounds(piece, lane, PIECE, memory);
        }
    }
}

/* Sums of a work-item. */
typedef struct {
    sum_t s[DM_OUT][COLUMNS_OUT];
#if HIGHS == 1
    uint high[DM_OUT][(TIME_OUT + 3) / 4];
#elif HIGHS == 2
    uint high[DM_OUT][TIME_OUT];
#endif
} sums_t;

#define SUM(bytes, r) (*(const __local sum_t *)((bytes) + (r)*TIME_ITEMS * sizeof(sum_t)))
#define WORD(bytes, r) (*(const __local word_t *)((bytes) + (r)*TIME_ITEMS * sizeof(word_t)))

/* Pairs of offsets for all DMs of a work-item. */
static inline void load_pairs(const __local uint *restrict from, uint *restrict pairs)
{
#if DM_OUT % 4 == 0
#pragma unroll
    for (uint i = 0; i < DM_OUT; i += 4) {
        const uint4 four = *(const __local uint4 *)(from + i);
        pairs[i] = four.x;
        pairs[i + 1] = four.y;
        pairs[i + 2] = four.z;
        pairs[i + 3] = four.w;
    }
#else
#pragma unroll
    for (uint i = 0; i < DM_OUT; i++) {
        pairs[i] = from[i];
    }
#endif
}

/* The sums of groups 0 .. TOGETHER - 1 for all DMs of a work-item. */
static inline void add_groups(sums_t *sums, const __local uint *restrict from, local_bytes mine)
{
    uint pairs[DM_OUT];
    load_pairs(from, pairs);
#if TOGETHER == 4
    uint others[DM_OUT];
    load_pairs(from + DMS, others);
#endif
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
        const local_bytes a = mine + (pairs[q] & 0xffff);
        const local_bytes b = mine + (pairs[q] >> 16);
#if TOGETHER == 4
        const local_bytes c = mine + (others[q] & 0xffff);
        const local_bytes d = mine + (others[q] >> 16);
#endif
#pragma unroll
        for (uint r = 0; r < COLUMNS_OUT; r++) {
#if TOGETHER == 4
            sums->s[q][r] += (SUM(a, r) + SUM(b, r)) + (SUM(c, r) + SUM(d, r));
#elif FLOATS && GROUP_ROWS == 16
            sums->s[q][r] += SUM(a, r);
            sums->s[q][r] += SUM(b, r);
#else
            sums->s[q][r] += SUM(a, r) + SUM(b, r);
#endif
        }
    }
}

#if !FLOATS
/* The same of the last one of an odd number. */
static inline void add_last(sums_t *sums, const __local uint *restrict from, local_bytes mine)
{
    uint pairs[DM_OUT];
    load_pairs(from, pairs);
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
        const local_bytes a = mine + (pairs[q] & 0xffff);
#pragma unroll
        for (uint r = 0; r < COLUMNS_OUT; r++) {
            sums->s[q][r] += SUM(a, r);
        }
    }
}
#endif

#if PACK == 2
/* The same of two single rows. */
static inline void add_rows(sums_t *sums, const __local uint *restrict from, local_bytes mine)
{
    uint pairs[DM_OUT];
    load_pairs(from, pairs);
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
        const local_bytes a = mine + (pairs[q] & 0xffff);
        const local_bytes b = mine + (pairs[q] >> 16);
#pragma unroll
        for (uint r = 0; r < COLUMNS_OUT; r++) {
            const uint x = WORD(a, r);
            const uint y = WORD(b, r);
            sums->s[q][r] += (uint2)(x + y, odd(x) + odd(y));
        }
    }
}

/* Gives to the first of pairs, or takes from it, what the sum of words has of odd bytes. */
static inline void move_odd(sums_t *sums, uint times)
{
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
#pragma unroll
        for (uint r = 0; r < COLUMNS_OUT; r++) {
            sums->s[q][r].x += times * sums->s[q][r].y;
        }
    }
}
#endif

#if HIGHS
/* 14 bits that stay and 192 more samples of at most 255 make at most 65,535; 4 bits hold what 1,024 rows have beyond
 * 14 bits. */
static inline void set_aside(sums_t *sums)
{
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
#pragma unroll
        for (uint r = 0; r < COLUMNS_OUT; r++) {
            const uint2 s = sums->s[q][r];
#if HIGHS == 1
            sums->high[q][r / 2] += (((s.x >> 14) & 0x00030003u) | ((s.y >> 14) & 0x00030003u) << 4)
                                    << (8 * (r % 2));
            sums->s[q][r] = s & 0x3fff3fffu;
#else
            sums->high[q][2 * r] += (s.x >> 8) & 0x00ff00ffu;
            sums->high[q][2 * r + 1] += (s.y >> 8) & 0x00ff00ffu;
            sums->s[q][r] = s & 0x00ff00ffu;
#endif
        }
    }
}
#endif

/* Sample k of column r. */
static inline float finished(const sums_t *sums, uint q, uint r, uint k)
{
#if PACK == 2
    const uint2 s = sums->s[q][r];
    uint sum = ((k % 2 ? s.y : s.x) >> (k / 2 * 16)) & 0xffff;
#if HIGHS == 1
    sum += ((sums->high[q][r / 2] >> (k / 2 * 16 + r % 2 * 8 + k % 2 * 4)) & 15) << 14;
#elif HIGHS == 2
    sum += ((sums->high[q][2 * r + k % 2] >> (k / 2 * 16)) & 0xffff) << 8;
#endif
    return (float)sum;
#else
    return (float)sums->s[q][r];
#endif
}

/* Writes the sums of a work-item, as in dedisperse.cl. */
static inline void write_sums(sums_t *sums, const bool is_more, uint tx, uint dy, uint dm, uint last, ulong at,
                              ulong quarter, ulong samples, __global float *restrict out, ulong out_stride)
{
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
        const uint i = dy * DM_OUT + q;
        const ulong line = dm + i;
        if (line > last) {
            continue;
        }
#pragma unroll
        for (uint r = 0; r < COLUMNS_OUT; r++) {
#pragma unroll
            for (uint k = 0; k < PACK * PACK; k++) {
                const long t = (long)(at + tx + r * TIME_ITEMS + k * quarter) - (long)(SKEW * i);
                if (t >= 0 && t < (long)samples) {
                    __global float *to = out + line * out_stride + t;
#if IS_BLOCKED
                    const float s = sums->s[q][r];
                    const float before = is_more ? *to : 0;
                    const float sum = before + s;
                    sums->s[q][r] = (before - (sum - (sum - before))) + (s - (sum - before));
                    *to = sum;
#else
                    *to = finished(sums, q, r, k);
#endif
                }
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
dedisperse_tree(const __global uint4 *restrict words, ulong word_stride, const __global uint4 *restrict steps,
                const __global uint4 *restrict tables, const __global uint2 *restrict tiles,
                __global float *restrict out, ulong out_stride, ulong samples, ulong quarter, uint first_tile,
                uint time_tiles)
{
    __local uint4 local_words[MEMORY / 4];
    __local uint4 blocks[2][BLOCK];
    __local char *memory = (__local char *)local_words;
    const uint id = get_local_id(0);
    const uint lane = id % LANES;
    const uint warp = id / LANES;
    const uint tx = id % TIME_ITEMS;
    const uint dy = id / TIME_ITEMS;
    const uint tile = first_tile + (uint)get_group_id(0) / time_tiles;
    const ulong at = (ulong)((uint)get_group_id(0) % time_tiles) * COLUMNS;
    const uint dm = tiles[tile].x;
    const uint last = tiles[tile + 1].x - 1;
    const uint first = tiles[tile].y;
    const uint end = tiles[tile + 1].y;
    sums_t sums;
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
#pragma unroll
        for (uint r = 0; r < COLUMNS_OUT; r++) {
            sums.s[q][r] = 0;
#if HIGHS == 1
            sums.high[q][r / 2] = 0;
#elif HIGHS == 2
            sums.high[q][2 * r] = 0;
            sums.high[q][2 * r + 1] = 0;
#endif
        }
    }
    words += at / 4;
    bool is_more = false;
    uint4 head = steps[first];
    uint4 next = steps[first + 1];
    for (uint i = id; i < head.y; i += GROUP) {
        copy(tables + head.x + i, blocks[0] + i);
    }
    for (uint step = first; step < end; step++) {
        const __local uint4 *block = blocks[(step - first) % 2];
        const uint npieces = head.z & 0x7fff;
        const uint nsums = (head.z >> 16) & 0xff;
        const uint nrows = head.w & 0x7f;
        const __local uint4 *pieces = block + nrows;
        const __local uint *pairs = (const __local uint *)(pieces + npieces * (ENTRY / 8)) + dy * DM_OUT;
        end_copies();
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint4 after = steps[step + 2];
        for (uint i = id; step + 1 < end && i < next.y; i += GROUP) {
            copy(tables + next.x + i, blocks[(step + 1 - first) % 2] + i);
        }
        copy_rows(words, word_stride, block, nrows, warp, lane, memory);
#pragma unroll 1
        for (uint turn = 0; turn < 2; turn++) {
            if ((turn + warp) % 2 == 0) {
                if (warp < npieces) {
                    make_pieces(pieces, npieces, warp, lane, memory);
                }
                continue;
            }
#if PACK == 2
            if (IS_SINGLE(head)) {
#pragma unroll 1
                for (uint g = 0; g < nsums; g += 2) {
                    add_rows(&sums, pairs + g / 2 * DMS, memory + tx * sizeof(word_t));
                }
                continue;
            }
#endif
#pragma unroll 1
            for (uint g = 0; g < nsums; g += TOGETHER) {
#if !FLOATS
                if (g + 1 == nsums) {
                    add_last(&sums, pairs + g / 2 * DMS, memory + tx * sizeof(sum_t));
                    break;
                }
#endif
                add_groups(&sums, pairs + g / 2 * DMS, memory + tx * sizeof(sum_t));
            }
        }
#if PACK == 2
        if (head.w & SINGLES_END) {
            move_odd(&sums, -(1u << 8));
        }
#endif
#if IS_BLOCKED
        if (IS_FULL(head)) {
            write_sums(&sums, is_more, tx, dy, dm, last, at, quarter, samples, out, out_stride);
            is_more = true;
        }
#endif
#if HIGHS
        if (IS_FULL(head)) {
            set_aside(&sums);
            if (head.w & SINGLES_GO_ON) {
                move_odd(&sums, 1u << 8);
            }
        }
#endif
        head = next;
        next = after;
    }
    write_sums(&sums, is_more, tx, dy, dm, last, at, quarter, samples, out, out_stride);
}
