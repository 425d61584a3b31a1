/* Lines of a plan about an array: two stations on an east-west line, a source that sets. */
#include "plan/array_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void lines_are_right(void **state)
{
    (void)state;
    char names[3][4] = {"a", "b", "c"};
    struct array_station stations[3];
    struct array_table table = {.stations = stations, .nstations = 3};
    const double enu[3][3] = {{0, 0, 0}, {2997.92458, 0, 0}, {0, 50, 0}};
    memset(stations, 0, sizeof stations);
    table.reference = earth_place_of_geodetic(0.4, -0.5, 1000);
    for (int i = 0; i < 3; i++) {
        stations[i].name = names[i];
        earth_place_add_enu(&table.reference, enu[i], stations[i].itrf_m);
    }
    stations[1].clock.c[1] = 2e-9;
    /* In the east on the horizon: station b hears 10 us before a. */
    const struct direction direction = {1, 1.5707963267948966, 0};
    const uint32_t chosen[] = {0, 1, 2};
    const struct array_aim aim = {.nstations = 3,
                                  .directions = &direction,
                                  .ndirections = 1,
                                  .start = {61373, 0},
                                  .to_s = 100};
    delay_model_t *delays = NULL;
    assert_int_equal(array_table_delays(&table, &aim, NULL, NULL, &delays), STATUS_OK);
    const struct array_lines lines = {.table = &table,
                                      .stations = chosen,
                                      .nstations = 3,
                                      .delays = delays,
                                      .ndirections = 1,
                                      .to_s = 100,
                                      .left_s = 0.5e-6,
                                      .channel_hz = 1e5,
                                      .top_hz = 1e9,
                                      .spectrum_s = 0.1};
    struct text text = {0};
    assert_int_equal(array_lines_add(&lines, &text), STATUS_OK);
    print_message("%s", text.data);
    assert_non_null(strstr(text.data, "50 m (a-c) to 2998.34 m (b-c), 3 stations\n"));
    assert_non_null(
        strstr(text.data, "direction 0   -10 us (b) to 0 s (a), at the end -9.8 us (b)"));
    assert_non_null(strstr(text.data, " us (b) to 0 s (a), drift 2 ns/s\n"));
    assert_non_null(
        strstr(text.data, "losses        0.0041 by delays left within a channel, 0.065 by"));
    text_free(&text);
    delay_model_destroy(delays);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_are_right)};
    return cmocka_run_group_tests_name("array_plan", tests, NULL, NULL);
}
