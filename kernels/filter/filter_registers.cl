/* Long filters of few taps: each work-item holds a window in registers. Comes behind filter_samples.cl.
 *
 *   coeff   the coefficients, oldest sample first, between zeros; an argument by value
 *   base    of the place of a row's first sample; a multiple of 4: what is over it has become zeros before
 *           the coefficients
 *
 * A work-item owns ROWS neighbouring rows. It loads TAPS + ROWS samples, four at a time, and adds each to
 * all of its rows at once; neighbours' windows overlap and come from L1. Samples and rows move as whole
 * vectors of 16 bytes, and the coefficients are constants of the launch, which multiplications take as an
 * operand without a load: up to some 64 taps the memory binds.
 * Better: for 16 taps and less, longer runs of rows an item, so that fewer loads hit L1. */
#ifndef TAPS
#define TAPS 8 /* with the zeros: a multiple of 4 */
#endif
#ifndef ROWS
#define ROWS 4 /* a multiple of 4 */
#endif
#ifndef WIDTH
#define WIDTH 256
#endif
#define WINDOW (TAPS + ROWS)

#if COMPLEX_COEFF
struct filter_coefficients {
    float2 c[TAPS];
};
typedef float2 filter_coefficient;
#else
struct filter_coefficients {
    float c[TAPS];
};
typedef float filter_coefficient;
#endif

static inline filter_row filter_add(filter_coefficient c, filter_volts x, filter_row sum)
{
#if COMPLEX && COMPLEX_COEFF
    sum.x = fma(c.x, x.x, sum.x);
    sum.x = fma(-c.y, x.y, sum.x);
    sum.y = fma(c.x, x.y, sum.y);
    sum.y = fma(c.y, x.x, sum.y);
#elif COMPLEX
    sum.x = fma(c, x.x, sum.x);
    sum.y = fma(c, x.y, sum.y);
#elif COMPLEX_COEFF
    sum.x = fma(c.x, x, sum.x);
    sum.y = fma(c.y, x, sum.y);
#else
    sum = fma(c, x, sum);
#endif
    return sum;
}

/* Four samples from place n on, a multiple of 4; all are there. */
static inline void filter_load(const __global filter_stored *restrict stream, long n, filter_volts *volts)
{
#if FORMAT == 3 && COMPLEX
    /* Streams begin at multiples of 16 bytes only. */
    const __global float4 *from = (const __global float4 *)(stream + n);
    const float4 a = from[0];
    const float4 b = from[1];
    volts[0] = filter_convert(a.lo);
    volts[1] = filter_convert(a.hi);
    volts[2] = filter_convert(b.lo);
    volts[3] = filter_convert(b.hi);
#elif COMPLEX && FORMAT != 0
    const FILTER_JOIN(FILTER_NUMBER, 8) q = *(const __global FILTER_JOIN(FILTER_NUMBER, 8) *)(stream + n);
    volts[0] = filter_convert(q.s01);
    volts[1] = filter_convert(q.s23);
    volts[2] = filter_convert(q.s45);
    volts[3] = filter_convert(q.s67);
#else
    const FILTER_JOIN(FILTER_NUMBER, 4) q = *(const __global FILTER_JOIN(FILTER_NUMBER, 4) *)(stream + n);
    volts[0] = filter_convert(q.x);
    volts[1] = filter_convert(q.y);
    volts[2] = filter_convert(q.z);
    volts[3] = filter_convert(q.w);
#endif
}

/* The sums, `inside` known to the compiler. */
static inline void filter_sum(const __global filter_stored *restrict stream, long n, ulong samples,
                              const struct filter_coefficients *coeff, int inside, filter_row *sum)
{
    filter_volts x[WINDOW];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        sum[r] = (filter_row)(0);
    }
#pragma unroll
    for (int k = 0; k < WINDOW; k += 4) {
        if (inside) {
            filter_load(stream, n + k, x + k);
        } else {
            for (int i = 0; i < 4; i++) {
                x[k + i] = filter_sample(stream, n + k + i, samples);
            }
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                if (k + i >= r && k + i - r < TAPS) {
                    sum[r] = filter_add(coeff->c[k + i - r], x[k + i], sum[r]);
                }
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void
filter_registers(const __global uchar *restrict in, ulong in_stride, ulong samples,
                 const struct filter_coefficients coeff, long base, __global filter_row *restrict out,
                 ulong out_stride, ulong rows)
{
    const ulong across = (rows + ROWS * WIDTH - 1) / (ROWS * WIDTH);
    const ulong number = get_group_id(0) / across;
    const ulong row = (get_group_id(0) % across * WIDTH + get_local_id(0)) * ROWS;
    if (row >= rows) {
        return;
    }
    const __global filter_stored *stream = (const __global filter_stored *)(in + number * in_stride);
    const long n = (long)row + base;
    filter_row sum[ROWS];
    if (n >= 0 && n + WINDOW <= (long)samples) {
        filter_sum(stream, n, samples, &coeff, 1, sum);
    } else {
        filter_sum(stream, n, samples, &coeff, 0, sum);
    }
    __global filter_row *to = out + number * out_stride + row;
    if (row + ROWS <= rows && out_stride % 4 == 0) {
#pragma unroll
        for (int r = 0; r < ROWS; r += 4) {
#if COMPLEX_OUT
            *(__global float4 *)(to + r) = (float4)(sum[r], sum[r + 1]);
            *(__global float4 *)(to + r + 2) = (float4)(sum[r + 2], sum[r + 3]);
#else
            *(__global float4 *)(to + r) = (float4)(sum[r], sum[r + 1], sum[r + 2], sum[r + 3]);
#endif
        }
    } else {
        for (int r = 0; r < ROWS && row + r < rows; r++) {
            to[r] = sum[r];
        }
    }
}
