/* The kernels of beam_kernels.h, compiled once for each instruction set (base/lanes.h). A tile of
 * sums stays in registers while stations go by: each vector of x that is loaded serves all beams,
 * and each weight all spectra of the tile. */
#include "compute/cpu/arrays/beam_kernels.h"
#include "base/lanes.h"

/* 2 x 4 x 2 sums, 8 of weights and 2 of x, of 32 registers; 2 x 3 x 2 sums of 16. */
enum { BEAMS = HAS_32_REGISTERS ? 4 : 3, SPECTRA = 2 };

/* Their sums with a smaller number have its whole part, or its quarters, in the lowest bits. */
#define ROUND 0x1.8p23f
#define ROUND_QUARTERS 0x1.8p21f
#define SIGN (UINT32_C(1) << 31)

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

/* Polynomials of minimal error over an eighth of a turn: 1e-9. */
static void turn(const struct beam_row *row, const float *turns, uint32_t channel, float *out)
{
    const lanes_t k = (lanes_t){EACH_LANE(LANE_NUMBER, 0)} + (float)channel;
    for (size_t i = 0; i < row->count; i++, turns += row->from, out += row->to) {
        const lanes_t r = turns_along(turns, k);
        const lanes_t quarters = r + ROUND_QUARTERS;
        const lanes32_t q = (lanes32_t)quarters;
        const lanes_t f = r - (quarters - ROUND_QUARTERS);
        const lanes_t z = f * f;
        const lanes_t sine = f * (z * (z * (z * -75.4f + 81.592514f) - 41.341663f) + 6.2831855f);
        const lanes_t cosine =
            z * (z * (z * (z * 59.928913f - 85.461075f) + 64.939445f) - 19.739208f) + 1;
        /* In odd quarters the two change places. */
        const lanes32_t odd = q << 31;
        const lanes32_t half = q << 30;
        const lanes32_t change =
            ((lanes32_t)sine ^ (lanes32_t)cosine) & (lanes32_t)((mask_t)odd >> 31);
        lanes_store_parts(
            (struct lanes_pair){(lanes_t)(((lanes32_t)cosine ^ change) ^ ((odd ^ half) & SIGN)),
                                (lanes_t)(((lanes32_t)sine ^ change) ^ (half & SIGN))},
            out);
    }
}

static void scale(const struct beam_row *row, const float *factors, float *numbers)
{
    for (size_t i = 0; i < row->count; i++, factors += row->from, numbers += row->to) {
        const struct lanes_pair by = {lanes_of(factors[0]), lanes_of(factors[1])};
        lanes_store_parts(lanes_multiply(lanes_load_parts(numbers), by), numbers);
    }
}

static void take(const struct beam_row *row, const float *pairs, size_t channels, const float *by,
                 size_t by_step, float *wrong, float *out)
{
    lanes_t sum = *(const lanes_t *)wrong;
    for (size_t i = 0; i < row->count; i++, pairs += row->from, out += row->to) {
        struct lanes_pair x = lanes_load_some_pairs(pairs, channels);
        lanes_prefetch_pairs(pairs + 2 * LANES);
        /* The difference of an infinity or a NaN and itself is a NaN. */
        sum += (x.re - x.re) + (x.im - x.im);
        if (by) {
            x = lanes_multiply(x, lanes_load_parts(by));
            by += by_step;
        }
        lanes_store_parts(x, out);
    }
    *(lanes_t *)wrong = sum;
}

/* Stores past the caches: a block of beams is larger, and is not read back at once. Half a cache
 * line would go to memory by itself. */
INLINE void put(struct lanes_pair x, float *pairs)
{
    enum { LINE = 64 /* bytes */ };
    if (2 * VECTOR >= LINE) {
        LANES_STORE_PAST(pairs, lanes_first_pairs(x));
        LANES_STORE_PAST(pairs + LANES, lanes_last_pairs(x));
    } else {
        lanes_store_parts((struct lanes_pair){lanes_first_pairs(x), lanes_last_pairs(x)}, pairs);
    }
}

/* Puts a part of a tile, or one that is not aligned. */
static void put_some(const float *sums, const struct beam_place *to)
{
    for (size_t i = 0; i < to->beams * to->spectra; i++) {
        const size_t b = i / to->spectra;
        const size_t s = i % to->spectra;
        const struct lanes_pair x = lanes_load_parts(sums + 2 * LANES * (b * SPECTRA + s));
        float *pairs = to->pairs + b * to->beam + s * to->spectrum;
        if (to->channels == LANES && (uintptr_t)pairs % VECTOR == 0) {
            put(x, pairs);
        } else {
            const lanes_t both[2] = {lanes_first_pairs(x), lanes_last_pairs(x)};
            memcpy(pairs, both, 2 * to->channels * sizeof *pairs);
        }
    }
}

INLINE void sum_tile(const float *weights, const float *x, size_t stations, const int skips,
                     const struct beam_place *to)
{
    lanes_t re[BEAMS][SPECTRA] = {{{0}}};
    lanes_t im[BEAMS][SPECTRA] = {{{0}}};
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
    const size_t steps = (uintptr_t)to->pairs / sizeof(float) | to->beam | to->spectrum;
    const int is_whole =
        to->beams == BEAMS && to->spectra == SPECTRA && to->channels == LANES && steps % LANES == 0;
    float sums[2 * LANES * BEAMS * SPECTRA] __attribute__((aligned(VECTOR)));
    UNROLLED
    for (size_t b = 0; b < BEAMS; b++) {
        UNROLLED
        for (size_t s = 0; s < SPECTRA; s++) {
            const struct lanes_pair sum = {re[b][s], im[b][s]};
            if (is_whole) {
                put(sum, to->pairs + b * to->beam + s * to->spectrum);
            } else {
                lanes_store_parts(sum, sums + 2 * LANES * (b * SPECTRA + s));
            }
        }
    }
    if (!is_whole) {
        put_some(sums, to);
    }
}

static void sum(const float *weights, const float *x, size_t stations, const struct beam_place *to)
{
    sum_tile(weights, x, stations, 0, to);
}

static void sum_some(const float *weights, const float *x, size_t stations,
                     const struct beam_place *to)
{
    sum_tile(weights, x, stations, 1, to);
}

static float multiply_add(uint64_t rounds)
{
    lanes_t sums[FMA_CHAINS];
    lanes_t sum = {0};
    const lanes_t a = lanes_of(0.5f);
    const lanes_t b = lanes_of(1);
    UNROLLED
    for (int i = 0; i < FMA_CHAINS; i++) {
        sums[i] = sum + (float)i;
    }
    for (uint64_t round = 0; round < rounds; round++) {
        UNROLLED
        for (int i = 0; i < FMA_CHAINS; i++) {
            sums[i] = sums[i] * a + b;
        }
    }
    UNROLLED
    for (int i = 0; i < FMA_CHAINS; i++) {
        sum += sums[i];
    }
    return sum[0];
}

extern const struct beam_kernels FOR_LEVEL(beam_kernels);
const struct beam_kernels FOR_LEVEL(beam_kernels) = {.lanes = LANES,
                                                     .beams = BEAMS,
                                                     .spectra = SPECTRA,
                                                     .turn = turn,
                                                     .take = take,
                                                     .scale = scale,
                                                     .sum = {sum, sum_some},
                                                     .multiply_add = multiply_add};
