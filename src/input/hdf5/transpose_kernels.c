/* Bit planes and elements, a register of columns at a time; compiled once for each instruction set
 * (base/lanes.h).
 *
 * A column is a byte of each plane: eight elements. Eight planes of byte b become, by squares of
 * 8 x 8 bits across eight registers, bytes x = k * size + b of each column, k being one of its
 * elements; 16 x 16 bytes transposed are then 16 such bytes of a column as they are in its
 * elements. Both steps are their own way back. The last register of columns overlaps the one before
 * it. Registers are worked on in parts of 16 bytes. */
#include "base/lanes.h"
#include "input/hdf5/transpose.h"

typedef uint8_t vec __attribute__((vector_size(VECTOR)));
typedef vec vec_anywhere __attribute__((aligned(1), may_alias));
typedef uint64_t part_t __attribute__((vector_size(16)));

enum { COLUMNS = VECTOR, PARTS = VECTOR / 16, WINDOW = 16 };

/* Loops over registers, which become straight code. */
#define EACH(i, count) UNROLLED for (size_t i = 0; i < (count); i++)

/* Bytes of the lower (b = 0) or upper halves (8) of each part of two registers, in turns. */
#define BYTE_IN_TURN(i, b) (i) / 16 * 16 + (i) % 16 / 2 + (b) + (i) % 2 * VECTOR
#define FOUR_IN_TURN(l, b)                                                                         \
    BYTE_IN_TURN(4 * (l), b), BYTE_IN_TURN(4 * (l) + 1, b), BYTE_IN_TURN(4 * (l) + 2, b),          \
        BYTE_IN_TURN(4 * (l) + 3, b)
#define CROSS(a, b)                                                                                \
    do {                                                                                           \
        vec low = SHUFFLE_NUMBERS(vec, a, b, EACH_LANE(FOUR_IN_TURN, 0));                          \
        (b) = SHUFFLE_NUMBERS(vec, a, b, EACH_LANE(FOUR_IN_TURN, 8));                              \
        (a) = low;                                                                                 \
    } while (0)

#define CROSS_4(r, i, j, k, l, step)                                                               \
    CROSS(r[i], r[(i) + (step)]);                                                                  \
    CROSS(r[j], r[(j) + (step)]);                                                                  \
    CROSS(r[k], r[(k) + (step)]);                                                                  \
    CROSS(r[l], r[(l) + (step)])

#define EXCHANGE_4(r, i, j, k, l, step, mask)                                                      \
    exchange(&r[i], &r[(i) + (step)], step, mask);                                                 \
    exchange(&r[j], &r[(j) + (step)], step, mask);                                                 \
    exchange(&r[k], &r[(k) + (step)], step, mask);                                                 \
    exchange(&r[l], &r[(l) + (step)], step, mask)

/* The bits of `a` that are `distance` above `mask` change places with the bits `mask` of `b`: by
 * choices, which are one operation of AVX-512, or by differences. */
INLINE void exchange(vec *a, vec *b, int distance, uint8_t mask)
{
    const lanes16_t which = (lanes16_t)((vec){0} + mask);
    const lanes16_t x = (lanes16_t)*a;
    const lanes16_t y = (lanes16_t)*b;
    if (LANES == 16) {
        *a = (vec)((x & which) | ((y << distance) & ~which));
        *b = (vec)(((x >> distance) & which) | (y & ~which));
    } else {
        const lanes16_t differ = ((x >> distance) ^ y) & which;
        *a = (vec)(x ^ (differ << distance));
        *b = (vec)(y ^ differ);
    }
}

/* Bit j of byte i of register k becomes bit k of byte i of register j. */
INLINE void bits_8(vec *r)
{
    EXCHANGE_4(r, 0, 1, 2, 3, 4, 0x0f);
    EXCHANGE_4(r, 0, 1, 4, 5, 2, 0x33);
    EXCHANGE_4(r, 0, 2, 4, 6, 1, 0x55);
}

/* In each lane byte j of register i becomes byte i of register j. */
INLINE void bytes_16(vec *r)
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
INLINE void bytes_8(vec *r)
{
    CROSS_4(r, 0, 1, 2, 3, 4);
    CROSS_4(r, 0, 1, 4, 5, 2);
    CROSS_4(r, 0, 2, 4, 6, 1);
}

/* The way back leaves register i at 4 (i % 2) + i / 2. */
INLINE void bytes_8_back(vec *r)
{
    bytes_8(r);
    CROSS_4(r, 0, 1, 2, 3, 4);
}

/* Where byte x of a column, of those of `width` bytes of each element from byte `first` on, is
 * among its 8 * size bytes. */
INLINE size_t offset(size_t x, size_t size, size_t first, size_t width)
{
    return width == size ? x : x / width * size + first + x % width;
}

INLINE part_t part_of(vec v, size_t i)
{
    part_t part;
    memcpy(&part, (const char *)&v + 16 * i, sizeof part);
    return part;
}

/* All parts as one register: compilers take the way through memory. */
#if LANES == 16 && defined __AVX512F__
#define PAIR_OF(part, i)                                                                           \
    _mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)part(i)), (__m128i)part((i) + 1), 1)
#define VEC_OF(part)                                                                               \
    (vec) _mm512_inserti64x4(_mm512_castsi256_si512(PAIR_OF(part, 0)), PAIR_OF(part, 2), 1)
#elif LANES == 8 && defined __AVX2__
#define VEC_OF(part)                                                                               \
    (vec) _mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)part(0)), (__m128i)part(1), 1)
#else
#define VEC_OF(part) (vec) part(0)
#endif

INLINE void store_part(unsigned char *at, part_t part)
{
    memcpy(at, &part, sizeof part);
}

/* A part's halves; the second one is `step` bytes after the first. */
INLINE void store_halves(unsigned char *at, size_t step, part_t part)
{
    if (step == 8) {
        store_part(at, part);
    } else {
        memcpy(at, &part, 8);
        memcpy(at + step, (const char *)&part + 8, 8);
    }
}

INLINE part_t load_halves(const unsigned char *at, size_t step)
{
    uint64_t halves[2];
    memcpy(halves, at, 8);
    memcpy(halves + 1, at + step, 8);
    return (part_t){halves[0], halves[1]};
}

INLINE part_t load_part(const unsigned char *at)
{
    part_t part;
    memcpy(&part, at, sizeof part);
    return part;
}

/* Bytes x .. x + 15 of COLUMNS columns of `column` bytes; eight bytes, of an odd end. */
INLINE void store_16(const vec *e, size_t column, unsigned char *out)
{
    vec r[16];
    EACH(i, 16)
    {
        r[i] = e[i];
    }
    bytes_16(r);
    EACH(i, 16)
    {
        EACH(l, PARTS)
        {
            store_part(out + (i + 16 * l) * column, part_of(r[i], l));
        }
    }
}

INLINE void store_8(const vec *e, size_t column, unsigned char *out)
{
    vec r[8];
    EACH(i, 8)
    {
        r[i] = e[i];
    }
    bytes_8(r);
    EACH(i, 8)
    {
        EACH(l, PARTS)
        {
            store_halves(out + (2 * i + 16 * l) * column, column, part_of(r[i], l));
        }
    }
}

INLINE void load_16(const unsigned char *in, size_t column, vec *e)
{
    vec r[16];
#define PART_AT(l) load_part(in + (i + 16 * (l)) * column)
    EACH(i, 16)
    {
        r[i] = VEC_OF(PART_AT);
    }
#undef PART_AT
    bytes_16(r);
    EACH(i, 16)
    {
        e[i] = r[i];
    }
}

INLINE void load_8(const unsigned char *in, size_t column, vec *e)
{
    vec r[8];
#define PART_AT(l) load_halves(in + (2 * i + 16 * (l)) * column, column)
    EACH(i, 8)
    {
        r[i] = VEC_OF(PART_AT);
    }
#undef PART_AT
    bytes_8_back(r);
    EACH(i, 8)
    {
        e[i] = r[4 * (i % 2) + i / 2];
    }
}

/* COLUMNS columns, of each element bytes first .. first + width - 1: all, or WINDOW of them. */
INLINE void from_block(const unsigned char *in, size_t row, size_t size, size_t first, size_t width,
                       unsigned char *out)
{
    vec e[8 * WINDOW];
    for (size_t b = 0; b < width; b++) {
        vec r[8];
        EACH(k, 8)
        {
            r[k] = *(const vec_anywhere *)(in + (8 * (first + b) + k) * row);
        }
        bits_8(r);
        EACH(k, 8)
        {
            e[k * width + b] = r[k];
        }
    }
    for (size_t x = 0; x < 8 * width; x += 16) {
        unsigned char *to = out + offset(x, size, first, width);
        if (8 * width - x >= 16) {
            store_16(e + x, 8 * size, to);
        } else {
            store_8(e + x, 8 * size, to);
        }
    }
}

INLINE void into_block(const unsigned char *in, size_t row, size_t size, size_t first, size_t width,
                       unsigned char *out)
{
    vec e[8 * WINDOW];
    for (size_t x = 0; x < 8 * width; x += 16) {
        const unsigned char *from = in + offset(x, size, first, width);
        if (8 * width - x >= 16) {
            load_16(from, 8 * size, e + x);
        } else {
            load_8(from, 8 * size, e + x);
        }
    }
    for (size_t b = 0; b < width; b++) {
        vec r[8];
        EACH(k, 8)
        {
            r[k] = e[k * width + b];
        }
        bits_8(r);
        EACH(k, 8)
        {
            *(vec_anywhere *)(out + (8 * (first + b) + k) * row) = r[k];
        }
    }
}

/* All columns, from planes or (is_back) into them, by a size that the compiler may know. */
INLINE void all(const unsigned char *in, size_t count, size_t size, int is_back, unsigned char *out)
{
    const size_t row = count / 8;
    const size_t width = size < WINDOW ? size : WINDOW;
    for (size_t i = 0; i < row; i += COLUMNS) {
        size_t c = i + COLUMNS > row ? row - COLUMNS : i;
        for (size_t b = 0; b < size; b += WINDOW) {
            size_t first = b + width > size ? size - width : b;
            if (is_back) {
                into_block(in + c * 8 * size, row, size, first, width, out + c);
            } else {
                from_block(in + c, row, size, first, width, out + c * 8 * size);
            }
        }
    }
}

INLINE void all_of_size(const unsigned char *in, size_t count, size_t size, int is_back,
                        unsigned char *out)
{
    size == 1   ? all(in, count, 1, is_back, out)
    : size == 2 ? all(in, count, 2, is_back, out)
    : size == 4 ? all(in, count, 4, is_back, out)
    : size == 8 ? all(in, count, 8, is_back, out)
                : all(in, count, size, is_back, out);
}

static void from_bits(const unsigned char *in, size_t count, size_t size, unsigned char *out)
{
    all_of_size(in, count, size, 0, out);
}

static void into_bits(const unsigned char *in, size_t count, size_t size, unsigned char *out)
{
    all_of_size(in, count, size, 1, out);
}

extern const struct transpose_kernels FOR_LEVEL(transpose_kernels);
const struct transpose_kernels FOR_LEVEL(transpose_kernels) = {LEVEL_NAME, COLUMNS, from_bits,
                                                               into_bits};
