/* Numbers and dates as people write them; axes of time and frequency; packing. */
#include "base/memory.h"
#include "base/terms.h"
#include "base/text.h"
#include "base/units.h"
#include "dsp/axes.h"
#include "io/pack.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void bytes_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"1GiB", UINT64_C(1) << 30},
                {"1.5 GiB", UINT64_C(3) << 29},
                {"64k", 64000},
                {"64 kB", 64000},
                {"12", 12},
                {"2TB", 2000000000000},
                {"8Mi", 8 << 20}};
    static const char *const bad[] = {"", "GiB", "-1GiB", "1 GiB x", "1Q", "1e30", "nan"};
    char text[UNITS_TEXT];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t bytes = 0;
        assert_int_equal(units_parse_bytes(good[i].text, &bytes), 1);
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t bytes = 0;
        assert_int_equal(units_parse_bytes(bad[i], &bytes), 0);
    }
    assert_string_equal(units_bytes_in(1536, text), "1.50 KiB");
    assert_string_equal(units_bytes_in(7, text), "7 bytes");
    assert_string_equal(units_count_in(1234567, text), "1,234,567");
    assert_string_equal(units_count_in(999, text), "999");
    assert_string_equal(units_exact_in(1.25, text), "1.25");
    assert_string_equal(units_exact_in(3819.098286, text), "3819.098286");
    assert_string_equal(units_exact_in(0.1 + 0.2, text), "0.30000000000000004");
    assert_string_equal(units_amount(1, "spectrum", "spectra"), "1 spectrum");
    assert_string_equal(units_amount(12345, "spectrum", "spectra"), "12,345 spectra");
    assert_string_equal(units_plural(1, "spectrum", "spectra"), "spectrum");
    assert_string_equal(units_plural(0, "spectrum", "spectra"), "spectra");
    assert_string_equal(units_plural((UINT64_C(1) << 32) + 1, "spectrum", "spectra"), "spectra");
    assert_string_equal(units_hertz_in(97656.25, text), "97.65625 kHz");
    assert_string_equal(units_hertz_in(0, text), "0 Hz");
    assert_string_equal(units_seconds_in(6.4e-5, text), "64 us");
}

/* MJD 40587 is 1970-01-01, 51544 is 2000-01-01. */
static void dates_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t day;
        double second;
    } dates[] = {{"1970-01-01T00:00:00.000000", 40587, 0},
                 {"2000-01-01T12:00:00.000000", 51544, 43200},
                 {"2000-02-29T00:00:01.500000", 51603, 1.5},
                 {"1858-11-17T00:00:00.000000", 0, 0},
                 {"2026-12-31T23:59:59.250000", 61405, 86399.25}};
    char text[UNITS_TEXT];
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        struct utc utc;
        assert_int_equal(units_parse_utc(dates[i].text, &utc), 1);
        assert_int_equal(utc.mjd_day, dates[i].day);
        assert_true(utc.second == dates[i].second);
        assert_string_equal(units_utc_in(utc, text), dates[i].text);
    }
    struct utc utc;
    static const char *const none[] = {"",
                                       "2014-02-29",
                                       "2014-00-01",
                                       "1857-12-31",
                                       "12014-06-29",
                                       "2014-06-29x",
                                       "2014-06-29T",
                                       "2014-06-29T24:00",
                                       "2014-06-29T01:60",
                                       "2014-06-29T01:39:",
                                       "2014-06-29T01:39:-1",
                                       "2014-06-29T01:39:nan",
                                       "2014-06-29T+1:39",
                                       "2014-06-29T01:39ZZ"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(units_parse_utc(none[i], &utc), 0);
    }
    assert_int_equal(units_parse_utc("2014-06-29", &utc), 1);
    assert_int_equal(units_parse_utc("2014-06-29 01:39Z", &utc), 1);
    assert_int_equal(units_parse_utc("2014-13-29", &utc), 0);
    assert_int_equal(units_parse_utc("2014-06-29T25:00", &utc), 0);
    assert_int_equal(units_parse_utc("29.6.2014", &utc), 0);
    utc = utc_add((struct utc){100, 86399}, 2);
    assert_int_equal(utc.mjd_day, 101);
    assert_true(utc.second == 1);
    assert_true(utc_difference(utc, (struct utc){100, 0}) == 86401);
}

/* The second zone counts leap seconds in its time. */
static void no_time_zone_matters(void **state)
{
    const char *zones[] = {"America/New_York", "right/UTC", "UTC"};
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        setenv("TZ", zones[i], 1);
        tzset();
        dates_are_read_and_written(state);
    }
}

static void leap_seconds_count(void **state)
{
    (void)state;
    struct utc leap;
    struct utc next;
    assert_int_equal(units_parse_utc("2016-12-31T23:59:60.5", &leap), 1);
    assert_int_equal(leap.mjd_day, 57753);
    assert_true(leap.second == 86400.5);
    assert_string_equal(units_utc(leap), "2016-12-31T23:59:60.500000");
    assert_int_equal(units_parse_utc("2017-01-01", &next), 1);
    assert_true(utc_difference(next, leap) == 0.5);
    assert_true(utc_difference(next, (struct utc){57753, 86399}) == 2);
    /* All 27 of them, and none at the ends of other days or minutes. */
    assert_true(utc_difference((struct utc){57754, 0}, (struct utc){41317, 0}) ==
                (57754.0 - 41317) * 86400 + 27);
    assert_int_equal(units_parse_utc("2015-06-30T23:59:60", &leap), 1);
    const char *none[] = {"2016-12-30T23:59:60", "2016-12-31T23:58:60", "2016-12-31T22:59:60",
                          "2016-12-31T23:59:61", "2014-06-29T01:39:60"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(units_parse_utc(none[i], &leap), 0);
    }
    /* Values of damaged files do not make loops endless. */
    assert_int_equal(utc_add((struct utc){60000, 1e300}, 1).mjd_day, 1000000000);
    assert_int_equal(utc_add((struct utc){60000, 0}, -1e300).mjd_day, -1000000000);
    /* There and back, over the second and over all of them. */
    const struct utc from[] = {{57753, 86399.5}, {57754, 0.5}, {57753, 86400.25}, {41000, 7}};
    const double by[] = {1, -1, 0.75, 2e9};
    const struct utc to[] = {
        {57753, 86400.5}, {57753, 86400.5}, {57754, 0}, {64148, 2e9 + 7 - 27 - 23148 * 86400.0}};
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        struct utc found = utc_add(from[i], by[i]);
        assert_int_equal(found.mjd_day, to[i].mjd_day);
        assert_true(found.second == to[i].second);
        found = utc_add(found, -by[i]);
        assert_int_equal(found.mjd_day, from[i].mjd_day);
        assert_true(found.second == from[i].second);
    }
}

/* Times that hit a sample, and times 1/8 of a sample before and behind: hours at a GHz, and rates
 * that are no decimals. */
static void times_become_samples_exactly(void **state)
{
    (void)state;
    const double rates[] = {1e9, 1e9 / 3, 800e6 / 7, 1.5e9, 1e6};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        for (double second = 12; second < 86400; second *= 1.7) {
            struct utc from = {60000, 0.25};
            struct utc to = {60000 + (int32_t)(i % 3), second};
            /* In long double as a check: 64 bits hold what is asked for here. */
            long double exact =
                ((long double)(i % 3) * 86400 + (long double)second - 0.25L) * rates[i];
            struct sample_time time = sample_time_between(from, to, rates[i]);
            assert_true(fabsl((long double)time.whole + time.over - exact) < 1e-4L);
            assert_true(fabs(time.over) <= 0.5 && time.doubt < 0.05);
        }
    }
    /* The case that doubles lost: 1.8 hours at 1 GHz. */
    struct utc start;
    struct utc end;
    for (unsigned n = 0; n < 1000; n += 7) {
        char text[64];
        snprintf(text, sizeof text, "2020-01-01T21:48:00.123456%03u", n);
        assert_int_equal(units_parse_utc("2020-01-01T20:00:00.123456", &start), 1);
        assert_int_equal(units_parse_utc(text, &end), 1);
        struct sample_time time = sample_time_between(start, end, 1e9);
        assert_true(sample_time_next(time) == UINT64_C(6480000000000) + n);
        snprintf(text, sizeof text, "2020-01-01T21:48:00.123456%03u2", n);
        assert_int_equal(units_parse_utc(text, &end), 1);
        time = sample_time_between(start, end, 1e9);
        assert_true(sample_time_next(time) == UINT64_C(6480000000001) + n);
    }
    assert_true(sample_time_next(sample_time_of(0.1, 1e9)) == 100000000);
    assert_true(sample_time_next(sample_time_of(0.3, 1e6 / 3)) == 100000);
    assert_true(sample_time_next(sample_time_of(-1, 1e9)) == 0);
    assert_true(sample_time_next(sample_time_of(1e30, 1e9)) == UINT64_C(1) << 62);
}

static void names_are_ordered_as_people_do(void **state)
{
    (void)state;
    const char *order[] = {"",
                           "a",
                           "a/b",
                           "part",
                           "part01",
                           "part1",
                           "part1.5",
                           "part2",
                           "part2b",
                           "part10",
                           "part18446744073709551616",
                           "part99999999999999999999999",
                           "party"};
    size_t count = sizeof order / sizeof *order;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int found = text_compare_natural(&order[i], &order[j]);
            assert_int_equal((found > 0) - (found < 0), (i > j) - (i < j));
        }
    }
}

static void axes_follow_their_conventions(void **state)
{
    (void)state;
    /* Two taps of four samples at 8 Hz: samples 0 .. 7 are centred at 3.5 / 8 s. */
    struct time_axis axis = axes_time(8, 0, 4, 2, 4, 1);
    assert_true(axis.first == 3.5 / 8 && axis.step == 0.5);
    /* Three spectra a dump: the middle one's time, one period later. */
    axis = axes_time(8, 16, 4, 2, 4, 3);
    assert_true(axis.first == (16 + 3.5 + 4) / 8 && axis.step == 1.5);
    assert_true(axes_channel_hz(100, 8, 1, 1, ORDER_ASCENDING, 4, 0) == 96);
    assert_true(axes_channel_hz(100, 8, 1, 1, ORDER_ASCENDING, 4, 2) == 100);
    assert_true(axes_channel_hz(100, 8, 1, 1, ORDER_FFT, 4, 0) == 100);
    assert_true(axes_channel_hz(100, 8, 1, 1, ORDER_FFT, 4, 2) == 96);
    assert_true(axes_channel_hz(2, 8, 0, 1, ORDER_ASCENDING, 4, 0) == 0);
    assert_true(axes_channel_hz(2, 8, 0, 1, ORDER_ASCENDING, 4, 3) == 3);
    assert_true(axes_channel_hz(6, 8, 0, -1, ORDER_FFT, 4, 1) == 7);
    assert_true(axes_channel_hz(6, 8, 0, -1, ORDER_ASCENDING, 4, 1) == 5);
}

static void days_keep_what_seconds_hold(void **state)
{
    (void)state;
    struct utc late = {60370, 86399.999000055504};
    assert_string_equal(utc_mjd_text(late), "60370.999999988426568");
    assert_string_equal(utc_mjd_text((struct utc){60370, 86400 - 1e-11}), "60371.000000000000000");
    assert_string_equal(utc_mjd_text((struct utc){60370, 0}), "60370.000000000000000");
    assert_true(utc_mjd((struct utc){60370, 43200}) == 60370.5);
    const double days[] = {58682.620316710374, 57650.78209490741, 60370, 0.25};
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        struct utc utc = utc_of_mjd(days[i]);
        assert_true(utc.second >= 0 && utc.second < 86400 && utc_mjd(utc) == days[i]);
    }
    /* 1970, the second before it, and half a second before 2000. */
    const double unix[] = {0, -1, 946684799.5};
    const struct utc instants[] = {{40587, 0}, {40586, 86399}, {51543, 86399.5}};
    for (size_t i = 0; i < sizeof unix / sizeof *unix; i++) {
        struct utc utc = utc_of_unix(unix[i]);
        assert_true(utc.mjd_day == instants[i].mjd_day && utc.second == instants[i].second);
    }
    /* Half a dump before its centre. */
    struct time_axis axis = axes_time(1000, 0, 10, 1, 10, 4);
    assert_true(axis.first == 0.0195 && axes_leading_edge(axis) == axis.first - 0.02);
}

/* No date overflows, the build with SANITIZE=undefined says; each keeps to its end of the calendar.
 */
static void dates_of_damaged_files_stay_dates(void **state)
{
    (void)state;
    enum { MOST = 1000000000 };
    const int32_t days[] = {INT32_MIN, -MOST, -2432046, MOST, INT32_MAX, INT32_MAX - 1};
    const double seconds[] = {-1e300, -HUGE_VAL, -8e13, 0, 86399.5, 8e13, 1e300, HUGE_VAL, NAN};
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        for (size_t j = 0; j < sizeof seconds / sizeof *seconds; j++) {
            struct utc utc = {days[i], seconds[j]};
            struct utc sum = utc_add(utc, 1);
            assert_true(sum.mjd_day >= -MOST && sum.mjd_day <= MOST);
            assert_true(sum.second >= 0 && sum.second < 86400);
            assert_true(strlen(units_utc(utc)) > 0 && strlen(utc_mjd_text(utc)) > 0);
        }
    }
    assert_int_equal(utc_add((struct utc){INT32_MAX, 0}, 864000).mjd_day, MOST);
    assert_int_equal(utc_add((struct utc){INT32_MIN, 0}, -864000).mjd_day, -MOST);
    struct utc first = {INT32_MIN, 0};
    struct utc last = {INT32_MAX, 0};
    assert_true(utc_difference(last, first) > 3.7e14);
    assert_true(sample_time_between(first, last, 1).whole > INT64_C(370000000000000));
    assert_int_equal(leap_day_seconds(INT32_MAX), 86400);
    assert_int_equal(leap_day_seconds(57753), 86401);
    const double mjds[] = {1e300, -1e300, HUGE_VAL, 3e9, NAN};
    for (size_t i = 0; i < sizeof mjds / sizeof *mjds; i++) {
        assert_int_equal(utc_of_mjd(mjds[i]).mjd_day, mjds[i] > 0 ? MOST : -MOST);
        assert_true(utc_of_mjd(mjds[i]).second == 0);
        assert_int_equal(utc_of_unix(mjds[i] * 1e5).mjd_day, mjds[i] > 0 ? MOST : -MOST);
    }
}

static void packed_values_come_back(void **state)
{
    (void)state;
    struct text out = {0};
    assert_int_equal(pack_u64(&out, UINT64_MAX), STATUS_OK);
    assert_int_equal(pack_text(&out, NULL), STATUS_OK);
    assert_int_equal(pack_text(&out, ""), STATUS_OK);
    assert_int_equal(pack_text(&out, "sky"), STATUS_OK);
    struct unpack in = {.data = out.data, .length = out.length};
    assert_true(unpack_u64(&in) == UINT64_MAX);
    assert_null(unpack_text(&in));
    char *empty = unpack_text(&in);
    char *sky = unpack_text(&in);
    assert_string_equal(empty, "");
    assert_string_equal(sky, "sky");
    assert_int_equal(in.failed, 0);
    assert_int_equal(unpack_u64(&in), 0);
    assert_int_equal(in.failed, 1);
    free(empty);
    free(sky);
    report_clear();
    assert_int_equal(unpack_check(&in, "a name"), STATUS_DATA);
    assert_string_equal(report_cause(), "a name came corrupt from another process");
    report_clear();
    /* A shortage of memory is not corruption. */
    in.failed |= UNPACK_NO_MEMORY;
    assert_int_equal(unpack_check(&in, "a name"), STATUS_DEVICE);
    assert_string_equal(report_cause(), "out of memory: a name");
    report_clear();
    struct unpack whole = {.data = out.data, .length = out.length};
    assert_int_equal(unpack_check(&whole, "a name"), STATUS_OK);
    text_free(&out);
}

static void kinds_of_products_have_names(void **state)
{
    (void)state;
    enum product_kind kind = PRODUCT_SPECTRA;
    for (int i = PRODUCT_SPECTRA; i <= PRODUCT_DEDISPERSED; i++) {
        assert_true(product_kind_named(product_name((enum product_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    assert_int_equal(product_quantity(PRODUCT_VOLTAGES), QUANTITY_VOLTAGES);
    assert_false(product_kind_named("powe", &kind));
    assert_int_equal(kind, PRODUCT_DEDISPERSED);
    assert_int_equal(product_quantity(PRODUCT_SPECTRA), QUANTITY_SPECTRA);
    assert_true(product_is_filterbank(PRODUCT_POWER) && !product_is_filterbank(PRODUCT_SPECTRA));
    assert_string_equal(quantity_name(product_quantity(PRODUCT_DEDISPERSED)), "series");
}

enum colour { RED, GREEN };

struct packed {
    int sign;
    enum colour colour;
    uint32_t few;
    uint64_t many;
    double real;
    char *name;
};

static void a_struct_comes_back_by_its_table(void **state)
{
    (void)state;
    static const struct pack_field fields[] = {
        PACK_FIELD(struct packed, sign), PACK_FIELD(struct packed, colour),
        PACK_FIELD(struct packed, few),  PACK_FIELD(struct packed, many),
        PACK_FIELD(struct packed, real), PACK_FIELD(struct packed, name)};
    enum { FIELDS = sizeof fields / sizeof *fields };
    char name[] = "sky";
    struct packed from = {-3, GREEN, UINT32_MAX, UINT64_MAX, 0.25, name};
    struct packed to = {0};
    struct text out = {0};
    assert_int_equal(pack_fields(&out, &from, fields, FIELDS), STATUS_OK);
    struct unpack in = {.data = out.data, .length = out.length};
    unpack_fields(&in, &to, fields, FIELDS);
    assert_true(to.sign == -3 && to.colour == GREEN && to.few == UINT32_MAX);
    assert_true(to.many == UINT64_MAX && to.real == 0.25);
    assert_string_equal(to.name, "sky");
    free(to.name);
    assert_true(!in.failed && in.at == in.length);
    /* A number that its field does not hold. */
    out.length = 0;
    assert_int_equal(pack_u64(&out, UINT64_C(1) << 32), STATUS_OK);
    struct unpack large = {.data = out.data, .length = out.length};
    unpack_fields(&large, &to, &fields[2], 1);
    assert_int_equal(large.failed, 1);
    text_free(&out);
}

struct packed_leaf {
    char *name;
    uint64_t size;
};

struct packed_tree {
    struct packed_leaf *leaves;
    uint32_t nleaves;
    int place[3];
    char **names; /* [place[1]] of them, or NULL */
    uint64_t nnames;
    uint64_t *numbers;
    uint64_t nnumbers;
};

static const struct pack_field leaf_fields[] = {PACK_FIELD(struct packed_leaf, name),
                                                PACK_FIELD(struct packed_leaf, size)};
static const struct pack_type leaf_type = PACK_TYPE(struct packed_leaf, leaf_fields);
static const struct pack_field tree_fields[] = {
    PACK_LIST(struct packed_tree, leaves, nleaves, &leaf_type),
    PACK_FIELD(struct packed_tree, place), PACK_FIELD(struct packed_tree, nnames),
    PACK_COUNTED(struct packed_tree, names, nnames, &pack_texts),
    PACK_LIST(struct packed_tree, numbers, nnumbers, &pack_numbers)};
static const struct pack_type tree_type = PACK_TYPE(struct packed_tree, tree_fields);

static void free_tree(struct packed_tree *tree)
{
    for (uint32_t i = 0; i < tree->nleaves; i++) {
        free(tree->leaves[i].name);
    }
    for (uint64_t i = 0; tree->names && i < tree->nnames; i++) {
        free(tree->names[i]);
    }
    free(tree->leaves);
    free(tree->names);
    free(tree->numbers);
    *tree = (struct packed_tree){.leaves = NULL};
}

static void lists_come_back_whole_or_not_at_all(void **state)
{
    (void)state;
    char x[] = "x";
    char *names[] = {x, NULL};
    struct packed_leaf leaves[] = {{x, 1}, {NULL, 2}, {x, UINT64_MAX}};
    struct packed_tree from = {leaves, 3, {7, -8, 9}, names, 2, NULL, 5};
    struct packed_tree to = {.leaves = NULL};
    struct text out = {0};
    assert_int_equal(pack_struct(&out, &from, &tree_type), STATUS_OK);
    struct unpack in = {.data = out.data, .length = out.length};
    unpack_struct(&in, &to, &tree_type);
    assert_true(!in.failed && in.at == in.length);
    assert_true(to.nleaves == 3 && to.leaves[2].size == UINT64_MAX && !to.leaves[1].name);
    assert_string_equal(to.leaves[2].name, "x");
    assert_true(to.place[1] == -8 && to.nnames == 2 && !to.names[1]);
    assert_true(to.nnumbers == 0); /* NULL was packed: the count does not matter */
    free_tree(&to);
    /* Cut short anywhere, it fails, and what there is can be freed. */
    for (size_t length = 0; length < out.length; length++) {
        struct unpack cut = {.data = out.data, .length = length};
        unpack_struct(&cut, &to, &tree_type);
        assert_true(cut.failed);
        free_tree(&to);
    }
    /* A list that has not as many items as the field before it says. */
    size_t at = sizeof(uint64_t) + 3 * 2 * sizeof(uint64_t) + 2 + sizeof from.place;
    assert_int_equal(out.data[at], 2);
    out.data[at] = 3;
    struct unpack other = {.data = out.data, .length = out.length};
    unpack_struct(&other, &to, &tree_type);
    assert_true(other.failed);
    free_tree(&to);
    text_free(&out);
}

static void only_the_first_failure_is_the_cause(void **state)
{
    (void)state;
    report_clear();
    assert_int_equal(report_fail(STATUS_DATA, "first %d", 1), STATUS_DATA);
    assert_int_equal(report_fail(STATUS_USAGE, "second"), STATUS_USAGE);
    assert_string_equal(report_cause(), "first 1");
    assert_int_equal(report_cause_status(), STATUS_DATA);
    report_clear();
    assert_string_equal(report_cause(), "");
    void *block = NULL;
    assert_int_equal(memory_aligned(SIZE_MAX / 2, 4, "nothing", &block), STATUS_DEVICE);
    assert_null(block);
    report_clear();
}

static void quantities(void **state)
{
    static const struct {
        const char *text;
        enum units_dimension dimension;
        double value;
    } good[] = {
        {"1420.4 MHz", UNITS_FREQUENCY, 1420400000},
        {"1420.4MHz", UNITS_FREQUENCY, 1420400000},
        {"1.4204e3 MHz", UNITS_FREQUENCY, 1420.4e6},
        {"-3E-1 kHz", UNITS_FREQUENCY, -300},
        {"2.048 Msps", UNITS_RATE, 2048000},
        {"2.048 MHz", UNITS_RATE, 2048000},
        {"10 ms", UNITS_TIME, 0.01},
        {"0.1 us", UNITS_TIME, 1e-7},
        {"1.5 h", UNITS_TIME, 5400},
        {"2 min", UNITS_TIME, 120},
        {"6 hours", UNITS_ANGLE, 90},
        {"60 dB", UNITS_DECIBEL, 60},
        {"26.7 pc/cm3", UNITS_DM, 26.7},
    };
    static const struct {
        const char *text;
        enum units_dimension dimension;
    } bad[] = {
        {"10 ms", UNITS_FREQUENCY}, {"10", UNITS_TIME},      {"ms", UNITS_TIME},
        {"10 mss", UNITS_TIME},     {"0x10 ms", UNITS_TIME}, {"1e400 s", UNITS_TIME},
        {"nan s", UNITS_TIME},      {"1 s 2", UNITS_TIME},   {"1 s", UNITS_NONE},
        {"", UNITS_TIME},           {"1e309ms", UNITS_TIME}, {"1 Hz", UNITS_TIME},
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = 0;
        assert_int_equal(units_parse_quantity(good[i].text, good[i].dimension, &value), 1);
        assert_true(value == good[i].value);
        assert_non_null(units_of(good[i].text));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 7;
        assert_int_equal(units_parse_quantity(bad[i].text, bad[i].dimension, &value), 0);
        assert_true(value == 7);
    }
    assert_null(units_of("10"));
    assert_null(units_of("file.h5"));
    assert_string_equal(units_name(UNITS_TIME, 1), "ms");
    assert_null(units_name(UNITS_DM, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities),
        cmocka_unit_test(bytes_are_read_and_written),
        cmocka_unit_test(dates_are_read_and_written),
        cmocka_unit_test(no_time_zone_matters),
        cmocka_unit_test(leap_seconds_count),
        cmocka_unit_test(times_become_samples_exactly),
        cmocka_unit_test(names_are_ordered_as_people_do),
        cmocka_unit_test(axes_follow_their_conventions),
        cmocka_unit_test(days_keep_what_seconds_hold),
        cmocka_unit_test(dates_of_damaged_files_stay_dates),
        cmocka_unit_test(packed_values_come_back),
        cmocka_unit_test(kinds_of_products_have_names),
        cmocka_unit_test(a_struct_comes_back_by_its_table),
        cmocka_unit_test(lists_come_back_whole_or_not_at_all),
        cmocka_unit_test(only_the_first_failure_is_the_cause),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
