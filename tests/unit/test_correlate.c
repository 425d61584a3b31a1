/* Visibilities on every backend: against the reference, bit by bit where work is cut differently,
 * and powers of stations bit by bit against the filter bank's. */
#include "channelise_bench.h"
#include "correlate_bench.h"

static const struct {
    struct correlate_spec spec;
    uint64_t first, spectra;
    uint32_t share; /* of 8 pairs */
    double turns;   /* most turns per channel; 0: no turns */
    int has_gains;
} cases[] = {
    {{.stations = 3, .pols = 2, .coarse = 2, .nchannels = 5, .average = 1, .integrate = 1},
     7,
     20,
     8,
     0,
     0},
    {{.stations = 5, .pols = 1, .coarse = 3, .nchannels = 7, .average = 7, .integrate = 5},
     35,
     165,
     8,
     0.1,
     0},
    {{.stations = 4, .pols = 2, .coarse = 1, .nchannels = 21, .average = 3, .integrate = 16},
     32,
     80,
     4,
     0.49,
     1},
    {{.stations = 7, .pols = 1, .coarse = 1, .nchannels = 19, .average = 1, .integrate = 1000},
     1000,
     2000,
     5,
     0,
     1},
    {{.stations = 2, .pols = 2, .coarse = 2, .nchannels = 3, .average = 1, .integrate = 2500},
     2500,
     5000,
     8,
     3.3,
     0},
    {{.stations = 37, .pols = 2, .coarse = 1, .nchannels = 6, .average = 2, .integrate = 4},
     0,
     10,
     8,
     0,
     0},
    {{.stations = 43, .pols = 1, .coarse = 1, .nchannels = 34, .average = 34, .integrate = 16},
     0,
     32,
     1,
     0.02,
     0},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Whether a backend does a case: kernels are built for one and for two polarisations. */
static int does(const struct tested *by, size_t i)
{
    return by->backend && (!by->is_slow || cases[i].spec.pols == 2 || getenv("VOLTMILL_TEST_ALL"));
}

static void start(struct visibilities *v, size_t i)
{
    visibilities_start(v, &cases[i].spec, cases[i].first, cases[i].spectra);
    visibilities_pair(v, cases[i].share);
    if (cases[i].turns > 0) {
        visibilities_turn(v, cases[i].turns);
    }
    if (cases[i].has_gains) {
        visibilities_gain(v);
    }
}

static void backends_agree_with_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct visibilities v;
        start(&v, i);
        visibilities_run(&v, reference, v.spectra);
        float *expected = v.out;
        v.out = NULL;
        for (int t = 1; t < TESTED; t++) {
            if (does(&tested[t], i)) {
                visibilities_run(&v, &tested[t], v.first + v.spectra);
                visibilities_agree(&v, expected);
            }
        }
        free(expected);
        visibilities_end(&v);
    }
}

/* Every set of vectors that this machine has; without turns, the same bytes by those that multiply
 * and add in one operation. */
static void vectors_agree(void **state)
{
    (void)state;
    const uint32_t most = backend_simd(tested[1].backend);
    for (size_t i = 0; i < CASES; i++) {
        struct visibilities v;
        float *expected;
        float *before = NULL;
        start(&v, i);
        visibilities_run(&v, reference, v.spectra);
        expected = v.out;
        v.out = NULL;
        for (uint32_t simd = 1; simd <= most; simd++) {
            v.spec.simd = simd;
            visibilities_run(&v, &tested[1], v.first + v.spectra);
            visibilities_agree(&v, expected);
            if (simd > 2 && !v.turns) {
                assert_memory_equal(v.out, before,
                                    v.rows * (size_t)correlate_row_floats(&v.spec) * sizeof *v.out);
            }
            free(before);
            before = v.out;
            v.out = NULL;
        }
        free(before);
        free(expected);
        visibilities_end(&v);
    }
}

/* Neither runs nor threads change a bit. */
static void cuts_change_nothing(void **state)
{
    (void)state;
    static const uint64_t cuts[] = {16, 112, 1040};
    for (size_t i = 0; i < CASES; i++) {
        struct visibilities v;
        start(&v, i);
        for (int t = 1; t < TESTED; t++) {
            if (!does(&tested[t], i)) {
                continue;
            }
            v.spec.threads = 1;
            visibilities_run(&v, &tested[t], v.first + v.spectra);
            float *whole = v.out;
            v.out = NULL;
            for (uint32_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
                if (cuts[c] >= v.spectra || (cuts[c] == 16 && v.spectra > 1000)) {
                    continue;
                }
                v.spec.threads = c + 1;
                visibilities_run(&v, &tested[t], cuts[c]);
                assert_memory_equal(v.out, whole,
                                    v.rows * (size_t)correlate_row_floats(&v.spec) * sizeof *whole);
            }
            v.spec.threads = 3;
            visibilities_run(&v, &tested[t], v.first + v.spectra);
            assert_memory_equal(v.out, whole,
                                v.rows * (size_t)correlate_row_floats(&v.spec) * sizeof *whole);
            free(whole);
        }
        visibilities_end(&v);
    }
}

/* Turns of 0 and gains of 1 are no turns and no gains. */
static void ones_change_nothing(void **state)
{
    (void)state;
    for (int t = 1; t < TESTED; t++) {
        struct visibilities v;
        if (!tested[t].backend) {
            continue;
        }
        visibilities_start(&v, &cases[0].spec, 0, 20);
        visibilities_run(&v, &tested[t], 20);
        float *plain = v.out;
        v.out = NULL;
        visibilities_turn(&v, 0.1);
        visibilities_gain(&v);
        memset(v.turns, 0, v.spectra * v.spec.stations * v.spec.coarse * 2 * sizeof *v.turns);
        for (size_t i = 0; i < visibilities_floats(&v.spec); i++) {
            v.gains[i] = i % 2 == 0;
        }
        visibilities_run(&v, &tested[t], 20);
        const size_t count = v.rows * (size_t)correlate_row_floats(&v.spec);
        for (size_t i = 0; i < count; i++) {
            assert_true(v.out[i] == plain[i]);
        }
        free(plain);
        visibilities_end(&v);
    }
}

/* Column k of sum q of the coherency of a station's coarse channel. */
static float coherency_of(const struct bench *bench, uint64_t row, uint32_t station,
                          uint32_t coarse, uint32_t q, uint32_t k)
{
    const struct channelise_spec *spec = &bench->spec;
    return bench
        ->out[1][row * channelise_row_floats(spec, 1, bench->streams) +
                 ((station * COHERENCY_SUMS + q) * spec->pol_inner + coarse) * spec->nchannels + k];
}

/* A station's powers are the filter bank's, and those that the reference makes of them. */
static void autos_are_the_banks(enum backend_kind kind, uint64_t integrate)
{
    enum { CHANNELS = 24, COARSE = 2, N = 3, SPECTRA = 1200 };
    struct bench bench;
    struct visibilities v;
    bench_start_streams(&bench, 2 * COARSE * N, SAMPLE_I8, 1, CHANNELS, 3, SPECTRA);
    bench.spec.pol_inner = COARSE;
    bench.spec.kernel = kind == BACKEND_OPENCL ? KERNEL_CACHE : KERNEL_AUTO;
    add_output(&bench, QUANTITY_SPECTRA, 1);
    add_output(&bench, QUANTITY_COHERENCY, integrate);
    bench_run(&bench, kind, 0, SPECTRA);
    const struct correlate_spec spec = {.stations = N,
                                        .pols = 2,
                                        .coarse = COARSE,
                                        .nchannels = CHANNELS,
                                        .average = 1,
                                        .integrate = integrate};
    visibilities_start(&v, &spec, 0, SPECTRA);
    memcpy(v.in, bench.out[0], SPECTRA * visibilities_floats(&spec) * sizeof *v.in);
    visibilities_turn(&v, 0.1);
    visibilities_run(&v, &tested[kind == BACKEND_CPU ? 1 : 2], 400);
    assert_int_equal(v.rows, bench.rows[1]);
    for (uint64_t i = 0; i < v.rows * v.spec.npairs * CHANNELS * COARSE; i++) {
        const uint32_t *pair = v.pairs[i / CHANNELS / COARSE % v.spec.npairs];
        const uint64_t row = i / CHANNELS / COARSE / v.spec.npairs;
        const uint32_t coarse = i / CHANNELS % COARSE;
        float sums[COHERENCY_SUMS];
        if (pair[0] != pair[1]) {
            continue;
        }
        for (uint32_t q = 0; q < COHERENCY_SUMS; q++) {
            sums[q] = coherency_of(&bench, row, pair[0], coarse, q, (uint32_t)(i % CHANNELS));
        }
        const float expected[8] = {sums[0], 0, sums[1], 0, sums[2], sums[3], sums[2], -sums[3]};
        assert_memory_equal(v.out + 8 * i, expected, sizeof expected);
    }
    visibilities_end(&v);
    bench_end(&bench);
}

static void autos_are_the_banks_powers(void **state)
{
    (void)state;
    static const uint64_t integrates[] = {40, 1, 5, 16, 1200};
    for (int t = 1; t < TESTED; t++) {
        const int is_slow = tested[t].is_slow && !getenv("VOLTMILL_TEST_ALL");
        const size_t count = is_slow ? 1 : sizeof integrates / sizeof *integrates;
        for (size_t i = 0; tested[t].backend && i < count; i++) {
            autos_are_the_banks(tested[t].kind, integrates[i]);
        }
    }
}

/* Pairs that are none are refused. */
static void wrong_specs_fail(void **state)
{
    (void)state;
    static const uint32_t pairs[][2][2] = {{{0, 1}, {1, 0}}, {{0, 1}, {1, 3}}, {{0, 2}, {0, 2}}};
    static const char *const words[] = {"of stations 1 and 0", "of stations 1 and 3",
                                        "listed twice"};
    correlate_t *stage = NULL;
    struct correlate_spec spec = cases[0].spec;
    spec.npairs = 2;
    spec.max_spectra = 1;
    spec.threads = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        spec.pairs = pairs[i];
        assert_int_equal(correlate_create(reference->backend, &spec, &stage), STATUS_USAGE);
        assert_non_null(strstr(report_cause(), words[i]));
        report_clear();
    }
    spec.npairs = 1;
    spec.average = 2;
    assert_int_equal(correlate_create(reference->backend, &spec, &stage), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "divisor of 5"));
    report_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backends_agree_with_reference), cmocka_unit_test(vectors_agree),
        cmocka_unit_test(cuts_change_nothing),           cmocka_unit_test(ones_change_nothing),
        cmocka_unit_test(autos_are_the_banks_powers),    cmocka_unit_test(wrong_specs_fail),
    };
    return cmocka_run_group_tests_name("correlate", tests, open_backends, close_backends);
}
