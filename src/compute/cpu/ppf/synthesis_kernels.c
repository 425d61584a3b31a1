/* The kernels of synthesis_kernels.h, compiled once for each instruction set (base/lanes.h).
 *
 * Vectors of rows stay in registers while spectra go by; each number of g that is loaded serves
 * both parts of a pair. All of them are loaded at any address. */
#include "compute/cpu/ppf/synthesis_kernels.h"
#include "base/lanes.h"

enum { MOST_SUMS = 8 /* vectors that are under way: they hide the time of an addition */ };

/* `vectors` vectors of rows from row i on; `parts` and `vectors` are constants where this is
 * inlined. */
INLINE void sum_spectra(const struct synthesis_sums *s, size_t i, const size_t parts,
                        const size_t vectors, lanes_t sum[MOST_SUMS])
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
                LANES_KEEP(c);
                if (parts == 1) {
                    total[v] += u[v] * c;
                } else {
                    total[v] += u[v] * SHUFFLE(c, c, EACH_LANE(LANE_TWICE, 0));
                    total[v + 1] += u[v + 1] * SHUFFLE(c, c, EACH_LANE(LANE_TWICE, LANES));
                }
            }
        }
        UNROLLED
        for (size_t v = 0; v < vectors; v++) {
            sum[v] += total[v];
        }
    }
}

INLINE void sum_rows(const struct synthesis_sums *s, const size_t parts)
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

extern const struct synthesis_kernels FOR_LEVEL(synthesis_kernels);
const struct synthesis_kernels FOR_LEVEL(synthesis_kernels) = {.sum = {sum_numbers, sum_pairs}};
