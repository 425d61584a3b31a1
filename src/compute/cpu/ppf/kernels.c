/* The kernels of kernels.h, compiled once for each instruction set (base/lanes.h).
 *
 * Loops of a constant LANES rounds over neighbouring elements are written so that the compiler
 * makes each one vector operation. */
#include "compute/cpu/ppf/kernels.h"
#include "base/lanes.h"

/* Stored numbers have any alignment. */
typedef uint8_t packed_u8 __attribute__((may_alias));
typedef int16_t packed_i16 __attribute__((aligned(1), may_alias));
typedef uint16_t packed_u16 __attribute__((aligned(1), may_alias));
typedef uint32_t packed_u32 __attribute__((aligned(1), may_alias));
typedef uint64_t packed_u64 __attribute__((aligned(1), may_alias));
typedef float packed_float __attribute__((aligned(1), may_alias));

/* One of two polarisations that alternate is the commonest: a constant step makes vectors of it. */
#define DEFINE_GATHER(name, type)                                                                  \
    static void name(const char *at, size_t step, size_t count, size_t out_step, char *out)        \
    {                                                                                              \
        if (step == 2 * sizeof(type) && out_step == sizeof(type)) {                                \
            const type *restrict from = (const type *)at;                                          \
            type *restrict to = (type *)out;                                                       \
            for (size_t i = 0; i < count; i++) {                                                   \
                to[i] = from[2 * i];                                                               \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            *(type *)(out + i * out_step) = *(const type *)(at + i * step);                        \
        }                                                                                          \
    }

DEFINE_GATHER(gather_1, packed_u8)
DEFINE_GATHER(gather_2, packed_u16)
DEFINE_GATHER(gather_4, packed_u32)
DEFINE_GATHER(gather_8, packed_u64)

/* 16 bytes of neighbouring streams at a time: each round interleaves the first half of the vectors
 * with the second, and as many rounds as the logarithm of their number transpose them. */
#define UNWRAP(...) __VA_ARGS__
#define DEFINE_TURN(name, type, first, last)                                                       \
    typedef type name##_t __attribute__((vector_size(16), aligned(1), may_alias));                 \
    static void name(const char *at, size_t step, size_t count, size_t out_step, char *out)        \
    {                                                                                              \
        enum { N = 16 / sizeof(type) };                                                            \
        for (size_t k = 0; k < count; k += N, at += N * step, out += 16) {                         \
            name##_t a[2][N];                                                                      \
            int from = 0;                                                                          \
            for (size_t i = 0; i < N; i++) {                                                       \
                a[0][i] = *(const name##_t *)(at + i * step);                                      \
            }                                                                                      \
            for (size_t n = N; n > 1; n /= 2, from ^= 1) {                                         \
                for (size_t i = 0; i < N / 2; i++) {                                               \
                    name##_t x = a[from][i];                                                       \
                    name##_t y = a[from][i + N / 2];                                               \
                    a[!from][2 * i] = SHUFFLE_NUMBERS(name##_t, x, y, UNWRAP first);               \
                    a[!from][2 * i + 1] = SHUFFLE_NUMBERS(name##_t, x, y, UNWRAP last);            \
                }                                                                                  \
            }                                                                                      \
            for (size_t i = 0; i < N; i++) {                                                       \
                *(name##_t *)(out + i * out_step) = a[from][i];                                    \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_TURN(turn_1, uint8_t, (0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
            (8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
DEFINE_TURN(turn_2, uint16_t, (0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15))
DEFINE_TURN(turn_4, uint32_t, (0, 4, 1, 5), (2, 6, 3, 7))
DEFINE_TURN(turn_8, uint64_t, (0, 2), (1, 3))

static void turn(size_t bytes, const char *at, size_t step, size_t count, size_t out_step,
                 char *out)
{
    (bytes == 1   ? turn_1
     : bytes == 2 ? turn_2
     : bytes == 4 ? turn_4
                  : turn_8)(at, step, count, out_step, out);
}

static void gather(size_t bytes, const char *at, size_t step, size_t count, size_t out_step,
                   char *out)
{
    (bytes == 1   ? gather_1
     : bytes == 2 ? gather_2
     : bytes == 4 ? gather_4
                  : gather_8)(at, step, count, out_step, out);
}

/* Returns the low `bits` bits of a word as a signed number. */
static inline float signed_bits(uint32_t word, int bits)
{
    return (float)((int32_t)(word << (32 - bits)) >> (32 - bits));
}

static inline void split_offset(const packed_u8 *bytes, float *restrict high, float *restrict low)
{
    for (int i = 0; i < LANES; i++) {
        int32_t byte = bytes[i];
        high[i] = (float)((byte >> 4) - 8);
        low[i] = (float)((byte & 15) - 8);
    }
}

static inline void split_twos(const packed_u8 *bytes, float *restrict high, float *restrict low)
{
    for (int i = 0; i < LANES; i++) {
        uint32_t byte = bytes[i];
        high[i] = signed_bits(byte >> 4, 4);
        low[i] = signed_bits(byte, 4);
    }
}

static void unpack_i4_pairs(const void *from, size_t blocks, const struct nibbles *nibbles,
                            float *restrict out)
{
    const packed_u8 *bytes = from;
    int high = nibbles->high_is_real ? 0 : LANES;
    int low = LANES - high;
    for (size_t block = 0; block < blocks; block++, bytes += LANES, out += 2 * LANES) {
        if (nibbles->offset_binary) {
            split_offset(bytes, out + high, out + low);
        } else {
            split_twos(bytes, out + high, out + low);
        }
    }
}

/* The part of a pair of integers that comes first is the low half of the word, or on big-endian
 * machines the high one. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST_HALF(word, bits) signed_bits(word, bits)
#define SECOND_HALF(word, bits) signed_bits((uint32_t)(word) >> (bits), bits)
#else
#define FIRST_HALF(word, bits) signed_bits((uint32_t)(word) >> (bits), bits)
#define SECOND_HALF(word, bits) signed_bits(word, bits)
#endif

static void unpack_i8_pairs(const void *from, size_t blocks, const struct nibbles *nibbles,
                            float *restrict out)
{
    const packed_u16 *words = from;
    (void)nibbles;
    for (size_t block = 0; block < blocks; block++, words += LANES, out += 2 * LANES) {
        for (int i = 0; i < LANES; i++) {
            out[i] = FIRST_HALF(words[i], 8);
            out[LANES + i] = SECOND_HALF(words[i], 8);
        }
    }
}

static void unpack_i16_pairs(const void *from, size_t blocks, const struct nibbles *nibbles,
                             float *restrict out)
{
    const packed_u32 *words = from;
    (void)nibbles;
    for (size_t block = 0; block < blocks; block++, words += LANES, out += 2 * LANES) {
        for (int i = 0; i < LANES; i++) {
            out[i] = FIRST_HALF(words[i], 16);
            out[LANES + i] = SECOND_HALF(words[i], 16);
        }
    }
}

static void unpack_f32_pairs(const void *from, size_t blocks, const struct nibbles *nibbles,
                             float *restrict out)
{
    const packed_float *numbers = from;
    (void)nibbles;
    for (size_t block = 0; block < blocks; block++, numbers += 2 * LANES, out += 2 * LANES) {
        for (int i = 0; i < LANES; i++) {
            out[i] = numbers[2 * i];
            out[LANES + i] = numbers[2 * i + 1];
        }
    }
}

#define DEFINE_UNPACK_REAL(name, type)                                                             \
    static void name(const void *from, size_t blocks, const struct nibbles *nibbles,               \
                     float *restrict out)                                                          \
    {                                                                                              \
        const type *numbers = from;                                                                \
        (void)nibbles;                                                                             \
        for (size_t i = 0; i < blocks * LANES; i++) {                                              \
            out[i] = (float)numbers[i];                                                            \
        }                                                                                          \
    }

typedef int8_t packed_i8 __attribute__((may_alias));
DEFINE_UNPACK_REAL(unpack_i8_real, packed_i8)
DEFINE_UNPACK_REAL(unpack_i16_real, packed_i16)
DEFINE_UNPACK_REAL(unpack_f32_real, packed_float)

/* Whether any of whole blocks may be missing: samples seldom are, and this reads them alone. */
INLINE int may_drop(const struct missing_rule *rule, size_t floats, const float *out)
{
    mask_t any = {0};
    const lanes_t *x = (const lanes_t *)out;
    for (size_t i = 0; i < floats / LANES && rule->finite; i++) {
        any |= (mask_t)(x[i] - x[i]); /* bits of NaN, or of none */
    }
    for (size_t i = 0; i < floats / LANES && rule->value; i++) {
        any |= (x[i] == rule->re) | (x[i] == rule->im);
    }
    int32_t bits = 0;
    for (int i = 0; i < LANES; i++) {
        bits |= any[i];
    }
    return bits != 0;
}

INLINE uint64_t drop(const struct missing_rule *rule, size_t count, float *out, const int parts)
{
    if (!may_drop(rule, (count + LANES - 1) / LANES * LANES * (size_t)parts, out)) {
        return 0;
    }
    mask_t found = {0};
    const mask_t none = {0};
    const mask_t lane = {EACH_LANE(LANE_NUMBER, 0)};
    const mask_t finite = none - rule->finite;
    const mask_t value = none - rule->value;
    for (size_t from = 0; from < count; from += LANES, out += parts * LANES) {
        lanes_t *x = (lanes_t *)out;
        int32_t here = count - from < LANES ? (int32_t)(count - from) : LANES;
        mask_t bad = lanes_odd(x[0]) & finite;
        mask_t is_value = x[0] == rule->re;
        if (parts == 2) {
            mask_t other = x[1] == rule->im;
            bad |= lanes_odd(x[1]) & finite;
            is_value = rule->both ? is_value & other : is_value | other;
        }
        bad |= is_value & value;
        bad &= lane < here;
        x[0] = lanes_drop(x[0], bad);
        if (parts == 2) {
            x[1] = lanes_drop(x[1], bad);
        }
        found -= bad;
    }
    return lanes_count(found);
}

static uint64_t drop_real(const struct missing_rule *rule, size_t count, float *out)
{
    return drop(rule, count, out, 1);
}

static uint64_t drop_pairs(const struct missing_rule *rule, size_t count, float *out)
{
    return drop(rule, count, out, 2);
}

/* Adamek's C_B x S_B blocking: FIR_ROWS spectra of one block of columns are summed in registers, so
 * each coefficient that is loaded serves all of them. `parts` is a constant where this is inlined.
 */
INLINE void sum_taps(const float *window, const struct fir_block *b, const float *coeff,
                     size_t taps, const int parts, lanes_t sum[2 * FIR_ROWS])
{
    size_t stride = b->window_stride / LANES;
    const lanes_t *x = (const lanes_t *)window;
    lanes_t total[2 * FIR_ROWS];
    UNROLLED
    for (int i = 0; i < parts * FIR_ROWS; i++) {
        total[i] = (lanes_t){0};
    }
    for (size_t t = 0; t < taps; t++, x += stride, coeff += b->coeff_stride) {
        lanes_t c = *(const lanes_t *)coeff;
        UNROLLED
        for (int row = 0; row < FIR_ROWS; row++) {
            UNROLLED
            for (int part = 0; part < parts; part++) {
                total[row * parts + part] += x[(size_t)row * stride + (size_t)part] * c;
            }
        }
    }
    UNROLLED
    for (int i = 0; i < parts * FIR_ROWS; i++) {
        sum[i] = total[i];
    }
}

/* Spectra whose sums wait for their next piece. */
enum { PIECE_ROWS = 16 };

/* The same for more than FIR_PIECE taps and up to PIECE_ROWS spectra, piece by piece: so that what
 * a piece reads stays in the first-level cache, however many there are. */
static void sum_pieces(const float *window, const struct fir_block *b, const float *coeff,
                       size_t rows, const int parts, double total[2 * PIECE_ROWS][LANES])
{
    memset(total, 0, rows * (size_t)parts * sizeof *total);
    for (size_t t = 0; t < b->taps; t += FIR_PIECE) {
        size_t count = b->taps - t < FIR_PIECE ? b->taps - t : FIR_PIECE;
        const float *c = coeff + t * b->coeff_stride;
        for (size_t s = 0; s < rows; s += FIR_ROWS) {
            const float *x = window + (t + s) * b->window_stride;
            lanes_t sum[2 * FIR_ROWS];
            if (parts == 2) {
                sum_taps(x, b, c, count, 2, sum);
            } else {
                sum_taps(x, b, c, count, 1, sum);
            }
            lanes_add_pieces(sum, parts * FIR_ROWS, total + s * (size_t)parts);
        }
    }
}

/* Stores LANES real and LANES imaginary parts as LANES pairs. */
static inline void store_pairs(lanes_t re, lanes_t im, float sign, float *out)
{
    const struct lanes_pair x = {re, im * sign};
    *(lanes_t *)out = lanes_first_pairs(x);
    *(lanes_t *)(out + LANES) = lanes_last_pairs(x);
}

/* Prefetches columns for writing, by cache lines of 16 floats. */
static inline void touch_columns(const struct fir_block *b, size_t column, size_t count)
{
    for (size_t row = 0; row < b->rows; row++) {
        for (size_t i = 0; i < count; i += 16) {
            __builtin_prefetch(b->touch + row * b->touch_stride + column + i, 1, 2);
        }
    }
}

INLINE void fir(const struct fir_block *b, const int parts)
{
    const float sign = b->conjugate ? -1.0F : 1.0F;
    const size_t width = LANES * (size_t)parts;
    double total[2 * PIECE_ROWS][LANES];
    for (size_t block = 0; block < b->blocks; block++) {
        const float *coeff = b->coeff + block * LANES;
        if (b->touch) {
            touch_columns(b, block * width, width);
        }
        for (size_t s = 0; s < b->rows; s += FIR_ROWS) {
            const float *window = b->window + s * b->window_stride + block * width;
            float *out = b->out + s * b->out_stride + block * width;
            lanes_t sum[2 * FIR_ROWS];
            if (b->taps <= FIR_PIECE) {
                sum_taps(window, b, coeff, b->taps, parts, sum);
            } else {
                const size_t left = b->rows - s;
                const size_t from = s % PIECE_ROWS * (size_t)parts;
                if (from == 0) {
                    sum_pieces(window, b, coeff, left < PIECE_ROWS ? left : PIECE_ROWS, parts,
                               total);
                }
                lanes_of_pieces(total + from, parts * FIR_ROWS, sum);
            }
            for (size_t row = 0; row < FIR_ROWS; row++, out += b->out_stride) {
                if (parts == 2) {
                    store_pairs(sum[2 * row], sum[2 * row + 1], sign, out);
                } else {
                    memcpy(out, &sum[row], sizeof sum[row]);
                }
            }
        }
    }
}

static void fir_real(const struct fir_block *block)
{
    fir(block, 1);
}

static void fir_pairs(const struct fir_block *block)
{
    fir(block, 2);
}

#include "compute/cpu/ppf/kernels_hop.h"

static inline float power_of(const float *bin)
{
    return MULTIPLY_ADD(bin[0], bin[0], bin[1] * bin[1]);
}

static void power(const float *restrict bins, size_t count, int add, float *restrict out)
{
    if (add) {
        for (size_t k = 0; k < count; k++) {
            out[k] += power_of(bins + 2 * k);
        }
    } else {
        for (size_t k = 0; k < count; k++) {
            out[k] = power_of(bins + 2 * k);
        }
    }
}

INLINE void square_sums(const float *restrict bins, size_t count, const int add,
                        float *restrict out)
{
    for (size_t k = 0; k < count; k++) {
        float one = power_of(bins + 2 * k);
        out[k] = add ? MULTIPLY_ADD(one, one, out[k]) : one * one;
    }
}

static void squares(const float *restrict bins, size_t count, int add, float *restrict out)
{
    if (add) {
        square_sums(bins, count, 1, out);
    } else {
        square_sums(bins, count, 0, out);
    }
}

INLINE void cross_sums(const float *restrict a, const float *restrict b, size_t count,
                       const int add, float *restrict re, float *restrict im)
{
    for (size_t k = 0; k < count; k++) {
        float x = MULTIPLY_ADD(a[2 * k], b[2 * k], a[2 * k + 1] * b[2 * k + 1]);
        float y = MULTIPLY_ADD(a[2 * k + 1], b[2 * k], -(a[2 * k] * b[2 * k + 1]));
        re[k] = add ? re[k] + x : x;
        im[k] = add ? im[k] + y : y;
    }
}

static void cross(const float *restrict a, const float *restrict b, size_t count, int add,
                  float *restrict re, float *restrict im)
{
    if (add) {
        cross_sums(a, b, count, 1, re, im);
    } else {
        cross_sums(a, b, count, 0, re, im);
    }
}

#include "compute/cpu/fine_kernels_body.h"
#include "compute/cpu/side_kernels_body.h"

extern const struct cpu_kernels FOR_LEVEL(cpu_kernels);
const struct cpu_kernels FOR_LEVEL(cpu_kernels) = {.name = LEVEL_NAME,
                                                   .lanes = LANES,
                                                   .unpack = {{NULL, unpack_i4_pairs},
                                                              {unpack_i8_real, unpack_i8_pairs},
                                                              {unpack_i16_real, unpack_i16_pairs},
                                                              {unpack_f32_real, unpack_f32_pairs}},
                                                   .gather = gather,
                                                   .turn = turn,
                                                   .drop = {drop_real, drop_pairs},
                                                   .fir = {fir_real, fir_pairs},
                                                   .hops = {hops_real, hops_pairs},
                                                   .power = power,
                                                   .squares = squares,
                                                   .cross = cross,
                                                   .transpose = transpose,
                                                   .twiddle = twiddle,
                                                   .spread = spread,
                                                   .side_columns = side_columns,
                                                   .side_rows = side_rows,
                                                   .settle = lanes_settle};
