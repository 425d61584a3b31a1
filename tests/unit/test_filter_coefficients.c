/* Coefficients of a job's filters: gains at frequencies on the sky, whatever samples make of them,
 * and what is refused. */
#include "plan/filter_coefficients.h"

#include "dsp/fir/fir_design.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.12g is not %.12g +- %g", value, expected, tolerance);
    }
}

static struct job *job_with(const char *filter)
{
    struct job *job = NULL;
    char text[512];
    int length = snprintf(text, sizeof text,
                          "input: {files: a.h5}\nfilter: %s\nchannelise: {channels: 16}\n"
                          "products: [{kind: power, file: p.h5}]\n",
                          filter);
    report_clear();
    status_t st = job_parse("job.yaml", text, (size_t)length, NULL, 0, &job);
    assert_string_equal(report_cause(), "");
    assert_int_equal(st, STATUS_OK);
    return job;
}

static struct filter_coefficients make(const char *filter, const struct sky_band *band)
{
    struct job *job = job_with(filter);
    struct filter_coefficients made;
    status_t st = filter_coefficients_make(job, 0, band, &made);
    assert_string_equal(report_cause(), "");
    assert_int_equal(st, STATUS_OK);
    job_destroy(job);
    return made;
}

static void refused(const char *filter, const struct sky_band *band, const char *message)
{
    struct job *job = job_with(filter);
    struct filter_coefficients made;
    assert_int_equal(filter_coefficients_make(job, 0, band, &made), STATUS_USAGE);
    assert_string_equal(report_cause(), message);
    report_clear();
    job_destroy(job);
}

/* The gain at v Hz on the sky, by what struct sky_band says. */
static double gain(const struct filter_coefficients *made, const struct sky_band *band, double v)
{
    double f = band->sideband * (v - band->centre_hz[0]) / band->sample_rate_hz;
    return fir_gain(made->coeff, made->taps, made->is_complex, band->is_complex ? f : f + 0.25);
}

/* Whether what is passed is, to 0.1 dB, and what is stopped, to 60 dB: `bands` are edges of bands
 * in turns passed (first) and stopped. */
static void passes(const char *filter, const struct sky_band *band, const double *bands, int count)
{
    struct filter_coefficients made = make(filter, band);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k <= 10; k++) {
            double v = bands[2 * i] + (bands[2 * i + 1] - bands[2 * i]) * k / 10;
            double g = gain(&made, band, v);
            if (i % 2 == 0 ? fabs(20 * log10(g)) > 0.1 : g > 1e-3) {
                fail_msg("%s: the gain at %.9g Hz is %g", filter, v, g);
            }
        }
    }
    assert_true(made.is_design && made.attenuation_db >= 60 && made.ripple_db <= 0.1);
    assert_near(made.delay, (made.taps - 1) / 2, 0);
    filter_coefficients_free(&made);
}

static const double low[] = {50e6};
static const double high[] = {1.4e9};
static const double many[] = {1.4e9, 1.41e9, 1.42e9};

static void real_samples(void **state)
{
    (void)state;
    static const double below[] = {0.1e6, 30e6, 32e6, 99.9e6};
    static const double above[] = {32e6, 99.9e6, 0.1e6, 30e6};
    static const double between[] = {40e6, 60e6, 0, 39e6, 60e6, 60e6, 62e6, 100e6};
    static const double beside[] = {0, 39e6, 40e6, 60e6, 62e6, 100e6};
    for (int sideband = -1; sideband <= 1; sideband += 2) {
        struct sky_band band = {200e6, 0, sideband, low, 1, {1, 1}};
        passes("{design: {kind: lowpass, edges: [30e6, 32e6]}}", &band, below, 2);
        passes("{design: {kind: highpass, edges: [30e6, 32e6]}}", &band, above, 2);
        passes("{design: {kind: bandpass, edges: [39e6, 40e6, 60e6, 62e6]}}", &band, between, 4);
        passes("{design: {kind: bandstop, edges: [39e6, 40e6, 60e6, 62e6]}}", &band, beside, 3);
        passes("{design: {kind: lowpass, offset: true, edges: [-20e6, -18e6]}}", &band, below, 2);
        struct filter_coefficients made =
            make("{design: {kind: bandstop, edges: [12.1e6, 12.12e6, 12.14e6, 12.16e6]}}", &band);
        assert_false(made.is_complex);
        assert_true(gain(&made, &band, 12.13e6) < 1e-3);
        filter_coefficients_free(&made);
    }
}

static void complex_samples(void **state)
{
    (void)state;
    static const double upper[] = {1.402e9, 1.403e9, 1.395e9,  1.401e9,
                                   1.402e9, 1.403e9, 1.4045e9, 1.405e9};
    static const double around[] = {1.399e9, 1.401e9, 1.395e9, 1.398e9,
                                    1.4e9,   1.401e9, 1.402e9, 1.405e9};
    static const double beside[] = {1.395e9, 1.398e9, 1.399e9, 1.401e9, 1.402e9, 1.405e9};
    struct sky_band band = {10e6, 1, 1, high, 1, {1, 1}};
    passes("{design: {kind: bandpass, edges: [1.401e9, 1.402e9, 1.403e9, 1.4045e9]}}", &band, upper,
           4);
    passes("{design: {kind: lowpass, edges: [1.401e9, 1.402e9]}}", &band, around, 4);
    passes("{design: {kind: highpass, edges: [1e6, 2e6], offset: true}}", &band, beside, 3);
    band.sideband = -1;
    passes("{design: {kind: bandpass, edges: [1.401e9, 1.402e9, 1.403e9, 1.4045e9]}}", &band, upper,
           4);
    struct sky_band three = {10e6, 1, 1, many, 3, {1, 1}};
    struct filter_coefficients made =
        make("{design: {kind: lowpass, edges: [1e6, 2e6], offset: true}}", &three);
    assert_false(made.is_complex);
    filter_coefficients_free(&made);
    made = make("{design: {kind: bandpass, edges: [-2e6, 1e6, 2e6, 3e6], offset: true}}", &three);
    assert_true(made.is_complex);
    filter_coefficients_free(&made);
}

static void wrong_designs(void **state)
{
    (void)state;
    const struct sky_band real = {200e6, 0, 1, low, 1, {1, 1}};
    const struct sky_band complex = {10e6, 1, 1, high, 1, {1, 1}};
    const struct sky_band three = {10e6, 1, 1, many, 3, {1, 1}};
    refused("{design: {kind: lowpass, edges: [90e6, 101e6]}}", &real,
            "job.yaml: filter.0.design.edges: 101000000 Hz is outside of the band, 0 to "
            "100000000 Hz");
    refused("{design: {kind: lowpass, edges: [1e6, 6e6], offset: true}}", &complex,
            "job.yaml: filter.0.design.edges: 6000000 Hz is outside of the band, -5000000 to "
            "5000000 Hz from the centre");
    refused("{design: {kind: lowpass, edges: [1.399e9, 1.401e9]}}", &complex,
            "job.yaml: filter.0.design.edges: 1399000000 Hz is below the centre of the coarse "
            "channel; complex samples have a lowpass on both sides of it: expected edges above, or "
            "a kind with four edges");
    refused("{design: {kind: lowpass, edges: [1.401e9, 1.402e9]}}", &three,
            "job.yaml: filter.0.design.edges: frequencies on the sky, but there are 3 coarse "
            "channels, which are filtered alike: expected offset: true, and edges that count from "
            "each channel's centre, or one channel (input.select.chans)");
    static const double exact[] = {0x1p26};
    const struct sky_band binary = {0x1p28, 0, 1, exact, 1, {1, 1}};
    refused("{design: {kind: lowpass, edges: [33554432, 33554448]}}", &binary,
            "job.yaml: filter.0.design: 60 dB within a transition of 16 Hz at 2.68435e+08 samples "
            "a second need 60823943 coefficients, expected at most 16777216");
}

static void decimation(void **state)
{
    (void)state;
    static const char aliases[] =
        "job.yaml: filter.0.decimate: is 4, which aliases the pass band: it must lie within "
        "%s of %s, and the stop band must contain what falls onto it; aliasing: allow takes it as "
        "it "
        "is";
    char message[2][512];
    const struct sky_band real = {200e6, 0, 1, low, 1, {1, 1}};
    const struct sky_band complex = {10e6, 1, 1, high, 1, {1, 1}};
    snprintf(message[0], sizeof *message, aliases, "25 MHz", "the begin of the band");
    snprintf(message[1], sizeof *message, aliases, "1.25 MHz", "the centre");
    struct filter_coefficients made;
    made = make("{decimate: 4, design: {kind: lowpass, edges: [20e6, 30e6]}}", &real);
    filter_coefficients_free(&made);
    refused("{decimate: 4, design: {kind: lowpass, edges: [20e6, 31e6]}}", &real, message[0]);
    refused("{decimate: 4, design: {kind: lowpass, edges: [26e6, 26.5e6]}}", &real, message[0]);
    refused("{decimate: 4, design: {kind: highpass, edges: [20e6, 26e6]}}", &real, message[0]);
    refused("{decimate: 4, design: {kind: bandpass, edges: [30e6, 31e6, 40e6, 41e6]}}", &real,
            message[0]);
    made = make("{decimate: 4, aliasing: allow,"
                " design: {kind: bandpass, edges: [30e6, 31e6, 40e6, 41e6]}}",
                &real);
    filter_coefficients_free(&made);
    made = make("{decimate: 4, design: {kind: bandpass, edges: [1e6, 2e6, 20e6, 30e6]}}", &real);
    filter_coefficients_free(&made);
    refused("{decimate: 4, design: {kind: bandpass, edges: [1e6, 2e6, 20e6, 31e6]}}", &real,
            message[0]);
    made = make("{decimate: 4, design: {kind: lowpass, edges: [1.401e9, 1.4015e9]}}", &complex);
    filter_coefficients_free(&made);
    refused("{decimate: 4, design: {kind: bandpass, edges: [1.4e9, 1.401e9, 1.402e9, 1.403e9]}}",
            &complex, message[1]);
}

static void given_coefficients(void **state)
{
    (void)state;
    const struct sky_band band = {10e6, 1, 1, high, 1, {1, 1}};
    struct job *job = job_with("{coefficients: c.txt, decimate: 2}");
    struct job_filter *filter = job->filters;
    struct filter_coefficients made;
    filter->ntaps = 2;
    filter->is_complex = 1;
    filter->taps = calloc(4, sizeof *filter->taps);
    assert_non_null(filter->taps);
    filter->taps[0] = 1;
    filter->taps[3] = 1; /* 1, i */
    assert_int_equal(filter_coefficients_make(job, 0, &band, &made), STATUS_USAGE);
    assert_string_equal(
        report_cause(),
        "job.yaml: filter.0.decimate: is 2, but the coefficients of c.txt pass what it aliases, "
        "only 0.0 dB weaker than the band that is kept, expected 40 dB; aliasing: allow takes it "
        "as it is");
    report_clear();
    filter->may_alias = 1;
    assert_int_equal(filter_coefficients_make(job, 0, &band, &made), STATUS_OK);
    assert_true(made.taps == 2 && made.is_complex && !made.is_design && made.delay == 0.5);
    assert_memory_equal(made.coeff, filter->taps, 4 * sizeof *made.coeff);
    filter_coefficients_free(&made);
    job_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_samples),       cmocka_unit_test(complex_samples),
        cmocka_unit_test(wrong_designs),      cmocka_unit_test(decimation),
        cmocka_unit_test(given_coefficients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
