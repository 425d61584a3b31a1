/* Long filters by direct sums, with samples and coefficients in local memory (Rebacz, Oruklu, Saniie 2010).
 * Comes behind filter_samples.cl.
 *
 *   coeff   float [PHASES][PIECES][PIECE], oldest sample first; complex: the same of imaginary parts behind
 *           it. Tap i is number i / DECIMATE of phase i % DECIMATE; behind the taps are zeros
 *
 * A work-group owns WIDTH * ROWS neighbouring rows of a stream, a work-item ROWS of them. Of a phase, rows
 * and samples are as far apart as without decimation. Piece by piece, samples and coefficients come to local
 * memory; an item slides along its samples with a window in registers, so that eight loads serve 8 x ROWS
 * products. Samples are padded, so that items which are ROWS samples apart read from different banks.
 *
 * A piece is a sum of its own, and so are the pieces of a launch, before they are added to what earlier
 * launches have left in `out`: a float sum of 131072 products would lose too much. The order is the same
 * for any shape, and that of filter_registers.cl.
 * Better: two groups that share samples through L1 do not gain; what binds are the products. */
#ifndef PIECE
#define PIECE 512 /* taps, a multiple of 8 */
#define PIECES 1  /* of a phase */
#define TAPS 512  /* of a phase, rounded up to a multiple of 8 */
#endif
#ifndef PHASES
#define PHASES DECIMATE
#endif
#ifndef WIDTH
#define WIDTH 128
#endif
#define ROWS 8
#define STEP 8 /* taps at a time */
#define PARTS (COMPLEX_OUT ? 2 : 1)

/* Samples of a tile, with four floats of padding behind each 32. */
#define TILE (WIDTH * ROWS + PIECE)
#define PLACE(i) ((i) + (i) / 32 * 4)
#define CELLS (PLACE(TILE) / 4 + 1)

/* Eight numbers from four-number cells. */
static inline void filter_eight(const __local float4 *from, int cell, int next, float *to)
{
    const float4 low = from[cell];
    const float4 high = from[next];
    to[0] = low.x;
    to[1] = low.y;
    to[2] = low.z;
    to[3] = low.w;
    to[4] = high.x;
    to[5] = high.y;
    to[6] = high.z;
    to[7] = high.w;
}

/* An item's samples from number i of its window on. */
#define FETCH_PART(from, i, to)                                                                    \
    filter_eight(from, PLACE(item * ROWS + (i)) / 4, PLACE(item * ROWS + (i) + 4) / 4, to);
#if COMPLEX
#define FETCH(i, to_re, to_im) FETCH_PART(re, i, to_re) FETCH_PART(im, i, to_im)
#else
#define FETCH(i, to_re, to_im) FETCH_PART(re, i, to_re)
#endif
#if COMPLEX_COEFF
#define FETCH_COEFFICIENTS(i)                                                                      \
    filter_eight(c_re, (i) / 4, (i) / 4 + 1, a);                                                   \
    filter_eight(c_im, (i) / 4, (i) / 4 + 1, b);
#else
#define FETCH_COEFFICIENTS(i) filter_eight(c_re, (i) / 4, (i) / 4 + 1, a);
#endif

/* Eight taps of all rows; an item's samples are 16, in two halves. */
static inline void filter_step(const float *a, const float *b, const float *re0, const float *re1, const float *im0,
                               const float *im1, filter_row *sum)
{
#pragma unroll
    for (int j = 0; j < STEP; j++) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const float re = r + j < ROWS ? re0[r + j] : re1[r + j - ROWS];
#if COMPLEX
            const float im = r + j < ROWS ? im0[r + j] : im1[r + j - ROWS];
#endif
#if COMPLEX && COMPLEX_COEFF
            sum[r].x = fma(a[j], re, sum[r].x);
            sum[r].x = fma(-b[j], im, sum[r].x);
            sum[r].y = fma(a[j], im, sum[r].y);
            sum[r].y = fma(b[j], re, sum[r].y);
#elif COMPLEX
            sum[r].x = fma(a[j], re, sum[r].x);
            sum[r].y = fma(a[j], im, sum[r].y);
#elif COMPLEX_COEFF
            sum[r].x = fma(a[j], re, sum[r].x);
            sum[r].y = fma(b[j], re, sum[r].y);
#else
            sum[r] = fma(a[j], re, sum[r]);
#endif
        }
    }
}

__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void
filter_local(const __global uchar *restrict in, ulong in_stride, ulong samples,
             const __global long2 *restrict streams, const __global float *restrict coeff, long base,
             uint first_piece, uint pieces, __global filter_row *restrict out, ulong out_stride, ulong rows)
{
    __local float4 re[CELLS];
    __local float4 c_re[PIECE / 4];
#if COMPLEX
    __local float4 im[CELLS];
#endif
#if COMPLEX_COEFF
    __local float4 c_im[PIECE / 4];
#endif
    const ulong across = (rows + ROWS * WIDTH - 1) / (ROWS * WIDTH);
    const ulong number = get_group_id(0) / across;
    const ulong row0 = get_group_id(0) % across * (ROWS * WIDTH);
    const int item = get_local_id(0);
    const ulong row = row0 + item * ROWS;
    const __global filter_stored *stream = (const __global filter_stored *)(in + number * in_stride);
    __global filter_row *to = out + number * out_stride + row;
    filter_row total[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        total[r] = (filter_row)(0);
    }
    for (uint k = first_piece; k < first_piece + pieces; k++) {
        const int tap0 = k % PIECES * PIECE;
        const int taps = min(PIECE, TAPS - tap0);
        const long n0 = ((long)row0 + tap0) * DECIMATE + k / PIECES + base + streams[number].x;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = item; i < taps; i += WIDTH) {
            ((__local float *)c_re)[i] = coeff[(size_t)k * PIECE + i];
#if COMPLEX_COEFF
            ((__local float *)c_im)[i] = coeff[((size_t)PHASES * PIECES + k) * PIECE + i];
#endif
        }
        for (int i = item; i < ROWS * WIDTH + taps; i += WIDTH) {
            const filter_volts volts = filter_sample(stream, n0 + (long)i * DECIMATE, samples);
#if COMPLEX
            ((__local float *)re)[PLACE(i)] = volts.x;
            ((__local float *)im)[PLACE(i)] = volts.y;
#else
            ((__local float *)re)[PLACE(i)] = volts;
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        filter_row sum[ROWS];
        float re0[ROWS], re1[ROWS], im0[ROWS], im1[ROWS], a[STEP], b[STEP];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            sum[r] = (filter_row)(0);
        }
        FETCH(0, re0, im0)
        /* The halves of the window change their places by code: nothing is moved between registers. */
        for (int i = 0; i < taps; i += STEP) {
            FETCH_COEFFICIENTS(i)
            FETCH(i + ROWS, re1, im1)
            filter_step(a, b, re0, re1, im0, im1, sum);
            i += STEP;
            if (i >= taps) {
                break;
            }
            FETCH_COEFFICIENTS(i)
            FETCH(i + ROWS, re0, im0)
            filter_step(a, b, re1, re0, im1, im0, sum);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            total[r] += sum[r];
        }
    }
    if (row + ROWS <= rows && out_stride % 4 == 0) {
        __global float4 *fours = (__global float4 *)to;
#pragma unroll
        for (int r = 0; r < ROWS; r += 4 / PARTS) {
#if COMPLEX_OUT
            const float4 now = (float4)(total[r], total[r + 1]);
#else
            const float4 now = (float4)(total[r], total[r + 1], total[r + 2], total[r + 3]);
#endif
            fours[r * PARTS / 4] = first_piece > 0 ? fours[r * PARTS / 4] + now : now;
        }
    } else {
        for (int r = 0; r < ROWS && row + r < rows; r++) {
            to[r] = first_piece > 0 ? to[r] + total[r] : total[r];
        }
    }
}
