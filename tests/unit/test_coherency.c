/* Products of both polarisations, and fourth powers: the filter bank's sums beside power, on every
 * backend. */
#include "channelise_bench.h"
#include "compute/shared/grains.h"
#include "find_device.h"

/* Streams [outer][2][inner]. */
static void start(struct bench *bench, uint32_t outer, uint32_t inner, enum sample_format format,
                  int is_complex, uint32_t channels, uint64_t spectra)
{
    bench_start_streams(bench, 2 * outer * inner, format, is_complex, channels, 3, spectra);
    bench->spec.pol_inner = inner;
}

/* The outputs of `from` once more, in room of their own. */
static struct bench again(const struct bench *from)
{
    struct bench bench = *from;
    bench.spec.noutputs = 0;
    for (uint32_t i = 0; i < from->spec.noutputs; i++) {
        add_output(&bench, from->spec.outputs[i].quantity, from->spec.outputs[i].integrate);
    }
    return bench;
}

static void again_end(struct bench *bench)
{
    for (uint32_t i = 0; i < bench->spec.noutputs; i++) {
        free(bench->out[i]);
    }
}

/* Sum q of pair (outer, in) of a row. */
static const float *sum_of(const struct bench *bench, uint32_t i, uint64_t row, uint32_t outer,
                           uint32_t q, uint32_t in)
{
    const struct channelise_spec *spec = &bench->spec;
    return bench->out[i] + row * channelise_row_floats(spec, i, bench->streams) +
           ((outer * COHERENCY_SUMS + q) * spec->pol_inner + in) * spec->nchannels;
}

/* The reference's sums are those of its own spectra, by their definition. */
static void reference_is_the_definition(void **state)
{
    (void)state;
    enum { C = 6, S = 9, INTEGRATE = 3, OUTER = 2, INNER = 3 };
    struct bench bench;
    start(&bench, OUTER, INNER, SAMPLE_I8, 1, C, S);
    add_output(&bench, QUANTITY_SPECTRA, 1);
    add_output(&bench, QUANTITY_COHERENCY, INTEGRATE);
    add_output(&bench, QUANTITY_SQUARES, INTEGRATE);
    bench_run(&bench, BACKEND_REFERENCE, 0, 16);
    for (uint32_t at = 0; at < OUTER * INNER * C * S / INTEGRATE; at++) {
        uint32_t k = at % C, in = at / C % INNER, outer = at / C / INNER % OUTER;
        uint32_t row = at / C / INNER / OUTER;
        double sums[5] = {0};
        for (uint32_t s = 0; s < INTEGRATE; s++) {
            double complex y[2];
            for (uint32_t pol = 0; pol < 2; pol++) {
                uint32_t stream = (outer * 2 + pol) * INNER + in;
                const float *pair =
                    bench.out[0] + 2 * (((row * INTEGRATE + s) * bench.streams + stream) * C + k);
                y[pol] = (double)pair[0] + (double)pair[1] * I;
                sums[pol] += creal(y[pol] * conj(y[pol]));
            }
            sums[2] += creal(y[0] * conj(y[1]));
            sums[3] += cimag(y[0] * conj(y[1]));
            sums[4] += creal(y[1] * conj(y[1])) * creal(y[1] * conj(y[1]));
        }
        for (uint32_t q = 0; q < 4; q++) {
            double found = (double)sum_of(&bench, 1, row, outer, q, in)[k];
            assert_true(fabs(found - sums[q]) < 1e-5 * (sums[0] + sums[1]));
        }
        uint32_t second = (outer * 2 + 1) * INNER + in;
        double squares = (double)bench.out[2][(row * bench.streams + second) * C + k];
        assert_true(fabs(squares - sums[4]) < 1e-5 * sums[4]);
    }
    bench_end(&bench);
}

/* All quantities from one stage, kept channels among them. */
static void add_all(struct bench *bench, uint64_t integrate)
{
    add_output(bench, QUANTITY_COHERENCY, integrate);
    add_output(bench, QUANTITY_POWER, integrate);
    add_output(bench, QUANTITY_SQUARES, integrate);
    add_output(bench, QUANTITY_COHERENCY, 1);
    add_output(bench, QUANTITY_SQUARES, 1);
}

/* |A|^2 and |B|^2 are what power gives, of outputs `coherency` and `power`. */
static void assert_powers_equal(const struct bench *bench, uint32_t coherency,
                                const struct bench *other, uint32_t power)
{
    uint32_t inner = bench->spec.pol_inner;
    size_t channels = bench->spec.nchannels;
    assert_int_equal(bench->rows[coherency], other->rows[power]);
    for (uint64_t row = 0; row < bench->rows[coherency]; row++) {
        for (uint32_t stream = 0; stream < bench->streams; stream++) {
            const float *expected = other->out[power] + (row * bench->streams + stream) * channels;
            assert_memory_equal(sum_of(bench, coherency, row, stream / inner / 2,
                                       stream / inner % 2, stream % inner),
                                expected, channels * sizeof(float));
        }
    }
}

static void backend_agrees(enum backend_kind kind, enum kernel_kind kernel, const char *what)
{
    static const struct {
        enum sample_format format;
        int is_complex;
        uint32_t channels, outer, inner, keeps;
    } cases[] = {{SAMPLE_I8, 1, 32, 1, 1, 32},  {SAMPLE_I8, 0, 64, 2, 2, 50},
                 {SAMPLE_I4, 1, 30, 3, 2, 30},  {SAMPLE_F32, 1, 1000, 1, 3, 1000},
                 {SAMPLE_I16, 1, 15, 1, 5, 15}, {SAMPLE_I16, 0, 1026, 1, 1, 1026}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench bench;
        int is_fused = kernel == KERNEL_FUSED;
        /* Kernels take seconds to build on a processor. */
        int is_slow = kind == BACKEND_OPENCL && !getenv("VOLTMILL_TEST_ALL");
        if (is_slow && (is_fused ? i != 0 : i != 1 && i != 2)) {
            continue;
        }
        start(&bench, cases[i].outer, cases[i].inner, cases[i].format, cases[i].is_complex,
              cases[i].channels, 40);
        bench.spec.nchannels = cases[i].keeps;
        bench.spec.first_channel = (cases[i].channels - cases[i].keeps) / 2;
        bench.spec.kernel = kernel;
        add_all(&bench, 5);
        struct bench expected = again(&bench);
        bench_run(&bench, kind, 20, 16);
        bench_run(&expected, BACKEND_REFERENCE, 20, 64);
        for (uint32_t j = 0; j < bench.spec.noutputs; j++) {
            assert_agrees(&bench, &expected, j, what);
        }
        assert_powers_equal(&bench, 0, &bench, 1);
        again_end(&expected);
        bench_end(&bench);
    }
}

static void cpu_agrees_with_reference(void **state)
{
    (void)state;
    backend_agrees(BACKEND_CPU, KERNEL_AUTO, "cpu");
}

static void opencl_agrees_with_reference(void **state)
{
    (void)state;
    if (!has_device) {
        skip();
    }
    backend_agrees(BACKEND_OPENCL, KERNEL_CACHE, "cache");
    backend_agrees(BACKEND_OPENCL, KERNEL_FUSED, "fused");
}

/* Fewer spectra in one go than a grain has, as where the cache is small beside a spectrum: pairs of
 * streams then take turns within grains. */
static void filter_fewer_at_once(const struct bench *whole)
{
    struct backend_options options = {.local_size = 1};
    struct bench few = again(whole);
    backend_t *backend = NULL;
    assert_int_equal(backend_open(BACKEND_CPU, &options, &backend), STATUS_OK);
    assert_int_equal(channelise_choose(backend, &few.spec, &few.spec.choice), STATUS_OK);
    backend_close(backend);
    /* Small transforms go in batches, which are the least. */
    few.spec.choice.shape.rows = few.spec.channels < 1024 ? GRAIN : 4;
    bench_run(&few, BACKEND_CPU, 0, 48);
    for (uint32_t j = 0; j < whole->spec.noutputs; j++) {
        assert_memory_equal(few.out[j], whole->out[j],
                            whole->rows[j] *
                                channelise_row_floats(&whole->spec, j, whole->streams) *
                                sizeof(float));
    }
    again_end(&few);
}

/* Neither blocks nor threads change a bit, nor does what else the stage makes. */
static void cuts_change_nothing(enum backend_kind kind, enum kernel_kind kernel, uint32_t channels)
{
    static const uint64_t integrates[] = {5, 16, 40};
    static const uint64_t blocks[] = {16, 48, 112};
    enum { SPECTRA = 240 };
    /* Kernels take seconds to build on a processor. */
    int is_slow = kind == BACKEND_OPENCL && !getenv("VOLTMILL_TEST_ALL");
    for (int i = 0; i < (is_slow ? 1 : 3); i++) {
        struct bench whole;
        start(&whole, 2, 3, SAMPLE_I8, 1, channels, SPECTRA);
        whole.spec.kernel = kernel;
        add_all(&whole, integrates[i]);
        struct bench cut = again(&whole);
        bench_run(&whole, kind, 0, 1024);
        cut.spec.threads = (uint32_t)i + 1;
        bench_run(&cut, kind, 0, blocks[i]);
        for (uint32_t j = 0; j < whole.spec.noutputs; j++) {
            assert_int_equal(cut.rows[j], whole.rows[j]);
            assert_memory_equal(cut.out[j], whole.out[j],
                                whole.rows[j] *
                                    channelise_row_floats(&whole.spec, j, whole.streams) *
                                    sizeof(float));
        }
        again_end(&cut);
        if (kind == BACKEND_CPU) {
            filter_fewer_at_once(&whole);
        }
        struct bench alone = whole;
        alone.spec.noutputs = 0;
        add_output(&alone, QUANTITY_POWER, integrates[i]);
        bench_run(&alone, kind, 0, 64);
        assert_powers_equal(&whole, 0, &alone, 0);
        again_end(&alone);
        alone.spec.noutputs = 0;
        add_output(&alone, QUANTITY_COHERENCY, integrates[i]);
        add_output(&alone, QUANTITY_SPECTRA, 1);
        bench_run(&alone, kind, 0, 64);
        assert_memory_equal(alone.out[0], whole.out[0],
                            whole.rows[0] * channelise_row_floats(&whole.spec, 0, whole.streams) *
                                sizeof(float));
        again_end(&alone);
        bench_end(&whole);
    }
}

static void cpu_cuts_change_nothing(void **state)
{
    (void)state;
    cuts_change_nothing(BACKEND_CPU, KERNEL_AUTO, 30);
    cuts_change_nothing(BACKEND_CPU, KERNEL_AUTO, 1024);
}

static void opencl_cuts_change_nothing(void **state)
{
    (void)state;
    if (!has_device) {
        skip();
    }
    cuts_change_nothing(BACKEND_OPENCL, KERNEL_CACHE, 30);
    cuts_change_nothing(BACKEND_OPENCL, KERNEL_FUSED, 32);
}

/* Every set of vectors that this machine has agrees with the reference. */
static void vectors_agree(void **state)
{
    (void)state;
    struct backend_options options = {.local_size = 1};
    backend_t *backend = NULL;
    assert_int_equal(backend_open(BACKEND_CPU, &options, &backend), STATUS_OK);
    uint32_t most = backend_simd(backend);
    backend_close(backend);
    for (uint32_t simd = 1; simd <= most; simd++) {
        struct bench bench;
        start(&bench, 1, 2, SAMPLE_I16, 1, 75, 40);
        bench.spec.simd = simd;
        add_all(&bench, 20);
        struct bench expected = again(&bench);
        bench_run(&bench, BACKEND_CPU, 0, 16);
        bench_run(&expected, BACKEND_REFERENCE, 0, 64);
        for (uint32_t j = 0; j < bench.spec.noutputs; j++) {
            assert_agrees(&bench, &expected, j, "vectors");
        }
        assert_powers_equal(&bench, 0, &bench, 1);
        again_end(&expected);
        bench_end(&bench);
    }
}

/* Errors are detected: a sum that is off by a little more than rounding does not agree. */
static void agreement_sees_errors(void **state)
{
    (void)state;
    enum { C = 64, S = 32 };
    struct bench bench;
    start(&bench, 1, 1, SAMPLE_I8, 1, C, S);
    add_output(&bench, QUANTITY_COHERENCY, S);
    add_output(&bench, QUANTITY_SQUARES, S);
    bench_run(&bench, BACKEND_REFERENCE, 0, 64);
    for (uint32_t line = 0; line < 6; line++) {
        struct agreement agreement = {0};
        uint32_t i = line < 4 ? 0 : 1;
        float *at = &bench.out[i][(line < 4 ? line : line - 4) * C + 7];
        float was = *at;
        float copy[4 * C];
        memcpy(copy, bench.out[i], (i == 0 ? 4U : 2U) * C * sizeof(float));
        *at = was + 1e-4F * (i == 0 ? sqrtf(copy[7] * copy[C + 7]) : was);
        if (i == 0) {
            agreement_coherency(&agreement, bench.out[0], copy, C, C, S, NULL);
        } else {
            agreement_row(&agreement, QUANTITY_SQUARES, bench.out[1] + (line - 4) * C,
                          copy + (line - 4) * C, C, S, NULL);
        }
        assert_false(agreement_holds(&agreement));
        *at = was;
    }
    bench_end(&bench);
}

/* A line of which hardly more than it is kept, of many channels: its rounding is as small beside it
 * as where all are kept, in all that is compared. */
static void agreement_of_a_lone_line(void **state)
{
    (void)state;
    enum { KEPT = 8, ALL = 1 << 16 };
    const float line = 1e6F;
    const struct agreement_whole whole = {line / ALL, line, line * line / ALL};
    const struct agreement_whole of_spectra = {line * line / ALL, line * line, 0};
    const struct agreement_whole wholes[] = {whole, whole};
    float expected[4 * KEPT];
    float found[4 * KEPT];
    for (int i = 0; i < 4 * KEPT; i++) {
        expected[i] = i % KEPT == 3 ? line : 1;
        found[i] = expected[i] * (1 + 3e-7F);
    }
    for (int kind = 0; kind < 4; kind++) {
        struct agreement agreement = {0};
        if (kind < 2) {
            agreement_row(&agreement, kind == 0 ? QUANTITY_POWER : QUANTITY_SPECTRA, found,
                          expected, KEPT, 1, kind == 0 ? &whole : &of_spectra);
        } else {
            (kind == 2 ? agreement_coherency : agreement_stokes)(&agreement, found, expected, KEPT,
                                                                 KEPT, 1, wholes);
        }
        assert_true(agreement_rms(&agreement) > 1e-7);
        assert_true(agreement_holds(&agreement));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_the_definition),
        cmocka_unit_test(cpu_agrees_with_reference),
        cmocka_unit_test(cpu_cuts_change_nothing),
        cmocka_unit_test(vectors_agree),
        cmocka_unit_test(agreement_sees_errors),
        cmocka_unit_test(agreement_of_a_lone_line),
        cmocka_unit_test(opencl_agrees_with_reference),
        cmocka_unit_test(opencl_cuts_change_nothing),
    };
    return cmocka_run_group_tests_name("coherency", tests, find_device, NULL);
}
