/* The loops of chirps (dsp/dispersion/chirp.h), for each instruction set: their exact phases, and a
 * Fourier transform there and back. Only IEEE additions, products and quotients are used, neither
 * fma() nor sin(), each number's in one order: all kernels give the same bits. */
#ifndef VOLTMILL_DSP_CHIRP_KERNELS_H
#define VOLTMILL_DSP_CHIRP_KERNELS_H

#include "base/simd.h"

#include <stdint.h>

/* A number of twice double's precision: the unrounded sum hi + lo. */
struct chirp_pair {
    double hi, lo;
};

/* Terms of the phases of an FFT's frequencies. The phase of bin k (k - length in the upper half)
 * is, in turns, offset + k step + sign A / v, v = start_hz + k bin_hz. */
struct chirp_phases {
    uint64_t offset, step; /* 2^-64 turns */
    double sign;
    struct chirp_pair dispersion; /* A, seconds Hz^2 */
    struct chirp_pair start_hz, bin_hz;
};

enum {
    CHIRP_PIECE = 256,    /* frequencies, and roots of unity, at a time */
    CHIRP_ROOTS = 1 << 16 /* transforms up to here find theirs in a table */
};

struct chirp_kernels {
    /* Computes exp(2 pi i phase) of bins first .. first + count - 1, count at most CHIRP_PIECE. All
     * are in one half; those of the upper half are negative: k - length. out [count][2]: real and
     * imaginary part. */
    void (*fill)(const struct chirp_phases *p, double first, uint32_t count, double (*out)[2]);
    /* Computes roots of unity: exp(2 pi i (first + j) / length), j < count; first + count at most
     * length / 2. out [count][2]: real and imaginary part. */
    void (*roots)(uint32_t length, uint32_t first, uint32_t count, double (*out)[2]);
    /* down() transforms `length` frequencies, a power of two up to 2^31, to samples, x(n) = sum_k
     * data[k] exp(+2 pi i k n / length); up() transforms them back, times `length`. Samples stay in
     * bit-reversed order, and no memory is needed beside the data:
     *
     *   roots  [CHIRP_ROOTS][2] those of length 2 h from number h on
     *   data   [length][2] frequency k at place k; sample n at the place whose number is n with its
     *            bits in reverse order
     *
     * Radix 2, two steps at a time, one quarter after the other, so that what fits a cache stays
     * there. Gentleman and Sande 1966, Fast Fourier transforms: for fun and profit. */
    void (*down)(uint32_t length, double (*roots)[2], double (*data)[2]);
    void (*up)(uint32_t length, double (*roots)[2], double (*data)[2]);
    /* The first two steps of down(), and the last two of up(), alone: over butterflies first ..
     * first + count - 1 of each quarter, multiples of CHIRP_PIECE; length above CHIRP_ROOTS. */
    void (*split)(uint32_t length, uint32_t first, uint32_t count, double (*roots)[2],
                  double (*data)[2]);
    void (*join)(uint32_t length, uint32_t first, uint32_t count, double (*roots)[2],
                 double (*data)[2]);
};

/* Returns the constant kernels of an instruction set, not to be freed; NULL if this machine or this
 * build lacks it. */
const struct chirp_kernels *chirp_kernels(enum simd_level level);

/* ---- Numbers of twice double's precision, |lo| <= half an ulp of hi. Dekker 1971, A
 * floating-point technique for extending the available precision. ---- */

/* Returns a + b, not rounded: hi is the sum rounded to a double, lo its rounding error. */
static inline struct chirp_pair chirp_sum(double a, double b)
{
    const double sum = a + b;
    const double part = sum - a;
    return (struct chirp_pair){sum, (a - (sum - part)) + (b - part)};
}

/* Returns a b, not rounded: hi is the product rounded to a double, lo its rounding error. |a| and
 * |b| are below 2^996, and lo is no subnormal number. */
static inline struct chirp_pair chirp_product(double a, double b)
{
    const double split = 134217729.0; /* 2^27 + 1 */
    const double a1 = split * a - (split * a - a);
    const double b1 = split * b - (split * b - b);
    const double a2 = a - a1;
    const double b2 = b - b1;
    const double product = a * b;
    return (struct chirp_pair){product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}

/* Returns a + b, rounded to about twice double's precision: 2^-104 of |a| + |b|. */
static inline struct chirp_pair chirp_add(struct chirp_pair a, struct chirp_pair b)
{
    struct chirp_pair sum = chirp_sum(a.hi, b.hi);
    return chirp_sum(sum.hi, sum.lo + (a.lo + b.lo));
}

/* Returns a b, rounded to about twice double's precision. |a.hi| and |b| are below 2^996. */
static inline struct chirp_pair chirp_scale(struct chirp_pair a, double b)
{
    struct chirp_pair product = chirp_product(a.hi, b);
    return chirp_sum(product.hi, product.lo + a.lo * b);
}

/* Returns a / b to about twice double's precision, not normalised: hi is the quotient of doubles,
 * lo the part of the quotient that hi lacks. b.hi is not 0. */
static inline struct chirp_pair chirp_quotient(struct chirp_pair a, struct chirp_pair b)
{
    const double first = a.hi / b.hi;
    const struct chirp_pair product = chirp_product(first, b.hi);
    const double rest = ((a.hi - product.hi) - product.lo) + (a.lo - first * b.lo);
    return (struct chirp_pair){first, rest / b.hi};
}

#endif
