/* Kernels of fine channels: columns of a spectrum's matrix become rows, pieces of rows a spectrum.
 * Part of ppf/kernels_body.h; not included elsewhere. */
#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Pairs as one thing that is only moved. */
enum { PAIRS = LANES / 2 };
typedef double pairs_t __attribute__((vector_size(LANES * sizeof(float))));
typedef int64_t places_t __attribute__((vector_size(LANES * sizeof(float))));
typedef float lanes_anywhere __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

/* Stores past the caches: the numbers are not read soon, and the cache lines that they replace need
 * not be loaded. */
static inline void store_past(float *out, lanes_t x)
{
#if LANES == 16 && defined(__AVX512F__)
    _mm512_stream_ps(out, (__m512)x);
#elif LANES == 8 && defined(__AVX__)
    _mm256_stream_ps(out, (__m256)x);
#elif defined(__SSE__)
    _mm_stream_ps(out, (__m128)x);
#else
    *(lanes_t *)out = x;
#endif
}

static void settle(void)
{
#ifdef __x86_64__
    _mm_sfence();
#endif
}

#ifdef __clang__
#define MOVE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define MOVE(a, b, ...) __builtin_shuffle(a, b, (places_t){__VA_ARGS__})
#endif

/* A square of PAIRS x PAIRS pairs becomes its transpose: neighbours, then twos, then fours are
 * exchanged. */
static inline __attribute__((always_inline)) void transpose_pairs(pairs_t x[PAIRS])
{
#if LANES == 16
    pairs_t y[PAIRS];
#pragma GCC unroll 4
    for (int i = 0; i < PAIRS; i += 2) {
        y[i] = MOVE(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        y[i + 1] = MOVE(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
#pragma GCC unroll 4
    for (int i = 0; i < PAIRS; i += i % 4 == 1 ? 3 : 1) {
        x[i] = MOVE(y[i], y[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        x[i + 2] = MOVE(y[i], y[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 4
    for (int i = 0; i < PAIRS / 2; i++) {
        y[i] = MOVE(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        y[i + 4] = MOVE(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#pragma GCC unroll 8
    for (int i = 0; i < PAIRS; i++) {
        x[i] = y[i];
    }
#elif LANES == 8
    pairs_t y[PAIRS];
#pragma GCC unroll 2
    for (int i = 0; i < PAIRS; i += 2) {
        y[i] = MOVE(x[i], x[i + 1], 0, 4, 2, 6);
        y[i + 1] = MOVE(x[i], x[i + 1], 1, 5, 3, 7);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        x[i] = MOVE(y[i], y[i + 2], 0, 1, 4, 5);
        x[i + 2] = MOVE(y[i], y[i + 2], 2, 3, 6, 7);
    }
#else
    pairs_t first = MOVE(x[0], x[1], 0, 2);
    x[1] = MOVE(x[0], x[1], 1, 3);
    x[0] = first;
#endif
}

#if LANES == 16
#define REAL_PARTS 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14
#define IMAGINARY_PARTS 1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15
#define EXCHANGED 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#define SIGNS -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1
#elif LANES == 8
#define REAL_PARTS 0, 0, 2, 2, 4, 4, 6, 6
#define IMAGINARY_PARTS 1, 1, 3, 3, 5, 5, 7, 7
#define EXCHANGED 1, 0, 3, 2, 5, 4, 7, 6
#define SIGNS -1, 1, -1, 1, -1, 1, -1, 1
#else
#define REAL_PARTS 0, 0, 2, 2
#define IMAGINARY_PARTS 1, 1, 3, 3
#define EXCHANGED 1, 0, 3, 2
#define SIGNS -1, 1, -1, 1
#endif

static void transpose(const float *from, size_t from_stride, size_t rows, size_t columns, float *to,
                      size_t to_stride)
{
    for (size_t r = 0; r < rows; r += PAIRS) {
        for (size_t c = 0; c < columns; c += PAIRS) {
            pairs_t square[PAIRS];
#pragma GCC unroll 8
            for (size_t i = 0; i < PAIRS; i++) {
                square[i] = *(const pairs_t *)(const void *)(from + (r + i) * from_stride + 2 * c);
            }
            transpose_pairs(square);
#pragma GCC unroll 8
            for (size_t i = 0; i < PAIRS; i++) {
                *(pairs_t *)(void *)(to + (c + i) * to_stride + 2 * r) = square[i];
            }
        }
    }
}

/* Products of pairs. */
static inline lanes_t multiply_pairs(lanes_t x, lanes_t w)
{
    const lanes_t signs = {SIGNS};
    lanes_t re = SHUFFLE(w, w, REAL_PARTS);
    lanes_t im = SHUFFLE(w, w, IMAGINARY_PARTS) * signs;
    return x * re + SHUFFLE(x, x, EXCHANGED) * im;
}

static void twiddle(const float *from, size_t count, const float *a, const float *b, int past,
                    float *to)
{
    for (size_t k = 0; k < 2 * count; k += LANES) {
        lanes_t w = multiply_pairs(*(const lanes_t *)(a + k), *(const lanes_t *)(b + k));
        lanes_t x = multiply_pairs(*(const lanes_t *)(from + k), w);
        if (past) {
            store_past(to + k, x);
        } else {
            *(lanes_t *)(to + k) = x;
        }
    }
}

static void spread(const float *from, size_t count, float *to, size_t to_stride)
{
    const int is_aligned = ((uintptr_t)to | to_stride * sizeof(float)) % 64 == 0;
    for (size_t k = 0; k < count; k++, from += 2 * FINE_COLUMNS, to += to_stride) {
#pragma GCC unroll 8
        for (size_t i = 0; i < 2 * FINE_COLUMNS; i += LANES) {
            lanes_t x = *(const lanes_t *)(from + i);
            if (is_aligned) {
                store_past(to + i, x);
            } else {
                *(lanes_anywhere *)(to + i) = x;
            }
        }
    }
}
