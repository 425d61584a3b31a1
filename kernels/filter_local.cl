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

/* Samples of a tile, with four floats of padding behind each 32. */
#define TILE (WIDTH * ROWS + PIECE)
#define PLACE(i) ((i) + (i) / 32 * 4)
#define CELLS (PLACE(TILE) / 4 + 1)

static inline void filter_four(const __local float4 *from, int i, float *to)
{
    const float4 four = from[PLACE(i) / 4];
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

static inline void filter_eight(const __local float4 *from, int i, float *to)
{
    filter_four(from, i, to);
    filter_four(from, i + 4, to + 4);
}

static inline void filter_coefficients(const __local float4 *from, int i, float *to)
{
    const float4 a = from[i / 4];
    const float4 b = from[i / 4 + 1];
    to[0] = a.x;
    to[1] = a.y;
    to[2] = a.z;
    to[3] = a.w;
    to[4] = b.x;
    to[5] = b.y;
    to[6] = b.z;
    to[7] = b.w;
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
        float x_re[ROWS + STEP];
        filter_eight(re, item * ROWS, x_re);
#if COMPLEX
        float x_im[ROWS + STEP];
        filter_eight(im, item * ROWS, x_im);
#endif
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            sum[r] = (filter_row)(0);
        }
#pragma unroll 2
        for (int i = 0; i < taps; i += STEP) {
            float a[STEP];
            filter_eight(re, item * ROWS + i + ROWS, x_re + ROWS);
            filter_coefficients(c_re, i, a);
#if COMPLEX
            filter_eight(im, item * ROWS + i + ROWS, x_im + ROWS);
#endif
#if COMPLEX_COEFF
            float b[STEP];
            filter_coefficients(c_im, i, b);
#endif
#pragma unroll
            for (int j = 0; j < STEP; j++) {
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
#if COMPLEX && COMPLEX_COEFF
                    sum[r].x = fma(a[j], x_re[r + j], sum[r].x);
                    sum[r].x = fma(-b[j], x_im[r + j], sum[r].x);
                    sum[r].y = fma(a[j], x_im[r + j], sum[r].y);
                    sum[r].y = fma(b[j], x_re[r + j], sum[r].y);
#elif COMPLEX
                    sum[r].x = fma(a[j], x_re[r + j], sum[r].x);
                    sum[r].y = fma(a[j], x_im[r + j], sum[r].y);
#elif COMPLEX_COEFF
                    sum[r].x = fma(a[j], x_re[r + j], sum[r].x);
                    sum[r].y = fma(b[j], x_re[r + j], sum[r].y);
#else
                    sum[r] = fma(a[j], x_re[r + j], sum[r]);
#endif
                }
            }
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                x_re[r] = x_re[r + STEP];
#if COMPLEX
                x_im[r] = x_im[r + STEP];
#endif
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            total[r] += sum[r];
        }
    }
    for (int r = 0; r < ROWS && row + r < rows; r++) {
        to[r] = first_piece > 0 ? to[r] + total[r] : total[r];
    }
}
