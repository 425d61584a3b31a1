/* Transforms of columns side by side (fine_fft.h), LANES at a time: of a fine spectrum's columns,
 * which are multiplied and transposed on output, and of the rows that become its bins. Part of
 * ppf/kernels.c; not included elsewhere. side_columns() and side_rows() have the contracts of those
 * members of struct cpu_kernels (ppf/kernels.h). `work` is float [points][2][LANES], real parts,
 * then imaginary ones.
 *
 * Real and imaginary parts are vectors of their own, so a rotation by a quarter turn only exchanges
 * names. A factor that all columns share costs two multiplications and two fused ones. Eight
 * numbers are sixteen registers, half of what AVX-512 has. */
#include "compute/cpu/fine_fft.h"

/* Transposes the first LANES registers in place; the others are unchanged. */
INLINE void side_transpose(lanes_t x[2 * LANES])
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

/* Returns a + b. */
INLINE struct lanes_pair side_add(struct lanes_pair a, struct lanes_pair b)
{
    return (struct lanes_pair){a.re + b.re, a.im + b.im};
}

/* Returns a - b. */
INLINE struct lanes_pair side_subtract(struct lanes_pair a, struct lanes_pair b)
{
    return (struct lanes_pair){a.re - b.re, a.im - b.im};
}

/* Returns a - i b. */
INLINE struct lanes_pair side_turn_down(struct lanes_pair a, struct lanes_pair b)
{
    return (struct lanes_pair){a.re + b.im, a.im - b.re};
}

/* Returns a + i b. */
INLINE struct lanes_pair side_turn_up(struct lanes_pair a, struct lanes_pair b)
{
    return (struct lanes_pair){a.re - b.im, a.im + b.re};
}

/* Computes bins out[k] = sum_n x[n] exp(-2 pi i n k / 4) of x[0 .. 3], in each lane. `out` may be
 * `x`. */
INLINE void side_four(const struct lanes_pair *x, struct lanes_pair out[4])
{
    struct lanes_pair a = side_add(x[0], x[2]);
    struct lanes_pair b = side_subtract(x[0], x[2]);
    struct lanes_pair c = side_add(x[1], x[3]);
    struct lanes_pair d = side_subtract(x[1], x[3]);
    out[0] = side_add(a, c);
    out[1] = side_turn_down(b, d);
    out[2] = side_subtract(a, c);
    out[3] = side_turn_up(b, d);
}

/* Computes bins out[k] = sum_n x[n] exp(-2 pi i n k / 8) of eight numbers, in each lane: even bins
 * are those of sums of points four apart, odd bins those of rotated differences. */
INLINE void side_eight(const struct lanes_pair x[8], struct lanes_pair out[8])
{
    const float half = 0.70710678118654752440F;
    struct lanes_pair sum[4];
    struct lanes_pair odd[4];
    struct lanes_pair even_bins[4];
    struct lanes_pair odd_bins[4];
    UNROLLED
    for (int q = 0; q < 4; q++) {
        sum[q] = side_add(x[q], x[q + 4]);
        odd[q] = side_subtract(x[q], x[q + 4]);
    }
    odd[1] = (struct lanes_pair){(odd[1].re + odd[1].im) * half, (odd[1].im - odd[1].re) * half};
    odd[2] = (struct lanes_pair){odd[2].im, -odd[2].re};
    odd[3] = (struct lanes_pair){(odd[3].im - odd[3].re) * half, (odd[3].re + odd[3].im) * -half};
    side_four(sum, even_bins);
    side_four(odd, odd_bins);
    UNROLLED
    for (int k = 0; k < 4; k++) {
        out[2 * k] = even_bins[k];
        out[2 * k + 1] = odd_bins[k];
    }
}

/* Transforms the first `radix` numbers, 4 or 8, to as many bins, by side_four() or side_eight(). */
INLINE void side_transform(const struct lanes_pair x[8], const int radix, struct lanes_pair out[8])
{
    if (radix == 8) {
        side_eight(x, out);
    } else {
        side_four(x, out);
    }
}

/* Runs a stage of `radix` 4 or 8, not the last, in place in `work`. With `pairs` (the first stage;
 * else NULL) it reads its numbers there: LANES pairs of each of [points] rows, `stride` floats
 * apart. */
INLINE void side_stage(const struct side_fft *fft, const struct side_stage *stage,
                       const float *pairs, size_t stride, float *work, const int radix)
{
    const size_t part = stage->span / (size_t)radix;
    for (size_t block = 0; block < fft->points; block += stage->span) {
        const float *w = stage->factors;
        for (size_t j = 0; j < part; j++, w += 2 * (radix - 1)) {
            struct lanes_pair x[8];
            struct lanes_pair bins[8];
            UNROLLED
            for (int q = 0; q < radix; q++) {
                const size_t row = block + j + (size_t)q * part;
                x[q] = pairs ? lanes_load_pairs(pairs + row * stride)
                             : lanes_load_parts(work + row * 2 * LANES);
            }
            side_transform(x, radix, bins);
            UNROLLED
            for (int k = 0; k < radix; k++) {
                if (k > 0) {
                    const float *by = w + 2 * (k - 1);
                    bins[k] = lanes_multiply(bins[k],
                                             (struct lanes_pair){lanes_of(by[0]), lanes_of(by[1])});
                }
                lanes_store_parts(bins[k], work + (block + j + (size_t)k * part) * 2 * LANES);
            }
        }
    }
}

/* Runs all stages but the last, the first as side_stage() with `pairs`. */
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

/* Stores LANES pairs (re, im), past the caches where `past`: `to` is then a multiple of VECTOR
 * bytes. */
INLINE void side_store_pairs(struct lanes_pair x, int past, float *to)
{
    if (past) {
        LANES_STORE_PAST(to, lanes_first_pairs(x));
        LANES_STORE_PAST(to + LANES, lanes_last_pairs(x));
    } else {
        store_pairs(x.re, x.im, 1, to);
    }
}

/* Runs the last stage, of radix 4 or 8: into `bins`, or in place if that is NULL. */
INLINE void side_last(const struct side_fft *fft, float *work, const struct side_bins *bins,
                      const int radix)
{
    const size_t part = fft->points / (size_t)radix;
    for (size_t m = 0; m < part; m++) {
        float *block = work + (size_t)fft->order[m] * 2 * LANES;
        struct lanes_pair x[8];
        struct lanes_pair out[8];
        UNROLLED
        for (int q = 0; q < radix; q++) {
            x[q] = lanes_load_parts(block + (size_t)q * 2 * LANES);
        }
        side_transform(x, radix, out);
        UNROLLED
        for (int k = 0; k < radix; k++) {
            if (bins) {
                side_store_pairs(out[k], bins->past,
                                 bins->to + (m + (size_t)k * part) * bins->stride);
            } else {
                lanes_store_parts(out[k], block + (size_t)k * 2 * LANES);
            }
        }
    }
}

/* Runs the last stage, as side_last(), by its radix. */
INLINE void side_end(const struct side_fft *fft, float *work, const struct side_bins *bins)
{
    if (fft->stages[fft->nstages - 1].radix == 8) {
        side_last(fft, work, bins, 8);
    } else {
        side_last(fft, work, bins, 4);
    }
}

/* Multiplies LANES bins from k on of LANES columns, from column `first` of FINE_COLUMNS on, by
 * their factors, transposes them, and stores them in their block of c->to. */
INLINE void side_turn_bins(const struct side_columns *c, size_t first, size_t k)
{
    lanes_t re[2 * LANES];
    lanes_t im[2 * LANES];
    UNROLLED
    for (size_t i = 0; i < LANES; i++) {
        const float *step = c->step + (k + i) * 2 * FINE_COLUMNS + first;
        const float *base = c->base + 2 * (k + i);
        struct lanes_pair w = {*(const lanes_t *)step, *(const lanes_t *)(step + FINE_COLUMNS)};
        w = lanes_multiply(w, (struct lanes_pair){lanes_of(base[0]), lanes_of(base[1])});
        struct lanes_pair x = lanes_load_parts(c->work + (size_t)c->fft->order[k + i] * 2 * LANES);
        x = lanes_multiply(x, w);
        re[i] = x.re;
        im[i] = x.im;
    }
    side_transpose(re);
    side_transpose(im);
    float *to = c->to + k / FINE_COLUMNS * c->block + 2 * (first * FINE_COLUMNS + k % FINE_COLUMNS);
    UNROLLED
    for (size_t i = 0; i < LANES; i++, to += 2 * FINE_COLUMNS) {
        side_store_pairs((struct lanes_pair){re[i], im[i]}, c->past, to);
    }
}

/* Transforms FINE_COLUMNS columns, as struct side_columns says. */
static void side_columns(const struct side_columns *c)
{
    for (size_t first = 0; first < FINE_COLUMNS; first += LANES) {
        side_begin(c->fft, c->from + 2 * first, c->stride, c->work);
        side_end(c->fft, c->work, NULL);
        for (size_t k = 0; k < c->fft->points; k += LANES) {
            side_turn_bins(c, first, k);
        }
    }
}

/* Transforms FINE_COLUMNS rows, from [points][FINE_COLUMNS][2], to bins at `to`, rows `stride`
 * floats apart, past the caches where `past`. */
static void side_rows(const struct side_fft *fft, const float *from, float *work, float *to,
                      size_t stride, int past)
{
    for (size_t first = 0; first < FINE_COLUMNS; first += LANES) {
        const struct side_bins bins = {to + 2 * first, stride, past};
        side_begin(fft, from + 2 * first, (size_t)2 * FINE_COLUMNS, work);
        side_end(fft, work, &bins);
    }
}
