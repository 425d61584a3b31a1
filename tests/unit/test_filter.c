/* Long filters of every backend against the reference, and by what must hold whatever the numbers
 * are: no cut, thread or layout changes a byte. The reference is checked against the plain sum. */
#include "filter_bench.h"

#include "sampled.h"

/* Calls for every backend that is there. */
#define EACH_BACKEND(t)                                                                            \
    for (struct tested *t = tested; t < tested + TESTED; t++)                                      \
        if (t->backend)

static const enum filter_method methods[] = {FILTER_DIRECT, FILTER_OVERLAP_SAVE};

/* Returns whether a case is skipped: if kernels are slow to build, only every Nth runs. `every` is
 * a number with which all combinations have their turn. */
static int is_skipped(const struct tested *t, unsigned number, unsigned every)
{
    return t->is_slow && !is_sampled(number, every);
}

/* The definition as compute/filter.h writes it, for 8-bit complex samples. */
static void reference_is_the_plain_sum(void **state)
{
    (void)state;
    enum { T = 5, D = 3, ROWS = 40, SAMPLES = 90 };
    static const int64_t shift[STREAMS] = {4, -2};
    struct bench b;
    bench_start(&b, SAMPLE_I8, 1, 1, T, SAMPLES);
    b.spec.decimate = D;
    b.spec.first = -2;
    b.spec.shift = shift;
    bench_choose(&b, reference, FILTER_AUTO);
    bench_rows(&b, -3, ROWS);
    bench_run(&b, reference, 0);
    for (int s = 0; s < STREAMS; s++) {
        for (int m = -3; m < ROWS - 3; m++) {
            double complex y = 0;
            for (int i = 0; i < T; i++) {
                int64_t n = m * D + shift[s] - 2 + T - 1 - i;
                const int8_t *x = (const int8_t *)b.in + 2 * (n * STREAMS + s);
                if (n >= 0 && n < SAMPLES) {
                    y += (b.coeff[2 * i] + b.coeff[2 * i + 1] * I) * (x[0] + x[1] * I);
                }
            }
            const float *found = b.out + 2 * (s * ROWS + m + 3);
            assert_true(cabs(found[0] + found[1] * I - y) < 1e-6 * (1 + cabs(y)));
        }
    }
    bench_end(&b);
}

/* Rows enough for the edges of a few blocks. */
static uint64_t rows_of(const struct bench *b, uint64_t most)
{
    return min_u64(filter_grain(&b->spec) * 5 / 2 + 300, most);
}

static void one_agrees(const struct tested *t, enum filter_method method, int is_complex,
                       int is_complex_coeff, uint32_t taps)
{
    struct bench b;
    uint64_t samples = 4 * (uint64_t)taps + 2000;
    bench_start(&b, SAMPLE_F32, is_complex, is_complex_coeff, taps, samples);
    bench_choose(&b, t, method);
    bench_rows(&b, 0, rows_of(&b, samples));
    bench_run(&b, t, 0);
    bench_agrees(&b, t, NULL);
    bench_end(&b);
}

#ifdef __SANITIZE_ADDRESS__ /* sums take ten times as long */
enum { LENGTHS_EVERY = 5 };
#else
enum { LENGTHS_EVERY = 1 };
#endif

/* All lengths, real and complex. The longest direct sums have few rows. */
static void all_lengths_agree_with_the_reference(void **state)
{
    (void)state;
    static const uint32_t taps[] = {1, 2, 3, 4, 31, 64, 127, 1024, 4096, 7201, 8191, 131072};
    EACH_BACKEND(t)
    {
        for (unsigned i = 0; i < 12 * 8; i++) {
            if (t != reference && !is_skipped(t, i, 23) && (t->is_slow || i % LENGTHS_EVERY == 0)) {
                one_agrees(t, methods[i / 4 % 2], i % 2, i / 2 % 2, taps[i / 8]);
            }
        }
    }
}

/* A million taps, and more rows of the longest direct sums. */
static void the_longest_agree_with_the_reference(void **state)
{
    (void)state;
    if (!getenv("VOLTMILL_TEST_ALL")) {
        print_message("the longest filters: make test-long\n");
        skip();
    }
    EACH_BACKEND(t)
    {
        for (int i = 0; i < 4 && t != reference; i++) {
            struct bench b;
            one_agrees(t, FILTER_OVERLAP_SAVE, i % 2, i / 2, 1000003);
            bench_start(&b, SAMPLE_I8, i % 2, i / 2, 131072, 150000);
            bench_choose(&b, t, FILTER_DIRECT);
            bench_rows(&b, 0, 20000);
            bench_run(&b, t, 0);
            bench_agrees(&b, t, NULL);
            bench_end(&b);
        }
    }
}

/* Every shape that may be measured, and the CPU's other instruction sets. */
static void all_candidates_agree_with_the_reference(void **state)
{
    (void)state;
    EACH_BACKEND(t)
    {
        for (unsigned i = 0; i < 2; i++) {
            struct bench b;
            struct filter_shape *list = NULL;
            uint32_t count = 0;
            bench_start(&b, SAMPLE_F32, i % 2, i % 2, 150, 30000);
            assert_int_equal(filter_candidates(t->backend, &b.spec, &list, &count), STATUS_OK);
            assert_true(count > 0);
            bench_choose(&b, t, FILTER_AUTO);
            assert_memory_equal(&b.spec.choice.shape, &list[0], sizeof *list);
            uint32_t sets = t->kind == BACKEND_CPU ? backend_simd(t->backend) : 1;
            for (uint32_t j = 0; j < count * sets; j++) {
                if (!is_skipped(t, j, 17)) {
                    b.spec.choice.shape = list[j % count];
                    b.spec.choice.shape.simd = t->kind == BACKEND_CPU ? j / count + 1 : 0;
                    bench_rows(&b, 0, rows_of(&b, 29000));
                    bench_run(&b, t, 0);
                    bench_agrees(&b, t, NULL);
                }
            }
            free(list);
            bench_end(&b);
        }
    }
}

/* Every format in every layout. */
static void all_formats_agree_with_the_reference(void **state)
{
    (void)state;
    static const struct {
        enum sample_format format;
        int is_complex;
    } inputs[] = {{SAMPLE_I4, 1},  {SAMPLE_I8, 1},  {SAMPLE_I8, 0}, {SAMPLE_I16, 1},
                  {SAMPLE_I16, 0}, {SAMPLE_F32, 1}, {SAMPLE_F32, 0}};
    EACH_BACKEND(t)
    {
        for (unsigned i = 0; i < 7 * LAYOUTS * 2; i++) {
            struct bench b;
            if (is_skipped(t, i, 17)) {
                continue;
            }
            bench_start(&b, inputs[i % 7].format, inputs[i % 7].is_complex, 0, 37, 3000);
            b.layout = (enum layout)(i / 7 % LAYOUTS);
            b.spec.coding.conjugate = inputs[i % 7].is_complex && i / 7 % 2 == 0;
            b.spec.coding.nibbles.offset_binary = i / 14 % 2 == 0;
            b.spec.coding.nibbles.high_is_real = i / 7 % 2 == 0;
            bench_choose(&b, t, methods[i / 21]);
            bench_rows(&b, 5, 2900);
            bench_run(&b, t, 0);
            bench_agrees(&b, t, NULL);
            bench_end(&b);
        }
    }
}

/* Decimation, taps fewer and more than it; streams that are shifted, rows that reach over both ends
 * of the observation. */
static void decimated_and_shifted_rows_agree(void **state)
{
    (void)state;
    static const uint32_t decimate[] = {1, 2, 3, 7, 64, 100};
    static const uint32_t taps[] = {1, 9, 150};
    static const int64_t shift[STREAMS] = {-41, 1000};
    EACH_BACKEND(t)
    {
        for (unsigned i = 0; i < 6 * 3 * 4; i++) {
            struct bench b;
            uint32_t d = decimate[i % 6];
            if (is_skipped(t, i, 23)) {
                continue;
            }
            bench_start(&b, SAMPLE_I16, i / 18 % 2, i / 6 % 2, taps[i / 6 % 3], 6000);
            b.spec.decimate = d;
            b.spec.shift = shift;
            b.spec.first = -(int64_t)(b.spec.taps * (i % 3) / 3);
            bench_choose(&b, t, methods[i / 36]);
            bench_rows(&b, -1100 / (int64_t)d, (6000 + 1300) / d);
            bench_run(&b, t, 0);
            bench_agrees(&b, t, NULL);
            bench_end(&b);
        }
    }
}

/* The response of the bench's coefficients, times 1 + which: time 0 lies `first` before the first
 * sample. */
static void respond(const void *context, uint32_t which, uint32_t length, double (*out)[2])
{
    const struct filter_spec *spec = context;
    double complex *h = calloc(length, sizeof *h);
    double complex *spectrum = calloc(length, sizeof *h);
    assert_true(h && spectrum);
    for (int64_t i = 0; i < spec->taps; i++) {
        int64_t n = i - ((int64_t)spec->taps - 1) - spec->first;
        double complex c = spec->is_complex_coeff ? spec->coeff[2 * i] + spec->coeff[2 * i + 1] * I
                                                  : spec->coeff[i];
        h[n < 0 ? n + length : n] = c * (1 + which);
    }
    assert_int_equal(dft_forward(length, h, spectrum), STATUS_OK);
    for (uint32_t k = 0; k < length; k++) {
        out[k][0] = creal(spectrum[k]);
        out[k][1] = cimag(spectrum[k]);
    }
    free(h);
    free(spectrum);
}

/* Frequency responses give what their coefficients give. */
static void responses_filter_like_coefficients(void **state)
{
    (void)state;
    static const uint32_t of[STREAMS] = {2, 0};
    static const double scale[STREAMS] = {3, 1};
    EACH_BACKEND(t)
    {
        for (unsigned i = 0; i < 8; i++) {
            struct bench b;
            struct filter_spec taps;
            if (is_skipped(t, i, 5)) {
                continue;
            }
            bench_start(&b, SAMPLE_I8, i % 2, i % 2, 90, 4000);
            b.spec.first = i / 2 % 2 ? -30 : 0;
            b.spec.decimate = i / 4 ? 3 : 1;
            taps = b.spec;
            b.spec.response = respond;
            b.spec.context = &taps;
            b.spec.nresponses = 3;
            b.spec.response_of = of;
            bench_choose(&b, t, FILTER_AUTO);
            assert_int_equal(b.spec.choice.shape.method, FILTER_OVERLAP_SAVE);
            bench_rows(&b, -20, 1300);
            bench_run(&b, t, 0);
            bench_agrees(&b, t, scale);
            b.spec.method = FILTER_DIRECT;
            assert_int_equal(filter_choose(t->kind, &b.spec, &b.spec.choice), STATUS_USAGE);
            report_clear();
            bench_end(&b);
        }
    }
}

/* Blocks that hold no row are refused. */
static void short_blocks_are_refused(void **state)
{
    (void)state;
    EACH_BACKEND(t)
    {
        struct bench b;
        filter_t *filter = NULL;
        if (t == reference) {
            continue;
        }
        bench_start(&b, SAMPLE_F32, 0, 0, 300, 1);
        b.spec.max_rows = 1;
        bench_choose(&b, t, FILTER_OVERLAP_SAVE);
        b.spec.choice.shape.length = 256;
        assert_int_equal(filter_create(t->backend, &b.spec, &filter), STATUS_USAGE);
        assert_null(filter);
        report_clear();
        bench_end(&b);
    }
}

/* Neither where runs are cut nor threads nor layouts change a byte. */
static void cuts_change_nothing(void **state)
{
    (void)state;
    static const uint64_t cuts[] = {1, 7, 100, 1000, 2111};
    EACH_BACKEND(t)
    {
        for (unsigned i = 0; i < 8; i++) {
            struct bench whole;
            if (is_skipped(t, i, 7)) {
                continue;
            }
            bench_start(&whole, i % 2 ? SAMPLE_F32 : SAMPLE_I8, i % 2, 0, 70, 2500);
            whole.spec.decimate = i / 4 ? 2 : 1;
            bench_choose(&whole, t, methods[i / 2 % 2]);
            bench_rows(&whole, -10, i / 4 ? 1200 : 2400);
            bench_run(&whole, t, 0);
            for (unsigned j = 0; j < 5; j++) {
                struct bench cut = whole;
                if (cuts[j] == 1 && t->is_slow) {
                    continue;
                }
                cut.out = NULL;
                cut.spec.threads = 1 + j % 3;
                cut.layout = (enum layout)(j % LAYOUTS);
                bench_rows(&cut, whole.first_row, whole.rows);
                bench_run(&cut, t, cuts[j]);
                assert_memory_equal(cut.out, whole.out,
                                    whole.rows * STREAMS * whole.out_parts * sizeof(float));
                free(cut.out);
            }
            bench_end(&whole);
        }
    }
}

/* Overwrites some samples by what means "none", or by what is 0 V. */
static void spoil(struct bench *b, int is_zero)
{
    static const uint64_t at[] = {0, 19, 333, 640, 1999};
    for (int i = 0; i < 5; i++) {
        char *sample = b->in + at[i] * STREAMS * b->parts * b->number_bytes;
        if (b->spec.coding.format == SAMPLE_F32) {
            float number[2] = {is_zero ? 0 : i % 2 ? NAN : -INFINITY, 0};
            memcpy(sample, number, b->parts * sizeof(float));
        } else if (b->spec.coding.format == SAMPLE_I4) {
            *(uint8_t *)sample = is_zero ? 0x88 : 0x17;
        } else {
            sample[b->parts - 1] = 0;
            sample[0] = is_zero ? 0 : (char)-128;
        }
    }
}

/* Missing samples count as zero volts, and are counted once however runs overlap. */
static void missing_samples_are_zero_and_counted(void **state)
{
    (void)state;
    static const double missing[] = {[SAMPLE_I4] = 0x17, [SAMPLE_I8] = -128, [SAMPLE_F32] = 3};
    static const struct {
        enum sample_format format;
        int is_complex;
    } inputs[] = {{SAMPLE_F32, 1}, {SAMPLE_I8, 1}, {SAMPLE_I8, 0}, {SAMPLE_I4, 1}};
    EACH_BACKEND(t)
    {
        for (unsigned i = 0; i < 8; i++) {
            struct bench b;
            if (is_skipped(t, i, 7)) {
                continue;
            }
            bench_start(&b, inputs[i / 2].format, inputs[i / 2].is_complex, 0, 40, 2000);
            if (b.spec.coding.format == SAMPLE_I8 || b.spec.coding.format == SAMPLE_I4) {
                /* Random bytes are to have none. */
                for (size_t n = 0; n < 2000 * STREAMS * b.parts; n++) {
                    b.in[n] = (char)(b.in[n] & 0x7f) == 0x17 ? 1 : (char)(b.in[n] & 0x7f);
                }
            }
            b.spec.coding.has_missing_value = 1;
            b.spec.coding.missing_value = missing[b.spec.coding.format];
            bench_choose(&b, t, methods[i % 2]);
            bench_rows(&b, 0, 2000 + 39);
            spoil(&b, 0);
            bench_run(&b, t, 150);
            assert_int_equal(b.missing, 5);
            struct bench zeros = b;
            zeros.out = NULL;
            bench_rows(&zeros, 0, b.rows);
            spoil(&zeros, 1);
            bench_run(&zeros, t, 150);
            assert_int_equal(zeros.missing, 0);
            assert_memory_equal(b.out, zeros.out, b.rows * STREAMS * b.out_parts * sizeof(float));
            free(zeros.out);
            bench_end(&b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_the_plain_sum),
        cmocka_unit_test(all_lengths_agree_with_the_reference),
        cmocka_unit_test(the_longest_agree_with_the_reference),
        cmocka_unit_test(all_candidates_agree_with_the_reference),
        cmocka_unit_test(all_formats_agree_with_the_reference),
        cmocka_unit_test(decimated_and_shifted_rows_agree),
        cmocka_unit_test(responses_filter_like_coefficients),
        cmocka_unit_test(short_blocks_are_refused),
        cmocka_unit_test(cuts_change_nothing),
        cmocka_unit_test(missing_samples_are_zero_and_counted),
    };
    return cmocka_run_group_tests(tests, open_backends, close_backends);
}
