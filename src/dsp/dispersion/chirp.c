/* Phases of 10^10 turns, right to 10^-9 turns: the phase is taken apart into what is linear in
 * frequency, which 64-bit fractions of a turn count exactly, and one quotient in twice double's
 * precision. With A = 1e12 D DM,
 *
 *   A v (1 / r - 1 / v)^2 = A v / r^2 - 2 A / r + A / v.
 *
 * Nothing here asks the machine for more than IEEE additions, products and quotients, so that every
 * machine gives the same bits and the loops become vectors: no fma(), no sin(). */
#include "dsp/dispersion/chirp.h"

#include "dsp/dispersion/dispersion.h"

#include <math.h>

enum {
    LEAST_GUARD = 256,
    PIECE = 256, /* frequencies at a time */
    MOST_TAPS = 1 << 26,
    LONG_BLOCK = 1 << 17
};

static const double TURN = 6.28318530717958647692;

/* ---- Numbers of twice double's precision: the unrounded sum hi + lo, |lo| <= half an ulp of hi.
 * Dekker 1971, A floating-point technique for extending the available precision. ---- */

struct pair {
    double hi, lo;
};

static inline struct pair chirp_sum(double a, double b)
{
    const double sum = a + b;
    const double part = sum - a;
    return (struct pair){sum, (a - (sum - part)) + (b - part)};
}

static inline struct pair chirp_product(double a, double b)
{
    const double split = 134217729.0; /* 2^27 + 1 */
    const double a1 = split * a - (split * a - a);
    const double b1 = split * b - (split * b - b);
    const double a2 = a - a1;
    const double b2 = b - b1;
    const double product = a * b;
    return (struct pair){product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}

static inline struct pair chirp_add(struct pair a, struct pair b)
{
    struct pair sum = chirp_sum(a.hi, b.hi);
    return chirp_sum(sum.hi, sum.lo + (a.lo + b.lo));
}

static inline struct pair chirp_scale(struct pair a, double b)
{
    struct pair product = chirp_product(a.hi, b);
    return chirp_sum(product.hi, product.lo + a.lo * b);
}

/* a / b, not normalised: hi is the quotient of doubles, lo what it misses. */
static inline struct pair chirp_quotient(struct pair a, struct pair b)
{
    const double first = a.hi / b.hi;
    const struct pair product = chirp_product(first, b.hi);
    const double rest = ((a.hi - product.hi) - product.lo) + (a.lo - first * b.lo);
    return (struct pair){first, rest / b.hi};
}

/* The nearest whole number, of less than 2^51; of more a near one. */
static inline double chirp_whole(double value)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52 */
    return (value + shift) - shift;
}

static inline double chirp_fraction(struct pair turns)
{
    const double rest = (turns.hi - chirp_whole(turns.hi)) + turns.lo;
    return rest - chirp_whole(rest);
}

/* In 2^-64 turns, modulo a turn. */
static uint64_t chirp_fixed(double turns)
{
    const double rest = turns - rint(turns);
    const uint64_t size = (uint64_t)(0x1p64 * fabs(rest));
    return rest < 0 ? 0 - size : size;
}

static uint64_t chirp_fixed_pair(struct pair turns)
{
    return chirp_fixed(turns.hi) + chirp_fixed(turns.lo);
}

/* ---- The band ---- */

static double chirp_bandwidth_hz(const struct chirp *chirp)
{
    return chirp->is_complex ? chirp->sample_rate_hz : chirp->sample_rate_hz / 2;
}

static double chirp_constant(const struct chirp *chirp)
{
    return chirp->constant > 0 ? chirp->constant : dispersion_default_constant;
}

/* Samples by which the component at f_hz is taken later. */
static double chirp_delay(const struct chirp *chirp, double f_hz)
{
    const double r = chirp->reference_hz;
    const double seconds = 1e12 * chirp_constant(chirp) * chirp->dm * ((r - f_hz) / (r * r)) *
                           ((r + f_hz) / f_hz / f_hz);
    return (chirp->is_inverse ? -seconds : seconds) * chirp->sample_rate_hz;
}

static int chirp_is_positive(double value)
{
    return isfinite(value) && value > 0;
}

status_t chirp_check(const struct chirp *chirp)
{
    status_t st = STATUS_OK;
    const double most_samples = 4503599627370496.0; /* 2^52: counted exactly */
    const double half_hz = chirp_bandwidth_hz(chirp) / 2;
    const double low_hz = chirp->centre_hz - half_hz;
    REQUIRE(isfinite(chirp->dm) && chirp->dm >= 0, STATUS_USAGE,
            "coherent dedispersion: a DM of %g pc cm^-3, expected none below 0", chirp->dm);
    REQUIRE(chirp_is_positive(chirp_constant(chirp)), STATUS_USAGE,
            "coherent dedispersion: a dispersion constant of %g s MHz^2 pc^-1 cm^3, expected a "
            "positive one",
            chirp->constant);
    REQUIRE(chirp_is_positive(chirp->sample_rate_hz), STATUS_USAGE,
            "coherent dedispersion: a sample rate of %g Hz, expected a positive one",
            chirp->sample_rate_hz);
    REQUIRE(chirp_is_positive(chirp->reference_hz), STATUS_USAGE,
            "coherent dedispersion: a reference frequency of %g Hz, expected a positive one",
            chirp->reference_hz);
    REQUIRE(chirp_is_positive(low_hz), STATUS_USAGE,
            "coherent dedispersion: a coarse channel covers %.9g .. %.9g Hz, expected a band above "
            "0 Hz",
            low_hz, chirp->centre_hz + half_hz);
    double least;
    double most;
    chirp_delays(chirp, &least, &most);
    REQUIRE(least >= -most_samples && most <= most_samples, STATUS_USAGE,
            "coherent dedispersion: at a DM of %g pc cm^-3 a coarse channel that covers %.9g .. "
            "%.9g Hz comes up to %.3g samples after %.9g Hz, expected at most 2^52",
            chirp->dm, low_hz, chirp->centre_hz + half_hz, fmax(fabs(least), fabs(most)),
            chirp->reference_hz);
out:
    return st;
}

void chirp_delays(const struct chirp *chirp, double *least, double *most)
{
    const double half_hz = chirp_bandwidth_hz(chirp) / 2;
    const double low = chirp_delay(chirp, chirp->centre_hz - half_hz);
    const double high = chirp_delay(chirp, chirp->centre_hz + half_hz);
    *least = fmin(low, high);
    *most = fmax(low, high);
}

int64_t chirp_shift(const struct chirp *chirp)
{
    return llround(chirp_delay(chirp, chirp->centre_hz));
}

/* Within about the root of the span around either end of the delays the response fades from its
 * height inside to its tail outside (Fresnel's integral). */
uint64_t chirp_guard(double span)
{
    const double fade = ceil(4 * sqrt(fmax(span, 0)));
    return fade > LEAST_GUARD ? (uint64_t)fade : LEAST_GUARD;
}

status_t chirp_reach(double least, double most, int64_t *first, uint32_t *taps)
{
    status_t st = STATUS_OK;
    const double guard = (double)chirp_guard(most - least);
    const double begin = floor(least) - guard;
    const double reach = ceil(most) + guard - begin + 1;
    REQUIRE(reach <= MOST_TAPS, STATUS_USAGE,
            "coherent dedispersion: the chirp is %.0f samples long, of which a filter has at most "
            "%d",
            reach, (int)MOST_TAPS);
    *first = (int64_t)begin;
    *taps = (uint32_t)reach;
out:
    return st;
}

uint32_t chirp_length(uint32_t taps)
{
    const uint64_t shared = (uint64_t)taps - 1;
    uint64_t length = 4;
    while (length < 4 * shared && (length < LONG_BLOCK || length < 2 * shared)) {
        length *= 2;
    }
    return (uint32_t)length;
}

/* ---- The response ---- */

/* What the phases of an FFT's frequencies are made of: that of bin k (k - length in the upper half)
 * is, in turns, offset + k step + sign A / v, v = start_hz + k bin_hz. */
struct phases {
    uint64_t offset, step; /* 2^-64 turns */
    double sign;
    struct pair dispersion; /* A, seconds Hz^2 */
    struct pair start_hz, bin_hz;
};

static struct phases chirp_phases(const struct chirp *chirp, uint32_t length)
{
    struct phases p;
    const double s = chirp->sideband;
    const struct pair one = {length, 0};
    const struct pair r = {chirp->reference_hz, 0};
    p.sign = chirp->is_inverse ? s : -s;
    p.dispersion = chirp_scale(chirp_product(chirp_constant(chirp), chirp->dm), 1e12);
    p.start_hz = (struct pair){chirp->centre_hz, 0};
    if (!chirp->is_complex) {
        p.start_hz = chirp_sum(chirp->centre_hz, -s * chirp->sample_rate_hz / 4);
    }
    p.bin_hz = chirp_quotient((struct pair){s * chirp->sample_rate_hz, 0}, one);
    /* A / r^2 times start - 2 r, and times a bin. */
    const struct pair slope = chirp_quotient(chirp_quotient(p.dispersion, r), r);
    const struct pair from = chirp_add(p.start_hz, (struct pair){-2 * chirp->reference_hz, 0});
    struct pair offset = chirp_scale(slope, from.hi);
    offset = chirp_add(offset, (struct pair){slope.hi * from.lo, 0});
    struct pair step = chirp_scale(slope, p.bin_hz.hi);
    step = chirp_add(step, (struct pair){slope.hi * p.bin_hz.lo, 0});
    p.offset = chirp_fixed_pair(chirp_scale(offset, p.sign));
    p.step = chirp_fixed_pair(chirp_scale(step, p.sign));
    /* Samples that are taken `shift` later have turned by k shift / length. */
    int64_t shift = chirp->shift % (int64_t)length;
    p.step -= chirp_fixed_pair(chirp_quotient((struct pair){(double)shift, 0}, one));
    return p;
}

/* cos, sin of 2 pi turns, |turns| <= 0.6, good to 2e-16: quarters of a turn change places and
 * signs, and Taylor's series do for the rest. */
static inline void chirp_phasor(double turns, double out[2])
{
    const double quarter = chirp_whole(4 * turns);
    const double x = TURN * (turns - 0.25 * quarter);
    const double y = x * x;
    double s = -1 / 1307674368000.0;
    s = s * y + 1 / 6227020800.0;
    s = s * y - 1 / 39916800.0;
    s = s * y + 1 / 362880.0;
    s = s * y - 1 / 5040.0;
    s = s * y + 1 / 120.0;
    s = s * y - 1 / 6.0;
    s = x + x * (y * s);
    double c = 1 / 20922789888000.0;
    c = c * y - 1 / 87178291200.0;
    c = c * y + 1 / 479001600.0;
    c = c * y - 1 / 3628800.0;
    c = c * y + 1 / 40320.0;
    c = c * y - 1 / 720.0;
    c = c * y + 1 / 24.0;
    c = c * y - 0.5;
    c = 1 + y * c;
    const double even = 1 - fabs(quarter); /* 1, 0 or -1 */
    const double odd = quarter * (1 - fabs(even));
    out[0] = even * c - odd * s;
    out[1] = even * s + odd * c;
}

/* Numbers first .. first + count - 1, none of them in another half than the first. */
static void chirp_fill(const struct phases *p, double first, uint32_t count,
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
        const struct pair v = chirp_add(p->start_hz, chirp_scale(p->bin_hz, first + (double)i));
        turns[i] += p->sign * chirp_fraction(chirp_quotient(p->dispersion, v));
        turns[i] -= chirp_whole(turns[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        chirp_phasor(turns[i], out[i]);
    }
}

void chirp_response_part(const struct chirp *chirp, uint32_t length, uint32_t first, uint32_t count,
                         double (*restrict out)[2])
{
    const struct phases phases = chirp_phases(chirp, length);
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
            chirp_fill(&phases, k, n, to);
        } else if (chirp->is_complex) {
            chirp_fill(&phases, (double)k - length, n, to);
        } else {
            /* Conjugates, from the other end. */
            double mirror[PIECE][2];
            chirp_fill(&phases, length - (k + n - 1), n, mirror);
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

void chirp_response(const struct chirp *chirp, uint32_t length, double (*out)[2])
{
    chirp_response_part(chirp, length, 0, length, out);
}
