/* When a line of progress is said: as often as asked for, and by default under a launcher. */
#include "ranks/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SAID = 512 };

static const char *const launchers[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK",
                                        "SLURM_STEP_NUM_TASKS"};

static void forget_launchers(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        unsetenv(launchers[i]);
    }
}

/* What a run says that has just begun, after so many seconds, and once more right behind it; stderr
 * is a file. */
static void say(double every, double seconds, char said[SAID])
{
    struct progress progress = {
        .every = every, .what = "chunks", .total = 8, .in_bytes = 400000000};
    FILE *file = tmpfile();
    int was = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_true(was >= 0);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    progress_begin(&progress);
    progress.started -= seconds;
    progress.shown -= seconds;
    progress_show(&progress, 2);
    progress_show(&progress, 3);
    progress_end(&progress);
    fflush(stderr);
    assert_true(dup2(was, STDERR_FILENO) >= 0);
    close(was);
    rewind(file);
    said[fread(said, 1, SAID - 1, file)] = '\0';
    fclose(file);
}

static void a_launcher_hears_of_long_runs(void **state)
{
    (void)state;
    char said[SAID];
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        forget_launchers();
        assert_int_equal(setenv(launchers[i], "2", 1), 0);
        say(0, 29, said);
        assert_string_equal(said, "");
        say(0, 32, said);
        assert_string_equal(said, "2/8 chunks (25.0 %), in 3 MB/s, 96 s left\n");
    }
    forget_launchers();
}

static void nobody_hears_of_runs_in_the_background(void **state)
{
    (void)state;
    char said[SAID];
    forget_launchers();
    say(0, 1000, said);
    assert_string_equal(said, "");
}

static void what_is_asked_for_rules(void **state)
{
    (void)state;
    char said[SAID];
    forget_launchers();
    say(4, 3, said);
    assert_string_equal(said, "");
    say(4, 5, said);
    assert_string_equal(said, "2/8 chunks (25.0 %), in 20 MB/s, 15 s left\n");
    assert_int_equal(setenv("PMI_SIZE", "2", 1), 0);
    say(100, 50, said);
    assert_string_equal(said, "");
    say(4, 5, said);
    assert_string_equal(said, "2/8 chunks (25.0 %), in 20 MB/s, 15 s left\n");
    forget_launchers();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launcher_hears_of_long_runs),
        cmocka_unit_test(nobody_hears_of_runs_in_the_background),
        cmocka_unit_test(what_is_asked_for_rules),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
