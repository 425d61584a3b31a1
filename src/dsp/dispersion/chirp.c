/* Delays and lengths, and the exact chirp as a filter of a given number of taps. */
#include "dsp/dispersion/chirp.h"

#include "base/memory.h"
#include "base/pool.h"
#include "dsp/chirp_kernels.h"
#include "dsp/dispersion/dispersion.h"

#include <math.h>

enum {
    TILE = 1 << 15, /* points of a task */
    LEAVES = 16,    /* parts of a long transform that threads do in one go: a power of 4 */
    MOST_THREADS = 8
};

SIMD_DEFINE_FIND(chirp_kernels, chirp_kernels)

/* Returns the best kernels of this machine, found once. */
static const struct chirp_kernels *chirp_best(void)
{
    static const struct chirp_kernels *_Atomic best;
    const struct chirp_kernels *kernels = best;
    if (!kernels) {
        best = kernels = chirp_kernels(simd_best());
    }
    return kernels;
}

status_t chirp_roots_create(double (**out)[2])
{
    TRY(memory_aligned(CHIRP_ROOTS, sizeof **out, "roots of unity", out));
    for (uint32_t half = 1; half < CHIRP_ROOTS; half *= 2) {
        for (uint32_t at = 0; at < half; at += CHIRP_PIECE) {
            chirp_best()->roots(2 * half, at, (uint32_t)min_u64(half, CHIRP_PIECE),
                                *out + half + at);
        }
    }
    return STATUS_OK;
}

/* Returns the index after n in bit-reversed order. */
static uint32_t chirp_next(uint32_t length, uint32_t n)
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
    double (*roots)[2];
    double (*out)[2];
    void (*work)(const struct responding *r, uint64_t tile);
};

static void responding_exact(const struct responding *r, uint64_t tile)
{
    const uint32_t first = (uint32_t)tile * TILE;
    chirp_exact(r->chirp, r->length, first, (uint32_t)min_u64(TILE, r->length), r->out + first);
}

static void responding_split(const struct responding *r, uint64_t tile)
{
    const uint64_t tiles = r->part / 4 / TILE;
    chirp_best()->split(r->part, (uint32_t)(tile % tiles) * TILE, TILE, r->roots,
                        r->out + tile / tiles * r->part);
}

static void responding_join(const struct responding *r, uint64_t tile)
{
    const uint64_t tiles = r->part / 4 / TILE;
    chirp_best()->join(r->part, (uint32_t)(tile % tiles) * TILE, TILE, r->roots,
                       r->out + tile / tiles * r->part);
}

static void responding_down(const struct responding *r, uint64_t leaf)
{
    chirp_best()->down(r->part, r->roots, r->out + leaf * r->part);
}

static void responding_up(const struct responding *r, uint64_t leaf)
{
    chirp_best()->up(r->part, r->roots, r->out + leaf * r->part);
}

static void responding_fade(const struct responding *r, uint64_t tile)
{
    const uint32_t first = (uint32_t)tile * TILE;
    const uint32_t count = (uint32_t)min_u64(TILE, r->length);
    uint32_t n = 0;
    for (uint32_t bit = 1; bit < r->length; bit *= 2) {
        n |= first & bit ? r->length / 2 / bit : 0;
    }
    for (uint32_t i = first; i < first + count; i++, n = chirp_next(r->length, n)) {
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

void chirp_response(const struct chirp *chirp, double (*roots)[2], uint32_t length,
                    double (*out)[2])
{
    const uint64_t tiles = ceil_div_u64(length, TILE);
    const uint32_t leaf = tiles < LEAVES ? length : length / LEAVES;
    struct responding r = {chirp, chirp_window(chirp, length), length, length, roots, out, NULL};
    responding_each(&r, tiles, responding_exact);
    for (; r.part > leaf; r.part /= 4) {
        responding_each(&r, tiles / 4, responding_split);
    }
    responding_each(&r, length / leaf, responding_down);
    responding_each(&r, tiles, responding_fade);
    responding_each(&r, length / leaf, responding_up);
    while (r.part < length) {
        r.part *= 4;
        responding_each(&r, tiles / 4, responding_join);
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

/* Converts turns to 2^-64 turns, modulo a turn. */
static uint64_t exact_fixed(double turns)
{
    const double rest = turns - rint(turns);
    const uint64_t size = (uint64_t)(0x1p64 * fabs(rest));
    return rest < 0 ? 0 - size : size;
}

static uint64_t exact_fixed_pair(struct chirp_pair turns)
{
    return exact_fixed(turns.hi) + exact_fixed(turns.lo);
}

/* ---- Phases ---- */

static struct chirp_phases exact_phases(const struct chirp *chirp, uint32_t length)
{
    struct chirp_phases p;
    const double s = chirp->sideband;
    const struct chirp_pair one = {length, 0};
    const struct chirp_pair r = {chirp->reference_hz, 0};
    p.sign = chirp->is_inverse ? s : -s;
    p.dispersion =
        chirp_scale(chirp_product(dispersion_constant_of(chirp->constant), chirp->dm), 1e12);
    p.start_hz = (struct chirp_pair){chirp->centre_hz, 0};
    if (!chirp->is_complex) {
        p.start_hz = chirp_sum(chirp->centre_hz, -s * chirp->sample_rate_hz / 4);
    }
    p.bin_hz = chirp_quotient((struct chirp_pair){s * chirp->sample_rate_hz, 0}, one);
    /* A / r^2 times start - 2 r, and times a bin. */
    const struct chirp_pair slope = chirp_quotient(chirp_quotient(p.dispersion, r), r);
    const struct chirp_pair from =
        chirp_add(p.start_hz, (struct chirp_pair){-2 * chirp->reference_hz, 0});
    struct chirp_pair offset = chirp_scale(slope, from.hi);
    offset = chirp_add(offset, (struct chirp_pair){slope.hi * from.lo, 0});
    struct chirp_pair step = chirp_scale(slope, p.bin_hz.hi);
    step = chirp_add(step, (struct chirp_pair){slope.hi * p.bin_hz.lo, 0});
    p.offset = exact_fixed_pair(chirp_scale(offset, p.sign));
    p.step = exact_fixed_pair(chirp_scale(step, p.sign));
    /* Samples that are taken `shift` later have turned by k shift / length. */
    int64_t shift = chirp->shift % (int64_t)length;
    p.step -= exact_fixed_pair(chirp_quotient((struct chirp_pair){(double)shift, 0}, one));
    return p;
}

void chirp_exact(const struct chirp *chirp, uint32_t length, uint32_t first, uint32_t count,
                 double (*restrict out)[2])
{
    const struct chirp_phases phases = exact_phases(chirp, length);
    const uint32_t half = length / 2 + length % 2; /* from here on frequencies are negative */
    for (uint32_t done = 0; done < count;) {
        const uint32_t k = first + done;
        uint32_t n = count - done < CHIRP_PIECE ? count - done : CHIRP_PIECE;
        if (k < half && half - k < n) {
            n = half - k;
        }
        double(*to)[2] = out + done;
        done += n;
        if (k < half) {
            chirp_best()->fill(&phases, k, n, to);
        } else if (chirp->is_complex) {
            chirp_best()->fill(&phases, (double)k - length, n, to);
        } else {
            /* Conjugates, from the other end. */
            double mirror[CHIRP_PIECE][2];
            chirp_best()->fill(&phases, length - (k + n - 1), n, mirror);
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
