/* Transforms of columns side by side (fine_fft.h), LANES at a time: of a fine spectrum's columns,
 * which are multiplied and transposed on output, and of the rows that become its bins. Part of
 * ppf/kernels_body.h; not included elsewhere.
 *
 * Real and imaginary parts are vectors of their own, so a rotation by a quarter turn only exchanges
 * names. A factor that all columns share costs two multiplications and two fused ones. Eight
 * numbers are sixteen registers, half of what AVX-512 has. */
#include "compute/cpu/fft/fine_fft.h"

#define SIDE_INLINE static inline __attribute__((always_inline))

/* Numbers of LANES columns. */
struct side {
    lanes_t re, im;
};

#if LANES == 16
#define EVEN_LANES 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_LANES 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LANES_BY(f, b)                                                                             \
    f(0, b), f(1, b), f(2, b), f(3, b), f(4, b), f(5, b), f(6, b), f(7, b), f(8, b), f(9, b),      \
        f(10, b), f(11, b), f(12, b), f(13, b), f(14, b), f(15, b)
#elif LANES == 8
#define EVEN_LANES 0, 2, 4, 6, 8, 10, 12, 14
#define ODD_LANES 1, 3, 5, 7, 9, 11, 13, 15
#define LANES_BY(f, b) f(0, b), f(1, b), f(2, b), f(3, b), f(4, b), f(5, b), f(6, b), f(7, b)
#else
#define EVEN_LANES 0, 2, 4, 6
#define ODD_LANES 1, 3, 5, 7
#define LANES_BY(f, b) f(0, b), f(1, b), f(2, b), f(3, b)
#endif

/* Lanes whose number has bit b set change places with those of the row b further that have not. */
#define LOW_LANE(l, b) ((l) & (b) ? LANES + (l) - (b) : (l))
#define HIGH_LANE(l, b) ((l) & (b) ? LANES + (l) : (l) + (b))
#define EXCHANGE_LANES(x, b)                                                                       \
    _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++)                                       \
    {                                                                                              \
        if ((i & (b)) == 0) {                                                                      \
            lanes_t low = SHUFFLE((x)[i], (x)[i + (b)], LANES_BY(LOW_LANE, b));                    \
            (x)[i + (b)] = SHUFFLE((x)[i], (x)[i + (b)], LANES_BY(HIGH_LANE, b));                  \
            (x)[i] = low;                                                                          \
        }                                                                                          \
    }

SIDE_INLINE void side_transpose(lanes_t x[2 * LANES])
{
    EXCHANGE_LANES(x, 1)
    EXCHANGE_LANES(x, 2)
#if LANES > 4
    EXCHANGE_LANES(x, 4)
#endif
#if LANES > 8
    EXCHANGE_LANES(x, 8)
#endif
}

SIDE_INLINE struct side side_load_pairs(const float *from)
{
    const lanes_t *pairs = (const lanes_t *)from;
    return (struct side){SHUFFLE(pairs[0], pairs[1], EVEN_LANES),
                         SHUFFLE(pairs[0], pairs[1], ODD_LANES)};
}

SIDE_INLINE struct side side_load(const float *from)
{
    const lanes_t *parts = (const lanes_t *)from;
    return (struct side){parts[0], parts[1]};
}

SIDE_INLINE void side_store(struct side x, float *to)
{
    lanes_t *parts = (lanes_t *)to;
    parts[0] = x.re;
    parts[1] = x.im;
}

SIDE_INLINE struct side side_multiply(struct side x, lanes_t re, lanes_t im)
{
    return (struct side){x.re * re - x.im * im, x.re * im + x.im * re};
}

SIDE_INLINE struct side side_add(struct side a, struct side b)
{
    return (struct side){a.re + b.re, a.im + b.im};
}

SIDE_INLINE struct side side_subtract(struct side a, struct side b)
{
    return (struct side){a.re - b.re, a.im - b.im};
}

/* a - i b, a + i b */
SIDE_INLINE struct side side_turn_down(struct side a, struct side b)
{
    return (struct side){a.re + b.im, a.im - b.re};
}

SIDE_INLINE struct side side_turn_up(struct side a, struct side b)
{
    return (struct side){a.re - b.im, a.im + b.re};
}

/* Bins 0 to 3 of four numbers. */
SIDE_INLINE void side_four(const struct side *x, struct side out[4])
{
    struct side a = side_add(x[0], x[2]);
    struct side b = side_subtract(x[0], x[2]);
    struct side c = side_add(x[1], x[3]);
    struct side d = side_subtract(x[1], x[3]);
    out[0] = side_add(a, c);
    out[1] = side_turn_down(b, d);
    out[2] = side_subtract(a, c);
    out[3] = side_turn_up(b, d);
}

/* Transform of eight points: even bins are those of sums of points four apart, odd bins those of
 * rotated differences. */
SIDE_INLINE void side_eight(const struct side x[8], struct side out[8])
{
    const float half = 0.70710678118654752440F;
    struct side sum[4];
    struct side odd[4];
    struct side even_bins[4];
    struct side odd_bins[4];
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
        sum[q] = side_add(x[q], x[q + 4]);
        odd[q] = side_subtract(x[q], x[q + 4]);
    }
    odd[1] = (struct side){(odd[1].re + odd[1].im) * half, (odd[1].im - odd[1].re) * half};
    odd[2] = (struct side){odd[2].im, -odd[2].re};
    odd[3] = (struct side){(odd[3].im - odd[3].re) * half, (odd[3].re + odd[3].im) * -half};
    side_four(sum, even_bins);
    side_four(odd, odd_bins);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        out[2 * k] = even_bins[k];
        out[2 * k + 1] = odd_bins[k];
    }
}

SIDE_INLINE void side_transform(const struct side x[8], const int radix, struct side out[8])
{
    if (radix == 8) {
        side_eight(x, out);
    } else {
        side_four(x, out);
    }
}

/* A stage that is not the last. The first takes pairs from rows `stride` floats apart. */
SIDE_INLINE void side_stage(const struct side_fft *fft, const struct side_stage *stage,
                            const float *pairs, size_t stride, float *work, const int radix)
{
    const size_t part = stage->span / (size_t)radix;
    for (size_t block = 0; block < fft->points; block += stage->span) {
        const float *w = stage->factors;
        for (size_t j = 0; j < part; j++, w += 2 * (radix - 1)) {
            struct side x[8];
            struct side bins[8];
#pragma GCC unroll 8
            for (int q = 0; q < radix; q++) {
                const size_t row = block + j + (size_t)q * part;
                x[q] = pairs ? side_load_pairs(pairs + row * stride)
                             : side_load(work + row * 2 * LANES);
            }
            side_transform(x, radix, bins);
#pragma GCC unroll 8
            for (int k = 0; k < radix; k++) {
                if (k > 0) {
                    const lanes_t zero = {0};
                    bins[k] =
                        side_multiply(bins[k], zero + w[2 * (k - 1)], zero + w[2 * (k - 1) + 1]);
                }
                side_store(bins[k], work + (block + j + (size_t)k * part) * 2 * LANES);
            }
        }
    }
}

/* All stages but the last. */
static void side_begin(const struct side_fft *fft, const float *pairs, size_t stride, float *work)
{
    for (size_t i = 0; i + 1 < fft->nstages; i++) {
        const struct side_stage *stage = &fft->stages[i];
        if (i == 0 && stage->radix == 8) {
            side_stage(fft, stage, pairs, stride, work, 8);
        } else if (i == 0) {
            side_stage(fft, stage, pairs, stride, work, 4);
        } else if (stage->radix == 8) {
            side_stage(fft, stage, NULL, 0, work, 8);
        } else {
            side_stage(fft, stage, NULL, 0, work, 4);
        }
    }
}

/* Where bins go: rows of pairs, `stride` floats apart. */
struct side_bins {
    float *to;
    size_t stride;
    int past; /* the caches */
};

SIDE_INLINE void side_store_pairs(struct side x, int past, float *to)
{
    if (past) {
        store_past(to, SHUFFLE(x.re, x.im, FIRST_PAIRS));
        store_past(to + LANES, SHUFFLE(x.re, x.im, LAST_PAIRS));
    } else {
        store_pairs(x.re, x.im, 1, to);
    }
}

/* The last stage, in place or into bins. */
SIDE_INLINE void side_last(const struct side_fft *fft, float *work, const struct side_bins *bins,
                           const int radix)
{
    const size_t part = fft->points / (size_t)radix;
    for (size_t m = 0; m < part; m++) {
        float *block = work + (size_t)fft->order[m] * 2 * LANES;
        struct side x[8];
        struct side out[8];
#pragma GCC unroll 8
        for (int q = 0; q < radix; q++) {
            x[q] = side_load(block + (size_t)q * 2 * LANES);
        }
        side_transform(x, radix, out);
#pragma GCC unroll 8
        for (int k = 0; k < radix; k++) {
            if (bins) {
                side_store_pairs(out[k], bins->past,
                                 bins->to + (m + (size_t)k * part) * bins->stride);
            } else {
                side_store(out[k], block + (size_t)k * 2 * LANES);
            }
        }
    }
}

static void side_end(const struct side_fft *fft, float *work)
{
    if (fft->stages[fft->nstages - 1].radix == 8) {
        side_last(fft, work, NULL, 8);
    } else {
        side_last(fft, work, NULL, 4);
    }
}

static void side_end_bins(const struct side_fft *fft, float *work, const struct side_bins *bins)
{
    if (fft->stages[fft->nstages - 1].radix == 8) {
        side_last(fft, work, bins, 8);
    } else {
        side_last(fft, work, bins, 4);
    }
}

/* LANES bins from k on of LANES columns, from column `first` of FINE_COLUMNS on, times their
 * factors, and transposed. */
SIDE_INLINE void side_turn_bins(const struct side_columns *c, size_t first, size_t k)
{
    lanes_t re[2 * LANES];
    lanes_t im[2 * LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        const lanes_t zero = {0};
        const float *step = c->step + (k + i) * 2 * FINE_COLUMNS + first;
        const float *base = c->base + 2 * (k + i);
        struct side w = {*(const lanes_t *)step, *(const lanes_t *)(step + FINE_COLUMNS)};
        w = side_multiply(w, zero + base[0], zero + base[1]);
        struct side x = side_load(c->work + (size_t)c->fft->order[k + i] * 2 * LANES);
        x = side_multiply(x, w.re, w.im);
        re[i] = x.re;
        im[i] = x.im;
    }
    side_transpose(re);
    side_transpose(im);
    float *to = c->to + k / FINE_COLUMNS * c->block + 2 * (first * FINE_COLUMNS + k % FINE_COLUMNS);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++, to += 2 * FINE_COLUMNS) {
        side_store_pairs((struct side){re[i], im[i]}, c->past, to);
    }
}

static void side_columns(const struct side_columns *c)
{
    for (size_t first = 0; first < FINE_COLUMNS; first += LANES) {
        side_begin(c->fft, c->from + 2 * first, c->stride, c->work);
        side_end(c->fft, c->work);
        for (size_t k = 0; k < c->fft->points; k += LANES) {
            side_turn_bins(c, first, k);
        }
    }
}

static void side_rows(const struct side_fft *fft, const float *from, float *work, float *to,
                      size_t stride, int past)
{
    for (size_t first = 0; first < FINE_COLUMNS; first += LANES) {
        const struct side_bins bins = {to + 2 * first, stride, past};
        side_begin(fft, from + 2 * first, (size_t)2 * FINE_COLUMNS, work);
        side_end_bins(fft, work, &bins);
    }
}
