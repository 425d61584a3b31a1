/* DMs divided among coherent ones, and their delays beside the formula. */
#include "dsp/dispersion/dispersion.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Each DM goes to the nearest, those in the middle to the lower, and none is left out. */
static void every_dm_has_its_nearest(void **state)
{
    (void)state;
    const double coherent[] = {0, 10, 20, 20.5, 90};
    const struct dispersion_grid grid = {coherent, 5};
    enum { DMS = 400 };
    double dms[DMS];
    for (uint32_t i = 0; i < DMS; i++) {
        dms[i] = 0.25 * i;
    }
    uint32_t next = 0;
    for (uint32_t k = 0; k < grid.count; k++) {
        struct dispersion_share share = dispersion_grid_share(&grid, k, dms, DMS);
        assert_int_equal(share.first, next);
        next += share.count;
        for (uint32_t i = share.first; i < next; i++) {
            for (uint32_t other = 0; other < grid.count; other++) {
                double mine = fabs(dms[i] - coherent[k]);
                double its = fabs(dms[i] - coherent[other]);
                assert_true(mine < its || (mine == its && k <= other));
            }
        }
    }
    assert_int_equal(next, DMS);
    /* 20.25 is in the middle. */
    struct dispersion_share share = dispersion_grid_share(&grid, 2, dms, DMS);
    assert_true(dms[share.first + share.count - 1] == 20.25);
}

static void shares_may_be_empty(void **state)
{
    (void)state;
    const double coherent[] = {1, 2, 30, 400};
    const double dms[] = {29, 31};
    const struct dispersion_grid grid = {coherent, 4};
    const struct dispersion_grid one = {coherent, 1};
    const uint32_t firsts[] = {0, 0, 0, 2};
    const uint32_t counts[] = {0, 0, 2, 0};
    for (uint32_t k = 0; k < 4; k++) {
        struct dispersion_share share = dispersion_grid_share(&grid, k, dms, 2);
        assert_int_equal(share.first, firsts[k]);
        assert_int_equal(share.count, counts[k]);
    }
    assert_int_equal(dispersion_grid_share(&one, 0, dms, 2).count, 2);
}

/* Two coarse channels, two channels each; the reference is within the band, so that delays have
 * both signs and the shares different origins. */
enum { CHANNELS = 4, SOME = 9 };
static const double freq[CHANNELS] = {299.5e6, 300.0e6, 300.5e6, 301.0e6};
static const double left[CHANNELS] = {299.75e6, 299.75e6, 300.75e6, 300.75e6};
static const double dms_of_all[SOME] = {8, 9, 10, 11, 12, 13, 14, 15, 16};
static const double coherent_dms[] = {10, 15};

static double delay_of(double coherent, double dm, uint32_t c, const struct dispersion_spec *spec)
{
    double r = pow(spec->reference_hz / 1e6, -2);
    double f = pow(freq[c] / 1e6, -2);
    double v = pow(left[c] / 1e6, -2);
    return (spec->coherent_constant * coherent * (v - r) +
            spec->constant * (dm - coherent) * (f - r)) /
           spec->sample_seconds;
}

static void delays_have_one_origin(void **state)
{
    (void)state;
    const struct dispersion_grid grid = {coherent_dms, 2};
    const struct dispersion_spec spec = {.freq_hz = freq,
                                         .nchannels = CHANNELS,
                                         .reference_hz = 300.2e6,
                                         .constant = 4149,
                                         .sample_seconds = 1e-5,
                                         .dms = dms_of_all,
                                         .ndms = SOME,
                                         .coherent_constant = 4149,
                                         .delay_hz = left};
    struct dispersion all = {0};
    assert_int_equal(dispersion_grid_settle(&grid, grid.count, &spec, &all), STATUS_OK);
    assert_int_equal(all.ndms, SOME);
    int64_t least = INT64_MAX;
    int64_t most = INT64_MIN;
    for (uint32_t d = 0; d < SOME; d++) {
        for (uint32_t c = 0; c < CHANNELS; c++) {
            double delay = delay_of(d < 5 ? 10 : 15, dms_of_all[d], c, &spec);
            int64_t found = all.origin + dispersion_delay(&all, d, c);
            assert_true(fabs((double)found - delay) <= 0.5 + 1e-6);
            least = found < least ? found : least;
            most = found > most ? found : most;
        }
    }
    assert_true(least < 0 && least == all.origin);
    assert_int_equal(most, all.origin + all.largest);
    for (uint32_t k = 0, row = 0; k < 2; k++) {
        struct dispersion one = {0};
        assert_int_equal(dispersion_grid_settle(&grid, k, &spec, &one), STATUS_OK);
        assert_int_equal(one.ndms, k == 0 ? 5 : 4);
        assert_int_equal(one.origin, all.origin);
        assert_int_equal(one.largest, all.largest);
        uint32_t mine[SOME * CHANNELS];
        dispersion_rows(&one, 0, one.ndms, mine);
        for (uint32_t i = 0; i < one.ndms * CHANNELS; i++) {
            assert_int_equal(mine[i], dispersion_delay(&all, row + i / CHANNELS, i % CHANNELS));
        }
        row += one.ndms;
        dispersion_free(&one);
    }
    dispersion_free(&all);
}

static void wrong_numbers_are_refused(void **state)
{
    (void)state;
    const struct dispersion_grid grid = {coherent_dms, 2};
    const struct dispersion_spec spec = {.freq_hz = freq,
                                         .nchannels = CHANNELS,
                                         .sample_seconds = -1,
                                         .dms = dms_of_all,
                                         .ndms = SOME,
                                         .coherent_constant = 4149,
                                         .delay_hz = left};
    struct dispersion all = {0};
    assert_int_equal(dispersion_grid_settle(&grid, grid.count, &spec, &all), STATUS_USAGE);
    assert_null(all.dms);
    report_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dm_has_its_nearest),
        cmocka_unit_test(shares_may_be_empty),
        cmocka_unit_test(delays_have_one_origin),
        cmocka_unit_test(wrong_numbers_are_refused),
    };
    return cmocka_run_group_tests_name("dispersion grid", tests, NULL, NULL);
}
