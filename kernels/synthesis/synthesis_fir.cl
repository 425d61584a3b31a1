/* The filter of a synthesis: rows of a stream from transformed spectra. Comes behind butterflies.cl.
 *
 *   u        float2 [spectra][streams][POINTS]: complex conjugates of the transforms; SIGNED: point j
 *            times (-1)^j is what counts
 *   coeff    float [LENGTH]: the filter g, its first sample first
 *   out      float2 (IS_REAL_OUT: float) [streams][out_stride]: rows 0 .. rows - 1 from place `at` on,
 *
 *            x[n] = sum_s g[n - s HOP] u_s[(n + turn) mod POINTS]^*,   s ascending
 *
 *   base, rest   the first spectrum that row 0 is made of is number `base` of u (< 0: it is not
 *                there), and its coefficient g[LENGTH - HOP + rest], rest = 0 .. HOP - 1
 *   turned       (n + turn) mod POINTS of row 0
 *
 * A work-item makes ROWS rows that are POINTS apart, so that all meet the same column of u: it loads
 * a point of a spectrum once for all of them. Which spectra and rows meet is known when the kernel is
 * compiled, but for one at each end, so all is unrolled (UNROLLED), and loads run ahead. Neighbours have
 * neighbouring rows, points and coefficients; the latter are others for each row and spectrum, and
 * come from L1.
 *
 * Every row is summed in the same order whatever its place, ROWS and the block: no cut changes a
 * bit. */

#ifndef POINTS
#define POINTS 1024
#define HOP 864
#define LENGTH 8192
#define SIGNED 1
#define IS_REAL_OUT 0
#endif
#ifndef ROWS
#define ROWS 4
#define UNROLLED 1
#define FIR_WIDTH 128
#endif

#define FIR_ACROSS ((POINTS + FIR_WIDTH - 1) / FIR_WIDTH)

/* The first spectrum of an item's row 0 has coefficient i, LENGTH - HOP <= i < LENGTH. Row k has of
 * spectrum s behind it coefficient i + FIR_PLACE(k, s): perhaps, and certainly. */
#define FIR_PLACE(k, s) ((k) * POINTS - (s) * HOP)
#define FIR_MAY(k, s) (LENGTH - 1 + FIR_PLACE(k, s) >= 0 && FIR_PLACE(k, s) < HOP)
#define FIR_MUST(k, s) (LENGTH - HOP + FIR_PLACE(k, s) >= 0 && FIR_PLACE(k, s) <= 0)
/* Spectra that the rows of an item meet. */
#define FIR_SPECTRA ((LENGTH - 1 + (ROWS - 1) * POINTS) / HOP + 1)

#if IS_REAL_OUT
typedef float fir_row;
#else
typedef float2 fir_row;
#endif

__kernel __attribute__((reqd_work_group_size(FIR_WIDTH, 1, 1))) void
synthesis_fir(const __global float2 *restrict u, ulong spectra, uint streams,
              const __global float *restrict coeff, long base, uint rest, uint turned,
              __global fir_row *restrict out, ulong at, ulong out_stride, ulong rows)
{
    const uint group = get_group_id(0);
    const uint column = group % FIR_ACROSS * FIR_WIDTH + get_local_id(0);
    const uint stream = group / FIR_ACROSS % streams;
    const ulong row = (ulong)(group / FIR_ACROSS / streams) * (ROWS * POINTS) + column;
    if (column >= POINTS || row >= rows) {
        return;
    }
    const ulong before = row + rest;
    const long first = base + (long)(before / HOP);
    const int i = LENGTH - HOP + (int)(before % HOP);
    const uint j = (column + turned) % POINTS;
    const ulong apart = (ulong)streams * POINTS;
    const __global float2 *from = u + (stream * POINTS + j);
    const __global float *g = coeff + i;
    fir_row sum[ROWS];
    BF_LOOP(k, ROWS) sum[k] = (fir_row)(0);
#if UNROLLED
    BF_LOOP(s, FIR_SPECTRA)
#else
    _Pragma("unroll 1") for (int s = 0; s < FIR_SPECTRA; s++)
#endif
    {
        /* Spectra that are not there are zero. */
        float2 point = (float2)(0);
        if ((ulong)(first + s) < spectra) {
            point = from[(ulong)(first + s) * apart];
        }
        BF_LOOP(k, ROWS)
        {
            if (FIR_MAY(k, s) && (FIR_MUST(k, s) || (uint)(i + FIR_PLACE(k, s)) < LENGTH)) {
                const float weight = g[FIR_PLACE(k, s)];
#if IS_REAL_OUT
                sum[k] = fma(point.x, weight, sum[k]);
#else
                sum[k].x = fma(point.x, weight, sum[k].x);
                sum[k].y = fma(point.y, weight, sum[k].y);
#endif
            }
        }
    }
    const float sign = SIGNED && j % 2 == 1 ? -1.0f : 1.0f;
    BF_LOOP(k, ROWS)
    {
        const ulong n = row + (ulong)k * POINTS;
        if (n < rows) {
#if IS_REAL_OUT
            out[stream * out_stride + at + n] = sign * sum[k];
#else
            out[stream * out_stride + at + n] = (float2)(sign * sum[k].x, -sign * sum[k].y);
#endif
        }
    }
}
