/* Errors are compared with what each number of a spectrum, or of power, is allowed. */
#include "compute/agreement.h"

#include "base/memory.h"
#include "compute/shared/grains.h"

#include <float.h>
#include <math.h>

const double agreement_rms_limit = 5e-7;
const double agreement_worst_limit = 5e-6;

/* Of max|Y| beside the rms. */
static const double line_share = 0.1;

/* Half a step of a float, relative. */
static const double half_step = FLT_EPSILON / 2;

static double agreement_square(double x)
{
    return x * x;
}

/* Takes up an error of numbers whose allowed one is `allowed`, in any unit; `of_y`: as one of Y. */
static void agreement_take(struct agreement *agreement, double error, double allowed, double of_y)
{
    double worst = error > 0 ? error / (allowed + FLT_MIN) * agreement_worst_limit : 0;
    agreement->errors += agreement_square(error);
    if (agreement->filters > 0 && worst > agreement_most_worst(agreement)) {
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
    if (!(isinf(found) && found == expected)) {
        agreement->worst = INFINITY;
    }
    return 0;
}

static void agreement_spectrum(struct agreement *agreement, const float *found,
                               const float *expected, uint64_t channels)
{
    double power = 0;
    double most = 0;
    for (uint64_t i = 0; i < channels; i++) {
        double one = agreement_square((double)expected[2 * i]) +
                     agreement_square((double)expected[2 * i + 1]);
        power += isfinite(one) ? one : 0;
        most = isfinite(one) ? fmax(most, one) : most;
    }
    double unit = sqrt(power / (double)channels) + line_share * sqrt(most);
    for (uint64_t i = 0; i < channels; i++) {
        double error[2] = {0, 0};
        for (int j = 0; j < 2; j++) {
            float a = found[2 * i + (uint64_t)j];
            float b = expected[2 * i + (uint64_t)j];
            error[j] = agreement_are_finite(agreement, a, b) ? (double)a - (double)b : 0;
        }
        double both = hypot(error[0], error[1]);
        agreement_take(agreement, both, unit * agreement_worst_limit, both);
    }
    agreement->numbers += power;
    agreement->power += power;
    agreement->count += (double)channels;
}

/* With |error of Y_i| <= e_i = a r_i + b m_i (rms r_i and maximum m_i of spectrum i), the error of
 * P = sum |Y_i|^2 is at most sum (2 |Y_i| e_i + e_i^2) <= 2 sqrt(P) E + E^2, E^2 = sum e_i^2
 * (Cauchy, Schwarz), and E <= a sqrt(sum r_i^2) + b sqrt(sum m_i^2) (Minkowski). The sum of r_i^2
 * is the mean of P over the channels. Of m_i^2 the product does not keep the sum, which is the
 * greatest P when a line stays in its channel; when it moves, errors do not add up in one
 * direction, and that is enough. To this comes the rounding of P itself: squares, a sum of up to
 * GRAIN of them in single precision, and the result. */
static void agreement_power(struct agreement *agreement, const float *found, const float *expected,
                            uint64_t channels, uint64_t integrate)
{
    double mean = 0;
    double most = 0;
    double numbers = 0;
    double rounding = (double)(min_u64(integrate, GRAIN) + 2) * half_step;
    for (uint64_t i = 0; i < channels; i++) {
        double power = isfinite(expected[i]) ? (double)expected[i] : 0;
        mean += power / (double)channels;
        most = fmax(most, power);
        numbers += agreement_square(power);
    }
    double bound = agreement_worst_limit * (sqrt(mean) + line_share * sqrt(most));
    for (uint64_t i = 0; i < channels; i++) {
        if (agreement_are_finite(agreement, found[i], expected[i])) {
            double power = fabs((double)expected[i]);
            double error = fabs((double)found[i] - (double)expected[i]);
            agreement_take(agreement, error,
                           2 * sqrt(power) * bound + agreement_square(bound) + rounding * power,
                           sqrt(power + error) - sqrt(power));
        }
    }
    agreement->numbers += numbers;
    agreement->power += mean * (double)channels;
    agreement->count += (double)channels;
}

void agreement_row(struct agreement *agreement, enum quantity quantity, const float *found,
                   const float *expected, uint64_t channels, uint64_t integrate)
{
    if (quantity == QUANTITY_SPECTRA) {
        agreement_spectrum(agreement, found, expected, channels);
    } else {
        agreement_power(agreement, found, expected, channels, integrate);
    }
}

void agreement_sums(struct agreement *agreement, const float *found, const float *expected,
                    uint64_t count)
{
    double numbers = 0;
    for (uint64_t i = 0; i < count; i++) {
        numbers += isfinite(expected[i]) ? agreement_square((double)expected[i]) : 0;
    }
    double rms = sqrt(numbers / (double)count);
    for (uint64_t i = 0; i < count; i++) {
        if (agreement_are_finite(agreement, found[i], expected[i])) {
            agreement_take(agreement, fabs((double)found[i] - (double)expected[i]),
                           agreement_worst_limit * fmax(rms, fabs((double)expected[i])), 0);
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
