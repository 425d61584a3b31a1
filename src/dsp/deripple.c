/* The response on a fine grid, its impulse response, and how much of that matters. */
#include "dsp/deripple.h"

#include "base/memory.h"
#include "dsp/dft.h"

#include <math.h>
#include <stdlib.h>

enum { GRID = 1 << 15, MOST_REACH = 1 << 13, MOST_TAPS = 1 << 10 };

static const double kept = 0.5;       /* of the channel spacing */
static const double least_gain = 0.1; /* of a prototype in the kept part */
static const double left_energy = 1e-10;

/* Returns |H(f)|^2, f in channel spacings, by the plain sum. */
static double deripple_power(const double *coeff, uint64_t count, uint32_t points, double f)
{
    const double complex step = cexp(-2 * M_PI * I * f / points);
    double complex sum = 0;
    enum { BLOCK = 256 }; /* after which phases are exact again */
    for (uint64_t from = 0; from < count; from += BLOCK) {
        double complex turned = cexp(-2 * M_PI * I * fmod(f * (double)from / points, 1));
        uint64_t end = from + BLOCK < count ? from + BLOCK : count;
        for (uint64_t j = from; j < end; j++) {
            sum += coeff[j] * turned;
            turned *= step;
        }
    }
    return creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
}

/* Returns sum_n a[n] cos(n phase), with half of a[0], by Clenshaw's algorithm. */
static double deripple_sum(const double *a, uint32_t count, double cosine)
{
    double above = 0;
    double here = 0;
    for (uint32_t n = count - 1; n > 0; n--) {
        double next = 2 * cosine * here - above + a[n];
        above = here;
        here = next;
    }
    return cosine * here - above + a[0] / 2;
}

/* |H|^2 for |f| <= edge as a series of Chebyshev's polynomials: of a filter of T taps it takes
 * about 2 pi T edge of them to be exact. */
static void deripple_expand(const double *coeff, uint64_t count, uint32_t points, double edge,
                            uint32_t order, double *series)
{
    for (uint32_t i = 0; i < order; i++) {
        const double at = cos(M_PI * (i + 0.5) / order);
        const double power = deripple_power(coeff, count, points, edge * at);
        for (uint32_t k = 0; k < order; k++) {
            series[k] += 2 * power / order * cos(M_PI * fmod(k * (i + 0.5) / order, 2));
        }
    }
}

/* Returns the share of R that is corrected at a frequency: from 1 (inside) to 0 (at the channel's
 * edge). */
static double deripple_left(double f, double edge)
{
    const double steepness = 3.9; /* begins and ends in steps of 2e-8 */
    return f <= kept ? 1 : 0.5 * erfc(steepness * (2 * (f - kept) / (edge - kept) - 1));
}

/* Computes the response at the grid's frequencies, which are symmetric. */
static status_t deripple_fill(const char *who, const double *coeff, uint64_t count, uint32_t points,
                              double edge, double *ripple_db, double complex *grid)
{
    const double centre = deripple_power(coeff, count, points, 0);
    const uint32_t order = 64 + 8 * (uint32_t)ceil_div_u64(count, points);
    SCOPED(free_at) double *series = NULL;
    REQUIRE(centre > 0, STATUS_USAGE, "%s: it has no gain at the centre of a channel", who);
    TRY(memory_zeroed(order, sizeof *series, "a response", &series));
    deripple_expand(coeff, count, points, edge, order, series);
    *ripple_db = 0;
    for (uint32_t k = 0; k <= GRID / 2; k++) {
        double at = 2.0 * k / GRID;
        double f = edge * at;
        double gain = sqrt(fmax(deripple_sum(series, order, at), 0) / centre);
        REQUIRE(f > kept || gain >= least_gain, STATUS_USAGE,
                "%s: at %.3g of the channel spacing from the centre it is down by %.1f dB, "
                "expected at most 20 up to a half: has it %u points a channel?",
                who, f, -20 * log10(gain), points);
        *ripple_db = f <= kept ? fmax(*ripple_db, fabs(20 * log10(gain))) : *ripple_db;
        /* Beyond the kept part it may fall far. */
        grid[k] = 1 + (1 / fmax(gain, least_gain) - 1) * deripple_left(f, edge);
        grid[k > 0 ? GRID - k : 0] = grid[k];
    }
    return STATUS_OK;
}

SCOPED_CALLS(deripple_free, struct deripple, free(at->half))

status_t deripple_make(const char *who, const double *coeff, uint64_t count, uint32_t points,
                       struct ratio ratio, struct deripple *out)
{
    SCOPED(deripple_free) struct deripple made = {0};
    SCOPED(free_at) double complex *grid = NULL;
    SCOPED(free_at) double complex *impulse = NULL;
    double all = 0;
    double left = 0;
    REQUIRE(points > 0 && count >= points && count / points <= MOST_TAPS, STATUS_USAGE,
            "%s: %llu coefficients, of %u points a channel, expected 1 to %d times as many", who,
            (unsigned long long)count, points, MOST_TAPS);
    TRY(memory_zeroed(GRID, sizeof *grid, "a response", &grid));
    TRY(memory_zeroed(GRID, sizeof *impulse, "a response", &impulse));
    TRY(deripple_fill(who, coeff, count, points, (double)ratio.num / ratio.den / 2, &made.ripple_db,
                      grid));
    TRY(dft_forward(GRID, grid, impulse));
    for (uint32_t n = 0; n <= GRID / 2; n++) {
        impulse[n] = creal(impulse[n]) / GRID;
        all += (n == 0 ? 1 : 2) * creal(impulse[n]) * creal(impulse[n]);
    }
    made.reach = GRID / 2;
    while (made.reach > 0) {
        double more = left + 2 * creal(impulse[made.reach]) * creal(impulse[made.reach]);
        if (more > left_energy * all && made.reach <= MOST_REACH) {
            break;
        }
        left = more;
        made.reach--;
    }
    TRY(memory_zeroed(made.reach + 1, sizeof *made.half, "coefficients of a filter", &made.half));
    for (uint32_t n = 0; n <= made.reach; n++) {
        made.half[n] = creal(impulse[n]);
    }
    made.left_db = 10 * log10(left / all);
    *out = made;
    made.half = NULL;
    return STATUS_OK;
}

void deripple_coefficients(const struct deripple *deripple, double *out)
{
    for (uint32_t n = 0; n <= deripple->reach; n++) {
        out[deripple->reach - n] = out[deripple->reach + n] = deripple->half[n];
    }
}

double deripple_response(const struct deripple *deripple, double turns)
{
    return 2 * deripple_sum(deripple->half, deripple->reach + 1, cos(2 * M_PI * turns));
}
