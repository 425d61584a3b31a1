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

/* The order of compute/dedisperse.h, word by word. */
static float in_stated_order(const struct dedisperse_bench *b, uint32_t dm, uint64_t t)
{
    float sum = 0;
    float result = 0;
    float v[16] = {0};
    uint32_t n = 0;
    uint32_t sixteens = 0;
    uint32_t used = 0;
    for (uint32_t c = 0; c < b->delays.nchannels; c++) {
        used += !b->spec.mask || !b->mask[c];
    }
    for (uint32_t c = 0; c < b->delays.nchannels; c++) {
        if (!b->spec.mask || !b->mask[c]) {
            uint64_t at = t + b->delays.table[(size_t)dm * b->delays.nchannels + c];
            memcpy(&v[n++],
                   b->in + b->input.offset + at * b->input.time_step + c * b->input.channel_step,
                   sizeof *v);
        }
        if (n == 16 || (n > 0 && c + 1 == b->delays.nchannels)) {
            for (n = 8; n > 0; n /= 2) {
                for (uint32_t k = 0; k < n; k++) {
                    v[k] = v[2 * k] + v[2 * k + 1];
                }
            }
            sum += v[0];
            memset(v, 0, sizeof v);
            if (++sixteens % 16 == 0 &&
                used > 4096) { /* a block: the result, and what is exactly its error */
                const double exact = (double)result + (double)sum;
                result += sum;
                sum = (float)(exact - (double)result);
            }
        }
    }
    return result + sum;
}

/* Floats whose sums depend on the order a lot. */
static void floats_are_added_in_the_stated_order(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct problem p = {SERIES_F32, i / 2 ? 8201 : 817, 21, 2.3, 150, 1, i % 2, 0};
        struct dedisperse_bench b;
        bench_start(&b, &p);
        for (int mode = DEDISPERSE_BRUTE; mode <= DEDISPERSE_TREE; mode++) {
            b.spec.mode = (enum dedisperse_mode)mode;
            float *found = bench_run(&b, BACKEND_CPU, p.samples, p.samples);
            for (uint32_t d = 0; d < p.ndms; d++) {
                for (uint64_t t = 0; t < p.samples; t++) {
                    float expected = in_stated_order(&b, d, t);
                    assert_memory_equal(&found[d * p.samples + t], &expected, sizeof expected);
                }
            }
            free(found);
        }
        bench_end(&b);
    }
}

/* Trees of any cut give brute force's bytes, for any instruction set and cut in time, with delays
 * that grow and that fall along the channels. */
static void trees_are_brute_force(void **state)
{
    (void)state;
    static const char *const shapes[] = {
        "strips:1:1x1:1x16:32:0:0:4", "strips:1:1x1:2x7:32:0:0:8", "strips:1:1x1:1x128:32:0:0:16",
        "strips:1:1x1:8x5:32:0:0:16", "strips:1:1x1:2x256:32:0:0:16"};
    static const char *const levels[] = {"base", "avx2", "avx512"};
    static const struct problem more[] = {{SERIES_U8, 2100, 40, 9, 700, 1, 1, 0},
                                          {SERIES_U8, 64, 300, 0.7, 3000, 1, 0, 0},
                                          {SERIES_U16, 77, 150, 2.7, 1300, 0, 1, 0},
                                          {SERIES_F32, 333, 150, 2.7, 1300, 1, 1, 0},
                                          {SERIES_F32, 4210, 60, 2.7, 300, 1, 0, 0}};
    for (size_t i = 0; i < PROBLEMS + sizeof more / sizeof *more; i++) {
        const struct problem *p = i < PROBLEMS ? &problems[i] : &more[i - PROBLEMS];
        struct dedisperse_bench b;
        if (p->group > 0) {
            continue;
        }
        bench_start(&b, p);
        for (uint32_t c = 0; i % 2 && c < p->nchannels * p->ndms; c++) {
            b.delays.table[c] = b.delays.largest - b.delays.table[c]; /* descending, and back */
        }
        size_t bytes = b.delays.ndms * p->samples * sizeof(float);
        b.spec.mode = DEDISPERSE_BRUTE;
        float *expected = bench_run(&b, BACKEND_CPU, p->samples, p->samples);
        b.spec.mode = DEDISPERSE_TREE;
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            assert_true(dedisperse_shape_parse(shapes[s], &b.spec.shape));
            setenv("VOLTMILL_SIMD", levels[(s + i) % 3], 1);
            float *found = bench_run(&b, BACKEND_CPU, s % 2 ? p->samples : 333, p->samples);
            assert_memory_equal(found, expected, bytes);
            free(found);
        }
        unsetenv("VOLTMILL_SIMD");
        free(expected);
        bench_end(&b);
    }
}

/* A tree's output past the caches, in rows that begin anywhere in a cache line. */
static void large_outputs_are_brute_force(void **state)
{
    (void)state;
    static const char *const levels[] = {"base", "avx2", "avx512"};
    struct problem p = {SERIES_U8, 8, 300, 0.7, 60011, 1, 0, 0};
    struct dedisperse_bench b;
    bench_start(&b, &p);
    size_t bytes = b.delays.ndms * p.samples * sizeof(float);
    assert_true(bytes > 64 << 20);
    b.spec.mode = DEDISPERSE_BRUTE;
    float *expected = bench_run(&b, BACKEND_CPU, p.samples, p.samples);
    b.spec.mode = DEDISPERSE_TREE;
    assert_true(dedisperse_shape_parse("strips:1:1x1:4x128:32:0:0:8", &b.spec.shape));
    for (int i = 0; i < 3; i++) {
        setenv("VOLTMILL_SIMD", levels[i], 1);
        float *found = bench_run(&b, BACKEND_CPU, p.samples, p.samples);
        assert_memory_equal(found, expected, bytes);
        free(found);
    }
    unsetenv("VOLTMILL_SIMD");
    free(expected);
    bench_end(&b);
}

/* A tree is taken where delays repeat, and asked for; never beside two steps. */
static void modes_allow_their_shapes(void **state)
{
    (void)state;
    struct problem p = {SERIES_U8, 512, 256, 3, 4000, 1, 0, 0};
    struct backend_options options = {.local_size = 1};
    struct dedisperse_shape brute, tree;
    backend_t *backend = NULL;
    struct dedisperse_bench b;
    assert_true(dedisperse_shape_parse("strips:1:1x1:2x16:32:0:0", &brute));
    assert_true(dedisperse_shape_parse("strips:1:1x1:2x64:32:0:0:8", &tree));
    bench_start(&b, &p);
    assert_int_equal(backend_open(BACKEND_CPU, &options, &backend), STATUS_OK);
    for (int mode = DEDISPERSE_AUTO; mode <= DEDISPERSE_TREE; mode++) {
        struct dedisperse_candidate *list = NULL;
        dedisperse_t *stage = NULL;
        struct text words = {0};
        const char *why = NULL;
        uint32_t count = 0;
        uint32_t trees = 0;
        double cost = 0;
        b.spec.mode = (enum dedisperse_mode)mode;
        assert_int_equal(dedisperse_candidates(backend, &b.spec, &list, &count), STATUS_OK);
        for (uint32_t i = 0; i < count; i++) {
            trees += list[i].shape.group > 0;
        }
        assert_int_equal(trees > 0, mode != DEDISPERSE_BRUTE);
        assert_int_equal(trees < count, mode != DEDISPERSE_TREE);
        assert_int_equal(dedisperse_shape_fits(backend, &b.spec, &brute, &cost, &why),
                         mode != DEDISPERSE_TREE);
        assert_int_equal(dedisperse_shape_fits(backend, &b.spec, &tree, &cost, &why),
                         mode != DEDISPERSE_BRUTE);
        assert_int_equal(dedisperse_create(backend, &b.spec, &stage), STATUS_OK);
        assert_int_equal(dedisperse_words(stage, &words), STATUS_OK);
        assert_int_equal(strstr(words.data, "fewer adds") != NULL, mode != DEDISPERSE_BRUTE);
        stage_destroy(stage);
        text_free(&words);
        free(list);
    }
    backend_close(backend);
    bench_end(&b);
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
    struct dedisperse_shape shape = {STAGING_COPIES, 4, 32, 8, 8, 4, 16, 3, 1, 0};
    struct dedisperse_shape back;
    struct text text = {0};
    assert_int_equal(dedisperse_shape_words(&shape, &text), STATUS_OK);
    assert_string_equal(text.data, "copies:4:32x8:8x4:16:3:1");
    assert_true(dedisperse_shape_parse(text.data, &back));
    assert_memory_equal(&shape, &back, sizeof shape);
    assert_false(dedisperse_shape_parse("copies:4:32x8:8x4:16:3", &back));
    assert_false(dedisperse_shape_parse("copies:4:32x8:8x4:16:3:1:", &back));
    assert_false(dedisperse_shape_parse("copies:4:32x8:8x4:16:3:1:0", &back));
    assert_false(dedisperse_shape_parse("copies:4:32x8:8x4:16:3:1:8:2", &back));
    assert_false(dedisperse_shape_parse("magic:4:32x8:8x4:16:3:1", &back));
    text.length = 0;
    shape.group = 8;
    assert_int_equal(dedisperse_shape_words(&shape, &text), STATUS_OK);
    assert_string_equal(text.data, "copies:4:32x8:8x4:16:3:1:8");
    assert_true(dedisperse_shape_parse(text.data, &back));
    assert_memory_equal(&shape, &back, sizeof shape);
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_reference),
        cmocka_unit_test(nothing_changes_a_bit),
        cmocka_unit_test(floats_are_added_in_the_stated_order),
        cmocka_unit_test(trees_are_brute_force),
        cmocka_unit_test(large_outputs_are_brute_force),
        cmocka_unit_test(modes_allow_their_shapes),
        cmocka_unit_test(a_pulse_is_found),
        cmocka_unit_test(impossible_problems_are_refused),
        cmocka_unit_test(shapes_have_words),
    };
    return cmocka_run_group_tests_name("dedisperse", tests, NULL, NULL);
}
