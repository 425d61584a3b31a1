/* The kernels of synthesis_kernels.h for one instruction set. Included by one source file for each,
 * which defines KERNELS (the name of the table) and LANES, and is compiled with that set's flags.
 *
 * Vectors of rows stay in registers while spectra go by; each number of g that is loaded serves
 * both parts of a pair. All of them are loaded at any address. */
#include "compute/cpu/synthesis/synthesis_kernels.h"

#include <string.h>

/* Sums stay in registers only in loops that are unrolled; sanitizers have none to spare, and say
 * so. */
#ifdef __SANITIZE_ADDRESS__
#define UNROLLED
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif

typedef float lanes_t __attribute__((vector_size(LANES * sizeof(float))));
typedef float lanes_anywhere __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));
typedef int32_t mask_t __attribute__((vector_size(LANES * sizeof(int32_t))));

#ifdef __clang__
#define SHUFFLE(a, ...) __builtin_shufflevector(a, a, __VA_ARGS__)
#else
#define SHUFFLE(a, ...) __builtin_shuffle(a, (mask_t){__VA_ARGS__})
#endif
/* Each of the first, and of the last half, twice. */
#if LANES == 16
#define FIRST_TWICE 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7
#define LAST_TWICE 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15
#elif LANES == 8
#define FIRST_TWICE 0, 0, 1, 1, 2, 2, 3, 3
#define LAST_TWICE 4, 4, 5, 5, 6, 6, 7, 7
#else
#define FIRST_TWICE 0, 0, 1, 1
#define LAST_TWICE 2, 2, 3, 3
#endif

/* One load serves both halves: compilers would load twice, each time across two lines of the cache
 * (measured: a quarter of the sums' time). */
#ifdef __x86_64__
#define KEEP(vector) __asm__("" : "+v"(vector))
#else
#define KEEP(vector) (void)0
#endif

enum { MOST_SUMS = 8 /* vectors that are under way: they hide the time of an addition */ };

/* `vectors` vectors of rows from row i on; `parts` and `vectors` are constants where this is
 * inlined. */
static inline __attribute__((always_inline)) void sum_spectra(const struct synthesis_sums *s,
                                                              size_t i, const size_t parts,
                                                              const size_t vectors,
                                                              lanes_t sum[MOST_SUMS])
{
    const float *coeff = s->coeff + i;
    const size_t column = (s->column + i) * parts;
    UNROLLED
    for (size_t v = 0; v < vectors; v++) {
        sum[v] = (lanes_t){0};
    }
    for (size_t from = 0; from < s->spectra; from += SYNTHESIS_PIECE) {
        const size_t left = s->spectra - from;
        const size_t end = from + (left < SYNTHESIS_PIECE ? left : SYNTHESIS_PIECE);
        lanes_t total[MOST_SUMS];
        UNROLLED
        for (size_t v = 0; v < vectors; v++) {
            total[v] = (lanes_t){0};
        }
        for (size_t k = from; k < end; k++, coeff -= s->hop) {
            const lanes_anywhere *u = (const lanes_anywhere *)(s->rows[k] + column);
            const lanes_anywhere *g = (const lanes_anywhere *)coeff;
            UNROLLED
            for (size_t v = 0; v < vectors; v += parts) {
                lanes_t c = g[v / parts];
                KEEP(c);
                if (parts == 1) {
                    total[v] += u[v] * c;
                } else {
                    total[v] += u[v] * SHUFFLE(c, FIRST_TWICE);
                    total[v + 1] += u[v + 1] * SHUFFLE(c, LAST_TWICE);
                }
            }
        }
        UNROLLED
        for (size_t v = 0; v < vectors; v++) {
            sum[v] += total[v];
        }
    }
}

static inline __attribute__((always_inline)) void sum_rows(const struct synthesis_sums *s,
                                                           const size_t parts)
{
    enum { WIDE = MOST_SUMS * LANES };
    lanes_t sum[MOST_SUMS];
    size_t i = 0;
    for (; (s->count - i) * parts >= WIDE; i += WIDE / parts) {
        lanes_anywhere *out = (lanes_anywhere *)(s->out + i * parts);
        sum_spectra(s, i, parts, MOST_SUMS, sum);
        UNROLLED
        for (size_t v = 0; v < MOST_SUMS; v++) {
            out[v] = sum[v];
        }
    }
    /* LANES rows at a time, the last of them in part. */
    for (; i < s->count; i += LANES) {
        const size_t rows = s->count - i < LANES ? s->count - i : LANES;
        sum_spectra(s, i, parts, parts, sum);
        memcpy(s->out + i * parts, sum, rows * parts * sizeof(float));
    }
}

static void sum_numbers(const struct synthesis_sums *s)
{
    sum_rows(s, 1);
}

static void sum_pairs(const struct synthesis_sums *s)
{
    sum_rows(s, 2);
}

extern const struct synthesis_kernels KERNELS;
const struct synthesis_kernels KERNELS = {.sum = {sum_numbers, sum_pairs}};
