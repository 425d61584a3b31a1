/* Rows of ifs out of rows of streams: each against a plain sum in double; in place; what is
 * missing; antennas that are left out of sums. */
#include "pipeline/finish/finish.h"

#include "draw.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* 0 .. 1. */
static double draw_fraction(void)
{
    return (double)(draw() >> 11) / 9007199254740992.0;
}

enum { ROWS = 2, CHANNELS = 300, MOST_ANTENNAS = 12 };

/* A combination with random rows: powers A, B and cross terms that they allow. */
struct case_of {
    struct combine combine;
    double factors[MOST_ANTENNAS];
    size_t antennas;
    float *in, *out;
    float *streams, *joint;
    char *unread;
    float *weights;
    char holes[ROWS];
};

static void case_start(struct case_of *c, enum polarisation polarisation, uint32_t stations,
                       uint32_t beams, uint32_t coarse, int sums)
{
    memset(c, 0, sizeof *c);
    c->combine = (struct combine){.stations = stations,
                                  .beams = beams,
                                  .pols = 2,
                                  .coarse = coarse,
                                  .nchannels = CHANNELS,
                                  .polarisation = polarisation,
                                  .stokes = {.feed = FEED_LINEAR},
                                  .sums_stations = sums & 1,
                                  .sums_beams = sums >> 1 & 1,
                                  .renormalises = 1,
                                  .least = 0.1};
    c->antennas = (size_t)stations * beams;
    size_t lines = combine_lines_in(&c->combine);
    c->in = calloc(ROWS * lines * CHANNELS, sizeof(float));
    c->out = calloc(ROWS * lines * CHANNELS, sizeof(float));
    c->weights = calloc(ROWS * lines, sizeof(float));
    c->streams = malloc(ROWS * c->antennas * 2 * coarse * sizeof(float));
    c->joint = malloc(ROWS * c->antennas * coarse * sizeof(float));
    c->unread = calloc(ROWS * c->antennas * 2 * coarse, 1);
    for (size_t i = 0; i < ROWS * c->antennas * 2 * coarse; i++) {
        c->streams[i] = 1;
        c->joint[i / 2] = 1;
    }
    for (size_t i = 0; i < ROWS * lines * CHANNELS; i++) {
        int is_cross = combine_sums(&c->combine) == 4 && i / CHANNELS / coarse % 4 > 1;
        c->in[i] = (float)(is_cross ? 2 * draw_fraction() - 1 : 1 + draw_fraction());
    }
    if (sums) {
        for (size_t i = 0; i < c->antennas; i++) {
            c->factors[i] = 0.25 + draw_fraction();
        }
        c->combine.factors = c->factors;
    }
}

static void case_end(struct case_of *c)
{
    free(c->in);
    free(c->out);
    free(c->weights);
    free(c->streams);
    free(c->joint);
    free(c->unread);
}

/* Combines all rows into `out`; with lost samples, sets weights and holes, too. */
static uint64_t case_combine(struct case_of *c, int has_lost, float *out)
{
    const struct combine_weights lost = {c->streams, c->joint, c->unread};
    struct combine_piece of = {.end = c->combine.coarse};
    uint64_t blanked = 0;
    for (; of.row < ROWS; of.row++) {
        c->holes[of.row] = 0;
        blanked += combine_row(&c->combine, &of, c->in, has_lost ? &lost : NULL, out,
                               has_lost ? c->weights : NULL, has_lost ? c->holes : NULL);
    }
    return blanked;
}

static uint64_t case_run(struct case_of *c, int has_lost)
{
    return case_combine(c, has_lost, c->out);
}

/* Sum `i` of an antenna and coarse channel, divided by what it has. */
static double sum_of(const struct case_of *c, size_t row, size_t antenna, size_t i, size_t coarse,
                     size_t k)
{
    const struct combine *combine = &c->combine;
    size_t ncoarse = combine->coarse;
    size_t sums = combine_sums(combine);
    double value =
        (double)
            c->in[(((row * c->antennas + antenna) * sums + i) * ncoarse + coarse) * CHANNELS + k];
    double share =
        i < 2 ? (double)c->streams[((row * c->antennas + antenna) * 2 + i) * ncoarse + coarse]
              : (double)c->joint[(row * c->antennas + antenna) * ncoarse + coarse];
    return value / share;
}

static double if_of(const struct case_of *c, size_t row, size_t antenna, size_t i, size_t coarse,
                    size_t k)
{
    double sums[4] = {0};
    for (size_t j = 0; j < combine_sums(&c->combine); j++) {
        sums[j] = sum_of(c, row, antenna, j, coarse, k);
    }
    const double iquv[4] = {sums[0] + sums[1], sums[0] - sums[1], 2 * sums[2], 2 * sums[3]};
    switch (c->combine.polarisation) {
    case POLARISATION_I:
    case POLARISATION_IQUV:
        return iquv[i];
    default:
        return sums[i];
    }
}

/* Whether an antenna of a row counts, by the weight of what its ifs are of. */
static double weight_of(const struct case_of *c, size_t row, size_t antenna, size_t i,
                        size_t coarse)
{
    size_t ncoarse = c->combine.coarse;
    int is_joint = c->combine.polarisation != POLARISATION_SEPARATE;
    return is_joint
               ? (double)c->joint[(row * c->antennas + antenna) * ncoarse + coarse]
               : (double)c->streams[((row * c->antennas + antenna) * 2 + i) * ncoarse + coarse];
}

static void case_check(const struct case_of *c)
{
    const struct combine *combine = &c->combine;
    size_t ifs = combine_ifs(combine);
    size_t beams = combine->sums_beams ? 1 : combine->beams;
    size_t lines = combine_lines_out(combine);
    for (size_t at = 0; at < ROWS * lines * CHANNELS; at++) {
        size_t k = at % CHANNELS, coarse = at / CHANNELS % combine->coarse;
        size_t i = at / CHANNELS / combine->coarse % ifs;
        size_t antenna = at / CHANNELS / combine->coarse / ifs % (lines / ifs / combine->coarse);
        size_t row = at / CHANNELS / lines;
        double total = 0, all = 0, good = 0, weight = 0;
        for (size_t j = 0; j < c->antennas; j++) {
            if ((!combine->sums_stations && j / combine->beams != antenna / beams) ||
                (!combine->sums_beams && j % combine->beams != antenna % beams)) {
                continue;
            }
            double factor = combine->factors ? combine->factors[j] : 1;
            double own = weight_of(c, row, j, i, coarse);
            all += factor;
            if (own >= combine->least) {
                good += factor;
                weight += factor * own;
                total += factor * if_of(c, row, j, i, coarse, k);
            }
        }
        double expected = total * all / good;
        if (fabs((double)c->out[at] - expected) > 1e-6 * (all * 4)) {
            fail_msg("%s row %zu antenna %zu if %zu coarse %zu channel %zu: %g, not %g",
                     polarisation_name(combine->polarisation), row, antenna, i, coarse, k,
                     (double)c->out[at], expected);
        }
        if (c->weights[0] > 0) {
            assert_true(fabs((double)c->weights[at / CHANNELS] - weight / all) < 1e-6);
        }
    }
}

static void sums_are_those_of_all_antennas(void **state)
{
    (void)state;
    for (int polarisation = 0; polarisation <= POLARISATION_COHERENCY; polarisation++) {
        for (int sums = 0; sums < 4; sums++) {
            struct case_of c;
            case_start(&c, (enum polarisation)polarisation, 3, 4, 2, sums);
            assert_int_equal(case_run(&c, 0), 0);
            case_check(&c);
            assert_int_equal(case_run(&c, 1), 0);
            case_check(&c);
            size_t bytes = ROWS * combine_lines_out(&c.combine) * CHANNELS * sizeof(float);
            float *expected = malloc(bytes);
            memcpy(expected, c.out, bytes);
            case_combine(&c, 0, c.in);
            assert_memory_equal(c.in, expected, bytes);
            free(expected);
            case_end(&c);
        }
    }
}

/* Where each polarisation has lost its own samples, powers and cross terms are as if none had. */
static void what_is_missing_is_made_good(void **state)
{
    (void)state;
    for (int polarisation = 0; polarisation <= POLARISATION_COHERENCY; polarisation++) {
        for (int sums = 0; sums < 4; sums++) {
            struct case_of c;
            case_start(&c, (enum polarisation)polarisation, 2, 3, 3, sums);
            for (size_t i = 0; i < ROWS * c.antennas * 3; i++) {
                size_t antenna = i / 3, coarse = i % 3;
                float a = (float)(0.6 + 0.4 * draw_fraction()),
                      b = (float)(0.6 + 0.4 * draw_fraction());
                c.streams[(antenna * 2) * 3 + coarse] = a;
                c.streams[(antenna * 2 + 1) * 3 + coarse] = b;
                c.joint[i] = a + b - 1;
            }
            /* The last antenna of row 1 has nothing in coarse channel 2: sums do without it. */
            if (sums & 2) {
                size_t last = 2 * c.antennas - 1;
                c.streams[last * 2 * 3 + 2] = c.streams[(last * 2 + 1) * 3 + 2] = 0.05F;
                c.joint[last * 3 + 2] = 0;
            }
            assert_int_equal(case_run(&c, 1), 0);
            case_check(&c);
            case_end(&c);
        }
    }
}

/* Below the least weight rows are NaN, and are told apart from those that could not be read. */
static void what_lacks_too_much_is_no_number(void **state)
{
    (void)state;
    struct case_of c;
    case_start(&c, POLARISATION_IQUV, 2, 1, 2, 0);
    c.joint[1] = 0.05F;
    c.unread[4 + 2] = 1;
    c.joint[4 + 2] = 0;
    assert_int_equal(case_run(&c, 1), 4);
    for (size_t at = 0; at < ROWS * combine_lines_out(&c.combine); at++) {
        size_t row = at / 16, antenna = at / 8 % 2, coarse = at % 2;
        int is_blank =
            (row == 0 && antenna == 0 && coarse == 1) || (row == 1 && antenna == 1 && coarse == 0);
        assert_int_equal(isnan(c.out[at * CHANNELS + 7]) != 0, is_blank);
        assert_true(c.weights[at] == c.joint[(row * 2 + antenna) * 2 + coarse]);
    }
    assert_int_equal(c.holes[0], 0);
    assert_int_equal(c.holes[1], 1);
    case_end(&c);
    /* A sum is no number when too few are left. */
    case_start(&c, POLARISATION_I, 2, 1, 1, 1);
    c.combine.least = 0.7;
    c.factors[0] = c.factors[1] = 1;
    c.joint[0] = 0.5F;
    assert_int_equal(case_run(&c, 1), 1);
    assert_true(isnan(c.out[0]) && !isnan(c.out[CHANNELS]));
    assert_true(c.weights[0] == 0.5F && c.weights[1] == 1);
    case_end(&c);
}

/* Raw power is not divided, and sums not made up for. */
static void raw_sums_stay_as_they_are(void **state)
{
    (void)state;
    struct case_of c;
    case_start(&c, POLARISATION_I, 2, 1, 1, 1);
    c.combine.renormalises = 0;
    c.combine.least = 0;
    c.factors[0] = 1;
    c.factors[1] = 2;
    c.streams[0] = c.joint[0] = 0.5F;
    assert_int_equal(case_run(&c, 1), 0);
    double expected = (double)c.in[0] + (double)c.in[CHANNELS] +
                      2 * ((double)c.in[2 * CHANNELS] + (double)c.in[3 * CHANNELS]);
    assert_true(fabs((double)c.out[0] - expected) < 1e-5);
    /* An antenna that is left out is not made up for; the weight tells that it is. */
    c.combine.least = 0.6;
    assert_int_equal(case_run(&c, 1), 0);
    expected = 2 * ((double)c.in[2 * CHANNELS] + (double)c.in[3 * CHANNELS]);
    assert_true(fabs((double)c.out[0] - expected) < 1e-5);
    assert_true(c.weights[0] == (float)(2.0 / 3));
    /* With a weight of 0 it is a 0, or NaN where that is asked for. */
    c.combine.least = 0;
    memset(c.joint, 0, 2 * sizeof *c.joint);
    memset(c.in, 0, 4 * CHANNELS * sizeof *c.in);
    assert_int_equal(case_run(&c, 1), 0);
    assert_true(c.out[0] == 0 && c.weights[0] == 0);
    c.combine.blanks_empty = 1;
    assert_int_equal(case_run(&c, 1), 1);
    assert_true(isnan(c.out[0]) && c.weights[0] == 0);
    case_end(&c);
}

/* Coarse channel `coarse` of `all` by itself; in `one`, which has room for it. */
static void case_take(const struct case_of *all, size_t coarse, struct case_of *one)
{
    size_t ncoarse = all->combine.coarse;
    size_t lines = ROWS * combine_lines_in(&one->combine);
    size_t unread = ROWS * all->antennas * (all->combine.polarisation ? 1 : 2);
    for (size_t i = 0; i < lines; i++) {
        memcpy(one->in + i * CHANNELS, all->in + (i * ncoarse + coarse) * CHANNELS,
               CHANNELS * sizeof(float));
    }
    for (size_t i = 0; i < ROWS * all->antennas * 2; i++) {
        one->streams[i] = all->streams[i * ncoarse + coarse];
    }
    for (size_t i = 0; i < ROWS * all->antennas; i++) {
        one->joint[i] = all->joint[i * ncoarse + coarse];
    }
    for (size_t i = 0; i < unread; i++) {
        one->unread[i] = all->unread[i * ncoarse + coarse];
    }
    memcpy(one->factors, all->factors, sizeof one->factors);
}

/* Neighbours that have lost nothing are combined at once: each channel is as if by itself, whatever
 * the others have lost. */
static void neighbours_do_not_matter(void **state)
{
    (void)state;
    enum { COARSE = 12 };
    for (int kind = 0; kind < 4 * (POLARISATION_COHERENCY + 1); kind++) {
        enum polarisation polarisation = (enum polarisation)(kind / 4);
        struct case_of c, one;
        uint64_t blanked = 0;
        case_start(&c, polarisation, 2, 2, COARSE, kind % 4);
        case_start(&one, polarisation, 2, 2, 1, kind % 4);
        /* One thing at a time, of one antenna: a stream, both together, or what cannot be read. */
        for (size_t i = 0; i < ROWS * c.antennas * 2 * COARSE; i++) {
            c.streams[i] = draw_fraction() < 0.03 ? 0.5F : 1;
            c.joint[i / 2] = draw_fraction() < 0.02 ? 0.05F : 1;
            c.unread[i] = draw_fraction() < 0.02;
        }
        uint64_t all_blanked = case_run(&c, 1);
        char holes[ROWS] = {0};
        for (size_t coarse = 0; coarse < COARSE; coarse++) {
            case_take(&c, coarse, &one);
            blanked += case_run(&one, 1);
            for (size_t i = 0; i < ROWS * combine_lines_out(&one.combine); i++) {
                assert_memory_equal(one.out + i * CHANNELS,
                                    c.out + (i * COARSE + coarse) * CHANNELS,
                                    CHANNELS * sizeof(float));
                assert_true(one.weights[i] == c.weights[i * COARSE + coarse]);
            }
            for (size_t row = 0; row < ROWS; row++) {
                holes[row] |= one.holes[row];
            }
        }
        assert_int_equal(all_blanked, blanked);
        assert_memory_equal(holes, c.holes, ROWS);
        case_end(&c);
        case_end(&one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_all_antennas),
        cmocka_unit_test(what_is_missing_is_made_good),
        cmocka_unit_test(what_lacks_too_much_is_no_number),
        cmocka_unit_test(raw_sums_stay_as_they_are),
        cmocka_unit_test(neighbours_do_not_matter),
    };
    return cmocka_run_group_tests_name("combine", tests, NULL, NULL);
}
