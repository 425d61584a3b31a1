/* Samples and rows of long filters: what each of their kernels begins with.
 *
 *   in        stream s begins at byte s * in_stride, a multiple of 16; its samples follow each other, as they
 *             are stored; there are `samples` of them, and 0 V before and behind
 *   streams   long2 [streams]: samples by which rows of a stream are shifted, and its response's number
 *   out       filter_row [streams][out_stride]
 *
 * The first sample of row m of stream s lies at place m * DECIMATE + base + streams[s].x. */

#ifndef FORMAT
#define FORMAT 3  /* 0: I4, 1: I8, 2: I16, 3: F32 */
#define COMPLEX 1 /* 0: real samples */
#endif
#ifndef CONJUGATE
#define CONJUGATE 0 /* 1: take the complex conjugate of every sample */
#endif
#ifndef NIBBLE_OFFSET
#define NIBBLE_OFFSET 1  /* I4, 1: a nibble's value is nibble - 8, 0: two's complement */
#define NIBBLE_HIGH_RE 1 /* I4, 1: the real part is the high nibble */
#endif
#ifndef COMPLEX_COEFF
#define COMPLEX_COEFF 0 /* coefficients: float or float2 */
#endif
#ifndef COMPLEX_OUT
#define COMPLEX_OUT (COMPLEX || COMPLEX_COEFF) /* rows: float or float2 */
#endif
#ifndef DECIMATE
#define DECIMATE 1
#endif

/* A sample as it is stored, and in volts. */
#define FILTER_JOIN_(a, b) a##b
#define FILTER_JOIN(a, b) FILTER_JOIN_(a, b)
#if FORMAT == 0
#define FILTER_NUMBER uchar
#elif FORMAT == 1
#define FILTER_NUMBER char
#elif FORMAT == 2
#define FILTER_NUMBER short
#else
#define FILTER_NUMBER float
#endif
#if COMPLEX && FORMAT != 0
typedef FILTER_JOIN(FILTER_NUMBER, 2) filter_stored;
#else
typedef FILTER_NUMBER filter_stored;
#endif
#if COMPLEX
typedef float2 filter_volts;
#else
typedef float filter_volts;
#endif
#if COMPLEX_OUT
typedef float2 filter_row;
#else
typedef float filter_row;
#endif

static inline filter_volts filter_convert(filter_stored stored)
{
#if FORMAT == 0
    const uint high = (uint)stored >> 4;
    const uint low = (uint)stored & 15u;
#if NIBBLE_OFFSET
    float2 volts = (float2)((float)((int)high - 8), (float)((int)low - 8));
#else
    float2 volts = (float2)((float)((int)(high ^ 8u) - 8), (float)((int)(low ^ 8u) - 8));
#endif
#if !NIBBLE_HIGH_RE
    volts = volts.yx;
#endif
#elif COMPLEX
    float2 volts = convert_float2(stored);
#else
    float volts = (float)stored;
#endif
#if COMPLEX && CONJUGATE
    volts.y = -volts.y;
#endif
    return volts;
}

/* The sample at place n of a stream; 0 V where there is none. */
static inline filter_volts filter_sample(const __global filter_stored *restrict stream, long n, ulong samples)
{
    /* A place before 0 is a huge one. */
    return (ulong)n < samples ? filter_convert(stream[n]) : (filter_volts)(0);
}
