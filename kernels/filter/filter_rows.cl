/* Overlap-save in three kernels, for transforms that are longer than a work-group holds: of ROWS rows of
 * POINTS points. Comes behind filter_samples.cl (which says what in, streams and out are), butterflies.cl
 * and scrambled.cl.
 *
 *   work     float2 [batch][ROWS][POINTS], number i of the batch is block first_block + (from + i) % blocks
 *            of stream (from + i) / blocks
 *   table    float4 [responses][ROWS][R / 2][POINTS / R], as in filter_fused.cl; row p has the frequencies
 *            bit-reverse(p POINTS + u R + e)
 *   factors  of the rows (FIRST_BLOCKS = ROWS); of the columns: float4 [2][ROWS / 4][..], there and back
 *
 * rows_there joins the points of a column, which is one butterfly in registers; rows_middle transforms a
 * row, multiplies, and transforms back; rows_back is rows_there backwards, and stores the rows of a block
 * that are wanted. Blocks and rows as in filter_fused.cl.
 *
 * Of 8-bit complex samples 42 bytes a point go through memory: bound by that. H200, 2^28 samples: 9,240
 * taps in 3.63 ms (65536 points), 19,800 in 3.65 (131072); through a library's transforms 12 ms. Batches
 * that stay in the L2 save nothing: of 32 MB 4.6 and 4.7 ms, of 128 MB 4.0 and 4.1, of 512 MB 3.6, since
 * each kernel's start and end leave units idle. Better: kernels of several batches side by side. */
#ifndef VALID
#define TAPS 9240
#define TAKE 9239
#define VALID 56297
#endif
#ifndef WIDTH
#define WIDTH 256
#endif
#ifndef ROWS
#define ROWS 8
#endif
#ifndef FREE_SIZE
#define FREE_SIZE 0
#endif
#define ROWS_PAIR (COMPLEX_OUT ? 1 : 2)           /* blocks of a transform */
#define ROWS_USED ((VALID - 1) * DECIMATE + TAPS) /* samples of a block */

/* Which block a transform of the batch is, in which stream. */
#define ROWS_NUMBER(i)                                                                                       \
    const uint number = from + (i);                                                                          \
    const uint stream = nstreams == 1 ? 0 : number / blocks;                                                 \
    const long block = (first_block + (number - stream * blocks)) * ROWS_PAIR;

__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void
rows_there(const __global uchar *restrict in, ulong in_stride, ulong samples, long base,
           const __global long2 *restrict streams, long first_block, uint blocks, uint nstreams, uint from,
           __global float2 *restrict work)
{
    const uint i = get_global_id(0) / POINTS;
    const uint column = get_global_id(0) % POINTS;
    ROWS_NUMBER(i)
    const __global filter_stored *stored = (const __global filter_stored *)(in + stream * in_stride);
    const long start = block * (VALID * (long)DECIMATE) + base + streams[stream].x;
    float2 v[ROWS];
    BF_LOOP(q, ROWS)
    {
        const uint n = q * POINTS + column;
        v[q] = (float2)(0);
        if ((q + 1) * POINTS <= ROWS_USED || n < ROWS_USED) {
#if COMPLEX
            v[q] = filter_sample(stored, start + n, samples);
#else
            v[q].x = filter_sample(stored, start + n, samples);
#if !COMPLEX_OUT
            v[q].y = filter_sample(stored, start + VALID * (long)DECIMATE + n, samples);
#endif
#endif
        }
    }
    const float2 *w = 0;
    SC_LEVEL_THERE(v, ROWS, w, 1)
    BF_LOOP(q, ROWS) work[(size_t)(i * ROWS + q) * POINTS + column] = v[q];
}

/* A stated size of groups is stronger than a stated number of registers. */
#if !FREE_SIZE
__attribute__((reqd_work_group_size(SC_ITEMS, 1, 1)))
#endif
__kernel void
rows_middle(const __global long2 *restrict streams, const __global float4 *restrict table,
            const __global float4 *restrict factors, uint blocks, uint nstreams, uint from,
            __global float2 *restrict work)
{
    __local float2 cells[SC_CELLS];
    const uint item = get_local_id(0);
    const uint i = get_group_id(0) / ROWS;
    const uint sc_block = get_group_id(0) % ROWS;
    const uint stream = nstreams == 1 ? 0 : (from + i) / blocks;
    const __global float4 *response = table + (streams[stream].y * ROWS + sc_block) * (POINTS / 2);
    __global float2 *row = work + (size_t)get_group_id(0) * POINTS;
    float2 v[VALUES];
    BF_LOOP(p, VALUES / RADIX0)
    BF_LOOP(q, RADIX0) v[p * RADIX0 + q] = row[item + p * SC_ITEMS + q * SC_STEP0];
    SC_TRANSFORM_THERE
    SC_PRODUCT(response)
    SC_TRANSFORM_BACK
    BF_LOOP(p, VALUES / RADIX0)
    BF_LOOP(q, RADIX0) row[item + p * SC_ITEMS + q * SC_STEP0] = v[p * RADIX0 + q];
}

/* Stores value `part` of point n of a transform, if a wanted row of block `number` is made of it. */
#define ROWS_STORE(number, n, part)                                                                          \
    {                                                                                                        \
        const uint behind = (n)-TAKE; /* before it: a huge one */                                            \
        const long row = (number) * VALID + behind / DECIMATE - first_row;                                   \
        if (behind % DECIMATE == 0 && behind / DECIMATE < VALID && row >= 0 && row < (long)rows) {           \
            out[stream * out_stride + row] = part;                                                           \
        }                                                                                                    \
    }

__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void
rows_back(const __global float4 *restrict factors, const __global float2 *restrict work, uint blocks,
          uint nstreams, uint from, long first_block, __global filter_row *restrict out, ulong out_stride,
          long first_row, ulong rows)
{
    const uint i = get_global_id(0) / POINTS;
    const uint column = get_global_id(0) % POINTS;
    ROWS_NUMBER(i)
    float2 v[ROWS];
    BF_LOOP(q, ROWS) v[q] = work[(size_t)(i * ROWS + q) * POINTS + column];
    SC_FACTORS(ROWS, ROWS / 4, POINTS, column)
    SC_LEVEL_BACK(v, ROWS, w, 0)
    BF_LOOP(q, ROWS)
    {
        const uint n = q * POINTS + column;
#if COMPLEX_OUT
        ROWS_STORE(block, n, v[q])
#else
        ROWS_STORE(block, n, v[q].x)
        ROWS_STORE(block + 1, n, v[q].y)
#endif
    }
}
