/* Kernels of fine channels: columns of a spectrum's matrix become rows, pieces of rows a spectrum.
 * Part of ppf/kernels.c; not included elsewhere. transpose(), twiddle() and spread() have the
 * contracts of those members of struct cpu_kernels (ppf/kernels.h). */
/* Vectors of pairs, each pair as one element that is only moved. */
enum { PAIRS = LANES / 2 };
typedef double pairs_t __attribute__((vector_size(LANES * sizeof(float))));
typedef int64_t places_t __attribute__((vector_size(LANES * sizeof(float))));
#ifdef __clang__
#define MOVE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define MOVE(a, b, ...) __builtin_shuffle(a, b, (places_t){__VA_ARGS__})
#endif

#if LANES == 16
#define EACH_PAIR(f, b) EIGHT_LANES(f, 0, b)
#elif LANES == 8
#define EACH_PAIR(f, b) FOUR_LANES(f, 0, b)
#else
#define EACH_PAIR(f, b) f(0, b), f(1, b)
#endif

/* In `count` registers, lanes whose number has bit b set change places with those of the register b
 * further that have not. For b of 1, 2, 4, ... the square becomes its transpose. */
#define LOW(count, l, b) ((l) & (b) ? (count) + (l) - (b) : (l))
#define HIGH(count, l, b) ((l) & (b) ? (count) + (l) : (l) + (b))
#define LOW_LANE(l, b) LOW(LANES, l, b)
#define HIGH_LANE(l, b) HIGH(LANES, l, b)
#define LOW_PAIR(l, b) LOW(PAIRS, l, b)
#define HIGH_PAIR(l, b) HIGH(PAIRS, l, b)
#define EXCHANGE(x, count, shuffle, each, low, high, b)                                            \
    _Pragma("GCC unroll 16") for (int i = 0; i < (count); i++)                                     \
    {                                                                                              \
        if ((i & (b)) == 0) {                                                                      \
            __typeof__(*(x)) kept = (x)[i];                                                        \
            (x)[i] = shuffle(kept, (x)[i + (b)], each(low, b));                                    \
            (x)[i + (b)] = shuffle(kept, (x)[i + (b)], each(high, b));                             \
        }                                                                                          \
    }
#define EXCHANGE_LANES(x, b) EXCHANGE(x, LANES, SHUFFLE, EACH_LANE, LOW_LANE, HIGH_LANE, b)
#define EXCHANGE_PAIRS(x, b) EXCHANGE(x, PAIRS, MOVE, EACH_PAIR, LOW_PAIR, HIGH_PAIR, b)

/* Transposes a square of PAIRS x PAIRS pairs in place. */
INLINE void transpose_pairs(pairs_t x[PAIRS])
{
    EXCHANGE_PAIRS(x, 1)
#if LANES > 4
    EXCHANGE_PAIRS(x, 2)
#endif
#if LANES > 8
    EXCHANGE_PAIRS(x, 4)
#endif
}

/* Transposes to[c][r] = from[r][c], pairs; strides in floats, rows and columns multiples of PAIRS.
 */
static void transpose(const float *from, size_t from_stride, size_t rows, size_t columns, float *to,
                      size_t to_stride)
{
    for (size_t r = 0; r < rows; r += PAIRS) {
        for (size_t c = 0; c < columns; c += PAIRS) {
            pairs_t square[PAIRS];
            UNROLLED
            for (size_t i = 0; i < PAIRS; i++) {
                square[i] = *(const pairs_t *)(const void *)(from + (r + i) * from_stride + 2 * c);
            }
            transpose_pairs(square);
            UNROLLED
            for (size_t i = 0; i < PAIRS; i++) {
                *(pairs_t *)(void *)(to + (c + i) * to_stride + 2 * r) = square[i];
            }
        }
    }
}

/* Returns the products of LANES / 2 pairs (re, im), pair by pair. */
static inline lanes_t multiply_pairs(lanes_t x, lanes_t w)
{
    const lanes_t signs = -(lanes_t){EACH_LANE(ONE_AND, -1)};
    lanes_t re = SHUFFLE(w, w, EACH_LANE(LANE_OF_TWO, 0));
    lanes_t im = SHUFFLE(w, w, EACH_LANE(LANE_OF_TWO, 1)) * signs;
    return LANES_MULTIPLY_ADD(x, re, lanes_exchange(x) * im);
}

/* Computes to[k] = from[k] a[k] b[k], `count` pairs; where `past`, past the caches. */
static void twiddle(const float *from, size_t count, const float *a, const float *b, int past,
                    float *to)
{
    for (size_t k = 0; k < 2 * count; k += LANES) {
        lanes_t w = multiply_pairs(*(const lanes_t *)(a + k), *(const lanes_t *)(b + k));
        lanes_t x = multiply_pairs(*(const lanes_t *)(from + k), w);
        if (past) {
            LANES_STORE_PAST(to + k, x);
        } else {
            *(lanes_t *)(to + k) = x;
        }
    }
}

/* Copies `count` pieces of FINE_COLUMNS pairs, side by side, to memory with a stride of `to_stride`
 * floats, past the caches where that is aligned to 64 bytes. */
static void spread(const float *from, size_t count, float *to, size_t to_stride)
{
    const int is_aligned = ((uintptr_t)to | to_stride * sizeof(float)) % 64 == 0;
    for (size_t k = 0; k < count; k++, from += 2 * FINE_COLUMNS, to += to_stride) {
        UNROLLED
        for (size_t i = 0; i < 2 * FINE_COLUMNS; i += LANES) {
            lanes_t x = *(const lanes_t *)(from + i);
            if (is_aligned) {
                LANES_STORE_PAST(to + i, x);
            } else {
                *(lanes_anywhere *)(to + i) = x;
            }
        }
    }
}
