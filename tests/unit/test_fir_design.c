/* Designs of FIR filters: Kaiser's figures as scipy.signal 1.17 (kaiserord, firwin) has them, bands
 * by the transform in double, what is said of them against that, and their delay. */
#include "dsp/fir/fir_design.h"

#include "dsp/dft.h"
#include "dsp/fir/prototype.h"

#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.12g is not %.12g +- %g", value, expected, tolerance);
    }
}

static void kaiser_s_figures(void **state)
{
    (void)state;
    static const struct {
        double decibels, width, taps, beta;
    } known[] = {{60, 0.01, 364, 5.65326},   {30, 0.02, 78, 2.1166248611409806},
                 {80, 0.001, 5020, 7.85726}, {50, 0.05, 60, 4.533514120981248},
                 {21, 0.1, 11, 0},           {100, 0.0003, 21373, 10.06126},
                 {65, 0.024, 167, 6.20426}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_near(kaiser_beta(known[i].decibels), known[i].beta, 1e-12);
        assert_near(ceil(kaiser_taps(known[i].decibels, known[i].width)), known[i].taps, 0);
    }
    assert_near(kaiser_i0(5.65326), 49.04845930258202, 1e-13);
    assert_near(kaiser_i0(0.5), 1.0634833707413234, 1e-15);
    assert_near(kaiser_i0(50) / 2.9325537838493355e+20, 1, 1e-14);
}

static void the_size_takes_what_is_stricter(void **state)
{
    (void)state;
    struct fir_design design = {
        .edges = {-0.3, -0.1, 0.1, 0.11}, .ripple_db = 3, .attenuation_db = 60};
    struct fir_size size = fir_design_size(&design);
    assert_near(size.decibels, 60, 0);
    assert_near(size.width, 0.01, 1e-15);
    assert_near(size.taps, 365, 0); /* odd */
    assert_near(size.beta, 5.65326, 1e-12);
    design.ripple_db = 0.001; /* (1 + d) / (1 - d) */
    double d = pow(10, -fir_design_size(&design).decibels / 20);
    assert_near(20 * log10((1 + d) / (1 - d)), 0.001, 1e-12);
    assert_true(fir_design_size(&design).decibels > 60);
}

/* firwin(31, 0.25, window=("kaiser", 5.65326), scale=False)[:16] */
static void coefficients_of_a_lowpass(void **state)
{
    (void)state;
    static const double half[] = {
        -3.05927488e-04, -1.07881799e-03, -1.49141995e-03, 0,
        4.12079283e-03,  8.82841105e-03,  9.09252703e-03,  0,
        -1.78562440e-02, -3.46562814e-02, -3.36111390e-02, 0,
        6.76538579e-02,  1.52039188e-01,  2.22527558e-01,  2.50000000e-01};
    double width = (60 - 7.95) / (2.285 * 2 * M_PI * 29.5); /* 30.5: rounded up to 31 */
    struct fir_design design = {.ripple_db = 3, .attenuation_db = 60};
    for (int i = 0; i < 2; i++) {
        design.edges[2 + i] = 0.125 + (i - 0.5) * width;
        design.edges[1 - i] = -design.edges[2 + i];
    }
    assert_near(fir_design_size(&design).taps, 31, 0);
    assert_false(fir_design_is_complex(&design));
    struct fir_made made;
    design.attenuation_db = 58.5; /* reached at once, with the margin to 60 */
    design.margin_db = 1.5;
    assert_int_equal(fir_design_make(&design, &made), STATUS_OK);
    assert_int_equal(made.taps, 31);
    for (size_t i = 0; i < 16; i++) {
        assert_near(made.coeff[i], half[i], 1e-9);
        assert_true(made.coeff[30 - i] == made.coeff[i]);
    }
    free(made.coeff);
}

/* Whether f, any turn of it, lies in low .. high. */
static int lies(double f, double low, double high)
{
    for (int turn = -1; turn <= 1; turn++) {
        if (f + turn >= low && f + turn <= high) {
            return 1;
        }
    }
    return 0;
}

static int lies_mirrored(const struct fir_design *design, double f, double low, double high)
{
    return lies(f, low, high) || (design->is_mirrored && lies(-f, low, high));
}

/* Ripple and attenuation by the definition: a transform of 16 points a lobe or more, of which the
 * edges' neighbours tell. */
static struct fir_reach by_transform(const struct fir_design *design, const struct fir_made *made)
{
    size_t length = (size_t)1 << 19;
    double complex *in = calloc(length, sizeof *in);
    double complex *out = calloc(length, sizeof *out);
    double gains[2][2] = {{INFINITY, 0}, {INFINITY, 0}}; /* outside, inside: minimum, maximum */
    assert_non_null(in);
    assert_non_null(out);
    for (size_t i = 0; i < made->taps; i++) {
        in[i] = made->is_complex ? made->coeff[2 * i] + made->coeff[2 * i + 1] * I : made->coeff[i];
    }
    assert_int_equal(dft_forward(length, in, out), STATUS_OK);
    for (size_t k = 0; k < length; k++) {
        double f = (double)k / (double)length;
        int inside = lies_mirrored(design, f, design->edges[1], design->edges[2]);
        if (inside || !lies_mirrored(design, f, design->edges[0], design->edges[3])) {
            gains[inside][0] = fmin(gains[inside][0], cabs(out[k]));
            gains[inside][1] = fmax(gains[inside][1], cabs(out[k]));
        }
    }
    free(in);
    free(out);
    int passed = !design->is_stop;
    return (struct fir_reach){20 * log10(gains[passed][1] / gains[passed][0]),
                              -20 * log10(gains[!passed][1])};
}

static void designs_do_what_is_asked(void **state)
{
    (void)state;
    static const struct fir_design designs[] = {
        {{-0.2, -0.15, 0.15, 0.2}, 0, 0, 0.1, 60, 0},     /* low-pass */
        {{-0.12, -0.11, 0.11, 0.12}, 1, 0, 0.1, 80, 0},   /* high-pass */
        {{0.05, 0.06, 0.2, 0.23}, 0, 0, 0.1, 60, 0},      /* complex band-pass */
        {{-0.4, -0.39, -0.31, -0.3}, 1, 0, 0.1, 60, 0},   /* complex band-stop */
        {{0.05, 0.06, 0.2, 0.23}, 0, 1, 0.1, 60, 0},      /* of real samples */
        {{0.060, 0.061, 0.0612, 0.0622}, 1, 1, 1, 50, 0}, /* a notch */
        {{0.1, 0.2, 0.3, 0.5}, 0, 1, 0.001, 20, 0},       /* ripple decides */
        {{-0.5, -0.4, 0.1, 0.2}, 0, 0, 0.1, 100, 0},
    };
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
        const struct fir_design *design = &designs[i];
        struct fir_made made;
        assert_int_equal(fir_design_make(design, &made), STATUS_OK);
        assert_int_equal(made.taps % 2, 1);
        assert_true(made.taps <= 1.25 * fir_design_size(design).taps);
        assert_true(made.reach.ripple_db <= design->ripple_db);
        assert_true(made.reach.attenuation_db >= design->attenuation_db);
        struct fir_reach is = by_transform(design, &made);
        assert_near(made.reach.ripple_db, is.ripple_db, 0.01 * design->ripple_db);
        assert_near(made.reach.attenuation_db, is.attenuation_db, 0.2);
        assert_near(fir_delay(made.coeff, made.taps, made.is_complex), (made.taps - 1) / 2, 0);
        free(made.coeff);
    }
}

static void response_and_delay_of_any_coefficients(void **state)
{
    (void)state;
    enum { TAPS = 700 };
    double coeff[TAPS][2];
    double energy = 0;
    double moment = 0;
    for (size_t i = 0; i < TAPS; i++) {
        coeff[i][0] = cos(0.37 * (double)(i * i % 101));
        coeff[i][1] = (double)(i % 17) / 17;
        double e = coeff[i][0] * coeff[i][0] + coeff[i][1] * coeff[i][1];
        energy += e;
        moment += (double)i * e;
    }
    assert_near(fir_delay(coeff[0], TAPS, 1), moment / energy, 1e-10);
    for (double f = -0.5; f < 0.6; f += 0.17) {
        double complex sum = 0;
        for (size_t i = 0; i < TAPS; i++) {
            sum += (coeff[i][0] + coeff[i][1] * I) * cexp(-2 * M_PI * f * (double)i * I);
        }
        assert_near(fir_gain(coeff[0], TAPS, 1, f), cabs(sum), 1e-9);
    }
    assert_near(fir_delay((double[]){0, 0, 3}, 3, 0), 2, 0);
    assert_near(fir_delay((double[]){1}, 1, 0), 0, 0);
}

/* Sums of two neighbours halve: (1 + exp(-2 pi i f)) / 2, cos(pi f). */
static void what_lies_beyond(void **state)
{
    (void)state;
    const double pair[] = {0.5, 0.5};
    double rejection = 0;
    assert_int_equal(fir_rejection(pair, 2, 0, 0.25, &rejection), STATUS_OK);
    assert_near(rejection, -20 * log10(cos(M_PI * 17 / 64)), 1e-12);
    assert_int_equal(fir_rejection((double[]){1}, 1, 0, 0.25, &rejection), STATUS_OK);
    assert_near(rejection, 0, 1e-12);
    /* Longer than the longest transform: samples a whole transform apart have one phase. */
    enum { LONG = (1 << 20) + 1 };
    double *cancels = calloc(LONG, sizeof *cancels);
    assert_non_null(cancels);
    cancels[0] = 1;
    cancels[LONG - 1] = -1;
    assert_int_equal(fir_rejection(cancels, LONG, 0, 0.25, &rejection), STATUS_OK);
    assert_true(isinf(rejection));
    free(cancels);
    /* All of it at a sixteenth of the rate: beyond 0.06, with nothing but lobes beyond 0.2. */
    double complex tone[64];
    for (int i = 0; i < 64; i++) {
        tone[i] = cexp(2 * M_PI * I * i / 16);
    }
    assert_int_equal(fir_rejection((double *)tone, 64, 1, 0.06, &rejection), STATUS_OK);
    assert_true(rejection < 1);
    assert_int_equal(fir_rejection((double *)tone, 64, 1, 0.2, &rejection), STATUS_OK);
    assert_true(rejection > 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kaiser_s_figures),
        cmocka_unit_test(the_size_takes_what_is_stricter),
        cmocka_unit_test(coefficients_of_a_lowpass),
        cmocka_unit_test(designs_do_what_is_asked),
        cmocka_unit_test(response_and_delay_of_any_coefficients),
        cmocka_unit_test(what_lies_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
