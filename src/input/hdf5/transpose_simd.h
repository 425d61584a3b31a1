/* Bit planes and elements, a vector of columns at a time: what transpose_sse2.c and its wider
 * sisters compile, each for its own vectors. They say first what these are:
 *
 *   vec, LANES, LANE(v, l)   of 16 bytes each; the bytes of lane l
 *   VEC_LOAD, VEC_STORE      of all its bytes, anywhere
 *   VEC_OF(lane)             lane(0), lane(1), ... as one
 *   VEC_LOW, VEC_HIGH        in each lane the bytes of both lower, both upper halves, in turns
 *   VEC_EXCHANGE(a, b, distance, mask)   the bits of `a` that lie `distance` above `mask` change
 *                            places with the bits `mask` of `b`
 *   SIMD_NAME(x)             a name of the file's own
 *
 * A column is a byte of each plane: eight elements. Eight planes of byte b become, by squares of
 * 8 x 8 bits across eight registers, bytes x = k * size + b of each column, k being one of its
 * elements; 16 x 16 bytes transposed are then 16 such bytes of a column as they lie in its
 * elements. Both steps are their own way back. The last vector of columns overlaps the one before
 * it. */
#include "input/hdf5/transpose_parts.h"

#include <emmintrin.h>

enum { COLUMNS = 16 * LANES, WINDOW = 16 };

#define INLINE static inline __attribute__((always_inline))
/* Loops over registers, which become straight code. */
#define EACH(i, count) _Pragma("GCC unroll 16") for (size_t i = 0; i < (count); i++)

#define CROSS(a, b)                                                                                \
    do {                                                                                           \
        vec low = VEC_LOW(a, b);                                                                   \
        (b) = VEC_HIGH(a, b);                                                                      \
        (a) = low;                                                                                 \
    } while (0)

#define CROSS_4(r, i, j, k, l, step)                                                               \
    CROSS(r[i], r[(i) + (step)]);                                                                  \
    CROSS(r[j], r[(j) + (step)]);                                                                  \
    CROSS(r[k], r[(k) + (step)]);                                                                  \
    CROSS(r[l], r[(l) + (step)])

#define EXCHANGE_4(r, i, j, k, l, step, mask)                                                      \
    VEC_EXCHANGE(r[i], r[(i) + (step)], step, mask);                                               \
    VEC_EXCHANGE(r[j], r[(j) + (step)], step, mask);                                               \
    VEC_EXCHANGE(r[k], r[(k) + (step)], step, mask);                                               \
    VEC_EXCHANGE(r[l], r[(l) + (step)], step, mask)

/* Bit j of byte i of register k becomes bit k of byte i of register j. */
INLINE void SIMD_NAME(bits_8)(vec *r)
{
    EXCHANGE_4(r, 0, 1, 2, 3, 4, 0x0f);
    EXCHANGE_4(r, 0, 1, 4, 5, 2, 0x33);
    EXCHANGE_4(r, 0, 2, 4, 6, 1, 0x55);
}

/* In each lane byte j of register i becomes byte i of register j. */
INLINE void SIMD_NAME(bytes_16)(vec *r)
{
    CROSS_4(r, 0, 1, 2, 3, 8);
    CROSS_4(r, 4, 5, 6, 7, 8);
    CROSS_4(r, 0, 1, 2, 3, 4);
    CROSS_4(r, 8, 9, 10, 11, 4);
    CROSS_4(r, 0, 1, 4, 5, 2);
    CROSS_4(r, 8, 9, 12, 13, 2);
    CROSS_4(r, 0, 2, 4, 6, 1);
    CROSS_4(r, 8, 10, 12, 14, 1);
}

/* In each lane byte j of register i becomes byte 8 (j % 2) + i of register j / 2. */
INLINE void SIMD_NAME(bytes_8)(vec *r)
{
    CROSS_4(r, 0, 1, 2, 3, 4);
    CROSS_4(r, 0, 1, 4, 5, 2);
    CROSS_4(r, 0, 2, 4, 6, 1);
}

/* The way back leaves register i at 4 (i % 2) + i / 2. */
INLINE void SIMD_NAME(bytes_8_back)(vec *r)
{
    SIMD_NAME(bytes_8)(r);
    CROSS_4(r, 0, 1, 2, 3, 4);
}

/* Where byte x of a column, of those of `width` bytes of each element from byte `first` on, lies
 * among its 8 * size bytes. */
INLINE size_t SIMD_NAME(offset)(size_t x, size_t size, size_t first, size_t width)
{
    return width == size ? x : x / width * size + first + x % width;
}

/* A lane's halves; the second one lies `step` bytes behind the first. */
INLINE void SIMD_NAME(store_halves)(unsigned char *at, size_t step, __m128i lane)
{
    if (step == 8) {
        _mm_storeu_si128((__m128i *)at, lane);
    } else {
        _mm_storel_epi64((__m128i *)at, lane);
        _mm_storel_epi64((__m128i *)(at + step), _mm_unpackhi_epi64(lane, lane));
    }
}

INLINE __m128i SIMD_NAME(load_halves)(const unsigned char *at, size_t step)
{
    if (step == 8) {
        return _mm_loadu_si128((const __m128i *)at);
    }
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)at),
                              _mm_loadl_epi64((const __m128i *)(at + step)));
}

/* Bytes x .. x + 15 of COLUMNS columns of `column` bytes; eight bytes, of an odd end. */
INLINE void SIMD_NAME(store_16)(const vec *e, size_t column, unsigned char *out)
{
    vec r[16];
    EACH(i, 16)
    {
        r[i] = e[i];
    }
    SIMD_NAME(bytes_16)(r);
    EACH(i, 16)
    {
        EACH(l, LANES)
        {
            _mm_storeu_si128((__m128i *)(out + (i + 16 * l) * column), LANE(r[i], l));
        }
    }
}

INLINE void SIMD_NAME(store_8)(const vec *e, size_t column, unsigned char *out)
{
    vec r[8];
    EACH(i, 8)
    {
        r[i] = e[i];
    }
    SIMD_NAME(bytes_8)(r);
    EACH(i, 8)
    {
        EACH(l, LANES)
        {
            unsigned char *to = out + (2 * i + 16 * l) * column;
            SIMD_NAME(store_halves)(to, column, LANE(r[i], l));
        }
    }
}

INLINE void SIMD_NAME(load_16)(const unsigned char *in, size_t column, vec *e)
{
    vec r[16];
#define LANE_AT(l) _mm_loadu_si128((const __m128i *)(in + (i + 16 * (l)) * column))
    EACH(i, 16)
    {
        r[i] = VEC_OF(LANE_AT);
    }
#undef LANE_AT
    SIMD_NAME(bytes_16)(r);
    EACH(i, 16)
    {
        e[i] = r[i];
    }
}

INLINE void SIMD_NAME(load_8)(const unsigned char *in, size_t column, vec *e)
{
    vec r[8];
#define LANE_AT(l) SIMD_NAME(load_halves)(in + (2 * i + 16 * (l)) * column, column)
    EACH(i, 8)
    {
        r[i] = VEC_OF(LANE_AT);
    }
#undef LANE_AT
    SIMD_NAME(bytes_8_back)(r);
    EACH(i, 8)
    {
        e[i] = r[4 * (i % 2) + i / 2];
    }
}

/* COLUMNS columns, of each element bytes first .. first + width - 1: all, or WINDOW of them. */
INLINE void SIMD_NAME(from_block)(const unsigned char *in, size_t row, size_t size, size_t first,
                                  size_t width, unsigned char *out)
{
    vec e[8 * WINDOW];
    for (size_t b = 0; b < width; b++) {
        vec r[8];
        EACH(k, 8)
        {
            r[k] = VEC_LOAD(in + (8 * (first + b) + k) * row);
        }
        SIMD_NAME(bits_8)(r);
        EACH(k, 8)
        {
            e[k * width + b] = r[k];
        }
    }
    for (size_t x = 0; x < 8 * width; x += 16) {
        unsigned char *to = out + SIMD_NAME(offset)(x, size, first, width);
        if (8 * width - x >= 16) {
            SIMD_NAME(store_16)(e + x, 8 * size, to);
        } else {
            SIMD_NAME(store_8)(e + x, 8 * size, to);
        }
    }
}

INLINE void SIMD_NAME(into_block)(const unsigned char *in, size_t row, size_t size, size_t first,
                                  size_t width, unsigned char *out)
{
    vec e[8 * WINDOW];
    for (size_t x = 0; x < 8 * width; x += 16) {
        const unsigned char *from = in + SIMD_NAME(offset)(x, size, first, width);
        if (8 * width - x >= 16) {
            SIMD_NAME(load_16)(from, 8 * size, e + x);
        } else {
            SIMD_NAME(load_8)(from, 8 * size, e + x);
        }
    }
    for (size_t b = 0; b < width; b++) {
        vec r[8];
        EACH(k, 8)
        {
            r[k] = e[k * width + b];
        }
        SIMD_NAME(bits_8)(r);
        EACH(k, 8)
        {
            VEC_STORE(out + (8 * (first + b) + k) * row, r[k]);
        }
    }
}

/* All columns, by a size that the compiler may know. */
INLINE void SIMD_NAME(from_all)(const unsigned char *in, size_t count, size_t size,
                                unsigned char *out)
{
    const size_t row = count / 8;
    const size_t width = size < WINDOW ? size : WINDOW;
    for (size_t i = 0; i < row; i += COLUMNS) {
        size_t c = i + COLUMNS > row ? row - COLUMNS : i;
        for (size_t b = 0; b < size; b += WINDOW) {
            size_t first = b + width > size ? size - width : b;
            SIMD_NAME(from_block)(in + c, row, size, first, width, out + c * 8 * size);
        }
    }
}

INLINE void SIMD_NAME(into_all)(const unsigned char *in, size_t count, size_t size,
                                unsigned char *out)
{
    const size_t row = count / 8;
    const size_t width = size < WINDOW ? size : WINDOW;
    for (size_t i = 0; i < row; i += COLUMNS) {
        size_t c = i + COLUMNS > row ? row - COLUMNS : i;
        for (size_t b = 0; b < size; b += WINDOW) {
            size_t first = b + width > size ? size - width : b;
            SIMD_NAME(into_block)(in + c * 8 * size, row, size, first, width, out + c);
        }
    }
}

#define KNOWN_SIZES(all)                                                                           \
    switch (size) {                                                                                \
    case 1:                                                                                        \
        SIMD_NAME(all)(in, count, 1, out);                                                         \
        break;                                                                                     \
    case 2:                                                                                        \
        SIMD_NAME(all)(in, count, 2, out);                                                         \
        break;                                                                                     \
    case 4:                                                                                        \
        SIMD_NAME(all)(in, count, 4, out);                                                         \
        break;                                                                                     \
    case 8:                                                                                        \
        SIMD_NAME(all)(in, count, 8, out);                                                         \
        break;                                                                                     \
    default:                                                                                       \
        SIMD_NAME(all)(in, count, size, out);                                                      \
    }

static void SIMD_NAME(from_bits)(const unsigned char *in, size_t count, size_t size,
                                 unsigned char *out)
{
    KNOWN_SIZES(from_all)
}

static void SIMD_NAME(into_bits)(const unsigned char *in, size_t count, size_t size,
                                 unsigned char *out)
{
    KNOWN_SIZES(into_all)
}
