/* Dedispersion on whatever OpenCL device there is, against the reference and the CPU. */
#include "dedisperse_bench.h"

#include "bench/bench_dedisperse.h"
#include "compute/opencl/opencl.h"
#include "find_device.h"
#include "sampled.h"

/* A processor builds kernels slowly: of most lists only some, all in `make test-long`. */
static int is_all(void)
{
    return getenv("VOLTMILL_TEST_ALL") != NULL;
}

/* The model's shape for every problem; bytes as the CPU's, also when time is cut. */
static void agrees_with_the_reference(void **state)
{
    (void)state;
    static const char often[PROBLEMS] = {
        [0] = 1,  [4] = 1,  [5] = 1,  [7] = 1,  [8] = 1, /* one of everything, masks, many, steep */
        [10] = 1, [13] = 1, [14] = 1, [16] = 1, [17] = 1, [18] = 1};
    unsigned turn = 0;
    if (!has_device) {
        skip();
    }
    for (int i = 0; i < PROBLEMS; i++) {
        struct dedisperse_bench b;
        uint64_t stride = problems[i].samples;
        if (!is_all() && (!often[i] || !is_sampled(turn++, 2))) {
            continue;
        }
        bench_start(&b, &problems[i]);
        size_t bytes = b.delays.ndms * stride * sizeof(float);
        float *expected = bench_run(&b, BACKEND_REFERENCE, stride, stride);
        float *cpu = bench_run(&b, BACKEND_CPU, stride, stride);
        float *found = bench_run(&b, BACKEND_OPENCL, stride, stride);
        bench_compare(&b, found, expected, stride, "the model's shape");
        assert_memory_equal(found, cpu, bytes);
        free(found);
        found = bench_run(&b, BACKEND_OPENCL, stride / 2 + 1, stride);
        assert_memory_equal(found, cpu, bytes);
        free(found);
        free(cpu);
        free(expected);
        bench_end(&b);
    }
}

/* Every staging and packing, with and without skew, odd outputs and ends, in both orders of time;
 * floats to the CPU's bytes. */
static void every_shape_agrees(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        size_t often; /* the problem that it always has */
    } shapes[] = {{"direct:4:8x2:3x2:4:0:0", 0},  {"direct:4:16x1:4x3:2:8:0", 1},
                  {"direct:1:16x2:4x2:8:5:0", 3}, {"funnel:4:8x4:3x2:4:0:0", 1},
                  {"funnel:4:16x2:4x1:2:4:0", 0}, {"copies:4:8x2:3x4:4:0:0", 0},
                  {"copies:4:16x2:4x2:8:3:0", 1}, {"copies:4:32x1:1x1:2:0:0", 0},
                  {"copies:1:8x2:3x2:4:2:0", 3},  {"direct:2:8x2:3x2:4:0:0", 2},
                  {"funnel:2:8x4:3x2:4:6:0", 4},  {"copies:2:8x2:3x4:4:3:0", 2},
                  {"copies:1:1x1:5x3:32:0:0", 3}};
    static const struct problem tried[] = {{SERIES_U8, 300, 19, 1.3, 700, 1, 1, 0},
                                           {SERIES_U8, 20, 13, 11, 333, 0, 0, 0},
                                           {SERIES_U16, 37, 19, 9, 401, 1, 0, 0},
                                           {SERIES_F32, 4110, 19, 9, 201, 0, 0, 0},
                                           {SERIES_U8, 300, 19, 1.3, 500, 1, 0, 8}};
    uint32_t run = 0;
    if (!has_device) {
        skip();
    }
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct dedisperse_bench b;
        uint64_t stride = tried[i].samples;
        bench_start(&b, &tried[i]);
        const int is_float = tried[i].format == SERIES_F32;
        float *expected = bench_run(&b, is_float ? BACKEND_CPU : BACKEND_REFERENCE, stride, stride);
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            struct dedisperse_shape shape;
            uint32_t most = is_float                        ? 1
                            : tried[i].format == SERIES_U16 ? 2
                            : tried[i].group > 0            ? 2
                                                            : 4;
            assert_true(dedisperse_shape_parse(shapes[s].words, &shape));
            int is_turn = is_all() || (shapes[s].often == i && is_sampled((unsigned)s, 2));
            if (is_turn && (shape.pack == 1 || shape.pack == most)) {
                b.spec.shape = shape;
                float *found = bench_run(&b, BACKEND_OPENCL, stride, stride);
                bench_compare(&b, found, expected, stride, shapes[s].words);
                if (is_float && memcmp(found, expected, b.delays.ndms * stride * sizeof(float))) {
                    fail_msg("%s: not the CPU's bytes", shapes[s].words);
                }
                free(found);
                run++;
            }
        }
        free(expected);
        bench_end(&b);
    }
    assert_true(run >= sizeof shapes / sizeof *shapes / 2);
}

/* Trees give the CPU's bytes by brute force: packed and not, one group at a time and several, with
 * and without skew, of numbers of channels that groups do not divide. */
static void trees_are_brute_force(void **state)
{
    (void)state;
    enum { GREATEST = 1 /* all samples are 255 */, RARE = 2 /* only with all */ };
    static const struct {
        const char *shape;
        struct problem problem;
        unsigned how;
    } cases[] = {{"direct:2:16x2:4x4:8:0:0:8", {SERIES_U8, 300, 19, 1.3, 700, 1, 1, 0}, RARE},
                 /* Rows that 16 bits just hold, in groups whose last one is not full; one more. */
                 {"direct:2:16x2:4x4:8:0:0:8", {SERIES_U8, 257, 19, 60, 500, 1, 0, 0}, GREATEST},
                 {"direct:2:8x4:6x2:16:4:0:4", {SERIES_U8, 258, 37, 9, 333, 0, 0, 0}, GREATEST},
                 {"direct:2:16x1:2x4:16:3:0:16", {SERIES_U8, 21, 13, 11, 333, 1, 0, 0}, 0},
                 {"direct:2:16x2:4x8:8:0:0:4", {SERIES_U8, 1025, 37, 3.3, 1100, 0, 0, 0}, RARE},
                 /* Four bytes of high parts, beside single rows. */
                 {"direct:2:32x1:2x8:32:20:0:4", {SERIES_U8, 1024, 21, 40, 500, 1, 0, 0}, GREATEST},
                 {"direct:2:32x2:4x4:4:0:0:4", {SERIES_U8, 700, 21, 0.1, 900, 1, 0, 0}, 0},
                 {"direct:1:16x2:2x4:8:0:0:8", {SERIES_U8, 300, 19, 1.3, 500, 1, 0, 0}, RARE},
                 {"direct:1:16x2:3x4:16:5:0:8", {SERIES_U16, 77, 19, 9, 401, 1, 0, 0}, 0},
                 {"direct:1:16x2:3x4:4:0:0:4", {SERIES_F32, 513, 19, 9, 401, 0, 0, 0}, RARE},
                 {"direct:1:8x2:2x4:8:2:0:8", {SERIES_F32, 800, 19, 2, 401, 0, 1, 0}, 0},
                 {"direct:1:8x2:2x4:32:2:0:16", {SERIES_F32, 75, 19, 2, 401, 1, 0, 0}, RARE},
                 {"direct:1:8x2:2x4:32:2:0:16", {SERIES_F32, 531, 19, 2, 401, 1, 0, 0}, RARE}};
    if (!has_device) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dedisperse_bench b;
        uint64_t stride = cases[i].problem.samples;
        if ((cases[i].how & RARE) && !is_all()) {
            continue;
        }
        bench_start(&b, &cases[i].problem);
        if (cases[i].how & GREATEST) {
            memset(b.in, 0xff, b.bytes);
        }
        for (uint32_t c = 0; i % 2 && c < b.delays.nchannels * b.delays.ndms; c++) {
            b.delays.table[c] = b.delays.largest - b.delays.table[c]; /* the band upside down */
        }
        size_t bytes = b.delays.ndms * stride * sizeof(float);
        b.spec.mode = DEDISPERSE_BRUTE;
        float *expected = bench_run(&b, BACKEND_CPU, stride, stride);
        b.spec.mode = DEDISPERSE_TREE;
        assert_true(dedisperse_shape_parse(cases[i].shape, &b.spec.shape));
        float *found = bench_run(&b, BACKEND_OPENCL, i % 2 ? stride : 200, stride);
        if (memcmp(found, expected, bytes) != 0) {
            fail_msg("%s: not the bytes of brute force", cases[i].shape);
        }
        free(found);
        free(expected);
        bench_end(&b);
    }
}

/* The channels and sampling of a telescope, `ndms` DMs from DM `first` on. */
static void start_setup(struct dedisperse_bench *b, const char *name, enum series_format format,
                        double first, double step, uint32_t ndms)
{
    const struct bench_telescope *telescope = bench_telescope(name);
    double *freq = calloc(telescope->nchannels, sizeof *freq);
    double *dms = calloc(ndms, sizeof *dms);
    assert_non_null(freq);
    assert_non_null(dms);
    *b =
        (struct dedisperse_bench){.problem = {format, telescope->nchannels, ndms, 0, 600, 1, 0, 0}};
    for (uint32_t i = 0; i < telescope->nchannels; i++) {
        freq[i] = telescope->bottom + i * telescope->width;
    }
    for (uint32_t i = 0; i < ndms; i++) {
        dms[i] = first + i * step;
    }
    struct dispersion_spec spec = {.freq_hz = freq,
                                   .nchannels = telescope->nchannels,
                                   .sample_seconds = 1 / telescope->rate,
                                   .dms = dms,
                                   .ndms = ndms};
    assert_int_equal(dispersion_create(&spec, &b->delays), STATUS_OK);
    bench_fill(b);
    b->spec = (struct dedisperse_spec){
        .format = format, .delays = &b->delays, .max_samples = b->problem.samples, .threads = 2};
    free(freq);
    free(dms);
}

/* The same with the delays of telescopes, integers and floats, in shapes as GPUs take them; where
 * delays are steep some groups of channels are added one by one. */
static void trees_of_telescopes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double first, step;
        const char *shape, *floats; /* NULL: local memory holds none for floats */
    } setups[] = {
        {"apertif", 800, 0.25, "direct:2:32x4:8x8:16:2:0:4", "direct:1:32x1:2x16:16:2:0:4"},
        {"askap", 475, 1, "direct:2:32x4:8x8:16:0:0:4", "direct:1:32x1:2x16:16:0:0:8"},
        {"chime", 300, 1, "direct:2:32x4:8x8:8:5:0:4", "direct:1:32x1:2x8:16:5:0:4"},
        {"meerkat", 300, 0.5, "direct:2:32x4:8x8:8:9:0:4", "direct:1:32x1:2x8:16:9:0:4"},
        {"lofar", 2, 0.01, "direct:2:32x4:8x2:8:16:0:4", NULL}};
    if (!has_device) {
        skip();
    }
    for (size_t i = 0; i < 2 * (sizeof setups / sizeof *setups); i++) {
        const enum series_format format = i % 2 ? SERIES_F32 : SERIES_U8;
        const char *shape = i % 2 ? setups[i / 2].floats : setups[i / 2].shape;
        /* Integers of the first and last, floats of the second. */
        int is_turn = (i / 2 % 2 == i % 2 && i / 4 != 1) || is_all();
        struct dedisperse_bench b;
        if (!shape || !is_turn) {
            continue;
        }
        start_setup(&b, setups[i / 2].name, format, setups[i / 2].first, setups[i / 2].step, 37);
        size_t bytes = b.delays.ndms * b.problem.samples * sizeof(float);
        b.spec.mode = DEDISPERSE_BRUTE;
        float *expected = bench_run(&b, BACKEND_CPU, b.problem.samples, b.problem.samples);
        b.spec.mode = DEDISPERSE_TREE;
        assert_true(dedisperse_shape_parse(shape, &b.spec.shape));
        float *found = bench_run(&b, BACKEND_OPENCL, b.problem.samples, b.problem.samples);
        if (memcmp(found, expected, bytes) != 0) {
            fail_msg("%s, %s: not the bytes of brute force", setups[i / 2].name, shape);
        }
        free(found);
        free(expected);
        bench_end(&b);
    }
}

/* A list of DMs whose steps grow: local memory holds the patterns of most tiles, not of the last
 * one's. The stage is made all the same, by brute force. */
static void trees_that_do_not_fit_are_brute_force(void **state)
{
    (void)state;
    enum { DMS = 96, FAR = 40000 };
    const struct problem p = {SERIES_F32, 16, DMS, 2, 300, 0, 0, 0};
    struct dedisperse_bench b;
    if (!has_device) {
        skip();
    }
    bench_start(&b, &p);
    free(b.in);
    for (uint32_t c = 0; c < p.nchannels; c++) {
        b.delays.table[(DMS - 1) * p.nchannels + c] = FAR / p.nchannels * c;
    }
    b.delays.largest = FAR;
    bench_fill(&b);
    b.spec.mode = DEDISPERSE_BRUTE;
    float *expected = bench_run(&b, BACKEND_CPU, p.samples, p.samples);
    b.spec.mode = DEDISPERSE_TREE;
    float *found = bench_run(&b, BACKEND_OPENCL, p.samples, p.samples);
    assert_memory_equal(found, expected, DMS * p.samples * sizeof(float));
    free(found);
    free(expected);
    bench_end(&b);
}

/* Dedisperses 5 channels to 6 DMs, and takes these, as they are in the stage's output, for the
 * channels of a second stage. float [3][40]; free() returns it. */
static float *run_chain(enum backend_kind kind)
{
    enum { FIRST = 90, SECOND = 40 };
    struct problem p = {SERIES_U8, 5, 6, 9, FIRST, 1, 0, 0};
    struct problem q = {SERIES_F32, 6, 3, 11, SECOND, 0, 0, 0};
    struct backend_options options = {.local_size = 1};
    struct dedisperse_input between = {0, sizeof(float), FIRST * sizeof(float), 0};
    struct dedisperse_bench a;
    struct dedisperse_bench b;
    backend_t *backend = NULL;
    dedisperse_t *stages[2] = {NULL};
    buffer_t *buffers[3] = {NULL};
    void *data = NULL;
    float *result = malloc(3 * SECOND * sizeof *result);
    assert_non_null(result);
    bench_start(&a, &p);
    bench_start(&b, &q);
    assert_true(b.delays.largest + SECOND <= FIRST);
    assert_int_equal(backend_open(kind, &options, &backend), STATUS_OK);
    assert_int_equal(dedisperse_create(backend, &a.spec, &stages[0]), STATUS_OK);
    assert_int_equal(dedisperse_create(backend, &b.spec, &stages[1]), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_IN, a.bytes, &buffers[0]), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_OUT, 6 * FIRST * 4, &buffers[1]), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_OUT, 3 * SECOND * 4, &buffers[2]), STATUS_OK);
    assert_int_equal(buffer_get(buffers[0], &data), STATUS_OK);
    memcpy(data, a.in, a.bytes);
    assert_int_equal(dedisperse_run(stages[0], buffers[0], &a.input, FIRST, buffers[1], FIRST),
                     STATUS_OK);
    assert_int_equal(dedisperse_run(stages[1], buffers[1], &between, SECOND, buffers[2], SECOND),
                     STATUS_OK);
    assert_int_equal(buffer_get(buffers[2], &data), STATUS_OK);
    memcpy(result, data, 3 * SECOND * sizeof *result);
    for (int i = 0; i < 2; i++) {
        stage_destroy(stages[i]);
    }
    for (int i = 0; i < 3; i++) {
        buffer_destroy(buffers[i]);
    }
    backend_close(backend);
    bench_end(&a);
    bench_end(&b);
    return result;
}

/* A stage's output on the device is the next one's input, and is not uploaded again. */
static void stages_follow_each_other(void **state)
{
    (void)state;
    if (!has_device) {
        skip();
    }
    float *cpu = run_chain(BACKEND_CPU);
    float *opencl = run_chain(BACKEND_OPENCL);
    assert_true(cpu[0] > 0);
    assert_memory_equal(cpu, opencl, 3 * 40 * sizeof(float));
    free(cpu);
    free(opencl);
}

/* Returns whether `auto` takes a tree on a GPU with `memory` bytes; a small GPU, which this many
 * tiles keep busy. */
static int takes_tree(const struct dedisperse_bench *b, uint64_t memory)
{
    const struct backend_options options = {.local_size = 1, .device_memory = memory};
    struct text words = {0};
    struct dedisperse_shape shape;
    backend_t *backend = NULL;
    dedisperse_t *stage = NULL;
    assert_int_equal(backend_open(BACKEND_OPENCL, &options, &backend), STATUS_OK);
    ((struct opencl *)backend)->device->info.is_gpu = 1;
    ((struct opencl *)backend)->device->info.units = 1;
    if (dedisperse_create(backend, &b->spec, &stage) != STATUS_OK) {
        fail_msg("%s", report_cause());
    }
    assert_false(backend_was_full(backend));
    assert_int_equal(dedisperse_words(stage, &words), STATUS_OK);
    assert_true(dedisperse_shape_parse(words.data, &shape));
    text_free(&words);
    stage_destroy(stage);
    backend_close(backend);
    return shape.group > 0;
}

/* The words into which a tree folds rows are not planned: without memory for them, brute force is
 * used. */
static void trees_without_room_are_brute_force(void **state)
{
    enum { ROWS_ONLY = 2 << 20, ENOUGH = 64 << 20 };
    const struct problem p = {SERIES_U8, 256, 64, 3, 4096, 0, 0, 0};
    struct dedisperse_bench b;
    (void)state;
    if (!has_device) {
        skip();
    }
    bench_start(&b, &p);
    assert_true(takes_tree(&b, ENOUGH));
    assert_false(takes_tree(&b, ROWS_ONLY));
    bench_end(&b);
}

/* Impossible shapes are refused before anything is compiled, and reported. */
static void impossible_shapes_are_refused(void **state)
{
    (void)state;
    static const char *const shapes[] = {
        "direct:2:8x2:3x2:4:0:0",         /* 8-bit samples go four to a word */
        "funnel:1:8x2:3x2:4:0:0",         /* nothing to join */
        "copies:4:8x2:3x2:3:0:0",         /* a chunk of 3 */
        "copies:4:65536x16:3x2:4:0:0",    /* the group */
        "copies:4:8x2:16x8:4:0:0",        /* registers */
        "copies:4:32x32:4x4:32:0:0",      /* local memory: steep delays */
        "funnel:2:8x2:3x2:8:0:0:8",       /* trees read directly */
        "direct:4:8x2:3x2:8:0:0:8",       /* 16-bit sums go two to a word */
        "direct:2:8x2:4x2:4:0:0:8",       /* half a group */
        "direct:2:8x2:4x2:12:0:0:12",     /* a group of 12 */
        "direct:2:8x2:3x2:8:0:0:8",       /* half a pair of words */
        "direct:2:8x2:4x1:8:0:0:8",       /* offsets of two DMs */
        "direct:1:256x1:64x2:8:0:0:8",    /* local memory */
        "direct:2:65536x16:4x8:8:0:0:8"}; /* the group of work-items */
    struct problem p = {SERIES_U8, 300, 600, 800, 100, 0, 0, 0};
    struct backend_options options = {.local_size = 1};
    backend_t *backend = NULL;
    struct dedisperse_bench b;
    struct dedisperse_shape shape;
    if (!has_device) {
        skip();
    }
    bench_start(&b, &p);
    assert_int_equal(backend_open(BACKEND_OPENCL, &options, &backend), STATUS_OK);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        dedisperse_t *stage = NULL;
        const char *why = NULL;
        double cost = 0;
        assert_true(dedisperse_shape_parse(shapes[i], &shape));
        assert_false(dedisperse_shape_fits(backend, &b.spec, &shape, &cost, &why));
        assert_non_null(why);
        b.spec.shape = shape;
        assert_int_equal(dedisperse_create(backend, &b.spec, &stage), STATUS_USAGE);
        report_clear();
    }
    struct dedisperse_candidate *candidates = NULL;
    uint32_t count = 0;
    assert_int_equal(dedisperse_candidates(backend, &b.spec, &candidates, &count), STATUS_OK);
    assert_true(count > 100);
    for (uint32_t i = 0; i < count; i += count / 50) {
        const char *why = NULL;
        double cost = 0;
        assert_true(dedisperse_shape_fits(backend, &b.spec, &candidates[i].shape, &cost, &why));
        assert_true(cost == candidates[i].cost);
    }
    free(candidates);
    backend_close(backend);
    bench_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_reference),
        cmocka_unit_test(every_shape_agrees),
        cmocka_unit_test(trees_are_brute_force),
        cmocka_unit_test(trees_of_telescopes),
        cmocka_unit_test(trees_that_do_not_fit_are_brute_force),
        cmocka_unit_test(trees_without_room_are_brute_force),
        cmocka_unit_test(stages_follow_each_other),
        cmocka_unit_test(impossible_shapes_are_refused),
    };
    return cmocka_run_group_tests_name("opencl_dedisperse", tests, find_device, NULL);
}
