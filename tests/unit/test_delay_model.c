/* Polynomials of delays beside the geometry itself, a table of CALC's kind, bounds, exact times;
 * and files of the IERS. */
#include "dsp/delay_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const double DEGREE = 3.14159265358979323846 / 180;

enum { STATIONS = 3, DIRECTIONS = 3 };
static const double offsets[STATIONS][3] = {{0, 0, 0}, {70e3, -50e3, 50e3}, {-3e6, 5e6, 9e6}};
static const struct delay_clock clocks[STATIONS] = {
    {{0, 0, 0, 0}}, {{1e-6, 2e-12, 0, 0}}, {{-3e-7, 0, 1e-17, 0}}};
static const struct direction directions[DIRECTIONS] = {
    {0, 1.4596, 0.3842}, {0, 3.5145, -0.7508}, {1, 1, 0.5}};

/* 2016 ends with a leap second 700 s after the start. */
static struct delay_spec make_spec(void)
{
    struct delay_spec spec = {.offset_m = offsets,
                              .clocks = clocks,
                              .nstations = STATIONS,
                              .directions = directions,
                              .ndirections = DIRECTIONS,
                              .epoch_s = -86400,
                              .from_s = 0,
                              .to_s = 3600};
    spec.observer.place = earth_place_of_geodetic(21.443 * DEGREE, -30.713 * DEGREE, 1038);
    spec.observer.earth = (struct earth){-0.4, 6e-7, 1.7e-6, 57753};
    assert_true(units_parse_utc("2016-12-31T23:48:21.5", &spec.start));
    return spec;
}

static void polynomials_are_the_geometry(void **state)
{
    (void)state;
    struct delay_spec spec = make_spec();
    delay_model_t *model;
    assert_int_equal(delay_model_create(&spec, &model), STATUS_OK);
    for (double t = 0; t < 3600; t += 41.7) {
        double vectors[DIRECTIONS][3];
        const double time[2] = {t, 1e-12};
        const double near[2][2] = {{t - 0.5, 0}, {t + 0.5, 0}};
        assert_int_equal(geometry_vectors(&spec.observer, moment_of_utc(utc_add(spec.start, t)),
                                          directions, DIRECTIONS, vectors),
                         STATUS_OK);
        for (uint32_t i = 0; i < DIRECTIONS * STATIONS; i++) {
            const uint32_t d = i / STATIONS;
            const uint32_t s = i % STATIONS;
            const double *c = clocks[s].c;
            const double own = c[0] + (t + 86400) * (c[1] + (t + 86400) * c[2]);
            const double *o = offsets[s];
            const double *v = vectors[d];
            const double path_m = o[0] * v[0] + o[1] * v[1] + o[2] * v[2];
            const double expected = own - path_m / LIGHT_M_PER_S;
            const double found = delay_at(model, d, s, time);
            double range[2];
            assert_true(fabs(delay_clock_at(model, s, time) - own) < 1e-18);
            assert_true(fabs(found - expected) < (s == 2 ? 2e-15 : 2e-17));
            assert_true(fabs(delay_at(model, d, s, near[1]) - delay_at(model, d, s, near[0]) -
                             delay_rate(model, d, s, time)) < 1e-13);
            delay_range(model, d, s, t - 30, t + 30, range);
            assert_true(range[0] <= found && found <= range[1]);
            assert_true(range[1] - range[0] < 62 * fabs(delay_rate(model, d, s, time)) + 4e-9);
        }
    }
    delay_model_destroy(model);
}

/* A model of a part of the observation is that of the whole. */
static void parts_are_the_whole(void **state)
{
    (void)state;
    struct delay_spec spec = make_spec();
    delay_model_t *whole;
    delay_model_t *part;
    const double time[2] = {2000.25, 0};
    assert_int_equal(delay_model_create(&spec, &whole), STATUS_OK);
    spec.from_s = 1999;
    spec.to_s = 2001;
    assert_int_equal(delay_model_create(&spec, &part), STATUS_OK);
    for (uint32_t s = 0; s < STATIONS; s++) {
        assert_true(delay_at(whole, 1, s, time) == delay_at(part, 1, s, time));
    }
    delay_model_destroy(whole);
    delay_model_destroy(part);
}

/* Bounds hold over weeks too, where the places that are evaluated are far apart. */
static void bounds_hold_over_weeks(void **state)
{
    (void)state;
    struct delay_spec spec = make_spec();
    delay_model_t *model;
    double range[2];
    spec.ndirections = 1;
    spec.to_s = 15 * 86400;
    assert_int_equal(delay_model_create(&spec, &model), STATUS_OK);
    delay_range(model, 0, 2, spec.from_s, spec.to_s, range);
    for (double t = spec.from_s; t <= spec.to_s; t += 0.5) {
        const double found = delay_at(model, 0, 2, (const double[]){t, 0});
        assert_true(range[0] <= found && found <= range[1]);
    }
    delay_model_destroy(model);
}

static void tables_are_read(void **state)
{
    (void)state;
    /* [directions 1][stations 2][intervals 2][terms 3] */
    double delays[] = {1e-3, 1e-6, 1e-10, 1.1e-3, 2e-6, 0, 5e-3, 0, 0, 6e-3, 1e-9, 0};
    struct delay_table table = {.ndirections = 1,
                                .nstations = 2,
                                .nintervals = 2,
                                .terms = 3,
                                .interval_s = 120,
                                .delay_s = delays};
    struct delay_spec spec = make_spec();
    const uint32_t stations[] = {1, 0, 0};
    const uint32_t chosen[] = {0};
    delay_model_t *model;
    spec.clocks = NULL;
    spec.ndirections = 1;
    spec.to_s = 220;
    table.first = utc_add(spec.start, -10);
    assert_int_equal(delay_model_create_table(&spec, &table, stations, chosen, &model), STATUS_OK);
    assert_true(fabs(delay_at(model, 0, 1, (const double[]){40, 0.5}) -
                     (1e-3 + 50.5e-6 + 50.5 * 50.5 * 1e-10)) < 1e-18);
    assert_true(fabs(delay_at(model, 0, 2, (const double[]){115, 0}) - (1.1e-3 + 10e-6)) < 1e-18);
    assert_true(fabs(delay_at(model, 0, 0, (const double[]){115, 0}) - (6e-3 + 5e-9)) < 1e-17);
    assert_true(fabs(delay_rate(model, 0, 1, (const double[]){40, 0}) - (1e-6 + 1e-8)) < 1e-18);
    delay_model_destroy(model);
    spec.to_s = 240;
    assert_int_equal(delay_model_create_table(&spec, &table, stations, chosen, &model),
                     STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "covers -10 to 230 s"));
    report_clear();
}

static void times_are_exact(void **state)
{
    (void)state;
    double t[2];
    delay_split_time(UINT64_C(9007199254740993), 4096, t); /* 2^53 + 1 */
    assert_true(t[0] == 2199023255552.0 && t[1] == 1.0 / 4096);
    delay_split_time(1, 3, t);
    assert_true(t[0] == 1.0 / 3 && fabs(t[1] - 1.850371707708594e-17) < 1e-32);
}

static const char finals[] =
    "161230 57752.00 I  0.079846 0.000035  0.272091 0.000035  I-0.4067861 0.0000050  1.0 0.003\n"
    "161231 57753.00 I  0.078000 0.000035  0.273000 0.000035  I-0.4080000 0.0000050  1.0 0.003\n"
    "17 1 1 57754.00 I  0.076000 0.000035  0.275000 0.000035  I 0.5910000 0.0000050  1.0 0.003\n"
    "17 1 2 57755.00                                                                          \n";

/* UT1 - UTC jumps at the leap second; it is interpolated without the jump. */
static void earth_is_read(void **state)
{
    (void)state;
    struct earth earth;
    struct utc utc = {57753, 43200.5}; /* half of 86,401 s */
    assert_int_equal(earth_find("f", finals, strlen(finals), utc, &earth), STATUS_OK);
    assert_true(fabs(earth.ut1_utc_s - -0.4085) < 1e-12);
    assert_true(fabs(earth.polar_x_rad - 0.077 * DEGREE / 3600) < 1e-16);
    assert_true(fabs(earth.polar_y_rad - 0.274 * DEGREE / 3600) < 1e-16);
    assert_int_equal(earth_find("f", finals, strlen(finals), (struct utc){57754, 0}, &earth),
                     STATUS_OK);
    assert_true(earth.ut1_utc_s == 0.591);
    assert_int_equal(earth_find("f", finals, strlen(finals), (struct utc){57754, 1}, &earth),
                     STATUS_DATA);
    assert_non_null(
        strstr(report_cause(), "0 h of MJD 57754, but the observation is at 1 s of MJD 57754"));
    report_clear();
    assert_int_equal(earth_find("f", "no\n", 3, utc, &earth), STATUS_DATA);
    report_clear();
    assert_true(fabs(earth_unknown_error_s(100e3) - 22.9e-9) < 0.1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(polynomials_are_the_geometry),
                                       cmocka_unit_test(parts_are_the_whole),
                                       cmocka_unit_test(bounds_hold_over_weeks),
                                       cmocka_unit_test(tables_are_read),
                                       cmocka_unit_test(times_are_exact),
                                       cmocka_unit_test(earth_is_read)};
    return cmocka_run_group_tests_name("delay_model", tests, NULL, NULL);
}
