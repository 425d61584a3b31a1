/* Vectors of the CPU's kernels. A file of kernels is compiled once for each instruction set
 * (Makefile): with LANES floats in a register, 16 for AVX-512, 8 for AVX2; otherwise 4, the
 * baseline, SSE2 on x86-64 and NEON on 64-bit ARM. Included by these files alone.
 *
 * Kernels are written in the vector extensions of GCC and Clang. The end of this file has what
 * these lack: fused multiply-adds in a stated order, stores past the caches, fast wider integers.
 */
#ifndef VOLTMILL_BASE_LANES_H
#define VOLTMILL_BASE_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#elif defined __ARM_FEATURE_FMA
#include <arm_neon.h>
#endif

#ifndef LANES
#define LANES 4
#endif

/* FOR_LEVEL(name) is the name of this instruction set's table, and EACH_LANE(f, b) is f(lane, b) of
 * each lane. */
#define FOUR_LANES(f, l, b) f(l, b), f((l) + 1, b), f((l) + 2, b), f((l) + 3, b)
#define EIGHT_LANES(f, l, b) FOUR_LANES(f, l, b), FOUR_LANES(f, (l) + 4, b)
#if LANES == 16
#define LEVEL_NAME "avx512"
#define FOR_LEVEL(name) name##_avx512
#define EACH_LANE(f, b) EIGHT_LANES(f, 0, b), EIGHT_LANES(f, 8, b)
#elif LANES == 8
#define LEVEL_NAME "avx2"
#define FOR_LEVEL(name) name##_avx2
#define EACH_LANE(f, b) EIGHT_LANES(f, 0, b)
#else
#if defined __x86_64__
#define LEVEL_NAME "sse2"
#elif defined __ARM_NEON
#define LEVEL_NAME "neon"
#else
#define LEVEL_NAME "base"
#endif
#define FOR_LEVEL(name) name##_base
#define EACH_LANE(f, b) FOUR_LANES(f, 0, b)
#endif

enum {
    VECTOR = 4 * LANES, /* bytes of a register */
    HAS_32_REGISTERS = LANES == 16 ||
#ifdef __x86_64__
                       0
#else
                       1
#endif
};

#define INLINE static inline __attribute__((always_inline))
/* Sums stay in registers only in loops that are unrolled; sanitizers have none to spare. */
#ifdef __SANITIZE_ADDRESS__
#define UNROLLED
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

typedef float lanes_t __attribute__((vector_size(VECTOR)));
typedef int32_t mask_t __attribute__((vector_size(VECTOR)));
typedef uint16_t lanes16_t __attribute__((vector_size(VECTOR)));
typedef uint32_t lanes32_t __attribute__((vector_size(VECTOR)));
/* Floats at any address of a float, and at any address. */
typedef lanes_t lanes_anywhere __attribute__((aligned(4)));
typedef lanes_t lanes_packed __attribute__((aligned(1), may_alias));

/* SHUFFLE(a, b, n0, n1, ...): returns LANES lanes by their numbers in both registers of 4-byte
 * lanes, which are LANES and more in `b`. SHUFFLE_NUMBERS(): of registers of other lanes, by a
 * vector `type` of as many integers of their size. */
#ifdef __clang__
#define SHUFFLE_NUMBERS(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE_NUMBERS(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif
#define SHUFFLE(a, b, ...) SHUFFLE_NUMBERS(mask_t, a, b, __VA_ARGS__)
/* Number of the lane that SHUFFLE() puts in lane l, for EACH_LANE(). LANE_SECOND: every second one
 * of both registers, from number b on. LANE_IN_TURN: of the first and the second register in turn,
 * from number b / 2 on. LANE_TWICE: each twice, from number b / 2 on. LANE_OF_TWO: number b of each
 * two lanes, twice. LANE_EXCHANGED, b = 1: each two lanes exchanged. */
#define LANE_SECOND(l, b) 2 * (l) + (b)
#define LANE_IN_TURN(l, b) ((b) + (l)) / 2 + (l) % 2 * LANES
#define LANE_TWICE(l, b) ((b) + (l)) / 2
#define LANE_OF_TWO(l, b) (l) / 2 * 2 + (b)
#define LANE_EXCHANGED(l, b) (l) ^ (b)
/* The number of a lane, plus b; 1 and b in turn. */
#define LANE_NUMBER(l, b) (l) + (b)
#define ONE_AND(l, b) (l) % 2 ? (b) : 1

/* Real and imaginary parts of LANES complex numbers. */
struct lanes_pair {
    lanes_t re, im;
};

/* Loads LANES real parts and, after them, LANES imaginary parts: `from` [2][LANES], at a multiple
 * of VECTOR bytes. */
INLINE struct lanes_pair lanes_load_parts(const float *from)
{
    const lanes_t *parts = (const lanes_t *)from;
    return (struct lanes_pair){parts[0], parts[1]};
}

/* Stores LANES real parts and, after them, LANES imaginary parts: `to` [2][LANES], at a multiple
 * of VECTOR bytes. */
INLINE void lanes_store_parts(struct lanes_pair x, float *to)
{
    lanes_t *parts = (lanes_t *)to;
    parts[0] = x.re;
    parts[1] = x.im;
}

/* Splits LANES pairs (re, im) into their parts. `first` and `last` have LANES / 2 pairs each: the
 * first and the last half. */
INLINE struct lanes_pair lanes_split(lanes_t first, lanes_t last)
{
    return (struct lanes_pair){SHUFFLE(first, last, EACH_LANE(LANE_SECOND, 0)),
                               SHUFFLE(first, last, EACH_LANE(LANE_SECOND, 1))};
}

/* Loads LANES pairs (re, im), `from` [LANES][2], from an address that is a multiple of VECTOR
 * bytes. */
INLINE struct lanes_pair lanes_load_pairs(const float *from)
{
    const lanes_t *pairs = (const lanes_t *)from;
    return lanes_split(pairs[0], pairs[1]);
}

/* Asks the second-level cache for LANES pairs, `from` [LANES][2] floats at any address; loads
 * nothing. */
INLINE void lanes_prefetch_pairs(const float *from)
{
    enum { LINE = 16 /* floats */ };
    for (int i = 0; i < 2 * LANES; i += LINE) {
        __builtin_prefetch(from + i, 0, 2);
    }
    __builtin_prefetch(from + 2 * LANES - 1, 0, 2);
}

/* Returns the first LANES / 2 of LANES pairs (re, im): with lanes_last_pairs() the inverse of
 * lanes_split(). */
INLINE lanes_t lanes_first_pairs(struct lanes_pair x)
{
    return SHUFFLE(x.re, x.im, EACH_LANE(LANE_IN_TURN, 0));
}

/* Returns the last LANES / 2 of LANES pairs (re, im). */
INLINE lanes_t lanes_last_pairs(struct lanes_pair x)
{
    return SHUFFLE(x.re, x.im, EACH_LANE(LANE_IN_TURN, LANES));
}

/* Returns LANES / 2 pairs (re, im) as (im, re). */
INLINE lanes_t lanes_exchange(lanes_t x)
{
    return SHUFFLE(x, x, EACH_LANE(LANE_EXCHANGED, 1));
}

/* Returns LANES copies of a number. */
INLINE lanes_t lanes_of(float x)
{
    const lanes_t zero = {0};
    return zero + x;
}

/* Loads LANES floats from any address of a float (a multiple of 4 bytes). */
INLINE lanes_t lanes_load(const float *from)
{
    return *(const lanes_anywhere *)from;
}

/* Stores LANES floats at any address of a float (a multiple of 4 bytes). */
INLINE void lanes_store(float *to, lanes_t x)
{
    *(lanes_anywhere *)to = x;
}

/* Loads the first `count` of LANES pairs (re, im) at any address of a float, `from` [count][2], and
 * zeros for the others, which are not read. `count` >= LANES loads all. */
INLINE struct lanes_pair lanes_load_some_pairs(const float *from, size_t count)
{
    float part[2 * LANES] = {0};
    if (count < LANES) {
        memcpy(part, from, count * 2 * sizeof *from);
        from = part;
    }
    return lanes_split(lanes_load(from), lanes_load(from + LANES));
}

/* Returns `yes` in the lanes in which all bits of `which` are set, and `no` in the lanes in which
 * none is. Each lane of `which` has all bits set or none. */
INLINE lanes_t lanes_choose(mask_t which, lanes_t yes, lanes_t no)
{
    return (lanes_t)(((mask_t)yes & which) | ((mask_t)no & ~which));
}

/* Returns zero in the lanes in which all bits of `dropped` are set, and `x` in the lanes in which
 * none is. Each lane of `dropped` has all bits set or none. */
INLINE lanes_t lanes_drop(lanes_t x, mask_t dropped)
{
    return (lanes_t)((mask_t)x & ~dropped);
}

/* Returns all bits set in each lane that is NaN or infinite, and none in the others. */
INLINE mask_t lanes_odd(lanes_t x)
{
    return ~(x - x == 0);
}

/* Returns the sum of the lanes, each of which is at least 0. */
INLINE uint64_t lanes_count(mask_t found)
{
    uint64_t count = 0;
    for (int i = 0; i < LANES; i++) {
        count += (uint64_t)found[i];
    }
    return count;
}

/* Adds sums[i][lane] to total[i][lane], i < count: both are [count][LANES]. Long sums are made in
 * pieces, which are added in double. */
INLINE void lanes_add_pieces(const lanes_t *sums, int count, double total[][LANES])
{
    for (int i = 0; i < count; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            total[i][lane] += (double)sums[i][lane];
        }
    }
}

/* Rounds total[i][lane] to the floats sums[i][lane], i < count: both are [count][LANES]. */
INLINE void lanes_of_pieces(double total[][LANES], int count, lanes_t *sums)
{
    for (int i = 0; i < count; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            sums[i][lane] = (float)total[i][lane];
        }
    }
}

/* a * b + c in the stated order: fused where the instruction set can, two roundings where it
 * cannot. A sum of two products, left to the compiler, is fused either way: in a loop's vectors and
 * in its last numbers differently, so that a channel would depend on which others are kept. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMAF)
#define MULTIPLY_ADD(a, b, c) __builtin_fmaf(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

/* MULTIPLY_ADD of vectors. Stores past the caches, for numbers that are not read soon: the cache
 * lines that they replace need not be loaded; `to` is a multiple of VECTOR bytes. The larger and
 * the smaller of two numbers; b if either is NaN. Half a register of unsigned integers, from any
 * address, in lanes of twice their size, for which compilers take three times as long. */
#if LANES == 16 && defined __AVX512F__
#define LANES_MULTIPLY_ADD(a, b, c) (lanes_t) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define LANES_STORE_PAST(to, x) _mm512_stream_ps(to, (__m512)(x))
#define LANES_GREATER(a, b) (lanes_t) _mm512_max_ps((__m512)(a), (__m512)(b))
#define LANES_LESSER(a, b) (lanes_t) _mm512_min_ps((__m512)(a), (__m512)(b))
#define LANES_WIDEN_8(from)                                                                        \
    (lanes16_t) _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(from)))
#define LANES_WIDEN_16(from)                                                                       \
    (lanes32_t) _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(from)))
#elif LANES == 8 && defined __AVX2__ && defined __FMA__
#define LANES_MULTIPLY_ADD(a, b, c) (lanes_t) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define LANES_STORE_PAST(to, x) _mm256_stream_ps(to, (__m256)(x))
#define LANES_GREATER(a, b) (lanes_t) _mm256_max_ps((__m256)(a), (__m256)(b))
#define LANES_LESSER(a, b) (lanes_t) _mm256_min_ps((__m256)(a), (__m256)(b))
#define LANES_WIDEN_8(from) (lanes16_t) _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(from)))
#define LANES_WIDEN_16(from)                                                                       \
    (lanes32_t) _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(from)))
#else
#ifdef __ARM_FEATURE_FMA
#define LANES_MULTIPLY_ADD(a, b, c)                                                                \
    (lanes_t) vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b))
#else
#define LANES_MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif
#ifdef __SSE__
#define LANES_STORE_PAST(to, x) _mm_stream_ps(to, (__m128)(x))
#define LANES_GREATER(a, b) (lanes_t) _mm_max_ps((__m128)(a), (__m128)(b))
#define LANES_LESSER(a, b) (lanes_t) _mm_min_ps((__m128)(a), (__m128)(b))
#else
#define LANES_STORE_PAST(to, x) (void)(*(lanes_t *)(to) = (x))
#define LANES_GREATER(a, b) lanes_choose((a) > (b), a, b)
#define LANES_LESSER(a, b) lanes_choose((a) < (b), a, b)
#endif
typedef uint8_t half8_t __attribute__((vector_size(VECTOR / 2), aligned(1), may_alias));
typedef uint16_t half16_t __attribute__((vector_size(VECTOR / 2), aligned(1), may_alias));
#define LANES_WIDEN_8(from) __builtin_convertvector(*(const half8_t *)(from), lanes16_t)
#define LANES_WIDEN_16(from) __builtin_convertvector(*(const half16_t *)(from), lanes32_t)
#endif

/* Returns the products a * b of LANES complex numbers, lane by lane. */
INLINE struct lanes_pair lanes_multiply(struct lanes_pair a, struct lanes_pair b)
{
    return (struct lanes_pair){LANES_MULTIPLY_ADD(a.re, b.re, -(a.im * b.im)),
                               LANES_MULTIPLY_ADD(a.re, b.im, a.im * b.re)};
}

/* Makes the calling thread's stores past the caches (LANES_STORE_PAST()) visible to other threads.
 */
static inline void lanes_settle(void)
{
#ifdef __x86_64__
    _mm_sfence();
#endif
}

/* A register that is used twice is loaded once: compilers like to take it from memory both times,
 * and loads across cache lines are what binds (measured: a quarter of the time of synthesis). */
#ifdef __x86_64__
#define LANES_KEEP(x) __asm__("" : "+v"(x))
#elif defined __aarch64__
#define LANES_KEEP(x) __asm__("" : "+w"(x))
#else
#define LANES_KEEP(x) (void)(x)
#endif

#endif
