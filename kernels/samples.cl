/* Samples as archives store them, and as numbers: what every kernel begins with.
 *
 * A filtered spectrum is CHANNELS float2, whatever the samples are. Complex: column n is sample n. Real:
 * column n is the pair of samples 2n and 2n + 1, and a transform of half the length follows, so all
 * kernels treat both alike.
 *
 *   in    stream s begins at byte s * in_stride, a multiple of 16; columns follow each other */

#ifndef CHANNELS
#define CHANNELS 1024
#define TAPS 8
#endif
#ifndef FORMAT
#define FORMAT 1
#define COMPLEX 1
#endif
#ifndef CONJUGATE
#define CONJUGATE 0
#endif
#ifndef NIBBLE_OFFSET
#define NIBBLE_OFFSET 1
#endif
#ifndef NIBBLE_HIGH_RE
#define NIBBLE_HIGH_RE 1
#endif

/* Launches are one-dimensional, since only the first dimension of a grid is large on every device.
 * ACROSS groups of WIDTH work-items go along the columns (with some to spare at the end); behind them
 * come streams, then pieces of time. All of a group have the same stream and piece. */
#ifndef WIDTH
#define WIDTH 64
#endif
#ifndef ACROSS
#define ACROSS ((CHANNELS + WIDTH - 1) / WIDTH)
#endif
#define PLACE_COLUMN (get_group_id(0) % ACROSS * WIDTH + get_local_id(0))
#define PLACE_STREAM(streams) (get_group_id(0) / ACROSS % (streams))
#define PLACE_PIECE(streams) (get_group_id(0) / ACROSS / (streams))

#define FORMAT_I4 0
#define FORMAT_I8 1
#define FORMAT_I16 2
#define FORMAT_F32 3

/* A column as it is stored. */
#if FORMAT == FORMAT_I4
typedef uchar raw_column;
#elif FORMAT == FORMAT_I8
typedef char2 raw_column;
#elif FORMAT == FORMAT_I16
typedef short2 raw_column;
#else
typedef float2 raw_column;
#endif

#if FORMAT == FORMAT_I4
static inline float nibble_value(uint nibble)
{
#if NIBBLE_OFFSET
    return (float)((int)nibble - 8);
#else
    return (float)((int)(nibble ^ 8u) - 8);
#endif
}
#endif

/* In volts of the archive, as they are stored. */
static inline float2 column_stored(raw_column stored)
{
#if FORMAT == FORMAT_I4
    const float2 volts = (float2)(nibble_value(stored >> 4), nibble_value(stored & 15u));
    return NIBBLE_HIGH_RE ? volts : volts.yx;
#else
    return convert_float2(stored);
#endif
}

/* Conjugated where the archive's frequencies fall. */
static inline float2 column_volts(raw_column stored)
{
    const float2 volts = column_stored(stored);
    return CONJUGATE ? (float2)(volts.x, -volts.y) : volts;
}

/* The coefficients of tap t for column n: one number for both parts of a complex sample. */
static inline float2 column_coeff(const __global float *restrict coeff, size_t t, size_t n)
{
#if COMPLEX
    return (float2)(coeff[t * CHANNELS + n]);
#else
    return vload2(t * CHANNELS + n, coeff);
#endif
}

static inline float2 column_fma(float2 volts, float2 coefficient, float2 sum)
{
    return (float2)(fma(volts.x, coefficient.x, sum.x), fma(volts.y, coefficient.y, sum.y));
}
