/* Folders on the way to a file: made by umask, removed again, and where paths with missing parts
 * lead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/file.h"
#include "io/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[] = "/tmp/voltmill.folder.XXXXXX";

static int begin(void **state)
{
    (void)state;
    return mkdtemp(home) && chdir(home) == 0 && mkdir("old", 0777) == 0 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    unlink("file");
    unlink("link");
    unlink("nowhere");
    rmdir("old");
    return chdir("/") == 0 ? rmdir(home) : -1;
}

static int is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static void write_nothing(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

/* By the umask, as mkdir does, and gone again. */
static void made_and_unmade(void **state)
{
    (void)state;
    struct stat info;
    char *made = NULL;
    mode_t mask = umask(027);
    assert_int_equal(folder_make("old/.//a/./x.h5.part", &made), STATUS_OK);
    umask(mask);
    assert_string_equal(made, "old/.//a");
    assert_int_equal(stat("old/a", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0750);
    folder_unmake("old/.//a/./x.h5.part", made);
    assert_false(is_folder("old/a"));
    assert_true(is_folder("old"));
    assert_int_equal(folder_make("old/x.h5", &made), STATUS_OK);
    assert_null(made);
    folder_unmake("old/x.h5", made);
    assert_true(is_folder("old"));
}

/* Files that others have put there in the meantime stay. */
static void what_is_not_empty_stays(void **state)
{
    (void)state;
    char *made = NULL;
    assert_int_equal(folder_make("new/x.h5", &made), STATUS_OK);
    write_nothing("new/other");
    folder_unmake("new/x.h5", made);
    assert_true(is_folder("new"));
    unlink("new/other");
    rmdir("new");
}

static void refused(const char *path, const char *message)
{
    char *made = NULL;
    report_clear();
    assert_int_equal(file_check_new(path, 0), STATUS_USAGE);
    assert_string_equal(report_cause(), message);
    report_clear();
    assert_int_equal(folder_make(path, &made), STATUS_USAGE);
    assert_null(made);
    report_clear();
}

/* Refused before, and when it is tried; what was made on the way goes. */
static void in_the_way(void **state)
{
    (void)state;
    write_nothing("file");
    assert_int_equal(symlink("nothing", "nowhere"), 0);
    refused("file/x.h5", "file/x.h5 cannot be made: file is not a folder");
    refused("file/a/x.h5", "file/a/x.h5 cannot be made: file is not a folder");
    refused("nowhere/x.h5",
            "nowhere/x.h5 cannot be made: folder nowhere: a link that leads nowhere");
    refused("new/a/x.h5", "new/a/x.h5 cannot be made: folder new is missing, expected it to exist: "
                          "only the last folder of a path is made");
    refused("old/a//b/./c/x.h5",
            "old/a//b/./c/x.h5 cannot be made: folder old/a//b is missing, expected it to exist: "
            "only the last folder of a path is made");
    char name[300];
    snprintf(name, sizeof name, "old/%0256d/x.h5", 0);
    char *made = NULL;
    assert_int_equal(folder_make(name, &made), STATUS_USAGE);
    assert_null(made);
    assert_false(is_folder("old/a"));
    report_clear();
}

/* Room is asked of the folder that is there. */
static void room(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    uint64_t here = 0;
    uint64_t there = 1;
    assert_int_equal(file_free_bytes("new/a/b/x.h5", &bytes), STATUS_OK);
    assert_true(bytes > 0);
    assert_int_equal(file_device("old/x.h5", &here), STATUS_OK);
    assert_int_equal(file_device("old/a/b/x.h5", &there), STATUS_OK);
    assert_int_equal(here, there);
    assert_false(is_folder("new"));
}

static void compare(const char *a, const char *b, int expected)
{
    int is_same = -1;
    assert_int_equal(file_is_same(a, b, &is_same), STATUS_OK);
    if (is_same != expected) {
        fail_msg("%s and %s: %d", a, b, is_same);
    }
}

/* However they are written, and with missing folders. */
static void one_place(void **state)
{
    (void)state;
    char whole[64];
    assert_int_equal(symlink("old", "link"), 0);
    snprintf(whole, sizeof whole, "%s/new/x", home);
    compare("new/x", "new/x", 1);
    compare("new/x", "./new//x", 1);
    compare("new/x", "new/./x", 1);
    compare("new/x", "new/other/../x", 1);
    compare("new/../x", "x", 1);
    compare("new/a/../../old/x", "old/x", 1);
    compare("link/a/x", "old/a/x", 1);
    compare("new/x", whole, 1);
    compare("link", "old", 1);
    compare("new/x", "new/y", 0);
    compare("new/x", "other/x", 0);
    compare("new/x", "old/x", 0);
    compare("new/x", "x", 0);
    compare("file", "file/x", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_and_unmade), cmocka_unit_test(what_is_not_empty_stays),
        cmocka_unit_test(in_the_way),      cmocka_unit_test(room),
        cmocka_unit_test(one_place),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin, end);
}
