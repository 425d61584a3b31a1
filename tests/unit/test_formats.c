/* The table of archive formats: what a file is follows from what is in it. */
#include "input/about.h"
#include "input/format/formats.h"
#include "io/file.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/voltmill-formats-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    unlink("file.h5");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* Makes file.h5 with an attribute `format` and, where asked for, /data with fch1. */
static void make_file(const char *format, int is_filterbank)
{
    hid_t file = -1;
    hid_t data = -1;
    int fd = -1;
    uint64_t bytes = 0;
    const hsize_t dims[] = {3, 1, 4};
    assert_int_equal(file_open_new("file.h5", &fd), STATUS_OK);
    assert_int_equal(h5_file_create(fd, "file.h5", MARK_NONE, &file), STATUS_OK);
    if (format) {
        assert_int_equal(h5_put_text(file, "format", format), STATUS_OK);
    }
    if (is_filterbank) {
        assert_int_equal(h5_create_dataset(file, "data", H5T_IEEE_F32LE, 3, dims, &data),
                         STATUS_OK);
        assert_int_equal(h5_put_f64(data, "fch1", 1500), STATUS_OK);
        h5_close(data);
    }
    assert_int_equal(h5_file_finish(&file, &bytes), STATUS_OK);
    file_close(fd);
}

static const char *recognised(void)
{
    const struct format *format = NULL;
    assert_int_equal(formats_recognise("file.h5", &format), STATUS_OK);
    if (format) { /* one of these opens it */
        assert_int_equal(!format->open_filterbank +
                             !(format->open || format->open_file || format->read || format->plain),
                         1);
    }
    return format ? format->name : "none";
}

static void contents_tell_the_format(void **state)
{
    (void)state;
    make_file("voltage", 0);
    assert_string_equal(recognised(), "native");
    make_file(NULL, 1);
    assert_string_equal(recognised(), "fbh5");
    make_file("another", 0);
    assert_string_equal(recognised(), "none");
}

static void the_first_row_that_knows_a_file_has_it(void **state)
{
    (void)state;
    make_file("voltage", 1);
    assert_string_equal(recognised(), "native");
}

static void what_no_row_knows_is_refused_by_what_it_lacks(void **state)
{
    (void)state;
    char name[] = "file.h5";
    char *paths[] = {name};
    const struct job_layout automatic = {.automatic = 1, .files_along = AXIS_TIME};
    const struct format_input input = {paths, 1, &automatic};
    struct archive *archive = NULL;
    struct fbh5 *fbh5 = NULL;
    make_file(NULL, 0);
    assert_int_equal(formats_open(&input, &archive), STATUS_DATA);
    assert_non_null(
        strstr(report_cause(), "in the native layout (no attribute format = \"voltage\")"));
    assert_non_null(
        strstr(report_cause(), ": describe it under input.layout, see docs/archives.md"));
    report_clear();
    assert_int_equal(formats_open_filterbank("file.h5", &fbh5), STATUS_DATA);
    assert_string_equal(report_cause(), "file.h5 is no filterbank: it is HDF5, but not a product");
    report_clear();
    /* A filterbank is known, but contains no voltages. */
    make_file(NULL, 1);
    assert_int_equal(formats_open(&input, &archive), STATUS_DATA);
    assert_non_null(strstr(report_cause(), "file.h5 is a filterbank: it contains powers"));
    report_clear();
    assert_null(archive);
    fbh5_destroy(fbh5);
}

static void a_path_that_cannot_be_read_is_no_unknown_format(void **state)
{
    (void)state;
    const struct format *format = NULL;
    assert_int_equal(formats_recognise("nothing.h5", &format), STATUS_DATA);
    assert_string_equal(report_cause(), "nothing.h5: No such file or directory");
    report_clear();
    assert_null(format);
}

/* Too many open files are no fault of the file. */
static void attributes_need_a_descriptor(void **state)
{
    (void)state;
    struct rlimit before;
    struct about about = {0};
    make_file("voltage", 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    status_t st = about_read("file.h5", NULL, &about);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(st, STATUS_DEVICE);
    assert_non_null(strstr(report_cause(), "Too many open files"));
    report_clear();
    about_free(&about);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_tell_the_format),
        cmocka_unit_test(the_first_row_that_knows_a_file_has_it),
        cmocka_unit_test(what_no_row_knows_is_refused_by_what_it_lacks),
        cmocka_unit_test(a_path_that_cannot_be_read_is_no_unknown_format),
        cmocka_unit_test(attributes_need_a_descriptor),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    h5_begin();
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
