/* Coefficients in MATLAB's files of version 5: every class and type, both byte orders, compressed
 * or not; what is said of others; files that are cut or damaged anywhere. */
#include "archive/coefficients/coefficients.h"

#include "base/memory.h"
#include "coefficients_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

enum { MOST = 1 << 16, COUNT = 5 };

/* ---- Writing them ---- */

struct mat {
    unsigned char at[MOST];
    size_t count;
    int is_big;
};

static void put(struct mat *m, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        size_t place = m->is_big ? bytes - 1 - i : i;
        m->at[m->count + place] = (unsigned char)(value >> 8 * i);
    }
    m->count += bytes;
}

static void pad(struct mat *m)
{
    while (m->count % 8 != 0) {
        m->at[m->count++] = 0;
    }
}

static void start(struct mat *m, int is_big)
{
    *m = (struct mat){.is_big = is_big};
    memset(m->at, ' ', 124);
    memcpy(m->at, "MATLAB 5.0 MAT-file", 19);
    m->count = 124;
    put(m, 0x0100, 2);
    put(m, 'M' << 8 | 'I', 2);
}

/* How each type of element has a number. */
static void put_number(struct mat *m, uint32_t type, double value)
{
    static const size_t bytes[] = {
        [1] = 1, [2] = 1, [3] = 2, [4] = 2, [5] = 4, [6] = 4, [7] = 4, [9] = 8, [12] = 8, [13] = 8};
    float single = (float)value;
    uint32_t u32;
    uint64_t u64;
    memcpy(&u32, &single, sizeof u32);
    memcpy(&u64, &value, sizeof u64);
    put(m, type == 7 ? u32 : type == 9 ? u64 : (uint64_t)(int64_t)value, bytes[type]);
}

static void put_numbers(struct mat *m, uint32_t type, const double *values, uint32_t count,
                        uint32_t step)
{
    struct mat data = {.is_big = m->is_big};
    for (uint32_t i = 0; i < count; i++) {
        put_number(&data, type, values[i * step]);
    }
    if (data.count <= 4) { /* in the tag itself */
        put(m, (uint64_t)data.count << 16 | type, 4);
    } else {
        put(m, type, 4);
        put(m, data.count, 4);
    }
    memcpy(m->at + m->count, data.at, data.count);
    m->count += data.count;
    pad(m);
}

struct variable {
    const char *name;
    uint32_t class, type, rows, columns;
    int is_complex;
    const double *values; /* pairs of complex ones */
};

static void put_variable(struct mat *m, const struct variable *v, int is_compressed)
{
    struct mat in = {.is_big = m->is_big};
    put(&in, 14, 4);
    put(&in, 0, 4);
    put(&in, 6, 4);
    put(&in, 8, 4);
    put(&in, v->class | (v->is_complex ? 0x800u : 0), 4);
    put(&in, 0, 4);
    put(&in, 5, 4);
    put(&in, 8, 4);
    put(&in, v->rows, 4);
    put(&in, v->columns, 4);
    const int name_is_short = strlen(v->name) <= 4;
    put(&in, name_is_short ? strlen(v->name) << 16 | 1 : 1, 4);
    if (!name_is_short) {
        put(&in, strlen(v->name), 4);
    }
    memcpy(in.at + in.count, v->name, strlen(v->name));
    in.count += strlen(v->name);
    pad(&in);
    for (int part = 0; part < 1 + v->is_complex; part++) {
        put_numbers(&in, v->type, v->values + part, v->rows * v->columns, v->is_complex ? 2 : 1);
    }
    struct mat tag = {.count = 4, .is_big = m->is_big};
    put(&tag, in.count - 8, 4);
    memcpy(in.at + 4, tag.at + 4, 4);
    if (!is_compressed) {
        memcpy(m->at + m->count, in.at, in.count);
        m->count += in.count;
        return;
    }
    uLongf bytes = MOST - 8 - (uLongf)m->count;
    assert_int_equal(compress2(m->at + m->count + 8, &bytes, in.at, (uLong)in.count, 9), Z_OK);
    put(m, 15, 4);
    put(m, bytes, 4);
    m->count += bytes;
}

static void save(const struct mat *m, size_t count)
{
    write_file("c.mat", m->at, count);
}

/* ---- Reading them ---- */

static status_t take(const char *named, struct job_filter *filter)
{
    *filter = (struct job_filter){.source = FILTER_COEFFICIENTS, .coefficients = (char *)named};
    struct job job = {.filters = filter, .nfilters = 1};
    report_clear();
    return coefficients_read(&job);
}

static void holds(const char *named, const double *values, uint32_t count, int is_complex)
{
    struct job_filter filter;
    status_t st = take(named, &filter);
    assert_string_equal(report_cause(), "");
    assert_int_equal(st, STATUS_OK);
    assert_int_equal(filter.ntaps, count);
    assert_int_equal(filter.is_complex, is_complex);
    assert_memory_equal(filter.taps, values, count * (is_complex ? 2 : 1) * sizeof *values);
    free(filter.taps);
}

static void refused(const char *named, const char *words)
{
    struct job_filter filter;
    assert_int_equal(take(named, &filter), STATUS_DATA);
    if (!strstr(report_cause(), words)) {
        fail_msg("%s, not %s", report_cause(), words);
    }
    assert_null(filter.taps);
    report_clear();
}

static const double numbers[] = {1, 2, 3, 100, 7};

static void every_class_and_type(void **state)
{
    (void)state;
    static const uint32_t types[] = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13};
    static struct mat m;
    for (uint32_t i = 0; i < 4 * sizeof types / sizeof *types; i++) {
        /* A class may be stored in another type: whole doubles as bytes. */
        for (uint32_t class = 6; class <= 15; class += 3) {
            const struct variable v = {"h", class, types[i / 4], 1, COUNT, 0, numbers};
            start(&m, i % 2);
            put_variable(&m, &v, i / 2 % 2);
            save(&m, m.count);
            holds("c.mat", numbers, COUNT, 0);
            holds("c.mat:h", numbers, COUNT, 0);
        }
    }
}

static void signs_fractions_and_pairs(void **state)
{
    (void)state;
    static struct mat m;
    static const double values[] = {-0.125, 3, 1e-9, -5, 7, 0.1};
    static const double whole[] = {-1, 2, -3};
    static const double short_ones[] = {-3, 4};
    for (int i = 0; i < 4; i++) {
        const struct variable doubles = {"filter_of_ours", 6, 9, 6, 1, 0, values};
        const struct variable pairs = {"pairs", 6, 9, 1, 3, 1, values};
        const struct variable bytes = {"few", 6, 1, 3, 1, 0, whole};
        const struct variable two = {"two", 7, 3, 2, 1, 0, short_ones};
        start(&m, i % 2);
        put_variable(&m, &doubles, i / 2);
        put_variable(&m, &pairs, i / 2);
        put_variable(&m, &bytes, i / 2);
        put_variable(&m, &two, i / 2);
        save(&m, m.count);
        holds("c.mat:filter_of_ours", values, 6, 0);
        holds("c.mat:pairs", values, 3, 1);
        holds("c.mat:few", whole, 3, 0);
        holds("c.mat:two", short_ones, 2, 0);
    }
}

static void which_variable(void **state)
{
    (void)state;
    static struct mat m;
    static const double one[] = {64};
    const struct variable scalar = {"n_chan", 6, 2, 1, 1, 0, one};
    const struct variable words = {"text", 4, 4, 1, COUNT, 0, numbers};
    const struct variable row = {"h", 6, 9, 1, COUNT, 0, numbers};
    const struct variable square = {"table", 6, 9, 2, 2, 0, numbers};
    start(&m, 0);
    put_variable(&m, &scalar, 0);
    put_variable(&m, &words, 1);
    save(&m, m.count);
    refused("c.mat", "c.mat holds no array of numbers; it holds n_chan, text");
    holds("c.mat:n_chan", one, 1, 0);
    put_variable(&m, &row, 1);
    save(&m, m.count);
    holds("c.mat", numbers, COUNT, 0);
    refused("c.mat:g", "c.mat holds no variable g; it holds n_chan, text, h");
    refused("c.mat:text", "variable text is no array of numbers (its class is 4)");
    put_variable(&m, &square, 0);
    save(&m, m.count);
    refused("c.mat",
            "more than one array of numbers, expected FILE:NAME; it holds n_chan, text, h, "
            "table");
    refused("c.mat:table", "variable table is 2 x 2, expected a row or a column");
}

/* Anything but a crash: numbers that are numbers, or an error that names the file. */
static void try_damaged(void)
{
    struct job_filter filter;
    status_t st = take("c.mat:h", &filter);
    assert_true(st == STATUS_OK || st == STATUS_DATA || st == STATUS_DEVICE);
    assert_true((st == STATUS_OK) == (filter.ntaps > 0));
    assert_true(st == STATUS_OK || strstr(report_cause(), "c.mat") ||
                strstr(report_cause(), "memory"));
    for (uint32_t i = 0; i < filter.ntaps; i++) {
        assert_true(isfinite(filter.taps[i]));
    }
    free(filter.taps);
    report_clear();
}

static void cut_and_damaged_files(void **state)
{
    (void)state;
    static struct mat m;
    static double many[300];
    for (int i = 0; i < 300; i++) {
        many[i] = sin(0.37 * i) * 1e3;
    }
    const struct variable other = {"other", 6, 9, 1, COUNT, 0, numbers};
    const struct variable row = {"h", 6, 9, 1, 300, 0, many};
    for (int i = 0; i < 4; i++) {
        start(&m, i % 2);
        put_variable(&m, &other, i / 2);
        put_variable(&m, &row, i / 2);
        for (size_t count = 0; count < m.count; count += count < 400 ? 1 : 37) {
            save(&m, count);
            struct job_filter filter;
            assert_int_equal(take("c.mat:h", &filter), STATUS_DATA);
            assert_null(filter.taps);
        }
        uint64_t seed = 1 + (uint64_t)i;
        for (int k = 0; k < 1500; k++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            /* Half of them where tags are. */
            size_t at = 124 + (size_t)(seed >> 33) % ((k % 2 ? 200 : m.count) - 124);
            unsigned char was = m.at[at];
            m.at[at] ^= (unsigned char)(1u << (seed >> 60 & 7));
            save(&m, m.count);
            try_damaged();
            m.at[at] = was;
        }
    }
}

/* A file whose very name has a colon is that file. */
static void colons(void **state)
{
    (void)state;
    char *path = NULL;
    const char *member = NULL;
    FILE *file = fopen("c.mat", "wb");
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename("c.mat", "c:d"), 0);
    assert_int_equal(coefficients_split("c:d", &path, &member), STATUS_OK);
    assert_string_equal(path, "c:d");
    assert_null(member);
    free(path);
    unlink("c:d");
    assert_int_equal(coefficients_split("a/c:d", &path, &member), STATUS_OK);
    assert_string_equal(path, "a/c");
    assert_string_equal(member, "d");
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_and_type),
        cmocka_unit_test(signs_fractions_and_pairs),
        cmocka_unit_test(which_variable),
        cmocka_unit_test(cut_and_damaged_files),
        cmocka_unit_test(colons),
    };
    return cmocka_run_group_tests_name("coefficients_mat", tests, begin, end);
}
