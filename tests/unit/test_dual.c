/* Dual prototypes: what they leave of white noise, as measured elsewhere; the equations of perfect
 * reconstruction themselves; the fewest taps. */
#include "base/memory.h"
#include "dsp/fir/dual.h"
#include "dsp/fir/prototype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double *design(uint32_t points, struct ratio ratio, uint32_t taps)
{
    double *coeff = NULL;
    const int is_critical = ratio.num == ratio.den;
    const struct prototype_spec spec = {.channels = points,
                                        .taps = taps,
                                        .samples_per_spectrum = points,
                                        .window = is_critical ? WINDOW_HANN : WINDOW_KAISER,
                                        .kaiser_beta =
                                            is_critical ? 0 : oversampled_beta(ratio, taps),
                                        .cutoff = oversampled_cutoff(ratio),
                                        .normalise = NORMALISE_PEAK};
    assert_int_equal(prototype_create(&spec, &coeff), STATUS_OK);
    return coeff;
}

static struct dual_bank bank_of(uint32_t points, struct ratio ratio, uint32_t taps)
{
    return (struct dual_bank){.coeff = design(points, ratio, taps),
                              .points = points,
                              .taps = taps,
                              .hop = points / ratio.num * ratio.den};
}

static void bank_free(struct dual_bank *bank)
{
    double *coeff = (double *)(uintptr_t)bank->coeff;
    free(coeff);
}

/* numpy's least squares of the same banks give these to the tenth of a dB. */
static void errors_are_those_of_an_svd(void **state)
{
    (void)state;
    static const struct {
        uint32_t points;
        struct ratio ratio;
        uint32_t taps, dual;
        double error_db, noise;
    } cases[] = {{64, {32, 27}, 16, 16, -71.3, 0.95}, {64, {32, 27}, 16, 24, -101.5, 0.91},
                 {64, {32, 27}, 35, 17, -68.0, 0.92}, {64, {32, 27}, 35, 35, -124.8, 0.92},
                 {48, {4, 3}, 8, 12, -91.3, 0.85},    {48, {4, 3}, 8, 16, -136.4, 0.87},
                 {64, {8, 7}, 24, 36, -112.5, 0.92},  {64, {2, 1}, 4, 4, -250, 0.55},
                 {64, {1, 1}, 8, 8, -17, 1.0},        {64, {1, 1}, 8, 32, -28, 1.0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dual_bank bank = bank_of(cases[i].points, cases[i].ratio, cases[i].taps);
        struct dual dual;
        assert_int_equal(dual_create(&bank, cases[i].dual, &dual), STATUS_OK);
        if (cases[i].error_db <= -250) {
            assert_true(dual.error_db < cases[i].error_db);
        } else {
            const double allowed = cases[i].ratio.num == 1 ? 1 : 0.6;
            if (fabs(dual.error_db - cases[i].error_db) > allowed ||
                (cases[i].ratio.num > 1 && fabs(dual.noise - cases[i].noise) > 0.02)) {
                fail_msg("case %zu: %g dB, noise %g", i, dual.error_db, dual.noise);
            }
        }
        free(dual.coeff);
        bank_free(&bank);
    }
}

/* C sum_s g[n - s D] b[n + k C - s D] = (k == 0), summed over all s for some n, as dual.h says. */
static void equations_hold(void **state)
{
    (void)state;
    enum { POINTS = 64, TAPS = 16, DUAL = 32, HOP = 54 };
    struct dual_bank bank = bank_of(POINTS, (struct ratio){32, 27}, TAPS);
    struct dual dual;
    assert_int_equal(dual_create(&bank, DUAL, &dual), STATUS_OK);
    assert_int_equal(dual.first, -(DUAL - TAPS) / 2 * POINTS);
    for (int64_t n = 0; n < 200; n += 7) {
        for (int64_t k = -40; k <= 40; k++) {
            double sum = 0;
            for (int64_t s = -100; s < 100; s++) {
                const int64_t at = n - s * HOP - dual.first;
                const int64_t of = n + k * POINTS - s * HOP;
                if (at >= 0 && at < DUAL * POINTS && of >= 0 && of < TAPS * POINTS) {
                    sum += POINTS * dual.coeff[at] * bank.coeff[of];
                }
            }
            assert_true(fabs(sum - (k == 0)) < 1e-6);
        }
    }
    struct dual again = dual;
    again.error_db = again.noise = 0;
    assert_int_equal(dual_measure(&bank, &again), STATUS_OK);
    assert_true(fabs(again.error_db - dual.error_db) < 1e-9);
    assert_true(fabs(again.noise - dual.noise) < 1e-9);
    dual.coeff[DUAL * POINTS / 2] *= 1.01; /* and what is not the dual is seen */
    assert_int_equal(dual_measure(&bank, &dual), STATUS_OK);
    assert_true(dual.error_db > -80);
    free(dual.coeff);
    bank_free(&bank);
}

static void fewest_taps_are_found(void **state)
{
    (void)state;
    struct dual_bank bank = bank_of(64, (struct ratio){32, 27}, 16);
    struct dual dual;
    struct dual fewer;
    assert_int_equal(dual_design(&bank, -100, 64, &dual), STATUS_OK);
    assert_true(dual.error_db <= -100 && dual.taps > 16 && dual.taps <= 24);
    assert_int_equal(dual_create(&bank, dual.taps - 1, &fewer), STATUS_OK);
    assert_true(fewer.error_db > -100);
    free(fewer.coeff);
    free(dual.coeff);
    bank_free(&bank);
    bank = bank_of(32, (struct ratio){1, 1}, 8);
    assert_int_equal(dual_design(&bank, -100, 20, &dual), STATUS_OK);
    assert_int_equal(dual.taps, 20);
    assert_true(dual.error_db < -20 && dual.error_db > -40);
    free(dual.coeff);
    bank_free(&bank);
}

/* A bank of one tap has its dual at once; one that is zero has none. */
static void simple_banks(void **state)
{
    (void)state;
    enum { POINTS = 8 };
    double ones[POINTS] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct dual_bank bank = {.coeff = ones, .points = POINTS, .taps = 1, .hop = POINTS};
    struct dual dual;
    assert_int_equal(dual_create(&bank, 1, &dual), STATUS_OK);
    for (int i = 0; i < POINTS; i++) {
        assert_true(fabs(dual.coeff[i] - 1.0 / POINTS) < 1e-12);
    }
    assert_true(dual.error_db < -250 && fabs(dual.noise - 1) < 1e-9 && dual.first == 0);
    free(dual.coeff);
    memset(ones, 0, sizeof ones);
    assert_int_equal(dual_create(&bank, 1, &dual), STATUS_USAGE);
    report_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_those_of_an_svd),
        cmocka_unit_test(equations_hold),
        cmocka_unit_test(fewest_taps_are_found),
        cmocka_unit_test(simple_banks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
