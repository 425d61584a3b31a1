/* Registers of VECTOR bytes, and of what compilers have no word for: the greater of two numbers,
 * and every second one of two registers. */
#ifndef VOLTMILL_COMPUTE_CPU_BOXCAR_BOXCAR_LANES_H
#define VOLTMILL_COMPUTE_CPU_BOXCAR_BOXCAR_LANES_H

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
#endif

/* The greatest of them. */
static inline float lanes_greatest(lanes_t a)
{
    float most = a[0];
    for (int i = 1; i < LANES; i++) {
        most = a[i] > most ? a[i] : most;
    }
    return most;
}

#endif
