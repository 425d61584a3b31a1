/* Dedispersion on the CPU against the reference, and what may not change a bit. */
#include "dedisperse_bench.h"

static void agrees_with_the_reference(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        struct dedisperse_bench b;
        uint64_t stride = problems[i].samples + 2;
        bench_start(&b, &problems[i]);
        float *expected = bench_run(&b, BACKEND_REFERENCE, problems[i].samples, stride);
        static const char *const levels[] = {"base", "avx2", "avx512"};
        for (int level = 0; level < 3; level++) {
            setenv("VOLTMILL_SIMD", levels[level], 1);
            float *found = bench_run(&b, BACKEND_CPU, problems[i].samples, stride);
            bench_compare(&b, found, expected, stride, levels[level]);
            free(found);
        }
        unsetenv("VOLTMILL_SIMD");
        free(expected);
        bench_end(&b);
    }
}

/* The same bytes for any instruction set, threads, and cut in time. */
static void nothing_changes_a_bit(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        struct dedisperse_bench b;
        uint64_t stride = problems[i].samples;
        bench_start(&b, &problems[i]);
        size_t bytes = b.delays.ndms * stride * sizeof(float);
        float *whole = bench_run(&b, BACKEND_CPU, stride, stride);
        for (int variant = 0; variant < 3; variant++) {
            setenv("VOLTMILL_SIMD", variant == 0 ? "base" : variant == 1 ? "avx2" : "avx512", 1);
            b.spec.threads = variant == 1 ? 1 : 3;
            float *cut = bench_run(&b, BACKEND_CPU, variant == 2 ? 101 : 250, stride);
            assert_memory_equal(whole, cut, bytes);
            free(cut);
        }
        unsetenv("VOLTMILL_SIMD");
        free(whole);
        bench_end(&b);
    }
}

/* A pulse along the delays of one DM comes out at one time, and as high as channels are many. */
static void a_pulse_is_found(void **state)
{
    (void)state;
    enum { CHANNELS = 64, DMS = 21, SAMPLES = 300, TRUE_DM = 13, AT = 150 };
    struct problem p = {SERIES_U8, CHANNELS, DMS, 7, SAMPLES, 1, 0, 0};
    struct dedisperse_bench b;
    bench_start(&b, &p);
    memset(b.in, 0, b.bytes);
    for (uint32_t c = 0; c < CHANNELS; c++) {
        size_t t = AT + b.delays.table[TRUE_DM * CHANNELS + c];
        b.in[b.input.offset + t * b.input.time_step + c * b.input.channel_step] = 1;
    }
    float *out = bench_run(&b, BACKEND_CPU, SAMPLES, SAMPLES);
    for (uint32_t d = 0; d < DMS; d++) {
        for (uint64_t t = 0; t < SAMPLES; t++) {
            float value = out[d * SAMPLES + t];
            assert_true(d == TRUE_DM && t == AT ? value == CHANNELS : value < CHANNELS / 2);
        }
    }
    free(out);
    bench_end(&b);
}

static void impossible_problems_are_refused(void **state)
{
    (void)state;
    struct problem p = {SERIES_U8, 5, 3, 1, 10, 1, 0, 0};
    struct backend_options options = {.local_size = 1};
    backend_t *backend = NULL;
    dedisperse_t *stage = NULL;
    struct dedisperse_bench b;
    bench_start(&b, &p);
    assert_int_equal(backend_open(BACKEND_CPU, &options, &backend), STATUS_OK);
    memset(b.mask, 1, p.nchannels);
    b.spec.mask = b.mask;
    assert_int_equal(dedisperse_create(backend, &b.spec, &stage), STATUS_USAGE);
    report_clear();
    b.spec.mask = NULL;
    b.delays.nchannels = (1 << 16) + 1;
    b.spec.format = SERIES_U16;
    assert_int_equal(dedisperse_create(backend, &b.spec, &stage), STATUS_USAGE);
    report_clear();
    b.delays.nchannels = p.nchannels;
    b.steps.group = 257;
    b.spec.steps = &b.steps;
    assert_int_equal(dedisperse_create(backend, &b.spec, &stage), STATUS_USAGE);
    report_clear();
    backend_close(backend);
    bench_end(&b);
}

static void shapes_have_words(void **state)
{
    (void)state;
    struct dedisperse_shape shape = {STAGING_COPIES, 4, 32, 8, 8, 4, 16, 3, 1};
    struct dedisperse_shape back;
    struct text text = {0};
    assert_int_equal(dedisperse_shape_words(&shape, &text), STATUS_OK);
    assert_string_equal(text.data, "copies:4:32x8:8x4:16:3:1");
    assert_true(dedisperse_shape_parse(text.data, &back));
    assert_memory_equal(&shape, &back, sizeof shape);
    assert_false(dedisperse_shape_parse("copies:4:32x8:8x4:16:3", &back));
    assert_false(dedisperse_shape_parse("copies:4:32x8:8x4:16:3:1:5", &back));
    assert_false(dedisperse_shape_parse("magic:4:32x8:8x4:16:3:1", &back));
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_reference),
        cmocka_unit_test(nothing_changes_a_bit),
        cmocka_unit_test(a_pulse_is_found),
        cmocka_unit_test(impossible_problems_are_refused),
        cmocka_unit_test(shapes_have_words),
    };
    return cmocka_run_group_tests_name("dedisperse", tests, NULL, NULL);
}
