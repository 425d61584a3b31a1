/* Files of coefficients, as text and in HDF5: their numbers, and what is said of those that are
 * wrong. */
#include "input/coefficients.h"

#include "io/hdf5/h5.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/test_coefficients.XXXXXX";

static int begin(void **state)
{
    (void)state;
    h5_begin();
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

/* The test's own file is "c". */
static int end(void **state)
{
    (void)state;
    unlink("c");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void write_file(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* A job of two filters, of which the second has the file "c". */
static struct job *job_of_file(void)
{
    struct job *job = calloc(1, sizeof *job);
    assert_non_null(job);
    job->nfilters = 2;
    job->filters = calloc(2, sizeof *job->filters);
    assert_non_null(job->filters);
    job->filters[0].source = FILTER_DESIGN;
    job->filters[1].coefficients = strdup("c");
    return job;
}

/* "c" holds such coefficients, also for another rank. */
static void holds(const double *values, uint32_t taps, int is_complex)
{
    struct job *job = job_of_file();
    struct job *other = job_of_file();
    struct text packed = {0};
    report_clear();
    status_t st = coefficients_read(job);
    assert_string_equal(report_cause(), "");
    assert_int_equal(st, STATUS_OK);
    assert_int_equal(coefficients_pack(job, &packed), STATUS_OK);
    struct unpack in = {.data = packed.data, .length = packed.length};
    assert_int_equal(coefficients_unpack(&in, other), STATUS_OK);
    assert_int_equal(in.at, packed.length);
    assert_null(job->filters[0].taps);
    const struct job *const both[] = {job, other};
    for (int i = 0; i < 2; i++) {
        const struct job_filter *filter = &both[i]->filters[1];
        assert_int_equal(filter->ntaps, taps);
        assert_int_equal(filter->is_complex, is_complex);
        assert_memory_equal(filter->taps, values,
                            taps * (is_complex ? 2 : 1) * sizeof *filter->taps);
    }
    text_free(&packed);
    job_destroy(other);
    job_destroy(job);
}

static void is_refused(const char *message)
{
    struct job *job = job_of_file();
    report_clear();
    assert_int_equal(coefficients_read(job), STATUS_DATA);
    assert_string_equal(report_cause(), message);
    assert_null(job->filters[1].taps);
    report_clear();
    job_destroy(job);
}

#define TEXT(text) write_file("c", text, sizeof(text) - 1)

static void texts(void **state)
{
    (void)state;
    TEXT("# a filter\n\n 1.5 # newest\n\t-2e-3\r\n0\n3");
    holds((double[]){1.5, -2e-3, 0, 3}, 4, 0);
    TEXT("1 2\n3,-4\n 0 0\n");
    holds((double[]){1, 2, 3, -4, 0, 0}, 3, 1);
    TEXT(" (1.5e+00+2.0e-01j)\n(1.0e-01+-2.0e+00j)\n-3-4j\n+1e-3+1e+2i # i\n");
    holds((double[]){1.5, 0.2, 0.1, -2, -3, -4, 1e-3, 1e2}, 4, 1);
    TEXT("-1\n");
    holds((double[]){-1}, 1, 0);
}

static void wrong_texts(void **state)
{
    (void)state;
    unlink("c");
    is_refused("c: No such file or directory");
    TEXT("");
    is_refused("c contains no coefficients");
    TEXT("# nothing\n\n");
    is_refused("c contains no coefficients");
    TEXT("1\n2\n\nthree\n");
    is_refused("c, line 4: 'three' is no number, expected one coefficient a line");
    TEXT("1\n2x\n");
    is_refused("c, line 2: '2x' is no number, expected one coefficient a line");
    TEXT("1\nnan\n");
    is_refused("c, line 2: 'nan' is no number, expected one coefficient a line");
    TEXT("-inf\n");
    is_refused("c, line 1: '-inf' is no number, expected one coefficient a line");
    TEXT("1 2\n1 2 3\n");
    is_refused("c, line 2: '3' is too much, expected one coefficient a line: a number, or two of a "
               "complex one");
    TEXT("1+2j 3\n");
    is_refused("c, line 1: '3' is too much, expected one coefficient a line: a number, or two of a "
               "complex one");
    TEXT("\n1 2\n3 4\n5\n");
    is_refused("c, line 4: a real coefficient, but those from line 2 on are complex");
    TEXT("1\n1+2j\n");
    is_refused("c, line 2: a complex coefficient, but those from line 1 on are real");
    TEXT("1\n2\0 3\n");
    is_refused("c, line 2: a NUL byte, expected text or HDF5");
    TEXT("0\n0\n");
    is_refused("c: all coefficients are 0");
    TEXT("1\n1e300\n");
    is_refused("c: the largest of the coefficients is 1e+300, beyond what 32-bit floats can "
               "compute with");
    unlink("c");
    assert_int_equal(mkdir("c", 0700), 0);
    is_refused("c is not an ordinary file");
    assert_int_equal(rmdir("c"), 0);
}

static hid_t new_file(void)
{
    hid_t file = H5Fcreate("c", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void put(hid_t file, const char *name, hid_t type, hid_t memory, int rank,
                const hsize_t *dims, const void *values)
{
    hid_t space = H5Screate_simple(rank, dims, NULL);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(dataset >= 0);
    assert_true(!values || H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
}

static hid_t pair_of(const char *first, const char *second, hid_t number)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * H5Tget_size(number));
    assert_true(H5Tinsert(type, first, 0, number) >= 0);
    assert_true(H5Tinsert(type, second, H5Tget_size(number), number) >= 0);
    return type;
}

static void files(void **state)
{
    (void)state;
    static const double values[] = {1.5, -2, 3, 0.25, 0, 7};
    hid_t file = new_file();
    put(file, "any", H5T_IEEE_F32BE, H5T_NATIVE_DOUBLE, 1, (hsize_t[]){6}, values);
    H5Fclose(file);
    holds(values, 6, 0);
    file = new_file();
    put(file, "other", H5T_NATIVE_INT, H5T_NATIVE_DOUBLE, 1, (hsize_t[]){6}, values);
    put(file, "coefficients", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 2, (hsize_t[]){3, 2}, values);
    H5Fclose(file);
    holds(values, 3, 1);
    static const double whole[] = {1, -2, 3};
    file = new_file();
    hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put(group, "c", H5T_STD_I16LE, H5T_NATIVE_DOUBLE, 1, (hsize_t[]){3}, whole);
    H5Gclose(group);
    H5Fclose(file);
    holds(whole, 3, 0);
    file = new_file();
    put(file, "row", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 2, (hsize_t[]){1, 3}, whole);
    H5Fclose(file);
    holds(whole, 3, 0);
    file = new_file();
    put(file, "column", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 2, (hsize_t[]){3, 1}, whole);
    H5Fclose(file);
    holds(whole, 3, 0);
    file = new_file();
    hid_t stored = pair_of("r", "i", H5T_IEEE_F32LE);
    hid_t memory = pair_of("r", "i", H5T_NATIVE_DOUBLE);
    put(file, "coefficients", stored, memory, 1, (hsize_t[]){3}, values);
    H5Fclose(file);
    H5Tclose(memory);
    H5Tclose(stored);
    holds(values, 3, 1);
}

static void wrong_files(void **state)
{
    (void)state;
    static const double values[] = {1, 2, NAN, 4};
    static const double zeros[] = {0, 0, 0, 0};
    hid_t file = new_file();
    H5Fclose(file);
    is_refused("c contains no dataset /coefficients, nor only one; it contains none at all");
    file = new_file();
    put(file, "a", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 1, (hsize_t[]){4}, values);
    H5Fclose(file);
    is_refused("c: coefficient 2 (from 0) is nan, expected a number");
    file = new_file();
    put(file, "a", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 1, (hsize_t[]){4}, zeros);
    H5Fclose(file);
    is_refused("c: all coefficients are 0");
    file = new_file();
    put(file, "a", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 1, (hsize_t[]){4}, values);
    put(file, "b", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 1, (hsize_t[]){4}, values);
    H5Fclose(file);
    is_refused("c contains no dataset /coefficients, nor only one; it contains /a, /b");
    file = new_file();
    put(file, "coefficients", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 3, (hsize_t[]){1, 2, 2},
        values);
    H5Fclose(file);
    is_refused("c: /coefficients: its rank is 3, expected 1, or 2 with the shape "
               "[coefficients][2], or of a row or a column");
    file = new_file();
    put(file, "coefficients", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 1, (hsize_t[]){0}, NULL);
    H5Fclose(file);
    is_refused("c contains no coefficients");
    file = new_file();
    put(file, "coefficients", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 1, (hsize_t[]){16777217}, NULL);
    H5Fclose(file);
    is_refused("c: /coefficients: 16777217 coefficients, expected at most 16777216");
    file = new_file();
    put(file, "coefficients", H5T_C_S1, H5T_C_S1, 1, (hsize_t[]){4}, NULL);
    H5Fclose(file);
    is_refused("c: /coefficients: expected integers, floating point, or compounds of two of them");
    file = new_file();
    assert_true(H5Lcreate_external("elsewhere.h5", "/x", file, "coefficients", H5P_DEFAULT,
                                   H5P_DEFAULT) >= 0);
    H5Fclose(file);
    struct job *job = job_of_file();
    assert_int_equal(coefficients_read(job), STATUS_DATA);
    report_clear();
    job_destroy(job);
    unlink("c");
}

/* MATLAB files of version 5, of either byte order, are for the Python module. */
static void matlab_files(void **state)
{
    (void)state;
    static const char *const marks[] = {"\0\1IM", "\1\0MI"};
    char head[136] = "MATLAB 5.0 MAT-file";
    for (int i = 0; i < 2; i++) {
        memcpy(head + 124, marks[i], 4);
        write_file("c", head, sizeof head);
        is_refused("c is a MATLAB file of version 5: `python3 -m voltmill coefficients c FILE.h5` "
                   "makes a file of coefficients of it");
    }
    struct job *job = job_of_file();
    free(job->filters[1].coefficients);
    job->filters[1].coefficients = strdup("c:h");
    assert_int_equal(coefficients_read(job), STATUS_DATA);
    assert_non_null(strstr(report_cause(), " coefficients c:h FILE.h5`"));
    report_clear();
    job_destroy(job);
    head[124] = ' ';
    write_file("c", head, sizeof head);
    is_refused("c, line 1: a NUL byte, expected text or HDF5");
}

/* A file whose very name has a colon is that file. */
static void colons(void **state)
{
    (void)state;
    char *path = NULL;
    const char *member = NULL;
    write_file("c:d", "1\n", 2);
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
        cmocka_unit_test(texts),       cmocka_unit_test(wrong_texts),  cmocka_unit_test(files),
        cmocka_unit_test(wrong_files), cmocka_unit_test(matlab_files), cmocka_unit_test(colons),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
