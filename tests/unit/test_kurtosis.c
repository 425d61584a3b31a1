/* Spectral kurtosis: its moments where they are known otherwise, limits by what noise does. */
#include "dsp/kurtosis.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void near_to(double found, double expected, double most)
{
    if (!(fabs(found - expected) <= most)) {
        fail_msg("%.9g, expected %.9g within %.2g", found, expected, most);
    }
}

static void of_known_powers(void **state)
{
    (void)state;
    /* All alike: M S2 = S1^2. One of M: M S2 / S1^2 = M. */
    near_to((double)kurtosis_of(64, 64 * 3, 64 * 9), 0, 1e-12);
    near_to((double)kurtosis_of(64, 5, 25), 65, 1e-5);
    near_to((double)kurtosis_of(64, 5e-12F, 25e-24F), 65, 1e-3);
    assert_true(isnan(kurtosis_of(64, 0, 0)));
    assert_true(isnan(kurtosis_of(64, 1e-20F, 1e-40F)));
    assert_true(isnan(kurtosis_of(64, 1e20F, INFINITY)));
    assert_true(isnan(kurtosis_of(64, NAN, 1)));
}

/* Moments of two powers with the shares p, 1 - p, where p is uniform: K = 3 u^2, u uniform in -1 ..
 * 1. */
static void moments_of_two(void **state)
{
    double moments[3];
    (void)state;
    kurtosis_moments(2, moments);
    near_to(moments[0], 9.0 / 5 - 1, 1e-12);
    near_to(moments[1], 27.0 / 7 - 27.0 / 5 + 2, 1e-12);
    near_to(moments[2], 81.0 / 9 - 108.0 / 7 + 54.0 / 5 - 3, 1e-12);
}

/* Many spectra make it a Gaussian of variance 4 / M. */
static void limits_of_many(void **state)
{
    (void)state;
    for (int sigma = 1; sigma <= 6; sigma++) {
        struct kurtosis_limits limits = kurtosis_limits(UINT64_C(1) << 36, sigma);
        double step = sigma * 2 / sqrt(0x1p36);
        near_to((double)limits.high, 1 + step, 2e-7 + step / 1000);
        near_to((double)limits.low, 1 - step, 2e-7 + step / 1000);
    }
}

static double draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*state >> 11) + 0.5) / 0x1p53;
}

/* How often noise lies beyond its limits on either side: as often as a Gaussian does. */
static void limits_of_noise(void **state)
{
    enum { DRAWS = 40000 };
    static const struct {
        uint64_t spectra;
        double sigma;
    } cases[] = {{64, 1}, {64, 2}, {64, 3}, {256, 2}, {1024, 2}};
    uint64_t seed = 5;
    (void)state;
    for (int c = 0; c < 5; c++) {
        uint64_t draws = DRAWS * 64 / cases[c].spectra;
        struct kurtosis_limits limits = kurtosis_limits(cases[c].spectra, cases[c].sigma);
        double below = 0;
        double above = 0;
        for (uint64_t i = 0; i < draws; i++) {
            double s1 = 0;
            double s2 = 0;
            for (uint64_t k = 0; k < cases[c].spectra; k++) {
                double power = -log(draw(&seed));
                s1 += power;
                s2 += power * power;
            }
            float value = kurtosis_of(cases[c].spectra, (float)s1, (float)s2);
            below += value < limits.low ? 1 : 0;
            above += value > limits.high ? 1 : 0;
        }
        /* The expected count, within 4 of its own deviations and the error of Pearson's fit at
         * small M. */
        double expected = erfc(cases[c].sigma / sqrt(2)) / 2 * (double)draws;
        double most = 4 * sqrt(expected) + 0.3 * expected * 64 / (double)cases[c].spectra;
        near_to(below, expected, most);
        near_to(above, expected, most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_known_powers), cmocka_unit_test(moments_of_two),
        cmocka_unit_test(limits_of_many), cmocka_unit_test(limits_of_noise)};
    return cmocka_run_group_tests_name("kurtosis", tests, NULL, NULL);
}
