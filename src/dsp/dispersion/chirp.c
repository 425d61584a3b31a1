/* Delays and lengths, and the exact chirp as a filter of a given number of taps. */
#include "dsp/dispersion/chirp.h"

#include "base/memory.h"
#include "base/pool.h"
#include "dsp/dispersion/dispersion.h"
#include "dsp/phasor.h"

#include <math.h>

/* An FFT there and back in place, for those who only scale what they find there: no order is put
 * right in between, no memory is needed beside the data, and every machine gives the same bits.
 *
 * Radix 2, one half after the other, so that what fits a cache stays there; roots of unity are made
 * as they are needed. Gentleman and Sande 1966, Fast Fourier transforms: for fun and profit. */

enum {
    PIECE = 512,    /* roots of unity at a time */
    TILE = 1 << 15, /* points of a task */
    LEAVES = 16,    /* parts of a long transform that threads do in one go */
    MOST_THREADS = 8
};

/* exp(2 pi i (first + j) / length), j < count. */
static void round_trip_roots(uint32_t length, uint32_t first, uint32_t count,
                             double (*restrict out)[2])
{
    const double step = 1.0 / length;
    for (uint32_t j = 0; j < count; j++) {
        phasor(step * (first + j), out[j]);
    }
}

/* Sums to the lower half, differences times roots (every stride-th of them) to the upper one. */
static void round_trip_split(uint32_t count, uint32_t stride, double (*restrict root)[2],
                             double (*restrict low)[2], double (*restrict high)[2])
{
    for (uint32_t j = 0; j < count; j++) {
        const double *w = root[j * stride];
        const double re = low[j][0] - high[j][0];
        const double im = low[j][1] - high[j][1];
        low[j][0] += high[j][0];
        low[j][1] += high[j][1];
        high[j][0] = re * w[0] - im * w[1];
        high[j][1] = re * w[1] + im * w[0];
    }
}

/* The other way. */
static void round_trip_join(uint32_t count, uint32_t stride, double (*restrict root)[2],
                            double (*restrict low)[2], double (*restrict high)[2])
{
    for (uint32_t j = 0; j < count; j++) {
        const double *w = root[j * stride];
        const double re = high[j][0] * w[0] + high[j][1] * w[1];
        const double im = high[j][1] * w[0] - high[j][0] * w[1];
        high[j][0] = low[j][0] - re;
        high[j][1] = low[j][1] - im;
        low[j][0] += re;
        low[j][1] += im;
    }
}

typedef void round_trip_step(uint32_t count, uint32_t stride, double (*restrict root)[2],
                             double (*restrict low)[2], double (*restrict high)[2]);

/* One step over butterflies first .. first + count - 1 of the neighbouring halves of `length`
 * points. */
static void round_trip_halves(round_trip_step *step, uint32_t length, uint32_t first,
                              uint32_t count, double (*restrict table)[2], double (*data)[2])
{
    const uint32_t half = length / 2;
    double root[PIECE][2];
    if (half <= PIECE) {
        step(half, PIECE / half, table, data, data + half);
        return;
    }
    for (uint32_t at = first; at < first + count; at += PIECE) {
        round_trip_roots(length, at, PIECE, root);
        step(PIECE, 1, root, data + at, data + half + at);
    }
}

/* From `length` frequencies to samples, x(n) = sum_k data[k] exp(+2 pi i k n / length), length a
 * power of two up to 2^31:
 *
 *   data   [length][2] in: frequency k at place k; out: sample n at the place whose number is
 *                        n with its bits in reverse order */
static void round_trip_down(uint32_t length, double (*restrict table)[2], double (*data)[2])
{
    if (length > 1) {
        round_trip_halves(round_trip_split, length, 0, length / 2, table, data);
        round_trip_down(length / 2, table, data);
        round_trip_down(length / 2, table, data + length / 2);
    }
}

/* And back, times `length`. */
static void round_trip_up(uint32_t length, double (*restrict table)[2], double (*data)[2])
{
    if (length > 1) {
        round_trip_up(length / 2, table, data);
        round_trip_up(length / 2, table, data + length / 2);
        round_trip_halves(round_trip_join, length, 0, length / 2, table, data);
    }
}

/* Returns the index after n in bit-reversed order. */
static uint32_t round_trip_next(uint32_t length, uint32_t n)
{
    uint32_t bit = length / 2;
    while (n & bit) {
        n ^= bit;
        bit /= 2;
    }
    return n ^ bit;
}

enum { LEAST_GUARD = 384 };

/* ---- The band ---- */

static double chirp_bandwidth_hz(const struct chirp *chirp)
{
    return chirp->is_complex ? chirp->sample_rate_hz : chirp->sample_rate_hz / 2;
}

/* Samples by which the component at f_hz is taken later. */
static double chirp_delay(const struct chirp *chirp, double f_hz)
{
    const double r = chirp->reference_hz;
    const double seconds = 1e12 * dispersion_constant_of(chirp->constant) * chirp->dm *
                           ((r - f_hz) / (r * r)) * ((r + f_hz) / f_hz / f_hz);
    return (chirp->is_inverse ? -seconds : seconds) * chirp->sample_rate_hz;
}

/* Checks a number that must be positive. */
static status_t chirp_require(double value, const char *what, const char *unit)
{
    return REQUIRED(isfinite(value) && value > 0, STATUS_USAGE,
                    "coherent dedispersion: a %s of %g %s, expected a positive one", what, value,
                    unit);
}

status_t chirp_check(const struct chirp *chirp)
{
    const double most_samples = 4503599627370496.0; /* 2^52: counted exactly */
    const double half_hz = chirp_bandwidth_hz(chirp) / 2;
    const double low_hz = chirp->centre_hz - half_hz;
    double least;
    double most;
    REQUIRE(isfinite(chirp->dm) && chirp->dm >= 0, STATUS_USAGE,
            "coherent dedispersion: a DM of %g pc cm^-3, expected none below 0", chirp->dm);
    REQUIRE(isfinite(dispersion_constant_of(chirp->constant)), STATUS_USAGE,
            "coherent dedispersion: a dispersion constant of %g s MHz^2 pc^-1 cm^3, expected a "
            "positive one",
            chirp->constant);
    TRY(chirp_require(chirp->sample_rate_hz, "sample rate", "Hz"));
    TRY(chirp_require(chirp->reference_hz, "reference frequency", "Hz"));
    REQUIRE(isfinite(low_hz) && low_hz > 0, STATUS_USAGE,
            "coherent dedispersion: a coarse channel covers %.9g .. %.9g Hz, expected a band above "
            "0 Hz",
            low_hz, chirp->centre_hz + half_hz);
    chirp_delays(chirp, &least, &most);
    return REQUIRED(
        least >= -most_samples && most <= most_samples, STATUS_USAGE,
        "coherent dedispersion: at a DM of %g pc cm^-3 a coarse channel that covers %.9g .. "
        "%.9g Hz comes up to %.3g samples after %.9g Hz, expected at most 2^52",
        chirp->dm, low_hz, chirp->centre_hz + half_hz, fmax(fabs(least), fabs(most)),
        chirp->reference_hz);
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
uint64_t chirp_guard(const struct chirp *chirp, double span)
{
    if (chirp->edge_hz > 0) {
        const double guard = ceil(chirp_edge_hz(chirp->sample_rate_hz, 1) / chirp->edge_hz);
        return (uint64_t)fmin(guard, CHIRP_MOST_TAPS);
    }
    const double fade = ceil(4 * sqrt(fmax(span, 0)));
    return fade > LEAST_GUARD ? (uint64_t)fade : LEAST_GUARD;
}

double chirp_edge_hz(double sample_rate_hz, double guard)
{
    return 3.3 * sample_rate_hz / guard;
}

status_t chirp_reach(const struct chirp *chirp, double least, double most, int64_t *first,
                     uint32_t *taps)
{
    const double guard = (double)chirp_guard(chirp, most - least);
    const double begin = floor(least) - guard;
    const double reach = ceil(most) + guard - begin + 1;
    REQUIRE(reach <= CHIRP_MOST_TAPS, STATUS_USAGE,
            "coherent dedispersion: the chirp is %.0f samples long, of which a filter has at most "
            "%d",
            reach, (int)CHIRP_MOST_TAPS);
    *first = (int64_t)begin;
    *taps = (uint32_t)reach;
    return STATUS_OK;
}

/* ---- The response ---- */

/* Window on a circle of `length` samples; sample n weighs the input n samples before a row's. */
struct window {
    uint32_t length;
    int64_t middle; /* of the delays, samples after the row's */
    double off;     /* of the delays' true middle from there */
    double half;    /* of their span */
    double guard;
};

static struct window chirp_window(const struct chirp *chirp, uint32_t length)
{
    double least;
    double most;
    chirp_delays(chirp, &least, &most);
    const double middle = least + (most - least) / 2 - (double)chirp->shift;
    return (struct window){.length = length,
                           .middle = llround(middle),
                           .off = middle - rint(middle),
                           .half = (most - least) / 2,
                           .guard = (double)chirp_guard(chirp, most - least)};
}

/* Returns the window's weight of sample n: 1 within the delays, 0 beyond the guard. */
static double chirp_left(const struct window *w, uint32_t n)
{
    const double steepness = 3.9; /* begins and ends in steps of 2e-8 */
    const uint32_t behind = (uint32_t)(-(int64_t)n - w->middle) & (w->length - 1);
    const double distance = behind < w->length / 2 ? behind : (double)behind - w->length;
    const double outside = (fabs(distance - w->off) - w->half) / w->guard;
    return outside <= 0 ? 1 : outside < 1 ? 0.5 * erfc(steepness * (2 * outside - 1)) : 0;
}

/* Rounding leaves real streams' responses next to real at the ends, and next to symmetric. */
static void chirp_mirror(uint32_t length, double (*h)[2])
{
    h[0][1] = 0;
    h[length / 2][1] = 0;
    for (uint32_t k = 1; k < length / 2; k++) {
        h[length - k][0] = h[k][0];
        h[length - k][1] = -h[k][1];
    }
}

/* A response that threads make together: the bits do not depend on how many. */
struct responding {
    const struct chirp *chirp;
    struct window window;
    uint32_t length, part; /* of the transform that is split or joined, or done in one go */
    double (*table)[2];
    double (*out)[2];
    void (*work)(const struct responding *r, uint64_t tile);
};

static void responding_exact(const struct responding *r, uint64_t tile)
{
    const uint32_t first = (uint32_t)tile * TILE;
    chirp_exact(r->chirp, r->length, first, (uint32_t)min_u64(TILE, r->length), r->out + first);
}

static void responding_step(const struct responding *r, round_trip_step *step, uint64_t tile)
{
    const uint64_t tiles = r->part / 2 / TILE;
    round_trip_halves(step, r->part, (uint32_t)(tile % tiles) * TILE, TILE, r->table,
                      r->out + tile / tiles * r->part);
}

static void responding_split(const struct responding *r, uint64_t tile)
{
    responding_step(r, round_trip_split, tile);
}

static void responding_join(const struct responding *r, uint64_t tile)
{
    responding_step(r, round_trip_join, tile);
}

static void responding_down(const struct responding *r, uint64_t leaf)
{
    round_trip_down(r->part, r->table, r->out + leaf * r->part);
}

static void responding_up(const struct responding *r, uint64_t leaf)
{
    round_trip_up(r->part, r->table, r->out + leaf * r->part);
}

static void responding_fade(const struct responding *r, uint64_t tile)
{
    const uint32_t first = (uint32_t)tile * TILE;
    const uint32_t count = (uint32_t)min_u64(TILE, r->length);
    uint32_t n = 0;
    for (uint32_t bit = 1; bit < r->length; bit *= 2) {
        n |= first & bit ? r->length / 2 / bit : 0;
    }
    for (uint32_t i = first; i < first + count; i++, n = round_trip_next(r->length, n)) {
        const double left = chirp_left(&r->window, n) / r->length;
        r->out[i][0] *= left;
        r->out[i][1] *= r->chirp->is_complex ? left : 0;
    }
}

static void responding_task(void *context, uint32_t thread, uint64_t tile)
{
    const struct responding *r = context;
    (void)thread;
    r->work(r, tile);
}

static void responding_each(struct responding *r, uint64_t tasks,
                            void (*work)(const struct responding *r, uint64_t tile))
{
    r->work = work;
    pool_each(MOST_THREADS, tasks, responding_task, r);
}

void chirp_response(const struct chirp *chirp, uint32_t length, double (*out)[2])
{
    double table[PIECE][2];
    const uint64_t tiles = ceil_div_u64(length, TILE);
    const uint32_t leaf = tiles < LEAVES ? length : length / LEAVES;
    struct responding r = {chirp, chirp_window(chirp, length), length, length, table, out, NULL};
    round_trip_roots(2 * PIECE, 0, PIECE, table);
    responding_each(&r, tiles, responding_exact);
    for (; r.part > leaf; r.part /= 2) {
        responding_each(&r, tiles / 2, responding_split);
    }
    responding_each(&r, length / leaf, responding_down);
    responding_each(&r, tiles, responding_fade);
    responding_each(&r, length / leaf, responding_up);
    while (r.part < length) {
        r.part *= 2;
        responding_each(&r, tiles / 2, responding_join);
    }
    if (!chirp->is_complex) {
        chirp_mirror(length, out);
    }
}

/* Phases of 10^10 turns, accurate to 10^-9 turns. The phase is split into terms linear in
 * frequency, which 64-bit fractions of a turn represent exactly, and one quotient in double-double
 * precision. With A = 1e12 D DM,
 *
 *   A v (1 / r - 1 / v)^2 = A v / r^2 - 2 A / r + A / v.
 *
 * Only IEEE additions, products and quotients are used, no fma() or sin(). So every machine gives
 * the same bits, and compilers vectorise the loops. */

enum { EXACT_PIECE = 256 }; /* frequencies at a time */

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
    double turns[EXACT_PIECE];
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
        uint32_t n = count - done < EXACT_PIECE ? count - done : EXACT_PIECE;
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
            double mirror[EXACT_PIECE][2];
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
