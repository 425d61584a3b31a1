/* Directions beside values that astropy 8.0.2 made, uvw beside pyuvdata 3.2.8, and files of the
 * IERS. With
 *
 *   t = Time(iso, scale="utc"); t.delta_ut1_utc = -0.1734
 *   SkyCoord(ra, dec, unit="deg").transform_to(ITRS(obstime=t)).cartesian.xyz
 *
 * where astropy's get_polar_motion() returned 0.123 and 0.345 arc seconds; with diurnal aberration:
 * ITRS(obstime=t, location=EarthLocation.from_geodetic(21.443 deg, -30.713 deg, 1038 m)).
 * tests/long/array_geometry.py compares many more. */
#include "dsp/geometry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const double DEGREE = 3.14159265358979323846 / 180;

static struct observer make_observer(int has_diurnal)
{
    return (struct observer){.place =
                                 earth_place_of_geodetic(21.443 * DEGREE, -30.713 * DEGREE, 1038),
                             .earth = {.ut1_utc_s = -0.1734,
                                       .polar_x_rad = 0.123 * DEGREE / 3600,
                                       .polar_y_rad = 0.345 * DEGREE / 3600},
                             .has_diurnal = has_diurnal};
}

static const struct {
    const char *utc;
    double ra_deg, dec_deg;
    double vector[2][3]; /* without and with diurnal aberration */
} skies[] = {{"2026-11-29T00:00:00",
              83.633,
              22.0145,
              {{0.8903911188066038, 0.25782648560185145, 0.37513885278990056},
               {0.8903907323763672, 0.2578277577870817, 0.37513889562768876}}},
             {"2026-11-29T07:43:12.345",
              201.365,
              -43.019,
              {{0.6947959594784568, 0.22228844218891183, -0.6839929993513366},
               {0.6947955150683788, 0.2222896989102724, -0.6839930423617238}}},
             {"2016-12-31T23:59:60.5",
              0.0,
              89.9,
              {{2.8850883839866278e-05, -1.3951962315892544e-05, 0.9999999994864848},
               {2.8362771899479817e-05, -1.2709189241194777e-05, 0.999999999517015}}}};

static struct moment moment_of(const char *text)
{
    struct utc utc;
    assert_true(units_parse_utc(text, &utc));
    return moment_of_utc(utc);
}

static void test_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof skies / sizeof *skies; i++) {
        for (int diurnal = 0; diurnal < 2; diurnal++) {
            const struct observer observer = make_observer(diurnal);
            const struct direction direction = {0, skies[i].ra_deg * DEGREE,
                                                skies[i].dec_deg * DEGREE};
            double vector[1][3];
            assert_int_equal(
                geometry_vectors(&observer, moment_of(skies[i].utc), &direction, 1, vector),
                STATUS_OK);
            for (int axis = 0; axis < 3; axis++) {
                assert_true(fabs(vector[0][axis] - skies[i].vector[diurnal][axis]) < 1e-9);
            }
        }
    }
}

static void test_places(void **state)
{
    (void)state;
    /* EarthLocation.from_geodetic(21.443 deg, -30.713 deg, 1038 m) */
    const double xyz[3] = {5109249.882629505, 2006717.7885895625, -3239108.672490356};
    const struct earth_place place =
        earth_place_of_geodetic(21.443 * DEGREE, -30.713 * DEGREE, 1038);
    const struct earth_place back = earth_place_of_xyz(xyz);
    const double enu[3] = {100, -20, 3};
    double there[3];
    for (int axis = 0; axis < 3; axis++) {
        assert_true(fabs(place.xyz_m[axis] - xyz[axis]) < 1e-8);
    }
    assert_true(fabs(back.lon_rad - place.lon_rad) < 1e-14);
    assert_true(fabs(back.lat_rad - place.lat_rad) < 1e-14);
    assert_true(fabs(back.height_m - 1038) < 1e-8);
    earth_place_add_enu(&place, enu, there);
    /* East, north and up are across each other, and up is away from the Earth. */
    const struct earth_place up = earth_place_of_geodetic(21.443 * DEGREE, -30.713 * DEGREE, 1041);
    double across = 0;
    for (int axis = 0; axis < 3; axis++) {
        across += pow(there[axis] - up.xyz_m[axis], 2);
    }
    assert_true(fabs(across - 100 * 100 - 20 * 20) < 1e-5);
    assert_true(there[2] < up.xyz_m[2] && there[1] > up.xyz_m[1]); /* south and east */
}

/* Azimuth is counted from north through east; the nearer station hears first. */
static void test_azel(void **state)
{
    (void)state;
    const struct observer observer = make_observer(0);
    const struct direction east = {1, 90 * DEGREE, 30 * DEGREE};
    const double enu[3] = {1000, 0, 0};
    double offset[3];
    double vector[1][3];
    double axes[3][3];
    double uvw[3];
    earth_place_add_enu(&observer.place, enu, offset);
    for (int axis = 0; axis < 3; axis++) {
        offset[axis] -= observer.place.xyz_m[axis];
    }
    assert_int_equal(geometry_vectors(&observer, moment_of("2026-11-29"), &east, 1, vector),
                     STATUS_OK);
    assert_int_equal(geometry_axes(&observer, moment_of("2026-11-29"), &east, axes), STATUS_OK);
    for (int axis = 0; axis < 3; axis++) {
        assert_true(fabs(vector[0][axis] - axes[2][axis]) < 1e-15);
    }
    geometry_uvw((const double(*)[3])axes, offset, uvw);
    assert_true(fabs(uvw[2] - 1000 * cos(30 * DEGREE)) < 1e-8);
    assert_true(fabs(hypot(uvw[0], uvw[1]) - 500) < 1e-8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors),
                                       cmocka_unit_test(test_places), cmocka_unit_test(test_azel)};
    return cmocka_run_group_tests_name("geometry", tests, NULL, NULL);
}
