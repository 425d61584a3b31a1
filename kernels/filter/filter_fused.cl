/* Overlap-save in one kernel: what is stored becomes volts, transform, product, transform back, and
 * the rows of a block are stored. Comes behind filter_samples.cl (which says what in, streams and
 * out are), butterflies.cl and scrambled.cl.
 *
 *   table     float4 [responses][R / 2][POINTS / R], R the last stage's radix: two complex numbers
 *             each; those of butterfly u, values 2 e and 2 e + 1, are the response at frequencies
 *             bit-reverse(u R + 2 e) and ... + 1, over POINTS
 *   factors   see scrambled.cl
 *
 * A team of work-items owns a block of VALID rows (of real samples through a real filter: a pair of
 * neighbouring blocks, one the real and one the imaginary part); blocks first_block .. + blocks - 1
 * of every stream are made, and of their rows first_row .. first_row + rows - 1 are stored. Row m of
 * block j is value (m - j VALID) DECIMATE + TAKE of the circular convolution of the samples that
 * begin at place j VALID DECIMATE + base + shift. Of those the first USED are looked at.
 *
 * A sample is read POINTS / (VALID DECIMATE) times, neighbouring blocks' from L2, and a row is written
 * once; all else stays in registers and local memory.
 *
 * H200: 2^22 complex floats in 27 (129 taps), 28 (257) and 33 us (1,025); 2^28 8-bit complex samples
 * with 2,700 taps in 1.93 ms (8192 points, 32 values an item, 127 registers, two groups on a unit).
 * Of that time instructions take 59 % of the issue slots (77 of 103 a point are the transforms' own
 * multiply-adds: alone 0.9 ms), and local memory and L1 are busy for 61 %: neither is free, and two
 * groups hide only so much of each other's waits. 16384 points waste less (a sixth instead of a third)
 * but one group fills a unit: 2.29 ms; 64 values an item 2.07; three groups of 80 registers 2.01 (they
 * spill); re and im through local memory one after the other 2.54; 4096 points 3.08. What would be
 * faster: samples of the next block fetched while this one is transformed (registers are not there). */
#ifndef VALID
#define TAPS 129
#define TAKE 128
#define VALID (POINTS - 128)
#define TEAMS 1
#endif
#ifndef FREE_SIZE
#define FREE_SIZE 0
#endif

#define FUSED_PAIR (COMPLEX_OUT ? 1 : 2)           /* blocks of a transform */
#define FUSED_USED ((VALID - 1) * DECIMATE + TAPS) /* samples of a block */

/* Samples u + q STEP0 of a block that begins at `from`, to the part of v. All of them are there, or
 * `least` .. `least + count - 1` of them. */
#define FUSED_LOAD(from, to, get)                                                                  \
    BF_LOOP(p, VALUES / RADIX0)                                                                    \
    BF_LOOP(q, RADIX0)                                                                             \
    {                                                                                              \
        const uint n = item + p * SC_ITEMS + q * SC_STEP0;                                         \
        v[p * RADIX0 + q] to = get(from, n, (q + 1) * SC_STEP0 <= FUSED_USED);                     \
    }
#define FUSED_WHOLE(from, n, always)                                                               \
    ((always) || n < FUSED_USED ? filter_convert((from)[n]) : (filter_volts)(0))
#define FUSED_PART(from, n, always)                                                                \
    (n - least < count ? filter_convert((from)[n]) : (filter_volts)(0))
#define FUSED_BLOCK(start, to)                                                                     \
    {                                                                                              \
        const __global filter_stored *from = stored + (start);                                     \
        if ((start) >= 0 && (start) + FUSED_USED <= (long)samples) {                               \
            FUSED_LOAD(from, to, FUSED_WHOLE)                                                      \
        } else {                                                                                   \
            const uint least = (uint)min(max(-(start), 0L), (long)FUSED_USED);                     \
            const uint end = (uint)min(max((long)samples - (start), 0L), (long)FUSED_USED);        \
            const uint count = end > least ? end - least : 0;                                      \
            FUSED_LOAD(from, to, FUSED_PART)                                                       \
        }                                                                                          \
    }

/* Stores the rows of block `number` that are wanted. */
#define FUSED_STORE(number, part)                                                                  \
    {                                                                                              \
        const long top = (number) * VALID - first_row; /* place of the block's first row */        \
        __global filter_row *to = out + stream * out_stride + top;                                 \
        const uint least = (uint)min(max(-top, 0L), (long)VALID);                                  \
        const uint end = (uint)min(max((long)rows - top, 0L), (long)VALID);                        \
        const uint count = is_mine && end > least ? end - least : 0;                               \
        BF_LOOP(p, VALUES / RADIX0)                                                                \
        BF_LOOP(q, RADIX0)                                                                         \
        {                                                                                          \
            const uint n = item + p * SC_ITEMS + q * SC_STEP0 - TAKE;                              \
            if ((q + 1) * SC_STEP0 > TAKE && n % DECIMATE == 0 && n / DECIMATE - least < count) {  \
                to[n / DECIMATE] = v[p * RADIX0 + q] part;                                         \
            }                                                                                      \
        }                                                                                          \
    }

/* A stated size of groups is stronger than a stated number of registers. */
#if !FREE_SIZE
__attribute__((reqd_work_group_size(SC_ITEMS *TEAMS, 1, 1)))
#endif
__kernel void
filter_fused(const __global uchar *restrict in, ulong in_stride, ulong samples, long base,
             const __global long2 *restrict streams, const __global float4 *restrict table,
             const __global float4 *restrict factors, __global filter_row *restrict out,
             ulong out_stride, long first_row, ulong rows, long first_block, uint blocks,
             uint nstreams)
{
    __local float2 memory[TEAMS * SC_CELLS];
    const uint item = get_local_id(0) % SC_ITEMS;
    const uint team = TEAMS == 1 ? 0 : get_local_id(0) / SC_ITEMS;
    __local float2 *cells = memory + team * SC_CELLS;
    const uint sc_block = 0;

    const uint mine = get_group_id(0) * TEAMS + team;
    const int is_mine = TEAMS == 1 || mine < blocks * nstreams; /* else there to meet at barriers */
    const uint at = is_mine ? mine : 0;
    const uint stream = nstreams == 1 ? 0 : at / blocks;
    const long block = (first_block + (at - stream * blocks)) * FUSED_PAIR;
    const long2 own = streams[stream];
    const __global filter_stored *stored =
        (const __global filter_stored *)(in + stream * in_stride);

    float2 v[VALUES];
    const long start = block * (VALID * (long)DECIMATE) + base + own.x;
#if COMPLEX
    FUSED_BLOCK(start, )
#elif COMPLEX_OUT
    FUSED_BLOCK(start, .x)
    BF_LOOP(i, VALUES) v[i].y = 0;
#else
    const long second = start + VALID * (long)DECIMATE;
    FUSED_BLOCK(start, .x)
    FUSED_BLOCK(second, .y)
#endif

    SC_TRANSFORM_THERE
    const __global float4 *response = table + own.y * (POINTS / 2);
    SC_PRODUCT(response)
    SC_TRANSFORM_BACK

#if COMPLEX_OUT
    FUSED_STORE(block, )
#else
    FUSED_STORE(block, .x)
    FUSED_STORE(block + 1, .y)
#endif
}
