/* Coefficients against formulas that are written another way than in the code, and against the
 * theory of windowed filters. */
#include "dsp/fir/prototype.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A few roundings of numbers near 1. */
#define ROUNDING 1e-14

static const enum window_kind all_windows[] = {WINDOW_HANN, WINDOW_HAMMING, WINDOW_BLACKMAN,
                                               WINDOW_KAISER, WINDOW_RECT};
enum { NWINDOWS = sizeof all_windows / sizeof *all_windows };

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g +- %g", value, expected, tolerance);
    }
}

static struct prototype_spec make_spec(enum window_kind window, uint32_t channels, uint32_t taps)
{
    return (struct prototype_spec){.channels = channels,
                                   .taps = taps,
                                   .samples_per_spectrum = channels,
                                   .window = window,
                                   .kaiser_beta = 8.6,
                                   .cutoff = 1,
                                   .normalise = NORMALISE_NONE};
}

static double *create(const struct prototype_spec *spec)
{
    double *coeff = NULL;
    assert_int_equal(prototype_create(spec, &coeff), STATUS_OK);
    assert_non_null(coeff);
    return coeff;
}

/* The cause must hold every one of the texts, up to a NULL. */
static void assert_fails(const struct prototype_spec *spec, status_t status,
                         const char *const *texts)
{
    double untouched = 0;
    double *coeff = &untouched;
    report_clear();
    assert_int_equal(prototype_create(spec, &coeff), status);
    assert_ptr_equal(coeff, &untouched);
    assert_int_equal(report_cause_status(), status);
    for (; *texts; texts++) {
        if (!strstr(report_cause(), *texts)) {
            fail_msg("no \"%s\" in \"%s\"", *texts, report_cause());
        }
    }
    report_clear();
}

/* sin(pi u) / (pi u) = cos(pi u / 2) cos(pi u / 4) cos(pi u / 8) ... (Viete); 40 factors leave
 * u^2 / 4^40. */
static double product_sinc(double u)
{
    double product = 1;
    for (int k = 0; k < 40; k++) {
        u /= 2;
        product *= cos(M_PI * u);
    }
    return product;
}

/* I0(x) = mean of exp(x cos(angle)) over a turn; the trapezoid rule converges faster than any
 * power for a periodic integrand, 256 points are far more than enough. */
static double mean_i0(double x)
{
    enum { POINTS = 256 };
    double sum = 0;
    for (int i = 0; i < POINTS; i++) {
        sum += exp(x * cos(2 * M_PI * i / POINTS));
    }
    return sum / POINTS;
}

static double expected_window(enum window_kind window, double beta, double u)
{
    double s = sin(M_PI * u);
    double c = cos(2 * M_PI * u);
    switch (window) {
    case WINDOW_HANN:
        return s * s;
    case WINDOW_HAMMING:
        return 0.08 + 0.92 * s * s;
    case WINDOW_BLACKMAN:
        return 0.34 - 0.5 * c + 0.16 * c * c;
    case WINDOW_KAISER:
        return mean_i0(beta * sqrt(1 - (2 * u - 1) * (2 * u - 1))) / mean_i0(beta);
    default:
        return 1;
    }
}

static void test_formulas(void **state)
{
    (void)state;
    for (size_t w = 0; w < NWINDOWS; w++) {
        for (double cutoff = 0; cutoff < 3; cutoff += 0.75) {
            struct prototype_spec spec = make_spec(all_windows[w], 30, 3);
            spec.cutoff = cutoff;
            double *coeff = create(&spec);
            for (int j = 0; j < 90; j++) {
                double expected = product_sinc(cutoff * (j - 44.5) / 30) *
                                  expected_window(all_windows[w], 8.6, (j + 0.5) / 90);
                assert_near(coeff[j], expected, ROUNDING);
            }
            free(coeff);
        }
    }
}

/* Real input: twice as many samples per spectrum, the same filter in units of channels. */
static void test_real_input(void **state)
{
    (void)state;
    struct prototype_spec spec = make_spec(WINDOW_HANN, 8, 4);
    spec.samples_per_spectrum = 16;
    double *coeff = create(&spec);
    for (int j = 0; j < 64; j++) {
        double expected =
            product_sinc((j - 31.5) / 16) * expected_window(WINDOW_HANN, 0, (j + 0.5) / 64);
        assert_near(coeff[j], expected, ROUNDING);
    }
    free(coeff);
}

/* Abramowitz, Stegun, Handbook of Mathematical Functions, table 9.8: exp(-x) I0(x) at 1, 5, 10. The
 * two samples of C = 2, T = 1 have u = 1/4, so I0 is asked at beta sqrt(3/4). */
static void test_kaiser_table(void **state)
{
    (void)state;
    const double table[][2] = {{1, 0.4657596077}, {5, 0.1835408126}, {10, 0.1278333372}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct prototype_spec spec = make_spec(WINDOW_KAISER, 2, 1);
        spec.cutoff = 0;
        spec.kaiser_beta = table[i][0];
        double *coeff = create(&spec);
        double i0_beta = table[i][1] * exp(table[i][0]);
        double inner = mean_i0(table[i][0] * sqrt(0.75));
        /* Ten digits in the table. */
        assert_near(coeff[0] * i0_beta / inner, 1, 1e-9);
        free(coeff);
    }
}

/* The largest beta that is allowed gives numbers; the middle of the window is nearly 1. */
static void test_kaiser_limits(void **state)
{
    (void)state;
    struct prototype_spec spec = make_spec(WINDOW_KAISER, 1024, 1);
    spec.cutoff = 0;
    spec.kaiser_beta = 0;
    double *flat = create(&spec);
    assert_near(flat[0], 1, 0);
    free(flat);
    spec.kaiser_beta = 700;
    double *narrow = create(&spec);
    for (int j = 0; j < 1024; j++) {
        assert_true(narrow[j] >= 0 && narrow[j] <= 1);
    }
    /* I0(beta sqrt(1 - e^2)) / I0(beta) = exp(-beta e^2 / 2) for small e = 1 / 1024. */
    assert_near(narrow[511], exp(-700.0 / 2 / 1024 / 1024), 1e-6);
    free(narrow);
    spec.kaiser_beta = 701;
    assert_fails(&spec, STATUS_USAGE, (const char *const[]){"Kaiser", "701", "700", NULL});
}

static void test_symmetry(void **state)
{
    (void)state;
    const uint32_t shapes[][2] = {{2, 1}, {30, 3}, {1024, 8}, {62, 17}};
    for (size_t w = 0; w < NWINDOWS; w++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            struct prototype_spec spec = make_spec(all_windows[w], shapes[i][0], shapes[i][1]);
            spec.cutoff = 0.9;
            spec.normalise = (enum normalise)(i % 3);
            double *coeff = create(&spec);
            size_t count = (size_t)shapes[i][0] * shapes[i][1];
            for (size_t j = 0; j < count; j++) {
                assert_memory_equal(&coeff[j], &coeff[count - 1 - j], sizeof *coeff);
            }
            free(coeff);
        }
    }
}

/* Compensated sums keep this to a few roundings even of 8192 terms; the test's own plain sums err
 * by less than count * epsilon / 2. */
static void test_normalise(void **state)
{
    (void)state;
    enum { COUNT = 8 * 1024 };
    for (size_t w = 0; w < NWINDOWS; w++) {
        struct prototype_spec spec = make_spec(all_windows[w], 1024, 8);
        double *plain = create(&spec);
        spec.normalise = NORMALISE_ENERGY;
        double *energy = create(&spec);
        spec.normalise = NORMALISE_PEAK;
        double *peak = create(&spec);
        double sum = 0;
        double squares = 0;
        for (size_t j = 0; j < COUNT; j++) {
            sum += peak[j];
            squares += energy[j] * energy[j];
            assert_near(energy[j] / energy[4095], plain[j] / plain[4095], ROUNDING);
            assert_near(peak[j] / peak[4095], plain[j] / plain[4095], ROUNDING);
        }
        assert_near(sum, 1, COUNT * DBL_EPSILON / 2);
        assert_near(squares, 1, COUNT * DBL_EPSILON / 2);
        free(peak);
        free(energy);
        free(plain);
    }
}

/* The bare Fourier transform. */
static void test_bare(void **state)
{
    (void)state;
    struct prototype_spec spec = make_spec(WINDOW_RECT, 64, 1);
    spec.cutoff = 0;
    spec.normalise = NORMALISE_ENERGY;
    double *coeff = create(&spec);
    for (size_t j = 0; j < 64; j++) {
        assert_near(coeff[j], 0.125, 0);
    }
    free(coeff);
}

/* The gain at `f` channels over that at the centre of the channel. */
static double relative_gain(const struct prototype_spec *spec, double f)
{
    double *coeff = create(spec);
    size_t count = (size_t)spec->taps * spec->samples_per_spectrum;
    double sum = 0;
    double centre = 0;
    for (size_t j = 0; j < count; j++) {
        double x = (double)j - ((double)count - 1) / 2;
        sum += coeff[j] * cos(2 * M_PI * f * x / spec->samples_per_spectrum);
        centre += coeff[j];
    }
    free(coeff);
    return sum / centre;
}

/* The response is the box |f| < cutoff / 2 convolved with the window's transform W, which for Hann
 * and T taps is sinc(y) / (1 - y^2), y = T f. At the box's edge one half of W lies inside, but for
 * its tail beyond y = T: less than its first lobe, 2 / (pi^2 T (T^2 - 1)). At the centre two tails
 * beyond y = T / 2 are missing: for T = 32 less than 2 * 5e-5. Blackman's tails fall as fast, and
 * are lower. So the gain at the edge is 1/2 to within 1e-4. */
static void test_half_amplitude(void **state)
{
    (void)state;
    const enum window_kind windows[] = {WINDOW_HANN, WINDOW_BLACKMAN};
    for (size_t w = 0; w < 2; w++) {
        struct prototype_spec spec = make_spec(windows[w], 64, 32);
        assert_near(relative_gain(&spec, 0.5), 0.5, 1e-4);
        spec.cutoff = 1.25;
        assert_near(relative_gain(&spec, 0.625), 0.5, 1e-4);
        spec.samples_per_spectrum = 128;
        assert_near(relative_gain(&spec, 0.625), 0.5, 1e-4);
    }
}

static void test_fold_shift(void **state)
{
    (void)state;
    double coeff[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    prototype_fold(coeff, 12, 3, 1, coeff);
    for (int j = 0; j < 12; j++) {
        assert_near(coeff[j], 3 * (j % 2 ? -(j + 1) : j + 1), 0);
    }
}

/* Far more coefficients than any memory holds, and more than size_t could count in bytes. */
static void test_too_many(void **state)
{
    (void)state;
    const char *const texts[] = {"out of memory", "filter coefficients", NULL};
    struct prototype_spec spec = make_spec(WINDOW_HANN, UINT32_C(1) << 30, UINT32_C(1) << 16);
    assert_fails(&spec, STATUS_DEVICE, texts);
    spec.taps = UINT32_MAX;
    spec.samples_per_spectrum = UINT32_C(1) << 31;
    assert_fails(&spec, STATUS_DEVICE, texts);
}

/* Writes `length` bytes to a new file, whose name replaces the X of `path`. */
static void write_file(char *path, const char *bytes, size_t length)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
    assert_int_equal(close(fd), 0);
}

#define TEMPORARY "/tmp/voltmill-test-coeff-XXXXXX"

static void test_file(void **state)
{
    (void)state;
    char path[] = TEMPORARY;
    const char text[] = "# a filter of 2 taps\r\n1 -2.5\t3e2#three\n\n  0x1p-3\n";
    write_file(path, text, sizeof text - 1);
    struct prototype_spec spec = make_spec(WINDOW_FILE, 2, 2);
    spec.path = path;
    double *coeff = create(&spec);
    const double expected[] = {1, -2.5, 300, 0.125};
    assert_memory_equal(coeff, expected, sizeof expected);
    free(coeff);
    spec.normalise = NORMALISE_PEAK;
    coeff = create(&spec);
    assert_near(coeff[2], 300 / 298.625, ROUNDING);
    free(coeff);
    assert_int_equal(unlink(path), 0);
}

/* Every text is a file for 2 taps of 2 samples; the cause names the file besides `texts`. */
static void test_file_errors(void **state)
{
    (void)state;
    static char blob[100000];
    memset(blob, '7', sizeof blob);
    const struct {
        const char *bytes;
        size_t length; /* 0: a text */
        const char *texts[4];
    } cases[] = {
        {"1\n2 # two\nthree\n4\n", 0, {"line 3", "'three'", "no number", NULL}},
        {"1\n2\n\n3,4\n", 0, {"line 4", "'3,4'", "no number", NULL}},
        {"1 2 3\nnan\n", 0, {"line 2", "'nan'", "no number", NULL}},
        {"1 2 3 1e999", 0, {"line 1", "'1e999'", "no number", NULL}},
        {"1\0002", 3, {"line 1", "'1?2'", "no number", NULL}},
        {blob, sizeof blob, {"line 1", "'7777", "no number", NULL}},
        {"1\n2\n3\n# 4\n", 0, {"line 3", "3 filter coefficients", "4 expected", NULL}},
        {"1 2\n3 4\n5 6\n7\n\n", 0, {"line 4", "7 filter coefficients", "4 expected", NULL}},
        {"# nothing", 0, {"0 filter coefficients", "4 expected", "2 taps times 2", NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[] = TEMPORARY;
        size_t length = cases[i].length ? cases[i].length : strlen(cases[i].bytes);
        write_file(path, cases[i].bytes, length);
        struct prototype_spec spec = make_spec(WINDOW_FILE, 2, 2);
        spec.path = path;
        assert_fails(&spec, STATUS_DATA, cases[i].texts);
        assert_fails(&spec, STATUS_DATA, (const char *const[]){path, NULL});
        assert_int_equal(unlink(path), 0);
    }
}

static void test_no_file(void **state)
{
    (void)state;
    struct prototype_spec spec = make_spec(WINDOW_FILE, 2, 2);
    spec.path = "/nonexistent/filter.txt";
    assert_fails(&spec, STATUS_DATA, (const char *const[]){spec.path, "No such file", NULL});
    spec.path = "/tmp";
    assert_fails(&spec, STATUS_DATA, (const char *const[]){spec.path, "folder", NULL});
    spec.path = "/dev/zero";
    assert_fails(&spec, STATUS_DATA, (const char *const[]){spec.path, "device", NULL});
}

/* 0.1 + 0.2 - 0.3 is not zero in double, but it is nothing to divide by either. */
static void test_no_gain(void **state)
{
    (void)state;
    const struct {
        const char *text;
        enum normalise normalise;
        const char *named;
    } cases[] = {
        {"1 -1", NORMALISE_PEAK, "sum"},        {"0.1 0.2\n-0.3 0", NORMALISE_PEAK, "sum"},
        {"0 0", NORMALISE_ENERGY, "energy"},    {"1e200 1", NORMALISE_ENERGY, "energy"},
        {"1e308 1e308", NORMALISE_PEAK, "sum"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[] = TEMPORARY;
        write_file(path, cases[i].text, strlen(cases[i].text));
        struct prototype_spec spec = make_spec(WINDOW_FILE, 2, strchr(cases[i].text, '\n') ? 2 : 1);
        spec.path = path;
        free(create(&spec));
        spec.normalise = cases[i].normalise;
        assert_fails(&spec, STATUS_USAGE, (const char *const[]){cases[i].named, NULL});
        assert_int_equal(unlink(path), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),     cmocka_unit_test(test_real_input),
        cmocka_unit_test(test_kaiser_table), cmocka_unit_test(test_kaiser_limits),
        cmocka_unit_test(test_symmetry),     cmocka_unit_test(test_normalise),
        cmocka_unit_test(test_bare),         cmocka_unit_test(test_half_amplitude),
        cmocka_unit_test(test_fold_shift),   cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_file),         cmocka_unit_test(test_file_errors),
        cmocka_unit_test(test_no_file),      cmocka_unit_test(test_no_gain),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
