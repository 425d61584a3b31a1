/* The flat cutoff against the filter that is made with it, by direct sums over the cosine, and
 * against what it is for: power of neighbouring channels that adds up to all there is. */
#include "dsp/fir/prototype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const enum window_kind all_windows[] = {WINDOW_HANN, WINDOW_HAMMING, WINDOW_BLACKMAN,
                                               WINDOW_KAISER, WINDOW_RECT};
enum { NWINDOWS = sizeof all_windows / sizeof *all_windows };

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g +- %g", value, expected, tolerance);
    }
}

static struct prototype_spec make_spec(enum window_kind window, uint32_t samples, uint32_t taps)
{
    return (struct prototype_spec){.channels = samples,
                                   .taps = taps,
                                   .samples_per_spectrum = samples,
                                   .window = window,
                                   .kaiser_beta = 6,
                                   .cutoff = CUTOFF_FLAT,
                                   .normalise = NORMALISE_PEAK};
}

static double found(enum window_kind window, uint32_t samples, uint32_t taps)
{
    struct prototype_spec spec = make_spec(window, samples, taps);
    assert_int_equal(flat_cutoff_settle(&spec), STATUS_OK);
    return spec.cutoff;
}

/* H(f), which is 1 at f = 0; coefficients are symmetric around half a sample. */
static double gain(const struct prototype_spec *spec, double f)
{
    double *coeff = NULL;
    double sum = 0;
    size_t count = (size_t)spec->taps * spec->samples_per_spectrum;
    assert_int_equal(prototype_create(spec, &coeff), STATUS_OK);
    for (size_t j = 0; j < count; j++) {
        double x = (double)j - ((double)count - 1) / 2;
        sum += coeff[j] * cos(2 * M_PI * fmod(f * x / spec->samples_per_spectrum, 1));
    }
    free(coeff);
    return sum;
}

/* The cutoffs of the paper's filter, of complex and of real samples. */
static void test_hann(void **state)
{
    (void)state;
    assert_near(found(WINDOW_HANN, 1024, 8), 1.108, 1e-3);
    assert_near(found(WINDOW_HANN, 2048, 8), 1.108, 1e-3);
    assert_near(found(WINDOW_HANN, 1 << 30, 8), 1.108, 1e-3);
    assert_near(found(WINDOW_HANN, 16, 8), 1.108, 1e-3);
}

/* The minimum and maximum sum of |H|^2 over a channel and its neighbours, in dB. */
static double ripple(double cutoff)
{
    struct prototype_spec spec = make_spec(WINDOW_HANN, 64, 8);
    double least = INFINITY;
    double greatest = 0;
    spec.cutoff = cutoff;
    for (double f = 0; f <= 0.5; f += 1.0 / 64) {
        double power = 0;
        for (int channel = -2; channel <= 2; channel++) {
            double level = gain(&spec, f - channel);
            power += level * level;
        }
        least = fmin(least, power);
        greatest = fmax(greatest, power);
    }
    return 10 * log10(greatest / least);
}

static void test_power_is_flat(void **state)
{
    (void)state;
    assert_near(ripple(found(WINDOW_HANN, 64, 8)), 0.11, 0.01);
    assert_near(ripple(1), 3, 0.1);
}

/* Steps of 1e-10 leave as much in the gain, times the slope, which is about half the taps. */
static void test_border(void **state)
{
    (void)state;
    const uint32_t shapes[][2] = {{1024, 2}, {2, 3}, {4, 4}, {30, 7}, {64, 8}, {6, 501}};
    for (size_t w = 0; w < NWINDOWS; w++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            struct prototype_spec spec = make_spec(all_windows[w], shapes[i][0], shapes[i][1]);
            assert_int_equal(flat_cutoff_settle(&spec), STATUS_OK);
            assert_near(fabs(gain(&spec, 0.5)), sqrt(0.5), 1e-10 * spec.taps);
            assert_near(spec.cutoff * 1e10, nearbyint(spec.cutoff * 1e10), 1e-5);
        }
    }
}

/* More coefficients than are looked at. With more and more taps the border is a step that the
 * window alone makes round, so what is added to 1 shrinks as 1 / taps. */
static void test_large(void **state)
{
    (void)state;
    for (size_t w = 0; w < NWINDOWS; w++) {
        struct prototype_spec wide = make_spec(all_windows[w], 1 << 16, 8);
        struct prototype_spec dense = make_spec(all_windows[w], 256, 1 << 12);
        struct prototype_spec sharp = make_spec(all_windows[w], 8, 1 << 16);
        assert_int_equal(flat_cutoff_settle(&wide), STATUS_OK);
        assert_near(gain(&wide, 0.5), sqrt(0.5), 1e-5);
        assert_int_equal(flat_cutoff_settle(&dense), STATUS_OK);
        assert_near(gain(&dense, 0.5), sqrt(0.5), 1e-4);
        assert_int_equal(flat_cutoff_settle(&sharp), STATUS_OK);
        assert_near(gain(&sharp, 0.5), sqrt(0.5), 1e-4);
    }
    double added = found(WINDOW_HANN, 64, 512) - 1;
    assert_near(found(WINDOW_HANN, 64, 1 << 24) - 1, added * 512 / (1 << 24), 1e-10);
}

static void test_number(void **state)
{
    (void)state;
    struct prototype_spec spec = make_spec(WINDOW_RECT, 64, 1);
    spec.cutoff = 0.75;
    assert_int_equal(flat_cutoff_settle(&spec), STATUS_OK);
    assert_near(spec.cutoff, 0.75, 0);
}

static void assert_refused(struct prototype_spec spec, const char *text)
{
    report_clear();
    assert_int_equal(flat_cutoff_settle(&spec), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), text));
    assert_near(spec.cutoff, CUTOFF_FLAT, 0);
    report_clear();
}

/* A Kaiser window of beta 100 lasts a tenth of the filter: two taps make one of 5 channels. */
static void test_impossible(void **state)
{
    (void)state;
    struct prototype_spec spec = make_spec(WINDOW_KAISER, 64, 2);
    spec.kaiser_beta = 100;
    assert_refused(spec, "the window alone, with cutoff 0, lets 0.9");
    spec.taps = 16;
    assert_int_equal(flat_cutoff_settle(&spec), STATUS_OK);
    assert_refused(make_spec(WINDOW_RECT, 64, 1), "1 tap");
    assert_refused(make_spec(WINDOW_FILE, 64, 8), "file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hann),   cmocka_unit_test(test_power_is_flat),
        cmocka_unit_test(test_border), cmocka_unit_test(test_large),
        cmocka_unit_test(test_number), cmocka_unit_test(test_impossible),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
