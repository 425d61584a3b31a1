/* The kernels of chirp_kernels.h, compiled once for each instruction set (base/lanes.h). */
#include "dsp/chirp_kernels.h"

#include "base/lanes.h"
#include "dsp/phasor.h"

/* ---- Phases ---- */

INLINE double kernels_fraction(struct chirp_pair turns)
{
    const double rest = (turns.hi - phasor_whole(turns.hi)) + turns.lo;
    return rest - phasor_whole(rest);
}

static void kernels_fill(const struct chirp_phases *p, double first, uint32_t count,
                         double (*restrict out)[2])
{
    double turns[CHIRP_PIECE];
    uint64_t linear = p->offset + p->step * (uint64_t)(int64_t)first;
    for (uint32_t i = 0; i < count; i++) {
        /* 53 bits and a sign are 10^-16 turns. */
        turns[i] = 0x1p-64 * (double)(int64_t)linear;
        linear += p->step;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct chirp_pair v =
            chirp_add(p->start_hz, chirp_scale(p->bin_hz, first + (double)i));
        turns[i] += p->sign * kernels_fraction(chirp_quotient(p->dispersion, v));
        turns[i] -= phasor_whole(turns[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        phasor(turns[i], out[i]);
    }
}

/* Where phasor()'s products and sums are fused, as GCC 12 does in pairs, they have the same bits:
 * one factor is 0, 1 or -1. */
static void kernels_roots(uint32_t length, uint32_t first, uint32_t count,
                          double (*restrict out)[2])
{
    const double step = 1.0 / length;
    for (uint32_t j = 0; j < count; j++) {
        phasor(step * (first + j), out[j]);
    }
}

/* ---- There and back ---- */

/* Registers of complex numbers. */
enum { POINTS = VECTOR / 16 };
typedef double points_t __attribute__((vector_size(VECTOR)));
typedef points_t points_anywhere __attribute__((aligned(8), may_alias));
typedef int64_t points_mask_t __attribute__((vector_size(VECTOR)));

#if LANES == 16
#define POINTS_OF(a, b) a, b, (a) + 2, (b) + 2, (a) + 4, (b) + 4, (a) + 6, (b) + 6
#define POINTS_SIGNS(a, b) a, b, a, b, a, b, a, b
#elif LANES == 8
#define POINTS_OF(a, b) a, b, (a) + 2, (b) + 2
#define POINTS_SIGNS(a, b) a, b, a, b
#else
#define POINTS_OF(a, b) a, b
#define POINTS_SIGNS(a, b) a, b
#endif
#define POINTS_SHUFFLE(x, ...) SHUFFLE_NUMBERS(points_mask_t, x, x, __VA_ARGS__)

/* Returns x w, or where `sign` is that of the other part x times w's conjugate. */
INLINE points_t points_multiply(points_t x, points_t w, points_mask_t sign)
{
    const points_t re = POINTS_SHUFFLE(w, POINTS_OF(0, 0));
    const points_t im = POINTS_SHUFFLE(w, POINTS_OF(1, 1));
    const points_t turned = POINTS_SHUFFLE(x, POINTS_OF(1, 0)) * im;
    return x * re + (points_t)((points_mask_t)turned ^ sign);
}

/* Sums become a, differences times roots b. */
INLINE void points_split(const double *root, points_t *a, points_t *b)
{
    const points_mask_t sign = {POINTS_SIGNS(INT64_MIN, 0)};
    const points_t rest = *a - *b;
    *a += *b;
    *b = points_multiply(rest, *(const points_anywhere *)root, sign);
}

/* The other way. */
INLINE void points_join(const double *root, points_t *a, points_t *b)
{
    const points_mask_t sign = {POINTS_SIGNS(0, INT64_MIN)};
    const points_t turned = points_multiply(*b, *(const points_anywhere *)root, sign);
    *b = *a - turned;
    *a += turned;
}

/* Roots of two steps over some neighbouring butterflies: those of the first and of the second half
 * of the longer step's, and the shorter step's. */
struct quarter_roots {
    double (*low)[2], (*high)[2], (*half)[2];
};

/* Two steps over butterflies that lie `count` (a multiple of POINTS) beside each other:
 *
 *   data   [4][quarter][2] of which the first `count` of each quarter   */
INLINE void quarters_step(int is_split, const struct quarter_roots *w, uint32_t quarter,
                          uint32_t count, double (*data)[2])
{
    for (uint32_t j = 0; j < count; j += POINTS) {
        points_t x[4];
        for (uint32_t i = 0; i < 4; i++) {
            x[i] = *(const points_anywhere *)data[i * quarter + j];
        }
        if (is_split) {
            points_split(w->low[j], &x[0], &x[2]);
            points_split(w->high[j], &x[1], &x[3]);
            points_split(w->half[j], &x[0], &x[1]);
            points_split(w->half[j], &x[2], &x[3]);
        } else {
            points_join(w->half[j], &x[0], &x[1]);
            points_join(w->half[j], &x[2], &x[3]);
            points_join(w->low[j], &x[0], &x[2]);
            points_join(w->high[j], &x[1], &x[3]);
        }
        for (uint32_t i = 0; i < 4; i++) {
            *(points_anywhere *)data[i * quarter + j] = x[i];
        }
    }
}

INLINE void quarters_pass(int is_split, uint32_t length, uint32_t first, uint32_t count,
                          double (*roots)[2], double (*data)[2])
{
    const uint32_t quarter = length / 4;
    double made[3][CHIRP_PIECE][2];
    if (length <= CHIRP_ROOTS) {
        const struct quarter_roots w = {roots + 2 * quarter, roots + 3 * quarter, roots + quarter};
        quarters_step(is_split, &w, quarter, quarter, data);
        return;
    }
    for (uint32_t at = first; at < first + count; at += CHIRP_PIECE) {
        kernels_roots(length, at, CHIRP_PIECE, made[0]);
        kernels_roots(length, quarter + at, CHIRP_PIECE, made[1]);
        kernels_roots(length / 2, at, CHIRP_PIECE, made[2]);
        const struct quarter_roots w = {made[0], made[1], made[2]};
        quarters_step(is_split, &w, quarter, CHIRP_PIECE, data + at);
    }
}

static void kernels_split(uint32_t length, uint32_t first, uint32_t count, double (*roots)[2],
                          double (*data)[2])
{
    quarters_pass(1, length, first, count, roots, data);
}

static void kernels_join(uint32_t length, uint32_t first, uint32_t count, double (*roots)[2],
                         double (*data)[2])
{
    quarters_pass(0, length, first, count, roots, data);
}

/* One number. Its product is written with signs that are turned: without, GCC 12 fuses product and
 * sum, whatever -ffp-contract says. */
typedef double point_t __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t point_mask_t __attribute__((vector_size(16)));

INLINE point_t point_multiply(point_t x, const double *w, point_mask_t sign)
{
    const point_t turned = {x[1] * w[1], x[0] * w[1]};
    return x * w[0] + (point_t)((point_mask_t)turned ^ sign);
}

/* Steps over fewer than 16 points, where fewer butterflies than a register has may lie beside each
 * other. */
INLINE void least_split(uint32_t length, double (*roots)[2], double (*data)[2])
{
    const point_mask_t sign = {INT64_MIN, 0};
    for (uint32_t half = length / 2; half > 0; half /= 2) {
        for (uint32_t i = 0; i < length / 2; i++) {
            point_t *low = (point_t *)data[i / half * 2 * half + i % half];
            point_t *high = low + half;
            const point_t rest = *low - *high;
            *low += *high;
            *high = point_multiply(rest, roots[half + i % half], sign);
        }
    }
}

INLINE void least_join(uint32_t length, double (*roots)[2], double (*data)[2])
{
    const point_mask_t sign = {0, INT64_MIN};
    for (uint32_t half = 1; half < length; half *= 2) {
        for (uint32_t i = 0; i < length / 2; i++) {
            point_t *low = (point_t *)data[i / half * 2 * half + i % half];
            point_t *high = low + half;
            const point_t turned = point_multiply(*high, roots[half + i % half], sign);
            *high = *low - turned;
            *low += turned;
        }
    }
}

static void kernels_down(uint32_t length, double (*roots)[2], double (*data)[2])
{
    if (length == 4) {
        least_split(4, roots, data);
    } else if (length < 16) {
        least_split(length, roots, data);
    } else {
        kernels_split(length, 0, length / 4, roots, data);
        for (uint32_t i = 0; i < 4; i++) {
            kernels_down(length / 4, roots, data + i * (length / 4));
        }
    }
}

static void kernels_up(uint32_t length, double (*roots)[2], double (*data)[2])
{
    if (length == 4) {
        least_join(4, roots, data);
    } else if (length < 16) {
        least_join(length, roots, data);
    } else {
        for (uint32_t i = 0; i < 4; i++) {
            kernels_up(length / 4, roots, data + i * (length / 4));
        }
        kernels_join(length, 0, length / 4, roots, data);
    }
}

extern const struct chirp_kernels FOR_LEVEL(chirp_kernels);
const struct chirp_kernels FOR_LEVEL(chirp_kernels) = {kernels_fill, kernels_roots, kernels_down,
                                                       kernels_up,   kernels_split, kernels_join};
