/* Registers of VECTOR bytes, and what compilers have no word for: the greater and the lesser of two
 * numbers, every second one of two registers, and those from the third one of the first on. */
#ifndef VOLTMILL_COMPUTE_BOXCAR_BOXCAR_LANES_H
#define VOLTMILL_COMPUTE_BOXCAR_BOXCAR_LANES_H

#include <stdint.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

typedef float lanes_t __attribute__((vector_size(VECTOR)));
typedef int32_t lanes_mask_t __attribute__((vector_size(VECTOR)));
typedef lanes_t loose_t __attribute__((aligned(4), may_alias));

enum { LANES = VECTOR / 4 };

static inline lanes_t lanes_load(const float *x)
{
    return *(const loose_t *)(const void *)x;
}

static inline void lanes_store(float *x, lanes_t value)
{
    *(loose_t *)(void *)x = value;
}

static inline lanes_t lanes_of(float value)
{
    lanes_t zero = {0};
    return zero + value;
}

#if defined(__x86_64__) && VECTOR == 64
static inline lanes_t lanes_most(lanes_t a, lanes_t b)
{
    return (lanes_t)_mm512_max_ps((__m512)a, (__m512)b);
}

static inline lanes_t lanes_least(lanes_t a, lanes_t b)
{
    return (lanes_t)_mm512_min_ps((__m512)a, (__m512)b);
}

static inline lanes_t lanes_even(lanes_t a, lanes_t b)
{
    const __m512i of = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return (lanes_t)_mm512_permutex2var_ps((__m512)a, of, (__m512)b);
}

static inline lanes_t lanes_third(lanes_t a, lanes_t b)
{
    return (lanes_t)_mm512_alignr_epi32((__m512i)b, (__m512i)a, 2);
}
#elif defined(__x86_64__) && VECTOR == 32
static inline lanes_t lanes_most(lanes_t a, lanes_t b)
{
    return (lanes_t)_mm256_max_ps((__m256)a, (__m256)b);
}

static inline lanes_t lanes_least(lanes_t a, lanes_t b)
{
    return (lanes_t)_mm256_min_ps((__m256)a, (__m256)b);
}

static inline lanes_t lanes_even(lanes_t a, lanes_t b)
{
    __m256 halves = _mm256_shuffle_ps((__m256)a, (__m256)b, 0x88);
    return (lanes_t)_mm256_permute4x64_pd((__m256d)halves, 0xd8);
}

static inline lanes_t lanes_third(lanes_t a, lanes_t b)
{
    __m256i middle = _mm256_permute2x128_si256((__m256i)a, (__m256i)b, 0x21);
    return (lanes_t)_mm256_alignr_epi8(middle, (__m256i)a, 8);
}
#elif defined(__x86_64__)
static inline lanes_t lanes_most(lanes_t a, lanes_t b)
{
    return (lanes_t)_mm_max_ps((__m128)a, (__m128)b);
}

static inline lanes_t lanes_least(lanes_t a, lanes_t b)
{
    return (lanes_t)_mm_min_ps((__m128)a, (__m128)b);
}

static inline lanes_t lanes_even(lanes_t a, lanes_t b)
{
    return (lanes_t)_mm_shuffle_ps((__m128)a, (__m128)b, 0x88);
}

static inline lanes_t lanes_third(lanes_t a, lanes_t b)
{
    return (lanes_t)_mm_shuffle_ps((__m128)a, (__m128)b, 0x4e);
}
#else
static inline lanes_t lanes_most(lanes_t a, lanes_t b)
{
    for (int i = 0; i < LANES; i++) {
        a[i] = a[i] > b[i] ? a[i] : b[i];
    }
    return a;
}

static inline lanes_t lanes_least(lanes_t a, lanes_t b)
{
    for (int i = 0; i < LANES; i++) {
        a[i] = a[i] < b[i] ? a[i] : b[i];
    }
    return a;
}

static inline lanes_t lanes_even(lanes_t a, lanes_t b)
{
    lanes_t even = a;
    for (int i = 0; i < LANES; i++) {
        even[i] = i < LANES / 2 ? a[2 * i] : b[2 * i - LANES];
    }
    return even;
}

static inline lanes_t lanes_third(lanes_t a, lanes_t b)
{
    lanes_t third = a;
    for (int i = 0; i < LANES; i++) {
        third[i] = i + 2 < LANES ? a[i + 2] : b[i + 2 - LANES];
    }
    return third;
}
#endif

/* The same of the lanes of one. */
static inline float lanes_greatest(lanes_t a)
{
    float each[LANES];
    lanes_store(each, a);
    for (int half = LANES / 2; half >= 4; half /= 2) {
        for (int i = 0; i < half; i++) {
            each[i] = each[i] > each[i + half] ? each[i] : each[i + half];
        }
    }
    float low = each[0] > each[1] ? each[0] : each[1];
    float high = each[2] > each[3] ? each[2] : each[3];
    return low > high ? low : high;
}

#endif
