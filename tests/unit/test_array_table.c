/* Tables of stations: what YAML, HDF5 and archives state, and messages about what is wrong. */
#include "input/array_table.h"

#include "input/archive.h"
#include "input/array_job.h"
#include "io/hdf5/h5.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/test_array_table.XXXXXX";

static int begin(void **state)
{
    (void)state;
    h5_begin();
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    unlink("a.yaml");
    unlink("a.h5");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static struct array_table *read_text(const char *text, status_t expected)
{
    struct array_table *table = NULL;
    FILE *file = fopen("a.yaml", "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(array_table_read("a.yaml", &table), expected);
    return table;
}

#define REFERENCE "reference: {lon_deg: 21.443, lat_deg: -30.713, height_m: 1038}\n"

static const char whole[] = "name: KAT\n" REFERENCE "epoch: 2026-11-29\n"
                            "stations:\n"
                            "  - {name: A, enu_m: [0, 0, 0], delay_s: 1e-9}\n"
                            "  - name: B\n"
                            "    enu_m: [100, -20, 3]\n"
                            "    delay_s: [2e-9, 1e-13]\n"
                            "    swapped: true\n"
                            "    gains:\n"
                            "      - {gain: [2, 0]}\n"
                            "      - {pol: Y, freq_hz: 1 GHz, gain: [1, 1]}\n"
                            "      - {pol: Y, freq_hz: 2e9, gain: [3, -1]}\n"
                            "      - {pol: Y, freq_hz: 4e9, gain: [7, 0]}\n"
                            "  - {name: C, itrf_m: [5109249, 2006717, -3239108], flagged: true}\n";

static void yaml_is_read(void **state)
{
    (void)state;
    struct array_table *table = read_text(whole, STATUS_OK);
    double at[3];
    double gain[2];
    assert_string_equal(table->name, "KAT");
    assert_int_equal(table->nstations, 3);
    earth_place_add_enu(&table->reference, (const double[]){100, -20, 3}, at);
    for (int axis = 0; axis < 3; axis++) {
        assert_true(table->stations[1].itrf_m[axis] == at[axis]);
    }
    assert_true(table->stations[2].itrf_m[0] == 5109249);
    assert_true(table->stations[0].clock.c[0] == 1e-9 && table->stations[1].clock.c[1] == 1e-13);
    assert_true(table->stations[1].is_swapped && !table->stations[1].is_flagged);
    assert_true(table->stations[2].is_flagged && !table->stations[2].is_swapped);
    array_gain_at(&table->stations[1], "Y", 1.25e9, gain);
    assert_true(gain[0] == 1.5 && gain[1] == 0.5);
    array_gain_at(&table->stations[1], "Y", 9e9, gain);
    assert_true(gain[0] == 7 && gain[1] == 0);
    array_gain_at(&table->stations[1], "X", 1e9, gain);
    assert_true(gain[0] == 2 && gain[1] == 0);
    array_gain_at(&table->stations[0], "X", 1e9, gain);
    assert_true(gain[0] == 1 && gain[1] == 0);
    /* The epoch is a day, less a minute, after the start. */
    const struct direction direction = {1, 0.3, 0.9};
    const struct array_aim aim = {.stations = (const uint32_t[]){0, 1},
                                  .nstations = 2,
                                  .directions = &direction,
                                  .ndirections = 1,
                                  .start = {61372, 60},
                                  .to_s = 1};
    const double at_start[2] = {0, 0};
    delay_model_t *delays = NULL;
    assert_int_equal(array_table_delays(table, &aim, NULL, NULL, &delays), STATUS_OK);
    assert_true(fabs(delay_at(delays, 0, 0, at_start) - 1e-9) < 1e-17);
    assert_true(fabs(delay_clock_at(delays, 1, at_start) - (2e-9 - 8.634e-9)) < 1e-17);
    delay_model_destroy(delays);
    /* CALC knows two others, and one of these. */
    char a[] = "A";
    char z[] = "Z";
    char *names[] = {z, a};
    double delay_s[] = {3e-3, 4e-3};
    const struct calc_table calc = {.table = {1, 2, 1, 1, {61372, 0}, 120, delay_s},
                                    .stations = names};
    const uint32_t source = 0;
    assert_int_equal(array_table_delays(table, &aim, &calc, &source, &delays), STATUS_DATA);
    assert_non_null(strstr(report_cause(), "has no telescope B"));
    report_clear();
    struct array_aim one = aim;
    one.nstations = 1;
    assert_int_equal(array_table_delays(table, &one, &calc, &source, &delays), STATUS_OK);
    assert_true(fabs(delay_at(delays, 0, 0, at_start) - 4e-3 - 1e-9) < 1e-15);
    delay_model_destroy(delays);
    array_table_destroy(table);
}

/* On another rank it is the same. */
static void tables_travel(void **state)
{
    (void)state;
    struct array_table *table = read_text(whole, STATUS_OK);
    struct text packed = {0};
    struct text again = {0};
    void *other = NULL;
    assert_int_equal(pack_struct(&packed, table, &array_table_type), STATUS_OK);
    struct unpack in = {packed.data, packed.length, 0, 0};
    assert_int_equal(unpack_new(&in, &array_table_type, "a table", &other), STATUS_OK);
    assert_int_equal(pack_struct(&again, other, &array_table_type), STATUS_OK);
    assert_int_equal(again.length, packed.length);
    assert_memory_equal(again.data, packed.data, packed.length);
    text_free(&packed);
    text_free(&again);
    array_table_destroy(table);
    array_table_destroy(other);
}

static const struct {
    const char *text;
    status_t status;
    const char *message;
} wrong[] = {
    {"stations: [{name: A, itrf: [1, 2, 3]}]\n", STATUS_USAGE, "did you mean itrf_m"},
    {"stations: [{name: A, itrf_m: [5109249, 2006717]}]\n", STATUS_USAGE, "itrf_m"},
    {"stations: [{name: A, enu_m: [1, 2, nan]}]\n", STATUS_USAGE, "enu_m"},
    {"stations: [{name: A, enu_m: [1, 2, 3]}]\n", STATUS_DATA, "needs a reference"},
    {"stations: [{name: A}]\n", STATUS_DATA, "0 numbers of itrf_m and 0 of enu_m"},
    {"stations: [{name: A, itrf_m: [1, 2, 3]}]\n", STATUS_DATA, "not on the Earth"},
    {REFERENCE "stations: [{name: A, enu_m: [1, 2, 3]}, {name: A, enu_m: [4, 2, 3]}]\n",
     STATUS_DATA, "two stations have the name A"},
    {REFERENCE "stations: [{name: A, enu_m: [1, 2, 3], delay_s: 12}]\n", STATUS_DATA,
     "number 0 of delay_s is 12"},
    {REFERENCE
     "stations: [{name: A, enu_m: [1, 2, 3], gains: [{freq_hz: 2, gain: [1, 0]}, {freq_hz: "
     "1, gain: [1, 0]}]}]\n",
     STATUS_DATA, "expected more than the 2 Hz"},
    {"reference: {lon_deg: 3}\nstations: [{name: A, enu_m: [1, 2, 3]}]\n", STATUS_DATA,
     "expected itrf_m, or lon_deg and lat_deg"},
};

static void mistakes_are_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(read_text(wrong[i].text, wrong[i].status));
        if (!strstr(report_cause(), wrong[i].message)) {
            fail_msg("%s: %s", wrong[i].text, report_cause());
        }
        report_clear();
    }
}

static void put(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                const void *values)
{
    hid_t space = H5Screate_simple(rank, dims, NULL);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
}

static void hdf5_is_read(void **state)
{
    (void)state;
    const double enu[2][3] = {{0, 0, 0}, {100, -20, 3}};
    const double delays[2] = {1e-9, 2e-9};
    const double gains[2][1][2][2] = {{{{1, 0}, {1, 0}}}, {{{1, 1}, {3, -1}}}};
    const double freq_hz[2] = {1e9, 2e9};
    const int flagged[2] = {0, 1};
    const char *const names[] = {"A", "B"};
    const char *const pols[] = {"Y"};
    struct array_table *table = NULL;
    double gain[2];
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    hid_t file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put(file, "names", text, 1, (const hsize_t[]){2}, names);
    put(file, "pols", text, 1, (const hsize_t[]){1}, pols);
    put(file, "enu_m", H5T_NATIVE_DOUBLE, 2, (const hsize_t[]){2, 3}, enu);
    put(file, "delay_s", H5T_NATIVE_DOUBLE, 1, (const hsize_t[]){2}, delays);
    put(file, "flagged", H5T_NATIVE_INT, 1, (const hsize_t[]){2}, flagged);
    put(file, "freq_hz", H5T_NATIVE_DOUBLE, 1, (const hsize_t[]){2}, freq_hz);
    put(file, "gains", H5T_NATIVE_DOUBLE, 4, (const hsize_t[]){2, 1, 2, 2}, gains);
    assert_int_equal(h5_put_f64(file, "lon_deg", 21.443), STATUS_OK);
    assert_int_equal(h5_put_f64(file, "lat_deg", -30.713), STATUS_OK);
    assert_int_equal(h5_put_f64(file, "height_m", 1038), STATUS_OK);
    H5Tclose(text);
    H5Fclose(file);
    assert_int_equal(array_table_read("a.h5", &table), STATUS_OK);
    struct array_table *same = read_text(whole, STATUS_OK);
    for (int axis = 0; axis < 3; axis++) {
        assert_true(table->stations[1].itrf_m[axis] == same->stations[1].itrf_m[axis]);
    }
    assert_true(table->stations[1].clock.c[0] == 2e-9 && table->stations[1].clock.c[1] == 0);
    assert_true(table->stations[1].is_flagged && !table->stations[0].is_flagged);
    array_gain_at(&table->stations[1], "Y", 1.25e9, gain);
    assert_true(gain[0] == 1.5 && gain[1] == 0.5);
    array_table_destroy(same);
    array_table_destroy(table);
}

static void archives_state_positions(void **state)
{
    (void)state;
    double itrf_m[6] = {5109249, 2006717, -3239108, 5109349, 2006717, -3239108};
    char one[] = "S001";
    char other[] = "S000";
    char *names[] = {one, other};
    uint64_t selected[] = {1, 0};
    uint32_t found[2];
    struct array_table *table = NULL;
    char path[] = "obs.h5";
    struct archive_part part = {.path = path};
    struct archive archive = {.parts = &part, .nparts = 1};
    archive.count[AXIS_STATION] = 2;
    archive.names[AXIS_STATION] = names;
    archive.selected[AXIS_STATION] = selected;
    archive.nselected[AXIS_STATION] = 2;
    assert_int_equal(array_table_of_archive(&archive, 0, &table), STATUS_OK);
    assert_null(table);
    archive.states.itrf_m = itrf_m;
    archive.states.nitrf_m = 6;
    assert_int_equal(array_table_of_archive(&archive, 0, &table), STATUS_OK);
    assert_string_equal(table->stations[1].name, "S000");
    assert_true(fabs(table->reference.xyz_m[0] - 5109299) < 1e-6);
    assert_int_equal(array_table_match(table, &archive, found), STATUS_OK);
    assert_true(found[0] == 1 && found[1] == 0);
    other[3] = '2';
    assert_int_equal(array_table_match(table, &archive, found), STATUS_DATA);
    assert_non_null(strstr(report_cause(), "no station S002, which the archive has"));
    report_clear();
    array_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_is_read), cmocka_unit_test(tables_travel),
        cmocka_unit_test(mistakes_are_reported), cmocka_unit_test(hdf5_is_read),
        cmocka_unit_test(archives_state_positions)};
    return cmocka_run_group_tests_name("array_table", tests, begin, end);
}
