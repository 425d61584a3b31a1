/* The filter bank of every backend: against the plain double loop, against each other, and by what
 * must hold whatever the numbers are. */
#include "channelise_bench.h"
#include "compute/cpu/ppf/kernels.h"
#include "compute/device_side.h"

/* Adamek's equations 1 and 2 as they stand, for 8-bit complex samples: y[n] = sum_t x b, then the
 * double sum of the transform. Checks the reference, which all else is checked against. */
static void reference_is_the_plain_double_loop(void **state)
{
    (void)state;
    struct bench bench;
    enum { C = 12, T = 3, S = 5 };
    bench_start(&bench, SAMPLE_I8, 1, C, T, S);
    add_output(&bench, QUANTITY_SPECTRA, 1);
    bench_run(&bench, BACKEND_REFERENCE, 0, 16);
    for (int stream = 0; stream < STREAMS; stream++) {
        for (int s = 0; s < S; s++) {
            for (int m = 0; m < C; m++) {
                double complex sum = 0;
                for (int n = 0; n < C; n++) {
                    double complex y = 0;
                    for (int t = 0; t < T; t++) {
                        const int8_t *x =
                            (const int8_t *)bench.in + 2 * (((s + t) * C + n) * STREAMS + stream);
                        y += (x[0] + x[1] * I) * bench.coeff[t * C + n];
                    }
                    sum += y * cexp(-2 * M_PI * I * n * m / C);
                }
                const float *found = bench.out[0] + 2 * ((s * STREAMS + stream) * C + m);
                assert_true(cabs(found[0] + found[1] * I - sum) < 1e-5 * (1 + cabs(sum)));
            }
        }
    }
    bench_end(&bench);
}

static void cpu_agrees_with_reference(void **state)
{
    (void)state;
    static const uint32_t channels[] = {2, 30, 1000, 1024, 4096};
    static const uint32_t taps[] = {1, 4, 8, 16, 64, 139}; /* beyond a piece of a sum */
    static const struct {
        enum sample_format format;
        int is_complex;
    } inputs[] = {{SAMPLE_I4, 1},  {SAMPLE_I8, 1},  {SAMPLE_I8, 0}, {SAMPLE_I16, 1},
                  {SAMPLE_I16, 0}, {SAMPLE_F32, 1}, {SAMPLE_F32, 0}};
    for (int input = 0; input < 7; input++) {
        for (int c = 0; c < 5; c++) {
            for (int t = 0; t < (channels[c] < 1000 ? 6 : 5); t++) {
                struct bench a;
                struct bench b;
                uint64_t spectra = channels[c] < 1000 ? 37 : 5;
                bench_start(&a, inputs[input].format, inputs[input].is_complex, channels[c],
                            taps[t], spectra);
                add_output(&a, QUANTITY_SPECTRA, 1);
                add_output(&a, QUANTITY_POWER, 3);
                b = a;
                b.spec.noutputs = 0;
                add_output(&b, QUANTITY_SPECTRA, 1);
                add_output(&b, QUANTITY_POWER, 3);
                bench_run(&a, BACKEND_CPU, 0, 16);
                bench_run(&b, BACKEND_REFERENCE, 0, 64);
                for (uint32_t i = 0; i < 2; i++) {
                    assert_agrees(&a, &b, i, "cpu");
                    free(b.out[i]);
                }
                bench_end(&a);
            }
        }
    }
}

/* Neither blocks nor threads nor where a chunk begins change a bit. */
static void cuts_change_nothing(void **state)
{
    (void)state;
    static const uint64_t integrates[] = {1, 2, 5, 16, 40, 200};
    static const uint64_t blocks[] = {16, 32, 48, 112};
    enum { SPECTRA = 400, CHANNELS = 30 };
    struct bench whole;
    bench_start(&whole, SAMPLE_I8, 1, CHANNELS, 4, SPECTRA);
    for (int i = 0; i < 6; i++) {
        add_output(&whole, QUANTITY_POWER, integrates[i]);
    }
    add_output(&whole, QUANTITY_SPECTRA, 1);
    bench_run(&whole, BACKEND_CPU, 0, 1024);
    for (int i = 0; i < 4; i++) {
        struct bench cut = whole;
        cut.spec.noutputs = 0;
        cut.spec.threads = (uint32_t)i + 1;
        for (int j = 0; j < 6; j++) {
            add_output(&cut, QUANTITY_POWER, integrates[j]);
        }
        add_output(&cut, QUANTITY_SPECTRA, 1);
        bench_run(&cut, BACKEND_CPU, 0, blocks[i]);
        for (uint32_t j = 0; j < 7; j++) {
            assert_int_equal(cut.rows[j], whole.rows[j]);
            assert_memory_equal(cut.out[j], whole.out[j],
                                (size_t)whole.rows[j] * STREAMS * CHANNELS * sizeof(float));
            free(cut.out[j]);
        }
    }
    bench_end(&whole);
}

/* A chunk that begins at dump 1 makes the rows that a chunk from the start makes from there on. */
static void chunks_make_the_same_rows(void **state)
{
    (void)state;
    enum { SPECTRA = 90, CHANNELS = 16, INTEGRATE = 10, TAPS = 3 };
    struct bench whole;
    bench_start(&whole, SAMPLE_I16, 0, CHANNELS, TAPS, SPECTRA);
    add_output(&whole, QUANTITY_POWER, INTEGRATE);
    bench_run(&whole, BACKEND_CPU, 0, 1024);
    struct bench later = whole;
    later.spec.noutputs = 0;
    later.spec.max_spectra = SPECTRA - INTEGRATE;
    later.in += (size_t)INTEGRATE * 2 * CHANNELS * STREAMS * later.sample_bytes;
    add_output(&later, QUANTITY_POWER, INTEGRATE);
    bench_run(&later, BACKEND_CPU, INTEGRATE, 32);
    size_t row = STREAMS * CHANNELS;
    assert_int_equal(later.rows[0], whole.rows[0] - 1);
    assert_memory_equal(later.out[0], whole.out[0] + row,
                        (size_t)later.rows[0] * row * sizeof(float));
    free(later.out[0]);
    bench_end(&whole);
}

/* White noise keeps its variance (sum b^2 = 1): here 8-bit uniform noise. */
static void noise_keeps_its_variance(void **state)
{
    (void)state;
    struct bench bench;
    enum { C = 256, S = 400 };
    bench_start(&bench, SAMPLE_I8, 1, C, 8, S);
    add_output(&bench, QUANTITY_POWER, 1);
    bench_run(&bench, BACKEND_CPU, 0, 64);
    double sum = 0;
    size_t count = (size_t)S * STREAMS * C;
    for (size_t i = 0; i < count; i++) {
        sum += (double)bench.out[0][i];
    }
    /* Per component (256^2 - 1) / 12, plus the mean's square 0.25, which only reaches channel 0. */
    double expected = 2 * (65535.0 / 12.0);
    assert_true(fabs(sum / (double)count / expected - 1) < 0.01);
    bench_end(&bench);
}

/* Samples that are no numbers count as zero volts, and are counted once however blocks overlap. */
static void missing_samples_are_zero_and_counted(void **state)
{
    (void)state;
    enum { C = 20, T = 4, S = 60 };
    for (int kind = BACKEND_CPU; kind <= BACKEND_REFERENCE; kind++) {
        if (kind == BACKEND_OPENCL) {
            continue;
        }
        struct bench holes;
        bench_start(&holes, SAMPLE_F32, 1, C, T, S);
        add_output(&holes, QUANTITY_SPECTRA, 1);
        struct bench zeros = holes;
        zeros.spec.noutputs = 0;
        zeros.in = malloc(holes.samples * STREAMS * 8);
        assert_non_null(zeros.in);
        float *bad = (float *)(void *)holes.in;
        static const size_t at[] = {0, 19, 333, 640, (S + T - 1) * C - 1};
        for (int i = 0; i < 5; i++) {
            bad[2 * at[i] * STREAMS + (size_t)(i % 2)] = i < 3 ? NAN : -INFINITY;
        }
        memcpy(zeros.in, holes.in, holes.samples * STREAMS * 8);
        for (int i = 0; i < 5; i++) {
            memset(zeros.in + 8 * at[i] * STREAMS, 0, 8);
        }
        add_output(&zeros, QUANTITY_SPECTRA, 1);
        bench_run(&holes, (enum backend_kind)kind, 0, 16);
        bench_run(&zeros, (enum backend_kind)kind, 0, 16);
        assert_int_equal(holes.missing, 5);
        assert_int_equal(zeros.missing, 0);
        assert_memory_equal(holes.out[0], zeros.out[0], sizeof(float) * 2 * S * STREAMS * C);
        free(zeros.in);
        free(zeros.out[0]);
        bench_end(&holes);
    }
}

/* Stages of different numbers of threads take turns on the same buffers of one backend. */
static void stages_share_a_backend(void **state)
{
    (void)state;
    enum { TURNS = 6, STAGES = 3 };
    struct bench bench;
    struct backend_options options = {.local_size = 1};
    backend_t *backend;
    channelise_t *stages[STAGES];
    buffer_t *in;
    buffer_t *out;
    void *data;
    uint64_t rows;
    bench_start(&bench, SAMPLE_I8, 1, 256, 4, 64);
    add_output(&bench, QUANTITY_SPECTRA, 1);
    bench_run(&bench, BACKEND_CPU, 0, 64);
    size_t step = STREAMS * bench.sample_bytes;
    size_t bytes = (size_t)bench.spec.max_spectra * STREAMS * bench.spec.channels * 8;
    struct sample_input input = {bench.re, bench.im, step};
    assert_int_equal(backend_open(BACKEND_CPU, &options, &backend), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_IN, bench.samples * step, &in), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_OUT, bytes, &out), STATUS_OK);
    assert_int_equal(buffer_get(in, &data), STATUS_OK);
    memcpy(data, bench.in, bench.samples * step);
    for (int turn = 0; turn < TURNS; turn++) {
        int i = turn % STAGES;
        bench.spec.threads = (uint32_t)i + 1;
        if (turn < STAGES) {
            assert_int_equal(channelise_create(backend, &bench.spec, &stages[i]), STATUS_OK);
        }
        assert_int_equal(buffer_get(out, &data), STATUS_OK);
        memset(data, 0xff, bytes);
        channelise_begin(stages[i], 0);
        assert_int_equal(
            channelise_run(stages[i], in, &input, STREAMS, bench.spec.max_spectra, 0, &out, &rows),
            STATUS_OK);
        assert_int_equal(buffer_get(out, &data), STATUS_OK);
        assert_memory_equal(data, bench.out[0], bytes);
    }
    for (int i = 0; i < STAGES; i++) {
        stage_destroy(stages[i]);
    }
    buffer_destroy(in);
    buffer_destroy(out);
    backend_close(backend);
    bench_end(&bench);
}

/* Both backends read nibbles, conjugates and kept channels alike. */
static void variants_agree(void **state)
{
    (void)state;
    enum { C = 32, T = 4, S = 20 };
    for (int variant = 0; variant < 16; variant++) {
        struct bench a;
        bench_start(&a, variant & 8 ? SAMPLE_I8 : SAMPLE_I4, 1, C, T, S);
        a.spec.nibbles.offset_binary = variant & 1;
        a.spec.nibbles.high_is_real = variant >> 1 & 1;
        a.spec.conjugate = variant >> 2 & 1;
        a.spec.missing.has_value = variant & 1;
        a.spec.missing.value = 17;
        a.spec.first_channel = 3;
        a.spec.nchannels = 27;
        struct bench b = a;
        add_output(&a, QUANTITY_SPECTRA, 1);
        add_output(&b, QUANTITY_SPECTRA, 1);
        bench_run(&a, BACKEND_CPU, 0, 16);
        bench_run(&b, BACKEND_REFERENCE, 0, 16);
        assert_agrees(&a, &b, 0, "cpu, a variant");
        assert_int_equal(a.missing, b.missing);
        assert_true((a.missing > 0) == (variant & 1));
        free(b.out[0]);
        bench_end(&a);
    }
}

/* Runs streams that lie interleaved, and the same ones each for itself, on one instruction set. */
static void check_neighbours(enum sample_format format, int is_complex, uint32_t streams,
                             uint32_t simd)
{
    enum { C = 24, T = 3, S = 20 };
    struct bench beside;
    bench_start_streams(&beside, streams, format, is_complex, C, T, S);
    beside.spec.simd = simd;
    struct bench alone = beside;
    alone.is_side_by_side = 1;
    add_output(&beside, QUANTITY_SPECTRA, 1);
    add_output(&alone, QUANTITY_SPECTRA, 1);
    bench_run(&beside, BACKEND_CPU, 0, S);
    bench_run(&alone, BACKEND_CPU, 0, S);
    assert_memory_equal(beside.out[0], alone.out[0],
                        (size_t)S * streams * beside.spec.nchannels * 2 * sizeof(float));
    free(alone.out[0]);
    bench_end(&beside);
}

/* Neighbouring streams are transposed in vectors, and what is left of them one by one. */
static void interleaved_streams_are_as_if_alone(void **state)
{
    (void)state;
    static const uint32_t streams[] = {2, 21};
    for (uint32_t level = SIMD_BASE; level < SIMD_LEVELS; level++) {
        for (size_t i = 0; i < 2 && simd_kernels((enum simd_level)level); i++) {
            check_neighbours(SAMPLE_I8, 0, streams[i], level + 1);
            check_neighbours(SAMPLE_I4, 1, streams[i], level + 1);
            check_neighbours(SAMPLE_I8, 1, streams[i], level + 1);
            check_neighbours(SAMPLE_I16, 1, streams[i], level + 1);
            check_neighbours(SAMPLE_F32, 1, streams[i], level + 1);
        }
    }
}

/* A kind's abilities are those of its backend. */
static void abilities_are_those_of_the_backend(void **state)
{
    (void)state;
    static const enum backend_kind kinds[] = {BACKEND_CPU, BACKEND_REFERENCE};
    const struct backend_options options = {.local_size = 1};
    assert_int_equal(backend_abilities(BACKEND_AUTO)->slots, 1);
    assert_false(backend_abilities(BACKEND_AUTO)->has_device);
    for (size_t i = 0; i < 2; i++) {
        const struct backend_abilities *can = backend_abilities(kinds[i]);
        backend_t *backend = NULL;
        resident_rows_t *rows = NULL;
        assert_int_equal(backend_open(kinds[i], &options, &backend), STATUS_OK);
        assert_int_equal(resident_rows_create(backend, 64, 1, &rows), STATUS_OK);
        assert_int_equal(rows != NULL, can->keeps_rows);
        assert_int_equal(*backend_device(backend) != '\0', can->has_device);
        assert_int_equal(can->is_reference, kinds[i] == BACKEND_REFERENCE);
        assert_int_equal(can->slots > 1, !can->is_reference);
        assert_int_equal(can->uses_threads, kinds[i] == BACKEND_CPU);
        backend_close(backend);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_the_plain_double_loop),
        cmocka_unit_test(cpu_agrees_with_reference),
        cmocka_unit_test(cuts_change_nothing),
        cmocka_unit_test(chunks_make_the_same_rows),
        cmocka_unit_test(noise_keeps_its_variance),
        cmocka_unit_test(missing_samples_are_zero_and_counted),
        cmocka_unit_test(variants_agree),
        cmocka_unit_test(interleaved_streams_are_as_if_alone),
        cmocka_unit_test(stages_share_a_backend),
        cmocka_unit_test(abilities_are_those_of_the_backend),
    };
    return cmocka_run_group_tests_name("channelise", tests, NULL, NULL);
}
