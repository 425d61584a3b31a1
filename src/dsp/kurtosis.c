/* The density of a Pearson distribution is integrated from its differential equation: one way for
 * all types. */
#include "dsp/kurtosis.h"

void kurtosis_moments(uint64_t count, double moments[3])
{
    double m = (double)count;
    double two = (m + 2) * (m + 3);
    double four = two * (m + 4) * (m + 5);
    moments[0] = 4 * m * m / ((m - 1) * two);
    moments[1] = 16 * m * m * m * (5 * m - 7) / ((m - 1) * (m - 1) * four);
    moments[2] = 48 * m * m * m * m * (m * m * m + 98 * m * m - 185 * m + 78) /
                 ((m - 1) * (m - 1) * (m - 1) * four * (m + 6) * (m + 7));
}

/* p' / p = -(a + x) / (c0 + c1 x + c2 x^2), x in standard deviations from the mean. */
struct pearson {
    double a, c0, c1, c2;
};

static struct pearson pearson_of(const double moments[3])
{
    double skew = moments[1] / (moments[0] * sqrt(moments[0]));
    double beta1 = skew * skew;
    double beta2 = moments[2] / (moments[0] * moments[0]);
    double all = 10 * beta2 - 12 * beta1 - 18;
    double c1 = skew * (beta2 + 3) / all;
    return (struct pearson){c1, (4 * beta2 - 3 * beta1) / all, c1,
                            (2 * beta2 - 3 * beta1 - 6) / all};
}

/* Returns the slope of the density's logarithm. The density ends where the polynomial is not
 * positive. */
static double pearson_slope(const struct pearson *p, double x)
{
    double below = p->c0 + (p->c1 + p->c2 * x) * x;
    return below > 0 ? -(p->a + x) / below : -INFINITY;
}

enum {
    STEPS = 256,        /* a standard deviation */
    PEARSON_REACH = 400 /* standard deviations: heavy tails have ended */
};
static const double pearson_nothing = 1e-22;

/* Returns the change of the logarithm of the density from step i to the next. */
static double pearson_change(const struct pearson *p, double step, uint64_t i)
{
    double x = (double)i * step;
    double slopes =
        pearson_slope(p, x) + 4 * pearson_slope(p, x + step / 2) + pearson_slope(p, x + step);
    return isfinite(slopes) ? slopes * step / 6 : -INFINITY;
}

/* One side of the mean, to which `step` goes: steps until the density is nothing beside that at the
 * mean, the logarithm of what it is there, and the area. */
struct side {
    uint64_t steps;
    double log_density, area;
};

static struct side pearson_side(const struct pearson *p, double step)
{
    struct side side = {0, 0, 0};
    double density = 1;
    while (side.steps < (uint64_t)PEARSON_REACH * STEPS) {
        double change = pearson_change(p, step, side.steps);
        double next = exp(side.log_density + change);
        side.area += (density + next) / 2 * fabs(step);
        if (!(next > pearson_nothing)) {
            break;
        }
        side.log_density += change;
        density = next;
        side.steps++;
    }
    return side;
}

/* Finds the place beyond which the area is `beyond`. Integrates from the side's end inwards, so
 * that small areas keep their digits. */
static double pearson_limit(const struct pearson *p, double step, const struct side *side,
                            double beyond)
{
    double log_density = side->log_density;
    double area = 0;
    for (uint64_t i = side->steps; i > 0; i--) {
        double before = log_density - pearson_change(p, step, i - 1);
        double part = (exp(log_density) + exp(before)) / 2 * fabs(step);
        if (area + part >= beyond) {
            return ((double)i - (beyond - area) / part) * step;
        }
        area += part;
        log_density = before;
    }
    return 0;
}

struct kurtosis_limits kurtosis_limits(uint64_t count, double sigma)
{
    static const double step = 1.0 / STEPS;
    double moments[3];
    kurtosis_moments(count, moments);
    struct pearson p = pearson_of(moments);
    struct side left = pearson_side(&p, -step);
    struct side right = pearson_side(&p, step);
    double beyond = erfc(sigma / sqrt(2)) / 2 * (left.area + right.area);
    double deviation = sqrt(moments[0]);
    return (struct kurtosis_limits){
        (float)(1 + deviation * pearson_limit(&p, -step, &left, beyond)),
        (float)(1 + deviation * pearson_limit(&p, step, &right, beyond))};
}
