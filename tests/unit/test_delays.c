/* Delays against numbers computed directly, and the plans against what they promise. */
#include "dsp/dispersion/ddplan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void clear(void)
{
    report_clear();
}

/* DM 100 between 1400 and 1500 MHz, by hand: 4149.3775933609958 * 100 * (1 / 1.96e6 - 1 / 2.25e6)
 * = 27.286... ms; between 1450 and 1500 MHz 12.9377... ms. */
static void delays_are_the_formula(void **state)
{
    (void)state;
    const double freq[] = {1400e6, 1500e6, 1450e6};
    const double dms[] = {0, 100, 0.01};
    struct dispersion_spec spec = {
        .freq_hz = freq, .nchannels = 3, .sample_seconds = 1e-4, .dms = dms, .ndms = 3};
    const uint32_t expected[] = {0, 0, 0, 273, 0, 129, 0, 0, 0};
    struct dispersion delays = {0};
    assert_int_equal(dispersion_create(&spec, &delays), STATUS_OK);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(delays.table[i], expected[i]);
    }
    assert_int_equal(delays.largest, 273);
    assert_int_equal(delays.origin, 0);
    dispersion_free(&delays);
}

/* Tables are filled without round(): halves and their neighbours come out as it does. */
static void delays_are_rounded(void **state)
{
    (void)state;
    enum { CHANNELS = 50, DMS = 400 };
    double freq[CHANNELS];
    double dms[DMS];
    for (int c = 0; c < CHANNELS; c++) {
        freq[c] = 1e6 / sqrt(1 + (double)c / 2); /* slopes of c / 2 */
    }
    for (int d = 0; d < DMS; d++) {
        dms[d] = d % 2 ? d : nextafter(d, d % 4 ? 0 : DMS);
    }
    for (int below = 0; below < 2; below++) {
        struct dispersion_spec spec = {.freq_hz = freq,
                                       .nchannels = CHANNELS,
                                       .reference_hz = below ? freq[CHANNELS - 1] : 0,
                                       .constant = 1,
                                       .sample_seconds = 1,
                                       .dms = dms,
                                       .ndms = DMS};
        struct dispersion delays = {0};
        double top = below ? freq[CHANNELS - 1] : freq[0];
        assert_int_equal(dispersion_create(&spec, &delays), STATUS_OK);
        for (int i = 0; i < CHANNELS * DMS; i++) {
            double mhz = 1e-6 * freq[i % CHANNELS];
            double slope = 1 / (mhz * mhz) - 1 / (1e-6 * top * (1e-6 * top));
            assert_int_equal(delays.table[i] + delays.origin,
                             (int64_t)round(dms[i / CHANNELS] * slope));
        }
        dispersion_free(&delays);
    }
}

/* With another reference outputs begin elsewhere, and differences stay. */
static void reference_moves_the_origin(void **state)
{
    (void)state;
    const double freq[] = {1400e6, 1500e6};
    const double dms[] = {100};
    struct dispersion_spec spec = {
        .freq_hz = freq, .nchannels = 2, .sample_seconds = 1e-5, .dms = dms, .ndms = 1};
    struct dispersion delays = {0};
    for (int i = 0; i < 3; i++) {
        const double references[] = {1400e6, 1e6, 1e15};
        double d = 1e5 * 100 / 2.41e-4;
        spec.reference_hz = references[i];
        double r = 1e-6 * references[i];
        double high = round(d * (1 / (1500. * 1500.) - 1 / (r * r)));
        double low = round(d * (1 / (1400. * 1400.) - 1 / (r * r)));
        if (fabs(high) > 1 << 30) {
            assert_int_equal(dispersion_create(&spec, &delays), STATUS_USAGE);
            clear();
            continue;
        }
        assert_int_equal(dispersion_create(&spec, &delays), STATUS_OK);
        assert_int_equal(delays.origin, (int64_t)high);
        assert_int_equal(delays.table[1], 0);
        assert_int_equal(delays.table[0], (uint32_t)(low - high));
        dispersion_free(&delays);
    }
}

static void constants_have_names(void **state)
{
    (void)state;
    double value = 0;
    assert_true(dispersion_constant("tempo", &value));
    assert_true(value == 1 / 2.41e-4 && value == dispersion_default_constant);
    assert_true(dispersion_constant("4148.808", &value) && value == 4148.808);
    assert_true(dispersion_constant("handbook", &value) && value == 4148.808);
    assert_true(dispersion_constant("sigproc", &value) && value == 4148.741601);
    assert_true(dispersion_constant("codata", &value) && value == 4148.8064239);
    assert_false(dispersion_constant("-3", &value));
    assert_false(dispersion_constant("0", &value));
    assert_false(dispersion_constant("nan", &value));
    assert_false(dispersion_constant("plasma", &value));
}

static void linear_lists(void **state)
{
    (void)state;
    double *dms = NULL;
    assert_int_equal(dispersion_linear(3, 0.25, 5, &dms), STATUS_OK);
    for (int i = 0; i < 5; i++) {
        assert_true(dms[i] == 3 + 0.25 * i);
    }
    free(dms);
    assert_int_equal(dispersion_linear(3, 0, 2, &dms), STATUS_USAGE);
    clear();
    assert_int_equal(dispersion_linear(-1, 1, 2, &dms), STATUS_USAGE);
    clear();
}

static double *make_band(double bottom, double width, uint32_t n)
{
    double *freq = calloc(n, sizeof *freq);
    assert_non_null(freq);
    for (uint32_t c = 0; c < n; c++) {
        freq[c] = bottom + width * c;
    }
    return freq;
}

static void wrong_numbers_are_refused(void **state)
{
    (void)state;
    const double freq[] = {1400e6, 1500e6};
    const double zero[] = {0, 1500e6};
    const double flat[] = {1400e6, 1400e6};
    const double dms[] = {1, -1};
    struct dispersion_spec good = {
        .freq_hz = freq, .nchannels = 2, .sample_seconds = 1e-4, .dms = dms, .ndms = 1};
    struct dispersion delays = {0};
    struct dispersion_spec bad[4] = {good, good, good, good};
    bad[0].freq_hz = zero;
    bad[1].ndms = 2;
    bad[2].sample_seconds = 0;
    bad[3].nchannels = 0;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(dispersion_create(&bad[i], &delays), STATUS_USAGE);
        clear();
    }
    double *list = NULL;
    uint32_t count = 0;
    assert_int_equal(dispersion_tolerant(&good, 0, 100, 0, 1, 100, &list, &count), STATUS_USAGE);
    clear();
    assert_int_equal(dispersion_tolerant(&good, 0, 1e6, 0, 1.01, 10, &list, &count), STATUS_USAGE);
    clear();
    good.freq_hz = flat;
    assert_int_equal(dispersion_tolerant(&good, 0, 100, 0, 1.25, 100, &list, &count), STATUS_USAGE);
    clear();
    good.freq_hz = freq;
    good.nchannels = 1;
    assert_int_equal(dispersion_tolerant(&good, 0, 100, 0, 1.25, 100, &list, &count), STATUS_USAGE);
    clear();
}

/* Every step of the list smears as much as was allowed, by the formula of the header. */
static void tolerance_is_used_up(void **state)
{
    (void)state;
    enum { N = 512, MOST = 100000 };
    double *freq = make_band(1182.1e6, 0.78e6, N);
    struct dispersion_spec spec = {.freq_hz = freq, .nchannels = N, .sample_seconds = 64e-6};
    double *dms = NULL;
    uint32_t count = 0;
    double width = 40e-6;
    double tolerance = 1.25;
    double f = 0.5e-6 * (freq[0] + freq[N - 1]);
    double a = 2 / 2.41e-4 * 0.78 / (f * f * f);
    double b = a * N / 4;
    double fixed = 64e-6 * 64e-6 + width * width;
    assert_int_equal(dispersion_tolerant(&spec, 10, 2000, width, tolerance, MOST, &dms, &count),
                     STATUS_OK);
    assert_true(count > 10 && dms[0] == 10 && dms[count - 1] >= 2000 && dms[count - 2] < 2000);
    for (uint32_t i = 0; i + 1 < count; i++) {
        double step = dms[i + 1] - dms[i];
        double before = fixed + a * a * dms[i] * dms[i];
        double after = fixed + a * a * dms[i + 1] * dms[i + 1] + b * b * step * step;
        assert_true(step > 0);
        assert_true(fabs(sqrt(after / before) - tolerance) < 1e-9);
    }
    struct ddplan_range ranges[DDPLAN_RANGES];
    report_quiet(1);
    assert_int_equal(ddplan_make(&spec, 0, 2000, width, 0.9, MOST, ranges, &count), STATUS_USAGE);
    report_clear();
    free(dms);
    free(freq);
}

/* Whatever the plan says, a sample is at most `error` off, and within the input. */
static void check_steps(const struct dispersion *delays, uint32_t group, struct subbands *steps)
{
    uint32_t worst = 0;
    assert_int_equal(subbands_create(delays, group, steps), STATUS_OK);
    assert_int_equal(steps->first[0], 0);
    assert_int_equal(steps->first[steps->nsteps], delays->ndms);
    for (uint32_t k = 0; k < steps->nsteps; k++) {
        assert_true(steps->first[k] < steps->first[k + 1]);
        for (uint32_t d = steps->first[k]; d < steps->first[k + 1]; d++) {
            for (uint32_t c = 0; c < delays->nchannels; c++) {
                int64_t exact = delays->table[(size_t)d * delays->nchannels + c];
                int64_t found = (int64_t)steps->inner[(size_t)k * delays->nchannels + c] +
                                steps->outer[(size_t)d * steps->ngroups + c / steps->group];
                assert_true(found >= 0 && found <= delays->largest);
                worst = llabs(found - exact) > worst ? (uint32_t)llabs(found - exact) : worst;
            }
        }
    }
    assert_true(worst <= 1);
    assert_int_equal(worst, steps->error);
}

static void two_steps_err_by_one_sample(void **state)
{
    (void)state;
    static const struct {
        double bottom, width, sample_seconds;
        uint32_t nchannels, ndms, group;
        int descends;
    } cases[] = {{1420e6, 0.29e6, 5e-5, 1024, 4096, 0, 0}, {1420e6, 0.29e6, 5e-5, 1021, 300, 16, 1},
                 {138e6, 0.19e6, 5e-6, 32, 64, 8, 0},      {138e6, 0.19e6, 5e-6, 3, 7, 5, 1},
                 {1420e6, 0.29e6, 5e-5, 1, 3, 0, 0},       {1420e6, 0.29e6, 5e-5, 7, 9, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double *freq = make_band(cases[i].bottom, cases[i].width, cases[i].nchannels);
        double *dms = NULL;
        struct dispersion delays = {0};
        struct subbands steps = {0};
        assert_int_equal(dispersion_linear(0, 0.25, cases[i].ndms, &dms), STATUS_OK);
        for (uint32_t c = 0; cases[i].descends && c < cases[i].nchannels / 2; c++) {
            double swapped = freq[c];
            freq[c] = freq[cases[i].nchannels - 1 - c];
            freq[cases[i].nchannels - 1 - c] = swapped;
        }
        struct dispersion_spec spec = {.freq_hz = freq,
                                       .nchannels = cases[i].nchannels,
                                       .sample_seconds = cases[i].sample_seconds,
                                       .dms = dms,
                                       .ndms = cases[i].ndms};
        assert_int_equal(dispersion_create(&spec, &delays), STATUS_OK);
        check_steps(&delays, cases[i].group, &steps);
        if (i == 0) {
            /* Apertif: at least 5.8 times fewer additions. */
            assert_true((double)steps.adds * 5.8 < 1024. * 4096);
        }
        subbands_free(&steps);
        dispersion_free(&delays);
        free(freq);
        free(dms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_are_the_formula),
        cmocka_unit_test(delays_are_rounded),
        cmocka_unit_test(reference_moves_the_origin),
        cmocka_unit_test(constants_have_names),
        cmocka_unit_test(linear_lists),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(tolerance_is_used_up),
        cmocka_unit_test(two_steps_err_by_one_sample),
    };
    return cmocka_run_group_tests_name("delays", tests, NULL, NULL);
}
