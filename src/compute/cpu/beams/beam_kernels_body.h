/* beam_kernels.h for vectors of LANES floats, which are channels. A tile of sums stays in registers
 * while stations go by: each vector of x that is loaded serves all beams, and each weight all
 * spectra of the tile. */
#include "compute/cpu/beams/beam_kernels.h"

#include <string.h>

/* Sums stay in registers only in loops that are unrolled; sanitizers have none to spare. */
#ifdef __SANITIZE_ADDRESS__
#define UNROLLED
#define UNROLLED_ALL
#else
#define UNROLLED _Pragma("GCC unroll 8")
#define UNROLLED_ALL _Pragma("GCC unroll 12")
#endif

/* 2 x 3 x 4 sums, 6 of weights and 2 of x, of 32 registers; 2 x 2 x 2 sums of 16. */
#if LANES == 16
enum { BEAMS = 3, SPECTRA = 4 };
#else
enum { BEAMS = 3, SPECTRA = 2 };
#endif

/* Its sum with a smaller number has this number's whole part in its lowest bits. */
#define ROUND 0x1.8p23f

typedef float lanes_t __attribute__((vector_size(LANES * sizeof(float))));
typedef float lanes_anywhere __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));
typedef uint32_t bits_t __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef int32_t mask_t __attribute__((vector_size(LANES * sizeof(int32_t))));

#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (mask_t){__VA_ARGS__})
#endif
/* Real and imaginary parts of two vectors of pairs; and back, the first and last half. */
#if LANES == 16
#define REAL_PARTS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define IMAGINARY_PARTS 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define FIRST_PAIRS 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define LAST_PAIRS 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define COUNTED 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#elif LANES == 8
#define REAL_PARTS 0, 2, 4, 6, 8, 10, 12, 14
#define IMAGINARY_PARTS 1, 3, 5, 7, 9, 11, 13, 15
#define FIRST_PAIRS 0, 8, 1, 9, 2, 10, 3, 11
#define LAST_PAIRS 4, 12, 5, 13, 6, 14, 7, 15
#define COUNTED 0, 1, 2, 3, 4, 5, 6, 7
#else
#define REAL_PARTS 0, 2, 4, 6
#define IMAGINARY_PARTS 1, 3, 5, 7
#define FIRST_PAIRS 0, 4, 1, 5
#define LAST_PAIRS 2, 6, 3, 7
#define COUNTED 0, 1, 2, 3
#endif

/* Turns at channels k, less whole ones: rounded once, and once more when turns[0] is added. */
static inline lanes_t turns_along(const float *turns, lanes_t k)
{
    lanes_t out = {0};
#if defined __FMA__ || defined __ARM_FEATURE_FMA
    const lanes_t whole = (k * turns[1] + ROUND) - ROUND;
    for (int i = 0; i < LANES; i++) {
        out[i] = __builtin_fmaf(k[i], turns[1], -whole[i]);
    }
#else
    for (int i = 0; i < LANES; i++) {
        const double along = (double)turns[1] * (double)k[i];
        out[i] = (float)(along - ((along + 0x1.8p52) - 0x1.8p52));
    }
#endif
    return out + turns[0];
}

static inline void store(lanes_t re, lanes_t im, float *out)
{
    *(lanes_t *)out = re;
    *(lanes_t *)(out + LANES) = im;
}

static inline void multiply(lanes_t a_re, lanes_t a_im, lanes_t b_re, lanes_t b_im, float *out)
{
    store(a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re, out);
}

/* Polynomials of minimal error over an eighth of a turn: 1e-9. */
static void turn(const struct beam_row *row, const float *turns, uint32_t channel, float *out)
{
    const lanes_t k = (lanes_t){COUNTED} + (float)channel;
    for (size_t i = 0; i < row->count; i++, turns += row->from, out += row->to) {
        const lanes_t r = turns_along(turns, k);
        const lanes_t quarters = r * 4 + ROUND;
        const bits_t q = (bits_t)quarters;
        const lanes_t f = r - (quarters - ROUND) * 0.25f;
        const lanes_t z = f * f;
        const lanes_t sine = f * (z * (z * (z * -75.4f + 81.592514f) - 41.341663f) + 6.2831855f);
        const lanes_t cosine =
            z * (z * (z * (z * 59.928913f - 85.461075f) + 64.939445f) - 19.739208f) + 1;
        /* In odd quarters the two change places. */
        const bits_t change = ((bits_t)sine ^ (bits_t)cosine) & -(q & 1);
        store((lanes_t)(((bits_t)cosine ^ change) ^ (((q + 1) & 2) << 30)),
              (lanes_t)(((bits_t)sine ^ change) ^ ((q & 2) << 30)), out);
    }
}

static void scale(const struct beam_row *row, const float *factors, float *numbers)
{
    const lanes_t zero = {0};
    for (size_t i = 0; i < row->count; i++, factors += row->from, numbers += row->to) {
        multiply(*(const lanes_t *)numbers, *(const lanes_t *)(numbers + LANES), zero + factors[0],
                 zero + factors[1], numbers);
    }
}

static void take(const struct beam_row *row, const float *pairs, size_t channels, const float *by,
                 size_t by_step, float *wrong, float *out)
{
    float part[2 * LANES] = {0};
    lanes_t sum = *(const lanes_t *)wrong;
    for (size_t i = 0; i < row->count; i++, pairs += row->from, out += row->to) {
        const float *from = pairs;
        if (channels < LANES) {
            memcpy(part, pairs, 2 * channels * sizeof *part);
            from = part;
        }
        const lanes_t a = *(const lanes_anywhere *)from;
        const lanes_t b = *(const lanes_anywhere *)(from + LANES);
        const lanes_t re = SHUFFLE(a, b, REAL_PARTS);
        const lanes_t im = SHUFFLE(a, b, IMAGINARY_PARTS);
        /* The difference of an infinity or a NaN and itself is a NaN. */
        sum += (a - a) + (b - b);
        if (by) {
            multiply(re, im, *(const lanes_t *)by, *(const lanes_t *)(by + LANES), out);
            by += by_step;
        } else {
            store(re, im, out);
        }
    }
    *(lanes_t *)wrong = sum;
}

static inline __attribute__((always_inline)) void
sum_tile(const float *weights, const float *x, size_t stations, const int skips, float *out)
{
    lanes_t re[BEAMS][SPECTRA];
    lanes_t im[BEAMS][SPECTRA];
    UNROLLED
    for (int b = 0; b < BEAMS; b++) {
        UNROLLED
        for (int s = 0; s < SPECTRA; s++) {
            re[b][s] = im[b][s] = (lanes_t){0};
        }
    }
    for (size_t k = 0; k < stations; k++) {
        const lanes_t *w = (const lanes_t *)weights + 2 * BEAMS * k;
        const lanes_t *one = (const lanes_t *)x + 2 * SPECTRA * k;
        UNROLLED
        for (int s = 0; s < SPECTRA; s++) {
            UNROLLED
            for (int b = 0; b < BEAMS; b++) {
                const lanes_t w_re = w[2 * b];
                const lanes_t w_im = w[2 * b + 1];
                lanes_t x_re = one[2 * s];
                lanes_t x_im = one[2 * s + 1];
                if (skips) {
                    const mask_t counts = (w_re != 0) | (w_im != 0);
                    x_re = (lanes_t)(counts & (mask_t)x_re);
                    x_im = (lanes_t)(counts & (mask_t)x_im);
                }
                re[b][s] += w_re * x_re;
                im[b][s] += w_re * x_im;
                re[b][s] -= w_im * x_im;
                im[b][s] += w_im * x_re;
            }
        }
    }
    UNROLLED
    for (int b = 0; b < BEAMS; b++) {
        UNROLLED
        for (int s = 0; s < SPECTRA; s++) {
            store(re[b][s], im[b][s], out + 2 * LANES * (b * SPECTRA + s));
        }
    }
}

static void sum(const float *weights, const float *x, size_t stations, float *out)
{
    sum_tile(weights, x, stations, 0, out);
}

static void sum_some(const float *weights, const float *x, size_t stations, float *out)
{
    sum_tile(weights, x, stations, 1, out);
}

static void put(const struct beam_row *row, const float *numbers, size_t channels, float *pairs)
{
    for (size_t i = 0; i < row->count; i++, numbers += row->from, pairs += row->to) {
        const lanes_t re = *(const lanes_t *)numbers;
        const lanes_t im = *(const lanes_t *)(numbers + LANES);
        const lanes_t both[2] = {SHUFFLE(re, im, FIRST_PAIRS), SHUFFLE(re, im, LAST_PAIRS)};
        if (channels < LANES) {
            memcpy(pairs, both, 2 * channels * sizeof *pairs);
        } else {
            memcpy(pairs, both, sizeof both);
        }
    }
}

static float multiply_add(uint64_t rounds)
{
    lanes_t sums[FMA_CHAINS];
    lanes_t sum = {0};
    const lanes_t a = sum + 0.5f;
    const lanes_t b = sum + 1;
    UNROLLED_ALL
    for (int i = 0; i < FMA_CHAINS; i++) {
        sums[i] = sum + (float)i;
    }
    for (uint64_t round = 0; round < rounds; round++) {
        UNROLLED_ALL
        for (int i = 0; i < FMA_CHAINS; i++) {
            sums[i] = sums[i] * a + b;
        }
    }
    UNROLLED_ALL
    for (int i = 0; i < FMA_CHAINS; i++) {
        sum += sums[i];
    }
    return sum[0];
}

extern const struct beam_kernels KERNELS;
const struct beam_kernels KERNELS = {.lanes = LANES,
                                     .beams = BEAMS,
                                     .spectra = SPECTRA,
                                     .turn = turn,
                                     .take = take,
                                     .scale = scale,
                                     .sum = {sum, sum_some},
                                     .multiply_add = multiply_add,
                                     .put = put};
