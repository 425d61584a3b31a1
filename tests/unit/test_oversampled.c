/* Oversampled filter banks: against the plain sum, every ratio on CPU and OpenCL against the
 * reference, phases from spectrum to spectrum, what folds in, and that no cut changes a bit. */
#include "channelise_bench.h"
#include "dsp/fir/filter_report.h"
#include "find_device.h"

#include <stdio.h>

static const struct ratio ratios[] = {{32, 27}, {4, 3}, {8, 7}, {2, 1}};
enum { RATIOS = sizeof ratios / sizeof *ratios };

/* The bank's own prototype. */
static double *design(const struct channelise_spec *spec, struct ratio ratio, uint32_t taps)
{
    double *coeff = NULL;
    const struct prototype_spec prototype = {.channels = spec->channels,
                                             .taps = taps,
                                             .samples_per_spectrum =
                                                 (uint32_t)channelise_samples(spec),
                                             .window = WINDOW_KAISER,
                                             .kaiser_beta = oversampled_beta(ratio, taps),
                                             .cutoff = oversampled_cutoff(ratio),
                                             .normalise = NORMALISE_PEAK};
    assert_int_equal(prototype_create(&prototype, &coeff), STATUS_OK);
    return coeff;
}

/* A bench of such a bank, in ascending order where samples are complex. */
static void start(struct bench *bench, enum sample_format format, int is_complex, uint32_t channels,
                  uint32_t taps, uint64_t spectra, struct ratio ratio)
{
    bench_start(bench, format, is_complex, channels, taps, spectra);
    bench_oversample(bench, ratio);
    free(bench->coeff);
    bench->coeff = design(&bench->spec, ratio, taps);
    bench->spec.coeff = bench->coeff;
    if (is_complex) {
        bench->spec.is_shifted = 1;
        prototype_fold(bench->coeff, (size_t)taps * channels, 1, 1, bench->coeff);
    }
}

/* Runs `a` on a backend and the same on the reference, and compares both outputs. */
static void agree(struct bench *a, enum backend_kind kind, uint64_t first)
{
    struct bench b = *a;
    b.spec.noutputs = 0;
    for (uint32_t i = 0; i < a->spec.noutputs; i++) {
        add_output(&b, a->spec.outputs[i].quantity, a->spec.outputs[i].integrate);
    }
    bench_run(a, kind, first, 16);
    bench_run(&b, BACKEND_REFERENCE, first, 64);
    assert_int_equal(a->missing, b.missing);
    for (uint32_t i = 0; i < a->spec.noutputs; i++) {
        assert_agrees(a, &b, i, backend_name(kind));
        free(b.out[i]);
    }
}

/* Y[m] = sum_j x[s H + j] b[j] exp(-2 pi i (s H + j) (m - C/2) / C), of one stream. */
static void reference_is_the_plain_sum(void **state)
{
    (void)state;
    enum { C = 96, T = 3, S = 7, FIRST = 5, H = 81 };
    struct bench bench;
    start(&bench, SAMPLE_I8, 1, C, T, S, ratios[0]);
    assert_int_equal(channelise_hop(&bench.spec), H);
    double *coeff = design(&bench.spec, ratios[0], T);
    add_output(&bench, QUANTITY_SPECTRA, 1);
    bench_run(&bench, BACKEND_REFERENCE, FIRST, 16);
    for (int s = 0; s < S; s++) {
        for (int m = 0; m < C; m++) {
            double complex sum = 0;
            for (int j = 0; j < T * C; j++) {
                const signed char *x =
                    (const signed char *)bench.in + (size_t)(s * H + j) * STREAMS * 2;
                int at = ((FIRST + s) * H + j) * (m - C / 2) % C;
                sum += (x[0] + x[1] * I) * coeff[j] * cexp(-2 * M_PI * I * at / C);
            }
            const float *found = bench.out[0] + 2 * (s * STREAMS * C + m);
            assert_true(cabs(sum - (found[0] + found[1] * I)) < 1e-4);
        }
    }
    free(coeff);
    bench_end(&bench);
}

static void cpu_agrees_with_the_reference(void **state)
{
    (void)state;
    static const struct {
        enum sample_format format;
        int is_complex;
        uint32_t channels, taps;
    } cases[] = {{SAMPLE_I8, 1, 64, 16},  {SAMPLE_F32, 1, 96, 5},    {SAMPLE_I16, 0, 64, 20},
                 {SAMPLE_I4, 1, 416, 8},  {SAMPLE_F32, 0, 224, 3},   {SAMPLE_I8, 1, 1024, 35},
                 {SAMPLE_I8, 1, 4096, 8}, {SAMPLE_I16, 1, 128, 130}, {SAMPLE_I8, 0, 96, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t r = 0; r < RATIOS; r++) {
            struct bench bench;
            uint32_t channels = oversampled_channels(ratios[r], cases[i].channels);
            uint64_t spectra = channels > 1000 ? 7 : 37;
            start(&bench, cases[i].format, cases[i].is_complex, channels, cases[i].taps, spectra,
                  ratios[r]);
            add_output(&bench, QUANTITY_SPECTRA, 1);
            add_output(&bench, QUANTITY_POWER, 3);
            agree(&bench, BACKEND_CPU, 6);
            bench_end(&bench);
        }
    }
}

static void opencl_agrees_with_the_reference(void **state)
{
    (void)state;
    static const struct {
        enum sample_format format;
        int is_complex;
        uint32_t channels, taps;
        size_t ratio;
    } cases[] = {{SAMPLE_I8, 1, 1024, 8, 0},
                 {SAMPLE_I16, 0, 64, 20, 1},
                 {SAMPLE_F32, 1, 96, 70, 0},
                 /* the others only where they are asked for: kernels take seconds to build */
                 {SAMPLE_I4, 1, 256, 8, 1},
                 {SAMPLE_I8, 1, 64, 16, 2},
                 {SAMPLE_I8, 1, 4096, 8, 3},
                 {SAMPLE_F32, 0, 512, 4, 0},
                 {SAMPLE_I16, 1, 2048, 8, 2}};
    enum { FEW = 3 };
    size_t count = getenv("VOLTMILL_TEST_ALL") ? sizeof cases / sizeof *cases : FEW;
    if (!has_device) {
        skip();
    }
    for (size_t i = 0; i < count; i++) {
        struct bench bench;
        start(&bench, cases[i].format, cases[i].is_complex, cases[i].channels, cases[i].taps, 37,
              ratios[cases[i].ratio]);
        add_output(&bench, QUANTITY_SPECTRA, 1);
        add_output(&bench, QUANTITY_POWER, 3);
        agree(&bench, BACKEND_OPENCL, 6);
        bench_end(&bench);
    }
}

/* The fused kernel: spectra, sums and few spectra, of one batch and of less. */
static void fused_kernels_agree_with_the_reference(void **state)
{
    (void)state;
    static const struct {
        enum sample_format format;
        int is_complex, is_summed;
        uint32_t channels, taps;
        size_t ratio;
    } cases[] = {{SAMPLE_I8, 1, 0, 32, 8, 0},   /* an odd number of samples: signs */
                 {SAMPLE_F32, 1, 1, 128, 3, 1}, /* two neighbours by one load */
                 {SAMPLE_F32, 1, 1, 64, 3, 1},
                 {SAMPLE_I16, 0, 0, 64, 4, 3},
                 {SAMPLE_I4, 1, 1, 512, 17, 2}};
    size_t count = getenv("VOLTMILL_TEST_ALL") ? sizeof cases / sizeof *cases : 2;
    if (!has_device) {
        skip();
    }
    for (size_t i = 0; i < count; i++) {
        for (uint64_t spectra = 37; spectra > 0; spectra = spectra > 1 ? 1 : 0) {
            struct bench bench;
            start(&bench, cases[i].format, cases[i].is_complex, cases[i].channels, cases[i].taps,
                  spectra, ratios[cases[i].ratio]);
            bench.spec.kernel = KERNEL_FUSED;
            add_output(&bench, cases[i].is_summed ? QUANTITY_POWER : QUANTITY_SPECTRA,
                       cases[i].is_summed && spectra > 1 ? 3 : 1);
            agree(&bench, BACKEND_OPENCL, 6);
            bench_end(&bench);
        }
    }
}

/* Neither blocks nor threads nor instruction sets' columns change a bit. */
static void cuts_change_nothing(void **state)
{
    (void)state;
    static const uint64_t blocks[] = {16, 48, 112};
    enum { SPECTRA = 200, CHANNELS = 96 };
    struct bench whole;
    start(&whole, SAMPLE_F32, 1, CHANNELS, 4, SPECTRA, ratios[0]);
    for (size_t n = 0; n < whole.samples; n += 97) { /* missing ones, some at borders of blocks */
        ((float *)(void *)whole.in)[2 * n * STREAMS] = NAN;
    }
    add_output(&whole, QUANTITY_SPECTRA, 1);
    add_output(&whole, QUANTITY_POWER, 5);
    bench_run(&whole, BACKEND_CPU, 0, 1024);
    assert_int_equal(whole.missing, (whole.samples + 96) / 97);
    for (int i = 0; i < 3; i++) {
        struct bench cut = whole;
        cut.spec.noutputs = 0;
        cut.spec.threads = (uint32_t)i + 1;
        add_output(&cut, QUANTITY_SPECTRA, 1);
        add_output(&cut, QUANTITY_POWER, 5);
        bench_run(&cut, BACKEND_CPU, 0, blocks[i]);
        assert_int_equal(cut.missing, whole.missing);
        for (uint32_t j = 0; j < 2; j++) {
            size_t row = (size_t)channelise_row_floats(&whole.spec, j, STREAMS);
            assert_int_equal(cut.rows[j], whole.rows[j]);
            assert_memory_equal(cut.out[j], whole.out[j],
                                (size_t)whole.rows[j] * row * sizeof(float));
            free(cut.out[j]);
        }
    }
    bench_end(&whole);
}

/* Nor do batches of four spectra whose halves lie apart (32/27 of 32 channels), nor those that are
 * cut short, nor the sign of zero where nothing is heard; a processor would take pairs of its own
 * accord. */
static void cuts_of_fused_kernels_change_nothing(void **state)
{
    (void)state;
    enum { SPECTRA = 45, SILENCE = 400 /* first sample, and samples, of more than a filter */ };
    const struct channelise_choice four = {.backend = BACKEND_OPENCL,
                                           .shape = {.kernel = KERNEL_FUSED,
                                                     .values = 8,
                                                     .batch = 4,
                                                     .teams = 1,
                                                     .radix = {8, 4, 1, 1},
                                                     .buffers = 4}};
    struct bench whole;
    if (!has_device) {
        skip();
    }
    start(&whole, SAMPLE_I8, 1, 32, 8, SPECTRA, ratios[0]);
    memset((char *)whole.in + (size_t)SILENCE * STREAMS * 2, 0, (size_t)SILENCE * STREAMS * 2);
    whole.spec.choice = four;
    struct bench right = whole;
    add_output(&right, QUANTITY_SPECTRA, 1);
    agree(&right, BACKEND_OPENCL, 6);
    free(right.out[0]);
    add_output(&whole, QUANTITY_SPECTRA, 1);
    bench_run(&whole, BACKEND_OPENCL, 3, 1024);
    for (uint64_t block = 5; block < SPECTRA; block += 9) {
        struct bench cut = whole;
        const size_t row = (size_t)channelise_row_floats(&whole.spec, 0, STREAMS);
        cut.spec.noutputs = 0;
        add_output(&cut, QUANTITY_SPECTRA, 1);
        bench_run(&cut, BACKEND_OPENCL, 3, block);
        assert_int_equal(cut.rows[0], whole.rows[0]);
        assert_memory_equal(cut.out[0], whole.out[0], (size_t)whole.rows[0] * row * sizeof(float));
        free(cut.out[0]);
    }
    bench_end(&whole);
}

/* Spectra of a tone at `channel` (of C, from the middle), and the amplitude that it has in the
 * middle channel: the spread of |Y| over spectra is ripple, the phase is what the tone turned. */
static double tone_in_the_middle(struct bench *bench, double channel, double *step)
{
    const uint32_t c = bench->spec.channels;
    double complex before = 0;
    double power = 0;
    double complex turned = 0;
    for (size_t n = 0; n < bench->samples; n++) {
        double angle = 2 * M_PI * channel * (double)n / c;
        float *x = (float *)(void *)bench->in + 2 * n * STREAMS;
        x[0] = (float)cos(angle);
        x[1] = (float)sin(angle);
    }
    bench_run(bench, BACKEND_CPU, 0, 16);
    for (uint64_t s = 0; s < bench->rows[0]; s++) {
        const float *y = bench->out[0] + 2 * (s * STREAMS * c + c / 2);
        double complex now = y[0] + y[1] * I;
        power += creal(now * conj(now));
        turned += s > 0 ? now * conj(before) : 0;
        before = now;
    }
    *step = carg(turned) / (2 * M_PI);
    return 10 * log10(power / (double)bench->rows[0]);
}

/* A tone in the kept part keeps its level and its phase; one that would fold into it is damped as
 * the report says. */
static void tones_leak_as_designed(void **state)
{
    (void)state;
    static const struct {
        size_t ratio;
        uint32_t taps;
        double about; /* dB */
    } cases[] = {{0, 16, 50}, {0, 35, 100}, {1, 20, 100}, {2, 16, 40}};
    enum { S = 40 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ratio ratio = ratios[cases[i].ratio];
        const double rate = oversampled_cutoff(ratio);
        struct filter_report_oversampled report;
        struct bench bench;
        double step = 0;
        start(&bench, SAMPLE_F32, 1, 64, cases[i].taps, S, ratio);
        double *coeff = design(&bench.spec, ratio, cases[i].taps);
        assert_int_equal(filter_report_oversampled(coeff, cases[i].taps, 64, rate, &report),
                         STATUS_OK);
        assert_true(fabs(report.alias_db - cases[i].about) < 4);
        assert_true(fabs(oversampled_attenuation(ratio, cases[i].taps) - report.alias_db) < 3);
        add_output(&bench, QUANTITY_SPECTRA, 1);
        for (double f = -0.5; f <= 0.5; f += 0.125) {
            double level = tone_in_the_middle(&bench, f, &step);
            assert_true(level < report.ripple_db + 0.01 && level > -report.ripple_db - 0.01);
            assert_true(fabs(step - f / rate) < 1e-4);
        }
        double most = -1000;
        for (double f = rate - 0.5; f < 3; f += 0.03125) {
            most = fmax(most, tone_in_the_middle(&bench, f, &step));
            most = fmax(most, tone_in_the_middle(&bench, -f, &step));
        }
        assert_true(most < -report.alias_db + 0.1 && most > -report.alias_db - 3);
        free(coeff);
        bench_end(&bench);
    }
}

static void taps_reach_what_is_asked_for(void **state)
{
    (void)state;
    for (size_t r = 0; r < RATIOS; r++) {
        for (double wanted = 30; wanted <= 130; wanted += 20) {
            struct filter_report_oversampled report;
            uint32_t taps = 0;
            const struct channelise_spec spec = {.channels = 256, .is_complex = 1};
            assert_int_equal(oversampled_taps(ratios[r], wanted, &taps), STATUS_OK);
            double *coeff = design(&spec, ratios[r], taps);
            assert_int_equal(
                filter_report_oversampled(coeff, taps, 256, oversampled_cutoff(ratios[r]), &report),
                STATUS_OK);
            assert_true(report.alias_db > wanted - 0.1);
            free(coeff);
        }
    }
    uint32_t taps = 0;
    assert_int_equal(oversampled_taps(ratios[0], 50, &taps), STATUS_OK);
    assert_int_equal(taps, 16);
    assert_int_equal(oversampled_taps(ratios[0], 100, &taps), STATUS_OK);
    assert_int_equal(taps, 35);
    assert_int_equal(oversampled_taps(ratios[1], 100, &taps), STATUS_OK);
    assert_int_equal(taps, 20);
}

static void channels_that_will_do_are_found(void **state)
{
    (void)state;
    assert_int_equal(oversampled_channels(ratios[0], 1000), 992);
    assert_int_equal(oversampled_channels(ratios[0], 1010), 1024);
    assert_int_equal(oversampled_channels(ratios[0], 1024), 1024);
    assert_int_equal(oversampled_channels(ratios[0], 2), 32);
    assert_int_equal(oversampled_channels((struct ratio){5, 4}, 15), 10);
    assert_int_equal(oversampled_channels(ratios[3], 30), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_the_plain_sum),
        cmocka_unit_test(cpu_agrees_with_the_reference),
        cmocka_unit_test(opencl_agrees_with_the_reference),
        cmocka_unit_test(fused_kernels_agree_with_the_reference),
        cmocka_unit_test(cuts_change_nothing),
        cmocka_unit_test(cuts_of_fused_kernels_change_nothing),
        cmocka_unit_test(tones_leak_as_designed),
        cmocka_unit_test(taps_reach_what_is_asked_for),
        cmocka_unit_test(channels_that_will_do_are_found),
    };
    return cmocka_run_group_tests_name("oversampled filter banks", tests, find_device, NULL);
}
