/* Errors are compared with what each number of a spectrum, or of power, is allowed. */
#include "compute/shared/agreement.h"

#include "base/memory.h"
#include "compute/shared/grains.h"

#include <float.h>
#include <math.h>

const double agreement_rms_limit = 5e-7;
const double agreement_worst_limit = 5e-6;

/* Share of max|Y| beside the rms. */
static const double line_share = 0.1;

/* Half a step of a float, relative. */
static const double half_step = FLT_EPSILON / 2;

static double agreement_square(double x)
{
    return x * x;
}

/* The magnitude of a number of the reference; 0 where there is none. */
static double agreement_size(float x)
{
    return isfinite(x) ? fabs((double)x) : 0;
}

/* Bound on the rounding of numbers below FLT_MIN, whose steps have a fixed size. Each operation may
 * round by half a step. The factor 4 allows for later multiplications of these errors. */
static double agreement_least(double operations)
{
    return 4 * ((double)FLT_TRUE_MIN * operations);
}

/* Squares and products of two polarisations, and what becomes of their sums. */
static double agreement_least_power(uint64_t integrate)
{
    return agreement_least(2 * (double)integrate + 4);
}

/* Taps and transforms: errors of sums grow as the root of how many there are. */
static double agreement_least_spectrum(uint64_t channels)
{
    return agreement_least(4 * sqrt((double)channels) + 4);
}

/* Returns the rms of the filters' input; 0 without filters, or if it is unknown. */
static double agreement_input(const struct agreement *agreement)
{
    return agreement->filters > 0 ? agreement->went_in : 0;
}

/* Adds the part of an error beyond `least`, compared with `allowed`; the three have the same unit.
 * `of_y` is the same error as an error of Y. A sum of spectra increases their errors, compared with
 * `went_in`, by the factor `more`. */
static void agreement_take(struct agreement *agreement, double error, double least, double allowed,
                           double of_y, double more)
{
    error = fmax(error - least, 0);
    double worst = error > 0 ? error / (allowed + FLT_MIN) * agreement_worst_limit : 0;
    agreement->errors += agreement_square(error);
    if (agreement_input(agreement) > 0) {
        double of_input = of_y / (more * agreement->went_in);
        agreement->worst = fmax(agreement->worst, fmin(worst, of_input));
    } else if (agreement->filters > 0 && worst > agreement_most_worst(agreement)) {
        agreement->stray = fmax(agreement->stray, of_y);
    } else {
        agreement->worst = fmax(agreement->worst, worst);
    }
}

/* Whether both are numbers; if not, whether they are the same is judged here. */
static int agreement_are_finite(struct agreement *agreement, float found, float expected)
{
    if (isfinite(found) && isfinite(expected)) {
        return 1;
    }
    if (!(isinf(found) && found == expected) && !(isnan(found) && isnan(expected))) {
        agreement->worst = INFINITY;
    }
    return 0;
}

static void agreement_spectrum(struct agreement *agreement, const float *found,
                               const float *expected, uint64_t channels,
                               const struct agreement_whole *whole)
{
    double power = 0;
    double most = 0;
    for (uint64_t i = 0; i < channels; i++) {
        double one = agreement_square((double)expected[2 * i]) +
                     agreement_square((double)expected[2 * i + 1]);
        power += isfinite(one) ? one : 0;
        most = isfinite(one) ? fmax(most, one) : most;
    }
    double mean = whole ? whole->mean : power / (double)channels;
    double unit = sqrt(mean) + line_share * sqrt(whole ? whole->most : most);
    power = fmax(power, mean * (double)channels);
    for (uint64_t i = 0; i < channels; i++) {
        double error[2] = {0, 0};
        for (int j = 0; j < 2; j++) {
            float a = found[2 * i + (uint64_t)j];
            float b = expected[2 * i + (uint64_t)j];
            error[j] = agreement_are_finite(agreement, a, b) ? (double)a - (double)b : 0;
        }
        double both = hypot(error[0], error[1]);
        agreement_take(agreement, both, agreement_least_spectrum(channels),
                       unit * agreement_worst_limit, both, 1);
    }
    agreement->numbers +=
        fmax(power, (double)channels * agreement_square(agreement_input(agreement)));
    agreement->power += power;
    agreement->count += (double)channels;
}

/* Returns the bound of E (see agreement_power()) for a row whose powers have this mean and
 * maximum. */
static double agreement_bound(const float *power, uint64_t channels,
                              const struct agreement_whole *whole)
{
    double mean = whole ? whole->mean : 0;
    double most = whole ? whole->most : 0;
    for (uint64_t i = 0; i < channels && !whole; i++) {
        double one = agreement_size(power[i]);
        mean += one / (double)channels;
        most = fmax(most, one);
    }
    return agreement_worst_limit * (sqrt(mean) + line_share * sqrt(most));
}

/* Returns the reference square of a number of the whole row; errors of power are relative to at
 * least `least`. */
static double agreement_whole_numbers(const struct agreement_whole *whole, double least)
{
    return fmax(whole->mean_square, whole->mean * least);
}

/* Returns the squares of a line to which errors are relative: `numbers`, its own, or as many of the
 * whole rows a and b, whatever is more: of a strong line that is kept alone those are its own. */
static double agreement_numbers(const struct agreement_whole *a, const struct agreement_whole *b,
                                uint64_t channels, double least, double numbers)
{
    return a ? fmax(numbers,
                    sqrt(agreement_whole_numbers(a, least) * agreement_whole_numbers(b, least)) *
                        (double)channels)
             : numbers;
}

/* Compares a number, a power or one that is relative to it. */
static void agreement_number(struct agreement *agreement, float found, float expected, double power,
                             double bound, double rounding, uint64_t integrate)
{
    if (agreement_are_finite(agreement, found, expected)) {
        double error = fabs((double)found - (double)expected);
        agreement_take(agreement, error, agreement_least_power(integrate),
                       2 * sqrt(power) * bound + agreement_square(bound) + rounding * power,
                       sqrt(power + error) - sqrt(power), sqrt((double)integrate));
    }
}

/* With |error of Y_i| <= e_i = a r_i + b m_i (rms r_i and maximum m_i of spectrum i), the error of
 * P = sum |Y_i|^2 is at most sum (2 |Y_i| e_i + e_i^2) <= 2 sqrt(P) E + E^2, E^2 = sum e_i^2
 * (Cauchy, Schwarz), and E <= a sqrt(sum r_i^2) + b sqrt(sum m_i^2) (Minkowski). The sum of r_i^2
 * is the mean of P over the channels. The product does not keep the sum of m_i^2. It is the maximum
 * of P if a line stays in its channel. If the line moves, errors do not add up in one direction,
 * and the maximum of P suffices. The rounding of P itself is added: squares, a sum of up to GRAIN
 * of them in single precision, the result, and a mean over channels, whose error is at most what
 * the same bound gives for the mean. If errors of Y are relative to w, the rms of the filters'
 * input, the rms of all errors is relative to sqrt(P) sqrt(integrate) w. */
static void agreement_power(struct agreement *agreement, const float *found, const float *expected,
                            uint64_t channels, uint64_t integrate,
                            const struct agreement_whole *whole)
{
    double rounding = (double)(min_u64(integrate, GRAIN) + (whole ? 3 : 2)) * half_step;
    double bound = agreement_bound(expected, channels, whole);
    double least = (double)integrate * agreement_square(agreement_input(agreement));
    double numbers = 0;
    for (uint64_t i = 0; i < channels; i++) {
        if (agreement_are_finite(agreement, found[i], expected[i])) {
            double power = fabs((double)expected[i]);
            numbers += power * fmax(power, least);
            agreement->power += whole ? whole->mean : power;
            agreement_number(agreement, found[i], expected[i], power, bound, rounding, integrate);
        }
    }
    agreement->numbers += agreement_numbers(whole, whole, channels, least, numbers);
    agreement->count += (double)channels;
}

/* The same in the norm of fourth powers: with q = S^(1/4), S = sum |Y_i|^4, the error of S is at
 * most (q + E)^4 - S, and E^4 = sum e_i^4 is bounded as there, since r_i^4 is at most the mean of
 * |Y_i|^4 over the channels. Relative errors are twice those of power, and count as such. */
static void agreement_squares(struct agreement *agreement, const float *found,
                              const float *expected, uint64_t channels, uint64_t integrate)
{
    double errors = 0;
    double least = sqrt((double)integrate) * agreement_square(agreement_input(agreement));
    double rounding = (double)(min_u64(integrate, GRAIN) + 6) * half_step;
    double mean = 0;
    double most = 0;
    for (uint64_t i = 0; i < channels; i++) {
        double one = agreement_size(expected[i]);
        mean += one / (double)channels;
        most = fmax(most, one);
        agreement->numbers += one * fmax(one, sqrt(one) * least);
        agreement->power += sqrt(one);
    }
    double bound = agreement_worst_limit * (sqrt(sqrt(mean)) + line_share * sqrt(sqrt(most)));
    for (uint64_t i = 0; i < channels; i++) {
        if (agreement_are_finite(agreement, found[i], expected[i])) {
            double sum = fabs((double)expected[i]);
            double error = fabs((double)found[i] - (double)expected[i]);
            double root = sqrt(sqrt(sum));
            double allowed = agreement_square(agreement_square(root + bound)) - sum;
            agreement_take(agreement, error, agreement_least_power(integrate),
                           allowed + rounding * sum, sqrt(sqrt(sum + error)) - root,
                           sqrt(sqrt((double)integrate)));
            errors += agreement_square(fmax(error - agreement_least_power(integrate), 0));
        }
    }
    agreement->errors -= 0.75 * errors;
    agreement->count += (double)channels;
}

/* The error of sum A B* is at most |A| E_b + |B| E_a + E_a E_b (Cauchy, Schwarz). So are the errors
 * of its real and imaginary parts. Errors are relative to |A| |B|, the largest possible |sum A B*|.
 * For the comparison with the input of filters, E = E_a = E_b solves E^2 + (|A| + |B|) E = error.
 * This also holds when one polarisation is empty. */
static void agreement_cross(struct agreement *agreement, const float *found, const float *expected,
                            const float *a, const float *b, uint64_t channels, uint64_t integrate,
                            const struct agreement_whole *whole)
{
    double rounding = (double)(min_u64(integrate, GRAIN) + 3) * half_step;
    double bound_a = agreement_bound(a, channels, whole);
    double bound_b = agreement_bound(b, channels, whole ? whole + 1 : NULL);
    double least = (double)integrate * agreement_square(agreement_input(agreement));
    double numbers = 0;
    for (uint64_t i = 0; i < channels; i++) {
        double power_a = agreement_size(a[i]);
        double power_b = agreement_size(b[i]);
        numbers += sqrt(power_a * power_b) * fmax(sqrt(power_a * power_b), least);
        if (agreement_are_finite(agreement, found[i], expected[i])) {
            double error = fabs((double)found[i] - (double)expected[i]);
            double half = (sqrt(power_a) + sqrt(power_b)) / 2;
            agreement_take(agreement, error, agreement_least_power(integrate),
                           sqrt(power_a) * bound_b + sqrt(power_b) * bound_a + bound_a * bound_b +
                               rounding * sqrt(power_a * power_b),
                           sqrt(half * half + error) - half, sqrt((double)integrate));
        }
    }
    agreement->numbers +=
        agreement_numbers(whole, whole ? whole + 1 : NULL, channels, least, numbers);
}

void agreement_coherency(struct agreement *agreement, const float *found, const float *expected,
                         uint64_t stride, uint64_t channels, uint64_t integrate,
                         const struct agreement_whole *whole)
{
    agreement_power(agreement, found, expected, channels, integrate, whole);
    agreement_power(agreement, found + stride, expected + stride, channels, integrate,
                    whole ? whole + 1 : NULL);
    for (uint64_t i = 2; i < 4; i++) {
        agreement_cross(agreement, found + i * stride, expected + i * stride, expected,
                        expected + stride, channels, integrate, whole);
    }
}

/* Errors of Q, U and V are at most those of |A|^2 + |B|^2, I (each is a difference, or twice a
 * cross term: 2 |A| E_b + 2 |B| E_a <= 2 sqrt(I) E, E^2 = E_a^2 + E_b^2), and relative to it. */
void agreement_stokes(struct agreement *agreement, const float *found, const float *expected,
                      uint64_t stride, uint64_t channels, uint64_t integrate,
                      const struct agreement_whole *whole)
{
    double rounding = (double)(min_u64(integrate, GRAIN) + 4) * half_step;
    double bound = agreement_bound(expected, channels, whole);
    double least = (double)integrate * agreement_square(agreement_input(agreement));
    double numbers = 0;
    agreement_power(agreement, found, expected, channels, integrate, whole);
    for (uint64_t i = 0; i < 3 * channels; i++) {
        uint64_t at = (i / channels + 1) * stride + i % channels;
        double power = agreement_size(expected[i % channels]);
        numbers += power * fmax(power, least);
        agreement_number(agreement, found[at], expected[at], power, bound, rounding, integrate);
    }
    agreement->numbers += agreement_numbers(whole, whole, 3 * channels, least, numbers);
}

void agreement_row(struct agreement *agreement, enum quantity quantity, const float *found,
                   const float *expected, uint64_t channels, uint64_t integrate,
                   const struct agreement_whole *whole)
{
    if (quantity == QUANTITY_SPECTRA) {
        agreement_spectrum(agreement, found, expected, channels, whole);
    } else if (quantity == QUANTITY_SQUARES) {
        agreement_squares(agreement, found, expected, channels, integrate);
    } else {
        agreement_power(agreement, found, expected, channels, integrate, whole);
    }
}

/* As agreement_cross() has it, |A| E_b + |B| E_a, of a mean. */
void agreement_visibilities(struct agreement *agreement, const float *found, const float *expected,
                            uint64_t stride, uint64_t channels, const struct agreement_whole *whole)
{
    const double unit = whole->mean + line_share * whole->most;
    for (uint64_t i = 0; i < 2 * channels; i++) {
        const uint64_t at = i / 2 * stride + i % 2;
        if (agreement_are_finite(agreement, found[at], expected[at])) {
            double error = fabs((double)found[at] - (double)expected[at]);
            agreement_take(agreement, error, agreement_least_power(GRAIN),
                           2 * unit * agreement_worst_limit, sqrt(unit + error) - sqrt(unit), 1);
        }
    }
    agreement->numbers += (double)channels * agreement_square(whole->mean);
    agreement->power += (double)channels * whole->mean;
    agreement->count += (double)channels;
}

void agreement_sums(struct agreement *agreement, const float *found, const float *expected,
                    uint64_t count, double terms)
{
    double numbers = 0;
    for (uint64_t i = 0; i < count; i++) {
        numbers += isfinite(expected[i]) ? agreement_square((double)expected[i]) : 0;
    }
    numbers = fmax(numbers, (double)count * agreement_square(terms));
    double rms = sqrt(numbers / (double)count);
    for (uint64_t i = 0; i < count; i++) {
        if (agreement_are_finite(agreement, found[i], expected[i])) {
            agreement_take(agreement, fabs((double)found[i] - (double)expected[i]),
                           agreement_least(sqrt((double)count)),
                           agreement_worst_limit * fmax(rms, fabs((double)expected[i])), 0, 1);
        }
    }
    agreement->numbers += numbers;
}

double agreement_rms(const struct agreement *agreement)
{
    return agreement->errors > 0 ? sqrt(agreement->errors / agreement->numbers) : 0;
}

double agreement_worst(const struct agreement *agreement)
{
    double rms = agreement->count > 0 ? sqrt(agreement->power / agreement->count) : 0;
    return agreement->stray > 0 ? fmax(agreement->worst, agreement->stray / (rms + FLT_MIN))
                                : agreement->worst;
}

double agreement_most_rms(const struct agreement *agreement)
{
    return (1 + 2.0 * agreement->filters) * agreement_rms_limit;
}

double agreement_most_worst(const struct agreement *agreement)
{
    return (1 + 2.0 * agreement->filters) * agreement_worst_limit;
}

int agreement_holds(const struct agreement *agreement)
{
    return agreement_rms(agreement) <= agreement_most_rms(agreement) &&
           agreement_worst(agreement) <= agreement_most_worst(agreement);
}
