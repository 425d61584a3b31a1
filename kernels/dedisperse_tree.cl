/* Exact dedispersion in a tree (dsp/dispersion/patterns.h), one level of it in local memory: in a tile of DMs the
 * delays within GROUP_ROWS neighbouring rows follow few patterns. Each is summed once, and a DM adds those sums at
 * its own place: the very samples of brute force, with fewer additions and fewer bytes of local memory a sample.
 *
 *   rows       elements [NROWS + 1][row_stride * 4]   uint8, uint16 or float (SAMPLE bytes, FLOATS); the last row all
 *              zeros; read in quads of four
 *   steps, tables, tiles   compute/opencl/dedisperse/tree_tables.h
 *   out        float [ndms][out_stride]
 *
 * A group of TIME_ITEMS x DM_ITEMS work-items makes a tile: WORDS = TIME_ITEMS * TIME_OUT words of PACK samples of
 * DM_ITEMS * DM_OUT DMs. A step has its rows in local memory, makes the sums of all patterns of its groups, then every
 * DM adds one of each group, while the rows of the next step come.
 *
 * PACK 2 (uint8): a word has samples that lie far apart, so that it begins at any sample without a shift. Word j of a
 * row are samples j, j + COLUMNS, j + 2 COLUMNS, j + 3 COLUMNS in 8 bits; of sums j and j + WORDS in 16 bits, WORDS
 * being 2 COLUMNS: the odd bytes of a row's word j belong to the sums' word j + COLUMNS.
 *
 * Where DMs have little in common a step has single rows, which are added as they are: s += w beside the odd bytes, so
 * that word j of the sums has too much, the word j + COLUMNS << 8, until single rows end.
 *
 * DM number i of a tile begins SKEW * i samples earlier than its first.
 *
 * What would be faster: more levels, where local memory held more sums. */
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
#endif

#define GROUP (TIME_ITEMS * DM_ITEMS)
#define DMS (DM_ITEMS * DM_OUT)
#define WORDS (TIME_ITEMS * TIME_OUT)
#define COLUMNS (WORDS / PACK)
/* Units that a work-item makes at a time; 16-bit numbers of a piece of a pattern. */
#define PIECE 2
#define ENTRY (GROUP_ROWS == 4 ? 8 : GROUP_ROWS == 8 ? 16 : 24)
/* Groups that are added at once: of floats sixteen rows (compute/dedisperse.h). */
#define TOGETHER (FLOATS && GROUP_ROWS == 4 ? 4 : 2)
/* What 16 bits do not hold is set aside: of two words in one where 8 bits do, of 1,024 rows. */
#define HIGHS (PACK == 1 || NROWS <= 252 ? 0 : NROWS <= 1024 ? 1 : 2)
/* Flags of a step. */
#define IS_FULL(head) ((head).z >> 31)
#define IS_SINGLE(head) ((head).z & 1u << 15)
#define WAITS (1u << 21)
#define SINGLES_END (1u << 22)
#define SINGLES_GO_ON (1u << 23)

#if PACK == 2
typedef uint quad;
typedef uint4 load_t;
typedef uint sum_t;
#elif FLOATS
typedef float4 quad;
typedef float4 load_t;
typedef float sum_t;
#else
#if SAMPLE == 1
typedef uchar4 quad;
#else
typedef ushort4 quad;
#endif
typedef uint4 load_t;
typedef uint sum_t;
#endif

#if PACK == 2
/* Bytes 0 and 2 of two words in turns, and bytes 1 and 3. */
static inline uint evens(uint a, uint b)
{
#if PTX
    uint word;
    __asm__("prmt.b32 %0, %1, %2, 0x6240;" : "=r"(word) : "r"(a), "r"(b));
    return word;
#else
    return (a & 0x00ff00ffu) | (b & 0x00ff00ffu) << 8;
#endif
}

static inline uint odds(uint a, uint b)
{
#if PTX
    uint word;
    __asm__("prmt.b32 %0, %1, %2, 0x7351;" : "=r"(word) : "r"(a), "r"(b));
    return word;
#else
    return ((a >> 8) & 0x00ff00ffu) | (b & 0xff00ff00u);
#endif
}

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

/* Four words of a staged row, which begin at a quad. */
static inline load_t load(const __global quad *restrict from)
{
#if PACK == 2
    return (uint4)(from[0], from[COLUMNS / 4], from[COLUMNS / 2], from[COLUMNS / 4 * 3]);
#elif FLOATS
    return from[0];
#else
    return convert_uint4(from[0]);
#endif
}

static inline void store(load_t v, __local sum_t *to)
{
#if PACK == 2
    const uint ab = evens(v.x, v.y);
    const uint cd = evens(v.z, v.w);
    const uint AB = odds(v.x, v.y);
    const uint CD = odds(v.z, v.w);
    vstore4((uint4)((ab & 0xffff) | cd << 16, (AB & 0xffff) | CD << 16, ab >> 16 | (cd & 0xffff0000u),
                    AB >> 16 | (CD & 0xffff0000u)),
            0, to);
#else
    vstore4(v, 0, to);
#endif
}

/* Stages a row. */
static inline void stage_row(const __global quad *restrict rows, ulong row_stride, uint4 row, uint lane,
                             __local sum_t *memory)
{
    const __global quad *from = rows + row.x * row_stride + row.y;
#pragma unroll 1
    for (uint k = lane; k < row.w; k += LANES) {
        store(load(from + k), memory + row.z + 4 * k);
    }
}

/* Stages the rows of a step. */
static inline void stage_step(const __global quad *restrict rows, ulong row_stride,
                              const __local uint4 *restrict block, uint count, uint warp, uint lane,
                              __local sum_t *memory)
{
    for (uint c = warp; c < count; c += GROUP / LANES) {
        stage_row(rows, row_stride, block[c], lane, memory);
    }
}

/* Number k of the 16-bit numbers of a piece. */
#define NUMBER(piece, k) ((k) % 2 ? (piece)[(k) / 2] >> 16 : (piece)[(k) / 2] & 0xffff)

/* A piece of a pattern; all samples are read before the first sum is written. */
static inline void make_piece(const __local uint4 *restrict from, uint lane, __local sum_t *memory)
{
    uint piece[ENTRY / 2];
    sum_t v[PIECE][GROUP_ROWS];
#pragma unroll
    for (uint i = 0; i < ENTRY / 8; i++) {
        vstore4(from[i], i, piece);
    }
    const uint units = NUMBER(piece, GROUP_ROWS + 1) & 0x7fff;
#pragma unroll
    for (uint u = 0; u < PIECE; u++) {
        const uint j = min(lane + u * LANES, units - 1);
#pragma unroll
        for (uint k = 0; k < GROUP_ROWS; k++) {
            v[u][k] = memory[NUMBER(piece, k) + j];
        }
    }
#pragma unroll
    for (uint u = 0; u < PIECE; u++) {
        const uint j = lane + u * LANES;
        const uint to = NUMBER(piece, GROUP_ROWS) + j;
#if PACK == 2
        uint s = 0;
        uint o = 0;
#pragma unroll
        for (uint k = 0; k < GROUP_ROWS; k += 2) {
            s += v[u][k] + v[u][k + 1];
            o += odd(v[u][k]) + odd(v[u][k + 1]);
        }
        if (j < units) {
            if (piece[GROUP_ROWS / 2] >> 31) {
                memory[to] = s - (o << 8);
            }
            memory[to + COLUMNS] = o;
        }
#else
#pragma unroll
        for (uint n = GROUP_ROWS / 2; n > 0; n /= 2) {
#pragma unroll
            for (uint k = 0; k < n; k++) {
                v[u][k] = v[u][2 * k] + v[u][2 * k + 1];
            }
        }
        if (j < units) {
            memory[to] = v[u][0];
        }
#endif
    }
}

/* What a work-item adds up. */
typedef struct {
    sum_t s[DM_OUT][TIME_OUT];
#if HIGHS == 1
    uint high[DM_OUT][(TIME_OUT + 1) / 2];
#elif HIGHS == 2
    uint high[DM_OUT][TIME_OUT];
#endif
} sums_t;

/* The sums of groups 0 .. TOGETHER - 1 for all DMs of a work-item. */
static inline void add_groups(sums_t *sums, const __local uint *restrict pairs, const __local sum_t *mine)
{
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
        const __local sum_t *a = mine + (pairs[q] & 0xffff);
        const __local sum_t *b = mine + (pairs[q] >> 16);
#if TOGETHER == 4
        const __local sum_t *c = mine + (pairs[q + DMS] & 0xffff);
        const __local sum_t *d = mine + (pairs[q + DMS] >> 16);
#endif
#pragma unroll
        for (uint r = 0; r < TIME_OUT; r++) {
            const uint i = r * TIME_ITEMS;
#if TOGETHER == 4
            sums->s[q][r] += (a[i] + b[i]) + (c[i] + d[i]);
#elif FLOATS && GROUP_ROWS == 16
            sums->s[q][r] += a[i];
            sums->s[q][r] += b[i];
#else
            sums->s[q][r] += a[i] + b[i];
#endif
        }
    }
}

#if !FLOATS
/* The same of the last one of an odd number. */
static inline void add_last(sums_t *sums, const __local uint *restrict pairs, const __local sum_t *mine)
{
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
        const __local sum_t *a = mine + (pairs[q] & 0xffff);
#pragma unroll
        for (uint r = 0; r < TIME_OUT; r++) {
            sums->s[q][r] += a[r * TIME_ITEMS];
        }
    }
}
#endif

#if PACK == 2
/* The same of two single rows. */
static inline void add_rows(sums_t *sums, const __local uint *restrict pairs, const __local sum_t *mine)
{
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
        const __local sum_t *a = mine + (pairs[q] & 0xffff);
        const __local sum_t *b = mine + (pairs[q] >> 16);
#pragma unroll
        for (uint r = 0; r < TIME_OUT / 2; r++) {
            const uint x = a[r * TIME_ITEMS];
            const uint y = b[r * TIME_ITEMS];
            sums->s[q][r] += x + y;
            sums->s[q][r + TIME_OUT / 2] += odd(x) + odd(y);
        }
    }
}

/* Gives to even bytes, or takes from them, what the sum of words has of odd ones. */
static inline void move_odd(sums_t *sums, uint times)
{
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
#pragma unroll
        for (uint r = 0; r < TIME_OUT / 2; r++) {
            sums->s[q][r] += times * sums->s[q][r + TIME_OUT / 2];
        }
    }
}
#endif

#if HIGHS
/* What stays and 252 more samples of at most 255 make at most 65,535; 8 bits hold 1,024 rows of 2^10. */
static inline void set_aside(sums_t *sums)
{
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
#pragma unroll
        for (uint r = 0; r < TIME_OUT; r++) {
#if HIGHS == 1
            sums->high[q][r / 2] += ((sums->s[q][r] >> 10) & 0x003f003fu) << (8 * (r % 2));
            sums->s[q][r] &= 0x03ff03ffu;
#else
            sums->high[q][r] += (sums->s[q][r] >> 8) & 0x00ff00ffu;
            sums->s[q][r] &= 0x00ff00ffu;
#endif
        }
    }
}
#endif

/* Number j of word r. */
static inline float finished(const sums_t *sums, uint q, uint r, uint j)
{
#if PACK == 2
    uint sum = j ? sums->s[q][r] >> 16 : sums->s[q][r] & 0xffff;
#if HIGHS == 1
    sum += ((sums->high[q][r / 2] >> (16 * j + 8 * (r % 2))) & 0xff) << 10;
#elif HIGHS == 2
    sum += (j ? sums->high[q][r] >> 16 : sums->high[q][r] & 0xffff) << 8;
#endif
    return (float)sum;
#else
    return (float)sums->s[q][r];
#endif
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
dedisperse_tree(const __global quad *restrict rows, ulong row_stride, const __global uint4 *restrict steps,
                const __global uint4 *restrict tables, const __global uint2 *restrict tiles,
                __global float *restrict out, ulong out_stride, ulong samples, uint first_tile, uint time_tiles)
{
    __local sum_t memory[MEMORY] __attribute__((aligned(16)));
    __local uint4 blocks[2][BLOCK];
    const uint id = get_local_id(0);
    const uint lane = id % LANES;
    const uint warp = id / LANES;
    const uint tx = id % TIME_ITEMS;
    const uint dy = id / TIME_ITEMS;
    const uint tile = first_tile + (uint)get_group_id(0) / time_tiles;
    const ulong at = (ulong)((uint)get_group_id(0) % time_tiles) * (WORDS * PACK / 4);
    const uint dm = tiles[tile].x;
    const uint last = tiles[tile + 1].x - 1;
    const uint first = tiles[tile].y;
    const uint end = tiles[tile + 1].y;
    const __local sum_t *mine = memory + tx;
    sums_t sums;
#pragma unroll
    for (uint q = 0; q < DM_OUT; q++) {
#pragma unroll
        for (uint r = 0; r < TIME_OUT; r++) {
            sums.s[q][r] = 0;
#if HIGHS == 1
            sums.high[q][r / 2] = 0;
#elif HIGHS == 2
            sums.high[q][r] = 0;
#endif
        }
    }
    rows += at;
    uint4 next = steps[first];
    const uint first_rows = (next.z >> 24) & 0x7f;
    for (uint c = warp; c < first_rows; c += GROUP / LANES) {
        stage_row(rows, row_stride, tables[next.x - first_rows + c], lane, memory);
    }
    for (uint i = id; i < next.y; i += GROUP) {
        blocks[0][i] = tables[next.x + i];
    }
    for (uint step = first; step < end; step++) {
        const __local uint4 *block = blocks[(step - first) % 2];
        const uint4 head = next;
        const uint npieces = head.z & 0x7fff;
        const uint nsums = (head.z >> 16) & 0xff;
        const uint next_rows = head.w & 0x7f;
        const __local uint4 *pieces = block + next_rows;
        const __local uint *pairs = (const __local uint *)(pieces + npieces * (ENTRY / 8)) + dy * DM_OUT;
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
        for (uint p = warp; p < npieces; p += GROUP / LANES) {
            make_piece(pieces + p * (ENTRY / 8), lane, memory);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (step + 1 < end) {
            next = steps[step + 1];
            for (uint i = id; i < next.y; i += GROUP) {
                blocks[(step + 1 - first) % 2][i] = tables[next.x + i];
            }
        }
        if (!(head.w & WAITS)) {
            stage_step(rows, row_stride, block, next_rows, warp, lane, memory);
        }
#pragma unroll 1
        for (uint g = 0; g < nsums; g += TOGETHER) {
#if PACK == 2
            if (IS_SINGLE(head)) {
                add_rows(&sums, pairs, mine);
            } else
#endif
#if !FLOATS
            if (g + 1 == nsums) {
                add_last(&sums, pairs, mine);
            } else
#endif
            {
                add_groups(&sums, pairs, mine);
            }
            pairs += DMS * TOGETHER / 2;
        }
#if PACK == 2
        if (head.w & SINGLES_END) {
            move_odd(&sums, -(1u << 8));
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
        if (head.w & WAITS) {
            barrier(CLK_LOCAL_MEM_FENCE);
            stage_step(rows, row_stride, block, next_rows, warp, lane, memory);
        }
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
#pragma unroll
            for (uint j = 0; j < PACK; j++) {
                const long t = (long)(at * 4 + tx + r * TIME_ITEMS + j * WORDS) - (long)(SKEW * i);
                if (t >= 0 && t < (long)samples) {
                    out[line * out_stride + t] = finished(&sums, q, r, j);
                }
            }
        }
    }
}
