/* Channels become a stream again: the reference against the plain sums, all backends against the
 * reference, the way there and back, and that no cut changes a bit. */
#include "synthesise_bench.h"

#include "sampled.h"

#define EACH_BACKEND(t)                                                                            \
    for (struct tested *t = tested; t < tested + TESTED; t++)                                      \
        if (t->backend)

/* Returns whether a case is skipped: if kernels are slow to build, only every Nth runs. */
static int is_skipped(const struct tested *t, unsigned number, unsigned of)
{
    return t->is_slow && !is_sampled(number, of);
}

/* The sums of compute/synthesise.h, of 8-bit samples. */
static void reference_is_the_plain_sum(void **state)
{
    (void)state;
    enum {
        C = 16,
        D = 13,
        TAPS = 3,
        CHANNELS = 5,
        STREAMS = 2,
        SPECTRA = 9,
        ROWS = 150,
        TURN = 39
    };
    for (int is_real = 0; is_real < 2; is_real++) {
        struct bench b;
        bench_start(&b, SAMPLE_I8, is_real, C, D, TAPS, STREAMS, SPECTRA);
        b.spec.channels = CHANNELS;
        b.spec.first_point = is_real ? 2 : -3;
        b.spec.turn = TURN;
        bench_rows(&b, -20, ROWS);
        bench_run(&b, reference, 0);
        for (int i = 0; i < STREAMS; i++) {
            for (int n = -20; n < ROWS - 20; n++) {
                double complex x = 0;
                for (int s = 0; s < SPECTRA; s++) {
                    const int64_t at = n - s * D - b.spec.first;
                    double complex u = 0;
                    for (int c = 0; c < CHANNELS; c++) {
                        const int8_t *y =
                            (const int8_t *)b.in + 2 * ((s * STREAMS + i) * CHANNELS + c);
                        const int m = b.spec.first_point + c;
                        const double complex one =
                            (y[0] + y[1] * I) * cexp(2 * M_PI * I * m * (n + TURN) / C);
                        u += is_real ? (m == 0 ? 1 : 2) * creal(one) : one;
                    }
                    x += at >= 0 && at < TAPS * C ? b.coeff[at] * u : 0;
                }
                const float *found = b.out + (i * ROWS + n + 20) * (is_real ? 1 : 2);
                const double complex is = found[0] + (is_real ? 0 : found[1]) * I;
                assert_true(cabs(is - x) < 1e-6 * (1 + cabs(x)) * 50);
            }
        }
        bench_end(&b);
    }
}

/* A bank of ours, and what it is made of. */
struct our_bank {
    struct ratio ratio;
    uint32_t points, taps;
    int is_real;
    double *coeff; /* [taps][points]; NULL: our own design */
};

static double *design(const struct our_bank *bank)
{
    double *coeff = NULL;
    if (bank->coeff) {
        const size_t bytes = (size_t)bank->taps * bank->points * sizeof *coeff;
        coeff = malloc(bytes);
        assert_non_null(coeff);
        memcpy(coeff, bank->coeff, bytes);
        return coeff;
    }
    const struct prototype_spec spec = {.channels = bank->points,
                                        .taps = bank->taps,
                                        .samples_per_spectrum = bank->points,
                                        .window = WINDOW_KAISER,
                                        .kaiser_beta = oversampled_beta(bank->ratio, bank->taps),
                                        .cutoff = oversampled_cutoff(bank->ratio),
                                        .normalise = NORMALISE_PEAK};
    assert_int_equal(prototype_create(&spec, &coeff), STATUS_OK);
    return coeff;
}

/* Spectra of voltages x, float [samples] or pairs, by the reference's filter bank: float
 * [spectra][channels][2], in ascending frequency. */
static float *analyse(const struct our_bank *bank, const float *x, uint64_t spectra)
{
    struct backend_options options = {.local_size = 1};
    backend_t *backend;
    channelise_t *stage;
    buffer_t *in;
    buffer_t *out;
    void *host;
    uint64_t rows = 0;
    const uint32_t channels = bank->is_real ? bank->points / 2 : bank->points;
    const size_t parts = bank->is_real ? 1 : 2;
    const size_t bytes = (size_t)spectra * channels * 2 * sizeof(float);
    double *coeff = design(bank);
    struct channelise_spec spec = {.channels = channels,
                                   .taps = bank->taps,
                                   .is_complex = !bank->is_real,
                                   .hop = bank->points / bank->ratio.num * bank->ratio.den,
                                   .is_shifted = !bank->is_real,
                                   .format = SAMPLE_F32,
                                   .coeff = coeff,
                                   .nchannels = channels,
                                   .nstreams = 1,
                                   .pol_inner = 1,
                                   .max_spectra = spectra,
                                   .noutputs = 1,
                                   .outputs = {{.quantity = QUANTITY_SPECTRA, .integrate = 1}},
                                   .threads = 1};
    const size_t zero[1] = {0};
    const size_t im[1] = {bank->is_real ? 0 : sizeof(float)};
    const struct sample_input input = {zero, im, parts * sizeof(float)};
    if (!bank->is_real) {
        prototype_fold(coeff, (size_t)bank->taps * bank->points, 1, 1, coeff);
    }
    const size_t samples = (size_t)channelise_inputs(&spec, spectra) * parts;
    assert_int_equal(backend_open(BACKEND_REFERENCE, &options, &backend), STATUS_OK);
    assert_int_equal(channelise_create(backend, &spec, &stage), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_IN, samples * sizeof(float), &in), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_OUT, bytes, &out), STATUS_OK);
    assert_int_equal(buffer_get(in, &host), STATUS_OK);
    memcpy(host, x, samples * sizeof(float));
    channelise_begin(stage, 0);
    assert_int_equal(channelise_run(stage, in, &input, 1, spectra, 0, &out, &rows), STATUS_OK);
    assert_int_equal(buffer_get(out, &host), STATUS_OK);
    float *made = malloc(bytes);
    assert_non_null(made);
    memcpy(made, host, bytes);
    buffer_destroy(in);
    buffer_destroy(out);
    stage_destroy(stage);
    backend_close(backend);
    free(coeff);
    return made;
}

/* Noise, a tone between two channels' centres, and impulses, one kind after the other; where real,
 * without what lies at half the sample rate, of which no channel is. */
enum signal { NOISE, TONE, IMPULSES, SIGNALS };

static float *make_signal(enum signal signal, int is_real, size_t samples)
{
    float *x = calloc(samples * 2, sizeof *x);
    assert_non_null(x);
    for (size_t n = 0; n < samples; n++) {
        const double turn = 2 * M_PI * 0.1234567 * (double)n;
        if (signal == NOISE) {
            x[2 * n] = (float)draw_number();
            x[2 * n + 1] = (float)draw_number();
        } else if (signal == TONE) {
            x[2 * n] = (float)cos(turn);
            x[2 * n + 1] = (float)sin(turn);
        } else if (n % 997 == 500) {
            x[2 * n] = 1;
        }
    }
    if (!is_real) {
        return x;
    }
    double last[6] = {0};
    for (size_t n = 0; n < samples; n++) { /* ((1 + 1/z) / 2)^6 */
        double value = (double)x[2 * n];
        for (int i = 0; i < 6; i++) {
            const double made = (value + last[i]) / 2;
            last[i] = value;
            value = made;
        }
        x[n] = (float)value;
    }
    return x;
}

/* 10 log10 of the power of found - expected over that of expected. */
static double error_db(const float *found, const float *expected, size_t numbers)
{
    double errors = 0;
    double power = 0;
    for (size_t i = 0; i < numbers; i++) {
        const double error = (double)found[i] - (double)expected[i];
        errors += error * error;
        power += (double)expected[i] * (double)expected[i];
    }
    assert_true(power > 0);
    return 10 * log10(errors / power);
}

/* Analysed from spectrum `cut` on (earlier ones are left away), and made a stream again. */
static void there_and_back(const struct tested *t, const struct our_bank *bank, enum signal signal,
                           uint64_t cut)
{
    enum { SPECTRA = 220, ROWS = 2500 };
    struct bench b;
    struct dual dual;
    const uint32_t hop = bank->points / bank->ratio.num * bank->ratio.den;
    double *coeff = design(bank);
    const struct dual_bank of = {coeff, bank->points, bank->taps, hop};
    const size_t samples = (size_t)SPECTRA * hop + (size_t)bank->taps * bank->points;
    const size_t parts = bank->is_real ? 1 : 2;
    float *x = make_signal(signal, bank->is_real, samples);
    assert_int_equal(dual_design(&of, -118, 64, &dual), STATUS_OK);
    bench_start(&b, SAMPLE_F32, bank->is_real, bank->points, hop, dual.taps, 1, SPECTRA - cut);
    float *spectra = analyse(bank, x, SPECTRA);
    const size_t row = (size_t)b.spec.channels * 2;
    memcpy(b.in, spectra + cut * row, (SPECTRA - cut) * row * sizeof(float));
    memcpy(b.coeff, dual.coeff, (size_t)dual.taps * bank->points * sizeof(double));
    b.spec.first = dual.first;
    b.spec.turn = cut * hop;
    /* Rows whose spectra are all there. */
    const struct overlap overlap =
        overlap_synthesise((uint64_t)dual.taps * bank->points, dual.first, hop);
    struct overlap_rows rows;
    assert_int_equal(
        overlap_makes(&overlap, 0, (struct overlap_rows){0, (int64_t)b.spectra}, &rows), STATUS_OK);
    assert_true(rows.first >= 0 && rows.end - rows.first >= ROWS);
    bench_rows(&b, rows.first, ROWS);
    bench_run(&b, t, 0);
    const double db =
        error_db(b.out, x + (size_t)(rows.first + (int64_t)(cut * hop)) * parts, ROWS * parts);
    if (!(db < -100)) {
        fail_msg("%s: %u/%u, %u points, signal %d: %.1f dB, designed %.1f by %u taps",
                 backend_name(t->kind), bank->ratio.num, bank->ratio.den, bank->points, (int)signal,
                 db, dual.error_db, dual.taps);
    }
    bench_end(&b);
    free(dual.coeff);
    free(coeff);
    free(spectra);
    free(x);
}

static const struct our_bank banks[] = {{{32, 27}, 64, 16, 0, NULL}, {{4, 3}, 48, 8, 0, NULL},
                                        {{8, 7}, 64, 24, 0, NULL},   {{2, 1}, 64, 4, 0, NULL},
                                        {{32, 27}, 64, 35, 1, NULL}, {{4, 3}, 64, 20, 1, NULL}};
enum { BANKS = sizeof banks / sizeof *banks };

static void signals_come_back(void **state)
{
    (void)state;
    EACH_BACKEND(t)
    {
        for (unsigned i = 0; i < BANKS * SIGNALS; i++) {
            if (!is_skipped(t, i / SIGNALS, 3)) {
                there_and_back(t, &banks[i / SIGNALS], (enum signal)(i % SIGNALS), i % 2 ? 11 : 0);
            }
        }
    }
}

/* The prototype of a bank of `points` points at samples `step` apart. */
static double prototype_at(const struct our_bank *bank, double place)
{
    const double middle = ((double)bank->taps * bank->points - 1) / 2;
    const struct prototype_spec spec = {.window = WINDOW_KAISER,
                                        .kaiser_beta = oversampled_beta(bank->ratio, bank->taps)};
    const double u = (place + 0.5) / (bank->taps * (double)bank->points);
    return prototype_sinc(oversampled_cutoff(bank->ratio) * (place - middle) / bank->points) *
           prototype_window(&spec, 1, u);
}

/* Channels 10 .. 41 of 128: a stream of 32 points, a quarter of the rate; two tones within it come
 * out, as they are, at a quarter of their times. The prototype is that of the bank at every fourth
 * sample from its first on. */
static void a_range_makes_a_narrower_stream(void **state)
{
    (void)state;
    enum { C = 128, NARROW = 32, FIRST = 10, SPECTRA = 160, TAPS = 35, ROWS = 1800 };
    const struct our_bank bank = {{32, 27}, C, TAPS, 0, NULL};
    static const double tones[2] = {10.3 + FIRST - C / 2, 15.5 + FIRST - C / 2}; /* in channels */
    const uint32_t hop = NARROW / 32 * 27;
    const size_t samples = (size_t)SPECTRA * (C / 32 * 27) + (size_t)TAPS * C;
    double *coeff = design(&bank);
    double narrow[TAPS * NARROW];
    float *x = calloc(samples * 2, sizeof *x);
    float *expected = calloc(ROWS * 2, sizeof *expected);
    struct dual dual;
    struct bench b;
    assert_non_null(x);
    assert_non_null(expected);
    const double scale = coeff[TAPS * C / 2] / prototype_at(&bank, TAPS * C / 2);
    for (int i = 0; i < TAPS * NARROW; i++) {
        narrow[i] = prototype_at(&bank, i * (C / NARROW)) * scale * C / NARROW;
    }
    for (size_t n = 0; n < samples; n++) {
        for (int k = 0; k < 2; k++) {
            x[2 * n] += (float)cos(2 * M_PI * tones[k] * (double)n / C);
            x[2 * n + 1] += (float)sin(2 * M_PI * tones[k] * (double)n / C);
        }
    }
    const struct dual_bank of = {narrow, NARROW, TAPS, hop};
    assert_int_equal(dual_design(&of, -118, 64, &dual), STATUS_OK);
    float *spectra = analyse(&bank, x, SPECTRA);
    EACH_BACKEND(t)
    {
        bench_start(&b, SAMPLE_F32, 0, NARROW, hop, dual.taps, 1, SPECTRA);
        for (size_t s = 0; s < SPECTRA; s++) {
            memcpy(b.in + s * NARROW * 8, spectra + (s * C + FIRST) * 2, NARROW * 8);
        }
        memcpy(b.coeff, dual.coeff, (size_t)dual.taps * NARROW * sizeof(double));
        b.spec.first = dual.first;
        const int64_t first = 60 * hop;
        bench_rows(&b, first, ROWS);
        bench_run(&b, t, 0);
        for (int64_t n = 0; n < ROWS; n++) {
            expected[2 * n] = expected[2 * n + 1] = 0;
            for (int k = 0; k < 2; k++) {
                /* From the centre of the range. */
                const double f = tones[k] - (FIRST - C / 2 + NARROW / 2);
                const double turn = 2 * M_PI * f * (double)(first + n) / NARROW;
                expected[2 * n] += (float)cos(turn);
                expected[2 * n + 1] += (float)sin(turn);
            }
        }
        const double db = error_db(b.out, expected, 2 * ROWS);
        if (!(db < -95)) {
            fail_msg("%s: %.1f dB, designed %.1f", backend_name(t->kind), db, dual.error_db);
        }
        bench_end(&b);
    }
    free(dual.coeff);
    free(spectra);
    free(expected);
    free(x);
    free(coeff);
}

/* Numbers of a text file of the folder of recordings; NULL: it is not there. */
static double *read_numbers(const char *name, size_t count)
{
    char path[4096];
    const char *folder = getenv("VOLTMILL_DATA");
    double *numbers = calloc(count, sizeof *numbers);
    assert_non_null(numbers);
    snprintf(path, sizeof path, "%s/filters/%s", folder ? folder : "../shared/data", name);
    FILE *file = fopen(path, "r");
    if (!file) {
        free(numbers);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(fscanf(file, "%lf", &numbers[i]), 1);
    }
    fclose(file);
    return numbers;
}

/* The MWA's fine filter bank (128 channels, 12 taps, critically sampled) and the filter by which
 * VCSBeam inverts it. In numpy, in double, the sums of dsp/fir/dual.h leave -18.93166 dB with the
 * published filter at its best scale, and -18.93171 dB with the dual of 12 taps by an SVD. */
static void the_mwa_pair_leaves_what_numpy_says(void **state)
{
    (void)state;
    enum { C = 128, TAPS = 12, SPECTRA = 500, FIRST = 30, ROWS = 400 * C };
    const double expected = -18.93166;
    const double scale = 6.623036947756408e-08;
    double *bank = read_numbers("FINEPFB.dat", C * TAPS);
    double *back = read_numbers("LSQ12.dat", C * TAPS);
    if (!bank || !back) {
        print_message("VOLTMILL_DATA does not hold the MWA's filters\n");
        free(bank);
        free(back);
        skip();
    }
    for (int i = 0; i < C * TAPS; i++) {
        back[i] *= scale;
    }
    const struct dual_bank of = {bank, C, TAPS, C};
    struct dual published = {.taps = TAPS, .coeff = back};
    struct dual own;
    assert_int_equal(dual_measure(&of, &published), STATUS_OK);
    assert_true(fabs(published.error_db - expected) < 1e-4);
    assert_int_equal(dual_create(&of, TAPS, &own), STATUS_OK);
    assert_true(fabs(own.error_db + 18.93171) < 1e-4);
    const struct our_bank mwa = {{1, 1}, C, TAPS, 0, bank};
    const size_t samples = (size_t)(SPECTRA + TAPS) * C;
    float *x = make_signal(NOISE, 0, samples);
    float *spectra = analyse(&mwa, x, SPECTRA);
    /* Plainly: of sums over both filters. */
    float *plain = calloc(ROWS * 2, sizeof *plain);
    assert_non_null(plain);
    for (size_t n = 0; n < ROWS; n++) {
        const size_t at = FIRST * C + n;
        double complex sum = 0;
        for (int g = 0; g < TAPS; g++) {
            const size_t begin = at - at % C - (size_t)g * C;
            for (int t = 0; t < TAPS; t++) {
                const float *from = x + 2 * (begin + (size_t)t * C + at % C);
                sum += C * back[g * C + (int)(at % C)] * bank[t * C + (int)(at % C)] *
                       (from[0] + from[1] * I);
            }
        }
        plain[2 * n] = (float)creal(sum);
        plain[2 * n + 1] = (float)cimag(sum);
    }
    const double plain_db = error_db(plain, x + 2 * FIRST * C, 2 * ROWS);
    assert_true(fabs(plain_db - expected) < 0.5); /* of so much noise */
    free(plain);
    EACH_BACKEND(t)
    {
        struct bench b;
        bench_start(&b, SAMPLE_F32, 0, C, C, TAPS, 1, SPECTRA);
        memcpy(b.in, spectra, (size_t)SPECTRA * C * 2 * sizeof(float));
        memcpy(b.coeff, back, C * TAPS * sizeof(double));
        b.spec.first = 0;
        bench_rows(&b, FIRST * C, ROWS);
        bench_run(&b, t, 0);
        const double db = error_db(b.out, x + 2 * FIRST * C, 2 * ROWS);
        if (fabs(db - plain_db) > 1e-3) {
            fail_msg("%s: %g dB instead of %g", backend_name(t->kind), db, plain_db);
        }
        bench_end(&b);
    }
    free(own.coeff);
    free(spectra);
    free(x);
    free(bank);
    free(back);
}

/* Points, hops and taps of all kinds, formats and layouts, ranges of channels. */
static void backends_agree_with_the_reference(void **state)
{
    (void)state;
    static const struct {
        enum sample_format format;
        int is_real;
        uint32_t points, hop, taps, channels, streams;
        uint64_t rows;
    } cases[] = {{SAMPLE_F32, 0, 64, 54, 16, 64, 2, 2000},
                 {SAMPLE_I8, 0, 1024, 864, 24, 1024, 1, 9000},
                 {SAMPLE_I16, 1, 128, 108, 20, 64, 3, 1500},
                 {SAMPLE_I4, 0, 96, 72, 5, 91, 1, 1111},
                 {SAMPLE_I8, 0, 48, 48, 33, 48, 2, 700},
                 {SAMPLE_F32, 1, 256, 192, 3, 100, 1, 2000},
                 {SAMPLE_I8, 0, 2, 1, 7, 2, 1, 100},
                 {SAMPLE_I16, 0, 12, 7, 1, 5, 2, 333},
                 {SAMPLE_F32, 0, 320, 270, 90, 320, 1, 3000},
                 {SAMPLE_I8, 1, 34, 17, 4, 17, 1, 500},
                 {SAMPLE_I8, 0, 4096, 3456, 8, 4096, 1, 20000},
                 {SAMPLE_F32, 0, 18, 18, 1, 18, 1, 400}};
    EACH_BACKEND(t)
    {
        for (unsigned i = 0; t != reference && i < sizeof cases / sizeof *cases * LAYOUTS; i++) {
            const unsigned c = i / LAYOUTS;
            struct bench b;
            if (is_skipped(t, i, 17)) { /* all layouts, one after the other */
                continue;
            }
            const uint64_t spectra = cases[c].rows / cases[c].hop + 2;
            bench_start(&b, cases[c].format, cases[c].is_real, cases[c].points, cases[c].hop,
                        cases[c].taps, cases[c].streams, spectra);
            b.layout = (enum layout)(i % LAYOUTS);
            b.spec.coding.conjugate = i % 2 == 0;
            b.spec.channels = cases[c].channels;
            b.spec.first_point +=
                (int32_t)(i % 2 && !cases[c].is_real && cases[c].channels < cases[c].points);
            b.spec.turn = i % 3 == 1 ? 1000003 : 0;
            bench_rows(&b, i % 3 ? -30 : 17, cases[c].rows);
            bench_run(&b, t, 0);
            bench_agrees(&b, t);
            bench_end(&b);
        }
    }
}

/* Neither the cut nor the number of threads changes a bit; missing samples are zeros, each counted
 * once. */
static void cuts_change_nothing(void **state)
{
    (void)state;
    enum { C = 96, D = 81, SPECTRA = 67, ROWS = 5000 };
    static const uint64_t cuts[] = {1700, 333, 1};
    EACH_BACKEND(t)
    {
        for (unsigned i = 0; i < (t == reference ? 1 : 3); i++) {
            for (int is_real = 0; is_real < 2; is_real++) {
                struct bench b;
                bench_start(&b, SAMPLE_F32, is_real, C, D, 17, 2, SPECTRA);
                const size_t numbers = (size_t)SPECTRA * 2 * b.spec.channels * 2;
                uint64_t missing = 0;
                for (size_t n = 0; n < numbers; n += 2 * 271, missing++) {
                    ((float *)(void *)b.in)[n + n / 2 % 2] = n % 4 ? NAN : INFINITY;
                }
                b.layout = (enum layout)(i % LAYOUTS);
                const uint64_t rows = cuts[i] == 1 ? 60 : ROWS;
                bench_rows(&b, -100, rows);
                bench_run(&b, t, 0);
                assert_true(cuts[i] == 1 || b.missing == missing);
                float *whole = b.out;
                const uint64_t whole_missing = b.missing;
                b.out = NULL;
                bench_rows(&b, -100, rows);
                b.spec.threads = 1 + i;
                bench_run(&b, t, cuts[i]);
                assert_memory_equal(whole, b.out, rows * 2 * b.out_parts * sizeof(float));
                assert_int_equal(b.missing, whole_missing);
                free(whole);
                bench_end(&b);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_the_plain_sum),
        cmocka_unit_test(signals_come_back),
        cmocka_unit_test(a_range_makes_a_narrower_stream),
        cmocka_unit_test(the_mwa_pair_leaves_what_numpy_says),
        cmocka_unit_test(backends_agree_with_the_reference),
        cmocka_unit_test(cuts_change_nothing),
    };
    return cmocka_run_group_tests(tests, open_backends, close_backends);
}
