/* Beams: the reference against the plain sum, all backends against the reference, and that no cut
 * and no number of threads changes a bit. */
#include "beamform_bench.h"
#include "compute/between.h"

#include <complex.h>

#define EACH_BACKEND(t)                                                                            \
    for (struct tested *t = tested + 1; t < tested + TESTED; t++)                                  \
        if (t->backend)

static const struct beams_case cases[] = {
    /* stations, beams, pols, coarse, channels, cell, first, spectra */
    {3, 1, 1, 1, 5, 16, 0, 9, ALL_ONE, 0, 0, 0},
    {7, 9, 2, 3, 21, 16, 45, 61, ALL_ONE, 0, 1, 1},
    {4, 5, 2, 1, 64, 16, 3, 40, BY_FACTORS, 0, 1, 0},
    {5, 20, 1, 2, 33, 1, 7, 18, BY_FACTORS, 1, 0, 1},
    {6, 3, 2, 2, 17, 5, 1, 23, BY_TABLE, 1, 1, 1},
    {3, 40, 2, 1, 9, 100, 95, 120, BY_TABLE, 0, 1, 1},
    {11, 5, 1, 1, 130, 16, 16, 33, ALL_ONE, 1, 1, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Kernels take a second to build: only some cases, unless VOLTMILL_TEST_ALL. */
static int is_left_out(const struct tested *t, int is_rare)
{
    return t->is_slow && is_rare && !getenv("VOLTMILL_TEST_ALL");
}

/* CMPLX() of Debian 12 is only for GCC. */
static double complex complex_at(const float *pair)
{
    return (double)pair[0] + (double)pair[1] * I;
}

/* All beams by the definition. */
static void reference_is_the_plain_sum(void **state)
{
    (void)state;
    struct beams_bench b;
    const struct beams_case c = {4, 3, 2, 2, 5, 4, 6, 11, BY_FACTORS, 1, 1, 1};
    beams_start(&b, &c);
    beams_run(&b, reference->backend, BUFFER_OUT, c.spectra);
    for (uint64_t s = 0; s < c.spectra; s++) {
        for (uint32_t i = 0; i < c.beams * c.pols * c.coarse * c.nchannels; i++) {
            const uint32_t k = i % c.nchannels;
            const uint32_t coarse = i / c.nchannels % c.coarse;
            const uint32_t pol = i / c.nchannels / c.coarse % c.pols;
            const uint32_t beam = i / c.nchannels / c.coarse / c.pols;
            const uint64_t cell = (c.first + s) / c.cell - c.first / c.cell;
            double complex sum = 0;
            for (uint32_t n = 0; n < c.stations; n++) {
                const size_t channel = ((n * c.pols + pol) * c.coarse + coarse) * c.nchannels + k;
                const float *x =
                    b.in + 2 * (s * c.stations * c.pols * c.coarse * c.nchannels + channel);
                const float *gain = b.gains + 2 * channel;
                const float *factor = b.factors + 2 * (beam * c.stations + n);
                const float *turns = b.turns + 2 * ((s * c.stations + n) * c.coarse + coarse);
                const float *further =
                    b.beam_turns +
                    2 * (((cell * c.beams + beam) * c.stations + n) * c.coarse + coarse);
                const double angle = (double)turns[0] + k * (double)turns[1] + (double)further[0] +
                                     k * (double)further[1];
                sum += complex_at(x) * complex_at(gain) * complex_at(factor) *
                       cexp(2 * M_PI * I * angle);
            }
            const size_t at = 2 * (s * c.beams * c.pols * c.coarse * c.nchannels + i);
            assert_true(cabs(complex_at(b.out + at) - sum) < 1e-6);
        }
    }
    beams_end(&b);
}

static void backends_agree(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct beams_bench b;
        beams_start(&b, &cases[i]);
        beams_run(&b, reference->backend, BUFFER_OUT, cases[i].spectra);
        float *expected = b.out;
        b.out = NULL;
        EACH_BACKEND(t)
        {
            if (is_left_out(t, i % 3 != 1)) {
                continue;
            }
            beams_run(&b, t->backend, BUFFER_OUT, cases[i].spectra);
            const double error = beams_error(&b, expected);
            if (!(error <= 5e-7)) {
                fail_msg("case %d, %s: rms error %g", i, backend_name(t->kind), error);
            }
        }
        free(expected);
        beams_end(&b);
    }
}

/* A NaN among the spectra, which some weights skip, too. */
static void cuts_and_threads_change_nothing(void **state)
{
    (void)state;
    static const uint64_t cuts[] = {16, 7, 61};
    for (int i = 1; i < CASES; i += 3) {
        EACH_BACKEND(t)
        {
            struct beams_bench b;
            if (is_left_out(t, i > 1)) {
                continue;
            }
            beams_start(&b, &cases[i]);
            b.in[1003] = NAN;
            for (size_t k = 0; b.factors && k < 2 * (size_t)cases[i].stations; k++) {
                b.factors[k] = 0;
            }
            const size_t bytes = b.spectra * beams_row(&b.spec, b.spec.beams) * sizeof(float);
            float *whole = NULL;
            for (size_t run = 0; run < sizeof cuts / sizeof *cuts; run++) {
                b.spec.threads = (uint32_t)run + 1;
                beams_run(&b, t->backend, run == 1 ? BUFFER_BETWEEN : BUFFER_OUT,
                          min_u64(cuts[run], b.spectra));
                if (whole) {
                    assert_memory_equal(whole, b.out, bytes);
                } else {
                    whole = b.out;
                    b.out = NULL;
                }
            }
            free(whole);
            beams_end(&b);
        }
    }
}

/* Weights 1, 0, 0, ...: the bytes of one station, zeros of both signs and NaN among them, whatever
 * others have. Beams beside it are turned. */
static void a_weight_of_one_copies(void **state)
{
    (void)state;
    for (int is_table = 0; is_table < 2; is_table++) {
        const struct beams_case c = {5, 6, 2, 1, 19, 8, 3, 30, is_table ? BY_TABLE : BY_FACTORS,
                                     0, 1, 1};
        const size_t series = (size_t)c.pols * c.coarse * c.nchannels;
        const size_t count = is_table ? series : 1;
        const uint32_t beam = 4;
        const uint32_t station = 2;
        struct beams_bench b;
        beams_start(&b, &c);
        float *weights = is_table ? b.weights : b.factors;
        for (uint32_t n = 0; n < c.stations; n++) {
            for (size_t i = 0; i < count; i++) {
                float *weight = weights + 2 * ((beam * c.stations + n) * count + i);
                weight[0] = n == station;
                weight[1] = 0;
            }
        }
        for (uint64_t s = 0; s < c.spectra; s++) {
            float *row = b.in + 2 * s * c.stations * series;
            row[s] = s % 2 ? INFINITY : NAN; /* of station 0 */
            row[2 * station * series + s] = s % 3 ? -0.0f : NAN;
            memset(b.turns + 2 * (s * c.stations + station), 0, 8);
        }
        for (uint64_t cell = 0; cell < beamform_cells(&b.spec, c.first, c.spectra); cell++) {
            memset(b.beam_turns + 2 * ((cell * c.beams + beam) * c.stations + station), 0, 8);
        }
        for (struct tested *t = tested; t < tested + TESTED; t++) {
            if (!t->backend || is_left_out(t, is_table)) {
                continue;
            }
            beams_run(&b, t->backend, BUFFER_OUT, 13);
            for (uint64_t s = 0; s < c.spectra; s++) {
                assert_memory_equal(b.out + 2 * (s * c.beams + beam) * series,
                                    b.in + 2 * (s * c.stations + station) * series, 8 * series);
            }
        }
        beams_end(&b);
    }
}

/* A station of weight 0 is skipped in beams of several stations, too: with its NaN and without they
 * have the same bytes. */
static void a_weight_of_zero_skips(void **state)
{
    (void)state;
    const struct beams_case c = {9, 4, 1, 1, 40, 16, 0, 32, BY_FACTORS, 0, 1, 1};
    EACH_BACKEND(t)
    {
        struct beams_bench b;
        beams_start(&b, &c);
        for (uint32_t beam = 0; beam < c.beams; beam++) {
            b.factors[2 * (beam * c.stations + 3)] = b.factors[2 * (beam * c.stations + 3) + 1] = 0;
        }
        beams_run(&b, t->backend, BUFFER_OUT, 32);
        float *expected = b.out;
        b.out = NULL;
        for (uint64_t s = 0; s < c.spectra; s++) {
            b.in[2 * (s * c.stations + 3) * c.nchannels + s] = s % 2 ? NAN : -INFINITY;
        }
        beams_run(&b, t->backend, BUFFER_OUT, 32);
        assert_memory_equal(b.out, expected, c.spectra * beams_row(&b.spec, c.beams) * 4);
        free(expected);
        beams_end(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_the_plain_sum),      cmocka_unit_test(backends_agree),
        cmocka_unit_test(cuts_and_threads_change_nothing), cmocka_unit_test(a_weight_of_one_copies),
        cmocka_unit_test(a_weight_of_zero_skips),
    };
    return cmocka_run_group_tests(tests, open_backends, close_backends);
}
