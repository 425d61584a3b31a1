/* Phases of 10^10 turns, accurate to 10^-9 turns. The phase is split into terms linear in
 * frequency, which 64-bit fractions of a turn represent exactly, and one quotient in double-double
 * precision. With A = 1e12 D DM,
 *
 *   A v (1 / r - 1 / v)^2 = A v / r^2 - 2 A / r + A / v.
 *
 * Only IEEE additions, products and quotients are used, no fma() or sin(). So every machine gives
 * the same bits, and compilers vectorise the loops. */
#include "dsp/dispersion/chirp_exact.h"

#include "dsp/dispersion/dispersion.h"
#include "dsp/phasor.h"

#include <math.h>

enum { PIECE = 256 }; /* frequencies at a time */

/* ---- Numbers of twice double's precision: the unrounded sum hi + lo, |lo| <= half an ulp of hi.
 * Dekker 1971, A floating-point technique for extending the available precision. ---- */

struct pair {
    double hi, lo;
};

static inline struct pair exact_sum(double a, double b)
{
    const double sum = a + b;
    const double part = sum - a;
    return (struct pair){sum, (a - (sum - part)) + (b - part)};
}

static inline struct pair exact_product(double a, double b)
{
    const double split = 134217729.0; /* 2^27 + 1 */
    const double a1 = split * a - (split * a - a);
    const double b1 = split * b - (split * b - b);
    const double a2 = a - a1;
    const double b2 = b - b1;
    const double product = a * b;
    return (struct pair){product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}

static inline struct pair exact_add(struct pair a, struct pair b)
{
    struct pair sum = exact_sum(a.hi, b.hi);
    return exact_sum(sum.hi, sum.lo + (a.lo + b.lo));
}

static inline struct pair exact_scale(struct pair a, double b)
{
    struct pair product = exact_product(a.hi, b);
    return exact_sum(product.hi, product.lo + a.lo * b);
}

/* a / b, not normalised: hi is the quotient of doubles, lo what it misses. */
static inline struct pair exact_quotient(struct pair a, struct pair b)
{
    const double first = a.hi / b.hi;
    const struct pair product = exact_product(first, b.hi);
    const double rest = ((a.hi - product.hi) - product.lo) + (a.lo - first * b.lo);
    return (struct pair){first, rest / b.hi};
}

static inline double exact_fraction(struct pair turns)
{
    const double rest = (turns.hi - phasor_whole(turns.hi)) + turns.lo;
    return rest - phasor_whole(rest);
}

/* In 2^-64 turns, modulo a turn. */
static uint64_t exact_fixed(double turns)
{
    const double rest = turns - rint(turns);
    const uint64_t size = (uint64_t)(0x1p64 * fabs(rest));
    return rest < 0 ? 0 - size : size;
}

static uint64_t exact_fixed_pair(struct pair turns)
{
    return exact_fixed(turns.hi) + exact_fixed(turns.lo);
}

/* ---- Phases ---- */

/* Terms of the phases of an FFT's frequencies. The phase of bin k (k - length in the upper half)
 * is, in turns, offset + k step + sign A / v, v = start_hz + k bin_hz. */
struct phases {
    uint64_t offset, step; /* 2^-64 turns */
    double sign;
    struct pair dispersion; /* A, seconds Hz^2 */
    struct pair start_hz, bin_hz;
};

static struct phases exact_phases(const struct chirp *chirp, uint32_t length)
{
    struct phases p;
    const double s = chirp->sideband;
    const struct pair one = {length, 0};
    const struct pair r = {chirp->reference_hz, 0};
    p.sign = chirp->is_inverse ? s : -s;
    p.dispersion =
        exact_scale(exact_product(dispersion_constant_of(chirp->constant), chirp->dm), 1e12);
    p.start_hz = (struct pair){chirp->centre_hz, 0};
    if (!chirp->is_complex) {
        p.start_hz = exact_sum(chirp->centre_hz, -s * chirp->sample_rate_hz / 4);
    }
    p.bin_hz = exact_quotient((struct pair){s * chirp->sample_rate_hz, 0}, one);
    /* A / r^2 times start - 2 r, and times a bin. */
    const struct pair slope = exact_quotient(exact_quotient(p.dispersion, r), r);
    const struct pair from = exact_add(p.start_hz, (struct pair){-2 * chirp->reference_hz, 0});
    struct pair offset = exact_scale(slope, from.hi);
    offset = exact_add(offset, (struct pair){slope.hi * from.lo, 0});
    struct pair step = exact_scale(slope, p.bin_hz.hi);
    step = exact_add(step, (struct pair){slope.hi * p.bin_hz.lo, 0});
    p.offset = exact_fixed_pair(exact_scale(offset, p.sign));
    p.step = exact_fixed_pair(exact_scale(step, p.sign));
    /* Samples that are taken `shift` later have turned by k shift / length. */
    int64_t shift = chirp->shift % (int64_t)length;
    p.step -= exact_fixed_pair(exact_quotient((struct pair){(double)shift, 0}, one));
    return p;
}

/* Numbers first .. first + count - 1, none of them in another half than the first. */
static void exact_fill(const struct phases *p, double first, uint32_t count,
                       double (*restrict out)[2])
{
    double turns[PIECE];
    uint64_t linear = p->offset + p->step * (uint64_t)(int64_t)first;
    for (uint32_t i = 0; i < count; i++) {
        /* 53 bits and a sign are 10^-16 turns. */
        turns[i] = 0x1p-64 * (double)(int64_t)linear;
        linear += p->step;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct pair v = exact_add(p->start_hz, exact_scale(p->bin_hz, first + (double)i));
        turns[i] += p->sign * exact_fraction(exact_quotient(p->dispersion, v));
        turns[i] -= phasor_whole(turns[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        phasor(turns[i], out[i]);
    }
}

void chirp_exact(const struct chirp *chirp, uint32_t length, uint32_t first, uint32_t count,
                 double (*restrict out)[2])
{
    const struct phases phases = exact_phases(chirp, length);
    const uint32_t half = length / 2 + length % 2; /* from here on frequencies are negative */
    for (uint32_t done = 0; done < count;) {
        const uint32_t k = first + done;
        uint32_t n = count - done < PIECE ? count - done : PIECE;
        if (k < half && half - k < n) {
            n = half - k;
        }
        double(*to)[2] = out + done;
        done += n;
        if (k < half) {
            exact_fill(&phases, k, n, to);
        } else if (chirp->is_complex) {
            exact_fill(&phases, (double)k - length, n, to);
        } else {
            /* Conjugates, from the other end. */
            double mirror[PIECE][2];
            exact_fill(&phases, length - (k + n - 1), n, mirror);
            for (uint32_t i = 0; i < n; i++) {
                to[i][0] = mirror[n - 1 - i][0];
                to[i][1] = -mirror[n - 1 - i][1];
            }
        }
        if (!chirp->is_complex && (k == 0 || 2 * (uint64_t)k == length)) {
            to[0][0] = to[0][0] < 0 ? -1 : 1;
            to[0][1] = 0;
        }
    }
}
