/* Telescopes' prototypes at other numbers of points, by name, and what undoes their ripple: against
 * sums that are written out. */
#include "base/report.h"
#include "dsp/deripple.h"
#include "dsp/fir/prototype.h"

#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g +- %g", value, expected, tolerance);
    }
}

/* |H| at f channel spacings, of gain 1 at 0. */
static double gain(const double *b, size_t count, uint32_t points, double f)
{
    double complex at = 0;
    double sum = 0;
    for (size_t j = 0; j < count; j++) {
        at += b[j] * cexp(-2 * M_PI * I * f * (double)j / points);
        sum += b[j];
    }
    return cabs(at) / fabs(sum);
}

static double *prototype(struct ratio ratio, uint32_t taps, uint32_t points)
{
    const int is_oversampled = ratio.num > ratio.den;
    const struct prototype_spec spec = {.channels = points,
                                        .taps = taps,
                                        .samples_per_spectrum = points,
                                        .window = is_oversampled ? WINDOW_KAISER : WINDOW_HANN,
                                        .kaiser_beta =
                                            is_oversampled ? oversampled_beta(ratio, taps) : 0,
                                        .cutoff = is_oversampled ? oversampled_cutoff(ratio) : 1,
                                        .normalise = NORMALISE_PEAK};
    double *b = NULL;
    assert_int_equal(prototype_create(&spec, &b), STATUS_OK);
    return b;
}

/* A smooth prototype of few points is that of many, and back; so is its response. */
static void resampled_prototypes_are_one_function(void **state)
{
    (void)state;
    enum { TAPS = 16 };
    static const struct ratio ratio = {4, 3};
    static const uint32_t points[][2] = {{32, 96}, {96, 32}, {48, 64}, {64, 50}, {30, 31}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        const uint32_t from = points[i][0];
        const uint32_t to = points[i][1];
        double *b = prototype(ratio, TAPS, from);
        double *made = NULL;
        double *expected = prototype(ratio, TAPS, to);
        assert_int_equal(prototype_resample(b, TAPS, from, to, RESAMPLE_KEEPS_CENTRE, &made),
                         STATUS_OK);
        const double peak = expected[TAPS * to / 2];
        for (size_t j = 0; j < (size_t)TAPS * to; j++) {
            /* Both sums are 1. What is beyond the band of the fewer points, about 1e-5, is cut. */
            assert_near(made[j] * from / to, expected[j], 3e-5 * peak);
            /* And symmetric. */
            assert_near(made[j], made[(size_t)TAPS * to - 1 - j], 1e-13 * peak * to / from);
        }
        for (double f = 0; f < 0.7; f += 0.09) {
            assert_near(gain(made, (size_t)TAPS * to, to, f), gain(b, (size_t)TAPS * from, from, f),
                        2e-6);
        }
        free(made);
        assert_int_equal(prototype_resample(b, TAPS, from, from, RESAMPLE_KEEPS_CENTRE, &made),
                         STATUS_OK);
        assert_memory_equal(made, b, (size_t)TAPS * from * sizeof *b);
        free(made);
        free(b);
        free(expected);
    }
}

/* One whose middle is no whole coefficient stays where it was, in taps. */
static void resampling_keeps_the_middle(void **state)
{
    (void)state;
    enum { TAPS = 8, FROM = 40, TO = 100 };
    double b[TAPS * FROM];
    double *made = NULL;
    const double middle = 3.7; /* taps from the begin */
    for (int j = 0; j < TAPS * FROM; j++) {
        b[j] = exp(-8 * pow((j + 0.5) / FROM - middle, 2));
    }
    assert_int_equal(prototype_resample(b, TAPS, FROM, TO, RESAMPLE_KEEPS_CENTRE, &made),
                     STATUS_OK);
    for (int j = 0; j < TAPS * TO; j++) {
        assert_near(made[j], exp(-8 * pow((j + 0.5) / TO - middle, 2)), 1e-12);
    }
    free(made);
}

/* One by which phases count keeps its first coefficient's place, and its sum. */
static void resampling_keeps_the_first(void **state)
{
    (void)state;
    enum { TAPS = 8 };
    static const uint32_t points[][2] = {{40, 100}, {100, 40}, {36, 45}, {45, 36}, {45, 27}};
    const double middle = 3.7;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        const uint32_t from = points[i][0];
        const uint32_t to = points[i][1];
        double b[TAPS * 100];
        double *made = NULL;
        for (uint32_t j = 0; j < TAPS * from; j++) {
            b[j] = exp(-8 * pow((double)j / from - middle, 2));
        }
        assert_int_equal(prototype_resample(b, TAPS, from, to, RESAMPLE_KEEPS_FIRST, &made),
                         STATUS_OK);
        for (uint32_t j = 0; j < TAPS * to; j++) {
            assert_near(made[j] * to / from, exp(-8 * pow((double)j / to - middle, 2)), 1e-12);
        }
        free(made);
    }
}

/* Flat to 1e-3 dB within the kept part, of banks as telescopes have; critically sampled ones next
 * to it. The response is that of the coefficients. */
static void deripple_is_flat(void **state)
{
    (void)state;
    static const struct {
        struct ratio ratio;
        uint32_t taps;
        double to, most_reach, db;
    } banks[] = {
        {{32, 27}, 8, 0.5, 100, 1e-3}, {{32, 27}, 20, 0.5, 100, 1e-3}, {{4, 3}, 8, 0.5, 60, 1e-3},
        {{8, 7}, 12, 0.5, 150, 1e-3},  {{1, 1}, 8, 0.49, 2000, 1e-3},
    };
    enum { POINTS = 64 };
    for (size_t i = 0; i < sizeof banks / sizeof *banks; i++) {
        struct deripple d;
        const double width = (double)banks[i].ratio.num / banks[i].ratio.den;
        const size_t count = (size_t)banks[i].taps * POINTS;
        double *b = prototype(banks[i].ratio, banks[i].taps, POINTS);
        assert_int_equal(deripple_make("b", b, count, POINTS, banks[i].ratio, &d), STATUS_OK);
        assert_in_range(d.reach, 5, (int)banks[i].most_reach);
        assert_true(d.left_db < -95);
        double worst = 0;
        double least = 1;
        for (double f = -banks[i].to; f <= banks[i].to; f += 0.005) {
            double h = gain(b, count, POINTS, f);
            least = fmin(least, h);
            worst = fmax(worst, fabs(20 * log10(h * deripple_response(&d, f / width))));
        }
        if (worst > banks[i].db) {
            fail_msg("bank %zu: flat to %g dB", i, worst);
        }
        assert_true(d.ripple_db > 0 && d.ripple_db >= -20 * log10(least) - 1e-3);
        /* Beyond, as it was. */
        assert_near(width > 1 ? deripple_response(&d, 0.5) : 1, 1, 1e-4);
        double *c = calloc(2 * d.reach + 1, sizeof *c);
        assert_non_null(c);
        deripple_coefficients(&d, c);
        for (double turns = -0.5; turns < 0.5; turns += 0.0713) {
            double complex sum = 0;
            for (uint32_t n = 0; n <= 2 * d.reach; n++) {
                sum += c[n] * cexp(-2 * M_PI * I * turns * ((double)n - d.reach));
            }
            assert_near(creal(sum), deripple_response(&d, turns), 1e-12);
            assert_near(cimag(sum), 0, 1e-12);
        }
        free(c);
        free(d.half);
        free(b);
    }
}

static void wrong_points_are_refused(void **state)
{
    (void)state;
    static const struct ratio ratio = {32, 27};
    struct deripple d = {.half = NULL};
    double *b = prototype(ratio, 16, 64);
    report_clear();
    /* Taken for one of half as many points, its channels are half as wide as they should be. */
    assert_int_equal(deripple_make("b.mat", b, 16 * 64, 32, ratio, &d), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "has it 32 points a channel?"));
    report_clear();
    assert_int_equal(deripple_make("b.mat", b, 16 * 64, 2048, ratio, &d), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "1024 coefficients, of 2048 points"));
    report_clear();
    memset(b, 0, 16 * 64 * sizeof *b);
    assert_int_equal(deripple_make("b.mat", b, 16 * 64, 64, ratio, &d), STATUS_USAGE);
    assert_null(d.half);
    report_clear();
    free(b);
}

/* Values of numpy for sinc((arange(8192) - 4096) / 2048) (0.08 + 0.92 hanning(8192)), and for the
 * formula of katgpucbf. */
static void telescopes_are_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t taps, at;
        double value;
    } known[] = {
        {"chime", 4, 0, 0},
        {"chime", 4, 1, -1.9536044923432877e-05},
        {"chime", 4, 1000, -0.043941513404036854},
        {"chime", 4, 3000, 0.5006747812944189},
        {"chime", 4, 4096, 0.9999999661659705},
        {"chime", 4, 8191, -1.953601187433393e-05},
        {"katgpucbf", 16, 1000, -0.0003880948921749655},
        {"katgpucbf", 16, 15000, 0.39432374939337383},
        {"katgpucbf", 16, 16384, 0.9999998996562053},
    };
    struct text names = {0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double *b = NULL;
        const struct telescope *telescope = telescope_find(known[i].name);
        assert_non_null(telescope);
        assert_int_equal(telescope->taps, known[i].taps);
        assert_int_equal(telescope_prototype(telescope, &b), STATUS_OK);
        assert_near(b[known[i].at], known[i].value, 1e-15);
        free(b);
    }
    assert_null(telescope_find("chimes"));
    assert_int_equal(telescope_add_names(&names), STATUS_OK);
    assert_string_equal(names.data, "chime, katgpucbf");
    text_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resampled_prototypes_are_one_function),
        cmocka_unit_test(resampling_keeps_the_middle),
        cmocka_unit_test(resampling_keeps_the_first),
        cmocka_unit_test(deripple_is_flat),
        cmocka_unit_test(wrong_points_are_refused),
        cmocka_unit_test(telescopes_are_as_published),
    };
    return cmocka_run_group_tests_name("telescope", tests, NULL, NULL);
}
