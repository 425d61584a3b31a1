/* The filter report against the theory of windows and of the polyphase filter bank. Nothing that is
 * expected here comes from the code under test: closed forms, integrals of the continuous filter,
 * published tables, direct sums over the cosine, and tones sent through a small filter bank. */
#include "dsp/fir/filter_report.h"

#include "dsp/dft.h"
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
        fail_msg("%.12g is not %.12g +- %g", value, expected, tolerance);
    }
}

static double db(double amplitude)
{
    return 20 * log10(amplitude);
}

static double *create(enum window_kind window, uint32_t samples, uint32_t taps, double cutoff)
{
    struct prototype_spec spec = {.channels = samples,
                                  .taps = taps,
                                  .samples_per_spectrum = samples,
                                  .window = window,
                                  .kaiser_beta = 8.6,
                                  .cutoff = cutoff,
                                  .normalise = NORMALISE_ENERGY};
    double *coeff = NULL;
    assert_int_equal(prototype_create(&spec, &coeff), STATUS_OK);
    return coeff;
}

static struct filter_report report(const double *coeff, uint32_t samples, uint32_t taps)
{
    struct filter_report out = {0};
    assert_int_equal(filter_report_make(coeff, taps, samples, &out), STATUS_OK);
    return out;
}

static struct filter_report report_of(enum window_kind window, uint32_t samples, uint32_t taps,
                                      double cutoff)
{
    double *coeff = create(window, samples, taps, cutoff);
    struct filter_report out = report(coeff, samples, taps);
    free(coeff);
    return out;
}

/* sin(pi f) / (P sin(pi f / P)): the gain of P equal coefficients. */
static double dirichlet(double f, double samples)
{
    return f == 0 ? 1 : sin(M_PI * f) / (samples * sin(M_PI * f / samples));
}

/* Where dirichlet() falls to `level`, between its centre and its first zero. */
static double dirichlet_width(double level, double samples)
{
    double low = 0;
    double high = 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(dirichlet(middle, samples) > level ? &low : &high) = middle;
    }
    return low + high;
}

/* The bare transform. Its highest sidelobe, -13.26 dB at f = 1.430, lies before f = 1.5; from there
 * on the gain is largest at f = 1.5 itself: 2 / (3 pi), -13.46 dB. */
static void test_bare(void **state)
{
    (void)state;
    const uint32_t lengths[] = {4, 30, 1024, 2 * 997, 4096};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint32_t samples = lengths[i];
        struct filter_report bare = report_of(WINDOW_RECT, samples, 1, 0);
        assert_near(bare.noise_width, 1, 1e-12);
        assert_near(bare.scalloping_db, -db(dirichlet(0.5, samples)), 1e-9);
        assert_near(bare.ripple_db, -db(dirichlet(0.25, samples)), 1e-9);
        assert_near(bare.beyond_db, -db(fabs(dirichlet(1.5, samples))), 1e-9);
        assert_near(bare.width_3db, dirichlet_width(pow(10, -0.15), samples), 1e-7);
        assert_near(bare.width_6db, dirichlet_width(pow(10, -0.3), samples), 1e-7);
        assert_true(isinf(bare.adjacent_db) && bare.adjacent_db > 0);
    }
    struct filter_report bare = report_of(WINDOW_RECT, 1024, 1, 0);
    assert_near(bare.scalloping_db, db(M_PI / 2), 0.01);
    assert_near(bare.beyond_db, 13.46, 0.01);
}

/* T = 2 equal taps answer like one tap at twice the frequency: from 2f = 3 on, the largest lobe is
 * the third one, at 2f = 3.4709 (where tan(pi x) = pi x), between any two points of a grid. In a
 * long sum it is 1 / sqrt(1 + (pi x)^2), 20.79 dB; at finite length found here by a fine walk. */
static void test_lobe_between_grid_points(void **state)
{
    (void)state;
    const uint32_t lengths[] = {30, 1000, 1024};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct filter_report two = report_of(WINDOW_RECT, lengths[i], 2, 0);
        double largest = 0;
        for (double f = 3; f < 4; f += 1e-4) {
            largest = fmax(largest, fabs(dirichlet(f, 2 * lengths[i])));
        }
        assert_near(two.beyond_db, -db(largest), 1e-5);
    }
    struct filter_report two = report_of(WINDOW_RECT, 1024, 2, 0);
    assert_near(two.beyond_db, 0.5 * 20 * log10(1 + pow(M_PI * 3.470890, 2)), 1e-3);
}

/* A window a0 - a1 cos(2 pi u) + a2 cos(4 pi u) has a gain made of shifted Dirichlet kernels (the
 * signs vanish, seen from the window's centre):
 *
 *   a0 D(f) + a1 / 2 (D(f - 1) + D(f + 1)) + a2 / 2 (D(f - 2) + D(f + 2)) */
static double cosine_gain(const double a[3], double samples, double f)
{
    double sum = a[0] * dirichlet(f, samples);
    for (int i = 1; i < 3; i++) {
        sum += a[i] / 2 * (dirichlet(f - i, samples) + dirichlet(f + i, samples));
    }
    return fabs(sum / a[0]);
}

/* The noise bandwidth of such a window is (a0^2 + a1^2 / 2 + a2^2 / 2) / a0^2; Harris 1978, On the
 * use of windows for harmonic analysis with the discrete Fourier transform, has the same to two
 * decimals. */
static void test_cosine_windows(void **state)
{
    (void)state;
    enum { SAMPLES = 512 };
    const struct {
        enum window_kind window;
        double a[3];
        double harris_noise;
    } rows[] = {{WINDOW_RECT, {1, 0, 0}, 1.00},
                {WINDOW_HANN, {0.5, 0.5, 0}, 1.50},
                {WINDOW_HAMMING, {0.54, 0.46, 0}, 1.36},
                {WINDOW_BLACKMAN, {0.42, 0.5, 0.08}, 1.73}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double *a = rows[i].a;
        struct filter_report out = report_of(rows[i].window, SAMPLES, 1, 0);
        double noise = (a[0] * a[0] + (a[1] * a[1] + a[2] * a[2]) / 2) / (a[0] * a[0]);
        assert_near(out.noise_width, noise, 1e-12);
        assert_near(out.noise_width, rows[i].harris_noise, 0.006);
        assert_near(cosine_gain(a, SAMPLES, out.width_3db / 2), pow(10, -0.15), 1e-9);
        assert_near(cosine_gain(a, SAMPLES, out.width_6db / 2), pow(10, -0.3), 1e-9);
        assert_near(out.scalloping_db, -db(cosine_gain(a, SAMPLES, 0.5)), 1e-9);
        assert_near(out.ripple_db, -db(cosine_gain(a, SAMPLES, 0.25)), 1e-9);
        /* The main lobe is still falling at f = 1.5, and no lobe behind it is as high. */
        assert_near(out.beyond_db, -db(cosine_gain(a, SAMPLES, 1.5)), 1e-9);
        if (a[1] != 0) {
            assert_near(out.adjacent_db, -db(cosine_gain(a, SAMPLES, 1)), 1e-9);
        }
    }
}

/* The gain of a symmetric filter is real: the sum over cosines from its centre, in pairs. */
static double direct_gain(const double *coeff, uint32_t samples, uint32_t taps, double f)
{
    size_t count = (size_t)samples * taps;
    double sum = 0;
    double centre = 0;
    for (size_t j = 0; j < count / 2; j++) {
        double x = (double)j - ((double)count - 1) / 2;
        double pair = coeff[j] + coeff[count - 1 - j];
        sum += pair * cos(2 * M_PI * (fmod(f * x, samples) / samples));
        centre += pair;
    }
    return fabs(sum / centre);
}

static void test_response(void **state)
{
    (void)state;
    const uint32_t shapes[][2] = {{2, 1}, {30, 3}, {62, 5}, {1024, 8}};
    const double frequencies[] = {0, 0.1, 0.5, 0.77, 1, 1.4999, -0.3, 17.3};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        uint32_t samples = shapes[i][0];
        uint32_t taps = shapes[i][1];
        double *coeff = create(WINDOW_HAMMING, samples, taps, 1);
        double centre = filter_response(coeff, taps, samples, 0);
        for (size_t k = 0; k < sizeof frequencies / sizeof *frequencies; k++) {
            double gain = filter_response(coeff, taps, samples, frequencies[k]) / centre;
            assert_near(gain, direct_gain(coeff, samples, taps, frequencies[k]), 1e-12);
        }
        free(coeff);
    }
}

/* The continuous Hann window's transform over its value at 0; y in units of 1 / taps channels. */
static double hann_transform(double y)
{
    if (fabs(fabs(y) - 1) < 1e-9) {
        return 0.5;
    }
    return y == 0 ? 1 : sin(M_PI * y) / (M_PI * y * (1 - y * y));
}

/* Its integral by Simpson's rule. In 200 steps per unit this errs by about 1e-8. */
static double hann_integral(double from, double to)
{
    int steps = 2 * (int)ceil(100 * (to - from));
    double h = (to - from) / steps;
    double sum = hann_transform(from) + hann_transform(to);
    for (int i = 1; i < steps; i++) {
        sum += (i % 2 ? 4 : 2) * hann_transform(from + i * h);
    }
    return sum * h / 3;
}

/* H(f) of the windowed sinc with cutoff 1 is the box |f| <= 1/2 convolved with the window's
 * transform: the integral of the latter over T (f - 1/2) .. T (f + 1/2). That the filter is sampled
 * changes it by parts in P^2 of a lobe only. */
static double theory_gain(double taps, double f)
{
    return fabs(hann_integral(taps * (f - 0.5), taps * (f + 0.5)) /
                (2 * hann_integral(0, taps / 2)));
}

/* The filter bank of the paper: Hann, 8 taps, 1024 channels, against theory and direct sums. */
static void test_hann_bank(void **state)
{
    (void)state;
    enum { SAMPLES = 1024, TAPS = 8 };
    double *coeff = create(WINDOW_HANN, SAMPLES, TAPS, 1);
    struct filter_report bank = report(coeff, SAMPLES, TAPS);
    assert_near(bank.scalloping_db, -db(theory_gain(TAPS, 0.5)), 0.001);
    assert_near(bank.scalloping_db, -db(direct_gain(coeff, SAMPLES, TAPS, 0.5)), 1e-9);
    assert_near(bank.adjacent_db, -db(theory_gain(TAPS, 1)), 0.01);
    assert_near(bank.adjacent_db, -db(direct_gain(coeff, SAMPLES, TAPS, 1)), 1e-8);
    double high = 0;
    double low = 2;
    for (double f = 0; f <= 0.25; f += 1.0 / 256) {
        high = fmax(high, theory_gain(TAPS, f));
        low = fmin(low, theory_gain(TAPS, f));
    }
    assert_near(bank.ripple_db, db(high / low), 0.001);
    assert_near(direct_gain(coeff, SAMPLES, TAPS, bank.width_3db / 2), pow(10, -0.15), 1e-7);
    assert_near(direct_gain(coeff, SAMPLES, TAPS, bank.width_6db / 2), pow(10, -0.3), 1e-7);
    double largest = 0;
    double largest_theory = 0;
    /* Behind f = 3.5 lobes are lower: they fall as 1 / f^3. A walk in 32 steps per lobe misses the
     * top by 20 log10 cos(pi / 64) at most, 0.0105 dB. */
    for (double f = 1.5; f <= 3.5; f += 1.0 / 256) {
        largest = fmax(largest, direct_gain(coeff, SAMPLES, TAPS, f));
        largest_theory = fmax(largest_theory, theory_gain(TAPS, f));
    }
    assert_near(bank.beyond_db, -db(largest), 0.011);
    assert_near(bank.beyond_db, -db(largest_theory), 0.02);
    free(coeff);
}

/* Noise: by Parseval, P sum b^2 / (sum b)^2 is the area under |H|^2 / |H(0)|^2. */
static void test_noise_width(void **state)
{
    (void)state;
    enum { SAMPLES = 1024, TAPS = 8, STEPS = 64 };
    struct filter_report bank = report_of(WINDOW_HANN, SAMPLES, TAPS, 1);
    double area = 0;
    /* Beyond f = 2 nothing is left but 1e-7; the rectangle rule is exact for band-limited |H|^2,
     * whose transform, 2 * taps long, is shorter than STEPS. */
    for (int i = -2 * STEPS; i <= 2 * STEPS; i++) {
        double gain = theory_gain(TAPS, fabs((double)i / STEPS));
        area += gain * gain / STEPS;
    }
    assert_near(bank.noise_width, area, 1e-5);
}

/* Sends the tone at k + offset channels through the filter bank and gives the amplitude of each
 * channel over the one that the tone would have at a channel's centre. */
static void channelise_tone(const double *coeff, uint32_t samples, uint32_t taps, double freq,
                            double *amplitude)
{
    double complex *filtered = calloc(samples, sizeof *filtered);
    double complex *channels = calloc(samples, sizeof *channels);
    assert_true(filtered && channels);
    double centre = 0;
    for (size_t j = 0; j < (size_t)taps * samples; j++) {
        double angle = 2 * M_PI * fmod(freq * (double)j / samples, 1);
        filtered[j % samples] += coeff[j] * (cos(angle) + sin(angle) * I);
        centre += coeff[j];
    }
    assert_int_equal(dft_forward(samples, filtered, channels), STATUS_OK);
    for (size_t k = 0; k < samples; k++) {
        amplitude[k] = cabs(channels[k]) / centre;
    }
    free(channels);
    free(filtered);
}

/* Adamek et al. 2016, figures 3 and 4: a tone on the border of two channels, the worst place. The
 * bare transform leaks like 1 / f: 1.5, 2.5, 3.5 channels away -13.46, -17.90, -20.82 dB (2 / 3 pi,
 * 2 / 5 pi, 2 / 7 pi). In the filter bank what lies 1.5 channels away or more is the window's
 * transform integrated from y = 8 on: less than its first lobe there, 2 / (pi^2 8 (8^2 - 1)), while
 * H(0) is at least 1 - 2 * 2 / (pi^2 4 (4^2 - 1)): -67.9 dB at most. It is -81.29 dB. */
static void test_leakage(void **state)
{
    (void)state;
    enum { SAMPLES = 1024, TAPS = 8, CHANNEL = 300 };
    const double stopband = (2 / (M_PI * M_PI * 8 * 63)) / (1 - 4 / (M_PI * M_PI * 4 * 15));
    double amplitude[SAMPLES];
    double *bare = create(WINDOW_RECT, SAMPLES, 1, 0);
    channelise_tone(bare, SAMPLES, 1, CHANNEL + 0.5, amplitude);
    for (int d = 1; d < 4; d++) {
        assert_near(db(amplitude[CHANNEL + 1 + d]), db(2 / ((2 * d + 1) * M_PI)), 0.01);
        assert_near(db(amplitude[CHANNEL - d]), db(2 / ((2 * d + 1) * M_PI)), 0.01);
    }
    double *hann = create(WINDOW_HANN, SAMPLES, TAPS, 1);
    struct filter_report bank = report(hann, SAMPLES, TAPS);
    assert_true(bank.beyond_db >= -db(stopband));
    channelise_tone(hann, SAMPLES, TAPS, CHANNEL + 0.5, amplitude);
    assert_near(-db(amplitude[CHANNEL]), bank.scalloping_db, 1e-9);
    assert_near(-db(amplitude[CHANNEL + 1]), bank.scalloping_db, 1e-9);
    assert_near(db(amplitude[CHANNEL - 1]), -81.29, 0.01);
    assert_near(bank.beyond_db, 81.29, 0.01);
    for (int k = 0; k < SAMPLES; k++) {
        if (k < CHANNEL || k > CHANNEL + 1) {
            assert_true(amplitude[k] <= stopband);
            assert_true(-db(amplitude[k]) >= bank.beyond_db - 1e-6);
        }
    }
    channelise_tone(hann, SAMPLES, TAPS, CHANNEL + 1, amplitude);
    assert_near(-db(amplitude[CHANNEL]), bank.adjacent_db, 1e-6);
    free(hann);
    free(bare);
}

/* Two samples: the band ends at f = 1, nothing lies beyond. One coefficient that is not zero: a
 * flat response, the whole band wide. */
static void test_edges(void **state)
{
    (void)state;
    struct filter_report two = report_of(WINDOW_RECT, 2, 1, 0);
    assert_near(two.scalloping_db, db(sqrt(2)), 1e-12);
    assert_true(isinf(two.adjacent_db));
    assert_true(isinf(two.beyond_db));
    const double impulse[6 * 2] = {[5] = -3};
    struct filter_report flat = report(impulse, 6, 2);
    assert_near(flat.ripple_db, 0, 1e-12);
    assert_near(flat.beyond_db, 0, 1e-12);
    assert_near(flat.adjacent_db, 0, 1e-12);
    assert_near(flat.width_3db, 6, 0);
    assert_near(flat.noise_width, 6, 1e-12);
}

enum { HUGE_SAMPLES = 5 << 16, HUGE_TAPS = 4 };

/* More coefficients than the transform's length can resolve: its step is longer than a lobe. Equal
 * taps answer like one tap at T times the frequency; behind T f = 6 their largest lobe is the next
 * one, at T f = 6.484. */
static void test_huge_near_lobe(void **state)
{
    (void)state;
    struct filter_report equal = report_of(WINDOW_RECT, HUGE_SAMPLES, HUGE_TAPS, 0);
    double largest = 0;
    for (double f = 6; f < 8; f += 1e-4) {
        largest = fmax(largest, fabs(dirichlet(f, HUGE_TAPS * HUGE_SAMPLES)));
    }
    assert_near(equal.beyond_db, -db(largest), 1e-5);
}

/* The same with a second passband far away, where only the transform, folded, can find it:
 * b[j] (1 + 0.1 cos(pi j / 2)) answers at P / 4 + f with 0.05 times the gain at f. */
static void test_huge_far_lobe(void **state)
{
    (void)state;
    double *coeff = create(WINDOW_HANN, HUGE_SAMPLES, HUGE_TAPS, 1);
    for (size_t j = 0; j < (size_t)HUGE_SAMPLES * HUGE_TAPS; j += 2) {
        coeff[j] *= j % 4 == 0 ? 1.1 : 0.9;
    }
    struct filter_report bank = report(coeff, HUGE_SAMPLES, HUGE_TAPS);
    double largest = 0;
    for (double f = 0; f <= 0.5; f += 1.0 / 256) {
        largest = fmax(largest, theory_gain(HUGE_TAPS, f));
    }
    assert_near(bank.scalloping_db, -db(theory_gain(HUGE_TAPS, 0.5)), 0.001);
    assert_near(bank.beyond_db, -db(0.05 * largest), 0.001);
    free(coeff);
}

static void test_no_gain(void **state)
{
    (void)state;
    const double coeff[] = {0.1, 0.2, -0.3, 0};
    struct filter_report out = {.noise_width = -1};
    report_clear();
    assert_int_equal(filter_report_make(coeff, 2, 2, &out), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "no gain"));
    assert_near(out.noise_width, -1, 0);
    report_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bare),           cmocka_unit_test(test_lobe_between_grid_points),
        cmocka_unit_test(test_cosine_windows), cmocka_unit_test(test_response),
        cmocka_unit_test(test_hann_bank),      cmocka_unit_test(test_noise_width),
        cmocka_unit_test(test_leakage),        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_huge_near_lobe), cmocka_unit_test(test_huge_far_lobe),
        cmocka_unit_test(test_no_gain),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
