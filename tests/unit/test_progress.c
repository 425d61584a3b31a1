/* When a line of progress is said: as often as asked for, and by default under a launcher. */
#include "ranks/progress.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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

/* Prints the progress of a run that has just begun, after `seconds` seconds, and once more right
 * after; stderr is a file. */
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

/* A long time after the run has begun, and since it was last heard of chunks. */
static void shown(struct progress *progress, uint64_t done, double seconds, char said[SAID])
{
    FILE *file = tmpfile();
    int was = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_true(was >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    progress->started -= seconds;
    progress->changed -= seconds;
    progress->shown -= seconds;
    progress_show(progress, done);
    assert_true(dup2(was, STDERR_FILENO) >= 0);
    close(was);
    rewind(file);
    said[fread(said, 1, SAID - 1, file)] = '\0';
    fclose(file);
}

/* The time since the last finished chunk reduces the estimate of the time left. The estimate never
 * reaches 0 while chunks are left. */
static void what_is_left_is_estimated_from_what_is_done(void **state)
{
    (void)state;
    char said[SAID];
    struct progress progress = {
        .every = 1, .what = "chunks", .total = 11, .before = 3, .rest = "comparing rows"};
    progress_begin(&progress);
    shown(&progress, 3, 2, said);
    assert_string_equal(said, "3/11 chunks (27.3 %)\n");
    shown(&progress, 5, 18, said);
    assert_string_equal(said, "5/11 chunks (45.5 %), 60 s left\n");
    shown(&progress, 5, 10, said);
    assert_string_equal(said, "5/11 chunks (45.5 %), 50 s left\n");
    shown(&progress, 5, 1000, said);
    assert_string_equal(said, "5/11 chunks (45.5 %), 30 s left\n");
    shown(&progress, 10, 2, said);
    shown(&progress, 10, 5000, said);
    assert_string_equal(said, "10/11 chunks (90.9 %), 74 s left\n");
    shown(&progress, 11, 2, said);
    assert_string_equal(said, "11/11 chunks (100.0 %), comparing rows\n");
    progress.rest = NULL;
    shown(&progress, 11, 2, said);
    assert_string_equal(said, "11/11 chunks (100.0 %), 0 s left\n");
}

/* Whatever the terminal's width, a line is redrawn where it stands, and wiped out at the end. */
static void a_line_fits_its_terminal(void **state)
{
    (void)state;
    static const unsigned short widths[] = {200, 60, 30, 12, 2};
    forget_launchers();
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const struct winsize size = {.ws_row = 10, .ws_col = widths[i]};
        char said[4096];
        size_t length = 0;
        size_t longest = 0;
        int terminal = posix_openpt(O_RDWR | O_NOCTTY);
        int was = dup(STDERR_FILENO);
        assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
        int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
        assert_true(other >= 0 && ioctl(other, TIOCSWINSZ, &size) == 0);
        assert_true(was >= 0 && dup2(other, STDERR_FILENO) >= 0);
        struct progress progress = {.what = "chunks",
                                    .total = 11111,
                                    .in_bytes = UINT64_C(400000000000),
                                    .out_bytes = UINT64_C(500000000000)};
        progress_begin(&progress);
        for (uint64_t done = 0; done < 4; done++) {
            progress.started -= 10;
            progress.shown -= 10;
            progress_show(&progress, done);
        }
        progress_end(&progress);
        assert_true(dup2(was, STDERR_FILENO) >= 0);
        /* Text arrives in pieces, the last of them an erased line. */
        size_t heard = 0;
        while (heard + 1 < sizeof said && poll(&(struct pollfd){terminal, POLLIN, 0}, 1, 200) > 0) {
            ssize_t got = read(terminal, said + heard, sizeof said - 1 - heard);
            assert_true(got > 0);
            heard += (size_t)got;
        }
        assert_true(heard > 0);
        said[heard] = '\0';
        assert_null(strchr(said, '\n'));
        for (const char *at = said; *at; at++) {
            length = *at == '\r' ? 0 : length + 1;
            longest = length > longest ? length : longest;
        }
        assert_in_range(longest, 1, widths[i] - 1);
        assert_int_equal(length, 0);
        close(was);
        close(other);
        close(terminal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launcher_hears_of_long_runs),
        cmocka_unit_test(nobody_hears_of_runs_in_the_background),
        cmocka_unit_test(what_is_asked_for_rules),
        cmocka_unit_test(what_is_left_is_estimated_from_what_is_done),
        cmocka_unit_test(a_line_fits_its_terminal),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
