/* The tuner's database: what comes back, near problems, corrupt files, many writers. */
#include "tune/store.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/voltmill-test-store-XXXXXX";
static char path[256];

static int set_up(void **state)
{
    char command[512];
    (void)state;
    report_quiet(1);
    snprintf(command, sizeof command, "rm -rf '%s'/* ", folder);
    return system(command);
}

static struct store_record record(const char *problem, double ndms, const char *words, double s)
{
    return (struct store_record){
        .key = {"kernel u8", "device, driver", problem, {1024, ndms, 20000, 3}},
        .words = words,
        .seconds = s,
        .searched = INFINITY};
}

static void put(const char *problem, double ndms, const char *words, double seconds)
{
    struct store_record r = record(problem, ndms, words, seconds);
    assert_int_equal(store_put(path, &r, NULL), STATUS_OK);
}

/* The nearest record's words, "" without any. */
static void nearest(const char *problem, double ndms, char out[64], double *distance)
{
    store_t *store = NULL;
    struct store_record found[4];
    struct store_record wanted = record(problem, ndms, "", 0);
    uint32_t count = 0;
    assert_int_equal(store_open(path, &store), STATUS_OK);
    store_find(store, &wanted.key, found, 4, &count);
    snprintf(out, 64, "%s", count > 0 ? found[0].words : "");
    *distance = count > 0 ? found[0].distance : -1;
    for (uint32_t i = 1; i < count; i++) {
        assert_true(found[i].distance >= found[i - 1].distance);
    }
    store_close(store);
}

static void assert_nearest(const char *problem, double ndms, const char *words, int is_exact)
{
    char found[64];
    double distance = 0;
    nearest(problem, ndms, found, &distance);
    assert_string_equal(found, words);
    assert_int_equal(distance == 0, is_exact);
}

/* In the place of the C library's: opening for reading fails once when told to. */
static int next_open_fails;

int open(const char *name, int flags, ...)
{
    int (*real)(const char *, int, ...) = NULL;
    va_list more;
    va_start(more, flags);
    unsigned mode = flags & O_CREAT ? va_arg(more, unsigned) : 0;
    va_end(more);
    *(void **)&real = dlsym(RTLD_NEXT, "open");
    if (next_open_fails && (flags & O_ACCMODE) == O_RDONLY) {
        next_open_fails = 0;
        errno = EIO;
        return -1;
    }
    return real(name, flags, mode);
}

static void gives_back_what_was_put(void **state)
{
    (void)state;
    put("16 DMs", 16, "a", 1e-3);
    put("256 DMs", 256, "b", 2e-3);
    put("4096 DMs", 4096, "c", 3e-3);
    assert_nearest("256 DMs", 256, "b", 1);
    put("256 DMs", 256, "d", 1.5e-3);
    assert_nearest("256 DMs", 256, "d", 1);
    assert_nearest("200 DMs", 200, "d", 0);
    assert_nearest("20 DMs", 20, "a", 0);
    assert_nearest("100000 DMs", 100000, "c", 0);
    /* The same numbers, but other delays: near, not the same. */
    assert_nearest("256 other DMs", 256, "d", 0);
}

/* Records of a database that is unreadable for a moment are not replaced by one record. */
static void a_failing_read_loses_nothing(void **state)
{
    (void)state;
    put("16 DMs", 16, "a", 1e-3);
    next_open_fails = 1;
    put("256 DMs", 256, "b", 2e-3);
    assert_int_equal(next_open_fails, 0);
    assert_nearest("16 DMs", 16, "a", 1);
    assert_nearest("256 DMs", 256, "a", 0);
    put("256 DMs", 256, "b", 2e-3);
    assert_nearest("16 DMs", 16, "a", 1);
    assert_nearest("256 DMs", 256, "b", 1);
}

static void other_devices_are_others(void **state)
{
    (void)state;
    store_t *store = NULL;
    struct store_record found[2];
    struct store_record wanted = record("16 DMs", 16, "", 0);
    uint32_t count = 1;
    put("16 DMs", 16, "a", 1e-3);
    wanted.key.identity = "device, other driver";
    assert_int_equal(store_open(path, &store), STATUS_OK);
    store_find(store, &wanted.key, found, 2, &count);
    assert_int_equal(count, 0);
    wanted = record("16 DMs", 16, "", 0);
    wanted.key.kernel = "kernel u16";
    store_find(store, &wanted.key, found, 2, &count);
    assert_int_equal(count, 0);
    store_close(store);
}

static void nothing_is_empty(void **state)
{
    (void)state;
    assert_nearest("16 DMs", 16, "", 0);
}

/* Too many open files are no fault of the file. */
static void no_descriptor_is_left(void **state)
{
    (void)state;
    struct rlimit before;
    struct text whole = {0};
    put("16 DMs", 16, "a", 1e-3);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    status_t st = text_read_file(&whole, path, 1 << 20, "a text");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(st, STATUS_DEVICE);
    assert_non_null(strstr(report_cause(), "Too many open files"));
    report_clear();
    text_free(&whole);
}

/* Every cut of the file and every corrupt byte leave what is whole, and nothing else comes back. */
static void corrupt_files(void **state)
{
    (void)state;
    put("16 DMs", 16, "a", 1e-3);
    put("256 DMs", 256, "b", 2e-3);
    struct text whole = {0};
    assert_int_equal(text_read_file(&whole, path, 1 << 20, "a text"), STATUS_OK);
    for (size_t i = 0; i < 2 * whole.length; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        size_t length = i < whole.length ? i : whole.length;
        assert_int_equal(fwrite(whole.data, 1, length, file), length);
        if (i >= whole.length) {
            fseek(file, (long)(i - whole.length), SEEK_SET);
            fputc(whole.data[i - whole.length] ^ (i % 3 == 0 ? 0x80 : 1), file);
        }
        fclose(file);
        char found[64];
        double distance = 0;
        nearest("16 DMs", 16, found, &distance);
        assert_true(strcmp(found, "a") == 0 || strcmp(found, "b") == 0 || found[0] == '\0');
        assert_true(strcmp(found, "a") == 0 || distance != 0);
    }
    /* The next write rebuilds it. */
    put("64 DMs", 64, "c", 1e-3);
    assert_nearest("64 DMs", 64, "c", 1);
    text_free(&whole);
}

static void many_writers_lose_nothing(void **state)
{
    (void)state;
    enum { WRITERS = 8, EACH = 12 };
    for (int w = 0; w < WRITERS; w++) {
        if (fork() == 0) {
            for (int i = 0; i < EACH; i++) {
                char problem[32];
                snprintf(problem, sizeof problem, "writer %d, %d", w, i);
                struct store_record r = record(problem, 1 + i, problem, 1e-3);
                if (store_put(path, &r, NULL) != STATUS_OK) {
                    _exit(1);
                }
            }
            _exit(0);
        }
    }
    /* Readers see whole files all the while. */
    for (int i = 0; i < 200; i++) {
        struct text text = {0};
        if (access(path, R_OK) == 0) {
            assert_int_equal(text_read_file(&text, path, 1 << 20, "a text"), STATUS_OK);
            assert_int_equal(text.data[text.length - 1], '\n');
        }
        text_free(&text);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status = 1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    for (int w = 0; w < WRITERS; w++) {
        for (int i = 0; i < EACH; i++) {
            char problem[32];
            snprintf(problem, sizeof problem, "writer %d, %d", w, i);
            assert_nearest(problem, 1 + i, problem, 1);
        }
    }
}

static void what_cannot_be_written_is_no_failure(void **state)
{
    (void)state;
    struct store_record r = record("16 DMs", 16, "a", 1e-3);
    assert_int_equal(store_put("/proc/voltmill/tuned.txt", &r, NULL), STATUS_OK);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(store_put(path, &r, NULL), STATUS_OK);
    assert_nearest("16 DMs", 16, "", 0);
    assert_int_equal(rmdir(path), 0);
}

static void the_faster_one_stays(void **state)
{
    (void)state;
    put("16 DMs", 16, "a", 2e-3);
    put("16 DMs", 16, "b", 3e-3);
    assert_nearest("16 DMs", 16, "a", 1);
    put("16 DMs", 16, "c", 1e-3);
    assert_nearest("16 DMs", 16, "c", 1);
    /* Timed beside it, or no way any more; timed again. */
    struct store_record r = record("16 DMs", 16, "d", 2e-3);
    assert_int_equal(store_put(path, &r, "b"), STATUS_OK);
    assert_nearest("16 DMs", 16, "c", 1);
    assert_int_equal(store_put(path, &r, "c"), STATUS_OK);
    assert_nearest("16 DMs", 16, "d", 1);
    put("16 DMs", 16, "d", 4e-3);
    put("16 DMs", 16, "e", 3e-3);
    assert_nearest("16 DMs", 16, "e", 1);
}

static void how_far_it_searched_comes_back(void **state)
{
    (void)state;
    static const double seconds[] = {INFINITY, 0, 12.5};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        store_t *store = NULL;
        struct store_record found;
        struct store_record r = record("16 DMs", 16, "a", 1e-3);
        uint32_t count = 0;
        r.searched = seconds[i];
        assert_int_equal(store_put(path, &r, NULL), STATUS_OK);
        put("17 DMs", 17, "b", 1e-3); /* writes the other one once more */
        assert_int_equal(store_open(path, &store), STATUS_OK);
        store_find(store, &r.key, &found, 1, &count);
        assert_int_equal(count, 1);
        assert_true(found.searched == seconds[i]);
        store_close(store);
    }
}

static unsigned mode_of(const char *name)
{
    struct stat info;
    assert_int_equal(lstat(name, &info), 0);
    return info.st_mode & 07777;
}

static void modes_stay(void **state)
{
    (void)state;
    char lock[300];
    mode_t old = umask(027);
    snprintf(lock, sizeof lock, "%s.lock", path);
    put("16 DMs", 16, "a", 1e-3);
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(mode_of(lock), 0640);
    assert_int_equal(chmod(path, 0664), 0);
    put("17 DMs", 17, "a", 1e-3);
    assert_int_equal(mode_of(path), 0664);
    assert_int_equal(mode_of(lock), 0664);
    assert_int_equal(chmod(path, 0600), 0);
    put("18 DMs", 18, "a", 1e-3);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(mode_of(lock), 0600);
    umask(old);
}

static void links_are_followed(void **state)
{
    (void)state;
    char folder_path[300];
    char real[320];
    char second[300];
    snprintf(folder_path, sizeof folder_path, "%s/shared", folder);
    snprintf(real, sizeof real, "%s/real.txt", folder_path);
    snprintf(second, sizeof second, "%s/second.txt", folder);
    assert_int_equal(mkdir(folder_path, 0700), 0);
    /* A link to a link to what is not there yet. */
    assert_int_equal(symlink("shared/real.txt", second), 0);
    assert_int_equal(symlink(second, path), 0);
    put("16 DMs", 16, "a", 1e-3);
    assert_nearest("16 DMs", 16, "a", 1);
    put("17 DMs", 17, "b", 1e-3);
    assert_nearest("17 DMs", 17, "b", 1);
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(second, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(real, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    /* One lock for all names. */
    snprintf(real, sizeof real, "%s/real.txt.lock", folder_path);
    assert_int_equal(access(real, F_OK), 0);
    snprintf(real, sizeof real, "%s.lock", path);
    assert_int_not_equal(access(real, F_OK), 0);
    /* No end of links is no database. */
    assert_int_equal(unlink(second), 0);
    assert_int_equal(symlink(path, second), 0);
    struct store_record r = record("16 DMs", 16, "a", 1e-3);
    assert_int_equal(store_put(path, &r, NULL), STATUS_OK);
}

/* In the cache folder, where others must not write, nothing is followed; who names a file means it,
 * but not what others have put in its place. */
static void nobody_plants(void **state)
{
    (void)state;
    char victim[300];
    char cache[300];
    char in_cache[320];
    char words[64];
    double distance = 0;
    struct stat info;
    struct store_record r = record("16 DMs", 16, "a", 1e-3);
    snprintf(victim, sizeof victim, "%s/victim", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(in_cache, sizeof in_cache, "%s/tuned.txt", cache);
    FILE *file = fopen(victim, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(chmod(victim, 0600), 0);
    assert_int_equal(setenv("VOLTMILL_CACHE", cache, 1), 0);
    mode_t old = umask(002);
    assert_int_equal(store_put(NULL, &r, NULL), STATUS_OK);
    umask(old);
    assert_int_equal(mode_of(in_cache), 0600);
    assert_int_equal(mode_of(cache), 0700);
    assert_int_equal(unlink(in_cache), 0);
    assert_int_equal(symlink(victim, in_cache), 0);
    assert_int_equal(store_put(NULL, &r, NULL), STATUS_OK);
    assert_int_equal(stat(victim, &info), 0);
    assert_int_equal(info.st_size, 0);
    assert_int_equal(lstat(in_cache, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    /* A named one that anybody may write. */
    put("16 DMs", 16, "a", 1e-3);
    assert_int_equal(chmod(path, 0666), 0);
    nearest("16 DMs", 16, words, &distance);
    assert_string_equal(words, "");
    put("17 DMs", 17, "b", 1e-3);
    assert_int_equal(mode_of(path), 0666);
    assert_int_equal(chmod(path, 0664), 0);
    assert_nearest("16 DMs", 16, "a", 1);
    if (geteuid() == 0) {
        /* Somebody else's link; somebody else's file in a folder for all. */
        enum { NOBODY = 65534 };
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(victim, path), 0);
        assert_int_equal(lchown(path, NOBODY, NOBODY), 0);
        put("16 DMs", 16, "a", 1e-3);
        assert_int_equal(stat(victim, &info), 0);
        assert_int_equal(info.st_size, 0);
        assert_int_equal(unlink(path), 0);
        put("16 DMs", 16, "a", 1e-3);
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
        assert_nearest("16 DMs", 16, "a", 1);
        assert_int_equal(chmod(folder, 01777), 0);
        nearest("16 DMs", 16, words, &distance);
        assert_string_equal(words, "");
        assert_int_equal(chmod(folder, 0700), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(gives_back_what_was_put, set_up),
        cmocka_unit_test_setup(a_failing_read_loses_nothing, set_up),
        cmocka_unit_test_setup(other_devices_are_others, set_up),
        cmocka_unit_test_setup(nothing_is_empty, set_up),
        cmocka_unit_test_setup(corrupt_files, set_up),
        cmocka_unit_test_setup(many_writers_lose_nothing, set_up),
        cmocka_unit_test_setup(what_cannot_be_written_is_no_failure, set_up),
        cmocka_unit_test_setup(the_faster_one_stays, set_up),
        cmocka_unit_test_setup(how_far_it_searched_comes_back, set_up),
        cmocka_unit_test_setup(no_descriptor_is_left, set_up),
        cmocka_unit_test_setup(modes_stay, set_up),
        cmocka_unit_test_setup(links_are_followed, set_up),
        cmocka_unit_test_setup(nobody_plants, set_up),
    };
    if (!mkdtemp(folder)) {
        return 1;
    }
    snprintf(path, sizeof path, "%s/tuned.txt", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    set_up(NULL);
    rmdir(folder);
    return failed;
}
